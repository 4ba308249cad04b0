// Written by `INSTA_UPDATE=always cargo test -p rulec-studio --lib types` from crates/studio/src/api; not to be edited.

/**
 * State of the studio when a page opens.
 */
export type Session = {
/**
 * Version of the program.
 */
version: string,
/**
 * Whether values of `@private` fields are shown.
 */
show_private: boolean,
/**
 * Language from the command line, `en` or `zh`; null if none was given. The page may choose
 * another.
 */
language: string | null,
/**
 * Rule sets in command-line order, then uploaded ones.
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
 * Id that requests use.
 */
id: number,
/**
 * Main file, as the user gave it.
 */
name: string,
/**
 * File names, the main file first.
 */
files: Array<string>,
/**
 * Whether the rule set is on disk. An uploaded one is not, and cannot be saved.
 */
on_disk: boolean,
/**
 * Whether the texts on disk compile.
 */
compiles: boolean,
/**
 * Whether the editor has unsaved texts.
 */
has_draft: boolean, };

/**
 * A version of a rule set.
 */
export type Version = {
/**
 * Id of the rule set.
 */
rules: number,
/**
 * Whether to use the editor's texts; false uses the texts on disk.
 */
draft: boolean, };

/**
 * A file of messages or logged decisions.
 */
export type Source = {
/**
 * Id that requests use.
 */
id: number,
/**
 * File name.
 */
name: string,
/**
 * Size in bytes.
 */
bytes: number,
/**
 * Origin: `log` or `input` from the command line, otherwise `upload`.
 */
from: string, };

/**
 * Entries and errors of a version of a rule set.
 */
export type Overview = {
/**
 * Entries that can decide; empty if the rules have errors.
 */
entries: Array<EntryInfo>,
/**
 * Number of errors.
 */
errors: number,
/**
 * First error, as text.
 */
first_error: string | null,
/**
 * Example message, the initial value of a form.
 */
example: unknown, };

/**
 * Kind of an entry.
 */
export type EntryKind = "routes" | "choice" | "flows" | "router" | "payload" | "workflow";

/**
 * An entry: a named table, payload kind or workflow that decides.
 */
export type EntryInfo = {
/**
 * Name of the entry; `routes` for the routes outside any table.
 */
name: string,
/**
 * Kind of the entry.
 */
kind: EntryKind,
/**
 * Doc comment.
 */
docs: string,
/**
 * Names of its statements in evaluation order, `default` last.
 */
statements: Array<string>,
/**
 * Form fields of its input.
 */
fields: Array<FormField>, };

/**
 * A field of a form.
 */
export type FormField = {
/**
 * Name in the enclosing record.
 */
name: string,
/**
 * Type, in rule syntax.
 */
ty: string,
/**
 * Form control for the type.
 */
control: Control,
/**
 * Whether the field may be missing.
 */
optional: boolean,
/**
 * Whether the field is private.
 */
private: boolean,
/**
 * Fields of a record.
 */
fields: Array<FormField>,
/**
 * Values that rules compare with the field, as suggestions.
 */
suggestions: Array<string>, };

/**
 * Form control for a type.
 */
export type Control = "text" | "int" | "number" | "bool" | "datetime" | "texts" | "record" | "json";

/**
 * A message that is saved by name.
 */
export type KeptMessage = {
/**
 * Name of the message.
 */
name: string,
/**
 * Entry that the message is for.
 */
entry: string,
/**
 * The message, as its author wrote it.
 */
message: string, };

/**
 * Saved messages of a rule set, in a file next to its main file.
 */
export type KeptMessages = {
/**
 * File name; null if the rules are not on disk.
 */
file: string | null,
/**
 * Fingerprint of the file, to pass to [`KeepMessages`].
 */
stamp: string,
/**
 * The messages.
 */
messages: Array<KeptMessage>, };

/**
 * Requests that these messages replace the saved ones.
 */
export type KeepMessages = {
/**
 * Id of the rule set.
 */
rules: number,
/**
 * Fingerprint of the file when the client read it. If the file has changed since, nothing is
 * written.
 */
stamp: string,
/**
 * The messages.
 */
messages: Array<KeptMessage>, };

/**
 * Requests a rule set from a text, to compare with.
 */
export type UploadRules = {
/**
 * Name of the rule set.
 */
name: string,
/**
 * Text of the main file; imports are not available.
 */
text: string, };

/**
 * Response to a refused request; its status is not 2xx.
 */
export type Refusal = {
/**
 * Machine-readable kind: `token`, `host`, `origin`, `missing`, `invalid`, `changed`, `errors`
 * or `broken`.
 */
kind: string,
/**
 * Reason and suggested correction, as text.
 */
message: string, };

/**
 * Requests a decision.
 */
export type Decide = {
/**
 * Version of the rules.
 */
version: Version,
/**
 * Name of the entry that decides; may be a workflow.
 */
entry: string,
/**
 * The message, payload or workflow input, as the JSON text that the author wrote. Text offsets
 * of errors refer to this text.
 */
message: string,
/**
 * Context of a payload, as JSON: the values of the rules' `input`.
 */
context: string | null,
/**
 * Replay row to decide in place of `message`. The page has only the masked message of a row,
 * so it cannot send the message itself.
 */
row: MessageOf | null, };

/**
 * A replayed message, unmasked as in the file.
 */
