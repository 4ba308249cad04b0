//! Records a trace for explanations. An observer of the reference evaluator adds the result of each
//! step to the enclosing step when the step ends.

use super::private::{PrivacyMask, recorded_position};
use super::quote::SpanLookup;
use super::{DefaultTrace, Elements, Mark, Operand, RouteTrace, TableTrace, TraceNode};
use crate::evaluator::{EvalStep, Evaluator, Observer, StepResult};
use rulec_base::broken_invariant;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{
    Cond, CondKind, Expr, ExprKind, LetId, MATCH_MODES, Outcome, Program, RuleId, SlotId, TableId, Var, VarId,
};

/// Maximum number of a quantifier's first elements that the trace shows, so that the trace of a
/// long list stays short.
const MAX_SHOWN_ELEMENTS: usize = 20;
/// Maximum number of first elements that the trace shows for a quantifier inside another
/// quantifier. Smaller than [`MAX_SHOWN_ELEMENTS`], because these elements are shown for each outer
/// element.
const MAX_SHOWN_NESTED_ELEMENTS: usize = 5;

/// An evaluator whose steps are recorded by a [`TraceRecorder`].
pub(super) type TracedEvaluator<'a, 's> = Evaluator<'a, TraceRecorder<'a, 's>>;

pub(super) struct TraceRecorder<'a, 's> {
    pub(super) source: &'s dyn SpanLookup,
    pub(super) privacy: PrivacyMask<'a>,
    /// The innermost step of the evaluation that has not ended, with its results so far. When every
    /// step has ended, this frame contains the finished trace.
    pub(super) frame: StepFrame<'a>,
    /// The frames of the steps that enclose the innermost step that has not ended, outermost first.
    outer_frames: Vec<StepFrame<'a>>,
    /// Number of unrecorded steps that have not ended, such as the steps inside an operand, plus
    /// the number of running calls of `run_unrecorded`. While it is above 0, no step is recorded.
    unrecorded_depth: usize,
    /// The slots (message fields) that were read so far, in the order of the first read.
    pub(super) read_slots: Vec<SlotId>,
    /// The `let`s whose inner conditions the trace already shows under the current route, so that
    /// it does not show them twice.
    shown_lets: Vec<LetId>,
    /// The recorded messages that decide the value of the fold (such as a count) or quantifier that
    /// is evaluated now. `None` if they are not collected.
    pub(super) fold_messages: Option<FoldMessages>,
    /// For each host function call (a call of the embedding program) that failed so far, whether
    /// the error text may contain a private value.
    pub(super) failure_is_private: Vec<bool>,
}

/// A step of the evaluation that has started but not ended, with the results of inner steps that
/// have ended.
#[derive(Default)]
pub(super) struct StepFrame<'a> {
    /// The step that has not ended; `None` for the outermost frame, which collects the finished
    /// trace.
    step: Option<EvalStep<'a>>,
    /// Whether the step is the first use of a `let` in the trace of the current route. The trace
    /// then shows the conditions inside the `let`.
    pub(super) shows_let: bool,
    /// The conditions that were evaluated inside the step, with their trace nodes.
    pub(super) conds: Vec<(&'a Cond, TraceNode)>,
    /// The operands that were evaluated in this step, formatted for the trace.
    pub(super) operands: Vec<Operand>,
    /// The values of the operands that were evaluated in this step, unformatted, in evaluation
    /// order.
    pub(super) operand_values: Vec<Value<'a>>,
    pub(super) elements: Elements,
    routes: Vec<RouteTrace>,
    /// `Some` if the step searches a table whose default was used. If the default is a `goto`, the
    /// inner value is the trace of the search in the target table.
    used_default: Option<Option<Box<TableTrace>>>,
    /// Trace of the table search that this step (a rule with a `goto`, or a default) started;
    /// `None` if it started no search. In the outermost frame, the finished trace of the decision.
    pub(super) table_trace: Option<TableTrace>,
}

/// The recorded messages that decide the value of a fold (such as a count) or quantifier, collected
/// while the fold or quantifier is evaluated.
pub(super) struct FoldMessages {
    /// The variable of the fold or quantifier. Its condition may contain other folds, and only
    /// elements of this variable are collected.
    pub(super) var: VarId,
    /// The result that the condition must have for a message to be collected: true for a fold (such
    /// as a count) and for `any`, false for `all`.
    pub(super) required_truth: Tri,
    /// The positions of the messages in the history, in the order of the evaluation.
    pub(super) message_positions: Vec<usize>,
}

