// Tests of the map of many routes: it is shown before the analysis ends, and with few elements.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serious } from './axe';
import { manyRoutes } from './rules';
import { launch, open, show, studio } from './studio';

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

test('the map of 10,000 routes does not wait for the analysis, and draws few of them', async () => {
  const served = await studio(['large.rules'], { 'large.rules': manyRoutes(10_000) });
  const { page, context, troubles } = await open(browser, served.address);
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/api\/map\?.*analysed=true/, async (route) => {
    await held;
    await route.continue();
  });
  await show(page, 'Map');
  const shadowed = page.locator('.map-row', { hasText: 'shadowed' });
  await shadowed.waitFor();
  expect(await shadowed.locator('.route-mark').count()).toBe(0);
  expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(400);
  // Until the analysis ends, the page does not say that there are no findings.
  await page.getByRole('combobox', { name: 'Show' }).selectOption('findings');
  await page.getByText('still being analysed').waitFor();
  release();
  await shadowed.locator('.route-mark').waitFor();
  await context.close();
  served.end();
  expect(troubles).toEqual([]);
});

test('of a thousand tables the map draws some, more on request, and any by a search', async () => {
  const numbers = Array.from({ length: 1000 }, (_, index) => index);
  const jumps = numbers.map((index) => `route j${index} when n == ${index} -> goto t${index}`);
  const tables = numbers.map((index) => `table t${index} { route in${index} when vip -> h${index} }`);
  const rules = ['input { n: int, vip: bool }', ...jumps, ...tables, 'default -> nobody', ''].join('\n');
  const served = await studio(['tables.rules'], { 'tables.rules': rules });
  const { page, context, troubles } = await open(browser, served.address);
  await show(page, 'Map');
  await page.locator('.map-card').nth(39).waitFor();
  expect(await page.locator('.map-card').count()).toBe(40);
  expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(1500);
  await page.getByText('961 more tables').waitFor();
  await page.getByRole('button', { name: '40 more', exact: true }).click();
  await page.locator('.map-card').nth(79).waitFor();
  await page.getByRole('searchbox').fill('in977');
  await page.locator('.map-row', { hasText: 'in977' }).waitFor();
  expect(await page.locator('.map-card').count()).toBe(1);
  await context.close();
  served.end();
  expect(troubles).toEqual([]);
});

test('the map and the table mark the way of the message at hand, however far its row is', async () => {
  const served = await studio(['many.rules'], { 'many.rules': manyRoutes(200) });
  const { page, context, troubles } = await open(browser, served.address);
  await page.getByRole('button', { name: 'JSON' }).click();
  const message = { text: 'x', ctx: { team: `t${150 % 90}`, n: 150 } };
  await page.locator('textarea').first().fill(JSON.stringify(message));
  await page.locator('.headline-target', { hasText: `h${150 % 20}` }).waitFor();
  await show(page, 'Map');
  const row = page.locator('.map-row.is-taken');
  await row.waitFor();
  expect(await row.innerText()).toContain('r150');
  expect(await page.locator('.jumps path.is-taken').count()).toBe(1);
  expect(await serious(page)).toEqual([]);
  await page.getByRole('button', { name: 'Decision table' }).click();
  await page.getByRole('searchbox').fill('r150');
  await page.locator('.grid-row .is-taken', { hasText: 'r150' }).waitFor();
  expect(await page.locator('.grid-row .taken-sign').count()).toBe(1);
  expect(await serious(page)).toEqual([]);
  // A message that jumps is on its way at the jump and in the table that it leads to.
  await show(page, 'Decide');
  await page
    .locator('textarea')
    .first()
    .fill(JSON.stringify({ ...message, text: 'more of it' }));
  await page.locator('.headline-target', { hasText: 'shallow' }).waitFor();
  await show(page, 'Map');
  await page.locator('.map-row.is-taken', { hasText: 'to_more' }).waitFor();
  expect(await page.locator('.map-row.is-taken').count()).toBe(2);
  await context.close();
  served.end();
  expect(troubles).toEqual([]);
});
