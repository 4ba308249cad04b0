//! Recognizes options of other programs, such as `--grep` for `--filter`, and arguments in the
//! wrong order, so that usage errors can name the right ones.

use clap::Command;
use rulec::Message;
use rulec_base::message;
use std::path::Path;

/// Names of options of other programs (without dashes), each group with the options of `rulec` that
/// the group may mean. Of these, the first one that the subcommand has is suggested.
const OTHER_PROGRAM_OPTIONS: &[(&[&str], &[&str])] = &[
    (
        &["data", "json", "body", "payload", "event", "fact", "facts", "d", "m", "in", "stdin"],
        &["input", "text"],
    ),
    (&["message", "msg", "messages"], &["text", "input", "from"]),
    (&["query", "prompt", "question", "q", "t", "string", "utterance"], &["text", "input"]),
    (&["ctx", "context", "vars", "variables", "env", "user"], &["ctx", "context"]),
    (&["input", "i", "data", "samples", "messages", "file"], &["input", "text", "from"]),
    (&["key", "public-key", "pubkey", "sign", "signature", "secret"], &["verify", "key", "sign"]),
    (
        &[
            "grep", "k", "g", "only", "match", "pattern", "select", "name", "test", "tests", "run", "case",
            "f", "n",
        ],
        &["filter", "name", "entry"],
    ),
    (
        &[
            "output",
            "out",
            "o",
            "dest",
            "destination",
            "to",
            "target",
            "write",
            "save",
            "output-file",
            "outfile",
        ],
        &["output", "save"],
    ),
    (
        &["table", "start", "entrypoint", "entry-point", "main", "flow", "choice", "router"],
        &["entry", "name"],
    ),
    (&["format", "output-format", "reporter", "report", "fmt", "f", "as-json"], &["format", "output-format"]),
    (&["format", "input-format", "type", "from"], &["input-format", "as"]),
    (&["json"], &["format", "output-format"]),
    (
        &["strict", "werror", "fail-on-warnings", "warnings-as-errors", "error", "max-warnings"],
        &["deny", "strict"],
    ),
    (&["ignore", "disable", "suppress", "skip", "exclude", "w"], &["allow"]),
    (&["write", "w", "autofix", "apply", "in-place"], &["fix"]),
    (&["check", "dry", "noop", "simulate", "n"], &["dry-run", "check"]),
    (&["verbose", "v", "vv", "debug", "trace", "why", "x"], &["explain", "full", "trace"]),
    (&["threads", "parallel", "workers", "concurrency", "processes", "p"], &["jobs"]),
    (&["port", "p", "address", "addr", "bind", "b", "host"], &["listen", "port"]),
    (&["overwrite", "yes", "y", "f"], &["force"]),
    (&["language", "locale", "l"], &["lang"]),
    (&["colour", "no-color", "no-colour", "plain"], &["color"]),
    (&["dir", "directory", "base", "cwd", "include", "project", "C", "I"], &["root"]),
    (&["time", "duration", "seconds"], &["seconds", "time-limit"]),
    (&["timeout"], &["time-limit", "deadline", "model-timeout"]),
    (&["cov", "with-coverage"], &["coverage"]),
];

/// Options by which other programs name the files that `rulec` takes as arguments.
const OTHER_PROGRAM_FILE_OPTIONS: &[&str] =
    &["messages", "message", "input", "data", "file", "i", "rules", "r"];

/// Returns the arguments that follow the subcommand. `path` are the names of the subcommand, such
/// as `workflow run`. `texts` are the arguments after the program's name; options such as
/// `--lang zh` may precede the subcommand.
fn arguments_after_command<'a, 't>(path: &[&str], texts: &'a [&'t str]) -> &'a [&'t str] {
    let last = path.last().and_then(|name| texts.iter().position(|text| text == name));
    last.map_or(texts, |at| &texts[at + 1..])
}

/// Returns the number of texts at the start of `texts` that are options of `root` or values of such
/// options.
fn count_leading_options(root: &Command, texts: &[&str]) -> usize {
    let mut count = 0;
    while let Some(text) = texts.get(count).filter(|text| text.starts_with('-')) {
        let names = |arg: &&clap::Arg| {
            let long = text.strip_prefix("--").is_some_and(|name| arg.get_long() == Some(name));
            long || arg.get_short().is_some_and(|short| **text == format!("-{short}"))
        };
        let takes_value = root.get_arguments().find(names).is_some_and(|arg| arg.get_action().takes_values());
        count += 1 + usize::from(takes_value);
    }
    count
}

