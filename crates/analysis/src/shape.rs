//! How a predicate with one constant operand depends on its other operand: its *shape*. The shape
//! contains the values at which the predicate's truth changes, and the texts for which it is true.
//! From the shape, the solver derives candidate values and proofs. A shape is returned only if it
//! is certain.

use super::string_theory::{TextLanguage, parse_language};
use regex_syntax::hir::Hir;
use rulec_base::text::network::edge_addresses;
use rulec_base::text::version::{SMALLEST_VERSION, neighbouring_releases, next_version};
use rulec_base::text::{is_word_char, word};
use rulec_lang::builtins::neighbouring_clock_texts;
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
    /// Whether the predicate is true for exactly the values in `constants` and for no other value,
    /// such as a text in another case.
    pub is_finite: bool,
    /// How the predicate's truth depends on the operand if the operand is a text.
    pub dependence_on_text: TextDependence,
    /// The elements that the predicate searches a list for; `None` if it searches no list.
    pub searched_elements: Option<ElementSet>,
    /// The key that the predicate looks up in a dict; `None` if it looks up no key.
    pub dict_key: Option<Arc<str>>,
    /// Whether the constants with which the predicate compares its operand contain lists or dicts.
    pub has_nested_constants: bool,
    /// Whether a constant is so large that neighbouring integers are equal as floats. Another value
    /// may then satisfy the predicate although no candidate value does.
    pub has_huge_constant: bool,
    /// Whether the predicate's truth depends only on how a version and the constants are ordered.
    pub is_version_order: bool,
}

/// How the truth of a predicate depends on a text operand.
#[derive(Clone, Debug, Default)]
pub(super) enum TextDependence {
    /// The predicate has the same truth for every text.
    #[default]
    Constant,
    /// The predicate is true for the matched texts and false for all other texts.
    Texts(MatchedTexts),
    /// The predicate's truth depends only on how the text and the constants are ordered.
    Order,
    /// The predicate's truth depends only on the IP address that the text denotes, or on whether it
    /// denotes one.
    Address,
    /// The predicate's truth depends on the text in a way that this type cannot describe.
    Opaque,
}

/// The texts for which a predicate with constant keywords is true.
#[derive(Clone, Debug)]
pub(super) struct MatchedTexts {
    /// How the text is searched for a keyword; `None` if text and keyword are compared for
    /// equality.
    search: Option<Search>,
    keywords: Vec<String>,
    /// True if all keywords must be found, false if one is enough.
    requires_all: bool,
    mode: TestMode,
}

/// The elements that a predicate on a list searches for.
#[derive(Clone, Debug)]
pub(super) struct ElementSet {
    pub values: Vec<Json>,
    /// True if the list must contain all values, false if one is enough.
    pub requires_all: bool,
    pub mode: TestMode,
    /// True if the predicate requires that the list contains none of the values. For a list without
    /// these values, the predicate may still be unknown because of elements of other types.
    pub forbids_values: bool,
}

/// Maximum length of a keyword that is compiled to an automaton, in bytes.
const MAX_KEYWORD_BYTES: usize = 2_000;
/// Maximum number of keywords of one predicate that is compiled to automata. A predicate with more
/// keywords is not compiled.
const MAX_KEYWORDS_PER_PREDICATE: usize = 3_000;
/// Maximum number of IP networks of one predicate whose first and last addresses are tried.
const MAX_TRIED_NETWORKS: usize = 64;

