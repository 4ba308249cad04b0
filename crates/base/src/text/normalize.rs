//! Prepares both operands of a text predicate for comparison: by Unicode normalization, then by
//! case folding.
//!
//! `settings { case: insensitive, normalize: nfkc }` and `ignoring case` become one [`TextMode`].
//! Constants are prepared once, when rules are compiled. A message's text is prepared once for each
//! mode that some rule uses.

use crate::codec::impl_codec;
use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfkc_quick};

use super::expanding::{ExpandingChar, find_expanding_char};
use super::fold::{fold_char, fold_into, full_fold, is_folded};
use super::invisible::is_default_ignorable;

/// A Unicode normalization form (Unicode Standard Annex 15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NormalizationForm {
    #[default]
    None,
    /// The composed form (NFC): `e` and a combining acute accent become `é`.
    Nfc,
    /// The composed form with compatibility characters replaced by plain ones, and without
    /// invisible characters. Full-width `Ａ` becomes `A`, `ﬁ` becomes `fi`, and a soft hyphen is
    /// removed, as in the NFKC_Casefold mapping of Unicode.
    Nfkc,
    /// The composed form (NFC) without invisible characters ([`is_default_ignorable`]).
    Visible,
    /// NFKC as Unicode defines it. Unlike [`NormalizationForm::Nfkc`], this form does not remove
    /// invisible characters.
    StrictNfkc,
}

/// How both operands of a text predicate are prepared for comparison: first normalized, then
/// case-folded. If both steps apply, the text is normalized again after folding. Folding can leave
/// a letter and an accent that compose: `J` and a caron become `ǰ`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextMode {
    /// Whether upper and lower case count as equal, by the folding of [`fold_char`].
    pub folds_case: bool,
    /// Whether the folding is full, as in [`full_fold`], so that `ß` equals `ss`. Has an effect
    /// only if `folds_case` is true.
    pub folds_fully: bool,
    pub form: NormalizationForm,
}

impl TextMode {
    /// The mode that leaves every text unchanged: case counts, and no normalization is applied.
    pub const PLAIN: TextMode =
        TextMode { folds_case: false, folds_fully: false, form: NormalizationForm::None };

    /// True if this mode changes no text.
    pub const fn is_plain(self) -> bool {
        !self.folds_case && matches!(self.form, NormalizationForm::None)
    }

    /// True if this mode only folds single characters, or changes nothing. Each character then
    /// stays one character, so a keyword can be compared with a text character by character.
    pub const fn maps_single_chars(self) -> bool {
        !self.folds_fully && matches!(self.form, NormalizationForm::None)
    }

