// How statements are called where only their keys stand.
import type { ReplaySums } from '../../api/types';
import { t } from '../../i18n';

/** The name of a statement, its table before it where that is not the one of routes outside any table. */
export function nameOf(sums: Pick<ReplaySums, 'counts'>, key: string): string {
  if (key === '*') return t().replay.others;
  const count = sums.counts.find((each) => each.key === key);
  if (!count) return key;
  const name = count.name === 'none' && key.endsWith('/') ? t().replay.none : count.name;
  return count.table === 'routes' ? name : `${count.table}.${name}`;
}
