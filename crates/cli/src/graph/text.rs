//! Writes drawings as text, for Mermaid (shown on Markdown pages) and for Graphviz.

use rulec_report::drawing::{Drawing, Edge, NodeShape, to_label_line};
use std::fmt::Write;

pub fn render_mermaid(drawing: &Drawing) -> String {
    let mut text = format!("%% {}\nflowchart TD\n", escape_mermaid(&drawing.name));
    for (number, node) in drawing.nodes.iter().enumerate() {
        let label = quote_mermaid(&node.label);
        let (open, close) = match node.shape {
            NodeShape::Box => ("[", "]"),
            NodeShape::Double => ("[[", "]]"),
            NodeShape::Start => ("([", "])"),
            NodeShape::Question => ("{{", "}}"),
            NodeShape::Outcome => ("(", ")"),
        };
        let _ = writeln!(text, "  n{number}{open}{label}{close}");
    }
    for Edge { start_index: from, end_index: to, label, is_dashed: dashed } in &drawing.edges {
        let arrow = if *dashed { "-.->" } else { "-->" };
        let label = if label.is_empty() { String::new() } else { format!("|{}|", quote_mermaid(label)) };
        let _ = writeln!(text, "  n{from} {arrow}{label} n{to}");
    }
    text
}

pub fn render_dot(drawing: &Drawing) -> String {
    let mut text = format!("digraph {} {{\n", quote_dot(&drawing.name));
    for (number, node) in drawing.nodes.iter().enumerate() {
        let shape = match node.shape {
            NodeShape::Box => "shape=box",
            NodeShape::Double => "shape=box, peripheries=2",
            NodeShape::Start => "shape=oval",
            NodeShape::Question => "shape=hexagon",
            NodeShape::Outcome => "shape=box, style=rounded",
        };
        let _ = writeln!(text, "  n{number} [{shape}, label={}];", quote_dot(&node.label));
    }
    for Edge { start_index: from, end_index: to, label, is_dashed: dashed } in &drawing.edges {
        let style = if *dashed { "style=dashed, " } else { "" };
        let _ = writeln!(text, "  n{from} -> n{to} [{style}label={}];", quote_dot(label));
    }
    text + "}\n"
}

fn quote_mermaid(text: &str) -> String {
    format!("\"{}\"", escape_mermaid(text))
}

/// Escapes a text for Mermaid, which reads HTML and Markdown in labels, and directives such as
/// `%%{init: …}%%` anywhere, also in comments and labels.
fn escape_mermaid(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in to_label_line(text).chars() {
        match c {
            '#' => out.push_str("#35;"),
            '"' => out.push_str("#quot;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '%' => out.push_str("#37;"),
            '`' => out.push_str("#96;"),
            c => out.push(c),
        }
    }
    out
}

fn quote_dot(text: &str) -> String {
    format!("\"{}\"", to_label_line(text).replace('\\', "\\\\").replace('"', "\\\""))
}
