// Written by `INSTA_UPDATE=always cargo test -p rulec-studio --lib types` from crates/studio/src/api; not to be edited.

/**
 * Response with the state of the studio, for a page that opens.
 */
export type Session = {
/**
 * Version of the `rulec` program.
 */
version: string,
/**
 * Whether a running service serves the page. The page then shows the service's current rules
 * and its live traffic.
 */
live: boolean,
/**
 * Whether the page shows the values of `@private` fields.
 */
show_private: boolean,
/**
 * Language given on the command line, `en` or `zh`; null if none was given. The page may
 * choose another language.
 */
language: string | null,
/**
 * Rule sets in command-line order, followed by uploaded rule sets.
 */
rules: Array<RuleSet>,
/**
 * Files of messages and decisions, from the command line or uploaded.
 */
sources: Array<Source>,
/**
 * Names of the token classes; [`Checked::tokens`](super::Checked) refers to them by index.
 */
token_classes: Array<string>, };

/**
 * A rule set: a main file with all its imports.
 */
export type RuleSet = {
/**
 * Id of the rule set in requests.
 */
id: number,
/**
 * Path of the main file, as the user gave it.
 */
name: string,
/**
 * Names of the rule set's files, the main file first.
 */
files: Array<string>,
/**
 * Whether the rule set is on disk. An uploaded rule set is not on disk and cannot be saved.
 */
on_disk: boolean,
/**
 * Whether the rule set compiles with the texts on disk.
 */
compiles: boolean,
/**
 * Whether the editor has unsaved texts of the rule set.
 */
has_draft: boolean, };

/**
 * Selects a version of a rule set: the texts on disk, or the editor's unsaved texts.
 */
export type Version = {
/**
 * Id of the rule set.
 */
rules: number,
/**
 * Whether to use the editor's unsaved texts; false uses the texts on disk.
 */
draft: boolean, };

/**
 * A file of messages or logged decisions.
 */
export type Source = {
/**
 * Id of the file in requests.
 */
id: number,
/**
 * Name of the file.
 */
name: string,
/**
 * Size of the file in bytes.
 */
bytes: number,
/**
 * Origin of the file: `log` or `input` from the command line, otherwise `upload`.
 */
from: string, };

/**
 * The entries (tables, payload kinds and workflows) and the errors of a version of a rule set.
 */
export type Overview = {
/**
 * Tables, payload kinds and workflows that can decide; empty if the rules have errors.
 */
entries: Array<EntryInfo>,
/**
 * Number of compile errors of the rules.
 */
errors: number,
/**
 * First compile error of the rules, as text.
 */
first_error: string | null,
/**
 * Names of the targets of the rules, without duplicates; declared handlers come first. The
 * page gives each of them a colour by its position.
 */
targets: Array<string>,
/**
 * Example message, with which the input form is initially filled.
 */
example: unknown, };

/**
 * Kind of an entry, which is anything that can decide a message.
 */
export type EntryKind = "routes" | "choice" | "flows" | "router" | "payload" | "workflow";

/**
 * An entry: a table, payload kind or workflow that can decide a message.
 */
export type EntryInfo = {
/**
 * Name of the entry; `routes` for the routes outside any table.
 */
name: string,
/**
 * Kind of the entry, such as a table of routes or a workflow.
 */
kind: EntryKind,
/**
 * Doc comment of the entry in the rules.
 */
docs: string,
/**
 * Names of the entry's statements (such as routes) in evaluation order, `default` last. For a
 * workflow, the ids of its nodes.
 */
statements: Array<string>,
/**
 * What a test of the entry can expect, as written after `expect`: the statements that can be
 * chosen, also in tables that the entry jumps to, but never a jump.
 */
outcomes: Array<string>,
/**
 * Whether decisions of the entry read the earlier messages of a session.
 */
reads_history: boolean,
/**
 * Form fields for the entry's input message.
 */
fields: Array<FormField>, };

/**
 * A field of an input form.
 */
export type FormField = {
/**
 * Name of the field in the enclosing record.
 */
name: string,
/**
 * Type of the field, in rule syntax.
 */
ty: string,
/**
 * Form control with which the user enters the field.
 */
control: Control,
/**
 * Whether the field may be missing from the message.
 */
optional: boolean,
/**
 * Whether the field is declared as private.
 */
private: boolean,
/**
 * Nested form fields, if the field is a record.
 */
fields: Array<FormField>,
/**
 * Values that rules compare with the field, offered as suggestions.
 */
suggestions: Array<string>, };

/**
 * Form control with which the user enters a field.
 */
export type Control = "text" | "int" | "number" | "bool" | "datetime" | "texts" | "record" | "json";

/**
 * A message that the user saved under a name.
 */
export type KeptMessage = {
/**
 * Name under which the message is saved.
 */
name: string,
/**
 * Name of the entry (such as a table) that decides the message.
 */
entry: string,
/**
 * The message, as its author wrote it.
 */
message: string,
/**
 * The context of a payload as JSON text: values for the `input` that the rules declare.
 */
context?: string,
/**
 * Earlier messages of the session, which the rules read as `history`.
 */
history?: Array<EarlierMessage>, };

/**
 * The saved messages of a rule set. They are stored in a file next to the main file.
 */
export type KeptMessages = {
/**
 * Name of the file with the saved messages; null if the rules are not on disk.
 */
file: string | null,
/**
 * Fingerprint of the file with the saved messages, to pass to [`KeepMessages`].
 */
stamp: string,
/**
 * The saved messages.
 */
messages: Array<KeptMessage>, };

/**
 * Request to replace the saved messages of a rule set.
 */
export type KeepMessages = {
/**
 * Id of the rule set to which the messages belong.
 */
rules: number,
/**
 * Fingerprint that the file had when the client read it. If the file has changed since then,
 * nothing is written.
 */
stamp: string,
/**
 * The messages to save.
 */
messages: Array<KeptMessage>, };

/**
 * Request to add a rule set from a text, to compare other rules with it.
 */
export type UploadRules = {
/**
 * Name of the new rule set.
 */
name: string,
/**
 * Text of the main file. The rule set has no other files, so imports fail.
 */
text: string, };

/**
 * Response to a refused request. The HTTP status is not 2xx.
 */
export type Refusal = {
/**
 * Machine-readable reason for the refusal: `token`, `host`, `origin`, `missing`, `invalid`,
 * `changed`, `errors` or `broken`.
 */
kind: string,
/**
 * Reason for the refusal and suggested correction, as text.
 */
message: string, };

/**
 * Request for a decision on one message.
 */
export type Decide = {
/**
 * Version of the rules that should decide.
 */
version: Version,
/**
 * Name of the entry that should decide: a table, choice, router, payload kind or workflow.
 */
entry: string,
/**
 * The message, payload or workflow input, as the JSON text that the author wrote. Text offsets
 * of errors refer to this text.
 */
message: string,
/**
 * Context of a payload, as JSON text: values for the `input` that the rules declare.
 */
context: string | null,
/**
 * Row of a replay whose message is decided in place of `message`. The page has only the masked
 * message of a row, so it cannot send the message itself.
 */
row: MessageOf | null,
/**
 * Earlier messages of the session, which the rules read as `history`.
 */
history: Array<EarlierMessage>, };

/**
 * Reference to a replayed message. The server uses the message unmasked, as in the file.
 */
export type MessageOf = {
/**
 * Id of the replay that contains the message.
 */
replay: number,
/**
 * Line number of the message in the replayed file, from 1.
 */
line: number, };

/**
 * An earlier message of a session, which the rules read as `history`.
 */
export type EarlierMessage = {
/**
 * The message as JSON text. Its field `now` is its time.
 */
message: string,
/**
 * Row of a replay whose message is used in place of `message`.
 */
row: MessageOf | null,
/**
 * Whether the message was only recorded, without a decision.
 */
observed: boolean,
/**
 * The decision that was made when the message arrived. Null means that the requested version
 * of the rules decides the message now, with the messages before it.
 */
decision: EarlierDecision | null, };

