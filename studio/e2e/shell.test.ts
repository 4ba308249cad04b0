// Properties of all views: keyboard, languages, themes, widths, accessibility, and access control
// of the server.
import { request } from 'node:http';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serious } from './axe';
import { launch, open, show, studio, type Studio, until } from './studio';

let browser: Browser;
let served: Studio;

beforeAll(async () => {
  browser = await launch();
  served = await studio(['helpdesk.rules', '--input', 'helpdesk_messages.jsonl']);
});

afterAll(async () => {
  await browser.close();
  served.end();
});

const VIEWS = ['Decide', 'Replay', 'Map', 'Edit', 'Report'];
const VIEWS_ZH = ['决策', '回放', '地图', '编辑', '报告'];

/** An element of each view that is visible once the view is ready. */
const STANDS = ['.search', '.replay-setup', '.map-card', '.editor-host .cm-content', '.report .figures-row'];

test('the views are reached by single keys, and the address follows', async () => {
  const { page, context, troubles } = await open(browser, served.address);
  await page.locator('.search').first().waitFor();
  for (const [index, view] of VIEWS.entries()) {
    await page.keyboard.press(String(index + 1));
    await page
      .locator(STANDS[index] ?? '')
      .first()
      .waitFor();
    expect(await page.getByRole('navigation').locator('[aria-current=page]').textContent()).toBe(view);
    expect(page.url()).toContain(`view=${view.toLowerCase()}`);
  }
  await page.goBack();
  await page.locator('.editor-host .cm-content').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  expect(await serious(page)).toEqual([]);
  await page.keyboard.press('Escape');
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(troubles).toEqual([]);
  await context.close();
});

test('where there is a desktop, its browser is opened at the address', async () => {
  const desktop = mkdtempSync(join(tmpdir(), 'rulec-desktop-'));
  const opened = join(desktop, 'opened');
  const opener = join(desktop, 'xdg-open');
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`);
  chmodSync(opener, 0o755);
  const path = `${desktop}:${process.env.PATH}`;
  const opens = await studio(['helpdesk.rules'], {}, { PATH: path, DISPLAY: ':9' });
  await until('the browser is opened', () => Promise.resolve(existsSync(opened)));
  expect(readFileSync(opened, 'utf8')).toBe(opens.address);
  opens.end();
  rmSync(desktop, { recursive: true });
});

const LANGUAGES = [
  { locale: 'en-GB', views: VIEWS },
  { locale: 'zh-CN', views: VIEWS_ZH },
];
const THEMES = ['light', 'dark'] as const;
const WIDTHS = [
  { width: 1360, height: 860 },
  { width: 390, height: 800 },
];
/** Further widths, at which only the layout is tested. */
const MORE_WIDTHS = [360, 480, 768, 900, 999, 1000, 1180, 1600];

/** Every pair of language and theme, theme and width, and language and width occurs once. */
const looks = LANGUAGES.flatMap((language, first) =>
  THEMES.flatMap((colorScheme, second) =>
    WIDTHS.filter((_, third) => (first + second + third) % 2 === 0).map((viewport) => ({
      ...language,
      colorScheme,
      viewport,
    })),
  ),
);

test.each(looks)(
  'axe finds nothing serious, and nothing is wider than the page: $locale, $colorScheme, $viewport.width px',
  async ({ views, ...look }) => {
    const { page, context, troubles } = await open(browser, served.address, look);
    for (const [index, view] of views.entries()) {
      await show(page, view);
      await page
        .locator(STANDS[index] ?? '')
        .first()
        .waitFor();
      if (index === 1) {
        await page.locator('.replay-setup button.primary').click();
        await page.locator('.grid-row').first().waitFor();
      }
      expect(await serious(page), view).toEqual([]);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, `${view} is wider than the page`).toBeLessThanOrEqual(look.viewport.width);
    }
    await show(page, views[2] ?? '');
    await page.locator('.map-tools .segments button').last().click();
    await page.locator('.grid-row').first().waitFor();
    expect(await serious(page), 'decision table').toEqual([]);
    expect(troubles).toEqual([]);
    await context.close();
  },
);

test('at every width the views are reached, and on a phone the outcome is pinned', async () => {
  const { page, context } = await open(browser, served.address);
  for (const width of MORE_WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const [index, view] of VIEWS.entries()) {
      await show(page, view);
      await page
        .locator(STANDS[index] ?? '')
        .first()
        .waitFor();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, `${view} at ${width} px`).toBeLessThanOrEqual(width);
    }
    // Each tab is on the page, or there is the menu.
    const tabs = await page.getByRole('navigation').getByRole('link').all();
    expect(await page.locator('.tabs-menu').isVisible()).toBe(width < 1000);
    for (const tab of width < 1000 ? [] : tabs) {
      const box = await tab.boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? Infinity)).toBeLessThanOrEqual(width);
    }
    await show(page, 'Decide');
    const pin = page.locator('.pin');
    await page.locator('.headline').waitFor();
    expect(await pin.isVisible()).toBe(width <= 720);
    if (width <= 720) {
      const box = await pin.boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeCloseTo(800, 0);
    }
  }
  await context.close();
});

test('a short message covers nothing, and goes with its view', async () => {
  const { page, context } = await open(browser, served.address);
  await page.locator('.search').first().waitFor();
  await page.getByRole('button', { name: 'Make it a test' }).click();
  const toast = page.locator('.toast');
  await toast.waitFor();
  const [low, top] = await Promise.all([
    toast.boundingBox().then((box) => (box?.y ?? 0) + (box?.height ?? 0)),
    page
      .locator('main')
      .boundingBox()
      .then((box) => box?.y ?? 0),
  ]);
  expect(low).toBeLessThanOrEqual(top);
  await show(page, 'Map');
  expect(await toast.count()).toBe(0);
  await show(page, 'Edit');
  await page.getByRole('button', { name: 'Undo all' }).click();
  await context.close();
});

test('language and theme are chosen in the bar and kept', async () => {
  const { page, context } = await open(browser, served.address);
  await page.locator('.search').first().waitFor();
  await page.getByRole('button', { name: '中文' }).click();
  await page.getByRole('link', { name: '决策' }).waitFor();
  expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
  await page.getByLabel('主题').selectOption('dark');
  await page.reload();
  await page.getByRole('link', { name: '决策' }).waitFor();
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
  await context.close();
});

test('the page begins in the language that the command line asks for; a report is in the language of the page', async () => {
  const chinese = await studio(['helpdesk.rules', '--lang', 'zh']);
  const { page, context } = await open(browser, chinese.address, { acceptDownloads: true });
  await page.getByRole('link', { name: '报告' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /report\.html/ }).click(),
  ]);
  const path = join(chinese.folder, 'report.html');
  await download.saveAs(path);
  const alone = await open(browser, `file://${path}`);
  await alone.page.getByRole('heading', { name: '覆盖' }).first().waitFor();
  await alone.context.close();
  await page.getByRole('button', { name: 'EN', exact: true }).click();
  await page.reload();
  await page.getByRole('link', { name: 'Report' }).waitFor();
  await context.close();
  chinese.end();
});

