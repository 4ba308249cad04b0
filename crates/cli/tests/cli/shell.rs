//! Tests of how the program behaves in a shell: usage, colour, pipes, and exit statuses.

use super::{Folder, Ran, SMALL, program};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

const WRONG: &str = "route r when text > 3 -> h\n";

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::with(SMALL);
    let wrong: &[&[&str]] = &[
        &[],
        &["frobnicate"],
        &["check", "a.rules", "--format", "xml"],
        &["check", "a.rules", "--deny", "errors"],
        &["check", "none.rules"],
        &["check", "--color", "sometimes", "a.rules"],
        &["run"],
        &["run", "a.rules", "--engine", "steam"],
        &["why", "a.rules"],
        &["explain", "E9999"],
        &["completions", "tcl"],
    ];
    for args in wrong {
        let ran = folder.rulec(args).expect(2);
        assert!(!ran.err.is_empty() || !ran.out.is_empty(), "{args:?} says why");
    }
}

#[test]
fn one_unreadable_file_does_not_hide_the_others() {
    let ran = Folder::with(WRONG).rulec(&["check", "none.rules", "a.rules"]).expect(2);
    assert!(ran.out.contains("E0001") && ran.out.contains("E0301"), "{}", ran.out);
    assert!(ran.err.starts_with("2 files checked: 2 errors\n"), "{}", ran.err);
}

#[test]
fn every_verb_has_help_with_examples() {
    let folder = Folder::new();
    for verb in ["check", "run", "why", "test", "explain", "completions"] {
        let ran = folder.rulec(&[verb, "--help"]).expect(0);
        assert!(ran.out.contains(&format!("Examples:\n  rulec {verb}")), "{}", ran.out);
    }
    assert!(folder.rulec(&["--help"]).expect(0).out.contains("Exit status"));
    let version = format!("rulec {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(folder.rulec(&["--version"]).expect(0).out, version);
}

#[test]
fn completions_name_the_verbs() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = Folder::new().rulec(&["completions", shell]).expect(0);
        assert!(ran.out.contains("completions") && ran.out.contains("explain"), "{shell}");
    }
}

#[test]
fn codes_are_explained() {
    let folder = Folder::new();
    let ran = folder.rulec(&["explain", "e0203"]).expect(0);
    assert!(ran.out.starts_with("# E0203") && ran.out.contains("\n## "), "{}", ran.out);
    let ran = folder.rulec(&["explain", "E0219"]).expect(2);
    assert!(
        ran.err.starts_with("error: there is no code `E0219`; similar codes are ")
            && ran.err.contains("E0210"),
        "{}",
        ran.err
    );
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let folder = Folder::with(WRONG);
    let colored = |args: &[&str]| {
        let ran = folder.rulec(args).expect(1);
        (ran.out + &ran.err).contains('\u{1b}')
    };
    assert!(!colored(&["check", "a.rules"]));
    assert!(!colored(&["check", "a.rules", "--color", "never"]));
    assert!(colored(&["check", "a.rules", "--color", "always"]));
    assert!(colored(&["--color", "always", "run", "a.rules"]));
    let mut command = program(folder.dir.path());
    let ran = Ran::new(command.env("NO_COLOR", "1").args(["check", "a.rules"]).output().expect("it starts"));
    assert!(!ran.out.contains('\u{1b}'));
    let page = folder.rulec(&["explain", "E0203", "--color", "always"]).expect(0);
    assert!(page.out.starts_with("\u{1b}[1mE0203"), "{}", page.out);
}

fn spawn(folder: &Folder, args: &[&str]) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_rulec"))
        .current_dir(folder.dir.path())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let messages = "{\"text\":\"hey!\"}\n".repeat(50_000);
    let folder = Folder::with(SMALL).file("m.jsonl", messages);
    let mut child = spawn(&folder, &["run", "a.rules", "m.jsonl"]);
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
    out.read_line(&mut first).expect("there is a first line");
    drop(out);
    let output = child.wait_with_output().expect("it ends");
    assert!(first.starts_with("{\"line\":1,"), "{first}");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn findings_count_even_when_nobody_reads_them() {
    let folder = Folder::with(WRONG);
    let mut child = spawn(&folder, &["check", "a.rules"]);
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

#[test]
fn an_answer_comes_before_the_next_question() {
    let folder = Folder::with(SMALL);
    let mut child = spawn(&folder, &["run", "a.rules"]);
    let mut questions = child.stdin.take().expect("it is piped");
    let mut answers = BufReader::new(child.stdout.take().expect("it is piped"));
    for text in ["hey!", "you!"] {
        questions.write_all(format!("{{\"text\":\"{text}\"}}\n").as_bytes()).expect("it reads");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("it answers");
        assert!(answer.contains("\"shout\""), "{answer}");
    }
    drop(questions);
    let mut rest = String::new();
    answers.read_to_string(&mut rest).expect("it ends");
    assert_eq!((rest.as_str(), child.wait().expect("it ends").code()), ("", Some(0)));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let folder = Folder::with(SMALL).file("m.jsonl", "{}\n");
    let full = std::fs::File::create("/dev/full").expect("the device is there");
    let output = Command::new(env!("CARGO_BIN_EXE_rulec"))
        .current_dir(folder.dir.path())
        .args(["run", "a.rules", "m.jsonl"])
        .stdout(full)
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("error: standard output cannot be written: "), "{said}");
}
