//! Diagnostics for keyword flows that use the pattern syntax of another language: words such as
//! `like` for the match mode, and wildcards in a pattern.

use super::super::Checker;
use super::super::wildcard::{wildcards_to_regex, without_foreign_wildcards};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_syntax::ast::{self, Ident};
use rulec_syntax::write::{quote_raw_string, quote_string};

impl Checker<'_> {
    /// Returns the diagnostic for a word of another language, such as `like`, in place of the match
    /// mode before the patterns `list`. `None` for other words.
    pub(super) fn foreign_match_mode_error(
        &self,
        matching: &Ident,
        list: &ast::Expr,
        message: Message,
    ) -> Option<Diagnostic> {
        let texts: Option<Vec<&str>> = match &list.kind {
            ast::ExprKind::List(items) => items.iter().map(literal_text).collect(),
            _ => None,
        };
        let texts = texts.unwrap_or_default();
        let list_of = |texts: Vec<String>| format!("[{}]", texts.join(", "));
        let plain =
            |strip: fn(&str) -> &str| list_of(texts.iter().map(|text| quote_string(strip(text))).collect());
        let same = || plain(|text| text);
        let written = match matching.node.to_lowercase().as_str() {
            "like" | "glob" | "wildcard" | "ilike" => {
                let trimmed = || texts.iter().map(|text| text.trim_matches(['%', '*']));
                match trimmed().any(|text| text.contains(['%', '*', '?', '_'])) {
                    false => format!("contains {}", plain(|text| text.trim_matches(['%', '*']))),
                    true => {
                        let regexes = texts.iter().map(|text| quote_raw_string(&wildcards_to_regex(text)));
                        format!("regex {}", list_of(regexes.collect()))
                    }
                }
            }
            "has" | "include" | "includes" | "containing" | "contain" | "any" | "in" | "word" | "words"
            | "find" | "search" | "substring" => format!("contains {}", same()),
            "is" | "equals" | "equal" | "eq" | "exactly" | "same" | "full" => format!("exact {}", same()),
            "matches" | "match" | "regexp" | "re" | "pattern" | "regular" => {
                let raw = texts.iter().map(|text| quote_raw_string(text)).collect();
                format!("regex {}", list_of(raw))
            }
            "starts_with" | "startswith" | "prefix" | "begins" => {
                let raw =
                    texts.iter().map(|text| quote_raw_string(&format!("^{}", wildcards_to_regex(text))));
                format!("regex {}", list_of(raw.collect()))
            }
            "ends_with" | "endswith" | "suffix" => {
                let raw =
                    texts.iter().map(|text| quote_raw_string(&format!("{}$", wildcards_to_regex(text))));
                format!("regex {}", list_of(raw.collect()))
            }
            _ => return None,
        };
        let diagnostic = Diagnostic::new(Code::UnknownMatching, matching.span, message);
        if texts.is_empty() {
            let mode = written.split(' ').next().unwrap_or_default().to_owned();
            return Some(
                diagnostic
                    .help(message!("write `{replacement}`", replacement = mode))
                    .likely_fix(matching.span, mode),
            );
        }
        let whole = matching.span.to(list.span);
        Some(diagnostic.help(message!("write `{written}`")).likely_fix(whole, written))
    }

    /// Warns about wildcards in a pattern of a flow. Wildcards are compared like other characters,
    /// unless the pattern is a regular expression. `span` is the span of the pattern, or of the
    /// whole list.
    pub(super) fn warn_wildcard_in_flow(&mut self, operator: Op, pattern: &str, span: Span) {
        let Some(plain) = without_foreign_wildcards(pattern).filter(|_| operator != Op::Matches) else {
            return;
        };
        let message = message!("this text has a wildcard, which is compared as it is");
        let diagnostic = Diagnostic::new(Code::LooksLikePattern, span, message);
        let is_inner = plain.contains(['%', '*']);
        self.diagnostics.push(match (operator, is_inner) {
            (_, true) => {
                let regex = quote_raw_string(&wildcards_to_regex(pattern));
                diagnostic.help(message!("write a flow with `regex [{regex}]`"))
            }
            (Op::Eq, false) => {
                let plain = quote_string(&plain);
                diagnostic.help(message!("write a flow with `contains [{plain}]`"))
            }
            (_, false) => {
                let plain = quote_string(&plain);
                diagnostic.help(message!("write {plain}"))
            }
        });
    }
}

fn literal_text(item: &ast::Expr) -> Option<&str> {
    match &item.kind {
        ast::ExprKind::Literal(ast::Literal::String(text)) => Some(text),
        _ => None,
    }
}
