//! Inline code that searches a slot's text for keywords. At thirty-two positions at once, the text
//! is compared with two bytes of the keyword that are rare in texts. Each position where both bytes
//! match is compared with the whole keyword. For a text of some hundred bytes, this is faster than
//! calling a search function.
//!
//! The inline code folds only ASCII letters, which suffices for most keywords. The letters `k` and
//! `s` also equal characters beyond ASCII when case is ignored. If a keyword has these letters and
//! is not found in a text that is not pure ASCII, a helper searches the text again.

use super::body::{Body, TestTargets};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlags, Value, types};
use memchr::arch::all::packedpair::Pair;
use rulec_base::text::fold::{CaseEquals, case_equals};
use rulec_base::text::{NormalizationForm, TextMode};
use rulec_vm::bytecode::pools::KeywordMatcher;

/// Number of bytes that one vector holds. Not tuned: Cranelift has no wider vectors.
const VECTOR_BYTES: usize = 16;
/// Maximum length in bytes of a keyword that is searched inline. `MAX_KEYWORDS` is the maximum
/// number of keywords of such a search.
const MAX_KEYWORD_BYTES: usize = 32;
const MAX_KEYWORDS: usize = 8;
/// The bit in which the two cases of an ASCII letter differ.
const ASCII_CASE_BIT: u8 = 0x20;

/// A keyword that inline code can search.
pub(super) struct Needle<'w> {
    bytes: &'w [u8],
    fold: bool,
    /// Whether a letter of the keyword also equals a character beyond ASCII when case is ignored.
    beyond: bool,
    /// Offsets of two bytes of the keyword that are rare in texts, in ascending order.
    pair: [usize; 2],
}

impl<'w> Needle<'w> {
    /// Prepares a keyword that was normalized for its predicate's text mode. `None` if inline code
    /// cannot search the keyword, so that a helper must.
    fn from_word(word: &'w [u8], mode: TextMode) -> Option<Needle<'w>> {
        // Tested on x86-64 only; other processors may lack the vector instructions.
        if !cfg!(target_arch = "x86_64")
            || mode.form != NormalizationForm::None
            || word.len() > MAX_KEYWORD_BYTES
        {
            return None;
        }
        let mut beyond = false;
        if mode.fold {
            for c in std::str::from_utf8(word).ok()?.chars() {
                match case_equals(c) {
                    CaseEquals::Itself | CaseEquals::AsciiCases => {}
                    CaseEquals::More if c.is_ascii() => beyond = true,
                    CaseEquals::More => return None,
                }
            }
        }
        let pair = match Pair::new(word.get(..VECTOR_BYTES).unwrap_or(word)) {
            Some(pair) => [pair.index1(), pair.index2()].map(usize::from),
            None if word.len() == 1 => [0; 2],
            None => return None,
        };
        let pair = [pair[0].min(pair[1]), pair[0].max(pair[1])];
        Some(Needle { bytes: word, fold: mode.fold, beyond, pair })
    }
}

/// Jump targets and values for the rest of a block of thirty-two positions, after the first sixteen
/// have been compared.
#[derive(Clone, Copy)]
struct RemainingHits {
    /// Cranelift block that compares the text with the whole keyword. Its parameters are the mask
    /// of the matching positions, and the first position.
    hits: Block,
    /// Start of the second sixteen positions; `bits` is the mask of the matching positions among
    /// these.
    behind: Value,
    bits: Value,
    /// Cranelift block that continues the search at the next thirty-two positions.
    next: Block,
}

/// A text in memory: its address and its length in bytes.
#[derive(Clone, Copy)]
struct TextInMemory {
    at: Value,
    length: Value,
}

impl Body<'_, '_, '_> {
    /// Emits a search of a slot's text for the keywords of a matcher. The code jumps to `otherwise`
    /// if a helper must decide instead. Returns false, and emits nothing, if there is no inline
    /// code for the search.
    pub fn emit_find(
        &mut self,
        slot: u32,
        matcher: &KeywordMatcher,
        mode: TextMode,
        otherwise: Block,
        targets: TestTargets,
    ) -> bool {
        let Some((words, all)) = matcher.contained_texts() else { return false };
        let needles: Option<Vec<Needle<'_>>> = words.map(|word| Needle::from_word(word, mode)).collect();
        let Some(needles) = needles.filter(|needles| !needles.is_empty() && needles.len() <= MAX_KEYWORDS)
        else {
            return false;
        };
        let (at, length) = self.load_text(slot);
        let text = TextInMemory { at, length };
        let (decided, rest) = if all { (targets.no, targets.yes) } else { (targets.yes, targets.no) };
        for (needle, left) in needles.iter().zip((0..needles.len()).rev()) {
            let next = if left == 0 { rest } else { self.b.create_block() };
            let targets = if all {
                TestTargets { yes: next, no: decided, unknown: decided }
            } else {
                TestTargets { yes: decided, no: next, unknown: next }
            };
            self.emit_find_one(text, needle, otherwise, targets);
            if left > 0 {
                self.switch_to(next);
            }
        }
        true
    }

