//! Generates inline code that searches a slot's text for keywords. The code compares thirty-two
//! positions of the text at once with two bytes of the keyword that are rare in texts. Where both
//! bytes match, it compares the whole keyword. For a text of some hundred bytes, this is faster
//! than calling a search function.
//!
//! The inline code folds only ASCII letters, which suffices for most keywords. The letters `k` and
//! `s` also equal characters beyond ASCII when case is ignored. If a keyword has these letters and
//! is not found in a text that is not pure ASCII, a helper searches the text again.

use super::body::{FunctionBody, PredTargets};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlags, Value, types};
use memchr::arch::all::packedpair::Pair;
use rulec_base::text::TextMode;
use rulec_base::text::fold::{CaseEquivalents, case_equivalents};
use rulec_vm::bytecode::pools::KeywordMatcher;

/// Number of bytes in one vector. The search compares two vectors, thirty-two positions, at once.
/// Not tuned: Cranelift has no wider vectors.
const VECTOR_BYTES: usize = 16;
/// Maximum length in bytes of a keyword for which compiled code searches a text itself.
/// Compared with other values in benches/notes/constants.md.
const MAX_KEYWORD_BYTES: usize = 32;
/// Maximum number of keywords for which compiled code searches a text itself. For more keywords, it
/// calls a function of the VM.
/// Compared with other values in benches/notes/constants.md.
const MAX_KEYWORDS: usize = 8;
/// The bit in which the two cases of an ASCII letter differ.
const ASCII_CASE_BIT: u8 = 0x20;

/// A keyword for which inline code can search.
pub(super) struct Needle<'w> {
    bytes: &'w [u8],
    /// Whether the search treats upper and lower case as equal.
    folds_case: bool,
    /// Whether an ASCII letter of the keyword equals a non-ASCII character when case is ignored.
    /// For example, `k` equals the Kelvin sign. The inline search then misses such occurrences. So
    /// if it finds nothing in a text that is not ASCII, a helper searches the text again.
    equals_non_ascii: bool,
    /// Offsets of two bytes of the keyword that are rare in texts, in ascending order.
    rare_offsets: [usize; 2],
}

