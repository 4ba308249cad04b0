//! Inline searches of a slot's text for keywords. At thirty-two positions at once, the text is
//! compared with two bytes of the keyword that are rare in texts. Each position that passes is
//! compared with the whole keyword. For a text of some hundred bytes, this is faster than calling a
//! searcher.
//!
//! Only ASCII letters are folded here, which suffices for most keywords. The letters `k` and `s`
//! also equal characters beyond ASCII. So for keywords with these letters, a text beyond ASCII
//! without an ASCII match is searched again by the helper.

use super::body::{Body, Targets};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlags, Value, types};
use memchr::arch::all::packedpair::Pair;
use rulec_base::text::fold::{CaseEquals, case_equals};
use rulec_base::text::{NormalizationForm, TextMode};
use rulec_vm::bytecode::pools::Matcher;

/// Number of bytes that one vector holds. Not tuned: Cranelift has no wider vectors.
const TOGETHER: usize = 16;
/// Maximum length in bytes of a keyword that is searched inline; `MOST` is the maximum number of
/// keywords.
const LONGEST: usize = 32;
const MOST: usize = 8;
/// The bit in which the two cases of an ASCII letter differ.
const CASE: u8 = 0x20;

/// A keyword that can be searched inline.
pub(super) struct Needle<'w> {
    bytes: &'w [u8],
    fold: bool,
    /// Whether a letter of the keyword also equals a character beyond ASCII.
    beyond: bool,
    /// Ascending offsets of two bytes of the keyword that are rare in texts.
    pair: [usize; 2],
}

