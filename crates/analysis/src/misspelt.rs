//! Finds fields that are probably misspelt. Without a declared `input`, the compiler accepts every
//! name as a field. A name that is read only once is suspicious if the rules read a similar name
//! more often.

use super::budget::StepBudget;
use super::report::AnalysisReport;
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic, is_typing_error};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{Expr, ExprKind, Part, Program};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Minimum number of reads of a field whose name is assumed to be spelled correctly.
const MIN_FIELD_READS: usize = 2;

/// The reads of a field or of fields inside it: their positions in the source, and the kinds of
/// value that they read.
struct FieldReads {
    spans: HashSet<Span>,
    kinds: KindSet,
}

/// The reads of the fields of one record, by the name of the field.
type RecordReads<'p> = BTreeMap<&'p str, FieldReads>;

/// Reports fields that are read once and spelled like another field. The other field must be read
/// more often, or differ only by a typing error inside a long name.
pub(super) fn report_misspelt_fields(report: &mut AnalysisReport<'_>, budget: &StepBudget) {
    let program = report.program;
    if program.input.is_some() {
        return;
    }
    let mut findings = Vec::new();
    for (parent, fields) in reads_by_record(program) {
        let often = fields.iter().filter(|(_, reads)| reads.spans.len() >= MIN_FIELD_READS);
        let often: Vec<(&&str, &FieldReads)> = often.collect();
        let once = fields.iter().filter(|(_, reads)| reads.spans.len() == 1);
        let once: Vec<RareField> = once.map(|(name, reads)| RareField { name, reads }).collect();
        if !budget.charge(once.iter().map(|rare| rare.name.len()).sum()) {
            return;
        }
        let slips = SlipIndex::new(&once);
        for rare in &once {
            let RareField { name, reads } = rare;
            let candidates = slips.candidates(name);
            if !budget.charge(STEPS_TO_COMPARE_NAMES * (often.len() + candidates.len())) {
                return;
            }
            let is_near = |other: &&(&&str, &FieldReads)| {
                is_typing_error(name, other.0) && other.1.kinds.overlaps(reads.kinds)
            };
            // A letter too few is more usual than a letter too many, so the shorter name is
            // reported.
            let is_better = |other: &str| (other.len(), *name) > (name.len(), other);
            let is_slip = |other: &&&RareField| {
                is_better(other.name)
                    && has_slip_inside(name, other.name)
                    && other.reads.kinds.overlaps(reads.kinds)
            };
            let near = often.iter().find(is_near).map(|(near, _)| **near);
            let slip = || candidates.iter().filter(is_slip).map(|other| other.name).min();
            let Some(near) = near.or_else(slip) else { continue };
            let path = |name: &str| {
                let names = parent.iter().map(|name| &**name).chain([name]);
                names.collect::<Vec<_>>().join(".")
            };
            if is_given_by_tests(program, parent, name) {
                continue;
            }
            let Some(span) = reads.spans.iter().next() else { continue };
            let message = match fields.get(near).is_some_and(|reads| reads.spans.len() == 1) {
                true => message!(
                    "`{}` is read only here, and `{}` only once too: is one of them misspelt?",
                    path(name),
                    path(near)
                ),
                false => message!("`{}` is read only here: did you mean `{}`?", path(name), path(near)),
            };
            let help = message!(
                "correct the name; if messages have both fields, declare them in `input`, or write `# rulec: \
                allow W0222 reason` before the statement"
            );
            findings.push(Diagnostic::new(Code::RareField, *span, message).help(help));
        }
    }
    findings.into_iter().for_each(|finding| report.add_finding(finding, None));
}

/// Number of steps that are charged for a call of [`is_typing_error`], which takes much longer than
/// a comparison of two characters.
const STEPS_TO_COMPARE_NAMES: usize = 10;
/// Minimum number of characters of a name in which two exchanged letters are searched for.
const MIN_EXCHANGED_CHARS: usize = 4;
/// Minimum number of characters of a name that may lack a letter.
const MIN_SHORTENED_CHARS: usize = 5;
/// Maximum number of characters of a name that may have a letter too many. The index has an entry
/// for each letter of such a name.
const MAX_LENGTHENED_CHARS: usize = 64;
/// Words that differ by two exchanged letters, so that neither is a misspelling of the other.
const SIMILAR_WORDS: [[&str; 2]; 6] = [
    ["form", "from"],
    ["trail", "trial"],
    ["diary", "dairy"],
    ["untied", "united"],
    ["casual", "causal"],
    ["marital", "martial"],
];

/// A field that is read once.
struct RareField<'p> {
    name: &'p str,
    reads: &'p FieldReads,
}

