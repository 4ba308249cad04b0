//! Selects the engine for an entry (a table, choice, router or flow set), and decides with it. The
//! selection depends on the settings, on the table, and on whether the message is a JSON tree. Also
//! selects the engines of payloads and of edited live rules.

use super::Rules;
use super::backend::{Backend, Engine};
use super::decision::Decision;
use super::input::{Input, PreparedMessage};
use super::set::{RuleSet, RuleSetHandle};
use super::strategy::{Indexing, Tier};
use rulec_base::json::{self, JsonError};
use rulec_eval::decision::{Choice, DecisionDetails};
#[cfg(feature = "jit")]
use rulec_jit::{EntryCode, Machine};
use rulec_lang::schema::InputViolation;
use rulec_sema::hir::{RuleId, TableId};
use rulec_vm::index::Index;
use rulec_vm::input::{InputPlan, SlotFiller};
use rulec_vm::vm::{BindingSlots, JsonMessage, Scratch, SlotValueSource, Vm};
use serde::Serialize;
use serde_json::Value as Json;
use std::sync::Arc;

/// Selects the engine for one table, choice, router or flow set (an entry). Caches the selected
/// engine for JSON trees, and for messages already read into slots (one value for each field that
/// the rules use).
pub(super) struct EngineChoice {
    tier: Tier,
    indexing: Indexing,
    pub table: TableId,
    /// The engine for messages that are JSON trees; `None` until it is selected.
    tree_backend: Option<Backend>,
    /// The engine for messages already read into slots (one value for each field that the rules
    /// use); `None` until it is selected.
    slots_backend: Option<Backend>,
    /// The machine code for messages already read into slots (one value for each field that the
    /// rules use); `None` until a decision selects machine code.
    #[cfg(feature = "jit")]
    machine_code: Option<EntryCode>,
}

impl EngineChoice {
    pub fn new(tier: Tier, indexing: Indexing, table: TableId) -> EngineChoice {
        EngineChoice {
            tier,
            indexing,
            table,
            tree_backend: None,
            slots_backend: None,
            #[cfg(feature = "jit")]
            machine_code: None,
        }
    }

    /// Returns the engine for JSON trees (`is_tree`), or for messages already read into slots (one
    /// value for each field that the rules use). The selection is cached, except if the VM was
    /// selected and the JIT may still compile the rule set. The next call then selects again.
    #[inline(always)]
    pub fn backend(&mut self, rules: &RuleSet, is_tree: bool) -> Backend {
        let cached_backend = if is_tree { self.tree_backend } else { self.slots_backend };
        match cached_backend {
            Some(backend) => backend,
            None => self.select_backend(rules, is_tree),
        }
    }

    #[inline(never)]
    fn select_backend(&mut self, rules: &RuleSet, is_tree: bool) -> Backend {
        let select = || rules.backend(self.tier, self.indexing, self.table, is_tree);
        let mut backend = select();
        if backend == Backend::Vm {
            if rules.may_get_machine_code(self.tier, is_tree) {
                return backend;
            }
            // The JIT may have finished since the first selection.
            backend = select();
        }
        let cached_backend = if is_tree { &mut self.tree_backend } else { &mut self.slots_backend };
        *cached_backend = Some(backend);
        backend
    }

