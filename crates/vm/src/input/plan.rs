//! The slots and promises at each path of a message: made once a rule set.

use rulec_base::text::texts::Texts;
use rulec_lang::ty::{Kind, KindSet, Record};
use rulec_sema::hir::Program;
use std::sync::Arc;

/// No node: nothing here or further in is of interest.
pub(super) const NONE: u32 = u32::MAX;
/// The message itself.
pub const ROOT: Place = 0;

/// A place in messages: the number of a path that matters to the rules.
pub type Place = u32;

/// Programs of more fields are read from trees, where a decision looks up only what it asks for.
const MOST_SLOTS: usize = 512;

/// The paths that matter, as a tree of keys.
#[derive(Debug)]
pub struct Plan {
    nodes: Vec<PlanNode>,
    /// The questions about each for every message.
    spots: Vec<Spot>,
    slots: usize,
    /// True when the promises are those of a declared input, and not inferred.
    declared: bool,
}

#[derive(Debug)]
pub(super) struct PlanNode {
    /// The key that leads here from the place that it stands in.
    key: Arc<str>,
    /// The end of a key that is longer than [`Spot`] has room for, as JSON text writes it.
    rest: Box<[u8]>,
    parent: u32,
    /// The slot that is read here, if any, and the kinds it is read at.
    pub slot: (u32, KindSet),
    /// Further slots that are read here, at other kinds.
    pub further: Vec<(u32, KindSet)>,
    /// All the kinds that the slots are read at.
    wanted: KindSet,
    pub promise: Option<Promise>,
    /// The number of fields that the declared input wants in it.
    pub required: u32,
    /// The places inside it, sorted by key.
    pub children: Vec<(Arc<str>, u32)>,
    /// The same by key.
    by_key: Texts,
}

impl PlanNode {
    fn new(key: Arc<str>, parent: u32) -> PlanNode {
        PlanNode {
            rest: written(&key).get(Spot::FIRST..).unwrap_or_default().into(),
            key,
            parent,
            slot: (NONE, KindSet::EMPTY),
            further: Vec::new(),
            wanted: KindSet::EMPTY,
            promise: None,
            required: 0,
            children: Vec::new(),
            by_key: Texts::default(),
        }
    }

    fn read(&mut self, slot: u32, kinds: KindSet) {
        self.wanted = self.wanted.union(kinds);
        if self.slot.0 == NONE {
            self.slot = (slot, kinds);
        } else {
            self.further.push((slot, kinds));
        }
    }
}

/// The part of a place that most messages need of it, in one line of the processor's cache.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Spot {
    /// Its key as JSON text writes it, with the colon: the first bytes, and which of them count.
    first: u128,
    mask: u128,
    /// The number of bytes of all of it.
    length: u32,
    /// The place that the key stands in.
    parent: u32,
    /// The slot that a value goes to as it is.
    pub slot: u32,
    /// The kinds of which a value is all that the only slot here reads, and that the declared input promises.
    pub plain: KindSet,
    /// The kinds of which slots read a list or dict here, so that all of it is wanted.
    wanted: KindSet,
    /// The number of fields that its object must have, and that a plain value here is: none or one.
    pub given: u8,
}

impl Spot {
    /// The bytes of a key that are compared at once.
    const FIRST: usize = size_of::<u128>();

    fn of(node: &PlanNode) -> Spot {
        let written = written(&node.key);
        let first = &written[..written.len().min(Spot::FIRST)];
        let mut bytes = [0; Spot::FIRST];
        bytes[..first.len()].copy_from_slice(first);
        let kept = node.promise.map_or(KindSet::ALL, |promise| promise.kinds);
        let alone = node.further.is_empty() && node.slot.0 != NONE;
        Spot {
            first: u128::from_le_bytes(bytes),
            mask: u128::MAX >> (8 * (Spot::FIRST - first.len())),
            length: written.len() as u32,
            parent: node.parent,
            slot: node.slot.0,
            plain: if alone { node.slot.1.intersect(kept) } else { KindSet::EMPTY },
            wanted: node.wanted,
            given: node.promise.is_some_and(|promise| !promise.optional).into(),
        }
    }
}

/// A key as JSON text writes it, with the colon behind it.
fn written(key: &str) -> Vec<u8> {
    let mut written = serde_json::Value::from(key).to_string().into_bytes();
    written.push(b':');
    written
}

/// The declared input's promise about a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    pub kinds: KindSet,
    pub optional: bool,
}

