//! Tests of paths that are not regular files, of standard input and output in every state, and of
//! the number of threads.

use super::{Folder, SMALL, program};
use std::process::{Command, Stdio};

const ROUTE: &str = "route r when text in words -> h\n";

#[test]
fn rules_come_on_standard_input_too() {
    let folder =
        Folder::new().file("words.rules", "list words = [\"a\"]\n").file("m.jsonl", "{\"text\":\"a\"}\n");
    let rules = format!("import \"words.rules\"\n{ROUTE}");
    for verb in [&["check", "-"][..], &["plan", "-"], &["test", "-"], &["why", "-", "--text", "a"]] {
        folder.fed(verb, rules.as_str()).expect(0);
    }
    let ran = folder.fed(&["run", "-", "m.jsonl"], rules.as_str()).expect(0);
    assert_eq!(ran.json()[0]["chosen"], "r");
    let ran = folder.fed(&["check", "-"], "route a when text > 3 -> h\n").expect(1);
    assert!(ran.out.contains("[<stdin>:1:19]"), "{}", ran.out);
    let ran = folder.fed(&["check", "-", "--format", "json"], "route a when text > 3 -> h\n").expect(1);
    assert_eq!(ran.json()[0]["file"], "<stdin>");
    folder.fed(&["build", "-", "-o", "out.rulec"], rules.as_str()).expect(0);
    let built = std::fs::read(folder.path("out.rulec")).expect("it is there");
    let ran = folder.fed(&["run", "-", "m.jsonl"], built).expect(0);
    assert_eq!(ran.json()[0]["chosen"], "r");
}

#[test]
fn standard_input_is_read_once() {
    let folder = Folder::with(SMALL);
    for args in [&["check", "-", "-"][..], &["run", "-"], &["run", "-", "-"], &["why", "-", "--input", "-"]] {
        let ran = folder.fed(args, SMALL).expect(2);
        assert!(ran.err.contains("standard input is used twice"), "{args:?}: {}", ran.err);
    }
    assert!(folder.fed(&["build", "-"], SMALL).expect(2).err.contains("name the file to write with `-o`"));
}

#[test]
fn more_threads_than_a_system_has_are_refused() {
    let folder = Folder::with(SMALL);
    let message = "{\"text\":\"hey!\"}\n".repeat(3);
    for jobs in ["1025", "1000000", "1000000000", "18446744073709551615", "18446744073709551616"] {
        let ran = folder.fed(&["run", "a.rules", "--jobs", jobs], message.as_str()).expect(2);
        assert!(ran.err.contains("at most 1024 threads are allowed"), "{jobs}: {}", ran.err);
    }
    for jobs in ["-1", "", "two", "1.5", "+3", "0x2"] {
        let ran = folder.fed(&["run", "a.rules", "--jobs", jobs], message.as_str()).expect(2);
        assert!(ran.err.contains("a whole number from 0 to 1024"), "{jobs}: {}", ran.err);
    }
    for jobs in ["0", "1", "1024"] {
        let ran = folder.fed(&["run", "a.rules", "--jobs", jobs], message.as_str()).expect(0);
        assert_eq!(ran.json().len(), 3, "{jobs}");
    }
}