/// What the recorder must know about a quantifier or fold (such as a count): the list, the
/// condition on an element, and the result of this condition that ends the loop early (`None` for a
/// fold).
type QuantifierParts<'a> = (&'a Expr, &'a Cond, Option<Tri>);

impl<'a> StepFrame<'a> {
    /// Returns the list, condition and deciding result of the quantifier or fold (such as a count)
    /// that this step evaluates. `None` if the step evaluates neither, or if `element` is not the
    /// variable of this quantifier or fold.
    fn quantifier_parts(&self, element: &'a Var) -> Option<QuantifierParts<'a>> {
        let (list, own_var, body, deciding_result) = match self.step? {
            EvalStep::Cond(Cond { kind: CondKind::Quantifier { is_all: all, list, var, body }, .. }) => {
                (&**list, var, &**body, Some(if *all { Tri::False } else { Tri::True }))
            }
            EvalStep::Operand(Expr { kind: ExprKind::Fold { list, var, body, .. }, .. }) => {
                (&**list, var, &**body, None)
            }
            _ => return None,
        };
        std::ptr::eq(own_var, element).then_some((list, body, deciding_result))
    }

    fn is_operand(&self) -> bool {
        matches!(self.step, Some(EvalStep::Operand(_)))
    }

    pub(super) fn is_quantifier(&self) -> bool {
        matches!(self.step, Some(EvalStep::Cond(Cond { kind: CondKind::Quantifier { .. }, .. })))
    }
}

impl<'a, 's> TraceRecorder<'a, 's> {
    pub(super) fn new(source: &'s dyn SpanLookup, privacy: PrivacyMask<'a>) -> Self {
        TraceRecorder {
            source,
            privacy,
            frame: StepFrame::default(),
            outer_frames: Vec::new(),
            unrecorded_depth: 0,
            read_slots: Vec::new(),
            shown_lets: Vec::new(),
            fold_messages: None,
            failure_is_private: Vec::new(),
        }
    }

    /// True if neither the step nor any step inside it is recorded, such as the trial of a list
    /// element after the first shown elements.
    fn is_unrecorded_step(&self, step: EvalStep<'a>) -> bool {
        match step {
            EvalStep::Element(var, _) => {
                let is_element = |frame: &StepFrame<'_>| matches!(frame.step, Some(EvalStep::Element(..)));
                let is_nested = is_element(&self.frame) || self.outer_frames.iter().any(is_element);
                let limit = if is_nested { MAX_SHOWN_NESTED_ELEMENTS } else { MAX_SHOWN_ELEMENTS };
                self.frame.quantifier_parts(var).is_none() || self.frame.elements.evaluated_count() >= limit
            }
            EvalStep::Guard(_) => true,
            // Steps inside an operand are not recorded, except the elements that a fold evaluates.
            EvalStep::Operand(Expr { kind: ExprKind::Fold { .. }, .. }) => self.frame.is_operand(),
            EvalStep::Operand(_) => true,
            _ => self.frame.is_operand(),
        }
    }

    /// Returns the calls of `def`s whose evaluation has not ended, outermost first.
    pub(super) fn def_calls_in_progress(&self) -> Vec<&'a Cond> {
        let open = self.outer_frames.iter().chain([&self.frame]).filter_map(|frame| frame.step);
        open.filter_map(|step| match step {
            EvalStep::Cond(cond) if matches!(cond.kind, CondKind::Call(..)) => Some(cond),
            _ => None,
        })
        .collect()
    }

    fn push_frame(&mut self, step: EvalStep<'a>) {
        let mut frame = StepFrame { step: Some(step), ..StepFrame::default() };
        match step {
            EvalStep::Rule(_) => self.shown_lets.clear(),
            EvalStep::Cond(Cond { kind: CondKind::Let(id), .. }) if !self.shown_lets.contains(id) => {
                self.shown_lets.push(*id);
                frame.shows_let = true;
            }
            EvalStep::Element(var, _) => {
                if let Some((list, ..)) = self.frame.quantifier_parts(var) {
                    self.privacy.enter_quantifier(var.id, list);
                }
            }
            _ => {}
        }
        self.outer_frames.push(std::mem::replace(&mut self.frame, frame));
    }

    fn pop_frame(&mut self) -> StepFrame<'a> {
        std::mem::replace(&mut self.frame, self.outer_frames.pop().unwrap_or_default())
    }
}

impl<'a> Observer<'a> for TraceRecorder<'a, '_> {
    fn step_started(eval: &mut Evaluator<'a, Self>, step: EvalStep<'a>) {
        let recorder = &mut eval.observer;
        if recorder.unrecorded_depth > 0 || recorder.is_unrecorded_step(step) {
            recorder.unrecorded_depth += 1;
        } else {
            recorder.push_frame(step);
        }
    }

