//! Compares the VM with the operators' own functions, over random predicates and programs. Also
//! tests searches through tables, and the verifier.

use super::*;

fn decide(build: &Build, message: &Json) -> Choice {
    let code = code(build);
    Vm::over_json(&code, &[], message, &mut Scratch::new()).decide(TableId(0))
}

fn chosen(route: u32) -> Option<Chosen> {
    Some(Chosen::Rule(RuleId(route)))
}

#[test]
fn the_first_route_that_holds_is_chosen() {
    let mut build = Build::default();
    let slot = build.slot("ctx.n", KindSet::NUMBER);
    for bound in [10, 5, 1] {
        let cond = build.compare(slot, Op::Gt, json!(bound));
        build.route(0, cond, None);
    }
    assert_eq!(decide(&build, &json!({"ctx": {"n": 7.5}})).chosen, chosen(1));
    assert_eq!(decide(&build, &json!({"ctx": {"n": 1}})).chosen, None);
    assert_eq!(decide(&build, &json!({"ctx": {"n": "7"}})).chosen, None);
    assert_eq!(decide(&build, &json!([])).chosen, None);
    let code = code(&build);
    let message = json!({"ctx": {"n": 7}});
    let mut scratch = Scratch::new();
    let mut vm = Vm::over_json(&code, &[], &message, &mut scratch);
    assert_eq!(vm.matching_rules(TableId(0)), [RuleId(1), RuleId(2)]);
    let holds = [0, 2, 3].map(|position| vm.eval_route(TableId(0), position));
    assert_eq!(holds, [false, true, false]);
    assert_eq!(vm.decide(TableId(9)).chosen, None);
}

#[test]
fn a_goto_goes_on_behind_when_its_table_chooses_nothing() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let always = build.cond(NormalCond::Const(true));
    let is = |build: &mut Build, n: i64| build.compare(slot, Op::Eq, json!(n));
    let (one, two, three) = (is(&mut build, 1), is(&mut build, 2), is(&mut build, 3));
    let jump = build.route(0, always, Some(1));
    let again = build.route(0, always, Some(1));
    let last = build.route(0, two, None);
    let inner = build.route(1, one, None);
    let deep = build.route(1, three, Some(2));
    build.otherwise(2, None);
    let run = |n: i64| decide(&build, &json!({ "n": n }));
    assert_eq!((run(1).chosen, run(1).path.to_vec()), (chosen(inner.0), vec![jump]));
    assert_eq!((run(2).chosen, run(2).path.to_vec()), (chosen(last.0), vec![]));
    assert_eq!((run(3).chosen, run(3).path.to_vec()), (Some(Chosen::Default(TableId(2))), vec![jump, deep]));
    assert_eq!(run(4), Choice::none_chosen());
    assert_ne!(jump, again);
}

#[test]
fn a_default_may_lead_on_to_another_table() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let always = build.cond(NormalCond::Const(true));
    let one = build.compare(slot, Op::Eq, json!(1));
    let jump = build.route(0, always, Some(1));
    let behind = build.route(0, always, None);
    let inner = build.route(2, one, None);
    build.otherwise(1, Some(2));
    let hit = decide(&build, &json!({"n": 1}));
    assert_eq!((hit.chosen, hit.path.to_vec()), (chosen(inner.0), vec![jump]));
    let miss = decide(&build, &json!({"n": 2}));
    assert_eq!((miss.chosen, miss.path.to_vec()), (chosen(behind.0), vec![]));
}

/// Each table jumps twice to the next table; still every table is searched once, not 2^40 times.
#[test]
fn a_table_that_chose_nothing_is_not_searched_again() {
    let mut build = Build::default();
    let always = build.cond(NormalCond::Const(true));
    for table in 0..40 {
        build.route(table, always, Some(table + 1));
        build.route(table, always, Some(table + 1));
    }
    build.table(40);
    assert_eq!(decide(&build, &json!({})), Choice::none_chosen());
}

