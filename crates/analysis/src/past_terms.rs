//! Finds the nearest message that selects a statement, for rules that read the history. For a given
//! message and history, the parts of conditions that read the history have known values. The search
//! replaces these parts by their values, so that only conditions on the message remain. Each change
//! that is found is checked with the history.

use rulec_base::broken_invariant;
use rulec_eval::evaluator::Evaluator;
use rulec_eval::host::HostCalls;
use rulec_lang::arena::Arena;
use rulec_lang::history::{AT_FIELD, PastView, WindowBound};
use rulec_lang::operators::Op;
use rulec_lang::ty::Ty;
use rulec_lang::value::{Tri, format_datetime, parse_datetime};
use rulec_sema::hir::{
    Cond, CondKind, Const, Expr, ExprKind, Fold, Operand, Part, Predicate, Program, SlotId, Term,
};
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use time::Duration;

/// Maximum number of messages from which the search starts. Several starts are needed, because the
/// parts of conditions that read the history can have other values for each start message.
const MAX_SEARCH_STARTS: usize = 32;
/// Maximum number of earlier messages whose values are tried in the current message.
const MAX_TRIED_MESSAGES: usize = 8;
/// Maximum number of evaluations of parts of conditions that read the history.
const MAX_TERM_EVALUATIONS: usize = 20_000;

/// The path of a message field: the names of the records that contain the field, from the outside
/// to the inside, and its own name.
type FieldPath = Vec<Arc<str>>;

/// Rules in which constants replace the parts of conditions that read the history.
pub(super) struct RulesWithAssumedPast {
    /// The fields, `let`s and functions of the rules.
    pub program: Program,
    /// The conditions of the rules, indexed by rule id.
    pub conditions: Vec<Cond>,
}

/// A message from which a search starts, with an assumption about the history.
pub(super) struct SearchStart {
    pub message: Json,
    /// The fields whose values differ from the given message.
    pub replaced_fields: Vec<FieldPath>,
    /// The index of a condition in `PastTerms::terms` whose truth is assumed to be the opposite of
    /// its truth for `message`. `None` if nothing is assumed.
    flipped_term_index: Option<usize>,
}

/// The value of a part of a condition that reads the history.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TermValue {
    Cond(Tri),
    Expr(Const),
}

/// A part of a condition that reads the history, and that is replaced by its value.
struct PastTerm {
    body: Term,
    /// Whether this part of a condition reads nothing but the history, so that its value is the
    /// same for every message with this history.
    reads_only_history: bool,
}

/// A mutable reference to a part of a condition that reads the history.
enum TermMut<'t> {
    Cond(&'t mut Cond),
    Expr(&'t mut Expr),
}

/// The parts of the conditions of a program that read the history.
pub(super) struct PastTerms<'p> {
    program: &'p Program,
    history_slot: SlotId,
    terms: Vec<PastTerm>,
}

