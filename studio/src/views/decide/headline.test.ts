// Tests the texts about a decision: the name of the answer, the words that decided, and where they
// are.
import { expect, test } from 'vitest';
import type { Explanation, RouteTrace, TableTrace, TraceNode } from '../../api/types';
import { answerOf, decisive, way } from './trace';
import { distinct, foundWords, placesOf, searched } from './words';

const node = (more: Partial<TraceNode> = {}): TraceNode => ({
  kind: 'test',
  text: 'x',
  result: 'true',
  ...more,
});

const route = (name: string, more: Partial<RouteTrace> = {}): RouteTrace => ({
  route: name,
  result: 'true',
  chosen: true,
  priority: 0,
  to: 'h',
  when: node(),
  ...more,
});

function explained(trace: Partial<TableTrace>, more: Partial<Explanation> = {}): Explanation {
  const table = { table: 'routes', chose: true, routes: [], not_tried: 0, ...trace };
  return {
    entry: table.table,
    chosen: 'r',
    target: null,
    args: {},
    metadata: {},
    tables: [],
    path: [],
    trace: table,
    ...more,
  };
}

test('a choice, a router and flows are called by their own names', () => {
  const routes = explained({ routes: [route('r')] }, { target: 'h' });
  expect(answerOf(routes)).toEqual({ kind: 'target', of: 'routes', name: 'h' });
  const choice = explained({ table: 'tone', kind: 'choice', routes: [route('calm', { to: '' })] });
  expect(answerOf(choice)).toEqual({ kind: 'statement', of: 'choice', name: 'calm' });
  const router = explained({ table: 'rounds', kind: 'router', routes: [route('1', { to: 'next[1]' })] });
  expect(answerOf(router)).toEqual({ kind: 'target', of: 'router', name: 'next[1]' });
  const flow = explained({ table: 'flows', kind: 'flows', routes: [route('refund', { to: 'F1 ("a")' })] });
  expect(answerOf(flow)).toEqual({ kind: 'statement', of: 'flows', name: 'refund' });
  expect(way(flow).at(-1)).toEqual({ kind: 'target', of: 'flows', name: 'F1' });
  const nothing = explained({ chose: false }, { chosen: null });
  expect(answerOf(nothing)).toEqual({ kind: 'nothing', of: 'routes', name: '' });
});

test('the words that decided are found in keywords, in patterns and in quotes, but not after `not`', () => {
  const operands = [{ text: 'text', value: 'I want my Money Back' }];
  const words = { text: 'words', value: ['refund', 'money back'] };
  const found = { found: 'money back', operands: [...operands, words] };
  const body = node({ text: 'text contains word any words', ...found });
  const call = node({ kind: 'call', name: 'mentions', text: 'mentions(refund_words)', children: [body] });
  expect(foundWords([call])).toEqual(['money back']);
  expect(searched(call)).toEqual({ field: 'text', text: 'I want my Money Back' });
  expect(foundWords([node({ text: 'text contains "a \\"b" ignoring case' })])).toEqual(['a \\"b']);
  expect(foundWords([node({ kind: 'not', text: 'not text contains "a"', children: [body] })])).toEqual([]);
  expect(foundWords([node({ result: 'false', found: 'x' })])).toEqual([]);
  expect(placesOf('I want my Money Back', ['money back']).map(({ from, to }) => [from, to])).toEqual([
    [10, 20],
  ]);
  expect(placesOf('İx', ['x']).map(({ from, to }) => [from, to])).toEqual([[1, 2]]);
});

test('a word that two conditions found is shown once', () => {
  const operands = [{ text: 'text', value: 'a refund' }];
  const jump = node({ text: 'text contains any words', found: 'refund', operands });
  const route = node({ text: 'text contains "refund"', operands });
  const other = node({ text: 'n > 3' });
  expect(distinct([jump, route, other])).toHaveLength(2);
});

test('a failed route is one line: the use of a definition with its arguments', () => {
  const body = node({ result: 'false', text: 'text contains word any words' });
  const call = node({ kind: 'call', result: 'false', text: 'mentions(run_verbs)', children: [body] });
  const both = node({ kind: 'and', result: 'false', text: 'a and b', children: [node(), call] });
  expect(decisive(both)?.text).toBe('mentions(run_verbs)');
  expect(decisive(node())).toBeUndefined();
});
