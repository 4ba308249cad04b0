//! Tests of the evaluator: each row of the tables on the language page, with its result.

use super::Evaluator;
use super::fixture::Fixture;
use crate::decision::{Choice, Chosen};
use crate::host::{HostCalls, RegisteredFunction};
use rulec_lang::arena::Arena;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_lang::ty::{KindSet, Ty};
use rulec_lang::value::Tri::{self, False, True, Unknown};
use rulec_sema::hir::*;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn eval_truth(fixture: &Fixture, cond: &Cond, message: &Json) -> Tri {
    let arena = Arena::default();
    Evaluator::new(&fixture.program, message, &arena, HostCalls::new(&[])).eval_cond(cond)
}

#[track_caller]
fn check(build: impl Fn(&mut Fixture) -> Cond, cases: &[(Json, Tri)]) {
    let mut fixture = Fixture::new();
    let cond = build(&mut fixture);
    for (message, expected) in cases {
        let text = fixture.quote(cond.span);
        assert_eq!(eval_truth(&fixture, &cond, message), *expected, "{text} on {message}");
    }
}

#[track_caller]
fn check_value(build: impl Fn(&mut Fixture) -> Expr, cases: &[(Json, Json)]) {
    let mut fixture = Fixture::new();
    let expr = build(&mut fixture);
    for (message, expected) in cases {
        let arena = Arena::default();
        let value =
            Evaluator::new(&fixture.program, message, &arena, HostCalls::new(&[])).eval_expr(&expr).to_json();
        assert_eq!(value, *expected, "{} on {message}", fixture.quote(expr.span));
    }
}

/// Builds a message with the fields `a` and `b`, which conditions read as bools. An unknown field
/// contains a text, which is no bool.
fn message_with_two_values(a: Tri, b: Tri) -> Json {
    let field = |tri| match tri {
        True => json!(true),
        False => json!(false),
        Unknown => json!("neither"),
    };
    json!({ "a": field(a), "b": field(b) })
}

#[test]
fn logic_is_kleenes() {
    let table = [
        (True, True, True, True),
        (True, False, False, True),
        (True, Unknown, Unknown, True),
        (False, True, False, True),
        (False, False, False, False),
        (False, Unknown, False, Unknown),
        (Unknown, True, Unknown, True),
        (Unknown, False, False, Unknown),
        (Unknown, Unknown, Unknown, Unknown),
    ];
    for (a, b, and, or) in table {
        let both = |f: &mut Fixture| vec![f.bool_field("a"), f.bool_field("b")];
        check(
            |f| {
                let parts = both(f);
                f.and(parts)
            },
            &[(message_with_two_values(a, b), and)],
        );
        check(
            |f| {
                let parts = both(f);
                f.or(parts)
            },
            &[(message_with_two_values(a, b), or)],
        );
        check(
            |f| {
                let inner = f.bool_field("a");
                f.not(inner)
            },
            &[(message_with_two_values(a, b), a.not())],
        );
    }
    check(|f| f.and(vec![]), &[(json!({}), True)]);
    check(|f| f.or(vec![]), &[(json!({}), False)]);
}

#[test]
fn a_missing_value_makes_a_test_and_its_negation_unknown() {
    let silent = [json!({}), json!({ "x": null }), json!({ "x": "7" })].map(|message| (message, Unknown));
    check(|f| f.field_predicate("x", Op::Gt, json!(3)), &silent);
    check(|f| f.field_predicate("x", Op::Ne, json!(3)), &silent);
    check(
        |f| {
            let inner = f.field_predicate("x", Op::Gt, json!(3));
            f.not(inner)
        },
        &silent,
    );
    check(
        |f| {
            let (left, right) = (f.slot_expr("x", KindSet::STRING), f.literal(json!("a")));
            f.predicate_with(Op::Contains, None, true, left, Some(right))
        },
        &[(json!({ "x": 7 }), Unknown), (json!({ "x": "bc" }), True), (json!({ "x": "abc" }), False)],
    );
    check(
        |f| {
            let left = f.slot_expr("x", KindSet::NUMBER);
            f.predicate_with(Op::IsMissing, None, false, left, None)
        },
        &[(json!({}), True), (json!({ "x": "7" }), True), (json!({ "x": 7 }), False)],
    );
}

