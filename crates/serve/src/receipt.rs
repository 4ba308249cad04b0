//! The promise that a line of the decision log will be on the disk, for which an answer may wait.

use crate::problem::Problem;
use tokio::sync::oneshot;

/// The promise that a line will be on the disk.
pub(crate) struct Receipt(Option<oneshot::Receiver<bool>>);

impl Receipt {
    /// A receipt for a line that no answer waits for.
    pub const NONE: Receipt = Receipt(None);

    /// Returns a receipt for a line whose writer sends whether the line is on the disk.
    pub fn new(written: oneshot::Receiver<bool>) -> Receipt {
        Receipt(Some(written))
    }

    /// Waits until the line is on the disk.
    ///
    /// # Errors
    /// If the line could not be written. The decision must not be answered then.
    pub async fn wait(self) -> Result<(), Problem> {
        match self.was_written().await {
            true => Ok(()),
            false => Err(Problem::overloaded("the decision log cannot be written, so nothing is decided")),
        }
    }

    /// Waits until the line is on the disk. Returns false if it could not be written.
    pub async fn was_written(self) -> bool {
        match self.0 {
            None => true,
            Some(written) => written.await.unwrap_or(false),
        }
    }
}
