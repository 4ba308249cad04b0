//! Diagnostics for the clauses of a statement in the wrong order, and for a clause keyword of
//! another language. Examples: `where` before `when`, a type after its limits, `with` for `where`.

use super::super::super::context::unexpected_token;
use super::super::super::{foreign, shapes};
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::Ty;
use std::ops::Range;

/// Maximum length, in bytes, of a statement that a help text repeats.
const MAX_REPEATED_BYTES: usize = 200;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for clauses in the wrong order. `None` without such a mistake.
    pub(super) fn misordered_clauses_error(&self) -> Option<Diagnostic> {
        self.misordered_route_error()
            .or_else(|| self.misordered_history_error())
            .or_else(|| self.misordered_field_error())
            .or_else(|| self.arguments_after_metadata_error())
            .or_else(|| {
                shapes::word_meant_as_where_error(self.cx, self.cx.tokens.start..self.token_index + 1)
            })
            .or_else(|| self.comma_before_clause_error())
    }

    /// Splits tokens into clauses, each with its rank in the correct order. A clause begins at a
    /// token outside brackets for which `rank` returns a rank.
    fn split_into_ranked_clauses(
        &self,
        tokens: Range<usize>,
        rank_of_token: impl Fn(usize) -> Option<usize>,
    ) -> Vec<(usize, Range<usize>)> {
        let mut parts: Vec<(usize, Range<usize>)> = Vec::new();
        let mut depth = 0_usize;
        for index in tokens.clone() {
            let kind = self.cx.significant[index].token.kind;
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            if depth == 0
                && let Some(rank) = rank_of_token(index)
            {
                if let Some((_, last)) = parts.last_mut() {
                    last.end = index;
                }
                parts.push((rank, index..tokens.end));
            }
            depth += usize::from(kind.opens_bracket());
        }
        parts
    }

    /// Returns the index of the first clause that must be written before an earlier clause, and the
    /// index of this earlier clause. `None` if the clauses are in order, or if two have the same
    /// rank.
    fn first_misordered_clauses(parts: &[(usize, Range<usize>)]) -> Option<(usize, usize)> {
        let has_twice = |(index, (rank, _)): (usize, &(usize, Range<usize>))| {
            parts[..index].iter().any(|(other, _)| other == rank)
        };
        if parts.iter().enumerate().any(has_twice) {
            return None;
        }
        (0..parts.len()).find_map(|late| {
            let early = (0..late).find(|early| parts[*early].0 > parts[late].0)?;
            Some((late, early))
        })
    }

    /// Joins the source texts of clauses in the order of their ranks, which is the correct order.
    fn join_clauses_in_order(&self, parts: &[(usize, Range<usize>)]) -> String {
        let mut parts = parts.to_vec();
        parts.sort_by_key(|(rank, _)| *rank);
        let texts: Vec<&str> =
            parts.iter().map(|(_, tokens)| self.source_of_tokens(tokens.clone())).collect();
        texts.join(" ")
    }

    /// Returns the diagnostic for the clauses of a route in the wrong order, as in `route a where b
    /// = 1 when b > x -> h`. `None` without such a mistake.
    fn misordered_route_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::route_statement {
            return None;
        }
        let start = self.cx.tokens.start + 2;
        let rank = |index: usize| match self.text_of_token(index) {
            "priority" => Some(0),
            "disabled" => Some(1),
            "when" => Some(2),
            "where" => Some(3),
            "->" | "=>" => Some(4),
            _ => None,
        };
        let parts = self.split_into_ranked_clauses(start..self.cx.tokens.end, rank);
        let has = |wanted: usize| parts.iter().any(|(rank, _)| *rank == wanted);
        let begins_at_start = parts.first().is_some_and(|(_, tokens)| tokens.start == start);
        let is_complete = parts.iter().all(|(rank, tokens)| tokens.len() > 1 || *rank == 1);
        let (late, early) = Self::first_misordered_clauses(&parts)?;
        // The next route may have been parsed as a part of this one.
        let has_other = (start..self.cx.tokens.end).any(|index| self.text_of_token(index) == "route");
        // `priority` and `disabled` may be written in any order.
        if has_other || !begins_at_start || !is_complete || !has(2) || !has(4) || parts[early].0 < 2 {
            return None;
        }
        let message = message!(
            "`{}` must be written before `{}`",
            self.text_of_token(parts[late].1.start),
            self.text_of_token(parts[early].1.start)
        );
        let span = self.span_of_tokens(parts[late].1.start..parts[late].1.start + 1);
        let written = self.join_clauses_in_order(&parts);
        let head = self.source_of_tokens(self.cx.tokens.start..start);
        self.suggest_order(span, message, self.span_of_tokens(start..self.cx.tokens.end), (head, &written))
    }

    /// Returns the diagnostic for the key of a history after its other clauses, or with another
    /// word for `by`: `history keep 1d by user.id`, `history per user.id`. `None` without such a
    /// mistake.
    fn misordered_history_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::history_statement {
            return None;
        }
        let start = self.cx.tokens.start + 1;
        let is_by = |index: usize| {
            matches!(
                self.text_of_token(index),
                "by" | "per" | "for" | "of" | "on" | "key" | "group" | "keyed"
            )
        };
        let rank = |index: usize| match self.text_of_token(index) {
            _ if index > start && matches!(self.text_of_token(index - 1), "." | "by" | "group" | "keyed") => {
                None
            }
            _ if is_by(index) => Some(0),
            "keep" => Some(1),
            "at" if self.text_of_token(index + 1) == "most" => Some(2),
            _ => None,
        };
        let parts = self.split_into_ranked_clauses(start..self.cx.tokens.end, rank);
        let (_, key) = parts.iter().find(|(rank, _)| *rank == 0)?;
        let path = key.start + 1 + usize::from(self.text_of_token(key.start + 1) == "by");
        let is_path = matches!(self.kind_of_token(path), Some(TokenKind::Word | TokenKind::Quoted))
            && self.path_end(path) == key.end;
        let begins_at_start = parts.first().is_some_and(|(_, tokens)| tokens.start == start);
        if !is_path || !begins_at_start {
            return None;
        }
        let by = self.span_of_tokens(key.start..path);
        let Some((late, early)) = Self::first_misordered_clauses(&parts) else {
            let written = self.source_of_tokens(key.start..path);
            let message = message!("the key of the history follows `by`, not `{written}`");
            return (written != "by").then(|| foreign::foreign_syntax_error(by, message, "by"));
        };
        let message = message!(
            "`{}` must be written before `{}`",
            self.text_of_token(parts[late].1.start),
            self.text_of_token(parts[early].1.start)
        );
        let mut written = format!("by {}", self.source_of_tokens(path..key.end));
        let mut others = parts.clone();
        others.retain(|(rank, _)| *rank > 0);
        written.push(' ');
        written.push_str(&self.join_clauses_in_order(&others));
        self.suggest_order(by, message, self.span_of_tokens(start..self.cx.tokens.end), ("history", &written))
    }

    /// Builds a diagnostic that suggests another order for a statement: its start `head` followed
    /// by `written`. The fix replaces `replaced_span`, which is the part after `head`, by
    /// `written`. There is no fix if the suggestion is too long, or if `written` contains a line
    /// break or `#`. The help then only says "move it there".
    fn suggest_order(
        &self,
        span: Span,
        message: rulec_base::diag::Message,
        replaced_span: Span,
        (head, written): (&str, &str),
    ) -> Option<Diagnostic> {
        let is_short = head.len() + written.len() <= MAX_REPEATED_BYTES && !written.contains(['\n', '#']);
        let diagnostic = match is_short {
            true => unexpected_token(span, message, message!("write `{head} {written}`")),
            false => unexpected_token(span, message, message!("move it there")),
        };
        Some(if is_short { diagnostic.fix(replaced_span, written) } else { diagnostic })
    }

    /// Returns the diagnostic for a payload field without its type, or with its clauses in the
    /// wrong order: `name: not blank string`. `None` without such a mistake.
    fn misordered_field_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::field_item {
            return None;
        }
        let colon =
            (self.cx.tokens.start..self.cx.tokens.end).find(|index| self.text_of_token(*index) == ":")?;
        let (start, end) = (colon + 1, self.cx.tokens.end);
        let rank = |index: usize| {
            let is_type = |index: usize| {
                self.kind_of_token(index) == Some(TokenKind::Word)
                    && Ty::BUILTIN_NAMES.contains(&self.text_of_token(index))
            };
            let before = self.text_of_token(index - 1);
            match self.text_of_token(index) {
                "|" if self.text_of_token(index + 1) == "null" => Some(1),
                "not" if self.text_of_token(index + 1) == "blank" => Some(2),
                "in" => Some(3),
                "const" => Some(4),
                "default" => Some(5),
                "remove" => Some(6),
                "else" => Some(7),
                _ if index == start
                    || is_type(index) && !matches!(before, "const" | "default" | "in" | "|") =>
                {
                    Some(0)
                }
                _ => None,
            }
        };
        let parts = self.split_into_ranked_clauses(start..end, rank);
        let name = self.source_of_tokens(self.cx.tokens.start..colon + 1);
        let has_type = parts.iter().any(|(rank, _)| *rank == 0);
        let is_complete = parts.iter().all(|(rank, tokens)| tokens.len() > 1 || matches!(rank, 0 | 6));
        if !is_complete || parts.is_empty() {
            return None;
        }
        if has_type {
            let (late, early) = Self::first_misordered_clauses(&parts)?;
            let late = &parts[late];
            let message = match late.0 {
                0 => message!("the type of a field comes first"),
                _ => message!(
                    "`{}` must be written before `{}`",
                    self.text_of_token(late.1.start),
                    self.text_of_token(parts[early].1.start)
                ),
            };
            let span = self.span_of_tokens(late.1.start..late.1.start + 1);
            let written = self.join_clauses_in_order(&parts);
            return self.suggest_order(span, message, self.span_of_tokens(start..end), (name, &written));
        }
        let meant = self.type_of_values(start..end, &parts)?;
        let message = message!("`{}` has no type", self.text_of_token(self.cx.tokens.start));
        let span = self.span_of_tokens(self.cx.tokens.start..self.cx.tokens.start + 1);
        let written = format!("{meant} {}", self.join_clauses_in_order(&parts));
        self.suggest_order(span, message, self.span_of_tokens(start..end), (name, &written))
    }

    /// Returns the type of the literals in a field declaration; `string` for `not blank`. `None` if
    /// there is no literal.
    fn type_of_values(&self, tokens: Range<usize>, parts: &[(usize, Range<usize>)]) -> Option<&'static str> {
        if parts.iter().any(|(rank, _)| *rank == 2) {
            return Some("string");
        }
        tokens.into_iter().find_map(|index| match (self.kind_of_token(index)?, self.text_of_token(index)) {
            (TokenKind::String | TokenKind::RawString, _) => Some("string"),
            (TokenKind::Number, text) if text.contains(['.', 'e']) && !text.contains("..") => Some("number"),
            (TokenKind::Number, _) => Some("int"),
            (_, "true" | "false") => Some("bool"),
            _ => None,
        })
    }

    /// Returns the diagnostic for arguments after the metadata of a target: `-> h { team: "a" } (n:
    /// 1)`. `None` without such a mistake.
    fn arguments_after_metadata_error(&self) -> Option<Diagnostic> {
        let is_target =
            matches!(self.rule, Rule::route_statement | Rule::default_statement | Rule::test_statement);
        let close = self.token_index.checked_sub(1)?;
        if !is_target || self.found_text != "(" || self.text_of_token(close) != "}" {
            return None;
        }
        let mut depth = 0_usize;
        let open = (self.cx.tokens.start..=close).rev().find(|index| {
            let kind = self.cx.significant[*index].token.kind;
            depth += usize::from(kind.closes_bracket());
            depth = depth.saturating_sub(usize::from(kind.opens_bracket()));
            depth == 0
        })?;
        let name = open.checked_sub(1)?;
        if self.text_of_token(name.checked_sub(1)?) != "->" {
            return None;
        }
        let end = self.closing_bracket_or_end(self.token_index) + 1;
        let end = end.min(self.cx.tokens.end);
        let [target, metadata, arguments] =
            [name..open, open..close + 1, self.token_index..end].map(|tokens| self.source_of_tokens(tokens));
        let written = format!("{target}{arguments} {metadata}");
        let message = message!("the arguments of a handler come before its metadata");
        self.suggest_order(self.span, message, self.span_of_tokens(name..end), ("->", &written))
    }

    /// Returns the diagnostic for a comma between the condition and the next clause: `when a, where
    /// b = 1`. `None` without such a mistake.
    fn comma_before_clause_error(&self) -> Option<Diagnostic> {
        let next = self.text_of_token(self.token_index + 1);
        let is_clause =
            matches!(next, "where" | "->" | "=>" | "unless" | "and" | "or" | "priority" | "ignoring");
        if !matches!(self.found_text, "," | ";") || !is_clause || self.rule == Rule::test_statement {
            return None;
        }
        let message = message!("no `{}` is written before `{next}`", self.found_text);
        let diagnostic = unexpected_token(self.span, message, message!("remove the `{}`", self.found_text));
        Some(diagnostic.fix(self.span, ""))
    }

    /// Returns the diagnostic for a type in the definition of a list or a `let`, where no type may
    /// be declared: `list words []string = …`, `list<string> words = …`. `None` without such a
    /// mistake.
    pub(super) fn type_of_definition_error(&self) -> Option<Diagnostic> {
        if !matches!(self.rule, Rule::list_statement | Rule::let_statement) {
            return None;
        }
        // The module `habits` reports the type of a `let` after `:`.
        if self.rule == Rule::let_statement && self.found_text == ":" {
            return None;
        }
        let start = self.cx.tokens.start;
        let is_part = |index: usize| {
            let is_mark = matches!(self.text_of_token(index), "[" | "]" | "<" | ">" | ":" | "." | "?" | "*");
            is_mark || self.kind_of_token(index) == Some(TokenKind::Word)
        };
        let (first, end) = match self.token_index {
            // `list<string> words =`
            index if index == start + 1 && matches!(self.found_text, "<" | "[") => {
                let close = self.closing_bracket_or_end(index);
                if self.text_of_token(close + 2) != "=" {
                    return None;
                }
                (index, close + 1)
            }
            index if index == start + 2 => {
                let end = (index..self.cx.tokens.end).find(|index| !is_part(*index))?;
                if end == index || self.text_of_token(end) != "=" {
                    return None;
                }
                (index, end)
            }
            _ => return None,
        };
        let span = self.span_of_tokens(first..end);
        let message = message!("a definition has no type: the type follows from its value");
        let diagnostic =
            unexpected_token(span, message, message!("remove `{}`", self.source_of_tokens(first..end)));
        let removed = Span { start: self.cx.significant[first - 1].token.end, ..span };
        Some(diagnostic.fix(removed, ""))
    }

    /// Returns the diagnostic for a body of an `extern fn`: `extern fn f(x: float) -> float = x *
    /// 2`. `None` without such a mistake.
    pub(super) fn body_of_extern_error(&self) -> Option<Diagnostic> {
        let is_body = matches!(self.found_text, "=" | "{" | "=>" | ":=" | ":");
        let start = self.cx.tokens.start;
        let has_result = (start..self.token_index).any(|index| self.text_of_token(index) == "->");
        let has_types = (start..self.token_index).any(|index| self.text_of_token(index) == ")");
        if self.rule != Rule::extern_statement || !is_body || !has_types {
            return None;
        }
        let message = message!("an `extern fn` has no body: the program that runs the rules provides it");
        let arrow = (start..self.token_index).find(|index| self.text_of_token(*index) == "->");
        let head = self.source_of_tokens(start + 2..arrow.unwrap_or(self.token_index));
        let end = self.cx.tokens.end;
        let (first, last) = match self.found_text {
            "{" => (self.token_index + 1, end - 1),
            _ => (self.token_index + 1, end),
        };
        let first = first + usize::from(self.text_of_token(first) == "return");
        let last = last - usize::from(last > first && self.text_of_token(last - 1) == ";");
        if first >= last || !has_result && self.found_text == ":" {
            return None;
        }
        let written = format!("def {head} = {}", self.source_of_tokens(first..last));
        let span = self.span_of_tokens(start..end);
        let is_short = written.len() <= MAX_REPEATED_BYTES && !written.contains('\n');
        let names = (start..self.token_index).filter(|index| self.text_of_token(index + 1) == ":");
        let names: Vec<&str> = names.map(|index| self.text_of_token(index)).collect();
        let reads_parameter = (first..last).any(|index| names.contains(&self.text_of_token(index)));
        // A body that reads no parameter is probably a value for tests.
        if !reads_parameter && has_result && is_short {
            let kept = self.source_of_tokens(start..self.token_index);
            let removed =
                Span { start: self.token_before()?.end, ..self.span_of_tokens(self.token_index..end) };
            let help = message!(
                "remove the body: write `{kept}`; for a value that the rules compute, write `{written}`"
            );
            return Some(unexpected_token(self.span, message, help).likely_fix(removed, ""));
        }
        Some(match is_short {
            true => {
                unexpected_token(self.span, message, message!("write `{written}`")).likely_fix(span, written)
            }
            false => unexpected_token(self.span, message, message!("write `def {head} = …`")),
        })
    }

    /// Returns the diagnostic for a symbol inside a declared name or a target: `route a.b when`,
    /// `handler a/b`. `None` without such a mistake.
    pub(super) fn symbol_in_name_error(&self) -> Option<Diagnostic> {
        let first = self.token_index.checked_sub(1)?;
        let is_field = self.statement_declares_fields() && self.expects_rule(Rule::colon);
        let is_declared = first == self.cx.tokens.start + 1 && !is_field;
        let is_target = matches!(self.text_of_token(first.checked_sub(1)?), "->" | "goto")
            && matches!(self.rule, Rule::route_statement | Rule::default_statement);
        let is_word =
            |index: usize| matches!(self.kind_of_token(index), Some(TokenKind::Word | TokenKind::Number));
        let touches =
            |index: usize| self.cx.significant[index - 1].token.end == self.cx.significant[index].token.start;
        let is_mark = |index: usize| {
            matches!(self.text_of_token(index), "." | "/" | ":" | "::" | "-")
                && is_word(index + 1)
                && touches(index)
                && touches(index + 1)
        };
        // In `-> ctx.vip ? a : b`, the dot belongs to a condition.
        let is_conditional = (first..self.cx.tokens.end).any(|index| self.text_of_token(index) == "?");
        if is_conditional {
            return None;
        }
        if !(is_declared || is_target) || !is_word(first) || !is_mark(self.token_index) {
            return None;
        }
        if self.rule == Rule::history_statement {
            let written = self.source_of_tokens(first..self.path_end(first));
            let message = message!("the key of the history follows `by`");
            let start =
                Span { end: self.cx.significant[first].token.start, ..self.span_of_tokens(first..first + 1) };
            let span = self.span_of_tokens(first..self.path_end(first));
            return Some(unexpected_token(span, message, message!("write `by {written}`")).fix(start, "by "));
        }
        let mut end = self.token_index;
        while is_mark(end) {
            end += 2;
        }
        let parts: Vec<&str> = (first..end).step_by(2).map(|index| self.text_of_token(index)).collect();
        let written = parts.join("_");
        let span = self.span_of_tokens(first..end);
        let table = is_target.then(|| parts[0]).filter(|name| self.is_declared("table", name));
        let message = message!("a name cannot contain `{}`", self.found_text);
        let help = match table {
            Some(table) => message!("to enter the table, write `goto {table}`"),
            None => message!("names are made of letters, digits and `_`: write `{written}`"),
        };
        let jumps = self.text_of_token(first.checked_sub(1)?) == "goto";
        let written = table.map_or(written, |table| match jumps {
            true => table.to_owned(),
            false => format!("goto {table}"),
        });
        Some(unexpected_token(self.span, message, help).likely_fix(span, written))
    }

    /// True if the file has a statement with this keyword and name.
    pub(super) fn is_declared(&self, keyword: &str, name: &str) -> bool {
        self.cx.declared().declares(keyword, name)
    }
}
