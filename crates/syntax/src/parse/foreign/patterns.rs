//! Regular expressions between slashes, as other languages write them.

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
