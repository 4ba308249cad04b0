// Coverage in the editor: which statements and conditions the tests, or the replayed messages, have
// seen both ways.
import { signal } from '@preact/signals';
import type { CoverageItem } from '../../api/types';
import { t } from '../../i18n';
import type { Sign } from './margin';

/** Whether the editor shows coverage. */
export const showsCoverage = signal(false);
/** The latest coverage; null before the first. */
export const coverage = signal<readonly CoverageItem[] | null>(null);

/** Returns the signs of a file: one per line, which counts all items of the line. */
export function coverageSigns(items: readonly CoverageItem[], file: string): Sign[] {
  const words = t().coverage;
  const byLine = new Map<number, CoverageItem[]>();
  for (const item of items) {
    if (item.file === file) byLine.set(item.line, [...(byLine.get(item.line) ?? []), item]);
  }
  return [...byLine].map(([line, all]): Sign => {
    const gaps = all.flatMap((item) => (item.gap === null ? [] : [`${item.name}: ${item.gap}`]));
    if (gaps.length === 0) return { line, kind: 'passed', sign: '●', words: words.both };
    const tried = all.some((item) => item.tried > 0);
    return tried
      ? { line, kind: 'partly', sign: '◐', words: [words.partly, ...gaps].join('\n') }
      : { line, kind: 'failed', sign: '○', words: words.never };
  });
}
