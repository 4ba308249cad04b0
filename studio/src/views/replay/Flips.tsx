// Changed results as a Sankey diagram, from the statements before (left) to the statements after
// (right). A table shows the same data; selecting a line filters the rows below.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Flip, ReplaySums } from '../../api/types';
import { number, percent, t } from '../../i18n';
import { hue } from '../../ui/handlers';
import { nameOf, targetOf } from './names';
import { bands } from './bands';

interface Props {
  sums: ReplaySums;
  onPick?: (flip: Flip) => void;
}

const WIDTH = 760;

export function Flips({ sums, onPick }: Props): JSX.Element {
  const words = t().replay;
  const total = sums.flips.reduce((sum, flip) => sum + flip.count, 0);
  return (
    <section class="panel">
      <header>
        <h2>{words.flips}</h2>
        <span role="status" class={`chip ${total > 0 ? 'warn' : 'good'}`}>
          {total > 0
            ? `⇄ ${words.flipped(total, percent(total, sums.progress.messages))}`
            : `✓ ${words.noFlips}`}
        </span>
      </header>
      {total > 0 && (
        <div class="flips">
          <Picture sums={sums} onPick={onPick} />
          <Table sums={sums} onPick={onPick} />
        </div>
      )}
    </section>
  );
}

function Picture({ sums, onPick }: Props): JSX.Element {
  const drawn = useMemo(() => bands(sums.flips, WIDTH), [sums.flips]);
  const words = t().replay;
  return (
    // A scrollable element must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div class="scroll" tabIndex={0} role="group" aria-label={words.flips}>
      <svg class="sankey" viewBox={`0 0 ${WIDTH} ${drawn.height + 26}`} role="img" aria-label={words.flips}>
        <text x={0} y={14} class="sankey-side">
          {words.beforeSide}
        </text>
        <text x={WIDTH} y={14} text-anchor="end" class="sankey-side">
          {words.afterSide}
        </text>
        <g transform="translate(0,26)">
          {drawn.links.map((link) => (
            // The table next to the diagram offers the same actions to the keyboard.
            <path
              key={`${link.flip.before} ${link.flip.after}`}
              class="band"
              d={link.path}
              style={{ stroke: hue(targetOf(sums, link.flip.after)) }}
              stroke-width={Math.max(1.5, link.width)}
              onClick={() => onPick?.(link.flip)}
            >
              <title>
                {nameOf(sums, link.flip.before)} → {nameOf(sums, link.flip.after)}: {number(link.flip.count)}
              </title>
            </path>
          ))}
          {drawn.nodes.map((node) => (
            <g key={`${node.side} ${node.key}`}>
              <rect
                x={node.x}
                y={node.y}
                width={node.width}
                height={Math.max(2, node.height)}
                class="sankey-node"
              />
              <text
                x={node.side === 'before' ? node.x + node.width + 7 : node.x - 7}
                y={node.y + node.height / 2 + 4}
                text-anchor={node.side === 'before' ? 'start' : 'end'}
                class="sankey-name"
              >
                {nameOf(sums, node.key)} ({number(node.count)})
              </text>
            </g>
          ))}
        </g>
      </svg>
      {drawn.left > 0 && <p class="soft small">{words.flipsLeft(drawn.left)}</p>}
    </div>
  );
}

function Table({ sums, onPick }: Props): JSX.Element {
  const words = t().replay;
  return (
    // A scrollable element must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div class="scroll flips-table" tabIndex={0} role="group" aria-label={words.flipsTable}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{words.beforeSide}</th>
            <th scope="col">{words.afterSide}</th>
            <th scope="col" class="number">
              {words.count}
            </th>
          </tr>
        </thead>
        <tbody>
          {sums.flips.slice(0, 200).map((flip) => (
            <tr key={`${flip.before} ${flip.after}`}>
              <td class="mono">{nameOf(sums, flip.before)}</td>
              <td class="mono">
                → {nameOf(sums, flip.after)}
                {flip.before === flip.after && <span class="soft small"> ({words.otherAnswer})</span>}
              </td>
              <td class="number">
                {onPick ? (
                  <button
                    type="button"
                    class="plain"
                    aria-label={words.showFlips(
                      nameOf(sums, flip.before),
                      nameOf(sums, flip.after),
                      flip.count,
                    )}
                    onClick={() => onPick(flip)}
                  >
                    {number(flip.count)}
                  </button>
                ) : (
                  number(flip.count)
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
