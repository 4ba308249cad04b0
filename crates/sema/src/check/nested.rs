//! Finds the field or the character that an author means by a path in another language's style: a
//! field without the record around it, a name for the whole message, or an index of a text.

use super::Checker;
use crate::hir::{Cond, CondKind, Expr, Operand};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::{message, text};
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, RecordType};
use rulec_lang::value::compare;
use rulec_syntax::write::{format_path, quote_name};
use std::cmp::Ordering;

/// Maximum depth of a record that is searched for a field.
const MAX_RECORD_DEPTH: usize = 3;

/// Words by which other languages name the whole message.
const MESSAGE_WORDS: &[&str] = &[
    "msg", "message", "event", "evt", "req", "request", "input", "data", "body", "params", "args", "this",
    "self",
];

/// Words by which authors name the message before this one.
const EARLIER_WORDS: &[&str] = &["last", "prev", "prior", "latest", "earlier", "before"];

/// Returns the help text for a path whose first name is unknown: the author named the message, as
/// in `message.text`, or left out the record around a field. For a missing record, also returns the
/// path of the field. `names` are all names of the path. `is_near_field` is true for a name that is
/// spelled almost like a field. `None` if no declared field fits.
pub(super) fn meant_field_help(
    record: &RecordType,
    names: &[&str],
    is_near_field: impl Fn(&str) -> bool,
) -> Option<(Message, Option<String>)> {
    if let [first, field, rest @ ..] = names {
        let is_message = MESSAGE_WORDS.contains(&first.to_lowercase().as_str());
        let field = record.get(field).filter(|_| is_message || !is_near_field(first))?;
        let written = format_path(&quote_name(&field.name), rest.iter().copied());
        let help = match is_message {
            true => message!("a message has no name: write `{written}` for this field"),
            false if EARLIER_WORDS.contains(first) => {
                message!("for this message write `{written}`; for the one before it, `previous.{written}`")
            }
            false => message!("no name precedes the fields of the message: write `{written}`"),
        };
        return Some((help, None));
    }
    let path = find_path_to_field(record, names)?;
    Some((message!("the message has this field in a record: write `{path}`"), Some(path)))
}

/// Returns the path to the only field of this name inside the records of the message, such as
/// `ctx.source_ip` for `source_ip`. `None` if `names` has several names, if no record has the
/// field, or if several have it.
pub(super) fn find_path_to_field(record: &RecordType, names: &[&str]) -> Option<String> {
    let [name] = names else { return None };
    let mut paths = Vec::new();
    collect_field_paths(record, name, &mut Vec::new(), &mut paths);
    let path = paths.pop()?;
    paths.is_empty().then_some(path)
}

/// Adds the paths to the fields of this name inside the records of `record`. `outer` are the names
/// of the records around it.
fn collect_field_paths<'t>(
    record: &'t RecordType,
    name: &'t str,
    outer: &mut Vec<&'t str>,
    paths: &mut Vec<String>,
) {
    for field in &record.fields {
        let Some(inner) = field.ty.fields().filter(|_| outer.len() < MAX_RECORD_DEPTH) else { continue };
        outer.push(&field.name);
        if let (true, [root, keys @ ..]) = (inner.get(name).is_some(), outer.as_slice()) {
            let keys = keys.iter().copied().chain([name]);
            paths.push(format_path(&quote_name(root), keys));
        }
        collect_field_paths(inner, name, outer, paths);
        outer.pop();
    }
}

/// Adds the text and the regular expression of every `matches` that a condition tests directly or
/// as an operand of `and` or `or`. Leaves out a `matches` that is negated, ignores case, or has
/// `any`, `all` or `none`: a call of `capture` might find another match.
fn collect_match_operands<'c>(condition: &'c Cond, matches: &mut Vec<(&'c Expr, &'c Expr)>) {
    match &condition.kind {
        CondKind::And(parts) | CondKind::Or(parts) => {
            parts.iter().for_each(|part| collect_match_operands(part, matches));
        }
        CondKind::Predicate(test) => {
            // Without its modifiers the expression might match another text.
            let is_plain = !test.is_negated && !test.mode.text.folds_case && test.mode.quantity.is_none();
            if let Operand::Value(pattern) = &test.right
                && test.op == Some(Op::Matches)
                && is_plain
            {
                matches.push((&test.left, pattern));
            }
        }
        _ => {}
    }
}

