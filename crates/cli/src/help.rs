//! The help pages in Chinese. clap can write headings, defaults and possible values only in
//! English. So this module replaces clap's template, and appends defaults and possible values to
//! the help texts of the arguments.

use super::language::language;
use clap::{Arg, Command};
use rulec::Language;
use rulec_base::text::display_width;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The Chinese texts of the help pages, by the English text that each translates.
static CHINESE_TEXTS: LazyLock<HashMap<String, String>> =
    // A test ensures that the catalogue is valid, so the default never occurs.
    LazyLock::new(|| serde_json::from_str(include_str!("help/zh.json")).unwrap_or_default());

/// Returns the definition of the command line, with its help pages in the language of this run.
pub fn localized_command(command: Command) -> Command {
    match language() {
        Language::English => command,
        Language::Chinese => to_chinese(command),
    }
}

/// Returns the definition of the command line, with its help pages in Chinese.
fn to_chinese(mut command: Command) -> Command {
    // `build` adds clap's own arguments and commands, such as `--help`, so that they are translated
    // too.
    command.build();
    to_chinese_page(command)
}

fn chinese_text(text: &str) -> Option<&'static str> {
    CHINESE_TEXTS.get(text).map(String::as_str)
}

/// Returns a command with its help page, and the help pages of its subcommands, in Chinese.
fn to_chinese_page(command: Command) -> Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let after_help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has =
        |is_wanted: fn(&Arg) -> bool| command.get_arguments().any(|arg| !arg.is_hide_set() && is_wanted(arg));
    let mut template = "{about-with-newline}\n用法：{usage}\n".to_owned();
    if command.get_subcommands().any(|verb| !verb.is_hide_set()) {
        template.push_str("\n命令：\n{subcommands}\n");
    }
    if has(Arg::is_positional) {
        template.push_str("\n参数：\n{positionals}\n");
    }
    if has(|arg| !arg.is_positional()) {
        template.push_str("\n选项：\n{options}");
    }
    template.push_str("{after-help}");
    let about = chinese_text(&about).map_or(about, str::to_owned);
    command
        .about(about.clone())
        .long_about(about)
        .after_help(to_chinese_examples(&after_help))
        .help_template(template)
        .mut_args(to_chinese_argument)
        .mut_subcommands(to_chinese_page)
}

/// Translates the help text of an argument. Appends the argument's default and possible values to
/// the text.
fn to_chinese_argument(arg: Arg) -> Arg {
    let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut short = chinese_text(&text).map_or(text, str::to_owned);
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let takes_values = arg.get_action().takes_values();
    if takes_values && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        short.push_str(&format!(" ［默认：{}］", defaults.join("、")));
    }
    let values = if takes_values { arg.get_possible_values() } else { Vec::new() };
    let shown: Vec<_> = values.iter().filter(|value| !value.is_hide_set()).collect();
    let mut long = short.clone();
    if !shown.is_empty() && !arg.is_hide_possible_values_set() {
        let names: Vec<&str> = shown.iter().map(|value| value.get_name()).collect();
        short.push_str(&format!(" ［可用：{}］", names.join("、")));
        let width = names.iter().map(|name| display_width(name)).max().unwrap_or_default();
        long.push_str("\n可用的值：");
        for value in shown {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            let help = chinese_text(&help).map_or(help, str::to_owned);
            long.push_str(&format!("\n- {:width$}  {help}", value.get_name()));
        }
    }
    arg.help(short).long_help(long).hide_default_value(true).hide_possible_values(true)
}

/// Returns the key of a paragraph in the catalogue of Chinese texts: the paragraph with single
/// spaces in place of line breaks and indentation. The translation contains its own line breaks.
fn paragraph_key(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Converts the text after the options of a help page to Chinese. The result has the example
/// commands without their English descriptions, and the translations of the other paragraphs. A
/// paragraph without a translation is left out, but a test ensures that each has one.
fn to_chinese_examples(after_help: &str) -> String {
    let mut parts = Vec::new();
    for paragraph in after_help.split("\n\n") {
        if let Some(translation) = chinese_text(&paragraph_key(paragraph)) {
            parts.push(translation.to_owned());
        } else if let Some(examples) = paragraph.strip_prefix("Examples:\n") {
            let command = |line: &str| {
                let end = line
                    .trim_start()
                    .find("  ")
                    .map_or(line.len(), |end| line.len() - line.trim_start().len() + end);
                line[..end].to_owned()
            };
            let commands: Vec<String> = examples.lines().map(command).collect();
            parts.push(format!("例子：\n{}", commands.join("\n")));
        }
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    /// Adds the English texts of a command's help page, and of its subcommands' pages, to `texts`.
    fn collect_texts(command: &Command, texts: &mut BTreeSet<String>) {
        texts.extend(command.get_about().map(ToString::to_string));
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            texts.extend(arg.get_help().map(ToString::to_string));
            let values = if arg.get_action().takes_values() { arg.get_possible_values() } else { Vec::new() };
            texts.extend(values.iter().filter_map(|value| value.get_help().map(ToString::to_string)));
        }
        let after_help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let paragraphs = after_help.split("\n\n").filter(|paragraph| !paragraph.starts_with("Examples:"));
        texts.extend(paragraphs.map(paragraph_key));
        command.get_subcommands().for_each(|verb| collect_texts(verb, texts));
    }

    #[test]
    fn every_text_of_the_help_pages_is_translated() {
        let mut command = Cli::command();
        command.build();
        let mut texts = BTreeSet::new();
        collect_texts(&command, &mut texts);
        texts.retain(|text| text.contains(|c: char| c.is_ascii_alphabetic()));
        let missing: Vec<&String> = texts.iter().filter(|text| chinese_text(text).is_none()).collect();
        assert!(missing.is_empty(), "without a Chinese text: {missing:#?}");
        let unused: Vec<&String> = CHINESE_TEXTS.keys().filter(|text| !texts.contains(*text)).collect();
        assert!(unused.is_empty(), "no longer used: {unused:#?}");
    }

    #[test]
    fn chinese_pages_have_no_english_headings() {
        let mut command = to_chinese(Cli::command());
        let check = command.find_subcommand_mut("check").expect("a command").render_long_help().to_string();
        for heading in ["Usage:", "Options:", "Arguments:", "Examples:", "[default", "[possible", "Possible"]
        {
            assert!(!check.contains(heading), "{heading}: {check}");
        }
        for part in ["用法：rulec check", "选项：", "例子：", "可用的值：", "［默认：human］"]
        {
            assert!(check.contains(part), "{part}: {check}");
        }
        assert!(command.render_help().to_string().contains("命令："));
    }
}
