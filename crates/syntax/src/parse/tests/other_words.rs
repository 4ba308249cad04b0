//! Tests of proposals for the words and forms of other languages: each proposed text is in the
//! help, and the fix leaves no error.

use super::errors::check_repair;
use super::{FILE, findings, parse_clean};
use crate::parse::parse;
use rulec_base::parallel::Threads;

#[track_caller]
fn check_condition(condition: &str, written: &str) {
    check_repair(&format!("route a when {condition} -> h"), &format!("write `{written}`"));
}

/// Returns the help of the first diagnostic.
fn help(text: &str) -> String {
    let diagnostic = parse(Threads::All, FILE, text).diagnostics.swap_remove(0);
    diagnostic.help.as_deref().unwrap_or_default().to_owned()
}

#[test]
fn an_import_takes_a_whole_file() {
    let check = |text: &str, written: &str| check_repair(&format!("{text}\ndefault -> h"), written);
    check("import \"a.rules\" except b, c", "remove `except b, c`");
    check("import \"a.rules\" as a", "remove `as a`");
    check("import \"a.rules\" (b)", "remove `(b)`");
    check("import \"a.rules\", \"b.rules\"", "`import \"a.rules\"`, `import \"b.rules\"`");
    check("import \"a.rules\" import b", "remove `import b`");
    check("\"a.rules\" import", "write `import \"a.rules\"`");
    check("import \"b.rules\"\n\"a.rules\" import", "write `import \"a.rules\"`");
    check("words list = [\"a\"]", "write `list words`");
    check("refunds route when text == \"a\" -> h", "write `route refunds`");
    check("h handler(id: string)", "write `handler h`");
    check("\"a refund\" test { given text = \"a\" expect default }", "write `test \"a refund\"`");
    for text in ["import \"a.rules\" as a", "\"a.rules\" import", "from \"a.rules\" import a"] {
        assert!(parse(Threads::All, FILE, text).incomplete, "{text}");
    }
    assert!(!parse(Threads::All, FILE, "import \"a.rules\"\nroute a when").incomplete);
}
