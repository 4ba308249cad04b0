//! The `rulec` program.
fn main() {}