impl<'w> Needle<'w> {
    /// Prepares the search for a keyword that is already normalized for `mode`. `None` if inline
    /// code cannot search for the keyword; the compiled code then calls a helper.
    fn from_word(word: &'w [u8], mode: TextMode) -> Option<Needle<'w>> {
        // Tested on x86-64 only; other processors may lack the vector instructions.
        if !cfg!(target_arch = "x86_64") || !mode.maps_single_chars() || word.len() > MAX_KEYWORD_BYTES {
            return None;
        }
        let mut equals_non_ascii = false;
        if mode.folds_case {
            for c in std::str::from_utf8(word).ok()?.chars() {
                match case_equivalents(c) {
                    CaseEquivalents::Itself | CaseEquivalents::AsciiCases => {}
                    CaseEquivalents::More if c.is_ascii() => equals_non_ascii = true,
                    CaseEquivalents::More => return None,
                }
            }
        }
        let rare_offsets = match Pair::new(word.get(..VECTOR_BYTES).unwrap_or(word)) {
            Some(pair) => [pair.index1(), pair.index2()].map(usize::from),
            None if word.len() == 1 => [0; 2],
            None => return None,
        };
        let rare_offsets = [rare_offsets[0].min(rare_offsets[1]), rare_offsets[0].max(rare_offsets[1])];
        Some(Needle { bytes: word, folds_case: mode.folds_case, equals_non_ascii, rare_offsets })
    }
}

/// The second half of the thirty-two text positions that a search tests at once, for
/// `emit_hit_comparison`: the start and the mask of these positions, and the blocks to which the
/// code jumps.
#[derive(Clone, Copy)]
struct RemainingHits {
    /// Cranelift block that compares the text with the whole keyword. Its parameters are the mask
    /// of the matching positions, and the first of the sixteen positions that the mask describes.
    comparison_block: Block,
    /// A search tests thirty-two positions of a text at once. This is the position in the text at
    /// which their second half begins.
    second_start: Value,
    /// Mask of the matching positions in the second half of the thirty-two positions that a search
    /// tests at once.
    second_mask: Value,
    /// Cranelift block that continues the search at the next thirty-two positions.
    next_block: Block,
}

/// A text in memory: its address and its length in bytes.
#[derive(Clone, Copy)]
struct TextInMemory {
    address: Value,
    length: Value,
}

impl FunctionBody<'_, '_, '_> {
    /// Emits a search of a message field's text for the keywords of a matcher. The code jumps to
    /// `helper_block` if a Rust function must decide instead. Returns false, and emits nothing, if
    /// there is no inline code for the search.
    pub fn emit_inline_search(
        &mut self,
        slot: u32,
        matcher: &KeywordMatcher,
        mode: TextMode,
        helper_block: Block,
        targets: PredTargets,
    ) -> bool {
        let Some((words, needs_all)) = matcher.contained_texts() else { return false };
        let needles: Option<Vec<Needle<'_>>> = words.map(|word| Needle::from_word(word, mode)).collect();
        let Some(needles) = needles.filter(|needles| !needles.is_empty() && needles.len() <= MAX_KEYWORDS)
        else {
            return false;
        };
        let (address, length) = self.load_text_slice(slot);
        let text = TextInMemory { address, length };
        let (decided_block, final_block) =
            if needs_all { (targets.no, targets.yes) } else { (targets.yes, targets.no) };
        for (needle, remaining) in needles.iter().zip((0..needles.len()).rev()) {
            let next = if remaining == 0 { final_block } else { self.builder.create_block() };
            let targets = if needs_all {
                PredTargets { yes: next, no: decided_block, unknown: decided_block }
            } else {
                PredTargets { yes: decided_block, no: next, unknown: next }
            };
            self.emit_single_keyword_search(text, needle, helper_block, targets);
            if remaining > 0 {
                self.switch_to(next);
            }
        }
        true
    }

