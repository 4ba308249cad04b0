//! The error of an HTTP call. Its message names the method and URL, the failure, the remedy and the
//! number of attempts, on one line.

use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::text::truncate_chars;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// Maximum number of characters of a URL or of a server's text that an error message shows.
const MAX_SHOWN_CHARS: usize = 200;
/// Maximum number of characters of a server's response text that an error value stores.
const MAX_KEPT_BODY_CHARS: usize = 2_000;

/// Method and URL of a call, to name the call in messages. The query is removed from the URL,
/// because it may contain private values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallLabel {
    pub(super) method: String,
    pub(super) url: String,
}

impl CallLabel {
    pub(super) fn new(method: &str, url: &str) -> CallLabel {
        let end = url.find(['?', '#']).unwrap_or(url.len());
        let url = truncate_chars(&strip_user(&url[..end]), MAX_SHOWN_CHARS);
        CallLabel { method: method.to_owned(), url }
    }
}

/// Removes the user name and password from a URL, so that an error can show the URL. Calls to URLs
/// with a user name or password are refused.
fn strip_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

impl fmt::Display for CallLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.method, self.url)
    }
}

/// The error of an HTTP call. Displays as one line: the call, the failure, its remedy, and the
/// number of attempts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct HttpError {
    // Boxed, so that a `Result` with this error stays small.
    details: Box<HttpErrorDetails>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HttpErrorDetails {
    call: CallLabel,
    attempts: u32,
    elapsed: Duration,
    failure: HttpFailure,
}

impl HttpError {
    pub(super) fn new(call: CallLabel, attempts: u32, elapsed: Duration, failure: HttpFailure) -> HttpError {
        HttpError { details: Box::new(HttpErrorDetails { call, attempts, elapsed, failure }) }
    }

    /// Returns the call, the failure, its remedy and the number of attempts as a localized message.
    pub fn to_message(&self) -> Message {
        let HttpErrorDetails { call, attempts, failure, .. } = &*self.details;
        let (call, failure) = (call.to_string(), failure.to_message());
        match attempts {
            0 | 1 => message!("{call}: {failure}"),
            _ => message!("{call}: {failure} (after {attempts} attempts)"),
        }
    }

    /// Returns the reason why the call failed.
    pub fn failure(&self) -> &HttpFailure {
        &self.details.failure
    }

    /// Returns the HTTP method of the failed call, such as `POST`.
    pub fn method(&self) -> &str {
        &self.details.call.method
    }

    /// Returns the URL of the failed call, without query and fragment. The path may contain values
    /// of the call, which replaced placeholders.
    pub fn url(&self) -> &str {
        &self.details.call.url
    }

    /// Returns the number of attempts that were made; 0 if the call was refused before any request
    /// was sent.
    pub fn attempts(&self) -> u32 {
        self.details.attempts
    }

    /// Returns the duration of the whole call, including pauses between attempts.
    pub fn elapsed(&self) -> Duration {
        self.details.elapsed
    }
}

/// The reason why a call failed. If the call was retried, the reason of the last attempt.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum HttpFailure {
    /// The host is not in the list of allowed hosts. No request was sent.
    HostNotAllowed {
        /// The refused host, as `host` or `host:port`.
        host: String,
    },
    /// The URL is not an absolute http or https URL, or contains a user name or password. No
    /// request was sent.
    BadUrl {
        /// Why the text is not a URL that may be called.
        why: Message,
    },
    /// No complete response arrived in time.
    Timeout {
        /// The time limit that was exceeded.
        limit: Duration,
        /// True if the limit applies to the whole call with all its retries; false if it applies to
        /// one attempt.
        overall: bool,
    },
    /// The connection could not be made, or broke before the response was complete.
    Connection {
        /// The message of the operating system or of the protocol library.
        why: String,
    },
    /// The response has a status that is not 2xx.
    Status {
        /// The status code.
        status: u16,
        /// The response's text, truncated after 2000 characters.
        text: String,
    },
    /// The response body is longer than the limit of the client.
    BodyTooLarge {
        /// The maximum size of a response body, in bytes.
        limit: usize,
    },
    /// The body of the response is compressed, although the request did not allow it.
    UnknownEncoding {
        /// The encoding, as the header `Content-Encoding` names it.
        encoding: String,
    },
    /// The response has a success status, but its body is not JSON, which the caller requires or
    /// the content type of the response promises.
    NotJson {
        /// The response's text, truncated after 2000 characters.
        text: String,
    },
}

