//! Tracing conditions: `and` and `or` stop where an operand decides and show the rest as skipped;
//! what is unknown does not decide.

use super::private;
use super::quote::one_line;
use super::{ElementTrace, Elements, Mark, NodeKind, Note, TraceNode, Tracer};
use crate::ops::{Meaning, Op, Quantity};
use crate::sema::hir::{Cond, CondKind, Expr, Guarded, LetId, Operand, Predicate, Term, Var};
use crate::span::Span;
use crate::text;
use crate::value::{Tri, Value};

/// How many elements of a quantifier are shown, and inside another one.
const SHOWN: usize = 20;
const SHOWN_INSIDE: usize = 5;

impl<'a> Tracer<'a, '_> {
    /// A condition's trace and truth.
    pub(super) fn cond(&mut self, cond: &'a Cond) -> (TraceNode, Tri) {
        let mut node = self.node(cond);
        let result = match &cond.kind {
            CondKind::Const(value) => Tri::from(*value),
            CondKind::Not(inner) => {
                let (child, result) = self.cond(inner);
                node.children.push(child);
                result.not()
            }
            CondKind::And(_) => self.parts(cond, Tri::False, &mut node),
            CondKind::Or(_) => self.parts(cond, Tri::True, &mut node),
            CondKind::Test(predicate) => self.test(predicate, cond.span, &mut node),
            CondKind::Quantifier { all, list, var, body } => {
                let value = self.list(list, &mut node.operands, &mut node.because);
                match value.elements() {
                    Some(elements) => {
                        let decides = if *all { Tri::False } else { Tri::True };
                        let (elements, results) = self.elements(var, list, elements, body, Some(decides));
                        node.elements = Some(elements);
                        if *all { Tri::all(results) } else { Tri::any(results) }
                    }
                    None => Tri::Unknown,
                }
            }
            CondKind::Let(id) => self.let_parts(*id, cond, &mut node),
            CondKind::Call(_, body) => {
                let (child, result) = self.cond(body);
                node.children.push(child);
                result
            }
            CondKind::Branch { all, conditions } => self.branch(*all, conditions, &mut node),
        };
        node.result = result.into();
        (node, result)
    }

    /// A node without results.
    fn node(&self, cond: &Cond) -> TraceNode {
        let (kind, name) = match &cond.kind {
            CondKind::Const(_) => (NodeKind::Constant, None),
            CondKind::Not(_) => (NodeKind::Not, None),
            CondKind::And(_) => (NodeKind::And, None),
            CondKind::Or(_) => (NodeKind::Or, None),
            CondKind::Test(_) => (NodeKind::Test, None),
            CondKind::Quantifier { all: true, .. } => (NodeKind::All, None),
            CondKind::Quantifier { all: false, .. } => (NodeKind::Any, None),
            CondKind::Let(id) => (NodeKind::Let, Some(self.program().lets[id.index()].name.to_string())),
            CondKind::Call(name, _) => (NodeKind::Call, Some(name.to_string())),
            CondKind::Branch { all: true, .. } => (NodeKind::AllUsable, None),
            CondKind::Branch { all: false, .. } => (NodeKind::AnyUsable, None),
        };
        TraceNode {
            kind,
            text: self.text(cond.span),
            result: Mark::Skipped,
            name,
            place: self.source.place(cond.span),
            operands: Vec::new(),
            found: None,
            because: Vec::new(),
            note: None,
            children: Vec::new(),
            elements: None,
        }
    }

    /// The author's text on one line.
    pub(super) fn text(&self, span: Span) -> String {
        one_line(&self.source.text(span))
    }

    /// The operands of `and` or `or`, shown in the author's order and evaluated in the evaluator's:
    /// those that call host functions last.
    fn parts(&mut self, cond: &'a Cond, decides: Tri, node: &mut TraceNode) -> Tri {
        let parts = crate::eval::operands(cond);
        let mut nodes: Vec<Option<TraceNode>> = parts.iter().map(|_| None).collect();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_cached_key(|&index| self.eval.host_use().in_cond(parts[index]));
        let mut results = Vec::with_capacity(parts.len());
        for index in order {
            if results.last() == Some(&decides) {
                break;
            }
            let (part, result) = self.cond(parts[index]);
            nodes[index] = Some(part);
            results.push(result);
        }
        for (part, traced) in parts.into_iter().zip(nodes) {
            let child = traced.unwrap_or_else(|| TraceNode { note: Some(Note::Decided), ..self.node(part) });
            node.children.push(child);
        }
        if decides == Tri::False { Tri::all(results) } else { Tri::any(results) }
    }

    /// The conditions of a branch. Those that cannot be used are shown with what they miss.
    fn branch(&mut self, all: bool, conditions: &'a [Guarded], node: &mut TraceNode) -> Tri {
        let decides = if all { Tri::False } else { Tri::True };
        let mut results = Vec::new();
        for condition in conditions {
            let mut child = self.node(&condition.cond);
            if !self.eval.cond(&condition.usable).holds() {
                child.note = Some(Note::LeftOut);
                child.because = self.missing_reads(&condition.usable, &mut child.operands);
            } else if results.last() == Some(&decides) {
                child.note = Some(Note::Decided);
            } else {
                let (traced, result) = self.cond(&condition.cond);
                child = traced;
                results.push(result);
            }
            node.children.push(child);
        }
        match results.is_empty() {
            true => Tri::False,
            false if all => Tri::all(results),
            false => Tri::any(results),
        }
    }

    /// Why a condition of a branch cannot be used: what is not present of the values it reads.
    pub(super) fn missing_reads(
        &mut self,
        usable: &'a Cond,
        operands: &mut Vec<super::Operand>,
    ) -> Vec<String> {
        let CondKind::And(tests) = &usable.kind else { return Vec::new() };
        let reads = tests.iter().filter_map(|test| match &test.kind {
            CondKind::Test(predicate) => Some(&predicate.left),
            _ => None,
        });
        let mut because = Vec::new();
        for read in reads {
            let value = self.operand(read, operands);
            if value.is_missing() {
                because.push(self.not_of(read, value, read.ty.kinds));
            }
        }
        because
    }

    /// A `let` is taken apart the first time it is met under a route.
    fn let_parts(&mut self, id: LetId, cond: &'a Cond, node: &mut TraceNode) -> Tri {
        if self.shown.contains(&id) {
            node.note = Some(Note::ShownAbove);
            return self.eval.cond(cond);
        }
        self.shown.push(id);
        match self.program().let_body(id) {
            Term::Cond(body) => {
                let (child, result) = self.cond(body);
                node.children.push(child);
                result
            }
            Term::Expr(body) => {
                let value = self.operand(body, &mut node.operands);
                let result = crate::meaning::truth(value);
                if result == Tri::Unknown {
                    node.because.push(self.not_of(body, value, crate::ty::KindSet::BOOL));
                }
                result
            }
        }
    }

    fn test(&mut self, predicate: &'a Predicate, span: Span, node: &mut TraceNode) -> Tri {
        let left = self.operand(&predicate.left, &mut node.operands);
        let mut private = self.privacy.is_private(&predicate.left);
        let mut right = Value::Missing;
        match &predicate.right {
            Operand::Nothing => {}
            Operand::Value(expr) => {
                right = self.operand(expr, &mut node.operands);
                private |= self.privacy.is_private(expr);
            }
            Operand::Range { start, end, .. } => {
                self.operand(start, &mut node.operands);
                self.operand(end, &mut node.operands);
            }
        }
        let result = self.eval.predicate(predicate);
        if result == Tri::Unknown {
            self.why_unknown(predicate, left, right, span, &mut node.because);
        } else if !private {
            node.found = found(predicate, left, right);
        }
        result
    }

    /// The list of a quantifier or count.
    pub(super) fn list(
        &mut self,
        list: &'a Expr,
        operands: &mut Vec<super::Operand>,
        because: &mut Vec<String>,
    ) -> Value<'a> {
        let value = self.operand(list, operands);
        if value.elements().is_none() {
            because.push(self.not_of(list, value, crate::ty::KindSet::LIST));
        }
        value
    }

    /// Asks a condition of each element until one decides. Only the first are traced, and the
    /// deciding one.
    pub(super) fn elements(
        &mut self,
        var: &Var,
        list: &'a Expr,
        elements: impl Iterator<Item = Value<'a>>,
        body: &'a Cond,
        decides: Option<Tri>,
    ) -> (Elements, Vec<Tri>) {
        let limit = if self.raw_vars.is_empty() { SHOWN } else { SHOWN_INSIDE };
        let private = self.privacy.is_private(list);
        let ty = self.privacy.ty(list).element();
        self.privacy.vars.push((var.id, private, ty.clone()));
        let mut seen = Elements::default();
        let mut results = Vec::new();
        for (index, element) in elements.enumerate() {
            if decides.is_some() && results.last().copied() == decides {
                seen.skipped += 1;
                continue;
            }
            if index >= limit {
                let result = self.eval.cond_on(var, element, body);
                self.mark_failures(true);
                if decides != Some(result) {
                    seen.more += 1;
                    results.push(result);
                    continue;
                }
            }
            let shown = self.privacy.shown(var.name.to_string(), element, private, &ty);
            self.raw_vars.push((var.id, element));
            self.eval.enter(var, element);
            let (when, result) = self.cond(body);
            self.eval.leave();
            self.raw_vars.pop();
            results.push(result);
            seen.shown.push(ElementTrace { index, element: shown, when });
        }
        self.privacy.vars.pop();
        (seen, results)
    }
}

/// What a text operator found in its left operand: the keyword, where there is a choice of them;
/// what a regular expression matched.
fn found(predicate: &Predicate, left: Value<'_>, right: Value<'_>) -> Option<String> {
    let op = predicate.op?;
    let Meaning::Predicate(holds) = op.info().meaning else { return None };
    let text = left.as_str()?;
    let matched = |pattern: &str| match op {
        Op::Matches => {
            let found = text::regex(pattern, predicate.mode.text.fold).ok()?.find(text)?;
            Some(private::cut_text(found.as_str()))
        }
        _ => Some(pattern.to_owned()),
    };
    match predicate.mode.quantity {
        Some(Quantity::Any | Quantity::None) => {
            let mut keywords = right.elements()?.filter_map(Value::as_str);
            keywords
                .find(|keyword| holds(left, Value::Str(keyword), predicate.mode).holds())
                .and_then(matched)
        }
        Some(Quantity::All) => None,
        None if op == Op::Matches => matched(right.as_str()?),
        None => None,
    }
}
