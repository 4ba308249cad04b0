//! The table of operators. One row contains everything about an operator: spelling, precedence,
//! operand types, result, negation, modifiers, cost, implementation, search method, and synonyms
//! from other languages. It also has documentation and a tested example. The parser, the checker,
//! lowering, the index, all engines, the reference page and the tests read this table. To add an
//! operator, add a row, its function in `implementations.rs`, and a test.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use crate::arena::Arena;
use crate::operators::implementations;
use crate::ty::KindSet;
use crate::value::{Tri, Value};
use hashbrown::HashMap;
use rulec_base::codec::impl_codec;
use rulec_base::diag::{Message, comma_list};
use rulec_base::message;
use std::collections::HashSet;
use std::sync::LazyLock;

pub use crate::operators::modifiers::{Case, Modifiers, Quantity, TestMode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixity {
    Prefix,
    Infix,
    Postfix,
}

/// A valid use of an operator: the kinds of the left operand, the right operand, and the result.
#[derive(Clone, Copy, Debug)]
pub struct OperatorForm {
    pub left: KindSet,
    pub right: RightOperand,
    pub result: OperatorResult,
}

/// What an operator accepts as its right operand in one of its valid uses, an [`OperatorForm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RightOperand {
    Nothing,
    /// The right operand is a value of one of these kinds.
    Kinds(KindSet),
    /// The right operand has the same kind as the left operand, or both are numbers of any kind.
    Same,
    /// The operands are compared as texts. The types of both operands must include texts, and at
    /// least one of these types must include nothing else. For two numbers, times or versions, an
    /// operator has another form with [`RightOperand::Same`].
    SomeText,
    /// The left operand is a list, and the right operand has the type of the list's elements.
    Element,
    /// The right operand is a string; with `any`, `all` or `none`, a list of strings.
    Text,
    /// The right operand is a constant regular expression; with `any`, `all` or `none`, a list of
    /// them.
    Pattern,
    /// The right operand is an IP network; with `any`, `all` or `none`, a list of them.
    Network,
    /// The right operand is a range or a list. The elements of the list have the kind of the left
    /// operand, or the elements and the left operand are numbers.
    Members,
    Type,
    Condition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorResult {
    /// The operator yields a condition: true, false or unknown.
    Condition,
    /// The operator yields an int if both operands are ints, otherwise a float.
    Number,
    Decimal,
    Float,
    DateTime,
    /// The operator yields one of its two operands, so the result has the type of one of them.
    Either,
    /// The operator yields a value of the type that the right operand names.
    Named,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negation {
    Op(Op),
    /// The operator is negated by `not` directly before the operator: `x not contains y`.
    NotBefore,
    /// The operator is negated only by `not` before the whole condition: `not (x op y)`.
    NotWhole,
    /// The operator yields a value, not a condition, so it has no negation.
    None,
}

/// Approximate cost of evaluating an operator or function. The variants are ordered from cheap to
/// expensive. Cheaper conditions are evaluated first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// The cost of comparing two scalar values.
    Scalar,
    /// The cost of a hash lookup or a search of a short list.
    Lookup,
    /// The cost of reading a text once from start to end.
    Scan,
    Regex,
    /// The cost of evaluating something for each element of a list.
    Loop,
    /// The cost of a call to a function of the embedding program.
    Host,
}

/// How an operator is implemented. Every engine can call the functions in this enum, so a new
/// operator works in all engines at once.
#[derive(Clone, Copy)]
pub enum Implementation {
    /// A function that evaluates the operator as a predicate on two values. Its caller applies the
    /// modifiers `any`, `all` and `none`.
    Predicate(fn(Value<'_>, Value<'_>, TestMode, &Arena) -> Tri),
    /// A function that computes a value from two values. For a prefix operator, the second value is
    /// missing.
    Value(for<'a> fn(Value<'a>, Value<'a>) -> Value<'a>),
    /// No function. The evaluators implement the operator directly: a logical operator such as
    /// `and`, or `as`, which reads a value as a type.
    Structure,
}

/// How an operator searches a text for its right operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The text must contain the right operand literally, at the position that the anchor names.
    Literal(Anchor),
    /// The whole text must match the right operand, a glob pattern.
    Glob,
    /// The right operand, a regular expression, must match somewhere in the text.
    Regex,
}

/// Where in a text a searched literal must occur: anywhere, at the start or at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    Anywhere,
    Start,
    End,
}

