//! The texts of a message under the modes in which rules read them: each is prepared at most once a
//! decision, for the index's scan, for its values and for predicates alike.

use super::TextMode;

/// In place of the number of a text that is not kept.
pub const UNKEPT: u32 = u32::MAX;

/// The prepared texts of a decision, and the memory they lie in from one decision to the next.
#[derive(Debug, Default)]
pub struct PreparedTexts {
    kept: Vec<Prepared>,
    buffer: String,
}

/// A text prepared for the decision of that number.
#[derive(Debug, Default)]
struct Prepared {
    epoch: u32,
    text: String,
}

impl PreparedTexts {
    #[inline]
    pub fn grow(&mut self, count: usize) {
        if self.kept.len() < count {
            self.kept.resize_with(count, Prepared::default);
        }
    }

    pub fn forget(&mut self) {
        self.kept.iter_mut().for_each(|kept| kept.epoch = 0);
    }

    /// A text under a mode: itself when the mode is plain; else what the decision has kept under the
    /// number, or is to keep.
    #[inline]
    pub fn get<'t>(&'t mut self, number: u32, epoch: u32, mode: TextMode, text: &'t str) -> &'t str {
        if mode.is_plain() {
            return text;
        }
        let number = number as usize;
        if number >= self.kept.len() {
            return self.passing(mode, text);
        }
        let kept = &mut self.kept[number];
        if kept.epoch != epoch {
            kept.epoch = epoch;
            kept.text.clear();
            mode.prepare_into(text, &mut kept.text);
        }
        &kept.text
    }

    /// A text under a mode, which lasts until the next one is prepared.
    #[inline]
    pub fn passing<'t>(&'t mut self, mode: TextMode, text: &'t str) -> &'t str {
        if mode.is_plain() {
            return text;
        }
        self.buffer.clear();
        mode.prepare_into(text, &mut self.buffer);
        &self.buffer
    }

    /// A text that [`PreparedTexts::get`] has kept under a number; the text itself under [`UNKEPT`].
    #[inline]
    pub fn kept<'t>(&'t self, number: u32, text: &'t str) -> &'t str {
        self.kept.get(number as usize).map_or(text, |kept| &kept.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_prepared_once_a_decision() {
        let fold = TextMode { fold: true, ..TextMode::PLAIN };
        let mut texts = PreparedTexts::default();
        texts.grow(1);
        assert_eq!(texts.get(0, 4, fold, "AB"), "ab");
        // Whoever asks again is given what was kept, whatever text they name.
        assert_eq!(texts.get(0, 4, fold, "CD"), "ab");
        assert_eq!((texts.kept(0, "x"), texts.kept(UNKEPT, "x")), ("ab", "x"));
        assert_eq!(texts.get(0, 8, fold, "CD"), "cd");
        assert_eq!(texts.get(UNKEPT, 8, fold, "EF"), "ef");
        assert_eq!(texts.get(0, 8, TextMode::PLAIN, "GH"), "GH");
        texts.forget();
        assert_eq!(texts.get(0, 8, fold, "IJ"), "ij");
    }
}
