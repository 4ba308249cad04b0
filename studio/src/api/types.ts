// Written by `INSTA_UPDATE=always cargo test -p rulec-studio --lib types` from crates/studio/src/api; not to be edited.

export type JsonValue = number | string | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/**
 * The state of the studio when a page opens.
 */
export type Session = {
/**
 * The version of the program.
 */
version: string,
/**
 * True when values of `@private` fields are shown.
 */
show_private: boolean,
/**
 * `en` or `zh`, where the command line asks for one; the page may choose another.
 */
language: string | null,
/**
 * The rule sets, in the order of the command line; then those that were uploaded.
 */
rules: Array<RuleSet>,
/**
 * The files of messages and decisions that were named on the command line or uploaded.
 */
sources: Array<Source>,
/**
 * The classes of tokens, by which [`Checked::tokens`](super::Checked) names them.
 */
token_classes: Array<string>, };

/**
 * A rule set: a main file with all that it imports.
 */
export type RuleSet = {
/**
 * Its number, by which requests name it.
 */
id: number,
/**
 * Its main file, as it was named.
 */
name: string,
/**
 * Its files, the main one first.
 */
files: Array<string>,
/**
 * False for one that was uploaded: it cannot be saved.
 */
on_disk: boolean,
/**
 * True when it compiles as it is on disk.
 */
compiles: boolean,
/**
 * True when the editor holds texts that are not saved.
 */
has_draft: boolean, };

/**
 * A version of a rule set.
 */
export type Version = {
/**
 * The rule set.
 */
rules: number,
/**
 * True for the texts in the editor, false for those on disk.
 */
draft: boolean, };

/**
 * A file of messages or decisions.
 */
export type Source = {
/**
 * Its number, by which requests name it.
 */
id: number,
/**
 * Its name.
 */
name: string,
/**
 * Its size.
 */
bytes: number,
/**
 * `log` or `input` where it was named on the command line, else `upload`.
 */
from: string, };

/**
 * The things that can be asked of a version of a rule set.
 */
export type Overview = {
/**
 * The things that decide; empty while there are errors.
 */
entries: Array<EntryInfo>,
/**
 * The number of errors.
 */
errors: number,
/**
 * The first error, in words.
 */
first_error: string | null,
/**
 * The first message of a kind that the rules take: what a form begins with.
 */
example: unknown, };

/**
 * The kinds of things that decide.
 */
export type EntryKind = "routes" | "choice" | "flows" | "router" | "payload" | "workflow";

/**
 * Something that decides.
 */
export type EntryInfo = {
/**
 * Its name; `routes` for those outside any table.
 */
name: string,
/**
 * Its kind.
 */
kind: EntryKind,
/**
 * Its doc comment.
 */
docs: string,
/**
 * Its statements, in the order they are tried, `default` last.
 */
statements: Array<string>,
/**
 * The fields of what it decides on.
 */
fields: Array<FormField>, };

/**
 * A field of a form.
 */
export type FormField = {
/**
 * Its name in the record around it.
 */
name: string,
/**
 * Its type, as authors write it.
 */
ty: string,
/**
 * The control that fits it.
 */
control: Control,
/**
 * True when it may be missing.
 */
optional: boolean,
/**
 * True when its values are private.
 */
private: boolean,
/**
 * The fields of a record.
 */
fields: Array<FormField>,
/**
 * Values that rules compare it with, to choose from.
 */
suggestions: Array<string>, };

/**
 * The control of a form that fits a type.
 */
export type Control = "text" | "int" | "number" | "bool" | "datetime" | "texts" | "record" | "json";

/**
 * A message that is kept by name.
 */
export type KeptMessage = {
/**
 * Its name.
 */
name: string,
/**
 * The entry that it is for.
 */
entry: string,
/**
 * The message, as its author wrote it.
 */
message: string, };

/**
 * The messages that are kept for a rule set, in a file beside its main one.
 */
export type KeptMessages = {
/**
 * The file; none for rules that are not on disk.
 */
file: string | null,
/**
 * The state of the file, which [`KeepMessages`] names.
 */
stamp: string,
/**
 * The messages.
 */
messages: Array<KeptMessage>, };

/**
 * Asks that these messages be kept, in place of those that were.
 */
export type KeepMessages = {
/**
 * The rule set.
 */
rules: number,
/**
 * The state of the file that was read before; it is not written over where it has changed since.
 */
stamp: string,
/**
 * The messages.
 */
messages: Array<KeptMessage>, };

/**
 * Asks for a rule set made of a text, to compare with.
 */
export type UploadRules = {
/**
 * Its name.
 */
name: string,
/**
 * The text of its main file; it imports nothing.
 */
text: string, };

/**
 * The answer where a request cannot be served; its status is none of 200 to 299.
 */
export type Refusal = {
/**
 * A word for programs: `token`, `host`, `origin`, `missing`, `invalid`, `changed`, `errors`, `broken`.
 */
kind: string,
/**
 * The reason and the remedy, in words.
 */
message: string, };

/**
 * Asks for a decision.
 */
