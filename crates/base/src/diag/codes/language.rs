//! The languages in which users can read messages, and the titles and pages of diagnostic codes in
//! languages other than English. A translated page combines two sources: the explanation from the
//! language's catalogue and the examples of the English page. The examples are rules and need no
//! translation.

use super::Code;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A language in which diagnostics, and the pages about diagnostic codes, are available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Messages and pages in English.
    #[default]
    English,
    /// Messages and pages in Chinese, in simplified characters.
    Chinese,
}

impl Language {
    /// Returns the language code, such as `zh`, as in the HTML attribute `lang`.
    pub fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh",
        }
    }

    /// Returns the language of a locale such as `zh-CN` or `en_US.UTF-8`. `None` if this language
    /// is not supported.
    pub fn of_locale(locale: &str) -> Option<Language> {
        match locale.split(['-', '_', '.']).next()?.to_ascii_lowercase().as_str() {
            "zh" => Some(Language::Chinese),
            "en" => Some(Language::English),
            _ => None,
        }
    }
}

/// The Chinese title and explanation of each diagnostic code, parsed from a Markdown file that has
/// a section `# CODE: TITLE` for each code.
static CHINESE_PAGES: LazyLock<HashMap<&str, (&str, &str)>> = LazyLock::new(|| {
    let sections = include_str!("../../../docs/zh/codes.md").split("\n# ").skip(1);
    let parse_section = |section: &'static str| {
        let (head, text) = section.split_once('\n')?;
        let (code, title) = head.split_once(": ")?;
        Some((code, (title.trim(), text.trim())))
    };
    sections.filter_map(parse_section).collect()
});

impl Code {
    /// Returns the title of the diagnostic code, its meaning in a few words, in `language`.
    pub fn title_in(self, language: Language) -> &'static str {
        match language {
            Language::English => self.title(),
            Language::Chinese => CHINESE_PAGES.get(self.as_str()).map_or(self.title(), |(title, _)| title),
        }
    }

    /// Returns the page that explains the diagnostic code, as Markdown in `language`, with a wrong
    /// and a right example.
    pub fn page_in(self, language: Language) -> Cow<'static, str> {
        let translation = CHINESE_PAGES.get(self.as_str()).filter(|_| language == Language::Chinese);
        let Some((title, text)) = translation else { return self.page().into() };
        let mut page = format!("# {self}: {title}\n\n{text}\n");
        for (heading, translated_heading) in [("Wrong", "\u{9519}\u{8bef}"), ("Right", "\u{6b63}\u{786e}")] {
            let examples = fenced_blocks_under(self.page(), heading);
            if !examples.is_empty() {
                page.push_str(&format!("\n## {translated_heading}\n{examples}"));
            }
        }
        page.into()
    }
}

/// Returns the fenced code blocks under a heading of a page. A blank line precedes each block.
fn fenced_blocks_under(page: &str, heading: &str) -> String {
    let (mut in_section, mut in_block, mut out) = (false, false, String::new());
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        if !in_block && !is_fence && line.starts_with("## ") {
            in_section = line[3..].trim() == heading;
        }
        if in_section && (in_block || is_fence) {
            out.push_str(if is_fence && !in_block { "\n" } else { "" });
            out.push_str(line);
            out.push('\n');
        }
        in_block ^= is_fence;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every code has a title and a page in both languages.
    #[test]
    fn every_code_has_a_title_and_a_page_in_chinese() {
        let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        for code in Code::ALL {
            let (title, page) = (code.title_in(Language::Chinese), code.page_in(Language::Chinese));
            assert!(is_chinese(title) && !title.ends_with('\u{3002}'), "{code}: {title}");
            let (_, text) = CHINESE_PAGES[code.as_str()];
            assert!(is_chinese(text) && text.contains("\n\n"), "{code} says nothing of the remedy: {text}");
            for heading in ["Wrong", "Right"] {
                let examples = fenced_blocks_under(code.page(), heading);
                assert!(!examples.is_empty() && page.contains(&examples), "{code}: {page}");
            }
            assert_eq!(code.page_in(Language::English), code.page());
        }
        assert_eq!(CHINESE_PAGES.len(), Code::ALL.len());
        let sections = include_str!("../../../docs/zh/codes.md").matches("\n# ").count();
        assert_eq!(sections, Code::ALL.len(), "a code stands there twice, or a heading has no title");
    }
}
