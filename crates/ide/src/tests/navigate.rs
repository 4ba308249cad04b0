//! Tests of links to other files, growing selections, types of names, signatures of calls,
//! formatting of a range, and refactorings.

use super::{HELPDESK, MAIN, OverlayLoader, analyse, apply_edits, project_rule_files, split_at_mark};
use crate::{Analysis, DeclarationKind};
use rulec::{DiskLoader, MemoryLoader};
use rulec_base::span::Span;

#[test]
fn imports_and_list_files_are_links() {
    let text = "import \"shared/words.rules\"\nlist a = from \"../a.txt\"\nroute b when text == \"c\" -> h\n";
    let analysis = analyse(text);
    let links = analysis.file_links(MAIN);
    let links: Vec<_> = links.iter().map(|link| (analysis.sources.slice(link.span), &*link.path)).collect();
    assert_eq!(links, [("\"shared/words.rules\"", "shared/words.rules"), ("\"../a.txt\"", "a.txt")]);
}

#[test]
fn a_selection_grows_from_the_token_to_the_file() {
    let (text, at) = split_at_mark("table t {\n  route a when x and len(te┃xt) > 3 -> h\n}\n");
    let analysis = analyse(&text);
    let ranges = analysis.selection_ranges(MAIN, at);
    let texts: Vec<&str> = ranges.iter().map(|span| analysis.sources.slice(*span)).collect();
    let route = "route a when x and len(text) > 3 -> h";
    let expected = [
        "text",
        "(text)",
        "len(text)",
        "len(text) > 3",
        "x and len(text) > 3",
        route,
        &text[9..text.len() - 1],
    ];
    let expected: Vec<&str> = expected.into_iter().collect();
    for part in &expected[..6] {
        assert!(texts.contains(part), "{part}: {texts:?}");
    }
    assert_eq!(texts.last(), Some(&&*text));
}

#[test]
fn a_name_leads_to_the_declaration_of_its_type() {
    let declarations = "type Order = { price: int }\ninput { orders: list<Order>, text: string }\n\
                        handler h(order: Order)\nlet newest = orders[0]\n";
    let declared = |mark: &str| {
        let (line, at) = split_at_mark(mark);
        let analysis = analyse(&format!("{declarations}{line}\n"));
        let span = analysis.type_definition(MAIN, declarations.len() as u32 + at)?;
        Some((analysis.sources.slice(span).to_owned(), span.start))
    };
    let order = Some(("Order".to_owned(), 5));
    assert_eq!(declared("route a when len(or┃ders) > 1 -> g"), order);
    assert_eq!(declared("route a when newe┃st.price > 1 -> g"), order);
    assert_eq!(declared("route a when any o in orders: ┃o.price > 1 -> g"), order);
    assert_eq!(declared("route a when te┃xt == \"a\" -> g"), None);
}

#[test]
fn words_and_names_of_the_history_lead_to_their_declarations() {
    let declarations = "input { tool: string, now: datetime }\nhistory keep 1d\n";
    let declared = |mark: &str| {
        let (line, at) = split_at_mark(mark);
        let analysis = analyse(&format!("{declarations}{line}\n"));
        let span = analysis.definition(MAIN, declarations.len() as u32 + at)?;
        Some((analysis.sources.slice(span).to_owned(), span.start as usize))
    };
    let at = |text: &str, start: usize| Some((text.to_owned(), start));
    let history = at("history", declarations.find("history").expect("the statement"));
    assert_eq!(declared("route a when pre┃vious.tool == tool -> b"), history);
    assert_eq!(declared("route a when len(hist┃ory) > 3 -> b"), history);
    assert_eq!(declared("route a when any p in hist┃ory within 1h: p.tool == tool -> b"), history);
    assert_eq!(declared("let x = last p in history before pre┃vious: p.tool == tool"), history);
    let bound = at("p", declarations.len() + "let x = last ".len());
    assert_eq!(declared("let x = last p in history: ┃p.tool == tool"), bound);
    assert_eq!(declared("let x = last p in history: any q in history after ┃p: q.tool == tool"), bound);
    let tool = at("tool", declarations.find("tool").expect("the field"));
    assert_eq!(declared("route a when previous.to┃ol == tool -> b"), tool);
    assert_eq!(declared("route a when (first p in history: p.at < now).to┃ol == tool -> b"), tool);
    for none in [
        "let x = fi┃rst p in history: p.tool == tool",
        "route a when previous.a┃t < now -> b",
        "route a when tool.prev┃ious == tool -> b",
    ] {
        assert_eq!(declared(none), None, "{none}");
    }
    let without = analyse("route a when previous.n > 3 -> b\n");
    assert_eq!(without.definition(MAIN, 14), None, "a field of the message");
}

