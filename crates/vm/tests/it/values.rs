//! Random JSON with edge cases: large numbers, null, Chinese characters, and letters that change
//! under case folding or Unicode composition.

use rulec_base::text::{NormalizationForm, TextMode};
use rulec_lang::operators::{Op, Quantity, TestMode};
use serde_json::{Value as Json, json};

/// A seeded generator of pseudorandom numbers.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

pub const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "b",
    "abc",
    "ABC abc",
    "x abc y",
    "abcabc",
    "aaa aa",
    "xa a a",
    "a a",
    "\u{ff12}026-01-01T00:00:00Z",
    "aa",
    "退款",
    "我要退款refund谢谢",
    "refund",
    "Refund",
    "REFUND, please",
    "refunds",
    "K",
    "k",
    "\u{212a}",
    "ſ",
    "s",
    "S",
    "straße",
    "STRASSE",
    "ẞ",
    "ß",
    "İ",
    "i",
    "σς",
    "Σ",
    "cafe\u{301}",
    "café",
    "CAFÉ",
    "ﬁle",
    "file",
    "Ａ１",
    "a1",
    "C++14",
    "C++",
    ".rs",
    "main.rs",
    "2026-01-01T00:00:00Z",
    "2026-01-01T01:00:00+01:00",
    "*a?",
    "a*",
    "*c",
    "?",
    "\\*",
    "*",
    "x.y",
    "J\u{30c}",
    "ǰ",
    "文件",
    "打开文件吧",
    "한국어",
    "한",
    "\u{345}",
    "vip",
    "a b c d e f g h",
];
pub const PATTERNS: &[&str] = &["a+", "(?i)REFUND", r"\bk", "^$", "退.", "[σ]", "É", "^.$", r"\d"];

pub fn text(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => format!("{}{}", rng.pick(TEXTS), rng.pick(TEXTS)),
        1 => format!("{} {}", rng.pick(TEXTS), rng.pick(TEXTS)),
        _ => rng.pick(TEXTS).to_owned(),
    }
}

pub fn number(rng: &mut Rng) -> Json {
    match rng.below(12) {
        0 => json!(i64::MAX),
        1 => json!(i64::MIN),
        2 => json!(u64::MAX),
        3 => json!(9_007_199_254_740_993_i64),
        4 => json!(9_007_199_254_740_992.0),
        5 => json!(-0.0),
        6 => json!(rng.below(4) as f64),
        7 => json!(rng.below(8) as f64 / 2.0),
        8 => json!(1e300),
        _ => json!(rng.below(6) as i64 - 1),
    }
}

pub fn value(rng: &mut Rng, depth: usize) -> Json {
    match rng.below(if depth == 0 { 9 } else { 14 }) {
        0 => Json::Null,
        1 => json!(rng.one_in(2)),
        2..=4 => number(rng),
        5..=8 => json!(text(rng)),
        9..=11 => {
            let kind = rng.below(4);
            let len = rng.pick(&[0, 1, 2, 3, 6, 12]);
            (0..len)
                .map(|_| match kind {
                    0 | 1 => json!(text(rng)),
                    2 => number(rng),
                    _ => value(rng, depth - 1),
                })
                .collect()
        }
        _ => {
            let len = rng.below(4);
            (0..len).map(|_| (text(rng), value(rng, depth - 1))).collect::<serde_json::Map<_, _>>().into()
        }
    }
}

pub fn mode(rng: &mut Rng, op: Op) -> TestMode {
    let accepts = op.info().accepted_modifiers;
    TestMode {
        whole_word: accepts.accepts_word && rng.one_in(2),
        quantity: if accepts.accepts_quantity {
            rng.pick(&[None, Some(Quantity::Any), Some(Quantity::All)])
        } else {
            None
        },
        text: if accepts.accepts_case && rng.below(3) > 0 {
            let fold = rng.one_in(2);
            TextMode {
                folds_case: fold,
                folds_fully: fold && rng.one_in(2),
                form: rng.pick(&[NormalizationForm::None, NormalizationForm::Nfc, NormalizationForm::Nfkc]),
            }
        } else {
            TextMode::PLAIN
        },
    }
}
