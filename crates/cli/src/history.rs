//! Implements `rulec history`: shows, checks and compacts the history that `rulec run --history`
//! has recorded, in a folder or at a Redis server. The cargo feature `history` is optional, because
//! it compiles SQLite, which is written in C.

#[cfg(feature = "history")]
mod store;

use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use clap::Subcommand;
use std::path::PathBuf;

#[cfg(all(feature = "history", feature = "serve"))]
pub use store::is_server_address;
#[cfg(feature = "history")]
pub use store::{PersistentStore, open, open_existing};
#[cfg(feature = "history")]
pub use with::run;
#[cfg(not(feature = "history"))]
pub use without::{not_built_error, run};

/// Show, check and compact the messages that `--history` recorded in a folder or at a Redis server
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec run guard.rules calls.jsonl --history past/
  rulec history show past/ --key s-1
  rulec history check past/
  rulec history compact past/ --before 2026-01-31T00:00:00Z
  rulec history show redis://127.0.0.1:6379/0#guard   the history `guard` at a server

`show` prints one JSON object per message, ordered by key and time, with the values that the history keeps: \
private texts that rules only compare are hashes, and other private values are shown. `at` is the time of the message:
  {\"key\":\"s-1\",\"message\":{\"at\":\"2026-01-31T12:00:00Z\",\"tool\":\"search\"}}
Only one program at a time can use a folder; several programs can use a history at a Redis server. The \
server's password may be in the environment variable `RULEC_HISTORY_PASSWORD`. Folders need a program with the \
feature `history`, servers the feature `shared`.

Exit status: 0 no errors, 1 the history has errors, 2 wrong usage or no history at this place.")]
pub struct Args {
    #[command(subcommand)]
    command: HistoryCommand,
}

#[derive(Subcommand)]
enum HistoryCommand {
    Show(ShowArgs),
    Check(FolderArgs),
    Compact(CompactArgs),
}

/// Print the recorded messages as JSON lines
#[derive(clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Print only the messages of this key: a value of the field after `by` in the `history`
    /// statement
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Check the stored data and each message, and print each error
#[derive(clap::Args)]
struct FolderArgs {
    /// The folder of the history, or its address `redis://HOST:PORT/DATABASE#NAME` at a Redis
    /// server
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Give unused space back to the file system, and remove old messages with `--before`
#[derive(clap::Args)]
struct CompactArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Also remove the messages before this time, such as 2026-01-31T00:00:00Z
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
}

#[cfg(not(feature = "history"))]
mod without {
    use super::{Args, CliError, ExitStatus, HistoryCommand, Out, Term};
    use rulec_base::message;

    /// Returns the error for `rulec history` in a program that was built without histories on disk.
    pub fn not_built_error() -> CliError {
        CliError::usage_error(message!(
            "this program was built without histories on disk: `cargo build -p rulec-cli --features history` builds a program that has them"
        ))
    }

    pub fn run(args: &Args, _: &Term, _: &mut Out) -> Result<ExitStatus, CliError> {
        // Reads all options, so that the compiler does not report unused fields.
        let _ = match &args.command {
            HistoryCommand::Show(args) => (&args.folder.folder, args.key.as_ref()),
            HistoryCommand::Check(args) => (&args.folder, None),
            HistoryCommand::Compact(args) => (&args.folder.folder, args.before.as_ref()),
        };
        Err(not_built_error())
    }
}

#[cfg(feature = "history")]
mod with {
    use super::store::{open_existing, store_error};
    use super::{Args, CliError, ExitStatus, HistoryCommand, Out, ShowArgs, Term};
    use rulec::history::StoreError;
    use rulec_base::message;
    use rulec_history_store::StoredMessage;
    use serde_json::{Value as Json, json};
    use std::sync::mpsc::sync_channel;

    /// Maximum number of messages that are read from the history and not yet printed.
    const MAX_WAITING_MESSAGES: usize = 1_000;

    pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
        match &args.command {
            HistoryCommand::Show(args) => show_messages(args, out),
            HistoryCommand::Check(args) => {
                let report =
                    open_existing(&args.folder, None)?.check().map_err(|error| store_error(&error))?;
                for problem in &report.problems {
                    out.write_line(problem)?;
                }
                let (keys, messages, wrong) = (report.key_count, report.message_count, report.problems.len());
                term.print(&message!("keys: {keys}; messages: {messages}; wrong: {wrong}"));
                Ok(if wrong == 0 { ExitStatus::Success } else { ExitStatus::Errors })
            }
            HistoryCommand::Compact(args) => {
                let store = open_existing(&args.folder.folder, None)?;
                let removed = store.compact(args.before.as_deref()).map_err(|error| store_error(&error))?;
                term.print(&message!("removed messages: {removed}"));
                Ok(ExitStatus::Success)
            }
        }
    }

    fn show_messages(args: &ShowArgs, out: &mut Out) -> Result<ExitStatus, CliError> {
        let store = open_existing(&args.folder.folder, None)?;
        // A stored key is a quotation mark followed by a text, a number, or a bool.
        let keys: Vec<Option<String>> = match &args.key {
            None => vec![None],
            Some(key) if key.parse::<i128>().is_ok() || matches!(key.as_str(), "true" | "false") => {
                vec![Some(format!("\"{key}")), Some(key.clone())]
            }
            Some(key) => vec![Some(format!("\"{key}"))],
        };
        for key in keys {
            let (sender, receiver) = sync_channel::<StoredMessage>(MAX_WAITING_MESSAGES);
            let result = std::thread::scope(|scope| {
                let reader = scope
                    .spawn(|| store.for_each_message(key.as_deref(), move |kept| sender.send(kept).is_ok()));
                let mut printed = Ok(());
                for kept in receiver {
                    printed = out.write_line(&recorded_message_json(kept).to_string());
                    if printed.is_err() || out.is_closed() {
                        break;
                    }
                }
                let read = reader.join().unwrap_or_else(|_| Err(StoreError("the reader failed".to_owned())));
                printed.map(|()| read)
            })?;
            result.map_err(|error| store_error(&error))?;
        }
        Ok(ExitStatus::Success)
    }

    /// Converts a recorded message to the JSON object that `rulec history show` prints, with the
    /// key first.
    fn recorded_message_json(kept: StoredMessage) -> Json {
        let key = match kept.history_key.strip_prefix('"') {
            Some(text) => json!(text),
            None => serde_json::from_str(&kept.history_key).unwrap_or(Json::Null),
        };
        json!({ "key": key, "message": kept.message })
    }
}
