//! `rulec init`: creates a working example project with rules, imports, tests, settings and a CI
//! job.

use super::language::language;
use super::term::{Out, Term};
use super::{CliError, ExitStatus, files};
use rulec::Language;
use rulec_base::diag::comma_list;
use rulec_base::message;
use std::path::PathBuf;

/// Create a project: rules with tests, and a CI job that checks them
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec init              in this folder
  rulec init desk         in the folder desk, which is created
  rulec init desk --force overwrite existing files")]
pub struct Args {
    /// The folder of the new project, which is created if it is missing [default: the current
    /// folder]
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    folder: PathBuf,
    /// Overwrite existing files [default: an error if one exists, and nothing is written]
    #[arg(long)]
    force: bool,
}

/// The files of the example project: their paths and texts. The rules are formatted, and pass the
/// check with warnings denied.
const EXAMPLE_FILES: ExampleFiles = [
    ("rules/support.rules", include_str!("init/support.rules")),
    ("rules/words.rules", include_str!("init/words.rules")),
    ("rulec.toml", include_str!("init/rulec.toml")),
    ("messages.jsonl", include_str!("init/messages.jsonl")),
    ("README.md", include_str!("init/README.md")),
    (".github/workflows/rules.yml", include_str!("init/rules.yml")),
];

/// The files of the example project with Chinese texts, for `--lang zh`: their paths and texts.
const CHINESE_EXAMPLE_FILES: ExampleFiles = [
    ("rules/support.rules", include_str!("init/zh/support.rules")),
    ("rules/words.rules", include_str!("init/zh/words.rules")),
    ("rulec.toml", include_str!("init/zh/rulec.toml")),
    ("messages.jsonl", include_str!("init/zh/messages.jsonl")),
    ("README.md", include_str!("init/zh/README.md")),
    (".github/workflows/rules.yml", include_str!("init/rules.yml")),
];

type ExampleFiles = [(&'static str, &'static str); 6];

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let example_files = match language() {
        Language::English => EXAMPLE_FILES,
        Language::Chinese => CHINESE_EXAMPLE_FILES,
    };
    if args.folder.is_file() {
        let shown = args.folder.display();
        return Err(CliError::usage_error(message!(
            "`{shown}` is a file, and `rulec init` creates a folder: write `rulec init desk`"
        )));
    }
    let existing: Vec<String> = example_files
        .iter()
        .map(|(name, _)| args.folder.join(name))
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| format!("`{}`", path.display()))
        .collect();
    // If any file exists, nothing is written.
    if !existing.is_empty() && !args.force {
        let files = comma_list(&existing);
        return Err(CliError::usage_error(match existing.len() {
            1 => message!("{files} already exists; `--force` overwrites it"),
            _ => message!("{files} already exist; `--force` overwrites them"),
        }));
    }
    for (name, text) in example_files {
        let path = args.folder.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| files::unwritable_error(folder, &error))?;
        }
        files::replace_file(&path, text.as_bytes())?;
        out.write_line(&path.display().to_string())?;
    }
    out.flush()?;
    let rules = args.folder.join("rules");
    term.print_note(&message!("next, run `rulec test {}`", rules.display()));
    Ok(ExitStatus::Success)
}