export type Decide = {
/**
 * The rules.
 */
version: Version,
/**
 * The name of what decides; a workflow too.
 */
entry: string,
/**
 * The message, the payload or the workflow's input: JSON as its author wrote it, so that mistakes in it have places.
 */
message: string,
/**
 * The context of a payload, as JSON: the values of the rules' `input`.
 */
context: string | null,
/**
 * The row of a replay that is decided in place of `message`: what is shown of it is masked, so it cannot be sent back.
 */
row: MessageOf | null, };

/**
 * A message of a replay, as it stands in the file.
 */
export type MessageOf = {
/**
 * The replay.
 */
replay: number,
/**
 * The number of the line.
 */
line: number, };

/**
 * A decision, or why there is none.
 */
export type Decided = { "kind": "decision" } & Decision | { "kind": "payload" } & Judged | { "kind": "workflow" } & WorkflowRun | { "kind": "refused" } & Mistake | { "kind": "broken",
/**
 * The first error, in words.
 */
error: string,
/**
 * The number of errors.
 */
errors: number, };

/**
 * A decision with its explanation.
 */
export type Decision = {
/**
 * The decision, as `rulec run` prints it, private values masked.
 */
decision: JsonValue,
/**
 * The key of the statement that was chosen, as the map has it; null where nothing was.
 */
key: string | null,
/**
 * The way there, step by step.
 */
explanation: Explanation,
/**
 * The explanation in a few lines.
 */
summary: string,
/**
 * The fields that are not what the rules expect.
 */
breaches: Array<Breach>,
/**
 * The conditions that a choice left out.
 */
left_out: Array<LeftOut>,
/**
 * The question to a language model, where a choice asks one.
 */
question: string | null,
/**
 * The reason why no answer of it is of use.
 */
question_failure: string | null,
/**
 * Names of functions of an embedding program, which are missing here.
 */
missing_functions: Array<string>, };

/**
 * A field of a message that is not what the rules expect.
 */
export type Breach = {
/**
 * The field.
 */
path: string,
/**
 * The type that is expected.
 */
expected: string,
/**
 * The type that is found, or `missing`.
 */
found: string,
/**
 * A likely cause.
 */
hint: string | null, };

/**
 * A condition that a choice left out.
 */
export type LeftOut = {
/**
 * The branch.
 */
branch: string,
/**
 * The condition, as its author wrote it.
 */
condition: string,
/**
 * The reason, in words.
 */
reason: string, };

/**
 * A mistake in the JSON of a message.
 */
export type Mistake = {
/**
 * The mistake, in words.
 */
message: string,
/**
 * The remedy.
 */
help: string | null,
/**
 * The code.
 */
code: string,
/**
 * The line, from 1.
 */
line: number,
/**
 * The column, from 1.
 */
column: number,
/**
 * The place in the text, in UTF-16 units.
 */
at: number,
/**
 * True when the mistake is in the context.
 */
in_context: boolean, };

/**
 * Asks which changes of the message would lead elsewhere. Answered by a list of [`Near`], nearest first.
 */
export type AskNear = {
/**
 * The rules.
 */
version: Version,
/**
 * The name of what decides.
 */
entry: string,
/**
 * The message, as JSON.
 */
message: string,
/**
 * The statement that it should lead to; null asks for those that come nearest.
 */
route: string | null,
/**
 * The row of a replay, in place of `message`.
 */
row: MessageOf | null, };

/**
 * The change of a message by which it would lead elsewhere.
 */
export type Near = {
/**
 * The statement.
 */
route: string,
/**
 * `chosen`, `change`, `never` or `unknown`.
 */
remedy: NearKind,
/**
 * The fields that would change.
 */
fields: Array<NearField>,
/**
 * The message as it would lead there, as JSON; null where it holds what is private.
 */
message: JsonValue,
/**
 * True when no change of fewer fields does.
 */
smallest: boolean, };

/**
 * The kind of a remedy.
 */
export type NearKind = "chosen" | "change" | "never" | "unknown";

/**
 * A field that would change.
 */
export type NearField = {
/**
 * The field.
 */
field: string,
/**
 * Its value; null where it is missing.
 */
is: JsonValue,
/**
 * A value that would do; null for none.
 */
would_be: JsonValue,
/**
 * The needs of the rules, in words.
 */
needs: Array<string>,
/**
 * True when its values are private.
 */
private: boolean, };

/**
 * The judgement of a payload.
 */
export type Judged = {
/**
 * `accept`, `accept_corrected` or `reject`.
 */
outcome: string,
/**
 * The kind to turn to instead.
 */
fallback: string | null,
/**
 * The rules that are broken.
 */
violations: Array<Violation>,
/**
 * The violations that corrections leave; as `violations` where nothing was corrected.
 */
remaining: Array<Violation>,
/**
 * The rules that only warn.
 */
warnings: Array<Violation>,
/**
 * The rules that could not be asked.
 */
unchecked: Array<Unchecked>,
/**
 * The corrections.
 */
corrections: Array<Correction>,
/**
 * The payload before and after the corrections, line by line; empty where nothing was corrected.
 */
diff: Array<DiffLine>,
/**
 * All of it as a text for a language model.
 */
feedback: string, };

