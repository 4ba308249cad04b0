//! Builders of typed programs for the tests of evaluation and explanation. Each node has the source
//! text that an author would write, so that traces can quote it.

use crate::decision::Choice;
use crate::evaluator::Evaluator;
use crate::host::{HostCalls, RegisteredFunction};
use rulec_base::span::{FileId, Span};
use rulec_lang::arena::Arena;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_lang::ty::{KindSet, Ty};
use rulec_sema::hir::*;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// A typed program that a test builds piece by piece, with its source text.
#[derive(Default)]
pub struct Fixture {
    pub program: Program,
    pub source_text: String,
    var_count: u32,
}

impl Fixture {
    /// Creates a program whose only table is `routes`.
    pub fn new() -> Fixture {
        let mut fixture = Fixture::default();
        fixture.add_table(ROUTES_TABLE);
        fixture
    }

    pub fn append_source(&mut self, text: &str) -> Span {
        let start = self.source_text.len();
        self.source_text.push_str(text);
        Span::new(FileId(0), start, self.source_text.len())
    }

    pub fn quote(&self, span: Span) -> String {
        self.source_text[span.range()].to_owned()
    }

    pub fn expr(&mut self, text: &str, kind: ExprKind, ty: Ty) -> Expr {
        Expr { kind, ty, may_be_missing: true, span: self.append_source(text) }
    }

    pub fn slot_expr(&mut self, path: &str, kinds: KindSet) -> Expr {
        let slot = Slot {
            root: None,
            path: path.split('.').map(Arc::from).collect(),
            kinds,
            values: None,
            is_private: false,
        };
        let id = self.program.slots.iter().position(|other| *other == slot).unwrap_or_else(|| {
            self.program.slots.push(slot);
            self.program.slots.len() - 1
        });
        self.expr(path, ExprKind::Slot(SlotId(id as u32)), Ty::from_kinds(kinds))
    }

    /// Builds an argument of a handler. An `optional` argument is left out if its value is missing.
    pub fn arg(&mut self, name: &str, value: Expr, optional: bool) -> Argument {
        self.program.values.push(value);
        let value = ValueId(self.program.values.len() as u32 - 1);
        Argument { name: name.into(), value, is_optional: optional, allowed_texts: None }
    }

    pub fn literal(&mut self, json: Json) -> Expr {
        self.expr(&json.to_string(), ExprKind::Const(Const::Json(Arc::new(json))), Ty::ANY)
    }

    pub fn function_call(&mut self, function: Function, args: Vec<Expr>) -> Expr {
        let texts: Vec<String> = args.iter().map(|arg| self.quote(arg.span)).collect();
        let text = format!("{}({})", function.info().name, texts.join(", "));
        self.expr(&text, ExprKind::Call(function, args), Ty::ANY)
    }

    pub fn operation(&mut self, op: Op, left: Expr, right: Expr) -> Expr {
        let text = format!("{} {} {}", self.quote(left.span), op.info().spelling, self.quote(right.span));
        self.expr(&text, ExprKind::Op(op, Box::new(left), Some(Box::new(right))), Ty::ANY)
    }

    pub fn cond(&mut self, text: &str, kind: CondKind) -> Cond {
        Cond { kind, span: self.append_source(text) }
    }

    pub fn predicate_with(
        &mut self,
        op: Op,
        quantity: Option<Quantity>,
        negated: bool,
        left: Expr,
        right: Option<Expr>,
    ) -> Cond {
        let text = [
            self.quote(left.span),
            if negated { "not".into() } else { String::new() },
            op.info().spelling.to_owned(),
            quantity.map_or(String::new(), |quantity| quantity.spelling().to_owned()),
            right.as_ref().map_or(String::new(), |right| self.quote(right.span)),
        ]
        .iter()
        .filter(|part| !part.is_empty())
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ");
        let mode = TestMode { quantity, ..TestMode::default() };
        let right = right.map_or(Operand::Nothing, Operand::Value);
        let predicate = Predicate { op: Some(op), is_negated: negated, mode, left, right };
        self.cond(&text, CondKind::Predicate(Box::new(predicate)))
    }

    pub fn predicate(&mut self, op: Op, left: Expr, right: Expr) -> Cond {
        self.predicate_with(op, None, false, left, Some(right))
    }

    /// Builds the condition `path op literal`. The field at `path` is converted to the kind of the
    /// literal.
    pub fn field_predicate(&mut self, path: &str, op: Op, json: Json) -> Cond {
        let kinds = match &json {
            Json::Number(_) => KindSet::NUMBER,
            Json::Bool(_) => KindSet::BOOL,
            _ => KindSet::STRING,
        };
        let (left, right) = (self.slot_expr(path, kinds), self.literal(json));
        self.predicate(op, left, right)
    }

