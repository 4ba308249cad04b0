//! Tests of `rulec check --fix`.

use super::Folder;
use std::fs;

/// Rules with symbols of other languages. Each symbol has one machine-applicable fix.
const FOREIGN: &str = "route a when x == 'y' && z => h\ndefault -> h;\n";
const REPAIRED: &str = "route a when x == \"y\" and z -> h\ndefault -> h\n";

fn text(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path(name)).expect("the file can be read")
}

#[test]
fn safe_suggestions_are_applied_and_the_result_is_checked() {
    let folder = Folder::with(FOREIGN);
    let ran = folder.rulec(&["check", "--fix", "a.rules"]).expect(0);
    insta::assert_snapshot!(ran.err, @r"
    4 repairs made in 1 file
    1 file checked: no problems
    ");
    assert_eq!(text(&folder, "a.rules"), REPAIRED);
    let ran = folder.rulec(&["check", "--fix", "a.rules"]).expect(0);
    assert!(ran.err.starts_with("0 repairs made in 0 files\n"), "{}", ran.err);
}

/// Each of these slips has exactly one remedy, which `--fix` applies.
#[test]
fn slips_with_one_remedy_are_repaired() {
    let rules = "input { text: string, ctx: { tier: string, vip: bool } }\n\
                 ruote gold when ctx.teir == \"gold\" -> h\n\
                 route known when ctx.vip == True and text.lower() in (\"a\") h\n";
    let repaired = "input { text: string, ctx: { tier: string, vip: bool } }\n\
                    route gold when ctx.tier == \"gold\" -> h\n\
                    route known when ctx.vip == true and lower(text) in [\"a\"] -> h\n";
    let folder = Folder::with(rules);
    folder.rulec(&["check", "--fix", "a.rules"]).expect(0);
    assert_eq!(text(&folder, "a.rules"), repaired);
}

/// Former bug: `--fix` left the invisible characters of a list file, although W0004 says that it
/// removes them.
#[test]
fn invisible_characters_of_a_list_file_are_removed() {
    let rules = "list words = from \"words.txt\"\nroute a when text contains any words -> h\ndefault -> h\n";
    let line = |number: usize| format!("wo\u{200b}rd {number}\u{ad}");
    let lines: Vec<String> = (0..30).map(line).collect();
    let folder = Folder::with(rules).file("words.txt", format!("\u{feff}{}\nme\u{e9}\n", lines.join("\r\n")));
    let ran = folder.rulec(&["check", "a.rules"]).expect(0);
    assert!(ran.out.contains("line 1 of the list file") && !ran.out.contains("line 21 of"), "{}", ran.out);
    folder.rulec(&["check", "--fix", "a.rules"]).expect(0);
    let clean = lines.join("\r\n").replace(['\u{200b}', '\u{ad}'], "");
    assert_eq!(text(&folder, "words.txt"), format!("\u{feff}{clean}\nme\u{e9}\n"));
    assert_eq!(text(&folder, "a.rules"), rules);
    // A statement may allow the characters, and then they stay.
    let allowed = format!("# rulec: allow W0004 the words need them\n{rules}");
    let folder = Folder::with(&allowed).file("words.txt", "wo\u{200b}rd\n");
    folder.rulec(&["check", "--fix", "a.rules"]).expect(0);
    assert_eq!(text(&folder, "words.txt"), "wo\u{200b}rd\n");
}

#[test]
fn wildcards_and_enumerations_of_other_languages_are_repaired() {
    let rules = "input { text: string, file: string, tier: enum[\"free\", \"gold\"], kind: string in [\"a\"] }\n\
                 route refunds when text contains \"%refund%\" and kind == \"a\" -> h\n\
                 route images when file == \"*.png\" and tier == \"gold\" -> h\n\
                 route greetings when text starts_with \"hello|hi\" -> h\n\
                 route starts when text contains \"^pay\" -> h\n\
                 route codes when text contains any [\"error\", 500, true] -> h\n\
                 default -> d\n";
    let repaired = "input { text: string, file: string, tier: \"free\" | \"gold\", kind: \"a\" }\n\
                    route refunds when text contains \"refund\" and kind == \"a\" -> h\n\
                    route images when file like \"*.png\" and tier == \"gold\" -> h\n\
                    route greetings when text starts_with any [\"hello\", \"hi\"] -> h\n\
                    route starts when text starts_with \"pay\" -> h\n\
                    route codes when text contains any [\"error\", \"500\", \"true\"] -> h\n\
                    default -> d\n";
    let folder = Folder::with(rules);
    folder.rulec(&["check", "--fix", "a.rules"]);
    assert_eq!(text(&folder, "a.rules"), repaired);
    folder.rulec(&["check", "a.rules"]).expect(0);
}

/// If a rule names a value that the enumeration lacks, the value may be a new one. So the suggested
/// value is only a guess, and `--fix` does not apply it.
#[test]
fn a_misspelt_value_of_an_enumeration_is_a_guess() {
    let rules = "input { tier: \"free\" | \"gold\" }\nroute a when tier == \"golt\" -> h\ndefault -> d\n";
    let folder = Folder::with(rules);
    let ran = folder.rulec(&["check", "--fix", "a.rules"]).expect(1);
    assert_eq!(text(&folder, "a.rules"), rules);
    assert!(ran.err.contains("did you mean \"gold\"?") || ran.out.contains("did you mean \"gold\"?"));
}

#[test]
fn a_dry_run_shows_the_patch_and_writes_nothing() {
    let folder = Folder::with(FOREIGN);
    let ran = folder.rulec(&["check", "--fix", "--dry-run", "a.rules"]).expect(0);
    insta::assert_snapshot!(ran.out, @r#"
    --- a.rules
    +++ a.rules
    @@ -1,2 +1,2 @@
    -route a when x == 'y' && z => h
    -default -> h;
    +route a when x == "y" and z -> h
    +default -> h
    "#);
    assert_eq!(text(&folder, "a.rules"), FOREIGN);
    folder.rulec(&["check", "--dry-run", "a.rules"]).expect(2);
}

#[test]
fn guesses_are_not_applied_and_are_reported() {
    let rules = "input { text: string, test: string }\nroute a when tezt == \"x\" && text == \"y\" -> h\n";
    let folder = Folder::with(rules);
    let ran = folder.rulec(&["check", "--fix", "--format", "concise", "a.rules"]).expect(1);
    assert_eq!(text(&folder, "a.rules"), rules.replace("&&", "and"));
    assert!(ran.out.starts_with("a.rules:2:14: error[E"), "{}", ran.out);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
}

/// Regression test: `x&&y` became the name `xandy`, which compiled with a different meaning.
#[test]
fn a_repair_does_not_grow_together_with_its_neighbours() {
    let folder = Folder::with("route a when x&&y -> h\n");
    folder.rulec(&["check", "--fix", "a.rules"]).expect(0);
    assert_eq!(text(&folder, "a.rules"), "route a when x and y -> h\n");
}

/// A file that is imported but not named on the command line is not changed.
#[test]
fn only_the_files_named_are_written() {
    let shared = "let a = x == 'y'\n";
    let folder =
        Folder::with("import \"shared.rules\"\nroute r when a && b -> h\n").file("shared.rules", shared);
    folder.rulec(&["check", "--fix", "a.rules"]).expect(1);
    assert_eq!(text(&folder, "shared.rules"), shared);
    assert!(text(&folder, "a.rules").contains("a and b"));
    folder.rulec(&["check", "--fix", "."]).expect(0);
    assert_eq!(text(&folder, "shared.rules"), "let a = x == \"y\"\n");
}

#[test]
fn a_file_that_is_right_stays_as_it_is() {
    let folder = Folder::with(super::SMALL);
    folder.rulec(&["check", "--fix", "a.rules"]).expect(0);
    assert_eq!(text(&folder, "a.rules"), super::SMALL);
    let ran = folder.fed(&["check", "--fix", "-"], FOREIGN).expect(2);
    assert_eq!(ran.err, "error: `--fix` rewrites files, and standard input is not a file; give a file\n");
}
