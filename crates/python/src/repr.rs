//! Helpers for the texts that Python's `repr` shows.

use rulec::TableKind;

/// Returns a number with a noun, which takes an `s` unless the number is 1.
pub fn count_with_noun(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns a text with the number of routes in compiled rules, such as `2 routes, 3 choice cases`.
/// Choice cases, flow patterns, router cases and payload rules are listed only if there are any.
pub fn rule_counts_text(rules: &rulec::Rules) -> String {
    let counted = |kind: TableKind, noun: &str| {
        let tables = rules.program().tables.iter().filter(|table| table.kind == kind);
        let number: usize =
            tables.map(|table| table.evaluation_order.len() + usize::from(table.default.is_some())).sum();
        (number > 0 || kind == TableKind::Routes).then(|| count_with_noun(number, noun))
    };
    let parts = [
        counted(TableKind::Routes, "route"),
        counted(TableKind::Choice, "choice case"),
        counted(TableKind::Flows, "flow pattern"),
        counted(TableKind::Router, "router case"),
        counted(TableKind::Requirements, "payload rule"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
