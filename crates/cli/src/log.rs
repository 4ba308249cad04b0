//! `rulec log`: decision logs with a hash chain, which `rulec serve` writes.

use super::files;
use super::keys::KeyLocation;
use super::language::localized;
use super::term::{Out, Term};
use super::{CliError, Status};
use clap::Subcommand;
use rulec_base::message;
use rulec_report::chain::ChainVerifier;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

/// Work with decision logs
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
  rulec log verify decisions.jsonl.* decisions.jsonl --verify release.pub

The log must have the hash chain that `rulec serve --log` writes. Give the files in the order in which they were
written; the first may be any of them. With --verify, the checkpoints must be signed by that key. Without a key, a
person who can write the log could compute the whole chain again. Exits with status 1 if a line is wrong.")]
struct VerifyArgs {
    /// The files of the log, oldest first
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// The key that signs the checkpoints: a PEM file with the public key, or `env:NAME` for an
    /// environment variable
    #[arg(long, value_name = "KEY")]
    verify: Option<KeyLocation>,
}

/// Maximum number of wrong lines that are printed.
const MAX_SHOWN: usize = 20;

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let LogCommand::Verify(args) = &args.command;
    let key = args.verify.as_ref().map(KeyLocation::read_verifying_key).transpose()?;
    let has_key = key.is_some();
    let mut verifier = ChainVerifier::new(key);
    let mut faults = 0;
    for path in &args.files {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| files::unreadable_error(&name, &error);
        let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                break;
            }
            if let Err(fault) = verifier.check(&line) {
                faults += 1;
                if faults <= MAX_SHOWN {
                    out.write_line(&format!("{name}:{number}: {}", localized(&fault.to_message())))?;
                }
            }
        }
    }
    let (lines, checkpoints, unsigned) =
        (verifier.lines(), verifier.checkpoints(), verifier.unsigned_lines());
    if faults > MAX_SHOWN {
        out.write_message(&message!("and {} more", faults - MAX_SHOWN))?;
    }
    let summary = match has_key {
        true => message!(
            "lines: {lines}; wrong: {faults}; signed checkpoints: {checkpoints}; lines after the last one: {unsigned}"
        ),
        false => message!("lines: {lines}; wrong: {faults}; the signatures of checkpoints were not checked"),
    };
    if !out.is_closed() {
        term.print(&summary);
    }
    // Without a checkpoint, anybody may have computed the hashes.
    let is_unsigned = has_key && lines > 0 && checkpoints == 0;
    if is_unsigned {
        out.write_message(&message!("no line is a signed checkpoint, so the key proves nothing"))?;
    }
    Ok(if faults == 0 && !is_unsigned { Status::Success } else { Status::Errors })
}