/// Each `let` uses the previous `let` twice. Code size and time grow with the number of `let`s, not
/// as 2^n.
#[test]
fn shared_conditions_take_room_and_time_once() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let mut cond = build.compare(slot, Op::Gt, json!(0));
    for n in 0..40 {
        let tests: Vec<CondId> =
            (0..2).map(|k| build.compare(slot, Op::Gt, json!(1000 + 2 * n + k))).collect();
        let left = build.cond(NormalCond::And(Box::new([cond, tests[0]])));
        let right = build.cond(NormalCond::And(Box::new([cond, tests[1]])));
        cond = build.cond(NormalCond::Or(Box::new([left, right])));
    }
    build.route(0, cond, None);
    assert!(code(&build).chunk().instrs.len() < 1000);
    assert_eq!(decide(&build, &json!({"n": 5000})).chosen, chosen(0));
    assert_eq!(decide(&build, &json!({"n": 5})).chosen, None);
}

#[test]
fn shared_values_are_computed_once() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let mut value = build.expr(NormalExpr::Slot(slot));
    for _ in 0..60 {
        value = build.expr(NormalExpr::Op(Op::Add, value, Some(value)));
    }
    let cond = build.compare_expr(value, Op::Eq, json!(1_i64 << 60));
    build.route(0, cond, None);
    assert!(code(&build).chunk().instrs.len() < 1000);
    assert_eq!(decide(&build, &json!({"n": 1})).chosen, chosen(0));
}

/// Conditions nested as deep as allowed must run on a test thread's stack of 2 MiB.
#[test]
fn nesting_is_bounded() {
    let deep = |levels: u32| {
        let mut build = Build::default();
        let slot = build.slot("n", KindSet::INT);
        let mut value = build.expr(NormalExpr::Slot(slot));
        for level in 0..levels {
            // (value == level) as a value is true; then `[value, 1][1]` is a number again.
            let holds = build.compare_expr(value, Op::Ne, json!(-i64::from(level) - 7));
            let fails = build.compare_expr(value, Op::Eq, json!(-i64::from(level) - 7));
            value = build.expr(NormalExpr::Cond {
                true_cond: holds,
                false_cond: fails,
                read_levels: QuantifierLevels::EMPTY,
            });
            let one = build.constant(json!(1));
            let list = build.expr(NormalExpr::List(Box::new([value, one])));
            value = build.expr(NormalExpr::Index(list, one));
        }
        let cond = build.compare_expr(value, Op::Eq, json!(1));
        build.route(0, cond, None);
        let code = lower(&build.program, &build.normal).unwrap();
        verify(code.chunk())
            .map(|()| Vm::over_json(&code, &[], &json!({"n": 1}), &mut Scratch::new()).decide(TableId(0)))
    };
    assert_eq!(deep(50).unwrap().chosen, chosen(0));
    assert_eq!(deep(63).unwrap().chosen, chosen(0));
    assert!(deep(65).is_err() && deep(5000).is_err());
}

#[test]
fn conditions_may_be_as_deep_as_they_like() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let mut cond = build.compare(slot, Op::Gt, json!(0));
    for n in 0..100_000_i64 {
        let test = build.compare(slot, Op::Ne, json!(n));
        cond = build.cond(if n % 2 == 0 {
            NormalCond::And(Box::new([test, cond]))
        } else {
            NormalCond::Or(Box::new([test, cond]))
        });
    }
    build.route(0, cond, None);
    assert_eq!(decide(&build, &json!({"n": 7})).chosen, chosen(0));
}

