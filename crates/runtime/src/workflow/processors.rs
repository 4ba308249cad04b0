//! Common processors of workflows: loop control, voting, and an echo.
//!
//! A processor adds its decision to the output. A router then selects the next node, usually with
//! `when output.should_exit -> next[1]  otherwise -> next[0] loopback` or
//! `when output.approved -> next[0]  otherwise -> next[1]`.

mod council;

pub use council::Council;

use super::node::Node;
use super::processor::{BoxFuture, Call, ProcessError, ProcessResult, Processor, from_fn};
use super::rounds::read_round;
use rulec_base::message;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Name of the input field that contains the number of the loop's current round.
const ROUND_FIELD: &str = "iteration";

/// Name of the output field that contains the reason why a loop exits.
const EXIT_REASON_FIELD: &str = "exit_reason";

/// Name of the field in a voter's output that contains the vote.
const VOTE_FIELD: &str = "vote";

/// Maximum drop of a score between two rounds of a loop. A larger drop is reported as
/// [`LoopReason::RegressionDetected`].
const MAX_SCORE_DROP: f64 = 10.0;

/// A processor that decides after each round whether a loop exits. The conditions for the exit are
/// in the node's `config`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    /// Maximum number of rounds, at least 1. The loop exits in this round at the latest.
    pub max_rounds: i64,
    /// Minimum score at which the loop exits; 0 disables this condition. The score is read from the
    /// round's input.
    #[serde(default)]
    pub exit_on_score: f64,
}

/// The value that a loop stores between two rounds: the score of the previous round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoopState {
    previous_score: Option<f64>,
}

/// A result of the check that a [`Loop`] makes after each round: a reason to exit, or a drop of the
/// score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoopReason {
    /// The loop exits because the maximum number of rounds was reached.
    MaxRoundsReached,
    /// The score dropped by more than 10 since the previous round. The loop does not exit for this
    /// reason alone.
    RegressionDetected,
    /// The loop exits because the score reached [`Loop::exit_on_score`].
    ScoreThresholdReached,
}

/// A loop's decision after one round: whether the loop exits, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LoopDecision {
    /// Number of the loop's round after which the decision is made. The first round is 1.
    pub current_round: i64,
    /// Whether the loop exits after this round.
    pub should_exit: bool,
    /// The last [`LoopReason`], in the order of its variants, that applies after this round; `None`
    /// if none applies. Serializes as a name such as `max_rounds_reached`; `None` serializes as an
    /// empty text.
    #[serde(serialize_with = "serialize_reason")]
    pub exit_reason: Option<LoopReason>,
}

impl LoopReason {
    /// Returns the name of this reason as outputs contain it, such as `max_rounds_reached`.
    pub fn name(self) -> &'static str {
        match self {
            LoopReason::MaxRoundsReached => "max_rounds_reached",
            LoopReason::RegressionDetected => "regression_detected",
            LoopReason::ScoreThresholdReached => "score_threshold_reached",
        }
    }
}

fn serialize_reason<S: Serializer>(reason: &Option<LoopReason>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(reason.map_or("", LoopReason::name))
}

impl LoopState {
    /// Decides after one round whether the loop exits. `input` is the round's input. The score in
    /// `input` is stored for the next round.
    pub fn decide(&mut self, settings: &Loop, input: &Value) -> LoopDecision {
        let current_round = read_round(input, ROUND_FIELD);
        let score = read_score(input);
        let previous = self.previous_score.replace(score);
        let mut decision = LoopDecision { current_round, should_exit: false, exit_reason: None };
        // If several conditions are true, the last one determines the reason.
        if current_round >= settings.max_rounds {
            decision.should_exit = true;
            decision.exit_reason = Some(LoopReason::MaxRoundsReached);
        }
        if previous.is_some_and(|previous| previous - score > MAX_SCORE_DROP) {
            decision.exit_reason = Some(LoopReason::RegressionDetected);
        }
        if settings.exit_on_score > 0.0 && score >= settings.exit_on_score {
            decision.should_exit = true;
            decision.exit_reason = Some(LoopReason::ScoreThresholdReached);
        }
        decision
    }
}

/// Returns the score in an input: the field `score`, else `structured_score.weighted_score`, else
/// 0. Values that are not numbers are ignored.
fn read_score(input: &Value) -> f64 {
    let read_number = |pointer| input.pointer(pointer).and_then(Value::as_f64);
    read_number("/score").or_else(|| read_number("/structured_score/weighted_score")).unwrap_or(0.0)
}

impl Loop {
    /// Creates the processor of a node from the node's `config`.
    ///
    /// # Errors
    /// If a setting is missing, unknown or out of range.
    pub fn factory(node: &Node) -> Result<Arc<dyn Processor>, ProcessError> {
        let settings: Loop = parse_settings(node)?;
        if settings.max_rounds < 1 {
            return Err(
                message!("`max_rounds` is {}; a loop has at least 1 round", settings.max_rounds).into()
            );
        }
        if settings.exit_on_score < 0.0 {
            return Err(message!("`exit_on_score` is negative; 0 turns it off").into());
        }
        Ok(Arc::new(settings))
    }
}

