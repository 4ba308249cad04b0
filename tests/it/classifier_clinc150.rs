//! Measures the intent classifier on the CLINC150 data set. The data set is not part of the
//! repository; the tests run only if its folder exists.
//!
//! The classifier is trained on the 150 intents of the part `train`. Its options are chosen on
//! `val`, and its results are measured on `test`. The out-of-scope messages of `train` are not
//! used, because a rule author has none. The out-of-scope messages of `val` serve only to choose
//! the options.

use crate::support::shared;
use rulec::classifier::{Classifier, Intent, Options, Ranked};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// Options chosen on `val` from the grid that `val_agrees_with_the_setting` prints.
const SETTING: Options = Options { threshold: 0.3, margin: 0.05 };

const DATA_SET: &str = "data/clinc150";

const OUT_OF_SCOPE: &str = "oos";

struct Message {
    text: String,
    intent: String,
}

fn messages(folder: &Path, part: &str) -> Vec<Message> {
    let lines = std::fs::read_to_string(folder.join(part).with_extension("jsonl")).unwrap();
    let field = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap().to_owned();
    let read = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        Message { text: field(&line, "text"), intent: field(&line, "intent") }
    };
    lines.lines().map(read).collect()
}

/// Returns the classifier, which is trained once for all tests.
fn classifier(folder: &Path) -> &'static Classifier {
    static CLASSIFIER: OnceLock<Classifier> = OnceLock::new();
    CLASSIFIER.get_or_init(|| {
        let mut intents: BTreeMap<String, Intent> = BTreeMap::new();
        for Message { text, intent } in messages(folder, "train") {
            if intent != OUT_OF_SCOPE {
                let entry = intents.entry(intent).or_insert_with_key(|id| Intent::new(id.as_str()));
                entry.examples.push(text);
            }
        }
        assert_eq!(intents.len(), 150);
        let intents: Vec<Intent> = intents.into_values().collect();
        let classifier = Classifier::train(&intents, SETTING).unwrap();
        println!("{} bytes", classifier.memory());
        classifier
    })
}

/// Numbers of messages. An in-scope message has an intent: the decision is right, wrong, or an
/// abstention. An out-of-scope message has none, so it is caught by mistake if an intent is chosen.
#[derive(Debug, Default, PartialEq)]
struct Measured {
    in_scope: usize,
    right: usize,
    wrong: usize,
    abstained: usize,
    out_of_scope: usize,
    caught: usize,
}

impl Measured {
    /// Returns the share of in-scope messages with the right intent. An abstention counts as wrong.
    fn accuracy(&self) -> f64 {
        self.right as f64 / self.in_scope as f64
    }

    /// Returns the share of out-of-scope messages for which no intent is chosen.
    fn recall(&self) -> f64 {
        1.0 - self.caught as f64 / self.out_of_scope as f64
    }

    fn print(&self, name: &str) {
        let (accuracy, recall) = (100.0 * self.accuracy(), 100.0 * self.recall());
        println!("{name}: in-scope accuracy {accuracy:.2} %, out-of-scope recall {recall:.2} %; {self:?}");
    }
}

type RankedAnswers<'a> = Vec<(&'a Message, Vec<Ranked<'static>>)>;

fn answers<'a>(classifier: &'static Classifier, messages: &'a [Message]) -> RankedAnswers<'a> {
    messages.iter().map(|message| (message, classifier.classify(&message.text).ranked().to_vec())).collect()
}

fn measure(answers: &RankedAnswers, options: Options) -> Measured {
    let mut measured = Measured::default();
    for (message, ranked) in answers {
        let chosen = options.choose(ranked).map(|best| best.id);
        if message.intent == OUT_OF_SCOPE {
            measured.out_of_scope += 1;
            measured.caught += usize::from(chosen.is_some());
        } else {
            measured.in_scope += 1;
            match chosen {
                Some(id) if id == message.intent => measured.right += 1,
                Some(_) => measured.wrong += 1,
                None => measured.abstained += 1,
            }
        }
    }
    measured
}

/// Prints the intents confused most often and the intents that catch most out-of-scope messages.
fn print_confusions(answers: &RankedAnswers) {
    let mut confusions: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (message, ranked) in answers {
        if let Some(best) = SETTING.choose(ranked).filter(|best| best.id != message.intent) {
            *confusions.entry((&message.intent, best.id)).or_default() += 1;
        }
    }
    let mut confusions: Vec<_> = confusions.into_iter().collect();
    confusions.sort_by_key(|&(pair, count)| (std::cmp::Reverse(count), pair));
    for out_of_scope in [false, true] {
        for ((meant, taken), count) in
            confusions.iter().filter(|((meant, _), _)| (*meant == OUT_OF_SCOPE) == out_of_scope).take(12)
        {
            println!("{count:4} × {meant} taken for {taken}");
        }
    }
}

#[test]
fn val_agrees_with_the_setting() {
    let Some(folder) = shared::shared(DATA_SET) else { return };
    let messages = messages(&folder, "val");
    let answers = answers(classifier(&folder), &messages);
    for threshold in [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5] {
        for margin in [0.0, 0.05, 0.1, 0.2] {
            measure(&answers, Options { threshold, margin })
                .print(&format!("val, threshold {threshold:.2}, margin {margin:.2}"));
        }
    }
    let measured = measure(&answers, SETTING);
    measured.print("val, the setting");
    assert_eq!((measured.in_scope, measured.out_of_scope), (3000, 100));
    assert!(measured.accuracy() >= 0.85 && measured.recall() >= 0.5, "{measured:?}");
}

#[test]
fn test_meets_the_bars() {
    let Some(folder) = shared::shared(DATA_SET) else { return };
    let messages = messages(&folder, "test");
    let answers = answers(classifier(&folder), &messages);
    let measured = measure(&answers, SETTING);
    measured.print("test");
    print_confusions(&answers);
    assert_eq!((measured.in_scope, measured.out_of_scope), (4500, 1000));
    assert!(measured.accuracy() >= 0.85, "{measured:?}");
    assert!(measured.recall() >= 0.5, "{measured:?}");
}
