//! Tests of the workers that need no feature.

mod python;
