//! Finds invisible characters. A reader cannot see them in a keyword, although texts that differ
//! only in such a character are not equal.

use std::ops::Range;

/// True if a program that cannot display the character should display nothing: the property
/// Default_Ignorable_Code_Point of Unicode. Examples are the soft hyphen, the zero-width space, and
/// the variation selectors after emoji.
#[inline]
pub fn is_default_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
    )
}

/// True for an invisible character that has no function after the character `previous`.
///
/// Joiners have a function in emojis, such as the woman with a laptop, and between letters of
/// Arabic, Indian and similar scripts. Tag characters have one in the flags of regions.
pub fn is_misplaced_invisible(previous: Option<char>, c: char) -> bool {
    let Some(previous) = previous.filter(|_| is_default_ignorable(c)) else { return is_default_ignorable(c) };
    match c {
        '\u{200d}' if is_emoji(previous) => false,
        '\u{200c}' | '\u{200d}' => {
            !matches!(previous, '\u{620}'..='\u{109f}' | '\u{1780}'..='\u{17d3}' | '\u{1820}'..='\u{18aa}')
        }
        '\u{180b}'..='\u{180f}' => !matches!(previous, '\u{1820}'..='\u{18aa}'),
        '\u{e0020}'..='\u{e007f}' => !matches!(previous, '\u{1f3f4}' | '\u{e0020}'..='\u{e007e}'),
        _ => true,
    }
}

/// True for a character that a zero-width joiner may follow in an emoji.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns the byte ranges of the runs of invisible characters that are out of place in the text.
pub fn invisible_runs(text: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    if text.is_ascii() {
        return runs;
    }
    let mut previous = None;
    for (start, c) in text.char_indices() {
        if is_misplaced_invisible(previous, c) {
            let end = start + c.len_utf8();
            match runs.last_mut().filter(|run| run.end == start) {
                Some(run) => run.end = end,
                None => runs.push(start..end),
            }
        }
        previous = Some(c);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_syntax::hir::{Class, HirKind};

    /// Fails if a new version of Unicode changes the list of invisible characters. The constants in
    /// existing artifacts were prepared with the old list, so a message would be compared wrongly.
    #[test]
    fn invisible_chars_agree_with_unicode() {
        let hir = regex_syntax::parse(r"\p{Default_Ignorable_Code_Point}").expect("a property");
        let HirKind::Class(Class::Unicode(class)) = hir.into_kind() else { panic!("no class") };
        let ranges: Vec<_> = class.iter().map(|range| range.start()..=range.end()).collect();
        for c in '\0'..=char::MAX {
            assert_eq!(is_default_ignorable(c), ranges.iter().any(|range| range.contains(&c)), "{c:?}");
        }
    }

    #[test]
    fn characters_out_of_place_are_found() {
        let check = |text: &str, expected: &[(usize, usize)]| {
            let runs: Vec<_> = invisible_runs(text).iter().map(|run| (run.start, run.end)).collect();
            assert_eq!(runs, expected, "{text:?}");
        };
        check("urgent", &[]);
        check("ur\u{ad}gent", &[(2, 4)]);
        check("ur\u{200b}\u{200d}gent\u{2060}", &[(2, 8), (12, 15)]);
        check("\u{feff}a", &[(0, 3)]);
        check("❤\u{fe0f}", &[(3, 6)]);
        check("👩\u{200d}💻", &[]);
        check("می\u{200c}خواهم", &[]);
        check("क\u{94d}\u{200d}ष", &[]);
        check("🏴\u{e0067}\u{e0062}\u{e007f}", &[]);
        check("a\u{e0067}", &[(1, 5)]);
    }
}