impl Checker<'_> {
    /// Warns about a text such as `"$1"` as an argument of a handler if `condition` contains a
    /// `matches`. In other languages, such a text is replaced by a group of the match; here it is
    /// not.
    pub(super) fn warn_group_reference(&mut self, text: &str, span: Span, condition: &Cond) {
        let digits = text.strip_prefix(['$', '\\']).filter(|digits| digits.len() == 1);
        let group = digits.and_then(|digits| digits.parse::<u32>().ok()).filter(|group| *group > 0);
        let Some((group, call)) =
            group.and_then(|group| Some((group, self.write_capture_call_start(condition, group)?)))
        else {
            return;
        };
        let written = if group == 1 { format!("{call})") } else { format!("{call}, {group})") };
        let message = message!("\"{text}\" is not replaced by a group of the regular expression");
        let diagnostic = Diagnostic::new(Code::TemplateText, span, message);
        let help = message!("write `{written} ?? \"\"`");
        self.diagnostics.push(diagnostic.help(help).likely_fix(span, format!("{written} ?? \"\"")));
    }

    /// Returns the start of a call of `capture` that reads the group `group`, up to the second
    /// argument: `capture(text, r"#(\d+)"`. The call reads the only match in `condition` that has
    /// this group. `None` without such a match, or with several.
    fn write_capture_call_start(&self, condition: &Cond, group: u32) -> Option<String> {
        let mut matches = Vec::new();
        collect_match_operands(condition, &mut matches);
        let mut calls = matches.into_iter().filter_map(|(left, pattern)| {
            let hir = text::parse_cached(pattern.as_const()?.value().as_str()?, false).ok()?;
            let has_group = text::capture_groups(&hir).iter().any(|found| found.number == group);
            let slice = |span: Span| self.loaded.sources.slice(span);
            let (left, pattern) = (slice(left.span), slice(pattern.span));
            let is_literal =
                pattern.starts_with('"') || pattern.starts_with('r') && pattern.ends_with(['"', '#']);
            (has_group && is_literal).then(|| format!("capture({left}, {pattern}"))
        });
        let call = calls.next()?;
        calls.next().is_none().then_some(call)
    }

    /// Warns about a range of allowed numbers that contains no number, as in `in 1024..=1`.
    pub(super) fn warn_empty_range(&mut self, start: &Expr, end: &Expr, inclusive: bool, span: Span) {
        let (Some(low), Some(high)) = (start.as_const(), end.as_const()) else { return };
        let order = compare(low.value(), high.value());
        let is_empty = order == Some(Ordering::Greater) || order == Some(Ordering::Equal) && !inclusive;
        if !is_empty {
            return;
        }
        let slice = |span: Span| self.loaded.sources.slice(span).to_owned();
        let message = message!("the range `{range}` is empty", range = slice(span));
        let sign = if inclusive || order == Some(Ordering::Equal) { "..=" } else { ".." };
        let written = format!("{}{sign}{}", slice(end.span), slice(start.span));
        let diagnostic = Diagnostic::new(Code::EmptyRange, span, message);
        let help = message!("no value of the field is allowed: write `{written}`");
        self.diagnostics.push(diagnostic.help(help).likely_fix(span, written));
    }

    /// Adds a help text that shows how to read a character of a text, if `base` is a text and
    /// `index` a number. `span` is the span of the whole expression `base[index]`.
    pub(super) fn with_character_help(
        &self,
        diagnostic: Diagnostic,
        base: &Expr,
        index: &Expr,
        span: Span,
    ) -> Diagnostic {
        if base.ty.kinds != KindSet::STRING || index.ty.kinds != KindSet::INT {
            return diagnostic;
        }
        let slice = |span: Span| self.loaded.sources.slice(span).to_owned();
        let written = format!("substring({}, {}, 1)", slice(base.span), slice(index.span));
        diagnostic.help(message!("for a character of a text write `{written}`")).likely_fix(span, written)
    }
}
