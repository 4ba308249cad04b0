// The gutters: a sign next to each test, and next to each statement and condition whose coverage is
// shown. The text of a sign says what it means.
import { type Extension, RangeSet, StateEffect, type StateEffectType, StateField } from '@codemirror/state';
import { EditorView, gutter, GutterMarker } from '@codemirror/view';

/** A sign next to a line. */
export interface Sign {
  /** Number of the line, from 1. */
  line: number;
  kind: 'passed' | 'failed' | 'partly';
  sign: string;
  /** Text of the sign in the page's language. */
  words: string;
}

class SignMarker extends GutterMarker {
  constructor(readonly shown: Omit<Sign, 'line'>) {
    super();
  }

  override eq(other: SignMarker): boolean {
    return other.shown.kind === this.shown.kind && other.shown.words === this.shown.words;
  }

  override toDOM(): HTMLElement {
    const { kind, sign, words } = this.shown;
    const element = document.createElement('span');
    element.className = `test-mark ${kind}`;
    element.textContent = sign;
    element.title = words;
    element.setAttribute('role', 'img');
    element.setAttribute('aria-label', words);
    return element;
  }
}

/** Returns a gutter, and the effect that sets its signs, at most one per line. */
function margin(
  name: string,
  spacer: boolean,
): { set: StateEffectType<readonly Sign[]>; extension: Extension } {
  const set = StateEffect.define<readonly Sign[]>();
  const markers = StateField.define<RangeSet<GutterMarker>>({
    create: () => RangeSet.empty,
    update(before, transaction) {
      let next = before.map(transaction.changes);
      for (const effect of transaction.effects) {
        if (!effect.is(set)) continue;
        const { doc } = transaction.state;
        const known = effect.value.filter((each) => each.line <= doc.lines);
        next = RangeSet.of(
          known.map((each) => new SignMarker(each).range(doc.line(each.line).from)),
          true,
        );
      }
      return next;
    },
  });
  const shown = gutter({
    class: name,
    markers: (view: EditorView) => view.state.field(markers),
    // The gutter of the tests always has its width, so that the text does not move as one types.
    ...(spacer ? { initialSpacer: () => new SignMarker({ kind: 'passed', sign: '✓', words: '' }) } : {}),
  });
  return { set, extension: [markers, shown] };
}

const tests = margin('test-gutter', true);
const coverage = margin('coverage-gutter', false);

export const setTests = tests.set;
export const setCoverage = coverage.set;

export function margins(): Extension {
  return [tests.extension, coverage.extension];
}
