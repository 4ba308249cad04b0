//! Diagnostics for comments in the syntax of other languages, such as `/* … */` and `-- …`. The
//! suggested fix marks each line of the comment with `#`.

use super::terminals;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{FileId, Span};

/// Maximum number of lines that a comment is assumed to have if its end mark, such as `*/`, is
/// missing.
const MAX_COMMENT_LINES: usize = 20;

/// The marks of other languages around a comment of several lines.
const BLOCK_COMMENT_MARKS: [(&str, &str); 3] = [("/*", "*/"), ("<!--", "-->"), ("(*", "*)")];

/// Returns the diagnostic for a comment of another language at the byte `start` of a file. `None`
/// if none begins there.
pub(super) fn foreign_comment_error(file: FileId, text: &str, start: usize) -> Option<Diagnostic> {
    let rest = text.get(start..)?;
    if rest.starts_with("--") {
        let line = rest.lines().next().unwrap_or_default();
        let dashes = line.len() - line.trim_start_matches('-').len();
        let words = line[dashes..].trim();
        let span = Span::new(file, start, start + dashes);
        let written = format!("# {words}");
        let diagnostic = Diagnostic::new(Code::UnknownStatement, span, message!("comments start with `#`"));
        let mark = if line[dashes..].starts_with(' ') { "#" } else { "# " };
        return Some(diagnostic.help(message!("write `{}`", written.trim_end())).likely_fix(span, mark));
    }
    let (open, close) = BLOCK_COMMENT_MARKS.into_iter().find(|(open, _)| rest.starts_with(open))?;
    let (words, length) = match rest[open.len()..].find(close) {
        Some(at) => (&rest[open.len()..open.len() + at], open.len() + at + close.len()),
        None => {
            let length = unclosed_comment_length(rest);
            (&rest[open.len()..length], length)
        }
    };
    let lines: Vec<String> = words.lines().filter_map(to_comment_line).collect();
    let span = Span::new(file, start, start + length);
    let first_line = rest[..length].lines().next().unwrap_or_default().trim_end().len();
    let shown = Span::new(file, start, start + first_line);
    let message = message!("`{open} … {close}` is not a comment");
    let help = match lines.as_slice() {
        [] => message!("a comment begins with `#`: remove `{}`", &rest[..length]),
        [line] => message!("a comment begins with `#`: write `{line}`"),
        lines => message!("begin each of these {} lines with `#`", lines.len()),
    };
    let follows_code = !rest[length..].lines().next().unwrap_or_default().trim().is_empty();
    let fixed = lines.join("\n") + if follows_code && !lines.is_empty() { "\n" } else { "" };
    Some(Diagnostic::new(Code::UnknownStatement, shown, message).help(help).likely_fix(span, fixed))
}

/// Converts a line of a comment of another language to a comment of this language, with `#`. `None`
/// for a line without words.
fn to_comment_line(line: &str) -> Option<String> {
    let words = line.trim().trim_start_matches('*').trim();
    (!words.is_empty()).then(|| format!("# {words}"))
}

/// Returns the length in bytes of a comment whose end mark, such as `*/`, is missing. `text` begins
/// with the comment. The comment ends before an empty line, and before a line that begins a
/// statement.
fn unclosed_comment_length(text: &str) -> usize {
    let mut length = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let first = line.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty());
        let is_statement = first.is_some_and(|word| {
            terminals::find_word(word).is_some_and(terminals::Terminal::starts_statement)
        }) && !line.starts_with(char::is_whitespace);
        if index > 0 && (is_statement || line.trim().is_empty()) || index == MAX_COMMENT_LINES {
            break;
        }
        length += line.len();
    }
    text[..length].trim_end().len()
}
