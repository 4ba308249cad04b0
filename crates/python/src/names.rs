//! Arguments of Python functions that are lists of names. A single text is one name, although
//! Python can iterate over its characters.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A list of names, given as an iterable of texts, or as one text.
pub struct Names(pub Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Names {
    type Error = PyErr;

    fn extract(names: Borrowed<'_, 'py, PyAny>) -> PyResult<Names> {
        if let Ok(name) = names.extract::<String>() {
            return Ok(Names(vec![name]));
        }
        let wrong = |found: Bound<'_, PyAny>| {
            PyTypeError::new_err(format!("a list of texts is wanted, and not {}", found.get_type()))
        };
        let iterator = names.try_iter().map_err(|_| wrong(names.to_owned()))?;
        let texts = iterator.map(|name| {
            let name = name?;
            name.extract().map_err(|_| wrong(name))
        });
        Ok(Names(texts.collect::<PyResult<_>>()?))
    }
}
