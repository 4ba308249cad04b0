//! How a predicate with one constant operand depends on its other operand. Computes the values at
//! which the predicate's truth changes, and the texts for which the predicate is true. A property
//! is only reported if it is certain.

use super::string_theory::{TextLanguage, parse_language};
use regex_syntax::hir::Hir;
use rulec_base::text::{NormalizationForm, is_word_char, word};
use rulec_lang::operators::modifiers::{Quantity, TestMode};
use rulec_lang::operators::{Anchor, Op, Search};
use rulec_lang::value::{Value, format_datetime, parse_datetime};
use rulec_sema::hir::Const;
use serde_json::{Value as Json, json};
use std::rc::Rc;
use std::sync::Arc;
use time::Duration;

/// How the truth of a predicate depends on one operand if the other operand is constant.
#[derive(Clone, Debug, Default)]
pub(super) struct PredicateShape {
    /// The constants that the predicate compares the operand with.
    pub constants: Vec<Json>,
    /// Whether the predicate is true for exactly these constants and for no other value, such as a
    /// text in another case.
    pub finite: bool,
    pub on_text: TextDependence,
    /// The elements that the predicate searches a list for.
    pub elements: Option<ElementSet>,
    /// The key that the predicate looks up in a dict.
    pub key: Option<Arc<str>>,
    /// Whether the constants contain lists or dicts.
    pub nested: bool,
    /// Whether a constant is so large that neighbouring integers are equal as floats.
    pub huge: bool,
}

/// How the truth of a predicate depends on a text operand.
#[derive(Clone, Debug, Default)]
pub(super) enum TextDependence {
    /// The predicate has the same truth for every text.
    #[default]
    Constant,
    /// The predicate is true for the matched texts and false for all other texts.
    Texts(MatchedTexts),
    /// The truth depends only on how the text and the constants are ordered.
    Order,
    Opaque,
}

/// The texts for which a predicate with constant keywords is true.
#[derive(Clone, Debug)]
pub(super) struct MatchedTexts {
    /// How a keyword is searched in the text; `None` if text and keyword are compared for equality.
    search: Option<Search>,
    keywords: Vec<String>,
    /// True if all keywords must be found, false if one is enough.
    all: bool,
    mode: TestMode,
}

#[derive(Clone, Debug)]
pub(super) struct ElementSet {
    pub values: Vec<Json>,
    /// True if the list must contain all values, false if one is enough.
    pub all: bool,
    pub mode: TestMode,
}

/// Maximum length of a keyword that is compiled to an automaton, in bytes.
const MAX_KEYWORD_BYTES: usize = 2_000;
/// Maximum number of keywords of one predicate that are compiled to automata.
const MAX_KEYWORDS: usize = 3_000;

/// Returns how a predicate depends on its operand that is not constant; `None` if that is unknown.
/// `reversed` is true if the constant is the left operand.
pub(super) fn predicate_shape(
    op: Option<Op>,
    mode: TestMode,
    constant: Option<&Const>,
    reversed: bool,
) -> Option<PredicateShape> {
    let (Some(op), Some(constant)) = (op, constant) else {
        return matches!(op, None | Some(Op::IsMissing)).then(PredicateShape::default);
    };
    let value = constant_to_json(constant)?;
    match op {
        Op::Eq => Some(shape_of_equality(&value, mode)),
        Op::Lt | Op::Le => {
            let on_text = if value.is_string() && !matches!(constant, Const::DateTime(_)) {
                TextDependence::Order
            } else {
                TextDependence::Constant
            };
            Some(PredicateShape { on_text, ..with_constants(vec![value]) })
        }
        Op::In if reversed => {
            let elements = ElementSet { values: vec![value], all: false, mode };
            Some(PredicateShape { elements: Some(elements), ..PredicateShape::default() })
        }
        Op::In => {
            let Json::Array(values) = value else { return None };
            let on_text = text_dependence(None, values.iter().filter_map(Json::as_str), mode);
            let finite = mode.text.is_plain();
            Some(PredicateShape { on_text, finite, ..with_constants(values) })
        }
        Op::HasKey if !reversed => {
            value.as_str().map(|key| PredicateShape { key: Some(key.into()), ..PredicateShape::default() })
        }
        _ if !reversed => op.info().search.map(|search| shape_of_search(search, op, mode, value)),
        _ => None,
    }
}

/// Converts a constant to the form that it has in a message.
fn constant_to_json(constant: &Const) -> Option<Json> {
    match constant {
        Const::Json(json) => Some((**json).clone()),
        Const::DateTime(at) => Some(format_datetime(*at).into()),
        Const::Version(_) => None,
    }
}