/**
 * A broken rule.
 */
export type Violation = {
/**
 * The rule.
 */
rule: string,
/**
 * The place in the payload, such as `$.nodes[2].url`.
 */
path: string,
/**
 * The mistake.
 */
message: string,
/**
 * The repair.
 */
repair: string,
/**
 * The value there, as JSON; null where there is none.
 */
value: JsonValue,
/**
 * The place of that value in the text that was sent, in UTF-16 units.
 */
from: number | null,
/**
 * Its end.
 */
to: number | null,
/**
 * The reason in the rule's own conditions, in lines.
 */
why: string | null, };

/**
 * A rule that could not be asked.
 */
export type Unchecked = {
/**
 * The rule.
 */
rule: string,
/**
 * The place it would be about.
 */
path: string,
/**
 * The reason.
 */
message: string, };

/**
 * A correction of a payload.
 */
export type Correction = {
/**
 * `default`, `clamp` or `remove`.
 */
kind: string,
/**
 * The place.
 */
path: string, };

/**
 * A line of a difference.
 */
export type DiffLine = {
/**
 * The text or texts that have it.
 */
kind: DiffKind,
/**
 * The line.
 */
text: string, };

/**
 * The kind of a line of a difference.
 */
export type DiffKind = "same" | "removed" | "added";

/**
 * A run of a workflow, step by step. The map has its nodes and edges.
 */
export type WorkflowRun = {
/**
 * The workflow.
 */
workflow: string,
/**
 * The nodes that ran, in order; what runs side by side is one step.
 */
steps: Array<WorkflowStep>,
/**
 * The outputs of the nodes that end it, by name.
 */
outputs: JsonValue,
/**
 * The nodes that failed.
 */
failures: Array<NodeFailure>,
/**
 * The nodes that still wait, in words.
 */
stalled: Array<string>,
/**
 * True when it was ended by its step limit.
 */
limit_hit: boolean,
/**
 * The kinds of nodes that only an embedding program runs: they hand on their input here.
 */
stand_ins: Array<string>, };

/**
 * A step of a run.
 */
export type WorkflowStep = {
/**
 * The nodes that ran.
 */
nodes: Array<string>,
/**
 * The deliveries that followed.
 */
deliveries: Array<WorkflowDelivery>,
/**
 * The decisions of the routers of these nodes.
 */
decisions: Array<RouterDecision>, };

/**
 * A decision of a node's router in a run, which can be decided again by itself.
 */
export type RouterDecision = {
/**
 * The node.
 */
node: string,
/**
 * The router.
 */
router: string,
/**
 * The message that it decided on: the output and the next nodes, as JSON.
 */
message: string, };

/**
 * An output that went to a node.
 */
export type WorkflowDelivery = {
/**
 * From where.
 */
from: string,
/**
 * To where.
 */
to: string,
/**
 * True when the receiving node had all its inputs then.
 */
ready: boolean,
/**
 * True for a way back.
 */
loop_back: boolean,
/**
 * The time it was taken in this run, from 1: loops count.
 */
round: number, };

/**
 * A node that failed.
 */
export type NodeFailure = {
/**
 * The node.
 */
node: string,
/**
 * The failure, in words.
 */
message: string, };

/**
 * Asks for a decision as a `test` block of the rules.
 */
export type MakeTest = {
/**
 * The rules.
 */
version: Version,
/**
 * The name of what decides.
 */
entry: string,
/**
 * The message, as JSON.
 */
message: string,
/**
 * The name of the test; null leaves it to the server.
 */
name: string | null,
/**
 * The statement that the test is to expect; null for the one that is chosen.
 */
expect: string | null,
/**
 * The row of a replay, in place of `message`.
 */
row: MessageOf | null, };

/**
 * A `test` block.
 */
export type MadeTest = {
/**
 * The block.
 */
block: string,
/**
 * The file that it belongs to: the main one.
 */
file: string,
/**
 * That file's text, as of the version, with the block behind it.
 */
text: string,
/**
 * True when the test passes by these rules; it was run.
 */
passes: boolean, };

/**
 * An explanation, as [`rulec::Explanation`] serializes.
 */
export type Explanation = {
/**
 * The entry.
 */
entry: string,
/**
 * The chosen statement; null where nothing was chosen.
 */
chosen: string | null,
/**
 * The chosen handler.
 */
target: string | null,
/**
 * Its arguments.
 */
args: { [key in string]: JsonValue },
/**
 * Its metadata.
 */
metadata: { [key in string]: JsonValue },
/**
 * The permissions that it requires.
 */
requires?: Array<string>,
/**
 * The tables walked through.
 */
tables: Array<string>,
/**
 * The routes whose jumps were taken.
 */
path: Array<string>,
/**
 * Required arguments that are missing.
 */
missing_args?: Array<string>,
/**
 * The fields that were read.
 */
message?: Array<Operand>,
/**
 * Host functions that failed.
 */
host_failures?: Array<HostFailed>,
/**
 * The search.
 */
trace: TableTrace,
/**
 * The intent flows that were asked.
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
 * Its name.
 */
table: string,
/**
 * True when it chose something.
 */
chose: boolean,
/**
 * True when it was searched before.
 */
searched_before?: boolean,
/**
 * The routes tried, in that order.
 */
routes: Array<RouteTrace>,
/**
 * The number of routes behind the chosen one.
 */
not_tried: number,
/**
 * The names of disabled routes.
 */
disabled?: Array<string>,
/**
 * The default.
 */
default?: DefaultTrace, };

