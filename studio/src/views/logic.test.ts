// Logic of tables, maps, replays and the editor.
import { expect, test } from 'vitest';
import type { Map as RulesMap, MapRoute } from '../api/types';
import { events } from '../events';
import { windowOf } from '../ui/window';
import { fitting } from '../ui/fit';
import { apply, smallest } from './edit/edits';
import { blocks, pieces } from './edit/markdown';
import { template } from './edit/snippet';
import { arrange, find, matches, passing, standing } from './map/model';
import { overlapsOf } from './map/overlaps';
import { bands, MOST } from './replay/bands';
import { PAGE, Pages, pagesOf } from './replay/pages';
import { stack } from './replay/stack';

test('only rows in sight are drawn, of a million too, from the first to the last', () => {
  const first = windowOf(1_000_000, 32, 0, 460);
  expect(first.start).toBe(0);
  expect(first.end - first.start).toBeLessThan(40);
  expect(first.height).toBeLessThanOrEqual(8_000_000);
  const scrolled = first.height - 460;
  const last = windowOf(1_000_000, 32, scrolled, 460);
  expect(last.end).toBe(1_000_000);
  expect(last.top(999_999) + 32).toBeLessThanOrEqual(first.height + 1);
  const few = windowOf(3, 32, 0, 460);
  expect([few.start, few.end, few.top(2)]).toEqual([0, 3, 64]);
});

test('pages are asked for once, and forgotten when they fail', () => {
  expect(pagesOf(0, PAGE)).toEqual([0]);
  expect(pagesOf(PAGE - 1, PAGE + 1)).toEqual([0, 1]);
  const pages = new Pages<number>();
  expect(pages.missing(0, PAGE + 1)).toEqual([0, 1]);
  expect(pages.missing(0, PAGE + 1)).toEqual([]);
  pages.put(0, [7, 8]);
  pages.forget(1);
  expect(pages.missing(0, PAGE + 1)).toEqual([1]);
  expect([pages.row(0), pages.row(1), pages.row(2)]).toEqual([7, 8, undefined]);
});

test('events are read however their bytes are cut', async () => {
  const text = 'data: {"a":1}\n\n: a comment\n\ndata: 文\r\n\r\ndata: last';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 3, 1000]) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const read: string[] = [];
    for await (const data of events(body)) read.push(data);
    expect(read).toEqual(['{"a":1}', '文', 'last']);
  }
});

test('columns are stacked in the order of the series', () => {
  const stacked = stack([
    { key: 'a', counts: [1, 0] },
    { key: 'b', counts: [2, 3] },
  ]);
  expect(stacked.map((column) => column.total)).toEqual([3, 3]);
  expect(stacked[0]?.parts).toEqual([
    { key: 'a', count: 1, below: 0 },
    { key: 'b', count: 2, below: 1 },
  ]);
  expect(stacked[1]?.parts.map((part) => part.key)).toEqual(['b']);
});

test('flips flow from before to after, also there and back, and too many are counted', () => {
  const both = bands(
    [
      { before: 'a', after: 'b', count: 4 },
      { before: 'b', after: 'a', count: 2 },
      { before: 'a', after: 'a', count: 1 },
    ],
    600,
  );
  expect(both.nodes.map((node) => [node.side, node.key, node.count])).toEqual([
    ['before', 'a', 5],
    ['before', 'b', 2],
    ['after', 'b', 4],
    ['after', 'a', 3],
  ]);
  expect(both.links.length).toBe(3);
  const many = Array.from({ length: MOST + 5 }, (_, index) => ({
    before: `x${index}`,
    after: 'y',
    count: 1,
  }));
  expect(bands(many, 600).left).toBe(5);
  expect(bands([], 600).links).toEqual([]);
});

function route(name: string, more: Partial<MapRoute> = {}): MapRoute {
  const rest = {
    is_default: false,
    disabled: false,
    priority: 0,
    condition: '',
    docs: '',
    to: 'h',
    goto: null,
  };
  return { key: `t/${name}`, name, ...rest, found: null, steps: 1, findings: [], place: null, ...more };
}

