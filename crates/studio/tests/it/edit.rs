//! Tests of the editor: diagnostics while typing, completion, and saving without losing text.

use crate::support::{DESK, Open};
use serde_json::{Value as Json, json};
use std::sync::Barrier;
use std::{fs, thread};

const TEXT: &str = "# \u{1F600}\nroute a when text contains \"x\" -> h\ndefault -> d\n";

fn units(text: &str, upto: &str) -> usize {
    let before = text.split(upto).next().unwrap_or_default();
    before.encode_utf16().count()
}

#[test]
fn a_text_is_checked_as_one_types() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let check = |text: Json| open.post("/api/check", json!({"rules": 0, "file": "desk.rules", "text": text}));
    let checked = check(json!(DESK));
    assert_eq!((&checked["compiles"], &checked["tests"][0]["passed"]), (&json!(true), &json!(true)));
    assert!(
        checked["outline"].as_array().is_some_and(|items| items.iter().any(|item| item["name"] == "refunds"))
    );
    let checked = check(json!(DESK.replace("-> goto billing", "-> goto biling")));
    let errors: Vec<&Json> = checked["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| one["severity"] == "error")
        .collect();
    assert_eq!((errors.len(), &checked["compiles"]), (1, &json!(false)));
    let fix = &errors[0]["fixes"][0];
    assert_eq!(
        (&fix["edits"][0]["text"], &fix["edits"][0]["file"]),
        (&json!("billing"), &json!("desk.rules"))
    );
    // For a failing test, the result contains an explanation.
    let checked = check(json!(DESK.replace("expect refunds", "expect default")));
    let test = &checked["tests"][0];
    assert_eq!((&test["passed"], &test["actual"]), (&json!(false), &json!("refunds")));
    assert!(test["why"].as_str().is_some_and(|why| why.contains("refunds")), "{test}");
    assert!(open.get("/api/session")["rules"][0]["has_draft"] == true);
    let checked = check(Json::Null);
    assert_eq!(checked["tests"][0]["passed"], true);
    assert!(open.get("/api/session")["rules"][0]["has_draft"] == false);
    // Findings about how rules interact are included on request.
    let found =
        open.post("/api/check", json!({"rules": 0, "file": "desk.rules", "text": DESK, "findings": true}));
    assert!(
        found["diagnostics"].as_array().is_some_and(|all| all.iter().any(|one| one["code"] == "W0213")),
        "{found}"
    );
}

#[test]
fn places_are_counted_as_browsers_do() {
    let open = Open::new(&[("a.rules", TEXT)]);
    let checked =
        open.post("/api/check", json!({"rules": 0, "file": "a.rules", "text": TEXT.replace("\"x\"", "3")}));
    let error = &checked["diagnostics"][0];
    let at = units(TEXT, "\"x\"");
    let place = &error["labels"][1]["place"];
    assert_eq!((&place["from"], &place["to"]), (&json!(at), &json!(at + 1)), "{error}");
    let checked = open.post("/api/check", json!({"rules": 0, "file": "a.rules", "text": TEXT}));
    let classes = open.get("/api/session")["token_classes"].clone();
    let tokens: Vec<u64> =
        checked["tokens"].as_array().into_iter().flatten().filter_map(Json::as_u64).collect();
    let string =
        tokens.chunks(3).find(|token| token[0] == units(TEXT, "\"x\"") as u64).expect("it is coloured");
    assert_eq!((string[1], &classes[string[2] as usize]), (3, &json!("string")));
}

#[test]
fn words_are_offered_and_explained() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let text = DESK.replace("-> goto billing", "-> goto bil");
    let at = units(&text, "goto bil") + "goto bil".len();
    let ask = |path: &str, text: &str, at: usize| {
        open.post(path, json!({"rules": 0, "file": "desk.rules", "text": text, "at": at}))
    };
    let offers = ask("/api/complete", &text, at);
    assert_eq!((&offers["from"], &offers["to"]), (&json!(at - 3), &json!(at)));
    assert!(
        offers["items"].as_array().is_some_and(|items| items.iter().any(|item| item["label"] == "billing")),
        "{offers}"
    );
    // A statement comes with places that the author fills in.
    let offers = ask("/api/complete", "lis", 3);
    let list = offers["items"].as_array().into_iter().flatten().find(|item| item["label"] == "list");
    let part = |text: &str, is_placeholder: bool| json!({"text": text, "is_placeholder": is_placeholder});
    let first_parts = list.map(|list| (&list["snippet"][0], &list["snippet"][1]));
    assert_eq!(first_parts, Some((&part("list ", false), &part("name", true))), "{offers}");
    let hover = ask("/api/hover", DESK, units(DESK, "ctx.user.role") + 10);
    assert!(hover["code"].as_str().is_some_and(|code| code.contains("role: string")), "{hover}");
    assert_eq!(ask("/api/hover", DESK, 1_000_000), Json::Null);
    let declared = ask("/api/definition", DESK, units(DESK, "goto billing") + 6);
    assert_eq!(declared["from"], units(DESK, "table billing") + 6);
    let formatted = open.post("/api/format", json!({"text": "route   a when  text == \"x\"->h"}));
    assert_eq!(formatted["text"], "route a when text == \"x\" -> h\n");
    assert!(open.get("/api/codes/W0213")["text"].as_str().is_some_and(|page| page.contains("W0213")));
    assert_eq!(open.ask("GET", "/api/codes/X99", None).status, 404);
}

