//! Tests of wrong usage of the command line. Each error names what the author probably meant.

use super::{Folder, SMALL};

/// Runs the program, and checks its exit status and that it prints `expected`.
#[track_caller]
fn check(args: &[&str], status: i32, expected: &str) {
    let ran = Folder::with(SMALL).file("one.jsonl", "{\"text\": \"show\"}\n").rulec(args).expect(status);
    let printed = ran.out + &ran.err;
    assert!(printed.contains(expected), "{args:?}:\n{printed}");
}

#[test]
fn options_and_commands_of_other_programs_have_a_remedy() {
    check(&["-version"], 2, "'--version'");
    check(&["check", "-v", "a.rules"], 2, "`rulec check --help` lists the options");
    check(&["diff", "--name-only", "a.rules", "b.rules"], 2, "not their text: `rulec diff a.rules b.rules`");
    check(&["diff", "a.rules", "b.rules", "--stat=80"], 2, "not their text: `rulec diff a.rules b.rules`");
    check(&["diff", "a.rules", "b.rules", "--frob"], 2, "`--literal`, `--replay`, `--entry`");
    check(&["watch", "a.rules"], 2, "'test --watch'");
    check(&["lint", "a.rules"], 2, "'check'");
    check(&["--lang", "zh", "watch", "a.rules"], 2, "test --watch");
    check(&["watch", "test"], 2, "'test --watch'");
    check(&["lint", "test"], 2, "'check'");
    check(&["chekc", "test"], 2, "'check'");
}

#[test]
fn clap_gives_no_advice_to_pass_an_option_as_a_value() {
    let ran = Folder::with(SMALL).rulec(&["check", "-v", "a.rules"]).expect(2);
    assert!(!ran.err.contains("-- -v"), "{}", ran.err);
}

#[test]
fn missing_arguments_are_explained_in_their_order() {
    check(&["bench", "a.rules"], 2, "<INPUT> is: The messages, one JSON object per line");
    check(&["analyze", "a.rules"], 2, "rulec analyze [OPTIONS] <RULES> <TEXT|");
    check(&["why", "a.rules"], 2, "rulec why [OPTIONS] <RULES> <TEXT|");
}

#[test]
fn files_in_the_place_of_json_and_patterns_have_a_remedy() {
    check(&["why", "a.rules", "--input", "one.jsonl"], 2, "write `--input - < one.jsonl`");
    check(&["check", "*.rules"], 2, "a path has no pattern");
}

#[test]
fn the_order_of_a_run_is_corrected() {
    check(&["a.rules", "check"], 2, "the command comes first: `rulec check a.rules`");
    check(&["E0203", "explain"], 2, "the command comes first: `rulec explain E0203`");
    check(&["explain", "--code", "E0203"], 2, "the code follows without an option: `rulec explain E0203`");
    let json = "{\"text\":\"a\"}";
    check(&["run", "a.rules", "--input", json], 2, "`echo '{\"text\":\"a\"}' | rulec run a.rules`");
    check(
        &["run", "a.rules", "--input", "{\"text\":\"don't\"}"],
        2,
        r#"`echo '{"text":"don'\''t"}' | rulec run"#,
    );
    check(&["--lang", "en", "run", "a.rules", "--input", json], 2, "| rulec run a.rules`");
    check(&["my file.rules", "check"], 2, "`rulec check 'my file.rules'`");
    check(&["explain", "otherwse"], 2, "did you mean `rulec explain otherwise`?");
    let why = |arguments: &[&str], expected: &str| {
        let expected = format!("to explain a decision, write `rulec why {expected}`");
        check(&[&["explain"], arguments].concat(), 2, &expected);
    };
    why(&["W0131", "a.rules"], "a.rules --input -");
    why(&["a.rules", "W0131"], "a.rules --input -");
    why(&["refund", "a.rules"], "a.rules refund");
    why(&["a.rules", "a refund"], "a.rules 'a refund'");
    check(&["explain", "ismissing"], 2, "did you mean `rulec explain \"is missing\"`?");
}

