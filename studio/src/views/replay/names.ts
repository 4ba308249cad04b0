// How statements are called where only their keys stand.
import type { ReplaySums, StatementCount } from '../../api/types';
import { t } from '../../i18n';

type Counts = Pick<ReplaySums, 'counts'>;

/** The counts of some sums by key: names are asked for at every drawing, of hundreds of statements. */
const known = new WeakMap<readonly StatementCount[], Map<string, StatementCount>>();

function countOf({ counts }: Counts, key: string): StatementCount | undefined {
  let byKey = known.get(counts);
  if (!byKey) {
    byKey = new Map(counts.map((count) => [count.key, count]));
    known.set(counts, byKey);
  }
  return byKey.get(key);
}

/** The name of a statement, its table before it where that is not the one of routes outside any table. */
export function nameOf(sums: Counts, key: string): string {
  if (key === '*') return t().replay.others;
  const count = countOf(sums, key);
  if (!count) return key;
  const name = count.name === 'none' && key.endsWith('/') ? t().replay.none : count.name;
  return count.table === 'routes' ? name : `${count.table}.${name}`;
}
