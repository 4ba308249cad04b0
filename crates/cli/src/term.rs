//! Writes to standard output and standard error. Handles closed pipes, colour, and control
//! characters that could change a terminal.

use super::CliError;
use super::language::localized;
use clap::ValueEnum;
use rulec::Message;
use rulec_base::message;
use rulec_base::text::printable::{is_display_control, to_one_line, to_printable};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorMode {
    /// Only for a terminal, and not if `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always, even into a pipe.
    Always,
    /// Never.
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text
    #[default]
    Human,
    /// The same content as JSON
    Json,
}

/// Assumed terminal width in columns, if it is unknown.
const DEFAULT_WIDTH: usize = 100;

/// The colour setting of this run, and functions that print on standard error.
#[derive(Clone)]
pub struct Term {
    color: ColorMode,
}

impl Term {
    pub fn new(color: ColorMode) -> Self {
        Term { color }
    }

    pub fn is_stdout_colored(&self) -> bool {
        self.is_colored(io::stdout().is_terminal())
    }

    pub fn is_stderr_colored(&self) -> bool {
        self.is_colored(io::stderr().is_terminal())
    }

    fn is_colored(&self, is_terminal: bool) -> bool {
        match self.color {
            ColorMode::Always => true,
            ColorMode::Never => false,
            ColorMode::Auto => {
                let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let is_dumb_terminal = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
                is_terminal && !no_color && !is_dumb_terminal
            }
        }
    }

    /// Returns the width of the terminal in columns, between 40 and 300: the value of the
    /// environment variable `COLUMNS`, or else [`DEFAULT_WIDTH`]. `None` if `is_terminal` is false:
    /// text is then not wrapped.
    pub fn width(&self, is_terminal: bool) -> Option<usize> {
        let columns = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
        is_terminal.then(|| columns().unwrap_or(DEFAULT_WIDTH).clamp(40, 300))
    }

    /// Prints a one-line message on standard error. Write errors are ignored.
    pub fn print(&self, text: &Message) {
        self.print_styled(&to_one_line(&localized(text)));
    }

    /// Prints text that is already safe for a terminal, such as coloured text, on standard error.
    pub fn print_styled(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    pub fn print_note(&self, text: &Message) {
        self.print_titled("1;36", &message!("note:"), text);
    }

    pub fn print_error(&self, text: &Message) {
        self.print_titled("1;31", &message!("error:"), text);
    }

    fn print_titled(&self, code: &str, title: &Message, text: &Message) {
        let (title, text) = (localized(title), localized(text));
        // A full-width colon already includes a space.
        let space = if title.ends_with('：') { "" } else { " " };
        let title = paint(self.is_stderr_colored(), code, &title);
        self.print_styled(&format!("{title}{space}{}", to_one_line(&text)));
    }
}

/// Returns `text` in a terminal style, or unchanged if `color` is false. `code` has the numbers of
/// an ANSI escape sequence, such as `1` for bold, or `1;31` for bold and red.
pub fn paint(color: bool, code: &str, text: &str) -> String {
    if color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Buffered standard output. If the reader has closed the pipe (`rulec run … | head`), further
/// output is discarded and the program ends without an error.
pub struct Out {
    inner: BufWriter<Box<dyn Write>>,
    is_closed: bool,
    /// Whether standard output is a terminal, where control characters must be escaped.
    is_terminal: bool,
}

impl Out {
    pub fn new() -> Self {
        Out { is_terminal: io::stdout().is_terminal(), ..Out::with_destination(super::stdio::open_stdout()) }
    }

    /// Creates an output that writes to another destination than standard output.
    pub fn with_destination(output: Box<dyn Write>) -> Self {
        Out { inner: BufWriter::with_capacity(64 << 10, output), is_closed: false, is_terminal: false }
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Writes bytes unchanged, without escaping control characters.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.try_write(|inner| inner.write_all(bytes))
    }

    /// Writes exactly one line; line breaks and control characters in the text are escaped.
    pub fn write_line(&mut self, text: &str) -> Result<(), CliError> {
        self.write_styled(&to_one_line(text))
    }

    /// Writes a localized message as one line.
    pub fn write_message(&mut self, message: &Message) -> Result<(), CliError> {
        self.write_line(&localized(message))
    }

    /// Writes a text of several lines, with control characters escaped.
    pub fn write_text(&mut self, text: &str) -> Result<(), CliError> {
        self.write_styled(&to_printable(text))
    }

    /// Writes a text that other programs read. Control characters are escaped only if the output is
    /// a terminal.
    pub fn write_text_for_programs(&mut self, text: &str) -> Result<(), CliError> {
        match self.is_terminal {
            true => self.write(to_printable(text).as_bytes()),
            false => self.write(text.as_bytes()),
        }
    }

    /// Writes a line that is already safe for a terminal, such as coloured text.
    pub fn write_styled(&mut self, text: &str) -> Result<(), CliError> {
        self.write(text.as_bytes())?;
        self.write(b"\n")
    }

    /// Writes a value as pretty-printed JSON.
    pub fn write_json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value);
        let text =
            text.map_err(|error| CliError::input_error(message!("this cannot be written as JSON: {error}")))?;
        self.write_json_line(&text)
    }

