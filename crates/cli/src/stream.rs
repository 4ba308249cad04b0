//! Answering every line of a stream on several threads, the answers in the order of the lines.
//!
//! A worker takes the lines that are there, answers them and, when it is their turn, writes the answers;
//! answers that are early are left for whoever's turn comes before. Few may be ([`EARLY`]), then the worker
//! waits. So memory is bounded by the number of workers, and whoever reads the answers slowly holds up the
//! reading as well. Before anything waits for more input, what was answered is handed over.

use super::CliError;
use super::files;
use super::lines::{Chunk, Lines};
use super::progress::Progress;
use super::term::{Out, Term};
use rulec::Code;
use rulec::JsonError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The chunks a worker may be ahead of its turn before it waits for it.
const EARLY: usize = 2;

/// The stream that is answered, and by how many threads.
#[derive(clap::Args)]
pub struct StreamArgs {
    /// The messages, one JSON object a line; `-` or nothing reads standard input
    input: Option<PathBuf>,
    /// The number of threads that decide; 0 is one for each processor. Answers keep the order of the messages
    #[arg(
        long,
        short,
        default_value_t = 0,
        value_name = "N",
        hide_default_value = true,
        display_order = 800
    )]
    jobs: usize,
}

/// The stream, its name, and its size when known.
type Input = (Box<dyn Read + Send>, String, Option<u64>);

/// A worker answers the lines it is given.
pub trait Worker: Send {
    /// Writes the answer to a message, with its line break. What is no message is refused, and its
    /// line written by the stream.
    fn answer(&mut self, number: u64, message: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError>;

    /// Told of every line that is no message.
    fn refused(&mut self);
}

/// The line of what is no message.
#[derive(Serialize)]
struct Refused<'a> {
    line: u64,
    error: BadMessage<'a>,
}

#[derive(Serialize)]
struct BadMessage<'a> {
    code: Code,
    message: &'a str,
    /// The character of the line, from 1.
    column: usize,
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'static str>,
}

fn open(path: Option<&Path>, term: &Term) -> Result<Input, CliError> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        if io::stdin().is_terminal() {
            term.note("reading messages from standard input, one JSON object a line");
        }
        return Ok((Box::new(io::stdin()), "standard input".to_owned(), None));
    };
    let name = path.display().to_string();
    let refused = |error: io::Error| files::unreadable(&name, &error);
    let file = File::open(path).map_err(refused)?;
    let metadata = file.metadata().map_err(refused)?;
    if metadata.is_dir() {
        return Err(CliError::usage(format!("`{name}` is a folder; name a file of messages")));
    }
    Ok((Box::new(file), name, metadata.is_file().then_some(metadata.len())))
}

pub fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writing to memory cannot fail, and the values have text keys only.
    let _ = serde_json::to_writer(&mut *out, value);
    out.push(b'\n');
}

impl StreamArgs {
    /// Answers every message of the stream with a line of its own, until the stream or the output ends.
    /// Returns the workers, with what they have counted.
    pub fn answer<W: Worker>(
        &self,
        term: &Term,
        out: &mut Out,
        worker: impl Fn() -> W,
    ) -> Result<Vec<W>, CliError> {
        let (input, name, size) = open(self.input.as_deref(), term)?;
        let jobs = match self.jobs {
            0 => thread::available_parallelism().map_or(1, NonZero::get),
            jobs => jobs,
        };
        // A short file is not worth many threads.
        let parts = size.map_or(usize::MAX, |size| usize::try_from(size >> 16).unwrap_or(usize::MAX));
        let mut workers: Vec<W> = (0..jobs.min(parts.saturating_add(1))).map(|_| worker()).collect();
        let stream = Stream {
            source: Mutex::new(Source {
                lines: Lines::new(name, input),
                progress: Progress::new(size),
                failed: None,
                ended: false,
            }),
            taken: AtomicU64::new(0),
            sink: Mutex::new(Sink {
                out,
                turn: 0,
                early: BTreeMap::new(),
                most_early: EARLY * workers.len(),
                spare: Vec::new(),
                failed: None,
                ended: false,
            }),
            turned: Condvar::new(),
        };
        thread::scope(|scope| {
            let (first, others) = workers.split_at_mut(1);
            for (number, worker) in others.iter_mut().enumerate() {
                let thread = thread::Builder::new().name(format!("rulec-{}", number + 2));
                // Without another thread it only takes longer.
                if thread.spawn_scoped(scope, || stream.work(worker)).is_err() {
                    break;
                }
            }
            first.iter_mut().for_each(|worker| stream.work(worker));
        });
        let source = stream.source.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sink = stream.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        source.progress.finish();
        match sink.failed.or(source.failed) {
            Some(stop) => Err(stop),
            None => sink.out.flush().map(|()| workers),
        }
    }
}

