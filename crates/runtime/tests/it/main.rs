//! The runtime from outside: routers, events, payloads and workflows. Two suites need a process of
//! their own and lie next to this folder: `decision_events.rs` and `load.rs`.

mod decision_log;
mod events;
mod hooks;
mod library;
mod live_router;
mod payload_at_once;
mod payload_events;
mod payload_limits;
mod payload_session;
mod permissions;
mod policies;
mod router;
mod shadow;
mod watch;
mod workflow;
