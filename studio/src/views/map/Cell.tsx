// A cell of the decision table. In the chosen row, a cell is an input: Enter or leaving it changes
// the rules, Escape restores it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RowChange, TableRow } from '../../api/types';
import { changeRow } from './edit-rows';

interface Props {
  row: TableRow;
  /** Name of the column, for screen readers. */
  label: string;
  text: string;
  change: (text: string) => RowChange;
}

export function CellInput({ row, label, text, change }: Props): JSX.Element {
  const [draft, setDraft] = useState(text);
  const [wrong, setWrong] = useState(false);
  useEffect(() => setDraft(text), [text]);
  const commit = async (): Promise<void> => {
    if (draft.trim() === text) return;
    setWrong(!(await changeRow(row.key, change(draft))));
  };
  return (
    <input
      class="cell-input mono"
      aria-label={`${row.name}: ${label}`}
      aria-invalid={wrong}
      value={draft}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onBlur={() => void commit()}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.currentTarget.blur();
        if (event.key === 'Escape') {
          setDraft(text);
          setWrong(false);
        }
      }}
    />
  );
}
