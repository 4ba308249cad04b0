//! Creates the rules of a JSON document of another system, and rules of the program with a payload
//! context from such a document.

use super::rules::Rules;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use rulec_import::Imported;
use std::sync::Arc;

impl Rules {
    /// Creates rules that were loaded from a JSON document of another system.
    pub fn from_imported(imported: Imported) -> Rules {
        Rules::from_imported_with(imported, None)
    }

    /// Like [`Rules::from_imported`]. `functions` are the Python functions that the rules call.
    fn from_imported_with(imported: Imported, functions: Option<Py<PyMapping>>) -> Rules {
        let mut rules = Rules::from_compiled(imported.rules.clone(), functions);
        rules.imported = Some(Arc::new(imported));
        rules
    }

    /// Creates rules with the payload context that `imported` contains. `own` are the rules of the
    /// program; `None` for the bundled rules.
    pub fn with_context(py: Python<'_>, imported: Imported, own: Option<&Rules>) -> Rules {
        let Some(own) = own else { return Rules::from_imported(imported) };
        let functions = own.functions.as_ref().map(|functions| functions.clone_ref(py));
        Rules::from_imported_with(imported.with_rules(&own.rules), functions)
    }
}
