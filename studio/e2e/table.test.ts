// Tests of the decision table: what stays visible, and changes of rows in the text of the rules.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serious } from './axe';
import { launch, open, show, studio, until } from './studio';

const RULES = `input { text: string, n: int, vip: bool }

# Large amounts.
route big priority 2 when n > 100 and text contains "a" -> big_handler(n: n)

route small when n < 5 and vip == true -> small_handler

route late when n > 200 and not (text contains "a") -> late_handler

default -> other
`;

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

interface Look {
  page: Page;
  file: string;
  end: () => Promise<void>;
}

async function look(rules = RULES): Promise<Look> {
  const served = await studio(['t.rules'], { 't.rules': rules });
  const { page, context, troubles } = await open(browser, served.address);
  await show(page, 'Map');
  await page.getByRole('button', { name: 'Decision table' }).click();
  await page.locator('.grid-row').nth(3).waitFor();
  const end = async (): Promise<void> => {
    await context.close();
    served.end();
    expect(troubles).toEqual([]);
  };
  return { page, file: join(served.folder, 't.rules'), end };
}

function cell(page: Page, row: string, column: string): Locator {
  return page.getByRole('textbox', { name: `${row}: ${column}` });
}

/** The text of the rules in the editor. */
async function edited(page: Page): Promise<string> {
  await show(page, 'Edit');
  await page.locator('.cm-line').first().waitFor();
  const lines = await page.locator('.cm-line').allInnerTexts();
  await show(page, 'Map');
  await page.getByRole('button', { name: 'Decision table' }).click();
  await page.locator('.grid-row').first().waitFor();
  return lines.join('\n');
}

test('the targets stay in sight, and no column is empty', async () => {
  const { page, end } = await look();
  await page.setViewportSize({ width: 760, height: 800 });
  const heads = await page.getByRole('columnheader').allInnerTexts();
  expect(heads).toEqual(['Route', 'n', 'text', 'vip', 'Leads to']);
  const grid = page.getByRole('grid');
  await grid.evaluate((element) => element.scrollTo({ left: 60 }));
  const [outer, inner] = await Promise.all([
    grid.boundingBox(),
    page.getByRole('columnheader', { name: 'Leads to' }).boundingBox(),
  ]);
  expect((inner?.x ?? 0) + (inner?.width ?? Infinity)).toBeLessThanOrEqual(
    (outer?.x ?? 0) + (outer?.width ?? 0),
  );
  await end();
});

