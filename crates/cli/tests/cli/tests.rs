//! Tests of `rulec test`.

use super::{Folder, SMALL};

const PASSES: &str = "route a when text == \"a\" -> h\n\
                      test \"a is a\" { given text = \"a\" expect a }\n\
                      test \"b is nothing\" { given text = \"b\" expect none }\n";

#[test]
fn tests_that_pass_are_listed() {
    let ran = Folder::with(PASSES).rulec(&["test", "a.rules"]).expect(0);
    assert_eq!(ran.out, "a.rules\n  ok      a is a\n  ok      b is nothing\n2 passed, 0 failed\n");
}

#[test]
fn a_failure_shows_what_was_expected_and_why() {
    let rules = "route a when text == \"a\" and n > 3 -> h\ndefault -> d\n\
                 test \"a is a\" { given text = \"a\" given n = 3 expect a }\n";
    let ran = Folder::with(rules).rulec(&["test", "a.rules"]).expect(1);
    insta::assert_snapshot!(ran.out, @r#"
    a.rules
      FAILED  a is a — expected a, got default
              at a.rules:3:6
              why: default → d
                message   text = "a"
                          n = 3

              ✗ a
              │  ✓ text == "a"   text = "a"
              │  ✗ n > 3         n = 3
              ✓ default  → d
    0 passed, 1 failed
    "#);
}

#[test]
fn without_files_everything_below_is_tested() {
    let folder = Folder::with(PASSES)
        .file("x/b.rules", "import \"lib.rules\"\nimport \"lib/part.rules\"\nroute b when late -> h\nroute c when early -> h\ntest \"b\" { given text = \"b\" expect b }")
        .file("x/lib.rules", "let late = text == \"b\"")
        .file("x/lib/part.rules", "import \"../lib.rules\"\nlet early = hour(now) < 6 and late")
        .file("y/none.rules", SMALL);
    let ran = folder.rulec(&["test"]).expect(0);
    let expected =
        "a.rules\n  ok      a is a\n  ok      b is nothing\nx/b.rules\n  ok      b\n3 passed, 0 failed\n";
    assert_eq!(ran.out, expected);
}

#[test]
fn a_folder_without_tests_fails_on_request() {
    let folder = Folder::with(SMALL);
    folder.rulec(&["test"]).expect(0);
    folder.rulec(&["test", "--fail-without-tests"]).expect(1);
    Folder::with(PASSES).rulec(&["test", "--fail-without-tests"]).expect(0);
}

#[test]
fn coverage_below_the_minimum_fails() {
    let rules = format!("{PASSES}route b when text == \"b\" and n > 1 -> h\n");
    let folder = Folder::with(rules);
    folder.rulec(&["test", "--fail-under", "50"]).expect(1);
    folder.rulec(&["test", "--fail-under", "route=50,condition=30"]).expect(0);
    let ran = folder.rulec(&["test", "--fail-under", "routes=60"]).expect(1);
    assert!(ran.err.contains("1 of 2 items of the kind `route` (50%), less than 60%"), "{}", ran.err);
    // Rules without any test are covered to 0%.
    let ran = Folder::with(SMALL).rulec(&["test", "--fail-under", "50"]).expect(1);
    assert!(ran.err.contains("(0%), less than 50%"), "{}", ran.err);
    folder.rulec(&["test", "--fail-under", "table=60"]).expect(2);
    folder.rulec(&["test", "--fail-under", "101"]).expect(2);
}

/// Regression test: the line of such a file had no share, as in `only.rules: , in 0 decisions`.
#[test]
fn a_file_without_items_is_not_in_the_coverage() {
    let folder = Folder::with(PASSES).file("only.rules", "let other = text == \"y\"\n");
    let ran = folder.rulec(&["test", "only.rules", "a.rules", "--coverage"]).expect(0);
    assert!(!ran.out.contains("only.rules"), "{}", ran.out);
    assert!(ran.out.contains("a.rules: "), "{}", ran.out);
}

/// Regression test: a file whose tests were only not selected counted as not covered.
#[test]
fn a_filter_also_selects_the_files_of_the_coverage() {
    let other = NAMED.replace("Finds", "Seeks").replace("finds", "seeks");
    let folder = Folder::with(NAMED).file("b.rules", &other).file("c.rules", SMALL);
    let options = ["test", "--coverage", "--filter", "seeks x", "--fail-under", "route=30"];
    let ran = folder.rulec(&options).expect(0);
    assert!(!ran.out.contains("a.rules: "), "{}", ran.out);
    assert!(ran.out.contains("b.rules: "), "{}", ran.out);
    // A file without tests is still not covered.
    assert!(ran.out.contains("c.rules: "), "{}", ran.out);
}

#[test]
fn what_does_not_compile_fails() {
    let folder = Folder::with(PASSES).file("b.rules", "route a when -> h");
    let ran = folder.rulec(&["test", "a.rules", "b.rules"]).expect(1);
    assert!(ran.err.contains("E0101"), "{}", ran.err);
    assert!(ran.out.ends_with("2 passed, 0 failed, 1 file could not be compiled\n"), "{}", ran.out);
    folder.rulec(&["test", "none.rules"]).expect(2);
}

#[test]
fn a_folder_without_rules_is_a_mistake() {
    let ran = Folder::new().rulec(&["test"]).expect(2);
    assert_eq!(ran.err, "error: there is no `.rules` file below `.`\n");
}

const NAMED: &str = "route r when text == \"x\" -> h\ntest \"Finds x\" { given text = \"x\" expect r }\ntest \"finds <y>\" { given text = \"y\" expect r }\n";

#[test]
fn a_filter_runs_the_tests_of_that_name() {
    let folder = Folder::with(NAMED);
    let ran = folder.rulec(&["test", "--filter", "FINDS X"]).expect(0);
    assert!(ran.out.ends_with("1 passed, 0 failed\n"), "{}", ran.out);
    let ran = folder.rulec(&["test", "--filter", "nothing"]).expect(2);
    let names = "the names are `Finds x`, `finds <y>`";
    assert_eq!(ran.err, format!("error: no `test` block has `nothing` in its name; {names}\n"));
    let ran = folder.rulec(&["test", "--filter", "finsd"]).expect(2);
    assert_eq!(ran.err, "error: no `test` block has `finsd` in its name; did you mean `finds`?\n");
}

#[test]
fn results_are_told_as_json_and_as_junit() {
    let folder = Folder::with(NAMED);
    let ran = folder.rulec(&["test", "--format", "json"]).expect(1);
    let results = ran.json();
    assert_eq!(results.len(), 2);
    assert_eq!(
        (&results[1]["line"], &results[1]["passed"], &results[1]["actual"]),
        (&3.into(), &false.into(), &"none".into())
    );
    assert_eq!(ran.err, "1 passed, 1 failed\n");
    let ran = folder.file("b.rules", "route").rulec(&["test", "--format", "junit"]).expect(1);
    assert!(
        ran.out.contains("<testsuites name=\"rulec test\" tests=\"3\" failures=\"2\" errors=\"0\">"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("<testcase classname=\"a.rules\" name=\"Finds x\"/>"), "{}", ran.out);
    assert!(
        ran.out.contains(
            "name=\"finds &lt;y&gt;\"><failure type=\"expectation\" message=\"expected r, got none\">"
        ),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("<testcase classname=\"b.rules\" name=\"compile\"><failure type=\"error\""),
        "{}",
        ran.out
    );
}
