// The mark of a three-valued result: a sign, a colour, and a word for screen readers.
import type { JSX } from 'preact';
import { t } from '../i18n';

export type Truth = 'true' | 'false' | 'unknown' | 'skipped';

const SIGNS: Record<Truth, string> = { true: '✓', false: '✗', unknown: '?', skipped: '–' };

/** Returns the sign of a result. */
export function sign(truth: Truth): string {
  return SIGNS[truth];
}

export function Mark({ truth }: { truth: Truth }): JSX.Element {
  return (
    <span class={`mark ${truth}`} title={t().truth[truth]}>
      <span aria-hidden="true">{sign(truth)}</span>
      <span class="visually-hidden">{t().truth[truth]}</span>
    </span>
  );
}

/** Explains the four marks in one line. */
export function Legend(): JSX.Element {
  const all: Truth[] = ['true', 'false', 'unknown', 'skipped'];
  return (
    <p class="legend row small soft">
      {all.map((truth) => (
        <span key={truth} class="row">
          <span class={`mark ${truth}`} aria-hidden="true">
            {sign(truth)}
          </span>
          {t().truth[truth]}
        </span>
      ))}
    </p>
  );
}
