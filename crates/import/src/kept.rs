//! Parts of a JSON document that rules cannot express, such as the ids of conditions. An import
//! keeps them in comments of the rules file: `# json: {"id": "c-7"}`. An export reads the comments
//! and writes the parts back.

use super::located::{has_unreadable, is_unreadable};
use super::write::{KEPT_COMMENT_MARK, is_display_control};
use rulec::{SourceMap, Span};
use rulec_syntax::lex::tokenize;
use serde_json::{Map, Value as Json};

/// Returns a rules comment that stores these members of the imported JSON, so that a later export
/// can write them again. The comment lacks its comment sign, and must stay on one line. `None` if
/// no member is left.
///
/// `is_repaired` is true if the document had values that are not JSON, which marked objects now
/// replace (see [`is_unreadable`]). A part that contains such a value is left out of the comment
/// completely. If only the value were left out, an export could write a valid item instead of the
/// invalid one.
pub(super) fn members_comment(members: &Map<String, Json>, is_repaired: bool) -> Option<String> {
    let mut members = members.clone();
    members.retain(|key, value| !is_repaired || remove_unreadable(key, value));
    (!members.is_empty()).then(|| format!("{KEPT_COMMENT_MARK} {}", to_compact_json(&Json::Object(members))))
}

/// Like [`members_comment`], but for members of the whole JSON document. In this comment, the word
/// `document` follows `json:`. The word distinguishes it from a comment of the first statement,
/// which may follow without an empty line.
pub(super) fn document_comment(members: &Map<String, Json>, is_repaired: bool) -> Option<String> {
    Some(members_comment(members, is_repaired)?.replacen(
        KEPT_COMMENT_MARK,
        &format!("{KEPT_COMMENT_MARK} {DOCUMENT_WORD}"),
        1,
    ))
}

/// Returns a rules comment that stores one word about an element of the rules for a later export.
/// It lacks its comment sign. For example, the word `capitals` before a choice says how its JSON
/// spelled names.
pub(super) fn word_comment(word: &str) -> String {
    format!("{KEPT_COMMENT_MARK} {word}")
}

/// True if a comment directly before an element of the rules is a [`word_comment`] with this word.
/// `span` lies in the first line of the element.
pub(super) fn has_word_comment_before(sources: &SourceMap, span: Span, word: &str) -> bool {
    comments_before(sources, span).into_iter().any(|line| kept_text(line).is_some_and(|text| text == word))
}

/// Removes the parts of `value` that are not JSON. `value` is a JSON member with the key `key` that
/// a comment will store. Returns false if nothing is left of the member.
fn remove_unreadable(key: &str, value: &mut Json) -> bool {
    if is_unreadable(value) {
        return false;
    }
    if !has_unreadable(value) {
        return true;
    }
    let Json::Object(parts) = value else { return false };
    if LIST_KEYS.contains(&key) {
        // The elements after a removed one move up.
        let (mut left, mut removed) = (Map::new(), 0);
        for (position, part) in elements_by_position(std::mem::take(parts)) {
            match has_unreadable(&part) {
                true => removed += 1,
                false => drop(left.insert((position - removed).to_string(), part)),
            }
        }
        *parts = left;
    } else if key == SETTINGS_KEY {
        parts.retain(|_, part| !has_unreadable(part));
    } else {
        return false;
    }
    !parts.is_empty()
}

/// The word in a comment that marks the stored JSON members as members of the whole document, not
/// of a statement.
const DOCUMENT_WORD: &str = "document";
/// The key of the settings in a JSON document with flows. Its value is an object, and a comment in
/// the rules may store only some members of this object.
pub(super) const SETTINGS_KEY: &str = "settings";
/// The keys of stored JSON members that contain skipped elements of a list, with their positions as
/// keys.
const LIST_KEYS: [&str; 6] = ["routes", "flows", "tools", "choices", "conditions", "trigger_patterns"];