#[test]
fn a_call_shows_its_signature_and_parameter() {
    let signature = |mark: &str| {
        let (line, at) = split_at_mark(mark);
        let signature =
            analyse(&format!("{HELPDESK}{line}\n")).signature_at(MAIN, HELPDESK.len() as u32 + at)?;
        let active = signature.active_parameter.map(|index| signature.parameters[index].clone());
        Some((signature.label, active))
    };
    let some = |label: &str, active: &str| Some((label.to_owned(), Some(active.to_owned())));
    assert_eq!(signature("route x when over(┃"), some("over(n: int)", "n: int"));
    assert_eq!(
        signature("route x when money -> billing(tier: ┃"),
        some("billing(tier?: string)", "tier?: string")
    );
    let (label, active) = signature("route x when replace(text, ┃").expect("a function");
    assert!(label.starts_with("replace(") && active.is_some_and(|active| label.contains(&active)), "{label}");
    assert_eq!(signature("route x when (money ┃"), None);
    assert_eq!(signature("route x when unknown(┃"), None);
}

#[test]
fn only_the_lines_of_the_range_are_formatted() {
    let text = "let  a  =  1\nlet  b  =  2\nlet  c  =  3\n";
    let at = text.find("let  b").expect("it is there") as u32;
    let analysis = analyse(text);
    let edit =
        analysis.format_range(Span { file: MAIN, start: at + 2, end: at + 3 }).expect("it is formatted");
    let edits: Vec<_> = edit.into_iter().collect();
    let after = Analysis::new(&apply_edits(&analysis.sources, &edits), "a.rules");
    assert_eq!(after.text(MAIN), "let  a  =  1\nlet b = 2\nlet  c  =  3\n");
    let line = Span { file: MAIN, start: 13, end: 14 };
    assert_eq!(after.format_range(line).expect("it is formatted"), None);
}

/// Returns the text after the refactoring whose title contains `title`, at the selection between
/// two marks or at one mark; `None` if it is not offered.
pub(super) fn refactored(text: &str, title: &str) -> Option<String> {
    let (text, start) = split_at_first_mark(text);
    let (text, end) = if text.contains('┃') { split_at_mark(&text) } else { (text, start) };
    let analysis = analyse(&text);
    assert!(analysis.rules().is_some(), "{text}: {:?}", analysis.diagnostics());
    let actions = analysis.refactorings(Span { file: MAIN, start, end });
    let action = actions.into_iter().find(|action| action.title.to_string().contains(title))?;
    let after = Analysis::new(&apply_edits(&analysis.sources, &action.edits), "a.rules");
    assert!(after.rules().is_some(), "{}: {:?}", after.text(MAIN), after.diagnostics());
    Some(after.text(MAIN).to_owned())
}

