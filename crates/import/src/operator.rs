//! Operators of workflow branches, with their operand types.

use rulec::Message;
use rulec_base::message;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    String,
    Number,
    Bool,
    List,
    Dict,
}

impl Type {
    pub(super) const ALL: [Type; 5] = [Type::String, Type::Number, Type::Bool, Type::List, Type::Dict];

    /// Returns the type's name, which is the same in the JSON and in the rule language.
    pub(super) fn name(self) -> &'static str {
        match self {
            Type::String => "string",
            Type::Number => "number",
            Type::Bool => "bool",
            Type::List => "list",
            Type::Dict => "dict",
        }
    }

    pub(super) fn named(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Returns the type with this name. If `capitals` is set, the name in capitals is accepted too.
    pub(super) fn spelt(name: &str, capitals: bool) -> Option<Type> {
        let in_capitals = |ty: &Type| capitals && ty.name().to_ascii_uppercase() == name;
        Type::named(name).or_else(|| Type::ALL.into_iter().find(in_capitals))
    }

    pub(super) fn with_article(self) -> Message {
        message!("a {}", self.name())
    }
}

/// How an operator compares its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// An infix operator of the rule language between both sides.
    Infix(&'static str),
    /// Compares the length of the left side by this operator.
    Length(&'static str),
    /// Matches a regular expression at the start of the text.
    Regex,
}

/// All verbs: an operator's name is its operand type, `_`, and a verb, such as `string_equal`. Each
/// row has the verb, the possible operand types, and the comparison.
pub(super) const VERBS: &[(&str, &[Type], Verb)] = {
    use Type::{Bool, Dict, List, Number, String};
    use Verb::{Infix, Length, Regex};
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

/// Returns the verb for a name in capitals, such as `GREATER_THAN` or its short form `GT`.
pub(super) fn verb_in_capitals(name: &str) -> Option<String> {
    let long = match name {
        "GT" => "GREATER_THAN",
        "LT" => "LESS_THAN",
        "GTE" => "GREATER_THAN_OR_EQUAL",
        "LTE" => "LESS_THAN_OR_EQUAL",
        name if name.chars().any(char::is_lowercase) => return None,
        name => name,
    };
    let verb = long.to_ascii_lowercase();
    VERBS.iter().any(|(known, ..)| *known == verb).then_some(verb)
}

/// An operator: its operand type and its comparison.
#[derive(Clone, Copy)]
pub(super) struct Operator {
    pub(super) family: Type,
    pub(super) verb: Verb,
}

impl Operator {
    pub(super) fn named(name: &str) -> Option<Operator> {
        let (family, verb) = name.split_once('_')?;
        let family = Type::named(family)?;
        Operator::from_verb(family, verb)
    }

    fn from_verb(family: Type, verb: &str) -> Option<Operator> {
        let (_, _, verb) = VERBS.iter().find(|(known, on, _)| *known == verb && on.contains(&family))?;
        Some(Operator { family, verb: *verb })
    }

    /// Returns the operator for a verb in capitals, as in the documented JSON format. The operand
    /// type is the declared type of the left side.
    pub(super) fn spelt(name: &str, left: Option<Type>) -> Option<Operator> {
        Operator::from_verb(left?, &verb_in_capitals(name)?)
    }

    /// Returns the type that a literal on the right side must have.
    pub(super) fn literal(self) -> Type {
        match (self.verb, self.family) {
            (Verb::Length(_), _) => Type::Number,
            (Verb::Infix("contains" | "not contains" | "has_key" | "not has_key"), _) => Type::String,
            (_, family) => family,
        }
    }

    /// True if the right side may be the output of a step with this type.
    pub(super) fn takes(self, right: Type) -> bool {
        match (self.verb, self.family) {
            (Verb::Length(_), _) => matches!(right, Type::Number | Type::String | Type::List),
            (Verb::Infix("contains" | "not contains"), Type::List) => true,
            (Verb::Infix("has_key" | "not has_key"), _) => right == Type::String,
            (_, family) => right == family,
        }
    }

    /// True if a condition with this operator and these types can be true in the rule language,
    /// although it never is in the original.
    pub(super) fn would_hold(self, left: Type, right: Type) -> bool {
        use Type::{Dict, List, String};
        match self.verb {
            Verb::Infix("==" | "!=") => left == right,
            Verb::Infix("contains" | "not contains") => left == List || (left == String && right == String),
            Verb::Length(_) => matches!(left, String | List | Dict),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Operator, Type, VERBS};

    #[test]
    fn every_operator_is_known_by_the_documents_own_spelling() {
        for (verb, families, _) in VERBS {
            for family in Type::ALL {
                let found = Operator::spelt(&verb.to_ascii_uppercase(), Some(family));
                assert_eq!(found.is_some(), families.contains(&family), "{verb} {family:?}");
            }
        }
        for short in ["GT", "LT", "GTE", "LTE"] {
            assert!(Operator::spelt(short, Some(Type::Number)).is_some(), "{short}");
        }
        for unknown in ["", "equal", "Equal", "STRING_EQUAL", "EQ", "string_equal"] {
            assert!(Operator::spelt(unknown, Some(Type::String)).is_none(), "{unknown}");
        }
        assert!(Operator::spelt("EQUAL", None).is_none());
    }

    #[test]
    fn every_operator_of_the_original_is_known_by_its_name() {
        let names = VERBS.iter().flat_map(|(verb, families, _)| {
            families.iter().map(move |family| format!("{}_{verb}", family.name()))
        });
        let names: Vec<String> = names.collect();
        assert_eq!(names.len(), 10 + 4 + 4 + 2 + 1 + 10 + 2);
        assert!(names.iter().all(|name| Operator::named(name).is_some()));
        for unknown in
            ["", "equal", "string_", "STRING_EQUAL", "string_greater_than", "list_length", "bool_contains"]
        {
            assert!(Operator::named(unknown).is_none(), "{unknown}");
        }
    }
}
