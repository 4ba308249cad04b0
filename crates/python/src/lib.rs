//! The native half of the Python package `rulec`: Python classes for the library's rules,
//! decisions, payload checks and routers. All logic and all messages come from the library.
//! `python/rulec` is the pure Python half.
//!
//! | module | contents |
//! |---|---|
//! | `message` | conversion of Python values to messages |
//! | `shutdown` | work without the GIL, and interpreter shutdown |
//! | `error` | diagnostics as data, and the exceptions |
//! | `host` | Python functions that rules call |
//! | `rules` | rule sets and their queries |
//! | `decision` | decisions and explanations |
//! | `queries` | analysis, tests and comparisons of rules |
//! | `live` | rules that change while they decide |
//! | `judge` | checks of payloads |
//! | `document` | rules from other systems' JSON documents |
//! | `flows` | flows, and choices by a language model |
//! | `router` | async handlers |
//! | `batch` | record batches |

mod batch;
mod callback;
mod decision;
mod document;
mod error;
mod flows;
mod host;
mod judge;
mod live;
mod message;
mod queries;
mod router;
mod rules;
mod shutdown;

use pyo3::prelude::*;

/// Runs the command line with these arguments; the first is the program's name.
#[pyfunction]
fn command_line(py: Python<'_>, args: Vec<std::ffi::OsString>) -> u8 {
    shutdown::without_gil(py, || rulec_cli::main(args))
}

#[pymodule]
mod _rulec {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::batch::{Columns, ColumnsMismatch, json_lines};
    #[pymodule_export]
    use super::command_line;
    #[pymodule_export]
    use super::decision::{Decision, Explanation};
    #[pymodule_export]
    use super::document::ReportItem;
    #[pymodule_export]
    use super::error::{CompileError, Diagnostic, RulecError};
    #[pymodule_export]
    use super::flows::{FlowHit, Flows, Question};
    #[pymodule_export]
    use super::judge::{Judge, Judgement, Violation};
    #[pymodule_export]
    use super::live::{Edit, LiveRules, WatchStatus, WatchedRules};
    #[pymodule_export]
    use super::queries::{Condition, Finding, TestResult};
    #[pymodule_export]
    use super::router::{Finished, Outcome, Policy, Request, Router, RouterError};
    #[pymodule_export]
    use super::rules::{Prepared, Rules};
    #[pymodule_export]
    use super::shutdown::end;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::error::add_classes(module)
    }
}
