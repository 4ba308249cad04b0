// A dialog that converts a decision to a `test` block. The user chooses the name and the expected
// outcome.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RequestError } from '../../client';
import { t } from '../../i18n';
import { openInEditor } from '../../state/place';
import { useResource } from '../../state/resource';
import { Dialog } from '../../ui/Dialog';
import { say } from '../../ui/toast';
import { entryInfo, question } from './state';
import { addTest, makeTest } from './tests';

export function TestDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const [name, setName] = useState('');
  const [expect, setExpect] = useState('');
  const named = name.trim() === '' ? null : name.trim();
  const wanted = expect === '' ? null : expect;
  const made = useResource(
    JSON.stringify([question.value, named, wanted]),
    () => makeTest(named, wanted),
    120,
  );
  const words = t().test;
  const add = async (andOpen: boolean): Promise<void> => {
    if (!made.value) return;
    try {
      await addTest(made.value);
      onClose();
      if (andOpen) openInEditor(made.value);
      else say(words.added(made.value.file));
    } catch (error) {
      say((error as RequestError).message);
    }
  };
  const copy = (): void =>
    void navigator.clipboard.writeText(made.value?.block ?? '').then(() => say(words.copied));
  return (
    <Dialog title={words.title} onClose={onClose}>
      <div class="row">
        <label class="field">
          <span>{words.name}</span>
          <input
            value={name}
            placeholder={words.namePlaceholder}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>{words.expect}</span>
          <select value={expect} onChange={(event) => setExpect(event.currentTarget.value)}>
            <option value="">{words.asDecided}</option>
            {(entryInfo.value?.outcomes ?? []).map((statement) => (
              <option key={statement} value={statement}>
                {statement}
              </option>
            ))}
          </select>
        </label>
      </div>
      {made.error && <p class="note bad">{made.error}</p>}
      {made.value && (
        <>
          <pre class="code-block">{made.value.block}</pre>
          <p class={made.value.passes ? 'note good' : 'note warn'}>
            {made.value.passes ? words.passes : words.fails}
          </p>
        </>
      )}
      <div class="row">
        <button type="button" class="primary" disabled={!made.value} onClick={() => void add(false)}>
          {words.add}
        </button>
        <button type="button" disabled={!made.value} onClick={() => void add(true)}>
          {words.addAndOpen}
        </button>
        <button type="button" disabled={!made.value} onClick={copy}>
          {words.copy}
        </button>
      </div>
      <p class="soft small">{words.notSaved}</p>
    </Dialog>
  );
}
