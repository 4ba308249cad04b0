//! A stream of decisions over gRPC: messages in and answers out, in order, with bounded memory.

use super::decide::decide;
use super::message_too_large_problem;
use super::pb::rulec::v1 as pb;
use super::status::grpc_code;
use crate::doors::admitted::Admitted;
use crate::doors::app::{App, run_in_task};
use crate::limits::LimitName;
use crate::problem::Problem;
use axum::http::StatusCode;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use pb::decide_stream_response::Result as Answer;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tonic::{Code, Status, Streaming};

/// Maximum number of messages of one stream that are decided at the same time.
const MAX_OPEN_MESSAGES: usize = 64;

/// A lock that orders the decisions of a stream. A message that is recorded in the history is
/// decided alone (`Alone`): after all earlier messages, and before all later ones, which see it in
/// the history. Other messages are decided in parallel (`Shared`).
enum DecisionTurn {
    Shared { _held: OwnedRwLockReadGuard<()> },
    Alone { _held: OwnedRwLockWriteGuard<()> },
}

/// The messages of a client's stream, each with the lock that orders its decision.
struct RequestMessages {
    app: Arc<App>,
    requests: Streaming<pb::DecideStreamRequest>,
    turn_lock: Arc<RwLock<()>>,
}

impl RequestMessages {
    /// Waits for the next message of the client; `None` at the end of the stream.
    async fn next(&mut self) -> Result<Option<(pb::DecideRequest, DecisionTurn)>, Status> {
        let deadline = self.app.service().limits().request_time_limit;
        let Ok(next) = tokio::time::timeout(deadline, self.requests.message()).await else {
            self.app.service().metrics().count_limit(LimitName::deadline);
            return Err(Problem::too_slow("no message came in time; see `--deadline`").into());
        };
        let next = next.map_err(|status| match status.code() {
            Code::OutOfRange => message_too_large_problem(&self.app).into(),
            _ => status,
        })?;
        let Some(request) = next.map(|next| next.request.unwrap_or_default()) else { return Ok(None) };
        let turns = self.turn_lock.clone();
        let turn = match request.record {
            true => DecisionTurn::Alone { _held: turns.write_owned().await },
            false => DecisionTurn::Shared { _held: turns.read_owned().await },
        };
        Ok(Some((request, turn)))
    }
}

/// Answers the messages of a stream, in the order in which they arrive. The stream counts against
/// the limit of open streams until it ends.
pub(super) fn answer_stream(
    app: &Arc<App>,
    admitted: Admitted,
    requests: Streaming<pb::DecideStreamRequest>,
) -> BoxStream<'static, Result<pb::DecideStreamResponse, Status>> {
    let messages = RequestMessages { app: app.clone(), requests, turn_lock: Arc::default() };
    let messages = stream::try_unfold(messages, |mut messages| async move {
        Ok::<_, Status>(messages.next().await?.map(|next| (next, messages)))
    });
    let app = app.clone();
    let answers = messages.map(move |next| {
        let (app, admitted) = (app.clone(), admitted.clone());
        async move {
            let (request, _turn) = next?;
            Ok(run_in_task(async move { answer_message(&app, admitted, &request).await }).await?)
        }
    });
    answers.buffered(MAX_OPEN_MESSAGES).boxed()
}

/// Decides one message of a stream, or returns the error for it. Each message has a deadline of its
/// own.
async fn answer_message(
    app: &Arc<App>,
    admitted: Admitted,
    request: &pb::DecideRequest,
) -> pb::DecideStreamResponse {
    let admitted = match app.admit_part(&admitted).await {
        Ok(admitted) => admitted,
        Err(problem) => return pb::DecideStreamResponse { result: Some(to_answer(app, &problem)) },
    };
    let deadline = admitted.deadline;
    let decided = AssertUnwindSafe(decide(app, &admitted, request)).catch_unwind();
    let result = match tokio::time::timeout_at(deadline.end().into(), decided).await {
        Ok(Ok(Ok(response))) => Answer::Response(response),
        Ok(Ok(Err(problem))) => to_answer(app, &problem),
        Ok(Err(_)) => to_answer(app, &Problem::broken("rulec stopped because of an internal error")),
        Err(_) => to_answer(app, &deadline.timeout_problem()),
    };
    pb::DecideStreamResponse { result: Some(result) }
}

fn to_answer(app: &App, problem: &Problem) -> Answer {
    if problem.status() == StatusCode::GATEWAY_TIMEOUT {
        app.service().metrics().count_limit(LimitName::deadline);
    }
    let json = problem.to_json().to_string();
    Answer::Problem(pb::Problem { code: grpc_code(problem).into(), problem: json.into() })
}
