// Runs the real program with rules in a temporary folder, and a browser that opens the page.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const ROOT = resolve(import.meta.dirname, '../..');
const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target');
export const PROGRAM = process.env.RULEC ?? join(TARGET, 'debug/rulec');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** After this time without the awaited change, a test fails. It only ends tests that hang. */
const HANGS_AFTER_MS = 300_000;

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });
}

export interface Studio {
  /** Folder with copies of the examples and the files of the test. */
  folder: string;
  /** URL with the token. */
  address: string;
  /** Process id of the program. */
  process: number;
  end: () => void;
}

const running = new Set<() => void>();

/** Ends the studios that failed tests left open. */
export function endAll(): void {
  running.forEach((end) => end());
}

/**
 * Starts the studio with a new folder that contains the examples and `files`. With `desktop`, the
 * environment variables of a desktop session, the program opens a browser itself.
 */
export async function studio(
  args: string[],
  files: Record<string, string> = {},
  desktop?: NodeJS.ProcessEnv,
): Promise<Studio> {
  const folder = mkdtempSync(join(tmpdir(), 'rulec-studio-'));
  cpSync(join(ROOT, 'examples'), folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const quiet = desktop ? [] : ['--no-open'];
  const env = { ...process.env, ...desktop };
  const child = spawn(PROGRAM, ['studio', ...args, ...quiet], { cwd: folder, env });
  const address = await addressOf(child);
  const end = (): void => {
    running.delete(end);
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  running.add(end);
  return { folder, address, process: child.pid ?? 0, end };
}

/** Runs the program in a folder to completion; returns its output. */
export function run(folder: string, args: string[]): string {
  const ended = spawnSync(PROGRAM, args, { cwd: folder, encoding: 'utf8' });
  if (ended.status !== 0) throw new Error(`rulec ${args.join(' ')}: ${ended.stderr}`);
  return ended.stdout;
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    let said = '';
    const hear = (part: Buffer): void => {
      said += part.toString();
      const address = /http:\/\/127\.0\.0\.1:\d+\/#token=\w+/.exec(said)?.[0];
      if (address !== undefined) found(address);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.on('exit', () => failed(new Error(`rulec studio ended: ${said}`)));
    child.on('error', failed);
  });
}

/** An open page, with its script errors and its requests to other servers. */
export interface Watched {
  page: Page;
  context: BrowserContext;
  troubles: string[];
}

/** Opens a page and records its errors. */
export async function open(
  browser: Browser,
  address: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 860 },
    locale: 'en-GB',
    ...options,
  });
  context.setDefaultTimeout(HANGS_AFTER_MS);
  await serveBuilt(context, address);
  const page = await context.newPage();
  const troubles: string[] = [];
  const home = new URL(address);
  page.on('pageerror', (error) => troubles.push(`script: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
      troubles.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    const own =
      url.host === home.host ||
      url.protocol === 'data:' ||
      url.protocol === 'blob:' ||
      url.protocol === 'file:';
    if (!own) troubles.push(`request elsewhere: ${url.href}`);
  });
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address);
  return { page, context, troubles };
}

/**
 * If STUDIO_DIST names the folder of a built page, that page replaces the embedded one. So changes
 * of the page need no build of the program.
 */
async function serveBuilt(context: BrowserContext, address: string): Promise<void> {
  const folder = process.env.STUDIO_DIST;
  if (folder === undefined) return;
  const own = new URL(address).host;
  const types: Record<string, string> = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
  };
  await context.route(
    (url) => url.protocol === 'http:' && url.host === own && !url.pathname.startsWith('/api/'),
    async (route) => {
      const path = new URL(route.request().url()).pathname;
      const file = join(resolve(folder), path === '/' ? 'index.html' : path);
      await route.fulfill({ path: file, contentType: types[extname(file)] ?? 'application/octet-stream' });
    },
  );
}

/** Waits until `seen` returns true. */
export async function until(what: string, seen: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < HANGS_AFTER_MS; waited += 100) {
    if (await seen()) return;
    await new Promise((next) => setTimeout(next, 100));
  }
  throw new Error(`never seen: ${what}`);
}

/** Opens a view by its name, with its tab or, on a narrow page, with the menu. */
export async function show(page: Page, view: string): Promise<void> {
  const link = page.getByRole('navigation').getByRole('link', { name: view, exact: true });
  if (await link.isVisible()) await link.click();
  else await page.locator('.tabs-menu').selectOption({ label: view });
}
