//! Warns about an IP address that is compared with a network as a text, as in `ip == "10.0.0.0/8"`.
//! Such a comparison never holds, because an address is no network.

use super::Checker;
use super::units::last_word;
use crate::hir::{Const, Expr};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text::network::parse_network;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_syntax::ast;

/// Last words of the names of values that contain one IP address. A value named `source` or
/// `network` may also contain a network.
const ADDRESS_NAME_WORDS: &[&str] =
    &["ip", "ipv4", "ipv6", "ipaddr", "ipaddress", "addr", "address", "host", "client", "peer"];

impl Checker<'_> {
    /// Warns about a comparison of an address with a constant network, or with a list of networks.
    pub(super) fn warn_network_as_text(
        &mut self,
        binary: &ast::Binary,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) {
        let op = binary.op.node;
        let is_equality = matches!(op, Op::Eq | Op::Ne | Op::In);
        let searches = matches!(op, Op::Contains | Op::StartsWith | Op::EndsWith | Op::Like | Op::Matches);
        // Only `contains` and the comparisons may have their sides exchanged.
        let (value, networks) = match (left.as_const(), right.as_const()) {
            (None, Some(networks)) => (left, (networks, right.span)),
            (Some(networks), None) if matches!(op, Op::Contains | Op::Eq | Op::Ne) => {
                (right, (networks, left.span))
            }
            _ => return,
        };
        let is_address = || {
            let name = self.name_of_value(value);
            name.is_some_and(|name| ADDRESS_NAME_WORDS.contains(&last_word(&name).as_str()))
        };
        if !(is_equality || searches) || !value.ty.kinds.overlaps(KindSet::STRING) || !is_address() {
            return;
        }
        let (constant, constant_span) = networks;
        let Some((network, is_list)) = find_first_network(constant) else { return };
        let slice = |span: Span| self.loaded.sources.slice(span);
        let negates = (op == Op::Ne) != binary.negated;
        let operator = match (negates, is_list) {
            (false, false) => "in_network",
            (false, true) => "in_network any",
            (true, false) => "not in_network",
            (true, true) => "not in_network any",
        };
        let written = format!("{} {operator} {}", slice(value.span), slice(constant_span));
        let message = message!(
            "this compares texts, so it does not test whether an address is in the network {network}"
        );
        let diagnostic = Diagnostic::new(Code::NotInAddress, constant_span, message);
        let help = message!("write `{replacement}`", replacement = written.clone());
        self.diagnostics.push(diagnostic.help(help).likely_fix(span, written));
    }
}

/// Returns the first network in a constant text or list, and true if the constant is a list. `None`
/// if there is no network with a prefix length, such as `/8`. Also `None` if some text is neither a
/// network nor an address.
fn find_first_network(constant: &Const) -> Option<(&str, bool)> {
    let value = constant.value();
    let texts: Vec<&str> = match value.elements() {
        Some(elements) => elements.map(Value::as_str).collect::<Option<_>>()?,
        None => vec![value.as_str()?],
    };
    let is_network = |text: &&str| text.contains('/');
    let network = texts.iter().copied().find(|text| is_network(text))?;
    texts.iter().all(|text| parse_network(text).is_some()).then_some((network, value.elements().is_some()))
}
