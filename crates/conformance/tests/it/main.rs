//! Runs the conformance cases of all imported systems on every engine.

#[path = "../../../../tests/support/decisions.rs"]
mod decisions;
#[path = "../../../../tests/support/engines.rs"]
mod engines;
mod payload;
#[path = "../../../../tests/support/shared.rs"]
mod shared;
mod systems;
