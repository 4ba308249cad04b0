//! `rulec graph`: the workflows of a rules file, drawn as text for Mermaid or Graphviz.

use super::files::RulesArgs;
use super::term::{Out, Term};
use super::{CliError, Status, workflow};
use clap::ValueEnum;
use rulec::Rules;
use rulec::internals::sema::hir::{Destination, Node, Outcome, Workflow};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// Draw the workflows of a rules file
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec graph review.rules
  rulec graph review.rules --format dot | dot -Tsvg > review.svg

Edges that a router chooses carry its condition; a dashed one is a way back, and a node with double lines
runs its next nodes side by side.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// Only the workflow of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The language of the drawing
    #[arg(long, value_enum, default_value_t)]
    format: Language,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Language {
    /// A flowchart of Mermaid, which Markdown pages show
    #[default]
    Mermaid,
    /// A digraph of Graphviz
    Dot,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let rules = args.rules.load(term)?;
    let all = &rules.program().workflows;
    let drawn: Vec<&Workflow> = match &args.name {
        None if all.is_empty() => return Err(workflow::none()),
        None => all.iter().collect(),
        Some(name) => vec![workflow::named(&rules, Some(name))?],
    };
    for (at, workflow) in drawn.into_iter().enumerate() {
        if at > 0 {
            out.line("")?;
        }
        let drawing = draw(&rules, workflow, args.format);
        out.text(drawing.trim_end_matches('\n'))?;
    }
    Ok(Status::Fine)
}

/// An edge: where to, what is said of it, and whether it is a way back.
struct Edge {
    to: usize,
    label: String,
    back: bool,
}

fn draw(rules: &Rules, workflow: &Workflow, language: Language) -> String {
    let numbers: HashMap<&str, usize> =
        workflow.nodes.iter().enumerate().map(|(number, node)| (&*node.id, number)).collect();
    let mut text = match language {
        Language::Mermaid => format!("%% {}\nflowchart TD\n", one_line(&workflow.name)),
        Language::Dot => format!("digraph {} {{\n", dot(&workflow.name)),
    };
    for (number, node) in workflow.nodes.iter().enumerate() {
        let label = format!("{}: {}", node.id, node.kind);
        let _ = match (language, node.is_parallel()) {
            (Language::Mermaid, false) => writeln!(text, "  n{number}[{}]", mermaid(&label)),
            (Language::Mermaid, true) => writeln!(text, "  n{number}[[{}]]", mermaid(&label)),
            (Language::Dot, false) => writeln!(text, "  n{number} [shape=box, label={}];", dot(&label)),
            (Language::Dot, true) => {
                writeln!(text, "  n{number} [shape=box, peripheries=2, label={}];", dot(&label))
            }
        };
    }
    for (from, node) in workflow.nodes.iter().enumerate() {
        for Edge { to, label, back } in edges(rules, node, &numbers) {
            let _ = match language {
                Language::Mermaid => {
                    let arrow = if back { "-.->" } else { "-->" };
                    let label = if label.is_empty() { label } else { format!("|{}|", mermaid(&label)) };
                    writeln!(text, "  n{from} {arrow}{label} n{to}")
                }
                Language::Dot => {
                    let style = if back { "style=dashed, " } else { "" };
                    writeln!(text, "  n{from} -> n{to} [{style}label={}];", dot(&label))
                }
            };
        }
    }
    if matches!(language, Language::Dot) {
        text.push_str("}\n");
    }
    text
}

fn edges(rules: &Rules, node: &Node, numbers: &HashMap<&str, usize>) -> Vec<Edge> {
    let number = |id: &str| numbers.get(id).copied();
    let program = rules.program();
    // A parallel node's router is never asked.
    let Some(router) = node.router.filter(|_| !node.is_parallel()) else {
        let plain = node.next.iter().filter_map(|id| number(id));
        return plain.map(|to| Edge { to, label: String::new(), back: false }).collect();
    };
    let mut edges = Vec::new();
    for id in &program.tables[router.index()].order {
        let rule = &program.rules[id.index()];
        let Outcome::Next { destinations, loopback, .. } = &rule.outcome else { continue };
        let condition = rules.sources().slice(rule.condition.span);
        let label = match (&*rule.name, condition) {
            ("otherwise", _) | (_, "") => rule.name.to_string(),
            (_, condition) => condition.to_owned(),
        };
        let reached = destinations.iter().flat_map(|destination| match destination {
            Destination::Node(id) => vec![id.clone()],
            Destination::At(slot) if node.next.len() > *slot as usize => {
                vec![node.next[*slot as usize].clone()]
            }
            Destination::All | Destination::At(_) | Destination::Named(_) => node.next.clone(),
        });
        let reached: BTreeSet<usize> = reached.filter_map(|id| number(&id)).collect();
        edges.extend(reached.into_iter().map(|to| Edge { to, label: label.clone(), back: *loopback }));
    }
    edges
}

/// A text without line breaks, which would end what it stands in.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn mermaid(text: &str) -> String {
    format!(
        "\"{}\"",
        one_line(text).replace('#', "#35;").replace('"', "#quot;").replace('<', "#lt;").replace('>', "#gt;")
    )
}

fn dot(text: &str) -> String {
    format!("\"{}\"", one_line(text).replace('\\', "\\\\").replace('"', "\\\""))
}