/// Regression test: options before the command were read as its arguments.
#[test]
fn options_before_the_command_do_not_hide_the_order() {
    let exchanged = "the kind comes before the file: `rulec import routes router.json`";
    check(&["import", "router.json", "routes"], 2, exchanged);
    check(&["--lang", "en", "import", "router.json", "routes"], 2, exchanged);
    check(&["--lang", "en", "a.rules", "check"], 2, "`rulec --lang en check a.rules`");
    check(&["--lang=en", "a.rules", "--deny", "warnings", "check"], 2, "`rulec --lang=en check a.rules");
    check(&["--lang", "en", "why", "a.rules", "show", "it"], 2, "`rulec why a.rules \"show it\"`");
    check(&["--lang", "zh", "a.rules", "check"], 2, "`rulec --lang zh check a.rules`");
}

/// Regression test: the proposed command kept an option that it does not have.
#[test]
fn options_for_files_are_removed_together() {
    let json = "{\"text\":\"a\"}";
    let piped = "`echo '{\"text\":\"a\"}' | rulec run a.rules`";
    check(&["run", "--rules", "a.rules", "--data", json], 2, piped);
    check(&["run", "--data", json, "--rules", "a.rules"], 2, piped);
    check(&["run", "a.rules", &format!("--data={json}")], 2, piped);
    check(&["run", "--rules", "a.rules", "--messages", "one.jsonl"], 2, "`rulec run a.rules one.jsonl`");
    check(&["run", "--rules=a.rules", "--messages=one.jsonl"], 2, "`rulec run a.rules one.jsonl`");
    check(&["run", "--rules=a.rules", &format!("--data={json}")], 2, piped);
    check(&["run", "--messages", "one.jsonl", "--rules", "a.rules"], 2, "`rulec run a.rules one.jsonl`");
}

#[test]
fn words_are_explained_as_codes_are() {
    let explained = |word: &str| Folder::new().rulec(&["explain", word]).expect(0).out;
    assert!(explained("contains").starts_with("`contains` is an operator: "), "{}", explained("contains"));
    assert!(explained("len").starts_with("`len(x"), "{}", explained("len"));
    assert!(explained("And").starts_with("`and` is an operator: "), "{}", explained("And"));
    assert!(explained("When").starts_with("`when` is a word of the language: "), "{}", explained("When"));
    // The words of the language have the explanations that an editor shows.
    for word in ["route", "within", "otherwise", "loopback", "private"] {
        let text = explained(word);
        assert!(text.contains("` is a word of the language: ") && text.contains("\nexample: "), "{text}");
    }
}

#[test]
fn an_import_of_nothing_fails() {
    let messages = "[{\"text\": \"a\"}, {\"text\": \"b\"}]";
    let folder = Folder::new().file("m.json", messages);
    let ran = folder.rulec(&["import", "routes", "m.json", "-o", "a.rules"]).expect(1);
    assert!(ran.err.contains("every item was skipped, so no rules were written"), "{}", ran.err);
    assert!(!folder.path("a.rules").exists());
}

#[test]
fn an_argument_is_no_option() {
    let written = "`rulec why-not a.rules show --text 'my files'`";
    check(&["why-not", "a.rules", "--route", "show", "--text", "my files"], 2, written);
    check(&["why-not", "--route=show", "a.rules", "--text", "my files"], 2, written);
    check(&["why-not", "--text", "my files", "a.rules", "--rule", "show"], 2, written);
    check(&["import", "--type", "routes", "a.json"], 2, "`rulec import routes a.json`");
    check(&["why-not", "a.rules", "show", "--rooot", "b", "--text", "a"], 2, "'--root'");
}

#[test]
fn a_decision_is_explained_by_another_command() {
    check(&["explain", "a.rules", "--text", "my files"], 2, "write `rulec why a.rules --text 'my files'`");
    check(&["explain", "a.rules", "my files"], 2, "write `rulec why a.rules 'my files'`");
    check(&["explain", "a.rules"], 2, "write `rulec why a.rules --input -`");
    check(&["explain", "E0203", "--text", "a"], 2, "`rulec explain --help` lists the options");
}

