//! Tests that Python literals are converted to the expected values.

use super::{Literal, parse_literal};
use serde_json::json;

#[test]
fn literals_have_their_value() {
    for (text, value) in [
        ("'hello'", json!("hello")),
        ("\"it's\"", json!("it's")),
        ("  'a' ", json!("a")),
        ("'a' \"b\"", json!("ab")),
        ("'''a\n'b' '''", json!("a\n'b' ")),
        (r"'a\n\x41\u6587\'\q\101\0'", json!("a\nA文'\\qA\0")),
        (r"r'\d\''", json!(r"\d\'")),
        ("u'a'", json!("a")),
        ("''", json!("")),
        ("5", json!(5)),
        (" -5 ", json!(-5)),
        ("+5", json!(5)),
        ("5.", json!(5.0)),
        (".5", json!(0.5)),
        ("5e0", json!(5.0)),
        ("1E-7", json!(1e-7)),
        ("1_000", json!(1000)),
        ("0x1F", json!(31)),
        ("00", json!(0)),
        ("9007199254740993", json!(9007199254740993u64)),
        ("True", json!(true)),
        ("None", json!(null)),
        ("(5)", json!(5)),
        ("[1, 'a', [True, None,],]", json!([1, "a", [true, null]])),
        ("[]", json!([])),
        ("{'a': 1, \"b\": {'c': [-1.5]}}", json!({"a": 1, "b": {"c": [-1.5]}})),
        ("{}", json!({})),
    ] {
        assert_eq!(parse_literal(text), Some(Literal::Json(value)), "{text}");
    }
}

#[test]
fn values_that_json_cannot_represent_are_distinguished() {
    for (text, value) in [
        ("[(1, 2)]", Literal::NonJsonList),
        ("[b'a', {1}]", Literal::NonJsonList),
        ("{1: 2}", Literal::NonJsonDict),
        ("{'a': ()}", Literal::NonJsonDict),
        ("1, 2", Literal::Other),
        ("()", Literal::Other),
        ("(1,)", Literal::Other),
        ("{1, 2}", Literal::Other),
        ("b'a'", Literal::Other),
        ("1e999", Literal::Other),
    ] {
        assert_eq!(parse_literal(text), Some(value), "{text}");
    }
}

#[test]
fn texts_that_are_not_literals_have_no_value() {
    for text in [
        "",
        " ",
        "hello",
        "hello world",
        "'a'+'b'",
        "f'a'",
        "'a",
        "str('a')",
        "a.b",
        "--5",
        "007",
        "5x",
        "2*3",
        "five",
        "inf",
        "nan",
        "５",
        "not True",
        "true",
        "null",
        "[a]",
        "[1",
        "[1 2]",
        "[,]",
        "{**{'a': 1}}",
        "{'a': 1, 2}",
        "{[1]: 2}",
        "{'a'}x",
        "1__0",
        "_1",
        "1_",
        "'a\nb'",
        r"'\x4'",
        "1.2.3",
        "0x",
        "1e",
        "'a' b'b'",
        "2024-01-01",
        "- -5",
    ] {
        assert_eq!(parse_literal(text), None, "{text}");
    }
    assert_eq!(parse_literal(&"[".repeat(100_000)), None);
}
