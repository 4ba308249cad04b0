//! Warns about comparisons that are valid but probably not intended. Examples: searching a text in
//! a list of words, a domain without a dot before it, and `<` between enumeration values.

use super::Checker;
use super::names::is_text_path;
use crate::hir::{Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::text::to_one_line;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::value::Value;
use rulec_syntax::ast;
use rulec_syntax::write::quote_string;

impl Checker<'_> {
    /// Warns about a comparison whose operands are valid, but probably not the ones that the author
    /// intended.
    pub(super) fn warn_doubtful(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        match binary.op.node {
            Op::Contains => self.warn_reversed_search(binary, left, right),
            Op::EndsWith => self.warn_domain_without_dot(binary, left, right),
            Op::Lt | Op::Le | Op::Gt | Op::Ge => self.warn_order_of_enumeration(binary, left, right),
            _ => {}
        }
    }

    /// Warns about `words contains text`. It is true only if the whole text equals one of the
    /// words.
    fn warn_reversed_search(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let is_text = |slot: &ExprKind| match slot {
            ExprKind::Slot(id) => is_text_path(&self.fields.slot(*id).path),
            _ => false,
        };
        let words = left.as_const().and_then(|words| words.value().elements());
        let has_only_words = words
            .is_some_and(|mut words| words.next().is_some() && words.all(|word| word.as_str().is_some()));
        if !has_only_words || !is_text(&right.kind) || binary.modifiers.quantity.is_some() {
            return;
        }
        let (list, text) = (self.loaded.sources.slice(left.span), self.loaded.sources.slice(right.span));
        let written = format!("{text} contains any {list}");
        let message = message!("this holds only if the whole text is an element of the list");
        let diagnostic = Diagnostic::new(Code::ReversedSearch, left.span.to(right.span), message);
        let help = message!("to search the text for the elements, write `{written}`");
        self.diagnostics.push(diagnostic.help(help).likely_fix(left.span.to(right.span), written));
    }

    /// Warns about a host or e-mail address that is compared with a domain without a separator
    /// before the domain: `host ends_with "bank.com"` is also true for `otherbank.com`.
    fn warn_domain_without_dot(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let name = match &left.kind {
            ExprKind::Call(Function::UrlHost, _) => "host",
            ExprKind::Slot(id) => match self.fields.slot(*id).path.last() {
                Some(name) => name,
                None => return,
            },
            _ => return,
        };
        let separator = match name.to_lowercase().as_str() {
            "host" | "hostname" | "host_name" | "domain" => '.',
            "email" | "e_mail" | "mail" | "email_address" => '@',
            _ => return,
        };
        let Some(constant) = right.as_const().map(|constant| constant.value()) else { return };
        let elements = constant.elements().into_iter().flatten();
        let Some(domain) = elements.chain([constant]).filter_map(Value::as_str).find(|text| is_domain(text))
        else {
            return;
        };
        let message = message!("`{}` also ends with this domain", format!("not{}", to_one_line(domain)));
        let diagnostic = Diagnostic::new(Code::DomainWithoutDot, right.span, message);
        let written = self.loaded.sources.slice(left.span);
        let quoted = quote_string(domain);
        let separated = quote_string(&format!("{separator}{domain}"));
        let is_single = constant.as_str().is_some() && !binary.negated;
        let help = match separator {
            '.' if is_single => {
                message!("write `({written} == {quoted} or {written} ends_with {separated})`")
            }
            '.' => message!(
                "write {separated} for what is below the domain, and compare with {quoted} for the domain itself"
            ),
            _ => message!("write {separated}"),
        };
        self.diagnostics.push(diagnostic.help(help));
    }

    /// Warns about a comparison such as `plan >= "pro"` on an enumeration. Texts are ordered
    /// alphabetically, not in the order of the declaration.
    fn warn_order_of_enumeration(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        for (enumeration, other) in [(left, right), (right, left)] {
            let Some(values) = enumeration.ty.values() else { continue };
            let Some(bound) = other.as_const().and_then(|bound| bound.value().as_str()) else { continue };
            let op = match binary.op.node {
                op if std::ptr::eq(enumeration, left) => op,
                Op::Lt => Op::Gt,
                Op::Le => Op::Ge,
                Op::Gt => Op::Lt,
                _ => Op::Le,
            };
            let texts: Vec<&str> = values.values().iter().map(|value| &**value).collect();
            let Some(place) = texts.iter().position(|text| *text == bound) else { return };
            let meant: Vec<&str> = match op {
                Op::Lt => texts[..place].to_vec(),
                Op::Le => texts[..=place].to_vec(),
                Op::Gt => texts[place + 1..].to_vec(),
                _ => texts[place..].to_vec(),
            };
            let list: Vec<String> = meant.into_iter().map(quote_string).collect();
            let written = format!("{} in [{}]", self.loaded.sources.slice(enumeration.span), list.join(", "));
            let span = left.span.to(right.span);
            let message =
                message!("an enumeration has no order, so its values are compared letter by letter");
            let diagnostic = Diagnostic::new(Code::OrderOfEnumeration, span, message);
            self.diagnostics.push(diagnostic.help(message!("write `{written}`")));
            return;
        }
    }
}

/// True for a text such as `bank.com`: labels of letters, digits and hyphens, separated by dots.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    text.contains('.')
        && text.split('.').all(is_label)
        && text.rsplit('.').next().is_some_and(|last| last.starts_with(char::is_alphabetic))
}
