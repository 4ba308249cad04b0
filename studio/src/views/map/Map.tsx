// The map of the rules, as a graph or as decision tables. Reports use the same component with
// embedded data.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { DecisionTable, Map as RulesMap, MapTable } from '../../api/types';
import { t } from '../../i18n';
import { WorkflowGraph } from '../../ui/WorkflowGraph';
import { Detail } from './Detail';
import { Graph } from './Graph';
import { arrange, find, type Show } from './model';
import { useNarrow } from './narrow';
import { Rules } from './Table';

interface Props {
  map: RulesMap;
  counts: ReadonlyMap<string, number> | null;
  /** Keys of the statements on the way of the message at hand. */
  taken?: ReadonlySet<string> | undefined;
  /** Returns the decision table of a table; null while it is loading. */
  tableOf: (name: string) => DecisionTable | null;
  /** Statement to show first. */
  target?: string | null;
}

const NONE: ReadonlySet<string> = new Set();
/** Number of rows of a table that are shown at first. */
const FIRST = 14;
/** Number of tables that are shown at first, because the layout of more takes seconds. */
const FIRST_TABLES = 40;

export function MapPicture({ map, counts, taken = NONE, tableOf, target = null }: Props): JSX.Element {
  const [search, setSearch] = useState('');
  const [show, setShow] = useState<Show>('all');
  const [asTable, setAsTable] = useState(false);
  const [chosen, setChosen] = useState<string | null>(target);
  const [limits, setLimits] = useState<ReadonlyMap<string, number>>(new Map());
  const [most, setMost] = useState(FIRST_TABLES);
  const words = t().map;
  const narrow = useNarrow();
  const first = (table: MapTable): number =>
    (map.tables.length > 12 ? 5 : search === '' ? FIRST : 60) + (table.entered ? 0 : 4);
  const limit = (table: MapTable): number => limits.get(table.name) ?? first(table);
  const drawn = useMemo(() => {
    const keep = new Set(target === null ? taken : [...taken, target]);
    return arrange(map, { search, show, limit, counts, narrow, keep, tables: most });
  }, [map, search, show, limits, counts, narrow, taken, target, most]);
  const picked = chosen === null ? null : find(map, chosen);
  const setLimit = (name: string, change: (before: number) => number): void => {
    const table = map.tables.find((each) => each.name === name);
    if (table) setLimits(new Map(limits).set(name, change(limit(table))));
  };
  const foldAll = (folded: boolean): void =>
    setLimits(folded ? new Map(map.tables.map((table) => [table.name, 0])) : new Map());
  return (
    <div class="stack">
      <Tools
        {...{ search, setSearch, show, setShow, asTable, setAsTable, foldAll }}
        hasCounts={counts !== null}
      />
      {taken.size > 0 && <TakenLegend />}
      <div class={`map-body ${asTable ? 'as-table' : ''} ${picked ? 'with-detail' : ''}`}>
        <div class="stack">
          {asTable ? (
            <Rules {...{ map, tableOf, search, chosen, taken }} onPick={setChosen} />
          ) : (
            <>
              {drawn.cards.length > 0 ? (
                <Graph
                  key={narrow}
                  {...drawn}
                  map={map}
                  counts={counts}
                  taken={taken}
                  chosen={chosen}
                  onPick={setChosen}
                  onMore={(name) => setLimit(name, (before) => before + 100)}
                  onFold={(name) => setLimit(name, (before) => (before === 0 ? FIRST : 0))}
                />
              ) : (
                map.tables.length > 0 && (
                  <p class="soft">
                    {show === 'findings' && !map.analysed ? words.analysing : words.nothingFound}
                  </p>
                )
              )}
              <Left count={drawn.left} onMore={() => setMost(most + FIRST_TABLES)} />
              {map.workflows.map((workflow) => (
                <section key={workflow.name} class="panel">
                  <header>
                    <h2>
                      {words.workflow} <span class="mono">{workflow.name}</span>
                    </h2>
                  </header>
                  <WorkflowGraph workflow={workflow} />
                </section>
              ))}
              <Payloads payloads={map.payloads} onPick={setChosen} />
            </>
          )}
        </div>
        {picked && <Detail map={map} {...picked} counts={counts} onClose={() => setChosen(null)} />}
      </div>
    </div>
  );
}

function TakenLegend(): JSX.Element {
  return (
    <p class="soft small">
      <span class="taken-sign" aria-hidden="true">
        ✓
      </span>{' '}
      {t().map.takenLegend}
    </p>
  );
}

/** The number of tables that are not drawn, and a button that draws more. */
function Left({ count, onMore }: { count: number; onMore: () => void }): JSX.Element | null {
  if (count === 0) return null;
  return (
    <p class="row soft">
      {t().map.tablesLeft(count)}
      <button type="button" onClick={onMore}>
        {t().showMore(Math.min(count, FIRST_TABLES))}
      </button>
    </p>
  );
}

interface ToolsProps {
  search: string;
  setSearch: (search: string) => void;
  show: Show;
  setShow: (show: Show) => void;
  asTable: boolean;
  setAsTable: (asTable: boolean) => void;
  foldAll: (folded: boolean) => void;
  hasCounts: boolean;
}

function Tools(props: ToolsProps): JSX.Element {
  const words = t().map;
  return (
    <div class="row map-tools" role="search">
      <div class="segments" role="group" aria-label={words.shownAs}>
        <button type="button" aria-pressed={!props.asTable} onClick={() => props.setAsTable(false)}>
          {words.asGraph}
        </button>
        <button type="button" aria-pressed={props.asTable} onClick={() => props.setAsTable(true)}>
          {words.asTable}
        </button>
      </div>
      <input
        type="search"
        class="grow"
        data-search
        aria-label={words.search}
        placeholder={words.search}
        value={props.search}
        onInput={(event) => props.setSearch(event.currentTarget.value)}
      />
      {!props.asTable && (
        <>
          <label class="row small">
            {words.show}
            <select value={props.show} onChange={(event) => props.setShow(event.currentTarget.value as Show)}>
              <option value="all">{words.all}</option>
              {props.hasCounts && <option value="never">{words.neverChosen}</option>}
              <option value="findings">{words.withFindings}</option>
            </select>
          </label>
          <button type="button" onClick={() => props.foldAll(true)}>
            {words.foldAll}
          </button>
          <button type="button" onClick={() => props.foldAll(false)}>
            {words.unfoldAll}
          </button>
        </>
      )}
    </div>
  );
}

function Payloads({
  payloads,
  onPick,
}: {
  payloads: MapTable[];
  onPick: (key: string) => void;
}): JSX.Element {
  return (
    <>
      {payloads.map((payload) => (
        <section key={payload.name} class="panel">
          <header>
            <h2>
              {t().map.payload} <span class="mono">{payload.name}</span>
            </h2>
          </header>
          {payload.docs && <p class="soft">{payload.docs}</p>}
          <ul class="payload-rules">
            {payload.routes.map((rule) => (
              <li key={rule.key}>
                <button type="button" class="plain mono" onClick={() => onPick(rule.key)}>
                  {rule.name}
                </button>
                <span class="soft small">{rule.to}</span>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}
