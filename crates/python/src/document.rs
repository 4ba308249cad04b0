//! Loading rules from JSON documents of other systems, with a report on the items of the document.

use super::error::{library_error, unknown_name_error};
use super::message::{is_valid_except_unreadable, python_to_json};
use super::shutdown::without_gil;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use pythonize::pythonize;
use rulec_import::{DocumentOptions, Imported, Options, Report, System};

/// One item of a JSON document of another system, and the result of loading it.
///
/// >>> flow = {"flow_id": "hi", "type": "keyword", "trigger_patterns": ["hello", " "], "match_type": "exact"}
/// >>> [item.notes for item in Rules.from_flows({"flows": [flow]}).report if item.outcome == "skipped"]
/// [['this pattern is blank; remove it']]
#[pyclass(frozen, skip_from_py_object, module = "rulec")]
#[derive(Clone)]
pub struct ReportItem(rulec_import::ReportItem);

#[pymethods]
impl ReportItem {
    /// The kind of the item, such as `flow` or `pattern`.
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.kind)?)
    }

    /// The name of the item, such as the id of a flow.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The result of loading the item: `loaded`, `adapted` or `skipped`.
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.outcome)?)
    }

    /// The changes that loading made to an adapted item, or the reason why a skipped item was not
    /// loaded.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.iter().map(ToString::to_string).collect()
    }

    /// The codes and texts of the warnings about the item.
    #[getter]
    fn warnings(&self) -> Vec<(String, String)> {
        self.0.warnings.iter().map(|(code, message)| (code.to_string(), message.to_string())).collect()
    }

    /// The JSON pointer of the item. For a skipped item, the pointer of the part that is wrong.
    #[getter]
    fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The line of the item, from 1; None if the document was not given as text.
    #[getter]
    fn line(&self) -> Option<usize> {
        self.0.position.map(|(line, _)| line)
    }

    /// The column of the item, from 1; None if the document was not given as text.
    #[getter]
    fn column(&self) -> Option<usize> {
        self.0.position.map(|(_, column)| column)
    }

    /// Returns the item as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    fn __repr__(&self) -> String {
        let notes: String = self.0.notes.iter().map(|note| format!(": {note}")).collect();
        format!("<ReportItem {:?} `{}` at {}{notes}>", self.0.outcome, self.0.name, self.0.pointer)
    }
}

/// Returns the import options. With `strict`, an item that cannot be translated makes the import
/// fail.
pub fn import_options(strict: bool) -> Options {
    if strict { Options::default().strict() } else { Options::default() }
}

/// Loads rules from the document of another system, given as JSON text or as Python values.
pub fn load_document(
    py: Python<'_>,
    system: System,
    document: &Bound<'_, PyAny>,
    options: Options,
) -> PyResult<Imported> {
    let imported = if let Ok(text) = document.cast::<PyString>() {
        let text = text.to_str()?;
        without_gil(py, || system.import(text, options))
    } else if let Ok(bytes) = document.cast::<PyBytes>() {
        let text = std::str::from_utf8(bytes.as_bytes()).map_err(library_error)?;
        without_gil(py, || system.import(text, options))
    } else {
        match python_to_json(document, "the document") {
            Ok(value) => without_gil(py, || system.import_value(&value, options)),
            // The import skips an item that contains a number such as `nan`.
            Err(error) if options != options.strict() && is_valid_except_unreadable(document) => {
                let text = py.import("json")?.call_method1("dumps", (document,)).map_err(|_| error)?;
                let text: String = text.extract()?;
                without_gil(py, || system.import_without_positions(&text, options))
            }
            Err(error) => return Err(error),
        }
    };
    imported.map_err(library_error)
}

/// Returns how a watched file is read if it is a JSON document. `system` names its system; without
/// it, the system is recognized by the shape of the document.
pub fn document_options(system: Option<&str>, strict: bool, literal: bool) -> PyResult<DocumentOptions> {
    let system = system.map(|name| name.parse::<System>().map_err(unknown_name_error)).transpose()?;
    let options = import_options(strict);
    Ok(DocumentOptions { system, options: if literal { options.literal() } else { options } })
}

/// Returns the report on the document from which rules were loaded. Empty if the rules were not
/// loaded from a document.
pub fn report_items(report: Option<&Report>) -> Vec<ReportItem> {
    let items = report.map(Report::items).unwrap_or_default();
    items.iter().cloned().map(ReportItem).collect()
}

/// Writes rules as the JSON document of another system. Returns the document, and a report on the
/// rules that the document cannot express.
pub fn export_document<'py>(
    py: Python<'py>,
    rules: &rulec::Rules,
    system: &str,
) -> PyResult<(Bound<'py, PyAny>, Vec<ReportItem>)> {
    let system: System = system.parse().map_err(unknown_name_error)?;
    let exported = without_gil(py, || system.export(rules));
    let items = exported.report.items().iter().cloned().map(ReportItem).collect();
    Ok((pythonize(py, &exported.document)?, items))
}
