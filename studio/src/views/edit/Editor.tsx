// The editor: CodeMirror in a shadow root, so that its style sheets comply with the content
// security policy. All language features come from the server, which shares their code with the
// language server.
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, codeFolding, foldGutter, foldKeymap, foldService } from '@codemirror/language';
import { type Diagnostic as Lint, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Checked, Diagnostic, TestRun } from '../../api/types';
import { api } from '../../client';
import { t } from '../../i18n';
import { editTarget } from '../../state/place';
import { rules, session } from '../../state/studio';
import { smallest } from './edits';
import { highlighting, setHints, setTokens } from './highlight';
import { coverage, coverageSigns, showsCoverage } from './coverage';
import { margins, setCoverage, setTests, type Sign } from './margin';
import { insertion } from './snippet';
import { applyFix, checked, file, format, open, opened, requestSave, text, typed } from './state';
import { theme } from './theme';

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const before = context.matchBefore(/[\p{L}\p{N}_.]+$/u);
  if (!before && !context.explicit) return null;
  const abort = new AbortController();
  context.addEventListener('abort', () => abort.abort());
  const now = context.state.doc.toString();
  const found = await api.complete(
    { rules: rules.peek(), file: file.peek(), text: now, at: context.pos },
    abort.signal,
  );
  return {
    from: found.from,
    to: found.to,
    // An undeclared field is known by its uses, including the word being typed.
    options: found.items
      .filter((item) => item.label !== before?.text)
      .map((item, index) => ({
        label: item.label,
        type: item.kind,
        detail: item.detail,
        boost: -Math.min(index, 99),
        ...(item.docs ? { info: item.docs } : {}),
        ...insertion(item.snippet),
      })),
  };
}

const hover = hoverTooltip(async (view, at) => {
  const now = view.state.doc.toString();
  const found = await api.hover({ rules: rules.peek(), file: file.peek(), text: now, at }).catch(() => null);
  if (!found) return null;
  return {
    pos: found.from,
    end: found.to,
    create: () => {
      const box = document.createElement('div');
      box.className = 'hover-box';
      const code = document.createElement('div');
      code.className = 'hover-code';
      code.textContent = found.code;
      const words = document.createElement('div');
      words.textContent = found.text;
      box.append(code, words);
      return { dom: box };
    },
  };
});

async function goToDeclaration(view: EditorView): Promise<void> {
  const at = view.state.selection.main.head;
  const place = await api.definition({
    rules: rules.peek(),
    file: file.peek(),
    text: view.state.doc.toString(),
    at,
  });
  if (!place) return;
  if (place.file === file.peek()) show(view, place.from);
  else editTarget.value = { file: place.file, line: place.line };
}

function show(view: EditorView, at: number): void {
  const head = Math.min(at, view.state.doc.length);
  view.dispatch({ selection: { anchor: head }, effects: EditorView.scrollIntoView(head, { y: 'center' }) });
  view.focus();
}

const folds = foldService.of((_, start, end) => {
  const fold = checked.peek()?.folds.find((each) => each.from >= start && each.from <= end && each.to > end);
  return fold ? { from: end, to: fold.to } : null;
});

function keys(): Extension {
  return keymap.of([
    { key: 'Mod-s', preventDefault: true, run: () => (void requestSave(), true) },
    { key: 'Shift-Alt-f', preventDefault: true, run: () => (void format(), true) },
    { key: 'F12', preventDefault: true, run: (view) => (void goToDeclaration(view), true) },
    ...defaultKeymap,
    ...historyKeymap,
    ...searchKeymap,
    ...foldKeymap,
    ...lintKeymap,
    indentWithTab,
  ]);
}

function extensions(label: string): Extension {
  return [
    lineNumbers(),
    margins(),
    lintGutter(),
    foldGutter(),
    codeFolding(),
    folds,
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ override: [complete] }),
    hover,
    highlighting(),
    theme,
    keys(),
    EditorState.tabSize.of(2),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
    EditorView.updateListener.of((update) => {
      const now = update.state.doc.toString();
      if (update.docChanged && now !== shownText(text.peek())) typed(now);
    }),
  ];
}

