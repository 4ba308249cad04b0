//! Describes in words what the rules require of the message fields that a proposed remedy changes.

use crate::report::AnalysisReport;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::history::PastView;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::value::Tri;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Operand, Predicate, Term};
use serde_json::Value as Json;
use std::sync::Arc;

/// A predicate or quantifier, with the truth value that it should have.
#[derive(Clone, Copy)]
struct WantedTest<'c> {
    cond: &'c Cond,
    /// The truth value that the test should have. For a test inside a negation, this is the
    /// opposite of the value that the whole condition should have.
    wanted_truth: bool,
    /// The outermost call of a `def` whose body contains the predicate, and the truth value that
    /// the call should have. `None` if no body of a `def` contains the predicate.
    def_call: Option<(&'c Cond, bool)>,
}

impl<'c> WantedTest<'c> {
    /// Returns the condition to quote in an explanation, and the truth value that it should have. A
    /// condition in the body of a `def` is replaced by the call. The reader of the explanation does
    /// not know the parameters in the body.
    fn quoted_condition(self) -> (&'c Cond, bool) {
        self.def_call.unwrap_or((self.cond, self.wanted_truth))
    }

    /// True if the predicate has the wanted truth value for a message. False if the predicate is
    /// unknown.
    fn is_satisfied(self, words: &RequirementWords<'_, '_>, message: &Json) -> bool {
        let past = (words.past)(message);
        words.report.evaluate_with_past(self.cond, message, past) == Tri::from(self.wanted_truth)
    }
}

/// Collects in words what the tests in conditions require of message fields. An explanation shows
/// these requirements next to each field that must change.
pub(super) struct RequirementWords<'w, 'p> {
    pub(super) report: &'w AnalysisReport<'w>,
    pub(super) old_message: &'w Json,
    pub(super) new_message: &'w Json,
    /// Function that returns the earlier messages that the decision about a message can read.
    pub(super) past: &'w dyn Fn(&Json) -> PastView<'p>,
    /// Each requirement in words, with the message fields that its predicate reads.
    pub(super) requirements_with_fields: Vec<(Vec<Vec<Arc<str>>>, Message)>,
}

impl RequirementWords<'_, '_> {
    /// Returns the requirements of predicates that read the field at the path `keys`, a field
    /// inside it, or a record that contains it.
    pub(super) fn requirements_about(&self, keys: &[Arc<str>]) -> Vec<Message> {
        let mut needs: Vec<Message> = Vec::new();
        for (fields, need) in &self.requirements_with_fields {
            let overlaps = |other: &Vec<Arc<str>>| other.starts_with(keys) || keys.starts_with(other);
            if fields.iter().any(overlaps) && !needs.contains(need) {
                needs.push(need.clone());
            }
        }
        needs
    }

    /// Collects requirements from a condition that should have the truth value `want`. Only
    /// predicates that have the required value for the changed message, but not for the original
    /// message, are collected.
    pub(super) fn collect_newly_satisfied(&mut self, cond: &Cond, want: bool) {
        self.for_each_test(cond, want, None, &mut |words, test| {
            if test.is_satisfied(words, words.old_message) || !test.is_satisfied(words, words.new_message) {
                return;
            }
            let need = words.describe_requirement(test);
            words.requirements_with_fields.push((words.fields_read(test.cond), need));
        });
    }

    /// Collects requirements from a condition of an earlier statement: the predicates that have
    /// different values for the original and the changed message. `name` is the name of the rule
    /// with this condition, which the requirement mentions.
    pub(super) fn collect_changed_tests(&mut self, cond: &Cond, name: &str) {
        self.for_each_test(cond, true, None, &mut |words, test| {
            if test.is_satisfied(words, words.old_message) != test.is_satisfied(words, words.new_message) {
                let quoted = words.report.quote_source(test.quoted_condition().0.span);
                let need = message!("another value, because `{name}` is tried earlier: `{quoted}`");
                words.requirements_with_fields.push((words.fields_read(test.cond), need));
            }
        });
    }

