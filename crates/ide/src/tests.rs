//! Tests of the editor services at marked positions of short texts. Renaming is tested in every
//! rules file of the project.

use super::tokens::{TokenClass, coloured_tokens, fold_ranges};
use super::{Analysis, DeclarationKind, Edit, actions};
use rulec::DiskLoader;
use rulec_analysis::AnalysisOptions;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span};
use rulec_syntax::loader::{LoadError, Loader, MemoryLoader};
use rulec_vm::bytecode::disasm::disassemble;
use std::path::{Path, PathBuf};

mod complete;
mod hover;
mod lists;
mod navigate;
mod snippets;
mod typing;

const MAIN: FileId = FileId(0);

/// Returns a text without its mark `┃`, and the offset of the mark.
fn split_at_mark(text: &str) -> (String, u32) {
    let offset = text.find('┃').expect("there is a mark");
    (text.replace('┃', ""), offset as u32)
}

fn analyse(text: &str) -> Analysis {
    Analysis::new(&MemoryLoader::new().with("a.rules", text), "a.rules")
}

const HELPDESK: &str = r#"## What customers write.
input { text: string, ctx: Ctx }
type Ctx = { tier: string, orders: list<int> }
## Asks for money.
let money = text contains any ["refund", "money"]
def over(n: int) = len(ctx.orders) > n
list tiers = ["gold", "silver"]
handler billing(tier?: string)
route refund priority 5 when money and ctx.tier in tiers -> billing(tier: ctx.tier)
route many priority 9 when over(n: 3) and any order in ctx.orders: order > 9 -> billing
route named when wanted where wanted = money -> goto rest
table rest { route every when text is present -> billing }
test "a refund" { given text = "refund" given ctx.tier = "gold" expect refund }
test "the rest" { given text = "x" expect rest.every }
"#;

/// Returns the kind, name and line of the declaration of the name at the mark. Also returns the
/// number of occurrences of the name.
fn find_target(line: &str) -> Option<(String, usize)> {
    let (line, at) = split_at_mark(line);
    let text = format!("{HELPDESK}{line}\n");
    let analysis = analyse(&text);
    let name = analysis.index.occurrence_at(MAIN, HELPDESK.len() as u32 + at)?;
    let symbol = &analysis.index.symbols[name.symbol];
    let declared = symbol.declaration.as_ref().map_or("nowhere", |at| analysis.sources.slice(at.name_span));
    let head = symbol
        .declaration
        .as_ref()
        .map_or(0, |at| text[..at.whole_span.start as usize].matches('\n').count() + 1);
    Some((
        format!("{} {declared} {head}", symbol.kind.to_word()),
        analysis.index.occurrences_of(name.symbol).count(),
    ))
}

#[test]
fn names_lead_to_their_declarations() {
    let check = |line: &str, expected: &str, places: usize| {
        assert_eq!(find_target(line), Some((expected.to_owned(), places)), "{line}");
    };
    check("route x when mon┃ey -> billing", "let money 5", 4);
    check("route x when ┃over(n: 1) -> billing", "def over 6", 3);
    check("route x when over(┃n: 1) -> billing", "parameter n 6", 4);
    check("route x when text in tiers┃ -> billing", "list tiers 7", 3);
    check("route x when money -> bil┃ling", "handler billing 8", 5);
    check("route x when money -> billing(ti┃er: text)", "parameter tier 8", 3);
    check("route x when money -> goto re┃st", "table rest 12", 4);
    check("route x when ctx.ti┃er == \"a\" -> billing", "field tier 3", 5);
    check("route x when ct┃x.tier == \"a\" -> billing", "field ctx 2", 7);
    check("route x when any o┃ in ctx.orders: o > 1 -> billing", "name o 15", 2);
    check("route x when w where ┃w = money -> billing", "name w 15", 2);
    check("test \"y\" { given text = \"x\" expect ma┃ny }", "route many 10", 2);
    check("test \"y\" { given text = \"x\" expect rest.ev┃ery }", "route every 12", 3);
    // A statement with a syntax error does not affect other statements.
    check("route y when when\nroute x when mon┃ey -> billing", "let money 5", 4);
}

