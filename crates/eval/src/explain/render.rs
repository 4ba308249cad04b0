//! Renders an explanation as a tree: first the decision, then the message fields that were read,
//! then each route in evaluation order. The conditions of a route are below it. The values that the
//! conditions tested are aligned in a column on the right.

use super::paint::Painter;
use super::show::{escape_and_truncate, format_operand, format_thousands, format_value};
use super::{Explanation, IntentTrace, format_handler_call};
use crate::trace::{Elements, Mark, NodeKind, Note, Operand, RouteTrace, TableTrace, TraceNode};
use rulec_base::diag::{Language, Message};
use rulec_base::message;
use rulec_base::text::{display_width, to_one_line};
use rulec_sema::hir::TableKind;
use serde_json::{Map, Value as Json};
use std::fmt::Write;

/// Options for rendering an explanation.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions {
    /// Whether the rendered explanation has terminal colours.
    pub color: bool,
    /// The width of the rendered explanation in columns.
    pub width: usize,
    /// Maximum number of routes per table that are shown although they were not chosen. Further
    /// routes are only counted.
    pub max_routes: usize,
    /// The language of those texts of the explanation that are not quoted from the rules.
    pub language: Language,
}

impl Default for RenderOptions {
    fn default() -> Self {
        RenderOptions { color: false, width: 120, max_routes: 50, language: Language::English }
    }
}

/// Width in terminal columns of the titles above the tree, such as `metadata`, with the space after
/// them.
const TITLE_WIDTH: usize = 10;

/// Maximum width, in terminal columns, of a line whose notes (the values that a test used) are
/// aligned in the right column. In a wider line, the notes follow directly after the text.
const MAX_ALIGNED_WIDTH: usize = 52;

/// A line of an explanation, which is drawn as a tree. Its notes (values and reasons) are later
/// aligned with the notes of other lines.
struct TreeLine {
    depth: usize,
    /// The result (true, false or unknown) before the text; `None` for a line without a result.
    result_mark: Option<Mark>,
    text: String,
    is_bold: bool,
    /// Text in a dim colour that follows the main text of the line.
    dim_suffix: String,
    /// Values that a test read, or reasons, shown in the right column.
    notes: Vec<String>,
    /// Whether the notes say why a condition is unknown. Such notes are shown in a warning colour.
    is_warning: bool,
}

struct TreeRenderer {
    lines: Vec<TreeLine>,
    max_routes: usize,
    language: Language,
}

pub(super) fn render(explanation: &Explanation, options: &RenderOptions) -> String {
    let (paint, language) = (Painter(options.color), options.language);
    let mut out = String::new();
    write_headline(explanation, paint, language, &mut out);
    let mut tree = TreeRenderer { lines: Vec::new(), max_routes: options.max_routes, language };
    tree.push_table(&explanation.trace, 0);
    if let Some(intents) = &explanation.intents {
        tree.push_intents(intents);
    }
    write_aligned(&tree.lines, options, &mut out);
    for failure in &explanation.host_failures {
        let why = escape_and_truncate(&failure.message, 200);
        let text = message!("! {} failed: {why}", to_one_line(&failure.function));
        let _ = writeln!(out, "{}", paint.paint_warning(&text.localized(language)));
    }
    out
}

