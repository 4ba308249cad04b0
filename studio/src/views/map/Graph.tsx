// The tables as cards, and the jumps as arrows. A card shows its first statements, all of them on
// request, or the search results.
import type { JSX } from 'preact';
import type { Map as RulesMap, MapRoute } from '../../api/types';
import { kindBeside, number, t } from '../../i18n';
import { ZoomBox } from '../../ui/ZoomBox';
import { hue } from '../../ui/handlers';
import type { Arrow, Card, Passing, Target } from './model';
import { countOf, HEAD, passing, ROW, standing, TARGET_HEIGHT } from './model';

interface Props {
  map: RulesMap;
  cards: Card[];
  targets: Target[];
  arrows: Arrow[];
  width: number;
  height: number;
  counts: ReadonlyMap<string, number> | null;
  /** Keys of the statements on the way of the message at hand. */
  taken: ReadonlySet<string>;
  chosen: string | null;
  onPick: (key: string) => void;
  onMore: (table: string) => void;
  onFold: (table: string) => void;
}

export function Graph(props: Props): JSX.Element {
  const { cards, targets, arrows, width, height } = props;
  return (
    <ZoomBox width={width} height={height} label={t().map.graph}>
      <svg width={width} height={height} class="jumps" aria-hidden="true">
        <defs>
          <marker
            id="jump"
            viewBox="0 0 8 8"
            refX="5"
            refY="4"
            markerWidth="9"
            markerHeight="9"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0,0 L8,4 L0,8 z" fill="context-stroke" />
          </marker>
        </defs>
        {arrows.map((arrow, index) => (
          <path
            key={index}
            d={arrow.path}
            class={`${arrow.jump ? 'jump' : ''} ${isTaken(arrow, props.taken) ? 'is-taken' : ''}`}
            style={{ stroke: arrow.jump ? 'var(--accent)' : hue(arrow.to) }}
            stroke-width={isTaken(arrow, props.taken) ? Math.max(4, arrow.width) : arrow.width}
            marker-end="url(#jump)"
          />
        ))}
      </svg>
      {cards.map((card) => (
        <TableCard key={card.table.name} card={card} {...props} />
      ))}
      {targets.map((target) => (
        <TargetBox key={target.name} target={target} />
      ))}
    </ZoomBox>
  );
}

function isTaken(arrow: Arrow, taken: ReadonlySet<string>): boolean {
  const route = arrow.from.rows[arrow.row];
  return route !== undefined && taken.has(route.key);
}

function TargetBox({ target }: { target: Target }): JSX.Element {
  const { name, count, x, y, width } = target;
  const place = {
    left: `${x}px`,
    top: `${y}px`,
    width: `${width}px`,
    height: `${TARGET_HEIGHT}px`,
    borderColor: hue(name),
  };
  return (
    <div class={`map-target ${count === 0 ? 'unused' : ''}`} style={place} title={name}>
      <b class="mono">{name}</b>
      {count !== null && <span class="map-row-count">{count === 0 ? '○ 0' : number(count)}</span>}
    </div>
  );
}

function TableCard({
  map,
  card,
  counts,
  taken,
  chosen,
  onPick,
  onMore,
  onFold,
}: Props & { card: Card }): JSX.Element {
  const { table } = card;
  const words = t().map;
  const folded = card.rows.length === 0;
  const kind = kindBeside(table.name, t().kinds[table.kind]);
  const all = counts ? countOf(table, counts) : null;
  const place = {
    left: `${card.x}px`,
    top: `${card.y}px`,
    width: `${card.width}px`,
    height: `${card.height}px`,
  };
  return (
    <section class="map-card" style={place} aria-label={words.table(table.name)}>
      <header class="map-card-head" style={{ height: `${HEAD}px` }}>
        <button type="button" class="stop-open" aria-expanded={!folded} onClick={() => onFold(table.name)}>
          <span aria-hidden="true">{folded ? '▸' : '▾'}</span> <b class="mono">{table.name}</b>
        </button>
        <span class="soft small">
          {kind !== null && `${kind} · `}
          {words.statements(table.routes.length)}
          {all !== null && <> · {words.taken(number(all))}</>}
        </span>
      </header>
      <ul>
        {card.rows.map((route) => (
          <Row
            key={route.key}
            {...{ map, route, counts, onPick }}
            taken={taken.has(route.key)}
            chosen={chosen === route.key}
          />
        ))}
      </ul>
      {card.hidden > 0 && !folded && (
        <button type="button" class="plain small map-card-foot" onClick={() => onMore(table.name)}>
          {t().showMore(card.hidden)}
        </button>
      )}
    </section>
  );
}

/** The sign of a statement's finding, with a text for screen readers. */
export function Standing({ route }: { route: MapRoute }): JSX.Element | null {
  const kind = standing(route);
  if (kind === null) return null;
  const signs = { disabled: '‖', unreachable: '⊘', shadowed: '▨', other: '⚠' };
  return (
    <span class={`route-mark ${kind}`} title={t().map.standings[kind]}>
      <span aria-hidden="true">{signs[kind]}</span>
      <span class="visually-hidden">{t().map.standings[kind]}</span>
    </span>
  );
}

interface RowProps {
  map: RulesMap;
  route: MapRoute;
  counts: ReadonlyMap<string, number> | null;
  taken: boolean;
  chosen: boolean;
  onPick: (key: string) => void;
}

/** The sign of a statement on the way of the message at hand. */
export function Taken(): JSX.Element {
  return (
    <span class="taken-sign" title={t().map.takenLegend}>
      <span aria-hidden="true">✓</span>
      <span class="visually-hidden">{t().map.takenLegend}</span>
    </span>
  );
}

function Row({ map, route, counts, taken, chosen, onPick }: RowProps): JSX.Element {
  const passed = passing(route, map, counts);
  const kind = standing(route);
  return (
    <li style={{ height: `${ROW}px` }}>
      <button
        type="button"
        class={`map-row ${kind ?? ''} ${passed?.count === 0 ? 'unused' : ''} ${taken ? 'is-taken' : ''}`}
        aria-pressed={chosen}
        title={route.condition}
        onClick={() => onPick(route.key)}
      >
        <span class="map-row-name mono">
          {taken && <Taken />} <Standing route={route} /> {route.name}
        </span>
        {route.condition !== '' && <span class="map-row-if mono soft">{route.condition}</span>}
        {passed && <span class="map-row-count">{countText(passed)}</span>}
      </button>
    </li>
  );
}

/** A count of messages with a sign for none and for an upper bound. */
export function countText({ count, most }: Passing): string {
  if (count === 0) return '○ 0';
  return most ? `≤ ${number(count)}` : number(count);
}
