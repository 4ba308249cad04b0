//! The requests and responses of the client, so that callers do not depend on the HTTP library.

use super::error::{CallLabel, HttpError, HttpFailure, truncate_for_error};
use super::secret::Secret;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
use thiserror::Error;
use url::Url;

/// Headers that control the connection. A caller that sets one could redirect the call to another
/// host, or corrupt the request.
const RESERVED_HEADERS: [&str; 8] =
    ["connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"];

/// Words that occur in the names of secret headers and query parameters. If a name contains such a
/// word, errors show its value masked.
const SECRET_NAME_WORDS: [&str; 6] = ["auth", "cookie", "key", "password", "secret", "token"];

/// A request: HTTP method, URL, headers and optionally a body.
#[derive(Clone)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    /// True if the call may be sent again although the server may have processed it.
    pub(super) is_repeatable: bool,
    /// True if the response's body must be returned as text, without being parsed.
    pub(super) wants_text: bool,
}

/// The error for a header that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct HeaderError {
    name: String,
    why: Message,
}

impl HeaderError {
    /// Returns the name of the header that cannot be sent.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the reason why the header cannot be sent.
    pub fn why(&self) -> &Message {
        &self.why
    }

    /// Returns the name of the header and the reason as a localized message.
    pub fn to_message(&self) -> Message {
        message!("the header `{}` cannot be sent: {}", self.name, self.why)
    }
}

impl Request {
    /// Creates a GET request without a body.
    pub fn get(url: impl Into<String>) -> Request {
        Request::new(Method::GET, url.into(), None)
    }

    /// Creates a POST request with a JSON body.
    pub fn post(url: impl Into<String>, body: &Value) -> Request {
        Request::new(Method::POST, url.into(), Some(body))
    }

    /// Creates a PUT request with a JSON body.
    pub fn put(url: impl Into<String>, body: &Value) -> Request {
        Request::new(Method::PUT, url.into(), Some(body))
    }

    /// Creates a PATCH request with a JSON body.
    pub fn patch(url: impl Into<String>, body: &Value) -> Request {
        Request::new(Method::PATCH, url.into(), Some(body))
    }

    /// Creates a DELETE request without a body.
    pub fn delete(url: impl Into<String>) -> Request {
        Request::new(Method::DELETE, url.into(), None)
    }

    /// Creates a POST request with the bytes `body`, which have the media type `media_type`, such
    /// as `application/x-ndjson`.
    pub fn post_bytes(url: impl Into<String>, media_type: &'static str, body: Vec<u8>) -> Request {
        let mut request = Request::new(Method::POST, url.into(), None);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        Request { body: Some(body), ..request }
    }

    /// Creates a request. A body is sent as JSON with the content type `application/json`, unless a
    /// header sets another content type.
    pub(super) fn new(method: Method, url: String, body: Option<&Value>) -> Request {
        let mut headers = HeaderMap::new();
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let is_repeatable = !matches!(method, Method::POST | Method::PATCH);
        let body = body.map(|body| body.to_string().into_bytes());
        Request { method, url, headers, body, is_repeatable, wants_text: false }
    }

    /// Allows retries of a POST or PATCH that the server may have processed. Without this setting,
    /// such a request is sent again only if the server has certainly not processed it.
    #[must_use]
    pub fn repeatable(mut self) -> Request {
        self.is_repeatable = true;
        self
    }

    /// Makes the client return the response's body as [`Body::Text`], without parsing it, even if
    /// it is JSON. Needed for JSON that is nested more than 128 levels deep, which the client
    /// cannot parse.
    #[must_use]
    pub fn as_text(mut self) -> Request {
        self.wants_text = true;
        self
    }

    /// Sets a request header. It replaces an existing header with the same name.
    ///
    /// # Errors
    /// If the name is invalid or belongs to a header that controls the connection, such as `host`.
    /// Also if the value contains a line break or another control character.
    pub fn header(mut self, name: &str, value: &str) -> Result<Request, HeaderError> {
        self.headers.insert(parse_header_name(name)?, to_header_value(name, value)?);
        Ok(self)
    }

    /// Sets the header `Authorization: Bearer …`. If the server's response repeats the secret,
    /// errors show the response with the secret masked, as for every header that names a secret.
    ///
    /// # Errors
    /// If the secret contains a line break or another control character.
    pub fn bearer(mut self, secret: &Secret) -> Result<Request, HeaderError> {
        let mut value = to_header_value(AUTHORIZATION.as_str(), &format!("Bearer {}", secret.plain_text()))?;
        value.set_sensitive(true);
        self.headers.insert(AUTHORIZATION, value);
        Ok(self)
    }

