//! Warns about plain texts that look like patterns of other languages, as in `contains "%refund%"`.
//! Also warns about list elements that cannot occur in a text.

use super::Checker;
use crate::hir::{Const, Expr};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_syntax::ast;
use rulec_syntax::write::{quote_raw_string, quote_string};

impl Checker<'_> {
    /// Warns if a constant that an operator matches literally has the syntax of a pattern, such as
    /// `%refund%`.
    pub(super) fn warn_wildcards(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let op = binary.op.node;
        if op == Op::Matches {
            return self.warn_wildcards_in_regex(binary, right);
        }
        if op == Op::Like {
            self.warn_regex_of_like(binary, right);
            return self.warn_alternatives_of_like(binary, right);
        }
        let compares_plain_texts =
            matches!(op, Op::Eq | Op::Ne | Op::In | Op::Contains | Op::StartsWith | Op::EndsWith);
        if !compares_plain_texts || left.ty.kinds.intersect(KindSet::STRING).is_empty() {
            return;
        }
        match right.as_const().map(Const::value) {
            Some(Value::Str(text)) => {
                let Some((pattern, remedy)) = find_remedy(op, text) else { return };
                let has_modifier = binary.modifiers.whole_word || binary.modifiers.quantity.is_some();
                let place = (binary.op.span.to(right.span), right.span);
                self.warn_foreign_pattern(text, &pattern, (remedy, !has_modifier), place);
            }
            Some(list) => {
                let texts = list.elements().into_iter().flatten().enumerate();
                let found = texts.filter_map(|(index, element)| Some((index, element.as_str()?)));
                let found = found.filter_map(|(index, text)| Some((index, text, find_remedy(op, text)?.0)));
                // One warning is enough for a list, because the author probably made one mistake.
                let Some((index, text, pattern)) = found.into_iter().next() else { return };
                let is_regex = matches!(pattern, ForeignPattern::Regex | ForeignPattern::Anchor);
                if is_regex && self.warn_list_of_regexes(binary, list, (index, text), right) {
                    return;
                }
                let span = element_span(&binary.right, index).unwrap_or(right.span);
                self.warn_foreign_pattern(text, &pattern, (Remedy::None, false), (span, span));
            }
            None => {}
        }
    }

    /// Warns about `like "A-*|B-*"`, because patterns of `like` have no alternatives.
    fn warn_alternatives_of_like(&mut self, binary: &ast::Binary, right: &Expr) {
        let Some(pattern) = right.as_const().and_then(|pattern| pattern.value().as_str()) else { return };
        let is_pattern = |part: &str| {
            part == part.trim() && part.contains(['*', '?']) && part.chars().any(char::is_alphanumeric)
        };
        if !pattern.contains('|') || !pattern.split('|').all(is_pattern) {
            return;
        }
        let parts: Vec<String> = pattern.split('|').map(quote_string).collect();
        let written = format!("like any [{}]", parts.join(", "));
        let message = message!("in a pattern of `like`, `|` matches only itself");
        let diagnostic = Diagnostic::new(Code::LooksLikePattern, right.span, message);
        let diagnostic = diagnostic.help(message!("write `{written}`"));
        self.diagnostics.push(match binary.modifiers.quantity {
            None => diagnostic.likely_fix(binary.op.span.to(right.span), written),
            Some(_) => diagnostic,
        });
    }

    /// Warns about `like ".*refund.*"`: a pattern of `like` is no regular expression.
    fn warn_regex_of_like(&mut self, binary: &ast::Binary, right: &Expr) {
        let Some(pattern) = right.as_const().and_then(|pattern| pattern.value().as_str()) else { return };
        if !has_regex_syntax(pattern) {
            return;
        }
        let message =
            message!("this text looks like a regular expression, but `like` knows only `*` and `?`");
        let diagnostic = Diagnostic::new(Code::LooksLikePattern, right.span, message);
        let written = format!("matches {}", quote_raw_string(pattern));
        let diagnostic = diagnostic.help(message!("write `{written}`"));
        self.diagnostics.push(match binary.modifiers.quantity {
            None => diagnostic.likely_fix(binary.op.span.to(right.span), written),
            Some(_) => diagnostic,
        });
    }

    fn warn_foreign_pattern(
        &mut self,
        text: &str,
        pattern: &ForeignPattern,
        (remedy, may_change_operator): (Remedy, bool),
        (comparison, literal): (Span, Span),
    ) {
        let message = match pattern {
            ForeignPattern::Percent | ForeignPattern::Star => {
                message!("this text has a wildcard, which is compared as it is")
            }
            ForeignPattern::Regex => {
                message!("this text looks like a regular expression, which is compared as it is")
            }
            ForeignPattern::Anchor => message!("this text has an anchor, which is compared as it is"),
            ForeignPattern::Alternatives => {
                message!("this text has alternatives, which are compared as they are")
            }
        };
        let diagnostic = Diagnostic::new(Code::LooksLikePattern, literal, message);
        let diagnostic = match remedy {
            Remedy::Text(plain) => {
                let plain = quote_string(&plain);
                diagnostic.help(message!("write {plain}")).fix(literal, plain)
            }
            Remedy::Comparison(written) if may_change_operator => {
                diagnostic.help(message!("write `{written}`")).fix(comparison, written)
            }
            Remedy::OneOf(first, second) if may_change_operator => {
                let help = message!("write `{first}`, or `{second}`", first = first.clone());
                diagnostic.help(help).likely_fix(comparison, first)
            }
            _ => match pattern {
                ForeignPattern::Percent | ForeignPattern::Star => {
                    diagnostic.help(message!("write the text without its wildcard, or use `like \"*text*\"`"))
                }
                ForeignPattern::Anchor | ForeignPattern::Regex => diagnostic.help(message!(
                    "use `matches` with a regular expression: `matches {}`",
                    quote_raw_string(text)
                )),
                ForeignPattern::Alternatives if comparison == literal => {
                    let texts: Vec<String> = text.split('|').map(quote_string).collect();
                    let texts = texts.join(", ");
                    let help = message!("write `{written}`", written = texts.clone());
                    diagnostic.help(help).fix(literal, texts)
                }
                ForeignPattern::Alternatives => {
                    diagnostic.help(message!("write each alternative as a text of a list"))
                }
            },
        };
        self.diagnostics.push(diagnostic);
    }

    /// Warns about elements that are not texts, in a list whose elements are searched for in a
    /// text.
    pub(super) fn warn_elements_that_are_no_texts(
        &mut self,
        binary: &ast::Binary,
        left: &Expr,
        right: &Expr,
    ) {
        let searches_text = binary.op.node.info().search.is_some() && left.ty.kinds == KindSet::STRING;
        if !searches_text || binary.modifiers.quantity.is_none() {
            return;
        }
        let Some(list) = right.as_const().map(Const::value) else { return };
        for (index, element) in list.elements().into_iter().flatten().enumerate() {
            if element.as_str().is_some() || element.is_missing() {
                continue;
            }
            let span = element_span(&binary.right, index);
            let message = message!("no text contains this element, because it is not a text");
            let diagnostic = Diagnostic::new(Code::NotATextInList, span.unwrap_or(right.span), message);
            let written = span.map(|span| self.loaded.sources.slice(span));
            let is_scalar = !matches!(element, Value::List(_) | Value::Dict(_));
            self.diagnostics.push(match (span, written.filter(|_| is_scalar)) {
                (Some(span), Some(written)) => {
                    let quoted = quote_string(written);
                    diagnostic.help(message!("write {quoted}, or remove it")).fix(span, quoted)
                }
                _ => diagnostic.help(message!("write it in quotes, or remove it")),
            });
        }
    }
}

