//! Tests of loading JSON documents as rules, without a rules file on disk. Each document has one
//! bad item of each kind. All other items are loaded, and the report names the bad items with their
//! positions.

use rulec::Rules;
use rulec_import::{ImportError, Imported, ItemKind, Options, Outcome, RulesFromJson, System};
use serde_json::{Value as Json, json};

/// Returns kind, name and pointer of each skipped item.
fn skipped(imported: &Imported) -> Vec<(ItemKind, &str, &str)> {
    imported.report.skipped().map(|item| (item.kind, &*item.name, &*item.pointer)).collect()
}

/// Checks that a strict import refuses the document, and that its error contains a text.
fn assert_refused(system: System, document: &Json, says: &str) {
    let error = system.import_value(document, Options::default().strict()).expect_err("it is refused");
    assert!(!matches!(error, ImportError::Internal(_)) && error.to_string().contains(says), "{error}");
}

fn flow(id: &str, patterns: Json, matching: &str) -> Json {
    json!({"flow_id": id, "description": id, "type": "keyword", "trigger_patterns": patterns, "match_type": matching})
}

fn found_flow(rules: &Rules, text: &str) -> Option<String> {
    let decision = rules.entry("flows").expect("there are flows").decide(&json!({"text": text}));
    decision.flow().map(|flow| flow.id.to_owned())
}

#[test]
fn a_bot_without_a_usable_flow_answers_that_none_matches() {
    for flows in [json!([]), json!([flow("a", json!([" "]), "exact")])] {
        let loaded = Rules::from_flows(&json!({ "flows": flows }).to_string()).expect("it is loaded");
        assert_eq!(found_flow(&loaded.rules, "hello"), None);
        let matcher = rulec::flow::FlowMatcher::offline(&loaded.rules).expect("it selects flows");
        assert!(matches!(matcher.find("hello"), rulec::flow::FlowSelection::Nothing { .. }));
    }
}

