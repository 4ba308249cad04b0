//! Tests of what an editor does while an author types, and of tests that are added for routes.

use super::{HELPDESK, MAIN, OverlayLoader, analyse, apply_edits, project_rule_files, split_at_mark};
use crate::Analysis;
use crate::indent::indent_of_line;
use rulec::DiskLoader;
use rulec_base::span::Span;
use rulec_syntax::format::format;

/// Returns the text after the editor's edit for the character before the mark, which was just
/// typed.
fn typed(text: &str) -> String {
    let (text, at) = split_at_mark(text);
    let analysis = analyse(&text);
    let last = text[..at as usize].chars().next_back().expect("a character was typed");
    let edit = analysis.format_typed(MAIN, at, last).expect("the meaning stays");
    let mut text = text.clone();
    if let Some(edit) = edit {
        text.replace_range(edit.span.range(), &edit.replacement);
    }
    text
}

#[test]
fn a_new_line_is_indented() {
    let check = |before: &str, after: &str| assert_eq!(typed(before), after, "{before}");
    check("table t {\n┃}\n", "table t {\n}\n");
    check("table t {\n┃\n}\n", "table t {\n  \n}\n");
    check("table t {\n  route a\n┃when x -> h\n}\n", "table t {\n  route a\n    when x -> h\n}\n");
    check("route a\n┃", "route a\n  ");
    check("\u{feff}route a\n┃", "\u{feff}route a\n  ");
    check("  route a when x\n┃", "  route a when x\n  ");
    check("route a when x\n┃-> h\n", "route a when x\n  -> h\n");
    check("route a when x and\n┃    y -> h\n", "route a when x and\n  y -> h\n");
    check("route a when x -> h\n┃  route b when y -> h\n", "route a when x -> h\nroute b when y -> h\n");
    check("route a when x -> h\n┃\t", "route a when x -> h\n");
    check("list a = [\n┃\"x\"\n]\n", "list a = [\n  \"x\"\n]\n");
    check("input {\n  a: {\n┃\n  }\n}\n", "input {\n  a: {\n    \n  }\n}\n");
    // A line within a raw string keeps its white space.
    check("let a = r\"x\n┃   y\"\n", "let a = r\"x\n   y\"\n");
}

#[test]
fn a_closing_brace_formats_its_block() {
    let check = |before: &str, after: &str| assert_eq!(typed(before), after, "{before}");
    check(
        "let  z=1\ntable t {\nroute a when x->h\n  }┃\n",
        "let  z=1\ntable t {\n  route a when x -> h\n}\n",
    );
    check("input {\na :int }┃\nlet  z=1\n", "input {\n  a: int\n}\nlet  z=1\n");
    // Other characters, and braces that close nothing, change nothing.
    check("let  z=1┃\n", "let  z=1\n");
    check("let  z=1 }┃\n", "let  z=1 }\n");
    check("let  z=\"}┃\"\n", "let  z=\"}\"\n");
}

/// While an author types a formatted file, each line is indented as the formatter does it.
#[test]
fn lines_are_indented_as_the_formatter_does() {
    let (mut lines, mut different) = (0, Vec::new());
    for (path, analysis) in project_rule_files() {
        let Ok(formatted) = format(analysis.text(MAIN)) else { continue };
        let text = formatted.text;
        let mut start = 0;
        // Each answer formats the whole file.
        let step = if text.len() > 10_000 { 17 } else { 3 };
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let content = line.trim_start_matches(' ');
            let line_start = start;
            start += line.len();
            if content.trim().is_empty() || content.starts_with('#') || number % step != 0 {
                continue;
            }
            let indent = line.len() - content.len();
            let typed = format!("{}{}", &text[..line_start], &text[line_start + indent..]);
            let Some(found) = indent_of_line(&typed, line_start) else { continue };
            lines += 1;
            if found != indent {
                different.push(format!("{}:{number}: {found}, not {indent}: {content}", path.display()));
            }
        }
    }
    assert!(lines > 150, "only {lines} lines");
    assert!(different.len() * 100 < lines, "{} of {lines}:\n{}", different.len(), different.join(""));
}

/// Adds a test for the route at the offset, and returns the text of the added block.
fn added_test(analysis: &Analysis, at: u32) -> Result<String, String> {
    let selection = Span { file: MAIN, start: at, end: at };
    let loader = apply_edits(&analysis.sources, &[]);
    let action = analysis.test_for_route(&loader, selection).map_err(|error| error.as_str().to_owned())?;
    Ok(action.edits[0].replacement.clone())
}

#[test]
fn a_test_is_added_for_a_route() {
    let check = |line: &str, expected: Result<&str, &str>| {
        let (line, at) = split_at_mark(line);
        let analysis = analyse(&format!("{HELPDESK}{line}\n"));
        let added = added_test(&analysis, HELPDESK.len() as u32 + at);
        assert_eq!(added.as_deref().map_err(String::as_str), expected, "{line}");
    };
    check(
        "route x priority 99 when ct┃x.tier == \"iron\" -> billing",
        Ok("\ntest \"a message goes to x\" {\n  given ctx = { tier: \"iron\" }\n  expect x\n}\n"),
    );
    check(
        "route z priority 99 when ctx.tier == \"iron\" -> goto y\ntable y { route `when` when tex┃t == \"zinc\" -> billing }",
        Ok(
            "\ntest \"zinc: y.when\" {\n  given ctx = { tier: \"iron\" }\n  given text = \"zinc\"\n  expect y.`when`\n}\n",
        ),
    );
    check("route x when money and not mo┃ney -> billing", Err("no message can reach `x`"));
    let no_route = "a test can be added only for a route to a handler, in rules without errors";
    check("let x = mon┃ey", Err(no_route));
    check("route x when mon┃ey -> goto rest", Err(no_route));
    check("route x disabled when mon┃ey -> billing", Err(no_route));
    check("route x when mon┃y -> billing", Err(no_route));
}

/// For more than three quarters of the routes in the project's rules, a message is found and the
/// added test passes.
#[test]
fn added_tests_pass_in_every_rules_file() {
    let (mut added, mut refused) = (0, Vec::new());
    for (path, analysis) in project_rule_files() {
        let disk = DiskLoader::new(path.parent().expect("a folder")).expect("a folder");
        let loader = OverlayLoader(apply_edits(&analysis.sources, &[]), disk);
        let program = analysis.rules().expect("they compile").program();
        let spans: Vec<Span> = program.rules.iter().map(|rule| rule.span).collect();
        let testable =
            spans.into_iter().filter(|span| span.file == MAIN && analysis.testable_route(*span).is_some());
        for span in testable {
            // A test that does not pass is refused.
            match analysis.test_for_route(&loader, span) {
                Ok(_) => added += 1,
                Err(error) => refused.push(format!("{}: {error:?}\n", path.display())),
            }
        }
    }
    assert!(added > 50 && refused.len() * 3 < added, "{added} added, refused:\n{}", refused.concat());
}
