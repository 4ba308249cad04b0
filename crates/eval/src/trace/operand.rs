//! Lists the values that a predicate tested, and explains in sentences why a value is missing.

use super::record::TracedEvaluator;
use super::wording::{
    comparable_kinds, describe_value, is_constant_name, kinds_with_article, push_distinct_operand,
};
use super::{Elements, Operand};
use rulec_base::diag::Message;
use rulec_base::span::Span;
use rulec_base::text::{self, BucketHash, network, zone};
use rulec_base::{broken_invariant, message};
use rulec_lang::builtins::Function;
use rulec_lang::limits::Exceeded;
use rulec_lang::operators::budget::{self, PredicateContext};
use rulec_lang::operators::{Implementation, Op, RightOperand};
use rulec_lang::ty::{Kind, KindSet, Ty};
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{
    CondKind, Expr, ExprKind, ExternId, Fold, Operand as HirOperand, Part, Predicate, SlotId, Term, VarId,
};

impl<'a> TracedEvaluator<'a, '_> {
    /// Adds to `listed` the values to show for an operand: the operand's own value, and the fields
    /// and elements that the operand reads. A literal is not added. If the operand is a `count`,
    /// `elements` has the list elements that were evaluated; otherwise it is `None`.
    pub(super) fn add_shown_operands(
        &mut self,
        expr: &'a Expr,
        value: Value<'a>,
        elements: Option<Elements>,
        listed: &mut Vec<Operand>,
    ) {
        match &expr.kind {
            ExprKind::Slot(_) | ExprKind::Var(_) => self.add_read_value(expr, listed),
            ExprKind::Const(_) => {
                let text = self.source_text(expr.span);
                if is_constant_name(&text) {
                    push_distinct_operand(
                        self.observer.privacy.to_operand(text, value, false, &Ty::ANY),
                        listed,
                    );
                }
            }
            ExprKind::List(_) | ExprKind::Param(_) => self.add_read_values(Part::Expr(expr), listed),
            ExprKind::Read(inner, _) if matches!(inner.kind, ExprKind::Slot(_) | ExprKind::Var(_)) => {
                self.add_read_value(inner, listed);
            }
            _ => {
                let mut operand =
                    self.observer.privacy.build_masked_operand(self.source_text(expr.span), value, expr);
                // The elements and the messages of a masked value would reveal it.
                if !operand.masked {
                    operand.elements = elements.filter(|_| !value.is_missing());
                    self.add_recorded_messages(expr, &mut operand);
                }
                push_distinct_operand(operand, listed);
                self.add_read_values(Part::Expr(expr), listed);
            }
        }
    }

    /// Adds the value of a message field or of a quantifier's element to `listed`.
    fn add_read_value(&mut self, expr: &'a Expr, listed: &mut Vec<Operand>) {
        let text = match &expr.kind {
            ExprKind::Slot(id) => {
                self.record_slot_read(*id);
                self.program().slots[id.index()].name()
            }
            ExprKind::Var(id) if self.variable_with_element(*id).is_none() => return,
            _ => self.source_text(expr.span),
        };
        let value = self.eval_unrecorded(expr);
        let operand = self.observer.privacy.build_masked_operand(text, value, expr);
        push_distinct_operand(operand, listed);
    }

    fn record_slot_read(&mut self, id: SlotId) {
        if !self.observer.read_slots.contains(&id) {
            self.observer.read_slots.push(id);
        }
    }

    /// Adds to `listed` the fields and elements that a condition or value reads, even those that
    /// were not evaluated.
    fn add_read_values(&mut self, part: Part<'a>, listed: &mut Vec<Operand>) {
        let has_body = match part {
            Part::Expr(expr @ Expr { kind: ExprKind::Slot(_) | ExprKind::Var(_), .. }) => {
                return self.add_read_value(expr, listed);
            }
            Part::Let(id) => return self.add_read_values(self.program().let_body(id).as_part(), listed),
            // Conditions that are used as values are usually small. For a large one, only the first
            // values are listed, so that the list stays short.
            Part::Cond(_) if listed.len() >= 20 => return,
            Part::Cond(cond) => matches!(cond.kind, CondKind::Quantifier { .. }),
            Part::Expr(expr) => matches!(expr.kind, ExprKind::Fold { .. }),
        };
        // For a quantifier, only the list is visited, because its elements are shown separately.
        let parts = part.parts().into_iter().take(if has_body { 1 } else { usize::MAX });
        parts.for_each(|part| self.add_read_values(part, listed));
    }

    /// Adds to `because` the reasons why a predicate is unknown. `values` are the values of its
    /// operands, in the same order. `span` is the predicate's span in the source text.
    pub(super) fn explain_unknown(
        &mut self,
        predicate: &'a Predicate,
        values: &[Value<'a>],
        span: Span,
        because: &mut Vec<Message>,
    ) {
        let left = values.first().copied().unwrap_or(Value::Missing);
        let accepted_kinds = match predicate.op {
            Some(op) => op.info().forms.iter().fold(KindSet::EMPTY, |all, form| all.union(form.left)),
            None => KindSet::BOOL,
        };
        let left_fits = left.kind().is_some_and(|kind| accepted_kinds.has(kind));
        let is_not_address = left_fits
            && predicate.op == Some(Op::InNetwork)
            && left.as_str().is_some_and(|text| !network::is_address(text));
        if !left_fits {
            because.push(self.explain_wrong_kind(&predicate.left, left, accepted_kinds));
        } else if is_not_address {
            because.push(self.explain_wrong_value(&predicate.left, left, message!("an address")));
        }
        for (operand, &value) in predicate.operands().zip(values).skip(1) {
            let sentence = match &predicate.right {
                HirOperand::Range { .. } => {
                    let is_comparable = !left_fits || rulec_lang::value::compare(left, value).is_some();
                    (value.is_missing() || !is_comparable)
                        .then(|| self.explain_wrong_kind(operand, value, comparable_kinds(left)))
                }
                _ if value.is_missing() => Some(self.explain_missing(operand)),
                _ => {
                    self.explain_right_operand(predicate, left, left_fits && !is_not_address, operand, value)
                }
            };
            because.extend(sentence.filter(|sentence| !because.contains(sentence)));
        }
        if because.is_empty() {
            because.push(match self.find_limit_exceeded_by_predicate(predicate, values) {
                Some(exceeded) => {
                    message!(
                        "{} counts as missing: {}",
                        self.source_text(predicate.left.span),
                        exceeded.to_message()
                    )
                }
                None => message!("{} cannot be decided", self.source_text(span)),
            });
        }
    }

    /// Returns the limit that the evaluation of a predicate exceeded, which makes the predicate
    /// unknown although its operands are present. `None` if no limit was exceeded.
    fn find_limit_exceeded_by_predicate(
        &self,
        predicate: &Predicate,
        values: &[Value<'a>],
    ) -> Option<Exceeded> {
        let (&left, &right) = (values.first()?, values.get(1)?);
        let arena = self.arena();
        let constant = predicate.operands().nth(1).is_some_and(|right| right.as_const().is_some());
        let op = predicate.op?;
        let context = PredicateContext { arena, is_right_constant: constant };
        arena.catch_exceeded(|| budget::test_predicate(op, left, right, predicate.mode, context)).1
    }

    /// Explains how the right operand of a predicate makes the predicate unknown. `operand` is the
    /// expression of the right operand, and `right` is its value, which is present.
    /// `is_left_accepted` is true if the operator accepts the left value. `None` if the right
    /// operand is not the reason.
    fn explain_right_operand(
        &mut self,
        predicate: &'a Predicate,
        left: Value<'a>,
        is_left_accepted: bool,
        operand: &'a Expr,
        right: Value<'a>,
    ) -> Option<Message> {
        let op = predicate.op?;
        let noun = if op == Op::InNetwork { message!("network") } else { message!("text") };
        if predicate.mode.quantity.is_some() {
            let Some(mut elements) = right.elements() else {
                return Some(self.explain_wrong_kind(operand, right, KindSet::LIST));
            };
            let Implementation::Predicate(holds) = op.info().implementation else {
                broken_invariant!("the operator of a predicate is a predicate");
                return None;
            };
            let is_unfit = |element| holds(left, element, predicate.mode, self.arena()) == Tri::Unknown;
            let at = elements.position(is_unfit).filter(|_| is_left_accepted)?;
            return Some(message!("element {at} of {} is not a {noun}", self.source_text(operand.span)));
        }
        if op == Op::InNetwork && right.as_str().is_some_and(|text| network::parse_network(text).is_none()) {
            return Some(self.explain_wrong_value(operand, right, message!("a network")));
        }
        let forms = op.info().forms;
        let form = forms.iter().find(|form| left.kind().is_some_and(|kind| form.left.has(kind)))?;
        let accepted_kinds = match form.right {
            RightOperand::Kinds(kinds) => kinds,
            RightOperand::Text | RightOperand::Pattern | RightOperand::SomeText => KindSet::STRING,
            RightOperand::Members => KindSet::LIST,
            RightOperand::Same => comparable_kinds(left),
            _ => KindSet::MESSAGE_KINDS,
        };
        if right.kind().is_none_or(|kind| accepted_kinds.has(kind)) {
            return None;
        }
        if !forms.iter().any(|form| form.right == RightOperand::Same) {
            return Some(self.explain_wrong_kind(operand, right, accepted_kinds));
        }
        let (this, other) =
            (self.describe_expr_value(&predicate.left, left), self.describe_expr_value(operand, right));
        Some(message!(
            "{} is {this}, and {} is {other}",
            self.expr_name(&predicate.left),
            self.expr_name(operand)
        ))
    }

    /// Explains why a value does not have the expected kinds: the value is missing, or of another
    /// kind.
    pub(super) fn explain_wrong_kind(
        &mut self,
        expr: &'a Expr,
        value: Value<'a>,
        expected_kinds: KindSet,
    ) -> Message {
        if value.is_missing() {
            return self.explain_missing(expr);
        }
        self.explain_wrong_value(expr, value, kinds_with_article(expected_kinds))
    }

    fn explain_wrong_value(&mut self, expr: &'a Expr, value: Value<'a>, wanted: Message) -> Message {
        let what = self.describe_expr_value(expr, value);
        message!("{} is {what}, but {wanted} is needed", self.expr_name(expr))
    }

    /// Explains in one sentence why an expression has no value in this decision, such as a missing
    /// field.
    fn explain_missing(&mut self, expr: &'a Expr) -> Message {
        let program = self.program();
        if let Some(limit_message) = self.explain_exceeded_limit(expr) {
            return limit_message;
        }
        match &expr.kind {
            ExprKind::Slot(id) => self.explain_missing_slot(*id),
            ExprKind::Var(id) => self.explain_missing_element(*id, expr),
            ExprKind::Field(base, _) | ExprKind::Index(base, _) => self.explain_missing_field(base, expr),
            ExprKind::Op(Op::Coalesce, left, right) => {
                let left = self.explain_missing(left);
                match right {
                    Some(right) => message!("{left}, and {}", self.explain_missing(right)),
                    None => left,
                }
            }
            ExprKind::Op(_, left, right) => self.explain_missing_part(
                [Some(&**left), right.as_deref()]
                    .into_iter()
                    .flatten()
                    .map(|part| (part, KindSet::MESSAGE_KINDS)),
                expr,
            ),
            ExprKind::Read(inner, kinds) => {
                let value = self.eval_unrecorded(inner);
                self.explain_wrong_kind(inner, value, *kinds)
            }
            ExprKind::Call(function, args) => {
                let params = function.info().params;
                let kinds = |index: usize| {
                    params.get(index).or(params.last()).map_or(KindSet::MESSAGE_KINDS, |(_, kinds)| *kinds)
                };
                let parts: Vec<_> = args.iter().enumerate().map(|(index, arg)| (arg, kinds(index))).collect();
                self.explain_missing_part(parts.into_iter(), expr)
            }
            ExprKind::Extern(id, args) => self.explain_missing_call_result(*id, args, expr),
            ExprKind::Fold { fold, list, .. } => {
                let value = self.eval_unrecorded(list);
                match fold {
                    Fold::First | Fold::Last if value.list_len() == Some(0) => {
                        // `previous` is itself the list that it is taken from.
                        match list.span == expr.span {
                            true => message!("there is no earlier message"),
                            false => message!("{} is empty", self.source_text(list.span)),
                        }
                    }
                    Fold::First | Fold::Last if value.list_len().is_some() => {
                        let list = self.source_text(list.span);
                        message!(
                            "no element of {list} satisfies the condition of {}",
                            self.source_text(expr.span)
                        )
                    }
                    Fold::Sum(summed) if value.list_len().is_some() => {
                        let summed = self.source_text(summed.span);
                        message!("{summed} is missing for an element, or the sum is too large")
                    }
                    _ => self.explain_wrong_kind(list, value, KindSet::LIST),
                }
            }
            ExprKind::Window { list, operand, .. } => {
                let operands = [(&**list, KindSet::LIST), (&**operand, KindSet::MESSAGE_KINDS)];
                self.explain_missing_part(operands.into_iter(), expr)
            }
            ExprKind::Let(id) => match program.let_body(*id) {
                Term::Expr(body) => self.explain_missing(body),
                Term::Cond(_) => message!("{} is unknown", self.source_text(expr.span)),
            },
            ExprKind::Cond(_) => message!("{} is unknown", self.source_text(expr.span)),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                let branch =
                    if self.run_unrecorded(|eval| eval.eval_cond(cond)).holds() { then } else { other };
                self.explain_missing(branch)
            }
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::List(_) => {
                message!("{} is missing", self.source_text(expr.span))
            }
        }
    }

    /// Names the limit that makes a value missing although its operands are present; `None` if no
    /// limit was exceeded.
    fn explain_exceeded_limit(&mut self, expr: &'a Expr) -> Option<Message> {
        let (ExprKind::Call(..) | ExprKind::List(_) | ExprKind::Fold { .. }) = &expr.kind else {
            return None;
        };
        let arena = self.arena();
        let (value, exceeded_limit) = arena.catch_exceeded(|| self.eval_unrecorded(expr));
        // If an operand exceeds the limit, the message is about the operand instead.
        let is_part_missing = expr.parts().into_iter().any(|part| match part {
            Part::Expr(part) => self.eval_unrecorded(part).is_missing(),
            _ => false,
        });
        let exceeded = exceeded_limit.filter(|_| value.is_missing() && !is_part_missing)?;
        Some(message!("{} counts as missing: {}", self.source_text(expr.span), exceeded.to_message()))
    }

    /// Explains why the field or element that `expr` reads from the value of `base` is missing.
    fn explain_missing_field(&mut self, base: &'a Expr, expr: &'a Expr) -> Message {
        if let Some(reason) = self.explain_not_found(expr) {
            return reason;
        }
        let value = self.eval_unrecorded(base);
        let expected_kinds = match &expr.kind {
            ExprKind::Index(_, index) if self.eval_unrecorded(index).is_missing() => {
                return self.explain_missing(index);
            }
            ExprKind::Index(..) => KindSet::LIST.union(KindSet::DICT),
            _ => KindSet::DICT,
        };
        match (value.list_len(), value) {
            (Some(length), _) if expected_kinds.has(Kind::List) => {
                message!("{} has no such element: the list has {length}", self.source_text(expr.span))
            }
            (_, Value::Dict(_) | Value::Entries(_)) => message!("{} is missing", self.source_text(expr.span)),
            _ => self.explain_wrong_kind(base, value, expected_kinds),
        }
    }

    /// Explains why a host function, or a function that analyses the message text, returned no
    /// value. `expr` is the call of the function `id` with these `args`.
    fn explain_missing_call_result(&mut self, id: ExternId, args: &'a [Expr], expr: &'a Expr) -> Message {
        // The function is not called if an argument is missing.
        if let Some(missing_arg) = args.iter().find(|arg| self.eval_unrecorded(arg).is_missing()) {
            return self.explain_missing(missing_arg);
        }
        if let Some(reason) = self.explain_not_found(expr) {
            return reason;
        }
        let name = &self.program().externs[id.index()].name;
        let failures = self.host_calls.failures();
        match failures.iter().rposition(|failure| failure.function == *name) {
            Some(index) if self.observer.failure_is_private.get(index) == Some(&false) => {
                message!("the host function {name} failed: {}", failures[index].message)
            }
            Some(_) => message!("the host function {name} failed"),
            None => message!("the host function {name} returned no value of its declared type"),
        }
    }

    /// Explains why `parent` has no value. `parts` are its operands, each with the kinds that
    /// `parent` accepts. Explains the first operand that is missing or of another kind. If there is
    /// none, explains `parent` itself.
    fn explain_missing_part(
        &mut self,
        parts: impl Iterator<Item = (&'a Expr, KindSet)>,
        parent: &'a Expr,
    ) -> Message {
        for (part, expected_kinds) in parts {
            let value = self.eval_unrecorded(part);
            if value.read_as(expected_kinds).is_missing() {
                return self.explain_wrong_kind(part, value, expected_kinds);
            }
        }
        let text = self.source_text(parent.span);
        match &parent.kind {
            ExprKind::Call(function, args) => self.explain_no_result(*function, args, text),
            _ => message!("{text} has no result for these values"),
        }
    }

    /// Explains why a function returned no value although its arguments have the right kinds.
    /// `text` is the source text of the call.
    fn explain_no_result(&mut self, function: Function, args: &'a [Expr], text: String) -> Message {
        for (arg, (param, _)) in args.iter().zip(function.info().params) {
            let value = self.eval_unrecorded(arg);
            let expected_noun = match (*param, value) {
                ("zone", Value::Str(name)) if !zone::is_zone_name(name) => message!("a time zone"),
                ("hash", Value::Str(name)) if !name.is_empty() && BucketHash::from_name(name).is_none() => {
                    message!("a hash")
                }
                ("of", Value::Int(count)) if !text::is_bucket_count(count) => {
                    message!("a multiple of 100 up to a million")
                }
                _ => continue,
            };
            return self.explain_wrong_value(arg, value, expected_noun);
        }
        match function.info().missing_result_reason() {
            Some(why) => message!("{text} is missing: {why}"),
            None => message!("{text} has no result for these values"),
        }
    }

    fn explain_missing_slot(&mut self, id: SlotId) -> Message {
        let slot = &self.program().slots[id.index()];
        let raw_value = self.raw_slot_value(id);
        if let Some(kind) = raw_value.kind() {
            let what = match slot.root {
                Some(_) => kinds_with_article(KindSet::single(kind)),
                None => {
                    describe_value(&self.observer.privacy.raw_field_as_operand(slot, raw_value), raw_value)
                }
            };
            let needed = match &slot.values {
                Some(values) => message!("one of {}", values.to_string()),
                None => kinds_with_article(slot.kinds),
            };
            return message!("{} is {what}, but {needed} is needed", slot.name());
        }
        if slot.root.is_some() {
            return message!("{} is missing", slot.name());
        }
        // The sentence names the outermost missing record, which explains more than the missing
        // field.
        let mut value = Value::from_json(self.message());
        for (depth, key) in slot.path.iter().enumerate() {
            let is_null = matches!(value, Value::Dict(map) if map.contains_key(&**key));
            value = value.field(key);
            if value.is_missing() {
                let here = slot.path[..=depth].join(".");
                let here = if is_null { message!("{here} is null") } else { message!("{here} is missing") };
                return if depth + 1 == slot.path.len() {
                    here
                } else {
                    message!("{} is missing: {here}", slot.name())
                };
            }
            if !matches!(value, Value::Dict(_)) {
                let here = slot.path[..=depth].join(".");
                let kind = value.kind().map_or(KindSet::EMPTY, KindSet::single);
                return message!("{} is missing: {here} is {}", slot.name(), kinds_with_article(kind));
            }
        }
        message!("{} is missing", slot.name())
    }

    fn explain_missing_element(&mut self, id: VarId, expr: &'a Expr) -> Message {
        let name = self.source_text(expr.span);
        match self.variable_with_element(id).map(|(_, value)| value) {
            Some(value) if !value.is_missing() => {
                let private = self.observer.privacy.is_private(expr);
                let ty = self.observer.privacy.expr_type(expr);
                let operand = self.observer.privacy.to_operand(name.clone(), value, private, &ty);
                message!(
                    "{name} is {}, not {}",
                    describe_value(&operand, value),
                    kinds_with_article(expr.ty.kinds)
                )
            }
            _ => message!("{name} is null"),
        }
    }

    /// Returns the name of an expression for sentences: the path of a field, otherwise the source
    /// text.
    fn expr_name(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Slot(id) => self.program().slots[id.index()].name(),
            _ => self.source_text(expr.span),
        }
    }

    /// Formats a value and its kind, such as `"7", a string`.
    fn describe_expr_value(&mut self, expr: &Expr, value: Value<'_>) -> Message {
        let operand = self.observer.privacy.build_masked_operand(String::new(), value, expr);
        describe_value(&operand, value)
    }
}
