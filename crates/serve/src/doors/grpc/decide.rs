//! Decides one message that came over gRPC, alone or in a stream.

use super::pb::rulec::v1 as pb;
use crate::doors::admitted::Admitted;
use crate::doors::app::App;
use crate::problem::Problem;
use crate::service::{DecideRequest, read_request};
use std::sync::Arc;

/// Returns a text field of a Protobuf message; `None` if it is empty. Protobuf does not distinguish
/// an empty text from a missing one.
pub(super) fn non_empty(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Decides the message in a gRPC request, with the options of the request.
pub(super) async fn decide(
    app: &Arc<App>,
    admitted: &Admitted,
    request: &pb::DecideRequest,
) -> Result<pb::DecideResponse, Problem> {
    let request = DecideRequest {
        rules: non_empty(&request.rules),
        entry: non_empty(&request.entry),
        message: read_request(&request.message)?,
        explain: request.explain,
        matched: request.matched,
        analysis: request.analysis,
        why_not: non_empty(&request.why_not),
        record: request.record,
    };
    let decided = app.decide(admitted, request.to_body()?).await?;
    Ok(pb::DecideResponse { generation: decided.decision.generation(), decision: decided.body.into() })
}
