// The view Live: what the service decides now. It exists only in the studio of a service.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, isAborted, type RequestError } from '../../client';
import { t } from '../../i18n';
import { language } from '../../state/prefs';
import { ruleSet } from '../../state/studio';
import { pieces } from '../edit/markdown';
import { type Counts, lastMinute, points, rate, type SetTraffic, type Traffic } from './traffic';

/** Time between two requests, in milliseconds. */
const PERIOD = 2000;
const WIDTH = 180;
const HEIGHT = 24;

export function Live(): JSX.Element {
  const [traffic, setTraffic] = useState<Traffic | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const asked = new AbortController();
    const ask = (): void => {
      if (document.hidden) return;
      api.traffic(asked.signal).then(
        (next) => {
          setTraffic(next);
          setFailure(null);
        },
        (error: unknown) => {
          if (!isAborted(error)) setFailure((error as RequestError).message);
        },
      );
    };
    ask();
    const timer = setInterval(ask, PERIOD);
    return () => {
      clearInterval(timer);
      asked.abort();
    };
  }, [language.value]);
  const shown = traffic?.rules.find((set) => set.name === ruleSet.value?.name);
  return (
    <div class="stack" aria-busy={traffic === null}>
      {failure !== null && (
        <p class="note bad" role="alert">
          {failure}
        </p>
      )}
      {shown ? <Set of={shown} /> : failure === null && <p role="status">{t().loading}</p>}
    </div>
  );
}

function Set({ of }: { of: SetTraffic }): JSX.Element {
  const words = t().live;
  const rows: [string, Counts][] = [
    ...of.routes.map((route): [string, Counts] => [`${route.entry} · ${route.route}`, route]),
    [words.undecided, of.undecided],
    [words.violations, of.violations],
    [words.invalid, of.invalid],
  ];
  return (
    <>
      <section class="panel">
        <header>
          <h2>{words.decisions}</h2>
          <span class="soft small">{words.generation(of.generation)}</span>
        </header>
        <table class="live-table">
          <thead>
            <tr>
              <th scope="col">{words.route}</th>
              <th scope="col" class="line">
                {words.minute}
              </th>
              <th scope="col" class="number">
                {words.perSecond}
              </th>
              <th scope="col" class="number">
                {words.lastMinute}
              </th>
              <th scope="col" class="number">
                {words.total}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, counts]) => (
              <tr key={name}>
                <th scope="row" class="mono">
                  {name}
                </th>
                <td class="line">
                  <Line of={counts} />
                </td>
                <td class="number">{rate(counts).toFixed(1)}</td>
                <td class="number">{lastMinute(counts)}</td>
                <td class="number">{counts.total}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <NearMisses of={of} />
      <section class="panel">
        <header>
          <h2>{words.unknown}</h2>
        </header>
        {of.unknown.length === 0 && <p class="soft">{words.none}</p>}
        <ul class="live-list">
          {of.unknown.map((unknown, index) => (
            <li key={index}>
              <span class="mono">{unknown.route}</span>: <code>{unknown.condition}</code> ×{unknown.count}
              {unknown.because.map((because, at) => (
                <div key={at}>
                  <Words text={because} />
                </div>
              ))}
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

function NearMisses({ of }: { of: SetTraffic }): JSX.Element {
  const words = t().live;
  return (
    <section class="panel">
      <header>
        <h2>{words.near}</h2>
      </header>
      {of.near_misses.length === 0 && <p class="soft">{words.none}</p>}
      <ul class="live-list">
        {of.near_misses.map((miss, index) => (
          <li key={index}>
            <time dateTime={miss.time}>{new Date(miss.time).toLocaleTimeString(language.value)}</time>{' '}
            <span class="mono">{miss.route}</span> {words.insteadOf(miss.chosen)}
            <ul>
              {miss.because.map((because, at) => (
                <li key={at}>
                  <Words text={because} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A text of the server, in which backquotes enclose code. */
function Words({ text }: { text: string }): JSX.Element {
  return (
    <>
      {pieces(text).map((piece, index) =>
        piece.code ? <code key={index}>{piece.text}</code> : <span key={index}>{piece.text}</span>,
      )}
    </>
  );
}

/** The counts of the last minute as a line. The numbers next to it say the same. */
function Line({ of }: { of: Counts }): JSX.Element {
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`} aria-hidden="true">
      <polyline points={points(of, WIDTH, HEIGHT)} fill="none" stroke="currentColor" stroke-width="1.5" />
    </svg>
  );
}