/// Formats a value as JSON on one line. Characters that change how a line is displayed are escaped.
fn to_compact_json(value: &Json) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        if is_display_control(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns the JSON members that an import stored in the comments directly before an element of the
/// rules. `span` lies in the first line of the element. Empty if the line starts with another
/// element.
pub(super) fn kept_members_before(sources: &SourceMap, span: Span) -> Map<String, Json> {
    kept_members(comments_before(sources, span).into_iter(), "")
}

/// Returns the comment lines directly before an element of the rules. `span` lies in the first line
/// of the element. Empty if the line starts with another element.
pub(super) fn comments_before(sources: &SourceMap, span: Span) -> Vec<&str> {
    let text = sources.get(span.file).map_or("", |file| &file.text);
    let Some(before) = text.get(..span.start as usize) else { return Vec::new() };
    let (lines, start) = before.rsplit_once('\n').unwrap_or(("", before));
    if start.contains(['{', '}', ';', '#']) {
        return Vec::new();
    }
    let lines = lines.split('\n').rev().take_while(|line| line.trim_start().starts_with('#'));
    let mut comments: Vec<&str> = lines.collect();
    comments.reverse();
    comments
}

/// Returns the members of the whole JSON document that an import stored in comments before the
/// first statement.
pub(super) fn members_in_header(sources: &SourceMap) -> Map<String, Json> {
    let text = sources.iter().next().map_or("", |(_, file)| &*file.text);
    let is_comment = |line: &&str| line.starts_with('#') || line.trim().is_empty();
    kept_members(text.lines().take_while(is_comment), DOCUMENT_WORD)
}

/// Returns the JSON members that an import stored in these comment lines. `word` is the word that
/// must follow the mark `json:` in these comments; it may be empty.
fn kept_members<'t>(comments: impl Iterator<Item = &'t str>, word: &str) -> Map<String, Json> {
    let mut members = Map::new();
    for line in comments {
        let json = kept_text(line).and_then(|text| text.strip_prefix(word));
        if let Some(Ok(Json::Object(more))) = json.map(serde_json::from_str) {
            members.extend(more);
        }
    }
    members
}

/// Returns the JSON text that an import stored in a comment line: the text after the mark `json:`.
/// `None` for a comment without the mark.
fn kept_text(line: &str) -> Option<&str> {
    // A comment with two signs is documentation, whose words come from the document.
    Some(line.trim_start().strip_prefix('#')?.trim_start().strip_prefix(KEPT_COMMENT_MARK)?.trim())
}

/// Merges `kept`, the parts of a JSON value that an import stored in a comment, into `value`, which
/// an export writes. Descends into nested objects. A member that `value` already has is not
/// replaced. `kept` contains the elements of a list as an object whose keys are their positions in
/// the list.
pub(super) fn restore_kept(value: &mut Json, kept: Json) {
    match (value, kept) {
        (Json::Object(members), Json::Object(kept)) => {
            for (key, kept) in kept {
                match members.get_mut(&key) {
                    Some(value) => restore_kept(value, kept),
                    None => drop(members.insert(key, kept)),
                }
            }
        }
        (Json::Array(items), Json::Object(kept)) => {
            for (position, kept) in elements_by_position(kept) {
                items.insert(position.min(items.len()), kept);
            }
        }
        _ => {}
    }
}

/// True if the texts differ at most in their white space and comments between the tokens. Then the
/// author has not changed a part of the rules since an import wrote it.
pub(super) fn has_same_tokens(one: &str, other: &str) -> bool {
    significant_tokens(one).eq(significant_tokens(other))
}

fn significant_tokens(text: &str) -> impl Iterator<Item = &str> {
    tokenize(text, 0).filter(|token| !token.kind.is_trivia()).map(move |token| token.text(text))
}

/// Returns the elements of a list that an import stored in a comment, with their positions, in
/// increasing order.
pub(super) fn elements_by_position(kept: Map<String, Json>) -> Vec<(usize, Json)> {
    let mut items: Vec<(usize, Json)> =
        kept.into_iter().filter_map(|(key, value)| Some((key.parse().ok()?, value))).collect();
    items.sort_by_key(|(position, _)| *position);
    items
}

/// Removes the list `key` from `kept`, the JSON members that an import stored in a comment. Returns
/// the elements of the list with their positions, in increasing order. Empty if there is no such
/// list.
pub(super) fn take_kept_list(kept: &mut Map<String, Json>, key: &str) -> Vec<(usize, Json)> {
    match kept.remove(key) {
        Some(Json::Object(items)) => elements_by_position(items),
        _ => Vec::new(),
    }
}