export type MessageOf = {
/**
 * Id of the replay.
 */
replay: number,
/**
 * Line number in the file, from 1.
 */
line: number, };

/**
 * A decision, or the reason why there is none.
 */
export type Decided = { "kind": "decision" } & Decision | { "kind": "payload" } & Judged | { "kind": "workflow" } & WorkflowRun | { "kind": "refused" } & Mistake | { "kind": "broken",
/**
 * First error, as text.
 */
error: string,
/**
 * Number of errors.
 */
errors: number, };

/**
 * A decision with its explanation.
 */
export type Decision = {
/**
 * Decision as `rulec run` prints it, with private values masked.
 */
decision: JsonValue,
/**
 * Key of the chosen statement, as in the map; null if nothing was chosen.
 */
key: string | null,
/**
 * Explanation, step by step.
 */
explanation: Explanation,
/**
 * Summary of the explanation, in a few lines.
 */
summary: string,
/**
 * Fields that break the declared input.
 */
breaches: Array<InputViolation>,
/**
 * Conditions that a choice left out.
 */
left_out: Array<LeftOut>,
/**
 * Question for a language model, if the model makes this choice.
 */
question: string | null,
/**
 * Reason why no answer of the model can be used.
 */
question_failure: string | null,
/**
 * Names of host functions, which only the embedding program provides.
 */
missing_functions: Array<string>, };

/**
 * A field of a message that breaks the declared input.
 */
export type InputViolation = {
/**
 * Path of the field.
 */
path: string,
/**
 * Expected type.
 */
expected: string,
/**
 * Type of the value, or `missing`.
 */
found: string,
/**
 * Likely cause.
 */
hint: string | null, };

/**
 * A condition that a choice left out.
 */
export type LeftOut = {
/**
 * Name of the branch.
 */
branch: string,
/**
 * The condition, as its author wrote it.
 */
condition: string,
/**
 * Reason, as text.
 */
reason: string, };

/**
 * An error in the JSON of a message.
 */
export type Mistake = {
/**
 * Description of the error.
 */
message: string,
/**
 * Suggested correction.
 */
help: string | null,
/**
 * Diagnostic code.
 */
code: string,
/**
 * Line, from 1.
 */
line: number,
/**
 * Column, from 1.
 */
column: number,
/**
 * Offset in the text, in UTF-16 units.
 */
at: number,
/**
 * Whether the error is in the context, not in the payload.
 */
in_context: boolean, };

/**
 * Requests changes of the message that would select another statement. The response is a list of
 * [`Near`], nearest first.
 */
export type AskNear = {
/**
 * Version of the rules.
 */
version: Version,
/**
 * Name of the entry that decides.
 */
entry: string,
/**
 * The message, as JSON.
 */
message: string,
/**
 * Statement that the changed message should select; null requests the nearest statements.
 */
route: string | null,
/**
 * Replay row to use in place of `message`.
 */
row: MessageOf | null, };

/**
 * A near miss: a statement, and the change of the message that would select the statement.
 */
export type Near = {
/**
 * Name of the statement.
 */
route: string,
/**
 * Kind of the result: `chosen`, `change`, `never` or `unknown`.
 */
remedy: NearKind,
/**
 * Fields that would change.
 */
fields: Array<NearField>,
/**
 * The changed message, as JSON; null if the message contains private values.
 */
message: JsonValue,
/**
 * Whether no change of fewer fields would be enough.
 */
smallest: boolean, };

/**
 * Kind of a near miss.
 */
export type NearKind = "chosen" | "change" | "never" | "unknown";

/**
 * A field to change.
 */
export type NearField = {
/**
 * Path of the field.
 */
field: string,
/**
 * Current value; null if missing.
 */
is: JsonValue,
/**
 * A value that would be enough; null if there is none.
 */
would_be: JsonValue,
/**
 * Requirements of the rules on the field, as text.
 */
needs: Array<string>,
/**
 * Whether the field is private.
 */
private: boolean, };

/**
 * Result of checking a payload.
 */
export type Judged = {
/**
 * Outcome: `accept`, `accept_corrected` or `reject`.
 */
outcome: string,
/**
 * Payload kind to use instead.
 */
fallback: string | null,
/**
 * Violated rules.
 */
violations: Array<Violation>,
/**
 * Violations that remain after corrections; equals `violations` if nothing was corrected.
 */
remaining: Array<Violation>,
/**
 * Violations of rules that only warn.
 */
warnings: Array<Violation>,
/**
 * Rules that could not be evaluated.
 */
unchecked: Array<Unchecked>,
/**
 * Corrections made.
 */
corrections: Array<Correction>,
/**
 * Line diff of the payload before and after the corrections; empty if nothing was corrected.
 */
diff: Array<DiffLine>,
/**
 * The result as text for a language model.
 */
feedback: string, };

/**
 * A violated rule.
 */
export type Violation = {
/**
 * Name of the rule.
 */
rule: string,
/**
 * Path in the payload, such as `$.nodes[2].url`.
 */
path: string,
/**
 * Description of the violation.
 */
message: string,
/**
 * How to repair the payload.
 */
repair: string,
/**
 * The value at `path`, as JSON; null if there is none.
 */
value: JsonValue,
/**
 * Start of the value in the sent text, in UTF-16 units.
 */
from: number | null,
/**
 * End of the value, in UTF-16 units.
 */
to: number | null,
/**
 * Explanation by the rule's own conditions, as lines of text.
 */
why: string | null, };

