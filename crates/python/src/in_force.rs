//! The active rules, for Python objects that always use the current version of live rules, of a
//! watched file or of a router.

use super::error::compile_error;
use super::live::LiveRules;
use super::router::Router;
use super::rules::Rules;
use super::shutdown::without_gil;
use super::watched_rules::WatchedRules;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use rulec_runtime::route::LoadedRules;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rules in force of live rules, of a watched file or of a router. For classes that follow
/// them; fixed `Rules` are accepted too.
///
/// >>> live = LiveRules.from_text("default -> chat")
/// >>> in_force = RulesInForce(live)
/// >>> in_force.current() is in_force.current()
/// True
/// >>> generation = live.replace("default -> person")
/// >>> in_force.current().decide({}).target
/// 'person'
#[pyclass(frozen, module = "rulec")]
pub struct RulesInForce {
    /// Function that returns the active rules; `None` for `Rules`, which never change.
    read_live_rules: Option<Box<dyn Fn() -> LoadedRules + Send + Sync>>,
    /// The rules that `current` has returned last, with their generation (version number).
    last_merged: Mutex<(u64, Py<Rules>)>,
}

/// Locks a mutex. A thread that waits for the lock releases the GIL.
fn lock<'m, T>(py: Python<'_>, mutex: &'m Mutex<T>) -> MutexGuard<'m, T> {
    mutex.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// Replaces the value in a mutex. Drops the former value after the lock is released: a finalizer in
/// Python may lock the mutex again, or release the GIL.
fn replace_locked<T>(py: Python<'_>, mutex: &Mutex<T>, value: T) {
    let former = std::mem::replace(&mut *lock(py, mutex), value);
    drop(former);
}

/// Compiles the pending edits of live rules, and returns the rules with their generation (version
/// number).
fn merge_edits(py: Python<'_>, loaded: &LoadedRules) -> PyResult<(u64, Py<Rules>)> {
    let live = &loaded.rules;
    // The generation is read first. If an edit follows, the compiled rules are newer than this
    // number, and the next call compiles again.
    let generation = live.generation();
    let rules = without_gil(py, || live.merge().map(|()| live.rules()));
    let rules = rules.map_err(|error| compile_error(py, &error))?;
    let mut rules = Rules::from_compiled(rules, None);
    rules.imported.clone_from(&loaded.document);
    Ok((generation, Py::new(py, rules)?))
}

#[pymethods]
impl RulesInForce {
    #[new]
    pub fn new(rules: &Bound<'_, PyAny>) -> PyResult<RulesInForce> {
        let py = rules.py();
        let live: Box<dyn Fn() -> LoadedRules + Send + Sync> = if let Ok(fixed) = rules.cast::<Rules>() {
            let last = Mutex::new((fixed.get().rules.generation(), fixed.clone().unbind()));
            return Ok(RulesInForce { read_live_rules: None, last_merged: last });
        } else if let Ok(live) = rules.cast::<LiveRules>() {
            let live = live.get().loaded_rules();
            Box::new(move || live.clone())
        } else if let Ok(watched) = rules.cast::<WatchedRules>() {
            let watched = watched.get().rules.clone();
            Box::new(move || watched.loaded_rules())
        } else if let Ok(router) = rules.cast::<Router>() {
            let router = router.get().router.clone();
            Box::new(move || router.rules().into())
        } else {
            let (found, help) = (rules.get_type(), "`Rules.from_path` reads a file");
            return Err(PyTypeError::new_err(format!(
                "`Rules`, `LiveRules`, `WatchedRules` or a `Router` are wanted, and not a {found}; {help}"
            )));
        };
        let last = Mutex::new(merge_edits(py, &live())?);
        Ok(RulesInForce { read_live_rules: Some(live), last_merged: last })
    }

    /// Returns the active rules, with all edits. Returns the same object until the rules change.
    pub fn current(&self, py: Python<'_>) -> PyResult<Py<Rules>> {
        // Dropping live rules may call finalizers in Python, so they are dropped without the lock.
        let Some(live) = self.read_live_rules.as_ref().map(|live| live()) else {
            return Ok(lock(py, &self.last_merged).1.clone_ref(py));
        };
        let generation = live.rules.generation();
        let known = {
            let last = lock(py, &self.last_merged);
            (last.0 == generation).then(|| last.1.clone_ref(py))
        };
        if let Some(rules) = known {
            return Ok(rules);
        }
        let (generation, rules) = merge_edits(py, &live)?;
        replace_locked(py, &self.last_merged, (generation, rules.clone_ref(py)));
        Ok(rules)
    }
}

type MakeDerived<T> = dyn Fn(&rulec::Rules) -> PyResult<T> + Send + Sync;

/// A value that is computed from the active rules, and computed again after the rules have changed.
pub struct DerivedFromRules<T> {
    rules: RulesInForce,
    make_derived: Box<MakeDerived<T>>,
    /// The value that was computed last, with the rules from which it was computed.
    last_made: Mutex<(Py<Rules>, Arc<T>)>,
}

impl<T: Send + Sync> DerivedFromRules<T> {
    /// Computes the value for the first time. `make` computes the value from rules.
    pub fn new(
        rules: &Bound<'_, PyAny>,
        make: impl Fn(&rulec::Rules) -> PyResult<T> + Send + Sync + 'static,
    ) -> PyResult<DerivedFromRules<T>> {
        let (py, in_force) = (rules.py(), RulesInForce::new(rules)?);
        let current = in_force.current(py)?;
        let made = without_gil(py, || make(&current.get().rules))?;
        Ok(DerivedFromRules {
            rules: in_force,
            make_derived: Box::new(make),
            last_made: Mutex::new((current, Arc::new(made))),
        })
    }

    /// Returns the value for the active rules. Computes the value again if the rules have changed
    /// since the last call.
    pub fn get(&self, py: Python<'_>) -> PyResult<Arc<T>> {
        let current = self.rules.current(py)?;
        let known = {
            let last = lock(py, &self.last_made);
            last.0.is(&current).then(|| last.1.clone())
        };
        if let Some(made) = known {
            return Ok(made);
        }
        let made = Arc::new(without_gil(py, || (self.make_derived)(&current.get().rules))?);
        replace_locked(py, &self.last_made, (current, made.clone()));
        Ok(made)
    }
}
