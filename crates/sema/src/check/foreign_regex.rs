//! Warns about patterns of two languages that are confused: regular expressions in a list of plain
//! texts, and wildcards of SQL or of a shell in a regular expression.

use super::Checker;
use super::wildcard::{element_span, has_anchor, has_percent_wildcard, has_regex_syntax};
use crate::hir::{Const, Expr};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_lang::operators::{Op, Quantity};
use rulec_lang::value::Value;
use rulec_syntax::ast;
use rulec_syntax::write::{quote_name, quote_raw_string};

/// Maximum length in bytes of a list that a help text repeats.
const MAX_WRITTEN_LIST_LENGTH: usize = 200;

impl Checker<'_> {
    /// Warns about a list of regular expressions whose elements are compared as plain texts, as in
    /// `text contains any patterns`. `found` is the first such element with its index. Returns
    /// whether it warns.
    pub(super) fn warn_list_of_regexes(
        &mut self,
        binary: &ast::Binary,
        list: Value<'_>,
        (index, text): (usize, &str),
        right: &Expr,
    ) -> bool {
        let quantity = match (binary.op.node, binary.modifiers.quantity) {
            (Op::Contains, Some(Quantity::Any)) | (Op::In, None) => "any",
            (Op::Contains, Some(Quantity::All)) => "all",
            (Op::Contains, Some(Quantity::None)) => "none",
            _ => return false,
        };
        let texts: Option<Vec<&str>> =
            list.elements().and_then(|all| all.map(|text| text.as_str()).collect());
        let Some(texts) = texts.filter(|_| !binary.modifiers.whole_word) else { return false };
        let is_name = matches!(binary.right.kind, ast::ExprKind::Name(_));
        let patterns: Vec<String> = texts
            .into_iter()
            .map(|text| match is_name || has_regex_syntax(text) || has_anchor(text) {
                true => text.to_owned(),
                false => regex_syntax::escape(text),
            })
            .collect();
        let is_valid = |pattern: &String| regex_syntax::parse(pattern).is_ok();
        let not = if binary.negated { "not " } else { "" };
        let written = match &binary.right.kind {
            ast::ExprKind::Name(name) => format!("{not}matches {quantity} {}", quote_name(name)),
            _ => {
                let list: Vec<String> = patterns.iter().map(|pattern| quote_raw_string(pattern)).collect();
                format!("{not}matches {quantity} [{}]", list.join(", "))
            }
        };
        let can_replace = patterns.iter().all(is_valid) && written.len() <= MAX_WRITTEN_LIST_LENGTH;
        let here = element_span(&binary.right, index);
        let message = match here {
            Some(_) => message!("this text looks like a regular expression, which is compared as it is"),
            None => message!("`{text}` looks like a regular expression, which is compared as it is"),
        };
        let diagnostic = Diagnostic::new(Code::LooksLikePattern, here.unwrap_or(right.span), message);
        let declared = element_span(self.resolve_list_name(&binary.right), index).filter(|_| here.is_none());
        let diagnostic = match declared {
            Some(declared) => diagnostic.label(declared, message!("this element")),
            None => diagnostic,
        };
        self.diagnostics.push(match (can_replace, binary.op.node, binary.negated) {
            (false, ..) => diagnostic.help(message!(
                "use `matches {quantity}` with a list of regular expressions, such as `[r\"^a\", r\"b\\d+\"]`"
            )),
            (_, Op::In, _) => diagnostic.help(message!(
                "use `{written}`; an expression is found anywhere in the text, unless it has `^` and `$`"
            )),
            (_, _, false) => {
                let diagnostic = diagnostic.help(message!("write `{written}`", written = written.clone()));
                diagnostic.likely_fix(binary.op.span.to(right.span), written)
            }
            (_, _, true) => diagnostic.help(message!("write `{written}`")),
        });
        true
    }

    /// Warns about `matches r"%refund%"` and `matches r"refund*"`: in a regular expression `%` is
    /// an ordinary character, and `*` repeats the character before it.
    pub(super) fn warn_wildcards_in_regex(&mut self, binary: &ast::Binary, right: &Expr) {
        let Some(constant) = right.as_const().map(Const::value) else { return };
        let elements = constant.elements().into_iter().flatten().filter_map(Value::as_str);
        let patterns = constant.as_str().into_iter().chain(elements).enumerate();
        let found = patterns.filter_map(|(index, pattern)| Some((index, find_foreign_wildcard(pattern)?)));
        let Some((index, (wildcard, meant))) = found.into_iter().next() else { return };
        let is_single = constant.as_str().is_some();
        let is_name = matches!(binary.right.kind, ast::ExprKind::Name(_));
        let element =
            if is_single { None } else { element_span(self.resolve_list_name(&binary.right), index) };
        let span = element.unwrap_or(right.span);
        if self.is_reported_at(Code::LooksLikePattern, span) {
            return;
        }
        let message = match wildcard {
            Wildcard::Percent => message!("in a regular expression, `%` matches only itself"),
            Wildcard::Star(letter) => {
                message!("`{letter}*` also matches no `{letter}`, so it has no effect here")
            }
        };
        let diagnostic = Diagnostic::new(Code::LooksLikePattern, span, message);
        let written = quote_raw_string(&meant);
        let diagnostic = diagnostic.help(match (wildcard, meant.starts_with('^'), meant.ends_with('$')) {
            (Wildcard::Percent, true, _) => {
                message!("write {written}, where `^` is the start of the text")
            }
            (Wildcard::Percent, _, true) => message!("write {written}, where `$` is the end of the text"),
            (Wildcard::Percent, ..) => {
                message!("an expression is found anywhere in the text: write {written}")
            }
            (Wildcard::Star(_), ..) => message!(
                "`*` repeats the character before it, and more text may follow anyway: write {written}"
            ),
        });
        self.diagnostics.push(match is_single && !is_name || element.is_some() {
            true => diagnostic.likely_fix(span, written),
            false => diagnostic,
        });
    }
}

