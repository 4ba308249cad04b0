//! `rulec graph`: draws the workflows, routes, choices, routers and flows of a rules file. The
//! crate `rulec-report` converts these declarations to nodes and edges; the submodules only write
//! the output formats.
//!
//! | module | contents |
//! |---|---|
//! | `text` | output for Mermaid and for Graphviz |
//! | `svg` | output as an SVG picture, with its own layout |

mod svg;
mod text;

use super::files::{self, RulesArgs};
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use clap::ValueEnum;
use rulec::Rules;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_report::drawing::{self, Drawing};
use rulec_sema::hir::TableKind;
use std::path::PathBuf;

/// Draw the workflows, routes, choices and flows of a rules file
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec graph review.rules
  rulec graph support.rules --name routes
  rulec graph review.rules --format dot | dot -Tsvg > review.svg
  rulec graph review.rules --name council --format svg -o council.svg

Without --name, the workflows are drawn. If there are no workflows, the routes, choices, routers and flows are \
drawn. In a workflow, the label of an edge is the condition by which a router chooses it; a dashed edge is a \
loop-back; a node with double lines runs its next nodes in parallel. Routes are tried from top to bottom: a \
solid edge is followed if the condition holds, and a dashed edge leads to the condition that is tried next.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// Draw only this workflow, table, choice or router, or `flows`, or `routes` for the routes
    /// outside any table
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: DrawingFormat,
    /// Write the drawing to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DrawingFormat {
    /// A Mermaid flowchart, for Markdown pages
    #[default]
    Mermaid,
    /// A Graphviz digraph
    Dot,
    /// An SVG image
    Svg,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let rules = args.rules.load(term)?;
    let text = draw_as(&rules, args.name.as_deref(), args.format)?;
    match (&args.output, args.format) {
        (Some(path), _) => files::replace_file(path, text.as_bytes())?,
        (None, DrawingFormat::Svg) => out.write_text_for_programs(&text)?,
        (None, _) => out.write_text(text.trim_end_matches('\n'))?,
    }
    Ok(ExitStatus::Success)
}

/// Draws rules as `rulec graph` does. `name` selects a workflow, table, choice or router; `None`
/// draws all of them. `format` is `mermaid`, `dot` or `svg`.
///
/// # Errors
/// If the rules have no such workflow, table, choice or router, or the format is unknown. Also if
/// an SVG picture would have to show several drawings.
pub fn draw(rules: &Rules, name: Option<&str>, format: &str) -> Result<String, Message> {
    let format = DrawingFormat::from_str(format, false)
        .map_err(|_| message!("`{format}` is no format of a drawing; write `mermaid`, `dot` or `svg`"))?;
    draw_as(rules, name, format).map_err(|error| error.message.unwrap_or_default())
}

fn draw_as(rules: &Rules, name: Option<&str>, format: DrawingFormat) -> Result<String, CliError> {
    let drawings = select_drawings(rules, name)?;
    if format == DrawingFormat::Svg && drawings.len() > 1 {
        let names: Vec<&str> = drawings.iter().map(|drawing| drawing.name.as_str()).collect();
        let names = names.join(", ");
        return Err(CliError::usage_error(message!(
            "an SVG picture can show only one drawing; choose it with `--name`: {names}"
        )));
    }
    Ok(match format {
        DrawingFormat::Svg => drawings.iter().map(svg::render_svg).collect(),
        DrawingFormat::Dot => join_drawings(&drawings, text::render_dot),
        DrawingFormat::Mermaid => join_drawings(&drawings, text::render_mermaid),
    })
}

/// Returns the drawings in a text format, with a blank line between two drawings.
fn join_drawings(drawings: &[Drawing], render: fn(&Drawing) -> String) -> String {
    let texts: Vec<String> =
        drawings.iter().map(|drawing| render(drawing).trim_end_matches('\n').to_owned() + "\n").collect();
    texts.join("\n")
}

fn select_drawings(rules: &Rules, name: Option<&str>) -> Result<Vec<Drawing>, CliError> {
    let program = rules.program();
    let workflows = || program.workflows.iter();
    let tables = || {
        let drawable = program.tables.iter().filter(|table| {
            table.kind != TableKind::Requirements
                && (!table.evaluation_order.is_empty() || table.default.is_some())
        });
        drawable.map(|table| &*table.name)
    };
    if let Some(name) = name {
        if let Some(workflow) = workflows().find(|workflow| *workflow.name == *name) {
            return Ok(vec![drawing::draw_workflow(rules, workflow)]);
        }
        if let Some(table) = tables().find(|table| *table == name) {
            return Ok(vec![drawing::draw_table(rules, table)]);
        }
        let names = workflows().map(|workflow| &*workflow.name).chain(tables());
        let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        return Err(CliError::usage_error(message!(
            "there is nothing named `{name}` to draw; the names are {known}",
            known = names
        )));
    }
    let mut drawings: Vec<Drawing> =
        workflows().map(|workflow| drawing::draw_workflow(rules, workflow)).collect();
    if drawings.is_empty() {
        // A table that a `goto` enters is drawn inside the drawing of the table with the `goto`, so
        // it gets no drawing of its own.
        let entered_tables = drawing::goto_target_tables(program);
        drawings.extend(
            tables()
                .filter(|table| !entered_tables.contains(table))
                .map(|table| drawing::draw_table(rules, table)),
        );
    }
    match drawings.is_empty() {
        true => Err(CliError::usage_error(message!(
            "the rules contain no workflow, route, choice, router or flow to draw"
        ))),
        false => Ok(drawings),
    }
}
