//! Values of `@private` fields are in no answer of the studio: each value and key of the messages
//! contains a token, and no answer contains the token.

use crate::support::{Answer, Open};
use data::{BROKEN, CONTEXT, PAYLOADS, RULES, TOKEN, log, messages};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

#[path = "../../../../tests/support/private.rs"]
mod data;

/// A studio whose answers are searched for private values. Also records the routes that were
/// requested.
struct Driver {
    open: Open,
    driven: BTreeSet<(&'static str, &'static str)>,
}

impl Driver {
    /// Sends a request and checks that its answer has no private value. `path` is an instance of
    /// the route.
    fn drive(&mut self, route: (&'static str, &'static str), path: &str, body: Option<&Json>) -> Answer {
        let answer = self.unchecked(route, path, body);
        check(&format!("{} {path} {body:?}", route.0), &answer.body);
        answer
    }

    /// Sends a request without checking its answer, which may contain the author's own text.
    fn unchecked(&mut self, route: (&'static str, &'static str), path: &str, body: Option<&Json>) -> Answer {
        self.driven.insert(route);
        self.open.ask(route.0, path, body)
    }

    /// Sends a POST request that must succeed.
    fn post(&mut self, path: &'static str, body: &Json) -> Json {
        let answer = self.drive(("POST", path), path, Some(body));
        assert_eq!(answer.status, 200, "{path} {body}: {answer:?}");
        answer.json()
    }

    /// Sends a POST request that may be refused.
    fn try_post(&mut self, path: &'static str, body: &Json) {
        self.drive(("POST", path), path, Some(body));
    }

    fn get(&mut self, route: &'static str, path: &str) -> Json {
        let answer = self.drive(("GET", route), path, None);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }
}

/// The test fails if the studio has a route that the test does not request.
#[test]
fn no_answer_of_any_route_shows_a_private_value() {
    let lines = messages().into_iter().chain(BROKEN.map(str::to_owned)).collect::<Vec<_>>().join("\n");
    let open = Open::new(&[("desk.rules", RULES), ("input.jsonl", &lines), ("log.jsonl", &log())]);
    let mut driver = Driver { open, driven: BTreeSet::new() };
    drive_editor(&mut driver);
    drive_views(&mut driver);
    drive_decisions(&mut driver);
    let replays = drive_replays(&mut driver);
    drive_reports(&mut driver, &replays);
    let all: BTreeSet<_> = rulec_studio::route_methods_and_paths().into_iter().collect();
    assert_eq!(driver.driven, all, "each route is driven");
}

fn drive_editor(driver: &mut Driver) {
    // The text of the file is the author's own, and so are the texts that answer these requests.
    let file = "/api/file?rules=0&file=desk.rules";
    let stamp = driver.unchecked(("GET", "/api/file"), file, None).json()["stamp"].clone();
    let row = json!({"rules": 0, "key": "routes/none", "change": {"kind": "add"}});
    driver.unchecked(("POST", "/api/rows"), "/api/rows", Some(&row));
    driver.unchecked(("POST", "/api/format"), "/api/format", Some(&json!({"text": RULES})));
    driver.post("/api/save", &json!({"rules": 0, "file": "desk.rules", "text": RULES, "stamp": stamp}));
    driver.post("/api/rules", &json!({"name": "b.rules", "text": RULES}));
    let kept = [json!({"name": "one", "entry": "routes", "message": messages()[0]})];
    let stamp = driver.get("/api/messages", "/api/messages?rules=0")["stamp"].clone();
    let keep = json!({"rules": 0, "stamp": stamp, "messages": kept});
    driver.unchecked(("PUT", "/api/messages"), "/api/messages", Some(&keep));
    let draft = RULES.replace("given text = \"TOKEN text\"", "given text = \"TOKEN draft\"");
    driver.post("/api/check", &json!({"rules": 0, "file": "desk.rules", "text": draft, "findings": true}));
    let cursors = (0..draft.len()).filter(|at| draft.is_char_boundary(*at)).step_by(29);
    for at in cursors {
        let place = json!({"rules": 0, "file": "desk.rules", "text": draft, "at": at});
        for path in ["/api/complete", "/api/hover", "/api/definition"] {
            driver.post(path, &place);
        }
    }
}

