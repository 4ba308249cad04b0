// Single-key shortcuts. They are inactive while the user types, and can be turned off.
import { shortcuts } from '../state/prefs';
import { go } from '../state/place';
import { views } from '../state/studio';

function types(target: EventTarget | undefined): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

/** Listens for shortcuts until the returned function is called. */
export function followKeys(help: () => void): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (!shortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
    // Inside a shadow root, `event.target` is the host; the editor is in a shadow root.
    if (types(event.composedPath()[0]) || document.querySelector('dialog[open]')) return;
    const view = views.value[Number(event.key) - 1];
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