/** A text as the editor shows it: each line break is one character. */
function shownText(of: string): string {
  return of.replace(/\r\n?/g, '\n');
}

function lintOf(found: Diagnostic, length: number): Lint {
  const words = [
    found.message,
    ...found.labels.map((label) => `${label.place.file}:${label.place.line}: ${label.text}`),
  ];
  if (found.help !== null) words.push(`${t().edit.help} ${found.help}`);
  const severity = found.severity === 'error' || found.severity === 'warning' ? found.severity : 'info';
  return {
    from: Math.min(found.from, length),
    to: Math.min(Math.max(found.to, found.from), length),
    severity,
    source: found.code,
    message: `${found.code} ${words.join('\n')}`,
    actions: found.fixes.map((fix) => ({ name: fix.title, apply: () => void applyFix(fix) })),
  };
}

function signOf(test: TestRun): Sign[] {
  if (test.place?.file !== file.peek()) return [];
  const { line } = test.place;
  if (test.passed) return [{ line, kind: 'passed', sign: '✓', words: t().edit.passed(test.name) }];
  const words = t().edit.failed(test.name, test.expected, test.actual);
  return [{ line, kind: 'failed', sign: '✗', words }];
}

/** Shows the results of a check, if the text is still the checked text. */
function take(view: EditorView, found: Checked): void {
  const length = view.state.doc.length;
  const own = found.diagnostics.filter((each) => each.file === file.peek());
  view.dispatch(
    setDiagnostics(
      view.state,
      own.map((each) => lintOf(each, length)),
    ),
  );
  view.dispatch({
    effects: [
      setTokens.of({ tokens: found.tokens, classes: session.peek()?.token_classes ?? [] }),
      setHints.of(found.hints),
      setTests.of(found.tests.flatMap(signOf)),
    ],
  });
}

/** The signs of coverage in the open file; none if coverage is not shown. */
function shownSigns(): Sign[] {
  const items = showsCoverage.value ? (coverage.value ?? []) : [];
  return coverageSigns(items, opened.value?.file ?? '');
}

export function Editor(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const label = t().edit.editor(file.peek());
    const state = EditorState.create({ doc: text.peek(), extensions: extensions(label) });
    const made = new EditorView({ state, parent: root, root });
    view.current = made;
    if (checked.peek()) take(made, checked.peek() as Checked);
    made.dispatch({ effects: setCoverage.of(shownSigns()) });
    return () => {
      made.destroy();
      view.current = null;
    };
    // Each file gets a new editor with its own undo history.
  }, [opened.value?.file]);
  useSignalEffect(() => {
    const found = checked.value;
    if (found && view.current) take(view.current, found);
  });
  useSignalEffect(() => {
    const signs = shownSigns();
    view.current?.dispatch({ effects: setCoverage.of(signs) });
  });
  // The text changes other than by typing: by a fix, or when it was changed in another view.
  useSignalEffect(() => {
    const next = shownText(text.value);
    const made = view.current;
    const now = made?.state.doc.toString();
    if (!made || now === undefined || now === next) return;
    const edit = smallest(now, next);
    made.dispatch({ changes: { from: edit.from, to: edit.to, insert: edit.text } });
  });
  useSignalEffect(() => {
    const target = editTarget.value;
    const made = view.current;
    const current = opened.value;
    if (!target || !made || !current) return;
    editTarget.value = null;
    if (target.file !== current.file) {
      void open(target.file).then(() => (editTarget.value = target));
      return;
    }
    const line = made.state.doc.line(Math.max(1, Math.min(target.line, made.state.doc.lines)));
    requestAnimationFrame(() => show(made, line.from));
  });
  return <div class="editor-host" ref={host} />;
}
