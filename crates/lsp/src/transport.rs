//! Reads the messages of an editor from standard input. After a message that cannot be read, the
//! reader reports an error to the editor, skips to the next header, and continues.

use ls_types::notification::{LogMessage, Notification as _};
use lsp_server::{Connection, Message, Notification};
use rulec::Language;
use rulec_base::message;
use serde_json::json;
use std::io::{self, BufRead, Read};
use std::thread::{self, JoinHandle};

/// The maximum size of a message in bytes: 64 MiB. An editor sends an open document as a whole.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;
/// The maximum length of a line of a message header in bytes.
const MAX_HEADER_LINE_BYTES: u64 = 4 << 10;
/// The name of the header field that contains the length of a message, in lower case.
const LENGTH_HEADER_FIELD: &[u8] = b"content-length:";

/// The threads that move messages between the standard streams and a connection.
pub(super) struct StdioThreads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl StdioThreads {
    /// Waits until both threads have ended. Returns the error that ended the connection, if any.
    pub(super) fn join(self) -> io::Result<()> {
        let joined = |thread: JoinHandle<io::Result<()>>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the server panicked")))
        };
        joined(self.reader)?;
        joined(self.writer)
    }
}

/// Starts the threads that connect a server with the editor at standard input and output. Error
/// messages about unreadable input are in `language`.
pub(super) fn connect_stdio(language: Language) -> (Connection, StdioThreads) {
    let (server, editor) = Connection::memory();
    let (received, sent, reports) = (editor.sender, editor.receiver, server.sender.clone());
    let writer = thread::spawn(move || {
        sent.into_iter().try_for_each(|message: Message| message.write(&mut io::stdout().lock()))
    });
    let reader = thread::spawn(move || {
        let mut input = io::stdin().lock();
        let mut resyncing = false;
        loop {
            let message = match read_message(&mut input, resyncing)? {
                MessageFrame::End => return Ok(()),
                MessageFrame::Message(message) => message,
                MessageFrame::Unreadable { reason: why, needs_resync } => {
                    // While the reader skips to the next header, only the first error is reported.
                    if !resyncing {
                        let _ = reports.send(error_notification(&why, language));
                    }
                    resyncing = needs_resync;
                    continue;
                }
            };
            resyncing = false;
            let exits =
                matches!(&*message, Message::Notification(notification) if notification.method == "exit");
            if received.send(*message).is_err() || exits {
                return Ok(());
            }
        }
    });
    (server, StdioThreads { reader, writer })
}

/// The result of reading one message of the editor from standard input.
enum MessageFrame {
    /// The input has ended, possibly within a message.
    End,
    Message(Box<Message>),
    /// A message that cannot be read. `needs_resync` is true if the end of the message is unknown,
    /// so that the reader must search for the next header.
    Unreadable {
        reason: rulec::Message,
        needs_resync: bool,
    },
}

fn error_notification(why: &rulec::Message, language: Language) -> Message {
    let text = message!("a message of the editor is left out: {why}").localized(language).into_owned();
    let params = json!({ "type": 1, "message": text });
    Message::Notification(Notification::new(LogMessage::METHOD.to_owned(), params))
}

/// Reads one message. If `resyncing` is true, the position in the input is inside an unreadable
/// message. The function then first skips to the next header.
fn read_message(input: &mut impl BufRead, resyncing: bool) -> io::Result<MessageFrame> {
    let Some(length) = read_length(input, resyncing)? else { return Ok(MessageFrame::End) };
    let length = match length {
        Ok(length) => length,
        Err(why) => return Ok(MessageFrame::Unreadable { reason: why, needs_resync: true }),
    };
    // The buffer grows only as bytes arrive, because the length in the header may be wrong.
    let mut text = Vec::new();
    if input.take(length).read_to_end(&mut text)? as u64 != length {
        return Ok(MessageFrame::End);
    }
    Ok(match serde_json::from_slice(&text) {
        Ok(message) => MessageFrame::Message(Box::new(message)),
        Err(error) => {
            MessageFrame::Unreadable { reason: message!("it is not JSON-RPC: {error}"), needs_resync: false }
        }
    })
}

