//! Compares the keyword patterns of flows with each other, and with the example messages of flows
//! that an intent triggers. Warns about patterns that can never select their flow, and about
//! examples that select another flow.

use super::Checker;
use crate::hir::{FlowId, Trigger};
use aho_corasick::MatchKind;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text::automaton::LiteralAutomaton;
use rulec_base::text::{LazyRegex, TextMode};
use rulec_lang::operators::Op;
use std::collections::HashMap;
use std::sync::Arc;

/// How a message is compared with the patterns of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PatternMode {
    /// The operator of the match mode, one of [`crate::hir::MATCH_MODES`].
    pub operator: Op,
    pub text_mode: TextMode,
    /// Whether white space around the message and the pattern is ignored.
    pub trims: bool,
}

impl PatternMode {
    /// Removes the white space around a pattern, or around the text of a message, if this mode
    /// ignores such white space. Otherwise returns the text unchanged.
    pub fn strip_ignored_space(self, pattern: &str) -> &str {
        if self.trims { pattern.trim() } else { pattern }
    }

    /// Returns a text in the form in which this mode compares it: trimmed, Unicode-normalized and
    /// case-folded, as the mode requires.
    pub fn prepare_text(self, text: &str) -> String {
        self.text_mode.prepare(self.strip_ignored_space(text)).into_owned()
    }

    /// True if any two texts that are equal in the mode `other` are also equal in this mode. Then a
    /// pattern of this mode can hide a later pattern of the mode `other`.
    fn equates_all_texts_of(self, other: PatternMode) -> bool {
        let folds_chars = self.text_mode.folds_case && self.text_mode.maps_single_chars();
        let is_coarser = self.text_mode == other.text_mode || folds_chars && other.text_mode.is_plain();
        is_coarser && (self.trims || !other.trims)
    }
}

/// A text or regular expression that selects a flow if it matches the text of a message.
pub(super) struct KeywordPattern {
    pub mode: PatternMode,
    /// The keyword pattern of the flow, as the author wrote it.
    pub text: Arc<str>,
    pub flow: FlowId,
    pub span: Span,
}

/// Maximum number of searches for regular expressions of keyword patterns in the example messages
/// of flows that are chosen by meaning.
const MAX_REGEX_SEARCHES: usize = 100_000;

/// A matcher for all `exact` and `contains` patterns that prepare texts in the same way, for
/// example by ignoring case. Because it contains patterns of both operators, the field
/// `mode.operator` is not used.
struct LiteralMatcher {
    mode: PatternMode,
    exact_pattern_indices: HashMap<String, usize>,
    substring_automaton: Option<LiteralAutomaton>,
    /// The indexes of the `contains` patterns, for which an automaton searches. Entry `i` belongs
    /// to text `i` of the automaton.
    substring_pattern_indices: Vec<usize>,
}

impl LiteralMatcher {
    /// Creates the matchers of all `exact` and `contains` patterns. Patterns that prepare texts in
    /// the same way, for example by ignoring case, share one matcher.
    fn of_patterns(patterns: &[KeywordPattern]) -> Vec<LiteralMatcher> {
        let mut modes: Vec<PatternMode> = Vec::new();
        for pattern in patterns.iter().filter(|pattern| pattern.mode.operator != Op::Matches) {
            let mode = PatternMode { operator: Op::Eq, ..pattern.mode };
            if !modes.contains(&mode) {
                modes.push(mode);
            }
        }
        modes.into_iter().map(|mode| LiteralMatcher::new(mode, patterns)).collect()
    }

    fn new(mode: PatternMode, patterns: &[KeywordPattern]) -> LiteralMatcher {
        let (mut exact, mut texts, mut contained_patterns) = (HashMap::new(), Vec::new(), Vec::new());
        for (index, pattern) in patterns.iter().enumerate() {
            if (PatternMode { operator: mode.operator, ..pattern.mode }) != mode {
                continue;
            }
            match pattern.mode.operator {
                Op::Eq => drop(exact.entry(mode.prepare_text(&pattern.text)).or_insert(index)),
                Op::Matches => {}
                _ => {
                    contained_patterns.push(index);
                    texts.push(mode.prepare_text(&pattern.text));
                }
            }
        }
        let contained = LiteralAutomaton::new(MatchKind::Standard, texts).ok();
        LiteralMatcher {
            mode,
            exact_pattern_indices: exact,
            substring_automaton: contained,
            substring_pattern_indices: contained_patterns,
        }
    }

    /// Returns the index of the first pattern that matches a text; `None` if no pattern matches.
    /// `is_whole` is true if the text is a whole message. An `exact` pattern cannot match a part of
    /// a message.
    fn first_match(&self, text: &str, is_whole: bool) -> Option<usize> {
        let exact = if is_whole {
            self.exact_pattern_indices.get(&self.mode.prepare_text(text)).copied()
        } else {
            None
        };
        let prepared = self.mode.text_mode.prepare(text);
        let contained =
            self.substring_automaton.iter().flat_map(|search| search.overlapping_matches(&prepared));
        let contained = contained.map(|(match_index, _)| self.substring_pattern_indices[match_index]).min();
        exact.into_iter().chain(contained).min()
    }
}

