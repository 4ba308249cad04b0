//! The constant right sides of text operators: regular expressions must be valid, keywords able to
//! match.

use super::{Checked, Checker};
use crate::diag::{Code, Diagnostic};
use crate::ops::{Op, Search, TestMode};
use crate::sema::hir::{Expr, Pattern};
use crate::span::Span;
use crate::text;
use crate::value::Value;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Looks at the constant on the right of a text operator: regular expressions must be valid,
    /// keywords able to match. Parameters of a `def` are looked at when a call puts something in; an
    /// expression that the message brings is compiled when it is asked, and an invalid one is unknown.
    pub(super) fn keywords_fit(&mut self, op: Op, mode: TestMode, right: &Expr) -> Checked<()> {
        let Some(constant) = right.as_const() else {
            return Ok(());
        };
        let value = constant.value();
        let keywords: Vec<&str> = match (mode.quantity, value) {
            (None, Value::Str(keyword)) => vec![keyword],
            (Some(_), list) => list.elements().into_iter().flatten().filter_map(Value::as_str).collect(),
            (None, list) if op == Op::In && list.list_len() == Some(0) => Vec::new(),
            _ => return Ok(()),
        };
        if value.list_len() == Some(0) {
            let message = "nothing is in an empty list";
            self.diagnostics.push(
                Diagnostic::new(Code::EmptyList, right.span, message)
                    .help("add an element, or remove the condition"),
            );
        }
        for keyword in keywords {
            if mode.word && keyword.is_empty() {
                return self.report(
                    Diagnostic::new(
                        Code::KeywordNeverMatches,
                        right.span,
                        "an empty keyword is no word and never matches",
                    )
                    .help("write the word to look for, or leave `word` out"),
                );
            }
            if op.info().search == Some(Search::Regex) {
                self.pattern_fits(keyword, mode.text.fold, right.span)?;
            }
        }
        Ok(())
    }

    pub(super) fn pattern_fits(&mut self, pattern: &str, fold: bool, span: Span) -> Checked<()> {
        let key = (Arc::<str>::from(pattern), fold);
        if self.program.patterns.contains_key(&key) {
            return Ok(());
        }
        let error = match text::parsed(pattern, fold) {
            Ok(hir) => {
                let known = Pattern { place: span, surely_compiles: text::surely_compiles(&hir) };
                self.program.patterns.insert(key, known);
                return Ok(());
            }
            Err(error) => error,
        };
        let (kind, at) = match &*error {
            regex_syntax::Error::Parse(error) => {
                use regex_syntax::ast::ErrorKind;
                let unsupported = matches!(
                    error.kind(),
                    ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference
                );
                if unsupported {
                    let what = match error.kind() {
                        ErrorKind::UnsupportedLookAround => "look-around",
                        _ => "a back-reference",
                    };
                    let message = format!("`{}` uses {what}, which is not supported", shown(pattern));
                    return self.report(
                        Diagnostic::new(Code::RegexLookAround, span, message)
                            .here(format!("at character {} of the expression", error.span().start.column))
                            .help("a search with it could take unbounded time; two conditions often say the same, as in `x matches r\"a\" and x not matches r\"b\"`"),
                    );
                }
                (error.kind().to_string(), error.span().start.column)
            }
            regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span().start.column),
            _ => (error.to_string(), 1),
        };
        self.report(
            Diagnostic::new(Code::BadRegex, span, format!("`{}` is no regular expression: {kind}", shown(pattern)))
                .here(format!("at character {at} of the expression"))
                .help("to look for a text as it is, write `contains`; in an expression `\\` before a sign takes it as it is, as in `r\"\\(\"`"),
        )
    }
}

/// The finding about a regular expression that needs too much memory.
pub(crate) fn regex_too_large(place: Span) -> Diagnostic {
    Diagnostic::new(Code::RegexTooLarge, place, "this regular expression is too large when compiled")
        .help("bound its repetitions, as in `{1,20}`, or use ASCII classes such as `[0-9]` instead of `\\d`")
}

/// A regular expression for a message, cut if it is long.
fn shown(pattern: &str) -> String {
    let mut short: String = pattern.chars().take(40).collect();
    if short.len() < pattern.len() {
        short.push('…');
    }
    short
}
