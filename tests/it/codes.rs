//! Checks that every diagnostic code can occur and that its documentation page shows how. Compiling
//! the wrong example of the page must report the code. The right example compiles without
//! diagnostics. Causes that no text can show, such as a file of 64 MiB or invalid UTF-8, are
//! constructed here.
//! A page has a section `## Wrong` and a section `## Right` with fenced blocks. A block of
//! ```` ```rules ```` or ```` ```text ```` is the main file; `file=NAME` makes it another file. A
//! block of ```` ```json ```` is a message. `escapes` replaces `\u{202E}` by the character.
//! `skip="why"` means that [`circumstance`] constructs the cause.
//!
//! `INSTA_UPDATE=always` rewrites `docs/codes/README.md`.

use crate::chinese;
use crate::support::golden;
use chinese::{english_in, is_chinese};
use rulec::{Code, Compiler, Diagnostic, Language, Rules, VerifyingKey};
use rulec_base::json;
use rulec_syntax::loader::{LoadError, Loader, MAX_FILE_BYTES, MAX_IMPORT_DEPTH, MemoryLoader};
use std::collections::BTreeSet;
use std::fmt::Write;

const MAIN_FILE: &str = "main.rules";

/// A fenced block of a documentation page.
struct Block {
    language: String,
    file: Option<String>,
    skipped: bool,
    text: String,
}

/// Returns the fenced blocks between a heading and the next heading.
fn page_section(page: &str, heading: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut inside, mut open, mut escapes) = (false, false, false);
    for line in page.lines() {
        if let Some(info) = line.strip_prefix("```") {
            open = !open;
            if open && inside {
                let file =
                    info.split_once("file=").map(|(_, name)| name.split(' ').next().unwrap_or("").to_owned());
                let language = info.split(' ').next().unwrap_or("").to_owned();
                blocks.push(Block { language, file, skipped: info.contains("skip="), text: String::new() });
                escapes = info.split(' ').any(|word| word == "escapes");
            }
        } else if open && inside {
            let block = blocks.last_mut().expect("a block is open");
            block.text += &if escapes { unescape(line) } else { line.to_owned() };
            block.text.push('\n');
        } else if !open && line.starts_with("## ") {
            inside = line[3..].trim() == heading;
        }
    }
    blocks
}

/// Replaces each `\u{…}` of the line by its character.
fn unescape(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\\u{") {
        let (digits, tail) = after.split_once('}').expect("an escape ends with }");
        out += before;
        out.push(char::from_u32(u32::from_str_radix(digits, 16).expect("digits")).expect("a character"));
        rest = tail;
    }
    out + rest
}

fn files(blocks: &[Block]) -> MemoryLoader {
    blocks.iter().fold(MemoryLoader::new(), |loader, block| {
        loader.with(block.file.as_deref().unwrap_or(MAIN_FILE), block.text.as_str())
    })
}

/// Compiles the main file of a loader and returns its errors, or its warnings if it compiles.
fn find_diagnostics(compiler: &Compiler, loader: &dyn Loader) -> Vec<Diagnostic> {
    match compiler.compile_with(loader, MAIN_FILE) {
        Ok(rules) => rules.warnings().to_vec(),
        Err(error) => error.diagnostics().to_vec(),
    }
}

/// True for a code that only `Rules::analyse` reports.
fn is_analysed(code: Code) -> bool {
    let code = code.as_str();
    ("W0103".."W0107").contains(&code)
        || ("W0209".."W0218").contains(&code)
        || ["W0112", "W0115", "W0219", "W0220", "W0222", "W0226", "W0229"].contains(&code)
}

