//! `rulec plan`: shows how the engine finds each rule, and why. A rule is found by an index key, by
//! bits of a bitmap index, or by trying the rule for every message.

use super::files::RulesArgs;
use super::language::{localized, singular_or_plural};
use super::term::{Format, Out, Term, paint};
use super::{CliError, ExitStatus};
use rulec::Message;
use rulec_base::diag::comma_list;
use rulec_base::message;
use rulec_base::text::{self, to_one_line};
use rulec_sema::hir::{Payload, Program, TableId};
use rulec_vm::index::plan::{AccessPath, TablePlan};
use serde::Serialize;
use std::collections::HashMap;

/// Show how the engine finds each rule: by an index key, by a bitmap index, or by trying it for
/// every message
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec plan support.rules
  rulec plan support.rules --entry billing
  rulec plan support.rules --format json | jq '.[].routes[] | select(.by == \"always\")'

Use it to find the rules that make decisions slow. For each rule, prints how the engine finds it:
  key      matching messages contain a text, a value or a list element, which an index looks up
  bits     values of the message, such as a number that is compared, select the rule in a bitmap
  always   nothing can be looked up, so the condition is evaluated for every message
For each table, prints the estimated time per message with the index and without it, in nanoseconds. The \
faster of the two is used, unless `rulec run` or `rulec bench` gets `--index always` or `--index never`.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// Show only this table, choice, router or payload kind, or `flows`, or `routes` for the routes
    /// outside any table
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct TablePlanReport<'a> {
    name: &'a str,
    indexed: bool,
    index_cost: f64,
    linear_cost: f64,
    routes: Vec<RoutePlanReport<'a>>,
    /// The name of the `payload` statement, if this is a table of payload rules; otherwise `None`.
    #[serde(skip)]
    payload: Option<&'a str>,
}

impl TablePlanReport<'_> {
    /// Adds the costs and rules of another table of the same payload kind (`payload` statement).
    /// The rules of one kind are in several tables: one for the fields, and one for the elements of
    /// each list.
    fn merge(&mut self, other: Self) {
        self.indexed |= other.indexed;
        self.index_cost += other.index_cost;
        self.linear_cost += other.linear_cost;
        for route in other.routes {
            if !self.routes.contains(&route) {
                self.routes.push(route);
            }
        }
    }
}

#[derive(PartialEq, Serialize)]
struct RoutePlanReport<'a> {
    name: &'a str,
    #[serde(flatten)]
    access_path: &'a AccessPath,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let rules = &args.rules.load(term)?;
    let program = rules.program();
    let owners: HashMap<TableId, &Payload> = program
        .payloads
        .iter()
        .flat_map(|payload| payload.block.tables().into_iter().map(move |table| (table, payload)))
        .collect();
    let selected_entry = match args.entry.as_deref() {
        Some(name) if !program.payloads.iter().any(|payload| *payload.name == *name) => {
            Some(rules.entry(name).map_err(|error| CliError::usage_error(error.to_message()))?.name())
        }
        name => name,
    };
    let plans = rules.plan();
    let mut tables: Vec<TablePlanReport<'_>> = Vec::new();
    for plan in plans.iter().filter(|plan| !plan.routes.is_empty()) {
        let payload = owners.get(&TableId(plan.table)).copied();
        let table = report_table(program, plan, payload);
        match tables.iter_mut().find(|existing| payload.is_some() && existing.payload == table.payload) {
            Some(existing) => existing.merge(table),
            None => tables.push(table),
        }
    }
    tables.retain(|table| selected_entry.is_none_or(|selected_entry| selected_entry == table.name));
    match args.format {
        Format::Json => out.write_json(&tables)?,
        Format::Human => {
            for (index, table) in tables.iter().enumerate() {
                if index > 0 {
                    out.write_line("")?;
                }
                write_table(table, term.is_stdout_colored(), out)?;
            }
        }
    }
    Ok(ExitStatus::Success)
}

