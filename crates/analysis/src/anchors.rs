//! Explains regular expressions that match no text because an anchor is at the wrong end, as in
//! `$refund^`.

use regex_syntax::hir::{Hir, HirKind, Look};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::text;
use rulec_lang::operators::Op;
use rulec_lang::value::Value;
use rulec_sema::hir::{Operand, Predicate};

/// Returns the help text for a predicate with `matches` whose regular expression has characters
/// after `$` or before `^`. `None` for other predicates.
pub(super) fn misplaced_anchor(test: &Predicate) -> Option<Message> {
    let Operand::Value(right) = &test.right else { return None };
    let constant = right.as_const().filter(|_| test.op == Some(Op::Matches) && !test.is_negated)?.value();
    let elements = constant.elements().into_iter().flatten().filter_map(Value::as_str);
    let mut patterns = constant.as_str().into_iter().chain(elements);
    patterns.find_map(|pattern| {
        let hir = text::parse_cached(pattern, false).ok()?;
        let exchanged = || pattern.strip_prefix('$')?.strip_suffix('^');
        if let Some(inner) = exchanged().filter(|inner| !inner.contains(['\\', '"'])) {
            let meant = format!("r\"^{inner}$\"");
            return Some(message!("`^` is the start of the text, and `$` its end: write `{meant}`"));
        }
        let parts = concatenated_parts(&hir);
        let consumes = |parts: &[&Hir]| {
            parts.iter().any(|part| part.properties().minimum_len().is_some_and(|least| least > 0))
        };
        parts.iter().enumerate().find_map(|(index, part)| match part.kind() {
            HirKind::Look(Look::End) if consumes(&parts[index + 1..]) => Some(message!(
                "`$` is the end of the text, so nothing follows it; for the sign itself write `\\$`"
            )),
            HirKind::Look(Look::Start) if consumes(&parts[..index]) => Some(message!(
                "`^` is the start of the text, so nothing comes before it; for the sign itself write `\\^`"
            )),
            _ => None,
        })
    })
}

/// Flattens a regular expression into the parts that it concatenates, also inside capture groups.
/// Any other expression is returned as one part.
fn concatenated_parts(hir: &Hir) -> Vec<&Hir> {
    match hir.kind() {
        HirKind::Concat(parts) => parts.iter().flat_map(concatenated_parts).collect(),
        HirKind::Capture(capture) => concatenated_parts(&capture.sub),
        _ => vec![hir],
    }
}
