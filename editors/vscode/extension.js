// Starts `rulec lsp` and shows how a test ended. Everything that is known of rules is found out by the server.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { find } = require("./program.js");

let client;

/** The pages of codes are documents of the server, which the client library does not know yet. */
const pages = {
  fillClientCapabilities(capabilities) {
    capabilities.workspace = { ...capabilities.workspace, textDocumentContent: {} };
  },
  initialize() {},
  getState: () => ({ kind: "static" }),
  clear() {},
};

/** Returns the text of a document of the server. */
async function provideTextDocumentContent(uri) {
  return (await client.sendRequest("workspace/textDocumentContent", { uri: uri.toString() }))?.text;
}

/** Starts the server; says what to do when it cannot be started. */
async function start() {
  const wanted = vscode.workspace.getConfiguration("rulec").get("path") || "rulec";
  // If it is not found, the error of the operating system says why.
  const command = find(wanted) ?? wanted;
  const server = { command, args: ["lsp"], transport: TransportKind.stdio };
  client = new LanguageClient("rulec", "Rules", server, {
    documentSelector: [{ language: "rules" }],
    middleware: { executeCommand: ran },
  });
  client.registerFeature(pages);
  try {
    await client.start();
  } catch (error) {
    const [settings, install] = ["Open settings", "How to install"];
    // The client tells some faults as texts.
    const why = error?.message ?? error;
    const message = `\`${command} lsp\` cannot be started: ${why}. Install rulec, or name it in \`rulec.path\`.`;
    const picked = await vscode.window.showErrorMessage(message, settings, install);
    if (picked === settings) {
      vscode.commands.executeCommand("workbench.action.openSettings", "rulec.path");
    } else if (picked === install) {
      vscode.commands.executeCommand("workbench.action.openWalkthrough", "rulec.rulec-rules#start");
    }
  }
}

/** Runs a command of the server, and shows how a test ended. */
async function ran(command, args, next) {
  const outcome = await next(command, args);
  if (command === "rulec.runTest" && outcome) {
    if (outcome.passed) {
      vscode.window.showInformationMessage(`test "${outcome.name}" passed: ${outcome.actual}`);
    } else {
      const message = `test "${outcome.name}" failed: expected ${outcome.expected}, chosen was ${outcome.actual}`;
      vscode.window.showWarningMessage(message);
    }
  }
  return outcome;
}

async function activate(context) {
  const restart = async () => {
    await client?.stop().catch(() => {});
    await start();
  };
  context.subscriptions.push(
    vscode.commands.registerCommand("rulec.restart", restart),
    vscode.workspace.registerTextDocumentContentProvider("rulec", { provideTextDocumentContent }),
  );
  await start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