/**
 * A rule that could not be evaluated.
 */
export type Unchecked = {
/**
 * Name of the rule.
 */
rule: string,
/**
 * Path in the payload that the rule checks.
 */
path: string,
/**
 * Reason, as text.
 */
message: string, };

/**
 * A correction of a payload.
 */
export type Correction = {
/**
 * Kind of correction: `default`, `clamp` or `remove`.
 */
kind: string,
/**
 * Path in the payload.
 */
path: string, };

/**
 * A line of a diff.
 */
export type DiffLine = {
/**
 * Whether the line is in both texts or in one.
 */
kind: DiffKind,
/**
 * Text of the line.
 */
text: string, };

/**
 * Kind of a diff line.
 */
export type DiffKind = "same" | "removed" | "added";

/**
 * A run of a workflow, step by step. The map has the workflow's nodes and edges.
 */
export type WorkflowRun = {
/**
 * Name of the workflow.
 */
workflow: string,
/**
 * Steps of the run, in order; nodes that ran in parallel share a step.
 */
steps: Array<WorkflowStep>,
/**
 * Outputs of the final nodes, by node name.
 */
outputs: JsonValue,
/**
 * Nodes that failed.
 */
failures: Array<NodeFailure>,
/**
 * Nodes that still wait for inputs, as text.
 */
stalled: Array<string>,
/**
 * Whether the step limit ended the run.
 */
limit_hit: boolean,
/**
 * Node kinds that only an embedding program implements. Here such nodes return their input.
 */
stand_ins: Array<string>, };

/**
 * A step of a workflow run.
 */
export type WorkflowStep = {
/**
 * Nodes that ran.
 */
nodes: Array<string>,
/**
 * Deliveries of their outputs.
 */
deliveries: Array<WorkflowDelivery>,
/**
 * Decisions of their routers.
 */
decisions: Array<RouterDecision>, };

/**
 * A decision of a node's router, which can be opened and decided again on its own.
 */
export type RouterDecision = {
/**
 * Name of the node.
 */
node: string,
/**
 * Name of the router.
 */
router: string,
/**
 * The message of the decision, as JSON: the output and the candidate next nodes.
 */
message: string, };

/**
 * Delivery of an output to a node.
 */
export type WorkflowDelivery = {
/**
 * Node that produced the output.
 */
from: string,
/**
 * Node that receives the output.
 */
to: string,
/**
 * Whether the receiver then had all its inputs.
 */
ready: boolean,
/**
 * Whether the edge leads back to an earlier node.
 */
loop_back: boolean,
/**
 * How many times this run has taken this edge, this delivery included. Above 1 only in loops.
 */
round: number, };

/**
 * A node that failed.
 */
export type NodeFailure = {
/**
 * Name of the node.
 */
node: string,
/**
 * Error message.
 */
message: string, };

/**
 * Requests a `test` block for a message's decision.
 */
export type MakeTest = {
/**
 * Version of the rules.
 */
version: Version,
/**
 * Name of the entry that decides.
 */
entry: string,
/**
 * The message, as JSON.
 */
message: string,
/**
 * Name of the test; null lets the server choose.
 */
name: string | null,
/**
 * Statement that the test expects; null expects the chosen statement.
 */
expect: string | null,
/**
 * Replay row to use in place of `message`.
 */
row: MessageOf | null, };

/**
 * A generated `test` block.
 */
export type MadeTest = {
/**
 * Text of the block.
 */
block: string,
/**
 * File that the block belongs to: the main file.
 */
file: string,
/**
 * Text of that file in the requested version, with the block appended.
 */
text: string,
/**
 * Whether the test passes with these rules; the server ran it.
 */
passes: boolean, };

/**
 * Requests a replay of a file of messages or logged decisions.
 */
export type StartReplay = {
/**
 * Version of the rules that decides.
 */
version: Version,
/**
 * Id of the file.
 */
source: number,
/**
 * Name of the entry that decides messages; null means the routes outside any table. A line of
 * a log names its own entry.
 */
entry: string | null,
/**
 * Older version to compare with.
 */
against: Version | null, };

/**
 * A replay that was started.
 */
export type Started = {
/**
 * Id of the replay.
 */
id: number, };

/**
 * The state of a replay.
 */
export type ReplayState = "running" | "done" | "cancelled" | "failed";

/**
 * Progress event of a replay. The last event has a state other than `running`.
 */
export type Progress = {
/**
 * State of the replay.
 */
state: ReplayState,
/**
 * Number of bytes read.
 */
read: number,
/**
 * Size of the file in bytes.
 */
bytes: number,
/**
 * Number of messages decided.
 */
messages: number,
/**
 * Number of messages with a changed result, compared with the older version or the log.
 */
flipped: number, };

/**
 * Counts of a replay so far.
 */
