//! A compiled rule set with all data that decisions and tools need, and its reference counting
//! across threads.

use super::input::{Input, PreparedMessage};
use super::json_cache::DecisionCache;
#[cfg(feature = "jit")]
use super::tier_up::TierUpState;
use crate::history::HistoryPlan;
use hashbrown::HashMap;
use rulec_base::diag::Diagnostic;
use rulec_base::json::DecimalPaths;
use rulec_base::source::SourceMap;
use rulec_eval::evaluator::Evaluator;
use rulec_eval::host::{HostCalls, RegisteredFunction};
use rulec_eval::text_analysis::record::RecordAnalyzer;
use rulec_eval::trace::{SkippedCondition, Tracer};
#[cfg(feature = "jit")]
use rulec_jit::JitCode;
use rulec_lang::arena::Arena;
use rulec_lang::history::PastView;
use rulec_lang::schema::{InputContract, InputViolation};
use rulec_lang::value::Value;
use rulec_sema::check::Suppressions;
use rulec_sema::hir::{Program, TableId, TableKind};
use rulec_sema::normal::{self, NormalForm};
use rulec_vm::bytecode::Bytecode;
use rulec_vm::index::{self, Index};
use rulec_vm::input::InputPlan;
use serde_json::Value as Json;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

pub(crate) struct RuleSet {
    pub program: Program,
    /// The declared or inferred types of message fields, prepared for fast checks of messages.
    /// `None` if the types are neither declared nor inferred.
    pub input_contract: Option<InputContract>,
    /// The normal form of the program (negations pushed down, equal parts shared), built on demand
    /// for tools.
    pub normal: OnceLock<NormalForm>,
    pub bytecode: Arc<Bytecode>,
    /// The index, which finds the routes that a message may match. The compiler builds the index if
    /// some table is faster with it. Otherwise it is built on first use.
    pub index: OnceLock<Index>,
    /// The plan that reads message fields into slots (one value for each field that the rules use),
    /// built on first use. The inner `None` means that there is no such plan.
    pub input_plan: OnceLock<Option<InputPlan>>,
    /// A tree that finds the slots (one value for each field that the rules use) by the path of a
    /// message field. Built on first use.
    pub slot_tree: OnceLock<SlotTree>,
    pub(crate) history_plan: OnceLock<Option<HistoryPlan>>,
    pub decision_cache: DecisionCache,
    /// The message fields that the rules read as decimals. Numbers in these fields are read
    /// exactly, not as floats.
    pub decimal_paths: DecimalPaths,
    #[cfg(feature = "jit")]
    pub tier_up: Arc<TierUpState>,
    /// Whether the engine setting `auto` may compile the rules to machine code. False for a file of
    /// compiled rules that no trusted key signed.
    #[cfg_attr(not(feature = "jit"), expect(dead_code, reason = "there is no machine code then"))]
    pub may_compile: bool,
    pub host_functions: Vec<RegisteredFunction>,
    /// The analyzer of message texts, used by `Rules::analyze_message` and built on first use. The
    /// error says why the intents of the rules cannot be learned.
    pub text_analyzer: OnceLock<Result<RecordAnalyzer, Diagnostic>>,
    pub sources: SourceMap,
    pub warnings: Vec<Diagnostic>,
    /// The `# rulec: allow` comments of the rules, which suppress findings of the static analysis.
    pub suppressions: Suppressions,
    pub generation: u64,
}

/// Minimum number of slots (message fields that the rules use) at which a message is read key by
/// key: each key of the message is looked up in the [`SlotTree`]. A rule set with fewer slots looks
/// up the path of each slot in the message instead.
const MIN_SLOTS_READ_BY_KEY: usize = 256;

/// A tree that finds the slots of a message field by its path. A slot is the index of a field that
/// the rules use. Each level of the tree has one key of the path.
#[derive(Default)]
pub struct SlotTree {
    /// Indexes of the message fields (slots) whose paths end at this node.
    slot_indexes: Vec<usize>,
    children: HashMap<Arc<str>, SlotTree>,
}

impl SlotTree {
    fn add_slot(&mut self, path: &[Arc<str>], slot: usize) {
        match path.split_first() {
            None => self.slot_indexes.push(slot),
            Some((first, rest)) => self.children.entry(first.clone()).or_default().add_slot(rest, slot),
        }
    }

