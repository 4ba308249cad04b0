//! Compares every engine with the reference evaluator on the generated rules of the benchmarks:
//! routes that share verbs, and rules over hundreds of fields of which a message has about twenty.

use crate::support::engines;
use crate::workload;
use engines::{COLUMNS, REFERENCE};
use rulec::Rules;
use serde_json::Value as Json;
use workload::detection::Detection;
use workload::random::Random;
use workload::{Density, Message, Shape, Variant, Workload};

/// Decides each message through every API on every engine, and compares the answers. Returns the
/// number of messages that match some route.
fn assert_decided_alike(source: &str, messages: &[Json], name: impl Fn(usize, &[&str])) -> usize {
    let compiled = Rules::from_text(source).unwrap_or_else(|error| panic!("{error}"));
    let reference = REFERENCE.compile(&compiled);
    let mut hits = 0;
    for (at, message) in messages.iter().enumerate() {
        let expected = reference.main().matched(message);
        name(at, &expected);
        hits += usize::from(!expected.is_empty());
    }
    for column in COLUMNS {
        let rules = column.compile(&compiled);
        // A single session, so that state left by a decision could affect the next one.
        let mut session = rules.session();
        for message in messages {
            let (expected, chosen) = (reference.main().matched(message), reference.decide(message));
            let context = || format!("{column:?}: {message}");
            assert_eq!(session.matched(message), expected, "{}", context());
            assert_eq!(session.decide(message).chosen(), chosen.chosen(), "{}", context());
            let record = rules.prepare(message);
            assert_eq!(session.decide_prepared(&record).chosen(), chosen.chosen(), "{}", context());
            let line = session.decide_line(message.to_string().as_bytes());
            let line = line.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(line.chosen(), chosen.chosen(), "{}", context());
        }
    }
    hits
}

/// A regex is not run if one of its required literals is absent from the text. Verbs occur in many
/// texts and nouns in few; some texts contain both without a match of the regex.
#[test]
fn routes_that_share_their_verbs_are_decided_alike() {
    for routes in [40, 1_200] {
        let shape = Shape { routes, variant: Variant::Verbs, density: Density::Rare, no_key: 5, seed: 3 };
        let workload = Workload::new(shape);
        let mut random = Random::new(routes as u64);
        let message = |at: usize| {
            let route = &workload.routes[random.below(routes)];
            let mut message = Message::random(&workload, &mut random);
            if at.is_multiple_of(2) {
                message = Message::satisfying(&workload, route, &mut random);
            }
            // Some texts have their words in reverse order.
            if at.is_multiple_of(7) {
                message.text = message.text.split(' ').rev().collect::<Vec<_>>().join(" ");
            }
            message.json()
        };
        let messages: Vec<Json> = (0..160).map(message).collect();
        let hits = assert_decided_alike(&workload.source(), &messages, |_, _| {});
        assert!(hits > 60, "{hits} hits of {routes} routes");
    }
}

/// One scanner reads all text fields, and the index iterates over the fields that a message has.
/// The cost model estimates how common a value is by the number of rules that name the value.
#[test]
fn rules_over_many_fields_are_decided_alike() {
    for rules in [30, 500] {
        let detection = Detection::new(rules, 5);
        let mut random = Random::new(rules as u64);
        let events: Vec<_> = (0..120).map(|_| detection.event(&mut random)).collect();
        let messages: Vec<Json> = events.iter().map(|event| event.json()).collect();
        let hits = assert_decided_alike(&detection.source(), &messages, |at, held| {
            let plain = detection.rules.iter().filter(|rule| rule.holds(&events[at]));
            let plain: Vec<String> = plain.map(|rule| format!("d{}", rule.number)).collect();
            assert_eq!(held, plain, "{}", messages[at]);
        });
        assert!(hits > 20, "{hits} hits of {rules} rules");
    }
}
