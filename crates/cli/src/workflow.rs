//! `rulec workflow run`: runs a workflow of a rules file. It can run only the node kinds that this
//! program implements. Other kinds need a program that embeds the engine and adds them.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | runs a plan that a language model wrote |
//! | `saver` | saves a run to a file after each node |
//! | `server` | lets a running service run the workflow |
//! | `workers` | the options that allow the node types of plans |
//! | `next` | `rulec workflow next` |

mod next;
mod plan;
mod saver;
#[cfg(feature = "http")]
mod server;
mod workers;

use super::files::{self, RulesArgs};
use super::model::no_http_message;
use super::server::ServerArgs;
use super::term::{Format, Out, Term};
use super::{CliError, ExitStatus};
use clap::Subcommand;
use rulec::Rules;
use rulec_base::json::{DecimalPaths, JsonError};
use rulec_base::message;
use rulec_runtime::workflow::processors::{Council, Loop, Vote, echo};
use rulec_runtime::workflow::{Report, Run, Severity, Workflow, WorkflowBuilder};
use rulec_sema::hir::{PARALLEL_KIND, Workflow as Declared};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};

/// Run workflows, which are graphs of nodes, and try their routers
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: WorkflowCommand,
}

#[derive(Subcommand)]
enum WorkflowCommand {
    Run(Box<RunArgs>),
    Next(next::NextArgs),
}

/// Run a workflow of a rules file, or a plan: a workflow that a language model wrote as JSON
#[derive(clap::Args)]
#[command(mut_arg("server", |server| server.conflicts_with_all(["allow", "byte_limit", "root", "system", "verify"])))]
#[command(after_help = "Examples:
  rulec workflow run review.rules --input '{\"question\": \"shall we move?\"}'
  rulec workflow run review.rules --input - --save run.json < question.json
  rulec workflow run review.rules --resume run.json --retry-failed
  rulec workflow run review.rules --input '{}' --allow api.example.com
  rulec workflow run plan.json --input '{\"city\": \"Paris\"}' --allow-http api.example.com --allow-python
  rulec workflow run review --input '{}' --server http://127.0.0.1:8181   rules of a service

Kinds of nodes in rules:
  echo           passes on its input, together with its configuration
  loop, vote     decide by their configuration: `max_rounds`, `exit_on_score`, `threshold`
  http           calls an endpoint at a host that `--allow` names
  council        asks several `members` at such hosts at once, and returns the answer of each
  parallel       runs its next nodes in parallel

A plan is a JSON object with `nodes` and `edges`. The rules of `--rules` judge it first. A plan runs only if \
an option allows the type of each of its nodes.

