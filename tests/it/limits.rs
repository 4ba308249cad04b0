//! Tests of decision limits: every engine applies each limit at the same amount, and the decision
//! reports it.

use crate::support::engines;
mod once;
use engines::COLUMNS;
use rulec::payload::Outcome;
use rulec::{MemoryLoader, Rules};
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

/// Returns the answer that every engine gives: the chosen route, its arguments, and the exceeded
/// limits.
#[track_caller]
fn decide_message(rules: &str, message: &Json) -> (Option<String>, Json, Vec<&'static str>) {
    let rules = Rules::from_text(rules).unwrap_or_else(|error| panic!("{}", error.render()));
    let mut answers = COLUMNS.iter().map(|column| {
        let decision = column.compile(&rules).decide(message);
        let exceeded = decision.exceeded().iter().map(|exceeded| exceeded.limit()).collect();
        (decision.chosen().map(str::to_owned), Json::Object(decision.args().clone()), exceeded)
    });
    let first = answers.next().expect("there are engines");
    for (answer, column) in answers.zip(&COLUMNS[1..]) {
        assert_eq!(answer, first, "{column:?}: {message:.300}");
    }
    first
}

/// Checks a condition and its negation for a message. `Ok` is the truth value within the limits;
/// `Err` names the limit that is exceeded.
#[track_caller]
fn check(settings: &str, condition: &str, message: &Json, expected: Result<bool, &str>) {
    let head = if settings.is_empty() { String::new() } else { format!("settings {{ {settings} }}\n") };
    for (text, wanted) in [(condition.to_owned(), true), (format!("not ({condition})"), false)] {
        let (chosen, _, exceeded) = decide_message(&format!("{head}route r when {text} -> h"), message);
        match expected {
            Ok(truth) => assert_eq!((chosen.is_some(), exceeded), (truth == wanted, vec![]), "{text}"),
            Err(limit) => assert_eq!((chosen, exceeded), (None, vec![limit]), "{text}"),
        }
    }
}

fn text_of_length(letter: &str, count: usize) -> Json {
    json!({ "text": letter.repeat(count), "u": letter.repeat(count) })
}

fn list_of_length(count: usize) -> Json {
    json!({ "l": vec![1; count] })
}

#[test]
fn a_quantifier_reads_so_many_elements() {
    let small = "quantifier_elements: 16";
    for (nest, most) in [("", 16), ("any a in l: ", 4)] {
        for quantifier in ["any x in l: x > 1", "all x in l: x > 0", "(count x in l: x > 0) > 2"] {
            let holds = !quantifier.starts_with("any");
            // The body must depend on the outer element; otherwise the inner quantifier is computed
            // only once.
            let condition = match nest {
                "" => quantifier.to_owned(),
                nest => nest.to_owned() + &quantifier.replace("x > ", "x * a > "),
            };
            check(small, &condition, &list_of_length(most), Ok(holds));
            check(small, &condition, &list_of_length(most + 1), Err("quantifier_elements"));
        }
    }
    check(small, "any a in l: a > 0 and (any x in l: x > 0)", &list_of_length(16), Ok(true));
    check("quantifier_elements: 0", "any x in l: x > 0", &list_of_length(0), Ok(false));
    check("", "any x in l: x > 1", &list_of_length(1_000_001), Err("quantifier_elements"));
    check("", "any x in l: any y in l: x + y > 3", &list_of_length(1_001), Err("quantifier_elements"));
}

#[test]
fn a_similarity_compares_so_many_characters() {
    for condition in ["similarity(text, u) == 1", r#"similarity(text, "文文文文文") > 0.1"#] {
        check("similarity_characters: 5", condition, &text_of_length("文", 5), Ok(true));
        check("similarity_characters: 5", condition, &text_of_length("文", 6), Err("similarity_characters"));
    }
    check("", "similarity(text, u) == 1", &text_of_length("a", 4_097), Err("similarity_characters"));
}