#[test]
fn old_answers_are_forgotten_when_the_numbers_begin_anew() {
    let mut build = Build::default();
    let slot = build.slot("text", KindSet::STRING);
    let mode = TestMode { text: TextMode { folds_case: true, ..TextMode::PLAIN }, ..TestMode::default() };
    let test = build.test(slot, Op::Contains, json!("a"), mode);
    let other = build.compare(slot, Op::Ne, json!("x"));
    let both = build.cond(NormalCond::And(Box::new([other, test])));
    build.route(0, both, None);
    build.route(0, test, None);
    let code = code(&build);
    let (yes, no) = (json!({"text": "xAx"}), json!({"text": "xbx"}));
    let mut scratch = Scratch::new();
    for epoch in [0, 4, u32::MAX - 8, 0, 0] {
        if epoch > 0 {
            scratch.set_epoch(epoch);
        }
        // Checked after each decision, since the epoch after the restart is 4 whatever the epoch
        // before.
        for (message, expected) in [(&yes, chosen(0)), (&no, None)].into_iter().cycle().take(6) {
            assert_eq!(Vm::over_json(&code, &[], message, &mut scratch).decide(TableId(0)).chosen, expected);
            assert!(
                scratch.epoch() > 0 && scratch.epoch().is_multiple_of(4),
                "the answers stand in the two bits below"
            );
        }
    }
}

/// Each table has a memo cell of its own, which records that the table selected nothing.
#[test]
fn a_table_that_chose_nothing_says_so_for_itself_alone() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let always = build.cond(NormalCond::Const(true));
    for table in 1..4 {
        build.route(0, always, Some(table));
        let own = build.compare(slot, Op::Eq, json!(table));
        build.route(table, own, None);
    }
    let code = code(&build);
    assert!(code.chunk().shared_conditions.is_empty());
    let mut scratch = Scratch::new();
    for n in 1..4 {
        let message = json!({ "n": n });
        let choice = Vm::over_json(&code, &[], &message, &mut scratch).decide(TableId(0));
        assert!(choice.chosen.is_some(), "the route of table {n}");
    }
}

/// A new value of a binding begins an epoch (a number that marks valid results). So it invalidates
/// memoized results, even where the numbers restart.
#[test]
fn what_was_kept_of_a_binding_is_forgotten_with_it() {
    let mut build = Build::default();
    let (n, text) = (build.slot("n", KindSet::NUMBER), build.slot("t", KindSet::STRING));
    for slot in &mut build.program.slots {
        slot.root = Some(BindingRoot { id: BindingId(0), name: "one".into() });
    }
    let mode = TestMode { text: TextMode { folds_case: true, ..TextMode::PLAIN }, ..TestMode::default() };
    let word = build.test(text, Op::Contains, json!("a"), mode);
    let n = build.expr(NormalExpr::Slot(n));
    let max = build.expr(NormalExpr::Call(rulec_lang::builtins::Function::Max, Box::new([n, n])));
    let large = build.compare_expr(max, Op::Gt, json!(3));
    build.route(0, word, None);
    build.route(0, word, None);
    build.route(0, large, None);
    build.normal.values = vec![max];
    let code = code(&build);
    assert!(code.chunk().cached_block_count > 0 && code.chunk().preds.iter().any(|pred| pred.is_memoized));
    let elements =
        json!([{"n": 1, "t": "xA"}, {"n": 5, "t": "b"}, {"n": 2, "t": "a"}, {}, {"n": 7, "t": "B"}]);
    let expected: [&[u32]; 5] = [&[0, 1], &[2], &[0, 1], &[], &[2]];
    let (message, mut scratch) = (json!({}), Scratch::new());
    for epoch in [0, 4, u32::MAX - 12, 0] {
        if epoch > 0 {
            scratch.set_epoch(epoch);
        }
        let mut vm = Vm::over_bindings(&code, &[], &build.program.slots, &message, 1, &mut scratch);
        for (element, expected) in elements.as_array().unwrap().iter().zip(expected) {
            vm.bind(BindingId(0), Value::from_json(element));
            for _ in 0..2 {
                assert_eq!(vm.eval_value(ValueId(0)).to_json(), element["n"]);
                let matched: Vec<u32> =
                    vm.matching_rules(TableId(0)).into_iter().map(|rule| rule.0).collect();
                assert_eq!(matched, expected, "{element}");
            }
        }
    }
}

