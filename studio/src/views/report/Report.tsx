// A report: the rules, their use, and sample decisions with explanations. The studio and the file
// of `rulec report` show the same component.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CoverageItem, Report as ReportData, ReportSummary, Sample, Slow } from '../../api/types';
import { micros, number, t } from '../../i18n';
import { Headline } from '../decide/Headline';
import { Reasons, Warnings, Way } from '../decide/Reasons';
import { MapPicture } from '../map/Map';
import { Counts } from '../replay/Counts';
import { Flips } from '../replay/Flips';
import { Notes } from '../replay/Notes';
import { Timeline } from '../replay/Timeline';

export function Report({ report }: { report: ReportData }): JSX.Element {
  const words = t().report;
  const counts = report.replay
    ? new Map(report.replay.counts.map((count) => [count.key, count.count]))
    : null;
  return (
    <div class="stack report">
      <Summary report={report} summary={report.summary} />
      {report.replay && (
        <>
          <Notes sums={report.replay} />
          {report.replay.flips.length > 0 && <Flips sums={report.replay} />}
          <div class="replay-pictures">
            <Counts sums={report.replay} />
            <Timeline sums={report.replay} />
          </div>
        </>
      )}
      <section class="stack" aria-label={words.map}>
        <h2>{words.map}</h2>
        <MapPicture
          map={report.map}
          counts={counts}
          tableOf={(name) => report.tables.find((table) => table.table === name) ?? null}
        />
      </section>
      <Slowest list={report.slowest} />
      <Coverage report={report} />
      <TestsOf report={report} />
      <Samples samples={report.samples} />
    </div>
  );
}

