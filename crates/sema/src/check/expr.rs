//! Checks expressions: names, paths into the message, literals, logic and quantifiers.

use super::constant::{NULL_HELP, as_json, constant, is_deeper, list, literal_json, nested_size};
use super::fields::Reason;
use super::names::is_text;
use super::path::Path;
use super::{Binding, Checked, Checker, Declared, MAX_NODES, Reported};
use crate::hir::{self, Cond, CondKind, Expr, ExprKind, Operand, Part, Predicate, Term, Var, VarId};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::ast::{self, BlockKind, Ident, Literal, QuantifierKind};
use serde_json::Value as Json;

impl<'a> Checker<'a> {
    /// Checks an expression that may be a condition or a value.
    pub(super) fn term(&mut self, expr: &'a ast::Expr) -> Checked<Term> {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Literal(Literal::Null) => {
                self.fail(Code::OperatorType, span, message!("null cannot be used as a value"), NULL_HELP)
            }
            ast::ExprKind::Literal(literal) => Ok(Term::Expr(self.literal(literal, span))),
            ast::ExprKind::Name(name) => self.name(name, span),
            ast::ExprKind::Field(..) | ast::ExprKind::Index(..) => self.path(expr).map(Term::Expr),
            ast::ExprKind::List(items) => {
                let mut elements = Vec::new();
                for item in items {
                    elements.push(match &item.kind {
                        ast::ExprKind::Literal(Literal::Null) => constant(Json::Null, item.span),
                        _ => self.value(item)?,
                    });
                }
                self.sized(list(elements, span)).map(Term::Expr)
            }
            ast::ExprKind::Record(_) => {
                let json = self.constant_json(expr)?;
                self.sized(constant(json, span)).map(Term::Expr)
            }
            ast::ExprKind::Call(name, args) => self.call(name, args, span),
            ast::ExprKind::Unary(op, operand) if op.node == Op::Not => {
                let inner = self.cond(operand)?;
                Ok(Term::Cond(Cond { kind: CondKind::Not(Box::new(inner)), span }))
            }
            ast::ExprKind::Unary(op, operand) => self.arithmetic(op, operand, None, span).map(Term::Expr),
            ast::ExprKind::Logic(op, parts) => {
                let kind = self.logic(*op, parts)?;
                Ok(Term::Cond(Cond { kind, span }))
            }
            ast::ExprKind::If(parts) => self.conditional(parts, span).map(Term::Expr),
            ast::ExprKind::Block(kind, parts) => {
                let parts = self.conds(parts)?;
                let kind = match kind {
                    BlockKind::All => CondKind::And(parts),
                    BlockKind::Any => CondKind::Or(parts),
                    BlockKind::None => CondKind::Not(Box::new(Cond { kind: CondKind::Or(parts), span })),
                };
                Ok(Term::Cond(Cond { kind, span }))
            }
            ast::ExprKind::Binary(binary) => self.binary(binary, span),
            ast::ExprKind::Presence { operand, op } => {
                let left = self.value(operand)?;
                Ok(Term::Cond(Predicate::plain(op.node, left, Operand::Nothing).at(span)))
            }
            ast::ExprKind::As(operand, ty) => self.typed_read(operand, ty, span).map(Term::Expr),
            ast::ExprKind::Range { .. } => {
                let help = message!("write a range on the right of `in`: `ctx.n in 3..=10`");
                self.fail(Code::OperatorType, span, message!("a range is not a value"), help)
            }
            ast::ExprKind::Quantifier { kind, var, list, body } => {
                self.quantifier(*kind, var, list, body, span)
            }
        }
    }

    fn literal(&mut self, literal: &Literal, span: Span) -> Expr {
        if let Literal::String(text) = literal {
            self.no_template(text, span);
        }
        constant(literal_json(literal), span)
    }

    fn logic(&mut self, op: Op, parts: &'a [ast::Expr]) -> Checked<CondKind> {
        let mut parts = self.conds(parts)?;
        if op == Op::Unless {
            parts.iter_mut().skip(1).for_each(exception);
        }
        Ok(if op == Op::Or { CondKind::Or(parts) } else { CondKind::And(parts) })
    }

    /// Checks `if C then a else b`; its type is the join of the types of `a` and `b`.
    fn conditional(&mut self, [cond, then, other]: &'a [ast::Expr; 3], span: Span) -> Checked<Expr> {
        let cond = self.cond(cond);
        let (then, other) = (self.value(then), self.value(other));
        let (cond, then, other) = (Box::new(cond?), Box::new(then?), Box::new(other?));
        let (ty, optional) = (then.ty.join(&other.ty), then.optional || other.optional);
        Ok(Expr { kind: ExprKind::If { cond, then, other }, ty, optional, span })
    }

    /// Returns a constant, or reports an error if nested constants made it too large or too deep.
    fn sized(&mut self, expr: Expr) -> Checked<Expr> {
        if as_json(&expr).is_some_and(|json| nested_size(json, MAX_NODES) > MAX_NODES) {
            return self.too_large(expr.span, true);
        }
        if as_json(&expr).is_some_and(|json| is_deeper(json, rulec_base::json::MAX_DEPTH)) {
            let message = message!(
                "with its definitions expanded, this is nested more than {} deep",
                rulec_base::json::MAX_DEPTH
            );
            let help = message!(
                "no message can be nested this deep, so no value could be equal to this one; use fewer levels"
            );
            return self.fail(Code::ExpansionTooLarge, expr.span, message, help);
        }
        Ok(expr)
    }

    /// Checks an expression that must be a condition.
    pub(super) fn cond(&mut self, expr: &'a ast::Expr) -> Checked<Cond> {
        let term = self.term(expr)?;
        self.term_as_cond(term)
    }

    fn term_as_cond(&mut self, term: Term) -> Checked<Cond> {
        let value = match term {
            Term::Cond(cond) => return Ok(cond),
            Term::Expr(value) => value,
        };
        let span = value.span;
        if let Some(Json::Bool(known)) = as_json(&value) {
            return Ok(Cond { kind: CondKind::Const(*known), span });
        }
        if !value.ty.kinds.overlaps(KindSet::BOOL) {
            let message = message!("expected a condition, but this is {}", value.ty.with_article());
            let help = match value.ty.kinds {
                kinds if kinds.is_subset(KindSet::NUMBER) => message!("compare it, as in `x > 0`"),
                kinds if kinds == KindSet::STRING && value.as_const().is_some() => {
                    message!(
                        "each side of `and` and `or` must be a whole condition; for one of several texts, \
                        write `x contains any [\"a\", \"b\"]` or `x in [\"a\", \"b\"]`"
                    )
                }
                kinds if kinds == KindSet::STRING => {
                    message!("compare or search it, as in `x == \"a\"` or `x contains \"a\"`")
                }
                kinds if kinds == KindSet::LIST => {
                    message!("test its elements or its length, as in `x contains \"a\"` or `len(x) > 0`")
                }
                _ => message!("compare it with a value, or write `x is present`"),
            };
            let diagnostic = Diagnostic::new(Code::ConditionWanted, span, message);
            return self.report_type(diagnostic.here(value.ty.to_message()).help(help), &value);
        }
        self.constrain(&value, KindSet::BOOL, &Reason::Fixed(message!("a condition")));
        Ok(Predicate::plain(None, value, Operand::Nothing).at(span))
    }

    /// Checks the complete condition of a rule, which must not be too large.
    pub(super) fn whole_cond(&mut self, expr: &'a ast::Expr) -> Checked<Cond> {
        let cond = self.cond(expr)?;
        self.measured(Part::Cond(&cond), expr.span)?;
        Ok(cond)
    }

    /// Checks every condition, so that one run reports the errors of all conditions.
    pub(super) fn conds(&mut self, parts: &'a [ast::Expr]) -> Checked<Vec<Cond>> {
        let mut checked = Vec::with_capacity(parts.len());
        let mut all = true;
        for part in parts {
            match self.cond(part) {
                Ok(cond) => checked.push(cond),
                Err(Reported) => all = false,
            }
        }
        if all { Ok(checked) } else { Err(Reported) }
    }

    /// Checks an expression that must be a value; a condition becomes true, false or missing.
    pub(super) fn value(&mut self, expr: &'a ast::Expr) -> Checked<Expr> {
        Ok(match self.term(expr)? {
            Term::Expr(value) => value,
            Term::Cond(cond) => {
                let (span, optional) = (cond.span, self.may_be_unknown(&cond));
                Expr { kind: ExprKind::Cond(Box::new(cond)), ty: Ty::BOOL, optional, span }
            }
        })
    }

    /// True if a condition may be unknown even if the message satisfies the `input` contract.
    fn may_be_unknown(&self, cond: &Cond) -> bool {
        let presence = matches!(&cond.kind, CondKind::Test(test)
            if matches!(test.op, Some(Op::IsMissing | Op::IsPresent)));
        let always_known = presence || matches!(cond.kind, CondKind::NotTrue(_));
        !always_known && cond.parts().into_iter().any(|part| self.part_may_be_unknown(part))
    }

    fn part_may_be_unknown(&self, part: Part<'_>) -> bool {
        match part {
            Part::Cond(cond) => self.may_be_unknown(cond),
            Part::Expr(value) => value.optional,
            Part::Let(id) => self.part_may_be_unknown(self.program.let_body(id).part()),
        }
    }

    pub(super) fn name(&mut self, name: &'a str, span: Span) -> Checked<Term> {
        if let Some(binding) = self.scope.get(name) {
            binding.used.set(true);
            if let ExprKind::Let(id) = binding.expr.kind {
                return Ok(self.use_of_let(id, span));
            }
            let expr = Expr { span, ..binding.expr.clone() };
            self.noted.extend(binding.guard.clone());
            return Ok(Term::Expr(expr));
        }
        if let Some(symbol) = self.symbols.definition(span.file, name) {
            self.used.insert(&symbol.name.node);
            let declared = symbol.name.span;
            return match self.definitions.get(name).cloned().flatten() {
                None => Err(Reported),
                Some(Declared::Let(id)) => Ok(self.use_of_let(id, span)),
                Some(Declared::List(list)) => Ok(Term::Expr(Expr { span, ..list })),
                Some(Declared::Def(_) | Declared::Extern(_)) => {
                    let message = message!("`{name}` is a function and needs arguments");
                    self.report(
                        Diagnostic::new(Code::UnknownName, span, message)
                            .label(declared, message!("declared here"))
                            .help(message!("write `{name}(…)`")),
                    )
                }
            };
        }
        self.message_path(&Path::new(name, span), span).map(Term::Expr)
    }

    fn use_of_let(&self, id: hir::LetId, span: Span) -> Term {
        match self.program.let_body(id) {
            Term::Cond(_) => Term::Cond(Cond { kind: CondKind::Let(id), span }),
            Term::Expr(body) => {
                let kind = body.as_const().cloned().map_or(ExprKind::Let(id), ExprKind::Const);
                Term::Expr(Expr { kind, ty: body.ty.clone(), optional: body.optional, span })
            }
        }
    }

    fn quantifier(
        &mut self,
        kind: QuantifierKind,
        var: &'a Ident,
        list: &'a ast::Expr,
        body: &'a ast::Expr,
        span: Span,
    ) -> Checked<Term> {
        let list = self.value(list)?;
        if !list.ty.kinds.overlaps(KindSet::LIST) {
            let message = message!("expected a list, but this is {}", list.ty.with_article());
            let diagnostic = Diagnostic::new(Code::ListWanted, list.span, message);
            return self.report_type(diagnostic.here(list.ty.to_message()), &list);
        }
        self.constrain(
            &list,
            KindSet::LIST,
            &Reason::Fixed(message!("a list, because its elements are read")),
        );
        let element = if list.ty.kinds == KindSet::LIST { list.ty.element() } else { Ty::ANY };
        let bound = self.new_var(&var.node, element.kinds);
        let expr = Expr { kind: ExprKind::Var(bound.id), ty: element, optional: false, span: var.span };
        self.scope.push(Binding::new(&var.node, expr, var.span));
        let body = self.cond(body);
        self.scope.pop();
        let (list, body) = (Box::new(list), Box::new(body?));
        Ok(match kind {
            QuantifierKind::Count => {
                let optional = list.optional;
                let kind = ExprKind::Count { list, var: bound, body };
                Term::Expr(Expr { kind, ty: Ty::INT, optional, span })
            }
            QuantifierKind::Any | QuantifierKind::All => {
                let all = kind == QuantifierKind::All;
                Term::Cond(Cond { kind: CondKind::Quantifier { all, list, var: bound, body }, span })
            }
        })
    }

    pub(super) fn new_var(&mut self, name: &str, kinds: KindSet) -> Var {
        let id = VarId(self.vars);
        self.vars += 1;
        Var { id, name: name.into(), kinds }
    }

    /// Narrows the undeclared field that an expression reads to these kinds of value.
    pub(super) fn constrain(&mut self, expr: &Expr, kinds: KindSet, reason: &Reason) {
        if !self.fields.narrows() {
            return;
        }
        match &expr.kind {
            ExprKind::Slot(id) => {
                let slot = self.fields.path(*id).clone();
                // The type of a read with `as` and of a payload field is declared, so other uses do
                // not narrow it.
                if slot.root.is_none() && slot.kinds == expr.ty.kinds && !expr.ty.kinds.is_subset(kinds) {
                    self.fields.narrow(&slot.path, kinds, expr.span, reason);
                }
            }
            ExprKind::Let(id) => {
                if let Term::Expr(body) = self.program.let_body(*id).clone() {
                    self.constrain(&body, kinds, reason);
                }
            }
            ExprKind::If { then, other, .. } => {
                self.constrain(then, kinds, reason);
                self.constrain(other, kinds, reason);
            }
            ExprKind::Op(Op::Coalesce, left, right) => {
                self.constrain(left, kinds, reason);
                if let Some(right) = right {
                    self.constrain(right, kinds, reason);
                }
            }
            _ => {}
        }
    }

    /// Adds a label that shows where the type of a value comes from.
    pub(super) fn with_origin(&self, diagnostic: Diagnostic, expr: &Expr) -> Diagnostic {
        match &expr.kind {
            ExprKind::Slot(id) => {
                let slot = self.fields.path(*id);
                let path = &slot.path;
                if slot.root.is_some() {
                    return diagnostic;
                }
                let name = path.join(".");
                if let Some(place) = self.fields.declared_at(path) {
                    return diagnostic.label(place, message!("`{name}` is declared here"));
                }
                match self.fields.first_use(path) {
                    Some((place, reason)) if diagnostic.span() != Some(place) => {
                        diagnostic.label(place, message!("`{name}` is used here as {reason}"))
                    }
                    _ if is_text(path) && diagnostic.help.is_none() => diagnostic
                        .help(message!("`text` is a string unless an `input` block declares another type")),
                    _ => diagnostic,
                }
            }
            ExprKind::Let(id) => {
                let hir::Let { name, span, .. } = &self.program.lets[id.index()];
                diagnostic.label(*span, message!("`{name}` is {} because of this definition", expr.ty))
            }
            ExprKind::Var(_) | ExprKind::Param(_) => {
                let same = |binding: &&Binding| match (&binding.expr.kind, &expr.kind) {
                    (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
                    (ExprKind::Param(a), ExprKind::Param(b)) => a == b,
                    _ => false,
                };
                match self.scope.bindings().iter().rev().find(same) {
                    Some(Binding { name, expr: bound, .. }) => {
                        diagnostic.label(bound.span, message!("`{name}` is {} here", expr.ty))
                    }
                    None => diagnostic,
                }
            }
            ExprKind::Read(inner, _) => self.with_origin(diagnostic, inner),
            _ => diagnostic,
        }
    }
}

/// Turns a condition into the exception of an `unless`, which is true unless the condition is true.
fn exception(cond: &mut Cond) {
    let never = Cond { kind: CondKind::Const(false), span: cond.span };
    let inner = Box::new(std::mem::replace(cond, never));
    cond.kind = CondKind::NotTrue(inner);
}