Exit status: 0 the run is complete, 1 a plan was rejected, a node failed or still waits for an input, 2 wrong \
usage.")]
struct RunArgs {
    #[command(flatten)]
    rules: RulesArgs,
    /// The name of the workflow [default: the only one]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The input of the first node as a JSON object; `-` reads standard input
    #[arg(long, value_name = "JSON", conflicts_with = "resume")]
    input: Option<String>,
    /// Save the state of the run to this file after each node, for `--resume`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Continue a saved run, and save it to the same file again unless `--save` names another
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// With `--resume`: run the failed nodes again
    #[arg(long, requires = "resume")]
    retry_failed: bool,
    /// A host that nodes may call over HTTP, such as api.example.com or 127.0.0.1:8080; may be
    /// repeated [default: none]
    #[arg(long, visible_alias = "allow-http", value_name = "HOST")]
    allow: Vec<String>,
    /// The maximum number of calls of nodes in a run; each round of a loop counts [default: 10000]
    #[arg(long, value_name = "N")]
    step_limit: Option<usize>,
    /// The maximum size of each output and merged input, in bytes of JSON [default: 16777216]
    #[arg(long, value_name = "BYTES")]
    byte_limit: Option<usize>,
    #[command(flatten)]
    server: ServerArgs,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    plan: plan::PlanArgs,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let args = match &args.command {
        WorkflowCommand::Run(args) => args,
        WorkflowCommand::Next(args) => return next::run(args, term, out),
    };
    #[cfg(feature = "http")]
    if let Some(server) = super::server::ServiceClient::open(&args.server)? {
        return server::run(&server, args, out);
    }
    #[cfg(not(feature = "http"))]
    args.server.reject()?;
    if let Some(plan) = plan::read_plan(&args.rules.path)? {
        return plan::run(plan, args, term, out);
    }
    if args.plan != plan::PlanArgs::default() {
        return Err(CliError::usage_error(message!(
            "options for plans have no effect on a workflow of a rules file; a plan is a `.json` file with a \
            list `nodes`"
        )));
    }
    require_start(args)?;
    let rules = args.rules.load(term)?;
    let declared = select_workflow(&rules, args.name.as_deref())?;
    let workflow = build_workflow(&rules, declared, args)?;
    let mut run = begin_run(&workflow, args)?;
    if args.retry_failed && run.retry_failed() == 0 {
        term.print_note(&message!("the run has no failed node to retry"));
    }
    let mut saver = args.save.as_ref().or(args.resume.as_ref()).map(|path| saver::RunSaver::new(path));
    let run_error =
        |error: std::io::Error| CliError::input_error(message!("the workflow cannot be run: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(run_error)?;
    runtime.block_on(async {
        while run.step().await {
            if let Some(saver) = &mut saver {
                saver.save(&run)?;
            }
        }
        saver.as_mut().map_or(Ok(()), |saver| saver.save_whole(&run))?;
        Ok::<(), CliError>(())
    })?;
    let report = run.finish();
    match args.format {
        Format::Json => out.write_json(&report)?,
        Format::Human => print_report(&report, out)?,
    }
    Ok(if report.is_complete() { ExitStatus::Success } else { ExitStatus::Errors })
}

fn require_start(args: &RunArgs) -> Result<(), CliError> {
    match args.input.is_none() && args.resume.is_none() {
        true => Err(CliError::usage_error(message!(
            "give the input of the first node with `--input`, or `--resume`"
        ))),
        false => Ok(()),
    }
}

/// Returns the workflow named `name`. Without a name, returns the only workflow of the rules; it is
/// an error if the rules have several.
pub fn select_workflow<'r>(rules: &'r Rules, name: Option<&str>) -> Result<&'r Declared, CliError> {
    let program = rules.program();
    let workflow_names = || {
        let names: Vec<String> =
            program.workflows.iter().map(|workflow| format!("`{}`", workflow.name)).collect();
        names.join(", ")
    };
    match (name, &program.workflows[..]) {
        (_, []) => Err(no_workflow_error()),
        (None, [only]) => Ok(only),
        (None, _) => Err(CliError::usage_error(message!(
            "choose one of the workflows with `--name`: {}",
            workflow_names()
        ))),
        (Some(name), _) => program.workflow_named(name).ok_or_else(|| {
            CliError::usage_error(message!(
                "there is no workflow `{name}`; the workflows are {}",
                workflow_names()
            ))
        }),
    }
}

pub fn no_workflow_error() -> CliError {
    CliError::usage_error(message!(
        "the rules declare no workflow; write one: `workflow NAME {{ node FIRST echo -> … }}`"
    ))
}

fn build_workflow(rules: &Rules, declared: &Declared, args: &RunArgs) -> Result<Workflow, CliError> {
    let mut builder = Workflow::from_rules(rules, &declared.name)
        .map_err(|error| CliError::usage_error(error.to_message()))?
        .kind("echo", echo)
        .kind("loop", Loop::factory)
        .kind("vote", Vote::factory)
        .kind("council", Council::factory(|_| Err(no_http_message())));
    if let Some(limit) = args.step_limit {
        builder = builder.step_limit(limit);
    }
    if let Some(bytes) = args.byte_limit {
        builder = builder.byte_limit(bytes);
    }
    let available_kinds = ["echo", "loop", "vote", "http", "council", PARALLEL_KIND];
    if let Some(node) = declared.nodes.iter().find(|node| !available_kinds.contains(&&*node.processor_kind)) {
        let (id, kind) = (&node.id, &node.processor_kind);
        return Err(CliError::input_error(message!(
            "`{id}` has the kind `{kind}`, which only an embedding program can run; the kinds available \
            here are {}",
            available_kinds.map(|kind| format!("`{kind}`")).join(", ")
        )));
    }
    let network_node =
        || declared.nodes.iter().find(|node| matches!(&*node.processor_kind, "http" | "council"));
    if !cfg!(feature = "http")
        && let Some(node) = declared.nodes.iter().find(|node| &*node.processor_kind == "http")
    {
        return Err(CliError::input_error(message!(
            "`{}` has the kind `http`, but {}",
            node.id,
            no_http_message()
        )));
    }
    let result = add_network_nodes(builder, &args.allow)?.build();
    result.map_err(|error| {
        let errors = error.findings().iter().filter(|finding| finding.severity == Severity::Error);
        let errors = errors.map(|finding| finding.message.clone());
        let errors = errors.reduce(|all, one| message!("{all}; {one}")).unwrap_or_default();
        CliError::input_error(match args.allow.is_empty() && network_node().is_some() {
            true => message!("the workflow cannot be run: {errors}; `--allow HOST` lets nodes call a host"),
            false => message!("the workflow cannot be run: {errors}"),
        })
    })
}

