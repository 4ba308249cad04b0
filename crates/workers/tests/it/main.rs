//! Tests of the workers that are compiled without any feature of this crate.

mod python;
