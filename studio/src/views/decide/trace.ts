// Computes from the trace of a decision which routes are shown, and the path from the message to
// the handler.
import type { Explanation, RouteTrace, TableTrace, TraceNode } from '../../api/types';

/** Consecutive routes: shown, or folded because none of them matched. */
export interface Run {
  folded: boolean;
  routes: RouteTrace[];
}

/** Maximum number of routes of a table that are shown without folding. */
const FEW = 12;
/** Number of routes before the chosen one that stay visible. */
const AROUND = 2;

/** Groups the routes of a table; long runs of routes that did not match are folded. */
export function runs(routes: readonly RouteTrace[]): Run[] {
  if (routes.length <= FEW) return [{ folded: false, routes: [...routes] }];
  const result: Run[] = [];
  routes.forEach((route, index) => {
    const near = routes.slice(index, index + AROUND + 1).some((other) => other.chosen || other.table);
    const folded = !near && index >= AROUND;
    const last = result.at(-1);
    if (last?.folded === folded) last.routes.push(route);
    else result.push({ folded, routes: [route] });
  });
  return result;
}

/** Returns the predicates of a condition, in source order. */
export function leaves(node: TraceNode): TraceNode[] {
  const children = node.children ?? [];
  return children.length === 0 ? [node] : children.flatMap(leaves);
}

/**
 * Returns the predicate that decided a condition which does not hold. A use of a `let` or `def` is
 * one predicate, because its own text has the arguments: `mentions(verbs)`.
 */
export function decisive(node: TraceNode): TraceNode | undefined {
  if (node.result === 'true' || node.result === 'skipped') return undefined;
  const joins = node.kind === 'and' || node.kind === 'or' || node.kind.endsWith('_usable');
  if (!joins) return node;
  for (const child of node.children ?? []) {
    const found = child.result === node.result ? decisive(child) : undefined;
    if (found) return found;
  }
  return node;
}

/** Returns the name of a target in a trace: of a flow, its id without the pattern. */
export function targetOf(to: string): string {
  return to.replace(/ \(".*$/s, '');
}

/** The kind of a table in a trace. */
export type TableKind = 'routes' | 'choice' | 'flows' | 'router' | 'payload';

export function kindOf(table: Pick<TableTrace, 'kind'>): TableKind {
  return (table.kind ?? 'routes') as TableKind;
}

/** A step on the path from a message to its target. */
export interface Stop {
  kind: 'table' | 'statement' | 'target' | 'nothing';
  /** Kind of the table that the step is in. */
  of: TableKind;
  name: string;
}

/** Returns the path of a decision: the tables and statements taken, and the target. */
export function way(explanation: Explanation): Stop[] {
  const stops: Stop[] = [];
  walk(explanation, explanation.trace, stops);
  return stops;
}

function walk(explanation: Explanation, table: TableTrace, stops: Stop[]): void {
  const of = kindOf(table);
  stops.push({ kind: 'table', of, name: table.table });
  const chosen = table.routes.find((route) => route.chosen);
  const fallback = table.default?.result === 'true' ? table.default : undefined;
  const intent = explanation.intents?.ranked.find((flow) => flow.chosen);
  const inner = chosen?.table ?? fallback?.table;
  if (chosen) stops.push({ kind: 'statement', of, name: chosen.route });
  else if (fallback) stops.push({ kind: 'statement', of, name: explanation.chosen ?? 'default' });
  else if (intent) stops.push({ kind: 'statement', of, name: intent.name });
  if (inner) return walk(explanation, inner, stops);
  // The branch of a choice has no target of its own: the branch is the answer.
  if (of === 'choice' && (chosen ?? fallback)) return;
  if (of === 'flows' && (chosen ?? intent)) {
    const id = intent?.id ?? targetOf(chosen?.to ?? '');
    if (id !== (intent?.name ?? chosen?.route)) stops.push({ kind: 'target', of, name: id });
    return;
  }
  const target = explanation.target ?? (of === 'router' ? (chosen?.to ?? fallback?.to ?? '') : '');
  stops.push({ kind: target ? 'target' : 'nothing', of, name: target });
}

/** Returns the keys of the statements on the path of a decision, as maps and tables use them. */
export function keysOf(explanation: Explanation): Set<string> {
  const keys = new Set<string>();
  let table = '';
  for (const stop of way(explanation)) {
    if (stop.kind === 'table') table = stop.name;
    if (stop.kind === 'statement') keys.add(`${table}/${stop.name}`);
  }
  return keys;
}

/** Returns the step of a path that names the answer: the target, or the branch of a choice. */
export function answerOf(explanation: Explanation): Stop {
  const stops = way(explanation);
  const last = stops.at(-1) ?? { kind: 'nothing', of: 'routes', name: '' };
  // The answer of flows is the name of the flow. Its id is meant for programs.
  const statement = stops.findLast((stop) => stop.kind === 'statement');
  if (last.of === 'flows' && statement) return statement;
  return last.kind === 'table' ? { ...last, kind: 'nothing', name: '' } : last;
}

/** Counts the results of all predicates in a trace. */
export function tally(table: TableTrace): Record<TraceNode['result'], number> {
  const counts = { true: 0, false: 0, unknown: 0, skipped: 0 };
  const visit = (each: TableTrace): void => {
    for (const route of each.routes) {
      for (const leaf of leaves(route.when)) counts[leaf.result] += 1;
      if (route.table) visit(route.table);
    }
    if (each.default?.table) visit(each.default.table);
  };
  visit(table);
  return counts;
}
