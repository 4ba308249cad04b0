// A table of any number of rows that renders only the visible ones. It has the ARIA role `grid`:
// arrow keys move, Enter opens, and each row has its index among all rows.
import type { ComponentChildren, CSSProperties, JSX, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Window, windowOf } from './window';

export interface Column<Row> {
  key: string;
  title: string;
  /** Minimum width in pixels. */
  width: number;
  /** Share of the space that the minimum widths leave; none by default. */
  grow?: number;
  number?: boolean;
  /** Edge at which the column stays visible while the others scroll. */
  frozen?: 'left' | 'right';
  cell: (row: Row, index: number) => ComponentChildren;
  /** Tooltip text of truncated cells. */
  hint?: (row: Row) => string | undefined;
  className?: (row: Row) => string | undefined;
}

export interface Sort {
  by: string;
  descending: boolean;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  count: number;
  /** Returns the row at an index; undefined while the row is loading. */
  row: (index: number) => Row | undefined;
  /** Identity of a row, so that the inputs in its cells keep their state where its index changes. */
  keyOf?: (row: Row) => string;
  /** Called with the range of visible rows, so that they can be fetched. */
  onWindow?: (start: number, end: number) => void;
  onOpen?: (row: Row, index: number) => void;
  sort?: Sort | undefined;
  sortable?: readonly string[];
  onSort?: (by: string) => void;
  height: number;
  rowHeight?: number;
  empty: string;
}

export function VirtualTable<Row>(props: Props<Row>): JSX.Element {
  const { columns, count, height, rowHeight = 32, onWindow } = props;
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const view = windowOf(count, rowHeight, scroll, height);
  const { current, setActive, onKeyDown } = useKeys(props, box, view, rowHeight);
  const id = useId();
  // Without this minimum, a row would be as wide as its longest text.
  const least = { minWidth: `${columns.reduce((sum, column) => sum + column.width, 0)}px` };
  const template = { gridTemplateColumns: columns.map(trackOf).join(' '), ...least };
  useEffect(() => onWindow?.(view.start, view.end), [view.start, view.end, count, onWindow]);
  useLayoutEffect(() => {
    if (box.current && box.current.scrollTop > view.height) box.current.scrollTop = 0;
  }, [view.height]);

  const rows: JSX.Element[] = [];
  for (let index = view.start; index < view.end; index += 1) {
    const row = props.row(index);
    rows.push(
      <GridRow
        key={(row !== undefined && props.keyOf?.(row)) || index}
        id={`${id}-${index}`}
        index={index}
        columns={columns}
        row={row}
        selected={index === current}
        style={{
          ...template,
          transform: `translateY(${view.top(index)}px)`,
          height: `${rowHeight}px`,
          lineHeight: `${rowHeight - 1}px`,
        }}
        onOpen={props.onOpen}
        onPick={setActive}
      />,
    );
  }
  return (
    <div
      class="grid"
      role="grid"
      aria-label={props.label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={
        count > 0 && current >= view.start && current < view.end ? `${id}-${current}` : undefined
      }
      tabIndex={0}
      ref={box}
      style={{ maxHeight: `${height}px` }}
      onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <Head {...props} template={template} />
      <div role="rowgroup" class="grid-body" style={{ height: `${view.height}px`, ...least }}>
        {rows}
        {count === 0 && (
          <div role="row" class="grid-empty">
            <div role="gridcell">{props.empty}</div>
          </div>
        )}
      </div>
    </div>
  );
}

/** The track of a column, for `grid-template-columns`. */
function trackOf<Row>({ width, grow }: Column<Row>): string {
  return grow === undefined ? `${width}px` : `minmax(${width}px, ${grow}fr)`;
}

interface Keys {
  current: number;
  setActive: (row: number) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

/** Tracks the row with keyboard focus, and handles the keys that move and open it. */
function useKeys<Row>(
  props: Props<Row>,
  box: RefObject<HTMLDivElement | null>,
  view: Window,
  rowHeight: number,
): Keys {
  const { count, height } = props;
  const [active, setActive] = useState(0);
  const current = Math.min(active, Math.max(count - 1, 0));
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(count - 1, to));
    setActive(next);
    const element = box.current;
    if (!element) return;
    const top = view.top(next);
    if (top < element.scrollTop)
      element.scrollTop = Math.max(0, element.scrollTop + (top - element.scrollTop));
    const low = element.scrollTop + height - 2 * rowHeight;
    if (top > low) element.scrollTop += top - low;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // Keys in an input of a cell belong to the input.
    if (event.target instanceof HTMLInputElement) return;
    const page = Math.floor(height / rowHeight) - 2;
    const steps: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: count - 1,
    };
    const to = steps[event.key];
    if (to !== undefined) {
      event.preventDefault();
      move(to);
    } else if (event.key === 'Enter' && event.target === box.current) {
      const row = props.row(current);
      if (row !== undefined) props.onOpen?.(row, current);
    }
  };
  return { current, setActive, onKeyDown };
}

function Head<Row>(props: Props<Row> & { template: CSSProperties }): JSX.Element {
  return (
    <div role="rowgroup" class="grid-head-group">
      <div role="row" aria-rowindex={1} class="grid-head" style={props.template}>
        {props.columns.map((column) => {
          const sorted = props.sort?.by === column.key ? props.sort : undefined;
          const order = sorted ? (sorted.descending ? 'descending' : 'ascending') : undefined;
          return (
            <div
              key={column.key}
              role="columnheader"
              aria-sort={order}
              class={`${column.number ? 'number' : ''} ${frozen(column)}`}
              title={column.title}
            >
              {props.sortable?.includes(column.key) ? (
                <button type="button" onClick={() => props.onSort?.(column.key)}>
                  {column.title}{' '}
                  <span aria-hidden="true">{order ? (sorted?.descending ? '▼' : '▲') : '↕'}</span>
                </button>
              ) : (
                column.title
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function frozen<Row>(column: Column<Row>): string {
  return column.frozen === undefined ? '' : `frozen-${column.frozen}`;
}

interface RowProps<Row> {
  id: string;
  index: number;
  columns: Column<Row>[];
  row: Row | undefined;
  selected: boolean;
  style: CSSProperties;
  onOpen: ((row: Row, index: number) => void) | undefined;
  onPick: (index: number) => void;
}

// The grid handles the keyboard, so a row's click needs no key handler of its own.
/* eslint-disable jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus */
function GridRow<Row>(props: RowProps<Row>): JSX.Element {
  const { row, index, columns } = props;
  return (
    <div
      role="row"
      id={props.id}
      aria-rowindex={index + 2}
      aria-selected={props.selected}
      class={`grid-row ${props.onOpen ? 'open-able' : ''}`}
      style={props.style}
      onClick={() => {
        props.onPick(index);
        if (row !== undefined) props.onOpen?.(row, index);
      }}
    >
      {columns.map((column) => (
        <div
          key={column.key}
          role="gridcell"
          class={`${column.number ? 'number' : ''} ${frozen(column)} ${(row !== undefined && column.className?.(row)) || ''}`}
          title={row === undefined ? undefined : column.hint?.(row)}
        >
          {row === undefined ? '…' : column.cell(row, index)}
        </div>
      ))}
    </div>
  );
}
