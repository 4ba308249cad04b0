// Measures the studio by hand, outside the tests: first paint, how long the page keeps a person waiting while 100,000
// messages are replayed by 500 routes, and how long that takes. Run by `npm run measure`; a release build gives the figures.
import { manyMessages, manyRoutes } from './rules';
import { launch, open, studio } from './studio';

const files = { 'many.rules': manyRoutes(500), 'many.jsonl': manyMessages(100_000) };
const browser = await launch();
const served = await studio(['many.rules', '--input', 'many.jsonl'], files);

const { page, troubles } = await open(browser, served.address);
await page.locator('.search').first().waitFor();
const paint = await page.evaluate(
  () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
);
console.log(`first contentful paint: ${paint.toFixed(0)} ms`);

await page.getByRole('link', { name: 'Replay' }).click();
await page.locator('.replay-setup').waitFor();
// Frames tell how long the page was busy; each one that is late by more than 100 ms would have kept a key waiting.
await page.evaluate(`
  window.seen = { gaps: [], last: performance.now() };
  requestAnimationFrame(function next() {
    const now = performance.now();
    seen.gaps.push(now - seen.last);
    seen.last = now;
    requestAnimationFrame(next);
  });
`);
const begun = Date.now();
await page.locator('.replay-setup button.primary').click();
const waits: number[] = [];
let done = false;
while (!done) {
  // What a person would do meanwhile: type into the search, and see the letter stand there.
  const start = performance.now();
  const input = page.getByRole('searchbox', { name: 'Search in the messages' });
  if ((await input.count()) > 0) {
    await input.fill(String(waits.length % 10));
    waits.push(performance.now() - start);
  }
  done = await page.locator('.going', { hasText: 'Done' }).isVisible();
}
console.log(
  `100,000 messages by 500 routes, as the page sees it: ${((Date.now() - begun) / 1000).toFixed(2)} s`,
);
const gaps = await page.evaluate<number[]>('seen.gaps');
console.log(`longest time between two frames: ${Math.max(...gaps).toFixed(0)} ms of ${gaps.length} frames`);
console.log(
  `longest wait for a typed letter, browser driver included: ${Math.max(0, ...waits).toFixed(0)} ms of ${waits.length}`,
);
const started = performance.now();
await page.getByRole('link', { name: 'Map' }).click();
await page.locator('.map-card').first().waitFor();
console.log(`map of 500 routes: ${(performance.now() - started).toFixed(0)} ms`);
console.log(troubles.length === 0 ? 'no errors in the page' : troubles);
await browser.close();
served.end();