    /// Writes JSON lines. If the output is a terminal, control characters are escaped as by
    /// [`Out::write_json_line`].
    pub fn write_answers(&mut self, lines: &[u8]) -> Result<(), CliError> {
        match std::str::from_utf8(lines) {
            Ok(text) if self.is_terminal => self.write(escape_controls(text).as_bytes()),
            _ => self.write(lines),
        }
    }

    /// Writes a JSON text and a line break. Control characters, which only strings can contain, are
    /// written as JSON escapes.
    pub fn write_json_line(&mut self, json: &str) -> Result<(), CliError> {
        self.write_styled(&escape_controls(json))
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        self.try_write(Write::flush)
    }

    fn try_write(
        &mut self,
        write: impl FnOnce(&mut BufWriter<Box<dyn Write>>) -> io::Result<()>,
    ) -> Result<(), CliError> {
        if self.is_closed {
            return Ok(());
        }
        let Err(error) = write(&mut self.inner) else { return Ok(()) };
        // No further writes are attempted after an error, not even when the program ends.
        self.is_closed = true;
        match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(CliError::usage_error(message!("standard output cannot be written: {error}"))),
        }
    }
}

/// Replaces control characters in a JSON text by JSON escapes.
fn escape_controls(json: &str) -> Cow<'_, str> {
    let is_allowed = |c: char| c == '\n' || !is_display_control(c);
    if json.chars().all(is_allowed) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_allowed(c) {
            text.push(c);
        } else {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    Cow::Owned(text)
}

/// Formats a number with a comma between groups of three digits.
pub fn group_digits(number: u64) -> String {
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

    /// Regression test: a printed answer could reverse the text direction of the terminal, because
    /// JSON encoding escapes only the first 32 control characters.
    #[test]
    fn control_characters_are_escaped_only_for_a_terminal() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let line = "{\"chosen\":\"a\u{202e}b\u{9b}2J\u{7f}文件\"}\n";
        for (terminal, expected) in
            [(true, "{\"chosen\":\"a\\u202eb\\u009b2J\\u007f文件\"}\n"), (false, line)]
        {
            let file = std::fs::File::create(&path).expect("it can be written");
            let mut out = Out { is_terminal: terminal, ..Out::with_destination(Box::new(file)) };
            out.write_answers(line.as_bytes()).and_then(|()| out.flush()).expect("it can be written");
            assert_eq!(std::fs::read_to_string(&path).expect("it can be read"), expected);
            let value: serde_json::Value = serde_json::from_str(expected).expect("it is JSON");
            assert_eq!(value["chosen"], "a\u{202e}b\u{9b}2J\u{7f}文件");
        }
    }
}
