//! The summary line at the end of a run: how many messages each route received.

use super::language::singular_or_plural;
use rulec::{Decision, Message, Rules};
use rulec_base::diag::comma_list;
use rulec_base::message;
use rulec_eval::decision::Chosen;
use rulec_sema::hir::{FLOWS_TABLE, ROUTES_TABLE, TableId};
#[cfg(feature = "http")]
use serde::Deserialize;
#[cfg(feature = "http")]
use serde::de::IgnoredAny;
#[cfg(feature = "http")]
use std::collections::BTreeMap;
use std::collections::HashMap;

/// Maximum number of routes and other targets that the summary lists with their counts. All other
/// counts are added up.
const MAX_SHOWN_COUNTS: usize = 12;

#[derive(Clone, Default)]
pub struct DecisionSummary {
    /// Number of decisions per chosen rule or default.
    decision_counts: HashMap<Chosen, usize>,
    /// Number of messages for which the classifier found an intent flow (a flow chosen by meaning),
    /// by flow name.
    intent_counts: HashMap<String, usize>,
    /// Number of messages for which no rule, no default and no flow was chosen.
    unmatched_count: usize,
    /// Number of decisions whose message violates the `input` that the rules declare.
    breach_count: usize,
    /// Number of decisions that exceeded a limit, such as the maximum number of steps.
    exceeded_count: usize,
    /// Number of decisions in which a host function (of the embedding program) failed.
    failure_count: usize,
}

impl DecisionSummary {
    pub fn count_decision(&mut self, decision: &Decision) {
        match decision.statement() {
            Some(chosen) => *self.decision_counts.entry(chosen).or_default() += 1,
            None => self.unmatched_count += 1,
        }
        self.breach_count += usize::from(!decision.breaches().is_empty());
        self.exceeded_count += usize::from(!decision.exceeded().is_empty());
        self.failure_count += usize::from(!decision.failures().is_empty());
    }

    /// Counts a message that no keyword pattern matches. `name` is the flow that the classifier
    /// found by meaning, if any.
    pub fn count_intent(&mut self, name: Option<&str>) {
        match name {
            Some(name) => *self.intent_counts.entry(name.to_owned()).or_default() += 1,
            None => self.unmatched_count += 1,
        }
    }

    pub fn merge(&mut self, other: DecisionSummary) {
        for (name, count) in other.intent_counts {
            *self.intent_counts.entry(name).or_default() += count;
        }
        for (chosen, count) in other.decision_counts {
            *self.decision_counts.entry(chosen).or_default() += count;
        }
        self.unmatched_count += other.unmatched_count;
        self.breach_count += other.breach_count;
        self.exceeded_count += other.exceeded_count;
        self.failure_count += other.failure_count;
    }

    /// Formats the summary. `errors` is the number of lines that were not messages. Rules are
    /// listed in evaluation order, with the default of each table after its routes.
    pub fn render(&self, rules: &Rules, errors: usize) -> Message {
        let program = rules.program();
        let mut counts: Vec<(Message, usize)> = Vec::new();
        for (id, table) in program.tables.iter().enumerate() {
            let rules = table.evaluation_order.iter().map(|id| Chosen::Rule(*id));
            // A flow has a rule for each of its keyword patterns, all with the flow's name. Their
            // counts are added up.
            let mut count_indexes: HashMap<&str, usize> = HashMap::new();
            for chosen in rules.chain([Chosen::Default(TableId(id as u32))]) {
                let Some(&count) = self.decision_counts.get(&chosen) else { continue };
                let name = chosen.name(program);
                let index = *count_indexes.entry(name).or_insert(counts.len());
                match counts.get_mut(index) {
                    Some((_, sum)) => *sum += count,
                    None => {
                        let is_main = &*table.name == ROUTES_TABLE;
                        let name = if is_main { name.to_owned() } else { format!("{}.{name}", table.name) };
                        counts.push((Message::verbatim(name), count));
                    }
                }
            }
        }
        for flow in &program.flows {
            if let Some(count) = self.intent_counts.get(&*flow.name) {
                counts.push((Message::verbatim(format!("{FLOWS_TABLE}.{}", flow.name)), *count));
            }
        }
        if self.unmatched_count > 0 {
            counts.push((message!("none"), self.unmatched_count));
        }
        render_counts(counts, [self.breach_count, self.exceeded_count, self.failure_count], errors)
    }
}

