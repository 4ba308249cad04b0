//! English words that stand in a text of another language, where they are neither the author's nor the language's.
#![allow(dead_code, reason = "each test program uses a part of it")]

/// Keywords of two words.
const KEYWORDS: [&str; 2] = ["extern fn", "flow tool"];

/// Words in a row that read as English: two words of small letters outside quotes. The words of the language
/// (`string`, `not blank`) are what people call these things in Chinese too, so one alone says nothing.
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
        // Names in a list, and the fields of a record, are one after another too.
        if !english || word.ends_with([',', ':']) {
            if run.len() > 1 && !KEYWORDS.contains(&run.join(" ").as_str()) {
                found.push(run.join(" "));
            }
            run.clear();
        }
    }
    found
}

/// A text without what stands in backquotes, double quotes or double backquotes.
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

/// True when a text has Chinese characters.
pub fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}
