//! Hooks: functions that see each message before it is decided, and each outcome before the caller
//! gets it.

use super::RouterBuilder;
use super::handler::HandlerResult;
use super::outcome::{HandlerOutcome, Outcome};
use crate::task::{self, TaskFailure, UserFunction, box_function};
use serde_json::Value as Json;
use std::sync::Arc;

/// A message with its outcome, for a hook of [`super::RouterBuilder::after`].
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// The message as the caller passed it, before any hook changed it.
    pub original: Arc<Json>,
    /// The message that was decided.
    pub message: Arc<Json>,
    /// The outcome. An earlier hook may have replaced its reply.
    pub outcome: Arc<Outcome>,
}

#[derive(Default)]
pub(super) struct Hooks {
    pub before: Vec<UserFunction<Arc<Json>, Json>>,
    pub after: Vec<UserFunction<Finished, Json>>,
}

impl RouterBuilder {
    /// Adds a hook that sees each message before it is decided. The message that the hook returns
    /// is decided, or the same message if the hook returns null. If the hook fails, the message is
    /// not decided; see [`HandlerOutcome::Invalid`]. Several hooks run in the order of the calls.
    ///
    /// ```
    /// use rulec_runtime::route::{Finished, Request, Router};
    /// use serde_json::{Value, json};
    /// use std::sync::Arc;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let rules = rulec::Rules::from_text("route vip when ctx.vip == true -> chat")?;
    /// let router = Router::builder(rules)
    ///     .before(|message: Arc<Value>| async move {
    ///         json!({"text": message["text"], "ctx": {"vip": true}})
    ///     })
    ///     .handler("chat", |request: Request| async move { json!(request.text()) })
    ///     .after(|finished: Finished| async move {
    ///         finished.outcome.reply().map(|reply| json!({ "said": reply })).unwrap_or_default()
    ///     })
    ///     .build()?;
    /// let outcome = router.route(json!({"text": "hello"})).await;
    /// assert_eq!(outcome.reply(), Some(&json!({"said": "hello"})));
    /// # Ok(())
    /// # }
    /// ```
    pub fn before<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Arc<Json>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        self.hooks.before.push(box_function(hook, HandlerResult::into_result));
        self
    }

    /// Adds a hook that sees each outcome before the caller gets it. A value that the hook returns
    /// becomes the reply; null keeps the outcome. If the hook fails, the outcome has the hook's
    /// failure as its result. The counts and the decision log have the handler's own result.
    pub fn after<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Finished) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        self.hooks.after.push(box_function(hook, HandlerResult::into_result));
        self
    }

    /// Sets the function that returns the scope in which failures of handlers are counted, such as
    /// the conversation of a message. Without the function, all messages have one scope.
    ///
    /// If a handler fails, the next messages of the scope have three more fields. They are
    /// `ctx.last_error` (a record of `type`, `handler`, `route` and `count`), `ctx.last_error_type`
    /// and `ctx.error_counts` (a count for each type). A field that the caller sets is kept. A
    /// reply ends the count. [`TypedError`](super::TypedError) sets the type of an error.
    pub fn error_scope(mut self, scope: impl Fn(&Json) -> String + Send + Sync + 'static) -> Self {
        self.error_scope = Some(Box::new(scope));
        self
    }
}

impl Hooks {
    /// Calls the hooks before a decision, in order. A hook that returns null keeps the message.
    ///
    /// # Errors
    /// The error of the first hook that fails. The message is then not decided.
    pub async fn call_before(&self, mut message: Arc<Json>) -> Result<Arc<Json>, String> {
        for hook in &self.before {
            match task::call_function(None, hook, message.clone()).await {
                Ok(Json::Null) => {}
                Ok(changed) => message = Arc::new(changed),
                Err(failure) => return Err(failure.to_string()),
            }
        }
        Ok(message)
    }

    /// Calls the hooks after a handler, in order. A hook that returns null keeps the outcome; other
    /// values become the reply. If a hook fails, its failure replaces the outcome's result, because
    /// the hook may have to remove something from the reply.
    pub async fn call_after(&self, original: &Arc<Json>, message: &Arc<Json>, outcome: Outcome) -> Outcome {
        if self.after.is_empty() {
            return outcome;
        }
        let mut outcome = Arc::new(outcome);
        for hook in &self.after {
            let finished =
                Finished { original: original.clone(), message: message.clone(), outcome: outcome.clone() };
            let route = || outcome.route.clone().unwrap_or_default();
            let result = match task::call_function(None, hook, finished).await {
                Ok(Json::Null) => continue,
                Ok(reply) => HandlerOutcome::Handled(reply),
                Err(TaskFailure::Panicked(message)) => HandlerOutcome::Panicked { route: route(), message },
                Err(failure) => HandlerOutcome::Failed { route: route(), error: failure.to_string() },
            };
            Arc::make_mut(&mut outcome).result = result;
        }
        Arc::unwrap_or_clone(outcome)
    }
}
