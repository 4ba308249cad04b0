//! The values behind a predicate, and in plain sentences why one is missing.

use super::private::raw;
use super::{Operand, Tracer};
use crate::ops::{Meaning, Op, Right};
use crate::sema::hir::{
    Cond, CondKind, Expr, ExprKind, Operand as HirOperand, Predicate, SlotId, Term, VarId,
};
use crate::span::Span;
use crate::ty::{Kind, KindSet, Ty};
use crate::value::Value;

impl<'a> Tracer<'a, '_> {
    /// Evaluates an operand and lists the values worth seeing: itself, unless it is written out as a
    /// constant, and the fields and elements it is made from.
    pub(super) fn operand(&mut self, expr: &'a Expr, listed: &mut Vec<Operand>) -> Value<'a> {
        let before = self.eval.hosts.failures.len();
        let value = self.eval.expr(expr);
        if self.eval.hosts.failures.len() > before {
            let private = self.privacy.is_private(expr);
            self.mark_failures(private);
        }
        match &expr.kind {
            ExprKind::Slot(_) | ExprKind::Var(_) => self.leaf(expr, listed),
            ExprKind::Const(_) => {
                let text = self.text(expr.span);
                if is_name(&text) {
                    let shown = self.privacy.shown(text, value, false, &Ty::ANY);
                    list(shown, listed);
                }
            }
            ExprKind::List(_) | ExprKind::Param(_) => self.leaves(expr, listed),
            ExprKind::Read(inner, _) if matches!(inner.kind, ExprKind::Slot(_) | ExprKind::Var(_)) => {
                self.leaf(inner, listed);
            }
            _ => {
                let mut shown = self.privacy.operand(self.text(expr.span), value, expr);
                if let ExprKind::Count { list, var, body } = &expr.kind
                    && let Some(elements) = self.eval.expr(list).elements()
                {
                    shown.elements = Some(self.elements(var, list, elements, body, None).0);
                }
                list(shown, listed);
                self.leaves(expr, listed);
            }
        }
        value
    }

    /// A field or element.
    fn leaf(&mut self, expr: &'a Expr, listed: &mut Vec<Operand>) {
        let text = match &expr.kind {
            ExprKind::Slot(id) => {
                self.saw(*id);
                self.program().slots[id.index()].name()
            }
            ExprKind::Var(id) if self.eval.var(*id).is_none() => return,
            _ => self.text(expr.span),
        };
        let value = self.eval.expr(expr);
        let shown = self.privacy.operand(text, value, expr);
        list(shown, listed);
    }

    fn saw(&mut self, id: SlotId) {
        if !self.slots.contains(&id) {
            self.slots.push(id);
        }
    }

    /// The fields and elements an expression is made from.
    fn leaves(&mut self, expr: &'a Expr, listed: &mut Vec<Operand>) {
        match &expr.kind {
            ExprKind::Slot(_) | ExprKind::Var(_) => self.leaf(expr, listed),
            ExprKind::Const(_) | ExprKind::Param(_) => {}
            ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => self.leaves(inner, listed),
            ExprKind::Index(left, right) => {
                self.leaves(left, listed);
                self.leaves(right, listed);
            }
            ExprKind::Op(_, left, right) => {
                self.leaves(left, listed);
                if let Some(right) = right {
                    self.leaves(right, listed);
                }
            }
            ExprKind::List(items) | ExprKind::Call(_, items) | ExprKind::Extern(_, items) => {
                for item in items {
                    self.leaves(item, listed);
                }
            }
            ExprKind::Count { list, .. } => self.leaves(list, listed),
            ExprKind::Cond(cond) => self.cond_leaves(cond, listed),
            ExprKind::Let(id) => match self.program().let_body(*id) {
                Term::Expr(body) => self.leaves(body, listed),
                Term::Cond(body) => self.cond_leaves(body, listed),
            },
        }
    }

    fn cond_leaves(&mut self, cond: &'a Cond, listed: &mut Vec<Operand>) {
        // A bound on what one operand lists; conditions as values are small.
        if listed.len() >= 20 {
            return;
        }
        match &cond.kind {
            CondKind::Const(_) => {}
            CondKind::Not(inner) | CondKind::Call(_, inner) => self.cond_leaves(inner, listed),
            CondKind::And(parts) | CondKind::Or(parts) => {
                for part in parts {
                    self.cond_leaves(part, listed);
                }
            }
            CondKind::Test(predicate) => {
                self.leaves(&predicate.left, listed);
                match &predicate.right {
                    HirOperand::Nothing => {}
                    HirOperand::Value(right) => self.leaves(right, listed),
                    HirOperand::Range { start, end, .. } => {
                        self.leaves(start, listed);
                        self.leaves(end, listed);
                    }
                }
            }
            CondKind::Quantifier { list, .. } => self.leaves(list, listed),
            CondKind::Branch { conditions, .. } => {
                conditions.iter().for_each(|condition| self.cond_leaves(&condition.cond, listed));
            }
            CondKind::Let(id) => match self.program().let_body(*id) {
                Term::Expr(body) => self.leaves(body, listed),
                Term::Cond(body) => self.cond_leaves(body, listed),
            },
        }
    }

    /// Why a predicate is unknown.
    pub(super) fn why_unknown(
        &mut self,
        predicate: &'a Predicate,
        left: Value<'a>,
        right: Value<'a>,
        span: Span,
        because: &mut Vec<String>,
    ) {
        let mut say = |sentence: String| {
            if !because.contains(&sentence) {
                because.push(sentence);
            }
        };
        let Some(op) = predicate.op else {
            return say(self.not_of(&predicate.left, left, KindSet::BOOL));
        };
        let forms = op.info().forms;
        let wanted = forms.iter().fold(KindSet::EMPTY, |all, form| all.union(form.left));
        let left_fits = left.kind().is_some_and(|kind| wanted.has(kind));
        if !left_fits {
            say(self.not_of(&predicate.left, left, wanted));
        }
        match &predicate.right {
            HirOperand::Nothing => {}
            HirOperand::Range { start, end, .. } => {
                for bound in [start, end] {
                    let value = self.eval.expr(bound);
                    if value.is_missing() || (left_fits && crate::value::compare(left, value).is_none()) {
                        say(self.not_of(bound, value, family(left)));
                    }
                }
            }
            HirOperand::Value(expr) if right.is_missing() => say(self.why_missing(expr)),
            HirOperand::Value(expr) if predicate.mode.quantity.is_some() => match right.elements() {
                None => say(self.not_of(expr, right, KindSet::LIST)),
                Some(mut elements) if left_fits => {
                    let Meaning::Predicate(holds) = op.info().meaning else { return };
                    let unfit =
                        |element: &Value| holds(left, *element, predicate.mode) == crate::value::Tri::Unknown;
                    if let Some(at) = elements.position(|element| unfit(&element)) {
                        say(format!("element {at} of {} is no text", self.text(expr.span)));
                    }
                }
                Some(_) => {}
            },
            HirOperand::Value(expr) if left_fits => {
                let form = forms.iter().find(|form| left.kind().is_some_and(|kind| form.left.has(kind)));
                let wanted = match form.map(|form| form.right) {
                    Some(Right::Kinds(kinds)) => kinds,
                    Some(Right::Text | Right::Pattern) => KindSet::STRING,
                    Some(Right::Members) => KindSet::LIST,
                    Some(Right::Same) => family(left),
                    _ => KindSet::ALL,
                };
                if right.kind().is_some_and(|kind| !wanted.has(kind)) {
                    let (what, name) = (self.describe(&predicate.left, left), self.name(&predicate.left));
                    if op.info().forms.iter().any(|form| form.right == Right::Same) {
                        let other = self.describe(expr, right);
                        say(format!("{name} is {what}, and {} is {other}", self.name(expr)));
                    } else {
                        say(self.not_of(expr, right, wanted));
                    }
                }
            }
            HirOperand::Value(_) => {}
        }
        if because.is_empty() {
            because.push(format!("{} cannot be decided", self.text(span)));
        }
    }

    /// Why the value is not of the kinds wanted: it is missing, or of another kind.
    pub(super) fn not_of(&mut self, expr: &'a Expr, value: Value<'a>, wanted: KindSet) -> String {
        if value.is_missing() {
            return self.why_missing(expr);
        }
        let what = self.describe(expr, value);
        format!("{} is {what}, where {} is wanted", self.name(expr), with_article(wanted))
    }

    /// Why the expression has no value.
    fn why_missing(&mut self, expr: &'a Expr) -> String {
        let program = self.program();
        match &expr.kind {
            ExprKind::Slot(id) => self.why_slot_missing(*id),
            ExprKind::Var(id) => self.why_var_missing(*id, expr),
            ExprKind::Field(base, _) | ExprKind::Index(base, _) => {
                if let Some(why) = self.why_not_found(expr) {
                    return why;
                }
                let value = self.eval.expr(base);
                let wanted = match &expr.kind {
                    ExprKind::Index(_, index) => {
                        if self.eval.expr(index).is_missing() {
                            return self.why_missing(index);
                        }
                        KindSet::LIST.union(KindSet::DICT)
                    }
                    _ => KindSet::DICT,
                };
                match value {
                    Value::JsonList(_) | Value::List(_) if wanted.has(Kind::List) => {
                        let length = value.list_len().unwrap_or(0);
                        format!("{} has no such element: the list has {length}", self.text(expr.span))
                    }
                    Value::Dict(_) | Value::Entries(_) => format!("{} is missing", self.text(expr.span)),
                    _ => self.not_of(base, value, wanted),
                }
            }
            ExprKind::Op(Op::Coalesce, left, right) => {
                let left = self.why_missing(left);
                match right {
                    Some(right) => format!("{left}, and {}", self.why_missing(right)),
                    None => left,
                }
            }
            ExprKind::Op(_, left, right) => self.why_part_missing(
                [Some(&**left), right.as_deref()].into_iter().flatten().map(|part| (part, KindSet::ALL)),
                expr,
            ),
            ExprKind::Read(inner, kinds) => {
                let value = self.eval.expr(inner);
                self.not_of(inner, value, *kinds)
            }
            ExprKind::Call(function, args) => {
                let params = function.info().params;
                let kinds =
                    |at: usize| params.get(at).or(params.last()).map_or(KindSet::ALL, |(_, kinds)| *kinds);
                let parts: Vec<_> = args.iter().enumerate().map(|(at, arg)| (arg, kinds(at))).collect();
                self.why_part_missing(parts.into_iter(), expr)
            }
            ExprKind::Extern(id, args) => {
                // It is not called at all when an argument is missing.
                for arg in args {
                    if self.eval.expr(arg).is_missing() {
                        return self.why_missing(arg);
                    }
                }
                if let Some(why) = self.why_not_found(expr) {
                    return why;
                }
                let name = &program.externs[id.index()].name;
                let failures = &self.eval.hosts.failures;
                match failures.iter().rposition(|failure| failure.function == *name) {
                    Some(at) if self.private_failures.get(at) == Some(&false) => {
                        format!("the host function {name} failed: {}", failures[at].message)
                    }
                    Some(_) => format!("the host function {name} failed"),
                    None => format!("the host function {name} gave no value of its type"),
                }
            }
            ExprKind::Count { list, .. } => {
                let value = self.eval.expr(list);
                self.not_of(list, value, KindSet::LIST)
            }
            ExprKind::Let(id) => match program.let_body(*id) {
                Term::Expr(body) => self.why_missing(body),
                Term::Cond(_) => format!("{} is unknown", self.text(expr.span)),
            },
            ExprKind::Cond(_) => format!("{} is unknown", self.text(expr.span)),
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::List(_) => {
                format!("{} is missing", self.text(expr.span))
            }
        }
    }

    /// The first part that is missing or of a wrong kind; when all are well, the whole has no result.
    fn why_part_missing(
        &mut self,
        parts: impl Iterator<Item = (&'a Expr, KindSet)>,
        whole: &'a Expr,
    ) -> String {
        for (part, wanted) in parts {
            let value = self.eval.expr(part);
            if value.read(wanted).is_missing() {
                return self.not_of(part, value, wanted);
            }
        }
        format!("{} has no result for these values", self.text(whole.span))
    }

    fn why_slot_missing(&mut self, id: SlotId) -> String {
        let slot = &self.program().slots[id.index()];
        if slot.root.is_some() {
            let found = self.eval.raw(id);
            return match found.kind() {
                Some(kind) => {
                    let kind = with_article(KindSet::of(kind));
                    format!("{} is {kind}, where {} is wanted", slot.name(), with_article(slot.kinds))
                }
                None => format!("{} is missing", slot.name()),
            };
        }
        let found = raw(slot, self.eval.message());
        if !found.is_missing() {
            let field = self.privacy.raw_field(slot, self.eval.message());
            let what = describe(&field, found);
            return format!("{} is {what}, where {} is wanted", slot.name(), with_article(slot.kinds));
        }
        // The outermost record that is not there says more than the field.
        let mut value = Value::from_json(self.eval.message());
        for (depth, key) in slot.path.iter().enumerate() {
            let null = matches!(value, Value::Dict(map) if map.contains_key(&**key));
            value = value.field(key);
            if value.is_missing() {
                let state = if null { "null" } else { "missing" };
                let here = slot.path[..=depth].join(".");
                return if depth + 1 == slot.path.len() {
                    format!("{here} is {state}")
                } else {
                    format!("{} is missing: {here} is {state}", slot.name())
                };
            }
            if !matches!(value, Value::Dict(_)) {
                let here = slot.path[..=depth].join(".");
                let kind = value.kind().map_or(KindSet::EMPTY, KindSet::of);
                return format!("{} is missing: {here} is {}", slot.name(), with_article(kind));
            }
        }
        format!("{} is missing", slot.name())
    }

    fn why_var_missing(&mut self, id: VarId, expr: &'a Expr) -> String {
        let name = self.text(expr.span);
        let found = self.raw_vars.iter().rev().find(|(other, _)| *other == id);
        match found.map(|(_, value)| *value) {
            Some(value) if !value.is_missing() => {
                let private = self.privacy.is_private(expr);
                let ty = self.privacy.ty(expr);
                let shown = self.privacy.shown(name.clone(), value, private, &ty);
                format!("{name} is {}, not {}", describe(&shown, value), with_article(expr.ty.kinds))
            }
            _ => format!("{name} is null"),
        }
    }

    /// How an expression is called in a sentence: a field by its path, else the author's text.
    fn name(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Slot(id) => self.program().slots[id.index()].name(),
            _ => self.text(expr.span),
        }
    }

    /// `"7", a string`
    fn describe(&mut self, expr: &Expr, value: Value<'_>) -> String {
        let shown = self.privacy.operand(String::new(), value, expr);
        describe(&shown, value)
    }
}

/// `"7", a string`; only the kind of what is long or masked.
fn describe(shown: &Operand, value: Value<'_>) -> String {
    let kind = with_article(value.kind().map_or(KindSet::EMPTY, KindSet::of));
    match &shown.value {
        Some(json) if !shown.masked => {
            let text = json.to_string();
            if text.chars().count() <= 40 { format!("{text}, {kind}") } else { kind }
        }
        _ => kind,
    }
}

fn family(value: Value<'_>) -> KindSet {
    value.kind().map_or(KindSet::ALL, |kind| KindSet::of(kind).families())
}

/// `a string or list`, `an int`
fn with_article(kinds: KindSet) -> String {
    let text = kinds.to_string();
    if text == "nothing" {
        return text;
    }
    format!("{} {text}", if text.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" })
}

/// Whether a constant is written as the name of a list or `let` rather than written out.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '`')
        && text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '`')
        && !matches!(text, "true" | "false")
}

fn list(operand: Operand, listed: &mut Vec<Operand>) {
    if !listed.contains(&operand) {
        listed.push(operand);
    }
}
