//! Prefilters: literals of which a text must contain one for a text predicate to be true. One scan
//! of the text finds the literals of all predicates.
//!
//! The contract: whenever the predicate is true for a text, the text contains at least one literal
//! of each prefilter. If `folded` is set, this applies to the case-folded text. Returning no
//! prefilter is always correct.
//!
//! For a regular expression, several prefilters are returned, not just the one with the longest
//! literal. The most selective one depends on the whole rule set: ten thousand expressions may
//! begin with the same word. Literals that do not become keys can still show that the expression
//! need not run.

mod literal_facts;

use crate::bytecode::chunk::{Keywords, Search};
use literal_facts::LiteralExtractor;
use rulec_base::text::{self, Glob};
use rulec_lang::operators::Anchor;

/// Alternative literals: if a predicate is true, the text contains at least one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefilter {
    /// The literals, sorted and normalized as the predicate normalizes the text. No literal is
    /// empty. If there are few literals, none contains another one.
    pub literals: Vec<String>,
    /// Where in the text the literals must be: anywhere, at the start or at the end.
    pub anchor: Anchor,
    /// Whether the literals must be searched in the case-folded text, although the predicate's text
    /// mode does not fold. True only for regular expressions that ignore case.
    pub is_case_folded: bool,
    /// Whether the predicate is true for every text that contains one of the literals.
    pub is_literal_sufficient: bool,
}

/// Maximum number of alternative literals that are derived from a regular expression. In a list
/// with more literals, those that contain another one are not removed, because every pair would be
/// compared.
/// Compared with other values in benches/notes/constants.md.
const MAX_ALTERNATIVE_LITERALS: usize = 64;
/// Maximum number of sets of required literals (prefilters) for one pattern.
/// Compared with other values in benches/notes/constants.md.
const MAX_PREFILTERS: usize = 6;
/// Minimum length in bytes of the literals in a prefilter (set of required literals) of a pattern.
/// Only the most selective prefilter of the pattern may have shorter literals. Other short literals
/// occur in too many texts to be worth searching.
///
/// Measured in benches/notes/literal-scan.md, "Literals to scan for".
const MIN_EXTRA_LITERAL_BYTES: usize = 3;

/// Returns the prefilters (sets of literals) of a text predicate with these keywords. For the
/// predicate to be true, a text must contain at least one literal of each set. There are several
/// sets for `contains all` and for patterns, and none if no literal is required.
pub fn find_prefilters(keywords: &Keywords) -> Vec<Prefilter> {
    let Keywords { search, requires_all: all, mode, words, .. } = keywords;
    let prepare_word = |word: &str| mode.prepare(word).into_owned();
    let make_prefilter = |literals: Vec<String>, anchor: Anchor, exact: bool| {
        let literals = remove_implied_literals(literals, anchor)?;
        Some(Prefilter { literals, anchor, is_case_folded: false, is_literal_sufficient: exact })
    };
    let find_by_word = |find_in_word: &dyn Fn(&str) -> Vec<Prefilter>| -> Vec<Prefilter> {
        if *all || words.len() == 1 {
            return words.iter().flat_map(|word| find_in_word(word)).collect();
        }
        let best_in_word = |word: &std::sync::Arc<str>| {
            find_in_word(word).into_iter().max_by_key(|part| selectivity_score(&part.literals))
        };
        let best_prefilters: Option<Vec<Prefilter>> = words.iter().map(best_in_word).collect();
        best_prefilters.and_then(union_prefilter).into_iter().collect()
    };
    match search {
        Search::Literal(anchor) => {
            let exact = keywords.occurrence_is_enough() && (!all || words.len() == 1);
            if *all {
                words
                    .iter()
                    .filter_map(|word| make_prefilter(vec![prepare_word(word)], *anchor, exact))
                    .collect()
            } else {
                let literals = words.iter().map(|word| prepare_word(word)).collect();
                make_prefilter(literals, *anchor, exact).into_iter().collect()
            }
        }
        Search::Glob => find_by_word(&|pattern| {
            let glob = Glob::with_mode(pattern, *mode);
            let literal_sets =
                keep_selective_sets(glob.literals().map(|literal| vec![literal.to_owned()]).collect());
            literal_sets
                .into_iter()
                .filter_map(|piece| make_prefilter(piece, Anchor::Anywhere, false))
                .collect()
        }),
        Search::Regex => find_by_word(&|pattern| find_regex_prefilters(pattern, mode.folds_case)),
    }
}

/// Combines prefilters (sets of required literals), one for each of several predicates. The result
/// is a prefilter of "any of these predicates is true". `None` if `parts` is empty or a literal is
/// empty, because a search for an empty literal excludes no text.
fn union_prefilter(parts: Vec<Prefilter>) -> Option<Prefilter> {
    let folded = parts.iter().any(|part| part.is_case_folded);
    let literals = parts.into_iter().flat_map(|part| part.literals);
    let literals = literals.map(|literal| if folded { text::fold_text(&literal) } else { literal }).collect();
    let anchor = Anchor::Anywhere;
    Some(Prefilter {
        literals: remove_implied_literals(literals, anchor)?,
        anchor,
        is_case_folded: folded,
        is_literal_sufficient: false,
    })
}

