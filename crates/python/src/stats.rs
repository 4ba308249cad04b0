//! Counts and latencies of routers and watched rules, as Python dicts.

use pyo3::prelude::*;
use pythonize::pythonize;
use rulec_runtime::route;

/// Converts the counts of a router or of watched rules to a Python dict. Adds the upper bounds of
/// the buckets of the latency histograms.
pub fn stats_to_python<'py>(py: Python<'py>, stats: &route::RouterStats) -> PyResult<Bound<'py, PyAny>> {
    let dict = pythonize(py, stats)?;
    dict.set_item("latency_bounds_us", route::LATENCY_BOUNDS_US)?;
    Ok(dict)
}
