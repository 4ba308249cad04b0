//! Host functions (`extern fn`) that conditions call, and the cache of their calls during one
//! decision. Calls with identical arguments are made once. Errors and panics are caught and
//! recorded.

use bumpalo::Bump;
use hashbrown::HashTable;
use rulec_lang::arena::Arena;
use rulec_lang::ty::KindSet;
use rulec_lang::value::{Value, is_identical, parse_datetime};
use rulec_sema::hir::ExternId;
use serde_json::Value as Json;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// A host function, which takes borrowed arguments and returns a JSON value or an error text.
pub type HostFn = Arc<dyn Fn(&[Value<'_>]) -> Result<Json, String> + Send + Sync>;

/// A host function of the embedding program, with the data that a rule set needs to call it.
#[derive(Clone)]
pub struct RegisteredFunction {
    /// The name with which rules call the function.
    pub name: Arc<str>,
    /// Kinds of value that the result may have; a result of another kind counts as missing.
    pub result_kinds: KindSet,
    /// The function of the embedding program, or a built-in analysis of the message's text.
    pub function: HostFn,
    /// For a built-in analysis of the message text: the maximum work per byte, in the unit of
    /// [`Limit::RequestWork`](rulec_lang::limits::Limit::RequestWork). `None` for a function of the
    /// embedding program, which must limit its own work.
    pub max_work_per_byte: Option<u64>,
}

impl RegisteredFunction {
    /// True if the work of a call is within the limits. Functions without `max_work_per_byte` are
    /// not limited.
    fn is_within_work_limit(&self, args: &[Value<'_>], arena: &Arena) -> bool {
        let (Some(work), Some(Value::Str(text))) = (self.max_work_per_byte, args.first()) else {
            return true;
        };
        arena.allows_text_analysis(text, work)
    }
}

/// Returns the size of a function's result in bytes, for comparison with the limit
/// [`Limit::ValueBytes`](rulec_lang::limits::Limit::ValueBytes).
fn result_size_in_bytes(json: &Json) -> u64 {
    match json {
        Json::String(text) => text.len() as u64,
        Json::Array(items) => items.iter().map(|item| 8 + result_size_in_bytes(item)).sum(),
        Json::Object(map) => {
            map.iter().map(|(key, value)| 8 + key.len() as u64 + result_size_in_bytes(value)).sum()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

impl std::fmt::Debug for RegisteredFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({})", self.name)
    }
}

/// A host function that failed during a decision; its result counts as missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailure {
    /// The name with which rules call the function that failed.
    pub function: Arc<str>,
    /// The error text that the function returned, or the message of its panic.
    pub message: String,
}

/// The host function calls of one decision, with their cached results.
pub struct HostCalls<'a> {
    functions: &'a [RegisteredFunction],
    /// `None` before the first call. Most decisions call no host function, and then only this field
    /// is written and dropped.
    record: Option<Box<CallRecord<'a>>>,
}

/// The calls that one decision has made.
#[derive(Default)]
struct CallRecord<'a> {
    /// The calls with their results. Each is found by the hash of its function and arguments.
    cached_calls: HashTable<(u64, CachedCall<'a>)>,
    failures: Vec<HostFailure>,
    elapsed: Duration,
}

impl<'a> HostCalls<'a> {
    /// Returns an empty record of the host function calls of a decision. `host_functions` must be
    /// in the order of the program's `extern fn` declarations.
    #[inline]
    pub fn new(host_functions: &'a [RegisteredFunction]) -> Self {
        HostCalls { functions: host_functions, record: None }
    }

    /// Returns the calls of host functions that returned an error or panicked, in call order.
    #[inline]
    pub fn failures(&self) -> &[HostFailure] {
        self.record.as_deref().map_or(&[], |record| &record.failures)
    }

    /// Returns the total time spent in host functions (functions of the embedding program) during
    /// the decision.
    #[inline]
    pub fn elapsed(&self) -> Duration {
        self.record.as_deref().map_or(Duration::ZERO, |record| record.elapsed)
    }

    /// Calls a function, or returns the cached result of an earlier call with identical arguments.
    pub fn call(&mut self, id: ExternId, args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
        let hash = hash_call(id, args);
        let is_same_call = |(_, call): &(u64, CachedCall<'a>)| call.is_call_of(id, args);
        let record = self.record.get_or_insert_default();
        if let Some((_, call)) = record.cached_calls.find(hash, is_same_call) {
            // A call inside a quantifier may use less memory than one outside. So a result that was
            // cached outside may exceed the limit here.
            if !arena.allows_value_bytes(call.result_size_in_bytes) {
                return Value::Missing;
            }
            if let Some(result) = call.result {
                return result;
            }
        }
        let (bytes, result) = record.call_uncached(self.functions, id, args, arena);
        match record.cached_calls.find_mut(hash, is_same_call) {
            Some((_, call)) => call.result = result,
            None => {
                let call = CachedCall {
                    function_id: id,
                    args: arena.bump().alloc_slice_copy(args),
                    result_size_in_bytes: bytes,
                    result,
                };
                record.cached_calls.insert_unique(hash, (hash, call), |(hash, _)| *hash);
            }
        }
        result.unwrap_or(Value::Missing)
    }
}

impl<'a> CallRecord<'a> {
    /// Calls a function without a look-up in the cache. Returns the size of the result in bytes,
    /// and the result. The result is `None` if it exceeds the size limit.
    fn call_uncached(
        &mut self,
        functions: &[RegisteredFunction],
        id: ExternId,
        args: &[Value<'a>],
        arena: &'a Arena,
    ) -> (u64, Option<Value<'a>>) {
        const MISSING_RESULT: (u64, Option<Value<'static>>) = (0, Some(Value::Missing));
        // A missing argument makes the result missing; the function is not called.
        if args.iter().any(|arg| arg.is_missing()) {
            return MISSING_RESULT;
        }
        let Some(host) = functions.get(id.index()).filter(|host| host.is_within_work_limit(args, arena))
        else {
            return MISSING_RESULT;
        };
        let start = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(|| (host.function)(args)));
        self.elapsed += start.elapsed();
        let message = match answer {
            Ok(Ok(json)) => {
                let bytes = result_size_in_bytes(&json);
                return (
                    bytes,
                    arena
                        .allows_value_bytes(bytes)
                        .then(|| copy_to_arena(&json, arena.bump()).read_as(host.result_kinds)),
                );
            }
            Ok(Err(message)) => message,
            Err(panic) => format_host_panic(&*panic),
        };
        self.failures.push(HostFailure { function: host.name.clone(), message });
        MISSING_RESULT
    }
}

struct CachedCall<'a> {
    function_id: ExternId,
    args: &'a [Value<'a>],
    /// Size of the call's result in bytes, as [`result_size_in_bytes`] counts it.
    result_size_in_bytes: u64,
    /// The cached result. `None` if it exceeded the size limit when the function was called; a
    /// later call then calls the function again.
    result: Option<Value<'a>>,
}

impl CachedCall<'_> {
    /// True if this is a call of the function `id` with identical arguments of the same kinds.
    fn is_call_of(&self, id: ExternId, args: &[Value<'_>]) -> bool {
        self.function_id == id
            && self.args.len() == args.len()
            && self.args.iter().zip(args).all(|(a, b)| a.kind() == b.kind() && is_identical(*a, *b))
    }
}

/// Hashes a call by a random key. With a known key, a sender of messages could cause hash
/// collisions.
fn hash_call(id: ExternId, args: &[Value<'_>]) -> u64 {
    static HASH_KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    args.iter().fold(id.0.into(), |sum, arg| HASH_KEY.hash_one((sum, hash_value(&HASH_KEY, *arg))))
}

/// Hashes a value so that [`is_identical`] values have equal hashes, as the cache requires. One
/// exception: a decimal and a text are identical if they have the same number, but their hashes
/// differ. So a call with the decimal and a call with the text are both made.
fn hash_value(key: &RandomState, value: Value<'_>) -> u64 {
    match value {
        Value::Missing => 0,
        Value::Bool(value) => key.hash_one(value),
        // An int may be identical to a float, and zero is identical to negative zero.
        Value::Int(value) => key.hash_one((value as f64 + 0.0).to_bits()),
        Value::Wide(value) => key.hash_one((value as f64).to_bits()),
        Value::Float(value) => key.hash_one((value + 0.0).to_bits()),
        // A decimal may be identical to a number, so it is hashed like one. It may also be
        // identical to a text, whose hash differs: such calls share no result.
        Value::Decimal(value) => key.hash_one(value.to_float().to_bits()),
        // A text may be identical to the date-time that it spells.
        Value::Str(text) => match parse_datetime(text) {
            Some(time) => key.hash_one(time.unix_timestamp_nanos()),
            None => key.hash_one(text),
        },
        Value::DateTime(time) => key.hash_one(time.unix_timestamp_nanos()),
        Value::Version(version) => key.hash_one(version),
        Value::JsonList(_) | Value::List(_) => {
            let elements = value.elements().into_iter().flatten();
            elements.fold(1, |sum, element| key.hash_one((sum, hash_value(key, element))))
        }
        // The order of the keys must not matter.
        Value::Dict(_) | Value::Entries(_) => {
            let entries = value.entries().into_iter().flatten();
            let entries = entries.map(|(name, value)| key.hash_one((name, hash_value(key, value))));
            entries.fold(2, u64::wrapping_add)
        }
    }
}

/// Formats a caught panic of a host function as the error text that users see.
pub fn format_host_panic(panic: &(dyn std::any::Any + Send)) -> String {
    format!("panicked: {}", panic_message(panic))
}

/// Returns the text with which code panicked, or `no message` if the panic has no text.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

/// Copies a result of a host function into the decision's arena, and returns the copy. Values in
/// the arena live until the decision ends.
fn copy_to_arena<'a>(json: &Json, bump: &'a Bump) -> Value<'a> {
    match json {
        Json::String(text) => Value::Str(bump.alloc_str(text)),
        Json::Array(items) => Value::list_in(bump, items.iter().map(|item| copy_to_arena(item, bump))),
        Json::Object(map) => Value::dict_in(
            bump,
            map.iter().map(|(key, value)| (&*bump.alloc_str(key), copy_to_arena(value, bump))),
        ),
        Json::Null => Value::Missing,
        Json::Bool(_) | Json::Number(_) => match Value::from_json(json) {
            Value::Bool(value) => Value::Bool(value),
            Value::Int(value) => Value::Int(value),
            Value::Wide(value) => Value::Wide(value),
            Value::Float(value) => Value::Float(value),
            _ => Value::Missing,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn identical_values_have_the_same_hash() {
        let bump = Bump::new();
        let time = parse_datetime("2024-05-01T12:00:00+02:00").expect("a time");
        let pairs = [
            (Value::Int(3), Value::Float(3.0)),
            (Value::Wide(1 << 63), Value::Float(9_223_372_036_854_775_808.0)),
            (Value::Float(0.0), Value::Float(-0.0)),
            (Value::Str("2024-05-01T10:00:00Z"), Value::DateTime(time)),
        ];
        for (a, b) in pairs {
            let (a_list, b_list) = (Value::list_in(&bump, [a, a]), Value::list_in(&bump, [b, a]));
            let a_dict = Value::dict_in(&bump, [("x", a), ("y", a_list)]);
            let b_dict = Value::dict_in(&bump, [("x", b), ("y", b_list)]);
            for (a, b) in [(a, b), (a_list, b_list), (a_dict, b_dict)] {
                assert!(is_identical(a, b), "{a:?} {b:?}");
                assert_eq!(hash_call(ExternId(0), &[a]), hash_call(ExternId(0), &[b]), "{a:?} {b:?}");
            }
        }
        let (first, second) = (json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1}));
        let [first, second] = [&first, &second].map(|json| hash_call(ExternId(0), &[Value::from_json(json)]));
        assert_eq!(first, second);
    }

    #[test]
    fn identical_calls_are_made_once() {
        let cached_calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = Arc::clone(&cached_calls);
        let function: HostFn = Arc::new(move |args| {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(json!(args.len()))
        });
        let host = RegisteredFunction {
            name: "f".into(),
            result_kinds: KindSet::single(rulec_lang::ty::Kind::Int),
            function,
            max_work_per_byte: None,
        };
        let (host_functions, arena) = ([host.clone(), host], Arena::default());
        let mut calls = HostCalls::new(&host_functions);
        for _ in 0..2 {
            for id in 0..2 {
                for n in 0..50 {
                    let args = [Value::Int(n), Value::Float(n as f64), Value::Str("x")];
                    let result = calls.call(ExternId(id), &args[..=n as usize % 3], &arena);
                    assert_eq!(result.to_json(), json!(n % 3 + 1));
                }
            }
        }
        assert_eq!(cached_calls.load(std::sync::atomic::Ordering::Relaxed), 100);
    }
}