/// Fields of a value are found in the declaration of the value's type, also for elements, arguments
/// of a `def` and values of a `let`.
#[test]
fn fields_of_bound_names_lead_to_their_declarations() {
    const SHOP: &str = r#"type Order = { price: int, items: list<{ sku: string }> }
input { orders: list<Order>, by_day: dict<list<Order>>, user: { name: string } }
def dear(o: Order) = o.price > 9
def called(u: { nick: string }) = u.nick == "a"
let first = orders[0]
group address { city: string }
"#;
    let check = |line: &str, expected: Option<(usize, usize)>| {
        let (line, at) = split_at_mark(line);
        let text = format!("{SHOP}{line}\n");
        let analysis = analyse(&text);
        let name = analysis.index.occurrence_at(MAIN, SHOP.len() as u32 + at);
        let led = name.map(|name| {
            let declared = analysis.index.symbols[name.symbol].declaration.as_ref();
            let line = declared.map_or(0, |at| text[..at.name_span.start as usize].matches('\n').count() + 1);
            (line, analysis.index.occurrences_of(name.symbol).count())
        });
        assert_eq!(led, expected, "{line}");
    };
    check("route x when any o in orders: o.pri┃ce > 3 -> h", Some((1, 3)));
    check("route x when any o in orders: any i in o.items: i.sk┃u == \"a\" -> h", Some((1, 2)));
    check("route x when orders[1].items[0].sk┃u == \"a\" -> h", Some((1, 2)));
    check("route x when any o in by_day[\"mo\"]: o.pri┃ce > 3 -> h", Some((1, 3)));
    check("route x when first.pri┃ce > 3 -> h", Some((1, 3)));
    check("route x when one.pri┃ce > 3 where one = first -> h", Some((1, 3)));
    check("def y(u: { nick: string }) = u.ni┃ck == \"b\"", Some((7, 2)));
    check("route x when any o in orders: o.non┃e > 3 -> h", None);
    // The field has no declaration, but its occurrences are still indexed.
    check("route x when any o in user.xs: o.b┃ > 3 and o.b < 9 -> h", Some((0, 2)));
    check("payload p rank 1 { to: address\n require \"r\": to.ci┃ty != \"a\" }", Some((6, 2)));
    check(
        "payload p rank 1 { xs: list<address>\n each k, a in xs { require \"r\": a.ci┃ty != \"a\" } }",
        Some((6, 2)),
    );
    check(
        "payload p rank 1 { to: { city: string }\n require \"r\": payload.to.ci┃ty != to.city }",
        Some((7, 3)),
    );
    let offers = |line: &str| {
        let (line, at) = split_at_mark(line);
        let items = analyse(&format!("{SHOP}{line}\n")).complete(MAIN, SHOP.len() as u32 + at).items;
        items.into_iter().map(|item| item.label).collect::<Vec<_>>()
    };
    assert_eq!(offers("route x when any o in orders: o.pri┃ > 3 -> h"), ["items", "price"]);
    let nested = "def y(u: { at: { city: string, zip: string } }) = u.at.ci┃ == \"a\"";
    assert_eq!(offers(nested), ["city", "zip"]);
    let of_group = "payload p { xs: list<address>\n each a in xs { require \"r\": a.ci┃ == \"a\" } }";
    assert_eq!(offers(of_group), ["city"]);
    // No name precedes the dot after a bracket; fuzzing found this case.
    assert_eq!(offers("route x when (text).┃ == \"a\" -> h"), Vec::<String>::new());
    let (line, at) = split_at_mark("route x when any o in orders: any i in o.items: i.sk┃u == \"a\" -> h");
    let hover = analyse(&format!("{SHOP}{line}\n")).hover(MAIN, SHOP.len() as u32 + at);
    assert_eq!(hover.map(|hover| hover.source_code).as_deref(), Some("sku: string"));
}

