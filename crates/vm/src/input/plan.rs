//! The plan for reading messages: for each path (a sequence of keys), the slots that read it, and
//! the declared field. A *slot* is a field that rules read, together with the kinds of value that
//! they accept. The plan is built once per rule set.

use rulec_base::json::DecimalPaths;
use rulec_base::text::texts::TextIds;
use rulec_lang::ty::{Enumeration, Kind, KindSet, RecordType};
use rulec_sema::hir::Program;
use std::sync::Arc;

/// Path id of keys that can be skipped. Neither the rules nor the input contract refer to the value
/// of such a key, or to a value inside it.
pub(super) const NO_PATH: u32 = u32::MAX;
/// The path of the message itself.
pub const ROOT_PATH: PathId = 0;

/// Id of a path in messages that some rule reads or the input contract declares.
pub type PathId = u32;

/// Maximum number of slots (fields that rules read) of a program with a plan. If a program has more
/// slots, messages are read into JSON trees. A decision then looks up only the fields that it
/// needs.
/// Compared with other values in benches/notes/constants.md.
const MAX_PLANNED_SLOTS: usize = 512;

/// The paths that rules read or the input contract declares, as a tree of keys.
#[derive(Debug)]
pub struct InputPlan {
    nodes: Vec<PlanNode>,
    /// For each path, the data that is read for nearly every message, packed into one cache line.
    /// The paths are in the same order as in `nodes`.
    hot_nodes: Vec<HotNode>,
    slot_count: usize,
    /// Whether the author declared the input contract (the types of message fields). False if it
    /// was inferred from the rules.
    has_declared_contract: bool,
}

/// How to read the value at one path (sequence of keys) of a message: the slots that store the
/// value, and the checks of the input contract.
#[derive(Debug)]
pub(super) struct PlanNode {
    /// The last key of the path at which this node reads a value.
    key: Arc<str>,
    /// The last bytes of the key (as JSON text), which do not fit into [`HotNode`].
    key_rest: Box<[u8]>,
    parent_path: u32,
    /// First slot that reads this path, or `NO_PATH` if there is none, with the kinds of value that
    /// the slot accepts.
    pub first_slot: (u32, KindSet),
    /// Further slots that read this path. Several slots may read one path because they accept
    /// different kinds of value.
    pub further_slots: Vec<(u32, KindSet)>,
    /// All kinds of value that at least one slot (field that rules read) accepts at this path.
    slot_kinds: KindSet,
    pub contract: Option<FieldContract>,
    /// The only texts that the field may have; another text counts as missing. `None` if any text
    /// is allowed.
    pub allowed_texts: Option<Enumeration>,
    /// Number of fields that the input contract requires in the object at this path.
    pub required_field_count: u32,
    /// The paths of the keys inside the object at this path, sorted by key.
    pub child_paths: Vec<(Arc<str>, u32)>,
    /// The paths of the keys inside the object at this path, as a hash index by key.
    child_path_by_key: TextIds,
    /// If rules read decimals at this path or inside its value, the paths of these decimals,
    /// relative to the value. Numbers there keep all their digits and are not rounded to floats.
    /// Otherwise `None`.
    pub decimal_paths: Option<Box<DecimalPaths>>,
}

impl PlanNode {
    fn new(key: Arc<str>, parent: u32) -> PlanNode {
        PlanNode {
            key_rest: json_key_bytes(&key).get(HotNode::WIDE_KEY_BYTES..).unwrap_or_default().into(),
            key,
            parent_path: parent,
            first_slot: (NO_PATH, KindSet::EMPTY),
            further_slots: Vec::new(),
            slot_kinds: KindSet::EMPTY,
            contract: None,
            allowed_texts: None,
            required_field_count: 0,
            child_paths: Vec::new(),
            child_path_by_key: TextIds::default(),
            decimal_paths: None,
        }
    }

    fn add_slot(&mut self, slot: u32, kinds: KindSet) {
        self.slot_kinds = self.slot_kinds.union(kinds);
        if self.first_slot.0 == NO_PATH {
            self.first_slot = (slot, kinds);
        } else {
            self.further_slots.push((slot, kinds));
        }
    }
}

/// The data about a path (sequence of keys) that is read for nearly every message. The data fits
/// into one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct HotNode {
    /// The first bytes of the key as JSON text, with quotes and colon. Only the bytes that
    /// `key_start_mask` covers belong to the key.
    key_start: u128,
    key_start_mask: u128,
    /// Length of the whole key in bytes, with quotes and colon.
    key_len: u32,
    /// Id of the path of the object that contains the key.
    parent_path: u32,
    /// Slot in which a value whose kind is in `unchecked_kinds` is stored without conversion.
    pub slot_id: u32,
    /// Kinds of value that can be stored without conversion or check: the input contract allows
    /// them, and the only slot at this path accepts them.
    pub unchecked_kinds: KindSet,
    /// Kinds of value that rules read at this path. If they include `list` or `dict`, a value of
    /// this kind must be built as one value, with all that it contains.
    slot_kinds: KindSet,
    /// 1 if the input contract (the types of message fields) requires this field in its object,
    /// else 0.
    pub required_count: u8,
}

