//! Conditions and values as trees.

use super::{ExternId, LetId, SlotId, VarId};
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::{KindSet, Ty};
use rulec_lang::value::Value;
use serde_json::Value as Json;
use std::sync::Arc;
use time::OffsetDateTime;

/// A condition or a value: what a `let` or an expression may turn out to be.
#[derive(Clone, Debug)]
pub enum Term {
    /// True, false or unknown.
    Cond(Cond),
    Expr(Expr),
}

#[derive(Clone, Debug)]
pub struct Cond {
    pub kind: CondKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum CondKind {
    /// `true`, `false`.
    Const(bool),
    /// `not C`
    Not(Box<Cond>),
    /// Every one holds.
    And(Vec<Cond>),
    /// One holds.
    Or(Vec<Cond>),
    /// The condition is not true: false, or unknown. It is never unknown itself.
    NotTrue(Box<Cond>),
    Test(Box<Predicate>),
    /// `any x in L: C` and `all x in L: C`
    Quantifier {
        /// True when every element must do.
        all: bool,
        list: Box<Expr>,
        var: Var,
        body: Box<Cond>,
    },
    Let(LetId),
    /// A call of a `def` with the arguments put in.
    Call(Arc<str>, Box<Cond>),
    /// The conditions of a choice's branch: those that can be used are joined, and one at least
    /// must be.
    Branch {
        /// True when every one must hold, or one.
        all: bool,
        conditions: Vec<Guarded>,
    },
}

#[derive(Clone, Debug)]
pub struct Guarded {
    /// The test that every value it reads is present: a [`CondKind::And`] of presence tests.
    pub usable: Cond,
    pub cond: Cond,
}

/// A predicate over one or two values.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// A comparison, text or presence operator; `None` for a bool as a condition.
    pub op: Option<Op>,
    /// True when `not` was written before the operator.
    pub negated: bool,
    /// Its modifiers, the file's settings applied.
    pub mode: TestMode,
    pub left: Expr,
    /// The right operand; for a range its two ends.
    pub right: Operand,
}

#[derive(Clone, Debug)]
pub enum Operand {
    Nothing,
    Value(Expr),
    /// `start..end` or `start..=end`
    Range {
        start: Expr,
        /// The last, or the first past it.
        end: Expr,
        /// True when `end` is the last.
        inclusive: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Var {
    pub id: VarId,
    pub name: Arc<str>,
    /// The kinds its elements are read at.
    pub kinds: KindSet,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Ty,
    /// True when it may be missing even when the message keeps every promise of `input`.
    pub optional: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Const(Const),
    Slot(SlotId),
    Var(VarId),
    /// A parameter, inside a `def` only; calls put the argument in its place.
    Param(u32),
    /// A field of a value that is no slot.
    Field(Box<Expr>, Arc<str>),
    /// `list[i]`, `dict[key]`
    Index(Box<Expr>, Box<Expr>),
    /// `[a, b]` with an element that is no constant.
    List(Vec<Expr>),
    /// Arithmetic, `??` or a sign.
    Op(Op, Box<Expr>, Option<Box<Expr>>),
    /// A typed read: `x as number`, or a parameter's or field's declared type.
    Read(Box<Expr>, KindSet),
    Call(Function, Vec<Expr>),
    Extern(ExternId, Vec<Expr>),
    /// `count x in L: C`
    Count {
        list: Box<Expr>,
        var: Var,
        body: Box<Cond>,
    },
    /// A condition as a value: true, false or missing.
    Cond(Box<Cond>),
    /// `if C then a else b`; only the value that is wanted is computed.
    If {
        cond: Box<Cond>,
        then: Box<Expr>,
        other: Box<Expr>,
    },
    Let(LetId),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// Anything JSON can say.
    Json(Arc<Json>),
    DateTime(OffsetDateTime),
    Version(Arc<str>),
}

impl Const {
    /// The constant of a value; `None` for a list that JSON cannot say.
    pub fn of(value: Value<'_>) -> Option<Const> {
        match value {
            Value::DateTime(at) => Some(Const::DateTime(at)),
            Value::Version(version) => Some(Const::Version(version.into())),
            Value::List(items) if !items.iter().all(|item| is_json(*item)) => None,
            other => Some(Const::Json(Arc::new(other.to_json()))),
        }
    }

    pub fn value(&self) -> Value<'_> {
        match self {
            Const::Json(json) => match &**json {
                // In a message `-0.0` is the integer 0; an author who writes a float means one.
                Json::Number(number) if number.is_f64() => {
                    number.as_f64().map_or(Value::Missing, Value::Float)
                }
                other => Value::from_json(other),
            },
            Const::DateTime(at) => Value::DateTime(*at),
            Const::Version(version) => Value::Version(version),
        }
    }
}

/// True when a value in a list stays what it is as JSON: times and versions have none of their own, and `-0.0` would be read
/// as an integer there.
fn is_json(value: Value<'_>) -> bool {
    match value {
        Value::DateTime(_) | Value::Version(_) => false,
        Value::Float(float) => float != 0.0 || float.is_sign_positive(),
        Value::List(items) => items.iter().all(|item| is_json(*item)),
        _ => true,
    }
}

impl Predicate {
    pub fn plain(op: impl Into<Option<Op>>, left: Expr, right: Operand) -> Predicate {
        Predicate { op: op.into(), negated: false, mode: TestMode::default(), left, right }
    }

    pub fn at(self, span: Span) -> Cond {
        Cond { kind: CondKind::Test(Box::new(self)), span }
    }
}

impl Expr {
    /// A call, which may be missing.
    pub fn call(function: Function, args: Vec<Expr>, ty: Ty, span: Span) -> Expr {
        Expr { kind: ExprKind::Call(function, args), ty, optional: true, span }
    }

    pub fn as_const(&self) -> Option<&Const> {
        match &self.kind {
            ExprKind::Const(constant) => Some(constant),
            _ => None,
        }
    }
}
