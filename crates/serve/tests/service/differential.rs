//! Compares the service with the library, on the shared cases of all engines and on random programs
//! with random messages. Each answer must have the same bytes as the library's answer. With the
//! feature `grpc`, each answer over gRPC must have the same bytes too.
//! `RULEC_TIMES=50` compares fifty times as many programs.

use super::admin::{SECRET_HASH, with_tokens};
#[cfg(feature = "grpc")]
use super::grpc::{compare_with_http, pb::rulec::v1::DecideRequest};
use super::support::generate::{Generator, message};
use super::support::random::Random;
use super::support::trials::seeds;
use super::{Running, start_with};
use rulec::bundled::DECISIONS;
use rulec::history::{MemoryStore, RecordError};
use rulec::{Code, Compiler, Rules, TableKind};
use rulec_base::json::parse_object;
use rulec_report::answer::{LineError, RejectedLine};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Number of random programs.
const PROGRAMS: u64 = 20;
/// Number of messages that each random program decides.
const MESSAGES: usize = 100;

fn compile(text: &str) -> Option<Rules> {
    Compiler::new().allow_missing_functions().compile_text(text).ok()
}

/// Returns the lines that `rulec run` prints for these messages.
fn expected_lines(rules: &Rules, entry: &str, messages: &[String]) -> String {
    let entry = rules.entry(entry).expect("an entry");
    let mut lines = String::new();
    for (message, number) in messages.iter().zip(1_u64..) {
        match entry.decide_line(message.as_bytes()) {
            Ok(decision) => {
                let answer = serde_json::to_string(&decision).expect("JSON");
                let _ = writeln!(lines, "{{\"line\":{number},{}", &answer[1..]);
            }
            Err(error) => {
                let error = LineError::from(&error);
                let line = RejectedLine { line: number, error };
                let _ = writeln!(lines, "{}", serde_json::to_string(&line).expect("JSON"));
            }
        }
    }
    lines
}

impl Running {
    /// Makes rules active: sets them as shadow rules, and promotes these.
    async fn put_rules(&self, text: &str) {
        let url = format!("{}/v1/rules/support", self.url);
        let shadow = self.client.put(format!("{url}/shadow")).json(&json!({ "text": text }));
        let shadow = self.send(shadow.bearer_auth("secret")).await;
        assert_eq!(shadow.status, 200, "{}\n{text}", shadow.text());
        let promoted = self.send(self.client.post(format!("{url}/promote")).bearer_auth("secret")).await;
        assert_eq!(promoted.status, 200, "{}", promoted.text());
    }

    async fn batch(&self, query: &str, messages: &[String]) -> String {
        let url = format!("{}/v1/batch?{query}", self.url);
        let request = self.client.post(url).header("content-type", "application/x-ndjson");
        self.send(request.bearer_auth("secret").body(messages.join("\n"))).await.text()
    }