/// Registers the node kinds that make network calls, and returns the builder. These nodes may reach
/// only the allowed hosts.
#[cfg(feature = "http")]
fn add_network_nodes(builder: WorkflowBuilder, allow: &[String]) -> Result<WorkflowBuilder, CliError> {
    let client = create_http_client(allow)?;
    let endpoint = rulec_http::endpoint_node(client.clone());
    Ok(builder.kind("http", endpoint).kind("council", rulec_http::council_node(client)))
}

/// Creates an HTTP client that may call only these hosts.
#[cfg(feature = "http")]
fn create_http_client(hosts: &[String]) -> Result<rulec_http::HttpClient, CliError> {
    use rulec_http::{AllowedHosts, HttpClient, Limits};
    let hosts = AllowedHosts::new(hosts)
        .map_err(|error| CliError::usage_error(message!("`--allow`: {}", error.to_message())))?;
    HttpClient::new(hosts, Limits::default()).map_err(|error| CliError::input_error(error.to_message()))
}

#[cfg(not(feature = "http"))]
fn add_network_nodes(builder: WorkflowBuilder, allow: &[String]) -> Result<WorkflowBuilder, CliError> {
    match allow.is_empty() {
        true => Ok(builder),
        false => Err(CliError::usage_error(message!("`--allow` has no effect: {}", no_http_message()))),
    }
}

fn begin_run(workflow: &Workflow, args: &RunArgs) -> Result<Run, CliError> {
    if let Some(path) = &args.resume {
        let (bytes, name) = files::read_json_bytes(path)?;
        let saved = saver::read_run(&bytes)
            .map_err(|error| CliError::input_error(message!("`{name}` is not a saved run: {error}")))?;
        return workflow
            .resume(saved)
            .map_err(|error| CliError::input_error(message!("`{name}`: {}", error.to_message())));
    }
    Ok(workflow.begin(Json::Object(read_input(args)?)))
}

fn read_input(args: &RunArgs) -> Result<Map<String, Json>, CliError> {
    Ok(match args.input.as_deref() {
        // A text that begins with a letter is not meant as JSON, so an error of the JSON parser
        // would not help.
        Some(text) if text.trim_start().starts_with(char::is_alphabetic) => {
            return Err(CliError::input_error(message!(
                "`--input` is a JSON object with the fields of the input: write `--input '{{\"text\": …}}'`"
            )));
        }
        Some(text) => files::parse_input_object(text, DecimalPaths::none(), invalid_input_error)?,
        None => Map::new(),
    })
}

fn invalid_input_error(input_name: &str, error: &JsonError) -> CliError {
    CliError::input_error(message!(
        "{what} is not a valid input: {} ({})",
        error.to_message(),
        error.kind().code(),
        what = input_name
    ))
}

fn save_as_json_line(path: &Path, saved: &impl Serialize) -> Result<(), CliError> {
    files::replace_file(path, &saver::to_json_line(saved)?)
}

fn print_report(report: &Report, out: &mut Out) -> Result<(), CliError> {
    let executed: Vec<&str> = report.executed.iter().map(|node| node.as_str()).collect();
    out.write_message(&message!("ran {}", executed.join(" \u{2192} ")))?;
    for delivery in report.deliveries.iter().filter(|delivery| delivery.loop_back) {
        out.write_message(&message!(
            "looped back from `{}` to `{}`",
            delivery.from.as_str(),
            delivery.to.as_str()
        ))?;
    }
    for (node, output) in &report.outputs {
        out.write_line(&format!("{node}: {output}"))?;
    }
    for failure in &report.failures {
        out.write_message(&failure.to_message())?;
    }
    for stall in &report.stalled {
        out.write_message(&stall.to_message())?;
    }
    if report.limit_hit {
        out.write_message(&message!(
            "the run stopped at its step limit; to continue, use `--resume` with a higher `--step-limit`"
        ))?;
    }
    Ok(())
}
