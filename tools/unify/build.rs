//! Does nothing: Cargo builds the crates of `[build-dependencies]` only for a package with a build
//! script.

fn main() {}