    /// Returns the text normalized and case-folded by this mode; borrowed if that changes nothing.
    /// Preparing the result again changes nothing.
    pub fn prepare(self, text: &str) -> Cow<'_, str> {
        if self.is_surely_unchanged(text) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        self.prepare_into(text, &mut out);
        // The quick check can be inconclusive, so the result is compared with the input.
        if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
    }

    /// Appends `text`, normalized and case-folded by this mode, to `out`. Allocates only if `out`
    /// has to grow, or inside the normalizer for unusually long runs of combining marks.
    #[inline]
    pub fn prepare_into(self, text: &str, out: &mut String) {
        match self {
            TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::None } => {
                fold_into(text, out)
            }
            _ => self.normalize_into(text, out),
        }
    }

    fn normalize_into(self, text: &str, out: &mut String) {
        let is_normalized = self.form.is_surely_normalized(text);
        if self.folds_fully && !text.is_ascii() {
            return match self.form.is_nfkc() && !is_normalized {
                true => self.prepare_expanding(text, out),
                false => self.fold_fully_into(text, out),
            };
        }
        match (self.folds_case, is_normalized) {
            (false, true) => out.push_str(text),
            (true, true) => {
                let start = out.len();
                fold_into(text, out);
                if !self.form.is_surely_normalized(&out[start..]) {
                    out.truncate(start);
                    self.form.push_normalized(text.chars().map(fold_char), out);
                }
            }
            (_, false) if self.form.is_nfkc() => self.prepare_expanding(text, out),
            (false, false) => self.form.push_normalized(self.form.kept_chars(text), out),
            (true, false) => match self.form {
                NormalizationForm::None => fold_into(text, out),
                _ => out.extend(self.form.kept_chars(text).nfc().map(fold_char).nfc()),
            },
        }
    }

    /// Appends `text`, normalized and with full case folding, to `out`.
    fn fold_fully_into(self, text: &str, out: &mut String) {
        let chars = self.form.kept_chars(text);
        match self.form {
            NormalizationForm::None => out.extend(chars.flat_map(full_fold)),
            NormalizationForm::Nfc | NormalizationForm::Visible => {
                out.extend(chars.nfc().flat_map(full_fold).nfc());
            }
            NormalizationForm::Nfkc | NormalizationForm::StrictNfkc => {
                out.extend(chars.nfkc().flat_map(full_fold).nfkc());
            }
        }
    }

    /// Appends `text` to `out` in NFKC, case-folded if this mode folds. Fast also for a text with
    /// many expanding characters (characters with a long NFKC form): the head of each expansion is
    /// copied from a table. The end of each expansion is normalized together with the text that
    /// follows.
    fn prepare_expanding(self, text: &str, out: &mut String) {
        let (mut previous, mut rest_start) = (None, 0);
        let expanding =
            text.char_indices().filter_map(|(start, c)| Some((start, c, find_expanding_char(c)?)));
        for (start, c, expansion) in expanding {
            self.prepare_nfkc(previous, &text[rest_start..start], out);
            out.push_str(&expansion.head_forms[usize::from(self.folds_case)]);
            (previous, rest_start) = (Some(expansion), start + c.len_utf8());
        }
        self.prepare_nfkc(previous, &text[rest_start..], out);
    }

    /// Appends the end of the expansion of `previous` and then `text`, normalized and folded as one
    /// text. `previous` is the expanding character (with a long NFKC form) just before `text`, if
    /// there is one. `text` itself contains no expanding character.
    fn prepare_nfkc(self, previous: Option<&ExpandingChar>, text: &str, out: &mut String) {
        if text.is_empty() {
            out.push_str(previous.map_or("", |expansion| &expansion.end_forms[usize::from(self.folds_case)]));
            return;
        }
        let combined = previous
            .map_or("", |expansion| &expansion.end_text)
            .chars()
            .chain(self.form.kept_chars(text))
            .nfkc();
        match (self.folds_case, self.folds_fully) {
            (false, _) => out.extend(combined),
            (true, false) => out.extend(combined.map(fold_char).nfkc()),
            (true, true) => out.extend(combined.flat_map(full_fold).nfkc()),
        }
    }

    /// True only if a quick check shows that this mode would not change the text.
    fn is_surely_unchanged(self, text: &str) -> bool {
        let is_folded = || is_folded(text) && (!self.folds_fully || text.is_ascii());
        (!self.folds_case || is_folded()) && self.form.is_surely_normalized(text)
    }
}

impl NormalizationForm {
    /// True only if a quick check shows that `text` is in this normalization form. False if the
    /// text is not in this form, or if only the full normalization could decide.
    fn is_surely_normalized(self, text: &str) -> bool {
        match self {
            NormalizationForm::None => true,
            _ if text.is_ascii() => true,
            _ => {
                let chars = || text.chars().filter(|&c| !is_inert(c));
                let removes = self.removes_invisible() && chars().any(is_default_ignorable);
                let composed = match self.is_nfkc() {
                    true => is_nfkc_quick(chars()),
                    false => is_nfc_quick(chars()),
                };
                !removes && composed == IsNormalized::Yes
            }
        }
    }

    fn is_nfkc(self) -> bool {
        matches!(self, NormalizationForm::Nfkc | NormalizationForm::StrictNfkc)
    }

    fn removes_invisible(self) -> bool {
        matches!(self, NormalizationForm::Nfkc | NormalizationForm::Visible)
    }

    /// Returns the characters of a text without the characters that this normalization form
    /// removes: the invisible ones, for some forms.
    fn kept_chars(self, text: &str) -> impl Iterator<Item = char> {
        let removes = self.removes_invisible();
        text.chars().filter(move |&c| !(removes && is_default_ignorable(c)))
    }

    fn push_normalized(self, chars: impl Iterator<Item = char>, out: &mut String) {
        match self {
            NormalizationForm::None => out.extend(chars),
            NormalizationForm::Nfc | NormalizationForm::Visible => out.extend(chars.nfc()),
            NormalizationForm::Nfkc | NormalizationForm::StrictNfkc => out.extend(chars.nfkc()),
        }
    }
}

/// True for common letters that every normalization form keeps and that never compose with a
/// preceding character. The quick check for normalized text takes dozens of nanoseconds per
/// character, so the caller passes only the other characters to the check. Without these letters,
/// the check may reject a normalized text, but it never accepts a text that is not normalized.
fn is_inert(c: char) -> bool {
    matches!(c,
        '\0'..='\u{9f}' | 'À'..='ı' // Latin
        | 'Α'..='Ω' | 'α'..='ω' | '\u{400}'..='\u{482}' // Greek, Cyrillic
        | '\u{5d0}'..='\u{5ea}' | '\u{621}'..='\u{64a}' // Hebrew, Arabic
        | '‘'..='”' | '、'..='。' | 'ぁ'..='ゖ' | 'ァ'..='ヺ' // quotes, kana
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' // Han, Hangul
        | '\u{1f300}'..='\u{1f6ff}' // emoji
    )
}

