//! Calls to the outside, and flows, choices and handlers that make them, against a server on loopback.

mod calls;
mod flows;
mod policies;
mod server;
mod streams;