impl Plan {
    /// For a program; `None` when it reads so many fields that a tree serves it better.
    pub fn of(program: &Program) -> Option<Plan> {
        if program.slots.len() > MOST_SLOTS {
            return None;
        }
        let (slots, declared) = (program.slots.len(), program.input.is_some());
        let nodes = vec![PlanNode::new("".into(), NONE)];
        let mut plan = Plan { nodes, spots: Vec::new(), slots, declared };
        for (slot, info) in program.slots.iter().enumerate().filter(|(_, slot)| slot.root.is_none()) {
            let node = info.path.iter().fold(ROOT, |node, key| plan.child_or_new(node, key));
            plan.nodes[node as usize].read(slot as u32, info.kinds);
        }
        if let Some(promised) = program.promised() {
            plan.promise(ROOT, &promised);
        }
        for node in &mut plan.nodes {
            node.children.iter().for_each(|(key, child)| node.by_key.insert(key, *child));
        }
        plan.spots = plan.nodes.iter().map(Spot::of).collect();
        Some(plan)
    }

    fn promise(&mut self, node: u32, record: &Record) {
        for field in &record.fields {
            let child = self.child_or_new(node, &field.name);
            let promise = Promise { kinds: field.ty.kinds, optional: field.optional };
            self.nodes[child as usize].promise = Some(promise);
            self.nodes[node as usize].required += u32::from(!field.optional);
            if let Some(fields) = field.ty.fields() {
                self.promise(child, fields);
            }
        }
    }

    fn child_or_new(&mut self, node: u32, key: &Arc<str>) -> u32 {
        let new = self.nodes.len() as u32;
        let children = &mut self.nodes[node as usize].children;
        match children.binary_search_by(|(known, _)| known.cmp(key)) {
            Ok(at) => children[at].1,
            Err(at) => {
                children.insert(at, (key.clone(), new));
                self.nodes.push(PlanNode::new(key.clone(), node));
                new
            }
        }
    }

    /// The keys at a place that lead further, each with its place.
    pub fn inside(&self, place: Place) -> impl Iterator<Item = (&Arc<str>, Place)> {
        self.node(place).into_iter().flat_map(|node| node.children.iter().map(|(key, child)| (key, *child)))
    }

    /// The kinds that a place is read at, or promised to be of.
    pub fn kinds(&self, place: Place) -> KindSet {
        let promised = |node: &PlanNode| node.promise.map_or(KindSet::EMPTY, |promise| promise.kinds);
        self.node(place).map_or(KindSet::EMPTY, |node| node.wanted.union(promised(node)))
    }

    /// True when the rules declare a field at a place and say that it may be missing.
    pub fn is_optional(&self, place: Place) -> bool {
        self.declared
            && self.node(place).and_then(|node| node.promise).is_some_and(|promise| promise.optional)
    }

    /// The number of places.
    pub(super) fn places(&self) -> usize {
        self.nodes.len()
    }

    /// The slots that are read at a place, each with the kinds it is read at.
    pub fn slots_at(&self, place: Place) -> impl Iterator<Item = (u32, KindSet)> {
        let node = self.node(place).into_iter();
        node.flat_map(|node| std::iter::once(node.slot).chain(node.further.iter().copied()))
            .filter(|(slot, _)| *slot != NONE)
    }

    /// The kinds that a place is promised to be of, and true when it may be missing.
    pub fn promised(&self, place: Place) -> Option<(KindSet, bool)> {
        self.node(place)?.promise.map(|promise| (promise.kinds, promise.optional))
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A place; `None` for [`NONE`].
    #[inline]
    pub(super) fn node(&self, node: u32) -> Option<&PlanNode> {
        self.nodes.get(node as usize)
    }

    /// The place at a key of an object; no place of the plan when nothing there matters.
    #[inline]
    pub fn child(&self, node: u32, key: &str) -> u32 {
        self.node(node).and_then(|node| node.by_key.get(key.as_bytes())).unwrap_or(NONE)
    }

    /// The part of a place that most messages need; `None` for [`NONE`].
    #[inline(always)]
    pub(super) fn spot(&self, node: u32) -> Option<&Spot> {
        self.spots.get(node as usize)
    }

    /// The length of a place's key with its colon, when the place is one in an object at a place and the key stands in
    /// the text ahead. At the end of a text it may not be seen.
    #[inline(always)]
    pub(super) fn length_ahead(&self, node: u32, child: u32, ahead: &[u8]) -> Option<usize> {
        let (spot, (first, rest)) = (self.spot(child)?, ahead.split_first_chunk()?);
        let begins = spot.parent == node && (u128::from_le_bytes(*first) ^ spot.first) & spot.mask == 0;
        let length = spot.length as usize;
        (begins && (length <= Spot::FIRST || self.ends_with_rest(child, rest))).then_some(length)
    }

    fn ends_with_rest(&self, child: u32, ahead: &[u8]) -> bool {
        self.node(child).is_some_and(|node| ahead.starts_with(&node.rest))
    }

    /// True when a slot is read here as a list or dict, so that all of it is wanted.
    #[inline]
    pub fn wants(&self, node: u32, kind: Kind) -> bool {
        self.spot(node).is_some_and(|spot| spot.wanted.has(kind))
    }
}