/// Finds the first keyword pattern that matches an example message of another flow, one that is
/// chosen by meaning. Patterns are tried first, so such a message never reaches that flow.
struct PatternMatcher<'m> {
    literal_matchers: &'m [LiteralMatcher],
    regexes: Vec<(usize, LazyRegex)>,
}

impl<'m> PatternMatcher<'m> {
    fn new(patterns: &[KeywordPattern], literals: &'m [LiteralMatcher]) -> PatternMatcher<'m> {
        let regexes = patterns.iter().enumerate().filter(|(_, pattern)| pattern.mode.operator == Op::Matches);
        let regexes = regexes.map(|(index, pattern)| {
            (index, LazyRegex::from_checked(&pattern.text, pattern.mode.text_mode.folds_case))
        });
        PatternMatcher { literal_matchers: literals, regexes: regexes.collect() }
    }

    /// Returns the index of the first pattern that matches the message `example`; `None` if no
    /// pattern matches. Tries at most `remaining_searches` regular expressions, and subtracts the
    /// number of tried expressions from `remaining_searches`.
    fn first_match(&self, example: &str, remaining_searches: &mut usize) -> Option<usize> {
        let literal =
            self.literal_matchers.iter().filter_map(|matcher| matcher.first_match(example, true)).min();
        let earlier = self.regexes.iter().take_while(|(index, _)| literal.is_none_or(|first| *index < first));
        let searched = earlier.take_while(|_| {
            let searches_before = *remaining_searches;
            *remaining_searches = searches_before.saturating_sub(1);
            searches_before > 0
        });
        let matching_regex = searched.into_iter().find(|(_, regex)| regex.is_match(example));
        matching_regex.map(|(index, _)| *index).or(literal)
    }
}

impl Checker<'_> {
    /// Warns about patterns that are never reached. Also warns about patterns that match an example
    /// message of a flow that is chosen by meaning: the message then never reaches that flow.
    pub(super) fn warn_pattern_conflicts(&mut self, patterns: &[KeywordPattern]) {
        // One route may be checked alone, and building an automaton would take longer than that
        // check.
        if patterns.is_empty() {
            return;
        }
        let matchers = LiteralMatcher::of_patterns(patterns);
        self.warn_hidden_patterns(patterns, &matchers);
        self.warn_caught_examples(patterns, &PatternMatcher::new(patterns, &matchers));
    }

    /// Warns about patterns that are never reached because an earlier pattern matches every message
    /// that they match.
    fn warn_hidden_patterns(&mut self, patterns: &[KeywordPattern], matchers: &[LiteralMatcher]) {
        let mut first_regexes: HashMap<(&str, bool), usize> = HashMap::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let hiding_index = match pattern.mode.operator {
                Op::Matches => {
                    let key = (&*pattern.text, pattern.mode.text_mode.folds_case);
                    Some(*first_regexes.entry(key).or_insert(index))
                }
                operator => {
                    let covering =
                        matchers.iter().filter(|matcher| matcher.mode.equates_all_texts_of(pattern.mode));
                    let searched = pattern.mode.strip_ignored_space(&pattern.text);
                    covering.filter_map(|matcher| matcher.first_match(searched, operator == Op::Eq)).min()
                }
            };
            if let Some(first) = hiding_index.filter(|first| *first < index) {
                self.warn_hidden_pattern(&patterns[first], pattern);
            }
        }
    }

    fn warn_hidden_pattern(&mut self, first: &KeywordPattern, pattern: &KeywordPattern) {
        let message = message!("the pattern `{}` is never reached", pattern.text);
        let flow = self.program.flows.get(first.flow.index()).map_or("", |flow| &*flow.name);
        let label = message!("`{}` of the flow `{flow}` matches first", first.text);
        self.diagnostics.push(
            Diagnostic::new(Code::PatternHidden, pattern.span, message).label(first.span, label).help(
                message!(
                    "patterns are tried in the order of the file: put the longer one first, or remove it"
                ),
            ),
        );
    }

    /// Warns about keyword patterns that match an example message of a flow that is chosen by
    /// meaning. Patterns are tried first, so the message would select the flow of the pattern.
    fn warn_caught_examples(&mut self, patterns: &[KeywordPattern], matcher: &PatternMatcher<'_>) {
        let flows = self.program.flows.clone();
        let mut remaining_searches = MAX_REGEX_SEARCHES;
        for flow in &flows {
            let Trigger::Intent { examples, .. } = &flow.trigger else { continue };
            for example in examples {
                let caught = matcher.first_match(example, &mut remaining_searches);
                let Some(pattern) = caught.map(|index| &patterns[index]) else { continue };
                let by = flows.get(pattern.flow.index()).map_or("", |flow| &*flow.name);
                let message = message!("the keyword flow `{by}` matches an example of `{}`", flow.name);
                self.diagnostics.push(
                    Diagnostic::new(Code::CatchesExample, pattern.span, message)
                        .here(message!("matches {example}", example = format!("{:?}", &**example)))
                        .label(flow.span, message!("the intent flow"))
                        .help(message!(
                            "keyword flows are tried first; make the pattern narrower, or change the example"
                        )),
                );
            }
        }
    }
}
