//! `rulec man` and `rulec completions`: manual pages and completion scripts. Pages and scripts are
//! generated from the definition of the command line, so they always agree with the command line.

use super::term::{Out, Term};
use super::{Cli, CliError, ExitStatus, files, help, language};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use rulec::Language;
use rulec_base::message;
use std::path::PathBuf;

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec completions bash > ~/.local/share/bash-completion/completions/rulec
  rulec completions zsh > ~/.zfunc/_rulec
  rulec completions fish > ~/.config/fish/completions/rulec.fish")]
pub struct CompletionsArgs {
    /// The shell that reads the script
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec man | man -l -
  rulec man test | man -l -
  rulec man --out ~/.local/share/man/man1")]
pub struct Args {
    /// The command to describe [default: the whole program]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    verb: Option<String>,
    /// Write a page for the program and one for each command into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn write_completions(args: &CompletionsArgs, out: &mut Out) -> Result<ExitStatus, CliError> {
    // The script is first generated in memory, because the generator panics on write errors.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rulec", &mut script);
    out.write(&script)?;
    Ok(ExitStatus::Success)
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let program = help::localized_command(Cli::command());
    let is_own = |verb: &&Command| !verb.is_hide_set() && verb.get_name() != "help";
    let verbs: Vec<&Command> = program.get_subcommands().filter(is_own).collect();
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(|error| files::unwritable_error(folder, &error))?;
        files::replace_file(&folder.join("rulec.1"), &render_manual_page(program.clone())?)?;
        for verb in &verbs {
            let name = format!("rulec-{}", verb.get_name());
            files::replace_file(
                &folder.join(format!("{name}.1")),
                &render_manual_page(to_standalone_command(verb, &name))?,
            )?;
        }
        term.print(&message!("{} pages written to {}", verbs.len() + 1, folder.display()));
        return Ok(ExitStatus::Success);
    }
    let page = match &args.verb {
        None => render_manual_page(program.clone())?,
        Some(wanted) => {
            let command_names = || verbs.iter().map(|verb| verb.get_name()).collect::<Vec<_>>().join(", ");
            let verb = verbs.iter().find(|verb| verb.get_name() == wanted).ok_or_else(|| {
                CliError::usage_error(message!(
                    "there is no command `{wanted}`; the commands are {}",
                    command_names()
                ))
            })?;
            render_manual_page(to_standalone_command(verb, &format!("rulec-{wanted}")))?
        }
    };
    out.write(&page)?;
    Ok(ExitStatus::Success)
}

/// Returns a subcommand as if it were a program of its own, such as `rulec-check`, because manual
/// pages are named in this way.
fn to_standalone_command(verb: &Command, name: &str) -> Command {
    let name: &'static str = String::leak(name.to_owned());
    verb.clone().name(name).bin_name(name.replacen('-', " ", 1)).version(env!("CARGO_PKG_VERSION"))
}

fn render_manual_page(command: Command) -> Result<Vec<u8>, CliError> {
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(|error| CliError::input_error(message!("the manual page cannot be generated: {error}")))?;
    Ok(match language::language() {
        Language::English => page,
        Language::Chinese => with_chinese_headings(&String::from_utf8_lossy(&page)).into_bytes(),
    })
}

/// The headings that the library `clap_mangen` writes on manual pages, and their Chinese texts.
const ENGLISH_AND_CHINESE_HEADINGS: [(&str, &str); 8] = [
    ("NAME", "名称"),
    ("SYNOPSIS", "用法"),
    ("DESCRIPTION", "说明"),
    ("OPTIONS", "选项"),
    ("SUBCOMMANDS", "命令"),
    ("EXTRA", "更多"),
    ("VERSION", "版本"),
    ("AUTHORS", "作者"),
];

/// Returns a manual page with its headings in Chinese.
fn with_chinese_headings(page: &str) -> String {
    let chinese = |heading: &str| {
        ENGLISH_AND_CHINESE_HEADINGS.iter().find(|(name, _)| *name == heading).map(|(_, text)| *text)
    };
    let line = |line: &str| match line.strip_prefix(".SH ").and_then(|rest| chinese(rest.trim_matches('"'))) {
        Some(heading) => format!(".SH {heading}\n"),
        None => format!("{line}\n"),
    };
    page.lines().map(line).collect()
}
