//! Decisions: by routes and other tables, on payloads, and by workflows.

use super::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Requests a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Decide {
    /// Version of the rules.
    pub version: Version,
    /// Name of the entry that decides; may be a workflow.
    pub entry: String,
    /// The message, payload or workflow input, as the JSON text that the author wrote. Text offsets
    /// of errors refer to this text.
    pub message: String,
    /// Context of a payload, as JSON: the values of the rules' `input`.
    #[serde(default)]
    pub context: Option<String>,
    /// Replay row to decide in place of `message`. The page has only the masked message of a row,
    /// so it cannot send the message itself.
    #[serde(default)]
    pub row: Option<MessageOf>,
}

/// A replayed message, unmasked as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MessageOf {
    /// Id of the replay.
    pub replay: usize,
    /// Line number in the file, from 1.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
}

/// A decision, or the reason why there is none.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "made once a request")]
pub enum Decided {
    /// Decision of routes, a choice, flows or a router.
    Decision(Decision),
    /// Outcome for a payload.
    Payload(Judged),
    /// Run of a workflow.
    Workflow(WorkflowRun),
    /// The text is not a valid message.
    RequestError(Mistake),
    /// The rules do not compile.
    Broken {
        /// First error, as text.
        error: String,
        /// Number of errors.
        errors: usize,
    },
}

/// A decision with its explanation.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Decision {
    /// Decision as `rulec run` prints it, with private values masked.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub decision: Json,
    /// Key of the chosen statement, as in the map; null if nothing was chosen.
    pub key: Option<String>,
    /// Explanation, step by step.
    #[cfg_attr(test, ts(type = "Explanation"))]
    pub explanation: rulec::Explanation,
    /// Summary of the explanation, in a few lines.
    pub summary: String,
    /// Fields that break the declared input.
    pub breaches: Vec<InputViolation>,
    /// Conditions that a choice left out.
    pub left_out: Vec<LeftOut>,
    /// Question for a language model, if the model makes this choice.
    pub question: Option<String>,
    /// Reason why no answer of the model can be used.
    pub question_failure: Option<String>,
    /// Names of host functions, which only the embedding program provides.
    pub missing_functions: Vec<String>,
}

/// A field of a message that breaks the declared input.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct InputViolation {
    /// Path of the field.
    pub path: String,
    /// Expected type.
    pub expected: String,
    /// Type of the value, or `missing`.
    pub found: String,
    /// Likely cause.
    pub hint: Option<String>,
}

/// A condition that a choice left out.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct LeftOut {
    /// Name of the branch.
    pub branch: String,
    /// The condition, as its author wrote it.
    pub condition: String,
    /// Reason, as text.
    pub reason: String,
}

/// An error in the JSON of a message.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Mistake {
    /// Description of the error.
    pub message: String,
    /// Suggested correction.
    pub help: Option<String>,
    /// Diagnostic code.
    pub code: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Offset in the text, in UTF-16 units.
    pub at: usize,
    /// Whether the error is in the context, not in the payload.
    pub in_context: bool,
}

/// Requests changes of the message that would select another statement. The response is a list of
/// [`Near`], nearest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct AskNear {
    /// Version of the rules.
    pub version: Version,
    /// Name of the entry that decides.
    pub entry: String,
    /// The message, as JSON.
    pub message: String,
    /// Statement that the changed message should select; null requests the nearest statements.
    #[serde(default)]
    pub route: Option<String>,
    /// Replay row to use in place of `message`.
    #[serde(default)]
    pub row: Option<MessageOf>,
}

/// A near miss: a statement, and the change of the message that would select the statement.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Near {
    /// Name of the statement.
    pub route: String,
    /// Kind of the result: `chosen`, `change`, `never` or `unknown`.
    pub remedy: NearKind,
    /// Fields that would change.
    pub fields: Vec<NearField>,
    /// The changed message, as JSON; null if the message contains private values.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub message: Json,
    /// Whether no change of fewer fields would be enough.
    pub smallest: bool,
}

/// Kind of a near miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum NearKind {
    /// The message already selects the statement.
    Chosen,
    /// A changed message selects the statement.
    Change,
    /// No message can select the statement.
    Never,
    /// No change was found, but none is proven impossible.
    Unknown,
}

/// A field to change.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct NearField {
    /// Path of the field.
    pub field: String,
    /// Current value; null if missing.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub is: Json,
    /// A value that would be enough; null if there is none.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub would_be: Json,
    /// Requirements of the rules on the field, as text.
    pub needs: Vec<String>,
    /// Whether the field is private.
    pub private: bool,
}