function rules(count: number): RulesMap {
  const routes = Array.from({ length: count }, (_, index) => route(`r${index}`));
  const table = { kind: 'routes' as const, docs: '', entered: false, indexed: false };
  return {
    analysed: true,
    tables: [
      { ...table, name: 'routes', routes: [...routes, route('jump', { goto: 'inner' })] },
      { ...table, name: 'inner', entered: true, routes: [route('deep', { to: 'special' })] },
    ],
    targets: [],
    workflows: [],
    payloads: [],
  };
}

test('a card shows its first rows and all that jump; arrows begin at their rows', () => {
  const look = { search: '', show: 'all' as const, limit: () => 10, counts: null };
  const { cards, targets, arrows } = arrange(rules(500), look);
  expect(cards[0]?.rows.length).toBe(11);
  expect(cards[0]?.hidden).toBe(490);
  const jumps = arrows.filter((arrow) => arrow.jump);
  expect(jumps.map((jump) => [jump.from.table.name, jump.row, jump.to])).toEqual([['routes', 10, 'inner']]);
  // Each handler is one node, and each arrow ends at the middle of its left side.
  expect(targets.map((target) => target.name)).toEqual(['h', 'special']);
  const first = arrows.find((arrow) => arrow.to === 'h');
  const end = first?.path.split(' ').at(-1)?.split(',').map(Number);
  expect(end).toEqual([(targets[0]?.x ?? 0) - 8, (targets[0]?.y ?? 0) + 20]);
  const [from, to] = cards;
  expect((from?.x ?? 0) + (from?.width ?? 0)).toBeLessThanOrEqual(to?.x ?? 0);
  const folded = arrange(rules(500), { ...look, limit: () => 0 });
  expect(folded.cards.every((card) => card.rows.length === 0)).toBe(true);
  expect(folded.arrows.length).toBe(1);
});

// Regression: an arrow over several columns was hidden by the cards between them.
test('an arrow runs next to the cards between its ends', () => {
  const map = rules(3);
  const [routes, inner] = map.tables;
  if (!routes || !inner) throw new Error('two tables');
  const many = (count: number): MapRoute[] =>
    Array.from({ length: count }, (_, at) => route(`m${at}`, { to: `t${at}` }));
  map.tables = [
    {
      ...routes,
      routes: [route('a', { goto: 'first' }), route('b', { goto: 'second' }), route('c', { to: 'far' })],
    },
    { ...inner, name: 'first', routes: [...many(3), route('d', { goto: 'second' })] },
    { ...inner, name: 'second', routes: [...many(5), route('e', { to: 'far' })] },
  ];
  const look = { search: '', show: 'all' as const, limit: () => 10, counts: null };
  const { cards, arrows } = arrange(map, look);
  const long = arrows.filter((arrow) => arrow.from.table.name === 'routes' && arrow.to !== 'first');
  expect(long.map((arrow) => arrow.to)).toEqual(['second', 'far']);
  for (const arrow of arrows) {
    expect(arrow.path).not.toMatch(/NaN|Infinity/);
    for (const [x, y] of pointsOf(arrow.path)) {
      const hiding = cards.filter(
        (card) => card.x < x && x < card.x + card.width && card.y < y && y < card.y + card.height,
      );
      expect(hiding.map((card) => `${card.table.name} hides ${arrow.from.table.name} → ${arrow.to}`)).toEqual(
        [],
      );
    }
  }
});

