// What axe finds of a page, serious or worse.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Found {
  violations: { id: string; impact: string | null; nodes: { target: unknown[] }[] }[];
}

/** The findings that are serious or critical, each with the places it is about. */
export async function serious(page: Page): Promise<string[]> {
  // By the debugger's own way in, since the page's security policy lets no other script run.
  await page.evaluate(SOURCE);
  const found = await page.evaluate<Found>('axe.run(document, { resultTypes: ["violations"] })');
  return found.violations
    .filter((each) => each.impact === 'serious' || each.impact === 'critical')
    .map((each) => `${each.id}: ${each.nodes.map((node) => JSON.stringify(node.target)).join(' ')}`);
}
