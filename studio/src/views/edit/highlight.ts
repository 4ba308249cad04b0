// Token highlighting. The server classifies the tokens; while the user types, tokens keep their
// positions until the next result.
import { type Extension, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view';
import type { Hint } from '../../api/types';

interface Coloured {
  tokens: readonly number[];
  classes: readonly string[];
}

export const setTokens = StateEffect.define<Coloured>();
export const setHints = StateEffect.define<readonly Hint[]>();

function decorate({ tokens, classes }: Coloured, length: number): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (let index = 0; index + 2 < tokens.length; index += 3) {
    const from = tokens[index] ?? 0;
    const to = from + (tokens[index + 1] ?? 0);
    const name = classes[tokens[index + 2] ?? -1];
    if (name !== undefined && to <= length && to > from)
      builder.add(from, to, Decoration.mark({ class: `tok-${name}` }));
  }
  return builder.finish();
}

const tokens = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setTokens)) next = decorate(effect.value, transaction.state.doc.length);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

class HintWidget extends WidgetType {
  constructor(readonly hint: Hint) {
    super();
  }

  override eq(other: HintWidget): boolean {
    return other.hint.text === this.hint.text;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement('span');
    element.className = 'inlay';
    element.textContent = ` ${this.hint.text.trim()}`;
    element.title = this.hint.why;
    return element;
  }
}

const hints = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setHints)) continue;
      const length = transaction.state.doc.length;
      const widgets = effect.value
        .filter((hint) => hint.at <= length)
        .map((hint) => Decoration.widget({ widget: new HintWidget(hint), side: 1 }).range(hint.at));
      next = Decoration.set(widgets, true);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function highlighting(): Extension {
  return [tokens, hints];
}
