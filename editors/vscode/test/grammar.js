// Compares the TextMate grammar with the semantic tokens that `rulec lsp` returns for the examples: each comment, string,
// number, keyword and operator must have a TextMate scope of the same kind. `RULEC=path/to/rulec npm test`.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");
const { Editor } = require("./editor.js");

const ROOT = path.join(__dirname, "..", "..", "..");
const GRAMMAR = path.join(__dirname, "..", "syntaxes", "rules.tmLanguage.json");
// The TextMate scopes that a token of each kind may have, in the order of the server's legend. The kinds after these are
// names, which are not compared.
const SCOPES = [/^comment/, /^comment/, /^(string|keyword|variable)/, /^constant\.numeric/, /^(keyword|constant\.language)/, /^(keyword|punctuation)/];

async function main() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm);
  const onigLib = Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  });
  const loadGrammar = async () => textmate.parseRawGrammar(fs.readFileSync(GRAMMAR, "utf8"), GRAMMAR);
  const grammar = await new textmate.Registry({ onigLib, loadGrammar }).loadGrammar("source.rules");

  const editor = await Editor.start(process.env.RULEC || "rulec", ["lsp"]);
  await editor.ask("initialize", { capabilities: {} });
  editor.send({ method: "initialized", params: {} });
  const folders = ["examples", "rules", "tests/golden", "tests/ui"].map((name) => path.join(ROOT, name));
  const files = folders.flatMap((folder) => fs.readdirSync(folder).map((name) => path.join(folder, name)));
  let [held, wrong] = [0, 0];
  // For the compiler, an unclosed raw string ends at the end of its line. A TextMate grammar cannot express this.
  const whole = (name) => name.endsWith(".rules") && !name.endsWith("unclosed_raw.rules");
  for (const file of files.filter(whole)) {
    const uri = `file://${file}`;
    const text = fs.readFileSync(file, "utf8");
    editor.send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "rules", version: 1, text } } });
    const answer = await editor.ask("textDocument/semanticTokens/full", { textDocument: { uri } });
    const scopes = [];
    let state = textmate.INITIAL;
    for (const line of text.split(/\r?\n/)) {
      const told = grammar.tokenizeLine(line, state);
      state = told.ruleStack;
      scopes.push(told.tokens);
    }
    const data = answer.result?.data ?? [];
    let [line, character] = [0, 0];
    for (let at = 0; at < data.length; at += 5) {
      character = data[at] ? data[at + 1] : character + data[at + 1];
      line += data[at];
      const wanted = SCOPES[data[at + 3]];
      if (!wanted) continue;
      const token = scopes[line].find((one) => one.startIndex <= character && character < one.endIndex);
      held += 1;
      if (!token?.scopes.some((scope) => wanted.test(scope))) {
        wrong += 1;
        const shown = text.split(/\r?\n/)[line].slice(character, character + data[at + 2]);
        if (wrong <= 20) console.error(`${path.relative(ROOT, file)}:${line + 1}:${character + 1}: \`${shown}\` is ${token?.scopes.join(" ")}, not ${wanted}`);
      }
    }
    editor.send({ method: "textDocument/didClose", params: { textDocument: { uri } } });
  }
  await editor.ask("shutdown", null);
  editor.send({ method: "exit", params: null });
  console.log(`${held} tokens held against the server, ${wrong} differ`);
  process.exitCode = wrong || !held ? 1 : 0;
}

main();
