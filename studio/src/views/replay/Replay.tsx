// The view Replay: decides a file of messages again with these rules, and optionally compares with
// another version.
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { ReplaySums } from '../../api/types';
import { number, percent, t } from '../../i18n';
import { language } from '../../state/prefs';
import { overview, rules, session, version } from '../../state/studio';
import { FileButton } from '../../ui/FileButton';
import { FileDrop } from '../../ui/FileDrop';
import { AtHandPanel } from './AtHandPanel';
import { Counts } from './Counts';
import { Flips } from './Flips';
import { RowsTable } from './RowsTable';
import * as state from './state';
import { Notes } from './Notes';
import { Timeline } from './Timeline';

export function Replay(): JSX.Element {
  const sources = session.value?.sources ?? [];
  useEffect(() => {
    state.source.value ??= sources[0]?.id ?? null;
  }, [sources.length]);
  useEffect(() => void state.retell().catch(() => undefined), [language.value]);
  const sums = state.sums.value;
  const id = state.replayId.value;
  return (
    <div class="stack">
      <Setup />
      <AtHandPanel />
      <Going />
      {state.trouble.value !== null && <p class="note bad">{state.trouble.value}</p>}
      {sums && id !== null && (
        <>
          <Pictures sums={sums} />
          <RowsTable id={id} sums={sums} />
        </>
      )}
    </div>
  );
}

/**
 * The counts as pictures. They are memoized, so that typing in the row filter does not render them
 * again.
 */
function Pictures({ sums }: { sums: ReplaySums }): JSX.Element {
  const { key } = state.filter.value;
  return useMemo(
    () => (
      <>
        <Notes sums={sums} />
        {(sums.compares || (sums.is_log && sums.flips.length > 0)) && (
          <Flips
            sums={sums}
            onPick={(flip) => state.narrow({ key: flip.after, before: flip.before, flipped: true })}
          />
        )}
        <div class="replay-pictures">
          <Counts sums={sums} chosen={key} onPick={(picked) => state.narrow({ key: picked })} />
          <Timeline sums={sums} onPick={(since, until) => state.narrow({ since, until })} />
        </div>
      </>
    ),
    [sums, key, language.value],
  );
}

function Setup(): JSX.Element {
  const words = t().replay;
  const sources = session.value?.sources ?? [];
  const entries = (overview.value?.entries ?? []).filter(
    (each) => each.kind !== 'payload' && each.kind !== 'workflow',
  );
  return (
    <section class="panel replay-setup">
      <div class="stack">
        <h2>{words.title}</h2>
        <div class="row replay-choices">
          <label class="field">
            <span>{words.file}</span>
            <select
              value={state.source.value ?? ''}
              onChange={(event) => (state.source.value = Number(event.currentTarget.value))}
            >
              {sources.length === 0 && <option value="">{words.noFile}</option>}
              {sources.map((source) => (
                <option key={source.id} value={source.id}>
                  {source.name} ({size(source.bytes)})
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>{words.decidedBy}</span>
            <select
              value={state.entry.value ?? ''}
              onChange={(event) => (state.entry.value = event.currentTarget.value || null)}
            >
              <option value="">{words.usual}</option>
              {entries.map((entry) => (
                <option key={entry.name} value={entry.name}>
                  {entry.name}
                </option>
              ))}
            </select>
          </label>
          <Against />
        </div>
        <div class="row">
          <button
            type="button"
            class="primary"
            disabled={state.source.value === null || state.running.value}
            onClick={() => void state.start()}
          >
            ▶ {words.start}
          </button>
          {state.running.value && (
            <button type="button" onClick={() => void state.cancel()}>
              {words.cancel}
            </button>
          )}
        </div>
      </div>
      <FileDrop
        label={words.drop}
        button={words.choose}
        accept=".jsonl,.json,.ndjson,.log,.txt"
        onFile={(file) => void state.upload(file)}
      />
    </section>
  );
}

/**
 * Selects what to compare with: the text on disk, the text in the editor, another rule set, or an
 * upload.
 */
function Against(): JSX.Element {
  const words = t().replay;
  const own = version.value;
  const options = (session.value?.rules ?? []).flatMap((set) => {
    const saved = { value: String(set.id), label: set.id === rules.value ? words.savedText : set.name };
    const draft = { value: `d${set.id}`, label: words.draftOf(set.name) };
    const other = set.id !== own.rules;
    return [
      ...(other || own.draft ? [saved] : []),
      ...(set.has_draft && (other || !own.draft) ? [draft] : []),
    ];
  });
  return (
    <div class="field">
      <label class="field">
        <span>{words.against}</span>
        <select
          value={state.against.value}
          onChange={(event) => (state.against.value = event.currentTarget.value)}
        >
          <option value="">{words.nothing}</option>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      </label>
      <FileButton
        plain
        label={words.otherFile}
        accept=".rules,.txt"
        onFile={(file) => void state.uploadRules(file)}
      />
    </div>
  );
}

function Going(): JSX.Element | null {
  const words = t().replay;
  const progress = state.progress.value;
  if (state.uploading.value !== null && !state.running.value) {
    return (
      <p class="note" role="status">
        {words.uploading(state.uploading.value)}
      </p>
    );
  }
  if (!progress) return null;
  const share = progress.bytes > 0 ? progress.read / progress.bytes : 0;
  return (
    <section class="panel going" aria-label={words.progress}>
      <div class="row">
        <span role="status">
          <b>{words.states[progress.state]}</b> · {words.decided(progress.messages)}
          {progress.state === 'running' && <> · {percent(progress.read, progress.bytes)}</>}
        </span>
        {state.sums.value && progress.state !== 'running' && (
          <span class="soft">{words.took(number(state.sums.value.elapsed_ms / 1000))}</span>
        )}
      </div>
      {progress.state === 'running' && <progress aria-label={words.progress} value={share} max={1} />}
    </section>
  );
}

function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