/// Compiles the files and returns the diagnostics. For an analysis code, adds the findings of the
/// analysis.
fn find_diagnostics_for(code: Code, blocks: &[Block]) -> Vec<Diagnostic> {
    let (compiler, files) = (compiler(code), files(blocks));
    let mut all = find_diagnostics(&compiler, &files);
    if let Some(rules) = is_analysed(code).then(|| compiler.compile_with(&files, MAIN_FILE).ok()).flatten() {
        all.extend(rules.analyse().into_iter().map(|finding| finding.diagnostic));
    }
    all
}

fn codes(diagnostics: &[Diagnostic]) -> Vec<Code> {
    diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// Returns the compiler with the host function that the page on host functions uses.
fn host_program() -> Compiler {
    Compiler::new().function("score", |text: String| text.len() as i64)
}

fn compiler(code: Code) -> Compiler {
    match code {
        Code::HostFunction => host_program(),
        _ => Compiler::new().allow_missing_functions(),
    }
}

fn message_code(bytes: &[u8]) -> Option<Code> {
    json::parse_object_bytes(bytes).err().map(|error| error.kind().code())
}

/// A loader that returns an error for one path.
struct Refusing {
    files: MemoryLoader,
    path: &'static str,
    error: LoadError,
}

impl Loader for Refusing {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        if path == self.path { Err(self.error.clone()) } else { self.files.load(path) }
    }
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("a Latin-1 character")).collect()
}

/// Constructs the cause of a code that no page can show as text. Returns the codes that are found.
fn codes_in_circumstance(code: Code, wrong: &[Block]) -> Vec<Code> {
    let text = wrong.first().map_or("", |block| block.text.as_str());
    let compiler = compiler(code);
    let compiled = |loader: &dyn Loader| codes(&find_diagnostics(&compiler, loader));
    let refusing = |path, error| compiled(&Refusing { files: files(wrong), path, error });
    match code {
        Code::FileUnreadable => {
            refusing("shared/words.rules", LoadError::Unreadable("permission denied".to_owned()))
        }
        Code::FileTooLarge => refusing("all_messages.rules", LoadError::TooLarge(MAX_FILE_BYTES + 1)),
        Code::NotUtf8 => compiled(&MemoryLoader::new().with(MAIN_FILE, latin1(text))),
        Code::ImportTooDeep => {
            let mut loader = files(wrong);
            for at in 1..=MAX_IMPORT_DEPTH {
                loader = loader.with(format!("words{at}.rules"), format!("import \"words{}.rules\"", at + 1));
            }
            let last = format!("words{}.rules", MAX_IMPORT_DEPTH + 1);
            compiled(&loader.with(last, "let hello = text contains \"hello\""))
        }
        Code::TooDeep => {
            let (open, close) = ("(".repeat(129), ")".repeat(129));
            let deep = format!("route refunds when {open}text == \"refund\"{close} -> refund_handler");
            compiled(&MemoryLoader::new().with(MAIN_FILE, deep))
        }
        Code::JumpsTooDeep => {
            let mut rules = String::from("default -> goto t1\n");
            for at in 1..=64 {
                let _ = writeln!(rules, "table t{at} {{ default -> goto t{} }}", at + 1);
            }
            rules += "table t65 { default -> last_handler }";
            compiled(&MemoryLoader::new().with(MAIN_FILE, rules))
        }
        Code::TooLargeToAnalyse => {
            let parts: Vec<String> = (0..30_000).map(|id| format!("id != {id}")).collect();
            let text = format!("route other when {} -> other_handler\ndefault -> h", parts.join(" and "));
            let rules = compiler.compile_text(&text).expect("the rules are right");
            rules.analyse().iter().map(|finding| finding.diagnostic.code).collect()
        }
        Code::UnknownEntry => {
            let rules: Rules = compiler.compile_with(&files(wrong), MAIN_FILE).expect("the rules are right");
            assert!(rules.entry("billing").is_ok());
            let error = rules.entry("biling").err().expect("there is no such entry");
            assert_eq!(error.to_string(), "there is no entry `biling`; did you mean `billing`?");
            vec![code]
        }
        Code::NoArtifact | Code::ArtifactVersion | Code::ArtifactDamaged => {
            let rules: Rules = compiler.compile_with(&files(wrong), MAIN_FILE).expect("the rules are right");
            let mut bytes = rules.to_artifact(false);
            match code {
                Code::NoArtifact => bytes = text.as_bytes().to_vec(),
                // After the eight magic bytes comes the format version.
                Code::ArtifactVersion => bytes[8] ^= 1,
                _ => bytes.truncate(bytes.len() - 1),
            }
            let error = Rules::from_artifact(&bytes).expect_err("it cannot be loaded");
            codes(error.diagnostics())
        }
        Code::ArtifactUntrusted => {
            let rules: Rules = compiler.compile_with(&files(wrong), MAIN_FILE).expect("the rules are right");
            let key = VerifyingKey::from_pem(include_str!("../keys/only-for-tests.pub")).expect("a key");
            let error = Compiler::new().trust(key).load_artifact(&rules.to_artifact(false));
            codes(error.expect_err("nobody has signed it").diagnostics())
        }
        Code::TooComplex => {
            let list = vec!["ctx.tag"; usize::from(u16::MAX) + 1].join(", ");
            let rules = format!("route tagged when ctx.word in [{list}] -> refund_handler");
            compiled(&MemoryLoader::new().with(MAIN_FILE, rules))
        }
        Code::MessageTooDeep => {
            let message = format!("{{\"tree\": {}{}}}", "[".repeat(128), "]".repeat(128));
            message_code(message.as_bytes()).into_iter().collect()
        }
        Code::MessageTooLong => message_code(&vec![b' '; json::MAX_MESSAGE_BYTES + 1]).into_iter().collect(),
        Code::MessageObjects => {
            let points = vec!["{\"x\":1}"; json::MAX_MESSAGE_OBJECTS].join(",");
            message_code(format!("{{\"points\": [{points}]}}").as_bytes()).into_iter().collect()
        }
        Code::MessageNotUtf8 => message_code(&latin1(text)).into_iter().collect(),
        // No panic is known that could show the first code; the tests of `rulec-runtime` trigger
        // one.
        // The tests of `rulec-cli` load documents.
        Code::DecisionFailed | Code::DocumentRefused | Code::ItemChanged | Code::NoModelAnswer => vec![code],
        other => panic!("no circumstance is made for {other}"),
    }
}

