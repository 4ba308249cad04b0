//! Adapters from plain functions to HTTP handlers. Each request runs on a blocking thread of its
//! own, so that a slow request does not delay the others.

use crate::error::{Answer, RequestError, verbatim_message};
use crate::language::{language, run_with_language};
use crate::state::Studio;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::routing::{MethodRouter, get, post, put};
use rulec_base::message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A route of the API: its HTTP method, its path and its handler.
pub(crate) type ApiRoute = (&'static str, &'static str, MethodRouter<Arc<Studio>>);

/// Runs `work`, which may be slow, on a thread for blocking work. If `work` panics, returns an
/// error of kind `broken`.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Answer<T> + Send + 'static,
) -> Answer<T> {
    let language = language();
    tokio::task::spawn_blocking(move || run_with_language(language, work)).await.unwrap_or_else(|_| {
        Err(RequestError::broken(message!(
            "the studio failed because of an internal error; the terminal shows the request. Please report it"
        )))
    })
}

type RequestBody<Q> = Result<Json<Q>, JsonRejection>;

async fn respond<Q, A>(
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
    post(move |State(studio): State<Arc<Studio>>, body: RequestBody<Q>| respond(studio, body, work))
}

/// Converts a function to a PUT handler with a JSON body.
pub(crate) fn put_handler<Q, A>(work: fn(&Arc<Studio>, Q) -> Answer<A>) -> MethodRouter<Arc<Studio>>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    put(move |State(studio): State<Arc<Studio>>, body: RequestBody<Q>| respond(studio, body, work))
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
