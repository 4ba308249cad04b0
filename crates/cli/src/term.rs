//! Standard output and standard error, as a good citizen of pipes and terminals uses them.

use super::CliError;
use super::language::tell;
use clap::ValueEnum;
use rulec::Message;
use rulec_base::message;
use rulec_base::text::printable::{on_one_line, printable, steers};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// For a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Also into a pipe.
    Always,
    /// Not at all.
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text to read
    #[default]
    Human,
    /// The same as data
    Json,
}

/// The columns that reports are laid out for when the terminal does not tell.
const DEFAULT_WIDTH: usize = 100;

/// The terminal as the user wants it treated.
pub struct Term {
    color: Color,
}

impl Term {
    pub fn new(color: Color) -> Self {
        Term { color }
    }

    pub fn color_out(&self) -> bool {
        self.colored(io::stdout().is_terminal())
    }

    pub fn color_err(&self) -> bool {
        self.colored(io::stderr().is_terminal())
    }

    fn colored(&self, terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
                terminal && !no_color && !dumb
            }
        }
    }

    /// The columns of the terminal; `None` into a pipe, where nothing is wrapped.
    pub fn width(&self, terminal: bool) -> Option<usize> {
        let columns = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
        terminal.then(|| columns().unwrap_or(DEFAULT_WIDTH).clamp(40, 300))
    }

    /// Says something of one line on standard error. Nobody may be listening, and that is no failure.
    pub fn say(&self, text: &Message) {
        self.styled(&on_one_line(&tell(text)));
    }

    /// Says what is made fit for a terminal already, such as what holds colours.
    pub fn styled(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    pub fn note(&self, text: &Message) {
        self.titled("1;36", &message!("note:"), text);
    }

    pub fn error(&self, text: &Message) {
        self.titled("1;31", &message!("error:"), text);
    }

    fn titled(&self, code: &str, title: &Message, text: &Message) {
        let (title, text) = (paint(self.color_err(), code, &tell(title)), tell(text));
        self.styled(&format!("{title} {}", on_one_line(&text)));
    }
}

/// `text` in a terminal's colour or weight, when wanted.
pub fn paint(color: bool, code: &str, text: &str) -> String {
    if color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Standard output, buffered. When its reader has gone away (`rulec run … | head`), what is written
/// goes nowhere and the program ends quietly.
pub struct Out {
    inner: BufWriter<Box<dyn Write>>,
    closed: bool,
    /// True when a terminal shows it.
    terminal: bool,
}

impl Out {
    pub fn new() -> Self {
        Out { terminal: io::stdout().is_terminal(), ..Out::to(super::standard::output()) }
    }

    /// Output that goes elsewhere.
    pub fn to(output: Box<dyn Write>) -> Self {
        Out { inner: BufWriter::with_capacity(64 << 10, output), closed: false, terminal: false }
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes what is no text to read but data, as it is.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.attempt(|inner| inner.write_all(bytes))
    }

    /// Writes what is one line, whatever the texts in it hold.
    pub fn line(&mut self, text: &str) -> Result<(), CliError> {
        self.styled(&on_one_line(text))
    }

    /// Writes a line of words, in the language of this run.
    pub fn tell(&mut self, message: &Message) -> Result<(), CliError> {
        self.line(&tell(message))
    }

    /// Writes a text of several lines.
    pub fn text(&mut self, text: &str) -> Result<(), CliError> {
        self.styled(&printable(text))
    }

    /// Writes a text for other programs. A terminal is shown it made fit, anything else gets it as it is.
    pub fn source(&mut self, text: &str) -> Result<(), CliError> {
        match self.terminal {
            true => self.write(printable(text).as_bytes()),
            false => self.write(text.as_bytes()),
        }
    }

    /// Writes what is made fit for a terminal already, such as what holds colours.
    pub fn styled(&mut self, text: &str) -> Result<(), CliError> {
        self.write(text.as_bytes())?;
        self.write(b"\n")
    }

    /// Writes a value as JSON laid out for people.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value);
        let text =
            text.map_err(|error| CliError::error(message!("this cannot be written as JSON: {error}")))?;
        self.json_line(&text)
    }

    /// Writes lines of JSON. For a terminal as [`Out::json_line`] does, else as they are.
    pub fn answers(&mut self, lines: &[u8]) -> Result<(), CliError> {
        match std::str::from_utf8(lines) {
            Ok(text) if self.terminal => self.write(escaped(text).as_bytes()),
            _ => self.write(lines),
        }
    }

    /// Writes JSON; what would steer a terminal stands in its strings alone, and is escaped as they have it.
    pub fn json_line(&mut self, json: &str) -> Result<(), CliError> {
        self.styled(&escaped(json))
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        self.attempt(Write::flush)
    }

    fn attempt(
        &mut self,
        write: impl FnOnce(&mut BufWriter<Box<dyn Write>>) -> io::Result<()>,
    ) -> Result<(), CliError> {
        if self.closed {
            return Ok(());
        }
        let Err(error) = write(&mut self.inner) else { return Ok(()) };
        // What could not be written now cannot be written on the way out either.
        self.closed = true;
        match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(CliError::usage(message!("standard output cannot be written: {error}"))),
        }
    }
}

/// JSON with what would steer a terminal escaped.
fn escaped(json: &str) -> Cow<'_, str> {
    let stays = |c: char| c == '\n' || !steers(c);
    if json.chars().all(stays) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if stays(c) {
            text.push(c);
        } else {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    Cow::Owned(text)
}

/// A number with a comma between each three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers to a terminal turned its writing around: JSON escapes no more than the first 32 controls.
    #[test]
    fn answers_steer_no_terminal_and_stay_as_they_are_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let line = "{\"chosen\":\"a\u{202e}b\u{9b}2J\u{7f}文件\"}\n";
        for (terminal, expected) in
            [(true, "{\"chosen\":\"a\\u202eb\\u009b2J\\u007f文件\"}\n"), (false, line)]
        {
            let file = std::fs::File::create(&path).expect("it can be written");
            let mut out = Out { terminal, ..Out::to(Box::new(file)) };
            out.answers(line.as_bytes()).and_then(|()| out.flush()).expect("it can be written");
            assert_eq!(std::fs::read_to_string(&path).expect("it can be read"), expected);
            let value: serde_json::Value = serde_json::from_str(expected).expect("it is JSON");
            assert_eq!(value["chosen"], "a\u{202e}b\u{9b}2J\u{7f}文件");
        }
    }
}
