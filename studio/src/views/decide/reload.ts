// Keeps the message at hand in the storage of the browser's tab, so that a reload does not lose it.
// The storage ends with the tab.
import { effect } from '@preact/signals';
import { readKept } from './kept-file';
import { keptMessage, message, row, takeKept } from './state';

const NAME = 'rulec.message';

let keeping = false;

/**
 * Takes the message from before a reload, unless another view has opened a message. Stores the
 * message at hand whenever it changes. Started once, when the view is first shown.
 */
export function keepOverReload(): void {
  if (keeping) return;
  keeping = true;
  if (message.peek() === '') restore();
  effect(store);
}

function restore(): void {
  try {
    const [before] = readKept(`[${sessionStorage.getItem(NAME) ?? ''}]`, '') ?? [];
    if (before) takeKept(before);
  } catch {
    // The browser may forbid storage.
  }
}

function store(): void {
  const kept = keptMessage('');
  try {
    // The message of a replay is taken from its row: the text may have masks.
    if (row.value === null) sessionStorage.setItem(NAME, JSON.stringify(kept));
    else sessionStorage.removeItem(NAME);
  } catch {
    // See `restore`. Or the message exceeds the size of the storage.
  }
}