    /// Returns the plan that reads messages into slots (one value for each field that the rules
    /// use). `None` if the engine is the reference evaluator, which needs a JSON tree, or if the
    /// rules have no plan.
    pub fn input_plan<'r>(&self, rules: &'r RuleSet) -> Option<&'r InputPlan> {
        if self.tier == Tier::Reference { None } else { rules.input_plan() }
    }

    /// Selects what the engine reads of a prepared message: the values that were read in advance,
    /// or the JSON tree. The values can be used only if the same rules prepared the message. The
    /// reference evaluator always reads the JSON tree.
    #[inline]
    fn select_input<'m>(&self, rules: &RuleSet, prepared: &'m PreparedMessage<'_>) -> Input<'m> {
        if prepared.generation == rules.generation && self.tier != Tier::Reference {
            Input::Slots(prepared.slot_values(), &prepared.breaches)
        } else {
            Input::Tree(prepared.message)
        }
    }

    /// Decides by an entry (a table, choice, router or flow set) for a message that is a JSON tree
    /// or was read into slots.
    pub fn decide(
        &mut self,
        rules: &Arc<RuleSetHandle>,
        scratch: &mut Scratch,
        input: Input<'_>,
    ) -> Decision {
        let (entry, breaches) = (self.table, rules.input_violations(input));
        let decide = |engine: &mut dyn Engine| engine.decide_with_details(entry, &rules.program);
        let (choice, mut details) = match input.is_refused() {
            true => (Choice::none_chosen(), None),
            false => self.run_with_engine(rules, scratch, input, decide),
        };
        DecisionDetails::add_breaches(&mut details, breaches);
        DecisionDetails::add_history_gap(&mut details, scratch.history().gap());
        let tables = choice.visited_tables(&rules.program, entry);
        let (chosen, generation) = (choice.chosen, rules.generation);
        let has_past = scratch.history().has_elements();
        let rules = Arc::clone(rules);
        Decision { rules, entry, segment: None, chosen, table_trail: tables, generation, has_past, details }
    }

    /// Evaluates the entry (table, choice, router or flow set) for a message whose fields were read
    /// in advance, and returns the decision.
    pub fn decide_prepared(
        &mut self,
        rules: &Arc<RuleSetHandle>,
        scratch: &mut Scratch,
        prepared: &PreparedMessage<'_>,
    ) -> Decision {
        let input = self.select_input(rules, prepared);
        self.decide(rules, scratch, input)
    }

    /// Evaluates the entry (such as a table) for a message whose fields were read in advance.
    /// Returns only the chosen statement, without arguments. `generation` is the generation
    /// (version number) of `rules`.
    // Inlined into callers: in a rule set with a single route, a call of this function would take a
    // fifth of the time of the decision.
    #[inline(always)]
    pub fn choose_statement(
        &mut self,
        rules: &RuleSet,
        generation: u64,
        scratch: &mut Scratch,
        prepared_message: &PreparedMessage<'_>,
    ) -> Choice {
        // Try machine code first, because it needs no further selection or setup.
        #[cfg(feature = "jit")]
        if let Some(code) = &self.machine_code
            && prepared_message.generation == generation
        {
            return code.choose(&rules.host_functions, prepared_message.slot_values(), scratch);
        }
        #[cfg(not(feature = "jit"))]
        let _ = generation;
        self.choose_with_engine(rules, scratch, prepared_message)
    }

    #[inline(never)]
    fn choose_with_engine(
        &mut self,
        rules: &RuleSet,
        scratch: &mut Scratch,
        prepared: &PreparedMessage<'_>,
    ) -> Choice {
        let (input, table) = (self.select_input(rules, prepared), self.table);
        #[cfg(feature = "jit")]
        if matches!(input, Input::Slots(..)) && self.backend(rules, false) == Backend::Jit {
            self.machine_code = rules.machine_code().and_then(|code| EntryCode::new(code, table));
        }
        if input.is_refused() {
            return Choice::none_chosen();
        }
        self.run_with_engine(rules, scratch, input, |engine| engine.decide(table))
    }

    /// Decides by an entry (a table, choice, router or flow set) for a message given as JSON text.
    pub fn decide_line(
        &mut self,
        rules: &Arc<RuleSetHandle>,
        scratch: &mut Scratch,
        text: &[u8],
    ) -> Result<Decision, JsonError> {
        if let Some(plan) = self.input_plan(rules)
            && let Some(decision) = scratch.read_json_text(plan, text, |slots, fits, scratch| {
                Some(self.decide(rules, scratch, Input::from_filled_slots(slots, fits)?))
            })
        {
            return Ok(decision);
        }
        let message = json::parse_object_bytes_exact(text, &rules.decimal_paths);
        let message = message.map_err(|error| rules.program.message_privacy().mask_error(error))?;
        let message = Json::Object(message);
        Ok(self.decide(rules, scratch, Input::Tree(&message)))
    }

    /// Evaluates the entry (such as a table) for any value that serializes to a JSON object. Reads
    /// the value, then calls `without_lock` with a closure that decides. `without_lock` must run
    /// the closure. Before that, it can release a lock that the caller holds on the value.
    pub fn decide_value<T: Serialize>(
        &mut self,
        rules: &Arc<RuleSetHandle>,
        scratch: &mut Scratch,
        message: &T,
        without_lock: impl Fn(&mut (dyn FnMut() + Send)),
    ) -> Result<Decision, serde_json::Error> {
        if let Some(plan) = self.input_plan(rules)
            && let Some(decision) = scratch.read_value(plan, message, |slots, fits, scratch| {
                let (input, mut decision) = (Input::from_filled_slots(slots, fits)?, None);
                without_lock(&mut || decision = Some(self.decide(rules, scratch, input)));
                decision
            })
        {
            return Ok(decision);
        }
        let message = serde_json::to_value(message)?;
        if !message.is_object() {
            let found = InputViolation::not_an_object(&message).found;
            return Err(serde::ser::Error::custom(format_args!(
                "a message must be an object, but this is of type {found}"
            )));
        }
        let mut decision = None;
        without_lock(&mut || decision = Some(self.decide(rules, scratch, Input::Tree(&message))));
        Ok(decision.unwrap_or_else(|| self.decide(rules, scratch, Input::Tree(&message))))
    }

    /// Evaluates the entry (such as a table) for a message in another format than JSON: `source`
    /// reads the message from `data` into slots (one value for each field that the rules use).
    /// `None` if `source` returns `None`, or if the decision needs a JSON tree, which the caller
    /// must then build.
    pub fn decide_from_source<D: ?Sized>(
        &mut self,
        rules: &Arc<RuleSetHandle>,
        scratch: &mut Scratch,
        data: &D,
        source: impl for<'f> FnOnce(&mut SlotFiller<'f>, &'f D) -> Option<()>,
    ) -> Option<Decision> {
        let plan = self.input_plan(rules)?;
        scratch.fill_slots(plan, data, source, |slots, fits, scratch| {
            Some(self.decide(rules, scratch, Input::from_filled_slots(slots, fits)?))
        })
    }

    /// Returns every route of an entry (a table, choice, router or flow set) whose condition holds,
    /// in evaluation order.
    pub fn matching_rules(
        &mut self,
        rules: &RuleSet,
        scratch: &mut Scratch,
        input: Input<'_>,
    ) -> Vec<RuleId> {
        let table = self.table;
        if input.is_refused() {
            return Vec::new();
        }
        self.run_with_engine(rules, scratch, input, |engine| engine.matching_rules(table))
    }

    /// Returns every route whose condition holds for a message in another format than JSON.
    /// `source` reads the message from `data` into slots (one value for each field that the rules
    /// use). `None` if `source` returns `None`, or if the engine needs a JSON tree, which the
    /// caller must then build.
    pub fn matching_rules_from_source<D: ?Sized>(
        &mut self,
        rules: &RuleSet,
        scratch: &mut Scratch,
        data: &D,
        source: impl for<'f> FnOnce(&mut SlotFiller<'f>, &'f D) -> Option<()>,
    ) -> Option<Vec<RuleId>> {
        let plan = self.input_plan(rules)?;
        scratch.fill_slots(plan, data, source, |slots, _, scratch| {
            Some(self.matching_rules(rules, scratch, Input::Slots(slots, &[])))
        })
    }

    /// Calls `work` with the selected engine, bound to the message. Inlined, because `work` is
    /// often a single call. For small rule sets, the cost of an indirect call would be noticeable.
    #[inline(always)]
    fn run_with_engine<T>(
        &mut self,
        rules: &RuleSet,
        scratch: &mut Scratch,
        input: Input<'_>,
        work: impl FnOnce(&mut dyn Engine) -> T,
    ) -> T {
        match input {
            Input::Tree(tree) => {
                match self.backend(rules, true) {
                    Backend::Reference => {
                        let history = scratch.history().view();
                        return rules.with_evaluator(tree, history, |mut evaluator| work(&mut evaluator));
                    }
                    #[cfg(feature = "jit")]
                    Backend::Jit => {
                        if let Some(code) = rules.machine_code() {
                            return work(&mut code.machine_over_json(&rules.host_functions, tree, scratch));
                        }
                    }
                    _ => {}
                }
                work(&mut rules.vm_over_json(self.indexing, tree, scratch))
            }
            Input::Slots(slots, _) => {
                // The reference evaluator never gets slots, because it needs a JSON tree.
                #[cfg(feature = "jit")]
                if self.backend(rules, false) == Backend::Jit
                    && let Some(code) = rules.machine_code()
                {
                    return work(&mut code.machine_over_slots(&rules.host_functions, slots, scratch));
                }
                let mut vm = Vm::over_slots(&rules.bytecode, &rules.host_functions, slots, scratch);
                rules.attach_index(&mut vm, self.indexing);
                work(&mut vm)
            }
        }
    }
}

