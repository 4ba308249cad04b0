//! Evaluates quantifiers (such as `any item in items: …`) and folds (such as counts): conditions
//! and values that are computed over the elements of a list.

use super::{EvalStep, Evaluator, Observer};
use rulec_lang::history::Sum;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{Cond, Fold, Part, Var, VarId};

impl<'a, O: Observer<'a>> Evaluator<'a, O> {
    /// Evaluates a quantifier over `list`: calls `run_loop`, which evaluates `body` for the
    /// elements. Returns `None` without this call if `list` is not a list or if the work would
    /// exceed a limit. `quantifier` is the node of the quantifier. If this node reads no element of
    /// an enclosing quantifier, the loop runs as if outside all of them: their variables are out of
    /// scope.
    pub(super) fn run_quantifier<T>(
        &mut self,
        quantifier: Part<'a>,
        list: Value<'a>,
        body: &'a Cond,
        run_loop: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let length = list.list_len()?;
        let is_closed = self.quantifier_facts.is_closed(quantifier);
        let enclosing_quantifiers =
            if is_closed { 0 } else { self.loop_elements.len() - self.hidden_element_count };
        let depth = self.quantifier_facts.quantifier_depth(enclosing_quantifiers as u32, body);
        let saved_repeats = self.arena.enter_quantifier(depth, is_closed, length)?;
        let hidden_element_count = self.hidden_element_count;
        if is_closed {
            self.hidden_element_count = self.loop_elements.len();
        }
        let result = run_loop(self);
        self.hidden_element_count = hidden_element_count;
        self.arena.leave_quantifier(saved_repeats);
        Some(result)
    }

    /// Evaluates a fold, such as a count or a sum: computes its value from the elements of `list`
    /// for which `body` is true.
    pub(super) fn eval_fold(
        &mut self,
        fold: &'a Fold,
        list: Value<'a>,
        var: &'a Var,
        body: &'a Cond,
    ) -> Value<'a> {
        let (mut count, mut sum, mut first, mut last) = (0, Sum::default(), None, None);
        for element in list.elements().into_iter().flatten() {
            if !self.eval_cond_on_element(var, element, body).holds() {
                continue;
            }
            count += 1;
            last = Some(element);
            first = first.or(last);
            if let Fold::Sum(value) = fold {
                self.loop_elements.push((var, element));
                sum.add(self.eval_operand(value));
                self.loop_elements.pop();
            }
        }
        let element = match fold {
            Fold::Count => return Value::Int(count),
            Fold::Sum(_) => return sum.total(),
            Fold::First => first,
            Fold::Last => last,
        };
        element.map_or(Value::Missing, |element| element.read_as(var.element_kinds))
    }

    pub(super) fn eval_cond_on_element(&mut self, var: &'a Var, element: Value<'a>, body: &'a Cond) -> Tri {
        self.loop_elements.push((var, element));
        let result = self.observe_step(EvalStep::Element(var, element), |eval| eval.eval_cond(body));
        self.loop_elements.pop();
        result
    }

    /// Returns the quantifier variable with this id and its current element, or `None` if it is not
    /// in scope. The element is the plain value of the message, not converted to the kinds of value
    /// that the rules accept.
    pub fn variable_with_element(&self, id: VarId) -> Option<(&'a Var, Value<'a>)> {
        self.loop_elements.iter().rev().find(|(var, _)| var.id == id).copied()
    }
}
