//! Calls: built-in functions, host functions, and `def`s, whose body is put in place of the call.

use super::fields::Reason;
use super::measure::measure;
use super::read::{accepted, read};
use super::{Checked, Checker, Declared, Def, MAX_NODES, Reported};
use crate::builtins::{self, Function};
use crate::diag::{Code, Diagnostic, nearest};
use crate::ops::{Op, TestMode};
use crate::sema::hir::{self, Cond, CondKind, Expr, ExprKind, Operand, Predicate, Term, Var};
use crate::span::Span;
use crate::syntax::ast::{self, Ident};
use crate::ty::{Inner, KindSet, Ty};
use std::sync::Arc;

impl<'a> Checker<'a> {
    pub(super) fn def(&mut self, params: &'a [ast::Field], body: &'a ast::Expr) -> Checked<Declared> {
        let record = self.record(params);
        let mut bound = Vec::new();
        for (at, (field, written)) in record.fields.into_iter().zip(params).enumerate() {
            let expr = Expr {
                kind: ExprKind::Param(at as u32),
                ty: field.ty.clone(),
                optional: field.optional,
                span: written.name.span,
            };
            self.scope.push(super::Binding::new(field.name.clone(), expr, written.name.span));
            bound.push((field.name, field.ty));
        }
        let body_term = self.term(body);
        self.scope.truncate(self.scope.len() - bound.len());
        let body_term = body_term?;
        self.measured(&body_term, body.span)?;
        Ok(Declared::Def(Arc::new(Def { params: bound, body: body_term })))
    }

    pub(super) fn extern_fn(
        &mut self,
        name: &Ident,
        params: &'a [ast::Field],
        result: &'a ast::TypeExpr,
    ) -> Checked<Declared> {
        let record = self.record(params);
        let ty = self.ty(result)?;
        let element = if ty.kinds == KindSet::LIST { ty.element().kinds } else { KindSet::EMPTY };
        let composite = |kinds: KindSet| kinds.overlaps(KindSet::DICT) || kinds == KindSet::ALL;
        if composite(ty.kinds) || composite(element) {
            let message = format!("a host function cannot return {ty}");
            return self.report(
                Diagnostic::new(Code::ArgumentType, result.span, message)
                    .help("it may return a bool, number, string, datetime or a list of these"),
            );
        }
        let id = hir::ExternId(self.program.externs.len() as u32);
        let params = record.fields.into_iter().map(|field| (field.name, field.ty)).collect();
        self.program.externs.push(hir::Extern {
            name: name.node.as_str().into(),
            params,
            result: ty,
            feature: None,
            span: name.span,
        });
        Ok(Declared::Extern(id))
    }

    /// `name(args)`
    pub(super) fn call(&mut self, name: &'a Ident, args: &'a [ast::Expr], span: Span) -> Checked<Term> {
        if let Some(function) = Function::named(&name.node) {
            return self.builtin_call(function, args, span).map(Term::Expr);
        }
        let Some(symbol) = self.symbols.definition(name.span.file, &name.node) else {
            return self.unknown_function(name);
        };
        self.used.insert(&symbol.name.node);
        let declared = symbol.name.span;
        match self.definitions.get(name.node.as_str()).cloned().flatten() {
            None => Err(Reported),
            Some(Declared::Def(def)) => {
                let args = self.arguments(name, args, &def.params, declared, span)?;
                let sizes =
                    args.iter().map(|arg| measure(&Term::Expr(arg.clone()), &self.let_measures).nodes);
                let mut replaced =
                    Substitution { sizes: sizes.collect(), args: &args, made: 0, filled: Vec::new() };
                let term = match &def.body {
                    Term::Cond(cond) => {
                        let cond = replaced.cond(cond);
                        Term::Cond(Cond {
                            kind: CondKind::Call(name.node.as_str().into(), Box::new(cond)),
                            span,
                        })
                    }
                    Term::Expr(expr) => Term::Expr(Expr { span, ..replaced.expr(expr) }),
                };
                if replaced.made > MAX_NODES {
                    return self.too_large(span, true);
                }
                for (op, mode, right) in std::mem::take(&mut replaced.filled) {
                    self.keywords_fit(op, mode, &right)?;
                }
                self.measured(&term, span)?;
                Ok(term)
            }
            Some(Declared::Extern(id)) => {
                let (params, ty) = {
                    let function = &self.program.externs[id.index()];
                    (function.params.clone(), function.result.clone())
                };
                let args = self.arguments(name, args, &params, declared, span)?;
                Ok(Term::Expr(Expr { kind: ExprKind::Extern(id, args), ty, optional: true, span }))
            }
            Some(Declared::Let(..) | Declared::List(_)) => {
                let message = format!("`{}` takes no arguments", name.node);
                self.report(
                    Diagnostic::new(Code::UnknownFunction, name.span, message)
                        .here("called here")
                        .label(declared, format!("declared as a {}", symbol.node.keyword()))
                        .help(format!("write `{}` without parentheses", name.node)),
                )
            }
        }
    }

