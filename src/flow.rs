//! Finds the flow that a message wants: keyword flows by their patterns, intent flows by the built-in
//! classifier.
//!
//! [`FlowMatcher`] is offline. The `FlowRunner` of `rulec-http` asks a language model where the matcher finds
//! nothing, and executes what was found: the one path for every flow.
//!
//! ```
//! use rulec::Rules;
//! use rulec::classifier::Options;
//! use rulec::flow::{FlowMatcher, Found};
//!
//! let rules = Rules::from_text(
//!     r#"
//!     flow hello keyword exact ["hello", "你好"] -> "greeting"
//!     flow refund "gives money back" intent ["I want my money back", "我要退款"] -> "refund_v2"
//!     flow status "says where an order is" intent ["where is my parcel", "我的快递到哪了"] -> "status"
//!     "#,
//! )?;
//! let flows = FlowMatcher::new(&rules)?.with_classifier(Options::default())?;
//! assert!(matches!(flows.find(" 你好 "), Found::Keyword(hit) if hit.id == "greeting"));
//! assert!(matches!(flows.find("please give my money back"), Found::Intent(hit) if hit.id == "refund_v2"));
//! assert!(matches!(flows.find("who wrote hamlet"), Found::Nothing { .. }));
//! assert!(flows.prompt().contains("- `status`: says where an order is"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod test;
#[cfg(test)]
mod tests;

pub use test::run_tests;

use super::prompt::{PickTool, intent_prompt, intent_prompt_for};
use crate::engine::{Entry, FlowHit, Rules};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_eval::explain::{Explanation, IntentTrace, RankedIntent};
use rulec_lang::arena::Arena;
use rulec_lang::limits::{self, Exceeded};
use rulec_nlu::{self, Classifier, Options, Ranked, TrainError, Verdict};
use rulec_sema::hir::{FLOWS, Program, TableKind, Trigger};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Finds the flow that a message wants. Cheap to clone, shared between threads.
#[derive(Clone, Debug)]
pub struct FlowMatcher {
    rules: Rules,
    intents: Arc<[IntentFlow]>,
    /// Trained on `intents`, in their order.
    classifier: Option<Arc<Classifier>>,
}

/// An intent flow: found by what a message means. Flows that answer with one id count as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntentFlow {
    /// The id that it answers with.
    pub id: String,
    /// The name in the rules of the first flow with this id.
    pub name: String,
    /// Its description, for a language model; empty when the rules have none.
    pub description: String,
    /// Sentences that mean it.
    pub examples: Vec<String>,
    /// Words that point to it.
    pub keywords: Vec<String>,
}

/// An intent flow with the classifier's score.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct IntentHit {
    /// The id that the flow answers with.
    pub id: String,
    /// Its name in the rules.
    pub name: String,
    /// From 0 to 1; see [`classifier`].
    pub score: f64,
}

/// The result of searching a flow without a language model.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'m> {
    /// The first keyword flow of which a pattern matches.
    Keyword(FlowHit<'m>),
    /// No keyword flow; the intent flow that the classifier is sure of.
    Intent(IntentHit),
    /// Neither.
    Nothing {
        /// The intent flows that came nearest, best first, when the classifier abstained; those with
        /// nothing in common with the message are left out.
        nearest: Vec<IntentHit>,
    },
}

/// Why there is no matcher.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.in_words())]
#[non_exhaustive]
pub enum MatcherError {
    /// The rules hold no `flow` statement.
    NoFlow,
    /// The classifier cannot be trained on the intent flows.
    Classifier(#[from] TrainError),
}

impl MatcherError {
    /// The mistake and the remedy, which each language has its own words for.
    pub fn in_words(&self) -> Message {
        match self {
            MatcherError::NoFlow => message!(
                "the rules hold no flow; add one: `flow NAME \"what it does\" intent [\"an example\"] -> \"id\"`"
            ),
            MatcherError::Classifier(error) => {
                message!("the intent flows cannot be told apart by the classifier: {}", error.to_string())
            }
        }
    }
}

impl FlowMatcher {
    /// A matcher of the flows of a rule set, without classifier.
    ///
    /// # Errors
    /// When the rules hold no flow.
    pub fn new(rules: &Rules) -> Result<FlowMatcher, MatcherError> {
        if rules.program().flows.is_empty() {
            return Err(MatcherError::NoFlow);
        }
        let intents = intents(rules.program()).into();
        Ok(FlowMatcher { rules: rules.clone(), intents, classifier: None })
    }