fn write_headline(explanation: &Explanation, paint: Painter, language: Language, out: &mut String) {
    let localized = |message: &Message| message.localized(language).into_owned();
    let mut steps: Vec<String> = Vec::new();
    for table in &explanation.tables {
        if *table != rulec_sema::hir::ROUTES_TABLE {
            // A `goto` leads only to tables of routes; only the entry may be of another kind.
            let kind = if steps.is_empty() { explanation.trace.kind } else { TableKind::Routes };
            steps.push(match kind {
                TableKind::Routes | TableKind::Requirements => localized(&message!("table {table}")),
                TableKind::Choice => localized(&message!("choice {table}")),
                TableKind::Router => localized(&message!("router {table}")),
                TableKind::Flows => table.clone(),
            });
        }
    }
    steps.push(match &explanation.chosen {
        Some(chosen) => chosen.clone(),
        None => localized(&message!("nothing was chosen")),
    });
    steps.extend(format_handler_call(explanation, language));
    let steps = paint.paint_bold(&to_one_line(&steps.join(" → ")));
    let _ = writeln!(out, "{}", localized(&message!("why: {steps}")));
    let mut write_entry = |title: &Message, text: &str| {
        let padding = " ".repeat(TITLE_WIDTH.saturating_sub(display_width(&localized(title))));
        let _ = writeln!(out, "  {}{padding}{text}", localized(title));
    };
    if !explanation.metadata.is_empty() {
        write_entry(
            &message!("metadata"),
            &format_value(&Json::Object(explanation.metadata.clone()), language),
        );
    }
    if !explanation.requires.is_empty() {
        let permissions: Vec<String> =
            explanation.requires.iter().map(|permission| escape_and_truncate(permission, 200)).collect();
        write_entry(&message!("requires"), &permissions.join(", "));
    }
    for name in &explanation.missing_args {
        let text = message!("! the argument {} is missing, so its value is null", to_one_line(name));
        write_entry(&Message::verbatim(paint.paint_warning(&localized(&text))), "");
    }
    for (position, field) in explanation.message.iter().enumerate() {
        let title = if position == 0 { message!("message") } else { Message::default() };
        write_entry(&title, &format_operand(field, language));
    }
    out.push('\n');
}

pub(super) fn format_arguments(args: &Map<String, Json>, language: Language) -> String {
    if args.is_empty() {
        return String::new();
    }
    let args: Vec<String> =
        args.iter().map(|(name, json)| format!("{name}: {}", format_value(json, language))).collect();
    format!("({})", args.join(", "))
}

impl TreeRenderer {
    fn push_marked_line(&mut self, depth: usize, mark: Mark, text: impl Into<String>) -> &mut TreeLine {
        self.push_line(depth, Some(mark), text)
    }

    fn push_line(&mut self, depth: usize, mark: Option<Mark>, text: impl Into<String>) -> &mut TreeLine {
        let index = self.lines.len();
        self.lines.push(TreeLine {
            depth,
            result_mark: mark,
            text: to_one_line(&text.into()).into_owned(),
            is_bold: false,
            dim_suffix: String::new(),
            notes: Vec::new(),
            is_warning: false,
        });
        &mut self.lines[index]
    }

    fn localized(&self, message: &Message) -> String {
        message.localized(self.language).into_owned()
    }

    fn push_table(&mut self, table: &TableTrace, depth: usize) {
        if table.searched_before {
            self.push_marked_line(
                depth,
                Mark::Skipped,
                self.localized(&message!("already searched above: it chooses nothing")),
            );
            return;
        }
        let mut hidden_routes = 0;
        for (position, route) in table.routes.iter().enumerate() {
            if position < self.max_routes || route.chosen {
                self.push_route(route, depth);
            } else {
                hidden_routes += 1;
            }
        }
        if hidden_routes > 0 {
            let text = message!(
                "… and {} more that did not lead to the choice",
                format_rule_count(table.kind, hidden_routes)
            );
            self.push_line(depth, None, self.localized(&text));
        }
        if let Some(default) = &table.default {
            let is_default_used = default.result == Mark::True;
            if is_default_used {
                let line = self.push_marked_line(depth, Mark::True, "default");
                line.is_bold = true;
                line.dim_suffix = format!("→ {}", to_one_line(&default.to));
            }
            if let Some(inner) = &default.table {
                self.push_table(inner, depth + 1);
            }
        }
        if !table.chose {
            let text = match depth {
                0 if table.table == rulec_sema::hir::ROUTES_TABLE => {
                    message!("no route holds and there is no default")
                }
                0 => message!("no condition in {} holds", table.table),
                _ => message!("table {} chooses nothing", table.table),
            };
            self.push_marked_line(depth, Mark::False, self.localized(&text));
        }
        if table.not_tried > 0 {
            let text = message!(
                "not tried: {} after the chosen one",
                format_rule_count(table.kind, table.not_tried)
            );
            self.push_marked_line(depth, Mark::Skipped, self.localized(&text));
        }
        if let [first, rest @ ..] = table.disabled.as_slice() {
            let names = rest.iter().take(4).fold(first.clone(), |names, name| names + ", " + name);
            let text = match rest.len() > 4 {
                true => message!("disabled: {names}, … {} in total", table.disabled.len()),
                false => message!("disabled: {names}"),
            };
            self.push_marked_line(depth, Mark::Skipped, self.localized(&text));
        }
    }

