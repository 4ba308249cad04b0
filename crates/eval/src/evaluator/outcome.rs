//! Evaluates the outcome of a chosen rule: the arguments of a handler, or the workflow nodes that
//! run next.

use super::{Evaluator, Observer};
use rulec_lang::value::Value;
use rulec_sema::hir::{Destination, NEXT_FIELD, Outcome};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

impl<'a, O: Observer<'a>> Evaluator<'a, O> {
    /// Evaluates the arguments of a handler. A missing optional argument is omitted, a missing
    /// required argument becomes null. Also returns the names of the missing required arguments.
    pub fn eval_arguments(&mut self, outcome: &Outcome) -> (Map<String, Json>, Vec<Arc<str>>) {
        let mut evaluated_args = Map::new();
        let mut missing = Vec::new();
        if let Outcome::Handler { args, .. } = outcome {
            for argument in args {
                let value = self.eval_operand(self.program.value(argument.value));
                let value = value.read_one_of(argument.allowed_texts.as_ref());
                if value.is_missing() {
                    if argument.is_optional {
                        continue;
                    }
                    missing.push(argument.name.clone());
                }
                evaluated_args.insert(argument.name.to_string(), value.to_json());
            }
        }
        (evaluated_args, missing)
    }

    /// Returns the ids of the nodes that a router selects. The message's field `next` lists the ids
    /// of all nodes that may run next. If that field is missing, returns the text of a destination,
    /// such as `next[0]`, instead of an id.
    pub fn eval_next_nodes(&mut self, outcome: &Outcome) -> Vec<String> {
        let Outcome::Next { destinations, next, .. } = outcome else { return Vec::new() };
        let next = self.eval_expr(self.program.value(*next)).elements();
        let next: Option<Vec<String>> =
            next.map(|ids| ids.filter_map(|id| id.as_str().map(str::to_owned)).collect());
        let mut nodes = Vec::new();
        for destination in destinations {
            let selected_ids = match destination {
                Destination::All => None,
                Destination::At(index) => match &next {
                    Some(next) => next.get(*index as usize).map(|id| vec![id.clone()]),
                    None => Some(vec![destination.to_string()]),
                },
                Destination::Node(id) => Some(vec![id.to_string()]),
                Destination::Named(value) => match self.eval_expr(self.program.value(*value)) {
                    Value::Str(id) => Some(vec![id.to_owned()]),
                    list => {
                        let ids = list.elements().into_iter().flatten();
                        Some(ids.filter_map(|id| id.as_str().map(str::to_owned)).collect())
                    }
                },
            };
            // If a destination's index is outside `next`, the router selects all nodes of `next`.
            let all_next_ids = || next.clone().unwrap_or_else(|| vec![NEXT_FIELD.to_owned()]);
            nodes.extend(selected_ids.unwrap_or_else(all_next_ids));
        }
        nodes
    }
}