fn with_constants(constants: Vec<Json>) -> PredicateShape {
    let nested = constants.iter().any(|value| value.is_array() || value.is_object());
    let huge = constants.iter().any(|value| value.as_f64().is_some_and(|number| number.abs() > 9e15));
    PredicateShape { constants, nested, huge, ..PredicateShape::default() }
}

fn shape_of_equality(value: &Json, mode: TestMode) -> PredicateShape {
    let on_text = match value.as_str() {
        Some(text) => text_dependence(None, [text].into_iter(), mode),
        None => TextDependence::Constant,
    };
    PredicateShape { on_text, finite: mode.text.is_plain(), ..with_constants(vec![value.clone()]) }
}

/// Returns the shape of a predicate that searches for keywords in a text, or for elements in a
/// list.
fn shape_of_search(search: Search, op: Op, mode: TestMode, value: Json) -> PredicateShape {
    let values = match (mode.quantity, value) {
        (Some(_), Json::Array(values)) => values,
        (_, value) => vec![value],
    };
    let all = mode.quantity == Some(Quantity::All);
    let on_text = match values.iter().all(Json::is_string) {
        true => text_dependence(Some(search), values.iter().filter_map(Json::as_str), mode),
        false if mode.quantity.is_none() => TextDependence::Constant,
        false => TextDependence::Opaque,
    };
    let elements = (op == Op::Contains).then(|| ElementSet { values: values.clone(), all, mode });
    let nested = op == Op::Contains
        && values.iter().any(|value| value.is_array() || value.is_object() || value.is_null());
    // The keywords themselves are useful candidate texts.
    let constants = values.into_iter().filter(Json::is_string).collect();
    PredicateShape { constants, on_text, elements, nested, ..PredicateShape::default() }
}

/// Returns how a predicate with keywords depends on its text operand. `search` is how a keyword is
/// searched; `None` means equality.
fn text_dependence<'k>(
    search: Option<Search>,
    keywords: impl Iterator<Item = &'k str>,
    mode: TestMode,
) -> TextDependence {
    let keywords: Vec<String> = keywords.map(str::to_owned).collect();
    if mode.text.form != NormalizationForm::None {
        return TextDependence::Opaque;
    }
    TextDependence::Texts(MatchedTexts { search, keywords, all: mode.quantity == Some(Quantity::All), mode })
}

impl MatchedTexts {
    /// True if the following holds: if the predicate `other` is true for a keyword of this
    /// predicate, `other` is true for every text in which this predicate finds that keyword.
    pub fn implies_found_keywords_of(&self, other: &MatchedTexts) -> bool {
        let (Some(Search::Literal(own)), Some(Search::Literal(anchor))) = (self.search, other.search) else {
            return false;
        };
        let same_place = match anchor {
            Anchor::Anywhere => true,
            anchor => anchor == own,
        };
        same_place && !other.mode.word && (other.mode.text.fold || !self.mode.text.fold)
    }

    /// True if each text for which the predicate is true contains a keyword that `holds` accepts.
    pub fn implies(&self, mut holds: impl FnMut(&str) -> bool) -> bool {
        match self.all {
            true => self.keywords.iter().any(|keyword| holds(keyword)),
            false => !self.keywords.is_empty() && self.keywords.iter().all(|keyword| holds(keyword)),
        }
    }

    /// Returns the texts for which the predicate is true, as languages (sets of texts). These texts
    /// are in all of the languages. `None` if the languages are too large for automata.
    pub fn languages(&self) -> Option<Vec<TextLanguage>> {
        if self.keywords.len() > MAX_KEYWORDS {
            return None;
        }
        let of = |keyword: &String| match self.search {
            Some(search) => search_language(search, keyword, self.mode),
            None => keyword_language(keyword, self.mode, "", ""),
        };
        let parts: Vec<Hir> = self.keywords.iter().map(of).collect::<Option<_>>()?;
        Some(match self.all {
            true => parts.into_iter().map(|part| TextLanguage(Rc::new(part))).collect(),
            false => vec![TextLanguage(Rc::new(Hir::alternation(parts)))],
        })
    }
}

fn parse_regex(pattern: &str) -> Option<Hir> {
    parse_language(pattern).map(|language| (*language.0).clone())
}

/// Returns the language (set of texts) that `before`, the keyword `text` and `after` form when
/// joined. The keyword is literal; the other two are regular expressions.
fn keyword_language(text: &str, mode: TestMode, before: &str, after: &str) -> Option<Hir> {
    if text.len() > MAX_KEYWORD_BYTES {
        return None;
    }
    let flags = if mode.text.fold { "(?i:" } else { "(?:" };
    parse_regex(&format!("{before}{flags}{}){after}", regex_syntax::escape(text)))
}

