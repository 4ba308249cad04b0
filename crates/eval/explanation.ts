// Written by `INSTA_UPDATE=always cargo test -p rulec-eval --lib types` from crates/eval/src; not to be edited.

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