    /// Calls `found` for each message field that the rules use and that exists in `json`, with the
    /// field's slot index and value. `json` is the value at the path of this node; for the root,
    /// the message.
    fn visit_slots<'m>(&self, json: &'m Json, found: &mut impl FnMut(usize, &'m Json)) {
        self.slot_indexes.iter().for_each(|slot| found(*slot, json));
        if let Json::Object(map) = json {
            let inner = map.iter().filter_map(|(key, value)| Some((self.children.get(&**key)?, value)));
            inner.for_each(|(tree, value)| tree.visit_slots(value, found));
        }
    }
}

/// A generation (version number of a rule set) that no rule set has. A prepared message that is not
/// an object gets this generation, so that no rule set uses its slot values.
const NO_GENERATION: u64 = 0;

static NEXT_GENERATION: AtomicU64 = AtomicU64::new(1);

/// Returns a new generation (version number of a rule set), which is greater than all earlier ones.
pub(super) fn next_generation() -> u64 {
    NEXT_GENERATION.fetch_add(1, Ordering::Relaxed)
}

impl RuleSet {
    /// Creates a rule set from compiled parts. It has no source texts and no warnings yet.
    pub fn new(
        program: Program,
        bytecode: Bytecode,
        host_functions: Vec<RegisteredFunction>,
        index: Option<Index>,
    ) -> RuleSet {
        RuleSet {
            decimal_paths: program.decimal_paths(),
            input_contract: program.input_contract().map(|record| InputContract::new(&record)),
            program,
            index: index.map(OnceLock::from).unwrap_or_default(),
            normal: OnceLock::new(),
            input_plan: OnceLock::new(),
            slot_tree: OnceLock::new(),
            history_plan: OnceLock::new(),
            decision_cache: DecisionCache::default(),
            #[cfg(feature = "jit")]
            tier_up: TierUpState::new(&bytecode),
            may_compile: true,
            bytecode: Arc::new(bytecode),
            host_functions,
            text_analyzer: OnceLock::new(),
            sources: SourceMap::new(),
            warnings: Vec::new(),
            suppressions: Suppressions::default(),
            generation: next_generation(),
        }
    }

