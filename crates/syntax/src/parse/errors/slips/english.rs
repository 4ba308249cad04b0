//! Diagnostics for declarations in English words or in the syntax of other languages: `text is a
//! string`, `handler pay takes amount: int`, and `given text("refund")`.

use super::super::super::context::unexpected_token;
use super::super::super::durations::write_meant_duration;
use super::super::super::{foreign, remedy};
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;
use std::ops::Range;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a declaration in other words. `None` without such words.
    pub(super) fn declaration_in_words_error(&self) -> Option<Diagnostic> {
        self.words_before_type_error()
            .or_else(|| self.parameters_in_words_error())
            .or_else(|| self.permission_in_words_error())
            .or_else(|| self.given_in_parentheses_error())
            .or_else(|| self.history_in_braces_error())
            .or_else(|| self.duration_in_words_error())
            .or_else(|| self.target_after_branch_error())
            .or_else(|| self.default_after_branch_error())
            .or_else(|| self.type_as_yaml_lines_error())
    }

    /// Returns the diagnostic for words in place of the colon of a field, as in `text is a string`.
    /// `None` without such words.
    fn words_before_type_error(&self) -> Option<Diagnostic> {
        if !self.statement_declares_fields() || !self.expects_rule(Rule::colon) {
            return None;
        }
        let is_joint = |index: usize| matches!(self.text_of_token(index), "is" | "of" | "has" | "be");
        let name = self.token_index.checked_sub(1)?;
        let mut ty = self.token_index + 1;
        while matches!(self.text_of_token(ty), "a" | "an" | "the" | "type" | "of") {
            ty += 1;
        }
        let meant = self.meant_type(ty).filter(|_| self.is_word(ty))?;
        if !is_joint(self.token_index) || !self.is_word(name) {
            return None;
        }
        let written = format!("{}: {meant}", self.text_of_token(name));
        let words = self.source_of_tokens(self.token_index..ty);
        let message = message!("a field and its type are separated by `:`, not by `{}`", words.to_owned());
        let help = message!("write `{written}`", written = written.clone());
        let span = self.span_of_tokens(name..ty + 1);
        Some(unexpected_token(self.span_of_tokens(self.token_index..ty), message, help).fix(span, written))
    }

    /// Returns the diagnostic for the parameters of a handler without parentheses, as in `handler
    /// pay takes amount: int`. `None` for other words.
    fn parameters_in_words_error(&self) -> Option<Diagnostic> {
        let start = self.cx.tokens.start;
        if self.rule != Rule::handler_statement || self.token_index != start + 2 || self.is_at_end() {
            return None;
        }
        let is_verb = matches!(
            self.found_text,
            "takes"
                | "with"
                | "has"
                | "accepts"
                | "needs"
                | "given"
                | "using"
                | "expects"
                | "gets"
                | "receives"
        );
        let first = self.token_index + usize::from(is_verb || self.found_text == ":");
        let is_parameter = self.is_word(first) && self.text_of_token(first + 1) == ":";
        let end = (first..self.cx.tokens.end).find(|index| self.text_of_token(*index) == "requires");
        let end = end.unwrap_or(self.cx.tokens.end);
        let params = self.source_of_tokens(first..end).replace(" and ", ", ");
        let written = format!("handler {}({params})", self.text_of_token(start + 1));
        if !is_parameter || !remedy::is_valid_short_statement(&written) {
            return None;
        }
        let message = message!("the parameters of a handler are written in parentheses");
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(self.span, message, help).fix(self.span_of_tokens(start..end), written))
    }

    /// Returns the diagnostic for a permission after other words than `requires permission`, as in
    /// `requires permissions.has("pay")`. `None` without such a permission.
    fn permission_in_words_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::handler_statement || !self.is_preceded_by("requires") {
            return None;
        }
        let end = (self.token_index + 1..self.cx.tokens.end).find(|index| self.begins_line(*index));
        let end = end.unwrap_or(self.cx.tokens.end);
        let texts: Vec<&str> = (self.token_index..end)
            .filter(|index| self.kind_of_token(*index) == Some(TokenKind::String))
            .map(|index| self.text_of_token(index))
            .collect();
        let names: Vec<String> = match texts.as_slice() {
            [] if end == self.token_index + 1 && self.is_word(self.token_index) => {
                vec![format!("\"{}\"", self.found_text)]
            }
            texts => texts.iter().map(|text| (*text).to_owned()).collect(),
        };
        if names.is_empty() {
            return None;
        }
        let written = format!("permission {}", names.join(", "));
        let message = message!("a handler requires permissions by their names, in quotes");
        let help = message!("write `requires {written}`", written = written.clone());
        let span = self.span_of_tokens(self.token_index..end);
        Some(unexpected_token(self.span, message, help).likely_fix(span, written))
    }

    /// Returns the diagnostic for a value in parentheses or after another symbol than `=`, as in
    /// `given text("refund").`. `None` for other symbols.
    fn given_in_parentheses_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::test_statement || !matches!(self.found_text, "(" | "is" | "as" | "->") {
            return None;
        }
        let start = self.path_start(self.token_index)?;
        let given = start.checked_sub(1).filter(|given| self.text_of_token(*given) == "given")?;
        let end = match self.found_text {
            "(" => self.closing_bracket_or_end(self.token_index),
            _ => (self.token_index + 1..self.cx.tokens.end)
                .find(|index| matches!(self.text_of_token(*index), "given" | "expect" | "}"))?,
        };
        let value = self.source_of_tokens(self.token_index + 1..end);
        let field = self.source_of_tokens(start..self.token_index);
        let written = format!("given {field} = {value}");
        let test = format!("test \"t\" {{ {written} expect none }}");
        if value.is_empty() || !remedy::is_valid_short_statement(&test) {
            return None;
        }
        let last = end + usize::from(self.found_text == "(");
        let last = last + usize::from(matches!(self.text_of_token(last), "." | ";" | ","));
        let last = last.min(self.cx.tokens.end);
        let message = message!("a field of a test gets its value by `=`");
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(self.span, message, help).fix(self.span_of_tokens(given..last), written))
    }

    /// Returns the diagnostic for the clauses of a history in braces, as in `history { by: session,
    /// keep: 1d }`. `None` without braces.
    fn history_in_braces_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::history_statement || !matches!(self.found_text, "{" | "(") {
            return None;
        }
        let close = self.closing_bracket_or_end(self.token_index);
        let mut parts = String::from("history");
        for index in self.token_index + 1..close {
            match self.text_of_token(index) {
                ":" | "," | "=" | ";" => {}
                "key" | "group" | "partition" => parts.push_str(" by"),
                "max" | "limit" | "size" | "at_most" | "count" => parts.push_str(" at most"),
                "ttl" | "for" | "retention" | "window" | "age" => parts.push_str(" keep"),
                "." => parts.push('.'),
                word if parts.ends_with('.') => parts.push_str(word),
                word => parts.push_str(&format!(" {}", strip_quotes(word))),
            }
        }
        let message = message!("the clauses of a history are written without braces");
        if !remedy::is_valid_short_statement(&parts) {
            let help = message!("write `history by FIELD keep DURATION`");
            return self.unexpected_token(message, help);
        }
        let whole = self.span_of_tokens(self.cx.tokens.start..(close + 1).min(self.cx.tokens.end));
        let help = message!("write `{written}`", written = parts.clone());
        Some(unexpected_token(self.span, message, help).likely_fix(whole, parts))
    }

    /// Returns the diagnostic for the time after `keep` or `within` in the syntax of another
    /// language: in quotes, as a call such as `ofDays(1)`, or as a product. `None` for other times.
    fn duration_in_words_error(&self) -> Option<Diagnostic> {
        let has_duration = matches!(self.rule, Rule::history_statement | Rule::workflow_statement);
        let keyword = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| matches!(self.text_of_token(*index), "keep" | "within" | "node"))
            .filter(|index| has_duration && self.text_of_token(*index) != "node")?;
        let first = keyword + 1;
        let is_clause = |index: &usize| {
            let word = self.text_of_token(*index);
            matches!(word, "at" | "by" | "keep" | "" | "->" | "node" | "}" | "merge")
        };
        let end = (first..=self.cx.tokens.end).find(|index| is_clause(index))?;
        if first >= end || self.token_index < first || self.token_index > end {
            return None;
        }
        let (message, duration) = if self.kind_of_token(first) == Some(TokenKind::String) {
            let inner = strip_quotes(self.text_of_token(first));
            (message!("a duration is written without quotes"), write_meant_duration(inner, ""))
        } else if self.text_of_token(first + 1) == "*" {
            (message!("a duration is one number with a unit"), self.write_product_as_duration(first..end))
        } else {
            let open = (first..end).find(|index| self.text_of_token(*index) == "(")?;
            let name = self.text_of_token(open - 1);
            let args = self.source_of_tokens(open + 1..self.closing_bracket_or_end(open));
            (message!("a duration is a number with a unit"), write_meant_duration(args, name))
        };
        let span = self.span_of_tokens(first..end);
        Some(match duration {
            Some(duration) => foreign::foreign_syntax_error(span, message, &duration),
            None if self.rule == Rule::workflow_statement => {
                unexpected_token(span, message, message!("write for example `within 5s`"))
            }
            None => unexpected_token(span, message, message!("write for example `keep 24h`")),
        })
    }

    /// Returns a product of whole seconds as a duration: `1d` for `24 * 60 * 60`.
    fn write_product_as_duration(&self, tokens: Range<usize>) -> Option<String> {
        let mut seconds = 1_u64;
        for (position, index) in tokens.enumerate() {
            match position % 2 {
                0 => {
                    seconds = seconds.checked_mul(self.text_of_token(index).replace('_', "").parse().ok()?)?
                }
                _ if self.text_of_token(index) == "*" => {}
                _ => return None,
            }
        }
        let units = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)];
        let (unit, length) = units.into_iter().find(|(_, length)| seconds.is_multiple_of(*length))?;
        (seconds > 0).then(|| format!("{}{unit}", seconds / length))
    }

    /// Returns the diagnostic for a target after a branch, as in `branch ship { … } -> pack`.
    /// `None` without such a target.
    fn target_after_branch_error(&self) -> Option<Diagnostic> {
        let is_arrow = matches!(self.found_text, "->" | "=>" | "then");
        let branch = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| self.text_of_token(*index) == "branch")
            .filter(|_| self.rule == Rule::choice_statement && is_arrow)?;
        let id = self.text_of_token(branch + 1);
        let begins_next =
            |index: &usize| matches!(self.text_of_token(*index), "branch" | "default" | "}" | ";" | ",");
        // `branch a -> { … }` has an arrow too many, which other diagnostics report.
        let target = self.token_index + 1;
        let end = (target..self.cx.tokens.end).find(begins_next)?;
        let has_braces = self.text_of_token(target) == "{";
        let has_comparison =
            (target..end).any(|index| self.kind_of_token(index) == Some(TokenKind::Operator));
        if has_braces || has_comparison || end == target || self.begins_line(end - 1) && end > target + 1 {
            return None;
        }
        let message = message!("a branch has no target: its id `{id}` is the answer", id = id.to_owned());
        self.removal_diagnostic(self.token_index, end, message)
    }

    /// Returns the diagnostic for `branch default NAME`, where `default` must come first. `None`
    /// without such a mistake.
    fn default_after_branch_error(&self) -> Option<Diagnostic> {
        let name = self.token_index + 1;
        let is_default = matches!(self.found_text, "default" | "else" | "otherwise");
        if self.rule != Rule::choice_statement || !is_default || !self.is_preceded_by("branch") {
            return None;
        }
        if !self.is_word(name) || matches!(self.text_of_token(name), "branch" | "default") {
            let message = message!("`default` is no id of a branch");
            return self.unexpected_token(message, message!("write `default branch ID`"));
        }
        let written = format!("default branch {}", self.text_of_token(name));
        let message = message!("`default` is written before `branch`");
        let help = message!("write `{written}`", written = written.clone());
        let span = self.span_of_tokens(self.token_index - 1..name + 1);
        Some(unexpected_token(self.span, message, help).fix(span, written))
    }

    /// Returns the diagnostic for a type whose values or fields are on lines of their own, as in
    /// YAML. `None` for other types.
    fn type_as_yaml_lines_error(&self) -> Option<Diagnostic> {
        let (first, end) = (self.token_index + 1, self.cx.tokens.end);
        if self.rule != Rule::type_statement || self.found_text != ":" || first >= end {
            return None;
        }
        let source = self.source_of_tokens(first..end);
        let values = foreign::dashed_lines_to_list(source)
            .map(|list| list.trim_matches(['[', ']']).replace(", ", " | "));
        let has_fields = self.begins_line(first) && self.text_of_token(first + 1) == ":";
        let fields = || {
            let lines: Vec<&str> = source.lines().map(|line| line.trim().trim_end_matches(',')).collect();
            format!("{{ {} }}", lines.join(", "))
        };
        let ty = values.or_else(|| has_fields.then(fields)).unwrap_or_else(|| source.to_owned());
        let head = self.source_of_tokens(self.cx.tokens.start..self.token_index);
        let written = format!("{head} = {ty}");
        if !remedy::is_valid_short_statement(&written) {
            return None;
        }
        let message = message!("a name and its value are separated by `=`, not `:`");
        let help = message!("write `{written}`", written = written.clone());
        let whole = Span {
            start: self.cx.significant[self.cx.tokens.start].token.start,
            ..self.span_of_tokens(first..end)
        };
        Some(unexpected_token(self.span, message, help).likely_fix(whole, written))
    }
}

/// Removes the quotes of a text.
fn strip_quotes(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}
