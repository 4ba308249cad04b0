//! Expressions: names, paths into the message, literals, logic and quantifiers.

use super::call::{accepted, read};
use super::fields::Lost;
use super::{Binding, Checked, Checkeds, Checker, Reported, Shape};
use crate::diag::{Code, Diagnostic, nearest};
use crate::ops::{Op, reserved_words};
use crate::sema::hir::{Cond, CondKind, Const, Expr, ExprKind, Operand, Predicate, Term, Var, VarId};
use crate::sema::resolve::Definition;
use crate::span::Span;
use crate::syntax::ast::{self, BlockKind, Ident, Literal, QuantifierKind};
use crate::ty::{Inner, Kind, KindSet, Ty};
use crate::value::{Value, parse_datetime};
use serde_json::Value as Json;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// An expression in a place where a condition and a value may stand alike.
    pub(super) fn term(&mut self, expr: &'a ast::Expr) -> Checked<Term> {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Literal(Literal::Null) => self.report(
                Diagnostic::new(Code::OperatorType, span, "null is no value to work with")
                    .help("write `x is missing` or `x is present`; a null field counts as missing"),
            ),
            ast::ExprKind::Literal(literal) => Ok(Term::Expr(constant(literal_json(literal), span))),
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
                Ok(Term::Expr(list(elements, span)))
            }
            ast::ExprKind::Record(_) => self.constant_json(expr).map(|json| Term::Expr(constant(json, span))),
            ast::ExprKind::Call(name, args) => self.call(name, args, span),
            ast::ExprKind::Unary(op, operand) if op.node == Op::Not => {
                let inner = self.cond(operand)?;
                Ok(Term::Cond(Cond { kind: CondKind::Not(Box::new(inner)), span }))
            }
            ast::ExprKind::Unary(op, operand) => self.arithmetic(op, operand, None, span).map(Term::Expr),
            ast::ExprKind::Logic(op, parts) => {
                let parts = self.conds(parts)?;
                let kind = if *op == Op::And { CondKind::And(parts) } else { CondKind::Or(parts) };
                Ok(Term::Cond(Cond { kind, span }))
            }
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
                let kind = CondKind::Test(Box::new(Predicate {
                    op: Some(op.node),
                    negated: false,
                    mode: Default::default(),
                    left,
                    right: Operand::Nothing,
                }));
                Ok(Term::Cond(Cond { kind, span }))
            }
            ast::ExprKind::As(operand, ty) => self.typed_read(operand, ty, span).map(Term::Expr),
            ast::ExprKind::Range { .. } => self.report(
                Diagnostic::new(Code::OperatorType, span, "a range is no value of its own")
                    .help("a range stands on the right of `in`: `ctx.n in 3..=10`"),
            ),
            ast::ExprKind::Quantifier { kind, var, list, body } => {
                self.quantifier(*kind, var, list, body, span)
            }
        }
    }

    /// An expression that must be a condition.
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
        if let ExprKind::Const(Const::Json(json)) = &value.kind
            && let Json::Bool(known) = **json
        {
            return Ok(Cond { kind: CondKind::Const(known), span });
        }
        if !value.ty.kinds.overlaps(KindSet::BOOL) {
            let message = format!("a condition is wanted here, and this is {}", with_article(&value.ty));
            let help = match value.ty.kinds {
                kinds if kinds.is_subset(KindSet::NUMBER) => "compare it, as in `x > 0`",
                kinds if kinds == KindSet::STRING && value.as_const().is_some() => {
                    "each side of `and` and `or` is a whole condition; one of several texts is `x contains any [\"a\", \"b\"]` or `x in [\"a\", \"b\"]`"
                }
                kinds if kinds == KindSet::STRING => {
                    "compare or search it, as in `x == \"a\"` or `x contains \"a\"`"
                }
                kinds if kinds == KindSet::LIST => {
                    "ask for its elements, as in `x contains \"a\"` or `len(x) > 0`"
                }
                _ => "compare it with a value, or write `x is present`",
            };
            let diagnostic =
                Diagnostic::new(Code::ConditionWanted, span, message).here(value.ty.to_string()).help(help);
            let diagnostic = self.with_origin(diagnostic, &value);
            return self.report(diagnostic);
        }
        self.constrain(&value, KindSet::BOOL, "a condition");
        let test = Predicate {
            op: None,
            negated: false,
            mode: Default::default(),
            left: value,
            right: Operand::Nothing,
        };
        Ok(Cond { kind: CondKind::Test(Box::new(test)), span })
    }

    /// Every part is looked at, so that one run reports the faults of all.
    fn conds(&mut self, parts: &'a [ast::Expr]) -> Checked<Vec<Cond>> {
        let checked: Vec<Checked<Cond>> = parts.iter().map(|part| self.cond(part)).collect();
        checked.into_iter().collect()
    }

    /// An expression that must be a value; a condition becomes true, false or missing.
    pub(super) fn value(&mut self, expr: &'a ast::Expr) -> Checked<Expr> {
        Ok(match self.term(expr)? {
            Term::Expr(value) => value,
            Term::Cond(cond) => {
                let (span, optional) = (cond.span, self.may_be_unknown(&cond));
                Expr { kind: ExprKind::Cond(Box::new(cond)), ty: Ty::BOOL, optional, span }
            }
        })
    }

    /// Whether a condition may be unknown although the message keeps every promise of `input`.
    fn may_be_unknown(&self, cond: &Cond) -> bool {
        match &cond.kind {
            CondKind::Const(_) => false,
            CondKind::Not(inner) | CondKind::Call(_, inner) => self.may_be_unknown(inner),
            CondKind::And(parts) | CondKind::Or(parts) => parts.iter().any(|part| self.may_be_unknown(part)),
            CondKind::Test(test) => {
                let presence = matches!(test.op, Some(Op::IsMissing | Op::IsPresent));
                let right = match &test.right {
                    Operand::Nothing => false,
                    Operand::Value(value) => value.optional,
                    Operand::Range { start, end, .. } => start.optional || end.optional,
                };
                !presence && (test.left.optional || right)
            }
            CondKind::Quantifier { list, body, .. } => list.optional || self.may_be_unknown(body),
            CondKind::Let(id) => match self.program.let_body(*id) {
                Term::Cond(body) => self.may_be_unknown(body),
                Term::Expr(body) => body.optional,
            },
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Checked<Term> {
        if let Some(binding) = self.scope.iter().rev().find(|binding| &*binding.name == name) {
            return Ok(Term::Expr(Expr { span, ..binding.expr.clone() }));
        }
        if let Some(symbol) = self.symbols.definition(span.file, name) {
            self.used.insert(&symbol.name.node);
            let declared = symbol.name.span;
            return match self.definitions.get(name).cloned().flatten() {
                None => Err(Reported),
                Some(Checkeds::Let(id, shape)) => Ok(match &*shape {
                    Shape::Cond => Term::Cond(Cond { kind: CondKind::Let(id), span }),
                    Shape::Expr { ty, optional, constant } => Term::Expr(Expr {
                        kind: constant.clone().map_or(ExprKind::Let(id), ExprKind::Const),
                        ty: ty.clone(),
                        optional: *optional,
                        span,
                    }),
                }),
                Some(Checkeds::List(list)) => Ok(Term::Expr(Expr { span, ..list })),
                Some(Checkeds::Def(_) | Checkeds::Extern(_)) => {
                    let message = format!("`{name}` is a function and wants its arguments");
                    self.report(
                        Diagnostic::new(Code::UnknownName, span, message)
                            .label(declared, "declared here")
                            .help(format!("write `{name}(…)`")),
                    )
                }
            };
        }
        self.message_path(&Path::of(name, span), span).map(Term::Expr)
    }

    /// `a.b`, `a["b"]`, `a[0]`: read at once where it leads into the message by constant names.
    fn path(&mut self, expr: &'a ast::Expr) -> Checked<Expr> {
        if let Some(path) = self.constant_path(expr) {
            return self.message_path(&path, expr.span);
        }
        match &expr.kind {
            ast::ExprKind::Field(base, name) => {
                let base = self.value(base)?;
                self.field(base, name, expr.span)
            }
            ast::ExprKind::Index(base, index) => {
                let (base, index) = (self.value(base)?, self.value(index)?);
                self.index(base, index, expr.span)
            }
            _ => self.value(expr),
        }
    }

    /// The path, when the expression is a field of the message reached by constant names.
    fn constant_path(&self, expr: &ast::Expr) -> Option<Path> {
        let mut path = Path::default();
        let mut at = expr;
        loop {
            match &at.kind {
                ast::ExprKind::Field(base, name) => {
                    path.push(&name.node, name.span, true);
                    at = base;
                }
                ast::ExprKind::Index(base, index) => match &index.kind {
                    ast::ExprKind::Literal(Literal::String(key)) => {
                        path.push(key, index.span, false);
                        at = base;
                    }
                    _ => return None,
                },
                ast::ExprKind::Name(name) => {
                    let bound = self.scope.iter().any(|binding| *binding.name == **name)
                        || self.symbols.definition(at.span.file, name).is_some();
                    if bound {
                        return None;
                    }
                    path.push(name, at.span, true);
                    path.names.reverse();
                    path.places.reverse();
                    return Some(path);
                }
                _ => return None,
            }
        }
    }

    fn message_path(&mut self, path: &Path, span: Span) -> Checked<Expr> {
        let names = &path.names;
        let declared = self.fields.roots().is_some_and(|roots| roots.get(&names[0]).is_some());
        if self.symbols.is_broken(&names[0]) && !declared {
            return Err(Reported);
        }
        let hidden = self.symbols.definitions.get(&names[0]).map(|symbol| symbol.name.span);
        if let (Some(hidden), false) = (hidden, declared) {
            let message = format!("`{}` is not declared in this file or in what it imports", names[0]);
            return self.report(
                Diagnostic::new(Code::UnknownName, path.places[0].0, message)
                    .label(hidden, "declared in a file that is not imported here")
                    .help("import that file, or move the definition into one that both import"),
            );
        }
        match self.fields.find(names, span) {
            Ok(found) => {
                if names.len() == 1 && self.fields.inferred() {
                    self.warn_of_near_name(&names[0], span);
                }
                let slot = self.fields.slot(names, found.ty.kinds, found.private);
                Ok(Expr { kind: ExprKind::Slot(slot), ty: found.ty, optional: found.optional, span })
            }
            Err(Lost::UnknownField { at: 0, record }) => {
                self.unknown_root(&names[0], path.places[0].0, &record)
            }
            Err(Lost::UnknownField { at, record }) => {
                let message = format!("`{}` has no field `{}`", names[..at].join("."), names[at]);
                let declared = self.fields.declared_at(&names[..at]);
                self.unknown_field(message, &names[at], &record, declared, path.places[at])
            }
            Err(Lost::NoFields { at, ty }) => {
                let parent = names[..at].join(".");
                let message = format!("`{parent}` is {} and has no field `{}`", with_article(&ty), names[at]);
                let mut diagnostic = Diagnostic::new(Code::UnknownField, path.places[at].0, message);
                if let Some(declared) = self.fields.declared_at(&names[..at]) {
                    diagnostic = diagnostic.label(declared, "declared here");
                }
                if ty.kinds == KindSet::LIST {
                    diagnostic = diagnostic.help(match ty.element().fields() {
                        Some(_) => format!("look at its elements: `any x in {parent}: x.{} …`", names[at]),
                        None => format!("look for an element, as in `{parent} contains …`, or read one by its number, as in `{parent}[0]`"),
                    });
                }
                self.report(diagnostic)
            }
        }
    }

    fn unknown_root<T>(&mut self, name: &str, place: Span, record: &crate::ty::Record) -> Checked<T> {
        let definitions = self
            .symbols
            .definitions
            .iter()
            .filter(|symbol| self.symbols.sees(place.file, symbol.name.span))
            .map(|symbol| symbol.name.node.as_str());
        let bound = self.scope.iter().map(|binding| &*binding.name);
        let names = record.fields.iter().map(|field| &*field.name).chain(definitions).chain(bound);
        let near = nearest(name, names).map(str::to_owned);
        let diagnostic = Diagnostic::new(Code::UnknownName, place, format!("`{name}` is not declared"));
        self.report(match near {
            Some(near) => diagnostic.did_you_mean(place, Some(&near)),
            None => diagnostic.help(format!(
                "add it to `input {{ … }}`, or declare it with `let {name} = …`; a text stands in quotes: \"{name}\""
            )),
        })
    }

    fn unknown_field<T>(
        &mut self,
        message: String,
        name: &str,
        record: &crate::ty::Record,
        declared: Option<Span>,
        (place, plain): (Span, bool),
    ) -> Checked<T> {
        let mut diagnostic = Diagnostic::new(Code::UnknownField, place, message);
        if let Some(declared) = declared {
            diagnostic = diagnostic.label(declared, "declared here");
        }
        let names: Vec<&str> = record.fields.iter().map(|field| &*field.name).collect();
        diagnostic = match nearest(name, names.iter().copied()) {
            Some(near) if plain => diagnostic.did_you_mean(place, Some(near)),
            Some(near) => diagnostic.help(format!("did you mean \"{near}\"?")),
            None => diagnostic.help(format!("its fields are {}", names.join(", "))),
        };
        self.report(diagnostic)
    }

    fn warn_of_near_name(&mut self, name: &Arc<str>, span: Span) {
        let near = nearest(
            name,
            self.symbols
                .definitions
                .iter()
                .filter(|symbol| !matches!(symbol.node, Definition::Def { .. } | Definition::Extern { .. }))
                .map(|symbol| symbol.name.node.as_str()),
        );
        let word = reserved_words().find(|word| **word != **name && word.eq_ignore_ascii_case(name));
        let (near, what) = match (word, near) {
            (Some(word), _) => (word.to_owned(), "a word of the language"),
            (None, Some(near)) => (near.to_owned(), "a definition"),
            (None, None) => return,
        };
        if self.fields.first_warning(name) {
            let message = format!("`{name}` is read from the message, and `{near}` is {what}");
            self.diagnostics
                .push(Diagnostic::new(Code::LooksLikeName, span, message).did_you_mean(span, Some(&near)));
        }
    }

    /// A field of a value that is no message path: an element's, say.
    fn field(&mut self, base: Expr, name: &Ident, span: Span) -> Checked<Expr> {
        let (ty, optional) = match &base.ty.inner {
            Inner::Fields(record) => match record.get(&name.node) {
                Some(field) => (field.ty.clone(), base.optional || field.optional),
                None => {
                    let record = record.clone();
                    let message = format!("there is no field `{}` here", name.node);
                    return self.unknown_field(message, &name.node, &record, None, (name.span, true));
                }
            },
            Inner::Element(element) if base.ty.kinds.overlaps(KindSet::DICT) => ((**element).clone(), true),
            Inner::Unknown if base.ty.kinds.overlaps(KindSet::DICT) => (Ty::ANY, true),
            _ => {
                let message = format!("{} has no field `{}`", with_article(&base.ty), name.node);
                let diagnostic = Diagnostic::new(Code::UnknownField, span, message).here("");
                let diagnostic = self.with_origin(diagnostic, &base);
                return self.report(diagnostic);
            }
        };
        self.constrain(&base, KindSet::DICT, "a record, since a field of it is read");
        let kind = ExprKind::Field(Box::new(base), name.node.as_str().into());
        Ok(checked_at(Expr { kind, ty: Ty::ANY, optional, span }, ty))
    }

    /// `list[i]`, `dict[key]`
    fn index(&mut self, base: Expr, index: Expr, span: Span) -> Checked<Expr> {
        let by_number = base.ty.kinds.overlaps(KindSet::LIST) && index.ty.kinds.overlaps(KindSet::INT);
        let by_key = base.ty.kinds.overlaps(KindSet::DICT) && index.ty.kinds.overlaps(KindSet::STRING);
        let (container, key) = match (by_number, by_key) {
            (true, true) => (KindSet::LIST.union(KindSet::DICT), KindSet::INT.union(KindSet::STRING)),
            (true, false) => (KindSet::LIST, KindSet::INT),
            (false, true) => (KindSet::DICT, KindSet::STRING),
            (false, false) => {
                let message =
                    format!("{} cannot be indexed by {}", with_article(&base.ty), with_article(&index.ty));
                let diagnostic = Diagnostic::new(Code::OperatorType, span, message)
                    .label(index.span, index.ty.to_string())
                    .help("a list is indexed by an int, a dict by a string");
                let diagnostic = self.with_origin(diagnostic, &base);
                return self.report(diagnostic);
            }
        };
        self.constrain(&base, container, "something that is indexed");
        self.constrain(&index, key, "an index");
        let ty = match &base.ty.inner {
            Inner::Element(element) => (**element).clone(),
            Inner::Fields(_) | Inner::Unknown => Ty::ANY,
        };
        let kind = ExprKind::Index(Box::new(base), Box::new(index));
        Ok(checked_at(Expr { kind, ty: Ty::ANY, optional: true, span }, ty))
    }

    /// `x as T`: a read of its own, which neither needs nor narrows the type other uses read at.
    fn typed_read(&mut self, operand: &'a ast::Expr, ty: &'a ast::TypeExpr, span: Span) -> Checked<Expr> {
        let wanted = self.ty(ty)?;
        let undeclared = self.constant_path(operand).filter(|_| self.fields.inferred());
        if let Some(path) = undeclared {
            // Finding the path notes that what is above it is a record.
            let private = matches!(self.fields.find(&path.names, operand.span), Ok(found) if found.private);
            let slot = self.fields.slot(&path.names, wanted.kinds, private);
            let value = Expr { kind: ExprKind::Slot(slot), ty: wanted.clone(), optional: true, span };
            // Inside the read, the slot is out of reach for what other uses narrow.
            return Ok(Expr {
                kind: ExprKind::Read(Box::new(value), wanted.kinds),
                ty: wanted,
                optional: true,
                span,
            });
        }
        let value = self.value(operand)?;
        let readable = accepted(wanted.kinds).union(if wanted.kinds.has(Kind::DateTime) {
            KindSet::STRING
        } else {
            KindSet::EMPTY
        });
        if !value.ty.kinds.overlaps(readable) {
            let message = format!("{} can never be read as {wanted}", with_article(&value.ty));
            let diagnostic = Diagnostic::new(Code::OperatorType, span, message).label(ty.span, "this type");
            let diagnostic = self.with_origin(diagnostic, &value);
            return self.report(diagnostic);
        }
        Ok(match value.kind {
            // One slot that reads at the wanted type, rather than a read of a read.
            ExprKind::Slot(id)
                if wanted.kinds.is_subset(value.ty.kinds)
                    || (value.ty.kinds == KindSet::STRING && wanted.kinds == KindSet::DATETIME) =>
            {
                let slot = self.fields.path(id).clone();
                let slot = self.fields.slot(&slot.path, wanted.kinds, slot.private);
                let optional = value.optional || !value.ty.kinds.is_subset(wanted.kinds);
                Expr { kind: ExprKind::Slot(slot), ty: wanted, optional, span }
            }
            _ if value.ty.kinds.is_subset(wanted.kinds) => Expr { ty: wanted, span, ..value },
            _ => {
                Expr { kind: ExprKind::Read(Box::new(value), wanted.kinds), ty: wanted, optional: true, span }
            }
        })
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
            let message = format!("a list is wanted here, and this is {}", with_article(&list.ty));
            let diagnostic = Diagnostic::new(Code::ListWanted, list.span, message).here(list.ty.to_string());
            let diagnostic = self.with_origin(diagnostic, &list);
            return self.report(diagnostic);
        }
        self.constrain(&list, KindSet::LIST, "a list, since its elements are looked at");
        let element = if list.ty.kinds == KindSet::LIST { list.ty.element() } else { Ty::ANY };
        let id = VarId(self.vars);
        self.vars += 1;
        let name: Arc<str> = var.node.as_str().into();
        let bound = Var { id, name: name.clone(), kinds: element.kinds };
        let expr = Expr { kind: ExprKind::Var(id), ty: element, optional: false, span: var.span };
        self.scope.push(Binding { name, expr, declared: var.span });
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

    /// A constant as JSON: literals, lists and records of them, names of constants.
    pub(super) fn constant_json(&mut self, expr: &'a ast::Expr) -> Checked<Json> {
        match &expr.kind {
            ast::ExprKind::Literal(literal) => Ok(literal_json(literal)),
            ast::ExprKind::List(items) => {
                let items: Checked<Vec<Json>> = items.iter().map(|item| self.constant_json(item)).collect();
                items.map(Json::Array)
            }
            ast::ExprKind::Record(entries) => {
                let mut map = serde_json::Map::new();
                for (at, (key, value)) in entries.iter().enumerate() {
                    if let Some((first, _)) = entries[..at].iter().find(|(other, _)| other.node == key.node) {
                        return self
                            .report(crate::sema::resolve::duplicate("key", &key.node, first.span, key.span));
                    }
                    let value = self.constant_json(value)?;
                    map.insert(key.node.clone(), value);
                }
                Ok(Json::Object(map))
            }
            _ => {
                let value = self.value(expr)?;
                match value.as_const() {
                    Some(Const::Json(json)) => Ok((**json).clone()),
                    _ => self.report(
                        Diagnostic::new(Code::ConstantWanted, expr.span, "a constant is wanted here")
                            .help("metadata, tests and records hold constants only; give computed values as arguments: `-> handler(name: …)`"),
                    ),
                }
            }
        }
    }

    /// Lets a use narrow the undeclared field an expression reads.
    pub(super) fn constrain(&mut self, expr: &Expr, kinds: KindSet, reason: &str) {
        if !self.fields.inferred() {
            return;
        }
        match &expr.kind {
            ExprKind::Slot(id) => {
                let slot = self.fields.path(*id).clone();
                // A typed read has a type of its own.
                if slot.kinds == expr.ty.kinds && !expr.ty.kinds.is_subset(kinds) {
                    self.fields.narrow(&slot.path, kinds, expr.span, reason);
                }
            }
            ExprKind::Let(id) => {
                if let Term::Expr(body) = self.program.let_body(*id).clone() {
                    self.constrain(&body, kinds, reason);
                }
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

    /// Adds where the type of a value comes from.
    pub(super) fn with_origin(&self, diagnostic: Diagnostic, expr: &Expr) -> Diagnostic {
        match &expr.kind {
            ExprKind::Slot(id) => {
                let path = &self.fields.path(*id).path;
                if let Some(place) = self.fields.declared_at(path) {
                    return diagnostic.label(place, format!("`{}` is declared here", path.join(".")));
                }
                match self.fields.first_use(path) {
                    Some((place, reason)) if diagnostic.span() != Some(place) => {
                        diagnostic.label(place, format!("`{}` is used here as {reason}", path.join(".")))
                    }
                    _ if path.len() == 1 && &*path[0] == "text" && diagnostic.help.is_none() => {
                        diagnostic.help("`text` is a string unless an `input` block says otherwise")
                    }
                    _ => diagnostic,
                }
            }
            ExprKind::Let(id) => {
                let definition = &self.program.lets[id.index()];
                diagnostic.label(
                    definition.span,
                    format!("`{}` is {} by this definition", definition.name, expr.ty),
                )
            }
            ExprKind::Var(_) | ExprKind::Param(_) => {
                let binding =
                    self.scope.iter().rev().find(|binding| match (&binding.expr.kind, &expr.kind) {
                        (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
                        (ExprKind::Param(a), ExprKind::Param(b)) => a == b,
                        _ => false,
                    });
                match binding {
                    Some(binding) => {
                        diagnostic.label(binding.declared, format!("`{}` is {} here", binding.name, expr.ty))
                    }
                    None => diagnostic,
                }
            }
            ExprKind::Read(inner, _) => self.with_origin(diagnostic, inner),
            _ => diagnostic,
        }
    }

    /// Turns a constant text into a time where only a time is wanted.
    pub(super) fn as_datetime(&mut self, expr: Expr, wanted: KindSet) -> Checked<Expr> {
        if !wanted.has(Kind::DateTime) || wanted.has(Kind::String) {
            return Ok(expr);
        }
        let Some(Value::Str(text)) = expr.as_const().map(Const::value) else { return Ok(expr) };
        match parse_datetime(text) {
            Some(at) => Ok(Expr {
                kind: ExprKind::Const(Const::DateTime(at)),
                ty: Ty::DATETIME,
                optional: false,
                span: expr.span,
            }),
            None if wanted == KindSet::DATETIME => {
                let message = format!("\"{text}\" is not a date and time");
                self.report(
                    Diagnostic::new(Code::BadDatetime, expr.span, message)
                        .help("write RFC 3339, such as \"2026-11-22T09:30:00+08:00\""),
                )
            }
            None => Ok(expr),
        }
    }
}

/// A way into the message: each part's name, and where it stands with whether it is a plain name.
#[derive(Default)]
struct Path {
    names: Vec<Arc<str>>,
    places: Vec<(Span, bool)>,
}

impl Path {
    fn of(name: &str, span: Span) -> Path {
        Path { names: vec![name.into()], places: vec![(span, true)] }
    }

    fn push(&mut self, name: &str, span: Span, plain: bool) {
        self.names.push(name.into());
        self.places.push((span, plain));
    }
}

/// A value read from inside another, at its declared type.
fn checked_at(expr: Expr, ty: Ty) -> Expr {
    if ty.kinds == KindSet::ALL { expr } else { Expr { optional: expr.optional, ..read(expr, &ty) } }
}

/// A constant of the type its value has.
pub(super) fn constant(json: Json, span: Span) -> Expr {
    let ty = json_ty(&json);
    Expr { kind: ExprKind::Const(Const::Json(Arc::new(json))), ty, optional: false, span }
}

fn json_ty(json: &Json) -> Ty {
    match json {
        Json::Array(items) => Ty::list(joined(items.iter().map(json_ty))),
        Json::Object(map) => Ty::record(crate::ty::Record {
            fields: map
                .iter()
                .map(|(name, value)| crate::ty::Field {
                    name: name.as_str().into(),
                    ty: json_ty(value),
                    optional: false,
                    private: false,
                })
                .collect(),
        }),
        scalar => Value::from_json(scalar).kind().map_or(Ty::ANY, |kind| Ty::plain(KindSet::of(kind))),
    }
}

/// The smallest type that holds all; of none, `any`.
fn joined(mut types: impl Iterator<Item = Ty>) -> Ty {
    let Some(first) = types.next() else { return Ty::ANY };
    types.fold(first, |all, ty| if all == ty { all } else { all.join(&ty) })
}

/// A list of values: a constant when all of them are.
pub(super) fn list(elements: Vec<Expr>, span: Span) -> Expr {
    let ty = Ty::list(joined(elements.iter().map(|element| element.ty.clone())));
    let constants: Option<Vec<Json>> = elements
        .iter()
        .map(|element| match element.as_const() {
            Some(Const::Json(json)) => Some((**json).clone()),
            _ => None,
        })
        .collect();
    let kind = match constants {
        Some(items) => ExprKind::Const(Const::Json(Arc::new(Json::Array(items)))),
        None => ExprKind::List(elements),
    };
    Expr { kind, ty, optional: false, span }
}

fn literal_json(literal: &Literal) -> Json {
    match literal {
        Literal::String(text) => text.as_str().into(),
        Literal::Int(int) => (*int).into(),
        Literal::Float(float) => (*float).into(),
        Literal::Bool(value) => (*value).into(),
        Literal::Null => Json::Null,
    }
}

/// "a number", "an int", "a string or list"
pub(super) fn with_article(ty: &Ty) -> String {
    let text = ty.to_string();
    match text.as_str() {
        "any" => "a value of any type".to_owned(),
        _ if text.starts_with('{') => format!("a record {text}"),
        _ if text.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {text}"),
        _ => format!("a {text}"),
    }
}
