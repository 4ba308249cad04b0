//! `rulec workflow run PLAN.json`: validates a plan (a workflow that a language model wrote as
//! JSON), and runs it. Nodes of a type run only if an option allows this type.

use super::workers::{self, AllowedNodeTypes};
use super::{RunArgs, save_as_json_line};
use crate::files;
use crate::judge::read_context;
use crate::term::{Format, Out, Term};
use crate::{CliError, ExitStatus};
use rulec::{Message, Rules, bundled};
use rulec_base::diag::comma_list;
use rulec_base::json::DecimalPaths;
use rulec_base::message;
use rulec_import::kind_with_article;
use rulec_runtime::payload::{
    Attempt, Coordinator, CoordinatorBuilder, DecisionEvent, Judges, Proposal, Rejected, RunReport, RunStatus,
};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The payload kind (name of a `payload` statement) whose rules validate a plan.
const CREATE_PLAN_KIND: &str = "create_workflow_plan";
/// The payload kind (name of a `payload` statement) whose rules validate a request to run a plan.
const EXECUTE_PLAN_KIND: &str = "execute_workflow";
/// The id of the workflow as which a plan runs. One id is enough, because a run contains only one
/// workflow.
const WORKFLOW_ID: &str = "plan";

/// Options for plans, which are workflows that a language model wrote as JSON.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Plans")]
pub struct PlanArgs {
    /// For a plan: the rules that judge it [default: the bundled rules for decisions]
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// For a plan: a JSON file with the object that rules read as `context`
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// For a plan: a JSON file with the object that rules read as `options`
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    #[command(flatten)]
    pub allowed: AllowedNodeTypes,
    /// For a plan: the maximum duration of the run, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u64>,
    /// For a plan: print each attempt at a node on standard error
    #[arg(long)]
    trace: bool,
}

/// The result of running a plan, with all attempts to run its nodes, in the order in which they
/// ended.
#[derive(Serialize)]
struct PlanReport<'a> {
    #[serde(flatten)]
    run: &'a RunReport,
    #[serde(rename = "steps")]
    attempts: &'a [Attempt],
}

/// Reads a plan: a JSON object with the list `nodes`. Returns `None` if the extension of the file
/// is not `.json`; the file then contains rules.
pub fn read_plan(path: &Path) -> Result<Option<Map<String, Json>>, CliError> {
    if path.extension().is_none_or(|extension| extension != "json") || path.is_dir() {
        return Ok(None);
    }
    let object = read_json_object(path)?;
    let found = match object.get("nodes") {
        Some(Json::Array(_)) => return Ok(Some(object)),
        Some(other) => kind_with_article(other),
        None => message!("no such field"),
    };
    let name = path.display();
    Err(CliError::usage_error(message!(
        "`{name}` is not a plan: at `/nodes`, expected a list of objects with `node_id`, `type` and `config`, \
        found {found}"
    )))
}

fn read_json_object(path: &Path) -> Result<Map<String, Json>, CliError> {
    files::read_json_object(path, DecimalPaths::none(), |name, error| {
        CliError::usage_error(message!("`{name}` is not a JSON object: {}", error.to_message()))
    })
}