/// Returns how a predicate with one constant operand depends on its other operand. `is_reversed` is
/// true if the constant is the left operand. `op` is `None` if the predicate is a bool value.
/// `constant` is `None` if there is only one operand. Returns `None` if the dependence is not
/// known.
pub(super) fn predicate_shape(
    op: Option<Op>,
    mode: TestMode,
    constant: Option<&Const>,
    is_reversed: bool,
) -> Option<PredicateShape> {
    let (Some(op), Some(constant)) = (op, constant) else {
        return matches!(op, None | Some(Op::IsMissing)).then(PredicateShape::default);
    };
    if let Const::Version(version) = constant {
        return (!is_reversed).then(|| shape_of_version_order(op, version)).flatten();
    }
    let value = constant_to_json(constant)?;
    match op {
        Op::Eq => Some(shape_of_equality(&value, mode)),
        Op::Lt | Op::Le => {
            let on_text = if value.is_string() && matches!(constant, Const::Json(_)) {
                TextDependence::Order
            } else {
                TextDependence::Constant
            };
            Some(PredicateShape { dependence_on_text: on_text, ..with_constants(vec![value]) })
        }
        Op::In if is_reversed => {
            let elements =
                ElementSet { values: vec![value], requires_all: false, mode, forbids_values: false };
            Some(PredicateShape { searched_elements: Some(elements), ..PredicateShape::default() })
        }
        Op::In => {
            let Json::Array(values) = value else { return None };
            let on_text = text_dependence(None, values.iter().filter_map(Json::as_str), mode);
            let finite = mode.text.is_plain();
            Some(PredicateShape { dependence_on_text: on_text, is_finite: finite, ..with_constants(values) })
        }
        Op::HasKey if !is_reversed => value
            .as_str()
            .map(|key| PredicateShape { dict_key: Some(key.into()), ..PredicateShape::default() }),
        Op::InNetwork if !is_reversed => shape_of_networks(value),
        _ if !is_reversed => op.info().search.map(|search| shape_of_search(search, op, mode, value)),
        _ => None,
    }
}

fn shape_of_version_order(op: Op, version: &str) -> Option<PredicateShape> {
    let is_known = matches!(op, Op::Eq | Op::Lt | Op::Le) && next_version(version).is_some();
    let shape = with_constants(vec![version.into()]);
    is_known.then_some(PredicateShape { is_version_order: true, ..shape })
}

fn shape_of_networks(value: Json) -> Option<PredicateShape> {
    let networks = match value {
        Json::Array(networks) => networks,
        network => vec![network],
    };
    let is_known = networks.len() <= MAX_TRIED_NETWORKS && networks.iter().all(Json::is_string);
    let shape = PredicateShape { constants: networks, ..PredicateShape::default() };
    is_known.then_some(PredicateShape { dependence_on_text: TextDependence::Address, ..shape })
}

/// Converts `any x in list: x in VALUES` to a predicate on `list`: the list contains one of
/// `values`. With `excludes`, converts `all x in list: x not in VALUES`: the list contains none of
/// `values`. `mode` is how an element is compared with a value, such as ignoring case.
pub(super) fn shape_of_elements(values: Vec<Json>, mode: TestMode, excludes: bool) -> PredicateShape {
    let elements = ElementSet { values, requires_all: false, mode, forbids_values: excludes };
    PredicateShape { searched_elements: Some(elements), ..PredicateShape::default() }
}

/// Converts a constant to the JSON value that it has in a message; `None` if no message can contain
/// it.
fn constant_to_json(constant: &Const) -> Option<Json> {
    match constant {
        Const::Json(json) => Some((**json).clone()),
        Const::DateTime(datetime) => Some(format_datetime(*datetime).into()),
        Const::Version(_) => None,
        Const::Decimal(decimal) => Some(Value::Decimal(*decimal).to_json()),
    }
}

/// True if a decimal constant has at most 15 digits. Its nearest float, read as a decimal, is then
/// the constant itself. So floats suffice as candidates for values around the constant.
pub(super) fn is_short_decimal(constant: &Json) -> bool {
    const MAX_MANTISSA: u128 = 10_u128.pow(15);
    const MAX_SCALE: u32 = 10;
    Value::from_json(constant).to_decimal().is_some_and(|decimal| {
        decimal.mantissa().unsigned_abs() < MAX_MANTISSA && decimal.scale() <= MAX_SCALE
    })
}

