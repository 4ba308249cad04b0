//! A progress bar on standard error, which shows for long inputs how much of the input is
//! processed.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};

/// Minimum size of an input with a progress bar, in bytes. Smaller inputs finish before a bar could
/// be read.
const MIN_BYTES_FOR_PROGRESS: u64 = 4 << 20;

/// A progress bar, shown only on a terminal and only for long inputs.
pub struct InputProgress {
    /// Whether a bar may be shown: standard error is a terminal, standard output is not, and the
    /// input is not known to be short.
    is_enabled: bool,
    input_bytes: Option<u64>,
    bar: Option<ProgressBar>,
}

impl InputProgress {
    /// Creates a progress bar. `size` is the size of the input in bytes, if known.
    pub fn new(size: Option<u64>) -> Self {
        // If decisions are printed on the same terminal, they already show the progress, so no bar
        // is shown.
        let is_visible = io::stderr().is_terminal() && !io::stdout().is_terminal();
        InputProgress {
            is_enabled: is_visible && size.is_none_or(|size| size >= MIN_BYTES_FOR_PROGRESS),
            input_bytes: size,
            bar: None,
        }
    }

    /// Moves the progress bar to `bytes`, the number of bytes of the input that were read so far.
    pub fn set_position(&mut self, bytes: u64) {
        if !self.is_enabled || (self.input_bytes.is_none() && bytes < MIN_BYTES_FOR_PROGRESS) {
            return;
        }
        let size = self.input_bytes;
        let bar = self.bar.get_or_insert_with(|| match size {
            Some(size) => {
                let template = "{bar:30} {percent:>3}% of {total_bytes}, {bytes_per_sec}, {eta} left";
                ProgressBar::new(size).with_style(progress_bar_style(template))
            }
            None => {
                let template = "{spinner} {bytes} read, {bytes_per_sec}, {elapsed}";
                ProgressBar::new_spinner().with_style(progress_bar_style(template))
            }
        });
        bar.set_position(bytes);
    }
}

/// Removes the progress bar from the terminal, also if the work ends with an error.
impl Drop for InputProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn progress_bar_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
