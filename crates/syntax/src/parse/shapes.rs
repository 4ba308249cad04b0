//! Diagnostics for routes with missing or misplaced clauses: a handler before its condition, a
//! priority before `route`, or a line number before a statement. Each diagnostic suggests the
//! author's own text in the correct order.

use super::context::{StatementContext, unexpected_token};
use super::foreign::foreign_syntax_error;
use super::{is_reserved, remedy, terminals, unknown};
use crate::lex::TokenKind;
use rulec_base::diag::{Code, Diagnostic, nearest};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::{self, Op};
use std::ops::Range;

/// Maximum length in bytes of a condition that a help text repeats.
const MAX_CONDITION_BYTES: usize = 120;

/// Returns the diagnostic for a statement whose first word is not a statement keyword.
pub(super) fn statement_without_keyword_error(cx: &StatementContext<'_>) -> Diagnostic {
    let first = cx.tokens.start;
    priority_before_route_error(cx, first)
        .or_else(|| pasted_line_number_error(cx, first))
        .or_else(|| condition_around_route_error(cx, first))
        .or_else(|| keyword_after_name_error(cx))
        .or_else(|| incomplete_route_error(cx))
        .or_else(|| definition_without_let_error(cx))
        .unwrap_or_else(|| unknown::unknown_statement_error(cx.file, cx.text, cx.significant[first].token))
}

/// Returns the diagnostic for a line that begins no statement, and which the parser therefore
/// treats as a part of the statement before it. The first word of the line is the token at `index`.
/// `None` for a word that may continue a statement.
pub(super) fn line_without_keyword_error(cx: &StatementContext<'_>, index: usize) -> Option<Diagnostic> {
    let word = token_text(cx, index);
    let continues = terminals::find_word(word).is_some_and(terminals::Terminal::continues_statement)
        && !matches!(word, "if" | "when" | "else" | "for" | "then");
    let is_operator = operators::is_reserved_word(word) && !introduces_condition(word);
    if continues || is_operator || token_kind(cx, index) != Some(TokenKind::Word) {
        return None;
    }
    let unknown = || unknown::unknown_statement_error(cx.file, cx.text, cx.significant[index].token);
    Some(
        condition_around_route_error(cx, index)
            .or_else(|| route_without_name_error(cx, index))
            .unwrap_or_else(unknown),
    )
}

/// Returns the diagnostic for a route without its keyword and name, as in `when n > 3
/// -> h`. The word `when` or `if` is the token at `index`. `None` without such a mistake.
fn route_without_name_error(cx: &StatementContext<'_>, index: usize) -> Option<Diagnostic> {
    let word = token_text(cx, index);
    if !introduces_condition(word) || word == "where" {
        return None;
    }
    let begins_line = |index: &usize| cx.significant[*index].indent() == Some(0);
    let end = (index + 1..cx.significant.len()).find(begins_line).unwrap_or(cx.significant.len());
    let is_arrow = |at: &usize| {
        token_kind(cx, *at) == Some(TokenKind::Arrow) || matches!(token_text(cx, *at), "then" | ":")
    };
    let arrow = (index + 1..end).find(is_arrow)?;
    let (condition, target) = (source_if_short(cx, index + 1..arrow)?, source_if_short(cx, arrow + 1..end)?);
    let message = message!("no statement starts with `{word}`");
    let span = cx.significant[index].token.span(cx.file);
    let written = format!("route NAME when {condition} -> {target}");
    if !remedy::is_valid_short_statement(&written) {
        return None;
    }
    let help = message!("the condition of a route follows `when`: write `{written}`");
    Some(Diagnostic::new(Code::UnknownStatement, span, message).help(help))
}

