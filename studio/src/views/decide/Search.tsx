// The search of a decision as a picture. Each table is a line with its routes in evaluation order.
// The chosen path is thick and in the accent colour; a jump shows its table inside the route.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DefaultTrace, RouteTrace, TableTrace } from '../../api/types';
import { kindBeside, t } from '../../i18n';
import { useLinks } from '../../ui/links';
import { Mark } from '../../ui/Mark';
import { Target } from '../../ui/Target';
import { Condition } from './Condition';
import { decisive, kindOf, runs, type TableKind, targetOf } from './trace';

export function Search({ trace, depth = 0 }: { trace: TableTrace; depth?: number }): JSX.Element {
  const words = t().decide;
  const kind = kindBeside(trace.table, words.parts[kindOf(trace)].table);
  return (
    <section
      class={`search ${trace.chose ? 'chose' : ''}`}
      aria-label={[kind, trace.table].filter(Boolean).join(' ')}
    >
      <header class="search-head">
        <span>
          {kind !== null && <span class="soft">{kind}</span>}{' '}
          <span class="search-name mono">{trace.table}</span>
        </span>
        <span class="soft small">
          {trace.searched_before ? words.searchedBefore : words.tried(trace.routes.length, trace.not_tried)}
        </span>
      </header>
      <ol class="rail">
        {runs(trace.routes).map((run, index) =>
          run.folded ? (
            <Folded key={index} kind={kindOf(trace)} routes={run.routes} depth={depth} />
          ) : (
            run.routes.map((route, each) => <Route key={`${index} ${each}`} route={route} depth={depth} />)
          ),
        )}
        {trace.default && <Default branch={trace.default} depth={depth} />}
      </ol>
      {(trace.disabled ?? []).length > 0 && (
        <p class="soft small">{words.disabled((trace.disabled ?? []).join(', '))}</p>
      )}
    </section>
  );
}

/** A run of statements that did not match, expanded on request, a hundred at a time. */
function Folded(props: { kind: TableKind; routes: RouteTrace[]; depth: number }): JSX.Element {
  const { kind, routes, depth } = props;
  const [shown, setShown] = useState(0);
  const left = routes.length - shown;
  return (
    <>
      {routes.slice(0, shown).map((route, index) => (
        <Route key={index} route={route} depth={depth} />
      ))}
      {left > 0 && (
        <li class="stop folded">
          <button type="button" class="plain" onClick={() => setShown(shown + 100)}>
            {t().decide.folded[kind](left)}
          </button>
        </li>
      )}
    </>
  );
}

function Route({ route, depth }: { route: RouteTrace; depth: number }): JSX.Element {
  const [open, setOpen] = useState<boolean | null>(null);
  const expanded = open ?? route.chosen;
  const deciding = decisive(route.when);
  return (
    <li class={`stop ${route.chosen ? 'chosen' : ''}`} aria-current={route.chosen ? 'step' : undefined}>
      <div class="stop-line">
        <button type="button" class="stop-open" aria-expanded={expanded} onClick={() => setOpen(!expanded)}>
          <span class="turn" aria-hidden="true">
            {expanded ? '▾' : '▸'}
          </span>
          <Mark truth={route.result} />
          <b class="mono">{route.route}</b>
        </button>
        {!expanded && deciding && <code class="deciding">{deciding.text}</code>}
        <To to={route.to} />
        {route.priority !== 0 && <span class="soft small">{t().decide.priority(route.priority)}</span>}
        {route.chosen && <span class="chip good">{t().decide.chosen}</span>}
      </div>
      {expanded && <Inside route={route} />}
      {route.table && <Search trace={route.table} depth={depth + 1} />}
    </li>
  );
}

/** The target of a statement with its colour; nothing for a branch, which is its own target. */
function To({ to }: { to: string }): JSX.Element | null {
  if (to === '') return null;
  const jump = to.startsWith('goto ');
  return <span class="to">→ {jump ? <span class="mono">{to}</span> : <Target name={targetOf(to)} />}</span>;
}

function Inside({ route }: { route: RouteTrace }): JSX.Element {
  const links = useLinks();
  const place = route.place;
  return (
    <div class="stop-inside">
      {route.docs && <p class="soft">{route.docs}</p>}
      <ul class="conditions">
        <Condition node={route.when} />
      </ul>
      {place &&
        (links.edit ? (
          <button type="button" class="plain small" onClick={() => links.edit?.(place.file, place.line)}>
            {t().decide.editRule(`${place.file}:${place.line}`)}
          </button>
        ) : (
          <span class="soft small mono">
            {place.file}:{place.line}
          </span>
        ))}
    </div>
  );
}

function Default({ branch, depth }: { branch: DefaultTrace; depth: number }): JSX.Element {
  const reached = branch.result === 'true';
  return (
    <li class={`stop ${reached ? 'chosen' : ''}`} aria-current={reached ? 'step' : undefined}>
      <div class="stop-line">
        <span class="turn" aria-hidden="true" />
        <Mark truth={branch.result} />
        <b class="mono">default</b>
        <To to={branch.to} />
        {reached && <span class="chip good">{t().decide.chosen}</span>}
      </div>
      {branch.table && <Search trace={branch.table} depth={depth + 1} />}
    </li>
  );
}
