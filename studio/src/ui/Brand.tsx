// The mark of the studio: one line that forks, and the branch that is taken. `style/icon.svg` is the
// same drawing for the browser's tab.
import type { JSX } from 'preact';

export function Brand(): JSX.Element {
  return (
    <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <g class="line" fill="none" stroke-width="2.4" stroke-linecap="round">
        <path d="M7 16h5c5 0 4-8 9-8h1" opacity="0.5" />
        <path d="M12 16h10" opacity="0.5" />
        <path d="M7 16h5c5 0 4 8 9 8h1" />
      </g>
      <circle class="knob" cx="7" cy="16" r="2.4" />
      <circle class="knob" cx="24" cy="24" r="3.6" />
    </svg>
  );
}
