//! Compares the results of compiled code and of the VM, for edge cases of every kind of predicate.

use super::values::TEXTS;
use super::*;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::Value;
use rulec_sema::hir::{RuleId, SlotId, TableId};
use rulec_sema::normal::{CondId, ExprId, NormalCond, NormalExpr, TestKind};
use rulec_vm::bytecode::disasm::disassemble;
use rulec_vm::vm::{Scratch, Vm};
use serde_json::{Value as Json, json};

const COMPARISONS: [Op; 6] = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge];

/// Integers and floats near the limits of their types and of exact conversion between them.
fn sample_numbers() -> Vec<Json> {
    let ints = [
        0,
        1,
        -1,
        2,
        7,
        -7,
        1 << 32,
        (1 << 53) - 1,
        1 << 53,
        (1 << 53) + 1,
        -(1 << 53) - 1,
        i64::MAX,
        i64::MAX - 1,
        i64::MIN,
        i64::MIN + 1,
        3_037_000_500,
    ];
    let floats = [
        -0.0,
        0.5,
        -2.5,
        7.0,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        9_223_372_036_854_775_808.0,
        -9_223_372_036_854_775_808.0,
        1e300,
        -1e308,
        5e-324,
    ];
    ints.into_iter().map(Json::from).chain(floats.into_iter().map(Json::from)).collect()
}

/// Values of every kind, including the sample numbers.
fn sample_values() -> Vec<Json> {
    let others = [
        json!(null),
        json!(true),
        json!(false),
        json!("7"),
        json!(""),
        json!("2026-01-01T00:00:00Z"),
        json!([]),
        json!([1, "a"]),
        json!({"a": 1}),
    ];
    sample_numbers().into_iter().chain(others).collect()
}

/// Adds two routes for a predicate: one requires the result true, the other requires false.
fn add_both_routes(build: &mut Build, cond: CondId) {
    let NormalCond::Predicate { pred, .. } = build.normal.conds[cond.index()] else { panic!("a test") };
    for want in [true, false] {
        let cond = build.cond(NormalCond::Predicate { pred, want });
        build.route(0, cond, None);
    }
}

/// Compares the result of every route with the result that the VM gives, for every message. Tests
/// both slots read before the decision, and slots read at their first use. Returns the number of
/// matches.
fn check(build: &Build, messages: impl IntoIterator<Item = Json>) -> usize {
    let (bytecode, code) = compile(build);
    let (mut vm_scratch, mut scratch) = (Scratch::new(), Scratch::new());
    let mut held = 0;
    for message in messages {
        let expected: Vec<RuleId> =
            Vm::over_json(&bytecode, &[], &message, &mut vm_scratch).matching_rules(TableId(0));
        let differ = |matches: &[RuleId]| {
            let wrong = matches.iter().find(|rule| !expected.contains(rule));
            let wrong = wrong.or_else(|| expected.iter().find(|rule| !matches.contains(rule)));
            format!("{wrong:?} for {message}\n{}", disassemble(bytecode.chunk(), None))
        };
        let matches = code.machine_over_json(&[], &message, &mut scratch).matching_rules(TableId(0));
        assert!(matches == expected, "json: {}", differ(&matches));
        let slots = build.program.slots.iter();
        let record: Vec<Value> = slots.map(|slot| slot.load(&message)).collect();
        let matches =
            code.machine_over_slots(&[], record[..].into(), &mut scratch).matching_rules(TableId(0));
        assert!(matches == expected, "record: {}", differ(&matches));
        held += expected.len();
    }
    held
}

fn wrap_in_messages(values: &[Json]) -> Vec<Json> {
    values.iter().map(|value| json!({ "x": value })).collect()
}

#[test]
fn comparisons_with_constants() {
    for kinds in [KindSet::MESSAGE_KINDS, KindSet::NUMBER, KindSet::INT, KindSet::FLOAT, KindSet::STRING] {
        let mut build = Build::default();
        let slot = build.slot("x", kinds);
        for op in COMPARISONS {
            for constant in sample_numbers() {
                let cond = build.compare(slot, op, constant);
                add_both_routes(&mut build, cond);
            }
        }
        let held = check(&build, wrap_in_messages(&sample_values()));
        assert_eq!(held > 1_000, kinds.overlaps(KindSet::NUMBER));
    }
}

