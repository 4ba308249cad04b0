//! Warns about a comparison of an address with a constant text that contains a character which no
//! address contains: white space in a URL, or a full-width `＠` in an e-mail address.

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

/// The kind of address that a value contains, according to the value's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AddressKind {
    Url,
    Host,
    /// An e-mail address. A field named `email` may also contain a whole e-mail message.
    Email,
    Unknown,
}

impl Checker<'_> {
    /// Warns if an address is compared with a constant text that has a character which no address
    /// contains. A value counts as an address if its name suggests it, such as `email`.
    pub(super) fn warn_impossible_address_text(
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
        // The rules may search addresses for such characters in order to reject them.
        let rejects = binary.negated || op == Op::Ne || self.is_in_forbid;
        if rejects
            || !(searches || compares)
            || left.as_const().is_some()
            || !left.ty.kinds.overlaps(KindSet::STRING)
        {
            return;
        }
        let content = self.address_kind_of(left);
        // Both sides are normalized, so that full-width characters equal the ASCII ones.
        let is_normalized = !matches!(
            mode.text.form,
            NormalizationForm::None | NormalizationForm::Nfc | NormalizationForm::Visible
        );
        let elements = constant.elements().into_iter().flatten().enumerate();
        let elements = elements.filter_map(|(index, element)| Some((Some(index), element.as_str()?)));
        let mut texts = constant.as_str().map(|text| (None, text)).into_iter().chain(elements);
        let found = texts.find_map(|(index, text)| {
            let ascii: String = text.chars().map(to_ascii).collect();
            if searches && !ascii.contains("://") || text.chars().count() == 1 {
                return None;
            }
            let full_width = full_width_char(text, content).filter(|_| !is_normalized);
            let has_blank = has_blank_inside(text, content);
            (full_width.is_some() || has_blank).then_some((index, text, full_width))
        });
        let Some((index, text, full_width)) = found else { return };
        let place = index.and_then(|index| element_span(self.resolve_list_name(&binary.right), index));
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
            (None, AddressKind::Url) => message!("write {meant}; a space in an address is written `%20`"),
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

    /// Returns the kind of address that a value contains, according to the value's name.
    fn address_kind_of(&self, value: &Expr) -> AddressKind {
        if let ExprKind::Call(Function::UrlHost, _) = value.kind {
            return AddressKind::Host;
        }
        let Some(name) = self.name_of_value(value) else { return AddressKind::Unknown };
        match (last_word(&name).as_str(), name.to_lowercase().as_str()) {
            ("url" | "uri" | "href", _) => AddressKind::Url,
            // Other hosts and domains are persons and subjects: `tv_host`, `problem_domain`.
            (_, name) if is_name_of_host(name) => AddressKind::Host,
            ("email", _) | (_, "e_mail" | "mail" | "email_address") => AddressKind::Email,
            _ => AddressKind::Unknown,
        }
    }
}

/// True if the lower-case name of a field says that the field contains a host, such as `url_host`.
fn is_name_of_host(name: &str) -> bool {
    let prefixes = ["url", "email", "source"];
    let name = name.replace('_', "");
    let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    matches!(name, "host" | "hostname" | "domain")
}

/// Returns the first full-width character of an address, where only the ASCII character is valid.
/// `content` is the kind of the address. A host or e-mail address is searched completely, a URL
/// only up to the end of its host, because its path may contain such characters. `None` also if the
/// text is no address.
fn full_width_char(text: &str, content: AddressKind) -> Option<char> {
    let ascii: String = text.chars().map(to_ascii).collect();
    let length = match content {
        AddressKind::Url => {
            let (scheme, rest) = ascii.split_once("://").filter(|(scheme, _)| is_scheme(scheme))?;
            let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            scheme.chars().count() + "://".len() + rest[..host].chars().count()
        }
        AddressKind::Host if is_host(&ascii) => usize::MAX,
        AddressKind::Email | AddressKind::Unknown if is_email(&ascii) => usize::MAX,
        _ => return None,
    };
    text.chars().take(length).find(|c| to_ascii(*c) != *c)
}

