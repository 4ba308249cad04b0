//! The texts of a message, normalized and case-folded in the modes that rules use ([`TextMode`]).
//! Each text is prepared at most once per decision. The index scan, index lookups and predicates
//! share the result.

use super::TextMode;

/// The slot number for a text whose normalized form is not kept for later use in the decision.
/// [`PreparedTexts`] has one slot for each message field in each mode that needs it.
pub const UNCACHED_SLOT: u32 = u32::MAX;

/// The normalized and case-folded texts of the current decision, so that each is prepared only
/// once. The next decision reuses their memory.
#[derive(Debug, Default)]
pub struct PreparedTexts {
    slots: Vec<PreparedText>,
    buffer: String,
}

/// A normalized and case-folded text, and the number (epoch) of the decision for which the text was
/// prepared.
#[derive(Debug, Default)]
struct PreparedText {
    epoch: u32,
    text: String,
}

impl PreparedTexts {
    #[inline]
    pub fn ensure_slot_count(&mut self, count: usize) {
        if self.slots.len() < count {
            self.slots.resize_with(count, PreparedText::default);
        }
    }

    pub fn invalidate_all(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.epoch = 0);
    }

    /// Returns `text`, normalized and case-folded by `mode`; the plain mode returns `text` itself.
    /// `slot_number` is the number of the slot for this message field in this mode. The result
    /// stays in the slot until the next decision (another `epoch`), and later calls with this
    /// number return it. With [`UNCACHED_SLOT`], nothing is stored.
    #[inline]
    pub fn get_or_prepare<'t>(
        &'t mut self,
        slot_number: u32,
        epoch: u32,
        mode: TextMode,
        text: &'t str,
    ) -> &'t str {
        if mode.is_plain() {
            return text;
        }
        let slot_index = slot_number as usize;
        if slot_index >= self.slots.len() {
            return self.prepare_transient(mode, text);
        }
        let slot = &mut self.slots[slot_index];
        if slot.epoch != epoch {
            slot.epoch = epoch;
            slot.text.clear();
            mode.prepare_into(text, &mut slot.text);
        }
        &slot.text
    }

    /// Returns `text`, normalized and case-folded by `mode`. The result is not stored for later
    /// calls; the memory of the result is reused for the next text.
    #[inline]
    pub fn prepare_transient<'t>(&'t mut self, mode: TextMode, text: &'t str) -> &'t str {
        if mode.is_plain() {
            return text;
        }
        self.buffer.clear();
        mode.prepare_into(text, &mut self.buffer);
        &self.buffer
    }

    /// Returns the normalized and case-folded text that [`PreparedTexts::get_or_prepare`] stored
    /// for a slot number. Returns `text` itself for [`UNCACHED_SLOT`], for which no text is stored.
    #[inline]
    pub fn get_stored<'t>(&'t self, slot_number: u32, text: &'t str) -> &'t str {
        self.slots.get(slot_number as usize).map_or(text, |slot| &slot.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_prepared_once_a_decision() {
        let fold = TextMode { folds_case: true, ..TextMode::PLAIN };
        let mut texts = PreparedTexts::default();
        texts.ensure_slot_count(1);
        assert_eq!(texts.get_or_prepare(0, 4, fold, "AB"), "ab");
        // A second call for the slot returns the stored text. It ignores the text that the call
        // passes.
        assert_eq!(texts.get_or_prepare(0, 4, fold, "CD"), "ab");
        assert_eq!((texts.get_stored(0, "x"), texts.get_stored(UNCACHED_SLOT, "x")), ("ab", "x"));
        assert_eq!(texts.get_or_prepare(0, 8, fold, "CD"), "cd");
        assert_eq!(texts.get_or_prepare(UNCACHED_SLOT, 8, fold, "EF"), "ef");
        assert_eq!(texts.get_or_prepare(0, 8, TextMode::PLAIN, "GH"), "GH");
        texts.invalidate_all();
        assert_eq!(texts.get_or_prepare(0, 8, fold, "IJ"), "ij");
    }
}
