//! Options to select an engine and indexing by name, for comparisons and for debugging.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rulec::{Indexing, Rules, Tier};

/// Options that select the engine and the tables to search with an index. Every selection gives the
/// same results.
#[derive(clap::Args)]
pub struct EngineArgs {
    /// The engine that decides; all engines give the same answers
    #[arg(long, default_value = Tier::Auto.name(), value_parser = tier(), value_name = "ENGINE")]
    engine: Tier,
    /// Which tables to search with an index instead of trying their rules one by one; the answers
    /// are the same
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    index: Index,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Index {
    /// Tables for which the index is estimated to be faster
    #[default]
    Auto,
    /// All tables
    Always,
    /// No tables
    Never,
}

impl EngineArgs {
    /// Returns the name of the engine.
    pub fn name(&self) -> &'static str {
        self.engine.name()
    }

    /// Applies the selected engine and indexing to the rules.
    pub fn decide(&self, rules: Rules) -> Rules {
        let indexing = match self.index {
            Index::Auto => Indexing::Auto,
            Index::Always => Indexing::Always,
            Index::Never => Indexing::Never,
        };
        rules.with_tier(self.engine).with_index(indexing)
    }
}

/// Returns the clap parser for the names of engines.
pub fn tier() -> impl TypedValueParser<Value = Tier> {
    PossibleValuesParser::new(Tier::ALL.map(Tier::name)).try_map(|name| name.parse::<Tier>())
}
