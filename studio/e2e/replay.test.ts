// The views Replay and Map: files of messages and logs, counts, changed results, and rules with
// many routes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manyMessages, manyRoutes } from './rules';
import { serious } from './axe';
import { launch, open, run, show, studio, type Studio, until } from './studio';

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
  const { page, context, troubles } = await open(browser, served.address);
  await page.getByRole('navigation').waitFor();
  const end = async (): Promise<void> => {
    await context.close();
    served.end();
    expect(troubles).toEqual([]);
  };
  return { page, served, end };
}

async function replayed(page: Page): Promise<void> {
  await page.locator('.going', { hasText: 'Done' }).waitFor();
}

test('a file that is dropped is replayed: counts, what never fires, a table to filter, sort and open', async () => {
  const { page, served, end } = await look(['many.rules'], {
    'many.rules': manyRoutes(40),
    'many.jsonl': manyMessages(3000),
  });
  await show(page, 'Replay');
  const dropped = await page.evaluateHandle(
    (text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], 'many.jsonl'));
      return transfer;
    },
    readFileSync(join(served.folder, 'many.jsonl'), 'utf8'),
  );
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: dropped });
  await replayed(page);
  await page.getByText('3,000 messages decided').waitFor();
  await page.getByText('of 3,000').waitFor();
  // The keyboard reaches the diagrams: select the second time range.
  await page.locator('.column').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'one stretch of time' }).waitFor();
  await until('fewer rows', async () => !(await page.getByText(/of 3,000$/).innerText()).startsWith('3,000'));
  await page.getByRole('button', { name: 'one stretch of time' }).press('Enter');
  await page.locator('.never').getByRole('button', { name: 'impossible' }).waitFor();
  await page.getByRole('searchbox', { name: 'Search in the messages' }).fill('more of');
  await until('the rows that hold it', async () =>
    /^273 of/.test(await page.getByText(/of 3,000$/).innerText()),
  );
  const route = page.getByRole('grid').getByRole('columnheader', { name: 'Route' });
  for (const [order, first] of [
    ['ascending', 'more.deep'],
    ['descending', 'first'],
  ]) {
    await route.getByRole('button').click();
    await until(order ?? '', async () => (await route.getAttribute('aria-sort')) === order);
    await until(`${first ?? ''} first`, async () =>
      (await page.locator('.grid-row').first().innerText()).includes(first ?? '-'),
    );
  }
  await page.getByRole('combobox', { name: 'Went to' }).selectOption({ label: 'more.deep' });
  await until('only those', async () =>
    (await page.locator('.grid-row').nth(2).innerText()).includes('more.deep'),
  );
  // Open the second row with the keyboard.
  await page.getByRole('grid').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('.headline-target', { hasText: 'deep_handler' }).waitFor();
  await page.getByText('of the replay').waitFor();
  // The map shows how many messages chose each statement.
  await show(page, 'Map');
  await page.locator('.map-row', { hasText: 'first' }).first().click();
  await page.locator('.map-detail dt', { hasText: 'Chosen' }).waitFor();
  expect(await page.locator('.map-detail .facts').innerText()).toMatch(/Chosen\s+\d+ \(\d/);
  await page.locator('.map-row', { hasText: 'to_more' }).first().click();
  await page.locator('.map-detail dt', { hasText: 'Chosen in more' }).waitFor();
  await end();
});

