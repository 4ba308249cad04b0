//! `rulec fmt`: formats rule files.

use super::compiled::STDIN_NAME;
use super::language::singular_or_plural;
use super::term::{Out, Term};
use super::{CliError, ExitStatus, files, panic, patch};
use rulec_base::message;
use rulec_syntax::format::{FormattedFile, format};
use std::path::{Path, PathBuf};

/// Format rule files in the standard style
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec fmt                        format all *.rules in this folder and its subfolders
  rulec fmt rules/                 format the files that are not formatted yet
  rulec fmt --check rules/         only list these files, and exit with 1 if there are any, for CI
  rulec fmt --diff support.rules   show what would change
  rulec fmt - < support.rules      from standard input to standard output

Only white space changes: comments keep their positions, and every rule keeps its meaning. Statements with \
errors are not changed.")]
pub struct Args {
    /// Rule files, or folders with rule files; `-` reads standard input and writes standard output
    /// [default: the current folder]
    #[arg(value_name = "FILES|DIRS")]
    paths: Vec<PathBuf>,
    /// Write nothing; list the files that would change, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
    /// Write nothing; print the changes as a patch
    #[arg(long)]
    diff: bool,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let (mut same, mut changed, mut worst_status) = (0, 0, None);
    let paths = files::paths_or_current_folder(&args.paths);
    for path in files::list_rules_files(&paths)? {
        match format_file(args, &path, term, out) {
            Ok(true) => changed += 1,
            Ok(false) => same += 1,
            // An error in one file does not stop the formatting of the other files.
            Err(stop) => {
                out.flush()?;
                if let Some(message) = &stop.message {
                    term.print_error(message);
                }
                worst_status = Some(stop.status).max(worst_status);
            }
        }
    }
    out.flush()?;
    let is_piped = paths.iter().all(|path| path == Path::new("-"));
    if !is_piped || args.check {
        let files = singular_or_plural(changed, message!("1 file"), message!("{changed} files"));
        term.print(&match args.check || args.diff {
            true => message!("{files} would be formatted, {same} already formatted"),
            false => message!("{files} formatted, {same} already formatted"),
        });
    }
    Ok(match worst_status {
        Some(status) => status,
        None if args.check && changed > 0 => ExitStatus::Errors,
        None => ExitStatus::Success,
    })
}

/// Formats a file and writes the formatted text back; `-` writes it to standard output. With
/// `--check` or `--diff`, only prints what would change. Returns true if the formatted text differs
/// from the original.
fn format_file(args: &Args, path: &Path, term: &Term, out: &mut Out) -> Result<bool, CliError> {
    let text = files::read_rules_text(path)?;
    let is_piped = path == Path::new("-");
    let name = if is_piped { STDIN_NAME.to_owned() } else { path.display().to_string() };
    let formatted = format(&text).map_err(|changed| CliError {
        status: ExitStatus::InternalError,
        message: Some(message!(
            "`{name}` is left unchanged: {}; {}",
            changed.to_message(),
            panic::BUG_REPORT_HINT
        )),
    })?;
    note_unformatted_statements(&name, &formatted, term);
    let changed = formatted.text != text;
    if args.check && changed {
        out.write_line(&name)?;
    }
    if args.diff && changed {
        patch::write_patch(&name, &text, &formatted.text, out)?;
    }
    match args.check || args.diff {
        true => {}
        false if is_piped => out.write_text_for_programs(&formatted.text)?,
        false if changed => files::replace_file(path, formatted.text.as_bytes())?,
        false => {}
    }
    Ok(changed)
}

/// Prints a note with the line numbers of the statements that the formatter left unchanged, because
/// they contain syntax errors.
fn note_unformatted_statements(name: &str, formatted: &FormattedFile, term: &Term) {
    const MAX_SHOWN_LINES: usize = 10;
    let lines: Vec<String> =
        formatted.unformatted_lines.iter().take(MAX_SHOWN_LINES).map(usize::to_string).collect();
    let more = if formatted.unformatted_lines.len() > MAX_SHOWN_LINES { " …" } else { "" };
    if !lines.is_empty() {
        let (count, lines) = (formatted.unformatted_lines.len(), lines.join(", "));
        let count = singular_or_plural(count, message!("1 statement"), message!("{count} statements"));
        let typed = if name == STDIN_NAME { "-" } else { name };
        term.print_note(&message!(
            "{count} of `{name}` with errors left unchanged, at line {lines}{more}; see `rulec check {typed}`"
        ));
    }
}
