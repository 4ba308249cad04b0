//! The parse tree of the grammar as a flat list of nodes. The builder of the syntax tree looks up
//! the children of nodes very often. In this list, the children of a node are a slice. In pest's
//! own tree, each step to a child would update reference counts.

use super::{Grammar, Rule};
use pest::error::Error;
use pest::{Parser, Token};
use rulec_base::broken_invariant;
use std::ops::Range;

/// A node of the parse tree. In the list of nodes, its descendants follow it directly.
#[derive(Clone, Copy)]
struct TreeNode {
    rule: Rule,
    /// Index of the node's first token, counted from the first parsed token. The node ends before
    /// the token `end_token`.
    start_token: u32,
    end_token: u32,
    /// Number of nodes in the subtree below this node, this node included.
    subtree_node_count: u32,
}

/// A parse tree: its nodes, in pre-order.
#[derive(Default)]
pub(super) struct ParseTree(Vec<TreeNode>);

impl ParseTree {
    /// Parses a sequence of tokens, given as one code character for each token, with a grammar
    /// rule. Returns the parse tree, or the error of pest if the rule does not match.
    pub(super) fn parse(rule: Rule, codes: &str) -> Result<ParseTree, Box<Error<Rule>>> {
        super::raise_call_limit(codes.len());
        let tokens = Grammar::parse(rule, codes)?.tokens();
        // pest emits two tokens per node: one at its start and one at its end.
        let mut nodes: Vec<TreeNode> = Vec::with_capacity(tokens.len() / 2);
        let mut open_nodes = Vec::new();
        for token in tokens {
            match token {
                Token::Start { rule, pos } => {
                    open_nodes.push(nodes.len());
                    nodes.push(TreeNode {
                        rule,
                        start_token: pos.pos() as u32,
                        end_token: 0,
                        subtree_node_count: 0,
                    });
                }
                Token::End { pos, .. } => {
                    let Some(node_index) = open_nodes.pop() else {
                        broken_invariant!("pest begins every node that it ends");
                        continue;
                    };
                    let size = (nodes.len() - node_index) as u32;
                    let node = &mut nodes[node_index];
                    (node.end_token, node.subtree_node_count) = (pos.pos() as u32, size);
                }
            }
        }
        Ok(ParseTree(nodes))
    }

    /// Returns the node with this index. `None` if the index is out of range.
    pub(super) fn node_at(&self, index: usize) -> Option<Pair<'_>> {
        Pairs(self.0.get(index..)?).next()
    }

    /// Returns the root of the tree. `None` if the grammar rule produced no node.
    pub(super) fn root(&self) -> Option<Pair<'_>> {
        self.node_at(0)
    }
}

/// A node of the parse tree, as the slice of the node and all its descendants. Its positions are
/// token indices.
#[derive(Clone, Copy)]
pub(super) struct Pair<'t>(&'t [TreeNode]);

impl<'t> Pair<'t> {
    pub(super) fn as_rule(self) -> Rule {
        self.0[0].rule
    }

    /// Returns the range of the node's tokens. Indices count from the first parsed token.
    pub(super) fn tokens(self) -> Range<usize> {
        self.0[0].start_token as usize..self.0[0].end_token as usize
    }

    pub(super) fn into_inner(self) -> Pairs<'t> {
        Pairs(&self.0[1..])
    }

    /// Returns the number of nodes in this subtree, this node included.
    pub(super) fn node_count(self) -> usize {
        self.0.len()
    }
}

/// Sibling nodes and all their descendants, as one slice. Iteration yields the siblings only.
#[derive(Clone)]
pub(super) struct Pairs<'t>(&'t [TreeNode]);

impl<'t> Iterator for Pairs<'t> {
    type Item = Pair<'t>;

    fn next(&mut self) -> Option<Pair<'t>> {
        let (next, rest) = self.0.split_at(self.0.first()?.subtree_node_count as usize);
        self.0 = rest;
        Some(Pair(next))
    }
}
