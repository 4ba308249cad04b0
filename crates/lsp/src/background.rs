//! Compiles and analyses rules on another thread, so that the server answers requests at the same
//! time. An answer that needs only names and types does not wait for the compiler.

use super::workspace::AnalyzedFile;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

/// The stack of the thread in bytes. The compiler recurses as deeply as conditions are nested.
const STACK_BYTES: usize = 16 << 20;

/// A report that a job has ended.
#[derive(Clone, Copy)]
pub struct FinishedJob {
    /// The revision of the workspace whose files the job compiled or analysed.
    pub revision: u64,
    /// Whether the job also ran the analysis of how the rules affect each other.
    pub runs_analysis: bool,
}

/// The thread that compiles. It runs at most one job at a time.
pub struct Background {
    reports: Sender<FinishedJob>,
    /// The reports of jobs that have ended.
    pub finished: Receiver<FinishedJob>,
    is_running: bool,
}

impl Background {
    pub fn new() -> Background {
        let (reports, finished) = unbounded();
        Background { reports, finished, is_running: false }
    }

    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Starts a job that computes the diagnostics of these files, and if `job` demands it also
    /// their findings. The results are stored in the files. Without another thread, the job runs
    /// before this function returns.
    pub fn start(&mut self, files: Vec<Arc<AnalyzedFile>>, job: FinishedJob) {
        self.is_running = true;
        let files = Arc::new(files);
        let (reports, shared) = (self.reports.clone(), files.clone());
        let run = move || {
            compute(&shared, job.runs_analysis);
            drop(shared);
            let _ = reports.send(job);
        };
        let builder = thread::Builder::new().name("compiler".to_owned()).stack_size(STACK_BYTES);
        if builder.spawn(run).is_err() {
            compute(&files, job.runs_analysis);
            let _ = self.reports.send(job);
        }
    }

    /// Records that the server has received the report of the current job.
    pub fn end(&mut self) {
        self.is_running = false;
    }
}

/// Computes what a job must compute. After a panic, the main thread computes it again and reports
/// the panic.
fn compute(files: &[Arc<AnalyzedFile>], runs_analysis: bool) {
    for file in files {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            file.diagnostics();
            if runs_analysis {
                file.findings();
            }
        }));
    }
}
