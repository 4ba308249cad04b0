//! Random predicates and programs: compares every fast check of the VM with the operators' own
//! functions.

use super::generate::*;
use super::oracle::Oracle;
use super::*;

/// Compares every check, fast or generic, with the operator's own function.
#[test]
fn predicates_answer_as_their_meanings_do() {
    let mut scratch = Scratch::new();
    let host_functions = host_functions();
    let (mut checks, mut answers) = (hashbrown::HashMap::<_, u32>::new(), [0_u32; 3]);
    for seed in 0..if cfg!(debug_assertions) { 1_200 } else { 100_000 } {
        let mut g = Gen::new(seed);
        let mut conds = Vec::new();
        for _ in 0..4 {
            let level = 0;
            let depth = if g.rng.one_in(3) { 1 } else { 0 };
            let pred = g.pred(depth, level);
            for want in [true, false] {
                let cond = g.build.cond(NormalCond::Predicate { pred, want });
                conds.push((pred, want));
                g.build.route(0, cond, None);
                if seed % 2 == 0 {
                    g.build.route(1, cond, None);
                }
            }
        }
        let code = code(&g.build);
        for _ in 0..4 {
            let message = g.message();
            let arena = Arena::default();
            let (program, normal) = (&g.build.program, &g.build.normal);
            let mut oracle = Oracle {
                program,
                normal,
                message: &message,
                arena: &arena,
                host_functions: &host_functions,
                vars: Vec::new(),
            };
            let mut vm = Vm::over_json(&code, &host_functions, &message, &mut scratch);
            for (position, (pred, want)) in conds.iter().enumerate() {
                let expected = oracle.pred(&normal.preds[pred.index()]);
                let lowered = &code.chunk().preds[pred.index()];
                let context = || {
                    let listing = disassemble(code.chunk(), None);
                    format!("seed {seed} {:?}\n{listing}\n{message}", normal.preds[pred.index()])
                };
                assert_eq!(vm.test_pred(*pred), expected, "{}", context());
                let holds = expected == Tri::from(*want);
                assert_eq!(vm.eval_route(TableId(0), position), holds, "{}", context());
                let kind = format!("{:?}", lowered.check);
                *checks.entry(kind.split('(').next().unwrap().to_owned()).or_default() += 1;
                answers[expected as usize] += 1;
            }
        }
    }
    assert!(checks.len() == 10 && checks.values().all(|times| *times > 100), "{checks:?}");
    assert!(answers.iter().all(|times| *times > answers.iter().sum::<u32>() / 12), "{answers:?}");
}

/// Compares decisions of whole programs that have shared parts, quantifiers and computed operands.
/// Each message is read twice: from JSON, and from a list of its slot values.
#[test]
fn programs_decide_as_the_normal_form_does() {
    let mut scratch = Scratch::new();
    let host_functions = host_functions();
    let (mut held, mut total) = (0, 0);
    for seed in 0..if cfg!(debug_assertions) { 400 } else { 40_000 } {
        let mut g = Gen::new(seed + 1_000_000);
        let mut closed: Vec<CondId> = Vec::new();
        for _ in 0..1 + g.rng.below(6) {
            let mut cond = g.cond(3, 0);
            if !closed.is_empty() && g.rng.one_in(2) {
                let other = g.rng.pick(&closed);
                cond = g.build.cond(NormalCond::Or(Box::new([cond, other])));
            }
            closed.push(cond);
            g.build.route(0, cond, None);
        }
        let code = code(&g.build);
        for _ in 0..6 {
            let message = g.message();
            let arena = Arena::default();
            let (program, normal) = (&g.build.program, &g.build.normal);
            let mut oracle = Oracle {
                program,
                normal,
                message: &message,
                arena: &arena,
                host_functions: &host_functions,
                vars: Vec::new(),
            };
            let expected: Vec<RuleId> = normal.tables[0]
                .iter()
                .filter(|route| oracle.cond(route.cond))
                .map(|route| route.rule)
                .collect();
            let first = expected.first().map(|route| Chosen::Rule(*route));
            let context = || format!("seed {seed}\n{}\n{message}", disassemble(code.chunk(), None));
            let chosen =
                Vm::over_json(&code, &host_functions, &message, &mut scratch).decide(TableId(0)).chosen;
            assert_eq!(chosen, first, "{}", context());
            let record: Vec<Value> = program.slots.iter().map(|slot| slot.load(&message)).collect();
            let mut vm = Vm::over_slots(&code, &host_functions, record[..].into(), &mut scratch);
            assert_eq!(vm.matching_rules(TableId(0)), expected, "{}", context());
            assert_eq!(vm.decide(TableId(0)).chosen, first, "{}", context());
            held += expected.len();
            total += normal.tables[0].len();
        }
    }
    assert!(held * 10 > total * 2 && held * 10 < total * 8, "{held} of {total}");
}
