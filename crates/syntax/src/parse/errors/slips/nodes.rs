//! Diagnostics for the parts of workflows and routers in another form: settings of a node in
//! parentheses, and next nodes in brackets or with another separator than a comma.

use super::super::super::context::unexpected_token;
use super::super::super::remedy;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use std::ops::Range;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a part of a workflow or router in another form. `None` without
    /// such a part.
    pub(super) fn workflow_or_router_part_error(&self) -> Option<Diagnostic> {
        if !matches!(self.rule, Rule::workflow_statement | Rule::router_statement) {
            return None;
        }
        self.settings_in_brackets_error()
            .or_else(|| self.next_nodes_in_brackets_error())
            .or_else(|| self.separator_of_next_nodes_error())
    }

    /// Returns the diagnostic for the settings of a node in parentheses or square brackets, as in
    /// `node ballot vote(threshold=0.6)`. `None` without such settings.
    fn settings_in_brackets_error(&self) -> Option<Diagnostic> {
        let open = self.token_index;
        let head = open.checked_sub(3).filter(|head| *head >= self.cx.tokens.start)?;
        let is_bracket = matches!(self.found_text, "(" | "[");
        if !is_bracket || self.text_of_token(head) != "node" {
            return None;
        }
        let close = self.cx.end_of_brackets(open);
        let settings: Option<Vec<String>> = self
            .split_entries(open + 1..close)
            .into_iter()
            .map(|entry| self.write_setting_of_entry(entry))
            .collect();
        let kind = self.text_of_token(open - 1);
        let written = settings.map(|settings| match settings.is_empty() {
            true => kind.to_owned(),
            false => format!("{kind} {{ {} }}", settings.join(", ")),
        });
        let is_valid = |written: &String| {
            close < self.cx.tokens.end
                && remedy::is_valid_short_statement(&format!("workflow w {{ node n {written} }}"))
        };
        let message = message!("the settings of a node are written in braces");
        Some(match written.filter(is_valid) {
            Some(written) => {
                let span = self.span_of_tokens(open - 1..close + 1);
                let help = message!("write `{written}`", written = written.clone());
                unexpected_token(self.span, message, help).likely_fix(span, written)
            }
            None => {
                let kind = kind.to_owned();
                unexpected_token(self.span, message, message!("write `{kind} {{ NAME: VALUE, … }}`"))
            }
        })
    }

    /// Returns the tokens of each entry between the commas or semicolons of a range.
    fn split_entries(&self, tokens: Range<usize>) -> Vec<Range<usize>> {
        let (mut entries, mut start, mut depth) = (Vec::new(), tokens.start, 0_usize);
        for index in tokens.clone() {
            let kind = self.cx.significant[index].token.kind;
            if depth == 0 && matches!(kind, TokenKind::Comma | TokenKind::Semicolon) {
                entries.push(start..index);
                start = index + 1;
            }
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
        }
        entries.push(start..tokens.end);
        entries.retain(|entry| !entry.is_empty());
        entries
    }

    /// Returns the setting `threshold: 0.6` for the entry `threshold=0.6`. `None` for an entry
    /// without a name.
    fn write_setting_of_entry(&self, entry: Range<usize>) -> Option<String> {
        let (name, sign) = (entry.start, entry.start + 1);
        let is_setting = matches!(self.kind_of_token(name), Some(TokenKind::Word | TokenKind::String))
            && matches!(self.text_of_token(sign), "=" | ":" | "=>" | ":=")
            && sign + 1 < entry.end;
        let value = || self.source_of_tokens(sign + 1..entry.end);
        is_setting.then(|| format!("{}: {}", self.text_of_token(name).trim_matches('"'), value()))
    }

    /// Returns the diagnostic for next nodes in brackets, as in `-> [editor, checker]`. `None`
    /// without such nodes.
    fn next_nodes_in_brackets_error(&self) -> Option<Diagnostic> {
        let open = self.token_index;
        if !matches!(self.found_text, "[" | "(" | "{") || !self.is_preceded_by("->") {
            return None;
        }
        let close = self.cx.end_of_brackets(open);
        let nodes = self.source_of_tokens(open + 1..close);
        let entries = self.split_entries(open + 1..close);
        let is_node = |entry: &Range<usize>| {
            let kind = self.kind_of_token(entry.start);
            let is_next =
                self.text_of_token(entry.start) == "next" && self.text_of_token(entry.start + 1) == "[";
            matches!(kind, Some(TokenKind::Word | TokenKind::String)) && (entry.len() == 1 || is_next)
        };
        if close >= self.cx.tokens.end || entries.is_empty() || !entries.iter().all(is_node) {
            return None;
        }
        let nodes = nodes.replace(';', ",");
        if nodes.contains('\n') || nodes.contains('#') {
            return None;
        }
        let message = message!("next nodes are written without brackets");
        let span = self.span_of_tokens(open..close + 1);
        let help = message!("write `-> {nodes}`", nodes = nodes.trim().to_owned());
        Some(unexpected_token(self.span, message, help).fix(span, nodes.trim().to_owned()))
    }

    /// Returns the diagnostic for another separator than a comma between next nodes, as in `->
    /// adopt; minutes`. `None` without such a separator.
    fn separator_of_next_nodes_error(&self) -> Option<Diagnostic> {
        let separator = self.token_index;
        let is_separator =
            matches!(self.found_text, ";" | "|" | "&" | "&&" | "+" | "/" | "and" | "or" | "||");
        let is_node = |index: usize| {
            matches!(self.kind_of_token(index), Some(TokenKind::Word | TokenKind::String))
                && !crate::parse::is_reserved(self.text_of_token(index))
        };
        let next = separator + 1;
        let arrow = (self.cx.tokens.start..separator).rev().find(|index| {
            let is_part = is_node(*index)
                || matches!(self.text_of_token(*index), "," | "[" | "]" | "next")
                || self.kind_of_token(*index) == Some(TokenKind::Number);
            !is_part
        })?;
        let follows_nodes = self.text_of_token(arrow) == "->" && arrow + 1 < separator;
        if !is_separator || !follows_nodes || !is_node(next) || self.begins_line(next) {
            return None;
        }
        let end = match (self.text_of_token(next), self.text_of_token(next + 1)) {
            ("next", "[") => self.cx.end_of_brackets(next + 1) + 1,
            _ => next + 1,
        };
        let written = format!(
            "{}, {}",
            self.source_of_tokens(arrow + 1..separator),
            self.source_of_tokens(next..end.min(self.cx.tokens.end))
        );
        let message = message!("several next nodes are separated by `,`, not by `{}`", self.found_text);
        let gap = rulec_base::span::Span { start: self.token_before()?.end, ..self.span };
        let help = message!("write `-> {written}`");
        Some(unexpected_token(self.span, message, help).fix(gap, ","))
    }
}