/// Returns the diagnostic for a condition around a route, as in `if (n > 3) { route a -> h }`. The
/// word `if` is the token at `index`. `None` without such a mistake.
fn condition_around_route_error(cx: &StatementContext<'_>, index: usize) -> Option<Diagnostic> {
    if !introduces_condition(token_text(cx, index)) || token_text(cx, index) == "where" {
        return None;
    }
    let mut depth = 0_usize;
    let open = (index + 1..cx.significant.len()).find(|token| {
        let kind = cx.significant[*token].token.kind;
        let is_brace = kind == TokenKind::OpenBrace && depth == 0;
        depth += usize::from(kind.opens_bracket());
        depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
        is_brace || depth == 0 && matches!(kind, TokenKind::Arrow | TokenKind::CloseBrace)
    })?;
    if token_text(cx, open) != "{" {
        return None;
    }
    let is_wrapped = token_text(cx, index + 1) == "(" && token_text(cx, open - 1) == ")";
    let condition = if is_wrapped { index + 2..open - 1 } else { index + 1..open };
    let condition = source_if_short(cx, condition)?;
    let (name, arrow) = match token_text(cx, open + 1) {
        "route" => (token_text(cx, open + 2), open + 3),
        _ => ("NAME", open + 1),
    };
    let has_arrow = token_kind(cx, arrow) == Some(TokenKind::Arrow);
    let target = match (has_arrow, token_text(cx, arrow), token_text(cx, arrow + 1)) {
        (true, _, target) => target,
        (false, "return" | "call" | "goto" | "do", target) => target,
        (false, target, "}" | "(" | ";") if token_kind(cx, arrow) == Some(TokenKind::Word) => target,
        _ => "HANDLER",
    };
    let span = cx.significant[index].token.span(cx.file);
    let word = token_text(cx, index);
    let condition = match word {
        "unless" => format!("not ({condition})"),
        _ => condition.to_owned(),
    };
    let message = message!("no statement starts with `{word}`");
    let help = message!(
        "the condition of a route follows `when`: write `route {name} when {condition} -> {target}`"
    );
    Some(Diagnostic::new(Code::UnknownStatement, span, message).help(help))
}

fn token_text<'a>(cx: &StatementContext<'a>, index: usize) -> &'a str {
    cx.significant.get(index).map_or("", |item| item.token.text(cx.text))
}

fn token_kind(cx: &StatementContext<'_>, index: usize) -> Option<TokenKind> {
    cx.significant.get(index).map(|item| item.token.kind)
}

/// Returns the span of a range of tokens, which must not be empty.
pub(super) fn span_of(cx: &StatementContext<'_>, tokens: Range<usize>) -> Span {
    let span = |index: usize| cx.significant[index].token.span(cx.file);
    span(tokens.start).to(span(tokens.end - 1))
}

/// Returns the diagnostic for a priority before its route, as in `priority 5 route a when …`. The
/// word `priority` or `disabled` is the token at `index`. `None` without such a mistake.
pub(super) fn priority_before_route_error(cx: &StatementContext<'_>, index: usize) -> Option<Diagnostic> {
    let word = token_text(cx, index);
    let end = match word {
        "disabled" => index + 1,
        "priority" => (index + 1..index + 4).find(|end| token_text(cx, *end) == "route")?,
        _ => return None,
    };
    let is_name = matches!(token_kind(cx, end + 1), Some(TokenKind::Word | TokenKind::Quoted));
    if token_text(cx, end) != "route" || !is_name {
        return None;
    }
    let number = (end > index + 1).then(|| format!(" {}", &cx.text[span_of(cx, index + 1..end).range()]));
    let number = number.unwrap_or_default().replace(['=', ':'], "");
    let replacement = format!("route {} {word}{}", token_text(cx, end + 1), number.trim_end());
    let message = message!("`{word}` must be written after the name of the route");
    let diagnostic = unexpected_token(span_of(cx, index..end), message, message!("write `{replacement}`"));
    Some(diagnostic.fix(span_of(cx, index..end + 2), replacement))
}

