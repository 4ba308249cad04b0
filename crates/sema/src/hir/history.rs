//! The checked `history` statement: which messages a history keeps, and which of their fields.

use super::{
    BindingId, BindingRoot, Cond, CondKind, Const, Expr, ExprKind, Fold, Operand, Part, Predicate, Program,
    SlotId, Term, VarId,
};
use rulec_base::codec::impl_codec;
use rulec_base::span::Span;
use rulec_lang::history::{AT_FIELD, CHOSEN_FIELD, DECISION_FIELD, HASH_FIELD, POSITION_FIELD, WindowBound};
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, RecordType, Ty};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The checked `history` statement, which says what a history keeps: the messages with an equal
/// key, up to a maximum age and a maximum number.
#[derive(Clone, Debug)]
pub struct History {
    /// The slot of the field that is the key of a history. `None` if all messages share one
    /// history.
    pub key: Option<SlotId>,
    /// The time in milliseconds after which a message is removed; `None` keeps messages of any age.
    pub max_age_ms: Option<u64>,
    /// The maximum number of messages kept for each key; `None` if the statement has no `at most`.
    pub max_messages: Option<u64>,
    /// The paths of `@private` texts that are kept as hashes, because rules only compare these
    /// texts.
    pub hashed_paths: Vec<Vec<Arc<str>>>,
    pub span: Span,
}

impl_codec!(struct History { key, max_age_ms, max_messages, hashed_paths, span });

impl History {
    /// The maximum number of messages kept for each key if the statement has no `at most`.
    pub const DEFAULT_MAX_MESSAGES: u64 = 10_000;
}

impl BindingId {
    /// The binding (named value) of the list of recorded messages, oldest first. Its id is the same
    /// in every table and payload kind.
    pub const HISTORY: BindingId = BindingId(u32::MAX);
}

impl BindingRoot {
    /// Returns the binding through which slots read `history`, the list of recorded messages.
    pub fn history() -> BindingRoot {
        BindingRoot { id: BindingId::HISTORY, name: "history".into() }
    }

    /// True for the binding of `history`, the list of recorded messages.
    pub fn is_history(&self) -> bool {
        self.id == BindingId::HISTORY
    }
}

/// The paths of the message fields that a history must keep, because rules read them. The empty
/// path means the whole message.
pub type KeptFields = BTreeSet<Vec<Arc<str>>>;

/// The age of the oldest message that rules may read from a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HistoryReach {
    /// The rules read no recorded message, or only the last one, whatever its age.
    #[default]
    Nothing,
    /// The rules read messages that are at most this old, in milliseconds.
    Within(u64),
    /// The rules may read every kept message, whatever its age.
    Everything,
}

/// The fields and ages of the messages that the rules of a program read from the history.
#[derive(Debug, Default)]
pub struct HistoryReads {
    /// The paths of the fields that are read. Leaves out the time and the decision, which are
    /// always kept.
    pub kept: KeptFields,
    /// The age of the oldest message that any rule may read.
    pub reach: HistoryReach,
    /// Whether a rule reads the name of the statement that an earlier decision chose, as in
    /// `p.decision.chosen`.
    pub reads_chosen: bool,
    /// The texts that rules only compare with other texts: their paths, and the memory addresses of
    /// the expressions that read them.
    compared_texts: BTreeMap<Vec<Arc<str>>, Vec<usize>>,
}

impl Program {
    /// Returns the slot with the list of recorded messages; `None` if no rule reads the history.
    pub fn history_slot(&self) -> Option<SlotId> {
        let is_history = |root: &Option<BindingRoot>| root.as_ref().is_some_and(BindingRoot::is_history);
        let index = self.slots.iter().position(|slot| is_history(&slot.root))?;
        Some(SlotId(index as u32))
    }

