//! Implements `rulec log`, which verifies decision logs with a hash chain, as `rulec serve` writes
//! them.

use super::files;
use super::keys::KeyLocation;
use super::language::localized;
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use clap::Subcommand;
use rulec_base::message;
use rulec_report::chain::{ChainFault, ChainVerifier};
use rulec_report::log_files::find_logs;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

/// Check that the decision logs of `rulec serve --log` are complete and unchanged
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: LogCommand,
}

#[derive(Subcommand)]
enum LogCommand {
    Verify(VerifyArgs),
}

/// Find lines of a decision log that were changed, dropped or moved
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec log verify decisions.jsonl
  rulec log verify decisions.jsonl.0* decisions.jsonl --verify release.pub
  rulec log verify /var/log/rulec
  rulec log verify /var/log/rulec --expect-end 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9

The log must have the hash chain that `rulec serve --log` writes: each line has a hash of itself and of all \
lines before it. Give the files of one log in the order in which they were written; the first may be any of \
them. For a folder, all logs in it are checked, each with all its files. Prints each wrong line, the number of \
lines, and the `head`: the hash of the last line.

Without a key, a person who can write the log could compute all hashes again. With --verify, the checkpoints \
must be signed by that key. Lines that were cut off at the end leave no trace in the rest. To find that out, \
note the `head`, which `GET /v1/rules` also returns, and give it later with --expect-end.

Exit status: 0 all lines are right, 1 a line is wrong or missing, 2 wrong usage or an unreadable file.")]
struct VerifyArgs {
    /// The files of the log, oldest first, or folders with logs
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// Fail unless a line has this hash, the `head` that was noted earlier. This finds lines that
    /// were cut off at the end; further lines may follow
    #[arg(long, value_name = "HASH")]
    expect_end: Option<String>,
    /// Also check the signatures of the checkpoints (`rulec serve --log-key`) with this Ed25519
    /// key: a PEM file with the public key, or `env:NAME` for an environment variable that holds it
    #[arg(long, value_name = "KEY")]
    verify: Option<KeyLocation>,
}

/// Maximum number of wrong lines that are printed for a log.
const MAX_SHOWN_FAULTS: usize = 20;

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let LogCommand::Verify(args) = &args.command;
    let key = args.verify.as_ref().map(KeyLocation::read_verifying_key).transpose()?;
    let logs = select_logs(&args.files)?;
    let mut is_good = true;
    let mut has_wanted_line = args.expect_end.is_none();
    for log in &logs {
        let mut verifier = ChainVerifier::new(key);
        if let Some(hash) = &args.expect_end {
            verifier = verifier.require_hash(hash).ok_or_else(|| {
                CliError::usage_error(message!("`{hash}` is not a hash; a hash has 64 hexadecimal digits"))
            })?;
        }
        let faults = print_faults(log, &mut verifier, out)?;
        is_good &= faults == 0;
        has_wanted_line |= !verifier.lacks_required_hash();
        is_good &= print_summary(&verifier, faults, key.is_some(), term, out)?;
    }
    if !has_wanted_line {
        is_good = false;
        out.write_message(&message!(
            "no line has the hash that --expect-end gives: the end of the log is missing"
        ))?;
    }
    Ok(if is_good { ExitStatus::Success } else { ExitStatus::Errors })
}

/// Returns the decision logs that the arguments select, each as the list of its files. A folder can
/// hold several logs. All files among the arguments together form one log.
fn select_logs(paths: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>, CliError> {
    let (folders, files): (Vec<_>, Vec<_>) = paths.iter().cloned().partition(|path| path.is_dir());
    let mut logs = Vec::new();
    for folder in &folders {
        let name = folder.display().to_string();
        let found = find_logs(folder).map_err(|error| files::unreadable_error(&name, &error))?;
        if found.is_empty() {
            return Err(CliError::usage_error(message!("the folder `{name}` has no log with a hash chain")));
        }
        logs.extend(found);
    }
    if !files.is_empty() {
        logs.push(files);
    }
    Ok(logs)
}

/// Verifies the files of one decision log, and prints its wrong lines. Returns the number of wrong
/// lines.
fn print_faults(log: &[PathBuf], verifier: &mut ChainVerifier, out: &mut Out) -> Result<usize, CliError> {
    let mut faults = 0;
    for path in log {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| files::unreadable_error(&name, &error);
        let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                break;
            }
            if let Err(fault) = verifier.check_line(&line) {
                faults += 1;
                // Without a hash in the first line, the file is no log of decisions.
                if number == 1 && fault == ChainFault::NoChain && !may_be_damaged_log_line(&line) {
                    return Err(CliError::usage_error(message!(
                        "`{name}` is no log of decisions with a hash chain; `rulec serve --log` writes one"
                    )));
                }
                if faults <= MAX_SHOWN_FAULTS {
                    out.write_line(&format!("{name}:{number}: {}", localized(&fault.to_message())))?;
                }
            }
        }
    }
    if faults > MAX_SHOWN_FAULTS {
        out.write_message(&message!("and {} more", faults - MAX_SHOWN_FAULTS))?;
    }
    Ok(faults)
}

/// True if a line may be a damaged line of a log with a hash chain. Such a line contains the JSON
/// key of the hash or of the header of a log file, or is not a complete JSON object.
fn may_be_damaged_log_line(line: &[u8]) -> bool {
    let contains = |key: &[u8]| line.windows(key.len()).any(|part| part == key);
    !line.starts_with(b"{")
        || !line.trim_ascii_end().ends_with(b"}")
        || contains(b"\"chain\"")
        || contains(b"{\"continues\"")
}

/// Prints the number of lines, wrong lines and signed checkpoints of one log. Returns false if a
/// key was given and the log has lines but no signed checkpoint.
fn print_summary(
    verifier: &ChainVerifier,
    faults: usize,
    has_key: bool,
    term: &Term,
    out: &mut Out,
) -> Result<bool, CliError> {
    let (lines, checkpoints, unsigned) =
        (verifier.line_count(), verifier.checkpoint_count(), verifier.unsigned_line_count());
    let summary = match has_key {
        true => message!(
            "lines: {lines}; wrong: {faults}; signed checkpoints: {checkpoints}; lines after the last one: {unsigned}"
        ),
        false => message!("lines: {lines}; wrong: {faults}; the signatures of checkpoints were not checked"),
    };
    if !out.is_closed() {
        term.print(&summary);
        if let Some(head) = verifier.last_hash_hex() {
            term.print(&message!("head: {head}"));
        }
    }
    // Without a signed checkpoint, anyone could have computed the hashes.
    let is_unsigned = has_key && lines > 0 && checkpoints == 0;
    if is_unsigned {
        out.write_message(&message!("no line is a signed checkpoint, so the key proves nothing"))?;
    }
    Ok(!is_unsigned)
}
