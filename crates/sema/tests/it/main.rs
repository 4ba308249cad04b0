//! Regression tests of proposed repairs: a help does not contradict another one, and a fix leaves a
//! program that means what its author wrote.
//!
//! The unit tests in `src` test private parts only: a unit test that checks a file would compile
//! the whole crate a second time.

use rulec_base::diag::Diagnostic;
use rulec_base::parallel::ThreadLimit;
use rulec_sema::hir::UnusedDeclaration;
use rulec_syntax::loader::{self, MemoryLoader};

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    let loaded = loader::load(ThreadLimit::All, &MemoryLoader::new().with("main.rules", text), "main.rules");
    assert!(loaded.diagnostics.is_empty(), "{text}: {:?}", loaded.diagnostics);
    rulec_sema::check::check(&loaded).1
}

/// Returns the code and the help of each diagnostic.
fn helps(text: &str) -> Vec<(&'static str, String)> {
    let shown = |found: &Diagnostic| (found.code.as_str(), found.help.as_deref().unwrap_or("").to_owned());
    diagnostics(text).iter().map(shown).collect()
}

/// Checks that the only diagnostic has this code, and that its help contains this text.
#[track_caller]
fn check(text: &str, code: &str, help: &str) {
    let found = helps(text);
    let [(found_code, found_help)] = found.as_slice() else { panic!("{text}: {found:?}") };
    assert_eq!(*found_code, code, "{text}: {found_help}");
    assert!(found_help.contains(help), "{text}: {found_help}");
}

/// Returns the replacements of the fixes of the first diagnostic.
fn fixes(text: &str) -> Vec<String> {
    diagnostics(text).swap_remove(0).fixes.into_iter().map(|fix| fix.replacement).collect()
}

/// Regression test: a warning proposed the text without its space, which the enumeration lacks.
#[test]
fn white_space_of_an_enumeration_is_no_slip() {
    let route = |condition: &str| {
        format!(
            "input {{ plan: \" free\" | \"pro\", role: string }}\nroute a when {condition} -> h\ndefault -> h"
        )
    };
    assert_eq!(helps(&route("plan == \" free\" and role == \"b\"")), []);
    assert_eq!(helps(&route("plan in [\" free\"] and role == \"b\"")), []);
    check(&route("plan == \"pro\" and role == \" b\""), "W0126", "write \"b\"");
}

/// Regression test: the message and the fix also removed a line break, which is meant.
#[test]
fn a_line_break_at_the_end_of_a_text_stays() {
    let text = "input { role: string }\nroute a when role == \" stop\\n\" -> h\ndefault -> h";
    check(text, "W0126", "write \"stop\\n\"");
    assert!(diagnostics(text)[0].message.to_string().ends_with("begins with white space"));
    assert_eq!(fixes(text), ["\"stop\\n\""]);
}

/// Regression test: the help was to remove the setting, and the fix made it a field.
#[test]
fn a_setting_of_a_schema_is_no_field() {
    let input = |field: &str| {
        format!("input {{ text: string, {field} }}\nroute a when text == \"a\" -> h\ndefault -> h")
    };
    check(&input("additionalProperties: false"), "E0204", "remove a setting of a schema");
    assert_eq!(fixes(&input("additionalProperties: false")), [""; 0]);
    assert_eq!(fixes(&input("vip: true")), ["bool"]);
}

/// Regression test: only a path of two names was read, and a name with spaces was written after a
/// dot.
#[test]
fn the_path_to_a_field_is_written_as_in_rules() {
    let route = |condition: &str| {
        format!(
            "input {{ user: {{ name: string, `a b`: {{ zip: string }} }} }}\nroute a when {condition} -> h\ndefault -> h"
        )
    };
    check(&route("event.user.name == \"a\""), "E0201", "write `user.name` for this field");
    assert_eq!(fixes(&route("zip == \"a\"")), ["user[\"a b\"].zip"]);
}

/// Regression test: a handler that only `default` calls was reported without a remedy.
#[test]
fn a_test_may_expect_the_handler_of_the_default() {
    let text = "route a when text == \"a\" -> h\ndefault -> fallback\n\
                test \"b\" { given text = \"b\" expect fallback }";
    check(text, "E0505", "`expect -> fallback`, or name the route: `expect default`");
    assert_eq!(fixes(text), ["-> fallback"]);
}

/// Regression test: the help only listed what a test may expect.
#[test]
fn an_import_brings_no_routes() {
    let main = "import \"base.rules\"\nroute a when text == \"a\" -> h\ndefault -> h\n\
                test \"b\" { given text = \"b\" expect there }";
    let base = "input { text: string }\nroute there when text == \"b\" -> h";
    let files = MemoryLoader::new().with("main.rules", main).with("base.rules", base);
    let loaded = loader::load(ThreadLimit::All, &files, "main.rules");
    let found = rulec_sema::check::check(&loaded).1;
    let helps: Vec<&str> = found.iter().filter_map(|found| found.help.as_deref()).collect();
    assert!(helps.iter().any(|help| help.starts_with("it is a route of \"base.rules\"")), "{helps:?}");
}

/// Regression test: an import of routes passed in silence if their file has an `input`.
#[test]
fn routes_that_an_import_does_not_bring_are_unused() {
    let unused = |base: &str| {
        let main = "import \"base.rules\"\nroute a when text == \"a\" -> h\ndefault -> h";
        let files = MemoryLoader::new().with("main.rules", main).with("base.rules", base);
        let program = rulec_sema::check::check(&loader::load(ThreadLimit::All, &files, "main.rules")).0;
        let is_route = |unused: &UnusedDeclaration| matches!(unused, UnusedDeclaration::RoutesOfImport(..));
        program.unused_declarations.iter().any(is_route)
    };
    let base = "input { text: string }\nroute there when text == \"b\" -> h";
    assert!(unused(base));
    // A file that decides alone, or has definitions too, is imported for its declarations.
    assert!(!unused(&format!("{base}\ndefault -> h")));
    assert!(!unused(&format!("{base}\nlist words = [\"a\"]")));
}
