//! The rewriter over small sources of every genre, and a whole run over a small package.

use crate::mutant::{Extent, Genre, Listed, Mutant, Place, draw};
use crate::rewrite::{Rewritten, rewrite};
use crate::suite::{End, Test};
use crate::tree::Tree;
use crate::trial::narrow;
use crate::{Failure, compile, examine};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

fn place(text: &str, at: usize) -> Place {
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap_or_default();
    Place { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
}

/// Mutants by what they replace in a text, where it stands there first, and by what.
fn mutants(file: &str, text: &str, rows: &[(Genre, &str, &str)]) -> Vec<Mutant> {
    let listed = rows.iter().map(|(genre, replaced, replacement)| {
        let start = text.find(replaced).unwrap_or_else(|| panic!("`{replaced}` stands in it"));
        let span = Extent { start: place(text, start), end: place(text, start + replaced.len()) };
        let name = format!("{file}:{}:{}: {replaced} → {replacement}", span.start.line, span.start.column);
        Listed { name, file: file.to_owned(), span, replacement: (*replacement).to_owned(), genre: *genre }
    });
    let numbered = (1..).zip(listed);
    numbered.map(|(number, listed)| Mutant { number, area: "src".to_owned(), listed }).collect()
}

fn rewritten(text: &str, rows: &[(Genre, &str, &str)]) -> Rewritten {
    let mutants = mutants("src/lib.rs", text, rows);
    rewrite(text, &mutants.iter().collect::<Vec<_>>()).expect("it is Rust")
}

/// The text with `on(1)` for the path of the switch.
fn becomes(text: &str, rows: &[(Genre, &str, &str)], expected: &str) {
    let rewritten = rewritten(text, rows);
    assert_eq!(rewritten.untried, []);
    assert_eq!(rewritten.text.replace("crate::planted::", ""), expected);
    syn::parse_file(&rewritten.text).expect("it is Rust still");
    for (number, added) in rewritten.added {
        assert!(rewritten.text[added].contains(&format!("on({number})")));
    }
}

fn untried(text: &str, rows: &[(Genre, &str, &str)], why: &str) {
    let rewritten = rewritten(text, rows);
    assert_eq!(rewritten.text, text);
    let found: Vec<_> = rewritten.untried.iter().map(|(_, why)| *why).collect();
    assert_eq!(found, vec![why; rows.len()]);
}

use Genre::{BinaryOperator, FnValue, MatchArm, MatchArmGuard, StructField, UnaryOperator};

#[test]
fn operators_become_choices() {
    becomes(
        "fn f() -> bool { é() + 1 < b * 2 }",
        &[(BinaryOperator, "<", "<="), (BinaryOperator, "<", "=="), (BinaryOperator, "+", "-")],
        "fn f() -> bool { (if on(1) { (é() + 1) <= (b * 2) } else if on(2) { (é() + 1) == (b * 2) } else { \
         (if on(3) { (é()) - (1) } else { é() + 1 }) < b * 2 }) }",
    );
    becomes(
        "fn f() { x.y += 1; }",
        &[(BinaryOperator, "+=", "*=")],
        "fn f() { (if on(1) { x.y *= (1) } else { x.y += 1 }); }",
    );
    becomes(
        "fn f() -> bool {\n    !a && b\n}",
        &[(UnaryOperator, "!", ""), (BinaryOperator, "&&", "||")],
        "fn f() -> bool {\n    (if on(2) { (!a) || (b) } else { (if on(1) { a } else { !a }) && b })\n}",
    );
}

#[test]
fn functions_return_at_once() {
    becomes(
        "impl A { #[inline] fn f(&self) -> u32 { let a = 1; a * 1 } }",
        &[(FnValue, "let a = 1; a * 1", "0"), (FnValue, "let a = 1; a * 1", "1"), (BinaryOperator, "*", "+")],
        "impl A { #[inline] fn f(&self) -> u32 { if on(1) { return 0; } if on(2) { return 1; } let a = 1; \
         (if on(3) { (a) + (1) } else { a * 1 }) } }",
    );
    becomes(
        "trait A { fn g(); fn f() { h() } }",
        &[(FnValue, "h()", "()")],
        "trait A { fn g(); fn f() { if on(1) { return (); } h() } }",
    );
}

#[test]
fn arms_are_guarded() {
    becomes(
        "fn f() { match x { Some(1) | None => a(), Some(y) if y < 3 => b(), _ => {} } }",
        &[
            (MatchArm, "Some(1) | None => a(),", ""),
            (MatchArmGuard, "y < 3", "true"),
            (MatchArmGuard, "y < 3", "false"),
            (BinaryOperator, "<", ">"),
        ],
        "fn f() { match x { Some(1) | None if !on(1) => a(), Some(y) if (if on(2) { true } else if on(3) { false } \
         else { (if on(4) { (y) > (3) } else { y < 3 }) }) => b(), _ => {} } }",
    );
}

#[test]
fn an_arm_that_is_needed_stays() {
    let text = "fn f() { match x { Some(_) => a(), None => b(), _ if c => {} } }";
    untried(text, &[(MatchArm, "Some(_) => a(),", "")], "no arm would be left for its values");
}

#[test]
fn fields_are_left_to_the_base() {
    becomes(
        "fn f() -> A { A { a: 1, b: 2, ..base() } }",
        &[(StructField, "a: 1,", ""), (StructField, "b: 2,", "")],
        "fn f() -> A { (if on(1) { A {  b: 2, ..base() } } else { \
         (if on(2) { A { a: 1,  ..base() } } else { A { a: 1, b: 2, ..base() } }) }) }",
    );
}

#[test]
fn what_the_compiler_computes_is_not_tried() {
    let why = "in a constant context";
    untried("const fn f() -> u32 { 1 + 2 }", &[(BinaryOperator, "+", "-"), (FnValue, "1 + 2", "0")], why);
    untried("const A: u32 = 1 + 2;", &[(BinaryOperator, "+", "-")], why);
    untried("static A: u32 = 1 + 2;", &[(BinaryOperator, "+", "-")], why);
    untried("fn f(a: [u32; 1 + 2]) {}", &[(BinaryOperator, "+", "-")], why);
    untried("fn f() { [0; 1 + 2] }", &[(BinaryOperator, "+", "-")], why);
    untried("fn f() { const { 1 + 2 } }", &[(BinaryOperator, "+", "-")], why);
    untried("enum A { B = 1 + 2 }", &[(BinaryOperator, "+", "-")], why);
    // What is called later is computed later.
    becomes(
        "static A: B = B::new(|| 1 + 2);",
        &[(BinaryOperator, "+", "-")],
        "static A: B = B::new(|| (if on(1) { (1) - (2) } else { 1 + 2 }));",
    );
}

#[test]
fn conditions_that_bind_stay_whole() {
    let why = "`||` beside a condition that binds names does not compile";
    untried("fn f() { if let Some(a) = b && a {} }", &[(BinaryOperator, "&&", "||")], why);
    becomes(
        "fn f() { if a && b && let Some(c) = d && c < 3 {} }",
        &[(BinaryOperator, "&&", "||"), (BinaryOperator, "<", "==")],
        "fn f() { if (if on(1) { (a) || (b) } else { a && b }) && let Some(c) = d && \
         (if on(2) { (c) == (3) } else { c < 3 }) {} }",
    );
}

#[test]
fn a_type_that_only_the_body_says_stays_one() {
    let why = "a function that returns `impl …` returns one type";
    untried("fn f() -> Option<impl Iterator<Item = u32>> { g() }", &[(FnValue, "g()", "None")], why);
}

#[test]
fn what_macros_are_given_is_not_seen() {
    untried("fn f() { assert!(a < b) }", &[(BinaryOperator, "<", ">")], "not found in the source");
}

#[test]
fn a_larger_sample_begins_like_a_smaller_one() {
    let rows: Vec<(Genre, &str, &str)> = vec![(FnValue, "a", "0"); 1];
    let all: Vec<Listed> = (0..100)
        .map(|at| Listed { name: at.to_string(), ..mutants("src/a.rs", "a", &rows).remove(0).listed })
        .collect();
    let names =
        |seed, count| draw(all.clone(), seed, count).into_iter().map(|drawn| drawn.name).collect::<Vec<_>>();
    assert_eq!(names("7", 100)[..30], names("7", 30));
    assert_ne!(names("7", 30), names("8", 30));
}

/// The guilty ones of 0..16, and how often the test was run.
fn narrowed(fails: impl Fn(&[u32]) -> bool) -> Result<(Vec<u32>, usize), Failure> {
    let group: Vec<u32> = (0..16).collect();
    let runs = Cell::new(0);
    let passes = |group: &[u32]| {
        runs.set(runs.get() + 1);
        Ok(!fails(group))
    };
    Ok((narrow(&group, false, &passes)?, runs.get()))
}

#[test]
fn a_group_is_halved_until_the_guilty_are_alone() -> Result<(), Failure> {
    assert_eq!(narrowed(|_| false)?, (vec![], 1));
    assert_eq!(narrowed(|group| group.contains(&15))?, (vec![15], 5));
    assert_eq!(narrowed(|group| group.contains(&0))?, (vec![0], 9));
    assert_eq!(narrowed(|group| group.contains(&3) || group.contains(&9))?.0, [3, 9]);
    // The last one is suspected, and passes when it is tried alone.
    assert_eq!(narrowed(|group| group.contains(&3) && group.contains(&9))?.0, [15]);
    Ok(())
}

const LIBRARY: &str = "//! Small.

/// Tested.
pub fn double(number: u32) -> u32 {
    number * 2
}

/// Not tested.
pub fn half(number: u32) -> u32 {
    number / 2
}

/// Tested badly.
pub fn quarter(number: u32) -> u32 {
    number >> 2
}

/// A name and nothing else.
pub fn name() -> String {
    let name = String::from(\"a\");
    name + \"b\"
}

#[test]
fn doubled() {
    assert_eq!(double(3), 6);
    assert!(quarter(0) == 0);
}
";

fn git(root: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .current_dir(root)
        .arg("-c")
        .arg("init.defaultBranch=main")
        .args(arguments)
        .status();
    assert!(status.expect("git is there").success());
}

/// A fault that a test finds, one that no test comes to, one that a test comes to and does not find, and one that does not compile.
#[test]
fn a_whole_run_tells_them_apart() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    fs::create_dir(root.join("src"))?;
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
                    [profile.trials]\ninherits = \"release\"\noverflow-checks = true\n";
    fs::write(root.join("Cargo.toml"), manifest)?;
    fs::write(
        root.join("Cargo.lock"),
        "version = 4\n\n[[package]]\nname = \"small\"\nversion = \"0.1.0\"\n",
    )?;
    fs::write(root.join(".gitignore"), "/target\n")?;
    fs::write(root.join("src/lib.rs"), LIBRARY)?;
    git(root, &["init", "--quiet"]);
    git(root, &["add", "."]);
    let rows = [
        (BinaryOperator, "*", "+"),
        (BinaryOperator, "/ 2", "*"),
        (BinaryOperator, ">>", "<<"),
        (BinaryOperator, "+", "-"),
    ];
    let mut mutants = mutants("src/lib.rs", LIBRARY, &rows);
    mutants[1].listed.span.end.column -= 2;
    let tree = Tree::open(root)?;
    let (report, well) = examine(&tree, &mutants, "1", &["small".to_owned()])?;
    let expected = "src: 3 tried, 1 caught (of which 0 by taking too long), 2 missed; 1 not tried
  missed by 0 tests: src/lib.rs:10:12: / 2 → *
  missed by 1 tests: src/lib.rs:15:12: >> → <<
  not tried, does not compile: src/lib.rs:21:10: + → -
all: 3 tried, 1 caught (of which 0 by taking too long), 2 missed; 1 not tried
";
    assert_eq!(report, expected);
    assert!(!well);
    let program = compile::tests(&tree, &["small".to_owned()])?.remove(0);
    let test = Test { program, name: "doubled".to_owned(), seconds: 1.0, reaches: BTreeSet::new() };
    for (planted, end) in [("", End::Passed), ("3", End::Passed), ("2,3", End::Passed), ("3,1", End::Failed)]
    {
        assert_eq!(test.run(planted, &tree.made.join("scratch-0"), &tree)?, end, "{planted}");
    }
    // What was tried is known: nothing is built, nothing run.
    fs::remove_dir_all(tree.copy())?;
    assert_eq!(examine(&tree, &mutants, "1", &["small".to_owned()])?.0, expected);
    assert!(!tree.copy().exists());
    assert_eq!(fs::read_to_string(root.join("src/lib.rs"))?, LIBRARY);
    Ok(())
}
