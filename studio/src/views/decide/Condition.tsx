// A condition, part by part: the source text, the result, and the operand values.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ElementTrace, Elements, Operand, TraceNode } from '../../api/types';
import { t } from '../../i18n';
import { Mark } from '../../ui/Mark';
import { Recorded } from './Recorded';

export function Condition({ node }: { node: TraceNode }): JSX.Element {
  const children = node.children ?? [];
  return (
    <li class={`condition ${node.result}`}>
      <div class="condition-line">
        <Mark truth={node.result} />
        <Words node={node} />
      </div>
      <Values operands={node.operands ?? []} found={node.found} />
      {(node.because ?? []).map((reason) => (
        <p key={reason} class="because">
          {reason}
        </p>
      ))}
      {children.length > 0 && (
        <ul class="conditions">
          {children.map((child, index) => (
            <Condition key={index} node={child} />
          ))}
        </ul>
      )}
      {node.elements && <ElementsOf elements={node.elements} />}
    </li>
  );
}

function Words({ node }: { node: TraceNode }): JSX.Element {
  const words = t().decide.nodes;
  const joins = node.kind === 'and' || node.kind === 'or' || node.kind === 'not' || node.kind === 'unless';
  const usable = node.kind === 'all_usable' || node.kind === 'any_usable';
  const label = joins || usable ? words[node.kind] : node.name;
  const inside = (node.children ?? []).length > 0 && (joins || usable);
  return (
    <span class="condition-words">
      {label && <b class="condition-kind">{label}</b>}
      {!inside && <code>{node.text}</code>}
      {node.note && <span class="soft small"> · {t().decide.notes[node.note]}</span>}
    </span>
  );
}

function Values({ operands, found }: { operands: Operand[]; found: string | undefined }): JSX.Element | null {
  const shown = operands.filter(
    (operand) => operand.missing || operand.masked || operand.value !== undefined,
  );
  if (shown.length === 0 && found === undefined) return null;
  return (
    <div class="values">
      {shown.map((operand, index) => (
        <Value key={index} operand={operand} />
      ))}
      {found !== undefined && (
        <span class="value">
          {t().decide.found} <code class="hit">{found}</code>
        </span>
      )}
    </div>
  );
}

/** Maximum number of characters of a value before it is truncated. */
const SHORT = 240;

function Value({ operand }: { operand: Operand }): JSX.Element {
  const [whole, setWhole] = useState(false);
  const text = operand.masked ? '•••' : operand.missing ? t().decide.missing : JSON.stringify(operand.value);
  const cut = text.length > SHORT && !whole;
  return (
    <>
      <span class={`value ${operand.missing ? 'missing' : ''}`}>
        <code class="value-name">{operand.text}</code> ={' '}
        <code>{cut ? `${text.slice(0, SHORT)}…` : text}</code>
        <Recorded positions={operand.recorded ?? []} />
        {operand.length !== undefined && <span class="soft small"> ({t().decide.cut(operand.length)})</span>}
        {text.length > SHORT && (
          <button type="button" class="plain small" onClick={() => setWhole(!whole)}>
            {whole ? t().less : t().more}
          </button>
        )}
      </span>
      {operand.elements && <ElementsOf elements={operand.elements} />}
    </>
  );
}

function ElementsOf({ elements }: { elements: Elements }): JSX.Element {
  return (
    <div class="elements">
      <ol class="conditions">
        {elements.shown.map((element) => (
          <ElementOf key={element.index} element={element} />
        ))}
      </ol>
      {(elements.more > 0 || elements.skipped > 0) && (
        <p class="soft small">{t().decide.moreElements(elements.more, elements.skipped)}</p>
      )}
    </div>
  );
}

function ElementOf({ element }: { element: ElementTrace }): JSX.Element {
  return (
    <li>
      <span class="soft small">[{element.index}]</span> <Value operand={element.element} />
      <ul class="conditions">
        <Condition node={element.when} />
      </ul>
    </li>
  );
}
