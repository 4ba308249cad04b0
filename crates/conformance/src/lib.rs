//! Runs conformance cases, which check that every engine decides as documented. A case is an input
//! with the expected result, as one line of JSON.
//!
//! Each selected engine runs every case. Cases of routes, choices and flows contain rules in the
//! JSON format of another system, which are imported and compiled. Payload and workflow cases use
//! the rule files that are bundled with `rulec`.
//!
//! To add a kind of case, add a row to [`CASE_KINDS`] and the function that the row names.

mod bundled;
mod decide;
pub mod payload;
pub mod workflow;

use rulec::{Backend, Indexing, Message, Rules, Tier};
use rulec_base::json;
use rulec_base::message;
use serde_json::{Number, Value as Json};

/// Settings for a run of conformance cases: the engines to test, and the input of the rules.
#[derive(Clone, Debug, Default)]
pub struct RunSetting {
    /// The engines (tiers), such as the VM and machine code, that run each case. All must give the
    /// expected result.
    pub tiers: Vec<Tier>,
    /// The JSON value of the rules' `input context`, shared by all payload cases of a file; null if
    /// `None`.
    pub context: Option<Json>,
}

/// A kind of conformance case, such as `route`.
#[derive(Debug)]
pub struct CaseKind {
    /// Name of the kind on the command line.
    pub name: &'static str,
    /// Runs one case and compares the actual with the expected result.
    run: fn(&Json, &RunSetting) -> CaseVerdict,
}

/// Outcome of a case: `Ok` if it passes, otherwise the reason why it fails.
type CaseVerdict = Result<(), Message>;

/// Returns the rules, configured so that the engine of `tier` decides. Returns an error if another
/// engine would decide, for example because the requested engine is not available.
fn with_engine(rules: &Rules, tier: Tier) -> Result<Rules, Message> {
    let indexing = if tier == Tier::Auto { Indexing::Auto } else { Indexing::Never };
    let rules = rules.with_tier(tier).with_index(indexing);
    rules.warm_up().map_err(|error| error.to_message())?;
    let requested_backend = match tier {
        Tier::Auto => return Ok(rules),
        Tier::Reference => Backend::Reference,
        Tier::Vm => Backend::Vm,
        Tier::Jit => Backend::Jit,
    };
    let actual_backend = rules.main().backend(false);
    if actual_backend == requested_backend {
        Ok(rules)
    } else {
        let found = format!("{actual_backend:?}").to_lowercase();
        Err(message!("the engine {} was requested, but {found} decides", tier.name()))
    }
}

/// All kinds of cases, in the order in which the documentation lists them.
pub const CASE_KINDS: &[CaseKind] = &[
    CaseKind { name: "route", run: decide::check_route_case },
    CaseKind { name: "choice", run: decide::check_choice_case },
    CaseKind { name: "flow", run: decide::check_flow_case },
    CaseKind { name: "payload", run: bundled::check_payload_case },
    CaseKind { name: "workflow", run: bundled::check_workflow_case },
];

/// Returns the kind of case with this name; `None` if there is no such kind.
pub fn find_case_kind(name: &str) -> Option<&'static CaseKind> {
    CASE_KINDS.iter().find(|kind| kind.name == name)
}

fn required_member<'c>(case: &'c Json, key: &str) -> Result<&'c Json, Message> {
    case.get(key).ok_or_else(|| message!("the case has no `{key}`"))
}

/// True if two numbers are equal by value; two integers are compared exactly.
fn is_same_number(a: &Number, b: &Number) -> bool {
    a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
}

/// A conformance case that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFailure {
    /// Line of the case in its file, from 1.
    pub line: usize,
    /// Name of the case; empty if the case has no name.
    pub name: String,
    /// Reason why the case failed, as a localized message.
    pub message: Message,
}

/// Result of running all conformance cases of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Number of cases that passed.
    pub passed_count: usize,
    /// The cases that failed.
    pub failures: Vec<CaseFailure>,
}

impl CaseKind {
    /// Runs all conformance cases in `text`, which has one case per line. Empty lines are skipped.
    pub fn run(&self, text: &str, setting: &RunSetting) -> RunReport {
        let mut report = RunReport::default();
        for (line_index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (name, verdict) = match json::parse_object(line) {
                Err(error) => (String::new(), Err(error.to_message())),
                Ok(case) => {
                    let case = Json::Object(case);
                    let name = case["name"].as_str().unwrap_or_default().to_owned();
                    (name, (self.run)(&case, setting))
                }
            };
            match verdict {
                Ok(()) => report.passed_count += 1,
                Err(message) => report.failures.push(CaseFailure { line: line_index + 1, name, message }),
            }
        }
        report
    }
}