pub fn run(
    plan: Map<String, Json>,
    args: &RunArgs,
    term: &Term,
    out: &mut Out,
) -> Result<ExitStatus, CliError> {
    let judges = build_judges(args, term)?;
    if judges.get(CREATE_PLAN_KIND).is_none() {
        return Err(CliError::usage_error(message!(
            "the rules judge no plans: they have no payload kind `{PLAN}`",
            PLAN = CREATE_PLAN_KIND
        )));
    }
    // The judges of a coordinator know that no request was made yet, which rules about limits need.
    let counting_judges = Coordinator::builder(judges.clone()).build().judges();
    let plan = match counting_judges.judge(Proposal::new(CREATE_PLAN_KIND, Json::Object(plan))) {
        DecisionEvent::Validated(validated) => validated.payload().clone(),
        DecisionEvent::Rejected(rejected) => return print_rejection(&rejected, args.format, out),
        _ => Json::Null,
    };
    let attempts: Arc<Mutex<Vec<Attempt>>> = Arc::default();
    let builder = Coordinator::builder(judges).on_attempt(record_attempts(attempts.clone(), args, term));
    let builder = workers::register_allowed_types(builder, &plan, &args.plan.allowed, &args.allow)?;
    let (builder, save_error) = with_limits_and_saving(builder, args);
    let coordinator = builder.build();
    let saved = args.resume.as_deref().map(|path| read_saved(path, &plan)).transpose()?;
    let is_resumed = saved.is_some();
    let input = match args.input.as_deref() {
        Some(text) => files::parse_input_object(text, DecimalPaths::none(), super::invalid_input_error)?,
        None => Map::new(),
    };
    let progress = saved.unwrap_or_else(|| json!({"input": input}));
    let restored = json!({"workflow_id": WORKFLOW_ID, "plan": plan, "progress": progress});
    coordinator
        .restore(&restored)
        .map_err(|error| CliError::input_error(message!("the plan cannot run: {}", error.to_message())))?;
    if !is_resumed && let Some(rejected) = judge_run_request(&coordinator, input) {
        return print_rejection(&rejected, args.format, out);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::input_error(message!("the plan cannot run: {error}")))?;
    let report = runtime.block_on(coordinator.resume(WORKFLOW_ID));
    let report = report.map_err(|error| CliError::input_error(error.to_message()))?;
    // A query that does not end must not keep the program.
    runtime.shutdown_background();
    if let Some(error) = save_error.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let attempts = attempts.lock().unwrap_or_else(PoisonError::into_inner);
    match args.format {
        Format::Json => out.write_json(&PlanReport { run: &report, attempts: &attempts })?,
        Format::Human => print_report(&report, &attempts, out)?,
    }
    Ok(if report.status == RunStatus::Completed { ExitStatus::Success } else { ExitStatus::Errors })
}

fn build_judges(args: &RunArgs, term: &Term) -> Result<Judges, CliError> {
    let rules = match &args.plan.rules {
        Some(path) => args.rules.load_second_file(path, term)?,
        None => Rules::from_text(bundled::DECISIONS)
            .map_err(|error| CliError::input_error(Message::verbatim(error.to_string())))?,
    };
    let mut judges = Judges::new(&rules);
    if let Some(path) = &args.plan.context {
        let check = |context: &Json| judges.clone().context(context).map(drop);
        let context = read_context(path, false, term, check)?;
        judges = judges.context(&context).map_err(|error| CliError::usage_error(error.to_message()))?;
    }
    if let Some(path) = &args.plan.options {
        let options = Json::Object(read_json_object(path)?);
        judges = judges.options(&options).map_err(|error| CliError::usage_error(error.to_message()))?;
    }
    Ok(match args.plan.allowed.allow_loop {
        Some(rounds) => judges.loops(rounds),
        None => judges,
    })
}

/// Validates the request to run the plan with the input `input`, by the rules of the payload kind
/// [`EXECUTE_PLAN_KIND`]. Returns the rejection. `None` if the request is accepted, or if the rules
/// have no such kind.
fn judge_run_request(coordinator: &Coordinator, input: Map<String, Json>) -> Option<Rejected> {
    let judges = coordinator.judges();
    judges.get(EXECUTE_PLAN_KIND)?;
    let payload =
        json!({"action_type": EXECUTE_PLAN_KIND, "workflow_id": WORKFLOW_ID, "input_params": input});
    match judges.judge(Proposal::new(EXECUTE_PLAN_KIND, payload)) {
        DecisionEvent::Rejected(rejected) => Some(rejected),
        _ => None,
    }
}

