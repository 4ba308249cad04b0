// An explanation as a picture: the path in one line, the scores of intents, and the search of the
// tables. Reports use it too.
import type { JSX } from 'preact';
import type { Explanation, IntentTrace } from '../../api/types';
import { t } from '../../i18n';
import { Search } from './Search';
import { tally, way } from './trace';

/** The path from the message to the handler, with the handler's arguments. */
export function Verdict({ explanation }: { explanation: Explanation }): JSX.Element {
  const words = t().decide;
  const args = Object.entries(explanation.args);
  const metadata = Object.entries(explanation.metadata);
  return (
    <div class="verdict" role="status">
      <ol class="way" aria-label={words.way}>
        <li class="way-stop">{words.message}</li>
        {way(explanation).map((stop, index) => (
          <li key={index} class={`way-stop ${stop.kind}`}>
            <span class="way-kind">{words.stops[stop.kind]}</span>
            {stop.name && <b class="mono">{stop.name}</b>}
          </li>
        ))}
      </ol>
      {(args.length > 0 || metadata.length > 0) && (
        <p class="row small">
          {args.map(([name, value]) => (
            <span key={name} class="chip mono">
              {name}: {JSON.stringify(value)}
            </span>
          ))}
          {metadata.map(([name, value]) => (
            <span key={name} class="chip mono soft">
              {name}: {JSON.stringify(value)}
            </span>
          ))}
        </p>
      )}
      {(explanation.requires ?? []).length > 0 && (
        <p class="small soft">{words.requires((explanation.requires ?? []).join(', '))}</p>
      )}
      {(explanation.missing_args ?? []).length > 0 && (
        <p class="note warn">{words.missingArgs((explanation.missing_args ?? []).join(', '))}</p>
      )}
      {(explanation.host_failures ?? []).map((failure) => (
        <p key={failure.function} class="note warn">
          <code>{failure.function}</code>: {failure.message}
        </p>
      ))}
    </div>
  );
}

export function Reasons({ explanation }: { explanation: Explanation }): JSX.Element {
  const counts = tally(explanation.trace);
  return (
    <>
      <p class="soft small">{t().decide.tally(counts)}</p>
      {explanation.intents && explanation.intents.ranked.length > 0 && (
        <Intents intents={explanation.intents} />
      )}
      <Search trace={explanation.trace} />
    </>
  );
}

/** The nearest intent flows, each with its score as a bar relative to the minimum score. */
function Intents({ intents }: { intents: IntentTrace }): JSX.Element {
  const words = t().decide;
  return (
    <section class="intents">
      <h3>{words.intents}</h3>
      <p class="soft small">{words.threshold(intents.threshold, intents.margin)}</p>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{words.flow}</th>
            <th scope="col">{words.score}</th>
          </tr>
        </thead>
        <tbody>
          {intents.ranked.map((flow) => (
            <tr key={flow.name} class={flow.chosen ? 'chosen' : undefined}>
              <th scope="row" class="mono">
                {flow.chosen ? '✓ ' : ''}
                {flow.name} <span class="soft">{flow.id}</span>
              </th>
              <td>
                <span class="score">
                  <span class="score-bar" style={{ width: `${Math.min(100, flow.score * 100)}%` }} />
                  <span class="score-line" style={{ left: `${intents.threshold * 100}%` }} />
                </span>{' '}
                {flow.score.toFixed(3)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
