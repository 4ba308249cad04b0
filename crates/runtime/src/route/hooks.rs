//! Calls the hooks of a router: functions of the program that see each message before it is
//! decided, and each outcome before the caller gets it.

use super::outcome::{HandlerOutcome, Outcome};
use crate::task::{self, TaskFailure, UserFunction};
use serde_json::Value as Json;
use std::sync::Arc;

/// A message with its outcome, for a hook of [`super::RouterBuilder::after`].
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// The message as the caller passed it, before any hook changed it.
    pub original: Arc<Json>,
    /// The message that was decided, which a hook may have changed.
    pub message: Arc<Json>,
    /// The outcome of the message. An earlier hook may have replaced its reply.
    pub outcome: Arc<Outcome>,
}

#[derive(Default)]
pub(super) struct RouterHooks {
    pub before_hooks: Vec<UserFunction<Arc<Json>, Json>>,
    pub after_hooks: Vec<UserFunction<Finished, Json>>,
}

impl RouterHooks {
    pub fn is_empty(&self) -> bool {
        self.before_hooks.is_empty() && self.after_hooks.is_empty()
    }

    /// Calls the hooks before a decision, in order. A hook that returns null keeps the message.
    ///
    /// # Errors
    /// The error of the first hook that fails. The message is then not decided.
    pub async fn call_before_hooks(&self, mut message: Arc<Json>) -> Result<Arc<Json>, String> {
        for hook in &self.before_hooks {
            match task::call_function(None, hook, message.clone()).await {
                Ok(Json::Null) => {}
                Ok(changed) => message = Arc::new(changed),
                Err(failure) => return Err(failure.to_string()),
            }
        }
        Ok(message)
    }

    /// Calls the hooks after a handler, in order. A hook that returns null keeps the outcome; any
    /// other value becomes the reply. If a hook fails, its failure replaces the outcome's result.
    /// The caller must not receive the reply then: removing private data may have been the hook's
    /// task.
    pub async fn call_after_hooks(
        &self,
        original: &Arc<Json>,
        message: &Arc<Json>,
        outcome: Outcome,
    ) -> Outcome {
        if self.after_hooks.is_empty() {
            return outcome;
        }
        let mut outcome = Arc::new(outcome);
        for hook in &self.after_hooks {
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
