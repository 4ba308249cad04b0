//! Payloads, workflows, analyses and tests.

use super::Service;
use crate::limits::Deadline;
use crate::problem::Problem;
use rulec::payload::{Judge, JudgeError};
use rulec::run_tests;
use rulec_base::json::{parse_bytes, parse_object_bytes};
use rulec_runtime::workflow::processors::{Loop, Vote, echo};
use rulec_runtime::workflow::{Report, SavedRun, Workflow};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value as Json, json};
use std::time::Instant;

/// A request to judge a payload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JudgeRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(borrow)]
    pub payload: &'m RawValue,
    /// The object that rules read as `context`.
    #[serde(borrow, default)]
    pub context: Option<&'m RawValue>,
    /// The object that rules read as `options`.
    #[serde(borrow, default)]
    pub options: Option<&'m RawValue>,
    /// Whether warnings and unchecked rules count as violations.
    #[serde(default)]
    pub strict: bool,
}

/// A request to run a workflow: from the start with an input, or a saved run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(borrow, default)]
    pub input: Option<&'m RawValue>,
    #[serde(default)]
    pub resume: Option<SavedRun>,
    /// Whether to run the failed nodes of a saved run again.
    #[serde(default)]
    pub retry_failed: bool,
    #[serde(default)]
    pub step_limit: Option<usize>,
}

/// The end of a run, or its state at the deadline.
#[derive(Serialize)]
struct WorkflowAnswer {
    complete: bool,
    report: Report,
    /// The state of a run that is not complete, for `resume`.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<Box<RawValue>>,
    /// Why a run that is not complete has no `saved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_saved: Option<String>,
}

/// Maximum number of steps of a run, which bounds its report. A resumed run counts its earlier
/// steps.
pub(crate) const MAX_STEPS: usize = 10_000;
/// Number of bytes of a request that resumes a run, without the run.
const RESUME_BYTES: usize = 256;

/// A request to analyse the text of a message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnalyzeRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(borrow)]
    pub message: &'m RawValue,
}

/// A request to record a message that is not decided.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObserveRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(borrow)]
    pub message: &'m RawValue,
}

/// A request to run the `test` blocks.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TestRequest {
    pub rules: Option<String>,
}

/// Reads a part of a request as the library reads messages, which refuses repeated keys.
fn read_json(text: &RawValue) -> Result<Json, Problem> {
    Ok(parse_bytes(text.get().as_bytes())?)
}

/// Reads an object of a request; without one, returns an empty object.
fn read_object(text: Option<&RawValue>) -> Result<Map<String, Json>, Problem> {
    text.map_or_else(|| Ok(Map::new()), |text| Ok(parse_object_bytes(text.get().as_bytes())?))
}

fn judge_problem(error: JudgeError) -> Problem {
    let text = error.to_message().to_string();
    match error {
        JudgeError::UnknownKind { .. } => Problem::unknown_entry(text),
        _ => Problem::invalid(text),
    }
}

impl Service {
    /// Judges a payload by the `payload` statement `kind`. Returns the judgement as JSON text.
    ///
    /// # Errors
    /// If there is no such kind, or the payload, context or options do not fit.
    pub(crate) fn judge(&self, kind: &str, request: JudgeRequest<'_>) -> Result<Vec<u8>, Problem> {
        let version = self.set(request.rules.as_deref())?.active();
        let mut judge = Judge::new(version.rules()?, kind).map_err(judge_problem)?;
        if let Some(context) = request.context {
            judge = judge.context(read_json(context)?).map_err(judge_problem)?;
        }
        if let Some(options) = request.options {
            judge = judge.options(read_json(options)?).map_err(judge_problem)?;
        }
        if request.strict {
            judge = judge.strict();
        }
        let payload = parse_object_bytes(request.payload.get().as_bytes());
        let payload = payload.map_err(|error| judge.masked_error(error))?;
        to_bytes(&judge.judge(&Json::Object(payload)))
    }