/**
 * A decision about an earlier message, as the rules read it in the history.
 */
export type EarlierDecision = {
/**
 * Name of the chosen statement, such as a route; null if nothing was chosen.
 */
chosen: string | null,
/**
 * Name of the chosen handler; null if no handler was chosen.
 */
target: string | null, };

/**
 * The earlier messages that a request contained, and whether the decision read each of them.
 */
export type History = {
/**
 * An item for each earlier message of the request, in the order of the request.
 */
messages: Array<HistoryItem>,
/**
 * Reason why the history may lack messages that were recorded, as text; null if it is
 * complete.
 */
gap: string | null, };

/**
 * An earlier message, as the timeline of a session shows it.
 */
export type HistoryItem = {
/**
 * Time of the message in milliseconds since 1970; null if the message has none.
 */
time: number | null,
/**
 * Start of the message's field `text`, with private values masked; empty if it has none.
 */
text: string,
/**
 * Start of the message's other fields as readable text, such as `tool search · cents 3`.
 */
fields: string,
/**
 * The decision about the message; null if the message was observed (recorded without a
 * decision).
 */
decision: EarlierDecision | null,
/**
 * Position of the message among all recorded messages of the session, from 0. The explanation
 * refers to the message by this position. Null if the rules do not read the message.
 */
position: number | null,
/**
 * Reason why the rules do not read the message, as text; null if they read it.
 */
unread: string | null, };

/**
 * Response to [`Decide`]: a decision, or the reason why there is none.
 */
export type Decided = { "kind": "decision" } & Decision | { "kind": "payload" } & Judged | { "kind": "workflow" } & WorkflowRun | { "kind": "refused" } & Mistake | { "kind": "broken",
/**
 * First compile error, as text.
 */
error: string,
/**
 * Number of compile errors.
 */
errors: number, };

/**
 * A decision on a message, with its explanation.
 */
export type Decision = {
/**
 * The decision as `rulec run` prints it, with private values masked.
 */
decision: JsonValue,
/**
 * Key of the chosen statement, such as `routes/refunds`; null if nothing was chosen.
 */
key: string | null,
/**
 * Step-by-step explanation of the decision.
 */
explanation: Explanation,
/**
 * Summary of the explanation, in a few lines of text.
 */
summary: string,
/**
 * The true conditions that led to the chosen statement, in the order of their evaluation.
 */
because: Array<TraceNode>,
/**
 * Fields of the message that do not have the type that the rules' `input` declares.
 */
breaches: Array<InputViolation>,
/**
 * Conditions that a choice skipped, because values that they read are missing.
 */
left_out: Array<LeftOut>,
/**
 * Question that a language model must answer; null if no model makes this choice.
 */
question: string | null,
/**
 * Reason why the message contains no usable answer of the language model; null if it contains
 * one, or if no model makes this choice.
 */
question_failure: string | null,
/**
 * Names of the host functions of the rules. Only an embedding program provides these
 * functions, so the studio treats their results as missing.
 */
missing_functions: Array<string>,
/**
 * The earlier messages in the request, and whether the rules read each of them.
 */
history: History, };

/**
 * A field of a message that does not have the type that the rules' `input` declares.
 */
export type InputViolation = {
/**
 * Path of the field in the message.
 */
path: string,
/**
 * Type that the input declares for the field.
 */
expected: string,
/**
 * Type of the value in the message, or `missing`.
 */
found: string,
/**
 * Likely cause of the violation; null if none is known.
 */
hint: string | null, };

/**
 * A condition that a choice skipped, because values that the condition reads are missing.
 */
export type LeftOut = {
/**
 * Name of the choice's branch that has the condition.
 */
branch: string,
/**
 * The skipped condition, as its author wrote it.
 */
condition: string,
/**
 * Reason for skipping the condition, as text.
 */
reason: string, };

/**
 * An error in the JSON of a message.
 */
export type Mistake = {
/**
 * Description of the JSON error.
 */
message: string,
/**
 * Suggested correction of the JSON error; null if there is none.
 */
help: string | null,
/**
 * Diagnostic code of the JSON error.
 */
code: string,
/**
 * Line of the error in the text, from 1.
 */
line: number,
/**
 * Column of the error in its line, from 1.
 */
column: number,
/**
 * Offset of the error in the text, in UTF-16 units.
 */
at: number,
/**
 * Whether the error is in the context of a payload instead of the payload.
 */
in_context: boolean, };

/**
 * Request for changes of a message that would make the rules choose another statement (such as
 * another route). The response is a list of [`Near`], nearest first.
 */
export type AskNear = {
/**
 * Version of the rules that decides.
 */
version: Version,
/**
 * Name of the entry (such as a table) that decides.
 */
entry: string,
/**
 * The message whose near misses are requested, as JSON text.
 */
message: string,
/**
 * Name of the statement that the changed message should select, or the name with its table, as
 * a test writes it after `expect`. Null requests the nearest statements.
 */
route: string | null,
/**
 * Row of a replay whose message is used in place of `message`.
 */
row: MessageOf | null,
/**
 * Earlier messages of the session, which the rules read as `history`.
 */
history: Array<EarlierMessage>, };

/**
 * A near miss: a statement that was not chosen, and a change of the message that would make the
 * rules choose it.
 */
export type Near = {
/**
 * Name of the statement that the changed message would select.
 */
route: string,
/**
 * Whether a change was found: `chosen`, `change`, `never` or `unknown`.
 */
remedy: NearKind,
/**
 * Fields of the message that would change.
 */
fields: Array<NearField>,
/**
 * The changed message, as JSON; null if there is no change, or if the message contains private
 * values.
 */
message: JsonValue,
/**
 * Whether it is proven that no change of fewer fields would be enough.
 */
smallest: boolean, };

/**
 * Whether a changed message can select the statement of a near miss.
 */
export type NearKind = "chosen" | "change" | "never" | "unknown";

/**
 * A message field that a near miss would change.
 */
export type NearField = {
/**
 * Path of the field in the message.
 */
field: string,
/**
 * Current value of the field; null if the field is missing.
 */
is: JsonValue,
/**
 * A value that would be enough to select the statement; null means that the field should be
 * removed.
 */
would_be: JsonValue,
/**
 * Requirements of the rules on the field's value, as text.
 */
needs: Array<string>,
/**
 * Whether the field is declared as private.
 */
private: boolean, };

/**
 * Result of validating a payload.
 */
export type Judged = {
/**
 * Outcome of the validation: `accept`, `accept_corrected` or `reject`.
 */
outcome: string,
/**
 * Payload kind to use instead of the kind of the rejected payload. Null if the payload was not
 * rejected, or if the rules declare no `fallback` for its kind.
 */
fallback: string | null,
/**
 * Violations of rules by the payload as sent, before any correction.
 */
violations: Array<Violation>,
/**
 * Violations that remain after the corrections; equals `violations` if nothing was corrected.
 */
remaining: Array<Violation>,
/**
 * Violations of rules that only warn; these do not reject the payload.
 */
warnings: Array<Violation>,
/**
 * Payload rules that could not be evaluated.
 */
unchecked: Array<Unchecked>,
/**
 * Corrections that were made to the payload.
 */
corrections: Array<Correction>,
/**
 * Line diff of the payload before and after the corrections; empty if nothing was corrected.
 */
diff: Array<DiffLine>,
/**
 * The result as text for the language model that proposed the payload.
 */
feedback: string,
/**
 * The earlier messages in the request, and whether the rules read each of them.
 */
history: History, };

/**
 * A rule that the payload violates.
 */