/// Removes each literal that contains another literal of the list at `anchor`, unless the list has
/// more than [`MAX_ALTERNATIVE_LITERALS`] literals. The search for the shorter literal also finds
/// every text with the longer one. Returns `None` if a literal is empty, or if there are no
/// literals.
fn remove_implied_literals(mut literals: Vec<String>, anchor: Anchor) -> Option<Vec<String>> {
    literals.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    literals.dedup();
    if literals.first().is_none_or(String::is_empty) {
        return None;
    }
    // The pairwise comparison is skipped if it would take long.
    if literals.len() <= MAX_ALTERNATIVE_LITERALS {
        let mut minimal_literals: Vec<String> = Vec::with_capacity(literals.len());
        for literal in literals {
            let implies = |shorter: &String| match anchor {
                Anchor::Anywhere => literal.contains(&**shorter),
                Anchor::Start => literal.starts_with(&**shorter),
                Anchor::End => literal.ends_with(&**shorter),
            };
            if !minimal_literals.iter().any(implies) {
                minimal_literals.push(literal);
            }
        }
        literals = minimal_literals;
    }
    literals.sort_unstable();
    Some(literals)
}

/// Returns the prefilters (sets of required literals) of a regular expression. If the expression
/// ignores case, they may have `is_case_folded` set: the literals are then searched in the
/// case-folded text.
fn find_regex_prefilters(pattern: &str, ignore_case: bool) -> Vec<Prefilter> {
    let Ok(hir) = text::parse_cached(pattern, ignore_case) else { return Vec::new() };
    let find_with_folding = |folded: bool| -> Vec<Prefilter> {
        let sets = keep_selective_sets(
            LiteralExtractor { folds_case: folded }.extract_facts(&hir).into_required_sets(),
        );
        let anchor = Anchor::Anywhere;
        let sets = sets.into_iter().filter_map(|set| remove_implied_literals(set, anchor));
        sets.map(|literals| Prefilter {
            literals,
            anchor,
            is_case_folded: folded,
            is_literal_sufficient: false,
        })
        .collect()
    };
    let unfolded = find_with_folding(false);
    if !ignore_case && !pattern.contains("(?") {
        return unfolded;
    }
    let folded = find_with_folding(true);
    let best_size = |prefilters: &[Prefilter]| {
        let best_prefilter =
            prefilters.iter().max_by_key(|prefilter| selectivity_score(&prefilter.literals))?;
        Some((shortest_literal_len(&best_prefilter.literals), best_prefilter.literals.len()))
    };
    match (best_size(&unfolded), best_size(&folded)) {
        // Folding a text costs time, so folded literals are used only if they are more selective.
        (Some((length, count)), Some((other, others))) if length >= other && count <= others => unfolded,
        (_, Some(_)) => folded,
        _ => unfolded,
    }
}

fn shortest_literal_len(literals: &[String]) -> usize {
    literals.iter().map(String::len).min().unwrap_or(0)
}

/// Returns the set if it can be a prefilter: none of its strings is empty, and there are at most
/// [`MAX_ALTERNATIVE_LITERALS`]. Otherwise returns `None`.
fn into_selective_set(set: Vec<String>) -> Option<Vec<String>> {
    (shortest_literal_len(&set) > 0 && set.len() <= MAX_ALTERNATIVE_LITERALS).then_some(set)
}

/// Returns a score for comparing the selectivity of sets of literals. The length of the shortest
/// literal counts first; among equal lengths, fewer literals are better.
fn selectivity_score(set: &[String]) -> (usize, std::cmp::Reverse<usize>) {
    (shortest_literal_len(set).min(8), std::cmp::Reverse(set.len()))
}

