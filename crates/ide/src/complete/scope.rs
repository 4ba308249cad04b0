//! Finds the statement and the open brackets that contain a position, from the tokens before the
//! position.

use rulec_syntax::lex::{Token, TokenKind};
use rulec_syntax::parse;

/// The innermost statement that contains a position, and the open brackets within this statement.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    /// The first word of the statement, such as `route`; empty before the first statement.
    pub head_word: &'a str,
    /// The index of the statement's first token among the tokens before the cursor.
    pub first_token: usize,
    /// The first word of the statement around this statement, such as `table`; empty for a
    /// statement at the top level.
    pub owner_head_word: &'a str,
    /// The name of the surrounding statement, or of the statement itself at the top level.
    pub owner_name: &'a str,
    /// The indices of the open brackets in the statement, outermost first.
    pub open_brackets: Vec<usize>,
}

/// A statement that has begun and not yet ended at the token that [`scope_at_end`] has reached: the
/// index of its first token, and the number of brackets that are open before it.
#[derive(Clone, Copy)]
struct OpenStatement {
    first_token: usize,
    bracket_count: usize,
}

/// Finds the statement and the open brackets at the end of `tokens`.
pub(super) fn scope_at_end<'a>(text: &'a str, tokens: &[Token]) -> Scope<'a> {
    let mut statements: Vec<OpenStatement> = Vec::new();
    let mut brackets: Vec<usize> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let indent = indent_of_first_token(text, *token);
        let follows_brace = index.checked_sub(1).is_some_and(|previous| {
            matches!(tokens[previous].kind, TokenKind::OpenBrace | TokenKind::CloseBrace)
        });
        if (indent.is_some() || follows_brace) && begins_statement(text, tokens, index) {
            let word = token.text(text);
            if indent == Some(0) {
                brackets.clear();
                statements.clear();
            }
            let last = statements.last().copied();
            let inner_bracket_count = last.map_or(0, |last| brackets.len() - last.bracket_count);
            let last_head = last.map_or("", |last| tokens[last.first_token].text(text));
            let is_item = match last_head {
                "table" => matches!(word, "route" | "default"),
                "payload" | "group" => word == "let",
                _ => false,
            };
            let bracket_count = brackets.len();
            if inner_bracket_count == 0 {
                statements.pop();
                statements.push(OpenStatement { first_token: index, bracket_count });
            } else if inner_bracket_count == 1 && is_item {
                statements.push(OpenStatement { first_token: index, bracket_count });
            }
        }
        if token.kind.opens_bracket() {
            brackets.push(index);
        } else if token.kind.closes_bracket() {
            brackets.pop();
            while statements.last().is_some_and(|last| last.bracket_count > brackets.len()) {
                statements.pop();
            }
        }
    }
    let Some(last) = statements.last() else { return Scope { open_brackets: brackets, ..Scope::default() } };
    let word = |index: usize| tokens.get(index).map_or("", |token| token.text(text));
    let owner = statements.len().checked_sub(2).map(|index| statements[index].first_token);
    Scope {
        head_word: word(last.first_token),
        first_token: last.first_token,
        owner_head_word: owner.map_or("", word),
        owner_name: word(owner.unwrap_or(last.first_token) + 1),
        open_brackets: brackets.split_off(last.bracket_count),
    }
}

/// Returns the number of characters before a token in its line. `None` if another token precedes it
/// in the line.
fn indent_of_first_token(text: &str, token: Token) -> Option<usize> {
    let start = token.start as usize;
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let before = text[line..start].trim_start_matches('\u{feff}');
    before.chars().all(char::is_whitespace).then(|| before.chars().count())
}

/// True if a token is the first of its line and the line is not indented.
pub(super) fn begins_line(text: &str, token: Token) -> bool {
    indent_of_first_token(text, token) == Some(0)
}

/// True for a word that begins a statement. False if the word is a name, as in `ctx.type`, or
/// continues a flow, as in `intent [`.
fn begins_statement(text: &str, tokens: &[Token], index: usize) -> bool {
    let next = tokens.get(index + 1).map(|token| token.kind);
    parse::starts_statement(tokens[index].text(text))
        && !is_after_dot(tokens, index)
        && !matches!(next, Some(TokenKind::Colon | TokenKind::OpenBracket | TokenKind::Dot))
}

/// True if the token at `index` follows a dot. It is then the name of a field, even if it is a word
/// of the language.
pub(super) fn is_after_dot(tokens: &[Token], index: usize) -> bool {
    index.checked_sub(1).is_some_and(|previous| tokens[previous].kind == TokenKind::Dot)
}
