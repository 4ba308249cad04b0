//! Recognizes facts of logic languages (`word("refund").`), annotations of other languages
//! (`@zone("Europe/Berlin")`), and declarations of Drools (`declare NAME … end`).

use super::super::remedy::is_valid_short_statement;
use super::{ForeignStatement, StatementReader};
use crate::lex::TokenKind;
use rulec_base::message;

/// Maximum number of facts that one help text repeats.
const MAX_FACTS: usize = 20;

impl StatementReader<'_> {
    /// Returns the facts with one name that begin at the token `start`, as in `word("refund").`
    /// `None` for other lines.
    pub(super) fn read_facts(&self, start: usize) -> Option<ForeignStatement> {
        let name = self.text(start);
        let (mut values, mut index) = (Vec::new(), start);
        while self.is_name(index) && self.text(index) == name && self.begins_line(index) {
            let close = self.closing_bracket(index + 1).filter(|_| self.text(index + 1) == "(")?;
            let is_value = close == index + 3
                && matches!(
                    self.kind(index + 2),
                    Some(TokenKind::String | TokenKind::Number | TokenKind::Word | TokenKind::SingleQuoted)
                );
            let after = close + 1 + usize::from(matches!(self.text(close + 1), "." | ";"));
            if !is_value || !self.begins_line(after) {
                return None;
            }
            let value = self.text(index + 2).trim_matches('\'');
            values.push(match self.kind(index + 2) {
                Some(TokenKind::Word | TokenKind::SingleQuoted) => format!("\"{value}\""),
                _ => value.to_owned(),
            });
            index = after;
        }
        let written = format!("list {name} = [{}]", values.join(", "));
        if values.is_empty() || values.len() > MAX_FACTS || !is_valid_short_statement(&written) {
            return None;
        }
        let help = message!("the values of a name are one list: write `{written}`");
        Some(ForeignStatement { end_token: index, help, declared_names: vec![(name.to_owned(), start)] })
    }

    /// Returns the annotation at the token `start`, as in `@zone("Europe/Berlin")`. `None` for
    /// other lines.
    pub(super) fn read_annotation(&self, start: usize) -> Option<ForeignStatement> {
        let name = start + 1;
        if self.text(start) != "@" || !self.is_word(name) {
            return None;
        }
        let close = self.closing_bracket(name + 1).filter(|_| self.text(name + 1) == "(");
        let end_token = close.unwrap_or(name) + 1;
        if !self.begins_line(end_token) && self.text(end_token) != "route" {
            return None;
        }
        let value = close.filter(|close| *close > name + 2).map(|close| {
            let span = self.token(name + 2).span(self.file).to(self.token(close - 1).span(self.file));
            self.text[span.range()].to_owned()
        });
        let route = match (self.text(end_token), self.is_word(end_token + 1)) {
            ("route", true) => self.text(end_token + 1),
            _ => "NAME",
        };
        let help = match (self.lowercase_text(name).as_str(), value) {
            ("zone" | "timezone" | "tz" | "time_zone", Some(value)) => {
                message!("settings of the file are written in braces: write `settings {{ zone: {value} }}`")
            }
            ("priority" | "salience" | "order", Some(value)) => {
                message!("write `route {route} priority {value} when …`", route = route.to_owned())
            }
            ("disabled" | "ignore" | "skip", _) => {
                message!("write `route {route} disabled when …`", route = route.to_owned())
            }
            ("doc" | "description" | "desc" | "name" | "title" | "id", Some(value)) => {
                let words = value.trim_matches(['"', '\'']).to_owned();
                message!("a comment for readers is written `## {words}`, on the line before its statement")
            }
            _ => message!(
                "remove it: there are no annotations; settings of the file are written `settings {{ … }}`"
            ),
        };
        Some(ForeignStatement { end_token, help, declared_names: Vec::new() })
    }

    /// Returns the declaration of Drools at the token `start`: `declare NAME`, a line for each
    /// field, and `end`. `None` for other statements.
    pub(super) fn read_drools_declaration(&self, start: usize) -> Option<ForeignStatement> {
        let name = start + 1;
        let limit =
            (name + 1..self.significant.len()).find(|index| self.significant[*index].indent() == Some(0))?;
        let end = Some(limit).filter(|end| self.text(*end) == "end" && self.is_name(name))?;
        let mut fields = Vec::new();
        let mut index = name + 1;
        while index < end {
            let line_end = self.next_line_start(index).min(end);
            if !self.is_word(index) || self.text(index + 1) != ":" || line_end <= index + 2 {
                return None;
            }
            let ty = self.text(index + 2);
            let ty = rulec_lang::ty::Ty::builtin_for_type_name(ty).unwrap_or(ty);
            fields.push(format!("{}: {ty}", self.text(index)));
            index = line_end;
        }
        let (name_text, fields) = (self.text(name), fields.join(", "));
        let is_target = (0..self.significant.len())
            .any(|index| self.text(index) == name_text && index > 0 && self.text(index - 1) == "->");
        let help = match is_target {
            true => message!(
                "a target is declared as a handler: write `handler {name_text}({fields})`",
                name_text = name_text.to_owned()
            ),
            false => message!(
                "a record is declared as a type: write `type {name_text} = {{ {fields} }}`",
                name_text = name_text.to_owned()
            ),
        };
        Some(ForeignStatement {
            end_token: end + 1,
            help,
            declared_names: vec![(name_text.to_owned(), name)],
        })
    }
}
