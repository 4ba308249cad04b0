// A few words about what was done, which go by themselves; read out by screen readers.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';

const words = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says a few words for some seconds. */
export function say(text: string): void {
  words.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (words.value = ''), 5000);
}

export function Toast(): JSX.Element {
  return (
    <div role="status" aria-live="polite">
      {words.value && <div class="toast">{words.value}</div>}
    </div>
  );
}
