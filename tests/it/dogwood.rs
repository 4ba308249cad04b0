//! Tests the translated policies and traces of another engine for rules over a history. Each
//! decision must give the verdict that this engine expects; see `tests/dogwood/README.md`.

use crate::support::engines::COLUMNS;
use rulec::Rules;
use rulec::history::MemoryStore;
use serde_json::Value as Json;
use std::sync::Arc;
use time::{Duration, OffsetDateTime};

const CASES: &str = include_str!("../dogwood/cases.jsonl");

/// Returns a message of a trace as the rules read it, and the expected verdict if it is decided.
fn message(event: &Json) -> (Json, Option<bool>) {
    let mut message = event.clone();
    let fields = message.as_object_mut().expect("an event is an object");
    let verdict = fields.remove("allow").and_then(|verdict| verdict.as_bool());
    let seconds = fields.remove("at").and_then(|at| at.as_i64()).expect("an event has a time");
    let now = OffsetDateTime::UNIX_EPOCH + Duration::days(7305) + Duration::seconds(seconds);
    fields.insert("now".to_owned(), rulec_lang::value::format_datetime(now).into());
    (message, verdict)
}

#[test]
fn traces_of_dogwood_get_their_verdicts() {
    let (mut decisions, mut allowed) = (0, 0);
    for line in CASES.lines() {
        let case: Json = serde_json::from_str(line).expect("a case is JSON");
        let (name, source) = (&case["case"], case["rules"].as_str().expect("rules"));
        let rules = Rules::from_text(source).unwrap_or_else(|error| panic!("{name}\n{error}"));
        for column in COLUMNS {
            let rules = column.compile(&rules);
            for trace in case["traces"].as_array().expect("traces") {
                let mut session = rules.session().with_history(Arc::new(MemoryStore::default()));
                for event in trace.as_array().expect("events") {
                    let (message, verdict) = message(event);
                    let Some(verdict) = verdict else {
                        session.observe(&message).expect("it is recorded");
                        continue;
                    };
                    let decision = session.decide_and_record(&message).expect("it is recorded");
                    let context = || format!("{name} {:?} {message}\n{source}", column.engine);
                    assert_eq!(decision.target() == Some("allow"), verdict, "{}", context());
                    decisions += 1;
                    allowed += usize::from(verdict);
                }
            }
        }
    }
    println!("{decisions} decisions, {allowed} allowed");
    assert!(decisions > 2_500 && allowed * 5 > decisions && allowed < decisions);
}