/// A wildcard of another language in a regular expression.
#[derive(Clone, Copy)]
enum Wildcard {
    /// The wildcard `%` of SQL.
    Percent,
    /// The wildcard `*` of a shell, which follows this character.
    Star(char),
}

/// Returns the wildcard of another language in a regular expression, and the expression that its
/// author means. `None` if the expression is probably written on purpose.
fn find_foreign_wildcard(pattern: &str) -> Option<(Wildcard, String)> {
    let is_plain = |text: &str| {
        text.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '\''))
            && text.chars().any(char::is_alphabetic)
    };
    if has_percent_wildcard(pattern) {
        let plain = pattern.trim_matches('%');
        // `%PATH%` is a variable of a shell, and `%name%` may be one of a template.
        let is_variable = pattern.starts_with('%')
            && pattern.ends_with('%')
            && (!plain.contains(char::is_lowercase) && plain.is_ascii());
        if is_variable || !plain.split('%').all(is_plain) {
            return None;
        }
        let start = if pattern.starts_with('%') { "" } else { "^" };
        let end = if pattern.ends_with('%') { "" } else { "$" };
        return Some((Wildcard::Percent, format!("{start}{}{end}", plain.replace('%', ".*"))));
    }
    let plain = pattern.strip_suffix('*')?;
    let letter = plain.chars().last().filter(|c| c.is_alphanumeric())?;
    let start = plain.strip_prefix('^').unwrap_or(plain);
    (is_plain(start) && start.chars().count() > 2).then(|| (Wildcard::Star(letter), plain.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::find_foreign_wildcard;

    #[test]
    fn wildcards_of_other_languages_are_found() {
        let check = |pattern: &str, expected: Option<&str>| {
            let found = find_foreign_wildcard(pattern).map(|(_, meant)| meant);
            assert_eq!(found.as_deref(), expected, "{pattern}");
        };
        check("%refund%", Some("refund"));
        check("refund%", Some("^refund"));
        check("%退款申请%", Some("退款申请"));
        check("%refund", Some("refund$"));
        check("%money%back%", Some("money.*back"));
        check("refund*", Some("refund"));
        check("^order*", Some("^order"));
        for right in [
            r"\d+%",
            "100%",
            "%PATH%",
            r"%[a-z]+%",
            "%2F",
            "(50|60)%",
            "%s",
            "colou?r",
            "a*",
            "ab*c",
            r"refund.*",
            r"\w*",
            "[a-z]*",
            r"go*",
            "%(name)s",
        ] {
            check(right, None);
        }
    }
}