const ANY_TEXT: &str = "(?s:.*)";

/// Returns the language of the texts in which the keyword or pattern `text` is found.
fn search_language(search: Search, text: &str, mode: TestMode) -> Option<Hir> {
    match search {
        Search::Literal(anchor) => {
            let edge = |c: Option<char>| mode.word && c.is_some_and(is_word_char);
            // At a word edge of the keyword, the adjacent character must not be a word character.
            let before = if edge(text.chars().next()) {
                format!("(?:{ANY_TEXT}[^{}])?", word::WORD_CHAR_CLASS)
            } else {
                ANY_TEXT.to_owned()
            };
            let after = if edge(text.chars().last()) {
                format!("(?:[^{}]{ANY_TEXT})?", word::WORD_CHAR_CLASS)
            } else {
                ANY_TEXT.to_owned()
            };
            match anchor {
                Anchor::Anywhere => keyword_language(text, mode, &before, &after),
                Anchor::Start => keyword_language(text, mode, "", &after),
                Anchor::End => keyword_language(text, mode, &before, ""),
            }
        }
        Search::Glob => glob_language(text, mode),
        Search::Regex => {
            let hir = regex_syntax::ParserBuilder::new()
                .case_insensitive(mode.text.fold)
                .build()
                .parse(text)
                .ok()?;
            let around = parse_regex(ANY_TEXT)?;
            Some(Hir::concat(vec![around.clone(), hir, around]))
        }
    }
}

/// Returns the language (set of texts) that a pattern of `like` matches.
fn glob_language(pattern: &str, mode: TestMode) -> Option<Hir> {
    if pattern.len() > MAX_KEYWORD_BYTES {
        return None;
    }
    let mut written = String::from(if mode.text.fold { "(?is:" } else { "(?s:" });
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let plain = match c {
            '*' => {
                written.push_str(".*");
                continue;
            }
            '?' => {
                written.push('.');
                continue;
            }
            '\\' => chars.next_if(|c| matches!(c, '*' | '?' | '\\')).unwrap_or('\\'),
            c => c,
        };
        written.push_str(&regex_syntax::escape(plain.encode_utf8(&mut [0; 4])));
    }
    parse_regex(&(written + ")"))
}

impl PredicateShape {
    /// Adds values that are likely to satisfy the predicate or its negation: the constants and
    /// their nearest neighbours. For predicates on numbers, date-times or the order of texts, one
    /// of them is a solution if there is any.
    pub fn add_candidates(&self, found: &mut Vec<Json>) {
        for constant in &self.constants {
            found.push(constant.clone());
            match constant {
                Json::Number(number) => add_neighbours(number, found),
                Json::String(text) => {
                    if matches!(self.on_text, TextDependence::Order) {
                        found.extend([
                            json!(format!("{text}a")),
                            json!(format!("{text}\0")),
                            json!(""),
                            json!("\0"),
                        ]);
                    }
                    if let Some(at) = parse_datetime(text) {
                        for step in [Duration::SECOND, Duration::NANOSECOND] {
                            let near = [at.checked_add(step), at.checked_sub(step)];
                            found
                                .extend(near.into_iter().flatten().map(|at| Json::from(format_datetime(at))));
                        }
                    }
                }
                _ => {}
            }
        }
        if let Some(ElementSet { values, all, .. }) = &self.elements {
            found.extend(values.iter().take(3).map(|value| json!([value])));
            if *all {
                found.push(values.clone().into());
            }
        }
        if let Some(key) = &self.key {
            found.push(json!({ &**key: true }));
        }
    }
}

/// Adds the neighbours of a number, and the number as a float.
fn add_neighbours(number: &serde_json::Number, found: &mut Vec<Json>) {
    if let Value::Int(int) = Value::from_json(&number.clone().into()) {
        found.extend([int.checked_add(1), int.checked_sub(1)].into_iter().flatten().map(Json::from));
    }
    let Some(float) = number.as_f64() else { return };
    for whole in [float.floor(), float.ceil()] {
        found.extend(
            [whole as i64, (whole as i64).saturating_add(1), (whole as i64).saturating_sub(1)]
                .map(Json::from),
        );
    }
    found.extend([float + 0.5, float - 0.5, float.next_up(), float.next_down(), float].map(Json::from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_either_side_of_a_number_is_tried() {
        let mut found = Vec::new();
        add_neighbours(&3.into(), &mut found);
        for neighbour in [json!(2), json!(3), json!(4), json!(2.5), json!(3.0), json!(3.5)] {
            assert!(found.contains(&neighbour), "{neighbour} among {found:?}");
        }
    }
}
