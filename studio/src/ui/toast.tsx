// A short message about a finished action, above the view. It covers nothing, disappears after a
// few seconds or with its view, and screen readers read it.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { view } from '../state/place';

const words = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a short message for five seconds. */
export function say(text: string): void {
  words.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (words.value = ''), 5000);
}

// A message belongs to the view in which the action was taken.
view.subscribe(() => (words.value = ''));

export function Toast(): JSX.Element {
  return (
    <div role="status" aria-live="polite" class="toast-line">
      {words.value && <div class="toast">{words.value}</div>}
    </div>
  );
}