impl HotNode {
    /// Number of bytes of a key that are compared at once.
    /// Measured in benches/notes/json-reading.md, "Experiments".
    const WIDE_KEY_BYTES: usize = size_of::<u128>();

    fn new(node: &PlanNode) -> HotNode {
        let key_bytes = json_key_bytes(&node.key);
        let first_bytes = &key_bytes[..key_bytes.len().min(HotNode::WIDE_KEY_BYTES)];
        let mut bytes = [0; HotNode::WIDE_KEY_BYTES];
        bytes[..first_bytes.len()].copy_from_slice(first_bytes);
        let mut checked_kinds = node.contract.map_or(KindSet::MESSAGE_KINDS, |contract| contract.kinds);
        if node.allowed_texts.is_some() {
            checked_kinds = KindSet::EMPTY;
        }
        let has_single_slot = node.further_slots.is_empty() && node.first_slot.0 != NO_PATH;
        HotNode {
            key_start: u128::from_le_bytes(bytes),
            key_start_mask: u128::MAX >> (8 * (HotNode::WIDE_KEY_BYTES - first_bytes.len())),
            key_len: key_bytes.len() as u32,
            parent_path: node.parent_path,
            slot_id: node.first_slot.0,
            unchecked_kinds: if has_single_slot {
                node.first_slot.1.intersect(checked_kinds)
            } else {
                KindSet::EMPTY
            },
            slot_kinds: node.slot_kinds,
            required_count: node.contract.is_some_and(|contract| !contract.is_optional).into(),
        }
    }
}

/// Returns a key as JSON text: with quotes, escapes and a colon.
fn json_key_bytes(key: &str) -> Vec<u8> {
    let mut json_bytes = serde_json::Value::from(key).to_string().into_bytes();
    json_bytes.push(b':');
    json_bytes
}

/// The input contract for the field at one path: the allowed kinds of value, and whether the field
/// may be missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldContract {
    pub kinds: KindSet,
    pub is_optional: bool,
}

impl InputPlan {
    /// Builds the plan of a program. `None` if rules read too many fields, so that reading messages
    /// into a JSON tree is faster.
    pub fn from_program(program: &Program) -> Option<InputPlan> {
        if program.slots.len() > MAX_PLANNED_SLOTS {
            return None;
        }
        let (slot_count, declared) = (program.slots.len(), program.input.is_some());
        let nodes = vec![PlanNode::new("".into(), NO_PATH)];
        let mut plan =
            InputPlan { nodes, hot_nodes: Vec::new(), slot_count, has_declared_contract: declared };
        for (slot, info) in program.slots.iter().enumerate().filter(|(_, slot)| slot.root.is_none()) {
            let node = info.path.iter().fold(ROOT_PATH, |node, key| plan.find_or_add_child(node, key));
            plan.nodes[node as usize].add_slot(slot as u32, info.kinds);
            if info.values.is_some() {
                plan.nodes[node as usize].allowed_texts.clone_from(&info.values);
            }
        }
        if let Some(contract) = program.input_contract() {
            plan.add_contract(ROOT_PATH, &contract);
        }
        plan.add_decimal_paths(ROOT_PATH, program.decimal_paths());
        for node in &mut plan.nodes {
            node.child_paths.iter().for_each(|(key, child)| node.child_path_by_key.insert(key, *child));
        }
        plan.hot_nodes = plan.nodes.iter().map(HotNode::new).collect();
        Some(plan)
    }

    fn add_contract(&mut self, node: PathId, record: &RecordType) {
        for field in &record.fields {
            let child = self.find_or_add_child(node, &field.name);
            let contract = FieldContract { kinds: field.ty.kinds, is_optional: field.is_optional };
            self.nodes[child as usize].contract = Some(contract);
            self.nodes[child as usize].allowed_texts = field.ty.values().cloned();
            self.nodes[node as usize].required_field_count += u32::from(!field.is_optional);
            if let Some(fields) = field.ty.fields() {
                self.add_contract(child, fields);
            }
        }
    }

    fn add_decimal_paths(&mut self, node: PathId, paths: DecimalPaths) {
        let children = self.nodes[node as usize].child_paths.clone();
        for (name, child) in children {
            if let Some(inner) = paths.field(&name) {
                self.add_decimal_paths(child, inner.clone());
            }
        }
        self.nodes[node as usize].decimal_paths = (!paths.is_empty()).then(|| Box::new(paths));
    }

    fn find_or_add_child(&mut self, node: PathId, key: &Arc<str>) -> u32 {
        let new_path = self.nodes.len() as u32;
        let children = &mut self.nodes[node as usize].child_paths;
        match children.binary_search_by(|(known, _)| known.cmp(key)) {
            Ok(at) => children[at].1,
            Err(at) => {
                children.insert(at, (key.clone(), new_path));
                self.nodes.push(PlanNode::new(key.clone(), node));
                new_path
            }
        }
    }

