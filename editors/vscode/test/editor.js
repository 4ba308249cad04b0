// A minimal client of the language server `rulec lsp`, in place of an editor.
"use strict";

const { spawn } = require("node:child_process");

class Editor {
  /** Starts the server, and returns its client once the server runs. Rejects if it cannot be started. */
  static start(command, args) {
    return new Promise((resolve, reject) => {
      const editor = new Editor(spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] }));
      editor.server.once("spawn", () => resolve(editor));
      editor.server.once("error", reject);
    });
  }

  constructor(server) {
    this.server = server;
    this.waiting = new Map();
    this.asked = 0;
    this.read = Buffer.alloc(0);
    /** The received notifications that no test has taken yet. `wanted` checks them for the test that waits for one. */
    this.notes = [];
    this.wanted = null;
    /** Resolves to the exit status when the server exits. */
    this.ended = new Promise((resolve) => server.once("exit", resolve));
    server.stdout.on("data", (data) => this.take(data));
  }

  take(data) {
    this.read = Buffer.concat([this.read, data]);
    for (;;) {
      const head = this.read.indexOf("\r\n\r\n");
      const length = head < 0 ? null : /Content-Length: (\d+)/.exec(this.read.subarray(0, head).toString());
      if (!length || this.read.length < head + 4 + Number(length[1])) return;
      const end = head + 4 + Number(length[1]);
      const message = JSON.parse(this.read.subarray(head + 4, end).toString());
      this.read = this.read.subarray(end);
      if (message.method) this.notes.push(message);
      else this.waiting.get(message.id)?.(message);
      this.wanted?.();
    }
  }

  send(message) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  tell(method, params) {
    this.send({ method, params });
  }

  ask(method, params) {
    const id = ++this.asked;
    this.send({ id, method, params });
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  /** Waits for a notification with this method whose parameters satisfy `fits`; returns its parameters. */
  told(method, fits) {
    return new Promise((resolve) => {
      this.wanted = () => {
        const at = this.notes.findIndex((note) => note.method === method && fits(note.params));
        if (at < 0) return;
        this.wanted = null;
        resolve(this.notes.splice(at, 1)[0].params);
      };
      this.wanted();
    });
  }
}

module.exports = { Editor };
