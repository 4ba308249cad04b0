// Starts the language server `rulec lsp`, and shows the results of tests that it runs. All knowledge about rules is in the
// server.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { find } = require("./program.js");

let client;

/**
 * Announces to the server that the editor can show its documents: the pages of diagnostic codes. The client library does
 * not support this capability yet.
 */
const pages = {
  fillClientCapabilities(capabilities) {
    capabilities.workspace = { ...capabilities.workspace, textDocumentContent: {} };
  },
  initialize() {},
  getState: () => ({ kind: "static" }),
  clear() {},
};

/** Requests the text of a document, such as the page of a diagnostic code, from the server. */
async function provideTextDocumentContent(uri) {
  return (await client.sendRequest("workspace/textDocumentContent", { uri: uri.toString() }))?.text;
}

/** Starts the server. If it cannot be started, shows an error with the remedies. */
async function start() {
  const wanted = vscode.workspace.getConfiguration("rulec").get("path") || "rulec";
  // If the program is not found, the client reports the error of the operating system.
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
    // The client reports some errors as texts instead of `Error` objects.
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

/** Passes a command on to the server. If the command ran a test, shows whether the test passed. */
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