impl Search {
    /// True if the operator searches a normalized text: case-folded and Unicode-normalized as the
    /// modifiers and settings require. A regular expression searches the original text and handles
    /// case itself.
    pub fn prepares_texts(self) -> bool {
        self != Search::Regex
    }

    /// True if the right operand is searched for literally, not as a pattern.
    pub fn is_literal(self) -> bool {
        matches!(self, Search::Literal(_))
    }

    /// True if the operator also finds its right operand among the elements of a list.
    pub fn finds_elements(self) -> bool {
        self == Search::Literal(Anchor::Anywhere)
    }
}

const fn optional_search(search: &[Search]) -> Option<Search> {
    match search {
        [search] => Some(*search),
        _ => None,
    }
}

pub struct OpInfo {
    pub op: Op,
    /// How rules write the operator, such as `starts_with`.
    pub spelling: &'static str,
    pub fixity: Fixity,
    /// The operator's precedence; operators with higher values bind more tightly.
    pub precedence: u8,
    pub forms: &'static [OperatorForm],
    pub negation: Negation,
    pub accepted_modifiers: AcceptedModifiers,
    pub cost: Cost,
    pub implementation: Implementation,
    pub search: Option<Search>,
    /// Other words for this operator, such as `eq` from programming languages, or `等于` from
    /// Chinese. An error about such a word suggests the operator's spelling.
    pub foreign_spellings: &'static [&'static str],
    /// One sentence about the operator, for the reference page and the editor.
    pub doc: Message,
    /// An example: a condition with the operator, and a message for which it is true. A test
    /// compiles and runs the example.
    pub example: (&'static str, &'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedModifiers {
    /// Whether the operator accepts the modifier `word` before its right operand.
    pub accepts_word: bool,
    /// Whether the operator accepts `any`, `all` or `none` before a list on the right.
    pub accepts_quantity: bool,
    /// Whether the operator accepts `ignoring case` or `matching case` after its operands.
    pub accepts_case: bool,
}

const NO_MODIFIERS: AcceptedModifiers =
    AcceptedModifiers { accepts_word: false, accepts_quantity: false, accepts_case: false };
const CASE_ONLY: AcceptedModifiers =
    AcceptedModifiers { accepts_word: false, accepts_quantity: false, accepts_case: true };
const QUANTITY_ONLY: AcceptedModifiers =
    AcceptedModifiers { accepts_word: false, accepts_quantity: true, accepts_case: false };
const QUANTITY_AND_CASE: AcceptedModifiers =
    AcceptedModifiers { accepts_word: false, accepts_quantity: true, accepts_case: true };
const ALL_MODIFIERS: AcceptedModifiers =
    AcceptedModifiers { accepts_word: true, accepts_quantity: true, accepts_case: true };

macro_rules! operators {
    ($($op:ident $spelling:literal $fixity:ident $precedence:literal, $negation:expr, $accepts:expr, $cost:ident,
       [$(($left:expr, $right:expr, $result:ident)),* $(,)?], $implementation:expr, $(search $search:expr,)? $(foreign [$($foreign:literal),*],)? message!($doc:literal), $cond:literal on $input:literal;)*) => {
        /// An operator of the language; its row in [`TABLE`] has the details.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the doc text of each row says what it means")]
        pub enum Op { $($op,)* }

        /// The table of operators, in the order of [`Op`].
        pub static TABLE: &[OpInfo] = &[$(OpInfo {
            op: Op::$op, spelling: $spelling, fixity: Fixity::$fixity, precedence: $precedence,
            negation: $negation, accepted_modifiers: $accepts, cost: Cost::$cost,
            forms: &[$(OperatorForm { left: $left, right: $right, result: OperatorResult::$result },)*],
            implementation: $implementation, search: optional_search(&[$($search)?]), foreign_spellings: &[$($($foreign),*)?], doc: message!($doc), example: ($cond, $input),
        },)*];
    };
}

use Implementation::{Predicate, Structure};
use KindSet as K;

/// The kinds whose values are ordered, so that operators such as `<` accept them.
const ORDERED_KINDS: K = K::NUMBER.union(K::DECIMAL).union(K::DATETIME).union(K::VERSION);

operators! {
    Unless "unless" Infix 5, Negation::NotWhole, NO_MODIFIERS, Scalar,
        [(K::BOOL, RightOperand::Condition, Condition)], Structure, foreign ["except", "除非"],
        message!("The left condition holds, and the right condition is false, or unknown because a value is missing."),
        r#"text contains "refund" unless ctx.user.blocked"# on r#"{"text":"refund"}"#;
    Or "or" Infix 10, Negation::NotWhole, NO_MODIFIERS, Scalar,
        [(K::BOOL, RightOperand::Condition, Condition)], Structure, foreign ["或者", "或"],
        message!("At least one of the conditions holds."),
        r#"text == "x" or ctx.n > 1"# on r#"{"text":"y","ctx":{"n":2}}"#;
    And "and" Infix 20, Negation::NotWhole, NO_MODIFIERS, Scalar,
        [(K::BOOL, RightOperand::Condition, Condition)], Structure, foreign ["并且", "且", "而且"],
        message!("Both conditions hold."),
        r#"text == "x" and ctx.n > 1"# on r#"{"text":"x","ctx":{"n":2}}"#;
    Not "not" Prefix 30, Negation::NotWhole, NO_MODIFIERS, Scalar,
        [(K::BOOL, RightOperand::Nothing, Condition)], Structure,
        message!("The condition is definitely false. If the condition is unknown because a value is missing, its negation does not hold either."),
        r#"not (ctx.n > 5)"# on r#"{"ctx":{"n":2}}"#;

    Eq "==" Infix 40, Negation::Op(Op::Ne), CASE_ONLY, Scalar,
        [(K::EVERY_KIND, RightOperand::Same, Condition)], Predicate(implementations::equal), foreign ["equals", "equal", "eq", "等于", "是", "为"],
        message!("Both values are equal. Values of different types, or missing values, are neither equal nor unequal."),
        r#"ctx.role == "admin""# on r#"{"ctx":{"role":"admin"}}"#;
    Ne "!=" Infix 40, Negation::Op(Op::Eq), CASE_ONLY, Scalar,
        [(K::EVERY_KIND, RightOperand::Same, Condition)], Predicate(implementations::not_equal), foreign ["ne", "neq", "isnt", "differs", "不等于", "不是"],
        message!("Both values have the same type and differ."),
        r#"ctx.role != "admin""# on r#"{"ctx":{"role":"guest"}}"#;
    Lt "<" Infix 40, Negation::Op(Op::Ge), NO_MODIFIERS, Scalar,
        [(ORDERED_KINDS, RightOperand::Same, Condition), (K::STRING, RightOperand::SomeText, Condition)], Predicate(implementations::less), foreign ["lt", "小于"],
        message!("The left number or version is smaller, the left time is earlier, or the left text sorts before the right one by the code points of their characters."),
        r#"ctx.n < 2.5"# on r#"{"ctx":{"n":2}}"#;
    Le "<=" Infix 40, Negation::Op(Op::Gt), NO_MODIFIERS, Scalar,
        [(ORDERED_KINDS, RightOperand::Same, Condition), (K::STRING, RightOperand::SomeText, Condition)], Predicate(implementations::less_equal), foreign ["le", "lte", "小于等于"],
        message!("The left number or version is not greater, the left time is not later, or the left text does not sort after the right one by code points."),
        r#"ctx.n <= 2"# on r#"{"ctx":{"n":2.0}}"#;
    Gt ">" Infix 40, Negation::Op(Op::Le), NO_MODIFIERS, Scalar,
        [(ORDERED_KINDS, RightOperand::Same, Condition), (K::STRING, RightOperand::SomeText, Condition)], Predicate(implementations::greater), foreign ["gt", "大于"],
        message!("The left number or version is greater, the left time is later, or the left text sorts after the right one by code points."),
        r#"ctx.n > 3"# on r#"{"ctx":{"n":4}}"#;
    Ge ">=" Infix 40, Negation::Op(Op::Lt), NO_MODIFIERS, Scalar,
        [(ORDERED_KINDS, RightOperand::Same, Condition), (K::STRING, RightOperand::SomeText, Condition)], Predicate(implementations::greater_equal), foreign ["ge", "gte", "大于等于"],
        message!("The left number or version is not smaller, the left time is not earlier, or the left text does not sort before the right one by code points."),
        r#"(ctx.at as datetime) >= "2026-01-01T00:00:00Z""# on r#"{"ctx":{"at":"2026-01-01T01:00:00+01:00"}}"#;
    In "in" Infix 40, Negation::NotBefore, CASE_ONLY, Lookup,
        [(K::EVERY_KIND, RightOperand::Members, Condition)], Predicate(implementations::is_in), foreign ["one_of", "oneof", "among", "属于", "在"],
        message!("The value is an element of the list, or is in the range (`3..10` excludes its end, `3..=10` includes it)."),
        r#"ctx.plan in ["pro", "team"] and ctx.n in 1..=3"# on r#"{"ctx":{"plan":"team","n":3}}"#;
    Contains "contains" Infix 40, Negation::NotBefore, ALL_MODIFIERS, Scan,
        [(K::STRING, RightOperand::Text, Condition), (K::LIST, RightOperand::Element, Condition)], Predicate(implementations::contains),
        search Search::Literal(Anchor::Anywhere), foreign ["includes", "include", "has", "contain", "containing", "mentions", "包含", "含有", "包括"],
        message!("The text contains the string (with `word`, as a whole word), or the list contains the element."),
        r#"text contains word any ["refund", "退款"] ignoring case"# on r#"{"text":"Refund, please"}"#;
    StartsWith "starts_with" Infix 40, Negation::NotBefore, ALL_MODIFIERS, Scan,
        [(K::STRING, RightOperand::Text, Condition)], Predicate(implementations::starts_with),
        search Search::Literal(Anchor::Start), foreign ["startswith", "starts", "begins", "begins_with", "beginswith", "prefix", "hasprefix", "开头是"],
        message!("The text starts with the string."),
        r#"text starts_with "/help""# on r#"{"text":"/help me"}"#;
    EndsWith "ends_with" Infix 40, Negation::NotBefore, ALL_MODIFIERS, Scan,
        [(K::STRING, RightOperand::Text, Condition)], Predicate(implementations::ends_with),
        search Search::Literal(Anchor::End), foreign ["endswith", "ends", "suffix", "hassuffix", "结尾是"],
        message!("The text ends with the string."),
        r#"text ends_with "?""# on r#"{"text":"why?"}"#;
    Like "like" Infix 40, Negation::NotBefore, QUANTITY_AND_CASE, Scan,
        [(K::STRING, RightOperand::Text, Condition)], Predicate(implementations::like),
        search Search::Glob, foreign ["glob", "ilike"],
        message!("The whole text matches the pattern: `*` matches any text, `?` one character. A `\\` before either matches the character itself."),
        r#"ctx.file like "*.rs""# on r#"{"ctx":{"file":"main.rs"}}"#;
    Matches "matches" Infix 40, Negation::NotBefore, QUANTITY_AND_CASE, Regex,
        [(K::STRING, RightOperand::Pattern, Condition)], Predicate(implementations::matches),
        search Search::Regex, foreign ["match", "regex", "regexp", "rlike", "匹配"],
        message!("The regular expression matches anywhere in the text. Outside a `choice`, the expression must be a constant."),
        r#"text matches r"(?i)\brefunds?\b""# on r#"{"text":"Two refunds"}"#;
    InNetwork "in_network" Infix 40, Negation::NotBefore, QUANTITY_ONLY, Scan,
        [(K::STRING, RightOperand::Network, Condition)], Predicate(implementations::in_network), foreign ["in_cidr", "incidr", "in_subnet", "ip_in"],
        message!("The address (IPv4 or IPv6) is in the network, or equals the address on the right. If the text is not an address, the result is unknown."),
        r#"ctx.ip in_network any ["10.0.0.0/8", "2001:db8::/32"]"# on r#"{"ctx":{"ip":"10.1.2.3"}}"#;
    HasKey "has_key" Infix 40, Negation::NotBefore, NO_MODIFIERS, Lookup,
        [(K::DICT, RightOperand::Kinds(K::STRING), Condition)], Predicate(implementations::has_key), foreign ["haskey"],
        message!("The dict or record has the key, even when its value is null."),
        r#"ctx has_key "user""# on r#"{"ctx":{"user":null}}"#;
    IsMissing "is missing" Postfix 40, Negation::Op(Op::IsPresent), NO_MODIFIERS, Scalar,
        [(K::MESSAGE_KINDS, RightOperand::Nothing, Condition)], Predicate(implementations::is_missing),
        message!("No value is present: the field is absent, is null, or does not have the type that the rules expect."),
        r#"ctx.user is missing"# on r#"{"ctx":{"user":null}}"#;
    IsPresent "is present" Postfix 40, Negation::Op(Op::IsMissing), NO_MODIFIERS, Scalar,
        [(K::MESSAGE_KINDS, RightOperand::Nothing, Condition)], Predicate(implementations::is_present),
        message!("A value is present and has the type that the rules expect."),
        r#"ctx.n is present"# on r#"{"ctx":{"n":0}}"#;

    Coalesce "??" Infix 50, Negation::None, NO_MODIFIERS, Scalar,
        [(K::EVERY_KIND, RightOperand::Same, Either)], Implementation::Value(implementations::coalesce),
        message!("The left value, or the right value if the left value is missing."),
        r#"(ctx.n ?? 0) == 0"# on r#"{"ctx":{}}"#;
    Add "+" Infix 60, Negation::None, NO_MODIFIERS, Scalar,
        [(K::NUMBER, RightOperand::Kinds(K::NUMBER), Number), (K::DECIMAL, RightOperand::Kinds(K::EXACT_NUMBER), Decimal),
         (K::EXACT_NUMBER, RightOperand::Kinds(K::DECIMAL), Decimal), (K::DATETIME, RightOperand::Kinds(K::NUMBER), DateTime),
         (K::NUMBER, RightOperand::Kinds(K::DATETIME), DateTime)],
        Implementation::Value(implementations::add),
        message!("The sum. A time plus a number of seconds, in either order, gives a later time. The result is missing on overflow."),
        r#"ctx.a + 1 == 3"# on r#"{"ctx":{"a":2}}"#;
    Sub "-" Infix 60, Negation::None, NO_MODIFIERS, Scalar,
        [(K::NUMBER, RightOperand::Kinds(K::NUMBER), Number), (K::DECIMAL, RightOperand::Kinds(K::EXACT_NUMBER), Decimal),
         (K::EXACT_NUMBER, RightOperand::Kinds(K::DECIMAL), Decimal), (K::DATETIME, RightOperand::Kinds(K::DATETIME), Float),
         (K::DATETIME, RightOperand::Kinds(K::NUMBER), DateTime)],
        Implementation::Value(implementations::sub),
        message!("The difference; for two times, the seconds between them. The result is missing on overflow."),
        r#"(ctx.b as datetime) - (ctx.a as datetime) == 2h"#
        on r#"{"ctx":{"a":"2026-01-01T00:00:00Z","b":"2026-01-01T02:00:00Z"}}"#;
    Mul "*" Infix 70, Negation::None, NO_MODIFIERS, Scalar,
        [(K::NUMBER, RightOperand::Kinds(K::NUMBER), Number), (K::DECIMAL, RightOperand::Kinds(K::EXACT_NUMBER), Decimal),
         (K::EXACT_NUMBER, RightOperand::Kinds(K::DECIMAL), Decimal)], Implementation::Value(implementations::mul),
        message!("The product. The result is missing on overflow."),
        r#"ctx.a * 2 == 5.0"# on r#"{"ctx":{"a":2.5}}"#;
    Div "/" Infix 70, Negation::None, NO_MODIFIERS, Scalar,
        [(K::NUMBER, RightOperand::Kinds(K::NUMBER), Float), (K::DECIMAL, RightOperand::Kinds(K::EXACT_NUMBER), Decimal),
         (K::EXACT_NUMBER, RightOperand::Kinds(K::DECIMAL), Decimal)], Implementation::Value(implementations::div), foreign ["div"],
        message!("The quotient: a float, or a decimal of up to 28 digits if an operand is a decimal; missing on division by zero."),
        r#"ctx.a / 2 == 0.5"# on r#"{"ctx":{"a":1}}"#;
    Rem "%" Infix 70, Negation::None, NO_MODIFIERS, Scalar,
        [(K::NUMBER, RightOperand::Kinds(K::NUMBER), Number), (K::DECIMAL, RightOperand::Kinds(K::EXACT_NUMBER), Decimal),
         (K::EXACT_NUMBER, RightOperand::Kinds(K::DECIMAL), Decimal)], Implementation::Value(implementations::rem), foreign ["mod"],
        message!("The remainder, with the sign of the dividend; missing on division by zero."),
        r#"ctx.a % 3 == -1"# on r#"{"ctx":{"a":-7}}"#;
    Neg "-" Prefix 80, Negation::None, NO_MODIFIERS, Scalar,
        [(K::NUMBER, RightOperand::Nothing, Number), (K::DECIMAL, RightOperand::Nothing, Decimal)], Implementation::Value(implementations::neg),
        message!("The number with the opposite sign."),
        r#"-ctx.a == 2"# on r#"{"ctx":{"a":-2}}"#;
    As "as" Postfix 90, Negation::None, NO_MODIFIERS, Scalar,
        [(K::MESSAGE_KINDS, RightOperand::Type, Named)], Structure,
        message!("The value, read as the given type; missing if the value has another type."),
        r#"ctx.n as number > 1"# on r#"{"ctx":{"n":2}}"#;
}

impl Op {
    pub fn info(self) -> &'static OpInfo {
        &TABLE[self as usize]
    }

    /// Returns the comparison that means the same with exchanged operands: `>` for `<`. `None` for
    /// other operators.
    pub fn mirrored(self) -> Option<Op> {
        Some(match self {
            Op::Eq | Op::Ne => self,
            Op::Lt => Op::Gt,
            Op::Le => Op::Ge,
            Op::Gt => Op::Lt,
            Op::Ge => Op::Le,
            _ => return None,
        })
    }

    /// Returns the infix or postfix operator with this full spelling, such as `is present`; `None`
    /// if there is none.
    pub fn from_spelling(spelling: &str) -> Option<Op> {
        static OP_BY_SPELLING: LazyLock<HashMap<&'static str, Op, foldhash::fast::FixedState>> =
            LazyLock::new(|| {
                TABLE
                    .iter()
                    .rev()
                    .filter(|row| row.fixity != Fixity::Prefix)
                    .map(|row| (row.spelling, row.op))
                    .collect()
            });
        OP_BY_SPELLING.get(spelling).copied()
    }

    pub fn is_spelled_as_word(self) -> bool {
        self.info().spelling.starts_with(|c: char| c.is_ascii_alphabetic())
    }
}