export type Violation = {
/**
 * Name of the violated rule.
 */
rule: string,
/**
 * Path of the violation in the payload, such as `$.nodes[2].url`.
 */
path: string,
/**
 * Description of the violation.
 */
message: string,
/**
 * Description of how to repair the payload.
 */
repair: string,
/**
 * The value at `path`, as JSON; null if there is no value.
 */
value: JsonValue,
/**
 * Start of the violating value in the payload text that was sent, in UTF-16 units; null if the
 * text has no such value.
 */
from: number | null,
/**
 * End of the violating value in the payload text that was sent, in UTF-16 units; null if the
 * text has no such value.
 */
to: number | null,
/**
 * The conditions of the rule that explain the violation, as lines of text; null if there is no
 * explanation.
 */
why: string | null, };

/**
 * A payload rule that could not be evaluated.
 */
export type Unchecked = {
/**
 * Name of the rule that could not be evaluated.
 */
rule: string,
/**
 * Path, in the payload, of the value that the rule checks.
 */
path: string,
/**
 * Reason why the rule could not be evaluated, as text.
 */
message: string, };

/**
 * A correction that was made to a payload.
 */
export type Correction = {
/**
 * Kind of the correction: `default`, `clamp` or `remove`.
 */
kind: string,
/**
 * Path of the corrected value in the payload.
 */
path: string, };

/**
 * A line of a diff.
 */
export type DiffLine = {
/**
 * Whether the line is in both texts or only in one.
 */
kind: DiffKind,
/**
 * Text of the line, without its line break.
 */
text: string, };

/**
 * Whether a line of a diff is in both texts or only in one.
 */
export type DiffKind = "same" | "removed" | "added";

/**
 * A run of a workflow, recorded step by step. The workflow's nodes and edges are in the map.
 */
export type WorkflowRun = {
/**
 * Name of the workflow that ran.
 */
workflow: string,
/**
 * Steps of the run, in order; nodes that ran in parallel share a step.
 */
steps: Array<WorkflowStep>,
/**
 * Outputs of the workflow's final nodes, by node name.
 */
outputs: JsonValue,
/**
 * Nodes that failed during the run.
 */
failures: Array<NodeFailure>,
/**
 * Nodes that still waited for inputs when the run ended, as text.
 */
stalled: Array<string>,
/**
 * Whether the run ended because it reached the step limit.
 */
limit_hit: boolean,
/**
 * Node kinds that only an embedding program implements. In the studio, nodes of these kinds
 * return their input.
 */
stand_ins: Array<string>, };

/**
 * A step of a workflow run.
 */
export type WorkflowStep = {
/**
 * Names of the nodes that ran in this step.
 */
nodes: Array<string>,
/**
 * Deliveries of node outputs in this step.
 */
deliveries: Array<WorkflowDelivery>,
/**
 * Decisions that routers made in this step.
 */
decisions: Array<RouterDecision>, };

/**
 * A recorded decision of a node's router. The page can open the decision and decide its message
 * again.
 */
export type RouterDecision = {
/**
 * Name of the node that has the router.
 */
node: string,
/**
 * Name of the router that decided.
 */
router: string,
/**
 * The message that the router decided on, as JSON text: the node's output and the candidate
 * next nodes.
 */
message: string, };

/**
 * Delivery of a node's output to another node.
 */
export type WorkflowDelivery = {
/**
 * Name of the node that produced the output.
 */
from: string,
/**
 * Name of the node that receives the output.
 */
to: string,
/**
 * Whether the receiving node had all its inputs after this delivery.
 */
ready: boolean,
/**
 * Whether the output was delivered along an edge that leads back to an earlier node.
 */
loop_back: boolean,
/**
 * How many times this run has used this edge, including this delivery. Above 1 only in loops.
 */
round: number, };

/**
 * A node that failed during a workflow run.
 */
export type NodeFailure = {
/**
 * Name of the failed node.
 */
node: string,
/**
 * Error message of the failed node.
 */
message: string, };

/**
 * Request for a `test` block that checks the decision about a message.
 */
export type MakeTest = {
/**
 * Version of the rules that decides.
 */
version: Version,
/**
 * Name of the entry (such as a table) that decides.
 */
entry: string,
/**
 * The message for which a test is made, as JSON text.
 */
message: string,
/**
 * Context of a payload, as JSON text: values for the `input` that the rules declare.
 */
context: string | null,
/**
 * Name of the test; null lets the server choose a name.
 */
name: string | null,
/**
 * What the test should expect, as written after `expect`; null means the statement that the
 * rules choose now.
 */
expect: string | null,
/**
 * Row of a replay whose message is used in place of `message`.
 */
row: MessageOf | null,
/**
 * Earlier messages of the session, which the rules read as `history`.
 */
history: Array<EarlierMessage>, };

/**
 * Response to [`MakeTest`]: a generated `test` block.
 */
export type MadeTest = {
/**
 * Text of the `test` block.
 */
block: string,
/**
 * Name of the file that should contain the block: the main file of the rules.
 */
file: string,
/**
 * Text of the main file in the requested version, with the block appended.
 */
text: string,
/**
 * Line of the block in `text`, from 1.
 */
line: number,
/**
 * Whether the test passes with the requested version of the rules, according to a run on the
 * server.
 */
passes: boolean, };

/**
 * Request to replay a file: to decide its messages, or its logged decisions, again.
 */
export type StartReplay = {
/**
 * Version of the rules that decides the messages.
 */
version: Version,
/**
 * Id of the file to replay.
 */
source: number,
/**
 * Name of the entry (such as a table) that decides messages; null means the routes outside any
 * table. A line of a decision log names its own entry.
 */
entry: string | null,
/**
 * Older version of the rules whose results are compared with the new results; null for no
 * comparison.
 */
against: Version | null, };

/**
 * Response to [`StartReplay`]: the replay was started, and is running.
 */
export type Started = {
/**
 * Id of the started replay.
 */
id: number, };

/**
 * State of a replay: running, or how it ended.
 */
export type ReplayState = "running" | "done" | "cancelled" | "failed";

/**
 * Progress event of a replay. The last event of a replay has a state other than `running`.
 */
export type Progress = {
/**
 * State of the replay.
 */
state: ReplayState,
/**
 * Number of bytes of the file that were read.
 */
read: number,
/**
 * Size of the replayed file in bytes.
 */
bytes: number,
/**
 * Number of messages decided so far.
 */
messages: number,
/**
 * Number of messages whose result differs from the result of the older version or of the log.
 */
flipped: number, };

/**
 * Counts of a replay, up to now.
 */
export type ReplaySums = {
/**
 * Progress of the replay.
 */
progress: Progress,
/**
 * Name of the replayed file.
 */
source: string,
/**
 * Whether the replayed file is a decision log.
 */
is_log: boolean,
/**
 * Reason why the replay failed; null if it did not fail.
 */
failure: string | null,
/**
 * Number of lines that were not decided because they contain no valid message.
 */
refused: number,
/**
 * The first of the lines that contain no valid message, with their errors.
 */
refusals: Array<LineMistake>,
/**
 * Number of log lines whose entry (such as a table) is missing, or is unknown to the rules of
 * the replay.
 */
foreign: number,
/**
 * Number of messages that were only recorded in the history, without a decision.
 */
observed: number,
/**
 * Number of decided messages that were not recorded in the history, because they have no time
 * or no key.
 */
unrecorded: number,
/**
 * Number of log lines without a message. Their logged results are counted, but they cannot be
 * decided again.
 */
bare: number,
/**
 * Number of messages that contain values masked by the log.
 */
masked: number,
/**
 * Number of logged decisions for which the rules of the replay choose another statement than
 * the log.
 */
otherwise: number,
/**
 * Counts per statement (such as a route), most often chosen first. Included are the statements
 * of the entries that decided messages, and of the tables to which a `goto` leads from them.
 */
counts: Array<StatementCount>,
/**
 * Counts per statement over time.
 */
timeline: Timeline,
/**
 * Changed results, grouped by the old and the new statement. The largest groups come first.
 */
flips: Array<Flip>,
/**
 * Whether the replay compares its results with another version of the rules.
 */
compares: boolean,
/**
 * Time that the replay has taken so far, in milliseconds.
 */
elapsed_ms: number, };