#[test]
fn comparisons_of_two_values() {
    let mut build = Build::default();
    let kinds = [KindSet::MESSAGE_KINDS, KindSet::NUMBER, KindSet::INT];
    let slots: Vec<(SlotId, SlotId)> =
        kinds.iter().map(|kinds| (build.slot("x", *kinds), build.slot("y", *kinds))).collect();
    for (x, y) in slots {
        let (x, y) = (build.expr(NormalExpr::Slot(x)), build.expr(NormalExpr::Slot(y)));
        for op in [Op::Eq, Op::Lt, Op::Le] {
            let pred = build.pred(TestKind::Op(op), TestMode::default(), x, Some(y));
            let cond = build.cond(NormalCond::Predicate { pred, want: true });
            add_both_routes(&mut build, cond);
        }
    }
    let values = sample_values();
    let pairs = values.iter().flat_map(|x| values.iter().map(move |y| json!({"x": x, "y": y})));
    assert!(check(&build, pairs) > 1_000);
}

#[test]
fn truth_and_presence() {
    for kinds in [KindSet::MESSAGE_KINDS, KindSet::BOOL, KindSet::STRING] {
        let mut build = Build::default();
        let slot = build.slot("x", kinds);
        let value = build.expr(NormalExpr::Slot(slot));
        for ask in [TestKind::Truth, TestKind::Op(Op::IsMissing)] {
            let pred = build.pred(ask, TestMode::default(), value, None);
            let cond = build.cond(NormalCond::Predicate { pred, want: true });
            add_both_routes(&mut build, cond);
        }
        let mut messages = wrap_in_messages(&sample_values());
        messages.push(json!({}));
        assert!(check(&build, messages) > 30);
    }
}

fn binary_expr(build: &mut Build, op: Op, left: ExprId, right: ExprId) -> ExprId {
    build.expr(NormalExpr::Op(op, left, Some(right)))
}

#[test]
fn arithmetic() {
    let with_times = KindSet::NUMBER.union(KindSet::DATETIME);
    for kinds in [KindSet::MESSAGE_KINDS, with_times, KindSet::NUMBER, KindSet::INT, KindSet::FLOAT] {
        let mut build = Build::default();
        let (x, y) = (build.slot("x", kinds), build.slot("y", kinds));
        let (x, y) = (build.expr(NormalExpr::Slot(x)), build.expr(NormalExpr::Slot(y)));
        let mut results = Vec::new();
        for op in [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem] {
            results.push(binary_expr(&mut build, op, x, y));
            // With `??`, a missing result becomes 7. With `+`, it makes the sum missing.
            let inner = *results.last().expect("just pushed");
            let seven = build.constant(json!(7));
            results.push(binary_expr(&mut build, Op::Coalesce, inner, seven));
            results.push(binary_expr(&mut build, Op::Add, inner, x));
            let mixed = build.constant(json!(2.5));
            results.push(binary_expr(&mut build, op, x, mixed));
            results.push(binary_expr(&mut build, op, seven, y));
        }
        results.push(build.expr(NormalExpr::Op(Op::Neg, x, None)));
        for result in results {
            for (op, constant) in [
                (Op::Lt, json!(7)),
                (Op::Ge, json!(0)),
                (Op::Eq, json!(0)),
                (Op::Eq, json!(7.0)),
                (Op::Eq, json!(i64::MAX)),
                (Op::Lt, json!(-1e300)),
            ] {
                let cond = build.compare_expr(result, op, constant);
                add_both_routes(&mut build, cond);
            }
            for ask in [TestKind::Truth, TestKind::Op(Op::IsMissing)] {
                let pred = build.pred(ask, TestMode::default(), result, None);
                let cond = build.cond(NormalCond::Predicate { pred, want: true });
                add_both_routes(&mut build, cond);
            }
            let pred = build.pred(TestKind::Op(Op::Lt), TestMode::default(), result, Some(y));
            let cond = build.cond(NormalCond::Predicate { pred, want: true });
            add_both_routes(&mut build, cond);
        }
        let values = if kinds == KindSet::MESSAGE_KINDS { sample_values() } else { sample_numbers() };
        let mut pairs: Vec<Json> =
            values.iter().flat_map(|x| values.iter().map(move |y| json!({"x": x, "y": y}))).collect();
        let time = "2026-01-01T00:00:00Z";
        for (x, y) in [
            (json!(time), json!(3)),
            (json!(3), json!(time)),
            (json!(time), json!(time)),
            (json!(1), json!(null)),
        ] {
            pairs.push(json!({"x": x, "y": y}));
        }
        assert!(check(&build, pairs) > 10_000, "{kinds}");
    }
}

