//! Building a router: checks the registered handlers against the targets of the rules. All problems
//! are reported together, before the first message is routed.

use super::failures::{FailureMemory, FailureScopeFn};
use super::handler::{HandlerResult, Request};
use super::handlers::{ArgsCheck, HandlerMap, RegisteredHandler};
use super::history::PreviousRules;
use super::hooks::RouterHooks;
use super::policy::{CircuitBreaker, Policy};
use super::stats::RouterCounters;
use super::warning::warnings;
use super::{ActiveRules, DecisionLog, PermissionFn, Permissions, Router, RouterShared};
use crate::task::{UserFunction, box_function};
use arc_swap::{ArcSwap, ArcSwapOption};
use rulec::{ArgsError, Guard, LiveRules, UnknownEntry};
use rulec_base::diag::{Message, join_lines, nearest};
use rulec_base::message;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The rules, handlers and settings from which a [`Router`] is built.
#[must_use]
pub struct RouterBuilder {
    rules: LiveRules,
    entry_name: Option<String>,
    handlers: HandlerMap,
    policies: BTreeMap<String, Policy>,
    default_time_limit: Option<Duration>,
    permission_fn: Option<PermissionFn>,
    log: Option<DecisionLog>,
    pub(super) hooks: RouterHooks,
    pub(super) scope_fn: Option<FailureScopeFn>,
    max_previous_rules: usize,
    problems: Vec<Problem>,
}

impl RouterBuilder {
    pub(super) fn new(rules: LiveRules) -> Self {
        RouterBuilder {
            rules,
            entry_name: None,
            handlers: HandlerMap::default(),
            policies: BTreeMap::new(),
            default_time_limit: None,
            permission_fn: None,
            log: None,
            hooks: RouterHooks::default(),
            scope_fn: None,
            max_previous_rules: 1,
            problems: Vec::new(),
        }
    }

    /// Registers the handler for the route target `name`: an `async fn(Request)`, or a closure that
    /// returns a future. The future's output is a JSON value, a [`Reply`](super::Reply) of any
    /// `Serialize`, or a `Result` of any `Serialize`. `rulec_http::handler` makes a handler that
    /// calls a service.
    pub fn handler<F, Fut>(self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(Request) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        self.register_handler(
            name.into(),
            RegisteredHandler::new(box_function(function, HandlerResult::into_result)),
        )
    }

