//! Random programs and messages, with fields that are missing, null or of a wrong type. Record
//! batches must give the same answers as the messages in JSON, byte for byte, in every column
//! layout. `RULEC_TIMES=50` compares fifty times as many programs.

mod convert;
#[path = "../../../tests/support/mod.rs"]
mod support;

use arrow_schema::DataType;
use convert::{MixedTypes, limit_ints, remove_conflicts, remove_nulls, to_batch};
use rulec::{Compiler, Rules};
use rulec_arrow::{Decider, Options, write_lines};
use rulec_base::json;
use serde_json::Value as Json;
use support::generate::{Generator, message};
use support::random::Random;
use support::trials::seeds;

/// Number of generated programs.
const PROGRAM_COUNT: u64 = 105;
/// Number of messages that each program decides.
const MESSAGES_PER_PROGRAM: usize = 200;

fn compile(source: &str) -> Rules {
    Compiler::new()
        .function("is_long", |text: String| text.len() > 6)
        .function("score", |text: String, n: i64| (text.len() as f64) / 3.0 + (n % 100) as f64)
        .compile_text(source)
        .unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// Returns the expected lines: the output of `rulec run`.
fn expected_lines(rules: &Rules, entry: &str, messages: &[Json], matched: bool) -> String {
    let entry = rules.entry(entry).expect("the generator names the entries");
    let mut lines = String::new();
    for (at, message) in messages.iter().enumerate() {
        let decision = entry.decide_line(message.to_string().as_bytes()).expect("a message");
        let answer = serde_json::to_string(&decision).expect("JSON");
        lines += &format!("{{\"line\":{},{}", at + 1, &answer[1..answer.len() - 1]);
        if matched {
            lines += &format!(",\"matched\":{}", Json::from(entry.matched(message)));
        }
        lines += "}\n";
    }
    lines
}

fn decide_columns(
    rules: &Rules,
    entry: &str,
    messages: &[Json],
    mixed: MixedTypes,
    options: &Options,
) -> String {
    let batch = to_batch(messages, mixed);
    let mut decider =
        Decider::new(rules, Some(entry), batch.schema(), options).unwrap_or_else(|error| panic!("{error}"));
    let mut lines = Vec::new();
    // Decides slices, so that columns have an offset.
    for start in (0..messages.len()).step_by(64) {
        let part = batch.slice(start, 64.min(messages.len() - start));
        let answers = decider.decide(&part).expect("the same columns");
        assert_eq!(answers.schema(), decider.schema());
        write_lines(&answers, start as u64 + 1, &mut lines).expect("memory");
    }
    String::from_utf8(lines).expect("JSON is UTF-8")
}

#[track_caller]
fn assert_same_lines(expected: &str, found: &str, messages: &[Json], seed: u64, what: &str) {
    for ((expected, found), message) in expected.lines().zip(found.lines()).zip(messages) {
        // A column of arguments is `Int64`, or JSON if arguments of several types have its name.
        let wanted = if found == expected { expected.to_owned() } else { limit_ints(expected) };
        assert_eq!(found, wanted, "seed {seed}, {what}: {message}");
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "seed {seed}, {what}");
}

#[test]
fn columns_are_answered_as_json_is() {
    let (mut chosen, mut broken, mut compared, mut of_one_type) = (0, 0, 0, 0);
    for seed in seeds(PROGRAM_COUNT) {
        let mut random = Random::new(seed);
        let generated = Generator::program(&mut random);
        let rules = compile(&generated.source);
        let mut messages: Vec<Json> =
            (0..MESSAGES_PER_PROGRAM).map(|_| message(&mut random)).filter(Json::is_object).collect();
        remove_nulls(&mut messages);
        let entry = &generated.entries[seed as usize % generated.entries.len()];
        let matched = seed % 3 == 0;
        let options = Options::default().allow_missing();
        let options = if matched { options.matched_column() } else { options };
        let lines = expected_lines(&rules, entry, &messages, matched);
        for mixed in [MixedTypes::Union, MixedTypes::Json, MixedTypes::AllJson] {
            let found = decide_columns(&rules, entry, &messages, mixed, &options);
            assert_same_lines(
                &lines,
                &found,
                &messages,
                seed,
                &format!("{entry} {mixed:?}\n{}", generated.source),
            );
        }
        let mut plain = messages.clone();
        remove_conflicts(&mut plain);
        // Some programs read a field as a type that a single-type column never has. For these,
        // binding the columns is an error.
        let schema = to_batch(&plain, MixedTypes::Union).schema();
        if Decider::new(&rules, Some(entry), schema, &options).is_ok() {
            let found = decide_columns(&rules, entry, &plain, MixedTypes::Union, &options);
            assert_same_lines(
                &expected_lines(&rules, entry, &plain, matched),
                &found,
                &plain,
                seed,
                "columns of one type",
            );
            of_one_type += plain.len();
        }
        chosen += lines.matches("\"target\":\"").count();
        broken += lines.matches("\"breaches\":").count();
        compared += messages.len();
    }
    // Check that the messages are useful: many are routed, and some breach the input contract.
    assert!(of_one_type > compared / 2, "{of_one_type} of columns of one type");
    assert!(chosen > compared / 10 && broken > compared / 20, "{chosen} chosen, {broken} with breaches");
}

#[test]
fn the_reference_evaluator_decides_columns_as_well() {
    let rules = compile("input { n?: int }\nroute few when n < 3 -> few(n: n)\ndefault -> many");
    let reference = rules.with_tier(rulec::Tier::Reference);
    let messages =
        [r#"{"n": 1}"#, r#"{"n": 7}"#, r#"{"n": "1"}"#, "{}"].map(|text| json::parse(text).expect("JSON"));
    for mixed in [MixedTypes::Union, MixedTypes::Json] {
        let found = decide_columns(&reference, "routes", &messages, mixed, &Options::default());
        assert_eq!(found, expected_lines(&rules, "routes", &messages, false));
    }
}

/// A decimal argument is a column of decimals if its number of digits after the point is known.
#[test]
fn decimal_arguments_keep_their_digits() {
    let rules = compile(
        "input { total: decimal }\n\
         route large when total > 100 -> pay(all: total, amount: round(total, 2), long: round(total, 20))\n\
         default -> pay(amount: decimal(\"0.5\") * 3)",
    );
    let messages = [
        r#"{"total": 99.99}"#,
        r#"{"total": 250}"#,
        r#"{"total": 123.455}"#,
        r#"{"total": "12345678901234567890.125"}"#,
        r#"{"total": "36893488147419103232"}"#,
    ];
    let messages = messages.map(|text| json::parse(text).expect("JSON"));
    let expected = expected_lines(&rules, "routes", &messages, false);
    assert!(expected.contains(r#""amount":1.5}"#) && expected.contains(r#""amount":250,"#), "{expected}");
    assert!(expected.contains(r#""amount":"12345678901234567890.13""#), "{expected}");
    for mixed in [MixedTypes::Union, MixedTypes::Json] {
        assert_eq!(decide_columns(&rules, "routes", &messages, mixed, &Options::default()), expected);
        let batch = to_batch(&messages, mixed);
        let decider = Decider::new(&rules, None, batch.schema(), &Options::default()).expect("it binds");
        let schema = decider.schema();
        let DataType::Struct(args) = schema.field_with_name("args").expect("it has arguments").data_type()
        else {
            panic!("{schema}");
        };
        let types = ["all", "amount", "long"].map(|name| args.find(name).expect("an argument").1.data_type());
        assert_eq!(types, [&DataType::Utf8, &DataType::Decimal128(38, 2), &DataType::Utf8]);
    }
}

/// The cases of public bug reports, in columns of every layout.
#[test]
fn reports_are_answered_as_json_is() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/reports");
    let mut count = 0;
    for report in std::fs::read_dir(folder).expect("a folder") {
        let report = report.expect("an entry").path();
        let read = |name: &str| std::fs::read_to_string(report.join(name));
        let rules = compile(&read("rules.rules").expect("it has rules"));
        let entry = read("entry").map_or_else(|_| "routes".to_owned(), |entry| entry.trim().to_owned());
        let lines = read("messages.jsonl").expect("it has messages");
        let mut messages: Vec<Json> = lines.lines().map(|line| json::parse(line).expect("JSON")).collect();
        remove_nulls(&mut messages);
        count += messages.len();
        let options = Options::default().allow_missing();
        let lines = expected_lines(&rules, &entry, &messages, false);
        for mixed in [MixedTypes::Union, MixedTypes::Json, MixedTypes::AllJson] {
            let found = decide_columns(&rules, &entry, &messages, mixed, &options);
            assert_same_lines(&lines, &found, &messages, 0, &format!("{} {mixed:?}", report.display()));
        }
    }
    assert!(count >= 110, "{count} messages");
}
