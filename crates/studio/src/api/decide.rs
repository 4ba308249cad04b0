//! Decisions: on a message, a payload, and by a workflow.

use super::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Asks for a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Decide {
    /// The rules.
    pub version: Version,
    /// The name of what decides; a workflow too.
    pub entry: String,
    /// The message, the payload or the workflow's input: JSON as its author wrote it, so that mistakes in it have places.
    pub message: String,
    /// The context of a payload, as JSON: the values of the rules' `input`.
    #[serde(default)]
    pub context: Option<String>,
    /// The row of a replay that is decided in place of `message`: what is shown of it is masked, so it cannot be sent back.
    #[serde(default)]
    pub row: Option<MessageOf>,
}

/// A message of a replay, as it stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MessageOf {
    /// The replay.
    pub replay: usize,
    /// The number of the line.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
}

/// A decision, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "made once a request")]
pub enum Decided {
    /// By routes, a choice, flows or a router.
    Decision(Decision),
    /// On a payload.
    Payload(Judged),
    /// By a workflow.
    Workflow(WorkflowRun),
    /// The message is none.
    Refused(Mistake),
    /// The rules do not compile.
    Broken {
        /// The first error, in words.
        error: String,
        /// The number of errors.
        errors: usize,
    },
}

/// A decision with its explanation.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Decision {
    /// The decision, as `rulec run` prints it, private values masked.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub decision: Json,
    /// The key of the statement that was chosen, as the map has it; null where nothing was.
    pub key: Option<String>,
    /// The way there, step by step.
    #[cfg_attr(test, ts(as = "super::Explanation"))]
    pub explanation: rulec::Explanation,
    /// The explanation in a few lines.
    pub summary: String,
    /// The fields that are not what the rules expect.
    pub breaches: Vec<Breach>,
    /// The conditions that a choice left out.
    pub left_out: Vec<LeftOut>,
    /// The question to a language model, where a choice asks one.
    pub question: Option<String>,
    /// The reason why no answer of it is of use.
    pub question_failure: Option<String>,
    /// Names of functions of an embedding program, which are missing here.
    pub missing_functions: Vec<String>,
}

/// A field of a message that is not what the rules expect.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Breach {
    /// The field.
    pub path: String,
    /// The type that is expected.
    pub expected: String,
    /// The type that is found, or `missing`.
    pub found: String,
    /// A likely cause.
    pub hint: Option<String>,
}

/// A condition that a choice left out.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct LeftOut {
    /// The branch.
    pub branch: String,
    /// The condition, as its author wrote it.
    pub condition: String,
    /// The reason, in words.
    pub reason: String,
}

/// A mistake in the JSON of a message.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Mistake {
    /// The mistake, in words.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// The code.
    pub code: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The place in the text, in UTF-16 units.
    pub at: usize,
    /// True when the mistake is in the context.
    pub in_context: bool,
}

/// Asks which changes of the message would lead elsewhere. Answered by a list of [`Near`], nearest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct AskNear {
    /// The rules.
    pub version: Version,
    /// The name of what decides.
    pub entry: String,
    /// The message, as JSON.
    pub message: String,
    /// The statement that it should lead to; null asks for those that come nearest.
    #[serde(default)]
    pub route: Option<String>,
    /// The row of a replay, in place of `message`.
    #[serde(default)]
    pub row: Option<MessageOf>,
}

/// The change of a message by which it would lead elsewhere.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Near {
    /// The statement.
    pub route: String,
    /// `chosen`, `change`, `never` or `unknown`.
    pub remedy: NearKind,
    /// The fields that would change.
    pub fields: Vec<NearField>,
    /// The message as it would lead there, as JSON; null where it holds what is private.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub message: Json,
    /// True when no change of fewer fields does.
    pub smallest: bool,
}

/// The kind of a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum NearKind {
    /// The message leads there already.
    Chosen,
    /// A change of the message does.
    Change,
    /// No message does.
    Never,
    /// None was found; that there is none is not proven.
    Unknown,
}

/// A field that would change.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct NearField {
    /// The field.
    pub field: String,
    /// Its value; null where it is missing.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub is: Json,
    /// A value that would do; null for none.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub would_be: Json,
    /// The needs of the rules, in words.
    pub needs: Vec<String>,
    /// True when its values are private.
    pub private: bool,
}

