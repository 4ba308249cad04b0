// Details of a statement: its condition, access path, replay count and findings.
import type { JSX } from 'preact';
import type { Map as RulesMap, MapRoute, MapTable } from '../../api/types';
import { about, percent, t } from '../../i18n';
import { useLinks } from '../../ui/links';
import { countText, Standing } from './Graph';
import { passing } from './model';

interface Props {
  map: RulesMap;
  table: MapTable;
  route: MapRoute;
  counts: ReadonlyMap<string, number> | null;
  onClose: () => void;
}

export function Detail({ map, table, route, counts, onClose }: Props): JSX.Element {
  const links = useLinks();
  const words = t().map;
  const { place } = route;
  // The messages of a jump are listed by the statements of its table.
  const count = route.goto === null ? (counts?.get(route.key) ?? 0) : 0;
  return (
    <aside class="panel map-detail" aria-label={words.statement(route.name)}>
      <header>
        <h2 class="mono">
          <Standing route={route} /> {table.name === 'routes' ? '' : `${table.name}.`}
          {route.name}
        </h2>
        <button type="button" class="plain" onClick={onClose}>
          {t().close}
        </button>
      </header>
      <div class="stack">
        {route.docs && <p>{route.docs}</p>}
        <Facts map={map} route={route} counts={counts} />
        {route.findings.map((finding, index) => (
          <div key={index} class={`note ${finding.kind === 'other' ? '' : 'warn'}`}>
            <b>{finding.code}</b> {finding.message}
            {finding.help !== null && <p class="small">{finding.help}</p>}
          </div>
        ))}
        <div class="row">
          {place && links.edit && (
            <button type="button" onClick={() => links.edit?.(place.file, place.line)}>
              {t().decide.editRule(`${place.file}:${place.line}`)}
            </button>
          )}
          {count > 0 && links.rows && (
            <button type="button" onClick={() => links.rows?.(route.key)}>
              {words.itsMessages}
            </button>
          )}
        </div>
      </div>
    </aside>
  );
}

function Facts({ map, route, counts }: Pick<Props, 'map' | 'route' | 'counts'>): JSX.Element {
  const words = t().map;
  const total = counts ? [...counts.values()].reduce((sum, each) => sum + each, 0) : 0;
  const passed = passing(route, map, counts);
  return (
    <dl class="facts">
      <dt>{words.leadsTo}</dt>
      <dd class="mono">{route.to}</dd>
      {!route.is_default && (
        <>
          <dt>{words.condition}</dt>
          <dd>
            <pre>{route.condition}</pre>
          </dd>
          <dt>{words.priority}</dt>
          <dd>{route.priority}</dd>
        </>
      )}
      {passed && (
        <>
          <dt>{route.goto === null ? words.chosen : words.chosenIn(route.goto)}</dt>
          <dd>
            {passed.count === 0
              ? `○ ${words.neverChosen}`
              : `${countText(passed)} (${percent(passed.count, total)})`}
          </dd>
        </>
      )}
      {route.found && (
        <>
          <dt>{words.found}</dt>
          <dd>
            {words.foundBy[route.found.by] ?? route.found.by}
            {route.found.what && (
              <>
                : <code>{route.found.what}</code>
              </>
            )}
            {route.found.shared > 0 && <span class="soft small"> · {words.shared(route.found.shared)}</span>}
          </dd>
        </>
      )}
      <dt>{words.cost}</dt>
      <dd>{words.steps(sizeOf(route.steps), about(route.steps))}</dd>
    </dl>
  );
}

/** The size of a number of steps, in a word. */
function sizeOf(steps: number): 'small' | 'moderate' | 'large' {
  if (steps < 10_000) return 'small';
  return steps < 100_000_000 ? 'moderate' : 'large';
}
