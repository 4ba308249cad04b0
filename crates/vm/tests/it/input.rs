//! Tests that both readers of messages, into slots and into a tree, give the slots the same values
//! and refuse the same texts.

use rulec::Rules;
use rulec_base::json;
use rulec_lang::value::Value;
use rulec_vm::input::{InputPlan, SlotValues};
use rulec_vm::vm::Scratch;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Rules that read fields of every kind of value. Some fields are inside objects that rules also
/// read as a whole, and some paths are read as several kinds.
const RULES: &str = r#"
route a when text contains "x" and ctx.n > 3 and hour(ctx.at) > 3 -> h(n: ctx.n)
route b when any tag in ctx.tags: tag == "a" -> h(tags: ctx.tags)
route c when ctx.user is present and ctx.user.role == "admin" and ctx.user.deep.x is missing -> h(user: ctx.user)
route d when ctx.f == 0.5 or ctx.flag or some.other.place in ["a", "b"] -> h
default -> h(all: ctx.any ?? "none")
"#;

const DECLARED: &str = r#"
input {
  text: string
  ctx?: { n?: number, at?: datetime, tags?: list<any>, user?: { role: string, deep?: any }, f?: float, flag?: bool, any?: any }
  some?: { other?: { place?: any } }
}
"#;

/// Returns a pseudorandom number below a limit, and advances the state.
fn below(state: &mut u64, limit: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % limit
}

const KEYS: &[&str] = &[
    "text",
    "ctx",
    "n",
    "at",
    "tags",
    "user",
    "role",
    "deep",
    "x",
    "f",
    "flag",
    "any",
    "some",
    "other",
    "place",
    "skipped",
    "",
    "a key",
    "ünï",
    "te\\u0078t",
    "\\\"q\\\"",
    "\\ud83d\\ude00",
];

const SCALARS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-12",
    "3.5",
    "0.5",
    "-0.0",
    "1e3",
    "1E-2",
    "2.5e+3",
    "1e308",
    "1e309",
    "-1e400",
    "1e-400",
    "0e99999999999",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "123456789012345678901234567890",
    "01",
    "1.",
    ".5",
    "-",
    "+1",
    "1e",
    "tru",
    "nul",
    "NaN",
    "\"\"",
    "\"x\"",
    "\"admin\"",
    "\"2026-05-01T10:00:00Z\"",
    "\"a\\nb\"",
    "\"\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\\udc00 x\"",
    "\"\\ud800\\u0041\"",
    "\"\\q\"",
    "\"\\u12g4\"",
    "\"文件 über\"",
    "\"a longer text with x, of more than eight bytes\"",
    "\"a\tb\"",
    "\"unfinished",
];

/// Generates JSON that is mostly valid.
fn text(state: &mut u64, depth: u64, out: &mut String) {
    let space = |state: &mut u64, out: &mut String| {
        out.push_str(["", "", "", " ", "\n\t", "\r "][below(state, 6) as usize])
    };
    space(state, out);
    let object = depth == 0 || (depth < 5 && below(state, 3) == 0);
    if object {
        out.push('{');
        let most = if below(state, 40) == 0 { 40 } else { 7 };
        for at in 0..below(state, most) {
            out.push_str(if at > 0 { "," } else { "" });
            space(state, out);
            let key = if depth < 3 {
                below(state, KEYS.len() as u64) as usize
            } else {
                (below(state, 5) + 8) as usize
            };
            let number = if depth >= 3 || below(state, 3) == 0 { at.to_string() } else { String::new() };
            out.push_str(&format!("\"{}{number}\"", KEYS[key]));
            space(state, out);
            out.push(':');
            text(state, depth + 1, out);
        }
        out.push('}');
    } else if depth < 6 && below(state, 5) == 0 {
        out.push('[');
        for at in 0..below(state, 4) {
            out.push_str(if at > 0 { "," } else { "" });
            text(state, depth + 1, out);
        }
        out.push(']');
    } else {
        // Few invalid scalars, since otherwise hardly any text would be valid.
        let sound = [
            "null",
            "true",
            "7",
            "0.5",
            "-12",
            "\"x\"",
            "\"admin\"",
            "9223372036854775808",
            "-0",
            "\"2026-05-01T10:00:00Z\"",
            "\"a\\nb\\u00e9\"",
        ];
        let scalar = match below(state, 12) {
            0 => SCALARS[below(state, SCALARS.len() as u64) as usize],
            other => sound[other as usize - 1],
        };
        out.push_str(scalar);
    }
    space(state, out);
}

