//! Has no code. The manifest says why the crate exists.