/**
 * A route that was tried.
 */
export type RouteTrace = {
/**
 * Its name.
 */
route: string,
/**
 * The result of its condition.
 */
result: Mark,
/**
 * True when it was chosen, or led to the choice.
 */
chosen: boolean,
/**
 * Its priority.
 */
priority: number,
/**
 * Its handler, or `goto TABLE`.
 */
to: string,
/**
 * Its doc comment.
 */
docs?: string,
/**
 * The place it is written at.
 */
place?: Location,
/**
 * Its condition.
 */
when: TraceNode,
/**
 * The search of the table it jumped to.
 */
table?: TableTrace, };

/**
 * A table's default.
 */
export type DefaultTrace = {
/**
 * `true` when it was reached.
 */
result: Mark,
/**
 * Its handler, or `goto TABLE`.
 */
to: string,
/**
 * The search of the table it jumped to.
 */
table?: TableTrace, };

/**
 * A place in a file: line and column from 1.
 */
export type Location = {
/**
 * The file.
 */
file: string,
/**
 * The line.
 */
line: number,
/**
 * The column.
 */
column: number, };

/**
 * The form of a node.
 */
export type NodeKind = "constant" | "not" | "unless" | "and" | "or" | "test" | "any" | "all" | "let" | "call" | "all_usable" | "any_usable";

/**
 * The reason why a node has no more to show.
 */
export type Note = "decided" | "shown_above" | "left_out";

/**
 * A condition, or a part of one.
 */
export type TraceNode = {
/**
 * The form.
 */
kind: NodeKind,
/**
 * The author's own text.
 */
text: string,
/**
 * The result.
 */
result: Mark,
/**
 * The name of the `let` or `def`.
 */
name?: string,
/**
 * The place it is written at.
 */
place?: Location,
/**
 * The values it was asked of.
 */
operands?: Array<Operand>,
/**
 * The text that an operator found.
 */
found?: string,
/**
 * The reasons why it is unknown.
 */
because?: Array<string>,
/**
 * The reason why there is no more to show.
 */
note?: Note,
/**
 * Its parts.
 */
children?: Array<TraceNode>,
/**
 * The elements of a quantifier.
 */
elements?: Elements, };

/**
 * A value that a predicate was asked of.
 */
export type Operand = {
/**
 * The field, or the author's text of the value.
 */
text: string,
/**
 * The value.
 */
value?: JsonValue,
/**
 * True when it is missing.
 */
missing?: boolean,
/**
 * True when it is private and not shown.
 */
masked?: boolean,
/**
 * The full length of a value that was cut.
 */
length?: number,
/**
 * The elements counted.
 */
elements?: Elements, };

/**
 * The elements that a quantifier asked.
 */
export type Elements = {
/**
 * Those that are shown.
 */
shown: Array<ElementTrace>,
/**
 * The number of others.
 */
more: number,
/**
 * The number of those not asked.
 */
skipped: number, };

/**
 * One element of a quantifier.
 */
export type ElementTrace = {
/**
 * Its place in the list.
 */
index: number,
/**
 * The element.
 */
element: Operand,
/**
 * The condition on it.
 */
when: TraceNode, };

/**
 * A host function that failed.
 */
export type HostFailed = {
/**
 * Its name.
 */
function: string,
/**
 * Its own message.
 */
message: string, };

/**
 * The answer of the built-in classifier.
 */
export type IntentTrace = {
/**
 * The least score that is chosen.
 */
threshold: number,
/**
 * The least lead over the second.
 */
margin: number,
/**
 * The flows that came nearest, best first.
 */
ranked: Array<RankedIntent>, };

/**
 * An intent flow with its score.
 */
export type RankedIntent = {
/**
 * Its name.
 */
name: string,
/**
 * Its id.
 */
id: string,
/**
 * From 0 to 1.
 */
score: number,
/**
 * True when it was chosen.
 */
chosen: boolean, };

/**
 * Asks that a file of messages or decisions be replayed.
 */
export type StartReplay = {
/**
 * The rules.
 */
version: Version,
/**
 * The file.
 */
source: number,
/**
 * The name of what decides messages; null for the routes outside any table. Lines of a log say themselves what decided them.
 */
entry: string | null,
/**
 * The version to compare with: the one before.
 */
against: Version | null, };

/**
 * The replay that was begun.
 */
export type Started = {
/**
 * Its number.
 */
id: number, };

/**
 * The state of a replay.
 */
