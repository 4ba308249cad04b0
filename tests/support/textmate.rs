//! The TextMate grammar for editors, generated from the language tables of keywords, operators and
//! functions.

use rulec_lang::builtins;
use rulec_lang::operators;
use rulec_lang::ty::Ty;
use rulec_syntax::parse::{self, WordRole};
use serde_json::{Value as Json, json};

/// Literal words, and the words in tests of presence (`is missing`).
const CONSTANTS: [&str; 5] = ["true", "false", "null", "missing", "present"];

/// Regex for symbols that the lexer reads as operators, or as look-alikes of operators.
const SYMBOLS: &str =
    r"===|!==|==|!=|<=|>=|<>|=~|:=|&&|\|\||\?\?|\*\*|\.\.=|\.\.\.|\.\.|\+\+|\+=|-=|[<>+\-*/%=!?&|^~]";

/// Returns a regex alternation of the words, longest first, because a word may be a prefix of
/// another.
fn any<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let mut words: Vec<&str> = words.into_iter().collect();
    words.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
    words.dedup();
    words.join("|")
}

fn pattern(name: &str, expression: &str) -> Json {
    json!({ "name": format!("{name}.rules"), "match": expression })
}

/// Returns the grammar as file text.
pub fn grammar() -> String {
    let of = |role: WordRole| {
        any(parse::keywords().filter(move |(_, known)| *known == role).map(|(word, _)| word))
    };
    // A word after a dot is a field, and a word before a colon is a key.
    let word = |words: &str| format!(r"(?<![.\w`])(?:{words})(?![\w`]|\s*:)");
    let words = operators::reserved_words().filter(|word| !CONSTANTS.contains(word));
    let functions = any(builtins::TABLE.iter().map(|row| row.name));
    let grammar = json!({
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "Rules",
        "scopeName": "source.rules",
        "fileTypes": ["rules"],
        "patterns": [
            pattern("comment.line.documentation", "##(?!#).*$"),
            pattern("comment.line.number-sign", "#.*$"),
            pattern("comment.line.double-slash", "//.*$"),
            { "name": "string.quoted.other.raw.rules", "begin": "\\br(#{0,8})\"", "end": "\"\\1" },
            {
                "name": "string.quoted.double.rules",
                "begin": "\"",
                "end": "\"|$",
                "patterns": [pattern("constant.character.escape", r"\\(?:u\{[0-9a-fA-F]*\}|.)")],
            },
            pattern("string.quoted.single", "'[^'\\r\\n]*'|[“”„«「][^“”\"»」\\r\\n]*[“”»」]"),
            pattern("variable.other.quoted", "`[^`\\r\\n]+`"),
            pattern("constant.numeric", r"(?<![\w.])[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9][0-9_]*)?\w*|(?<=\.\.|=|\.)[0-9][0-9_]*\w*"),
            pattern("keyword.operator.arrow", "->|=>|→"),
            pattern("keyword.control.statement", &format!(r"^\s*(?:{})(?![\w`])(?!\s*:)", of(WordRole::Statement))),
            pattern("support.function", &format!(r"(?<![.\w`])(?:{functions})(?=\s*\()")),
            pattern("support.type", &format!(r"(?<=:\s|:|\bas\s|<)(?:{})(?![\w`])", any(Ty::BUILTIN_NAMES))),
            pattern("constant.language", &word(&any(CONSTANTS))),
            pattern("keyword.operator.word", &format!(r"(?<![.\w`])(?:{})(?![\w`])", any(words))),
            pattern("keyword.control.clause", &format!(r"(?<![.\w`])(?:{})(?![\w`])", of(WordRole::Clause))),
            pattern("keyword.other", &word(&format!("{}|{}|is", of(WordRole::Word), of(WordRole::Statement)))),
            pattern("variable.other.member", r"(?<=\.)\w+"),
            pattern("keyword.operator", SYMBOLS),
        ],
    });
    let mut text = serde_json::to_string_pretty(&grammar).expect("it is JSON");
    text.push('\n');
    text
}