    fn unknown_function<T>(&mut self, name: &Ident) -> Checked<T> {
        let defined = self.symbols.definitions.iter().map(|symbol| symbol.name.node.as_str());
        let near =
            nearest(&name.node, builtins::TABLE.iter().map(|row| row.name).chain(defined)).map(str::to_owned);
        let diagnostic = Diagnostic::new(
            Code::UnknownFunction,
            name.span,
            format!("there is no function `{}`", name.node),
        );
        let known_elsewhere = match name.node.to_lowercase().as_str() {
            "length" | "size" | "strlen" | "lenght" => Some("len"),
            "lowercase" | "to_lower" | "tolower" => Some("lower"),
            "uppercase" | "to_upper" | "toupper" => Some("upper"),
            "strip" => Some("trim"),
            _ => None,
        };
        if let Some(op) = Op::infix(&name.node) {
            let spelling = op.info().spelling;
            return self.report(
                diagnostic.help(format!("`{spelling}` stands between its operands: `x {spelling} y`")),
            );
        }
        let diagnostic = match known_elsewhere.or(near.as_deref()) {
            Some(near) => diagnostic.did_you_mean(name.span, Some(near)),
            None => {
                let names: Vec<&str> = builtins::TABLE.iter().map(|row| row.name).collect();
                diagnostic.help(format!(
                    "the functions are {}; `def` and `extern fn` declare others",
                    names.join(", ")
                ))
            }
        };
        self.report_unknown(&name.node, diagnostic)
    }

    fn builtin_call(&mut self, function: Function, written: &'a [ast::Expr], span: Span) -> Checked<Expr> {
        let row = function.info();
        let fits =
            if row.variadic { written.len() >= row.params.len() } else { written.len() == row.params.len() };
        if !fits {
            let message = format!(
                "`{}` takes {}, not {}",
                row.name,
                count(row.params.len(), row.variadic),
                written.len()
            );
            return self.report(
                Diagnostic::new(Code::ArgumentCount, span, message)
                    .help(format!("write `{}`", row.signature())),
            );
        }
        let mut args = Vec::new();
        for (at, written) in written.iter().enumerate() {
            let (param, kinds) = row.params[at.min(row.params.len() - 1)];
            let arg = self.value(written)?;
            let wanted = Ty::plain(kinds);
            args.push(self.argument(row.name, param, arg, &wanted, None)?);
        }
        let types: Vec<Ty> = args.iter().map(|arg| arg.ty.clone()).collect();
        let optional = args.iter().any(|arg| arg.optional);
        Ok(Expr { ty: row.result_ty(&types), kind: ExprKind::Call(function, args), optional, span })
    }

    fn arguments(
        &mut self,
        name: &Ident,
        written: &'a [ast::Expr],
        params: &[(Arc<str>, Ty)],
        declared: Span,
        span: Span,
    ) -> Checked<Vec<Expr>> {
        if written.len() != params.len() {
            let message =
                format!("`{}` takes {}, not {}", name.node, count(params.len(), false), written.len());
            return self.report(
                Diagnostic::new(Code::ArgumentCount, span, message).label(declared, "declared here"),
            );
        }
        let mut args = Vec::new();
        for (written, (param, ty)) in written.iter().zip(params) {
            let arg = self.value(written)?;
            args.push(self.argument(&name.node, param, arg, ty, Some(declared))?);
        }
        Ok(args)
    }

    /// Holds one argument against its parameter; a value that may be of another kind becomes a
    /// typed read.
    pub(super) fn argument(
        &mut self,
        function: &str,
        param: &str,
        arg: Expr,
        wanted: &Ty,
        declared: Option<Span>,
    ) -> Checked<Expr> {
        let arg = self.as_datetime(arg, wanted.kinds)?;
        let accepted = accepted(wanted.kinds);
        let insides_fit = match (&arg.ty.inner, &wanted.inner) {
            (Inner::Unknown, _) | (_, Inner::Unknown) => true,
            _ => arg.ty.fits(wanted),
        };
        if !arg.ty.kinds.overlaps(accepted) || !insides_fit {
            let (wants, found) = (wanted.with_article(), arg.ty.with_article());
            let message = format!("`{function}` wants {wants} for `{param}`, and this is {found}");
            let mut diagnostic =
                Diagnostic::new(Code::ArgumentType, arg.span, message).here(arg.ty.to_string());
            if let Some(declared) = declared {
                diagnostic = diagnostic.label(declared, "declared here");
            }
            let diagnostic = self.with_origin(diagnostic, &arg);
            // In a choice it is read at its own type, so that it counts, and the call gives nothing.
            if self.lenient && declared.is_none() {
                self.never_holds(diagnostic);
                return Ok(arg);
            }
            return self.report(diagnostic);
        }
        if self.fields.narrows() {
            let reason = Reason::Argument(wanted.clone(), param.into(), function.into());
            self.constrain(&arg, accepted, &reason);
        }
        Ok(read(arg, wanted))
    }
}

