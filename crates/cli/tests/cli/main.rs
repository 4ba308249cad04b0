//! End-to-end tests of the program: its output and its exit status. No test depends on time, or on
//! the width or colours of a terminal.

mod analyze;
mod bad_input;
mod build;
mod check;
mod chinese;
mod columns;
mod coverage;
mod diff;
mod documents;
#[cfg(unix)]
mod ends;
mod examples;
mod fix;
mod fmt;
mod formats;
mod history;
mod history_folder;
mod hostile;
mod import;
mod injection;
mod kinds;
mod lenses;
mod logs;
mod lsp;
mod lsp_commands;
mod meaning;
mod model;
mod model_http;
mod newcomers;
mod pages;
mod payload;
mod plan;
mod private;
mod prompt;
mod run;
mod serve;
mod serve_documents;
mod serve_verbs;
mod shell;
mod streams;
mod tests;
mod tools;
mod usage;
mod why;
mod why_not;
mod workflow;
mod workflow_http;
mod workflow_plan;

#[path = "../../../../tests/support/golden.rs"]
mod golden;

use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

/// A temporary folder with files. The program runs in this folder.
struct Folder {
    dir: TempDir,
}

/// The result of running the program: its output and exit status.
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

impl Folder {
    fn new() -> Self {
        Folder { dir: tempfile::tempdir().expect("a folder can be made") }
    }

    /// Creates a folder with one file, `a.rules`.
    fn with(rules: impl AsRef<[u8]>) -> Self {
        Folder::new().file("a.rules", rules)
    }

    fn file(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("files lie in folders")).expect("a folder can be made");
        std::fs::write(path, bytes).expect("a file can be written");
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn rulec(&self, args: &[&str]) -> Ran {
        self.fed(args, "")
    }

    /// Runs the program with text on standard input.
    fn fed(&self, args: &[&str], stdin: impl Into<Vec<u8>>) -> Ran {
        Ran::new(program(self.dir.path()).args(args).write_stdin(stdin).output().expect("the program starts"))
    }
}

impl Ran {
    fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
        let ran = Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }

    #[track_caller]
    fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Parses standard output as JSON lines.
    #[track_caller]
    fn json(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

/// Environment variables of the developer that are removed before the program runs.
const OWN_SETTINGS: [&str; 6] =
    ["NO_COLOR", "COLUMNS", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "RULEC_LANG"];

/// Returns the program without the developer's own settings.
fn program(folder: &Path) -> assert_cmd::Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("rulec");
    command.current_dir(folder);
    for name in OWN_SETTINGS {
        command.env_remove(name);
    }
    command
}

/// Rules with two routes and a default.
const SMALL: &str = "\
route show_files priority 100 when text contains \"show\" and ctx.message_count > 3 -> file_handler(n: ctx.message_count) { type: \"file\" }
route shout when text ends_with \"!\" -> shout_handler
default -> default_handler
";
