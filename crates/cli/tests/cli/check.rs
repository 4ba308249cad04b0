//! Tests of `rulec check`.

use super::{Folder, SMALL};

const TWICE: &str = "let a = \"x\"\nlet a = \"y\"\nroute r when text == a -> h\n";
const UNUSED: &str = "let a = \"x\"\nroute r when text == \"y\" -> h\ndefault -> h\n";

#[test]
fn sound_files_say_so() {
    let ran = Folder::with(SMALL).rulec(&["check", "a.rules"]).expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "1 file checked: no problems\n"));
}

#[test]
fn severe_findings_are_first_and_unread_fields_are_last_in_one_line() {
    let rules = "input { text: string, unread: int }\nlet a = \"x\"\nroute r when text == \"y\" -> h\n\
                 route s when text == \"y\" -> h\ndefault -> h\n";
    let ran = Folder::with(rules).rulec(&["check"]).expect(0);
    let codes: Vec<&str> = ran.out.lines().filter(|line| line.contains("W0")).collect();
    assert_eq!(codes[..2], ["W0213", "W0102"], "{}", ran.out);
    assert!(codes[2].starts_with("a.rules:1:23: warning[W0105]: no rule reads the input field `unread`"));
    assert_eq!(codes.len(), 3, "{}", ran.out);
    assert!(ran.err.ends_with("run `rulec explain W0213`\n"), "{}", ran.err);
}

