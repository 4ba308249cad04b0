// Routes as a decision table: a row per route, a column per field. Rows that overlap with another
// target, messages that no row matches, and the row of the message at hand have a sign.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { DecisionTable, Gap, Map as RulesMap, TableRow } from '../../api/types';
import { t } from '../../i18n';
import { useLinks } from '../../ui/links';
import { type Column, VirtualTable } from '../../ui/VirtualTable';
import { Target } from '../../ui/Target';
import { CellInput } from './Cell';
import { Taken } from './Graph';
import { RowTools } from './RowTools';
import { useNarrow } from './narrow';
import { overlapsOf, type RowOverlaps } from './overlaps';

interface Props {
  map: RulesMap;
  tableOf: (name: string) => DecisionTable | null;
  search: string;
  chosen: string | null;
  /** Keys of the rows that the message at hand takes. */
  taken: ReadonlySet<string>;
  onPick: (key: string) => void;
}

/** Number of columns that are shown at first: the fields that the most rows test. */
const FIRST_COLUMNS = 12;

type Line = { row: TableRow; number: number } | { gap: Gap };

export function Rules({ map, tableOf, search, chosen, taken, onPick }: Props): JSX.Element {
  const names = map.tables
    .filter((table) => table.kind === 'routes' || table.kind === 'choice')
    .map((table) => table.name);
  const [name, setName] = useState(names[0] ?? '');
  const words = t().map;
  const table = names.includes(name) ? tableOf(name) : null;
  const extensible = map.tables.some((each) => each.name === name && each.kind === 'routes');
  return (
    <section class="panel stack">
      <div class="row">
        <label class="row">
          {words.tableWord}
          <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {names.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <span class="row small soft">
          <span class="table-sign overlap" aria-hidden="true">
            ∩
          </span>
          {words.overlapLegend}
          <span class="table-sign gap" aria-hidden="true">
            ▢
          </span>
          {words.gapLegend}
        </span>
      </div>
      {table ? (
        <TableOf key={name} {...{ table, search, chosen, taken, onPick, extensible }} />
      ) : (
        <p role="status" class="soft">
          {names.length > 0 ? t().loading : words.noTables}
        </p>
      )}
    </section>
  );
}

interface TableProps {
  table: DecisionTable;
  search: string;
  chosen: string | null;
  taken: ReadonlySet<string>;
  extensible: boolean;
  onPick: (key: string) => void;
}

function TableOf({ table, search, chosen, taken, onPick, extensible }: TableProps): JSX.Element {
  const [columns, setColumns] = useState(FIRST_COLUMNS);
  const words = t().map;
  const links = useLinks();
  const overlaps = useMemo(() => overlapsOf(table), [table]);
  const editing = { chosen, taken, editable: links.edit !== undefined, narrow: useNarrow() };
  const wanted = search.toLowerCase();
  const text = (row: TableRow): string =>
    [row.name, row.to, ...row.cells, ...row.others].join(' ').toLowerCase();
  const lines: Line[] = table.rows.map((row, index) => ({ row, number: index + 1 }));
  const shown = [
    ...lines.filter((line) => 'row' in line && (wanted === '' || text(line.row).includes(wanted))),
    ...(wanted === '' ? table.gaps.map((gap) => ({ gap })) : []),
  ];
  return (
    <>
      {table.columns.length > columns && (
        <button type="button" class="plain" onClick={() => setColumns(table.columns.length)}>
          {words.moreColumns(table.columns.length - columns)}
        </button>
      )}
      <RowTools {...{ table, chosen, extensible, onPick }} />
      <VirtualTable
        label={words.decisionTable(table.table)}
        columns={columnsOf(table, columns, overlaps, editing)}
        count={shown.length}
        row={(index) => shown[index]}
        keyOf={(line) => ('row' in line ? line.row.key : '')}
        onOpen={(line) => 'row' in line && onPick(line.row.key)}
        height={560}
        rowHeight={34}
        empty={words.nothingFound}
      />
      <Together table={table} chosen={chosen} overlaps={overlaps} />
      <Gaps gaps={table.gaps} entry={table.table} />
      {table.more_overlaps && <p class="soft small">{words.moreOverlaps}</p>}
    </>
  );
}

/** The selected row, whether its cells are inputs, and whether the page is narrow. */
interface Editing {
  chosen: string | null;
  taken: ReadonlySet<string>;
  editable: boolean;
  /** Whether the page is narrow, so that names and targets must leave space for the cells. */
  narrow: boolean;
}

type Overlaps = Map<string, RowOverlaps>;

/** The class of the cells of a row. */
function classOf(line: Line, overlaps: Overlaps, { chosen, taken }: Editing): string {
  if ('gap' in line) return 'gap';
  const own = overlaps.get(line.row.key);
  const with_ = chosen !== null && own?.keys.has(chosen);
  return [
    taken.has(line.row.key) ? 'is-taken' : '',
    with_ ? 'with-chosen' : '',
    line.row.key === chosen ? 'is-chosen' : '',
    line.row.disabled ? 'is-disabled' : '',
  ].join(' ');
}

/** The columns of the table; those that are empty in all rows are left out. */
function columnsOf(table: DecisionTable, most: number, overlaps: Overlaps, editing: Editing): Column<Line>[] {
  const words = t().map;
  const className = (line: Line): string => classOf(line, overlaps, editing);
  const isMarked = (row: TableRow): boolean =>
    overlaps.has(row.key) || row.findings.some((each) => each.kind !== 'other');
  const hasMarks = table.gaps.length > 0 || table.rows.some(isMarked);
  const hasOthers = table.gaps.length > 0 || table.rows.some((row) => row.others.length > 0);
  const marks: Column<Line> | false = hasMarks && {
    key: 'marks',
    title: words.marks,
    width: 96,
    cell: (line) => <Marks line={line} overlaps={'row' in line ? overlaps.get(line.row.key) : undefined} />,
    className,
  };
  const columns: (Column<Line> | false)[] = [
    {
      key: 'name',
      title: words.rowName,
      width: editing.narrow ? 130 : 220,
      frozen: 'left',
      cell: (line) =>
        'row' in line ? (
          <>
            <span class="soft row-number">{line.number}</span> {editing.taken.has(line.row.key) && <Taken />}{' '}
            <b class="mono">{line.row.name}</b>
          </>
        ) : (
          <b>▢ {words.gap}</b>
        ),
      hint: (line) => ('row' in line ? line.row.name : line.gap.message),
      className,
    },
    !editing.narrow && marks,
    ...table.columns.slice(0, most).map(
      (column, index) =>
        // A column that no row uses is for the first condition of a table.
        (column.rows === 0 || table.rows.some((row) => row.cells[index] != null)) &&
        conditionColumn(column.field, index, className, editing),
    ),
    hasOthers && {
      key: 'others',
      title: words.others,
      width: 260,
      grow: 1,
      cell: (line) => ('row' in line ? <code>{line.row.others.join(' · ')}</code> : line.gap.message),
      hint: (line) => ('row' in line ? line.row.others.join('\n') : line.gap.message),
    },
    targetColumn(className, editing),
    // On a phone, the first conditions are next to the names.
    editing.narrow && marks,
  ];
  return columns.filter((column) => column !== false);
}

function isEdited(line: Line, { chosen, editable }: Editing): line is { row: TableRow; number: number } {
  return editable && 'row' in line && line.row.key === chosen && line.row.editable;
}

function conditionColumn(
  field: string,
  index: number,
  className: (line: Line) => string,
  editing: Editing,
): Column<Line> {
  return {
    key: field,
    title: field,
    width: 210,
    grow: 1,
    cell: (line) => {
      if ('gap' in line) return '';
      const text = line.row.cells[index] ?? '';
      if (!isEdited(line, editing)) return <code>{text}</code>;
      return (
        <CellInput
          row={line.row}
          label={field}
          text={text}
          change={(changed) => ({ kind: 'cell', field, text: changed })}
        />
      );
    },
    hint: (line) => ('row' in line ? (line.row.cells[index] ?? undefined) : undefined),
    className: (line) =>
      'row' in line && line.row.cells[index] == null && !isEdited(line, editing) ? 'any' : className(line),
  };
}

/** The column of the targets. It stays visible at the right edge, if that leaves space for others. */
function targetColumn(className: (line: Line) => string, editing: Editing): Column<Line> {
  const words = t().map;
  return {
    key: 'to',
    title: words.leadsTo,
    width: editing.narrow ? 130 : 220,
    ...(editing.narrow ? {} : { frozen: 'right' as const }),
    cell: (line) => {
      if ('gap' in line) return `→ ${words.nowhere}`;
      const { row } = line;
      if (!isEdited(line, editing)) return <Target name={row.to} />;
      return (
        <CellInput
          row={row}
          label={words.leadsTo}
          text={row.to}
          change={(text) => ({ kind: 'target', text })}
        />
      );
    },
    hint: (line) => ('row' in line ? line.row.to : undefined),
    className,
  };
}

function Marks({ line, overlaps }: { line: Line; overlaps: RowOverlaps | undefined }): JSX.Element {
  const words = t().map;
  if ('gap' in line) return <span class="table-sign gap">▢ {words.gap}</span>;
  const bad = line.row.findings.filter((finding) => finding.kind !== 'other');
  return (
    <span class="row marks">
      {overlaps && (
        <span
          class={`table-sign ${overlaps.differs ? 'overlap' : ''}`}
          title={words.overlapsWith(overlaps.keys.size)}
        >
          ∩ {overlaps.keys.size}
        </span>
      )}
      {bad.length > 0 && (
        <span class="table-sign gap" title={bad.map((finding) => finding.message).join('\n')}>
          {bad.some((finding) => finding.kind === 'unreachable') ? '⊘' : '▨'}
        </span>
      )}
    </span>
  );
}

/** The rows that overlap with the chosen one, each with a message that both match. */
function Together(props: {
  table: DecisionTable;
  chosen: string | null;
  overlaps: Map<string, RowOverlaps>;
}): JSX.Element | null {
  const { table, chosen, overlaps } = props;
  const links = useLinks();
  const words = t().map;
  if (chosen === null || !overlaps.has(chosen)) return null;
  const name = (key: string): string => table.rows.find((row) => row.key === key)?.name ?? key;
  const list = table.overlaps.filter((overlap) => overlap.first === chosen || overlap.second === chosen);
  return (
    <section>
      <h3>{words.together(name(chosen))}</h3>
      <ul class="overlap-list">
        {list.slice(0, 50).map((overlap, index) => (
          <li key={index} class="row">
            <span class={`table-sign ${overlap.differs ? 'overlap' : ''}`} aria-hidden="true">
              ∩
            </span>
            <span>
              <b class="mono">{name(overlap.first)}</b> {words.winsOver}{' '}
              <b class="mono">{name(overlap.second)}</b>
              {!overlap.differs && <span class="soft"> ({words.sameTarget})</span>}
            </span>
            <code class="example">{overlap.example}</code>
            {links.decide && (
              <button
                type="button"
                class="plain"
                onClick={() => links.decide?.(table.table, overlap.example)}
              >
                {words.decideOn}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Gaps({ gaps, entry }: { gaps: Gap[]; entry: string }): JSX.Element | null {
  const links = useLinks();
  if (gaps.length === 0) return null;
  return (
    <section>
      <h3>{t().map.gaps}</h3>
      <ul class="overlap-list">
        {gaps.map((gap, index) => (
          <li key={index} class="row">
            <span class="table-sign gap" aria-hidden="true">
              ▢
            </span>
            {gap.message}
            {gap.example !== null && <code class="example">{gap.example}</code>}
            {gap.example !== null && links.decide && (
              <button
                type="button"
                class="plain"
                onClick={() => gap.example !== null && links.decide?.(entry, gap.example)}
              >
                {t().map.decideOn}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
