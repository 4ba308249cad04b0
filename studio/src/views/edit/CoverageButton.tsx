// The button that shows coverage in the editor, and the requests for it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../../client';
import { t } from '../../i18n';
import { rules } from '../../state/studio';
import { progress, replayId } from '../replay/state';
import { coverage, showsCoverage } from './coverage';
import { checked } from './state';

/** Time between a check of an edited text and the request for its coverage, in milliseconds. */
const QUIET = 1200;

export function CoverageButton(): JSX.Element {
  const [byTests, setByTests] = useState(true);
  const words = t().coverage;
  const shown = showsCoverage.value;
  const found = checked.value;
  const replayed = progress.value?.state === 'done' || progress.value?.state === 'cancelled';
  const replay = replayed ? replayId.value : null;
  useEffect(() => {
    if (!shown || found?.compiles !== true) return;
    const abort = new AbortController();
    const ask = async (): Promise<void> => {
      const version = { rules: rules.peek(), draft: true };
      const report = await api.report({ version, replay }, abort.signal);
      coverage.value = report.coverage;
      setByTests(report.covered_by_tests);
    };
    // The marks stay if the rules now have an error. The view shows the error.
    const timer = setTimeout(() => void ask().catch(() => undefined), coverage.peek() ? QUIET : 0);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [shown, found, replay]);
  return (
    <button
      type="button"
      aria-pressed={shown}
      title={byTests ? words.byTests : words.byMessages}
      onClick={() => (showsCoverage.value = !shown)}
    >
      ◐ {words.show}
    </button>
  );
}
