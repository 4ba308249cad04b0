// The state of a workflow's graph after some steps of a run.
import type { WorkflowRun } from '../../api/types';

export interface GraphState {
  /** How often each node ran. */
  ran: Map<string, number>;
  /** The nodes of the latest step. */
  now: Set<string>;
  /** How often each edge was taken, by `edgeName`. */
  taken: Map<string, number>;
  failed: Set<string>;
}

/** The name of an edge between two nodes. */
export function edgeName(from: string, to: string): string {
  return JSON.stringify([from, to]);
}

/** The state after the first `count` steps. */
export function stateAt(run: WorkflowRun, count: number): GraphState {
  const ran = new Map<string, number>();
  const taken = new Map<string, number>();
  const steps = run.steps.slice(0, count);
  for (const step of steps) {
    for (const node of step.nodes) ran.set(node, (ran.get(node) ?? 0) + 1);
    for (const { from, to } of step.deliveries) {
      const name = edgeName(from, to);
      taken.set(name, (taken.get(name) ?? 0) + 1);
    }
  }
  const failed = new Set(run.failures.map((failure) => failure.node).filter((node) => ran.has(node)));
  return { ran, now: new Set(steps.at(-1)?.nodes), taken, failed };
}
