//! Selects the flow (a conversation that the caller starts) for a message. Keyword flows are found
//! by their patterns, intent flows by the built-in classifier.
//!
//! [`FlowMatcher`] works offline. The `FlowRunner` of `rulec-http` also asks a language model if
//! the matcher finds nothing, and executes the selected flow.
//!
//! ```
//! use rulec::Rules;
//! use rulec::classifier::Options;
//! use rulec::flow::{FlowMatcher, FlowSelection};
//!
//! let rules = Rules::from_text(
//!     r#"
//!     flow hello keyword exact ["hello", "你好"] -> "greeting"
//!     flow refund "gives money back" intent ["I want my money back", "我要退款"] -> "refund_v2"
//!     flow status "says where an order is" intent ["where is my parcel", "我的快递到哪了"] -> "status"
//!     "#,
//! )?;
//! let flows = FlowMatcher::new(&rules)?.with_classifier(Options::default())?;
//! assert!(matches!(flows.find(" 你好 "), FlowSelection::Keyword(hit) if hit.id == "greeting"));
//! assert!(matches!(flows.find("please give my money back"), FlowSelection::Intent(hit) if hit.id == "refund_v2"));
//! assert!(matches!(flows.find("who wrote hamlet"), FlowSelection::Nothing { .. }));
//! assert!(flows.prompt().contains("- `status`: says where an order is"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod test;
#[cfg(test)]
mod tests;

pub use test::run_tests;
pub(crate) use test::run_tests_with;

use super::prompt::{FLOW_EXECUTOR_TOOL, ModelRequest, PickTool, flow_prompt_section};
use crate::engine::{Entry, FlowHit, Rules};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_eval::explain::{Explanation, IntentTrace, RankedIntent};
use rulec_lang::arena::Arena;
use rulec_lang::limits::{self, Exceeded};
use rulec_nlu::{self, Classifier, Options, Ranked, TrainError, Verdict};
use rulec_sema::hir::{FLOWS_TABLE, Program, TableKind, Trigger};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Selects the flow (a conversation that the caller starts) for a message. A matcher is cheap to
/// clone and can be shared between threads.
#[derive(Clone, Debug)]
pub struct FlowMatcher {
    rules: Rules,
    intents: Arc<[IntentFlow]>,
    /// The classifier, trained on the flows in `intents` except the flows in `unlearned_ids`;
    /// `None` if no classifier is used.
    classifier: Option<Arc<Classifier>>,
    /// The ids of the intent flows (flows that the classifier selects) that have no text to learn
    /// from.
    unlearned_ids: Arc<[String]>,
}

/// A flow that the classifier selects by the meaning of a message. Flows with the same id count as
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntentFlow {
    /// The id that the caller gets if this flow is selected.
    pub id: String,
    /// The name of the flow in the rules. If several flows have this id, the name of the first one.
    pub name: String,
    /// The description of the flow, which a language model reads; empty if the rules have none.
    pub description: String,
    /// Example messages that this flow should handle, from which the classifier learns.
    pub examples: Vec<String>,
    /// Words in a message that suggest this flow, from which the classifier learns.
    pub keywords: Vec<String>,
}

impl IntentFlow {
    /// Returns the texts from which the classifier learns this flow.
    fn to_intent(&self) -> rulec_nlu::Intent {
        rulec_nlu::Intent {
            id: self.id.clone(),
            description: self.description.clone(),
            keywords: self.keywords.clone(),
            examples: self.examples.clone(),
        }
    }
}

/// An intent flow (a flow that the classifier selects by meaning), with the classifier's score.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct IntentHit {
    /// The id of the flow, as the rules define it for the caller.
    pub id: String,
    /// The name of the flow in the rules.
    pub name: String,
    /// The classifier's score, from 0 to 1; see [`crate::classifier`].
    pub score: f64,
}

/// The result of selecting a flow without a language model.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowSelection<'m> {
    /// The first keyword flow with a pattern that matches the message.
    Keyword(FlowHit<'m>),
    /// No pattern matched; the classifier chose this intent flow.
    Intent(IntentHit),
    /// Neither a pattern nor the classifier found a flow for the message.
    Nothing {
        /// If the classifier chose no flow, the intent flows (flows that the classifier can select)
        /// with a score above 0, best first. Empty if no classifier ran.
        nearest: Vec<IntentHit>,
    },
}

