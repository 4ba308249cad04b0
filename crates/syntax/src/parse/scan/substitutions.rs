//! Diagnostics for values in the syntax of a shell or template, such as `${role:-guest}`. Also for
//! numbers whose digits are grouped by Chinese commas, and for the division `//`.

use crate::lex::{Token, TokenKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{FileId, Span};

/// Returns the diagnostic for `${role}` or `${role:-guest}`. `dollar` is the span of the `$`.
/// `None` without braces after it, or if they enclose no value.
pub(super) fn substitution_error(text: &str, dollar: Span) -> Option<Diagnostic> {
    let rest = text[dollar.start as usize..].lines().next()?;
    let inner = rest.strip_prefix("${")?;
    let (inner, _) = inner.split_once('}')?;
    let span = Span { end: dollar.start + inner.len() as u32 + "${}".len() as u32, ..dollar };
    let separators = [":-", ":=", "??", "||", "-"];
    let split = separators.into_iter().find_map(|separator| inner.split_once(separator));
    let (path, default) = split.map_or((inner, None), |(path, default)| (path, Some(default.trim())));
    let path = path.trim();
    let written = match default {
        None => path.to_owned(),
        Some(default) => {
            let is_literal = default.starts_with(['"', '\'']) || default.parse::<f64>().is_ok();
            let is_literal = is_literal || matches!(default, "true" | "false");
            let default = default.replace('\'', "\"");
            let default = if is_literal { default } else { format!("\"{default}\"") };
            format!("({path} ?? {default})")
        }
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let is_path = path.starts_with(char::is_alphabetic) && path.chars().all(is_name) && !path.ends_with('.');
    let is_plain =
        default.is_none_or(|default| !default.trim_matches(['"', '\'']).contains(['"', '\\', '$']));
    if !is_path || !is_plain {
        return None;
    }
    let message = match default {
        None => message!("a value is read by its name, without `${{` and `}}`"),
        Some(_) => message!("the value in place of a missing one follows `??`"),
    };
    let help = message!("write `{written}`", written = written.clone());
    Some(Diagnostic::new(Code::StrayCharacter, span, message).help(help).likely_fix(span, written))
}

/// Returns the diagnostic for a number such as `10，000，000`. `comma` is the span of one of its
/// commas. `None` for a comma between other values, or inside brackets, where it may separate
/// elements.
pub(super) fn grouped_number_error(text: &str, comma: Span) -> Option<Diagnostic> {
    let at = comma.start as usize;
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '，' | '、' | ',');
    let before = &text[line_start..at];
    let start = line_start + before.trim_end_matches(is_part).len();
    let after = text[at..].find(|c| !is_part(c)).map_or(text.len(), |length| at + length);
    let number = &text[start..after];
    let groups: Vec<&str> = number.split(['，', '、', ',']).collect();
    let depth = |open: char, close: char| before.matches(open).count() > before.matches(close).count();
    let is_grouped = groups.len() > 1
        && (1..=3).contains(&groups[0].len())
        && groups[1..].iter().all(|group| group.len() == 3);
    let follows_word =
        text[line_start..start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
    if !is_grouped || depth('[', ']') || depth('(', ')') || follows_word {
        return None;
    }
    let written = groups.join("_");
    let span = Span { start: start as u32, end: after as u32, ..comma };
    let message = message!("a number cannot contain `{}`", text[at..].chars().next().unwrap_or(','));
    let help = message!("group digits with `_`: write `{written}`", written = written.clone());
    Some(Diagnostic::new(Code::StrayCharacter, span, message).help(help).likely_fix(span, written))
}

/// Returns the diagnostic for a division whose result is rounded down, as in `n // 2 == 3`.
/// `slashes` is the span of the two slashes. `None` for a comment.
pub(super) fn floor_division_error(text: &str, slashes: Span) -> Option<Diagnostic> {
    let line_start = text[..slashes.start as usize].rfind('\n').map_or(0, |end| end + 1);
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let before = text[line_start..slashes.start as usize].trim_end();
    let left = &before[before.trim_end_matches(is_path).len()..];
    let after = text[slashes.end as usize..].lines().next()?;
    let trimmed = after.trim_start();
    let right = &trimmed[..trimmed.len() - trimmed.trim_start_matches(is_path).len()];
    let rest = trimmed[right.len()..].trim_start();
    // Only a comparison or a bracket shows that the words after the slashes are no comment.
    let signs = ["==", "!=", ">=", "<=", ">", "<", "=", ")", "+ ", "- ", "* ", "% ", "in "];
    let is_operand = left.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !matches!(left, "when" | "and" | "or" | "not" | "unless");
    let is_value = right.parse::<f64>().is_ok() || right.starts_with(char::is_alphabetic);
    if !is_operand || !is_value || !signs.iter().any(|sign| rest.starts_with(sign)) {
        return None;
    }
    let start = line_start + before.len() - left.len();
    let end = slashes.end as usize + (after.len() - trimmed.len()) + right.len();
    let whole = Span { start: start as u32, end: end as u32, ..slashes };
    let written = format!("floor({left} / {right})");
    let message = message!("`//` is not an operator");
    let help = message!("write `{written}`", written = written.clone());
    Some(Diagnostic::new(Code::Unexpected, slashes, message).help(help).likely_fix(whole, written))
}

/// Returns the byte offsets of the divisions `//` among the suspicious tokens of a file. The lexer
/// takes each for a comment, so the statement lacks the rest of the line.
pub(in super::super) fn floor_divisions(file: FileId, text: &str, suspicious: &[Token]) -> Vec<u32> {
    let comments = suspicious.iter().filter(|token| token.kind == TokenKind::SlashComment);
    let slashes = comments.map(|token| Span::new(file, token.start as usize, token.start as usize + 2));
    slashes
        .filter(|slashes| floor_division_error(text, *slashes).is_some())
        .map(|slashes| slashes.start)
        .collect()
}