fn with_constants(constants: Vec<Json>) -> PredicateShape {
    let has_nested = constants.iter().any(|value| value.is_array() || value.is_object());
    let has_huge = constants.iter().any(|value| value.as_f64().is_some_and(|number| number.abs() > 9e15));
    PredicateShape {
        constants,
        has_nested_constants: has_nested,
        has_huge_constant: has_huge,
        ..PredicateShape::default()
    }
}

fn shape_of_equality(value: &Json, mode: TestMode) -> PredicateShape {
    let on_text = match value.as_str() {
        Some(text) => text_dependence(None, [text].into_iter(), mode),
        None => TextDependence::Constant,
    };
    PredicateShape {
        dependence_on_text: on_text,
        is_finite: mode.text.is_plain(),
        ..with_constants(vec![value.clone()])
    }
}

/// Returns the shape (the dependence on the operand) of a predicate that searches a text for
/// keywords, or a list for elements.
fn shape_of_search(search: Search, op: Op, mode: TestMode, value: Json) -> PredicateShape {
    let values = match (mode.quantity, value) {
        (Some(_), Json::Array(values)) => values,
        (_, value) => vec![value],
    };
    let needs_all = mode.quantity == Some(Quantity::All);
    let on_text = match values.iter().all(Json::is_string) {
        true => text_dependence(Some(search), values.iter().filter_map(Json::as_str), mode),
        false if mode.quantity.is_none() => TextDependence::Constant,
        false => TextDependence::Opaque,
    };
    let elements = (op == Op::Contains).then(|| ElementSet {
        values: values.clone(),
        requires_all: needs_all,
        mode,
        forbids_values: false,
    });
    let has_nested = op == Op::Contains
        && values.iter().any(|value| value.is_array() || value.is_object() || value.is_null());
    // The keywords themselves are useful candidate texts.
    let constants = values.into_iter().filter(Json::is_string).collect();
    PredicateShape {
        constants,
        dependence_on_text: on_text,
        searched_elements: elements,
        has_nested_constants: has_nested,
        ..PredicateShape::default()
    }
}

/// Returns how a predicate with keywords depends on its text operand. `search` is how the text is
/// searched for a keyword; `None` means equality.
fn text_dependence<'k>(
    search: Option<Search>,
    keywords: impl Iterator<Item = &'k str>,
    mode: TestMode,
) -> TextDependence {
    let keywords: Vec<String> = keywords.map(str::to_owned).collect();
    if !mode.text.maps_single_chars() {
        return TextDependence::Opaque;
    }
    TextDependence::Texts(MatchedTexts {
        search,
        keywords,
        requires_all: mode.quantity == Some(Quantity::All),
        mode,
    })
}

impl MatchedTexts {
    /// True if the following holds for each keyword of `self` that `other` accepts: `other` also
    /// accepts each text in which `self` finds this keyword. The caller can then evaluate `other`
    /// on the keywords of `self` alone.
    pub fn found_keywords_satisfy(&self, other: &MatchedTexts) -> bool {
        let (Some(Search::Literal(anchor)), Some(Search::Literal(other_anchor))) =
            (self.search, other.search)
        else {
            return false;
        };
        let same_place = match other_anchor {
            Anchor::Anywhere => true,
            other_anchor => other_anchor == anchor,
        };
        same_place && !other.mode.whole_word && (other.mode.text.folds_case || !self.mode.text.folds_case)
    }

    /// True if each text that satisfies this predicate contains a keyword for which `accepts`
    /// returns true.
    pub fn implies_keyword(&self, mut accepts: impl FnMut(&str) -> bool) -> bool {
        match self.requires_all {
            true => self.keywords.iter().any(|keyword| accepts(keyword)),
            false => !self.keywords.is_empty() && self.keywords.iter().all(|keyword| accepts(keyword)),
        }
    }

