//! `rulec repl`: tries rules line by line. A line is a message, a statement to add, a condition to
//! evaluate, or a command.

use super::compiled::STDIN_NAME;
use super::files;
use super::language::{language, localized};
use super::term::{Out, Term};
use super::why::render_options;
use super::{CliError, ExitStatus, stdio};
use rulec::condition::Condition;
use rulec::{CompileError, Compiler, DiskLoader, LoadError, Loader, Message, Renderer, Rules};
use rulec_base::json::{self, DecimalPaths};
use rulec_base::message;
use rulec_syntax::lex;
use rulec_syntax::parse::starts_statement;
use serde_json::{Map, Value as Json};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

/// Try rules line by line: messages, new statements, conditions
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec repl
  rulec repl support.rules
  printf 'my money back\\n? text contains \"money\"\\n' | rulec repl support.rules

A line is one of these:
  my money back                a text: explains the decision for {\"text\": \"my money back\"}
  {\"text\": \"hi\", \"n\": 3}       a message
  route a when n > 2 -> h      a statement: added, or replaces the one with the same name
  ? n > 2 and text == \"hi\"     tests whether the condition holds for the last message
  :entry NAME                  decide with this table, choice or router [default: the routes]
  :show                        show the current rules
  :save FILE                   write the rules to a new file
  :help  :quit
A statement or a message may span several lines; an empty line ends it.")]
pub struct Args {
    /// The rules file to start with, as source text; its imports are read from its folder
    #[arg(value_name = "RULES")]
    rules: Option<PathBuf>,
    /// Print the values of fields that the rules declare `@private` [default: `•••` in their place]
    #[arg(long)]
    show_private: bool,
}

const HELP_TEXT: Message = message!(
    "type a text or a JSON object to decide it as a message, a statement to add it, or `? CONDITION` to \
    evaluate a condition; commands: `:entry NAME`, `:show`, `:save FILE`, `:quit`"
);

/// State of an interactive session. The current entry (table, choice or router) decides each
/// message that the user types. Imports of the rules are read from disk.
struct ReplSession {
    rules_text: String,
    disk: DiskLoader,
    rules: Option<Rules>,
    entry_name: Option<String>,
    show_private: bool,
    last_message: Json,
    /// The lines of a statement or message that is not complete yet.
    pending_lines: String,
}

struct ReplRulesLoader<'a>(&'a str, &'a DiskLoader);

impl Loader for ReplRulesLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        if path == STDIN_NAME { Ok(self.0.as_bytes().to_vec()) } else { self.1.load(path) }
    }
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let text = match &args.rules {
        Some(path) if path == Path::new("-") => {
            return Err(CliError::usage_error(message!(
                "standard input provides the lines of the session; name a rules file instead of `-`"
            )));
        }
        Some(path) => files::read_rules_text(path)?,
        None => String::new(),
    };
    let folder = args.rules.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    let files = DiskLoader::new(folder.unwrap_or(Path::new(".")))
        .map_err(|error| CliError::usage_error(error.to_message()))?;
    let message = Json::Object(Map::new());
    let show_private = args.show_private;
    let mut session = ReplSession {
        rules_text: text,
        disk: files,
        rules: None,
        entry_name: None,
        show_private,
        last_message: message,
        pending_lines: String::new(),
    };
    if !session.rules_text.trim().is_empty() {
        match session.compile_text(&session.rules_text) {
            Ok(rules) => session.rules = Some(rules),
            Err(error) => {
                return Err(CliError::input_error(Message::verbatim(render_errors(&error, term).trim_end())));
            }
        }
    }
    let input = stdio::take_stdin()?;
    let is_terminal = input.is_terminal();
    if is_terminal {
        term.print_note(&HELP_TEXT);
    }
    let mut lines = input.lock().lines();
    loop {
        if is_terminal {
            out.write(if session.pending_lines.is_empty() { b"> " } else { b"| " })?;
        }
        out.flush()?;
        let Some(line) = lines.next() else { break };
        let line =
            line.map_err(|error| CliError::usage_error(message!("standard input cannot be read: {error}")))?;
        if matches!(line.trim(), ":quit" | ":q") || out.is_closed() {
            break;
        }
        session.read_line(&line, term, out)?;
    }
    session.finish_input(term, out)?;
    Ok(ExitStatus::Success)
}

impl ReplSession {
    fn compile_text(&self, text: &str) -> Result<Rules, CompileError> {
        Compiler::new().allow_missing_functions().compile_with(&ReplRulesLoader(text, &self.disk), STDIN_NAME)
    }