#[test]
fn names_in_payloads_and_groups_lead_to_their_declarations() {
    let check = |text: &str, expected: (DeclarationKind, usize)| {
        let (text, at) = split_at_mark(text);
        let analysis = analyse(&text);
        let name =
            analysis.index.occurrence_at(MAIN, at).unwrap_or_else(|| panic!("nothing at the mark of {text}"));
        assert_eq!(
            (analysis.index.symbols[name.symbol].kind, analysis.index.occurrences_of(name.symbol).count()),
            expected,
            "{text}"
        );
    };
    check(
        "payload a rank 1 { na┃me: string\n require \"r\": len(name) > payload.name }",
        (DeclarationKind::PayloadField, 3),
    );
    check(
        "payload a rank 1 { xs: list<int>\n each x in xs { require \"r\": ┃x > 1 } }",
        (DeclarationKind::Local, 2),
    );
    check("payload a rank 1 { n: int\n let ┃m = n + 1\n require \"r\": m > n }", (DeclarationKind::Local, 2));
    check(
        "group g(k: int) { n: int\n require \"r\": n > k }\npayload a rank 1 { include g(┃k: 3) }",
        (DeclarationKind::Parameter, 3),
    );
    check(
        "group g { n: int }\npayload a rank 1 { include ┃g\n require \"r\": n > 1 }",
        (DeclarationKind::Group, 2),
    );
    check(
        "group g { n: int }\npayload a rank 1 { include g\n require \"r\": ┃n > 1 }",
        (DeclarationKind::PayloadField, 2),
    );
    check(
        "payload a rank 1 fallback ┃b { n: int }\npayload b rank 2 { n: int }",
        (DeclarationKind::Payload, 2),
    );
}

/// Applies edits to all files, and returns the new texts.
fn apply_edits(sources: &SourceMap, edits: &[Edit]) -> MemoryLoader {
    sources.iter().fold(MemoryLoader::new(), |loader, (id, file)| {
        let mut text = file.text.clone();
        let mut file_edits: Vec<&Edit> = edits.iter().filter(|edit| edit.span.file == id).collect();
        file_edits.sort();
        file_edits.iter().rev().for_each(|edit| text.replace_range(edit.span.range(), &edit.replacement));
        loader.with(&file.name, text)
    })
}

/// Loads files from texts in memory. Files that are not in memory, such as list files, are loaded
/// from disk.
struct OverlayLoader(MemoryLoader, DiskLoader);

impl Loader for OverlayLoader {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        self.0.load(path).or_else(|_| self.1.load(path))
    }
}

/// Returns the rules files of the project that compile, with their imports.
fn project_rule_files() -> Vec<(PathBuf, Analysis)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["examples", "rules", "tests/golden", "tests/conformance"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rules"));
    files.sort();
    let analysis = |path: PathBuf| {
        let disk = DiskLoader::new(path.parent()?).ok()?;
        let found = Analysis::new(&disk, path.file_name()?.to_str()?);
        found.rules().is_some().then_some((path, found))
    };
    files.into_iter().filter_map(analysis).collect()
}

/// Bytecode contains the names of fields and bindings, but no other names. Renaming other symbols
/// must not change the bytecode.
#[test]
fn renaming_does_not_change_the_program() {
    let code = |found: &Analysis| disassemble(found.rules().expect("it compiles").bytecode().chunk(), None);
    let codes = |found: &Analysis| {
        let mut codes: Vec<_> = found.diagnostics().iter().map(|found| found.code).collect();
        codes.sort_by_key(ToString::to_string);
        codes
    };
    let (mut renamed, mut files) = (0, 0);
    for (path, found) in project_rule_files() {
        // Larger files would only repeat the same cases.
        if found.index.symbols.len() > 300 {
            continue;
        }
        files += 1;
        for (id, symbol) in found.index.symbols.iter().enumerate() {
            let Some(declared) = &symbol.declaration else { continue };
            let Ok(edits) = found.rename(declared.name_span.file, declared.name_span.start, "quite_another")
            else {
                continue;
            };
            let main = &found.sources.file(MAIN).name;
            let disk = DiskLoader::new(path.parent().expect("a folder")).expect("it is there");
            let after = Analysis::new(&OverlayLoader(apply_edits(&found.sources, &edits), disk), main);
            let description = format!("{} `{}` of {}", symbol.kind.to_word(), symbol.name, path.display());
            // Rule ids begin with the name of their group or payload, and tests refer to them in
            // quotes.
            let quoted = matches!(symbol.kind, DeclarationKind::Group | DeclarationKind::Payload);
            let of_test = |found: &Diagnostic| quoted && found.code == Code::UnknownExpectation;
            let errors = after.diagnostics().iter().filter(|found| found.is_error());
            let errors: Vec<_> = errors.filter(|found| !of_test(found)).collect();
            if after.rules().is_none() && errors.is_empty() {
                continue;
            }
            assert!(after.rules().is_some(), "{description}: {errors:?}");
            // Rules refer to intents in quotes, so renaming an intent causes a warning.
            if symbol.kind != DeclarationKind::Intent {
                assert_eq!(codes(&after), codes(&found), "{description}");
            }
            // Flow and node ids are values of the program.
            if !matches!(
                symbol.kind,
                DeclarationKind::Branch
                    | DeclarationKind::Flow
                    | DeclarationKind::Node
                    | DeclarationKind::Payload
                    | DeclarationKind::Intent
                    | DeclarationKind::Choice
            ) {
                // Bindings are displayed by name.
                let same = code(&after).replace("quite_another", &symbol.name) == code(&found);
                assert!(same, "{description}");
            }
            assert_eq!(
                after.index.occurrences_of(id).count(),
                found.index.occurrences_of(id).count(),
                "{description}"
            );
            renamed += 1;
        }
    }
    assert!(files > 10 && renamed > 150, "{renamed} names of {files} files");
}

