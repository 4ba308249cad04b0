// Takes the screenshots of docs/studio.md: `npm run pictures`. Check them before committing.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch, open, show, studio } from './studio';
import { manyMessages, manyRoutes } from './rules';

const FOLDER = resolve(import.meta.dirname, '../../docs/images');
const SIZE = { width: 1180, height: 660 };

mkdirSync(FOLDER, { recursive: true });
const browser = await launch();

const desk = await studio(['helpdesk.rules', '--input', 'helpdesk_messages.jsonl']);
const light = await open(browser, desk.address, { viewport: SIZE, colorScheme: 'light' });
await light.page.locator('textarea[name=text]').fill('I want my money back');
await light.page.locator('.headline-target', { hasText: 'refund_handler' }).waitFor();
await light.page.screenshot({ path: join(FOLDER, 'studio-decide.png') });
const dark = await open(browser, desk.address, { viewport: SIZE, colorScheme: 'dark' });
await show(dark.page, 'Edit');
await dark.page.locator('.outline button', { hasText: 'error_recovery' }).last().click();
await dark.page.locator('.cm-focused').waitFor();
await dark.page.keyboard.press('ArrowDown');
// Twice, because the line may be wrapped.
await dark.page.keyboard.press('End');
await dark.page.keyboard.press('End');
await dark.page.keyboard.type(' and ctx.mesage_count > 2');
await dark.page.locator('.problems li').first().waitFor();
await dark.page.screenshot({ path: join(FOLDER, 'studio-edit.png') });
desk.end();

const other = manyRoutes(16).replace('-> h0', '-> elsewhere').replace('"more"', '"message 1"');
const many = await studio(['many.rules', 'before.rules', '--input', 'many.jsonl'], {
  'many.rules': manyRoutes(16),
  'before.rules': other,
  'many.jsonl': manyMessages(20_000),
});
const flips = await open(browser, many.address, { viewport: SIZE, colorScheme: 'light' });
await show(flips.page, 'Replay');
await flips.page.getByRole('combobox', { name: 'Compare with' }).selectOption({ label: 'before.rules' });
await flips.page.locator('.replay-setup button.primary').click();
await flips.page.locator('.going', { hasText: 'Done' }).waitFor();
await flips.page.locator('.sankey .sankey-node').first().scrollIntoViewIfNeeded();
await flips.page.screenshot({ path: join(FOLDER, 'studio-replay.png') });
await show(flips.page, 'Map');
await flips.page.locator('.map-row', { hasText: 'shadowed' }).click();
await flips.page.getByRole('button', { name: 'Fit' }).click();
await flips.page.screenshot({ path: join(FOLDER, 'studio-map.png') });
many.end();
await browser.close();
