// The view Report in the studio: a preview of the file, and a button that saves it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, type RequestError } from '../../client';
import { t } from '../../i18n';
import { language } from '../../state/prefs';
import { useResource } from '../../state/resource';
import { overview, revision, version } from '../../state/studio';
import { download } from '../../ui/download';
import { say } from '../../ui/toast';
import { progress, replayId } from '../replay/state';
import { Report } from './Report';

export function ReportView(): JSX.Element {
  const [saving, setSaving] = useState(false);
  const words = t().report;
  const done = progress.value?.state === 'done' || progress.value?.state === 'cancelled';
  const asked = { version: version.value, replay: done ? replayId.value : null };
  const report = useResource(JSON.stringify([asked, revision.value, language.value]), (signal) =>
    api.report(asked, signal),
  );
  const save = async (): Promise<void> => {
    setSaving(true);
    try {
      download('report.html', 'text/html', await api.reportFile(asked));
    } catch (error) {
      say((error as RequestError).message);
    } finally {
      setSaving(false);
    }
  };
  const broken = overview.value?.errors ?? 0;
  return (
    <div class="stack" aria-busy={report.loading}>
      <div class="panel row report-head">
        <p>{asked.replay === null ? words.withoutReplay : words.withReplay}</p>
        <button type="button" class="primary" disabled={saving || broken > 0} onClick={() => void save()}>
          {words.save}
        </button>
      </div>
      {report.error !== null && (
        <p class="note bad">{broken > 0 ? t().decide.broken(broken) : report.error}</p>
      )}
      {report.loading && !report.value && <p role="status">{t().loading}</p>}
      {report.value && <Report report={report.value} />}
    </div>
  );
}
