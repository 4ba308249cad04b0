//! Draws a graph as an SVG picture. The layout is simple and stable: a breadth-first search assigns
//! each node to the row below the node from which the search first reaches it. Edges to the same
//! row or a higher row bend around the side.

use crate::escape::escape_xml;
use rulec_report::drawing::{Drawing, NodeShape};
use std::collections::VecDeque;
use std::fmt::Write;

/// Assumed width of a character in the SVG picture, in pixels.
const CHAR_WIDTH: usize = 8;
/// Height of a line of text in the SVG picture, in pixels.
const LINE_HEIGHT: usize = 18;
/// Distance between the text of a node and the outline of the node, in pixels.
const TEXT_PADDING: usize = 10;
/// Maximum number of columns in a line of a node's label. A wide character takes two columns.
const MAX_LABEL_COLUMNS: usize = 44;
/// Distance between the nodes of a row, in pixels.
const NODE_GAP: usize = 40;
/// Vertical distance between rows of nodes in the SVG picture, in pixels.
const ROW_GAP: usize = 56;

struct PlacedNode {
    label_lines: Vec<String>,
    /// Horizontal position of the node's centre, in pixels.
    center_x: usize,
    center_y: usize,
    width: usize,
    height: usize,
}

pub fn render_svg(drawing: &Drawing) -> String {
    let (placed, width, height) = place_nodes(drawing);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, monospace\" font-size=\"13\">\n<title>{}</title>\n\
         <defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        escape_xml(&drawing.name)
    );
    for edge in &drawing.edges {
        let (from, to) = (&placed[edge.start_index], &placed[edge.end_index]);
        let dashes = if edge.is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let (path, x, y) = edge_curve(from, to);
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"black\"{dashes} marker-end=\"url(#end)\"/>"
        );
        if !edge.label.is_empty() {
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#444\" font-size=\"11\">{}</text>",
                escape_xml(&edge.label)
            );
        }
    }
    for (node, placed_node) in drawing.nodes.iter().zip(&placed) {
        write_outline(node.shape, placed_node, &mut out);
        let first_baseline = placed_node.center_y + LINE_HEIGHT / 4 + LINE_HEIGHT / 2
            - placed_node.label_lines.len() * LINE_HEIGHT / 2;
        for (line, text) in placed_node.label_lines.iter().enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                placed_node.center_x,
                first_baseline + line * LINE_HEIGHT,
                escape_xml(text)
            );
        }
    }
    out + "</svg>\n"
}

fn write_outline(shape: NodeShape, node: &PlacedNode, out: &mut String) {
    let (left, top) = (node.center_x - node.width / 2, node.center_y - node.height / 2);
    let (right, bottom) = (left + node.width, top + node.height);
    let _ = match shape {
        NodeShape::Question => {
            let (inset, middle) = (TEXT_PADDING, node.center_y);
            writeln!(
                out,
                "<polygon points=\"{left},{middle} {},{top} {},{top} {right},{middle} {},{bottom} {},{bottom}\" fill=\"#fff7dd\" stroke=\"black\"/>",
                left + inset,
                right - inset,
                right - inset,
                left + inset
            )
        }
        _ => {
            let (round, fill) = match shape {
                NodeShape::Start => (node.height / 2, "#e6eefc"),
                NodeShape::Outcome => (6, "#e4f5e4"),
                _ => (0, "#f4f4f4"),
            };
            let (width, height) = (node.width, node.height);
            writeln!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"black\"/>"
            )
        }
    };
    if shape == NodeShape::Double {
        let (width, height) = (node.width - 6, node.height - 6);
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"black\"/>",
            left + 3,
            top + 3
        );
    }
}

/// Returns the attribute `d` of the SVG element `path` that draws an edge, and the x and y of the
/// edge's label in pixels.
fn edge_curve(from: &PlacedNode, to: &PlacedNode) -> (String, usize, usize) {
    let (start, end) = (from.center_y + from.height / 2, to.center_y - to.height / 2);
    if start < end {
        let middle = (start + end) / 2;
        let path = format!(
            "M{} {start}C{} {middle} {} {middle} {} {end}",
            from.center_x, from.center_x, to.center_x, to.center_x
        );
        return (path, (from.center_x + to.center_x) / 2, middle.saturating_sub(3));
    }
    // An edge to the same row or a higher row is drawn around the right side of both nodes.
    let (start, end) = (from.center_x + from.width / 2, to.center_x + to.width / 2);
    let side = start.max(end) + NODE_GAP;
    let path = format!(
        "M{start} {}C{side} {} {side} {} {end} {}",
        from.center_y, from.center_y, to.center_y, to.center_y
    );
    (path, side.saturating_sub(NODE_GAP / 4), (from.center_y + to.center_y) / 2)
}