test('another version of the rules is compared: what flips, from where to where', async () => {
  const other = manyRoutes(40)
    .replace('-> h0', '-> elsewhere')
    .replace('route r8 when', 'route r8 priority 5000 when not');
  const { page, served, end } = await look(['many.rules', '--input', 'many.jsonl'], {
    'many.rules': manyRoutes(40),
    'many.jsonl': manyMessages(2000),
    'other.rules': other,
  });
  await show(page, 'Replay');
  await page.locator('.replay-choices input[type=file]').setInputFiles(join(served.folder, 'other.rules'));
  await until(
    'it is chosen',
    async () => (await page.getByRole('combobox', { name: 'Compare with' }).inputValue()) !== '',
  );
  await page.locator('.replay-setup button.primary').click();
  await replayed(page);
  await page.locator('.sankey .sankey-node').first().waitFor();
  const flip = page.locator('.flips-table tr:has(td:first-child:text-is("r8"))').first();
  const cells = await flip.locator('td').allInnerTexts();
  expect(cells[0]).toBe('r8');
  const count = Number(cells[2]?.replaceAll(',', ''));
  expect(count).toBeGreaterThan(0);
  await flip.getByRole('button').click();
  await until('just these', async () =>
    (await page.getByText(/of 2,000$/).innerText()).startsWith(cells[2] ?? '-'),
  );
  await page.locator('.grid-row').first().waitFor();
  expect(await page.locator('.grid-row .flipped').count()).toBeGreaterThan(0);
  expect(await serious(page)).toEqual([]);
  await end();
});

test('a long replay shows its progress, is cancelled, and a decision log keeps what it decided', async () => {
  const { page, served, end } = await look(['many.rules', '--input', 'many.jsonl'], {
    'many.rules': manyRoutes(500),
    'many.jsonl': manyMessages(800_000),
  });
  await show(page, 'Replay');
  // The replay may end within a second, so the test waits for its progress before it starts the replay. Cancelling removes
  // the progress bar, so it comes after.
  const progress = page.getByRole('progressbar').first().waitFor();
  const cancelled = progress.then(() => page.getByRole('button', { name: 'Cancel' }).click());
  await Promise.all([cancelled, page.locator('.replay-setup button.primary').click()]);
  await page.locator('.going', { hasText: 'Cancelled' }).waitFor();
  const log = [1, 2, 3].map((second) =>
    JSON.stringify({
      time: `2026-01-31T09:00:0${second}Z`,
      entry: 'routes',
      path: [],
      generation: 1,
      route: 'first',
      message: { text: 'x', ctx: { n: 1, team: 't9' } },
    }),
  );
  writeFileSync(join(served.folder, 'log.jsonl'), `${log.join('\n')}\n`);
  await page.locator('.drop input[type=file]').setInputFiles(join(served.folder, 'log.jsonl'));
  await page.locator('.going', { hasText: 'Done' }).waitFor();
  await page.getByText('3 decisions of the log would differ').waitFor();
  await page.getByRole('heading', { name: 'Over time' }).waitFor();
  await end();
  // The same log, named on the command line, is preselected.
  const named = await look(['many.rules', '--log', 'log.jsonl'], {
    'many.rules': manyRoutes(20),
    'log.jsonl': log.join('\n'),
  });
  await show(named.page, 'Replay');
  await named.page.locator('.replay-setup button.primary').click();
  await named.page.getByText('3 decisions of the log would differ').waitFor();
  await named.end();
});

test('500 routes stay readable: search, fold, zoom, findings, and a decision table that is virtual', async () => {
  const { page, end } = await look(['many.rules'], { 'many.rules': manyRoutes(500) });
  await show(page, 'Map');
  await page.locator('.map-card').first().waitFor();
  expect(await page.locator('.map-row').count()).toBeLessThan(60);
  await page.getByRole('searchbox').fill('t42 h');
  await until('what is looked for', async () =>
    (await page.locator('.map-row').first().innerText()).startsWith('r'),
  );
  await page.getByRole('searchbox').fill('');
  await page.getByRole('combobox', { name: 'Show' }).selectOption('findings');
  await page.locator('.map-row', { hasText: 'impossible' }).waitFor();
  await page.locator('.map-row', { hasText: 'shadowed' }).click();
  await page.locator('.map-detail .note').first().waitFor();
  await page.locator('.map-detail').getByText('Found by').waitFor();
  expect(await serious(page)).toEqual([]);
  await page.getByRole('combobox', { name: 'Show' }).selectOption('all');
  await page.getByRole('button', { name: 'Fold all' }).click();
  expect(await page.locator('.map-row').count()).toBe(0);
  await page.getByRole('button', { name: 'Unfold' }).click();
  const before = await page.locator('.zoom-figure').innerText();
  await page.getByRole('button', { name: 'Nearer' }).click();
  expect(await page.locator('.zoom-figure').innerText()).not.toBe(before);
  await page.getByRole('button', { name: 'Decision table' }).click();
  const grid = page.getByRole('grid');
  await grid.waitFor();
  expect(Number(await grid.getAttribute('aria-rowcount'))).toBeGreaterThan(490);
  expect(await page.locator('.grid-row').count()).toBeLessThan(60);
  await grid.focus();
  await page.keyboard.press('End');
  await until('the last row', async () =>
    (await page.locator('.grid-row').last().innerText()).includes('default'),
  );
  await page.keyboard.press('Home');
  await until('the first row', async () =>
    (await page.locator('.grid-row').first().innerText()).includes('first'),
  );
  await end();
});

