//! Implements `rulec workflow run --server`: lets a running service run a workflow of its rules,
//! and saves the run if it is not complete.

use super::{RunArgs, plan, print_report, read_input, require_start, save_as_json_line, saver};
use crate::files;
use crate::server::{ServiceClient, rules_name};
use crate::term::{Format, Out};
use crate::{CliError, ExitStatus};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rulec_base::message;
use rulec_runtime::workflow::{Report, SavedRun};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The body of a request to the service's path `/v1/workflows/{name}`.
#[derive(Serialize)]
struct WorkflowRequest<'a> {
    #[serde(rename = "rules")]
    rules_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Map<String, Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<SavedRun>,
    retry_failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_limit: Option<usize>,
}

#[derive(Deserialize)]
struct WorkflowAnswer {
    complete: bool,
    report: Report,
    #[serde(default)]
    saved: Option<SavedRun>,
    /// The reason why an incomplete run is not in `saved`.
    #[serde(default)]
    not_saved: Option<String>,
}

/// Lets the service run the workflow, and prints its report.
pub(super) fn run(server: &ServiceClient, args: &RunArgs, out: &mut Out) -> Result<ExitStatus, CliError> {
    if args.plan != plan::PlanArgs::default() {
        return Err(CliError::usage_error(message!("a service runs no plans: leave out `--server`")));
    }
    require_start(args)?;
    let rules_name = rules_name(&args.rules.path);
    let workflow_name = match &args.name {
        Some(name) => name.clone(),
        None => only_workflow(server, &rules_name)?,
    };
    let resume = args.resume.as_deref().map(|path| {
        let (bytes, name) = files::read_json_bytes(path)?;
        saver::read_run(&bytes)
            .map_err(|error| CliError::input_error(message!("`{name}` is not a saved run: {error}")))
    });
    let request = WorkflowRequest {
        rules_name: &rules_name,
        input: if args.resume.is_some() { None } else { Some(read_input(args)?) },
        resume: resume.transpose()?,
        retry_failed: args.retry_failed,
        step_limit: args.step_limit,
    };
    let path = format!("/v1/workflows/{}", utf8_percent_encode(&workflow_name, NON_ALPHANUMERIC));
    let mut answer = server.ask(&path, &request).map_err(|failure| failure.into_error())?;
    // A terminal obeys control characters, and the service may be a foreign one. The saved run is
    // not printed, so it keeps its bytes.
    if args.format == Format::Human {
        crate::escape::escape_json_texts(&mut answer["report"]);
    }
    let answer: WorkflowAnswer = server.deserialize_answer(answer)?;
    if let (Some(path), Some(saved)) = (args.save.as_ref().or(args.resume.as_ref()), &answer.saved) {
        save_as_json_line(path, saved)?;
    }
    match args.format {
        Format::Json => out.write_json(&answer.report)?,
        Format::Human => print_report(&answer.report, out)?,
    }
    match answer.not_saved.filter(|_| args.save.is_some() || args.resume.is_some()) {
        Some(why) => Err(CliError::input_error(message!("the run is not saved: {why}"))),
        None => Ok(if answer.complete { ExitStatus::Success } else { ExitStatus::Errors }),
    }
}

/// Returns the name of the only workflow of the rules at the service.
fn only_workflow(server: &ServiceClient, rules_name: &str) -> Result<String, CliError> {
    let mut rules = server.describe_rules(rules_name).map_err(|failure| failure.into_error())?;
    let mut names: Vec<String> = server.deserialize_answer(rules["workflows"].take())?;
    match (names.pop(), names.is_empty()) {
        (None, _) => Err(super::no_workflow_error()),
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            names.push(last);
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            Err(CliError::usage_error(message!(
                "choose one of the workflows with `--name`: {}",
                names.join(", ")
            )))
        }
    }
}