    /// Emits a search of a text for one keyword.
    fn emit_find_one(
        &mut self,
        text: TextInMemory,
        needle: &Needle<'_>,
        otherwise: Block,
        targets: TestTargets,
    ) {
        let [start, around, next, end, more] = [(); 5].map(|()| self.b.create_block());
        let (passes, hits) = (self.create_cold_block(), self.create_cold_block());
        // The start of the last sixteen positions to check. They may overlap earlier ones.
        let last = self.b.ins().iadd_imm(text.length, -((VECTOR_BYTES + needle.pair[1]) as i64));
        let is_short = self.b.ins().icmp_imm(IntCC::SignedLessThan, last, 0);
        self.b.ins().brif(is_short, otherwise, &[], start, &[]);
        self.switch_to(start);
        let bytes = needle.pair.map(|offset| self.splat_keyword_byte(needle, offset));
        let arguments = |from: Value, behind: Value| [BlockArg::Value(from), BlockArg::Value(behind)];
        let from = self.int_const(0);
        let behind = self.int_const(VECTOR_BYTES as i64);
        let behind = self.b.ins().smin(behind, last);
        self.b.ins().jump(around, &arguments(from, behind));

        let [from, behind] = [(); 2].map(|()| self.b.append_block_param(around, types::I64));
        self.switch_to(around);
        let both = [from, behind].map(|from| self.emit_pair_mask(text, from, needle, bytes));
        let any = self.b.ins().bor(both[0], both[1]);
        let any = self.b.ins().vhigh_bits(types::I32, any);
        self.b.ins().brif(any, passes, &[], next, &[]);

        self.switch_to(passes);
        let bits = both.map(|both| self.b.ins().vhigh_bits(types::I32, both));
        let second = self.create_cold_block();
        let place = |bits: Value, from: Value| [BlockArg::Value(bits), BlockArg::Value(from)];
        self.b.ins().brif(bits[0], hits, &place(bits[0], from), second, &[]);
        self.switch_to(second);
        self.b.ins().brif(bits[1], hits, &place(bits[1], behind), next, &[]);
        let rest = RemainingHits { hits, behind, bits: bits[1], next };
        self.emit_hit_comparison(rest, text, needle, targets.yes);

        self.switch_to(next);
        let nowhere = if needle.beyond { self.b.create_block() } else { targets.no };
        let after = self.b.ins().iadd_imm(from, 2 * VECTOR_BYTES as i64);
        let behind_it = self.b.ins().iadd_imm(from, 3 * VECTOR_BYTES as i64);
        let is_inside = self.b.ins().icmp(IntCC::SignedLessThan, behind_it, last);
        self.b.ins().brif(is_inside, around, &arguments(after, behind_it), end, &[]);
        // Checks the last positions too, unless they are done.
        self.switch_to(end);
        let is_end = self.b.ins().icmp(IntCC::Equal, behind, last);
        self.b.ins().brif(is_end, nowhere, &[], more, &[]);
        self.switch_to(more);
        let after = self.b.ins().smin(after, last);
        self.b.ins().jump(around, &arguments(after, last));
        if needle.beyond {
            self.switch_to(nowhere);
            self.emit_ascii_test(text, targets.no, otherwise);
        }
    }

    /// Emits a comparison of sixteen positions with the two rare bytes of the keyword. Returns a
    /// mask of the positions where both bytes match.
    fn emit_pair_mask(
        &mut self,
        text: TextInMemory,
        from: Value,
        needle: &Needle<'_>,
        bytes: [Value; 2],
    ) -> Value {
        let at = self.b.ins().iadd(text.at, from);
        let same = needle.pair.map(|offset| self.load_sixteen_at(at, needle, offset));
        let same = [0, 1].map(|of: usize| self.b.ins().icmp(IntCC::Equal, same[of], bytes[of]));
        self.b.ins().band(same[0], same[1])
    }

