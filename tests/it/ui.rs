//! Tests the compiler's diagnostics for wrong rules by code and underlined text. The most frequent
//! errors are also tested by their full wording.
//!
//! In `tests/ui/*.rules`, the expected diagnostics follow the line that causes them, as
//! `#~ E0201 "the underlined text"`. Line breaks in the text appear as `⏎`, and invisible
//! characters as `\u{202E}`. The set of all diagnostics is compared, so an unexpected diagnostic
//! also fails. Files in subfolders exist only to be imported.
//!
//! `INSTA_UPDATE=always` rewrites the annotations and the snapshots. Review the difference before
//! you commit it.

use crate::support::golden;
use rulec::Compiler;
use rulec::Diagnostic;
use rulec::SourceMap;
use rulec_lang::operators::{self, Fixity, Op};
use rulec_syntax::loader::{LoadError, Loader, MemoryLoader};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const MARK: &str = "#~ ";

fn ui_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui")
}

/// Loads the rule files of `tests/ui` from disk.
struct UiLoader;

impl Loader for UiLoader {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        std::fs::read(ui_folder().join(path)).map_err(|_| LoadError::NotFound)
    }
}

/// A diagnostic: file and line where it starts, code, and underlined text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    file: String,
    line: usize,
    code: String,
    underlined: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {} \"{}\"", self.file, self.line, self.code, self.underlined)
    }
}

fn compile(loader: &dyn Loader, path: &str) -> (Vec<Diagnostic>, SourceMap) {
    match Compiler::new().allow_missing_functions().compile_with(loader, path) {
        Ok(rules) => (rules.warnings().to_vec(), rules.sources().clone()),
        Err(error) => (error.diagnostics().to_vec(), error.sources().clone()),
    }
}

fn one_line_text(text: &str) -> String {
    let invisible = |c: char| {
        c.is_control()
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
    };
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '\n' => out.push('⏎'),
            c if invisible(c) => out.extend(c.escape_unicode().map(|c| c.to_ascii_uppercase()).skip(2)),
            c => out.push(c),
        }
        out
    })
}

fn findings(path: &str) -> (Vec<Finding>, SourceMap) {
    let (diagnostics, sources) = compile(&UiLoader, path);
    let mut found: Vec<Finding> = diagnostics
        .iter()
        .map(|diagnostic| match diagnostic.span() {
            Some(span) => Finding {
                file: sources.file(span.file).name.clone(),
                line: sources.position(span).line,
                code: diagnostic.code.to_string(),
                underlined: one_line_text(sources.slice(span)),
            },
            None => Finding {
                file: path.to_owned(),
                line: 1,
                code: diagnostic.code.to_string(),
                underlined: String::new(),
            },
        })
        .collect();
    found.sort();
    (found, sources)
}

/// Returns the diagnostics that the annotations in a file expect.
fn expected_findings(name: &str, text: &str) -> Vec<Finding> {
    let mut line = 1;
    let mut out = Vec::new();
    for (at, written) in text.lines().enumerate() {
        match written.trim_start().strip_prefix(MARK) {
            Some(annotation) => {
                let (code, text) = annotation.split_once(' ').unwrap_or((annotation, "\"\""));
                let underlined = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let underlined =
                    underlined.unwrap_or_else(|| panic!("{name}:{}: no quoted text", at + 1)).to_owned();
                out.push(Finding { file: name.to_owned(), line, code: code.to_owned(), underlined });
            }
            None => line = at + 1,
        }
    }
    out
}

/// Returns the text with its annotations replaced by annotations for the given findings.
fn with_expectations(name: &str, text: &str, found: &[Finding]) -> String {
    let mut out = String::new();
    for (at, written) in text.lines().enumerate() {
        if written.trim_start().starts_with(MARK) {
            continue;
        }
        let _ = writeln!(out, "{written}");
        let indent: String = written.chars().take_while(|c| *c == ' ').collect();
        for finding in found.iter().filter(|finding| finding.file == name && finding.line == at + 1) {
            let _ = writeln!(out, "{indent}{MARK}{} \"{}\"", finding.code, finding.underlined);
        }
    }
    out
}

fn rule_files() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(ui_folder())
        .expect("the folder of tests")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".rules"))
        .collect();
    names.sort();
    names
}

