//! Decides text predicates by the literals that a scan found. So the predicates need not search
//! the text again.

use super::{IndexLookup, SINGLE_FORM_FLAG, UNCHANGED_TEXT_FLAG};
use crate::index::LiteralVerdict;
use crate::index::index_terms::LAST_IN_GROUP_FLAG;
use rulec_lang::value::Tri;

impl IndexLookup<'_> {
    /// Returns the result of the text predicate number `pred` if the literals found in its text
    /// decide the result. `None` if they do not, or if the text was not scanned. If `is_limited` is
    /// false, the result is also `None` for a predicate whose search is limited.
    #[inline(always)]
    pub fn literal_result(&self, pred: usize, is_limited: bool) -> Option<Tri> {
        let verdict = self.index.literal_verdicts.get(pred)?;
        if verdict.is_search_unlimited == is_limited {
            return None;
        }
        let LiteralVerdict {
            subject_id: subject,
            ref literal_ids,
            are_literals_sufficient: exact,
            requires_unchanged_text: plain,
            ..
        } = *verdict;
        let scan_state = self.buffers.subject_epochs.get(subject as usize)?.get();
        if scan_state & !3 != self.epoch {
            return None;
        }
        let mut group_found = false;
        for number in self.index.deciding_literal_ids.list(literal_ids) {
            let literal = (number & !LAST_IN_GROUP_FLAG) as usize;
            group_found |=
                self.buffers.literal_epochs.get(literal).is_some_and(|stamp| stamp.get() == self.epoch);
            if number & LAST_IN_GROUP_FLAG != 0 && !std::mem::take(&mut group_found) {
                return Some(Tri::False);
            }
        }
        if !group_found {
            return Some(Tri::False);
        }
        let form_decides =
            scan_state & SINGLE_FORM_FLAG != 0 && (!plain || scan_state & UNCHANGED_TEXT_FLAG != 0);
        (exact && form_decides).then_some(Tri::True)
    }
}
