//! Hover texts: the declaration, type and doc comment of a name; the documentation of an operator,
//! a function or another word; the value of a number with a unit; the documentation page of a
//! diagnostic code in a comment.

use super::tokens::{self, TokenClass};
use super::{Analysis, DeclarationKind, Symbol};
use rulec_base::diag::{Code, Message};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_lang::builtins::{Function, FunctionInfo};
use rulec_lang::operators::{Op, OpInfo, TABLE};
use rulec_syntax::ast::Literal;
use rulec_syntax::lex::{self, Token, TokenKind};
use rulec_syntax::parse::{WordDoc, number_with_unit, word_doc};

/// The hover text for the token at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The span of the token that the hover text explains.
    pub span: Span,
    /// The rules code to show above the explanation: a signature or a declaration.
    pub source_code: String,
    /// The explanation to show after the code; may be empty.
    pub text: Message,
    /// If the token is a diagnostic code such as `W0201`: the code, whose documentation page
    /// explains it. Otherwise `None`.
    pub diagnostic_code: Option<Code>,
}

/// Maximum number of characters of a declaration that a hover text shows.
const MAX_DECLARATION_CHARS: usize = 400;

impl Analysis {
    /// Returns the hover text for the token at a position. `None` if the token has no meaning of
    /// its own, such as a string or a bracket.
    pub fn hover(&self, file: FileId, offset: u32) -> Option<Hover> {
        if let Some(occurrence) = self.index.occurrence_at(file, offset) {
            let symbol = &self.index.symbols[occurrence.symbol];
            return Some(Hover {
                span: occurrence.span,
                source_code: self.symbol_signature(symbol),
                text: self.symbol_explanation(symbol),
                diagnostic_code: None,
            });
        }
        let text = self.text(file);
        let tokens = significant_tokens(text);
        let Some(index) = tokens.iter().position(|token| token.start <= offset && offset < token.end) else {
            return diagnostic_code_hover(file, text, offset);
        };
        let token = tokens[index];
        if token.kind == TokenKind::Number {
            return number_hover(token.text(text), token.span(file));
        }
        let word = token.text(text);
        if self.index.recorded_fields.contains(&token.span(file)) {
            return Some(recorded_field_hover(word, token.span(file)));
        }
        if let Some(hover) = self.history_hover(file, &tokens, index) {
            return Some(hover);
        }
        let is_called = tokens.get(index + 1).is_some_and(|next| next.kind == TokenKind::OpenParen);
        if let (true, Some(function)) = (is_called, Function::from_name(word)) {
            return Some(function_hover(function.info(), token.span(file)));
        }
        let is_member = index.checked_sub(1).is_some_and(|before| tokens[before].kind == TokenKind::Dot);
        if let Some(row) = ambiguous_word_doc(text, &tokens, index).filter(|_| !is_member) {
            return Some(word_hover(row, token.span(file)));
        }
        if let Some(op) = operator_at(text, &tokens, index) {
            return Some(operator_hover(op.info(), token.span(file)));
        }
        let sign = if token.kind == TokenKind::At { Some(index) } else { index.checked_sub(1) };
        if let Some(span) = sign.and_then(|sign| private_mark(file, text, &tokens[sign..])) {
            return word_doc("@private").map(|row| word_hover(row, span));
        }
        let class = tokens::class_of_token(text, &tokens, index);
        let row = match class {
            Some(TokenClass::Type) => type_doc(word),
            Some(TokenClass::Keyword | TokenClass::Operator) if !is_member => word_doc(word),
            _ => None,
        };
        row.map(|row| word_hover(row, token.span(file)))
    }

    /// True if a file of the rules has a `history` statement. Only then, `history` and `previous`
    /// are names of the language.
    pub(super) fn has_history(&self) -> bool {
        let mut lines = self.sources.iter().flat_map(|(_, file)| file.text.lines());
        lines.any(|line| line.split_whitespace().next() == Some("history"))
    }

