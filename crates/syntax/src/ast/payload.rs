//! The syntax tree of `payload` and `group` statements.

use super::{Expr, Field, Ident, TypeExpr};
use rulec_base::span::{Span, Spanned};

/// A `payload` statement: everything an object of one kind must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    pub name: Ident,
    /// `rank 3`: of several, the least runs first.
    pub rank: Option<Spanned<i64>>,
    /// The word `interrupts`: when it runs first, the others are dropped.
    pub interrupts: bool,
    /// The word `suspends`: when it runs first, the others wait for an answer from outside.
    pub suspends: bool,
    /// The word `internal`: it is never published.
    pub internal: bool,
    /// `fallback KIND`: what to do instead when it is rejected.
    pub fallback: Option<Ident>,
    pub body: Vec<Item>,
}

/// A `group` statement: items that payloads and other groups take in.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name, which stands before the names of its fields in rule ids.
    pub name: Ident,
    /// The parameters that `include` must give.
    pub params: Vec<Field>,
    pub body: Vec<Item>,
}

/// An item of a payload, group or `each` block.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub kind: ItemKind,
    pub span: Span,
    /// The text of the `##` lines before it.
    pub docs: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `response: string not blank`
    Field(FieldItem),
    /// `require "id" at PATH when COND: COND`, `forbid "id" at PATH when COND` or `compiles "id" at PATH when COND`
    Rule(RuleItem),
    /// `closed "id" remove`: no other fields than the declared ones.
    Closed {
        /// The rule's id; by default the owner's name and `unsupported`.
        id: Option<Spanned<String>>,
        /// The consequence of another field.
        notice: Notice,
    },
    /// `let workflow = context.workflows[workflow_id]`
    Let {
        /// Its name, known to what stands behind it.
        name: Ident,
        value: Expr,
    },
    Include(IncludeItem),
    /// `each node in nodes { … }`
    Each(EachItem),
}

#[derive(Clone, Debug, PartialEq)]
pub struct FieldItem {
    pub name: Ident,
    /// `?` after the name.
    pub optional: bool,
    /// Its type, which may be the name of a group.
    pub ty: TypeExpr,
    /// `| null` after the type.
    pub nullable: bool,
    pub not_blank: Option<Span>,
    /// `in [ … ]` or `in a..=b clamp`
    pub limits: Option<Limits>,
    /// `const VALUE`: the one value it may have.
    pub exactly: Option<Expr>,
    /// The consequence of a broken rule of the field.
    pub notice: Notice,
}

/// `in [ … ]` or `in a..=b clamp`
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    pub values: Expr,
    pub clamp: bool,
}

/// A rule of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleItem {
    pub id: Spanned<String>,
    pub place: Option<Place>,
    /// After `when`, of `require`.
    pub guard: Option<Expr>,
    pub test: RuleTest,
    /// The consequence when it is broken.
    pub notice: Notice,
}

/// The question that a rule asks.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleTest {
    /// The condition must hold.
    Require(Expr),
    /// It must not.
    Forbid(Expr),
    /// The text at the place must be a condition.
    Compiles,
}

/// The message about a broken rule, and its correction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notice {
    pub message: Option<Spanned<String>>,
    pub repair: Option<Spanned<String>>,
    pub correction: Option<Spanned<Correction>>,
    /// A breach is told beside the verdict, and changes nothing in it.
    pub warning: bool,
}

/// The ways to mend a broken rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Correction {
    /// `default VALUE`
    Default(Expr),
    /// `clamp VALUE`
    Clamp(Expr),
    Remove,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// A path such as `nodes[i].config`.
    pub path: Expr,
    /// The word `dotted`: the path's object holds dotted keys, and its last key begins them.
    pub dotted: bool,
}

/// `include NAME(param: value at PLACE) as "id" when COND`
#[derive(Clone, Debug, PartialEq)]
pub struct IncludeItem {
    pub group: Ident,
    pub args: Vec<IncludeArg>,
    /// After `as`: the one id its rules report under.
    pub renamed: Option<Spanned<String>>,
    pub guard: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IncludeArg {
    pub name: Ident,
    pub value: Expr,
    /// The place at which its faults are reported.
    pub place: Option<Place>,
}

/// `each KEY, VALUE in LIST when COND { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct EachItem {
    /// The names it binds: the element, or the index or key and the element.
    pub names: (Ident, Option<Ident>),
    pub list: Expr,
    /// After `when`: asked of each element.
    pub guard: Option<Expr>,
    pub body: Vec<Item>,
}
