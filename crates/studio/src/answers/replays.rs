//! Answers requests about replays: starts and cancels them, stores uploaded files, and returns
//! progress, counts and rows.

use super::history::replayed_history;
use crate::api::{
    AskRows, Progress, ReplayState, ReplaySums, RowMessage, Rows, Source, StartReplay, Started,
};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::handle::{ApiRoute, post_handler, run_blocking};
use crate::replay::{Replay, ReplayDecider};
use crate::state::{Studio, uploads_not_accepted};
use axum::Json;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{delete, get, post};
use futures_util::stream::{self, Stream, StreamExt};
use rulec_base::message;
use rulec_sema::hir::ROUTES_TABLE;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;

/// Returns the HTTP routes of the requests about replays and uploads.
pub(crate) fn replay_routes() -> [ApiRoute; 7] {
    [
        ("POST", "/api/replays", post_handler(start_replay)),
        ("GET", "/api/replays/{id}", get(replay_sums)),
        ("DELETE", "/api/replays/{id}", delete(cancel_replay)),
        ("GET", "/api/replays/{id}/events", get(stream_progress)),
        ("POST", "/api/replays/{id}/rows", post(find_rows)),
        ("GET", "/api/replays/{id}/rows/{line}", get(row_message)),
        ("POST", "/api/uploads", post(upload_file).layer(DefaultBodyLimit::disable())),
    ]
}

/// Starts a replay on a new thread, and returns the id of the replay.
fn start_replay(studio: &Arc<Studio>, request: StartReplay) -> Answer<Started> {
    let (replay, entry) = prepare_replay_and_entry(studio, &request)?;
    let running = replay.clone();
    let thread = std::thread::Builder::new().name("replay".to_owned());
    if let Err(error) = thread.spawn(move || running.run(&entry)) {
        replay.fail(message!("a thread could not be started: {error}"));
    }
    Ok(Started { id: replay.id })
}

/// Runs a replay on this thread, and returns the replay after it has ended.
pub(crate) fn run_replay(studio: &Studio, request: &StartReplay) -> Answer<Arc<Replay>> {
    let (replay, entry) = prepare_replay_and_entry(studio, request)?;
    replay.run(&entry);
    Ok(replay)
}

/// Creates a replay without starting it. Also returns the name of the entry (such as a table) that
/// decides the messages whose lines in the file name no entry.
fn prepare_replay_and_entry(studio: &Studio, request: &StartReplay) -> Answer<(Arc<Replay>, String)> {
    let snapshot = studio.snapshot(request.version)?;
    let rules = snapshot.rules()?;
    let entry = request.entry.clone().unwrap_or_else(|| ROUTES_TABLE.to_owned());
    if !ReplayDecider::new(&snapshot, rules).has_entry(&entry) {
        super::find_entry(rules, &entry)?;
    }
    let older_snapshot = request.against.map(|version| studio.snapshot(version)).transpose()?;
    if let Some(older_snapshot) = &older_snapshot {
        older_snapshot.rules()?;
    }
    let source = studio.message_file(request.source)?;
    let replay =
        studio.add_replay(|id| Replay::new(id, source, (snapshot, older_snapshot), studio.show_private));
    Ok((replay, entry))
}

#[derive(Deserialize)]
struct UploadQuery {
    #[serde(default)]
    name: String,
}

/// Stores an uploaded file on disk, part by part, without keeping the whole file in memory. Returns
/// the stored file as a source of messages.
async fn upload_file(
    State(studio): State<Arc<Studio>>,
    Query(query): Query<UploadQuery>,
    body: Body,
) -> Answer<Json<Source>> {
    if studio.is_live {
        return Err(uploads_not_accepted());
    }
    let storage_error =
        |error: std::io::Error| RequestError::broken(message!("the file cannot be stored: {error}"));
    let file = tempfile::NamedTempFile::new_in(studio.upload_folder.path()).map_err(storage_error)?;
    // `keep` stops the deletion of the file when `file` is dropped. The whole folder is deleted
    // when the studio ends.
    let (_, path) = file.keep().map_err(|error| storage_error(error.error))?;
    let mut output = tokio::fs::File::create(&path).await.map_err(storage_error)?;
    let (mut bytes, mut parts) = (0, body.into_data_stream());
    while let Some(part) = parts.next().await {
        let result = match part {
            Ok(part) => {
                bytes += part.len() as u64;
                output.write_all(&part).await.map_err(storage_error)
            }
            Err(error) => {
                Err(RequestError::invalid(message!("the file was not uploaded: {}", error.to_string())))
            }
        };
        if let Err(storage_error) = result {
            let _ = tokio::fs::remove_file(&path).await;
            return Err(storage_error);
        }
    }
    output.flush().await.map_err(storage_error)?;
    let name = if query.name.is_empty() { "messages.jsonl".to_owned() } else { query.name };
    Ok(Json(studio.add_message_file(name, path, bytes, "upload").description.clone()))
}