struct Stream<'o> {
    source: Mutex<Source>,
    /// The number of chunks taken from the source: behind the last of them it may be waiting.
    taken: AtomicU64,
    sink: Mutex<Sink<'o>>,
    /// Tells that the turn has passed on.
    turned: Condvar,
}

struct Source {
    lines: Lines<Box<dyn Read + Send>>,
    progress: Progress,
    failed: Option<CliError>,
    ended: bool,
}

struct Sink<'o> {
    out: &'o mut Out,
    /// The chunk whose answers come next.
    turn: u64,
    /// The answers to later chunks.
    early: BTreeMap<u64, Vec<u8>>,
    most_early: usize,
    /// Room for answers.
    spare: Vec<Vec<u8>>,
    failed: Option<CliError>,
    /// Nobody wants any more answers.
    ended: bool,
}

/// Lets the others go when a worker panics, instead of having them wait for its turn.
struct Release<'s, 'o>(&'s Stream<'o>);

impl Drop for Release<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.sink).ended = true;
            self.0.turned.notify_all();
        }
    }
}

/// Takes a lock. A panicking worker leaves sound data behind: the others only stop earlier.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream<'_> {
    /// Answers chunks until the stream or the output ends.
    fn work(&self, worker: &mut impl Worker) {
        let _release = Release(self);
        let (mut chunk, mut answers) = (Chunk::default(), Vec::new());
        while let Some(turn) = self.take(&mut chunk) {
            answers.clear();
            for (number, line) in chunk.lines() {
                let answered = match line {
                    Some(line) if line.trim_ascii().is_empty() => continue,
                    Some(line) => worker.answer(number, line, &mut answers),
                    None => Err(JsonError::too_long()),
                };
                if let Err(error) = answered {
                    worker.refused();
                    let error = BadMessage {
                        code: error.kind().code(),
                        message: error.message(),
                        column: error.column(),
                        path: error.path(),
                        help: error.help(),
                    };
                    write_json(&mut answers, &Refused { line: number, error });
                }
            }
            if !self.give(turn, &mut answers) {
                break;
            }
        }
    }

    /// Takes the next lines; their place in the order.
    fn take(&self, chunk: &mut Chunk) -> Option<u64> {
        let mut source = lock(&self.source);
        if source.ended {
            return None;
        }
        match source.lines.fill(chunk) {
            Ok(true) => {
                let read = source.lines.bytes();
                source.progress.at(read);
                Some(self.taken.fetch_add(1, Ordering::AcqRel))
            }
            Ok(false) => {
                source.ended = true;
                None
            }
            Err(stop) => {
                (source.ended, source.failed) = (true, Some(stop));
                None
            }
        }
    }

    /// Writes answers when it is their turn, or leaves them to be written then, with other room in their
    /// place; whether more are wanted.
    fn give(&self, turn: u64, answers: &mut Vec<u8>) -> bool {
        let mut sink = lock(&self.sink);
        while sink.turn != turn && sink.early.len() >= sink.most_early && !sink.ended {
            sink = self.turned.wait(sink).unwrap_or_else(PoisonError::into_inner);
        }
        if sink.turn != turn && !sink.ended {
            let room = sink.spare.pop().unwrap_or_default();
            sink.early.insert(turn, std::mem::replace(answers, room));
            return true;
        }
        let due = &mut *sink;
        due.write(answers, &self.taken);
        while let Some(answers) = due.early.remove(&due.turn) {
            due.write(&answers, &self.taken);
            due.spare.push(answers);
        }
        let wanted = !due.ended;
        drop(sink);
        self.turned.notify_all();
        wanted
    }
}

impl Sink<'_> {
    /// Writes the answers whose turn it is, and hands them over when they are those to the last chunk taken.
    fn write(&mut self, answers: &[u8], taken: &AtomicU64) {
        if !self.ended {
            let mut written = self.out.write(answers);
            if taken.load(Ordering::Acquire) == self.turn + 1 {
                written = written.and_then(|()| self.out.flush());
            }
            if let Err(stop) = written {
                (self.ended, self.failed) = (true, Some(stop));
            }
            self.ended |= self.out.is_closed();
        }
        self.turn += 1;
    }
}
