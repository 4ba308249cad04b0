//! Converts diagnostics and other errors of the library to Python objects and exceptions.

use pyo3::PyTypeInfo;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyLookupError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyType};
use pythonize::pythonize;
use rulec::{Applicability, Message, Severity, SourceMap, Span};
use rulec_base::diag::{Code, visible_offset};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Display;

create_exception!(
    rulec,
    RulecError,
    PyException,
    "An error of this package.

>>> try:
...     Rules.from_text(\"default -> chat\").flows()
... except RulecError as error:
...     print(type(error).__name__)
RulecError"
);
create_exception!(
    rulec,
    CompileError,
    RulecError,
    "Rules that do not compile, with everything that is wrong with them.

>>> try:
...     Rules.from_text(\"let a = 1 let a = 2\")
... except CompileError as error:
...     print([found.code for found in error.diagnostics])
['E0203']"
);

create_exception!(
    rulec,
    RouterError,
    RulecError,
    "A router that cannot be made, such as one without a handler that the rules name.

>>> try:
...     Router(Rules.from_text(\"default -> chat\"), {})
... except RouterError as error:
...     print(\"`chat`\" in str(error))
True"
);

/// An exception class with two base classes: [`RulecError`], and a built-in class that programs may
/// catch. `create_exception!` supports only one base class.
struct ErrorClass {
    class: PyOnceLock<Py<PyType>>,
    name: &'static str,
    doc: &'static str,
}

impl ErrorClass {
    fn python_class<'py, Base: PyTypeInfo>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyType>> {
        let class = self.class.get_or_try_init(py, || {
            let bases = (py.get_type::<RulecError>(), py.get_type::<Base>());
            let attributes = [("__module__", "rulec"), ("__doc__", self.doc)].into_py_dict(py)?;
            let class = py.get_type::<PyType>().call1((self.name, bases, attributes))?;
            Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
        })?;
        Ok(class.bind(py).clone())
    }

    fn new_error<Base: PyTypeInfo>(&self, text: String) -> PyErr {
        Python::attach(|py| match self.python_class::<Base>(py) {
            Ok(class) => PyErr::from_type(class, (text,)),
            Err(error) => error,
        })
    }
}

static UNKNOWN_NAME_ERROR: ErrorClass = ErrorClass {
    class: PyOnceLock::new(),
    name: "UnknownName",
    doc: "A name that the rules do not have, with the nearest name.

>>> try:
...     Rules.from_text(\"table billing { default -> h }\").decide({}, entry=\"biling\")
... except UnknownName as error:
...     print(\"did you mean `billing`\" in str(error))
True",
};
static MESSAGE_ERROR: ErrorClass = ErrorClass {
    class: PyOnceLock::new(),
    name: "MessageError",
    doc: "A message that has no form in JSON, with the path of the value.

>>> try:
...     Rules.from_text(\"default -> chat\").decide({\"user\": {\"id\": object()}})
... except MessageError as error:
...     print(str(error).split(\",\")[0])
`user.id` is a value of type `object`",
};

/// Adds the exception classes with two base classes to the module.
pub fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("UnknownName", UNKNOWN_NAME_ERROR.python_class::<PyLookupError>(module.py())?)?;
    module.add("MessageError", MESSAGE_ERROR.python_class::<PyValueError>(module.py())?)
}

/// Creates the exception for a message that cannot be decided.
pub fn message_error(text: impl Into<String>) -> PyErr {
    MESSAGE_ERROR.new_error::<PyValueError>(text.into())
}

/// True if a Python exception has the class that [`message_error`] creates.
pub fn is_message_error(py: Python<'_>, error: &PyErr) -> bool {
    MESSAGE_ERROR
        .python_class::<PyValueError>(py)
        .is_ok_and(|class| error.matches(py, class).unwrap_or(false))
}

/// A range of the rules text, in the format of `rulec check --format json`. Lines and columns start
/// at 1, columns count characters, and the end is exclusive.
#[derive(Debug, Serialize)]
pub struct TextRange {
    pub file: String,
    pub line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

impl TextRange {
    /// Converts a span to a range of lines and columns. `None` if `sources` lacks the file of the
    /// span.
    pub fn from_span(span: Span, sources: &SourceMap) -> Option<TextRange> {
        let file = sources.get(span.file)?;
        let start = visible_offset(file, span.start);
        let (start, end) = (file.position(start), file.position(visible_offset(file, span.end).max(start)));
        Some(TextRange {
            file: file.name.clone(),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        })
    }
}

#[derive(Debug, Serialize)]
struct Label {
    #[serde(flatten)]
    range: Option<TextRange>,
    text: String,
}

#[derive(Debug, Serialize)]
struct Fix {
    #[serde(flatten)]
    range: Option<TextRange>,
    replacement: String,
    applicability: &'static str,
}

/// An error or a warning about the text of rules.
///
/// >>> try:
/// ...     Rules.from_text("let a = 1 let a = 2")
/// ... except CompileError as error:
/// ...     [found] = error.diagnostics
/// >>> found.code, found.severity, found.line, found.column
/// ('E0203', 'error', 1, 15)
#[pyclass(frozen, module = "rulec")]
#[derive(Debug, Serialize)]
pub struct Diagnostic {
    /// The code, such as `E0203`.
    #[pyo3(get)]
    code: String,
    /// The severity: `error` or `warning`.
    #[pyo3(get)]
    severity: String,
    /// The message, in one line.
    #[pyo3(get)]
    message: String,
    /// A remedy; None if there is none.
    #[pyo3(get)]
    help: Option<String>,
    /// The diagnostic as the command line prints it, with the text underlined.
    #[pyo3(get)]
    #[serde(skip)]
    pub rendered: String,
    #[serde(flatten)]
    range: Option<TextRange>,
    labels: Vec<Label>,
    fixes: Vec<Fix>,
}

/// Returns the help for a diagnostic, if Python programs need another text than Rust programs.
/// Otherwise returns `None`.
fn python_help(diagnostic: &rulec::Diagnostic, sources: &SourceMap) -> Option<Message> {
    let span = diagnostic.span().filter(|_| diagnostic.code == Code::HostFunction)?;
    diagnostic.help.as_ref().filter(|help| help.to_string().contains("Compiler::new()"))?;
    let name = sources.get(span.file)?.text.get(span.start as usize..span.end as usize)?;
    let help = format!("give the function where you load the rules: `functions={{\"{name}\": …}}`");
    Some(Message::verbatim(help))
}

impl Diagnostic {
    pub fn new(diagnostic: &rulec::Diagnostic, sources: &SourceMap) -> Diagnostic {
        let mut diagnostic = Cow::Borrowed(diagnostic);
        if let Some(help) = python_help(&diagnostic, sources) {
            diagnostic.to_mut().help = Some(help);
        }
        let labels = diagnostic.labels.iter();
        let fixes = diagnostic.fixes.iter().map(|fix| Fix {
            range: TextRange::from_span(fix.span, sources),
            replacement: fix.replacement.clone(),
            applicability: match fix.applicability {
                Applicability::MachineApplicable => "machine_applicable",
                Applicability::MaybeIncorrect => "maybe_incorrect",
            },
        });
        Diagnostic {
            code: diagnostic.code.to_string(),
            severity: match diagnostic.severity() {
                Severity::Error => "error".to_owned(),
                Severity::Warning => "warning".to_owned(),
            },
            message: diagnostic.message.to_string(),
            help: diagnostic.help.as_ref().map(ToString::to_string),
            rendered: diagnostic.render(sources),
            range: diagnostic.span().and_then(|span| TextRange::from_span(span, sources)),
            labels: labels
                .map(|label| Label {
                    range: TextRange::from_span(label.span, sources),
                    text: label.text.to_string(),
                })
                .collect(),
            fixes: fixes.collect(),
        }
    }

    /// Converts a list of diagnostics to Python objects.
    pub fn from_diagnostics(diagnostics: &[rulec::Diagnostic], sources: &SourceMap) -> Vec<Diagnostic> {
        diagnostics.iter().map(|diagnostic| Diagnostic::new(diagnostic, sources)).collect()
    }
}

#[pymethods]
impl Diagnostic {
    /// The file with the error. None if the diagnostic concerns no place in a text.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.range.as_ref().map(|range| &*range.file)
    }

    /// The line, from 1. None if the diagnostic concerns no place in a text.
    #[getter]
    fn line(&self) -> Option<usize> {
        self.range.as_ref().map(|range| range.line)
    }

    /// The column, from 1, in characters. None if the diagnostic concerns no place in a text.
    #[getter]
    fn column(&self) -> Option<usize> {
        self.range.as_ref().map(|range| range.column)
    }

    /// Returns the diagnostic as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self)?)
    }

    fn __str__(&self) -> &str {
        &self.rendered
    }

    pub fn __repr__(&self) -> String {
        let range =
            self.range.as_ref().map(|range| format!("{}:{}:{}: ", range.file, range.line, range.column));
        format!("<Diagnostic {}{}: {}>", range.unwrap_or_default(), self.code, self.message)
    }
}

/// Creates the exception for rules that do not compile. The exception's text shows the diagnostics.
/// Its attribute `diagnostics` contains the diagnostics as data.
pub fn compile_error(py: Python<'_>, error: &rulec::CompileError) -> PyErr {
    let diagnostics = Diagnostic::from_diagnostics(error.diagnostics(), error.sources());
    let rendered: Vec<&str> = diagnostics.iter().map(|diagnostic| &*diagnostic.rendered).collect();
    let rendered = rendered.join("\n");
    let exception = CompileError::new_err((rendered.clone(),));
    let value = exception.value(py);
    match value.setattr("diagnostics", diagnostics).and_then(|()| value.setattr("rendered", rendered)) {
        Ok(()) => exception,
        Err(error) => error,
    }
}

/// Creates the exception for a name that the rules do not declare.
pub fn unknown_name_error(error: impl Display) -> PyErr {
    UNKNOWN_NAME_ERROR.new_error::<PyLookupError>(error.to_string())
}

/// Creates the exception for any other error of the library.
pub fn library_error(error: impl Display) -> PyErr {
    RulecError::new_err(error.to_string())
}

/// Returns the qualified name of a Python exception's class.
pub fn exception_class(py: Python<'_>, error: &PyErr) -> String {
    error.get_type(py).qualname().map_or_else(|_| "Exception".to_owned(), |name| name.to_string())
}

/// Returns the text of a Python exception: the name of its class, followed by its message.
pub fn exception_text(py: Python<'_>, error: &PyErr) -> String {
    let class = exception_class(py, error);
    match error.value(py).str() {
        Ok(text) if text.to_string_lossy().is_empty() => class,
        Ok(text) => format!("{class}: {}", text.to_string_lossy()),
        Err(_) => class,
    }
}
