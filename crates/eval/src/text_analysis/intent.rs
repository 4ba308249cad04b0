//! Finds the intent of a text, the user's purpose, with the built-in classifier. The classifier is
//! trained on the intents that the rules declare.

use rulec_base::diag::{Code, Diagnostic};
use rulec_nlu::{self, Classifier, Options, TrainError};
use rulec_sema::request::{Analysis, BEST_INTENT_FIELD, INTENT_FIELD, INTENT_SCORE_FIELD};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// Trains the classifier on the declared intents.
///
/// # Errors
/// Fails if an intent has no text to learn from, such as an example, or if two intents have the
/// same name. Also fails if there are more texts than the classifier accepts.
pub fn train_classifier(analysis: &Analysis) -> Result<Classifier, Diagnostic> {
    let to_strings = |to_strings: &[Arc<str>]| to_strings.iter().map(|text| text.to_string()).collect();
    let intents: Vec<rulec_nlu::Intent> = analysis
        .intents
        .iter()
        .map(|intent| rulec_nlu::Intent {
            id: intent.name.to_string(),
            description: intent.description.to_string(),
            keywords: to_strings(&intent.keywords),
            examples: to_strings(&intent.examples),
        })
        .collect();
    let options = Options { threshold: analysis.min_intent_score, margin: analysis.min_score_margin };
    Classifier::train(&intents, options).map_err(|error| training_error(analysis, &error))
}

fn training_error(analysis: &Analysis, error: &TrainError) -> Diagnostic {
    let find_intent = |name: &str| analysis.intents.iter().find(|intent| *intent.name == *name);
    let (code, intent) = match error {
        TrainError::NoText { id } => (Code::NothingToFind, find_intent(id)),
        TrainError::Duplicate { id } => (Code::Duplicate, find_intent(id)),
        _ => (Code::TooComplex, None),
    };
    match intent.or(analysis.intents.first()) {
        Some(intent) => Diagnostic::new(code, intent.span, error.to_message()),
        None => Diagnostic::without_place(code, error.to_message()),
    }
}

/// Classifies a text. Returns a record with the chosen intent, the best candidate and the score.
/// The intent and the candidate are left out if the classifier found none.
pub fn classify_to_json(classifier: &Classifier, text: &str) -> Json {
    let verdict = classifier.classify(text);
    let best = verdict.ranked().first().filter(|best| best.score > 0.0);
    let mut record = Map::new();
    record.extend(verdict.chosen().map(|name| (INTENT_FIELD.to_owned(), name.into())));
    record.extend(best.map(|best| (BEST_INTENT_FIELD.to_owned(), best.id.into())));
    record.insert(INTENT_SCORE_FIELD.to_owned(), verdict.score().into());
    Json::Object(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_base::span::{FileId, Span};
    use rulec_sema::request::Intent;

    fn intent_with_sentences(name: &str, keywords: &[&str], examples: &[&str]) -> Intent {
        let to_texts = |words: &[&str]| words.iter().map(|word| (*word).into()).collect();
        let span = Span::new(FileId(0), 0, 0);
        Intent {
            name: name.into(),
            description: "".into(),
            keywords: to_texts(keywords),
            examples: to_texts(examples),
            span,
        }
    }

    fn support_desk_analysis() -> Analysis {
        let intents = vec![
            intent_with_sentences(
                "refund",
                &["refund", "退款"],
                &["I want my money back", "please return my payment"],
            ),
            intent_with_sentences(
                "status",
                &[],
                &["where is my order", "when will my parcel arrive", "我的快递到哪了"],
            ),
        ];
        Analysis { intents, ..Analysis::default() }
    }

    #[test]
    fn the_record_has_the_intent_the_best_candidate_and_the_score() {
        let check = |analysis: &Analysis, text: &str, intent: Option<&str>, best: Option<&str>| {
            let result =
                classify_to_json(&train_classifier(analysis).expect("there is enough to learn from"), text);
            assert_eq!(
                (result[INTENT_FIELD].as_str(), result[BEST_INTENT_FIELD].as_str()),
                (intent, best),
                "{text}: {result}"
            );
            let score = result[INTENT_SCORE_FIELD].as_f64().expect("a score");
            assert!((0.0..=1.0).contains(&score) && (score > 0.0) == best.is_some(), "{text}: {result}");
        };
        let desk = support_desk_analysis();
        check(&desk, "I want my money back", Some("refund"), Some("refund"));
        check(&desk, "请给我退款", Some("refund"), Some("refund"));
        check(&desk, "我的快递到哪里了", Some("status"), Some("status"));
        check(&desk, "", None, None);
        check(&desk, "ééé", None, None);
        check(&Analysis { min_intent_score: 1.0, ..desk }, "where is it", None, Some("status"));
        check(&Analysis::default(), "anything", None, None);
    }

    #[test]
    fn an_intent_without_words_is_an_error_at_its_span() {
        let mut analysis = support_desk_analysis();
        analysis.intents.push(intent_with_sentences("odd", &[], &["!?"]));
        let error = train_classifier(&analysis).expect_err("nothing to learn from");
        assert!(error.code == Code::NothingToFind && error.message.contains("`odd`"), "{error:?}");
    }
}
