// State of a replay: its file and rules, its progress, and the filter of its rows.
import { computed, signal } from '@preact/signals';
import type { AskRows, Progress, ReplaySums, Version } from '../../api/types';
import { api, followReplay, isAborted, type RequestError } from '../../client';
import { refreshSession, ruleSet, rules, version } from '../../state/studio';
import { numbers } from '../../state/counts';

export const source = signal<number | null>(null);
export const entry = signal<string | null>(null);
/**
 * What to compare with, as the value of the select element: empty for nothing, otherwise the id of
 * a rule set, with the prefix `d` for its draft.
 */
export const against = signal('');
export const replayId = signal<number | null>(null);
export const progress = signal<Progress | null>(null);
export const sums = signal<ReplaySums | null>(null);
export const uploading = signal<string | null>(null);
export const trouble = signal<string | null>(null);

export type Filter = Omit<AskRows, 'offset' | 'limit'>;

export const NO_FILTER: Filter = {
  key: null,
  before: null,
  flipped: false,
  text: null,
  since: null,
  until: null,
  sort: 'line',
  descending: false,
};

export const filter = signal<Filter>(NO_FILTER);

export function narrow(change: Partial<Filter>): void {
  filter.value = { ...filter.value, ...change };
}

export const running = computed(() => progress.value?.state === 'running');

/** The version to compare with. */
export const compared = computed<Version | null>(() => {
  if (against.value === '') return null;
  const draft = against.value.startsWith('d');
  return { rules: Number(against.value.replace('d', '')), draft };
});

/** Chooses to compare the editor's text with the text on disk, if there is a draft. */
export function compareWithSaved(): void {
  if (ruleSet.value?.has_draft) against.value = String(rules.value);
}

let following: AbortController | undefined;

/** Starts a replay and follows its progress; a running replay is cancelled. */
export async function start(): Promise<void> {
  const file = source.value;
  if (file === null) return;
  await cancel();
  following?.abort();
  const abort = new AbortController();
  following = abort;
  trouble.value = null;
  sums.value = null;
  filter.value = NO_FILTER;
  try {
    const begun = await api.startReplay({
      version: version.value,
      source: file,
      entry: entry.value,
      against: compared.value,
    });
    replayId.value = begun.id;
    progress.value = { state: 'running', read: 0, bytes: 0, messages: 0, flipped: 0 };
    await follow(begun.id, abort.signal);
  } catch (error) {
    if (isAborted(error)) return;
    trouble.value = (error as RequestError).message;
    progress.value = null;
  }
}

/**
 * Follows the progress events, and requests the counts from time to time, so that the numbers grow
 * during the replay.
 */
async function follow(id: number, signal: AbortSignal): Promise<void> {
  let asking = false;
  const refresh = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    try {
      const next = await api.sums(id, signal);
      if (!signal.aborted) show(next);
    } finally {
      asking = false;
    }
  };
  const timer = setInterval(() => void refresh().catch(() => undefined), 700);
  try {
    await followReplay(id, (next) => (progress.value = next), signal);
  } finally {
    clearInterval(timer);
  }
  show(await api.sums(id, signal));
}

function show(next: ReplaySums): void {
  sums.value = next;
  progress.value = next.progress;
  numbers.value = new Map(next.counts.map((count) => [count.key, count.count]));
}

/** Requests the counts again, because their texts depend on the language. */
export async function retell(): Promise<void> {
  const id = replayId.value;
  if (id === null || running.value) return;
  const next = await api.sums(id);
  // Another replay may have begun. Its counts must not be replaced by the counts of the one before.
  if (replayId.value === id) show(next);
}

export async function cancel(): Promise<void> {
  const id = replayId.value;
  if (id === null || !running.value) return;
  show(await api.cancelReplay(id));
}

/** Uploads a file and replays it. */
export async function upload(file: File): Promise<void> {
  uploading.value = file.name;
  trouble.value = null;
  try {
    const sent = await api.upload(file);
    await refreshSession();
    source.value = sent.id;
    await start();
  } catch (error) {
    trouble.value = (error as RequestError).message;
  } finally {
    uploading.value = null;
  }
}

/** Uploads a rules file to compare with. */
export async function uploadRules(file: File): Promise<void> {
  try {
    const set = await api.uploadRules({ name: file.name, text: await file.text() });
    await refreshSession();
    against.value = String(set.id);
  } catch (error) {
    trouble.value = (error as RequestError).message;
  }
}
