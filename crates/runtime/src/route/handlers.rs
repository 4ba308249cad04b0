//! The handlers of a router, with their policies.

use super::handler::Request;
use super::policy::{CircuitBreaker, Policy};
use crate::task::UserFunction;
use rulec::{ArgsError, Rules};
use serde_json::Value as Json;
use std::collections::HashMap;

/// The handlers that are registered with a router, by name.
#[derive(Default)]
pub(super) struct HandlerMap {
    pub by_name: HashMap<String, RegisteredHandler>,
    /// The handler of all targets that have no handler of their own; `None` if there is no such
    /// handler.
    pub default_handler: Option<RegisteredHandler>,
}

impl HandlerMap {
    /// Returns the handler that is registered for a target, otherwise the default handler. `None`
    /// if there is neither.
    pub fn get(&self, target: &str) -> Option<&RegisteredHandler> {
        self.by_name.get(target).or(self.default_handler.as_ref())
    }

    /// Returns the names and the handlers that are registered by name, without the default handler.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &RegisteredHandler)> {
        self.by_name.iter()
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }
}

/// A handler function, and the policy under which a router calls it.
pub(super) struct RegisteredHandler {
    pub function: UserFunction<Request, Json>,
    pub policy: Policy,
    pub circuit: Option<CircuitBreaker>,
    /// Function that checks that the arguments in the rules fit the type of the handler's
    /// arguments. `None` if the handler takes its arguments as JSON.
    pub args_check: Option<ArgsCheck>,
    /// Whether this is the default handler, registered again under the name of a target because a
    /// policy is set for that target.
    pub is_default_handler: bool,
}

/// A function that checks the arguments that the rules pass to the handler of the given name.
pub(super) type ArgsCheck = fn(&Rules, &str) -> Result<(), ArgsError>;

impl RegisteredHandler {
    pub fn new(function: UserFunction<Request, Json>) -> RegisteredHandler {
        RegisteredHandler {
            function,
            policy: Policy::new(),
            circuit: None,
            args_check: None,
            is_default_handler: false,
        }
    }
}
