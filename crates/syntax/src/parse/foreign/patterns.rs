//! Regular expressions between slashes, as other languages write them.

use super::foreign_syntax_error;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;

/// Converts the regular expression between slashes with which a text begins to a raw text literal:
/// `/a+/i` becomes `r"(?i)a+"`. Also returns its length in bytes. `None` if the second slash is
/// missing, or for a flag without an equivalent.
pub(in super::super) fn slashes_to_raw_string(text: &str) -> Option<(String, usize)> {
    let inner = text.strip_prefix('/')?;
    let mut is_escaped = false;
    let (close, _) = inner.char_indices().take_while(|(_, c)| *c != '\n').find(|(_, c)| {
        let closes = *c == '/' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        closes
    })?;
    let pattern = inner[..close].replace("\\/", "/");
    let after = &inner[close + 1..];
    let flags = &after[..after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len()];
    // `g` finds all matches, which no operator needs; `u` means Unicode, which is the rule here.
    if pattern.is_empty() || !flags.chars().all(|c| matches!(c, 'i' | 'm' | 's' | 'g' | 'u')) {
        return None;
    }
    let kept: String = flags.chars().filter(|c| matches!(c, 'i' | 'm' | 's')).collect();
    let mark = if kept.is_empty() { String::new() } else { format!("(?{kept})") };
    let fence = if pattern.contains('"') { "#" } else { "" };
    Some((format!("r{fence}\"{mark}{pattern}\"{fence}"), close + 2 + flags.len()))
}

/// Returns the diagnostic for a regular expression between slashes where a value is expected, as in
/// `/refund/i.test(text)`. `text` is the source, `slash` the token of the first slash, and `before`
/// the token or element before it. `None` without such an expression.
pub(in super::super) fn regex_between_slashes_error(
    text: &str,
    slash: Span,
    before: Option<Span>,
) -> Option<Diagnostic> {
    let (literal, length) = slashes_to_raw_string(&text[slash.start as usize..])?;
    let span = Span { end: slash.start + length as u32, ..slash };
    let message = message!("a regular expression is not written between slashes");
    let rest = &text[span.end as usize..];
    let call = ["test", "exec", "match"].into_iter().find_map(|name| {
        let inner = rest.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('(')?;
        let argument = inner.split_once(')')?.0.trim();
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        (!argument.is_empty() && argument.chars().all(is_path)).then_some(argument)
    });
    if let Some(argument) = call {
        let end = span.end + rest.find(')')? as u32 + 1;
        let written = format!("{argument} matches {literal}");
        let whole = Span { end, ..span };
        let help = message!("write `{written}`", written = written.clone());
        return Some(Diagnostic::new(Code::Unexpected, whole, message).help(help).likely_fix(whole, written));
    }
    match before.map(|before| (before, &text[before.range()])) {
        // Another diagnostic reports `=~`.
        Some((_, "matches" | "=~" | "~")) => Some(foreign_syntax_error(span, message, &literal)),
        Some((before, "==" | "=" | "contains" | "like" | "===")) => {
            let whole = before.to(span);
            let written = format!("matches {literal}");
            let help = message!("write `{written}`", written = written.clone());
            Some(Diagnostic::new(Code::Unexpected, span, message).help(help).likely_fix(whole, written))
        }
        _ => {
            let written = format!("text matches {literal}");
            let diagnostic = Diagnostic::new(Code::Unexpected, span, message);
            Some(diagnostic.help(message!("write it after `matches`: `{written}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::slashes_to_raw_string;

    #[test]
    fn regular_expressions_in_slashes_become_raw_texts() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(
                slashes_to_raw_string(text).map(|(literal, _)| literal).as_deref(),
                expected,
                "{text}"
            );
        };
        check("/a+/.test(x)", Some("r\"a+\""));
        check("/a\\/b/gi", Some("r\"(?i)a/b\""));
        check("/say \"x\"/", Some("r#\"say \"x\"\"#"));
        check("/a", None);
        check("/a\n/", None);
        check("//", None);
        check("/a/x", None);
    }
}
