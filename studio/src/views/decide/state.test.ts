// @vitest-environment happy-dom
// State of the view Decide: warnings about masks, kept messages, and recorded messages.
import { beforeEach, expect, test } from 'vitest';
import type { Decided, EntryInfo, EntryKind, MessageOf } from '../../api/types';
import { overview } from '../../state/studio';
import { MOST_EARLIER } from './past';
import {
  context,
  decided,
  deciding,
  history,
  keptMessage,
  masksTyped,
  recordMessage,
  take,
  takeKept,
  trouble,
} from './state';

const entryInfo = (name: string, kind: EntryKind): EntryInfo => ({
  name,
  kind,
  docs: '',
  statements: [],
  outcomes: [],
  reads_history: true,
  fields: [],
});
const row: MessageOf = { replay: 1, line: 2 };
const masked = '{"user": "•••"}';
const earlier = (text: string, of: MessageOf | null): (typeof history.value)[number] => ({
  message: text,
  row: of,
  observed: false,
  decision: null,
});

beforeEach(() => {
  overview.value = {
    entries: [entryInfo('routes', 'routes'), entryInfo('action', 'payload')],
    errors: 0,
    first_error: null,
    targets: [],
    example: {},
  };
  context.value = '{}';
  take('routes', '{}', { history: [] });
});

test('masks count in every text that is read as it is written', () => {
  expect(masksTyped.value).toBe(false);
  take('routes', masked);
  expect(masksTyped.value).toBe(true);
  take('routes', masked, { row, history: [earlier(masked, row)] });
  expect(masksTyped.value).toBe(false);
  take('routes', masked, { row, history: [earlier(masked, row), earlier(masked, null)] });
  expect(masksTyped.value).toBe(true);
  // Only a payload has a context.
  take('routes', '{}', { context: masked, history: [] });
  expect(masksTyped.value).toBe(false);
  take('action', '{}', { context: masked, history: [] });
  expect(masksTyped.value).toBe(true);
});

test('a kept message has the context of a payload', () => {
  take('action', '{"name": "x"}', { context: '{"tool": "y"}', history: [earlier('{}', row)] });
  const kept = keptMessage('judged');
  expect(kept).toEqual({
    name: 'judged',
    entry: 'action',
    message: '{"name": "x"}',
    context: '{"tool": "y"}',
    history: [earlier('{}', null)],
  });
  context.value = '{}';
  takeKept(kept);
  expect(context.value).toBe('{"tool": "y"}');
  take('routes', '{}');
  expect(keptMessage('alone').context).toBeUndefined();
});

test('a message is recorded only with its own decision', () => {
  const names = { chosen: 'r', target: 'h' };
  decided.value = { kind: 'decision', explanation: names } as unknown as Decided;
  const recorded = (): boolean[] => [recordMessage(), history.value.length > 0];
  deciding.value = true;
  expect(recorded()).toEqual([false, false]);
  deciding.value = false;
  trouble.value = 'the studio does not answer';
  expect(recorded()).toEqual([false, false]);
  trouble.value = null;
  expect(recorded()).toEqual([true, true]);
  expect(history.value).toEqual([{ message: '{}', row: null, observed: false, decision: names }]);
  history.value = Array.from({ length: MOST_EARLIER }, () => earlier('{}', null));
  expect(recordMessage()).toBe(false);
});
