//! The processors that workflows commonly need: rounds of a loop, a vote, and one that hands on what it is given.
//!
//! They decide and say so in their output; where the output goes then is a router's matter, usually
//! `when output.should_exit -> next[1]  otherwise -> next[0] loopback` and
//! `when output.approved -> next[0]  otherwise -> next[1]`.

use super::node::Node;
use super::processor::{BoxFuture, Call, ProcessError, ProcessResult, Processor, from_fn};
use super::rounds::round_of;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The field that holds the number of the round.
const ROUND: &str = "iteration";

/// A drop of the score by more than this, from one run to the next, is a regression.
const REGRESSION: f64 = 10.0;

/// When a loop ends. Read from a node's `config`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    /// The loop exits in this round at the latest; at least 1.
    pub max_rounds: i64,
    /// The loop exits at this score or above; 0 turns this off.
    #[serde(default)]
    pub exit_on_score: f64,
}

/// The state that a loop keeps from one run to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoopState {
    previous: Option<f64>,
}

/// Why a loop exits, or what it noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoopReason {
    /// It was the last round.
    MaxRoundsReached,
    /// The score has dropped. That alone does not end the loop.
    RegressionDetected,
    /// The score is good enough.
    ScoreThresholdReached,
}

/// The decision of one run of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LoopDecision {
    /// The round, from 1.
    pub current_round: i64,
    /// True when the loop ends here.
    pub should_exit: bool,
    /// Why, as `max_rounds_reached` and so on; empty text when there is nothing to say.
    #[serde(serialize_with = "reason_text")]
    pub exit_reason: Option<LoopReason>,
}

impl LoopReason {
    /// Its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            LoopReason::MaxRoundsReached => "max_rounds_reached",
            LoopReason::RegressionDetected => "regression_detected",
            LoopReason::ScoreThresholdReached => "score_threshold_reached",
        }
    }
}

fn reason_text<S: Serializer>(reason: &Option<LoopReason>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(reason.map_or("", LoopReason::name))
}

impl LoopState {
    /// Decides about one input, and remembers its score for the next.
    pub fn decide(&mut self, settings: &Loop, input: &Value) -> LoopDecision {
        let current_round = round_of(input, ROUND);
        let score = score_of(input);
        let previous = self.previous.replace(score);
        let mut decision = LoopDecision { current_round, should_exit: false, exit_reason: None };
        // The later reason wins.
        if current_round >= settings.max_rounds {
            decision.should_exit = true;
            decision.exit_reason = Some(LoopReason::MaxRoundsReached);
        }
        if previous.is_some_and(|previous| previous - score > REGRESSION) {
            decision.exit_reason = Some(LoopReason::RegressionDetected);
        }
        if settings.exit_on_score > 0.0 && score >= settings.exit_on_score {
            decision.should_exit = true;
            decision.exit_reason = Some(LoopReason::ScoreThresholdReached);
        }
        decision
    }
}

/// `score`, else `structured_score.weighted_score`, else 0. Only a number is a score.
fn score_of(input: &Value) -> f64 {
    let number = |pointer| input.pointer(pointer).and_then(Value::as_f64);
    number("/score").or_else(|| number("/structured_score/weighted_score")).unwrap_or(0.0)
}

impl Loop {
    /// The processor for a node, its settings read from the node's `config`.
    ///
    /// # Errors
    /// Settings that are missing, unknown or out of range.
    pub fn factory(node: &Node) -> Result<Arc<dyn Processor>, ProcessError> {
        let settings: Loop = settings(node)?;
        if settings.max_rounds < 1 {
            return Err(
                format!("`max_rounds` is {}; a loop has at least 1 round", settings.max_rounds).into()
            );
        }
        if settings.exit_on_score < 0.0 {
            return Err("`exit_on_score` is negative; 0 turns it off".into());
        }
        Ok(Arc::new(settings))
    }
}

impl Processor for Loop {
    fn process<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        let decision = {
            let mut memory = call.memory();
            let mut state = LoopState { previous: memory.as_f64() };
            let decision = state.decide(self, &input);
            *memory = state.previous.into();
            decision
        };
        Box::pin(async move { beside(input, decision) })
    }

    fn round_field(&self) -> Option<&str> {
        Some(ROUND)
    }
}

/// The number of votes that must be in favour. Read from a node's `config`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vote {
    /// The share that is enough, from 0 to 1.
    pub threshold: f64,
}

/// The result of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VoteDecision {
    /// The share in favour is at or above the threshold.
    pub approved: bool,
    /// The text inputs; 1 when there are none.
    pub total_votes: usize,
    /// Those in favour.
    pub yes_votes: usize,
}

/// Counts the texts among an input's fields; `YES` and `APPROVED`, exactly so, are in favour. With
/// no text there is one vote, in favour, and it is enough whatever the threshold.
///
/// Voters that meet at a join answer each under a key of its own: of equal keys the default merge
/// keeps the first.
pub fn vote(input: &Value, threshold: f64) -> VoteDecision {
    let texts = || input.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str);
    let total_votes = texts().count();
    if total_votes == 0 {
        return VoteDecision { approved: true, total_votes: 1, yes_votes: 1 };
    }
    let yes_votes = texts().filter(|text| matches!(*text, "YES" | "APPROVED")).count();
    let approved = yes_votes as f64 / total_votes as f64 >= threshold;
    VoteDecision { approved, total_votes, yes_votes }
}

impl Vote {
    /// The processor for a node, its settings read from the node's `config`.
    ///
    /// # Errors
    /// Settings that are missing, unknown or out of range.
    pub fn factory(node: &Node) -> Result<Arc<dyn Processor>, ProcessError> {
        let settings: Vote = settings(node)?;
        if !(0.0..=1.0).contains(&settings.threshold) {
            return Err(format!("`threshold` is {}; it is a share from 0 to 1", settings.threshold).into());
        }
        Ok(Arc::new(settings))
    }
}

impl Processor for Vote {
    fn process<'a>(&'a self, _: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        let decision = vote(&input, self.threshold);
        Box::pin(async move { beside(input, decision) })
    }
}

fn settings<T: DeserializeOwned>(node: &Node) -> Result<T, ProcessError> {
    T::deserialize(&node.config).map_err(|error| format!("`config`: {error}").into())
}

/// The input's fields with the decision's among them.
fn beside(input: Value, decision: impl Serialize) -> ProcessResult {
    let mut output = if let Value::Object(fields) = input { fields } else { Map::new() };
    if let Value::Object(fields) = serde_json::to_value(decision)? {
        output.extend(fields);
    }
    Ok(Value::Object(output))
}

/// Hands on the input, with the configuration's fields where the input has none of that name.
///
/// # Errors
/// Never; it has the form of a kind's factory.
pub fn echo(node: &Node) -> Result<Arc<dyn Processor>, ProcessError> {
    let config = node.config.as_object().cloned().unwrap_or_default();
    Ok(from_fn(move |input: Value| {
        let mut output = config.clone();
        match input {
            Value::Object(fields) => output.extend(fields),
            other if output.is_empty() => return std::future::ready(Ok(other)),
            other => output.extend([("input".to_owned(), other)]),
        }
        std::future::ready(Ok(Value::Object(output)))
    }))
}
