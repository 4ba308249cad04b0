//! Which engine decides.

use std::fmt;
use std::str::FromStr;

/// An engine. All answer alike; they differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tier {
    /// The fastest that serves the rule set.
    #[default]
    Auto,
    /// The plain evaluator that the others are held against.
    Reference,
    /// The bytecode machine.
    Vm,
}

impl Tier {
    /// Every choice, in the order it is documented.
    pub const ALL: [Tier; 3] = [Tier::Auto, Tier::Reference, Tier::Vm];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Auto => "auto",
            Tier::Reference => "reference",
            Tier::Vm => "vm",
        }
    }

    /// What actually runs.
    #[must_use]
    pub fn chosen(self) -> Tier {
        match self {
            Tier::Auto => Tier::Vm,
            other => other,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Tier::ALL
            .into_iter()
            .find(|tier| tier.name() == text)
            .ok_or_else(|| format!("there is no engine `{text}`; choose auto, reference or vm"))
    }
}

/// Whether the index finds the routes that may hold. Without it every route is tried in turn; the
/// answer is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Indexing {
    /// For the tables where it is faster.
    #[default]
    Auto,
    /// For every table.
    Always,
    /// For none: to compare, and to find out what is wrong.
    Never,
}