export type ReplaySums = {
/**
 * Progress so far.
 */
progress: Progress,
/**
 * Name of the file.
 */
source: string,
/**
 * Whether the file is a decision log.
 */
is_log: boolean,
/**
 * Reason why the replay failed.
 */
failure: string | null,
/**
 * Number of lines that are not a message.
 */
refused: number,
/**
 * The first refused lines, with their errors.
 */
refusals: Array<LineMistake>,
/**
 * Number of log lines whose entry the rules do not have.
 */
foreign: number,
/**
 * Number of log lines without a message; they are counted but not decided.
 */
bare: number,
/**
 * Number of messages with values that the log masked.
 */
masked: number,
/**
 * Number of logged decisions for which these rules choose another statement.
 */
otherwise: number,
/**
 * Counts of the statements in tables that messages reach, most often chosen first.
 */
counts: Array<StatementCount>,
/**
 * Counts over time.
 */
timeline: Timeline,
/**
 * Changed results, by the statements before and after, most frequent first.
 */
flips: Array<Flip>,
/**
 * Whether the replay compares with the log or another version.
 */
compares: boolean,
/**
 * Time that the replay has taken so far, in milliseconds.
 */
elapsed_ms: number, };

/**
 * A line that is not a message.
 */
export type LineMistake = {
/**
 * Line number, from 1.
 */
line: number,
/**
 * Description of the error.
 */
message: string, };

/**
 * A statement with the number of messages that chose it.
 */
export type StatementCount = {
/**
 * Key of the statement, as in the map.
 */
key: string,
/**
 * Name of the table.
 */
table: string,
/**
 * Name of the statement; `default`, or `none` if nothing was chosen.
 */
name: string,
/**
 * Handler or other target.
 */
to: string,
/**
 * Number of messages.
 */
count: number,
/**
 * Number of messages according to the older version or the log.
 */
before: number | null,
/**
 * Reason why no message chose the statement; null if some did.
 */
never: string | null,
/**
 * Median time of the handler according to the log, in microseconds.
 */
median_us: number | null,
/**
 * Longest time of the handler according to the log, in microseconds.
 */
longest_us: number | null, };

/**
 * Counts over time, or over line numbers if the messages have no time.
 */
export type Timeline = {
/**
 * Whether the buckets are times; false if they are line numbers.
 */
by_time: boolean,
/**
 * Start of each bucket: milliseconds since 1970, or a line number.
 */
starts: Array<number>,
/**
 * End of the last bucket.
 */
end: number,
/**
 * One series for each of the most frequent statements; the key `*` sums the others.
 */
series: Array<Series>, };

/**
 * Counts of a statement over time.
 */
export type Series = {
/**
 * Key of the statement; `*` for all others.
 */
key: string,
/**
 * One count per bucket.
 */
counts: Array<number>, };

/**
 * A group of messages with a changed result.
 */
export type Flip = {
/**
 * Key of the statement before.
 */
before: string,
/**
 * Key of the statement after; equals `before` if only arguments or targets differ.
 */
after: string,
/**
 * Number of messages.
 */
count: number, };

/**
 * Requests rows of a replay.
 */
export type AskRows = {
/**
 * Only messages that choose this statement, by key.
 */
key: string | null,
/**
 * Only messages that chose this statement before, by key.
 */
before: string | null,
/**
 * Only messages with a changed result.
 */
flipped: boolean,
/**
 * Only lines that contain this text, ignoring case.
 */
text: string | null,
/**
 * Only messages from this time or line on, in the units of the timeline.
 */
since: number | null,
/**
 * Only messages before this time or line.
 */
until: number | null,
/**
 * Sort order.
 */
sort: RowSort,
/**
 * Whether the order is descending.
 */
descending: boolean,
/**
 * Index of the first row to return, from 0.
 */
offset: number,
/**
 * Maximum number of rows to return; at most 200.
 */
limit: number, };

/**
 * Sort order of rows.
 */
export type RowSort = "line" | "time" | "route" | "before" | "elapsed";

/**
 * Rows of a replay.
 */
export type Rows = {
/**
 * Number of rows that match the filter.
 */
total: number,
/**
 * The requested rows.
 */
rows: Array<Row>, };

/**
 * A row of a replay: one message.
 */
export type Row = {
/**
 * Line number, from 1; also identifies the row.
 */
line: number,
/**
 * Time of the message, in milliseconds since 1970.
 */
time: number | null,
/**
 * Name of the entry that decided.
 */
entry: string,
/**
 * Key of the chosen statement.
 */
key: string,
/**
 * Key of the statement chosen before: by the older version if given, otherwise by the log.
 */
before: string | null,
/**
 * Whether the result has changed.
 */
flipped: boolean,
/**
 * Time of the handler according to the log, in microseconds.
 */
elapsed_us: number | null,
/**
 * Start of the message as text, with private values masked.
 */
preview: string, };

/**
 * The message of a row, to open as a decision.
 */
export type RowMessage = {
/**
 * Name of the entry that decided.
 */
entry: string,
/**
 * The message as formatted JSON, with private values masked; null for a log line without a
 * message.
 */
message: string | null,
/**
 * The logged decision; null if the line is a message.
 */
logged: JsonValue, };

/**
 * The map of one version of the rules.
 */
export type Map = {
/**
 * Tables: routes, choices, routers, flows. Tables that no jump leads to come first.
 */
tables: Array<MapTable>,
/**
 * Workflows.
 */
workflows: Array<MapWorkflow>,
/**
 * Payload kinds, with their rules as routes.
 */
payloads: Array<MapTable>, };

/**
 * A table of statements.
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
 * Doc comment.
 */
docs: string,
/**
 * Whether a jump leads to the table.
 */
entered: boolean,
/**
 * Whether the table has an index; false if its statements are tried one by one.
 */