    /// Emits a search of a text for one keyword. The code jumps to `helper_block` if the text is
    /// too short for vectors. It also does so if a text that is not ASCII must be searched again.
    fn emit_single_keyword_search(
        &mut self,
        text: TextInMemory,
        needle: &Needle<'_>,
        helper_block: Block,
        targets: PredTargets,
    ) {
        let [start_block, loop_block, next, end_block, tail_block] =
            [(); 5].map(|()| self.builder.create_block());
        let (hit_block, hits) = (self.create_cold_block(), self.create_cold_block());
        // The start of the last sixteen positions to check. They may overlap earlier ones.
        let last_start =
            self.builder.ins().iadd_imm(text.length, -((VECTOR_BYTES + needle.rare_offsets[1]) as i64));
        let is_short = self.builder.ins().icmp_imm(IntCC::SignedLessThan, last_start, 0);
        self.builder.ins().brif(is_short, helper_block, &[], start_block, &[]);
        self.switch_to(start_block);
        let bytes = needle.rare_offsets.map(|offset| self.splat_keyword_byte(needle, offset));
        let arguments = |first_start: Value, second_start: Value| {
            [BlockArg::Value(first_start), BlockArg::Value(second_start)]
        };
        let first_start = self.int_const(0);
        let second_start = self.int_const(VECTOR_BYTES as i64);
        let second_start = self.builder.ins().smin(second_start, last_start);
        self.builder.ins().jump(loop_block, &arguments(first_start, second_start));

        let [first_start, second_start] =
            [(); 2].map(|()| self.builder.append_block_param(loop_block, types::I64));
        self.switch_to(loop_block);
        let masks =
            [first_start, second_start].map(|start| self.emit_rare_pair_mask(text, start, needle, bytes));
        let any_hit = self.builder.ins().bor(masks[0], masks[1]);
        let any_hit = self.builder.ins().vhigh_bits(types::I32, any_hit);
        self.builder.ins().brif(any_hit, hit_block, &[], next, &[]);

        self.switch_to(hit_block);
        let bits = masks.map(|mask| self.builder.ins().vhigh_bits(types::I32, mask));
        let second_block = self.create_cold_block();
        let hit_args = |bits: Value, start: Value| [BlockArg::Value(bits), BlockArg::Value(start)];
        self.builder.ins().brif(bits[0], hits, &hit_args(bits[0], first_start), second_block, &[]);
        self.switch_to(second_block);
        self.builder.ins().brif(bits[1], hits, &hit_args(bits[1], second_start), next, &[]);
        let remaining_hits =
            RemainingHits { comparison_block: hits, second_start, second_mask: bits[1], next_block: next };
        self.emit_hit_comparison(remaining_hits, text, needle, targets.yes);

        self.switch_to(next);
        let not_found_block = if needle.equals_non_ascii { self.builder.create_block() } else { targets.no };
        let next_first = self.builder.ins().iadd_imm(first_start, 2 * VECTOR_BYTES as i64);
        let next_second = self.builder.ins().iadd_imm(first_start, 3 * VECTOR_BYTES as i64);
        let is_before_end = self.builder.ins().icmp(IntCC::SignedLessThan, next_second, last_start);
        self.builder.ins().brif(
            is_before_end,
            loop_block,
            &arguments(next_first, next_second),
            end_block,
            &[],
        );
        // Checks the last positions too, unless they are done.
        self.switch_to(end_block);
        let is_end = self.builder.ins().icmp(IntCC::Equal, second_start, last_start);
        self.builder.ins().brif(is_end, not_found_block, &[], tail_block, &[]);
        self.switch_to(tail_block);
        let next_first = self.builder.ins().smin(next_first, last_start);
        self.builder.ins().jump(loop_block, &arguments(next_first, last_start));
        if needle.equals_non_ascii {
            self.switch_to(not_found_block);
            self.emit_ascii_test(text, targets.no, helper_block);
        }
    }

    /// Emits a comparison of sixteen positions with the two rare bytes of the keyword. Returns a
    /// mask of the positions where both bytes match.
    fn emit_rare_pair_mask(
        &mut self,
        text: TextInMemory,
        start: Value,
        needle: &Needle<'_>,
        bytes: [Value; 2],
    ) -> Value {
        let address = self.builder.ins().iadd(text.address, start);
        let equal = needle.rare_offsets.map(|offset| self.load_text_vector(address, needle, offset));
        let equal = [0, 1].map(|i: usize| self.builder.ins().icmp(IntCC::Equal, equal[i], bytes[i]));
        self.builder.ins().band(equal[0], equal[1])
    }

