//! Tests of streams whose lines fail.

use super::*;
use crate::term::ColorMode;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// A worker that panics in the middle of a result line.
struct PanickingWorker;

impl LineWorker for PanickingWorker {
    fn answer(&mut self, number: u64, message: &[u8], out: &mut Vec<u8>) -> Result<LineOutcome, LineFailure> {
        let before = out.len();
        out.extend_from_slice(b"{\"half\":");
        assert!(!message.starts_with(b"panic"), "line {number} went wrong");
        out.truncate(before);
        write_json(out, &number);
        Ok(LineOutcome::Answered)
    }
}

/// Regression test: a panic on one message also lost the results of all later lines.
#[test]
fn a_panic_costs_its_own_line_alone() {
    panic::install_panic_hook();
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for number in 1..=20_000_u32 {
        let breaks = number % 7 == 3;
        let _ = writeln!(lines, "{}", if breaks { "panic" } else { "{}" });
        expected.push(breaks);
    }
    std::fs::write(&input, lines).expect("it can be written");
    for jobs in [1, 2, 7] {
        let mut out = Out::with_destination(Box::new(File::create(&output).expect("it can be written")));
        let stream = StreamArgs { input: Some(input.clone()), jobs };
        let (_, refused) = stream
            .answer_stream(&Term::new(ColorMode::Never), (&mut out, None), || PanickingWorker)
            .expect("it goes on");
        assert_eq!(refused, expected.iter().filter(|breaks| **breaks).count());
        let answers = std::fs::read_to_string(&output).expect("it can be read");
        assert_eq!(answers.lines().count(), expected.len());
        for (at, (answer, breaks)) in answers.lines().zip(&expected).enumerate() {
            let number = at + 1;
            if *breaks {
                let start = format!("{{\"line\":{number},\"error\":{{\"code\":\"E0610\",");
                assert!(answer.starts_with(&start), "{answer}");
                assert!(answer.contains(&format!("line {number} went wrong")), "{answer}");
            } else {
                assert_eq!(answer, number.to_string());
            }
        }
    }
}

/// A worker that cannot record the line with the number `fails_at`.
struct FailingWorker<'c> {
    fails_at: u64,
    answered: &'c AtomicU64,
}

impl LineWorker for FailingWorker<'_> {
    fn answer(&mut self, number: u64, _: &[u8], out: &mut Vec<u8>) -> Result<LineOutcome, LineFailure> {
        self.answered.store(number, Ordering::Relaxed);
        write_json(out, &number);
        Ok(LineOutcome::Answered)
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn has_failed(&self) -> bool {
        self.answered.load(Ordering::Relaxed) >= self.fails_at
    }

    fn end_chunk(&mut self) -> Result<ChunkEnd, CliError> {
        let error = || CliError::input_error(Message::verbatim("the store is gone".to_owned()));
        Ok(ChunkEnd { failure: self.has_failed().then(error) })
    }
}

/// Regression test: when the store failed, the earlier lines of the chunk were recorded, but their
/// answers were lost. Lines of later chunks were recorded when the store worked again.
#[test]
fn a_stream_ends_before_the_line_that_cannot_be_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, "{}\n".repeat(200_000)).expect("it can be written");
    let answered = AtomicU64::new(0);
    let mut out = Out::with_destination(Box::new(File::create(&output).expect("it can be written")));
    let stream = StreamArgs { input: Some(input), jobs: 2 };
    let result = stream.answer_stream(&Term::new(ColorMode::Never), (&mut out, None), || FailingWorker {
        fails_at: 30_000,
        answered: &answered,
    });
    assert!(result.is_err());
    assert_eq!(answered.into_inner(), 30_000);
    let answers = std::fs::read_to_string(&output).expect("it can be read");
    assert_eq!(answers.lines().count(), 29_999);
    assert_eq!(answers.lines().last(), Some("29999"));
}
