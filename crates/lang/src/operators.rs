//! Operators: the [`table`], one row each; the [`implementations`] that the rows name; the [`modifiers`] that may
//! follow an operator; and the [`budget`] under which an engine applies one.

pub mod budget;
pub mod implementations;
pub mod modifiers;
pub mod table;

pub use table::*;
