//! Errors of requests, as `application/problem+json` (RFC 9457). An error of the library keeps its
//! code, so that a user can run `rulec explain CODE`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rulec::history::RecordError;
use rulec::{CompileError, Diagnostic, EditError, JsonError, SourceMap, UnknownEntry};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// The error in the response to a request, as `application/problem+json`.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// Identifies the kind of the error, such as `urn:rulec:unknown-entry`.
    #[serde(rename = "type")]
    kind: Box<str>,
    /// A short description of the kind of error, the same for all errors of this kind.
    title: &'static str,
    /// The HTTP status of the response that reports this error.
    status: u16,
    /// A description of the mistake in this request, with the remedy.
    detail: Box<str>,
    /// The diagnostic code, such as `E0601`; `None` unless the error comes from the library
    /// `rulec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// The line and column of the error in the JSON text, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    /// The findings of the compiler, for rules that do not compile.
    #[serde(skip_serializing_if = "<[Json]>::is_empty")]
    findings: Box<[Json]>,
    /// The new generation (version number) of the rules, if the request has changed the rules
    /// before the error occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    /// Number of seconds after which the caller may try again; 0 if trying again does not help.
    #[serde(skip)]
    retry_after: u32,
}

macro_rules! problems {
    ($($name:ident = $status:ident, $code:ident, $kind:literal, $title:literal;)*) => {
        impl Problem {
            $(
                #[doc = concat!("The error `", $kind, "`: ", $title, ".")]
                pub fn $name(detail: impl Into<String>) -> Problem {
                    Problem::new(StatusCode::$status, $kind, $title, detail.into())
                }
            )*
        }

        /// All kinds of errors: the last part of the error's `type`, and the HTTP status.
        pub(crate) const PROBLEM_KINDS: &[(&str, StatusCode)] = &[$(($kind, StatusCode::$status),)*];

        /// All kinds of errors, each with its HTTP status and its gRPC code.
        #[cfg(feature = "grpc")]
        pub(crate) const GRPC_CODES: &[(&str, StatusCode, tonic::Code)] =
            &[$(($kind, StatusCode::$status, tonic::Code::$code),)*];
    };
}

problems! {
    invalid = BAD_REQUEST, InvalidArgument, "invalid-request", "the request is not valid";
    unauthorized = UNAUTHORIZED, Unauthenticated, "unauthorized", "the request needs a token";
    forbidden = FORBIDDEN, PermissionDenied, "forbidden", "the token does not allow this";
    unknown_rules = NOT_FOUND, NotFound, "unknown-rules", "there are no such rules";
    unknown_entry = NOT_FOUND, NotFound, "unknown-entry", "the rules have no such entry";
    not_found = NOT_FOUND, Unimplemented, "not-found", "there is nothing at this address";
    wrong_method = METHOD_NOT_ALLOWED, Unimplemented, "wrong-method", "the address does not take this method";
    conflict = CONFLICT, Aborted, "conflict", "the edit does not fit the rules";
    changed = PRECONDITION_FAILED, Aborted, "changed", "the rules have changed since they were read";
    too_large = PAYLOAD_TOO_LARGE, ResourceExhausted, "too-large", "the request is too large";
    wrong_type = UNSUPPORTED_MEDIA_TYPE, InvalidArgument, "wrong-media-type", "the body has another media type";
    not_answerable = UNPROCESSABLE_ENTITY, FailedPrecondition, "not-answerable", "the rules cannot answer this";
    not_logged = INTERNAL_SERVER_ERROR, Internal, "not-logged", "the request has taken effect, but is not logged";
    broken = INTERNAL_SERVER_ERROR, Internal, "broken", "the service failed";
    overloaded = SERVICE_UNAVAILABLE, Unavailable, "overloaded", "the service has too many requests";
    too_slow = GATEWAY_TIMEOUT, DeadlineExceeded, "too-slow", "the request took too long";
}

impl Problem {
    fn new(status: StatusCode, kind: &str, title: &'static str, detail: String) -> Problem {
        Problem {
            kind: format!("urn:rulec:{kind}").into(),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            code: None,
            line: None,
            column: None,
            findings: Box::default(),
            generation: None,
            retry_after: u32::from(status == StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// Adds the generation (version number) of the rules, for an error after which the request's
    /// change is in force nevertheless.
    pub(crate) fn with_generation(self, generation: u64) -> Problem {
        Problem { generation: Some(generation), ..self }
    }

    /// Returns the kind of the error: the last part of its type, such as `unknown-entry`.
    #[cfg(feature = "grpc")]
    pub(crate) fn kind(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or_default()
    }

    /// Returns the HTTP status of the response that reports this error.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns the text of the error for the caller, with the remedy.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the error as JSON in the format of RFC 9457.
    pub fn to_json(&self) -> Json {
        json!(self)
    }
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Problem {
        Problem {
            code: Some(error.kind().code().as_str()),
            line: u32::try_from(error.line()).ok(),
            column: u32::try_from(error.column()).ok(),
            ..Problem::invalid(error.to_message().as_str())
        }
    }
}

impl From<UnknownEntry> for Problem {
    fn from(error: UnknownEntry) -> Problem {
        Problem::unknown_entry(error.to_message().as_str())
    }
}

impl From<RecordError> for Problem {
    fn from(error: RecordError) -> Problem {
        let text = error.to_message().to_string();
        match error {
            RecordError::Store(_) => Problem::broken(text),
            _ => Problem::not_answerable(text),
        }
    }
}

impl From<CompileError> for Problem {
    fn from(error: CompileError) -> Problem {
        let first = error.diagnostics().iter().find(|found| found.is_error());
        Problem {
            code: first.map(|found| found.code.as_str()),
            findings: error.diagnostics().iter().map(|found| finding_json(found, error.sources())).collect(),
            ..Problem::conflict(error.to_message().as_str())
        }
    }
}

impl From<EditError> for Problem {
    fn from(error: EditError) -> Problem {
        match error {
            EditError::Compile(error) => error.into(),
            error => Problem::conflict(error.to_message().as_str()),
        }
    }
}

/// Returns a diagnostic of the compiler or the rule analysis as JSON, with the file, line and
/// column of its primary span.
pub(crate) fn finding_json(found: &Diagnostic, sources: &SourceMap) -> Json {
    let mut json = json!({
        "code": found.code.as_str(),
        "severity": if found.is_error() { "error" } else { "warning" },
        "message": found.message.as_str(),
    });
    if let Some(help) = &found.help {
        json["help"] = help.as_str().into();
    }
    if let Some(label) = found.labels.first() {
        let position = sources.position(label.span);
        json["file"] = sources.get(label.span.file).map(|file| file.name.as_str()).into();
        json["line"] = position.line.into();
        json["column"] = position.column.into();
    }
    json
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (self.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.retry_after > 0 {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(self.retry_after));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // A client of gRPC gets a status in place of this response.
        #[cfg(feature = "grpc")]
        response.extensions_mut().insert(self);
        response
    }
}