/// Like [`refactored`], for a text with errors. The errors must be the same after the refactoring.
fn refactor_with_errors(text: &str, title: &str) -> Option<String> {
    let (text, start) = split_at_first_mark(text);
    let (text, end) = if text.contains('┃') { split_at_mark(&text) } else { (text, start) };
    let analysis = analyse(&text);
    assert!(analysis.rules().is_none(), "{text}");
    let actions = analysis.refactorings(Span { file: MAIN, start, end });
    let action = actions.into_iter().find(|action| action.title.to_string().contains(title))?;
    let after = Analysis::new(&apply_edits(&analysis.sources, &action.edits), "a.rules");
    assert_eq!(errors_of(&after), errors_of(&analysis), "{}", after.text(MAIN));
    Some(after.text(MAIN).to_owned())
}

/// The code and the message of each error, sorted.
fn errors_of(analysis: &Analysis) -> Vec<String> {
    let errors = analysis.diagnostics().iter().filter(|diagnostic| diagnostic.is_error());
    let mut errors: Vec<String> = errors.map(|error| format!("{} {}", error.code, error.message)).collect();
    errors.sort();
    errors
}

fn split_at_first_mark(text: &str) -> (String, u32) {
    let offset = text.find('┃').expect("there is a mark");
    (text.replacen('┃', "", 1), offset as u32)
}

#[test]
fn a_selected_expression_becomes_a_let() {
    let text = "## What a does.\nroute a when n > 1 and (┃n > 2 or m > 3┃) -> h\n";
    assert_eq!(
        refactored(text, "give the expression a name").as_deref(),
        Some("let extracted = n > 2 or m > 3\n## What a does.\nroute a when n > 1 and (extracted) -> h\n")
    );
    let local = "route a when any x in xs: ┃x > 2┃ -> h\n";
    assert_eq!(refactored(local, "give the expression a name"), None, "the name of a quantifier");
    assert_eq!(refactored("route a when n > ┃1┃ -> h\n", "give the expression a name"), None, "a literal");
}

#[test]
fn a_let_is_replaced_by_its_value() {
    let text = "# Sums.\nlet big = n > 2 or m > 3\nroute a when b and bi┃g -> h\nroute c when not big -> h\n";
    assert_eq!(
        refactored(text, "replace `big` by its value").as_deref(),
        Some("route a when b and (n > 2 or m > 3) -> h\nroute c when not (n > 2 or m > 3) -> h\n")
    );
    let path = "let newest = orders[0]\nroute a when newe┃st.price > 2 -> h\n";
    let inlined = refactored(path, "replace `newest` by its value");
    assert_eq!(inlined.as_deref(), Some("route a when orders[0].price > 2 -> h\n"));
    let captured = "let big = n > 2\nroute a when any n in ns: n > 1 and bi┃g -> h\n";
    assert_eq!(refactored(captured, "by its value"), None, "the quantifier has the same name");
}

#[test]
fn routes_are_sorted_by_priority() {
    let text = "route a when x == 1 -> h # one\nlet b = 2\n# two\nrou┃te c priority 5 when x == b -> h\n";
    let sorted = "# two\nroute c priority 5 when x == b -> h\nlet b = 2\nroute a when x == 1 -> h # one\n";
    assert_eq!(refactored(text, "sort the routes").as_deref(), Some(sorted));
    let marked = sorted.replacen("route a", "rou┃te a", 1);
    assert_eq!(refactored(&marked, "sort the routes"), None, "they are sorted");
    let shared = "route a when x == 1 -> h route c┃ priority 5 when x == 2 -> h\n";
    assert_eq!(refactored(shared, "sort the routes"), None, "they share a line");
}

