//! The runtime from outside: routers, events, payloads and workflows. Suites with a subscriber or a
//! load of their own lie next to this folder.

mod decision_log;
mod events;
mod hooks;
mod library;
mod live_router;
mod payload_at_once;
mod payload_events;
mod payload_session;
mod permissions;
mod policies;
mod router;
mod shadow;
mod watch;
mod workflow;
