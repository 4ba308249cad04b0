// Logic of the view Decide: messages and forms, runs of routes, paths, marked texts, and workflow
// steps.
import { describe, expect, test } from 'vitest';
import type { Explanation, RouteTrace, TraceNode, WorkflowRun } from '../../api/types';
import { readKept } from './kept-file';
import { pieces } from './marked';
import { at, Exact, parse, typed, withValue, write } from './message';
import { stateAt } from './steps';
import { leaves, runs, tally, way } from './trace';

describe('messages', () => {
  test('what is read is written again, field by field', () => {
    const text = '{\n  "text": "a",\n  "ctx": {\n    "n": 1,\n    "list": ["x", null]\n  }\n}';
    expect(write(parse(text) ?? {})).toBe(text);
  });

  test('a field is changed at its place, and a record that gets empty goes', () => {
    const message = parse('{"a": {"b": 1}, "c": 2}') ?? {};
    expect(withValue(message, ['a', 'b'], 3)).toEqual({ a: { b: 3 }, c: 2 });
    expect(Object.keys(withValue(message, ['a'], true))).toEqual(['a', 'c']);
    expect(withValue(message, ['a', 'b'], undefined)).toEqual({ c: 2 });
    expect(withValue(message, ['d', 'e'], 'x')).toEqual({ a: { b: 1 }, c: 2, d: { e: 'x' } });
    expect(at(message, ['a', 'b'])).toBe(1);
    expect(at(message, ['c', 'b'])).toBeUndefined();
  });

  test('`__proto__` is a field like any other', () => {
    const message = parse('{"__proto__": {"x": 1}}') ?? {};
    expect(at(message, ['__proto__', 'x'])).toBe(1);
    expect(write(withValue(message, ['a'], 1))).toContain('"__proto__"');
    expect(at({}, ['toString'])).toBeUndefined();
  });

  test('what is no object is none, and a number keeps its digits', () => {
    expect(parse('[1]')).toBeNull();
    expect(parse('{"a":')).toBeNull();
    expect(parse('')).toEqual({});
    expect(write({ n: new Exact('9007199254740993') })).toContain('9007199254740993');
  });

  test('what is half typed is no value yet', () => {
    expect(typed('int', '12')).toEqual({ value: 12 });
    expect(typed('int', '1.5')).toBeNull();
    expect(typed('int', '')).toEqual({ value: undefined });
    expect(typed('number', '-')).toBeNull();
    expect(typed('number', '"a"')).toBeNull();
    expect(typed('json', '[1')).toBeNull();
    expect(typed('json', '[1]')).toEqual({ value: [1] });
  });

  test('a file of kept messages is read whole or not at all', () => {
    const kept = [{ name: 'a', entry: 'routes', message: '{}' }];
    expect(readKept(JSON.stringify(kept), 'routes')).toEqual(kept);
    expect(readKept('[{"name": 1}]', 'routes')).toBeNull();
    expect(readKept('[{"name": "a", "entry": "e", "message": "", "context": 1}]', 'e')).toBeNull();
    expect(readKept('{"text": "x"}\n{"text": "y"}\n', 'e')?.map((each) => each.name)).toEqual(['1', '2']);
    expect(readKept('no json', 'e')).toBeNull();
  });
});

const test_ = (result: TraceNode['result'], text = 'x'): TraceNode => ({ kind: 'test', text, result });

function route(name: string, chosen = false): RouteTrace {
  const result = chosen ? 'true' : 'false';
  return { route: name, result, chosen, priority: 0, to: 'h', when: test_(result) };
}

function explanation(routes: RouteTrace[], more: Partial<Explanation> = {}): Explanation {
  const trace = { table: 'routes', chose: true, routes, not_tried: 0 };
  return {
    entry: 'routes',
    chosen: 'a',
    target: 'h',
    args: {},
    metadata: {},
    tables: [],
    path: [],
    trace,
    ...more,
  };
}