fn drive_views(driver: &mut Driver) {
    driver.get("/api/session", "/api/session");
    driver.get("/api/codes/{code}", "/api/codes/W0217");
    for draft in ["", "&draft=true"] {
        driver.get("/api/overview", &format!("/api/overview?rules=0{draft}"));
        for analysed in [true, false] {
            driver.get("/api/map", &format!("/api/map?rules=0{draft}&analysed={analysed}"));
        }
        for table in ["routes", "tone", "mood", "flows", "rounds"] {
            for analysed in [true, false] {
                let asked = format!("/api/table?rules=0{draft}&table={table}&analysed={analysed}");
                driver.get("/api/table", &asked);
            }
        }
    }
}

fn drive_decisions(driver: &mut Driver) {
    let version = json!({"rules": 0});
    let texts: Vec<String> = messages().into_iter().chain(BROKEN.map(str::to_owned)).collect();
    for text in &texts {
        for entry in ["routes", "tone", "mood", "flows", "rounds", "review"] {
            driver.post("/api/decide", &json!({"version": version, "entry": entry, "message": text}));
        }
        // The output of a workflow's node.
        let output = json!({"output": text, "next": ["second"]}).to_string();
        driver.post("/api/decide", &json!({"version": version, "entry": "rounds", "message": output}));
        driver.try_post("/api/test", &json!({"version": version, "entry": "routes", "message": text}));
    }
    for text in texts.iter().step_by(5) {
        for route in ["phones", "codes"] {
            let ask = json!({"version": version, "entry": "routes", "message": text, "route": route});
            driver.try_post("/api/near", &ask);
        }
    }
    for text in texts.iter().step_by(40) {
        driver.try_post("/api/near", &json!({"version": version, "entry": "routes", "message": text}));
    }
    let context = format!("{{\"context\": {CONTEXT}}}");
    for payload in PAYLOADS {
        let ask = json!({"version": version, "entry": "send", "message": payload, "context": context});
        driver.post("/api/decide", &ask);
        driver.try_post("/api/test", &ask);
    }
    let broken = json!({"version": version, "entry": "send", "message": "{}", "context": BROKEN[0]});
    driver.post("/api/decide", &broken);
}

/// Replays the log, the messages and an upload; returns the ids of the replays.
fn drive_replays(driver: &mut Driver) -> Vec<u64> {
    let upload: Json = serde_json::from_str(&messages()[4]).expect("it is JSON");
    driver.drive(("POST", "/api/uploads"), "/api/uploads?name=messages.jsonl", Some(&upload));
    let (saved, draft) = (json!({"rules": 0}), json!({"rules": 0, "draft": true}));
    let mut ids = Vec::new();
    for source in [0, 1, 2] {
        for entry in ["routes", "mood", "send"] {
            let ask = json!({"version": saved, "source": source, "entry": entry, "against": draft});
            let id = driver.post("/api/replays", &ask)["id"].as_u64().expect("a replay has an id");
            // The stream of events ends with the replay.
            driver.drive(("GET", "/api/replays/{id}/events"), &format!("/api/replays/{id}/events"), None);
            driver.get("/api/replays/{id}", &format!("/api/replays/{id}"));
            let (route, rows) = ("/api/replays/{id}/rows", format!("/api/replays/{id}/rows"));
            driver.drive(("POST", route), &rows, Some(&json!({"limit": 200})));
            for line in (1..=messages().len()).step_by(7) {
                let path = format!("/api/replays/{id}/rows/{line}");
                driver.drive(("GET", "/api/replays/{id}/rows/{line}"), &path, None);
                let row = json!({"version": saved, "entry": "routes", "message": "", "row": {"replay": id, "line": line}});
                driver.try_post("/api/decide", &row);
                driver.try_post("/api/test", &row);
            }
            driver.drive(("DELETE", "/api/replays/{id}"), &format!("/api/replays/{id}"), None);
            ids.push(id);
        }
    }
    ids
}

