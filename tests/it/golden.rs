//! Golden tests: the bytecode of small programs is stored with the source in `tests/golden/`, so
//! that a review shows changes of lowering.
//! `INSTA_UPDATE=always cargo test --test it golden` rewrites the files.

use crate::support::golden as support;
use crate::support::layout;
use rulec::{Code, Compiler, Rules};
use rulec_syntax::format::format;
use rulec_syntax::lex::{TokenKind, tokenize};
use rulec_vm::bytecode::disasm::disassemble;
use rulec_vm::index::PostingList;
use rulec_vm::index::index_terms::LAST_IN_GROUP_FLAG;
use std::fmt::Write as _;
use std::path::Path;

#[test]
fn programs_lower_as_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut programs: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rules"))
        .collect();
    programs.sort();
    assert!(programs.len() >= 5, "the golden programs are gone");
    for path in programs {
        let rules = Rules::from_path(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let printed = disassemble(rules.bytecode().chunk(), Some(rules.program()));
        support::assert_file(&path.with_extension("bytecode"), &printed);
    }
}

/// Checks the access paths that the index plans. A wrong cost estimate causes no wrong answer, so
/// only this golden file checks the estimates.
#[test]
fn plans_are_as_written_down() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/plans.txt");
    let compiler = Compiler::new().allow_missing_functions();
    let rules = compiler.compile_path(&path).unwrap_or_else(|error| panic!("{error}"));
    let mut printed = String::new();
    for (plan, index) in rules.plan().iter().zip(&rules.index().tables) {
        let (with, without, first) = (plan.index_cost, plan.linear_cost, index.first_route_count);
        let _ = writeln!(
            printed,
            "indexed {}: {with:.2} ns with, {without:.2} without, first {first}",
            plan.indexed
        );
        for route in &plan.routes {
            let name = &rules.program().rules[route.rule as usize].name;
            let found = serde_json::to_string(&route.found).expect("plain data");
            let _ = writeln!(printed, "{name}: {found}");
        }
        for list in &index.lists {
            let postings = match *list {
                PostingList::Range { start, end } => index.postings(start, end),
                PostingList::Bitmap(_) => &[],
            };
            for posting in postings {
                let guards: Vec<String> = posting
                    .guards()
                    .map(|guard| {
                        format!(" {}: {}..{}", guard.attribute_id, guard.first_class, guard.end_class)
                    })
                    .collect();
                let _ = writeln!(printed, "posting {}{}", posting.rank, guards.concat());
            }
        }
        for subject in &rules.index().subjects {
            let forms: Vec<String> = subject.forms.iter().map(|form| format!("{:?}", form.mode)).collect();
            let own = (subject.needs_unchanged_text, subject.folds_in_place);
            let _ = writeln!(printed, "subject {:?} {own:?} {}", subject.operand, forms.join(", "));
        }
        let verdicts = rules.index().literal_verdicts.iter().enumerate();
        for (pred, answer) in verdicts.filter(|(_, answer)| answer.subject_id != u32::MAX) {
            let numbers = rules.index().deciding_literal_ids.list(&answer.literal_ids);
            let is_last = |at, number| number & LAST_IN_GROUP_FLAG != 0 || at + 1 == numbers.len();
            let numbers = numbers.iter().enumerate();
            let numbers = numbers
                .map(|(at, number)| (number & !LAST_IN_GROUP_FLAG, is_last(at, *number)))
                .collect::<Vec<_>>();
            let _ = writeln!(
                printed,
                "answer {pred}: exact {}, plain {}, {numbers:?}",
                answer.are_literals_sufficient, answer.requires_unchanged_text
            );
        }
        let columns: Vec<u32> = index.residual.columns.iter().map(|column| column.attribute_id).collect();
        let _ = writeln!(printed, "{} without a key, bits of {columns:?}", index.residual.route_ranks.len());
    }
    support::assert_file(&path.with_extension("shown"), &printed);
}

