//! Output of the importers: whole files as snapshots, single conditions as tables, and refused
//! input.

use rulec_import::{ImportError, Imported, Options, System};
use serde_json::{Value as Json, json};
use std::path::Path;

fn strict() -> Options {
    Options::default().strict()
}

fn import_sample(system: System) -> Imported {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/samples/{}.json", system.name()));
    let text = std::fs::read_to_string(path).expect("the sample lies here");
    system.import(&text, strict()).expect("the sample can be imported")
}

#[test]
fn whole_files() {
    for system in [System::Routes, System::Choice, System::Flows] {
        let imported = import_sample(system);
        assert!(imported.rules.warnings().is_empty());
        let notes: String = imported.report.messages().map(|note| format!("note: {note}\n")).collect();
        insta::assert_snapshot!(system.name(), format!("{}----\n{notes}", imported.text));
    }
}

/// Returns the imported condition of a route.
fn import_condition(json: Json) -> String {
    let routes = json!([{ "name": "r", "condition": json, "handler": "h" }]);
    let text = System::Routes.import_value(&routes, strict()).expect("it can be imported").text;
    let start = text.find("when ").expect("there is a route") + "when ".len();
    let end = text.find(" -> h").or(text.find("\n  -> h")).expect("there is a target");
    text[start..end].trim_end().to_owned()
}