impl_codec!(enum NormalizationForm { 0 None, 1 Nfc, 2 Nfkc, 3 Visible, 4 StrictNfkc });
impl_codec!(struct TextMode { folds_case, folds_fully, form });

#[cfg(test)]
mod tests {
    use super::*;

    const UNCHANGED: TextMode = TextMode::PLAIN;
    const FOLD: TextMode = TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::None };
    const NFC: TextMode = TextMode { folds_case: false, folds_fully: false, form: NormalizationForm::Nfc };
    const NFKC: TextMode = TextMode { folds_case: false, folds_fully: false, form: NormalizationForm::Nfkc };
    const FOLD_NFC: TextMode =
        TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::Nfc };
    const FOLD_NFKC: TextMode =
        TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::Nfkc };
    const VISIBLE: TextMode =
        TextMode { folds_case: false, folds_fully: false, form: NormalizationForm::Visible };
    const FOLD_VISIBLE: TextMode =
        TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::Visible };
    const STRICT_NFKC: TextMode =
        TextMode { folds_case: false, folds_fully: false, form: NormalizationForm::StrictNfkc };
    const FOLD_STRICT_NFKC: TextMode =
        TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::StrictNfkc };
    const FULL_FOLD: TextMode = TextMode { folds_fully: true, ..FOLD };
    const FULL_FOLD_NFC: TextMode = TextMode { folds_fully: true, ..FOLD_NFC };
    const FULL_FOLD_NFKC: TextMode = TextMode { folds_fully: true, ..FOLD_NFKC };
    const FULL_FOLD_VISIBLE: TextMode = TextMode { folds_fully: true, ..FOLD_VISIBLE };
    const FULL_FOLD_STRICT_NFKC: TextMode = TextMode { folds_fully: true, ..FOLD_STRICT_NFKC };
    const ALL_MODES: [TextMode; 15] = [
        UNCHANGED,
        FOLD,
        NFC,
        NFKC,
        FOLD_NFC,
        FOLD_NFKC,
        VISIBLE,
        FOLD_VISIBLE,
        STRICT_NFKC,
        FOLD_STRICT_NFKC,
        FULL_FOLD,
        FULL_FOLD_NFC,
        FULL_FOLD_NFKC,
        FULL_FOLD_VISIBLE,
        FULL_FOLD_STRICT_NFKC,
    ];

    /// Returns `text` as `mode` prepares it, and checks three laws. The result is borrowed exactly
    /// if nothing changes, [`TextMode::prepare_into`] appends the same text, and preparing the
    /// result again changes nothing.
    fn prepare_and_check_laws(mode: TextMode, text: &str) -> String {
        let prepared = mode.prepare(text);
        assert_eq!(matches!(prepared, Cow::Borrowed(_)), prepared == text, "{mode:?} {text:?}: borrowed");
        let mut out = String::from("e");
        mode.prepare_into(text, &mut out);
        assert_eq!(out[1..], *prepared, "{mode:?} {text:?}: appended");
        assert_eq!(mode.prepare(&prepared), prepared, "{mode:?} {text:?}: twice");
        prepared.into_owned()
    }

    #[test]
    fn prepares_examples() {
        for (mode, text, expected) in [
            (UNCHANGED, "Cafe\u{301} Ａ", "Cafe\u{301} Ａ"),
            (FOLD, "CAFE\u{301} Ａ", "cafe\u{301} ａ"),
            (NFC, "Cafe\u{301} Ａ", "Café Ａ"),
            (NFC, "Café", "Café"),
            (NFKC, "ﬁle Ａ１ ㍿ ｶﾞ", "file A1 株式会社 ガ"),
            (FOLD_NFC, "CAFE\u{301}", "café"),
            (FOLD_NFC, "J\u{30c}", "ǰ"),
            (FOLD_NFC, "\u{212b}ngström", "ångström"),
            (FOLD_NFKC, "ＣＡＦＥ\u{301} Ǆ", "café dž"),
            (FOLD_NFKC, "Plain TEXT", "plain text"),
            (FOLD_NFKC, "", ""),
            (NFKC, "ur\u{ad}gent e\u{34f}\u{301} ❤\u{fe0f}", "urgent é ❤"),
            (NFKC, "㍿\u{200b}㍿\u{2060}", "株式会社株式会社"),
            (FOLD_NFKC, "UR\u{200b}Ｇent \u{2060}", "urgent "),
            (VISIBLE, "e\u{200d}\u{301} Ａ\u{feff}", "é Ａ"),
            (FOLD_VISIBLE, "J\u{ad}\u{30c}", "ǰ"),
            (STRICT_NFKC, "ur\u{ad}Ｇent", "ur\u{ad}Gent"),
            (NFC, "ur\u{ad}gent", "ur\u{ad}gent"),
            (FULL_FOLD, "STRAẞE straße ŉ İı", "strasse strasse ʼn i\u{307}ı"),
            (FULL_FOLD, "Plain TEXT", "plain text"),
            (FULL_FOLD_NFC, "H\u{331} ẖ ß", "ẖ ẖ ss"),
            (FULL_FOLD_NFKC, "ＳＴＲＡẞＥ ﬃ", "strasse ffi"),
            (FULL_FOLD_VISIBLE, "stra\u{ad}ße", "strasse"),
        ] {
            assert_eq!(prepare_and_check_laws(mode, text), expected, "{mode:?} {text:?}");
        }
    }

    /// Checks `prepare` for every character that some mode changes: alone, after a letter, and
    /// before common combining marks. A second call must change nothing, and a text must be
    /// borrowed exactly if it is unchanged.
    #[test]
    fn laws_hold_for_every_character() {
        let mut text = String::new();
        for c in '\0'..=char::MAX {
            let inert = is_inert(c) && fold_char(c) == c;
            if inert || FOLD_NFKC.is_surely_unchanged(c.encode_utf8(&mut [0; 4])) {
                continue;
            }
            for (before, after) in
                [("", ""), ("a", ""), ("Α", ""), ("", "\u{345}\u{301}"), ("j", "\u{30c}\u{323}")]
            {
                text.clear();
                text.extend([before, c.encode_utf8(&mut [0; 4]), after]);
                for mode in ALL_MODES {
                    prepare_and_check_laws(mode, &text);
                }
            }
        }
    }

    /// A character with a long NFKC form (an expansion) composes with its neighbours as the
    /// characters of its expansion would.
    #[test]
    fn expanding_characters_compose_with_their_neighbours() {
        let marks =
            ["", "a", "\u{301}", "\u{345}", "\u{3099}", "\u{653}", "\u{670}\u{64e}", "J\u{30c}", "\u{1161}"];
        for c in ('\u{2000}'..='\u{1f2ff}').filter(|c| find_expanding_char(*c).is_some()) {
            for (before, after) in marks.iter().flat_map(|before| marks.map(|after| (before, after))) {
                let text = format!("{before}{c}{after}{c}{c}{after}");
                let plain: String = text.nfkc().collect();
                assert_eq!(
                    (prepare_and_check_laws(NFKC, &text), prepare_and_check_laws(STRICT_NFKC, &text)),
                    (plain.clone(), plain.clone())
                );
                let folded: String = plain.chars().map(fold_char).nfkc().collect();
                assert_eq!(prepare_and_check_laws(FOLD_NFKC, &text), folded);
            }
        }
    }

    /// Characters that are equal when case is ignored stay equal if case folding is followed by NFC
    /// normalization.
    #[test]
    fn case_never_survives_folding() {
        for c in '\0'..='\u{1ffff}' {
            let (a, b) = (c.to_string(), fold_char(c).to_string());
            for mode in [FOLD, FOLD_NFC] {
                assert_eq!(mode.prepare(&a), mode.prepare(&b), "{mode:?} {c:?}");
            }
        }
    }

    #[test]
    fn inert_characters_pass_quick_checks() {
        use unicode_normalization::char::canonical_combining_class;
        for c in ('\0'..=char::MAX).filter(|&c| is_inert(c)) {
            assert_eq!(is_nfc_quick([c].into_iter()), IsNormalized::Yes, "{c:?}");
            assert_eq!(is_nfkc_quick([c].into_iter()), IsNormalized::Yes, "{c:?}");
            assert_eq!(canonical_combining_class(c), 0, "{c:?}");
            assert!(!is_default_ignorable(c), "{c:?}");
        }
    }

    /// NFKC and case folding turn no visible character into an invisible one. So invisible
    /// characters need to be removed only once, before these steps.
    #[test]
    fn no_invisible_character_is_made() {
        for c in ('\0'..=char::MAX).filter(|&c| !is_default_ignorable(c)) {
            for prepared in
                [NFKC, FOLD_NFKC, FOLD_VISIBLE].map(|mode| mode.prepare(&c.to_string()).into_owned())
            {
                assert!(!prepared.contains(is_default_ignorable), "{c:?} {prepared:?}");
            }
        }
    }

    #[test]
    fn only_one_mode_is_plain() {
        assert_eq!(ALL_MODES.map(TextMode::is_plain).iter().filter(|plain| **plain).count(), 1);
        assert!(UNCHANGED.is_plain());
        assert_eq!(TextMode::default(), TextMode::PLAIN);
    }
}
