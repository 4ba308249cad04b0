// Actions on the selected row of a decision table: add a row after it, move it, disable it; and
// undo.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { DecisionTable, RowChange } from '../../api/types';
import { t } from '../../i18n';
import { useLinks } from '../../ui/links';
import { changeRow, refused, undo, undoable } from './edit-rows';

interface Props {
  table: DecisionTable;
  chosen: string | null;
  /** Whether the table has routes; rows of other tables are changed in the editor. */
  extensible: boolean;
  /** Chooses a row. */
  onPick: (key: string) => void;
}

export function RowTools({ table, chosen, extensible, onPick }: Props): JSX.Element | null {
  const links = useLinks();
  const words = t().map;
  // A report shows the same table, but cannot change it.
  if (!links.edit) return null;
  const rows = table.rows.filter((row) => row.editable);
  const at = rows.findIndex((row) => row.key === chosen);
  const row = rows[at];
  const act = (change: RowChange): void => void (row && changeRow(row.key, change));
  const before = rows[at - 1];
  const after = rows[at + 1];
  return (
    <div class="stack row-tools">
      {extensible && <NewRow table={table.table} {...{ chosen, onPick }} />}
      <div class="row" role="toolbar" aria-label={words.rowTools}>
        {row && (
          <>
            <button type="button" onClick={() => act({ kind: 'add' })}>
              {words.addRow}
            </button>
            <button
              type="button"
              disabled={!before}
              onClick={() => before && act({ kind: 'move', before: before.key })}
            >
              <span aria-hidden="true">↑</span> {words.moveUp}
            </button>
            <button
              type="button"
              disabled={!after}
              onClick={() => after && void changeRow(after.key, { kind: 'move', before: row.key })}
            >
              <span aria-hidden="true">↓</span> {words.moveDown}
            </button>
            <button type="button" onClick={() => act({ kind: 'disable', disabled: !row.disabled })}>
              {row.disabled ? words.enableRow : words.disableRow}
            </button>
          </>
        )}
        {(row || undoable.value.length > 0) && (
          <button type="button" disabled={undoable.value.length === 0} onClick={() => void undo()}>
            <span aria-hidden="true">↶</span> {words.undo}
          </button>
        )}
        <span class="soft small">{row ? words.editHint : words.chooseRow}</span>
      </div>
      {refused.value && (
        <p class="note bad" role="alert">
          {refused.value.message}
        </p>
      )}
    </div>
  );
}

interface NewRowProps {
  table: string;
  chosen: string | null;
  onPick: (key: string) => void;
}

/** Adds a row without conditions, under a name. */
function NewRow({ table, chosen, onPick }: NewRowProps): JSX.Element {
  const [name, setName] = useState('');
  const latest = useRef(chosen);
  latest.current = chosen;
  const words = t().map;
  const add = async (event: Event): Promise<void> => {
    event.preventDefault();
    const key = `${table}/${name.trim()}`;
    if (!(await changeRow(key, { kind: 'new' }))) return;
    // The response may be late: the text and choices of the user since the request stay.
    setName((now) => (now === name ? '' : now));
    if (latest.current === chosen) onPick(key);
  };
  return (
    <form class="row" onSubmit={(event) => void add(event)}>
      <input
        class="mono"
        aria-label={words.newRowName}
        placeholder={words.newRowName}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" disabled={name.trim() === ''}>
        {words.newRow}
      </button>
    </form>
  );
}
