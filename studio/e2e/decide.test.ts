// The view Decide: typing a message and its immediate results.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serious } from './axe';
import { launch, open, show, studio, type Studio, until } from './studio';

const PAYLOAD = `payload refund rank 1 {
  amount: number in 0..=500 clamp
  currency: string in ["EUR", "USD"] default "EUR"
  reason?: string
  closed remove
  require "refund.reason" at reason when amount > 100: reason is present else "a reason is needed above 100"
}
`;

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

interface Look {
  page: Page;
  served: Studio;
  end: () => Promise<void>;
}

async function look(args: string[], files: Record<string, string> = {}): Promise<Look> {
  const served = await studio(args, files);
  const { page, context, troubles } = await open(browser, served.address, { acceptDownloads: true });
  await page.getByRole('combobox', { name: 'Decided by' }).waitFor();
  const end = async (): Promise<void> => {
    await context.close();
    served.end();
    expect(troubles).toEqual([]);
  };
  return { page, served, end };
}

async function leadsTo(page: Page, name: string): Promise<void> {
  await page.locator('.headline-target', { hasText: name }).waitFor();
}

test('a reload keeps the message at hand', async () => {
  const { page, end } = await look(['helpdesk.rules']);
  await page.locator('textarea[name=text]').fill('I want my money back');
  await leadsTo(page, 'refund_handler');
  await page.reload();
  await leadsTo(page, 'refund_handler');
  expect(await page.locator('textarea[name=text]').inputValue()).toBe('I want my money back');
  await end();
});

test('a form decides as one types; values, near misses and the way are shown', async () => {
  const { page, end } = await look(['helpdesk.rules']);
  await page.locator('textarea[name=text]').fill('permission denied again');
  await leadsTo(page, 'default_handler');
  // A button adds an optional record. The fields of the record then affect the decision.
  expect(await page.locator('[name="ctx.last_error.type"]').count()).toBe(0);
  await page.getByRole('button', { name: 'Add ctx.last_error' }).click();
  await page.locator('[name="ctx.last_error.type"]').fill('PermissionError');
  await page.locator('[name="ctx.last_error.count"]').fill('1');
  await until('the actual value', async () => {
    await page
      .getByRole('button', { name: /error_recovery/ })
      .first()
      .click();
    const values = await page.locator('.stop-inside .value').allInnerTexts();
    return values.some((value) => value.includes('ctx.last_error.count = 1'));
  });
  const near = page.locator('.near', { hasText: 'error_recovery' });
  await near.getByText('ctx.last_error.count').first().waitFor();
  await near.getByRole('button', { name: 'Try it' }).click();
  await leadsTo(page, 'error_recovery_handler');
  expect(await page.locator('[name="ctx.last_error.count"]').inputValue()).toBe('2');
  await end();
});

test('the answer comes first: one sentence, one large name, and the words that decided', async () => {
  const messages = '{"text": "I want my money back"}\n';
  const { page, end } = await look(['helpdesk.rules', '--input', 'money.jsonl'], { 'money.jsonl': messages });
  await page.locator('textarea[name=text]').fill('I want my money back');
  await leadsTo(page, 'refund_handler');
  const headline = page.locator('.headline');
  expect((await headline.innerText()).replace(/\s+/g, ' ')).toContain(
    'Goes to refund_handler because the text mentions money back',
  );
  expect(await headline.locator('.quote mark').allInnerTexts()).toEqual(['money back']);
  const size = (selector: string): Promise<number> =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => parseFloat(getComputedStyle(element).fontSize));
  expect(await size('.headline-target')).toBeGreaterThan(1.5 * (await size('body')));
  expect(await size('.way')).toBeLessThan(await size('body'));
  // Text has three sizes: small, body and large.
  const sizes = await page
    .locator('body *')
    .evaluateAll((elements) => elements.map((element) => getComputedStyle(element).fontSize));
  expect([...new Set(sizes)].sort()).toEqual(['13px', '15px', '36px']);
  // Failed routes are one line each, with the arguments of the definition that they use.
  const lines = await page.locator('.stop:not(.chosen) .deciding').allInnerTexts();
  expect(lines).toEqual(expect.arrayContaining(['mentions(show_verbs)', 'mentions(run_verbs)']));
  // The colour of the handler is the same in the answer, in the map and in the replay.
  const colour = (selector: string): Promise<string> =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).borderLeftColor);
  const decided = await colour('.headline');
  await show(page, 'Map');
  await page.locator('.map-target', { hasText: 'refund_handler' }).waitFor();
  expect(await colour('.map-target[title=refund_handler]')).toBe(decided);
  await show(page, 'Replay');
  await page.locator('.replay-setup button.primary').click();
  const swatch = page.locator('.legend-entry', { hasText: 'refund' }).locator('.swatch').first();
  await swatch.waitFor();
  expect(await swatch.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe(decided);
  await end();
});