    pub(super) fn label(&self) -> CallLabel {
        CallLabel::new(self.method.as_str(), &self.url)
    }

    /// Returns the secrets that the headers and the query contain, the longest first. In this
    /// order, a secret is masked before a shorter secret that it contains.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        let mut texts = Vec::new();
        for (name, value) in self.headers.iter().filter(|(name, _)| is_secret_name(name.as_str())) {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            // An error text of a server may quote a single cookie, or only the `KEY` of a header
            // `Bearer KEY`. So each cookie's value, and the key alone, are secrets too.
            let parts = if *name == COOKIE {
                value.split(['=', ';']).skip(1).step_by(2).collect()
            } else {
                value.split_once(' ').map(|(_, key)| key).into_iter().collect::<Vec<_>>()
            };
            texts.extend(parts.into_iter().map(|part| part.trim().to_owned()));
            texts.push(value);
        }
        if let Ok(url) = Url::parse(&self.url) {
            texts.extend(url.query().map(str::to_owned));
            let pairs = url.query_pairs().filter(|(name, _)| is_secret_name(name));
            texts.extend(pairs.map(|(_, value)| value.into_owned()));
        }
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts.into_iter().map(Secret::new).collect()
    }

    /// Masks the request's secrets in a server's text, and truncates the text to the length that an
    /// error value stores.
    pub(super) fn mask_and_truncate(&self, text: &str) -> String {
        mask_secrets_and_truncate(&self.secrets(), text)
    }
}

/// True if the name of a header or query parameter indicates that its value is secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAME_WORDS.iter().any(|part| name.contains(part))
}

fn mask_secrets_and_truncate(secrets: &[Secret], text: &str) -> String {
    let masked = secrets.iter().fold(text.to_owned(), |text, secret| secret.mask_in(&text));
    truncate_for_error(&masked)
}

/// Shows the names of headers only, because the values and the body contain keys and private data.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.label();
        let headers: Vec<_> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("Request")
            .field("method", &call.method)
            .field("url", &call.url)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

pub(super) fn parse_header_name(name: &str) -> Result<HeaderName, HeaderError> {
    let error = |why| HeaderError { name: name.to_owned(), why };
    let parsed = HeaderName::try_from(name).map_err(|_| error(message!("that is no header name")))?;
    if RESERVED_HEADERS.contains(&parsed.as_str()) {
        return Err(error(message!("it belongs to the connection; leave it out")));
    }
    Ok(parsed)
}

/// Converts a text to the value of the header `name`; characters beyond ASCII are sent as UTF-8.
/// Returns an error, which contains `name`, if the text contains a control character.
pub(super) fn to_header_value(name: &str, value: &str) -> Result<HeaderValue, HeaderError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| HeaderError {
        name: name.to_owned(),
        why: message!("its value holds a line break or another control character"),
    })
}

/// The body of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A body that is valid JSON, and that has a JSON content type or no content type.
    Json(Value),
    /// Any other body, decoded as UTF-8 with invalid bytes replaced. Empty if the response has no
    /// body.
    Text(String),
}

impl Body {
    /// Converts the body to one JSON value. A JSON body is unchanged, a text becomes a string, and
    /// an empty text becomes null.
    pub(super) fn into_value(self) -> Value {
        match self {
            Body::Json(value) => value,
            Body::Text(text) if text.is_empty() => Value::Null,
            Body::Text(text) => Value::String(text),
        }
    }

    pub(super) fn parse_body(content_type: Option<&HeaderValue>, bytes: &[u8]) -> Body {
        let is_json = content_type.is_none_or(is_json_type);
        match is_json.then(|| serde_json::from_slice(bytes)) {
            Some(Ok(value)) => Body::Json(value),
            _ => Body::Text(String::from_utf8_lossy(bytes).into_owned()),
        }
    }
}

/// True if a content type is JSON: `…/json`, or a type with the suffix `+json` such as
/// `application/problem+json`.
pub(super) fn is_json_type(label: &HeaderValue) -> bool {
    let Ok(label) = label.to_str() else { return false };
    let media_type = label.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type.ends_with("/json") || media_type.ends_with("+json")
}

