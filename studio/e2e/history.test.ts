// The earlier messages of a session: the view Decide with a timeline, tests that list them, and
// rows of a replay.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serious } from './axe';
import { launch, open, show, studio, until } from './studio';

const GUARD = `input { tool: string, now: datetime, ctx: { session: string } }
history by ctx.session keep 24h

route exfiltration when tool == "send_email"
  and any p in history within 1h: p.tool == "read_secret"
  -> deny
default -> run

choice plain { default branch calm }

test "mail" {
  given tool = "send_email"
  given now = "2026-01-31T12:10:00Z"
  given ctx = { session: "a" }
  expect default
}
`;

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

function call(minute: number, tool: string, more: object = {}): string {
  const now = `2026-01-31T12:${String(minute).padStart(2, '0')}:00Z`;
  return JSON.stringify({ tool, now, ctx: { session: 'a' }, ...more });
}

async function leadsTo(page: Page, name: string): Promise<void> {
  await page.locator('.headline-target', { hasText: name }).waitFor();
}

async function add(page: Page, ...lines: string[]): Promise<void> {
  const box = page.getByRole('textbox', { name: 'Messages as JSON, one a line' });
  if (!(await box.isVisible())) await page.getByText('Add messages…').click();
  await box.fill(lines.join('\n'));
  await page.locator('.before').getByRole('button', { name: 'Add', exact: true }).click();
}

test('earlier messages change the decision, the deciding one is marked, and the test is green', async () => {
  const served = await studio(['guard.rules'], { 'guard.rules': GUARD });
  const { page, context, troubles } = await open(browser, served.address);
  const before = page.getByRole('region', { name: 'Before this message' });
  await before.waitFor();
  await leadsTo(page, 'run');
  await add(page, call(8, 'search'), call(5, 'read_secret', { observe: true }));
  await leadsTo(page, 'deny');
  const rows = before.locator('.before-item');
  expect(await rows.count()).toBe(2);
  const first = (await rows.nth(0).innerText()).replace(/\s+/g, ' ');
  expect(first).toContain('5m before');
  expect(first).toContain('read_secret');
  expect(first).toContain('observed only');
  expect(await rows.nth(1).innerText()).toContain('decided: default → run');
  expect(await before.locator('.before-item.decides').allInnerTexts()).toEqual([
    expect.stringContaining('read_secret'),
  ]);
  // The sentence links to the message that decided.
  await page.locator('.headline').getByRole('button', { name: 'Show earlier message 1' }).click();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('earlier-0');
  expect(await serious(page)).toEqual([]);
  // The saved test lists the messages, and passes.
  await page.getByRole('button', { name: 'Make it a test' }).click();
  await page.getByRole('button', { name: 'See the test' }).click();
  await page.getByText('all 2 pass').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const file = join(served.folder, 'guard.rules');
  await until('the test on disk', () =>
    Promise.resolve(readFileSync(file, 'utf8').includes('tool: "read_secret", ago: 5m')),
  );
  // Without the message, the decision is the former one.
  await show(page, 'Decide');
  await before.getByRole('button', { name: 'Remove message 1 from the history' }).click();
  await leadsTo(page, 'run');
  await before.getByRole('button', { name: 'Record this message' }).click();
  await until('two messages', async () => (await rows.count()) === 2);
  expect(await rows.nth(1).innerText()).toContain('at the same time');
  await page.getByRole('button', { name: '中文' }).click();
  await page.getByRole('heading', { name: '这条消息之前' }).waitFor();
  await page.getByRole('button', { name: 'EN', exact: true }).click();
  // An entry that reads no history has no such panel.
  await page.getByRole('combobox', { name: 'Decided by' }).selectOption('plain');
  await leadsTo(page, 'calm');
  await until('no panel', async () => (await before.count()) === 0);
  await context.close();
  served.end();
  expect(troubles).toEqual([]);
});

test('a row of a replay opens with the earlier messages of its session', async () => {
  const lines = [
    call(1, 'read_secret', { observe: true }),
    call(2, 'search'),
    call(3, 'search', { ctx: { session: 'b' } }),
    call(4, 'send_email'),
  ];
  const served = await studio(['guard.rules', '--input', 'calls.jsonl'], {
    'guard.rules': GUARD,
    'calls.jsonl': `${lines.join('\n')}\n`,
  });
  const { page, context, troubles } = await open(browser, served.address);
  await show(page, 'Replay');
  await page.locator('.replay-setup button.primary').click();
  await page.getByText('1 message was only recorded').waitFor();
  await page.locator('.grid-row', { hasText: 'send_email' }).click();
  await leadsTo(page, 'deny');
  const rows = page.locator('.before-item');
  await until('both messages', async () => (await rows.count()) === 2);
  expect(await page.locator('.before-item.decides').innerText()).toContain('3m before');
  await context.close();
  served.end();
  expect(troubles).toEqual([]);
});
