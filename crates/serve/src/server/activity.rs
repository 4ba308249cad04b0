//! Measures how long the client of a connection has been idle, so that the server can close the
//! connection.

use crate::limits::{LimitName, Limits};
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Maximum number of bytes of an answer that hyper gets at once. When hyper asks for the next part,
/// the client has received data. So small parts show that a slow client is still receiving.
const MAX_BODY_PART_BYTES: usize = 64 << 10;

/// The requests of one connection that are still open, and the time when its client last made
/// progress.
#[derive(Debug)]
pub(super) struct ConnectionActivity {
    state: Mutex<ActivityState>,
    close_request: Notify,
}

#[derive(Debug)]
struct ActivityState {
    /// The open requests by number. The value is the time since which the service waits for the
    /// client to receive a part of the answer. `None` while the client waits for the service.
    waiting_since_by_request: HashMap<u64, Option<Instant>>,
    next_request_number: u64,
    /// The time when a request last began or ended, or when the connection was accepted.
    last_request_change: Instant,
}

impl ConnectionActivity {
    pub fn new() -> Arc<ConnectionActivity> {
        let state = ActivityState {
            waiting_since_by_request: HashMap::new(),
            next_request_number: 0,
            last_request_change: Instant::now(),
        };
        Arc::new(ConnectionActivity { state: Mutex::new(state), close_request: Notify::new() })
    }

    fn lock_state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request, which counts as open until the returned value is dropped.
    pub fn begin_request(self: &Arc<Self>) -> OpenRequest {
        let mut state = self.lock_state();
        let number = state.next_request_number;
        state.next_request_number += 1;
        state.last_request_change = Instant::now();
        state.waiting_since_by_request.insert(number, None);
        OpenRequest { activity: self.clone(), request_number: number }
    }

    /// True if the connection has an open request.
    pub fn has_open_request(&self) -> bool {
        !self.lock_state().waiting_since_by_request.is_empty()
    }

    /// Returns how soon the connection should be closed if another client needs its slot. The
    /// lowest value is closed first: connections that never sent a complete request, then the
    /// connection that has been idle for the longest time. `None` if a request is open.
    pub fn closing_order(&self) -> Option<(bool, Instant)> {
        let state = self.lock_state();
        let is_idle = state.waiting_since_by_request.is_empty();
        is_idle.then_some((state.next_request_number > 0, state.last_request_change))
    }

    /// Asks the task that serves the connection to close it at once.
    pub fn request_close(&self) {
        self.close_request.notify_one();
    }

    /// Waits until [`ConnectionActivity::request_close`] is called.
    pub async fn wait_for_close_request(&self) {
        self.close_request.notified().await;
    }

    /// Returns the limit that applies to the idle client, and how long the client may still be
    /// idle; zero if this time is over. `None` while every open request waits for the service, not
    /// for the client.
    pub fn limit_and_time_left(&self, limits: &Limits) -> Option<(LimitName, Duration)> {
        let state = self.lock_state();
        let (since, name, limit) = match state.waiting_since_by_request.values().flatten().min() {
            Some(since) => (*since, LimitName::write_time, limits.write_time),
            None if !state.waiting_since_by_request.is_empty() => return None,
            // The connection has no request yet.
            None if state.next_request_number == 0 => {
                (state.last_request_change, LimitName::head_time, limits.head_time)
            }
            None => (state.last_request_change, LimitName::idle_time, limits.idle_time),
        };
        Some((name, limit.saturating_sub(since.elapsed())))
    }
}

/// An open request of a connection. The request ends when this value is dropped.
#[derive(Debug)]
pub(super) struct OpenRequest {
    activity: Arc<ConnectionActivity>,
    request_number: u64,
}

impl OpenRequest {
    /// Records whether the request now waits for the client to receive a part of the answer. If
    /// false, the request waits for the service.
    fn set_waiting(&self, waits_for_client: bool) {
        let since = waits_for_client.then(Instant::now);
        self.activity.lock_state().waiting_since_by_request.insert(self.request_number, since);
    }

    /// Wraps the body of the answer, to record when the client receives its parts. The request ends
    /// when the body is dropped.
    pub fn watch_body(self, body: axum::body::Body) -> WatchedBody {
        self.set_waiting(true);
        WatchedBody { body, unsent_bytes: Bytes::new(), request: self }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut state = self.activity.lock_state();
        state.waiting_since_by_request.remove(&self.request_number);
        state.last_request_change = Instant::now();
    }
}

/// The body of an answer. It records each time when the client receives a part of the answer.
#[derive(Debug)]
pub(super) struct WatchedBody {
    body: axum::body::Body,
    /// The bytes of the last part of the body that were not passed to hyper yet.
    unsent_bytes: Bytes,
    request: OpenRequest,
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if this.unsent_bytes.is_empty() {
            let frame = Pin::new(&mut this.body).poll_frame(context);
            this.request.set_waiting(frame.is_ready());
            match frame {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => this.unsent_bytes = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return other,
            }
        } else {
            this.request.set_waiting(true);
        }
        let part = this.unsent_bytes.split_to(this.unsent_bytes.len().min(MAX_BODY_PART_BYTES));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.unsent_bytes.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.unsent_bytes.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn a_large_answer_is_given_in_parts() {
        let activity = ConnectionActivity::new();
        let text = vec![b'x'; 2 * MAX_BODY_PART_BYTES + 1];
        let mut body = activity.begin_request().watch_body(axum::body::Body::from(text.clone()));
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut parts = Vec::new();
        while let Some(part) = body.frame().await {
            parts.push(part.expect("a part").into_data().expect("data"));
        }
        assert_eq!(
            parts.iter().map(Bytes::len).collect::<Vec<_>>(),
            [MAX_BODY_PART_BYTES, MAX_BODY_PART_BYTES, 1]
        );
        assert_eq!(parts.concat(), text);
    }

    #[test]
    fn time_is_limited_only_while_the_client_must_act() {
        let hour = |count: u64| Duration::from_secs(3600 * count);
        let limits =
            Limits { head_time: hour(1), idle_time: hour(2), write_time: hour(3), ..Limits::default() };
        let activity = ConnectionActivity::new();
        let hours_left = || {
            activity.limit_and_time_left(&limits).map(|(name, left)| (name, left.as_secs().div_ceil(3600)))
        };
        assert_eq!(hours_left(), Some((LimitName::head_time, 1)));
        let (first, second) = (activity.begin_request(), activity.begin_request());
        assert_eq!(hours_left(), None);
        let body = first.watch_body(axum::body::Body::empty());
        assert_eq!(hours_left(), Some((LimitName::write_time, 3)), "the other request does not hide it");
        drop(body);
        assert_eq!(hours_left(), None);
        drop(second);
        assert_eq!(hours_left(), Some((LimitName::idle_time, 2)));
    }

    #[test]
    fn connections_without_a_request_are_closed_first_and_open_requests_never() {
        let (idle, busy, silent) =
            (ConnectionActivity::new(), ConnectionActivity::new(), ConnectionActivity::new());
        drop(idle.begin_request());
        let request = busy.begin_request();
        assert!(silent.closing_order() < idle.closing_order());
        assert_eq!(busy.closing_order(), None);
        drop(request);
        assert!(idle.closing_order() < busy.closing_order(), "the longest idle time comes first");
    }
}
