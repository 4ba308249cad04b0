//! Checked payloads. A payload kind is a declared set of requirements on an object, such as a
//! proposal of a language model. Each requirement is a rule of a table; its condition is true when
//! the requirement is violated. The types here describe which objects each table is evaluated for,
//! and how a violation is reported and corrected.

use super::{Program, RuleId, TableId, ValueId, define_ids};
use rulec_base::codec::impl_codec;
use rulec_base::diag::Message;
use rulec_base::span::Span;
use rulec_lang::ty::Ty;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::Arc;

define_ids! {
    /// Id of a binding, a named value that slots read instead of the message. A binding is the
    /// validated object, an element or key of an `each`, or a `let`. In each payload kind, ids
    /// start at 0, the id of the validated object.
    BindingId;
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BindingRoot {
    pub id: BindingId,
    pub name: Arc<str>,
}

#[derive(Clone, Debug)]
pub struct Payload {
    pub name: Arc<str>,
    /// The rank by which the program that executes payloads orders them, lowest first. Payload
    /// kinds without a rank come last.
    pub execution_rank: Option<i64>,
    /// Whether a payload of this kind, when it is selected to be executed, drops all waiting
    /// payloads of other kinds.
    pub interrupts: bool,
    /// Whether an executed payload of this kind needs an answer from outside, such as from the
    /// user. Until the answer arrives, all waiting payloads wait.
    pub suspends: bool,
    pub is_internal: bool,
    /// Whether a payload is rejected if the condition of one of its rules is unknown, for example
    /// because a value is missing.
    pub is_strict: bool,
    /// The name of the `payload` statement to use instead if a payload of this kind is rejected;
    /// `None` if the author names none.
    pub fallback_payload: Option<Arc<str>>,
    /// The schema of the payload's fields.
    pub object: ObjectSchema,
    pub block: RequirementBlock,
    pub binding_count: u32,
    pub span: Span,
    pub docs: Arc<str>,
    /// The version of the payload, which the setting `version` of its file gives; `None` if the
    /// file does not set it.
    pub payload_version: Option<Arc<str>>,
}

impl Payload {
    pub fn rule_names<'p>(&self, program: &'p Program) -> BTreeSet<&'p str> {
        let tables = self.block.tables();
        let rules = program.rules.iter().filter(|rule| tables.contains(&rule.table));
        rules.map(|rule| &*rule.name).collect()
    }
}

/// Payload requirements that are evaluated together for one value, such as one list element. They
/// share named values (bindings).
#[derive(Clone, Debug, Default)]
pub struct RequirementBlock {
    /// The named values of this block, computed in this order before the requirements.
    pub lets: Vec<(BindingId, ValueId)>,
    pub table: TableId,
    pub each_blocks: Vec<EachBlock>,
}

impl RequirementBlock {
    /// Returns the value of a `let` of this block, or of an `each` block inside it. `None` if the
    /// binding is no `let`.
    pub fn let_value(&self, binding: BindingId) -> Option<ValueId> {
        let own = self.lets.iter().find(|(id, _)| *id == binding).map(|(_, value)| *value);
        own.or_else(|| self.each_blocks.iter().find_map(|each| each.block.let_value(binding)))
    }

    /// Returns the requirement tables of this block and of all `each` blocks inside it.
    pub fn tables(&self) -> Vec<TableId> {
        let inner = self.each_blocks.iter().flat_map(|each| each.block.tables());
        std::iter::once(self.table).chain(inner).collect()
    }
}

/// Payload requirements that are evaluated for each element of a list or each entry of a dict.
#[derive(Clone, Debug)]
pub struct EachBlock {
    /// The list or dict whose elements are validated; if it is missing, no requirement is
    /// evaluated.
    pub list: ValueId,
    /// The path of the list in the validated object; `None` if the list is computed.
    pub place: Option<ObjectPath>,
    pub key: Option<BindingId>,
    pub element: BindingId,
    /// The condition after `when` on one element. If it is false, the requirements are not
    /// evaluated for that element. `None` applies them to all elements.
    pub condition: Option<ValueId>,
    pub block: RequirementBlock,
    /// The nesting depth of `each` blocks and quantifiers, counted from this `each` (at least 1) to
    /// the innermost one.
    pub nesting_depth: u32,
}

/// A path in the validated object. The path starts at the value of the binding `root`, which is the
/// object or one of its elements, and continues with `steps`.
#[derive(Clone, Debug)]
pub struct ObjectPath {
    pub root: BindingId,
    pub steps: Vec<ObjectStep>,
    /// Set if the object may have dotted keys: a key `a.b` sets the field `b` inside `a`. A
    /// violation in such a nested field is reported at the dotted key.
    pub dotted: Option<DottedPath>,
}

/// A path to a nested field that a dotted key sets, such as `config.url`.
#[derive(Clone, Debug)]
pub struct DottedPath {
    /// The prefix of the dotted keys, such as `config`.
    pub prefix: Arc<str>,
    pub steps: Vec<ObjectStep>,
}

