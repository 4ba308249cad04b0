// A cell of the decision table. In the chosen row, a cell is an input: Enter or leaving it changes
// the rules, Escape restores it.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
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
  /** The typed text that the table does not have yet; null if there is none. */
  const [draft, setDraft] = useState<string | null>(null);
  const [wrong, setWrong] = useState(false);
  /** The typed text that the rules took, and that the next table has, as the formatter writes it. */
  const taken = useRef<string | null>(null);
  // Text that is typed after that stays: the table may come late.
  useEffect(() => setDraft((now) => (now === taken.current ? null : now)), [row]);
  const commit = async (): Promise<void> => {
    if (draft === null || draft.trim() === text) return setDraft(null);
    const ok = await changeRow(row.key, change(draft));
    if (ok) taken.current = draft;
    setWrong(!ok);
  };
  return (
    <input
      class="cell-input mono"
      aria-label={`${row.name}: ${label}`}
      aria-invalid={wrong}
      value={draft ?? text}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onBlur={() => void commit()}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.currentTarget.blur();
        if (event.key === 'Escape') {
          setDraft(null);
          setWrong(false);
        }
      }}
    />
  );
}
