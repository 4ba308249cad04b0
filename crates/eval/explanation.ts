// Written by `INSTA_UPDATE=always cargo test -p rulec-eval --lib types` from crates/eval/src; not to be edited.

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