/// Decisions that need only conditions with inline code create no VM.
#[test]
fn conditions_with_inline_code_create_no_vm() {
    let mut build = Build::default();
    let slot = build.slot("n", KindSet::INT);
    let text = build.slot("t", KindSet::STRING);
    let other = build.slot("m", KindSet::FLOAT);
    let [n, m] = [slot, other].map(|slot| build.expr(NormalExpr::Slot(slot)));
    let two = build.constant(json!(2));
    let half = build.constant(json!(0.5));
    let mut value = build.expr(NormalExpr::Op(Op::Neg, n, None));
    for op in [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem] {
        value = binary_expr(&mut build, op, value, two);
        value = binary_expr(&mut build, op, value, half);
    }
    let mut conds = vec![
        build.compare(slot, Op::Gt, json!(3)),
        build.compare(slot, Op::Le, json!(2.5)),
        build.compare(other, Op::Lt, json!(3)),
        build.compare_expr(value, Op::Ge, json!(1)),
        build.test(text, Op::Eq, json!("abc"), TestMode::default()),
        build.test(text, Op::Contains, json!("abc"), TestMode::default()),
        build.test(text, Op::In, json!(["abc", "de"]), TestMode::default()),
    ];
    for (left, right) in [(n, m), (n, two), (value, n), (half, value)] {
        let pred = build.pred(TestKind::Op(Op::Lt), TestMode::default(), left, Some(right));
        conds.push(build.cond(NormalCond::Predicate { pred, want: true }));
    }
    for ask in [TestKind::Truth, TestKind::Op(Op::IsMissing)] {
        let pred = build.pred(ask, TestMode::default(), n, None);
        conds.push(build.cond(NormalCond::Predicate { pred, want: true }));
    }
    for cond in conds {
        add_both_routes(&mut build, cond);
    }
    let (bytecode, code) = compile(&build);
    let record = [Value::Int(7), Value::Str("a text of some length with abc in it"), Value::Float(2.5)];
    let mut scratch = Scratch::new();
    let mut machine = code.machine_over_slots(&[], record[..].into(), &mut scratch);
    assert!(machine.matching_rules(TableId(0)).len() > 10);
    assert!(machine.vm_if_created().is_none(), "{}", disassemble(bytecode.chunk(), None));
}

/// A keyword is searched by inline code, which is larger than a call of a helper, but takes less
/// time.
#[test]
fn a_keyword_is_searched_inline() {
    let size = |mode: TestMode| {
        let mut build = Build::default();
        let slot = build.slot("t", KindSet::STRING);
        let cond = build.test(slot, Op::Contains, json!("abc"), mode);
        build.route(0, cond, None);
        compile(&build).1.code_bytes()
    };
    let word = TestMode { whole_word: true, ..TestMode::default() };
    assert!(size(TestMode::default()) > size(word) + 100, "{}", size(word));
}

/// A value that is used in many places does not make the code or the time grow exponentially.
#[test]
fn values_within_values() {
    let mut build = Build::default();
    let slot = build.slot("x", KindSet::NUMBER);
    let mut value = build.expr(NormalExpr::Slot(slot));
    for _ in 0..60 {
        value = binary_expr(&mut build, Op::Add, value, value);
    }
    for bound in [1_i64 << 60, 0] {
        let cond = build.compare_expr(value, Op::Ge, json!(bound));
        add_both_routes(&mut build, cond);
    }
    let list = build.expr(NormalExpr::Slot(slot));
    let length = build.expr(NormalExpr::Call(Function::Max, Box::new([list, value])));
    let more = binary_expr(&mut build, Op::Mul, length, value);
    let cond = build.compare_expr(more, Op::Gt, json!(0));
    add_both_routes(&mut build, cond);
    assert!(check(&build, wrap_in_messages(&sample_values())) > 30);
    let (_, code) = compile(&build);
    assert!(code.code_bytes() < 20_000, "{} bytes", code.code_bytes());
}

