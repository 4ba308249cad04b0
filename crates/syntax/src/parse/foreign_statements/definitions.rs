//! Recognizes definitions of other languages: blocks such as `locals { … }` and `const ( … )`,
//! `variable "a" { default = 3 }`, `const n int = 3`, and `default allow := false`.

use super::super::remedy::{is_valid_expression, is_valid_short_statement};
use super::{ForeignStatement, StatementReader};
use crate::lex::TokenKind;
use rulec_base::diag::comma_list;
use rulec_base::message;
use std::ops::Range;

/// Maximum number of definitions that a help text repeats.
const MAX_SHOWN_DEFINITIONS: usize = 3;

/// Words with which other languages begin a block of several definitions.
const DEFINITION_BLOCK_WORDS: [&str; 18] = [
    "locals",
    "let",
    "vars",
    "var",
    "variables",
    "const",
    "consts",
    "constants",
    "define",
    "defines",
    "definitions",
    "define_all",
    "values",
    "local",
    "constant",
    "set",
    "lets",
    "val",
];

/// Words with which other languages begin one definition.
const DEFINITION_WORDS: [&str; 17] = [
    "const", "var", "val", "variable", "local", "final", "static", "auto", "set", "define", "assign", "dim",
    "constant", "mut", "my", "export", "readonly",
];

