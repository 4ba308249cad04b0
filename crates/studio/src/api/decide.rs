//! Requests and responses for decisions: by routes and other tables, on payloads, and by workflows.

use super::{EarlierMessage, History, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Request for a decision on one message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Decide {
    /// Version of the rules that should decide.
    pub version: Version,
    /// Name of the entry that should decide: a table, choice, router, payload kind or workflow.
    pub entry: String,
    /// The message, payload or workflow input, as the JSON text that the author wrote. Text offsets
    /// of errors refer to this text.
    pub message: String,
    /// Context of a payload, as JSON text: values for the `input` that the rules declare.
    #[serde(default)]
    pub context: Option<String>,
    /// Row of a replay whose message is decided in place of `message`. The page has only the masked
    /// message of a row, so it cannot send the message itself.
    #[serde(default)]
    pub row: Option<MessageOf>,
    /// Earlier messages of the session, which the rules read as `history`.
    #[serde(default)]
    pub history: Vec<EarlierMessage>,
}

/// Reference to a replayed message. The server uses the message unmasked, as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MessageOf {
    /// Id of the replay that contains the message.
    pub replay: usize,
    /// Line number of the message in the replayed file, from 1.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
}

/// Response to [`Decide`]: a decision, or the reason why there is none.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "made once a request")]
pub enum Decided {
    /// Decision of routes, a choice, flows or a router.
    Decision(Decision),
    /// Result of validating a payload.
    Payload(Judged),
    /// Run of a workflow.
    Workflow(WorkflowRun),
    /// The sent text is not a valid message.
    Refused(Mistake),
    /// The rules do not compile, so there is no decision.
    Broken {
        /// First compile error, as text.
        error: String,
        /// Number of compile errors.
        errors: usize,
    },
}

/// A decision on a message, with its explanation.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Decision {
    /// The decision as `rulec run` prints it, with private values masked.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub decision: Json,
    /// Key of the chosen statement, such as `routes/refunds`; null if nothing was chosen.
    pub key: Option<String>,
    /// Step-by-step explanation of the decision.
    #[cfg_attr(test, ts(type = "Explanation"))]
    pub explanation: rulec::Explanation,
    /// Summary of the explanation, in a few lines of text.
    pub summary: String,
    /// The true conditions that led to the chosen statement, in the order of their evaluation.
    #[cfg_attr(test, ts(type = "Array<TraceNode>"))]
    pub because: Vec<rulec_eval::trace::TraceNode>,
    /// Fields of the message that do not have the type that the rules' `input` declares.
    pub breaches: Vec<InputViolation>,
    /// Conditions that a choice skipped, because values that they read are missing.
    pub left_out: Vec<LeftOut>,
    /// Question that a language model must answer; null if no model makes this choice.
    pub question: Option<String>,
    /// Reason why the message contains no usable answer of the language model; null if it contains
    /// one, or if no model makes this choice.
    pub question_failure: Option<String>,
    /// Names of the host functions of the rules. Only an embedding program provides these
    /// functions, so the studio treats their results as missing.
    pub missing_functions: Vec<String>,
    /// The earlier messages in the request, and whether the rules read each of them.
    pub history: History,
}

/// A field of a message that does not have the type that the rules' `input` declares.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct InputViolation {
    /// Path of the field in the message.
    pub path: String,
    /// Type that the input declares for the field.
    pub expected: String,
    /// Type of the value in the message, or `missing`.
    pub found: String,
    /// Likely cause of the violation; null if none is known.
    pub hint: Option<String>,
}

/// A condition that a choice skipped, because values that the condition reads are missing.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct LeftOut {
    /// Name of the choice's branch that has the condition.
    pub branch: String,
    /// The skipped condition, as its author wrote it.
    pub condition: String,
    /// Reason for skipping the condition, as text.
    pub reason: String,
}

/// An error in the JSON of a message.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Mistake {
    /// Description of the JSON error.
    pub message: String,
    /// Suggested correction of the JSON error; null if there is none.
    pub help: Option<String>,
    /// Diagnostic code of the JSON error.
    pub code: String,
    /// Line of the error in the text, from 1.
    pub line: usize,
    /// Column of the error in its line, from 1.
    pub column: usize,
    /// Offset of the error in the text, in UTF-16 units.
    #[serde(rename = "at")]
    pub utf16_offset: usize,
    /// Whether the error is in the context of a payload instead of the payload.
    pub in_context: bool,
}

