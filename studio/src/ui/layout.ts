// Graph layout with dagre: converts box sizes to positions, so that the drawing code does not
// depend on dagre.
import { graphlib, layout as dagre } from '@dagrejs/dagre';

export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Arrow {
  from: string;
  to: string;
}

export interface Placed {
  width: number;
  height: number;
  /** Top left corner of each box. */
  boxes: Map<string, { x: number; y: number }>;
  /** Points of each arrow, in input order. */
  arrows: { x: number; y: number }[][];
}

/** Lays out boxes from left to right (`LR`) or from top to bottom (`TB`). */
export function place(boxes: readonly Box[], arrows: readonly Arrow[], direction: 'LR' | 'TB'): Placed {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 28, ranksep: 56, edgesep: 14, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) graph.setNode(box.id, { width: box.width, height: box.height });
  arrows.forEach((arrow, index) => graph.setEdge(arrow.from, arrow.to, {}, String(index)));
  dagre(graph);
  const size = graph.graph() as { width?: number; height?: number };
  const corner = (box: Box): [string, { x: number; y: number }] => {
    const { x = 0, y = 0 } = graph.node(box.id) as { x?: number; y?: number };
    return [box.id, { x: x - box.width / 2, y: y - box.height / 2 }];
  };
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    boxes: new Map(boxes.map(corner)),
    arrows: arrows.map((arrow, index) => {
      const edge = graph.edge({ v: arrow.from, w: arrow.to, name: String(index) }) as
        { points?: { x: number; y: number }[] } | undefined;
      return edge?.points ?? [];
    }),
  };
}

/** Returns a smooth path through points, for the `d` attribute of an SVG path. */
export function smooth(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let path = `M${first.x},${first.y}`;
  rest.forEach((point, index) => {
    const next = rest[index + 1];
    const end = next ? { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 } : point;
    path += ` Q${point.x},${point.y} ${end.x},${end.y}`;
  });
  return path;
}
