// State shared by the whole page: the session, the selected rule set, and its version.
import { computed, effect, signal } from '@preact/signals';
import type { EntryInfo, Overview, RuleSet, Session, Version } from '../api/types';
import { api, isAborted, type RequestError } from '../client';
import { type View, VIEWS } from './place';
import { targets } from '../ui/handlers';
import { begin as beginIn, language } from './prefs';

export const session = signal<Session | null>(null);
export const failure = signal<string | null>(null);

/** Id of the selected rule set. */
export const rules = signal(0);
/**
 * Whether to use the editor's unsaved texts if there are any; false if the user chose the rules on
 * disk.
 */
export const preferDraft = signal(true);
/** Increases whenever the texts of the rules change, in the editor or on disk. */
export const revision = signal(0);
export const overview = signal<Overview | null>(null);

export const ruleSet = computed<RuleSet | undefined>(() =>
  session.value?.rules.find((set) => set.id === rules.value),
);

/** The views of the page. Only the studio of a service has live traffic. */
export const views = computed<View[]>(() =>
  VIEWS.filter((view) => view !== 'live' || session.value?.live === true),
);

/** The version that decisions, the map and replays use. */
export const version = computed<Version>(() => ({
  rules: rules.value,
  draft: preferDraft.value && (ruleSet.value?.has_draft ?? false),
}));

/** Records whether the editor has unsaved texts. */
export function setDraft(id: number, hasDraft: boolean): void {
  const current = session.value;
  if (!current) return;
  const sets = current.rules.map((set) => (set.id === id ? { ...set, has_draft: hasDraft } : set));
  session.value = { ...current, rules: sets };
}

/** Requests the session again after a file was uploaded or saved. */
export async function refreshSession(): Promise<void> {
  const next = await api.session();
  session.value = next;
}

/** Requests the session, and the overview of the rules whenever they change. */
export function begin(): void {
  api.session().then(
    (first) => {
      beginIn(first.language);
      session.value = first;
      rules.value = first.rules[0]?.id ?? 0;
      follow();
    },
    (error: unknown) => (failure.value = (error as RequestError).message),
  );
}

/**
 * A key of the version of the rules, the revision of its texts, and the language. It changes
 * whenever a response of the server may change.
 */
const state = computed(() => ({ of: version.value, revision: revision.value, language: language.value }));

function follow(): void {
  let asked: AbortController | undefined;
  effect(() => {
    const { of } = state.value;
    asked?.abort();
    asked = new AbortController();
    api.overview(of, asked.signal).then(
      (known) => {
        overview.value = known;
        targets.value = known.targets;
      },
      (error: unknown) => {
        if (!isAborted(error)) failure.value = (error as RequestError).message;
      },
    );
  });
}

/** Returns the entry of this name. */
export function entryOf(name: string): EntryInfo | undefined {
  return overview.value?.entries.find((entry) => entry.name === name);
}
