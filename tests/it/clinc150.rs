//! Measures the CLINC150 rules on the excerpt in `examples/`. If the data set is present, the test
//! also measures the rules on its `test` part; the data set is not part of the repository.

use crate::support::shared;
use rulec::Rules;
use serde_json::Value as Json;
use std::path::Path;

fn project_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn messages(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Numbers of messages. For the 30 intents in scope: all messages, and the rightly decided ones.
/// Out of scope: all messages, and the messages that a route catches by mistake.
#[derive(Debug, Default, PartialEq)]
struct Measured {
    in_scope: usize,
    right: usize,
    out_of_scope: usize,
    caught: usize,
}

fn measure(rules: &Rules, messages: &[Json]) -> Measured {
    let targets = rules.targets();
    let mut measured = Measured::default();
    for message in messages {
        let intent = message["intent"].as_str().unwrap();
        let decision = rules.decide(message);
        if intent == "oos" {
            measured.out_of_scope += 1;
            measured.caught += usize::from(!decision.is_default());
        } else if targets.contains(intent) {
            measured.in_scope += 1;
            measured.right += usize::from(decision.target() == Some(intent));
        }
    }
    measured
}

fn rules() -> Rules {
    Rules::from_path(project_root().join("examples/clinc150.rules")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_excerpt_is_decided_rightly() {
    let measured = measure(&rules(), &messages(&project_root().join("examples/clinc150_sample.jsonl")));
    assert_eq!(measured, Measured { in_scope: 120, right: 120, out_of_scope: 30, caught: 0 });
}

#[test]
fn the_test_set_is_decided_well_enough() {
    let Some(path) = shared::shared("data/clinc150/test.jsonl") else { return };
    let measured = measure(&rules(), &messages(&path));
    println!("{measured:?}");
    assert_eq!((measured.in_scope, measured.out_of_scope), (900, 1000));
    assert!(measured.right * 100 >= measured.in_scope * 70, "{measured:?}");
    assert!(measured.caught * 100 < measured.out_of_scope * 10, "{measured:?}");
}

#[test]
fn its_own_tests_pass() {
    let failed: Vec<String> =
        rules().run_tests().into_iter().filter(|test| !test.passed).map(|test| test.name).collect();
    assert_eq!(failed, Vec::<String>::new());
}
