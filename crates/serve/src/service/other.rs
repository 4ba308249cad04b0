//! Requests other than decisions: judging payloads, running workflows, analysing texts, recording
//! messages, and running tests.

use super::Service;
use super::request::{check_generation, read_language};
use crate::limits::{MAX_WORKFLOW_STEPS, RequestDeadline};
use crate::problem::Problem;
use crate::receipt::Receipt;
use crate::rules::RuleSet;
use rulec::history::RecordError;
use rulec::payload::{Judge, JudgeError};
use rulec::{Rules, run_tests};
use rulec_base::json::{parse_bytes, parse_object_bytes};
use rulec_runtime::workflow::processors::{Loop, Vote, echo};
use rulec_runtime::workflow::{Report, SavedRun, Workflow};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value as Json, json};
use std::time::Instant;

/// A request to judge a payload: to check it by the rules of a `payload` statement.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JudgeRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(borrow)]
    pub payload: &'m RawValue,
    /// The object that rules can read as `context`.
    #[serde(borrow, default)]
    pub context: Option<&'m RawValue>,
    /// The object that rules can read as `options`.
    #[serde(borrow, default)]
    pub options: Option<&'m RawValue>,
    /// Whether warnings count as violations, and also rules that cannot be evaluated.
    #[serde(default)]
    pub strict: bool,
    /// The message that the payload belongs to, with the fields of `input`. Its history key (such
    /// as a user id) selects the history that the rules read. Without a message, the history is
    /// empty.
    #[serde(borrow, default)]
    pub message: Option<&'m RawValue>,
    /// Whether to record the message in the history, whether the payload is accepted or rejected.
    #[serde(default)]
    pub record: bool,
}

/// A request to run a workflow from the start with `input`, or to continue the saved run `resume`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(borrow, default)]
    pub input: Option<&'m RawValue>,
    #[serde(default)]
    pub resume: Option<SavedRun>,
    /// Whether the failed nodes of the saved run are run again.
    #[serde(default)]
    pub retry_failed: bool,
    #[serde(default)]
    pub step_limit: Option<usize>,
}

/// The answer to a workflow request: the report of the run, and its state if the run is not
/// complete.
#[derive(Serialize)]
struct WorkflowAnswer {
    complete: bool,
    report: Report,
    /// The state of an incomplete run. A later request can send it as `resume` to continue the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<Box<RawValue>>,
    /// The reason why the state of an incomplete run is not in `saved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_saved: Option<String>,
}

/// Estimated number of bytes that a request to resume a run needs in addition to the saved run.
const RESUME_REQUEST_OVERHEAD_BYTES: usize = 256;

/// A request to analyse the text of a message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnalyzeRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(borrow)]
    pub message: &'m RawValue,
}

/// A request to record a message in the history without deciding it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObserveRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(borrow)]
    pub message: &'m RawValue,
}

/// A request to run the `test` blocks of a rule set.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TestRequest {
    pub rules: Option<String>,
    /// Whether the outcome of a failed test contains an explanation of the decision.
    pub explain: bool,
    /// The language of the sentences in the outcomes, such as `en` or `zh`.
    pub language: Option<String>,
    /// The generation (version number) that the rules in force must have; `None` accepts any.
    pub generation: Option<u64>,
}

/// Parses a JSON value of a request with the library's parser, which refuses objects with repeated
/// keys.
fn read_json(text: &RawValue) -> Result<Json, Problem> {
    Ok(parse_bytes(text.get().as_bytes())?)
}

/// Parses a JSON object of a request with the library's parser. Returns an empty object for `None`.
fn read_object(text: Option<&RawValue>) -> Result<Map<String, Json>, Problem> {
    text.map_or_else(|| Ok(Map::new()), |text| Ok(parse_object_bytes(text.get().as_bytes())?))
}

/// Parses the message of a request to `rules`. If the message is nested too deep, counts this in
/// the metrics of `set`.
///
/// # Errors
/// If the text is not a JSON object.
pub(super) fn parse_message(set: &RuleSet, rules: &Rules, text: &RawValue) -> Result<Json, Problem> {
    let message = rules.parse_message(text.get().as_bytes());
    Ok(Json::Object(message.inspect_err(|error| set.metrics().count_if_too_deep(error))?))
}

