//! Checks that the code in help texts is code of this language. A help text shows code in
//! backquotes, often without a fix that is tested. The help texts are those for `tests/ui`. Each
//! piece of code must parse as a statement or as a part of one. It may also be a word of the
//! language, or repeat what the author wrote.

use rulec::{Compiler, Diagnostic, DiskLoader};
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_lang::{builtins, operators};
use rulec_syntax::parse;
use std::collections::BTreeMap;
use std::path::Path;

/// Statements with a gap `%`, one for each kind of part that a help text may show.
const GAPS: &[&str] = &[
    "%",
    "let a = %",
    "route a when % -> h",
    "route a when x % -> h",
    "route a when x % y -> h",
    "route a when % y -> h",
    "route a when x -> h where %",
    "route a when any x in y: % -> h",
    "route a when % in y: x -> h",
    "route a when b -> %",
    "route a % when b -> h",
    "route a % -> h",
    "route a when b %",
    "route a when b -> h(%)",
    "route a when b -> h { % }",
    "type t = %",
    "type t = { a: % }",
    "input { % }",
    "input { a % }",
    "payload p { % }",
    "payload p { a: string % }",
    "payload p { a: string; require \"p.a\" % }",
    "payload p { a: string; require \"p.a\": a is present % }",
    "payload p % { a: string }",
    "payload p { %: string }",
    "payload p { a: int in % }",
    "payload p { a: string; require %: a is present }",
    "group g { % }",
    "group g(%) { closed }",
    "settings { % }",
    "test \"a\" { % }",
    "test \"a\" { % expect b }",
    "% { given a = 1 expect b }",
    "% given a = 1 expect b }",
    "test \"a\" { given a = % expect b }",
    "test \"a\" { given a = [{ % }] expect b }",
    "test \"a\" { given a = 1 expect b % }",
    "choice c { default branch d % }",
    "choice c { default branch d branch e { % } }",
    "choice c % { default branch d }",
    "router r(o) { % otherwise -> n }",
    "router r(o) { when o.a % otherwise -> n }",
    "router r(o) { when o.a -> % otherwise -> n }",
    "workflow w { % }",
    "workflow w { node a echo % }",
    "workflow w { node a echo { % } }",
    "workflow w { node a echo -> b % node b echo }",
    "history %",
    "history by a keep 1h %",
    "flow f \"x\" %",
    "flow f \"x\" keyword % -> \"f\"",
    "% keyword contains [\"a\"] -> \"f\"",
    "flow f \"x\" keyword contains [\"a\"] %",
    "flow tool f \"x\" { % }",
    "intent i { % }",
    "lexicon l { % }",
    "entity e %",
    "handler h(%)",
    "handler h() %",
    "extern fn f(%) -> int",
    "extern fn f(a: int) -> %",
    "def f(%) = a",
    "def f% = a",
    "% = a",
    "list l %",
    "list l = %",
    "list l = [%]",
    "import %",
    "table t { % }",
];

/// Pieces whose placeholder is a reserved word of the language.
const WITH_RESERVED_PLACEHOLDERS: &[&str] = &[
    "-> handler(name: value)",
    "-> handler(name: …)",
    "len(list)",
    "l?: type",
    "choice NAME ask \"question\" { … }",
];

/// Returns the pieces of code in a help text: the texts between backquotes.
fn pieces(help: &str) -> Vec<&str> {
    // A double backquote is part of a name in backquotes.
    help.split('`').skip(1).step_by(2).map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

fn parses(text: &str) -> bool {
    parse::parse(ThreadLimit::One, FileId(0), text).diagnostics.iter().all(|found| !found.is_error())
}

/// True for a word, an operator or a sign of the language, and for a name.
fn is_word(piece: &str) -> bool {
    let is_known = |word: &str| {
        parse::word_docs().any(|row| row.word.split(' ').next() == Some(word))
            || operators::Op::from_spelling(word).is_some()
            || builtins::Function::from_name(word).is_some()
    };
    let is_name = |word: &str| word.chars().all(|c| c.is_alphanumeric() || "_.@-:/#+".contains(c));
    piece.split(' ').all(|word| is_known(word) || is_name(word) || !word.contains(char::is_alphanumeric))
}

/// True if the piece is code of the language. `…` in it means any name, or more elements.
fn is_code(piece: &str) -> bool {
    // Escapes of texts, and groups of regular expressions.
    let is_part_of_text = piece.starts_with('\\') || piece.starts_with("(?");
    let is_signature = || builtins::TABLE.iter().any(|row| row.signature() == piece);
    if is_part_of_text || is_signature() || WITH_RESERVED_PLACEHOLDERS.contains(&piece) {
        return true;
    }
    let piece = piece.replace(", …", "").replace('…', "x");
    is_word(&piece) || GAPS.iter().any(|gap| parses(&gap.replacen('%', &piece, 1)))
}

fn without_white_space(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn the_code_in_help_texts_is_code_of_the_language() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let loader = DiskLoader::new(&folder).expect("the folder is there");
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".rules"))
        .collect();
    files.sort();
    let (mut checked, mut wrong) = (0, BTreeMap::new());
    for file in &files {
        let error = Compiler::new().allow_missing_functions().compile_with(&loader, file);
        let (found, sources): (Vec<Diagnostic>, _) = match &error {
            Ok(rules) => (rules.warnings().to_vec(), rules.sources()),
            Err(error) => (error.diagnostics().to_vec(), error.sources()),
        };
        let written: String = sources.iter().map(|(_, source)| without_white_space(&source.text)).collect();
        for help in found.iter().filter_map(|diagnostic| diagnostic.help.as_ref()) {
            for piece in pieces(help.as_str()) {
                checked += 1;
                if !is_code(piece) && !written.contains(&without_white_space(piece)) {
                    wrong.insert(piece.to_owned(), format!("{file}: {}", help.as_str()));
                }
            }
        }
    }
    let wrong: Vec<String> = wrong.iter().map(|(piece, help)| format!("`{piece}`\n    {help}")).collect();
    assert!(wrong.is_empty(), "{} pieces are no code:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 1_000, "{checked} pieces");
}