/// The reason why a [`FlowMatcher`], or its classifier, cannot be created.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum MatcherError {
    /// The rules contain neither a `flow` nor a `flow tool` statement.
    NoFlow,
    /// The classifier cannot be trained on the intent flows.
    Classifier(#[from] TrainError),
}

impl MatcherError {
    /// Returns the problem and a suggested fix as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            MatcherError::NoFlow => message!(
                "the rules contain no flow; add one: `flow NAME \"what it does\" intent [\"an example\"] -> \
                \"id\"`"
            ),
            MatcherError::Classifier(error) => {
                message!("the classifier cannot be trained on the intent flows: {}", error.to_message())
            }
        }
    }
}

impl FlowMatcher {
    /// Creates a matcher for the flows of a rule set, without a classifier.
    ///
    /// # Errors
    /// If the rules contain neither a `flow` nor a `flow tool` statement.
    pub fn new(rules: &Rules) -> Result<FlowMatcher, MatcherError> {
        if rules.program().flows.is_empty() && rules.program().flow_tool.is_none() {
            return Err(MatcherError::NoFlow);
        }
        let intents = merge_intent_flows(rules.program()).into();
        Ok(FlowMatcher { rules: rules.clone(), intents, classifier: None, unlearned_ids: Arc::default() })
    }

    /// Creates a matcher, with a classifier if there are intent flows. The settings
    /// `intent_threshold` and `intent_margin` of the rules define when the classifier abstains.
    /// `rulec run` uses this matcher.
    ///
    /// # Errors
    /// As for [`FlowMatcher::new`] and [`FlowMatcher::with_classifier`]. But intent flows without a
    /// text to learn from are an error only if all intent flows lack such a text; see
    /// [`FlowMatcher::unlearned`].
    pub fn offline(rules: &Rules) -> Result<FlowMatcher, MatcherError> {
        let matcher = FlowMatcher::new(rules)?;
        let analysis = &rules.program().analysis;
        match matcher.intents.is_empty() {
            true => Ok(matcher),
            false => {
                let options =
                    Options { threshold: analysis.min_intent_score, margin: analysis.min_score_margin };
                matcher.with_learnable_flows(options)
            }
        }
    }

    /// Adds the built-in classifier, trained on the descriptions, examples and keywords of the
    /// intent flows. `options` define when the classifier abstains.
    ///
    /// # Errors
    /// If an intent flow has no text to learn from, if there are too many flows, or if an option is
    /// out of range.
    pub fn with_classifier(self, options: Options) -> Result<FlowMatcher, MatcherError> {
        let intents: Vec<_> = self.intents.iter().map(IntentFlow::to_intent).collect();
        let classifier = Some(Arc::new(Classifier::train(&intents, options)?));
        Ok(FlowMatcher { classifier, ..self })
    }

    /// Adds the built-in classifier like [`FlowMatcher::with_classifier`], without the flows that
    /// have no text to learn from. [`FlowMatcher::unlearned`] returns these flows.
    fn with_learnable_flows(self, options: Options) -> Result<FlowMatcher, MatcherError> {
        let mut intents: Vec<_> = self.intents.iter().map(IntentFlow::to_intent).collect();
        let mut unlearned = Vec::new();
        let classifier = loop {
            match Classifier::train(&intents, options) {
                Err(TrainError::NoText { id }) if intents.len() > 1 => {
                    intents.retain(|intent| intent.id != id);
                    unlearned.push(id);
                }
                trained => break Some(Arc::new(trained?)),
            }
        };
        Ok(FlowMatcher { classifier, unlearned_ids: unlearned.into(), ..self })
    }

    /// Returns the ids of the intent flows that the classifier never chooses, because they have no
    /// text to learn from. A language model may choose them.
    pub fn unlearned(&self) -> &[String] {
        &self.unlearned_ids
    }

