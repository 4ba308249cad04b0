//! Generates random predicates and programs, for differential tests.

use super::build::Build;
use super::values::{PATTERNS, Rng, TEXTS, mode, number, text, value};
use rulec_eval::host::RegisteredFunction;
use rulec_lang::builtins::Function;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_lang::value::parse_datetime;
use rulec_sema::hir::SlotId;
use rulec_sema::hir::{Const, Extern, ExternId};
use rulec_sema::normal::{CondId, NormalCond, NormalExpr, PredId};
use rulec_sema::normal::{ExprId, NormalConst, NormalFold, QuantifierLevels, QuantifierNesting, TestKind};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const OPS: &[Op] = &[
    Op::Eq,
    Op::Lt,
    Op::Le,
    Op::In,
    Op::Contains,
    Op::StartsWith,
    Op::EndsWith,
    Op::Like,
    Op::Matches,
    Op::HasKey,
    Op::IsMissing,
];
const KINDS: &[KindSet] = &[
    KindSet::MESSAGE_KINDS,
    KindSet::STRING,
    KindSet::NUMBER,
    KindSet::FLOAT,
    KindSet::INT,
    KindSet::LIST,
    KindSet::BOOL,
];
const PATHS: &[&str] = &["a", "b", "c.x", "c.y", "c.z.w", "c", "d"];

/// A random program under construction.
pub struct Gen {
    pub rng: Rng,
    pub build: Build,
    /// Values that depend on no loop, so that several conditions can use them.
    closed: Vec<ExprId>,
}

impl Gen {
    pub fn new(seed: u64) -> Gen {
        let mut this = Gen { rng: Rng(seed * 2 + 1), build: Build::default(), closed: Vec::new() };
        for path in PATHS {
            this.build.slot(path, KindSet::MESSAGE_KINDS);
        }
        for path in PATHS {
            let kinds = this.rng.pick(KINDS);
            this.build.slot(path, kinds);
        }
        this.build.slot("a", KindSet::DATETIME);
        this.build.slot("b", KindSet::DATETIME);
        let span = rulec_base::span::Span::new(rulec_base::span::FileId(0), 0, 0);
        let result = rulec_lang::ty::Ty::ANY;
        this.build.program.externs.push(Extern {
            name: "f".into(),
            params: Vec::new(),
            result,
            feature: None,
            span,
        });
        this
    }

    pub fn message(&mut self) -> Json {
        let rng = &mut self.rng;
        if rng.one_in(40) {
            return value(rng, 1);
        }
        // Each path mostly has values of one kind, so that most predicates have a known result.
        let mut long = format!("{} {}{}", text(rng), text(rng), text(rng));
        if rng.one_in(8) {
            long = "2026-01-01T00:00:00Z".to_owned();
        }
        let list: Json = (0..rng.below(6)).map(|_| text(rng)).collect();
        let words: Json = json!({text(rng): value(rng, 1), text(rng): null});
        let mut mostly = |json: Json| if rng.one_in(6) { value(rng, 2) } else { json };
        let (long, list, words) = (mostly(long.into()), mostly(list), mostly(words));
        let number = number(rng);
        let mut inner = json!({"x": list, "y": text(rng), "z": {"w": words}});
        if rng.one_in(12) {
            inner = value(rng, 2);
        }
        json!({"a": long, "b": number, "c": inner, "d": value(rng, 3)})
    }

    fn constant(&mut self, op: Op, mode: TestMode) -> ExprId {
        let rng = &mut self.rng;
        let constant = match (op, mode.quantity) {
            (Op::Matches, None) => json!(rng.pick(PATTERNS)),
            (Op::Matches, Some(_)) => (0..rng.below(4)).map(|_| rng.pick(PATTERNS)).collect(),
            (Op::In, _) | (_, Some(_)) if !rng.one_in(12) => {
                let len = rng.pick(&[0, 1, 2, 3, 6, 12]);
                let odd = rng.one_in(5);
                let numbers = op == Op::In && rng.one_in(2);
                let items = (0..len).map(|_| match (odd, numbers) {
                    (true, _) => value(rng, 1),
                    (_, true) if rng.one_in(4) => number(rng),
                    (_, true) => json!(rng.below(5)),
                    _ => json!(text(rng)),
                });
                items.collect()
            }
            (Op::Lt | Op::Le, _) => {
                if rng.one_in(4) {
                    let at = rng.pick(&["2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"]);
                    let constant = Const::DateTime(parse_datetime(at).unwrap());
                    return self.build.expr(NormalExpr::Const(NormalConst(constant)));
                }
                number(rng)
            }
            (Op::Eq, _) if rng.one_in(2) => value(rng, 1),
            (Op::Eq, _) => number(rng),
            _ if rng.one_in(15) => value(rng, 2),
            (Op::Like, _) if rng.one_in(2) => json!(format!("*{}*", rng.pick(TEXTS))),
            _ => json!(text(rng)),
        };
        self.build.constant(constant)
    }