#[test]
fn renaming_is_refused_with_a_reason() {
    let refused = |mark: &str, new: &str| {
        let (line, at) = split_at_mark(mark);
        let text = format!("{HELPDESK}{line}\n");
        analyse(&text).rename(MAIN, HELPDESK.len() as u32 + at, new).map_err(|refused| refused.to_string())
    };
    let check = |mark: &str, new: &str, expected: &str| {
        let refusal = refused(mark, new).expect_err(mark);
        assert!(refusal.contains(expected), "{refusal}");
    };
    check("route x when ctx.ti┃er == \"a\" -> billing", "b", "the program that sends messages");
    check("route x wh┃en money -> billing", "b", "no name here that the rules declare");
    check("route x when mon┃ey -> billing", "tiers", "already the name of a list");
    check("route x when mon┃ey -> billing", " ", "is not a valid name");
    check("route x when mon┃ey -> billing", "a`b", "is not a valid name");
    check("route x when unk┃nown(1) -> billing", "b", "not declared");
    let edits = refused("route x when mon┃ey -> billing", "when").expect("it can");
    assert!(edits.len() == 4 && edits.iter().all(|edit| edit.replacement == "`when`"));
}

#[test]
fn hints_tell_types_and_the_order_of_routes() {
    let hints: Vec<_> = analyse(HELPDESK)
        .inlay_hints(MAIN)
        .into_iter()
        .map(|hint| (hint.offset as usize, hint.text))
        .collect();
    let at = |needle: &str| HELPDESK.find(needle).expect("it is there") + needle.len();
    assert!(hints.contains(&(at("let money"), ": bool".to_owned())), "{hints:?}");
    assert!(
        hints.contains(&(HELPDESK.find("route many").expect("it is there") + 5, " #1".to_owned())),
        "{hints:?}"
    );
    assert!(
        analyse("route a when x -> h\nroute b when y -> h").inlay_hints(MAIN).is_empty(),
        "they are in order"
    );
}

#[test]
fn lenses_run_tests_and_mark_hidden_routes() {
    let analysis = analyse(
        "route a when ctx.n > 3 -> h\nroute b when ctx.n > 5 -> h\ntest \"t\" { given ctx.n = 4 expect a }",
    );
    let lenses =
        analysis.code_lenses(MAIN, analysis.diagnostics(), &analysis.findings(AnalysisOptions::default()));
    assert_eq!(lenses.iter().filter_map(|lens| lens.test_name.as_deref()).collect::<Vec<_>>(), ["t"]);
    assert!(lenses.iter().any(|lens| lens.test_name.is_none() && lens.text.contains('b')), "{lenses:?}");
}

#[test]
fn findings_have_code_actions() {
    let analysis = analyse("let money = text contains \"a\"\nroute a when mony -> h\n");
    let offers: Vec<_> = analysis
        .diagnostics()
        .iter()
        .flat_map(|one| actions::actions_for_diagnostic(one, &analysis.sources))
        .collect();
    assert!(
        offers.iter().any(|offer| offer.title == "replace `mony` with `money`" && !offer.is_safe),
        "{offers:?}"
    );
    let analysis = analyse("let unused = 1\nroute a when x -> h\n");
    let offers: Vec<_> = analysis
        .diagnostics()
        .iter()
        .flat_map(|one| actions::actions_for_diagnostic(one, &analysis.sources))
        .collect();
    let allow =
        offers.iter().find(|offer| offer.title.starts_with("allow W0102")).expect("it can be allowed");
    assert!(!allow.is_safe, "an editor must not prefer to silence");
    assert_eq!(allow.edits[0].replacement, "# rulec: allow W0102\n");
    let after = Analysis::new(&apply_edits(&analysis.sources, &allow.edits), "a.rules");
    assert!(
        after.diagnostics().iter().all(|analysis| analysis.code.to_string() != "W0102"),
        "{:?}",
        after.diagnostics()
    );
}