/**
 * A line of the replayed file that is not a message.
 */
export type LineMistake = {
/**
 * Number of the line in the replayed file, from 1.
 */
line: number,
/**
 * Description of the line's error.
 */
message: string, };

/**
 * A statement (such as a route), with the number of replayed messages for which it was chosen.
 */
export type StatementCount = {
/**
 * Key of the statement, such as `routes/refunds`; the map uses the same keys.
 */
key: string,
/**
 * Name of the statement's table.
 */
table: string,
/**
 * Name of the statement; `default`, or `none` for messages for which no statement was chosen.
 */
name: string,
/**
 * Handler or other target of the statement.
 */
to: string,
/**
 * Number of messages for which the statement was chosen.
 */
count: number,
/**
 * Number of messages for which the older version or the log chose the statement; null if the
 * replay compares with neither.
 */
before: number | null,
/**
 * Reason why the statement was chosen for no message; null if it was chosen.
 */
never: string | null,
/**
 * Median duration of the statement's handler according to the log, in microseconds; null if
 * the log contains none.
 */
median_us: number | null,
/**
 * Longest duration of the statement's handler according to the log, in microseconds; null if
 * the log contains none.
 */
longest_us: number | null, };

/**
 * Counts per statement over time, or over the messages in their order if they have no time.
 */
export type Timeline = {
/**
 * Whether the buckets are intervals of time; false if they are intervals of message numbers.
 */
by_time: boolean,
/**
 * Start of each bucket: milliseconds since 1970, or the number of a message, from 1.
 */
starts: Array<number>,
/**
 * End of the last bucket, in the same unit as `starts`. No message is at the end.
 */
end: number,
/**
 * Position of the last message, in the same unit as `starts`.
 */
last: number,
/**
 * One series for each of the most frequent statements; the key `*` sums the others.
 */
series: Array<Series>, };

/**
 * Counts of one statement over time.
 */
export type Series = {
/**
 * Key of the statement; `*` for all statements without a series of their own.
 */
key: string,
/**
 * Number of messages in each bucket of the timeline.
 */
counts: Array<number>, };

/**
 * A group of messages whose result changed in the same way.
 */
export type Flip = {
/**
 * Key of the statement chosen by the older version or the log.
 */
before: string,
/**
 * Key of the statement that the replay chose; equals `before` if only arguments or targets
 * differ.
 */
after: string,
/**
 * Number of messages in the group.
 */
count: number, };

/**
 * Request for some rows (one per message) of a replay, with filters and a sort order.
 */
export type AskRows = {
/**
 * Filter: only messages for which the replay chose the statement with this key, such as
 * `routes/refunds`.
 */
key: string | null,
/**
 * Filter: only messages for which the older version or the log chose the statement with this
 * key.
 */
before: string | null,
/**
 * Filter: only messages with a changed result.
 */
flipped: boolean,
/**
 * Filter: only lines that contain this text, ignoring case.
 */
text: string | null,
/**
 * Filter: only messages from this time or message number on, in the unit of the timeline.
 */
since: number | null,
/**
 * Filter: only messages before this time or message number, in the unit of the timeline.
 */
until: number | null,
/**
 * Sort order of the rows.
 */
sort: RowSort,
/**
 * Whether the sort order is descending.
 */
descending: boolean,
/**
 * Index, from 0, of the first row to return among all matching rows.
 */
offset: number,
/**
 * Maximum number of rows to return; at most 200.
 */
limit: number, };

/**
 * Sort order of the rows of a replay.
 */
export type RowSort = "line" | "time" | "route" | "before" | "elapsed";

/**
 * Response to [`AskRows`]: the requested rows, and the number of all matching rows.
 */
export type Rows = {
/**
 * Number of all rows that match the filters.
 */
total: number,
/**
 * The requested part of the matching rows.
 */
rows: Array<Row>, };

/**
 * A row of a replay: one message with its result.
 */
export type Row = {
/**
 * Line number of the message in the file, from 1; also identifies the row.
 */
line: number,
/**
 * Time of the message, in milliseconds since 1970; null if it is unknown.
 */
time: number | null,
/**
 * Name of the entry (such as a table) that decided.
 */
entry: string,
/**
 * Key of the statement that the replay chose.
 */
key: string,
/**
 * Key of the statement chosen by the older version of the rules or, without an older version,
 * by the log.
 */
before: string | null,
/**
 * Whether the result differs from the result of the older version or of the log.
 */
flipped: boolean,
/**
 * Duration of the handler according to the log, in microseconds; null if it is unknown.
 */
elapsed_us: number | null,
/**
 * Start of the message's field `text`, with private values masked; empty if it has none.
 */
text: string,
/**
 * Start of the message's other fields as readable text, such as `ctx.count 3 · ctx.vip true`.
 */
fields: string, };

/**
 * The message of a replay row, for opening the row as a decision.
 */
export type RowMessage = {
/**
 * Name of the entry (such as a table) that decided the message.
 */
entry: string,
/**
 * The message as formatted JSON, with private values masked; null for a log line without a
 * message.
 */
message: string | null,
/**
 * The fields of the line other than the payload, as formatted JSON. They are the message that
 * belongs to the payload and selects the history that rules read. Null if the line contains no
 * such fields.
 */
context: string | null,
/**
 * The whole logged decision; null if the line is a plain message.
 */
logged: JsonValue,
/**
 * The earlier messages of the message's session that the history still contains, oldest first.
 */
history: Array<EarlierMessage>,
/**
 * Number of older messages of the session that the history still contains, but that are
 * omitted here because there are too many.
 */
older: number,
/**
 * Reason why the history may lack messages that were recorded, as text; null if it is
 * complete.
 */
gap: string | null, };

/**
 * The map of one version of the rules: all tables, workflows and payload kinds.
 */
export type Map = {
/**
 * Whether the rules were analysed. Otherwise, some findings are not known yet.
 */
analysed: boolean,
/**
 * Tables of the rules: routes, choices, routers and flows. Tables to which no `goto` leads
 * come first.
 */
tables: Array<MapTable>,
/**
 * Names of the targets of the rules, without duplicates; declared handlers come first. The
 * page gives each of them a colour by its position.
 */
targets: Array<string>,
/**
 * Workflows of the rules.
 */
workflows: Array<MapWorkflow>,
/**
 * Payload kinds of the rules. The rules of each kind are listed like routes.
 */
payloads: Array<MapTable>, };

/**
 * A table on the map, with its statements (routes, branches, cases or patterns).
 */
export type MapTable = {
/**
 * Name of the table; `routes` for the routes outside any table.
 */
name: string,
/**
 * Kind of the table.
 */
kind: EntryKind,
/**
 * Doc comment of the table.
 */
docs: string,
/**
 * Whether a `goto` of another table leads to this table.
 */
entered: boolean,
/**
 * Whether the table has an index. Without an index, its statements are tried one by one.
 */
indexed: boolean,
/**
 * Statements of the table in evaluation order, then the default, then disabled statements.
 */
routes: Array<MapRoute>, };

/**
 * A statement of a table: a route, branch, case, pattern or default.
 */
export type MapRoute = {
/**
 * Key that identifies the statement in counts, rows and decisions, such as `routes/refunds`.
 */
key: string,
/**
 * Name of the statement.
 */
name: string,
/**
 * Whether the statement is the table's default.
 */
is_default: boolean,
/**
 * Whether the author disabled the statement.
 */
disabled: boolean,
/**
 * Priority of the statement.
 */
priority: number,
/**
 * Condition of the statement, as its author wrote it.
 */
condition: string,
/**
 * Doc comment of the statement.
 */
docs: string,
/**
 * Target of the statement: a handler, branch, flow or next nodes.
 */
to: string,
/**
 * Name of the table to which the statement leads by `goto`; null if the statement is no
 * `goto`.
 */
goto: string | null,
/**
 * Access path: how the index finds the statement. Null if the statement has no access path,
 * such as a default.
 */
found: HowFound | null,
/**
 * Worst-case number of steps for evaluating the statement's condition.
 */
steps: number,
/**
 * Findings of the analysis whose span lies in the statement.
 */
findings: Array<MapFinding>,
/**
 * Source span of the statement; null if it is unknown.
 */
place: SourceRange | null, };

