//! Explains what a subcommand reads, if the user names a file of messages where it expects rules.

use super::foreign::quote_for_shell;
use rulec::Message;
use rulec_base::message;
use std::path::Path;

/// Subcommands whose arguments are a rules file and then a file of messages.
const COMMANDS_WITH_RULES_AND_MESSAGES: [&str; 2] = ["run", "bench"];

/// Subcommands that read a rules file and one message. The message is given by options or as text,
/// not as a file.
const COMMANDS_WITH_RULES_AND_TEXT: [&str; 2] = ["why", "why-not"];

/// Returns the remedy for a file of JSON where this run expects rules. `None` if the command line
/// does not name the file.
pub fn messages_as_rules_tip(file: &Path) -> Option<Message> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    remedy_for_file(&args, file.to_str()?)
}

fn remedy_for_file(args: &[String], file: &str) -> Option<Message> {
    let at = args.iter().position(|arg| arg == file)?;
    let is_value = |index: usize| index > 0 && matches!(args[index - 1].as_str(), "--lang" | "--color");
    let verb = (0..at).find(|index| !args[*index].starts_with('-') && !is_value(*index))?;
    let verb = args[verb].as_str();
    let is_rules = |arg: &&String| Path::new(arg.as_str()).extension().is_some_and(|end| end == "rules");
    let other = args.iter().find(is_rules).filter(|other| *other != file);
    let rules = other.map_or("my.rules", String::as_str);
    // The arguments after the command, with the rules in the place of the file.
    let with_rules = |is_kept: bool| {
        let others = args.iter().filter(|arg| *arg != verb && *arg != file && *arg != rules);
        let first = [rules].into_iter().chain(is_kept.then_some(file));
        let words = first.chain(others.map(String::as_str)).map(quote_for_shell);
        format!("rulec {verb} {}", words.collect::<Vec<_>>().join(" "))
    };
    let (file_word, rules_word) = (quote_for_shell(file), quote_for_shell(rules));
    Some(match verb {
        _ if COMMANDS_WITH_RULES_AND_MESSAGES.contains(&verb) => {
            message!("the rules come before the messages: write `{}`", with_rules(true))
        }
        _ if COMMANDS_WITH_RULES_AND_TEXT.contains(&verb) && other.is_some() => message!(
            "the rules come first; for the first message of the file, write `head -1 {file_word} | rulec {verb} \
            {rules_word} --input -`"
        ),
        _ if COMMANDS_WITH_RULES_AND_TEXT.contains(&verb) => message!(
            "`rulec {verb}` reads a file of rules and no file of messages: write `{}`",
            with_rules(false)
        ),
        "test" => message!(
            "`rulec test` reads only files of rules, and the `test` blocks in them contain the messages; to \
            decide the messages of a file, write `rulec run {rules_word} {file_word}`"
        ),
        _ => message!(
            "`rulec {verb}` reads rules, and no messages; to decide the messages of a file, write `rulec run \
            {rules_word} {file_word}`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec::Language;

    #[test]
    fn the_remedy_names_the_command_of_this_run() {
        let check = |line: &str, expected: &str| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let found = remedy_for_file(&args, "m.jsonl")
                .map(|found| found.localized(Language::English).into_owned());
            assert!(found.as_deref().is_some_and(|found| found.contains(expected)), "{line}: {found:?}");
        };
        check("test m.jsonl a.rules", "`rulec run a.rules m.jsonl`");
        check("--lang zh check m.jsonl", "`rulec check` reads rules");
        check("check m.jsonl", "`rulec run my.rules m.jsonl`");
        check("run m.jsonl a.rules", "`rulec run a.rules m.jsonl`");
        check("run m.jsonl --format json", "`rulec run my.rules m.jsonl --format json`");
        check("why-not m.jsonl refund --text hi", "`rulec why-not my.rules refund --text hi`");
        check("why m.jsonl a.rules", "`head -1 m.jsonl | rulec why a.rules --input -`");
        assert_eq!(remedy_for_file(&["check".to_owned()], "m.jsonl"), None);
    }
}
