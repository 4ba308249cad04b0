// Tests `extension.js` with the real server, as an editor would use it. The extension starts the server, shows a diagnostic
// and the page of its code, runs a test by its code lens and shows the result, restarts and stops the server, and shows an
// error if there is no server. The modules `vscode` and `vscode-languageclient` are replaced by mocks, which record the
// calls of the extension. `RULEC=path/to/rulec npm test`.
"use strict";

const assert = require("node:assert");
const Module = require("node:module");
const { Editor } = require("./editor.js");

const COMMAND = process.env.RULEC || "rulec";
const URI = "file:///work/a.rules";
const RULES = 'route a when text == "x" -> h\ntest "good" { given text = "x" expect a }\ntest "bad" { given text = "y" expect a }\n';

let command = COMMAND;
const shown = [];
const commands = new Map();
const done = [];
const providers = new Map();

const vscode = {
  workspace: {
    getConfiguration: (section) => ({ get: (name) => `${section}.${name}` === "rulec.path" && command }),
    registerTextDocumentContentProvider: (scheme, provider) => (providers.set(scheme, provider), { dispose() {} }),
  },
  window: {
    showErrorMessage: async (text, ...choices) => (shown.push(["error", text]), choices[0]),
    showWarningMessage: (text) => shown.push(["warning", text]),
    showInformationMessage: (text) => shown.push(["information", text]),
  },
  commands: {
    registerCommand: (name, run) => (commands.set(name, run), { dispose() {} }),
    executeCommand: (...args) => done.push(args),
  },
};

const clients = [];

/** A mock of the client library: starts the given server, and passes commands through the extension's middleware. */
class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, { id, name, server, options, features: [] });
    clients.push(this);
  }

  registerFeature(feature) {
    this.features.push(feature);
  }

  async start() {
    this.editor = await Editor.start(this.server.command, this.server.args);
    const capabilities = { workspace: { workspaceFolders: true }, window: { showDocument: { support: true } } };
    for (const feature of this.features) feature.fillClientCapabilities(capabilities);
    assert.ok(capabilities.workspace.workspaceFolders);
    await this.editor.ask("initialize", { capabilities });
    this.editor.tell("initialized", {});
  }

  async stop() {
    if (!this.editor) throw new Error("it does not run");
    await this.editor.ask("shutdown", null);
    this.editor.tell("exit", {});
    this.exit = await this.editor.ended;
  }

  async sendRequest(method, params) {
    return (await this.editor.ask(method, params)).result;
  }

  execute(name, args) {
    const next = async (command, list) =>
      (await this.editor.ask("workspace/executeCommand", { command, arguments: list })).result;
    return this.options.middleware.executeCommand(name, args, next);
  }
}

const stand = { vscode, "vscode-languageclient/node": { LanguageClient, TransportKind: { stdio: 0 } } };
const load = Module._load;
Module._load = (name, ...rest) => stand[name] ?? load(name, ...rest);
const extension = require("../extension.js");

async function main() {
  const context = { subscriptions: [] };
  await extension.activate(context);
  assert.deepStrictEqual(shown, []);
  assert.strictEqual(context.subscriptions.length, 2);
  const [first] = clients;
  assert.deepStrictEqual(first.options.documentSelector, [{ language: "rules" }]);

  const document = { uri: URI, languageId: "rules", version: 1, text: RULES };
  first.editor.tell("textDocument/didOpen", { textDocument: document });
  const lenses = (await first.editor.ask("textDocument/codeLens", { textDocument: { uri: URI } })).result;
  for (const lens of lenses) await first.execute(lens.command.command, lens.command.arguments);
  assert.deepStrictEqual(shown.splice(0), [
    ["information", 'test "good" passed: a'],
    ["warning", 'test "bad" failed: expected a, chosen was none'],
  ]);
  const wrong = { uri: URI, version: 2 };
  first.editor.tell("textDocument/didChange", { textDocument: wrong, contentChanges: [{ text: "route a when -> h\n" }] });
  const told = await first.editor.told("textDocument/publishDiagnostics", (params) => params.version === 2);
  assert.ok(told.diagnostics.length > 0);
  const { code, codeDescription } = told.diagnostics[0];
  const page = await providers.get("rulec").provideTextDocumentContent(codeDescription.href);
  assert.ok(page.startsWith(`# ${code}: `), page);
  await first.execute("rulec.explain", [code]);
  const opened = await first.editor.told("window/showDocument", () => true);
  assert.strictEqual(opened.uri, codeDescription.href);

  await commands.get("rulec.restart")();
  assert.strictEqual(first.exit, 0);
  assert.strictEqual(clients.length, 2);
  await extension.deactivate();
  assert.strictEqual(clients[1].exit, 0);

  command = "/there/is/no/rulec";
  await extension.activate(context);
  assert.strictEqual(shown.length, 1);
  assert.match(shown[0][1], /`\/there\/is\/no\/rulec lsp` cannot be started: .*ENOENT.*name it in `rulec\.path`/);
  assert.deepStrictEqual(done, [["workbench.action.openSettings", "rulec.path"]]);
  command = COMMAND;
  await commands.get("rulec.restart")();
  assert.strictEqual(shown.length, 1);
  await extension.deactivate();
  console.log(`the extension started ${clients.length} times, and said what it should`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
