//! Compiles and analyses rules on another thread, so that the server answers requests at the same
//! time. An answer that needs only names and types does not wait for the compiler.

use super::workspace::AnalyzedFile;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

/// Stack size of the compiling thread in bytes. The compiler recurses as deeply as conditions are
/// nested.
const COMPILE_STACK_BYTES: usize = 16 << 20;

/// A job of the compiling thread. When the job has ended, the thread sends it back to the server as
/// a report.
#[derive(Clone, Copy)]
pub struct CompileJob {
    /// The revision of the workspace whose files the job compiles or analyses.
    pub revision: u64,
    /// Whether the job also runs the analysis of how the rules affect each other.
    pub runs_analysis: bool,
}

/// Starts jobs on a compiling thread, at most one job at a time.
pub struct BackgroundCompiler {
    finished_sender: Sender<CompileJob>,
    /// The channel through which jobs of the compiling thread are reported when they have ended.
    pub finished: Receiver<CompileJob>,
    is_running: bool,
}

impl BackgroundCompiler {
    pub fn new() -> BackgroundCompiler {
        let (reports, finished) = unbounded();
        BackgroundCompiler { finished_sender: reports, finished, is_running: false }
    }

    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Starts `job`, which computes the diagnostics of these files, and also their findings if
    /// `runs_analysis` is set. The results are stored in the files. If no thread can be started,
    /// the job runs before this function returns.
    pub fn start_job(&mut self, files: Vec<Arc<AnalyzedFile>>, job: CompileJob) {
        self.is_running = true;
        let files = Arc::new(files);
        let (reports, shared) = (self.finished_sender.clone(), files.clone());
        let run = move || {
            compute_diagnostics(&shared, job.runs_analysis);
            drop(shared);
            let _ = reports.send(job);
        };
        let builder = thread::Builder::new().name("compiler".to_owned()).stack_size(COMPILE_STACK_BYTES);
        if builder.spawn(run).is_err() {
            compute_diagnostics(&files, job.runs_analysis);
            let _ = self.finished_sender.send(job);
        }
    }

    /// Records that the server has received the report of the current job.
    pub fn end_job(&mut self) {
        self.is_running = false;
    }
}

/// Computes the diagnostics of the files, and their findings if `runs_analysis` is true. A panic is
/// ignored here: the main thread then computes the same again, and reports the panic.
fn compute_diagnostics(files: &[Arc<AnalyzedFile>], runs_analysis: bool) {
    for file in files {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            file.diagnostics();
            if runs_analysis {
                file.findings();
            }
        }));
    }
}