/// Returns the option of the subcommand `verb` that `written`, an option of another program, means.
/// `written` may have its value after `=`. The result is written as in a usage text, such as
/// `--input <JSON>`. `None` if the subcommand has no such option.
pub(super) fn meant_option(verb: &Command, written: &str) -> Option<String> {
    let name = written.trim_start_matches('-').split('=').next()?;
    let lower = name.to_lowercase().replace('_', "-");
    let is_single = !written.starts_with("--");
    let names = |row: &&(&[&str], &'static [&'static str])| {
        row.0.iter().any(|other| if is_single { *other == name } else { *other == lower })
    };
    let candidates = OTHER_PROGRAM_OPTIONS.iter().filter(names).flat_map(|row| row.1);
    let find =
        |long: &str| verb.get_arguments().find(|arg| arg.get_long() == Some(long) && !arg.is_hide_set());
    let arg = candidates.into_iter().find_map(|long| find(long))?;
    let value = match arg.get_action().takes_values() {
        true => arg.get_value_names().and_then(|names| names.first()).map(|name| format!(" <{name}>")),
        false => None,
    };
    Some(format!("--{}{}", arg.get_long()?, value.unwrap_or_default()))
}

/// Returns the remedy for an option of another program that `rulec` does not need, such as
/// `--write` for `rulec fmt`, which always writes. `None` for other options. `command_names` are
/// the names of `subcommand`, such as `workflow run`. `all_arguments` are the arguments of this run
/// after the program's name, and `written_option` is the option as the user wrote it.
pub(super) fn needless_option_tip<'t>(
    subcommand: &Command,
    command_names: &[&str],
    all_arguments: &[&'t str],
    written_option: &str,
) -> Option<Message> {
    let name = written_option.trim_start_matches('-').split('=').next()?.to_lowercase().replace('_', "-");
    let command = command_names.join(" ");
    let has = |long: &str| subcommand.get_arguments().any(|arg| arg.get_long() == Some(long));
    let given = arguments_after_command(command_names, all_arguments);
    // Returns the argument in a text: the text itself, or the value of an option that the
    // subcommand lacks. `None` for the name of such an option.
    let argument = |text: &'t str| {
        let (option, value) =
            text.split_once('=').map_or((text, None), |(option, value)| (option, Some(value)));
        let name = option.trim_start_matches('-');
        let is_file = option.starts_with('-') && OTHER_PROGRAM_FILE_OPTIONS.contains(&name) && !has(name);
        match text.strip_prefix(written_option).map(|value| value.trim_start_matches('=')) {
            Some(value) => Some(value).filter(|value| !value.is_empty()),
            None if is_file => value,
            None => Some(text),
        }
    };
    let usage = || {
        let mut arguments: Vec<&str> = given.iter().filter_map(|text| argument(text)).collect();
        if arguments.iter().all(|text| !text.starts_with('-')) {
            // The rules come before the messages.
            arguments.sort_by_key(|text| !text.ends_with(".rules"));
        }
        format!(
            "rulec {command} {}",
            arguments.into_iter().map(quote_for_shell).collect::<Vec<_>>().join(" ")
        )
    };
    let message_in_option = || {
        let message = given.iter().filter_map(|text| argument(text)).find(|text| text.starts_with('{'));
        message.filter(|_| reads_messages_from_stdin(subcommand))
    };
    Some(match name.as_str() {
        "in-place" | "inplace" | "write" | "overwrite" | "i" | "w" | "fix"
            if command_names == ["fmt"] && !has(&name) =>
        {
            message!("`rulec fmt` writes the files in place; remove `{written_option}`")
        }
        name if command_names == ["diff"] && TEXT_DIFF_OPTIONS.contains(&name) && !has(name) => {
            // The unknown option may have a value, as in `--stat=80`.
            let files = given.iter().copied().filter(|text| !text.starts_with('-'));
            let files = files.map(quote_for_shell).collect::<Vec<_>>().join(" ");
            message!("`rulec diff` compares what two versions decide, not their text: `rulec diff {files}`")
        }
        "format" | "output-format" | "yaml" | "json" | "as" | "type" if !has("format") => {
            message!("`rulec {command}` has one format of output and no `{written_option}`: remove it")
        }
        "messages" | "message" | "input" | "data" | "json" | "i" | "d" | "rules" | "r"
            if !has("input") && message_in_option().is_some() =>
        {
            let message = message_in_option()?;
            let rules =
                given.iter().filter_map(|text| argument(text)).find(|text| !text.starts_with(['-', '{']))?;
            let (message, rules) = (quote_for_shell(message), quote_for_shell(rules));
            message!(
                "messages are read from a file or standard input: `echo {message} | rulec {command} {rules}`"
            )
        }
        "code" | "word" | "c" if command_names == ["explain"] => {
            message!("the code follows without an option: `{}`", usage())
        }
        name if OTHER_PROGRAM_FILE_OPTIONS.contains(&name)
            && subcommand.get_positionals().count() > 0
            && !has("input") =>
        {
            message!("files are named without an option: `{}`", usage())
        }
        _ => return None,
    })
}