/// Returns the diagnostic for a line number that was pasted before a statement, as in `12 default
/// -> h`. The number is the token at `index`. `None` without such a mistake.
pub(super) fn pasted_line_number_error(cx: &StatementContext<'_>, index: usize) -> Option<Diagnostic> {
    let number = cx.significant.get(index).filter(|item| item.token.kind == TokenKind::Number)?;
    let is_mark = |index: &usize| matches!(token_text(cx, *index), ":" | "." | "|" | ")");
    let end = (index + 1..cx.significant.len()).find(|index| !is_mark(index))?;
    let begins_statement =
        terminals::find_word(token_text(cx, end)).is_some_and(terminals::Terminal::starts_statement);
    if number.indent().is_none() || !begins_statement {
        return None;
    }
    let span = span_of(cx, index..end);
    let written = &cx.text[span.range()];
    let message = message!("a line number is not part of a statement");
    let removed = Span { end: cx.significant[end].token.start, ..span };
    Some(unexpected_token(span, message, message!("remove `{written}`")).fix(removed, ""))
}

/// Returns the diagnostic for a route that lacks its keyword, its name or `when`: `deny tool ==
/// "x"`, `rout size > 3 -> h`, or `tool == "x" -> deny`. `None` without such a mistake.
fn incomplete_route_error(cx: &StatementContext<'_>) -> Option<Diagnostic> {
    let (first, end) = (cx.tokens.start, cx.tokens.end);
    let head = token_text(cx, first);
    let replacement = match first_outer_arrow(cx) {
        Some(arrow) => {
            let (name, condition) = split_name_and_condition(cx, arrow)?;
            let target = source_if_short(cx, arrow + 1..end)?;
            format!("route {name} when {} -> {target}", source_if_short(cx, condition)?)
        }
        None if is_handler(cx, head) => {
            let has_arguments = token_text(cx, first + 1) == "(";
            let close = (first..end).find(|index| has_arguments && token_text(cx, *index) == ")");
            let after = close.unwrap_or(first) + 1;
            let target = source_if_short(cx, first..after)?;
            let start = after + usize::from(introduces_condition(token_text(cx, after)));
            if after == end {
                format!("default -> {target}")
            } else {
                let condition = source_if_short(cx, start..end)?;
                match token_text(cx, after) {
                    "unless" => format!("route NAME when not ({condition}) -> {target}"),
                    _ => format!("route NAME when {condition} -> {target}"),
                }
            }
        }
        None => return None,
    };
    let span = cx.significant[first].token.span(cx.file);
    let message = message!("no statement starts with `{}`", cx.shorten_source(span));
    Some(Diagnostic::new(Code::UnknownStatement, span, message).help(message!("write `{replacement}`")))
}

/// Returns the diagnostic for a keyword after the name or file of its statement, as in `"a.rules"
/// import` and `words list = [..]`. `None` without such a mistake.
fn keyword_after_name_error(cx: &StatementContext<'_>) -> Option<Diagnostic> {
    let (first, keyword) = (cx.tokens.start, cx.tokens.start + 1);
    let word = terminals::find_word(token_text(cx, keyword)).filter(|_| keyword < cx.tokens.end)?;
    let takes_text = matches!(word.text, "import" | "test");
    let is_named = match token_kind(cx, first)? {
        TokenKind::String => takes_text,
        // A verb of another language, as in `new handler (id: string)`, is no name.
        TokenKind::Word if matches!(token_text(cx, first), "new" | "create" | "define" | "declare") => false,
        TokenKind::Word | TokenKind::Quoted => word.declares_name() && word.text != "extern",
        _ => false,
    };
    if !is_named || !word.starts_statement() {
        return None;
    }
    let span = span_of(cx, keyword..keyword + 1);
    let written = format!("{} {}", word.text, token_text(cx, first));
    let message = message!("`{}` comes before `{}`", word.text, token_text(cx, first));
    let diagnostic = Diagnostic::new(Code::UnknownStatement, span, message);
    Some(diagnostic.help(message!("write `{written}`")).fix(span_of(cx, first..keyword + 1), written))
}

