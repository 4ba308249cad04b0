//! Compares the `history` statements of two versions of rules. Equal conditions on earlier messages
//! can have different results if the two versions keep different messages. Then it is not proven
//! that the two versions decide every message equally.

use crate::sequence::LeafSequence;
use hashbrown::HashSet;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_sema::hir::{History, Program};
use rulec_sema::normal::{ExprId, NormalExpr, NormalForm, Part};
use rulec_syntax::write::format_duration;
use serde::Serialize;
use std::sync::Arc;

/// A difference between the `history` statements of two versions, or between the fields that the
/// two versions record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HistoryChange {
    /// The part of the `history` statement that differs between the two versions.
    pub part: HistoryPart,
    /// The part in the old version, such as `keep 1h`; `None` if the old version lacks it.
    pub before: Option<String>,
    /// The part in the new version, in the same form as `before`; `None` if the new version lacks
    /// it.
    pub after: Option<String>,
}

/// A part of a history that two versions of rules can declare differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryPart {
    /// The field whose value is the history key, as in `by ctx.session`.
    Key,
    /// The time after which a message is removed, as in `keep 24h`.
    Keep,
    /// The maximum number of messages of a key, as in `at most 100`.
    AtMost,
    /// The fields that are recorded of a message, because rules read them. A field that is recorded
    /// as a hash is followed by `(hashed)`.
    Fields,
}

/// Returns the differences between the histories of two programs. Empty if one of the programs has
/// no history, or if neither reads its history.
pub(super) fn compare_histories(old: &Program, new: &Program) -> Vec<HistoryChange> {
    let (Some(old_history), Some(new_history)) = (&old.history, &new.history) else { return Vec::new() };
    if old.history_slot().or(new.history_slot()).is_none() {
        return Vec::new();
    }
    let parts = [
        (HistoryPart::Key, describe_history_key(old, old_history), describe_history_key(new, new_history)),
        (HistoryPart::Keep, describe_retention(old_history), describe_retention(new_history)),
        (HistoryPart::AtMost, describe_message_limit(old_history), describe_message_limit(new_history)),
        (
            HistoryPart::Fields,
            describe_recorded_fields(old, old_history),
            describe_recorded_fields(new, new_history),
        ),
    ];
    let changed = parts.into_iter().filter(|(_, before, after)| before != after);
    changed.map(|(part, before, after)| HistoryChange { part, before, after }).collect()
}

fn describe_history_key(program: &Program, history: &History) -> Option<String> {
    Some(format!("by {}", program.slots[history.key?.index()].name()))
}

fn describe_retention(history: &History) -> Option<String> {
    Some(format!("keep {}", format_duration(history.max_age_ms?)))
}

fn describe_message_limit(history: &History) -> Option<String> {
    Some(format!("at most {}", history.max_messages.unwrap_or(History::DEFAULT_MAX_MESSAGES)))
}

fn describe_recorded_fields(program: &Program, history: &History) -> Option<String> {
    let kept = program.history_reads().kept;
    let name = |path: &Vec<Arc<str>>| match (path.is_empty(), history.hashed_paths.contains(path)) {
        (true, _) => "*".to_owned(),
        (_, true) => format!("{} (hashed)", path.join(".")),
        (_, false) => path.join("."),
    };
    (!kept.is_empty()).then(|| format!("fields {}", kept.iter().map(name).collect::<Vec<_>>().join(", ")))
}

/// Returns a note if the rules of one version read which statement an earlier decision chose,
/// otherwise `None`. With such rules, a decision also depends on the names and the order of the
/// statements.
pub(super) fn note_chosen_names(old: &Program, new: &Program) -> Option<Message> {
    let reads_chosen = old.history_reads().reads_chosen || new.history_reads().reads_chosen;
    reads_chosen.then(|| {
        message!(
            "rules read which route an earlier message took, so a changed name or order of routes may change \
            decisions"
        )
    })
}

/// True if a condition or an argument in `sequence` (a flattened table) reads the history.
pub(super) fn reads_history(normal: &NormalForm, sequence: &LeafSequence) -> bool {
    let mut visited = HashSet::new();
    sequence.leaves.iter().any(|leaf| {
        let args = leaf.args.iter().map(|arg| Part::Expr(arg.value.0));
        std::iter::once(Part::Cond(leaf.cond.0))
            .chain(args)
            .any(|part| part_reads_history(normal, part, &mut visited))
    })
}

/// True if `part` (a condition, predicate or expression) or one of its operands reads the history.
/// Skips the parts in `visited`, and adds the examined parts to it.
fn part_reads_history(normal: &NormalForm, part: Part, visited: &mut HashSet<Part>) -> bool {
    if !visited.insert(part) {
        return false;
    }
    if let Part::Expr(id) = part
        && matches!(normal.expr(ExprId(id)), NormalExpr::History(_))
    {
        return true;
    }
    let mut children = Vec::new();
    normal.for_each_child(part, &mut |child| children.push(child));
    children.into_iter().any(|child| part_reads_history(normal, child, visited))
}
