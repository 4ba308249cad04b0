//! Finds the field or the character that an author means by a path in the form of another language:
//! a field without the record around it, a message with a name, or an index of a text.

use super::Checker;
use crate::hir::Expr;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::{KindSet, RecordType};
use rulec_lang::value::compare;
use std::cmp::Ordering;

/// Maximum depth of a record that is searched for a field.
const MAX_DEPTH: usize = 3;

/// Returns the help for an unknown name, and the path that replaces the name if only the name must
/// change. `names` is the whole path, and its first name is unknown. `None` without a known field.
pub(super) fn meant_field(record: &RecordType, names: &[&str]) -> Option<(Message, Option<String>)> {
    if let [_, field] = names {
        return record
            .get(field)
            .map(|_| (message!("a message has no name: write `{field}` for this field"), None));
    }
    let path = path_to_field(record, names)?;
    Some((message!("the message has this field in a record: write `{path}`"), Some(path)))
}

/// Returns the path to the only field of this name inside the records of the message, such as
/// `ctx.source_ip` for `source_ip`. `None` for a longer path, or if several records have the field.
fn path_to_field(record: &RecordType, names: &[&str]) -> Option<String> {
    let [name] = names else { return None };
    let mut paths = Vec::new();
    collect_paths(record, name, "", MAX_DEPTH, &mut paths);
    let path = paths.pop()?;
    paths.is_empty().then_some(path)
}

/// Adds the paths to the fields of this name inside the records of `record`, to the given depth.
fn collect_paths(record: &RecordType, name: &str, prefix: &str, depth: usize, paths: &mut Vec<String>) {
    for field in &record.fields {
        let Some(inner) = field.ty.fields().filter(|_| depth > 0) else { continue };
        let path = format!("{prefix}{}", field.name);
        if inner.get(name).is_some() {
            paths.push(format!("{path}.{name}"));
        }
        collect_paths(inner, name, &format!("{path}."), depth - 1, paths);
    }
}

impl Checker<'_> {
    /// Warns about a text such as `"$1"` in a statement with a regular expression: other languages
    /// replace it by a group of the match. Returns true if the text was reported.
    pub(super) fn warn_group_reference(&mut self, text: &str, span: Span) -> bool {
        let digits = text.strip_prefix(['$', '\\']).filter(|digits| digits.len() == 1);
        let group = digits.and_then(|digits| digits.parse::<u32>().ok()).filter(|group| *group > 0);
        let Some((group, call)) = group.and_then(|group| Some((group, self.capture_of_match(span)?))) else {
            return false;
        };
        let written = if group == 1 { format!("{call})") } else { format!("{call}, {group})") };
        let message = message!("\"{text}\" is not replaced by a group of the regular expression");
        let diagnostic = Diagnostic::new(Code::TemplateText, span, message);
        let help = message!("write `{written} ?? \"\"`");
        self.diagnostics.push(diagnostic.help(help).likely_fix(span, format!("{written} ?? \"\"")));
        true
    }

    /// Returns the start of the call of `capture` for the match in the statement around a span:
    /// `capture(text, r"#(\d+)"`. `None` without a match with a group.
    fn capture_of_match(&self, span: Span) -> Option<String> {
        let statement = self.statements().find(|statement| {
            let place = statement.span;
            place.file == span.file && (place.start..place.end).contains(&span.start)
        })?;
        let source = self.loaded.sources.slice(statement.span);
        let (before, after) = source.split_once(" matches ")?;
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let left = &before[before.trim_end_matches(is_path).len()..];
        let pattern = after.trim_start();
        let open = pattern.find('"')?;
        let end = open + 1 + pattern[open + 1..].find('"')? + 1;
        let pattern = &pattern[..end];
        let has_group = pattern.replace("(?", "").contains('(');
        (open <= 1 && has_group && !left.is_empty()).then(|| format!("capture({left}, {pattern}"))
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

    /// Adds to a diagnostic how a character of a text is read, if `base` is a text and `index` a
    /// number. `span` is the span of both.
    pub(super) fn character_of_text(
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