    /// Returns languages (sets of texts). The predicate is true exactly for the texts that are in
    /// all of these languages. `None` if the languages are too large for automata.
    pub fn languages(&self) -> Option<Vec<TextLanguage>> {
        if self.keywords.len() > MAX_KEYWORDS_PER_PREDICATE {
            return None;
        }
        let language_of = |keyword: &String| match self.search {
            Some(search) => search_language(search, keyword, self.mode),
            None => keyword_language(keyword, self.mode, "", ""),
        };
        let parts: Vec<Hir> = self.keywords.iter().map(language_of).collect::<Option<_>>()?;
        Some(match self.requires_all {
            true => parts.into_iter().map(|part| TextLanguage(Rc::new(part))).collect(),
            false => vec![TextLanguage(Rc::new(Hir::alternation(parts)))],
        })
    }
}

fn parse_regex(pattern: &str) -> Option<Hir> {
    parse_language(pattern).map(|language| (*language.0).clone())
}

/// Returns a language (set of texts): each text is `prefix`, the keyword `text` and `suffix`
/// joined. The keyword is literal; `prefix` and `suffix` are regular expressions. `None` if the
/// language cannot be computed.
fn keyword_language(text: &str, mode: TestMode, prefix: &str, suffix: &str) -> Option<Hir> {
    if text.len() > MAX_KEYWORD_BYTES {
        return None;
    }
    let flags = if mode.text.folds_case { "(?i:" } else { "(?:" };
    parse_regex(&format!("{prefix}{flags}{}){suffix}", regex_syntax::escape(text)))
}

const ANY_TEXT_REGEX: &str = "(?s:.*)";

/// Returns the language (set of texts) in which the keyword or pattern `text` is found. `None` if
/// the language is not known.
fn search_language(search: Search, text: &str, mode: TestMode) -> Option<Hir> {
    match search {
        Search::Literal(anchor) => {
            let edge = |c: Option<char>| mode.whole_word && c.is_some_and(is_word_char);
            // At a word edge of the keyword, the adjacent character must not be a word character.
            let prefix = if edge(text.chars().next()) {
                format!("(?:{ANY_TEXT_REGEX}[^{}])?", word::WORD_CHAR_CLASS)
            } else {
                ANY_TEXT_REGEX.to_owned()
            };
            let suffix = if edge(text.chars().last()) {
                format!("(?:[^{}]{ANY_TEXT_REGEX})?", word::WORD_CHAR_CLASS)
            } else {
                ANY_TEXT_REGEX.to_owned()
            };
            match anchor {
                Anchor::Anywhere => keyword_language(text, mode, &prefix, &suffix),
                Anchor::Start => keyword_language(text, mode, "", &suffix),
                Anchor::End => keyword_language(text, mode, &prefix, ""),
            }
        }
        Search::Glob => glob_language(text, mode),
        Search::Regex => {
            let hir = regex_syntax::ParserBuilder::new()
                .case_insensitive(mode.text.folds_case)
                .build()
                .parse(text)
                .ok()?;
            let any_text = parse_regex(ANY_TEXT_REGEX)?;
            Some(Hir::concat(vec![any_text.clone(), hir, any_text]))
        }
    }
}

/// Returns the language (set of texts) that a pattern of `like` matches; `None` if it cannot be
/// computed.
fn glob_language(pattern: &str, mode: TestMode) -> Option<Hir> {
    if pattern.len() > MAX_KEYWORD_BYTES {
        return None;
    }
    let mut regex = String::from(if mode.text.folds_case { "(?is:" } else { "(?s:" });
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let literal = match c {
            '*' => {
                regex.push_str(".*");
                continue;
            }
            '?' => {
                regex.push('.');
                continue;
            }
            '\\' => chars.next_if(|c| matches!(c, '*' | '?' | '\\')).unwrap_or('\\'),
            c => c,
        };
        regex.push_str(&regex_syntax::escape(literal.encode_utf8(&mut [0; 4])));
    }
    parse_regex(&(regex + ")"))
}

