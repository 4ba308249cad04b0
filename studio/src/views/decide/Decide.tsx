// The view Decide: the message on the left, and its decision with the explanation on the right.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { kindBeside, t } from '../../i18n';
import { overview } from '../../state/studio';
import { Answer } from './Answer';
import { Before } from './Before';
import { Form } from './Form';
import { Kept } from './Kept';
import { parse, write } from './message';
import { keepOverReload } from './reload';
import { context, decided, entry, entryInfo, followMessage, masksTyped, message, row } from './state';

export function Decide(): JSX.Element {
  useEffect(() => {
    keepOverReload();
    followMessage();
  }, []);
  return (
    <div class="decide">
      <div class="stack">
        <MessagePanel />
        <Before />
      </div>
      <Answer />
      <Kept />
    </div>
  );
}

function MessagePanel(): JSX.Element {
  const [asJson, setAsJson] = useState(false);
  const words = t().decide;
  const known = entryInfo.value;
  // Rules with errors, and files of definitions only, decide nothing.
  const entries = overview.value?.entries ?? [];
  const title = known?.kind === 'payload' ? words.payload : words.message;
  const parsed = parse(message.value);
  const fields = known?.fields ?? [];
  const byForm = !asJson && fields.length > 0;
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        <div class="segments" role="group" aria-label={words.howToWrite}>
          <button
            type="button"
            aria-pressed={byForm}
            disabled={fields.length === 0}
            onClick={() => setAsJson(false)}
          >
            {words.form}
          </button>
          <button type="button" aria-pressed={!byForm} onClick={() => setAsJson(true)}>
            JSON
          </button>
        </div>
      </header>
      <div class="stack">
        {entries.length > 0 && (
          <label class="field">
            <span>{words.decidedBy}</span>
            <select value={entry.value} onChange={(event) => (entry.value = event.currentTarget.value)}>
              {entries.map((each) => (
                <option key={each.name} value={each.name}>
                  {[each.name, kindBeside(each.name, t().kinds[each.kind])].filter(Boolean).join(' · ')}
                </option>
              ))}
            </select>
          </label>
        )}
        {known?.docs && <p class="soft small">{known.docs}</p>}
        {row.value && <p class="chip">{t().replay.fromLine(row.value.line)}</p>}
        {masksTyped.value && (
          <p class="note warn" role="status">
            {words.masksTyped}
          </p>
        )}
        {byForm && parsed && (
          <Form fields={fields} message={parsed} onChange={(next) => (message.value = write(next))} />
        )}
        {byForm && !parsed && <p class="note warn">{words.formNeedsJson}</p>}
        {(!byForm || !parsed) && (
          <JsonText label={title} value={message.value} set={(text) => (message.value = text)} />
        )}
        {known?.kind === 'payload' && (
          <details>
            <summary>{words.context}</summary>
            <JsonText
              label={words.context}
              value={context.value}
              set={(text) => (context.value = text)}
              rows={5}
            />
          </details>
        )}
      </div>
    </section>
  );
}

interface JsonTextProps {
  label: string;
  value: string;
  set: (text: string) => void;
  rows?: number;
}

function JsonText({ label, value, set, rows }: JsonTextProps): JSX.Element {
  const answer = decided.value;
  const wrong = answer?.kind === 'refused' && answer.in_context === (label === t().decide.context);
  return (
    <textarea
      class="mono json-text"
      aria-label={label}
      aria-invalid={wrong}
      spellcheck={false}
      rows={rows ?? Math.min(26, Math.max(8, value.split('\n', 30).length + 1))}
      value={value}
      onInput={(event) => set(event.currentTarget.value)}
    />
  );
}