    /// Builds a condition that consists of a bool field.
    pub fn bool_field(&mut self, path: &str) -> Cond {
        let left = self.slot_expr(path, KindSet::BOOL);
        let predicate = Predicate {
            op: None,
            is_negated: false,
            mode: TestMode::default(),
            left,
            right: Operand::Nothing,
        };
        self.cond(path, CondKind::Predicate(Box::new(predicate)))
    }

    fn joined_quotes(&mut self, word: &str, parts: &[Cond]) -> String {
        parts.iter().map(|part| self.quote(part.span)).collect::<Vec<_>>().join(word)
    }

    pub fn and(&mut self, parts: Vec<Cond>) -> Cond {
        let text = self.joined_quotes(" and ", &parts);
        self.cond(&text, CondKind::And(parts))
    }

    pub fn or(&mut self, parts: Vec<Cond>) -> Cond {
        let text = self.joined_quotes(" or ", &parts);
        self.cond(&text, CondKind::Or(parts))
    }

    pub fn not(&mut self, inner: Cond) -> Cond {
        let text = format!("not ({})", self.quote(inner.span));
        self.cond(&text, CondKind::Not(Box::new(inner)))
    }

    pub fn new_variable(&mut self, name: &str, kinds: KindSet) -> (Var, Expr) {
        let id = VarId(self.var_count);
        self.var_count += 1;
        let expr = self.expr(name, ExprKind::Var(id), Ty::from_kinds(kinds));
        (Var { id, name: name.into(), element_kinds: kinds }, expr)
    }

    pub fn quantifier(&mut self, all: bool, list: Expr, var: Var, body: Cond) -> Cond {
        let word = if all { "all" } else { "any" };
        let text = format!("{word} {} in {}: {}", var.name, self.quote(list.span), self.quote(body.span));
        self.cond(
            &text,
            CondKind::Quantifier { is_all: all, list: Box::new(list), var, body: Box::new(body) },
        )
    }

    pub fn count_fold(&mut self, list: Expr, var: Var, body: Cond) -> Expr {
        let text = format!("(count {} in {}: {})", var.name, self.quote(list.span), self.quote(body.span));
        self.expr(
            &text,
            ExprKind::Fold { fold: Fold::Count, list: Box::new(list), var, body: Box::new(body) },
            Ty::INT,
        )
    }

    pub fn add_let(&mut self, name: &str, body: Cond) -> LetId {
        let span = self.append_source(name);
        self.program.lets.push(Let { name: name.into(), body: Term::Cond(body), span });
        LetId(self.program.lets.len() as u32 - 1)
    }

    pub fn use_let(&mut self, id: LetId) -> Cond {
        let name = self.program.lets[id.index()].name.clone();
        self.cond(&name, CondKind::Let(id))
    }

    pub fn add_table(&mut self, name: &str) -> TableId {
        let span = Some(self.append_source(name));
        self.program.tables.push(Table {
            name: name.into(),
            kind: TableKind::Routes,
            evaluation_order: Vec::new(),
            default: None,
            is_shown_to_user: false,
            span,
            docs: "".into(),
        });
        TableId(self.program.tables.len() as u32 - 1)
    }

    pub fn handler_outcome(&self, name: &str) -> Outcome {
        Outcome::Handler { name: name.into(), args: Vec::new(), metadata: Arc::new(Map::new()) }
    }

    /// Adds a route at the end of a table.
    pub fn add_route(&mut self, table: TableId, name: &str, condition: Cond, outcome: Outcome) -> RuleId {
        let id = RuleId(self.program.rules.len() as u32);
        let span = self.append_source(name);
        let name = Arc::from(name);
        let docs = Arc::from("");
        self.program.rules.push(Rule {
            name,
            table,
            priority: 0,
            is_disabled: false,
            condition: condition.into(),
            outcome,
            span,
            docs,
        });
        self.program.tables[table.index()].evaluation_order.push(id);
        id
    }

    pub fn set_default(&mut self, table: TableId, outcome: Outcome) {
        self.program.tables[table.index()].default = Some(outcome);
    }

    pub fn declare_input(&mut self, fields: Vec<(&str, Ty, bool)>) {
        let field = |(name, ty, private): (&str, Ty, bool)| rulec_lang::ty::Field {
            name: name.into(),
            ty,
            is_optional: true,
            is_private: private,
        };
        self.program.input = Some(fields.into_iter().map(field).collect());
    }

    /// Decides a message by the table `routes`, without host functions.
    pub fn decide(&self, message: &Json) -> Choice {
        self.decide_with(message, &[])
    }

    pub fn decide_with(&self, message: &Json, host_functions: &[RegisteredFunction]) -> Choice {
        let arena = Arena::default();
        Evaluator::new(&self.program, message, &arena, HostCalls::new(host_functions)).decide(TableId(0))
    }
}
