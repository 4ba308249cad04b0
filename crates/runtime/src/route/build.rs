//! Building a router: the registry of handlers, held against what the rules lead to. Everything
//! that is wrong is told at once, and before the first message.

use super::handler::{HandlerResult, Request};
use super::{Active, DecisionLog, Router, Shared};
use crate::task::{Function, boxed};
use arc_swap::ArcSwap;
use rulec::internals::diag::nearest;
use rulec::{Rules, UnknownEntry};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(super) type Handlers = HashMap<String, Registered>;

pub(super) struct Registered {
    pub function: Function<Request, Json>,
    pub limit: Option<Duration>,
}

/// Puts a [`Router`] together.
#[must_use]
pub struct RouterBuilder {
    rules: Rules,
    entry: Option<String>,
    handlers: Handlers,
    limits: BTreeMap<String, Duration>,
    limit: Option<Duration>,
    log: Option<DecisionLog>,
    problems: Vec<Problem>,
}

impl RouterBuilder {
    pub(super) fn new(rules: Rules) -> Self {
        RouterBuilder {
            rules,
            entry: None,
            handlers: Handlers::new(),
            limits: BTreeMap::new(),
            limit: None,
            log: None,
            problems: Vec::new(),
        }
    }

    /// Registers the function that does the work of a target: an `async fn(Request)` or a closure
    /// that returns a future, with a JSON value or a `Result` of one. With the feature `http`,
    /// `rulec_http::handler` makes one that calls a service.
    pub fn handler<F, Fut>(mut self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(Request) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        let function = boxed(function, HandlerResult::into_result);
        let (name, registered) = (name.into(), Registered { function, limit: None });
        if self.handlers.insert(name.clone(), registered).is_some() {
            self.problems.push(Problem::RegisteredTwice { name });
        }
        self
    }

    /// The table to decide by; the routes outside any table when not set.
    pub fn entry(mut self, table: impl Into<String>) -> Self {
        self.entry = Some(table.into());
        self
    }

    /// Sets how long a handler may take before it is stopped; without limit when not set.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets how long this handler may take, whatever [`RouterBuilder::time_limit`] says.
    pub fn handler_time_limit(mut self, name: impl Into<String>, limit: Duration) -> Self {
        self.limits.insert(name.into(), limit);
        self
    }

    /// Sets the log that decisions are written to.
    pub fn log(mut self, log: DecisionLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Holds everything against the rules.
    ///
    /// # Errors
    /// Everything that is wrong: targets without a handler, handlers registered twice, limits of
    /// handlers that there are not, an entry that is not in the rules.
    pub fn build(mut self) -> Result<Router, RouterError> {
        for registered in self.handlers.values_mut() {
            registered.limit = self.limit;
        }
        for (name, limit) in self.limits {
            match self.handlers.get_mut(&name) {
                Some(registered) => registered.limit = Some(limit),
                None => {
                    let near = near(&name, &self.handlers);
                    self.problems.push(Problem::LimitWithoutHandler { name, near });
                }
            }
        }
        match validate(self.rules, self.entry.as_deref(), &self.handlers) {
            Ok(active) if self.problems.is_empty() => Ok(Router {
                shared: Arc::new(Shared {
                    active: ArcSwap::from_pointee(active),
                    handlers: self.handlers,
                    entry: self.entry,
                    log: self.log,
                }),
            }),
            validated => {
                self.problems.extend(validated.err().into_iter().flatten());
                Err(RouterError { problems: self.problems })
            }
        }
    }
}

impl fmt::Debug for RouterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RouterBuilder({:?}, {} handlers)", self.rules, self.handlers.len())
    }
}

fn near(name: &str, handlers: &Handlers) -> Option<String> {
    nearest(name, handlers.keys().map(String::as_str)).map(str::to_owned)
}

pub(super) fn validate(
    rules: Rules,
    entry: Option<&str>,
    handlers: &Handlers,
) -> Result<Active, Vec<Problem>> {
    let entry = entry.map_or_else(|| Ok(rules.main()), |name| rules.entry(name));
    let entry = entry.map_err(|unknown| vec![Problem::Entry(unknown)])?;
    let targets = entry.targets();
    let problems: Vec<Problem> = targets
        .iter()
        .filter(|target| !handlers.contains_key(**target))
        .map(|target| Problem::NoHandler { target: (*target).to_owned(), near: near(target, handlers) })
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut warnings = Vec::new();
    if entry.is_empty() {
        warnings.push(Warning::EmptyEntry { name: entry.name().to_owned() });
    }
    let mut unused: Vec<&String> = handlers.keys().filter(|name| !targets.contains(name.as_str())).collect();
    unused.sort();
    warnings.extend(unused.into_iter().map(|name| Warning::UnusedHandler { name: name.clone() }));
    let entry = entry.id();
    Ok(Active { rules, entry, warnings })
}

/// Why a router could not be built, or rules not be swapped in. Its text names every problem, one a
/// line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct RouterError {
    pub(super) problems: Vec<Problem>,
}

impl RouterError {
    /// Everything that is wrong.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// One thing that is wrong with a router.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The entry is not in the rules.
    #[error(transparent)]
    Entry(#[from] UnknownEntry),
    /// The rules lead to a handler that nobody registered.
    #[error("the rules lead to `{target}`, which has no handler; {}", remedy(near.as_deref(), target))]
    NoHandler {
        /// The target.
        target: String,
        /// A registered name much like it.
        near: Option<String>,
    },
    /// Two handlers are registered under one name.
    #[error("the handler `{name}` is registered twice; remove one, or give it a name of its own")]
    RegisteredTwice {
        /// The name.
        name: String,
    },
    /// A time limit is set for a handler that nobody registered.
    #[error("a time limit is set for `{name}`, which has no handler; {}", remedy(near.as_deref(), name))]
    LimitWithoutHandler {
        /// The name.
        name: String,
        /// A registered name much like it.
        near: Option<String>,
    },
}

fn remedy(near: Option<&str>, name: &str) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`, which is registered?"),
        None => format!("register one: `.handler(\"{name}\", …)`"),
    }
}

/// An oddity of a router, which works all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// No route leads to this registered handler.
    #[error("no route leads to the handler `{name}`")]
    UnusedHandler {
        /// Its name.
        name: String,
    },
    /// The entry holds no route and no default, so that every message ends without a route.
    #[error("the entry `{name}` holds no route and no default; name another with `.entry(\"…\")`")]
    EmptyEntry {
        /// Its name.
        name: String,
    },
}
