// The views Edit and Report, and a full workflow: from a misrouted message to the effects of its
// fix.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serious } from './axe';
import { launch, open, show, studio, type Studio, until } from './studio';

const RULES = `route urgent priority 10
  when text contains "urgent" and ctx.count > 3
  -> pager

route refund when text contains "refund" -> refunds

default -> inbox

test "urgent ones go to the pager" {
  given text = "urgent: down"
  given ctx = { count: 5 }
  expect urgent
}
`;

const MESSAGES = [
  { text: 'urgent: the shop is down', ctx: { count: 3 } },
  { text: 'urgent: nothing works', ctx: { count: 3 } },
  { text: 'urgent again', ctx: { count: 9 } },
  { text: 'my refund', ctx: { count: 1 } },
  { text: 'hello', ctx: { count: 1 } },
]
  .map((message) => JSON.stringify(message))
  .join('\n');

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

interface Look {
  page: Page;
  served: Studio;
  file: string;
  end: () => Promise<void>;
}

async function look(): Promise<Look> {
  const served = await studio(['desk.rules', '--input', 'desk.jsonl'], {
    'desk.rules': RULES,
    'desk.jsonl': MESSAGES,
  });
  const { page, context, troubles } = await open(browser, served.address, { acceptDownloads: true });
  await page.getByRole('navigation').waitFor();
  const end = async (): Promise<void> => {
    await context.close();
    served.end();
    expect(troubles).toEqual([]);
  };
  return { page, served, file: join(served.folder, 'desk.rules'), end };
}

/** Places the cursor after a word of the text, with the editor's search. */
async function placeCursorAfter(page: Page, word: string): Promise<void> {
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('Control+f');
  await page.locator('.cm-search input[name=search]').pressSequentially(word);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
}

test('as one types: colours, problems with fixes, completion, hover, format, tests in the margin', async () => {
  const { page, file, end } = await look();
  await show(page, 'Edit');
  await page.locator('.tok-keyword').first().waitFor();
  await page.locator('.test-mark.passed').first().waitFor({ state: 'attached' });
  await placeCursorAfter(page, '"refund"');
  await page.keyboard.type(' and te');
  await page.keyboard.press('Control+Space');
  await page.locator('.cm-tooltip-autocomplete li', { hasText: 'text' }).first().waitFor();
  // The editor ignores Enter for a moment after the completions appear.
  await page.waitForTimeout(300);
  await page.keyboard.press('Enter');
  await page.keyboard.type(' contians "x"');
  const problem = page.locator('.problems li').first();
  await problem.waitFor();
  await page.locator('.cm-lintRange-error').first().waitFor();
  // The explanation of a code opens with one click.
  await problem.getByRole('button', { name: /E\d{4}/ }).click();
  await page.getByRole('dialog').locator('.code-page .code-block').first().waitFor();
  await page.keyboard.press('Escape');
  await problem.locator('.fix').first().click();
  await page.locator('.chip', { hasText: 'none' }).first().waitFor();
  expect(await page.locator('.cm-content').innerText()).toContain('and text contains "x"');
  await page
    .locator('.cm-line', { hasText: 'route refund' })
    .getByText('refund', { exact: true })
    .first()
    .hover();
  await page.locator('.hover-box').waitFor();
  await page.getByRole('button', { name: 'Format' }).click();
  // A failing test turns red and shows its result.
  await placeCursorAfter(page, 'ctx.count > ');
  await page.keyboard.press('Delete');
  await page.keyboard.type('7');
  await page.locator('.test-mark.failed').first().waitFor({ state: 'attached' });
  await page.getByText('1 of 1 fail').waitFor();
  await page.getByText('expected urgent').first().waitFor();
  expect(await serious(page)).toEqual([]);
  expect(readFileSync(file, 'utf8')).toBe(RULES);
  await end();
});

// Regression: the editor of the next visit had the text of the latest formatting.
test('text that is typed after formatting stays when another view was visited', async () => {
  const { page, end } = await look();
  await show(page, 'Edit');
  await page.locator('.tok-keyword').first().waitFor();
  await placeCursorAfter(page, '-> inbox');
  await page.keyboard.type('  # spaces');
  await page.getByRole('button', { name: 'Format' }).click();
  await page.locator('.cm-line', { hasText: 'inbox # spaces' }).waitFor();
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('# later');
  await show(page, 'Map');
  await page.getByRole('button', { name: 'Decision table' }).click();
  await show(page, 'Edit');
  await page.locator('.cm-line').first().waitFor();
  await page.getByText('all 1 pass').waitFor();
  expect(await page.locator('.cm-content').innerText()).toContain('# later');
  await end();
});