/**
 * Access path of a statement: how the index finds it.
 */
export type HowFound = {
/**
 * Kind of the access path: `key` (an index key), `bits` (a bitmap index) or `always` (tried
 * for every message).
 */
by: string,
/**
 * The keys or bits that find the statement, or the reason why the statement is always tried.
 */
what: string,
/**
 * Number of other statements that are found by the same keys.
 */
shared: number, };

/**
 * A finding of the analysis about a statement.
 */
export type MapFinding = {
/**
 * Kind of the finding: `shadowed` if other statements hide the statement, `unreachable` if it
 * never matches, or `other`.
 */
kind: FindingKind,
/**
 * Diagnostic code of the finding.
 */
code: string,
/**
 * Message text of the finding.
 */
message: string,
/**
 * Suggested correction for the finding; null if there is none.
 */
help: string | null, };

/**
 * Kind of a finding about a statement.
 */
export type FindingKind = "shadowed" | "unreachable" | "other";

/**
 * A span in a source file.
 */
export type SourceRange = {
/**
 * Name of the source file.
 */
file: string,
/**
 * Line on which the span starts, from 1.
 */
line: number,
/**
 * Start of the span in the file, in UTF-16 units.
 */
from: number,
/**
 * End of the span in the file, in UTF-16 units.
 */
to: number, };

/**
 * A workflow on the map.
 */
export type MapWorkflow = {
/**
 * Name of the workflow.
 */
name: string,
/**
 * Nodes of the workflow; the first node is the start.
 */
nodes: Array<MapNode>,
/**
 * Edges between the nodes of the workflow.
 */
edges: Array<MapEdge>, };

/**
 * A node of a workflow on the map.
 */
export type MapNode = {
/**
 * Id of the node in its workflow.
 */
id: string,
/**
 * Kind of the node, such as `echo` or `http`.
 */
kind: string,
/**
 * Whether the next nodes of this node run in parallel.
 */
parallel: boolean,
/**
 * Name of the router that chooses the next nodes; null if the node has no router.
 */
router: string | null, };

/**
 * An edge of a workflow on the map.
 */
export type MapEdge = {
/**
 * Index of the node at which the edge starts.
 */
from: number,
/**
 * Index of the node at which the edge ends.
 */
to: number,
/**
 * Condition under which the router takes this edge; empty if no router chooses among the
 * edges.
 */
label: string,
/**
 * Whether the edge leads back to an earlier node.
 */
loop_back: boolean, };

/**
 * A table of routes or other statements as a decision table: one row per statement, one column per
 * field.
 */
export type DecisionTable = {
/**
 * Name of the table.
 */
table: string,
/**
 * Columns of the decision table. Fields that the most rows have a condition on come first.
 */
columns: Array<Column>,
/**
 * Rows of the decision table: enabled statements in evaluation order, then disabled
 * statements, then the default.
 */
rows: Array<TableRow>,
/**
 * Messages that no row matches.
 */
gaps: Array<Gap>,
/**
 * Pairs of rows that can match the same message.
 */
overlaps: Array<Overlap>,
/**
 * Whether there may be further overlaps, because not all pairs of rows were checked.
 */
more_overlaps: boolean,
/**
 * Whether the rules were analysed. Otherwise, overlaps and gaps are not known yet.
 */
analysed: boolean, };

/**
 * A column of a decision table: one message field.
 */
export type Column = {
/**
 * Path of the field in the message.
 */
field: string,
/**
 * Number of rows whose condition reads the field.
 */
rows: number, };

/**
 * A row of a decision table: one route or other statement.
 */
export type TableRow = {
/**
 * Key of the row's statement, such as `routes/refunds`.
 */
key: string,
/**
 * Name of the row's statement.
 */
name: string,
/**
 * One entry for each column: the row's condition on the column's field, or null if the row has
 * no condition on this field.
 */
cells: Array<string | null>,
/**
 * Conditions of the row that fit no single column.
 */
others: Array<string>,
/**
 * Target of the row's statement.
 */
to: string,
/**
 * Whether the row's statement is disabled. Disabled rows follow all enabled rows except the
 * default.
 */
disabled: boolean,
/**
 * Whether the row can be changed in the table: true for routes, false for other statements and
 * for the default.
 */
editable: boolean,
/**
 * Findings of the analysis about the row's statement.
 */
findings: Array<MapFinding>, };

/**
 * A gap of a decision table: messages that no row matches.
 */
export type Gap = {
/**
 * Description of the gap, as text.
 */
message: string,
/**
 * Example message in the gap, as JSON text; null if none was found.
 */
example: string | null, };

/**
 * Two rows of a decision table that can match the same message.
 */
export type Overlap = {
/**
 * Key of the row that is chosen for a message that both rows match.
 */
first: string,
/**
 * Key of the row that is not chosen for a message that both rows match.
 */
second: string,
/**
 * Example message that both rows match, as JSON text.
 */
example: string,
/**
 * Whether the rows lead to different targets, so that the order matters.
 */
differs: boolean, };

/**
 * Request to change a row of a decision table in the editor's text.
 */
export type EditRow = {
/**
 * Id of the rule set.
 */
rules: number,
/**
 * Key of the row's statement, such as `routes/refunds`; for a new row, the key that its
 * statement gets.
 */
key: string,
/**
 * The change to make in the row.
 */
change: RowChange, };

/**
 * A change of a row of a decision table.
 */
export type RowChange = { "kind": "cell",
/**
 * Path of the field whose column contains the cell.
 */
field: string,
/**
 * The new conditions, written with or without the name of the field; an empty text removes
 * the conditions.
 */
text: string, } | { "kind": "target",
/**
 * The new target: a handler, optionally with arguments, or `goto TABLE`.
 */
text: string, } | { "kind": "disable",
/**
 * Whether the row should be disabled.
 */
disabled: boolean, } | { "kind": "add", } | { "kind": "new", } | { "kind": "move",
/**
 * Key of the statement in front of whose row this row is moved. Both are in one table.
 */
before: string, };

/**
 * Response to [`EditRow`]: the editor's text of the changed file.
 */
export type EditedRow = {
/**
 * Name of the changed file.
 */
file: string,
/**
 * Text of the file before the change, so that the page can undo the change.
 */
before: string,
/**
 * Text of the file after the change.
 */
text: string, };

/**
 * The text of a rules file, on disk and in the editor.
 */
export type FileText = {
/**
 * Name of the file.
 */
file: string,
/**
 * Text of the file on disk.
 */
saved: string,
/**
 * Unsaved text of the file in the editor; null if equal to the text on disk.
 */
draft: string | null,
/**
 * Fingerprint of the file on disk. [`Save`] needs it to detect whether the file has changed.
 */
stamp: string,
/**
 * Whether the file can be saved.
 */
writable: boolean, };

/**
 * Request to analyse a rule set with the unsaved text of one of its files. The server also stores
 * this text as the draft of the file.
 */
export type Check = {
/**
 * Id of the rule set that contains the file.
 */
rules: number,
/**
 * Name of the file that contains the text.
 */
file: string,
/**
 * Unsaved text of the file; null discards the draft.
 */
text: string | null,
/**
 * Whether to include the findings of the slower analysis of how rules interact.
 */
findings: boolean, };

/**
 * Response to [`Check`]: the analysis results of the rule set with the unsaved text of the file.
 */
