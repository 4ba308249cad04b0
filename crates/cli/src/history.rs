//! Implements `rulec history`: shows, checks and compacts a history, which is a folder of messages
//! that `rulec run --history DIR` has recorded. The history is an optional feature, because it
//! compiles SQLite, which is written in C.

use super::term::{Out, Term};
use super::{CliError, Status};
use clap::Subcommand;
use std::path::PathBuf;

#[cfg(feature = "history")]
pub use with::{open, open_existing, run};
#[cfg(not(feature = "history"))]
pub use without::{not_built, run};

/// Show, check and compact a history that is kept in a folder
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec run guard.rules calls.jsonl --history past/
  rulec history show past/ --key s-1
  rulec history check past/
  rulec history compact past/ --before 2026-01-31T00:00:00Z

`show` writes a line of JSON for each message, ordered by key and time: 
  {\"key\":\"s-1\",\"message\":{\"at\":\"2026-01-31T12:00:00Z\",\"tool\":\"search\"}}
`check` exits with status 1 if something is wrong. Only one program at a time can use the folder.")]
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

/// Write the kept messages as JSON lines
#[derive(clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Only the messages of this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Check the files and each message
#[derive(clap::Args)]
struct FolderArgs {
    /// The folder of the history
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Give unused space back to the file system
#[derive(clap::Args)]
struct CompactArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Also remove the messages before this time
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
}

#[cfg(not(feature = "history"))]
mod without {
    use super::{Args, CliError, HistoryCommand, Out, Status, Term};
    use rulec_base::message;

    /// Returns the error for `rulec history` in a program that was built without histories on disk.
    pub fn not_built() -> CliError {
        CliError::usage(message!(
            "this program was built without histories on disk: `cargo build -p rulec-cli --features history`"
        ))
    }

    pub fn run(args: &Args, _: &Term, _: &mut Out) -> Result<Status, CliError> {
        // Reads all options, so that the compiler does not report unused fields.
        let _ = match &args.command {
            HistoryCommand::Show(args) => (&args.folder.folder, args.key.as_ref()),
            HistoryCommand::Check(args) => (&args.folder, None),
            HistoryCommand::Compact(args) => (&args.folder.folder, args.before.as_ref()),
        };
        Err(not_built())
    }
}

#[cfg(feature = "history")]
mod with {
    use super::{Args, CliError, HistoryCommand, Out, ShowArgs, Status, Term};
    use rulec::history::StoreError;
    use rulec_base::diag::Message;
    use rulec_base::message;
    use rulec_history_store::{DurableStore, Kept};
    use serde_json::{Value as Json, json};
    use std::path::Path;
    use std::sync::mpsc::sync_channel;

    /// Maximum number of messages that are read ahead of printing.
    const MAX_WAITING: usize = 1_000;

    fn store_error(error: &StoreError) -> CliError {
        CliError::error(Message::verbatim(error.0.clone()))
    }

    /// Opens the history in a folder. Creates the folder, with an empty history, if it does not
    /// exist.
    pub fn open(folder: &Path) -> Result<DurableStore, CliError> {
        if folder.is_file() {
            return Err(CliError::usage(message!(
                "`{}` is a file, and a history is kept in a folder; write the rules before `--history`",
                folder.display()
            )));
        }
        DurableStore::open(folder).map_err(|error| store_error(&error))
    }

    /// Opens the history in a folder.
    ///
    /// # Errors
    /// If the folder has no history.
    pub fn open_existing(folder: &Path) -> Result<DurableStore, CliError> {
        if !folder.is_dir() {
            return Err(CliError::usage(message!("there is no folder `{}`", folder.display())));
        }
        if !DurableStore::exists(folder) {
            return Err(CliError::usage(message!("the folder `{}` has no history", folder.display())));
        }
        open(folder)
    }

    pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
        match &args.command {
            HistoryCommand::Show(args) => show(args, out),
            HistoryCommand::Check(args) => {
                let report = open_existing(&args.folder)?.check().map_err(|error| store_error(&error))?;
                for problem in &report.problems {
                    out.write_line(problem)?;
                }
                let (keys, messages, wrong) = (report.keys, report.messages, report.problems.len());
                term.print(&message!("keys: {keys}; messages: {messages}; wrong: {wrong}"));
                Ok(if wrong == 0 { Status::Success } else { Status::Errors })
            }
            HistoryCommand::Compact(args) => {
                let store = open_existing(&args.folder.folder)?;
                let removed = store.compact(args.before.as_deref()).map_err(|error| store_error(&error))?;
                term.print(&message!("removed messages: {removed}"));
                Ok(Status::Success)
            }
        }
    }

    fn show(args: &ShowArgs, out: &mut Out) -> Result<Status, CliError> {
        let store = open_existing(&args.folder.folder)?;
        // A stored key is a quotation mark followed by a text, a number, or a bool.
        let keys: Vec<Option<String>> = match &args.key {
            None => vec![None],
            Some(key) if key.parse::<i128>().is_ok() || matches!(key.as_str(), "true" | "false") => {
                vec![Some(format!("\"{key}")), Some(key.clone())]
            }
            Some(key) => vec![Some(format!("\"{key}"))],
        };
        for key in keys {
            let (sender, receiver) = sync_channel::<Kept>(MAX_WAITING);
            let result = std::thread::scope(|scope| {
                let reader =
                    scope.spawn(|| store.for_each(key.as_deref(), move |kept| sender.send(kept).is_ok()));
                let mut printed = Ok(());
                for kept in receiver {
                    printed = out.write_line(&shown(kept).to_string());
                    if printed.is_err() || out.is_closed() {
                        break;
                    }
                }
                let read = reader.join().unwrap_or_else(|_| Err(StoreError("the reader failed".to_owned())));
                printed.map(|()| read)
            })?;
            result.map_err(|error| store_error(&error))?;
        }
        Ok(Status::Success)
    }

    /// Converts a recorded message to the JSON object that `rulec history show` prints, with the
    /// key first.
    fn shown(kept: Kept) -> Json {
        let key = match kept.key.strip_prefix('"') {
            Some(text) => json!(text),
            None => serde_json::from_str(&kept.key).unwrap_or(Json::Null),
        };
        json!({ "key": key, "message": kept.element })
    }
}
