//! Settings of a [`RouterBuilder`] that add hooks: functions that are called before and after each
//! decision.

use super::RouterBuilder;
use super::handler::HandlerResult;
use super::hooks::Finished;
use crate::task::box_function;
use serde_json::Value as Json;
use std::sync::Arc;

impl RouterBuilder {
    /// Adds a hook that sees each message before it is decided. The message that the hook returns
    /// is decided, or the same message if the hook returns null. If the hook fails, the message is
    /// not decided; see [`HandlerOutcome::Invalid`](super::HandlerOutcome::Invalid). Several hooks
    /// run in the order of the calls.
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
        self.hooks.before_hooks.push(box_function(hook, HandlerResult::into_result));
        self
    }

    /// Adds a hook that sees each outcome before the caller gets it. A value that the hook returns
    /// becomes the reply; null keeps the outcome. If the hook fails, the outcome has the hook's
    /// failure as its result.
    ///
    /// The hook has no effect on the router's statistics and the decision log. The statistics and
    /// the log always contain the result of the handler itself.
    pub fn after<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Finished) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        self.hooks.after_hooks.push(box_function(hook, HandlerResult::into_result));
        self
    }

    /// Sets the function that returns the scope of a message, such as its conversation. The
    /// failures of handlers are counted separately for each scope. By default, all messages have
    /// one scope.
    ///
    /// If a handler fails, the next messages of the scope have three more fields. They are
    /// `ctx.last_error` (a record of `type`, `handler`, `route` and `count`), `ctx.last_error_type`
    /// and `ctx.error_counts` (a count for each type). A field that the message already has is not
    /// replaced. A reply of a handler resets the counts. [`TypedError`](super::TypedError) sets the
    /// type of an error.
    pub fn error_scope(mut self, scope: impl Fn(&Json) -> String + Send + Sync + 'static) -> Self {
        self.scope_fn = Some(Box::new(scope));
        self
    }
}