#[test]
fn tokens_have_the_class_of_their_role() {
    let analysis = analyse(HELPDESK);
    let colours = coloured_tokens(MAIN, HELPDESK, &analysis.index);
    assert!(colours.is_sorted_by_key(|token| token.span.start));
    let check = |needle: &str, skip: usize, class: TokenClass, declares: bool| {
        let start = HELPDESK.find(needle).expect("it is there") + skip;
        let token = colours.iter().find(|token| token.span.start as usize == start);
        let token = token.unwrap_or_else(|| panic!("no colour for {needle}"));
        assert_eq!((token.class, token.is_declaration), (class, declares), "{needle}");
    };
    check("## What", 0, TokenClass::Documentation, false);
    check("input", 0, TokenClass::Keyword, false);
    check("let money", 4, TokenClass::Variable, true);
    check("when money", 5, TokenClass::Variable, false);
    check("when money", 0, TokenClass::Keyword, false);
    check("contains any", 0, TokenClass::Operator, false);
    check("\"refund\"", 0, TokenClass::String, false);
    check("len(ctx", 0, TokenClass::Function, false);
    check("ctx.tier in", 4, TokenClass::Property, false);
    check("-> billing", 3, TokenClass::Handler, false);
    check("priority 5", 9, TokenClass::Number, false);
    check("n: int)", 3, TokenClass::Type, false);
}

#[test]
fn brackets_and_comments_over_several_lines_are_folded() {
    let text = "# a\n# b\n\n# c\ntable t {\n  route a when [\n    x ] == y -> h\n}\n";
    let lines = |at: u32| text[..at as usize].matches('\n').count();
    let folds: Vec<_> = fold_ranges(text)
        .into_iter()
        .map(|fold| (lines(fold.start), lines(fold.end), fold.is_comment))
        .collect();
    assert_eq!(folds, [(0, 1, true), (4, 7, false), (5, 6, false)]);
}

#[test]
fn an_outline_has_the_declarations_of_each_statement() {
    let analysis = analyse(HELPDESK);
    let outline = analysis.index.outline(MAIN);
    let names: Vec<&str> = outline.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names.len(), 12, "{names:?}");
    let table = outline.iter().find(|entry| entry.name == "rest").expect("the table");
    assert_eq!(table.inner[0].name, "every");
    // Regression test: an import was listed as a table, and the settings as a `let`.
    let text =
        "import \"words.rules\"\nsettings { case: insensitive }\ninput { text: string }\ndefault -> h\n";
    let kinds: Vec<&str> =
        analyse(text).index.outline(MAIN).iter().map(|entry| entry.kind.to_word()).collect();
    assert_eq!(kinds, ["import", "settings", "input", "route"]);
    let inside = |span: Span, inner: Span| span.start <= inner.start && inner.end <= span.end;
    assert!(outline.iter().all(|entry| inside(entry.span, entry.name_span)));
}

/// No editor service panics at any position of a file, even if the file is truncated at any point.
#[test]
fn mutilated_texts_are_answered() {
    for cut in (0..HELPDESK.len()).step_by(7).filter(|at| HELPDESK.is_char_boundary(*at)) {
        let text = format!("{}{}", &HELPDESK[..cut], &HELPDESK[(cut + 13).min(HELPDESK.len())..]);
        let analysis = analyse(&text);
        for offset in (0..=text.len() as u32 + 3).step_by(11) {
            let _ = analysis.hover(MAIN, offset);
            let _ = analysis.complete(MAIN, offset);
            let _ = analysis.rename(MAIN, offset, "another");
        }
        let _ = (
            analysis.inlay_hints(MAIN),
            analysis.code_lenses(
                MAIN,
                analysis.diagnostics(),
                &analysis.findings(AnalysisOptions::default()),
            ),
            fold_ranges(&text),
        );
    }
}
