//! Decisions as JSON that depend on nothing but the statement that was chosen: each is written once, and copied from
//! then on.

use rulec_eval::decision::Chosen;
use rulec_sema::hir::{Program, TableId};
use std::sync::OnceLock;

/// The answers of a rule set that have been written so far.
#[derive(Default)]
pub(crate) struct Answers(OnceLock<Box<[Answer]>>);

/// An answer, once it has been written.
type Answer = OnceLock<Box<[u8]>>;

impl Answers {
    /// The answer of an entry that chose a statement of its own table, or nothing; `write` is asked for it once.
    #[inline]
    pub fn get(
        &self,
        program: &Program,
        entry: TableId,
        chosen: Option<Chosen>,
        write: impl FnOnce() -> Vec<u8>,
    ) -> Option<&[u8]> {
        let (rules, tables) = (program.rules.len(), program.tables.len());
        let all = self.0.get_or_init(|| (0..rules + 2 * tables).map(|_| Answer::new()).collect());
        let at = match chosen {
            Some(Chosen::Rule(rule)) => rule.index(),
            Some(Chosen::Default(table)) => rules + table.index(),
            None => rules + tables + entry.index(),
        };
        Some(all.get(at)?.get_or_init(|| write().into()))
    }
}