#[test]
fn nothing_is_saved_unasked_and_nothing_written_over() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let path = open.path("desk.rules");
    let on_disk = || fs::read_to_string(&path).expect("it can be read");
    let file = || open.get("/api/file?rules=0&file=desk.rules");
    let first = file();
    assert_eq!(
        (&first["saved"], &first["draft"], &first["writable"]),
        (&json!(DESK), &Json::Null, &json!(true))
    );
    let mine = DESK.replace("answer", "reply");
    open.post("/api/check", json!({"rules": 0, "file": "desk.rules", "text": mine}));
    assert_eq!((on_disk(), file()["draft"].clone()), (DESK.to_owned(), json!(mine)));
    // Another program saves the file first.
    let theirs = DESK.replace("answer", "respond_to");
    fs::write(&path, &theirs).expect("it can be written");
    let save = |stamp: &Json| {
        open.post("/api/save", json!({"rules": 0, "file": "desk.rules", "text": mine, "stamp": stamp}))
    };
    let saved = save(&first["stamp"]);
    assert_eq!((&saved["kind"], &saved["text"]), (&json!("changed"), &json!(theirs)));
    assert_eq!(on_disk(), theirs);
    let changed: Vec<&Json> =
        saved["diff"].as_array().into_iter().flatten().filter(|line| line["kind"] != "same").collect();
    assert_eq!((changed.len(), &changed[0]["text"]), (2, &json!("default -> respond_to")));
    // With the new stamp, saving overwrites the file.
    let saved = save(&saved["stamp"]);
    assert_eq!((&saved["kind"], on_disk()), (&json!("saved"), mine.clone()));
    let after = file();
    assert_eq!((&after["stamp"], &after["draft"]), (&saved["stamp"], &Json::Null));
    assert_eq!(open.decide("routes", &json!({"text": "hello"}))["decision"]["target"], "reply");
    // A change on disk is detected at the next request, without a notification.
    fs::write(&path, DESK.replace("answer", "changed_outside")).expect("it can be written");
    assert_eq!(open.decide("routes", &json!({"text": "hello"}))["decision"]["target"], "changed_outside");
}

#[test]
fn only_files_of_the_rules_are_read_or_written() {
    let rules = "import \"words.rules\"\nroute a when text contains any words -> h\ndefault -> d\n";
    let open =
        Open::new(&[("a.rules", rules), ("words.rules", "list words = [\"x\"]\n"), ("other.txt", "mine")]);
    assert_eq!(open.get("/api/session")["rules"][0]["files"], json!(["a.rules", "words.rules"]));
    let words = open.get("/api/file?rules=0&file=words.rules");
    assert_eq!(words["saved"], "list words = [\"x\"]\n");
    for name in ["other.txt", "../a.rules", "/etc/hostname", "", "words.rules%00"] {
        assert_eq!(open.ask("GET", &format!("/api/file?rules=0&file={name}"), None).status, 404, "{name}");
        let (status, _) =
            open.refused("POST", "/api/save", json!({"rules": 0, "file": name, "text": "", "stamp": ""}));
        assert_eq!(status, 404, "{name}");
        let (status, _) = open.refused("POST", "/api/check", json!({"rules": 0, "file": name, "text": "x"}));
        assert_eq!(status, 404, "{name}");
    }
    assert_eq!(fs::read_to_string(open.path("other.txt")).ok().as_deref(), Some("mine"));
    // An imported file is edited like the main file.
    let checked =
        open.post("/api/check", json!({"rules": 0, "file": "words.rules", "text": "list words = [\"y\"]\n"}));
    assert_eq!(checked["compiles"], true);
    let decided = open.post(
        "/api/decide",
        json!({"version": {"rules": 0, "draft": true}, "entry": "routes", "message": "{\"text\": \"y\"}"}),
    );
    assert_eq!(decided["key"], "routes/a");
    // Uploaded rules have no file on disk.
    open.post("/api/rules", json!({"name": "up.rules", "text": "default -> d"}));
    let (status, _) =
        open.refused("POST", "/api/save", json!({"rules": 1, "file": "up.rules", "text": "", "stamp": ""}));
    assert_eq!(status, 422);
}

