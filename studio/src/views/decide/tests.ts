// Converts a decision to a `test` block. The block is appended to the editor's text, which the user
// can save later.
import type { MadeTest, MakeTest } from '../../api/types';
import { api } from '../../client';
import { revision, setDraft } from '../../state/studio';
import { adopt, sendTyped } from '../edit/state';
import { question } from './state';

/** The decision that a test repeats: its entry, its message, and the earlier messages. */
export type Tested = Pick<MakeTest, 'entry' | 'message' | 'row'> &
  Partial<Pick<MakeTest, 'context' | 'history'>>;

/**
 * Requests a `test` block with a name and an expected statement; for null, the server chooses. `of`
 * is the decision to convert; by default, the decision that the view shows.
 */
export async function makeTest(
  name: string | null,
  expect: string | null,
  of: Tested = question.value,
): Promise<MadeTest> {
  await sendTyped();
  const { entry, message, row, context = null, history = [] } = of;
  const { version } = question.value;
  return api.makeTest({ version, entry, message, row, context, history, name, expect });
}

/** Stores the text with the block as the editor's draft. */
export async function addTest(test: MadeTest): Promise<void> {
  const { rules } = question.value.version;
  await api.check({ rules, file: test.file, text: test.text, findings: false });
  adopt(rules, test.file, test.text);
  setDraft(rules, true);
  revision.value += 1;
}
