//! The reasons why a source of rules cannot be loaded or watched.

use super::RouterError;
use rulec::CompileError;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_import::ImportError;
use std::path::PathBuf;

/// The reason why rule files cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum WatchError {
    /// The rule files do not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The JSON document cannot be imported.
    Document(#[from] ImportError),
    /// The main file is blank. Such a file is probably still being written.
    Empty(PathBuf),
    /// The source is no artifact, although only signed artifacts are accepted.
    Unsigned(PathBuf),
    /// The rules lack the table where the router's decisions start, or one of their targets has no
    /// handler.
    #[error(transparent)]
    Router(#[from] RouterError),
    /// The operating system cannot watch the rule files for changes.
    System(#[from] notify::Error),
    /// The background task that compiles the files failed.
    Runtime(#[from] tokio::task::JoinError),
}

impl WatchError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            WatchError::Compile(error) => error.to_message(),
            WatchError::Document(error) => error.to_message(),
            WatchError::Empty(path) => message!("the rule file `{}` holds no statement", path.display()),
            WatchError::Unsigned(path) => message!(
                "`{}` has no signature; only files that `rulec build --sign` wrote are loaded",
                path.display()
            ),
            WatchError::Router(error) => error.to_message(),
            WatchError::System(error) => {
                message!("the rule files cannot be watched: {}", error.to_string())
            }
            WatchError::Runtime(error) => {
                message!("the rule files cannot be loaded: {}", error.to_string())
            }
        }
    }
}
