//! Modules that several test programs share.
#![allow(dead_code, unused_imports, reason = "each test program uses a part of it")]

pub mod engines;
pub mod generate;
pub mod golden;
pub mod held;
pub mod layout;
pub mod random;
pub mod shared;
pub mod small;
pub mod statements;
pub mod trials;
