//! Tests of the comparison of a text with its formatted text. Tests of the style are in `tests/it`.

use super::{first_difference, outline};

/// Checks that `first_difference` detects a comment that is lost or moved to another token in the
/// formatted text.
#[test]
fn a_comment_that_is_lost_or_moved_is_a_difference() {
    let text = "let a = 1 # one\n\n# two\nlet b = 2\n";
    let before = outline(text);
    let of = |other: &str| first_difference(text, &before, other);
    assert_eq!(of(text), None);
    assert_eq!(of("let a = 1 # one\n# two\n\n\nlet b = 2"), None);
    let [lost, moved, changed, token, fewer] = [
        "let a = 1 # one\n\nlet b = 2\n",
        "let a = 1\n# one\n# two\nlet b = 2\n",
        "let a = 1 # one\n\n# too\nlet b = 2\n",
        "let a = 1 # one\n\n# two\nlet b = 3\n",
        "let a = 1 # one\n\n# two\n",
    ]
    .map(of);
    assert_eq!([lost, moved, changed, token, fewer], [Some(4), Some(4), Some(4), Some(7), Some(4)]);
}
