//! The lossless tokens of a file. Every byte belongs to exactly one token, white space and comments
//! included. The tokens serve error recovery (splitting into statements), character checks and the
//! formatter. The grammar in `grammar/rules.pest` does not read the text: it reads one ASCII
//! character, the code, for each token.

use logos::Logos;
use rulec_base::span::{FileId, Span};

/// The kind of a token, which the parser and the formatter use instead of its text.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "some have one spelling, which says all")]
pub enum TokenKind {
    /// Spaces and tabs, and the wide space of Chinese and Japanese keyboards.
    #[regex("[ \t\r\u{0B}\u{0C}\u{A0}\u{3000}]+")]
    White,
    #[token("\n")]
    Newline,
    /// The byte order mark at the start of a file.
    Bom,
    /// A comment: `# …` up to the end of the line.
    #[regex("#[^\n]*", allow_greedy = true)]
    Comment,
    /// `## …`: a comment that documents the next statement.
    DocComment,
    /// `// …`: not a comment in this language. The parser reports it, then treats it as a comment.
    #[regex("//[^\n]*", allow_greedy = true)]
    SlashComment,
    /// A word of Unicode letters, digits and `_`: a name, a keyword or an operator.
    #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*")]
    Word,
    /// A name in backquotes.
    #[regex("`[^`\r\n]+`")]
    Quoted,
    /// A number with its optional unit.
    #[regex(r"[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9][0-9_]*)?\p{XID_Continue}*")]
    Number,
    #[regex(r#""([^"\\\r\n]|\\[^\r\n])*""#)]
    String,
    /// A raw string, `r"…"` or `r#"…"#`; may extend over several lines.
    #[regex("r#*\"", lex_raw_string)]
    RawString,
    /// A string without a closing quote; ends at the end of the line.
    #[regex(r#""([^"\\\r\n]|\\[^\r\n])*\\?"#)]
    UnclosedString,
    /// A raw string with too many `#`, or without a closing quote. A raw string without a closing
    /// quote ends at the end of the line.
    UnclosedRaw,
    /// A text in single quotes, `'…'`: not a valid string in this language.
    #[regex("'[^'\r\n]*'")]
    SingleQuoted,
    /// A string in typographic quotes: not valid in this language.
    #[regex("[“”„«「][^“”\"»」\r\n]*[“”»」]")]
    SmartQuoted,
    /// `->`. Also `=>` and `→`, which are reported and treated as `->`.
    #[token("->")]
    #[token("=>")]
    #[token("→")]
    Arrow,
    /// An operator symbol of this or another language, such as `<=` or `&&`; also `=`.
    #[regex(r"===|!==|==|!=|<=|>=|<>|=~|:=|&&|\|\||\?\?|\*\*|\.\.=|\.\.\.|\.\.|\+\+|\+=|-=")]
    #[regex(r"[<>+\-*/%=!?&|^~]")]
    Operator,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("@")]
    At,
    /// A character that is not allowed in any statement, or a number in full-width digits.
    #[regex("[\u{FF10}-\u{FF19}]+([.\u{FF0E}][\u{FF10}-\u{FF19}]+)?")]
    Stray,
}

/// Maximum number of `#` on each side of a raw string. A raw string with more is an error.
pub const MAX_RAW_STRING_HASHES: usize = 8;

/// Consumes a raw string after its opening `r##"`. Returns an error if the string is unclosed or
/// has more than [`MAX_RAW_STRING_HASHES`] `#`.
fn lex_raw_string(lexer: &mut logos::Lexer<'_, TokenKind>) -> Result<(), ()> {
    let hashes = lexer.slice().len() - 2;
    let rest = lexer.remainder();
    let mut search_start = 0;
    while let Some(quote) = rest[search_start..].find('"') {
        let after_quote = search_start + quote + 1;
        if rest.as_bytes()[after_quote..].iter().take(hashes).filter(|byte| **byte == b'#').count() == hashes
        {
            lexer.bump(after_quote + hashes);
            return if hashes > MAX_RAW_STRING_HASHES { Err(()) } else { Ok(()) };
        }
        search_start = after_quote;
    }
    // An unclosed raw string ends at the end of its line, so that the following lines can still be
    // read.
    lexer.bump(rest.find(['\n', '\r']).unwrap_or(rest.len()));
    Err(())
}

impl TokenKind {
    /// True for white space and comments, which may appear between any two tokens.
    pub fn is_trivia(self) -> bool {
        use TokenKind::{Bom, Comment, DocComment, Newline, SlashComment, White};
        matches!(self, White | Newline | Bom | Comment | DocComment | SlashComment)
    }

    /// True for tokens that are not allowed in any statement, and are reported as errors.
    pub fn is_unreadable(self) -> bool {
        use TokenKind::{SingleQuoted, SmartQuoted, Stray, UnclosedRaw, UnclosedString};
        matches!(self, Stray | UnclosedString | UnclosedRaw | SingleQuoted | SmartQuoted)
    }