    /// Returns the hover text of a word that concerns the history of messages. Such words are
    /// `previous`, `history`, and the words after `history` in a statement or an expression, such
    /// as `keep` and `within`. `None` for other words.
    fn history_hover(&self, file: FileId, tokens: &[Token], index: usize) -> Option<Hover> {
        let text = self.text(file);
        let word = |index: usize| tokens.get(index).map_or("", |token| token.text(text));
        if !self.has_history() || index.checked_sub(1).is_some_and(|before| word(before) == ".") {
            return None;
        }
        // The number of tokens between `history` and the word that bounds it is small.
        let follows_history = || (index.saturating_sub(8)..index).any(|before| word(before) == "history");
        let (example, explanation) = match word(index) {
            "history" => (
                "any p in history within 1h: p.tool == tool",
                message!("the earlier messages with the same key, oldest first"),
            ),
            "previous" => (
                "previous.tool == tool",
                message!("the last earlier message of the history; missing if there is none"),
            ),
            "keep" if follows_history() => {
                ("history by user.id keep 1d", message!("how long the history keeps a message"))
            }
            "most" if follows_history() => (
                "history by user.id keep 1d at most 100",
                message!("how many messages the history keeps for each key"),
            ),
            "within" if follows_history() => (
                "any p in history within 1h: p.tool == tool",
                message!("only the earlier messages whose time is in this span before `now`"),
            ),
            "after" if follows_history() => (
                "any q in history: all p in history after q: p.tool != \"edit\"",
                message!("only the messages after this message of the history"),
            ),
            "before" if follows_history() => (
                "count p in history: not any q in history before p: q.user == p.user",
                message!("only the messages before this message of the history"),
            ),
            _ => return None,
        };
        let span = tokens[index].span(file);
        Some(Hover { span, source_code: example.to_owned(), text: explanation, diagnostic_code: None })
    }

    /// Returns code that describes a symbol: its name and type if the type is known, otherwise the
    /// text of its declaration.
    pub(super) fn symbol_signature(&self, symbol: &Symbol) -> String {
        match symbol.kind {
            DeclarationKind::Field => {
                let path: Vec<&str> = symbol.path.iter().map(String::as_str).collect();
                match self.facts.input_field(&path) {
                    Some(field) => format!("{}{}: {}", path.join("."), field.optional_mark(), field.ty),
                    // The type of a declared field may be unknown, as for a field of a list
                    // element. The text of its declaration is shown instead.
                    None if symbol.declaration.is_some() => self.declaration_text(symbol),
                    None => path.join(".").replace(".[]", "[]"),
                }
            }
            DeclarationKind::Let | DeclarationKind::Local => {
                let ty = symbol
                    .declaration
                    .as_ref()
                    .and_then(|declaration| self.facts.type_of_let(declaration.name_span));
                match ty {
                    Some(ty) => format!("{} {}: {ty}", symbol.kind.to_word(), symbol.name),
                    None => self.declaration_text(symbol),
                }
            }
            _ => self.declaration_text(symbol),
        }
    }

    /// Returns the source text of a symbol's declaration, truncated if it is long.
    fn declaration_text(&self, symbol: &Symbol) -> String {
        let source_text = symbol
            .declaration
            .as_ref()
            .map(|declaration| self.sources.slice(declaration.whole_span))
            .unwrap_or_default();
        match (source_text.is_empty(), source_text.char_indices().nth(MAX_DECLARATION_CHARS)) {
            (true, _) => format!("{} {}", symbol.kind.to_word(), symbol.name),
            (_, Some((end_offset, _))) => format!("{}…", &source_text[..end_offset]),
            _ => source_text.to_owned(),
        }
    }