impl RuleSet {
    /// Selects the engine for a table. `is_tree` is true for a message that is a JSON tree, and
    /// false for a message whose fields were read in advance.
    pub fn backend(&self, tier: Tier, indexing: Indexing, table: TableId, is_tree: bool) -> Backend {
        if tier == Tier::Reference {
            return Backend::Reference;
        }
        if self.is_indexed(indexing, table) {
            return Backend::Index;
        }
        #[cfg(feature = "jit")]
        match tier {
            Tier::Jit if self.tier_up.compile_if_needed(&self.bytecode).is_ok() => return Backend::Jit,
            Tier::Auto
                if self.tier_up.is_worthwhile(is_tree)
                    && matches!(self.tier_up.machine_code(), Some(Ok(_))) =>
            {
                return Backend::Jit;
            }
            _ => {}
        }
        #[cfg(not(feature = "jit"))]
        let _ = is_tree;
        Backend::Vm
    }

    /// True if the JIT may still compile this rule set, so that machine code would replace the VM.
    /// The caller must then select an engine again for the next decision. Each call that returns
    /// true also counts a decision; after enough decisions, the JIT compiles the rule set.
    /// `is_tree` is true for messages that are JSON trees, and false for messages whose fields were
    /// read in advance.
    fn may_get_machine_code(&self, tier: Tier, is_tree: bool) -> bool {
        #[cfg(feature = "jit")]
        if tier == Tier::Auto
            && self.may_compile
            && self.tier_up.is_worthwhile(is_tree)
            && self.tier_up.machine_code().is_none()
        {
            self.tier_up.count_decision(&self.bytecode);
            return true;
        }
        #[cfg(not(feature = "jit"))]
        let _ = (tier, is_tree);
        false
    }

