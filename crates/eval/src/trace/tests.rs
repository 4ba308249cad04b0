//! Tests of traces: they agree with the evaluator, show the evaluated steps, and mask private
//! values.

use super::{Mark, Note, TableTrace, Tracer};
use crate::decision::Choice;
use crate::evaluator::Evaluator;
use crate::evaluator::fixture::Fixture;
use crate::host::{HostCalls, RegisteredFunction};
use rulec_lang::arena::Arena;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, Quantity};
use rulec_lang::ty::{Field, KindSet, RecordType, Ty};
use rulec_sema::hir::*;
use serde_json::{Value as Json, json};
use std::sync::Arc;

pub(crate) fn trace(
    f: &Fixture,
    message: &Json,
    host_functions: &[RegisteredFunction],
    show_private: bool,
) -> (Choice, TableTrace) {
    let arena = Arena::default();
    let source = |span| f.quote(span);
    Tracer::new(
        Evaluator::new(&f.program, message, &arena, HostCalls::new(host_functions)),
        &source,
        show_private,
    )
    .decide(TableId(0))
}

/// Returns the trace of a route with this condition, after a check that the recorded decision
/// equals the decision without a trace.
fn trace_one_condition(build: impl Fn(&mut Fixture) -> Cond, message: Json) -> super::TraceNode {
    let mut f = Fixture::new();
    let cond = build(&mut f);
    let handler = f.handler_outcome("h");
    f.add_route(TableId(0), "r", cond, handler);
    let (choice, table) = trace(&f, &message, &[], false);
    assert_eq!(choice, f.decide(&message));
    table.routes[0].when.clone()
}

#[test]
fn an_operand_that_decides_skips_the_later_ones_and_unknown_does_not_decide() {
    let build = |f: &mut Fixture| {
        let parts = vec![f.bool_field("a"), f.bool_field("b"), f.bool_field("c")];
        f.and(parts)
    };
    let results = |node: super::TraceNode| node.children.iter().map(|child| child.result).collect::<Vec<_>>();
    let node = trace_one_condition(build, json!({ "a": true, "b": false, "c": true }));
    assert_eq!(node.children[2].note, Some(Note::Decided));
    assert_eq!(results(node), [Mark::True, Mark::False, Mark::Skipped]);
    let node = trace_one_condition(build, json!({ "b": true, "c": false }));
    assert_eq!(node.result, Mark::False);
    assert_eq!(results(node), [Mark::Unknown, Mark::True, Mark::False]);
}

#[test]
fn a_sentence_explains_a_missing_value() {
    let check = |message: Json, expected: &str| {
        let node = trace_one_condition(|f| f.field_predicate("ctx.user.n", Op::Gt, json!(3)), message);
        assert_eq!(node.because, [expected]);
    };
    check(json!({}), "ctx.user.n is missing: ctx is missing");
    check(json!({ "ctx": { "user": null } }), "ctx.user.n is missing: ctx.user is null");
    check(json!({ "ctx": { "user": [1] } }), "ctx.user.n is missing: ctx.user is a list");
    check(json!({ "ctx": { "user": { "n": null } } }), "ctx.user.n is null");
    check(
        json!({ "ctx": { "user": { "n": "7" } } }),
        "ctx.user.n is \"7\", a string, but a number is needed",
    );
}

#[test]
fn a_text_that_differs_only_in_white_space_is_explained() {
    let check = |(op, constant): (Op, &str), text: &str, expected: bool| {
        let node = trace_one_condition(
            |f| f.field_predicate("ctx.note", op, json!(constant)),
            json!({ "ctx": { "note": text } }),
        );
        let hint: &[&str] = if expected { &["it holds if white space is ignored"] } else { &[] };
        assert_eq!(node.because, hint, "{text}");
    };
    check((Op::Contains, "显示文件"), "请显示 文件", true);
    check((Op::Contains, "show my files"), "please show  my\tfiles", true);
    check((Op::Eq, "admin"), " admin ", true);
    check((Op::StartsWith, "show"), "\u{3000}show my files", true);
    check((Op::Contains, "显示文件"), "请显示表格", false);
    check((Op::Contains, "heart"), "the art", false);
    check((Op::Contains, "显示文件"), "请显示文件", false);
}