impl StatementReader<'_> {
    /// Returns the definition in the syntax of another language at the token `start`. `None` for
    /// other statements.
    pub(super) fn read_definition(&self, start: usize) -> Option<ForeignStatement> {
        let word = self.lowercase_text(start);
        if word == "variable" && self.kind(start + 1) == Some(TokenKind::String) {
            return self.read_variable_block(start);
        }
        if DEFINITION_BLOCK_WORDS.contains(&word.as_str())
            && let Some(found) = self.read_block_of_definitions(start)
        {
            return Some(found);
        }
        DEFINITION_WORDS.contains(&word.as_str()).then(|| self.read_typed_definition(start)).flatten()
    }

    /// Returns the block of definitions at the token `start`: `locals { a = 1 }`, `const ( a = 1
    /// )`, or `vars:` with indented lines. `None` for other statements.
    fn read_block_of_definitions(&self, start: usize) -> Option<ForeignStatement> {
        let mut open = start + 1;
        open += usize::from(matches!(self.text(open), "=" | ":") && matches!(self.text(open + 1), "{" | "("));
        let (body, end) = match self.text(open) {
            "{" | "(" => (open + 1..self.closing_bracket(open)?, self.closing_bracket(open)? + 1),
            ":" if self.begins_line(open + 1) => {
                let end = self.index_after_block(open, self.significant[start].indent()?);
                (open + 1..end, end)
            }
            _ => return None,
        };
        let heads: Vec<usize> = self.entry_names(body.clone());
        let mut written = Vec::new();
        for (position, head) in heads.iter().enumerate() {
            let next = heads.get(position + 1).copied().unwrap_or(body.end);
            written.push(self.write_definition(*head, head + 2..next));
        }
        if heads.first() != Some(&body.start) {
            return None;
        }
        let shown: Option<Vec<String>> = written.iter().take(MAX_SHOWN_DEFINITIONS).cloned().collect();
        let rest = written.len().saturating_sub(MAX_SHOWN_DEFINITIONS);
        let help = match shown {
            Some(shown) if rest == 0 => {
                let shown = comma_list(shown.iter().map(|line| format!("`{line}`")));
                message!("each definition is a statement of its own: write {shown}")
            }
            Some(shown) => {
                let shown = comma_list(shown.iter().map(|line| format!("`{line}`")));
                message!(
                    "each definition is a statement of its own: write {shown}, and so on for {rest} more"
                )
            }
            None => message!("each definition is a statement of its own: write `let NAME = VALUE`"),
        };
        let mut names: Vec<(String, usize)> =
            heads.iter().map(|head| (self.text(*head).trim_matches('"').to_owned(), *head)).collect();
        // Uses such as `local.limit` read a definition of the block.
        if self.lowercase_text(start) == "locals" {
            names.push(("local".to_owned(), start));
        }
        Some(ForeignStatement { end_token: end, help, declared_names: names })
    }

    /// Returns the indices of the names in the `name = value` entries of a block. The block has the
    /// tokens `body`; entries in nested brackets do not count.
    fn entry_names(&self, body: Range<usize>) -> Vec<usize> {
        let mut depth = 0_usize;
        let mut heads = Vec::new();
        for index in body.clone() {
            let kind = self.token(index).kind;
            let before = if index == body.start { "" } else { self.text(index - 1) };
            let begins = index == body.start || self.begins_line(index) || matches!(before, "," | ";");
            let is_key = matches!(kind, TokenKind::Word | TokenKind::String);
            if depth == 0 && begins && is_key && matches!(self.text(index + 1), "=" | ":=" | ":" | "=>") {
                heads.push(index);
            }
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
        }
        heads
    }

    /// Returns the definition of a name as a statement of this language, a `list` or a `let`.
    /// `None` if this statement would have an error.
    fn write_definition(&self, name: usize, value: Range<usize>) -> Option<String> {
        let is_separator = |index: &usize| matches!(self.text(*index), "," | ";");
        let end = value.clone().rev().find(|index| !is_separator(index))? + 1;
        let keyword = if self.text(value.start) == "[" { "list" } else { "let" };
        let name = self.text(name).trim_matches('"');
        let written = format!("{keyword} {name} = {}", self.translate_expression(value.start..end));
        is_valid_short_statement(&written).then_some(written)
    }

    /// Returns the block `variable "a" { type = number, default = 3 }` at the token `start`. `None`
    /// if no braces follow the name.
    fn read_variable_block(&self, start: usize) -> Option<ForeignStatement> {
        let open = start + 2;
        let close = self.closing_bracket(open).filter(|_| self.text(open) == "{")?;
        let heads = self.entry_names(open + 1..close);
        let value_of = |key: &str| {
            let position = heads.iter().position(|head| self.text(*head) == key)?;
            let next = heads.get(position + 1).copied().unwrap_or(close);
            Some(heads[position] + 2..next).filter(|value| !value.is_empty())
        };
        let name = self.text(start + 1).trim_matches('"');
        let written = value_of("default").and_then(|value| self.write_definition(start + 1, value));
        let ty = value_of("type").map(|value| self.text(value.start));
        let field =
            ty.map(|ty| format!("input {{ {name}: {ty} }}")).filter(|field| is_valid_short_statement(field));
        let help = match (written, field) {
            (Some(written), _) => message!("a definition is written with `let`: write `{written}`"),
            (None, Some(_)) if self.declared().input_brace().is_some() => {
                let field = format!("{name}: {}", ty.unwrap_or_default());
                message!("a field of the message is declared in `input`: add `{field}` to its braces")
            }
            (None, Some(field)) => {
                message!("a field of the message is declared in `input`: write `{field}`")
            }
            (None, None) => message!("a definition is written with `let`: write `let NAME = VALUE`"),
        };
        Some(ForeignStatement {
            end_token: close + 1,
            help,
            declared_names: vec![(name.to_owned(), start + 1)],
        })
    }

    /// Returns the definition with a type, several words or a semicolon, as in `const int n = 3;`,
    /// at the token `start`. `None` for a definition in which only the first word is wrong.
    fn read_typed_definition(&self, start: usize) -> Option<ForeignStatement> {
        let line_end = self.next_line_start(start);
        let is_sign = |index: usize| {
            matches!(self.text(index), "=" | ":=")
                || matches!(self.lowercase_text(index).as_str(), "to" | "as" | "be")
        };
        let sign = self.find_outside_brackets(start + 1..line_end, is_sign)?;
        let words = start + 1..sign;
        let is_part = |index: &usize| {
            self.is_word(*index) || matches!(self.text(*index), ":" | "<" | ">" | "[" | "]" | "$")
        };
        let is_definer = |index: &usize| {
            DEFINITION_WORDS.contains(&self.lowercase_text(*index).as_str()) || self.text(*index) == "$"
        };
        if !words.clone().all(|index| is_part(&index)) || sign - start > 8 {
            return None;
        }
        let is_type = |index: usize| rulec_lang::ty::Ty::builtin_for_type_name(self.text(index)).is_some();
        let name = words.clone().find(|index| {
            !is_definer(index)
                && self.is_name(*index)
                && !(is_type(*index) && self.is_name(index + 1) && index + 1 < sign)
        })?;
        let last = line_end - usize::from(self.text(line_end - 1) == ";");
        let is_simple = name == start + 1 && sign == name + 1 && last == line_end && self.text(sign) == "=";
        if is_simple || last <= sign + 1 {
            return None;
        }
        let value = self.translate_expression(sign + 1..last);
        let written = format!("let {} = {value}", self.text(name));
        let help = match is_valid_short_statement(&written) {
            true => message!("a definition is written with `let`: write `{written}`"),
            false => return None,
        };
        Some(ForeignStatement {
            end_token: line_end,
            help,
            declared_names: vec![(self.text(name).to_owned(), name)],
        })
    }

    /// Returns the statement `default NAME := VALUE` at the token `start`, by which other languages
    /// give a decision or a definition its first value. `None` for other statements.
    pub(super) fn read_default_of_other_language(&self, start: usize) -> Option<ForeignStatement> {
        if let Some(found) = self.read_default_without_arrow(start) {
            return Some(found);
        }
        let name = start + 1;
        let sign = if matches!(self.text(name), "=" | ":=" | ":") { name } else { name + 1 };
        let end = self.next_line_start(start);
        let is_assignment = matches!(self.text(sign), "=" | ":=" | ":" | "is");
        let is_name = sign == name || self.is_word(name);
        if !is_assignment || !is_name || sign + 1 >= end || self.begins_line(sign) {
            return None;
        }
        let value = sign + 1..end;
        let is_value = is_valid_expression(&self.translate_expression(value.clone()));
        let handler = self.text(value.start).trim_matches(['"', '\'']);
        let names_handler = end <= value.start + 3 && self.declared().declares("handler", handler);
        let help = match self.other_default_target(start) {
            Some(target) => {
                message!("remove this line: the default of the file is `default -> {target}`")
            }
            None if names_handler => message!("write `default -> {handler}`", handler = handler.to_owned()),
            None if is_value => message!(
                "a default has no value; for messages that no route matches, write `default -> HANDLER`"
            ),
            None => return None,
        };
        Some(ForeignStatement { end_token: end, help, declared_names: Vec::new() })
    }

    /// Returns the default with a verb or in braces, as in `default return h` and `default { h }`.
    /// `None` for other defaults, and if the file declares no such handler.
    fn read_default_without_arrow(&self, start: usize) -> Option<ForeignStatement> {
        let first = start + 1;
        let has_brace = self.text(first) == "{";
        let is_verb = matches!(
            self.lowercase_text(first).as_str(),
            "return" | "call" | "goto" | "to" | "is" | "handler" | "use" | "run" | "send"
        );
        let is_text = self.kind(first) == Some(TokenKind::String);
        if !has_brace && !is_verb && !is_text || self.begins_line(first) {
            return None;
        }
        let mut name = first + usize::from(!is_text);
        name += usize::from(matches!(self.text(name), "return" | "->"));
        let handler = self.text(name).trim_matches('"');
        let (target, end) = self.read_target(name)?;
        let end = end + usize::from(self.text(end) == ";");
        let end = end + usize::from(has_brace && self.text(end) == "}");
        let is_declared = self.declared().declares("handler", handler) || target.starts_with("goto ");
        let written = format!("default -> {target}");
        if !is_declared || !self.begins_line(end) || !is_valid_short_statement(&written) {
            return None;
        }
        Some(ForeignStatement {
            end_token: end,
            help: message!("write `{written}`"),
            declared_names: Vec::new(),
        })
    }

    /// Returns the target of another `default` statement that is indented like the statement at the
    /// token `start`. `None` if the file has no such default.
    fn other_default_target(&self, start: usize) -> Option<&str> {
        let is_default = |index: &usize| {
            *index != start
                && self.text(*index) == "default"
                && self.significant[*index].indent() == self.significant[start].indent()
                && self.text(index + 1) == "->"
        };
        (0..self.significant.len()).find(is_default).map(|index| self.text(index + 2))
    }
}
