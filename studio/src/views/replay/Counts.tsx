// Number of messages per statement, as bars with figures. Statements without messages come last,
// with the reason.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ReplaySums, StatementCount } from '../../api/types';
import { micros, number, percent, t } from '../../i18n';
import { hue } from '../../ui/handlers';
import { Target } from '../../ui/Target';
import { useLinks } from '../../ui/links';
import { nameOf } from './names';

interface Props {
  sums: ReplaySums;
  chosen?: string | null;
  onPick?: (key: string | null) => void;
}

export function Counts({ sums, chosen = null, onPick }: Props): JSX.Element {
  const [search, setSearch] = useState('');
  const [limit, setLimit] = useState(20);
  const words = t().replay;
  const wanted = search.trim().toLowerCase();
  const named = sums.counts.filter((count) => nameOf(sums, count.key).toLowerCase().includes(wanted));
  const fired = named.filter((count) => count.count > 0 || (count.before ?? 0) > 0);
  const never = named.filter((count) => count.count === 0 && (count.before ?? 0) === 0);
  const most = Math.max(1, ...sums.counts.map((count) => Math.max(count.count, count.before ?? 0)));
  const total = sums.counts.reduce((sum, count) => sum + count.count, 0);
  return (
    <section class="panel">
      <header>
        <h2>{words.perRoute}</h2>
        {sums.counts.length > 12 && (
          <input
            type="search"
            aria-label={words.findRoute}
            placeholder={words.findRoute}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        )}
      </header>
      <table class="plain counts">
        <thead>
          <tr>
            <th scope="col">{words.columns.route}</th>
            <th scope="col" class="number">
              {words.count}
            </th>
            <th scope="col" class="bar-column">
              <span class="visually-hidden">{words.share}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {fired.slice(0, limit).map((count) => (
            <Line key={count.key} {...{ sums, count, most, total, onPick }} chosen={chosen === count.key} />
          ))}
        </tbody>
      </table>
      {fired.length > limit && (
        <button type="button" class="plain" onClick={() => setLimit(limit + 100)}>
          {t().showMore(fired.length - limit)}
        </button>
      )}
      <Never list={never} sums={sums} />
    </section>
  );
}

interface LineProps {
  sums: ReplaySums;
  count: StatementCount;
  most: number;
  total: number;
  chosen: boolean;
  onPick: ((key: string | null) => void) | undefined;
}

function Line({ sums, count, most, total, chosen, onPick }: LineProps): JSX.Element {
  const name = nameOf(sums, count.key);
  return (
    <tr class={chosen ? 'chosen' : undefined}>
      <th scope="row">
        {onPick ? (
          <button
            type="button"
            class="plain mono"
            aria-pressed={chosen}
            onClick={() => onPick(chosen ? null : count.key)}
          >
            {name}
          </button>
        ) : (
          <span class="mono">{name}</span>
        )}
        <span class="soft count-to">
          → <Target name={count.to} />
        </span>
        {count.median_us !== null && (
          <span class="soft small" title={t().replay.medianHint}>
            {' '}
            · {micros(count.median_us)}
          </span>
        )}
      </th>
      <td class="number">
        {number(count.count)}
        {count.before !== null && count.before !== count.count && (
          <span class="small soft">
            {' '}
            ({count.count > count.before ? '+' : '−'}
            {number(Math.abs(count.count - count.before))})
          </span>
        )}
      </td>
      <td class="bar-column">
        <span class="bar-figure">{percent(count.count, total)}</span>
        <span
          class="count-bar"
          style={{ width: `${(100 * count.count) / most}%`, background: hue(count.to) }}
        />
        {count.before !== null && (
          <span class="count-bar before" style={{ width: `${(100 * count.before) / most}%` }} />
        )}
      </td>
    </tr>
  );
}

function Never({ list, sums }: { list: StatementCount[]; sums: ReplaySums }): JSX.Element | null {
  const links = useLinks();
  const [limit, setLimit] = useState(60);
  if (list.length === 0) return null;
  return (
    <details class="never" open={list.length <= 12}>
      <summary>
        <b>○ {t().replay.never(list.length)}</b>
      </summary>
      <ul class="never-list">
        {list.slice(0, limit).map((count) => (
          <li key={count.key}>
            {links.map ? (
              <button type="button" class="plain mono" onClick={() => links.map?.(count.key)}>
                {nameOf(sums, count.key)}
              </button>
            ) : (
              <span class="mono">{nameOf(sums, count.key)}</span>
            )}
            {count.never !== null && <span class="soft small"> {count.never}</span>}
          </li>
        ))}
      </ul>
      {list.length > limit && (
        <button type="button" class="plain" onClick={() => setLimit(limit + 200)}>
          {t().showMore(list.length - limit)}
        </button>
      )}
    </details>
  );
}
