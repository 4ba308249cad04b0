// The view Map in the studio: the map of the selected version, from the server.
import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { DecisionTable, Map as RulesMap } from '../../api/types';
import { api } from '../../client';
import { t } from '../../i18n';
import { numbers } from '../../state/counts';
import { mapTarget } from '../../state/place';
import { language } from '../../state/prefs';
import { useResource } from '../../state/resource';
import { overview, revision, version } from '../../state/studio';
import { decided } from '../decide/state';
import { keysOf } from '../decide/trace';
import { MapPicture } from './Map';

const tables = signal<ReadonlyMap<string, DecisionTable>>(new Map());
const asked = new Set<string>();
/**
 * The version of the rules whose tables were requested last, and the number of such versions, so
 * that a late response is not shown for a newer version.
 */
const latest = { key: '', generation: 0 };
/** Statements on the way of the message that the view Decide shows. */
const taken = computed(() =>
  decided.value?.kind === 'decision' ? keysOf(decided.value.explanation) : undefined,
);
/** The latest map. It stays when the view is left. */
const kept = signal<{ key: string; map: RulesMap } | null>(null);

/**
 * Requests the rows of a table, and then the rows with the findings of the analysis, which takes
 * longer.
 */
async function load(name: string): Promise<void> {
  const { generation } = latest;
  try {
    for (const analysed of [false, true]) {
      const table = await api.table(version.peek(), name, analysed);
      if (latest.generation !== generation) return;
      tables.value = new Map(tables.peek()).set(name, table);
    }
  } catch {
    asked.delete(name);
  }
}

function tableOf(name: string): DecisionTable | null {
  const known = tables.value.get(name);
  if (known) return known;
  if (!asked.has(name)) {
    asked.add(name);
    void load(name);
  }
  return null;
}

export function MapView(): JSX.Element {
  const key = JSON.stringify([version.value, revision.value, language.value]);
  const isKept = kept.value?.key === key && kept.value.map.analysed;
  const map = useResource(isKept ? null : key, async (abort) => {
    // The analysis of thousands of routes takes seconds, so the map is first shown without it.
    for (const analysed of [false, true]) {
      const map = await api.map(version.peek(), analysed, abort);
      kept.value = { key, map };
      if (map.analysed) return;
    }
  });
  const shown = kept.value?.map;
  useEffect(() => {
    if (latest.key === key) return;
    latest.key = key;
    latest.generation += 1;
    // The tables stay visible until the new ones are there.
    for (const name of asked) void load(name);
  }, [key]);
  const target = mapTarget.value;
  const broken = overview.value?.errors ?? 0;
  return (
    <div aria-busy={map.loading}>
      {map.error !== null && <p class="note bad">{broken > 0 ? t().decide.broken(broken) : map.error}</p>}
      {map.loading && !shown && <p role="status">{t().loading}</p>}
      {shown && (
        <MapPicture
          key={target}
          map={shown}
          counts={numbers.value}
          taken={taken.value}
          tableOf={tableOf}
          target={target}
        />
      )}
    </div>
  );
}