test('a statement is completed with places to fill in, which Tab visits', async () => {
  const { page, end } = await look();
  await show(page, 'Edit');
  await page.locator('.tok-keyword').first().waitFor();
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('lis');
  await page.locator('.cm-tooltip-autocomplete li', { hasText: 'list' }).first().click();
  await page.locator('.cm-snippetField').first().waitFor();
  await page.keyboard.type('words');
  await page.keyboard.press('Tab');
  await page.keyboard.type('urgent');
  await page.keyboard.press('Tab');
  await page.keyboard.type('down');
  const lines = await page.locator('.cm-line').allInnerTexts();
  expect(lines.at(-1)).toBe('list words = ["urgent", "down"]');
  await end();
});

test('coverage is marked next to the lines: by the tests, and after a replay by its messages', async () => {
  const { page, end } = await look();
  await show(page, 'Edit');
  await page.locator('.tok-keyword').first().waitFor();
  const button = page.getByRole('button', { name: 'Coverage' });
  await button.click();
  const marks = page.locator('.coverage-gutter .test-mark');
  // The one test reaches the first route only.
  await marks.filter({ hasText: '○' }).first().waitFor();
  expect(await marks.filter({ hasText: '○' }).first().getAttribute('title')).toBe('never reached');
  expect(await marks.filter({ hasText: '◐' }).count()).toBeGreaterThan(0);
  expect(await serious(page)).toEqual([]);
  await show(page, 'Replay');
  await page.locator('.replay-setup button.primary').click();
  await page.locator('.going', { hasText: 'Done' }).waitFor();
  await show(page, 'Edit');
  const never = marks.filter({ hasText: '○' });
  await until('all are reached', async () => (await marks.count()) > 0 && (await never.count()) === 0);
  await button.click();
  await until('no marks', async () => (await marks.count()) === 0);
  await end();
});

test('a file is written when asked, and never over one that has changed meanwhile', async () => {
  const { page, file, end } = await look();
  await show(page, 'Edit');
  await page.locator('.tok-keyword').first().waitFor();
  await placeCursorAfter(page, '-> inbox');
  await page.keyboard.type('_two');
  writeFileSync(file, RULES.replace('refunds', 'other_refunds'));
  await page.keyboard.press('Control+s');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  expect(await dialog.innerText()).toContain('other_refunds');
  expect(readFileSync(file, 'utf8')).not.toContain('_two');
  await dialog.getByRole('button', { name: 'Keep editing' }).click();
  await page.keyboard.press('Control+s');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.getByRole('button', { name: 'Write over it' }).click();
  await until('the text on disk', () => Promise.resolve(readFileSync(file, 'utf8').includes('inbox_two')));
  await page.getByText('as on disk').waitFor();
  await end();
});

test('the journey: it went to the wrong place; why; mend it; what else flips: under ten clicks', async () => {
  const { page, file, end } = await look();
  let clicks = 0;
  const click = async (target: ReturnType<Page['locator']>): Promise<void> => {
    clicks += 1;
    await target.click();
  };
  // The counts of the first replay, asked for again, arrive after the counts of the second one.
  const replays = new Set<string>();
  page.on('request', (request) => replays.add(/\/api\/replays\/(\d+)$/.exec(request.url())?.[1] ?? ''));
  let first = '';
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/api\/replays\/\d+$/, async (route) => {
    if (first !== '' && route.request().url().endsWith(`/${first}`)) await released;
    await route.continue();
  });
  await click(page.getByRole('link', { name: 'Replay' }));
  await click(page.locator('.replay-setup button.primary'));
  await click(page.locator('.grid-row', { hasText: 'the shop is down' }));
  // The explanation: one value kept the message from the handler `pager`.
  await page.locator('.headline-target', { hasText: 'inbox' }).waitFor();
  const near = page.locator('.near').filter({ has: page.getByText('urgent', { exact: true }) });
  await near.getByText('one value').waitFor();
  await click(page.getByRole('button', { name: /urgent/ }).first());
  await page.locator('.value', { hasText: 'ctx.count = 3' }).first().waitFor();
  await click(page.getByRole('button', { name: /Edit at desk.rules:1/ }));
  await page.locator('.cm-focused').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  await page.keyboard.press('Backspace');
  await page.keyboard.type('2');
  await page.getByText('all 1 pass').waitFor();
  await until('the change is checked', () =>
    page.getByRole('button', { name: 'See what flips' }).isEnabled(),
  );
  first = [...replays].filter((id) => id !== '').at(-1) ?? '';
  expect(first).not.toBe('');
  await click(page.getByRole('button', { name: 'See what flips' }));
  await page.locator('.sankey .sankey-node').first().waitFor();
  const late = page.waitForResponse((response) => response.url().endsWith(`/api/replays/${first}`));
  release();
  await late;
  await page.getByText('2 answered differently').waitFor();
  await click(page.locator('.flips-table button').first());
  await until('both', async () => (await page.getByText(/of 5$/).innerText()).startsWith('2'));
  await click(page.getByRole('link', { name: 'Edit' }));
  await click(page.getByRole('button', { name: 'Save', exact: true }));
  await until('the mended rules on disk', () =>
    Promise.resolve(readFileSync(file, 'utf8').includes('ctx.count > 2')),
  );
  expect(clicks).toBeLessThan(10);
  await end();
});

