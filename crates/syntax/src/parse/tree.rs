//! The tree of what the grammar reads, as a flat list of nodes. Building the syntax tree asks a node again and again what
//! stands inside it; here that is a slice, where pest counts references for every step.

use super::{Grammar, Rule};
use pest::error::Error;
use pest::{Parser, Token};
use std::ops::Range;

/// A node; those inside it follow.
#[derive(Clone, Copy)]
struct Node {
    rule: Rule,
    /// The tokens that it was read from, counted from the first that was read.
    start: u32,
    end: u32,
    /// The number of nodes that it and all inside it are.
    size: u32,
}

/// The nodes that rules of the grammar read.
#[derive(Default)]
pub(super) struct Tree(Vec<Node>);

impl Tree {
    /// Reads codes by a rule.
    pub(super) fn read(rule: Rule, codes: &str) -> Result<Tree, Box<Error<Rule>>> {
        super::allow_calls(codes.len());
        let tokens = Grammar::parse(rule, codes)?.tokens();
        // Each node has two: one where it begins, and one where it ends.
        let mut nodes: Vec<Node> = Vec::with_capacity(tokens.len() / 2);
        let mut open = Vec::new();
        for token in tokens {
            match token {
                Token::Start { rule, pos } => {
                    open.push(nodes.len());
                    nodes.push(Node { rule, start: pos.pos() as u32, end: 0, size: 0 });
                }
                Token::End { pos, .. } => {
                    let Some(at) = open.pop() else { continue };
                    let size = (nodes.len() - at) as u32;
                    let node = &mut nodes[at];
                    (node.end, node.size) = (pos.pos() as u32, size);
                }
            }
        }
        Ok(Tree(nodes))
    }

    /// The node of that number, if there are so many.
    pub(super) fn pair(&self, number: usize) -> Option<Pair<'_>> {
        Pairs(self.0.get(number..)?).next()
    }

    /// The first node; a rule that reads nothing has none.
    pub(super) fn root(&self) -> Option<Pair<'_>> {
        self.pair(0)
    }
}

/// A node with those inside it; its places are numbers of tokens.
#[derive(Clone, Copy)]
pub(super) struct Pair<'t>(&'t [Node]);

impl<'t> Pair<'t> {
    pub(super) fn as_rule(self) -> Rule {
        self.0[0].rule
    }

    /// The tokens that it was read from, counted from the first that was read.
    pub(super) fn tokens(self) -> Range<usize> {
        self.0[0].start as usize..self.0[0].end as usize
    }

    pub(super) fn into_inner(self) -> Pairs<'t> {
        Pairs(&self.0[1..])
    }

    /// The number of nodes that it and all inside it are.
    pub(super) fn size(self) -> usize {
        self.0.len()
    }
}

/// Nodes side by side, each with those inside it.
#[derive(Clone)]
pub(super) struct Pairs<'t>(&'t [Node]);

impl<'t> Iterator for Pairs<'t> {
    type Item = Pair<'t>;

    fn next(&mut self) -> Option<Pair<'t>> {
        let (next, rest) = self.0.split_at(self.0.first()?.size as usize);
        self.0 = rest;
        Some(Pair(next))
    }
}