#[test]
fn ranges_are_two_comparisons() {
    let range = |negated, inclusive| {
        move |f: &mut Fixture| {
            let left = f.slot_expr("x", KindSet::NUMBER);
            let (start, end) = (f.literal(json!(3)), f.slot_expr("end", KindSet::NUMBER));
            let right = Operand::Range { start, end, includes_end: inclusive, wraps_midnight: false };
            let predicate =
                Predicate { op: Some(Op::In), is_negated: negated, mode: TestMode::default(), left, right };
            f.cond("x in 3..end", CondKind::Predicate(Box::new(predicate)))
        }
    };
    let x = |x: i64| json!({ "x": x, "end": 10 });
    check(range(false, false), &[(x(2), False), (x(3), True), (x(10), False)]);
    check(range(false, true), &[(x(10), True), (x(11), False)]);
    check(range(true, true), &[(x(10), False), (x(11), True)]);
    // A value below the range's start makes the test false, even if the range's end is missing.
    check(
        range(false, true),
        &[(json!({ "x": 2 }), False), (json!({ "x": 4 }), Unknown), (json!({}), Unknown)],
    );
}

#[test]
fn quantifiers_are_kleene_over_the_elements() {
    let quantified = |all| {
        move |f: &mut Fixture| {
            let list = f.slot_expr("l", KindSet::LIST);
            let (var, x) = f.new_variable("x", KindSet::NUMBER);
            let three = f.literal(json!(3));
            let body = f.predicate(Op::Gt, x, three);
            f.quantifier(all, list, var, body)
        }
    };
    let l = |list: Json| json!({ "l": list });
    check(
        quantified(false),
        &[
            (l(json!([1, "7", 4])), True),
            (l(json!([1, "7"])), Unknown),
            (l(json!([1, 2])), False),
            (l(json!([])), False),
            (l(json!("no list")), Unknown),
            (json!({}), Unknown),
        ],
    );
    check(
        quantified(true),
        &[
            (l(json!([4, 5])), True),
            (l(json!([4, null])), Unknown),
            (l(json!([4, null, 1])), False),
            (l(json!([])), True),
            (l(Json::Null), Unknown),
        ],
    );
}

#[test]
fn nested_quantifiers_see_both_elements() {
    check(
        |f| {
            let outer = f.slot_expr("l", KindSet::LIST);
            let (row, row_expr) = f.new_variable("row", KindSet::LIST);
            let (x, x_expr) = f.new_variable("x", KindSet::NUMBER);
            let len = f.function_call(Function::Len, vec![row_expr.clone()]);
            let equal = f.predicate(Op::Eq, x_expr, len);
            let inner = f.quantifier(true, row_expr, x, equal);
            f.quantifier(false, outer, row, inner)
        },
        &[(json!({ "l": [[1, 2], [2, 2]] }), True), (json!({ "l": [[1, 2], [3]] }), False)],
    );
}

#[test]
fn count_counts_elements_with_a_true_condition() {
    let count = |f: &mut Fixture| {
        let list = f.slot_expr("l", KindSet::LIST);
        let (var, x) = f.new_variable("x", KindSet::NUMBER);
        let three = f.literal(json!(3));
        let body = f.predicate(Op::Gt, x, three);
        f.count_fold(list, var, body)
    };
    check_value(
        count,
        &[
            (json!({ "l": [1, 4, "7", 5] }), json!(2)),
            (json!({ "l": [] }), json!(0)),
            (json!({ "l": 3 }), Json::Null),
            (json!({}), Json::Null),
        ],
    );
}

#[test]
fn quantities_of_text_operators() {
    let with = |quantity, negated| {
        move |f: &mut Fixture| {
            let (text, words) = (f.slot_expr("text", KindSet::STRING), f.literal(json!(["a", "b"])));
            f.predicate_with(Op::Contains, Some(quantity), negated, text, Some(words))
        }
    };
    let text = |text: &str| json!({ "text": text });
    check(with(Quantity::Any, false), &[(text("xa"), True), (text("x"), False), (json!({}), Unknown)]);
    check(with(Quantity::All, false), &[(text("xa"), False), (text("ab"), True)]);
    check(with(Quantity::None, false), &[(text("xa"), False), (text("x"), True), (json!({}), Unknown)]);
    // `not contains any L` means `not (contains any L)`.
    check(with(Quantity::Any, true), &[(text("xa"), False), (text("x"), True), (json!({}), Unknown)]);
}

