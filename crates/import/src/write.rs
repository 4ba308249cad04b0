//! Writes rule syntax for the importers: unique names, lists and comments.

pub(super) use rulec_base::text::printable::is_display_control;
pub(super) use rulec_syntax::write::{
    format_key, format_number, format_path, format_value, is_name, quote_name, quote_raw_string, quote_string,
};
use std::collections::{HashMap, HashSet};

/// The first word of a rules comment that stores parts of the imported JSON document. Such a
/// comment is one line.
pub(super) const KEPT_COMMENT_MARK: &str = "json:";

/// Maximum width of a line, in characters. Only a line that cannot be broken is wider.
const MAX_LINE_WIDTH: usize = 100;

/// Allocates unique names for the statements of a rules file. A name is unchanged if possible, and
/// is written in backquotes if necessary. A name that is not valid even in backquotes is changed.
#[derive(Clone, Default)]
pub(super) struct NameAllocator {
    used_names: HashSet<String>,
    /// For each base name, the lowest number that may still be unused as a suffix. Without it, many
    /// items of the same name would take quadratic time.
    next_numbers: HashMap<String, usize>,
}

impl NameAllocator {
    /// Creates an allocator that never returns one of `words`, for example because they are
    /// keywords.
    pub(super) fn reserving(words: &[&str]) -> Self {
        let used_names = words.iter().map(|word| (*word).to_owned()).collect();
        NameAllocator { used_names, ..NameAllocator::default() }
    }

    /// Returns `preferred` or a similar name, which is unique and contains no backquote. The caller
    /// adds backquotes around the name if the syntax requires them.
    pub(super) fn unique_name(&mut self, preferred: &str) -> String {
        self.unique_text(&replace_invalid_chars(preferred))
    }

    /// Allocates the name of an item for an export. Returns true if an import would convert
    /// `original`, a name in the document, to `name`, the name of the item in the rules. Must be
    /// called for all items in the order of an import.
    pub(super) fn is_imported_as_name(&mut self, original: &str, name: &str) -> bool {
        self.is_imported_as_text(&replace_invalid_chars(original), &replace_invalid_chars(name))
    }

    /// Like [`is_imported_as_name`](NameAllocator::is_imported_as_name), but for names that
    /// [`unique_text`](NameAllocator::unique_text) allocates, which may contain any character.
    pub(super) fn is_imported_as_text(&mut self, original: &str, name: &str) -> bool {
        let is_original = self.next_unique_text(original) == name;
        self.unique_text(if is_original { original } else { name });
        is_original
    }

    /// Returns a unique text: `base`, followed by a number if necessary. Used for names that the
    /// rules write in quotation marks, which may contain any character.
    pub(super) fn unique_text(&mut self, base: &str) -> String {
        let name = self.next_unique_text(base);
        self.used_names.insert(name.clone());
        name
    }

    /// Returns the text that [`unique_text`](NameAllocator::unique_text) would return for `base`
    /// now.
    fn next_unique_text(&mut self, base: &str) -> String {
        if !self.used_names.contains(base) {
            return base.to_owned();
        }
        let number = self.next_numbers.entry(base.to_owned()).or_insert(2);
        loop {
            let name = format!("{base}_{number}");
            if !self.used_names.contains(&name) {
                return name;
            }
            *number += 1;
        }
    }
}

/// Replaces the characters of a name that are not valid even in backquotes.
fn replace_invalid_chars(preferred: &str) -> String {
    let clean: String =
        preferred.chars().map(|c| if c == '`' || is_display_control(c) { '_' } else { c }).collect();
    if clean.is_empty() { "unnamed".to_owned() } else { clean }
}

/// Writes a list of literals, on several lines if one line is too long. `indent` is the indentation
/// of the statement.
pub(super) fn write_list(literals: &[String], indent: usize) -> String {
    let line = format!("[{}]", literals.join(", "));
    if indent + line.chars().count() <= MAX_LINE_WIDTH * 3 / 4 {
        return line;
    }
    let inner = " ".repeat(indent + 2);
    let mut out = String::from("[");
    let mut column = MAX_LINE_WIDTH;
    for literal in literals {
        let width = literal.chars().count() + 2;
        if column + width > MAX_LINE_WIDTH {
            out.push('\n');
            out.push_str(&inner);
            column = inner.len();
        } else {
            out.push(' ');
        }
        out.push_str(literal);
        out.push(',');
        column += width;
    }
    out.push_str(&format!("\n{}]", " ".repeat(indent)));
    out
}

