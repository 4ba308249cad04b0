//! Keeps the findings of the last analysis, which are shown until the next analysis is complete.
//! Without this, findings would disappear after each edit and reappear a moment later, because an
//! analysis takes longer than compiling.

use ls_types::{Diagnostic, Uri};

/// The analysis findings for a document, and the text of the document that was analysed.
pub struct KeptFindings {
    text: String,
    findings: Vec<Diagnostic>,
}

/// The lines that two versions of a text have in common at the start and at the end.
struct CommonLines {
    /// Number of equal lines at the start of both versions of the document.
    prefix_line_count: u32,
    /// Line number (from 0, in the earlier version) of the first common line at the end.
    suffix_start_line: u32,
    /// Number of lines in the later version minus number of lines in the earlier version.
    line_delta: i64,
}

impl CommonLines {
    fn between_versions(earlier: &str, later: &str) -> CommonLines {
        let (earlier_lines, later_lines): (Vec<&str>, Vec<&str>) =
            (earlier.split('\n').collect(), later.split('\n').collect());
        let is_same = |(a, b): &(&&str, &&str)| a == b;
        let prefix_len = earlier_lines.iter().zip(&later_lines).take_while(is_same).count();
        let remaining = (&earlier_lines[prefix_len..], &later_lines[prefix_len..]);
        let suffix_len = remaining.0.iter().rev().zip(remaining.1.iter().rev()).take_while(is_same).count();
        CommonLines {
            prefix_line_count: prefix_len as u32,
            suffix_start_line: (earlier_lines.len() - suffix_len) as u32,
            line_delta: later_lines.len() as i64 - earlier_lines.len() as i64,
        }
    }

    /// Moves `range`, a range of the earlier version, to the lines that it has in the later
    /// version. Returns false, and changes nothing, if a line of the range differs between the
    /// versions.
    fn try_shift(&self, range: &mut ls_types::Range) -> bool {
        if range.end.line < self.prefix_line_count {
            return true;
        }
        if range.start.line < self.suffix_start_line {
            return false;
        }
        for position in [&mut range.start, &mut range.end] {
            position.line =
                u32::try_from(i64::from(position.line) + self.line_delta).unwrap_or(position.line);
        }
        true
    }
}

impl KeptFindings {
    pub fn new(text: &str, findings: Vec<Diagnostic>) -> KeptFindings {
        KeptFindings { text: text.to_owned(), findings }
    }

    /// Returns the findings that are still valid for a later version of the document, with their
    /// ranges moved accordingly. A finding is valid if the lines of its range are unchanged, and so
    /// are the lines of its related ranges in the same document.
    pub fn valid_findings(&self, document: &Uri, text: &str) -> Vec<Diagnostic> {
        let common = CommonLines::between_versions(&self.text, text);
        let shift_if_valid = |finding: &Diagnostic| {
            let mut finding = finding.clone();
            let related = finding.related_information.iter_mut().flatten();
            let mut locations = related
                .map(|related_location| &mut related_location.location)
                .filter(|location| location.uri == *document);
            let all_unchanged = locations.all(|location| common.try_shift(&mut location.range));
            (all_unchanged && common.try_shift(&mut finding.range)).then_some(finding)
        };
        self.findings.iter().filter_map(shift_if_valid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ls_types::{DiagnosticRelatedInformation, Location, Position, Range};

    fn line_range(number: u32) -> Range {
        Range { start: Position { line: number, character: 1 }, end: Position { line: number, character: 2 } }
    }

    /// Creates a finding about line `line`, with related information about line `related_line`.
    fn make_finding(line: u32, related_line: u32, uri: &Uri) -> Diagnostic {
        let location = Location { uri: uri.clone(), range: line_range(related_line) };
        let related = DiagnosticRelatedInformation { location, message: String::new() };
        Diagnostic {
            range: line_range(line),
            related_information: Some(vec![related]),
            ..Diagnostic::default()
        }
    }

    #[test]
    fn findings_whose_lines_are_the_same_move_with_them() {
        let (uri, other): (Uri, Uri) =
            ("file:///a.rules".parse().expect("an address"), "file:///b.rules".parse().expect("an address"));
        let kept_findings = KeptFindings::new(
            "0\n1\n2\n3\n4",
            vec![
                make_finding(0, 1, &uri),
                make_finding(4, 0, &uri),
                make_finding(3, 2, &uri),
                make_finding(4, 2, &other),
            ],
        );
        let lines = |text: &str| -> Vec<(u32, u32)> {
            let related_line = |finding: &Diagnostic| {
                finding
                    .related_information
                    .as_ref()
                    .map_or(0, |related_locations| related_locations[0].location.range.start.line)
            };
            kept_findings
                .valid_findings(&uri, text)
                .iter()
                .map(|finding| (finding.range.start.line, related_line(finding)))
                .collect()
        };
        assert_eq!(lines("0\n1\n2\n3\n4"), [(0, 1), (4, 0), (3, 2), (4, 2)]);
        assert_eq!(lines("0\n1\nnew\nlines\n3\n4"), [(0, 1), (5, 0), (5, 2)], "line 2 is gone");
        assert_eq!(lines("0\n1\n2\n3\n4x"), [(0, 1), (3, 2)], "line 4 is another");
        assert_eq!(lines("1\n2\n3\n4"), [(2, 1), (3, 2)], "line 0 is gone");
        assert_eq!(lines(""), []);
    }
}
