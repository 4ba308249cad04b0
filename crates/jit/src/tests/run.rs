//! Tests of how compiled code runs: segments, jumps between tables, single routes, panics, memory,
//! dropping.

use super::*;
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_sema::hir::{RuleId, TableId};
use rulec_sema::normal::NormalCond;
use rulec_vm::vm::{Scratch, SlotValueSource, Vm};
use serde_json::{Value as Json, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

const TABLE: TableId = TableId(0);

/// A table is compiled to several functions. Some of its routes jump to another table that selects
/// nothing, so the search resumes in the first table.
#[test]
fn long_tables_continue_after_segments_and_jumps() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let routes = 2_000_i64;
    for n in 0..routes {
        let is_equal = build.compare(slot, Op::Eq, json!(n));
        let is_unequal = build.compare(slot, Op::Ne, json!(-n - 1));
        let cond = build.cond(NormalCond::And(Box::new([is_equal, is_unequal])));
        build.route(0, cond, (n % 3 == 0).then_some(1));
    }
    let inner = build.compare(slot, Op::Eq, json!(900));
    build.route(1, inner, None);
    let last = build.compare(slot, Op::Gt, json!(-5));
    build.route(0, last, None);
    build.otherwise(0, None);
    let (bytecode, code) = compile(&build);
    let segments = code.segments(0).len();
    assert!((5..100).contains(&segments), "{segments} functions of 2001 routes");
    let mut scratch = Scratch::new();
    let mut vm_scratch = Scratch::new();
    for n in (-6..routes).step_by(7).chain([99, 100, 399, 400, 401, 900, routes - 1, routes]) {
        let message = json!({ "n": n });
        let mut vm = Vm::over_json(&bytecode, &[], &message, &mut vm_scratch);
        let mut machine = code.machine_over_json(&[], &message, &mut scratch);
        assert_eq!(machine.decide(TABLE), vm.decide(TABLE), "{n}");
        assert_eq!(machine.matching_rules(TABLE), vm.matching_rules(TABLE), "{n}");
        for position in [0, 1, 150, n.max(0) as usize, routes as usize, routes as usize + 1] {
            let route = bytecode.chunk().route_order(TABLE.index()).nth(position);
            let route =
                route.filter(|_| vm.eval_route(TABLE, position)).map(|route| (position as u32, route));
            let first = machine.first_match(TABLE, position as u32).filter(|(at, _)| *at == position as u32);
            assert_eq!(first, route, "{n} {position}");
        }
    }
    assert_eq!(code.machine_over_json(&[], &json!({"n": 1}), &mut scratch).decide(TableId(9)).chosen, None);
}

#[test]
fn a_table_that_chose_nothing_is_not_searched_again() {
    let mut build = Build::default();
    let always = build.cond(NormalCond::Const(true));
    let slot = build.slot("n", KindSet::INT);
    for table in 0..40 {
        let never = build.compare(slot, Op::Eq, json!(table));
        build.route(table, never, None);
        build.route(table, always, Some(table + 1));
        build.route(table, always, Some(table + 1));
    }
    build.table(40);
    let (_, code) = compile(&build);
    assert_eq!(code.machine_over_json(&[], &json!({}), &mut Scratch::new()).decide(TABLE).chosen, None);
}

#[test]
fn defaults_lead_on() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let always = build.cond(NormalCond::Const(true));
    let equals_one = build.compare(slot, Op::Eq, json!(1));
    build.route(0, always, Some(1));
    build.route(0, always, None);
    build.route(2, equals_one, None);
    build.otherwise(1, Some(2));
    let (bytecode, code) = compile(&build);
    for n in [1, 2] {
        let message = json!({ "n": n });
        let expected = Vm::over_json(&bytecode, &[], &message, &mut Scratch::new()).decide(TABLE);
        assert_eq!(code.machine_over_json(&[], &message, &mut Scratch::new()).decide(TABLE), expected);
    }
}

/// Memoized results are not reused in the next decision. The slot cells are empty when a decision
/// starts.
#[test]
fn one_scratch_serves_many_decisions_and_rule_sets() {
    let mode = TestMode {
        text: rulec_base::text::TextMode { folds_case: true, ..Default::default() },
        ..Default::default()
    };
    let sets: Vec<_> = (1..4)
        .map(|slots| {
            let mut build = Build::default();
            let mut conds = Vec::new();
            for at in 0..slots {
                let slot = build.slot(&format!("t{at}"), KindSet::STRING);
                conds.push(build.test(slot, Op::Contains, json!("a"), mode));
            }
            for cond in conds.iter().chain(&conds) {
                let n = build.slot("n", KindSet::INT);
                let other = build.compare(n, Op::Gt, json!(3));
                let both = build.cond(NormalCond::And(Box::new([other, *cond])));
                build.route(0, both, None);
            }
            compile(&build)
        })
        .collect();
    let (mut scratch, mut vm_scratch) = (Scratch::new(), Scratch::new());
    for round in 0..200_usize {
        let (bytecode, code) = &sets[round % sets.len()];
        let text = |at: usize| if (round / at).is_multiple_of(2) { json!("xAx") } else { json!("xbx") };
        let message = json!({"t0": text(1), "t1": text(3), "t2": text(7), "n": round % 9});
        let expected = Vm::over_json(bytecode, &[], &message, &mut vm_scratch).decide(TABLE);
        assert_eq!(code.machine_over_json(&[], &message, &mut scratch).decide(TABLE), expected, "{message}");
    }
}

