// Entry point of a report. The data are embedded in the page; there are no requests to a server.
import { render } from 'preact';
import type { Report as ReportData } from './api/types';
import { applyPreferences, language } from './state/prefs';
import { Bar, Preferences } from './shell/Bar';
import { targets } from './ui/handlers';
import { Report } from './views/report/Report';

const text = document.getElementById('report')?.textContent ?? '';
const report = JSON.parse(text) as ReportData;
if (report.language === 'zh' || report.language === 'en') language.value = report.language;
applyPreferences();
targets.value = report.map.targets;
document.title = `${report.name} · rulec`;
const root = document.getElementById('app');
if (root) {
  render(
    <>
      <Bar title="rulec" name={report.name}>
        <Preferences />
      </Bar>
      <main>
        <Report report={report} />
      </main>
    </>,
    root,
  );
}
