//! Tests of rendered explanations and of their JSON.

use super::{RenderOptions, explain};
use crate::evaluator::Evaluator;
use crate::evaluator::fixture::Fixture;
use crate::host::HostCalls;
use rulec_lang::arena::Arena;
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_lang::ty::KindSet;
use rulec_sema::hir::*;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Builds a shortened version of the language page's help desk example.
fn help_desk() -> Fixture {
    let mut f = Fixture::new();
    let billing = f.add_table("billing");
    let words = |f: &mut Fixture, name: &str, words: Json| {
        let span = f.append_source(name);
        Expr { span, ..f.literal(words) }
    };
    let contains_any = |f: &mut Fixture, list: Expr| {
        let text = f.slot_expr("text", KindSet::STRING);
        f.predicate_with(Op::Contains, Some(Quantity::Any), false, text, Some(list))
    };
    let list = words(&mut f, "file_words", json!(["file", "files", "directory", "文件"]));
    let body = contains_any(&mut f, list);
    let about_files = f.add_let("about_files", body);
    let parts = vec![f.field_predicate("ctx.user.role", Op::Eq, json!("admin")), {
        let (list, word) = (f.slot_expr("ctx.user.permissions", KindSet::LIST), f.literal(json!("execute")));
        f.predicate(Op::Contains, list, word)
    }];
    let body = f.or(parts);
    let trusted = f.add_let("trusted", body);
    let asks_to = |f: &mut Fixture, verbs: Json| {
        let call = format!("asks_to({verbs})");
        let span = f.append_source("[verbs]");
        let list = Expr { span, ..f.literal(verbs) };
        let text = f.slot_expr("text", KindSet::STRING);
        let mode = TestMode { whole_word: true, quantity: Some(Quantity::Any), ..TestMode::default() };
        let right = Operand::Value(list);
        let test = Predicate { op: Some(Op::Contains), is_negated: false, mode, left: text, right };
        let body = f.cond("text contains word any verbs ignoring case", CondKind::Predicate(Box::new(test)));
        let bound = vec![BoundArgument { parameter: "verbs".into(), span }];
        f.cond(&call, CondKind::Call("asks_to".into(), bound, Box::new(body)))
    };

    let (asks, about) = (asks_to(&mut f, json!(["show", "list"])), f.use_let(about_files));
    let cond = f.and(vec![asks, about]);
    let handler = f.handler_outcome("file_handler");
    let show_files = f.add_route(TableId(0), "show_files", cond, handler);
    f.program.rules[show_files.index()].docs = "Lists files for the user.".into();
    f.program.rules[show_files.index()].priority = 100;

    let (asks, trusted) = (asks_to(&mut f, json!(["run", "execute"])), f.use_let(trusted));
    let cond = f.and(vec![asks, trusted]);
    let handler = f.handler_outcome("code_handler");
    let run_code = f.add_route(TableId(0), "run_code", cond, handler);
    f.program.rules[run_code.index()].priority = 90;

    let (text, pattern) =
        (f.slot_expr("text", KindSet::STRING), f.literal(json!("(?i)\\b(invoice|refund)s?\\b")));
    let cond = f.predicate(Op::Matches, text, pattern);
    let to_billing = f.add_route(TableId(0), "to_billing", cond, Outcome::Goto(billing));
    f.program.rules[to_billing.index()].priority = 40;
    let cond = f.field_predicate("text", Op::Eq, json!("x"));
    let handler = f.handler_outcome("default_handler");
    let old_path = f.add_route(TableId(0), "old_path", cond, handler);
    f.program.rules[old_path.index()].is_disabled = true;
    let handler = f.handler_outcome("default_handler");
    f.set_default(TableId(0), handler);

    let items = f.slot_expr("ctx.items", KindSet::LIST);
    let (var, x) = f.new_variable("x", KindSet::NUMBER);
    let hundred = f.literal(json!(100));
    let body = f.predicate(Op::Gt, x, hundred);
    let cond = f.quantifier(false, items, var, body);
    let value = f.slot_expr("text", KindSet::STRING);
    let args = vec![f.arg("reason", value, false)];
    let metadata = Arc::new(json!({ "team": "money" }).as_object().cloned().unwrap());
    let refund = Outcome::Handler { name: "refund_handler".into(), args, metadata };
    f.add_route(billing, "refund", cond, refund);
    f
}

