//! Tests of HTTP calls, and of the flows, choices, handlers and plans that make them, against a
//! server on loopback.

mod calls;
mod certificates;
mod flows;
mod plans;
mod policies;
mod server;
mod streams;
