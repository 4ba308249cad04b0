//! The thread that owns the database of a history. It runs the jobs of all waiting calls in one
//! transaction, so that they share one wait for the disk. If the transaction fails, all these calls
//! fail.

use crate::database::Database;
use rulec::history::StoreError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Maximum number of jobs in the queue. A call that finds the queue full waits.
const MAX_QUEUED_JOBS: usize = 4_096;

enum Job {
    /// Work that runs in one transaction with other jobs. It returns a function that is later
    /// called with the result of this transaction.
    Together(Box<dyn FnOnce(&mut Database) -> ResultReporter + Send>),
    /// Work that runs outside of transactions, such as compaction.
    Alone(Box<dyn FnOnce(&mut Database) + Send>),
}

/// Function that reports the result of a transaction to the caller that waits for it.
type ResultReporter = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Sends jobs to the thread that owns the database, which is the only thread that writes to it.
pub(crate) struct DatabaseThread {
    /// The queue of jobs. `None` only while the writer is dropped, which ends the thread.
    job_sender: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// The first error of a job that no caller waited for; `None` if there was none. The changes of
    /// the job are lost, so all later calls fail.
    first_failure: Arc<Mutex<Option<StoreError>>>,
}

impl DatabaseThread {
    /// Starts the thread that owns `database`.
    ///
    /// # Errors
    /// If the operating system cannot create a thread.
    pub fn start(database: Database) -> Result<DatabaseThread, StoreError> {
        let (jobs, receiver) = sync_channel(MAX_QUEUED_JOBS);
        let thread = std::thread::Builder::new()
            .name("rulec-history".to_owned())
            .spawn(move || run_jobs(database, &receiver))
            .map_err(|error| StoreError(format!("no thread for the history: {error}")))?;
        Ok(DatabaseThread { job_sender: Some(jobs), thread: Some(thread), first_failure: Arc::default() })
    }

    /// Runs `work` in a transaction, and waits until the transaction is on disk.
    ///
    /// # Errors
    /// The error of `work`, of the transaction, or of an earlier
    /// [`DatabaseThread::queue_for_transaction`].
    pub fn run_in_transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = sync_channel(1);
        self.queue_job(Job::Together(Box::new(move |database| {
            let result = database.run_in_savepoint(work);
            Box::new(move |committed| drop(sender.send(committed.and(result))))
        })))?;
        let result = receiver.recv().map_err(|_| thread_ended_error())?;
        self.check_failure()?;
        result
    }

    /// Runs `work` outside of transactions: after the jobs that were queued before, and before
    /// later jobs.
    ///
    /// # Errors
    /// The error of `work`, or of an earlier [`DatabaseThread::queue_for_transaction`].
    pub fn run_outside_transactions<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = sync_channel(1);
        self.queue_job(Job::Alone(Box::new(move |database| drop(sender.send(work(database))))))?;
        let result = receiver.recv().map_err(|_| thread_ended_error())?;
        self.check_failure()?;
        result
    }

    /// Queues `work` for a transaction, and returns without waiting for it.
    ///
    /// # Errors
    /// If the `work` of an earlier call of this method has failed.
    pub fn queue_for_transaction(
        &self,
        work: impl FnOnce(&mut Database) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let failure = Arc::clone(&self.first_failure);
        self.queue_job(Job::Together(Box::new(move |database| {
            let result = database.run_in_savepoint(work);
            Box::new(move |committed| {
                if let Err(error) = committed.and(result) {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            })
        })))?;
        self.check_failure()
    }

    fn queue_job(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.job_sender.as_ref().ok_or_else(thread_ended_error)?;
        jobs.send(job).map_err(|_| thread_ended_error())
    }

    fn check_failure(&self) -> Result<(), StoreError> {
        match &*self.first_failure.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

impl Drop for DatabaseThread {
    fn drop(&mut self) {
        self.job_sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn thread_ended_error() -> StoreError {
    StoreError("the thread of the history has ended".to_owned())
}

fn run_jobs(mut database: Database, receiver: &Receiver<Job>) {
    while let Ok(first) = receiver.recv() {
        let mut reports = Vec::new();
        let mut alone = None;
        database.begin_transaction();
        for job in std::iter::once(first).chain(receiver.try_iter().take(MAX_QUEUED_JOBS)) {
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