test('a near miss shows the public values of a record, and the call of a definition', async () => {
  const { page, end } = await look(['helpdesk.rules']);
  await page.locator('textarea[name=text]').fill('run the report');
  await leadsTo(page, 'default_handler');
  const refused = page.locator('.near', { hasText: 'run_refused' });
  // Until the page has the decision for the whole text, the change has a second field, the text.
  await expect
    .poll(() => refused.locator('.will').allInnerTexts(), { timeout: 60_000 })
    .toEqual([expect.stringMatching(/"role":/)]);
  const files = page.locator('.near', { hasText: 'show_files' });
  expect(await files.innerText()).toContain('mentions(show_verbs)');
  expect(await page.locator('.near-list').innerText()).not.toContain('any words');
  await refused.getByRole('button', { name: 'Try it' }).click();
  await page.locator('.way', { hasText: 'run_refused' }).waitFor();
  // The body of the definition has the argument in place of the parameter.
  await page.locator('.stop-inside code', { hasText: 'word any run_verbs' }).first().waitFor();
  await end();
});

test('a flow has no panel of near misses', async () => {
  const { page, end } = await look(['chatbot.rules']);
  await page.locator('.headline').waitFor();
  await page.getByRole('combobox', { name: 'Decided by' }).selectOption('flows');
  await page.locator('.way', { hasText: 'flows' }).waitFor();
  expect(await page.getByRole('heading', { name: 'Near misses' }).count()).toBe(0);
  await end();
});

test('a choice is called a choice, with a branch, in both languages', async () => {
  const { page, end } = await look(['orders.rules']);
  await page.locator('.headline-verb', { hasText: 'Takes the branch' }).waitFor();
  await page.locator('.way-stop', { hasText: /^choice/ }).waitFor();
  await page.getByRole('button', { name: '中文' }).click();
  await page.locator('.headline-verb', { hasText: '走分支' }).waitFor();
  await page.locator('.way-stop', { hasText: /^选择/ }).waitFor();
  await end();
});

test('a jump is a table inside its route, and a broken message says where it is broken', async () => {
  const { page, end } = await look(['helpdesk.rules']);
  await page.locator('textarea[name=text]').fill('I want my money back');
  await leadsTo(page, 'refund_handler');
  expect(await page.locator('.way-stop').allInnerTexts()).toEqual(
    expect.arrayContaining([expect.stringContaining('billing'), expect.stringContaining('refund')]),
  );
  expect(await page.locator('.search .search.chose').count()).toBe(1);
  await page.getByRole('button', { name: 'JSON' }).click();
  await page.getByRole('textbox', { name: 'Message' }).fill('{"text": "x",}');
  await page.getByText(/line 1, column/).waitFor();
  await end();
});

