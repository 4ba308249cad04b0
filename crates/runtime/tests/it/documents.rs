//! Tests of watched JSON documents of other systems: a bad item is skipped and reported, and a
//! broken document leaves the last good version active.
#![cfg(feature = "watch")]

use rulec::Compiler;
use rulec_import::{DocumentOptions, ImportError, Options, Outcome, System};
use rulec_runtime::route::{Request, Router, SourceLoader, WatchError, WatchStatus, WatchedRules};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Routes to the handlers `a` and `b`, with one route that cannot be used.
const ROUTES: &str = r#"{"routes": [
  {"name": "files", "handler": "a", "condition": {"type": "TextCondition", "contains": ["file"]}},
  {"name": "odd", "handler": "b", "condition": {"type": "Odd"}}
], "default": "b"}"#;

struct WatchedFile {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn write_file(name: &str, text: &str) -> WatchedFile {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, text).expect("it can be written");
    WatchedFile { _folder: folder, path }
}

async fn open(loader: impl Into<SourceLoader>, path: &Path) -> Result<WatchedRules, WatchError> {
    WatchedRules::open(loader, path).await
}

async fn next(rules: &mut WatchedRules) -> WatchStatus {
    tokio::time::timeout(Duration::from_secs(20), rules.changed()).await.expect("the change is seen")
}

fn skipped(status: &WatchStatus) -> Vec<(String, Option<(usize, usize)>)> {
    let report = status.report.as_ref().expect("a document");
    report.skipped().map(|item| (item.name.clone(), item.position)).collect()
}

#[tokio::test]
async fn a_document_is_watched_and_its_bad_items_are_reported() {
    let file = write_file("bot.json", ROUTES);
    let mut rules = open(Compiler::new(), &file.path).await.expect("it loads");
    let first = rules.status();
    assert_eq!(skipped(&first), [("odd".to_owned(), Some((3, 57)))]);
    let target = |rules: &WatchedRules, text: &str| {
        rules.decide(&json!({ "text": text })).target().expect("a target").to_owned()
    };
    assert_eq!((target(&rules, "my file"), target(&rules, "x")), ("a".to_owned(), "b".to_owned()));

    fs::write(&file.path, ROUTES.replace("[\"file\"]", "[\"folder\"]")).expect("it can be written");
    let second = next(&mut rules).await;
    assert_eq!((second.loaded, second.refused, &second.error), (2, 0, &None));
    assert_eq!((target(&rules, "my folder"), target(&rules, "my file")), ("a".to_owned(), "b".to_owned()));

    // A document that is no JSON, or has no known shape, leaves the rules as they are.
    for (text, expected) in [("{\"routes\": [", "line 1"), ("{\"songs\": []}", "no known document")] {
        fs::write(&file.path, text).expect("it can be written");
        let broken = next(&mut rules).await;
        assert!(broken.error.as_ref().is_some_and(|error| error.contains(expected)), "{broken:?}");
        assert_eq!((broken.generation, broken.loaded), (second.generation, 2));
        assert_eq!((target(&rules, "my folder"), skipped(&broken).len()), ("a".to_owned(), 1));
    }
    assert_eq!(rules.status().refused, 2);

    let without_bad_item = json!({ "routes": [], "default": "b" }).to_string();
    fs::write(&file.path, without_bad_item).expect("it can be written");
    let last = next(&mut rules).await;
    assert_eq!(
        (last.error.as_ref(), skipped(&last).len(), target(&rules, "my folder")),
        (None, 0, "b".to_owned())
    );
}

