//! Writes findings and test results as JUnit XML, which most CI systems display as tests: one suite
//! per file, one case per finding or test.

use super::{ReportedDiagnostic, format_concise};
use crate::escape::escape_xml;
use rulec::Severity;

/// A test case of a JUnit suite.
pub struct JunitCase {
    pub name: String,
    pub result: CaseResult,
}

/// The result of a JUnit test case, which the CI system shows.
pub enum CaseResult {
    Passed,
    /// The case passed, with a note to show.
    Noted(String),
    Failed {
        kind: String,
        message: String,
        details: String,
    },
}

/// Converts findings to one JUnit suite per file. A file without findings has one test case that
/// passes. A warning fails only if it is denied.
pub fn build_suites(files: &[String], findings: &[ReportedDiagnostic<'_>]) -> Vec<(String, Vec<JunitCase>)> {
    let mut suites: Vec<(String, Vec<JunitCase>)> =
        files.iter().map(|file| (file.clone(), Vec::new())).collect();
    for reported in findings {
        let file = reported.primary_location().file;
        let index = suites.iter().position(|(name, _)| *name == file).unwrap_or_else(|| {
            suites.push((file, Vec::new()));
            suites.len() - 1
        });
        suites[index].1.push(build_case(reported));
    }
    for (_, cases) in suites.iter_mut().filter(|(_, cases)| cases.is_empty()) {
        cases.push(JunitCase { name: "check".to_owned(), result: CaseResult::Passed });
    }
    suites
}

fn build_case(reported: &ReportedDiagnostic<'_>) -> JunitCase {
    let (location, diagnostic) = (reported.primary_location(), &reported.diagnostic);
    let position = match (location.line, location.column) {
        (Some(line), Some(column)) => format!(" at {line}:{column}"),
        _ => String::new(),
    };
    let (code, text) = (diagnostic.code, format_concise(reported));
    let result = match reported.is_denied || diagnostic.severity() == Severity::Error {
        true => CaseResult::Failed {
            kind: code.to_string(),
            message: diagnostic.message.to_string(),
            details: text,
        },
        false => CaseResult::Noted(text),
    };
    JunitCase { name: format!("{code}{position}"), result }
}

/// Formats test suites as a JUnit XML document. `suites` are pairs of a suite's name and its test
/// cases.
pub fn render_document(title: &str, suites: &[(String, Vec<JunitCase>)]) -> String {
    let count_failed = |cases: &[JunitCase]| {
        cases.iter().filter(|case| matches!(case.result, CaseResult::Failed { .. })).count()
    };
    let tests: usize = suites.iter().map(|(_, cases)| cases.len()).sum();
    let failures: usize = suites.iter().map(|(_, cases)| count_failed(cases)).sum();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{title}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n"
    );
    for (name, cases) in suites {
        let (name, count, failures) = (escape_xml(name), cases.len(), count_failed(cases));
        out += &format!(
            "  <testsuite name=\"{name}\" tests=\"{count}\" failures=\"{failures}\" errors=\"0\">\n"
        );
        for case in cases {
            out += &format!("    <testcase classname=\"{name}\" name=\"{}\"", escape_xml(&case.name));
            out += &match &case.result {
                CaseResult::Passed => "/>\n".to_owned(),
                CaseResult::Noted(text) => {
                    format!("><system-out>{}</system-out></testcase>\n", escape_xml(text))
                }
                CaseResult::Failed { kind, message, details: text } => format!(
                    "><failure type=\"{}\" message=\"{}\">{}</failure></testcase>\n",
                    escape_xml(kind),
                    escape_xml(message),
                    escape_xml(text)
                ),
            };
        }
        out += "  </testsuite>\n";
    }
    out + "</testsuites>\n"
}