/// Returns the span of a list's element; `None` if the list is not written as a literal.
pub(super) fn element_span(list: &ast::Expr, index: usize) -> Option<Span> {
    match &list.kind {
        ast::ExprKind::List(items) => items.get(index).map(|item| item.span),
        _ => None,
    }
}

/// The pattern syntax of another language that a text seems to use, such as SQL wildcards.
enum ForeignPattern {
    Percent,
    Star,
    Regex,
    Anchor,
    Alternatives,
}

/// A suggested replacement for a text in foreign pattern syntax.
enum Remedy {
    None,
    /// Replaces only the text by this one; the operator stays.
    Text(String),
    /// Replaces the operator and the right operand by this source text.
    Comparison(String),
    /// Replaces the operator and the right operand by one of these source texts.
    OneOf(String, String),
}

/// Returns the pattern syntax that a text seems to use, and a replacement. The text is the right
/// operand of `op`, or an element of it. A replacement may also change the operator. `None` if the
/// text is probably meant literally.
fn find_remedy(op: Op, text: &str) -> Option<(ForeignPattern, Remedy)> {
    if has_regex_syntax(text) {
        let plain = text.trim_start_matches(".*").trim_end_matches(".*");
        let is_plain = plain.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-'));
        let is_surrounded = text.starts_with(".*") && text.ends_with(".*") && is_plain && !plain.is_empty();
        let not = if op == Op::Ne { "not " } else { "" };
        let remedy = match op {
            Op::In => Remedy::None,
            Op::Contains if is_surrounded => Remedy::Text(plain.to_owned()),
            _ if is_surrounded => Remedy::Comparison(format!("{not}contains {}", quote_string(plain))),
            Op::StartsWith => {
                Remedy::Comparison(format!("matches {}", quote_raw_string(&format!("^{text}"))))
            }
            Op::EndsWith => Remedy::Comparison(format!("matches {}", quote_raw_string(&format!("{text}$")))),
            Op::Eq | Op::Ne if !text.starts_with('^') && !text.ends_with('$') => {
                Remedy::Comparison(format!("{not}matches {}", quote_raw_string(&format!("^{text}$"))))
            }
            _ => Remedy::Comparison(format!("{not}matches {}", quote_raw_string(text))),
        };
        return Some((ForeignPattern::Regex, remedy));
    }
    if let Some(remedy) = remedy_of_wildcard(op, text, '%').filter(|_| has_percent_wildcard(text)) {
        return Some((ForeignPattern::Percent, remedy));
    }
    if let Some(remedy) = remedy_of_wildcard(op, text, '*').filter(|_| has_star_wildcard(text)) {
        return Some((ForeignPattern::Star, remedy));
    }
    if !matches!(op, Op::In) && has_anchor(text) {
        return Some((ForeignPattern::Anchor, remedy_of_anchor(op, text)));
    }
    is_list_of_alternatives(text).then(|| {
        let list: Vec<String> = text.split('|').map(quote_string).collect();
        let list = format!("[{}]", list.join(", "));
        let remedy = match op {
            Op::Eq => Remedy::Comparison(format!("in {list}")),
            Op::Ne => Remedy::Comparison(format!("not in {list}")),
            Op::In => Remedy::None,
            _ => Remedy::Comparison(format!("{} any {list}", op.info().spelling)),
        };
        (ForeignPattern::Alternatives, remedy)
    })
}

