//! Declarations for the analysis of the message text: resolved `intent`, `entity` and `lexicon`
//! statements, and their settings.

use rulec_base::codec::impl_codec;
use rulec_base::span::Span;
use rulec_nlu::Options;
use std::sync::Arc;

/// The name of the lexicon (a list of weighted words) that every program has.
pub const URGENCY_LEXICON: &str = "urgency";
/// The default words of [`URGENCY_LEXICON`], each of weight 1; used if the program declares no such
/// lexicon.
pub const DEFAULT_URGENCY_WORDS: [&str; 9] =
    ["urgent", "asap", "immediately", "emergency", "critical", "紧急", "马上", "立即", "尽快"];

/// The names of the fields of `request` that every program has. Each lexicon adds a field with its
/// name.
pub const REQUEST_FIELDS: [&str; 6] =
    ["intent", "intent_score", "entities", "keywords", URGENCY_LEXICON, "context_score"];

#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    pub intents: Vec<Intent>,
    pub entities: Vec<Entity>,
    /// The lexicons; the last is the default [`URGENCY_LEXICON`] unless the program declares one.
    pub lexicons: Vec<Lexicon>,
    /// Words that are never keywords, in addition to the built-in stop words.
    pub stop_words: Vec<Arc<str>>,
    /// The lowest score, from 0 to 1, with which an intent is accepted.
    pub min_intent_score: f64,
    /// The lowest accepted difference between the best and the second-best score, from 0 to 1. If
    /// the difference is smaller, no intent is chosen.
    pub min_score_margin: f64,
}

impl Default for Analysis {
    fn default() -> Self {
        let Options { threshold, margin } = Options::default();
        Analysis {
            intents: Vec::new(),
            entities: Vec::new(),
            lexicons: Vec::new(),
            stop_words: Vec::new(),
            min_intent_score: threshold,
            min_score_margin: margin,
        }
    }
}

/// An intent: a purpose that a message may have, described by keywords and example messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    pub name: Arc<str>,
    pub description: Arc<str>,
    pub keywords: Vec<Arc<str>>,
    pub examples: Vec<Arc<str>>,
    pub span: Span,
}

/// An entity: a part of the text, such as an order number, that regular expressions find.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    pub name: Arc<str>,
    /// The regular expressions, known to compile; the first one that matches is used.
    pub patterns: Vec<Arc<str>>,
    /// The fields of the entity: the named groups of the expressions. An expression without named
    /// groups has the field [`WHOLE_MATCH_FIELD`].
    pub fields: Vec<Arc<str>>,
    pub ignores_case: bool,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lexicon {
    pub name: Arc<str>,
    /// The words of the lexicon, each with its weight, above 0 and at most 1.
    pub weighted_words: Vec<(Arc<str>, f64)>,
}

/// A result of the built-in analysis of the message text. Conditions read it through a call of a
/// built-in function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnalysisFeature {
    /// The best intent of the text. The result is a record with [`BEST_INTENT_FIELD`],
    /// [`INTENT_SCORE_FIELD`] and [`INTENT_FIELD`]. [`INTENT_FIELD`] is omitted if no intent is
    /// clear enough.
    Intent,
    /// An entity, by its index in [`Analysis::entities`]. The result is a record of the texts that
    /// the entity's named groups matched.
    Entity(usize),
    Keywords,
    /// The score of a lexicon, by its index in [`Analysis::lexicons`].
    Lexicon(usize),
}

impl AnalysisFeature {
    /// True if the result may be missing although the text is present. Keywords and scores are
    /// present for every text.
    pub fn may_find_nothing(self) -> bool {
        matches!(self, AnalysisFeature::Intent | AnalysisFeature::Entity(_))
    }
}

/// The name under which rules read the results of the text analysis, as in `request.intent`.
pub const REQUEST_ROOT: &str = "request";
/// The name of the field that contains the intent, if one intent is clear enough.
pub const INTENT_FIELD: &str = "intent";
/// The name of the field that contains the intent with the highest score.
pub const BEST_INTENT_FIELD: &str = "best";
/// The name of the field that contains the highest score of an intent.
pub const INTENT_SCORE_FIELD: &str = "score";
/// The name of the field that contains the whole match of an entity without named groups.
pub const WHOLE_MATCH_FIELD: &str = "match";

impl_codec!(struct Analysis { intents, entities, lexicons, stop_words, min_intent_score, min_score_margin });
impl_codec!(struct Intent { name, description, keywords, examples, span });
impl_codec!(struct Entity { name, patterns, fields, ignores_case, span });
impl_codec!(struct Lexicon { name, weighted_words });
impl_codec!(enum AnalysisFeature { 0 Intent, 1 Entity(number), 2 Keywords, 3 Lexicon(number) });
