// The keys of the page: single ones, where nothing is being typed, which a person may turn off.
import { shortcuts } from '../state/prefs';
import { go, VIEWS } from '../state/place';

function types(target: EventTarget | undefined): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

/** Follows the keys until the function that it returns is called. */
export function followKeys(help: () => void): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (!shortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
    // Behind a shadow root the target of the event itself is the host; the editor stands in one.
    if (types(event.composedPath()[0]) || document.querySelector('dialog[open]')) return;
    const view = VIEWS[Number(event.key) - 1];
    if (view) go(view);
    else if (event.key === '?') help();
    else if (event.key === '/')
      document.querySelector<HTMLInputElement>('[data-search], [type=search]')?.focus();
    else return;
    event.preventDefault();
  };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}
