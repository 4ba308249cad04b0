// The gutter: a green tick or red cross next to each test, with the test's name and result as its
// text.
import { type Extension, RangeSet, StateEffect, StateField } from '@codemirror/state';
import { EditorView, gutter, GutterMarker } from '@codemirror/view';
import type { TestRun } from '../../api/types';

/** Returns the text of a marker in the page's language. */
export type Describe = (test: TestRun) => string;

interface Shown {
  tests: readonly TestRun[];
  file: string;
  describe: Describe;
}

export const setTests = StateEffect.define<Shown>();

class TestMarker extends GutterMarker {
  constructor(
    readonly passed: boolean,
    readonly words: string,
  ) {
    super();
  }

  override eq(other: TestMarker): boolean {
    return other.passed === this.passed && other.words === this.words;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement('span');
    element.className = this.passed ? 'test-mark passed' : 'test-mark failed';
    element.textContent = this.passed ? '✓' : '✗';
    element.title = this.words;
    element.setAttribute('role', 'img');
    element.setAttribute('aria-label', this.words);
    return element;
  }
}

const markers = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(set, transaction) {
    let next = set.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setTests)) continue;
      const { tests, file, describe } = effect.value;
      const { doc } = transaction.state;
      const ranges = tests.flatMap((test) => {
        if (test.place?.file !== file || test.place.from > doc.length) return [];
        return [new TestMarker(test.passed, describe(test)).range(doc.lineAt(test.place.from).from)];
      });
      next = RangeSet.of(ranges, true);
    }
    return next;
  },
});

export function testMargin(): Extension {
  return [
    markers,
    gutter({
      class: 'test-gutter',
      markers: (view: EditorView) => view.state.field(markers),
      initialSpacer: () => new TestMarker(true, ''),
    }),
  ];
}