#[test]
fn findings_are_those_the_files_foretell() {
    let (mut faults, mut compared) = (String::new(), 0);
    for name in rule_files() {
        let (mut found, sources) = findings(&name);
        if golden::refreshes() {
            // Old annotations count as lines, so the diagnostics are computed again without them.
            let bare: Vec<(String, String)> = sources
                .iter()
                .map(|(_, file)| (file.name.clone(), with_expectations(&file.name, &file.text, &[])))
                .collect();
            let write = |texts: &[(String, String)]| {
                for (name, text) in texts {
                    std::fs::write(ui_folder().join(name), text).expect("the file can be written");
                }
            };
            write(&bare);
            let (bare_found, _) = findings(&name);
            let texts: Vec<(String, String)> = bare
                .iter()
                .map(|(name, text)| (name.clone(), with_expectations(name, text, &bare_found)))
                .collect();
            write(&texts);
            found = findings(&name).0;
        }
        let (_, sources) = findings(&name);
        let mut wanted: Vec<Finding> =
            sources.iter().flat_map(|(_, file)| expected_findings(&file.name, &file.text)).collect();
        wanted.sort();
        compared += wanted.len();
        for finding in wanted.iter().filter(|finding| !found.contains(finding)) {
            let _ = writeln!(faults, "foretold, not found: {finding}");
        }
        for finding in found.iter().filter(|finding| !wanted.contains(finding)) {
            let _ = writeln!(faults, "found, not foretold: {finding}");
        }
        if wanted.len() != found.len() {
            let _ = writeln!(faults, "{name}: {} foretold, {} found", wanted.len(), found.len());
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
    assert!(compared >= 300, "only {compared} findings are foretold");
}

/// Operators that accept every type on both sides.
const UNDEMANDING: &[Op] = &[Op::IsMissing, Op::IsPresent];

#[test]
fn every_operator_of_the_table_is_used_wrongly_on_each_side() {
    for (file, right) in [("operators_left.rules", false), ("operators_right.rules", true)] {
        let text = std::fs::read_to_string(ui_folder().join(file)).expect("the file can be read");
        let lines: Vec<&str> = text.lines().collect();
        let wrong: Vec<&str> = lines
            .windows(2)
            .filter(|pair| pair[1].trim_start().starts_with(MARK) && !pair[0].trim_start().starts_with(MARK))
            .filter_map(|pair| pair[0].split_once(" when ").map(|(_, condition)| condition))
            .collect();
        for row in operators::TABLE.iter().filter(|row| !UNDEMANDING.contains(&row.op)) {
            if right && row.fixity == Fixity::Prefix {
                continue;
            }
            let used = |condition: &str| match row.fixity {
                Fixity::Prefix if row.op.is_spelled_as_word() => condition.starts_with(row.spelling),
                Fixity::Prefix => {
                    condition.starts_with(row.spelling) || condition.contains(&format!("({}", row.spelling))
                }
                _ => condition.contains(&format!(" {} ", row.spelling)),
            };
            assert!(wrong.iter().any(|condition| used(condition)), "{file} has no `{}`", row.spelling);
        }
    }
}

/// Returns the diagnostics for a text, rendered as a user sees them.
fn normalize_wording(text: &str) -> String {
    let (diagnostics, sources) = compile(&MemoryLoader::new().with("main.rules", text), "main.rules");
    render_wording(text, diagnostics, &sources)
}

fn render_wording(text: &str, diagnostics: Vec<Diagnostic>, sources: &SourceMap) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let _ = writeln!(out, "| {line}");
    }
    for diagnostic in diagnostics {
        let _ = writeln!(out, "{}: {}", diagnostic.code, diagnostic.message);
        for label in &diagnostic.labels {
            let position = sources.position(label.span);
            let underlined = one_line_text(sources.slice(label.span));
            let _ = writeln!(out, "  {}:{} `{underlined}` {}", position.line, position.column, label.text);
        }
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(out, "  help: {help}");
        }
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn assert_wording(name: &str, texts: &[&str]) {
    let wordings: Vec<String> = texts.iter().map(|text| normalize_wording(text)).collect();
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, wordings.join("\n"));
    });
}

#[test]
fn wording_of_errors_in_the_shape() {
    assert_wording(
        "shape",
        &[
            "rule refunds when text contains \"refund\" -> h",
            "route refunds when text contains -> h",
            "route refunds when text == \"refund\" and -> h",
            "route refunds when unless text == \"refund\" -> h",
            "flow tool { }",
            "flow tool run \"runs flows\"",
            "route refunds text contains \"refund\" -> h",
            "route refunds when text contains \"refund\" h",
            "route refunds when text = \"refund\" -> h",
            "route refunds when text includes \"refund\" -> h",
            "route refunds when text contains \"refund -> h",
            "route refunds when text in [\"refund\", \"invoice\" -> h\nroute other when text == \"x\" -> h",
            "route refunds when text == \"refund\") -> h",
            "let test = text == \"refund\"",
            "route order when text matches \"\\d{8}\" -> h",
            "route order when 1 < ctx.n < 10 -> h",
            "route wide when ctx.n ＞ 3 -> h",
            "if text == \"refund\" then h else g",
        ],
    );
}

