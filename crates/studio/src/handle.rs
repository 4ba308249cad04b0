//! Adapters from plain functions to HTTP handlers. Each request runs on a blocking thread of its
//! own, so that a slow request does not delay the others.

use crate::error::{Answer, RequestError, verbatim_message};
use crate::language::{current_language, run_with_language};
use crate::state::Studio;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::routing::{MethodRouter, get, post, put};
use rulec_base::message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::future::Future;
use std::sync::{Arc, Weak};

/// A route of the API: its HTTP method, its path and its handler.
pub(crate) type ApiRoute = (&'static str, &'static str, MethodRouter<Arc<Studio>>);

tokio::task_local! {
    static HELD_UNTIL_WORK_ENDS: Arc<dyn Any + Send + Sync>;
    /// Weak reference to a value that the future of the current request owns. The value is dropped
    /// when the request is answered or cancelled.
    static OPEN_REQUEST: Weak<()>;
}

/// Returns an error if the request whose work runs on this thread was cancelled. The page cancels a
/// request when it sends a newer one. Handlers that may take long call this function repeatedly.
pub(crate) fn check_not_cancelled() -> Answer<()> {
    match OPEN_REQUEST.try_with(|request| request.strong_count() == 0) {
        Ok(true) => Err(RequestError::broken(message!("the request was cancelled"))),
        _ => Ok(()),
    }
}

/// Answers a request by running `answer`. The blocking work of the request keeps `held` until the
/// work ends, even if the request is cancelled before. With a permit of a semaphore as `held`, a
/// service can limit the number of requests that work at the same time.
pub async fn answer_holding<T>(held: Arc<dyn Any + Send + Sync>, answer: impl Future<Output = T>) -> T {
    HELD_UNTIL_WORK_ENDS.scope(held, answer).await
}

/// Runs `work`, which may be slow, on a thread for blocking work. If `work` panics, returns an
/// error of kind `broken`.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Answer<T> + Send + 'static,
) -> Answer<T> {
    let (language, held) = (current_language(), HELD_UNTIL_WORK_ENDS.try_with(Clone::clone).ok());
    // This value is dropped, together with the future, when the client closes the connection.
    let request = Arc::new(());
    let waiting = Arc::downgrade(&request);
    let work = move || {
        let _held = held;
        OPEN_REQUEST.sync_scope(waiting, || run_with_language(language, work))
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(RequestError::broken(message!(
            "the studio failed because of an internal error; the terminal shows the request. Please report it"
        )))
    })
}

type RequestBody<Q> = Result<Json<Q>, JsonRejection>;

async fn respond_to_request<Q, A>(
    studio: Arc<Studio>,
    body: RequestBody<Q>,
    work: fn(&Arc<Studio>, Q) -> Answer<A>,
) -> Answer<Json<A>>
where
    Q: Send + 'static,
    A: Send + 'static,
{
    let Json(question) = body.map_err(|error| RequestError {
        status: error.status(),
        ..RequestError::invalid(verbatim_message(error.body_text()))
    })?;
    run_blocking(move || work(&studio, question)).await.map(Json)
}

/// Converts a function to a POST handler with a JSON body.
pub(crate) fn post_handler<Q, A>(work: fn(&Arc<Studio>, Q) -> Answer<A>) -> MethodRouter<Arc<Studio>>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    post(move |State(studio): State<Arc<Studio>>, body: RequestBody<Q>| {
        respond_to_request(studio, body, work)
    })
}

/// Converts a function to a PUT handler with a JSON body.
pub(crate) fn put_handler<Q, A>(work: fn(&Arc<Studio>, Q) -> Answer<A>) -> MethodRouter<Arc<Studio>>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    put(move |State(studio): State<Arc<Studio>>, body: RequestBody<Q>| respond_to_request(studio, body, work))
}

/// Converts a function to a GET handler whose parameters are in the query string.
pub(crate) fn get_handler<Q, A>(work: fn(&Arc<Studio>, Q) -> Answer<A>) -> MethodRouter<Arc<Studio>>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    get(move |State(studio): State<Arc<Studio>>, query: Result<Query<Q>, QueryRejection>| async move {
        let Query(question) =
            query.map_err(|error| RequestError::invalid(verbatim_message(error.body_text())))?;
        run_blocking(move || work(&studio, question)).await.map(Json)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Regression test: the work of a cancelled request continued after its permit was released.
    #[test]
    fn work_of_a_cancelled_request_keeps_what_it_holds() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.expect("a runtime");
        let held = Arc::new(());
        let (started, has_started) = channel();
        let (end, may_end) = channel::<()>();
        let (checked, checks) = channel();
        let work = run_blocking(move || {
            let _ = checked.send(check_not_cancelled().is_ok());
            let _ = started.send(());
            let _ = may_end.recv();
            let _ = checked.send(check_not_cancelled().is_ok());
            Ok(())
        });
        let request = runtime.spawn(answer_holding(held.clone(), work));
        has_started.recv().expect("it starts");
        request.abort();
        assert!(runtime.block_on(request).is_err_and(|error| error.is_cancelled()));
        assert_eq!(Arc::strong_count(&held), 2, "the work still runs");
        drop(end);
        while Arc::strong_count(&held) > 1 {
            std::thread::yield_now();
        }
        assert_eq!(checks.iter().collect::<Vec<_>>(), [true, false], "the work sees the end of the request");
    }
}
