//! Tests of names that contain the syntax of output formats, such as lcov, XML and Graphviz. No
//! name may add a record, an element, a command or a directive to the output.

use super::Folder;

/// Parts that end or begin a record in one of the formats.
const NASTY: &str = "a\nend_of_record\nSF:evil.rules\n::error::evil\r\n]]></x><evil/>\" ]; evil -> evil; #evil `evil` %%{init: {}}%% \u{1b}[2J\u{0}\u{2028}evil, 'evil' --> <script>evil()</script>";

/// Returns rules that use `name` as a name in every position where the language allows any text.
fn rules(name: &str) -> String {
    let quoted = serde_json::to_string(name).expect("a text is JSON");
    let text = quoted.replace("\\u0000", "").replace("\\u001b", "\\u{1b}");
    // A quoted name holds neither line breaks nor back quotes.
    let line: String = name.chars().filter(|c| !c.is_control() && *c != '`' && *c != '\u{2028}').collect();
    format!(
        "route `{line}` when text contains {text} -> h\n\
         route unused when text == {text} and text == \"b\" -> h\n\
         flow f {text} keyword contains [\"k\"] -> {text}\n\
         payload p {{\n  a: string\n  require {text} at a: a != {text} else {text}\n}}\n\
         choice c {{\n  default branch d\n  branch `{line}` all {{ text == {text} }}\n}}\n\
         test {text} {{ given text = {text} expect unused }}\n\
         test \"t\" {{ given payload = {{ a: {text} }} expect p.reject {text} }}\n"
    )
}

#[test]
fn a_name_adds_no_record_to_a_report() {
    for name in [NASTY.to_owned(), "x\n".repeat(50_000)] {
        let folder = Folder::with(rules(&name));
        folder.rulec(&["test", "--coverage-lcov", "lcov.info", "--coverage-html", "page.html"]).expect(1);
        let records = std::fs::read_to_string(folder.path("lcov.info")).expect("it is written");
        let known = [
            "TN:",
            "SF:a.rules",
            "FN:",
            "FNDA:",
            "FNF:",
            "FNH:",
            "BRDA:",
            "BRF:",
            "BRH:",
            "DA:",
            "LF:",
            "LH:",
        ];
        let wrong =
            |line: &&str| *line != "end_of_record" && !known.iter().any(|known| line.starts_with(known));
        assert_eq!(records.lines().find(wrong), None);
        assert_eq!(records.matches("\nSF:").count() + 1, 2, "{records:.1000}");
        assert_eq!(records.lines().filter(|line| *line == "end_of_record").count(), 1);
        let page = std::fs::read_to_string(folder.path("page.html")).expect("it is written");
        assert!(!page.contains("<evil") && !page.contains("<script"), "a page holds no markup of a name");

        let report = folder.rulec(&["test", "--format", "junit"]).expect(1);
        assert_eq!(report.out.matches("<testcase ").count(), 2);
        assert!(!report.out.contains("<evil") && !report.out.contains("]]>"), "{:.2000}", report.out);
        assert!(
            !report.out.contains(|c: char| c.is_control() && c != '\n'),
            "XML holds no control characters"
        );
        let text = folder.rulec(&["test", "--coverage"]).expect(1);
        assert!(!text.out.lines().any(|line| line.starts_with("SF:") || line.starts_with("::error")));
    }
}

#[test]
fn a_name_adds_no_finding() {
    let folder =
        Folder::with(rules(NASTY) + "route late when text contains \"a\" and text contains \"b\" -> h\n");
    let findings = folder.rulec(&["check", "a.rules", "--format", "concise"]);
    let count = findings.out.lines().count();
    assert!(count > 0);
    assert!(findings.out.lines().all(|line| line.starts_with("a.rules:")), "{}", findings.out);
    let commands = folder.rulec(&["check", "a.rules", "--format", "github"]);
    assert_eq!(commands.out.lines().count(), count, "{}", commands.out);
    assert!(
        commands
            .out
            .lines()
            .all(|line| line.starts_with("::warning file=") || line.starts_with("::error file="))
    );
    for format in ["sarif", "json"] {
        let data = folder.rulec(&["check", "a.rules", "--format", format]);
        assert!(!data.out.contains(|c: char| c.is_control() && c != '\n'), "{format}: {}", data.out);
    }
    let cases = folder.rulec(&["check", "a.rules", "--format", "junit"]);
    assert_eq!(cases.out.matches("<testcase ").count(), count);
    assert!(!cases.out.contains("<evil"), "{}", cases.out);
}

#[test]
fn a_name_adds_nothing_to_a_drawing() {
    for name in [NASTY.to_owned(), "long ".repeat(20_000), "x".repeat(100_000)] {
        let folder = Folder::with(rules(&name));
        for table in ["routes", "flows", "c"] {
            let draw = |format: &str| {
                folder.rulec(&["graph", "a.rules", "--name", table, "--format", format]).expect(0).out
            };
            let mermaid = draw("mermaid");
            assert!(!mermaid.contains("%%{") && !mermaid.contains("<script"), "{mermaid}");
            let known = ["%% ", "flowchart TD", "  n"];
            assert!(
                mermaid.lines().all(|line| known.iter().any(|known| line.starts_with(known))),
                "{mermaid}"
            );
            let dot = draw("dot");
            assert!(
                dot.lines()
                    .all(|line| line.starts_with("  n") || line.starts_with("digraph \"") || line == "}"),
                "{dot}"
            );
            // Outside quoted texts, a name adds no word.
            let mut plain = dot.replace("\\\\", "").replace("\\\"", "");
            while let Some(start) = plain.find('"') {
                let end = plain[start + 1..].find('"').map_or(plain.len(), |end| start + end + 2);
                plain.replace_range(start..end, "");
            }
            assert!(!plain.contains("evil"), "{plain}");
            let svg = draw("svg");
            assert!(!svg.contains("<evil") && !svg.contains("<script"), "{svg}");
            let width = svg.split("width=\"").nth(1).and_then(|rest| rest.split('"').next());
            let width: usize = width.and_then(|width| width.parse().ok()).expect("a picture has a width");
            assert!(width < 4000, "{width}");
            assert!(
                [&mermaid, &dot, &svg].iter().all(|text| text.len() < 40_000),
                "long labels are truncated"
            );
        }
    }
}
