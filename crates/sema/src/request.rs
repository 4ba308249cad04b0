//! The declarations for the analysis of a message's text: `intent`, `entity` and `lexicon`
//! statements with every name resolved, and the settings that belong to them.

use rulec_base::codec::impl_codec;
use rulec_base::span::Span;
use rulec_nlu::Options;
use std::sync::Arc;

/// The lexicon that every program has.
pub const URGENCY: &str = "urgency";
/// The words of [`URGENCY`] where a program declares none, each of weight 1.
pub const URGENCY_WORDS: [&str; 9] =
    ["urgent", "asap", "immediately", "emergency", "critical", "紧急", "马上", "立即", "尽快"];

/// The fields of `request` whatever is declared; each lexicon adds one of its name.
pub const FIELDS: [&str; 6] = ["intent", "intent_score", "entities", "keywords", URGENCY, "context_score"];

#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    pub intents: Vec<Intent>,
    pub entities: Vec<Entity>,
    /// The lexicons; the last is [`URGENCY`] if no other has that name.
    pub lexicons: Vec<Lexicon>,
    /// Words that are no keywords, beside the built-in ones.
    pub stop_words: Vec<Arc<str>>,
    /// The least score of an intent, from 0 to 1.
    pub threshold: f64,
    /// The least distance between the best intent and the second, from 0 to 1.
    pub margin: f64,
}

impl Default for Analysis {
    fn default() -> Self {
        let Options { threshold, margin } = Options::default();
        Analysis {
            intents: Vec::new(),
            entities: Vec::new(),
            lexicons: Vec::new(),
            stop_words: Vec::new(),
            threshold,
            margin,
        }
    }
}

/// Something a message may want.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    pub name: Arc<str>,
    pub description: Arc<str>,
    pub keywords: Vec<Arc<str>>,
    pub examples: Vec<Arc<str>>,
    pub span: Span,
}

/// Something found in the text by a regular expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    pub name: Arc<str>,
    /// The expressions, known to compile; the first that matches counts.
    pub patterns: Vec<Arc<str>>,
    /// Its fields: the expressions' named groups, [`MATCH`] for one that names none.
    pub fields: Vec<Arc<str>>,
    pub ignore_case: bool,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lexicon {
    pub name: Arc<str>,
    /// Each word and its weight, above 0 and at most 1.
    pub entries: Vec<(Arc<str>, f64)>,
}

/// A function that the engine itself offers to conditions, over the message's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// The best intent: a record of [`INTENT`] (left out when none is clear enough), [`BEST`] and
    /// [`SCORE`].
    Intent,
    /// An entity, by its place in [`Analysis::entities`]: a record of what its named groups matched.
    Entity(usize),
    Keywords,
    /// A lexicon's score, by its place in [`Analysis::lexicons`].
    Lexicon(usize),
}

/// The word that stands for the analysis.
pub const REQUEST: &str = "request";
/// The field with the name of the intent that is clear enough.
pub const INTENT: &str = "intent";
/// The field with the name of the intent that scores highest.
pub const BEST: &str = "best";
/// The field with the highest score.
pub const SCORE: &str = "score";
/// The field of an entity with all that was matched, where its expression names no group.
pub const MATCH: &str = "match";

impl_codec!(struct Analysis { intents, entities, lexicons, stop_words, threshold, margin });
impl_codec!(struct Intent { name, description, keywords, examples, span });
impl_codec!(struct Entity { name, patterns, fields, ignore_case, span });
impl_codec!(struct Lexicon { name, entries });
impl_codec!(enum Feature { 0 Intent, 1 Entity(number), 2 Keywords, 3 Lexicon(number) });