/// The text mode of a predicate does not normalize a text that is compared with a time in a list.
#[test]
fn times_in_lists_compare_with_unprepared_texts() {
    let mut build = Build::default();
    let (at, text) = (build.slot("at", KindSet::DATETIME), build.slot("text", KindSet::STRING));
    let (at, text) = (build.expr(NormalExpr::Slot(at)), build.expr(NormalExpr::Slot(text)));
    let list = build.expr(NormalExpr::List(Box::new([at])));
    let mode = TextMode { form: rulec_base::text::NormalizationForm::Nfkc, ..TextMode::PLAIN };
    let mode = TestMode { text: mode, ..TestMode::default() };
    let pred = build.pred(rulec_sema::normal::TestKind::Op(Op::Contains), mode, list, Some(text));
    let cond = build.cond(NormalCond::Predicate { pred, want: true });
    build.route(0, cond, None);
    let at = "2026-01-01T00:00:00Z";
    assert_eq!(decide(&build, &json!({"at": at, "text": at})).chosen, chosen(0));
    assert_eq!(decide(&build, &json!({"at": at, "text": at.replacen('2', "\u{ff12}", 1)})).chosen, None);
}

#[test]
fn registers_stay_where_they_are() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let value = build.expr(NormalExpr::Slot(slot));
    let sum = build.expr(NormalExpr::Op(Op::Add, value, Some(value)));
    let cond = build.compare_expr(sum, Op::Eq, json!(4));
    build.route(0, cond, None);
    let code = code(&build);
    let mut scratch = Scratch::new();
    let message = json!({"n": 2});
    let mut places: Vec<_> = (0..4)
        .map(|_| {
            assert_eq!(
                Vm::over_json(&code, &[], &message, &mut scratch).decide(TableId(0)).chosen,
                chosen(0)
            );
            scratch.register_memory()
        })
        .collect();
    places.dedup();
    assert!(places.len() == 1 && places[0].1 > 0);
}

#[test]
fn listings_show_constants_and_labels() {
    let mut build = Build::default();
    let n = build.slot("ctx.n", KindSet::NUMBER);
    let text = build.slot("text", KindSet::STRING);
    let tags = build.slot("ctx.tags", KindSet::LIST);
    let number = build.compare(n, Op::Gt, json!(3));
    let mode = TestMode {
        whole_word: true,
        quantity: Some(Quantity::Any),
        text: TextMode { folds_case: true, ..TextMode::PLAIN },
    };
    let words = build.test(text, Op::Contains, json!(["show", "list"]), mode);
    let (list, element) = (build.expr(NormalExpr::Slot(tags)), build.expr(NormalExpr::Var(0)));
    let body = build.compare_expr(element, Op::Eq, json!("vip"));
    let each = build.cond(NormalCond::Each {
        is_all: false,
        list,
        kinds: KindSet::STRING,
        body,
        level: 0,
        nest: Default::default(),
    });
    let or = build.cond(NormalCond::Or(Box::new([number, words])));
    let and = build.cond(NormalCond::And(Box::new([or, each])));
    build.route(0, and, None);
    build.route(0, words, Some(1));
    build.otherwise(1, None);
    let listing = disassemble(code(&build).chunk(), Some(&build.program));
    let expected = r#"condition 0:
     0  unless element 0 == "vip" -> 2
     1  answer true
     2  answer false
table t0:
     3  if ctx.n > 3 -> 5
     4  unless memo 1: text contains/fold word any ["show","list"] -> 7
     5  unless any element 0 in ctx.tags as string: condition 0 -> 7
     6  choose r0
     7  unless memo 1: text contains/fold word any ["show","list"] -> 9
     8  goto t1 by r1
     9  nothing
table t1:
    10  default of t1
"#;
    assert_eq!(listing, expected, "\n{listing}");
}

#[test]
fn bytecode_is_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Bytecode>();
    let _: (Program, NormalForm, Option<Outcome>) = Default::default();
}