#[test]
fn conditions_of_routes() {
    let text = |words: &[&str]| json!({"type": "TextCondition", "contains": words});
    let not = |inner: Json| json!({"type": "NotCondition", "condition": inner});
    let and = |parts: &[Json]| json!({"type": "AndCondition", "conditions": parts});
    let or = |parts: &[Json]| json!({"type": "OrCondition", "conditions": parts});
    let (a, b) = (text(&["a"]), text(&["b"]));
    let (wa, wb) = (r#"text contains "a" ignoring case"#, r#"text contains "b" ignoring case"#);
    let table = [
        (a.clone(), wa.to_owned()),
        (
            json!({"type": "TextCondition", "keywords": ["x", "y"], "case_sensitive": true}),
            r#"text contains word any ["x", "y"]"#.to_owned(),
        ),
        (and(&[]), "true".to_owned()),
        (or(&[]), "false".to_owned()),
        (not(and(&[])), "false".to_owned()),
        (not(not(a.clone())), wa.to_owned()),
        (and(&[a.clone(), or(&[b.clone(), a.clone()])]), format!("{wa}\n    and ({wb} or {wa})")),
        (not(or(&[a.clone(), b.clone()])), format!("not ({wa} or {wb})")),
        (and(&[a.clone(), and(&[b.clone(), or(&[])])]), format!("{wa} and {wb} and false")),
        (
            json!({"type": "RegexCondition", "pattern": "x$", "case_sensitive": false}),
            r#"text matches r"x\n?$" ignoring case"#.to_owned(),
        ),
        (
            json!({"type": "SimilarityCondition", "text": "hi", "threshold": 0.8}),
            r#"similarity(text, "hi") >= 0.8"#.to_owned(),
        ),
        (json!({"type": "ContextCondition", "n__gte": 3}), "ctx.n >= 3".to_owned()),
        (
            json!({"type": "ContextCondition", "odd name": [1, {"a": null}]}),
            r#"ctx["odd name"] == [1, { a: null }]"#.to_owned(),
        ),
        (
            json!({"type": "ContextCondition", "n__gt": 3, "n__ne": "x"}),
            r#"ctx.n as number > 3 and ctx.n as string != "x""#.to_owned(),
        ),
        (
            json!({"type": "ContextCondition", "at__lt": "2026-01-31T09:30:00Z"}),
            r#"ctx.at as datetime < "2026-01-31T09:30:00Z""#.to_owned(),
        ),
        // No value equals null, and the negation of this condition is not true either.
        (json!({"type": "ContextCondition", "n": null}), "false".to_owned()),
        (not(json!({"type": "ContextCondition", "n": null})), "false".to_owned()),
        (
            not(and(&[a.clone(), json!({"type": "ContextCondition", "n__ne": null})])),
            format!("not ({wa} and true)"),
        ),
        (json!({"type": "ContextCondition", "urgency": "high"}), r#"urgency == "high""#.to_owned()),
        (
            json!({"type": "ErrorCondition", "occurrence_count__gt": 2}),
            "(ctx.error_counts[ctx.last_error_type] ?? 0) > 2".to_owned(),
        ),
        (
            json!({"type": "PermissionCondition", "user_role": "admin", "required_permissions": ["write"]}),
            r#"ctx.user.role == "admin" and ctx.user.permissions contains "write""#.to_owned(),
        ),
    ];
    for (json, written) in table {
        assert_eq!(import_condition(json.clone()), written, "{json}");
    }
}

#[test]
fn derived_facts_give_way_to_the_context() {
    let routes = json!([
        {"name": "hot", "priority": 2, "condition": {"type": "ContextCondition", "urgency": "high"}, "handler": "h"},
        {"name": "calm", "priority": 1, "condition": {"type": "NotCondition", "condition":
            {"type": "ContextCondition", "urgency": "high"}}, "handler": "h"},
        {"name": "long", "priority": 3, "condition": {"type": "ContextCondition", "message_length__gt": 40}, "handler": "h"},
    ]);
    let rules = System::Routes.import_value(&routes, strict()).expect("it can be imported").rules;
    for (text, ctx, chosen) in [
        ("this is URGENT", json!({}), "hot"),
        ("系统紧急故障", json!({}), "hot"),
        ("no hurry", json!({}), "calm"),
        ("no hurry", json!({"urgency": "high"}), "hot"),
        ("this is urgent", json!({"urgency": "low"}), "calm"),
        ("no hurry", json!({"message_length": 50}), "long"),
        ("this is urgent, and it is a rather long message", json!({}), "long"),
        ("this is urgent, and it is a rather long message", json!({"message_length": 1}), "hot"),
    ] {
        let message = json!({"text": text, "ctx": ctx});
        assert_eq!(rules.decide(&message).chosen(), Some(chosen), "{message}");
    }
}

/// Returns the imported condition of a branch, or the comment in its place.
fn import_comparison(left: &str, operate: &str, right: Json) -> String {
    let left = json!({"step_id": "s", "type": left, "value": "x"});
    let condition = json!({"id": "c1", "left": left, "operate": operate, "right": right});
    let branches = json!([{"branch_id": "b", "is_default": false, "conditions": [condition]}]);
    let text = System::Choice.import_value(&branches, strict()).expect("it can be imported").text;
    let body = text.split("branch b {").nth(1).expect("there is a branch");
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('}'));
    // Joins the lines of a comment.
    lines.collect::<Vec<_>>().join(" ").replace(" # ", " ").trim_end_matches([' ', '}', ';']).to_owned()
}

#[test]
fn conditions_of_branches() {
    let constant = |ty: &str, value: Json| json!({"type": ty, "value": value});
    let step = |ty: &str| json!({"step_id": "t", "type": ty, "value": "a/b c"});
    let table = [
        ("number", "number_equal", constant("number", json!("3")), "steps.s.x as number == 3"),
        ("string", "string_equal", constant("string", json!("'3'")), "steps.s.x as string == \"3\""),
        ("string", "string_equal", constant("string", json!("3")), "steps.s.x as string == \"3\""),
        (
            "string",
            "string_not_contains",
            constant("string", json!("a b")),
            "steps.s.x as string not contains \"a b\"",
        ),
        ("bool", "bool_not_equal", constant("bool", json!("True")), "steps.s.x as bool != true"),
        ("list", "list_equal", constant("list", json!("[1, 'a']")), "steps.s.x as list == [1, \"a\"]"),
        ("list", "list_length_less_than", constant("number", json!(2)), "len(steps.s.x as list) < 2"),
        ("dict", "dict_contains_key", constant("string", json!("k")), "steps.s.x as dict has_key \"k\""),
        (
            "string",
            "string_regex_match",
            constant("string", json!("a|b")),
            "steps.s.x as string matches r\"^(?:a|b)\"",
        ),
        ("number", "number_less_than", step("number"), "steps.s.x as number < steps.t.a[\"b c\"] as number"),
        (
            "list",
            "list_contains",
            step("dict"),
            "steps.s.x as list<dict> contains steps.t.a[\"b c\"] as dict",
        ),
        (
            "list",
            "list_length_equal",
            step("string"),
            "len(steps.s.x as list) == len(steps.t.a[\"b c\"] as string)",
        ),
    ];
    for (left, operate, right, written) in table {
        assert_eq!(import_comparison(left, operate, right), written);
    }
    for (left, operate, right, says) in [
        (
            "number",
            "number_equal",
            constant("number", json!("--5")),
            "Left out: `s/x number_equal \"--5\"`, since the operator needs a number",
        ),
        ("number", "number_equal", constant("number", json!(true)), "the right value is a boolean"),
        ("number", "number_equal", constant("string", json!("5")), "the right value has the type `string`"),
        ("number", "number_equal", constant("number", json!(null)), "the right value is missing"),
        ("array", "number_equal", constant("number", json!(1)), "there is no type `array`"),
        ("number", "number_eq", constant("number", json!(1)), "there is no operator `number_eq`"),
        (
            "number",
            "number_equal",
            json!({"step_id": "", "type": "number", "value": "x"}),
            "the right value names no step",
        ),
        (
            "number",
            "string_equal",
            constant("string", json!("a")),
            "never holds: the operator is for a string",
        ),
        ("string", "list_contains", constant("string", json!("a")), "[steps.s.x as string] == []"),
        ("string", "string_equal", step("number"), "does not take a number on its right side"),
        ("string", "string_regex_match", constant("string", json!("'('")), "is not a regular expression"),
        ("dict", "dict_not_equal", constant("dict", json!("{1: 2}")), "len(steps.s.x as dict) >= 0"),
    ] {
        let written = import_comparison(left, operate, right);
        assert!(written.contains(says), "{says}: {written}");
    }
}

#[track_caller]
fn import_error(system: System, text: &str) -> String {
    let error = system.import(text, strict()).expect_err("it is refused");
    assert!(!matches!(error, ImportError::Internal(_)), "{error}");
    error.to_string()
}

#[test]
fn what_cannot_be_translated_is_named_by_its_place() {
    let route =
        |condition: &str| format!("[{{\"name\": \"a\", \"handler\": \"h\",\n  \"condition\": {condition}}}]");
    for (condition, says) in [
        (r#"{"type": "Odd"}"#, "route `a`: unknown condition `Odd`"),
        (r#"{"type": "Odd"}"#, "at `[0].condition.type` (line 2, column 25)"),
        (
            r#"{"type": "TextCondition"}"#,
            "needs `contains` or `keywords`, at `[0].condition` (line 2, column 16)",
        ),
        (r#"{"type": "TextCondition", "keywords": [""]}"#, "an empty keyword"),
        (r#"{"type": "TextCondition", "contains": "a"}"#, "expected a list of texts, found a text"),
        (
            r#"{"type": "TextCondition", "contains": ["a"], "fuzzy": true}"#,
            "a `TextCondition` has no `fuzzy`",
        ),
        (
            r#"{"type": "RegexCondition", "pattern": "a(?=b)"}"#,
            "route `a`: the regular expression `a(?=b)` cannot be translated: look-around",
        ),
        (r#"{"type": "RegexCondition", "pattern": "("}"#, "is not closed"),
        (r#"{"type": "RegexCondition"}"#, "needs `pattern`"),
        (r#"{"type": "ContextCondition", "n__like": 1}"#, "unknown comparison `like`"),
        (r#"{"type": "ContextCondition", "n__gt": "x"}"#, "`>` compares numbers"),
        (r#"{"type": "ContextCondition", "urgency": 1}"#, "`urgency` must be a string"),
        (r#"{"type": "NotCondition"}"#, "needs `condition`"),
        (r#"{"type": "AndCondition", "conditions": {}}"#, "expected a list of conditions, found an object"),
        (r#"7"#, "expected a condition, an object, found a number"),
    ] {
        let error = import_error(System::Routes, &route(condition));
        assert!(error.contains(says), "{says}: {error}");
    }
    for (system, text, says) in [
        (System::Routes, "[{]", "key is not a string at line 1, column 3"),
        (System::Routes, "{}", "the document needs `routes`"),
        (System::Routes, "[{\"name\": \"a\"}]", "route `a`: a route needs `handler`"),
        (System::Routes, "[{\"handler\": \"a\"}]", "a route needs `name`"),
        (System::Choice, "3", "expected a list of branches"),
        (
            System::Choice,
            r#"[{"branch_id": "b", "logic": "xor"}]"#,
            "branch `b`: a branch's logic must be `and` or `or`",
        ),
        (
            System::Choice,
            r#"[{"branch_id": "b", "is_default": "no"}]"#,
            "expected true or false, found a text",
        ),
        (System::Choice, "[{}]", "a branch needs `branch_id`"),
        (System::Flows, "[{}]", "a flow needs `flow_id` or `name`"),
        (System::Flows, r#"[{"flow_id": "f", "type": "other"}]"#, "flow `f`: `type` cannot be `other`"),
        (
            System::Flows,
            r#"[{"flow_id": "f", "match_type": "glob"}]"#,
            "the values are exact, contains, regex",
        ),
        (
            System::Flows,
            r#"[{"flow_id": "f", "type": "keyword", "trigger_patterns": ["a", " "]}]"#,
            "flow `f`: this pattern is blank; remove it, at `[0].trigger_patterns[1]` (line 1, column 64)",
        ),
        (
            System::Flows,
            r#"[{"flow_id": "f", "type": "keyword", "match_type": "regex", "trigger_patterns": ["("]}]"#,
            "the pattern `(` cannot be translated: a group is not closed",
        ),
    ] {
        let error = import_error(system, text);
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn names_that_had_to_change_are_known_by_the_originals() {
    let route = |name: &str, word: &str| json!({"name": name, "handler": "h", "condition": {"type": "TextCondition", "contains": [word]}});
    let routes =
        json!([route("a", "one"), route("a", "two"), route("default", "three"), route("x`y", "four")]);
    let imported = System::Routes.import_value(&routes, strict()).expect("it can be imported");
    for (text, written, original) in
        [("one", "a", "a"), ("two", "a_2", "a"), ("three", "default_2", "default"), ("four", "x_y", "x`y")]
    {
        let decision = imported.rules.decide(&json!({ "text": text }));
        assert_eq!(decision.chosen(), Some(written));
        assert_eq!(imported.original(written), original);
    }
}

/// Regression test: the permissions of a route were kept as metadata, which nothing enforces.
#[test]
fn permissions_of_routes_become_those_of_their_handlers() {
    let route = |name: &str, handler: &str, metadata: Json| {
        let condition = json!({"type": "TextCondition", "contains": [name]});
        json!({"name": name, "condition": condition, "handler": handler, "metadata": metadata})
    };
    let import = |routes: &[Json]| {
        System::Routes.import_value(&json!({"routes": routes, "default": "chat"}), strict())
    };
    let requires = |permission: Json| json!({"requires_permission": permission});
    let imported = import(&[
        route("a", "run", requires(json!("execute"))),
        route("b", "goto", requires(json!(["x \"y\"", "z", "z"]))),
        route("c", "plain", json!({"type": "t"})),
        route("d", "run", json!({})),
    ])
    .expect("it can be imported");
    let handlers: String = imported.text.lines().filter(|line| line.starts_with("handler ")).collect();
    assert_eq!(
        handlers,
        "handler run() requires permission \"execute\"handler `goto`() requires permission \"x \\\"y\\\"\", \"z\"\
         handler plain()handler chat()"
    );
    let notes: Vec<_> = imported.report.messages().collect();
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(
        note,
        "the routes to the handler `run` require different permissions; now each route requires all of them"
    );
    let decision = imported.rules.decide(&json!({"text": "d"}));
    assert_eq!(decision.required_permissions().len(), 1);
    // The original's metadata are kept for programs that read them.
    assert_eq!(imported.rules.decide(&json!({"text": "a"})).metadata()["requires_permission"], "execute");

    let plain = import(&[route("a", "run", json!({"type": "t"}))]).expect("it can be imported");
    assert!(!plain.text.contains("handler "));
    for (permission, expected) in [(json!(""), "a permission needs a name"), (json!(3), "expected a text")] {
        let refused = import(&[route("a", "run", requires(permission))]).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(expected) && refused.contains("requires_permission"), "{refused}");
    }
}

/// The documented format spells operators, types and logic in capitals, and uses the key `name`.
/// Regression test: such conditions were left out, and `AND` was an error.
#[test]
fn the_documents_own_spelling_means_the_same() {
    let branches = |logic: &str, ty: &str, key: &str, operate: &str, right: Json| {
        json!([{"branch_id": "b", "is_default": false, "logic": logic, "conditions": [
            {"left": {"step_id": "s", "type": ty, key: "x/y"}, "operate": operate, "right": right},
            {"left": {"step_id": "s", "type": ty, key: "x/z"}, "operate": operate, "right": right},
        ]}])
    };
    // Comments keep the spelling.
    let text = |json: Json| {
        let text = System::Choice.import_value(&json, strict()).expect("it can be imported").text;
        let is_rule = |line: &&str| !line.trim_start().starts_with("# json:");
        text.lines().filter(is_rule).collect::<Vec<_>>().join("\n")
    };
    let number = |ty: &str| json!({"type": ty, "value": 3});
    let string = |ty: &str| json!({"type": ty, "value": "a"});
    let mut compared = 0;
    for (verb, families) in [
        ("equal", "string number"),
        ("not_equal", "string number"),
        ("greater_than", "number"),
        ("less_than", "number"),
        ("greater_than_or_equal", "number"),
        ("less_than_or_equal", "number"),
        ("contains", "string list"),
        ("not_contains", "string list"),
        ("starts_with", "string"),
        ("ends_with", "string"),
        ("regex_match", "string"),
        ("length_equal", "string list"),
        ("length_greater_than", "string list"),
        ("length_less_than_or_equal", "string list"),
        ("contains_key", "dict"),
        ("not_contains_key", "dict"),
    ] {
        for family in families.split(' ') {
            let right: &dyn Fn(&str) -> Json = match family == "number" || verb.starts_with("length") {
                true => &|capitals: &str| number(if capitals.is_empty() { "number" } else { "NUMBER" }),
                false => &|capitals: &str| string(if capitals.is_empty() { "string" } else { "STRING" }),
            };
            let upper = |text: &str| text.to_ascii_uppercase();
            let stored = text(branches("or", family, "value", &format!("{family}_{verb}"), right("")));
            let spelt = text(branches("OR", &upper(family), "name", &upper(verb), right("yes")));
            assert_eq!(spelt, stored, "{family} {verb}");
            assert!(stored.contains("branch b any {") && !stored.contains("Left out"), "{stored}");
            compared += 1;
        }
    }
    assert_eq!(compared, 23);
    let spelt = text(branches("Logic.AND", "NUMBER", "value", "GTE", number("NUMBER")));
    assert!(spelt.contains("steps.s.x.y as number >= 3;"), "{spelt}");
    // A spelling that matches neither format is still left out.
    for operate in ["STRING_EQUAL", "equal", "Equal"] {
        let left_out = text(branches("and", "string", "value", operate, string("string")));
        assert!(left_out.contains(&format!("there is no operator `{operate}`")), "{left_out}");
    }
    let refused =
        System::Choice.import_value(&branches("XOR", "string", "value", "x", json!(null)), strict());
    assert!(refused.is_err_and(|error| error.to_string().contains("a branch's logic must be `and` or `or`")));
}

#[test]
fn a_choice_for_the_user_stays_one() {
    let json = json!({"name": "next", "to_user": true, "choices": [{"branch_id": "a"}]});
    let imported = System::Choice.import_value(&json, strict()).expect("it can be imported");
    assert!(
        imported.text.contains("choice next to_user {") && imported.report.messages().next().is_none(),
        "{}",
        imported.text
    );
    let refused =
        System::Choice.import_value(&json!({"to_user": "yes", "choices": []}), strict()).unwrap_err();
    assert_eq!(refused.to_string(), "expected true or false, found a text, at `to_user`");
}

/// Regression test: the executor tool was kept only as a comment, so programs could not use it.
#[test]
fn the_tool_of_the_flows_is_kept() {
    let import = |tools: Json| {
        System::Flows.import_value(
            &json!({"flows": [{"flow_id": "a", "description": "does a"}], "tools": tools}),
            strict(),
        )
    };
    let endpoint = json!({"url": "http://h/{flow_id}", "headers": {"X-Y": "#who#"}, "body": {"a b": [1, null], "c": "{flow_id}"}});
    let described =
        json!({"properties": {"flow_id": {"description": "one of the list"}, "n": {"type": "integer"}}});
    let tools = json!([
        {"name": "search", "description": "finds"},
        {"name": "flow_executor", "description": "says \"go\"", "parameters": described, "endpoint": endpoint},
    ]);
    let imported = import(tools).expect("it can be imported");
    let tool = imported.rules.program().flow_tool.clone().expect("there is a tool");
    assert_eq!((&*tool.name, &*tool.description), ("flow_executor", "says \"go\""));
    assert_eq!((&*tool.parameter_description, &tool.endpoint), ("one of the list", &endpoint));
    let notes = imported.report.messages().map(|note| format!("{note}\n")).collect::<String>();
    assert!(
        notes.contains("the tool `search` executes no flow") && notes.contains("the parameter `n`"),
        "{notes}"
    );
    assert!(imported.text.contains("# json: document {\"tools\":{\"0\":{"), "{}", imported.text);
    // A tool with only a name is valid.
    let bare = import(json!([{"name": "flow_executor"}])).expect("it can be imported").text;
    assert!(bare.contains("flow tool flow_executor { }"), "{bare}");
    for (tools, says) in [
        (
            json!([{"name": "flow_executor", "endpoint": {}}]),
            "an endpoint needs `url`, at `tools[0].endpoint`",
        ),
        (json!([{"description": "x"}]), "a tool needs `name`, at `tools[0]`"),
        (json!(7), "expected a list of tools, found a number, at `tools`"),
    ] {
        let error = import(tools).unwrap_err().to_string();
        assert!(error.ends_with(says), "{error}");
    }
}
