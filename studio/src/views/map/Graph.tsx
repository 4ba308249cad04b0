// The tables as cards, and the jumps as arrows. A card shows its first statements, all of them on
// request, or the search results.
import type { JSX } from 'preact';
import type { MapRoute } from '../../api/types';
import { number, t } from '../../i18n';
import { ZoomBox } from '../../ui/ZoomBox';
import type { Card, Jump } from './model';
import { HEAD, ROW, standing, taken } from './model';

interface Props {
  cards: Card[];
  jumps: Jump[];
  width: number;
  height: number;
  counts: ReadonlyMap<string, number> | null;
  chosen: string | null;
  onPick: (key: string) => void;
  onMore: (table: string) => void;
  onFold: (table: string) => void;
}

export function Graph(props: Props): JSX.Element {
  const { cards, jumps, width, height } = props;
  return (
    <ZoomBox width={width} height={height} label={t().map.graph}>
      <svg width={width} height={height} class="jumps" aria-hidden="true">
        <defs>
          <marker
            id="jump"
            viewBox="0 0 8 8"
            refX="5"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0,0 L8,4 L0,8 z" fill="context-stroke" />
          </marker>
        </defs>
        {jumps.map((jump, index) => (
          <path key={index} d={jump.path} marker-end="url(#jump)" />
        ))}
      </svg>
      {cards.map((card) => (
        <TableCard key={card.table.name} card={card} {...props} />
      ))}
    </ZoomBox>
  );
}

function TableCard({ card, counts, chosen, onPick, onMore, onFold }: Props & { card: Card }): JSX.Element {
  const { table } = card;
  const words = t().map;
  const folded = card.rows.length === 0;
  const all = counts ? table.routes.reduce((sum, route) => sum + (counts.get(route.key) ?? 0), 0) : null;
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
          {t().kinds[table.kind]} · {words.statements(table.routes.length)}
          {all !== null && <> · {words.taken(number(all))}</>}
        </span>
      </header>
      <ul>
        {card.rows.map((route) => (
          <Row key={route.key} route={route} counts={counts} chosen={chosen === route.key} onPick={onPick} />
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
    <span class={`standing ${kind}`} title={t().map.standings[kind]}>
      <span aria-hidden="true">{signs[kind]}</span>
      <span class="visually-hidden">{t().map.standings[kind]}</span>
    </span>
  );
}

interface RowProps {
  route: MapRoute;
  counts: ReadonlyMap<string, number> | null;
  chosen: boolean;
  onPick: (key: string) => void;
}

function Row({ route, counts, chosen, onPick }: RowProps): JSX.Element {
  const count = taken(route, counts);
  const kind = standing(route);
  return (
    <li style={{ height: `${ROW}px` }}>
      <button
        type="button"
        class={`map-row ${kind ?? ''} ${count === 0 ? 'unused' : ''}`}
        aria-pressed={chosen}
        title={route.condition}
        onClick={() => onPick(route.key)}
      >
        <span class="map-row-name mono">
          <Standing route={route} /> {route.name}
        </span>
        <span class="map-row-to mono soft">→ {route.goto ?? route.to}</span>
        {count !== null && <span class="map-row-count">{count === 0 ? `○ 0` : number(count)}</span>}
      </button>
    </li>
  );
}
