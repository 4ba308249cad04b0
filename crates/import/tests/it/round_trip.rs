//! Import, export and import again: the rules stay the same.

use rulec::Rules;
use rulec_import::{Imported, Options, Outcome, System};
use serde_json::{Value as Json, json};

/// A random number generator (xorshift) with a seed, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn list<T>(&mut self, most: usize, mut item: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| item(self)).collect()
    }
}

const WORDS: [&str; 8] = ["hello", "订单", "a \"b\"", "x\ny", "'q'", "12", "[1]", "Straße"];
const PATTERNS: [&str; 8] = ["请.*天假", "^a|b$", "x$", r"\d+\Z", "(?i:ab)c", "[$z]+", r"\\z", "(?P<n>a)b?"];

fn random_flows(random: &mut Random) -> Json {
    let flows = random.list(6, |random| {
        let mut flow = json!({"flow_id": format!("f{}", random.below(5))});
        if random.chance(2) {
            flow["name"] = json!(random.one_of(&["greet", "two words", "when", "x`y"]));
        }
        if random.chance(2) {
            flow["description"] = json!(random.one_of(&WORDS));
        }
        if random.chance(3) {
            flow["examples"] = json!([random.one_of(&WORDS)]);
            flow["trigger_patterns"] = json!(random.list(2, |random| random.one_of(&WORDS)));
            return flow;
        }
        flow["type"] = json!("keyword");
        let mode = random.one_of(&["exact", "contains", "regex"]);
        flow["match_type"] = json!(mode);
        let texts: &[&str] = if mode == "regex" { &PATTERNS } else { &WORDS };
        let first = random.one_of(texts);
        let more = random.list(3, |random| random.one_of(texts));
        flow["trigger_patterns"] = json!([vec![first], more].concat());
        flow
    });
    let mut document = json!({ "flows": flows });
    if random.chance(2) {
        document["tools"] = json!([{"name": "flow_executor", "description": "runs it",
            "parameters": {"properties": {"flow_id": {"description": "the id"}}},
            "endpoint": {"url": "http://h/{flow_id}", "body": {"id": "#who#", "list": [1, null]}}}]);
    }
    document
}

fn random_condition(random: &mut Random, depth: usize) -> Json {
    let parts = |random: &mut Random| random.list(3, |random| random_condition(random, depth + 1));
    match random.below(if depth < 3 { 9 } else { 6 }) {
        0 => {
            let mut condition = json!({"type": "TextCondition"});
            let words: Vec<&str> = random.list(2, |random| random.one_of(&WORDS));
            condition["contains"] = json!([words, vec!["w"]].concat());
            if random.chance(2) {
                condition["keywords"] = json!([random.one_of(&WORDS)]);
            }
            if random.chance(2) {
                condition["case_sensitive"] = json!(true);
            }
            condition
        }
        1 => {
            json!({"type": "RegexCondition", "pattern": random.one_of(&PATTERNS), "case_sensitive": random.chance(2)})
        }
        2 => json!({"type": "SimilarityCondition", "text": random.one_of(&WORDS), "threshold": 0.5}),
        3 => {
            let key = random.one_of(&["n", "a__gt__eq", "type__ne", "odd key", "message_length__gt"]);
            let key = if key == "n" { random.one_of(&["n__gt", "n", "n__ne"]) } else { key };
            json!({"type": "ContextCondition", key: random.below(9)})
        }
        4 => {
            let mut condition = json!({"type": "ErrorCondition"});
            if random.chance(2) {
                condition["last_error_type"] = json!(random.one_of(&["TimeoutError", "odd error"]));
            }
            if random.chance(2) {
                condition["occurrence_count__gte"] = json!(random.below(4));
            }
            condition
        }
        5 => {
            json!({"type": "PermissionCondition", "user_role": "admin", "required_permissions": ["a", "b c"]})
        }
        6 => json!({"type": "AndCondition", "conditions": parts(random)}),
        7 => json!({"type": "OrCondition", "conditions": parts(random)}),
        _ => json!({"type": "NotCondition", "condition": random_condition(random, depth + 1)}),
    }
}

fn random_routes(random: &mut Random) -> Json {
    let routes = random.list(5, |random| {
        let mut route = json!({"name": random.one_of(&["a", "two words", "default", "when"]),
            "priority": random.below(3), "handler": random.one_of(&["h", "goto", "other one"]),
            "condition": random_condition(random, 0)});
        if random.chance(3) {
            route["metadata"] = json!({"type": "t", "deep": {"k": [1, "x"]}});
        }
        route
    });
    json!({"routes": routes, "default": "chat"})
}

