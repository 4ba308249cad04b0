// Tests the extension in a real workbench, in a browser: diagnostics are underlined and listed, hovering explains words, code
// lenses are above a hidden route and a test, a test runs, and a file is formatted. Needs code-server with the extension, and
// playwright-core, so `npm test` does not run it:
//
//     npx vsce package --allow-missing-repository -o rules.vsix
//     code-server --install-extension rules.vsix
//     code-server --auth none --bind-addr 127.0.0.1:8080 FOLDER
//     npm install --no-save playwright-core
//     ADDRESS=http://127.0.0.1:8080 FOLDER=FOLDER CHROMIUM=/usr/bin/chromium node test/workbench.js
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const { ADDRESS, FOLDER, CHROMIUM } = process.env;
const WRONG = 'route a when text conains "x" -> h\nroute b when text contains "y" -> h\n';
const HIDDEN = 'route wide when n < 10 -> h\nroute hidden when n < 5 -> h\ndefault -> h\ntest "good" { given n = 3 expect wide }\n';

/** Waits until an element that matches the selector `places` has a text that fits; returns the texts of all such elements. */
async function texts(page, places, fits) {
  for (let tries = 0; tries < 120; tries++) {
    const found = (await page.locator(places).allInnerTexts()).map((text) => text.replace(/\u00a0/g, " "));
    if (found.some((text) => fits.test(text))) return found;
    await page.waitForTimeout(500);
  }
  throw new assert.AssertionError({ message: `nothing in ${places} fits ${fits}` });
}

async function open(page, file) {
  await page.keyboard.press("Control+P");
  await page.locator(".quick-input-box input").fill(file);
  await texts(page, ".quick-input-list .monaco-list-row", new RegExp(file));
  await page.keyboard.press("Enter");
  await texts(page, ".tab.active", new RegExp(file));
}

async function drive(page) {
  await page.goto(`${ADDRESS}/?folder=${FOLDER}`, { waitUntil: "domcontentloaded" });
  await page.waitForSelector(".explorer-viewlet .monaco-list-row", { timeout: 90_000 });
  await open(page, "wrong.rules");
  await page.waitForSelector(".squiggly-error", { timeout: 60_000 });
  await page.keyboard.press("Control+Shift+M");
  await texts(page, ".markers-panel .monaco-list-row", /unknown operator `conains`/);
  await page.locator(".view-line span span", { hasText: "contains" }).first().hover();
  await texts(page, ".monaco-hover-content", /The text holds the string/);
  await open(page, "hidden.rules");
  await texts(page, ".codelens-decoration", /hidden can never be chosen/);
  await page.locator(".codelens-decoration a", { hasText: "run this test" }).first().click();
  await texts(page, ".notifications-toasts", /test "good" passed/);
  await page.locator(".view-line").first().click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("let   z=1\n");
  await page.keyboard.press("Control+Shift+I");
  // The line may contain an inlay hint with the type that the server infers.
  await texts(page, ".view-line", /^let z(: int)? = 1$/);
}

(async () => {
  fs.writeFileSync(path.join(FOLDER, "wrong.rules"), WRONG);
  fs.writeFileSync(path.join(FOLDER, "hidden.rules"), HIDDEN);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    await drive(await browser.newPage({ viewport: { width: 1400, height: 900 } }));
    console.log("the workbench shows what it should");
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
