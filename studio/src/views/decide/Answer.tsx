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
import { Legend } from '../../ui/Mark';
import { NearMisses } from './NearMisses';
import { Payload } from './Payload';
import { Reasons, Verdict } from './Reasons';
import { decided, deciding, message, trouble } from './state';
import { OneClickTest } from './OneClickTest';
import { TestDialog } from './TestDialog';
import { Workflow } from './Workflow';

export function Answer(): JSX.Element {
  const answer = decided.value;
  return (
    <div class="stack" aria-busy={deciding.value}>
      {trouble.value !== null && <p class="note bad">{trouble.value}</p>}
      {answer && <Form answer={answer} />}
      {answer?.kind === 'decision' && <NearMisses />}
    </div>
  );
}

function Form({ answer }: { answer: Decided }): JSX.Element {
  const words = t().decide;
  switch (answer.kind) {
    case 'decision':
      return <DecisionPanel decision={answer} />;
    case 'payload':
      return (
        <section class="panel">
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
    api.map(version.value, signal),
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
    <section class="panel">
      <header>
        <h2>{words.decision}</h2>
        <div class="row">
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
      </header>
      <Verdict explanation={decision.explanation} />
      <Notes decision={decision} />
      <Legend />
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
