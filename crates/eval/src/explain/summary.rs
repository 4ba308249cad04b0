//! Summarizes an explanation. The first sentence names the chosen statement and the conditions that
//! led to it. Near misses follow, such as routes that were not chosen although an operand of their
//! condition was true. The rendered tree shows the details.

use super::past::{describe_deciding_message, describe_searched_messages};
use super::show::{escape_and_truncate, format_operand};
use super::{Explanation, format_handler_call};
use crate::trace::{Mark, NodeKind, Note, RouteTrace, TableTrace, TraceNode};
use rulec_base::diag::{Language, Message, comma_list};
use rulec_base::message;
use rulec_base::text::to_one_line;
use rulec_sema::hir::{ROUTES_TABLE, TableKind};
use std::borrow::Cow;

/// Maximum number of items in each list of a summary, such as near misses or conditions of a route.
/// The summary stays short; the tree shows all items.
const MAX_LISTED_ITEMS: usize = 3;

/// Returns the summary of an explanation: a sentence about the chosen statement, a line for each
/// near miss (route that was nearly chosen), and warnings.
pub(super) fn summarize(explanation: &Explanation, language: Language) -> String {
    let mut lines = vec![write_choice_sentence(explanation, language)];
    for name in &explanation.missing_args {
        lines.push(message!("! the argument {} is missing, so its value is null", to_one_line(name)));
    }
    if let Some(intents) = &explanation.intents {
        let ranked = intents.ranked.iter().take(MAX_LISTED_ITEMS);
        let ranked: Vec<String> =
            ranked.map(|intent| format!("{} {:.4}", to_one_line(&intent.name), intent.score)).collect();
        let ranked =
            if ranked.is_empty() { message!("none is similar to the text") } else { comma_list(ranked) };
        lines.push(message!("intent flows, by score (threshold {}): {ranked}", intents.threshold));
    }
    let mut missed_routes = Vec::new();
    collect_missed_routes(&explanation.trace, &mut missed_routes);
    let has_near_miss = missed_routes.iter().any(|miss| miss.is_near_miss);
    // If no route was chosen, tried routes are listed even if no part of their condition was true.
    let no_route_chosen =
        explanation.trace.routes.iter().all(|route| !route.chosen) && explanation.intents.is_none();
    missed_routes.retain(|miss| if has_near_miss { miss.is_near_miss } else { no_route_chosen });
    missed_routes.sort_by_key(|miss| miss.failed_conditions.len());
    if !missed_routes.is_empty() {
        lines.push(if has_near_miss { message!("near misses:") } else { message!("tried:") });
    }
    for miss in missed_routes.iter().take(MAX_LISTED_ITEMS) {
        let failed = miss
            .failed_conditions
            .iter()
            .take(MAX_LISTED_ITEMS)
            .map(|node| failed_condition_message(node, language));
        let failed = failed.reduce(|one, other| message!("{one}; {other}")).unwrap_or_default();
        lines.push(message!("  {}: {failed}", to_one_line(&miss.route.route)));
    }
    if missed_routes.len() > MAX_LISTED_ITEMS {
        lines.push(message!("  … and {} more", missed_routes.len() - MAX_LISTED_ITEMS));
    }
    for failure in &explanation.host_failures {
        let why = escape_and_truncate(&failure.message, 200);
        lines.push(message!("! {} failed: {why}", to_one_line(&failure.function)));
    }
    lines.iter().flat_map(|line| [line.localized(language), Cow::Borrowed("\n")]).collect()
}

fn write_choice_sentence(explanation: &Explanation, language: Language) -> Message {
    let target = format_handler_call(explanation, language);
    let target = target.map_or_else(String::new, |target| format!(" → {target}"));
    let intent = explanation.intents.iter().flat_map(|intents| &intents.ranked).find(|intent| intent.chosen);
    let Some(name) = explanation.chosen.as_deref().or(intent.map(|intent| &*intent.name)) else {
        let what = match explanation.trace.kind {
            TableKind::Choice => message!("no branch matches"),
            TableKind::Flows => message!("no pattern matches"),
            _ if explanation.entry != ROUTES_TABLE => message!("none of its conditions holds"),
            _ => message!("no route holds and there is no default"),
        };
        return message!("nothing is chosen: {what}");
    };
    let (name, target) = (to_one_line(name), to_one_line(&target).into_owned());
    let way: Vec<&str> = explanation.path.iter().map(String::as_str).collect();
    let start = match way.as_slice() {
        [] => message!("`{name}` is chosen{target}"),
        way => {
            let way = to_one_line(&way.join("`, `")).into_owned();
            message!("`{name}` is chosen through `{way}`{target}")
        }
    };
    let deciding = deciding_conditions(&explanation.trace);
    let count = deciding.len();
    let shown = deciding.iter().take(MAX_LISTED_ITEMS);
    let conditions = shown.map(|node| true_condition_message(node, language));
    let skipped = describe_skipped_conditions(&explanation.trace, language);
    let sentence = match conditions.reduce(|one, other| message!("{one} and {other}")) {
        _ if intent.is_some() => message!("{start}, because it is the most similar to the text"),
        None if explanation.trace.routes.is_empty() => start,
        None => message!("{start}, because nothing before it holds"),
        Some(conditions) if count > MAX_LISTED_ITEMS => {
            message!("{start}, because {conditions}, and {} more", count - MAX_LISTED_ITEMS)
        }
        Some(conditions) => message!("{start}, because {conditions}"),
    };
    match skipped {
        Some(skipped) => message!("{sentence}; {skipped}"),
        None => sentence,
    }
}

