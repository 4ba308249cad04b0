//! Builds programs by hand, for tests.

use rulec_base::span::{FileId, Span};
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{Cond, CondKind};
use rulec_sema::hir::{Const, Outcome, Program, Rule, RuleId, Slot, SlotId, Table, TableId, TableKind};
use rulec_sema::normal::{
    CondId, ExprId, NormalCond, NormalConst, NormalExpr, NormalForm, NormalPredicate, NormalRule, PredId,
    TestKind,
};
use serde_json::Value as Json;
use std::sync::Arc;

/// A program under construction. Conditions are shared only if the test shares them.
#[derive(Default)]
pub struct Build {
    pub program: Program,
    pub normal: NormalForm,
}

fn handler() -> Outcome {
    Outcome::Handler { name: "h".into(), args: Vec::new(), metadata: Arc::default() }
}

impl Build {
    pub fn slot(&mut self, path: &str, kinds: KindSet) -> SlotId {
        let path = path.split('.').map(Arc::from).collect();
        self.program.slots.push(Slot { root: None, path, kinds, values: None, is_private: false });
        SlotId(self.program.slots.len() as u32 - 1)
    }

    pub fn expr(&mut self, expr: NormalExpr) -> ExprId {
        self.normal.exprs.push(expr);
        ExprId(self.normal.exprs.len() as u32 - 1)
    }

    pub fn constant(&mut self, json: Json) -> ExprId {
        self.expr(NormalExpr::Const(NormalConst(Const::Json(Arc::new(json)))))
    }

    pub fn cond(&mut self, cond: NormalCond) -> CondId {
        self.normal.conds.push(cond);
        CondId(self.normal.conds.len() as u32 - 1)
    }

    pub fn pred(&mut self, ask: TestKind, mode: TestMode, left: ExprId, right: Option<ExprId>) -> PredId {
        self.normal.preds.push(NormalPredicate { test_kind: ask, mode, left, right });
        PredId(self.normal.preds.len() as u32 - 1)
    }

    pub fn test(&mut self, slot: SlotId, op: Op, right: Json, mode: TestMode) -> CondId {
        let left = self.expr(NormalExpr::Slot(slot));
        let right = self.constant(right);
        let pred = self.pred(TestKind::Op(op), mode, left, Some(right));
        self.cond(NormalCond::Predicate { pred, want: true })
    }

    pub fn compare(&mut self, slot: SlotId, op: Op, right: Json) -> CondId {
        let left = self.expr(NormalExpr::Slot(slot));
        self.compare_expr(left, op, right)
    }

    /// Adds a comparison to the program. The normal form has no `!=`, `>` and `>=`, so they become
    /// negations of `==`, `<=` and `<`.
    pub fn compare_expr(&mut self, left: ExprId, op: Op, right: Json) -> CondId {
        let (op, want) = match op {
            Op::Ne => (Op::Eq, false),
            Op::Gt => (Op::Le, false),
            Op::Ge => (Op::Lt, false),
            op => (op, true),
        };
        let right = self.constant(right);
        let pred = self.pred(TestKind::Op(op), TestMode::default(), left, Some(right));
        self.cond(NormalCond::Predicate { pred, want })
    }

    pub fn table(&mut self, table: u32) {
        let span = Span::new(FileId(0), 0, 0);
        while self.program.tables.len() <= table as usize {
            let name = format!("t{}", self.program.tables.len()).into();
            let (kind, docs) = (TableKind::Routes, "".into());
            let table = Table {
                name,
                kind,
                evaluation_order: Vec::new(),
                default: None,
                is_shown_to_user: false,
                span: Some(span),
                docs,
            };
            self.program.tables.push(table);
            self.normal.tables.push(Vec::new());
        }
    }

    pub fn route(&mut self, table: u32, cond: CondId, goto: Option<u32>) -> RuleId {
        self.table(table.max(goto.unwrap_or(0)));
        let id = RuleId(self.program.rules.len() as u32);
        let goto = goto.map(TableId);
        let span = Span::new(FileId(0), 0, 0);
        self.program.rules.push(Rule {
            name: format!("r{}", id.0).into(),
            table: TableId(table),
            priority: 0,
            is_disabled: false,
            condition: Cond { kind: CondKind::Const(true), span }.into(),
            outcome: goto.map_or_else(handler, Outcome::Goto),
            span,
            docs: "".into(),
        });
        self.program.tables[table as usize].evaluation_order.push(id);
        self.normal.tables[table as usize].push(NormalRule { rule: id, cond, goto });
        id
    }

    pub fn otherwise(&mut self, table: u32, goto: Option<u32>) {
        self.table(table.max(goto.unwrap_or(0)));
        let outcome = goto.map_or_else(handler, |table| Outcome::Goto(TableId(table)));
        self.program.tables[table as usize].default = Some(outcome);
    }
}