    async fn decide(&self, entry: &str, message: &str) -> super::Response {
        let body = format!(r#"{{"entry":{},"message":{message}}}"#, Json::from(entry));
        self.send(self.post_request("/v1/decide", &body).bearer_auth("secret")).await
    }

    /// Compares the answers of the service with the answers of the library.
    async fn compare(&self, rules: &Rules, entry: &str, messages: &[String], what: &str) {
        // For a choice, the service's answer has additional fields, like the output of `rulec run`.
        let is_choice = rules.entry(entry).is_ok_and(|entry| entry.kind() == TableKind::Choice);
        if !is_choice {
            let (found, expected) = (
                without_gap(&self.batch(&format!("entry={entry}"), messages).await),
                expected_lines(rules, entry, messages),
            );
            for ((found, expected), message) in found.lines().zip(expected.lines()).zip(messages) {
                assert_eq!(found, expected, "{what}: {message}");
            }
            assert_eq!(found.lines().count(), messages.len(), "{what}");
        }
        #[cfg(feature = "grpc")]
        let mut grpc_client = super::grpc::client(self);
        for message in messages.iter().take(10) {
            let (found, decision) = (
                self.decide(entry, message).await,
                rules.entry(entry).expect("an entry").decide_line(message.as_bytes()),
            );
            #[cfg(feature = "grpc")]
            {
                let (entry, message) = (entry.to_owned(), message.clone().into());
                let request = DecideRequest { entry, message, ..DecideRequest::default() };
                compare_with_http(&mut grpc_client, request, &found, what).await;
            }
            match decision {
                Ok(decision) if is_choice => {
                    let (found, decision) = (found.json(), json!(decision));
                    assert_eq!(
                        (&found["branch"], &found["default"]),
                        (&decision["branch"], &decision["default"]),
                        "{what}"
                    );
                }
                Ok(decision) => {
                    assert_eq!(without_gap(&found.text()), json_text(&decision), "{what}: {message}");
                }
                Err(error) => {
                    assert_eq!(
                        (found.status, found.json()["code"].clone()),
                        (400, json!(error.kind().code().as_str())),
                        "{what}: {message}"
                    );
                }
            }
        }
    }
}

impl Running {
    /// Compares the optional parts of an answer with what the library returns. Rules with a history
    /// are left out: the service decides with an empty history, the library without a history.
    async fn compare_parts(&self, rules: &Rules, entry: &str, messages: &[Json], what: &str) -> usize {
        if rules.has_history() {
            return 0;
        }
        let part = rules.entry(entry).expect("an entry");
        let mut routes = BTreeSet::from(["no_such_route".to_owned()]);
        for message in messages {
            routes.extend(part.matched(message).into_iter().map(str::to_owned));
        }
        for (message, route) in messages.iter().zip(routes.iter().cycle()) {
            let mut body = json!({ "entry": entry, "message": message, "explain": true, "matched": true });
            let found =
                self.send(self.post_request("/v1/decide", &body.to_string()).bearer_auth("secret")).await;
            let found = found.json();
            assert_eq!(found["explanation"], json!(part.explain(message, false)), "{what}: {message}");
            assert_eq!(found["matched"], json!(part.matched(message)), "{what}: {message}");
            body["why_not"] = json!(route);
            let found =
                self.send(self.post_request("/v1/decide", &body.to_string()).bearer_auth("secret")).await;
            match part.why_not(route, message) {
                Ok(why) => assert_eq!(found.json()["why_not"], json!(why), "{what}: {route}, {message}"),
                Err(_) => assert_ne!(found.status, 200, "{what}: {route}, {message}"),
            }
        }
        messages.len()
    }
}

/// Removes `history_gap`, the report that a message has no key for the history. Only the service
/// reports this: the service decides with an empty history, the library without a history.
fn without_gap(answers: &str) -> String {
    answers.replace(r#","history_gap":"no_key""#, "")
}

fn json_text(decision: &rulec::Decision) -> String {
    serde_json::to_string(decision).expect("JSON")
}

/// Returns the messages of the shared cases by their rules and entry.
fn shared_cases() -> BTreeMap<(String, String), Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let mut cases: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for file in std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("an entry").path()) {
        if file.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(&file).expect("a text").lines() {
            let case: Json = serde_json::from_str(line).expect("JSON");
            let text = |key: &str| case[key].as_str();
            let rules = text("rules").map(str::to_owned).or_else(|| {
                let condition = text("when")?;
                Some(format!("{}\nroute yes when {condition} -> yes\n", text("prelude").unwrap_or_default()))
            });
            let (Some(rules), Ok(_)) = (rules, parse_object(&case["message"].to_string())) else { continue };
            let entry = text("entry").unwrap_or("routes").to_owned();
            cases.entry((rules, entry)).or_default().push(case["message"].to_string());
        }
    }
    cases
}

#[tokio::test]
async fn shared_cases_have_the_answers_of_the_library() {
    assert_eq!(SECRET_HASH.len(), 64);
    let service = start_with("default -> chat", with_tokens).await;
    let mut compared = 0;
    for ((text, entry), messages) in shared_cases() {
        // Intent flows are answered by the classifier, which another test compares.
        let rules =
            compile(&text).filter(|rules| rules.entry(&entry).is_ok() && !rules.program().has_intents());
        let Some(rules) = rules else { continue };
        service.put_rules(&text).await;
        service.compare(&rules, &entry, &messages, &text).await;
        compared += messages.len();
    }
    assert!(compared > 500, "{compared} cases");
}