test('a row of the decision table that holds together with another says with which, by a message', async () => {
  const rules = [
    'route a priority 2 when ctx.n > 3 -> one',
    'route b priority 1 when ctx.n < 9 -> two',
    'route c when ctx.n == 100 -> one',
    'route d when ctx.n in [1, 2] -> never',
  ].join('\n');
  const { page, end } = await look(['few.rules'], { 'few.rules': rules });
  await show(page, 'Map');
  await page.getByRole('button', { name: 'Decision table' }).click();
  await page.locator('.grid-row .table-sign.overlap').first().waitFor();
  expect(await page.getByRole('columnheader', { name: 'ctx.n' }).count()).toBe(1);
  // A gap is a row of its own, with an example message.
  await page.locator('.grid-row', { hasText: 'gap' }).waitFor();
  await page.getByRole('heading', { name: 'Messages that no row takes' }).waitFor();
  await page.locator('.grid-row', { hasText: 'a' }).first().click();
  await page.getByRole('button', { name: 'Decide on it' }).first().click();
  await page.locator('.headline-target', { hasText: 'one' }).waitFor();
  await end();
});

const PRIVATE = {
  'private.rules': `input { text: string, user: { name: string, phone?: string @private } }
route known when user.phone == "0171 555" -> caller
default -> nobody
`,
  'private.jsonl': `${JSON.stringify({ text: 'call me', user: { name: 'Ada', phone: '0171 555' } })}\n`,
};

test('private values are masked; a message is decided with the values of the file, and a mask that is left in an edited one is reported', async () => {
  const { page, end } = await look(['private.rules', '--input', 'private.jsonl'], PRIVATE);
  await show(page, 'Replay');
  await page.locator('.replay-setup button.primary').click();
  await replayed(page);
  const row = page.locator('.grid-row').first();
  await row.waitFor();
  expect(await row.innerText()).toContain('•••');
  await row.click();
  await page.locator('.headline-target', { hasText: 'caller' }).waitFor();
  expect(await page.locator('[name="user.phone"]').inputValue()).toBe('•••');
  expect(await page.getByText('•••').first().isVisible()).toBe(true);
  const warning = page.getByText('••• is decided on literally');
  expect(await warning.count()).toBe(0);
  expect(await page.locator('main').innerText()).not.toContain('0171 555 ');
  await page.locator('textarea[name=text]').fill('call me back');
  await warning.waitFor();
  await page.locator('.headline-target', { hasText: 'nobody' }).waitFor();
  await page.locator('[name="user.phone"]').fill('0171 555');
  await page.locator('.headline-target', { hasText: 'caller' }).waitFor();
  expect(await warning.count()).toBe(0);
  await end();
});

test('with --show-private the values are shown, and the page says so', async () => {
  const { page, end } = await look(['private.rules', '--input', 'private.jsonl', '--show-private'], PRIVATE);
  await page.getByText('private values are shown').waitFor();
  await show(page, 'Replay');
  await page.locator('.replay-setup button.primary').click();
  await replayed(page);
  await page.locator('.grid-row', { hasText: '0171 555' }).click();
  await page.locator('.headline-target', { hasText: 'caller' }).waitFor();
  expect(await page.locator('[name="user.phone"]').inputValue()).toBe('0171 555');
  await end();
});