    /// Adds the scores of the intent flows (flows chosen by meaning), which are evaluated if no
    /// keyword pattern matches.
    fn push_intents(&mut self, intents: &IntentTrace) {
        let IntentTrace { threshold, margin, ranked } = intents;
        let text = message!("intent flows, by score (threshold {threshold}, margin {margin})");
        self.push_line(0, None, self.localized(&text));
        if ranked.is_empty() {
            let text = message!("no intent has anything in common with the text");
            self.push_marked_line(1, Mark::False, self.localized(&text));
        }
        for intent in ranked {
            let mark = if intent.chosen { Mark::True } else { Mark::False };
            let line = self.push_marked_line(1, mark, intent.name.clone());
            line.is_bold = intent.chosen;
            line.notes.push(format!("{:.4}", intent.score));
        }
    }

    fn push_route(&mut self, route: &RouteTrace, depth: usize) {
        let mut reasons = Vec::new();
        if route.result == Mark::Unknown {
            collect_unknown_reasons(&route.when, self.language, &mut reasons);
        }
        let dim_suffix = match route.priority {
            0 => String::new(),
            priority => self.localized(&message!("(priority {priority})")),
        };
        let unknown = reasons.first().map(|first| self.localized(&message!("unknown: {first}")));
        let line = self.push_marked_line(depth, route.result, route.route.clone());
        line.is_bold = true;
        line.dim_suffix = dim_suffix;
        if route.chosen || route.result == Mark::True {
            let gap = if line.dim_suffix.is_empty() { "" } else { " " };
            // A branch of a choice has no target to show: the id of a branch is the route's name.
            if !route.to.is_empty() {
                let _ = write!(line.dim_suffix, "{gap}→ {}", to_one_line(&route.to));
            }
        }
        match unknown {
            Some(unknown) => {
                line.is_warning = true;
                line.notes.push(unknown);
            }
            None => {
                let doc = route.docs.lines().next().unwrap_or("").trim();
                line.notes.extend((!doc.is_empty()).then(|| format!("## {}", escape_and_truncate(doc, 100))));
            }
        }
        self.push_condition(&route.when, depth + 1);
        if let Some(inner) = &route.table {
            self.push_line(depth + 1, None, self.localized(&message!("table {}", inner.table)));
            self.push_table(inner, depth + 1);
        }
    }

    /// Adds a condition's lines, indented `depth` levels. An `and` has lines only for its operands.
    fn push_condition(&mut self, node: &TraceNode, depth: usize) {
        match node.kind {
            NodeKind::And | NodeKind::AllUsable if node.note.is_none() => {
                for child in &node.children {
                    self.push_node(child, depth);
                }
            }
            _ => self.push_node(node, depth),
        }
    }

