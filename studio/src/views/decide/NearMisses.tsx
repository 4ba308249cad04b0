// Near misses: small changes of the message that would select another statement, with a button to
// apply them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JsonValue, Near, NearField } from '../../api/types';
import { api } from '../../client';
import { t } from '../../i18n';
import { useResource } from '../../state/resource';
import { revision } from '../../state/studio';
import { entryInfo, MASK, message, question, take } from './state';

export function NearMisses(): JSX.Element {
  const [route, setRoute] = useState('');
  const asked = question.value;
  const statements = (entryInfo.value?.outcomes ?? []).filter((name) => !/(^|\.)none$/.test(name));
  const wanted = statements.includes(route) ? route : null;
  const near = useResource<Near[]>(
    JSON.stringify([asked, wanted, revision.value]),
    (signal) =>
      api.near(
        {
          version: asked.version,
          entry: asked.entry,
          message: asked.message,
          row: asked.row,
          route: wanted,
          history: asked.history,
        },
        signal,
      ),
    250,
  );
  const words = t().decide;
  const shown = (near.value ?? []).filter((each) => wanted !== null || each.remedy === 'change');
  return (
    <section class="panel" aria-busy={near.loading}>
      <header>
        <h2>{words.nearMisses}</h2>
        <label class="row small">
          {words.wanted}
          <select value={wanted ?? ''} onChange={(event) => setRoute(event.currentTarget.value)}>
            <option value="">{words.nearest}</option>
            {statements.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </header>
      {near.error && <p class="note warn">{near.error}</p>}
      {near.loading && shown.length === 0 && (
        <p class="soft" role="status">
          {words.searching}
        </p>
      )}
      {!near.loading && !near.error && shown.length === 0 && <p class="soft">{words.noNear}</p>}
      <ul class="near-list">
        {shown.map((each) => (
          <NearOne key={each.route} near={each} />
        ))}
      </ul>
    </section>
  );
}

function NearOne({ near }: { near: Near }): JSX.Element {
  const words = t().decide;
  const target = near.message;
  return (
    <li class="near">
      <div class="row">
        <b class="mono">{near.route}</b>
        {near.remedy !== 'change' && <span class="soft">{words.remedies[near.remedy]}</span>}
        {near.remedy === 'change' && near.fields.length === 1 && (
          <span class="chip warn">{words.oneValue}</span>
        )}
        {target !== null && near.remedy === 'change' && (
          <button
            type="button"
            onClick={() => take(question.value.entry, JSON.stringify(target, null, 2))}
            disabled={JSON.stringify(target, null, 2) === message.value}
          >
            {words.tryIt}
          </button>
        )}
      </div>
      <ul class="near-fields">
        {near.fields.map((field) => (
          <li key={field.field}>
            <Change field={field} />
            {field.needs.map((need) => (
              <p key={need} class="soft small">
                {need
                  .split(/`([^`]*)`/)
                  .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </li>
  );
}

/**
 * The current value of a field, and the value with which the message would select another
 * statement.
 */
export function Change({ field }: { field: NearField }): JSX.Element {
  return (
    <span class="change">
      <code class="value-name">{field.field}</code>
      <Value value={field.is} sign="was" />
      <span aria-hidden="true">→</span>
      <span class="visually-hidden">{t().decide.becomes}</span>
      <Value value={field.would_be} sign="will" />
    </span>
  );
}

/** A value; the server sends a mask in place of a private one. */
function Value({ value, sign }: { value: JsonValue; sign: 'was' | 'will' }): JSX.Element {
  if (value === MASK) return <span class="chip">{t().decide.private}</span>;
  return <code class={sign}>{value === null ? t().decide.missing : JSON.stringify(value)}</code>;
}
