//! Meaning: names are resolved, types checked or inferred, and the program brought into the normal
//! form that the engines run.

pub mod check;
pub mod hir;
pub mod normal;
pub mod request;
pub mod resolve;
