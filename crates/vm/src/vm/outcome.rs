//! Computes the values that follow a choice: the arguments of the chosen handler, or the workflow
//! nodes to which a router sends the message. The VM or compiled code that made the choice also
//! computes these values. So slots, memoized results and host results are reused.

use super::{SlotValueSource, Vm};
use rulec_eval::decision::DecisionDetails;
use rulec_lang::value::Value;
use rulec_sema::hir::{Argument, Destination, NEXT_FIELD, Outcome, ValueId};

/// Returns the elements of a list that are texts, as node ids; `None` for any value other than a
/// list.
fn to_node_ids(list: Value<'_>) -> Option<Vec<String>> {
    Some(list.elements()?.filter_map(|id| id.as_str().map(str::to_owned)).collect())
}

/// Returns the ids of the workflow nodes to which a router's destination refers. `next` has the ids
/// of the possible next nodes, if the message lists them. Without this list, a destination such as
/// `next[0]` is returned as this text. `value` computes a destination that is an expression.
fn next_nodes<'a>(
    destination: &Destination,
    next: Option<&[String]>,
    mut value: impl FnMut(ValueId) -> Value<'a>,
) -> Vec<String> {
    match (destination, next) {
        (Destination::Node(id), _) => vec![id.to_string()],
        (Destination::Named(named), _) => match value(*named) {
            Value::Str(id) => vec![id.to_owned()],
            list => to_node_ids(list).unwrap_or_default(),
        },
        (Destination::At(_), None) => vec![destination.to_string()],
        (Destination::All, None) => vec![NEXT_FIELD.to_owned()],
        (Destination::All, Some(next)) => next.to_vec(),
        // If the index is out of range, the router sends to all nodes.
        (Destination::At(index), Some(next)) => {
            next.get(*index as usize).map_or_else(|| next.to_vec(), |id| vec![id.clone()])
        }
    }
}

impl<'a, M: SlotValueSource<'a>> Vm<'a, M> {
    pub fn eval_value(&mut self, id: ValueId) -> Value<'a> {
        let operand = self.chunk.outcome_operands.get(id.index()).copied();
        operand.map_or(Value::Missing, |operand| self.operand_value(operand))
    }

    /// Computes a handler's arguments, or the nodes to which a router sends the message. `None` if
    /// the outcome has no values to compute.
    #[inline]
    pub fn eval_outcome(&mut self, outcome: &Outcome) -> Option<Box<DecisionDetails>> {
        outcome.has_values().then(|| self.eval_outcome_values(outcome))
    }

    #[inline(never)]
    fn eval_outcome_values(&mut self, outcome: &Outcome) -> Box<DecisionDetails> {
        let mut details = Box::<DecisionDetails>::default();
        match outcome {
            Outcome::Handler { args, .. } => {
                args.iter().for_each(|argument| {
                    add_argument(&mut details, argument, self.eval_value(argument.value))
                });
            }
            Outcome::Next { destinations, next, .. } => {
                let next = to_node_ids(self.eval_value(*next));
                for destination in destinations {
                    let nodes = next_nodes(destination, next.as_deref(), |id| self.eval_value(id));
                    details.next_nodes.extend(nodes);
                }
            }
            _ => {}
        }
        details
    }

    /// Adds to `details` the failures and the duration of host function calls, and the exceeded
    /// limits. If `details` is `None` and there is something to add, creates the details.
    #[inline]
    pub fn add_call_details(&self, details: &mut Option<Box<DecisionDetails>>) {
        DecisionDetails::add_host_calls(details, &self.host_calls, self.arena);
    }
}

fn add_argument(details: &mut DecisionDetails, argument: &Argument, value: Value<'_>) {
    let value = value.read_one_of(argument.allowed_texts.as_ref());
    if value.is_missing() {
        if argument.is_optional {
            return;
        }
        details.missing_args.push(argument.name.clone());
    }
    details.args.insert(argument.name.to_string(), value.to_json());
}
