//! Compares answers. An answer is the outcome of a statement: the handler, branch or flow, with the
//! arguments that are computed for each message. The searches for ties and for differences between
//! versions of rules need this comparison.

use hashbrown::HashMap;
use rulec_eval::decision::Chosen;
use rulec_sema::hir::{Argument, Destination, Expr, Outcome, Program, ValueId};
use rulec_sema::normal::{CondId, ExprId, NormalBuilder};

/// The answer of a statement: its handler, branch or flow, with the arguments computed for a
/// message.
#[derive(Clone, Debug)]
pub(super) struct StatementAnswer {
    /// The id of the whole answer, including the expressions that compute its arguments. Equal ids
    /// mean equal answers for every message.
    pub answer_id: u32,
    /// The id of the constant part of the answer: the handler, branch or flow without the values
    /// computed for each message.
    pub fixed_part_id: u32,
    /// The computed values of the answer, such as the arguments of a handler call.
    pub args: Vec<ComputedValue>,
}

/// A value in an answer that is computed for each message, such as an argument of a handler.
#[derive(Clone, Debug)]
pub(super) struct ComputedValue {
    /// The name of the argument. For a value without a name, its index as text.
    pub arg_name: String,
    /// Whether a missing value is left out of the answer. If false, a missing value is written as
    /// null.
    pub is_optional: bool,
    pub value: ExprId,
}

/// Assigns ids to distinct answers (outcomes of statements). All answers that are compared with
/// each other share one instance.
#[derive(Default)]
pub(super) struct AnswerIds {
    id_by_key: HashMap<String, u32>,
}

impl AnswerIds {
    /// Returns the id of the answer that the text `key` identifies. The first call for a text
    /// assigns the next free id.
    pub fn id_of(&mut self, key: String) -> u32 {
        let next = self.id_by_key.len() as u32;
        *self.id_by_key.entry(key).or_insert(next)
    }

    /// Builds the answer of the statement `chosen`. `outcome` is the statement's outcome: a
    /// handler, a branch, a flow or a `goto`. `values` are all expressions of computed values in
    /// the program, indexed by value id. The simplified forms of the values that the answer
    /// contains are added to `builder`.
    pub fn build_answer(
        &mut self,
        builder: &mut NormalBuilder<'_>,
        (program, values): (&Program, &[Expr]),
        outcome: &Outcome,
        chosen: Chosen,
    ) -> StatementAnswer {
        let (fixed_part, args) = split_answer(builder, (program, values), outcome, chosen);
        let id = self.id_of(format!("{fixed_part} {args:?}"));
        StatementAnswer { answer_id: id, fixed_part_id: self.id_of(fixed_part), args }
    }
}

/// Splits the answer of the statement `chosen`, which has this `outcome`. Returns a text that
/// identifies the constant part, and the values that are computed for each message. `values` are
/// the program's expressions for such values, indexed by value id.
fn split_answer(
    builder: &mut NormalBuilder<'_>,
    (program, values): (&Program, &[Expr]),
    outcome: &Outcome,
    chosen: Chosen,
) -> (String, Vec<ComputedValue>) {
    let mut computed_values: Vec<ComputedValue> = Vec::new();
    let mut add_value = |id: ValueId, name: Option<&Argument>| {
        computed_values.push(ComputedValue {
            arg_name: name
                .map_or_else(|| computed_values.len().to_string(), |argument| argument.name.to_string()),
            is_optional: name.is_some_and(|argument| argument.is_optional),
            value: builder.build_value(&values[id.index()]),
        });
    };
    let fixed_part = match outcome {
        Outcome::Handler { name, args, metadata } => {
            let mut args: Vec<_> = args.iter().collect();
            args.sort_by_key(|arg| &arg.name);
            args.iter().for_each(|arg| add_value(arg.value, Some(arg)));
            let metadata = serde_json::to_string(&**metadata).unwrap_or_default();
            format!("handler {name} {metadata} {:?}", program.required_permissions(name))
        }
        Outcome::Branch { .. } => {
            let table = &program.tables[chosen.table(program).index()];
            format!("branch {} {}", chosen.name(program), table.is_shown_to_user)
        }
        Outcome::Flow { flow, .. } => format!("flow {}", program.flows[flow.index()].id),
        Outcome::Next { destinations, next, leads_back: loopback } => {
            add_value(*next, None);
            let destination_texts: Vec<String> = destinations.iter().map(|item| item.to_string()).collect();
            for destination in destinations {
                if let Destination::Named(id) = destination {
                    add_value(*id, None);
                }
            }
            format!("next {destination_texts:?} {loopback}")
        }
        Outcome::Goto(table) => format!("goto {}", table.0),
    };
    (fixed_part, computed_values)
}

/// Builds a condition that is true if two answers (outcomes with their arguments) differ.
pub(super) fn build_answers_differ(
    builder: &mut NormalBuilder<'_>,
    one: &StatementAnswer,
    other: &StatementAnswer,
) -> CondId {
    if one.fixed_part_id != other.fixed_part_id {
        return builder.constant_cond(true);
    }
    let alternatives = build_arguments_differ(builder, &one.args, &other.args);
    builder.join_conds(alternatives, false)
}

/// Builds one condition for each argument of two answers. Each condition is true if its argument
/// differs between the answers. So the arguments differ exactly if at least one condition is true.
pub(super) fn build_arguments_differ(
    builder: &mut NormalBuilder<'_>,
    left_args: &[ComputedValue],
    right_args: &[ComputedValue],
) -> Vec<CondId> {
    let counterpart = |arg: &ComputedValue, candidates: &[ComputedValue]| {
        candidates.iter().find(|counterpart| counterpart.arg_name == arg.arg_name).cloned()
    };
    let mut alternatives = Vec::new();
    for arg in left_args {
        let Some(counterpart) = counterpart(arg, right_args) else {
            alternatives.push(build_contains_argument(builder, arg));
            continue;
        };
        let mut same_value = builder.build_same_value(arg.value, counterpart.value);
        if arg.is_optional != counterpart.is_optional {
            // One decision omits a missing value, the other decision contains null.
            let present = builder.build_is_present(arg.value);
            same_value = builder.join_conds([same_value, present], true);
        }
        alternatives.push(builder.build_complement(same_value));
    }
    let right_only = right_args.iter().filter(|arg| counterpart(arg, left_args).is_none());
    alternatives.extend(right_only.map(|arg| build_contains_argument(builder, arg)));
    alternatives
}

/// Builds the condition that an answer includes the argument `arg`. An optional argument is left
/// out if its value is missing; any other argument is always included.
fn build_contains_argument(builder: &mut NormalBuilder<'_>, arg: &ComputedValue) -> CondId {
    if arg.is_optional { builder.build_is_present(arg.value) } else { builder.constant_cond(true) }
}
