//! The native half of the Python package `rulec`: rules, decisions, judges and routers of the library as Python classes.
//! It decides nothing and words nothing that the library does not; `python/rulec` is the other half, which is plain
//! Python.
//!
//! | module | what it holds |
//! |---|---|
//! | `message` | Python values as messages |
//! | `ending` | work without the interpreter's lock |
//! | `error` | diagnostics as data, and the exceptions |
//! | `host` | Python functions that rules call |
//! | `rules` | rule sets and what is asked of them |
//! | `decision` | decisions and explanations |
//! | `judge` | payloads |
//! | `talk` | flows, and choices that a language model makes |
//! | `router` | async handlers |
//! | `batch` | record batches |

mod batch;
mod decision;
mod ending;
mod error;
mod host;
mod judge;
mod message;
mod router;
mod rules;
mod talk;

use pyo3::prelude::*;

/// Runs the command line with these arguments, the first of which is the program's name.
#[pyfunction]
fn command_line(py: Python<'_>, args: Vec<std::ffi::OsString>) -> u8 {
    ending::apart(py, || rulec_cli::main(args))
}

#[pymodule]
mod _rulec {
    #[pymodule_export]
    use super::batch::{Columns, ColumnsMismatch, json_lines};
    #[pymodule_export]
    use super::command_line;
    #[pymodule_export]
    use super::decision::{Decision, Explanation};
    #[pymodule_export]
    use super::ending::end;
    #[pymodule_export]
    use super::error::{CompileError, Diagnostic, RulecError, UnknownName};
    #[pymodule_export]
    use super::judge::{Judge, Judgement, Violation};
    #[pymodule_export]
    use super::message::MessageError;
    #[pymodule_export]
    use super::router::{Outcome, Policy, Request, Router, RouterError};
    #[pymodule_export]
    use super::rules::{Prepared, Rules};
    #[pymodule_export]
    use super::talk::{FlowHit, Flows, Question};
}