    fn slot(&mut self) -> ExprId {
        let slot = self.rng.below(self.build.program.slots.len()) as u32;
        self.build.expr(NormalExpr::Slot(SlotId(slot)))
    }

    /// Generates a part of a history, or a value that is computed from a list.
    fn fold(&mut self, depth: usize, level: u32) -> NormalExpr {
        if self.rng.one_in(6) {
            let bound = self.rng.pick(&[WindowBound::Since, WindowBound::After, WindowBound::Before]);
            return NormalExpr::Window(bound, self.expr(depth - 1, level), self.expr(depth - 1, level));
        }
        NormalExpr::Fold {
            fold: match self.rng.pick(&[0, 1, 2, 3]) {
                0 => NormalFold::Count,
                1 => NormalFold::Sum(self.expr(depth - 1, level + 1)),
                2 => NormalFold::First,
                _ => NormalFold::Last,
            },
            list: self.expr(depth - 1, level),
            kinds: self.rng.pick(KINDS),
            body: self.cond(depth - 1, level + 1),
            level,
            nest: QuantifierNesting::default(),
        }
    }

    fn expr(&mut self, depth: usize, level: u32) -> ExprId {
        if depth == 0 || self.rng.one_in(3) {
            if level > 0 && self.rng.one_in(2) {
                let level = self.rng.below(level as usize) as u32;
                return self.build.expr(NormalExpr::Var(level));
            }
            if self.rng.one_in(4) {
                let json = value(&mut self.rng, 1);
                return self.build.constant(json);
            }
            return self.slot();
        }
        if !self.closed.is_empty() && self.rng.one_in(5) {
            return self.rng.pick(&self.closed);
        }
        let some = |this: &mut Gen, n: usize| -> Box<[ExprId]> {
            (0..n).map(|_| this.expr(depth - 1, level)).collect()
        };
        let expr = match self.rng.below(12) {
            0 => NormalExpr::Field(self.expr(depth - 1, level), self.rng.pick(TEXTS).into()),
            1 => NormalExpr::Index(self.expr(depth - 1, level), self.expr(depth - 1, level)),
            2 => {
                let len = self.rng.below(4);
                NormalExpr::List(some(self, len))
            }
            3..=5 => {
                let op = self.rng.pick(&[Op::Coalesce, Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem]);
                NormalExpr::Op(op, self.expr(depth - 1, level), Some(self.expr(depth - 1, level)))
            }
            6 => NormalExpr::Op(Op::Neg, self.expr(depth - 1, level), None),
            7 => {
                let kinds =
                    self.rng.pick(&[KindSet::STRING, KindSet::NUMBER, KindSet::DATETIME, KindSet::LIST]);
                NormalExpr::Read(self.expr(depth - 1, level), kinds)
            }
            8 | 9 => {
                let (function, arity) = self.rng.pick(&[
                    (Function::Len, 1),
                    (Function::Lower, 1),
                    (Function::Similarity, 2),
                    (Function::Split, 2),
                    (Function::Max, 3),
                    (Function::Hour, 1),
                    (Function::Bucket, 1),
                    (Function::Join, 2),
                ]);
                NormalExpr::Call(function, some(self, arity))
            }
            10 if self.rng.one_in(2) => NormalExpr::Extern(ExternId(0), some(self, 1)),
            10 => self.fold(depth, level),
            _ if self.rng.one_in(3) => NormalExpr::Quantifier {
                is_all: self.rng.one_in(2),
                list: self.expr(depth - 1, level),
                kinds: self.rng.pick(KINDS),
                true_cond: self.cond(depth - 1, level + 1),
                false_cond: self.cond(depth - 1, level + 1),
                level,
                nest: QuantifierNesting::default(),
            },
            _ if self.rng.one_in(2) => NormalExpr::If {
                cond: self.cond(depth - 1, level),
                then_value: self.expr(depth - 1, level),
                else_value: self.expr(depth - 1, level),
                read_levels: QuantifierLevels::EMPTY,
            },
            _ => {
                let [holds, fails] = [(); 2].map(|()| self.cond(depth - 1, level));
                NormalExpr::Cond { true_cond: holds, false_cond: fails, read_levels: QuantifierLevels::EMPTY }
            }
        };
        let made = self.build.expr(expr);
        if level == 0 {
            self.closed.push(made);
        }
        made
    }

