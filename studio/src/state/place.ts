// The current view, which the URL fragment stores together with the token. Also the line or
// statement that a view should show when another view opens it.
import { signal } from '@preact/signals';
import type { SourceRange } from '../api/types';

export const VIEWS = ['decide', 'replay', 'map', 'edit', 'report', 'live'] as const;
export type View = (typeof VIEWS)[number];

function fragment(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

/** The token that authenticates the page to the server. */
export function token(): string {
  return fragment().get('token') ?? '';
}

function fromAddress(): View {
  const name = fragment().get('view');
  return VIEWS.find((view) => view === name) ?? 'decide';
}

export const view = signal<View>(fromAddress());

/** Follows the URL, so that the browser's back and forward buttons work. */
export function followAddress(): void {
  addEventListener('hashchange', () => (view.value = fromAddress()));
}

/** Returns the URL of a view. */
export function addressOf(to: View): string {
  const next = fragment();
  next.set('view', to);
  return `#${next.toString()}`;
}

export function go(to: View): void {
  location.hash = addressOf(to);
}

/** A line that the editor should show. */
export interface Target {
  file: string;
  line: number;
}

export const editTarget = signal<Target | null>(null);

/** Opens the editor at a line. */
export function openInEditor(place: Pick<SourceRange, 'file' | 'line'>): void {
  editTarget.value = { file: place.file, line: place.line };
  go('edit');
}

/** Key of a statement that the map should show. */
export const mapTarget = signal<string | null>(null);

export function openInMap(key: string): void {
  mapTarget.value = key;
  go('map');
}