    fn step_ended(eval: &mut Evaluator<'a, Self>, step: EvalStep<'a>, result: StepResult<'a>) {
        if let (EvalStep::Element(var, element), StepResult::Truth(truth)) = (step, result)
            && let Some(found) = eval.observer.fold_messages.as_mut()
            && (found.var, found.required_truth) == (var.id, truth)
        {
            found.message_positions.extend(recorded_position(element));
        }
        let frame = match eval.observer.unrecorded_depth {
            0 => Some(eval.observer.pop_frame()),
            1 => None,
            _ => {
                eval.observer.unrecorded_depth -= 1;
                return;
            }
        };
        eval.observer.unrecorded_depth = 0;
        match (step, result) {
            (EvalStep::Operand(expr), StepResult::Value(value)) => {
                eval.record_operand(expr, value, frame.map(|frame| frame.elements));
            }
            (EvalStep::Guard(condition), StepResult::Truth(truth)) => {
                eval.record_failure_privacy(true);
                if !truth.holds() {
                    let node = eval.build_left_out_node(condition);
                    eval.observer.frame.conds.push((&condition.cond, node));
                }
            }
            (EvalStep::Element(var, element), StepResult::Truth(truth)) => {
                eval.record_element(var, element, truth, frame);
            }
            (step, result) => {
                if let Some(frame) = frame {
                    eval.record_result(step, result, frame);
                }
            }
        }
    }

    fn reevaluates_lets(&self) -> bool {
        self.unrecorded_depth == 0 && self.frame.shows_let
    }

    fn reevaluates_invariants(&self) -> bool {
        // The fold whose messages are collected is evaluated again, but not its parts.
        self.unrecorded_depth == 0 || (self.unrecorded_depth == 1 && self.fold_messages.is_some())
    }
}

