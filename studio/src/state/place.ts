// Where a person is: the view, in the address behind `#` beside the token, and the place that another view is asked to show.
import { signal } from '@preact/signals';
import type { Place } from '../api/types';

export const VIEWS = ['decide', 'replay', 'map', 'edit', 'report'] as const;
export type View = (typeof VIEWS)[number];

function fragment(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

/** The token by which the server knows this page. */
export function token(): string {
  return fragment().get('token') ?? '';
}

function fromAddress(): View {
  const name = fragment().get('view');
  return VIEWS.find((view) => view === name) ?? 'decide';
}

export const view = signal<View>(fromAddress());

/** Follows the address, so that the browser's own back and forward work. */
export function followAddress(): void {
  addEventListener('hashchange', () => (view.value = fromAddress()));
}

/** The address of a view. */
export function addressOf(to: View): string {
  const next = fragment();
  next.set('view', to);
  return `#${next.toString()}`;
}

export function go(to: View): void {
  location.hash = addressOf(to);
}

/** A line that the editor is asked to show. */
export interface Target {
  file: string;
  line: number;
}

export const editTarget = signal<Target | null>(null);

/** Opens the editor at a place. */
export function openInEditor(place: Pick<Place, 'file' | 'line'>): void {
  editTarget.value = { file: place.file, line: place.line };
  go('edit');
}

/** A statement that the map is asked to show, by its key. */
export const mapTarget = signal<string | null>(null);

export function openInMap(key: string): void {
  mapTarget.value = key;
  go('map');
}
