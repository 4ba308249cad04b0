//! The workflows and tables of rules as graphs: nodes and edges, each with what is said of it. `rulec graph` writes them
//! down in several languages, the studio draws them.

use rulec::Rules;
use rulec_sema::hir::{
    Destination, Node as Declared, Outcome, Program, RuleId, TableId, TableKind, Workflow,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A node's outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing special.
    Box,
    /// With double lines: runs its next nodes side by side.
    Double,
    /// The beginning of a search.
    Start,
    /// A condition that is asked.
    Question,
    /// The end of a decision.
    Outcome,
}

/// A node of a drawing.
pub struct Node {
    /// The words in it.
    pub label: String,
    /// Its outline.
    pub shape: Shape,
}

/// An edge: from where to where, what is said of it, and whether it is dashed.
pub struct Edge {
    /// The node it leaves, by its number.
    pub from: usize,
    /// The node it leads to.
    pub to: usize,
    /// The words beside it.
    pub label: String,
    /// True for a way back, or for what is asked next.
    pub dashed: bool,
}

/// A graph to draw; nodes are known by their numbers.
pub struct Drawing {
    /// The name of what is drawn.
    pub name: String,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Its edges.
    pub edges: Vec<Edge>,
}

impl Drawing {
    fn new(name: &str) -> Drawing {
        Drawing { name: name.to_owned(), nodes: Vec::new(), edges: Vec::new() }
    }

    fn node(&mut self, label: impl Into<String>, shape: Shape) -> usize {
        self.nodes.push(Node { label: one_line(&label.into()), shape });
        self.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, label: impl Into<String>, dashed: bool) {
        self.edges.push(Edge { from, to, label: one_line(&label.into()), dashed });
    }
}

/// A text without line breaks, which would end what it stands in.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A workflow: a node for each of its nodes, in their order.
pub fn workflow(rules: &Rules, workflow: &Workflow) -> Drawing {
    let mut drawing = Drawing::new(&workflow.name);
    let numbers: HashMap<&str, usize> =
        workflow.nodes.iter().enumerate().map(|(number, node)| (&*node.id, number)).collect();
    for node in &workflow.nodes {
        let shape = if node.is_parallel() { Shape::Double } else { Shape::Box };
        drawing.node(format!("{}: {}", node.id, node.kind), shape);
    }
    for (from, node) in workflow.nodes.iter().enumerate() {
        next(rules, node, from, &numbers, &mut drawing);
    }
    drawing
}

fn next(rules: &Rules, node: &Declared, from: usize, numbers: &HashMap<&str, usize>, drawing: &mut Drawing) {
    let number = |id: &str| numbers.get(id).copied();
    let program = rules.program();
    // A parallel node's router is never asked.
    let Some(router) = node.router.filter(|_| !node.is_parallel()) else {
        node.next.iter().filter_map(|id| number(id)).for_each(|to| drawing.edge(from, to, "", false));
        return;
    };
    for id in &program.tables[router.index()].order {
        let rule = &program.rules[id.index()];
        let Outcome::Next { destinations, loopback, .. } = &rule.outcome else { continue };
        let reached = destinations.iter().flat_map(|destination| match destination {
            Destination::Node(id) => vec![id.clone()],
            Destination::At(slot) if node.next.len() > *slot as usize => {
                vec![node.next[*slot as usize].clone()]
            }
            Destination::All | Destination::At(_) | Destination::Named(_) => node.next.clone(),
        });
        let reached: BTreeSet<usize> = reached.filter_map(|id| number(&id)).collect();
        let label = match (&*rule.name, rules.sources().slice(rule.condition.span)) {
            ("otherwise", _) | (_, "") => &*rule.name,
            (_, condition) => condition,
        };
        reached.into_iter().for_each(|to| drawing.edge(from, to, label, *loopback));
    }
}