#[test]
fn a_page_is_titled_as_the_table_says() {
    for code in Code::ALL {
        let first = code.page().lines().next().unwrap_or("");
        assert_eq!(first, format!("# {code}: {}", code.title()));
    }
}

/// Checks the documentation page of every code with `check`, and reports all faults at once.
fn each_page(check: impl Fn(Code) -> Result<(), String>) {
    let faults: Vec<String> = Code::ALL
        .iter()
        .filter_map(|&code| check(code).err().map(|fault| format!("{code}: {fault}")))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn wrong_examples_are_reported_under_their_code() {
    each_page(|code| {
        let wrong = page_section(code.page(), "Wrong");
        let first = wrong.first().ok_or("there is no wrong example")?;
        let reported = if wrong.iter().any(|block| block.skipped) {
            codes_in_circumstance(code, &wrong)
        } else if first.language == "json" {
            message_code(first.text.as_bytes()).into_iter().collect()
        } else {
            codes(&find_diagnostics_for(code, &wrong))
        };
        let alone = !reported.is_empty() && reported.iter().all(|other| *other == code);
        if alone { Ok(()) } else { Err(format!("the wrong example is reported as {reported:?}")) }
    });
}

/// The Chinese diagnostics of the wrong examples must contain no English sentence.
#[test]
fn wrong_examples_are_told_in_chinese() {
    each_page(|code| {
        let wrong = page_section(code.page(), "Wrong");
        let first = wrong.first().ok_or("there is no wrong example")?;
        if first.language == "json" || wrong.iter().any(|block| block.skipped) {
            return Ok(());
        }
        for found in find_diagnostics_for(code, &wrong) {
            let told = found.localized(Language::Chinese);
            if !is_chinese(&told.message) {
                return Err(format!("not Chinese: {}", told.message));
            }
            let labels = told.labels.iter().map(|label| &label.text);
            for text in [&told.message].into_iter().chain(&told.help).chain(labels) {
                let english = english_in(text);
                if !english.is_empty() {
                    return Err(format!("{english:?} in: {text}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn right_examples_are_right() {
    each_page(|code| {
        let right = page_section(code.page(), "Right");
        let first = right.first().ok_or("there is no right example")?;
        if right.iter().any(|block| block.skipped) {
            return Err("the right example can be tried as it stands".to_owned());
        }
        if first.language == "json" {
            return match message_code(first.text.as_bytes()) {
                None => Ok(()),
                Some(other) => Err(format!("the right message is reported as {other}")),
            };
        }
        let diagnostics = find_diagnostics_for(code, &right);
        let messages: Vec<&str> = diagnostics.iter().map(|found| found.message.as_str()).collect();
        if messages.is_empty() { Ok(()) } else { Err(format!("the right example: {}", messages.join("; "))) }
    });
}

#[test]
fn a_file_on_disk_over_the_limit_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(MAIN_FILE);
    // A sparse file: it has a size but uses no disk space.
    std::fs::File::create(&path).and_then(|file| file.set_len(MAX_FILE_BYTES + 1)).expect("a sparse file");
    let error = Compiler::new().compile_path(&path).expect_err("the file is too large");
    assert_eq!(codes(error.diagnostics()), [Code::FileTooLarge]);
    let error = Compiler::new().compile_path(folder.path().join("absent.rules")).expect_err("no such file");
    assert_eq!(codes(error.diagnostics()), [Code::FileUnreadable]);
}

/// The meaning of the first two digits of a code.
const RANGES: &[(&str, &str)] = &[
    ("E00", "Files and characters"),
    ("E01", "The shape of the text"),
    ("E02", "Names"),
    ("E03", "Types"),
    ("E04", "Literals and patterns"),
    ("E05", "Statements"),
    ("E06", "Messages to decide"),
    ("E08", "Request analysis"),
    ("E07", "Payloads"),
    ("W00", "Warnings: characters"),
    ("W01", "Warnings: names"),
    ("W02", "Warnings: rules that do nothing"),
    ("W03", "Warnings: values"),
    ("W04", "Warnings: choices and flows"),
    ("W06", "Warnings: request analysis"),
];

fn build_index() -> String {
    let mut out = String::from(
        "# The codes of errors and warnings\n\n\
         Each finding about rules or messages has a code that never changes its meaning. Codes that start with `E` are\n\
         errors: the rules do not compile, or the message is not decided. Those that start with `W` are warnings. The page\n\
         of a code says what it means and how to repair it, with a wrong and a right example; `rulec explain E0203` prints it.\n",
    );
    for (range, heading) in RANGES {
        let _ = write!(out, "\n## {heading}\n\n| code | meaning |\n|---|---|\n");
        for code in Code::ALL.iter().filter(|code| code.as_str().starts_with(range)) {
            let _ = writeln!(out, "| [{code}]({code}.md) | {} |", code.title());
        }
    }
    out
}

#[test]
fn the_index_lists_every_code_with_its_title() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/codes/README.md");
    let index = build_index();
    for code in Code::ALL {
        assert!(index.contains(&format!("[{code}]")), "{code} lies in no range");
    }
    golden::assert_file(path.as_ref(), &index);
}

#[test]
fn there_is_a_page_for_every_code_and_no_other() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/codes");
    let pages: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder of pages")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "README.md")
        .collect();
    let wanted: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
    assert_eq!(pages, wanted);
}
