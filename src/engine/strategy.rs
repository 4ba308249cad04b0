//! The choice of the engine that decides.

use rulec_base::diag::Message;
use rulec_base::message;
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
    /// Machine code, compiled when a rule set is first used. Where it cannot be, the bytecode machine
    /// decides; [`Tier::available`] and [`Rules::ready`](super::Rules::ready) tell.
    Jit,
}

/// An engine that cannot decide here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_words())]
pub struct TierUnavailable {
    tier: Tier,
    why: String,
}

impl TierUnavailable {
    pub(super) fn new(tier: Tier, why: impl fmt::Display) -> TierUnavailable {
        TierUnavailable { tier, why: why.to_string() }
    }

    /// The reason and the remedy, which each language has its own words for.
    pub fn in_words(&self) -> Message {
        message!("the engine `{}` is not available: {}; choose `auto` or `vm`", self.tier.name(), self.why)
    }
}

impl Tier {
    /// Every choice, in the order it is documented.
    pub const ALL: [Tier; 4] = [Tier::Auto, Tier::Reference, Tier::Vm, Tier::Jit];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Auto => "auto",
            Tier::Reference => "reference",
            Tier::Vm => "vm",
            Tier::Jit => "jit",
        }
    }

    /// Checks that it can decide on this machine, by this build.
    pub fn available(self) -> Result<(), TierUnavailable> {
        match self {
            #[cfg(feature = "jit")]
            Tier::Jit => rulec_jit::available().map_err(|error| TierUnavailable::new(self, error)),
            #[cfg(not(feature = "jit"))]
            Tier::Jit => Err(TierUnavailable::new(self, "this build is without the feature `jit`")),
            _ => Ok(()),
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
        let tier = Tier::ALL.into_iter().find(|tier| tier.name() == text);
        let tier =
            tier.ok_or_else(|| format!("there is no engine `{text}`; choose auto, reference, vm or jit"))?;
        tier.available().map(|()| tier).map_err(|error| error.to_string())
    }
}

/// The tables for which the index finds the routes that may hold. Without it every route is tried in turn; the
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
