//! Tests of folders of rules: files that appear become rule sets, and files that are removed leave.

use super::{Running, start_with};
use rulec_import::DocumentOptions;
use rulec_serve::{RuleFolders, RuleListing, RuleSource, RulesLocation, ServerSignal};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

/// Lists the rule files of a folder. A file whose text begins with `# imports NAME` imports a file.
/// A file with the text `broken` does not compile.
fn list(folder: &Path) -> RuleListing {
    let mut listing = RuleListing { is_complete: true, ..RuleListing::default() };
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "rules"))
        .collect();
    paths.sort();
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).unwrap_or_default());
    for text in texts {
        listing.is_complete &= !text.contains("broken");
        let name = text.strip_prefix("# imports ").and_then(|rest| rest.lines().next());
        listing.imported_paths.extend(name.map(|name| folder.join(name)));
    }
    for path in paths.into_iter().filter(|path| !listing.imported_paths.contains(path)) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        listing.sources.push(RuleSource {
            rule_set_name: name,
            location: RulesLocation::File { path, import_root: None },
            document: DocumentOptions::default(),
        });
    }
    listing
}

async fn start() -> Running {
    start_with("default -> chat", |options, folder| {
        options.rules.clear();
        let listed = folder.to_owned();
        options.folders = Some(RuleFolders {
            paths: vec![folder.to_owned()],
            initial_listing: list(folder),
            list_rules: Arc::new(move || Ok(list(&listed))),
        });
        options.log = Some(super::log::log_options(folder.join("log.jsonl"), rulec_serve::LogMode::Sync));
    })
    .await
}

fn names(rules: &Json) -> Vec<&str> {
    let sets = rules["rules"].as_array().expect("a list");
    sets.iter().map(|set| set["name"].as_str().expect("a name")).collect()
}

impl Running {
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("it can be written");
    }

    /// Waits for an event about the rule set `rules`.
    async fn wait_for_event(&self, kind: &str, rules: &str) -> Json {
        loop {
            let events = self.events.lock().expect("no test panics here").clone();
            let found = events.iter().find(|event| event["event"] == kind && event["rules"] == rules);
            if let Some(event) = found {
                return event.clone();
            }
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn files_come_and_go() {
    let service = start().await;
    service.write("billing.rules", "default -> invoices");
    service.wait_for("/v1/rules", |rules| names(rules) == ["support", "billing"]).await;
    let body = |rules: &str| json!({ "rules": rules, "message": {} }).to_string();
    let decided = service.post("/v1/decide", &body("billing")).await.json();
    assert_eq!(decided["target"], "invoices");
    // The new rule set watches its own file too.
    service.write("billing.rules", "default -> receipts");
    while service.post("/v1/decide", &body("billing")).await.json()["target"] != "receipts" {
        tokio::task::yield_now().await;
    }
    std::fs::remove_file(service.folder.path().join("support.rules")).expect("it is there");
    service.wait_for("/v1/rules", |rules| names(rules) == ["billing"]).await;
    assert_eq!(service.post("/v1/decide", &body("support")).await.status, 404);
    service.wait_for_event("added", "billing").await;
    service.wait_for_event("removed", "support").await;
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("rulec_generation{rules=\"billing\"}"), "{metrics}");
    assert!(!metrics.contains("rulec_generation{rules=\"support\"}"), "{metrics}");
    // A thread writes the log, so the last line may come after the event.
    let path = service.folder.path().join("log.jsonl");
    let log = || std::fs::read_to_string(&path).expect("a log");
    while !log().contains("\"removed\":{\"rules\":\"support\"}") {
        tokio::task::yield_now().await;
    }
    assert!(log().contains("\"added\":{"));
}

#[tokio::test]
async fn a_broken_new_file_leaves_what_is_in_force() {
    let service = start().await;
    service.write("billing.rules", "broken");
    let refused = service.wait_for_event("refused", "billing").await;
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("billing.rules")), "{refused}");
    let rules = service.get("/v1/rules").await.json();
    assert_eq!(names(&rules), ["support"]);
    // A request without a name still means the only rule set.
    assert_eq!(service.post("/v1/decide", r#"{"message": {}}"#).await.json()["target"], "chat");
    service.write("billing.rules", "default -> invoices");
    service.wait_for("/v1/rules", |rules| names(rules) == ["support", "billing"]).await;
}

/// While the importing file is broken, the service cannot read its imports. It must then remember
/// which files were imported before.
#[tokio::test]
async fn an_imported_file_does_not_become_a_rule_set() {
    let service = start().await;
    service.write("common.rules", "default -> common");
    service.wait_for("/v1/rules", |rules| names(rules) == ["support", "common"]).await;
    service.write("support.rules", "# imports common.rules\ndefault -> chat");
    // A changed file does not make the service list the folder again, so it is asked to.
    service.stop.send(ServerSignal::Reload).await.expect("it runs");
    service.wait_for("/v1/rules", |rules| names(rules) == ["support"]).await;
    service.write("support.rules", "broken");
    service.write("other.rules", "default -> other");
    let rules = service.wait_for("/v1/rules", |rules| names(rules).contains(&"other")).await;
    assert_eq!(names(&rules), ["support", "other"]);
}

#[tokio::test]
async fn a_folder_that_cannot_be_listed_changes_nothing() {
    let service = start_with("default -> chat", |options, folder| {
        options.rules.clear();
        options.folders = Some(RuleFolders {
            paths: vec![folder.to_owned()],
            initial_listing: list(folder),
            list_rules: Arc::new(|| Err(rulec::Message::verbatim("the folder is away"))),
        });
    })
    .await;
    service.stop.send(ServerSignal::Reload).await.expect("it runs");
    let has_failed = |event: &Json| event["event"] == "failure" && event["error"] == "the folder is away";
    while !service.events.lock().expect("no test panics here").iter().any(has_failed) {
        tokio::task::yield_now().await;
    }
    assert_eq!(names(&service.get("/v1/rules").await.json()), ["support"]);
}
