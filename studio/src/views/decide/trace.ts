// Computes from a trace which routes are shown, and the path from the message to the handler.
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

/** A step on the path from a message to its handler. */
export interface Stop {
  kind: 'table' | 'route' | 'handler' | 'nothing';
  name: string;
}

/** Returns the path of a decision: the tables and routes taken, and the final handler. */
export function way(explanation: Explanation): Stop[] {
  const stops: Stop[] = [];
  walk(explanation.trace, stops);
  if (explanation.target) stops.push({ kind: 'handler', name: explanation.target });
  else if (explanation.chosen === null) stops.push({ kind: 'nothing', name: '' });
  return stops;
}

function walk(table: TableTrace, stops: Stop[]): void {
  stops.push({ kind: 'table', name: table.table });
  const chosen = table.routes.find((route) => route.chosen);
  const fallback = table.default?.result === 'true' ? table.default : undefined;
  const inner = chosen?.table ?? fallback?.table;
  if (chosen) stops.push({ kind: 'route', name: chosen.route });
  else if (fallback) stops.push({ kind: 'route', name: 'default' });
  if (inner) walk(inner, stops);
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
