//! The native half of the Python package `rulec`: Python classes for the library's rules,
//! decisions, payload checks and routers. All logic and all messages come from the library.
//! `python/rulec` is the pure Python half.
//!
//! | module | contents |
//! |---|---|
//! | `message` | conversion of Python values to messages |
//! | `prepared` | messages whose fields are read once for several decisions |
//! | `names` | arguments that are lists of names |
//! | `pace` | whether a decision releases the interpreter lock |
//! | `settings` | keyword arguments that say how rules are compiled or loaded |
//! | `shutdown` | work without the GIL, and interpreter shutdown |
//! | `error` | diagnostics as data, and the exceptions |
//! | `host` | Python functions that rules call |
//! | `rules` | rule sets and their queries |
//! | `loading` | how rules are compiled and loaded |
//! | `decide` | how rules decide messages |
//! | `history`, `recording` | stores of earlier messages, and sessions that record in them |
//! | `decision` | decisions and explanations |
//! | `queries` | analysis, tests and comparisons of rules |
//! | `live` | rules that the program edits while they decide |
//! | `judge` | checks of payloads |
//! | `document`, `imported_rules` | rules from other systems' JSON documents |
//! | `flows` | flows, and choices by a language model |
//! | `http` | HTTP calls and language models |
//! | `repr` | helpers for the texts that Python's `repr` shows |
//! | `in_force` | the active rules, for objects that use rules which change |
//! | `runner` | flows that are found and executed in one call |
//! | `router` | async handlers |
//! | `started` | messages whose handler the caller awaits |
//! | `switching` | replacing the rules of a running router |
//! | `stats` | counts of routers and watched rules |
//! | `status` | the state of watched rule files |
//! | `watched` | the file that a router watches |
//! | `watched_rules` | rules that are reloaded from a file |
//! | `outcome` | what handlers and hooks receive, and the outcome of a message |
//! | `policy` | policies of handlers |
//! | `callback` | calls of Python functions from tokio tasks |
//! | `bus` | an event bus |
//! | `events` | events about the decisions of a language model |
//! | `coordinator`, `session` | decisions that are checked and executed |
//! | `workflow` | workflows whose nodes are Python functions |
//! | `worker` | nodes of workflows and plans |
//! | `tracing` | the library's `tracing` events, for Python's `logging` |
//! | `classifier` | the classifier of intents |
//! | `log` | decision logs |
//! | `batch` | record batches |

// The doc comments of Python classes are their docstrings, with examples in the form of doctest.
#![allow(clippy::doc_lazy_continuation)]

mod arguments;
mod batch;
mod bus;
mod callback;
mod classifier;
mod coordinator;
mod decide;
mod decision;
mod document;
mod error;
mod events;
mod flows;
mod held_function;
mod history;
mod host;
mod http;
mod imported_rules;
mod in_force;
mod judge;
mod live;
mod loading;
mod log;
mod message;
mod names;
mod outcome;
mod pace;
mod policy;
mod prepared;
mod queries;
mod recording;
mod repr;
mod router;
mod rules;
mod runner;
mod session;
mod settings;
mod shutdown;
mod started;
mod stats;
mod status;
mod switching;
mod tracing;
mod watched;
mod watched_rules;
mod worker;
mod workflow;

use pyo3::prelude::*;

/// Runs the command-line program `rulec` with these arguments, of which the first is the program's
/// name. Returns the exit code.
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
    use super::bus::{Bus, Published, Stop, Subscription};
    #[pymodule_export]
    use super::classifier::Classifier;
    #[pymodule_export]
    use super::command_line;
    #[pymodule_export]
    use super::coordinator::{Coordinator, Handled, Middleware};
    #[pymodule_export]
    use super::decide::Session;
    #[pymodule_export]
    use super::decision::{Decision, Explanation, unpickled_decision};
    #[pymodule_export]
    use super::document::ReportItem;
    #[pymodule_export]
    use super::error::{CompileError, Diagnostic, RouterError, RulecError};
    #[pymodule_export]
    use super::events::{DecisionMade, DecisionRejected, DecisionValidated, NodeExecutionFailed};
    #[pymodule_export]
    use super::flows::{FlowHit, Flows, Question};
    #[pymodule_export]
    use super::history::{DurableStore, MemoryStore, SharedStore};
    #[pymodule_export]
    use super::http::{ChatModel, HttpClient, HttpError, HttpHandler, ModelRequest, Response, http_handler};
    #[pymodule_export]
    use super::in_force::RulesInForce;
    #[pymodule_export]
    use super::judge::{Judge, JudgeByField, Judgement, Violation};
    #[pymodule_export]
    use super::live::{Edit, LiveRules};
    #[pymodule_export]
    use super::log::DecisionLog;
    #[pymodule_export]
    use super::outcome::{Finished, Outcome, Request};
    #[pymodule_export]
    use super::policy::Policy;
    #[pymodule_export]
    use super::prepared::Prepared;
    #[pymodule_export]
    use super::queries::{Condition, Finding, TestResult};
    #[pymodule_export]
    use super::router::Router;
    #[pymodule_export]
    use super::rules::Rules;
    #[pymodule_export]
    use super::runner::{FlowOutcome, FlowRunner, ask_choice};
    #[pymodule_export]
    use super::session::{AgentSession, Done, RetryRequest, Turn};
    #[pymodule_export]
    use super::shutdown::end;
    #[pymodule_export]
    use super::started::Started;
    #[pymodule_export]
    use super::status::WatchStatus;
    #[pymodule_export]
    use super::switching::Watch;
    #[pymodule_export]
    use super::tracing::log_level;
    #[pymodule_export]
    use super::watched_rules::WatchedRules;
    #[pymodule_export]
    use super::worker::{NodeCall, NodeFactory};
    #[pymodule_export]
    use super::workflow::{Workflow, WorkflowError, WorkflowRun};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::tracing::start_forwarding();
        super::error::add_classes(module)
    }
}
