//! The systems that decide over the one engine, each in terms of its own field.

pub mod payload;
