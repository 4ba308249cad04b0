// The result for the message: a decision, a payload result, a workflow run, or the reason why there
// is none.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Decided, Decision } from '../../api/types';
import { api } from '../../client';
import { t } from '../../i18n';
import { go } from '../../state/place';
import { useResource } from '../../state/resource';
import { revision, version } from '../../state/studio';
import { useLinks } from '../../ui/links';
import { NearMisses } from './NearMisses';
import { outcomeName, Payload } from './Payload';
import { colourOf, Headline } from './Headline';
import { parse } from './message';
import { Reasons, Warnings, Way } from './Reasons';
import { decided, deciding, entryInfo, message, trouble } from './state';
import { answerOf } from './trace';
import { OneClickTest } from './OneClickTest';
import { TestDialog } from './TestDialog';
import { Workflow } from './Workflow';

export function Answer(): JSX.Element {
  const answer = decided.value;
  return (
    <div class="stack" aria-busy={deciding.value}>
      {trouble.value !== null && <p class="note bad">{trouble.value}</p>}
      {answer && <Form answer={answer} />}
      {answer && <Pinned answer={answer} />}
      {/* A flow is found by its meaning, so no value of a field is near. */}
      {answer?.kind === 'decision' && entryInfo.value?.kind !== 'flows' && <NearMisses />}
    </div>
  );
}

/** The answer in one line, pinned to the lower edge of narrow pages. */
function Pinned({ answer }: { answer: Decided }): JSX.Element | null {
  const words = t().decide.headline;
  if (answer.kind === 'payload') {
    const colour = answer.outcome === 'reject' ? 'var(--no)' : 'var(--yes)';
    return <Pin colour={colour} verb={t().decide.judgement} name={outcomeName(answer)} />;
  }
  if (answer.kind !== 'decision') return null;
  const chosen = answerOf(answer.explanation);
  const verb = chosen.kind === 'nothing' ? words.nothing[chosen.of] : words.goes[chosen.of];
  return <Pin colour={colourOf(answer.explanation, chosen)} verb={verb} name={chosen.name} />;
}

function Pin({ colour, verb, name }: { colour: string; verb: string; name: string }): JSX.Element {
  const show = (): void => document.getElementById('answer')?.scrollIntoView({ block: 'start' });
  return (
    <button
      type="button"
      class="pin"
      style={{ '--hue': colour }}
      title={t().decide.headline.pinned}
      onClick={show}
    >
      <span class="soft">{verb}</span>
      {name !== '' && <b class="mono">{name}</b>}
    </button>
  );
}

function Form({ answer }: { answer: Decided }): JSX.Element {
  const words = t().decide;
  switch (answer.kind) {
    case 'decision':
      return <DecisionPanel decision={answer} />;
    case 'payload':
      return (
        <section class="panel" id="answer">
          <header>
            <h2>{words.judgement}</h2>
            <OneClickTest />
          </header>
          <Payload judged={answer} text={message.value} />
        </section>
      );
    case 'workflow':
      return <RunPanel run={answer} />;
    case 'refused':
      return (
        <section class="panel" role="status">
          <p class="note bad">
            <b>{words.refused}</b> {answer.message}{' '}
            <span class="soft">({words.lineColumn(answer.line, answer.column)})</span>
          </p>
          {answer.help && <p>{answer.help}</p>}
        </section>
      );
    case 'broken':
      return (
        <section class="panel" role="status">
          <p class="note bad">
            <b>{words.broken(answer.errors)}</b> {answer.error}
          </p>
          <button type="button" onClick={() => go('edit')}>
            {words.mend}
          </button>
        </section>
      );
  }
}

function RunPanel({ run }: { run: Extract<Decided, { kind: 'workflow' }> }): JSX.Element {
  const map = useResource(JSON.stringify([version.value, revision.value]), (signal) =>
    api.map(version.value, false, signal),
  );
  return (
    <section class="panel">
      <header>
        <h2>{t().workflow.run(run.workflow)}</h2>
      </header>
      <Workflow run={run} graph={map.value?.workflows.find((each) => each.name === run.workflow)} />
    </section>
  );
}

function DecisionPanel({ decision }: { decision: Decision }): JSX.Element {
  const dialog = useSignal(false);
  const links = useLinks();
  const words = t().decide;
  const key = decision.key;
  return (
    <section class="panel answer" id="answer" aria-label={words.decision}>
      <Headline
        explanation={decision.explanation}
        because={decision.because}
        message={parse(message.value)}
      />
      <div class="row answer-tools">
        <OneClickTest />
        <button type="button" onClick={() => (dialog.value = true)}>
          {words.otherTest}
        </button>
        {key !== null && (
          <button type="button" onClick={() => links.map?.(key)}>
            {words.inMap}
          </button>
        )}
      </div>
      <Warnings explanation={decision.explanation} />
      <Notes decision={decision} />
      <Way explanation={decision.explanation} />
      <Reasons explanation={decision.explanation} />
      <details>
        <summary>{words.asJson}</summary>
        <pre>{JSON.stringify(decision.decision, null, 2)}</pre>
      </details>
      {dialog.value && <TestDialog onClose={() => (dialog.value = false)} />}
    </section>
  );
}

function Notes({ decision }: { decision: Decision }): JSX.Element {
  const words = t().decide;
  return (
    <>
      {decision.breaches.map((breach) => (
        <p key={breach.path} class="note warn">
          <code>{breach.path}</code> {words.breach(breach.expected, breach.found)}
          {breach.hint !== null && <> {breach.hint}</>}
        </p>
      ))}
      {decision.left_out.map((left, index) => (
        <p key={index} class="note warn">
          {words.leftOut(left.branch)} <code>{left.condition}</code> {left.reason}
        </p>
      ))}
      {decision.missing_functions.length > 0 && (
        <p class="note warn">{words.missingFunctions(decision.missing_functions.join(', '))}</p>
      )}
      {decision.question !== null && (
        <Question question={decision.question} failure={decision.question_failure} />
      )}
    </>
  );
}

function Question({ question, failure }: { question: string; failure: string | null }): JSX.Element {
  return (
    <details class="note">
      <summary>{t().decide.question}</summary>
      {failure !== null && <p>{failure}</p>}
      <pre>{question}</pre>
    </details>
  );
}