#[tokio::test]
async fn each_kind_of_document_skips_only_its_bad_item() {
    let condition = json!({
        "left": {"step_id": "s", "type": "number", "value": "n"},
        "operate": "number_greater_than",
        "right": {"type": "number", "value": 3},
    });
    let documents = [
        (System::Routes, serde_json::from_str(ROUTES).expect("JSON"), json!({"text": "my file"}), "files"),
        (
            System::Flows,
            json!([
                {"flow_id": "odd", "type": "keyword", "trigger_patterns": ["(?!x)"], "match_type": "regex"},
                {"flow_id": "greeting", "type": "keyword", "trigger_patterns": ["hi"]},
            ]),
            json!({"text": "hi"}),
            "greeting",
        ),
        (
            System::Choice,
            json!([
                {"branch_id": "default"},
                {"branch_id": "many", "is_default": false, "logic": "and", "conditions": [condition]},
                {"branch_id": "odd", "is_default": false, "logic": "XOR", "conditions": [condition]},
            ]),
            json!({"steps": {"s": {"n": 5}}}),
            "many",
        ),
    ];
    for (system, document, message, expected) in documents {
        let file = write_file("it.json", &document.to_string());
        let rules = open(Compiler::new(), &file.path).await.expect("it loads");
        let live = rules.rules().rules();
        let decision = live.default_entry().expect("an entry").decide(&message);
        let chosen = decision.flow().map(|flow| flow.id).or(decision.chosen());
        assert_eq!(chosen, Some(expected), "{system:?}");
        let status = rules.status();
        assert_eq!(skipped(&status).iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["odd"]);

        // A strict loader refuses the document, and names the item.
        let strict = DocumentOptions { options: Options::default().strict(), ..DocumentOptions::default() };
        let loader = SourceLoader::from(Compiler::new()).document(strict);
        let refused = open(loader, &file.path).await.expect_err("it has a bad item");
        assert!(matches!(&refused, WatchError::Document(ImportError::Untranslatable(_))), "{refused}");
        assert!(refused.to_string().contains("line 1"), "{refused}");
    }
}

#[tokio::test]
async fn a_payload_context_is_loaded_with_its_rules() {
    let context = json!({
        "workflows": {"sales": {"status": "READY"}, "odd": 7},
        "subagents": {}
    });
    let file = write_file("context.json", &context.to_string());
    let rules = open(Compiler::new(), &file.path).await.expect("it loads");
    let loaded = rules.loaded_rules();
    let imported = loaded.document.expect("a document");
    assert_eq!(skipped(&rules.status()), [("odd".to_owned(), Some((1, 36)))]);
    let judge = imported.judge("execute_workflow").expect("a kind");
    let judged = |workflow: &str| {
        let payload = json!({"action_type": "execute_workflow", "workflow_id": workflow});
        let judgement = judge.judge(&payload);
        judgement.violations().iter().any(|violation| violation.path.contains("workflow_id"))
    };
    assert_eq!((judged("sales"), judged("unknown")), (false, true));
}

#[tokio::test]
async fn a_router_follows_a_document_and_other_names_need_a_system() {
    async fn name_of_handler(request: Request) -> Json {
        json!(request.handler)
    }
    let file = write_file("bot.txt", ROUTES);
    let rules = rulec::Rules::from_text("default -> a").expect("rules");
    let builder = Router::builder(rules).handler("a", name_of_handler).handler("b", name_of_handler);
    let router = builder.build().expect("a router");
    // Without a system, a file with another name is the text of rules.
    let error = router.watch(Compiler::new(), &file.path).await.expect_err("it is no rules text");
    assert!(matches!(error, WatchError::Compile(_)), "{error}");
    let document = DocumentOptions { system: Some(System::Routes), ..DocumentOptions::default() };
    let loader = SourceLoader::from(Compiler::new()).document(document);
    let watch = router.watch(loader.clone(), &file.path).await.expect("it loads");
    assert_eq!(router.route(json!({"text": "my file"})).await.handler.as_deref(), Some("a"));
    let report = watch.status().report.expect("a document");
    let outcomes: Vec<_> = report.items().iter().map(|item| (&*item.name, item.outcome)).collect();
    assert_eq!(outcomes, [("files", Outcome::Loaded), ("odd", Outcome::Skipped)]);
    // A document has no signature.
    let error = open(loader.signed_only(true), &file.path).await.expect_err("it is not signed");
    assert!(matches!(error, WatchError::Unsigned(_)), "{error}");
    // Rules from a document change only with the document.
    assert!(router.rules().insert("route x when text == \"x\" -> a").is_err());
}