fn record_attempts(
    attempts: Arc<Mutex<Vec<Attempt>>>,
    args: &RunArgs,
    term: &Term,
) -> impl Fn(&Attempt) + Send + Sync + 'static {
    let term = args.plan.trace.then(|| term.clone());
    move |attempt| {
        if let Some(term) = &term {
            let Attempt { node_id, kind, milliseconds, error, .. } = attempt;
            term.print(&match error {
                None => message!("`{node_id}` ({kind}) took {milliseconds} ms"),
                Some(error) => message!("`{node_id}` ({kind}) failed after {milliseconds} ms: {error}"),
            });
        }
        attempts.lock().unwrap_or_else(PoisonError::into_inner).push(attempt.clone());
    }
}

/// The first error that occurred while a run was saved; `None` if no error occurred.
type SharedSaveError = Arc<Mutex<Option<CliError>>>;

fn with_limits_and_saving(
    mut builder: CoordinatorBuilder,
    args: &RunArgs,
) -> (CoordinatorBuilder, SharedSaveError) {
    if let Some(steps) = args.step_limit {
        builder = builder.step_limit(steps as u64);
    }
    if let Some(bytes) = args.byte_limit {
        builder = builder.byte_limit(bytes);
    }
    if let Some(seconds) = args.plan.time_limit {
        builder = builder.run_limit(Duration::from_secs(seconds.min(MAX_TIME_LIMIT_SECONDS)));
    }
    let save_error = SharedSaveError::default();
    if let Some(path) = args.save.as_ref().or(args.resume.as_ref()) {
        let (path, save_error) = (path.clone(), save_error.clone());
        builder = builder.saving(move |saved| {
            if let Err(error) = save_as_json_line(&path, saved) {
                save_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        });
    }
    (builder, save_error)
}

/// Maximum of the option `--time-limit`, in seconds; longer times are shortened to it. A year is
/// practically unlimited, and a point in time plus a year cannot overflow.
const MAX_TIME_LIMIT_SECONDS: u64 = 365 * 24 * 3600;

/// Reads the state of a saved run of this plan, as the engine saved it. Fails if the nodes or edges
/// of the saved plan differ from this plan.
fn read_saved(path: &Path, plan: &Json) -> Result<Json, CliError> {
    let mut saved = Json::Object(read_json_object(path)?);
    let shape = |plan: &Json| {
        let pick = |list: &str, names: [&str; 2]| -> Vec<[Json; 2]> {
            let items = plan[list].as_array().into_iter().flatten();
            items.map(|item| names.map(|name| item[name].clone())).collect()
        };
        (pick("nodes", ["node_id", "type"]), pick("edges", ["source", "target"]))
    };
    match shape(&saved["plan"]) == shape(plan) {
        true => Ok(saved["progress"].take()),
        false => Err(CliError::input_error(message!(
            "`{}` is not a saved run of this plan: its nodes or edges differ; start the run again",
            path.display()
        ))),
    }
}

fn print_rejection(rejected: &Rejected, format: Format, out: &mut Out) -> Result<ExitStatus, CliError> {
    match format {
        Format::Json => out.write_json(&json!({"status": "REJECTED", "rejected": rejected}))?,
        Format::Human => {
            out.write_message(&message!("`{}` is rejected, and nothing ran:", rejected.decision.kind))?;
            out.write_text(&rejected.feedback)?;
        }
    }
    Ok(ExitStatus::Errors)
}

fn print_report(report: &RunReport, attempts: &[Attempt], out: &mut Out) -> Result<(), CliError> {
    let executed: Vec<&str> = attempts.iter().map(|attempt| attempt.node_id.as_str()).collect();
    out.write_message(&message!("ran {}", executed.join(" \u{2192} ")))?;
    for (node, output) in &report.outputs {
        out.write_line(&format!("{node}: {output}"))?;
    }
    if !report.unreached.is_empty() {
        out.write_message(&message!("not reached: {}", comma_list(&report.unreached)))?;
    }
    if let Some(reason) = &report.reason {
        out.write_message(&message!("{status}: {reason}", status = report.status.name()))?;
    }
    Ok(())
}