/// True if a text seems to contain `%` as the wildcard of SQL: `%refund%`, `%refund` and `refund%`,
/// but not `50%` and `%2F`.
pub(super) fn has_percent_wildcard(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let (first, last) = (text.strip_prefix('%'), text.strip_suffix('%'));
    let is_encoded =
        first.is_some_and(|rest| rest.chars().take(2).filter(char::is_ascii_hexdigit).count() == 2);
    let starts = first.is_some_and(|rest| rest.starts_with(char::is_alphabetic)) && !is_encoded;
    let ends = last.is_some_and(|rest| rest.ends_with(char::is_alphabetic));
    letters > 2 && (starts || ends || first.is_some() && last.is_some())
}

/// True if a text seems to contain `*` as the wildcard of a shell: `*x*`, `*.png` and `/api/*`, but
/// not `**bold**`, `5 * x` and `/*`.
fn has_star_wildcard(text: &str) -> bool {
    let is_at_end = text.starts_with('*') || text.ends_with('*');
    let is_spaced = text.contains("* ") || text.contains(" *");
    is_at_end && !is_spaced && !text.contains("**") && text.chars().any(char::is_alphanumeric)
}

/// True if a text surely uses the syntax of regular expressions. Examples are `.*` before a word,
/// `.+`, a class such as `\d+`, and a repeated class in brackets such as `[0-9]+`. False for
/// `notes.*`, where `*` is probably a wildcard.
pub(super) fn has_regex_syntax(text: &str) -> bool {
    let has_class = ["\\d", "\\w", "\\s", "\\b"].iter().any(|class| {
        text.split(class)
            .skip(1)
            .any(|rest| rest.is_empty() || rest.starts_with(['+', '*', '{', ']', ')', '?']))
    });
    let is_repeated = |rest: &str| {
        rest.split_once(']')
            .is_some_and(|(class, after)| class.contains('-') && after.starts_with(['+', '*', '{']))
    };
    let has_brackets = text.split('[').skip(1).any(is_repeated);
    let has_any =
        text.starts_with(".*") && text.len() > 3 || text.contains(".+") || text.matches(".*").count() > 1;
    (has_class || has_brackets || has_any)
        && text.chars().any(char::is_alphanumeric)
        && regex_syntax::parse(text).is_ok()
}