impl HttpFailure {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            HttpFailure::HostNotAllowed { host } => {
                message!(
                    "the host `{host}` may not be called; add it to the list of allowed hosts if it should"
                )
            }
            HttpFailure::BadUrl { why } => message!("the address cannot be called: {why}"),
            HttpFailure::Timeout { limit, overall: true } => message!(
                "no complete answer within {limit} for the whole call; raise the limit if the server needs longer"
            ),
            HttpFailure::Timeout { limit, overall: false } => {
                message!("no complete answer within {limit}; raise the limit if the server needs longer")
            }
            HttpFailure::Connection { why } => message!(
                "the connection failed: {why}; see whether the server is up and speaks this protocol"
            ),
            HttpFailure::Status { status, text } => {
                message!("answered {status}{}{}", quote_for_message(text), status_advice(*status))
            }
            HttpFailure::BodyTooLarge { limit } => message!(
                "the answer is longer than {limit} bytes; raise the limit of the body if it should be"
            ),
            HttpFailure::UnknownEncoding { encoding } => message!(
                "the answer is encoded as `{encoding}`, which the request did not allow; let the server answer without an encoding"
            ),
            HttpFailure::NotJson { text } => {
                message!(
                    "the answer is not JSON{}; see whether the address is the right one",
                    quote_for_message(text)
                )
            }
        }
    }
}

impl HttpFailure {
    /// True if a retry may succeed: after a failed connection, or after status 502, 503 or 504.
    /// After other failures, a retry would fail too, or the server may have acted on the request.
    pub(super) fn is_retryable(&self) -> bool {
        matches!(self, HttpFailure::Connection { .. } | HttpFailure::Status { status: 502..=504, .. })
    }
}

/// Returns the remedy for a response status as the end of a sentence; empty if no remedy is known.
fn status_advice(status: u16) -> Message {
    match status {
        300..=399 => message!("; redirects are not followed: write the address it leads to"),
        401 | 403 => message!("; see whether the key is right and may do this"),
        404 | 405 => message!("; see whether the address and the method are right"),
        _ => Message::default(),
    }
}

/// Formats a server's text for a message: on one line and truncated. Returns an empty message for
/// an empty text.
pub(super) fn quote_for_message(text: &str) -> Message {
    let line = truncate_chars(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_SHOWN_CHARS);
    if line.is_empty() { Message::default() } else { message!(": `{line}`") }
}

/// Truncates a server's response text to the length that an error value stores.
pub(super) fn truncate_for_error(text: &str) -> String {
    truncate_chars(text, MAX_KEPT_BODY_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_failure_the_call_and_the_remedy() {
        let show = |failure, attempts| {
            let call = CallLabel::new("POST", "http://u:p@h/x?token=1#y");
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
            assert_eq!(CallLabel::new("GET", url).url, expected);
        }
    }

    #[test]
    fn long_texts_are_cut_at_characters() {
        assert_eq!(truncate_for_error(&"文".repeat(3_000)), format!("{}…", "文".repeat(MAX_KEPT_BODY_CHARS)));
        assert_eq!(
            quote_for_message(&"é".repeat(300)).as_str(),
            format!(": `{}…`", "é".repeat(MAX_SHOWN_CHARS))
        );
        assert_eq!(truncate_for_error("x"), "x");
        let url = CallLabel::new("GET", &format!("http://h/{}", "x".repeat(100_000))).url;
        assert_eq!(url, format!("http://h/{}…", "x".repeat(MAX_SHOWN_CHARS - "http://h/".len())));
    }
}
