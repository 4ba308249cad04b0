//! Remembers the failures of a router's handlers. Rules read them as `ctx.last_error_type`,
//! `ctx.last_error` and `ctx.error_counts`. The embedding program need not add these fields itself.

use super::handler::HandlerError;
use super::outcome::HandlerOutcome;
use crate::task;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of scopes (such as conversations) whose failures are remembered. The limit saves
/// memory; the number is not a result of measurements. At the limit, the scope whose last failure
/// is the oldest is removed.
const MAX_FAILURE_SCOPES: usize = 10_000;

const CONTEXT_FIELD: &str = "ctx";

/// Function of the program that returns the scope of a message, such as its conversation. Failures
/// of handlers are counted per scope.
pub(super) type FailureScopeFn = Box<dyn Fn(&Json) -> String + Send + Sync>;

/// An error of a handler, with a type that the handler names and that rules can compare: `when
/// ctx.last_error_type == "Timeout"`. Without this wrapper, the type is the kind of the outcome,
/// such as `failed` or `timed_out`.
///
/// ```
/// use rulec_runtime::route::{Request, TypedError};
///
/// async fn pay(_: Request) -> Result<(), TypedError> {
///     Err(TypedError::new("CardDeclined", "the bank refused the card"))
/// }
/// ```
#[derive(Debug)]
pub struct TypedError {
    kind: String,
    error: HandlerError,
}

impl TypedError {
    /// Wraps an error and gives it the type `kind`, which rules can compare.
    pub fn new(kind: impl Into<String>, error: impl Into<HandlerError>) -> TypedError {
        TypedError { kind: kind.into(), error: error.into() }
    }

    /// Returns the type of the error, which rules compare with `ctx.last_error_type`.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

impl fmt::Display for TypedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for TypedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// The failures of one scope, such as a conversation, since the last reply of a handler in this
/// scope.
struct ScopeFailures {
    /// Sequence number of the scope's last failure, counted over all scopes. If there are too many
    /// scopes, the one with the smallest number is removed.
    failure_number: u64,
    last_error_type: String,
    last_handler: String,
    last_route: String,
    counts_by_type: BTreeMap<String, u64>,
}

/// The scopes (such as conversations) in which a handler failed: at most [`MAX_FAILURE_SCOPES`].
#[derive(Default)]
struct FailureScopes {
    by_name: HashMap<Arc<str>, ScopeFailures>,
    /// The names of the scopes, sorted by the sequence number of their last failure. So the scope
    /// with the oldest last failure is first.
    names_by_last_failure: BTreeMap<u64, Arc<str>>,
    /// Number of failures in all scopes so far, from which each failure gets its sequence number.
    failure_count: u64,
}

impl FailureScopes {
    /// Removes the scope `name`, and returns its failures. `None` if the scope had no failures.
    fn remove(&mut self, name: &str) -> Option<ScopeFailures> {
        let failures = self.by_name.remove(name)?;
        self.names_by_last_failure.remove(&failures.failure_number);
        Some(failures)
    }

    /// Adds a failure to the scope `name`. If the scope is new and there are already
    /// [`MAX_FAILURE_SCOPES`] scopes, first removes the scope whose last failure is the oldest.
    fn add_failure(&mut self, name: &str, error_type: String, handler: &str, route: String) {
        let earlier = self.remove(name);
        if earlier.is_none()
            && self.by_name.len() >= MAX_FAILURE_SCOPES
            && let Some((_, oldest)) = self.names_by_last_failure.pop_first()
        {
            self.by_name.remove(&oldest);
        }
        let mut counts = earlier.map(|failures| failures.counts_by_type).unwrap_or_default();
        *counts.entry(error_type.clone()).or_default() += 1;
        let (failure_number, name) = (self.failure_count, Arc::<str>::from(name));
        self.failure_count += 1;
        self.names_by_last_failure.insert(failure_number, name.clone());
        let last_handler = handler.to_owned();
        let failures = ScopeFailures {
            failure_number,
            last_error_type: error_type,
            last_handler,
            last_route: route,
            counts_by_type: counts,
        };
        self.by_name.insert(name, failures);
    }
}

/// The failures of all scopes, such as conversations, and the function that returns a message's
/// scope.
#[derive(Default)]
pub(super) struct FailureMemory {
    scope_fn: Option<FailureScopeFn>,
    scopes: Mutex<FailureScopes>,
    /// Number of scopes with failures. If it is 0, as usual, a message is routed without the lock
    /// of `scopes`.
    scope_count: AtomicUsize,
}

impl FailureMemory {
    pub fn new(scope_fn: Option<FailureScopeFn>) -> FailureMemory {
        FailureMemory { scope_fn, ..FailureMemory::default() }
    }