/** Returns the status of a request made without a browser. */
function status(path: string, headers: Record<string, string>): Promise<number> {
  const url = new URL(served.address);
  return new Promise((found, failed) => {
    const asked = request({ host: url.hostname, port: url.port, path, headers }, (answer) => {
      answer.resume();
      found(answer.statusCode ?? 0);
    });
    asked.on('error', failed);
    asked.end();
  });
}

test('a wrong token, Host or Origin is refused', async () => {
  const url = new URL(served.address);
  const token = url.hash.replace('#token=', '');
  const right = { 'x-rulec-token': token, host: url.host };
  expect(await status('/api/session', right)).toBe(200);
  expect(await status('/api/session', { host: url.host })).toBe(401);
  expect(await status('/api/session', { ...right, 'x-rulec-token': 'f'.repeat(token.length) })).toBe(401);
  expect(await status('/api/session', { ...right, host: 'example.com' })).toBe(403);
  expect(await status('/', { host: 'example.com' })).toBe(403);
  expect(await status('/api/session', { ...right, origin: 'http://example.com' })).toBe(403);
});

test('messages of the server are in the language of the page', async () => {
  const { page, context } = await open(browser, served.address, { locale: 'zh-CN' });
  const chinese = /\p{Script=Han}/u;
  // An invalid message, rules with an error, and the error's diagnostic in the editor.
  await page.locator('.search').first().waitFor();
  await page.getByRole('button', { name: 'JSON' }).click();
  await page.locator('textarea.json-text').fill('{"text": }');
  await page.locator('.note.bad').getByText('应当是 JSON 值').waitFor();
  await show(page, '编辑');
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+End');
  // The last check that typing causes. The next check is caused by the change of language.
  const last = page.waitForResponse(
    (answer) =>
      answer.url().endsWith('/api/check') && /"findings":true/.test(answer.request().postData() ?? ''),
  );
  await page.keyboard.type('\nroute wrong when ctx.mesage_count > 3 -> default_handler');
  const problem = page.locator('.problems li').first();
  await problem.waitFor();
  expect(await problem.locator('p').first().innerText()).toMatch(chinese);
  expect(await problem.locator('.fix').first().innerText()).toMatch(chinese);
  await last;
  // The same diagnostic after another language is chosen.
  await page.getByRole('button', { name: 'EN', exact: true }).click();
  await until('the problem in English', async () => !chinese.test(await problem.innerText()));
  await page.getByRole('button', { name: 'Undo all' }).click();
  await page.locator('.chip.good', { hasText: 'none' }).waitFor();
  await context.close();
});

test('a page with a wrong token says so, and shows nothing', async () => {
  const { page, context } = await open(browser, served.address.replace(/token=\w+/, 'token=0'));
  await until('the refusal', async () => (await page.getByRole('alert').count()) > 0);
  expect(await page.locator('.search').count()).toBe(0);
  await context.close();
});
