//! How a predicate with one constant operand depends on its other operand: the values at which its
//! truth changes, and the texts for which it is true. A property is only claimed if it is certain.

use super::string_theory::{Language, language};
use regex_syntax::hir::Hir;
use rulec_base::text::{Form, is_word_char, word};
use rulec_lang::operators::modifiers::{Quantity, TestMode};
use rulec_lang::operators::{Anchor, Op, Search};
use rulec_lang::value::{Value, format_datetime, parse_datetime};
use rulec_sema::hir::Const;
use serde_json::{Value as Json, json};
use std::rc::Rc;
use std::sync::Arc;
use time::Duration;

/// How a predicate depends on one operand if the other operand is constant.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// The constants that the predicate compares the operand with.
    pub constants: Vec<Json>,
    /// Whether the predicate is true only for exactly these constants, without case folding or
    /// similar.
    pub finite: bool,
    pub on_text: OnText,
    /// The elements that the predicate searches a list for.
    pub elements: Option<Elements>,
    /// The key that the predicate looks up in a dict.
    pub key: Option<Arc<str>>,
    /// Whether the constants contain lists or dicts.
    pub nested: bool,
    /// Whether a constant is so large that neighbouring integers are equal as floats.
    pub huge: bool,
}

/// How the truth of a predicate depends on a text operand.
#[derive(Clone, Debug, Default)]
pub(super) enum OnText {
    /// The predicate has the same truth for every text.
    #[default]
    Constant,
    /// The predicate is true for the matched texts and false for all other texts.
    Texts(MatchedTexts),
    /// The truth depends only on how the text and the constants are ordered.
    Order,
    Opaque,
}

/// The texts for which a predicate with keywords is true.
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
pub(super) struct Elements {
    pub values: Vec<Json>,
    /// True if the list must contain all values, false if one is enough.
    pub all: bool,
    pub mode: TestMode,
}

/// Maximum length of a keyword that is compiled to an automaton, in bytes.
const LONGEST: usize = 2_000;
/// Maximum number of keywords of one predicate that are compiled to automata.
const MOST: usize = 3_000;

/// Returns how a predicate depends on its other operand; `None` if that is unknown. `reversed` is
/// true if the constant is the left operand.
pub(super) fn shape(
    op: Option<Op>,
    mode: TestMode,
    constant: Option<&Const>,
    reversed: bool,
) -> Option<Shape> {
    let (Some(op), Some(constant)) = (op, constant) else {
        return matches!(op, None | Some(Op::IsMissing)).then(Shape::default);
    };
    let value = json(constant)?;
    match op {
        Op::Eq => Some(equal(&value, mode)),
        Op::Lt | Op::Le => {
            let on_text = if value.is_string() && !matches!(constant, Const::DateTime(_)) {
                OnText::Order
            } else {
                OnText::Constant
            };
            Some(Shape { on_text, ..with_constants(vec![value]) })
        }
        Op::In if reversed => {
            let elements = Elements { values: vec![value], all: false, mode };
            Some(Shape { elements: Some(elements), ..Shape::default() })
        }
        Op::In => {
            let Json::Array(values) = value else { return None };
            let on_text = texts(None, values.iter().filter_map(Json::as_str), mode);
            let finite = mode.text.is_plain();
            Some(Shape { on_text, finite, ..with_constants(values) })
        }
        Op::HasKey if !reversed => {
            value.as_str().map(|key| Shape { key: Some(key.into()), ..Shape::default() })
        }
        _ if !reversed => op.info().search.map(|search| searching(search, op, mode, value)),
        _ => None,
    }
}

/// Converts a constant to the form that it has in a message.
fn json(constant: &Const) -> Option<Json> {
    match constant {
        Const::Json(json) => Some((**json).clone()),
        Const::DateTime(at) => Some(format_datetime(*at).into()),
        Const::Version(_) => None,
    }
}

fn with_constants(constants: Vec<Json>) -> Shape {
    let nested = constants.iter().any(|value| value.is_array() || value.is_object());
    let huge = constants.iter().any(|value| value.as_f64().is_some_and(|number| number.abs() > 9e15));
    Shape { constants, nested, huge, ..Shape::default() }
}

fn equal(value: &Json, mode: TestMode) -> Shape {
    let on_text = match value.as_str() {
        Some(text) => texts(None, [text].into_iter(), mode),
        None => OnText::Constant,
    };
    Shape { on_text, finite: mode.text.is_plain(), ..with_constants(vec![value.clone()]) }
}

