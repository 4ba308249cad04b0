// A short message about a finished action. It disappears after a few seconds, and screen readers
// read it.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';

const words = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a short message for five seconds. */
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
