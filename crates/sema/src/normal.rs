//! The normal form that every engine runs. Each `not` is pushed down to the predicates, equal nodes
//! share one id, constants are folded, and operands are ordered by cost.
//!
//! These transformations are sound because no condition can fail at run time (see the language
//! page). Sharing, reordering and skipping predicates changes no decision. A condition in normal
//! form is true or false, never unknown: [`NormalCond::Predicate`] is true if the result of its
//! predicate is `want`. For an unknown predicate, it is false for both values of `want`.

mod build;
mod cost;
mod intern;
mod parts;
mod possible_kinds;

pub use build::{NormalBuilder, build_normal_form};
pub use parts::Part;
pub use possible_kinds::{PossibleKinds, is_part_of_message};

use crate::hir::{Const, ExternId, RuleId, SlotId, TableId, define_ids};
use rulec_lang::builtins::Function;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::KindSet;
use serde_json::{Number, Value as Json};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

define_ids! {
    /// Id of a condition: its index in [`NormalForm::conds`].
    CondId;
    /// Id of a predicate: its index in [`NormalForm::preds`].
    PredId;
    /// Id of a value: its index in [`NormalForm::exprs`].
    ExprId;
}

/// A whole program in normal form. In each vector, operands come before the nodes that use them.
#[derive(Clone, Debug, Default)]
pub struct NormalForm {
    pub exprs: Vec<NormalExpr>,
    /// The predicates of all conditions; equal predicates occur once.
    pub preds: Vec<NormalPredicate>,
    /// The conditions with all their operands; equal conditions occur once.
    pub conds: Vec<NormalCond>,
    /// For each table of the program, its rules in evaluation order. Rules that are `disabled`, or
    /// whose condition folded to false, are left out.
    pub tables: Vec<Vec<NormalRule>>,
    /// The normal forms of [`Program::values`](crate::hir::Program::values), in the same order.
    pub values: Vec<ExprId>,
}

#[derive(Clone, Copy, Debug)]
pub struct NormalRule {
    pub rule: RuleId,
    pub cond: CondId,
    pub goto: Option<TableId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NormalCond {
    /// A condition that is always true or always false.
    Const(bool),
    /// True if the result of the predicate is `want`. False if the result is the opposite or
    /// unknown.
    Predicate { pred: PredId, want: bool },
    /// The conjunction of at least two conditions, cheapest first. None of them is an `And`.
    And(Box<[CondId]>),
    /// The disjunction of at least two conditions, cheapest first. None of them is an `Or`.
    Or(Box<[CondId]>),
    /// The complement of a condition that is neither constant nor a `Not`. Unlike the `not` of the
    /// language, the complement is also true where the author's condition is unknown.
    Not(CondId),
    /// A quantifier over a list's elements; false if the list is missing.
    Each {
        /// True if every element must satisfy `body`, false if one is enough.
        is_all: bool,
        list: ExprId,
        kinds: KindSet,
        /// The condition on one element. It reads the element as [`NormalExpr::Var`] with this
        /// `level`.
        body: CondId,
        level: u32,
        nest: QuantifierNesting,
    },
}

/// How a quantifier depends on the quantifiers that enclose it; used to estimate and limit its
/// cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuantifierNesting {
    /// The length of the longest chain of nested quantifiers that contains this quantifier. In a
    /// chain, each quantifier reads the element of a quantifier around it.
    pub depth: u32,
    /// The levels (nesting depths) of the enclosing quantifiers whose elements the source text of
    /// this quantifier mentions. The normal form may no longer read them.
    pub read_levels: QuantifierLevels,
}

/// A set of quantifier levels (nesting depths), one bit for each. Levels from 63 on share the last
/// bit, which is never cleared.
///
/// The set describes the quantifiers whose elements a node reads, because the node is evaluated
/// again for each of these elements. Constant folding may remove a read from the normal form. The
/// work limits of decisions must not depend on that. So [`QuantifierNesting`], [`NormalExpr::Cond`]
/// and [`NormalExpr::If`] store the levels that the source text reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuantifierLevels(u64);

impl QuantifierLevels {
    /// The empty set.
    pub const EMPTY: QuantifierLevels = QuantifierLevels(0);

    /// Returns the set that contains only this quantifier level.
    pub fn new(level: u32) -> QuantifierLevels {
        QuantifierLevels(1 << level.min(63))
    }