/// Returns the diagnostic for a definition without `let`, as in `vip := user.vip`. `None` without
/// such a mistake.
fn definition_without_let_error(cx: &StatementContext<'_>) -> Option<Diagnostic> {
    let (first, sign) = (cx.tokens.start, cx.tokens.start + 1);
    let name = token_text(cx, first);
    let is_name = token_kind(cx, first) == Some(TokenKind::Word);
    if let Some((value, end)) = value_of_assignment(cx).filter(|_| is_name) {
        let span = span_of(cx, first..end);
        let message = message!("the value of `{name}` cannot change");
        let help = message!("give the new value a name of its own: `let new_{name} = {value}`");
        return Some(Diagnostic::new(Code::UnknownStatement, span, message).help(help));
    }
    if !is_name || !matches!(token_text(cx, sign), "=" | ":=") || sign + 1 >= cx.tokens.end {
        return None;
    }
    let replacement = format!("let {name} =");
    let message = message!("a definition begins with `let`");
    let span = cx.significant[first].token.span(cx.file);
    let reads_itself = (sign + 1..cx.tokens.end).any(|index| token_text(cx, index) == name);
    let is_declared = (0..first).any(|index| {
        matches!(token_text(cx, index), "let" | "list" | "def") && token_text(cx, index + 1) == name
    });
    if reads_itself || is_declared {
        let message = message!("the value of `{name}` cannot change");
        let value = source_if_short(cx, sign + 1..cx.tokens.end).unwrap_or("…");
        let help = message!("give the new value a name of its own: `let new_{name} = {value}`");
        return Some(Diagnostic::new(Code::UnknownStatement, span, message).help(help));
    }
    let diagnostic = Diagnostic::new(Code::UnknownStatement, span, message);
    let head = span_of(cx, first..sign + 1);
    Some(diagnostic.help(message!("write `{replacement}`")).fix(head, replacement))
}

/// Returns the value that an assignment of another language gives to its first name: `total + 1d`
/// for `total += 1d`. Also returns the index after the operator. `None` for other statements.
fn value_of_assignment(cx: &StatementContext<'_>) -> Option<(String, usize)> {
    let (first, sign) = (cx.tokens.start, cx.tokens.start + 1);
    let name = token_text(cx, first);
    let touches = |index: usize| {
        cx.significant.get(index + 1).is_some_and(|item| item.token.start == cx.significant[index].token.end)
    };
    let is_equals = |index: usize| token_text(cx, index) == "=" && touches(index - 1);
    // `*=` is two tokens, and `+=` is one.
    let (operator, end) = match token_text(cx, sign) {
        "++" | "--" => (&token_text(cx, sign)[..1], sign + 1),
        "+=" | "-=" => (&token_text(cx, sign)[..1], sign + 1),
        text @ ("*" | "/" | "%" | "&&" | "||" | "??") if is_equals(sign + 1) => (text, sign + 2),
        _ => return None,
    };
    let operator = match operator {
        "&&" => "and",
        "||" => "or",
        operator => operator,
    };
    if matches!(token_text(cx, sign), "++" | "--") {
        return Some((format!("{name} {operator} 1"), end));
    }
    let line_end =
        (end..cx.tokens.end).find(|index| cx.significant[*index].indent().is_some()).unwrap_or(cx.tokens.end);
    let value = source_if_short(cx, end..line_end).unwrap_or("…");
    let is_one = end + 1 >= line_end || token_kind(cx, end + 1) == Some(TokenKind::Dot);
    let value = if is_one { value.to_owned() } else { format!("({value})") };
    let written = format!("{name} {operator} {value}");
    Some((if remedy::is_valid_expression(&written) { written } else { format!("{name} {operator} …") }, end))
}

/// Returns the diagnostic for a word that was meant as `where`: `when late with late = n > 3`.
/// `tokens` are the tokens in which the word is searched, from the start of the statement on.
/// `None` without such a mistake.
pub(super) fn word_meant_as_where_error(
    cx: &StatementContext<'_>,
    tokens: Range<usize>,
) -> Option<Diagnostic> {
    let is_word = |index: &usize| {
        matches!(
            token_text(cx, *index),
            "with" | "given" | "let" | "using" | "having" | "as" | "for" | "const" | "var" | "val" | "where"
        ) && (token_text(cx, *index) != "where" || token_text(cx, index.wrapping_sub(1)) == "{")
            && token_kind(cx, index + 1) == Some(TokenKind::Word)
            && matches!(token_text(cx, index + 2), "=" | ":=")
    };
    let has_condition = |index: &usize| (tokens.start..*index).any(|before| token_text(cx, before) == "when");
    let word = tokens.clone().find(|index| is_word(index) && has_condition(index))?;
    let span = span_of(cx, word..word + 1);
    if let Some(diagnostic) = locals_in_braces_error(cx, word) {
        return Some(diagnostic);
    }
    if token_text(cx, word) == "where" {
        return None;
    }
    let message =
        message!("the names of parts of a condition follow `where`, not `{}`", token_text(cx, word));
    Some(foreign_syntax_error(span, message, "where"))
}