describe('the picture of a decision', () => {
  test('long runs that did not hold are folded, the chosen route and those before it are not', () => {
    const routes = [...Array.from({ length: 50 }, (_, index) => route(`r${index}`)), route('a', true)];
    const shown = runs(routes);
    expect(shown.map((run) => [run.folded, run.routes.length])).toEqual([
      [false, 2],
      [true, 46],
      [false, 3],
    ]);
    expect(shown.flatMap((run) => run.routes)).toEqual(routes);
    expect(runs(routes.slice(0, 12)).length).toBe(1);
  });

  test('the way leads through tables and routes to the handler', () => {
    const inner = { table: 'billing', chose: true, routes: [route('refund', true)], not_tried: 0 };
    const jump = { ...route('to_billing', true), table: inner };
    expect(way(explanation([route('x'), jump])).map((stop) => stop.name)).toEqual([
      'routes',
      'to_billing',
      'billing',
      'refund',
      'h',
    ]);
    const nothing = explanation([route('x')], { chosen: null, target: null });
    expect(way(nothing).at(-1)?.kind).toBe('nothing');
  });

  test('the predicates are counted, also in tables that a jump reaches', () => {
    const and: TraceNode = {
      kind: 'and',
      text: '',
      result: 'unknown',
      children: [test_('true'), test_('unknown'), test_('skipped')],
    };
    const outer: RouteTrace = { ...route('a', true), when: and, table: explanation([route('b')]).trace };
    expect(leaves(and).length).toBe(3);
    expect(tally(explanation([outer]).trace)).toEqual({ true: 1, false: 1, unknown: 1, skipped: 1 });
  });
});

describe('texts with markings', () => {
  test('the pieces are the text, and say which part is marked', () => {
    const cut = pieces('{"a": 900}', [{ from: 6, to: 9, message: 'too big' }]);
    expect(cut).toEqual([
      { text: '{"a": ', message: null },
      { text: '900', message: 'too big' },
      { text: '}', message: null },
    ]);
  });

  test('places that overlap, or lie outside, lose no text', () => {
    const markings = [
      { from: 0, to: 4, message: 'a' },
      { from: 2, to: 6, message: 'b' },
      { from: 90, to: 99, message: 'c' },
    ];
    const cut = pieces('0123456789', markings);
    expect(cut.map((piece) => piece.text).join('')).toBe('0123456789');
    expect(cut[0]?.message).toBe('a; b');
  });
});

test('a workflow lights up step by step, parallel nodes with what they run', () => {
  const delivery = (from: string, to: string, round = 1): WorkflowRun['steps'][0]['deliveries'][0] => ({
    from,
    to,
    ready: true,
    loop_back: false,
    round,
  });
  const run: WorkflowRun = {
    workflow: 'w',
    steps: [
      { nodes: ['a'], deliveries: [delivery('a', 'fork')], decisions: [] },
      { nodes: ['b', 'c'], deliveries: [], decisions: [] },
    ],
    outputs: {},
    failures: [{ node: 'c', message: 'no' }],
    stalled: [],
    limit_hit: false,
    stand_ins: [],
  };
  const node = (
    id: string,
    parallel = false,
  ): { id: string; kind: string; parallel: boolean; router: null } => ({
    id,
    kind: 'k',
    parallel,
    router: null,
  });
  const edge = (
    from: number,
    to: number,
  ): { from: number; to: number; label: string; loop_back: boolean } => ({
    from,
    to,
    label: '',
    loop_back: false,
  });
  const graph = {
    name: 'w',
    nodes: [node('a'), node('fork', true), node('b'), node('c')],
    edges: [edge(0, 1), edge(1, 2), edge(1, 3)],
  };
  expect([...stateAt(run, 1, graph).ran.keys()]).toEqual(['a']);
  const end = stateAt(run, 2, graph);
  expect(end.ran.get('fork')).toBe(1);
  expect([...end.now]).toEqual(['b', 'c']);
  expect([...end.failed]).toEqual(['c']);
  expect(end.taken.get(JSON.stringify(['fork', 'b']))).toBe(1);
  expect(stateAt(run, 1, graph).failed.size).toBe(0);
});
