//! Runs jobs on several threads and returns the results in the order of the jobs.
//!
//! One thread reads jobs, workers run them, and the caller's thread takes the results in order. The
//! number of jobs in progress is limited ([`MAX_ACTIVE_JOBS_PER_WORKER`]). Memory is therefore
//! bounded by the number of workers, and a slow consumer also slows down the reader.

use super::CliError;
use rulec_base::message;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Maximum number of jobs in progress per worker. A job is in progress from the time when it is
/// read until the consumer asks for its result.
const MAX_ACTIVE_JOBS_PER_WORKER: usize = 2;

/// A job, and the channel to which a worker sends the job's result.
type PoolJob<J, A> = (J, SyncSender<A>);

/// A channel that will receive the result of one job. An `Err` is the error with which reading the
/// jobs ended.
type PendingResult<A> = Result<Receiver<A>, CliError>;

/// The results of the jobs, in the order in which the jobs were read.
pub struct OrderedResults<A>(Receiver<PendingResult<A>>);

impl<A> OrderedResults<A> {
    /// Returns the next result; `None` if no results are left. Before this function waits for a
    /// result, it calls `before_wait`, so that the caller can flush the results taken so far.
    pub fn next(&self, before_wait: impl FnOnce() -> Result<(), CliError>) -> Result<Option<A>, CliError> {
        let pending = match self.0.try_recv() {
            Err(TryRecvError::Empty) => {
                before_wait()?;
                self.0.recv().ok()
            }
            pending => pending.ok(),
        };
        // If a worker panicked, it sent no result. The panic continues when all threads have ended.
        Ok(pending.transpose()?.and_then(|result| result.recv().ok()))
    }
}

/// Reads jobs with `next_job` until it returns `None` or the consumer stops. Each worker runs jobs
/// with `work` on a thread of its own. `consume` receives the results, and its result is returned.
///
/// # Errors
///
/// If no thread can be started, or if reading or consuming fails.
pub fn run_ordered<J: Send, A: Send, W: Send, R>(
    workers: &mut [W],
    next_job: impl FnMut() -> Result<Option<J>, CliError> + Send,
    work: impl Fn(&mut W, J) -> A + Sync,
    consume: impl FnOnce(OrderedResults<A>) -> Result<R, CliError>,
) -> Result<R, CliError> {
    let (pending_sender, results) = mpsc::sync_channel(MAX_ACTIVE_JOBS_PER_WORKER * workers.len());
    let (jobs, queue) = mpsc::channel();
    let (queue, work) = (Mutex::new(queue), &work);
    thread::scope(|scope| {
        let start_error =
            |error: io::Error| CliError::usage_error(message!("a thread cannot be started: {error}"));
        let queue = &queue;
        for (number, worker) in workers.iter_mut().enumerate() {
            let thread = thread::Builder::new().name(format!("rulec-{}", number + 1));
            match thread.spawn_scoped(scope, move || run_jobs(worker, queue, work)) {
                Err(error) if number == 0 => return Err(start_error(error)),
                // If the system cannot start another thread, the jobs run on fewer threads.
                Err(_) => break,
                Ok(_) => {}
            }
        }
        let reader = thread::Builder::new().name("rulec-reader".to_owned());
        reader
            .spawn_scoped(scope, || distribute_jobs(next_job, pending_sender, jobs))
            .map_err(start_error)?;
        consume(OrderedResults(results))
    })
}

/// Reads jobs and sends them to the workers, until no jobs are left or the consumer stops. The
/// consumer gets the channel of a result before a worker gets the job, so the results keep the
/// order of the jobs.
fn distribute_jobs<J, A>(
    mut next_job: impl FnMut() -> Result<Option<J>, CliError>,
    pending_sender: SyncSender<PendingResult<A>>,
    jobs: Sender<PoolJob<J, A>>,
) {
    while let Some(job) = next_job().transpose() {
        let job = match job {
            Ok(job) => job,
            Err(error) => {
                let _ = pending_sender.send(Err(error));
                break;
            }
        };
        let (result, receiver) = mpsc::sync_channel(1);
        if pending_sender.send(Ok(receiver)).is_err() || jobs.send((job, result)).is_err() {
            break;
        }
    }
}

/// Runs jobs on one worker thread until no jobs are left.
fn run_jobs<J, A, W>(worker: &mut W, queue: &Mutex<Receiver<PoolJob<J, A>>>, work: impl Fn(&mut W, J) -> A) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((job, result)) = job else { break };
        // The consumer may have stopped already.
        let _ = result.send(work(worker, job));
    }
}
