// Display names of statements, by key.
import type { ReplaySums, StatementCount } from '../../api/types';
import { t } from '../../i18n';

type Counts = Pick<ReplaySums, 'counts'>;

/** Counts of a result by key, cached because rendering looks up hundreds of names. */
const known = new WeakMap<readonly StatementCount[], Map<string, StatementCount>>();

function countOf({ counts }: Counts, key: string): StatementCount | undefined {
  let byKey = known.get(counts);
  if (!byKey) {
    byKey = new Map(counts.map((count) => [count.key, count]));
    known.set(counts, byKey);
  }
  return byKey.get(key);
}

/** Returns the name of a statement, prefixed with its table unless the table is `routes`. */
export function nameOf(sums: Counts, key: string): string {
  if (key === '*') return t().replay.others;
  const count = countOf(sums, key);
  if (!count) return key;
  const name = count.name === 'none' && key.endsWith('/') ? t().replay.none : count.name;
  return count.table === 'routes' ? name : `${count.table}.${name}`;
}

/** Returns the name of a statement's target, such as its handler. It determines the colour. */
export function targetOf(sums: Counts, key: string): string {
  return countOf(sums, key)?.to ?? '';
}
