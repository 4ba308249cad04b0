//! Formats findings as SARIF 2.1.0, which code scanners and editors read.

use super::{Location, ReportedDiagnostic, message_with_help, severity_name};
use crate::language::language;
use rulec::{Applicability, Code};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

pub fn build_document(findings: &[ReportedDiagnostic<'_>]) -> Json {
    let codes: BTreeSet<Code> = findings.iter().map(|reported| reported.diagnostic.code).collect();
    let codes: Vec<Code> = codes.into_iter().collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "rulec",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(|code| rule_json(*code)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(|reported| result_json(reported, &codes)).collect::<Vec<_>>(),
        }],
    })
}

fn rule_json(code: Code) -> Json {
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": code.title_in(language()) },
        "help": { "text": format!("rulec explain {code}"), "markdown": code.page_in(language()) },
        "defaultConfiguration": { "level": severity_name(code.severity()) },
    })
}

fn result_json(reported: &ReportedDiagnostic<'_>, codes: &[Code]) -> Json {
    let diagnostic = &reported.diagnostic;
    let message = message_with_help(diagnostic);
    let mut result = json!({
        "ruleId": diagnostic.code.as_str(),
        "ruleIndex": codes.binary_search(&diagnostic.code).unwrap_or_default(),
        "level": reported.severity_word(),
        "message": { "text": message },
        "locations": [{ "physicalLocation": location_json(&reported.primary_location()) }],
    });
    let related: Vec<Json> = diagnostic
        .labels
        .iter()
        .skip(1)
        .map(|label| json!({ "physicalLocation": location_json(&reported.locate(label.span)), "message": { "text": label.text } }))
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = Json::Array(related);
    }
    let safe = diagnostic.fixes.iter().filter(|fix| fix.applicability == Applicability::MachineApplicable);
    let fixes: Vec<Json> = safe
        .map(|fix| {
            let location = location_json(&reported.locate(fix.span));
            let replacement = json!({
                "deletedRegion": location["region"],
                "insertedContent": { "text": fix.replacement },
            });
            json!({ "artifactChanges": [{ "artifactLocation": location["artifactLocation"], "replacements": [replacement] }] })
        })
        .collect();
    if !fixes.is_empty() {
        result["fixes"] = Json::Array(fixes);
    }
    result
}

fn location_json(location: &Location) -> Json {
    let mut json = json!({ "artifactLocation": { "uri": path_to_uri(&location.file) } });
    if let (Some(line), Some(column)) = (location.line, location.column) {
        json["region"] = json!({
            "startLine": line,
            "startColumn": column,
            "endLine": location.end_line,
            "endColumn": location.end_column,
        });
    }
    json
}

/// Converts a path to a URI reference. The reference is relative to the working directory, unless
/// the path is absolute.
fn path_to_uri(path: &str) -> String {
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let mut uri = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::path_to_uri;

    #[test]
    fn paths_become_uri_references() {
        assert_eq!(path_to_uri("rules/my file.rules"), "rules/my%20file.rules");
        assert_eq!(path_to_uri("/a/文.rules"), "file:///a/%E6%96%87.rules");
        assert_eq!(path_to_uri("<stdin>"), "%3Cstdin%3E");
    }
}
