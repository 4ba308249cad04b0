//! Translates predicates on the text of a slot (a message field). Inline code tests whether a text
//! equals, or begins with, one of a few constant texts; it compares several bytes at once. Inline
//! code also searches a text for keywords, see `find`. Other searches call a helper with the
//! address of the compiled keywords. If a predicate normalizes texts, a helper normalizes the
//! slot's text with the VM's function. The normalized text is stored for the other predicates of
//! the decision.

use super::body::{AnyHelpers, FunctionBody, PredTargets};
use super::{JitError, malformed_bytecode_error};
use crate::code::layout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value, types};
use rulec_lang::operators::Search;
use rulec_lang::value::Value as Known;
use rulec_sema::hir::SlotId;
use rulec_vm::bytecode::chunk::{Keywords, Pred, PredCheck};
use rulec_vm::bytecode::instr::Comparison;
use rulec_vm::bytecode::pools::KeywordMatcher;
use std::mem::offset_of;
use std::sync::Arc;

/// Maximum length in bytes of texts that are compared inline.
/// Compared with other values in benches/notes/constants.md.
const MAX_INLINE_TEXT_BYTES: usize = 32;
/// Maximum number of texts or integers that inline code compares one by one, such as the elements
/// of an `in` list. For longer lists, the code calls a Rust function that looks the value up in a
/// set.
/// Compared with other values in benches/notes/constants.md.
const MAX_INLINE_ITEMS: usize = 8;