function Summary({ report, summary }: { report: ReportData; summary: ReportSummary }): JSX.Element {
  const words = t().report;
  const figures: [string, string][] = [
    [words.files, number(summary.files)],
    [words.tables, number(summary.tables)],
    [words.statements, number(summary.statements)],
    [
      words.tests,
      summary.failed > 0
        ? `✗ ${words.failedOf(summary.failed, summary.tests)}`
        : `✓ ${number(summary.tests)}`,
    ],
    ...(report.replay ? [[words.messages, number(report.replay.progress.messages)] as [string, string]] : []),
    ...(summary.never === null ? [] : [[words.never, `○ ${number(summary.never)}`] as [string, string]]),
  ];
  return (
    <section class="panel">
      <header>
        <h2>
          {words.title} <span class="mono">{report.name}</span>
        </h2>
        <span class="soft small">rulec {report.version}</span>
      </header>
      <dl class="figures-row">
        {figures.map(([name, value]) => (
          <div key={name} class="figure">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {summary.warnings.length > 0 && (
        <details open={summary.warnings.length <= 6}>
          <summary>⚠ {words.warnings(summary.warnings.length)}</summary>
          <ul>
            {summary.warnings.map((warning, index) => (
              <li key={index}>{warning}</li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Slowest({ list }: { list: Slow[] }): JSX.Element | null {
  const words = t().report;
  if (list.length === 0) return null;
  const timed = list.some((each) => each.median_us !== null);
  return (
    <section class="panel">
      <header>
        <h2>{words.slowest}</h2>
      </header>
      {/* A scrollable element must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div class="scroll" tabIndex={0} role="group" aria-label={words.slowest}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{t().replay.columns.route}</th>
              {timed && (
                <>
                  <th scope="col" class="number">
                    {words.median}
                  </th>
                  <th scope="col" class="number">
                    {words.longest}
                  </th>
                </>
              )}
              <th scope="col" class="number">
                {words.steps}
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((each) => (
              <tr key={each.key}>
                <th scope="row" class="mono">
                  {each.name}
                </th>
                {timed && (
                  <>
                    <td class="number">{each.median_us === null ? '–' : micros(each.median_us)}</td>
                    <td class="number">{each.longest_us === null ? '–' : micros(each.longest_us)}</td>
                  </>
                )}
                <td class="number">{number(each.steps)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Coverage({ report }: { report: ReportData }): JSX.Element | null {
  const [gapsOnly, setGapsOnly] = useState(true);
  const [limit, setLimit] = useState(100);
  const words = t().report;
  if (report.coverage.length === 0) return null;
  const gaps = report.coverage.filter((item) => item.gap !== null);
  const shown = gapsOnly ? gaps : report.coverage;
  const covered = report.coverage.length - gaps.length;
  return (
    <section class="panel">
      <header>
        <h2>{words.coverage}</h2>
        <label class="row small">
          <input
            type="checkbox"
            checked={gapsOnly}
            onChange={(event) => setGapsOnly(event.currentTarget.checked)}
          />
          {words.gapsOnly}
        </label>
      </header>
      <p class="soft">
        {words.covered(covered, report.coverage.length)} ·{' '}
        {report.covered_by_tests
          ? words.byTests(report.covered_decisions)
          : words.byMessages(report.covered_decisions)}
      </p>
      <progress aria-label={words.coverage} value={covered} max={report.coverage.length} />
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div class="scroll" tabIndex={0} role="group" aria-label={words.coverage}>
        <table class="plain coverage">
          <thead>
            <tr>
              <th scope="col">{words.what}</th>
              <th scope="col">{words.place}</th>
              <th scope="col" class="number">
                {words.yes}
              </th>
              <th scope="col" class="number">
                {words.no}
              </th>
              <th scope="col">{words.gap}</th>
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, limit).map((item, index) => (
              <CoverageLine key={index} item={item} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length > limit && (
        <button type="button" class="plain" onClick={() => setLimit(limit + 300)}>
          {t().showMore(shown.length - limit)}
        </button>
      )}
    </section>
  );
}

function CoverageLine({ item }: { item: CoverageItem }): JSX.Element {
  return (
    <tr>
      <td>
        <span class={`mark ${item.gap === null ? 'true' : 'false'}`} aria-hidden="true">
          {item.gap === null ? '✓' : '○'}
        </span>{' '}
        <code>{item.name}</code> <span class="soft small">{t().report.whats[item.what] ?? item.what}</span>
      </td>
      <td class="mono small nowrap">
        {item.file}:{item.line}
      </td>
      <td class="number">{number(item.yes)}</td>
      <td class="number">{number(item.no)}</td>
      <td>{item.gap}</td>
    </tr>
  );
}

function TestsOf({ report }: { report: ReportData }): JSX.Element | null {
  const words = t().report;
  const failed = report.tests.filter((test) => !test.passed);
  if (report.tests.length === 0) return null;
  return (
    <section class="panel">
      <header>
        <h2>{words.tests}</h2>
        <span class={`chip ${failed.length > 0 ? 'bad' : 'good'}`}>
          {failed.length > 0
            ? `✗ ${words.failedOf(failed.length, report.tests.length)}`
            : `✓ ${t().edit.allPass(report.tests.length)}`}
        </span>
      </header>
      {failed.map((test, index) => (
        <div key={index} class="failed-test">
          <b>✗ {test.name}</b>
          <p>{t().edit.expectedActual(test.expected, test.actual)}</p>
          {test.why !== null && <pre>{test.why}</pre>}
        </div>
      ))}
    </section>
  );
}

function Samples({ samples }: { samples: Sample[] }): JSX.Element | null {
  const words = t().report;
  if (samples.length === 0) return null;
  return (
    <section class="panel">
      <header>
        <h2>{words.samples}</h2>
      </header>
      {samples.map((sample, index) => (
        <details key={index} class="sample">
          <summary>
            <b class="mono">{sample.explanation.chosen ?? t().replay.none}</b>
            {sample.line !== null && <span class="soft small"> {t().replay.lineAt(sample.line)}</span>}{' '}
            <code class="sample-message">{JSON.stringify(sample.message)}</code>
          </summary>
          <div class="stack">
            <pre class="code-block">{JSON.stringify(sample.message, null, 2)}</pre>
            <Headline {...sample} />
            <Warnings explanation={sample.explanation} />
            <Way explanation={sample.explanation} />
            <Reasons explanation={sample.explanation} />
          </div>
        </details>
      ))}
    </section>
  );
}