    /// A matcher with the classifier, where there are intent flows. It abstains as `settings { intent_threshold: …,
    /// intent_margin: … }` say: what `rulec run` finds flows by.
    ///
    /// # Errors
    /// Those of [`FlowMatcher::new`] and [`FlowMatcher::with_classifier`].
    pub fn offline(rules: &Rules) -> Result<FlowMatcher, MatcherError> {
        let matcher = FlowMatcher::new(rules)?;
        let analysis = &rules.program().analysis;
        match matcher.intents.is_empty() {
            true => Ok(matcher),
            false => {
                let options = Options { threshold: analysis.threshold, margin: analysis.margin };
                matcher.with_classifier(options)
            }
        }
    }

    /// Trains the built-in classifier on the descriptions, examples and keywords of the intent flows. It
    /// abstains where `options` say so.
    ///
    /// # Errors
    /// When an intent flow has nothing to learn from, there are too many, or an option is out of range.
    pub fn with_classifier(mut self, options: Options) -> Result<FlowMatcher, MatcherError> {
        let intent = |flow: &IntentFlow| rulec_nlu::Intent {
            id: flow.id.clone(),
            description: flow.description.clone(),
            keywords: flow.keywords.clone(),
            examples: flow.examples.clone(),
        };
        let intents: Vec<_> = self.intents.iter().map(intent).collect();
        self.classifier = Some(Arc::new(Classifier::train(&intents, options)?));
        Ok(self)
    }

    /// The flow that the text wants: the first keyword flow of which a pattern matches, else the intent
    /// flow that the classifier chooses, where there is one.
    pub fn find(&self, text: &str) -> Found<'_> {
        self.search(text).0
    }

    /// The result of [`FlowMatcher::find`], and the limits that were exceeded on the way, each once: a pattern that
    /// would have gone beyond one was not found, and a text beyond them has no intent.
    pub fn search(&self, text: &str) -> (Found<'_>, Vec<Exceeded>) {
        let (hit, mut exceeded) = self.keyword(text);
        let found = match hit {
            Some(hit) => Found::Keyword(hit),
            None => {
                let (found, beyond) = self.search_intent(text);
                limits::add(&mut exceeded, beyond);
                found
            }
        };
        (found, exceeded)
    }

    /// The intent flow that the classifier chooses for a text that no keyword flow wants, and the limits that the
    /// text exceeded: beyond them it has no intent.
    pub fn search_intent(&self, text: &str) -> (Found<'_>, Vec<Exceeded>) {
        let (verdict, exceeded) = self.classify(text);
        let Some(verdict) = verdict else { return (Found::Nothing { nearest: Vec::new() }, exceeded) };
        let mut ranked = verdict.ranked().iter().filter(|ranked| ranked.score > 0.0);
        if verdict.chosen().is_some()
            && let Some(best) = ranked.next()
        {
            return (Found::Intent(self.hit(best)), exceeded);
        }
        (Found::Nothing { nearest: ranked.map(|ranked| self.hit(ranked)).collect() }, exceeded)
    }

    /// The classifier's verdict on a text; none without a classifier, or for a text beyond the limits.
    fn classify(&self, text: &str) -> (Option<Verdict<'_>>, Vec<Exceeded>) {
        let Some(classifier) = &self.classifier else { return (None, Vec::new()) };
        let arena = Arena::new(&self.rules.program().limits);
        if arena.analyses(text, self.intents.len() as u64) {
            return (Some(classifier.classify(text)), Vec::new());
        }
        let mut exceeded = Vec::new();
        limits::add(&mut exceeded, arena.exceeded());
        (None, exceeded)
    }

    /// Explains how the flow of a message is found: pattern by pattern, then by the scores of the intent flows. Fields
    /// marked `@private` are masked unless `show_private`. `None` when the rules hold no flow.
    pub fn explain(&self, message: &Json, show_private: bool) -> Option<Explanation> {
        let mut explanation = self.entry()?.explain(message, show_private);
        let (None, Some(classifier)) = (&explanation.chosen, &self.classifier) else {
            return Some(explanation);
        };
        let Some(verdict) = self.classify(text_of(message)).0 else { return Some(explanation) };
        let ranked = verdict.ranked().iter().filter(|ranked| ranked.score > 0.0).map(|ranked| {
            let chosen = verdict.chosen() == Some(ranked.id);
            let IntentHit { id, name, score } = self.hit(ranked);
            RankedIntent { name, id, score, chosen }
        });
        let ranked: Vec<RankedIntent> = ranked.collect();
        explanation.chosen = ranked.iter().find(|intent| intent.chosen).map(|intent| intent.name.clone());
        let Options { threshold, margin } = classifier.options();
        explanation.intents = Some(IntentTrace { threshold, margin, ranked });
        Some(explanation)
    }

