// What the map shows of the rules: which rows of each table are in sight, and where the tables lie.
import type { Map as RulesMap, MapRoute, MapTable } from '../../api/types';
import { place } from '../../ui/layout';

export type Show = 'all' | 'never' | 'findings';

export interface Look {
  search: string;
  show: Show;
  /** How many rows of a table are in sight at most; none for a table that is folded. */
  limit: (table: MapTable) => number;
  counts: ReadonlyMap<string, number> | null;
}

export interface Card {
  table: MapTable;
  rows: MapRoute[];
  /** The rows that the look leaves but the limit hides. */
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

/** The messages that a statement took; null where they are not known, as of one that jumps: its table takes them. */
export function taken(route: MapRoute, counts: ReadonlyMap<string, number> | null): number | null {
  return counts && route.goto === null ? (counts.get(route.key) ?? 0) : null;
}

/** True where a statement is one that is looked for. */
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

/** The worst that the analysis says of a statement. */
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
  // Rows that jump stay in sight, so that every arrow begins somewhere; a folded table's arrows begin at its head.
  const shown = limit === 0 ? [] : rows.filter((route, index) => index < limit || route.goto !== null);
  const hidden = rows.length - shown.length;
  const height = HEAD + shown.length * ROW + (hidden > 0 && limit > 0 ? FOOT : 8);
  return { table, rows: shown, hidden, x: 0, y: 0, width: CARD_WIDTH, height };
}

/** The cards of the tables with their places, and the jumps between them. */
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

/** A statement by its key, and the table that it stands in. */
export function find(map: RulesMap, key: string): { table: MapTable; route: MapRoute } | null {
  for (const table of [...map.tables, ...map.payloads]) {
    const route = table.routes.find((each) => each.key === key);
    if (route) return { table, route };
  }
  return null;
}
