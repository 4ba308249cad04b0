// The page: the navigation bar, the chosen view, and parts common to all views.
import type { JSX } from 'preact';
import { lazy, Suspense } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../i18n';
import { addressOf, go, openInEditor, openInMap, view, type View } from '../state/place';
import { failure, preferDraft, rules, ruleSet, session, views } from '../state/studio';
import { type Links, LinksContext } from '../ui/links';
import { Toast } from '../ui/toast';
import { showEarlier } from '../views/decide/Before';
import { Decide } from '../views/decide/Decide';
import { take } from '../views/decide/state';
import { narrow } from '../views/replay/state';
import { Bar, Preferences } from './Bar';
import { Help } from './Help';
import { followKeys } from './keys';

// Views other than the first are loaded on demand.
const Replay = lazy(async () => ({ default: (await import('../views/replay/Replay')).Replay }));
const MapView = lazy(async () => ({ default: (await import('../views/map/MapView')).MapView }));
const Edit = lazy(async () => ({ default: (await import('../views/edit/Edit')).Edit }));
const Live = lazy(async () => ({ default: (await import('../views/live/Live')).Live }));
const ReportView = lazy(async () => ({ default: (await import('../views/report/ReportView')).ReportView }));

const LINKS: Links = {
  edit: (file, line) => openInEditor({ file, line }),
  map: openInMap,
  rows: (key) => {
    narrow({ key });
    go('replay');
  },
  decide: (entry, message, from) => {
    take(entry, message, { history: [], ...from });
    go('decide');
  },
  earlier: showEarlier,
};

function Current({ name }: { name: View }): JSX.Element {
  switch (name) {
    case 'decide':
      return <Decide />;
    case 'replay':
      return <Replay />;
    case 'map':
      return <MapView />;
    case 'edit':
      return <Edit />;
    case 'report':
      return <ReportView />;
    case 'live':
      return session.value?.live ? <Live /> : <Decide />;
  }
}

export function App(): JSX.Element {
  const [help, setHelp] = useState(false);
  useEffect(() => followKeys(() => setHelp(true)), []);
  const words = t().shell;
  const name = view.value;
  useEffect(() => {
    document.title = `${t().views[name]} · ${ruleSet.value?.name ?? 'rulec'} · rulec studio`;
  }, [name, ruleSet.value?.name, t()]);
  return (
    <LinksContext.Provider value={LINKS}>
      <a class="skip-link" href="#main" onClick={skip}>
        {words.skip}
      </a>
      <Bar title="rulec studio" name={ruleSet.value?.name ?? ''}>
        <nav class="tabs" aria-label={words.views}>
          {views.value.map((each, index) => (
            <a
              key={each}
              href={addressOf(each)}
              aria-current={each === name ? 'page' : undefined}
              title={`${index + 1}`}
            >
              {t().views[each]}
            </a>
          ))}
        </nav>
        <ViewMenu name={name} />
        <Versions />
        <Preferences />
        <button type="button" aria-label={words.help} title={words.help} onClick={() => setHelp(true)}>
          ?
        </button>
        <Toast />
      </Bar>
      <main id="main" tabIndex={-1}>
        {failure.value !== null && (
          <p class="note bad" role="alert">
            {failure.value}
          </p>
        )}
        {session.value ? (
          <Suspense fallback={<p role="status">{t().loading}</p>}>
            <Current name={name} />
          </Suspense>
        ) : (
          failure.value === null && <p role="status">{t().loading}</p>
        )}
      </main>
      {help && <Help onClose={() => setHelp(false)} />}
    </LinksContext.Provider>
  );
}

/** The views as a menu, where the page is too narrow for tabs. */
function ViewMenu({ name }: { name: View }): JSX.Element {
  return (
    <select
      class="tabs-menu"
      aria-label={t().shell.views}
      value={name}
      onChange={(event) => go(event.currentTarget.value as View)}
    >
      {views.value.map((each) => (
        <option key={each} value={each}>
          {t().views[each]}
        </option>
      ))}
    </select>
  );
}

/** Moves the focus to the view without changing the URL, which contains the token. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** Selects the rule set, and its version: on disk or in the editor. */
function Versions(): JSX.Element {
  const sets = session.value?.rules ?? [];
  const words = t().shell;
  return (
    <div class="bar-tools">
      {sets.length > 1 && (
        <select
          aria-label={words.rules}
          value={rules.value}
          onChange={(event) => (rules.value = Number(event.currentTarget.value))}
        >
          {sets.map((set) => (
            <option key={set.id} value={set.id}>
              {set.name}
            </option>
          ))}
        </select>
      )}
      {ruleSet.value?.has_draft && (
        <div class="segments" role="group" aria-label={words.version}>
          <button type="button" aria-pressed={preferDraft.value} onClick={() => (preferDraft.value = true)}>
            ● {words.draft}
          </button>
          <button type="button" aria-pressed={!preferDraft.value} onClick={() => (preferDraft.value = false)}>
            {words.onDisk}
          </button>
        </div>
      )}
      {session.value?.show_private && <span class="chip warn">{words.privateShown}</span>}
    </div>
  );
}
