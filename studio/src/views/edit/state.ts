// State of the editor: the open file, its text in the editor and on disk, and its diagnostics.
import { batch, computed, signal } from '@preact/signals';
import type { Checked, DiffLine, FileText, Fix, TestRun, TextEdit } from '../../api/types';
import { api, isAborted, type RequestError } from '../../client';
import { refreshSession, revision, rules, ruleSet, setDraft } from '../../state/studio';
import { apply } from './edits';

export const file = signal('');
export const opened = signal<FileText | null>(null);
/** Id of the rule set of the opened file. */
let openedOf = 0;
/** Text in the editor, which follows each change of this signal. */
export const text = signal('');
export const checked = signal<Checked | null>(null);
export const trouble = signal<string | null>(null);
/** Text on disk if it changed since it was read; saving then waits for the user's choice. */
export const conflict = signal<{ text: string; stamp: string; diff: DiffLine[] } | null>(null);

export const dirty = computed(() => opened.value !== null && text.value !== opened.value.saved);

/** Opens a file, with its unsaved text if there is one. */
export async function open(name: string): Promise<void> {
  try {
    await sendTyped();
    const set = rules.value;
    const known = await api.file(set, name);
    openedOf = set;
    batch(() => {
      file.value = name;
      opened.value = known;
      text.value = known.draft ?? known.saved;
      checked.value = null;
      conflict.value = null;
      trouble.value = null;
    });
    await check(false);
  } catch (error) {
    trouble.value = (error as RequestError).message;
  }
}

let asking: AbortController | undefined;
let soon: ReturnType<typeof setTimeout> | undefined;
/** Whether the server does not know the latest typed text yet. */
let unsent = false;

/**
 * Delay after a key press before the text is checked, and before the slower analysis, in
 * milliseconds.
 */
const QUIET = 120;
const LONG_QUIET = 900;

/** Stores the typed text, and checks it after a short delay. */
export function typed(next: string): void {
  text.value = next;
  unsent = true;
  clearTimeout(soon);
  soon = setTimeout(() => {
    void check(false);
    soon = setTimeout(() => void check(true), LONG_QUIET);
  }, QUIET);
}

/** Checks the text now, so that later requests use the latest text. */
export async function settle(): Promise<void> {
  clearTimeout(soon);
  await check(false);
}

/** Sends typed text that the server does not know yet, before a request that reads or changes it. */
export async function sendTyped(): Promise<void> {
  if (unsent) await settle();
}

/**
 * Takes the text of a file that another view changed at the server. Otherwise, the next check would
 * send the text before that change, and undo it.
 */
export function adopt(set: number, name: string, next: string): void {
  const current = opened.peek();
  if (current?.file !== name || openedOf !== set) return;
  asking?.abort();
  clearTimeout(soon);
  unsent = false;
  batch(() => {
    opened.value = { ...current, draft: next };
    text.value = next;
  });
}

async function check(findings: boolean): Promise<void> {
  asking?.abort();
  const abort = new AbortController();
  asking = abort;
  unsent = false;
  const set = openedOf;
  const current = opened.value;
  if (!current) return;
  const now = text.value;
  try {
    const answer = await api.check(
      { rules: set, file: current.file, text: now === current.saved ? null : now, findings },
      abort.signal,
    );
    if (text.value !== now || opened.value?.file !== current.file) return;
    checked.value = answer;
    trouble.value = null;
    setDraft(set, now !== current.saved || (await othersDirty(current.file)));
    if (!findings) revision.value += 1;
  } catch (error) {
    if (!isAborted(error)) trouble.value = (error as RequestError).message;
  }
}

/** True if another file of the rule set has an unsaved text. */
async function othersDirty(name: string): Promise<boolean> {
  const others = (ruleSet.value?.files ?? []).filter((each) => each !== name);
  if (others.length === 0) return false;
  const session = await api.session();
  return session.rules.find((set) => set.id === rules.value)?.has_draft ?? false;
}

/** The failing tests, while the user is asked whether to save in spite of them. */
export const asked = signal<TestRun[] | null>(null);

/** Saves the text; with failing tests, asks the user first. True if the text was saved. */
export async function requestSave(): Promise<boolean> {
  await settle();
  const failed = (checked.value?.tests ?? []).filter((test) => !test.passed);
  if (failed.length === 0) return save();
  asked.value = failed;
  return false;
}

/** Writes the text to its file, unless the file has changed since it was read. */
export async function save(stamp?: string): Promise<boolean> {
  const current = opened.value;
  if (!current?.writable) return false;
  clearTimeout(soon);
  const now = text.value;
  try {
    const end = await api.save({
      rules: rules.value,
      file: current.file,
      text: now,
      stamp: stamp ?? current.stamp,
    });
    if (end.kind === 'changed') {
      conflict.value = end;
      return false;
    }
    opened.value = { ...current, saved: now, draft: null, stamp: end.stamp };
    conflict.value = null;
    await check(true);
    await refreshSession();
    revision.value += 1;
    return true;
  } catch (error) {
    trouble.value = (error as RequestError).message;
    return false;
  }
}

/** Discards the unsaved text and loads the text on disk. */
export async function revert(): Promise<void> {
  const current = opened.value;
  if (!current) return;
  await api.check({ rules: rules.value, file: current.file, text: null, findings: false });
  setDraft(rules.value, false);
  await open(current.file);
  await refreshSession();
  revision.value += 1;
}

/** Formats the text; false if errors prevent formatting. */
export async function format(): Promise<boolean> {
  const laidOut = (await api.format(text.value)).text;
  if (laidOut === null) return false;
  typed(laidOut);
  return true;
}

/** Applies the edits of a quick fix, in the open file and others. */
export async function applyFix(fix: Fix): Promise<void> {
  const byFile = Map.groupBy(fix.edits, (edit: TextEdit) => edit.file);
  for (const [name, edits] of byFile) {
    if (name === file.value) {
      typed(apply(text.value, edits));
      continue;
    }
    const other = await api.file(rules.value, name);
    await api.check({
      rules: rules.value,
      file: name,
      text: apply(other.draft ?? other.saved, edits),
      findings: false,
    });
  }
  await refreshSession();
  revision.value += 1;
}
