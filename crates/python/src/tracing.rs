//! Passes `tracing` events of the library to Python's `logging`. A separate thread calls Python, so
//! that the library never waits for the GIL.

use super::error::library_error;
use super::shutdown::with_gil;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Maximum number of events that wait for Python; further events are dropped.
const QUEUE_CAPACITY: usize = 4096;
/// Only events whose `tracing` target begins with this prefix are passed to Python.
const TRACING_TARGET_PREFIX: &str = "rulec::";

/// The most detailed level that is passed on, as an index into [`LOG_LEVELS`].
static MAX_LOG_LEVEL: AtomicU8 = AtomicU8::new(1);
/// The levels, from the least to the most detailed: the name, the level of `tracing`, and the
/// number of the level in Python's `logging`.
const LOG_LEVELS: [(&str, Level, i32); 5] = [
    ("error", Level::ERROR, 40),
    ("warning", Level::WARN, 30),
    ("info", Level::INFO, 20),
    ("debug", Level::DEBUG, 10),
    ("trace", Level::TRACE, 5),
];
static REPORT_QUEUE: OnceLock<SyncSender<LogReport>> = OnceLock::new();

/// An event of the library, converted for Python's `logging`.
struct LogReport {
    logger_name: String,
    python_level: i32,
    message: String,
    fields: Vec<(&'static str, String)>,
}

struct LoggingSubscriber;

fn max_level() -> Level {
    LOG_LEVELS[usize::from(MAX_LOG_LEVEL.load(Ordering::Relaxed))].1
}

impl Subscriber for LoggingSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && metadata.target().starts_with(TRACING_TARGET_PREFIX)
            && *metadata.level() <= max_level()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(max_level()))
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let level = LOG_LEVELS
            .iter()
            .find(|(_, level, _)| level == metadata.level())
            .map_or(20, |(.., number)| *number);
        let report = LogReport {
            logger_name: metadata.target().replace("::", "."),
            python_level: level,
            message: fields.message,
            fields: fields.other_fields,
        };
        if let Some(queue) = REPORT_QUEUE.get() {
            // If the queue is full, the event is dropped, because the library must not wait for
            // Python.
            let _ = queue.try_send(report);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct EventFields {
    message: String,
    other_fields: Vec<(&'static str, String)>,
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.other_fields.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        let _ = write!(text, "{value:?}");
        match field.name() {
            "message" => self.message = text,
            name => self.other_fields.push((name, text)),
        }
    }
}

/// Passes an event to the Python logger of its target. The text of the record is the message
/// followed by the fields. The attribute `rulec` of the record also holds the fields.
fn write_to_logger(py: Python<'_>, report: &LogReport) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", (&report.logger_name,))?;
    if !logger.call_method1("isEnabledFor", (report.python_level,))?.is_truthy()? {
        return Ok(());
    }
    let fields = PyDict::new(py);
    let mut text = report.message.clone();
    for (name, value) in &report.fields {
        fields.set_item(name, value)?;
        let _ = write!(text, "{}{name}={value}", if text.is_empty() { "" } else { " " });
    }
    let (extra, options) = (PyDict::new(py), PyDict::new(py));
    extra.set_item("rulec", fields)?;
    options.set_item("extra", extra)?;
    logger.call_method("log", (report.python_level, "%s", text), Some(&options))?;
    Ok(())
}

/// Starts passing events to Python. If the embedding program has its own `tracing` subscriber, that
/// subscriber receives the events instead.
pub fn start_forwarding() {
    if tracing::subscriber::set_global_default(LoggingSubscriber).is_err() {
        return;
    }
    let (queue, reports) = sync_channel::<LogReport>(QUEUE_CAPACITY);
    let started = thread::Builder::new().name("rulec-logging".to_owned()).spawn(move || {
        for report in reports {
            with_gil(|py| {
                if let Err(error) = write_to_logger(py, &report) {
                    error.write_unraisable(py, None);
                }
            });
        }
    });
    if started.is_ok() {
        let _ = REPORT_QUEUE.set(queue);
    }
}

/// Sets the most detailed level that is passed to `logging`: `error`, `warning` (the default),
/// `info`, `debug` or `trace`. From `info` on, every routed message is reported.
#[pyfunction]
pub fn log_level(level: &str) -> PyResult<()> {
    let index = LOG_LEVELS.iter().position(|(name, ..)| *name == level.to_lowercase());
    let unknown = || {
        let help = "write `error`, `warning`, `info`, `debug` or `trace`";
        library_error(format!("`{level}` is no level; {help}"))
    };
    MAX_LOG_LEVEL.store(u8::try_from(index.ok_or_else(unknown)?).unwrap_or_default(), Ordering::Relaxed);
    tracing::callsite::rebuild_interest_cache();
    Ok(())
}