    /// Reads from a message the fields that the rules use. The result has one value for each of
    /// these fields.
    pub fn prepare<'m>(&self, message: &'m Json) -> PreparedMessage<'m> {
        let values = self.read_slots(message);
        let present = (0..).zip(&values).filter(|(_, value)| !value.is_missing()).map(|(slot, _)| slot);
        PreparedMessage {
            present_slots: present.collect(),
            values,
            message,
            breaches: self.find_input_violations(message),
            // A message that is not an object is later read as a JSON tree, where it is refused.
            generation: if message.is_object() { self.generation } else { NO_GENERATION },
        }
    }

    /// Returns how messages are recorded in the history; `None` if the rules have no `history`
    /// statement.
    pub(crate) fn history_plan(&self) -> Option<&HistoryPlan> {
        self.history_plan.get_or_init(|| HistoryPlan::new(&self.program)).as_ref()
    }

    fn read_slots<'m>(&self, message: &'m Json) -> Vec<Value<'m>> {
        let slots = &self.program.slots;
        if slots.len() < MIN_SLOTS_READ_BY_KEY {
            return slots.iter().map(|slot| slot.load(message)).collect();
        }
        let tree = self.slot_tree.get_or_init(|| {
            let mut tree = SlotTree::default();
            let slots = slots.iter().enumerate().filter(|(_, slot)| slot.root.is_none());
            slots.for_each(|(index, slot)| tree.add_slot(&slot.path, index));
            tree
        });
        let mut values = vec![Value::Missing; slots.len()];
        tree.visit_slots(message, &mut |index, json| {
            values[index] = slots[index].convert_value(Value::from_json(json));
        });
        values
    }

    /// Returns the violations of the `input` declaration in a message.
    pub fn input_violations(&self, input: Input<'_>) -> Vec<InputViolation> {
        match input {
            Input::Tree(message) => self.find_input_violations(message),
            Input::Slots(_, breaches) => breaches.to_vec(),
        }
    }

    fn find_input_violations(&self, message: &Json) -> Vec<InputViolation> {
        match &self.input_contract {
            _ if !message.is_object() => vec![InputViolation::not_an_object(message)],
            Some(input_contract) if !input_contract.is_certainly_satisfied(message) => {
                self.program.contract_violations(message)
            }
            _ => Vec::new(),
        }
    }

    /// Calls `work` with the reference evaluator for a message. `history` are the recorded
    /// messages, oldest first. Returns the result of `work`.
    pub fn with_evaluator<T>(
        &self,
        message: &Json,
        history: PastView<'_>,
        work: impl FnOnce(Evaluator<'_>) -> T,
    ) -> T {
        let arena = Arena::new(&self.program.limits);
        let evaluator = Evaluator::new(&self.program, message, &arena, HostCalls::new(&self.host_functions));
        work(evaluator.with_history(history))
    }

    /// Returns the conditions of a choice that are ignored for this message. Empty if the table is
    /// not a choice.
    pub fn skipped_conditions(
        &self,
        table: TableId,
        message: &Json,
        history: PastView<'_>,
    ) -> Vec<SkippedCondition> {
        let choice = &self.program.tables[table.index()];
        if choice.kind != TableKind::Choice || !message.is_object() {
            return Vec::new();
        }
        self.with_evaluator(message, history, |evaluator| {
            Tracer::new(evaluator, &self.sources, false).skipped_conditions(table)
        })
    }

    /// Returns the machine code of this rule set; `None` if it is not compiled to machine code.
    #[cfg(feature = "jit")]
    #[inline(always)]
    pub fn machine_code(&self) -> Option<&Arc<JitCode>> {
        self.tier_up.machine_code().and_then(Result::ok)
    }

    /// Returns the index, which finds the routes that a message may match; builds it if necessary.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| index::build_index(self.normal(), self.bytecode.chunk()))
    }

    /// Returns the rules in normal form (negations pushed down, equal parts shared); builds it on
    /// first use.
    pub fn normal(&self) -> &NormalForm {
        self.normal.get_or_init(|| normal::build_normal_form(&self.program).0)
    }

    /// Returns the plan that reads messages into slots (one value for each field that the rules
    /// use). `None` if only JSON trees can be read.
    pub fn input_plan(&self) -> Option<&InputPlan> {
        self.input_plan.get_or_init(|| InputPlan::from_program(&self.program)).as_ref()
    }
}

/// A reference-counted owner of a rule set. Every decision holds a reference. With a single
/// counter, threads that decide in parallel would contend for the cache line of the counter. So
/// each session has its own handle, and all threads without a session share [`SHARED_HANDLE_COUNT`]
/// handles.
#[repr(align(128))]
pub(crate) struct RuleSetHandle(Arc<RuleSet>);

impl RuleSetHandle {
    pub fn new(set: &Arc<RuleSet>) -> Arc<RuleSetHandle> {
        Arc::new(RuleSetHandle(Arc::clone(set)))
    }
}

impl Deref for RuleSetHandle {
    type Target = RuleSet;

    fn deref(&self) -> &RuleSet {
        &self.0
    }
}

/// Number of handles that the threads without a session share. With more threads, several threads
/// use the same handle.
const SHARED_HANDLE_COUNT: usize = 32;

/// A rule set and the reference-counted handles through which threads use it. Shared by the clones
/// of [`Rules`](super::Rules).
pub(crate) struct SharedRuleSet {
    pub rule_set: Arc<RuleSet>,
    /// The handles that threads without a session use, each created on first use.
    handles: [OnceLock<Arc<RuleSetHandle>>; SHARED_HANDLE_COUNT],
}

impl SharedRuleSet {
    pub fn new(set: RuleSet) -> SharedRuleSet {
        SharedRuleSet { rule_set: Arc::new(set), handles: [const { OnceLock::new() }; SHARED_HANDLE_COUNT] }
    }

    /// Returns the handle of the rule set that the thread with the number `thread` uses.
    #[inline]
    pub fn thread_handle(&self, thread: usize) -> &Arc<RuleSetHandle> {
        self.handles[thread % SHARED_HANDLE_COUNT].get_or_init(|| RuleSetHandle::new(&self.rule_set))
    }
}
