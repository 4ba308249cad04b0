// A workflow as a graph. Nodes that ran are filled and show a count; nodes of the latest step have
// a thick frame. Edges that lead back are dashed.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { MapWorkflow } from '../api/types';
import { t } from '../i18n';
import { type Arrow, type Box, place, smooth } from './layout';
import { ZoomBox } from './ZoomBox';

export interface Lights {
  ran: Map<string, number>;
  now: Set<string>;
  taken: Map<string, number>;
  failed: Set<string>;
}

const HEIGHT = 46;

/** Returns a width that fits a name; East Asian characters are twice as wide. */
function widthOf(text: string): number {
  const wide = text.match(/[\u2e80-\uffff]/g)?.length ?? 0;
  return Math.min(240, Math.max(96, 30 + 8.2 * (text.length + wide)));
}

export function WorkflowGraph({ workflow, state }: { workflow: MapWorkflow; state?: Lights }): JSX.Element {
  const placed = useMemo(() => {
    const boxes: Box[] = workflow.nodes.map((node) => ({
      id: node.id,
      width: widthOf(node.id),
      height: HEIGHT,
    }));
    const arrows: Arrow[] = workflow.edges.map((edge) => ({
      from: nodeId(workflow, edge.from),
      to: nodeId(workflow, edge.to),
    }));
    const { width, height, boxes: places, arrows: lines } = place(boxes, arrows, 'LR');
    return { boxes, places, lines, width, height };
  }, [workflow]);
  return (
    <ZoomBox width={placed.width} height={placed.height} label={t().workflow.graph(workflow.name)}>
      <svg
        width={placed.width}
        height={placed.height}
        role="img"
        aria-label={t().workflow.graph(workflow.name)}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0,0 L8,4 L0,8 z" fill="context-stroke" />
          </marker>
        </defs>
        {workflow.edges.map((edge, index) => {
          const points = placed.lines[index] ?? [];
          const count =
            state?.taken.get(JSON.stringify([nodeId(workflow, edge.from), nodeId(workflow, edge.to)])) ?? 0;
          const middle = points[Math.floor(points.length / 2)];
          return (
            <g key={index} class={`edge ${count > 0 ? 'taken' : ''} ${edge.loop_back ? 'loop' : ''}`}>
              <path d={smooth(points)} marker-end="url(#arrow)">
                {edge.label && <title>{edge.label}</title>}
              </path>
              {count > 1 && middle && (
                <text x={middle.x} y={middle.y - 5} text-anchor="middle">
                  ×{count}
                </text>
              )}
            </g>
          );
        })}
        {placed.boxes.map((box, index) => {
          const corner = placed.places.get(box.id);
          const node = workflow.nodes[index];
          if (!corner || !node) return null;
          const ran = state?.ran.get(box.id) ?? 0;
          const lights = `${ran > 0 ? 'ran' : ''} ${state?.now.has(box.id) ? 'now' : ''} ${state?.failed.has(box.id) ? 'failed' : ''}`;
          return (
            <g key={box.id} class={`node ${lights}`} transform={`translate(${corner.x},${corner.y})`}>
              <rect width={box.width} height={box.height} rx={node.router === null ? 9 : 22} />
              <text x={box.width / 2} y={19} text-anchor="middle" class="node-name">
                {cut(node.id, 26)}
              </text>
              <text x={box.width / 2} y={36} text-anchor="middle" class="node-kind">
                {cut(node.kind, 22)}
                {ran > 0 && ` · ${state?.failed.has(box.id) ? '✗' : '✓'}${ran > 1 ? ` ×${ran}` : ''}`}
              </text>
              <title>{node.router === null ? node.id : `${node.id} · router ${node.router}`}</title>
            </g>
          );
        })}
      </svg>
    </ZoomBox>
  );
}

function nodeId(workflow: MapWorkflow, index: number): string {
  return workflow.nodes[index]?.id ?? '';
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