export type Checked = {
/**
 * Errors and warnings in all files of the rule set.
 */
diagnostics: Array<Diagnostic>,
/**
 * Tokens of the text to highlight, three numbers each: offset and length in UTF-16 units, and
 * index into [`Session::token_classes`](super::Session).
 */
tokens: Array<number>,
/**
 * Ranges of the text that can be folded.
 */
folds: Array<Fold>,
/**
 * Inlay hints: short texts to show in the editor.
 */
hints: Array<Hint>,
/**
 * Results of the tests in the rule set.
 */
tests: Array<TestRun>,
/**
 * Statements of the file, for an outline view.
 */
outline: Array<OutlineItem>,
/**
 * Whether the rule set compiles with this text.
 */
compiles: boolean, };

/**
 * A diagnostic with its primary span, labels and fixes.
 */
export type Diagnostic = {
/**
 * Name of the file that contains the primary span.
 */
file: string,
/**
 * Line of the primary span, from 1.
 */
line: number,
/**
 * Start of the primary span, in UTF-16 units.
 */
from: number,
/**
 * End of the primary span, in UTF-16 units.
 */
to: number,
/**
 * Severity of the diagnostic: `error` or `warning`.
 */
severity: string,
/**
 * Code of the diagnostic, such as `E0203`.
 */
code: string,
/**
 * Message text of the diagnostic.
 */
message: string,
/**
 * Suggested correction of the diagnosed text; null if there is none.
 */
help: string | null,
/**
 * Secondary spans of the diagnostic, each with its own text.
 */
labels: Array<DiagnosticLabel>,
/**
 * Quick fixes for the diagnostic, from which the author may choose.
 */
fixes: Array<Fix>, };

/**
 * A secondary span of a diagnostic.
 */
export type DiagnosticLabel = {
/**
 * Location of the secondary span in its file.
 */
place: SourceRange,
/**
 * Text that explains the secondary span.
 */
text: string, };

/**
 * A quick fix for a diagnostic.
 */
export type Fix = {
/**
 * Title of the quick fix, which describes its effect.
 */
title: string,
/**
 * Whether the quick fix certainly does not change the meaning that the author intended.
 */
safe: boolean,
/**
 * Edits of the quick fix, in text order.
 */
edits: Array<TextEdit>, };

/**
 * Replacement of one range of a file.
 */
export type TextEdit = {
/**
 * Name of the edited file.
 */
file: string,
/**
 * Start of the replaced range, in UTF-16 units.
 */
from: number,
/**
 * End of the replaced range, in UTF-16 units.
 */
to: number,
/**
 * Text that replaces the range.
 */
text: string, };

/**
 * A range of a text that can be folded.
 */
export type Fold = {
/**
 * Start of the foldable range, in UTF-16 units.
 */
from: number,
/**
 * End of the foldable range, in UTF-16 units.
 */
to: number, };

/**
 * An inlay hint: a short text that the editor shows after a position.
 */
export type Hint = {
/**
 * Position of the hint in the file, in UTF-16 units.
 */
at: number,
/**
 * Short text of the hint.
 */
text: string,
/**
 * Explanation of the hint, for a tooltip.
 */
why: string, };

/**
 * Result of running a `test` block.
 */
export type TestRun = {
/**
 * Name of the test.
 */
name: string,
/**
 * Span of the test's name in the source text; null if it is unknown.
 */
place: SourceRange | null,
/**
 * Whether the test passed.
 */
passed: boolean,
/**
 * Outcome that the test expects.
 */
expected: string,
/**
 * Outcome that the rules produced.
 */
actual: string,
/**
 * Explanation of the decision if the test failed, as lines of text.
 */
why: string | null, };

/**
 * A statement in the outline view of a file.
 */
export type OutlineItem = {
/**
 * Name of the statement.
 */
name: string,
/**
 * Kind of the statement, in one word.
 */
kind: string,
/**
 * Span of the statement's name.
 */
place: SourceRange,
/**
 * Statements nested in this statement.
 */
inner: Array<OutlineItem>, };

/**
 * Request for completion, hover or the definition at a position in the editor's text.
 */
export type At = {
/**
 * Id of the rule set that contains the file.
 */
rules: number,
/**
 * Name of the file in the editor.
 */
file: string,
/**
 * Text of the file in the editor, which becomes its draft.
 */
text: string,
/**
 * Position of the cursor in the text, in UTF-16 units.
 */
at: number, };

/**
 * Completion items for a position in a text.
 */
export type Completions = {
/**
 * Start of the text range that the chosen completion item replaces, in UTF-16 units.
 */
from: number,
/**
 * End of the text range that the chosen completion item replaces, in UTF-16 units.
 */
to: number,
/**
 * Completion items, most likely first.
 */
items: Array<CompletionItem>, };

/**
 * One text that completion offers.
 */
export type CompletionItem = {
/**
 * Name of the item, and the text that it inserts unless it has a snippet.
 */
label: string,
/**
 * Kind of the item: `field`, `value`, `function`, `operator`, `keyword`, `type`, `handler` or
 * `statement`.
 */
kind: string,
/**
 * Type or signature of the item.
 */
detail: string,
/**
 * Documentation of the item.
 */
docs: string,
/**
 * Parts of the text that the item inserts instead of its label. Empty if the item inserts its
 * label.
 */
snippet: Array<SnippetPart>, };

/**
 * A part of a text with placeholders that the author fills in.
 */
export type SnippetPart = {
/**
 * Text of the part. The text of a placeholder may be empty.
 */
text: string,
/**
 * Whether the author replaces the text.
 */
is_placeholder: boolean, };

/**
 * Documentation of the name or keyword at a position.
 */
export type Hover = {
/**
 * Start of the documented text range, in UTF-16 units.
 */
from: number,
/**
 * End of the documented text range, in UTF-16 units.
 */
to: number,
/**
 * Declaration of the documented item, in rule syntax.
 */
code: string,
/**
 * Documentation text of the item.
 */
text: string, };

/**
 * Request to format the text of a rules file. The server stores nothing.
 */
export type Format = {
/**
 * Rules text to format.
 */
text: string, };

/**
 * Response to [`Format`]: the formatted text, if the text could be formatted.
 */
export type Formatted = {
/**
 * The formatted text; null if errors in the text prevent formatting.
 */
text: string | null, };

/**
 * Request to save a text to its file.
 */
export type Save = {
/**
 * Id of the rule set that contains the file.
 */
rules: number,
/**
 * Name of the file to write.
 */
file: string,
/**
 * Text to write to the file.
 */
text: string,
/**
 * Fingerprint that the file had when the client read the file.
 */
stamp: string, };

/**
 * Response to [`Save`]: whether the text was written to the file.
 */
export type Saved = { "kind": "saved",
/**
 * New fingerprint of the written file.
 */
stamp: string, } | { "kind": "changed",
/**
 * Text of the file on disk.
 */
text: string,
/**
 * Current fingerprint of the file. Saving again with this fingerprint overwrites the file.
 */
stamp: string,
/**
 * Line diff from the text on disk to the text that should be saved.
 */
diff: Array<DiffLine>, };

/**
 * Documentation page of a diagnostic code.
 */
export type CodePage = {
/**
 * The diagnostic code that the page explains, such as `E0203`.
 */
code: string,
/**
 * The documentation page, as Markdown.
 */
text: string, };

/**
 * Request for a report about one version of the rules.
 */
export type AskReport = {
/**
 * Version of the rules to report on.
 */
version: Version,
/**
 * Id of a replay whose counts the report should include; null for a report without a replay.
 */
replay: number | null, };

/**
 * All data of a report, which are embedded in its HTML file.
 */
