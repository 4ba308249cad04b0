//! Tests of the JSON reader: accepted texts, rejected texts, and error messages.

use serde_json::json;

use super::JsonErrorKind::{Depth, DuplicateKey, NotAnObject, NumberRange, Syntax, Utf8};
use super::*;

#[test]
fn reads() {
    for (text, expected) in [
        ("null", json!(null)),
        (" true\n", json!(true)),
        ("-0.0", json!(-0.0)),
        ("9007199254740993", json!(9007199254740993_i64)),
        ("9223372036854775808", json!(9223372036854775808_u64)),
        ("18446744073709551616", json!(18446744073709551616.0)),
        ("-9223372036854775809", json!(-9223372036854775809.0)),
        ("1e-400", json!(0.0)),
        ("1.7976931348623157e308", json!(f64::MAX)),
        ("0.1e1", json!(1.0)),
        (r#""a\n\u00e9\ud83d\ude00\/""#, json!("a\né😀/")),
        ("[]", json!([])),
        (
            r#"{"a":{"a":[1,{"a":null}]},"b":{"a":2},"":0}"#,
            json!({"a":{"a":[1,{"a":null}]},"b":{"a":2},"":0}),
        ),
        ("{\"A\":1,\"a\":2,\"é\":3,\"e\u{301}\":4}", json!({"A":1,"a":2,"é":3,"e\u{301}":4})),
    ] {
        let read = parse(text);
        assert_eq!(read.as_ref(), Ok(&expected), "{text}");
        assert_eq!(parse_bytes(text.as_bytes()), read, "{text}");
        // Every text that is accepted here is also accepted by `serde_json`.
        assert_eq!(serde_json::from_str::<Value>(text).ok(), read.ok(), "{text}");
    }
}

/// `-0` is read as an integer and `-0.0` as a float. Zeros inside earlier strings of the text make
/// no difference.
#[test]
fn negative_zeros_keep_their_spelling() {
    for (text, expected) in [
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("-0e0", "-0.0"),
        (
            r#"{"a-0":"\\\"-0","b":-0,"c":[-0.00,-0 ,-7,-0E1,-1e-400,-0,0,0.0]}"#,
            r#"{"a-0":"\\\"-0","b":0,"c":[-0.0,0,-7,-0.0,-0.0,0,0,0.0]}"#,
        ),
        (r#"[{"\"":-0},"é-",-0.0,[-0]]"#, r#"[{"\"":0},"é-",-0.0,[0]]"#),
    ] {
        assert_eq!(parse(text).expect("JSON").to_string(), expected, "{text}");
    }
}

/// The expected error of a text: kind, line, column, byte offset, path, and the complete message.
type ExpectedError = (JsonErrorKind, usize, usize, usize, &'static str, &'static str);

fn check(text: &str, result: Result<Value, JsonError>, expected: ExpectedError) {
    let error = result.expect_err(text);
    let display = error.to_string();
    let actual = (error.kind(), error.line(), error.column(), error.offset(), error.path(), &*display);
    assert_eq!(actual, expected, "{text}");
    assert!(display.starts_with(error.message()) && display.ends_with(error.help().unwrap_or_default()));
}

#[test]
fn refuses_with_a_place_and_a_remedy() {
    #[rustfmt::skip]
    let cases: &[(&str, ExpectedError)] = &[
        ("", (Syntax, 1, 1, 0, "", "the text is empty, expected a JSON value at line 1, column 1")),
        ("{", (Syntax, 1, 2, 1, "", "the text ends inside an object at line 1, column 2; close it with `}`")),
        ("[1,\n[2", (Syntax, 2, 3, 6, "[1][1]", "the text ends inside a list at line 2, column 3; close it with `]`")),
        ("\"文", (Syntax, 1, 3, 4, "", "the text ends inside a string at line 1, column 3; close it with a double quote")),
        ("[1,]", (Syntax, 1, 4, 3, "[1]", "comma after the last element at line 1, column 4; remove the comma")),
        ("{a:1}", (Syntax, 1, 2, 1, "", "key is not a string at line 1, column 2; write keys in double quotes: `\"a\"`")),
        ("{'a':1}", (Syntax, 1, 2, 1, "", "unexpected single quote at line 1, column 2; JSON strings and keys take double quotes")),
        (r#""\'""#, (Syntax, 1, 3, 2, "", r"unknown escape in a string at line 1, column 3; write `\\` for a backslash")),
        (r#"{"ctx":{"items":[1,{"x y":bad}]}}"#, (Syntax, 1, 27, 26, r#"ctx.items[1]["x y"]"#, "expected a JSON value, found `b` at line 1, column 27; write a text in double quotes: `\"bad\"`")),
        ("{\"文\": \"件\", x}", (Syntax, 1, 12, 15, "", "key is not a string at line 1, column 12; write keys in double quotes: `\"x\"`")),
        ("{“a”:1}", (Syntax, 1, 2, 1, "", "`“` is not a quote of JSON at line 1, column 2; write `\"`, the straight quote of the keyboard, on both sides")),
        ("[「a」]", (Syntax, 1, 2, 1, "[0]", "`「` is not a quote of JSON at line 1, column 2; write `\"`, the straight quote of the keyboard, on both sides")),
        ("[1，2]", (Syntax, 1, 3, 2, "[1]", "`，` is not a mark of JSON at line 1, column 3; write the narrow mark: `,`, `:`, `{` or `[`")),
        ("[NaN]", (Syntax, 1, 2, 1, "[0]", "expected a JSON value, found `N` at line 1, column 2; the only words in JSON are `true`, `false` and `null`")),
        ("01", (Syntax, 1, 2, 1, "", "number is not in JSON notation at line 1, column 2; write the number as in `0.5`, `-12` or `1e3`")),
        ("{} {}", (Syntax, 1, 4, 3, "", "more text after the JSON value at line 1, column 4; send one value at a time")),
        ("\u{feff}{}", (Syntax, 1, 1, 0, "", "unexpected byte order mark at line 1, column 1; save or send the text without the byte order mark")),
        ("// c\n{}", (Syntax, 1, 1, 0, "", "expected a JSON value, found `/` at line 1, column 1; remove the comment; JSON has none")),
        ("\"a\nb\"", (Syntax, 1, 3, 2, "", r"raw control character in a string at line 1, column 3; write `\n` for a line break, `\t` for a tab, else `\u00XX`")),
        (r#"["\ud800"]"#, (Syntax, 1, 9, 8, "[0]", r"half of a surrogate pair in a string at line 1, column 9; write both halves, as in `\ud83d\ude00`, or the character")),
        ("1e400", (NumberRange, 1, 1, 0, "", "number is out of range at line 1, column 1; the largest number is about 1.8e308 (64-bit float); send an identifier as a string")),
        ("{\"n\":\n -1e999 }", (NumberRange, 2, 2, 7, "n", "number at `n` is out of range at line 2, column 2; the largest number is about 1.8e308 (64-bit float); send an identifier as a string")),
        (r#"{"k":1,"k":2}"#, (DuplicateKey, 1, 8, 7, "", "key `k` appears twice at line 1, column 8; keep one of the two")),
        ("{\"a\":1,\n \"\\u0061\" 5 \"a\":", (DuplicateKey, 2, 2, 9, "", "key `a` appears twice at line 2, column 2; keep one of the two")),
        (r#"{"x":["k",{"u v":{"k":"k","j\"":"{,","k":{"k":0}}}]}}"#, (DuplicateKey, 1, 38, 37, r#"x[1]["u v"]"#, r#"key `k` appears twice in `x[1]["u v"]` at line 1, column 38; keep one of the two"#)),
        ("{\"\\n\":1,\"\\n\":2}", (DuplicateKey, 1, 9, 8, "", r"key `\n` appears twice at line 1, column 9; keep one of the two")),
    ];
    for &(text, expected) in cases {
        check(text, parse(text), expected);
        check(text, parse_bytes(text.as_bytes()), expected);
    }
}

/// Returns JSON text: `open` repeated `depth` times, the number 1, and `close` repeated `depth`
/// times.
fn nest_json(depth: usize, open: &str, close: &str) -> String {
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn depth() {
    // Each row: the opening and closing text to repeat, the number of levels that one repetition
    // adds, and the offset of its innermost opening bracket.
    for (open, close, levels, innermost) in
        [("[", "]", 1, 0), (r#"{"a":"#, "}", 1, 0), (r#"[ ["[[", {"b": {}, "a":"#, "}]]", 3, 9)]
    {
        let fits = MAX_NESTING_DEPTH / levels;
        assert!(parse(&nest_json(fits, open, close)).is_ok(), "{open}");
        let error = parse(&nest_json(fits + 1, open, close)).expect_err(open);
        assert_eq!((error.kind(), error.offset()), (Depth, fits * open.len() + innermost), "{open}");
        // Lists next to each other do not add their depths.
        assert!(parse(&format!("[{0},{0}]", nest_json(fits - 1, open, close))).is_ok(), "{open}");
    }
    let error = parse(&nest_json(129, "[", "]")).expect_err("too deep");
    assert_eq!((error.line(), error.column(), error.offset()), (1, 129, 128));
    assert_eq!(
        error.to_string(),
        "lists and objects are nested more than 128 deep at line 1, column 129; nest the lists and objects of the message less deeply"
    );
}

#[test]
fn endless_nesting_costs_no_stack() {
    let small = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
        for open in ["[", r#"{"a":"#, "[\n"] {
            assert_eq!(parse(&open.repeat(3_000_000)).map_err(|error| error.kind()), Err(Depth), "{open}");
        }
    });
    small.expect("a thread").join().expect("no overflow");
}

#[test]
fn objects_only() {
    for (text, expected) in [
        ("{}", None),
        (" {\"text\": \"a\"} ", None),
        ("[]", Some("expected an object, found a list at line 1, column 1")),
        ("\n  7", Some("expected an object, found a number at line 2, column 3")),
        ("null", Some("expected an object, found null at line 1, column 1")),
        ("\"{}\"", Some("expected an object, found a string at line 1, column 1")),
        ("false", Some("expected an object, found a boolean at line 1, column 1")),
    ] {
        let found = parse_object(text).err();
        assert_eq!(found, parse_object_bytes(text.as_bytes()).err());
        let display = found.as_ref().map(ToString::to_string);
        let wanted = expected
            .map(|e| format!("{e}; a message is an object, as in `{{ \"text\": \"show my files\" }}`"));
        assert_eq!(display, wanted, "{text}");
        assert!(found.is_none_or(|error| error.kind() == NotAnObject));
    }
    assert_eq!(parse_object("[").map_err(|error| error.kind()), Err(Syntax));
}

#[test]
fn bytes_that_are_not_text() {
    for (bytes, offset, line, column, message) in [
        (&b"{\"a\":\"\xff\"}"[..], 6, 1, 7, "the text is not UTF-8: found byte 0xff"),
        (b"\"\xe6\x96\x87\n\xc3(\"", 5, 2, 1, "the text is not UTF-8: found byte 0xc3"),
        (b"\"\xe6\x96", 1, 1, 2, "the text is not UTF-8: it ends inside a character"),
        (b"\xed\xa0\x80", 0, 1, 1, "the text is not UTF-8: found byte 0xed"),
    ] {
        let error = parse_bytes(bytes).expect_err(message);
        assert_eq!(
            (error.kind(), error.offset(), error.line(), error.column()),
            (Utf8, offset, line, column)
        );
        assert_eq!(
            error.to_string(),
            format!("{message} at line {line}, column {column}; save or send it as UTF-8")
        );
    }
}

/// Truncates a message at every byte and changes every byte. The reader must not panic, must report
/// a position inside the text, and must agree with `serde_json`.
#[test]
fn damage_is_refused_with_a_place() {
    let text = "{\"te xt\": \"a\\u00e9\\n文\", \"n\": [1, -2.5e3, true, null],\n \"ctx\": {\"a\": {}, \"b\": [[], \"\"]}}";
    let mut seen = 0;
    for at in 0..text.len() {
        let cut = text.as_bytes()[..at].to_vec();
        let changed = (0..=255_u8).map(|byte| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = byte;
            bytes
        });
        for bytes in changed.chain([cut]) {
            let plain = serde_json::from_slice::<Value>(&bytes);
            match parse_bytes(&bytes) {
                Ok(value) => assert_eq!(plain.ok(), Some(value)),
                Err(error) => {
                    seen += 1;
                    assert!(error.offset() <= bytes.len() && error.line() <= 3, "{error}");
                    assert!(plain.is_err() || error.kind() == DuplicateKey, "{error}");
                }
            }
        }
    }
    assert!(seen > 10_000, "{seen}");
}

#[test]
fn long_keys_are_cut_in_messages() {
    let key = "k".repeat(100_000);
    let error = parse(&format!("{{\"{key}\":{{\"{key}\":1,\"{key}\":2}}}}")).expect_err("twice");
    assert!(error.to_string().len() < 400, "{error}");
    assert_eq!(error.offset(), 2 * key.len() + 10);
}

/// Regression test: `serde_json` reads 127 levels by default, so a recorded message of 128 levels
/// and a deep explanation could not be read again.
#[test]
fn deep_values_are_read_and_deeper_ones_refused() {
    let read = |depth: usize| parse_deep(&nest_json(depth, "[", "]"), 640).is_ok();
    assert!(read(128) && read(640) && !read(641) && !read(1_000_000));
    assert!(parse_deep(&format!("\"\\\"{}\"", "[".repeat(2_000)), 640).is_ok());
    assert!(parse_deep("[1] 2", 640).is_err() && parse_deep("", 640).is_err());
}