/// True if the text is an address except that it has white space between its other characters.
fn has_blank_inside(text: &str, content: AddressKind) -> bool {
    let joined = || text.split_whitespace().collect::<String>();
    // Several words before `@`, or a word after a whole address, are a name and its address.
    let is_split_address = |(name, domain): (&str, &str)| {
        let is_word = |part: &str| !part.trim().contains(char::is_whitespace);
        let first = domain.split_whitespace().next().unwrap_or_default();
        is_word(name) && (is_word(domain) || !is_domain(first))
    };
    text.trim().contains(char::is_whitespace)
        && match content {
            AddressKind::Url => text.trim().split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)),
            AddressKind::Host => is_host(&joined()),
            AddressKind::Email => is_email(&joined()) && text.split_once('@').is_some_and(is_split_address),
            AddressKind::Unknown => false,
        }
}

/// True for a valid scheme of a URL, such as `https`.
fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
}

/// True for a host name with a dot, or for the end of one, such as `.example.com`. False if the
/// text has capital letters, because it is then more likely the name of a person or company.
fn is_host(text: &str) -> bool {
    is_domain(text.strip_prefix('.').unwrap_or(text)) && !text.contains(char::is_uppercase)
}

/// True for an e-mail address, or for the end of one, such as `@example.com`.
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
        let found = |text, content| full_width_char(text, content);
        assert_eq!(found("＠example.com", AddressKind::Email), Some('＠'));
        assert_eq!(found("＠example.com", AddressKind::Unknown), Some('＠'));
        assert_eq!(found("https：//example.com", AddressKind::Url), Some('：'));
        assert_eq!(found("https://example．com/", AddressKind::Url), Some('．'));
        assert_eq!(found("https://example.com/（终稿）", AddressKind::Url), None);
        assert_eq!(found("/报告（终稿）.pdf", AddressKind::Url), None);
        assert_eq!(found("shop．example.com", AddressKind::Host), Some('．'));
        assert_eq!(found("医疗（儿科）", AddressKind::Host), None);
        assert_eq!(found("你好！", AddressKind::Email), None);
        assert_eq!(found("你好！", AddressKind::Unknown), None);
        assert_eq!(found("ＯＫ", AddressKind::Unknown), None);
        assert_eq!(found("@example.com", AddressKind::Email), None);
    }

    #[test]
    fn white_space_is_found_in_addresses_only() {
        let found = |text, content| has_blank_inside(text, content);
        assert!(found("https://shop.example.com/ admin", AddressKind::Url));
        assert!(found("@exa mple.com", AddressKind::Email));
        assert!(found("ann @example.com", AddressKind::Email));
        assert!(found(".example .com", AddressKind::Host));
        assert!(!found("Ann ann@example.com", AddressKind::Email));
        assert!(!found("ann@example.com bob", AddressKind::Email));
        assert!(!found("Ann Smith <ann@example.com>", AddressKind::Email));
        assert!(!found("dear customer", AddressKind::Email));
        assert!(!found("credit cards", AddressKind::Host));
        assert!(!found("Acme Corp.", AddressKind::Host));
        assert!(!found("Dr. Who", AddressKind::Host));
        assert!(!found("https://example.com ", AddressKind::Url));
        assert!(!found("about blank", AddressKind::Url));
        assert!(!found("mailto:a@b.com?subject=hello world", AddressKind::Url));
        assert!(!found("see https://example.com", AddressKind::Unknown));
    }

    #[test]
    fn names_of_hosts_are_recognized() {
        let check = |name: &str, expected: bool| assert_eq!(is_name_of_host(name), expected, "{name}");
        check("host", true);
        check("url_host", true);
        check("emaildomain", true);
        check("source_hostname", true);
        check("event_host", false);
        check("problem_domain", false);
        check("hosts", false);
    }
}
