// Changes rows of the decision table. The server makes each change in the text of the rules. Each
// change can be undone.
import { signal } from '@preact/signals';
import type { RowChange } from '../../api/types';
import { api, type RequestError } from '../../client';
import { refreshSession, revision, rules, setDraft } from '../../state/studio';
import { adopt, sendTyped } from '../edit/state';

/** The text of a file before a change. */
interface Before {
  rules: number;
  file: string;
  text: string;
}

/** The text of the changed file before each change, in the order of the changes. */
export const undoable = signal<readonly Before[]>([]);
/** Why the latest change was refused, and the row that it concerns. */
export const refused = signal<{ key: string; message: string } | null>(null);

/** Changes a row; false if the rules would not compile, and then nothing changes. */
export async function changeRow(key: string, change: RowChange): Promise<boolean> {
  refused.value = null;
  const set = rules.peek();
  try {
    await sendTyped();
    const edited = await api.editRow({ rules: set, key, change });
    if (edited.before === edited.text) return true;
    undoable.value = [...undoable.peek(), { rules: set, file: edited.file, text: edited.before }];
    adopt(set, edited.file, edited.text);
    setDraft(set, true);
    revision.value += 1;
    return true;
  } catch (error) {
    refused.value = { key, message: (error as RequestError).message };
    return false;
  }
}

/** Ends when all changes that were undone so far are restored. */
let undone = Promise.resolve();

/**
 * Restores the text before the latest change. A second call before the first has ended restores the
 * text before the change that precedes it.
 */
export function undo(): Promise<void> {
  const last = undoable.peek().at(-1);
  if (!last) return undone;
  undoable.value = undoable.peek().slice(0, -1);
  undone = undone
    .then(() => restore(last))
    .catch((error: unknown) => {
      undoable.value = [...undoable.peek(), last];
      refused.value = { key: '', message: (error as RequestError).message };
    });
  return undone;
}

async function restore(last: Before): Promise<void> {
  refused.value = null;
  await api.check({ rules: last.rules, file: last.file, text: last.text, findings: false });
  adopt(last.rules, last.file, last.text);
  await refreshSession();
  revision.value += 1;
}
