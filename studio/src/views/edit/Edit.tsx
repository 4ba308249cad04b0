// The view Edit: the files, the editor, and the diagnostics and failing tests.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Diagnostic, TestRun } from '../../api/types';
import { t } from '../../i18n';
import { editTarget, go } from '../../state/place';
import { language } from '../../state/prefs';
import { ruleSet, rules, session } from '../../state/studio';
import { Dialog } from '../../ui/Dialog';
import { Diff } from '../../ui/Diff';
import { say } from '../../ui/toast';
import { compareAtHand } from '../replay/at-hand';
import { compareWithSaved, source, start } from '../replay/state';
import { CodeHelp } from './CodeHelp';
import { CoverageButton } from './CoverageButton';
import { Editor } from './Editor';
import * as state from './state';

export function Edit(): JSX.Element {
  const set = ruleSet.value;
  useEffect(() => {
    const wanted = editTarget.value?.file ?? (state.file.value || set?.files[0]);
    if (wanted === undefined) return;
    const known = set?.files.includes(wanted) ? wanted : set?.files[0];
    if (known !== undefined) void state.open(known);
  }, [rules.value]);
  const shownIn = useRef(language.value);
  useEffect(() => {
    // Opening a file checks it. A check before that would send the text of an earlier visit.
    if (shownIn.current === language.value) return;
    shownIn.current = language.value;
    void state.settle();
  }, [language.value]);
  return (
    <div class="edit">
      <section class="panel edit-main">
        <Bar />
        {state.trouble.value !== null && <p class="note bad">{state.trouble.value}</p>}
        {state.opened.value && <Editor />}
      </section>
      <div class="stack">
        <Problems />
        <Tests />
        <Outline />
      </div>
      <Conflict />
      <FailingTests />
    </div>
  );
}