    /// Registers a handler that takes its arguments as a value of a type that the program defines.
    /// Building the router and swapping rules fail if the arguments in the rules do not fit the
    /// type; see [`rulec::Rules::check_args`]. Arguments that do not fit at run time are an error
    /// of the handler.
    ///
    /// ```
    /// use rulec_runtime::route::{Reply, Request, Router};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Listing {
    ///     limit: u32,
    /// }
    ///
    /// async fn list_files(args: Listing, _: Request) -> Reply<u32> {
    ///     Reply(args.limit)
    /// }
    ///
    /// let router = |text: &str| {
    ///     let rules = rulec::Rules::from_text(text).unwrap();
    ///     Router::builder(rules).typed_handler("list_files", list_files).build()
    /// };
    /// assert!(router("default -> list_files(limit: 20)").is_ok());
    /// let error = router("default -> list_files(limit: \"all\")").unwrap_err();
    /// assert!(error.to_string().contains("`limit`"));
    /// ```
    pub fn typed_handler<A, F, Fut>(self, name: impl Into<String>, function: F) -> Self
    where
        A: DeserializeOwned + 'static,
        F: Fn(A, Request) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        let function: UserFunction<Request, Json> = Arc::new(move |request| match request.args_as::<A>() {
            Ok(args) => {
                let future = function(args, request);
                Box::pin(async move { future.await.into_result() })
            }
            Err(error) => Box::pin(std::future::ready(Err(error.into()))),
        });
        let check_args: ArgsCheck = |rules, name| rules.check_args::<A>(name);
        let registered =
            RegisteredHandler { args_check: Some(check_args), ..RegisteredHandler::new(function) };
        self.register_handler(name.into(), registered)
    }

    fn register_handler(mut self, name: String, handler: RegisteredHandler) -> Self {
        if self.handlers.by_name.insert(name.clone(), handler).is_some() {
            self.problems.push(Problem::RegisteredTwice { name });
        }
        self
    }

    /// Registers the handler of all targets that have no handler of their own. [`Request::handler`]
    /// is the target's name. A policy that is set for such a target applies when this handler is
    /// called for that target. A policy cannot name this handler as a fallback (the handler to call
    /// after a failure), because fallbacks are found by their registered names.
    pub fn otherwise<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(Request) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        let handler = RegisteredHandler::new(box_function(function, HandlerResult::into_result));
        if self.handlers.default_handler.replace(handler).is_some() {
            self.problems.push(Problem::OtherwiseTwice);
        }
        self
    }

    /// Sets the entry table, where decisions start. Default: the routes outside any table.
    pub fn entry(mut self, table: impl Into<String>) -> Self {
        self.entry_name = Some(table.into());
        self
    }

    /// Sets the policy for a handler that is slow or fails. A second call for the same handler
    /// replaces the first policy.
    pub fn policy(mut self, name: impl Into<String>, policy: Policy) -> Self {
        self.policies.insert(name.into(), policy);
        self
    }

    /// Sets the function that returns the permissions of a message's sender, for [`Router::route`].
    /// The function reads the sender from the message, so use it only for trusted messages.
    ///
    /// The function is called only if the message's handler requires a permission, and it should be
    /// quick. If a look-up of permissions is slow, look them up before routing and call
    /// [`Router::route_as`].
    ///
    /// If no function is set, senders have no permissions. [`Router::route`] then refuses every
    /// message whose handler requires a permission.
    pub fn permissions(
        mut self,
        permission_fn: impl Fn(&Json) -> Permissions + Send + Sync + 'static,
    ) -> Self {
        self.permission_fn = Some(Box::new(permission_fn));
        self
    }

    /// Sets the time limit of each handler call. A call that exceeds the limit is aborted. Each
    /// retry has the full limit. Default: no limit.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.default_time_limit = Some(limit);
        self
    }

    /// Sets the time limit of one handler, which overrides [`RouterBuilder::time_limit`].
    pub fn handler_time_limit(mut self, name: impl Into<String>, limit: Duration) -> Self {
        self.policies.entry(name.into()).or_default().attempt_time_limit = Some(limit);
        self
    }

    /// Sets the log to which the router writes each decision. By default, decisions are not logged.
    pub fn log(mut self, log: DecisionLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Sets how many earlier rule sets the router stores, so that [`Router::roll_back`] can
    /// activate them again. Default: 1.
    pub fn keep(mut self, previous: usize) -> Self {
        self.max_previous_rules = previous;
        self
    }

    /// Checks the settings against the rules and builds the router.
    ///
    /// # Errors
    /// All problems found: targets without a handler, handlers registered twice, policies of
    /// unregistered handlers, an entry table that the rules lack. Also fallbacks that are not
    /// registered or are the handler itself, and arguments in the rules that do not fit a typed
    /// handler.
    pub fn build(mut self) -> Result<Router, RouterError> {
        for (name, policy) in std::mem::take(&mut self.policies) {
            for fallback in &policy.fallbacks {
                if *fallback == name {
                    self.problems.push(Problem::OwnFallback { name: name.clone() });
                } else if !self.handlers.by_name.contains_key(fallback) {
                    let (fallback, near) = (fallback.clone(), similar_handler(fallback, &self.handlers));
                    self.problems.push(Problem::NoFallback { name: name.clone(), fallback, near });
                }
            }
            let function = self.handlers.default_handler.as_ref().map(|handler| handler.function.clone());
            match (self.handlers.by_name.get_mut(&name), function) {
                (Some(registered), _) => registered.policy = policy,
                (None, Some(function)) => {
                    let default = RegisteredHandler::new(function);
                    let registered = RegisteredHandler { policy, is_default_handler: true, ..default };
                    self.handlers.by_name.insert(name, registered);
                }
                (None, None) => {
                    let near = similar_handler(&name, &self.handlers);
                    self.problems.push(Problem::PolicyWithoutHandler { name, near });
                }
            }
        }
        self.handlers
            .default_handler
            .iter_mut()
            .for_each(|handler| handler.policy.attempt_time_limit = self.default_time_limit);
        for (name, RegisteredHandler { policy, circuit, .. }) in &mut self.handlers.by_name {
            policy.attempt_time_limit = policy.attempt_time_limit.or(self.default_time_limit);
            *circuit = policy
                .circuit_failures_and_pause
                .map(|(failures, open_for)| CircuitBreaker::new(name, failures, open_for));
        }
        let handlers = Arc::new(self.handlers);
        let guard = edit_guard(&handlers);
        match validate_rules(self.rules, self.entry_name.as_deref(), &handlers, &guard) {
            Ok(active) if self.problems.is_empty() => Ok(Router {
                shared: Arc::new(RouterShared {
                    active_rules: ArcSwap::from_pointee(active),
                    shadow_rules: ArcSwapOption::empty(),
                    previous_rules: Mutex::new(PreviousRules::new(self.max_previous_rules)),
                    handlers,
                    edit_guard: guard,
                    entry_name: self.entry_name,
                    permission_fn: self.permission_fn,
                    log: self.log,
                    hooks: self.hooks,
                    failure_memory: FailureMemory::new(self.scope_fn),
                    stats: RouterCounters::default(),
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

fn similar_handler(name: &str, handlers: &HandlerMap) -> Option<String> {
    nearest(name, handlers.by_name.keys().map(String::as_str)).map(str::to_owned)
}

/// Returns a guard (a check before each edit) that refuses edits that target an unregistered
/// handler.
fn edit_guard(handlers: &Arc<HandlerMap>) -> Arc<Guard> {
    let handlers = handlers.clone();
    Arc::new(move |target| match handlers.get(target) {
        Some(_) => Ok(()),
        None => Err(no_handler_problem(target, &handlers).to_message()),
    })
}

fn no_handler_problem(target: &str, handlers: &HandlerMap) -> Problem {
    Problem::NoHandler { target: target.to_owned(), near: similar_handler(target, handlers) }
}

/// Checks rules against the handlers, and returns the rules ready for use by a router. `entry`
/// names the table where decisions start; `None` means the routes outside any table. Installs
/// `guard` in the rules, so that the guard checks all later edits. The error contains all problems
/// that were found.
pub(super) fn validate_rules(
    live: LiveRules,
    entry: Option<&str>,
    handlers: &HandlerMap,
    guard: &Arc<Guard>,
) -> Result<ActiveRules, Vec<Problem>> {
    live.guard(guard);
    // Merges pending edits first, so that they are checked too. A failed merge is a bug of the
    // library and leaves the rules unchanged. An edit that was not merged may then target an
    // unregistered handler. Messages routed there end with an error.
    let _ = live.merge();
    let rules = live.rules();
    let entry = entry.map_or_else(|| Ok(rules.main()), |name| rules.entry(name));
    let entry = entry.map_err(|error| vec![Problem::Entry(error)])?;
    let targets = entry.targets();
    let problem = |target: &&str| match handlers.get(target) {
        Some(handler) => {
            let error = handler.args_check?(&rules, target).err()?;
            Some(Problem::Args { handler: (*target).to_owned(), error })
        }
        None => Some(no_handler_problem(target, handlers)),
    };
    let problems: Vec<Problem> = targets.iter().filter_map(problem).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let warnings = warnings(&rules, &entry, &targets, handlers);
    Ok(ActiveRules { rules: live, warnings })
}

/// The reason why a router could not be built, or why new rules could not become active. The text
/// lists every problem, one per line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct RouterError {
    pub(super) problems: Vec<Problem>,
}

impl RouterError {
    /// Returns all problems that were found with the router's settings or rules.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns all problems as one localized message, one per line.
    pub fn to_message(&self) -> Message {
        join_lines(&self.problems.iter().map(Problem::to_message).collect::<Vec<_>>())
    }
}

/// A problem with a router's settings or rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum Problem {
    /// The rules do not contain the table in which decisions should start; see
    /// [`RouterBuilder::entry`].
    #[error(transparent)]
    Entry(#[from] UnknownEntry),
    /// A route targets an unregistered handler.
    NoHandler {
        /// Name of the handler that the route targets.
        target: String,
        /// A similar name of a registered handler, if there is one.
        near: Option<String>,
    },
    /// Two handlers are registered under one name.
    RegisteredTwice {
        /// The name that was registered twice.
        name: String,
    },
    /// Two handlers are registered with [`RouterBuilder::otherwise`], for the targets that have no
    /// handler of their own.
    OtherwiseTwice,
    /// The arguments in the rules do not fit the type of a handler.
    Args {
        /// Name of the handler whose arguments do not fit.
        handler: String,
        /// The reason why the arguments do not fit the type.
        error: ArgsError,
    },
    /// A policy or time limit is set for an unregistered handler.
    PolicyWithoutHandler {
        /// Name of the unregistered handler.
        name: String,
        /// A similar name of a registered handler, if there is one.
        near: Option<String>,
    },
    /// A policy names an unregistered handler as fallback.
    NoFallback {
        /// Name of the handler that has the policy.
        name: String,
        /// Name of the fallback, which is not registered.
        fallback: String,
        /// A similar name of a registered handler, if there is one.
        near: Option<String>,
    },
    /// A handler is its own fallback.
    OwnFallback {
        /// Name of the handler that is its own fallback.
        name: String,
    },
}

impl Problem {
    /// Returns this problem and its remedy as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            Problem::Entry(error) => error.to_message(),
            Problem::NoHandler { target, near } => message!(
                "the rules lead to `{target}`, which has no handler; {}",
                handler_hint(near.as_deref())
            ),
            Problem::RegisteredTwice { name } => {
                message!("the handler `{name}` is registered twice; remove one, or give it a name of its own")
            }
            Problem::OtherwiseTwice => message!("`otherwise` is called twice; remove one"),
            Problem::Args { error, .. } => error.to_message(),
            Problem::PolicyWithoutHandler { name, near } => message!(
                "a policy or time limit is set for `{name}`, which has no handler; {}",
                handler_hint(near.as_deref())
            ),
            Problem::NoFallback { name, fallback, near } => message!(
                "`{name}` falls back to `{fallback}`, which has no handler; {}",
                handler_hint(near.as_deref())
            ),
            Problem::OwnFallback { name } => {
                message!("`{name}` falls back to itself; name another handler, or set retries")
            }
        }
    }
}

fn handler_hint(near: Option<&str>) -> Message {
    match near {
        Some(near) => message!("did you mean `{near}`, which is registered?"),
        None => message!("register one of this name"),
    }
}
