//! Tests of `rulec serve`, and of the verbs with `--server`, which let a `rulec serve` process
//! answer.

#![cfg(all(feature = "http", feature = "serve"))]

use super::{Folder, OWN_SETTINGS, SMALL};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const MESSAGES: &str = "\
{\"text\": \"show it\", \"ctx\": {\"message_count\": 5}}
{\"text\": 7

{\"text\": \"hello!\"}
{\"text\": \"hello\", \"text\": \"twice\"}
[]
{\"text\": \"hello\", \"ctx\": {\"message_count\": 0.10000000000000000001}}
";

/// A process of `rulec serve` that is killed when this value is dropped.
pub(super) struct Service {
    child: Child,
    pub(super) url: String,
}

impl Service {
    pub(super) fn start(folder: &Folder) -> Service {
        Service::start_with(folder, &["a.rules"])
    }

    /// Starts a service with further arguments.
    pub(super) fn start_with(folder: &Folder, args: &[&str]) -> Service {
        Service::start_on(folder, args, Stdio::null())
    }

    /// Starts a service whose standard error goes to `events`.
    fn start_on(folder: &Folder, args: &[&str], events: Stdio) -> Service {
        let program = assert_cmd::cargo::cargo_bin!("rulec");
        let mut command = Command::new(program);
        for name in OWN_SETTINGS {
            command.env_remove(name);
        }
        let command = command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
        let command = command.current_dir(folder.dir.path()).stdout(Stdio::piped()).stderr(events);
        let mut child = command.spawn().expect("it starts");
        let mut url = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut url).expect("it prints its address");
        Service { child, url: url.trim().to_owned() }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_service_answers_with_the_bytes_of_the_program() {
    let rules =
        format!("{SMALL}table other {{ route big when ctx.message_count > 3 -> big  default -> small }}\n");
    let folder = Folder::with(rules);
    let service = Service::start(&folder);
    for options in [&[][..], &["--all"], &["--explain"], &["--entry", "other"], &["--analysis", "--all"]] {
        let here = folder.fed(&[&["run", "a.rules"], options].concat(), MESSAGES).expect(1);
        let asked = [&["run", "a.rules", "--server", &service.url], options].concat();
        let there = folder.fed(&asked, MESSAGES).expect(1);
        assert_eq!(there.out, here.out, "{options:?}");
        let counts = |text: &str| -> Vec<String> {
            let line = text.lines().last().expect("a summary");
            let (counts, errors) = line.split_once(" · ").expect("errors");
            let (all, routes) = counts.split_once(": ").expect("counts");
            // The service's answers do not have the order of the routes.
            let mut parts: Vec<String> = routes.split(", ").map(str::to_owned).collect();
            parts.sort_unstable();
            parts.extend([all.to_owned(), errors.to_owned()]);
            parts
        };
        assert_eq!(counts(&there.err), counts(&here.err), "{options:?}");
    }
    let good = folder.fed(&["run", "a", "--server", &service.url], "{}\n").expect(0);
    assert!(good.out.contains("\"chosen\":\"default\""), "{}", good.out);
}

/// Programs read the events, so nothing else may be on standard error.
#[test]
fn each_line_on_standard_error_is_an_event() {
    let folder = Folder::with(SMALL);
    let mut service = Service::start_on(&folder, &["a.rules"], Stdio::piped());
    let events = service.child.stderr.take().expect("it is piped");
    let status = Command::new("kill").arg(service.child.id().to_string()).status().expect("it runs");
    assert!(status.success());
    let lines: Vec<String> = BufReader::new(events).lines().map(|line| line.expect("a line")).collect();
    let events = lines.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let listening = events.into_iter().find(|event| event["event"] == "listening").expect("an event");
    assert_eq!(listening["address"], service.url.as_str());
}

#[test]
fn a_log_of_the_service_is_replayed() {
    let rules = |default: &str| {
        format!("route refund when text contains \"refund\" -> billing\ndefault -> {default}\n")
    };
    let folder = Folder::with(rules("chat")).file("b.rules", rules("boss"));
    let service = Service::start_with(&folder, &["a.rules", "--log", "log.jsonl", "--log-mode", "sync"]);
    let messages = "{\"text\": \"a refund\"}\n{\"text\": \"hello\"}\n";
    folder.fed(&["run", "a", "--server", &service.url], messages).expect(0);
    let status =
        Command::new("kill").args(["-HUP", &service.child.id().to_string()]).status().expect("it runs");
    assert!(status.success());
    let log = folder.path("log.jsonl");
    let read = || std::fs::read_to_string(&log).expect("a log");
    while !read().contains("\"change\"") {
        std::thread::yield_now();
    }
    drop(service);
    assert!(read().starts_with("{\"continues\"") || read().starts_with("{\"log\""), "{}", read());
    let same = folder.rulec(&["diff", "a.rules", "a.rules", "--replay", "log.jsonl"]).expect(0);
    assert!(same.out.contains("2 messages replayed"), "{}", same.out);
    let other =
        folder.rulec(&["diff", "a.rules", "b.rules", "--replay", "log.jsonl", "--format", "json"]).expect(1);
    let report: serde_json::Value = serde_json::from_str(&other.out).expect("JSON");
    let replay = &report["replay"];
    assert_eq!((&replay["messages"], &replay["refused"]), (&2.into(), &0.into()));
    assert_eq!(replay["flips"][0]["count"], 1);
    let seen = folder.rulec(&["doctor", "a.rules", "--log", "log.jsonl"]).expect(0);
    assert!(!seen.out.contains("left out"), "{}", seen.out);
}

/// A server that accepts one request, and returns its head and its body.
fn accept_request(listener: &std::net::TcpListener) -> (String, String) {
    use std::io::{Read, Write};

    let (stream, _) = listener.accept().expect("a request");
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).expect("a line") > 2 {
        head.push_str(&line.to_lowercase());
        line.clear();
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).expect("a body");
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    reader.get_mut().write_all(answer).expect("the client reads");
    (head, String::from_utf8(body).expect("UTF-8"))
}

#[test]
fn a_log_goes_to_a_server_or_to_the_collector() {
    let folder = Folder::with(SMALL).file("in.jsonl", "{\"text\": \"hello\"}\n");
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    let lines = format!("{url}/lines");
    let (spill, interval) = (folder.path("log"), "3600000");
    let spill = spill.to_str().expect("a path");
    // The collector gets the spans of the requests too.
    for (args, path, event) in [
        (&["--log", &lines, "--log-mode", "spill", "--log-spill", spill][..], "/lines", "\"log\":\"rulec\""),
        (&["--log", "otlp", "--otlp", &url, "--otlp-interval", interval], "/v1/logs", "rulec.decision"),
    ] {
        let service =
            Service::start_with(&folder, &[&["a.rules", "--log-sample", "*/none=0"], args].concat());
        folder.rulec(&["run", "a", "in.jsonl", "--server", &service.url]).expect(0);
        let (head, body) = std::iter::repeat_with(|| accept_request(&server))
            .find(|(head, _)| head.contains(path))
            .expect("a log");
        assert!(head.starts_with(&format!("post {path} ")), "{head}");
        assert!(body.contains(event) && body.contains("hello"), "{body}");
    }
}

#[test]
fn wrong_settings_of_the_log_are_named() {
    let folder = Folder::with(SMALL);
    for (args, word) in [
        (&["--log", "otlp"][..], "--otlp URL"),
        (&["--log", "l", "--log-sample", "2"], "routes/ping=0.01"),
        (&["--log", "http://127.0.0.1:1/", "--log-mode", "spill"], "--log-spill FILE"),
        (&["--log", "http://127.0.0.1:1/", "--log-token", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
        (&["--log", "ftp:l", "--log-sample-all"], "--log-sample"),
    ] {
        let refused =
            folder.rulec(&[&["serve", "a.rules", "--listen", "127.0.0.1:0"], args].concat()).expect(2);
        assert!(refused.err.contains(word), "{}", refused.err);
    }
}

#[test]
fn a_folder_is_listed_again() {
    let folder = Folder::new().file("rules/a.rules", SMALL).file("rules/deep/words.rules", "default -> no\n");
    let service = Service::start_with(&folder, &["rules"]);
    let run = |name: &str| folder.fed(&["run", name, "--server", &service.url], "{}\n");
    run("words").expect(0);
    std::fs::write(folder.path("rules/deep/b.rules"), "default -> b\n").expect("it can be written");
    while run("b").status != Some(0) {}
    std::fs::remove_file(folder.path("rules/deep/words.rules")).expect("it is there");
    while run("words").status == Some(0) {}
    run("a").expect(0);
}

#[test]
fn a_service_that_does_not_answer_is_named() {
    let folder = Folder::with(SMALL);
    let service = Service::start(&folder);
    let unknown = folder.fed(&["run", "b", "--server", &service.url], MESSAGES).expect(2);
    assert!(unknown.err.contains("there are no rules `b`"), "{}", unknown.err);
    let url = service.url.clone();
    drop(service);
    let gone = folder.fed(&["run", "a", "--server", &url], MESSAGES).expect(2);
    assert!(gone.err.contains("--server"), "{}", gone.err);
    let both = folder.fed(&["run", "a", "--server", &url, "--log", "l"], MESSAGES).expect(2);
    assert!(both.err.contains("--log"), "{}", both.err);
}

#[test]
fn rules_that_cannot_be_read_are_wrong_usage() {
    let folder = Folder::with(SMALL).file("broken.rules", "route a when -> b");
    for (file, status) in [("nosuch.rules", 2), ("broken.rules", 1)] {
        for verb in ["serve", "why"] {
            let args = [&[verb, file][..], if verb == "why" { &["x"] } else { &[] }].concat();
            let refused = folder.rulec(&args).expect(status);
            assert!(refused.err.contains(file), "{}", refused.err);
        }
    }
}

const HISTORY: &str = "input { text?: string, tool?: string, user?: string, card?: string @private, n?: decimal, now?: datetime }
history keep 1h
route again when any p in history: p.tool == tool and p.card == card -> slow_down
route exact when n == decimal(\"0.10000000000000000000001\") -> exact
table other { route big when n > 3 -> big  default -> small }
flow paid keyword exact [\"paid\"] -> \"paid\"
flow asked intent [\"where is my parcel\", \"track my order\"] -> \"asked\"
choice mood ask \"How is the user?\" { default branch calm \"calm\"  branch angry \"angry\" }
default -> run
test \"right\" { given tool = \"x\" expect default }
test \"wrong\" { given tool = \"x\" expect again }
";

#[test]
fn a_service_explains_as_the_program_does() {
    let folder = Folder::with(HISTORY);
    let service = Service::start(&folder);
    for message in [
        &["--input", "{\"tool\": \"x\", \"card\": \"4711\", \"n\": 5}"][..],
        &["--input", "{\"n\": 0.10000000000000000000001, \"tool\": \"\u{1b}[31m\"}"],
        &["--input", "{\"tool\": 5}"],
        &["where is my parcel", "--entry", "flows"],
        &["paid", "--entry", "flows"],
        &["hello", "--ctx", "{\"a\": 1.0}", "--entry", "other"],
        &["--text", "hello", "--entry", "mood"],
        &["--input", "{\"n\": 4, \"n\": 5}"],
        &["--input", "[1]"],
    ] {
        for options in [&[][..], &["--full"], &["--format", "json"]] {
            let here = folder.rulec(&[&["why", "a.rules"], message, options].concat());
            let server = ["--server", &service.url];
            let there = folder.rulec(&[&["why", "a.rules"], message, options, &server].concat());
            assert_eq!((there.status, &there.out), (here.status, &here.out), "{message:?}: {}", there.err);
        }
    }
    let args = ["why", "a", "--input", "{\"n\": 4, \"n\": 5}", "--server", &service.url];
    let refused = folder.rulec(&args).expect(1);
    assert!(refused.err.contains("E0604") && refused.err.contains("`--input`"), "{}", refused.err);
}

#[test]
fn a_service_runs_tests_as_the_program_does() {
    let folder = Folder::new().file("rules/a.rules", HISTORY).file("b.rules", "default -> b\n");
    let service = Service::start_with(&folder, &["rules/a.rules", "b.rules"]);
    for options in [
        &[][..],
        &["--filter", "RIGHT"],
        &["--filter", "none"],
        &["--format", "json"],
        &["--format", "junit"],
    ] {
        let here = folder.rulec(&[&["test", "rules/a.rules"], options].concat());
        let there = folder.rulec(&[&["test", "rules/a.rules", "--server", &service.url], options].concat());
        assert_eq!((there.status, &there.out), (here.status, &here.out), "{options:?}: {}", there.err);
    }
    let all = folder.rulec(&["test", "--server", &service.url]).expect(1);
    assert!(all.out.contains("1 passed, 1 failed") && all.out.contains("a.rules:"), "{}", all.out);
    let none = folder.rulec(&["test", "b", "--server", &service.url, "--fail-without-tests"]).expect(1);
    assert!(none.err.contains("there is no `test` block"), "{}", none.err);
}

/// The SHA-256 hash of `secret`, and a token with each scope alone.
const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

#[test]
fn a_service_that_refuses_says_why() {
    let folder = Folder::with(SMALL).file("tokens", format!("shop decide {SECRET}\n"));
    let service = Service::start_with(&folder, &["a.rules", "--tokens", "tokens"]);
    let asked = |verb: &[&str], token: Option<&str>| {
        let mut command = super::program(folder.dir.path());
        command.args(verb).args(["--server", &service.url]);
        if let Some(token) = token {
            command.env("RULEC_TOKEN", token);
        }
        super::Ran::new(command.output().expect("the program starts")).expect(2).err
    };
    for verb in [&["why", "a", "hello"][..], &["test", "a"], &["test"]] {
        let without = asked(verb, None);
        assert!(without.contains("wants a token") && without.contains("RULEC_TOKEN"), "{without}");
        let unknown = asked(verb, Some("other"));
        assert!(unknown.contains("wants a token") && unknown.contains("not known"), "{unknown}");
        let narrow = asked(verb, Some("secret"));
        assert!(narrow.contains("the token `shop` has not the scope `explain`"), "{narrow}");
    }
}

#[test]
fn a_service_with_other_rules_is_named() {
    let folder = Folder::with(SMALL);
    let service = Service::start(&folder);
    let asked = |args: &[&str], status: i32| folder.rulec(args).expect(status).err;
    for verb in [&["why", "a", "hello"][..], &["test", "a"]] {
        let with = |more: &[&'static str]| [verb, &["--server", &service.url], more].concat();
        assert!(folder.rulec(&with(&["--generation", "1"])).status.is_some_and(|status| status < 2));
        let old = asked(&with(&["--generation", "7"]), 2);
        assert!(old.contains("generation 1, not 7") && old.contains("--generation"), "{old}");
        let mut unknown = with(&[]);
        unknown[1] = "b";
        let unknown = asked(&unknown, 2);
        assert!(unknown.contains("there are no rules `b`"), "{unknown}");
    }
    let entry = asked(&["why", "a", "hello", "--entry", "none", "--server", &service.url], 2);
    assert!(entry.contains("none"), "{entry}");
    let both = asked(&["why", "a", "hello", "--show-private", "--server", &service.url], 2);
    assert!(both.contains("--show-private"), "{both}");
    let other = asked(&["why", "a", "hello", "--server", &format!("{}/none", service.url)], 2);
    assert!(other.contains("older") || other.contains("no service of rulec"), "{other}");
    let url = service.url.clone();
    drop(service);
    let gone = asked(&["why", "a", "hello", "--server", &url], 2);
    assert!(gone.contains("no service answers at") && gone.contains("rulec serve"), "{gone}");
    let wrong = asked(&["test", "a", "--server", "nowhere"], 2);
    assert!(wrong.contains("--server"), "{wrong}");
}

/// Returns the options of `rulec serve` in the text of a file for deployments.
fn options_in(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '[' | ']' | ','));
    words.filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap_or(word)).collect()
}

/// The files for deployments are not run here, so this test finds the options that are renamed.
#[test]
fn the_files_for_deployments_agree_with_the_program() {
    let help = Folder::new().rulec(&["serve", "--help"]).expect(0).out;
    let known: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().split([' ', ',']).find(|word| word.starts_with("--")))
        .collect();
    let container = include_str!("../../../../deploy/Containerfile");
    let compose = include_str!("../../../../deploy/compose.yaml");
    let unit = include_str!("../../../../deploy/rulec.service");
    let command = |start: &str| -> String {
        let after = container.lines().filter(|line| line.starts_with(start));
        after.collect::<Vec<_>>().join(" ")
    };
    let service = compose.split("  rulec:").nth(1).expect("a service");
    let service = service.split("    ports:").next().expect("the command comes before the ports");
    let started = unit.split("ExecStart=").nth(1).expect("a command");
    let started = started.split("ExecReload=").next().expect("the unit reloads");
    for (text, count) in
        [(command("ENTRYPOINT") + &command("CMD"), 2), (service.to_owned(), 4), (started.to_owned(), 4)]
    {
        let options = options_in(&text);
        assert!(options.len() >= count, "{options:?}");
        for option in options {
            assert!(known.contains(&option), "`rulec serve` has no option {option}: {known:?}");
        }
    }
    let features = include_str!("../../Cargo.toml");
    let built = command("RUN cargo");
    let feature = built.split("--features ").nth(1).expect("features").trim();
    assert!(features.lines().any(|line| line.starts_with(&format!("{feature} = ["))), "{feature}");
    // The collector listens where the service sends.
    let collector = include_str!("../../../../deploy/collector.yaml");
    assert!(service.contains("http://collector:4318") && compose.contains("\n  collector:\n"));
    assert!(collector.contains("endpoint: 0.0.0.0:4318"));
}

/// The limits of the decision log that the help names.
const LOG_LIMITS: rulec_serve::LogLimits = rulec_serve::LogLimits {
    max_waiting_lines: 10_000,
    max_waiting_bytes: 64 << 20,
    max_spill_bytes: 4 << 30,
};

/// The program, its help and the documentation have the same limits.
#[test]
fn the_help_and_the_documentation_have_all_limits() {
    let help = Folder::new().rulec(&["serve", "--help"]).expect(0).out;
    let documentation = include_str!("../../../../docs/serve.md");
    let section = documentation.split("### Limits\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows: Vec<&str> =
        section.expect("a section").lines().filter(|line| line.starts_with("| `")).collect();
    let mut labels = 0;
    for limit in rulec_serve::Limits::default().limit_rows(Some(LOG_LIMITS)) {
        let label = format!("`{}`", limit.name);
        let row = rows.iter().find(|row| row.split('|').nth(1).is_some_and(|cell| cell.contains(&label)));
        let row = row.unwrap_or_else(|| panic!("docs/serve.md lacks {label}"));
        labels += row.split('|').nth(1).map_or(0, |cell| usize::from(cell.trim().starts_with(&label)));
        match limit.option {
            Some(option) => {
                assert!(row.contains(&format!("`{option}`")), "{row}");
                let text = help.split(&format!("{option} <")).nth(1).expect(option);
                let default = text.split("[default: ").nth(1).and_then(|rest| rest.split(']').next());
                assert_eq!(default, Some(limit.value.to_string().as_str()), "{option}");
            }
            None => assert!(help.contains(&label), "the help lacks {label}"),
        }
        if limit.option.is_none() && limit.name != "bodies" {
            let value = match (limit.unit, limit.value) {
                ("bytes", bytes) if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
                ("bytes", bytes) => format!("{} KiB", bytes >> 10),
                (_, value @ 1_000..) => format!("{},{:03}", value / 1_000, value % 1_000),
                (_, value) => value.to_string(),
            };
            assert!(row.contains(&value) && help.contains(&value), "{label}: {value}");
        }
    }
    assert_eq!(labels, rows.len(), "a row of the documentation is no limit");
}
