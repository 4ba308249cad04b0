//! `rulec explain`: prints the documentation page of a diagnostic code.

use super::language::language;
use super::term::{Out, Term, paint};
use super::usage::why_command_tip;
use super::{CliError, ExitStatus};
use rulec::{Code, Message};
use rulec_base::diag::{comma_list, nearest};
use rulec_base::message;
use rulec_lang::builtins::{self, Function};
use rulec_lang::operators;
use rulec_syntax::parse::{WordRole, word_doc};

/// Explain a diagnostic code with a wrong and a right example, or a word of the language
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec explain E0203
  rulec explain            every code with its title
  rulec explain E0203 --lang zh")]
pub struct Args {
    /// The code, such as E0203, or a word of the language, such as `unless` [default: list all
    /// codes]
    code: Option<String>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let color = term.is_stdout_colored();
    match &args.code {
        None => {
            for code in Code::ALL {
                out.write_styled(&format!(
                    "{}  {}",
                    paint(color, "1", code.as_str()),
                    code.title_in(language())
                ))?;
            }
        }
        Some(text) => {
            let Some(code) = parse_code(text) else {
                // A word in another case is searched again in lower case.
                let Some(lines) = describe_word(text).or_else(|| describe_word(&text.to_lowercase())) else {
                    return Err(CliError::usage_error(unknown_code_message(text)));
                };
                lines.iter().try_for_each(|line| out.write_message(line))?;
                return Ok(ExitStatus::Success);
            };
            // HTML comments in a page mark generated tables; they are not printed.
            let page = code.page_in(language());
            let page = page.lines().filter(|line| !line.starts_with("<!--"));
            let page: String = page.flat_map(|line| [line, "\n"]).collect();
            out.write_styled(render_markdown(&page, color).trim_end())?;
        }
    }
    Ok(ExitStatus::Success)
}

/// Parses a diagnostic code. Leading zeros and the letter `E` may be missing. `None` if there is no
/// such code.
fn parse_code(text: &str) -> Option<Code> {
    let text = text.trim().trim_matches(['[', ']']);
    Code::parse(text).or_else(|| {
        let (letter, digits) = match text.strip_prefix(['e', 'E', 'w', 'W']) {
            Some(digits) => (&text[..1], digits),
            None => ("E", text),
        };
        Code::parse(&format!("{letter}{digits:0>4}"))
    })
}

/// Returns a short description of an operator, a function or a keyword of the rule language. The
/// last line names the page with the details. `None` for other words.
fn describe_word(text: &str) -> Option<Vec<Message>> {
    let word = text.trim().trim_matches('`').trim_end_matches("()");
    if let Some(row) = operators::TABLE.iter().find(|row| row.spelling == word) {
        let title = message!("`{word}` is an operator: {}", row.doc.clone());
        return Some(vec![title, message!("example: {}", row.example.0), message!("see docs/operators.md")]);
    }
    if let Some(function) = Function::from_name(word) {
        let row = function.info();
        let title = message!("`{}` is a function: {}", row.signature(), row.doc.clone());
        return Some(vec![title, message!("example: {}", row.example.0), message!("see docs/operators.md")]);
    }
    let row = word_doc(word).or_else(|| word_doc(&format!("@{word}")))?;
    let role = rulec_syntax::parse::keywords().find(|(keyword, _)| *keyword == word).map(|(_, role)| role);
    let page = match role {
        Some(WordRole::Statement) => "docs/statements.md",
        _ => "docs/language.md",
    };
    let title = message!("`{}` is a word of the language: {}", row.word, row.doc.clone());
    Some(vec![title, message!("example: {}", row.example), message!("see {page}")])
}

/// Returns the operator, function or other word of the language that is nearest in spelling to a
/// text; `None` if none is near.
fn nearest_word(text: &str) -> Option<&'static str> {
    let word = text.trim().trim_matches('`').trim_end_matches("()").to_lowercase();
    let operators = operators::TABLE.iter().map(|row| row.spelling);
    let functions = builtins::TABLE.iter().map(|row| row.name);
    let words = rulec_syntax::parse::keywords().map(|(word, _)| word);
    let is_word = |word: &&str| word.starts_with(char::is_alphabetic);
    nearest(&word, operators.chain(functions).chain(words).filter(is_word))
}

fn unknown_code_message(text: &str) -> Message {
    if let Some(remedy) = why_command_tip(&["explain"], &["explain", text]) {
        return remedy;
    }
    let is_code = text.chars().skip(1).any(|c| c.is_ascii_digit());
    if let Some(word) = nearest_word(text).filter(|_| !is_code) {
        let word = if word.contains(' ') { format!("\"{word}\"") } else { word.to_owned() };
        return message!("there is no code or word `{text}`; did you mean `rulec explain {word}`?");
    }
    let requested_code = text.trim().to_ascii_uppercase();
    // Sorts codes that differ by one character first, then codes of the same range.
    let differing_chars =
        |code: &str| code.chars().zip(requested_code.chars()).filter(|(a, b)| a != b).count();
    let differs_by_one = |code: &&str| code.len() == requested_code.len() && differing_chars(code) == 1;
    let codes = || Code::ALL.iter().map(|code| code.as_str());
    let mut similar_codes: Vec<&str> = codes().filter(differs_by_one).collect();
    similar_codes
        .extend(codes().filter(|code| !differs_by_one(code) && code.get(..3) == requested_code.get(..3)));
    similar_codes.truncate(5);
    match similar_codes.is_empty() {
        true => message!("there is no code `{text}`; `rulec explain` lists all codes"),
        false => {
            message!(
                "there is no code `{text}`; similar codes are {} (`rulec explain` lists all codes)",
                comma_list(similar_codes)
            )
        }
    }
}

/// Renders Markdown for a terminal. Without colour, for example in a pipe, the text stays Markdown.
fn render_markdown(page: &str, color: bool) -> String {
    if !color {
        return page.to_owned();
    }
    let (mut out, mut in_code_block) = (String::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            in_code_block = !in_code_block;
            continue;
        }
        let line = if in_code_block {
            format!("    {}", paint(color, "36", line))
        } else if line.starts_with('#') {
            paint(color, "1", line.trim_start_matches('#').trim_start())
        } else {
            render_code_spans(line)
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn render_code_spans(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((plain, (quoted, after))) =
        rest.split_once('`').and_then(|(plain, rest)| Some((plain, rest.split_once('`')?)))
    {
        out.push_str(plain);
        out.push_str(&paint(true, "36", quoted));
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_as_people_write_them() {
        let check = |text: &str, expected: Option<Code>| assert_eq!(parse_code(text), expected, "{text}");
        check("E0203", Some(Code::Duplicate));
        check("e0203", Some(Code::Duplicate));
        check("203", Some(Code::Duplicate));
        check("[E0203]", Some(Code::Duplicate));
        check("w201", Some(Code::NeverMatches));
        check("E9999", None);
        check("", None);
        check("文", None);
    }

    #[test]
    fn pages_are_lightly_rendered() {
        let page = "# E0203\n\nUse `let` once.\n\n```rules\nlet a = 1\n```\n";
        assert_eq!(render_markdown(page, false), page);
        let expected =
            "\x1b[1mE0203\x1b[0m\n\nUse \x1b[36mlet\x1b[0m once.\n\n    \x1b[36mlet a = 1\x1b[0m\n";
        assert_eq!(render_markdown(page, true), expected);
    }
}
