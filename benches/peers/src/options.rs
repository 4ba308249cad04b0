//! The command line.

use crate::engines::{self, Column};
use crate::mix::Place;
use crate::workload::{Density, Shape, Variant};
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Compares rulec with its peers on one workload.
#[derive(Parser)]
#[command(name = "rulec-peers")]
pub struct Options {
    /// Numbers of routes, a row each; above 100000 only rulec is measured.
    #[arg(long, value_delimiter = ',', default_value = "1,10,100,1000,10000,100000")]
    pub sizes: Vec<usize>,
    /// Engines, a column each; all unless said.
    #[arg(long, value_delimiter = ',')]
    pub engines: Vec<String>,
    /// Mixes of messages, a table each; all unless said.
    #[arg(long, value_delimiter = ',')]
    pub mix: Vec<MixName>,
    /// The subjects of the routes' tests, a set of tables each.
    #[arg(long = "variant", value_delimiter = ',', default_value = "mixed,subset,verbs")]
    pub variants: Vec<VariantName>,
    /// The share of a text's words that rules ask for, and how many rules share a word; a set of tables each.
    #[arg(long = "density", value_delimiter = ',', default_value = "rare,sparse,dense")]
    pub densities: Vec<DensityName>,
    /// Rounds in which every engine has a turn; the median counts.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Messages of a mix.
    #[arg(long, default_value_t = 512)]
    pub messages: usize,
    /// Routes in a hundred that no key can find.
    #[arg(long, default_value_t = 5)]
    pub no_key: usize,
    /// The generator's seed. The straight-line code is there for the default only. Up to 10 routes the next
    /// three seeds count as well.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// A peer that takes longer for a message, in milliseconds, is skipped.
    #[arg(long, default_value_t = 200.0)]
    pub limit_ms: f64,
    /// The number of copies of the CLINC150 rules that are put before the original, a row each; none for no table.
    #[arg(long, value_delimiter = ',', default_value = "0,10,100", num_args = 0..)]
    pub clinc: Vec<usize>,
    /// The folder of the whole CLINC150 data set (`train.jsonl`, `val.jsonl`), for messages and words of it.
    #[arg(long)]
    pub clinc_data: Option<PathBuf>,
    /// Measures loading so many routes; 0 for not.
    #[arg(long, default_value_t = 100_000)]
    pub load: usize,
    /// Measures the scan of texts for so many literals, a row each; none for no table.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000", num_args = 0..)]
    pub scan: Vec<usize>,
    /// Measures rules over many fields, so many of them, a row each; none for no table.
    #[arg(long, value_delimiter = ',', default_value = "300,1000,3000", num_args = 0..)]
    pub fields: Vec<usize>,
    /// Writes the page of all tables.
    #[arg(long)]
    pub markdown: Option<PathBuf>,
    /// The date to write on the page.
    #[arg(long, default_value = "undated")]
    pub date: String,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum MixName {
    Late,
    Early,
    None,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum VariantName {
    Mixed,
    Subset,
    Context,
    Verbs,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum DensityName {
    Rare,
    Sparse,
    Dense,
}

impl From<DensityName> for Density {
    fn from(name: DensityName) -> Density {
        Density::ALL[name as usize]
    }
}

impl From<VariantName> for Variant {
    fn from(name: VariantName) -> Variant {
        Variant::ALL[name as usize]
    }
}

impl Options {
    pub fn shape(&self, routes: usize, variant: Variant, density: Density) -> Shape {
        Shape { routes, variant, density, no_key: self.no_key, seed: self.seed }
    }

    pub fn densities(&self) -> Vec<Density> {
        self.densities.iter().map(|&name| name.into()).collect()
    }

    pub fn places(&self) -> Vec<Place> {
        let named = self.mix.iter().map(|&name| Place::ALL[name as usize]);
        if self.mix.is_empty() { Place::ALL.to_vec() } else { named.collect() }
    }

    /// The chosen engines.
    ///
    /// # Errors
    /// A name that none has.
    pub fn columns(&self) -> Result<Vec<Column>, String> {
        let all = engines::all();
        for name in &self.engines {
            if all.iter().all(|column| column.name != name) {
                let known: Vec<&str> = all.iter().map(|column| column.name).collect();
                return Err(format!("there is no engine `{name}`; there are {}", known.join(", ")));
            }
        }
        let wanted =
            |column: &Column| self.engines.is_empty() || self.engines.iter().any(|name| name == column.name);
        Ok(all.into_iter().filter(wanted).collect())
    }
}