/** Points of an SVG path of lines and cubic curves. */
function pointsOf(path: string): [number, number][] {
  const parts = [...path.matchAll(/([MLC])([^MLC]+)/g)];
  let at: [number, number] = [0, 0];
  return parts.flatMap(([, kind, text = '']): [number, number][] => {
    const [one, two, three] = text
      .trim()
      .split(' ')
      .map((point) => point.split(',').map(Number) as [number, number]);
    if (!one) return [];
    const from = at;
    at = three ?? one;
    if (kind === 'M') return [one];
    const [first, second] = kind === 'C' && two ? [one, two] : [from, at];
    return Array.from({ length: 101 }, (_, step): [number, number] => {
      const t = step / 100;
      const mix = (index: 0 | 1): number =>
        (1 - t) ** 3 * from[index] +
        3 * (1 - t) ** 2 * t * first[index] +
        3 * (1 - t) * t ** 2 * second[index] +
        t ** 3 * at[index];
      return [mix(0), mix(1)];
    });
  });
}

test('of thousands of jumps and tables, few are drawn, those nearest to the beginning first', () => {
  const map = rules(3);
  const [routes, inner] = map.tables;
  if (!routes || !inner) throw new Error('two tables');
  const jumps = Array.from({ length: 5000 }, (_, index) => route(`j${index}`, { goto: `t${index % 500}` }));
  const tables = Array.from({ length: 500 }, (_, index) => {
    const next = route(`n${index}`, { goto: index === 499 ? 'last' : null });
    return { ...inner, name: `t${index}`, routes: [next] };
  });
  map.tables = [{ ...routes, routes: jumps }, ...tables, { ...inner, name: 'last' }];
  const look = { search: '', show: 'all' as const, limit: () => 10, counts: null };
  const drawn = arrange(map, { ...look, tables: 40 });
  expect([drawn.cards.length, drawn.left]).toEqual([40, 462]);
  expect(drawn.cards[0]?.rows.length).toBe(22);
  // Each table that is drawn has one arrow, from its row or from the foot of the card.
  const ends = drawn.arrows.filter((arrow) => arrow.jump && arrow.from === drawn.cards[0]);
  expect(new Set(ends.map((arrow) => arrow.to)).size).toBe(39);
  expect(ends.length).toBe(39);
  expect(ends.filter((arrow) => arrow.row === 22).length).toBe(17);
  // A search draws the tables that match, however far they are.
  const found = arrange(map, { ...look, search: 'last', tables: 40 });
  expect(found.cards.map((card) => card.table.name)).toEqual(['last']);
});

test('the width of an arrow is by the number of messages', () => {
  const counts = new Map([
    ['t/r0', 90],
    ['t/r1', 45],
  ]);
  const { arrows, targets } = arrange(rules(3), { search: '', show: 'all', limit: () => 10, counts });
  const [r0, r1, r2] = arrows;
  expect(r0?.width).toBeCloseTo(2 * (r1?.width ?? 0));
  expect(r2?.width).toBeGreaterThan(0);
  expect(r2?.width).toBeLessThan(r1?.width ?? 0);
  expect(targets[0]?.count).toBe(135);
});

test('a jump has the number of messages for which its table chose', () => {
  const map = rules(3);
  const counts = new Map([
    ['t/r0', 5],
    ['t/deep', 7],
  ]);
  const jump = route('jump', { goto: 'inner' });
  expect(passing(jump, map, null)).toBeNull();
  expect(passing(route('r0'), map, counts)).toEqual({ count: 5, most: false });
  expect(passing(jump, map, counts)).toEqual({ count: 7, most: false });
  // Of two jumps to one table, it is unknown which one a message took.
  map.tables[0]?.routes.push(route('other', { goto: 'inner' }));
  expect(passing(jump, map, counts)).toEqual({ count: 7, most: true });
});

test('a narrow map has a table and the next column side by side on a phone', () => {
  const look = { search: '', show: 'all' as const, limit: () => 10, counts: null };
  const wide = arrange(rules(3), look);
  const { cards, width } = arrange(rules(3), { ...look, narrow: true });
  expect(width).toBeLessThan(wide.width);
  const [first, second] = cards;
  expect(((second?.x ?? 0) + (second?.width ?? 0) - (first?.x ?? 0)) * 0.6).toBeLessThan(336);
});

