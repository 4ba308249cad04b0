//! Command-line options that select an engine and the use of indexes. These options serve to
//! compare engines and to find errors in them, because every selection gives the same results.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rulec::{Indexing, Rules, Tier};

/// Options that select the engine and the tables to search with an index. Every selection gives the
/// same results.
#[derive(clap::Args)]
pub struct EngineArgs {
    /// How conditions are evaluated: `reference` walks their tree, `vm` interprets bytecode, `jit`
    /// runs machine code. Only the speed differs; `auto` selects the fastest
    #[arg(long, default_value = Tier::Auto.name(), value_parser = tier_parser(), value_name = "ENGINE")]
    engine: Tier,
    /// Which tables to search with an index instead of trying their rules one by one. Only the
    /// speed differs
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    index: IndexMode,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum IndexMode {
    /// Tables for which the index is estimated to be faster
    #[default]
    Auto,
    /// All tables
    Always,
    /// No tables
    Never,
}

impl EngineArgs {
    /// Returns the name of the engine that the options select.
    pub fn engine_name(&self) -> &'static str {
        self.engine.name()
    }

    /// Applies the selected engine and indexing to the rules.
    pub fn apply_to(&self, rules: Rules) -> Rules {
        let indexing = match self.index {
            IndexMode::Auto => Indexing::Auto,
            IndexMode::Always => Indexing::Always,
            IndexMode::Never => Indexing::Never,
        };
        rules.with_tier(self.engine).with_index(indexing)
    }
}

/// Returns the clap parser for the names of engines.
pub fn tier_parser() -> impl TypedValueParser<Value = Tier> {
    PossibleValuesParser::new(Tier::ALL.map(Tier::name)).try_map(|name| name.parse::<Tier>())
}