    /// Selects the flow for a text: the first keyword flow with a matching pattern, else the intent
    /// flow that the classifier chooses.
    pub fn find(&self, text: &str) -> FlowSelection<'_> {
        self.search(text).0
    }

    /// Returns the result of [`FlowMatcher::find`], and the limits that were exceeded, without
    /// duplicates. A pattern that exceeds a limit does not match. For a text that exceeds a limit,
    /// the classifier selects no flow.
    pub fn search(&self, text: &str) -> (FlowSelection<'_>, Vec<Exceeded>) {
        let (hit, mut exceeded) = self.match_keyword_flow(text);
        let selection = match hit {
            Some(hit) => FlowSelection::Keyword(hit),
            None => {
                let (selection, exceeded_by_intent) = self.search_intent(text);
                limits::merge_exceeded(&mut exceeded, exceeded_by_intent);
                selection
            }
        };
        (selection, exceeded)
    }

    /// Classifies a text that no keyword flow matches. Returns the flow that the classifier chose,
    /// and the limits that the text exceeded. For a text over a limit, no flow is chosen.
    pub fn search_intent(&self, text: &str) -> (FlowSelection<'_>, Vec<Exceeded>) {
        let (verdict, exceeded) = self.classify(text);
        let Some(verdict) = verdict else {
            return (FlowSelection::Nothing { nearest: Vec::new() }, exceeded);
        };
        let mut ranked = verdict.ranked().iter().filter(|ranked| ranked.score > 0.0);
        if verdict.chosen().is_some()
            && let Some(best) = ranked.next()
        {
            return (FlowSelection::Intent(self.to_intent_hit(best)), exceeded);
        }
        (
            FlowSelection::Nothing { nearest: ranked.map(|ranked| self.to_intent_hit(ranked)).collect() },
            exceeded,
        )
    }

    /// Returns the classifier's result for a text; `None` without a classifier, or if the text
    /// exceeds a limit. Also returns the exceeded limits.
    fn classify(&self, text: &str) -> (Option<Verdict<'_>>, Vec<Exceeded>) {
        let Some(classifier) = &self.classifier else { return (None, Vec::new()) };
        let arena = Arena::new(&self.rules.program().limits);
        if arena.allows_text_analysis(text, self.intents.len() as u64) {
            return (Some(classifier.classify(text)), Vec::new());
        }
        let mut exceeded = Vec::new();
        limits::merge_exceeded(&mut exceeded, arena.exceeded());
        (None, exceeded)
    }

    /// Explains how a flow was selected: first each pattern, then the scores of the intent flows
    /// (flows that the classifier selects). Fields marked `@private` are masked unless
    /// `show_private`. `None` if the rules contain no flow.
    pub fn explain(&self, message: &Json, show_private: bool) -> Option<Explanation> {
        let mut explanation = self.flows_entry()?.explain(message, show_private);
        let (None, Some(classifier)) = (&explanation.chosen, &self.classifier) else {
            return Some(explanation);
        };
        let Some(verdict) = self.classify(message_text(message)).0 else { return Some(explanation) };
        let ranked = verdict.ranked().iter().filter(|ranked| ranked.score > 0.0).map(|ranked| {
            let is_chosen = verdict.chosen() == Some(ranked.id);
            let IntentHit { id, name, score } = self.to_intent_hit(ranked);
            RankedIntent { name, id, score, chosen: is_chosen }
        });
        let ranked: Vec<RankedIntent> = ranked.collect();
        explanation.chosen = ranked.iter().find(|intent| intent.chosen).map(|intent| intent.name.clone());
        let Options { threshold, margin } = classifier.options();
        explanation.intents = Some(IntentTrace { threshold, margin, ranked });
        Some(explanation)
    }

    /// Returns the [`Entry`] that selects a keyword flow, by the table of all keyword patterns.
    /// Every rule set with a flow has this table, so `None` does not occur.
    fn flows_entry(&self) -> Option<Entry<'_>> {
        self.rules.entry_of_kind(FLOWS_TABLE, TableKind::Flows).ok()
    }

    fn match_keyword_flow(&self, text: &str) -> (Option<FlowHit<'_>>, Vec<Exceeded>) {
        let Some(entry) = self.flows_entry().filter(|entry| !entry.is_empty()) else {
            return (None, Vec::new());
        };
        let decision = entry.decide(&json!({"text": text}));
        let hit = decision.statement().and_then(|chosen| FlowHit::from_choice(self.rules.program(), chosen));
        (hit, decision.exceeded().to_vec())
    }

    fn to_intent_hit(&self, ranked: &Ranked<'_>) -> IntentHit {
        let name = self.intent(ranked.id).map(|flow| flow.name.clone()).unwrap_or_default();
        IntentHit { id: ranked.id.to_owned(), name, score: ranked.score }
    }

    /// Returns the rule set whose flows this matcher selects.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the intent flows (flows that are selected by meaning), in source order.
    pub fn intents(&self) -> &[IntentFlow] {
        &self.intents
    }

    /// Returns the intent flow (a flow that is selected by meaning) with this id; `None` if there
    /// is none.
    pub fn intent(&self, id: &str) -> Option<&IntentFlow> {
        self.intents.iter().find(|flow| flow.id == id)
    }

    /// Returns the prompt section that lists the intent flows (flows that are selected by meaning)
    /// for a language model. Empty if there are none. The rules may set its wording (`settings {
    /// flow_prompt: … }`).
    pub fn prompt(&self) -> String {
        let lines: Vec<_> =
            self.intents.iter().map(|flow| (flow.id.as_str(), flow.description.as_str())).collect();
        let program = self.rules.program();
        let tool = program.flow_tool.as_ref().map_or(FLOW_EXECUTOR_TOOL, |tool| &tool.name);
        flow_prompt_section(&program.prompts, tool, &lines)
    }

    /// Returns the tool that a language model calls to select an intent flow. The rules may set the
    /// tool's name and descriptions (`flow tool …`). [`PickTool::to_json`] returns its JSON
    /// definition.
    pub fn tool(&self) -> PickTool {
        let tool = PickTool::flow_executor(self.intents.iter().map(|flow| flow.id.as_str()));
        let Some(written) = &self.rules.program().flow_tool else { return tool };
        let mut tool = tool.with_name(&written.name);
        if !written.description.is_empty() {
            tool = tool.with_description(&written.description);
        }
        if !written.parameter_description.is_empty() {
            tool = tool.with_parameter_description(&written.parameter_description);
        }
        tool
    }

    /// Returns the prompt and the tool with which a language model selects an intent flow for this
    /// text.
    pub fn request(&self, text: &str) -> ModelRequest {
        ModelRequest {
            name: FLOWS_TABLE.to_owned(),
            system: self.prompt(),
            known: None,
            text: text.to_owned(),
            tool: self.tool(),
        }
    }

    /// Returns the declaration of the HTTP request that executes a flow, as JSON:
    /// `flow tool NAME { endpoint: { … } }`. `None` if the rules do not declare it.
    pub fn endpoint(&self) -> Option<&Json> {
        let tool = self.rules.program().flow_tool.as_ref()?;
        Some(&tool.endpoint).filter(|endpoint| !endpoint.is_null())
    }
}