/// Returns a pattern of SQL or of a shell without the wildcards at its ends. `None` if the text is
/// probably meant literally.
pub(super) fn without_foreign_wildcards(text: &str) -> Option<String> {
    let wildcard = if has_percent_wildcard(text) {
        '%'
    } else if has_star_wildcard(text) {
        '*'
    } else {
        return None;
    };
    Some(text.trim_matches(wildcard).to_owned()).filter(|plain| !plain.is_empty())
}

/// Converts a pattern with the wildcards `%`, `*` and `?` to a regular expression.
pub(super) fn wildcards_to_regex(text: &str) -> String {
    let mut regex = String::new();
    for c in text.trim_matches(['%', '*']).chars() {
        match c {
            '%' | '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            c => regex.push_str(&regex_syntax::escape(&c.to_string())),
        }
    }
    regex
}

pub(super) fn has_anchor(text: &str) -> bool {
    let starts = text
        .strip_prefix('^')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '[' | '(' | '\\')));
    let ends =
        text.strip_suffix('$').is_some_and(|rest| rest.ends_with(|c: char| c.is_lowercase() || c == ')'));
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    letters > 1 && (starts || ends)
}

/// True if a text looks like alternatives of a regular expression: words or short phrases joined by
/// `|` without spaces around it, such as `hello|good morning`.
fn is_list_of_alternatives(text: &str) -> bool {
    const MAX_WORDS: usize = 4;
    let is_word = |part: &str| {
        part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
            && part.chars().any(char::is_alphabetic)
            && part.trim() == part
            && part.split(' ').count() <= MAX_WORDS
    };
    text.contains('|') && text.split('|').all(is_word)
}

/// Returns a replacement for `text`, the right operand of `op`, which has the character `wildcard`
/// at its start or end. `None` if the text has it at neither.
fn remedy_of_wildcard(op: Op, text: &str, wildcard: char) -> Option<Remedy> {
    let (starts, ends) = (text.starts_with(wildcard), text.ends_with(wildcard));
    let plain = text.trim_matches(wildcard);
    if !starts && !ends {
        return None;
    }
    if wildcard == '*' && op == Op::Contains && plain.contains('*') {
        return Some(Remedy::Comparison(format!("like {}", quote_string(&format!("*{plain}*")))));
    }
    if plain.contains(['%', '*', '?']) {
        return Some(Remedy::None);
    }
    let quoted = quote_string(plain);
    Some(match op {
        Op::Contains if starts && ends => Remedy::Text(plain.to_owned()),
        Op::Contains if wildcard == '*' => {
            let operator = if starts { Op::EndsWith } else { Op::StartsWith };
            let first = format!("{} {quoted}", operator.info().spelling);
            Remedy::OneOf(first, format!("like {}", quote_string(text)))
        }
        Op::StartsWith if !starts => Remedy::Text(plain.to_owned()),
        Op::EndsWith if !ends => Remedy::Text(plain.to_owned()),
        Op::Eq | Op::Ne if wildcard == '*' => {
            let not = if op == Op::Ne { "not " } else { "" };
            Remedy::Comparison(format!("{not}like {}", quote_string(text)))
        }
        Op::Eq | Op::Ne => {
            let operator = match (starts, ends) {
                (true, true) => Op::Contains,
                (false, _) => Op::StartsWith,
                _ => Op::EndsWith,
            };
            let not = if op == Op::Ne { "not " } else { "" };
            Remedy::Comparison(format!("{not}{} {quoted}", operator.info().spelling))
        }
        _ => Remedy::None,
    })
}

/// Returns a replacement for `text`, the right operand of `op`, which has `^` at its start or `$`
/// at its end.
fn remedy_of_anchor(op: Op, text: &str) -> Remedy {
    let (starts, ends) = (text.starts_with('^'), text.ends_with('$'));
    let plain = text.strip_prefix('^').unwrap_or(text);
    let plain = plain.strip_suffix('$').unwrap_or(plain);
    let is_plain = plain.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-'));
    let operator = match (op, starts, ends) {
        (Op::Contains, true, false) => "starts_with",
        (Op::Contains, false, true) => "ends_with",
        (Op::Contains | Op::Eq, true, true) => "==",
        _ => return Remedy::None,
    };
    match is_plain && !plain.is_empty() {
        true if operator == "==" && op == Op::Contains => Remedy::None,
        true => Remedy::Comparison(format!("{operator} {}", quote_string(plain))),
        false => Remedy::Comparison(format!("matches {}", quote_raw_string(text))),
    }
}