/// Regression: one error anywhere in a file removed the refactorings of all its statements.
#[test]
fn statements_without_errors_are_refactored_if_others_have_errors() {
    let broken = "route x when text contains -> h\n";
    let title = "give the expression a name";
    let route = "route a when n > 1 and (┃n > 2 or m > 3┃) -> h\n";
    let expected =
        format!("{broken}let extracted = n > 2 or m > 3\nroute a when n > 1 and (extracted) -> h\n");
    assert_eq!(refactor_with_errors(&format!("{broken}{route}"), title), Some(expected));
    let takes_name = "route x when extracted contains -> h\n";
    let named = refactor_with_errors(&format!("{takes_name}{route}"), title);
    assert!(named.is_some_and(|text| text.contains("let extracted_2 =")), "the broken route uses the name");
    let ill_typed = "input { n: int }\nroute a when ┃n > 1┃ and n starts_with \"a\" -> h\n";
    assert_eq!(refactor_with_errors(ill_typed, title), None, "the statement has an error");

    let title = "replace `big` by its value";
    let sound = "let big = n > 2\nroute a when bi┃g -> h\n";
    let inlined = format!("route a when (n > 2) -> h\n{broken}");
    assert_eq!(refactor_with_errors(&format!("{sound}{broken}"), title), Some(inlined));
    let uses_name = format!("{sound}route x when big and -> h\n");
    assert_eq!(refactor_with_errors(&uses_name, title), None, "the broken route uses the `let`");

    let title = "name this list";
    let lists = "route a when tier in [\"a┃\", \"b\"] -> h\nroute b when tier in [\"a\", \"b\"] -> h\n";
    let named = refactor_with_errors(&format!("{lists}{broken}"), title);
    assert_eq!(
        named,
        Some(format!(
            "list tiers = [\"a\", \"b\"]\nroute a when tier in tiers -> h\nroute b when tier in tiers -> h\n{broken}"
        ))
    );
}

/// A route that does not parse could be tried between two routes that are moved.
#[test]
fn routes_are_not_sorted_around_a_route_with_an_error() {
    let [first, second] = ["rou┃te a when x == 1 -> h\n", "route c priority 5 when x == 2 -> h\n"];
    let broken = "route b when x == -> h\n";
    let title = "sort the routes";
    assert_eq!(refactor_with_errors(&format!("{first}{broken}{second}"), title), None);
    assert_eq!(refactor_with_errors(&format!("{broken}{first}{second}"), title), None);
    let table = format!("table t {{\n  {first}  {second}}}\nroute to_t when y == 1 -> goto t\n{broken}");
    let sorted = "table t {\n  route c priority 5 when x == 2 -> h\n  route a when x == 1 -> h\n}\n";
    let found = refactor_with_errors(&table, title);
    assert!(found.as_ref().is_some_and(|text| text.starts_with(sorted)), "{found:?}");
}

#[test]
fn no_refactoring_of_a_file_with_an_error_adds_an_error() {
    let mut edited = 0;
    for (path, found) in project_rule_files() {
        let text = found.text(MAIN);
        if text.len() > 6_000 {
            continue;
        }
        let name = found.sources.file(MAIN).name.clone();
        let broken = format!("{text}\nroute broken_one when text contains -> other_handler\n");
        let disk = || DiskLoader::new(path.parent().expect("a folder")).expect("it is there");
        let memory = MemoryLoader::new().with(&name, broken);
        let analysis = Analysis::new(&OverlayLoader(memory, disk()), &name);
        let before = errors_of(&analysis);
        let names = analysis.index.occurrences_in(MAIN).iter().filter(|name| {
            analysis.index.symbols[name.symbol].kind == DeclarationKind::Let && name.is_declaration
        });
        let names = names.map(|name| Span { end: name.span.start, ..name.span }).take(5);
        let mut expressions: Vec<Span> =
            analysis.index.expression_spans.iter().copied().filter(|span| span.file == MAIN).collect();
        expressions.sort();
        let lists = analysis.index.lists.iter().map(|list| list.span).filter(|span| span.file == MAIN);
        for selection in names.chain(expressions.into_iter().take(5)).chain(lists.take(3)) {
            for action in analysis.refactorings(selection) {
                let edits = apply_edits(&analysis.sources, &action.edits);
                let after = Analysis::new(&OverlayLoader(edits, disk()), &name);
                assert_eq!(errors_of(&after), before, "{} of {}", action.title, path.display());
                edited += 1;
            }
        }
    }
    assert!(edited > 20, "{edited}");
}