/// Returns the shape of a predicate that searches for keywords in a text, or for elements in a
/// list.
fn searching(search: Search, op: Op, mode: TestMode, value: Json) -> Shape {
    let values = match (mode.quantity, value) {
        (Some(_), Json::Array(values)) => values,
        (_, value) => vec![value],
    };
    let all = mode.quantity == Some(Quantity::All);
    let on_text = match values.iter().all(Json::is_string) {
        true => texts(Some(search), values.iter().filter_map(Json::as_str), mode),
        false if mode.quantity.is_none() => OnText::Constant,
        false => OnText::Opaque,
    };
    let elements = (op == Op::Contains).then(|| Elements { values: values.clone(), all, mode });
    let nested = op == Op::Contains
        && values.iter().any(|value| value.is_array() || value.is_object() || value.is_null());
    // The keywords themselves are useful candidate texts.
    let constants = values.into_iter().filter(Json::is_string).collect();
    Shape { constants, on_text, elements, nested, ..Shape::default() }
}

/// Returns how a predicate with keywords depends on a text operand.
fn texts<'k>(search: Option<Search>, keywords: impl Iterator<Item = &'k str>, mode: TestMode) -> OnText {
    let keywords: Vec<String> = keywords.map(str::to_owned).collect();
    if mode.text.form != Form::None || keywords.len() > MOST {
        return OnText::Opaque;
    }
    OnText::Texts(MatchedTexts { search, keywords, all: mode.quantity == Some(Quantity::All), mode })
}

impl MatchedTexts {
    /// Returns languages (sets of texts). The predicate is true for a text that is in all of them.
    /// `None` if they are too large for automata.
    pub fn languages(&self) -> Option<Vec<Language>> {
        let of = |keyword: &String| match self.search {
            Some(search) => found(search, keyword, self.mode),
            None => literal(keyword, self.mode, "", ""),
        };
        let parts: Vec<Hir> = self.keywords.iter().map(of).collect::<Option<_>>()?;
        Some(match self.all {
            true => parts.into_iter().map(|part| Language(Rc::new(part))).collect(),
            false => vec![Language(Rc::new(Hir::alternation(parts)))],
        })
    }
}

fn parsed(pattern: &str) -> Option<Hir> {
    language(pattern).map(|language| (*language.0).clone())
}

/// Returns the language of the texts that consist of `before`, the keyword and `behind`. The
/// keyword is literal; the other two are regular expressions.
fn literal(text: &str, mode: TestMode, before: &str, behind: &str) -> Option<Hir> {
    if text.len() > LONGEST {
        return None;
    }
    let flags = if mode.text.fold { "(?i:" } else { "(?:" };
    parsed(&format!("{before}{flags}{}){behind}", regex_syntax::escape(text)))
}

const ANY: &str = "(?s:.*)";

/// Returns the language of the texts in which a keyword or pattern is found.
fn found(search: Search, text: &str, mode: TestMode) -> Option<Hir> {
    match search {
        Search::Literal(anchor) => {
            let edge = |c: Option<char>| mode.word && c.is_some_and(is_word_char);
            // At a word edge of the keyword, the adjacent character must not be a word character.
            let before = if edge(text.chars().next()) {
                format!("(?:{ANY}[^{}])?", word::TABLE)
            } else {
                ANY.to_owned()
            };
            let behind = if edge(text.chars().last()) {
                format!("(?:[^{}]{ANY})?", word::TABLE)
            } else {
                ANY.to_owned()
            };
            match anchor {
                Anchor::Anywhere => literal(text, mode, &before, &behind),
                Anchor::Start => literal(text, mode, "", &behind),
                Anchor::End => literal(text, mode, &before, ""),
            }
        }
        Search::Glob => glob(text, mode),
        Search::Regex => {
            let hir = regex_syntax::ParserBuilder::new()
                .case_insensitive(mode.text.fold)
                .build()
                .parse(text)
                .ok()?;
            let around = parsed(ANY)?;
            Some(Hir::concat(vec![around.clone(), hir, around]))
        }
    }
}

/// Returns the language of the texts that a pattern of `like` matches.
fn glob(pattern: &str, mode: TestMode) -> Option<Hir> {
    if pattern.len() > LONGEST {
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
    parsed(&(written + ")"))
}

impl Shape {
    /// Adds candidate values: the constants and their nearest neighbours. For predicates on
    /// numbers, date-times or the order of texts, one candidate is a solution if there is any.
    pub fn candidates(&self, found: &mut Vec<Json>) {
        for constant in &self.constants {
            found.push(constant.clone());
            match constant {
                Json::Number(number) => around(number, found),
                Json::String(text) => {
                    if matches!(self.on_text, OnText::Order) {
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
        if let Some(Elements { values, all, .. }) = &self.elements {
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
fn around(number: &serde_json::Number, found: &mut Vec<Json>) {
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
        around(&3.into(), &mut found);
        for neighbour in [json!(2), json!(3), json!(4), json!(2.5), json!(3.0), json!(3.5)] {
            assert!(found.contains(&neighbour), "{neighbour} among {found:?}");
        }
    }
}
