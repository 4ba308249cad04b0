// Layout of changed results as a Sankey diagram, with d3-sankey. Each statement has separate nodes
// for before and after, so the graph has no cycles.
import { sankey, sankeyLinkHorizontal } from 'd3-sankey';
import type { Flip } from '../../api/types';

export interface BandNode {
  side: 'before' | 'after';
  key: string;
  count: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Band {
  flip: Flip;
  index: number;
  path: string;
  width: number;
}

export interface Bands {
  nodes: BandNode[];
  links: Band[];
  height: number;
  /** Number of changes that are not drawn; the table includes them. */
  left: number;
}

/** Maximum number of changes in the diagram, to keep it readable. */
export const MOST = 24;

interface Named {
  side: 'before' | 'after';
  key: string;
}

/** Lays out the most frequent changes. */
export function bands(flips: readonly Flip[], width: number): Bands {
  const drawn = flips.slice(0, MOST);
  if (drawn.length === 0) return { nodes: [], links: [], height: 0, left: 0 };
  const before = [...new Set(drawn.map((flip) => flip.before))];
  const after = [...new Set(drawn.map((flip) => flip.after))];
  const nodes: Named[] = [
    ...before.map((key) => ({ side: 'before' as const, key })),
    ...after.map((key) => ({ side: 'after' as const, key })),
  ];
  const links = drawn.map((flip, index) => ({
    source: before.indexOf(flip.before),
    target: before.length + after.indexOf(flip.after),
    value: flip.count,
    flip,
    index,
  }));
  const height = Math.max(90, 34 * Math.max(before.length, after.length));
  const layout = sankey<Named, { flip: Flip; index: number }>()
    .nodeWidth(12)
    .nodePadding(16)
    .nodeSort(null)
    .extent([
      [0, 4],
      [width, height - 4],
    ]);
  const graph = layout({ nodes, links });
  const path = sankeyLinkHorizontal<Named, { flip: Flip; index: number }>();
  return {
    height,
    left: flips.length - drawn.length,
    nodes: graph.nodes.map((node) => ({
      side: node.side,
      key: node.key,
      count: node.value ?? 0,
      x: node.x0 ?? 0,
      y: node.y0 ?? 0,
      width: (node.x1 ?? 0) - (node.x0 ?? 0),
      height: (node.y1 ?? 0) - (node.y0 ?? 0),
    })),
    links: graph.links.map((link) => ({
      flip: link.flip,
      index: before.indexOf(link.flip.before),
      path: path(link) ?? '',
      width: link.width ?? 0,
    })),
  };
}
