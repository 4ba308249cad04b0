//! Conditions and values as trees whose nodes have types and source spans.

use super::{ExternId, LetId, SlotId, VarId};
use rulec_base::decimal::Decimal;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::{KindSet, Ty};
use rulec_lang::value::Value;
use serde_json::Value as Json;
use std::sync::Arc;
use time::OffsetDateTime;

/// A checked expression, such as the body of a `let`: a condition or a value. The type checker
/// decides which of the two it is.
#[derive(Clone, Debug)]
pub enum Term {
    /// A three-valued condition: true, false or unknown.
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
    /// The constant condition `true` or `false`.
    Const(bool),
    /// The negation `not C`; unknown if the condition is unknown.
    Not(Box<Cond>),
    /// The conjunction (`and`) of these conditions.
    And(Vec<Cond>),
    /// The disjunction (`or`) of these conditions.
    Or(Vec<Cond>),
    /// The complement for `unless`: true if the condition is false or unknown, and never unknown
    /// itself.
    NotTrue(Box<Cond>),
    Predicate(Box<Predicate>),
    /// A quantifier over a list: `any x in L: C` or `all x in L: C`.
    Quantifier {
        /// True if the quantifier is `all`, false if it is `any`.
        is_all: bool,
        list: Box<Expr>,
        var: Var,
        body: Box<Cond>,
    },
    Let(LetId),
    /// A call of a `def`: its name, its arguments, and its body with the arguments substituted.
    Call(Arc<str>, Vec<BoundArgument>, Box<Cond>),
    /// The conditions of one branch of a `choice`. A condition is *usable* if all values that it
    /// reads are present. Conditions that are not usable are skipped; if all are skipped, the
    /// branch is not chosen.
    Branch {
        /// True if every usable condition (whose values are all present) must be true. False if one
        /// true condition is enough.
        requires_all: bool,
        conditions: Vec<GuardedCondition>,
    },
}

/// An argument of a call of a `def`. An explanation needs it to quote the body of the `def` with
/// the argument in place of the parameter.
#[derive(Clone, Debug)]
pub struct BoundArgument {
    /// The name of the parameter of the `def`.
    pub parameter: Arc<str>,
    /// The span of the argument in the call.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct GuardedCondition {
    /// The condition that all values which `cond` reads are present: a [`CondKind::And`] of
    /// predicates with `is present`.
    pub presence_condition: Cond,
    pub cond: Cond,
}

/// A predicate over one or two values, which is true, false or unknown.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// The operator, such as `==`, `contains` or `is present`. `None` if the left operand is a bool
    /// that is itself the condition.
    pub op: Option<Op>,
    /// Whether `not` precedes the operator, which swaps the truth values true and false of the
    /// predicate.
    pub is_negated: bool,
    /// The modifiers, such as `ignoring case`, with the settings of the file applied.
    pub mode: TestMode,
    pub left: Expr,
    /// The right operand; for `in` with a range, the two bounds.
    pub right: Operand,
}