/// Returns the positions of the nodes, and the width and height of the whole picture in pixels.
fn place_nodes(drawing: &Drawing) -> (Vec<PlacedNode>, usize, usize) {
    let rows = node_rows(drawing);
    let mut placed: Vec<PlacedNode> = drawing
        .nodes
        .iter()
        .map(|node| {
            let lines = wrap_label(&node.label);
            let longest = lines.iter().map(|line| display_width(line)).max().unwrap_or(1);
            let (width, height) =
                (longest * CHAR_WIDTH + 3 * TEXT_PADDING, lines.len() * LINE_HEIGHT + TEXT_PADDING);
            PlacedNode { label_lines: lines, center_x: 0, center_y: 0, width, height }
        })
        .collect();
    let last = rows.iter().copied().max().unwrap_or_default();
    let nodes_of_row = |row: usize| (0..rows.len()).filter(|node| rows[*node] == row).collect::<Vec<usize>>();
    let row_width = |nodes: &[usize], placed: &[PlacedNode]| {
        nodes.iter().map(|node| placed[*node].width + NODE_GAP).sum::<usize>()
    };
    let max_row_width =
        (0..=last).map(|row| row_width(&nodes_of_row(row), &placed)).max().unwrap_or_default();
    let mut top = NODE_GAP / 2;
    for row in 0..=last {
        let nodes = nodes_of_row(row);
        let height = nodes.iter().map(|node| placed[*node].height).max().unwrap_or_default();
        let mut left = NODE_GAP / 2 + (max_row_width - row_width(&nodes, &placed)) / 2;
        for node in nodes {
            let placed_node = &mut placed[node];
            (placed_node.center_x, placed_node.center_y) =
                (left + NODE_GAP / 2 + placed_node.width / 2, top + height / 2);
            left += placed_node.width + NODE_GAP;
        }
        top += height + ROW_GAP;
    }
    // Space for the edges that bend around the right side.
    (placed, max_row_width + 3 * NODE_GAP, top)
}

/// Returns the row of each node, by the index of the node. A breadth-first search starts at each
/// node that no earlier search has reached, and puts this node into row 0. A node that the search
/// first reaches from row `n` gets row `n + 1`.
fn node_rows(drawing: &Drawing) -> Vec<usize> {
    let mut rows = vec![None; drawing.nodes.len()];
    let mut targets = vec![Vec::new(); drawing.nodes.len()];
    for edge in &drawing.edges {
        targets[edge.start_index].push(edge.end_index);
    }
    for root in 0..rows.len() {
        if rows[root].is_some() {
            continue;
        }
        rows[root] = Some(0);
        let mut queue = VecDeque::from([root]);
        while let Some(node) = queue.pop_front() {
            let below = rows[node].unwrap_or_default() + 1;
            for target in &targets[node] {
                if rows[*target].is_none() {
                    rows[*target] = Some(below);
                    queue.push_back(*target);
                }
            }
        }
    }
    rows.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the display width of a text in columns. Wide characters, such as Chinese ones, take two
/// columns.
fn display_width(text: &str) -> usize {
    text.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).sum()
}

/// Splits a word that is longer than a line into parts that each fit on a line. Wide characters
/// count as two columns.
fn split_long_word(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(word);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut columns = 0;
        let end = text.char_indices().find_map(|(at, c)| {
            columns += if c < '\u{1100}' { 1 } else { 2 };
            (columns > MAX_LABEL_COLUMNS).then_some(at)
        });
        let (part, left) = end.map_or((text, None), |end| (&text[..end], Some(&text[end..])));
        rest = left;
        Some(part)
    })
}

fn wrap_label(label: &str) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in label.split(' ').flat_map(split_long_word) {
        if !line.is_empty() && display_width(&line) + 1 + display_width(word) > MAX_LABEL_COLUMNS {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    lines.push(line);
    lines
}
