// An explanation as a picture: the path in one line, the scores of intents, and the search of the
// tables. Reports use it too.
import type { JSX } from 'preact';
import type { Explanation, IntentTrace } from '../../api/types';
import { kindBeside, t } from '../../i18n';
import { Legend } from '../../ui/Mark';
import { Target } from '../../ui/Target';
import { Search } from './Search';
import { type Stop, tally, way } from './trace';

/** The path from the message to its target, in one small line. */
export function Way({ explanation }: { explanation: Explanation }): JSX.Element {
  const words = t().decide;
  return (
    <ol class="way" aria-label={words.way}>
      <li class="way-stop">{words.message}</li>
      {way(explanation).map((stop, index) => (
        <li key={index} class={`way-stop is-${stop.kind}`}>
          {stop.kind === 'target' ? (
            <Target name={stop.name} />
          ) : (
            <>
              <span class="way-kind">{kindBeside(stop.name, wordOf(stop))}</span>
              {stop.name && <b class="mono">{stop.name}</b>}
            </>
          )}
        </li>
      ))}
    </ol>
  );
}

function wordOf(stop: Stop): string {
  const words = t().decide.parts[stop.of];
  if (stop.kind === 'nothing') return t().decide.headline.nothing[stop.of];
  return stop.kind === 'table' ? words.table : words.statement;
}

/** What went wrong while the handler was called: missing arguments, failed functions. */
export function Warnings({ explanation }: { explanation: Explanation }): JSX.Element {
  const words = t().decide;
  const missing = explanation.missing_args ?? [];
  return (
    <>
      {missing.length > 0 && <p class="note warn">{words.missingArgs(missing.join(', '))}</p>}
      {(explanation.host_failures ?? []).map((failure) => (
        <p key={failure.function} class="note warn">
          <code>{failure.function}</code>: {failure.message}
        </p>
      ))}
    </>
  );
}

export function Reasons({ explanation }: { explanation: Explanation }): JSX.Element {
  return (
    <>
      {explanation.intents && explanation.intents.ranked.length > 0 && (
        <Intents intents={explanation.intents} />
      )}
      <Search trace={explanation.trace} />
      <footer class="reasons-foot">
        <p class="soft small">{t().decide.tally(tally(explanation.trace))}</p>
        <Legend />
      </footer>
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
