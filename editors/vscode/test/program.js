// Tests that `program.js` finds a program in `PATH` first, then in the folders of Cargo and pip, and by its path.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { find } = require("../program.js");

const root = fs.mkdtempSync(path.join(os.tmpdir(), "rulec-program-"));
function put(...parts) {
  const file = path.join(root, ...parts);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, "", { mode: 0o755 });
  return file;
}

try {
  const options = { env: { PATH: path.join(root, "bin") }, home: path.join(root, "home"), platform: "linux" };
  assert.strictEqual(find("rulec", options), undefined);
  const cargo = put("home", ".cargo", "bin", "rulec");
  assert.strictEqual(find("rulec", options), cargo);
  const first = put("bin", "rulec");
  assert.strictEqual(find("rulec", options), first);
  assert.strictEqual(find(cargo, options), cargo);
  assert.strictEqual(find(path.join(root, "no", "rulec"), options), undefined);
  // Folders, and files without the permission to execute, are not programs.
  fs.mkdirSync(path.join(root, "bin", "folder"));
  fs.writeFileSync(path.join(root, "bin", "text"), "", { mode: 0o644 });
  assert.strictEqual(find("folder", options), undefined);
  assert.strictEqual(find("text", options), undefined);
  const exe = put("bin", "rulec.exe");
  assert.strictEqual(find("rulec", { ...options, platform: "win32" }), exe);
  console.log("the program is found where it is installed");
} finally {
  fs.rmSync(root, { recursive: true });
}
