// A button that adds a decision as a test to the editor's text.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { MadeTest } from '../../api/types';
import type { RequestError } from '../../client';
import { t } from '../../i18n';
import { openInEditor } from '../../state/place';
import { say } from '../../ui/toast';
import { addTest, makeTest, type Tested } from './tests';

/**
 * The button. `of` is the decision to convert; by default, the decision that the view shows.
 * `label` is the text for screen readers, if `of` is given.
 */
export function OneClickTest({ of, label }: { of?: Tested; label?: string }): JSX.Element {
  const made = useSignal<MadeTest | null>(null);
  const add = async (): Promise<void> => {
    try {
      const test = await makeTest(null, null, of);
      await addTest(test);
      made.value = test;
      say(t().test.added(test.file));
    } catch (error) {
      say((error as RequestError).message);
    }
  };
  return (
    <>
      <button type="button" aria-label={label} onClick={() => void add()}>
        {t().decide.makeTest}
      </button>
      {made.value && (
        <button type="button" class="plain" onClick={() => made.value && openInEditor(made.value)}>
          {t().decide.seeTest}
        </button>
      )}
    </>
  );
}