#[test]
fn a_message_is_read_from_standard_input() {
    check(&["why", "a.rules"], 2, "write `rulec why a.rules --input -`");
    check(&["why-not", "a.rules", "show"], 2, "write `rulec why-not a.rules show --input -`");
}

#[test]
fn the_kind_of_a_document_is_missing() {
    check(&["import", "router.json"], 2, "as in `rulec import routes router.json`");
    check(&["import", "routers", "router.json"], 2, "'routes'");
}

#[test]
fn a_table_of_values_is_refused_as_a_whole() {
    let run = |input: &str, status: i32| Folder::with(SMALL).fed(&["run", "a.rules"], input).expect(status);
    for table in ["text,count\nshow my files,3\n", "text;count\n\"a; b\";3\n", "text\tcount\nshow\t3\n"] {
        let ran = run(table, 1);
        assert!(ran.err.contains("is a table of values (CSV)") && ran.out.is_empty(), "{table}{}", ran.err);
    }
    for other in
        ["text,count\n{\"text\": \"show, please\", \"n\": 3}\n", "show, please\nyes, now\n", "text\nshow\n"]
    {
        assert!(!run(other, 1).out.is_empty(), "{other}");
    }
}

#[test]
fn a_file_of_messages_in_the_place_of_rules_names_the_command() {
    check(&["test", "one.jsonl", "a.rules"], 1, "write `rulec run a.rules one.jsonl`");
    check(&["check", "one.jsonl"], 1, "`rulec check` reads rules, and no messages");
    check(&["run", "one.jsonl", "a.rules"], 1, "write `rulec run a.rules one.jsonl`");
    check(
        &["why-not", "one.jsonl", "a", "--text", "show it"],
        1,
        "write `rulec why-not my.rules a --text 'show it'`",
    );
    check(&["why", "a.rules", "one.jsonl"], 0, "`one.jsonl` is taken as the text of the message");
}

#[test]
fn commands_of_other_words_have_a_remedy() {
    check(&["compare", "a.rules", "a.rules"], 2, "'diff'");
    check(&["evaluate", "a.rules", "one.jsonl"], 2, "'run'");
    check(&["analyse", "a.rules"], 2, "'analyze'");
    check(&["whynot", "a.rules"], 2, "'why-not'");
    check(&["console", "a.rules"], 2, "'repl'");
    check(&["test", "--filter", "a.rules"], 2, "write `rulec test a.rules` for all its tests");
}

#[test]
fn an_import_of_another_document_shows_what_it_reads() {
    let import = |name: &str, text: &str, system: &str, expected: &str| {
        let ran = Folder::new().file(name, text).rulec(&["import", system, name]).expect(1);
        assert!(ran.err.contains(expected), "{system} {text}: {}", ran.err);
        ran.err
    };
    import("bot.yaml", "flows:\n  - flow_id: greet\n", "flows", "bot.yaml contains YAML");
    import("bot.txt", "---\nflows: []\n", "flows", "bot.txt contains YAML");
    import("bot.xml", "<flows/>\n", "flows", "bot.xml contains XML");
    import("a.json", "{\"flows\": [}", "flows", "a.json: ");
    for system in ["flows", "routes", "choice"] {
        let printed = import("a.json", "{\"other\": 3}", system, "; for example: {");
        let (_, example) = printed.split_once("for example: ").expect("an example");
        Folder::new().file("b.json", example).rulec(&["import", system, "b.json"]).expect(0);
    }
}

/// Regression: the message named only a script that a package does not contain.
#[cfg(not(feature = "studio"))]
#[test]
fn a_program_without_the_studio_says_how_to_get_it() {
    for arguments in [&["studio", "a.rules"][..], &["report", "a.rules", "-o", "report.html"]] {
        let ran = Folder::with("default -> h").rulec(arguments).expect(2);
        assert!(ran.err.contains("`cargo install rulec-cli --features studio`"), "{}", ran.err);
    }
}
