//! Payloads, checked: each requirement is a rule of a table whose condition says when it is
//! violated; what stands here says over which objects the tables are asked, where a violation is
//! reported, and what is done about it.

use super::{Program, RuleId, TableId, ValueId, ids};
use rulec_base::codec::impl_codec;
use rulec_base::diag::Message;
use rulec_base::span::Span;
use rulec_lang::ty::Ty;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::Arc;

ids! {
    /// The root of a slot that reads no message: the judged object, an element, a `let`.
    /// Numbered from 0, the judged object, within each payload kind.
    BindingId;
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    pub id: BindingId,
    pub name: Arc<str>,
}

#[derive(Clone, Debug)]
pub struct Payload {
    pub name: Arc<str>,
    /// The least runs first; kinds without one come last.
    pub rank: Option<i64>,
    /// True when payloads of other kinds are dropped if it runs first.
    pub interrupts: bool,
    /// True when the others wait for an answer from outside if it runs first.
    pub suspends: bool,
    pub internal: bool,
    /// The kind to turn to when it is rejected.
    pub fallback: Option<Arc<str>>,
    /// Its fields, as a schema tells them.
    pub object: Object,
    pub block: Block,
    pub bindings: u32,
    pub span: Span,
    pub docs: Arc<str>,
    /// The version of its file.
    pub version: Option<Arc<str>>,
}

impl Payload {
    pub fn rules<'p>(&self, program: &'p Program) -> BTreeSet<&'p str> {
        let tables = self.block.tables();
        let rules = program.rules.iter().filter(|rule| tables.contains(&rule.table));
        rules.map(|rule| &*rule.name).collect()
    }
}

/// Requirements that are asked of the same bindings.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The values computed first, in this order.
    pub lets: Vec<(BindingId, ValueId)>,
    pub table: TableId,
    pub each: Vec<Each>,
}

impl Block {
    /// Its table and those of the blocks inside it.
    pub fn tables(&self) -> Vec<TableId> {
        let inner = self.each.iter().flat_map(|each| each.block.tables());
        std::iter::once(self.table).chain(inner).collect()
    }
}

/// Requirements asked of each element of a list or entry of a dict.
#[derive(Clone, Debug)]
pub struct Each {
    /// The list or dict; nothing is asked when it is missing.
    pub list: ValueId,
    /// The list's place in the object, when it has one.
    pub place: Option<Place>,
    pub key: Option<BindingId>,
    pub element: BindingId,
    /// The condition under which anything is asked of an element: nothing where it is false.
    pub when: Option<ValueId>,
    pub block: Block,
    /// The depth to which `each` blocks and quantifiers nest in it, itself counted.
    pub nest: u32,
}

/// A place in the judged object: a binding's place and steps from there.
#[derive(Clone, Debug)]
pub struct Place {
    pub root: BindingId,
    pub steps: Vec<Step>,
    /// The object at `root` and `steps` holds dotted keys: a place in what they change is the key
    /// that changes it.
    pub dotted: Option<Dotted>,
}

/// A place in what dotted keys change.
#[derive(Clone, Debug)]
pub struct Dotted {
    /// The beginning of the keys.
    pub prefix: Arc<str>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub enum Step {
    Key(Arc<str>),
    /// A key or index that is computed.
    At(ValueId),
}

impl Place {
    pub fn of(root: BindingId) -> Place {
        Place { root, steps: Vec::new(), dotted: None }
    }

    #[must_use]
    pub fn then(&self, step: Step) -> Place {
        let mut place = self.clone();
        match &mut place.dotted {
            Some(dotted) => dotted.steps.push(step),
            None => place.steps.push(step),
        }
        place
    }
}

#[derive(Clone, Debug)]
pub struct Requirement {
    /// The rule whose condition says when it is violated; its name is the requirement's id.
    pub rule: RuleId,
    pub place: Place,
    pub message: Message,
    /// The advice that would repair it; empty where it is the value that the correction computes.
    pub repair: Message,
    /// True when the message ends with the value found at the place.
    pub shows_value: bool,
    pub correction: Option<Correction>,
    /// True when a breach is told beside the verdict, and changes nothing in it.
    pub warning: bool,
    /// True when the condition only says whether there is a text, which is a breach if it is no condition.
    pub compiles: bool,
}

#[derive(Clone, Debug)]
pub enum Correction {
    /// The value is put at the place, unless it is missing itself.
    Default(ValueId),
    /// The same, for a value that was out of range.
    Clamp(ValueId),
    Remove,
}

/// The fields of an object, as a schema tells them.
#[derive(Clone, Debug, Default)]
pub struct Object {
    pub fields: Vec<Field>,
    /// True when there may be no other.
    pub closed: bool,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: Arc<str>,
    pub optional: bool,
    pub nullable: bool,
    pub shape: Shape,
    pub not_blank: bool,
    pub limits: Option<Limits>,
    /// The one value it may have.
    pub exactly: Option<Json>,
    /// The constant put in its place when it is missing.
    pub default: Option<Json>,
    pub docs: Arc<str>,
}

#[derive(Clone, Debug)]
pub enum Shape {
    Plain(Ty),
    Object(Object),
    Objects(Object),
}

/// The values a field may have, where they are constants.
#[derive(Clone, Debug)]
pub enum Limits {
    OneOf(Vec<Json>),
    Range {
        least: Json,
        /// The greatest, or the first past it.
        most: Json,
        /// True when `most` itself is allowed.
        inclusive: bool,
    },
}

impl_codec!(struct Root { id, name });
impl_codec!(struct Payload {
    name, rank, interrupts, suspends, internal, fallback, object, block, bindings, span, docs, version,
});
impl_codec!(struct Block { lets, table, each });
impl_codec!(struct Each { list, place, key, element, when, block, nest });
impl_codec!(struct Place { root, steps, dotted });
impl_codec!(struct Dotted { prefix, steps });
impl_codec!(enum Step { 0 Key(key), 1 At(at) });
impl_codec!(struct Requirement { rule, place, message, repair, shows_value, correction, warning, compiles });
impl_codec!(enum Correction { 0 Default(value), 1 Clamp(value), 2 Remove });
impl_codec!(struct Object { fields, closed });
impl_codec!(struct Field { name, optional, nullable, shape, not_blank, limits, exactly, default, docs });
impl_codec!(enum Shape { 0 Plain(ty), 1 Object(object), 2 Objects(object) });
impl_codec!(enum Limits { 0 OneOf(values), 1 Range { least, most, inclusive } });