export type Report = {
/**
 * Name of the main file of the rules.
 */
name: string,
/**
 * Version of the `rulec` program.
 */
version: string,
/**
 * Language of the report: `en` or `zh`.
 */
language: string,
/**
 * Summary numbers of the rules, tests and replay.
 */
summary: ReportSummary,
/**
 * The map of the rules.
 */
map: Map,
/**
 * The tables of the rules as decision tables.
 */
tables: Array<DecisionTable>,
/**
 * Coverage of each route and condition.
 */
coverage: Array<CoverageItem>,
/**
 * Number of decisions from which the coverage was counted.
 */
covered_decisions: number,
/**
 * Whether the coverage comes from the tests of the rules; false if it comes from a log or an
 * input file.
 */
covered_by_tests: boolean,
/**
 * Counts of the replay, if a log or an input file was given.
 */
replay: ReplaySums | null,
/**
 * The slowest statements (such as routes).
 */
slowest: Array<Slow>,
/**
 * Results of the tests of the rules.
 */
tests: Array<TestRun>,
/**
 * Sample decisions with explanations.
 */
samples: Array<Sample>, };

/**
 * Summary numbers of a report about rules.
 */
export type ReportSummary = {
/**
 * Number of rules files.
 */
files: number,
/**
 * Number of tables, including payload kinds.
 */
tables: number,
/**
 * Number of statements (such as routes) in all tables.
 */
statements: number,
/**
 * Number of `test` blocks.
 */
tests: number,
/**
 * Number of failed tests.
 */
failed: number,
/**
 * Warnings and analysis findings, as text.
 */
warnings: Array<string>,
/**
 * Number of statements that were chosen for no message of the replay; null without a replay.
 */
never: number | null, };

/**
 * Coverage of one route or other statement, or of one condition.
 */
export type CoverageItem = {
/**
 * Kind of the covered item: `route`, `branch`, `case`, `pattern`, `flow`, `default`, `rule` or
 * `condition`.
 */
what: string,
/**
 * Name of the statement, or the source text of the condition.
 */
name: string,
/**
 * Name of the file that contains the statement or condition.
 */
file: string,
/**
 * Line of the statement or condition in its file, from 1.
 */
line: number,
/**
 * Number of times that the statement or condition was evaluated.
 */
tried: number,
/**
 * For a statement, how often it was chosen. For a condition, how often it was true. For a
 * payload rule, how often it was violated.
 */
yes: number,
/**
 * For a statement, how often it was tried but not chosen. For a condition, how often it was
 * false, and not unknown. For a payload rule, how often it was not violated.
 */
no: number,
/**
 * Description of the missing coverage; null if fully covered.
 */
gap: string | null, };

/**
 * One of the slowest statements of the rules.
 */
export type Slow = {
/**
 * Key of the statement, such as `routes/refunds`.
 */
key: string,
/**
 * Name of the slow statement.
 */
name: string,
/**
 * Median duration of the statement's handler according to the log, in microseconds.
 */
median_us: number | null,
/**
 * Longest duration of the statement's handler according to the log, in microseconds.
 */
longest_us: number | null,
/**
 * Worst-case number of steps for evaluating the statement's condition.
 */
steps: number, };

/**
 * A sample decision of the report, with its explanation.
 */
export type Sample = {
/**
 * Line of the message in the replayed file; null if the message comes from a test.
 */
line: number | null,
/**
 * The decided message, with private values masked.
 */
message: JsonValue,
/**
 * Key of the chosen statement, such as `routes/refunds`.
 */
key: string,
/**
 * Summary of the explanation, in a few lines of text.
 */
summary: string,
/**
 * The true conditions that led to the chosen statement, in the order of their evaluation.
 */
because: Array<TraceNode>,
/**
 * Step-by-step explanation of the decision.
 */
explanation: Explanation, };

export type JsonValue = number | string | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/**
 * The explanation of a decision.
 *
 * The JSON format is stable: fields are added but never renamed. Empty or absent fields are
 * omitted, except the fields from `entry` to `path` in the example.
 *
 * ```json
 * {
 *   "entry": "routes", "chosen": "run_code", "target": "code_handler", "args": {}, "metadata": {},
 *   "tables": ["routes"], "path": [],
 *   "missing_args": ["kind"],
 *   "message": [{ "text": "ctx.n", "value": "7" }],
 *   "host_failures": [{ "function": "lookup", "message": "timed out" }],
 *   "trace": {
 *     "table": "routes", "chose": true, "not_tried": 2, "disabled": ["old_path"],
 *     "default": { "result": "skipped", "to": "default_handler" },
 *     "routes": [{
 *       "route": "show_files", "result": "unknown", "chosen": false, "priority": 100,
 *       "to": "file_handler", "docs": "Lists files.", "place": { "file": "a.rules", "line": 3, "column": 1 },
 *       "when": {
 *         "kind": "and", "text": "ctx.n > 3 and about_files", "result": "unknown", "children": [{
 *           "kind": "test", "text": "ctx.n > 3", "result": "unknown",
 *           "operands": [{ "text": "ctx.n", "missing": true }],
 *           "because": ["ctx.n is \"7\", a string, but a number is needed"]
 *         }]
 *       }
 *     }]
 *   }
 * }
 * ```
 *
 * If intent flows were evaluated, `intents` has `threshold`, `margin` and the `ranked` flows. Each
 * ranked flow has `name`, `id`, `score` and `chosen`.
 *
 * `chosen` is a route's name, `"default"`, or null. `result` is `true`, `false`, `unknown` or
 * `skipped`; a skipped node of a condition has `"note": "decided"`. A node's `kind` is `constant`,
 * `not`, `unless`, `and`, `or`, `test`, `any`, `all`, `let` or `call`. For a choice's branch the
 * `kind` is `all_usable` or `any_usable`, and an unusable condition has `"note": "left_out"`.
 *
 * A route whose `goto` was taken has a `table`: the search of the target table. An operand has a
 * `value`, or `missing`, or `masked` with `•••` as its value. `length` is the full length of a
 * truncated value. `recorded` lists the positions of the recorded messages from which a value was
 * computed, unless the value is masked. The `elements` of a quantifier have `shown` (each with
 * `index`, `element` and `when`), `more` and `skipped`.
 *
 * A condition on the history (earlier messages) has `past`. `searched` is the number of messages
 * that a quantifier searched. `count` is the number of messages that decided the result of the
 * condition. `newest` is the newest of them, with its time `at` and its `age` in seconds.
 */
export type Explanation = {
/**
 * Name of the table in which the search began.
 */
entry: string,
/**
 * Name of the chosen route, or `default`; `None` if nothing was chosen.
 */
chosen: string | null,
/**
 * Name of the chosen handler; `None` if no handler was chosen.
 */
target: string | null,
/**
 * The arguments with which the chosen handler is called; private values are masked.
 */
args: { [key in string]: JsonValue },
/**
 * The metadata that the rules declare for the chosen handler, as JSON.
 */
metadata: { [key in string]: JsonValue },
/**
 * The permissions that the chosen handler requires.
 */
requires?: Array<string>,
/**
 * Names of the tables on the path from the entry table to the table of the chosen statement.
 */
tables: Array<string>,
/**
 * Names of the routes whose `goto` led to the chosen statement, outermost first.
 */
path: Array<string>,
/**
 * Names of the required arguments whose value is missing; in `args` they are null.
 */
missing_args?: Array<string>,
/**
 * The message fields that were read, with their values in the message.
 */
message?: Array<Operand>,
/**
 * The host functions (functions of the embedding program) that failed during the decision.
 */
host_failures?: Array<HostFailed>,
/**
 * Trace of the search through the tables: the tried routes, with the results of their
 * conditions.
 */
trace: TableTrace,
/**
 * Scores of the intent flows (flows that are chosen by the meaning of the text). They are
 * evaluated if no keyword pattern matches; `None` if they were not evaluated.
 */
intents?: IntentTrace, };

/**
 * The result of a step of the decision, such as the evaluation of a condition.
 */
export type Mark = "true" | "false" | "unknown" | "skipped";

/**
 * Trace of the search through one table of routes.
 */
