//! `rulec build`: writes compiled rules to a single file, which loads faster than source text.

use super::files::{self, RulesArgs};
use super::keys::KeyLocation;
use super::language::singular_or_plural;
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use rulec::artifact;
use rulec_base::message;
use std::path::{Path, PathBuf};

/// Compile rules to a single file that loads faster and needs no other file
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec build support.rules                           writes support.rulec
  rulec build support.rules -o /srv/support.rulec
  rulec run support.rulec messages.jsonl              every command accepts it instead of the rules
  rulec build support.rules --sign release.pem        signed; the public key verifies it
  rulec run support.rulec --verify release.pub messages.jsonl

The file contains everything that the rules import and, unless --strip-source is given, the source text for \
explanations. Only the version of rulec that wrote the file can read it. Equal rules give equal bytes.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// The file to write [default: next to the rules, with the extension `.rulec`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out the source text; explanations then show the position of a condition, not its text
    #[arg(long)]
    strip_source: bool,
    /// Sign the output with a private Ed25519 key: a PEM file (`openssl genpkey -algorithm
    /// ed25519`), or `env:NAME` for an environment variable that holds it
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    sign: Option<KeyLocation>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    if args.output.is_none() && args.rules.is_stdin() {
        return Err(CliError::usage_error(message!(
            "name the file to write with `-o`: the rules come from standard input"
        )));
    }
    let (rules, context) = args.rules.load_with_context(term)?;
    if context.is_some() {
        return Err(CliError::usage_error(message!(
            "compiled rules cannot contain the payload context of `{}`; serve the JSON itself, or give the context with each payload",
            args.rules.path.display()
        )));
    }
    let path = args.output.clone().unwrap_or_else(|| args.rules.path.with_extension("rulec"));
    let shown = path.display();
    if is_same_file(&path, &args.rules.path) {
        return Err(CliError::usage_error(message!(
            "`{shown}` is the rules file itself; give another file with `-o`"
        )));
    }
    let key = args.sign.as_ref().map(KeyLocation::read_signing_key).transpose()?;
    let bytes = match &key {
        Some(key) => rules.to_signed_artifact(args.strip_source, key),
        None => rules.to_artifact(args.strip_source),
    };
    files::replace_file(&path, &bytes)?;
    let hash = artifact::content_hash(&bytes).map(|hash| artifact::hexadecimal(&hash)).unwrap_or_default();
    let (rules, bytes) = (rules.program().rules.len(), bytes.len());
    let rules = singular_or_plural(rules, message!("1 rule"), message!("{rules} rules"));
    let built = message!("{shown}: {rules}, {bytes} bytes, sha256 {hash}");
    out.write_message(&match key {
        Some(key) => message!("{built}, signed with {}", key.verifying_key().to_string()),
        None => built,
    })?;
    Ok(ExitStatus::Success)
}

fn is_same_file(left: &Path, right: &Path) -> bool {
    left == right
        || left.canonicalize().is_ok_and(|left| right.canonicalize().is_ok_and(|right| left == right))
}
