//! Python functions that a Rust object holds, so that Python's garbage collector can free them.
//!
//! A handler often refers to its router, and the router holds the handler: a reference cycle. The
//! collector can break the cycle only if the router shows its functions and gives them up.

use pyo3::exceptions::PyReferenceError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, Python};
use std::sync::{Arc, Mutex, PoisonError};

/// A Python function with one reference for all its Rust owners. `None` after the collector has
/// freed the function. Cheap to clone.
///
/// The mutex is locked only by threads that hold the GIL, and never while Python code runs. So the
/// collector, which holds the GIL, always finds it unlocked.
#[derive(Clone)]
pub struct HeldFunction(Arc<Mutex<Option<Py<PyAny>>>>);

impl HeldFunction {
    fn new(function: Py<PyAny>) -> HeldFunction {
        HeldFunction(Arc::new(Mutex::new(Some(function))))
    }

    /// Returns the function.
    ///
    /// # Errors
    /// `ReferenceError` if the collector has freed the function.
    pub fn get(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let function = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let freed = || PyReferenceError::new_err("the object that held this function has been freed");
        function.as_ref().map(|function| function.clone_ref(py)).ok_or_else(freed)
    }

    /// Passes an exception that the function raised to `sys.unraisablehook`.
    pub fn write_unraisable(&self, py: Python<'_>, error: PyErr) {
        let function = self.get(py).ok();
        error.write_unraisable(py, function.as_ref().map(|function| function.bind(py)));
    }
}

/// All Python functions that one object holds.
#[derive(Default)]
pub struct HeldFunctions(Vec<HeldFunction>);

impl HeldFunctions {
    /// Adds a function to the functions of the object.
    pub fn hold(&mut self, function: Py<PyAny>) -> HeldFunction {
        let held = HeldFunction::new(function);
        self.0.push(held.clone());
        held
    }

    /// Shows all functions to the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for HeldFunction(function) in &self.0 {
            if let Ok(function) = function.try_lock() {
                visit.call(&*function)?;
            }
        }
        Ok(())
    }

    /// Gives up all functions, because the garbage collector found that nothing uses the object.
    pub fn clear(&self) {
        for HeldFunction(function) in &self.0 {
            let freed = function.lock().unwrap_or_else(PoisonError::into_inner).take();
            // Dropped without the lock, because a finalizer in Python may run.
            drop(freed);
        }
    }
}
