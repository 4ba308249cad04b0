//! Writes a run to a file after each node. The first line is the whole run. Each further line has
//! the changes of one node, so that a long run does not write its whole history each time.

use crate::CliError;
use crate::files;
use rulec_base::message;
use rulec_runtime::workflow::{Run, SavePoint, SavedChanges, SavedRun};
use serde::{Deserialize, Serialize};
use serde_json::Deserializer;
use serde_json::de::SliceRead;
use std::path::Path;

/// Maximum size of the changes in the file of a saved workflow run, as a multiple of the size of
/// the whole run. When the changes exceed it, the whole run is written again. So the file stays
/// small, and the whole run is written rarely.
const MAX_FILE_GROWTH_FACTOR: u64 = 8;
/// Minimum number of bytes of changes before the whole run is written again.
const MIN_FILE_GROWTH_BYTES: u64 = 64 * 1024;
/// Maximum nesting depth of lists and objects in a saved run that is read. It is higher than the
/// maximum for messages, because nodes may nest their inputs. Deeper data could exhaust the stack.
const MAX_RUN_DEPTH: usize = 1_000;

pub(super) struct RunSaver<'p> {
    path: &'p Path,
    /// The point up to which the file contains the workflow run; `None` if the file has no run yet.
    last_save_point: Option<SavePoint>,
    /// Number of bytes of the whole workflow run when it was last written to the file.
    whole_run_bytes: u64,
    /// Number of bytes of changes that were written since the whole run was last written.
    appended_bytes: u64,
}

impl<'p> RunSaver<'p> {
    pub(super) fn new(path: &'p Path) -> Self {
        RunSaver { path, last_save_point: None, whole_run_bytes: 0, appended_bytes: 0 }
    }

    /// Saves the run after one of its nodes has ended. Appends the changes since the last save, or
    /// writes the whole run again if the file has no run or too many changes.
    pub(super) fn save(&mut self, run: &Run) -> Result<(), CliError> {
        let limit = (self.whole_run_bytes * MAX_FILE_GROWTH_FACTOR).max(MIN_FILE_GROWTH_BYTES);
        let Some(since) = self.last_save_point.filter(|_| self.appended_bytes < limit) else {
            return self.save_whole(run);
        };
        let line = to_json_line(&run.save_changes(since))?;
        if !files::append_to_file(self.path, &line)? {
            // The file was removed while the run lasts.
            return self.save_whole(run);
        }
        self.appended_bytes += line.len() as u64;
        self.last_save_point = Some(run.save_point());
        Ok(())
    }

    /// Replaces the content of the file by the whole run.
    pub(super) fn save_whole(&mut self, run: &Run) -> Result<(), CliError> {
        let line = to_json_line(&run.save())?;
        files::replace_file(self.path, &line)?;
        (self.whole_run_bytes, self.appended_bytes) = (line.len() as u64, 0);
        self.last_save_point = Some(run.save_point());
        Ok(())
    }
}

/// Returns the value as one line of JSON, with the line break.
pub(super) fn to_json_line(saved: &impl Serialize) -> Result<Vec<u8>, CliError> {
    let mut line = serde_json::to_vec(saved)
        .map_err(|error| CliError::input_error(message!("the run cannot be saved: {error}")))?;
    line.push(b'\n');
    Ok(line)
}

/// Reads a saved run. The last line of changes may be incomplete, and is then left out: the program
/// was killed while it wrote the line, or the power failed, after which a file may end with zero
/// bytes.
///
/// # Errors
/// If the run, or a line of changes that ends with a line break, cannot be read.
pub(super) fn read_run(bytes: &[u8]) -> Result<SavedRun, serde_json::Error> {
    let mut values = deep_json_deserializer(bytes)?.into_iter::<SavedRun>();
    let mut run = values.next().unwrap_or_else(|| serde_json::from_slice(bytes))?;
    let (whole, lines) = bytes.split_at(values.byte_offset());
    let first_line = whole.split(|byte| *byte == b'\n').count();
    for (number, line) in (first_line..).zip(lines.split_inclusive(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match read_changes(line) {
            Ok(changes) => run.apply(changes).map_err(serde::de::Error::custom)?,
            Err(error) if line.ends_with(b"\n") => {
                let reason = message!("the changes in line {number} cannot be read: {error}");
                return Err(serde::de::Error::custom(reason));
            }
            Err(_) => {}
        }
    }
    Ok(run)
}

fn read_changes(line: &[u8]) -> Result<SavedChanges, serde_json::Error> {
    let mut reader = deep_json_deserializer(line)?;
    let changes = SavedChanges::deserialize(&mut reader)?;
    reader.end().map(|()| changes)
}

/// Returns a JSON deserializer for `bytes` without the recursion limit of `serde_json`. Returns an
/// error if the value is nested deeper than [`MAX_RUN_DEPTH`].
fn deep_json_deserializer(bytes: &[u8]) -> Result<Deserializer<SliceRead<'_>>, serde_json::Error> {
    if json_depth(bytes) > MAX_RUN_DEPTH {
        let reason = message!("lists and objects are nested more than {MAX_RUN_DEPTH} deep");
        return Err(serde::de::Error::custom(reason));
    }
    let mut reader = Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    Ok(reader)
}