    pub fn cond(&mut self, depth: usize, level: u32) -> CondId {
        let parts =
            |this: &mut Gen| (0..2 + this.rng.below(3)).map(|_| this.cond(depth - 1, level)).collect();
        let cond = match self.rng.below(if depth == 0 { 6 } else { 13 }) {
            0..=5 => {
                let pred = self.pred(depth.min(2), level);
                NormalCond::Predicate { pred, want: !self.rng.one_in(3) }
            }
            6 | 7 => NormalCond::And(parts(self)),
            8..=10 => NormalCond::Or(parts(self)),
            11 => NormalCond::Not(self.cond(depth - 1, level)),
            _ => NormalCond::Each {
                is_all: self.rng.one_in(2),
                list: self.expr(depth - 1, level),
                kinds: self.rng.pick(KINDS),
                body: self.cond(depth - 1, level + 1),
                level,
                nest: QuantifierNesting::default(),
            },
        };
        self.build.cond(cond)
    }

    /// Returns a field whose kind of value suits an operator.
    fn fitting(&mut self, op: Op) -> ExprId {
        if op == Op::Contains && self.rng.one_in(8) {
            // Times as list elements compare with texts in several notations.
            let times = PATHS.len() as u32 * 2;
            let items = [times, times + 1, 3].map(|slot| self.build.expr(NormalExpr::Slot(SlotId(slot))));
            return self.build.expr(NormalExpr::List(Box::new(items)));
        }
        let path = match op {
            Op::Lt | Op::Le => 1,
            Op::Eq | Op::In => self.rng.pick(&[0, 1, 3, 3]),
            Op::Contains => self.rng.pick(&[0, 0, 0, 2]),
            Op::HasKey => self.rng.pick(&[4, 5]),
            Op::IsMissing => self.rng.below(PATHS.len() * 2),
            _ => self.rng.pick(&[0, 3]),
        };
        self.build.expr(NormalExpr::Slot(SlotId(path as u32)))
    }

    pub fn pred(&mut self, depth: usize, level: u32) -> PredId {
        if self.rng.one_in(10) {
            let left = self.expr(depth, level);
            return self.build.pred(TestKind::Truth, TestMode::default(), left, None);
        }
        let op = self.rng.pick(OPS);
        let mode = mode(&mut self.rng, op);
        let left = if self.rng.one_in(8) {
            let inner = self.slot();
            self.build.expr(NormalExpr::Call(Function::Len, Box::new([inner])))
        } else if self.rng.below(4) > 0 {
            self.fitting(op)
        } else {
            self.expr(depth, level)
        };
        let right = if op == Op::IsMissing {
            None
        } else if op != Op::Matches && self.rng.one_in(4) {
            Some(self.expr(depth, level))
        } else {
            Some(self.constant(op, mode))
        };
        let flips = matches!(op, Op::Eq | Op::Lt | Op::Le) && self.rng.one_in(6);
        match right {
            Some(right) if flips => self.build.pred(TestKind::Op(op), mode, right, Some(left)),
            right => self.build.pred(TestKind::Op(op), mode, left, right),
        }
    }
}

pub fn host_functions() -> Vec<RegisteredFunction> {
    let function = Arc::new(|args: &[Value<'_>]| match args[0] {
        Value::Str(text) => Ok(json!(text.chars().rev().collect::<String>())),
        Value::Int(int) => Ok(json!([int, int])),
        Value::Bool(_) => Err("no bools".to_owned()),
        _ => Ok(Json::Null),
    });
    vec![RegisteredFunction {
        name: "f".into(),
        result_kinds: KindSet::STRING.union(KindSet::LIST),
        function,
        max_work_per_byte: None,
    }]
}