test('messages are kept by name next to the rules, used again, and shared in a file', async () => {
  const { page, served, end } = await look(['helpdesk.rules']);
  const text = page.locator('textarea[name=text]');
  await text.fill('please show my files');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('files <b>please</b>');
  await page.getByRole('button', { name: 'Keep', exact: true }).click();
  await page.getByRole('button', { name: 'files <b>please</b>', exact: true }).waitFor();
  const kept = JSON.parse(readFileSync(join(served.folder, 'helpdesk.messages.json'), 'utf8')) as {
    name: string;
  }[];
  expect(kept.map((each) => each.name)).toEqual(['files <b>please</b>']);
  await text.fill('something else');
  await page.getByRole('button', { name: 'files <b>please</b>', exact: true }).click();
  expect(await text.inputValue()).toBe('please show my files');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Share as file' }).click(),
  ]);
  const shared = join(served.folder, 'shared.json');
  await download.saveAs(shared);
  await page.getByRole('button', { name: 'Remove files' }).click();
  await until('it is gone', async () => (await page.locator('.kept-name').count()) === 0);
  await page.locator('input[type=file]').first().setInputFiles(shared);
  await page.getByRole('button', { name: 'files <b>please</b>', exact: true }).waitFor();
  await end();
});

test('one click makes a decision a test of the rules; the file is written when saved', async () => {
  const { page, served, end } = await look(['helpdesk.rules']);
  await page.locator('textarea[name=text]').fill('where is my invoice, please?');
  await leadsTo(page, 'invoice_handler');
  const file = join(served.folder, 'helpdesk.rules');
  const before = readFileSync(file, 'utf8');
  await page.getByRole('button', { name: 'Make it a test' }).click();
  await page.getByRole('button', { name: 'See the test' }).click();
  await page.getByText('all 13 pass').waitFor();
  expect(readFileSync(file, 'utf8')).toBe(before);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await until('the test on disk', () =>
    Promise.resolve(readFileSync(file, 'utf8').includes('where is my invoice')),
  );
  await end();
});

test('choices show what they leave out, flows their scores', async () => {
  const choice = await look(['orders.rules']);
  await choice.page.locator('.search').first().waitFor();
  expect(await choice.page.locator('.stop').count()).toBeGreaterThan(1);
  const left = choice.page.locator('.note.warn', { hasText: 'fraud_check leaves out' });
  await left.getByText('steps.customer.tags is missing').waitFor();
  const near = choice.page.locator('.near', { hasText: 'remind' });
  await near.getByText('one value').waitFor();
  expect(await serious(choice.page)).toEqual([]);
  await near.getByRole('button', { name: 'Try it' }).click();
  await leadsTo(choice.page, 'remind');
  await choice.end();
  const flows = await look(['chatbot.rules']);
  await flows.page.getByRole('combobox', { name: 'Decided by' }).selectOption('flows');
  await flows.page.locator('textarea[name=text]').fill('我要退货，这件衣服太大了');
  await flows.page.locator('.intents .score-bar').first().waitFor();
  expect(await flows.page.locator('.intents tbody tr').count()).toBeGreaterThan(1);
  expect(await flows.page.locator('.intents tr.chosen').innerText()).toContain('refund');
  expect(await serious(flows.page)).toEqual([]);
  await flows.end();
});

test('a payload shows violations at their places and the corrections as a difference', async () => {
  const { page, end } = await look(['p.rules'], { 'p.rules': PAYLOAD });
  await page.getByRole('button', { name: 'JSON' }).click();
  const text = page.getByRole('textbox', { name: 'Payload' });
  await text.fill('{"amount": 900, "currency": "EUR"}');
  await page.locator('.note.bad', { hasText: 'Rejected' }).waitFor();
  const size = page.viewportSize();
  await page.setViewportSize({ width: 400, height: 800 });
  await page.locator('.pin', { hasText: 'Rejected' }).waitFor();
  await page.setViewportSize(size ?? { width: 1280, height: 800 });
  await until('both places', async () => {
    const places = await page.locator('.violations .path').allInnerTexts();
    return places.includes('$.amount') && places.includes('$.reason');
  });
  await until('the marked value', async () =>
    (await page.locator('.marked mark').allInnerTexts()).some((each) => each.startsWith('900')),
  );
  expect(await serious(page)).toEqual([]);
  await text.fill('{"amount": 900, "reason": "broken", "note": "x"}');
  await page.locator('.note.good', { hasText: 'Accepted after corrections' }).waitFor();
  expect(await page.locator('.diff-line.removed').count()).toBeGreaterThan(0);
  expect((await page.locator('.diff-line.added').allInnerTexts()).join('\n')).toContain('500');
  expect(await serious(page)).toEqual([]);
  // A payload result becomes a test, like a decision.
  await page.getByRole('button', { name: 'Make it a test' }).click();
  await page.getByRole('button', { name: 'See the test' }).click();
  await page.getByText('all 1 pass').waitFor();
  expect(await page.locator('.cm-content').innerText()).toContain('expect refund.');
  await end();
});

