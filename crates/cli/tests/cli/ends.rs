//! Tests of how a run can end: stopped by a signal, killed, with truncated input, or on a full
//! disk. Each message that was read gets one result, output files are complete, and the exit status
//! says what happened.

use super::{Folder, OWN_SETTINGS, SMALL};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Number of input lines: more than the pipes and threads buffer. So the run still goes on when a
/// test interrupts it.
const MANY: usize = 200_000;

fn many() -> String {
    (0..MANY).fold(String::new(), |mut lines, number| {
        let _ = writeln!(lines, "{{\"text\":\"hey {number}!\"}}");
        lines
    })
}

fn start(folder: &Folder, args: &[&str], output: Stdio) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rulec"));
    for name in OWN_SETTINGS {
        command.env_remove(name);
    }
    let command = command.args(args).current_dir(folder.dir.path());
    command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn tell(child: &Child, signal: &str) {
    let line = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &line]).status().expect("there is a shell").success());
}

/// Reads the output of a process to the end. Returns the rest of standard output, the exit status,
/// and standard error.
fn end(mut child: Child, input: Option<ChildStdin>) -> (String, Option<i32>, String) {
    let (mut rest, mut said) = (String::new(), String::new());
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut rest).expect("it is a text");
    }
    child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it is a text");
    let status = child.wait().expect("it ends");
    drop(input);
    assert!(!said.contains("panicked"), "{said}");
    (rest, status.code(), said)
}

/// Asserts that each line is the result for the message with the same number. Returns the number of
/// lines.
#[track_caller]
fn in_turn(answers: &str) -> usize {
    for (at, line) in answers.lines().enumerate() {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("half: {line}"));
        assert_eq!((&answer["line"], &answer["chosen"]), (&(at + 1).into(), &"shout".into()));
    }
    answers.lines().count()
}

/// True if this process ignores SIGHUP, as under `nohup`. Its children then ignore the signal too.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Regression test: a run that was stopped by a signal lost messages that it had read but not yet
/// decided.
#[test]
fn a_stream_that_is_told_to_end_answers_what_it_has_read() {
    let signals = [("TERM", 143), ("INT", 130), ("HUP", 129)];
    let signals = signals.into_iter().filter(|(signal, _)| *signal != "HUP" || !ignores_hangup());
    for (signal, status) in signals {
        for jobs in ["1", "7"] {
            let folder = Folder::with(SMALL);
            let mut child = start(&folder, &["run", "a.rules", "--jobs", jobs], Stdio::piped());
            let mut input = child.stdin.take().expect("it is piped");
            // The last line is incomplete. It does not count as a message, because its rest is
            // unknown.
            input.write_all(b"{\"text\":\"a!\"}\n{\"text\":\"b!\"}\n{\"text\":\"c!\"}").expect("it reads");
            let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
            let mut answers = String::new();
            for _ in 0..2 {
                output.read_line(&mut answers).expect("it answers");
            }
            tell(&child, signal);
            output.read_to_string(&mut answers).expect("it ends");
            let (_, ended, said) = end(child, Some(input));
            assert_eq!((in_turn(&answers), ended), (2, Some(status)), "{answers}\n{said}");
            assert!(said.contains("2 messages: shout 2") && said.contains("stopped by signal"), "{said}");
        }
    }
}

/// A run under `nohup` ignores SIGHUP.
#[test]
fn a_run_that_ignores_the_hangup_goes_on() {
    let folder = Folder::with(SMALL);
    let mut command = Command::new("sh");
    let line = "trap '' HUP; exec \"$0\" run a.rules";
    let command = command.args(["-c", line, env!("CARGO_BIN_EXE_rulec")]).current_dir(folder.dir.path());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(b"{\"text\":\"a!\"}\n").expect("it reads");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut answers = String::new();
    output.read_line(&mut answers).expect("it answers");
    tell(&child, "HUP");
    input.write_all(b"{\"text\":\"b!\"}\n").expect("it still reads");
    drop(input);
    output.read_to_string(&mut answers).expect("it ends");
    let (_, status, said) = end(child, None);
    assert_eq!((in_turn(&answers), status), (2, Some(0)), "{said}");
}