fn random_side(random: &mut Random, ty: &str) -> Json {
    json!({"step_id": random.one_of(&["s", "6f-1"]), "type": ty, "value": random.one_of(&["x", "a/b c", "y"])})
}

fn random_literal(random: &mut Random, ty: &str) -> Json {
    let value = match ty {
        "string" => json!(random.one_of(&WORDS)),
        "number" => random.one_of(&[json!(3), json!(2.5), json!("-4")]),
        "bool" => random.one_of(&[json!(true), json!("False")]),
        "list" => random.one_of(&[json!([1, "a"]), json!("[2]"), json!("[(1,2)]")]),
        _ => random.one_of(&[json!({"k": null}), json!("{'a': 1}"), json!("{1: 2}")]),
    };
    json!({"type": ty, "value": value})
}

fn random_comparison(random: &mut Random) -> Json {
    const TYPES: [&str; 5] = ["string", "number", "bool", "list", "dict"];
    let left = random.one_of(&TYPES);
    let family = if random.chance(4) { random.one_of(&TYPES) } else { left };
    let verbs: &[&str] = match family {
        "string" => {
            &["equal", "not_equal", "contains", "not_contains", "starts_with", "length_equal", "regex_match"]
        }
        "number" => &["equal", "not_equal", "greater_than", "less_than_or_equal"],
        "list" => &["equal", "not_equal", "contains", "not_contains", "length_greater_than"],
        "dict" => &["equal", "not_equal", "contains_key", "not_contains_key"],
        _ => &["equal", "not_equal"],
    };
    let verb = random.one_of(verbs);
    let right_type = match verb {
        verb if verb.starts_with("length") => "number",
        verb if verb.contains("contains") => "string",
        _ => family,
    };
    let right = match verb {
        "regex_match" => json!({"type": "string", "value": random.one_of(&PATTERNS)}),
        _ if random.chance(3) => random_side(random, right_type),
        _ => random_literal(random, right_type),
    };
    json!({"left": random_side(random, left), "operate": format!("{family}_{verb}"), "right": right})
}

fn random_choice(random: &mut Random) -> Json {
    let branches = random.list(5, |random| {
        let conditions = random.list(3, random_comparison);
        json!({"branch_id": random.one_of(&["a", "b", "step 2"]), "logic": random.one_of(&["and", "or"]),
            "conditions": conditions, "is_default": random.chance(5)})
    });
    json!({"name": "next", "choices": branches})
}

fn import(system: System, document: &Json) -> Imported {
    system
        .import_value(document, Options::default().strict())
        .unwrap_or_else(|error| panic!("{error}\n{document}"))
}

/// Returns the lines of a rules file that an export keeps. An export leaves out comments, and
/// branches without conditions, which are never chosen.
fn without_comments(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut kept: Vec<&str> = Vec::new();
    for line in lines {
        let is_branch = |line: &str| line.starts_with("branch ");
        if line == "}" && kept.last().is_some_and(|last| is_branch(last) && last.ends_with('{')) {
            kept.pop();
        } else if !(is_branch(line) && line.ends_with("{ }")) {
            kept.push(line);
        }
    }
    kept
}

/// Exports the rules and imports the document again. Every rule must be written, and the second
/// import must give the same rules. Only regular expressions may be written in another form.
fn assert_round_trip(system: System, seed: u64, document: &Json) {
    let first = import(system, document);
    let exported = system.export(&first.rules);
    let notes = exported.report.messages().map(|message| message.to_string());
    // A branch without conditions is never chosen, and not written.
    let refused: Vec<String> =
        notes.filter(|note| !note.contains("has no condition and is never chosen")).collect();
    assert!(refused.is_empty(), "seed {seed}: {refused:?}\n{}", first.text);
    let second = import(system, &exported.document);
    let third = import(system, &system.export(&second.rules).document);
    assert_eq!(without_comments(&second.text), without_comments(&third.text), "seed {seed}: {document}");
    // The layout depends on the comments, and an expression has several forms.
    let simple = |text: &str| {
        let line = without_comments(text).join(" ").replace("; }", " }");
        line.replace(r"\n?\z", "$").replace(r"\n?$", "$").replace(r"\z", "$")
    };
    assert_eq!(simple(&first.text), simple(&second.text), "seed {seed}: {document}\n{}", exported.document);
}

