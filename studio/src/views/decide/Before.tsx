// The earlier messages of the session as a timeline, oldest first. The messages that decided are
// marked. Shown only for entries that read a history.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EarlierDecision } from '../../api/types';
import { moment, t } from '../../i18n';
import { hue } from '../../ui/handlers';
import { say } from '../../ui/toast';
import {
  decidingMessages,
  duration,
  fateOf,
  MOST_EARLIER,
  readMessages,
  timeline,
  timeOf,
  type TimelineRow,
} from './past';
import {
  answeredHistory,
  context,
  decided,
  entryInfo,
  history,
  message,
  older,
  recordMessage,
  readsHistory,
  rowGap,
} from './state';

/** Returns the id of the timeline's element for the message at a position of the history. */
function idOf(position: number): string {
  return `earlier-${position}`;
}

/** Shows an earlier message in the timeline. */
export function showEarlier(position: number): void {
  const element = document.getElementById(idOf(position));
  element?.scrollIntoView({ block: 'center' });
  element?.focus({ preventScroll: true });
}

export function Before(): JSX.Element | null {
  if (!readsHistory.value) return null;
  const words = t().history;
  const answer = decided.value;
  const rows = timeline(history.value, answeredHistory.value);
  const deciding = new Set(answer?.kind === 'decision' ? decidingMessages(answer.because) : []);
  const now = timeOf(entryInfo.value?.kind === 'payload' ? context.value : message.value);
  const gap = answeredHistory.value?.history.gap ?? rowGap.value;
  const clear = (): void => {
    history.value = [];
    older.value = 0;
    rowGap.value = null;
  };
  const record = (): void => {
    if (recordMessage()) say(words.recorded);
  };
  return (
    <section class="panel before" aria-label={words.title}>
      <header>
        <h2>{words.title}</h2>
        {rows.length > 0 && (
          <button type="button" class="plain small" onClick={clear}>
            {words.clear}
          </button>
        )}
      </header>
      <p class="soft small">{rows.length > 0 ? words.intro : words.empty}</p>
      {older.value > 0 && <p class="note">{words.older(older.value)}</p>}
      <ol class="before-list">
        {rows.map((row, index) => (
          <Earlier
            key={row.item.position ?? `${index} ${row.message.message}`}
            row={row}
            now={now}
            decides={row.item.position !== null && deciding.has(row.item.position)}
          />
        ))}
      </ol>
      {gap !== null && <p class="note warn">{gap}</p>}
      <div class="row">
        <button type="button" onClick={record}>
          {words.record}
        </button>
      </div>
      <Add />
    </section>
  );
}

interface EarlierProps {
  row: TimelineRow;
  now: number | null;
  decides: boolean;
}

function Earlier({ row, now, decides }: EarlierProps): JSX.Element {
  const words = t().history;
  const { item } = row;
  const fate = fateOf(row);
  const name = item.position === null ? item.text || item.fields : words.message(item.position + 1);
  const remove = (): void => {
    history.value = history.value.filter((other) => other !== row.message);
  };
  return (
    <li
      id={item.position === null ? undefined : idOf(item.position)}
      class={`before-item ${decides ? 'decides' : ''} ${item.unread === null ? '' : 'unread'}`}
      style={{ '--hue': hue(item.decision?.target ?? item.decision?.chosen ?? '') }}
      tabIndex={-1}
    >
      <div class="row small">
        {item.position !== null && <span class="before-number">{item.position + 1}</span>}
        <b>{relative(item.time, now)}</b>
        {item.time !== null && (
          <time class="soft mono" dateTime={new Date(item.time).toISOString()}>
            {moment(item.time)}
          </time>
        )}
        {decides && <span class="chip good">✓ {words.deciding}</span>}
        <button type="button" class="plain small" aria-label={words.remove(name)} onClick={remove}>
          ✕
        </button>
      </div>
      <p class="before-text">
        {item.text} {item.fields !== '' && <span class="mono small">{item.fields}</span>}
      </p>
      <p class="small">
        {item.decision && <span>{words.decided(nameOf(item.decision))}</span>}
        {fate === 'observed' && <span class="soft">{words.observed}</span>}
        {item.unread !== null && (
          <span class="soft">
            {fate !== null && ' · '}
            {words.unread}: {item.unread}
          </span>
        )}
      </p>
    </li>
  );
}

function nameOf({ chosen, target }: EarlierDecision): string {
  if (chosen === null) return t().history.nothing;
  return target === null || target === chosen ? chosen : `${chosen} → ${target}`;
}

/** The time of an earlier message, relative to the message that is decided. */
function relative(time: number | null, now: number | null): string {
  const words = t().history;
  if (time === null) return words.noTime;
  if (now === null) return '';
  if (time === now) return words.sameTime;
  return time < now ? words.before(duration(now - time)) : words.after(duration(time - now));
}

/** Adds pasted messages. */
function Add(): JSX.Element {
  const [text, setText] = useState('');
  const words = t().history;
  const add = (event: Event): void => {
    event.preventDefault();
    const read = readMessages(text);
    if ('line' in read) {
      say(read.reason === 'noJson' ? words.badLine(read.line) : words.noMessage);
      return;
    }
    if (history.value.length + read.messages.length > MOST_EARLIER) {
      say(words.tooMany(MOST_EARLIER));
      return;
    }
    history.value = [...history.value, ...read.messages];
    setText('');
  };
  return (
    <details>
      <summary>{words.add}</summary>
      <form class="stack" onSubmit={add}>
        <textarea
          class="mono"
          aria-label={words.lines}
          rows={4}
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <p class="soft small">{words.linesHelp}</p>
        <div class="row">
          <button type="submit" disabled={text.trim() === ''}>
            {words.addLines}
          </button>
        </div>
      </form>
    </details>
  );
}