test('the journey of a test: open, decide, see why, change a rule, see what flips, save, all green', async () => {
  const { page, file, end } = await look();
  await page.locator('textarea[name=text]').fill('urgent: the shop is down');
  await page.locator('[name="ctx.count"]').fill('3');
  await page.locator('.headline-target', { hasText: 'inbox' }).waitFor();
  await page
    .locator('.stop', { hasText: 'urgent' })
    .locator('.deciding', { hasText: 'ctx.count > 3' })
    .waitFor();
  // The dialog offers exactly what can be chosen.
  await page.getByRole('button', { name: 'Test with another outcome' }).click();
  const expects = page.getByRole('combobox', { name: 'Expects' });
  expect(await expects.locator('option').allInnerTexts()).toEqual([
    'the decision',
    'urgent',
    'refund',
    'default',
  ]);
  await expects.selectOption('urgent');
  await page.locator('.note.warn', { hasText: 'fails' }).waitFor();
  await page.getByRole('button', { name: 'Add and open the editor' }).click();
  // The editor opens at the new test, which is red.
  await page.locator('.cm-activeLine', { hasText: 'test "urgent: the shop is down' }).waitFor();
  await page.getByText('1 of 2 fail').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').getByText('save anyway?').waitFor();
  await page.getByRole('button', { name: 'Keep editing' }).click();
  expect(readFileSync(file, 'utf8')).toBe(RULES);
  // Change the rule: the test turns green.
  await placeCursorAfter(page, 'ctx.count > ');
  await page.keyboard.press('Delete');
  await page.keyboard.type('2');
  await page.getByText('all 2 pass').waitFor();
  await until('the change is checked', () =>
    page.getByRole('button', { name: 'See what flips' }).isEnabled(),
  );
  await page.getByRole('button', { name: 'See what flips' }).click();
  // The messages that flip are the current message and two messages of the file.
  expect((await page.locator('.at-hand-way').innerText()).replace(/\s+/g, ' ')).toBe('inbox → pager');
  await page.locator('.chip.warn', { hasText: 'it flips' }).waitFor();
  await page.locator('.sankey .sankey-node').first().waitFor();
  await show(page, 'Edit');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('.chip', { hasText: 'as on disk' }).waitFor();
  await page.getByText('all 2 pass').waitFor();
  expect(readFileSync(file, 'utf8')).toContain('ctx.count > 2');
  await end();
});

test('the report is one file that opens without a server', async () => {
  const { page, served, end } = await look();
  await show(page, 'Replay');
  await page.locator('.replay-setup button.primary').click();
  await page.locator('.going', { hasText: 'Done' }).waitFor();
  await show(page, 'Report');
  await page.locator('.report').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save report.html' }).click(),
  ]);
  const path = join(served.folder, 'report.html');
  await download.saveAs(path);
  const alone = await open(browser, `file://${path}`);
  await alone.page.locator('.report').waitFor();
  expect(await alone.page.locator('h2').first().innerText()).toContain('desk.rules');
  for (const part of ['How many went where', 'Coverage', 'Sample decisions', 'Slowest']) {
    await alone.page.getByRole('heading', { name: part }).waitFor();
  }
  await alone.page.locator('.map-row', { hasText: 'urgent' }).waitFor();
  await alone.page.getByRole('button', { name: 'Decision table' }).click();
  await alone.page.locator('.grid-row').first().waitFor();
  await alone.page.locator('.sample summary').first().click();
  await alone.page.locator('.sample .rail').first().waitFor();
  expect(await serious(alone.page)).toEqual([]);
  expect(alone.troubles).toEqual([]);
  await alone.context.close();
  await end();
});
