//! Tests of small files that expand to huge programs. The compiler refuses each of them, and the
//! error shows the cause.

use rulec::{Code, Compiler, Diagnostic};
use std::fmt::Write;

fn errors(text: &str) -> (Vec<Diagnostic>, Vec<String>) {
    let error = Compiler::new().compile_text(text).expect_err("the rules are refused");
    let spans =
        error.diagnostics().iter().filter_map(|found| Some(error.sources().slice(found.span()?).to_owned()));
    (error.diagnostics().to_vec(), spans.collect())
}

/// Regression test: 300 payloads that include groups ten times on four levels took 10 gigabytes.
#[test]
fn groups_that_multiply_are_refused() {
    let mut text = "group g0 { a: string }\n".to_owned();
    for level in 1..=4 {
        let includes = format!("include g{}; ", level - 1).repeat(10);
        let _ = writeln!(text, "group g{level} {{ {includes} }}");
    }
    for payload in 0..300 {
        let _ = writeln!(text, "payload p{payload} {{ include g4 }}");
    }
    let (found, places) = errors(&text);
    assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::ExpansionTooLarge]);
    assert!(places[0].starts_with('g'), "the error names the group that is included: {places:?}");
}

/// The limit of the expansion applies to all payloads of a file together, even if each one is
/// small.
#[test]
fn groups_that_multiply_over_many_payloads_are_refused() {
    let mut text = "group g0 { a: string }\n".to_owned();
    for level in 1..=3 {
        let includes = format!("include g{}; ", level - 1).repeat(8);
        let _ = writeln!(text, "group g{level} {{ {includes} }}");
    }
    for payload in 0..150 {
        let _ = writeln!(text, "payload p{payload} {{ include g3 }}");
    }
    let (found, _) = errors(&text);
    assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::ExpansionTooLarge]);
    assert!(found[0].message.contains("the payloads have more than 100000 items"), "{}", found[0].message);
}

/// Regression test: an input of many fields, whose type has many fields, took gigabytes.
#[test]
fn an_input_of_records_that_multiply_is_refused() {
    let fields = |ty: &str| (0..400).map(|at| format!("f{at}: {ty}\n")).collect::<String>();
    let types = format!("type t = {{ {} }}\n", fields("int"));
    for declared in [
        format!("input {{ {} }}\n", fields("t")),
        format!("input {{ x: list<{{ {} }}> }}\n", fields("t")),
        format!("handler h({})\n", fields("t").replace('\n', ", ")),
    ] {
        let (found, places) = errors(&format!("{types}{declared}default -> h\n"));
        assert!(found.iter().any(|found| found.code == Code::ExpansionTooLarge), "{found:?}");
        assert_eq!(places[0], "t");
    }
    let small = format!("{types}input {{ a: t, b: t }}\nroute r when a.f0 > 1 and b.f1 > 2 -> h\n");
    assert!(Compiler::new().compile_text(&small).is_ok());
}