#[test]
fn values_are_computed_or_missing() {
    let slot = |f: &mut Fixture| f.slot_expr("x", KindSet::MESSAGE_KINDS);
    check_value(
        |f| {
            let (x, zero) = (slot(f), f.literal(json!(0)));
            f.operation(Op::Coalesce, x, zero)
        },
        &[(json!({}), json!(0)), (json!({ "x": 5 }), json!(5)), (json!({ "x": null }), json!(0))],
    );
    check_value(
        |f| {
            let (x, two) = (slot(f), f.literal(json!(2)));
            f.operation(Op::Div, x, two)
        },
        &[(json!({ "x": 1 }), json!(0.5)), (json!({ "x": "1" }), Json::Null)],
    );
    check_value(
        |f| {
            let x = slot(f);
            f.expr("x as number", ExprKind::Read(Box::new(x), KindSet::NUMBER), Ty::NUMBER)
        },
        &[(json!({ "x": 1.5 }), json!(1.5)), (json!({ "x": "1" }), Json::Null)],
    );
    check_value(
        |f| {
            let (x, at) = (slot(f), f.slot_expr("at", KindSet::MESSAGE_KINDS));
            f.expr("x[at]", ExprKind::Index(Box::new(x), Box::new(at)), Ty::ANY)
        },
        &[
            (json!({ "x": [1, 2], "at": 1 }), json!(2)),
            (json!({ "x": [1, 2], "at": -1 }), Json::Null),
            (json!({ "x": { "k": 3 }, "at": "k" }), json!(3)),
        ],
    );
    check_value(
        |f| {
            let x = slot(f);
            f.expr("x.y", ExprKind::Field(Box::new(x), "y".into()), Ty::ANY)
        },
        &[(json!({ "x": { "y": 1 } }), json!(1)), (json!({ "x": 3 }), Json::Null)],
    );
    check_value(
        |f| {
            let x = slot(f);
            f.expr("[x]", ExprKind::List(vec![x]), Ty::ANY)
        },
        &[(json!({ "x": 1 }), json!([1])), (json!({}), json!([null]))],
    );
    check_value(
        |f| {
            let c = f.field_predicate("x", Op::Gt, json!(3));
            f.expr("x > 3", ExprKind::Cond(Box::new(c)), Ty::BOOL)
        },
        &[(json!({ "x": 4 }), json!(true)), (json!({ "x": 3 }), json!(false)), (json!({}), Json::Null)],
    );
    check_value(|f| f.expr("p", ExprKind::Param(0), Ty::ANY), &[(json!({}), Json::Null)]);
}

#[test]
fn a_let_may_be_a_condition_or_a_value() {
    let mut f = Fixture::new();
    let body = f.field_predicate("x", Op::Gt, json!(3));
    let id = f.add_let("big", body);
    let used = f.use_let(id);
    assert_eq!(eval_truth(&f, &used, &json!({ "x": 4 })), True);
    assert_eq!(eval_truth(&f, &used, &json!({})), Unknown);
    // Each `let` uses the previous one twice. The evaluation must not take exponential time.
    let mut last = id;
    for step in 0..60 {
        let (a, b) = (f.use_let(last), f.use_let(last));
        let both = f.and(vec![a, b]);
        last = f.add_let(&format!("step{step}"), both);
    }
    let used = f.use_let(last);
    assert_eq!(eval_truth(&f, &used, &json!({ "x": 4 })), True);
}

/// Builds a table `routes` of two rules: a `goto` to the table `inner`, then the rule `late`.
fn with_jump() -> (Fixture, [RuleId; 3], TableId) {
    let mut f = Fixture::new();
    let inner = f.add_table("inner");
    let cond = f.field_predicate("a", Op::Gt, json!(0));
    let jump = f.add_route(TableId(0), "jump", cond, Outcome::Goto(inner));
    let (cond, late) = (f.field_predicate("b", Op::Gt, json!(0)), f.handler_outcome("late_handler"));
    let late = f.add_route(TableId(0), "late", cond, late);
    let (cond, leaf) = (f.field_predicate("c", Op::Gt, json!(0)), f.handler_outcome("leaf_handler"));
    let leaf = f.add_route(inner, "leaf", cond, leaf);
    (f, [jump, late, leaf], inner)
}

fn chosen(chosen: Chosen, path: &[RuleId]) -> Choice {
    Choice { chosen: Some(chosen), path: path.iter().copied().collect() }
}