impl PredicateShape {
    /// Adds values that are likely to satisfy the predicate or its negation: the constants and
    /// their nearest neighbours. For predicates on numbers, date-times or the order of texts, one
    /// of the added values satisfies the predicate if any value does.
    pub fn add_candidates(&self, candidates: &mut Vec<Json>) {
        if matches!(self.dependence_on_text, TextDependence::Address) {
            return add_addresses(self.constants.iter().filter_map(Json::as_str), candidates);
        }
        if self.is_version_order {
            return add_versions(self.constants.iter().filter_map(Json::as_str), candidates);
        }
        for constant in &self.constants {
            candidates.push(constant.clone());
            match constant {
                Json::Number(number) => add_neighbours(number, candidates),
                Json::String(text) => {
                    candidates.extend(neighbouring_clock_texts(text).into_iter().map(Json::from));
                    if matches!(self.dependence_on_text, TextDependence::Order) {
                        candidates.extend([
                            json!(format!("{text}a")),
                            json!(format!("{text}\0")),
                            json!(""),
                            json!("\0"),
                        ]);
                    }
                    if let Some(datetime) = parse_datetime(text) {
                        for step in [Duration::SECOND, Duration::NANOSECOND] {
                            let neighbours = [datetime.checked_add(step), datetime.checked_sub(step)];
                            candidates.extend(
                                neighbours
                                    .into_iter()
                                    .flatten()
                                    .map(|datetime| Json::from(format_datetime(datetime))),
                            );
                        }
                    }
                }
                _ => {}
            }
        }
        if let Some(ElementSet { values, requires_all: all, .. }) = &self.searched_elements {
            candidates.extend(values.iter().take(3).map(|value| json!([value])));
            if *all {
                candidates.push(values.clone().into());
            }
        }
        if let Some(key) = &self.dict_key {
            candidates.push(json!({ &**key: true }));
        }
    }
}

/// Adds the first and last addresses of IP networks, and IPv4 and IPv6 addresses that hardly any
/// network contains. Each address is also added with a space before it.
fn add_addresses<'n>(networks: impl Iterator<Item = &'n str>, candidates: &mut Vec<Json>) {
    let edges = networks.filter_map(edge_addresses).flatten();
    let outside = ["192.0.2.1", "2001:db8::1", "0.0.0.0", "::"].map(Json::from);
    let edges: Vec<Json> = edges.map(|edge| edge.to_string().into()).chain(outside).collect();
    // White space around an address is ignored, so an address has many spellings.
    let padded = edges.iter().filter_map(Json::as_str).map(|edge| Json::from(format!(" {edge}")));
    let padded: Vec<Json> = padded.collect();
    candidates.extend(edges.into_iter().chain(padded));
}

/// Adds version numbers, and the nearest version numbers below and above them.
fn add_versions<'v>(versions: impl Iterator<Item = &'v str>, candidates: &mut Vec<Json>) {
    let mut next = vec!["0.0.0".to_owned(), SMALLEST_VERSION.to_owned()];
    for version in versions {
        candidates.push(version.into());
        candidates.extend(neighbouring_releases(version).into_iter().map(Json::from));
        next.extend(next_version(version));
    }
    candidates.extend(next.into_iter().map(Json::from));
}

/// Adds integers and floats just below and just above a number, and the number as a float.
fn add_neighbours(number: &serde_json::Number, candidates: &mut Vec<Json>) {
    if let Value::Int(int) = Value::from_json(&number.clone().into()) {
        candidates.extend([int.checked_add(1), int.checked_sub(1)].into_iter().flatten().map(Json::from));
    }
    let Some(float) = number.as_f64() else { return };
    for rounded in [float.floor(), float.ceil()] {
        candidates.extend(
            [rounded as i64, (rounded as i64).saturating_add(1), (rounded as i64).saturating_sub(1)]
                .map(Json::from),
        );
    }
    candidates.extend([float + 0.5, float - 0.5, float.next_up(), float.next_down(), float].map(Json::from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_neighbours_of_a_number_are_candidates() {
        let mut found = Vec::new();
        add_neighbours(&3.into(), &mut found);
        for neighbour in [json!(2), json!(3), json!(4), json!(2.5), json!(3.0), json!(3.5)] {
            assert!(found.contains(&neighbour), "{neighbour} among {found:?}");
        }
    }
}
