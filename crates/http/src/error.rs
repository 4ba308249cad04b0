//! Why a call failed: what was called, how often, what went wrong and what to do about it.

use rulec_base::text::shortened;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// Characters of a server's text that a message shows.
const SHOWN: usize = 200;
/// Characters of a server's text that an error keeps.
const KEPT: usize = 2_000;

/// A method and an address without its query, which may hold private values: what messages name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) url: String,
}

impl Call {
    pub(super) fn new(method: &str, url: &str) -> Call {
        let end = url.find(['?', '#']).unwrap_or(url.len());
        Call { method: method.to_owned(), url: without_user(&url[..end]) }
    }
}

/// A refused address may hold a password before its host.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.method, self.url)
    }
}

/// A call that failed. Displays as one line: the call, what went wrong, the remedy, the attempts made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {}{}", .details.call, .details.failure, after(.details.attempts))]
pub struct HttpError {
    // Boxed, so that results stay small.
    details: Box<Details>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    call: Call,
    attempts: u32,
    elapsed: Duration,
    failure: HttpFailure,
}

fn after(attempts: u32) -> String {
    if attempts > 1 { format!(" (after {attempts} attempts)") } else { String::new() }
}

impl HttpError {
    pub(super) fn new(call: Call, attempts: u32, elapsed: Duration, failure: HttpFailure) -> HttpError {
        HttpError { details: Box::new(Details { call, attempts, elapsed, failure }) }
    }

    /// The failure of the call.
    pub fn failure(&self) -> &HttpFailure {
        &self.details.failure
    }

    /// The method of the call.
    pub fn method(&self) -> &str {
        &self.details.call.method
    }

    /// The address, without query and fragment. Values that were filled into its path are in it.
    pub fn url(&self) -> &str {
        &self.details.call.url
    }

    /// The number of attempts that were made; 0 when the call was refused before anything was sent.
    pub fn attempts(&self) -> u32 {
        self.details.attempts
    }

    /// The time the call took, pauses included.
    pub fn elapsed(&self) -> Duration {
        self.details.elapsed
    }
}

/// The failure of a call (of its last attempt when it was tried again).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HttpFailure {
    /// The host is not listed. Nothing was sent.
    #[error("the host `{host}` may not be called; add it to the list of allowed hosts if it should")]
    HostNotAllowed {
        /// `host` or `host:port`.
        host: String,
    },
    /// No address that can be called. Nothing was sent.
    #[error("the address cannot be called: {why}")]
    BadUrl {
        /// The reason why it is wrong.
        why: String,
    },
    /// No complete answer in time.
    #[error("no complete answer within {limit:?}{}; raise the limit if the server needs longer", whole(*.overall))]
    Timeout {
        /// The limit that ran out.
        limit: Duration,
        /// True for the limit of the whole call rather than that of one attempt.
        overall: bool,
    },
    /// The connection could not be made, or broke before the answer was complete.
    #[error("the connection failed: {why}; see whether the server is up and speaks this protocol")]
    Connection {
        /// The words of the operating system or the protocol.
        why: String,
    },
    /// An answer that is no success.
    #[error("answered {status}{}{}", quoted(.text), advice(*.status))]
    Status {
        /// The status code.
        status: u16,
        /// The answer's text, cut short after 2000 characters.
        text: String,
    },
    /// An answer longer than the limit.
    #[error("the answer is longer than {limit} bytes; raise the limit of the body if it should be")]
    BodyTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A success whose body should be JSON and is not.
    #[error("the answer is not JSON{}; see whether the address is the right one", quoted(.text))]
    NotJson {
        /// The answer's text, cut short after 2000 characters.
        text: String,
    },
}

impl HttpFailure {
    /// True when another attempt may end better. What was refused here, a late answer and every other status
    /// will not, or may have been acted upon.
    pub(super) fn passes(&self) -> bool {
        matches!(self, HttpFailure::Connection { .. } | HttpFailure::Status { status: 502..=504, .. })
    }
}

fn whole(overall: bool) -> &'static str {
    if overall { " for the whole call" } else { "" }
}

fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "; redirects are not followed: write the address it leads to",
        401 | 403 => "; see whether the key is right and may do this",
        404 | 405 => "; see whether the address and the method are right",
        _ => "",
    }
}

/// A server's text inside a message: one line, cut short.
pub(super) fn quoted(text: &str) -> String {
    let line = shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN);
    if line.is_empty() { String::new() } else { format!(": `{line}`") }
}

/// A server's text as an error keeps it.
pub(super) fn keep(text: &str) -> String {
    shortened(text, KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_where_and_the_remedy() {
        let show = |failure, attempts| {
            let call = Call::new("POST", "http://u:p@h/x?token=1#y");
            HttpError::new(call, attempts, Duration::ZERO, failure).to_string()
        };
        let status = |status, text: &str| HttpFailure::Status { status, text: text.to_owned() };
        for (failure, attempts, expected) in [
            (
                HttpFailure::HostNotAllowed { host: "h:1".to_owned() },
                0,
                "POST `http://h/x`: the host `h:1` may not be called; add it to the list of allowed hosts if it should",
            ),
            (status(500, " a\n b "), 1, "POST `http://h/x`: answered 500: `a b`"),
            (status(503, ""), 3, "POST `http://h/x`: answered 503 (after 3 attempts)"),
            (
                status(302, ""),
                1,
                "POST `http://h/x`: answered 302; redirects are not followed: write the address it leads to",
            ),
            (
                HttpFailure::Timeout { limit: Duration::from_millis(1500), overall: true },
                1,
                "POST `http://h/x`: no complete answer within 1.5s for the whole call; raise the limit if the server needs longer",
            ),
        ] {
            assert_eq!(show(failure, attempts), expected);
        }
    }

    #[test]
    fn addresses_are_shown_without_user_and_query() {
        for (url, expected) in [
            ("http://u:p@h:1/a?b#c", "http://h:1/a"),
            ("http://u:p@q@h", "http://h"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://h#c", "http://h"),
            ("u@h", "u@h"),
            ("", ""),
        ] {
            assert_eq!(Call::new("GET", url).url, expected);
        }
    }

    #[test]
    fn long_texts_are_cut_at_characters() {
        assert_eq!(keep(&"文".repeat(3_000)), format!("{}…", "文".repeat(KEPT)));
        assert_eq!(quoted(&"é".repeat(300)), format!(": `{}…`", "é".repeat(SHOWN)));
        assert_eq!(keep("x"), "x");
    }
}
