//! Formats and options of `rulec run` over columnar files. Input and output may be Parquet, Arrow,
//! CSV or JSON lines. Results that need more than a plain decision (explanations, intent flows,
//! payloads) are computed from JSON messages, with the same code as for JSON lines.

#[cfg(not(feature = "columns"))]
use super::CliError;
use super::stream::StreamArgs;
use std::path::{Path, PathBuf};

/// Command-line options for the formats of the messages and of the results.
#[derive(clap::Args)]
pub struct ColumnArgs {
    /// The format of the messages. `lines` is one JSON object per line; the others need a program
    /// with the feature `columns` [default: by the file extension, else lines]
    #[arg(long, value_name = "FORMAT", value_parser = FORMAT_NAMES)]
    input_format: Option<String>,
    /// The format of the answers, as for `--input-format` [default: by the extension of the
    /// `--output` file, else lines]
    #[arg(long, value_name = "FORMAT", value_parser = FORMAT_NAMES)]
    output_format: Option<String>,
    /// Write the answers to this file instead of standard output; it appears when all are written.
    /// Needs a program with the feature `columns`
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// For Parquet, Arrow and CSV: parse the texts of this column as JSON values; may be repeated
    #[arg(long, value_name = "COLUMN")]
    json_column: Vec<String>,
    /// For Parquet, Arrow and CSV: a column that the rules read may be absent; its values are then
    /// missing [default: an error before the first row]
    #[arg(long)]
    allow_missing_columns: bool,
}

/// The names of the formats: JSON lines and the columnar formats.
const FORMAT_NAMES: [&str; 4] = [LINES_FORMAT, "parquet", "arrow", "csv"];
const LINES_FORMAT: &str = "lines";

impl ColumnArgs {
    /// True if the input or the output is columnar, or if the output is a file. The module
    /// `batches` then reads the input and writes the output.
    pub fn needs_batches(&self, stream: &StreamArgs) -> bool {
        let is_columns = |format: &str| format != LINES_FORMAT;
        is_columns(&self.input_format(stream.input_path()))
            || is_columns(&self.output_format())
            || self.output.is_some()
    }

    fn input_format(&self, path: Option<&Path>) -> String {
        self.input_format.clone().unwrap_or_else(|| format_by_extension(path))
    }

    fn output_format(&self) -> String {
        self.output_format.clone().unwrap_or_else(|| format_by_extension(self.output.as_deref()))
    }
}

/// Returns the name of the format for the extension of the file `path`. Other files, and standard
/// input or output (`None`), are JSON lines.
fn format_by_extension(path: Option<&Path>) -> String {
    let extension = path.and_then(Path::extension).and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("parquet" | "pq") => "parquet",
        Some("arrow" | "arrows" | "ipc" | "feather") => "arrow",
        Some("csv") => "csv",
        _ => LINES_FORMAT,
    }
    .to_owned()
}

/// Returns an error that says how to build `rulec` with support for columnar files.
#[cfg(not(feature = "columns"))]
pub fn unsupported_error() -> CliError {
    CliError::usage_error(rulec_base::message!(
        "this `rulec` reads and writes JSON lines only; for Parquet, Arrow and CSV build it with `cargo \
        install --path crates/cli --features columns`"
    ))
}

#[cfg(feature = "columns")]
pub use batches::AnswerMode;

#[cfg(feature = "columns")]
mod batches;
