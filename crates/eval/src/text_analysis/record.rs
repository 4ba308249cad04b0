//! Analyses one text completely, for users who want to see everything that rules could read about
//! the text. The analysis calls the same functions as conditions do.

use super::entity::{EntityFinder, EntityMatch};
use super::{build_feature_function, max_work_per_byte, recognize};
use crate::host::{HostFn, RegisteredFunction};
use rulec_base::diag::Diagnostic;
use rulec_lang::arena::Arena;
use rulec_lang::limits::{Exceeded, merge_exceeded};
use rulec_lang::value::Value;
use rulec_sema::hir::Program;
use rulec_sema::request::{
    AnalysisFeature, BEST_INTENT_FIELD, INTENT_FIELD, INTENT_SCORE_FIELD, URGENCY_LEXICON,
};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// The analysis of a message. Serializes to an object with these fields. If `lexicons`, `exceeded`
/// or the `fields` of an entity are empty, they are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RequestAnalysis {
    /// The name of the intent. `None` if no intent has both a sufficient score and a sufficient
    /// lead over the second-best intent.
    pub intent: Option<String>,
    /// The score of the best intent, from 0 to 1. It is set even if the intent is not chosen,
    /// because its score or its lead over the second-best intent is too low.
    pub score: f64,
    /// The name of the best intent. It is set even if the intent is not chosen, because its score
    /// or its lead is too low. `None` if the score is 0.
    pub best: Option<String>,
    /// All matches of the declared entities and of the built-in ones, in the order of the text.
    pub entities: Vec<FoundEntity>,
    /// The words of the text in order, without repetitions and stop words.
    pub keywords: Vec<String>,
    /// The score of the lexicon (weighted word list) `urgency`, from 0 to 1.
    pub urgency: f64,
    /// The scores of the other lexicons (weighted word lists) by name, from 0 to 1.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lexicons: BTreeMap<String, f64>,
    /// The value of the `let` named `context_score` in the rules; `None` if the rules lack it or if
    /// a value is missing.
    pub context_score: Option<f64>,
    /// The limits that the text exceeds. The results that such a limit prevents are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exceeded: Vec<Exceeded>,
}

/// An entity that was found in the text, such as a date or an order number. `start` and `end` count
/// characters (Unicode code points), as Python does; `end` is after the last character.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoundEntity {
    /// The name of the entity, declared in the rules or built in, such as `date`.
    pub name: String,
    /// The text of the entity, as it occurs in the message.
    pub value: String,
    /// The position of the entity's first character in the text, counted in Unicode code points.
    pub start: usize,
    /// The position after the entity's last character in the text, counted in Unicode code points.
    pub end: usize,
    /// The named groups of a declared entity, or the normalized fields of a built-in one, such as
    /// `year`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Json>,
}

/// The functions that analyse texts by the intents, entities and lexicons of one rule set.
pub struct RecordAnalyzer {
    intent_function: Option<AnalysisFunction>,
    keywords_function: AnalysisFunction,
    /// For each lexicon (weighted word list), its name and the function that computes its score for
    /// a text.
    lexicon_functions: Vec<(String, AnalysisFunction)>,
    /// For each declared entity, its name, its finder, and the work of the finder for each byte of
    /// text.
    entity_finders: Vec<(String, EntityFinder, u64)>,
}

struct AnalysisFunction {
    function: HostFn,
    work_per_byte: u64,
}

impl AnalysisFunction {
    /// Returns the function that computes a feature (such as the intent) of a text. If the rules
    /// read the feature, this is the function in `host_functions` that their conditions call.
    /// Otherwise the function is built here.
    fn new(
        program: &Program,
        host_functions: &[RegisteredFunction],
        feature: AnalysisFeature,
    ) -> Result<AnalysisFunction, Diagnostic> {
        let used = program.externs.iter().position(|declared| declared.feature == Some(feature));
        let function = match used.and_then(|index| host_functions.get(index)) {
            Some(host) => host.function.clone(),
            None => build_feature_function(&program.analysis, feature)?,
        };
        Ok(AnalysisFunction { function, work_per_byte: max_work_per_byte(&program.analysis, feature) })
    }

    /// Analyses a text and returns the result as JSON; null if the analysis would exceed a limit.
    fn analyze_within_limits(&self, text: &str, arena: &Arena) -> Json {
        match arena.allows_text_analysis(text, self.work_per_byte) {
            true => (self.function)(&[Value::Str(text)]).unwrap_or_default(),
            false => Json::Null,
        }
    }
}

