//! The analysis of a message's text: which intent it has, which entities are in it, its keywords
//! and how it scores in a lexicon. Rules ask for these as `request.…`, and the checker has turned
//! each into a call of one of the functions made here. They are pure and total over all texts, and
//! run only when a condition or an argument needs them, at most once a decision.
//!
//! | module | what it answers |
//! |---|---|
//! | [`mod@intent`] | which of the declared intents does the text have, and how surely? |
//! | [`entity`] | what do an entity's expressions find? |
//! | [`lexicon`] | how much do the words of a lexicon that occur weigh together? |
//! | [`keywords`] | which words are left without stop words? |
//! | [`words`] | which of many words occur, standing as words of their own? |
//!
//! Everything but entities reads the text without regard to case and in the normal form NFKC, so
//! that full-width letters are letters.

pub mod entity;
pub mod intent;
pub mod keywords;
pub mod lexicon;
mod stop_words;
pub mod words;

use crate::diag::Diagnostic;
use crate::host::HostFn;
use crate::sema::request::{Analysis, Feature};
use crate::text::{Form, TextMode};
use crate::value::Value;
use serde_json::Value as Json;
use std::sync::Arc;

/// The preparation that makes texts and the words looked for comparable.
const MODE: TextMode = TextMode { fold: true, form: Form::Nfkc };

/// The function behind a feature. What it needs is compiled here, once for a rule set.
///
/// # Errors
/// Intents that cannot be told apart by the classifier: see [`intent::train`].
pub fn function(analysis: &Analysis, feature: Feature) -> Result<HostFn, Diagnostic> {
    Ok(match feature {
        Feature::Intent => {
            let classifier = intent::train(analysis)?;
            over_text(move |text| intent::classify(&classifier, text))
        }
        Feature::Entity(at) => match analysis.entities.get(at).map(entity::Finder::new) {
            Some(finder) => over_text(move |text| finder.find(text).map_or(Json::Null, Json::Object)),
            None => over_text(|_| Json::Null),
        },
        Feature::Keywords => {
            let keywords = keywords::Keywords::new(&analysis.stop_words);
            over_text(move |text| keywords.of(text).into())
        }
        Feature::Lexicon(at) => match analysis.lexicons.get(at).map(lexicon::Scorer::new) {
            Some(scorer) => over_text(move |text| scorer.score(text).into()),
            None => over_text(|_| Json::Null),
        },
    })
}

/// A function of one argument, the text.
fn over_text(answer: impl Fn(&str) -> Json + Send + Sync + 'static) -> HostFn {
    Arc::new(move |args: &[Value<'_>]| {
        Ok(args.first().and_then(|text| text.as_str()).map_or(Json::Null, &answer))
    })
}
