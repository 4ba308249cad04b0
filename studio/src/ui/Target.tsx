// The name of a target with its colour.
import type { JSX } from 'preact';
import { hue } from './handlers';

export function Target({ name, jump = false }: { name: string; jump?: boolean }): JSX.Element {
  return (
    <span class="target">
      <span class="swatch" style={{ background: hue(name) }} aria-hidden="true" />
      <span class="mono">{jump ? `↳ ${name}` : name}</span>
    </span>
  );
}
