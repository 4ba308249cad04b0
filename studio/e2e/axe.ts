// Accessibility findings of axe that are serious or critical.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Found {
  violations: { id: string; impact: string | null; nodes: { target: unknown[] }[] }[];
}

/** Returns the serious and critical findings of a page, each with the affected elements. */
export async function serious(page: Page): Promise<string[]> {
  // `evaluate` bypasses the content security policy, which blocks other scripts.
  await page.evaluate(SOURCE);
  const found = await page.evaluate<Found>('axe.run(document, { resultTypes: ["violations"] })');
  return found.violations
    .filter((each) => each.impact === 'serious' || each.impact === 'critical')
    .map((each) => `${each.id}: ${each.nodes.map((node) => JSON.stringify(node.target)).join(' ')}`);
}