fn report_table<'a>(
    program: &'a Program,
    plan: &'a TablePlan,
    payload: Option<&'a Payload>,
) -> TablePlanReport<'a> {
    let payload = payload.map(|payload| &*payload.name);
    let routes = plan.routes.iter().map(|route| RoutePlanReport {
        name: &program.rules[route.rule as usize].name,
        access_path: &route.found,
    });
    TablePlanReport {
        name: payload.unwrap_or(&program.tables[plan.table as usize].name),
        indexed: plan.indexed,
        index_cost: plan.index_cost.round(),
        linear_cost: plan.linear_cost.round(),
        routes: routes.collect(),
        payload,
    }
}

/// Returns advice about the routes of a table that the index cannot find, so that they are tried
/// for every message. `None` if there is no such route, or if the table is searched without the
/// index.
fn index_advice(table: &TablePlanReport<'_>) -> Option<Message> {
    const MAX_NAMED_ROUTES: usize = 3;
    let always_tried =
        table.routes.iter().filter(|route| matches!(route.access_path, AccessPath::Always { .. }));
    let names: Vec<String> = always_tried.map(|route| format!("`{}`", to_one_line(route.name))).collect();
    if names.is_empty() || !table.indexed {
        return None;
    }
    let found = table.routes.len() - names.len();
    let all = rule_count_text(table.routes.len());
    let (shown, more) =
        (comma_list(names.iter().take(MAX_NAMED_ROUTES)), names.len().saturating_sub(MAX_NAMED_ROUTES));
    let shown = if more > 0 { message!("{shown} and {more} more") } else { shown };
    Some(match names.len() {
        1 => message!(
            "the index finds {found} of {all}; {shown} is evaluated for every message: add an equality \
            test, or a test for a text that the message must contain"
        ),
        _ => message!(
            "the index finds {found} of {all}; {shown} are evaluated for every message: add to each an \
            equality test, or a test for a text that the message must contain"
        ),
    })
}

fn write_table(table: &TablePlanReport<'_>, color: bool, out: &mut Out) -> Result<(), CliError> {
    let count = |predicate: fn(&AccessPath) -> bool| {
        table.routes.iter().filter(|route| predicate(route.access_path)).count()
    };
    let how = if table.indexed { message!("found by the index") } else { message!("tried one by one") };
    let name = paint(color, "1", &to_one_line(table.name));
    let (all, with, without) = (rule_count_text(table.routes.len()), table.index_cost, table.linear_cost);
    out.write_styled(&localized(&message!(
        "{name}: {all}, {how} (about {with} ns with the index, {without} ns without)"
    )))?;
    out.write_message(&message!(
        "  {} by key, {} by bits, {} always tried",
        count(|found| matches!(found, AccessPath::Key { .. })),
        count(|found| matches!(found, AccessPath::Bits { .. })),
        count(|found| matches!(found, AccessPath::Always { .. })),
    ))?;
    if let Some(advice) = index_advice(table) {
        out.write_message(&message!("  {advice}"))?;
    }
    let names: Vec<_> = table.routes.iter().map(|route| to_one_line(route.name)).collect();
    let width = names.iter().map(|name| text::display_width(name)).max().unwrap_or(0).min(32);
    for (route, name) in table.routes.iter().zip(&names) {
        let (by, what) = route.access_path.name_and_message();
        let what = match route.access_path.shared_route_count() {
            0 => what,
            1 => message!("{what}  (shared with 1 other)"),
            others => message!("{what}  (shared with {others} others)"),
        };
        let padding = " ".repeat(width.saturating_sub(text::display_width(name)));
        let (by, what) = (paint(color, "36", &format!("{by:<6}")), localized(&what));
        let what = to_one_line(&what);
        out.write_styled(&format!("  {name}{padding}  {by}  {what}"))?;
    }
    Ok(())
}

/// Returns a localized count, such as `3 rules`.
fn rule_count_text(count: usize) -> Message {
    singular_or_plural(count, message!("1 rule"), message!("{count} rules"))
}
