//! `rulec check --cost`: the worst-case cost of decisions, and tables that exceed the allowed cost.

use super::Args;
use crate::CliError;
use crate::compiled::CompileResult;
use crate::language;
use crate::report::FindingFormat;
use crate::term::{Out, Term, group_digits};
use rulec::Message;
use rulec::cost::TableCost;
use rulec_base::message;
use rulec_base::text::to_one_line;
use rulec_config::Settings;
use serde::Serialize;

/// Prints the worst-case cost of decisions if `--cost` is given. Prints an error for each table
/// whose cost exceeds the maximum that `--max-cost` or the settings allow, and returns the number
/// of these tables.
pub fn report_costs(
    args: &Args,
    compiled: &CompileResult,
    settings: &Settings,
    (term, out): (&Term, &mut Out),
) -> Result<usize, CliError> {
    let Ok(rules) = &compiled.result else { return Ok(0) };
    if !args.cost && settings.max_cost.is_none() {
        return Ok(0);
    }
    let file = compiled.target.display_name();
    let mut too_costly = 0;
    for table in rules.cost() {
        match (args.cost, args.format) {
            (true, FindingFormat::Human) => write_table_cost(&table, &file, out)?,
            (true, FindingFormat::Json) => {
                let costs = FileCost { file: &file, cost: &table };
                out.write_json_line(&serde_json::to_string(&costs).unwrap_or_default())?;
            }
            _ => {}
        }
        if let Some(most) = settings.max_cost.filter(|most| table.steps > *most) {
            too_costly += 1;
            let (steps, most) = (group_digits(table.steps), group_digits(most));
            let name = to_one_line(&table.table);
            let cost_error = message!(
                "{file}: `{name}` may take {steps} steps in the worst case, but only {most} are allowed"
            );
            match args.format {
                FindingFormat::Github => {
                    out.write_line(&format!("::error file={file}::{}", language::localized(&cost_error)))?
                }
                _ => term.print_error(&cost_error),
            }
        }
    }
    Ok(too_costly)
}

#[derive(Serialize)]
struct FileCost<'a> {
    file: &'a str,
    cost: &'a TableCost,
}

/// Maximum number of statements whose cost is shown. Only the most expensive statements are shown.
const MAX_SHOWN_STATEMENTS: usize = 20;

fn write_table_cost(table: &TableCost, file: &str, out: &mut Out) -> Result<(), CliError> {
    let calls = |calls: u64| match calls {
        0 => Message::default(),
        1 => message!(", 1 call to a host function"),
        calls => message!(", {calls} calls to host functions"),
    };
    let name = to_one_line(&table.table);
    let steps = group_digits(table.steps);
    out.write_message(&message!(
        "{file}: `{name}` takes {steps} steps in the worst case{}",
        calls(table.calls)
    ))?;
    for statement in table.statements.iter().take(MAX_SHOWN_STATEMENTS) {
        let name = to_one_line(&statement.name);
        let grows = match statement.grows_with_history {
            true => message!(", grows with the history"),
            false => Message::default(),
        };
        out.write_line(&format!(
            "  {:>15}  {name}{}{}",
            group_digits(statement.steps),
            language::localized(&calls(statement.calls)),
            language::localized(&grows)
        ))?;
    }
    if table.statements.len() > MAX_SHOWN_STATEMENTS {
        out.write_message(&message!(
            "                   … and {} more",
            table.statements.len() - MAX_SHOWN_STATEMENTS
        ))?;
    }
    Ok(())
}
