//! Implements `rulec run --server`: sends the messages to a running service (`rulec serve`), which
//! decides them.

use super::Args;
use crate::server::{ServiceClient, rules_name};
use crate::stream::{LineFailure, LineOutcome, LineWorker};
use crate::summary::AnswerSummary;
use crate::term::{Out, Term};
use crate::{CliError, ExitStatus};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rulec::Code;
use rulec_base::message;
use std::borrow::Cow;
use std::io::Write;

/// The start of each answer of the service. The service numbers the lines of a request from 1. This
/// program sends one line in each request, so the number is always 1.
const ANSWER_PREFIX: &str = "{\"line\":1,";
/// The text after [`ANSWER_PREFIX`] in the answer to a line that cannot be decided.
const ERROR_START: &str = "\"error\":";

/// Sends all messages to the service, and prints its answers.
pub fn run(server: &ServiceClient, args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let path = format!("/v1/batch?{}", query_string(args));
    // An empty request lets the service report a wrong name or token before the first message.
    server.ask_lines(&path, b"").map_err(|failure| failure.into_error())?;
    let worker = || RemoteWorker { server, url_path: &path, summary: AnswerSummary::default() };
    let (workers, errors) = args.stream.answer_stream(term, (&mut *out, None), worker)?;
    let mut summary = AnswerSummary::default();
    workers.into_iter().for_each(|worker| summary.merge(worker.summary));
    if !out.is_closed() {
        term.print(&summary.render(errors));
    }
    Ok(if errors > 0 { ExitStatus::Errors } else { ExitStatus::Success })
}

/// Returns the query string of the request URL, which contains the settings for all messages.
fn query_string(args: &Args) -> String {
    let mut query = format!("rules={}", utf8_percent_encode(&rules_name(&args.rules.path), NON_ALPHANUMERIC));
    if let Some(entry) = args.entry.as_deref() {
        query.push_str(&format!("&entry={}", utf8_percent_encode(entry, NON_ALPHANUMERIC)));
    }
    let options = args.answer_options();
    let flags = [
        ("explain", options.includes_explanation),
        ("matched", options.includes_matched),
        ("analysis", options.includes_analysis),
    ];
    for (name, _) in flags.iter().filter(|(_, is_set)| *is_set) {
        query.push_str(&format!("&{name}=true"));
    }
    query
}

/// Escapes line breaks in an answer, except the one at its end, so that each answer is one line.
/// For a terminal, [`Out::write_answers`](crate::term::Out::write_answers) escapes the other
/// control characters.
fn escape_line_breaks(answer: &str) -> Cow<'_, str> {
    let line = answer.strip_suffix('\n').unwrap_or(answer);
    if !line.contains(['\r', '\n']) {
        return Cow::Borrowed(answer);
    }
    let escaped = line.replace('\r', "\\r").replace('\n', "\\n");
    Cow::Owned(escaped + &answer[line.len()..])
}

/// A worker that sends each line to the service, and writes the service's answer.
struct RemoteWorker<'s> {
    server: &'s ServiceClient,
    url_path: &'s str,
    summary: AnswerSummary,
}

impl LineWorker for RemoteWorker<'_> {
    fn waits_for_program(&self) -> bool {
        true
    }

    fn answer(&mut self, line: u64, message: &[u8], out: &mut Vec<u8>) -> Result<LineOutcome, LineFailure> {
        let answer = self.server.ask_lines(self.url_path, message).map_err(|failure| {
            let help = message!("the other lines are still asked; see the events of the service");
            LineFailure::NoAnswer { code: Code::DecisionFailed, message: failure.message, help }
        })?;
        let Some(rest) = answer.strip_prefix(ANSWER_PREFIX) else {
            let message = message!("the service has answered nothing that belongs to this line");
            let help = message!("check that `--server` is the address of a `rulec serve`");
            return Err(LineFailure::NoAnswer { code: Code::DecisionFailed, message, help });
        };
        let rest = escape_line_breaks(rest);
        // Writes the number of the line in this input in place of the service's number. Writing to
        // memory cannot fail.
        let _ = write!(out, "{{\"line\":{line},{rest}");
        if rest.starts_with(ERROR_START) {
            return Ok(LineOutcome::Rejected);
        }
        self.summary.count_answer(&answer);
        Ok(LineOutcome::Answered)
    }
}

#[cfg(test)]
mod tests {
    use super::escape_line_breaks;

    #[test]
    fn an_answer_of_a_service_is_one_line() {
        assert_eq!(escape_line_breaks("\"a\r\nb\"}\n"), "\"a\\r\\nb\"}\n");
        assert_eq!(escape_line_breaks("\"a b\"}\n"), "\"a b\"}\n");
    }
}
