//! Tests of the refactoring that names a list: the rules decide as before.

use super::navigate::refactored;
use super::{OverlayLoader, apply_edits, project_rule_files};
use crate::Analysis;
use rulec::DiskLoader;
use rulec_base::span::Span;
use rulec_vm::bytecode::disasm::disassemble;

#[test]
fn a_list_gets_a_name_and_replaces_equal_lists() {
    let text = "# Tiers.\nroute a when ctx.tier in [\"gold\", ┃\"free\"] -> h\n\
                route b when ctx.tier in [\"gold\", \"free\"] and n in [1] -> h\n\
                route c when ctx.tier in [\"free\", \"gold\"] -> h\n";
    assert_eq!(
        refactored(text, "name this list").as_deref(),
        Some(
            "list tiers = [\"gold\", \"free\"]\n# Tiers.\nroute a when ctx.tier in tiers -> h\n\
             route b when ctx.tier in tiers and n in [1] -> h\n\
             route c when ctx.tier in [\"free\", \"gold\"] -> h\n"
        )
    );
}

#[test]
fn the_name_of_a_list_is_free_and_follows_the_field() {
    let name = |condition: &str| {
        let text = format!("let words = text is present\nroute a when words and {condition} -> h\n");
        let after = refactored(&text, "name this list")?;
        let list = after.lines().find_map(|line| line.strip_prefix("list "))?;
        list.split(' ').next().map(str::to_owned)
    };
    for (condition, expected) in [
        ("ctx.country in [┃\"de\"]", "countries"),
        ("ctx.day in [┃\"mo\"]", "days"),
        ("ctx.box in [┃\"a\"]", "boxes"),
        ("status in [┃\"a\"]", "status_list"),
        // A function has the name `values`.
        ("ctx.value in [┃\"a\"]", "values_2"),
        // A `let` has the name `words`.
        ("text contains any [┃\"a\", \"b\"]", "words_2"),
        ("(n + 1) in [┃1, 2]", "values_2"),
        ("ctx.城市 in [┃\"a\"]", "城市_list"),
    ] {
        assert_eq!(name(condition).as_deref(), Some(expected), "{condition}");
    }
}

#[test]
fn a_list_over_several_lines_is_written_in_one() {
    let text = "table t {\n  route a when x in [\n    ┃\"a [ b\",\n    \"c\",\n  ] -> h\n}\n";
    assert_eq!(
        refactored(text, "name this list").as_deref(),
        Some("list xes = [\"a [ b\", \"c\"]\ntable t {\n  route a when x in xes -> h\n}\n")
    );
}

#[test]
fn only_constant_lists_of_conditions_get_a_name() {
    for text in [
        "route a when x in [┃y, z] -> h\n",
        "list words = [┃\"a\"]\nroute a when x in words -> h\n",
        "let words = [┃\"a\"]\nroute a when x in words -> h\n",
        "intent i { keywords [┃\"a\"] }\nroute a when request.intent == \"i\" -> h\n",
        "route a when x -> h { tags: [┃\"a\"] }\n",
        "route a when x in [\"a\"] ┃-> h\n",
    ] {
        assert_eq!(refactored(text, "name this list"), None, "{text}");
    }
}

/// Bytecode contains the elements of a list, not its name. So naming a list must not change the
/// bytecode.
#[test]
fn naming_a_list_does_not_change_the_program() {
    let code = |analysis: &Analysis| {
        let rules = analysis.rules().expect("it compiles");
        disassemble(rules.bytecode().chunk(), None)
    };
    let mut named = 0;
    for (path, found) in project_rule_files() {
        let spans: Vec<Span> = found.index.lists.iter().map(|list| list.span).collect();
        // Larger files would only repeat the same cases.
        for span in spans.into_iter().take(40) {
            let cursor = Span { start: span.start + 1, end: span.start + 1, ..span };
            let actions = found.refactorings(cursor);
            let action = actions.iter().find(|action| action.title.as_str().contains("name this list"));
            let action = action.unwrap_or_else(|| panic!("none in {}", path.display()));
            let main = &found.sources.file(super::MAIN).name;
            let disk = DiskLoader::new(path.parent().expect("a folder")).expect("it is there");
            let after = Analysis::new(&OverlayLoader(apply_edits(&found.sources, &action.edits), disk), main);
            let list = found.sources.slice(span);
            assert!(after.rules().is_some(), "{list} of {}: {:?}", path.display(), after.diagnostics());
            assert_eq!(code(&after), code(&found), "{list} of {}", path.display());
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}