/// Returns the field `text` of a message; empty if the message has no such text.
fn message_text(message: &Json) -> &str {
    message.get("text").and_then(Json::as_str).unwrap_or_default()
}

/// Returns the intent flows (flows selected by meaning); flows with the same id are merged into
/// one. Otherwise they would get similar scores. So the classifier would choose none of them, and a
/// language model could not choose between them.
fn merge_intent_flows(program: &Program) -> Vec<IntentFlow> {
    let mut intents: Vec<IntentFlow> = Vec::new();
    let mut index_by_id = hashbrown::HashMap::new();
    for flow in &program.flows {
        let Trigger::Intent { examples, keywords } = &flow.trigger else { continue };
        let index = *index_by_id.entry(&*flow.id).or_insert(intents.len());
        if index == intents.len() {
            let (id, name) = (flow.id.to_string(), flow.name.to_string());
            intents.push(IntentFlow { id, name, ..IntentFlow::default() });
        }
        let intent = &mut intents[index];
        if !intent.description.is_empty() && !flow.description.is_empty() {
            intent.description.push_str("; ");
        }
        intent.description.push_str(&flow.description);
        intent.examples.extend(examples.iter().map(ToString::to_string));
        intent.keywords.extend(keywords.iter().map(ToString::to_string));
    }
    intents
}
