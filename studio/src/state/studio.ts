// What the whole page shares: the session, the rules that are looked at, and in which version of them.
import { computed, effect, signal } from '@preact/signals';
import type { EntryInfo, Overview, RuleSet, Session, Version } from '../api/types';
import { api, isAborted, type RequestError } from '../client';
import { begin as beginIn, language } from './prefs';

export const session = signal<Session | null>(null);
export const failure = signal<string | null>(null);

/** The number of the rule set that is looked at. */
export const rules = signal(0);
/** False where a person asked to see the rules as they are on disk although the editor holds others. */
export const preferDraft = signal(true);
/** Goes up whenever the texts of the rules have changed: in the editor, or on disk. */
export const revision = signal(0);
export const overview = signal<Overview | null>(null);

export const ruleSet = computed<RuleSet | undefined>(() =>
  session.value?.rules.find((set) => set.id === rules.value),
);

/** The version that decisions, the map and replays are of. */
export const version = computed<Version>(() => ({
  rules: rules.value,
  draft: preferDraft.value && (ruleSet.value?.has_draft ?? false),
}));

/** Marks that the editor holds, or no longer holds, texts that are not saved. */
export function setDraft(id: number, hasDraft: boolean): void {
  const current = session.value;
  if (!current) return;
  const sets = current.rules.map((set) => (set.id === id ? { ...set, has_draft: hasDraft } : set));
  session.value = { ...current, rules: sets };
}

/** Reads the session anew: after a file was uploaded or saved. */
export async function refreshSession(): Promise<void> {
  const next = await api.session();
  session.value = next;
}

/** Begins: reads the session, and what can be asked of the rules whenever they change. */
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

/** The version with the state of its texts and the language of answers: another one whenever an answer may be another. */
const state = computed(() => ({ of: version.value, revision: revision.value, language: language.value }));

function follow(): void {
  let asked: AbortController | undefined;
  effect(() => {
    const { of } = state.value;
    asked?.abort();
    asked = new AbortController();
    api.overview(of, asked.signal).then(
      (known) => (overview.value = known),
      (error: unknown) => {
        if (!isAborted(error)) failure.value = (error as RequestError).message;
      },
    );
  });
}

/** What decides, by its name. */
export function entryOf(name: string): EntryInfo | undefined {
  return overview.value?.entries.find((entry) => entry.name === name);
}