/// The judgement of a payload.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Judged {
    /// `accept`, `accept_corrected` or `reject`.
    pub outcome: String,
    /// The kind to turn to instead.
    pub fallback: Option<String>,
    /// The rules that are broken.
    pub violations: Vec<Violation>,
    /// The violations that corrections leave; as `violations` where nothing was corrected.
    pub remaining: Vec<Violation>,
    /// The rules that only warn.
    pub warnings: Vec<Violation>,
    /// The rules that could not be asked.
    pub unchecked: Vec<Unchecked>,
    /// The corrections.
    pub corrections: Vec<Correction>,
    /// The payload before and after the corrections, line by line; empty where nothing was corrected.
    pub diff: Vec<DiffLine>,
    /// All of it as a text for a language model.
    pub feedback: String,
}

/// A broken rule.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Violation {
    /// The rule.
    pub rule: String,
    /// The place in the payload, such as `$.nodes[2].url`.
    pub path: String,
    /// The mistake.
    pub message: String,
    /// The repair.
    pub repair: String,
    /// The value there, as JSON; null where there is none.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub value: Json,
    /// The place of that value in the text that was sent, in UTF-16 units.
    pub from: Option<usize>,
    /// Its end.
    pub to: Option<usize>,
    /// The reason in the rule's own conditions, in lines.
    pub why: Option<String>,
}

/// A rule that could not be asked.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Unchecked {
    /// The rule.
    pub rule: String,
    /// The place it would be about.
    pub path: String,
    /// The reason.
    pub message: String,
}

/// A correction of a payload.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Correction {
    /// `default`, `clamp` or `remove`.
    pub kind: String,
    /// The place.
    pub path: String,
}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DiffLine {
    /// The text or texts that have it.
    pub kind: DiffKind,
    /// The line.
    pub text: String,
}

/// The kind of a line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// In both.
    Same,
    /// Only before.
    Removed,
    /// Only after.
    Added,
}

/// A run of a workflow, step by step. The map has its nodes and edges.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowRun {
    /// The workflow.
    pub workflow: String,
    /// The nodes that ran, in order; what runs side by side is one step.
    pub steps: Vec<WorkflowStep>,
    /// The outputs of the nodes that end it, by name.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub outputs: Json,
    /// The nodes that failed.
    pub failures: Vec<NodeFailure>,
    /// The nodes that still wait, in words.
    pub stalled: Vec<String>,
    /// True when it was ended by its step limit.
    pub limit_hit: bool,
    /// The kinds of nodes that only an embedding program runs: they hand on their input here.
    pub stand_ins: Vec<String>,
}

/// A step of a run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowStep {
    /// The nodes that ran.
    pub nodes: Vec<String>,
    /// The deliveries that followed.
    pub deliveries: Vec<WorkflowDelivery>,
    /// The decisions of the routers of these nodes.
    pub decisions: Vec<RouterDecision>,
}

/// A decision of a node's router in a run, which can be decided again by itself.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct RouterDecision {
    /// The node.
    pub node: String,
    /// The router.
    pub router: String,
    /// The message that it decided on: the output and the next nodes, as JSON.
    pub message: String,
}

/// An output that went to a node.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowDelivery {
    /// From where.
    pub from: String,
    /// To where.
    pub to: String,
    /// True when the receiving node had all its inputs then.
    pub ready: bool,
    /// True for a way back.
    pub loop_back: bool,
    /// The time it was taken in this run, from 1: loops count.
    pub round: usize,
}

/// A node that failed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct NodeFailure {
    /// The node.
    pub node: String,
    /// The failure, in words.
    pub message: String,
}

/// Asks for a decision as a `test` block of the rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MakeTest {
    /// The rules.
    pub version: Version,
    /// The name of what decides.
    pub entry: String,
    /// The message, as JSON.
    pub message: String,
    /// The name of the test; null leaves it to the server.
    #[serde(default)]
    pub name: Option<String>,
    /// The statement that the test is to expect; null for the one that is chosen.
    #[serde(default)]
    pub expect: Option<String>,
    /// The row of a replay, in place of `message`.
    #[serde(default)]
    pub row: Option<MessageOf>,
}

/// A `test` block.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct MadeTest {
    /// The block.
    pub block: String,
    /// The file that it belongs to: the main one.
    pub file: String,
    /// That file's text, as of the version, with the block behind it.
    pub text: String,
    /// True when the test passes by these rules; it was run.
    pub passes: bool,
}