    /// Runs a workflow until it ends, or until the deadline is so near that its state must be
    /// answered. The nodes may be of the kinds `echo`, `loop` and `vote`, which call no other
    /// program. Must run on a thread of the runtime that may block.
    ///
    /// # Errors
    /// If there is no such workflow, or it cannot run here.
    pub(crate) fn run_workflow(
        &self,
        name: &str,
        request: WorkflowRequest<'_>,
        deadline: Deadline,
    ) -> Result<Vec<u8>, Problem> {
        let step_limit = request.step_limit.unwrap_or(MAX_STEPS);
        if step_limit > MAX_STEPS {
            return Err(Problem::invalid(format!("`step_limit` must be at most {MAX_STEPS}")));
        }
        let version = self.set(request.rules.as_deref())?.active().clone();
        let builder = Workflow::from_rules(version.rules()?, name)
            .map_err(|error| Problem::unknown_entry(error.to_message().as_str()))?
            .kind("echo", echo)
            .kind("loop", Loop::factory)
            .kind("vote", Vote::factory)
            .step_limit(step_limit)
            .byte_limit(self.limits().body);
        let workflow =
            builder.build().map_err(|error| Problem::not_answerable(error.to_message().as_str()))?;
        let mut run = match request.resume {
            Some(saved) => {
                workflow.resume(saved).map_err(|error| Problem::invalid(error.to_message().as_str()))?
            }
            None => workflow.begin(Json::Object(read_object(request.input)?)),
        };
        if request.retry_failed {
            run.retry_failed();
        }
        tokio::runtime::Handle::current()
            .block_on(async { while Instant::now() < deadline.last_step() && run.step().await {} });
        let saved = run.save();
        let is_left = run.next_node().is_some();
        let report = run.finish();
        let complete = report.is_complete() && !is_left;
        let (saved, not_saved) = match complete {
            true => (None, None),
            false => self.saved_text(&saved)?,
        };
        to_bytes(&WorkflowAnswer { complete, report, saved, not_saved })
    }

    /// Returns the text of a saved run, or why a request could not resume it.
    fn saved_text(&self, saved: &SavedRun) -> Result<(Option<Box<RawValue>>, Option<String>), Problem> {
        let text = to_raw_value(saved);
        let text = text.map_err(|error| Problem::broken(format!("the run cannot be saved: {error}")))?;
        let (size, limit) = (text.get().len() + RESUME_BYTES, self.limits().body);
        if size <= limit {
            return Ok((Some(text), None));
        }
        let why = format!(
            "a request that resumes the run would have {size} bytes, over the limit of {limit}; give a smaller \
             `step_limit`, or see `--max-body`"
        );
        Ok((None, Some(why)))
    }

    /// Analyses the text of a message. Returns the analysis as JSON text.
    ///
    /// # Errors
    /// If the message is not a JSON object, or the intents cannot be learned.
    pub(crate) fn analyze(&self, request: &AnalyzeRequest<'_>) -> Result<Vec<u8>, Problem> {
        let version = self.set(request.rules.as_deref())?.active();
        let rules = version.rules()?;
        let message = Json::Object(rules.parse_message(request.message.get().as_bytes())?);
        let analysis = rules
            .analyze_message(&message)
            .map_err(|error| Problem::not_answerable(error.to_message().as_str()))?;
        to_bytes(&analysis)
    }

    /// Records a message in the history, without a decision.
    ///
    /// # Errors
    /// If the rules keep no history, or the message has no time or no key.
    pub(crate) fn observe(&self, request: &ObserveRequest<'_>) -> Result<Json, Problem> {
        let set = self.set(request.rules.as_deref())?;
        let version = set.active();
        let rules = version.rules()?;
        let message = Json::Object(rules.parse_message(request.message.get().as_bytes())?);
        rules.observe(set.store(), &message)?;
        Ok(json!({ "observed": true }))
    }

    /// Runs the `test` blocks of the rules in force. Values of `@private` fields are masked.
    ///
    /// # Errors
    /// If there are no such rules.
    pub(crate) fn test(&self, request: &TestRequest) -> Result<Json, Problem> {
        let version = self.set(request.rules.as_deref())?.active();
        let rules = version.rules()?;
        let outcomes = run_tests(rules);
        let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
        let tests = outcomes.iter().map(|outcome| {
            json!({
                "name": outcome.name,
                "line": rules.sources().position(outcome.span).line,
                "passed": outcome.passed,
                "expected": outcome.expected,
                "actual": outcome.actual.as_str(),
            })
        });
        let tests: Vec<Json> = tests.collect();
        Ok(json!({ "passed": tests.len() - failed, "failed": failed, "tests": tests }))
    }
}

pub(super) fn to_bytes(answer: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(answer)
        .map_err(|error| Problem::broken(format!("the answer cannot be written: {error}")))
}
