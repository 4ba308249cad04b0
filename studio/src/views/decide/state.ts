// The message that is decided on, and what was said of it.
import { computed, effect, signal } from '@preact/signals';
import type { Decided, MessageOf } from '../../api/types';
import { api, isAborted, type RequestError } from '../../client';
import { language } from '../../state/prefs';
import { entryOf, overview, revision, version } from '../../state/studio';
import { write } from './message';

export const entry = signal('');
export const message = signal('');
export const context = signal('{}');
/** The row of a replay that the message is from, with its text as it was opened: what is private in it is masked. */
const opened = signal<{ of: MessageOf; text: string } | null>(null);
/** The row that is decided on in place of the text, as long as nobody has edited that. */
export const row = computed(() => (opened.value?.text === message.value ? opened.value.of : null));
/** What stands in the place of a private value. */
const MASK = '"•••"';
/** True where the text is decided on as it stands, with masks for values: those are not the values that they stand for. */
export const masksTyped = computed(() => row.value === null && message.value.includes(MASK));
export const decided = signal<Decided | null>(null);
export const deciding = signal(false);
export const trouble = signal<string | null>(null);

export const entryInfo = computed(() => entryOf(entry.value));

/** Takes a message to decide on. */
export function take(of: string, text: string, from: MessageOf | null = null): void {
  entry.value = of;
  message.value = text;
  opened.value = from && { of: from, text };
}

/** What is decided on: changes exactly when an answer would be another. */
export const question = computed(() => ({
  version: version.value,
  entry: entry.value,
  message: row.value ? '' : message.value,
  row: row.value,
  context: entryInfo.value?.kind === 'payload' ? context.value : null,
}));

/** The question with the state of the rules that it is asked of, and the language of its answer. */
const state = computed(() => ({
  asking: question.value,
  revision: revision.value,
  language: language.value,
}));

let following = false;

/** Decides whenever the message, the entry or the rules change. Begun once, by the first look at the view. */
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
