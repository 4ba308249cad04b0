//! Expands conditions for the analysis of limits on the history: replaces names by their bodies,
//! and collects the comparisons.

use rulec_sema::hir::{Cond, CondKind, Predicate, Program, Term};

/// Maximum number of nodes of a condition in which `let`s and `def`s are replaced by their bodies.
/// A larger condition is not analysed.
const MAX_EXPANDED_NODES: usize = 4_000;

/// Adds the comparisons in a condition to `found`, without those inside quantifiers and values.
pub(super) fn collect_comparisons<'c>(cond: &'c Cond, found: &mut Vec<(&'c Cond, &'c Predicate)>) {
    match &cond.kind {
        CondKind::Predicate(test) => found.push((cond, test)),
        CondKind::Not(inner) | CondKind::NotTrue(inner) => collect_comparisons(inner, found),
        CondKind::And(parts) | CondKind::Or(parts) => {
            parts.iter().for_each(|part| collect_comparisons(part, found));
        }
        _ => {}
    }
}

/// Copies a condition. The bodies of `let`s and `def`s replace their uses, and `and` and `or`
/// replace the branch of a choice. `None` if the copy would have more than [`MAX_EXPANDED_NODES`]
/// nodes.
pub(super) fn expand_condition(program: &Program, condition: &Cond) -> Option<Cond> {
    let mut nodes_left = MAX_EXPANDED_NODES;
    expand_cond(program, condition, &mut nodes_left)
}

fn expand_cond(program: &Program, cond: &Cond, nodes_left: &mut usize) -> Option<Cond> {
    *nodes_left = nodes_left.checked_sub(1)?;
    let span = cond.span;
    let mut expand = |cond: &Cond| expand_cond(program, cond, nodes_left);
    let kind = match &cond.kind {
        CondKind::Not(inner) => CondKind::Not(Box::new(expand(inner)?)),
        CondKind::NotTrue(inner) => CondKind::NotTrue(Box::new(expand(inner)?)),
        CondKind::And(parts) => CondKind::And(parts.iter().map(expand).collect::<Option<_>>()?),
        CondKind::Or(parts) => CondKind::Or(parts.iter().map(expand).collect::<Option<_>>()?),
        CondKind::Call(_, _, body) => return expand(body),
        CondKind::Let(id) => match program.let_body(*id) {
            Term::Cond(body) => return expand(body),
            Term::Expr(_) => cond.kind.clone(),
        },
        CondKind::Branch { requires_all, conditions } => {
            let mut parts = Vec::new();
            let mut usable = Vec::new();
            for part in conditions {
                let (present, cond) = (part.presence_condition.clone(), expand(&part.cond)?);
                usable.push(present.clone());
                let negated = Cond { kind: CondKind::NotTrue(Box::new(present.clone())), span };
                let kind = match requires_all {
                    true => CondKind::Or(vec![negated, cond]),
                    false => CondKind::And(vec![present, cond]),
                };
                parts.push(Cond { kind, span });
            }
            match requires_all {
                true => {
                    parts.push(Cond { kind: CondKind::Or(usable), span });
                    CondKind::And(parts)
                }
                false => CondKind::Or(parts),
            }
        }
        _ => cond.kind.clone(),
    };
    Some(Cond { kind, span })
}