fn explain_message(f: &Fixture, message: &Json) -> super::Explanation {
    let source = |span| f.quote(span);
    let arena = Arena::default();
    let evaluator = Evaluator::new(&f.program, message, &arena, HostCalls::new(&[]));
    explain(evaluator, TableId(0), &source, false)
}

#[test]
fn a_default_is_explained_by_the_routes_that_did_not_match() {
    let f = help_desk();
    insta::assert_snapshot!(explain_message(&f, &json!({ "text": "hello there", "ctx": { "user": null } })), @r##"
    why: default → default_handler
      message   text = "hello there"

    ✗ show_files  (priority 100)                           ## Lists files for the user.
    │  ✗ asks_to(["show","list"])
    │  │  ✗ text contains word any [verbs] ignoring case   text = "hello there"
    │  – about_files                                       skipped: an earlier operand decided
    ✗ run_code  (priority 90)
    │  ✗ asks_to(["run","execute"])
    │  │  ✗ text contains word any [verbs] ignoring case   text = "hello there"
    │  – trusted                                           skipped: an earlier operand decided
    ✗ to_billing  (priority 40)
    │  ✗ text matches "(?i)\\b(invoice|refund)s?\\b"       text = "hello there"
    ✓ default  → default_handler
    – disabled: old_path
    "##);
}

#[test]
fn a_missing_value_is_named_at_the_test_and_at_the_route() {
    let f = help_desk();
    insta::assert_snapshot!(explain_message(&f, &json!({ "text": "please run it", "ctx": { "user": { "role": 7 } } })), @r##"
    why: default → default_handler
      message   text = "please run it"
                ctx.user.role = 7
                ctx.user.permissions is missing

    ✗ show_files  (priority 100)                           ## Lists files for the user.
    │  ✗ asks_to(["show","list"])
    │  │  ✗ text contains word any [verbs] ignoring case   text = "please run it"
    │  – about_files                                       skipped: an earlier operand decided
    ? run_code  (priority 90)                              unknown: ctx.user.role is 7, an int, but a string is needed
    │  ✓ asks_to(["run","execute"])
    │  │  ✓ text contains word any [verbs] ignoring case   text = "please run it", found "run"
    │  ? trusted
    │  │  ? any of
    │  │  │  ? ctx.user.role == "admin"                    ctx.user.role is 7, an int, but a string is needed
    │  │  │  ? ctx.user.permissions contains "execute"     ctx.user.permissions is missing
    ✗ to_billing  (priority 40)
    │  ✗ text matches "(?i)\\b(invoice|refund)s?\\b"       text = "please run it"
    ✓ default  → default_handler
    – disabled: old_path
    "##);
}

#[test]
fn a_jump_shows_the_table_it_leads_to() {
    let f = help_desk();
    let message = json!({ "text": "two Refunds for me", "ctx": { "items": [5, "x", 120, 3, 4] } });
    insta::assert_snapshot!(explain_message(&f, &message), @r##"
    why: table billing → refund → refund_handler(reason: "two Refunds for me")
      metadata  { team: "money" }
      message   text = "two Refunds for me"
                ctx.items = [5, "x", 120, 3, 4]

    ✗ show_files  (priority 100)                           ## Lists files for the user.
    │  ✗ asks_to(["show","list"])
    │  │  ✗ text contains word any [verbs] ignoring case   text = "two Refunds for me"
    │  – about_files                                       skipped: an earlier operand decided
    ✗ run_code  (priority 90)
    │  ✗ asks_to(["run","execute"])
    │  │  ✗ text contains word any [verbs] ignoring case   text = "two Refunds for me"
    │  – trusted                                           skipped: an earlier operand decided
    ✓ to_billing  (priority 40) → goto billing
    │  ✓ text matches "(?i)\\b(invoice|refund)s?\\b"       text = "two Refunds for me", found "Refunds"
    │  table billing
    │  ✓ refund  → refund_handler
    │  │  ✓ any x in ctx.items: x > 100                    ctx.items = [5, "x", 120, 3, 4]
    │  │  │  ✗ x = 5
    │  │  │  ? x = "x"                                     x is "x", a string, not a number
    │  │  │  ✓ x = 120
    │  │  │  – … 2 more elements skipped: an earlier one decided
    – disabled: old_path
    "##);
}

#[test]
fn json_is_as_documented() {
    let mut f = Fixture::new();
    let (a, b) =
        (f.field_predicate("ctx.n", Op::Gt, json!(3)), f.field_predicate("text", Op::Eq, json!("x")));
    let cond = f.and(vec![a, b]);
    let handler = f.handler_outcome("h");
    f.add_route(TableId(0), "first", cond, handler);
    insta::assert_json_snapshot!(explain_message(&f, &json!({ "text": "y", "ctx": { "n": "7" } })), @r##"
    {
      "entry": "routes",
      "chosen": null,
      "target": null,
      "args": {},
      "metadata": {},
      "tables": [
        "routes"
      ],
      "path": [],
      "message": [
        {
          "text": "ctx.n",
          "value": "7"
        },
        {
          "text": "text",
          "value": "y"
        }
      ],
      "trace": {
        "table": "routes",
        "chose": false,
        "routes": [
          {
            "route": "first",
            "result": "false",
            "chosen": false,
            "priority": 0,
            "to": "h",
            "when": {
              "kind": "and",
              "text": "ctx.n > 3 and text == \"x\"",
              "result": "false",
              "children": [
                {
                  "kind": "test",
                  "text": "ctx.n > 3",
                  "result": "unknown",
                  "operands": [
                    {
                      "text": "ctx.n",
                      "missing": true
                    }
                  ],
                  "because": [
                    "ctx.n is \"7\", a string, but a number is needed"
                  ]
                },
                {
                  "kind": "test",
                  "text": "text == \"x\"",
                  "result": "false",
                  "operands": [
                    {
                      "text": "text",
                      "value": "y"
                    }
                  ]
                }
              ]
            }
          }
        ],
        "not_tried": 0
      }
    }
    "##);
}

#[test]
fn hostile_values_cannot_steer_the_terminal() {
    let f = help_desk();
    let text = format!("\x1b[2J\u{202e}\u{9b}{}", "long ".repeat(1000));
    let explanation = explain_message(&f, &json!({ "text": text }));
    let rendered = explanation.to_string();
    assert!(!rendered.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{rendered}");
    assert!(rendered.contains("(5,006 characters)"), "{rendered}");
    assert!(rendered.lines().all(|line| line.chars().count() <= 121), "{rendered}");
    let coloured = explanation.render(&RenderOptions { color: true, ..RenderOptions::default() });
    assert!(coloured.contains("\x1b[31m✗"));
}

#[test]
fn many_routes_are_counted() {
    let mut f = Fixture::new();
    for number in 0..200 {
        let (cond, handler) =
            (f.field_predicate("text", Op::Eq, json!(number.to_string())), f.handler_outcome("h"));
        f.add_route(TableId(0), &format!("r{number}"), cond, handler);
    }
    let rendered = explain_message(&f, &json!({ "text": "150" })).to_string();
    assert!(rendered.contains("… and 100 routes more that did not lead to the choice"), "{rendered}");
    assert!(rendered.contains("✓ r150  → h") && rendered.contains("not tried: 49 routes"), "{rendered}");
}
