//! Writes a run to a file after each node. The first line is the whole run. Each further line has
//! the changes of one node, so that a long run does not write its whole history each time.

use crate::CliError;
use crate::files;
use rulec_base::message;
use rulec_runtime::workflow::{Run, SavePoint, SavedRun};
use serde::Serialize;
use serde_json::Value as Json;
use std::path::Path;

/// The whole run is written again when the changes have this many times its bytes. So the file
/// stays small, and each byte is written a constant number of times.
const MAX_GROWTH: u64 = 8;
/// Minimum number of bytes of changes before the whole run is written again.
const MIN_GROWTH: u64 = 64 * 1024;

pub(super) struct RunSaver<'p> {
    path: &'p Path,
    /// The position in the run that the file has reached; `None` if the file has no run yet.
    saved: Option<SavePoint>,
    /// Number of bytes of the whole run when it was last written.
    whole_bytes: u64,
    /// Number of bytes of the changes that were written since.
    changed_bytes: u64,
}

impl<'p> RunSaver<'p> {
    pub(super) fn new(path: &'p Path) -> Self {
        RunSaver { path, saved: None, whole_bytes: 0, changed_bytes: 0 }
    }

    /// Saves the run after one of its nodes.
    pub(super) fn save(&mut self, run: &Run) -> Result<(), CliError> {
        let limit = (self.whole_bytes * MAX_GROWTH).max(MIN_GROWTH);
        let Some(since) = self.saved.filter(|_| self.changed_bytes < limit) else {
            return self.save_whole(run);
        };
        let line = to_line(&run.save_changes(since))?;
        if !files::append_to_file(self.path, &line)? {
            // The file was removed while the run lasts.
            return self.save_whole(run);
        }
        self.changed_bytes += line.len() as u64;
        self.saved = Some(run.save_point());
        Ok(())
    }

    /// Saves the whole run in place of what the file contains.
    pub(super) fn save_whole(&mut self, run: &Run) -> Result<(), CliError> {
        let line = to_line(&run.save())?;
        files::replace_file(self.path, &line)?;
        (self.whole_bytes, self.changed_bytes) = (line.len() as u64, 0);
        self.saved = Some(run.save_point());
        Ok(())
    }
}

/// Returns the value as JSON on one line.
pub(super) fn to_line(saved: &impl Serialize) -> Result<Vec<u8>, CliError> {
    let mut line = serde_json::to_vec(saved)
        .map_err(|error| CliError::error(message!("the run cannot be saved: {error}")))?;
    line.push(b'\n');
    Ok(line)
}

/// Reads a saved run. A line of changes that is no JSON is the end: the program was killed while it
/// wrote the line, or the power failed, after which a file may end with zero bytes.
pub(super) fn read_run(bytes: &[u8]) -> Result<SavedRun, serde_json::Error> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Json>();
    let first = values.next().unwrap_or_else(|| serde_json::from_slice(bytes))?;
    let mut run: SavedRun = serde_json::from_value(first)?;
    for changes in values.map_while(Result::ok) {
        run.apply(serde_json::from_value(changes)?).map_err(serde::de::Error::custom)?;
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_runtime::workflow::processors::Loop;
    use rulec_runtime::workflow::{Node, Workflow, from_fn};
    use serde_json::json;

    /// A loop of 200 rounds, whose nodes return little.
    fn workflow() -> Workflow {
        let rules = rulec::Rules::from_text(
            "router again(output) { when output.should_exit -> next[1]  otherwise -> next[0] loopback }\n\
             workflow w { node a work -> l  node l loop { max_rounds: 200 } -> a, b by again  node b work }",
        );
        let builder =
            Workflow::from_rules(&rules.expect("the rules are right"), "w").expect("it is declared");
        let work = |_: &Node| Ok(from_fn(|_| async { Ok(json!({"x": "y".repeat(50)})) }));
        builder.kind("work", work).kind("loop", Loop::factory).build().expect("it can be built")
    }

    #[test]
    fn a_run_is_saved_without_writing_its_history_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime can be built");
        let path = std::env::temp_dir().join(format!("rulec-saver-{}.json", std::process::id()));
        let workflow = workflow();
        let mut run = workflow.begin(json!({}));
        let mut saver = RunSaver::new(&path);
        let mut largest_change = 0;
        while runtime.block_on(run.step()) {
            let before = saver.changed_bytes;
            saver.save(&run).expect("it is saved");
            largest_change = largest_change.max(saver.changed_bytes.saturating_sub(before));
            let read = read_run(&std::fs::read(&path).expect("it is written")).expect("it can be read");
            let whole = run.save();
            assert_eq!(json!(read), json!(whole));
        }
        // The whole run has 401 nodes and more than 10,000 bytes.
        assert!(largest_change < 1_000 && saver.whole_bytes < 64_000, "{largest_change}");
        // A part of a line at the end of the file is ignored, and the run goes on from there.
        let bytes = std::fs::read(&path).expect("it is written");
        for end in [&b"{\"since\": {\"exec"[..], b"\0\0\0\0"] {
            let saved = read_run(&[&*bytes, end].concat()).expect("it can be read");
            let resumed = workflow.resume(saved).expect("it is the same graph");
            assert_eq!(resumed.report().executed.len(), 401);
        }
        // If the file was removed, the whole run is written.
        std::fs::remove_file(&path).expect("it is removed");
        saver.save(&run).expect("it is saved");
        let read = read_run(&std::fs::read(&path).expect("it is written")).expect("it can be read");
        assert_eq!(json!(read), json!(run.save()));
        std::fs::remove_file(&path).expect("it is removed");
        assert!(read_run(b"").is_err() && read_run(b"{}").is_err());
    }
}
