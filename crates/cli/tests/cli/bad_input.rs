//! Checks of bad input as an author would write it. Each test compares the codes and locations of
//! the reported errors.

use super::Folder;

/// Runs `check` on `a.rules`, and returns the findings as lines of `CODE line:column`.
#[track_caller]
fn findings(folder: &Folder, status: i32) -> String {
    let ran = folder.rulec(&["check", "a.rules", "--format", "json"]).expect(status);
    // The rules of these tests lack a default on purpose, so the warning about it is left out.
    let about = ran.json().into_iter().filter(|found| found["code"] != "W0216");
    let found = about.map(|found| {
        let at = match (found["line"].as_u64(), found["column"].as_u64()) {
            (Some(line), Some(column)) => format!(" {line}:{column}"),
            _ => String::new(),
        };
        let file = found["file"].as_str().filter(|file| *file != "a.rules");
        let file = file.map_or(String::new(), |file| format!(" {file}"));
        format!("{}{file}{at}", found["code"].as_str().unwrap_or_default())
    });
    found.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_mistake_has_its_code_and_place() {
    let table: &[(&str, &str, &str)] = &[
        ("empty file", "", "E0004 1:1"),
        ("only comments", "# nothing\n", "E0004 1:1"),
        ("unknown keyword", "rout a when text == \"x\" -> h", "E0102 1:1"),
        ("unclosed string", "route a when text == \"x -> h\n", "E0103 1:22"),
        ("unclosed parenthesis", "route a when (text == \"x\" -> h\n", "E0104 1:14"),
        ("unclosed block", "table t {\n  default -> h\n", "E0104 1:9"),
        ("unmatched bracket", "route a when text == \"x\") -> h\n", "E0105 1:25"),
        (
            "duplicate route",
            "route a when text == \"x\" -> h\nroute a when text == \"y\" -> h\n",
            "E0203 2:7",
        ),
        ("duplicate let", "let a = 1\nlet a = 2\n", "E0203 2:5"),
        ("duplicate table", "table t { default -> h }\ntable t { default -> h }\n", "E0203 2:7"),
        ("two defaults", "default -> a\ndefault -> b\n", "E0501 2:1"),
        (
            "jump cycle",
            "table a { default -> goto b }\ntable b { route r when text == \"x\" -> goto a }\n",
            "E0209 2:39",
        ),
        ("bad regex", "route a when text matches \"(x\" -> h\n", "E0401 1:27"),
        ("look-around", "route a when text matches r\"(?=x)\" -> h\n", "E0402 1:27"),
        ("back-reference", "route a when text matches r\"(x)\\1\" -> h\n", "E0402 1:27"),
        ("regex over its size limit", "route a when text matches r\"(\\w{500}){500}\" -> h\n", "E0403 1:27"),
        ("integer out of range", "route a when n > 18446744073709551616 -> h\n", "E0108 1:18"),
        ("float out of range", "route a when n > 1e400 -> h\n", "E0108 1:18"),
        ("bidirectional control outside strings", "route a when \u{202e}text == \"x\" -> h\n", "E0010 1:14"),
        ("unknown escape", "route a when text == \"\\q\" -> h\n", "E0107 1:23"),
        ("chained comparison", "route a when 1 < n < 5 -> h\n", "E0111 1:20"),
        ("null compared", "route a when text == null -> h\n", "E0301 1:22"),
        ("condition compared", "route a when (n > 1) == true -> h\n", "E0303 1:14"),
        ("contradictory uses", "route a when ctx.n > 3 and ctx.n starts_with \"x\" -> h\n", "E0304 1:28"),
        ("unknown target", "handler h()\nroute a when text == \"x\" -> g\n", "E0206 2:29"),
        ("unknown table", "route a when text == \"x\" -> goto t\n", "E0207 1:34"),
        ("CRLF and BOM", "\u{feff}# one\r\n\r\nroute a when text > 3 -> h\r\n", "E0301 3:19"),
    ];
    let mut wrong = Vec::new();
    for (name, rules, expected) in table {
        let found = findings(&Folder::with(rules), 1);
        if found != *expected {
            wrong.push(format!("{name}: expected {expected}, found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_operator_refuses_wrong_types() {
    let input = "input { s: string, n: int, b: bool, l: list<int>, d: dict<int>, t: datetime }\n";
    let conditions = [
        "s == 3",
        "n != \"x\"",
        "b == 1",
        "n in [\"x\"]",
        "n not in [\"x\"]",
        "s < 3",
        "n <= \"x\"",
        "b > 1",
        "t >= 3",
        "n in \"a\"..\"b\"",
        "n contains \"x\"",
        "n not contains \"x\"",
        "l contains \"x\"",
        "n starts_with \"x\"",
        "b ends_with \"x\"",
        "n like \"x\"",
        "n matches \"x\"",
        "n has_key \"x\"",
        "l not has_key \"x\"",
        "d has_key 3",
        "s + 1 > 2",
        "b - 1 > 2",
        "s * 2 > 2",
        "l / 2 > 2",
        "t % 2 > 2",
        "-s > 2",
        "s ?? 3 == 3",
        "len(n) > 2",
        "lower(n) == \"x\"",
        "abs(s) > 2",
        "hour(n) > 2",
        "similarity(n, \"x\") > 0.5",
    ];
    let rules: Vec<String> = conditions
        .iter()
        .enumerate()
        .map(|(at, condition)| format!("route r{at} when {condition} -> h\n"))
        .collect();
    let found = findings(&Folder::with(input.to_owned() + &rules.concat()), 1);
    let mut lines = found.lines();
    for (at, condition) in conditions.iter().enumerate() {
        let line = lines.next().unwrap_or("nothing");
        assert!(
            line.starts_with("E03") && line.contains(&format!(" {}:", at + 2)),
            "{condition}: {line}\n{found}"
        );
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn one_run_reports_every_independent_error() {
    let rules = "route a when text > 3 -> h\nrout b when text == \"x\" -> h\nroute c when text matches \"(\" -> h\nroute d when -> h\n";
    assert_eq!(findings(&Folder::with(rules), 1), "E0301 1:19\nE0102 2:1\nE0401 3:27\nE0101 4:14");
}

#[test]
fn a_bidirectional_control_in_a_string_is_a_warning() {
    assert_eq!(findings(&Folder::with("route a when text == \"\u{202e}\" -> h\n"), 0), "W0001 1:23");
}

#[test]
fn bom_and_crlf_are_accepted() {
    assert_eq!(findings(&Folder::with("\u{feff}route a when text == \"x\"\r\n  -> h\r\n"), 0), "");
}

#[test]
fn deep_nesting_is_refused() {
    let levels = 100_000;
    let table = [
        (
            "parentheses",
            format!("route a when {}text == \"x\"{} -> h", "(".repeat(levels), ")".repeat(levels)),
        ),
        ("open parentheses", format!("route a when {}", "(".repeat(levels))),
        ("not", format!("route a when {}text == \"x\" -> h", "not ".repeat(levels))),
        ("lists", format!("list l = {}{}", "[".repeat(levels), "]".repeat(levels))),
        ("signs", format!("let a = {}1", "- ".repeat(levels))),
        (
            "blocks",
            format!("route a when {}text == \"x\"{} -> h", "any { ".repeat(levels), " }".repeat(levels)),
        ),
    ];
    for (name, rules) in table {
        let found = findings(&Folder::with(rules), 1);
        assert!(found.starts_with("E0106 1:"), "{name}: {found}");
    }
    let deepest = format!("route a when {}text == \"x\"{} -> h", "(".repeat(120), ")".repeat(120));
    assert_eq!(findings(&Folder::with(deepest), 0), "");
}

#[test]
fn invalid_utf8_is_found_at_its_byte() {
    let folder = Folder::with(b"route a when text == \"x\" -> h\nlet a = \"\xff\"\n");
    assert!(findings(&folder, 1).starts_with("E0003"));
    let ran = folder.rulec(&["check", "a.rules"]).expect(1);
    assert!(ran.out.contains("offset 39 (line 2)"), "{}", ran.out);
}

#[test]
fn a_giant_is_refused_before_it_is_read() {
    let folder = Folder::new();
    let file = std::fs::File::create(folder.path("a.rules")).expect("a file can be made");
    // The file is far larger than the memory of a test machine.
    file.set_len(1 << 40).expect("a sparse file can be made");
    assert_eq!(findings(&folder, 1), "E0002");
    let ran = folder.rulec(&["run", "a.rules"]).expect(1);
    assert!(ran.err.contains("1099511627776 bytes, more than the limit of 64 MiB"), "{}", ran.err);
}

#[test]
fn imports_stay_inside_and_end() {
    let importing =
        |path: &str| Folder::with(format!("import \"{path}\"\nroute r when text == \"x\" -> h\n"));
    assert_eq!(findings(&importing("../b.rules"), 1), "E0005 1:8");
    assert_eq!(findings(&importing("/etc/passwd"), 1), "E0005 1:8");
    assert_eq!(findings(&importing("b.rules"), 1), "E0006 1:8");
    let folder = importing("x/b.rules").file("x/b.rules", "let a = 1\nimport \"../a.rules\"\n");
    assert_eq!(findings(&folder, 1), "E0007 x/b.rules 2:8");
    let ran = folder.rulec(&["check", "a.rules"]).expect(1);
    assert!(ran.out.contains("a.rules → x/b.rules → a.rules"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_root_is_an_import_outside_it() {
    let folder = Folder::new().file("out.rules", "let a = 1\n").file("in/a.rules", "import \"link.rules\"\n");
    std::os::unix::fs::symlink(folder.path("out.rules"), folder.path("in/link.rules"))
        .expect("a link can be made");
    let ran = folder.rulec(&["check", "in/a.rules", "--format", "json"]).expect(1);
    assert_eq!(ran.json()[0]["code"], "E0005");
}

#[test]
fn the_65th_import_of_a_chain_is_refused() {
    let chain = |length: usize| {
        let mut folder = Folder::with("import \"f1.rules\"\nroute r when text == x -> h\n");
        for at in 1..length {
            folder = folder.file(&format!("f{at}.rules"), format!("import \"f{}.rules\"\n", at + 1));
        }
        folder.file(&format!("f{length}.rules"), "let x = \"a\"\n")
    };
    assert_eq!(findings(&chain(64), 0), "");
    assert!(findings(&chain(65), 1).contains("E0008 f64.rules 1:8"));
}

#[test]
fn list_files_are_held_to_the_same() {
    let check = |folder: Folder| assert_eq!(findings(&folder, 1), "E0406 1:15");
    let rules = "list l = from \"words.txt\"\nroute r when text in l -> h\n";
    check(Folder::with(rules));
    check(Folder::with(rules).file("words.txt", b"\xff"));
    check(Folder::with("list l = from \"../words.txt\"\nroute r when text in l -> h\n"));
    let fine = Folder::with(rules).file("words.txt", "\u{feff}one\r\n\r\ntwo\n");
    assert_eq!(findings(&fine, 0), "");
    let ran = fine.fed(&["run", "a.rules"], "{\"text\":\"two\"}").expect(0);
    assert_eq!(ran.json()[0]["chosen"], "r");
}
