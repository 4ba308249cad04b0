// An editor at the other end of `rulec lsp`, as far as the protocol sees one.
"use strict";

const { spawn } = require("node:child_process");

class Editor {
  /** The editor, once the server runs; throws when it cannot be started. */
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
    /** The notifications that nobody has waited for, and who waits for one. */
    this.notes = [];
    this.wanted = null;
    /** The exit status, when there is one. */
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

  /** The parameters of the next notification of a method that fits. */
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