/// Calls `check` with random documents of each system: the system, the seed, the source of random
/// numbers, and the document. `usual` is the number of documents without the variable
/// `RULEC_TIMES`.
fn for_each_random(usual: u64, mut check: impl FnMut(System, u64, &mut Random, Json)) {
    let times = std::env::var("RULEC_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(usual);
    for (system, generate) in [
        (System::Flows, random_flows as fn(&mut Random) -> Json),
        (System::Routes, random_routes),
        (System::Choice, random_choice),
    ] {
        for seed in 1..=times {
            let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
            let document = generate(&mut random);
            check(system, seed, &mut random, document);
        }
    }
}

#[test]
fn random_documents_stay_the_same() {
    for_each_random(60, |system, seed, _, document| assert_round_trip(system, seed, &document));
}

#[test]
fn the_samples_stay_the_same() {
    for system in [System::Routes, System::Choice, System::Flows] {
        let path = format!("{}/tests/samples/{}.json", env!("CARGO_MANIFEST_DIR"), system.name());
        let text = std::fs::read_to_string(path).expect("the sample lies here");
        let first = system.import(&text, Options::default().strict()).expect("it can be imported");
        let exported = system.export(&first.rules);
        let again = import(system, &exported.document);
        assert!(again.rules.entries().eq(first.rules.entries()));
    }
}

#[test]
fn what_the_documents_cannot_say_is_named() {
    let rules = Rules::from_text(
        r#"
        flow greet keyword exact ["hello"] -> "greeting"
        flow odd keyword regex [r"\p{Greek}+"] -> "odd"
        route plain when text contains "file" ignoring case and ctx.vip -> files
        route total when ctx.price * ctx.count > 100 -> approve
        route args when text contains "run" -> run(limit: 3)
        route late when hour(ctx.at) >= 18 unless ctx.vip -> night
        route off disabled when ctx.vip -> files
        choice next {
          default branch keep
          branch odd { steps.s.x as number + 1 > 3 }
          branch fine { steps.s.x as number > 3; steps.s.y as bool }
          branch typed { steps.s.l as list not contains true }
          branch bare
        }
        choice mood ask "how?" { branch angry  default branch calm }
        "#,
    )
    .expect("the rules are right");
    for (system, written, skipped) in [
        (System::Flows, &["greet"][..], &["odd"][..]),
        (System::Routes, &["plain"], &["total", "args", "late", "off"]),
        (System::Choice, &["next", "keep", "fine"], &["odd", "typed", "mood", ""]),
    ] {
        let report = system.export(&rules).report;
        let names = |outcome: Outcome| -> Vec<&str> {
            let items = report.items().iter().filter(|item| item.outcome == outcome);
            items.map(|item| &*item.name).collect()
        };
        let kept: Vec<&str> = [names(Outcome::Loaded), names(Outcome::Adapted)].concat();
        let same = |one: &[&str], other: &[&str]| {
            let sorted = |names: &[&str]| {
                let mut names = names.to_vec();
                names.sort_unstable();
                names.join(" ")
            };
            assert_eq!(sorted(one), sorted(other), "{system:?}");
        };
        same(&kept, written);
        same(&names(Outcome::Skipped), skipped);
        assert!(report.skipped().all(|item| item.notes.iter().all(|note| !note.to_string().is_empty())));
    }
}

/// Adds a member that no import understands to an object, in one of three cases.
fn add_unknown(random: &mut Random, object: &mut Json) {
    if random.chance(3) {
        let value = random.one_of(&[
            json!("a  b\u{2028}\n#"),
            json!({"x": 1.5, "y": [null]}),
            json!([]),
            json!(true),
        ]);
        object[random.one_of(&["ui", "odd key", "备注"])] = value;
    }
}

/// Inserts an element that cannot be translated into a list, in one of three cases.
fn add_bad(random: &mut Random, list: &mut Json, bad: Json) {
    let list = list.as_array_mut().expect("it is a list");
    if random.chance(3) {
        list.insert(random.below(list.len() + 1), bad);
    }
}

fn each(list: &mut Json, mut change: impl FnMut(&mut Json)) {
    list.as_array_mut().into_iter().flatten().for_each(&mut change);
}

/// Adds parts that rules cannot express to a document that an export wrote.
fn decorate(system: System, random: &mut Random, document: &mut Json) {
    match system {
        System::Flows => {
            each(&mut document["flows"], |flow| {
                add_unknown(random, flow);
                if flow["type"] == "keyword" {
                    let bad = random.one_of(&[json!("  "), json!(7), json!(null)]);
                    add_bad(random, &mut flow["trigger_patterns"], bad);
                    if random.chance(3) {
                        flow["examples"] = json!(["an example"]);
                    }
                }
            });
            add_bad(random, &mut document["flows"], json!({"flow_id": "bad", "type": "glob"}));
            if random.chance(3) && document["flows"].to_string().contains("\"intent\"") {
                let prompt = "{{x}} {flows} {tool}";
                document["settings"] = json!({"intent_threshold": 0.5, "intent_margin": 0.0, "flow_prompt": prompt, "colour": 1});
            }
            if let Some(tools) = document.get_mut("tools") {
                tools[0]["timeout"] = json!(30);
                tools[0]["endpoint"]["verify"] = json!(false);
                tools[0]["parameters"]["properties"]["limit"] = json!({"type": "integer"});
                tools[0]["parameters"]["properties"]["flow_id"]["type"] = json!("integer");
                tools[0]["parameters"]["required"] = json!(["flow_id", "limit"]);
                for bad in [json!({"name": "search", "endpoint": null}), json!({"name": 5}), json!("x")] {
                    add_bad(random, tools, bad);
                }
            }
        }
        System::Routes => {
            each(&mut document["routes"], |route| {
                add_unknown(random, route);
                if random.chance(3) {
                    route["description"] = json!(format!("two  blanks {}", "and many words ".repeat(20)));
                }
            });
            let bad = json!({"name": "bad", "handler": "h", "condition": {"type": "Odd"}});
            add_bad(random, &mut document["routes"], bad);
        }
        _ => {
            if random.chance(2) {
                let names = document.as_object_mut().expect("it is an object");
                let name = names.remove("name").expect("it has a name");
                names.extend([("step_id".to_owned(), name), ("name".to_owned(), json!("A title"))]);
            }
            each(&mut document["choices"], |branch| {
                add_unknown(random, branch);
                each(&mut branch["conditions"], |condition| {
                    if random.chance(3) {
                        condition["id"] = json!("6f-1");
                    }
                    add_unknown(random, condition);
                    add_unknown(random, &mut condition["left"]);
                    if random.chance(3) {
                        condition["left"]["name"] = json!("a title");
                    }
                    add_unknown(random, &mut condition["right"]);
                });
                let bad = json!({"id": "odd", "operate": "LIKE", "left": {"step_id": "s"}});
                add_bad(random, &mut branch["conditions"], bad);
            });
            add_bad(random, &mut document["choices"], json!({"branch_id": "bad", "logic": "XOR"}));
            let empty = json!({"branch_id": "empty", "is_default": false, "conditions": []});
            add_bad(random, &mut document["choices"], empty);
        }
    }
    add_unknown(random, document);
}

#[test]
fn what_rules_cannot_express_is_written_again() {
    for_each_random(100, |system, seed, random, document| {
        let load = |document: &Json| system.import_value(document, Options::default()).expect("it is loaded");
        let mut document = system.export(&load(&document).rules).document;
        decorate(system, random, &mut document);
        let loaded = load(&document);
        let exported = system.export(&loaded.rules);
        assert_eq!(exported.document, document, "{system:?}, seed {seed}\n{}", loaded.text);
        // A file on disk keeps the same parts, and the formatter does not move them.
        let written = rulec_syntax::format::format(&loaded.text).expect("it can be formatted").text;
        let again = Rules::from_text(&written).expect("it compiles");
        assert_eq!(system.export(&again).document, document, "{system:?}, seed {seed}\n{written}");
        for item in exported.report.items() {
            assert!(document.pointer(&item.pointer).is_some(), "{}", item.pointer);
        }
    });
}

/// The author's changes count, not what the import kept. A description is never read as kept parts.
#[test]
fn changed_rules_are_written_as_they_are_now() {
    let document = json!({"routes": [
        {"name": "a`b", "priority": 1, "handler": "h", "condition": {"type": "OrCondition", "conditions": []},
         "description": "json: {\"handler\":\"other\",\"note\":1}", "owner": "me"},
    ]});
    let loaded = System::Routes.import_value(&document, Options::default()).expect("it is loaded");
    assert_eq!(System::Routes.export(&loaded.rules).document, document);
    let renamed = loaded.text.replace("a_b", "new_name").replace("priority 1", "priority 7");
    let exported = System::Routes.export(&Rules::from_text(&renamed).expect("it compiles")).document;
    let route = &exported["routes"][0];
    assert_eq!((&route["name"], &route["priority"]), (&json!("new_name"), &json!(7)));
    assert_eq!(
        (&route["owner"], &route["handler"], &route["note"]),
        (&json!("me"), &json!("h"), &Json::Null)
    );

    let condition = json!({"id": "7", "left": {"step_id": "s", "type": "number", "value": "x"},
        "operate": "string_equal", "right": {"type": "string", "value": "3"}});
    let document = json!([{"branch_id": "b", "is_default": false, "conditions": [condition]}]);
    let loaded = System::Choice.import_value(&document, Options::default()).expect("it is loaded");
    let exported = System::Choice.export(&loaded.rules).document;
    assert_eq!(exported["choices"][0]["conditions"][0], condition, "{}", loaded.text);
    let changed = loaded.text.replace("== \"3\"", "== 4");
    assert_ne!(changed, loaded.text);
    let exported = System::Choice.export(&Rules::from_text(&changed).expect("it compiles")).document;
    let written = &exported["choices"][0]["conditions"][0];
    assert_eq!(written["right"], json!({"type": "number", "value": 4}));
}

/// Former bug: a branch without a usable condition was left out without a note. The author's
/// condition for such a branch counts.
#[test]
fn a_branch_without_a_condition_is_written() {
    let empty = json!({"branch_id": "empty", "is_default": false, "conditions": []});
    let document = json!({"name": "s", "choices": [{"branch_id": "d"}, empty]});
    let loaded = System::Choice.import_value(&document, Options::default()).expect("it is loaded");
    assert!(loaded.text.contains("# rulec: allow W0403"), "{}", loaded.text);
    assert_eq!(System::Choice.export(&loaded.rules).document["choices"][1], empty);
    let repaired = loaded.text.replace("branch empty { }", "branch empty { steps.s.n as number > 3 }");
    let repaired = repaired.replace("# rulec: allow W0403", "#");
    let exported = System::Choice.export(&Rules::from_text(&repaired).expect("it compiles")).document;
    let branch = exported["choices"][1].as_object().expect("it is written");
    assert!(branch["conditions"][0].is_object() && !branch.contains_key("branch"), "{exported}");
}

/// Former bug: a value that is no JSON was written as `{}`. The next import then read its item, and
/// the branch held without this condition.
#[test]
fn an_item_that_is_no_json_is_not_written() {
    let side = r#"{"step_id": "s", "type": "number", "value": "n"}"#;
    let above = |limit: &str| {
        format!(
            r#"{{"left": {side}, "operate": "number_greater_than", "right": {{"type": "number", "value": {limit}}}}}"#
        )
    };
    let text = format!(
        r#"[{{"branch_id": "bad", "is_default": false, "conditions": [{}, {}]}},
            {{"branch_id": "odd", "logic": "XOR"}}, {{"branch_id": "d"}}]"#,
        above("0"),
        above("NaN"),
    );
    let loaded = System::Choice.import(&text, Options::default()).expect("it is loaded");
    let exported = System::Choice.export(&loaded.rules).document;
    let ids: Vec<&Json> =
        exported["choices"].as_array().into_iter().flatten().map(|b| &b["branch_id"]).collect();
    assert_eq!(ids, ["odd", "d"], "{}", loaded.text);
    assert!(loaded.report.messages().any(|note| note.to_string().contains("an export lacks it")));

    let text = r#"{"flows": [
        {"flow_id": "a", "type": "keyword", "trigger_patterns": ["a", NaN, " ", "b"]},
        {"flow_id": "b", "type": "keyword", "trigger_patterns": ["b"], "weight": NaN}],
        "tools": ["x", {"name": NaN}, 3], "settings": {"flow_prompt": NaN, "colour": 1}, "note\ud800": 1}"#;
    let loaded = System::Flows.import(text, Options::default()).expect("it is loaded");
    let exported = System::Flows.export(&loaded.rules).document;
    let flow = json!({"flow_id": "a", "type": "keyword", "match_type": "contains", "trigger_patterns": ["a", " ", "b"]});
    let expected = json!({"flows": [flow], "tools": ["x", 3], "settings": {"colour": 1}});
    assert_eq!(exported, expected, "{}", loaded.text);
    // The start of the file may have other comments, and no empty line after it.
    let changed = format!("# A licence.\n\n{}", loaded.text.replacen("\n\n", "\n", 1));
    let rules = Rules::from_text(&changed).expect("it compiles");
    assert_eq!(System::Flows.export(&rules).document, expected, "{changed}");
}
