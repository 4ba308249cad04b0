// Manual performance measurements of the studio: first paint; input delay and duration of a replay
// of 100,000 messages by 500 routes; and the upload of a million lines. Run with `npm run measure`.
// The variable RULEC names the program; use a release build.
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { manyMessages, manyRoutes } from './rules';
import { launch, open, show, studio } from './studio';

const ROUTES = 500;
const files = { 'many.rules': manyRoutes(ROUTES), 'many.jsonl': manyMessages(100_000) };
const browser = await launch();
const served = await studio(['many.rules', '--input', 'many.jsonl'], files);
const { page, troubles } = await open(browser, served.address);

/**
 * Records frame times, and the delay from each key press to the next paint, from the browser's
 * event timing.
 */
async function watch(of: Page): Promise<void> {
  await of.evaluate(`
    window.seen = { frames: [], keys: [], last: performance.now() };
    requestAnimationFrame(function next() {
      const now = performance.now();
      seen.frames.push(now - seen.last);
      seen.last = now;
      requestAnimationFrame(next);
    });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.name === 'keydown') seen.keys.push(entry.duration);
    }).observe({ type: 'event', durationThreshold: 16 });
  `);
}

interface Seen {
  frames: number[];
  keys: number[];
}

/**
 * Types a letter into the search every 100 ms until the replay ends; returns the number of letters.
 */
async function typeMeanwhile(of: Page): Promise<number> {
  const search = of.getByRole('searchbox', { name: 'Search in the messages' });
  await search.waitFor();
  await search.focus();
  let typed = 0;
  while (!(await of.locator('.going', { hasText: 'Done' }).isVisible())) {
    await of.keyboard.press(typed % 6 === 5 ? 'Backspace' : String(typed % 10));
    typed += 1;
    await of.waitForTimeout(100);
  }
  return typed;
}

async function tell(of: Page, typed: number, begun: number): Promise<void> {
  const took = (Date.now() - begun) / 1000;
  const { frames, keys } = await of.evaluate<Seen>('({ frames: seen.frames, keys: seen.keys })');
  const longest = (list: number[]): string => Math.max(0, ...list).toFixed(0);
  console.log(`  as the page sees it, from the click to the last figure: ${took.toFixed(2)} s`);
  console.log(`  longest time between two frames: ${longest(frames)} ms of ${frames.length} frames`);
  // The browser reports only delays of 16 ms or more; without a report, there were none.
  console.log(`  longest wait for a typed letter to be drawn: ${longest(keys)} ms of ${typed} letters`);
}

await page.locator('.search').first().waitFor();
const paint = await page.evaluate(
  () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
);
console.log(`first contentful paint: ${paint.toFixed(0)} ms`);

await show(page, 'Replay');
await page.locator('.replay-setup').waitFor();
await watch(page);
console.log(`100,000 messages by ${ROUTES} routes`);
let begun = Date.now();
await page.locator('.replay-setup button.primary').click();
await tell(page, await typeMeanwhile(page), begun);

begun = Date.now();
await show(page, 'Map');
await page.locator('.map-card').first().waitFor();
console.log(`map of ${ROUTES} routes: ${Date.now() - begun} ms`);

const large = await studio(['large.rules'], { 'large.rules': manyRoutes(10_000) });
const table = await open(browser, large.address);
begun = Date.now();
await show(table.page, 'Map');
await table.page.locator('.map-card').first().waitFor();
console.log(`map of 10,000 routes, first visit: ${Date.now() - begun} ms`);
begun = Date.now();
await table.page.getByRole('button', { name: 'Decision table' }).click();
await table.page.locator('.grid-row').first().waitFor();
console.log(`decision table of 10,000 routes, after the map: ${Date.now() - begun} ms`);
await show(table.page, 'Decide');
begun = Date.now();
await show(table.page, 'Map');
await table.page.locator('.map-card').first().waitFor();
console.log(`map of 10,000 routes, second visit: ${Date.now() - begun} ms`);
await table.context.close();
large.end();

/** Types twenty letters into the focused element. */
async function typeHere(of: Page, where: string): Promise<void> {
  await watch(of);
  for (let letter = 0; letter < 20; letter += 1) {
    await of.keyboard.press('e');
    await of.waitForTimeout(100);
  }
  await of.waitForTimeout(500);
  const { frames, keys } = await of.evaluate<Seen>('({ frames: seen.frames, keys: seen.keys })');
  const [wait, frame] = [Math.max(0, ...keys), Math.max(0, ...frames)].map((time) => time.toFixed(0));
  console.log(`${where}: longest wait for a typed letter ${wait} ms, between two frames ${frame} ms`);
}

await show(page, 'Decide');
await page.locator('textarea[name=text]').focus();
await typeHere(page, `a message decided by ${ROUTES} routes at each letter`);
await show(page, 'Edit');
await page.locator('.tok-keyword').first().waitFor();
await page.locator('.cm-content').click();
await page.keyboard.press('Control+End');
await page.keyboard.type('# ');
await typeHere(page, `the text of ${ROUTES} routes, checked at each letter`);
await page.getByRole('button', { name: 'Undo all' }).click();
await page.getByText('as on disk').waitFor();

const million = join(served.folder, 'million.jsonl');
await new Promise<void>((written) => {
  const file = createWriteStream(million);
  for (let part = 0; part < 10; part += 1) file.write(files['many.jsonl']);
  file.end(written);
});
await show(page, 'Replay');
await watch(page);
console.log(`a million messages, dropped on the page`);
begun = Date.now();
await page.locator('.drop input[type=file]').setInputFiles(million);
await page.locator('.going progress').waitFor();
await tell(page, await typeMeanwhile(page), begun);
const most = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${served.process}/status`, 'utf8'))?.[1];
console.log(`  most memory of the program: ${(Number(most) / 1024).toFixed(0)} MB`);
console.log(troubles.length === 0 ? 'no errors in the page' : troubles);
await browser.close();
served.end();
