// Gives each target, such as a handler, the same colour in all views: Decide, Replay, Map and
// reports. The colour follows from the position of the target in the rules.
import { computed, signal } from '@preact/signals';

/** Names of the targets of the rules, in source order. */
export const targets = signal<readonly string[]>([]);

/** Number of colours; `--h0` to `--h11` in the style sheet. Further targets use them again. */
const HUES = 12;

const positions = computed(() => new Map(targets.value.map((name, index) => [name, index])));

/** Returns the colour of a target; grey for a target that the rules do not have, such as a jump. */
export function hue(name: string): string {
  const position = positions.value.get(name);
  return position === undefined ? 'var(--h-none)' : `var(--h${position % HUES})`;
}