#[derive(Clone, Debug)]
pub enum ObjectStep {
    Key(Arc<str>),
    /// A step to the key or index that this value computes.
    At(ValueId),
}

impl ObjectPath {
    pub fn new(root: BindingId) -> ObjectPath {
        ObjectPath { root, steps: Vec::new(), dotted: None }
    }

    #[must_use]
    pub fn with_step(&self, step: ObjectStep) -> ObjectPath {
        let mut path = self.clone();
        match &mut path.dotted {
            Some(dotted) => dotted.steps.push(step),
            None => path.steps.push(step),
        }
        path
    }
}

#[derive(Clone, Debug)]
pub struct Requirement {
    /// The rule whose condition is true when the requirement is violated. The id of the requirement
    /// is the rule's name.
    pub rule: RuleId,
    /// The path in the payload at which a violation of this requirement is reported.
    pub place: ObjectPath,
    pub message: Message,
    /// The suggested repair. Empty if the suggestion is the value that `correction` computes.
    pub repair: Message,
    /// Whether the message of a violation ends with the value that was found at the path `place`.
    pub shows_value: bool,
    pub correction: Option<Correction>,
    pub effect: Effect,
    /// Whether this is a rule with `compiles`: the value must be a text that compiles as a
    /// condition. The condition of `rule` then only selects the texts; compiling a text decides
    /// whether it violates the requirement.
    pub must_compile: bool,
    /// Whether the requirement comes from the declaration of a field, and not from a rule that the
    /// author wrote.
    pub is_from_field: bool,
}

/// What validation does if the condition of a requirement's rule is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The payload violates the requirement and is rejected unless a correction applies.
    Violation,
    /// A warning is reported, but the payload is not rejected.
    Warning,
    /// The correction is applied, and nothing is reported. For example, an optional field gets its
    /// default.
    Completion,
}

#[derive(Clone, Debug)]
pub enum Correction {
    /// Writes this value at the requirement's path. Writes nothing if the value is missing.
    Default(ValueId),
    /// Replaces the value at the requirement's path by this value, the nearest one in the range.
    Clamp(ValueId),
    /// Removes the value at the requirement's path.
    Remove,
}

/// The schema of an object: its fields.
#[derive(Clone, Debug, Default)]
pub struct ObjectSchema {
    pub fields: Vec<Field>,
    /// Whether fields that are not declared are forbidden.
    pub is_closed: bool,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: Arc<str>,
    pub is_optional: bool,
    pub is_nullable: bool,
    pub shape: FieldShape,
    pub forbids_blank: bool,
    pub allowed_values: Option<AllowedValues>,
    /// The only allowed value of the field; `None` if any value of the type is allowed.
    pub only_value: Option<Json>,
    /// The constant that replaces a missing value; `None` if there is no constant default.
    pub default: Option<Json>,
    pub docs: Arc<str>,
}

#[derive(Clone, Debug)]
pub enum FieldShape {
    Plain(Ty),
    Object(ObjectSchema),
    Objects(ObjectSchema),
}

/// The allowed values of a field, if they are constants.
#[derive(Clone, Debug)]
pub enum AllowedValues {
    OneOf(Vec<Json>),
    Range {
        lower_bound: Json,
        /// The upper bound of the range; `includes_upper_bound` says whether the bound itself is
        /// allowed.
        upper_bound: Json,
        /// Whether the bound `upper_bound` is itself an allowed value.
        includes_upper_bound: bool,
    },
}

impl_codec!(struct BindingRoot { id, name });
impl_codec!(struct Payload {
    name, execution_rank, interrupts, suspends, is_internal, is_strict, fallback_payload, object, block, binding_count, span, docs, payload_version,
});
impl_codec!(struct RequirementBlock { lets, table, each_blocks });
impl_codec!(struct EachBlock { list, place, key, element, condition, block, nesting_depth });
impl_codec!(struct ObjectPath { root, steps, dotted });
impl_codec!(struct DottedPath { prefix, steps });
impl_codec!(enum ObjectStep { 0 Key(key), 1 At(at) });
impl_codec!(struct Requirement { rule, place, message, repair, shows_value, correction, effect, must_compile, is_from_field });
impl_codec!(enum Effect { 0 Violation, 1 Warning, 2 Completion });
impl_codec!(enum Correction { 0 Default(value), 1 Clamp(value), 2 Remove });
impl_codec!(struct ObjectSchema { fields, is_closed });
impl_codec!(struct Field { name, is_optional, is_nullable, shape, forbids_blank, allowed_values, only_value, default, docs });
impl_codec!(enum FieldShape { 0 Plain(ty), 1 Object(object), 2 Objects(object) });
impl_codec!(enum AllowedValues { 0 OneOf(values), 1 Range { lower_bound, upper_bound, includes_upper_bound } });