indexed: boolean,
/**
 * Statements in evaluation order, then the default, then disabled statements.
 */
routes: Array<MapRoute>, };

/**
 * A statement of a table.
 */
export type MapRoute = {
/**
 * Key of the statement in counts, rows and decisions.
 */
key: string,
/**
 * Name of the statement.
 */
name: string,
/**
 * Whether the statement is the default.
 */
is_default: boolean,
/**
 * Whether the statement is disabled.
 */
disabled: boolean,
/**
 * Priority.
 */
priority: number,
/**
 * The condition, as its author wrote it.
 */
condition: string,
/**
 * Doc comment.
 */
docs: string,
/**
 * Handler, branch, flow or next nodes.
 */
to: string,
/**
 * Table that the statement jumps to.
 */
goto: string | null,
/**
 * Access path of the statement.
 */
found: HowFound | null,
/**
 * Worst-case number of evaluation steps of the condition.
 */
steps: number,
/**
 * Findings of the analysis about the statement.
 */
findings: Array<MapFinding>,
/**
 * Source span.
 */
place: Place | null, };

/**
 * Access path: how the index finds a statement.
 */
export type HowFound = {
/**
 * Kind of access path: `key`, `bits` or `always`.
 */
by: string,
/**
 * The keys or bits, or the reason why the statement is always tried.
 */
what: string,
/**
 * Number of other statements that have the same keys.
 */
shared: number, };

/**
 * A finding about a statement.
 */
export type MapFinding = {
/**
 * Kind: `shadowed` if other statements hide this one, `unreachable` if it never matches, or
 * `other`.
 */
kind: FindingKind,
/**
 * Diagnostic code.
 */
code: string,
/**
 * Message text.
 */
message: string,
/**
 * Suggested correction.
 */
help: string | null, };

/**
 * Kind of a finding.
 */
export type FindingKind = "shadowed" | "unreachable" | "other";

/**
 * A span in a source file.
 */
export type Place = {
/**
 * File name.
 */
file: string,
/**
 * Line, from 1.
 */
line: number,
/**
 * Start offset, in UTF-16 units.
 */
from: number,
/**
 * End offset, in UTF-16 units.
 */
to: number, };

/**
 * A workflow.
 */
export type MapWorkflow = {
/**
 * Name of the workflow.
 */
name: string,
/**
 * Nodes; the first node is the start.
 */
nodes: Array<MapNode>,
/**
 * Edges.
 */
edges: Array<MapEdge>, };

/**
 * A node of a workflow.
 */
export type MapNode = {
/**
 * Id of the node.
 */
id: string,
/**
 * Kind of the node.
 */
kind: string,
/**
 * Whether the next nodes run in parallel.
 */
parallel: boolean,
/**
 * Router that chooses the next nodes.
 */
router: string | null, };

/**
 * An edge of a workflow.
 */
export type MapEdge = {
/**
 * Index of the node where the edge starts.
 */
from: number,
/**
 * Index of the node where the edge ends.
 */
to: number,
/**
 * Condition of the router for this edge.
 */
label: string,
/**
 * Whether the edge leads back to an earlier node.
 */
loop_back: boolean, };

/**
 * A table as a decision table: a row per route, a column per field.
 */
export type DecisionTable = {
/**
 * Name of the table.
 */
table: string,
/**
 * Columns; fields that the most rows test come first.
 */
columns: Array<Column>,
/**
 * Rows in evaluation order, the default last.
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
 * Whether some pairs of rows were not checked.
 */
more_overlaps: boolean, };

/**
 * A column of a decision table.
 */
export type Column = {
/**
 * Path of the field.
 */
field: string,
/**
 * Number of rows that test the field.
 */
rows: number, };

/**
 * A row of a decision table.
 */
export type TableRow = {
/**
 * Key of the statement.
 */
key: string,
/**
 * Name of the statement.
 */
name: string,
/**
 * One cell per column; null if the row does not test the field.
 */
cells: Array<string | null>,
/**
 * Subconditions on several fields.
 */
others: Array<string>,
/**
 * Target of the statement.
 */
to: string,
/**
 * Findings of the analysis about the statement.
 */
findings: Array<MapFinding>, };

/**
 * A set of messages that no row matches.
 */
export type Gap = {
/**
 * Description of the gap.
 */
message: string,
/**
 * Example message, as JSON.
 */
example: string | null, };

/**
 * Two rows that can match the same message.
 */
export type Overlap = {
/**
 * Key of the row that wins.
 */
first: string,
/**
 * Key of the other row.
 */
second: string,
/**
 * Example message that both rows match, as JSON.
 */
example: string,
/**
 * Whether the rows lead to different targets, so that the order matters.
 */
differs: boolean, };

/**
 * The text of a file.
 */
export type FileText = {
/**
 * File name.
 */
file: string,
/**
 * Text on disk.
 */
saved: string,
/**
 * Unsaved text in the editor; null if equal to the text on disk.
 */
draft: string | null,
/**
 * Fingerprint of the file on disk, to pass to [`Save`].
 */
stamp: string,
/**
 * Whether the file can be saved.
 */
writable: boolean, };

/**
 * Requests diagnostics for a text, and stores the text as the draft of its file.
 */
export type Check = {
/**
 * Id of the rule set.
 */
rules: number,
/**
 * File name.
 */
file: string,
/**
 * Text of the file; null discards the draft.
 */
text: string | null,
/**
 * Whether to include the slower findings about how rules interact.
 */
findings: boolean, };

