//! Token classes for colours, and foldable ranges. Both are computed from the tokens of a text.
//! Names that an index contains are coloured by the kind of the symbol that they refer to.

use super::index::{DeclarationKind, SymbolIndex};
use rulec_base::span::{FileId, Span};
use rulec_lang::builtins::Function;
use rulec_lang::operators;
use rulec_lang::ty::Ty;
use rulec_syntax::lex::{self, Token, TokenKind};
use rulec_syntax::parse::{self, WordRole};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The class of a token, by which an editor chooses the token's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenClass {
    Comment,
    /// A doc comment.
    Documentation,
    String,
    Number,
    Keyword,
    Operator,
    Function,
    Variable,
    Parameter,
    Property,
    Type,
    /// The name of a route, table or other statement.
    Statement,
    Handler,
}

/// A token of a text, with the class by which an editor colours it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColouredToken {
    pub span: Span,
    pub class: TokenClass,
    /// Whether the token is a name at the place where it is declared. False for a use of the name.
    pub is_declaration: bool,
}

/// The syntactic role of each keyword, by which an editor colours it.
static KEYWORD_ROLES: LazyLock<HashMap<&str, WordRole>> = LazyLock::new(|| parse::keywords().collect());

/// Returns the tokens of a text that have a colour. `index` resolves the names in the text.
pub fn coloured_tokens(file: FileId, text: &str, index: &SymbolIndex) -> Vec<ColouredToken> {
    let mut names = index.occurrences_in(file).iter().peekable();
    let tokens: Vec<Token> = lex::tokenize(text, 0).filter(|token| token.kind != TokenKind::White).collect();
    let mut coloured = Vec::new();
    for (token_index, token) in tokens.iter().enumerate() {
        let span = token.span(file);
        while names.next_if(|name| name.span.start < span.start).is_some() {}
        let name = names.peek().filter(|name| name.span == span);
        let class = match name {
            Some(name) => Some(class_of_symbol(index.symbols[name.symbol].kind)),
            None => class_of_token(text, &tokens, token_index),
        };
        let declares = name.is_some_and(|name| name.is_declaration);
        coloured.extend(class.map(|class| ColouredToken { span, class, is_declaration: declares }));
    }
    coloured
}

fn class_of_symbol(kind: DeclarationKind) -> TokenClass {
    match kind {
        DeclarationKind::Let | DeclarationKind::List | DeclarationKind::Local => TokenClass::Variable,
        DeclarationKind::Def | DeclarationKind::Extern => TokenClass::Function,
        DeclarationKind::Type | DeclarationKind::Group => TokenClass::Type,
        DeclarationKind::Handler => TokenClass::Handler,
        DeclarationKind::Parameter => TokenClass::Parameter,
        DeclarationKind::Field | DeclarationKind::PayloadField | DeclarationKind::TypeField => {
            TokenClass::Property
        }
        DeclarationKind::Test => TokenClass::String,
        _ => TokenClass::Statement,
    }
}

/// Returns the class of a token that is not a name in the index. `None` if the token has no colour.
pub(super) fn class_of_token(text: &str, tokens: &[Token], token_index: usize) -> Option<TokenClass> {
    let token = tokens[token_index];
    Some(match token.kind {
        TokenKind::Comment | TokenKind::SlashComment => TokenClass::Comment,
        TokenKind::DocComment => TokenClass::Documentation,
        TokenKind::String | TokenKind::RawString | TokenKind::UnclosedString | TokenKind::UnclosedRaw => {
            TokenClass::String
        }
        TokenKind::SingleQuoted | TokenKind::SmartQuoted => TokenClass::String,
        TokenKind::Number => TokenClass::Number,
        TokenKind::Operator | TokenKind::Arrow => TokenClass::Operator,
        TokenKind::Quoted => TokenClass::Variable,
        TokenKind::Word => return class_of_word(token.text(text), text, tokens, token_index),
        _ => return None,
    })
}

fn class_of_word(word: &str, text: &str, tokens: &[Token], token_index: usize) -> Option<TokenClass> {
    let has_kind = |token_index: Option<usize>, kind| {
        token_index.and_then(|token_index| tokens.get(token_index)).is_some_and(|token| token.kind == kind)
    };
    if has_kind(token_index.checked_sub(1), TokenKind::Dot) {
        return Some(TokenClass::Property);
    }
    let role = KEYWORD_ROLES.get(word);
    // A word before a colon is a key. The exceptions are words that begin a clause.
    if has_kind(Some(token_index + 1), TokenKind::Colon) && !matches!(role, Some(WordRole::Clause)) {
        return Some(TokenClass::Property);
    }
    if has_kind(Some(token_index + 1), TokenKind::OpenParen) && Function::from_name(word).is_some() {
        return Some(TokenClass::Function);
    }
    if Ty::BUILTIN_NAMES.contains(&word)
        && (has_kind(token_index.checked_sub(1), TokenKind::Colon)
            || token_index
                .checked_sub(1)
                .is_some_and(|previous| matches!(tokens[previous].text(text), "as" | "<" | "->")))
    {
        return Some(TokenClass::Type);
    }
    if matches!(word, "true" | "false" | "null" | "missing" | "present" | "is") {
        return Some(TokenClass::Keyword);
    }
    if operators::is_reserved_word(word) {
        return Some(TokenClass::Operator);
    }
    role.map(|_| TokenClass::Keyword)
}

/// A foldable byte range. The first and last lines of the range stay visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoldRange {
    pub start: u32,
    pub end: u32,
    pub is_comment: bool,
}

/// Returns the foldable ranges: brackets that span several lines, and comments of several lines.
pub fn fold_ranges(text: &str) -> Vec<FoldRange> {
    let (mut folds, mut open_brackets) = (Vec::new(), Vec::new());
    let mut comment: Option<FoldRange> = None;
    let spans_lines =
        |start: u32, end: u32| text.get(start as usize..end as usize).is_some_and(|part| part.contains('\n'));
    let is_next_line = |end: u32, offset: u32| text[end as usize..offset as usize].matches('\n').count() < 2;
    for token in lex::tokenize(text, 0) {
        match token.kind {
            TokenKind::Comment | TokenKind::DocComment => {
                let run =
                    comment.get_or_insert(FoldRange { start: token.start, end: token.end, is_comment: true });
                run.end = token.end;
                continue;
            }
            TokenKind::White => continue,
            // A blank line separates two comments, so each can be folded alone.
            TokenKind::Newline if comment.is_none_or(|run| is_next_line(run.end, token.end)) => continue,
            TokenKind::Newline => {}
            kind if kind.opens_bracket() => open_brackets.push(token.start),
            kind if kind.closes_bracket() => {
                if let Some(start) = open_brackets.pop()
                    && spans_lines(start, token.start)
                {
                    folds.push(FoldRange { start, end: token.start, is_comment: false });
                }
            }
            _ => {}
        }
        folds.extend(comment.take().filter(|run| spans_lines(run.start, run.end)));
    }
    folds.extend(comment.filter(|run| spans_lines(run.start, run.end)));
    folds.sort();
    folds
}
