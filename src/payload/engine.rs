//! The engine that judges a payload's objects, over bindings that get new values while it does.

use crate::engine::{Backend, Rules};
use rulec_eval::evaluator::Evaluator;
use rulec_eval::host::{Host, HostCalls};
#[cfg(feature = "jit")]
use rulec_jit::BoundMachine;
use rulec_lang::arena::{Arena, Blocks};
use rulec_lang::limits::{self, Exceeded, Limit};
use rulec_lang::value::Value;
use rulec_sema::hir::{BindingId, Program, RuleId, TableId, ValueId};
use rulec_vm::vm::{BoundVm, Rooted, Scratch};
use serde_json::Value as Json;

/// An engine in the middle of judging a payload.
pub(super) struct Engine<'a> {
    machine: Machine<'a>,
    program: &'a Program,
    hosts: &'a [Host],
    input: &'a Json,
    arena: &'a Arena,
    /// The calls of host functions that the reference has made.
    calls: Option<HostCalls<'a>>,
}

#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is the VM nearly always")]
enum Machine<'a> {
    Reference(Rooted<'a>),
    Vm(BoundVm<'a>),
    #[cfg(feature = "jit")]
    Compiled(Box<BoundMachine<'a>>),
}

impl<'a> Machine<'a> {
    fn vm(rules: &'a Rules, slots: Rooted<'a>, scratch: &'a mut Scratch) -> Machine<'a> {
        Machine::Vm(BoundVm::new(rules.bytecode(), rules.hosts(), slots, scratch))
    }
}

impl<'a> Engine<'a> {
    /// The engine of the rules' tier.
    pub fn new(
        rules: &'a Rules,
        input: &'a Json,
        arena: &'a Arena,
        slots: Rooted<'a>,
        scratch: &'a mut Scratch,
    ) -> Engine<'a> {
        let (program, hosts) = (rules.program(), rules.hosts());
        let machine = match rules.judging_backend() {
            Backend::Reference => Machine::Reference(slots),
            #[cfg(feature = "jit")]
            Backend::Jit => match rules.machine_code() {
                Some(code) => Machine::Compiled(Box::new(code.bound(hosts, slots, scratch))),
                None => Machine::vm(rules, slots, scratch),
            },
            _ => Machine::vm(rules, slots, scratch),
        };
        Engine { machine, program, hosts, input, arena, calls: None }
    }

    /// Goes into an `each` whose list has so many elements, and returns the blocks around it; `None` when they
    /// are too many.
    pub fn enter(&mut self, nest: u32, elements: usize) -> Option<Blocks> {
        let outer = self.arena.blocks();
        self.stand_in(self.arena.inside_each(nest, elements)?);
        Some(outer)
    }

    /// Goes on inside these blocks. The arena of the explanations follows that of the machine.
    pub fn stand_in(&mut self, blocks: Blocks) {
        self.arena.stand_in(blocks);
        match &mut self.machine {
            Machine::Reference(_) => {}
            Machine::Vm(bound) => bound.vm.arena().stand_in(blocks),
            #[cfg(feature = "jit")]
            Machine::Compiled(bound) => bound.stand_in(blocks),
        }
    }

    /// True when an amount is within a limit; else it is reported.
    pub fn allows(&self, limit: Limit, amount: usize) -> bool {
        self.arena.allows(limit, amount as u64)
    }

    /// The limits that were exceeded so far, each once.
    pub fn exceeded(&mut self) -> Vec<Exceeded> {
        let mut exceeded = self.arena.exceeded();
        limits::add(
            &mut exceeded,
            match &self.machine {
                Machine::Reference(_) => Vec::new(),
                Machine::Vm(bound) => bound.vm.arena().exceeded(),
                #[cfg(feature = "jit")]
                Machine::Compiled(bound) => {
                    bound.machine.machine().map_or_else(Vec::new, |vm| vm.arena().exceeded())
                }
            },
        );
        exceeded
    }

    /// Gives a binding its value; what was computed with an earlier one is forgotten.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) {
        match &mut self.machine {
            Machine::Reference(slots) => slots.bind(binding, value),
            Machine::Vm(vm) => vm.bind(binding, value),
            #[cfg(feature = "jit")]
            Machine::Compiled(code) => code.bind(binding, value),
        }
    }

    pub fn value(&mut self, id: ValueId) -> Value<'a> {
        match &mut self.machine {
            Machine::Vm(bound) => bound.vm.value(id),
            #[cfg(feature = "jit")]
            Machine::Compiled(bound) => bound.machine.value(id),
            Machine::Reference(_) => self.refer(|evaluator, program| evaluator.expr(program.value(id))),
        }
    }

    /// Every rule of the table whose condition holds, in the order they are tried.
    pub fn matched(&mut self, table: TableId) -> Vec<RuleId> {
        match &mut self.machine {
            Machine::Vm(bound) => bound.vm.matched(table),
            #[cfg(feature = "jit")]
            Machine::Compiled(bound) => bound.matched(table),
            Machine::Reference(_) => self.refer(|evaluator, _| evaluator.matched(table)),
        }
    }

    /// Asks the reference evaluator, for which each distinct call of a host function is made once too.
    fn refer<T>(&mut self, ask: impl FnOnce(&mut Evaluator<'a>, &'a Program) -> T) -> T {
        let calls = self.calls.take().unwrap_or_else(|| HostCalls::new(self.hosts));
        let mut evaluator = self.evaluator(calls);
        let answer = ask(&mut evaluator, self.program);
        self.calls = Some(evaluator.into_calls());
        answer
    }

    /// The reference evaluator over the bindings as they are, to explain what holds.
    pub fn explainer(&mut self) -> Evaluator<'a> {
        self.evaluator(HostCalls::new(self.hosts))
    }

    fn evaluator(&mut self, calls: HostCalls<'a>) -> Evaluator<'a> {
        let roots = match &mut self.machine {
            Machine::Reference(slots) => slots.roots(),
            Machine::Vm(bound) => bound.vm.roots(),
            #[cfg(feature = "jit")]
            Machine::Compiled(code) => code.roots(),
        };
        let roots = self.arena.bump().alloc_slice_copy(roots);
        Evaluator::new(self.program, self.input, self.arena, calls).with_roots(roots)
    }
}
