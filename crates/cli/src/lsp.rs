//! `rulec lsp`: the language server, which editors start.

use super::term::Term;
use super::{CliError, Status, language};
use rulec_base::message;
use std::io::{IsTerminal, stdin};

/// Serve an editor: diagnostics as one types, completion, names, fixes
///
/// Speaks the Language Server Protocol over standard input and output. Editors start it; docs/editors.md says how.
/// Findings are as severe as `rulec.toml` says, and told in the editor's language unless `--lang` or RULEC_LANG name one.
#[derive(clap::Args)]
pub struct Args {
    /// Speak over standard input and output, which it does anyway: some editors say so
    #[arg(long)]
    stdio: bool,
}

pub fn run(_: &Args, term: &Term) -> Result<Status, CliError> {
    if stdin().is_terminal() {
        term.note(&message!("this is a language server, which waits for an editor; end it by Ctrl-C"));
    }
    rulec_lsp::stdio(language::chosen())
        .map(|()| Status::Fine)
        .map_err(|error| CliError::usage(error.to_message()))
}