    /// Returns the explanation of a symbol: its doc comment, and a sentence about its kind if there
    /// is one.
    fn symbol_explanation(&self, symbol: &Symbol) -> Message {
        let docs =
            symbol.declaration.as_ref().map(|declaration| declaration.docs.clone()).unwrap_or_default();
        let path: Vec<&str> = symbol.path.iter().map(String::as_str).collect();
        let note = match (symbol.kind, self.facts.input_field(&path)) {
            (DeclarationKind::Field, Some(field)) if field.is_declared => {
                message!("a field of the message, as `input` declares it")
            }
            (DeclarationKind::Field, Some(_)) => {
                message!("a field of the message; its type is inferred from its uses")
            }
            (DeclarationKind::Field, None) => message!("a field of the message"),
            _ if symbol.fields_owner.as_ref().is_some_and(|(kind, _)| *kind == DeclarationKind::History) => {
                message!("an earlier message of the history, with `at` and `decision`")
            }
            (DeclarationKind::Handler, _) if symbol.declaration.is_none() => {
                message!("a handler that the embedding program registers; the rules do not declare it")
            }
            _ => Message::default(),
        };
        match (docs.is_empty(), note.is_empty()) {
            (true, _) => note,
            (_, true) => Message::verbatim(docs),
            _ => message!("{docs}\n\n{note}"),
        }
    }
}

/// Returns the tokens of a text without white space and comments.
pub(super) fn significant_tokens(text: &str) -> Vec<Token> {
    lex::tokenize(text, 0).filter(|token| !token.kind.is_trivia()).collect()
}

/// Returns the indexes of the brackets that the tokens open and do not close, outermost first.
pub(super) fn open_brackets(tokens: &[Token]) -> Vec<usize> {
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind.opens_bracket() {
            open.push(index);
        } else if token.kind.closes_bracket() {
            open.pop();
        }
    }
    open
}

/// Returns the operator that the token at `index` spells, alone or together with a neighbouring
/// word. `None` if the token is not part of an operator.
fn operator_at(text: &str, tokens: &[Token], index: usize) -> Option<Op> {
    let word =
        |index: Option<usize>| index.and_then(|index| tokens.get(index)).map_or("", |token| token.text(text));
    let (previous, current, following) =
        (word(index.checked_sub(1)), word(Some(index)), word(Some(index + 1)));
    if previous == "." {
        return None;
    }
    let pairs = [format!("{current} {following}"), format!("{previous} {current}")];
    let find_op = |spelling: &str| TABLE.iter().find(|row| row.spelling == spelling).map(|row| row.op);
    pairs.iter().find_map(|pair| find_op(pair)).or_else(|| find_op(current))
}

/// True if only white space precedes a token in its line.
fn begins_line(text: &str, token: Token) -> bool {
    text[..token.start as usize].rsplit('\n').next().is_none_or(|before| before.trim().is_empty())
}

/// Returns the explanation of a word whose meaning depends on the words next to it, such as `any`
/// before a brace or `default` before `branch`. `None` for other words, and if the word has its
/// usual meaning.
fn ambiguous_word_doc(text: &str, tokens: &[Token], index: usize) -> Option<&'static WordDoc> {
    let word = tokens[index].text(text);
    let at = |index: Option<usize>| index.and_then(|index| tokens.get(index)).map(|token| token.text(text));
    let previous = at(index.checked_sub(1)).unwrap_or_default();
    match word {
        "any" | "all" | "none" => {
            let follows_operator = previous == "word"
                || Op::from_spelling(previous)
                    .is_some_and(|op| op.info().accepted_modifiers.accepts_quantity);
            let meaning = match at(Some(index + 1)) {
                Some("{") => "{",
                _ if at(Some(index + 2)) == Some("in") => "in",
                _ if follows_operator => "[",
                _ => return None,
            };
            word_doc(&format!("{word} {meaning}")).or_else(|| word_doc(word))
        }
        "default" => match at(Some(index + 1)) {
            Some("branch") => word_doc("default branch"),
            Some("->") => None,
            _ if index > 0 && !begins_line(text, tokens[index]) => word_doc("default :"),
            _ => None,
        },
        "list" if at(Some(index + 1)) == Some("<") => type_doc(word),
        "case" if matches!(previous, "ignoring" | "matching") => word_doc(previous),
        "ignoring" | "matching" if at(Some(index + 1)) == Some("case") => word_doc(word),
        _ => None,
    }
}

