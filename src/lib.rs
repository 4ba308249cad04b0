//! rulec
pub mod builtins;
pub mod diag;
pub mod host;
pub mod json;
pub mod loader;
pub mod meaning;
pub mod ops;
pub mod sema;
pub mod source;
pub mod span;
pub mod syntax;
pub mod text;
pub mod ty;
pub mod value;
