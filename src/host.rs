//! Functions of the embedding program that conditions may call (`extern fn`), and the record of the
//! calls of one decision: each distinct call once, failures caught and kept.

use crate::sema::hir::ExternId;
use crate::ty::KindSet;
use crate::value::{Value, identical};
use bumpalo::Bump;
use serde_json::Value as Json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A host function: borrowed arguments in, a JSON value or an error text out.
pub type HostFn = Arc<dyn Fn(&[Value<'_>]) -> Result<Json, String> + Send + Sync>;

/// A host function made ready for one rule set.
#[derive(Clone)]
pub struct Host {
    /// Its name in the rules.
    pub name: Arc<str>,
    /// The kinds its result is read at.
    pub result: KindSet,
    /// The function that is called.
    pub function: HostFn,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({})", self.name)
    }
}

/// A host function that failed during a decision; its result counted as missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailure {
    /// The function.
    pub function: Arc<str>,
    /// The function's own message.
    pub message: String,
}

/// The calls of one decision.
pub struct HostCalls<'a> {
    hosts: &'a [Host],
    made: Vec<(ExternId, &'a [Value<'a>], Value<'a>)>,
    /// The calls that failed.
    pub failures: Vec<HostFailure>,
    /// The time spent in host functions.
    pub elapsed: Duration,
}

impl<'a> HostCalls<'a> {
    /// No call yet. `hosts` stand in the order of the program's externs.
    pub fn new(hosts: &'a [Host]) -> Self {
        HostCalls { hosts, made: Vec::new(), failures: Vec::new(), elapsed: Duration::ZERO }
    }

    /// Calls a function, or answers from an equal earlier call of this decision.
    pub fn call(&mut self, id: ExternId, args: &[Value<'a>], bump: &'a Bump) -> Value<'a> {
        let same = |(other, given, _): &&(ExternId, &[Value], Value)| {
            *other == id
                && given.len() == args.len()
                && given.iter().zip(args).all(|(a, b)| a.kind() == b.kind() && identical(*a, *b))
        };
        if let Some((_, _, result)) = self.made.iter().find(same) {
            return *result;
        }
        let result = self.call_now(id, args, bump);
        self.made.push((id, bump.alloc_slice_copy(args), result));
        result
    }

    fn call_now(&mut self, id: ExternId, args: &[Value<'a>], bump: &'a Bump) -> Value<'a> {
        // What is missing stays missing; the function need not know of it.
        if args.iter().any(|arg| arg.is_missing()) {
            return Value::Missing;
        }
        let Some(host) = self.hosts.get(id.index()) else { return Value::Missing };
        let start = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(|| (host.function)(args)));
        self.elapsed += start.elapsed();
        let message = match answer {
            Ok(Ok(json)) => return adopt(&json, bump).read(host.result),
            Ok(Err(message)) => message,
            Err(panic) => panic_text(&*panic),
        };
        self.failures.push(HostFailure { function: host.name.clone(), message });
        Value::Missing
    }
}

/// The text of a caught panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    format!("panicked: {}", panic_message(panic))
}

/// The message of a panic.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

/// Copies a result into the decision's arena.
fn adopt<'a>(json: &Json, bump: &'a Bump) -> Value<'a> {
    match json {
        Json::String(text) => Value::Str(bump.alloc_str(text)),
        Json::Array(items) => Value::list_in(bump, items.iter().map(|item| adopt(item, bump))),
        Json::Object(map) => {
            Value::dict_in(bump, map.iter().map(|(key, value)| (&*bump.alloc_str(key), adopt(value, bump))))
        }
        Json::Null => Value::Missing,
        Json::Bool(_) | Json::Number(_) => match Value::from_json(json) {
            Value::Bool(value) => Value::Bool(value),
            Value::Int(value) => Value::Int(value),
            Value::Float(value) => Value::Float(value),
            _ => Value::Missing,
        },
    }
}