/// Checks the witness messages that the analyses try first. With another witness, a finding would
/// still be right, but harder to read.
#[test]
fn messages_of_conditions_are_as_written_down() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/messages.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let input = [lines.next(), lines.next()].map(|line| line.expect("a declaration")).join("\n");
    let compiler = Compiler::new().allow_missing_functions();
    let mut printed = String::new();
    for condition in lines {
        let source = format!("{input}\nroute one when {condition} -> h\nroute two when true -> h");
        let rules = compiler.compile_text(&source).unwrap_or_else(|error| panic!("{condition}: {error}"));
        let overlaps = rules.overlaps("routes").expect("the main table");
        let shown = match overlaps.pairs.first() {
            Some(pair) => pair.example.to_string(),
            None if overlaps.all => "never".to_owned(),
            None => "open".to_owned(),
        };
        let _ = writeln!(printed, "{condition}\n    {shown}");
    }
    support::assert_file(&path.with_extension("shown"), &printed);
}

/// Files that together cover every kind of statement; the formatter test respells them oddly.
const WRITTEN_TEXTS: [&str; 8] = [
    "examples/chatbot.rules",
    "examples/orders.rules",
    "examples/council.rules",
    "rules/workflow.rules",
    "tests/ui/choices.rules",
    "tests/ui/handlers.rules",
    "tests/ui/routers.rules",
    "tests/ui/tests_of_rules.rules",
];

/// Returns two odd spellings of a file.
///
/// The first has a space between all tokens and a comment after some tokens. The second has a space
/// only where two tokens would merge, and line breaks after some tokens.
fn odd_variants(text: &str) -> [String; 2] {
    let plain = |kind| {
        matches!(
            kind,
            TokenKind::White
                | TokenKind::Newline
                | TokenKind::Comment
                | TokenKind::DocComment
                | TokenKind::SlashComment
        )
    };
    let (mut wide, mut tight) = (String::new(), String::new());
    let mut before = '\n';
    for (at, token) in tokenize(text, 0).filter(|token| !plain(token.kind)).enumerate() {
        let slice = token.text(text);
        wide.push_str(slice);
        wide.push_str(&if at % 23 == 11 { format!(" # {at}\n") } else { " ".to_owned() });
        let first = slice.chars().next().unwrap_or(' ');
        let meets = |c: char| {
            c.is_alphanumeric() || matches!(c, '_' | '"' | '`' | '@' | '-' | '<' | '>' | '=' | '.' | '?')
        };
        if meets(before) && meets(first) {
            tight.push(' ');
        }
        tight.push_str(slice);
        before = slice.chars().last().unwrap_or(' ');
        if at % 7 == 3 {
            tight.push('\n');
            before = '\n';
        }
    }
    [wide, tight]
}

/// Formats files that are joined to one line, and files with line breaks in odd positions.
#[test]
fn layouts_are_as_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut printed = String::new();
    for name in WRITTEN_TEXTS {
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        for odd in odd_variants(&text) {
            let _ = writeln!(printed, "#### {name}\n{}", layout::check_formatted(name, &odd));
        }
    }
    support::assert_file(&root.join("tests/golden/layouts.txt"), &printed);
}

/// Checks the full text of findings from the compiler and the analyses.
#[test]
fn findings_are_as_written_down() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/findings.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let input = lines.next().expect("the fields");
    let mut printed = String::new();
    for condition in lines {
        let source = format!("{input}\nroute one when {condition} -> h\ndefault -> d");
        let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{condition}: {error}"));
        let _ = writeln!(printed, "{condition}");
        let analysed = rules.analyse();
        // The finding about unread fields is not relevant here.
        let analysed = analysed.iter().filter(|finding| finding.diagnostic.code != Code::UnreadField);
        let analysed = analysed.map(|finding| ("analysed", &finding.diagnostic));
        for (by, found) in rules.warnings().iter().map(|found| ("compiled", found)).chain(analysed) {
            let help = found.help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
            let _ = writeln!(printed, "    {by}: {} {}{help}", found.code, found.message);
            for label in &found.labels {
                let _ = writeln!(printed, "        `{}` {}", &source[label.span.range()], label.text);
            }
        }
    }
    support::assert_file(&path.with_extension("shown"), &printed);
}

#[test]
fn odd_writing_is_laid_out_as_written_down() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/written.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let printed = format(&text).unwrap_or_else(|error| panic!("{error}")).text;
    support::assert_file(&path.with_extension("shown"), &printed);
}