/**
 * Analysis results of a text.
 */
export type Checked = {
/**
 * Errors and warnings in all files of the rule set.
 */
diagnostics: Array<Diagnostic>,
/**
 * Tokens to highlight, three numbers each: offset, length, and index into
 * [`Session::token_classes`](super::Session).
 */
tokens: Array<number>,
/**
 * Ranges that can be folded.
 */
folds: Array<Fold>,
/**
 * Inlay hints.
 */
hints: Array<Hint>,
/**
 * Results of the file's tests.
 */
tests: Array<TestRun>,
/**
 * Statements of the file.
 */
outline: Array<OutlineItem>,
/**
 * Whether the rule set compiles.
 */
compiles: boolean, };

/**
 * A diagnostic.
 */
export type Diagnostic = {
/**
 * File name.
 */
file: string,
/**
 * Line, from 1.
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
 * Severity: `error` or `warning`.
 */
severity: string,
/**
 * Diagnostic code.
 */
code: string,
/**
 * Message text.
 */
message: string,
/**
 * Suggested correction.
 */
help: string | null,
/**
 * Secondary spans with their own text.
 */
labels: Array<DiagnosticLabel>,
/**
 * Quick fixes that the author may choose.
 */
fixes: Array<Fix>, };

/**
 * A secondary span of a diagnostic.
 */
export type DiagnosticLabel = {
/**
 * The span.
 */
place: Place,
/**
 * Text of the label.
 */
text: string, };

/**
 * A quick fix.
 */
export type Fix = {
/**
 * Title, which describes the effect.
 */
title: string,
/**
 * Whether the fix keeps the author's meaning.
 */
safe: boolean,
/**
 * Edits, in text order.
 */
edits: Array<TextEdit>, };

/**
 * Replacement of one range.
 */
export type TextEdit = {
/**
 * File name.
 */
file: string,
/**
 * Start offset, in UTF-16 units.
 */
from: number,
/**
 * End offset, in UTF-16 units.
 */
to: number,
/**
 * Replacement text.
 */
text: string, };

/**
 * A range that can be folded.
 */
export type Fold = {
/**
 * Start offset, in UTF-16 units.
 */
from: number,
/**
 * End offset, in UTF-16 units.
 */
to: number, };

/**
 * An inlay hint: a short text shown after a position.
 */
export type Hint = {
/**
 * Position, in UTF-16 units.
 */
at: number,
/**
 * Text of the hint.
 */
text: string,
/**
 * Explanation of the hint.
 */
why: string, };

/**
 * Result of a test.
 */
export type TestRun = {
/**
 * Name of the test.
 */
name: string,
/**
 * Span of the test's name.
 */
place: Place | null,
/**
 * Whether the test passed.
 */
passed: boolean,
/**
 * Expected outcome.
 */
expected: string,
/**
 * Actual outcome.
 */
actual: string,
/**
 * Explanation of a failed test, as lines of text.
 */
why: string | null, };

/**
 * A statement in the outline of a file.
 */
export type OutlineItem = {
/**
 * Name of the statement.
 */
name: string,
/**
 * Kind, in one word.
 */
kind: string,
/**
 * Span of the name.
 */
place: Place,
/**
 * Nested statements.
 */
inner: Array<OutlineItem>, };

/**
 * Requests completion, hover or the definition at a position in the editor's text.
 */
export type At = {
/**
 * Id of the rule set.
 */
rules: number,
/**
 * File name.
 */
file: string,
/**
 * Text of the file, which becomes the draft.
 */
text: string,
/**
 * Position, in UTF-16 units.
 */
at: number, };

/**
 * Completions at a position.
 */
export type Completions = {
/**
 * Start of the range to replace, in UTF-16 units.
 */
from: number,
/**
 * End of the range to replace, in UTF-16 units.
 */
to: number,
/**
 * Completion items, most likely first.
 */
items: Array<CompletionItem>, };

/**
 * A completion item.
 */
export type CompletionItem = {
/**
 * Text to insert.
 */
label: string,
/**
 * Kind: `field`, `value`, `function`, `operator`, `keyword`, `type`, `handler` or `statement`.
 */
kind: string,
/**
 * Type or signature.
 */
detail: string,
/**
 * Documentation.
 */
docs: string, };

/**
 * Documentation of the item at a position.
 */
export type Hover = {
/**
 * Start of the documented range, in UTF-16 units.
 */
from: number,
/**
 * End of the documented range, in UTF-16 units.
 */
to: number,
/**
 * Declaration in rule syntax.
 */
code: string,
/**
 * Documentation text.
 */
text: string, };

/**
 * Requests the formatted form of a text.
 */
export type Format = {
/**
 * Text to format.
 */
text: string, };

/**
 * A formatted text.
 */
export type Formatted = {
/**
 * Formatted text; null if errors prevent formatting.
 */
text: string | null, };

/**
 * Requests that a text be saved.
 */
export type Save = {
/**
 * Id of the rule set.
 */
rules: number,
/**
 * File name.
 */
file: string,
/**
 * Text to write.
 */
text: string,
/**
 * Fingerprint of the file when the client read its text.
 */
stamp: string, };

/**
 * Result of saving.
 */
