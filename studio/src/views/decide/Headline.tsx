// The answer in one sentence with one large name: where the message goes, and why. The message's
// text follows, with the words that decided marked. Reports use it too.
import type { ComponentChildren, JSX } from 'preact';
import type { Explanation, TraceNode } from '../../api/types';
import { t } from '../../i18n';
import { hue } from '../../ui/handlers';
import { pieces } from './marked';
import { decidingMessages } from './past';
import { Recorded } from './Recorded';
import { answerOf, kindOf, type Stop, way } from './trace';
import { distinct, foundWords, placesOf, searched } from './words';

/** Maximum number of conditions in the sentence. */
const MOST = 3;
/** Maximum number of characters of the message's text that are shown. */
const LONG = 400;

/** The colour of the answer: the colour of its target. */
export function colourOf(explanation: Explanation, answer: Stop): string {
  const target = way(explanation).findLast((stop) => stop.kind === 'target');
  return hue(target?.name ?? answer.name);
}

interface Props {
  explanation: Explanation;
  because: readonly TraceNode[];
  message: unknown;
}

export function Headline({ explanation, because, message }: Props): JSX.Element {
  const answer = answerOf(explanation);
  const words = t().decide.headline;
  const verb = answer.kind === 'nothing' ? words.nothing[answer.of] : words.goes[answer.of];
  return (
    <div
      class={`headline is-${answer.kind}`}
      style={{ '--hue': colourOf(explanation, answer) }}
      role="status"
    >
      <p class="headline-verb">{verb}</p>
      {answer.kind !== 'nothing' && <p class="headline-target mono">{answer.name}</p>}
      <p class="headline-why">
        <Why explanation={explanation} because={because} />
      </p>
      <Quote message={message} because={because} />
      <Arguments explanation={explanation} />
    </div>
  );
}

function Why({ explanation, because }: Pick<Props, 'explanation' | 'because'>): JSX.Element {
  const words = t().decide.headline;
  const of = kindOf(explanation.trace);
  const intent = explanation.intents?.ranked.find((flow) => flow.chosen);
  if (intent) return <>{words.similar(intent.score.toFixed(2))}</>;
  if (explanation.chosen === null) return <>{words.noneHolds[of]}</>;
  const reasons = distinct(because);
  const shown = reasons.slice(0, MOST);
  if (shown.length === 0) return <>{explanation.trace.routes.length > 0 ? words.rest[of] : words.always}</>;
  return (
    <>
      {words.because}
      {words.gap}
      {shown.map((node, index) => (
        <span key={index}>
          {index > 0 && words.and}
          <Reason node={node} />
        </span>
      ))}
      {reasons.length > MOST && words.more(reasons.length - MOST)}
      {words.end}
    </>
  );
}

/** A condition in words: the found word and its text, or the condition itself and its values. */
function Reason({ node }: { node: TraceNode }): JSX.Element {
  const words = t().decide.headline;
  const in_ = searched(node);
  const found = in_ ? foundWords([node]) : [];
  if (in_ && found.length > 0) {
    const name: ComponentChildren = in_.field === 'text' ? words.theText : <code>{in_.field}</code>;
    return (
      <>
        {name}
        {words.gap}
        {words.mentions}
        {words.gap}
        {found.slice(0, MOST).map((word, index) => (
          <span key={word}>
            {index > 0 && words.and}
            <mark class="word">{word}</mark>
          </span>
        ))}
      </>
    );
  }
  const values = (node.operands ?? []).filter((operand) => operand.value !== undefined && !operand.masked);
  const shown = values.map((operand) => `${operand.text} = ${JSON.stringify(operand.value)}`).join(', ');
  return (
    <>
      <code>{node.kind === 'unless' ? `unless ${node.text}` : node.text}</code>
      {words.gap}
      {words.holds}
      {shown !== '' && shown.length < 90 && <span class="soft"> ({shown})</span>}
      <Recorded positions={decidingMessages([node])} />
    </>
  );
}

/** The message's text with the found words marked. */
function Quote({ message, because }: Pick<Props, 'message' | 'because'>): JSX.Element | null {
  const text = typeof message === 'object' && message !== null && 'text' in message ? message.text : null;
  const whole = because.map(searched).find((each) => each !== null)?.text ?? text;
  if (typeof whole !== 'string' || whole === '') return null;
  const places = placesOf(whole, foundWords(because));
  const start = Math.max(0, Math.min((places[0]?.from ?? 0) - 60, whole.length - LONG));
  const shown = pieces(whole, places);
  let at = 0;
  return (
    <blockquote class="quote" aria-label={t().decide.headline.quoted}>
      {start > 0 && '…'}
      {shown.map((piece, index) => {
        const from = at;
        at += piece.text.length;
        const text = piece.text.slice(Math.max(0, start - from), Math.max(0, start + LONG - from));
        return piece.message === null ? (
          text
        ) : (
          <mark key={index} class="word">
            {text}
          </mark>
        );
      })}
      {whole.length > start + LONG && '…'}
    </blockquote>
  );
}

function Arguments({ explanation }: { explanation: Explanation }): JSX.Element | null {
  const words = t().decide;
  const args = Object.entries(explanation.args);
  const metadata = Object.entries(explanation.metadata);
  const requires = explanation.requires ?? [];
  if (args.length + metadata.length + requires.length === 0) return null;
  return (
    <dl class="headline-args">
      {[...args, ...metadata].map(([name, value], index) => (
        <div key={`${index} ${name}`}>
          <dt class="mono">{name}</dt>
          <dd class="mono">{JSON.stringify(value)}</dd>
        </div>
      ))}
      {requires.length > 0 && <div class="soft">{words.requires(requires.join(', '))}</div>}
    </dl>
  );
}
