//! Tests of the documentation pages that users follow step by step. A test writes the files of a
//! page, runs its commands in order, and compares the output with the page (`INSTA_UPDATE=always`
//! updates the page).

#![cfg(unix)]

use crate::{Folder, OWN_SETTINGS, golden};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

#[test]
fn the_tutorial_prints_what_it_says() {
    assert_page("docs/tutorial.md", 10);
}

#[test]
fn the_chinese_tutorial_prints_what_it_says() {
    assert_page("docs/zh/tutorial.md", 25);
}

#[test]
fn the_readme_prints_what_it_says() {
    assert_page("README.md", 4);
}

/// Runs the commands of a page, which must contain at least `least` commands. A block fenced with
/// `file=NAME` is a file. In a `console` block, lines that begin with `$` are commands, and the
/// lines after a command are its output. An `export` holds for the commands after it, as in the
/// reader's shell.
fn assert_page(name: &str, least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let page = std::fs::read_to_string(&path).expect("the page can be read");
    let (mut folder, mut made, mut commands) = (Folder::new(), String::new(), 0);
    let mut exports = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        made.push_str(line);
        made.push('\n');
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if info == "console" {
            for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                commands += 1;
                let _ = write!(made, "$ {command}\n{}", printed(&folder, &format!("{exports}{command}")));
                if command.starts_with("export ") {
                    let _ = write!(exports, "{command}; ");
                }
            }
        } else {
            let text: String = block.iter().flat_map(|line| [line, "\n"]).collect();
            if let Some((_, file)) = info.split_once("file=") {
                folder = folder.file(file, &text);
            }
            made.push_str(&text);
        }
        made.push_str("```\n");
    }
    assert!(commands >= least, "only {commands} commands were found");
    golden::assert_file(&path, &made);
}

/// Runs a command line in a shell. Returns standard output and standard error together, as a
/// terminal shows them.
fn printed(folder: &Folder, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_rulec"));
    let path = format!(
        "{}:{}",
        program.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("({command}) 2>&1")]).current_dir(folder.path("")).env("PATH", path);
    for name in OWN_SETTINGS {
        shell.env_remove(name);
    }
    let output = shell.output().expect("the shell starts");
    let text = String::from_utf8(output.stdout).expect("it prints text");
    text.lines().map(str::trim_end).flat_map(|line| [line, "\n"]).collect()
}
