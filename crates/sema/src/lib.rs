//! Semantic analysis: resolves names, checks or infers types, and lowers the program to the normal
//! form that the engines run.

#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

pub mod check;
pub mod hir;
pub mod normal;
pub mod request;
pub mod resolve;
