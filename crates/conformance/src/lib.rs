//! Cases with expected results, one JSON object a line, held against the engine.
//!
//! A case goes the whole way, by every engine that is asked for: from the original's JSON through
//! the importer and the compiler to a decision, or, for payloads and workflows, by the rules that
//! come with the project.
//!
//! To add a kind: a row in [`KINDS`] and the function it names.

mod bundled;
mod decide;
pub mod payload;
pub mod workflow;

use rulec::{Backend, Indexing, Message, Rules, Tier};
use rulec_base::json;
use rulec_base::message;
use serde_json::{Number, Value as Json};

/// The settings that a case is run with.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The engines that must answer alike.
    pub tiers: Vec<Tier>,
    /// The context that all cases of a file share, for the kinds that have one.
    pub context: Option<Json>,
}

/// A kind of case.
#[derive(Debug)]
pub struct Kind {
    /// The name used on the command line.
    pub name: &'static str,
    /// Holds one case against the engine.
    run: fn(&Json, &Setting) -> Verdict,
}

/// The verdict on a case: it holds, or what is wrong.
type Verdict = Result<(), Message>;

/// The rules as an engine decides by them, which must be the one that was asked for.
fn by(rules: &Rules, tier: Tier) -> Result<Rules, Message> {
    let indexing = if tier == Tier::Auto { Indexing::Auto } else { Indexing::Never };
    let rules = rules.with_tier(tier).with_index(indexing);
    rules.ready().map_err(|error| error.in_words())?;
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
        Err(message!("the engine {} was asked for, and {found} decides", tier.name()))
    }
}

/// Every kind, in the order it is documented.
pub const KINDS: &[Kind] = &[
    Kind { name: "route", run: decide::route },
    Kind { name: "choice", run: decide::choice },
    Kind { name: "flow", run: decide::flow },
    Kind { name: "payload", run: bundled::payload },
    Kind { name: "workflow", run: bundled::workflow },
];

/// The kind of that name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

fn member<'c>(case: &'c Json, key: &str) -> Result<&'c Json, Message> {
    case.get(key).ok_or_else(|| message!("the case has no `{key}`"))
}

/// Compares numbers by value, two integers exactly.
fn is_same_number(a: &Number, b: &Number) -> bool {
    a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
}

/// A case that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line of the file, from 1.
    pub line: usize,
    /// The case's name, where it has one.
    pub name: String,
    /// The mistake, in words.
    pub message: Message,
}

/// The result of a file of cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Cases that hold.
    pub passed: usize,
    /// Those that do not.
    pub failures: Vec<Failure>,
}

impl Kind {
    /// Runs the cases of a text, one a line; empty lines are passed over.
    pub fn run(&self, text: &str, setting: &Setting) -> Report {
        let mut report = Report::default();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (name, verdict) = match json::parse_object(line) {
                Err(error) => (String::new(), Err(error.in_words())),
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
