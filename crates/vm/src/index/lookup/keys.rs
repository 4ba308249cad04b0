//! Lookup of the keys (facts that routes require) of a message: literals in texts, equivalence
//! classes of values, and elements of lists. Each text is scanned at most once per decision, and
//! the class of each value is determined at most once. A *subject* is a text that is scanned, an
//! *attribute* is a value whose class is determined. *Folded* means case-folded.

use super::{IndexEngine, IndexLookup, SINGLE_FORM_FLAG, UNCHANGED_TEXT_FLAG};
use crate::bytecode::chunk::Operand;
use crate::index::attribute::OTHER_KINDS_CLASS;
use crate::index::scan::ScanBuffers;
use crate::index::{AttributeIndex, ScannedTextIndex, TableIndex, TextForm};
use rulec_base::broken_invariant;
use rulec_lang::operators::Anchor;
use rulec_lang::value::Value;
use std::cell::Cell;

impl<'a> IndexLookup<'a> {
    /// Looks up the keys of a table: facts by which routes are found. Returns the ids of all keys
    /// of the message that this decision found so far, including keys of other tables. The list is
    /// moved out of the field `found_key_ids` of the buffers. The caller must put it back, so that
    /// later lookups of this decision can continue it.
    pub(super) fn look_up_keys<E: IndexEngine<'a>>(&self, engine: &mut E, table: &TableIndex) -> Vec<u32> {
        let mut hits = self.buffers.found_key_ids.take();
        if self.buffers.found_keys_epoch.replace(self.epoch) != self.epoch {
            hits.clear();
        }
        table.subject_ids.iter().for_each(|subject| self.scan_subject_once(engine, *subject, &mut hits));
        table
            .attribute_ids
            .iter()
            .for_each(|attribute| self.look_up_attribute_once(engine, *attribute, &mut hits));
        if let (Some((subjects, attributes)), Some(fields)) = (&table.lookups_by_slot, &self.index.fields) {
            let mut present = self.buffers.present_slot_ids.take();
            present.clear();
            engine.read_present_slots(fields, &mut present);
            for slot in &present {
                subjects
                    .list(*slot)
                    .iter()
                    .for_each(|subject| self.scan_subject_once(engine, *subject, &mut hits));
                let attributes = attributes.list(*slot).iter();
                attributes.for_each(|attribute| self.look_up_attribute_once(engine, *attribute, &mut hits));
            }
            self.buffers.present_slot_ids.replace(present);
        }
        hits
    }

    #[inline(always)]
    fn scan_subject_once<E: IndexEngine<'a>>(&self, engine: &mut E, subject: u32, found_keys: &mut Vec<u32>) {
        if self
            .buffers
            .subject_epochs
            .get(subject as usize)
            .is_some_and(|stamp| stamp.get() & !3 != self.epoch)
        {
            self.scan_subject(engine, subject, found_keys);
        }
    }

    #[inline(always)]
    fn look_up_attribute_once<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        attribute_id: u32,
        found_keys: &mut Vec<u32>,
    ) {
        if let Some(stamp) = self.buffers.attribute_epochs.get(attribute_id as usize)
            && stamp.replace(self.epoch) != self.epoch
            && let Some(attribute) = self.index.attributes.get(attribute_id as usize)
            && (attribute.element_ids.is_empty() || !self.look_up_elements(engine, attribute, found_keys))
            && !attribute.keys_by_class.is_empty()
        {
            let class = self.attribute_class(engine, attribute_id);
            attribute.keys_by_class.list(class).iter().for_each(|key| self.record_key(*key, found_keys));
        }
    }

    /// Records that the message has a key (a fact by which routes are found), and appends the key
    /// to `found_keys` unless it was recorded before.
    #[inline]
    fn record_key(&self, key: u32, found_keys: &mut Vec<u32>) {
        if let Some(stamp) = self.buffers.key_epochs.get(key as usize)
            && stamp.replace(self.epoch) != self.epoch
        {
            found_keys.push(key);
        }
    }

    /// Scans subject number `subject_id` (a text of the message) for literals, and appends the keys
    /// that the found literals provide to `found_keys`.
    fn scan_subject<E: IndexEngine<'a>>(&self, engine: &mut E, subject_id: u32, found_keys: &mut Vec<u32>) {
        let Some(subject) = self.index.subjects.get(subject_id as usize) else {
            return broken_invariant!("a subject to scan is in the index");
        };
        let Value::Str(text) = engine.operand_value(subject.operand) else { return };
        let Ok(mut buffers) = self.buffers.scan_buffers.try_borrow_mut() else {
            return broken_invariant!("a scan begins no other scan");
        };
        let flags = match &subject.forms[..] {
            [form] if subject.folds_in_place && buffers.fold_text(text.as_bytes()) => {
                self.search_folded(subject, text.len(), &mut buffers, found_keys);
                let folded_text = buffers.folded_text(text.len());
                self.record_class_of_text(subject.attribute_id, folded_text);
                let is_unchanged = subject.is_message_text(form, folded_text, text);
                SINGLE_FORM_FLAG | if is_unchanged { UNCHANGED_TEXT_FLAG } else { 0 }
            }
            [form] => {
                let prepared = engine
                    .prepared_texts()
                    .get_or_prepare(form.cache_id, self.epoch, form.mode, text)
                    .as_bytes();
                self.search_text(subject, prepared, &mut buffers, found_keys);
                SINGLE_FORM_FLAG
                    | if subject.is_message_text(form, prepared, text) { UNCHANGED_TEXT_FLAG } else { 0 }
            }
            forms => {
                let mut search =
                    |form: &str| self.search_text(subject, form.as_bytes(), &mut buffers, found_keys);
                self.scan_forms(engine, subject, forms, text, &mut search)
            }
        };
        if let Some(stamp) = self.buffers.subject_epochs.get(subject_id as usize) {
            stamp.set(self.epoch | flags);
        }
    }

    /// Calls `search` with the text in each of the normalized `forms`. Leaves out a form that gives
    /// the same text as the first form. Returns the flags that apply to the scan:
    /// `UNCHANGED_TEXT_FLAG` and `SINGLE_FORM_FLAG`.
    #[inline(never)]
    fn scan_forms<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        subject: &ScannedTextIndex,
        forms: &[TextForm],
        text: &'a str,
        search: &mut dyn FnMut(&str),
    ) -> u32 {
        let mut scanned: Option<&TextForm> = None;
        let mut flags = SINGLE_FORM_FLAG;
        for form in forms {
            let texts = engine.prepared_texts();
            texts.get_or_prepare(form.cache_id, self.epoch, form.mode, text);
            let prepared = texts.get_stored(form.cache_id, text);
            if subject.is_message_text(form, prepared.as_bytes(), text) {
                flags |= UNCHANGED_TEXT_FLAG;
            }
            match scanned {
                Some(first) if texts.get_stored(first.cache_id, text) == prepared => continue,
                Some(_) => flags &= !SINGLE_FORM_FLAG,
                None => scanned = Some(form),
            }
            search(prepared);
        }
        flags
    }

    /// Records the equivalence class of attribute number `attribute`, whose value is the
    /// case-folded text `folded`. The scan has folded the text anyway, so the attribute need not
    /// fold it again.
    #[inline(always)]
    fn record_class_of_text(&self, attribute: u32, folded: &[u8]) {
        if let Some(cell) = self.buffers.attribute_classes.get(attribute as usize)
            && let Some(attribute) = self.index.attributes.get(attribute as usize)
        {
            cell.set((self.epoch, attribute.classes.class_of_text(folded)));
        }
    }

    /// Searches `text`, a normalized form of the subject's text, for the literals of the subject.
    /// Appends the keys that the found literals provide to `found_keys`.
    #[inline(never)]
    fn search_text(
        &self,
        subject: &ScannedTextIndex,
        text: &[u8],
        buffers: &mut ScanBuffers,
        found_keys: &mut Vec<u32>,
    ) {
        self.search_edges(subject, text, found_keys);
        subject.scanner.scan(text, buffers, |literal, _| {
            self.record_literal(subject.first_literal_id + literal, found_keys)
        });
    }

    /// Searches the folded text in `buffers`, which has `text_len` bytes, for the literals of the
    /// subject. Appends the keys that the found literals provide to `found_keys`.
    #[inline(always)]
    fn search_folded(
        &self,
        subject: &ScannedTextIndex,
        text_len: usize,
        buffers: &mut ScanBuffers,
        found_keys: &mut Vec<u32>,
    ) {
        self.search_edges(subject, buffers.folded_text(text_len), found_keys);
        let record = |literal, _| self.record_literal(subject.first_literal_id + literal, found_keys);
        subject.scanner.scan_folded(text_len, buffers, record);
    }

    #[inline(always)]
    fn search_edges(&self, subject: &ScannedTextIndex, text: &[u8], found_keys: &mut Vec<u32>) {
        if let Some(literals) = &subject.start_literals {
            literals
                .find_at_edge(text, Anchor::Start, &mut |literal| self.record_literal(literal, found_keys));
        }
        if let Some(literals) = &subject.end_literals {
            literals.find_at_edge(text, Anchor::End, &mut |literal| self.record_literal(literal, found_keys));
        }
    }

    /// Records that a literal was found, and appends the keys (facts by which routes are found)
    /// that it provides to `found_keys`.
    #[inline(always)]
    fn record_literal(&self, literal: u32, found_keys: &mut Vec<u32>) {
        if let Some(stamp) = self.buffers.literal_epochs.get(literal as usize)
            && stamp.replace(self.epoch) != self.epoch
        {
            self.index.literal_keys.list(literal).iter().for_each(|key| self.record_key(*key, found_keys));
        }
    }

    /// Looks up the elements of an attribute's value. Appends the keys that the elements provide to
    /// `found_keys`, unless the keys were recorded before. Returns false if the value is no list.
    #[inline(never)]
    fn look_up_elements<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        attribute: &AttributeIndex,
        found_keys: &mut Vec<u32>,
    ) -> bool {
        let Some(elements) = engine.operand_value(attribute.operand).elements() else { return false };
        let AttributeIndex { element_ids, element_keys, form, .. } = attribute;
        let is_plain = form.is_plain();
        // A loop without a closure, because a closure would be called separately for each kind of
        // list.
        for element in elements {
            match element {
                Value::Str(text) => {
                    let text = match is_plain {
                        true => text,
                        false => engine.prepared_texts().prepare_transient(form.mode, text),
                    };
                    if let Some(text_id) = element_ids.get(text.as_bytes()) {
                        let keys = element_keys.list(text_id).iter();
                        keys.for_each(|key| self.record_key(*key, found_keys));
                    }
                }
                // A time or decimal equals texts in many notations, so the message may have any of
                // the keys.
                Value::DateTime(_) | Value::Decimal(_) => {
                    element_keys.all_items().for_each(|key| self.record_key(*key, found_keys));
                }
                _ => {}
            }
        }
        true
    }

    /// Returns the equivalence class of the value of attribute number `attribute_id`. The class is
    /// determined once per decision and then cached.
    #[inline]
    pub(super) fn attribute_class<E: IndexEngine<'a>>(&self, engine: &mut E, attribute_id: u32) -> u32 {
        let cell = self.buffers.attribute_classes.get(attribute_id as usize);
        match cell.map(Cell::get) {
            Some((stamp, class)) if stamp == self.epoch => class,
            _ => {
                let class = self.find_attribute_class(engine, attribute_id);
                if let Some(cell) = cell {
                    cell.set((self.epoch, class));
                }
                class
            }
        }
    }

    #[inline(never)]
    fn find_attribute_class<E: IndexEngine<'a>>(&self, engine: &mut E, attribute_id: u32) -> u32 {
        let Some(attribute) = self.index.attributes.get(attribute_id as usize) else {
            broken_invariant!("an attribute to classify is in the index");
            return OTHER_KINDS_CLASS;
        };
        match attribute.operand {
            Operand::Slot(slot) if attribute.form.is_plain() => {
                attribute.classes.class_of(engine.slot_ref(slot))
            }
            _ => self.class_of_prepared_value(engine, attribute),
        }
    }

    #[inline(never)]
    fn class_of_prepared_value<E: IndexEngine<'a>>(&self, engine: &mut E, attribute: &AttributeIndex) -> u32 {
        let TextForm { mode, cache_id: kept } = attribute.form;
        match engine.operand_value(attribute.operand) {
            Value::Str(text) => attribute
                .classes
                .class_of(&Value::Str(engine.prepared_texts().get_or_prepare(kept, self.epoch, mode, text))),
            other => attribute.classes.class_of(&other),
        }
    }
}
