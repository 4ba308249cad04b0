//! Warns about a constant text that is compared with an address, but that no address contains:
//! white space in a URL, or a full-width `＠` in an e-mail address.

use super::Checker;
use super::doubtful::is_domain;
use super::units::last_word;
use super::wildcard::element_span;
use crate::hir::{Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::text::NormalizationForm;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::KindSet;
use rulec_syntax::ast;
use rulec_syntax::write::quote_string;

/// What a value contains, as far as its name says it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Url,
    Host,
    /// An e-mail address. A field named `email` may also contain a whole message.
    Email,
    Unknown,
}

impl Checker<'_> {
    /// Warns about a constant text with a character that no address contains, next to the value of
    /// an address.
    pub(super) fn warn_not_in_address(
        &mut self,
        binary: &ast::Binary,
        mode: TestMode,
        left: &Expr,
        right: &Expr,
    ) {
        let op = binary.op.node;
        let searches = matches!(op, Op::Contains | Op::Like);
        let compares = matches!(op, Op::Eq | Op::Ne | Op::In | Op::StartsWith | Op::EndsWith);
        let Some(constant) = right.as_const().map(|constant| constant.value()) else { return };
        if !(searches || compares) || left.as_const().is_some() || !left.ty.kinds.overlaps(KindSet::STRING) {
            return;
        }
        let content = self.content_of(left);
        // Both sides are normalized, so that full-width characters equal the ASCII ones.
        let is_normalized = !matches!(
            mode.text.form,
            NormalizationForm::None | NormalizationForm::Nfc | NormalizationForm::Visible
        );
        let elements = constant.elements().into_iter().flatten().enumerate();
        let elements = elements.filter_map(|(index, element)| Some((Some(index), element.as_str()?)));
        let mut texts = constant.as_str().map(|text| (None, text)).into_iter().chain(elements);
        let found = texts.find_map(|(index, text)| {
            let full_width = full_width_char(text, content, searches).filter(|_| !is_normalized);
            let has_blank = has_blank_inside(text, content, searches);
            (full_width.is_some() || has_blank).then_some((index, text, full_width))
        });
        let Some((index, text, full_width)) = found else { return };
        let place = index.and_then(|index| element_span(self.written_list(&binary.right), index));
        let span = place.unwrap_or(right.span);
        let (message, meant) = match full_width {
            Some(c) => {
                let message = message!(
                    "`{c}` (U+{}) is a full-width character; addresses are written with `{}`",
                    format!("{:04X}", u32::from(c)),
                    to_ascii(c)
                );
                (message, text.chars().map(to_ascii).collect())
            }
            None => {
                let message = message!("no address contains white space, as this text does");
                (message, text.split_whitespace().collect::<String>())
            }
        };
        let meant = quote_string(&meant);
        let help = match (full_width, content) {
            (None, Content::Url) => message!("write {meant}; a space in an address is written `%20`"),
            _ => message!("write {meant}"),
        };
        let diagnostic = Diagnostic::new(Code::NotInAddress, span, message).help(help);
        let is_written_here = place.is_some() || index.is_none();
        let is_name = matches!(binary.right.kind, ast::ExprKind::Name(_)) && place.is_none();
        self.diagnostics.push(match is_written_here && !is_name {
            true => diagnostic.likely_fix(span, meant),
            false => diagnostic,
        });
    }

    /// Returns what the name of a value says about its content.
    fn content_of(&self, value: &Expr) -> Content {
        if let ExprKind::Call(Function::UrlHost, _) = value.kind {
            return Content::Host;
        }
        let Some(name) = self.name_of_value(value) else { return Content::Unknown };
        match (last_word(&name).as_str(), name.to_lowercase().as_str()) {
            ("url" | "uri" | "href", _) => Content::Url,
            ("host" | "hostname" | "domain", _) => Content::Host,
            ("email", _) | (_, "e_mail" | "mail" | "email_address") => Content::Email,
            _ => Content::Unknown,
        }
    }
}

/// Returns the first full-width character of a text, if an address must have the ASCII character in
/// its place. In a text of unknown content, only a whole address counts.
fn full_width_char(text: &str, content: Content, searches: bool) -> Option<char> {
    let found = text.chars().find(|c| to_ascii(*c) != *c)?;
    let ascii: String = text.chars().map(to_ascii).collect();
    let is_certain = match content {
        Content::Url | Content::Host => true,
        Content::Email => !searches || is_email(&ascii),
        Content::Unknown => is_email(&ascii),
    };
    is_certain.then_some(found)
}

/// True for a text of an address with white space before its last character.
fn has_blank_inside(text: &str, content: Content, searches: bool) -> bool {
    let has_blank = text.trim().contains(char::is_whitespace);
    let joined = || text.split_whitespace().collect::<String>();
    has_blank
        && match content {
            Content::Url | Content::Host => true,
            Content::Email => !searches && is_email(&joined()),
            Content::Unknown => false,
        }
}

/// True for an e-mail address, or for its end, such as `@example.com`.
fn is_email(text: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c));
    text.split_once('@').is_some_and(|(name, domain)| is_name(name) && domain.is_ascii() && is_domain(domain))
}

/// Returns the ASCII character for a full-width one, and every other character unchanged.
fn to_ascii(c: char) -> char {
    match u32::from(c) {
        code @ 0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_width_characters_are_found_in_addresses_only() {
        let found = |text, content, searches| full_width_char(text, content, searches);
        assert_eq!(found("＠example.com", Content::Email, false), Some('＠'));
        assert_eq!(found("＠example.com", Content::Unknown, true), Some('＠'));
        assert_eq!(found("https：//example.com", Content::Url, true), Some('：'));
        assert_eq!(found("你好！", Content::Email, true), None);
        assert_eq!(found("你好！", Content::Unknown, false), None);
        assert_eq!(found("ＯＫ", Content::Unknown, false), None);
        assert_eq!(found("@example.com", Content::Email, false), None);
    }

    #[test]
    fn white_space_is_found_in_addresses_only() {
        let found = |text, content, searches| has_blank_inside(text, content, searches);
        assert!(found("https://shop.example.com/ admin", Content::Url, false));
        assert!(found("@exa mple.com", Content::Email, false));
        assert!(!found("@exa mple.com", Content::Email, true));
        assert!(!found("Ann Smith <ann@example.com>", Content::Email, false));
        assert!(!found("dear customer", Content::Email, false));
        assert!(!found("https://example.com ", Content::Url, false));
        assert!(!found("see https://example.com", Content::Unknown, false));
    }
}