fn count(wanted: usize, variadic: bool) -> String {
    match (wanted, variadic) {
        (1, false) => "one argument".to_owned(),
        (wanted, false) => format!("{wanted} arguments"),
        (wanted, true) => format!("{wanted} or more arguments"),
    }
}

/// Puts arguments in place of a `def`'s parameters.
struct Substitution<'s> {
    args: &'s [Expr],
    /// The number of nodes of each argument.
    sizes: Vec<u64>,
    /// The number of nodes copied; past [`MAX_NODES`] no more are.
    made: u64,
    /// Right operands that arguments were put into, to be looked at again.
    filled: Vec<(Op, TestMode, Expr)>,
}

impl Substitution<'_> {
    fn cond(&mut self, cond: &Cond) -> Cond {
        let kind = match &cond.kind {
            CondKind::Const(value) => CondKind::Const(*value),
            CondKind::Not(inner) => CondKind::Not(Box::new(self.cond(inner))),
            CondKind::And(parts) => CondKind::And(parts.iter().map(|part| self.cond(part)).collect()),
            CondKind::Or(parts) => CondKind::Or(parts.iter().map(|part| self.cond(part)).collect()),
            CondKind::Test(test) => {
                let left = self.expr(&test.left);
                // A condition given for a bool parameter is that condition again.
                if let (None, ExprKind::Cond(inner)) = (test.op, &left.kind) {
                    return (**inner).clone();
                }
                let right = match &test.right {
                    Operand::Nothing => Operand::Nothing,
                    Operand::Value(value) => {
                        let made = self.expr(value);
                        if let (Some(op), true) = (test.op, value.as_const().is_none()) {
                            self.filled.push((op, test.mode, made.clone()));
                        }
                        Operand::Value(made)
                    }
                    Operand::Range { start, end, inclusive } => {
                        Operand::Range { start: self.expr(start), end: self.expr(end), inclusive: *inclusive }
                    }
                };
                CondKind::Test(Box::new(Predicate { left, right, ..(**test).clone() }))
            }
            CondKind::Quantifier { all, list, var, body } => CondKind::Quantifier {
                all: *all,
                list: Box::new(self.expr(list)),
                var: Var::clone(var),
                body: Box::new(self.cond(body)),
            },
            CondKind::Let(id) => CondKind::Let(*id),
            CondKind::Call(name, body) => CondKind::Call(name.clone(), Box::new(self.cond(body))),
            CondKind::Branch { all, conditions } => CondKind::Branch {
                all: *all,
                conditions: conditions
                    .iter()
                    .map(|condition| hir::Guarded {
                        usable: self.cond(&condition.usable),
                        cond: self.cond(&condition.cond),
                    })
                    .collect(),
            },
        };
        Cond { kind, span: cond.span }
    }

    fn expr(&mut self, expr: &Expr) -> Expr {
        let all =
            |this: &mut Self, items: &[Expr]| items.iter().map(|item| this.expr(item)).collect::<Vec<_>>();
        let kind = match &expr.kind {
            ExprKind::Param(at) => match self.args.get(*at as usize) {
                Some(arg) if self.made <= MAX_NODES => {
                    self.made = self.made.saturating_add(self.sizes[*at as usize]);
                    return arg.clone();
                }
                _ => ExprKind::Param(*at),
            },
            ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Var(_) | ExprKind::Let(_) => expr.kind.clone(),
            ExprKind::Field(base, name) => ExprKind::Field(Box::new(self.expr(base)), name.clone()),
            ExprKind::Index(base, index) => {
                ExprKind::Index(Box::new(self.expr(base)), Box::new(self.expr(index)))
            }
            ExprKind::List(items) => {
                let items = all(self, items);
                return super::constant::list(items, expr.span);
            }
            ExprKind::Op(op, left, right) => {
                let right = right.as_ref().map(|right| Box::new(self.expr(right)));
                ExprKind::Op(*op, Box::new(self.expr(left)), right)
            }
            ExprKind::Read(inner, kinds) => ExprKind::Read(Box::new(self.expr(inner)), *kinds),
            ExprKind::Call(function, args) => ExprKind::Call(*function, all(self, args)),
            ExprKind::Extern(id, args) => ExprKind::Extern(*id, all(self, args)),
            ExprKind::Count { list, var, body } => ExprKind::Count {
                list: Box::new(self.expr(list)),
                var: Var::clone(var),
                body: Box::new(self.cond(body)),
            },
            ExprKind::Cond(cond) => ExprKind::Cond(Box::new(self.cond(cond))),
        };
        Expr { kind, ty: expr.ty.clone(), optional: expr.optional, span: expr.span }
    }
}
