//! The table of limits of a decision. One row contains a limit's setting, default, unit, and the
//! effect of exceeding it. The checker of `settings`, the engines, the messages and the page
//! `docs/limits.md` read this table.
//!
//! Whether a limit is exceeded depends only on the rule and the value. It does not depend on the
//! engine, or on the way in which an engine evaluates the rule. All engines therefore agree, and a
//! value that exceeds a limit counts as missing.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use rulec_base::diag::Message;
use rulec_base::message;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Everything about a limit of a decision: a row of [`TABLE`].
pub struct LimitInfo {
    pub limit: Limit,
    /// The name of the setting with which authors change the limit.
    pub name: &'static str,
    pub default: u64,
    /// The default value of the limit, as the documentation writes it.
    pub default_text: &'static str,
    pub unit: Message,
    /// What the limit bounds, for the documentation.
    pub doc: &'static str,
    /// What happens if a decision exceeds the limit, for the documentation.
    pub effect_if_exceeded: &'static str,
}

macro_rules! limits {
    ($($limit:ident $name:literal $default:expr, $written:literal, $unit:expr, $doc:literal, $beyond:literal;)*) => {
        /// A limit of a decision; its row in [`TABLE`] has the details.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Limit { $($limit,)* }

        /// The table of limits, in the order of [`Limit`].
        pub static TABLE: &[LimitInfo] = &[$(LimitInfo {
            limit: Limit::$limit, name: $name, default: $default, default_text: $written, unit: $unit, doc: $doc,
            effect_if_exceeded: $beyond,
        },)*];

        const DEFAULT_MAXIMA: [u64; COUNT] = [$($default),*];
        /// The number of limits in the table of limits.
        pub const COUNT: usize = [$(Limit::$limit),*].len();
    };
}

limits! {
    QuantifierElements "quantifier_elements" 1_000_000, "1_000_000", message!("elements"),
        "The elements that `any`, `all`, `count` and the `each` of a payload read. If they are nested d deep, each reads at most the d-th root of the limit: 1,000 elements if d is 2, 100 if d is 3.",
        "the quantifier is unknown; the count and the list of `each` are missing";
    SimilarityCharacters "similarity_characters" 4_096, "4_096", message!("characters"),
        "The characters of each text that `similarity` compares.",
        "the similarity is missing";
    RegexBytes "regex_bytes" 1 << 20, "1MiB", message!("bytes"),
        "The bytes of a text that `matches` searches.",
        "the condition is unknown";
    RegexWork "regex_work" 1 << 30, "1_073_741_824", message!("bytes × states"),
        "The bytes of a text that `matches` searches, times the states of the expression's automaton.",
        "the condition is unknown";
    ValueBytes "value_bytes" 1 << 20, "1MiB", message!("bytes"),
        "The size of a value that a function or a list in the rules builds: the bytes of its texts, and 8 for each element.",
        "the value is missing";
    SearchWork "search_work" 1 << 28, "268_435_456", message!("bytes × bytes"),
        "The work of searching one value of the message for another: the product of their sizes, with 8 bytes for each element of a list.",
        "the condition is unknown";
    RequestBytes "request_bytes" 1 << 20, "1MiB", message!("bytes"),
        "The bytes of the text that `request` analyses.",
        "the values of `request` are missing";
    RequestWork "request_work" 1 << 30, "1_073_741_824", message!("bytes × parts"),
        "The bytes of the text that `request` analyses, times the states of an entity's expressions or the number of intents.",
        "the values of `request` are missing";
    Violations "violations" 100_000, "100_000", message!("violations"),
        "The number of violations that are collected for a payload, in the order of its rules.",
        "further violations are left out";
}

/// Factor for function calls inside quantifiers. All evaluations of one call together may build
/// values of up to this factor times the limit `value_bytes`.
pub const QUANTIFIER_VALUE_BYTES_FACTOR: u64 = 64;

/// Maximum number of steps that `check`, `diff` or `why-not` may take for one file: less than a
/// second of work. One step takes about 20 ns. A step is the test of a value, a state of an
/// automaton, an element of a list, or a literal of a clause.
pub const MAX_ANALYSIS_STEPS: u64 = 40_000_000;

impl Limit {
    pub fn info(self) -> &'static LimitInfo {
        &TABLE[self as usize]
    }

    pub fn from_name(name: &str) -> Option<Limit> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.limit)
    }
}

