// The earlier messages of a session: reading them from pasted lines, their timeline, and which of
// them decided.
import type { EarlierMessage, Elements, History, HistoryItem, Mark, TraceNode } from '../../api/types';
import { isObject, type JsonObject, parse, withValue, write } from './message';

/** Maximum number of earlier messages. */
export const MOST_EARLIER = 1000;
/** Maximum number of characters of a message that has no summary yet. */
const LONG = 240;

/** A row of the timeline: an earlier message, and what the server says about it. */
export interface TimelineRow {
  message: EarlierMessage;
  item: HistoryItem;
}

/** What happened to an earlier message: it was decided or only observed; null if it was not read. */
export function fateOf({ message, item }: TimelineRow): 'decided' | 'observed' | null {
  if (item.decision) return 'decided';
  return message.observed ? 'observed' : null;
}

/** What pasted text contains: messages, or the reason why it contains none. */
export type Pasted = { messages: EarlierMessage[] } | { line: number; reason: 'noJson' | 'noMessage' };

/**
 * Reads messages: one JSON object, or one object per line. A message with `observe` is only
 * recorded. A line of a decision log is its message with its decision.
 */
export function readMessages(text: string): Pasted {
  const whole = text.trim() === '' ? null : parse(text);
  if (whole) return one(whole, text, 1);
  const messages: EarlierMessage[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const object = parse(line);
    if (!object) return { line: index + 1, reason: 'noJson' };
    const read = one(object, line, index + 1);
    if ('line' in read) return read;
    messages.push(...read.messages);
  }
  return { messages };
}

function one(object: JsonObject, text: string, line: number): Pasted {
  const { entry, route, generation } = object;
  if (typeof entry === 'string' && route !== undefined && generation !== undefined) {
    if (!isObject(object.message)) return { line, reason: 'noMessage' };
    const target = object.target ?? object.handler;
    const decision = { chosen: textOrNull(route), target: textOrNull(target) };
    return { messages: [{ message: write(object.message), row: null, observed: false, decision }] };
  }
  if (object.observe === true) {
    const message = withValue(object, ['observe'], undefined);
    return { messages: [{ message: write(message), row: null, observed: true, decision: null }] };
  }
  return { messages: [{ message: text.trim(), row: null, observed: false, decision: null }] };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Returns the field `now` of a message in milliseconds since 1970; null if it has none. */
export function timeOf(message: string): number | null {
  const now = parse(message)?.now;
  const time = typeof now === 'string' ? Date.parse(now) : NaN;
  return Number.isNaN(time) ? null : time;
}

/** Units of durations in rules, the longest first, with their lengths in milliseconds. */
const UNITS: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

/**
 * Formats a duration in the units of rules, such as `1h 5m`, with at most two units; truncates the
 * rest.
 */
export function duration(milliseconds: number): string {
  const first = UNITS.findIndex(([, length]) => milliseconds >= length);
  const parts: string[] = [];
  let rest = milliseconds;
  for (const [unit, length] of UNITS.slice(Math.max(0, first)).slice(0, 2)) {
    const count = Math.floor(rest / length);
    if (count > 0) parts.push(`${count}${unit}`);
    rest -= count * length;
  }
  return parts.join(' ') || '0s';
}

/**
 * Returns the rows of the timeline, oldest first; messages without a time come last. A message
 * without an answer is shown as its text.
 */
export function timeline(
  messages: readonly EarlierMessage[],
  answered: { messages: readonly EarlierMessage[]; history: History } | null,
): TimelineRow[] {
  const items = new Map<EarlierMessage, HistoryItem>();
  answered?.messages.forEach((message, index) => {
    const item = answered.history.messages[index];
    if (!item) return;
    // For a message that could not be read, the server returns only the reason.
    const isUnknown = item.unread !== null && item.text === '' && item.fields === '';
    items.set(message, isUnknown ? { ...unanswered(message), unread: item.unread } : item);
  });
  const rows = messages.map((message) => ({ message, item: items.get(message) ?? unanswered(message) }));
  // Times are cut to milliseconds, and positions are not. The sort is stable: messages of the same
  // time without positions keep their order.
  return rows.sort(({ item: a }, { item: b }) => compare(a.time, b.time) || compare(a.position, b.position));
}

/** Compares two numbers; null comes last. */
function compare(a: number | null, b: number | null): number {
  return a === b ? 0 : (a ?? Infinity) - (b ?? Infinity);
}

function unanswered({ message, decision }: EarlierMessage): HistoryItem {
  const text = message.replace(/\s+/g, ' ').slice(0, LONG);
  return { time: timeOf(message), text, fields: '', decision, position: null, unread: null };
}

/**
 * Returns the positions of the earlier messages that decided conditions: the messages from which a
 * value was read, or whose elements decided a quantifier.
 */
export function decidingMessages(nodes: readonly TraceNode[]): number[] {
  const found = new Set<number>();
  nodes.forEach((node) => collect(node, found));
  return [...found].sort((a, b) => a - b);
}

function collect(node: TraceNode, found: Set<number>): void {
  if (node.note === 'decided' || node.note === 'left_out') return;
  for (const operand of node.operands ?? []) {
    operand.recorded?.forEach((position) => found.add(position));
    collectElements(operand.elements, 'true', found);
  }
  // An element decides `any` if it is true, and `all` if it is false.
  const decides = node.kind === 'all' ? 'false' : 'true';
  if (node.result === decides) collectElements(node.elements, decides, found);
  const joins = node.kind === 'and' || node.kind === 'or' || node.kind.endsWith('_usable');
  for (const child of node.children ?? []) {
    if (!joins || child.result === node.result) collect(child, found);
  }
}

/**
 * Adds the messages of those elements whose condition has this result. For a `count`, these are the
 * counted elements.
 */
function collectElements(elements: Elements | undefined, result: Mark, found: Set<number>): void {
  for (const { element, when } of elements?.shown ?? []) {
    if (when.result !== result) continue;
    element.recorded?.forEach((position) => found.add(position));
    collect(when, found);
  }
}