/// Request for changes of a message that would make the rules choose another statement (such as
/// another route). The response is a list of [`Near`], nearest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct AskNear {
    /// Version of the rules that decides.
    pub version: Version,
    /// Name of the entry (such as a table) that decides.
    pub entry: String,
    /// The message whose near misses are requested, as JSON text.
    pub message: String,
    /// Name of the statement that the changed message should select, or the name with its table, as
    /// a test writes it after `expect`. Null requests the nearest statements.
    #[serde(default)]
    pub route: Option<String>,
    /// Row of a replay whose message is used in place of `message`.
    #[serde(default)]
    pub row: Option<MessageOf>,
    /// Earlier messages of the session, which the rules read as `history`.
    #[serde(default)]
    pub history: Vec<EarlierMessage>,
}

/// A near miss: a statement that was not chosen, and a change of the message that would make the
/// rules choose it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Near {
    /// Name of the statement that the changed message would select.
    pub route: String,
    /// Whether a change was found: `chosen`, `change`, `never` or `unknown`.
    pub remedy: NearKind,
    /// Fields of the message that would change.
    pub fields: Vec<NearField>,
    /// The changed message, as JSON; null if there is no change, or if the message contains private
    /// values.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub message: Json,
    /// Whether it is proven that no change of fewer fields would be enough.
    #[serde(rename = "smallest")]
    pub is_smallest: bool,
}

/// Whether a changed message can select the statement of a near miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum NearKind {
    /// The unchanged message already selects the statement.
    Chosen,
    /// A changed message that selects the statement was found.
    Change,
    /// No message can select the statement.
    Never,
    /// The search found no changed message that selects the statement, but such a message may
    /// exist.
    Unknown,
}

/// A message field that a near miss would change.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct NearField {
    /// Path of the field in the message.
    pub field: String,
    /// Current value of the field; null if the field is missing.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub is: Json,
    /// A value that would be enough to select the statement; null means that the field should be
    /// removed.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub would_be: Json,
    /// Requirements of the rules on the field's value, as text.
    pub needs: Vec<String>,
    /// Whether the field is declared as private.
    pub private: bool,
}

/// Result of validating a payload.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Judged {
    /// Outcome of the validation: `accept`, `accept_corrected` or `reject`.
    pub outcome: String,
    /// Payload kind to use instead of the kind of the rejected payload. Null if the payload was not
    /// rejected, or if the rules declare no `fallback` for its kind.
    pub fallback: Option<String>,
    /// Violations of rules by the payload as sent, before any correction.
    pub violations: Vec<Violation>,
    /// Violations that remain after the corrections; equals `violations` if nothing was corrected.
    pub remaining: Vec<Violation>,
    /// Violations of rules that only warn; these do not reject the payload.
    pub warnings: Vec<Violation>,
    /// Payload rules that could not be evaluated.
    pub unchecked: Vec<Unchecked>,
    /// Corrections that were made to the payload.
    pub corrections: Vec<Correction>,
    /// Line diff of the payload before and after the corrections; empty if nothing was corrected.
    pub diff: Vec<DiffLine>,
    /// The result as text for the language model that proposed the payload.
    pub feedback: String,
    /// The earlier messages in the request, and whether the rules read each of them.
    pub history: History,
}

/// A rule that the payload violates.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Violation {
    /// Name of the violated rule.
    pub rule: String,
    /// Path of the violation in the payload, such as `$.nodes[2].url`.
    pub path: String,
    /// Description of the violation.
    pub message: String,
    /// Description of how to repair the payload.
    pub repair: String,
    /// The value at `path`, as JSON; null if there is no value.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub value: Json,
    /// Start of the violating value in the payload text that was sent, in UTF-16 units; null if the
    /// text has no such value.
    #[serde(rename = "from")]
    pub start_utf16: Option<usize>,
    /// End of the violating value in the payload text that was sent, in UTF-16 units; null if the
    /// text has no such value.
    #[serde(rename = "to")]
    pub end_utf16: Option<usize>,
    /// The conditions of the rule that explain the violation, as lines of text; null if there is no
    /// explanation.
    pub why: Option<String>,
}

