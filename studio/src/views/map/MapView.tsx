// The view Map in the studio: the map of the selected version, from the server.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { DecisionTable } from '../../api/types';
import { api } from '../../client';
import { t } from '../../i18n';
import { numbers } from '../../state/counts';
import { mapTarget } from '../../state/place';
import { language } from '../../state/prefs';
import { useResource } from '../../state/resource';
import { overview, revision, version } from '../../state/studio';
import { MapPicture } from './Map';

const tables = signal<ReadonlyMap<string, DecisionTable>>(new Map());
const asked = new Set<string>();
/** Counts the versions of the rules, so that a late response is not shown for a newer version. */
const latest = { generation: 0 };

/** Requests the rows of a table, and then again with what the analysis finds, which takes longer. */
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
  const map = useResource(key, (abort) => api.map(version.value, abort));
  useEffect(() => {
    latest.generation += 1;
    // The tables stay visible until the new ones are there.
    for (const name of asked) void load(name);
  }, [key]);
  const target = mapTarget.value;
  const broken = overview.value?.errors ?? 0;
  return (
    <div aria-busy={map.loading}>
      {map.error !== null && <p class="note bad">{broken > 0 ? t().decide.broken(broken) : map.error}</p>}
      {map.loading && !map.value && <p role="status">{t().loading}</p>}
      {map.value && (
        <MapPicture key={target} map={map.value} counts={numbers.value} tableOf={tableOf} target={target} />
      )}
    </div>
  );
}