/// The names of the tables that a `goto` leads to.
pub fn entered(program: &Program) -> BTreeSet<&str> {
    let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
    let outcomes = program.rules.iter().map(|rule| &rule.outcome).chain(defaults);
    let tables = outcomes.filter_map(|outcome| match outcome {
        Outcome::Goto(table) => Some(&*program.tables[table.index()].name),
        _ => None,
    });
    tables.collect()
}

/// The rules of a table in the order they are asked, with the tables that they go to.
pub fn table(rules: &Rules, name: &str) -> Drawing {
    let mut tables =
        Tables { rules, drawing: Drawing::new(name), heads: BTreeMap::new(), ends: HashMap::new() };
    if let Some(id) = rules.program().table_named(name) {
        tables.head(id);
    }
    tables.drawing
}

struct Tables<'r> {
    rules: &'r Rules,
    drawing: Drawing,
    /// The node at which a table begins.
    heads: BTreeMap<TableId, usize>,
    /// The ends of decisions, each once.
    ends: HashMap<String, usize>,
}

impl Tables<'_> {
    fn head(&mut self, id: TableId) -> usize {
        if let Some(head) = self.heads.get(&id) {
            return *head;
        }
        let program = self.rules.program();
        let table = &program.tables[id.index()];
        let what = match table.kind {
            TableKind::Routes if id.0 == 0 => "routes".to_owned(),
            TableKind::Routes => format!("table {}", table.name),
            TableKind::Choice => format!("choice {}", table.name),
            TableKind::Flows => "flows".to_owned(),
            TableKind::Router => format!("router {}", table.name),
            TableKind::Requirements => format!("rules {}", table.name),
        };
        let head = self.drawing.node(what, Shape::Start);
        self.heads.insert(id, head);
        let (mut last, mut word) = (head, "");
        for rule in table.order.iter().filter(|id| !program.rules[id.index()].disabled) {
            let asked = self.drawing.node(self.question(*rule), Shape::Question);
            // What is asked next is asked where the one before does not hold.
            self.drawing.edge(last, asked, word, last != head);
            let rule = &program.rules[rule.index()];
            let end = self.outcome(&rule.outcome, &rule.name);
            self.drawing.edge(asked, end, "", false);
            (last, word) = (asked, "else");
        }
        if let Some(outcome) = &table.default {
            let end = self.outcome(outcome, "");
            self.drawing.edge(last, end, if last == head { "" } else { "default" }, last != head);
        }
        head
    }

    /// The question of a rule.
    fn question(&self, id: RuleId) -> String {
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

    fn outcome(&mut self, outcome: &Outcome, name: &str) -> usize {
        if let Outcome::Goto(table) = outcome {
            return self.head(*table);
        }
        let label = leads_to(self.rules.program(), outcome, name);
        match self.ends.get(&label) {
            Some(end) => *end,
            None => {
                let end = self.drawing.node(label.clone(), Shape::Outcome);
                self.ends.insert(label, end);
                end
            }
        }
    }
}

/// The place where a statement leads, in a few words: a handler, a table, a flow, nodes. `name` is the statement's own.
pub fn leads_to(program: &Program, outcome: &Outcome, name: &str) -> String {
    match outcome {
        Outcome::Goto(table) => format!("goto {}", program.tables[table.index()].name),
        Outcome::Handler { name, .. } => name.to_string(),
        Outcome::Branch { .. } => name.to_owned(),
        Outcome::Flow { flow, .. } => {
            program.flows.get(flow.index()).map_or(name, |flow| &*flow.id).to_owned()
        }
        Outcome::Next { destinations, loopback, .. } => {
            let nodes = destinations.iter().map(|destination| match destination {
                Destination::All => "next".to_owned(),
                Destination::At(at) => format!("next[{at}]"),
                Destination::Node(id) => id.to_string(),
                Destination::Named(_) => "what the output names".to_owned(),
            });
            let nodes = nodes.collect::<Vec<_>>().join(", ");
            if *loopback { format!("{nodes} (way back)") } else { nodes }
        }
    }
}