/// Reads the slot values of a text, and whether the contract is satisfied; `None` if the reader
/// gave up.
fn read(rules: &Rules, scratch: &mut Scratch, text: &[u8]) -> Option<(Vec<String>, bool)> {
    let plan = InputPlan::from_program(rules.program()).expect("there are few fields");
    scratch.read_json_text(&plan, text, |slots, fits, _| Some((values(slots), fits)))
}

fn values(slots: SlotValues<'_>) -> Vec<String> {
    slots.values.iter().map(shown).collect()
}

fn shown(value: &Value<'_>) -> String {
    format!("{:?} {}", value.kind(), value.to_json())
}

/// Reads the slot values from a JSON tree, and whether the contract is satisfied.
fn by_tree(rules: &Rules, message: &Json) -> (Vec<String>, bool) {
    let program = rules.program();
    let values = program.slots.iter().map(|slot| shown(&slot.load(message))).collect();
    (values, program.contract_violations(message).is_empty())
}

fn rules() -> [Rules; 2] {
    [RULES.to_owned(), format!("{DECLARED}{RULES}")]
        .map(|source| Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn both_readers_accept_and_refuse_the_same_texts() {
    let (mut state, mut scratch) = (1, Scratch::default());
    let (mut sound, mut by_slots, mut refused) = (0, 0, 0);
    let rules = rules();
    for round in 0..30_000 {
        let mut line = String::new();
        text(&mut state, 0, &mut line);
        let mut line = line.into_bytes();
        if round % 4 == 0 && !line.is_empty() {
            // Changes a byte, removes a byte, or truncates the text.
            let at = below(&mut state, line.len() as u64) as usize;
            match below(&mut state, 3) {
                0 => line[at] = below(&mut state, 256) as u8,
                1 => drop(line.remove(at)),
                _ => line.truncate(at),
            }
        }
        let tree = json::parse_object_bytes(&line).map(Json::Object);
        let context = || String::from_utf8_lossy(&line).into_owned();
        for rules in &rules {
            match (read(rules, &mut scratch, &line), &tree) {
                (Some(read), Ok(message)) => {
                    let expected = by_tree(rules, message);
                    assert_eq!(read, expected, "{}", context());
                    by_slots += 1;
                }
                (Some(_), Err(error)) => panic!("read what is refused: {error}: {}", context()),
                (None, _) => {}
            }
            let entry = rules.main();
            match (entry.decide_line(&line), &tree) {
                (Ok(decided), Ok(message)) => {
                    let told = |decision| serde_json::to_string(&decision).expect("a decision is JSON");
                    assert_eq!(told(decided), told(entry.decide(message)), "{}", context());
                    sound += 1;
                }
                (Err(told), Err(error)) => {
                    assert_eq!(&told, error, "{}", context());
                    refused += 1;
                }
                (one, other) => panic!("{one:?} and {other:?}: {}", context()),
            }
        }
    }
    // Most valid texts are read without a JSON tree.
    assert!(sound > 5_000 && refused > 5_000 && by_slots * 2 > sound, "{sound} {by_slots} {refused}");
}

#[test]
fn depth_and_many_keys_are_checked_where_nothing_is_read_too() {
    let mut scratch = Scratch::default();
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    let keys = |count: usize, more: &str| {
        let keys: Vec<String> = (0..count).map(|key| format!("\"key{key}\":{key}")).collect();
        format!("{{\"in\":{{{}{more}}}}}", keys.join(","))
    };
    for rules in rules() {
        for (text, sound) in [
            (nested(json::MAX_NESTING_DEPTH), true),
            (nested(json::MAX_NESTING_DEPTH + 1), false),
            (keys(1_000, ""), true),
            (keys(1_000, ",\"key0\":1"), false),
            (keys(1_000, ",\"key999\":1"), false),
            (keys(3, ",\"key2\":1"), false),
            (keys(17, ",\"\\u006bey16\":1"), false),
            ("{} {}".to_owned(), false),
            ("[]".to_owned(), false),
        ] {
            assert_eq!(read(&rules, &mut scratch, text.as_bytes()).is_some(), sound, "{text}");
            let tree = json::parse_object_bytes(text.as_bytes()).map(|_| ());
            assert_eq!(rules.main().decide_line(text.as_bytes()).map(|_| ()), tree, "{text}");
        }
    }
}

#[derive(serde::Serialize)]
enum Kind {
    Plain,
    With(i64),
    Pair(i64, bool),
    Named { x: f32 },
}

#[derive(serde::Serialize)]
struct Wrapped(&'static str);

#[derive(serde::Serialize)]
struct User<T> {
    role: Wrapped,
    deep: T,
}

#[derive(serde::Serialize)]
struct Ctx<T> {
    n: T,
    tags: Option<Vec<Option<&'static str>>>,
    user: User<BTreeMap<char, u64>>,
    any: Kind,
    f: f32,
    skipped: (u8, f64, ()),
}

#[derive(serde::Serialize)]
struct Message<T> {
    text: String,
    ctx: Ctx<T>,
    some: BTreeMap<u8, bool>,
}

fn serialized(message: &impl serde::Serialize, by_slots: bool) {
    let mut scratch = Scratch::default();
    let tree = serde_json::to_value(message);
    for rules in rules() {
        let plan = InputPlan::from_program(rules.program()).expect("there are few fields");
        let taken = scratch.read_value(&plan, message, |slots, fits, _| Some((values(slots), fits)));
        assert_eq!(taken.is_some(), by_slots, "{tree:?}");
        match (&tree, rules.decide_value(message)) {
            (Ok(tree), Ok(decided)) => {
                assert!(taken.is_none_or(|taken| taken == by_tree(&rules, tree)), "{tree}");
                let told = |decision| serde_json::to_string(&decision).expect("a decision is JSON");
                assert_eq!(told(decided), told(rules.decide(tree)), "{tree}");
            }
            (Ok(tree), Err(error)) if !tree.is_object() => {
                assert!(error.to_string().starts_with("a message must be an object"), "{error}");
            }
            (Err(error), Err(told)) => assert_eq!(told.to_string(), error.to_string()),
            (tree, told) => panic!("{tree:?} and {told:?}"),
        }
    }
}

#[test]
fn values_are_taken_apart_as_trees_are_read() {
    let of = |any: Kind| Message {
        text: "x marks".to_owned(),
        ctx: Ctx {
            n: 7_u64,
            tags: Some(vec![Some("a"), None]),
            user: User { role: Wrapped("admin"), deep: BTreeMap::from([('y', 1)]) },
            any,
            f: 0.5,
            skipped: (1, f64::NAN, ()),
        },
        some: BTreeMap::new(),
    };
    serialized(&of(Kind::Plain), true);
    serialized(&of(Kind::With(3)), true);
    serialized(&of(Kind::Pair(3, true)), false);
    serialized(&of(Kind::Named { x: 1.5 }), false);
    // Keys that are not texts.
    serialized(&Message { some: BTreeMap::from([(1, true)]), ..of(Kind::Plain) }, false);
    let numbers = |n: &dyn Fn(Message<u64>) -> Message<u64>| serialized(&n(of(Kind::Plain)), true);
    numbers(&|mut message| {
        message.ctx.n = u64::MAX;
        message.ctx.f = 0.1;
        message.ctx.tags = None;
        message
    });
    for f in [f32::NAN, f32::INFINITY, -0.0, f32::MIN_POSITIVE] {
        numbers(&|mut message| {
            message.ctx.f = f;
            message
        });
    }
    // The greatest number of 64 bits, inside a value that is built as a whole.
    let mut message = of(Kind::Plain);
    message.ctx.user.deep.insert('z', u64::MAX);
    serialized(&message, true);
    // Values that are no objects, invalid keys, and a violated contract.
    serialized(&[1, 2], false);
    serialized(&BTreeMap::from([(Some("a"), 1)]), false);
    serialized(&BTreeMap::from([(vec![1], 1)]), false);
    serialized(&json!({"text": 7, "ctx": {"n": "7", "user": {}}}), true);
    serialized(&json!({"text": "x", "ctx": {"at": "2026-05-01T10:00:00Z", "tags": [], "flag": true}}), true);
}

/// Keys of every length, some a prefix of another, some that JSON must escape.
const NAMES: &str = r#"
route a when nam == 1 and name == 2 and names == 3 and `if` == 4 -> h
route b when a_name_of_15_ch == 1 and a_name_of_16_cha == 2 and a_name_of_17_char == 3 -> h
route c when a_name_that_is_longer_than_two_registers == 1 and a_name_that_is_longer_than_one_register == 4 and inner.name == 2 and inner.nam == 3 -> h
default -> h
"#;

/// The reader predicts each key from the previous message. A wrong prediction must not change which
/// field gets the value.
#[test]
fn keys_are_told_apart_in_whatever_order_they_come() {
    let rules = Rules::from_text(NAMES).expect("it compiles");
    let keys: Vec<String> = rules.program().slots.iter().map(|slot| slot.path.join(".")).collect();
    let (mut scratch, mut state) = (Scratch::default(), 7);
    for round in 0..2_000 {
        let mut outer: Vec<String> = Vec::new();
        let mut inner: Vec<String> = Vec::new();
        let mut shuffled: Vec<&String> = keys.iter().collect();
        // Every third message is shuffled; the others keep the order.
        for at in (1..shuffled.len()).filter(|_| round % 3 == 0) {
            shuffled.swap(at, below(&mut state, at as u64 + 1) as usize);
        }
        for key in shuffled {
            let value = below(&mut state, 5);
            let spaces = " ".repeat(below(&mut state, 3) as usize);
            match key.strip_prefix("inner.") {
                Some(key) => inner.push(format!("\"{key}\"{spaces}:{value}")),
                None if below(&mut state, 8) == 0 => {
                    outer.push(format!("\"\\u00{:02x}{}\":{value}", key.as_bytes()[0], &key[1..]));
                }
                None => outer.push(format!("{spaces}\"{key}\":{spaces}{value}")),
            }
            if below(&mut state, 6) == 0 {
                outer.push(format!("\"unknown{}\":{value}", outer.len()));
            }
        }
        outer.push(format!("\"inner\":{{{}}}", inner.join(",")));
        let line = format!("{{{}}}", outer.join(", "));
        let message = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!(read(&rules, &mut scratch, line.as_bytes()), Some(by_tree(&rules, &message)), "{line}");
        // A duplicate key is refused, also where the prediction expects it.
        let again = line.replacen("\"inner\":", "\"name\":1,\"inner\":", 1);
        assert_eq!(read(&rules, &mut scratch, again.as_bytes()), None, "{again}");
    }
}

#[test]
fn strings_end_where_they_end() {
    let [rules, _] = rules();
    let mut scratch = Scratch::default();
    for length in 0..140 {
        for (at, special) in
            (0..=length).flat_map(|at| ["", "\\\"", "\\\\", "é", "订", "\u{7f}"].map(|s| (at, s)))
        {
            let text = format!("{}{special}{}", "a".repeat(at), "b".repeat(length - at));
            let line = format!("{{\"text\":\"{text}\",\"ctx\":{{\"n\":{length}}}}}");
            let message = serde_json::from_str(&line).expect("it is JSON");
            assert_eq!(
                read(&rules, &mut scratch, line.as_bytes()),
                Some(by_tree(&rules, &message)),
                "{line}"
            );
        }
        for at in (0..=length).step_by(3) {
            let text = format!("{}\u{1}{}", "a".repeat(at), "b".repeat(length - at));
            let line = format!("{{\"text\":\"{text}\"}}");
            assert_eq!(read(&rules, &mut scratch, line.as_bytes()), None, "{line:?}");
        }
    }
}

/// Tests both methods of reading decimals: division by a power of ten for few digits, and the
/// standard parser for more.
#[test]
fn decimals_are_the_nearest_floats() {
    let [rules, _] = rules();
    let (mut scratch, mut state) = (Scratch::default(), 3);
    for _ in 0..20_000 {
        let digits = |count: u64, state: &mut u64| -> String {
            (0..count).map(|_| char::from(b'0' + below(state, 10) as u8)).collect()
        };
        let (before, behind) = (below(&mut state, 18), 1 + below(&mut state, 18));
        let whole = digits(before, &mut state);
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let sign = if below(&mut state, 4) == 0 { "-" } else { "" };
        let exponent = if below(&mut state, 8) == 0 { "e-3" } else { "" };
        let line = format!("{{\"ctx\":{{\"f\":{sign}{whole}.{}{exponent}}}}}", digits(behind, &mut state));
        let message = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!(read(&rules, &mut scratch, line.as_bytes()), Some(by_tree(&rules, &message)), "{line}");
    }
    for wrong in ["1.", "1.e3", ".5", "1.5.", "01.5", "-.5", "1.5e", "00.1"] {
        let line = format!("{{\"ctx\":{{\"f\":{wrong}}}}}");
        assert_eq!(read(&rules, &mut scratch, line.as_bytes()), None, "{line}");
    }
}
