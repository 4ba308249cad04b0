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
//!
//! Everything but entities reads the text without regard to case and in the normal form NFKC, so
//! that full-width letters are letters.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

pub mod entity;
pub mod intent;
pub mod keywords;
pub mod lexicon;
mod stop_words;

use crate::host::HostFn;
use rulec_base::diag::Diagnostic;
use rulec_base::text::{Form, TextMode, automaton_states, parsed};
use rulec_lang::value::Value;
use rulec_sema::request::{Analysis, Feature};
use serde_json::Value as Json;
use std::sync::Arc;

/// The mode in which texts and the words looked for are compared.
const MODE: TextMode = TextMode { fold: true, form: Form::Nfkc };

/// The function behind a feature. What it needs is compiled here, once for a rule set. Fails where
/// [`intent::train`] does.
pub fn function(analysis: &Analysis, feature: Feature) -> Result<HostFn, Diagnostic> {
    Ok(match feature {
        Feature::Intent => {
            let classifier = intent::train(analysis)?;
            over_text(move |text| intent::classify(&classifier, text))
        }
        Feature::Entity(at) => {
            let finder = entity::Finder::new(&analysis.entities[at]);
            over_text(move |text| finder.find(text).map_or(Json::Null, Json::Object))
        }
        Feature::Keywords => {
            let keywords = keywords::Keywords::new(&analysis.stop_words);
            over_text(move |text| keywords.of(text).into())
        }
        Feature::Lexicon(at) => {
            let scorer = lexicon::Scorer::new(&analysis.lexicons[at]);
            over_text(move |text| scorer.score(text).into())
        }
    })
}

/// The work of a feature for each byte of the text, at most.
pub fn work(analysis: &Analysis, feature: Feature) -> u64 {
    match feature {
        Feature::Intent => analysis.intents.len() as u64,
        Feature::Entity(at) => {
            let entity = &analysis.entities[at];
            let states =
                |pattern| parsed(pattern, entity.ignore_case).map_or(0, |hir| automaton_states(&hir));
            entity.patterns.iter().map(|pattern| states(pattern)).sum()
        }
        Feature::Keywords | Feature::Lexicon(_) => 1,
    }
}

/// A function of one argument, the text.
fn over_text(answer: impl Fn(&str) -> Json + Send + Sync + 'static) -> HostFn {
    Arc::new(move |args: &[Value<'_>]| {
        Ok(args.first().and_then(|text| text.as_str()).map_or(Json::Null, &answer))
    })
}
