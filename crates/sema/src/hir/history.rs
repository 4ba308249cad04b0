//! The checked `history` statement: which earlier messages are kept, and which fields of each.

use super::{
    BindingId, BindingRoot, Cond, CondKind, Expr, ExprKind, Fold, Part, Program, SlotId, Term, VarId,
};
use rulec_base::codec::impl_codec;
use rulec_base::span::Span;
use rulec_lang::history::{AT_FIELD, DECISION_FIELD, POSITION_FIELD};
use rulec_lang::operators::Op;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The checked `history` statement.
#[derive(Clone, Debug)]
pub struct History {
    /// The slot whose value separates histories; `None` if all messages share one history.
    pub key: Option<SlotId>,
    /// The time in milliseconds for which a message is kept; `None` keeps messages of every age.
    pub keep: Option<u64>,
    /// The number of messages that are kept for each key; `None` if the statement does not say.
    pub at_most: Option<u64>,
    pub span: Span,
}

impl_codec!(struct History { key, keep, at_most, span });

impl BindingId {
    /// The binding whose value is the list of earlier messages, oldest first. It is the same in
    /// every table and payload kind.
    pub const HISTORY: BindingId = BindingId(u32::MAX);
}

impl BindingRoot {
    /// Returns the binding of the history.
    pub fn history() -> BindingRoot {
        BindingRoot { id: BindingId::HISTORY, name: "history".into() }
    }

    /// True for the binding of the history.
    pub fn is_history(&self) -> bool {
        self.id == BindingId::HISTORY
    }
}

/// The fields of a message that must be kept, because rules read them from the history. Contains
/// the path of each field. A path of length 0 means that the whole message is kept.
pub type KeptFields = BTreeSet<Vec<Arc<str>>>;

impl Program {
    /// Returns the slot with the list of earlier messages; `None` if no rule reads the history.
    pub fn history_slot(&self) -> Option<SlotId> {
        let is_history = |root: &Option<BindingRoot>| root.as_ref().is_some_and(BindingRoot::is_history);
        let index = self.slots.iter().position(|slot| is_history(&slot.root))?;
        Some(SlotId(index as u32))
    }

    /// Returns the fields of messages that rules read from the history. The time and the decision
    /// of an element are left out, because they are always kept.
    pub fn kept_fields(&self) -> KeptFields {
        let Some(history) = self.history_slot() else { return KeptFields::new() };
        let mut walk =
            HistoryWalk { program: self, history, elements: HashSet::new(), kept: KeptFields::new() };
        for named in &self.lets {
            match &named.body {
                // The uses of the name say which fields are read.
                Term::Expr(body) if walk.is_history(body) => walk.visit_list(body),
                body => walk.visit(body.part()),
            }
        }
        self.rules.iter().for_each(|rule| walk.visit(Part::Cond(&rule.condition)));
        self.values.iter().for_each(|value| walk.visit(Part::Expr(value)));
        let is_always_kept = |path: &Vec<Arc<str>>| {
            matches!(path.first().map(|name| &**name), Some(AT_FIELD | DECISION_FIELD | POSITION_FIELD))
        };
        walk.kept.retain(|path| !is_always_kept(path));
        if walk.kept.contains(&Vec::new()) {
            return KeptFields::from([Vec::new()]);
        }
        walk.kept
    }
}

/// Collects the fields that expressions read from elements of the history.
struct HistoryWalk<'p> {
    program: &'p Program,
    history: SlotId,
    /// The quantifier variables whose elements are messages of the history.
    elements: HashSet<VarId>,
    kept: KeptFields,
}

impl<'p> HistoryWalk<'p> {
    fn visit(&mut self, part: Part<'p>) {
        match part {
            // Whether an element exists does not depend on its fields.
            Part::Cond(Cond { kind: CondKind::Test(test), .. })
                if matches!(test.op, Some(Op::IsMissing | Op::IsPresent)) =>
            {
                self.visit_element(&test.left)
            }
            Part::Expr(expr) => {
                let mut path = Vec::new();
                if let Some(base) = self.element_base(expr, &mut path) {
                    self.kept.insert(path);
                    return self.visit_parts(Part::Expr(base));
                }
                if self.is_history(expr) {
                    // The list is used as a whole, for example by a function or by a name.
                    self.kept.insert(Vec::new());
                }
                self.visit_parts(part);
            }
            _ => self.visit_parts(part),
        }
    }

    fn visit_parts(&mut self, part: Part<'p>) {
        let quantified = match part {
            Part::Cond(Cond { kind: CondKind::Quantifier { list, var, .. }, .. })
            | Part::Expr(Expr { kind: ExprKind::Fold { list, var, .. }, .. }) => {
                if self.is_history(list) {
                    self.elements.insert(var.id);
                }
                Some(&**list)
            }
            _ => None,
        };
        for part in part.parts() {
            match (part, quantified) {
                (Part::Expr(list), Some(quantified)) if std::ptr::eq(list, quantified) => {
                    self.visit_list(list)
                }
                _ => self.visit(part),
            }
        }
    }

    /// Visits a value of which only its existence or its position matters. If it is an element as a
    /// whole, no field of it must be kept.
    fn visit_element(&mut self, value: &'p Expr) {
        let mut path = Vec::new();
        match self.element_base(value, &mut path) {
            Some(base) if path.is_empty() => self.visit_parts(Part::Expr(base)),
            _ => self.visit(Part::Expr(value)),
        }
    }

    /// Visits the list of a quantifier. Its elements are read by the condition of the quantifier.
    fn visit_list(&mut self, list: &'p Expr) {
        match &list.kind {
            ExprKind::Slot(slot) if *slot == self.history => {}
            ExprKind::Window { list: inner, .. } => self.visit_window(list, inner),
            ExprKind::Read(inner, _) => self.visit_list(inner),
            ExprKind::Let(_) if self.is_history(list) => {}
            _ => self.visit(Part::Expr(list)),
        }
    }

    /// Visits a part of a history. An element that bounds the part is only found again by its
    /// position, so nothing else of it must be kept.
    fn visit_window(&mut self, window: &'p Expr, list: &'p Expr) {
        self.visit_list(list);
        if let ExprKind::Window { operand, .. } = &window.kind {
            self.visit_element(operand);
        }
    }

    /// If an expression is an element of the history or reads a field of one, returns the
    /// expression of the element. Adds the names that lead to the field to `path`.
    fn element_base(&self, expr: &'p Expr, path: &mut Vec<Arc<str>>) -> Option<&'p Expr> {
        match &expr.kind {
            ExprKind::Field(base, name) => {
                let element = self.element_base(base, path)?;
                path.push(name.clone());
                Some(element)
            }
            ExprKind::Read(inner, _) => self.element_base(inner, path),
            ExprKind::Var(id) => self.elements.contains(id).then_some(expr),
            ExprKind::Fold { fold: Fold::First | Fold::Last, list, .. } => {
                self.is_history(list).then_some(expr)
            }
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.element_base(body, path).map(|_| expr),
                Term::Cond(_) => None,
            },
            _ => None,
        }
    }

    fn is_history(&self, list: &Expr) -> bool {
        match &list.kind {
            ExprKind::Slot(slot) => *slot == self.history,
            ExprKind::Window { list, .. } | ExprKind::Read(list, _) => self.is_history(list),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_history(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }
}
