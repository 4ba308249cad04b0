//! The values computed once a statement is chosen: a handler's arguments, and the nodes that a
//! router sends to. The machine that made the choice computes them, so slots, memoized results and
//! host results are reused.

use super::{Message, Vm};
use rulec_lang::value::Value;
use rulec_sema::hir::{Argument, Destination, NEXT, Outcome, ValueId};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The values of an outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Computed {
    /// The arguments of a handler, without missing optional ones.
    pub args: Map<String, Json>,
    /// The names of the required arguments that were missing; their value is null.
    pub missing_args: Vec<Arc<str>>,
    /// The ids of the nodes that a router sends to.
    pub next: Vec<String>,
}

impl Computed {
    /// Computes the values of an outcome with `value`; `None` if the outcome has none.
    #[inline]
    pub fn of<'a>(outcome: &Outcome, value: impl FnMut(ValueId) -> Value<'a>) -> Option<Computed> {
        outcome.has_values().then(|| Computed::all(outcome, value))
    }

    #[inline(never)]
    fn all<'a>(outcome: &Outcome, mut value: impl FnMut(ValueId) -> Value<'a>) -> Computed {
        let mut computed = Computed::default();
        match outcome {
            Outcome::Handler { args, .. } => {
                args.iter().for_each(|argument| computed.give(argument, value(argument.value)));
            }
            Outcome::Next { destinations, next, .. } => {
                let next = ids(value(*next));
                for destination in destinations {
                    let nodes = nodes(destination, next.as_deref(), &mut value);
                    computed.next.extend(nodes);
                }
            }
            _ => {}
        }
        computed
    }

    fn give(&mut self, argument: &Argument, value: Value<'_>) {
        if value.is_missing() {
            if argument.optional {
                return;
            }
            self.missing_args.push(argument.name.clone());
        }
        self.args.insert(argument.name.to_string(), value.to_json());
    }
}

/// Returns the texts of a list; `None` for any other value.
fn ids(list: Value<'_>) -> Option<Vec<String>> {
    Some(list.elements()?.filter_map(|id| id.as_str().map(str::to_owned)).collect())
}

/// Returns the nodes of a destination. If the message does not list the next nodes, the destination
/// is returned as written.
fn nodes<'a>(
    destination: &Destination,
    next: Option<&[String]>,
    value: &mut impl FnMut(ValueId) -> Value<'a>,
) -> Vec<String> {
    match (destination, next) {
        (Destination::Node(id), _) => vec![id.to_string()],
        (Destination::Named(named), _) => match value(*named) {
            Value::Str(id) => vec![id.to_owned()],
            list => ids(list).unwrap_or_default(),
        },
        (Destination::At(_), None) => vec![destination.to_string()],
        (Destination::All, None) => vec![NEXT.to_owned()],
        (Destination::All, Some(next)) => next.to_vec(),
        // If the index is out of range, the router sends to all nodes.
        (Destination::At(index), Some(next)) => {
            next.get(*index as usize).map_or_else(|| next.to_vec(), |id| vec![id.clone()])
        }
    }
}

impl<'a, M: Message<'a>> Vm<'a, M> {
    pub fn value(&mut self, id: ValueId) -> Value<'a> {
        let operand = self.chunk.values.get(id.index()).copied();
        operand.map_or(Value::Missing, |operand| self.operand(operand))
    }

    /// Computes the values of an outcome; `None` if the outcome has none.
    #[inline]
    pub fn outcome(&mut self, outcome: &Outcome) -> Option<Computed> {
        Computed::of(outcome, |id| self.value(id))
    }
}