/// Names, without dashes, of options of programs that compare texts, such as `git diff`. They have
/// no meaning for `rulec diff`, which compares decisions.
const TEXT_DIFF_OPTIONS: &[&str] = &[
    "name-only",
    "name-status",
    "stat",
    "shortstat",
    "numstat",
    "summary",
    "patch",
    "cached",
    "staged",
    "no-index",
    "color-words",
    "word-diff",
    "ignore-all-space",
    "ignore-space-change",
    "ignore-blank-lines",
    "brief",
    "unified",
    "side-by-side",
    "recursive",
    "minimal",
    "context",
    "u",
    "w",
    "b",
    "q",
    "r",
    "y",
    "p",
];

/// Names of options by which other programs set an argument of a subcommand, with the name of the
/// argument in the usage text.
const OPTIONS_THAT_ARE_ARGUMENTS: &[(&[&str], &str)] = &[
    (&["route", "rule", "expected"], "ROUTE"),
    (&["system", "kind", "type", "from", "format"], "SYSTEM"),
    (&["dir", "directory", "folder", "path"], "DIR"),
];

/// Returns the remedy for an option with a value that the subcommand takes as an argument without
/// an option. For example, `rulec why-not a.rules --route refunds` should be
/// `rulec why-not a.rules refunds`. `None` for other options. The parameters are the same as for
/// [`needless_option_tip`].
pub(super) fn option_to_argument_tip(
    subcommand: &Command,
    command_names: &[&str],
    all_arguments: &[&str],
    written_option: &str,
) -> Option<Message> {
    let name = written_option.trim_start_matches('-').split('=').next()?.to_lowercase().replace('_', "-");
    let named = |arg: &&clap::Arg| {
        let is_meant = |value: &clap::builder::Str| {
            let row = OPTIONS_THAT_ARE_ARGUMENTS.iter().find(|(_, argument)| *argument == value.as_str());
            value.to_lowercase() == name || row.is_some_and(|(names, _)| names.contains(&name.as_str()))
        };
        arg.get_value_names().is_some_and(|names| names.iter().any(is_meant))
    };
    let index = subcommand.get_positionals().position(|arg| named(&arg))?;
    // `needless_option_tip` explains these names.
    if OTHER_PROGRAM_FILE_OPTIONS.contains(&name.as_str()) || name == "code" {
        return None;
    }
    let takes_value = |text: &str| {
        let long = text.strip_prefix("--").filter(|long| !long.contains('='));
        let is_option = |arg: &&clap::Arg| {
            arg.get_long().is_some_and(|name| Some(name) == long)
                || arg.get_short().is_some_and(|short| text == format!("-{short}"))
        };
        subcommand.get_arguments().find(is_option).is_some_and(|arg| arg.get_action().takes_values())
    };
    // The arguments, the options with their values, and the value of the unknown option.
    let (mut arguments, mut options, mut value) = (Vec::new(), Vec::new(), None);
    let mut given = arguments_after_command(command_names, all_arguments).iter().copied();
    let option = written_option.split('=').next()?;
    while let Some(text) = given.next() {
        match text.split_once('=') {
            Some((name, given_value)) if name == option => value = Some(given_value),
            _ if text == option => value = given.next(),
            _ if text.starts_with('-') && text != "-" => {
                options.push(text);
                options.extend(takes_value(text).then(|| given.next()).flatten());
            }
            _ => arguments.push(text),
        }
    }
    arguments.insert(index.min(arguments.len()), value?);
    let words: Vec<String> = arguments.into_iter().chain(options).map(quote_for_shell).collect();
    let name = subcommand.get_positionals().nth(index)?.to_string();
    Some(message!(
        "`{name}` is an argument and no option: `rulec {} {}`",
        command_names.join(" "),
        words.join(" ")
    ))
}

