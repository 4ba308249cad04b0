//! Receipts of the decision log, by which a request can wait until the line of its decision is on
//! the disk.

use crate::problem::Problem;
use tokio::sync::oneshot;

/// The promise that a line of the decision log will be written to the disk. Waiting on it returns
/// whether the line was written.
pub(crate) struct Receipt(Option<oneshot::Receiver<bool>>);

impl Receipt {
    /// A receipt on which waiting succeeds at once, for a line that no request waits for.
    pub const NONE: Receipt = Receipt(None);

    /// Creates a receipt. The log's thread sends true after the line is on the disk, or false if
    /// writing failed.
    pub fn new(written: oneshot::Receiver<bool>) -> Receipt {
        Receipt(Some(written))
    }

    /// Waits until the line is on the disk.
    ///
    /// # Errors
    /// If the line could not be written. The caller must then answer with this error, not with the
    /// decision.
    pub async fn wait(self) -> Result<(), Problem> {
        match self.was_written().await {
            true => Ok(()),
            false => Err(Problem::overloaded("the decision log cannot be written, so nothing is decided")),
        }
    }

    /// Waits until the line of the decision log is on the disk. Returns false if the line could not
    /// be written.
    pub async fn was_written(self) -> bool {
        match self.0 {
            None => true,
            Some(written) => written.await.unwrap_or(false),
        }
    }
}