async fn replay_sums(State(studio): State<Arc<Studio>>, Path(id): Path<usize>) -> Answer<Json<ReplaySums>> {
    let replay = studio.replay(id)?;
    run_blocking(move || Ok(replay.sums())).await.map(Json)
}

async fn cancel_replay(State(studio): State<Arc<Studio>>, Path(id): Path<usize>) -> Answer<Json<ReplaySums>> {
    let replay = studio.replay(id)?;
    replay.cancel();
    let mut progress = replay.watch();
    // A cancelled replay stops at its next message, so this wait is short.
    let _ = progress.wait_for(|progress| progress.state != ReplayState::Running).await;
    run_blocking(move || Ok(replay.sums())).await.map(Json)
}

/// Streams the progress of a replay to the page, until the replay has ended.
async fn stream_progress(
    State(studio): State<Arc<Studio>>,
    Path(id): Path<usize>,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let replay = studio.replay(id)?;
    let mut progress = replay.watch();
    progress.mark_changed();
    let stream = stream::unfold(Some((progress, replay)), |open| async {
        let (mut progress, replay) = open?;
        progress.changed().await.ok()?;
        let current: Progress = progress.borrow_and_update().clone();
        let event = Event::default().json_data(&current).unwrap_or_default();
        let next_state = (current.state == ReplayState::Running).then_some((progress, replay));
        Some((Ok(event), next_state))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

async fn find_rows(
    State(studio): State<Arc<Studio>>,
    Path(id): Path<usize>,
    body: Result<Json<AskRows>, axum::extract::rejection::JsonRejection>,
) -> Answer<Json<Rows>> {
    let Json(request) = body.map_err(|error| RequestError::invalid(verbatim_message(error.body_text())))?;
    let replay = studio.replay(id)?;
    run_blocking(move || replay.rows(&request)).await.map(Json)
}

async fn row_message(
    State(studio): State<Arc<Studio>>,
    Path((id, line)): Path<(usize, u64)>,
) -> Answer<Json<RowMessage>> {
    let replay = studio.replay(id)?;
    run_blocking(move || row_message_with_history(&studio, &replay, line)).await.map(Json)
}

/// Returns the message of a row, with the earlier messages of its session that the rules read.
fn row_message_with_history(studio: &Studio, replay: &Replay, line: u64) -> Answer<RowMessage> {
    let mut row = replay.row_message_of_line(line)?;
    let read = replayed_history(studio, replay, line, &row.history)?;
    let mut items = read.shown_history.messages.iter();
    row.history.retain(|_| items.next().is_some_and(|item| item.position.is_some()));
    // If the rules no longer keep the first of these messages, they keep no older messages either.
    if read.removed_count > 0 {
        row.older = 0;
    }
    row.gap = read.shown_history.gap;
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Version;
    use crate::state::{Options, RulesFile};

    #[test]
    fn a_replay_that_is_cancelled_ends_where_it_is() {
        let folder = tempfile::tempdir().expect("there is a place for files");
        let (rules, input) = (folder.path().join("a.rules"), folder.path().join("input.jsonl"));
        std::fs::write(&rules, "default -> d\n").expect("it can be written");
        std::fs::write(&input, "{}\n".repeat(1000)).expect("it can be written");
        let rules = vec![RulesFile { path: rules, import_root: None }];
        let options = Options { rules, message_file: Some(input), ..Default::default() };
        let studio = Arc::new(Studio::new(&options).expect("a studio opens"));
        let version = Version { rules: 0, draft: false };
        let request = StartReplay { version, source: 0, entry: None, against: None };
        let (replay, entry) = prepare_replay_and_entry(&studio, &request).expect("it can begin");
        replay.cancel();
        replay.run(&entry);
        let progress = replay.progress();
        assert_eq!((progress.state, progress.messages), (ReplayState::Cancelled, 1));
        assert_eq!(replay.sums().counts[0].count, 1);
        let ended = run_replay(&studio, &request).expect("another one runs").progress();
        assert_eq!((ended.state, ended.messages), (ReplayState::Done, 1000));
    }
}
