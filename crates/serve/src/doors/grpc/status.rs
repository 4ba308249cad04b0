//! Converts errors of the service to gRPC statuses. [`GRPC_CODES`] lists the gRPC code of each kind
//! of error.

use crate::problem::{GRPC_CODES, Problem};
use axum::http::StatusCode;
use axum::response::Response;
use tonic::metadata::{BinaryMetadataValue, MetadataMap};
use tonic::{Code, Status};

/// The metadata key whose value is the error as JSON, the same JSON as over HTTP.
const PROBLEM_METADATA_KEY: &str = "rulec-problem-bin";
/// Maximum number of bytes of the JSON in the metadata. A longer JSON text is left out, because
/// clients refuse larger metadata.
const MAX_PROBLEM_BYTES: usize = 4 << 10;
/// Maximum number of bytes of the error message in a status.
const MAX_STATUS_MESSAGE_BYTES: usize = 2 << 10;

/// Returns the gRPC status code of an error.
pub(super) fn grpc_code(problem: &Problem) -> Code {
    let row = GRPC_CODES.iter().find(|(kind, ..)| *kind == problem.kind());
    row.map_or(Code::Unknown, |(_, _, code)| *code)
}

/// Returns an error message, truncated to [`MAX_STATUS_MESSAGE_BYTES`] bytes. The message may be
/// long, because it may repeat a name that a client sent.
fn truncate_detail(words: &str) -> &str {
    let end = (0..=words.len().min(MAX_STATUS_MESSAGE_BYTES)).rev().find(|end| words.is_char_boundary(*end));
    &words[..end.unwrap_or_default()]
}

impl From<Problem> for Status {
    fn from(problem: Problem) -> Status {
        let mut metadata = MetadataMap::new();
        let json = problem.to_json().to_string();
        if json.len() <= MAX_PROBLEM_BYTES {
            metadata.insert_bin(PROBLEM_METADATA_KEY, BinaryMetadataValue::from_bytes(json.as_bytes()));
        }
        Status::with_metadata(grpc_code(&problem), truncate_detail(problem.detail()), metadata)
    }
}

/// Returns the HTTP status that matches the gRPC error in the headers of a response. `None` if the
/// headers contain no gRPC error.
pub(in crate::doors) fn http_status(response: &Response) -> Option<StatusCode> {
    let code = Status::from_header_map(response.headers())?.code();
    if code == Code::Ok {
        return None;
    }
    let row = GRPC_CODES.iter().find(|(_, _, known)| *known == code);
    // Other codes come from the gRPC library, for requests that the library cannot read.
    Some(row.map_or(StatusCode::BAD_REQUEST, |(_, status, _)| *status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn each_problem_is_encoded_in_its_status() {
        for (problem, code, status) in [
            (Problem::invalid("x"), Code::InvalidArgument, 400),
            (Problem::unauthorized("x"), Code::Unauthenticated, 401),
            (Problem::forbidden("x"), Code::PermissionDenied, 403),
            (Problem::unknown_entry("x"), Code::NotFound, 404),
            (Problem::not_found("x"), Code::Unimplemented, 404),
            (Problem::too_large("x"), Code::ResourceExhausted, 413),
            (Problem::not_answerable("x"), Code::FailedPrecondition, 422),
            (Problem::broken("x"), Code::Internal, 500),
            (Problem::overloaded("x"), Code::Unavailable, 503),
            (Problem::too_slow("x"), Code::DeadlineExceeded, 504),
        ] {
            let json = problem.to_json().to_string();
            let found = Status::from(problem);
            assert_eq!((found.code(), found.message()), (code, "x"));
            let sent = found.metadata().get_bin(PROBLEM_METADATA_KEY).and_then(|value| value.to_bytes().ok());
            assert_eq!(sent.as_deref(), Some(json.as_bytes()));
            let response: Response = found.into_http::<Body>();
            assert_eq!(http_status(&response).map(|status| status.as_u16()), Some(status));
        }
        assert_eq!(http_status(&Response::new(Body::empty())), None);
    }

    #[test]
    fn long_error_messages_are_truncated() {
        let status = Status::from(Problem::invalid("é".repeat(5000)));
        assert_eq!(status.message().len(), MAX_STATUS_MESSAGE_BYTES);
        assert!(status.metadata().get_bin(PROBLEM_METADATA_KEY).is_none());
    }
}
