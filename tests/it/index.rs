//! Checks decisions with the index, over rule sets of many sizes: every answer equals the answer of
//! the reference evaluator.

use crate::bench_rules as workload;
use crate::support::engines;
use engines::{Findable, INDEX, REFERENCE, VM};
use rulec::Backend;
use rulec::Rules;
use rulec_vm::index::index_terms::LAST_IN_GROUP_FLAG;
use workload::messages::messages;
use workload::rules::{self, Kind};

const SIZES: [usize; 7] = [1, 3, 10, 64, 65, 400, 2_000];

#[test]
fn rule_sets_of_every_size_are_decided_alike() {
    let (mut pairs, mut hits) = (0, 0);
    // Decisions that chose a route, decisions whose route the index found, and the sizes at which
    // `auto` selects the index.
    let (mut chose, mut found, mut by_itself) = (0, 0, Vec::new());
    for (seed, size) in (0..).zip(SIZES) {
        for kind in [Kind::Mixed, Kind::Fields] {
            let routes = rules::routes(size, kind, 100 + seed);
            let source = rules::file(&routes, seed % 2 == 0);
            let compiled = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
            let reference = REFERENCE.compile(&compiled);
            let engines = [
                ("index", INDEX.compile(&compiled)),
                ("vm", VM.compile(&compiled)),
                ("auto", compiled.clone()),
            ];
            by_itself.extend((compiled.main().backend(false) == Backend::Index).then_some(size));
            let findable = Findable::new(&compiled);
            let count = if size > 1_000 { 60 } else { 300 };
            for message in messages(count, &rules::phrases(&routes), 200 + seed) {
                let expected = reference.main().matched(&message);
                let chosen = reference.decide(&message);
                for (name, rules) in &engines {
                    let context = || format!("{name}, {size} routes, {message}");
                    assert_eq!(rules.decide(&message).chosen(), chosen.chosen(), "{}", context());
                    let record = rules.prepare(&message);
                    let prepared = rules.main().decide_prepared(&record);
                    assert_eq!(prepared.chosen(), chosen.chosen(), "prepared, {}", context());
                    assert_eq!(rules.main().matched(&message), expected, "all, {}", context());
                }
                pairs += 1;
                hits += usize::from(!expected.is_empty());
                chose += usize::from(chosen.chosen().is_some() && !chosen.is_default());
                found += usize::from(findable.contains(chosen.statement()));
            }
        }
    }
    println!("{pairs} pairs, {hits} with a route; of {chose} choices the index found {found}; {by_itself:?}");
    assert!(hits * 3 > pairs, "only {hits} of {pairs} messages have a route");
    assert!(chose > 2_000 && found * 100 >= chose * 89, "of {chose} choices the index found {found}");
    assert!(by_itself.ends_with(&[400, 400, 2_000, 2_000]), "`auto` takes the index at {by_itself:?}");
}