/// Files of `tests/ui` with habits from other languages, whose messages have snapshots.
const HABIT_FILES: &str = "
    habits_operators habits_statements habits_payloads habits_groups narrowed vain newcomers
    newcomers_more newcomers_shapes newcomers_history newcomers_fields newcomers_values
    newcomers_order newcomers_tests newcomers_payloads newcomers_meaning newcomers_answers
    newcomers_arguments newcomers_units newcomers_words newcomers_lines newcomers_graphs
    newcomers_repairs newcomers_places newcomers_addresses newcomers_declared newcomers_scopes
    newcomers_locals workflow_names allow_order newcomers_imports newcomers_quantifiers
    newcomers_given newcomers_records newcomers_joined newcomers_bounds newcomers_keys
    newcomers_arrows newcomers_comparisons newcomers_versions newcomers_allow newcomers_braces
    newcomers_networks newcomers_captures newcomers_cases newcomers_members newcomers_groups
    newcomers_flow_ids newcomers_types newcomers_elements newcomers_comments
    newcomers_other_languages newcomers_definitions newcomers_doubled newcomers_parts
    newcomers_wrapped newcomers_texts newcomers_names_once newcomers_constants
    newcomers_separators newcomers_times newcomers_properties newcomers_quantities
    newcomers_results newcomers_group_numbers newcomers_blanks newcomers_required
    newcomers_branches newcomers_prefixes newcomers_randoms newcomers_patterns newcomers_epochs
    newcomers_wide_blanks newcomers_schemes newcomers_first_nodes newcomers_joined_names
    newcomers_kept newcomers_corrections newcomers_functions newcomers_windows newcomers_nodes
    newcomers_comprehensions newcomers_bodies newcomers_substitutions newcomers_synonyms
    newcomers_clamped newcomers_beyond
    newcomers_declarations newcomers_keep newcomers_keep_calls newcomers_keep_zero
    newcomers_next_nodes newcomers_forms newcomers_form_values newcomers_form_blocks
    newcomers_form_warnings newcomers_numbered newcomers_limited newcomers_inferred newcomers_zones
    newcomers_blocks newcomers_permissions newcomers_permission_warnings
";

/// Snapshots of errors for habits from other languages. Each error must show the right spelling.
#[test]
fn wording_of_habits() {
    for name in HABIT_FILES.split_whitespace() {
        let text =
            std::fs::read_to_string(ui_folder().join(format!("{name}.rules"))).expect("the file can be read");
        let lines = text.lines().filter(|line| !line.trim_start().starts_with(MARK));
        let text = lines.fold(String::new(), |text, line| text + line + "\n");
        assert_wording(name, &[&text]);
    }
}

#[test]
fn wording_of_errors_in_names() {
    assert_wording(
        "names",
        &[
            "input { text: string, message_count: int }\nroute long when mesage_count > 3 -> h",
            "input { text: string, user: { role: string } }\nroute staff when user.rol == \"admin\" -> h",
            "input { text: string, role: string }\nroute staff when role == admin -> h",
            "route one when text == \"a\" -> h\nroute one when text == \"b\" -> h",
            "handler refund_handler()\nroute refunds when text == \"a\" -> refnud_handler",
            "route money when text == \"a\" -> goto biling\ntable billing { default -> h }",
            "let a = b and text == \"x\"\nlet b = a or text == \"y\"\nroute one when a -> h",
            "table a { default -> goto b }\ntable b { default -> goto a }",
            // A soft hyphen is no letter of another script.
            "route r\u{435}fu\u{AD}nds when text == \"a\" -> h",
        ],
    );
}

#[test]
fn wording_of_errors_in_types() {
    assert_wording(
        "types",
        &[
            "input { text: string, n: int }\nroute one when n > \"3\" -> h",
            "input { text: string, n: int }\nroute one when n contains \"3\" -> h",
            "input { text: string, n: int }\nroute one when text -> h",
            "input { text: string, n: int }\nroute one when upper(n) == \"A\" -> h",
            "input { text: string, n?: int }\nhandler h(limit: int)\nroute one when text == \"a\" -> h(limit: n)",
            "route one when (ctx.n > 1) == true -> h",
            "route one when text contains [\"a\", \"b\"] -> h",
            "route one when ctx.role != any [\"a\", \"b\"] -> h",
            "route one when ctx.level > 3 -> h\nroute two when ctx.level starts_with \"vip\" -> h",
            "route one when ctx.user == \"a\" -> h\nroute two when ctx.user.role == \"b\" -> h",
            "route one when ctx.user == null -> h",
            "route one when text matches r\"refund(\" -> h",
            "route one when text matches r\"refund(?!ed)\" -> h",
        ],
    );
}

