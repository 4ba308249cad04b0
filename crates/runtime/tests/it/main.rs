//! Tests of the runtime's public interface: routers, events, payloads and workflows. Two other test
//! files next to this folder need a process of their own: `decision_events.rs` and `load.rs`.

mod decision_log;
mod documents;
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