#[derive(Clone, Debug)]
pub enum Operand {
    Nothing,
    Value(Expr),
    /// The range `start..end` or `start..=end`, only for the operator `in`.
    Range {
        start: Expr,
        /// The upper bound; `includes_end` says whether the range contains it.
        end: Expr,
        /// Whether the range contains its upper bound `end`.
        includes_end: bool,
        /// Whether the range passes midnight if `end` lies before `start`. It then contains the
        /// times from `start` on and the times before `end`.
        wraps_midnight: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Var {
    pub id: VarId,
    pub name: Arc<str>,
    /// The kinds of value that count as list elements. An element of another kind counts as
    /// missing.
    pub element_kinds: KindSet,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Ty,
    /// Whether the value may be missing even if the message satisfies the `input` contract.
    pub may_be_missing: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Const(Const),
    Slot(SlotId),
    Var(VarId),
    /// A parameter of a `def`, by its index. Occurs only inside the body of the `def`; calls
    /// substitute the argument.
    Param(u32),
    /// A field of a value that an expression computes. A field of the message, or of a binding (a
    /// named value in payload rules), is an [`ExprKind::Slot`] instead.
    Field(Box<Expr>, Arc<str>),
    /// An element `list[i]` or an entry `dict[key]`.
    Index(Box<Expr>, Box<Expr>),
    /// A list `[a, b]` of which some element is not constant.
    List(Vec<Expr>),
    /// Arithmetic, `??`, or a sign (without a second operand).
    Op(Op, Box<Expr>, Option<Box<Expr>>),
    /// Reads a value as a type; a value of another kind counts as missing. The author writes the
    /// type, as in `x as number`, or the type is declared for a parameter or field.
    Read(Box<Expr>, KindSet),
    Call(Function, Vec<Expr>),
    Extern(ExternId, Vec<Expr>),
    /// A value computed from the elements for which a condition is true, such as their number:
    /// `count x in L: C`.
    Fold {
        fold: Fold,
        list: Box<Expr>,
        var: Var,
        body: Box<Cond>,
    },
    /// The messages of a history that a bound selects: `history within 1h` or `history after p`.
    Window {
        list: Box<Expr>,
        bound: WindowBound,
        /// The time or the element at which the selection begins or ends.
        operand: Box<Expr>,
    },
    /// A condition as a value: true, false, or missing if the condition is unknown.
    Cond(Box<Cond>),
    /// `if C then a else b`; only the selected operand is computed.
    If {
        cond: Box<Cond>,
        then_value: Box<Expr>,
        else_value: Box<Expr>,
    },
    Let(LetId),
}

/// The value that an [`ExprKind::Fold`] computes from the elements for which its condition is true.
#[derive(Clone, Debug)]
pub enum Fold {
    /// The number of the elements for which the condition is true.
    Count,
    /// The sum of this expression over the elements for which the condition is true. Missing if the
    /// expression is missing for one of them.
    Sum(Box<Expr>),
    /// The first element for which the condition is true; missing if there is none.
    First,
    /// The last element for which the condition is true; missing if there is none.
    Last,
}

impl Fold {
    /// Returns the expression that a sum adds for each element; `None` for other folds.
    pub fn summed_expr(&self) -> Option<&Expr> {
        match self {
            Fold::Sum(value) => Some(value),
            Fold::Count | Fold::First | Fold::Last => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// A constant that JSON represents exactly, such as a text, number or list.
    Json(Arc<Json>),
    DateTime(OffsetDateTime),
    Version(Arc<str>),
    Decimal(Decimal),
}

impl Const {
    /// Converts a value to a constant; `None` for a list that JSON cannot represent exactly.
    pub fn from_value(value: Value<'_>) -> Option<Const> {
        match value {
            Value::DateTime(at) => Some(Const::DateTime(at)),
            Value::Version(version) => Some(Const::Version(version.into())),
            Value::Decimal(decimal) => Some(Const::Decimal(decimal)),
            Value::List(items) if !items.iter().all(|item| is_json_exact(*item)) => None,
            other => Some(Const::Json(Arc::new(other.to_json()))),
        }
    }

    pub fn value(&self) -> Value<'_> {
        match self {
            Const::Json(json) => Value::from_json(json),
            Const::DateTime(at) => Value::DateTime(*at),
            Const::Version(version) => Value::Version(version),
            Const::Decimal(decimal) => Value::Decimal(*decimal),
        }
    }
}

/// True if a value is the same after it was written to JSON as an element of a list and read again.
/// Date-times, versions and decimals are not, because JSON writes them as texts or numbers.
fn is_json_exact(value: Value<'_>) -> bool {
    match value {
        Value::DateTime(_) | Value::Version(_) | Value::Decimal(_) => false,
        Value::List(items) => items.iter().all(|item| is_json_exact(*item)),
        _ => true,
    }
}

impl Predicate {
    pub fn without_modifiers(op: impl Into<Option<Op>>, left: Expr, right: Operand) -> Predicate {
        Predicate { op: op.into(), is_negated: false, mode: TestMode::default(), left, right }
    }

    pub fn into_cond(self, span: Span) -> Cond {
        Cond { kind: CondKind::Predicate(Box::new(self)), span }
    }
}

impl Expr {
    /// Builds a call of a built-in function. The call is marked as optional, because its result may
    /// be missing.
    pub fn call(function: Function, args: Vec<Expr>, ty: Ty, span: Span) -> Expr {
        Expr { kind: ExprKind::Call(function, args), ty, may_be_missing: true, span }
    }

    pub fn as_const(&self) -> Option<&Const> {
        match &self.kind {
            ExprKind::Const(constant) => Some(constant),
            _ => None,
        }
    }
}
