//! The engine that evaluates payload rules. Its bindings change during a pass over the payload.

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

/// An engine during a pass over a payload.
pub(super) struct Engine<'a> {
    machine: Machine<'a>,
    program: &'a Program,
    hosts: &'a [Host],
    input: &'a Json,
    arena: &'a Arena,
    /// The cached host calls of the reference evaluator.
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
    /// Creates the engine for the tier of the rules.
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

    /// Enters an `each` block over a list with this number of elements. Returns the outer nesting,
    /// to restore it with [`Engine::stand_in`]; `None` if the list exceeds a limit.
    pub fn enter(&mut self, nest: u32, elements: usize) -> Option<Blocks> {
        let outer = self.arena.blocks();
        self.stand_in(self.arena.inside_each(nest, elements)?);
        Some(outer)
    }

    /// Sets the nesting of `each` blocks that limits apply to, for the explanations' arena and the
    /// engine's arena.
    pub fn stand_in(&mut self, blocks: Blocks) {
        self.arena.stand_in(blocks);
        match &mut self.machine {
            Machine::Reference(_) => {}
            Machine::Vm(bound) => bound.vm.arena().stand_in(blocks),
            #[cfg(feature = "jit")]
            Machine::Compiled(bound) => bound.stand_in(blocks),
        }
    }

    /// Reports whether an amount is within a limit, and records the limit as exceeded if not.
    pub fn allows(&self, limit: Limit, amount: usize) -> bool {
        self.arena.allows(limit, amount as u64)
    }

    /// Returns the limits that were exceeded so far, each once.
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

    /// Sets a binding; cached values that depend on it are discarded.
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

    /// Returns every rule of the table whose condition holds, in evaluation order.
    pub fn matched(&mut self, table: TableId) -> Vec<RuleId> {
        match &mut self.machine {
            Machine::Vm(bound) => bound.vm.matched(table),
            #[cfg(feature = "jit")]
            Machine::Compiled(bound) => bound.matched(table),
            Machine::Reference(_) => self.refer(|evaluator, _| evaluator.matched(table)),
        }
    }

    /// Runs `ask` with the reference evaluator. The cache of host calls is kept between runs, so
    /// each distinct call is made once.
    fn refer<T>(&mut self, ask: impl FnOnce(&mut Evaluator<'a>, &'a Program) -> T) -> T {
        let calls = self.calls.take().unwrap_or_else(|| HostCalls::new(self.hosts));
        let mut evaluator = self.evaluator(calls);
        let answer = ask(&mut evaluator, self.program);
        self.calls = Some(evaluator.into_calls());
        answer
    }

    /// Returns a reference evaluator with the current bindings, for explanations.
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
