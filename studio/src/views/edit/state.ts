// The texts that are edited: which file is open, what stands in it and on disk, and what was said of it.
import { computed, signal } from '@preact/signals';
import type { Checked, DiffLine, FileText, Fix, TextEdit } from '../../api/types';
import { api, isAborted, type RequestError } from '../../client';
import { refreshSession, revision, rules, ruleSet, setDraft } from '../../state/studio';
import { apply } from './edits';

export const file = signal('');
/** The texts that were opened, by rule set and file. */
const texts = new Map<string, FileText>();
export const opened = signal<FileText | null>(null);
/** The text in the editor. */
export const text = signal('');
export const checked = signal<Checked | null>(null);
export const trouble = signal<string | null>(null);
/** What stands on disk where it is not what was read: saving waits for a decision. */
export const conflict = signal<{ text: string; stamp: string; diff: DiffLine[] } | null>(null);

export const dirty = computed(() => opened.value !== null && text.value !== opened.value.saved);

function keyOf(name: string): string {
  return `${rules.value} ${name}`;
}

/** Opens a file, with the text that was left in the editor. */
export async function open(name: string): Promise<void> {
  try {
    const known = await api.file(rules.value, name);
    texts.set(keyOf(name), known);
    file.value = name;
    opened.value = known;
    text.value = known.draft ?? known.saved;
    checked.value = null;
    conflict.value = null;
    trouble.value = null;
    await check(false);
  } catch (error) {
    trouble.value = (error as RequestError).message;
  }
}

let asking: AbortController | undefined;
let soon: ReturnType<typeof setTimeout> | undefined;

/** The quiet after a key before the text is checked, and before the slower analysis. */
const QUIET = 120;
const LONG_QUIET = 900;

/** Takes what was typed, and checks it when a moment has passed. */
export function typed(next: string): void {
  text.value = next;
  clearTimeout(soon);
  soon = setTimeout(() => {
    void check(false);
    soon = setTimeout(() => void check(true), LONG_QUIET);
  }, QUIET);
}

/** Has the text checked now, so that what follows is about it and not about the one before the latest key. */
export async function settle(): Promise<void> {
  clearTimeout(soon);
  await check(false);
}

async function check(findings: boolean): Promise<void> {
  asking?.abort();
  const abort = new AbortController();
  asking = abort;
  const set = rules.value;
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

/** True when the editor holds an unsaved text of another file of the rule set. */
async function othersDirty(name: string): Promise<boolean> {
  const others = (ruleSet.value?.files ?? []).filter((each) => each !== name);
  if (others.length === 0) return false;
  const session = await api.session();
  return session.rules.find((set) => set.id === rules.value)?.has_draft ?? false;
}

/** Writes the text to its file, unless that has changed since it was read. */
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

/** Gives up what was typed and takes the text that is on disk. */
export async function revert(): Promise<void> {
  const current = opened.value;
  if (!current) return;
  await api.check({ rules: rules.value, file: current.file, text: null, findings: false });
  setDraft(rules.value, false);
  await open(current.file);
  await refreshSession();
  revision.value += 1;
}

/** Lays out the text; false where mistakes in it stand in the way. */
export async function format(): Promise<boolean> {
  const laidOut = (await api.format(text.value)).text;
  if (laidOut === null) return false;
  replaceText(laidOut);
  return true;
}

/** The editor is told by this signal of a text that did not come from its own keys. */
export const replaced = signal<{ text: string } | null>(null);

function replaceText(next: string): void {
  replaced.value = { text: next };
  typed(next);
}

/** Makes the edits of a fix, in the open file and in others. */
export async function applyFix(fix: Fix): Promise<void> {
  const byFile = Map.groupBy(fix.edits, (edit: TextEdit) => edit.file);
  for (const [name, edits] of byFile) {
    if (name === file.value) {
      replaceText(apply(text.value, edits));
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
