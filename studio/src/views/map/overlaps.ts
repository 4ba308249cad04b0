// The overlaps of a decision table, by row.
import type { DecisionTable } from '../../api/types';

export interface RowOverlaps {
  /** The keys of the rows that may hold together with it. */
  keys: Set<string>;
  /** True where one of them leads elsewhere, so that the order decides. */
  differs: boolean;
}

export function overlapsOf(table: Pick<DecisionTable, 'overlaps'>): Map<string, RowOverlaps> {
  const rows = new Map<string, RowOverlaps>();
  const add = (key: string, other: string, differs: boolean): void => {
    const row = rows.get(key) ?? { keys: new Set<string>(), differs: false };
    row.keys.add(other);
    row.differs ||= differs;
    rows.set(key, row);
  };
  for (const overlap of table.overlaps) {
    add(overlap.first, overlap.second, overlap.differs);
    add(overlap.second, overlap.first, overlap.differs);
  }
  return rows;
}
