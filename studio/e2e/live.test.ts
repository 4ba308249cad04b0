// The view Live, in the studio of a service: the login, and the decisions of the service.
import { createHash } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serious } from './axe';
import { launch, PROGRAM } from './studio';

const TOKEN = 'only-for-tests';
const RULES = `route refund when text contains "refund" and n > 5 -> billing
route help when text contains "help" -> chat
`;

let browser: Browser;
let service: ChildProcess;
let folder: string;
let address: string;

beforeAll(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), 'rulec-live-'));
  writeFileSync(join(folder, 'a.rules'), RULES);
  const hash = createHash('sha256').update(TOKEN).digest('hex');
  writeFileSync(join(folder, 'tokens'), `ops decide,admin ${hash}\n`);
  const args = ['serve', 'a.rules', '--tokens', 'tokens', '--studio', '--listen', '127.0.0.1:0'];
  service = spawn(PROGRAM, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  address = await new Promise((resolve, reject) => {
    service.stdout?.once('data', (line: Buffer) => resolve(line.toString().trim()));
    service.once('exit', () => reject(new Error('the service has ended')));
  });
});

afterAll(async () => {
  await browser.close();
  service.kill();
  rmSync(folder, { recursive: true });
});

async function decide(message: unknown): Promise<void> {
  const response = await fetch(`${address}/v1/decide`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ message }),
  });
  expect(response.status).toBe(200);
}

test('after the login, the view shows what the service decides', async () => {
  await decide({ text: 'a refund', n: 1 });
  await decide({ text: 'help' });
  const context = await browser.newContext();
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(error.message));
  await page.goto(`${address}/studio/`);
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button').click();
  await page.getByText('This token is not known.').waitFor();
  await page.getByLabel('Token').fill(TOKEN);
  await page.getByRole('button').click();
  await page.getByRole('navigation').getByText('Live').click();
  await page.getByRole('row', { name: /routes · help/ }).waitFor();
  await page.locator('code', { hasText: 'n > 5' }).first().waitFor();
  expect(page.url()).not.toContain(TOKEN);
  expect(await serious(page)).toEqual([]);
  // On a phone, the numbers are in sight.
  await page.setViewportSize({ width: 360, height: 740 });
  const total = await page.getByRole('columnheader', { name: 'Since the start' }).boundingBox();
  expect((total?.x ?? 360) + (total?.width ?? 0)).toBeLessThanOrEqual(360);
  await page.setViewportSize({ width: 1280, height: 740 });
  await page.getByRole('navigation').getByText('Map').click();
  await page.locator('.map-card').first().waitFor();
  expect(troubles).toEqual([]);
  await context.close();
});
