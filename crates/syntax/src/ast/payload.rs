//! The syntax tree of `payload` and `group` statements, which state requirements on JSON objects.

use super::{Expr, Field, Ident, TypeExpr};
use rulec_base::span::{Span, Spanned};

/// A `payload` statement: the rules that the JSON objects (payloads) of one kind must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    pub name: Ident,
    /// The rank of the payload (`rank 3`); `None` if the statement gives no rank. An agent may
    /// propose several payloads at once. The accepted payloads are then carried out one after
    /// another, in the order of ascending rank.
    pub rank: Option<Spanned<i64>>,
    /// Whether the payload is marked `interrupts`: if a payload of this kind is carried out,
    /// waiting payloads of other kinds are dropped.
    pub interrupts_others: bool,
    /// Whether the payload is marked `suspends`: after a payload of this kind is carried out, the
    /// other payloads wait until the application supplies an answer.
    pub suspends_others: bool,
    /// Whether the payload is marked `internal`: events about payloads of this kind are not
    /// delivered to subscribers.
    pub is_internal: bool,
    /// Whether the payload is marked `strict`: a rule that cannot be evaluated, because a value is
    /// missing, then rejects the payload.
    pub is_strict: bool,
    /// The kind of payload to use instead if this payload is rejected: `fallback KIND`. `None`
    /// without this clause.
    pub fallback_kind: Option<Ident>,
    pub body: Vec<PayloadItem>,
}

/// A `group` statement: items that payloads and other groups can include.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The name of the group. In rule ids, the name of the group precedes the names of its fields.
    pub name: Ident,
    /// The parameters of the group. Each `include` of the group must give arguments for them.
    pub params: Vec<Field>,
    pub body: Vec<PayloadItem>,
}

/// A field, rule or other item of a payload, a group or an `each` block.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadItem {
    pub kind: PayloadItemKind,
    pub span: Span,
    /// The documentation of the item: the text of the `##` lines before it.
    pub docs: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PayloadItemKind {
    /// A field of the payload, with the rules for its value: `response: string not blank`.
    Field(FieldItem),
    /// A rule: `require "id" at PATH when COND: COND`, `forbid "id" at PATH when COND` or
    /// `compiles "id" at PATH when COND`.
    Rule(RuleItem),
    /// `closed "id" remove`: only the declared fields are allowed.
    Closed {
        /// The id of the `closed` rule. If `None`, the id is the name of the payload or group
        /// followed by `.unsupported`.
        id: Option<Spanned<String>>,
        /// The message that reports an undeclared field, and the correction that removes the field.
        notice: ViolationNotice,
    },
    /// A named value: `let workflow = context.workflows[workflow_id]`.
    Let {
        /// The name of the value. The items after this `let` can use it.
        name: Ident,
        value: Expr,
    },
    Include(IncludeItem),
    /// Rules that are applied to each element: `each node in nodes { … }`.
    Each(EachItem),
}

#[derive(Clone, Debug, PartialEq)]
pub struct FieldItem {
    pub name: Ident,
    /// Whether the field is optional: `?` follows its name.
    pub optional: bool,
    /// The type of the field, which may be the name of a group.
    pub ty: TypeExpr,
    /// Whether the field may be null: `| null` follows its type.
    pub nullable: bool,
    pub not_blank_span: Option<Span>,
    /// The allowed values of the field: `in [ … ]` or `in a..=b clamp`. `None` allows every value
    /// of the type.
    pub allowed_values: Option<AllowedValues>,
    /// The only allowed value of the field: `const VALUE`; `None` without this clause.
    pub const_value: Option<Expr>,
    /// How a violation of the field's own rules, such as its type or limits, is reported and
    /// corrected.
    pub notice: ViolationNotice,
}

/// The allowed values of a field: `in [ … ]` or `in a..=b clamp`.
#[derive(Clone, Debug, PartialEq)]
pub struct AllowedValues {
    pub values: Expr,
    pub should_clamp: bool,
}

/// A rule of a payload or group that begins with `require`, `forbid` or `compiles`.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleItem {
    pub id: Spanned<String>,
    pub violation_path: Option<PathExpr>,
    /// The condition after `when`, for `require` and `compiles` rules; `None` without `when`. If
    /// the condition is not true, the rule does not apply.
    pub guard: Option<Expr>,
    pub test: RuleTest,
    /// The message that reports a violation of this rule, and the correction of the payload.
    pub notice: ViolationNotice,
}

/// The keyword of a payload rule. For `require` and `forbid`, it contains the condition that the
/// rule tests.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleTest {
    /// `require`: the condition must be true.
    Require(Expr),
    /// `forbid`: the condition must not be true.
    Forbid(Expr),
    /// `compiles`: the text at the path of the rule must compile as a condition.
    Compiles,
}

/// How a violated payload rule is reported, and how the payload is corrected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViolationNotice {
    pub message: Option<Spanned<String>>,
    pub remedy: Option<Spanned<String>>,
    pub correction: Option<Spanned<Correction>>,
    /// Whether a violation is only a warning, which is reported but does not make the payload
    /// invalid.
    pub is_warning: bool,
}

/// How to correct a violation of a payload rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Correction {
    /// Replaces the value of the field by this value: `default VALUE`.
    Default(Expr),
    /// Replaces a value that is out of range by this value: `clamp VALUE`.
    Clamp(Expr),
    Remove,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PathExpr {
    /// A path into the payload, such as `nodes[i].config`.
    pub path: Expr,
    /// Whether the path is marked `dotted`, as in `at dotted updates.config`. The object `updates`
    /// may then have a key `config.url`, which sets the field `url` inside `config`.
    pub has_dotted_keys: bool,
}

/// An `include` of a group: `include NAME(param: value at PATH) as "id" when COND`.
#[derive(Clone, Debug, PartialEq)]
pub struct IncludeItem {
    pub group: Ident,
    pub args: Vec<IncludeArg>,
    /// The id after `as`; `None` without `as`. If it is given, all rules of the included group
    /// report their violations under this id.
    pub rule_id: Option<Spanned<String>>,
    pub guard: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IncludeArg {
    pub name: Ident,
    pub value: Expr,
    /// The path after `at`; `None` without `at`. If the argument violates a rule of the group, the
    /// violation is reported at this path.
    pub violation_path: Option<PathExpr>,
}

/// An `each` block: `each KEY, VALUE in LIST when COND { … }`. Its items apply to each element of
/// a list or dict.
#[derive(Clone, Debug, PartialEq)]
pub struct EachItem {
    /// The names that the block binds: the element alone, or the index or key followed by the
    /// element.
    pub loop_variables: (Ident, Option<Ident>),
    pub list: Expr,
    /// The condition after `when`; `None` without `when`. If it is given, elements for which it is
    /// not true are skipped.
    pub guard: Option<Expr>,
    pub body: Vec<PayloadItem>,
}