export type ReplayState = "running" | "done" | "cancelled" | "failed";

/**
 * The progress of a replay: an event of the stream. The last one has another state than `running`.
 */
export type Progress = {
/**
 * The state.
 */
state: ReplayState,
/**
 * The bytes that were read.
 */
read: number,
/**
 * The bytes of the file.
 */
bytes: number,
/**
 * The messages that were decided.
 */
messages: number,
/**
 * The messages that are answered otherwise than by the version before.
 */
flipped: number, };

/**
 * The sums of a replay, as far as it has come.
 */
export type ReplaySums = {
/**
 * The progress so far.
 */
progress: Progress,
/**
 * The file's name.
 */
source: string,
/**
 * True when the file is a decision log.
 */
is_log: boolean,
/**
 * The reason why it failed.
 */
failure: string | null,
/**
 * The lines that are no message; the first of them are told.
 */
refused: number,
/**
 * The first lines that were refused, in words.
 */
refusals: Array<LineMistake>,
/**
 * Lines of a log that are of another entry than the rules have.
 */
foreign: number,
/**
 * Lines of a log without a message: counted, not decided.
 */
bare: number,
/**
 * Messages with values that a log has masked.
 */
masked: number,
/**
 * Decisions of a log that these rules make otherwise.
 */
otherwise: number,
/**
 * Every statement with its count, most often chosen first; those that never are last.
 */
counts: Array<StatementCount>,
/**
 * The counts over time.
 */
timeline: Timeline,
/**
 * Messages that are answered otherwise, by where they went before and after, most first.
 */
flips: Array<Flip>,
/**
 * True when it compares with another version.
 */
compares: boolean,
/**
 * The milliseconds that it took so far.
 */
elapsed_ms: number, };

/**
 * A line that is no message.
 */
export type LineMistake = {
/**
 * Its number, from 1.
 */
line: number,
/**
 * The mistake.
 */
message: string, };

/**
 * A statement with the number of messages that it took.
 */
export type StatementCount = {
/**
 * Its key, as the map has it.
 */
key: string,
/**
 * Its table.
 */
table: string,
/**
 * Its name; `default`, or `none` where nothing was chosen.
 */
name: string,
/**
 * Its handler, or where it leads.
 */
to: string,
/**
 * The messages.
 */
count: number,
/**
 * The messages by the version before.
 */
before: number | null,
/**
 * The reason why it never takes any, where it does not.
 */
never: string | null,
/**
 * The microseconds that its handler took, half of the times at most, by a log.
 */
median_us: number | null,
/**
 * The longest.
 */
longest_us: number | null, };

/**
 * Counts over time, or over the lines of a file that knows no time.
 */
export type Timeline = {
/**
 * True when the buckets are times, false when they are lines.
 */
by_time: boolean,
/**
 * The beginning of each bucket: milliseconds since 1970, or a line number.
 */
starts: Array<number>,
/**
 * The end of the last bucket.
 */
end: number,
/**
 * The statements that took most, and the counts of each in the buckets; the others are summed under the key `*`.
 */
series: Array<Series>, };

/**
 * The counts of a statement over time.
 */
export type Series = {
/**
 * The statement's key; `*` for all others.
 */
key: string,
/**
 * A count for each bucket.
 */
counts: Array<number>, };

/**
 * Messages that are answered otherwise.
 */
export type Flip = {
/**
 * The key of the statement before.
 */
before: string,
/**
 * The key of the statement after; the same where only arguments or targets differ.
 */
after: string,
/**
 * The messages.
 */
count: number, };

/**
 * Asks for rows of a replay.
 */
export type AskRows = {
/**
 * Only messages that this statement takes, by its key.
 */
key: string | null,
/**
 * Only messages that this statement took before, by its key.
 */
before: string | null,
/**
 * Only messages that are answered otherwise.
 */
flipped: boolean,
/**
 * Only lines that hold this text, in any case.
 */
text: string | null,
/**
 * Only messages of this time or line on, as the timeline counts.
 */
since: number | null,
/**
 * Only messages before this time or line.
 */
until: number | null,
/**
 * The order.
 */
sort: RowSort,
/**
 * True for the last ones first.
 */
descending: boolean,
/**
 * The first row that is wanted, from 0.
 */
offset: number,
/**
 * The most rows that are wanted; 200 at most.
 */
limit: number, };

/**
 * The order of rows.
 */
export type RowSort = "line" | "time" | "route" | "before" | "elapsed";

/**
 * Rows of a replay.
 */
export type Rows = {
/**
 * The rows that the filter leaves, all in all.
 */
total: number,
/**
 * The rows that were asked for.
 */
rows: Array<Row>, };

/**
 * A message of a replay.
 */
export type Row = {
/**
 * The number of its line, from 1; it also names the row.
 */
line: number,
/**
 * Its time, in milliseconds since 1970.
 */
time: number | null,
/**
 * The entry that decided.
 */
entry: string,
/**
 * The statement that takes it, by its key.
 */
key: string,
/**
 * The statement that took it before: by the version before, or else by the log.
 */
before: string | null,
/**
 * True when it is answered otherwise.
 */
flipped: boolean,
/**
 * The microseconds that the handler took, by a log.
 */
elapsed_us: number | null,
/**
 * The beginning of the message, private values masked, to show in a table.
 */
preview: string, };