impl<'p> PastTerms<'p> {
    pub fn new(program: &'p Program, history: SlotId) -> PastTerms<'p> {
        let mut found = PastTerms { program, history_slot: history, terms: Vec::new() };
        let mut terms = Vec::new();
        found.copy_with_changed_terms(&mut |term| {
            let body = match term {
                TermMut::Cond(cond) => Term::Cond(cond.clone()),
                TermMut::Expr(expr) => Term::Expr(expr.clone()),
            };
            terms.push(PastTerm { reads_only_history: found.reads_only_history(body.as_part()), body });
        });
        found.terms = terms;
        found
    }

    /// Copies the conditions and the `let`s of the program, and calls `change` with each part that
    /// reads the history, always in the same order.
    fn copy_with_changed_terms(&self, change: &mut dyn FnMut(TermMut<'_>)) -> RulesWithAssumedPast {
        let Program { slots, lets, externs, input, limits, .. } = self.program;
        let mut lets = lets.clone();
        for named in &mut lets {
            match &mut named.body {
                Term::Cond(cond) => self.visit_cond(cond, change),
                Term::Expr(expr) => self.visit_expr(expr, change),
            }
        }
        let conditions = self.program.rules.iter().map(|rule| {
            let mut condition = Cond::clone(&rule.condition);
            self.visit_cond(&mut condition, change);
            condition
        });
        let conditions = conditions.collect();
        let (slots, externs, input) = (slots.clone(), externs.clone(), input.clone());
        let program = Program { slots, lets, externs, input, limits: *limits, ..Program::default() };
        RulesWithAssumedPast { program, conditions }
    }

    fn visit_cond(&self, cond: &mut Cond, change: &mut dyn FnMut(TermMut<'_>)) {
        if !self.reads_history(Part::Cond(cond)) {
            return;
        }
        match &mut cond.kind {
            // The body of a `let` is visited on its own.
            CondKind::Const(_) | CondKind::Let(_) => {}
            CondKind::Not(inner) | CondKind::NotTrue(inner) | CondKind::Call(_, _, inner) => {
                self.visit_cond(inner, change)
            }
            CondKind::And(parts) | CondKind::Or(parts) => {
                parts.iter_mut().for_each(|part| self.visit_cond(part, change))
            }
            CondKind::Branch { conditions, .. } => {
                let parts =
                    conditions.iter_mut().flat_map(|part| [&mut part.presence_condition, &mut part.cond]);
                parts.for_each(|part| self.visit_cond(part, change));
            }
            CondKind::Predicate(test) => {
                self.visit_expr(&mut test.left, change);
                match &mut test.right {
                    Operand::Nothing => {}
                    Operand::Value(right) => self.visit_expr(right, change),
                    Operand::Range { start, end, .. } => {
                        [start, end].into_iter().for_each(|bound| self.visit_expr(bound, change))
                    }
                }
            }
            CondKind::Quantifier { .. } => change(TermMut::Cond(cond)),
        }
    }

    fn visit_expr(&self, expr: &mut Expr, change: &mut dyn FnMut(TermMut<'_>)) {
        if !self.reads_history(Part::Expr(expr)) {
            return;
        }
        if self.reads_only_history(Part::Expr(expr)) {
            return change(TermMut::Expr(expr));
        }
        match &mut expr.kind {
            ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Param(_) | ExprKind::Let(_) => {}
            ExprKind::Slot(_) | ExprKind::Fold { .. } | ExprKind::Window { .. } => {
                change(TermMut::Expr(expr))
            }
            ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => self.visit_expr(inner, change),
            ExprKind::Index(base, index) => {
                [base, index].into_iter().for_each(|part| self.visit_expr(part, change))
            }
            ExprKind::Op(_, left, right) => {
                std::iter::once(left).chain(right).for_each(|part| self.visit_expr(part, change))
            }
            ExprKind::List(items) | ExprKind::Call(_, items) | ExprKind::Extern(_, items) => {
                items.iter_mut().for_each(|item| self.visit_expr(item, change))
            }
            ExprKind::Cond(cond) => self.visit_cond(cond, change),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                self.visit_cond(cond, change);
                [then, other].into_iter().for_each(|part| self.visit_expr(part, change));
            }
        }
    }

    fn reads_history(&self, part: Part<'_>) -> bool {
        self.program.field_reads(part).iter().any(|(slot, _)| *slot == self.history_slot)
    }

    /// True if a part of a condition reads only the history, and calls no host function.
    fn reads_only_history(&self, part: Part<'_>) -> bool {
        self.program.field_reads(part).iter().all(|(slot, _)| *slot == self.history_slot)
            && !self.calls_host(part)
    }

    fn calls_host(&self, part: Part<'_>) -> bool {
        match part {
            Part::Expr(Expr { kind: ExprKind::Extern(..), .. }) => true,
            Part::Let(id) => self.calls_host(self.program.let_body(id).as_part()),
            part => part.parts().into_iter().any(|part| self.calls_host(part)),
        }
    }

    /// True if all parts of conditions that read the history read nothing else. The value of each
    /// part is then the same for every message with this history.
    pub fn all_read_only_history(&self) -> bool {
        self.terms.iter().all(|term| term.reads_only_history)
    }

    /// Evaluates all parts of conditions that read the history, for the message from which a search
    /// starts and its history. If `start` assumes the opposite truth of one condition, reverses the
    /// truth of this condition. A value becomes missing if it cannot be a constant, or is a private
    /// value of an earlier message.
    pub fn term_values(&self, start: &SearchStart, past: PastView<'_>) -> Vec<TermValue> {
        let mut values = self.term_values_for(&start.message, past);
        if let Some(TermValue::Cond(value)) = start.flipped_term_index.and_then(|index| values.get_mut(index))
        {
            *value = if *value == Tri::True { Tri::False } else { Tri::True };
        }
        values
    }

    fn term_values_for(&self, message: &Json, past: PastView<'_>) -> Vec<TermValue> {
        let value_of = |term: &PastTerm| {
            let arena = Arena::new(&self.program.limits);
            let hosts = HostCalls::new(&[]);
            let mut evaluator = Evaluator::new(self.program, message, &arena, hosts).with_history(past);
            match &term.body {
                Term::Cond(cond) => TermValue::Cond(evaluator.eval_cond(cond)),
                // A proposed change must not show a private value of an earlier message.
                Term::Expr(expr)
                    if field_of_element(expr).is_some_and(|path| self.is_private_field(&path)) =>
                {
                    TermValue::Expr(missing_constant())
                }
                Term::Expr(expr) => TermValue::Expr(
                    Const::from_value(evaluator.eval_expr(expr)).unwrap_or_else(missing_constant),
                ),
            }
        };
        self.terms.iter().map(value_of).collect()
    }

    /// Copies the rules, and replaces each part of a condition that reads the history by its value
    /// in `values`.
    pub fn with_assumed_values(&self, values: &[TermValue]) -> RulesWithAssumedPast {
        let mut values = values.iter();
        self.copy_with_changed_terms(&mut |term| match (term, values.next()) {
            (TermMut::Cond(cond), Some(TermValue::Cond(value))) => {
                cond.kind = match value {
                    Tri::True => CondKind::Const(true),
                    Tri::False => CondKind::Const(false),
                    Tri::Unknown => {
                        let kind = ExprKind::Const(missing_constant());
                        let unknown = Expr { kind, ty: Ty::BOOL, may_be_missing: true, span: cond.span };
                        let test = Predicate::without_modifiers(None, unknown, Operand::Nothing);
                        CondKind::Predicate(Box::new(test))
                    }
                };
            }
            (TermMut::Expr(expr), Some(TermValue::Expr(value))) => expr.kind = ExprKind::Const(value.clone()),
            _ => {}
        })
    }

    /// Returns the messages from which the search starts: first the given message, then changed
    /// copies. In some copies, a field that rules compare with earlier messages has the value of an
    /// earlier message; in others, `now` is another time. In the last starts, the message is the
    /// given one, but the truth of one condition on the history is reversed.
    pub fn search_starts(&self, given: &Json, past: PastView<'_>) -> Vec<SearchStart> {
        let mut starts = vec![SearchStart {
            message: given.clone(),
            replaced_fields: Vec::new(),
            flipped_term_index: None,
        }];
        let elements: Vec<&Json> = past.elements.iter().rev().take(MAX_TRIED_MESSAGES).collect();
        let mut replace = |values: Vec<(&FieldPath, Json)>| {
            let mut message = given.clone();
            for (path, value) in &values {
                set_field(&mut message, path, value.clone());
            }
            if message != *given && !starts.iter().any(|start| start.message == message) {
                let replaced = values.into_iter().map(|(path, _)| path.clone()).collect();
                starts.push(SearchStart { message, replaced_fields: replaced, flipped_term_index: None });
            }
        };
        let open: Vec<&PastTerm> = self.terms.iter().filter(|term| !term.reads_only_history).collect();
        let compared: Vec<Vec<(FieldPath, FieldPath)>> =
            open.iter().map(|term| self.compared_fields(term.body.as_part())).collect();
        let value_at = |element: &Json, path: &FieldPath| {
            path.iter().try_fold(element, |value, name| value.get(&**name)).cloned()
        };
        for (own, earlier) in compared.iter().flatten() {
            for element in &elements {
                value_at(element, earlier).into_iter().for_each(|value| replace(vec![(own, value)]));
            }
        }
        for pairs in compared.iter().filter(|pairs| pairs.len() > 1) {
            for element in &elements {
                let values = pairs.iter().map(|(own, earlier)| Some((own, value_at(element, earlier)?)));
                values.collect::<Option<Vec<_>>>().into_iter().for_each(&mut replace);
            }
        }
        let now: FieldPath = vec!["now".into()];
        let lengths: Vec<Duration> =
            open.iter().flat_map(|term| window_lengths(term.body.as_part())).collect();
        for at in elements.iter().filter_map(|element| parse_datetime(element.get(AT_FIELD)?.as_str()?)) {
            for length in &lengths {
                let ends = [Some(at), at.checked_add(*length + Duration::SECOND)];
                for time in ends.into_iter().flatten() {
                    replace(vec![(&now, format_datetime(time).into())]);
                }
            }
        }
        let is_open_condition = |index: &usize| {
            !self.terms[*index].reads_only_history && matches!(self.terms[*index].body, Term::Cond(_))
        };
        let flipped = (0..self.terms.len()).filter(is_open_condition);
        starts.extend(flipped.map(|index| SearchStart {
            message: given.clone(),
            replaced_fields: Vec::new(),
            flipped_term_index: Some(index),
        }));
        starts.truncate(MAX_SEARCH_STARTS.min(1 + MAX_TERM_EVALUATIONS / (1 + self.terms.len())));
        starts
    }

    /// Returns the fields of the current message that a part of a condition compares for equality
    /// with fields of earlier messages. Each pair contains the path in the current message, then
    /// the path in the earlier message. Private fields of earlier messages are left out.
    fn compared_fields(&self, part: Part<'_>) -> Vec<(FieldPath, FieldPath)> {
        let mut pairs = Vec::new();
        self.add_compared_fields(part, &mut pairs);
        pairs
    }

    fn add_compared_fields(&self, part: Part<'_>, pairs: &mut Vec<(FieldPath, FieldPath)>) {
        match part {
            Part::Let(id) => self.add_compared_fields(self.program.let_body(id).as_part(), pairs),
            Part::Cond(Cond { kind: CondKind::Predicate(test), .. }) if test.op == Some(Op::Eq) => {
                if let Operand::Value(right) = &test.right {
                    for (own, earlier) in [(&test.left, right), (right, &test.left)] {
                        let earlier = field_of_element(earlier).filter(|path| !self.is_private_field(path));
                        let pair = self.field_of_message(own).zip(earlier);
                        pairs.extend(pair.filter(|pair| !pairs.contains(pair)));
                    }
                }
                part.parts().into_iter().for_each(|part| self.add_compared_fields(part, pairs));
            }
            part => part.parts().into_iter().for_each(|part| self.add_compared_fields(part, pairs)),
        }
    }

    /// True if the rules declare a field of an earlier message as `@private`.
    fn is_private_field(&self, path: &FieldPath) -> bool {
        let privacy = self.program.message_privacy();
        !path.iter().fold(privacy, |privacy, name| privacy.at_key(name).0).is_public()
    }

    fn field_of_message(&self, expr: &Expr) -> Option<FieldPath> {
        match &expr.kind {
            ExprKind::Read(inner, _) => self.field_of_message(inner),
            ExprKind::Slot(id) => {
                let slot = &self.program.slots[id.index()];
                slot.root.is_none().then(|| slot.path.clone())
            }
            _ => None,
        }
    }
}

fn missing_constant() -> Const {
    Const::Json(Arc::new(Json::Null))
}

/// Returns the path of the field that an expression reads from an element of a list; `None` for
/// other expressions.
fn field_of_element(expr: &Expr) -> Option<FieldPath> {
    match &expr.kind {
        ExprKind::Read(inner, _) => field_of_element(inner),
        ExprKind::Field(base, name) => {
            let mut path = field_of_element(base)?;
            path.push(name.clone());
            Some(path)
        }
        ExprKind::Var(_) | ExprKind::Fold { fold: Fold::First | Fold::Last, .. } => Some(Vec::new()),
        _ => None,
    }
}

/// Returns the constant lengths of the history windows in a part of a condition, such as 1 hour for
/// `history within 1h`.
fn window_lengths(part: Part<'_>) -> Vec<Duration> {
    let mut lengths = Vec::new();
    if let Part::Expr(Expr { kind: ExprKind::Window { bound: WindowBound::Since, operand, .. }, .. }) = part
        && let ExprKind::Op(Op::Sub, _, Some(length)) = &operand.kind
        && let Some(seconds) = length.as_const().and_then(|length| length.value().to_json().as_f64())
    {
        lengths.extend(Duration::checked_seconds_f64(seconds));
    }
    lengths.extend(part.parts().into_iter().flat_map(window_lengths));
    lengths
}

/// Sets the field at a path of a message, and creates the records that contain the field.
fn set_field(message: &mut Json, path: &[Arc<str>], value: Json) {
    let Some((last, parents)) = path.split_last() else {
        return broken_invariant!("a field of a message has a path");
    };
    let mut record = message;
    for name in parents {
        if !record.get(&**name).is_some_and(Json::is_object) {
            let Json::Object(map) = record else {
                return broken_invariant!("a message is an object");
            };
            map.insert(name.to_string(), Json::Object(Map::new()));
        }
        record = &mut record[&**name];
    }
    if let Json::Object(map) = record {
        map.insert(last.to_string(), value);
    }
}