/// Checks the access path that the compiler plans for one route of every kind.
#[test]
fn the_plan_says_how_each_route_is_found_and_why() {
    let rules = Rules::from_text(
        r#"
input { text: string, tags?: list<string>, ctx: { role?: string, n?: int, name?: string } }
route plain when text contains "refund" and ctx.n > 3 -> h
route either when text contains any ["invoice", "bill"] or ctx.name == "Ada" -> h
route pattern when text matches r"(?i)order [0-9]+" -> h
route element when tags contains "beta tester" -> h
route value when ctx.name in ["Ada", "Grace"] -> h
route range when ctx.n in 3..9 and ctx.role != "guest" -> h
route flipped when 3 < ctx.n -> h
route negation when not (text contains "spam") -> h
route walk when any tag in tags: len(tag) > 30 -> h
route globs when text like any ["card*", "*transfer*", "the whole text"] -> h
route excepted when text contains "parcel" unless text contains "spam" -> h
route only_exception when ctx.n is present unless text contains "spam" -> h
route ways when if ctx.n > 3 then text contains "letter" else text contains "packet" -> h
route edge when text ends_with ".exe" -> h
"#,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let plans = rules.plan();
    let found: Vec<String> = plans[0]
        .routes
        .iter()
        .map(|route| serde_json::to_string(&route.found).expect("plain data"))
        .collect();
    let expected = [
        r#"{"by":"key","keys":["text contains \"refund\""],"posting":1"#,
        r#"{"by":"key","keys":["text contains \"bill\"","text contains \"invoice\"","ctx.name is \"Ada\""]"#,
        r#"{"by":"key","keys":["text contains \"order \""]"#,
        r#"{"by":"key","keys":["tags has the element \"beta tester\""]"#,
        r#"{"by":"bits","values":["ctx.name"]}"#,
        r#"{"by":"bits","values":["ctx.n","ctx.role"]}"#,
        r#"{"by":"bits","values":["ctx.n"]}"#,
        r#"{"by":"always","because":"it has only negative tests; "#,
        r#"{"by":"always","because":"it tests the elements of a list; "#,
        r#"{"by":"key","keys":["text contains \"card\"","text contains \"the whole text\"","text contains \"transfer\""]"#,
        r#"{"by":"key","keys":["text contains \"parcel\""],"posting":1"#,
        r#"{"by":"bits","values":["ctx.n"]}"#,
        r#"{"by":"key","keys":["text contains \"letter\"","text contains \"packet\""]"#,
        r#"{"by":"key","keys":["text ends with \".exe\""],"posting":1"#,
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn a_number_that_few_messages_have_is_a_key() {
    let rules = Rules::from_text(
        "input { text: string, ctx: { id?: int, score?: float } }\nroute number when ctx.id == 7 -> h\n\
         route several when ctx.id in [1, 2, 3] -> h\nroute float when ctx.score == 2.5 and ctx.id != 3 -> h",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let plans = rules.plan();
    let found = |at: usize| serde_json::to_string(&plans[0].routes[at].found).expect("plain data");
    assert!(found(0).starts_with(r#"{"by":"key","keys":["ctx.id is 7"]"#), "{}", found(0));
    assert_eq!(found(1), r#"{"by":"bits","values":["ctx.id"]}"#);
    assert_eq!(found(2), r#"{"by":"bits","values":["ctx.score","ctx.id"]}"#);
}

/// Former bug: the longest literal of a regex was its index key, however many rules shared that
/// literal. The other literals that the regex requires were not checked before the regex ran. They
/// are checked if most decisions test the regex.
#[test]
fn an_expression_is_found_by_what_is_rare_and_asked_for_all_it_requires() {
    let expression = |n: usize| format!("text matches \"(^|, )schedule [a-z]+ thing{n}x\"");
    let source: String = (0..60).map(|n| format!("route r{n} when {} -> h\n", expression(n))).collect();
    let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
    for (n, route) in rules.plan()[0].routes.iter().enumerate() {
        let found = serde_json::to_string(&route.found).expect("plain data");
        let expected = format!(r#"{{"by":"key","keys":["text contains \" thing{n}x\""],"posting":1"#);
        assert!(found.starts_with(&expected), "{found}\n{expected}");
    }
    assert_eq!(rules.index().literal_count, 60, "the keys");
    let source: String = (0..60).map(|n| format!("route r{n} when not {} -> h\n", expression(n))).collect();
    let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
    let index = rules.index();
    for answer in &index.literal_verdicts {
        let numbers = index.deciding_literal_ids.list(&answer.literal_ids);
        assert_eq!(numbers.len(), 2, "the verb and the thing: {answer:?} {numbers:?}");
        let is_first_alone = numbers[0] & LAST_IN_GROUP_FLAG != 0;
        assert!(!answer.are_literals_sufficient && is_first_alone, "each is needed");
    }
    assert_eq!(index.literal_count, 61);
}

/// Each literal makes the scan slower. Apart from index keys, that pays only for a long literal
/// that decides a predicate which most decisions test.
#[test]
fn literals_are_looked_for_where_they_are_keys_or_decide_often() {
    for (condition, literals) in [
        (r#"text contains "xy""#, 1),
        (r#"text not contains "xy" and ctx.id == "p1""#, 0),
        (r#"text not contains "xy""#, 0),
        (r#"text not contains "refunds" and ctx.id == "p1""#, 0),
        (r#"text not contains "refunds""#, 1),
        (r#"text contains "aigaigb" and text not contains "refunds""#, 1),
        (r#"text not starts_with "xy" and ctx.id == "p1""#, 1),
        (r#"text matches "(find|list) +gaigagebx""#, 1),
        (r#"text matches "(convert|compress) +gaigagebx""#, 1),
        (r#"not (text matches "(convert|compress) +gaigagebx")"#, 3),
    ] {
        let rules = Rules::from_text(&format!("route a when {condition} -> h")).expect("it compiles");
        assert_eq!(rules.index().literal_count, literals, "{condition}");
    }
}

/// Former bug: an index key of only one or two routes caused a field lookup in every message. If
/// the index searches many text fields, the engine now iterates over the fields of the message
/// instead. An absent field then costs little.
#[test]
fn what_few_routes_are_found_by_is_looked_up_where_nothing_else_finds_them() {
    // Bitmaps of these values exist for other routes. After they are intersected, few messages
    // remain for which the route is evaluated.
    let by_bits = r#"{"by":"bits","values":["ctx.channel","ctx.total","ctx.level"]}"#;
    for (texts, few) in [(1, by_bits), (30, r#"{"by":"key","keys":["ctx.channel is \"phone"#)] {
        let fields: String = (0..texts).map(|n| format!("t{n}?: string, ")).collect();
        let mut source = format!(
            "input {{ ctx: {{ {fields}channel: string, level: string, product: string, total: int, tags: list<string> }} }}\n\
             route few when ctx.channel == \"phone\" and ctx.total > 40 and ctx.level == \"l1\" -> h\n\
             route alone when ctx.tags contains \"beta tester\" -> h\n"
        );
        for n in 0..70 {
            source += &format!(
                "route r{n} when ctx.t{} contains \"thing{n}\" and ctx.total > {n} and ctx.level == \"l{}\" and ctx.channel != \"c{n}\" -> h\n\
                 route p{n} when ctx.product == \"p{n}\" and ctx.total > {n} -> h\n",
                n % texts,
                n % 5
            );
        }
        source += "route others when ctx.total > 90 and ctx.level != \"l3\" -> h\n";
        let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
        let expected = [
            few,
            r#"{"by":"key","keys":["ctx.tags has the element \"beta tester"#,
            r#"{"by":"key","keys":["ctx.t0 contains \"thing0"#,
            r#"{"by":"key","keys":["ctx.product is \"p0"#,
        ];
        for (route, expected) in rules.plan()[0].routes.iter().zip(expected) {
            let found = serde_json::to_string(&route.found).expect("plain data");
            assert!(found.starts_with(expected), "{found}");
        }
    }
}

/// Former bug: a third of all rules compared a field with the same value. The cost model assumed
/// that this value is as rare as any other value. The index used the value as a key for rules that
/// also had a far rarer literal.
#[test]
fn a_value_that_many_rules_name_is_no_rare_key() {
    let mut source = String::new();
    for n in 0..90 {
        let (category, level) = (if n % 3 == 0 { 0 } else { n }, n % 5);
        source += &format!(
            "route r{n} when ctx.category == \"c{category}\" and ctx.level == \"l{level}\" and ctx.q contains \"=={n}.\" -> h\n"
        );
    }
    let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
    for (n, route) in rules.plan()[0].routes.iter().enumerate().filter(|(n, _)| n % 3 == 0) {
        let found = serde_json::to_string(&route.found).expect("plain data");
        assert!(found.contains("ctx.q contains"), "{n}: {found}");
    }
}

/// Prefixes and suffixes are looked up at the start and end of a text, which also decides negated
/// tests. They must not be confused with substrings, longer prefixes, whole words, or other normal
/// forms of the text.
#[test]
fn edges_of_texts_are_decided_alike() {
    let words =
        ["a", ".exe", "\\RUN.exe", "run", "eightchr", "订单", "sixteen bytes ok", "seventeen bytes ok"];
    let operators = [
        "starts_with",
        "ends_with",
        "contains",
        "not (f starts_with W)",
        "not (f ends_with W)",
        "starts_with word",
    ];
    let mut source = String::new();
    for (at, word) in words.iter().enumerate() {
        for (by, operator) in operators.iter().enumerate() {
            for (form, suffix) in ["", " ignoring case"].iter().enumerate() {
                // Test a field that is one of many, so that the engine iterates over the message
                // fields, and a field that is the only one.
                for field in [format!("ctx.f{}", (at + by) % 31), "text".to_owned()] {
                    let (word, name) = (format!("{word:?}"), format!("r{at}_{by}_{form}_{}", field.len()));
                    let test = match operator.strip_prefix("not ") {
                        Some(test) => format!("not {}", test.replace("W)", &format!("{word}{suffix})"))),
                        None => format!("f {operator} {word}{suffix}"),
                    };
                    let test =
                        test.replace("(f ", &format!("({field} ")).replacen("f ", &format!("{field} "), 1);
                    source += &format!("route {name} when {test} and ctx.n == {} -> h\n", at % 3);
                }
            }
        }
    }
    source += "route both when text starts_with any [\"a\", \"run\"] and text ends_with all [\"e\", \"exe\"] -> h\n";
    (0..31).for_each(|at| source += &format!("route w{at} when ctx.f{at} == \"x{at}\" -> h\n"));
    let compiled = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
    let (reference, index) = (REFERENCE.compile(&compiled), INDEX.compile(&compiled));
    let mut session = index.session();
    let pieces =
        ["", "a", " ", ".EXE", ".exe", "\\run.exe", "Run", "eightchr", "订单", "sixteen bytes ok", "é"];
    for at in 0..1_500_usize {
        let text =
            |by: usize| -> String { [by, by / 11, by / 121].map(|by| pieces[by % pieces.len()]).concat() };
        let mut ctx = serde_json::Map::new();
        ctx.insert("n".into(), (at % 4).into());
        for field in 0..3 {
            // Some values are null or have another type, and some fields are read by no rule.
            let value = match (at + field) % 13 {
                0 => serde_json::Value::Null,
                1 => 7.into(),
                _ => text(at * 7 + field * 131).into(),
            };
            ctx.insert(format!("f{}", (at * 5 + field * 11) % 40), value);
        }
        if at % 50 == 0 {
            (0..200).for_each(|other| drop(ctx.insert(format!("other{other}"), "a".into())));
        }
        let message = serde_json::json!({ "text": text(at), "ctx": ctx });
        let (expected, chosen) = (reference.main().matched(&message), reference.decide(&message));
        assert_eq!(session.matched(&message), expected, "{message}");
        assert_eq!(session.decide(&message).chosen(), chosen.chosen(), "{message}");
        let line =
            session.decide_line(message.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(line.chosen(), chosen.chosen(), "{message}");
        assert_eq!(session.decide_prepared(&index.prepare(&message)).chosen(), chosen.chosen(), "{message}");
    }
}

/// The text scan reads blocks of bytes and examines between every byte and every fourth byte,
/// depending on the shortest word. Words of every length must be found at every offset, in either
/// case, and no other words.
#[test]
fn words_of_every_length_are_found_wherever_they_stand() {
    for shortest in 1..=8 {
        let word = |at: usize| -> String {
            let letters = ["x", "Q", "7", "é", "订", "-", "k", "ß", "Z"];
            let mut word = String::new();
            while word.len() < shortest + at % 6 {
                word += letters[(at * 5 + word.len() * 3 + shortest) % letters.len()];
            }
            word
        };
        let words: Vec<String> = (0..40).map(word).collect();
        let mut source = String::new();
        for (at, word) in words.iter().enumerate() {
            let (not, suffix) = (["", "not "][usize::from(at % 7 == 6)], ["", " ignoring case"][at % 2]);
            source +=
                &format!("route r{at} when text {not}contains {word:?}{suffix} and n == {} -> h\n", at % 4);
        }
        let compiled = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
        let (reference, index) = (REFERENCE.compile(&compiled), INDEX.compile(&compiled));
        let mut session = index.session();
        let mut hits = 0;
        for before in (0..9).chain(216..236).chain(250..260) {
            for (at, word) in words.iter().enumerate().skip(before % 3).step_by(3) {
                let word = if at % 4 < 2 { word.to_uppercase() } else { word.clone() };
                let text = format!("{}{word}{}", ".".repeat(before), ".".repeat(at % 5));
                let message = serde_json::json!({ "text": text, "n": at % 4 });
                let expected = reference.main().matched(&message);
                hits += usize::from(!expected.is_empty());
                assert_eq!(session.matched(&message), expected, "{message}");
                let chosen = reference.decide(&message);
                assert_eq!(session.decide(&message).chosen(), chosen.chosen(), "{message}");
            }
        }
        assert!(hits > 150, "only {hits} messages have a route");
    }
}

/// A table evaluates its first routes in order, as long as that costs no more than an index lookup.
/// With common words in the rules, an index lookup costs more, so there are more such routes.
#[test]
fn a_tables_first_routes_are_as_many_as_cost_what_the_index_costs() {
    let words = ["how", "say", "card", "bill", "book", "time", "much", "need"];
    let any = |n: usize, own: &str| -> String {
        let own = (0..12).map(|at| format!("{own}{}", n * 12 + at));
        let all: Vec<String> =
            words.iter().map(|word| (*word).to_owned()).chain(own).map(|word| format!("{word:?}")).collect();
        format!("text contains word any [{}]", all.join(", "))
    };
    let everyday = |n: usize| format!("route r{n} when {} and {} -> h\n", any(n, "a"), any(n, "b"));
    let rare = |n: usize| format!("route r{n} when text contains \"gaigagebx{n}\" and ctx.n > {n} -> h\n");
    let first = |route: &dyn Fn(usize) -> String, routes: usize| {
        let source: String = (0..routes).map(route).collect();
        let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
        rules.index().tables[0].first_route_count
    };
    let firsts = first(&everyday, 1_500);
    assert!((20..=64).contains(&firsts), "{firsts}");
    for routes in [20, 100, 1_000] {
        assert_eq!(first(&rare, routes), 10, "{routes} routes");
    }
}

/// With tens of thousands of routes without a key, the index groups them by the predicates that
/// rule them out. The first matching route is still chosen.
#[test]
fn tens_of_thousands_of_ranges_are_decided_in_their_order() {
    let below = |seed: u32, limit: u32| (seed.wrapping_mul(2_654_435_761) >> 8) % limit;
    let mut source = "input { a?: int, b?: int, c?: int, ok?: bool }\n".to_owned();
    for n in 0..20_000 {
        let field = ["a", "b", "c"][below(n, 3) as usize];
        let more = ["", " and ok == true", " and a != 7", " and b < 90"][below(n + 1, 4) as usize];
        let limit = below(n + 2, 30);
        let range = match n % 2 {
            0 => format!("{field} > {}", 100 - limit / 6),
            _ => format!("{field} in {limit}..{}", limit + 1),
        };
        source.push_str(&format!("route r{n} when {range}{more} -> h\n"));
    }
    let compiled = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
    let (reference, index) = (REFERENCE.compile(&compiled), INDEX.compile(&compiled));
    let mut hits = 0;
    for seed in 0..60 {
        let value = |of: u32| match below(seed * 5 + of, 8) {
            0 => serde_json::Value::Null,
            1..4 => below(seed + of, 40).into(),
            _ => (40 + below(seed * 3 + of, 62)).into(),
        };
        let ok = below(seed, 2) == 0;
        let message = serde_json::json!({"a": value(1), "b": value(2), "c": value(3), "ok": ok});
        let expected = reference.main().matched(&message);
        assert_eq!(index.main().matched(&message), expected, "{message}");
        assert_eq!(index.decide(&message).chosen(), expected.first().copied(), "{message}");
        hits += usize::from(!expected.is_empty());
    }
    assert!((20..60).contains(&hits), "{hits}");
}

/// If rules test many fields, the engine looks up only values that the message has. It iterates
/// over the shorter list: the fields of the message or the fields that rules test.
#[test]
fn fields_that_no_rule_asks_for_change_nothing() {
    let mut source = String::new();
    for n in 0..400 {
        let (field, other) = (n % 50, (n * 7 + 1) % 50);
        let condition = match field % 3 {
            0 => format!("ctx.f{field} == \"v{}\"", n % 11),
            1 => format!("ctx.f{field} contains \"w{}\" and ctx.f{other} is present", n % 13),
            _ => format!("ctx.f{field} > {}", n % 9),
        };
        source.push_str(&format!("route r{n} when {condition} -> h\n"));
    }
    let compiled = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
    let (reference, index) = (REFERENCE.compile(&compiled), INDEX.compile(&compiled));
    let mut hits = 0;
    for seed in 0..80_u32 {
        let mut ctx = serde_json::Map::new();
        for of in 0..6 {
            let field = (seed * 13 + of * 17) % 50;
            let value = match field % 3 {
                0 => serde_json::json!(format!("v{}", (seed + of) % 11)),
                1 => serde_json::json!(format!("a text with w{}", (seed + of) % 13)),
                _ => serde_json::json!((seed + of) % 12),
            };
            ctx.insert(format!("f{field}"), value);
        }
        // Half of the messages have far more fields than the rules read.
        for n in 0..(seed % 2) * 300 {
            ctx.insert(format!("other{n}"), n.into());
        }
        let message = serde_json::json!({ "ctx": ctx });
        let expected = reference.main().matched(&message);
        assert_eq!(index.main().matched(&message), expected, "{seed}");
        assert_eq!(index.decide(&message).chosen(), expected.first().copied(), "{seed}");
        hits += usize::from(!expected.is_empty());
    }
    assert!(hits > 40, "{hits}");
}