    /// True if the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn union(self, others: QuantifierLevels) -> QuantifierLevels {
        QuantifierLevels(self.0 | others.0)
    }

    /// Returns the set without `level`, the level of a quantifier. The element of a quantifier
    /// cannot be read outside the quantifier.
    #[must_use]
    pub fn without_level(self, level: u32) -> QuantifierLevels {
        if level < 63 { QuantifierLevels(self.0 & !QuantifierLevels::new(level).0) } else { self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TestKind {
    /// Tests whether the left operand, a bool, is true; there is no operator.
    Truth,
    /// Tests an operator of the operator table. If two operators negate each other, the normal form
    /// uses only one of them.
    Op(Op),
}

/// A predicate, which is true, false or unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NormalPredicate {
    pub test_kind: TestKind,
    /// The modifiers of the operator, such as `ignoring case`. The modifier `none` (true if no
    /// element of a list passes the test) never occurs: the normal form is a negated `any`.
    pub mode: TestMode,
    pub left: ExprId,
    pub right: Option<ExprId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NormalExpr {
    Const(NormalConst),
    /// A field of the message, or of a named value in payload rules, with the kinds of value that
    /// the rules accept. A value of another kind counts as missing.
    Slot(SlotId),
    /// The list of recorded messages. The id is the slot that reads it in the typed program.
    History(SlotId),
    /// The element of the quantifier at this level; the outermost level is 0.
    Var(u32),
    Field(ExprId, Arc<str>),
    /// An element `list[i]` or an entry `dict[key]`.
    Index(ExprId, ExprId),
    List(Box<[ExprId]>),
    /// Arithmetic, `??` (two operands) or a sign (one operand).
    Op(Op, ExprId, Option<ExprId>),
    Read(ExprId, KindSet),
    Call(Function, Box<[ExprId]>),
    Extern(ExternId, Box<[ExprId]>),
    /// A value that is computed from the elements for which the condition is true, such as their
    /// number; missing if the list is missing.
    Fold {
        fold: NormalFold,
        list: ExprId,
        kinds: KindSet,
        body: CondId,
        level: u32,
        nest: QuantifierNesting,
    },
    /// The messages of a history (the first id) that a bound selects. The second id is the time or
    /// the element that bounds the selection.
    Window(WindowBound, ExprId, ExprId),
    /// `any` or `all` over a list as a bool value; missing if the list is missing. One traversal
    /// computes whether the value is true and whether it is false. Two traversals per level would
    /// be exponential in the nesting depth.
    Quantifier {
        is_all: bool,
        list: ExprId,
        kinds: KindSet,
        /// The condition "the body is true for an element"; `false_cond` is the condition "the body
        /// is false for an element". If neither is true, the body is unknown.
        true_cond: CondId,
        false_cond: CondId,
        level: u32,
        nest: QuantifierNesting,
    },
    /// A condition as a bool value: true if `true_cond` is true, false if `false_cond` is true,
    /// otherwise missing.
    Cond {
        true_cond: CondId,
        false_cond: CondId,
        read_levels: QuantifierLevels,
    },
    /// The value `then_value` if the condition is true, otherwise the value `else_value`.
    If {
        cond: CondId,
        then_value: ExprId,
        else_value: ExprId,
        read_levels: QuantifierLevels,
    },
}

/// The value that an [`NormalExpr::Fold`] computes; see [`Fold`](crate::hir::Fold).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NormalFold {
    Count,
    /// The sum of this expression over the elements for which the condition is true.
    Sum(ExprId),
    First,
    Last,
}

impl NormalFold {
    /// Returns the expression that a sum adds for each element; `None` for other folds.
    pub fn summed_expr(self) -> Option<ExprId> {
        match self {
            NormalFold::Sum(value) => Some(value),
            NormalFold::Count | NormalFold::First | NormalFold::Last => None,
        }
    }
}

/// A constant that can be compared and hashed for sharing. Floats are compared by their bits and
/// never equal integers, so that sharing does not change the kind of a value.
#[derive(Clone, Debug)]
pub struct NormalConst(pub Const);

impl PartialEq for NormalConst {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Const::Json(a), Const::Json(b)) => Arc::ptr_eq(a, b) || is_same_constant(a, b),
            // Equal times may have different offsets, which `hour` and `date` depend on.
            (Const::DateTime(a), Const::DateTime(b)) => a == b && a.offset() == b.offset(),
            (Const::Version(a), Const::Version(b)) => a == b,
            (Const::Decimal(a), Const::Decimal(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for NormalConst {}

impl Hash for NormalConst {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Const::Json(json) => hash_json(json, state),
            Const::DateTime(at) => at.hash(state),
            Const::Version(version) => version.hash(state),
            Const::Decimal(decimal) => decimal.hash(state),
        }
    }
}

/// Returns the bits of a float, for comparison and hashing; `None` for an integer.
fn float_bits(number: &Number) -> Option<u64> {
    number.is_f64().then(|| number.as_f64().map_or(0, f64::to_bits))
}

fn is_same_constant(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => match (float_bits(a), float_bits(b)) {
            (None, None) => a == b,
            (a, b) => a == b,
        },
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_constant(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && is_same_constant(a, b))
        }
        _ => a == b,
    }
}

fn hash_json<H: Hasher>(json: &Json, state: &mut H) {
    std::mem::discriminant(json).hash(state);
    match json {
        Json::Null => {}
        Json::Bool(value) => value.hash(state),
        Json::Number(number) => match float_bits(number) {
            Some(bits) => bits.hash(state),
            None => number.hash(state),
        },
        Json::String(text) => text.hash(state),
        Json::Array(items) => items.iter().for_each(|item| hash_json(item, state)),
        Json::Object(map) => {
            for (key, value) in map {
                key.hash(state);
                hash_json(value, state);
            }
        }
    }
}

impl NormalForm {
    pub fn expr(&self, id: ExprId) -> &NormalExpr {
        &self.exprs[id.index()]
    }
    pub fn pred(&self, id: PredId) -> &NormalPredicate {
        &self.preds[id.index()]
    }
    pub fn cond(&self, id: CondId) -> &NormalCond {
        &self.conds[id.index()]
    }
    pub fn constant(&self, id: ExprId) -> Option<&Const> {
        match self.expr(id) {
            NormalExpr::Const(NormalConst(constant)) => Some(constant),
            _ => None,
        }
    }
}