    /// Reads an input line. A statement or message that is incomplete continues on the next line;
    /// an empty line ends it.
    fn read_line(&mut self, line: &str, term: &Term, out: &mut Out) -> Result<(), CliError> {
        // A command or condition cannot continue a statement or message.
        if !self.pending_lines.is_empty() && line.trim_start().starts_with([':', '?']) {
            self.finish_input(term, out)?;
        }
        let continues = !line.trim().is_empty();
        self.pending_lines.push_str(line.trim_end());
        let text = self.pending_lines.trim();
        if continues && is_unfinished(text) {
            self.pending_lines.push('\n');
            return Ok(());
        }
        self.finish_input(term, out)
    }

    /// Processes the collected lines as one statement or message, and clears them.
    fn finish_input(&mut self, term: &Term, out: &mut Out) -> Result<(), CliError> {
        let text = std::mem::take(&mut self.pending_lines);
        self.process_line(text.trim(), term, out)
    }

    /// Returns the paths of the message fields that the rules read as decimals. Numbers there keep
    /// all their digits.
    fn decimal_paths(&self) -> &DecimalPaths {
        self.rules.as_ref().map_or(DecimalPaths::none(), Rules::decimal_paths)
    }

    fn process_line(&mut self, line: &str, term: &Term, out: &mut Out) -> Result<(), CliError> {
        match line.chars().next() {
            None => Ok(()),
            Some(':') => self.run_command(line, out),
            Some('?') => self.test_condition(line[1..].trim(), out),
            Some('{') => match json::parse_object_exact(line, self.decimal_paths()) {
                Ok(message) => self.decide_message(Json::Object(message), term, out),
                Err(error) => {
                    let error = self.rules.iter().fold(error, |error, rules| rules.masked_error(error));
                    out.write_message(&message!(
                        "this is not a valid message: {} ({})",
                        error.to_message(),
                        error.kind().code()
                    ))
                }
            },
            Some(_) if is_statement(line) => self.add_statement(line, term, out),
            Some(_) => self.decide_message(serde_json::json!({ "text": line }), term, out),
        }
    }