fn judge_problem(error: JudgeError) -> Problem {
    let text = error.to_message().to_string();
    match error {
        JudgeError::UnknownKind { .. } => Problem::unknown_entry(text),
        _ => Problem::invalid(text),
    }
}

impl Service {
    /// Judges a payload by the `payload` statement named `kind`, with the recorded messages if the
    /// rules read any. Without a context in the request, the payload context that was loaded with
    /// the rules applies. Returns the judgement as JSON text.
    ///
    /// # Errors
    /// If the rules have no such statement, or the payload, context, options or message are
    /// invalid. Also if the history cannot be read, or the message cannot be recorded.
    pub(crate) fn judge(&self, kind: &str, request: JudgeRequest<'_>) -> Result<Vec<u8>, Problem> {
        let set = self.rule_set(request.rules.as_deref())?;
        let version = set.active();
        let rules = version.rules()?;
        let mut judge = Judge::new(rules, kind).map_err(judge_problem)?;
        let loaded = version.document().and_then(|imported| imported.context.clone());
        if let Some(context) = request.context.map(read_json).transpose()?.or(loaded) {
            judge = judge.context(context).map_err(judge_problem)?;
        }
        if let Some(options) = request.options {
            judge = judge.options(read_json(options)?).map_err(judge_problem)?;
        }
        if request.strict {
            judge = judge.strict();
        }
        let payload = parse_object_bytes(request.payload.get().as_bytes());
        let payload = payload.inspect_err(|error| set.metrics().count_if_too_deep(error));
        let payload = payload.map_err(|error| judge.masked_error(error))?;
        if let Some(message) = request.message {
            let message = parse_message(&set, rules, message)?;
            judge = judge.message(message.as_object().unwrap_or(&Map::new())).map_err(judge_problem)?;
            // Records and reads in one step, so that no other judgement reads the same messages.
            let past = match request.record {
                true => rules.observe_and_keep(set.store(), &message)?,
                false => rules.past(set.store(), &message).map_err(RecordError::from)?,
            };
            judge = judge.with_history(past);
        } else if request.record {
            return Err(Problem::invalid("`record` needs the `message` that is recorded"));
        }
        to_json_bytes(&judge.judge(&Json::Object(payload)))
    }

    /// Runs a workflow until it ends, or until shortly before the deadline, so that its state can
    /// still be sent. Nodes may have the kinds `echo`, `loop` and `vote`, which call no other
    /// program. Must run on a thread of the tokio runtime that may block.
    ///
    /// # Errors
    /// If the rules have no such workflow, a node has another kind, or the saved run does not fit
    /// the workflow. Also if the step limit is too high.
    pub(crate) fn run_workflow(
        &self,
        workflow_name: &str,
        request: WorkflowRequest<'_>,
        deadline: RequestDeadline,
    ) -> Result<Vec<u8>, Problem> {
        let step_limit = request.step_limit.unwrap_or(MAX_WORKFLOW_STEPS);
        if step_limit > MAX_WORKFLOW_STEPS {
            return Err(Problem::invalid(format!("`step_limit` must be at most {MAX_WORKFLOW_STEPS}")));
        }
        let version = self.rule_set(request.rules.as_deref())?.active().clone();
        let builder = Workflow::from_rules(version.rules()?, workflow_name)
            .map_err(|error| Problem::unknown_entry(error.to_message().as_str()))?
            .kind("echo", echo)
            .kind("loop", Loop::factory)
            .kind("vote", Vote::factory)
            .step_limit(step_limit)
            .byte_limit(self.limits().max_body_bytes);
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
            .block_on(async { while Instant::now() < deadline.workflow_deadline() && run.step().await {} });
        let saved = run.save();
        let is_left = run.next_node().is_some();
        let report = run.finish();
        let complete = report.is_complete() && !is_left;
        let (saved, not_saved) = match complete {
            true => (None, None),
            false => self.saved_run_or_reason(&saved)?,
        };
        to_json_bytes(&WorkflowAnswer { complete, report, saved, not_saved })
    }