/// Returns the diagnostic for local names that are defined in braces, as in `when C { let n = 1 }
/// -> h`, and not after `where`. The word `let` is the token at `word`. `None` without such braces.
fn locals_in_braces_error(cx: &StatementContext<'_>, word: usize) -> Option<Diagnostic> {
    let open = word.checked_sub(1).filter(|open| token_kind(cx, *open) == Some(TokenKind::OpenBrace))?;
    let mut depth = 0_usize;
    let close = (open..cx.tokens.end).find(|index| {
        let kind = cx.significant[*index].token.kind;
        depth += usize::from(kind.opens_bracket());
        depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
        depth == 0
    })?;
    // The target may follow in the braces, as in `{ let n = 1 -> h }`.
    let arrow = (word..close).find(|index| token_kind(cx, *index) == Some(TokenKind::Arrow));
    let parts_end = arrow.unwrap_or(close);
    // Each definition begins with the same word, or with a name on a new line or after a comma.
    let is_head = |index: usize| {
        let name = index + usize::from(token_text(cx, index) == token_text(cx, word));
        token_kind(cx, name) == Some(TokenKind::Word) && matches!(token_text(cx, name + 1), "=" | ":=")
    };
    let starts: Vec<usize> = (word..parts_end)
        .filter(|index| {
            let before = token_text(cx, *index - 1);
            let may_begin = cx.significant[*index].indent().is_some()
                || matches!(before, "{" | "," | ";")
                || token_text(cx, *index) == token_text(cx, word);
            may_begin && before != token_text(cx, word) && is_head(*index)
        })
        .collect();
    let mut parts = Vec::new();
    for (at, start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(parts_end);
        let name = start + usize::from(token_text(cx, *start) == token_text(cx, word));
        if name + 2 >= end {
            return None;
        }
        let end = (name + 2..end).rev().find(|index| !matches!(token_text(cx, *index), "," | ";"))? + 1;
        let value = &cx.text[span_of(cx, name + 2..end).range()];
        parts.push(format!("{} = {value}", token_text(cx, name)));
    }
    let mut written = format!("where {}", parts.join(", "));
    if let Some(arrow) = arrow {
        written = format!("{written} {}", cx.text[span_of(cx, arrow..close).range()].trim_end_matches(';'));
    }
    let follows_arrow = arrow.is_some() || matches!(token_text(cx, close + 1), "->" | "=>");
    if parts.is_empty() || !follows_arrow || written.len() > MAX_CONDITION_BYTES || written.contains('\n') {
        return None;
    }
    let message = message!("the names of parts of a condition follow `where`, without braces");
    let help = match arrow {
        Some(_) => message!("write `{written}`", written = written.clone()),
        None => message!("write `{written}` before `->`", written = written.clone()),
    };
    Some(
        unexpected_token(span_of(cx, open..open + 1), message, help)
            .fix(span_of(cx, open..close + 1), written),
    )
}

/// Returns the index of the first arrow of the statement outside all brackets. The word `then`
/// counts as an arrow. `None` without an arrow.
fn first_outer_arrow(cx: &StatementContext<'_>) -> Option<usize> {
    let mut depth = 0_usize;
    cx.tokens.clone().find(|index| {
        let kind = cx.significant[*index].token.kind;
        depth += usize::from(kind.opens_bracket());
        depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
        depth == 0 && (kind == TokenKind::Arrow || token_text(cx, *index) == "then")
    })
}