/**
 * The message of a row, to open it as a decision.
 */
export type RowMessage = {
/**
 * The entry that decided.
 */
entry: string,
/**
 * The message as JSON, laid out; private values masked. Null for a line of a log that holds none.
 */
message: string | null,
/**
 * The line as the log has it, where it is one.
 */
logged: JsonValue, };

/**
 * The map of a version of rules.
 */
export type Map = {
/**
 * The tables: routes, choices, routers, flows. Those that no jump leads to come first.
 */
tables: Array<MapTable>,
/**
 * The workflows.
 */
workflows: Array<MapWorkflow>,
/**
 * The payload kinds, with their rules as routes.
 */
payloads: Array<MapTable>, };

/**
 * A table of statements.
 */
export type MapTable = {
/**
 * Its name; `routes` for those outside any table.
 */
name: string,
/**
 * Its kind.
 */
kind: EntryKind,
/**
 * Its doc comment.
 */
docs: string,
/**
 * True when a jump leads to it.
 */
entered: boolean,
/**
 * True when an index finds its statements, false when they are tried one by one.
 */
indexed: boolean,
/**
 * Its statements in the order they are tried; the default last, disabled ones behind it.
 */
routes: Array<MapRoute>, };

/**
 * A statement of a table.
 */
export type MapRoute = {
/**
 * The key by which counts, rows and decisions name it.
 */
key: string,
/**
 * Its name.
 */
name: string,
/**
 * True for the default.
 */
is_default: boolean,
/**
 * True when it is disabled.
 */
disabled: boolean,
/**
 * Its priority.
 */
priority: number,
/**
 * Its condition, as its author wrote it.
 */
condition: string,
/**
 * Its doc comment.
 */
docs: string,
/**
 * Its handler, branch, flow or next nodes.
 */
to: string,
/**
 * The table that it jumps to.
 */
goto: string | null,
/**
 * The way it is found.
 */
found: HowFound | null,
/**
 * The worst-case steps of its condition.
 */
steps: number,
/**
 * The findings of the analysis about it.
 */
findings: Array<MapFinding>,
/**
 * The place it is written at.
 */
place: Place | null, };

/**
 * The way a statement is found for a message.
 */
export type HowFound = {
/**
 * `key`, `bits` or `always`.
 */
by: string,
/**
 * The keys or bits, or the reason why it is always tried.
 */
what: string,
/**
 * The number of other statements that the keys lead to.
 */
shared: number, };

/**
 * A finding about a statement.
 */
export type MapFinding = {
/**
 * `shadowed` for a statement that others hide, `unreachable` for one that never holds, `other`.
 */
kind: FindingKind,
/**
 * The code.
 */
code: string,
/**
 * The finding, in words.
 */
message: string,
/**
 * The remedy.
 */
help: string | null, };

/**
 * The kind of a finding.
 */
export type FindingKind = "shadowed" | "unreachable" | "other";

/**
 * A place in a file of the rules, in UTF-16 units.
 */
export type Place = {
/**
 * The file.
 */
file: string,
/**
 * The line, from 1.
 */
line: number,
/**
 * The beginning.
 */
from: number,
/**
 * The end.
 */
to: number, };

/**
 * A workflow.
 */
export type MapWorkflow = {
/**
 * Its name.
 */
name: string,
/**
 * Its nodes; the first one begins.
 */
nodes: Array<MapNode>,
/**
 * Its edges.
 */
edges: Array<MapEdge>, };

/**
 * A node of a workflow.
 */
export type MapNode = {
/**
 * Its id.
 */
id: string,
/**
 * Its kind.
 */
kind: string,
/**
 * True when it runs its next nodes side by side.
 */
parallel: boolean,
/**
 * The router that chooses what is next.
 */
router: string | null, };

/**
 * An edge of a workflow.
 */
export type MapEdge = {
/**
 * From which node, by its place in the list.
 */
from: number,
/**
 * To which node.
 */
to: number,
/**
 * The condition of a router that chooses it.
 */
label: string,
/**
 * True for a way back.
 */
loop_back: boolean, };

/**
 * A table of routes as a decision table: a row a route, a column a field.
 */
export type DecisionTable = {
/**
 * The table's name.
 */
table: string,
/**
 * The fields, those that most rows name first.
 */
columns: Array<Column>,
/**
 * The rows, in the order they are tried, the default last.
 */
rows: Array<TableRow>,
/**
 * Messages that no row takes.
 */
gaps: Array<Gap>,
/**
 * Rows that may hold together.
 */
overlaps: Array<Overlap>,
/**
 * True when not every pair of rows could be looked at.
 */
more_overlaps: boolean, };

/**
 * A column.
 */
export type Column = {
/**
 * The field.
 */
field: string,
/**
 * The rows that name it.
 */
rows: number, };

