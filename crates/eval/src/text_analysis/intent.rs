//! The intent of a text. The built-in classifier, which is trained on the declared intents, finds
//! it.

use rulec_base::diag::{Code, Diagnostic};
use rulec_nlu::{self, Classifier, Options, TrainError};
use rulec_sema::request::{Analysis, BEST_INTENT_FIELD, INTENT_FIELD, INTENT_SCORE_FIELD};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// Trains the classifier on the declared intents.
///
/// # Errors
/// If an intent has no text to learn from, such as an example. Also if there are more examples than
/// the classifier accepts.
pub fn train_classifier(analysis: &Analysis) -> Result<Classifier, Diagnostic> {
    let texts = |texts: &[Arc<str>]| texts.iter().map(|text| text.to_string()).collect();
    let intents: Vec<rulec_nlu::Intent> = analysis
        .intents
        .iter()
        .map(|intent| rulec_nlu::Intent {
            id: intent.name.to_string(),
            description: intent.description.to_string(),
            keywords: texts(&intent.keywords),
            examples: texts(&intent.examples),
        })
        .collect();
    let options = Options { threshold: analysis.threshold, margin: analysis.margin };
    Classifier::train(&intents, options).map_err(|error| training_error(analysis, &error))
}

fn training_error(analysis: &Analysis, error: &TrainError) -> Diagnostic {
    let named = |name: &str| analysis.intents.iter().find(|intent| *intent.name == *name);
    let (code, intent) = match error {
        TrainError::NoText { id } => (Code::NothingToFind, named(id)),
        TrainError::Duplicate { id } => (Code::Duplicate, named(id)),
        _ => (Code::TooComplex, None),
    };
    match intent.or(analysis.intents.first()) {
        Some(intent) => Diagnostic::new(code, intent.span, error.to_message()),
        None => Diagnostic::without_place(code, error.to_message()),
    }
}

/// Classifies a text. Returns a record with the chosen intent, the best candidate and the score; a
/// result that does not exist is omitted.
pub fn classify_to_json(classifier: &Classifier, text: &str) -> Json {
    let verdict = classifier.classify(text);
    let best = verdict.ranked().first().filter(|best| best.score > 0.0);
    let mut found = Map::new();
    found.extend(verdict.chosen().map(|name| (INTENT_FIELD.to_owned(), name.into())));
    found.extend(best.map(|best| (BEST_INTENT_FIELD.to_owned(), best.id.into())));
    found.insert(INTENT_SCORE_FIELD.to_owned(), verdict.score().into());
    Json::Object(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_base::span::{FileId, Span};
    use rulec_sema::request::Intent;

    fn intent(name: &str, keywords: &[&str], examples: &[&str]) -> Intent {
        let all = |words: &[&str]| words.iter().map(|word| (*word).into()).collect();
        let span = Span::new(FileId(0), 0, 0);
        Intent {
            name: name.into(),
            description: "".into(),
            keywords: all(keywords),
            examples: all(examples),
            span,
        }
    }

    fn desk() -> Analysis {
        let intents = vec![
            intent("refund", &["refund", "退款"], &["I want my money back", "please return my payment"]),
            intent("status", &[], &["where is my order", "when will my parcel arrive", "我的快递到哪了"]),
        ];
        Analysis { intents, ..Analysis::default() }
    }

    #[test]
    fn the_record_holds_the_intent_the_best_and_the_score() {
        let check = |analysis: &Analysis, text: &str, intent: Option<&str>, best: Option<&str>| {
            let found =
                classify_to_json(&train_classifier(analysis).expect("there is enough to learn from"), text);
            assert_eq!(
                (found[INTENT_FIELD].as_str(), found[BEST_INTENT_FIELD].as_str()),
                (intent, best),
                "{text}: {found}"
            );
            let score = found[INTENT_SCORE_FIELD].as_f64().expect("a score");
            assert!((0.0..=1.0).contains(&score) && (score > 0.0) == best.is_some(), "{text}: {found}");
        };
        let desk = desk();
        check(&desk, "I want my money back", Some("refund"), Some("refund"));
        check(&desk, "请给我退款", Some("refund"), Some("refund"));
        check(&desk, "我的快递到哪里了", Some("status"), Some("status"));
        check(&desk, "", None, None);
        check(&desk, "ééé", None, None);
        check(&Analysis { threshold: 1.0, ..desk }, "where is it", None, Some("status"));
        check(&Analysis::default(), "anything", None, None);
    }

    #[test]
    fn an_intent_without_words_is_refused_at_its_place() {
        let mut analysis = desk();
        analysis.intents.push(intent("odd", &[], &["!?"]));
        let refused = train_classifier(&analysis).expect_err("nothing to learn from");
        assert!(refused.code == Code::NothingToFind && refused.message.contains("`odd`"), "{refused:?}");
    }
}
