// Shows how the edited rules change the answer for the message of the view Decide: the answer
// before and after.
import type { JSX } from 'preact';
import type { Decision } from '../../api/types';
import { t } from '../../i18n';
import { Target } from '../../ui/Target';
import { parse } from '../decide/message';
import { answerOf } from '../decide/trace';
import { atHand } from './at-hand';

export function AtHandPanel(): JSX.Element | null {
  const now = atHand.value;
  if (!now) return null;
  const words = t().replay;
  const flips = JSON.stringify(now.before.decision) !== JSON.stringify(now.after.decision);
  const text = parse(now.message)?.text;
  return (
    <section class="panel at-hand" aria-label={words.atHand}>
      <header>
        <h2>{words.atHand}</h2>
        <span class={`chip ${flips ? 'warn' : 'good'}`} role="status">
          {flips ? `⇄ ${words.atHandFlips}` : `✓ ${words.atHandStays}`}
        </span>
      </header>
      {typeof text === 'string' && <blockquote class="quote">{text}</blockquote>}
      <div class="row at-hand-way">
        <Side decision={now.before} />
        <span aria-label={t().decide.becomes}>→</span>
        <Side decision={now.after} />
      </div>
    </section>
  );
}

function Side({ decision }: { decision: Decision }): JSX.Element {
  const answer = answerOf(decision.explanation);
  if (answer.kind === 'nothing') return <span>{t().decide.headline.nothing[answer.of]}</span>;
  return <Target name={answer.name} />;
}
