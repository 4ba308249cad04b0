//! Cache of serialized decisions. A decision whose JSON depends only on the chosen statement is
//! serialized once and copied afterwards.

use rulec_eval::decision::Chosen;
use rulec_sema::hir::{Program, TableId};
use std::sync::OnceLock;

/// Cache of the serialized decisions of a rule set. Each decision is serialized when it is needed
/// for the first time.
#[derive(Default)]
pub(crate) struct DecisionCache(OnceLock<Box<[CachedDecision]>>);

/// The JSON fields of one decision without the braces of the object. Empty until they are first
/// needed.
type CachedDecision = OnceLock<Box<[u8]>>;

impl DecisionCache {
    /// Returns the JSON fields of a decision by `entry`; calls `write` only if they are not cached
    /// yet. `chosen` is the statement that the decision chose; `None` if it chose nothing. Returns
    /// `None` if `program` has no such statement.
    ///
    /// Precondition: `chosen` is in the table of `entry`, not in a table to which a jump (`goto`)
    /// leads. The reason: the cached fields contain the name of the entry, but the cache has only
    /// one text for each statement.
    #[inline]
    pub fn get_or_write(
        &self,
        program: &Program,
        entry: TableId,
        chosen: Option<Chosen>,
        write: impl FnOnce() -> Vec<u8>,
    ) -> Option<&[u8]> {
        let (rules, tables) = (program.rules.len(), program.tables.len());
        let cached_decisions =
            self.0.get_or_init(|| (0..rules + 2 * tables).map(|_| CachedDecision::new()).collect());
        let index = match chosen {
            Some(Chosen::Rule(rule)) => rule.index(),
            Some(Chosen::Default(table)) => rules + table.index(),
            None => rules + tables + entry.index(),
        };
        Some(cached_decisions.get(index)?.get_or_init(|| write().into()))
    }
}
