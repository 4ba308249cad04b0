//! `rulec import`: converts another system's JSON to rules.

use super::document;
use super::files;
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rulec::Message;
use rulec_base::json;
use rulec_base::message;
use rulec_import::{ImportError, Options, Report, System};
use rulec_syntax::format::format;
use std::path::{Path, PathBuf};

/// The smallest JSON document with routes, shown as an example in error messages.
/// [`CHOICE_EXAMPLE`] and [`FLOWS_EXAMPLE`] are such documents for the other kinds of import.
const ROUTES_EXAMPLE: &str = r#"{"routes": [{"name": "refund", "condition": {"type": "TextCondition", "contains": ["refund"]}, "handler": "refund_desk"}], "default": "desk"}"#;
const CHOICE_EXAMPLE: &str = r#"{"choices": [{"branch_id": "large", "logic": "and", "conditions": [{"left": {"step_id": "parse", "type": "number", "value": "total"}, "operate": "number_greater_than", "right": {"type": "number", "value": 100}}]}, {"branch_id": "other", "is_default": true}]}"#;
const FLOWS_EXAMPLE: &str = r#"{"flows": [{"flow_id": "greet", "type": "keyword", "trigger_patterns": ["hello", "hi"], "match_type": "contains"}]}"#;

/// Convert another system's JSON to rules
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec import routes router.json -o support.rules
  rulec import flows flows.json | less
  rulec import flows flows.json --literal        patterns match as `==` and `in` do
  cat choice.json | rulec import choice - -o next_step.rules

Input by kind:
  routes   a list of routes, or {\"routes\": […], \"default\": \"handler\"}
  choice   a list of branches, {\"choices\": […]}, or a workflow document with choices in its steps
  flows    a list of flows, or {\"flows\": […], \"tools\": [the flow_executor]}
The rules decide like the original; comments in them describe differences and omitted parts. An item that \
cannot be translated is left out, and a note on standard error gives its position. With `--strict` it is an \
error, and nothing is written.")]
pub struct Args {
    /// The kind of JSON: the routes of a router, a choice, or flows
    #[arg(value_parser = rules_system_parser())]
    system: System,
    /// The JSON file; `-` reads standard input
    file: PathBuf,
    /// The file to write the rules to [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the `--output` file if it exists [default: an error]
    #[arg(long, requires = "output")]
    force: bool,
    /// Write nothing if an item cannot be translated, instead of leaving the item out
    #[arg(long)]
    strict: bool,
    /// For JSON of flows: match the patterns as `==` and `in` of Python do, so that case and
    /// surrounding white space count [default: both are ignored]
    #[arg(long)]
    literal: bool,
    /// Print the report as JSON on standard error, with the outcome of each item
    #[arg(long)]
    json: bool,
}

/// Returns the clap parser for the names of systems whose documents contain rules. The name of
/// payload contexts is left out, because such documents contain data only.
pub fn rules_system_parser() -> impl TypedValueParser<Value = System> {
    let names = System::ALL.into_iter().filter(|system| *system != System::Context).map(System::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<System>())
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let (bytes, name) = files::read_json_bytes(&args.file)?;
    document::check_literal_allowed(args.literal, Some(args.system)).map_err(CliError::usage_error)?;
    let options = if args.strict { Options::default().strict() } else { Options::default() };
    let options = if args.literal { options.literal() } else { options };
    let imported = match std::str::from_utf8(&bytes) {
        Ok(text) => args.system.import(text, options),
        // The text is not UTF-8. The JSON parser reports the position of the invalid bytes and a
        // remedy.
        Err(_) => Err(json::parse_bytes(&bytes).map_or_else(ImportError::from, |_| {
            ImportError::Internal(message!("the JSON parser accepted a text that is not UTF-8"))
        })),
    };
    let imported =
        imported.map_err(|error| CliError::input_error(describe_error(args, &bytes, &name, &error)))?;
    let items = imported.report.items();
    let is_nothing_left = !items.is_empty() && imported.report.skipped().count() == items.len();
    if is_nothing_left {
        print_report(&imported.report, args.json, term);
        return Err(CliError::input_error(message!(
            "{name}: every item was skipped, so no rules were written"
        )));
    }
    // Formats the text, so that a later `rulec fmt` leaves it unchanged.
    let text = format(&imported.text).map_or(imported.text, |formatted| formatted.text);
    files::write_output(args.output.as_deref(), args.force, &text, term, out)?;
    print_report(&imported.report, args.json, term);
    Ok(ExitStatus::Success)
}

/// Describes the error of an import. If the document has another format than JSON, names the
/// format. If its main parts are not as expected, adds an example document.
fn describe_error(args: &Args, bytes: &[u8], name: &str, error: &ImportError) -> Message {
    let message = error.to_message();
    match error {
        ImportError::Json(_) => match non_json_format(&args.file, bytes) {
            Some(format) => {
                message!("{name} contains {format}, but `rulec import` reads JSON: convert it to JSON first")
            }
            None => message!("{name}: {message}"),
        },
        ImportError::Untranslatable(refusal) if !refusal.path().contains(['[', '.']) => {
            let example = match args.system {
                System::Routes => ROUTES_EXAMPLE,
                System::Choice => CHOICE_EXAMPLE,
                System::Flows => FLOWS_EXAMPLE,
                System::Context => return message!("{name}: {message}"),
            };
            message!("{name}: {message}; for example: {example}")
        }
        _ => message!("{name}: {message}"),
    }
}

/// Returns the name of the format of a document that is not JSON, by the end of the file name or by
/// the first line. `None` for JSON and for an unknown format.
fn non_json_format(file: &Path, bytes: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    if first.starts_with(['{', '[', '"']) {
        return None;
    }
    let is_key = |line: &str| {
        let key = line.trim_start_matches("- ").split_once(':').map_or("", |(key, _)| key);
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    match extension.to_lowercase().as_str() {
        "yaml" | "yml" => Some("YAML"),
        "toml" => Some("TOML"),
        "xml" => Some("XML"),
        "csv" => Some("CSV"),
        "rules" => Some("rules"),
        _ if first.starts_with('<') => Some("XML"),
        _ if first == "---" || is_key(first) => Some("YAML"),
        _ => None,
    }
}

/// Prints the report of an import: what happened to each item of the document. Prints it as JSON if
/// `as_json` is true, otherwise as notes.
fn print_report(report: &Report, as_json: bool, term: &Term) {
    if as_json {
        // Serializing texts and numbers cannot fail.
        return term.print(&Message::verbatim(serde_json::to_string(report).unwrap_or_default()));
    }
    for note in report.messages() {
        term.print_note(&note);
    }
}
