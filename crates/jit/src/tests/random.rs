//! Random predicates and programs. Compiled code must give the same results as the VM. Other tests
//! compare the VM with the functions that implement the operators.

use super::generate::{Gen, host_functions};
use super::*;
use rulec_lang::value::Value;
use rulec_sema::hir::TableId;
use rulec_sema::normal::{CondId, NormalCond};
use rulec_vm::bytecode::disasm::disassemble;
use rulec_vm::vm::{Scratch, Vm};

const TABLE: TableId = TableId(0);

/// Compares the decisions of one random rule set with the VM, by every entry point of compiled
/// code. Returns the number of matches.
fn check(seed: u64, g: &mut Gen, messages: usize) -> usize {
    let (bytecode, code) = compile(&g.build);
    let host_functions = host_functions();
    let (mut vm_scratch, mut scratch, mut bindings) = (Scratch::new(), Scratch::new(), Scratch::new());
    let mut held = 0;
    for _ in 0..messages {
        let message = g.message();
        let mut vm = Vm::over_json(&bytecode, &host_functions, &message, &mut vm_scratch);
        let (chosen, matched) = (vm.decide(TABLE), vm.matching_rules(TABLE));
        drop(vm);
        let context = || format!("seed {seed}\n{}\n{message}", disassemble(bytecode.chunk(), None));
        let scratch = &mut scratch;
        assert_eq!(
            code.machine_over_json(&host_functions, &message, scratch).decide(TABLE),
            chosen,
            "json: {}",
            context()
        );
        assert_eq!(
            code.machine_over_json(&host_functions, &message, scratch).matching_rules(TABLE),
            matched,
            "json: {}",
            context()
        );
        let slots = &g.build.program.slots;
        let record: Vec<Value> = slots.iter().map(|slot| slot.load(&message)).collect();
        let mut machine = code.machine_over_slots(&host_functions, record[..].into(), scratch);
        assert_eq!(machine.decide(TABLE), chosen, "record: {}", context());
        // Results memoized in the decision are reused below.
        assert_eq!(machine.matching_rules(TABLE), matched, "record: {}", context());
        drop(machine);
        let values = bindings.bind_slots(slots, &message, 0);
        assert_eq!(
            code.machine_over_message(&host_functions, values, scratch).decide(TABLE),
            chosen,
            "over: {}",
            context()
        );
        held += matched.len();
    }
    held
}

#[test]
fn predicates_answer_as_the_vm_does() {
    let (mut held, mut total) = (0, 0);
    for seed in 0..if cfg!(debug_assertions) { 500 } else { 20_000 } {
        let mut g = Gen::new(seed);
        for _ in 0..6 {
            let depth = if g.rng.one_in(3) { 1 } else { 0 };
            let pred = g.pred(depth, 0);
            for want in [true, false] {
                let cond = g.build.cond(NormalCond::Predicate { pred, want });
                g.build.route(0, cond, None);
                if seed % 2 == 0 {
                    g.build.route(1, cond, None);
                }
            }
        }
        held += check(seed, &mut g, 5);
        total += 6 * 2 * 5;
    }
    assert!(held * 6 > total && held < total, "{held} of {total}");
}

#[test]
fn programs_decide_as_the_vm_does() {
    let (mut held, mut total) = (0, 0);
    for seed in 0..if cfg!(debug_assertions) { 400 } else { 20_000 } {
        let mut g = Gen::new(seed + 1_000_000);
        let mut closed: Vec<CondId> = Vec::new();
        let routes = 1 + g.rng.below(6);
        for _ in 0..routes {
            let mut cond = g.cond(3, 0);
            if !closed.is_empty() && g.rng.one_in(2) {
                let other = g.rng.pick(&closed);
                cond = g.build.cond(NormalCond::Or(Box::new([cond, other])));
            }
            closed.push(cond);
            let goto = g.rng.one_in(3).then_some(1);
            g.build.route(0, cond, goto);
            if g.rng.one_in(2) {
                g.build.route(1, cond, None);
            }
        }
        if g.rng.one_in(2) {
            g.build.otherwise(1, None);
        } else {
            g.build.table(1);
        }
        held += check(seed, &mut g, 5);
        total += routes * 5;
    }
    assert!(held * 10 > total * 2 && held * 10 < total * 8, "{held} of {total}");
}