/// Returns the conditions that were true and that led to the chosen statement, in the order of the
/// search.
pub(super) fn deciding_conditions(trace: &TableTrace) -> Vec<&TraceNode> {
    let mut conditions = Vec::new();
    for route in chosen_routes(trace) {
        collect_conditions_with_result(&route.when, Mark::True, &mut conditions);
    }
    conditions
}

/// Describes the conditions of the chosen branch that were ignored because a value that they read
/// is missing. If the values were present, another branch might have been chosen. `None` if no
/// condition was ignored.
fn describe_skipped_conditions(trace: &TableTrace, language: Language) -> Option<Message> {
    let chosen = chosen_routes(trace);
    let nodes = chosen.iter().flat_map(|route| &route.when.children);
    let skipped: Vec<&TraceNode> = nodes.filter(|node| node.note == Some(Note::LeftOut)).collect();
    let shown = skipped.iter().take(MAX_LISTED_ITEMS).map(|node| failed_condition_message(node, language));
    shown.reduce(|one, other| message!("{one}; {other}"))
}

/// Returns the chosen route, after the routes whose `goto` led to it, in the order of the search.
fn chosen_routes(table: &TableTrace) -> Vec<&RouteTrace> {
    let chosen = table.routes.iter().find(|route| route.chosen);
    let inner = chosen.and_then(|route| route.table.as_deref());
    let default =
        table.default.as_ref().filter(|_| chosen.is_none()).and_then(|default| default.table.as_deref());
    chosen.into_iter().chain(inner.or(default).into_iter().flat_map(chosen_routes)).collect()
}

/// A route that was not chosen, with the conditions that failed.
struct MissedRoute<'a> {
    route: &'a RouteTrace,
    failed_conditions: Vec<&'a TraceNode>,
    /// Whether the route is a near miss: an operand of its condition was true, the condition was
    /// unknown, or all operands were ignored because values are missing.
    is_near_miss: bool,
}

/// A route that was tried and not chosen, but nearly: an operand of its condition was true, or the
/// condition was unknown. Also a branch of a choice all of whose conditions were ignored, because
/// values that they read are missing.
#[derive(Clone, Debug)]
pub struct NearMiss<'a> {
    /// The recorded evaluation of the route that was not chosen.
    pub route: &'a RouteTrace,
    /// The operands of the route's condition that were false, unknown or ignored, and so prevented
    /// the choice of the route.
    pub failed_conditions: Vec<&'a TraceNode>,
}

impl NearMiss<'_> {
    /// Returns a phrase for each condition that failed, with the values that it read.
    pub fn describe_failed_conditions(&self, language: Language) -> Vec<Message> {
        self.failed_conditions.iter().map(|node| failed_condition_message(node, language)).collect()
    }
}

/// Returns the near misses of a decision (routes that were nearly chosen), those with the fewest
/// failed conditions first.
pub(super) fn near_misses(explanation: &Explanation) -> Vec<NearMiss<'_>> {
    let mut missed = Vec::new();
    collect_missed_routes(&explanation.trace, &mut missed);
    missed.retain(|miss| miss.is_near_miss);
    missed.sort_by_key(|miss| miss.failed_conditions.len());
    let near = missed.into_iter();
    near.map(|miss| NearMiss { route: miss.route, failed_conditions: miss.failed_conditions }).collect()
}

/// Adds to `missed_routes` the routes that were tried but whose condition was not true: routes of
/// `table`, and of the tables to which its `goto`s led.
fn collect_missed_routes<'a>(table: &'a TableTrace, missed_routes: &mut Vec<MissedRoute<'a>>) {
    for route in &table.routes {
        if let Some(inner) = &route.table {
            collect_missed_routes(inner, missed_routes);
        }
        if route.result == Mark::True {
            continue;
        }
        let (mut true_conditions, mut failed_conditions) = (Vec::new(), Vec::new());
        collect_conditions_with_result(&route.when, Mark::True, &mut true_conditions);
        collect_conditions_with_result(&route.when, Mark::False, &mut failed_conditions);
        // A branch whose conditions all read a missing value has no failed condition. It was not
        // chosen because all its conditions were skipped.
        let has_only_skipped = failed_conditions.is_empty();
        let skipped = route.when.children.iter().filter(|node| node.note == Some(Note::LeftOut));
        failed_conditions.extend(skipped.filter(|_| has_only_skipped));
        if !failed_conditions.is_empty() {
            let is_near_miss =
                !true_conditions.is_empty() || has_only_skipped || route.result == Mark::Unknown;
            missed_routes.push(MissedRoute { route, failed_conditions, is_near_miss });
        }
    }
    if let Some(inner) = table.default.as_ref().and_then(|default| default.table.as_deref()) {
        collect_missed_routes(inner, missed_routes);
    }
}

