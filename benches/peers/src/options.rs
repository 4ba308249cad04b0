//! The command-line options of the comparison with the peers.

use crate::engines::{self, Column};
use crate::mix::HitPosition;
use crate::scan::ScanFiles;
use crate::workload::{Density, Shape, Variant};
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Compares rulec with its peers on one workload.
#[derive(Parser)]
#[command(name = "rulec-peers")]
pub struct Options {
    /// Numbers of routes, one row each. Above 100000 only rulec is measured.
    #[arg(long, value_delimiter = ',', default_value = "1,10,100,1000,10000,100000")]
    pub sizes: Vec<usize>,
    /// Engines, one column each; by default all.
    #[arg(long, value_delimiter = ',')]
    pub engines: Vec<String>,
    /// Message mixes; the program prints one table of results for each. By default all.
    #[arg(long, value_delimiter = ',')]
    pub mix: Vec<MixName>,
    /// What the routes test, one set of tables each.
    #[arg(long = "variant", value_delimiter = ',', default_value = "mixed,subset,verbs,plain")]
    pub variants: Vec<VariantName>,
    /// Density of rule words in a text, and how many rules share a word; one set of tables each.
    #[arg(long = "density", value_delimiter = ',', default_value = "rare,sparse,dense")]
    pub densities: Vec<DensityName>,
    /// Rounds in which every engine runs once; the median is reported.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Messages per mix.
    #[arg(long, default_value_t = 512)]
    pub messages: usize,
    /// Percentage of routes without an index key.
    #[arg(long, default_value_t = 5)]
    pub no_key: usize,
    /// Seed of the generator. Straight-line code exists only for the default. For up to 10 routes,
    /// the next three seeds are measured too.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Skips a peer that takes more than this number of milliseconds per message.
    #[arg(long, default_value_t = 200.0)]
    pub limit_ms: f64,
    /// Numbers of copies of the CLINC150 rules before the original, one row each; empty for no
    /// table.
    #[arg(long, value_delimiter = ',', default_value = "0,10,100", num_args = 0..)]
    pub clinc: Vec<usize>,
    /// Folder of the whole CLINC150 data set (`train.jsonl`, `val.jsonl`), for its messages and
    /// words.
    #[arg(long)]
    pub clinc_data: Option<PathBuf>,
    /// Measures loading of this number of routes; 0 to skip.
    #[arg(long, default_value_t = 100_000)]
    pub load: usize,
    /// Measures the scan of texts for these numbers of literals, one row each; empty for no table.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000", num_args = 0..)]
    pub scan: Vec<usize>,
    /// Measures the scan of the texts of one file for the literals of another, one for each line. A
    /// row for each LITERALS=TEXTS, after the rows of `--scan`.
    #[arg(long, value_name = "LITERALS=TEXTS", value_delimiter = ',')]
    pub scan_files: Vec<ScanFiles>,
    /// Measures these numbers of rules over many fields, one row each; empty for no table.
    #[arg(long, value_delimiter = ',', default_value = "300,1000,3000", num_args = 0..)]
    pub fields: Vec<usize>,
    /// Measures requests a second over HTTP at these numbers of rules, one row each; empty for no
    /// table.
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000,10000", num_args = 0..)]
    pub http: Vec<usize>,
    /// Writes the page with all tables to this file.
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
    Plain,
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

    pub fn places(&self) -> Vec<HitPosition> {
        let named = self.mix.iter().map(|&name| HitPosition::ALL[name as usize]);
        if self.mix.is_empty() { HitPosition::ALL.to_vec() } else { named.collect() }
    }

    /// Returns the chosen engines.
    ///
    /// # Errors
    /// If no engine has one of the names.
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