/// Former bug: `build` reported a closed pipe as an error, unlike all other subcommands.
#[test]
fn a_closed_pipe_ends_build_quietly() {
    let folder = Folder::with(SMALL);
    let mut child = start(&folder, &["build", "a.rules", "-o", "/dev/stdout"], Stdio::piped());
    drop(child.stdout.take());
    let (_, status, said) = end(child, None);
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

#[test]
fn a_stream_that_is_told_to_end_while_it_writes_leaves_no_gap() {
    let folder = Folder::with(SMALL).file("m.jsonl", many());
    for jobs in ["1", "7"] {
        let mut child = start(&folder, &["run", "a.rules", "m.jsonl", "--jobs", jobs], Stdio::piped());
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut answers = String::new();
        output.read_line(&mut answers).expect("it answers");
        tell(&child, "TERM");
        output.read_to_string(&mut answers).expect("it ends");
        let (_, status, said) = end(child, None);
        assert_eq!(status, Some(143), "{said}");
        let written = in_turn(&answers);
        assert!(said.contains(&format!("shout {written}")), "{written}: {said}");
    }
}

/// The test does not read the output, so the program is blocked and cannot react to the first
/// signal. The second signal must end it at once.
#[test]
fn whoever_asks_twice_does_not_wait() {
    let folder = Folder::with(SMALL).file("m.jsonl", many());
    let mut child = start(&folder, &["run", "a.rules", "m.jsonl"], Stdio::piped());
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    output.read_line(&mut String::new()).expect("it answers");
    let status = loop {
        tell(&child, "TERM");
        if let Some(status) = child.try_wait().expect("it is a child") {
            break status;
        }
        std::thread::yield_now();
    };
    assert_eq!(status.signal(), Some(15), "{status:?}");
}

/// A killed run has written each result once and in order. The last result may be incomplete.
#[test]
fn what_is_killed_has_written_each_answer_once() {
    let folder = Folder::with(SMALL).file("m.jsonl", many());
    let expected = folder.rulec(&["run", "a.rules", "m.jsonl"]).expect(0).out;
    let output = folder.path("answers");
    for bytes in [1, 100_000, 1_000_000] {
        let file = std::fs::File::create(&output).expect("it can be written");
        let mut child = start(&folder, &["run", "a.rules", "m.jsonl"], file.into());
        while std::fs::metadata(&output).expect("it is there").len() < bytes
            && child.try_wait().expect("it is a child").is_none()
        {
            std::thread::yield_now();
        }
        child.kill().expect("it is a child");
        child.wait().expect("it ends");
        let written = std::fs::read_to_string(&output).expect("it is there");
        assert!(written.len() as u64 >= bytes && expected.starts_with(&written), "{}", written.len());
    }
}

/// Regression test: if a file was truncated while it was read, the missing messages were skipped
/// without an error.
#[test]
fn a_file_that_is_cut_while_it_is_read_is_said() {
    for jobs in ["1", "7"] {
        let folder = Folder::with(SMALL).file("m.jsonl", many());
        let mut child = start(&folder, &["run", "a.rules", "m.jsonl", "--jobs", jobs], Stdio::piped());
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut answers = String::new();
        // The program cannot read the file to its end before the test reads more of the pipe.
        output.read_line(&mut answers).expect("it answers");
        let file = std::fs::File::options().write(true).open(folder.path("m.jsonl")).expect("it is there");
        file.set_len(10).expect("it can be cut");
        output.read_to_string(&mut answers).expect("it ends");
        let (_, status, said) = end(child, None);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("`m.jsonl` was truncated while it was read"), "{said}");
        // The last line of the truncated file may be incomplete, and is then not a message.
        let whole = answers.trim_end().rsplit_once('\n').map_or("", |(whole, _)| whole);
        assert!((1..MANY).contains(&in_turn(whole)));
    }
}

/// It is not an error if the reader stops reading, as in `rulec run … | head`.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::with(SMALL).file("m.jsonl", many());
    let mut child = start(&folder, &["run", "a.rules", "m.jsonl"], Stdio::piped());
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut answers = String::new();
    output.read_line(&mut answers).expect("it answers");
    drop(output);
    let (_, status, said) = end(child, None);
    assert_eq!((in_turn(&answers), status, said.as_str()), (1, Some(0), ""));
}