#[test]
fn flows_without_the_bad_patterns_and_flows() {
    let document = json!({"flows": [
        flow("greeting", json!(["hello", "  ", "你好"]), "exact"),
        flow("order_status", json!(["订单", 7]), "contains"),
        flow("leave", json!(["请.*天假", "(?!没)请假", "(", "休假$"]), "regex"),
        flow("only_bad", json!(["(?<=a)b", ""]), "regex"),
        flow("glob", json!(["x"]), "glob"),
        {"flow_id": "typed", "type": "keyword", "trigger_patterns": "typed"},
        {"flow_id": 5},
        {"description": "no id"},
        "no object",
        {"flow_id": "complaint", "description": "takes complaints"},
        flow("greeting", json!(["hey"]), "exact"),
    ], "tools": [{"description": "no name"}, {"name": "flow_executor", "endpoint": {"url": "http://h/{flow_id}"}}]});
    let text = serde_json::to_string_pretty(&document).expect("it is JSON");
    let loaded = Rules::from_flows(&text).expect("it is loaded");
    for (message, flow) in [
        ("hello", Some("greeting")),
        ("你好", Some("greeting")),
        ("hey", Some("greeting")),
        ("查订单", Some("order_status")),
        ("请三天假", Some("leave")),
        ("我要休假", Some("leave")),
        ("typed", None),
        ("ab", None),
    ] {
        assert_eq!(found_flow(&loaded.rules, message).as_deref(), flow, "{message}");
    }
    assert!(loaded.rules.program().flow_tool.is_some() && loaded.rules.program().has_intents());
    assert_eq!(
        skipped(&loaded),
        [
            (ItemKind::Tool, "", "/tools/0"),
            (ItemKind::Pattern, "  ", "/flows/0/trigger_patterns/1"),
            (ItemKind::Pattern, "", "/flows/1/trigger_patterns/1"),
            (ItemKind::Pattern, "(?!没)请假", "/flows/2/trigger_patterns/1"),
            (ItemKind::Pattern, "(", "/flows/2/trigger_patterns/2"),
            (ItemKind::Flow, "only_bad", "/flows/3/trigger_patterns/0"),
            (ItemKind::Flow, "glob", "/flows/4/match_type"),
            (ItemKind::Flow, "typed", "/flows/5/trigger_patterns"),
            (ItemKind::Flow, "", "/flows/6/flow_id"),
            (ItemKind::Flow, "", "/flows/7"),
            (ItemKind::Flow, "", "/flows/8"),
        ]
    );
    let outcome = |pointer: &str| {
        loaded.report.items().iter().find(|item| item.pointer == pointer).map(|item| item.outcome)
    };
    assert_eq!(outcome("/flows/0"), Some(Outcome::Adapted));
    assert_eq!(outcome("/flows/9"), Some(Outcome::Loaded));
    // The second flow with an id has another name in the rules, and answers with its id.
    assert_eq!(outcome("/flows/10"), Some(Outcome::Adapted));
    // Each item has its place in the text.
    for item in loaded.report.items() {
        let value = document.pointer(&item.pointer).expect("the pointer leads to a value");
        let range = item.range.clone().expect("the item has a range");
        let here: Json = serde_json::from_str(&text[range.clone()]).expect("the range is a value");
        assert_eq!(here, *value);
        let before = &text[..range.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        assert_eq!(item.position, Some((line, column)), "{}", item.pointer);
    }
    assert_refused(System::Flows, &document, "a tool needs `name`");
    assert_refused(System::Flows, &json!([flow("a", json!(["x", " "]), "exact")]), "this pattern is blank");
    assert_refused(System::Flows, &json!([flow("a", json!(["(?!x)"]), "regex")]), "look-around");
}

#[test]
fn routes_without_the_bad_ones() {
    let route = |name: &str, condition: Json| json!({"name": name, "priority": 5, "handler": "h", "condition": condition});
    let text = |word: &str| json!({"type": "TextCondition", "contains": [word]});
    let document = json!({"routes": [
        route("files", text("file")),
        route("ahead", json!({"type": "RegexCondition", "pattern": "a(?=b)"})),
        route("like", json!({"type": "ContextCondition", "n__like": 1})),
        route("nested", json!({"type": "NotCondition", "condition": {"type": "Odd"}})),
        route("urgent", json!({"type": "ContextCondition", "urgency": "high", "message_length": "long"})),
        {"name": "typed", "priority": "high", "handler": "h", "condition": text("x")},
        route("run", text("run")),
    ], "default": 7});
    let loaded = Rules::from_routes(&document.to_string()).expect("it is loaded");
    let chosen = |text: &str| loaded.rules.decide(&json!({"text": text})).chosen().map(str::to_owned);
    assert_eq!(chosen("my file").as_deref(), Some("files"));
    assert_eq!(chosen("run it").as_deref(), Some("run"));
    assert_eq!(chosen("ab"), None);
    assert_eq!(
        skipped(&loaded),
        [
            (ItemKind::Default, "", "/default"),
            (ItemKind::Route, "ahead", "/routes/1/condition/pattern"),
            (ItemKind::Route, "like", "/routes/2/condition/n__like"),
            (ItemKind::Route, "nested", "/routes/3/condition/condition/type"),
            (ItemKind::Route, "urgent", "/routes/4/condition/message_length"),
            (ItemKind::Route, "typed", "/routes/5/priority"),
        ]
    );
    let reasons: String = loaded.report.messages().map(|message| format!("{message}\n")).collect();
    assert!(reasons.contains("route `like` was skipped: unknown comparison `like`"), "{reasons}");
    // A skipped route adds nothing to the file.
    let rules_text: Vec<&str> = loaded.text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(!rules_text.concat().contains("urgency"), "{}", loaded.text);
    assert_refused(System::Routes, &document, "expected a text, found a number");
}

#[test]
fn an_item_with_a_value_that_is_no_json_is_skipped() {
    let text = r#"{"flows": [
        {"flow_id": "a", "type": "keyword", "trigger_patterns": ["hi", "\ud800 half"]},
        {"flow_id": "b", "type": "keyword", "trigger_patterns": ["ho"], "weight": NaN},
        {"flow_id": "\udc00", "type": "keyword", "trigger_patterns": ["hu"]},
        {"flow_id": "d", "type": "keyword", "trigger_patterns": ["\ud83d\ude00"]}
    ], "version": Infinity}"#;
    let loaded = Rules::from_flows(text).expect("it is loaded");
    for (message, flow) in [("hi", Some("a")), ("ho", None), ("hu", None), ("😀", Some("d"))] {
        assert_eq!(found_flow(&loaded.rules, message).as_deref(), flow, "{message}");
    }
    let mut found = skipped(&loaded);
    found.sort_by_key(|(.., pointer)| *pointer);
    assert_eq!(
        found,
        [
            (ItemKind::Pattern, "", "/flows/0/trigger_patterns/1"),
            (ItemKind::Flow, "b", "/flows/1/weight"),
            (ItemKind::Flow, "", "/flows/2/flow_id"),
            (ItemKind::Field, "", "/version"),
        ]
    );
    let reasons: String = loaded.report.messages().map(|message| format!("{message}\n")).collect();
    assert!(
        reasons.contains("half of a surrogate pair") && reasons.contains("`NaN` is no number"),
        "{reasons}"
    );
    assert!(reasons.contains("(line 3, column"), "{reasons}");
    assert!(System::Flows.import(text, Options::default().strict()).is_err());
    assert_eq!(System::recognize_text(text).ok().flatten(), Some(System::Flows));
    assert!(System::recognize_text("[NaN").is_err());

    // A branch without its condition would hold too often.
    let above = number_above("s", json!(0)).to_string();
    let text = format!(
        r#"[{{"branch_id": "default"}},
            {{"branch_id": "bad", "is_default": false, "conditions": [{above}, {}]}},
            {{"branch_id": "good", "is_default": false, "conditions": [{}]}}]"#,
        above.replace(":0}", ":NaN}"),
        number_above("s", json!(10)),
    );
    let loaded = Rules::from_choices(&text).expect("it is loaded");
    assert_eq!(chosen_branch(&loaded.rules, "next_step", 5).as_deref(), Some("default"));
    assert_eq!(chosen_branch(&loaded.rules, "next_step", 50).as_deref(), Some("good"));
    assert_eq!(skipped(&loaded).len(), 1, "{:?}", loaded.report);

    let text = r#"{"routes": [
        {"name": "a", "handler": "h", "condition": {"type": "TextCondition", "contains": ["x"]}, "metadata": {"n": NaN}},
        {"name": "b", "handler": "h", "condition": {"type": "TextCondition", "contains": ["x"]}}]}"#;
    let loaded = Rules::from_routes(text).expect("it is loaded");
    assert_eq!(loaded.rules.decide(&json!({"text": "x"})).chosen(), Some("b"));

    // A part that is skipped anyway is reported once. Its range is the range in the text.
    let text = "{\"routes\": [], \"default\": \"é\\ud800\"}";
    let loaded = Rules::from_routes(text).expect("it is loaded");
    let ranges: Vec<&str> =
        loaded.report.skipped().map(|item| &text[item.range.clone().expect("it has one")]).collect();
    assert_eq!(ranges, ["\"é\\ud800\""]);
    let text =
        r#"{"flows": [{"flow_id": "a"}], "settings": {"intent_threshold": NaN, "intent_margin": -0.0}}"#;
    let loaded = Rules::from_flows(text).expect("it is loaded");
    assert_eq!(skipped(&loaded), [(ItemKind::Field, "intent_threshold", "/settings/intent_threshold")]);

    // Without a counter, no limit could be checked.
    assert!(Rules::from_payload_context(r#"{"api_calls": NaN}"#).is_err());
    assert!(Rules::from_payload_context(r#"{"limit": NaN}"#).is_err());
    let text = r#"{"workflows": {"v": {"status": "READY", "inputs": NaN}, "w": {"status": "READY"}}}"#;
    let loaded = Rules::from_payload_context(text).expect("it is loaded");
    let context = loaded.context.as_ref().expect("a context was loaded");
    assert!(context["workflows"]["v"].is_null() && context["workflows"]["w"].is_object());
}

fn branch(id: &str, logic: Json, conditions: Json) -> Json {
    json!({"branch_id": id, "logic": logic, "conditions": conditions, "is_default": false})
}

fn number_above(step: &str, limit: Json) -> Json {
    let right = json!({"type": "number", "value": limit});
    json!({"left": {"step_id": step, "type": "number", "value": "n"}, "operate": "number_greater_than", "right": right})
}

fn chosen_branch(rules: &Rules, choice: &str, n: i64) -> Option<String> {
    let decision = rules.entry(choice).expect("the choice").decide(&json!({"steps": {"s": {"n": n}}}));
    decision.branch().map(str::to_owned)
}

#[test]
fn choices_without_the_bad_branches_and_conditions() {
    let string = |operate: &str, value: &str| {
        json!({"id": operate, "left": {"step_id": "s", "type": "STRING", "value": "t"}, "operate": operate,
               "right": {"type": "STRING", "value": value}})
    };
    let ahead = json!({
        "left": {"step_id": "s", "type": "string", "value": "t"}, "operate": "string_regex_match",
        "right": {"type": "string", "value": "a(?=b)"}});
    let document = json!([
        {"branch_id": "default", "is_default": true},
        branch("large", json!("and"), json!([number_above("s", json!(100)), string("LIKE", "x")])),
        branch("xor", json!("XOR"), json!([number_above("s", json!(0))])),
        branch("ahead", json!("and"), json!([ahead])),
        branch("typed", json!("and"), json!("none")),
        branch("huge", json!("or"), json!([7, number_above("s", json!(1000))])),
        branch("wide", json!("and"), json!([number_above("s", json!(0)), ahead])),
        branch("wide_any", json!("or"), json!([ahead, number_above("s", json!(9000))])),
        {"branch_id": "flag", "is_default": "no"},
    ]);
    let loaded = Rules::from_choices(&document.to_string()).expect("it is loaded");
    // The branch `wide` needs both conditions. Without the one that cannot be translated, it would
    // hold for every number here, so the whole branch is skipped.
    for (n, chosen) in [(5, "default"), (500, "large"), (5000, "huge"), (9500, "wide_any")] {
        assert_eq!(chosen_branch(&loaded.rules, "next_step", n).as_deref(), Some(chosen));
    }
    assert_eq!(
        skipped(&loaded),
        [
            (ItemKind::Condition, "LIKE", "/1/conditions/1"),
            (ItemKind::Branch, "xor", "/2/logic"),
            (ItemKind::Branch, "ahead", "/3/conditions/0/right/value"),
            (ItemKind::Branch, "typed", "/4/conditions"),
            (ItemKind::Condition, "a condition", "/5/conditions/0"),
            (ItemKind::Branch, "wide", "/6/conditions/1/right/value"),
            (ItemKind::Condition, "s/t string_regex_match \"a(?=b)\"", "/7/conditions/0/right/value"),
            (ItemKind::Branch, "flag", "/8/is_default"),
        ]
    );
    // The operator is unknown. Its capitals must not lead to a message about the types instead.
    let item = loaded.report.skipped().next().expect("there is one");
    assert_eq!(item.notes[0].to_string(), "there is no operator `LIKE`");
    assert_refused(System::Choice, &document, "a branch's logic must be `and` or `or`");
}

#[test]
fn several_choices_and_the_steps_of_a_workflow() {
    let choice = |id: &str, limit: i64| {
        json!({"choices": [{"branch_id": format!("{id}_default")},
                           branch(id, json!("and"), json!([number_above("s", json!(limit))]))]})
    };
    let mut named = choice("first", 1);
    named["name"] = json!("one");
    let several = json!([named, {"name": "bad", "choices": 7}, {"name": "two", "branches": choice("second", 2)["choices"]}]);
    let steps = json!({"name": "orders", "steps": [
        {"step_id": "one", "type": "Choice", "params": choice("first", 1)},
        {"step_id": "bad", "type": "Choice", "params": {"choices": 7}},
        {"step_id": "call", "type": "API", "params": {"url": "http://h"}},
        {"step_id": "two", "type": "Choice", "params": {"input_parameters": choice("second", 2)}},
    ]});
    let map = json!({"flow": {"steps": {"one": {"params": choice("first", 1)}, "bad": {"choices": 7},
                                        "two": choice("second", 2)}}});
    for document in [several, steps, map] {
        assert_eq!(System::recognize(&document), Some(System::Choice), "{document}");
        let loaded = Rules::from_choices(&document.to_string()).expect("it is loaded");
        for (name, branch) in [("one", "first"), ("two", "second")] {
            assert_eq!(chosen_branch(&loaded.rules, name, 5).as_deref(), Some(branch), "{document}");
            assert_eq!(chosen_branch(&loaded.rules, name, 0), Some(format!("{branch}_default")));
        }
        let bad: Vec<ItemKind> = skipped(&loaded).into_iter().map(|(kind, ..)| kind).collect();
        assert_eq!(bad, [ItemKind::Choice]);
        assert_refused(System::Choice, &document, "expected a list of branches, found a number");
    }
    // Steps may share a name. Their ids, here the keys of the map, distinguish them.
    let (mut one, mut two) = (choice("first", 1), choice("second", 2));
    (one["name"], two["name"]) = (json!("Choice"), json!("Choice"));
    let shared = json!({"steps": {"b7e1": one, "c9f2": {"name": "Choice", "params": two}}});
    let loaded = Rules::from_choices(&shared.to_string()).expect("it is loaded");
    assert_eq!(chosen_branch(&loaded.rules, "b7e1", 5).as_deref(), Some("first"));
    assert_eq!(chosen_branch(&loaded.rules, "c9f2", 5).as_deref(), Some("second"));
    // A document without any choice has nothing to load.
    let error = Rules::from_choices(r#"{"steps": []}"#).expect_err("there is no choice").to_string();
    assert!(error.contains("the document needs `choices`"), "{error}");
    assert!(Rules::from_choices(r#"{"choices": 7}"#).is_err());
}

#[test]
fn a_payload_context_without_the_bad_items() {
    let node = json!({"type": "HTTP", "config": {"url": "http://h"}});
    let document = json!({
        "workflows": {
            "good": {"status": "READY", "inputs": {}, "nodes": {"n1": node, "bad": {"type": 7}}},
            "typed": {"status": 3, "inputs": {}, "nodes": {}},
            "inputs": {"status": "READY", "inputs": {"n": {"type": "int", "required": "yes"}}, "nodes": {}},
        },
        "subagents": {"coder": {"task": {"type": "str", "required": true}}, "odd": {"task": "text"}},
        "requests_last_minute": 3,
    });
    let loaded = Rules::from_payload_context(&document.to_string()).expect("it is loaded");
    assert_eq!(
        skipped(&loaded),
        [
            (ItemKind::Node, "bad", "/workflows/good/nodes/bad/type"),
            (ItemKind::Workflow, "inputs", "/workflows/inputs/inputs/n/required"),
            (ItemKind::Workflow, "typed", "/workflows/typed/status"),
            (ItemKind::Subagent, "odd", "/subagents/odd/task"),
        ]
    );
    let judge = loaded.judge("execute_workflow").expect("the kind is known");
    let run = |id: &str| judge.judge(&json!({"workflow_id": id, "action_type": "execute_workflow"}));
    let unknown = |id: &str| run(id).violations().iter().any(|violation| violation.path == "$.workflow_id");
    // A skipped item counts as unknown, so that the guard refuses it.
    assert_eq!(
        ["good", "typed", "inputs", "absent"].map(unknown),
        [false, true, true, true],
        "{:?}",
        run("good").violations()
    );
    assert_refused(System::Context, &document, "expected a text, found a number");
    // Without a counter, no limit could be checked, so a wrong one is always refused.
    for (context, message) in [
        (
            r#"{"api_calls": "many"}"#,
            "expected a whole number, found a text, at `api_calls` (line 1, column 15)",
        ),
        (r#"{"cost": "3.5"}"#, "expected a number, found a text, at `cost` (line 1, column 10)"),
        (r#"{"api_calls": -5}"#, "`api_calls` must not be below 0, at `api_calls` (line 1, column 15)"),
    ] {
        let error = Rules::from_payload_context(context).expect_err("it is refused");
        assert_eq!(error.to_string(), message);
    }
    let counted =
        Rules::from_payload_context(r#"{"cost": 3.5, "max_loop_iterations": 9}"#).expect("it is loaded");
    assert!(counted.report.messages().next().is_none());
    // A workflow without its nodes has none, so that the guard can check what names one.
    let bare =
        Rules::from_payload_context(r#"{"workflows": {"w": {"status": "READY"}}}"#).expect("it is loaded");
    assert_eq!(bare.report.items()[0].outcome, Outcome::Adapted);
    let update =
        json!({"action_type": "modify_node", "node_id": "n", "updates": {"config.code": "os.environ"}});
    let judgement = bare.judge("modify_node").expect("the kind is known").judge(&update);
    assert!(judgement.violations().iter().any(|violation| violation.path == "$.node_id"), "{judgement:?}");
}

/// Former gap: only the bundled rules could be loaded with a stored context that has a bad item.
#[test]
fn a_payload_context_for_own_rules() {
    let own = "input { context?: { workflows?: dict<any>, owner?: string } }
        payload run strict {
          id: string
          require \"run.known\" at id: context.workflows has_key id
          require \"run.owner\" at id: context.owner == \"ann\"
        }";
    let rules = Rules::from_text(own).expect("the rules compile");
    let context = r#"{"workflows": {"good": {"status": "READY"}, "bad": {"status": 7}}, "owner": "ann"}"#;
    let loaded = Rules::from_payload_context_with(&rules, context).expect("it is loaded");
    assert_eq!(skipped(&loaded), [(ItemKind::Workflow, "bad", "/workflows/bad/status")]);
    // The bundled rules do not read `owner`, but these rules do.
    assert!(loaded.report.items().iter().all(|item| item.kind != ItemKind::Document));
    assert_eq!(loaded.text, own);
    let judge = loaded.judge("run").expect("the kind is known");
    let accepts = |id: &str| judge.judge(&json!({ "id": id })).is_accepted();
    assert_eq!(["good", "bad"].map(accepts), [true, false]);
    assert!(loaded.judge("execute_workflow").is_err());
}

#[test]
fn documents_are_recognized_by_their_shape() {
    for (document, system) in [
        (json!({"flows": []}), Some(System::Flows)),
        (json!([{"flow_id": "a"}]), Some(System::Flows)),
        (json!({"routes": [], "default": "x"}), Some(System::Routes)),
        (json!([{"name": "a", "condition": {}, "handler": "h"}]), Some(System::Routes)),
        (json!([{"branch_id": "a"}]), Some(System::Choice)),
        (json!({"choices": []}), Some(System::Choice)),
        (json!({"workflows": {}}), Some(System::Context)),
        (json!({"subagents": {}, "api_calls": 3}), Some(System::Context)),
        (json!({"flows": [], "routes": []}), None),
        (json!({"songs": []}), None),
        (json!([]), None),
        (json!(7), None),
    ] {
        assert_eq!(System::recognize(&document), system, "{document}");
    }
}

/// Former gap: the importer could not compare patterns as the original system does, with case and
/// white space.
#[test]
fn patterns_match_literally_by_choice() {
    let document = json!([
        flow("exact", json!(["Hello", " Hi ", "  ", ""]), "exact"),
        flow("contains", json!([" World"]), "contains"),
        flow("regex", json!(["Bye$", " "]), "regex"),
    ]);
    let options = Options::default().literal();
    let loaded = System::Flows.import_value(&document, options).expect("it is loaded");
    for (message, flow) in [
        ("Hello", Some("exact")),
        ("hello", None),
        ("Hello ", None),
        (" Hi ", Some("exact")),
        ("Hi", None),
        ("  ", Some("exact")),
        ("my World", Some("contains")),
        ("myWorld", None),
        ("my world", None),
        ("Good Bye", Some("regex")),
        ("good bye", None),
    ] {
        assert_eq!(found_flow(&loaded.rules, message).as_deref(), flow, "{message:?}");
    }
    let pointers: Vec<&str> = loaded.report.skipped().map(|item| &*item.pointer).collect();
    assert_eq!(pointers, ["/0/trigger_patterns/3", "/2/trigger_patterns/1"]);
    // Writing the rules as JSON again keeps every pattern, also the skipped ones.
    let exported = System::Flows.export(&loaded.rules);
    let again = System::Flows.import_value(&exported.document, options).expect("it is loaded");
    assert_eq!(exported.document["flows"], document);
    assert_eq!(again.rules.program().rules.len(), loaded.rules.program().rules.len());
    assert!(exported.report.messages().any(|note| note.to_string().contains("`--literal`")));
    // With regular expressions only, one setting for the whole file states that case counts.
    let regexes = json!([flow("regex", json!(["Bye"]), "regex")]);
    let text = System::Flows.import_value(&regexes, options).expect("it is loaded").text;
    assert!(text.contains("settings { case: sensitive }"), "{text}");
    // All patterns of a document are compared in one way, so the second flow cannot be written.
    let mixed = "flow a keyword exact [\"A\"] -> \"a\"\nflow b keyword exact [\"B\"] matching case -> \"b\"";
    let exported = System::Flows.export(&Rules::from_text(mixed).expect("it compiles"));
    let skipped: Vec<String> = exported.report.skipped().map(|item| item.name.clone()).collect();
    assert_eq!(skipped, ["b"]);
}

/// Regression test: explanations named lines of the generated rules, which no user has seen.
#[test]
fn explanations_refer_to_the_document() {
    let text = r#"{"routes": [
  {"name": "files", "handler": "h", "tags": [1],
   "condition": {"type": "TextCondition", "contains": ["file"]}},
  {"name": "bad", "handler": "h", "condition": {"type": "Odd"}},
    {"name": "urgent", "handler": "h", "condition": {"type": "ContextCondition", "urgency": "high"}}
], "version": 3}"#;
    let loaded = Rules::from_routes(text).expect("it is loaded").named("router.json");
    let places = |json: &str, message: Json, rules: &Rules, entry: &str| {
        let explanation = rules.entry(entry).expect("the entry").explain(&message, false);
        let shown = serde_json::to_value(&explanation).expect("it is JSON").to_string();
        assert!(!shown.contains("<text>"), "{shown}");
        assert!(shown.contains(json), "{json}: {shown}");
    };
    places(r#""file":"router.json","line":2"#, json!({"text": "file"}), &loaded.rules, "routes");
    places(r#""file":"router.json","line":5"#, json!({"text": "urgent"}), &loaded.rules, "routes");
    let text = format!(
        "[{{\"branch_id\": \"d\"}},\n\n {}, {{\"branch_id\": \"x\", \"logic\": \"XOR\"}},\n  {}]",
        branch("small", json!("and"), json!([number_above("s", json!(1)), number_above("s", json!(2))])),
        branch("large", json!("and"), json!([number_above("s", json!(100))])),
    );
    let loaded = Rules::from_choices(&text).expect("it is loaded").named("nodes.json");
    let message = json!({"steps": {"s": {"n": 50}}});
    places(r#""file":"nodes.json","line":3"#, message.clone(), &loaded.rules, "next_step");
    places(r#""file":"nodes.json","line":4"#, message, &loaded.rules, "next_step");
}