/// Keeps the most selective set of alternative literals, and other sets whose literals are long
/// enough to be worth searching.
fn keep_selective_sets(mut sets: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let best_index = (0..sets.len()).rev().max_by_key(|index| selectivity_score(&sets[*index]));
    let mut index = 0;
    let mut remaining = MAX_PREFILTERS;
    sets.retain(|set| {
        let keep = Some(index) == best_index
            || remaining > 1 && shortest_literal_len(set) >= MIN_EXTRA_LITERAL_BYTES;
        index += 1;
        remaining -= usize::from(keep && remaining > 1);
        keep
    });
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_base::text::TextMode;

    fn check_prefilters(search: Search, all: bool, fold: bool, words: &[&str], expected: &[(&[&str], bool)]) {
        let mode = TextMode { folds_case: fold, ..TextMode::PLAIN };
        let words: Box<[_]> = words.iter().map(|word| (*word).into()).collect();
        let found = find_prefilters(&Keywords {
            search,
            whole_word: false,
            requires_all: all,
            mode,
            words: words.clone(),
            cost_per_byte: 0,
        });
        let found: Vec<(Vec<&str>, bool)> = found
            .iter()
            .map(|required| (required.literals.iter().map(String::as_str).collect(), required.is_case_folded))
            .collect();
        let expected: Vec<(Vec<&str>, bool)> =
            expected.iter().map(|(literals, folded)| (literals.to_vec(), *folded)).collect();
        assert_eq!(found, expected, "{search:?} {words:?}");
    }

    #[test]
    fn keywords_give_prefilters() {
        check_prefilters(
            Search::Literal(Anchor::Anywhere),
            false,
            false,
            &["refund"],
            &[(&["refund"], false)],
        );
        check_prefilters(
            Search::Literal(Anchor::Anywhere),
            false,
            true,
            &["ReFund", "money"],
            &[(&["money", "refund"], false)],
        );
        check_prefilters(
            Search::Literal(Anchor::Anywhere),
            false,
            false,
            &["refund", "fun"],
            &[(&["fun"], false)],
        );
        check_prefilters(
            Search::Literal(Anchor::Anywhere),
            true,
            false,
            &["a", "b"],
            &[(&["a"], false), (&["b"], false)],
        );
        check_prefilters(Search::Literal(Anchor::Start), false, false, &["x", ""], &[]);
        check_prefilters(Search::Glob, false, false, &["*.rs"], &[(&[".rs"], false)]);
        check_prefilters(
            Search::Glob,
            false,
            true,
            &["Re?port*Final"],
            &[(&["port"], false), (&["final"], false)],
        );
        check_prefilters(Search::Glob, false, false, &["*?*"], &[]);
    }

    #[test]
    fn expressions_give_prefilters() {
        for (pattern, expected) in [
            (
                "show (my|the|this) file",
                Some((&["show my file", "show the file", "show this file"][..], false)),
            ),
            (r"(?i)\b(Invoice|bill)s?\b", Some((&["bill", "invoice"], true))),
            (r"file [A-Z]{2}-[0-9]{4,8}", Some((&["file "], false))),
            (r"[A-Z]{2}-[0-9]+", Some((&["-"], false))),
            (r"\d+", None),
            ("a*", None),
            ("(abc)+d", Some((&["abc"], false))),
            ("x?yz", Some((&["yz"], false))),
            ("colou?r", Some((&["color", "colour"], false))),
            ("(a|.)b", Some((&["b"], false))),
            ("foo|", None),
            ("[ab]cd", Some((&["acd", "bcd"], false))),
            ("(?i)straße", Some((&["straße"], true))),
            ("(", None),
        ] {
            let expected: Vec<(&[&str], bool)> = expected.into_iter().collect();
            check_prefilters(Search::Regex, false, false, &[pattern], &expected);
        }
        // All prefilters are returned, because their selectivity depends on the whole rule set.
        check_prefilters(
            Search::Regex,
            false,
            false,
            &["^schedule [a-z]+ gaigagebx"],
            &[(&["schedule "], false), (&[" gaigagebx"], false)],
        );
        check_prefilters(
            Search::Regex,
            false,
            false,
            &["(find|compress) +fupouplols?"],
            &[(&["compress", "find"], false), (&["fupouplol"], false)],
        );
        check_prefilters(
            Search::Regex,
            false,
            false,
            &["部署[0-9]+号?ponaim"],
            &[(&["部署"], false), (&["ponaim"], false)],
        );
        check_prefilters(
            Search::Glob,
            false,
            false,
            &["/srv/*/report?final"],
            &[(&["/srv/"], false), (&["/report"], false), (&["final"], false)],
        );
        check_prefilters(
            Search::Regex,
            false,
            false,
            &["^查.*订单$"],
            &[(&["查"], false), (&["订单"], false)],
        );
        check_prefilters(Search::Regex, false, true, &["Refund"], &[(&["refund"], true)]);
        check_prefilters(Search::Regex, false, false, &["(?i)ab", "CD"], &[(&["ab", "cd"], true)]);
    }

    /// Every text that a regular expression matches contains a literal of each prefilter (set of
    /// literals) that is derived from the expression.
    #[test]
    fn matched_texts_contain_prefilter_literals() {
        let mut seed = 7_u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        let parts =
            ["a", "b", "Ab", "[aB]", "a?", "b+", ".", "(ab|b)", "(a|)", "(?i:aB)", "\\b", "c{2,3}", "[^a]"];
        let mut held = 0;
        for _ in 0..4000 {
            let pattern: String =
                (0..1 + below(5)).map(|_| parts[below(parts.len() as u64) as usize]).collect();
            let ignore_case = below(2) == 0;
            let required = find_regex_prefilters(&pattern, ignore_case);
            let regex = text::compile_regex(&pattern, ignore_case).expect("it compiles");
            for _ in 0..20 {
                let text: String =
                    (0..below(9)).map(|_| ['a', 'b', 'A', 'B', 'c', ' '][below(6) as usize]).collect();
                if regex.is_match(&text) {
                    for required in &required {
                        let read =
                            if required.is_case_folded { text::fold_text(&text) } else { text.clone() };
                        held += 1;
                        assert!(
                            required.literals.iter().any(|literal| read.contains(&**literal)),
                            "{pattern} {ignore_case} matches {text:?}, {required:?}"
                        );
                    }
                }
            }
        }
        assert!(held > 3000, "{held}");
    }
}