/// Formats a text for a comment or message: on one line, truncated, in backquotes.
pub(super) fn quote_for_comment(text: &str) -> String {
    format!("`{}`", truncate_text(text, 60).replace('`', "'"))
}

fn truncate_text(text: &str, max_chars: usize) -> String {
    let mut out = String::new();
    for (position, c) in text.chars().enumerate() {
        if position == max_chars {
            out.push('…');
            break;
        }
        if is_display_control(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Formats a text as comment lines, which are broken between words. Each line begins with `marker`,
/// such as `#`, after `indent` spaces.
pub(super) fn write_comment(marker: &str, text: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut out = String::new();
    for paragraph in text.split('\n') {
        if marker == "#" && paragraph.starts_with(KEPT_COMMENT_MARK) {
            out.push_str(&format!("{pad}{marker} {paragraph}\n"));
            continue;
        }
        // Continuation lines of a list item are indented below its first word.
        let hanging_indent = if paragraph.starts_with("- ") { "  " } else { "" };
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let word = truncate_text(word, usize::MAX);
            if !line.is_empty()
                && indent + marker.len() + line.chars().count() + word.chars().count() + 2 > MAX_LINE_WIDTH
            {
                out.push_str(&format!("{pad}{marker} {line}\n"));
                line.clear();
                line.push_str(hanging_indent);
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        let line = format!("{pad}{marker} {line}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Converts `text` to the doc comment that the parser reads after an import has written `text` as
/// comment lines before a statement. In this doc comment, long lines are broken and repeated spaces
/// are lost.
pub(super) fn imported_doc_text(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let comment = write_comment("##", text, 0);
    let lines: Vec<&str> = comment.lines().map(|line| line.trim_start_matches('#').trim_start()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_quoted_or_changed() {
        let mut names = NameAllocator::reserving(&["default"]);
        let used_names: Vec<String> = ["a", "a", "查订单", "two words", "when", "default", "", "x`\ny"]
            .iter()
            .map(|preferred| quote_name(&names.unique_name(preferred)))
            .collect();
        assert_eq!(
            used_names,
            ["a", "a_2", "查订单", "`two words`", "`when`", "default_2", "unnamed", "x__y"]
        );
    }

    #[test]
    fn original_names_are_recognized() {
        let mut names = NameAllocator::default();
        for (original, name, is_original) in [
            ("a", "a", true),
            ("a", "a_2", true),
            ("a", "renamed", false),
            ("a", "a_3", true),
            ("a", "a_3", false),
            ("a", "a_5", false),
            ("a", "a_4", true),
            ("a", "a_6", true),
            ("x`y", "x_y", true),
        ] {
            assert_eq!(names.is_imported_as_name(original, name), is_original, "{original} {name}");
        }
    }

    /// Regression test: each name was counted from 2, which took minutes for many equal names.
    #[test]
    fn many_equal_names_take_linear_time() {
        let mut names = NameAllocator::default();
        for number in 1..=200_000 {
            let name = if number == 1 { "same".to_owned() } else { format!("same_{number}") };
            assert!(names.is_imported_as_name("same", &name));
        }
        assert_eq!(names.unique_text("same"), "same_200001");
    }

    #[test]
    fn long_lists_and_comments_are_broken() {
        let literals: Vec<String> = (0..40).map(|n| format!("\"word {n}\"")).collect();
        assert!(write_list(&literals, 2).lines().all(|line| line.len() <= MAX_LINE_WIDTH));
        let text = write_comment("#", &"many words ".repeat(30), 2);
        assert!(text.lines().all(|line| line.len() <= MAX_LINE_WIDTH && line.starts_with("  # ")));
    }
}