#[test]
fn a_missing_function_result_or_network_is_explained() {
    let check = |build: fn(&mut Fixture) -> Cond, message: Json, expected: &str| {
        assert_eq!(trace_one_condition(build, message).because, [expected]);
    };
    check(
        |f| {
            let (text, one) = (f.slot_expr("text", KindSet::STRING), f.literal(json!("1")));
            let version = f.function_call(Function::Version, vec![text]);
            let other = f.function_call(Function::Version, vec![one]);
            f.predicate(Op::Ge, version, other)
        },
        json!({ "text": "newest" }),
        "version(text) is missing: the text is not a version",
    );
    check(
        |f| {
            let (at, zone) = (f.slot_expr("at", KindSet::DATETIME), f.slot_expr("zone", KindSet::STRING));
            let (hour, three) = (f.function_call(Function::Hour, vec![at, zone]), f.literal(json!(3)));
            f.predicate(Op::Eq, hour, three)
        },
        json!({ "at": "2026-01-05T02:00:00Z", "zone": "Mars" }),
        "zone is \"Mars\", a string, but a time zone is needed",
    );
    // Regression test: a valid network was once reported as "no text".
    let network = |ip: &str, network: Json, quantity, expected: &str| {
        let because = trace_one_condition(
            |f| {
                let (ip, networks) =
                    (f.slot_expr("ip", KindSet::STRING), f.slot_expr("n", KindSet::MESSAGE_KINDS));
                f.predicate_with(Op::InNetwork, quantity, false, ip, Some(networks))
            },
            json!({ "ip": ip, "n": network }),
        );
        assert_eq!(because.because, [expected]);
    };
    let any = Some(Quantity::Any);
    network("x", json!("10.0.0.0/8"), None, "ip is \"x\", a string, but an address is needed");
    network("x", json!(["10.0.0.0/8"]), any, "ip is \"x\", a string, but an address is needed");
    network("::1", json!("10/8"), None, "n is \"10/8\", a string, but a network is needed");
    network("10.0.0.1", json!(["::/8", "10/8"]), any, "element 1 of n is not a network");
}

#[test]
fn values_that_cannot_be_compared_are_described() {
    let check = |build: fn(&mut Fixture) -> Cond, message: Json, expected: &str| {
        assert_eq!(trace_one_condition(build, message).because, [expected]);
    };
    check(
        |f| {
            let (a, b) = (f.slot_expr("a", KindSet::MESSAGE_KINDS), f.slot_expr("b", KindSet::MESSAGE_KINDS));
            f.predicate(Op::Eq, a, b)
        },
        json!({ "a": 1, "b": "x" }),
        "a is 1, an int, and b is \"x\", a string",
    );
    check(
        |f| {
            let (a, zero) = (f.slot_expr("a", KindSet::NUMBER), f.literal(json!(0)));
            let quotient = f.operation(Op::Div, a, zero);
            let int_one = f.literal(json!(1));
            f.predicate(Op::Gt, quotient, int_one)
        },
        json!({ "a": 1 }),
        "a / 0 has no result for these values",
    );
    check(
        |f| {
            let (text, list) = (f.slot_expr("text", KindSet::STRING), f.slot_expr("words", KindSet::LIST));
            f.predicate_with(Op::Contains, Some(Quantity::Any), false, text, Some(list))
        },
        json!({ "text": "a", "words": ["b", 7] }),
        "element 1 of words is not a text",
    );
    check(
        |f| {
            let x = f.slot_expr("x", KindSet::MESSAGE_KINDS);
            let len = f.function_call(Function::Len, vec![x]);
            let int_one = f.literal(json!(1));
            f.predicate(Op::Gt, len, int_one)
        },
        json!({ "x": 3 }),
        "x is 3, an int, but a string, list or dict is needed",
    );
    check(
        |f| {
            let list = f.slot_expr("l", KindSet::LIST);
            let (var, x) = f.new_variable("x", KindSet::NUMBER);
            let three = f.literal(json!(3));
            let body = f.predicate(Op::Gt, x, three);
            f.quantifier(false, list, var, body)
        },
        json!({ "l": "no list" }),
        "l is \"no list\", a string, but a list is needed",
    );
}