/// Returns the remedy if the user wants to explain a decision with `rulec explain`, which explains
/// only codes and words. The remedy is the same command with `rulec why`. `path` are the names of
/// the subcommand, and `texts` are the arguments after the program's name. `None` for other
/// subcommands, and if no argument is a rules file.
pub fn why_command_tip(path: &[&str], texts: &[&str]) -> Option<Message> {
    let given = arguments_after_command(path, texts);
    let rules = given.iter().find(|text| text.ends_with(".rules")).filter(|_| path == ["explain"])?;
    let is_code = |text: &str| {
        let digits = text.strip_prefix(['E', 'W', 'e', 'w']).unwrap_or_default();
        digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let others = given.iter().filter(|text| *text != rules && !is_code(text));
    let mut words: Vec<String> =
        [rules].into_iter().chain(others).map(|text| quote_for_shell(text)).collect();
    if words.len() == 1 {
        words.push("--input -".to_owned());
    }
    Some(message!(
        "`rulec explain` explains a code or a word; to explain a decision, write `rulec why {}`",
        words.join(" ")
    ))
}

/// Returns the remedy if the kind of a document is missing before its file, as in
/// `rulec import router.json`. `invalid_value` is the invalid value that clap reports. The other
/// parameters are the same as for [`needless_option_tip`]. `None` for other arguments.
pub(super) fn missing_document_kind_tip(
    subcommand: &Command,
    command_names: &[&str],
    all_arguments: &[&str],
    invalid_value: &str,
) -> Option<Message> {
    let first = subcommand.get_positionals().next()?;
    let kinds = first.get_possible_values();
    let kind = kinds.first()?.get_name();
    let is_first = arguments_after_command(command_names, all_arguments).first() == Some(&invalid_value);
    if !is_first || !looks_like_argument(invalid_value) {
        return None;
    }
    let words: Vec<String> = arguments_after_command(command_names, all_arguments)
        .iter()
        .map(|text| quote_for_shell(text))
        .collect();
    Some(message!(
        "the kind of the document comes before the file, as in `rulec {} {kind} {}`",
        command_names.join(" "),
        words.join(" ")
    ))
}

/// Returns an argument as a word of a shell command. The word is in single quotes unless it has
/// only letters, digits and characters that are common in file names.
pub(super) fn quote_for_shell(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// True for a text that can only be an argument, and no misspelt command: a file, a JSON value or a
/// diagnostic code.
pub(super) fn looks_like_argument(text: &str) -> bool {
    let is_code =
        text.strip_prefix(['E', 'W', 'e', 'w']).unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    text.contains(['.', '/', '\\', '{', '*']) || is_code && text.len() > 1
}

/// True for a subcommand that reads messages, from standard input if no file is named.
fn reads_messages_from_stdin(verb: &Command) -> bool {
    verb.get_positionals()
        .any(|arg| arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "INPUT")))
}

/// Returns the remedy for a command after its arguments: `rulec check a.rules` for `rulec a.rules
/// check`. `texts` are the arguments after the program's name, and `written` is the unknown
/// command. `None` if `written` is not the first argument, or if `texts` contain no command.
pub(super) fn command_after_arguments_tip(root: &Command, texts: &[&str], written: &str) -> Option<Message> {
    let first = count_leading_options(root, texts);
    if texts.get(first) != Some(&written) {
        return None;
    }
    let at = texts.iter().position(|text| root.find_subcommand(text).is_some()).filter(|at| *at > first)?;
    let mut ordered = texts.to_vec();
    ordered[first..=at].rotate_right(1);
    let ordered: Vec<String> = ordered.into_iter().map(quote_for_shell).collect();
    Some(message!("the command comes first: `rulec {}`", ordered.join(" ")))
}

/// Returns the remedy if a file and the kind of its document are in the wrong order, as in
/// `rulec import router.json routes`. The parameters are the same as for [`needless_option_tip`].
/// `None` for other arguments.
pub(super) fn swapped_arguments_tip(verb: &Command, path: &[&str], texts: &[&str]) -> Option<Message> {
    let [first, second] = arguments_after_command(path, texts) else { return None };
    let kinds: Vec<String> = verb
        .get_positionals()
        .flat_map(clap::Arg::get_possible_values)
        .map(|value| value.get_name().to_owned())
        .collect();
    (kinds.iter().any(|kind| kind == second) && !kinds.iter().any(|kind| kind == first))
        .then(|| message!("the kind comes before the file: `rulec {} {second} {first}`", path.join(" ")))
}