    fn push_node(&mut self, node: &TraceNode, depth: usize) {
        let (text, language) = (escape_and_truncate(&node.text, 72), self.language);
        let localized = |message: &Message| message.localized(language).into_owned();
        match node.note {
            Some(Note::Decided) => {
                let line = self.push_marked_line(depth, Mark::Skipped, text);
                return line.notes.push(localized(&message!("skipped: an earlier operand decided")));
            }
            Some(Note::ShownAbove) => {
                let line = self.push_marked_line(depth, node.result, text);
                return line.notes.push(localized(&message!("as above")));
            }
            Some(Note::LeftOut) => {
                let line = self.push_marked_line(depth, Mark::Skipped, text);
                line.is_warning = true;
                line.notes.push(localized(&message!("left out")));
                line.notes.extend(unknown_reasons(node, language));
                return;
            }
            None => {}
        }
        match node.kind {
            NodeKind::And | NodeKind::Or | NodeKind::AllUsable | NodeKind::AnyUsable => {
                let requires_all = matches!(node.kind, NodeKind::And | NodeKind::AllUsable);
                let title = if requires_all { message!("all of") } else { message!("any of") };
                self.push_marked_line(depth, node.result, localized(&title));
                for child in &node.children {
                    self.push_node(child, depth + 1);
                }
            }
            NodeKind::Not | NodeKind::Unless => {
                let single_test = match node.children.as_slice() {
                    [child] if child.kind == NodeKind::Test => Some(child),
                    _ => None,
                };
                // The source text of a condition after `unless` does not contain the word `unless`,
                // so the title adds it.
                let title = match (node.kind, single_test) {
                    (NodeKind::Unless, None) => "unless".to_owned(),
                    (NodeKind::Unless, Some(_)) => format!("unless {text}"),
                    (_, None) => "not".to_owned(),
                    (_, Some(_)) => text,
                };
                let line = self.push_marked_line(depth, node.result, title);
                match single_test {
                    Some(child) => {
                        add_value_notes(line, child, None, language);
                        self.push_counted_elements(&child.operands, depth + 1);
                    }
                    None => node.children.iter().for_each(|child| self.push_node(child, depth + 1)),
                }
            }
            NodeKind::Constant | NodeKind::Test | NodeKind::Any | NodeKind::All => {
                add_value_notes(self.push_marked_line(depth, node.result, text), node, None, language);
                self.push_counted_elements(&node.operands, depth + 1);
                if let Some(elements) = &node.elements {
                    self.push_elements(elements, depth + 1);
                }
            }
            NodeKind::Let | NodeKind::Call => {
                add_value_notes(self.push_marked_line(depth, node.result, text), node, None, language);
                for child in &node.children {
                    self.push_condition(child, depth + 1);
                }
            }
        }
    }

    /// Adds a line of level `depth` for each element on which a `count` evaluated its condition.
    fn push_counted_elements(&mut self, operands: &[Operand], depth: usize) {
        for elements in operands.iter().filter_map(|operand| operand.elements.as_ref()) {
            self.push_elements(elements, depth);
        }
    }

    fn push_elements(&mut self, elements: &Elements, depth: usize) {
        for item in &elements.shown {
            let language = self.language;
            let line = self.push_marked_line(
                depth,
                item.when.result,
                escape_and_truncate(&format_operand(&item.element, language), 72),
            );
            if matches!(item.when.kind, NodeKind::Test) {
                add_value_notes(line, &item.when, Some(&item.element.text), language);
                self.push_counted_elements(&item.when.operands, depth + 1);
            } else {
                self.push_condition(&item.when, depth + 1);
            }
        }
        let element_count = |count: usize| match count {
            1 => message!("… 1 more element"),
            count => message!("… {} more elements", format_thousands(count)),
        };
        if elements.more > 0 {
            let text = message!("{} evaluated", element_count(elements.more));
            self.push_line(depth, None, self.localized(&text));
        }
        if elements.skipped > 0 {
            let text = message!("{} skipped: an earlier one decided", element_count(elements.skipped));
            self.push_marked_line(depth, Mark::Skipped, self.localized(&text));
        }
    }
}

/// Returns the sentences that explain why the condition of this trace node is unknown.
fn unknown_reasons(node: &TraceNode, language: Language) -> impl Iterator<Item = String> {
    node.because.iter().map(move |sentence| escape_and_truncate(&sentence.localized(language), 200))
}

/// Adds notes to `line`: the values that the predicate of `node` read (but not `shown_name`), and
/// the text that it found. If the result is unknown, reasons replace the missing values.
fn add_value_notes(line: &mut TreeLine, node: &TraceNode, shown_name: Option<&str>, language: Language) {
    let is_not_shown =
        |operand: &&Operand| Some(operand.text.as_str()) != shown_name && operand.text != node.text;
    line.is_warning = !node.because.is_empty();
    line.notes.extend(unknown_reasons(node, language));
    for shown_operand in node.operands.iter().filter(is_not_shown) {
        if !(shown_operand.missing && line.is_warning) {
            line.notes.push(format_operand(shown_operand, language));
        }
    }
    if let Some(found) = &node.found {
        line.notes
            .push(message!("found \"{}\"", escape_and_truncate(found, 40)).localized(language).into_owned());
    }
}

