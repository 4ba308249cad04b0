//! What the grammar read in a statement, as a flat tree: nodes in the order of the codes, each knowing where it
//! ends. The syntax tree is built of this, whether pest read the statement or `direct`.

use super::Rule;
use pest::Token;
use pest::iterators::Pairs as Read;

/// The nodes of a statement.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    rule: Rule,
    /// The codes it covers.
    start: u32,
    end: u32,
    /// The node behind the last one inside it.
    next: u32,
}

impl Tree {
    /// Takes all nodes out; their room stays for those of the next statement.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Takes over what pest has read.
    pub(super) fn take_over(&mut self, read: Read<'_, Rule>) {
        self.clear();
        let mut open = Vec::new();
        for token in read.tokens() {
            match token {
                Token::Start { rule, pos } => open.push(self.open(rule, pos.pos())),
                Token::End { pos, .. } => {
                    if let Some(node) = open.pop() {
                        self.close(node, pos.pos());
                    }
                }
            }
        }
    }

    /// Begins a node, within those that are open.
    pub(super) fn open(&mut self, rule: Rule, start: usize) -> usize {
        self.nodes.push(Node { rule, start: start as u32, end: start as u32, next: 0 });
        self.nodes.len() - 1
    }

    /// Ends a node.
    pub(super) fn close(&mut self, node: usize, end: usize) {
        let next = self.nodes.len() as u32;
        if let Some(node) = self.nodes.get_mut(node) {
            (node.end, node.next) = (end as u32, next);
        }
    }

    /// A node without any inside.
    pub(super) fn leaf(&mut self, rule: Rule, start: usize, end: usize) {
        let next = self.nodes.len() as u32 + 1;
        self.nodes.push(Node { rule, start: start as u32, end: end as u32, next });
    }

    /// The outermost nodes.
    pub(super) fn roots(&self) -> Pairs<'_> {
        Pairs { nodes: &self.nodes, at: 0, end: self.nodes.len() }
    }
}

/// A node with what is inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'t> {
    nodes: &'t [Node],
    at: usize,
    node: Node,
}

impl<'t> Pair<'t> {
    /// The rule that read it.
    pub(super) fn as_rule(&self) -> Rule {
        self.node.rule
    }

    /// The first code of it.
    pub(super) fn start(&self) -> usize {
        self.node.start as usize
    }

    /// The code behind it.
    pub(super) fn end(&self) -> usize {
        self.node.end as usize
    }

    /// The nodes right inside.
    pub(super) fn into_inner(self) -> Pairs<'t> {
        Pairs { nodes: self.nodes, at: self.at + 1, end: self.node.next as usize }
    }
}

/// Nodes side by side.
#[derive(Clone, Debug)]
pub(super) struct Pairs<'t> {
    nodes: &'t [Node],
    at: usize,
    end: usize,
}

impl<'t> Iterator for Pairs<'t> {
    type Item = Pair<'t>;

    fn next(&mut self) -> Option<Pair<'t>> {
        if self.at >= self.end {
            return None;
        }
        let node = *self.nodes.get(self.at)?;
        let pair = Pair { nodes: self.nodes, at: self.at, node };
        self.at = node.next as usize;
        Some(pair)
    }
}
