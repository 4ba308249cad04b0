// The messages over time, as stacked columns with one colour per statement and a legend. Selecting
// a column filters the rows by time. A table shows the same figures for screen readers.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ReplaySums } from '../../api/types';
import { moment, number, t } from '../../i18n';
import { hue } from '../../ui/handlers';
import { nameOf, targetOf } from './names';
import { stack } from './stack';

interface Props {
  sums: ReplaySums;
  onPick?: (since: number, until: number) => void;
}

const WIDTH = 900;
const HEIGHT = 190;

export function Timeline({ sums, onPick }: Props): JSX.Element | null {
  const [only, setOnly] = useState<string | null>(null);
  const { timeline } = sums;
  if (timeline.starts.length === 0) return null;
  const words = t().replay;
  const name = (at: number): string => (timeline.by_time ? moment(at) : words.messageAt(at));
  return (
    <section class="panel">
      <header>
        <h2>{timeline.by_time ? words.overTime : words.overMessages}</h2>
        <span class="soft small">
          {words.most(Math.max(...stack(timeline.series).map((column) => column.total)))}
        </span>
      </header>
      <Columns {...{ sums, only, name, onPick }} />
      <div class="timeline-ends soft small">
        <span>{name(timeline.starts[0] ?? 0)}</span>
        <span>{name(timeline.last)}</span>
      </div>
      <div class="row" role="group" aria-label={words.legend}>
        {timeline.series.map((each) => (
          <button
            key={each.key}
            type="button"
            class="legend-entry small"
            aria-pressed={only === each.key}
            onClick={() => setOnly(only === each.key ? null : each.key)}
          >
            <span class="swatch" style={{ background: colourOf(sums, each.key) }} aria-hidden="true" />
            <span class="mono">{nameOf(sums, each.key)}</span>
          </button>
        ))}
      </div>
      <Figures sums={sums} name={name} />
    </section>
  );
}

interface ColumnsProps extends Props {
  only: string | null;
  name: (at: number) => string;
}

function Columns({ sums, only, name, onPick }: ColumnsProps): JSX.Element {
  const [active, setActive] = useState(0);
  const { timeline } = sums;
  const words = t().replay;
  const series = only === null ? timeline.series : timeline.series.filter((each) => each.key === only);
  const columns = stack(series);
  const most = Math.max(1, ...columns.map((column) => column.total));
  const wide = WIDTH / columns.length;
  const end = (index: number): number => timeline.starts[index + 1] ?? timeline.end;
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      class="timeline"
      role="group"
      aria-label={timeline.by_time ? words.overTime : words.overMessages}
    >
      {columns.map((column, index) => {
        const start = timeline.starts[index] ?? 0;
        const label = `${name(start)}: ${number(column.total)}`;
        const pick = (): void => onPick?.(start, end(index));
        return (
          <g
            key={index}
            class="column"
            role={onPick ? 'button' : 'img'}
            tabindex={onPick ? (index === active ? 0 : -1) : undefined}
            aria-label={label}
            onClick={pick}
            onKeyDown={(event) => {
              if (event.key === 'Enter') pick();
              const to = neighbour(event);
              if (to === null) return;
              event.preventDefault();
              setActive(index + (event.key === 'ArrowLeft' ? -1 : 1));
              to.focus();
            }}
          >
            <title>{label}</title>
            <rect class="column-back" x={index * wide} y={0} width={wide} height={HEIGHT} />
            {column.parts.map((part) => (
              <rect
                key={part.key}
                x={index * wide + 0.5}
                width={Math.max(0.5, wide - 1)}
                y={HEIGHT - ((part.below + part.count) / most) * HEIGHT}
                height={(part.count / most) * HEIGHT}
                style={{ fill: colourOf(sums, part.key) }}
              />
            ))}
          </g>
        );
      })}
    </svg>
  );
}

/** Returns the column that an arrow key moves to; all columns are a single tab stop. */
function neighbour(event: KeyboardEvent): SVGElement | null {
  if (!(event.currentTarget instanceof SVGElement)) return null;
  const { previousElementSibling, nextElementSibling } = event.currentTarget;
  const to =
    event.key === 'ArrowLeft'
      ? previousElementSibling
      : event.key === 'ArrowRight'
        ? nextElementSibling
        : null;
  return to instanceof SVGElement ? to : null;
}

/** A statement has the colour of its target, as in all views. */
function colourOf(sums: ReplaySums, key: string): string {
  return hue(key === '*' ? '' : targetOf(sums, key));
}

function Figures({ sums, name }: { sums: ReplaySums; name: (at: number) => string }): JSX.Element {
  const [open, setOpen] = useState(false);
  const { timeline } = sums;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="small">{t().replay.asTable}</summary>
      {open && (
        // A scrollable element must be reachable by keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div class="scroll figures" tabIndex={0} role="group" aria-label={t().replay.asTable}>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">{timeline.by_time ? t().replay.columns.time : t().replay.columns.message}</th>
                {timeline.series.map((each) => (
                  <th key={each.key} scope="col" class="number mono">
                    {nameOf(sums, each.key)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {timeline.starts.map((start, index) => (
                <tr key={start}>
                  <th scope="row">{name(start)}</th>
                  {timeline.series.map((each) => (
                    <td key={each.key} class="number">
                      {number(each.counts[index] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