/// Texts of all lengths around the limit for inline code, and the same texts with one byte changed.
fn sample_texts() -> Vec<String> {
    let long = "abcdefghijklmnopqrstuvwxyz0123456789-文件".repeat(2);
    let mut texts: Vec<String> = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    for length in (0..36).chain([40, 60]) {
        let text = &long[..length];
        texts.push(text.to_owned());
        texts.push(format!("{text}!"));
        texts.push(format!("!{text}"));
        for at in (0..length).step_by(if length > 17 { 5 } else { 1 }) {
            // The last characters take three bytes.
            if text.as_bytes()[at].is_ascii() {
                let mut changed = text.to_owned();
                changed.replace_range(at..at + 1, "#");
                texts.push(changed);
            }
        }
    }
    texts
}

#[test]
fn texts_compared_inline() {
    let long = "abcdefghijklmnopqrstuvwxyz0123456789-文件".repeat(2);
    for kinds in [KindSet::MESSAGE_KINDS, KindSet::STRING] {
        let mut build = Build::default();
        let slot = build.slot("x", kinds);
        let plain = TestMode::default();
        let any = TestMode { quantity: Some(Quantity::Any), ..plain };
        let all_mode = TestMode { quantity: Some(Quantity::All), ..plain };
        for length in (0..36).chain([40, 60]) {
            for op in [Op::Eq, Op::StartsWith, Op::EndsWith, Op::Contains] {
                let cond = build.test(slot, op, json!(&long[..length]), plain);
                add_both_routes(&mut build, cond);
            }
        }
        for op in [Op::StartsWith, Op::EndsWith, Op::Contains, Op::Like] {
            for mode in [any, all_mode] {
                let cond = build.test(slot, op, json!(["ab", "abcdefghij", "文件"]), mode);
                add_both_routes(&mut build, cond);
                let cond = build.test(slot, op, json!(["a"]), mode);
                add_both_routes(&mut build, cond);
            }
        }
        let word = TestMode { whole_word: true, ..plain };
        let fold = TestMode { text: rulec_base::text::TextMode { folds_case: true, ..plain.text }, ..plain };
        for mode in [word, fold] {
            for op in [Op::StartsWith, Op::EndsWith, Op::Contains] {
                let cond = build.test(slot, op, json!("abc"), mode);
                add_both_routes(&mut build, cond);
            }
        }
        let cond = build.test(slot, Op::Matches, json!("^[a-c]+$"), plain);
        add_both_routes(&mut build, cond);
        let texts: Vec<Json> = sample_texts().into_iter().map(Json::from).chain(sample_values()).collect();
        assert!(check(&build, wrap_in_messages(&texts)) > 10_000);
    }
}

