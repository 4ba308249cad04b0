//! `rulec studio`: shows rules, decisions and logs in a browser. The server is in `rulec-studio`.
//! The studio is an optional feature, because its page is built with Node.

use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use std::path::PathBuf;

/// Show rules and decisions in a browser: decide, replay, map, edit
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec studio support.rules
  rulec studio support.rules --log decisions.jsonl
  rulec studio deployed.rules support.rules --input messages.jsonl
  rulec studio rules/ --no-open --port 8080

The studio listens on this machine only. It prints its address, which contains a token: anyone with the \
address can read the given files and save rules. Nothing is loaded from other servers. Values of `@private` \
fields are masked, unless --show-private is given. Press Ctrl-C to stop the studio.")]
pub struct Args {
    /// Rule files, or folders with rule files
    #[arg(value_name = "RULES", required = true)]
    pub paths: Vec<PathBuf>,
    /// A decision log whose messages are decided again, JSON lines
    #[arg(long, value_name = "DECISIONS.jsonl")]
    pub log: Option<PathBuf>,
    /// Messages to decide, one JSON object per line
    #[arg(long, value_name = "MESSAGES.jsonl")]
    pub input: Option<PathBuf>,
    /// The port [default: any free port]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,
    /// Print the values of fields that the rules declare `@private` [default: `•••` in their place]
    #[arg(long)]
    pub show_private: bool,
    /// Imported files must be in this folder or below it; others are an error [default: the folder
    /// of the file, or the given folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[cfg(not(feature = "studio"))]
pub fn run(_: &Args, _: &Term, _: &mut Out) -> Result<ExitStatus, CliError> {
    Err(unsupported_error())
}

/// Returns the error for a program that was built without the studio.
#[cfg(not(feature = "studio"))]
pub fn unsupported_error() -> CliError {
    CliError::usage_error(rulec_base::message!(
        "this program was built without the studio: install it with `cargo install rulec-cli --features studio`. In a clone of the repository, run `studio/build`, which needs Node, then `cargo build -p rulec-cli --features studio`"
    ))
}

#[cfg(feature = "studio")]
pub use with::{run, studio_options};

#[cfg(feature = "studio")]
mod with {
    use super::super::{files, language};
    use super::{Args, CliError, ExitStatus, Out, Term};
    use rulec::Message;
    use rulec_base::message;
    use rulec_studio::{Options, RulesFile, Server};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    #[cfg(unix)]
    use tokio::signal::unix::{SignalKind, signal};

    /// Returns options for a studio that shows the rule files in `paths`. Imported files must be in
    /// the folder `root` or below it, if it is given. A file that another file of the same folder
    /// imports is not listed, because it belongs to the other file's rule set.
    pub fn studio_options(paths: &[PathBuf], root: Option<&Path>) -> Result<Options, CliError> {
        let compiled_files = files::compile_files(paths, root)?;
        let mut options = Options { language: language::selected_language(), ..Options::default() };
        for files::CompiledFile { compiled, is_imported } in compiled_files {
            if compiled.is_unreadable() {
                let first_message =
                    compiled.diagnostics().first().map(|diagnostic| diagnostic.message.clone());
                let file_message = || Message::verbatim(compiled.target.display_name());
                return Err(CliError::usage_error(first_message.unwrap_or_else(file_message)));
            }
            if compiled.is_artifact() {
                let name = compiled.target.display_name();
                return Err(CliError::usage_error(message!(
                    "`{name}` contains compiled rules, but the studio shows the text of the rules: give the \
                    rules file"
                )));
            }
            if !is_imported {
                options
                    .rules
                    .push(RulesFile { path: compiled.target.path, import_root: compiled.target.root });
            }
        }
        Ok(options)
    }

    pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
        let options = Options {
            log: args.log.clone(),
            message_file: args.input.clone(),
            port: args.port,
            show_private: args.show_private,
            ..studio_options(&args.paths, args.root.as_deref())?
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| CliError::usage_error(message!("the studio cannot be started: {error}")))?;
        runtime.block_on(async {
            let server =
                Server::bind(&options).await.map_err(|error| CliError::usage_error(error.to_message()))?;
            let address = server.url();
            out.write_line(&address)?;
            out.flush()?;
            if !args.no_open {
                open_browser(&address);
            }
            term.print_note(&message!("the studio runs at this address; press ctrl-c to stop it"));
            server.run(wait_for_end()).await.map_err(CliError::from_io_error)
        })?;
        // The program ends without waiting for a running replay.
        runtime.shutdown_background();
        Ok(ExitStatus::Success)
    }

    /// Waits until the user ends the studio by Ctrl-C, SIGTERM or SIGHUP.
    async fn wait_for_end() {
        let ctrl_c_pressed = tokio::signal::ctrl_c();
        #[cfg(unix)]
        if let (Ok(mut terminated), Ok(mut hung_up)) =
            (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        {
            tokio::select! {
                _ = ctrl_c_pressed => {}
                _ = terminated.recv() => {}
                _ = hung_up.recv() => {}
            }
            return;
        }
        let _ = ctrl_c_pressed.await;
    }

    /// Opens a browser if possible. The address is printed in any case.
    fn open_browser(address: &str) {
        let (program, leading_args): (&str, &[&str]) = match std::env::consts::OS {
            "macos" => ("open", &[]),
            "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
            // Without a display, no browser can be opened.
            _ if ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|name| std::env::var_os(name).is_none()) => return,
            _ => ("xdg-open", &[]),
        };
        let null = Stdio::null;
        let _ = Command::new(program)
            .args(leading_args)
            .arg(address)
            .stdin(null())
            .stdout(null())
            .stderr(null())
            .spawn();
    }
}
