//! The normal form every engine runs: conditions with each `not` pushed down to the predicates,
//! equal parts shared under one number, constants folded, operands ordered by cost.
//!
//! Sound because no condition can fail (see the language page): sharing, reordering and skipping
//! predicates changes no decision. [`Test`](NCond::Test) with `want` false asks whether the
//! predicate is *definitely* false, so unknown answers neither.

mod build;
mod cost;
mod intern;
mod parts;

pub use build::{Builder, build};
pub use parts::Part;

use crate::hir::{Const, ExternId, RuleId, SlotId, TableId, ids};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::KindSet;
use serde_json::{Number, Value as Json};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

ids! {
    /// A condition in [`Normal::conds`].
    CondId;
    /// A predicate in [`Normal::preds`].
    PredId;
    /// A value in [`Normal::exprs`].
    ExprId;
}

/// A whole program in normal form. Each vector lists operands before their users.
#[derive(Clone, Debug, Default)]
pub struct Normal {
    pub exprs: Vec<NExpr>,
    /// The predicates, each distinct one once.
    pub preds: Vec<NPred>,
    /// The conditions, each distinct one once.
    pub conds: Vec<NCond>,
    /// For each table of the program its enabled routes in the order they are tried; those whose
    /// condition folded to false are left out.
    pub tables: Vec<Vec<NRoute>>,
    /// The normal forms of the program's values, under their numbers there.
    pub values: Vec<ExprId>,
}

#[derive(Clone, Copy, Debug)]
pub struct NRoute {
    pub route: RuleId,
    pub cond: CondId,
    pub goto: Option<TableId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NCond {
    /// Always or never.
    Const(bool),
    /// The predicate is definitely `want`.
    Test { pred: PredId, want: bool },
    /// Every one holds; at least two, cheapest first, none of them an `And`.
    And(Box<[CondId]>),
    /// One holds; at least two, cheapest first, none of them an `Or`.
    Or(Box<[CondId]>),
    /// The condition, neither constant nor another `Not`, does not hold. That is no negation of what the
    /// author wrote, where unknown answers neither: it is the other answer of a part of the normal form,
    /// which holds or does not.
    Not(CondId),
    /// Over a list's elements; does not hold when the list is missing.
    Each {
        /// True when every element must do, or one.
        all: bool,
        list: ExprId,
        kinds: KindSet,
        /// The condition on the element, which is [`NExpr::Var`] of `level`.
        body: CondId,
        level: u32,
        nest: Nest,
    },
}

/// The way a quantifier stands among others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nest {
    /// The number of quantifiers in the longest chain through it that depend on each other.
    pub depth: u32,
    /// The elements of those around it that it reads as the author wrote it.
    pub reads: Levels,
}

/// The levels of quantifiers, as bits; those from 63 on share the last, which is never taken away.
///
/// A part that reads an element is computed for each, and its work counts that often. The author's text says so, not what
/// is left of it: where folding constants takes an element away, [`Nest`], [`NExpr::Cond`] and [`NExpr::If`] still name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Levels(u64);

impl Levels {
    /// No level.
    pub const NONE: Levels = Levels(0);

    /// The level alone.
    pub fn of(level: u32) -> Levels {
        Levels(1 << level.min(63))
    }

    /// True without any level.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The levels of both.
    #[must_use]
    pub fn with(self, others: Levels) -> Levels {
        Levels(self.0 | others.0)
    }