/// Keywords of every length, at every position of texts whose lengths are around sixteen bytes, in
/// upper and lower case.
#[test]
fn keywords_searched_inline() {
    let words = [
        "k",
        "ab",
        "Kiosk",
        "sixteen bytes so",
        "查订单ab",
        "É",
        "q-z0",
        "thirty-two bytes of text, so many",
    ];
    let mut build = Build::default();
    let slot = build.slot("x", KindSet::STRING);
    let plain = TestMode::default();
    let fold = TestMode { text: rulec_base::text::TextMode { folds_case: true, ..plain.text }, ..plain };
    for mode in [plain, fold] {
        for word in words {
            let cond = build.test(slot, Op::Contains, json!(word), mode);
            add_both_routes(&mut build, cond);
        }
        for quantity in [Quantity::Any, Quantity::All] {
            let mode = TestMode { quantity: Some(quantity), ..mode };
            let cond = build.test(slot, Op::Contains, json!(["ab", "zz", "Kiosk"]), mode);
            add_both_routes(&mut build, cond);
        }
    }
    let mut texts = Vec::new();
    let forms = [
        |word: &str| word.to_owned(),
        |word: &str| word.to_uppercase(),
        |word: &str| word.to_lowercase().replace('k', "\u{212a}"),
        |word: &str| word.replace('s', "\u{17f}"),
        // Almost the keyword, with an end or the beginning changed.
        |word: &str| word.chars().rev().skip(1).collect::<String>().chars().rev().collect(),
        |word: &str| word.chars().skip(1).collect(),
        |word: &str| format!("{}{word}", word.chars().next().unwrap_or('x')),
    ];
    for word in words {
        for form in forms {
            let word = form(word);
            for length in [0, 7, 14, 15, 16, 17, 31, 33, 48, 70] {
                for at in
                    [0, 1, 2, 8, 13, 15, 16, 17, length / 2, length].into_iter().filter(|at| *at <= length)
                {
                    texts.push(format!("{}{word}{}", ".".repeat(at), "x".repeat(length - at)));
                }
            }
        }
    }
    let texts: Vec<Json> = texts.into_iter().map(Json::from).collect();
    assert!(check(&build, wrap_in_messages(&texts)) > 50_000);
}

/// Bytes in memory after the end of a text do not count as part of the text.
#[test]
fn keywords_across_the_end_of_a_text() {
    let words = ["ab", "Kiosk", "sixteen bytes so", "thirty-two bytes of text, so many"];
    let mut build = Build::default();
    let slot = build.slot("x", KindSet::STRING);
    for word in words {
        let cond = build.test(slot, Op::Contains, json!(word), TestMode::default());
        build.route(0, cond, None);
    }
    let (_, code) = compile(&build);
    let mut scratch = Scratch::new();
    let mut complete_count = 0;
    for (at, word) in words.iter().enumerate() {
        for before in 0..80 {
            let memory = format!("{}{word}{}", ".".repeat(before), ".".repeat(40));
            for end in 0..=memory.len() {
                let record = [Value::Str(&memory[..end])];
                let expected = end >= before + word.len();
                let matches =
                    code.machine_over_slots(&[], record[..].into(), &mut scratch).matching_rules(TableId(0));
                assert_eq!(matches.contains(&RuleId(at as u32)), expected, "{:?}", &memory[..end]);
                complete_count += usize::from(expected);
            }
        }
    }
    assert!(complete_count > 10_000);
}

#[test]
fn lists_and_lengths() {
    for kinds in
        [KindSet::MESSAGE_KINDS, KindSet::STRING, KindSet::INT, KindSet::single(Kind::Float), KindSet::NUMBER]
    {
        let mut build = Build::default();
        let slot = build.slot("x", kinds);
        let many: Vec<Json> = (0..12).map(|n| json!(format!("w{n}"))).chain([json!("abc")]).collect();
        for list in [
            json!(["abc", "文件", ""]),
            json!([1, 7, -1, i64::MAX]),
            json!([0.5, 7, "abc"]),
            json!(["abc", 7, null, true]),
            json!([]),
            json!((0..20).collect::<Vec<i64>>()),
            json!(many),
            json!(["abcdefghijklmnopqrstuvwxyz0123456789-abc"]),
        ] {
            for fold in [false, true] {
                let mut mode = TestMode::default();
                mode.text.folds_case = fold;
                let cond = build.test(slot, Op::In, list.clone(), mode);
                add_both_routes(&mut build, cond);
            }
        }
        let value = build.expr(NormalExpr::Slot(slot));
        let length = build.expr(NormalExpr::Call(Function::Len, Box::new([value])));
        for op in COMPARISONS {
            for bound in [json!(0), json!(2), json!(-1), json!(5), json!(i64::MAX), json!(i64::MIN)] {
                let cond = build.compare_expr(length, op, bound);
                add_both_routes(&mut build, cond);
            }
        }
        let texts: Vec<Json> = sample_texts().into_iter().map(Json::from).chain(sample_values()).collect();
        assert!(check(&build, wrap_in_messages(&texts)) > 30);
    }
}
