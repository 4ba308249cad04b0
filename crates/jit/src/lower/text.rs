//! Tests of a slot's text. Inline code compares texts for equality, with prefixes and with short
//! lists, several bytes at once. Other searches call a helper with the address of the compiled
//! keywords. If a text mode normalizes texts, a text is normalized as in the VM, once per decision.

use super::body::{AnyHelpers, Body, TestTargets};
use super::{JitError, malformed_error};
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
const MAX_INLINE_TEXT_BYTES: usize = 32;
/// Maximum number of list elements that are compared one by one.
const MAX_INLINE_ITEMS: usize = 8;

impl Body<'_, '_, '_> {
    /// Emits a test whether a slot equals a constant text.
    pub fn emit_text_test(&mut self, slot: u32, string: u32, targets: TestTargets) -> Result<(), JitError> {
        let strings = &self.lowering.code.chunk().strings;
        let text = strings.get(string as usize).ok_or_else(|| malformed_error("no text"))?;
        let on_text = self.emit_text_dispatch(slot, targets.unknown);
        let Some(on_text) = on_text else { return Ok(()) };
        self.switch_to(on_text);
        self.emit_text_equality(slot, text, targets);
        Ok(())
    }

    /// Emits a jump to a new block if the value of a slot is a text, else to `other`. Returns the
    /// new block; `None` if the slot never has a text.
    fn emit_text_dispatch(&mut self, slot: u32, other: Block) -> Option<Block> {
        let source = self.slot_source(SlotId(slot));
        let on_text = self.b.create_block();
        self.emit_tag_dispatch(source, &[(layout::STR_TAG, on_text)], other, other);
        source.tags().has(layout::STR_TAG).then_some(on_text)
    }

    fn emit_text_equality(&mut self, slot: u32, text: &Arc<str>, targets: TestTargets) {
        if text.len() > MAX_INLINE_TEXT_BYTES {
            let (text, place) = (self.address_const(text), self.slot_address(slot));
            let holds = self.emit_helper_call(offset_of!(AnyHelpers, same), &[text, place]);
            return self.emit_bool_branch(holds, targets);
        }
        self.emit_short_text_comparison(slot, false, &[text.as_bytes()], targets);
    }

    /// Emits a test whether a slot's text equals one of some short texts. With `begins`, emits a
    /// test whether the slot's text begins with one of them.
    fn emit_short_text_comparison(&mut self, slot: u32, begins: bool, words: &[&[u8]], targets: TestTargets) {
        let (at, length) = self.load_text(slot);
        for word in words {
            let (fits, next) = (self.b.create_block(), self.b.create_block());
            let cc = if begins { IntCC::UnsignedGreaterThanOrEqual } else { IntCC::Equal };
            let is_long = self.b.ins().icmp_imm(cc, length, word.len() as i64);
            self.b.ins().brif(is_long, fits, &[], next, &[]);
            self.switch_to(fits);
            match self.emit_byte_difference(at, word, false) {
                Some(difference) => self.b.ins().brif(difference, next, &[], targets.yes, &[]),
                None => self.b.ins().jump(targets.yes, &[]),
            };
            self.switch_to(next);
        }
        self.b.ins().jump(targets.no, &[]);
    }

    /// Emits a comparison of the bytes at an address with `word`. Returns a value that is zero if
    /// they are equal. With `fold`, letters match in either case, and `word` must be lower case.
    /// `None` if `word` is empty.
    pub fn emit_byte_difference(&mut self, at: Value, word: &[u8], fold: bool) -> Option<Value> {
        let mut sum = None;
        let mut done = 0;
        while done < word.len() {
            let left = word.len() - done;
            let width = match left {
                8.. => 8,
                4..=7 => 4,
                2..=3 => 2,
                _ => 1,
            };
            // The last piece may overlap the one before, to save a piece.
            let from = match word.len().checked_sub(load_width(left)) {
                Some(from) if left < 8 && load_width(left) > width => from,
                _ => done,
            };
            let width = if from < done { load_width(left) } else { width };
            let bytes = word.get(from..from + width)?;
            let number = pack_bytes(bytes.iter().copied());
            let flags = MemFlags::new().with_notrap();
            let here = match width {
                8 => self.b.ins().load(types::I64, flags, at, from as i32),
                4 => self.b.ins().uload32(flags, at, from as i32),
                2 => self.b.ins().uload16(types::I64, flags, at, from as i32),
                _ => self.b.ins().uload8(types::I64, flags, at, from as i32),
            };
            let here = if fold {
                let cases =
                    pack_bytes(bytes.iter().map(|byte| if byte.is_ascii_lowercase() { b' ' } else { 0 }));
                self.b.ins().bor_imm(here, cases as i64)
            } else {
                here
            };
            let here = self.b.ins().bxor_imm(here, number as i64);
            sum = Some(match sum {
                Some(sum) => self.b.ins().bor(sum, here),
                None => here,
            });
            done = from + width;
        }
        sum
    }

    /// Emits a comparison of the length of a slot's text in characters with a constant. For values
    /// other than texts, the VM evaluates the predicate.
    pub fn emit_length_comparison(
        &mut self,
        id: u32,
        slot: u32,
        cmp: Comparison,
        length: i64,
        targets: TestTargets,
    ) {
        let vm = self.b.create_block();
        let source = self.slot_source(SlotId(slot));
        let on_text = self.b.create_block();
        self.emit_tag_dispatch(source, &[(layout::STR_TAG, on_text)], targets.unknown, vm);
        if source.tags().has(layout::STR_TAG) {
            // A character has one to four bytes, so the number of bytes often decides.
            self.switch_to(on_text);
            let bytes = self.load_slot_field(types::I64, slot, layout::TEXT_LENGTH_OFFSET);
            let [long, count, fewer, more] = [(); 4].map(|()| self.b.create_block());
            let is_short = self.b.ins().icmp_imm(IntCC::SignedLessThan, bytes, length);
            self.b.ins().brif(is_short, fewer, &[], long, &[]);
            self.switch_to(long);
            // The multiplication may saturate, but only beyond any text's length.
            let sure = length.saturating_add(1).saturating_mul(4);
            let is_long = self.b.ins().icmp_imm(IntCC::SignedGreaterThanOrEqual, bytes, sure);
            self.b.ins().brif(is_long, more, &[], count, &[]);
            self.switch_to(count);
            self.b.ins().jump(vm, &[]);
            for (block, order) in [(fewer, std::cmp::Ordering::Less), (more, std::cmp::Ordering::Greater)] {
                self.switch_to(block);
                self.b.ins().jump(if cmp.holds(order) { targets.yes } else { targets.no }, &[]);
            }
        }
        self.switch_to(vm);
        self.emit_vm_test(id, targets);
    }

    /// Lowers a predicate on a slot whose value is usually a text. Returns false if there is no
    /// inline code for the predicate.
    pub fn lower_text_pred(
        &mut self,
        id: u32,
        pred: &Pred,
        slot: u32,
        targets: TestTargets,
    ) -> Result<bool, JitError> {
        let plain = pred.mode.text.is_plain();
        match pred.check {
            PredCheck::Equals(string) if plain => self.emit_text_test(slot, string, targets)?,
            PredCheck::Keywords(at) => {
                let keywords = self.lowering.code.chunk().keywords.get(at as usize);
                let keywords = keywords.ok_or_else(|| malformed_error("no keywords"))?;
                let matcher = self.lowering.code.pools().keywords.get(at as usize);
                let matcher = matcher.ok_or_else(|| malformed_error("no matcher"))?;
                if let Some(on_text) = self.emit_list_test(id, pred, slot, keywords, targets) {
                    self.switch_to(on_text);
                    if let Ok(most) = i64::try_from(matcher.most) {
                        // The VM decides for a text that may be too long to search within the
                        // limits.
                        let (within, much) = (self.b.create_block(), self.create_cold_block());
                        let length = self.load_slot_field(types::I64, slot, layout::TEXT_LENGTH_OFFSET);
                        let is_much = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, length, most);
                        self.b.ins().brif(is_much, much, &[], within, &[]);
                        self.switch_to(much);
                        self.emit_vm_test(id, targets);
                        self.switch_to(within);
                    }
                    self.emit_keyword_search(pred, slot, keywords.search, matcher, targets);
                }
            }
            PredCheck::Members(at) if plain => return self.lower_membership(id, slot, at, targets),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Emits a test whether a slot's value, if it is a list, contains a keyword. Returns a new
    /// block to which the code jumps if the value is a text. `None` if the slot never has a text.
    fn emit_list_test(
        &mut self,
        id: u32,
        pred: &Pred,
        slot: u32,
        keywords: &Keywords,
        targets: TestTargets,
    ) -> Option<Block> {
        let source = self.slot_source(SlotId(slot));
        let lists = [layout::JSON_LIST_TAG, layout::LIST_TAG];
        // `contains` also works on a list.
        let may_be_list = keywords.search.finds_elements() && lists.iter().any(|tag| source.tags().has(*tag));
        let other = if may_be_list { self.b.create_block() } else { targets.unknown };
        let on_text = self.b.create_block();
        self.emit_tag_dispatch(source, &[(layout::STR_TAG, on_text)], targets.unknown, other);
        if may_be_list {
            self.switch_to(other);
            match keywords.required_element(pred.mode) {
                Some(text) => {
                    let (text, place) = (self.address_const(text), self.slot_address(slot));
                    let answer = self.emit_helper_call(offset_of!(AnyHelpers, has), &[text, place]);
                    self.emit_tri_branch(answer, targets);
                }
                None => self.emit_vm_test(id, targets),
            }
        }
        source.tags().has(layout::STR_TAG).then_some(on_text)
    }

    /// Emits a search of a slot's text for the keywords of a text predicate.
    fn emit_keyword_search(
        &mut self,
        pred: &Pred,
        slot: u32,
        search: Search,
        matcher: &KeywordMatcher,
        targets: TestTargets,
    ) {
        let otherwise = self.create_cold_block();
        if self.emit_find(slot, matcher, pred.mode.text, otherwise, targets) {
            self.switch_to(otherwise);
        }
        if !pred.mode.text.is_plain() && search.prepares_texts() {
            let args = [self.address_const(pred), self.address_const(matcher), self.slot_address(slot)];
            let holds = self.emit_helper_call(offset_of!(AnyHelpers, prepared), &args);
            return self.emit_bool_branch(holds, targets);
        }
        let is_short = |words: &&[Box<str>]| {
            words.len() <= MAX_INLINE_ITEMS && words.iter().all(|word| word.len() <= MAX_INLINE_TEXT_BYTES)
        };
        if let Some(prefixes) = matcher.alternative_prefixes().filter(is_short) {
            let words: Vec<&[u8]> = prefixes.iter().map(|word| word.as_bytes()).collect();
            return self.emit_short_text_comparison(slot, true, &words, targets);
        }
        let (helper, searcher) = match matcher.single_text_finder() {
            Some(finder) => (offset_of!(AnyHelpers, find), self.address_const(finder)),
            None => (offset_of!(AnyHelpers, holds), self.address_const(matcher)),
        };
        let place = self.slot_address(slot);
        let holds = self.emit_helper_call(helper, &[searcher, place]);
        self.emit_bool_branch(holds, targets);
    }

    /// Lowers an `in` predicate with a constant list. Short texts and integers are compared inline.
    /// Returns false if there is no inline code for the predicate.
    fn lower_membership(
        &mut self,
        id: u32,
        slot: u32,
        at: u32,
        targets: TestTargets,
    ) -> Result<bool, JitError> {
        let code = self.lowering.code;
        let members = code.chunk().members.get(at as usize).ok_or_else(|| malformed_error("no list"))?;
        let set = code.pools().members.get(at as usize).ok_or_else(|| malformed_error("no set"))?;
        let list = code.chunk().consts.get(members.constant as usize);
        let list = list.ok_or_else(|| malformed_error("no list"))?.value();
        let elements = || list.elements().into_iter().flatten();
        let texts: Vec<&str> = elements().filter_map(Known::as_str).collect();
        let ints: Vec<i64> = elements()
            .filter_map(|element| match element {
                Known::Int(int) => Some(int),
                _ => None,
            })
            .collect();
        let floats = elements().any(|element| matches!(element, Known::Float(_)));

        let source = self.slot_source(SlotId(slot));
        let [on_text, on_int, vm] = [(); 3].map(|()| self.b.create_block());
        self.emit_tag_dispatch(
            source,
            &[(layout::STR_TAG, on_text), (layout::INT_TAG, on_int)],
            targets.unknown,
            vm,
        );
        if source.tags().has(layout::STR_TAG) {
            self.switch_to(on_text);
            if texts.len() <= MAX_INLINE_ITEMS && texts.iter().all(|text| text.len() <= MAX_INLINE_TEXT_BYTES)
            {
                let words: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
                self.emit_short_text_comparison(slot, false, &words, targets);
            } else {
                let (set, place) = (self.address_const(set), self.slot_address(slot));
                let holds = self.emit_helper_call(offset_of!(AnyHelpers, member), &[set, place]);
                self.emit_bool_branch(holds, targets);
            }
        }
        if source.tags().has(layout::INT_TAG) {
            self.switch_to(on_int);
            if ints.len() <= MAX_INLINE_ITEMS && !floats {
                let value = self.load_slot_field(types::I64, slot, layout::PAYLOAD_OFFSET);
                for int in ints {
                    let next = self.b.create_block();
                    let is = self.b.ins().icmp_imm(IntCC::Equal, value, int);
                    self.b.ins().brif(is, targets.yes, &[], next, &[]);
                    self.switch_to(next);
                }
                self.b.ins().jump(targets.no, &[]);
            } else {
                self.b.ins().jump(vm, &[]);
            }
        }
        self.switch_to(vm);
        self.emit_vm_test(id, targets);
        Ok(true)
    }
}

/// Packs up to eight bytes into a number, in the byte order of memory.
fn pack_bytes(bytes: impl DoubleEndedIterator<Item = u8>) -> u64 {
    let shift = |number: u64, byte: u8| number << 8 | u64::from(byte);
    if cfg!(target_endian = "big") { bytes.fold(0, shift) } else { bytes.rev().fold(0, shift) }
}

/// Returns the width in bytes of the load instruction that reads this number of bytes of a text.
fn load_width(bytes: usize) -> usize {
    bytes.min(8).next_power_of_two()
}
