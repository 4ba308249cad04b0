// The earlier messages of a session: reading pasted lines, the timeline, and the messages that
// decided.
import { describe, expect, test } from 'vitest';
import type { EarlierMessage, HistoryItem, TraceNode } from '../../api/types';
import { decidingMessages, duration, fateOf, readMessages, timeline, timeOf } from './past';

const earlier = (message: string, more: Partial<EarlierMessage> = {}): EarlierMessage => ({
  message,
  row: null,
  observed: false,
  decision: null,
  ...more,
});

describe('pasted messages', () => {
  test('one object over several lines is one message, and lines are one message each', () => {
    expect(readMessages('{\n  "a": 1\n}')).toEqual({ messages: [earlier('{\n  "a": 1\n}')] });
    expect(readMessages('{"a": 1}\n\n{"b": 2}\n')).toEqual({
      messages: [earlier('{"a": 1}'), earlier('{"b": 2}')],
    });
    expect(readMessages('')).toEqual({ messages: [] });
  });

  test('an observed message loses its mark, and a logged one keeps its decision', () => {
    const read = readMessages('{"tool": "x", "observe": true}\n{"observe": false}');
    expect(read).toEqual({
      messages: [earlier('{\n  "tool": "x"\n}', { observed: true }), earlier('{"observe": false}')],
    });
    const logged = { entry: 'routes', generation: 1, route: 'r', target: 'h', message: { n: 1 } };
    expect(readMessages(JSON.stringify(logged))).toEqual({
      messages: [earlier('{\n  "n": 1\n}', { decision: { chosen: 'r', target: 'h' } })],
    });
  });

  test('a line that is no message is named', () => {
    expect(readMessages('{"a": 1}\n[2]')).toEqual({ line: 2, reason: 'noJson' });
    expect(readMessages('{"entry": "routes", "generation": 1, "route": null}')).toEqual({
      line: 1,
      reason: 'noMessage',
    });
  });
});

test('the timeline has the oldest first, keeps the order of equal times, and ends without a time', () => {
  const at = (time: string): EarlierMessage => earlier(JSON.stringify({ now: time }));
  const messages = [earlier('{}'), at('2026-01-31T12:05:00Z'), at('2026-01-31T12:01:00Z')];
  const later = at('2026-01-31T13:05:00+01:00');
  const item = (time: number | null): HistoryItem => ({
    time,
    text: 't',
    fields: '',
    decision: null,
    position: null,
    unread: null,
  });
  const answered = {
    messages,
    history: { messages: messages.map((each) => item(timeOf(each.message))), gap: null },
  };
  // The last message has no answer yet.
  const rows = timeline([...messages, later], answered);
  expect(rows.map((row) => row.message)).toEqual([messages[2], messages[1], later, messages[0]]);
  expect(rows.map((row) => row.item.text)).toEqual(['t', 't', later.message, 't']);
});

test('messages of the same millisecond are in the order of their positions', () => {
  const messages = ['b', 'c', 'a'].map((text) => earlier(`{"text": "${text}"}`));
  const items = [1, null, 0].map((position): HistoryItem => {
    return { time: 5, text: 't', fields: '', decision: null, position, unread: null };
  });
  const rows = timeline(messages, { messages, history: { messages: items, gap: null } });
  expect(rows.map((row) => row.item.position)).toEqual([0, 1, null]);
});

test('a message that could not be read is shown as its text', () => {
  const message = earlier('{"now": "2026-01-31T12:00:00Z", \n', { decision: { chosen: 'r', target: null } });
  const unread: HistoryItem = {
    time: null,
    text: '',
    fields: '',
    decision: null,
    position: null,
    unread: 'no JSON',
  };
  const rows = timeline([message], { messages: [message], history: { messages: [unread], gap: null } });
  expect(rows[0]?.item).toEqual({
    ...unread,
    text: '{"now": "2026-01-31T12:00:00Z", ',
    decision: { chosen: 'r', target: null },
  });
});

test('a message without a decision was observed only if it says so', () => {
  const item: HistoryItem = {
    time: null,
    text: '',
    fields: '',
    decision: null,
    position: null,
    unread: 'it has another key',
  };
  const decision = { chosen: null, target: null };
  expect(fateOf({ message: earlier('{}'), item })).toBeNull();
  expect(fateOf({ message: earlier('{}', { observed: true }), item })).toBe('observed');
  expect(fateOf({ message: earlier('{}'), item: { ...item, decision } })).toBe('decided');
});

test('durations have at most two units', () => {
  expect([0, 20, 5000, 65_000, 3_600_000, 90_061_000].map(duration)).toEqual([
    '0s',
    '20ms',
    '5s',
    '1m 5s',
    '1h',
    '1d 1h',
  ]);
});

describe('the messages that decided', () => {
  const node = (more: Partial<TraceNode>): TraceNode => ({
    kind: 'test',
    text: 'x',
    result: 'true',
    ...more,
  });
  const element = (
    position: number,
    when: TraceNode,
  ): { index: number; element: never; when: TraceNode } => ({
    index: position,
    element: { text: 'p', recorded: [position] } as never,
    when,
  });
  const shown = (...elements: ReturnType<typeof element>[]): Pick<TraceNode, 'elements'> => ({
    elements: { shown: elements, more: 0, skipped: 0 },
  });

  test('of `any`, the element that holds; of a negated one, none; of a failed `all`, the one that fails', () => {
    const elements = shown(element(3, node({ result: 'false' })), element(4, node({})));
    expect(decidingMessages([node({ kind: 'any', ...elements })])).toEqual([4]);
    const failed = shown(element(3, node({})), element(4, node({ result: 'false' })));
    const all = node({ kind: 'all', result: 'false', ...failed });
    expect(decidingMessages([node({ kind: 'not', children: [all] })])).toEqual([4]);
    const none = node({ kind: 'any', result: 'false', ...shown(element(3, node({ result: 'false' }))) });
    expect(decidingMessages([node({ kind: 'not', children: [none] })])).toEqual([]);
  });

  test('of a count, the counted ones; of an `or`, the ones of the part that holds', () => {
    const count = node({ operands: [{ text: 'count', recorded: [5, 2] }] });
    const other = node({ result: 'false', operands: [{ text: 'other', recorded: [7] }] });
    expect(decidingMessages([node({ kind: 'or', children: [other, count] })])).toEqual([2, 5]);
    expect(decidingMessages([node({ kind: 'let', children: [count] }), other])).toEqual([2, 5, 7]);
  });

  test('of a count, those that its counted elements read', () => {
    const read = (position: number, result: TraceNode['result']): TraceNode =>
      node({ kind: 'any', result, ...shown(element(position, node({ result }))) });
    const tags = [1, 3].map((position) => ({
      index: position,
      element: { text: 't' } as never,
      when: read(position, position === 1 ? 'true' : 'false'),
    }));
    const count = node({ operands: [{ text: 'count', elements: { shown: tags, more: 0, skipped: 0 } }] });
    expect(decidingMessages([count])).toEqual([1]);
  });

  test('inside the element of another, too', () => {
    const inner = node({ operands: [{ text: 'q', recorded: [1] }] });
    const outer = node({
      kind: 'any',
      ...shown(element(6, node({ kind: 'and', children: [inner, node({})] }))),
    });
    expect(decidingMessages([outer])).toEqual([1, 6]);
  });
});
