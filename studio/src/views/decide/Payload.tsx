// The result of checking a payload: each violation with its JSON path and text range, and the
// corrections as a diff.
import type { JSX } from 'preact';
import type { Judged, Violation } from '../../api/types';
import { t } from '../../i18n';
import { Diff } from '../../ui/Diff';
import { pieces } from './marked';

/** The outcome in the language of the page. */
export function outcomeName(judged: Judged): string {
  return t().payload.outcomes[judged.outcome] ?? judged.outcome;
}

export function Payload({ judged, text }: { judged: Judged; text: string }): JSX.Element {
  const words = t().payload;
  const good = judged.outcome !== 'reject';
  return (
    <div class="stack">
      <p class={`note ${good ? 'good' : 'bad'}`}>
        <b>
          {good ? '✓' : '✗'} {outcomeName(judged)}
        </b>
        {judged.fallback !== null && <> · {words.fallback(judged.fallback)}</>}
      </p>
      <Violations title={words.violations(judged.violations.length)} list={judged.violations} />
      {judged.violations.length > 0 && <Marked text={text} violations={judged.violations} />}
      {judged.diff.length > 0 && (
        <section class="stack">
          <h3>{words.corrections(judged.corrections.length)}</h3>
          <Diff lines={judged.diff} label={words.corrections(judged.corrections.length)} />
          {judged.remaining.length > 0 && (
            <Violations title={words.remaining(judged.remaining.length)} list={judged.remaining} />
          )}
        </section>
      )}
      {judged.warnings.length > 0 && (
        <Violations title={words.warnings(judged.warnings.length)} list={judged.warnings} />
      )}
      {judged.unchecked.length > 0 && (
        <section>
          <h3>{words.unchecked(judged.unchecked.length)}</h3>
          <ul class="violations">
            {judged.unchecked.map((each, index) => (
              <li key={index}>
                <span class="mark unknown" aria-hidden="true">
                  ?
                </span>{' '}
                <code>{each.rule}</code> <code class="path">{each.path}</code> {each.message}
              </li>
            ))}
          </ul>
        </section>
      )}
      <details>
        <summary>{words.feedback}</summary>
        <pre class="mono">{judged.feedback}</pre>
      </details>
    </div>
  );
}

function Violations({ title, list }: { title: string; list: readonly Violation[] }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <ul class="violations">
        {list.map((violation, index) => (
          <li key={index}>
            <div>
              <span class="mark false" aria-hidden="true">
                ✗
              </span>{' '}
              <code class="path">{violation.path}</code> {violation.message}
            </div>
            <div class="soft small">
              <code>{violation.rule}</code>
              {violation.repair && <> · {violation.repair}</>}
            </div>
            {violation.why !== null && (
              <details>
                <summary class="small">{t().payload.why}</summary>
                <pre>{violation.why}</pre>
              </details>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The payload's text, with the values that violate rules marked and numbered. */
function Marked({ text, violations }: { text: string; violations: readonly Violation[] }): JSX.Element {
  const spans = violations.flatMap(({ from, to, message }) =>
    from === null || to === null ? [] : [{ from, to, message }],
  );
  if (spans.length === 0) return <></>;
  return (
    // A scrollable element must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre class="marked" tabIndex={0} aria-label={t().payload.inTheText}>
      {pieces(text, spans).map((piece, index) =>
        piece.message === null ? (
          piece.text
        ) : (
          <mark key={index} title={piece.message}>
            {piece.text}
            <span class="marked-words"> ✗ {piece.message}</span>
          </mark>
        ),
      )}
    </pre>
  );
}