test('a picture fits by its height too, if it stays readable', () => {
  const room = { width: 1000, height: 500 };
  expect(fitting({ width: 800, height: 400 }, room, 0.15)).toBe(1);
  expect(fitting({ width: 800, height: 1000 }, room, 0.15)).toBe(0.5);
  expect(fitting({ width: 2000, height: 100 }, room, 0.15)).toBe(0.5);
  // A much too high picture stays as wide as the box.
  expect(fitting({ width: 2000, height: 9000 }, room, 0.15)).toBe(0.5);
  expect(fitting({ width: 800, height: 1000 }, room, 0.6)).toBe(1);
});

test('what is looked for is found by name, handler and condition, and by standing', () => {
  const look = { search: 'special', show: 'all' as const, limit: () => 60, counts: null };
  expect(arrange(rules(500), look).cards.map((card) => card.table.name)).toEqual(['inner']);
  expect(find(rules(3), 't/deep')?.table.name).toBe('inner');
  expect(find(rules(3), 't/none')).toBeNull();
  const table = rules(1).tables[0] as RulesMap['tables'][0];
  const counts = new Map([['t/r0', 5]]);
  expect(matches(route('r0'), table, { search: '', show: 'never', counts })).toBe(false);
  expect(matches(route('r9'), table, { search: '', show: 'never', counts })).toBe(true);
  const finding = { code: 'W0213', message: '', help: null };
  expect(standing(route('x', { findings: [{ ...finding, kind: 'shadowed' }] }))).toBe('shadowed');
  expect(
    standing(
      route('x', {
        findings: [
          { ...finding, kind: 'shadowed' },
          { ...finding, kind: 'unreachable' },
        ],
      }),
    ),
  ).toBe('unreachable');
  expect(standing(route('x', { disabled: true }))).toBe('disabled');
  expect(standing(route('x'))).toBeNull();
});

test('an overlap belongs to both rows', () => {
  const overlaps = overlapsOf({
    overlaps: [
      { first: 'a', second: 'b', example: '{}', differs: false },
      { first: 'a', second: 'c', example: '{}', differs: true },
    ],
  });
  expect([...(overlaps.get('a')?.keys ?? [])]).toEqual(['b', 'c']);
  expect([overlaps.get('a')?.differs, overlaps.get('b')?.differs, overlaps.get('c')?.differs]).toEqual([
    true,
    false,
    true,
  ]);
});

test('edits are made by the places of the text before, and the smallest one keeps the rest', () => {
  const edits = [
    { from: 6, to: 7, text: 'Z' },
    { from: 0, to: 1, text: 'AA' },
  ];
  expect(apply('abcdefg', edits)).toBe('AAbcdefZ');
  for (const [before, after] of [
    ['abc', 'abXc'],
    ['aaa', 'aa'],
    ['', 'x'],
    ['same', 'same'],
    ['文件', '文'],
  ] as const) {
    expect(apply(before, [smallest(before, after)])).toBe(after);
  }
  expect(smallest('abc', 'abXc')).toEqual({ from: 2, to: 2, text: 'X' });
});

test('a page of Markdown becomes blocks of text', () => {
  const page = '# E0101\n\nA `word`\nmore.\n\n```rules\nroute <b> x\n```\n';
  expect(blocks(page)).toEqual([
    { kind: 'heading', text: 'E0101' },
    { kind: 'paragraph', text: 'A `word` more.' },
    { kind: 'code', text: 'route <b> x' },
  ]);
  expect(pieces('see [the page](x.md) and `a`')).toEqual([
    { code: false, text: 'see the page and ' },
    { code: true, text: 'a' },
  ]);
});

test('a snippet becomes a template whose places are independent, with its braces as text', () => {
  const part = (text: string, is_placeholder = false) => ({ text, is_placeholder });
  const parts = [part('test "'), part('text', true), part('" {\n  given '), part('text', true), part('\n}')];
  expect(template(parts)).toBe('test "${1:text}" \\{\n  given ${2:text}\n\\}');
  expect(template([part('f('), part('', true), part(')')])).toBe('f(${1:})');
  expect(template([part('{a}', true)])).toBe('\\{a\\}');
});
