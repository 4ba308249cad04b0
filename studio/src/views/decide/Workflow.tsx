// A workflow run: its graph, in which nodes light up in execution order, with controls for single
// steps and counts of loops.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { MapWorkflow, WorkflowRun } from '../../api/types';
import { t } from '../../i18n';
import { useLinks } from '../../ui/links';
import { WorkflowGraph } from '../../ui/WorkflowGraph';
import { OneClickTest } from './OneClickTest';
import { stateAt } from './steps';

/** Duration of a step in playback, in milliseconds. */
const PACE = 900;

export function Workflow({ run, graph }: { run: WorkflowRun; graph: MapWorkflow | undefined }): JSX.Element {
  const [at, setAt] = useState(run.steps.length);
  const [playing, setPlaying] = useState(false);
  useEffect(() => setAt(run.steps.length), [run]);
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => {
      if (at >= run.steps.length) setPlaying(false);
      else setAt(at + 1);
    }, PACE);
    return () => clearTimeout(timer);
  }, [playing, at, run]);
  const words = t().workflow;
  const state = stateAt(run, at, graph);
  return (
    <div class="stack">
      <div class="row" role="group" aria-label={words.steps}>
        <button type="button" onClick={() => setAt(0)} disabled={at === 0}>
          <span aria-hidden="true">|◀</span> {words.first}
        </button>
        <button type="button" onClick={() => setAt(at - 1)} disabled={at === 0}>
          <span aria-hidden="true">◀</span> {words.back}
        </button>
        <button type="button" onClick={() => setAt(at + 1)} disabled={at >= run.steps.length}>
          {words.next} <span aria-hidden="true">▶</span>
        </button>
        <button
          type="button"
          aria-pressed={playing}
          onClick={() => {
            if (!playing && at >= run.steps.length) setAt(0);
            setPlaying(!playing);
          }}
        >
          {playing ? words.stop : words.play}
        </button>
        <span role="status" class="soft">
          {words.at(at, run.steps.length, run.steps[at - 1]?.nodes.join(', ') ?? '')}
        </span>
      </div>
      {graph && <WorkflowGraph workflow={graph} state={state} />}
      {run.failures.map((failure) => (
        <p key={failure.node} class="note bad">
          <b class="mono">{failure.node}</b>: {failure.message}
        </p>
      ))}
      {run.stalled.map((words) => (
        <p key={words} class="note warn">
          {words}
        </p>
      ))}
      {run.limit_hit && <p class="note bad">{words.limitHit}</p>}
      {run.stand_ins.length > 0 && <p class="soft small">{words.standIns(run.stand_ins.join(', '))}</p>}
      <Steps run={run} at={at} onPick={setAt} />
      <details open={run.steps.length < 8}>
        <summary>{words.outputs}</summary>
        <pre>{JSON.stringify(run.outputs, null, 2)}</pre>
      </details>
    </div>
  );
}

function Steps({
  run,
  at,
  onPick,
}: {
  run: WorkflowRun;
  at: number;
  onPick: (at: number) => void;
}): JSX.Element {
  const links = useLinks();
  const words = t().workflow;
  return (
    <ol class="steps">
      {run.steps.map((step, index) => (
        <li key={index} aria-current={index + 1 === at ? 'step' : undefined}>
          <button type="button" class="plain" onClick={() => onPick(index + 1)}>
            {step.nodes.join(' ∥ ')}
          </button>
          {step.deliveries.map((delivery, each) => (
            <span key={each} class={`chip ${delivery.loop_back ? 'warn' : ''}`}>
              {delivery.loop_back ? '↩' : '→'} {delivery.to}
              {delivery.round > 1 && <> ×{delivery.round}</>}
            </span>
          ))}
          {step.decisions.map((decision, each) => (
            <span key={each} class="row">
              <button
                type="button"
                class="plain"
                onClick={() => links.decide?.(decision.router, decision.message)}
              >
                {words.routedBy(decision.router)}
              </button>
              <OneClickTest
                of={{ entry: decision.router, message: decision.message, row: null }}
                label={words.testOf(decision.router, index + 1)}
              />
            </span>
          ))}
        </li>
      ))}
    </ol>
  );
}