test('rulec report writes a file that opens without a server, and in which private values are masked', async () => {
  const { page, served, end } = await look(['private.rules'], PRIVATE);
  const log = ['caller', 'default'].map((route, second) =>
    JSON.stringify({
      time: `2026-01-31T09:00:0${second}Z`,
      entry: 'routes',
      path: [],
      generation: 1,
      route: route === 'caller' ? 'known' : route,
      elapsed_us: 120 + second,
      message: { text: 'hi', user: { name: 'Ada', phone: route === 'caller' ? '0171 555' : '0999 1' } },
    }),
  );
  writeFileSync(join(served.folder, 'log.jsonl'), `${log.join('\n')}\n`);
  run(served.folder, ['report', 'private.rules', '--log', 'log.jsonl', '-o', 'report.html']);
  const path = join(served.folder, 'report.html');
  const written = readFileSync(path, 'utf8');
  expect(written).toContain('•••');
  expect(written).not.toContain('0999');
  await page.goto(`file://${path}`);
  await page.locator('.report').waitFor();
  await page.locator('.map-row', { hasText: 'known' }).waitFor();
  await page.locator('.sample summary').first().click();
  await page.locator('.sample .rail').first().waitFor();
  await end();
});

test('a long message takes no more than its column, so the line number stays in sight', async () => {
  const long = { text: 'all of my money is gone '.repeat(40), ctx: { message_count: 1 } };
  const served = ['helpdesk.rules', '--input', 'long.jsonl'];
  const lines = [long, { text: 'short', ctx: { message_count: 2 } }];
  const { page, end } = await look(served, {
    'long.jsonl': lines.map((line) => JSON.stringify(line)).join('\n'),
  });
  await show(page, 'Replay');
  await page.locator('.replay-setup button.primary').click();
  await replayed(page);
  await page.locator('.grid-row').nth(1).waitFor();
  const widths = (selector: string): Promise<number[]> =>
    page.locator(selector).evaluateAll((rows) => rows.map((row) => row.clientWidth));
  const [box] = await widths('.grid');
  for (const row of ['.grid-head', '.grid-row']) {
    expect(new Set(await widths(row)), row).toEqual(new Set([box]));
  }
  // On a phone the table scrolls, and the rows are as wide as their head.
  await page.setViewportSize({ width: 360, height: 740 });
  await until('narrow', async () => ((await widths('.grid'))[0] ?? 0) < 360);
  expect(new Set(await widths('.grid-row'))).toEqual(new Set(await widths('.grid-head')));
  await end();
});

test('the whole map is in sight after "Fit", a jump has its count, and a second visit asks for nothing', async () => {
  const { page, end } = await look(['helpdesk.rules', '--input', 'helpdesk_messages.jsonl']);
  await page.setViewportSize({ width: 1600, height: 900 });
  await show(page, 'Replay');
  await page.locator('.replay-setup button.primary').click();
  await replayed(page);
  await show(page, 'Map');
  await page.locator('.map-target').first().waitFor();
  await page.getByRole('button', { name: 'Fit' }).click();
  const bottoms = (): Promise<number> =>
    page
      .locator('.map-card, .map-target')
      .evaluateAll((boxes) => Math.max(...boxes.map((box) => box.getBoundingClientRect().bottom)));
  await until('all boxes', async () => (await bottoms()) < 900);
  expect(
    await page.locator('.map-row', { hasText: 'to_billing' }).locator('.map-row-count').innerText(),
  ).toBe('2');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await show(page, 'Decide');
  await page.locator('.headline').waitFor();
  await show(page, 'Map');
  await page.locator('.map-target').first().waitFor();
  expect(asked.filter((path) => path === '/api/map')).toEqual([]);
  // On a phone, handlers are next to the table.
  await page.setViewportSize({ width: 360, height: 740 });
  await until('a handler', async () => {
    const boxes = await page
      .locator('.map-target')
      .evaluateAll((all) => all.map((box) => box.getBoundingClientRect().right));
    return boxes.some((right) => right <= 360);
  });
  await end();
});
