//! Reads the body of a request before the request takes one of the permits, which limit the number
//! of open requests. So a client that sends its body slowly takes no permit from other clients.
//!
//! The bodies that are being read share a budget of bytes. If they exceed it, the service gives up
//! the body that it has been reading for the longest time.

use crate::limits::{Limits, OPEN_REQUEST_BYTES};
use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The request bodies that have not arrived completely.
pub(crate) struct IncompleteBodies {
    /// Maximum number of bytes of all incomplete bodies together.
    max_total_bytes: usize,
    state: Mutex<IncompleteBodiesState>,
}

#[derive(Default)]
struct IncompleteBodiesState {
    /// The incomplete bodies by number: the oldest body has the smallest number.
    open_by_number: BTreeMap<u64, IncompleteBody>,
    next_number: u64,
    total_bytes: usize,
}

struct IncompleteBody {
    received_bytes: usize,
    /// Notified if the service gives up reading this request body.
    give_up_signal: Arc<Notify>,
}

impl IncompleteBodies {
    pub fn new(limits: &Limits) -> IncompleteBodies {
        IncompleteBodies { max_total_bytes: limits.max_total_body_bytes(), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, IncompleteBodiesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self) -> BodyRegistration<'_> {
        let give_up_signal = Arc::<Notify>::default();
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number += 1;
        state
            .open_by_number
            .insert(number, IncompleteBody { received_bytes: 0, give_up_signal: give_up_signal.clone() });
        drop(state);
        BodyRegistration { bodies: self, body_number: number, give_up_signal }
    }
}

/// The registration of an incomplete body in [`IncompleteBodies`]. While it exists, the received
/// bytes of the body count against the budget of all bodies.
struct BodyRegistration<'b> {
    bodies: &'b IncompleteBodies,
    body_number: u64,
    give_up_signal: Arc<Notify>,
}

impl BodyRegistration<'_> {
    /// Counts `bytes` more bytes for this body. If all bodies together exceed the budget, gives up
    /// the oldest ones, but never the only one.
    fn add_bytes(&self, bytes: usize) {
        let mut state = self.bodies.lock();
        // The entry is missing if this body was given up before.
        let Some(body) = state.open_by_number.get_mut(&self.body_number) else { return };
        body.received_bytes += bytes;
        state.total_bytes += bytes;
        while state.total_bytes > self.bodies.max_total_bytes && state.open_by_number.len() > 1 {
            let Some((_, oldest)) = state.open_by_number.pop_first() else { return };
            state.total_bytes -= oldest.received_bytes;
            oldest.give_up_signal.notify_one();
        }
    }
}

impl Drop for BodyRegistration<'_> {
    fn drop(&mut self) {
        let mut state = self.bodies.lock();
        if let Some(body) = state.open_by_number.remove(&self.body_number) {
            state.total_bytes -= body.received_bytes;
        }
    }
}

/// The reason why a request body is not read to its end.
pub(super) enum BodyError {
    /// The request body is larger than the limit.
    TooLarge,
    /// The bodies that are being read exceed their budget, and this body was the oldest.
    GivenUp,
    /// The body cannot be read, for example because the client has disconnected. Contains the error
    /// message.
    Unreadable(String),
}

/// Reads a body to its end. `limit` is the maximum number of bytes.
///
/// # Errors
/// If the body is larger than `limit`, which its header `content-length` may already say. Also if
/// the body cannot be read, or the service gives it up because all bodies exceed their budget.
pub(super) async fn read_body(
    bodies: &IncompleteBodies,
    mut body: Body,
    limit: usize,
) -> Result<Bytes, BodyError> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut registration: Option<BodyRegistration<'_>> = None;
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    loop {
        // Most bodies have arrived with the head of their request, and need no registration.
        let frame = match body.frame().now_or_never() {
            Some(frame) => frame,
            None => {
                let registration = registration.get_or_insert_with(|| {
                    let registration = bodies.register();
                    registration.add_bytes(OPEN_REQUEST_BYTES + first.len() + rest.len());
                    registration
                });
                tokio::select! {
                    frame = body.frame() => frame,
                    () = registration.give_up_signal.notified() => return Err(BodyError::GivenUp),
                }
            }
        };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| BodyError::Unreadable(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            return Err(BodyError::TooLarge);
        }
        if let Some(registration) = &registration {
            registration.add_bytes(data.len());
        }
        match (first.is_empty(), rest.is_empty()) {
            (true, true) => first = data,
            (false, true) => {
                rest.extend_from_slice(&std::mem::take(&mut first));
                rest.extend_from_slice(&data);
            }
            _ => rest.extend_from_slice(&data),
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_given_up(registration: &BodyRegistration<'_>) -> bool {
        registration.give_up_signal.notified().now_or_never().is_some()
    }

    #[test]
    fn the_oldest_body_is_given_up_first() {
        let bodies = IncompleteBodies { max_total_bytes: 100, state: Mutex::default() };
        let (old, new) = (bodies.register(), bodies.register());
        old.add_bytes(60);
        new.add_bytes(40);
        assert!(!is_given_up(&old) && !is_given_up(&new), "both fit");
        new.add_bytes(1);
        assert!(is_given_up(&old) && !is_given_up(&new));
        old.add_bytes(1000);
        new.add_bytes(1000);
        assert!(!is_given_up(&new), "the only one is read");
        drop((old, new));
        let state = bodies.lock();
        assert_eq!((state.total_bytes, state.open_by_number.len()), (0, 0));
    }
}
