// Series of counts as stacked columns.
import type { Series } from '../../api/types';

export interface Stacked {
  total: number;
  parts: { key: string; count: number; below: number }[];
}

/** Returns one column per bucket, with the series stacked in order; zero counts are left out. */
export function stack(series: readonly Series[]): Stacked[] {
  const length = Math.max(0, ...series.map((each) => each.counts.length));
  return Array.from({ length }, (_, index) => {
    let total = 0;
    const parts: Stacked['parts'] = [];
    for (const each of series) {
      const count = each.counts[index] ?? 0;
      if (count > 0) parts.push({ key: each.key, count, below: total });
      total += count;
    }
    return { total, parts };
  });
}
