//! The operators of the rule language. All facts about an operator are in one row of the [`table`],
//! so that the parser, the checker and every engine agree. Rows refer to the functions in
//! [`implementations`]. [`modifiers`] can follow an operator, and [`budget`] bounds the work.

pub mod budget;
pub mod implementations;
pub mod modifiers;
pub mod sets;
pub mod table;

pub use table::*;
