// The messages of a replay as a virtual table. The server filters and sorts the rows; visible rows
// are fetched on demand, and a row opens as a decision.
import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ReplaySums, Row, RowSort } from '../../api/types';
import { api, isAborted, type RequestError } from '../../client';
import { micros, moment, number, t } from '../../i18n';
import { language } from '../../state/prefs';
import { useLinks } from '../../ui/links';
import { type Column, VirtualTable } from '../../ui/VirtualTable';
import { say } from '../../ui/toast';
import { hue } from '../../ui/handlers';
import { nameOf, targetOf } from './names';
import { PAGE, Pages } from './pages';
import { type Filter, filter, narrow } from './state';

interface Props {
  id: number;
  sums: ReplaySums;
}

export function RowsTable({ id, sums }: Props): JSX.Element {
  const links = useLinks();
  const asked = filter.value;
  const { total, row, onWindow } = useRows(id, asked, sums.progress.messages);
  const open = async (picked: Row): Promise<void> => {
    try {
      const found = await api.row(id, picked.line);
      if (found.message === null) say(t().replay.noMessage);
      else {
        const { entry, message, ...from } = found;
        links.decide?.(entry, message, { ...from, row: { replay: id, line: picked.line } });
      }
    } catch (error) {
      say((error as RequestError).message);
    }
  };
  const onSort = (by: string): void => {
    const sort = by as RowSort;
    narrow(asked.sort === sort ? { descending: !asked.descending } : { sort, descending: false });
  };
  return (
    <section class="panel">
      <header>
        <h2>{t().replay.messages}</h2>
        <span class="soft small" role="status">
          {t().replay.ofMessages(total, sums.progress.messages)}
        </span>
      </header>
      <Filters sums={sums} />
      <VirtualTable
        label={t().replay.messages}
        columns={columns(sums)}
        count={total}
        row={row}
        onWindow={onWindow}
        onOpen={(picked) => void open(picked)}
        sort={{ by: asked.sort, descending: asked.descending }}
        sortable={['line', 'time', 'route', 'before', 'elapsed']}
        onSort={onSort}
        height={460}
        empty={t().replay.noRows}
      />
      <p class="soft small">{t().replay.openHint}</p>
    </section>
  );
}

function columns(sums: ReplaySums): Column<Row>[] {
  const words = t().replay.columns;
  const show = (key: string): string => nameOf(sums, key);
  const list: (Column<Row> | false)[] = [
    {
      key: 'message',
      title: words.message,
      width: 170,
      grow: 2,
      cell: (row) => (
        <>
          {row.text !== '' && <span class="row-text">{row.text}</span>} <span class="soft">{row.fields}</span>
        </>
      ),
      hint: (row) => [row.text, row.fields].filter(Boolean).join('\n'),
    },
    sums.timeline.by_time && {
      key: 'time',
      title: words.time,
      width: 178,
      cell: (row) => (row.time === null ? '–' : moment(row.time)),
    },
    (sums.compares || sums.is_log) && {
      key: 'before',
      title: words.before,
      width: 200,
      cell: (row) => (row.before === null ? '–' : show(row.before)),
      hint: (row) => row.before ?? undefined,
    },
    {
      key: 'route',
      title: words.route,
      width: 130,
      grow: 1,
      cell: (row) => (
        <span class="target">
          <span class="swatch" style={{ background: hue(targetOf(sums, row.key)) }} aria-hidden="true" />
          {row.flipped ? <b>⇄ {show(row.key)}</b> : show(row.key)}
        </span>
      ),
      hint: (row) => row.key,
      className: (row) => (row.flipped ? 'flipped' : undefined),
    },
    sums.is_log && {
      key: 'elapsed',
      title: words.elapsed,
      width: 110,
      number: true,
      cell: (row) => (row.elapsed_us === null ? '–' : micros(row.elapsed_us)),
    },
    { key: 'line', title: words.line, width: 84, number: true, cell: (row) => number(row.line) },
  ];
  return list.filter((column) => column !== false);
}

interface FetchedRows {
  total: number;
  row: (index: number) => Row | undefined;
  onWindow: (start: number, end: number) => void;
}

function useRows(id: number, asked: Filter, messages: number): FetchedRows {
  const key = JSON.stringify([id, asked]);
  const pages = useRef(new Pages<Row>());
  const abort = useRef(new AbortController());
  const [total, setTotal] = useState(0);
  const [, redraw] = useState(0);
  const fetchPage = useCallback(
    async (page: number, into: Pages<Row>, signal: AbortSignal): Promise<void> => {
      try {
        const rows = await api.rows(id, { ...asked, offset: page * PAGE, limit: PAGE }, signal);
        into.put(page, rows.rows);
        pages.current = into;
        setTotal(rows.total);
        redraw((count) => count + 1);
      } catch (error) {
        into.forget(page);
        if (!isAborted(error)) say((error as RequestError).message);
      }
    },
    [key],
  );
  // A running replay adds rows. So the first page is requested again, and the other pages when they
  // become visible.
  useEffect(() => {
    const timer = setTimeout(
      () => {
        abort.current.abort();
        abort.current = new AbortController();
        const fresh = new Pages<Row>();
        fresh.missing(0, 1);
        void fetchPage(0, fresh, abort.current.signal);
      },
      asked.text === null ? 0 : 200,
    );
    return () => clearTimeout(timer);
  }, [key, messages, fetchPage]);
  useEffect(() => () => abort.current.abort(), []);
  const onWindow = useCallback(
    (start: number, end: number) => {
      for (const page of pages.current.missing(start, end))
        void fetchPage(page, pages.current, abort.current.signal);
    },
    [fetchPage],
  );
  return { total, row: (index) => pages.current.row(index), onWindow };
}

function Filters({ sums }: { sums: ReplaySums }): JSX.Element {
  const words = t().replay;
  const asked = filter.value;
  // There may be 500 statements, so the options are built once per result and not per key press.
  const options = useMemo(
    () =>
      sums.counts.map((count) => (
        <option key={count.key} value={count.key}>
          {nameOf(sums, count.key)}
        </option>
      )),
    [sums, language.value],
  );
  const pick = (value: string): string | null => (value === '' ? null : value);
  const comparable = sums.compares || sums.is_log;
  return (
    <div class="row filters" role="search">
      <input
        type="search"
        aria-label={words.search}
        placeholder={words.search}
        value={asked.text ?? ''}
        onInput={(event) => narrow({ text: pick(event.currentTarget.value) })}
      />
      <label class="row small">
        {words.takenBy}
        <select
          value={asked.key ?? ''}
          onChange={(event) => narrow({ key: pick(event.currentTarget.value) })}
        >
          <option value="">{words.any}</option>
          {options}
        </select>
      </label>
      {comparable && (
        <>
          <label class="row small">
            {words.takenBefore}
            <select
              value={asked.before ?? ''}
              onChange={(event) => narrow({ before: pick(event.currentTarget.value) })}
            >
              <option value="">{words.any}</option>
              {options}
            </select>
          </label>
          <label class="row small">
            <input
              type="checkbox"
              checked={asked.flipped}
              onChange={(event) => narrow({ flipped: event.currentTarget.checked })}
            />
            {words.onlyFlipped}
          </label>
        </>
      )}
      {asked.since !== null && (
        <button type="button" class="chip" onClick={() => narrow({ since: null, until: null })}>
          {words.timeChosen} ✕
        </button>
      )}
    </div>
  );
}
