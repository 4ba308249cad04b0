// State of a workflow's graph after some steps of a run.
import type { MapWorkflow, WorkflowRun } from '../../api/types';

export interface GraphState {
  /** How many times each node ran. */
  ran: Map<string, number>;
  /** Nodes of the latest step. */
  now: Set<string>;
  /** How many times each edge was taken, by `edgeName`. */
  taken: Map<string, number>;
  failed: Set<string>;
}

/** Returns the key of an edge between two nodes. */
export function edgeName(from: string, to: string): string {
  return JSON.stringify([from, to]);
}

/**
 * Returns the state after the first `count` steps. Parallel nodes are not part of any step. They
 * count as run when they received an output and one of their next nodes ran.
 */
export function stateAt(run: WorkflowRun, count: number, graph?: MapWorkflow): GraphState {
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
  for (const [from, node] of (graph?.nodes ?? []).entries()) {
    if (!node.parallel || ran.has(node.id)) continue;
    const sent = steps
      .flatMap((step) => step.deliveries)
      .filter((delivery) => delivery.to === node.id).length;
    const next = (graph?.edges ?? [])
      .filter((edge) => edge.from === from)
      .map((edge) => graph?.nodes[edge.to]?.id ?? '');
    const rounds = next.map((id) => Math.min(sent, ran.get(id) ?? 0));
    next.forEach((id, index) => taken.set(edgeName(node.id, id), rounds[index] ?? 0));
    if (Math.max(0, ...rounds) > 0) ran.set(node.id, Math.max(...rounds));
  }
  const failed = new Set(run.failures.map((failure) => failure.node).filter((node) => ran.has(node)));
  return { ran, now: new Set(steps.at(-1)?.nodes), taken, failed };
}
