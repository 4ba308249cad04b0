// A decision made a `test` block: the block is put behind the text in the editor, which a person saves when it pleases.
import type { MadeTest, MakeTest } from '../../api/types';
import { api } from '../../client';
import { revision, setDraft } from '../../state/studio';
import { question } from './state';

/** What a test is made of: an entry and its message. */
export type Tested = Pick<MakeTest, 'entry' | 'message' | 'row'>;

/**
 * The block for what is decided on, by the name and for the statement that a person wants; null leaves either to the server.
 * `of` is another decision than the one that is shown, such as that of a router in a run.
 */
export function makeTest(
  name: string | null,
  expect: string | null,
  of: Tested = question.value,
): Promise<MadeTest> {
  const { entry, message, row } = of;
  return api.makeTest({ version: question.value.version, entry, message, row, name, expect });
}

/** Puts the block into the editor's text. */
export async function addTest(test: MadeTest): Promise<void> {
  const { rules } = question.value.version;
  await api.check({ rules, file: test.file, text: test.text, findings: false });
  setDraft(rules, true);
  revision.value += 1;
}
