// A line diff. Every line has a sign, so the diff is readable without colour.
import type { JSX } from 'preact';
import type { DiffLine } from '../api/types';
import { t } from '../i18n';

const SIGNS: Record<DiffLine['kind'], string> = { same: ' ', removed: '−', added: '+' };

/** Returns the changed lines with `around` lines of context; null marks omitted lines. */
export function hunks(lines: readonly DiffLine[], around = 3): (DiffLine | null)[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some((line) => line.kind !== 'same'),
  );
  const shown: (DiffLine | null)[] = [];
  lines.forEach((line, index) => {
    if (near[index]) shown.push(line);
    else if (index === 0 || near[index - 1]) shown.push(null);
  });
  return shown;
}

export function Diff({ lines, label }: { lines: readonly DiffLine[]; label: string }): JSX.Element {
  return (
    // A scrollable element must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div class="diff scroll mono" role="group" aria-label={label} tabIndex={0}>
      {hunks(lines).map((line, index) =>
        line === null ? (
          <div key={index} class="diff-gap" aria-hidden="true">
            ⋯
          </div>
        ) : (
          <div key={index} class={`diff-line ${line.kind}`}>
            <span aria-hidden="true">{SIGNS[line.kind]}</span>
            {line.kind !== 'same' && <span class="visually-hidden">{t().diff[line.kind]}: </span>}
            <span class="diff-text">{line.text}</span>
          </div>
        ),
      )}
    </div>
  );
}
