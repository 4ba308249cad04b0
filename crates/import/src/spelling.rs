//! The two spellings of a choice in JSON: the names of the Python module, such as
//! `number_greater_than`, `value` and `and`, and the names of the documented format, such as
//! `GREATER_THAN`, `name` and `AND`. An import keeps the spelling of a choice, and an export writes
//! it again.

use super::kept;
use super::operator::verb_from_capitals;
use rulec::{SourceMap, Span};
use serde_json::{Value as Json, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Module,
    Document,
}

/// The word in a comment before a choice that has the spelling [`Spelling::Document`]. The word is
/// not a member of the JSON object in the comment `# json: {…}`, because the document may have
/// members of any name.
const CAPITALS_WORD: &str = "capitals";

impl Spelling {
    /// Returns the spelling of a choice: [`Spelling::Document`] if at least one condition has the
    /// spelling of the documented format.
    pub(super) fn of_choice<'j>(mut branches: impl Iterator<Item = &'j Json>) -> Spelling {
        let conditions = |branch: &'j Json| branch["conditions"].as_array().into_iter().flatten();
        match branches.any(|branch| conditions(branch).any(is_in_document_spelling)) {
            true => Spelling::Document,
            false => Spelling::Module,
        }
    }

    /// Returns the spelling of a choice of the rules, which the comment before the choice says.
    /// `span` is the span of the choice's name.
    pub(super) fn of_comment_before(sources: &SourceMap, span: Span) -> Spelling {
        if kept::has_word_comment_before(sources, span, CAPITALS_WORD) {
            Spelling::Document
        } else {
            Spelling::Module
        }
    }

    /// Returns a rules comment that stores the spelling of a choice for a later export, without the
    /// comment sign. `None` if the choice needs no comment.
    pub(super) fn kept_comment(self) -> Option<String> {
        (self == Spelling::Document).then(|| kept::word_comment(CAPITALS_WORD))
    }

    /// Returns the member `logic` of a branch: "or" if one true condition suffices (`is_any`),
    /// "and" if all conditions must be true.
    pub(super) fn logic_word(self, is_any: bool) -> &'static str {
        match (self, is_any) {
            (Spelling::Module, false) => "and",
            (Spelling::Module, true) => "or",
            (Spelling::Document, false) => "AND",
            (Spelling::Document, true) => "OR",
        }
    }

    /// True if all names in the condition have this spelling, so that an export in this spelling
    /// writes the same names.
    pub(super) fn is_spelling_of_condition(self, condition: &Json) -> bool {
        match self {
            Spelling::Module => is_in_module_spelling(condition),
            Spelling::Document => is_in_document_spelling(condition),
        }
    }

    /// Converts the names in a JSON condition, such as names of operators, to this spelling from
    /// the spelling of the original Python module.
    pub(super) fn respell_condition(self, condition: &mut Json) {
        if self == Spelling::Module {
            return;
        }
        if let Some((_, verb)) = condition["operate"].as_str().and_then(|name| name.split_once('_')) {
            condition["operate"] = json!(verb.to_ascii_uppercase());
        }
        for key in SIDE_KEYS {
            let Some(side) = condition[key].as_object_mut() else { continue };
            if let Some(Json::String(ty)) = side.get_mut("type") {
                ty.make_ascii_uppercase();
            }
            if side.contains_key("step_id")
                && let Some(output) = side.remove("value")
            {
                side.insert("name".to_owned(), output);
            }
        }
    }
}

/// The JSON keys of the two sides of a condition.
const SIDE_KEYS: [&str; 2] = ["left", "right"];

fn is_in_module_spelling(condition: &Json) -> bool {
    let has_capitals = |name: &Json| name.as_str().is_some_and(|name| name != name.to_ascii_lowercase());
    let is_side =
        |side: &Json| !has_capitals(&side["type"]) && (side["step_id"].is_null() || !side["value"].is_null());
    !has_capitals(&condition["operate"]) && SIDE_KEYS.iter().all(|key| is_side(&condition[*key]))
}

fn is_in_document_spelling(condition: &Json) -> bool {
    let is_operator =
        |name: &str| verb_from_capitals(name).is_some_and(|verb| verb.to_ascii_uppercase() == name);
    let is_side = |side: &Json| {
        let Some(ty) = side["type"].as_str().filter(|ty| *ty == ty.to_ascii_uppercase()) else {
            return false;
        };
        match side["step_id"].is_null() {
            // An export writes a number or a list as such, and not as a text.
            true => ty == "STRING" || !side["value"].is_string(),
            false => side["value"].is_null(),
        }
    };
    condition["operate"].as_str().is_some_and(is_operator)
        && SIDE_KEYS.iter().all(|key| is_side(&condition[*key]))
}