/// The slot values of a message may end early. The remaining slots count as missing.
#[test]
fn slots_that_a_record_omits_are_missing() {
    let mut build = Build::default();
    let slots = ["a", "b", "c"].map(|name| build.slot(name, KindSet::INT));
    for slot in slots {
        let cond = build.compare(slot, Op::Ge, json!(1));
        build.route(0, cond, None);
    }
    let (_, code) = compile(&build);
    let values = [Value::Int(0), Value::Int(2)];
    let mut scratch = Scratch::new();
    for (record, expected) in [(&values[..], vec![RuleId(1)]), (&values[..1], vec![]), (&values[..0], vec![])]
    {
        assert_eq!(
            code.machine_over_slots(&[], record[..].into(), &mut scratch).matching_rules(TABLE),
            expected
        );
    }
}

/// A message that panics when its second field is read.
struct PanickingMessage;

impl<'a> SlotValueSource<'a> for PanickingMessage {
    fn slot_value(&mut self, slot: usize) -> &Value<'a> {
        if slot == 1 {
            std::panic::resume_unwind(Box::new("no such field"));
        }
        &Value::Int(5)
    }
}

/// A panic inside a helper does not unwind through compiled code. The panic resumes after the
/// compiled code has returned.
#[test]
fn panics_do_not_unwind_through_compiled_code() {
    let mut build = Build::default();
    let (good, bad) = (build.slot("good", KindSet::INT), build.slot("bad", KindSet::STRING));
    let first = build.compare(good, Op::Gt, json!(3));
    build.route(0, first, None);
    for mode in [TestMode::default(), TestMode { whole_word: true, ..TestMode::default() }] {
        let cond = build.test(bad, Op::Contains, json!("a"), mode);
        build.route(1, cond, None);
        let cond = build.test(bad, Op::Eq, json!("a"), TestMode::default());
        build.route(1, cond, None);
    }
    let (_, code) = compile(&build);
    let mut scratch = Scratch::new();
    for _ in 0..3 {
        assert!(
            code.machine_over_message(&[], PanickingMessage, &mut scratch).decide(TABLE).chosen.is_some()
        );
        for at in 0..4 {
            let mut machine = code.machine_over_message(&[], PanickingMessage, &mut scratch);
            let result = catch_unwind(AssertUnwindSafe(|| machine.first_match(TableId(1), at)));
            let panic = result.expect_err("the field cannot be read");
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"no such field"));
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            code.machine_over_message(&[], PanickingMessage, &mut scratch).decide(TableId(1))
        }));
        assert!(result.is_err());
    }
}

#[test]
fn code_is_shared_between_threads_and_freed() {
    fn check<T: Send + Sync>() {}
    check::<JitCode>();
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::NUMBER);
    for n in 0..50 {
        let cond = build.compare(slot, Op::Eq, json!(n));
        build.route(0, cond, None);
    }
    // Each module is freed before the next is compiled, so a use of freed memory would show.
    for _ in 0..40 {
        let (_, code) = compile(&build);
        assert!(code.code_bytes() > 1_000);
        std::thread::scope(|scope| {
            for n in 0..2 {
                let code = &code;
                scope.spawn(move || {
                    let message: Json = json!({ "n": n });
                    let chosen =
                        code.machine_over_json(&[], &message, &mut Scratch::new()).decide(TABLE).chosen;
                    assert_eq!(chosen, Some(rulec_eval::decision::Chosen::Rule(RuleId(n))));
                });
            }
        });
    }
}

/// Without tables there is nothing to compile, and nothing to choose.
#[test]
fn an_empty_program_compiles() {
    let (_, code) = compile(&Build::default());
    assert_eq!(code.machine_over_json(&[], &json!({}), &mut Scratch::new()).decide(TABLE).chosen, None);
    assert_eq!(code.machine_over_slots(&[], [][..].into(), &mut Scratch::new()).matching_rules(TABLE), []);
}

/// A few short texts are compared by inline code, which is larger than a call of a helper, but
/// takes less time.
#[test]
fn a_few_short_texts_are_compared_inline() {
    let size = |kinds: KindSet, op: Op, right: Json, quantity: Option<Quantity>| {
        let mut build = Build::default();
        let slot = build.slot("x", kinds);
        let cond = build.test(slot, op, right, TestMode { quantity, ..TestMode::default() });
        build.route(0, cond, None);
        compile(&build).1.code_bytes()
    };
    let words = |count: usize, length: usize| {
        json!((0..count).map(|at| format!("{at}{}", "x".repeat(length - 1))).collect::<Vec<_>>())
    };
    let numbers = |count: i64| json!((0..count).collect::<Vec<_>>());
    let (any, all) = (Some(Quantity::Any), Some(Quantity::All));
    for (op, quantity, few, more) in [
        (Op::In, None, words(8, 4), words(9, 4)),
        (Op::In, None, words(8, 32), words(8, 33)),
        (Op::StartsWith, any, words(8, 4), words(9, 4)),
        (Op::StartsWith, any, words(8, 32), words(8, 33)),
        (Op::Contains, any, words(4, 4), words(5, 4)),
        (Op::Contains, all, words(8, 4), words(9, 4)),
        (Op::Contains, all, words(8, 32), words(8, 33)),
    ] {
        let [in_place, called] = [few, more].map(|right| size(KindSet::STRING, op, right, quantity));
        assert!(in_place > called + 100, "{op:?}: {in_place} and {called} bytes");
    }
    // Eight bytes at a time; the last ones may overlap those before.
    let of_length = |length: usize| size(KindSet::STRING, Op::In, words(8, length), None);
    let (short, rest, whole) = (of_length(4), of_length(15), of_length(16));
    assert!(rest < whole + 100 && whole < 4 * short, "{short}, {rest} and {whole} bytes");
    let [in_place, called] = [8, 9].map(|count| size(KindSet::INT, Op::In, numbers(count), None));
    assert!(in_place > called + 40, "numbers: {in_place} and {called} bytes");
}