    /// Returns the child paths of a path, each with its last key.
    pub fn child_paths(&self, path: PathId) -> impl Iterator<Item = (&Arc<str>, PathId)> {
        self.node_at(path)
            .into_iter()
            .flat_map(|node| node.child_paths.iter().map(|(key, child)| (key, *child)))
    }

    /// Returns the kinds of value that the input contract or at least one slot accepts at a path.
    pub fn accepted_kinds(&self, path: PathId) -> KindSet {
        let contract_kinds =
            |node: &PlanNode| node.contract.map_or(KindSet::EMPTY, |contract| contract.kinds);
        self.node_at(path).map_or(KindSet::EMPTY, |node| node.slot_kinds.union(contract_kinds(node)))
    }

    /// True if the author declared the types of message fields with `input`.
    pub fn is_declared(&self) -> bool {
        self.has_declared_contract
    }

    /// True if the author's `input` declaration has an optional field at this path. A message may
    /// then lack the field.
    pub fn is_optional(&self, path: PathId) -> bool {
        self.has_declared_contract
            && self.node_at(path).and_then(|node| node.contract).is_some_and(|contract| contract.is_optional)
    }

    /// Returns the number of paths in the plan, including the path of the message itself.
    pub(super) fn path_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the ids of the slots that read a path, each with the kinds of value that the slot
    /// accepts.
    pub fn slots_at(&self, path: PathId) -> impl Iterator<Item = (u32, KindSet)> {
        let node = self.node_at(path).into_iter();
        node.flat_map(|node| std::iter::once(node.first_slot).chain(node.further_slots.iter().copied()))
            .filter(|(slot, _)| *slot != NO_PATH)
    }

    /// Returns the kinds of value that the input contract allows at a path, and whether the field
    /// is optional. `None` if the contract has no such field.
    pub fn input_contract(&self, path: PathId) -> Option<(KindSet, bool)> {
        self.node_at(path)?.contract.map(|contract| (contract.kinds, contract.is_optional))
    }

    /// Returns the only texts that the field at a path may have; `None` if it may have any value.
    pub fn allowed_texts(&self, path: PathId) -> Option<&Enumeration> {
        self.node_at(path)?.allowed_texts.as_ref()
    }

    /// Returns the number of slots, the fields that rules read.
    pub fn slot_count(&self) -> usize {
        self.slot_count
    }

    /// Returns how to read the value at a path; `None` for `NO_PATH` (a value that can be skipped).
    #[inline]
    pub(super) fn node_at(&self, node: PathId) -> Option<&PlanNode> {
        self.nodes.get(node as usize)
    }

    /// Returns the path of a key in the object `node`. Returns `NO_PATH` if neither a rule nor the
    /// input contract refers to the key.
    #[inline]
    pub fn child_named(&self, node: PathId, key: &str) -> u32 {
        self.node_at(node).and_then(|node| node.child_path_by_key.get(key.as_bytes())).unwrap_or(NO_PATH)
    }

    /// Returns the data about a path that is read for nearly every message; `None` for `NO_PATH`.
    #[inline(always)]
    pub(super) fn hot_node(&self, node: PathId) -> Option<&HotNode> {
        self.hot_nodes.get(node as usize)
    }

    /// Returns the paths at which rules read decimals in the value at the path `node`, relative to
    /// this value. Numbers there keep all their digits. `None` if rules read no decimals there.
    #[inline]
    pub(super) fn decimal_paths(&self, node: PathId) -> Option<&DecimalPaths> {
        self.node_at(node).and_then(|node| node.decimal_paths.as_deref())
    }

    /// Compares the start of `ahead`, the unread JSON text, with the last key of the path `child`,
    /// written with its quotes and colon. Returns the length of this text in bytes if it matches.
    /// `None` if it does not match, if `child` is not a key of the object `node`, or if `ahead` has
    /// fewer than 16 bytes; the caller then reads and looks up the key.
    #[inline(always)]
    pub(super) fn matching_key_len(&self, node: PathId, child: u32, ahead: &[u8]) -> Option<usize> {
        let (hot, (first, rest)) = (self.hot_node(child)?, ahead.split_first_chunk()?);
        let starts_with_key = hot.parent_path == node
            && (u128::from_le_bytes(*first) ^ hot.key_start) & hot.key_start_mask == 0;
        let length = hot.key_len as usize;
        (starts_with_key && (length <= HotNode::WIDE_KEY_BYTES || self.matches_key_rest(child, rest)))
            .then_some(length)
    }

    fn matches_key_rest(&self, child: u32, ahead: &[u8]) -> bool {
        self.node_at(child).is_some_and(|node| ahead.starts_with(&node.key_rest))
    }

    /// True if a slot accepts a list or dict (`kind`) at this path, so that the list or dict must
    /// be built as one value.
    #[inline]
    pub fn reads_kind(&self, node: PathId, kind: Kind) -> bool {
        self.hot_node(node).is_some_and(|hot| hot.slot_kinds.has(kind))
    }
}