impl Processor for Loop {
    fn process<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        let decision = {
            let mut memory = call.memory();
            let mut state = LoopState { previous_score: memory.as_f64() };
            let decision = state.decide(self, &input);
            *memory = state.previous_score.into();
            decision
        };
        Box::pin(async move { add_decision_fields(input, decision) })
    }

    fn round_field(&self) -> Option<&str> {
        Some(ROUND_FIELD)
    }
}

/// A processor that counts votes and approves if enough of them are in favour. The settings are in
/// the node's `config`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Vote {
    /// The smallest fraction of votes in favour at which the vote approves, from 0 to 1.
    pub threshold: f64,
    /// The names of the voters. The vote of a voter is the text in the input field of this name. If
    /// [`ByNode`](super::ByNode) merged the inputs, a voter may also be a node: its vote is the
    /// field `vote` of its output. Without names, every text field counts as a vote, even if its
    /// value is not meant as one.
    #[serde(default)]
    pub voters: Vec<String>,
}

/// The result of a vote: the numbers of votes, and whether enough of them are in favour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VoteDecision {
    /// Whether the fraction of votes in favour reaches the threshold.
    pub approved: bool,
    /// Number of votes. The number is 1 if no voters are named and the input has no text fields;
    /// such an input counts as one vote in favour.
    pub total_votes: usize,
    /// Number of votes in favour.
    pub yes_votes: usize,
}

/// Counts the text fields of an input as votes, except the `exit_reason` of a [`Loop`]. Only the
/// texts `YES` and `APPROVED` are votes in favour. An input without text fields counts as one vote
/// in favour and is approved at any threshold.
///
/// If several voters deliver to one node, each voter must use a different key. The default merge
/// strategy keeps only the first of equal keys.
pub fn vote(input: &Value, threshold: f64) -> VoteDecision {
    let fields = input.as_object().into_iter().flatten().filter(|(key, _)| *key != EXIT_REASON_FIELD);
    let texts: Vec<&str> = fields.filter_map(|(_, value)| value.as_str()).collect();
    match texts.is_empty() {
        true => VoteDecision { approved: true, total_votes: 1, yes_votes: 1 },
        false => count_votes(texts.into_iter(), threshold),
    }
}

/// Counts one vote for each name in `voters`. The vote of a voter is the field of `input` with the
/// voter's name: a text, or an object with the text in its field `vote`. `YES` and `APPROVED` are
/// votes in favour; anything else, and a missing field, is a vote against. The result is "approved"
/// if the fraction of votes in favour is at least `threshold`. A voter that is named twice votes
/// once.
pub fn vote_of(voters: &[String], input: &Value, threshold: f64) -> VoteDecision {
    let voters: BTreeSet<&String> = voters.iter().collect();
    let votes = voters.into_iter().map(|voter| match &input[voter.as_str()] {
        Value::Object(output) => output.get(VOTE_FIELD).and_then(Value::as_str).unwrap_or_default(),
        value => value.as_str().unwrap_or_default(),
    });
    count_votes(votes, threshold)
}

fn count_votes<'v>(votes: impl Iterator<Item = &'v str>, threshold: f64) -> VoteDecision {
    let (mut total_votes, mut yes_votes) = (0, 0);
    for vote in votes {
        total_votes += 1;
        yes_votes += usize::from(matches!(vote, "YES" | "APPROVED"));
    }
    let approved = yes_votes as f64 / total_votes as f64 >= threshold;
    VoteDecision { approved, total_votes, yes_votes }
}

impl Vote {
    /// Creates the processor of a node from the node's `config`.
    ///
    /// # Errors
    /// If a setting is missing, unknown or out of range.
    pub fn factory(node: &Node) -> Result<Arc<dyn Processor>, ProcessError> {
        let settings: Vote = parse_settings(node)?;
        if !(0.0..=1.0).contains(&settings.threshold) {
            return Err(message!("`threshold` is {}; it is a share from 0 to 1", settings.threshold).into());
        }
        let voters = &settings.voters;
        if let Some(twice) = (1..voters.len()).find(|at| voters[..*at].contains(&voters[*at])) {
            return Err(message!("`voters` names `{}` twice; remove one", voters[twice]).into());
        }
        if node.config.get("voters").is_some() && voters.is_empty() {
            return Err(message!("`voters` is empty; name the fields or nodes that vote").into());
        }
        Ok(Arc::new(settings))
    }
}

impl Processor for Vote {
    fn process<'a>(&'a self, _: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        let decision = match self.voters.is_empty() {
            true => vote(&input, self.threshold),
            false => vote_of(&self.voters, &input, self.threshold),
        };
        Box::pin(async move { add_decision_fields(input, decision) })
    }
}

fn parse_settings<T: DeserializeOwned>(node: &Node) -> Result<T, ProcessError> {
    T::deserialize(&node.config).map_err(|error| format!("`config`: {error}").into())
}

/// Adds the fields of a processor's decision to the fields of its input, and returns the result as
/// an object. An input that is not an object has no fields.
fn add_decision_fields(input: Value, decision: impl Serialize) -> ProcessResult {
    let mut output = if let Value::Object(fields) = input { fields } else { Map::new() };
    if let Value::Object(fields) = serde_json::to_value(decision)? {
        output.extend(fields);
    }
    Ok(Value::Object(output))
}

/// Creates a processor that returns its input, with default values: each field of the node's
/// `config` that the input lacks is added.
///
/// # Errors
/// Never. The `Result` is needed because the function serves as a factory.
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