    /// Emits comparisons of the text with the whole keyword: first at the positions whose bits are
    /// set in a mask, then at the matching positions of the second sixteen.
    fn emit_hit_comparison(
        &mut self,
        rest: RemainingHits,
        text: TextInMemory,
        needle: &Needle<'_>,
        yes: Block,
    ) {
        let bits = self.b.append_block_param(rest.hits, types::I32);
        let from = self.b.append_block_param(rest.hits, types::I64);
        let [compare, others, done, second] = [(); 4].map(|()| self.create_cold_block());
        self.switch_to(rest.hits);
        let bit = self.b.ins().ctz(bits);
        let bit = self.b.ins().uextend(types::I64, bit);
        let start = self.b.ins().iadd(from, bit);
        // If the keyword would end after the text here, it would also do so at every later
        // position.
        let end = self.b.ins().iadd_imm(start, needle.bytes.len() as i64);
        let is_beyond = self.b.ins().icmp(IntCC::SignedGreaterThan, end, text.length);
        self.b.ins().brif(is_beyond, rest.next, &[], compare, &[]);
        self.switch_to(compare);
        let start = self.b.ins().iadd(text.at, start);
        match self.emit_byte_difference(start, needle.bytes, needle.fold) {
            Some(difference) => self.b.ins().brif(difference, others, &[], yes, &[]),
            None => self.b.ins().jump(yes, &[]),
        };
        self.switch_to(others);
        let below = self.b.ins().iadd_imm(bits, -1);
        let bits = self.b.ins().band(bits, below);
        let again = [BlockArg::Value(bits), BlockArg::Value(from)];
        self.b.ins().brif(bits, rest.hits, &again, done, &[]);
        self.switch_to(done);
        let was_second = self.b.ins().icmp(IntCC::Equal, from, rest.behind);
        self.b.ins().brif(was_second, rest.next, &[], second, &[]);
        self.switch_to(second);
        let arguments = [BlockArg::Value(rest.bits), BlockArg::Value(rest.behind)];
        self.b.ins().brif(rest.bits, rest.hits, &arguments, rest.next, &[]);
    }

    /// Emits a jump to `yes` if a text of at least sixteen bytes has only ASCII characters, else to
    /// `no`.
    fn emit_ascii_test(&mut self, text: TextInMemory, yes: Block, no: Block) {
        let [around, next, more] = [(); 3].map(|()| self.b.create_block());
        let last = self.b.ins().iadd_imm(text.length, -(VECTOR_BYTES as i64));
        let from = self.int_const(0);
        self.b.ins().jump(around, &[BlockArg::Value(from)]);
        let from = self.b.append_block_param(around, types::I64);
        self.switch_to(around);
        let at = self.b.ins().iadd(text.at, from);
        let sixteen = self.b.ins().load(types::I8X16, MemFlags::new().with_notrap(), at, 0);
        let high = self.b.ins().vhigh_bits(types::I32, sixteen);
        self.b.ins().brif(high, no, &[], next, &[]);
        self.switch_to(next);
        let is_end = self.b.ins().icmp(IntCC::Equal, from, last);
        self.b.ins().brif(is_end, yes, &[], more, &[]);
        self.switch_to(more);
        let from = self.b.ins().iadd_imm(from, VECTOR_BYTES as i64);
        let from = self.b.ins().smin(from, last);
        self.b.ins().jump(around, &[BlockArg::Value(from)]);
    }

    /// Emits a load of sixteen bytes of a text. The bytes are folded to lower case if the keyword's
    /// byte at `offset` is a letter.
    fn load_sixteen_at(&mut self, at: Value, needle: &Needle<'_>, offset: usize) -> Value {
        let bytes = self.b.ins().load(types::I8X16, MemFlags::new().with_notrap(), at, offset as i32);
        if needle.fold && needle.bytes.get(offset).is_some_and(u8::is_ascii_lowercase) {
            let case = self.splat_byte(ASCII_CASE_BIT);
            return self.b.ins().bor(bytes, case);
        }
        bytes
    }

    fn splat_keyword_byte(&mut self, needle: &Needle<'_>, offset: usize) -> Value {
        self.splat_byte(needle.bytes.get(offset).copied().unwrap_or_default())
    }

    fn splat_byte(&mut self, byte: u8) -> Value {
        let byte = self.b.ins().iconst(types::I8, i64::from(byte));
        self.b.ins().splat(types::I8X16, byte)
    }
}