/// Finds the name and the condition of a route that lacks its keyword, its name or `when`. The
/// condition is the range of tokens before the token `arrow`; the name is `NAME` if the author
/// wrote none. `None` if the tokens are no such route.
fn split_name_and_condition(cx: &StatementContext<'_>, arrow: usize) -> Option<(String, Range<usize>)> {
    let first = cx.tokens.start;
    let head = token_text(cx, first);
    let is_route_word = nearest(&head.to_lowercase(), ["route"]).is_some() || head == "rule";
    let is_operator = |index: usize| {
        let text = token_text(cx, index);
        token_kind(cx, index) == Some(TokenKind::Operator) || text == "." || Op::from_spelling(text).is_some()
    };
    let is_later_condition =
        |index: usize| introduces_condition(token_text(cx, index)) && token_text(cx, index) != "unless";
    // If an `else` follows, the author intended two routes.
    let has_else = (arrow..cx.tokens.end).any(|index| token_text(cx, index) == "else");
    if has_else || (first + 2..arrow).any(is_later_condition) {
        return None;
    }
    let mut start = first;
    let mut name = "NAME".to_owned();
    if is_route_word || introduces_condition(head) {
        start += 1;
        let follows_name = token_kind(cx, start) == Some(TokenKind::Word)
            && !is_reserved(token_text(cx, start))
            && token_kind(cx, start + 1) == Some(TokenKind::Word)
            && !is_operator(start + 1)
            && !matches!(token_text(cx, start + 1), "is" | "not");
        if is_route_word && follows_name {
            name = token_text(cx, start).to_owned();
            start += 1;
        }
        start += usize::from(introduces_condition(token_text(cx, start)));
    } else if !is_operator(first + 1) {
        return None;
    }
    (start < arrow).then_some((name, start..arrow))
}

/// True for a word that other languages write before a condition, and for `when` itself.
fn introduces_condition(word: &str) -> bool {
    matches!(word, "when" | "WHEN" | "When" | "if" | "IF" | "If" | "where" | "unless" | "当" | "如果")
}

/// True if the file declares a handler of this name, or uses the name after an arrow.
fn is_handler(cx: &StatementContext<'_>, name: &str) -> bool {
    let follows = |index: usize| {
        let before = &cx.significant[index].token;
        before.kind == TokenKind::Arrow || before.text(cx.text) == "handler"
    };
    let is_name = matches!(token_kind(cx, cx.tokens.start), Some(TokenKind::Word | TokenKind::Quoted));
    is_name && (1..cx.significant.len()).any(|index| token_text(cx, index) == name && follows(index - 1))
}

/// Returns the source text of a range of tokens. `None` if the range is empty, too long for a help
/// text, or spans several lines.
fn source_if_short<'a>(cx: &StatementContext<'a>, tokens: Range<usize>) -> Option<&'a str> {
    if tokens.is_empty() {
        return None;
    }
    let text = &cx.text[span_of(cx, tokens).range()];
    (text.len() <= MAX_CONDITION_BYTES && !text.contains(['\n', '#'])).then_some(text)
}

/// Returns the diagnostic for the name of a file in place of the elements of a list, as in `list
/// words = words.txt`. `None` for other lists.
pub(super) fn unquoted_file_name_error(cx: &StatementContext<'_>) -> Option<Diagnostic> {
    let (first, last) = (cx.tokens.start + 3, cx.tokens.end.checked_sub(1)?);
    if first > last || token_text(cx, first - 1) != "=" {
        return None;
    }
    let span = span_of(cx, first..last + 1);
    let file = &cx.text[span.range()];
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let extension = file.rsplit_once('.')?.1;
    let is_file = matches!(extension, "txt" | "csv" | "tsv" | "lst" | "dat");
    if !is_file || !file.chars().all(is_path) {
        return None;
    }
    let message = message!("the name of a file is written in quotes, after `from`");
    let replacement = format!("from \"{file}\"");
    Some(unexpected_token(span, message, message!("write `{replacement}`")).fix(span, replacement))
}