#[test]
fn wording_of_errors_in_choices_flows_and_routers() {
    assert_wording(
        "kinds",
        &[
            "choice c { default branch a  brach b { s.n as number > 1 } }",
            "choice c { branch b  s.n as number > 1 }",
            "flow hi \"greets\" keywords exact [\"hi\"] -> \"greet\"",
            "flow hi \"greets\" keyword exact [\"hi\"]",
            "router r(output) { when output.done -> next[1] otherwize -> next[0] }",
            "router r(output) { when output.done -> next[1] default -> next[0] }",
            "router r(output) { when output.done -> next[1] -> next[0] }",
            "router r(output) { when output.done next[1] }",
            "payload p { a: string  b: string }",
        ],
    );
}

#[test]
fn wording_of_errors_in_request_analysis() {
    assert_wording(
        "request",
        &[
            "route refunds when request.intent == \"refund\" -> h",
            "intent refund { }\nroute refunds when request.intent == \"refund\" -> h",
            "intent refund keywords [\"refund\"]",
            "intent refund { keyword [\"refund\"] }",
            "entity order = r\"order (?<id>[0-9]+)\"",
            "entity order matches r\"[0-9]+\"\nroute one when request.entities.oder is present -> h",
            "lexicon anger { \"furious\" }",
            "lexicon anger { \"furious\": 8 }\nroute one when request.anger > 1 -> h",
            "route one when request.urgncy > 0.5 -> h",
            "route one when request.method == \"GET\" -> h",
            "input { body: string }\nroute one when request.urgency > 0.5 -> h",
            "let context_score = ctx.n > 3\nroute one when request.context_score > 0.5 -> h",
            "intent refund { examples [\"money back\"] }\nroute one when request.intent == \"refnud\" -> h",
        ],
    );
}

#[test]
fn wording_of_warnings() {
    assert_wording(
        "warnings",
        &[
            "let urgent = text == \"now\"\nroute one when urgnet == true -> h\nroute two when urgent -> h",
            "let urgent = text == \"now\"\nroute one when text == \"a\" -> h",
            "let limit = 3\nroute one when limit > 5 -> h",
            "route one when 3 > 2 -> h\nroute two when text == \"a\" -> h",
            "route one when ctx.n > 1 / 0 -> h",
        ],
    );
}

#[test]
fn wording_of_an_analysis() {
    let texts = [
        "route one when n > 5 and n < 3 -> h\nroute two when n > 3 and n > 4 -> h\ndefault -> d",
        "route one when n in 5..1 -> h\nroute two when hour(at as datetime) == 24 -> h\ndefault -> d",
        "route low when n < 5 -> a\nroute high when n >= 5 -> b\nroute odd when n == 3 or n == 7 -> c",
        "route a priority 10 when n > 5 -> a\nroute b priority 10 when n > 3 -> b\ndefault -> d",
        "input { staff?: bool }\nroute guests when not staff -> h\ndefault -> d",
        "route many when n > 10 -> a\nroute more when n > 10 -> b\nroute most priority -1 when 10 < n -> c\ndefault -> d",
        "let both = text == \"a\" and text == \"b\"\nroute one when both -> a\nroute two when both and n > 1 -> b\ndefault -> d",
        "let late = hour(at as datetime) == 24\nlet odd = n > 3 and late\nroute one when late or n == 9 -> a\nroute two when odd -> b\ndefault -> d",
    ];
    let wording = texts.map(|text| {
        let rules = Compiler::new().compile_text(text).expect("the rules are right");
        let found = rules.analyse().into_iter().map(|finding| finding.diagnostic).collect();
        render_wording(text, found, rules.sources())
    });
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("analysis", wording.join("\n"));
    });
}

/// Routes of an imported file are not imported. A file without routes expects them.
#[test]
fn wording_of_imported_routes() {
    let base = "input { text: string }\nhandler help()\nlist words = [\"a\"]\n\
                route refund when text contains any words -> help\ndefault -> help";
    let part = "list words = [\"a\"]\nroute urgent priority 100 when text contains \"urgent\" -> human";
    let texts = [
        "import \"base.rules\"\ndefault -> help",
        "import \"base.rules\"",
        "import \"base.rules\"\nroute one when text contains any words -> help\ndefault -> help",
        "import \"part.rules\"\nroute one when text contains any words -> help\ndefault -> help",
    ];
    let wording = texts.map(|text| {
        let loader =
            MemoryLoader::new().with("main.rules", text).with("base.rules", base).with("part.rules", part);
        let rules = Compiler::new().compile_with(&loader, "main.rules").expect("the rules are right");
        let found = rules.analyse().into_iter().map(|finding| finding.diagnostic).collect();
        render_wording(text, found, rules.sources())
    });
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("imported_routes", wording.join("\n"));
    });
}