#[test]
fn text_operators_show_what_they_found() {
    let any = |f: &mut Fixture| {
        let text = f.slot_expr("text", KindSet::STRING);
        let span = f.append_source("file_words");
        let words = Expr { span, ..f.literal(json!(["dir", "file"])) };
        f.predicate_with(Op::Contains, Some(Quantity::Any), false, text, Some(words))
    };
    let node = trace_one_condition(any, json!({ "text": "a file" }));
    assert_eq!(node.found.as_deref(), Some("file"));
    assert_eq!(node.operands[1].text, "file_words");
    let regex = |f: &mut Fixture| {
        let (text, pattern) = (f.slot_expr("text", KindSet::STRING), f.literal(json!("refunds?")));
        f.predicate(Op::Matches, text, pattern)
    };
    assert_eq!(
        trace_one_condition(regex, json!({ "text": "two refunds, please" })).found.as_deref(),
        Some("refunds")
    );
}

#[test]
fn a_long_list_is_capped_but_the_deciding_element_is_shown() {
    let build = |f: &mut Fixture| {
        let list = f.slot_expr("l", KindSet::LIST);
        let (var, x) = f.new_variable("x", KindSet::NUMBER);
        let limit = f.literal(json!(49));
        let body = f.predicate(Op::Gt, x, limit);
        f.quantifier(false, list, var, body)
    };
    let node = trace_one_condition(build, json!({ "l": (0..60).collect::<Vec<i32>>() }));
    let elements = node.elements.unwrap();
    assert_eq!((elements.shown.len(), elements.more, elements.skipped), (21, 30, 9));
    assert_eq!(elements.shown[20].index, 50);
    assert_eq!(node.operands[0].length, Some(60));
}

#[test]
fn the_parts_of_a_let_are_shown_once_per_route() {
    let build = |f: &mut Fixture| {
        let body = f.bool_field("a");
        let id = f.add_let("is_a", body);
        let (first, second) = (f.use_let(id), f.use_let(id));
        f.and(vec![first, second])
    };
    let node = trace_one_condition(build, json!({ "a": true }));
    assert_eq!(node.children[0].children.len(), 1);
    assert_eq!(node.children[1].note, Some(Note::ShownAbove));
    assert_eq!(node.children[1].result, Mark::True);
}

#[test]
fn the_parts_of_a_cached_let_are_shown_under_each_route() {
    let mut f = Fixture::new();
    let body = f.bool_field("a");
    let inner = f.add_let("inner", body);
    let body = f.use_let(inner);
    let outer = f.add_let("outer", body);
    for name in ["first", "second"] {
        let (cond, handler) = (f.use_let(outer), f.handler_outcome("h"));
        f.add_route(TableId(0), name, cond, handler);
    }
    let (_, table) = trace(&f, &json!({ "a": false }), &[], false);
    let [first, second] = table.routes.as_slice() else { panic!("two routes are tried") };
    assert_eq!(first.when, second.when);
    let inner = &second.when.children[0];
    assert_eq!((inner.name.as_deref(), inner.children[0].kind), (Some("inner"), super::NodeKind::Test));
}

#[test]
fn a_count_inside_the_list_of_a_count_shows_no_elements_of_its_own() {
    let count = |f: &mut Fixture, list: Expr| {
        let (var, x) = f.new_variable("x", KindSet::NUMBER);
        let int_one = f.literal(json!(1));
        let body = f.predicate(Op::Gt, x, int_one);
        f.count_fold(list, var, body)
    };
    let build = |f: &mut Fixture| {
        let list = f.slot_expr("l", KindSet::LIST);
        let inner = count(f, list);
        let list = f.expr("[inner]", ExprKind::List(vec![inner]), Ty::ANY);
        let (outer, zero) = (count(f, list), f.literal(json!(0)));
        f.predicate(Op::Gt, outer, zero)
    };
    let node = trace_one_condition(build, json!({ "l": [1, 2, 3] }));
    let elements = node.operands[0].elements.as_ref().expect("a count has elements");
    assert_eq!((elements.shown.len(), elements.shown[0].element.value.clone()), (1, Some(json!(2))));
    assert_eq!(node.result, Mark::True);
}