/**
 * A row.
 */
export type TableRow = {
/**
 * The statement's key.
 */
key: string,
/**
 * Its name.
 */
name: string,
/**
 * A cell for each column; null where it does not ask about the field.
 */
cells: Array<string | null>,
/**
 * The parts of the condition that are about several fields.
 */
others: Array<string>,
/**
 * The place it leads to.
 */
to: string,
/**
 * The findings of the analysis about it.
 */
findings: Array<MapFinding>, };

/**
 * Messages that no row takes.
 */
export type Gap = {
/**
 * In words.
 */
message: string,
/**
 * Such a message, as JSON.
 */
example: string | null, };

/**
 * Two rows that may hold together.
 */
export type Overlap = {
/**
 * The key of the row that wins.
 */
first: string,
/**
 * The key of the other.
 */
second: string,
/**
 * A message that both hold for, as JSON.
 */
example: string,
/**
 * True when they lead elsewhere: the order decides.
 */
differs: boolean, };

/**
 * The text of a file.
 */
export type FileText = {
/**
 * The file.
 */
file: string,
/**
 * The text as it is on disk.
 */
saved: string,
/**
 * The text in the editor, where it is another.
 */
draft: string | null,
/**
 * The state of the file on disk, which [`Save`] names.
 */
stamp: string,
/**
 * True when it can be saved.
 */
writable: boolean, };

/**
 * Asks what is wrong with a text, which becomes the draft of its file.
 */
export type Check = {
/**
 * The rule set.
 */
rules: number,
/**
 * The file.
 */
file: string,
/**
 * Its text; null takes the draft back.
 */
text: string | null,
/**
 * True for the slower findings too: what rules do to each other.
 */
findings: boolean, };

/**
 * All that is known of a text as it is.
 */
export type Checked = {
/**
 * Errors and warnings of all files of the rule set.
 */
diagnostics: Array<Diagnostic>,
/**
 * The tokens that have a colour: three numbers each, where it begins, its length, and its class by
 * [`Session::token_classes`](super::Session).
 */
tokens: Array<number>,
/**
 * The parts that can be folded.
 */
folds: Array<Fold>,
/**
 * Words between the author's.
 */
hints: Array<Hint>,
/**
 * The tests of the file, which were run.
 */
tests: Array<TestRun>,
/**
 * The statements of the file.
 */
outline: Array<OutlineItem>,
/**
 * True when the rule set compiles.
 */
compiles: boolean, };

/**
 * A finding.
 */
export type Diagnostic = {
/**
 * The file.
 */
file: string,
/**
 * The line, from 1.
 */
line: number,
/**
 * The beginning of what it is about.
 */
from: number,
/**
 * Its end.
 */
to: number,
/**
 * `error` or `warning`.
 */
severity: string,
/**
 * The code.
 */
code: string,
/**
 * In words.
 */
message: string,
/**
 * The remedy.
 */
help: string | null,
/**
 * Other places with words of their own.
 */
labels: Array<DiagnosticLabel>,
/**
 * The edits that an author may choose.
 */
fixes: Array<Fix>, };

/**
 * Another place that a finding is about.
 */
export type DiagnosticLabel = {
/**
 * The place.
 */
place: Place,
/**
 * The words.
 */
text: string, };

/**
 * An offer to repair.
 */
export type Fix = {
/**
 * Its effect.
 */
title: string,
/**
 * True when it keeps the author's meaning.
 */
safe: boolean,
/**
 * The edits, in the order of the text.
 */
edits: Array<TextEdit>, };

/**
 * An edit of one place.
 */
export type TextEdit = {
/**
 * The file.
 */
file: string,
/**
 * The beginning.
 */
from: number,
/**
 * The end.
 */
to: number,
/**
 * The new text.
 */
text: string, };

/**
 * A part that can be folded.
 */
export type Fold = {
/**
 * The beginning.
 */
from: number,
/**
 * The end.
 */
to: number, };

/**
 * A few words behind a place.
 */
export type Hint = {
/**
 * The place.
 */
at: number,
/**
 * The words.
 */
text: string,
/**
 * Their meaning.
 */
why: string, };

/**
 * A test that was run.
 */
export type TestRun = {
/**
 * Its name.
 */
name: string,
/**
 * The place of its name.
 */
place: Place | null,
/**
 * True when it passed.
 */
passed: boolean,
/**
 * The outcome that was expected.
 */
expected: string,
/**
 * The outcome that came.
 */
actual: string,
/**
 * The way to it, in lines, where it failed.
 */
why: string | null, };

/**
 * A statement of a file.
 */
export type OutlineItem = {
/**
 * Its name.
 */
name: string,
/**
 * Its kind, in a word.
 */
kind: string,
/**
 * The place of its name.
 */
place: Place,
/**
 * The statements in it.
 */
inner: Array<OutlineItem>, };

/**
 * A place in a text as the editor has it: asks what may stand there, what does, or where it is declared.
 */
