// Model of the map: the visible rows of each table, and the positions of the tables.
import type { Map as RulesMap, MapRoute, MapTable } from '../../api/types';
import { place } from '../../ui/layout';

export type Show = 'all' | 'never' | 'findings';

export interface Look {
  search: string;
  show: Show;
  /** Maximum number of visible rows of a table; 0 for a folded table. */
  limit: (table: MapTable) => number;
  counts: ReadonlyMap<string, number> | null;
}

export interface Card {
  table: MapTable;
  rows: MapRoute[];
  /** Number of rows that match the filter but exceed the limit. */
  hidden: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Jump {
  from: Card;
  row: number;
  to: Card;
  path: string;
}

export const CARD_WIDTH = 380;
export const HEAD = 50;
export const ROW = 27;
const FOOT = 34;

/**
 * Number of messages that chose a statement; null if unknown. It is unknown for a jump, because the
 * jump's table chooses.
 */
export function taken(route: MapRoute, counts: ReadonlyMap<string, number> | null): number | null {
  return counts && route.goto === null ? (counts.get(route.key) ?? 0) : null;
}

/** True if a statement matches the filter. */
export function matches(
  route: MapRoute,
  table: MapTable,
  look: Pick<Look, 'search' | 'show' | 'counts'>,
): boolean {
  if (look.show === 'never' && taken(route, look.counts) !== 0) return false;
  if (look.show === 'findings' && route.findings.length === 0) return false;
  const words = look.search.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${table.name} ${route.name} ${route.to} ${route.condition} ${route.docs}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Returns the most severe finding about a statement. */
export function standing(route: MapRoute): 'disabled' | 'unreachable' | 'shadowed' | 'other' | null {
  if (route.disabled) return 'disabled';
  const kinds = new Set(route.findings.map((finding) => finding.kind));
  if (kinds.has('unreachable')) return 'unreachable';
  if (kinds.has('shadowed')) return 'shadowed';
  return kinds.has('other') ? 'other' : null;
}

function cardOf(table: MapTable, look: Look, plain: boolean): Card | null {
  const rows = table.routes.filter((route) => matches(route, table, look));
  const named = look.search !== '' && table.name.toLowerCase().includes(look.search.toLowerCase());
  if (rows.length === 0 && !plain && !named) return null;
  const limit = look.limit(table);
  // Rows with a jump stay visible, so that every arrow has a start. In a folded table, arrows start
  // at its head.
  const shown = limit === 0 ? [] : rows.filter((route, index) => index < limit || route.goto !== null);
  const hidden = rows.length - shown.length;
  const height = HEAD + shown.length * ROW + (hidden > 0 && limit > 0 ? FOOT : 8);
  return { table, rows: shown, hidden, x: 0, y: 0, width: CARD_WIDTH, height };
}

/** Lays out the cards of the tables and the jumps between them. */
export function arrange(
  map: RulesMap,
  look: Look,
): { cards: Card[]; jumps: Jump[]; width: number; height: number } {
  const plain = look.search === '' && look.show === 'all';
  const cards = map.tables.map((table) => cardOf(table, look, plain)).filter((card) => card !== null);
  const byName = new Map(cards.map((card) => [card.table.name, card]));
  const ends = cards.flatMap((from) =>
    from.table.routes.flatMap((route) => {
      const to = route.goto === null ? undefined : byName.get(route.goto);
      const row = from.rows.indexOf(route);
      return to && (row >= 0 || from.rows.length === 0) ? [{ from, row, to }] : [];
    }),
  );
  const placed = place(
    cards.map((card) => ({ id: card.table.name, width: card.width, height: card.height })),
    ends.map((end) => ({ from: end.from.table.name, to: end.to.table.name })),
    'LR',
  );
  for (const card of cards) Object.assign(card, placed.boxes.get(card.table.name));
  return {
    cards,
    jumps: ends.map((end) => ({ ...end, path: curve(end) })),
    width: placed.width,
    height: placed.height,
  };
}

function curve({ from, row, to }: { from: Card; row: number; to: Card }): string {
  const x = from.x + from.width;
  const y = from.y + (row < 0 ? HEAD / 2 : HEAD + row * ROW + ROW / 2);
  const endX = to.x;
  const endY = to.y + HEAD / 2;
  const bend = Math.max(30, (endX - x) / 2);
  return `M${x},${y} C${x + bend},${y} ${endX - bend},${endY} ${endX - 4},${endY}`;
}

/** Finds a statement by its key, and its table. */
export function find(map: RulesMap, key: string): { table: MapTable; route: MapRoute } | null {
  for (const table of [...map.tables, ...map.payloads]) {
    const route = table.routes.find((each) => each.key === key);
    if (route) return { table, route };
  }
  return null;
}
