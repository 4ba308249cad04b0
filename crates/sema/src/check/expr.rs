//! Checks expressions: names, paths into the message, literals, logic and quantifiers.

use super::constant::{
    NULL_HELP, build_constant, build_list_value, count_nested_values, is_nested_deeper_than,
    json_of_constant, literal_json,
};
use super::fields::NarrowingReason;
use super::names::is_message_text;
use super::path::ConstantPath;
use super::{AlreadyReported, Binding, Checked, CheckedDefinition, Checker, MAX_CONDITION_NODES};
use crate::hir::{self, Cond, CondKind, Expr, ExprKind, Operand, Part, Predicate, Term};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::ast::{self, BlockKind, Literal};
use serde_json::Value as Json;

impl<'a> Checker<'a> {
    /// Checks and lowers an expression, which may turn out to be a condition or a value.
    pub(super) fn check_term(&mut self, expr: &'a ast::Expr) -> Checked<Term> {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Literal(Literal::Null) => {
                self.fail(Code::OperatorType, span, message!("null cannot be used as a value"), NULL_HELP)
            }
            ast::ExprKind::Literal(literal) => Ok(Term::Expr(self.build_literal(literal, span))),
            ast::ExprKind::Name(name) => self.resolve_name(name, span),
            ast::ExprKind::Field(..) | ast::ExprKind::Index(..) => self.check_path(expr).map(Term::Expr),
            ast::ExprKind::List(items) => {
                self.check_joined_elements(items, span, false)?;
                let mut elements = Vec::new();
                for item in items {
                    elements.push(match &item.kind {
                        ast::ExprKind::Literal(Literal::Null) => build_constant(Json::Null, item.span),
                        _ => self.check_value(item)?,
                    });
                }
                self.check_constant_size(build_list_value(elements, span)).map(Term::Expr)
            }
            ast::ExprKind::Record(_) => {
                let json = self.evaluate_constant(expr)?;
                self.check_constant_size(build_constant(json, span)).map(Term::Expr)
            }
            ast::ExprKind::Call(name, args) => self.check_call(name, args, span),
            ast::ExprKind::Unary(op, operand) if op.node == Op::Not => {
                let inner = self.check_cond(operand)?;
                Ok(Term::Cond(Cond { kind: CondKind::Not(Box::new(inner)), span }))
            }
            ast::ExprKind::Unary(op, operand) => {
                self.check_arithmetic(op, operand, None, span).map(Term::Expr)
            }
            ast::ExprKind::Logic(op, parts) => {
                let kind = self.check_logic(*op, parts)?;
                Ok(Term::Cond(Cond { kind, span }))
            }
            ast::ExprKind::If(parts) => self.check_conditional(parts, span).map(Term::Expr),
            ast::ExprKind::Block(kind, parts) => {
                let parts = self.check_conds(parts)?;
                if *kind == BlockKind::Any {
                    self.warn_or_always_true(&parts);
                }
                let kind = match kind {
                    BlockKind::All => CondKind::And(parts),
                    BlockKind::Any => CondKind::Or(parts),
                    BlockKind::None => CondKind::Not(Box::new(Cond { kind: CondKind::Or(parts), span })),
                };
                Ok(Term::Cond(Cond { kind, span }))
            }
            ast::ExprKind::Binary(binary) => self.check_binary(binary, span),
            ast::ExprKind::Presence { operand, op } => {
                let left = self.check_value(operand)?;
                self.warn_presence_of_text(&left, span);
                Ok(Term::Cond(Predicate::without_modifiers(op.node, left, Operand::Nothing).into_cond(span)))
            }
            ast::ExprKind::As(operand, ty) => self.check_typed_read(operand, ty, span).map(Term::Expr),
            ast::ExprKind::Range { .. } => {
                let help = message!("write a range on the right of `in`: `ctx.n in 3..=10`");
                self.fail(Code::OperatorType, span, message!("a range is not a value"), help)
            }
            ast::ExprKind::Quantifier { kind, var, list, body } => {
                self.check_quantifier(kind, var, list, body, span)
            }
            ast::ExprKind::HistoryPart(part) => self.check_history_part(part, span).map(Term::Expr),
        }
    }

    fn build_literal(&mut self, literal: &Literal, span: Span) -> Expr {
        if let Literal::String(text) = literal {
            self.warn_template(text, span);
        }
        build_constant(literal_json(literal), span)
    }

    fn check_logic(&mut self, op: Op, parts: &'a [ast::Expr]) -> Checked<CondKind> {
        self.check_bare_texts(op, parts)?;
        let mut parts = self.check_conds(parts)?;
        if op == Op::Or {
            self.warn_or_always_true(&parts);
        }
        if op == Op::Unless {
            parts.iter_mut().skip(1).for_each(replace_by_complement);
        }
        Ok(if op == Op::Or { CondKind::Or(parts) } else { CondKind::And(parts) })
    }

    /// Checks `if C then a else b`. The type of the whole expression is the smallest type that
    /// contains the types of `a` and `b`.
    fn check_conditional(&mut self, [cond, then, other]: &'a [ast::Expr; 3], span: Span) -> Checked<Expr> {
        let cond = self.check_cond(cond);
        let (then, other) = (self.check_value(then), self.check_value(other));
        let (then, other) = self.convert_constants_to_decimals(then?, other?)?;
        let (cond, then, other) = (Box::new(cond?), Box::new(then), Box::new(other));
        self.warn_covered_condition(&cond, &then, &other);
        let (ty, optional) = (then.ty.join(&other.ty), then.may_be_missing || other.may_be_missing);
        Ok(Expr {
            kind: ExprKind::If { cond, then_value: then, else_value: other },
            ty,
            may_be_missing: optional,
            span,
        })
    }

    /// Reports an error if a constant is too large or nested too deep; otherwise returns the
    /// constant. A short text can be a large constant, because it may contain other constants by
    /// name.
    fn check_constant_size(&mut self, expr: Expr) -> Checked<Expr> {
        if json_of_constant(&expr)
            .is_some_and(|json| count_nested_values(json, MAX_CONDITION_NODES) > MAX_CONDITION_NODES)
        {
            return self.report_too_large(expr.span, true);
        }
        if json_of_constant(&expr)
            .is_some_and(|json| is_nested_deeper_than(json, rulec_base::json::MAX_NESTING_DEPTH))
        {
            let message = message!(
                "with its definitions expanded, this is nested more than {} deep",
                rulec_base::json::MAX_NESTING_DEPTH
            );
            let help = message!(
                "no message can be nested this deep, so no value could be equal to this one; use fewer levels"
            );
            return self.fail(Code::ExpansionTooLarge, expr.span, message, help);
        }
        Ok(expr)
    }

    /// Checks an expression that must be a condition. A value of type bool is converted to the
    /// condition that it is true.
    pub(super) fn check_cond(&mut self, expr: &'a ast::Expr) -> Checked<Cond> {
        if let ast::ExprKind::Record(entries) = &expr.kind {
            return self.report_record_as_condition(entries, expr.span);
        }
        let term = self.check_term(expr)?;
        self.term_into_cond(term)
    }

    fn term_into_cond(&mut self, term: Term) -> Checked<Cond> {
        let value = match term {
            Term::Cond(cond) => return Ok(cond),
            Term::Expr(value) => value,
        };
        let span = value.span;
        if value.ty.kinds.overlaps(KindSet::BOOL)
            && let Some(error) = self.non_condition_case_error(&value)
        {
            return self.report(error);
        }
        if let Some(Json::Bool(value_is_true)) = json_of_constant(&value) {
            return Ok(Cond { kind: CondKind::Const(*value_is_true), span });
        }
        if !value.ty.kinds.overlaps(KindSet::BOOL) {
            let message = message!("expected a condition, but this is {}", value.ty.with_article());
            let slice = self.loaded.sources.slice(span);
            let is_for_the_rest = matches!(
                slice.trim_start_matches('r').trim_matches('"'),
                ".*" | "*" | ".+" | "_" | "default" | "else" | "otherwise" | "any"
            );
            let before =
                self.loaded.sources.get(span.file).map_or("", |file| &file.text[..span.start as usize]);
            let is_negated = before.trim_end().ends_with(" not") || before.ends_with('!');
            let help = match value.ty.kinds {
                kinds if is_negated && is_short_path(slice) && value.as_const().is_none() => match kinds {
                    KindSet::LIST => message!("write `len({slice}) == 0`, or `{slice} is missing`"),
                    KindSet::STRING => message!("write `{slice} is missing`, or `{slice} == \"\"`"),
                    kinds if kinds.is_subset_of(KindSet::NUMBER) => {
                        message!("write `{slice} == 0`, or `{slice} is missing`")
                    }
                    _ => message!("write `{slice} is missing`"),
                },
                KindSet::STRING if is_for_the_rest && self.output_alias.is_some() => {
                    message!("for the rest write `otherwise -> NODE`")
                }
                KindSet::STRING if is_for_the_rest => message!("for the rest write `default -> HANDLER`"),
                kinds if kinds.is_subset_of(KindSet::NUMBER) && value.as_const().is_none() => {
                    let file = self.loaded.sources.get(span.file);
                    let written = file.and_then(|file| file.text.get(span.range())).unwrap_or("x");
                    message!("compare it, as in `{written} > 0`")
                }
                kinds if kinds.is_subset_of(KindSet::NUMBER) => {
                    message!("each side of `and` and `or` must be a whole condition, such as `x > 3`")
                }
                kinds if kinds == KindSet::STRING && value.as_const().is_some() => {
                    message!(
                        "each side of `and` and `or` must be a whole condition; for one of several texts, \
                        write `x contains any [\"a\", \"b\"]` or `x in [\"a\", \"b\"]`"
                    )
                }
                kinds if kinds == KindSet::STRING && is_short_path(slice) && value.may_be_missing => {
                    message!(
                        "to test whether it is there, write `{slice} is present`; to compare it, write `{slice} == \"a\"`"
                    )
                }
                kinds if kinds == KindSet::STRING => {
                    message!("compare or search it, as in `x == \"a\"` or `x contains \"a\"`")
                }
                kinds if kinds == KindSet::LIST => {
                    message!("test its elements or its length, as in `x contains \"a\"` or `len(x) > 0`")
                }
                _ if is_short_path(slice) => {
                    message!("compare it with a value, or write `{slice} is present`")
                }
                _ => message!("compare it with a value, or write `x is present`"),
            };
            let diagnostic = Diagnostic::new(Code::ConditionWanted, span, message);
            return self.report_with_type_origin(diagnostic.here(value.ty.to_message()).help(help), &value);
        }
        self.narrow_field(&value, KindSet::BOOL, &NarrowingReason::Fixed(message!("a condition")));
        Ok(Predicate::without_modifiers(None, value, Operand::Nothing).into_cond(span))
    }

    /// Checks the complete condition of a rule, including its size after definitions are expanded.
    pub(super) fn check_rule_cond(&mut self, expr: &'a ast::Expr) -> Checked<Cond> {
        let cond = self.check_cond(expr)?;
        self.measure_within_limits(Part::Cond(&cond), expr.span)?;
        Ok(cond)
    }

    /// Checks all conditions in `parts`, even after an error, so that one run reports every error.
    pub(super) fn check_conds(&mut self, parts: &'a [ast::Expr]) -> Checked<Vec<Cond>> {
        let mut checked = Vec::with_capacity(parts.len());
        let mut all_valid = true;
        for part in parts {
            match self.check_cond(part) {
                Ok(cond) => checked.push(cond),
                Err(AlreadyReported) => all_valid = false,
            }
        }
        if all_valid { Ok(checked) } else { Err(AlreadyReported) }
    }

    /// Checks an expression that must be a value. A condition is converted to a value: true, false,
    /// or missing if the condition is unknown.
    pub(super) fn check_value(&mut self, expr: &'a ast::Expr) -> Checked<Expr> {
        Ok(match self.check_term(expr)? {
            Term::Expr(value) => value,
            Term::Cond(cond) => {
                let (span, optional) = (cond.span, self.may_be_unknown(&cond));
                Expr { kind: ExprKind::Cond(Box::new(cond)), ty: Ty::BOOL, may_be_missing: optional, span }
            }
        })
    }

    /// True if a condition can be unknown (neither true nor false) although the message satisfies
    /// the `input` declaration. A condition can only be unknown if a value that it reads is
    /// missing.
    fn may_be_unknown(&self, cond: &Cond) -> bool {
        let is_presence_test = matches!(&cond.kind, CondKind::Predicate(test)
            if matches!(test.op, Some(Op::IsMissing | Op::IsPresent)));
        let is_never_unknown = is_presence_test || matches!(cond.kind, CondKind::NotTrue(_));
        !is_never_unknown && cond.parts().into_iter().any(|part| self.part_may_be_unknown(part))
    }

    fn part_may_be_unknown(&self, part: Part<'_>) -> bool {
        match part {
            Part::Cond(cond) => self.may_be_unknown(cond),
            Part::Expr(value) => value.may_be_missing,
            Part::Let(id) => self.part_may_be_unknown(self.program.let_body(id).as_part()),
        }
    }

    pub(super) fn resolve_name(&mut self, name: &'a str, span: Span) -> Checked<Term> {
        if let Some(binding) = self.scope.get(name) {
            binding.is_used.set(true);
            if let ExprKind::Let(id) = binding.expr.kind {
                return Ok(self.let_reference(id, span));
            }
            let expr = Expr { span, ..binding.expr.clone() };
            self.pending_type_tests.extend(binding.guard.clone());
            return Ok(Term::Expr(expr));
        }
        if let Some(expr) = self.resolve_history_name(name, span) {
            return Ok(Term::Expr(expr));
        }
        if let Some(symbol) = self.symbols.definition(span.file, name) {
            self.used_names.insert(&symbol.name.node);
            let declared = symbol.name.span;
            self.warn_other_settings(name, declared, span);
            return match self.definitions.get(name).cloned().flatten() {
                None => Err(AlreadyReported),
                Some(CheckedDefinition::Let(id)) => Ok(self.let_reference(id, span)),
                Some(CheckedDefinition::List(list)) => Ok(Term::Expr(Expr { span, ..list })),
                Some(CheckedDefinition::Def(_) | CheckedDefinition::Extern(_)) => {
                    let message = message!("`{name}` is a function and needs arguments");
                    self.report(
                        Diagnostic::new(Code::UnknownName, span, message)
                            .label(declared, message!("declared here"))
                            .help(message!("write `{name}(…)`")),
                    )
                }
            };
        }
        self.check_message_path(&ConstantPath::new(name, span), span).map(Term::Expr)
    }

    fn let_reference(&self, id: hir::LetId, span: Span) -> Term {
        match self.program.let_body(id) {
            Term::Cond(_) => Term::Cond(Cond { kind: CondKind::Let(id), span }),
            Term::Expr(body) => {
                let kind = body.as_const().cloned().map_or(ExprKind::Let(id), ExprKind::Const);
                Term::Expr(Expr { kind, ty: body.ty.clone(), may_be_missing: body.may_be_missing, span })
            }
        }
    }

    /// If the value of `expr` comes from an undeclared field, narrows the type of this field to
    /// `kinds`. Otherwise does nothing. `reason` explains the narrowing in later diagnostics.
    pub(super) fn narrow_field(&mut self, expr: &Expr, kinds: KindSet, reason: &NarrowingReason) {
        if !self.fields.is_narrowing_pass() {
            return;
        }
        match &expr.kind {
            ExprKind::Slot(id) => {
                let slot = self.fields.slot(*id).clone();
                // A payload field and a read with `as` have a declared type, so other uses do not
                // narrow this type.
                if slot.root.is_none() && slot.kinds == expr.ty.kinds && !expr.ty.kinds.is_subset_of(kinds) {
                    self.fields.narrow_kinds(&slot.path, kinds, expr.span, reason);
                }
            }
            ExprKind::Let(id) => {
                if let Term::Expr(body) = self.program.let_body(*id).clone() {
                    self.narrow_field(&body, kinds, reason);
                }
            }
            ExprKind::If { then_value: then, else_value: other, .. } => {
                self.narrow_field(then, kinds, reason);
                self.narrow_field(other, kinds, reason);
            }
            ExprKind::Op(Op::Coalesce, left, right) => {
                self.narrow_field(left, kinds, reason);
                if let Some(right) = right {
                    self.narrow_field(right, kinds, reason);
                }
            }
            _ => {}
        }
    }

    /// Adds a label to the diagnostic, on the declaration or use that determines the type of
    /// `expr`.
    pub(super) fn with_type_origin(&self, diagnostic: Diagnostic, expr: &Expr) -> Diagnostic {
        match &expr.kind {
            ExprKind::Slot(id) => {
                let slot = self.fields.slot(*id);
                let path = &slot.path;
                if slot.root.is_some() {
                    return diagnostic;
                }
                let name = path.join(".");
                if let Some(declared_span) = self.fields.declaration_span(path) {
                    return diagnostic.label(declared_span, message!("`{name}` is declared here"));
                }
                match self.fields.narrowing_origin(path) {
                    Some((declared_span, reason)) if diagnostic.span() != Some(declared_span) => {
                        diagnostic.label(declared_span, message!("`{name}` is used here as {reason}"))
                    }
                    _ if is_message_text(path) && diagnostic.help.is_none() => diagnostic
                        .help(message!("`text` is a string unless an `input` block declares another type")),
                    _ => diagnostic,
                }
            }
            ExprKind::Let(id) => {
                let hir::Let { name, span, .. } = &self.program.lets[id.index()];
                diagnostic.label(*span, message!("`{name}` is {} because of this definition", expr.ty))
            }
            ExprKind::Var(_) | ExprKind::Param(_) => {
                let is_same_value = |binding: &&Binding| match (&binding.expr.kind, &expr.kind) {
                    (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
                    (ExprKind::Param(a), ExprKind::Param(b)) => a == b,
                    _ => false,
                };
                match self.scope.bindings().iter().rev().find(is_same_value) {
                    Some(Binding { name, expr: bound, .. }) => {
                        diagnostic.label(bound.span, message!("`{name}` is {} here", expr.ty))
                    }
                    None => diagnostic,
                }
            }
            ExprKind::Read(inner, _) => self.with_type_origin(diagnostic, inner),
            _ => diagnostic,
        }
    }
}

/// Replaces `cond`, the condition after `unless`, by its complement: a condition that is true if
/// `cond` is false or unknown.
fn replace_by_complement(cond: &mut Cond) {
    let placeholder = Cond { kind: CondKind::Const(false), span: cond.span };
    let inner = Box::new(std::mem::replace(cond, placeholder));
    cond.kind = CondKind::NotTrue(inner);
}

/// True for a path such as `user.token` that is short enough for a help text.
fn is_short_path(written: &str) -> bool {
    written.len() <= 40
        && !written.is_empty()
        && written.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
}