/// A successful response (status 2xx).
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub(super) call: CallLabel,
    /// The HTTP status code, from 200 to 299.
    pub status: u16,
    /// The response body.
    pub body: Body,
    /// Number of attempts until this response arrived, at least 1.
    pub attempts: u32,
    /// Duration of the whole call, including pauses between attempts.
    pub elapsed: Duration,
    /// Whether the response has a JSON content type, so that a body that is not valid JSON is an
    /// error. False if the request asked for the body as text.
    pub(super) is_json: bool,
    pub(super) secrets: Vec<Secret>,
}

impl Response {
    /// Returns an error if the content type is JSON, but the body is not valid JSON. As a text,
    /// such a body would lack the fields that the caller reads.
    pub(super) fn require_valid_json(self) -> Result<Response, HttpError> {
        match &self.body {
            Body::Text(text) if self.is_json && !text.trim().is_empty() => {
                let failure = HttpFailure::NotJson { text: mask_secrets_and_truncate(&self.secrets, text) };
                Err(HttpError::new(self.call, self.attempts, self.elapsed, failure))
            }
            _ => Ok(self),
        }
    }

    /// Returns the body as JSON, whatever its content type is.
    ///
    /// # Errors [`HttpFailure::NotJson`] if the body is not valid JSON.
    pub fn into_json(self) -> Result<Value, HttpError> {
        let Response { call, body, attempts, elapsed, secrets, .. } = self;
        match body {
            Body::Json(value) => Ok(value),
            Body::Text(text) => serde_json::from_str(&text).map_err(|_| {
                let text = mask_secrets_and_truncate(&secrets, &text);
                HttpError::new(call, attempts, elapsed, HttpFailure::NotJson { text })
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn invalid_headers_are_refused() {
        for (name, value, ok) in [
            ("X-A", "plain", true),
            ("X-A", "文", true),
            ("X-A", "", true),
            ("X-A", "a\r\nX-B: c", false),
            ("X-A", "a\nb", false),
            ("X-A", "a\u{0}b", false),
            ("", "x", false),
            ("X A", "x", false),
            ("Host", "x", false),
            ("content-length", "1", false),
            ("Transfer-Encoding", "chunked", false),
        ] {
            let result = Request::get("http://h/").header(name, value);
            assert_eq!(result.is_ok(), ok, "{name} {value:?}");
            if let Err(error) = result {
                assert_eq!(error.name(), name);
            }
        }
        assert!(Request::get("http://h/").bearer(&Secret::new("a\nb")).is_err());
    }

    #[test]
    fn secrets_in_headers_and_the_query_are_masked_in_texts_of_a_server() {
        let request = Request::get("http://h/x?api_key=q%2D1&plain=2")
            .header("Authorization", "Basic dXNlcg==")
            .and_then(|request| request.header("X-Api-Key", "k-2"))
            .and_then(|request| request.header("Cookie", "sid=c-3; lang=c-4"))
            .and_then(|request| request.header("X-Trace", "t-5"))
            .expect("the headers are valid");
        let text = "authorization: Basic dXNlcg== dXNlcg== k-2 c-3 sid=c-3; lang=c-4 t-5 q-1 \
            /x?api_key=q%2D1&plain=2";
        assert_eq!(request.mask_and_truncate(text), "authorization: *** *** *** *** *** t-5 *** /x?***");
    }

    #[test]
    fn debug_shows_no_values() {
        let request = Request::post("http://h/x?q=private", &json!({"phone": "private"}));
        let request = request.header("X-A", "private").unwrap().bearer(&Secret::new("private")).unwrap();
        let debug_text = format!("{request:?}");
        assert!(!debug_text.contains("private"), "{debug_text}");
        assert!(debug_text.contains("x-a") && debug_text.contains("http://h/x"), "{debug_text}");
    }

    #[test]
    fn bodies_are_read_by_their_content_type() {
        let text = |text: &str| Body::Text(text.to_owned());
        for (label, bytes, expected) in [
            (Some("application/json"), "[1]", Body::Json(json!([1]))),
            (Some("Application/JSON; charset=utf-8"), "[1]", Body::Json(json!([1]))),
            (Some("application/problem+json"), "{}", Body::Json(json!({}))),
            (None, "2", Body::Json(json!(2))),
            (None, "", text("")),
            (Some("application/json"), "[1", text("[1")),
            (Some("text/plain"), "[1]", text("[1]")),
        ] {
            let label = label.map(HeaderValue::from_static);
            assert_eq!(Body::parse_body(label.as_ref(), bytes.as_bytes()), expected, "{label:?} {bytes}");
        }
        assert_eq!(Body::parse_body(None, b"\xff"), text("\u{fffd}"));
    }
}
