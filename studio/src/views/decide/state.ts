// The message to decide, and its decision.
import { computed, effect, signal } from '@preact/signals';
import type { Decided, EarlierMessage, History, KeptMessage, MessageOf } from '../../api/types';
import { api, isAborted, type RequestError } from '../../client';
import { language } from '../../state/prefs';
import { entryOf, overview, revision, version } from '../../state/studio';
import { parse, write } from './message';
import { MOST_EARLIER } from './past';

export const entry = signal('');
export const message = signal('');
export const context = signal('{}');
/** The earlier messages of the session, which rules read as `history`. */
export const history = signal<readonly EarlierMessage[]>([]);
/**
 * Number of older messages of the session that an opened replay row omits, because there are too
 * many.
 */
export const older = signal(0);
/**
 * Reason why the history of an opened replay row may lack messages that were recorded; null if it
 * is complete.
 */
export const rowGap = signal<string | null>(null);
/** The replay row that the message comes from, with its masked texts when it was opened. */
const opened = signal<{ of: MessageOf; text: string; context: string } | null>(null);
/** The row to decide in place of the texts, as long as they are unedited. */
export const row = computed(() =>
  opened.value?.text === message.value && opened.value.context === context.value ? opened.value.of : null,
);
/** The text that replaces a private value. */
export const MASK = '•••';
/**
 * Whether a text that contains masks in place of original values is sent to the server. The
 * decision may then differ from the decision on the original values.
 */
export const masksTyped = computed(() => {
  const { row, message, context, history } = question.value;
  const texts = row === null ? [message, context ?? ''] : [];
  const earlier = history.filter((each) => each.row === null).map((each) => each.message);
  return [...texts, ...earlier].some((text) => text.includes(`"${MASK}"`));
});
export const decided = signal<Decided | null>(null);
/** The earlier messages of the latest request, with what the response says about them. */
export const answeredHistory = signal<{ messages: readonly EarlierMessage[]; history: History } | null>(null);
export const deciding = signal(false);
export const trouble = signal<string | null>(null);

export const entryInfo = computed(() => entryOf(entry.value));

/** True if decisions of the entry read the earlier messages. */
export const readsHistory = computed(() => entryInfo.value?.reads_history ?? false);

/**
 * The data that come with a message when it is opened. If `history` is undefined, the earlier
 * messages stay unchanged.
 */
export interface Opened {
  row?: MessageOf;
  context?: string | null;
  history?: readonly EarlierMessage[];
  older?: number;
  gap?: string | null;
}

/** Sets the message to decide. */
export function take(of: string, text: string, from: Opened = {}): void {
  entry.value = of;
  message.value = text;
  if (from.context != null) context.value = from.context;
  if (from.history) {
    history.value = from.history;
    older.value = from.older ?? 0;
    rowGap.value = from.gap ?? null;
  }
  opened.value = from.row ? { of: from.row, text, context: context.value } : null;
}

/**
 * Converts the message that is decided to a saved message with this name, including its context and
 * history.
 */
export function keptMessage(name: string): KeptMessage {
  const kept: KeptMessage = { name, entry: entry.value, message: message.value };
  if (entryInfo.value?.kind === 'payload') kept.context = context.value;
  // A replay is not saved, so messages of its rows are saved as texts.
  const earlier = readsHistory.value ? history.value.map((each) => ({ ...each, row: null })) : [];
  return earlier.length > 0 ? { ...kept, history: earlier } : kept;
}

/** Sets the message to decide to a saved message. */
export function takeKept({ entry, message, context, history = [] }: KeptMessage): void {
  take(entry, message, { context, history });
}

/**
 * Adds the message that is decided, with its decision, to the earlier messages. For a payload, adds
 * its context as a message without a decision. Returns false if there is no message or no decision
 * yet, or if there are too many earlier messages.
 */
export function recordMessage(): boolean {
  // While a decision is awaited, or after a request was refused, the latest decision belongs to an
  // earlier text.
  const isCurrent = !deciding.value && trouble.value === null;
  if (!isCurrent || history.value.length >= MOST_EARLIER) return false;
  const answer = decided.value;
  const isPayload = answer?.kind === 'payload';
  const text = isPayload ? context.value : message.value;
  if (!parse(text) || (!isPayload && answer?.kind !== 'decision')) return false;
  const names = answer.kind === 'decision' ? answer.explanation : null;
  const decision = names && { chosen: names.chosen, target: names.target };
  const recorded = { message: text, row: row.value, observed: isPayload, decision };
  history.value = [...history.value, recorded];
  return true;
}

/** The request for a decision. It changes exactly when an input of the decision changes. */
export const question = computed(() => ({
  version: version.value,
  entry: entry.value,
  message: row.value ? '' : message.value,
  row: row.value,
  context: entryInfo.value?.kind === 'payload' ? context.value : null,
  history: readsHistory.value ? [...history.value] : [],
}));

/** The request with the revision of the rules and the language of the response. */
const state = computed(() => ({
  asking: question.value,
  revision: revision.value,
  language: language.value,
}));

let following = false;

/**
 * Decides again whenever the message, the entry or the rules change. Started once, when the view is
 * first shown.
 */
export function followMessage(): void {
  if (following) return;
  following = true;
  effect(() => {
    const known = overview.value;
    if (!known || known.entries.length === 0) return;
    if (!known.entries.some((each) => each.name === entry.peek())) {
      entry.value = known.entries[0]?.name ?? '';
    }
    if (message.peek() === '') message.value = write((known.example ?? { text: '' }) as never);
  });
  let asked: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const { asking } = state.value;
    const messages = asking.history;
    if (asking.entry === '' && overview.value?.errors === 0) return;
    asked?.abort();
    clearTimeout(timer);
    deciding.value = true;
    const abort = new AbortController();
    asked = abort;
    timer = setTimeout(() => {
      api.decide(asking, abort.signal).then(
        (answer) => {
          decided.value = answer;
          if ('history' in answer) answeredHistory.value = { messages, history: answer.history };
          trouble.value = null;
          deciding.value = false;
        },
        (error: unknown) => {
          if (isAborted(error)) return;
          trouble.value = (error as RequestError).message;
          deciding.value = false;
        },
      );
    }, 60);
  });
}