#[tokio::test]
async fn random_programs_have_the_answers_of_the_library() {
    let service = start_with("default -> chat", with_tokens).await;
    let mut with_parts = 0;
    for seed in seeds(PROGRAMS) {
        let mut random = Random::new(seed);
        let program = Generator::program(&mut random);
        let parsed: Vec<Json> = (0..MESSAGES).map(|_| message(&mut random)).collect();
        let messages: Vec<String> = parsed.iter().map(Json::to_string).collect();
        let rules = compile(&program.source).unwrap_or_else(|| panic!("seed {seed}: it compiles"));
        service.put_rules(&program.source).await;
        // The classifier answers for flows with intents; another test compares its answers.
        let is_compared = |name: &&String| **name != "flows" || !rules.program().has_intents();
        for entry in program.entries.iter().filter(is_compared) {
            let what = format!("seed {seed}, {entry}");
            service.compare(&rules, entry, &messages, &what).await;
            with_parts += service.compare_parts(&rules, entry, &parsed[..5], &what).await;
        }
    }
    assert!(with_parts > 50, "{with_parts} answers with an explanation");
}

/// The judgements of the payload cases have the bytes of the library's judgements.
#[tokio::test]
async fn judgements_are_those_of_the_library() {
    let rules = compile(DECISIONS).expect("the rules of the library");
    let service = start_with(DECISIONS, |_, _| {}).await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/payload");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let context: Json = serde_json::from_str(&read("context.json")).expect("JSON");
    let (mut accepted, mut rejected) = (0, 0);
    for case in read("cases.jsonl").lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON")) {
        let (Some(kind), payload) = (case["decision_type"].as_str(), &case["payload"]) else { continue };
        let Ok(judge) = rules.judge(kind) else { continue };
        if !payload.is_object() {
            continue;
        }
        let expected = judge.context(context.clone()).expect("a context").judge(payload);
        let body = json!({ "payload": payload, "context": context }).to_string();
        let found = service.post(&format!("/v1/judge/{kind}"), &body).await;
        assert_eq!(found.text(), serde_json::to_string(&expected).expect("JSON"), "{}", case["name"]);
        *(if expected.is_valid() { &mut accepted } else { &mut rejected }) += 1;
    }
    assert!(accepted > 5 && rejected > 50, "{accepted} accepted, {rejected} rejected");
}

/// Returns the answers of a batch whose messages are recorded, as the library gives them.
fn recorded_lines(rules: &Rules, entry: &str, messages: &[Json]) -> Vec<String> {
    let (store, entry) = (MemoryStore::default(), rules.entry(entry).expect("an entry"));
    let answer = |(message, line): (&Json, u64)| match entry.decide_and_record(&store, message) {
        Ok(decision) => format!("{{\"line\":{line},{}", &json_text(&decision)[1..]),
        Err(error) => {
            assert!(matches!(error, RecordError::NoKey(_) | RecordError::NoTime), "{error}");
            let message = error.to_message().as_str().to_owned().into();
            let error = LineError { code: Code::DecisionFailed, message, column: None, path: "", help: None };
            serde_json::to_string(&RejectedLine { line, error }).expect("JSON")
        }
    };
    messages.iter().zip(1..).map(answer).collect()
}

/// A batch with `record` decides like the library's `decide_and_record`, one message after another.
#[tokio::test]
async fn recorded_batches_have_the_answers_of_the_library() {
    let (mut programs, mut recorded, mut refused, mut compared) = (0, 0, 0, 0);
    for seed in seeds(8 * PROGRAMS) {
        let mut random = Random::new(seed);
        let program = Generator::program(&mut random);
        let messages: Vec<Json> = (0..MESSAGES).map(|_| message(&mut random)).collect();
        let rules = compile(&program.source).unwrap_or_else(|| panic!("seed {seed}: it compiles"));
        let is_compared = |name: &&String| {
            rules.entry(name).is_ok_and(|entry| !matches!(entry.kind(), TableKind::Choice | TableKind::Flows))
        };
        if !rules.has_history() {
            continue;
        }
        programs += 1;
        let lines: Vec<String> = messages.iter().map(Json::to_string).collect();
        for entry in program.entries.iter().filter(is_compared) {
            // A new service has an empty history.
            let service = start_with(&program.source, with_tokens).await;
            let found = service.batch(&format!("entry={entry}&record=true"), &lines).await;
            let expected = recorded_lines(&rules, entry, &messages);
            assert_eq!(found.lines().count(), expected.len(), "seed {seed}, {entry}: {found}");
            for ((found, expected), message) in found.lines().zip(&expected).zip(&lines) {
                assert_eq!(found, expected, "seed {seed}, {entry}: {message}\n{}", program.source);
                refused += usize::from(found.contains("\"error\""));
                compared += 1;
            }
            recorded += 1;
        }
    }
    assert!(programs > 5 && recorded > 10, "{programs} programs, {recorded} batches");
    assert!(refused > 10 && compared > 2 * refused, "{refused} of {compared} lines are errors");
}
