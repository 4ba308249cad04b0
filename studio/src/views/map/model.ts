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
  /** Whether the page is narrow, as on a phone. */
  narrow?: boolean;
  /** Keys of rows that are shown even if they exceed the limit of their table. */
  keep?: ReadonlySet<string>;
  /** Maximum number of tables; all by default. */
  tables?: number;
}

export interface Card {
  table: MapTable;
  rows: MapRoute[];
  /** Number of rows that match the filter but exceed the limit. */
  hidden: number;
  /** Tables to which only hidden rows jump. */
  below: string[];
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A target of statements, such as a handler. */
export interface Target {
  name: string;
  count: number | null;
  x: number;
  y: number;
  width: number;
}

/** An arrow from a statement to the table that it enters, or to its target. */
export interface Arrow {
  from: Card;
  row: number;
  /** Name of the table or target at the end of the arrow. */
  to: string;
  jump: boolean;
  path: string;
  width: number;
}

/** Width of a card and of a target. */
const WIDE = { card: 400, target: 220 };
/** The widths on a narrow page, where two columns and an arrow fit at the smallest readable zoom. */
const NARROW = { card: 230, target: 170 };
export const HEAD = 50;
export const ROW = 44;
export const TARGET_HEIGHT = 40;
const FOOT = 34;
/** Maximum number of rows of a card that exceed its limit and are shown because they jump. */
const MOST_JUMPS = 12;
/** Smallest and greatest width of an arrow. */
const THIN = 1.5;
const THICK = 11;

/** Number of messages, or its upper bound. */
export interface Passing {
  count: number;
  /** Whether the count is only an upper bound. */
  most: boolean;
}

/**
 * Number of messages that chose a statement or, for a jump, of messages that a statement in the
 * table of the jump chose. It is an upper bound if several jumps lead to that table. Null if there
 * are no counts.
 */
export function passing(route: MapRoute, map: RulesMap, counts: Look['counts']): Passing | null {
  if (!counts) return null;
  if (route.goto === null) return { count: counts.get(route.key) ?? 0, most: false };
  const jumps = map.tables.flatMap((table) => table.routes).filter((other) => other.goto === route.goto);
  return { count: inside(route.goto, map, counts), most: jumps.length > 1 };
}

/** Number of messages for which a table or the tables that it jumps to chose. */
function inside(name: string, map: RulesMap, counts: ReadonlyMap<string, number>): number {
  const reached = new Set([name]);
  let sum = 0;
  // The iteration over a set includes names that are added during the iteration.
  for (const each of reached) {
    const table = map.tables.find((other) => other.name === each);
    if (!table) continue;
    sum += countOf(table, counts);
    for (const route of table.routes) if (route.goto !== null) reached.add(route.goto);
  }
  return sum;
}

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

function widths(look: Look): typeof WIDE {
  return look.narrow ? NARROW : WIDE;
}

function cardOf(table: MapTable, look: Look, plain: boolean): Card | null {
  const rows = table.routes.filter((route) => matches(route, table, look));
  const named = look.search !== '' && table.name.toLowerCase().includes(look.search.toLowerCase());
  if (rows.length === 0 && !plain && !named) return null;
  const limit = look.limit(table);
  // Rows with a jump stay visible, so that arrows start at their rows. Of thousands of such rows,
  // the arrows start at the foot of the card. In a folded table, arrows start at its head.
  let jumps = 0;
  const stays = (route: MapRoute, index: number): boolean =>
    index < limit ||
    (limit > 0 && (look.keep?.has(route.key) || (route.goto !== null && (jumps += 1) <= MOST_JUMPS)));
  const shown = rows.filter(stays);
  const reached = new Set(shown.map((route) => route.goto));
  const below = new Set(rows.map((route) => route.goto).filter((goto) => !reached.has(goto)));
  const hidden = rows.length - shown.length;
  const height = HEAD + shown.length * ROW + (hidden > 0 && limit > 0 ? FOOT : 8);
  const width = widths(look).card;
  return {
    table,
    rows: shown,
    hidden,
    below: [...below].filter((name) => name !== null),
    x: 0,
    y: 0,
    width,
    height,
  };
}

/**
 * Returns the cards to draw: at most `most`. The tables at which decisions begin come first, then
 * the tables that they jump to.
 */
function nearest(cards: Card[], most: number): Card[] {
  if (cards.length <= most) return cards;
  const byName = new Map(cards.map((card) => [card.table.name, card]));
  const found = new Set(cards.filter((card) => !card.table.entered));
  // The iteration over a set includes cards that are added during the iteration.
  for (const card of found) {
    for (const name of [...card.rows.map((route) => route.goto), ...card.below]) {
      const next = name === null ? undefined : byName.get(name);
      if (next) found.add(next);
    }
  }
  const drawn = new Set([...found, ...cards].slice(0, most));
  return cards.filter((card) => drawn.has(card));
}

export interface Arranged {
  cards: Card[];
  targets: Target[];
  arrows: Arrow[];
  /** Number of tables that match the filter and are not drawn. */
  left: number;
  width: number;
  height: number;
}

/** The start of an arrow, and what it leads to. */
type End = Pick<Arrow, 'from' | 'row' | 'to' | 'jump'> & { count: number };

/** Lays out the cards of the tables, their targets, and the arrows between them. */
export function arrange(map: RulesMap, look: Look): Arranged {
  const plain = look.search === '' && look.show === 'all';
  const found = map.tables.map((table) => cardOf(table, look, plain)).filter((card) => card !== null);
  const cards = nearest(found, look.tables ?? Infinity);
  const ends = cards.flatMap((card) => endsOf(card, cards, map, look.counts));
  const names = [...new Set(ends.filter((end) => !end.jump).map((end) => end.to))];
  const boxes = [
    ...cards.map((card) => ({ id: `table ${card.table.name}`, width: card.width, height: card.height })),
    ...names.map((name) => ({ id: `target ${name}`, width: widths(look).target, height: TARGET_HEIGHT })),
  ];
  const links = distinct(ends.map(linkOf));
  const placed = place(boxes, links, 'LR');
  const points = new Map(links.map((link, index) => [JSON.stringify(link), placed.arrows[index] ?? []]));
  const spans = boxes.map(({ id, width }): Span => {
    const left = placed.boxes.get(id)?.x ?? 0;
    return { left, right: left + width };
  });
  for (const card of cards) Object.assign(card, placed.boxes.get(`table ${card.table.name}`));
  sortTargets(names, ends, placed.boxes);
  const targets = names.map((name) => ({
    name,
    count:
      look.counts &&
      ends.filter((end) => !end.jump && end.to === name).reduce((sum, end) => sum + end.count, 0),
    width: widths(look).target,
    ...(placed.boxes.get(`target ${name}`) ?? { x: 0, y: 0 }),
  }));
  const most = Math.max(1, ...ends.map((end) => end.count));
  const arrows = ends.map((end) => {
    const to = placed.boxes.get(boxOf(end)) ?? { x: 0, y: 0 };
    const width = look.counts ? Math.max(THIN, (THICK * end.count) / most) : THIN + 0.5;
    const goal = { x: to.x, y: to.y + (end.jump ? HEAD : TARGET_HEIGHT) / 2 };
    const lanes = lanesOf(points.get(JSON.stringify(linkOf(end))) ?? [], spans, {
      left: end.from.x + end.from.width,
      right: to.x,
    });
    return { ...end, width, path: curve(end, lanes, goal) };
  });
  const left = found.length - cards.length;
  return { cards, targets, arrows, left, width: placed.width, height: placed.height };
}

/**
 * Sorts the targets of each column by the rows that lead to them, so that few arrows cross. The
 * places of the column stay the same.
 */
function sortTargets(
  names: readonly string[],
  ends: readonly End[],
  boxes: Map<string, { x: number; y: number }>,
): void {
  const height = (name: string): number => {
    const rows = ends.filter((end) => !end.jump && end.to === name).map((end) => end.from.y + end.row * ROW);
    return rows.reduce((sum, y) => sum + y, 0) / Math.max(1, rows.length);
  };
  const left = (name: string): number => boxes.get(`target ${name}`)?.x ?? 0;
  for (const x of new Set(names.map(left))) {
    const column = names.filter((name) => left(name) === x);
    const places = column.map((name) => boxes.get(`target ${name}`)?.y ?? 0).sort((a, b) => a - b);
    const sorted = [...column].sort((a, b) => height(a) - height(b));
    sorted.forEach((name, index) => boxes.set(`target ${name}`, { x, y: places[index] ?? 0 }));
  }
}

function boxOf(end: Pick<End, 'to' | 'jump'>): string {
  return `${end.jump ? 'table' : 'target'} ${end.to}`;
}

function linkOf(end: End): { from: string; to: string } {
  return { from: `table ${end.from.table.name}`, to: boxOf(end) };
}

function distinct(arrows: { from: string; to: string }[]): { from: string; to: string }[] {
  return [...new Map(arrows.map((arrow) => [JSON.stringify(arrow), arrow])).values()];
}

/** Returns the arrows of a card. A branch of a choice is its own target and has no arrow. */
function endsOf(card: Card, cards: readonly Card[], map: RulesMap, counts: Look['counts']): End[] {
  const tables = new Set(cards.map((each) => each.table.name));
  const rows = card.rows.flatMap((route, row): End[] => {
    if (route.goto !== null) {
      const count = passing(route, map, counts)?.count ?? 0;
      return tables.has(route.goto) ? [{ from: card, row, to: route.goto, jump: true, count }] : [];
    }
    if (route.to === '' || route.to === route.name) return [];
    return [{ from: card, row, to: route.to, jump: false, count: counts?.get(route.key) ?? 0 }];
  });
  // The arrows of hidden rows start at the foot of the card or, in a folded card, at its head.
  const row = card.rows.length === 0 ? -1 : card.rows.length;
  const below = card.below
    .filter((name) => tables.has(name))
    .map((to) => ({ from: card, row, to, jump: true, count: counts ? inside(to, map, counts) : 0 }));
  return [...rows, ...below];
}

/** Number of messages that the statements of a table took. */
export function countOf(table: MapTable, counts: ReadonlyMap<string, number>): number {
  return table.routes.reduce((sum, route) => sum + (counts.get(route.key) ?? 0), 0);
}

/** The horizontal extent of a box, or of the space between two boxes. */
interface Span {
  left: number;
  right: number;
}

/** A free strip through a column of boxes, in which an arrow runs horizontally. */
interface Lane extends Span {
  y: number;
}

/**
 * Returns the lanes of an arrow through the columns that lie in `between`, from left to right. The
 * layout keeps its points free of boxes.
 */
function lanesOf(points: readonly { x: number; y: number }[], spans: readonly Span[], between: Span): Lane[] {
  return points.flatMap(({ x, y }): Lane[] => {
    const column = spans.filter((span) => span.left <= x && x <= span.right);
    if (column.length === 0) return [];
    const left = Math.min(...column.map((span) => span.left));
    const right = Math.max(...column.map((span) => span.right));
    return between.left < left && right < between.right ? [{ left, right, y }] : [];
  });
}

/**
 * The SVG path of an arrow. It begins at the middle of its row, runs through its lanes, and ends
 * horizontally.
 */
function curve({ from, row }: End, lanes: readonly Lane[], end: { x: number; y: number }): string {
  let x = from.x + from.width;
  let y = from.y + (row < 0 ? HEAD / 2 : HEAD + row * ROW + ROW / 2);
  let path = `M${x},${y}`;
  const bendTo = (endX: number, endY: number): void => {
    const bend = Math.max(30, (endX - x) / 2);
    path += ` C${x + bend},${y} ${endX - bend},${endY} ${endX},${endY}`;
    [x, y] = [endX, endY];
  };
  for (const lane of lanes) {
    bendTo(lane.left, lane.y);
    path += ` L${lane.right},${lane.y}`;
    x = lane.right;
  }
  bendTo(end.x - 8, end.y);
  return path;
}

/** Finds a statement by its key, and its table. */
export function find(map: RulesMap, key: string): { table: MapTable; route: MapRoute } | null {
  for (const table of [...map.tables, ...map.payloads]) {
    const route = table.routes.find((each) => each.key === key);
    if (route) return { table, route };
  }
  return null;
}
