//! Python class for the intent classifier, which a program can train with its own examples.

use super::error::library_error;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use rulec_nlu::{Intent, Options};

/// The built-in classifier of intents. It abstains where it is not sure.
///
/// >>> classifier = Classifier.train([
/// ...     ("refund", ["I want my money back", "please refund my order"]),
/// ...     ("status", ["where is my parcel", "when does my order arrive"]),
/// ... ])
/// >>> classifier.classify("give me my money back")
/// 'refund'
#[pyclass(frozen, module = "rulec")]
pub struct Classifier(
    // Boxed, because its vectors need a larger memory alignment than Python gives to its objects.
    Box<rulec_nlu::Classifier>,
);

// Python aligns its objects to 16 bytes, so a class must not need more.
const _: () = assert!(align_of::<Classifier>() <= 16 && align_of::<super::decide::Session>() <= 16);

/// The id of an intent, and its score.
type RankedIntent = (String, f64);

#[pymethods]
impl Classifier {
    /// Trains a classifier. `intents` maps ids to example sentences. The classifier abstains if the
    /// best score is below `threshold`, or exceeds the second best by less than `margin`.
    #[staticmethod]
    #[pyo3(signature = (intents, *, threshold = None, margin = None))]
    fn train(
        py: Python<'_>,
        intents: Vec<(String, Vec<String>)>,
        threshold: Option<f64>,
        margin: Option<f64>,
    ) -> PyResult<Classifier> {
        let intents: Vec<Intent> =
            intents.into_iter().map(|(id, examples)| Intent::new(id).examples(examples)).collect();
        let default = Options::default();
        let options = Options {
            threshold: threshold.unwrap_or(default.threshold),
            margin: margin.unwrap_or(default.margin),
        };
        let trained = without_gil(py, || rulec_nlu::Classifier::train(&intents, options));
        trained.map(|trained| Classifier(Box::new(trained))).map_err(library_error)
    }

    /// Returns the id of the intent that a text expresses; None if the classifier abstains.
    fn classify(&self, py: Python<'_>, text: &str) -> Option<String> {
        without_gil(py, || self.0.classify(text).chosen().map(str::to_owned))
    }

    /// Returns the intents with the highest scores for a text, at most five, best first.
    fn ranked(&self, py: Python<'_>, text: &str) -> Vec<RankedIntent> {
        let to_pair = |ranked: &rulec_nlu::Ranked<'_>| (ranked.id.to_owned(), ranked.score);
        without_gil(py, || self.0.classify(text).ranked().iter().map(to_pair).collect())
    }

    /// The ids of the intents.
    #[getter]
    fn ids(&self) -> Vec<String> {
        self.0.ids().to_vec()
    }

    fn __repr__(&self) -> String {
        format!("<Classifier: {} intents>", self.0.ids().len())
    }
}
