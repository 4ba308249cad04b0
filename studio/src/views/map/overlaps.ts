// Overlaps of a decision table, by row.
import type { DecisionTable } from '../../api/types';

export interface RowOverlaps {
  /** Keys of the rows that can match the same message. */
  keys: Set<string>;
  /** Whether one of these rows has another target, so that the order matters. */
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
