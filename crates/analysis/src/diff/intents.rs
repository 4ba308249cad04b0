//! Compares the intent flows of two versions of rules. Their declarations are compared, because a
//! classifier selects an intent flow, and not a condition.

use super::{Change, ChangeKind, EntryDiff, Verdict, worst_verdict};
use hashbrown::HashMap;
use rulec_sema::hir::{Program, Trigger};

/// The declaration of an intent flow, which a classifier selects: its name, its trigger (how the
/// flow is selected), and the id of the flow in decisions.
type IntentFlow = (String, Trigger, String);

/// Compares the declarations of the intent flows. The decisions of intent flows cannot be compared,
/// because a classifier selects the flow by similarity.
pub(super) fn compare_intents(old: &Program, new: &Program, entry: &mut EntryDiff) {
    let intent_flows = |program: &Program| -> Vec<IntentFlow> {
        let flows = program.flows.iter().filter(|flow| flow.trigger != Trigger::Keyword);
        flows.map(|flow| (flow.name.to_string(), flow.trigger.clone(), flow.id.to_string())).collect()
    };
    let (old_flows, new_flows) = (intent_flows(old), intent_flows(new));
    let by_name = |flows: &'_ [IntentFlow]| -> HashMap<String, usize> {
        flows.iter().enumerate().rev().map(|(index, flow)| (flow.0.clone(), index)).collect()
    };
    let (old_names, new_names) = (by_name(&old_flows), by_name(&new_flows));
    let mut push_change = |kind, route: &str| {
        let (route, verdict) = (route.to_owned(), Verdict::Undecided);
        entry.changes.push(Change { kind, route, was: None, examples: Vec::new(), verdict });
    };
    for flow in &new_flows {
        match old_names.get(&*flow.0) {
            None => push_change(ChangeKind::Added, &flow.0),
            Some(other) if old_flows[*other] != *flow => push_change(ChangeKind::Changed, &flow.0),
            _ => {}
        }
    }
    old_flows.iter().filter(|flow| !new_names.contains_key(&*flow.0)).for_each(|flow| {
        push_change(ChangeKind::Removed, &flow.0);
    });
    if old_flows != new_flows {
        entry.verdict = worst_verdict([entry.verdict, Verdict::Undecided].into_iter());
    }
}