impl FunctionBody<'_, '_, '_> {
    /// Emits a test whether a slot (message field) equals a constant text. `string` is the index of
    /// the text among the texts of the bytecode.
    pub fn emit_text_test(&mut self, slot: u32, string: u32, targets: PredTargets) -> Result<(), JitError> {
        let strings = &self.lowering.bytecode.chunk().strings;
        let text = strings.get(string as usize).ok_or_else(|| malformed_bytecode_error("no text"))?;
        let text_block = self.emit_text_dispatch(slot, targets.unknown);
        let Some(text_block) = text_block else { return Ok(()) };
        self.switch_to(text_block);
        self.emit_text_equality(slot, text, targets);
        Ok(())
    }

    /// Emits a jump to a new block if the value of a slot (message field) is a text, else to
    /// `other`. Returns the new block; `None` if the slot never has a text.
    fn emit_text_dispatch(&mut self, slot: u32, other: Block) -> Option<Block> {
        let source = self.slot_source(SlotId(slot));
        let text_block = self.builder.create_block();
        self.emit_tag_dispatch(source, &[(layout::STR_TAG, text_block)], other, other);
        source.tags().has(layout::STR_TAG).then_some(text_block)
    }

    fn emit_text_equality(&mut self, slot: u32, text: &Arc<str>, targets: PredTargets) {
        if text.len() > MAX_INLINE_TEXT_BYTES {
            let (text, cell_address) = (self.address_const(text), self.slot_address(slot));
            let is_true = self.emit_helper_call(offset_of!(AnyHelpers, equals_text), &[text, cell_address]);
            return self.emit_bool_branch(is_true, targets);
        }
        self.emit_short_text_comparison(slot, false, &[text.as_bytes()], targets);
    }

    /// Emits a test whether a message field's text equals one of the short texts `words`. If
    /// `is_prefix`, the test is whether the field's text begins with one of them.
    fn emit_short_text_comparison(
        &mut self,
        slot: u32,
        is_prefix: bool,
        words: &[&[u8]],
        targets: PredTargets,
    ) {
        let (address, length) = self.load_text_slice(slot);
        for word in words {
            let (compare_block, next) = (self.builder.create_block(), self.builder.create_block());
            let cc = if is_prefix { IntCC::UnsignedGreaterThanOrEqual } else { IntCC::Equal };
            let has_length = self.builder.ins().icmp_imm(cc, length, word.len() as i64);
            self.builder.ins().brif(has_length, compare_block, &[], next, &[]);
            self.switch_to(compare_block);
            match self.emit_byte_difference(address, word, false) {
                Some(difference) => self.builder.ins().brif(difference, next, &[], targets.yes, &[]),
                None => self.builder.ins().jump(targets.yes, &[]),
            };
            self.switch_to(next);
        }
        self.builder.ins().jump(targets.no, &[]);
    }

    /// Emits a comparison of the bytes at an address with `word`. Returns a number that is zero if
    /// they are equal. With `fold`, letters match in either case, and `word` must be lower case.
    /// Returns `None`, and emits nothing, if `word` is empty.
    pub fn emit_byte_difference(&mut self, address: Value, word: &[u8], fold: bool) -> Option<Value> {
        let mut combined = None;
        let mut compared = 0;
        while compared < word.len() {
            let remaining = word.len() - compared;
            let width = match remaining {
                8.. => 8,
                4..=7 => 4,
                2..=3 => 2,
                _ => 1,
            };
            // The last piece may overlap the previous piece, so that fewer loads suffice.
            let offset = match word.len().checked_sub(load_width(remaining)) {
                Some(offset) if remaining < 8 && load_width(remaining) > width => offset,
                _ => compared,
            };
            let width = if offset < compared { load_width(remaining) } else { width };
            let bytes = word.get(offset..offset + width)?;
            let number = pack_bytes(bytes.iter().copied());
            let flags = MemFlags::new().with_notrap();
            let loaded = match width {
                8 => self.builder.ins().load(types::I64, flags, address, offset as i32),
                4 => self.builder.ins().uload32(flags, address, offset as i32),
                2 => self.builder.ins().uload16(types::I64, flags, address, offset as i32),
                _ => self.builder.ins().uload8(types::I64, flags, address, offset as i32),
            };
            let loaded = if fold {
                let cases =
                    pack_bytes(bytes.iter().map(|byte| if byte.is_ascii_lowercase() { b' ' } else { 0 }));
                self.builder.ins().bor_imm(loaded, cases as i64)
            } else {
                loaded
            };
            let loaded = self.builder.ins().bxor_imm(loaded, number as i64);
            combined = Some(match combined {
                Some(combined) => self.builder.ins().bor(combined, loaded),
                None => loaded,
            });
            compared = offset + width;
        }
        combined
    }

    /// Emits a comparison of the length of a slot's text, in characters, with the constant
    /// `length`. Inline code gives the result if it follows from the number of bytes. Otherwise,
    /// and for values of other types, the VM evaluates the predicate with the index `id`. The
    /// result is unknown if the value is missing.
    pub fn emit_length_comparison(
        &mut self,
        id: u32,
        slot: u32,
        cmp: Comparison,
        length: i64,
        targets: PredTargets,
    ) {
        let vm_block = self.builder.create_block();
        let source = self.slot_source(SlotId(slot));
        let text_block = self.builder.create_block();
        self.emit_tag_dispatch(source, &[(layout::STR_TAG, text_block)], targets.unknown, vm_block);
        if source.tags().has(layout::STR_TAG) {
            // A character has one to four bytes, so the number of bytes often decides.
            self.switch_to(text_block);
            let bytes = self.load_slot_field(types::I64, slot, layout::TEXT_LENGTH_OFFSET);
            let [long, count, fewer, more] = [(); 4].map(|()| self.builder.create_block());
            let is_short = self.builder.ins().icmp_imm(IntCC::SignedLessThan, bytes, length);
            self.builder.ins().brif(is_short, fewer, &[], long, &[]);
            self.switch_to(long);
            // The multiplication may saturate, but only beyond any text's length.
            let min_long_bytes = length.saturating_add(1).saturating_mul(4);
            let is_long = self.builder.ins().icmp_imm(IntCC::SignedGreaterThanOrEqual, bytes, min_long_bytes);
            self.builder.ins().brif(is_long, more, &[], count, &[]);
            self.switch_to(count);
            self.builder.ins().jump(vm_block, &[]);
            for (block, order) in [(fewer, std::cmp::Ordering::Less), (more, std::cmp::Ordering::Greater)] {
                self.switch_to(block);
                self.builder
                    .ins()
                    .jump(if cmp.is_satisfied_by(order) { targets.yes } else { targets.no }, &[]);
            }
        }
        self.switch_to(vm_block);
        self.emit_vm_test(id, targets);
    }

    /// Lowers the predicate `pred`, with the index `id`, if it compares or searches texts. The
    /// predicate tests the value of a slot. Returns false if there is no inline code for the
    /// predicate.
    pub fn lower_text_pred(
        &mut self,
        id: u32,
        pred: &Pred,
        slot: u32,
        targets: PredTargets,
    ) -> Result<bool, JitError> {
        let is_plain = pred.mode.text.is_plain();
        match pred.check {
            PredCheck::Equals(string) if is_plain => self.emit_text_test(slot, string, targets)?,
            PredCheck::Keywords(index) => {
                let keywords = self.lowering.bytecode.chunk().keywords.get(index as usize);
                let keywords = keywords.ok_or_else(|| malformed_bytecode_error("no keywords"))?;
                let matcher = self.lowering.bytecode.pools().keywords.get(index as usize);
                let matcher = matcher.ok_or_else(|| malformed_bytecode_error("no matcher"))?;
                if let Some(text_block) = self.emit_list_test(id, pred, slot, keywords, targets) {
                    self.switch_to(text_block);
                    if let Ok(max_length) = i64::try_from(matcher.max_text_bytes) {
                        // The VM decides for a text that may be too long to search within the
                        // limits.
                        let (within_block, too_long_block) =
                            (self.builder.create_block(), self.create_cold_block());
                        let length = self.load_slot_field(types::I64, slot, layout::TEXT_LENGTH_OFFSET);
                        let is_too_long =
                            self.builder.ins().icmp_imm(IntCC::UnsignedGreaterThan, length, max_length);
                        self.builder.ins().brif(is_too_long, too_long_block, &[], within_block, &[]);
                        self.switch_to(too_long_block);
                        self.emit_vm_test(id, targets);
                        self.switch_to(within_block);
                    }
                    self.emit_keyword_search(pred, slot, keywords.search, matcher, targets);
                }
            }
            PredCheck::Members(index) if is_plain => return self.lower_membership(id, slot, index, targets),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Emits jumps that depend on the type of a slot's value, for a predicate that searches a text.
    /// Returns the Cranelift block for texts, in which the caller emits the search; `None` if the
    /// slot never has a text. For a list, the emitted code tests whether a keyword is one of the
    /// elements.
    fn emit_list_test(
        &mut self,
        id: u32,
        pred: &Pred,
        slot: u32,
        keywords: &Keywords,
        targets: PredTargets,
    ) -> Option<Block> {
        let source = self.slot_source(SlotId(slot));
        let lists = [layout::JSON_LIST_TAG, layout::LIST_TAG];
        // `contains` also works on a list.
        let may_be_list = keywords.search.finds_elements() && lists.iter().any(|tag| source.tags().has(*tag));
        let other_block = if may_be_list { self.builder.create_block() } else { targets.unknown };
        let text_block = self.builder.create_block();
        self.emit_tag_dispatch(source, &[(layout::STR_TAG, text_block)], targets.unknown, other_block);
        if may_be_list {
            self.switch_to(other_block);
            match keywords.required_element(pred.mode) {
                Some(text) => {
                    let (text, cell_address) = (self.address_const(text), self.slot_address(slot));
                    let result =
                        self.emit_helper_call(offset_of!(AnyHelpers, is_text_in_list), &[text, cell_address]);
                    self.emit_tri_branch(result, targets);
                }
                None => self.emit_vm_test(id, targets),
            }
        }
        source.tags().has(layout::STR_TAG).then_some(text_block)
    }

    /// Emits a search of a message field's text for the keywords of a text predicate.
    fn emit_keyword_search(
        &mut self,
        pred: &Pred,
        slot: u32,
        search: Search,
        matcher: &KeywordMatcher,
        targets: PredTargets,
    ) {
        let helper_block = self.create_cold_block();
        if self.emit_inline_search(slot, matcher, pred.mode.text, helper_block, targets) {
            self.switch_to(helper_block);
        }
        if !pred.mode.text.is_plain() && search.prepares_texts() {
            let args = [self.address_const(pred), self.address_const(matcher), self.slot_address(slot)];
            let is_true = self.emit_helper_call(offset_of!(AnyHelpers, matches_prepared_text), &args);
            return self.emit_bool_branch(is_true, targets);
        }
        let is_short = |words: &&[Box<str>]| {
            words.len() <= MAX_INLINE_ITEMS && words.iter().all(|word| word.len() <= MAX_INLINE_TEXT_BYTES)
        };
        if let Some(prefixes) = matcher.alternative_prefixes().filter(is_short) {
            let words: Vec<&[u8]> = prefixes.iter().map(|word| word.as_bytes()).collect();
            return self.emit_short_text_comparison(slot, true, &words, targets);
        }
        let (helper, searcher) = match matcher.single_text_finder() {
            Some(finder) => (offset_of!(AnyHelpers, finds_keyword), self.address_const(finder)),
            None => (offset_of!(AnyHelpers, matches_text), self.address_const(matcher)),
        };
        let cell_address = self.slot_address(slot);
        let is_true = self.emit_helper_call(helper, &[searcher, cell_address]);
        self.emit_bool_branch(is_true, targets);
    }

    /// Lowers an `in` predicate with a constant list. `id` is the index of the predicate, and
    /// `index` is the index of the list among the lists of the bytecode. Short texts and integers
    /// are compared inline. Returns false if there is no inline code for the predicate.
    fn lower_membership(
        &mut self,
        id: u32,
        slot: u32,
        index: u32,
        targets: PredTargets,
    ) -> Result<bool, JitError> {
        let code = self.lowering.bytecode;
        let members = code
            .chunk()
            .member_lists
            .get(index as usize)
            .ok_or_else(|| malformed_bytecode_error("no list"))?;
        let set =
            code.pools().members.get(index as usize).ok_or_else(|| malformed_bytecode_error("no set"))?;
        let list = code.chunk().consts.get(members.constant_index as usize);
        let list = list.ok_or_else(|| malformed_bytecode_error("no list"))?.value();
        let elements = || list.elements().into_iter().flatten();
        let texts: Vec<&str> = elements().filter_map(Known::as_str).collect();
        let ints: Vec<i64> = elements()
            .filter_map(|element| match element {
                Known::Int(int) => Some(int),
                _ => None,
            })
            .collect();
        let has_floats = elements().any(|element| matches!(element, Known::Float(_)));

        let source = self.slot_source(SlotId(slot));
        let [text_block, int_block, vm_block] = [(); 3].map(|()| self.builder.create_block());
        self.emit_tag_dispatch(
            source,
            &[(layout::STR_TAG, text_block), (layout::INT_TAG, int_block)],
            targets.unknown,
            vm_block,
        );
        if source.tags().has(layout::STR_TAG) {
            self.switch_to(text_block);
            if texts.len() <= MAX_INLINE_ITEMS && texts.iter().all(|text| text.len() <= MAX_INLINE_TEXT_BYTES)
            {
                let words: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
                self.emit_short_text_comparison(slot, false, &words, targets);
            } else {
                let (set, cell_address) = (self.address_const(set), self.slot_address(slot));
                let is_true =
                    self.emit_helper_call(offset_of!(AnyHelpers, is_text_in_set), &[set, cell_address]);
                self.emit_bool_branch(is_true, targets);
            }
        }
        if source.tags().has(layout::INT_TAG) {
            self.switch_to(int_block);
            if ints.len() <= MAX_INLINE_ITEMS && !has_floats {
                let value = self.load_slot_field(types::I64, slot, layout::PAYLOAD_OFFSET);
                for int in ints {
                    let next = self.builder.create_block();
                    let is_equal = self.builder.ins().icmp_imm(IntCC::Equal, value, int);
                    self.builder.ins().brif(is_equal, targets.yes, &[], next, &[]);
                    self.switch_to(next);
                }
                self.builder.ins().jump(targets.no, &[]);
            } else {
                self.builder.ins().jump(vm_block, &[]);
            }
        }
        self.switch_to(vm_block);
        self.emit_vm_test(id, targets);
        Ok(true)
    }
}

/// Packs up to eight bytes into a number: the number that one load instruction would read if these
/// bytes were in memory.
fn pack_bytes(bytes: impl DoubleEndedIterator<Item = u8>) -> u64 {
    let shift = |number: u64, byte: u8| number << 8 | u64::from(byte);
    if cfg!(target_endian = "big") { bytes.fold(0, shift) } else { bytes.rev().fold(0, shift) }
}

/// Returns the width in bytes of the smallest load instruction that reads `bytes` bytes of a text;
/// at most eight.
fn load_width(bytes: usize) -> usize {
    bytes.min(8).next_power_of_two()
}