    /// Returns which fields and ages of recorded messages the rules read.
    pub fn history_reads(&self) -> HistoryReads {
        let Some(history) = self.history_slot() else { return HistoryReads::default() };
        let mut walk = HistoryWalk {
            program: self,
            history,
            element_reach: HashMap::new(),
            reads: HistoryReads::default(),
        };
        for named in &self.lets {
            match &named.body {
                // A name for a part of the history reads no field itself. The uses of the name show
                // which fields are read.
                Term::Expr(body) if walk.is_history(body) => walk.visit_list(body),
                body => walk.visit(body.as_part()),
            }
        }
        self.rules.iter().for_each(|rule| walk.visit(Part::Cond(&rule.condition)));
        self.values.iter().for_each(|value| walk.visit(Part::Expr(value)));
        let is_always_kept = |path: &Vec<Arc<str>>| {
            matches!(path.first().map(|name| &**name), Some(AT_FIELD | DECISION_FIELD | POSITION_FIELD))
        };
        let HistoryReads { mut kept, reach, compared_texts: mut compared, .. } = walk.reads;
        compared.retain(|path, _| !kept.iter().any(|read| path.starts_with(read)));
        kept.extend(compared.keys().cloned());
        let chosen = [DECISION_FIELD, CHOSEN_FIELD];
        let reads_chosen = kept.iter().any(|path| path.iter().zip(chosen).all(|(name, own)| **name == *own));
        kept.retain(|path| !is_always_kept(path));
        if kept.contains(&Vec::new()) {
            kept = KeptFields::from([Vec::new()]);
        }
        HistoryReads { kept, reach, reads_chosen, compared_texts: compared }
    }

    /// Rewrites comparisons of private texts of recorded messages to comparisons of their hashes.
    /// Applies to texts that are `@private` in `input`, and that rules only compare with other
    /// texts. The history then keeps only the hashes.
    pub fn hash_private_history(&mut self, input: &RecordType) {
        let Some(slot) = self.history_slot() else { return };
        let mut compared = self.history_reads().compared_texts;
        compared.retain(|path, _| is_private_text(input, path));
        let Some(history) = self.history.as_mut().filter(|_| !compared.is_empty()) else { return };
        history.hashed_paths = compared.keys().cloned().collect();
        let span = history.span;
        let operands: HashSet<usize> = compared.into_values().flatten().collect();
        let mut hash_texts = |test: &mut Predicate| {
            let is_hashed = |operand: &Expr| operands.contains(&(std::ptr::from_ref(operand) as usize));
            let right = match &mut test.right {
                Operand::Value(right) => Some(right),
                _ => None,
            };
            if !is_hashed(&test.left) && !right.as_deref().is_some_and(is_hashed) {
                return;
            }
            for operand in [Some(&mut test.left), right].into_iter().flatten() {
                if is_hashed(operand) {
                    operand.read_as_hash();
                } else {
                    operand.hash_by_history(slot, span);
                }
            }
        };
        self.lets.iter_mut().for_each(|named| match &mut named.body {
            Term::Cond(body) => body.for_each_predicate_mut(&mut hash_texts),
            Term::Expr(body) => body.for_each_predicate_mut(&mut hash_texts),
        });
        self.rules.iter_mut().for_each(|rule| rule.condition.for_each_predicate_mut(&mut hash_texts));
        self.values.iter_mut().for_each(|value| value.for_each_predicate_mut(&mut hash_texts));
    }
}

/// True if the field at this path is declared as a text, and the field or a record that contains it
/// is `@private`.
fn is_private_text(input: &RecordType, path: &[Arc<str>]) -> bool {
    let (mut record, mut is_private, mut is_text) = (Some(input), false, false);
    for name in path {
        let Some(field) = record.and_then(|record| record.get(name)) else { return false };
        is_private |= field.is_private;
        is_text = field.ty.kinds == KindSet::STRING;
        record = field.ty.fields();
    }
    is_private && is_text
}

impl Expr {
    /// Changes an expression that reads a text to an expression that reads the hash of the text.
    fn read_as_hash(&mut self) {
        let place = Expr { kind: ExprKind::Const(Const::Json(Arc::new(Json::Null))), ..self.clone() };
        let mut text = std::mem::replace(self, place);
        if let ExprKind::Read(inner, _) = text.kind {
            text = *inner;
        }
        text.ty = Ty::ANY;
        let hash = ExprKind::Field(Box::new(text), HASH_FIELD.into());
        let hash = Expr { kind: hash, ty: Ty::ANY, ..self.clone() };
        self.kind = ExprKind::Read(Box::new(hash), KindSet::INT);
        self.ty = Ty::INT;
    }

