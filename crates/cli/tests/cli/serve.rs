//! Tests of `rulec run --server`, which lets a `rulec serve` process decide the messages.

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
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(folder: &Folder) -> Service {
        let program = assert_cmd::cargo::cargo_bin!("rulec");
        let mut command = Command::new(program);
        for name in OWN_SETTINGS {
            command.env_remove(name);
        }
        let command = command.args(["serve", "a.rules", "--listen", "127.0.0.1:0"]);
        let command = command.current_dir(folder.dir.path()).stdout(Stdio::piped()).stderr(Stdio::null());
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
    }
    let good = folder.fed(&["run", "a", "--server", &service.url], "{}\n").expect(0);
    assert!(good.out.contains("\"chosen\":\"default\""), "{}", good.out);
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
