//! Draws workflows and tables as graphs of labelled nodes and edges. `rulec graph` prints the
//! graphs in several formats, and the studio shows them.

use rulec::Rules;
use rulec_base::text::{to_one_line, truncate_chars};
use rulec_sema::hir::{
    Destination, Node as Declared, Outcome, Program, RuleId, TableId, TableKind, Workflow,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The outline of a node in a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeShape {
    /// Single outline: a workflow node that runs its next nodes one at a time.
    Box,
    /// Double outline: a node that runs its next nodes in parallel.
    Double,
    /// Outline of the node at which the evaluation of a table starts.
    Start,
    /// Outline of a node that shows a condition.
    Question,
    /// Outline of a node that shows a possible outcome of a decision.
    Outcome,
}

/// A node of a drawing: a labelled outline.
pub struct Node {
    /// The text that is shown inside the node.
    pub label: String,
    /// The shape of the node's outline, which shows the kind of the node.
    pub shape: NodeShape,
}

/// An edge of a drawing, from one node to another.
pub struct Edge {
    /// Index of the node at which the edge starts.
    pub start_index: usize,
    /// Index of the node at which the edge ends.
    pub end_index: usize,
    /// The text to show next to the edge.
    pub label: String,
    /// Whether the edge is dashed. In a workflow, a dashed edge leads back to an earlier node. In a
    /// table, a dashed edge leads to the condition that is tried next.
    pub is_dashed: bool,
}

/// A graph of nodes and edges that is drawn, such as a workflow.
pub struct Drawing {
    /// The name of the table or workflow that is drawn.
    pub name: String,
    /// The nodes of the graph. Edges refer to nodes by index in this list.
    pub nodes: Vec<Node>,
    /// The edges between the nodes of the graph.
    pub edges: Vec<Edge>,
}

impl Drawing {
    fn new(name: &str) -> Drawing {
        Drawing { name: name.to_owned(), nodes: Vec::new(), edges: Vec::new() }
    }

    fn add_node(&mut self, label: impl Into<String>, shape: NodeShape) -> usize {
        self.nodes.push(Node { label: to_label_line(&label.into()), shape });
        self.nodes.len() - 1
    }

    fn add_edge(&mut self, start: usize, end: usize, label: impl Into<String>, dashed: bool) {
        self.edges.push(Edge {
            start_index: start,
            end_index: end,
            label: to_label_line(&label.into()),
            is_dashed: dashed,
        });
    }
}

/// Maximum number of characters of a label. Graphviz and browsers fail on very long labels.
const MAX_LABEL_CHARS: usize = 400;

/// Joins a text to one line, because a line break would end the label that contains the text.
/// Escapes other control characters, and truncates a long text.
pub fn to_label_line(text: &str) -> String {
    let text = truncate_chars(text, MAX_LABEL_CHARS);
    to_one_line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// Draws a workflow. The nodes are in the same order as in the workflow.
pub fn draw_workflow(rules: &Rules, workflow: &Workflow) -> Drawing {
    let mut drawing = Drawing::new(&workflow.name);
    let node_indices: HashMap<&str, usize> =
        workflow.nodes.iter().enumerate().map(|(index, node)| (&*node.id, index)).collect();
    for node in &workflow.nodes {
        let shape = if node.is_parallel() { NodeShape::Double } else { NodeShape::Box };
        drawing.add_node(format!("{}: {}", node.id, node.processor_kind), shape);
    }
    for (node_index, node) in workflow.nodes.iter().enumerate() {
        add_next_edges(rules, node, node_index, &node_indices, &mut drawing);
    }
    drawing
}

fn add_next_edges(
    rules: &Rules,
    node: &Declared,
    start_index: usize,
    node_indices: &HashMap<&str, usize>,
    drawing: &mut Drawing,
) {
    let node_index = |id: &str| node_indices.get(id).copied();
    let program = rules.program();
    // The router of a parallel node is never called.
    let Some(router) = node.router.filter(|_| !node.is_parallel()) else {
        node.next_nodes
            .iter()
            .filter_map(|id| node_index(id))
            .for_each(|to| drawing.add_edge(start_index, to, "", false));
        return;
    };
    for id in &program.tables[router.index()].evaluation_order {
        let rule = &program.rules[id.index()];
        let Outcome::Next { destinations, leads_back: loopback, .. } = &rule.outcome else { continue };
        let targets = destinations.iter().flat_map(|destination| match destination {
            Destination::Node(id) => vec![id.clone()],
            Destination::At(slot) if node.next_nodes.len() > *slot as usize => {
                vec![node.next_nodes[*slot as usize].clone()]
            }
            Destination::All | Destination::At(_) | Destination::Named(_) => node.next_nodes.clone(),
        });
        let targets: BTreeSet<usize> = targets.filter_map(|id| node_index(&id)).collect();
        let label = match (&*rule.name, rules.sources().slice(rule.condition.span)) {
            ("otherwise", _) | (_, "") => &*rule.name,
            (_, condition) => condition,
        };
        targets.into_iter().for_each(|to| drawing.add_edge(start_index, to, label, *loopback));
    }
}

/// Returns the names of all tables to which a `goto` leads.
pub fn goto_target_tables(program: &Program) -> BTreeSet<&str> {
    let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
    let outcomes = program.rules.iter().map(|rule| &rule.outcome).chain(defaults);
    let tables = outcomes.filter_map(|outcome| match outcome {
        Outcome::Goto(table) => Some(&*program.tables[table.index()].name),
        _ => None,
    });
    tables.collect()
}

/// Draws the rules of the table `name` in evaluation order. Tables to which these rules lead by
/// `goto` are drawn in the same graph.
pub fn draw_table(rules: &Rules, name: &str) -> Drawing {
    let mut tables = TableDrawer {
        rules,
        drawing: Drawing::new(name),
        start_node_indices: BTreeMap::new(),
        outcome_node_indices: HashMap::new(),
    };
    if let Some(id) = rules.program().table_named(name) {
        tables.add_table_nodes(id);
    }
    tables.drawing
}

struct TableDrawer<'r> {
    rules: &'r Rules,
    drawing: Drawing,
    /// Maps each table to the index of its start node.
    start_node_indices: BTreeMap<TableId, usize>,
    /// Maps the label of an outcome to the index of the outcome's node. Outcomes with equal labels
    /// share a node.
    outcome_node_indices: HashMap<String, usize>,
}

impl TableDrawer<'_> {
    fn add_table_nodes(&mut self, id: TableId) -> usize {
        if let Some(start_node) = self.start_node_indices.get(&id) {
            return *start_node;
        }
        let program = self.rules.program();
        let table = &program.tables[id.index()];
        let label = match table.kind {
            TableKind::Routes if id.0 == 0 => "routes".to_owned(),
            TableKind::Routes => format!("table {}", table.name),
            TableKind::Choice => format!("choice {}", table.name),
            TableKind::Flows => "flows".to_owned(),
            TableKind::Router => format!("router {}", table.name),
            TableKind::Requirements => format!("rules {}", table.name),
        };
        let start_node = self.drawing.add_node(label, NodeShape::Start);
        self.start_node_indices.insert(id, start_node);
        let (mut last_node, mut edge_label) = (start_node, "");
        for rule in table.evaluation_order.iter().filter(|id| !program.rules[id.index()].is_disabled) {
            let question = self.drawing.add_node(self.question_label(*rule), NodeShape::Question);
            // A condition is evaluated if the condition before it is not true.
            self.drawing.add_edge(last_node, question, edge_label, last_node != start_node);
            let rule = &program.rules[rule.index()];
            let outcome_node = self.add_outcome_node(&rule.outcome, &rule.name);
            self.drawing.add_edge(question, outcome_node, "", false);
            (last_node, edge_label) = (question, "else");
        }
        if let Some(outcome) = &table.default {
            let outcome_node = self.add_outcome_node(outcome, "");
            self.drawing.add_edge(
                last_node,
                outcome_node,
                if last_node == start_node { "" } else { "default" },
                last_node != start_node,
            );
        }
        start_node
    }

    /// Returns the label of the node that shows the condition of the rule `id`.
    fn question_label(&self, id: RuleId) -> String {
        let program = self.rules.program();
        let rule = &program.rules[id.index()];
        let condition = self.rules.sources().slice(rule.condition.span);
        match &rule.outcome {
            Outcome::Flow { pattern, .. } => format!("{}: {pattern}", rule.name),
            _ if rule.name.starts_with("when ") => condition.to_owned(),
            Outcome::Next { .. } => rule.name.to_string(),
            Outcome::Branch { default: true } => format!("{} (default)", rule.name),
            Outcome::Branch { .. } => condition.to_owned(),
            _ => format!("{}: {condition}", rule.name),
        }
    }

    fn add_outcome_node(&mut self, outcome: &Outcome, name: &str) -> usize {
        if let Outcome::Goto(table) = outcome {
            return self.add_table_nodes(*table);
        }
        let label = describe_target(self.rules.program(), outcome, name);
        match self.outcome_node_indices.get(&label) {
            Some(outcome_node) => *outcome_node,
            None => {
                let outcome_node = self.drawing.add_node(label.clone(), NodeShape::Outcome);
                self.outcome_node_indices.insert(label, outcome_node);
                outcome_node
            }
        }
    }
}

/// Describes in a few words where an outcome leads: to a handler, a table, a branch, a flow, or
/// workflow nodes. `name` is the name of the statement that has the outcome.
pub fn describe_target(program: &Program, outcome: &Outcome, name: &str) -> String {
    match outcome {
        Outcome::Goto(table) => format!("goto {}", program.tables[table.index()].name),
        Outcome::Handler { name, .. } => name.to_string(),
        Outcome::Branch { .. } => name.to_owned(),
        Outcome::Flow { flow, .. } => {
            program.flows.get(flow.index()).map_or(name, |flow| &*flow.id).to_owned()
        }
        Outcome::Next { destinations, leads_back: loopback, .. } => {
            let nodes = destinations.iter().map(|destination| match destination {
                Destination::All => "next".to_owned(),
                Destination::At(index) => format!("next[{index}]"),
                Destination::Node(id) => id.to_string(),
                Destination::Named(_) => "what the output names".to_owned(),
            });
            let nodes = nodes.collect::<Vec<_>>().join(", ");
            if *loopback { format!("{nodes} (way back)") } else { nodes }
        }
    }
}