    /// Changes an expression for a text to an expression for the hash of the text. The hash uses
    /// the secret key of the history that `slot` reads. `declared` is the span of the `history`
    /// statement.
    fn hash_by_history(&mut self, slot: SlotId, declared: Span) {
        let list =
            Expr { kind: ExprKind::Slot(slot), ty: Ty::list(Ty::ANY), may_be_missing: false, span: declared };
        let (optional, span) = (self.may_be_missing, self.span);
        let text = Expr { kind: ExprKind::Const(Const::Json(Arc::new(Json::Null))), ..list.clone() };
        let operand = Box::new(std::mem::replace(self, text));
        let kind = ExprKind::Window { list: Box::new(list), bound: WindowBound::Hashed, operand };
        *self = Expr { kind, ty: Ty::INT, may_be_missing: optional, span };
    }
}

/// Collects the fields that expressions read from the elements of the history.
struct HistoryWalk<'p> {
    program: &'p Program,
    history: SlotId,
    /// The quantifier variables that range over the history, each with the age of the oldest
    /// message in its range.
    element_reach: HashMap<VarId, HistoryReach>,
    reads: HistoryReads,
}

impl<'p> HistoryWalk<'p> {
    fn visit(&mut self, part: Part<'p>) {
        match part {
            // A test whether an element exists reads no field of it.
            Part::Cond(Cond { kind: CondKind::Predicate(test), .. })
                if matches!(test.op, Some(Op::IsMissing | Op::IsPresent)) =>
            {
                self.visit_element(&test.left)
            }
            Part::Cond(Cond { kind: CondKind::Predicate(test), .. }) if is_plain_comparison(test) => {
                let operands: SmallVec<[&Expr; 2]> = test.operands().collect();
                let are_texts = operands.iter().all(|operand| operand.ty.kinds == KindSet::STRING);
                for operand in operands {
                    self.visit_compared_operand(operand, are_texts);
                }
            }
            // Computing the hash needs only the key of the hashes, and reads no message.
            Part::Expr(Expr {
                kind: ExprKind::Window { bound: WindowBound::Hashed, operand, .. }, ..
            }) => self.visit(Part::Expr(operand)),
            Part::Expr(expr) => {
                let mut path = Vec::new();
                if let Some(base) = self.history_element_read_by(expr, &mut path) {
                    self.reads.kept.insert(path);
                    return self.visit_parts(Part::Expr(base));
                }
                if self.is_history(expr) {
                    // The whole list is used, for example as an argument of a function, so all
                    // fields are read.
                    self.reads.kept.insert(Vec::new());
                    self.reads.reach = self.reads.reach.max(self.reach_of_history_list(expr));
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
                    let reach = self.reach_of_history_list(list);
                    self.element_reach.insert(var.id, reach);
                    if !selects_last_without_condition(part) {
                        self.reads.reach = self.reads.reach.max(reach);
                    }
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

    /// Visits an expression whose value is only tested for existence, or only used as a position in
    /// the history. If the value is a whole recorded message, this reads no field of the message.
    fn visit_element(&mut self, value: &'p Expr) {
        let mut path = Vec::new();
        match self.history_element_read_by(value, &mut path) {
            Some(base) if path.is_empty() => self.visit_parts(Part::Expr(base)),
            _ => self.visit(Part::Expr(value)),
        }
    }

    /// Visits the list of a quantifier. If the list is the history, this reads no field: only the
    /// condition of the quantifier, which the caller visits, reads fields.
    fn visit_list(&mut self, list: &'p Expr) {
        match &list.kind {
            ExprKind::Slot(slot) if *slot == self.history => {}
            ExprKind::Window { list: inner, bound, .. } if *bound != WindowBound::Hashed => {
                self.visit_window(list, inner)
            }
            ExprKind::Read(inner, _) => self.visit_list(inner),
            ExprKind::Let(_) if self.is_history(list) => {}
            _ => self.visit(Part::Expr(list)),
        }
    }

    /// Visits the operands of a window: a selection of the messages in `list` by time, as in
    /// `within 1h`, or by an element, as in `after p`. Of the element `p`, only its position in the
    /// history is read.
    fn visit_window(&mut self, window: &'p Expr, list: &'p Expr) {
        self.visit_list(list);
        if let ExprKind::Window { operand, .. } = &window.kind {
            self.visit_element(operand);
        }
    }

    /// Visits an operand of a comparison. If the operand reads a text of an element, and both
    /// operands are texts (`are_texts`), records that the text is compared.
    fn visit_compared_operand(&mut self, operand: &'p Expr, are_texts: bool) {
        let mut path = Vec::new();
        let is_read = matches!(operand.kind, ExprKind::Field(..) | ExprKind::Read(..));
        match self.history_element_read_by(operand, &mut path) {
            Some(base) if is_read && are_texts && !path.is_empty() => {
                let address = std::ptr::from_ref(operand) as usize;
                self.reads.compared_texts.entry(path).or_default().push(address);
                self.visit_parts(Part::Expr(base));
            }
            _ => self.visit(Part::Expr(operand)),
        }
    }

    /// Returns the age of the oldest message that the list `list`, a window of the history, may
    /// contain.
    fn reach_of_history_list(&self, list: &Expr) -> HistoryReach {
        match &list.kind {
            ExprKind::Window { list, bound, operand } => {
                let reach = self.reach_of_history_list(list);
                let bounded = match (bound, &operand.kind) {
                    (WindowBound::Since, ExprKind::Op(Op::Sub, _, Some(length))) => {
                        constant_milliseconds(length).map(HistoryReach::Within)
                    }
                    (WindowBound::After, ExprKind::Var(element)) => self.element_reach.get(element).copied(),
                    _ => None,
                };
                bounded.map_or(reach, |bounded| bounded.min(reach))
            }
            ExprKind::Read(inner, _) => self.reach_of_history_list(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.reach_of_history_list(body),
                Term::Cond(_) => HistoryReach::Everything,
            },
            _ => HistoryReach::Everything,
        }
    }

    /// If an expression is an element of the history, or reads a field of one, returns the
    /// expression of the element. Appends the names of the fields that are read to `path`. `None`
    /// for any other expression.
    fn history_element_read_by(&self, expr: &'p Expr, path: &mut Vec<Arc<str>>) -> Option<&'p Expr> {
        match &expr.kind {
            ExprKind::Field(base, name) => {
                let element = self.history_element_read_by(base, path)?;
                // The hash is kept at the path of the text that it replaces.
                if **name != *HASH_FIELD {
                    path.push(name.clone());
                }
                Some(element)
            }
            ExprKind::Read(inner, _) => self.history_element_read_by(inner, path),
            ExprKind::Var(id) => self.element_reach.contains_key(id).then_some(expr),
            ExprKind::Fold { fold: Fold::First | Fold::Last, list, .. } => {
                self.is_history(list).then_some(expr)
            }
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.history_element_read_by(body, path).map(|_| expr),
                Term::Cond(_) => None,
            },
            _ => None,
        }
    }

    fn is_history(&self, list: &Expr) -> bool {
        match &list.kind {
            ExprKind::Slot(slot) => *slot == self.history,
            ExprKind::Window { bound: WindowBound::Hashed, .. } => false,
            ExprKind::Window { list, .. } | ExprKind::Read(list, _) => self.is_history(list),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_history(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }
}

/// True for a predicate with `==` or `!=` that compares the operands without a conversion, such as
/// ignoring case.
fn is_plain_comparison(test: &Predicate) -> bool {
    matches!(test.op, Some(Op::Eq | Op::Ne)) && test.mode.text.is_plain() && test.mode.quantity.is_none()
}

/// True for an expression that selects the last element of a list without a condition on it. Such
/// an expression reads no older element.
fn selects_last_without_condition(part: Part<'_>) -> bool {
    match part {
        Part::Expr(Expr { kind: ExprKind::Fold { fold: Fold::Last, body, .. }, .. }) => {
            matches!(body.kind, CondKind::Const(true))
        }
        _ => false,
    }
}

/// Converts a constant number of seconds to milliseconds, rounded up. `None` if `length` is
/// negative, too large or no constant.
fn constant_milliseconds(length: &Expr) -> Option<u64> {
    let seconds = length.as_const()?.value().to_json().as_f64()?;
    (0.0..1e10).contains(&seconds).then(|| (seconds * 1000.0).ceil() as u64)
}