test('a workflow is gone through step by step: nodes light up, loops are counted', async () => {
  const { page, end } = await look(['council.rules']);
  await page.getByRole('combobox', { name: 'Decided by' }).selectOption('council');
  await page.locator('.node.ran').first().waitFor();
  await page.locator('.edge.loop text').first().waitFor();
  expect(await page.locator('.edge.loop text').first().textContent()).toMatch(/^×\d/);
  expect(await serious(page)).toEqual([]);
  await page.getByRole('button', { name: 'Start' }).click();
  expect(await page.locator('.node.ran').count()).toBe(0);
  await page.getByRole('button', { name: 'Next' }).click();
  expect(await page.locator('.node.now').count()).toBe(1);
  await page.getByRole('button', { name: 'Next' }).click();
  await until('the parallel nodes', async () => (await page.locator('.node.now').count()) === 3);
  // Playback advances to the next steps.
  await page.getByRole('button', { name: 'Play' }).click();
  await until('the judge', async () =>
    (await page.locator('.node.now').allTextContents()).some((each) => each.startsWith('judge')),
  );
  // A router's decision becomes a test with one click, and the test passes.
  await page
    .getByRole('button', { name: /^Make it a test: / })
    .first()
    .click();
  await page.getByRole('button', { name: 'See the test' }).click();
  await page.getByText('all 1 pass').waitFor();
  expect(await page.locator('.cm-content').innerText()).toContain('given next = ');
  await end();
});

test('what is hostile is shown as text', async () => {
  const script = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  const rules = `## ${script}\nroute r when text contains "${script}" -> h { note: "${script}" }\ndefault -> other\n`;
  const { page, end } = await look(['hostile.rules', '--input', 'hostile.jsonl'], {
    'hostile.rules': rules,
    'hostile.jsonl': `${JSON.stringify({ text: script })}\n{"text": \n${JSON.stringify({ text: 'x'.repeat(1_000_000) })}\n[1]\n"${script}\n`,
  });
  await page.getByRole('button', { name: 'JSON' }).click();
  await page
    .getByRole('textbox', { name: 'Message' })
    .fill(JSON.stringify({ text: `${script}${'y'.repeat(1_000_000)}` }));
  await leadsTo(page, 'h');
  await page.getByText(script).first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('navigation').getByRole('link', { name: 'Replay' }).click();
  await page.locator('.replay-setup button.primary').click();
  await page.getByText('3 lines could not be read').waitFor();
  await page.locator('.grid-row').nth(1).waitFor();
  expect(await page.locator('.grid-row').first().innerText()).toContain('<img');
  await show(page, 'Map');
  await page.locator('.map-row').first().click();
  await page.locator('.map-detail').getByText(script).first().waitFor();
  await show(page, 'Edit');
  await page.locator('.cm-line').first().waitFor();
  expect(await page.locator('.cm-line').first().innerText()).toContain(script);
  await show(page, 'Report');
  await page.locator('.sample summary').first().click();
  await page.locator('.sample').getByText(script).first().waitFor();
  expect(await page.locator('img, main script').count()).toBe(0);
  await end();
});