/// The fields that are read once, by what a misspelling of their names keeps. So a name is compared
/// with few others.
struct SlipIndex<'r, 'p> {
    /// The fields by the characters of their names in sorted order.
    by_letters: HashMap<Vec<char>, Vec<&'r RareField<'p>>>,
    /// The fields by their names without one of the letters inside.
    by_shortened: HashMap<Vec<char>, Vec<&'r RareField<'p>>>,
}

impl<'r, 'p> SlipIndex<'r, 'p> {
    fn new(once: &'r [RareField<'p>]) -> SlipIndex<'r, 'p> {
        let mut index = SlipIndex { by_letters: HashMap::new(), by_shortened: HashMap::new() };
        for field in once {
            let letters: Vec<char> = field.name.chars().collect();
            if letters.len() >= MIN_EXCHANGED_CHARS {
                index.by_letters.entry(sorted(&letters)).or_default().push(field);
            }
            if !(MIN_SHORTENED_CHARS + 1..=MAX_LENGTHENED_CHARS).contains(&letters.len()) {
                continue;
            }
            for removed in 1..letters.len() - 1 {
                // Without either of two equal letters, the name is the same.
                if letters[removed] == letters[removed - 1] && removed > 1 {
                    continue;
                }
                let shortened = [&letters[..removed], &letters[removed + 1..]].concat();
                index.by_shortened.entry(shortened).or_default().push(field);
            }
        }
        index
    }

    /// Returns the fields of which `name` may be a misspelling.
    fn candidates(&self, name: &str) -> Vec<&'r RareField<'p>> {
        let letters: Vec<char> = name.chars().collect();
        let exchanged = self.by_letters.get(&sorted(&letters)).into_iter().flatten();
        let lengthened = self.by_shortened.get(&letters).into_iter().flatten();
        exchanged.chain(lengthened).copied().collect()
    }
}

fn sorted(letters: &[char]) -> Vec<char> {
    let mut sorted = letters.to_vec();
    sorted.sort_unstable();
    sorted
}

/// True if two names differ only by a letter too many, or by two letters in the wrong order, inside
/// them. Of two fields that are both read once, one is then probably misspelt.
fn has_slip_inside(name: &str, other: &str) -> bool {
    let ends = |name: &str| (name.chars().next(), name.chars().next_back());
    let are_words = SIMILAR_WORDS.iter().any(|words| words.contains(&name) && words.contains(&other));
    ends(name) == ends(other) && !are_words && is_typing_error(name, other)
}

/// Returns the fields that a program reads, grouped by the path of the record that contains them.
fn reads_by_record(program: &Program) -> HashMap<&[Arc<str>], RecordReads<'_>> {
    let mut spans = vec![HashSet::new(); program.slots.len()];
    let conditions = program.rules.iter().map(|rule| Part::Cond(&rule.condition));
    let values = program.values.iter().map(Part::Expr);
    let lets = program.lets.iter().map(|definition| definition.body.as_part());
    conditions.chain(values).chain(lets).for_each(|part| add_reads(part, &mut spans));
    let mut records: HashMap<&[Arc<str>], RecordReads<'_>> = HashMap::new();
    for (slot, spans) in program.slots.iter().zip(spans) {
        if slot.root.is_some() {
            continue;
        }
        for (index, name) in slot.path.iter().enumerate() {
            let record = records.entry(&slot.path[..index]).or_default();
            let empty = || FieldReads { spans: HashSet::new(), kinds: KindSet::EMPTY };
            let reads = record.entry(name).or_insert_with(empty);
            let is_leaf = index + 1 == slot.path.len();
            reads.kinds = reads.kinds.union(if is_leaf { slot.kinds } else { KindSet::DICT });
            reads.spans.extend(spans.iter().copied());
        }
    }
    records
}

/// Adds the source spans at which a part of the program reads each slot. Skips the bodies of
/// `let`s, because the caller visits each body once.
fn add_reads(part: Part<'_>, spans: &mut [HashSet<Span>]) {
    match part {
        Part::Expr(Expr { kind: ExprKind::Slot(slot), span, .. }) => {
            spans[slot.index()].insert(*span);
        }
        Part::Let(_) => {}
        part => part.parts().into_iter().for_each(|part| add_reads(part, spans)),
    }
}

/// True if the message of some test in the rules has the field `name` in the record at the path
/// `parent`. Such a field is not reported, because a typing error would hardly occur in both
/// places.
fn is_given_by_tests(program: &Program, parent: &[Arc<str>], name: &str) -> bool {
    program.tests.iter().any(|test| {
        let record = parent.iter().try_fold(&test.message, |json: &Json, key| json.get(&**key));
        record.is_some_and(|record| record.get(name).is_some())
    })
}
