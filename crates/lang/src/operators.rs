//! Operators: the [`table`] with one row per operator, their [`implementations`], the [`modifiers`]
//! that can follow an operator, and the [`budget`] that bounds their work.

pub mod budget;
pub mod implementations;
pub mod modifiers;
pub mod sets;
pub mod table;

pub use table::*;