    /// True for an opening bracket.
    pub fn opens_bracket(self) -> bool {
        matches!(self, TokenKind::OpenParen | TokenKind::OpenBracket | TokenKind::OpenBrace)
    }

    /// True for a closing bracket.
    pub fn closes_bracket(self) -> bool {
        matches!(self, TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace)
    }

    /// True if the token can be the last token of an operand, such as a name or a closing bracket.
    pub fn ends_operand(self) -> bool {
        use TokenKind::{Number, Quoted, RawString, String, Word};
        matches!(self, Word | Quoted | Number | String | RawString) || self.closes_bracket()
    }
}

/// A token: its kind and byte range in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "a kind and a range of bytes")]
pub struct Token {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
}

impl Token {
    /// Returns the text of the token. `file` must be the text that was tokenized.
    pub fn text(self, file: &str) -> &str {
        &file[self.start as usize..self.end as usize]
    }

    /// Returns the span of the token.
    pub fn span(self, file: FileId) -> Span {
        Span { file, start: self.start, end: self.end }
    }
}

/// Returns the tokens of a file from byte `offset` on, where a token must begin. The texts of these
/// tokens together are the rest of the file.
pub fn tokenize(text: &str, offset: usize) -> impl Iterator<Item = Token> {
    let mut lexer = TokenKind::lexer(&text[offset..]);
    std::iter::from_fn(move || {
        let result = lexer.next()?;
        let span = lexer.span();
        let kind = match result {
            Ok(TokenKind::Comment) => {
                let is_doc = lexer.slice().starts_with("##") && !lexer.slice().starts_with("###");
                if is_doc { TokenKind::DocComment } else { TokenKind::Comment }
            }
            Ok(kind) => kind,
            Err(()) => match lexer.slice() {
                "\u{FEFF}" if offset + span.start == 0 => TokenKind::Bom,
                slice if slice.starts_with('r') && slice.contains('"') => TokenKind::UnclosedRaw,
                _ => TokenKind::Stray,
            },
        };
        Some(Token { kind, start: (offset + span.start) as u32, end: (offset + span.end) as u32 })
    })
}

/// True if a text can be written without backquotes as a name after a dot or before a colon.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c))
        && chars.all(unicode_ident::is_xid_continue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds_and_texts(text: &str) -> Vec<(TokenKind, &str)> {
        tokenize(text, 0)
            .filter(|token| token.kind != TokenKind::White)
            .map(|token| (token.kind, token.text(text)))
            .collect()
    }

    #[test]
    fn tokens_are_cut_where_authors_expect() {
        use TokenKind::*;
        let check = |text: &str, expected: &[(TokenKind, &str)]| {
            assert_eq!(kinds_and_texts(text), expected, "{text}")
        };
        check("a.b..=10ms", &[(Word, "a"), (Dot, "."), (Word, "b"), (Operator, "..="), (Number, "10ms")]);
        check(
            "0..10 1.5e-3 1e3",
            &[(Number, "0"), (Operator, ".."), (Number, "10"), (Number, "1.5e-3"), (Number, "1e3")],
        );
        check(
            r###"r"\b" r#"a"b"# r##"x"#y"## r"###,
            &[
                (RawString, r#"r"\b""#),
                (RawString, r###"r#"a"b"#"###),
                (RawString, r####"r##"x"#y"##"####),
                (Word, "r"),
            ],
        );
        check("r\"a\nb\"", &[(RawString, "r\"a\nb\"")]);
        check("r\"a\nb", &[(UnclosedRaw, "r\"a"), (Newline, "\n"), (Word, "b")]);
        check(r#""a\"b" "open"#, &[(String, r#""a\"b""#), (UnclosedString, "\"open")]);
        check("\"a\\\n", &[(UnclosedString, "\"a\\"), (Newline, "\n")]);
        check(
            "查订单 `when` 'x' “y”",
            &[(Word, "查订单"), (Quoted, "`when`"), (SingleQuoted, "'x'"), (SmartQuoted, "“y”")],
        );
        check(
            "# c\n## d\n### e\n// f",
            &[
                (Comment, "# c"),
                (Newline, "\n"),
                (DocComment, "## d"),
                (Newline, "\n"),
                (Comment, "### e"),
                (Newline, "\n"),
                (SlashComment, "// f"),
            ],
        );
        check(
            "\u{FEFF}a->b=>c==-1",
            &[
                (Bom, "\u{FEFF}"),
                (Word, "a"),
                (Arrow, "->"),
                (Word, "b"),
                (Arrow, "=>"),
                (Word, "c"),
                (Operator, "=="),
                (Operator, "-"),
                (Number, "1"),
            ],
        );
        check("a\u{FEFF}\0（", &[(Word, "a"), (Stray, "\u{FEFF}"), (Stray, "\0"), (Stray, "（")]);
    }
}
