//! The settings with which a program selects the engine for its rules: [`Tier`] and [`Indexing`].
//! The decisions are the same with every setting.

use rulec_base::diag::Message;
use rulec_base::message;
use std::fmt;
use std::str::FromStr;

/// A setting that selects the engine for decisions. All engines give the same decisions and differ
/// only in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Selects the fastest engine that supports the rule set.
    #[default]
    Auto,
    /// The tree-walking reference evaluator; the other engines are tested against it.
    Reference,
    /// The VM, which interprets bytecode.
    Vm,
    /// Machine code, compiled on first use of a rule set. If machine code is not available, the VM
    /// decides; [`Tier::available`] and [`Rules::warm_up`](super::Rules::warm_up) report why.
    Jit,
}

/// Error: the selected engine cannot run on this machine or in this build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct TierUnavailable {
    tier: Tier,
    reason: Message,
}

impl TierUnavailable {
    pub(super) fn new(tier: Tier, reason: Message) -> TierUnavailable {
        TierUnavailable { tier, reason }
    }

    /// Returns the reason why the engine cannot run, and a suggested fix, as a localized message.
    pub fn to_message(&self) -> Message {
        message!("the engine `{}` is not available: {}; choose `auto` or `vm`", self.tier.name(), self.reason)
    }
}

impl Tier {
    /// All engine settings, in the order in which the documentation lists them.
    pub const ALL: [Tier; 4] = [Tier::Auto, Tier::Reference, Tier::Vm, Tier::Jit];

    /// Returns the name of this setting, as users write it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Auto => "auto",
            Tier::Reference => "reference",
            Tier::Vm => "vm",
            Tier::Jit => "jit",
        }
    }

    /// Checks that the engine can run on this machine and in this build.
    ///
    /// # Errors
    /// If the engine cannot run; the error contains the reason.
    pub fn available(self) -> Result<(), TierUnavailable> {
        match self {
            #[cfg(feature = "jit")]
            Tier::Jit => {
                rulec_jit::check_available().map_err(|error| TierUnavailable::new(self, error.to_message()))
            }
            #[cfg(not(feature = "jit"))]
            Tier::Jit => Err(TierUnavailable::new(self, message!("this build is without the feature `jit`"))),
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

/// Which tables use the index, which finds the routes that a message may match. Without the index,
/// a table tries every route in order; the decision is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Indexing {
    /// Only tables that are faster with the index use it.
    #[default]
    Auto,
    /// Every table uses the index.
    Always,
    /// No table uses the index; for comparisons and debugging.
    Never,
}
