// Notes on the counts: lines that were not messages, masked values, and logged decisions that
// differ.
import type { JSX } from 'preact';
import type { ReplaySums } from '../../api/types';
import { t } from '../../i18n';

export function Notes({ sums }: { sums: ReplaySums }): JSX.Element {
  const words = t().replay.notes;
  return (
    <>
      {sums.failure !== null && <p class="note bad">{sums.failure}</p>}
      {sums.refused > 0 && (
        <details class="note warn">
          <summary>{words.refused(sums.refused)}</summary>
          <ul>
            {sums.refusals.map((refusal) => (
              <li key={refusal.line}>
                {t().replay.lineAt(refusal.line)}: {refusal.message}
              </li>
            ))}
          </ul>
        </details>
      )}
      {sums.otherwise > 0 && <p class="note warn">{words.otherwise(sums.otherwise)}</p>}
      {sums.masked > 0 && <p class="note warn">{words.masked(sums.masked)}</p>}
      {sums.observed > 0 && <p class="note">{t().history.replayObserved(sums.observed)}</p>}
      {sums.unrecorded > 0 && <p class="note warn">{t().history.replayUnrecorded(sums.unrecorded)}</p>}
      {sums.bare > 0 && <p class="note">{words.bare(sums.bare)}</p>}
      {sums.foreign > 0 && <p class="note">{words.foreign(sums.foreign)}</p>}
    </>
  );
}
