//! The findings of the last analysis, which are shown until the next analysis is complete. An
//! analysis takes longer than compiling. If old findings were not kept, they would disappear after
//! each edit or save and reappear a moment later.

use ls_types::{Diagnostic, Uri};

/// The analysis findings for a document, and the text that was analysed.
pub struct KeptFindings {
    text: String,
    found: Vec<Diagnostic>,
}

/// The equal lines at the start and at the end of two versions of a text.
struct CommonLines {
    /// Number of equal lines at the start.
    before: u32,
    /// The first of the equal lines at the end, as a line number in the earlier version.
    behind: u32,
    /// Number of lines by which the later version is longer than the earlier one. May be negative.
    moved: i64,
}

impl CommonLines {
    fn compare(earlier: &str, later: &str) -> CommonLines {
        let (one, two): (Vec<&str>, Vec<&str>) = (earlier.split('\n').collect(), later.split('\n').collect());
        let same = |(a, b): &(&&str, &&str)| a == b;
        let before = one.iter().zip(&two).take_while(same).count();
        let rest = (&one[before..], &two[before..]);
        let behind = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(same).count();
        CommonLines {
            before: before as u32,
            behind: (one.len() - behind) as u32,
            moved: two.len() as i64 - one.len() as i64,
        }
    }

    /// Moves a range to its position in the later version. Returns false if lines of the range have
    /// changed.
    fn shift(&self, range: &mut ls_types::Range) -> bool {
        if range.end.line < self.before {
            return true;
        }
        if range.start.line < self.behind {
            return false;
        }
        for place in [&mut range.start, &mut range.end] {
            place.line = u32::try_from(i64::from(place.line) + self.moved).unwrap_or(place.line);
        }
        true
    }
}

impl KeptFindings {
    pub fn new(text: &str, found: Vec<Diagnostic>) -> KeptFindings {
        KeptFindings { text: text.to_owned(), found }
    }

    /// Returns the findings that are still valid for a later version of the document. A finding is
    /// valid if the lines of all ranges that it refers to in the document are unchanged.
    pub fn valid_findings(&self, document: &Uri, text: &str) -> Vec<Diagnostic> {
        let common = CommonLines::compare(&self.text, text);
        let still = |found: &Diagnostic| {
            let mut found = found.clone();
            let related = found.related_information.iter_mut().flatten();
            let mut here = related.map(|one| &mut one.location).filter(|place| place.uri == *document);
            let all = here.all(|place| common.shift(&mut place.range));
            (all && common.shift(&mut found.range)).then_some(found)
        };
        self.found.iter().filter_map(still).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ls_types::{DiagnosticRelatedInformation, Location, Position, Range};

    fn line_range(number: u32) -> Range {
        Range { start: Position { line: number, character: 1 }, end: Position { line: number, character: 2 } }
    }

    /// Creates a finding about line `at` with related information about line `related`.
    fn make_finding(at: u32, related: u32, uri: &Uri) -> Diagnostic {
        let location = Location { uri: uri.clone(), range: line_range(related) };
        let related = DiagnosticRelatedInformation { location, message: String::new() };
        Diagnostic {
            range: line_range(at),
            related_information: Some(vec![related]),
            ..Diagnostic::default()
        }
    }

    #[test]
    fn findings_whose_lines_are_the_same_move_with_them() {
        let (uri, other): (Uri, Uri) =
            ("file:///a.rules".parse().expect("an address"), "file:///b.rules".parse().expect("an address"));
        let kept = KeptFindings::new(
            "0\n1\n2\n3\n4",
            vec![
                make_finding(0, 1, &uri),
                make_finding(4, 0, &uri),
                make_finding(3, 2, &uri),
                make_finding(4, 2, &other),
            ],
        );
        let lines = |text: &str| -> Vec<(u32, u32)> {
            let related = |found: &Diagnostic| {
                found.related_information.as_ref().map_or(0, |all| all[0].location.range.start.line)
            };
            kept.valid_findings(&uri, text)
                .iter()
                .map(|found| (found.range.start.line, related(found)))
                .collect()
        };
        assert_eq!(lines("0\n1\n2\n3\n4"), [(0, 1), (4, 0), (3, 2), (4, 2)]);
        assert_eq!(lines("0\n1\nnew\nlines\n3\n4"), [(0, 1), (5, 0), (5, 2)], "line 2 is gone");
        assert_eq!(lines("0\n1\n2\n3\n4x"), [(0, 1), (3, 2)], "line 4 is another");
        assert_eq!(lines("1\n2\n3\n4"), [(2, 1), (3, 2)], "line 0 is gone");
        assert_eq!(lines(""), []);
    }
}