/// Former bug: rules could import a hidden file such as `.env`, and diagnostics quoted its words.
#[test]
fn hidden_files_are_not_read() {
    let rules = "list words = from \".env\"\nroute a when text in words -> h\ndefault -> d\n";
    let open =
        Open::new(&[("a.rules", rules), (".env", "hunter2\n"), (".shared.rules", "list more = [\"x\"]\n")]);
    let version = json!({"rules": 0, "draft": true});
    let decide = || {
        let message = "{\"text\": \"hunter2\"}";
        open.post("/api/decide", json!({"version": version, "entry": "routes", "message": message}))
    };
    assert_eq!(decide()["kind"], "broken", "the saved rules read `.env`");
    for text in [rules, "import \".env\"\ndefault -> d\n", "import \"./.env\"\ndefault -> d\n"] {
        let checked = open.post("/api/check", json!({"rules": 0, "file": "a.rules", "text": text}));
        assert_eq!(checked["compiles"], false, "{text}");
        assert!(!checked.to_string().contains("hunter2"), "{checked}");
        assert_eq!(decide()["kind"], "broken", "{text}");
    }
    let shared = "import \".shared.rules\"\nroute a when text in more -> h\ndefault -> d\n";
    let checked = open.post("/api/check", json!({"rules": 0, "file": "a.rules", "text": shared}));
    assert_eq!(checked["compiles"], true, "{checked}");
}

#[test]
fn of_saves_at_the_same_time_one_wins() {
    let open = Open::new(&[("desk.rules", DESK), ("notes.txt", "mine")]);
    for round in 0..10 {
        let stamp = open.get("/api/file?rules=0&file=desk.rules")["stamp"].clone();
        let barrier = Barrier::new(4);
        let save = |writer: usize| {
            let text = format!("# {round} {writer}\n{DESK}");
            let body = json!({"rules": 0, "file": "desk.rules", "text": text, "stamp": stamp});
            barrier.wait();
            open.post("/api/save", body)["kind"].clone()
        };
        let save = &save;
        let kinds: Vec<Json> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|writer| scope.spawn(move || save(writer))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends well")).collect()
        });
        let saved = kinds.iter().filter(|kind| **kind == "saved").count();
        assert_eq!((saved, kinds.len()), (1, 4), "{kinds:?}");
    }
}

#[test]
fn a_draft_gives_no_access_to_files_that_are_no_rules() {
    let open = Open::new(&[
        ("a.rules", "default -> d\n"),
        (".env", "KEY=1\n"),
        ("more.rules", "list w = [\"x\"]\n"),
    ]);
    let draft = "import \".env\"\nimport \"more.rules\"\ndefault -> d\n";
    open.post("/api/check", json!({"rules": 0, "file": "a.rules", "text": draft}));
    assert_eq!(open.get("/api/file?rules=0&file=more.rules")["saved"], "list w = [\"x\"]\n");
    assert_eq!(open.ask("GET", "/api/file?rules=0&file=.env", None).status, 404);
    for path in ["/api/save", "/api/check"] {
        let body = json!({"rules": 0, "file": ".env", "text": "", "stamp": ""});
        assert_eq!(open.refused("POST", path, body).0, 404, "{path}");
    }
    assert_eq!(fs::read_to_string(open.path(".env")).ok().as_deref(), Some("KEY=1\n"));
}

#[test]
fn files_that_appear_or_disappear_are_noticed() {
    let rules = "import \"words.rules\"\nroute a when text in words -> h\ndefault -> d\n";
    let open = Open::new(&[("a.rules", rules)]);
    assert_eq!(open.get("/api/overview?rules=0")["errors"], 1);
    fs::write(open.path("words.rules"), "list words = [\"x\"]\n").expect("it can be written");
    assert_eq!(open.get("/api/overview?rules=0")["errors"], 0);
    // The main file is removed, for example by another branch. The user's text is not lost.
    fs::remove_file(open.path("a.rules")).expect("it can be removed");
    let checked = open.post("/api/check", json!({"rules": 0, "file": "a.rules", "text": rules}));
    assert_eq!(checked["compiles"], true, "{checked}");
    let save = |stamp: &Json| {
        open.post("/api/save", json!({"rules": 0, "file": "a.rules", "text": rules, "stamp": stamp}))
    };
    let saved = save(&json!("of the removed file"));
    assert_eq!((&saved["kind"], &saved["text"]), (&json!("changed"), &json!("")));
    assert_eq!(save(&saved["stamp"])["kind"], "saved");
    assert_eq!(fs::read_to_string(open.path("a.rules")).ok().as_deref(), Some(rules));
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let outside = tempfile::tempdir().expect("there is a place for files");
    fs::write(outside.path().join("secret.rules"), "default -> d\n").expect("it can be written");
    let open = Open::new(&[("a.rules", "import \"link.rules\"\ndefault -> d\n")]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path().join("secret.rules"), open.path("link.rules"))
        .expect("a link can be made");
    let overview = open.get("/api/overview?rules=0");
    assert!(overview["errors"].as_u64() >= Some(1), "{overview}");
    assert_eq!(open.ask("GET", "/api/file?rules=0&file=link.rules", None).status, 404);
}