    /// The levels seen from outside the quantifier at this one.
    #[must_use]
    pub fn outside(self, level: u32) -> Levels {
        if level < 63 { Levels(self.0 & !Levels::of(level).0) } else { self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ask {
    /// The bool on the left is true.
    Truth,
    /// A predicate of the table of operators. Of two that are each other's negation, only one is asked.
    Op(Op),
}

/// A predicate: true, false or unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NPred {
    pub ask: Ask,
    /// Under which modifiers; the quantity is never `None`, which is a negated `Any`.
    pub mode: TestMode,
    pub left: ExprId,
    pub right: Option<ExprId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NExpr {
    Const(NConst),
    /// A field of the message, read at the slot's kinds.
    Slot(SlotId),
    /// The element of the quantifier at this level, the outermost being 0.
    Var(u32),
    Field(ExprId, Arc<str>),
    /// `list[i]`, `dict[key]`
    Index(ExprId, ExprId),
    List(Box<[ExprId]>),
    /// Arithmetic, `??` (two operands) or a sign (one).
    Op(Op, ExprId, Option<ExprId>),
    Read(ExprId, KindSet),
    Call(Function, Box<[ExprId]>),
    Extern(ExternId, Box<[ExprId]>),
    /// For how many elements of the list the condition holds; missing without a list.
    Count {
        list: ExprId,
        kinds: KindSet,
        body: CondId,
        level: u32,
        nest: Nest,
    },
    /// `any` or `all` over a list's elements as a value, in one walk: asking whether it holds and whether it fails
    /// would take two, and those in each of them two more. Missing without a list.
    Quantifier {
        all: bool,
        list: ExprId,
        kinds: KindSet,
        /// The conditions that the element satisfies the body, and that it fails it.
        holds: CondId,
        fails: CondId,
        level: u32,
        nest: Nest,
    },
    /// A condition as a value: true when `holds` does, false when `fails` does, else missing.
    Cond {
        holds: CondId,
        fails: CondId,
        reads: Levels,
    },
    /// One value when the condition holds, the other when not.
    If {
        cond: CondId,
        then: ExprId,
        other: ExprId,
        reads: Levels,
    },
}

/// A constant that can be compared and hashed for sharing. Floats are told apart by their bits and
/// from equal integers, so that sharing never changes a value's kind.
#[derive(Clone, Debug)]
pub struct NConst(pub Const);

impl PartialEq for NConst {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Const::Json(a), Const::Json(b)) => Arc::ptr_eq(a, b) || same(a, b),
            // Times that are equal may differ in their offsets, which `hour` and `date` show.
            (Const::DateTime(a), Const::DateTime(b)) => a == b && a.offset() == b.offset(),
            (Const::Version(a), Const::Version(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for NConst {}

impl Hash for NConst {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Const::Json(json) => hash(json, state),
            Const::DateTime(at) => at.hash(state),
            Const::Version(version) => version.hash(state),
        }
    }
}

/// The bits of a float; `None` for an integer.
fn float_bits(number: &Number) -> Option<u64> {
    number.is_f64().then(|| number.as_f64().map_or(0, f64::to_bits))
}

fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => match (float_bits(a), float_bits(b)) {
            (None, None) => a == b,
            (a, b) => a == b,
        },
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => a == b,
    }
}

fn hash<H: Hasher>(json: &Json, state: &mut H) {
    std::mem::discriminant(json).hash(state);
    match json {
        Json::Null => {}
        Json::Bool(value) => value.hash(state),
        Json::Number(number) => match float_bits(number) {
            Some(bits) => bits.hash(state),
            None => number.hash(state),
        },
        Json::String(text) => text.hash(state),
        Json::Array(items) => items.iter().for_each(|item| hash(item, state)),
        Json::Object(map) => {
            for (key, value) in map {
                key.hash(state);
                hash(value, state);
            }
        }
    }
}

impl Normal {
    pub fn expr(&self, id: ExprId) -> &NExpr {
        &self.exprs[id.index()]
    }
    pub fn pred(&self, id: PredId) -> &NPred {
        &self.preds[id.index()]
    }
    pub fn cond(&self, id: CondId) -> &NCond {
        &self.conds[id.index()]
    }
    pub fn constant(&self, id: ExprId) -> Option<&Const> {
        match self.expr(id) {
            NExpr::Const(NConst(constant)) => Some(constant),
            _ => None,
        }
    }
}
