//! Reads the comments that suppress warnings, such as `# rulec: allow W0123 reason`, and recognizes
//! misspelt ones.

use rulec_base::diag::{Code, Diagnostic, nearest};
use rulec_base::message;
use rulec_base::span::Span;

/// Words that show that a comment was meant to suppress a warning even if no name of a tool
/// precedes them, as in `# noqa: W0105`. Any other word is more likely the start of an ordinary
/// sentence.
const SUPPRESSION_WORDS_WITHOUT_TOOL: [&str; 4] = ["allow", "noqa", "disable", "ignore"];

/// The words by which other tools suppress a warning.
const SUPPRESSION_WORDS_OF_OTHER_TOOLS: [&str; 8] =
    ["disable", "ignore", "suppress", "skip", "noqa", "nolint", "permit", "disable-next-line"];

/// Reads a comment of the form `# rulec: allow W0123 reason`. Returns the warning code directly
/// after `allow`, which the comment suppresses, and the first warning code anywhere after `allow`.
/// Each is `None` if there is no such code. The outer `None` means that the comment has another
/// form.
pub(super) fn read_allow_comment(comment: &str) -> Option<(Option<Code>, Option<Code>)> {
    let rest = comment.trim_start_matches('#').trim_start().strip_prefix("rulec:")?;
    let rest = rest.trim_start().strip_prefix("allow")?;
    let warning = |word: &str| Code::parse(word).filter(|code| code.as_str().starts_with('W'));
    let mut words =
        rest.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '，') || encloses_code(c));
    let first = rest.split_whitespace().next().and_then(warning);
    Some((first, words.find_map(warning)))
}

/// True for a bracket or quote in which authors write a code, as in `allow "W0123"`.
fn encloses_code(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '<' | '>' | '"' | '\'' | '`' | '“' | '”' | '「' | '」' | '（' | '）')
}

/// Returns the warning for a comment that was meant to suppress a warning, as in `# rulec: alow
/// W0105` or `# noqa: W0105`. `span` is the span of the comment. `None` for other comments, such as
/// comments without a warning code.
pub(super) fn misspelt_suppression_warning(comment: &str, span: Span) -> Option<Diagnostic> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, ':' | '(' | ',' | '：');
    let text = comment.trim_start_matches('#');
    let mut words = text.split(is_mark).filter(|word| !word.is_empty());
    let first = words.next()?;
    let tool = first.to_lowercase();
    let is_rulec = tool == "rulec";
    let names_tool = is_rulec || tool == "rules" || nearest(&tool, ["rulec"]).is_some();
    let word = if names_tool { words.next()? } else { first };
    let written = words.next()?;
    let code = Code::parse(written).filter(|code| code.as_str().starts_with('W'))?;
    let is_meant = match (is_rulec, names_tool) {
        (true, _) => {
            let word = word.to_lowercase();
            SUPPRESSION_WORDS_OF_OTHER_TOOLS.contains(&word.as_str())
                || word == "allow"
                || nearest(&word, ["allow"]).is_some()
        }
        (_, true) => word == "allow",
        _ => {
            let (_, after) = text.split_once(written)?;
            let after = after.trim_start();
            SUPPRESSION_WORDS_WITHOUT_TOOL.contains(&word)
                && (after.is_empty() || after.starts_with([':', ',', '：']))
        }
    };
    if !is_meant {
        return None;
    }
    let message = message!("this comment suppresses no warning");
    let help = message!("write `# rulec: allow {code} reason`, with your reason in place of `reason`");
    Some(Diagnostic::new(Code::UnusedAllow, span, message).help(help))
}