/// Returns the explanation of the name of a built-in type. `None` for any other word.
fn type_doc(word: &str) -> Option<&'static WordDoc> {
    word_doc(&format!("{word} :")).or_else(|| word_doc(word))
}

pub(super) fn function_hover(info: &FunctionInfo, span: Span) -> Hover {
    let text = documentation_with_example(&info.doc, info.example);
    Hover { span, source_code: info.signature(), text, diagnostic_code: None }
}

/// Returns the hover text of a field that the history adds to a recorded message.
fn recorded_field_hover(field: &str, span: Span) -> Hover {
    let (source_code, text) = match field {
        "at" => ("at: datetime", message!("the time of the earlier message: its field `now`")),
        "chosen" => ("chosen: string", message!("the name of the chosen statement, such as `default`")),
        "target" => ("target: string", message!("the chosen handler")),
        _ => (
            "decision: { chosen: string, target: string }",
            message!("the decision about the earlier message; missing if it was only recorded"),
        ),
    };
    Hover { span, source_code: source_code.to_owned(), text, diagnostic_code: None }
}

fn operator_hover(info: &OpInfo, span: Span) -> Hover {
    let text = documentation_with_example(&info.doc, info.example);
    Hover { span, source_code: info.spelling.to_owned(), text, diagnostic_code: None }
}

fn word_hover(row: &WordDoc, span: Span) -> Hover {
    Hover { span, source_code: row.example.to_owned(), text: word_explanation(row), diagnostic_code: None }
}

/// Returns the hover text for a word of the language: the word, a colon and an explanation.
pub(super) fn word_explanation(row: &WordDoc) -> Message {
    let word = row.word.trim_end_matches([' ', '{', '[', ':']);
    message!("`{word}`: {}", row.doc)
}

/// Returns the span of `@private` if the tokens begin with it, otherwise `None`. No white space is
/// allowed within it.
fn private_mark(file: FileId, text: &str, tokens: &[Token]) -> Option<Span> {
    let (sign, word) = (tokens.first()?, tokens.get(1)?);
    let is_mark = sign.kind == TokenKind::At && sign.end == word.start && word.text(text) == "private";
    is_mark.then_some(Span { file, start: sign.start, end: word.end })
}

/// Returns the hover text of a number with a unit: its value without the unit. `None` for a number
/// without a unit.
fn number_hover(number: &str, span: Span) -> Option<Hover> {
    let (value, is_size) = number_with_unit(number)?;
    let value = match value {
        Literal::Int(value) => value.to_string(),
        Literal::Wide(value) => value.to_string(),
        Literal::Float(value) => value.to_string(),
        _ => return None,
    };
    let text = match is_size {
        true => message!("a number of bytes: {value}"),
        false => message!("a number of seconds: {value}"),
    };
    Some(Hover { span, source_code: number.to_owned(), text, diagnostic_code: None })
}

/// Returns the hover text of a code such as `W0201` in a comment; `None` for other words.
fn diagnostic_code_hover(file: FileId, text: &str, offset: u32) -> Option<Hover> {
    let comment = lex::tokenize(text, 0).find(|token| token.start <= offset && offset < token.end)?;
    if !matches!(comment.kind, TokenKind::Comment | TokenKind::DocComment | TokenKind::SlashComment) {
        return None;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let before = text.get(..offset as usize)?;
    let start = before.trim_end_matches(is_part).len();
    let length = text[start..].find(|c| !is_part(c)).unwrap_or(text.len() - start);
    let code = Code::parse(&text[start..start + length])?;
    let span = Span { file, start: start as u32, end: (start + length) as u32 };
    Some(Hover {
        span,
        source_code: code.as_str().to_owned(),
        text: Message::default(),
        diagnostic_code: Some(code),
    })
}

/// Returns the documentation of an operator or function, followed by its example: a condition, and
/// a message for which the condition is true.
pub(super) fn documentation_with_example(doc: &Message, (condition, message): (&str, &str)) -> Message {
    message!("{doc}\n\n`{condition}` holds for `{message}`.")
}
