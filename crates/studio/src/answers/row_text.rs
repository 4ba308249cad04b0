//! Finds where a statement's lines begin in the text of a file, for edits that move or insert
//! statements.

/// A byte range of a file's text, and the text that replaces it.
pub(super) type TextReplacement = (std::ops::Range<usize>, String);

/// Returns the white space between a statement that begins at `start` and a new one after it: a
/// blank line and the indentation. If other text precedes the statement in its line, returns a
/// space, because a line break could end a `table` that is in one line.
pub(super) fn gap_after(text: &str, start: usize) -> String {
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    match &text[line..start] {
        indent if indent.trim().is_empty() => format!("\n\n{indent}"),
        _ => " ".to_owned(),
    }
}

/// Returns the offset at which the lines of a statement begin, including the comment lines directly
/// before it. `statement` is the offset of the statement; it is returned if other text precedes the
/// statement in its line.
pub(super) fn block_start(text: &str, statement: usize) -> usize {
    let line_start = |position: usize| text[..position].rfind('\n').map_or(0, |newline| newline + 1);
    let mut start = line_start(statement);
    if !text[start..statement].trim().is_empty() {
        start = statement;
    }
    while start > 0 && text[..start].ends_with('\n') {
        let previous = line_start(start - 1);
        if !text[previous..start].trim_start().starts_with('#') {
            break;
        }
        start = previous;
    }
    start
}