impl<'a> TracedEvaluator<'a, '_> {
    /// Runs `evaluate` without recording the steps of the evaluation.
    pub(super) fn run_unrecorded<T>(&mut self, evaluate: impl FnOnce(&mut Self) -> T) -> T {
        self.observer.unrecorded_depth += 1;
        let result = evaluate(self);
        self.observer.unrecorded_depth -= 1;
        result
    }

    /// Evaluates a value that is only shown in the trace, without recording the steps.
    pub(super) fn eval_unrecorded(&mut self, expr: &'a Expr) -> Value<'a> {
        self.run_unrecorded(|eval| eval.eval_expr(expr))
    }

    /// Records, for the calls of host functions that failed since the last call of this method,
    /// whether their error texts may contain a private value.
    fn record_failure_privacy(&mut self, private: bool) {
        let recorder = &mut self.observer;
        recorder
            .failure_is_private
            .resize(self.host_calls.failures().len(), private && !recorder.privacy.show_private);
    }

    /// Adds the result of a step that ended to the step that encloses it. `frame` has the results
    /// of the steps inside the ended step.
    fn record_result(&mut self, step: EvalStep<'a>, result: StepResult<'a>, frame: StepFrame<'a>) {
        match (step, result) {
            (EvalStep::Cond(cond), StepResult::Truth(truth)) => {
                let node = self.build_cond_node(cond, truth, frame);
                self.observer.frame.conds.push((cond, node));
            }
            (EvalStep::Rule(id), StepResult::Chosen(chosen)) => {
                let route = self.build_route_trace(id, chosen.is_some(), frame);
                self.observer.frame.routes.extend(route);
            }
            (EvalStep::Default(_), _) => {
                self.observer.frame.used_default = Some(frame.table_trace.map(Box::new))
            }
            (EvalStep::Table(id), StepResult::Chosen(chosen)) => {
                let table = self.build_table_trace(id, chosen.is_some(), frame);
                self.observer.frame.table_trace = Some(table);
            }
            (EvalStep::SearchedBefore(id), _) => {
                let table = &self.program().tables[id.index()];
                let (table, kind) = (table.name.to_string(), table.kind);
                let table = TableTrace { table, kind, searched_before: true, ..TableTrace::default() };
                self.observer.frame.table_trace = Some(table);
            }
            _ => {}
        }
    }

    fn build_table_trace(&self, id: TableId, chose: bool, frame: StepFrame<'a>) -> TableTrace {
        let program = self.program();
        let table = &program.tables[id.index()];
        let enabled =
            table.evaluation_order.iter().filter(|id| !program.rules[id.index()].is_disabled).count();
        let disabled = program.rules.iter().filter(|route| route.is_disabled && route.table == id);
        TableTrace {
            table: table.name.to_string(),
            kind: table.kind,
            chose,
            searched_before: false,
            not_tried: enabled - frame.routes.len(),
            routes: frame.routes,
            disabled: disabled.map(|route| route.name.to_string()).collect(),
            default: table.default.as_ref().map(|outcome| DefaultTrace {
                result: if frame.used_default.is_some() { Mark::True } else { Mark::Skipped },
                to: format_target(program, outcome),
                table: frame.used_default.flatten(),
            }),
        }
    }

    fn build_route_trace(&self, id: RuleId, chosen: bool, mut frame: StepFrame<'a>) -> Option<RouteTrace> {
        let program = self.program();
        let route = &program.rules[id.index()];
        let Some((_, mut when)) = frame.conds.pop() else {
            broken_invariant!("the condition of a route is recorded in the route's frame");
            return None;
        };
        if let Outcome::Flow { pattern, .. } = &route.outcome {
            replace_text_by_pattern(program, &route.condition, pattern, &mut when);
        }
        Some(RouteTrace {
            route: route.name.to_string(),
            result: when.result,
            chosen,
            priority: route.priority,
            docs: route.docs.to_string(),
            place: self.observer.source.place(route.span),
            to: format_target(program, &route.outcome),
            when,
            table: frame.table_trace.map(Box::new),
        })
    }

    /// Records an evaluated element of a quantifier, for which the quantifier's condition was
    /// `truth`. The trace shows only the first elements and the one that decided the result; others
    /// are counted. `frame` has the recorded steps of the condition; `None` if they were not
    /// recorded.
    fn record_element(&mut self, var: &'a Var, element: Value<'a>, truth: Tri, frame: Option<StepFrame<'a>>) {
        let Some((_, body, deciding_result)) = self.observer.frame.quantifier_parts(var) else { return };
        if frame.is_none() {
            self.record_failure_privacy(true);
            if deciding_result != Some(truth) {
                self.observer.frame.elements.more += 1;
                return;
            }
        }
        let frame = frame.or_else(|| {
            self.observer.push_frame(EvalStep::Element(var, element));
            self.eval_cond(body);
            Some(self.observer.pop_frame())
        });
        let (private, ty) = self.observer.privacy.leave_quantifier();
        let Some((_, when)) = frame.and_then(|mut frame| frame.conds.pop()) else {
            return broken_invariant!("the condition on an element is recorded in the element's frame");
        };
        let operand = self.observer.privacy.to_operand(var.name.to_string(), element, private, &ty);
        self.observer.frame.elements.push_element(operand, when);
    }

    /// Records the value of an operand. Also records the fields and elements that the trace shows
    /// for the operand. `elements` has the list elements that a `count` evaluated; `None` for any
    /// other operand.
    fn record_operand(&mut self, expr: &'a Expr, value: Value<'a>, elements: Option<Elements>) {
        if self.observer.frame.is_operand() {
            return;
        }
        if self.host_calls.failures().len() > self.observer.failure_is_private.len() {
            let private = self.observer.privacy.is_private(expr);
            self.record_failure_privacy(private);
        }
        let mut listed = std::mem::take(&mut self.observer.frame.operands);
        self.add_shown_operands(expr, value, elements, &mut listed);
        self.observer.frame.operands = listed;
        self.observer.frame.operand_values.push(value);
    }
}

/// Shows a flow's condition, which the compiler generated, as the author of the rules wrote it:
/// replaces the text of the trace node by the author's pattern. Operands that are no message fields
/// are removed, because the compiler added them.
fn replace_text_by_pattern(program: &Program, condition: &Cond, pattern: &str, when: &mut TraceNode) {
    let CondKind::Predicate(test) = &condition.kind else { return };
    if let Some((word, _)) = MATCH_MODES.iter().find(|(_, op)| Some(*op) == test.op) {
        when.text = format!("{word} {pattern:?}");
    }
    when.operands.retain(|operand| program.slots.iter().any(|slot| slot.name() == operand.text));
}

/// Formats an outcome, such as `file_handler` or `goto billing`.
fn format_target(program: &Program, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Handler { name, .. } => name.to_string(),
        Outcome::Goto(id) => format!("goto {}", program.tables[id.index()].name),
        Outcome::Branch { .. } => String::new(),
        Outcome::Flow { flow, pattern } => format!("{} ({pattern:?})", program.flows[flow.index()].id),
        Outcome::Next { destinations, leads_back: loopback, .. } => {
            let targets: Vec<String> = destinations.iter().map(ToString::to_string).collect();
            format!("{}{}", targets.join(", "), if *loopback { " loopback" } else { "" })
        }
    }
}