/// Collects the reasons why a condition is unknown, in evaluation order.
fn collect_unknown_reasons(node: &TraceNode, language: Language, reasons: &mut Vec<String>) {
    if node.result != Mark::Unknown {
        return;
    }
    reasons.extend(unknown_reasons(node, language));
    node.children.iter().for_each(|child| collect_unknown_reasons(child, language, reasons));
    if let Some(elements) = &node.elements {
        elements.shown.iter().for_each(|element| collect_unknown_reasons(&element.when, language, reasons));
    }
}

/// Formats a number of rules with the noun for the kind of table, such as `2 branches`.
fn format_rule_count(kind: TableKind, count: usize) -> Message {
    let (number, is_one) = (format_thousands(count), count == 1);
    match kind {
        TableKind::Routes | TableKind::Requirements if is_one => message!("1 route"),
        TableKind::Routes | TableKind::Requirements => message!("{number} routes"),
        TableKind::Choice if is_one => message!("1 branch"),
        TableKind::Choice => message!("{number} branches"),
        TableKind::Flows if is_one => message!("1 pattern"),
        TableKind::Flows => message!("{number} patterns"),
        TableKind::Router if is_one => message!("1 case"),
        TableKind::Router => message!("{number} cases"),
    }
}

/// Writes the lines with their notes aligned in one column. Notes that do not fit are written on
/// lines of their own, below the line's text.
fn write_aligned(lines: &[TreeLine], options: &RenderOptions, out: &mut String) {
    let paint = Painter(options.color);
    let left_width = |line: &TreeLine| {
        let suffix_width = if line.dim_suffix.is_empty() { 0 } else { 2 + display_width(&line.dim_suffix) };
        3 * line.depth + 2 + display_width(&line.text) + suffix_width
    };
    let lines_with_notes = lines.iter().filter(|line| !line.notes.is_empty());
    let column =
        lines_with_notes.map(left_width).filter(|width| *width <= MAX_ALIGNED_WIDTH).max().unwrap_or(0) + 3;
    for line in lines {
        let bars = "│  ".repeat(line.depth);
        let mark = line.result_mark.map_or(String::new(), |mark| format!("{} ", paint.paint_mark(mark)));
        let text = match (line.is_bold, line.result_mark) {
            (true, _) => paint.paint_bold(&line.text),
            (_, None | Some(Mark::Skipped)) => paint.paint_dim(&line.text),
            _ => line.text.clone(),
        };
        let _ = write!(out, "{}{mark}{text}", paint.paint_dim(&bars));
        if !line.dim_suffix.is_empty() {
            let _ = write!(out, "  {}", paint.paint_dim(&line.dim_suffix));
        }
        let text_end = left_width(line);
        // Each row takes as many notes as fit. The first row follows the text if it fits; further
        // rows are below it.
        let first_row_start = column.max(text_end + 2);
        let later_row_start = (3 * line.depth + 6).min(column);
        let mut rows: Vec<String> = Vec::new();
        for note in &line.notes {
            let start = if rows.len() <= 1 { first_row_start } else { later_row_start };
            match rows.last_mut() {
                Some(row) if start + display_width(row) + 2 + display_width(note) <= options.width => {
                    let _ = write!(row, ", {note}");
                }
                _ => rows.push(note.clone()),
            }
        }
        let first_row_fits =
            rows.first().is_some_and(|row| first_row_start + display_width(row) <= options.width);
        for (position, row) in rows.iter().enumerate() {
            let row = if line.is_warning { paint.paint_warning(row) } else { paint.paint_dim(row) };
            if position == 0 && first_row_fits {
                let _ = write!(out, "{}{row}", " ".repeat(first_row_start - text_end));
            } else {
                let indent = later_row_start.saturating_sub(3 * (line.depth + 1));
                let bars = paint.paint_dim(&"│  ".repeat(line.depth));
                let _ = write!(out, "\n{bars}   {}{row}", " ".repeat(indent));
            }
        }
        out.push('\n');
    }
}