impl<'w> Needle<'w> {
    /// Prepares a keyword that is normalized for its predicate's mode; `None` if only the helper
    /// can search for it.
    fn from_word(word: &'w [u8], mode: TextMode) -> Option<Needle<'w>> {
        // Tested on x86-64 only; other processors may lack the vector instructions.
        if !cfg!(target_arch = "x86_64") || mode.form != NormalizationForm::None || word.len() > LONGEST {
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
        let pair = match Pair::new(word.get(..TOGETHER).unwrap_or(word)) {
            Some(pair) => [pair.index1(), pair.index2()].map(usize::from),
            None if word.len() == 1 => [0; 2],
            None => return None,
        };
        let pair = [pair[0].min(pair[1]), pair[0].max(pair[1])];
        Some(Needle { bytes: word, fold: mode.fold, beyond, pair })
    }
}

/// Jump targets and values that remain for a block of thirty-two positions, once the first sixteen
/// have been compared.
#[derive(Clone, Copy)]
struct Rest {
    /// Block of code that compares the keyword. Its parameters are a mask of the passing positions,
    /// and the first position.
    hits: Block,
    /// Start of the second sixteen positions; `bits` is the mask of those that pass.
    behind: Value,
    bits: Value,
    /// Block of code that continues the search.
    next: Block,
}

/// A text in memory.
#[derive(Clone, Copy)]
struct Text {
    at: Value,
    length: Value,
}

impl Body<'_, '_, '_> {
    /// Emits a search of a slot's text for the keywords of a matcher. The code jumps to `otherwise`
    /// if the helper must decide instead. Returns false if there is no inline code for the search.
    pub fn find(
        &mut self,
        slot: u32,
        matcher: &Matcher,
        mode: TextMode,
        otherwise: Block,
        targets: Targets,
    ) -> bool {
        let Some((words, all)) = matcher.texts() else { return false };
        let needles: Option<Vec<Needle<'_>>> = words.map(|word| Needle::from_word(word, mode)).collect();
        let Some(needles) = needles.filter(|needles| !needles.is_empty() && needles.len() <= MOST) else {
            return false;
        };
        let (at, length) = self.text(slot);
        let text = Text { at, length };
        let (decided, rest) = if all { (targets.no, targets.yes) } else { (targets.yes, targets.no) };
        for (needle, left) in needles.iter().zip((0..needles.len()).rev()) {
            let next = if left == 0 { rest } else { self.b.create_block() };
            let targets = if all {
                Targets { yes: next, no: decided, unknown: decided }
            } else {
                Targets { yes: decided, no: next, unknown: next }
            };
            self.find_one(text, needle, otherwise, targets);
            if left > 0 {
                self.go(next);
            }
        }
        true
    }

    /// Emits a search of a text for one keyword.
    fn find_one(&mut self, text: Text, needle: &Needle<'_>, otherwise: Block, targets: Targets) {
        let [start, around, next, end, more] = [(); 5].map(|()| self.b.create_block());
        let (passes, hits) = (self.cold(), self.cold());
        // The start of the last sixteen positions to check. They may overlap earlier ones.
        let last = self.b.ins().iadd_imm(text.length, -((TOGETHER + needle.pair[1]) as i64));
        let is_short = self.b.ins().icmp_imm(IntCC::SignedLessThan, last, 0);
        self.b.ins().brif(is_short, otherwise, &[], start, &[]);
        self.go(start);
        let bytes = needle.pair.map(|offset| self.sixteen_of(needle, offset));
        let arguments = |from: Value, behind: Value| [BlockArg::Value(from), BlockArg::Value(behind)];
        let from = self.number(0);
        let behind = self.number(TOGETHER as i64);
        let behind = self.b.ins().smin(behind, last);
        self.b.ins().jump(around, &arguments(from, behind));

        let [from, behind] = [(); 2].map(|()| self.b.append_block_param(around, types::I64));
        self.go(around);
        let both = [from, behind].map(|from| self.pairs_at(text, from, needle, bytes));
        let any = self.b.ins().bor(both[0], both[1]);
        let any = self.b.ins().vhigh_bits(types::I32, any);
        self.b.ins().brif(any, passes, &[], next, &[]);

        self.go(passes);
        let bits = both.map(|both| self.b.ins().vhigh_bits(types::I32, both));
        let second = self.cold();
        let place = |bits: Value, from: Value| [BlockArg::Value(bits), BlockArg::Value(from)];
        self.b.ins().brif(bits[0], hits, &place(bits[0], from), second, &[]);
        self.go(second);
        self.b.ins().brif(bits[1], hits, &place(bits[1], behind), next, &[]);
        let rest = Rest { hits, behind, bits: bits[1], next };
        self.compare_hits(rest, text, needle, targets.yes);

        self.go(next);
        let nowhere = if needle.beyond { self.b.create_block() } else { targets.no };
        let after = self.b.ins().iadd_imm(from, 2 * TOGETHER as i64);
        let behind_it = self.b.ins().iadd_imm(from, 3 * TOGETHER as i64);
        let is_inside = self.b.ins().icmp(IntCC::SignedLessThan, behind_it, last);
        self.b.ins().brif(is_inside, around, &arguments(after, behind_it), end, &[]);
        // Checks the last positions too, unless they are done.
        self.go(end);
        let is_end = self.b.ins().icmp(IntCC::Equal, behind, last);
        self.b.ins().brif(is_end, nowhere, &[], more, &[]);
        self.go(more);
        let after = self.b.ins().smin(after, last);
        self.b.ins().jump(around, &arguments(after, last));
        if needle.beyond {
            self.go(nowhere);
            self.if_ascii(text, targets.no, otherwise);
        }
    }

    /// Emits a comparison of sixteen positions, and returns a mask of the positions where both rare
    /// bytes of the keyword match.
    fn pairs_at(&mut self, text: Text, from: Value, needle: &Needle<'_>, bytes: [Value; 2]) -> Value {
        let at = self.b.ins().iadd(text.at, from);
        let same = needle.pair.map(|offset| self.sixteen_at(at, needle, offset));
        let same = [0, 1].map(|of: usize| self.b.ins().icmp(IntCC::Equal, same[of], bytes[of]));
        self.b.ins().band(same[0], same[1])
    }

    /// Emits the comparison with the whole keyword: at the positions whose bits are set, then at
    /// the passing positions of the second sixteen.
    fn compare_hits(&mut self, rest: Rest, text: Text, needle: &Needle<'_>, yes: Block) {
        let bits = self.b.append_block_param(rest.hits, types::I32);
        let from = self.b.append_block_param(rest.hits, types::I64);
        let [compare, others, done, second] = [(); 4].map(|()| self.cold());
        self.go(rest.hits);
        let bit = self.b.ins().ctz(bits);
        let bit = self.b.ins().uextend(types::I64, bit);
        let start = self.b.ins().iadd(from, bit);
        // If the keyword would end after the text here, it would also do so at every later
        // position.
        let end = self.b.ins().iadd_imm(start, needle.bytes.len() as i64);
        let is_beyond = self.b.ins().icmp(IntCC::SignedGreaterThan, end, text.length);
        self.b.ins().brif(is_beyond, rest.next, &[], compare, &[]);
        self.go(compare);
        let start = self.b.ins().iadd(text.at, start);
        match self.difference(start, needle.bytes, needle.fold) {
            Some(difference) => self.b.ins().brif(difference, others, &[], yes, &[]),
            None => self.b.ins().jump(yes, &[]),
        };
        self.go(others);
        let below = self.b.ins().iadd_imm(bits, -1);
        let bits = self.b.ins().band(bits, below);
        let again = [BlockArg::Value(bits), BlockArg::Value(from)];
        self.b.ins().brif(bits, rest.hits, &again, done, &[]);
        self.go(done);
        let was_second = self.b.ins().icmp(IntCC::Equal, from, rest.behind);
        self.b.ins().brif(was_second, rest.next, &[], second, &[]);
        self.go(second);
        let arguments = [BlockArg::Value(rest.bits), BlockArg::Value(rest.behind)];
        self.b.ins().brif(rest.bits, rest.hits, &arguments, rest.next, &[]);
    }

    /// Emits a jump to `yes` if a text of at least sixteen bytes is ASCII, else to `no`.
    fn if_ascii(&mut self, text: Text, yes: Block, no: Block) {
        let [around, next, more] = [(); 3].map(|()| self.b.create_block());
        let last = self.b.ins().iadd_imm(text.length, -(TOGETHER as i64));
        let from = self.number(0);
        self.b.ins().jump(around, &[BlockArg::Value(from)]);
        let from = self.b.append_block_param(around, types::I64);
        self.go(around);
        let at = self.b.ins().iadd(text.at, from);
        let sixteen = self.b.ins().load(types::I8X16, MemFlags::new().with_notrap(), at, 0);
        let high = self.b.ins().vhigh_bits(types::I32, sixteen);
        self.b.ins().brif(high, no, &[], next, &[]);
        self.go(next);
        let is_end = self.b.ins().icmp(IntCC::Equal, from, last);
        self.b.ins().brif(is_end, yes, &[], more, &[]);
        self.go(more);
        let from = self.b.ins().iadd_imm(from, TOGETHER as i64);
        let from = self.b.ins().smin(from, last);
        self.b.ins().jump(around, &[BlockArg::Value(from)]);
    }

    /// Emits a load of sixteen bytes of a text. They are folded if the keyword's byte at the offset
    /// is a letter.
    fn sixteen_at(&mut self, at: Value, needle: &Needle<'_>, offset: usize) -> Value {
        let bytes = self.b.ins().load(types::I8X16, MemFlags::new().with_notrap(), at, offset as i32);
        if needle.fold && needle.bytes.get(offset).is_some_and(u8::is_ascii_lowercase) {
            let case = self.sixteen(CASE);
            return self.b.ins().bor(bytes, case);
        }
        bytes
    }

    fn sixteen_of(&mut self, needle: &Needle<'_>, offset: usize) -> Value {
        self.sixteen(needle.bytes.get(offset).copied().unwrap_or_default())
    }

    fn sixteen(&mut self, byte: u8) -> Value {
        let byte = self.b.ins().iconst(types::I8, i64::from(byte));
        self.b.ins().splat(types::I8X16, byte)
    }
}
