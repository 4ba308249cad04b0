//! Checks that each report of the library, a `tracing` event or span, has a target that begins with
//! `rulec::`. Programs select reports by this prefix, and Python gives them to its loggers by it.

use super::{folders, is_test, relative_name, rust_files};
use std::fs;
use syn::visit::{self, Visit};

const MACROS: [&str; 12] = [
    "error",
    "warn",
    "info",
    "debug",
    "trace",
    "event",
    "error_span",
    "warn_span",
    "info_span",
    "debug_span",
    "trace_span",
    "span",
];

/// The macros of `tracing` in a file: the number of all, and the lines of those without a target.
#[derive(Default)]
struct Reports {
    count: usize,
    without_target: Vec<usize>,
}

impl Reports {
    fn find(text: &str) -> syn::Result<Reports> {
        let mut reports = Reports::default();
        reports.visit_file(&syn::parse_file(text)?);
        Ok(reports)
    }
}

impl<'t> Visit<'t> for Reports {
    fn visit_macro(&mut self, report: &'t syn::Macro) {
        let names: Vec<String> = report.path.segments.iter().map(|part| part.ident.to_string()).collect();
        let is_report = match &names[..] {
            [name] => MACROS.contains(&&**name),
            [library, name] => library == "tracing" && MACROS.contains(&&**name),
            _ => false,
        };
        if is_report {
            self.count += 1;
            let arguments = report.tokens.to_string().replace(' ', "");
            if !arguments.starts_with("target:\"rulec::") {
                self.without_target.push(report.bang_token.spans[0].start().line);
            }
        }
        visit::visit_macro(self, report);
    }
}

/// Former bug: reports of workflows had the target `rulec_runtime::workflow::run`.
#[test]
fn each_report_has_a_target_of_the_library() {
    let mut files = Vec::new();
    folders("src").iter().for_each(|folder| rust_files(folder, &mut files));
    let (mut count, mut found) = (0, Vec::new());
    for path in files.iter().filter(|path| !is_test(path)) {
        let name = relative_name(path);
        let reports = Reports::find(&fs::read_to_string(path).expect("a text"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        count += reports.count;
        found.extend(reports.without_target.iter().map(|line| format!("{name}:{line}")));
    }
    assert!(count > 20, "the reports are not found: {count}");
    assert!(found.is_empty(), "write `target: \"rulec::…\"` first:\n{}", found.join("\n"));
    let seen = Reports::find("fn f() { tracing::warn!(%error, \"x\"); info!(target: \"other\", \"x\"); }");
    assert_eq!(seen.expect("it parses").without_target, [1, 1]);
}
