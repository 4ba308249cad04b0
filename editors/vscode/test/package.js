// Tests that the package of the extension contains the files that it needs and no others, as `vsce` selects them. Run
// `npm run bundle` first, which writes `dist/extension.js`.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { listFiles, PackageManager } = require("@vscode/vsce");

const FOLDER = path.join(__dirname, "..");
const PACKAGED = [
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "dist/extension.js",
  "icon.png",
  "language-configuration.json",
  "package.json",
  "syntaxes/rules.tmLanguage.json",
  "walkthrough.md",
];

/** Returns each relative path that `package.json` mentions as a value of `main`, `icon`, `path`, `configuration` or `markdown`. */
function mentioned(value) {
  if (Array.isArray(value)) return value.flatMap(mentioned);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const isPath = ["main", "icon", "path", "configuration", "markdown"].includes(key) && typeof inner === "string";
    return isPath ? [path.normalize(inner)] : mentioned(inner);
  });
}

async function main() {
  const files = await listFiles({ cwd: FOLDER, packageManager: PackageManager.None });
  assert.deepStrictEqual(files.map(path.normalize).sort(), PACKAGED);
  const own = mentioned(JSON.parse(fs.readFileSync(path.join(FOLDER, "package.json"), "utf8")));
  assert.ok(own.length >= 5, own.join(", "));
  for (const file of own) assert.ok(PACKAGED.includes(file), `${file} is not packaged`);
  for (const file of PACKAGED) assert.ok(fs.statSync(path.join(FOLDER, file)).size > 0, file);
  console.log(`the package has its ${files.length} files`);
}

main();