/// A payload rule that could not be evaluated.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Unchecked {
    /// Name of the rule that could not be evaluated.
    pub rule: String,
    /// Path, in the payload, of the value that the rule checks.
    pub path: String,
    /// Reason why the rule could not be evaluated, as text.
    pub message: String,
}

/// A correction that was made to a payload.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Correction {
    /// Kind of the correction: `default`, `clamp` or `remove`.
    pub kind: String,
    /// Path of the corrected value in the payload.
    pub path: String,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DiffLine {
    /// Whether the line is in both texts or only in one.
    pub kind: DiffKind,
    /// Text of the line, without its line break.
    pub text: String,
}

/// Whether a line of a diff is in both texts or only in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// The line is in both texts.
    Same,
    /// The line is only in the old text.
    Removed,
    /// The line is only in the new text.
    Added,
}

/// A run of a workflow, recorded step by step. The workflow's nodes and edges are in the map.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowRun {
    /// Name of the workflow that ran.
    pub workflow: String,
    /// Steps of the run, in order; nodes that ran in parallel share a step.
    pub steps: Vec<WorkflowStep>,
    /// Outputs of the workflow's final nodes, by node name.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub outputs: Json,
    /// Nodes that failed during the run.
    pub failures: Vec<NodeFailure>,
    /// Nodes that still waited for inputs when the run ended, as text.
    pub stalled: Vec<String>,
    /// Whether the run ended because it reached the step limit.
    pub limit_hit: bool,
    /// Node kinds that only an embedding program implements. In the studio, nodes of these kinds
    /// return their input.
    pub stand_ins: Vec<String>,
}

/// A step of a workflow run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowStep {
    /// Names of the nodes that ran in this step.
    pub nodes: Vec<String>,
    /// Deliveries of node outputs in this step.
    pub deliveries: Vec<WorkflowDelivery>,
    /// Decisions that routers made in this step.
    pub decisions: Vec<RouterDecision>,
}

/// A recorded decision of a node's router. The page can open the decision and decide its message
/// again.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct RouterDecision {
    /// Name of the node that has the router.
    pub node: String,
    /// Name of the router that decided.
    pub router: String,
    /// The message that the router decided on, as JSON text: the node's output and the candidate
    /// next nodes.
    pub message: String,
}

/// Delivery of a node's output to another node.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct WorkflowDelivery {
    /// Name of the node that produced the output.
    pub from: String,
    /// Name of the node that receives the output.
    pub to: String,
    /// Whether the receiving node had all its inputs after this delivery.
    pub ready: bool,
    /// Whether the output was delivered along an edge that leads back to an earlier node.
    pub loop_back: bool,
    /// How many times this run has used this edge, including this delivery. Above 1 only in loops.
    pub round: usize,
}

/// A node that failed during a workflow run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct NodeFailure {
    /// Name of the failed node.
    pub node: String,
    /// Error message of the failed node.
    pub message: String,
}

/// Request for a `test` block that checks the decision about a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MakeTest {
    /// Version of the rules that decides.
    pub version: Version,
    /// Name of the entry (such as a table) that decides.
    pub entry: String,
    /// The message for which a test is made, as JSON text.
    pub message: String,
    /// Context of a payload, as JSON text: values for the `input` that the rules declare.
    #[serde(default)]
    pub context: Option<String>,
    /// Name of the test; null lets the server choose a name.
    #[serde(default)]
    pub name: Option<String>,
    /// What the test should expect, as written after `expect`; null means the statement that the
    /// rules choose now.
    #[serde(default)]
    pub expect: Option<String>,
    /// Row of a replay whose message is used in place of `message`.
    #[serde(default)]
    pub row: Option<MessageOf>,
    /// Earlier messages of the session, which the rules read as `history`.
    #[serde(default)]
    pub history: Vec<EarlierMessage>,
}

/// Response to [`MakeTest`]: a generated `test` block.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct MadeTest {
    /// Text of the `test` block.
    pub block: String,
    /// Name of the file that should contain the block: the main file of the rules.
    pub file: String,
    /// Text of the main file in the requested version, with the block appended.
    pub text: String,
    /// Line of the block in `text`, from 1.
    pub line: usize,
    /// Whether the test passes with the requested version of the rules, according to a run on the
    /// server.
    pub passes: bool,
}
