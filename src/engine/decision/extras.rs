//! What a decision tells beside the choice.

use crate::engine::backend::{self, Calls};
use crate::engine::input::Input;
use crate::host::{Host, HostFailure};
use crate::schema::Breach;
use crate::sema::hir::{Outcome, Program};
use bumpalo::Bump;
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use std::time::Duration;

/// The parts of a decision that most have none of.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Extras {
    pub args: Map<String, Json>,
    pub missing_args: Vec<Arc<str>>,
    pub breaches: Vec<Breach>,
    pub failures: Vec<HostFailure>,
    pub host_time: Duration,
    pub next: Vec<String>,
}

impl Extras {
    /// The extras of a decision with that outcome; `None` when there are none.
    #[inline]
    pub fn of(
        program: &Program,
        hosts: &[Host],
        outcome: Option<&Outcome>,
        input: Input<'_>,
        calls: Option<Calls>,
        breaches: Vec<Breach>,
    ) -> Option<Box<Extras>> {
        let with_values =
            outcome.filter(|outcome| outcome.has_args() || matches!(outcome, Outcome::Next { .. }));
        if with_values.is_none() && calls.is_none() && breaches.is_empty() {
            return None;
        }
        let mut extras = Box::new(Extras { breaches, ..Extras::default() });
        if let Some(calls) = calls {
            extras.add(calls);
        }
        if let Some(outcome) = with_values {
            extras.evaluate(program, hosts, outcome, input);
        }
        Some(extras)
    }

    /// Adds what host functions did.
    fn add(&mut self, calls: Calls) {
        self.failures.extend(calls.failures);
        self.host_time += calls.elapsed;
    }

    /// Evaluates the arguments of a handler, or the nodes a router sends on to.
    #[inline(never)]
    fn evaluate(&mut self, program: &Program, hosts: &[Host], outcome: &Outcome, input: Input<'_>) {
        let bump = Bump::new();
        let mut evaluator = backend::evaluator(program, hosts, input, &bump);
        (self.args, self.missing_args) = evaluator.arguments(outcome);
        self.next = evaluator.next_nodes(outcome);
        if let Some(calls) = Calls::of(&evaluator.hosts) {
            self.add(calls);
        }
    }
}