    /// Returns the JSON text of a saved run, as the first of two values. If the text is longer than
    /// a later request may be, returns instead, as the second value, the reason why it is left out.
    fn saved_run_or_reason(
        &self,
        saved: &SavedRun,
    ) -> Result<(Option<Box<RawValue>>, Option<String>), Problem> {
        let text = to_raw_value(saved);
        let text = text.map_err(|error| Problem::broken(format!("the run cannot be saved: {error}")))?;
        let (size, limit) = (text.get().len() + RESUME_REQUEST_OVERHEAD_BYTES, self.limits().max_body_bytes);
        if size <= limit {
            return Ok((Some(text), None));
        }
        let why = format!(
            "a request that resumes the run would have {size} bytes, over the limit of {limit}; give a smaller \
             `step_limit`, or see `--max-body`"
        );
        Ok((None, Some(why)))
    }

    /// Analyses the text of a message, for example its language and entities. Returns the analysis
    /// as JSON text.
    ///
    /// # Errors
    /// If the message is not a JSON object, or the intent classifier cannot be trained.
    pub(crate) fn analyze(&self, request: &AnalyzeRequest<'_>) -> Result<Vec<u8>, Problem> {
        let set = self.rule_set(request.rules.as_deref())?;
        let version = set.active();
        let rules = version.rules()?;
        let message = parse_message(&set, rules, request.message)?;
        let analysis = rules
            .analyze_message(&message)
            .map_err(|error| Problem::not_answerable(error.to_message().as_str()))?;
        to_json_bytes(&analysis)
    }

    /// Records a message in the history without deciding it. Also returns the receipt for its line
    /// in the decision log.
    ///
    /// # Errors
    /// If the rules read no history, the message is invalid, or the message lacks the field of the
    /// time or of the key. Also if the store of recorded messages fails.
    pub(crate) fn observe(&self, request: &ObserveRequest<'_>) -> Result<(Json, Receipt), Problem> {
        let set = self.rule_set(request.rules.as_deref())?;
        let version = set.active();
        let rules = version.rules()?;
        let message = parse_message(&set, rules, request.message)?;
        rules.observe(set.store(), &message)?;
        let receipt =
            self.log().map_or(Receipt::NONE, |log| log.queue_observed_message(set.name(), rules, &message));
        Ok((json!({ "observed": true }), receipt))
    }

    /// Runs the `test` blocks of the rules in force. Returns the outcome of each test. Values of
    /// `@private` fields are masked.
    ///
    /// # Errors
    /// If there is no such rule set or language, or the rules have another generation.
    pub(crate) fn test(&self, request: &TestRequest) -> Result<Json, Problem> {
        let language = read_language(request.language.as_deref())?;
        let version = self.rule_set(request.rules.as_deref())?.active();
        let generation = check_generation(&version, request.generation)?;
        let rules = version.rules()?;
        let outcomes = run_tests(rules);
        let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
        let tests = outcomes.into_iter().map(|outcome| {
            let position = rules.sources().position(outcome.span);
            let mut test = json!({
                "name": outcome.name,
                "file": rules.sources().get(outcome.span.file).map(|file| file.name.as_str()),
                "line": position.line,
                "column": position.column,
                "passed": outcome.passed,
                "expected": outcome.expected,
                "actual": &*outcome.actual.localized(language),
            });
            if let Some(mut explanation) = outcome.explanation.filter(|_| request.explain) {
                explanation.trace.localize(language);
                test["explanation"] = json!(explanation);
            }
            test
        });
        let tests: Vec<Json> = tests.collect();
        let passed = tests.len() - failed;
        Ok(json!({ "generation": generation, "passed": passed, "failed": failed, "tests": tests }))
    }
}

pub(super) fn to_json_bytes(answer: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(answer)
        .map_err(|error| Problem::broken(format!("the answer cannot be written: {error}")))
}
