//! Diagnostics for lines of a payload or group that are rules in the syntax of another language,
//! such as `required: [a, b]`.

use super::super::super::context::unexpected_token;
use super::super::super::foreign;
use super::super::{ParseFailure, Rule, is_payload_item};
use crate::lex::TokenKind;
use rulec_base::diag::{Diagnostic, Message};
use rulec_base::message;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a payload line in the syntax of another language: `required: [a,
    /// b]`, `rank: 9`, `rule "a" { … }`. `None` without such a mistake.
    pub(super) fn foreign_payload_line_error(&self) -> Option<Diagnostic> {
        if !is_payload_item(self.rule) {
            return None;
        }
        let first = self.cx.tokens.start;
        // `name: string, minLength: 1`
        if self.found_text == "," && self.text_of_token(self.token_index + 2) == ":" {
            let word = self.text_of_token(self.token_index + 1);
            let help = foreign::schema_help(word, self.text_of_token(first))?;
            let message = message!("`{word}` is not part of a field declaration");
            return Some(unexpected_token(
                self.span_of_tokens(self.token_index..self.token_index + 2),
                message,
                help,
            ));
        }
        if self.rule == Rule::field_item
            && self.text_of_token(first + 1) == ":"
            && self.token_index == first + 2
        {
            let word = self.text_of_token(first);
            let message = message!("`{word}: {}` declares no field", self.cx.shorten_source(self.span));
            let help = payload_line_help(word, self.found_text)?;
            return Some(unexpected_token(self.span_of_tokens(first..first + 1), message, help));
        }
        // The word begins a line after a complete item.
        let is_line = self.begins_line(self.token_index) && self.expects_rule(Rule::EOI);
        let index = if is_line { self.token_index } else { first };
        let is_first = self.token_index <= first + 1 && self.kind_of_token(first) == Some(TokenKind::Word);
        if !is_line && !is_first {
            return None;
        }
        let word = self.text_of_token(index);
        if self.text_of_token(index + 1) == ":" {
            return None;
        }
        let name = self.text_of_token(index + 1);
        let name = if self.kind_of_token(index + 1) == Some(TokenKind::String) { name } else { "\"NAME\"" };
        let help = schema_rule_help(word, name)?;
        let help = self.violation_help(word, index, name).unwrap_or(help);
        let message = message!("no rule of a payload begins with `{word}`");
        Some(unexpected_token(self.span_of_tokens(index..index + 1), message, help))
    }

    /// Returns the help text for `rule "a" when CONDITION then "MESSAGE"`. It suggests a `forbid`,
    /// because the true condition means a violation. `word` is the first word of the line, `index`
    /// its token, and `name` the name of the rule. `None` for other lines.
    fn violation_help(&self, word: &str, index: usize, name: &str) -> Option<Message> {
        let is_condition = |word: &str| matches!(word, "when" | "if" | "where");
        let word = word.to_lowercase();
        // `ensure … when` may give a condition that must hold.
        if !(is_condition(&word) || begins_violation_rule(&word)) {
            return None;
        }
        let after_name = index + 1 + usize::from(self.kind_of_token(index + 1) == Some(TokenKind::String));
        let start = match is_condition(&word) {
            true => index + 1,
            false => Some(after_name + 1).filter(|_| is_condition(self.text_of_token(after_name)))?,
        };
        let is_end = |token: &usize| self.kind_of_token(*token).is_none() || self.begins_line(*token);
        let line_end = (start..).find(is_end)?;
        let then = (start..line_end).find(|token| matches!(self.text_of_token(*token), "then" | "else"))?;
        let has_message = self.kind_of_token(then + 1) == Some(TokenKind::String) && then + 2 == line_end;
        if !has_message || then == start || (start..then).any(|token| self.text_of_token(token) == ":") {
            return None;
        }
        let (condition, text) = (self.source_of_tokens(start..then), self.text_of_token(then + 1));
        Some(message!("write `{written}`", written = format!("forbid {name} when {condition} else {text}")))
    }
}

/// True for a word by which other languages begin a rule that reports a violation.
fn begins_violation_rule(word: &str) -> bool {
    let rules = ["rule", "check", "constraint", "validate", "violation"];
    let refusals = ["deny", "reject", "disallow", "prohibit", "block", "fail", "error", "raise"];
    rules.contains(&word) || refusals.contains(&word)
}

/// Returns the help text for a payload line `word: …` that is a rule in another language. `found`
/// is the token after the colon, where a type is expected. `None` for other words.
fn payload_line_help(word: &str, found: &str) -> Option<Message> {
    Some(match word.to_lowercase().replace(['_', '-'], "").as_str() {
        "rank" | "priority" | "order" | "weight" => {
            message!("write the rank before the brace: `payload NAME rank {found} {{`")
        }
        "required" | "mandatory" => {
            message!("a field is required unless `?` follows its name: remove this line")
        }
        "additionalproperties" | "closed" | "strict" | "unknownfields" | "allowextra" | "extra" => {
            message!("write `closed` to refuse fields that are not declared, and remove this line")
        }
        "properties" | "fields" | "schema" | "items" if found == "{" => {
            message!("write the fields directly in the braces of the payload: `name: type`")
        }
        "description" | "title" | "comment" | "doc" | "docs" if found.starts_with('"') => {
            message!("write it as documentation before the payload: `## …`")
        }
        _ if matches!(found, "true" | "false") || found.starts_with(|c: char| c.is_ascii_digit()) => {
            foreign::schema_help(word, "name").unwrap_or_else(|| {
                message!("write a type after `:`; for one allowed value `{word}: const {found}`")
            })
        }
        _ if found.starts_with('"') => {
            message!("for one allowed value write `{word}: string const {found}`")
        }
        "enum" | "pattern" | "format" | "minlength" | "maxlength" => foreign::schema_help(word, "name")?,
        _ if found == "[" => message!("write the type of the elements: `{word}: list<string>`"),
        _ => return None,
    })
}

/// Returns the help text for a word with which other languages begin a rule of a schema. `name` is
/// the name of the rule, in quotes. `None` for other words.
fn schema_rule_help(word: &str, name: &str) -> Option<Message> {
    Some(match word.to_lowercase().as_str() {
        "rule" | "check" | "assert" | "ensure" | "must" | "validate" | "constraint" | "invariant"
        | "expect" | "verify" | "should" => {
            message!("write `require {name}: CONDITION else \"MESSAGE\"`")
        }
        "deny" | "reject" | "disallow" | "prohibit" | "block" | "fail" | "error" | "raise" => {
            message!("write `forbid {name} when CONDITION else \"MESSAGE\"`")
        }
        "if" | "when" | "unless" | "where" => {
            message!("write `require {name} when CONDITION: CONDITION else \"MESSAGE\"`")
        }
        "extends" | "use" | "import" | "mixin" | "inherits" | "using" => message!("write `include GROUP`"),
        "for" | "foreach" | "forall" | "every" => message!("write `each x in LIST {{ … }}`"),
        "set" | "var" | "const" | "define" => message!("write `let NAME = VALUE`"),
        "default" | "fallback" | "otherwise" => {
            message!("a default belongs to a field: `name: type default VALUE`; remove this line")
        }
        "field" | "property" | "required" | "optional" | "string" | "int" | "number" | "bool" => {
            message!("a field is written `name: type`, an optional one `name?: type`")
        }
        _ => return None,
    })
}
