//! What several test programs share.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod engines;
pub mod generate;
pub mod golden;
pub mod random;
#[cfg(feature = "http")]
pub mod server;
pub mod shared;
