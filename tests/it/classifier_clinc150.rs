//! The intent classifier, measured on CLINC150 where the data set lies beside the project (it is not part of it):
//! trained on the 150 intents of `train`, its setting chosen on `val`, measured on `test`.
//!
//! The out-of-scope messages of `train` are not used: an author has none. Those of `val` only choose the setting.

use crate::support::shared;
use rulec::classifier::{Classifier, Intent, Options, Ranked};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// Chosen on `val` by the grid that `val_agrees_with_the_setting` prints.
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

/// Trained once for all tests.
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

/// The counts of messages: of the known intents, those right, wrong, and abstained from; of those out of
/// scope, how many are caught by an intent.
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
    /// Of the messages in scope, an abstention being wrong.
    fn accuracy(&self) -> f64 {
        self.right as f64 / self.in_scope as f64
    }

    /// Of the messages out of scope, those abstained from.
    fn recall(&self) -> f64 {
        1.0 - self.caught as f64 / self.out_of_scope as f64
    }

    fn print(&self, name: &str) {
        let (accuracy, recall) = (100.0 * self.accuracy(), 100.0 * self.recall());
        println!("{name}: in-scope accuracy {accuracy:.2} %, out-of-scope recall {recall:.2} %; {self:?}");
    }
}

type Answers<'a> = Vec<(&'a Message, Vec<Ranked<'static>>)>;

fn answers<'a>(classifier: &'static Classifier, messages: &'a [Message]) -> Answers<'a> {
    messages.iter().map(|message| (message, classifier.classify(&message.text).ranked().to_vec())).collect()
}

fn measure(answers: &Answers, options: Options) -> Measured {
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

/// The intents taken for one another most often, and those that catch most of what is out of scope.
fn print_confusions(answers: &Answers) {
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
