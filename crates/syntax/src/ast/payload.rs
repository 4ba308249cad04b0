//! The syntax tree of `payload` and `group` statements.

use super::{Expr, Field, Ident, TypeExpr};
use rulec_base::span::{Span, Spanned};

/// A `payload` statement: the requirements on objects of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    pub name: Ident,
    /// `rank 3`: if several payloads wait, the one with the lowest rank runs first.
    pub rank: Option<Spanned<i64>>,
    /// The word `interrupts`: if this payload runs first, the others are dropped.
    pub interrupts: bool,
    /// The word `suspends`: if this payload runs first, the others wait for an external answer.
    pub suspends: bool,
    /// The word `internal`: this payload is never published.
    pub internal: bool,
    /// `fallback KIND`: the payload to use instead if this one is rejected.
    pub fallback: Option<Ident>,
    pub body: Vec<Item>,
}

/// A `group` statement: items that payloads and other groups can include.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The name of the group. In rule ids, it precedes the names of the fields.
    pub name: Ident,
    /// The parameters for which each `include` must give arguments.
    pub params: Vec<Field>,
    pub body: Vec<Item>,
}

/// An item of a payload, a group or an `each` block.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub kind: ItemKind,
    pub span: Span,
    /// The text of the preceding `##` lines.
    pub docs: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// Syntax: `response: string not blank`.
    Field(FieldItem),
    /// Syntax: `require "id" at PATH when COND: COND`, `forbid "id" at PATH when COND` or
    /// `compiles "id" at PATH when COND`.
    Rule(RuleItem),
    /// `closed "id" remove`: only the declared fields are allowed.
    Closed {
        /// The id of the rule. By default, the owner's name followed by `unsupported`.
        id: Option<Spanned<String>>,
        /// The message and correction for an undeclared field.
        notice: Notice,
    },
    /// Syntax: `let workflow = context.workflows[workflow_id]`.
    Let {
        /// The name, visible in the items that follow.
        name: Ident,
        value: Expr,
    },
    Include(IncludeItem),
    /// Syntax: `each node in nodes { … }`.
    Each(EachItem),
}

#[derive(Clone, Debug, PartialEq)]
pub struct FieldItem {
    pub name: Ident,
    /// Whether `?` follows the name.
    pub optional: bool,
    /// The type, which may be the name of a group.
    pub ty: TypeExpr,
    /// Whether `| null` follows the type.
    pub nullable: bool,
    pub not_blank: Option<Span>,
    /// The allowed values: `in [ … ]` or `in a..=b clamp`.
    pub limits: Option<Limits>,
    /// `const VALUE`: the only allowed value.
    pub exactly: Option<Expr>,
    /// The message and correction for a violated rule of the field.
    pub notice: Notice,
}

/// The allowed values of a field: `in [ … ]` or `in a..=b clamp`.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    pub values: Expr,
    pub clamp: bool,
}

/// A `require`, `forbid` or `compiles` rule.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleItem {
    pub id: Spanned<String>,
    pub place: Option<PathExpr>,
    /// The condition after `when`, for `require` and `compiles` rules. If it is not true, the rule
    /// does not apply.
    pub guard: Option<Expr>,
    pub test: RuleTest,
    /// The message and correction for a violation.
    pub notice: Notice,
}

/// The test of a payload rule.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleTest {
    /// The condition must be true.
    Require(Expr),
    /// The condition must not be true.
    Forbid(Expr),
    /// The text at the path must compile as a condition.
    Compiles,
}

/// The message about a violated rule, and the correction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notice {
    pub message: Option<Spanned<String>>,
    pub repair: Option<Spanned<String>>,
    pub correction: Option<Spanned<Correction>>,
    /// Whether a violation is only a warning, reported without affecting the verdict.
    pub warning: bool,
}

/// How to correct a violation.
#[derive(Clone, Debug, PartialEq)]
pub enum Correction {
    /// Syntax: `default VALUE`.
    Default(Expr),
    /// Syntax: `clamp VALUE`.
    Clamp(Expr),
    Remove,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PathExpr {
    /// A path such as `nodes[i].config`.
    pub path: Expr,
    /// The word `dotted`: the object at the path has dotted keys, and the last key of the path is
    /// their prefix.
    pub dotted: bool,
}

/// An `include` of a group: `include NAME(param: value at PATH) as "id" when COND`.
#[derive(Clone, Debug, PartialEq)]
pub struct IncludeItem {
    pub group: Ident,
    pub args: Vec<IncludeArg>,
    /// The id after `as`. All included rules report their violations under this id.
    pub renamed: Option<Spanned<String>>,
    pub guard: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IncludeArg {
    pub name: Ident,
    pub value: Expr,
    /// The path at which violations of this argument are reported.
    pub place: Option<PathExpr>,
}

/// A block repeated for each element: `each KEY, VALUE in LIST when COND { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct EachItem {
    /// The bound names: the element alone, or the index or key followed by the element.
    pub names: (Ident, Option<Ident>),
    pub list: Expr,
    /// The condition after `when`, evaluated for each element.
    pub guard: Option<Expr>,
    pub body: Vec<Item>,
}