#[test]
fn an_expression_searches_so_many_bytes() {
    for condition in
        [r#"text matches r"b+""#, r#"text matches any [r"b+", r"^c"]"#, r#"lower(text) matches r"b""#]
    {
        check("regex_bytes: 10", condition, &text_of_length("a", 10), Ok(false));
        // The index knows that the required literal `b` is absent without running the regex, but
        // must still report the limit.
        check("regex_bytes: 10", condition, &text_of_length("a", 11), Err("regex_bytes"));
        check("regex_work: 1_000", condition, &text_of_length("a", 500), Err("regex_work"));
    }
    let message = text_of_length("a", 100_000);
    check("", r#"text matches r"\p{L}{200}b""#, &message, Err("regex_work"));
    check("", r#"text matches r"\b\w+@\w+\b""#, &message, Ok(false));
}

/// Former bug: the VM reported a limit for a regex that was never run, because an earlier regex in
/// the list had already decided.
#[test]
fn an_expression_that_is_not_searched_for_exceeds_nothing() {
    let message = json!({ "l": ["b", "b"] });
    for (condition, expected) in [
        (r#"any x in l: x matches all [r"^a", r"\w{40}"]"#, Ok(false)),
        (r#"any x in l: x matches any [r"^b", r"\w{40}"]"#, Ok(true)),
        (r#"any x in l: x matches all [r"^b", r"\w{40}"]"#, Err("regex_work")),
    ] {
        check("regex_work: 1_000", condition, &message, expected);
    }
}

#[test]
fn a_pattern_of_like_that_goes_back_is_bounded() {
    check("search_work: 100", r#"text like "*b*c*""#, &text_of_length("a", 1_000), Ok(false));
    check("search_work: 100", r#"text like "*b?c*""#, &text_of_length("a", 33), Ok(false));
    check("search_work: 100", r#"text like "*b?c*""#, &text_of_length("a", 34), Err("search_work"));
    let message = json!({ "text": "a".repeat(140_000), "u": format!("*{}b*", "a?".repeat(70_000)) });
    check("", "text like u", &message, Err("search_work"));
}

#[test]
fn a_value_that_is_built_has_so_many_bytes() {
    let message = json!({ "text": "ab", "l": ["ab", "cd"], "d": { "ab": 1, "cd": "x" } });
    for (condition, bytes) in [
        (r#"join(l, "--") == "ab--cd""#, 6),
        (r#"lower(text) == "ab""#, 2),
        (r#"upper(text) == "AB""#, 2),
        (r#"split(text, "")[1] == "b""#, 18),
        (r#"[text, "c"][0] == "ab""#, 19),
        (r#"keys(d)[0] == "ab""#, 20),
        (r#"values(d)[1] == "x""#, 17),
        (r#"without(l, ["ab"])[0] == "cd""#, 10),
        (r#"len(updated(d, d)) == 2"#, 21),
    ] {
        check(&format!("value_bytes: {bytes}"), condition, &message, Ok(true));
        check(&format!("value_bytes: {}", bytes - 1), condition, &message, Err("value_bytes"));
    }
    check(
        "",
        "len(text) > 0 and len(lower(text)) > 3",
        &text_of_length("A", (1 << 20) + 1),
        Err("value_bytes"),
    );
}

/// Former bug: joining the letters of a text with the text itself turned kilobytes into gigabytes,
/// and the process was killed.
#[test]
fn a_product_of_two_texts_is_not_built() {
    let start = Instant::now();
    check("", r#"len(join(split(text, ""), u)) > 3"#, &text_of_length("x", 60_000), Err("value_bytes"));
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn values_of_a_message_are_searched_for_each_other_within_bounds() {
    let small = "search_work: 100";
    let words =
        |count: usize| json!({ "text": "a".repeat(10), "l": vec!["b"; count], "u": "a".repeat(count) });
    check(small, "text contains any l", &words(10), Ok(false));
    check(small, "text contains any l", &words(11), Err("search_work"));
    check(small, "text contains word u", &words(10), Ok(true));
    check(small, "text contains word u", &words(11), Err("search_work"));
    check(small, "any x in l: text contains x", &words(10), Ok(false));
    check(small, "any x in l: text contains x", &words(11), Err("search_work"));
    // An element of a list counts 8 bytes more than its own size.
    let lists = "search_work: 900";
    check(lists, "any x in l: l contains join([x], \"\") and x != \"b\"", &words(10), Ok(false));
    check(lists, "any x in l: x == u and x in l", &words(10), Ok(false));
    check(lists, "l contains any m", &json!({ "l": vec![1; 10], "m": vec![2; 10] }), Ok(false));
    check(lists, "l contains any m", &json!({ "l": vec![1; 11], "m": vec![2; 11] }), Err("search_work"));
    // Literals in the rules have no such limit.
    check(
        small,
        r#"text contains any ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]"#,
        &words(1),
        Ok(false),
    );
}

/// Former bug: comparing long values for each pair of two lists took minutes. Values that are
/// compared, prepared, compiled or read inside a quantifier now count as work.
#[test]
fn values_are_compared_in_quantifiers_within_bounds() {
    let small = "search_work: 1_000";
    let lists =
        |count: usize, value: Json| json!({ "l": vec![value.clone(); count], "m": vec![value; count] });
    let texts = |bytes: usize| lists(10, json!("a".repeat(bytes)));
    for condition in ["x == y ignoring case", "x contains y ignoring case", "x starts_with y ignoring case"] {
        let condition = format!("any x in l: any y in m: {condition}");
        check(small, &condition, &texts(5), Ok(true));
        check(small, &condition, &texts(6), Err("search_work"));
    }
    check(small, "any x in l: any y in m: x != y", &texts(100), Ok(false));
    let text = |bytes: usize| json!({ "l": vec!["a".repeat(bytes); 10] });
    check(small, r#"any x in l: x in ["B", "c"] ignoring case"#, &text(100), Ok(false));
    check(small, r#"any x in l: x in ["B", "c"] ignoring case"#, &text(101), Err("search_work"));
    check(small, r#"any x in l: x == "b" ignoring case"#, &text(101), Err("search_work"));
    for condition in ["x == y", "not (x != y)", "x in y", "json_size(x) + json_size(y) < 0"] {
        let within = lists(10, json!([[1]]));
        let holds = Ok(condition.contains("=="));
        let condition = format!("any x in l: any y in m: {condition}");
        let condition = condition.replace("not (x != y)", "not (x != y and x != y)");
        check(
            "search_work: 100_000",
            &condition,
            &within,
            if condition.contains("!=") { Ok(true) } else { holds },
        );
        check("search_work: 100", &condition, &within, Err("search_work"));
    }
    check(small, "any x in l: any y in m: x like y", &lists(3, json!("a*")), Ok(true));
    check(small, "any x in l: any y in m: x like y", &lists(4, json!("a*")), Err("search_work"));
    check("value_bytes: 4", "text like u", &text_and_pattern("a*b*"), Ok(false));
    check("value_bytes: 3", "text like u", &text_and_pattern("a*b*"), Err("value_bytes"));
    // Records that are looked up by name count four times: 4 × (8 + 1) for each of the ten lists.
    let records = json!({ "l": vec![json!([{ "i": "a" }]); 10] });
    let none = r#"all x in l: len(duplicates(x, "i")) == 0"#;
    check("search_work: 360", none, &records, Ok(true));
    check("search_work: 359", none, &records, Err("search_work"));
    let deep = json!({ "d": {}, "u": { "a.b.c": 1, "d.e": 2 } });
    check("value_bytes: 40", "len(updated(d, u)) == 2", &deep, Ok(true));
    check("value_bytes: 39", "len(updated(d, u)) == 2", &deep, Err("value_bytes"));
}

fn text_and_pattern(pattern: &str) -> Json {
    json!({ "text": "aaa", "u": pattern })
}

/// Imported files cannot change the limits of the whole rule set.
#[test]
fn settings_of_limits_stand_in_the_main_file() {
    for row in rulec_lang::limits::TABLE {
        let imported = format!("settings {{ {}: 7 }}\nlet long = len(text) > 3", row.name);
        let files = MemoryLoader::new()
            .with("main.rules", "import \"other.rules\"\nroute r when long -> h")
            .with("other.rules", imported.as_str());
        let error = rulec::Compiler::new().compile_with(&files, "main.rules").expect_err("it is refused");
        let [found] = error.diagnostics() else { panic!("{}", error.render()) };
        assert_eq!(found.code, rulec::Code::UnknownSetting);
        let shown = error.render();
        assert!(
            shown.contains("applies to the whole rule set") && shown.contains("other.rules:1"),
            "{shown}"
        );
        assert!(shown.contains("set it in the main file"), "{shown}");
    }
}

#[test]
fn settings_of_limits_are_whole_numbers() {
    let error = |text: &str| Rules::from_text(text).expect_err("it is wrong").render();
    for value in ["0.5", "\"many\"", "many"] {
        let shown = error(&format!("settings {{ value_bytes: {value} }}\nroute r when text == \"a\" -> h"));
        assert!(shown.contains("value_bytes") && shown.contains("a whole number of bytes"), "{shown}");
    }
    let shown = error("settings { value_byte: 1 }\nroute r when text == \"a\" -> h");
    assert!(shown.contains("did you mean `value_bytes`"), "{shown}");
    Rules::from_text("settings { value_bytes: 4MiB }\nroute r when text == \"a\" -> h").expect("units work");
}

/// Returns the verdict that every engine gives on a payload, and the exceeded limits with their
/// amounts.
#[track_caller]
fn judge_payload(rules: &str, payload: &Json) -> (&'static str, Vec<(&'static str, u64, u64)>) {
    let rules = Rules::from_text(rules).unwrap_or_else(|error| panic!("{}", error.render()));
    let mut answers = COLUMNS.iter().map(|column| {
        let judgement = column.judging(&rules).judge("p").expect("there is the kind").judge(payload);
        let shown = json!(judgement)["exceeded"].as_array().map_or(0, Vec::len);
        assert_eq!(shown, judgement.exceeded().len(), "JSON says so too");
        let exceeded =
            judgement.exceeded().iter().map(|beyond| (beyond.limit(), beyond.amount(), beyond.most()));
        (judgement.outcome().name(), exceeded.collect())
    });
    let first = answers.next().expect("there are engines");
    for (answer, column) in answers.zip(&COLUMNS[1..]) {
        assert_eq!(answer, first, "{column:?}");
    }
    first
}

/// Former bug: an `each` had no limit, and nested `each` blocks and quantifiers multiplied the
/// work.
#[test]
fn an_each_of_a_payload_walks_over_so_many_elements() {
    let judged = |body: &str, count: usize| {
        let payload = json!({ "l": vec![1; count], "d": { "a": 1, "b": 2 } });
        judge_payload(
            &format!("settings {{ quantifier_elements: 64 }}\npayload p {{ l: list\n d: dict\n {body} }}"),
            &payload,
        )
    };
    let beyond = |amount: u64, most: u64| ("accept", vec![("quantifier_elements", amount, most)]);
    let reject = ("reject", vec![]);
    for (body, most) in [
        (r#"each x in l { require "r": (x as int) > 1 }"#, 64),
        (r#"each x in l { each y in l { require "r": (x as int) + (y as int) > 2 } }"#, 8),
        (r#"each x in l { require "r": not all y in l: (y as int) > 0 }"#, 8),
        (
            r#"each x in l { let n = (count y in l: (y as int) > 0)
              require "r": n > 99 }"#,
            8,
        ),
        (r#"each x in l { each k, v in d { require "r": (any y in l: (v as int) + (y as int) > 5) } }"#, 4),
    ] {
        assert_eq!(judged(body, most), reject, "{body}");
        assert_eq!(judged(body, most + 1), beyond(most as u64 + 1, most as u64), "{body}");
    }
    // A quantifier in a `let` counts as if it were written in place of the name.
    let body = r#"each x in l { require "r": (x as int) > 1 and nested }"#;
    let nested = "let nested = any y in input_list: y > 1";
    let rules = format!(
        "settings {{ quantifier_elements: 64 }}\ninput {{ input_list: list<int> }}\n{nested}\npayload p {{ l: list\n {body} }}"
    );
    let payload = |count: usize| json!({ "l": vec![1; count] });
    assert_eq!(self::judge_payload(&rules, &payload(8)), reject);
    assert_eq!(self::judge_payload(&rules, &payload(9)), beyond(9, 8));
}

/// Everything in an `each` block is counted once per element. The amount that one `each` block uses
/// does not reduce the limit for the next block.
#[test]
fn work_in_an_each_counts_as_often_as_it_is_done() {
    let judged = |settings: &str, body: &str, count: usize| {
        let payload = json!({ "text": "a".repeat(10), "l": vec!["b"; count], "m": ["c"] });
        let head = format!(
            "settings {{ {settings} }}\npayload p {{ text: string\n l: list<string>\n m: list<string>\n"
        );
        self::judge_payload(&format!("{head} {body} }}"), &payload)
    };
    for (settings, body, limit) in [
        ("regex_work: 1_000", r#"each x in l { require "r": text matches r"b" }"#, "regex_work"),
        ("search_work: 100", r#"each x in l { require "r": text contains "b" }"#, "search_work"),
        ("search_work: 100", r#"each x in l { require "r": text contains x }"#, "search_work"),
    ] {
        assert_eq!(judged(settings, body, 2), ("reject", vec![]), "{body}");
        let (outcome, exceeded) = judged(settings, body, 900);
        assert_eq!((outcome, exceeded[0].0), ("accept", limit), "{body}");
    }
    let built = r#"each x in l { require "r": len(upper(x)) > 1 and len(upper(text)) > 99 }"#;
    assert_eq!(judged("value_bytes: 10", built, 64), ("reject", vec![]));
    assert_eq!(judged("value_bytes: 10", built, 65).0, "reject");
    let after = r#"each x in l { require "r": upper(text) == "" }
 each x in m { require "s": upper(text) == "" }"#;
    let (outcome, exceeded) = judged("value_bytes: 10", after, 100);
    assert_eq!((outcome, exceeded[0].0), ("reject", "value_bytes"));
}

/// Former bug: limits that the second validation (after corrections) exceeded were not reported.
#[test]
fn a_judgement_tells_limits_of_both_checks() {
    let rules = "settings { value_bytes: 8 }\npayload p { a: string default \"123456789\"\n require \"r\": upper(a) != \"x\" }";
    assert_eq!(judge_payload(rules, &json!({})), ("accept_corrected", vec![("value_bytes", 9, 8)]));
    assert_eq!(judge_payload(rules, &json!({ "a": "1" })), ("accept", vec![]));
}

#[test]
fn the_analysis_of_a_request_is_bounded() {
    const RULES: &str = "intent refund { examples [\"I want my money back\"] }
        intent status { examples [\"where is my order\"] }
        entity order matches r\"order (?<id>[0-9]+)\"
        lexicon anger { \"furious\": 0.7 }\n";
    let check = |settings: &str, condition: &str, text: &str, expected: Result<bool, &str>| {
        let (chosen, _, exceeded) = decide_message(
            &format!("{RULES}settings {{ {settings} }}\nroute r when {condition} -> h"),
            &json!({ "text": text }),
        );
        match expected {
            Ok(holds) => assert_eq!((chosen.is_some(), exceeded), (holds, vec![]), "{condition}"),
            Err(limit) => assert_eq!((chosen, exceeded), (None, vec![limit]), "{condition}"),
        }
    };
    let text = "furious: where is my order 42";
    let conditions = [
        "request.intent == \"status\"",
        "request.intent_score > 0.1",
        "request.entities.order.id == \"42\"",
        "request.keywords contains \"furious\"",
        "request.anger > 0.5",
    ];
    for condition in conditions {
        check(&format!("request_bytes: {}", text.len()), condition, text, Ok(true));
        check(&format!("request_bytes: {}", text.len() - 1), condition, text, Err("request_bytes"));
        check("request_work: 20", condition, text, Err("request_work"));
    }
    check("request_work: 58", conditions[0], text, Ok(true));
    check("request_work: 57", conditions[0], text, Err("request_work"));
    // The result of the request analysis is a new value, so its bytes count.
    check("value_bytes: 12", conditions[2], text, Ok(true));
    check("value_bytes: 11", conditions[2], text, Err("value_bytes"));
    check("value_bytes: 15", conditions[3], text, Err("value_bytes"));
    check("", conditions[4], &"a ".repeat((1 << 19) + 1), Err("request_bytes"));
}

#[test]
fn flows_tell_the_limits_that_were_exceeded() {
    use rulec::flow::{FlowMatcher, FlowSelection};
    let rules = "settings { regex_bytes: 20, request_bytes: 25 }
        flow a keyword regex [\"x+y\"] -> \"a\"
        flow b \"money\" intent [\"I want my money back\"] -> \"b\"";
    let rules = Rules::from_text(rules).expect("they compile");
    for column in COLUMNS {
        let matcher = FlowMatcher::new(&column.compile(&rules)).expect("there are flows");
        let matcher = matcher.with_classifier(Default::default()).expect("it learns");
        let search = |text: &str| {
            let (found, exceeded) = matcher.search(text);
            let found = match found {
                FlowSelection::Keyword(hit) => hit.id.to_owned(),
                FlowSelection::Intent(hit) => hit.id,
                FlowSelection::Nothing { .. } => "nothing".to_owned(),
            };
            (found, exceeded.iter().map(|exceeded| exceeded.limit()).collect::<Vec<_>>())
        };
        assert_eq!(search("xxy"), ("a".to_owned(), vec![]));
        assert_eq!(search("want my money back"), ("b".to_owned(), vec![]));
        assert_eq!(search("I want my money back xy"), ("b".to_owned(), vec!["regex_bytes"]));
        let both = vec!["regex_bytes", "request_bytes"];
        assert_eq!(search("xxy and I want my money back"), ("nothing".to_owned(), both));
    }
}

/// A choice may take a regex from the message, within limits. The decision reports an exceeded
/// limit.
#[test]
fn a_choice_takes_a_bounded_expression_of_the_message() {
    let rules = "choice c { default branch d branch a { (text as string) matches (ctx.p as string) } }";
    let rules = Rules::from_text(rules).unwrap_or_else(|error| panic!("{}", error.render()));
    let decided = |message: &Json| {
        let mut answers = COLUMNS.iter().map(|column| {
            let rules = column.compile(&rules);
            let decision = rules.entry("c").expect("there is the choice").decide(message);
            let exceeded: Vec<_> = decision.exceeded().iter().map(|exceeded| exceeded.limit()).collect();
            (decision.branch().map(str::to_owned), exceeded)
        });
        let first = answers.next().expect("there are engines");
        answers.for_each(|answer| assert_eq!(answer, first));
        (first.0.unwrap_or_default(), first.1)
    };
    assert_eq!(decided(&json!({ "text": "abc", "ctx": { "p": "b+" } })), ("a".to_owned(), vec![]));
    assert_eq!(decided(&json!({ "text": "abc", "ctx": { "p": "b".repeat(5_000) + "|a" } })).0, "d");
    let long = json!({ "text": "a".repeat((1 << 20) + 1), "ctx": { "p": "a" } });
    assert_eq!(decided(&long), ("d".to_owned(), vec!["regex_bytes"]));
}

/// Former bug: a constant `-0.0` passed through JSON and became the integer 0.
#[test]
fn a_float_constant_keeps_kind_and_sign() {
    let (_, args, _) = decide_message(
        "default -> h(a: -0.0, b: 0.0 * -1, c: ctx.n * -0.0, d: [-0.0, 1.0][0], e: [0.0 * -1][0])",
        &json!({ "ctx": { "n": 1 } }),
    );
    assert_eq!(args.to_string(), r#"{"a":-0.0,"b":-0.0,"c":-0.0,"d":-0.0,"e":-0.0}"#);
}

/// Former bug: a list of a million invalid, corrected or removed elements took minutes.
#[test]
fn so_many_violations_of_a_payload_are_collected() {
    let judged = |correction: &str, count: usize| {
        let rules = format!(
            "settings {{ violations: 20_000 }}\npayload p {{ l: list\n each x in l {{ require \"r\" at x: x == 1 {correction} }} }}"
        );
        let rules = Rules::from_text(&rules).unwrap_or_else(|error| panic!("{}", error.render()));
        let list: Vec<u8> = (0..2 * count).map(|at| 1 + (at % 2) as u8).collect();
        let judgements = COLUMNS.iter().map(|column| {
            column.judging(&rules).judge("p").expect("the kind is there").judge(&json!({ "l": list }))
        });
        let mut judgements: Vec<_> = judgements.collect();
        let first = judgements.swap_remove(0);
        judgements.iter().for_each(|other| assert_eq!(other, &first));
        (first.violations().len(), first.outcome(), first.exceeded().len())
    };
    let start = Instant::now();
    assert_eq!(judged("", 20_000), (20_000, Outcome::Reject, 0));
    assert_eq!(judged("", 20_001), (20_000, Outcome::Reject, 1));
    for correction in ["remove", "clamp 1"] {
        assert_eq!(judged(correction, 20_000), (20_000, Outcome::AcceptCorrected, 0));
        assert_eq!(judged(correction, 20_001), (20_000, Outcome::Reject, 1));
    }
    assert!(start.elapsed() < Duration::from_secs(60));
}
