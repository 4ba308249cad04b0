//! The analysis of a message's text: its intent, its entities, its keywords and its lexicon scores.
//! Rules read these results as `request.…`; the checker turns each use into a call of a host
//! function that is built here. The functions are pure, accept every text, and run only if a
//! condition or an argument needs them, at most once per decision.
//!
//! | module | question |
//! |---|---|
//! | [`mod@intent`] | which declared intent does the text have, and how surely? |
//! | [`entity`] | what do an entity's expressions find? |
//! | [`lexicon`] | how much do the lexicon words in the text weigh in total? |
//! | [`keywords`] | which words are left without stop words? |
//! | [`recognize`] | where are the dates, times, amounts, addresses and numbers? |
//! | [`record`] | what does the whole analysis find? |
//!
//! Everything except entities ignores case and reads the text in NFKC form, so that full-width
//! letters equal normal ones.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

pub mod entity;
pub mod intent;
pub mod keywords;
pub mod lexicon;
pub mod recognize;
pub mod record;
mod stop_words;

use crate::host::HostFn;
use rulec_base::diag::Diagnostic;
use rulec_base::text::{NormalizationForm, TextMode, automaton_state_count, parse_cached};
use rulec_lang::value::Value;
use rulec_sema::request::{Analysis, AnalysisFeature};
use serde_json::Value as Json;
use std::sync::Arc;

/// How texts and search words are compared: in NFKC form, and without regard to case.
const COMPARISON_MODE: TextMode =
    TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::Nfkc };

/// Builds the host function that computes a feature, such as the intent; called once per rule set.
/// Returns the error of [`intent::train_classifier`] if the classifier cannot be trained.
pub fn build_feature_function(analysis: &Analysis, feature: AnalysisFeature) -> Result<HostFn, Diagnostic> {
    Ok(match feature {
        AnalysisFeature::Intent => {
            let classifier = intent::train_classifier(analysis)?;
            host_function_of_text(move |text| intent::classify_to_json(&classifier, text))
        }
        AnalysisFeature::Entity(index) => {
            let finder = entity::EntityFinder::new(&analysis.entities[index]);
            host_function_of_text(move |text| finder.find_first(text).map_or(Json::Null, Json::Object))
        }
        AnalysisFeature::Keywords => {
            let keywords = keywords::KeywordExtractor::new(&analysis.stop_words);
            host_function_of_text(move |text| keywords.extract_keywords(text).into())
        }
        AnalysisFeature::Lexicon(index) => {
            let scorer = lexicon::LexiconScorer::new(&analysis.lexicons[index]);
            host_function_of_text(move |text| scorer.score_text(text).into())
        }
    })
}

/// Returns the maximum work that the computation of a feature needs for each byte of text: the
/// number of intents, or of states of the regular expressions. The work counts towards the work
/// limit of a decision.
pub fn max_work_per_byte(analysis: &Analysis, feature: AnalysisFeature) -> u64 {
    match feature {
        AnalysisFeature::Intent => analysis.intents.len() as u64,
        AnalysisFeature::Entity(index) => {
            let entity = &analysis.entities[index];
            let states = |pattern| {
                parse_cached(pattern, entity.ignores_case).map_or(0, |hir| automaton_state_count(&hir))
            };
            entity.patterns.iter().map(|pattern| states(pattern)).sum()
        }
        AnalysisFeature::Keywords | AnalysisFeature::Lexicon(_) => 1,
    }
}

/// Builds a host function from `compute`. The host function receives the text as its only argument.
fn host_function_of_text(compute: impl Fn(&str) -> Json + Send + Sync + 'static) -> HostFn {
    Arc::new(move |args: &[Value<'_>]| {
        Ok(args.first().and_then(|text| text.as_str()).map_or(Json::Null, &compute))
    })
}