    /// Calls `visit` for each predicate and quantifier in a condition. `wanted_truth` is the truth
    /// value that `cond` should have. `def_call` is the outermost call of a `def` whose body `cond`
    /// is in, with the truth value that the call should have.
    fn for_each_test(
        &mut self,
        cond: &Cond,
        wanted_truth: bool,
        def_call: Option<(&Cond, bool)>,
        visit: &mut dyn FnMut(&mut Self, WantedTest<'_>),
    ) {
        match &cond.kind {
            CondKind::Const(_) => {}
            CondKind::Not(inner) | CondKind::NotTrue(inner) => {
                self.for_each_test(inner, !wanted_truth, def_call, visit);
            }
            CondKind::Call(_, _, inner) => {
                self.for_each_test(inner, wanted_truth, def_call.or(Some((cond, wanted_truth))), visit);
            }
            CondKind::And(parts) | CondKind::Or(parts) => {
                parts.iter().for_each(|part| self.for_each_test(part, wanted_truth, def_call, visit));
            }
            CondKind::Branch { conditions, .. } => {
                conditions
                    .iter()
                    .for_each(|part| self.for_each_test(&part.cond, wanted_truth, def_call, visit));
            }
            CondKind::Let(id) => match self.report.program.let_body(*id) {
                // The body of a `let` has no parameters, so its own text is quoted.
                Term::Cond(body) => self.for_each_test(body, wanted_truth, None, visit),
                Term::Expr(_) => visit(self, WantedTest { cond, wanted_truth, def_call }),
            },
            CondKind::Predicate(_) | CondKind::Quantifier { .. } => {
                visit(self, WantedTest { cond, wanted_truth, def_call })
            }
        }
    }

    fn fields_read(&self, cond: &Cond) -> Vec<Vec<Arc<str>>> {
        let program = self.report.program;
        let slots = crate::missing::fields_read(program, cond);
        slots.into_iter().map(|slot| program.slots[slot.index()].path.clone()).collect()
    }

    /// Describes the requirement that a predicate has a truth value: in words for a simple
    /// comparison, otherwise by the source text of the predicate or of the call that it is in.
    fn describe_requirement(&self, test: WantedTest<'_>) -> Message {
        let comparison = match &test.cond.kind {
            CondKind::Predicate(predicate) => self.describe_comparison(predicate, test.wanted_truth),
            _ => None,
        };
        comparison.unwrap_or_else(|| {
            let (cond, want) = test.quoted_condition();
            let quoted = self.report.quote_source(cond.span);
            match want {
                true => message!("`{quoted}`"),
                false => message!("`{quoted}` not to hold"),
            }
        })
    }

    fn describe_comparison(&self, test: &Predicate, want: bool) -> Option<Message> {
        let is_field = matches!(test.left, Expr { kind: ExprKind::Slot(_), .. });
        if !is_field || test.mode != TestMode::default() {
            return None;
        }
        let must_be_true = want != test.is_negated;
        let right = match &test.right {
            Operand::Value(right) => self.report.quote_source(right.span),
            Operand::Nothing => String::new(),
            Operand::Range { .. } => return None,
        };
        Some(match (test.op, must_be_true) {
            (None, true) => message!("to be true"),
            (None, false) => message!("to be false"),
            (Some(Op::Lt), true) | (Some(Op::Ge), false) => message!("less than {right}"),
            (Some(Op::Le), true) | (Some(Op::Gt), false) => message!("at most {right}"),
            (Some(Op::Gt), true) | (Some(Op::Le), false) => message!("more than {right}"),
            (Some(Op::Ge), true) | (Some(Op::Lt), false) => message!("at least {right}"),
            (Some(Op::Eq), true) | (Some(Op::Ne), false) => message!("to be {right}"),
            (Some(Op::Ne), true) | (Some(Op::Eq), false) => message!("to be present and not {right}"),
            (Some(Op::IsMissing), true) | (Some(Op::IsPresent), false) => message!("to be missing"),
            (Some(Op::IsPresent), true) | (Some(Op::IsMissing), false) => message!("to be present"),
            _ => return None,
        })
    }
}