    /// Returns the scope of a message, such as its conversation. All messages have one scope if the
    /// program set no function, or if the function panics.
    pub fn scope_of(&self, message: &Json) -> String {
        let Some(scope_fn) = &self.scope_fn else { return String::new() };
        task::catch_panic(|| scope_fn(message)).unwrap_or_else(|_| {
            tracing::warn!(target: "rulec::router", "the function that returns the error scope of a message panicked");
            String::new()
        })
    }

    /// Returns the message with the recorded failures of `scope` (such as one conversation) added
    /// to its object `ctx`. Fields that `ctx` already has keep their values. If `ctx` is not an
    /// object, or the scope has no failures, returns the message unchanged.
    pub fn with_failures(&self, message: Arc<Json>, scope: &str) -> Arc<Json> {
        if self.scope_count.load(Ordering::Acquire) == 0 {
            return message;
        }
        let fields = {
            let scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(failures) = scopes.by_name.get(scope) else { return message };
            failures.to_context_fields()
        };
        let mut changed = Json::clone(&message);
        let Some(root) = changed.as_object_mut() else { return message };
        let context = root.entry(CONTEXT_FIELD).or_insert_with(|| Json::Object(Map::new()));
        let Some(context) = context.as_object_mut() else { return message };
        for (name, value) in fields {
            context.entry(name).or_insert(value);
        }
        Arc::new(changed)
    }

    /// Records the outcome of a call of `handler` for a message of this scope. A reply removes the
    /// failures of the scope. A failure is counted with the type `error_type`. If `error_type` is
    /// `None`, the type is the kind of the outcome, such as `timed_out`. An outcome that is no
    /// failure of a handler, such as a missing permission, changes nothing.
    pub fn record_outcome(
        &self,
        scope: &str,
        outcome: &HandlerOutcome,
        error_type: Option<&str>,
        handler: &str,
    ) {
        let route = match outcome {
            HandlerOutcome::Handled(_) => return self.forget_scope(scope),
            HandlerOutcome::Failed { route, .. }
            | HandlerOutcome::TimedOut { route, .. }
            | HandlerOutcome::Panicked { route, .. }
            | HandlerOutcome::CircuitOpen { route } => route.clone(),
            _ => return,
        };
        let error_type = error_type.unwrap_or(outcome.kind()).to_owned();
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        scopes.add_failure(scope, error_type, handler, route);
        self.scope_count.store(scopes.by_name.len(), Ordering::Release);
    }

    fn forget_scope(&self, scope: &str) {
        if self.scope_count.load(Ordering::Acquire) > 0 {
            let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
            scopes.remove(scope);
            self.scope_count.store(scopes.by_name.len(), Ordering::Release);
        }
    }
}

impl ScopeFailures {
    /// Returns the fields that are added to `ctx` of the scope's next message. The text of the
    /// error is left out, because it may quote private data of another message.
    fn to_context_fields(&self) -> [(&'static str, Json); 3] {
        let count = self.counts_by_type.get(&self.last_error_type);
        let last = json!({
            "type": self.last_error_type,
            "handler": self.last_handler,
            "route": self.last_route,
            "count": count,
        });
        [
            ("last_error", last),
            ("last_error_type", self.last_error_type.as_str().into()),
            ("error_counts", json!(self.counts_by_type)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names of the scopes, the one with the oldest last failure first.
    fn scope_names(scopes: &FailureScopes) -> Vec<&str> {
        let names: Vec<&str> = scopes.names_by_last_failure.values().map(|name| &**name).collect();
        assert_eq!(names.len(), scopes.by_name.len());
        names
    }

    fn add_failure_to(scopes: &mut FailureScopes, name: &str) {
        scopes.add_failure(name, "failed".to_owned(), "handler", "route".to_owned());
    }

    #[test]
    fn the_scope_whose_last_failure_is_oldest_is_forgotten() {
        let mut scopes = FailureScopes::default();
        ["a", "b", "c", "a"].into_iter().for_each(|name| add_failure_to(&mut scopes, name));
        assert_eq!(scope_names(&scopes), ["b", "c", "a"]);
        assert_eq!(scopes.by_name["a"].counts_by_type["failed"], 2);
        assert!(scopes.remove("c").is_some() && scopes.remove("c").is_none());
        assert_eq!(scope_names(&scopes), ["b", "a"]);
        // Another failure of a known scope removes no other scope.
        (2..MAX_FAILURE_SCOPES).for_each(|number| add_failure_to(&mut scopes, &number.to_string()));
        add_failure_to(&mut scopes, "b");
        assert_eq!((scope_names(&scopes).len(), scope_names(&scopes)[0]), (MAX_FAILURE_SCOPES, "a"));
        add_failure_to(&mut scopes, "new");
        let all = scope_names(&scopes);
        assert_eq!((all.len(), all[0]), (MAX_FAILURE_SCOPES, "2"));
        assert_eq!(all[MAX_FAILURE_SCOPES - 2..], ["b", "new"]);
    }
}