/// Result of checking a payload.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Judged {
    /// Outcome: `accept`, `accept_corrected` or `reject`.
    pub outcome: String,
    /// Payload kind to use instead.
    pub fallback: Option<String>,
    /// Violated rules.
    pub violations: Vec<Violation>,
    /// Violations that remain after corrections; equals `violations` if nothing was corrected.
    pub remaining: Vec<Violation>,
    /// Violations of rules that only warn.
    pub warnings: Vec<Violation>,
    /// Rules that could not be evaluated.
    pub unchecked: Vec<Unchecked>,
    /// Corrections made.
    pub corrections: Vec<Correction>,
    /// Line diff of the payload before and after the corrections; empty if nothing was corrected.
    pub diff: Vec<DiffLine>,
    /// The result as text for a language model.
    pub feedback: String,
}

/// A violated rule.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Violation {
    /// Name of the rule.
    pub rule: String,
    /// Path in the payload, such as `$.nodes[2].url`.
    pub path: String,
    /// Description of the violation.
    pub message: String,
    /// How to repair the payload.
    pub repair: String,
    /// The value at `path`, as JSON; null if there is none.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub value: Json,
    /// Start of the value in the sent text, in UTF-16 units.
    pub from: Option<usize>,
    /// End of the value, in UTF-16 units.
    pub to: Option<usize>,
    /// Explanation by the rule's own conditions, as lines of text.
    pub why: Option<String>,
}

/// A rule that could not be evaluated.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Unchecked {
    /// Name of the rule.
    pub rule: String,
    /// Path in the payload that the rule checks.
    pub path: String,
    /// Reason, as text.
    pub message: String,
}

/// A correction of a payload.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Correction {
    /// Kind of correction: `default`, `clamp` or `remove`.
    pub kind: String,
    /// Path in the payload.
    pub path: String,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DiffLine {
    /// Whether the line is in both texts or in one.
    pub kind: DiffKind,
    /// Text of the line.
    pub text: String,
}

/// Kind of a diff line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// In both texts.
    Same,
    /// Only in the old text.
    Removed,
    /// Only in the new text.
    Added,
}

/// A run of a workflow, step by step. The map has the workflow's nodes and edges.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowRun {
    /// Name of the workflow.
    pub workflow: String,
    /// Steps of the run, in order; nodes that ran in parallel share a step.
    pub steps: Vec<WorkflowStep>,
    /// Outputs of the final nodes, by node name.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub outputs: Json,
    /// Nodes that failed.
    pub failures: Vec<NodeFailure>,
    /// Nodes that still wait for inputs, as text.
    pub stalled: Vec<String>,
    /// Whether the step limit ended the run.
    pub limit_hit: bool,
    /// Node kinds that only an embedding program implements. Here such nodes return their input.
    pub stand_ins: Vec<String>,
}

/// A step of a workflow run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowStep {
    /// Nodes that ran.
    pub nodes: Vec<String>,
    /// Deliveries of their outputs.
    pub deliveries: Vec<WorkflowDelivery>,
    /// Decisions of their routers.
    pub decisions: Vec<RouterDecision>,
}

/// A decision of a node's router, which can be opened and decided again on its own.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct RouterDecision {
    /// Name of the node.
    pub node: String,
    /// Name of the router.
    pub router: String,
    /// The message of the decision, as JSON: the output and the candidate next nodes.
    pub message: String,
}

/// Delivery of an output to a node.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowDelivery {
    /// Node that produced the output.
    pub from: String,
    /// Node that receives the output.
    pub to: String,
    /// Whether the receiver then had all its inputs.
    pub ready: bool,
    /// Whether the edge leads back to an earlier node.
    pub loop_back: bool,
    /// How many times this run has taken this edge, this delivery included. Above 1 only in loops.
    pub round: usize,
}

/// A node that failed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct NodeFailure {
    /// Name of the node.
    pub node: String,
    /// Error message.
    pub message: String,
}

/// Requests a `test` block for a message's decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MakeTest {
    /// Version of the rules.
    pub version: Version,
    /// Name of the entry that decides.
    pub entry: String,
    /// The message, as JSON.
    pub message: String,
    /// Name of the test; null lets the server choose.
    #[serde(default)]
    pub name: Option<String>,
    /// Statement that the test expects; null expects the chosen statement.
    #[serde(default)]
    pub expect: Option<String>,
    /// Replay row to use in place of `message`.
    #[serde(default)]
    pub row: Option<MessageOf>,
}

/// A generated `test` block.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct MadeTest {
    /// Text of the block.
    pub block: String,
    /// File that the block belongs to: the main file.
    pub file: String,
    /// Text of that file in the requested version, with the block appended.
    pub text: String,
    /// Whether the test passes with these rules; the server ran it.
    pub passes: bool,
}