/// Subcommands that write a file: the arguments, and the name of the file.
const WRITING: &[(&[&str], &str)] = &[
    (&["build", "a.rules"], "a.rulec"),
    (&["fmt", "a.rules"], "a.rules"),
    (&["check", "f.rules", "--fix"], "f.rules"),
    (&["import", "routes", "r.json", "-o", "b.rules", "--force"], "b.rules"),
    #[cfg(feature = "columns")]
    (&["run", "a.rules", "m.jsonl", "--output", "o.parquet"], "o.parquet"),
];

/// Creates input files so large that a full disk accepts only a part of the output.
fn large() -> Folder {
    let (mut rules, mut foreign) = (String::from("default -> d\n"), String::new());
    let mut routes = Vec::new();
    for number in 0..2_000 {
        let _ = writeln!(rules, "route r{number}   when text contains \"w{number}\" and n == {number} -> h");
        let _ = writeln!(foreign, "list l{number} = [\"a\"];");
        routes.push(format!("{{\"name\":\"r{number}\",\"handler\":\"h\",\"condition\":{{\"type\":\"RegexCondition\",\"pattern\":\"w{number}x\"}}}}"));
    }
    Folder::with(rules)
        .file("f.rules", foreign)
        .file("r.json", format!("[{}]", routes.join(",")))
        .file("m.jsonl", many())
        .file("a.rulec", "old")
        .file("b.rules", "default -> old\n")
        .file("o.parquet", "old")
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.dir.path()).expect("the folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Regression test: a file beyond the file size limit ended the program and left an incomplete
/// file.
#[test]
fn a_disk_that_is_full_has_the_old_file_or_none() {
    for (verb, file) in WRITING {
        let folder = large();
        let (before, there) = (std::fs::read(folder.path(file)).expect("it is there"), names(&folder));
        let line = format!("ulimit -f 1; exec \"$0\" {}", verb.join(" "));
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &line, env!("CARGO_BIN_EXE_rulec")]).current_dir(folder.dir.path());
        let output = shell.output().expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {said}");
        assert!(said.contains("cannot be written"), "{verb:?}: {said}");
        assert!(std::fs::read(folder.path(file)).expect("it is there") == before, "{verb:?}");
        assert_eq!(names(&folder), there, "{verb:?}");
        folder.rulec(verb);
        assert!(std::fs::read(folder.path(file)).expect("it is there") != before, "{verb:?} writes nothing");
    }
}

/// If a subcommand is killed at any moment, either the old or the new file is left, and is
/// complete.
#[test]
fn what_is_killed_while_it_writes_leaves_a_whole_file() {
    for (verb, file) in WRITING {
        let folder = large();
        let before = std::fs::read(folder.path(file)).expect("it is there");
        folder.rulec(verb);
        let after = std::fs::read(folder.path(file)).expect("it is there");
        let there = names(&folder);
        for moment in 0..12 {
            std::fs::write(folder.path(file), &before).expect("it can be written");
            let mut child = start(&folder, verb, Stdio::null());
            std::thread::sleep(std::time::Duration::from_millis(moment * 8));
            child.kill().expect("it is a child");
            child.wait().expect("it ends");
            let found = std::fs::read(folder.path(file)).expect("it is there");
            assert!(found == before || found == after, "{verb:?} {moment}: {} bytes", found.len());
            // Leftover temporary files have names that cannot be mistaken for project files.
            let left = names(&folder).into_iter().filter(|name| !there.contains(name));
            assert!(left.clone().all(|name| name.starts_with(".rulec-") && name.ends_with(".tmp")));
            left.for_each(|name| std::fs::remove_file(folder.path(&name)).expect("it can be removed"));
        }
    }
}

/// If a clock is set back, the times in a log decrease.
#[test]
fn a_log_whose_clock_was_set_back_is_read() {
    let line = |time: &str| {
        format!(
            "{{\"time\":\"{time}\",\"entry\":\"routes\",\"route\":\"shout\",\"path\":[\"routes\"],\"message\":{{\"text\":\"a!\"}}}}\n"
        )
    };
    let log = [line("2026-03-01T00:00:10Z"), line("2026-03-01T00:00:20Z"), line("2019-01-01T00:00:00Z")];
    let ran =
        Folder::with(SMALL).file("l.jsonl", log.concat()).rulec(&["doctor", "a.rules", "--log", "l.jsonl"]);
    let said = ran.out + &ran.err;
    assert!(said.contains("2019-01-01") && said.contains("2026-03-01"), "{said}");
}
