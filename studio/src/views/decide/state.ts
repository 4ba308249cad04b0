// The message to decide, and its decision.
import { computed, effect, signal } from '@preact/signals';
import type { Decided, MessageOf } from '../../api/types';
import { api, isAborted, type RequestError } from '../../client';
import { language } from '../../state/prefs';
import { entryOf, overview, revision, version } from '../../state/studio';
import { write } from './message';

export const entry = signal('');
export const message = signal('');
export const context = signal('{}');
/** The replay row that the message comes from, with its masked text when it was opened. */
const opened = signal<{ of: MessageOf; text: string } | null>(null);
/** The row to decide in place of the text, as long as the text is unedited. */
export const row = computed(() => (opened.value?.text === message.value ? opened.value.of : null));
/** The text that replaces a private value. */
const MASK = '"•••"';
/**
 * Whether the text itself is decided although it contains masks, which are not the original values.
 */
export const masksTyped = computed(() => row.value === null && message.value.includes(MASK));
export const decided = signal<Decided | null>(null);
export const deciding = signal(false);
export const trouble = signal<string | null>(null);

export const entryInfo = computed(() => entryOf(entry.value));

/** Sets the message to decide. */
export function take(of: string, text: string, from: MessageOf | null = null): void {
  entry.value = of;
  message.value = text;
  opened.value = from && { of: from, text };
}

/** The request; it changes exactly when the decision may change. */
export const question = computed(() => ({
  version: version.value,
  entry: entry.value,
  message: row.value ? '' : message.value,
  row: row.value,
  context: entryInfo.value?.kind === 'payload' ? context.value : null,
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