/// Splits the condition of `node` into its operands, and adds the operands with the result
/// `expected_result` (true or false) to `conditions`. An unknown operand counts as false. Of an
/// `or` that is true, only the first true operand is added; an `or` that is false is added as a
/// whole. A use of a `let` is never split.
fn collect_conditions_with_result<'a>(
    node: &'a TraceNode,
    expected_result: Mark,
    conditions: &mut Vec<&'a TraceNode>,
) {
    let has_expected_result = match expected_result {
        Mark::True => node.result == Mark::True,
        _ => matches!(node.result, Mark::False | Mark::Unknown),
    };
    let is_skipped = matches!(node.note, Some(Note::Decided | Note::LeftOut));
    match node.kind {
        _ if is_skipped => {}
        NodeKind::And | NodeKind::AllUsable | NodeKind::AnyUsable => {
            node.children
                .iter()
                .for_each(|child| collect_conditions_with_result(child, expected_result, conditions));
        }
        NodeKind::Or if expected_result == Mark::True => {
            if let Some(child) = node.children.iter().find(|child| child.result == Mark::True) {
                collect_conditions_with_result(child, expected_result, conditions);
            }
        }
        _ if has_expected_result && node.kind != NodeKind::Constant => conditions.push(node),
        _ => {}
    }
}

/// Returns the source text of a trace node's condition. For a condition after `unless`, adds this
/// word, which the source text does not contain.
fn condition_text(node: &TraceNode) -> String {
    let text = escape_and_truncate(&node.text, 72);
    if node.kind == NodeKind::Unless { format!("unless {text}") } else { text }
}

fn true_condition_message(node: &TraceNode, language: Language) -> Message {
    let test = condition_text(node);
    let found = found_text(node).filter(|found| !test.contains(*found));
    let found = found.map(|found| message!("found \"{}\"", escape_and_truncate(found, 72)));
    match (format_operands(node, language), found) {
        (values, None) if values.is_empty() => message!("`{test}`"),
        (values, None) => message!("`{test}` ({values})"),
        (values, Some(found)) if values.is_empty() => message!("`{test}` ({found})"),
        (values, Some(found)) => message!("`{test}` ({values}, {found})"),
    }
}

/// Returns the text that a test found in a value, such as the matching keyword. The test is the
/// trace node itself, or its only child if the child's result is true. `None` if the test found no
/// text.
fn found_text(node: &TraceNode) -> Option<&str> {
    node.found.as_deref().or_else(|| match node.children.as_slice() {
        [child] if child.result == Mark::True => found_text(child),
        _ => None,
    })
}

fn failed_condition_message(node: &TraceNode, language: Language) -> Message {
    if node.note == Some(Note::LeftOut) {
        return match first_unknown_reason(node) {
            Some(because) => {
                let because = escape_and_truncate(&because.localized(language), 200);
                message!("`{}` is skipped: {because}", condition_text(node))
            }
            None => message!("`{}` is skipped", condition_text(node)),
        };
    }
    if node.result == Mark::Unknown {
        return match first_unknown_reason(node) {
            Some(because) => {
                message!(
                    "`{}` is unknown: {}",
                    condition_text(node),
                    escape_and_truncate(&because.localized(language), 200)
                )
            }
            None => message!("`{}` is unknown", condition_text(node)),
        };
    }
    match format_operands(node, language) {
        values if values.is_empty() => message!("`{}` does not hold", condition_text(node)),
        values => message!("`{}` does not hold ({values})", condition_text(node)),
    }
}

/// Returns the first reason why the condition of a trace node, or an operand of it, is unknown;
/// `None` if neither is unknown.
fn first_unknown_reason(node: &TraceNode) -> Option<&Message> {
    // A test that is false has at most a hint, which is no reason.
    let reason = node.because.first().filter(|_| node.result != Mark::False);
    reason.or_else(|| node.children.iter().find_map(first_unknown_reason))
}

/// Formats the values that a test read, such as `ctx.n = 3`, joined by commas. For a condition on
/// the history, names the message that decided, or the number of messages that were searched.
fn format_operands(node: &TraceNode, language: Language) -> String {
    let deciding = describe_deciding_message(node, language);
    if let Some(searched) = describe_searched_messages(node, language) {
        return deciding.unwrap_or(searched);
    }
    let operands = node.operands.iter().chain(match node.children.as_slice() {
        [child] => child.operands.iter(),
        _ => [].iter(),
    });
    let values = operands.take(MAX_LISTED_ITEMS).map(|operand| format_operand(operand, language));
    values.chain(deciding).collect::<Vec<_>>().join(", ")
}