/// Returns the spellings of all operators for whose modifiers `accepts_modifier` returns true,
/// joined for a sentence: "`a`, `b` and `c`".
pub fn operators_accepting(accepts_modifier: impl Fn(AcceptedModifiers) -> bool) -> Message {
    let rows = TABLE.iter().filter(|row| accepts_modifier(row.accepted_modifiers));
    let mut names: Vec<Message> = rows.map(|row| message!("`{}`", row.spelling)).collect();
    match names.pop() {
        Some(last) if !names.is_empty() => message!("{} and {last}", comma_list(names)),
        last => last.unwrap_or_default(),
    }
}

/// Returns the reserved words, which cannot be plain names in an expression: the words of operators
/// and modifiers, `if`, `then`, `else`, `true` and `false`.
pub fn reserved_words() -> impl Iterator<Item = &'static str> {
    TABLE
        .iter()
        .filter(|row| row.op.is_spelled_as_word())
        .flat_map(|row| row.spelling.split(' '))
        .chain(["any", "all", "none", "word", "true", "false", "ignoring", "matching", "if", "then", "else"])
}

pub fn is_reserved_word(word: &str) -> bool {
    static RESERVED_WORDS: LazyLock<HashSet<&'static str, foldhash::fast::FixedState>> =
        LazyLock::new(|| reserved_words().collect());
    RESERVED_WORDS.contains(word)
}

