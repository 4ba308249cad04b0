//! The operators in conditions of workflow branches: their names in JSON, their operand types, and
//! how the rule language writes each comparison. Import and export share this table, so that they
//! agree.

use rulec::Message;
use rulec_base::message;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    String,
    Number,
    Bool,
    List,
    Dict,
}

impl ValueType {
    pub(super) const ALL: [ValueType; 5] =
        [ValueType::String, ValueType::Number, ValueType::Bool, ValueType::List, ValueType::Dict];

    /// Returns the name of this type, which is the same in the JSON and in the rule language.
    pub(super) fn name(self) -> &'static str {
        match self {
            ValueType::String => "string",
            ValueType::Number => "number",
            ValueType::Bool => "bool",
            ValueType::List => "list",
            ValueType::Dict => "dict",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<ValueType> {
        ValueType::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Returns the type with this name; `None` if there is none. If `capitals` is true, the name in
    /// capital letters is accepted too.
    pub(super) fn from_spelling(name: &str, capitals: bool) -> Option<ValueType> {
        let in_capitals = |ty: &ValueType| capitals && ty.name().to_ascii_uppercase() == name;
        ValueType::from_name(name).or_else(|| ValueType::ALL.into_iter().find(in_capitals))
    }

    pub(super) fn name_with_article(self) -> Message {
        message!("a {}", self.name())
    }
}

/// How an operator of a JSON condition is written in the rule language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// The condition is written with this infix operator of the rule language, between its two
    /// sides.
    Infix(&'static str),
    /// The condition compares the length of the left side with the right side by this operator. If
    /// the right side is a text or list, its length is compared.
    Length(&'static str),
    /// The condition matches a regular expression (the right side) at the start of the left side.
    Regex,
}

/// The verbs in the operator names of the original system, whose JSON documents are imported. An
/// operator's name consists of its operand type, `_` and a verb, such as `string_equal`. Each row
/// has a verb, its operand types and its comparison.
pub(super) const OPERATOR_VERBS: &[(&str, &[ValueType], Comparison)] = {
    use Comparison::{Infix, Length, Regex};
    use ValueType::{Bool, Dict, List, Number, String};
    &[
        ("equal", &[String, Number, Bool, List, Dict], Infix("==")),
        ("not_equal", &[String, Number, Bool, List, Dict], Infix("!=")),
        ("greater_than", &[Number], Infix(">")),
        ("less_than", &[Number], Infix("<")),
        ("greater_than_or_equal", &[Number], Infix(">=")),
        ("less_than_or_equal", &[Number], Infix("<=")),
        ("contains", &[String, List], Infix("contains")),
        ("not_contains", &[String, List], Infix("not contains")),
        ("starts_with", &[String], Infix("starts_with")),
        ("ends_with", &[String], Infix("ends_with")),
        ("regex_match", &[String], Regex),
        ("length_equal", &[String, List], Length("==")),
        ("length_greater_than", &[String, List], Length(">")),
        ("length_less_than", &[String, List], Length("<")),
        ("length_greater_than_or_equal", &[String, List], Length(">=")),
        ("length_less_than_or_equal", &[String, List], Length("<=")),
        ("contains_key", &[Dict], Infix("has_key")),
        ("not_contains_key", &[Dict], Infix("not has_key")),
    ]
};

/// Returns the verb (such as `greater_than`) for its name in capitals, such as `GREATER_THAN`, or
/// for a short form such as `GT`. `None` for any other name.
pub(super) fn verb_from_capitals(name: &str) -> Option<String> {
    let full_name = match name {
        "GT" => "GREATER_THAN",
        "LT" => "LESS_THAN",
        "GTE" => "GREATER_THAN_OR_EQUAL",
        "LTE" => "LESS_THAN_OR_EQUAL",
        name if name.chars().any(char::is_lowercase) => return None,
        name => name,
    };
    let verb = full_name.to_ascii_lowercase();
    OPERATOR_VERBS.iter().any(|(verb_name, ..)| *verb_name == verb).then_some(verb)
}

/// Returns the operand types that the operator with this name in capitals, such as `GREATER_THAN`,
/// accepts on its left side. Empty if no operator has this name.
pub(super) fn operand_types_for_capitals(name: &str) -> &'static [ValueType] {
    let verb = verb_from_capitals(name);
    OPERATOR_VERBS
        .iter()
        .find(|(known, ..)| Some(*known) == verb.as_deref())
        .map_or(&[], |(_, operand_types, _)| operand_types)
}

/// An operator of a JSON condition: the type of its operands, and how it compares them.
#[derive(Clone, Copy)]
pub(super) struct Operator {
    pub(super) operand_type: ValueType,
    pub(super) comparison: Comparison,
}

impl Operator {
    pub(super) fn from_name(name: &str) -> Option<Operator> {
        let (operand_type, verb) = name.split_once('_')?;
        let operand_type = ValueType::from_name(operand_type)?;
        Operator::from_verb(operand_type, verb)
    }

    fn from_verb(operand_type: ValueType, verb: &str) -> Option<Operator> {
        let (_, _, verb) = OPERATOR_VERBS.iter().find(|(verb_name, operand_types, _)| {
            *verb_name == verb && operand_types.contains(&operand_type)
        })?;
        Some(Operator { operand_type, comparison: *verb })
    }

    /// Returns the operator for a verb in capitals, as in the documented JSON format. The operand
    /// type is the declared type of the left side, `left`. `None` if there is no such operator, or
    /// if the type of the left side is unknown.
    pub(super) fn from_spelling(name: &str, left: Option<ValueType>) -> Option<Operator> {
        Operator::from_verb(left?, &verb_from_capitals(name)?)
    }

    /// Returns the type that a literal on the right side must have. It can differ from the type of
    /// the left side: the length of a list is compared with a number.
    pub(super) fn literal_type(self) -> ValueType {
        match (self.comparison, self.operand_type) {
            (Comparison::Length(_), _) => ValueType::Number,
            (Comparison::Infix("contains" | "not contains" | "has_key" | "not has_key"), _) => {
                ValueType::String
            }
            (_, operand_type) => operand_type,
        }
    }

    /// True if the right side may have the type `right`. The importer calls this only for a right
    /// side that is the output of a workflow step; literals have [`Operator::literal_type`].
    pub(super) fn accepts_type(self, right: ValueType) -> bool {
        match (self.comparison, self.operand_type) {
            (Comparison::Length(_), _) => {
                matches!(right, ValueType::Number | ValueType::String | ValueType::List)
            }
            (Comparison::Infix("contains" | "not contains"), ValueType::List) => true,
            (Comparison::Infix("has_key" | "not has_key"), _) => right == ValueType::String,
            (_, operand_type) => right == operand_type,
        }
    }

    /// True if a condition with this operator and these types can be true in the rule language. The
    /// importer asks this about a condition that is never true in the original system, for example
    /// because the types do not fit. If the result is true, the importer must not translate the
    /// condition word for word: it writes another condition that is never true.
    pub(super) fn can_be_true(self, left: ValueType, right: ValueType) -> bool {
        use ValueType::{Dict, List, String};
        match self.comparison {
            Comparison::Infix("==" | "!=") => left == right,
            Comparison::Infix("contains" | "not contains") => {
                left == List || (left == String && right == String)
            }
            Comparison::Length(_) => matches!(left, String | List | Dict),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OPERATOR_VERBS, Operator, ValueType};

    #[test]
    fn every_operator_is_known_by_the_documents_own_spelling() {
        for (verb, operand_types, _) in OPERATOR_VERBS {
            for operand_type in ValueType::ALL {
                let operator = Operator::from_spelling(&verb.to_ascii_uppercase(), Some(operand_type));
                assert_eq!(
                    operator.is_some(),
                    operand_types.contains(&operand_type),
                    "{verb} {operand_type:?}"
                );
            }
        }
        for short in ["GT", "LT", "GTE", "LTE"] {
            assert!(Operator::from_spelling(short, Some(ValueType::Number)).is_some(), "{short}");
        }
        for unknown in ["", "equal", "Equal", "STRING_EQUAL", "EQ", "string_equal"] {
            assert!(Operator::from_spelling(unknown, Some(ValueType::String)).is_none(), "{unknown}");
        }
        assert!(Operator::from_spelling("EQUAL", None).is_none());
    }

    #[test]
    fn every_operator_of_the_original_is_known_by_its_name() {
        let names = OPERATOR_VERBS.iter().flat_map(|(verb, operand_types, _)| {
            operand_types.iter().map(move |operand_type| format!("{}_{verb}", operand_type.name()))
        });
        let names: Vec<String> = names.collect();
        assert_eq!(names.len(), 10 + 4 + 4 + 2 + 1 + 10 + 2);
        assert!(names.iter().all(|name| Operator::from_name(name).is_some()));
        for unknown in
            ["", "equal", "string_", "STRING_EQUAL", "string_greater_than", "list_length", "bool_contains"]
        {
            assert!(Operator::from_name(unknown).is_none(), "{unknown}");
        }
    }
}