export type At = {
/**
 * The rule set.
 */
rules: number,
/**
 * The file.
 */
file: string,
/**
 * Its text; it becomes the draft.
 */
text: string,
/**
 * The place.
 */
at: number, };

/**
 * The words that may stand at a place.
 */
export type Completions = {
/**
 * The beginning of what they replace.
 */
from: number,
/**
 * Its end.
 */
to: number,
/**
 * The words, the likeliest first.
 */
items: Array<CompletionItem>, };

/**
 * A word that may stand at a place.
 */
export type CompletionItem = {
/**
 * The word.
 */
label: string,
/**
 * `field`, `value`, `function`, `operator`, `keyword`, `type`, `handler` or `statement`.
 */
kind: string,
/**
 * Its type or signature.
 */
detail: string,
/**
 * Its documentation.
 */
docs: string, };

/**
 * The words about what stands at a place.
 */
export type Hover = {
/**
 * The beginning of what they are about.
 */
from: number,
/**
 * Its end.
 */
to: number,
/**
 * As the language writes it.
 */
code: string,
/**
 * In words.
 */
text: string, };

/**
 * Asks for the layout of a text.
 */
export type Format = {
/**
 * The text.
 */
text: string, };

/**
 * A text laid out.
 */
export type Formatted = {
/**
 * The text; null where mistakes in it stand in the way.
 */
text: string | null, };

/**
 * Asks that a text be written to its file.
 */
export type Save = {
/**
 * The rule set.
 */
rules: number,
/**
 * The file.
 */
file: string,
/**
 * The text.
 */
text: string,
/**
 * The state of the file that the text was made from.
 */
stamp: string, };

/**
 * The end of saving.
 */
export type Saved = { "kind": "saved",
/**
 * The state of the file now.
 */
stamp: string, } | { "kind": "changed",
/**
 * The text on disk.
 */
text: string,
/**
 * The state of the file now; saving with it writes over what is there.
 */
stamp: string,
/**
 * The difference from the text on disk to the one that was to be saved.
 */
diff: Array<DiffLine>, };

/**
 * The page of a code.
 */
export type CodePage = {
/**
 * The code.
 */
code: string,
/**
 * Its page, as Markdown.
 */
text: string, };

/**
 * Asks for a report.
 */
export type AskReport = {
/**
 * The rules.
 */
version: Version,
/**
 * The replay whose counts it has.
 */
replay: number | null, };

/**
 * A report.
 */
export type Report = {
/**
 * The main file of the rules.
 */
name: string,
/**
 * The version of the program.
 */
version: string,
/**
 * `en` or `zh`, as whoever asked for it reads.
 */
language: string,
/**
 * The numbers that one looks at first.
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
 * The routes and conditions, with what was seen of them.
 */
coverage: Array<CoverageItem>,
/**
 * The number of decisions that coverage was counted over.
 */
covered_decisions: number,
/**
 * True when those are tests, false when they are messages of a log or an input.
 */
covered_by_tests: boolean,
/**
 * The counts, where a log or an input was given.
 */
replay: ReplaySums | null,
/**
 * The slowest statements.
 */
slowest: Array<Slow>,
/**
 * The tests.
 */
tests: Array<TestRun>,
/**
 * Decisions with their explanation.
 */
samples: Array<Sample>, };

/**
 * The numbers of a report.
 */
export type ReportSummary = {
/**
 * The files.
 */
files: number,
/**
 * The tables.
 */
tables: number,
/**
 * The statements.
 */
statements: number,
/**
 * The tests.
 */
tests: number,
/**
 * The tests that failed.
 */
failed: number,
/**
 * The warnings and findings, in words.
 */
warnings: Array<string>,
/**
 * The statements that never took a message; null where none were given.
 */
never: number | null, };

/**
 * A route or condition, with what was seen of it.
 */
export type CoverageItem = {
/**
 * `route`, `branch`, `case`, `pattern`, `default`, `rule` or `condition`.
 */
what: string,
/**
 * Its name; of a condition the author's text.
 */
name: string,
/**
 * The file.
 */
file: string,
/**
 * The line, from 1.
 */
line: number,
/**
 * The times it was tried.
 */
tried: number,
/**
 * The times it held or was chosen.
 */
yes: number,
/**
 * The times it did not.
 */
no: number,
/**
 * The gap, in words.
 */
gap: string | null, };

/**
 * A statement that takes long.
 */
export type Slow = {
/**
 * Its key.
 */
key: string,
/**
 * Its name.
 */
name: string,
/**
 * The microseconds that its handler took, half of the times at most, by a log.
 */
median_us: number | null,
/**
 * The longest.
 */
longest_us: number | null,
/**
 * The worst-case steps of its condition.
 */
steps: number, };

/**
 * A decision with its explanation.
 */
export type Sample = {
/**
 * The line of the file it is from.
 */
line: number | null,
/**
 * The message, private values masked.
 */
message: JsonValue,
/**
 * The key of the statement that takes it.
 */
key: string,
/**
 * The explanation in a few lines.
 */
summary: string,
/**
 * The way there, step by step.
 */
explanation: Explanation, };