#[test]
fn private_values_are_never_shown() {
    let secret = "555-0199";
    let mut f = Fixture::new();
    let field =
        |name: &str, ty, private| Field { name: name.into(), ty, is_optional: true, is_private: private };
    let user = Ty::record(RecordType::from_iter([
        field("phone", Ty::STRING, true),
        field("role", Ty::STRING, false),
    ]));
    f.declare_input(vec![("user", user.clone(), false), ("friends", Ty::list(user.clone()), false)]);
    let span = f.append_source("check");
    f.program.externs.push(Extern {
        name: "check".into(),
        params: vec![],
        result: Ty::BOOL,
        feature: None,
        span,
    });
    let mut routes = vec![
        f.field_predicate("user.phone", Op::Gt, json!(1)),
        f.field_predicate("user.phone", Op::Eq, json!("1")),
    ];
    // A route that reads a value computed from a private value.
    let phone = f.slot_expr("user.phone", KindSet::STRING);
    let upper = f.function_call(Function::Upper, vec![phone.clone()]);
    let other = f.literal(json!("x"));
    routes.push(f.predicate(Op::Eq, upper, other));
    // A route that matches a regular expression in a private value.
    let pattern = f.literal(json!("5+"));
    let regex_test = f.predicate(Op::Matches, phone.clone(), pattern);
    routes.push(f.not(regex_test));
    // A route with a host function whose error text contains a private value.
    let host_call = f.expr("check(user.phone)", ExprKind::Extern(ExternId(0), vec![phone]), Ty::BOOL);
    let yes = f.literal(json!(true));
    routes.push(f.predicate(Op::Eq, host_call, yes));
    // Routes that read a record with private fields, and a list of such records.
    let record = Expr { ty: user.clone(), ..f.slot_expr("user", KindSet::DICT) };
    let role = f.literal(json!("role_"));
    routes.push(f.predicate(Op::HasKey, record.clone(), role));
    let len = f.function_call(Function::Len, vec![record]);
    let nine = f.literal(json!(9));
    routes.push(f.predicate(Op::Gt, len, nine));
    let friends = Expr { ty: Ty::list(user.clone()), ..f.slot_expr("friends", KindSet::LIST) };
    let (var, friend) = f.new_variable("x", KindSet::DICT);
    let phone = f.expr("x.phone", ExprKind::Field(Box::new(friend), "phone".into()), Ty::STRING);
    let other = f.literal(json!("x"));
    let body = f.predicate(Op::Eq, phone, other);
    routes.push(f.quantifier(false, friends, var, body));
    for (position, cond) in routes.into_iter().enumerate() {
        let handler = f.handler_outcome("h");
        f.add_route(TableId(0), &format!("r{position}"), cond, handler);
    }
    let phone = f.slot_expr("user.phone", KindSet::STRING);
    let args = vec![f.arg("phone", phone, false)];
    f.set_default(TableId(0), Outcome::Handler { name: "d".into(), args, metadata: Arc::default() });
    let function = Arc::new(|args: &[rulec_lang::value::Value<'_>]| Err(format!("no such number: {args:?}")));
    let host_functions = [RegisteredFunction {
        name: "check".into(),
        result_kinds: KindSet::BOOL,
        function,
        max_work_per_byte: None,
    }];
    let messages = [
        json!({ "user": { "phone": secret, "role": "x" }, "friends": [{ "phone": secret }] }),
        json!({ "user": [secret], "friends": { "a": secret } }),
        json!({ "user": { "phone": [secret] }, "friends": [secret, [secret]] }),
    ];
    for message in messages {
        let show = |private: bool| {
            let source = |span| f.quote(span);
            let arena = Arena::default();
            let evaluator = Evaluator::new(&f.program, &message, &arena, HostCalls::new(&host_functions));
            let explanation = crate::explain::explain(evaluator, TableId(0), &source, private);
            format!("{}\n{explanation}", serde_json::to_string(&explanation).unwrap())
        };
        assert!(!show(false).contains(secret), "{}", show(false));
        assert!(show(true).contains(secret));
    }
}

/// A small generator of random programs, always the same for a seed. The programs read fields that
/// are often missing or of a wrong type.
struct RandomSource(u64);

impl RandomSource {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn json(&mut self) -> Json {
        match self.roll(9) {
            0 => Json::Null,
            1 => json!("ab"),
            2 => json!([]),
            3 => json!([1, "ab", null, 3]),
            4 => json!({ "k": 1 }),
            5 => json!(self.roll(2) == 0),
            _ => json!(self.roll(5)),
        }
    }

    fn cond(&mut self, f: &mut Fixture, depth: u32) -> Cond {
        let field = ["a", "b", "c.d", "c.e"][self.roll(4) as usize];
        match self.roll(if depth == 0 { 5 } else { 12 }) {
            0 => f.bool_field(field),
            1 => {
                let op = [Op::Gt, Op::Le, Op::Eq, Op::Ne][self.roll(4) as usize];
                f.field_predicate(field, op, json!(2))
            }
            2 => f.field_predicate(field, Op::Contains, json!("a")),
            3 => {
                let left = f.slot_expr(field, KindSet::NUMBER);
                f.predicate_with(
                    [Op::IsMissing, Op::IsPresent][self.roll(2) as usize],
                    None,
                    false,
                    left,
                    None,
                )
            }
            4 => {
                let (left, right) =
                    (f.slot_expr(field, KindSet::MESSAGE_KINDS), f.slot_expr("b", KindSet::MESSAGE_KINDS));
                f.predicate_with(Op::Eq, None, self.roll(2) == 0, left, Some(right))
            }
            5 | 6 => {
                let parts = (0..2 + self.roll(2)).map(|_| self.cond(f, depth - 1)).collect();
                f.and(parts)
            }
            7 | 8 => {
                let parts = (0..2 + self.roll(2)).map(|_| self.cond(f, depth - 1)).collect();
                f.or(parts)
            }
            9 => {
                let inner = self.cond(f, depth - 1);
                f.not(inner)
            }
            10 => {
                let list = f.slot_expr(field, KindSet::LIST);
                let (var, x) = f.new_variable("x", KindSet::NUMBER);
                let int_one = f.literal(json!(1));
                let test = f.predicate(Op::Gt, x, int_one);
                let rest = self.cond(f, depth - 1);
                let body = if self.roll(2) == 0 { f.and(vec![test, rest]) } else { f.or(vec![test, rest]) };
                f.quantifier(self.roll(2) == 0, list, var, body)
            }
            _ => {
                let body = self.cond(f, depth - 1);
                let id = f.add_let("l", body);
                f.use_let(id)
            }
        }
    }
}

#[test]
fn a_trace_always_has_the_choice_of_the_evaluator() {
    let (mut chosen, mut jumped) = (0, 0);
    for seed in 0..1_000 {
        let mut dice = RandomSource(seed);
        let mut f = Fixture::new();
        let tables = [TableId(0), f.add_table("one"), f.add_table("two")];
        for (level, table) in tables.into_iter().enumerate() {
            for name in ["r", "s"] {
                let cond = dice.cond(&mut f, 3);
                let outcome = match tables.get(level + 1 + dice.roll(2) as usize) {
                    Some(&inner) if dice.roll(2) == 0 => Outcome::Goto(inner),
                    _ => f.handler_outcome("h"),
                };
                f.add_route(table, name, cond, outcome);
            }
            let handler = f.handler_outcome("d");
            match dice.roll(4) {
                0 => f.set_default(table, handler),
                1 if level < 2 => f.set_default(table, Outcome::Goto(tables[level + 1])),
                _ => {}
            }
        }
        for _ in 0..10 {
            let message =
                json!({ "a": dice.json(), "b": dice.json(), "c": { "d": dice.json(), "e": dice.json() } });
            let choice = f.decide(&message);
            let (traced_choice, table) = trace(&f, &message, &[], false);
            assert_eq!(traced_choice, choice, "seed {seed} on {message}");
            assert_eq!(table.chose, choice.chosen.is_some());
            chosen += usize::from(choice.chosen.is_some());
            jumped += usize::from(!choice.path.is_empty());
        }
    }
    assert!(chosen > 2_500 && jumped > 250, "{chosen} chosen, {jumped} jumped");
}
