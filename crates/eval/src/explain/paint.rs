//! Adds terminal colours to explanations, so that the rest of the renderer writes plain text.

use crate::trace::Mark;

/// A painter that adds terminal colours to texts if the field is true; otherwise it leaves texts
/// plain.
#[derive(Clone, Copy)]
pub(super) struct Painter(pub bool);

impl Painter {
    fn paint_with_code(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub fn paint_bold(self, text: &str) -> String {
        self.paint_with_code("1", text)
    }

    pub fn paint_dim(self, text: &str) -> String {
        self.paint_with_code("2", text)
    }

    pub fn paint_warning(self, text: &str) -> String {
        self.paint_with_code("33", text)
    }

    pub fn paint_mark(self, mark: Mark) -> String {
        match mark {
            Mark::True => self.paint_with_code("32", "✓"),
            Mark::False => self.paint_with_code("31", "✗"),
            Mark::Unknown => self.paint_with_code("33", "?"),
            Mark::Skipped => self.paint_with_code("2", "–"),
        }
    }
}
