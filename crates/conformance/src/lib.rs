//! Conformance cases: one JSON object per line, with the expected result.
//!
//! Each selected engine runs the whole case. Cases of routes, choices and flows are imported from
//! the original's JSON, compiled and decided. Payload and workflow cases use the bundled rules.
//!
//! To add a kind, add a row to [`KINDS`] and the function that the row names.

mod bundled;
mod decide;
pub mod payload;
pub mod workflow;

use rulec::{Backend, Indexing, Message, Rules, Tier};
use rulec_base::json;
use rulec_base::message;
use serde_json::{Number, Value as Json};

/// Settings for running cases.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Engines that must give the same answers.
    pub tiers: Vec<Tier>,
    /// Context shared by all cases of a file, for the kinds that have one.
    pub context: Option<Json>,
}

/// A kind of case.
#[derive(Debug)]
pub struct Kind {
    /// Name on the command line.
    pub name: &'static str,
    /// Runs one case and compares the result.
    run: fn(&Json, &Setting) -> Verdict,
}

/// Result of a case: `Ok`, or the reason why it fails.
type Verdict = Result<(), Message>;

/// Configures the rules for an engine, and checks that this engine is really used.
fn by(rules: &Rules, tier: Tier) -> Result<Rules, Message> {
    let indexing = if tier == Tier::Auto { Indexing::Auto } else { Indexing::Never };
    let rules = rules.with_tier(tier).with_index(indexing);
    rules.warm_up().map_err(|error| error.to_message())?;
    let wanted = match tier {
        Tier::Auto => return Ok(rules),
        Tier::Reference => Backend::Reference,
        Tier::Vm => Backend::Vm,
        Tier::Jit => Backend::Jit,
    };
    let found = rules.main().backend(false);
    if found == wanted {
        Ok(rules)
    } else {
        let found = format!("{found:?}").to_lowercase();
        Err(message!("the engine {} was requested, but {found} decides", tier.name()))
    }
}

/// All kinds, in the order of the documentation.
pub const KINDS: &[Kind] = &[
    Kind { name: "route", run: decide::route },
    Kind { name: "choice", run: decide::choice },
    Kind { name: "flow", run: decide::flow },
    Kind { name: "payload", run: bundled::payload },
    Kind { name: "workflow", run: bundled::workflow },
];

/// Returns the kind of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

fn member<'c>(case: &'c Json, key: &str) -> Result<&'c Json, Message> {
    case.get(key).ok_or_else(|| message!("the case has no `{key}`"))
}

/// True if two numbers are equal by value; two integers are compared exactly.
fn is_same_number(a: &Number, b: &Number) -> bool {
    a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
}

/// A failed case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the file, from 1.
    pub line: usize,
    /// Name of the case; empty if it has none.
    pub name: String,
    /// Reason, as text.
    pub message: Message,
}

/// Result of running a file of cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of passed cases.
    pub passed: usize,
    /// The failed cases.
    pub failures: Vec<Failure>,
}

impl Kind {
    /// Runs the cases of a text, one per line; empty lines are skipped.
    pub fn run(&self, text: &str, setting: &Setting) -> Report {
        let mut report = Report::default();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (name, verdict) = match json::parse_object(line) {
                Err(error) => (String::new(), Err(error.to_message())),
                Ok(case) => {
                    let case = Json::Object(case);
                    let name = case["name"].as_str().unwrap_or_default().to_owned();
                    (name, (self.run)(&case, setting))
                }
            };
            match verdict {
                Ok(()) => report.passed += 1,
                Err(message) => report.failures.push(Failure { line: at + 1, name, message }),
            }
        }
        report
    }
}
