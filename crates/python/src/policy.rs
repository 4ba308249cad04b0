//! Python class for the policy of a handler: time limits, retries, circuit breaker and fallbacks.

use super::arguments::refuse_unknown_arguments;
use super::error::RouterError;
use super::names::Names;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rulec_runtime::route;
use std::time::Duration;

/// Converts a number of seconds to a duration. Fails if the number is negative, not finite or too
/// large.
pub fn duration_from_seconds(seconds: f64) -> PyResult<Duration> {
    let to_error = |_| RouterError::new_err(format!("{seconds} is no number of seconds; give 0 or more"));
    Duration::try_from_secs_f64(seconds).map_err(to_error)
}

/// How a router calls a handler that may be slow or fail. Times are in seconds.
///
/// `time_limit` applies to one handler, and `chain_limit` to the handler with its retries and
/// fallbacks. `retries` are the number of retries and the pause before the first one. `circuit` are
/// the number of failures after which the handler is not called, and for how long. `fallbacks` name
/// the handlers that are tried in its place.
///
/// >>> import asyncio
/// >>> async def slow(request):
/// ...     await asyncio.sleep(60)
/// >>> async def main():
/// ...     policy = Policy(time_limit=0.01, fallbacks=["apology"])
/// ...     handlers = {"chat": slow, "apology": lambda request: "sorry"}
/// ...     return await Router(Rules.from_text("default -> chat"), handlers, policies={"chat": policy}).route({})
/// >>> asyncio.run(main()).reply
/// 'sorry'
#[pyclass(frozen, module = "rulec")]
pub struct Policy(pub route::Policy, String);

/// Returns the Python call that would create a policy, for `repr`. Arguments without a value are
/// left out.
fn constructor_text(arguments: [(&str, Option<String>); 5]) -> String {
    let given = arguments.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    format!("Policy({})", given.collect::<Vec<_>>().join(", "))
}

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (*, time_limit = None, chain_limit = None, retries = None, circuit = None, fallbacks = None, **unknown),
        text_signature = "(*, time_limit=None, chain_limit=None, retries=None, circuit=None, fallbacks=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        time_limit: Option<f64>,
        chain_limit: Option<f64>,
        retries: Option<(usize, f64)>,
        circuit: Option<(u32, f64)>,
        fallbacks: Option<Names>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Policy> {
        refuse_unknown_arguments(&py.get_type::<Policy>(), unknown)?;
        let fallbacks = fallbacks.map(|names| names.0);
        let shown = constructor_text([
            ("time_limit", time_limit.map(|limit| limit.to_string())),
            ("chain_limit", chain_limit.map(|limit| limit.to_string())),
            ("retries", retries.map(|retries| format!("{retries:?}"))),
            ("circuit", circuit.map(|circuit| format!("{circuit:?}"))),
            ("fallbacks", fallbacks.as_ref().map(|names| format!("{names:?}"))),
        ]);
        let mut policy = route::Policy::new();
        if let Some(limit) = time_limit {
            policy = policy.time_limit(duration_from_seconds(limit)?);
        }
        if let Some(limit) = chain_limit {
            policy = policy.chain_limit(duration_from_seconds(limit)?);
        }
        if let Some((times, first_pause)) = retries {
            policy = policy.retries(times, duration_from_seconds(first_pause)?);
        }
        if let Some((failures, open_for)) = circuit {
            policy = policy.circuit(failures, duration_from_seconds(open_for)?);
        }
        let policy = fallbacks.into_iter().flatten().fold(policy, route::Policy::fallback);
        Ok(Policy(policy, shown))
    }

    fn __repr__(&self) -> String {
        self.1.clone()
    }
}