test('a cell is changed in place and checked by the compiler; undo restores the text', async () => {
  const { page, file, end } = await look();
  await page.locator('.grid-row', { hasText: 'small' }).click();
  await cell(page, 'small', 'n').fill('< 7');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Edited' }).waitFor();
  // The table itself has the new cell, not only the input.
  await page.locator('.grid-row', { hasText: 'big' }).click();
  await page.locator('.grid-row', { hasText: 'small' }).getByText('< 7', { exact: true }).waitFor();
  await page.locator('.grid-row', { hasText: 'small' }).click();
  // A change that does not compile is refused, and the error is shown.
  await cell(page, 'small', 'n').fill('contains "x"');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  expect(await cell(page, 'small', 'n').getAttribute('aria-invalid')).toBe('true');
  expect(await serious(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await cell(page, 'small', 'n').fill('< 7');
  // An empty cell removes its condition, a new one is added, and the target changes.
  await cell(page, 'small', 'vip').fill('');
  await page.keyboard.press('Enter');
  await cell(page, 'small', 'text').fill('contains "b"');
  await page.keyboard.press('Enter');
  await cell(page, 'small', 'Leads to').fill('tiny_handler');
  await page.keyboard.press('Enter');
  await until('all changes', async () =>
    (await edited(page)).includes('route small when n < 7 and text contains "b" -> tiny_handler'),
  );
  // Regression: a click before the response of the previous one undid the same change again.
  await page.route('**/api/check', async (route) => {
    await new Promise((next) => setTimeout(next, 300));
    await route.continue();
  });
  for (let count = 0; count < 4; count += 1) {
    const button = page.getByRole('button', { name: 'Undo', exact: true });
    await button.click();
  }
  await until(
    'the first text',
    async () => (await page.getByRole('button', { name: 'Edited' }).count()) === 0,
  );
  expect(readFileSync(file, 'utf8')).toBe(RULES);
  await end();
});

test('rows are added, moved and disabled', async () => {
  const { page, end } = await look();
  const tool = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  await page.locator('.grid-row', { hasText: 'small' }).click();
  await tool('+ Add a copy below');
  await page.locator('.grid-row', { hasText: 'small_2' }).waitFor();
  await tool('Disable');
  await page
    .locator('.grid-row .is-disabled', { hasText: /small$/ })
    .first()
    .waitFor();
  await tool('Enable');
  await until(
    'it is enabled',
    async () => (await page.locator('.is-disabled', { hasText: /small$/ }).count()) === 0,
  );
  await tool('Up');
  await until('small is first', async () =>
    (await page.locator('.grid-row').first().innerText()).includes('small'),
  );
  const text = await edited(page);
  expect(text).toContain('route small priority 2 when n < 5');
  expect(text.indexOf('route small')).toBeLessThan(text.indexOf('# Large amounts.'));
  expect(text).toContain('route small_2 disabled when');
  await end();
});

test('on a phone, the details of the chosen row are below the table, whose inputs stay in sight', async () => {
  const { page, end } = await look();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.locator('.grid-row', { hasText: 'big' }).click();
  const detail = page.locator('.map-detail');
  await detail.waitFor();
  const input = await cell(page, 'big', 'n').boundingBox();
  expect(input?.y).toBeLessThan(740 - 34);
  expect(input?.y).toBeGreaterThan(0);
  const grid = await page.locator('.grid').boundingBox();
  // The first input is wide enough to read and to type in.
  const first = await page.locator('.grid-row .cell-input').first().boundingBox();
  expect((grid?.x ?? 0) + (grid?.width ?? 0) - (first?.x ?? 0)).toBeGreaterThan(120);
  expect((await detail.boundingBox())?.y).toBeGreaterThan((grid?.y ?? 0) + (grid?.height ?? 0));
  await end();
});

test('text in a cell stays while a late response moves its row', async () => {
  const { page, end } = await look();
  let respond = (): void => undefined;
  const held = new Promise<void>((next) => (respond = next));
  await page.locator('.grid-row', { hasText: 'late' }).click();
  await page.route('**/api/table*', async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Up', exact: true }).click();
  await page.getByRole('button', { name: 'Edited' }).waitFor();
  await page.locator('.grid-row', { hasText: 'small' }).click();
  await cell(page, 'small', 'n').fill('< 9');
  respond();
  await until('late is second', async () =>
    (await page.locator('.grid-row[aria-rowindex="3"]').innerText()).includes('late'),
  );
  expect(await cell(page, 'small', 'n').inputValue()).toBe('< 9');
  expect(await cell(page, 'small', 'n').evaluate((input) => input === document.activeElement)).toBe(true);
  await cell(page, 'small', 'n').press('Enter');
  await until('the change', async () => (await edited(page)).includes('route small when n < 9'));
  await end();
});

// Regression: an editor that was open before sent its earlier text, which undid the change.
test('a change of the table reaches an editor that was open before', async () => {
  const { page, file, end } = await look();
  await edited(page);
  await page.route('**/api/file*', async (route) => {
    await new Promise((next) => setTimeout(next, 500));
    await route.continue();
  });
  await page.locator('.grid-row', { hasText: 'small' }).click();
  await cell(page, 'small', 'n').fill('< 7');
  await cell(page, 'small', 'n').press('Enter');
  await page.getByRole('button', { name: 'Edited' }).waitFor();
  const read = page.waitForResponse((response) => response.url().includes('/api/file'));
  await show(page, 'Edit');
  await read;
  await page.locator('.cm-line', { hasText: 'n < 7' }).waitFor();
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('# the end');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('.chip', { hasText: 'as on disk' }).waitFor();
  expect(readFileSync(file, 'utf8')).toBe(`${RULES.replace('n < 5', 'n < 7')}# the end`);
  await end();
});

test('a row is added by its name, without conditions, also to a table without rows', async () => {
  const { page, end } = await look(`table empty { default -> rest }\n\n${RULES}`);
  const add = async (name: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Name of a new row' }).fill(name);
    await page.getByRole('button', { name: '+ Add a row' }).click();
    await page.locator('.grid-row', { hasText: name }).waitFor();
  };
  await add('first');
  // The new row is chosen, and its cells are inputs.
  // The editor would otherwise be opened with the text before the change.
  const write = async (row: string, column: string, text: string): Promise<void> => {
    const changed = page.waitForResponse((response) => response.url().endsWith('/api/rows'));
    await cell(page, row, column).fill(text);
    await cell(page, row, column).press('Enter');
    await changed;
  };
  await write('first', 'n', '> 7');
  await until('the condition', async () => (await edited(page)).includes('route first disabled when n > 7'));
  await page.getByRole('combobox', { name: 'Table' }).selectOption('empty');
  await page.locator('.grid-row', { hasText: 'rest' }).waitFor();
  await add('own');
  await write('own', 'text', 'contains "a"');
  await until('its condition', async () =>
    (await edited(page)).includes('route own disabled when text contains "a" -> rest'),
  );
  // A name that exists is refused, with the reason.
  await page.getByRole('textbox', { name: 'Name of a new row' }).fill('big');
  await page.getByRole('button', { name: '+ Add a row' }).click();
  await page.getByRole('alert').waitFor();
  await end();
});