export type TableTrace = {
/**
 * Name of the table in the rules, such as `routes`.
 */
table: string,
/**
 * The kind of the table: `choice`, `flows` or `router`; left out for a table of routes.
 * Generated texts name the rules by this kind: routes, branches, patterns or cases.
 */
kind?: string,
/**
 * Whether the search of the table chose a rule or the table's default.
 */
chose: boolean,
/**
 * Whether the table was already searched in this decision. Such a table chose nothing and is
 * not searched again.
 */
searched_before?: boolean,
/**
 * The routes whose conditions were evaluated, in evaluation order.
 */
routes: Array<RouteTrace>,
/**
 * Number of enabled routes that were not tried, because an earlier route was chosen.
 */
not_tried: number,
/**
 * The names of the routes that the author has disabled, which are never tried.
 */
disabled?: Array<string>,
/**
 * Trace of the table's default; `None` if the table has no default.
 */
default?: DefaultTrace, };

/**
 * Trace of one route whose condition was evaluated.
 */
export type RouteTrace = {
/**
 * Name of the route in the rules.
 */
route: string,
/**
 * The result of the route's condition: true, false or unknown.
 */
result: Mark,
/**
 * Whether the route was chosen, or its `goto` led to the chosen statement.
 */
chosen: boolean,
/**
 * The priority that the rules give the route. Routes with a higher priority are tried first.
 */
priority: number,
/**
 * The route's target, such as a handler's name or `goto TABLE`; empty for a branch of a
 * choice.
 */
to: string,
/**
 * The doc comment that the author wrote above the route in the rules; empty if there is none.
 */
docs?: string,
/**
 * The file, line and column at which the route begins in the rules; `None` if the source is
 * not available.
 */
place?: Location,
/**
 * Trace of the evaluation of the route's condition.
 */
when: TraceNode,
/**
 * Trace of the search in the target table, if the route is a `goto` and its condition was
 * true.
 */
table?: TableTrace, };

/**
 * Trace of a table's default: whether the default was used, and its target.
 */
export type DefaultTrace = {
/**
 * `true` if the default was used, because no rule of the table was chosen; otherwise
 * `skipped`.
 */
result: Mark,
/**
 * The default's target, such as a handler's name or `goto TABLE`.
 */
to: string,
/**
 * Trace of the search in the target table, if the default is a `goto` and was used.
 */
table?: TableTrace, };

/**
 * A position in a rules file, as shown to users.
 */
export type Location = {
/**
 * Name of the rule file.
 */
file: string,
/**
 * Line number in the file, from 1.
 */
line: number,
/**
 * Column number in the line, counted in characters, from 1.
 */
column: number, };

/**
 * The form of a condition, such as `and`.
 */
export type NodeKind = "constant" | "not" | "unless" | "and" | "or" | "test" | "any" | "all" | "let" | "call" | "all_usable" | "any_usable";

/**
 * The reason why the trace of a condition shows no inner conditions (child nodes).
 */
export type Note = "decided" | "shown_above" | "left_out";

/**
 * Trace of a condition, or of a condition inside it. Traces form a tree: the children of a node
 * are the conditions inside the node's condition.
 */
export type TraceNode = {
/**
 * The form of the condition, such as `and` or `test`.
 */
kind: NodeKind,
/**
 * The condition as the rules write it, on one line and truncated if it is long.
 */
text: string,
/**
 * The result of the condition: true, false, unknown or skipped.
 */
result: Mark,
/**
 * Name of the `let` or `def` that the node uses; `None` for other nodes.
 */
name?: string,
/**
 * The file, line and column at which the condition begins in the rules; `None` if the source
 * is not available.
 */
place?: Location,
/**
 * The operands of a predicate with their values; for a quantifier, the list.
 */
operands?: Array<Operand>,
/**
 * The text that a text operator found: the matching keyword of a list, or the match of a
 * regular expression.
 */
found?: string,
/**
 * Sentences that explain why the condition is unknown, or why a false one nearly holds.
 */
because?: Array<string>,
/**
 * The reason why the trace shows no inner conditions (child nodes) of this condition; `None`
 * if there is no such reason.
 */
note?: Note,
/**
 * Trace nodes of the conditions inside this condition, such as the operands of an `and`.
 */
children?: Array<TraceNode>,
/**
 * The list elements for which a quantifier evaluated its condition; `None` if this condition
 * is no quantifier.
 */
elements?: Elements,
/**
 * The earlier messages that decided the result of this condition; `None` if the condition
 * reads no history.
 */
past?: PastTrace, };

/**
 * The earlier messages that decided the result of a condition on the history (the earlier messages
 * with the same key).
 */
export type PastTrace = {
/**
 * The number of messages that a quantifier searched; `None` for other conditions.
 */
searched?: number,
/**
 * The number of messages that decided the result of the condition, such as the counted ones.
 */
count: number,
/**
 * The newest of the messages that decided the condition; `None` if no message decided it.
 */
newest?: PastMessage, };

/**
 * An earlier message that decided the result of a condition.
 */
export type PastMessage = {
/**
 * The time of the message, as RFC 3339 text.
 */
at: string,
/**
 * The number of seconds from the earlier message to the message that is decided now. Negative
 * if the recorded message has a later time. `None` if the message that is decided now has no
 * time.
 */
age?: number, };

/**
 * A value that a predicate tested, as an explanation shows it.
 */
export type Operand = {
/**
 * The name of the value: the path of a field, or the source text of an expression.
 */
text: string,
/**
 * The value, truncated if it is long; `None` if missing.
 */
value?: JsonValue,
/**
 * Whether the value is missing, or counts as missing because its kind is wrong or it exceeds a
 * limit.
 */
missing?: boolean,
/**
 * Whether the value is private, so that a mask is shown instead.
 */
masked?: boolean,
/**
 * The full length of a truncated value, in characters, elements or keys.
 */
length?: number,
/**
 * The elements that were evaluated, if the operand is `count x in L: C`.
 */
elements?: Elements,
/**
 * The positions, in the history, of the recorded messages from which the value was computed,
 * such as the counted ones. At most a thousand; empty for other values. A masked value has
 * none, because they would reveal it.
 */
recorded?: Array<number>, };

/**
 * The elements that a quantifier or `count` evaluated.
 */
export type Elements = {
/**
 * The first evaluated elements (at most twenty, or five in a nested quantifier), and the
 * element that decided the result.
 */
shown: Array<ElementTrace>,
/**
 * Number of list elements that were evaluated but are not in `shown`, to keep the trace short.
 */
more: number,
/**
 * The number of list elements that were not evaluated, because an earlier element decided the
 * result.
 */
skipped: number, };

/**
 * Trace of the condition of a quantifier or `count` for one element.
 */
export type ElementTrace = {
/**
 * Index of the element in the list, from 0.
 */
index: number,
/**
 * Value of the list element. The operand's name is the variable of the quantifier.
 */
element: Operand,
/**
 * Trace of the quantifier's condition for this element.
 */
when: TraceNode, };

/**
 * A host function that failed; its result counts as missing.
 */
export type HostFailed = {
/**
 * The name with which rules call the function.
 */
function: string,
/**
 * The function's error message; masked if an argument was private.
 */
message: string, };

/**
 * The result of the built-in intent classifier, which chooses a flow by the meaning of the text.
 */
export type IntentTrace = {
/**
 * Minimum score that an intent must have to be chosen.
 */
threshold: number,
/**
 * Minimum difference between the best and the second-best score. If the difference is smaller,
 * no intent is chosen.
 */
margin: number,
/**
 * The intent flows (flows that are chosen by the meaning of the text) with the highest scores,
 * best first, whether or not one was chosen.
 */
ranked: Array<RankedIntent>, };

/**
 * An intent flow (a flow that is chosen by the meaning of the text) with its score.
 */
export type RankedIntent = {
/**
 * The name that the rules give the flow.
 */
name: string,
/**
 * The flow's id, which a decision returns if the flow is chosen.
 */
id: string,
/**
 * The classifier's score for the flow, from 0 to 1.
 */
score: number,
/**
 * Whether the decision chose this flow.
 */
chosen: boolean, };