    /// Emits comparisons of the text with the whole keyword, at each position whose bit is set in
    /// the mask of the first sixteen positions. The emitted code then continues with the second
    /// sixteen positions, which `remaining` describes.
    fn emit_hit_comparison(
        &mut self,
        remaining: RemainingHits,
        text: TextInMemory,
        needle: &Needle<'_>,
        yes: Block,
    ) {
        let bits = self.builder.append_block_param(remaining.comparison_block, types::I32);
        let first_position = self.builder.append_block_param(remaining.comparison_block, types::I64);
        let [compare, next_hit_block, mask_done_block, second_block] =
            [(); 4].map(|()| self.create_cold_block());
        self.switch_to(remaining.comparison_block);
        let bit = self.builder.ins().ctz(bits);
        let bit = self.builder.ins().uextend(types::I64, bit);
        let start = self.builder.ins().iadd(first_position, bit);
        // If the keyword would end after the text here, it would also do so at every later
        // position.
        let end = self.builder.ins().iadd_imm(start, needle.bytes.len() as i64);
        let exceeds_text = self.builder.ins().icmp(IntCC::SignedGreaterThan, end, text.length);
        self.builder.ins().brif(exceeds_text, remaining.next_block, &[], compare, &[]);
        self.switch_to(compare);
        let start = self.builder.ins().iadd(text.address, start);
        match self.emit_byte_difference(start, needle.bytes, needle.folds_case) {
            Some(difference) => self.builder.ins().brif(difference, next_hit_block, &[], yes, &[]),
            None => self.builder.ins().jump(yes, &[]),
        };
        self.switch_to(next_hit_block);
        let bits_minus_one = self.builder.ins().iadd_imm(bits, -1);
        let bits = self.builder.ins().band(bits, bits_minus_one);
        let loop_arguments = [BlockArg::Value(bits), BlockArg::Value(first_position)];
        self.builder.ins().brif(bits, remaining.comparison_block, &loop_arguments, mask_done_block, &[]);
        self.switch_to(mask_done_block);
        let was_second = self.builder.ins().icmp(IntCC::Equal, first_position, remaining.second_start);
        self.builder.ins().brif(was_second, remaining.next_block, &[], second_block, &[]);
        self.switch_to(second_block);
        let arguments = [BlockArg::Value(remaining.second_mask), BlockArg::Value(remaining.second_start)];
        self.builder.ins().brif(
            remaining.second_mask,
            remaining.comparison_block,
            &arguments,
            remaining.next_block,
            &[],
        );
    }

    /// Emits a jump to `yes` if a text has only ASCII characters, else to `no`. Precondition: the
    /// text has at least sixteen bytes.
    fn emit_ascii_test(&mut self, text: TextInMemory, yes: Block, no: Block) {
        let [loop_block, next, advance_block] = [(); 3].map(|()| self.builder.create_block());
        let last_start = self.builder.ins().iadd_imm(text.length, -(VECTOR_BYTES as i64));
        let start = self.int_const(0);
        self.builder.ins().jump(loop_block, &[BlockArg::Value(start)]);
        let start = self.builder.append_block_param(loop_block, types::I64);
        self.switch_to(loop_block);
        let address = self.builder.ins().iadd(text.address, start);
        let bytes = self.builder.ins().load(types::I8X16, MemFlags::new().with_notrap(), address, 0);
        let high_bits = self.builder.ins().vhigh_bits(types::I32, bytes);
        self.builder.ins().brif(high_bits, no, &[], next, &[]);
        self.switch_to(next);
        let is_end = self.builder.ins().icmp(IntCC::Equal, start, last_start);
        self.builder.ins().brif(is_end, yes, &[], advance_block, &[]);
        self.switch_to(advance_block);
        let start = self.builder.ins().iadd_imm(start, VECTOR_BYTES as i64);
        let start = self.builder.ins().smin(start, last_start);
        self.builder.ins().jump(loop_block, &[BlockArg::Value(start)]);
    }

    /// Emits a load of sixteen bytes of a text, beginning at `offset` bytes after `address`. If the
    /// search ignores case and the keyword has a letter at `offset`, each loaded byte gets the case
    /// bit of lower-case letters.
    fn load_text_vector(&mut self, address: Value, needle: &Needle<'_>, offset: usize) -> Value {
        let bytes =
            self.builder.ins().load(types::I8X16, MemFlags::new().with_notrap(), address, offset as i32);
        if needle.folds_case && needle.bytes.get(offset).is_some_and(u8::is_ascii_lowercase) {
            let case_bits = self.splat_byte(ASCII_CASE_BIT);
            return self.builder.ins().bor(bytes, case_bits);
        }
        bytes
    }

    fn splat_keyword_byte(&mut self, needle: &Needle<'_>, offset: usize) -> Value {
        self.splat_byte(needle.bytes.get(offset).copied().unwrap_or_default())
    }

    fn splat_byte(&mut self, byte: u8) -> Value {
        let byte = self.builder.ins().iconst(types::I8, i64::from(byte));
        self.builder.ins().splat(types::I8X16, byte)
    }
}