export type Saved = { "kind": "saved",
/**
 * New fingerprint of the file.
 */
stamp: string, } | { "kind": "changed",
/**
 * Text on disk.
 */
text: string,
/**
 * New fingerprint of the file; saving with this fingerprint overwrites the file.
 */
stamp: string,
/**
 * Line diff from the text on disk to the text to save.
 */
diff: Array<DiffLine>, };

/**
 * Documentation page of a diagnostic code.
 */
export type CodePage = {
/**
 * The code.
 */
code: string,
/**
 * The page, as Markdown.
 */
text: string, };

/**
 * Requests a report.
 */
export type AskReport = {
/**
 * Version of the rules.
 */
version: Version,
/**
 * Id of the replay whose counts to include.
 */
replay: number | null, };

/**
 * A report.
 */
export type Report = {
/**
 * Main file of the rules.
 */
name: string,
/**
 * Version of the program.
 */
version: string,
/**
 * Language of the report: `en` or `zh`.
 */
language: string,
/**
 * Summary numbers.
 */
summary: ReportSummary,
/**
 * The map.
 */
map: Map,
/**
 * The tables as decision tables.
 */
tables: Array<DecisionTable>,
/**
 * Coverage of routes and conditions.
 */
coverage: Array<CoverageItem>,
/**
 * Number of decisions that the coverage counts.
 */
covered_decisions: number,
/**
 * Whether the coverage comes from tests; false if it comes from a log or an input.
 */
covered_by_tests: boolean,
/**
 * Counts of the replay, if a log or an input was given.
 */
replay: ReplaySums | null,
/**
 * Slowest statements.
 */
slowest: Array<Slow>,
/**
 * Test results.
 */
tests: Array<TestRun>,
/**
 * Sample decisions with explanations.
 */
samples: Array<Sample>, };

/**
 * Summary numbers of a report.
 */
export type ReportSummary = {
/**
 * Number of files.
 */
files: number,
/**
 * Number of tables.
 */
tables: number,
/**
 * Number of statements.
 */
statements: number,
/**
 * Number of tests.
 */
tests: number,
/**
 * Number of failed tests.
 */
failed: number,
/**
 * Warnings and findings, as text.
 */
warnings: Array<string>,
/**
 * Number of statements that no message chose; null without a replay.
 */
never: number | null, };

/**
 * Coverage of a route or condition.
 */
export type CoverageItem = {
/**
 * Kind: `route`, `branch`, `case`, `pattern`, `default`, `rule` or `condition`.
 */
what: string,
/**
 * Name, or the source text of a condition.
 */
name: string,
/**
 * File name.
 */
file: string,
/**
 * Line, from 1.
 */
line: number,
/**
 * Number of evaluations.
 */
tried: number,
/**
 * Number of times true or chosen.
 */
yes: number,
/**
 * Number of times not true or not chosen.
 */
no: number,
/**
 * Description of the coverage gap.
 */
gap: string | null, };

/**
 * A slow statement.
 */
export type Slow = {
/**
 * Key of the statement.
 */
key: string,
/**
 * Name of the statement.
 */
name: string,
/**
 * Median time of the handler according to the log, in microseconds.
 */
median_us: number | null,
/**
 * Longest time of the handler according to the log, in microseconds.
 */
longest_us: number | null,
/**
 * Worst-case number of evaluation steps of the condition.
 */
steps: number, };

/**
 * A sample decision with its explanation.
 */
export type Sample = {
/**
 * Line of the message in the replayed file; null for a test's message.
 */
line: number | null,
/**
 * The message, with private values masked.
 */
message: JsonValue,
/**
 * Key of the chosen statement.
 */
key: string,
/**
 * Summary of the explanation, in a few lines.
 */
summary: string,
/**
 * Explanation, step by step.
 */
explanation: Explanation, };

export type JsonValue = number | string | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/**
 * The explanation of a decision.
 *
 * The JSON format is stable: fields are added but never renamed. Empty or absent fields are
 * omitted, except in the first two lines of the example.
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
 * A route that jumped has a `table` with the search of the target table. An operand has a `value`,
 * or `missing`, or `masked` with `•••` as its value. `length` is the full length of a truncated
 * value. The `elements` of a quantifier have `shown` (each with `index`, `element` and `when`),
 * `more` and `skipped`.
 */
export type Explanation = {
/**
 * The entry table of the decision.
 */
entry: string,
/**
 * The chosen route, or `default`; `None` if nothing was chosen.
 */
chosen: string | null,
/**
 * The chosen handler.
 */
target: string | null,
/**
 * The arguments of the handler; private values are masked.
 */
args: { [key in string]: JsonValue },
/**
 * The metadata of the handler.
 */
metadata: { [key in string]: JsonValue },
/**
 * The permissions that the handler requires.
 */
requires?: Array<string>,
/**
 * The tables from the entry to the one with the chosen statement.
 */
tables: Array<string>,
/**
 * The routes whose `goto` was taken, outermost first.
 */
path: Array<string>,
/**
 * Required arguments that are missing; they are null in `args`.
 */
missing_args?: Array<string>,
/**
 * The message fields that were read, with their values in the message.
 */
message?: Array<Operand>,
/**
 * The host functions that failed.
 */
host_failures?: Array<HostFailed>,
/**
 * The search, step by step.
 */
trace: TableTrace,
/**
 * The scores of the intent flows, if no keyword pattern matched.
 */
intents?: IntentTrace, };

