//! The thread that owns the database. Calls wait for their result. The thread runs the calls that
//! wait at the same time in one transaction. If the transaction fails, all of them fail.

use crate::database::Database;
use rulec::history::StoreError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Maximum number of calls that wait. Further calls wait until they can wait.
const MAX_WAITING: usize = 4_096;

enum Job {
    /// Works in the transaction, and returns what to do after it was committed or has failed.
    Together(Box<dyn FnOnce(&mut Database) -> Report + Send>),
    /// Works outside of transactions.
    Alone(Box<dyn FnOnce(&mut Database) + Send>),
}

/// Reports the result of a transaction to a call.
type Report = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Runs calls on the thread that owns the database.
pub(crate) struct Writer {
    /// `None` only while the writer is dropped.
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Why a change that no caller waited for is lost. All later calls fail.
    failure: Arc<Mutex<Option<StoreError>>>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(database: Database) -> Result<Writer, StoreError> {
        let (jobs, receiver) = sync_channel(MAX_WAITING);
        let thread = std::thread::Builder::new()
            .name("rulec-history".to_owned())
            .spawn(move || run(database, &receiver))
            .map_err(|error| StoreError(format!("no thread for the history: {error}")))?;
        Ok(Writer { jobs: Some(jobs), thread: Some(thread), failure: Arc::default() })
    }

    /// Runs `work` in a transaction, and waits until it is on disk.
    ///
    /// # Errors
    /// The errors of `work`, and of the transaction.
    pub fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = sync_channel(1);
        self.push(Job::Together(Box::new(move |database| {
            let result = database.in_savepoint(work);
            Box::new(move |committed| drop(sender.send(committed.and(result))))
        })))?;
        let result = receiver.recv().map_err(|_| ended())?;
        self.failure()?;
        result
    }

    /// Runs `work` after the transaction of earlier calls, and before the transaction of later
    /// calls.
    ///
    /// # Errors
    /// The errors of `work`.
    pub fn call_alone<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = sync_channel(1);
        self.push(Job::Alone(Box::new(move |database| drop(sender.send(work(database))))))?;
        let result = receiver.recv().map_err(|_| ended())?;
        self.failure()?;
        result
    }

    /// Runs `work` in a transaction, and does not wait.
    ///
    /// # Errors
    /// If an earlier change failed.
    pub fn send(
        &self,
        work: impl FnOnce(&mut Database) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let failure = Arc::clone(&self.failure);
        self.push(Job::Together(Box::new(move |database| {
            let result = database.in_savepoint(work);
            Box::new(move |committed| {
                if let Err(error) = committed.and(result) {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            })
        })))?;
        self.failure()
    }

    fn push(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or_else(ended)?;
        jobs.send(job).map_err(|_| ended())
    }

    fn failure(&self) -> Result<(), StoreError> {
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn ended() -> StoreError {
    StoreError("the thread of the history has ended".to_owned())
}

fn run(mut database: Database, receiver: &Receiver<Job>) {
    while let Ok(first) = receiver.recv() {
        let mut reports = Vec::new();
        let mut alone = None;
        database.begin();
        for job in std::iter::once(first).chain(receiver.try_iter().take(MAX_WAITING)) {
            match job {
                Job::Together(work) => reports.push(work(&mut database)),
                Job::Alone(work) => {
                    alone = Some(work);
                    break;
                }
            }
        }
        let committed = database.commit();
        reports.into_iter().for_each(|report| report(committed.clone()));
        if let Some(work) = alone {
            work(&mut database);
        }
    }
}
