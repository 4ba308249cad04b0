//! Recognizes documentation in quotes, as Python writes it: `"""Lists files."""`.

use super::super::starts_statement;
use super::{ForeignStatement, StatementReader};
use crate::lex::TokenKind;
use rulec_base::message;

/// Maximum length, in bytes, of documentation that a help text repeats.
const MAX_REPEATED_BYTES: usize = 100;

impl StatementReader<'_> {
    /// Returns the documentation in quotes at the token `start`: at least three texts without white
    /// space between them, alone on their line. `None` for other tokens.
    pub(super) fn read_documentation_in_quotes(&self, start: usize) -> Option<ForeignStatement> {
        let is_text =
            |index: usize| matches!(self.kind(index), Some(TokenKind::String | TokenKind::SingleQuoted));
        let touches = |index: usize| self.token(index - 1).end == self.token(index).start;
        let mut end = start + 1;
        while is_text(end) && touches(end) {
            end += 1;
        }
        let is_alone = self.begins_line(end) || starts_statement(self.text(end));
        if !(start..end).all(is_text) || end < start + 3 || !is_alone {
            return None;
        }
        let texts: Vec<&str> = (start..end).map(|index| self.text(index).trim_matches(['"', '\''])).collect();
        let written = texts.concat();
        let help = match written.trim() {
            "" => message!("documentation is a comment before its statement: write `## …`"),
            text if text.len() > MAX_REPEATED_BYTES || text.contains('\n') => {
                message!("documentation is a comment before its statement: write `## …`")
            }
            text => message!("documentation is a comment before its statement: write `## {text}`"),
        };
        Some(ForeignStatement { end_token: end, help, declared_names: Vec::new() })
    }
}
