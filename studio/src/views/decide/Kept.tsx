// Saved messages with names. They are in a file next to the rules, which can be shared, and can be
// imported from and exported to other files.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { KeptMessage, KeptMessages } from '../../api/types';
import { api, type RequestError } from '../../client';
import { t } from '../../i18n';
import { rules } from '../../state/studio';
import { download } from '../../ui/download';
import { FileButton } from '../../ui/FileButton';
import { say } from '../../ui/toast';
import { readKept } from './kept-file';
import { entry, keptMessage, takeKept } from './state';

const kept = signal<KeptMessages | null>(null);

async function load(): Promise<void> {
  kept.value = await api.messages(rules.value);
}

async function store(messages: KeptMessage[], done: string): Promise<void> {
  const current = kept.value;
  if (!current) return;
  try {
    kept.value = await api.keepMessages({ rules: rules.value, stamp: current.stamp, messages });
    say(done);
  } catch (error) {
    say((error as RequestError).message);
    if ((error as RequestError).kind === 'changed') await load();
  }
}

export function Kept(): JSX.Element {
  const [name, setName] = useState('');
  const set = rules.value;
  useEffect(() => void load().catch(() => undefined), [set]);
  const messages = kept.value?.messages ?? [];
  const words = t().kept;
  const keep = (event: Event): void => {
    event.preventDefault();
    const named = name.trim();
    if (named === '') return;
    const others = messages.filter((each) => each.name !== named);
    void store([...others, keptMessage(named)], words.keptAs(named));
    setName('');
  };
  const read = async (chosen: File): Promise<void> => {
    const more = readKept(await chosen.text(), entry.value);
    if (!more) {
      say(words.notOurs);
      return;
    }
    const names = new Set(more.map((each) => each.name));
    await store([...messages.filter((each) => !names.has(each.name)), ...more], words.took(more.length));
  };
  return (
    <section class="panel">
      <header>
        <h2>{words.title}</h2>
        <div class="row">
          <FileButton plain label={words.open} accept=".json,.jsonl" onFile={(chosen) => void read(chosen)} />
          <button
            type="button"
            class="plain small"
            disabled={messages.length === 0}
            onClick={() => download('messages.json', 'application/json', JSON.stringify(messages, null, 2))}
          >
            {words.share}
          </button>
        </div>
      </header>
      <ul class="kept-list">
        {messages.map((each) => (
          <li key={each.name} class="row">
            <button type="button" class="plain kept-name" onClick={() => takeKept(each)}>
              {each.name}
            </button>
            <button
              type="button"
              class="plain small"
              aria-label={words.remove(each.name)}
              onClick={() =>
                void store(
                  messages.filter((other) => other !== each),
                  words.removed(each.name),
                )
              }
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
      <form class="row" onSubmit={keep}>
        <input
          aria-label={words.name}
          placeholder={words.name}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" disabled={name.trim() === ''}>
          {words.keep}
        </button>
      </form>
      {kept.value?.file && <p class="soft small">{words.where(kept.value.file)}</p>}
    </section>
  );
}
