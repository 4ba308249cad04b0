//! Work for several threads, whose results come in the order of the work.
//!
//! One thread reads the work that is there, workers do it, and the caller's thread takes the results in their turn. Few
//! pieces may be under way ([`AHEAD`]), so that memory is bounded by the number of workers, and whoever takes the
//! results slowly holds up the reading as well.

use super::CliError;
use rulec_base::message;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The pieces that may be under way, for each worker.
const AHEAD: usize = 2;

/// Work to be done, and where the result goes.
type Job<J, A> = (J, SyncSender<A>);

/// The result of a piece of work when it is there, or why there is no more work.
type Turn<A> = Result<Receiver<A>, CliError>;

/// The results, in the order of the work.
pub struct Turns<A>(Receiver<Turn<A>>);

impl<A> Turns<A> {
    /// The next result; `None` when there are no more. Before it waits for work that is not there yet, what was taken
    /// so far is handed over.
    pub fn next(&self, hand_over: impl FnOnce() -> Result<(), CliError>) -> Result<Option<A>, CliError> {
        let turn = match self.0.try_recv() {
            Err(TryRecvError::Empty) => {
                hand_over()?;
                self.0.recv().ok()
            }
            turn => turn.ok(),
        };
        // A worker that is gone gives no result; why goes on when all threads have ended.
        Ok(turn.transpose()?.and_then(|result| result.recv().ok()))
    }
}

/// Reads work until there is no more or nobody wants any more results, has the workers do it, and takes the results.
///
/// # Errors
/// When no thread can be started, and those of reading and taking.
pub fn run<J: Send, A: Send, W: Send, R>(
    workers: &mut [W],
    read: impl FnMut() -> Result<Option<J>, CliError> + Send,
    work: impl Fn(&mut W, J) -> A + Sync,
    take: impl FnOnce(Turns<A>) -> Result<R, CliError>,
) -> Result<R, CliError> {
    let (turns, results) = mpsc::sync_channel(AHEAD * workers.len());
    let (jobs, queue) = mpsc::channel();
    let (queue, work) = (Mutex::new(queue), &work);
    thread::scope(|scope| {
        let failed = |error: io::Error| CliError::usage(message!("no thread can be started: {error}"));
        let queue = &queue;
        for (number, worker) in workers.iter_mut().enumerate() {
            let thread = thread::Builder::new().name(format!("rulec-{}", number + 1));
            match thread.spawn_scoped(scope, move || until_done(worker, queue, work)) {
                Err(error) if number == 0 => return Err(failed(error)),
                // Without another thread it only takes longer.
                Err(_) => break,
                Ok(_) => {}
            }
        }
        let reader = thread::Builder::new().name("rulec-reader".to_owned());
        reader.spawn_scoped(scope, || hand_out(read, turns, jobs)).map_err(failed)?;
        take(Turns(results))
    })
}

/// Hands out work until there is no more or nobody wants any more results.
fn hand_out<J, A>(
    mut read: impl FnMut() -> Result<Option<J>, CliError>,
    turns: SyncSender<Turn<A>>,
    jobs: Sender<Job<J, A>>,
) {
    while let Some(job) = read().transpose() {
        let job = match job {
            Ok(job) => job,
            Err(stop) => {
                let _ = turns.send(Err(stop));
                break;
            }
        };
        let (result, turn) = mpsc::sync_channel(1);
        if turns.send(Ok(turn)).is_err() || jobs.send((job, result)).is_err() {
            break;
        }
    }
}

/// Does work until there is no more.
fn until_done<J, A, W>(worker: &mut W, queue: &Mutex<Receiver<Job<J, A>>>, work: impl Fn(&mut W, J) -> A) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((job, result)) = job else { break };
        // Whoever takes the results may have ended.
        let _ = result.send(work(worker, job));
    }
}