/// Returns the remedy for an argument that the subcommand does not accept. `all_arguments` are the
/// arguments of this run after the program's name. `command_names` are the names of the subcommand,
/// such as `workflow run`.
pub(super) fn surplus_argument_tip(
    subcommand: &Command,
    command_names: &[&str],
    all_arguments: &[&str],
    surplus_argument: &str,
) -> Option<Message> {
    let positionals: Vec<&clap::Arg> = subcommand.get_positionals().collect();
    let takes = |name: &str| {
        positionals.iter().any(|arg| {
            arg.get_value_names().is_some_and(|names| names.iter().any(|value| value.as_str() == name))
        })
    };
    // Values of options cannot be distinguished from arguments here. So the last remedies below are
    // given only if no option is present.
    let given = arguments_after_command(command_names, all_arguments);
    // `--next done shelved`: a list of values is written with commas.
    let list = given.iter().position(|text| *text == surplus_argument).and_then(|at| {
        let (option, value) = (given.get(at.checked_sub(2)?)?, given.get(at - 1)?);
        let arg = subcommand.get_arguments().find(|arg| arg.get_long() == option.strip_prefix("--"))?;
        let is_list = arg.get_value_names()?.iter().any(|name| name.as_str().contains(','));
        is_list.then(|| format!("{option} {value},{surplus_argument}"))
    });
    if let Some(written) = list {
        return Some(message!("several values are written with commas: `{written}`"));
    }
    if command_names == ["diff"]
        && let Some(messages) = given.iter().find(|text| text.ends_with(".jsonl") || text.ends_with(".json"))
    {
        let rules: Vec<&str> = given.iter().copied().filter(|text| text != messages).collect();
        return Some(message!(
            "`rulec diff` compares rules and takes no messages: `rulec diff {}`",
            rules.join(" ")
        ));
    }
    if given.iter().any(|text| text.starts_with('-')) {
        return None;
    }
    let command = command_names.join(" ");
    let last = positionals.len().checked_sub(1)?;
    if takes("TEXT") {
        let (first, words) = given.split_at_checked(last)?;
        let written = format!("rulec {command} {} \"{}\"", first.join(" "), words.join(" "));
        return Some(message!("a text with spaces is one argument in quotes: `{written}`"));
    }
    let has_output = subcommand.get_arguments().any(|arg| arg.get_long() == Some("output"));
    if has_output {
        let is_rules =
            |text: &&&str| Path::new(text).extension().is_some_and(|extension| extension == "rules");
        // `build support.rulec support.rules`, as `cc OUTPUT INPUT`
        let output = match given {
            [first, second] if !is_rules(&first) && is_rules(&second) => first,
            _ => surplus_argument,
        };
        let others: Vec<&str> = given.iter().copied().filter(|text| *text != output).collect();
        let written = format!("rulec {command} {} --output {output}", others.join(" "));
        return Some(message!("the file to write is an option: `{written}`"));
    }
    if takes("DIR") && last == 0 {
        let written = format!("rulec {command} \"{}\"", given.join(" "));
        return Some(message!(
            "one folder is expected; a name with spaces is written in quotes: `{written}`"
        ));
    }
    let names: Vec<String> = positionals.iter().map(|arg| format!("`{arg}`")).collect();
    match names.is_empty() {
        true => Some(message!("`rulec {command}` takes no argument")),
        false => Some(message!("`rulec {command}` takes only {}", names.join(", "))),
    }
}

/// Returns the remedy if the rules are not the first argument, as in `rulec why "run it"
/// support.rules`. `missing` is the first argument, which is no file. `None` for other commands.
pub fn rules_come_first_tip(missing: &Path) -> Option<Message> {
    let args: Vec<String> = std::env::args().collect();
    let verb = args.get(1)?;
    let is_rules = |text: &&String| {
        let extension = Path::new(text.as_str()).extension();
        extension.is_some_and(|extension| extension == "rules" || extension == "rulec")
            && Path::new(text.as_str()).is_file()
    };
    let takes_rules_first =
        matches!(verb.as_str(), "why" | "why-not" | "run" | "analyze" | "plan" | "bench" | "prompt");
    let rules = args.iter().skip(2).find(is_rules)?;
    let first = missing.to_str()?;
    let is_rules_name = missing.extension().is_some_and(|extension| extension == "rules");
    let is_first = args.iter().position(|arg| arg == first) < args.iter().position(|arg| arg == rules);
    if !takes_rules_first || is_rules_name || !is_first {
        return None;
    }
    let rest = args.iter().skip(2).filter(|arg| *arg != rules);
    let quoted = |arg: &String| if arg.contains(' ') { format!("\"{arg}\"") } else { arg.clone() };
    let mut rest: Vec<String> = rest.map(quoted).collect();
    // The text of the message is the last argument.
    rest.sort_by_key(|arg| arg.starts_with('"'));
    Some(message!("the rules come first: write `rulec {verb} {rules} {}`", rest.join(" ")))
}