/// The paths name compiled rules where data is expected, folders where files are expected, and data
/// where rules are expected.
#[test]
fn what_is_something_else_is_said() {
    let folder = Folder::with(SMALL).file("dir/x", "").file("m.jsonl", "{}\n");
    folder.rulec(&["build", "a.rules", "-o", "a.rulec"]).expect(0);
    let table: &[(&[&str], &str)] = &[
        (&["run", "a.rules", "a.rulec"], "`a.rulec` contains compiled rules, but JSON is expected"),
        (&["import", "routes", "a.rulec"], "`a.rulec` contains compiled rules, but JSON is expected"),
        (&["conformance", "route", "a.rulec"], "`a.rulec` contains compiled rules, but JSON is expected"),
        (&["run", "a.rules", "dir"], "`dir` is a folder"),
        (&["run", "dir"], "`dir` is a folder"),
        (&["import", "routes", "dir"], "`dir` is a folder"),
        (&["build", "a.rules", "-o", "dir"], "`dir` is a folder"),
        (&["build", "a.rules", "-o", "none/x"], "its folder does not exist"),
    ];
    for (args, said) in table {
        let ran = folder.rulec(args);
        assert!(ran.status != Some(0) && ran.err.contains(said), "{args:?}: {}", ran.err);
    }
    let ran = folder.rulec(&["check", "a.rules", "--root", "none"]).expect(2);
    assert!(ran.out.contains("there is no root folder `none`"), "{}", ran.out);
    let ran = folder.rulec(&["check", "a.rules", "--root", "m.jsonl"]).expect(2);
    assert!(ran.out.contains("the root folder `m.jsonl` cannot be used: it is no folder"), "{}", ran.out);
    let ran = Folder::with("import \"b.rules\"\n").file("b.rules", b"\x00\xff").rulec(&["check", "a.rules"]);
    assert!(ran.expect(1).out.contains("is not a text file"));
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_read() {
    let folder = Folder::with(SMALL)
        .file("import.rules", format!("import \"pipe\"\n{ROUTE}"))
        .file("list.rules", format!("list words = from \"pipe\"\n{ROUTE}"))
        .file("p.rules", "payload p { name: string }\n");
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status().expect("there is a `mkfifo`");
    assert!(made.success());
    let verbs: &[&[&str]] = &[
        &["check", "import.rules"],
        &["check", "list.rules"],
        &["check", "pipe"],
        &["run", "pipe"],
        &["build", "pipe"],
        &["plan", "/dev/zero"],
        &["check", "/dev/zero"],
        &["import", "routes", "pipe"],
        &["import", "routes", "/dev/zero"],
        &["conformance", "route", "pipe"],
        &["run", "p.rules", "--decision", "p", "--context", "pipe"],
    ];
    for args in verbs {
        let mut command = program(folder.dir.path());
        // No process writes to the pipe, so opening the pipe like a file would block forever.
        let output =
            command.args(*args).timeout(std::time::Duration::from_secs(60)).output().expect("it starts");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("it is not a regular file but a pipe, socket or device"), "{args:?}: {said}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{args:?}: {:?}", output.status);
    }
}

/// Runs a shell command in which `$0` is the program.
#[cfg(target_os = "linux")]
fn shell(folder: &Folder, line: &str) -> (Option<i32>, String) {
    let output = Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_rulec")])
        .current_dir(folder.dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .expect("there is a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Regression test: if standard output was closed, the output was lost, but the exit status was 0.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_takes_nothing_is_said() {
    let folder = Folder::with(SMALL).file("m.jsonl", "{}\n").file("r.json", "[]");
    let verbs = [
        "run a.rules m.jsonl",
        "run a.rules m.jsonl --jobs 7",
        "why a.rules --text x",
        "plan a.rules",
        "explain",
        "import routes r.json",
        "completions bash",
        "build a.rules",
        "test a.rules",
        "--help",
        "--version",
        "run --help",
    ];
    for verb in verbs {
        for (output, why) in
            [(">&-", "it is closed"), (">/dev/full", "No space left"), ("1<m.jsonl", "Bad file")]
        {
            let (status, said) = shell(&folder, &format!("\"$0\" {verb} {output}"));
            assert_eq!(status, Some(2), "{verb} {output}: {said}");
            assert!(
                said.contains(&format!("standard output cannot be written: {why}")),
                "{verb} {output}: {said}"
            );
        }
        assert_eq!(shell(&folder, &format!("\"$0\" {verb} >/dev/null")).0, Some(0), "{verb}");
    }
    let (status, said) = shell(&folder, "\"$0\" run a.rules <&- >/dev/null");
    assert!(status == Some(2) && said.contains("standard input cannot be read: it is closed"), "{said}");
}

/// The engine itself computes functions such as `request.…`, so no embedding program is needed.
#[test]
fn what_the_engine_computes_is_not_said_to_be_missing() {
    let folder = Folder::with(
        "extern fn other(a: string) -> bool\nroute a when request.urgency > 0.5 or other(text) -> h\n",
    );
    let ran = folder.fed(&["run", "a.rules"], "{\"text\":\"x\"}\n").expect(0);
    assert!(ran.err.contains("`other` can run only") && !ran.err.contains("request"), "{}", ran.err);
}