impl_codec!(byte Op, |op: Op| op as u8, |number: u8| TABLE.get(usize::from(number)).map(|row| row.op));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_match_ops_and_negations_are_mutual() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.op as usize, index);
            if let Negation::Op(other) = row.negation {
                assert_eq!(other.info().negation, Negation::Op(row.op), "{}", row.spelling);
            }
        }
    }

    #[test]
    fn spellings_are_unique() {
        for row in TABLE.iter().filter(|row| row.fixity != Fixity::Prefix) {
            assert_eq!(Op::from_spelling(row.spelling), Some(row.op));
        }
        let mut foreign = HashSet::new();
        for word in TABLE.iter().flat_map(|row| row.foreign_spellings) {
            assert!(Op::from_spelling(word).is_none() && foreign.insert(word), "{word}");
        }
    }

    #[test]
    fn search_matches_operand_forms() {
        for row in TABLE {
            let accepts_right = |right: RightOperand| row.forms.iter().any(|form| form.right == right);
            let finds_elements = row.search.is_some_and(Search::finds_elements);
            assert_eq!(accepts_right(RightOperand::Element), finds_elements, "{}", row.spelling);
            assert_eq!(
                accepts_right(RightOperand::Text) || accepts_right(RightOperand::Pattern),
                row.search.is_some(),
                "{}",
                row.spelling
            );
            assert!(
                !row.accepted_modifiers.accepts_word || row.search.is_some_and(Search::is_literal),
                "{}",
                row.spelling
            );
        }
    }
}
