//! Finds what the author of an unknown name meant, judging by the source text around the name. Such
//! a name is an index for all elements (`words[_]`), the unit of a rate (`5/minute`), or a word for
//! a missing value (`empty`).

use super::Checker;
use rulec_base::diag::{Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_syntax::ast::StatementKind;

/// The units in which authors write a rate, such as `minute` in `5/minute`. Each row has the words
/// for a unit, and its length as a duration of the rules.
const RATE_UNITS: [(&[&str], &str); 5] = [
    (&["s", "sec", "secs", "second", "seconds", "秒"], "1s"),
    (&["m", "min", "mins", "minute", "minutes", "分钟"], "1min"),
    (&["h", "hr", "hrs", "hour", "hours", "小时"], "1h"),
    (&["d", "day", "days", "天"], "1d"),
    (&["w", "week", "weeks", "周"], "1w"),
];

/// A help text for an unknown name; also the span and the text of a likely fix, if there is one.
pub(super) type Remedy = (Message, Option<(Span, String)>);

impl Checker<'_> {
    /// Adds a help text to a diagnostic about an unknown name if the source text around the name
    /// shows what its author meant. Otherwise returns `Err` with the unchanged diagnostic.
    pub(super) fn with_help_from_source(
        &self,
        diagnostic: Diagnostic,
        name: &str,
        span: Span,
    ) -> Result<Diagnostic, Diagnostic> {
        let remedy = self
            .any_element_index_remedy(name, span)
            .or_else(|| self.foreign_duration_remedy(span))
            .or_else(|| unnamed_element_remedy(name))
            .or_else(|| self.rate_unit_remedy(name, span))
            .or_else(|| self.missing_value_remedy(name, span));
        match remedy {
            Some((help, Some((span, written)))) => Ok(diagnostic.help(help).likely_fix(span, written)),
            Some((help, None)) => Ok(diagnostic.help(help)),
            None => Err(diagnostic),
        }
    }

    /// Returns the texts of the file before and after a span. `None` if the text of the file is not
    /// kept, as for a route that is checked alone.
    fn source_texts_around(&self, span: Span) -> Option<(&str, &str)> {
        let text = &self.loaded.sources.get(span.file)?.text;
        let range = span.range();
        Some((text.get(..range.start)?, text.get(range.end..)?))
    }

    /// Returns the remedy for an index by which other languages mean any element of a list:
    /// `words[_]`. `None` for other names.
    pub(super) fn any_element_index_remedy(&self, name: &str, span: Span) -> Option<Remedy> {
        let (before, after) = self.source_texts_around(span)?;
        let is_index = matches!(name, "_" | "i" | "j" | "k" | "idx" | "index" | "any" | "all");
        let before = before.strip_suffix('[').filter(|_| is_index)?;
        let after = after.strip_prefix(']')?;
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let head = before.trim_end_matches(is_path);
        let list = &before[head.len()..];
        let field_length =
            if after.starts_with('.') { after.len() - after.trim_start_matches(is_path).len() } else { 0 };
        let field = &after[..field_length];
        let head_word = head.trim_end();
        let operator = &head_word[head_word.trim_end_matches(|c: char| !c.is_whitespace()).len()..];
        let whole = Span {
            start: (span.range().start - 1 - list.len()) as u32,
            end: (span.range().end + 1 + field.len()) as u32,
            ..span
        };
        let op = Op::from_spelling(operator).filter(|_| field.is_empty());
        if list.is_empty() || field.contains("..") || field.ends_with('.') {
            return None;
        }
        match op {
            Some(Op::In) => {
                let help = message!("`in` looks at every element: write `in {list}`");
                Some((help, Some((whole, list.to_owned()))))
            }
            Some(Op::Eq) => {
                let start = (head_word.len() - operator.len()) as u32;
                let help = message!("to compare with every element of a list, write `in {list}`");
                Some((help, Some((Span { start, ..whole }, format!("in {list}")))))
            }
            Some(op) if op.info().accepted_modifiers.accepts_quantity => {
                let help = message!("for any element of a list, write `{operator} any {list}`");
                Some((help, Some((whole, format!("any {list}")))))
            }
            _ => {
                let element = if list == "x" { "y" } else { "x" };
                let help = message!(
                    "for any element of a list, write `any {element} in {list}: {element}{field} …`"
                );
                Some((help, None))
            }
        }
    }

    /// Returns the remedy for the unit of a rate, such as `minute` in `> 5/minute`. `None` for
    /// other names.
    pub(super) fn rate_unit_remedy(&self, name: &str, span: Span) -> Option<Remedy> {
        let lower = name.to_lowercase();
        let (_, window) = RATE_UNITS.iter().find(|(words, _)| words.contains(&lower.as_str()))?;
        let (before, _) = self.source_texts_around(span)?;
        let before = before.trim_end().strip_suffix('/')?.trim_end();
        let head = before.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '_' | '.'));
        let number = &before[head.len()..];
        let follows_sign = head.trim_end().ends_with(['<', '>', '=']);
        if number.is_empty() || !follows_sign {
            return None;
        }
        let statement = self.statements().find(|statement| {
            let place = statement.span;
            place.file == span.file && (place.start..place.end).contains(&span.start)
        })?;
        let source = self.loaded.sources.slice(statement.span);
        let source = &source[..(span.start - statement.span.start) as usize];
        let whole = Span { start: head.len() as u32, ..span };
        let written = source.rsplit_once("within ").map(|(_, rest)| {
            &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '.').unwrap_or(rest.len())]
        });
        let is_count = !matches!(statement.kind, StatementKind::Test(_));
        Some(match written.filter(|_| is_count) {
            Some(written) if parse_duration_seconds(written) == parse_duration_seconds(window) => {
                let help = message!("the window of the count is `within {written}`: write `{number}`");
                (help, Some((whole, number.to_owned())))
            }
            Some(written) => {
                let help = message!(
                    "the window of the count is `within {written}`: write the number of messages in this window"
                );
                (help, None)
            }
            None => {
                let help = message!(
                    "a number has no unit `/{name}`: write `{number}` for a field with this unit, and \
                    `count x in history within {window}: CONDITION` to count messages"
                );
                (help, None)
            }
        })
    }

    /// Returns the remedy for a word such as `empty` by which authors mean that there is no value:
    /// `{ owner: empty }`. `None` for other names.
    fn missing_value_remedy(&self, name: &str, span: Span) -> Option<Remedy> {
        let is_word = matches!(
            name.to_lowercase().as_str(),
            "empty"
                | "nothing"
                | "nil"
                | "null"
                | "none"
                | "undefined"
                | "unset"
                | "blank"
                | "missing"
                | "空"
                | "无"
        );
        let (before, after) = self.source_texts_around(span)?;
        let before = before.trim_end();
        if matches!(name, "empty" | "blank" | "nothing" | "unset" | "空") && before.ends_with(['=']) {
            let help = message!(
                "write `x == \"\"` for an empty text, `len(x) == 0` for an empty list, and `x is missing` for a \
                missing field"
            );
            return before.ends_with("==").then_some((help, None));
        }
        let before = before.strip_suffix(':').filter(|_| is_word)?;
        let ends_entry = after.trim_start().starts_with([',', '}', ')']);
        let key = &before[before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len()..];
        if key.is_empty() || !ends_entry {
            return None;
        }
        Some(match innermost_bracket(before)? {
            '{' => {
                let help = message!("for no value write `null`, or leave `{key}` out");
                (help, Some((span, "null".to_owned())))
            }
            '(' => {
                let help = message!(
                    "for no value leave `{key}` out, if the parameter is optional; an empty text is written `\"\"`"
                );
                (help, None)
            }
            _ => return None,
        })
    }
}

/// Converts a duration such as `10min` to a number of seconds. `None` for other texts.
fn parse_duration_seconds(text: &str) -> Option<i64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = rulec_syntax::parse::UNITS_WITH_FACTORS.iter().find(|(name, ..)| *name == unit)?;
    number.parse::<i64>().ok()?.checked_mul(unit.1).filter(|_| unit.2 == 1)
}

/// Returns the innermost bracket that is open at the end of a text; `None` if all are closed.
/// Brackets in quoted texts are counted too.
fn innermost_bracket(text: &str) -> Option<char> {
    // Negative inside a bracket that is not closed.
    let mut depth = 0_i64;
    text.chars().rev().find(|c| match c {
        ')' | ']' | '}' => {
            depth += 1;
            false
        }
        '(' | '[' | '{' => {
            depth -= 1;
            depth < 0
        }
        _ => false,
    })
}

/// Returns the remedy for the word by which other languages mean the element of a list: `it`.
/// `None` for other names.
fn unnamed_element_remedy(name: &str) -> Option<Remedy> {
    let is_element = matches!(name, "it" | "element" | "elem");
    is_element.then(|| {
        let name = name.to_owned();
        (message!("a condition on elements names each one: write `any {name} in LIST: CONDITION`"), None)
    })
}
