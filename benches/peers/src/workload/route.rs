//! A route as plain data, and its text in the rules language.

use std::fmt::{self, Display, Formatter};

/// A route. Its rank is its index among the workload's routes, which are in evaluation order.
#[derive(Clone, Debug)]
pub struct Route {
    pub rank: u32,
    pub priority: i64,
    /// Terms that must all match.
    pub terms: Vec<Term>,
}

/// How several words of one test are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    Any,
    All,
}

/// A comparison of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    AtLeast,
    Below,
}

/// A condition of a route. Words are in lower case if the test ignores case.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    Contains {
        words: Vec<String>,
        joined: Words,
        fold: bool,
    },
    Lacks(String),
    StartsWith {
        word: String,
        fold: bool,
    },
    /// The whole text equals this string.
    TextIs(String),
    /// The text matches a regex. Each match contains one of `literals`, which are in lower case if
    /// the test ignores case. For each literal, `examples` has a text that contains it and matches
    /// the regex.
    Matches {
        pattern: String,
        literals: Vec<String>,
        examples: Vec<String>,
        fold: bool,
    },
    Is(usize, String),
    IsNot(usize, String),
    OneOf(usize, Vec<String>),
    Compare(Number, Comparison, f64),
    /// The list of tags contains this tag.
    Tagged(String),
    IsNew,
    Either(Box<Term>, Box<Term>),
}

impl Term {
    /// Returns the approximate cost of evaluating the term: fields cost less than texts, and texts
    /// less than regexes.
    pub fn cost(&self) -> u32 {
        match self {
            Term::Compare(..) | Term::IsNew => 0,
            Term::Is(..) | Term::IsNot(..) => 1,
            Term::OneOf(..) | Term::Tagged(_) | Term::StartsWith { .. } | Term::TextIs(_) => 2,
            Term::Either(left, right) => left.cost().max(right.cost()) + 1,
            Term::Contains { words, .. } => 10 + words.len() as u32,
            Term::Lacks(_) => 11,
            Term::Matches { .. } => 100,
        }
    }

    /// True if the term searches the text for literals. A term with two parts must do so in both.
    pub fn is_search(&self) -> bool {
        match self {
            Term::Contains { .. } | Term::StartsWith { .. } | Term::Matches { .. } => true,
            Term::Either(left, right) => left.is_search() && right.is_search(),
            _ => false,
        }
    }
}

/// Paths of the string fields in the message, by field number.
pub const STRINGS: [&str; 5] =
    ["ctx.user.role", "ctx.channel", "ctx.user.country", "ctx.order.product", "ctx.last_error.type"];
pub const ROLE: usize = 0;
pub const CHANNEL: usize = 1;
pub const COUNTRY: usize = 2;
pub const PRODUCT: usize = 3;
pub const ERROR: usize = 4;

/// A field of the message that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Number {
    MessageCount,
    AgeDays,
    Total,
    Items,
    Score,
}

impl Number {
    pub const ALL: [Number; 5] =
        [Number::MessageCount, Number::AgeDays, Number::Total, Number::Items, Number::Score];

    pub fn path(self) -> &'static str {
        ["ctx.message_count", "ctx.user.age_days", "ctx.order.total", "ctx.order.items", "ctx.score"]
            [self as usize]
    }

    /// Returns the exclusive upper bound of the field's values, which are uniformly distributed
    /// from 0.
    pub fn limit(self) -> f64 {
        [1000.0, 4000.0, 1_000_000.0, 100.0, 1.0][self as usize]
    }

    /// Returns the smallest difference between two values of the field.
    pub fn step(self) -> f64 {
        if self == Number::Score { 0.00001 } else { 1.0 }
    }

    /// Rounds a value or threshold down to a value that the field can have.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Number::Score => (value * 100_000.0).floor() / 100_000.0,
            _ => value.floor(),
        }
    }
}

/// Percentage of messages in which an optional field is present.
pub const PRESENT: usize = 90;

/// The `input` block of a generated file.
pub const INPUT: &str = "\
input {
  text: string
  ctx: {
    message_count: int
    channel: string
    score?: float
    is_new?: bool
    tags?: list<string>
    user?: { role?: string, age_days?: int, country?: string }
    order?: { total?: int, items?: int, product?: string }
    last_error?: { type: string }
  }
}
";

impl Display for Route {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "route r{}", self.rank)?;
        if self.priority != 0 {
            write!(f, " priority {}", self.priority)?;
        }
        write!(f, "\n  when ")?;
        for (at, term) in self.terms.iter().enumerate() {
            write!(f, "{}{term}", if at == 0 { "" } else { " and " })?;
        }
        write!(f, "\n  -> handler_{}", self.rank % 50)
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let folded = |fold: bool| if fold { " ignoring case" } else { "" };
        match self {
            Term::Contains { words, joined, fold } => match (words.as_slice(), joined) {
                ([word], _) => write!(f, "text contains {word:?}{}", folded(*fold)),
                (words, Words::Any) => write!(f, "text contains any {words:?}{}", folded(*fold)),
                (words, Words::All) => write!(f, "text contains all {words:?}{}", folded(*fold)),
            },
            Term::Lacks(word) => write!(f, "text not contains {word:?}"),
            Term::StartsWith { word, fold } => write!(f, "text starts_with {word:?}{}", folded(*fold)),
            Term::TextIs(wanted) => write!(f, "text == {wanted:?}"),
            Term::Matches { pattern, .. } => write!(f, "text matches r\"{pattern}\""),
            Term::Is(field, value) => write!(f, "{} == {value:?}", STRINGS[*field]),
            Term::IsNot(field, value) => write!(f, "{} != {value:?}", STRINGS[*field]),
            Term::OneOf(field, values) => write!(f, "{} in {values:?}", STRINGS[*field]),
            Term::Compare(field, comparison, value) => {
                let operator = if *comparison == Comparison::AtLeast { ">=" } else { "<" };
                write!(f, "{} {operator} {value}", field.path())
            }
            Term::Tagged(tag) => write!(f, "ctx.tags contains {tag:?}"),
            Term::IsNew => write!(f, "ctx.is_new"),
            Term::Either(left, right) => write!(f, "({left} or {right})"),
        }
    }
}