    /// The entry of the patterns, which any rules with a flow have.
    fn entry(&self) -> Option<Entry<'_>> {
        self.rules.entry_of_kind(FLOWS, TableKind::Flows).ok()
    }

    fn keyword(&self, text: &str) -> (Option<FlowHit<'_>>, Vec<Exceeded>) {
        let Some(entry) = self.entry().filter(|entry| !entry.is_empty()) else { return (None, Vec::new()) };
        let decision = entry.decide(&json!({"text": text}));
        let hit = decision.statement().and_then(|chosen| FlowHit::of(self.rules.program(), chosen));
        (hit, decision.exceeded().to_vec())
    }

    fn hit(&self, ranked: &Ranked<'_>) -> IntentHit {
        let name = self.intents.get(ranked.index).map(|flow| flow.name.clone()).unwrap_or_default();
        IntentHit { id: ranked.id.to_owned(), name, score: ranked.score }
    }

    /// The rules whose flows it finds.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The intent flows, in the order of the rules.
    pub fn intents(&self) -> &[IntentFlow] {
        &self.intents
    }

    /// The intent flow with that id.
    pub fn intent(&self, id: &str) -> Option<&IntentFlow> {
        self.intents.iter().find(|flow| flow.id == id)
    }

    /// The section of a language model's prompt that lists the intent flows; empty without any.
    pub fn prompt(&self) -> String {
        let lines: Vec<_> =
            self.intents.iter().map(|flow| (flow.id.as_str(), flow.description.as_str())).collect();
        match &self.rules.program().flow_tool {
            Some(tool) => intent_prompt_for(&tool.name, &lines),
            None => intent_prompt(&lines),
        }
    }

    /// The tool by which a language model picks an intent flow, with the name and the descriptions that the rules
    /// give it (`flow tool …`); [`PickTool::to_json`] gives its JSON.
    pub fn tool(&self) -> PickTool {
        let tool = PickTool::flow_executor(self.intents.iter().map(|flow| flow.id.as_str()));
        let Some(written) = &self.rules.program().flow_tool else { return tool };
        let mut tool = tool.with_name(&written.name);
        if !written.description.is_empty() {
            tool = tool.with_description(&written.description);
        }
        if !written.parameter.is_empty() {
            tool = tool.with_parameter_description(&written.parameter);
        }
        tool
    }

    /// The request that executes a flow, where the rules say it: `flow tool NAME { endpoint: { url: …, … } }`.
    pub fn endpoint(&self) -> Option<&Json> {
        let tool = self.rules.program().flow_tool.as_ref()?;
        Some(&tool.endpoint).filter(|endpoint| !endpoint.is_null())
    }
}

/// The text of a message; empty when it has none.
fn text_of(message: &Json) -> &str {
    message.get("text").and_then(Json::as_str).unwrap_or_default()
}

/// The intent flows, those of one id put together: a model could not tell them apart, and a classifier
/// would find the one as near as the other and abstain.
fn intents(program: &Program) -> Vec<IntentFlow> {
    let mut intents: Vec<IntentFlow> = Vec::new();
    let mut places = hashbrown::HashMap::new();
    for flow in &program.flows {
        let Trigger::Intent { examples, keywords } = &flow.trigger else { continue };
        let place = *places.entry(&*flow.id).or_insert(intents.len());
        if place == intents.len() {
            let (id, name) = (flow.id.to_string(), flow.name.to_string());
            intents.push(IntentFlow { id, name, ..IntentFlow::default() });
        }
        let intent = &mut intents[place];
        if !intent.description.is_empty() && !flow.description.is_empty() {
            intent.description.push_str("; ");
        }
        intent.description.push_str(&flow.description);
        intent.examples.extend(examples.iter().map(ToString::to_string));
        intent.keywords.extend(keywords.iter().map(ToString::to_string));
    }
    intents
}
