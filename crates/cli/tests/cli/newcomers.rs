//! Command lines as newcomers write them: options of other programs, arguments in another order,
//! quotes that a shell removed. Each error must propose the right command.

use super::{Folder, SMALL};

/// Runs the program and checks that its error output has these parts.
#[track_caller]
fn check(args: &[&str], parts: &[&str]) {
    let folder = Folder::with(SMALL).file("review.rules", "workflow review { node draft echo }\n");
    let ran = folder.rulec(args).expect(2);
    for part in parts {
        assert!(ran.err.contains(part), "{args:?} lacks `{part}`:\n{}", ran.err);
    }
    assert!(!ran.err.contains("as a value, use"), "{args:?}:\n{}", ran.err);
}

#[test]
fn options_of_other_programs_have_a_name_here() {
    check(
        &["workflow", "run", "review.rules", "--data", "{}"],
        &["--input <JSON>", "workflow run [OPTIONS]"],
    );
    check(&["test", "--grep", "money"], &["--filter <TEXT>"]);
    check(&["test", "-k", "money"], &["--filter <TEXT>"]);
    check(&["why", "a.rules", "--message", "{}"], &["--input <JSON>", "--text <TEXT>"]);
    check(&["run", "a.rules", "--out", "x.jsonl"], &["--output <FILE>"]);
    check(&["serve", "a.rules", "--port", "80"], &["--listen <ADDRESS>"]);
    check(&["check", "a.rules", "--quiet"], &["`rulec check --help` lists the options"]);
    // The nearest option of the program itself comes from clap.
    check(&["check", "a.rules", "--formt", "json"], &["--format"]);
}

#[test]
fn an_argument_too_many_has_its_remedy() {
    let written = "rulec why-not a.rules shout \"show my files\"";
    check(&["why-not", "a.rules", "shout", "show", "my", "files"], &[written]);
    check(&["why", "a.rules", "show", "my"], &["rulec why a.rules \"show my\""]);
    check(&["build", "a.rulec", "a.rules"], &["rulec build a.rules --output a.rulec"]);
    check(&["build", "a.rules", "a.rulec"], &["rulec build a.rules --output a.rulec"]);
    check(&["init", "my", "desk"], &["rulec init \"my desk\""]);
    check(&["explain", "E0101", "E0102"], &["`rulec explain` takes only"]);
}

#[test]
fn rules_come_before_the_text() {
    check(
        &["why", "run it", "a.rules"],
        &["`run it` is not a file of rules", "rulec why a.rules \"run it\""],
    );
    check(&["why-not", "run it", "a.rules", "shout"], &["rulec why-not a.rules shout \"run it\""]);
}

#[test]
fn init_names_a_file_in_place_of_a_folder() {
    check(&["init", "a.rules"], &["`a.rules` is a file, and `rulec init` creates a folder"]);
}

#[test]
fn json_without_its_quotes_is_explained() {
    let table = [
        ("{text: show}\n", "key is not a string", "write keys in double quotes"),
        ("{“text”: “show”}\n", "`“` is not a quote of JSON", "the straight quote"),
        ("{\"text\"：\"show\"}\n", "`：` is not a mark of JSON", "the narrow mark"),
        ("{\"text\": show}\n", "expected a JSON value, found `s`", "write a text in double quotes"),
    ];
    for (line, message, help) in table {
        let ran = Folder::with(SMALL).fed(&["run", "a.rules"], line).expect(1);
        assert!(ran.out.contains(message) && ran.out.contains(help), "{line}{}", ran.out);
    }
    Folder::with(SMALL).fed(&["run", "a.rules"], "{\"text\": \"“show”\"}\n").expect(0);
}
