// Finds the program `rulec`. An editor that a desktop starts often lacks the `PATH` of the shell, so
// the folders in which Cargo and pip install programs are searched too.
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

/** Folders, relative to the home folder, in which Cargo and pip install programs. */
const INSTALLED = [[".cargo", "bin"], [".local", "bin"]];

/** True if a file exists and may be executed. */
function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Returns the path of a program: a name is searched in `PATH` and in the folders where Cargo and
 * pip install programs; a path is only checked. Undefined if there is no such program.
 */
function find(command, { env = process.env, home = os.homedir(), platform = process.platform } = {}) {
  const named = platform === "win32" && !/\.exe$/i.test(command) ? `${command}.exe` : command;
  if (path.basename(command) !== command) return [command, named].find(isProgram);
  const folders = (env.PATH ?? env.Path ?? "").split(path.delimiter).filter(Boolean);
  const installed = INSTALLED.map((parts) => path.join(home, ...parts));
  return [...folders, ...installed].map((folder) => path.join(folder, named)).find(isProgram);
}

module.exports = { find };