#[test]
fn people_see_the_text_underlined() {
    let ran = Folder::with(TWICE).rulec(&["check", "a.rules"]).expect(1);
    insta::assert_snapshot!(ran.out, @r#"
    E0203

      × the let `a` is declared twice
       ╭─[a.rules:2:5]
     1 │ let a = "x"
       ·     ┬
       ·     ╰── first declared here
     2 │ let a = "y"
       ·     ┬
       ·     ╰── declared again
     3 │ route r when text == a -> h
       ╰────
      help: rename one of them or remove it
    "#);
    assert_eq!(ran.err, "1 file checked: 1 error\nfor more about a code, run `rulec explain E0203`\n");
}

#[test]
fn places_in_other_files_are_shown_as_well() {
    let main = "import \"shared/lib.rules\"\nlet a = \"y\"\nroute r when text == a -> h\n";
    let folder = Folder::with(main).file("shared/lib.rules", "let a = \"x\"\n");
    let ran = folder.rulec(&["check", "a.rules"]).expect(1);
    insta::assert_snapshot!(ran.out, @r#"
    E0203

      × the let `a` is declared twice
       ╭─[a.rules:2:5]
     1 │ import "shared/lib.rules"
     2 │ let a = "y"
       ·     ┬
       ·     ╰── declared again
     3 │ route r when text == a -> h
       ╰────
       ╭─[shared/lib.rules:1:5]
     1 │ let a = "x"
       ·     ┬
       ·     ╰── first declared here
       ╰────
      help: rename one of them or remove it
    "#);
}

#[test]
fn the_primary_place_comes_first() {
    let between = "\n".repeat(10_000);
    let rules = format!("let a = \"x\"\r\n{between}let a = \"y\"\r\nroute r when text == a -> h\r\n");
    let ran = Folder::with(rules).rulec(&["check", "a.rules"]).expect(1);
    insta::assert_snapshot!(ran.out, @r#"
    E0203

      × the let `a` is declared twice
           ╭─[a.rules:10002:5]
     10001 │ 
     10002 │ let a = "y"
           ·     ┬
           ·     ╰── declared again
     10003 │ route r when text == a -> h
           ╰────
       ╭─[a.rules:1:5]
     1 │ let a = "x"
       ·     ┬
       ·     ╰── first declared here
     2 │ 
       ╰────
      help: rename one of them or remove it
    "#);
}

#[test]
fn what_a_terminal_cannot_show_is_pictured() {
    let wide = "route 查订单\twhen text contains \"订单\"\tand text > 3 -> h\n";
    let ran = Folder::with(wide).rulec(&["check", "a.rules"]).expect(1);
    let snippet: Vec<&str> = ran.out.lines().skip(3).take(6).collect();
    insta::assert_snapshot!(snippet.join("\n"), @r#"
       ╭─[a.rules:1:44]
     1 │ route 查订单    when text contains "订单"   and text > 3 -> h
       ·                                                 ──┬─ ─ ┬
       ·                                                   │  │ ╰── int
       ·                                                   ╰── string
       ╰────
    "#);
    let folder = Folder::with("route a when text == \"\u{202e}x\" -> h # \u{1b}[31m\n\u{1b}");
    let ran = folder.rulec(&["check", "a.rules"]).expect(1);
    assert!(!ran.out.contains(['\u{1b}', '\u{202e}']), "{}", ran.out);
}

#[test]
fn long_lines_are_cut_to_what_matters() {
    let words: Vec<String> = (0..20_000).map(|n| format!("\"word{n}\"")).collect();
    let rules = format!("route a when text in [{}] and txt > 3 and text > 3 -> h", words.join(", "));
    let ran = Folder::with(&rules).rulec(&["check", "a.rules"]).expect(1);
    assert!(ran.out.lines().all(|line| line.chars().count() < 400), "{}", ran.out);
    assert!(ran.out.contains("\"word19999\"] and txt > 3 and text > 3 -> h"), "{}", ran.out);
    let column = rules.find("> 3 -> h").expect("the place") + 1;
    assert!(ran.out.contains(&format!("[a.rules:1:{column}]")), "{}", ran.out);
}

#[test]
fn a_flood_is_cut_short_for_people_only() {
    let rules: String = (0..150).map(|n| format!("route r{n} when text > {n} -> h\n")).collect();
    let folder = Folder::with(rules);
    let ran = folder.rulec(&["check", "a.rules"]).expect(1);
    assert_eq!(ran.out.matches("E0301").count(), 100);
    assert!(ran.out.contains("… and 50 more in a.rules"), "{}", ran.out);
    assert!(ran.err.starts_with("1 file checked: 150 errors\n"), "{}", ran.err);
    assert_eq!(folder.rulec(&["check", "a.rules", "--format", "json"]).out.lines().count(), 150);
}

#[test]
fn json_holds_everything() {
    let ran = Folder::with(TWICE).rulec(&["check", "a.rules", "--format", "json"]).expect(1);
    let place = |line: u32| serde_json::json!({"file": "a.rules", "line": line, "column": 5, "end_line": line, "end_column": 6});
    let mut labels = [place(2), place(1)];
    labels[0]["text"] = "declared again".into();
    labels[1]["text"] = "first declared here".into();
    let mut expected = place(2);
    expected["version"] = 1.into();
    expected["code"] = "E0203".into();
    expected["severity"] = "error".into();
    expected["message"] = "the let `a` is declared twice".into();
    expected["labels"] = labels.as_slice().into();
    expected["help"] = "rename one of them or remove it".into();
    expected["fixes"] = serde_json::json!([]);
    assert_eq!(ran.json(), [expected]);

    let slip = "input { text: string, test: string }\nroute r when tezt == \"x\" -> h\n";
    let ran = Folder::with(slip).rulec(&["check", "a.rules", "--format", "json"]).expect(1);
    let fix = &ran.json()[0]["fixes"][0];
    // `test` is a reserved word.
    assert_eq!((&fix["replacement"], &fix["column"]), (&"`test`".into(), &14.into()));
    assert_eq!(fix["applicability"], "maybe_incorrect");
}

#[test]
fn github_gets_annotations() {
    let folder = Folder::new().file("x/a,b.rules", TWICE);
    let ran = folder.rulec(&["check", "x", "--format", "github"]).expect(1);
    let expected = "::error file=x/a%2Cb.rules,line=2,col=5,endLine=2,endColumn=6,title=E0203::the let `a` is \
                    declared twice%0Ahelp: rename one of them or remove it\n";
    assert_eq!(ran.out, expected);
    let ran = Folder::with(UNUSED).rulec(&["check", "a.rules", "--format", "github"]).expect(0);
    assert!(ran.out.starts_with("::warning file=a.rules,line=1,col=5,"), "{}", ran.out);
}

#[test]
fn warnings_fail_only_when_denied() {
    let folder = Folder::with(UNUSED);
    let ran = folder.rulec(&["check", "a.rules"]).expect(0);
    assert!(ran.out.contains("W0102") && ran.err.starts_with("1 file checked: 1 warning\n"), "{}", ran.err);
    let ran = folder.rulec(&["check", "a.rules", "--deny", "warnings"]).expect(1);
    assert!(ran.err.starts_with("1 file checked: 1 warning (denied)\n"), "{}", ran.err);
}

#[test]
fn folders_are_searched_and_fragments_judged_with_their_importers() {
    // Alone, the fragment would be wrong: only `main.rules` declares `ctx.at`.
    let main = "import \"../lib/part.rules\"\ninput { ctx: { at: datetime } }\nroute r when late -> h\ndefault -> h\n";
    let folder = Folder::new()
        .file("rules/b/main.rules", main)
        .file("rules/lib/part.rules", "let late = hour(ctx.at, \"UTC\") > 20\n")
        .file("rules/c/bad.rules", "route r when\n")
        .file("rules/a.rules", UNUSED)
        .file("rules/.hidden/x.rules", "nonsense")
        .file("rules/notes.txt", "nonsense");
    let ran = folder.rulec(&["check", "rules", "--format", "json"]).expect(1);
    let found: Vec<(String, String)> = ran
        .json()
        .iter()
        .map(|line| {
            (line["file"].as_str().unwrap_or("").to_owned(), line["code"].as_str().unwrap_or("").to_owned())
        })
        .collect();
    let expected = [("rules/a.rules", "W0102"), ("rules/c/bad.rules", "E0101")];
    assert_eq!(found, expected.map(|(file, code)| (file.to_owned(), code.to_owned())));
    assert_eq!(ran.err, "4 files checked: 1 error, 1 warning\n");
}

#[test]
fn a_shared_mistake_is_shown_once() {
    let importer = "import \"lib.rules\"\nroute r when text == x -> h\n";
    let folder = Folder::new()
        .file("r/a.rules", importer)
        .file("r/b.rules", importer)
        .file("r/lib.rules", "let x = \"a\"\nlet x = \"b\"\n");
    let ran = folder.rulec(&["check", "r"]).expect(1);
    assert_eq!(ran.out.matches("E0203").count(), 1, "{}", ran.out);
    let ran = folder.rulec(&["check", "r/a.rules", "r/b.rules"]).expect(1);
    assert!(ran.err.starts_with("2 files checked: 1 error\n"), "{}", ran.err);
}

#[test]
fn files_that_import_each_other_are_not_passed_over() {
    let folder =
        Folder::new().file("r/a.rules", "import \"b.rules\"\n").file("r/b.rules", "import \"a.rules\"\n");
    let ran = folder.rulec(&["check", "r", "--format", "json"]).expect(1);
    assert!(ran.json().iter().any(|line| line["code"] == "E0007"), "{}", ran.out);
}

#[test]
fn the_root_may_be_widened() {
    let folder = Folder::new()
        .file("x/a.rules", "import \"../lib.rules\"\nroute r when text == w -> h\n")
        .file("lib.rules", "let w = \"w\"\n");
    let ran = folder.rulec(&["check", "x/a.rules"]).expect(1);
    assert!(ran.out.contains("E0005"), "{}", ran.out);
    folder.rulec(&["check", "x/a.rules", "--root", "."]).expect(0);
}

#[test]
fn host_functions_may_be_missing() {
    let rules = "extern fn score(text: string) -> int\nroute r when score(text) > 3 -> h\ndefault -> h\n";
    Folder::with(rules).rulec(&["check", "a.rules", "--deny", "warnings"]).expect(0);
}

/// The heading of a finding must contain the primary location, even if other spans are underlined
/// too. JSON reports the same location, and terminals jump to it.
#[test]
fn human_and_json_agree_on_the_place() {
    let padding = "# nothing\n".repeat(20);
    let rules = format!(
        "handler h(n: int)\nlet a = 1\n{padding}\u{feff}let a = 2\nlet c = \"\u{6587}\" let a = 3\n\
         route r when text == \"x\" -> h(m: 1)\nroute r when text == \"y\" -> h(n: \"x\")\nroute s when x > 3 and x like \"y\" -> h(n: 1)\n"
    );
    let imported = "import \"b.rules\"\nlet b = 1\ndefault -> h\n";
    for rules in [rules.as_str(), imported] {
        let folder = Folder::with(rules).file("b.rules", format!("{padding}let b = 2\nhandler g()\n"));
        let json = folder.rulec(&["check", "a.rules", "--format", "json"]).expect(1).json();
        let human = folder.rulec(&["check", "a.rules"]).expect(1).out;
        let shown: Vec<&str> = human.split("\n\n  ").skip(1).collect();
        assert!(!json.is_empty() && json.len() == shown.len(), "{human}");
        for (found, shown) in json.iter().zip(shown) {
            let file = found["file"].as_str().unwrap_or_default();
            let first = format!("[{file}:{}:{}]", found["line"], found["column"]);
            let heading = shown.lines().find(|line| line.contains("\u{2500}["));
            assert!(heading.is_some_and(|line| line.contains(&first)), "{first}: {shown}");
        }
    }
}

/// Rules with a route that the previous route hides, and with an unused `let`.
const HIDDEN: &str = "let unused = 1\nroute a when n > 1 -> a\nroute b when n > 2 -> b\ndefault -> d\n";

#[test]
fn warnings_are_denied_and_allowed_by_code() {
    let folder = Folder::with(HIDDEN);
    let check = |args: &[&str], status: i32, said: &str| {
        let ran = folder.rulec(&[&["check", "a.rules"], args].concat()).expect(status);
        assert!(ran.err.starts_with(said), "{args:?}: {}", ran.err);
        ran
    };
    check(&[], 0, "1 file checked: 2 warnings\n");
    check(&["--deny", "W0213"], 1, "1 file checked: 2 warnings (1 denied)\n");
    check(&["--deny", "w0102,W0213"], 1, "1 file checked: 2 warnings (denied)\n");
    let ran = check(&["--allow", "W0213"], 0, "1 file checked: 1 warning\n");
    assert!(!ran.out.contains("W0213"), "{}", ran.out);
    check(
        &["--allow", "W0213", "--allow", "W0102", "--deny", "warnings"],
        0,
        "1 file checked: no problems\n",
    );
    let ran = check(&["--deny", "W0213", "--format", "github"], 1, "");
    assert!(ran.out.contains("::error file=a.rules,line=3"), "{}", ran.out);
    let ran = check(&["--deny", "W0213", "--format", "json"], 1, "");
    assert!(ran.json().iter().any(|found| found["code"] == "W0213" && found["denied"] == true));
    let refused = |args: &[&str], said: &str| {
        let ran = folder.rulec(&[&["check", "a.rules"], args].concat()).expect(2);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    };
    refused(&["--deny", "W9999"], "there is no warning `W9999`");
    refused(&["--allow", "E0101"], "`E0101` is an error, and the severity of an error cannot be changed");
    refused(&["--allow", "W0213", "--deny", "W0213"], "`W0213` is both denied and allowed");
}

#[test]
fn settings_are_found_upward_and_refused_with_a_place() {
    let settings = "deny-warnings = true\n[severity]\nW0102 = \"allow\"\n";
    let folder = Folder::new().file("rulec.toml", settings).file("rules/a.rules", HIDDEN);
    let ran = folder.rulec(&["check", "rules/a.rules"]).expect(1);
    assert!(ran.err.starts_with("1 file checked: 1 warning (denied)\n"), "{}", ran.err);
    folder.rulec(&["check", "rules", "--allow", "W0213"]).expect(0);
    // Only the nearest settings file counts.
    let folder = folder.file("rules/rulec.toml", "[severity]\nW0213 = \"warn\"\n");
    folder.rulec(&["check", "rules/a.rules"]).expect(0);
    folder.rulec(&["check", "rules/a.rules", "--deny", "warnings"]).expect(1);
    let folder = folder.file("rules/rulec.toml", "[severity]\n\nW0213 = \"eror\"\n");
    let ran = folder.rulec(&["check", "rules/a.rules"]).expect(2);
    assert!(
        ran.err.contains("rules/rulec.toml:3:9: expected `\"allow\"`, `\"warn\"` or `\"deny\"`"),
        "{}",
        ran.err
    );
    let folder = folder.file("rules/rulec.toml", "severty = 1\n");
    let ran = folder.rulec(&["check", "rules"]).expect(2);
    assert!(
        ran.err.contains("rulec.toml:1:1: there is no setting `severty`; did you mean `severity`?"),
        "{}",
        ran.err
    );
    let folder = folder.file("rules/rulec.toml", "= 1\n");
    folder.rulec(&["check", "rules"]).expect(2);
}

#[test]
fn ties_are_strict_where_they_are_asked_to_be() {
    let folder = Folder::with("route a when n > 1 -> a\nroute b when m > 1 -> b\ndefault -> d\n");
    folder.rulec(&["check", "a.rules", "--deny", "warnings"]).expect(0);
    let ran = folder.rulec(&["check", "a.rules", "--strict-ties", "--deny", "W0214"]).expect(1);
    assert!(ran.out.contains("both hold for {\"m\":2,\"n\":2}"), "{}", ran.out);
    folder.file("rulec.toml", "strict-ties = true").rulec(&["check", "a.rules", "--deny", "W0214"]).expect(1);
}

#[test]
fn the_worst_case_is_told_and_held_to() {
    let rules = "route a when n > 1 -> a\nroute b when text contains \"x\" -> b\ndefault -> d\n";
    let folder = Folder::with(rules);
    let ran = folder.rulec(&["check", "a.rules", "--cost"]).expect(0);
    insta::assert_snapshot!(ran.out);
    let ran = folder.rulec(&["check", "a.rules", "--max-cost", "1000"]).expect(1);
    assert!(
        ran.err.contains("`routes` may take 1,048,577 steps in the worst case, but only 1,000 are allowed"),
        "{}",
        ran.err
    );
    folder.rulec(&["check", "a.rules", "--max-cost", "1048577"]).expect(0);
    let ran = folder.rulec(&["check", "a.rules", "--cost", "--format", "json"]).expect(0);
    assert_eq!(ran.json()[0]["cost"]["statements"][0]["name"], "b");
    let folder = folder.file("rulec.toml", "max-cost = 10");
    folder.rulec(&["check", "a.rules"]).expect(1);
}