    fn run_command(&mut self, line: &str, out: &mut Out) -> Result<(), CliError> {
        let (command, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (command, argument.trim()) {
            (":help", _) => out.write_message(&HELP_TEXT),
            (":show", _) => out.write_text(self.rules_text.trim_end()),
            (":entry", "") => {
                self.entry_name = None;
                Ok(())
            }
            (":entry", name) => match &self.rules {
                Some(rules) => match rules.entry(name) {
                    Ok(_) => {
                        self.entry_name = Some(name.to_owned());
                        Ok(())
                    }
                    Err(error) => out.write_message(&error.to_message()),
                },
                None => out.write_message(&message!("there are no rules yet")),
            },
            (":save", "") => out.write_message(&message!("name a file: `:save support.rules`")),
            (":save", name) if Path::new(name).exists() => {
                out.write_message(&message!("`{name}` already exists"))
            }
            (":save", name) => match files::replace_file(Path::new(name), self.rules_text.as_bytes()) {
                Ok(()) => out.write_message(&message!("written to `{name}`")),
                Err(error) => out.write_message(&error.message.unwrap_or_default()),
            },
            _ => out.write_message(&message!("there is no command `{command}`; {HELP}", HELP = HELP_TEXT)),
        }
    }

    /// Adds a statement to the rules if the rules then compile. An old statement of the same kind
    /// and name is replaced, except an `import`, `input` or `settings` statement.
    fn add_statement(&mut self, statement: &str, term: &Term, out: &mut Out) -> Result<(), CliError> {
        let mut text = self.rules_text.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let added = format!("{text}{statement}\n");
        let replaced =
            without_replaced_statement(&text, statement).map(|rest| format!("{rest}{statement}\n"));
        let (text, word) = match replaced {
            Some(replaced) => (replaced, message!("replaced")),
            None => (added, message!("added")),
        };
        match self.compile_text(&text) {
            Ok(rules) => {
                (self.rules, self.rules_text) = (Some(rules), text);
                out.write_message(&word)
            }
            Err(error) => out.write_styled(render_errors(&error, term).trim_end()),
        }
    }

    fn decide_message(&mut self, message: Json, term: &Term, out: &mut Out) -> Result<(), CliError> {
        self.last_message = message;
        let Some(rules) = &self.rules else {
            return out.write_message(&message!(
                "there are no rules yet; write one: `route a when text contains \"x\" -> handler`"
            ));
        };
        let entry = match &self.entry_name {
            None => Ok(rules.entry("routes").ok()),
            Some(name) => rules.entry(name).map(Some),
        };
        match entry {
            Ok(Some(entry)) if !entry.is_empty() => {
                let explanation = entry.explain(&self.last_message, self.show_private);
                out.write_styled(explanation.render(&render_options(term)).trim_end_matches('\n'))
            }
            Ok(_) => out.write_message(&message!(
                "the rules have no route; `:entry NAME` chooses a table, choice or router"
            )),
            Err(error) => out.write_message(&error.to_message()),
        }
    }

    fn test_condition(&self, condition: &str, out: &mut Out) -> Result<(), CliError> {
        match Condition::compile(condition) {
            Ok(condition) if condition.holds(&self.last_message) => {
                out.write_message(&message!("the condition holds"))
            }
            // If the negated condition is not true either, the result is unknown.
            Ok(_) => match Condition::compile(&format!("not ({}\n)", condition)) {
                Ok(negated) if negated.holds(&self.last_message) => {
                    out.write_message(&message!("the condition does not hold"))
                }
                _ => out.write_message(&message!(
                    "the condition is unknown: a value that it reads is missing or has another type"
                )),
            },
            Err(error) => match &error.help {
                Some(help) => out.write_message(&message!("{}; {help}", error.message)),
                None => out.write_message(&error.message),
            },
        }
    }
}

/// True if a line begins a statement. Its first word must be one that begins statements, such as
/// `input`. A message can begin with the same word, so a second sign is needed: a symbol such as
/// `{` or `=` anywhere, or a third word such as `when`, as in `route a when n > 2`.
fn is_statement(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let (first, _, third) = (words.next().unwrap_or_default(), words.next(), words.next());
    let has_statement_word = matches!(third, Some("when" | "priority" | "disabled" | "rank"));
    starts_statement(first) && (has_statement_word || line.contains(['{', '=', '>', '"', '(']))
}

/// True if an open bracket or a missing arrow of a route, default or flow means that more lines
/// follow. Plain text is always a complete message.
fn is_unfinished(text: &str) -> bool {
    if !is_statement(text) && !text.starts_with('{') {
        return false;
    }
    let (mut open_brackets, mut has_arrow) = (0_i32, false);
    for token in lex::tokenize(text, 0).filter(|token| !token.kind.is_trivia()) {
        match token.text(text) {
            "{" | "(" | "[" => open_brackets += 1,
            "}" | ")" | "]" => open_brackets -= 1,
            "->" => has_arrow = true,
            _ => {}
        }
    }
    let needs_arrow =
        ["route", "default", "flow"].iter().any(|word| text.split_whitespace().next() == Some(*word));
    let ends_in_arrow = text.ends_with("->");
    open_brackets > 0 || ends_in_arrow || needs_arrow && !has_arrow
}

/// Returns the rules `text` without the statement of the same kind and name as `statement`. `None`
/// if there is no such statement, or if `statement` is an `import`, `input` or `settings`
/// statement, which replaces no other.
fn without_replaced_statement(text: &str, statement: &str) -> Option<String> {
    use rulec_base::parallel::ThreadLimit;
    use rulec_syntax::parse::parse;
    let statements_of = |text: &str| parse(ThreadLimit::One, rulec::FileId(0), text).statements;
    let new = statements_of(statement);
    let [new] = new.as_slice() else { return None };
    let (kind, name) = new.kind.keyword_and_name();
    let old = statements_of(text).into_iter().find(|old| old.kind.keyword_and_name() == (kind, name))?;
    // `import`, `input` and `settings` statements are always added. A second `default` replaces the
    // first, although it has no name.
    if matches!(kind, "import" | "input" | "settings") {
        return None;
    }
    let range = old.span.range();
    Some(format!("{}{}", &text[..range.start], text[range.end..].trim_start_matches([' ', '\n'])))
}

/// Formats the compile errors of the session's rules for the terminal.
fn render_errors(error: &CompileError, term: &Term) -> String {
    let name = |_| localized(&message!("the rules")).into_owned();
    let renderer = Renderer {
        sources: error.sources(),
        color: term.is_stdout_colored(),
        language: language(),
        name: &name,
    };
    let errors = error.diagnostics().iter().filter(|diagnostic| diagnostic.is_error());
    errors.map(|diagnostic| renderer.render(diagnostic)).collect::<Vec<_>>().join("\n")
}