fn drive_reports(driver: &mut Driver, replays: &[u64]) {
    for version in [json!({"rules": 0}), json!({"rules": 0, "draft": true})] {
        let mut asked = vec![json!({"version": version})];
        // Only the last replays are kept.
        let kept = replays.iter().rev().take(6);
        asked.extend(kept.map(|id| json!({"version": version, "replay": id})));
        for ask in asked {
            driver.post("/api/report", &ask);
            // Without the feature `assets` there is no page, and the request is refused.
            driver.try_post("/api/report.html", &ask);
        }
    }
}

/// Another program, or older rules, may have written a log without masks.
#[test]
fn a_log_without_masks_is_masked_and_cannot_be_searched_for_private_values() {
    let line = |extra: Json| {
        let mut line = json!({
            "generation": 1, "entry": "routes", "route": "texts", "path": ["routes"], "args": {"t": "TOKEN"},
            "context": {"id": "TOKEN", "text": "TOKEN"}, "text": "TOKEN",
            "error": "the handler got TOKEN", "explanation": {"entry": "TOKEN"}, "tried": [{"error": "TOKEN"}],
            "failures": [{"function": "f", "message": "TOKEN"}], "input": {"text": "TOKEN"},
        });
        line.as_object_mut().expect("it is an object").extend(extra.as_object().cloned().unwrap_or_default());
        line.to_string()
    };
    let lines = [
        line(json!({})),
        line(json!({"message": {"text": "TOKEN", "place": "here"}})),
        line(json!({"message": "TOKEN", "route": "gone"})),
        line(json!({"args": {"other": "TOKEN"}, "route": "default", "context": ["TOKEN"]})),
    ];
    let open = Open::new(&[("desk.rules", RULES), ("log.jsonl", &lines.join("\n"))]);
    let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    let rows = |text: &str| open.post(&format!("/api/replays/{id}/rows"), json!({"limit": 9, "text": text}));
    let all = rows("");
    assert_eq!(all["total"], 4, "{all}");
    check("rows", &all.to_string());
    for row in 1..=4 {
        check("row", &open.get(&format!("/api/replays/{id}/rows/{row}")).to_string());
    }
    assert_eq!((&rows("tok")["total"], &rows("TOKEN")["total"]), (&json!(0), &json!(0)));
    assert_eq!((&rows("here")["total"], &rows("texts")["total"]), (&json!(1), &json!(2)));
}

/// If a message has no private value, the studio shows its error as the log has it.
#[test]
fn texts_of_a_log_are_shown_if_the_message_has_no_private_value() {
    let line = json!({
        "generation": 1, "entry": "routes", "route": "default", "path": ["routes"], "error": "it was late",
        "message": {"place": "here"},
    });
    let open = Open::new(&[("desk.rules", RULES), ("log.jsonl", &line.to_string())]);
    let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    assert_eq!(open.get(&format!("/api/replays/{id}/rows/1"))["logged"]["error"], "it was late");
}

#[test]
fn a_line_that_was_replaced_since_the_replay_is_refused() {
    let line = |text: &str| format!("{{\"note\": \"{text}\"}}\n");
    let open = Open::new(&[("desk.rules", RULES), ("input.jsonl", &line("first"))]);
    let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    let path = format!("/api/replays/{id}/rows/1");
    assert!(open.get(&path)["message"].to_string().contains("first"));
    std::fs::write(open.path("input.jsonl"), line("other")).expect("it can be written");
    let (status, refusal) = open.refused("GET", &path, Json::Null);
    assert_eq!((status, &refusal["kind"]), (409, &json!("changed")), "{refusal}");
    // Lines that are added at the end of the file do not change the answer.
    std::fs::write(open.path("input.jsonl"), line("first") + &line("second")).expect("it can be written");
    open.get(&path);
}

#[track_caller]
fn check(what: &str, answer: &str) {
    let found =
        answer.find(TOKEN).map(|at| answer[..at + TOKEN.len()].chars().rev().take(200).collect::<String>());
    assert_eq!(found.map(|found| found.chars().rev().collect::<String>()), None, "{what}");
}