/**
 * The result of a step.
 */
export type Mark = "true" | "false" | "unknown" | "skipped";

/**
 * The search of a table.
 */
export type TableTrace = {
/**
 * The name of the table.
 */
table: string,
/**
 * Whether the search chose a statement.
 */
chose: boolean,
/**
 * Whether the table was already searched in this decision. Such a table chose nothing and is
 * not searched again.
 */
searched_before?: boolean,
/**
 * The routes tried, in evaluation order.
 */
routes: Array<RouteTrace>,
/**
 * The number of routes after the chosen one.
 */
not_tried: number,
/**
 * The names of the disabled routes.
 */
disabled?: Array<string>,
/**
 * The default, if the table has one.
 */
default?: DefaultTrace, };

/**
 * A route that was tried.
 */
export type RouteTrace = {
/**
 * The name of the route.
 */
route: string,
/**
 * The result of the route's condition.
 */
result: Mark,
/**
 * Whether the route was chosen, or its `goto` led to the choice.
 */
chosen: boolean,
/**
 * The priority of the route.
 */
priority: number,
/**
 * The handler, or `goto TABLE`.
 */
to: string,
/**
 * The doc comment of the route.
 */
docs?: string,
/**
 * The source location of the route.
 */
place?: Location,
/**
 * The route's condition.
 */
when: TraceNode,
/**
 * The search of the target table, if the route is a `goto` that was taken.
 */
table?: TableTrace, };

/**
 * The default of a table.
 */
export type DefaultTrace = {
/**
 * `true` if the default was reached, otherwise `skipped`.
 */
result: Mark,
/**
 * The handler, or `goto TABLE`.
 */
to: string,
/**
 * The search of the target table, if the default is a `goto` that was taken.
 */
table?: TableTrace, };

/**
 * A location in a rules file, for people.
 */
export type Location = {
/**
 * The name of the file.
 */
file: string,
/**
 * The line, from 1.
 */
line: number,
/**
 * The column in characters, from 1.
 */
column: number, };

/**
 * The form of a condition node.
 */
export type NodeKind = "constant" | "not" | "unless" | "and" | "or" | "test" | "any" | "all" | "let" | "call" | "all_usable" | "any_usable";

/**
 * The reason why a node shows no details.
 */
export type Note = "decided" | "shown_above" | "left_out";

/**
 * A condition, or a part of one.
 */
export type TraceNode = {
/**
 * The form of the node.
 */
kind: NodeKind,
/**
 * The source text, on one line.
 */
text: string,
/**
 * The result of the node.
 */
result: Mark,
/**
 * The name of the `let` or `def`.
 */
name?: string,
/**
 * The source location of the node.
 */
place?: Location,
/**
 * The operands of a predicate with their values; for a quantifier, its list.
 */
operands?: Array<Operand>,
/**
 * The text that an operator found: the keyword of a list, or the match of a regular
 * expression.
 */
found?: string,
/**
 * Sentences that explain why a predicate is unknown.
 */
because?: Array<string>,
/**
 * The reason why the node shows no details.
 */
note?: Note,
/**
 * The parts of the node.
 */
children?: Array<TraceNode>,
/**
 * The elements of a quantifier.
 */
elements?: Elements, };

/**
 * A value that a predicate tested.
 */
export type Operand = {
/**
 * The path of a field, or the source text of a value.
 */
text: string,
/**
 * The value, truncated if it is long; `None` if missing.
 */
value?: JsonValue,
/**
 * Whether the value is missing, or counts as missing.
 */
missing?: boolean,
/**
 * Whether the value is private and masked.
 */
masked?: boolean,
/**
 * The full length of a truncated value, in characters, elements or keys.
 */
length?: number,
/**
 * The elements counted by `count x in L: C`.
 */
elements?: Elements, };

/**
 * The elements that a quantifier or `count` evaluated.
 */
export type Elements = {
/**
 * The first twenty evaluated elements (five in a nested quantifier), and the deciding element.
 */
shown: Array<ElementTrace>,
/**
 * The number of other evaluated elements.
 */
more: number,
/**
 * The number of elements skipped by short-circuiting.
 */
skipped: number, };

/**
 * One element of a quantifier.
 */
export type ElementTrace = {
/**
 * The index in the list, from 0.
 */
index: number,
/**
 * The element, under the name of the quantifier's variable.
 */
element: Operand,
/**
 * The quantifier's condition, evaluated on the element.
 */
when: TraceNode, };

/**
 * A host function that failed; its result counts as missing.
 */
export type HostFailed = {
/**
 * The function's name in the rules.
 */
function: string,
/**
 * The function's error message; masked if an argument was private.
 */
message: string, };

/**
 * The result of the built-in intent classifier.
 */
export type IntentTrace = {
/**
 * The lowest score of an intent that can be chosen.
 */
threshold: number,
/**
 * The lowest accepted difference to the second-best score.
 */
margin: number,
/**
 * The intent flows with the highest scores, best first.
 */
ranked: Array<RankedIntent>, };

/**
 * An intent flow with its score.
 */
export type RankedIntent = {
/**
 * The flow's name in the rules.
 */
name: string,
/**
 * The id that a decision returns.
 */
id: string,
/**
 * The score, from 0 to 1.
 */
score: number,
/**
 * Whether the flow was chosen.
 */
chosen: boolean, };