impl RecordAnalyzer {
    /// Collects the functions that analyse texts for a program. `host_functions` are the functions
    /// that its conditions call, in the order of their declarations.
    ///
    /// # Errors
    /// Returns an error if the classifier cannot learn the intents.
    pub fn new(
        program: &Program,
        host_functions: &[RegisteredFunction],
    ) -> Result<RecordAnalyzer, Diagnostic> {
        let analysis = &program.analysis;
        let function = |feature| AnalysisFunction::new(program, host_functions, feature);
        let lexicons = analysis.lexicons.iter().enumerate();
        let lexicons = lexicons.map(|(index, lexicon)| {
            Ok((lexicon.name.to_string(), function(AnalysisFeature::Lexicon(index))?))
        });
        let entities = analysis.entities.iter().enumerate().map(|(index, entity)| {
            let work = max_work_per_byte(analysis, AnalysisFeature::Entity(index));
            (entity.name.to_string(), EntityFinder::new(entity), work)
        });
        let has_intents = !analysis.intents.is_empty();
        Ok(RecordAnalyzer {
            intent_function: has_intents.then(|| function(AnalysisFeature::Intent)).transpose()?,
            keywords_function: function(AnalysisFeature::Keywords)?,
            lexicon_functions: lexicons.collect::<Result<_, Diagnostic>>()?,
            entity_finders: entities.collect(),
        })
    }

    /// Analyses a text. The field `context_score` is left empty, because it depends on the whole
    /// message.
    pub fn analyze(&self, text: &str, arena: &Arena) -> RequestAnalysis {
        let intent = self
            .intent_function
            .as_ref()
            .map(|intent| intent.analyze_within_limits(text, arena))
            .unwrap_or_default();
        let text_of = |key: &str| intent.get(key).and_then(Json::as_str).map(str::to_owned);
        let mut record = RequestAnalysis {
            intent: text_of(INTENT_FIELD),
            score: intent.get(INTENT_SCORE_FIELD).and_then(Json::as_f64).unwrap_or_default(),
            best: text_of(BEST_INTENT_FIELD),
            entities: self.find_entities(text, arena),
            ..RequestAnalysis::default()
        };
        let keywords = self.keywords_function.analyze_within_limits(text, arena);
        let keywords = keywords.as_array().into_iter().flatten().filter_map(Json::as_str);
        record.keywords = keywords.map(str::to_owned).collect();
        for (name, lexicon) in &self.lexicon_functions {
            let score = lexicon.analyze_within_limits(text, arena).as_f64().unwrap_or_default();
            match &**name {
                URGENCY_LEXICON => record.urgency = score,
                _ => drop(record.lexicons.insert(name.clone(), score)),
            }
        }
        merge_exceeded(&mut record.exceeded, arena.exceeded());
        record
    }

    fn find_entities(&self, text: &str, arena: &Arena) -> Vec<FoundEntity> {
        let mut found: Vec<(&str, EntityMatch)> = Vec::new();
        for (name, finder, work) in &self.entity_finders {
            if arena.allows_text_analysis(text, *work) {
                found.extend(finder.find_all(text).into_iter().map(|one| (&**name, one)));
            }
        }
        if arena.allows_text_analysis(text, *recognize::RECOGNIZER_WORK_PER_BYTE) {
            let is_declared = |name: &str| self.entity_finders.iter().any(|(declared, ..)| declared == name);
            found.extend(recognize::recognize_all(text, |name| !is_declared(name)));
        }
        // The sort is stable, so at the same position, declared entities precede built-in ones.
        found.sort_by_key(|(_, one)| one.range.start);
        let mut offsets: Vec<usize> =
            found.iter().flat_map(|(_, one)| [one.range.start, one.range.end]).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let positions = to_char_positions(text, &offsets);
        let position = |offset: usize| offsets.binary_search(&offset).map_or(0, |index| positions[index]);
        let entities = found.into_iter().map(|(name, EntityMatch { range, fields })| FoundEntity {
            name: name.to_owned(),
            value: text[range.clone()].to_owned(),
            start: position(range.start),
            end: position(range.end),
            fields,
        });
        entities.collect()
    }
}

/// Converts sorted byte offsets to character offsets, in one pass over the text.
fn to_char_positions(text: &str, offsets: &[usize]) -> Vec<usize> {
    let (mut last_offset, mut chars) = (0, 0);
    let to_position = |&offset: &usize| {
        chars += text[last_offset..offset].chars().count();
        last_offset = offset;
        chars
    };
    offsets.iter().map(to_position).collect()
}
