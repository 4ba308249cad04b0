//! Finds English words in Chinese messages, outside quoted code.
#![allow(dead_code, reason = "each test program uses a part of it")]

/// Keywords that consist of two English words.
const KEYWORDS: [&str; 2] = ["extern fn", "flow tool"];

/// Returns the English phrases of the text: two or more lowercase words in a row outside quotes.
///
/// A single lowercase word is not reported, because Chinese messages use the names of language
/// elements too (`string`, `not blank`).
pub fn english_in(text: &str) -> Vec<String> {
    let own = outside_quotes(text);
    let mut found = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    for word in own.split(' ').chain([""]) {
        let bare = word.trim_matches([',', '.', ';', ':', '(', ')']);
        let english = bare.len() > 1 && bare.chars().all(|c| c.is_ascii_lowercase() || c == '\'');
        if english {
            run.push(bare);
        }
        // A comma or colon ends a phrase: lists of names and record fields are not English.
        if !english || word.ends_with([',', ':']) {
            if run.len() > 1 && !KEYWORDS.contains(&run.join(" ").as_str()) {
                found.push(run.join(" "));
            }
            run.clear();
        }
    }
    found
}

/// Returns the text without the parts in backquotes, double quotes or double backquotes.
fn outside_quotes(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '"']) {
        out.push_str(&rest[..at]);
        let quote = ["``", "`", "\""].into_iter().find(|quote| rest[at..].starts_with(quote)).unwrap_or("\"");
        let inside = &rest[at + quote.len()..];
        let Some(end) = inside.find(quote) else { return out };
        out.push('“');
        rest = &inside[end + quote.len()..];
    }
    out + rest
}

/// True if the text contains Chinese characters.
pub fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}
