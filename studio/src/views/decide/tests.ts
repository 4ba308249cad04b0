// A decision made a `test` block: the block is put behind the text in the editor, which a person saves when it pleases.
import type { MadeTest } from '../../api/types';
import { api } from '../../client';
import { revision, setDraft } from '../../state/studio';
import { question } from './state';

/** The block for what is decided on, by the name and for the statement that a person wants; null leaves either to the server. */
export function makeTest(name: string | null, expect: string | null): Promise<MadeTest> {
  const { version, entry, message, row } = question.value;
  return api.makeTest({ version, entry, message, row, name, expect });
}

/** Puts the block into the editor's text. */
export async function addTest(test: MadeTest): Promise<void> {
  const { rules } = question.value.version;
  await api.check({ rules, file: test.file, text: test.text, findings: false });
  setDraft(rules, true);
  revision.value += 1;
}