/// The maximum amount that each limit allows for the decisions of one rule set. Limits that the
/// rule file does not set have their default value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits([u64; COUNT]);

impl Default for Limits {
    fn default() -> Limits {
        Limits(DEFAULT_MAXIMA)
    }
}

impl Limits {
    #[inline]
    pub fn get(&self, limit: Limit) -> u64 {
        self.0[limit as usize]
    }

    #[must_use]
    pub fn with_limit(mut self, limit: Limit, maximum: u64) -> Limits {
        self.0[limit as usize] = maximum;
        self
    }

    /// Returns the maximum length of each list if `nest` nested quantifiers iterate over lists of
    /// equal length. The product of the lengths is then within its limit.
    pub fn max_elements_per_quantifier(&self, nest: u32) -> u64 {
        integer_root(self.get(Limit::QuantifierElements), nest)
    }
}

/// Returns the greatest integer whose `power`-th power is at most `value`.
fn integer_root(value: u64, power: u32) -> u64 {
    let is_within = |number: u64| number.checked_pow(power).is_some_and(|product| product <= value);
    let (mut low, mut high) = (0, value.saturating_add(1));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_within(middle) { low = middle } else { high = middle }
    }
    low
}

/// A limit that a decision exceeded. The value that was too large counts as missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub limit: Limit,
    pub amount: u64,
    pub most: u64,
}

impl Exceeded {
    /// Returns the name of the setting that changes the limit.
    pub fn limit(&self) -> &'static str {
        self.limit.info().name
    }

    /// Returns a localized message that names the limit, the actual amount and the allowed amount.
    pub fn to_message(&self) -> Message {
        let (row, Exceeded { amount, most, .. }) = (self.limit.info(), self);
        message!("{amount} {} are more than the {most} that `{}` allows", row.unit, row.name)
    }

    /// Returns the actual amount, in the unit of the limit.
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// Returns the maximum amount that the limit allows, in the unit of the limit.
    pub fn most(&self) -> u64 {
        self.most
    }
}

/// Appends the exceeded limits in `added` to `target`. Limits that `target` already contains are
/// skipped.
pub fn merge_exceeded(target: &mut Vec<Exceeded>, added: Vec<Exceeded>) {
    for exceeded in added {
        if !target.iter().any(|listed| listed.limit == exceeded.limit) {
            target.push(exceeded);
        }
    }
}

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_message())
    }
}

impl Serialize for Exceeded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Exceeded", 3)?;
        fields.serialize_field("limit", self.limit())?;
        fields.serialize_field("amount", &self.amount)?;
        fields.serialize_field("most", &self.most)?;
        fields.end()
    }
}

impl rulec_base::codec::Codec for Limits {
    fn write(&self, writer: &mut rulec_base::codec::Writer) {
        self.0.iter().for_each(|maximum| maximum.write(writer));
    }

    fn read(reader: &mut rulec_base::codec::Reader<'_>) -> Result<Self, rulec_base::codec::DecodeError> {
        let mut limits = Limits::default();
        for maximum in &mut limits.0 {
            *maximum = rulec_base::codec::Codec::read(reader)?;
        }
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_quantifiers_read_at_most_the_root_of_the_limit() {
        let limits = Limits::default();
        let roots = [1, 2, 3, 4, 20, 64].map(|nest| limits.max_elements_per_quantifier(nest));
        assert_eq!(roots, [1_000_000, 1_000, 100, 31, 1, 1]);
        assert_eq!(limits.with_limit(Limit::QuantifierElements, 0).max_elements_per_quantifier(3), 0);
        assert_eq!(
            limits.with_limit(Limit::QuantifierElements, u64::MAX).max_elements_per_quantifier(1),
            u64::MAX - 1
        );
    }

    #[test]
    fn an_exceeded_limit_displays_its_message() {
        let exceeded = Exceeded { limit: Limit::QuantifierElements, amount: 7, most: 5 };
        assert_eq!(exceeded.to_string(), exceeded.to_message().to_string());
        assert!(exceeded.to_string().contains("quantifier_elements"), "{exceeded}");
    }

    #[test]
    fn rows_are_in_the_order_of_limits() {
        for (at, row) in TABLE.iter().enumerate() {
            assert!(row.limit as usize == at && Limit::from_name(row.name) == Some(row.limit));
        }
    }
}