#[test]
fn the_search_continues_after_a_goto_that_chooses_nothing() {
    let (mut f, [jump, late, leaf], inner) = with_jump();
    let all_fields = json!({ "a": 1, "b": 1, "c": 1 });
    let no_leaf = json!({ "a": 1, "b": 1 });
    assert_eq!(f.decide(&all_fields), chosen(Chosen::Rule(leaf), &[jump]));
    assert_eq!(f.decide(&no_leaf), chosen(Chosen::Rule(late), &[]));
    assert_eq!(f.decide(&json!({ "a": 1 })), Choice::none_chosen());
    // If the inner table has a default, the search ends there.
    let handler = f.handler_outcome("inner_default");
    f.set_default(inner, handler);
    let choice = f.decide(&no_leaf);
    assert_eq!(choice, chosen(Chosen::Default(inner), &[jump]));
    assert_eq!(choice.visited_tables(&f.program, TableId(0))[..], [TableId(0), inner]);
    assert_eq!(f.decide(&json!({ "b": 1 })), chosen(Chosen::Rule(late), &[]));
}

#[test]
fn a_default_may_jump() {
    let (mut f, [_, _, leaf], inner) = with_jump();
    f.set_default(TableId(0), Outcome::Goto(inner));
    let choice = f.decide(&json!({ "c": 1 }));
    assert_eq!(choice, chosen(Chosen::Rule(leaf), &[]));
    assert_eq!(choice.visited_tables(&f.program, TableId(0))[..], [TableId(0), inner]);
    assert_eq!(f.decide(&json!({})), Choice::none_chosen());
}

#[test]
fn matched_lists_every_route_with_a_true_condition() {
    let (mut f, [jump, late, _], _) = with_jump();
    let message = json!({ "a": 1, "b": 1 });
    let matched = |f: &Fixture| {
        let arena = Arena::default();
        Evaluator::new(&f.program, &message, &arena, HostCalls::new(&[])).matching_rules(TableId(0))
    };
    assert_eq!(matched(&f), [jump, late]);
    f.program.rules[jump.index()].is_disabled = true;
    assert_eq!(matched(&f), [late]);
    assert_eq!(f.decide(&message), chosen(Chosen::Rule(late), &[]));
}

#[test]
fn arguments_are_given_left_out_or_reported() {
    let mut f = Fixture::new();
    let mut arg = |name: &str, path: &str, optional| {
        let value = f.slot_expr(path, KindSet::NUMBER);
        f.arg(name, value, optional)
    };
    let args = vec![arg("a", "x", false), arg("b", "y", true), arg("c", "z", false)];
    let outcome = Outcome::Handler { name: "h".into(), args, metadata: Arc::default() };
    let (arena, message) = (Arena::default(), json!({ "x": 1, "z": "no number" }));
    let (args, missing) =
        Evaluator::new(&f.program, &message, &arena, HostCalls::new(&[])).eval_arguments(&outcome);
    assert_eq!(Json::Object(args), json!({ "a": 1, "c": null }));
    assert_eq!(missing, ["c".into()]);
}

#[test]
fn host_functions_are_called_last_and_once() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let mut f = Fixture::new();
    let span = f.append_source("known");
    f.program.externs.push(Extern {
        name: "known".into(),
        params: vec![],
        result: Ty::BOOL,
        feature: None,
        span,
    });
    let mut host_call_cond = || {
        let left = f.expr("known()", ExprKind::Extern(ExternId(0), vec![]), Ty::BOOL);
        let mode = TestMode::default();
        let test = Predicate { op: None, is_negated: false, mode, left, right: Operand::Nothing };
        f.cond("known()", CondKind::Predicate(Box::new(test)))
    };
    let (first, second) = (host_call_cond(), host_call_cond());
    let cheap = f.field_predicate("x", Op::Gt, json!(3));
    let all_conds = f.and(vec![first, second, cheap]);
    let handler = f.handler_outcome("h");
    let route = f.add_route(TableId(0), "r", all_conds, handler);
    let function = Arc::new(|_: &[rulec_lang::value::Value<'_>]| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Ok(json!(true))
    });
    let host_functions = [RegisteredFunction {
        name: "known".into(),
        result_kinds: KindSet::BOOL,
        function,
        max_work_per_byte: None,
    }];
    assert_eq!(f.decide_with(&json!({ "x": 1 }), &host_functions), Choice::none_chosen());
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    assert_eq!(f.decide_with(&json!({ "x": 4 }), &host_functions), chosen(Chosen::Rule(route), &[]));
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
}
