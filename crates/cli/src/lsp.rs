//! `rulec lsp`: the language server, which editors start.

use super::term::Term;
use super::{CliError, ExitStatus, language};
use rulec_base::message;
use std::io::{IsTerminal, stdin};

/// Run the language server for editors: live diagnostics, completion, renaming, fixes
///
/// Speaks the Language Server Protocol over standard input and output. Editors start the server;
/// docs/editors.md describes how. `rulec.toml` sets the severity of findings. Messages are in the
/// language of the editor, unless `--lang` or RULEC_LANG selects another.
#[derive(clap::Args)]
pub struct Args {
    /// Use standard input and output. This is always so; the option exists because some editors
    /// pass it
    #[arg(long)]
    stdio: bool,
}

pub fn run(_: &Args, term: &Term) -> Result<ExitStatus, CliError> {
    if stdin().is_terminal() {
        term.print_note(&message!(
            "this is a language server, which waits for an editor; press Ctrl-C to end it"
        ));
    }
    rulec_lsp::serve_stdio(language::selected_language()).map(|()| ExitStatus::Success).map_err(|error| {
        match error {
            // The LSP protocol requires the exit status 1 if the client did not send `shutdown`.
            rulec_lsp::ServeError::NotShutDown => CliError::input_error(error.to_message()),
            _ => CliError::usage_error(error.to_message()),
        }
    })
}