    /// True if decisions by the table use the index under the setting `indexing`. With `Auto`, the
    /// index must be built already, and must be estimated to be faster for this table.
    fn is_indexed(&self, indexing: Indexing, table: TableId) -> bool {
        self.usable_index(indexing).is_some_and(|(index, always)| index.is_used_for_table(table, always))
    }

    /// Returns the index of the rule set. The bool is true if every table uses the index, and false
    /// if only those tables use it that are faster with it. `None` if the setting forbids the
    /// index, or if the setting is `Auto` and the index is not built yet.
    #[inline]
    fn usable_index(&self, indexing: Indexing) -> Option<(&Index, bool)> {
        match indexing {
            Indexing::Never => None,
            Indexing::Auto => Some((self.index.get()?, false)),
            Indexing::Always => Some((self.index(), true)),
        }
    }

    /// Gives a VM the index of the rule set if the setting allows it.
    #[inline]
    fn attach_index<'a, M: SlotValueSource<'a>>(&'a self, vm: &mut Vm<'a, M>, indexing: Indexing) {
        if let Some((index, always)) = self.usable_index(indexing) {
            vm.use_index(index, always);
        }
    }

    /// Returns the VM for a message that is a JSON tree. It has the index of the rule set if the
    /// setting allows the index. Edited live rules always decide with this engine, because only the
    /// VM can skip removed routes.
    #[inline(always)]
    pub fn vm_over_json<'a>(
        &'a self,
        indexing: Indexing,
        tree: &'a Json,
        scratch: &'a mut Scratch,
    ) -> Vm<'a, JsonMessage<'a>> {
        let mut vm = Vm::over_json(&self.bytecode, &self.host_functions, tree, scratch);
        self.attach_index(&mut vm, indexing);
        vm
    }
}

/// The engine that validates one payload (an object that a language model proposes). It contains
/// the values of the variables (bindings) of the rules. The variant `Reference` contains only these
/// values, because a new reference evaluator is created for each evaluation.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is the VM nearly always")]
pub(crate) enum PayloadEvaluation<'a> {
    Reference(BindingSlots<'a>),
    Vm(Vm<'a, BindingSlots<'a>>),
    #[cfg(feature = "jit")]
    Compiled(Box<Machine<'a, BindingSlots<'a>>>),
}

impl Rules {
    /// Returns the engine that validates payloads (objects that a language model proposes).
    /// [`Tier::Auto`] never selects machine code here. A payload is validated by many small groups
    /// of rules, and for each group, machine code would reserve memory for the values of all
    /// fields.
    #[doc(hidden)]
    pub fn payload_backend(&self) -> Backend {
        let tier = if self.tier == Tier::Auto { Tier::Vm } else { self.tier };
        self.rule_set().backend(tier, Indexing::Never, TableId(0), false)
    }

    /// Creates the engine that validates payloads, bound to the message `input`. `binding_count` is
    /// the number of variables (bindings) in the rules of the payload kind.
    pub(crate) fn payload_evaluation<'a>(
        &'a self,
        input: &'a Json,
        binding_count: usize,
        scratch: &'a mut Scratch,
    ) -> PayloadEvaluation<'a> {
        let set = self.rule_set();
        let (host_functions, slots) = (&set.host_functions, &set.program.slots);
        match self.payload_backend() {
            Backend::Reference => {
                return PayloadEvaluation::Reference(scratch.bind_slots(slots, input, binding_count));
            }
            #[cfg(feature = "jit")]
            Backend::Jit => {
                if let Some(code) = set.machine_code() {
                    let machine =
                        code.machine_over_bindings(host_functions, slots, input, binding_count, scratch);
                    return PayloadEvaluation::Compiled(Box::new(machine));
                }
            }
            _ => {}
        }
        PayloadEvaluation::Vm(Vm::over_bindings(
            &set.bytecode,
            host_functions,
            slots,
            input,
            binding_count,
            scratch,
        ))
    }
}