function Bar(): JSX.Element {
  const words = t().edit;
  const files = ruleSet.value?.files ?? [];
  const current = state.opened.value;
  const dirty = state.dirty.value;
  return (
    <header class="row edit-bar">
      <label class="row">
        <span class="visually-hidden">{words.file}</span>
        <select value={state.file.value} onChange={(event) => void state.open(event.currentTarget.value)}>
          {files.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <span role="status" class={`chip ${dirty ? 'warn' : ''}`}>
        {dirty ? `● ${words.unsaved}` : `✓ ${words.saved}`}
      </span>
      <span class="spacer" />
      <CoverageButton />
      <button
        type="button"
        onClick={() => void state.format().then((done) => done || say(words.cannotFormat))}
      >
        {words.format}
      </button>
      <button type="button" disabled={!dirty} onClick={() => void state.revert()}>
        {words.revert}
      </button>
      <WhatFlips dirty={dirty || (ruleSet.value?.has_draft ?? false)} />
      <button
        type="button"
        class="primary"
        disabled={!dirty || !current?.writable}
        title={current?.writable === false ? words.notWritable : 'Ctrl+S'}
        onClick={() => void state.requestSave().then((done) => done && say(words.savedTo(state.file.value)))}
      >
        {words.save}
      </button>
    </header>
  );
}

/** A button that replays the messages to show the effects of the edit. */
function WhatFlips({ dirty }: { dirty: boolean }): JSX.Element {
  const see = async (): Promise<void> => {
    await state.settle();
    void compareAtHand();
    compareWithSaved();
    source.value ??= session.value?.sources[0]?.id ?? null;
    go('replay');
    if (source.value !== null) await start();
  };
  return (
    <button
      type="button"
      disabled={!dirty || state.checked.value?.compiles === false}
      onClick={() => void see()}
    >
      ⇄ {t().edit.whatFlips}
    </button>
  );
}

function Problems(): JSX.Element {
  const [code, setCode] = useState<string | null>(null);
  const words = t().edit;
  const list = state.checked.value?.diagnostics ?? [];
  const errors = list.filter((each) => each.severity === 'error').length;
  return (
    <section class="panel">
      <header>
        <h2>{words.problems}</h2>
        <span role="status" class={`chip ${errors > 0 ? 'bad' : list.length > 0 ? 'warn' : 'good'}`}>
          {list.length === 0 ? `✓ ${words.none}` : words.problemCount(errors, list.length - errors)}
        </span>
      </header>
      <ul class="problems">
        {list.slice(0, 100).map((each, index) => (
          <Problem key={index} found={each} onCode={setCode} />
        ))}
      </ul>
      {code !== null && <CodeHelp code={code} onClose={() => setCode(null)} />}
    </section>
  );
}

function Problem({ found, onCode }: { found: Diagnostic; onCode: (code: string) => void }): JSX.Element {
  const signs: Record<string, string> = { error: '✗', warning: '⚠' };
  return (
    <li>
      <div class="row problem-line">
        <span class={`mark ${found.severity === 'error' ? 'false' : 'unknown'}`}>
          <span aria-hidden="true">{signs[found.severity] ?? 'i'}</span>
          <span class="visually-hidden">{t().edit.severities[found.severity] ?? found.severity}</span>
        </span>
        <button
          type="button"
          class="plain problem"
          onClick={() => (editTarget.value = { file: found.file, line: found.line })}
        >
          {found.file}:{found.line}
        </button>
        <button
          type="button"
          class="plain small"
          aria-label={t().edit.explain(found.code)}
          onClick={() => onCode(found.code)}
        >
          {found.code}
        </button>
      </div>
      <p>{found.message}</p>
      {found.help !== null && <p class="soft small">{found.help}</p>}
      {found.fixes.map((fix, index) => (
        <button key={index} type="button" class="fix" onClick={() => void state.applyFix(fix)}>
          {fix.safe ? '✓' : '?'} {fix.title}
        </button>
      ))}
    </li>
  );
}

function Tests(): JSX.Element {
  const words = t().edit;
  const tests = state.checked.value?.tests ?? [];
  const failed = tests.filter((test) => !test.passed);
  return (
    <section class="panel">
      <header>
        <h2>{words.tests}</h2>
        <TestsChip failed={failed.length} all={tests.length} />
      </header>
      {failed.map((test, index) => (
        <FailedTest key={index} test={test} />
      ))}
    </section>
  );
}

function TestsChip({ failed, all }: { failed: number; all: number }): JSX.Element {
  const words = t().edit;
  const waits = state.checked.value?.compiles === false;
  const kind = waits ? 'warn' : failed > 0 ? 'bad' : 'good';
  return (
    <span role="status" class={`chip ${kind}`}>
      {waits ? words.testsWait : failed > 0 ? `✗ ${words.failedOf(failed, all)}` : `✓ ${words.allPass(all)}`}
    </span>
  );
}

function FailedTest({ test }: { test: TestRun }): JSX.Element {
  const { place } = test;
  const words = t().edit;
  return (
    <div class="failed-test">
      <div class="row">
        <span class="mark false" aria-hidden="true">
          ✗
        </span>
        <b>{test.name}</b>
        {place && (
          <button
            type="button"
            class="plain small"
            onClick={() => (editTarget.value = { file: place.file, line: place.line })}
          >
            {place.file}:{place.line}
          </button>
        )}
      </div>
      <p>{words.expectedActual(test.expected, test.actual)}</p>
      {test.why !== null && (
        <details>
          <summary class="small">{words.why}</summary>
          <pre>{test.why}</pre>
        </details>
      )}
    </div>
  );
}

function Outline(): JSX.Element | null {
  const [search, setSearch] = useState('');
  const items = state.checked.value?.outline ?? [];
  if (items.length === 0) return null;
  const flat = items.flatMap((item) => [
    { ...item, depth: 0 },
    ...item.inner.map((inner) => ({ ...inner, depth: 1 })),
  ]);
  const shown = flat.filter((item) => item.name.toLowerCase().includes(search.toLowerCase()));
  return (
    <section class="panel">
      <header>
        <h2>{t().edit.outline}</h2>
        <input
          type="search"
          data-search
          aria-label={t().edit.findStatement}
          placeholder={t().edit.findStatement}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      </header>
      <ul class="outline">
        {shown.slice(0, 300).map((item, index) => (
          <li key={index} style={{ paddingLeft: `${item.depth * 16}px` }}>
            <button
              type="button"
              class="plain mono"
              onClick={() => (editTarget.value = { file: item.place.file, line: item.place.line })}
            >
              {item.name}
            </button>{' '}
            {item.kind !== item.name && <span class="soft small">{item.kind}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The dialog for saving while tests fail. */
function FailingTests(): JSX.Element | null {
  const words = t().edit;
  const failed = state.asked.value;
  if (!failed) return null;
  const close = (): void => {
    state.asked.value = null;
  };
  const save = async (): Promise<void> => {
    close();
    if (await state.save()) say(words.savedTo(state.file.value));
  };
  return (
    <Dialog title={words.saveFailing(failed.length)} onClose={close}>
      {failed.slice(0, 5).map((test, index) => (
        <p key={index}>
          <b>✗ {test.name}</b>
          <br />
          {words.expectedActual(test.expected, test.actual)}
        </p>
      ))}
      {failed.length > 5 && <p class="soft">{t().showMore(failed.length - 5)}</p>}
      <div class="row">
        <button type="button" class="primary" onClick={close}>
          {words.keepEditing}
        </button>
        <button type="button" onClick={() => void save()}>
          {words.saveAnyway}
        </button>
      </div>
    </Dialog>
  );
}

/**
 * The dialog for a file that changed on disk: it shows the diff and lets the user choose a text.
 */
function Conflict(): JSX.Element | null {
  const words = t().edit;
  const conflict = state.conflict.value;
  if (!conflict) return null;
  return (
    <Dialog title={words.changedMeanwhile(state.file.value)} onClose={() => (state.conflict.value = null)}>
      <p>{words.changedHelp}</p>
      <Diff lines={conflict.diff} label={words.changedMeanwhile(state.file.value)} />
      <div class="row">
        <button type="button" class="primary" onClick={() => (state.conflict.value = null)}>
          {words.keepEditing}
        </button>
        <button type="button" onClick={() => void state.revert()}>
          {words.takeDisk}
        </button>
        <button type="button" onClick={() => void state.save(conflict.stamp)}>
          {words.writeOver}
        </button>
      </div>
    </Dialog>
  );
}