/// Formats the numbers of decisions by route. `fault_counts` has three numbers: the decisions whose
/// message violates the `input` of the rules, the decisions that exceeded a limit, and the
/// decisions in which a host function failed. `errors` is the number of lines that were not
/// messages.
fn render_counts(mut counts: Vec<(Message, usize)>, fault_counts: [usize; 3], errors: usize) -> Message {
    let [breaches, exceeded, failures] = fault_counts;
    let all = counts.iter().map(|(_, count)| count).sum::<usize>() + errors;
    let mut line = singular_or_plural(all, message!("1 message"), message!("{all} messages"));
    let removed = keep_largest(&mut counts);
    let mut parts: Vec<Message> = counts.iter().map(|(name, count)| message!("{name} {count}")).collect();
    if let Some((others, count)) = removed {
        parts.push(message!("{others} others {count}"));
    }
    if !parts.is_empty() {
        line = message!("{line}: {}", comma_list(parts));
    }
    if breaches > 0 {
        line = message!("{line} · {} with input violations", breaches);
    }
    if exceeded > 0 {
        line = message!("{line} · {} over a limit", exceeded);
    }
    if failures > 0 {
        line = message!("{line} · {} with failed host functions", failures);
    }
    if errors > 0 {
        line = message!(
            "{line} · {}",
            singular_or_plural(errors, message!("1 error"), message!("{errors} errors"))
        );
    }
    line
}

/// Keeps the [`MAX_SHOWN_COUNTS`] largest counts, in their old order. Returns the number and the
/// sum of the removed counts; `None` if none was removed.
fn keep_largest(counts: &mut Vec<(Message, usize)>) -> Option<(usize, usize)> {
    if counts.len() <= MAX_SHOWN_COUNTS {
        return None;
    }
    let mut indexed: Vec<_> = std::mem::take(counts).into_iter().enumerate().collect();
    indexed.sort_by_key(|(_, (_, count))| std::cmp::Reverse(*count));
    let removed = indexed.split_off(MAX_SHOWN_COUNTS);
    indexed.sort_by_key(|(index, _)| *index);
    counts.extend(indexed.into_iter().map(|(_, count)| count));
    Some((removed.len(), removed.iter().map(|(_, (_, count))| count).sum()))
}

/// Summary of the decisions that a service made (option `--server`). The decisions are counted by
/// their JSON answers, because this program does not have the rules of the service.
#[cfg(feature = "http")]
#[derive(Default)]
pub struct AnswerSummary {
    /// The number of decisions for each chosen statement, by its name. The empty name counts the
    /// decisions that chose nothing.
    decision_counts: BTreeMap<String, usize>,
    fault_counts: [usize; 3],
}

/// The fields of an answer that the summary counts.
#[cfg(feature = "http")]
#[derive(Deserialize)]
struct CountedAnswer {
    entry: String,
    /// The name of the chosen route, branch or flow. `None` if nothing was chosen, and in the
    /// answer of a router.
    #[serde(default, alias = "branch", alias = "name")]
    chosen: Option<String>,
    /// The next nodes, if the answer comes from a router. Such an answer has no name of the chosen
    /// case, so it is counted under the name of the router.
    next: Option<IgnoredAny>,
    breaches: Option<IgnoredAny>,
    exceeded: Option<IgnoredAny>,
    failures: Option<IgnoredAny>,
}

#[cfg(feature = "http")]
impl AnswerSummary {
    /// Counts an answer, which is one line of JSON. A line that is no answer, such as an error, is
    /// not counted.
    pub fn count_answer(&mut self, answer: &str) {
        let Ok(answer) = serde_json::from_str::<CountedAnswer>(answer) else { return };
        let CountedAnswer { entry, chosen, next, breaches, exceeded, failures } = answer;
        let name = match chosen.filter(|name| !name.is_empty()) {
            Some(name) if entry == ROUTES_TABLE => name,
            Some(name) => format!("{entry}.{name}"),
            None if next.is_some() => entry,
            None => String::new(),
        };
        *self.decision_counts.entry(name).or_default() += 1;
        for (count, fault) in self.fault_counts.iter_mut().zip([breaches, exceeded, failures]) {
            *count += usize::from(fault.is_some());
        }
    }

    pub fn merge(&mut self, other: AnswerSummary) {
        for (name, count) in other.decision_counts {
            *self.decision_counts.entry(name).or_default() += count;
        }
        for (sum, count) in self.fault_counts.iter_mut().zip(other.fault_counts) {
            *sum += count;
        }
    }

    /// Formats the summary as [`DecisionSummary::render`] does, with the routes in the order of
    /// their names. `errors` is the number of lines that were not messages.
    pub fn render(mut self, errors: usize) -> Message {
        let none = self.decision_counts.remove("").map(|count| (message!("none"), count));
        let counts = self.decision_counts.into_iter().map(|(name, count)| (Message::verbatim(name), count));
        render_counts(counts.chain(none).collect(), self.fault_counts, errors)
    }
}