/// Returns the nesting depth of the first JSON value in `json`: the largest number of lists and
/// objects inside each other.
fn json_depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut at) = (0_usize, 0, false, 0);
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text && depth > 1 => depth -= 1,
            b']' | b'}' if !in_text => break,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_runtime::workflow::processors::Loop;
    use rulec_runtime::workflow::{Node, Workflow, from_fn};
    use serde_json::json;

    /// A workflow with a loop of 200 rounds, whose nodes have small outputs.
    fn workflow_with_loop() -> Workflow {
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
        let workflow = workflow_with_loop();
        let mut run = workflow.begin(json!({}));
        let mut saver = RunSaver::new(&path);
        let mut largest_change = 0;
        while runtime.block_on(run.step()) {
            let before = saver.appended_bytes;
            saver.save(&run).expect("it is saved");
            largest_change = largest_change.max(saver.appended_bytes.saturating_sub(before));
            let read = read_run(&std::fs::read(&path).expect("it is written")).expect("it can be read");
            let whole = run.save();
            assert_eq!(json!(read), json!(whole));
        }
        // The whole run has 401 nodes and more than 10,000 bytes.
        assert!(largest_change < 1_000 && saver.whole_run_bytes < 64_000, "{largest_change}");
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

    /// Returns a workflow, and the lines of its saved run: the run, and the changes of each step.
    /// The first node nests its input in `depth` lists.
    fn saved_lines(depth: usize) -> (Workflow, Vec<Vec<u8>>) {
        let nest = move |_: &Node| {
            Ok(from_fn(move |input| async move { Ok((0..depth).fold(input, |inner, _| json!([inner]))) }))
        };
        let rules = rulec::Rules::from_text("workflow w { node a nest -> b  node b nest -> c  node c nest }");
        let builder =
            Workflow::from_rules(&rules.expect("the rules are right"), "w").expect("it is declared");
        let workflow = builder.kind("nest", nest).build().expect("it can be built");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime can be built");
        let mut run = workflow.begin(json!({}));
        let (mut lines, mut point) = (vec![to_json_line(&run.save()).expect("it is JSON")], run.save_point());
        while runtime.block_on(run.step()) {
            lines.push(to_json_line(&run.save_changes(point)).expect("it is JSON"));
            point = run.save_point();
        }
        (workflow, lines)
    }

    /// Regression test: reading stopped at the first line that could not be read. So a resumed run
    /// silently repeated the nodes whose changes were in later lines.
    #[test]
    fn changes_that_cannot_be_read_are_an_error() {
        let (workflow, mut lines) = saved_lines(1);
        let executed = |lines: &[Vec<u8>]| {
            let saved = read_run(&lines.concat())?;
            Ok(workflow.resume(saved).expect("it is the same graph").report().executed.len())
        };
        let executed =
            |lines: &[Vec<u8>]| executed(lines).map_err(|error: serde_json::Error| error.to_string());
        assert_eq!(executed(&lines), Ok(3));
        // The program may have been killed before it wrote the line break.
        lines[3].pop();
        assert_eq!(executed(&lines), Ok(3));
        lines[3].pop();
        assert_eq!(executed(&lines), Ok(2));
        lines[3] = vec![0; 4];
        assert_eq!(executed(&lines), Ok(2));
        lines[2].insert(5, b'?');
        let error = executed(&lines).expect_err("a line in the middle is damaged");
        assert!(error.starts_with("the changes in line 3 cannot be read: "), "{error}");
    }

    #[test]
    fn a_run_may_be_deeper_than_a_message() {
        let (workflow, lines) = saved_lines(300);
        let saved = read_run(&lines.concat()).expect("it can be read");
        assert_eq!(workflow.resume(saved).expect("it is the same graph").report().executed.len(), 3);
        let (_, lines) = saved_lines(400);
        let error = read_run(&lines.concat()).expect_err("it is too deep").to_string();
        assert!(error.contains("nested more than 1000 deep"), "{error}");
        let text = br#"["\"[[[\\", [{}]] [[[[["#;
        assert_eq!(json_depth(text), 3);
    }
}
