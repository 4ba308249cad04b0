//! Conditions and values as trees.

use super::{ExternId, LetId, SlotId, VarId};
use crate::builtins::Function;
use crate::ops::{Op, TestMode};
use crate::span::Span;
use crate::ty::{KindSet, Ty};
use crate::value::Value;
use serde_json::Value as Json;
use std::sync::Arc;
use time::OffsetDateTime;

/// A condition or a value: what a `let` or an expression may turn out to be.
#[derive(Clone, Debug)]
pub enum Term {
    /// True, false or unknown.
    Cond(Cond),
    /// A value.
    Expr(Expr),
}

/// A condition.
#[derive(Clone, Debug)]
pub struct Cond {
    /// The form.
    pub kind: CondKind,
    /// The place it is written at.
    pub span: Span,
}

/// The forms of a condition.
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
    /// A predicate over values.
    Test(Box<Predicate>),
    /// `any x in L: C` and `all x in L: C`
    Quantifier {
        /// True when every element must do.
        all: bool,
        /// The list.
        list: Box<Expr>,
        /// The element's name.
        var: Var,
        /// The condition on an element.
        body: Box<Cond>,
    },
    /// A `let`.
    Let(LetId),
    /// A call of a `def` with the arguments put in.
    Call(Arc<str>, Box<Cond>),
    /// The conditions of a choice's branch: those that can be used are joined, and one at least
    /// must be.
    Branch {
        /// True when every one must hold, or one.
        all: bool,
        /// The conditions.
        conditions: Vec<Guarded>,
    },
}

/// A condition of a branch.
#[derive(Clone, Debug)]
pub struct Guarded {
    /// The test that every value it reads is present: a [`CondKind::And`] of presence tests.
    pub usable: Cond,
    /// The condition.
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
    /// The left operand.
    pub left: Expr,
    /// The right operand; for a range its two ends.
    pub right: Operand,
}

/// The right side of a predicate.
#[derive(Clone, Debug)]
pub enum Operand {
    /// There is none.
    Nothing,
    /// A value.
    Value(Expr),
    /// `start..end` or `start..=end`
    Range {
        /// The first value.
        start: Expr,
        /// The last, or the first past it.
        end: Expr,
        /// True when `end` is the last.
        inclusive: bool,
    },
}

/// A quantifier's element variable.
#[derive(Clone, Debug)]
pub struct Var {
    /// Its number.
    pub id: VarId,
    /// Its name.
    pub name: Arc<str>,
    /// The kinds its elements are read at.
    pub kinds: KindSet,
}

/// A value.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The form.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Ty,
    /// True when it may be missing even when the message keeps every promise of `input`.
    pub optional: bool,
    /// The place it is written at.
    pub span: Span,
}

/// The forms of a value.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Const(Const),
    /// A field of the message.
    Slot(SlotId),
    /// A quantifier's element.
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
    /// A call of a built-in function.
    Call(Function, Vec<Expr>),
    /// A call of a host function.
    Extern(ExternId, Vec<Expr>),
    /// `count x in L: C`
    Count {
        /// The list.
        list: Box<Expr>,
        /// The element's name.
        var: Var,
        /// The condition on an element.
        body: Box<Cond>,
    },
    /// A condition as a value: true, false or missing.
    Cond(Box<Cond>),
    /// A `let`.
    Let(LetId),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// Anything JSON can say.
    Json(Arc<Json>),
    /// A point in time.
    DateTime(OffsetDateTime),
}

impl Const {
    /// The constant as a value.
    pub fn value(&self) -> Value<'_> {
        match self {
            Const::Json(json) => Value::from_json(json),
            Const::DateTime(at) => Value::DateTime(*at),
        }
    }
}

impl Predicate {
    /// A predicate without modifiers.
    pub fn plain(op: impl Into<Option<Op>>, left: Expr, right: Operand) -> Predicate {
        Predicate { op: op.into(), negated: false, mode: TestMode::default(), left, right }
    }

    /// The condition that asks it.
    pub fn at(self, span: Span) -> Cond {
        Cond { kind: CondKind::Test(Box::new(self)), span }
    }
}

impl Expr {
    /// A call, which may be missing.
    pub fn call(function: Function, args: Vec<Expr>, ty: Ty, span: Span) -> Expr {
        Expr { kind: ExprKind::Call(function, args), ty, optional: true, span }
    }

    /// The constant, when it is one.
    pub fn as_const(&self) -> Option<&Const> {
        match &self.kind {
            ExprKind::Const(constant) => Some(constant),
            _ => None,
        }
    }
}