/// Reads the header of a message. Returns the length of the message in bytes, or the reason why the
/// header is invalid; `None` at the end of the input. If `resyncing` is true, the rest of an
/// unreadable message may precede the header and is skipped.
fn read_length(input: &mut impl BufRead, resyncing: bool) -> io::Result<Option<Result<u64, rulec::Message>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.take(MAX_HEADER_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let is_complete_line = line.ends_with(b"\r\n");
        // The next header may begin in the middle of a line, after the rest of an unreadable
        // message.
        let start = if resyncing && length.is_none() { find_length_field(&line) } else { Some(0) };
        let Some(field) = start.and_then(|start| line.get(start..)).map(<[u8]>::trim_ascii) else { continue };
        match (field, length) {
            (b"", Some(length)) => return Ok(Some(Ok(length))),
            (b"", None) => return Ok(Some(Err(message!("its header has no `Content-Length`")))),
            _ if !is_complete_line && !resyncing => {
                return Ok(Some(Err(message!("its header has a line without an end"))));
            }
            _ => {}
        }
        let Some(number) = strip_length_field(field) else { continue };
        match std::str::from_utf8(number).ok().and_then(|number| number.trim().parse::<u64>().ok()) {
            Some(number) if number <= MAX_MESSAGE_BYTES => length = Some(number),
            Some(_) => {
                let most = MAX_MESSAGE_BYTES >> 20;
                return Ok(Some(Err(message!("its `Content-Length` is more than {most} MiB"))));
            }
            None => return Ok(Some(Err(message!("its `Content-Length` is not a number of bytes")))),
        }
    }
}

/// Returns the byte offset of the last `Content-Length` field in a line. `None` if there is none.
fn find_length_field(line: &[u8]) -> Option<usize> {
    (0..line.len()).rev().find(|&at| strip_length_field(&line[at..]).is_some())
}

fn strip_length_field(line: &[u8]) -> Option<&[u8]> {
    let (name, value) = line.split_at_checked(LENGTH_HEADER_FIELD.len())?;
    name.eq_ignore_ascii_case(LENGTH_HEADER_FIELD).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the methods of the messages that are read, and `-` for each error.
    fn read_methods(input: &[u8]) -> Vec<String> {
        let (mut input, mut resyncing, mut found) = (input, false, Vec::new());
        loop {
            match read_message(&mut input, resyncing).expect("a slice can be read") {
                MessageFrame::End => return found,
                MessageFrame::Message(message) => {
                    resyncing = false;
                    let json = serde_json::to_value(&*message).expect("a message is JSON");
                    found.push(json["method"].as_str().unwrap_or_default().to_owned());
                }
                MessageFrame::Unreadable { needs_resync, .. } => {
                    resyncing = needs_resync;
                    found.push("-".to_owned());
                }
            }
        }
    }

    fn framed_message(method: &str) -> String {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}");
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    #[test]
    fn a_wrong_length_loses_one_message() {
        for wrong in [
            "Content-Length: 18446744073709551615",
            "Content-Length: 18446744073709551616",
            "Content-Length: 7000000000",
            "content-length: -1",
            "Content-Length: x",
            "Content-Length:",
            "Content-Type: a",
            "nonsense",
        ] {
            let input = [
                &framed_message("a"),
                wrong,
                "\r\n\r\n{\"jsonrpc\":\"2.0\"}",
                &framed_message("b"),
                &framed_message("c"),
            ]
            .concat();
            assert_eq!(read_methods(input.as_bytes()), ["a", "-", "b", "c"], "{wrong}");
        }
    }

    #[test]
    fn a_text_that_is_no_message_is_left_out() {
        let input = [
            "Content-Length: 3\r\n\r\n{,}",
            &framed_message("b"),
            "Content-Length: 2\r\n\r\n\u{fe}",
            &framed_message("c"),
        ];
        assert_eq!(read_methods(input.concat().as_bytes()), ["-", "b", "-", "c"]);
        let long = [&"x".repeat(1 << 20), "\r\n\r\n", &framed_message("b")].concat();
        assert_eq!(read_methods(long.as_bytes()), ["-", "b"]);
        let cut = framed_message("a");
        assert_eq!(read_methods(&cut.as_bytes()[..cut.len() - 1]), [""; 0]);
        assert_eq!(read_methods(b"Content-Length: 60000000\r\n\r\n{}"), [""; 0]);
    }
}
