//! Derives from a regular expression the literals that each matched text contains.

use super::{MAX_ALTERNATIVE_LITERALS, into_selective_set, selectivity_score};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Repetition};
use rulec_base::text;

/// Maximum number of texts that are listed for a subexpression of a regular expression. If a
/// subexpression can match more texts, only literals that these texts must contain are derived.
/// Compared with other values in benches/notes/constants.md.
const MAX_EXACT_STRINGS: usize = 24;
/// Maximum number of characters that are listed for a character class. A class with more characters
/// is treated as any character.
/// Compared with other values in benches/notes/constants.md.
const MAX_CLASS_CHARS: usize = 6;

/// Facts about the texts that a subexpression of a regular expression matches.
pub(super) enum LiteralFacts {
    /// The complete list of the texts that the subexpression matches, if the list is short.
    Exact(Vec<String>),
    /// Sets of literals. Each text that the subexpression matches contains at least one literal of
    /// every set.
    Required(Vec<Vec<String>>),
}

impl LiteralFacts {
    const NO_FACTS: LiteralFacts = LiteralFacts::Required(Vec::new());

    pub fn into_required_sets(self) -> Vec<Vec<String>> {
        match self {
            LiteralFacts::Exact(texts) => into_selective_set(texts).into_iter().collect(),
            LiteralFacts::Required(sets) => sets,
        }
    }
}

/// Derives from a regular expression which literals the matched texts contain.
pub(super) struct LiteralExtractor {
    /// Whether the derived facts are about the matched texts after case folding.
    pub folds_case: bool,
}

impl LiteralExtractor {
    pub fn extract_facts(&self, hir: &Hir) -> LiteralFacts {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => LiteralFacts::Exact(vec![String::new()]),
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(literal) if self.folds_case => LiteralFacts::Exact(vec![text::fold_text(literal)]),
                Ok(literal) => LiteralFacts::Exact(vec![literal.to_owned()]),
                Err(_) => LiteralFacts::NO_FACTS,
            },
            HirKind::Class(Class::Unicode(class)) => self.extract_class(class),
            HirKind::Class(Class::Bytes(_)) => LiteralFacts::NO_FACTS,
            HirKind::Repetition(repetition) => self.extract_repetition(repetition),
            HirKind::Capture(capture) => self.extract_facts(&capture.sub),
            HirKind::Concat(parts) => self.extract_concat(parts),
            HirKind::Alternation(parts) => self.extract_alternation(parts),
        }
    }

    fn extract_class(&self, class: &ClassUnicode) -> LiteralFacts {
        // A letter that ignores case may be several characters.
        let char_count: usize = class.ranges().iter().map(|range| range.len()).sum();
        if char_count > MAX_CLASS_CHARS * 4 {
            return LiteralFacts::NO_FACTS;
        }
        let chars = class.ranges().iter().flat_map(|range| range.start()..=range.end());
        let mut chars: Vec<char> =
            chars.map(|c| if self.folds_case { text::fold_char(c) } else { c }).collect();
        // Characters sort like their UTF-8 encoding.
        chars.sort_unstable();
        chars.dedup();
        if chars.len() > MAX_CLASS_CHARS {
            return LiteralFacts::NO_FACTS;
        }
        LiteralFacts::Exact(chars.into_iter().map(String::from).collect())
    }

    fn extract_repetition(&self, repetition: &Repetition) -> LiteralFacts {
        let sub = self.extract_facts(&repetition.sub);
        match (repetition.min, repetition.max) {
            (1, Some(1)) => sub,
            (0, Some(1)) => match sub {
                LiteralFacts::Exact(mut texts) if texts.len() < MAX_EXACT_STRINGS => {
                    texts.push(String::new());
                    LiteralFacts::Exact(texts)
                }
                _ => LiteralFacts::NO_FACTS,
            },
            (0, _) => LiteralFacts::NO_FACTS,
            _ => LiteralFacts::Required(sub.into_required_sets()),
        }
    }

    fn extract_concat(&self, parts: &[Hir]) -> LiteralFacts {
        let (mut run, mut whole) = (vec![String::new()], true);
        let mut required = Vec::new();
        for part in parts {
            match self.extract_facts(part) {
                LiteralFacts::Exact(texts) if texts.len() * run.len() <= MAX_EXACT_STRINGS => {
                    run = run
                        .iter()
                        .flat_map(|start| texts.iter().map(move |end| [start.as_str(), end].concat()))
                        .collect();
                }
                part => {
                    whole = false;
                    required.extend(into_selective_set(std::mem::take(&mut run)));
                    // The concatenation restarts after this part, or with the texts of this part if
                    // they are listed.
                    match part {
                        LiteralFacts::Exact(texts) => run = texts,
                        LiteralFacts::Required(sets) => {
                            required.extend(sets);
                            run = vec![String::new()];
                        }
                    }
                }
            }
        }
        if whole {
            return LiteralFacts::Exact(run);
        }
        required.extend(into_selective_set(run));
        LiteralFacts::Required(required)
    }

    fn extract_alternation(&self, parts: &[Hir]) -> LiteralFacts {
        let (mut exact, mut required) = (Some(Vec::new()), Some(Vec::new()));
        for part in parts {
            let part = self.extract_facts(part);
            exact = match (exact, &part) {
                (Some(mut all), LiteralFacts::Exact(texts)) => {
                    all.extend(texts.iter().cloned());
                    Some(all)
                }
                _ => None,
            };
            exact = exact.filter(|all: &Vec<String>| all.len() <= MAX_ALTERNATIVE_LITERALS);
            let best_set = part.into_required_sets().into_iter().max_by_key(|set| selectivity_score(set));
            required = required.zip(best_set).map(|(mut all, texts)| {
                all.extend(texts);
                all
            });
            required = required.filter(|all: &Vec<String>| all.len() <= MAX_ALTERNATIVE_LITERALS);
        }
        match exact {
            Some(texts) => LiteralFacts::Exact(texts),
            None => LiteralFacts::Required(required.into_iter().collect()),
        }
    }
}
