//! Diagnostics for the nodes of a workflow in the form of another language: a pipe, a condition
//! after a node, and a list of nodes as in YAML or JSON.

use super::super::super::super::context::unexpected_token;
use super::super::super::super::remedy;
use super::super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

/// Maximum length in bytes of the source text of nodes that a help text suggests.
const MAX_NODES_BYTES: usize = 200;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a node of a workflow in the form of another language. `None`
    /// without such a node.
    pub(super) fn foreign_node_form_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::workflow_statement || self.is_at_end() {
            return None;
        }
        self.next_node_without_arrow_error()
            .or_else(|| self.condition_of_node_error())
            .or_else(|| self.nodes_as_yaml_or_json_error())
    }

    /// Returns the index of the `node` of the node that contains the unexpected token, if no other
    /// node follows it.
    fn start_of_node(&self) -> Option<usize> {
        (self.cx.tokens.start..self.token_index).rev().find(|index| self.text_of_token(*index) == "node")
    }

    /// Returns the diagnostic for another sign or word than `->` before the next node, as in `node
    /// draft echo | check`. `None` without such a sign.
    fn next_node_without_arrow_error(&self) -> Option<Diagnostic> {
        let next = self.token_index + 1;
        let is_sign = matches!(
            self.found_text,
            "|" | ">" | ">>" | "|>" | ":" | "before" | "然后" | "之后" | "接着" | "到"
        );
        let is_node = matches!(self.kind_of_token(next), Some(TokenKind::Word | TokenKind::String));
        let start = self.start_of_node()?;
        let head = self.source_of_tokens(start..self.token_index);
        if !is_sign || !is_node || self.begins_line(next) || head.contains("->") {
            return None;
        }
        let written = format!("-> {}", self.text_of_token(next));
        if !remedy::is_valid_short_statement(&format!("workflow w {{ {head} {written} }}")) {
            return None;
        }
        let message = message!("the next node must follow `->`, not `{}`", self.found_text);
        let help = message!("write `{written}`");
        Some(unexpected_token(self.span, message, help).likely_fix(self.span, "->"))
    }

    /// Returns the diagnostic for a condition of a node: `node check echo when output.ok then done
    /// else draft`. `None` without such a condition.
    fn condition_of_node_error(&self) -> Option<Diagnostic> {
        let is_when = matches!(self.found_text, "when" | "if" | "unless" | "where" | "?" | "当" | "如果");
        let start = self.start_of_node()?;
        if !is_when {
            return None;
        }
        let ends_node = |index: &usize| matches!(self.text_of_token(*index), "node" | "passthrough" | "}");
        let end = (self.token_index..self.cx.tokens.end).find(ends_node).unwrap_or(self.cx.tokens.end);
        let find = |words: &[&str], from: usize| {
            (from..end).find(|index| words.contains(&self.text_of_token(*index)))
        };
        let message = message!("a node has no condition: a router selects its next nodes");
        let then = find(&["then", "->", "goto", "那么", "则"], self.token_index);
        let other = then.and_then(|then| find(&["else", "otherwise", "否则"], then));
        let head = self.source_of_tokens(start..self.token_index);
        let routed = then.zip(other).and_then(|(then, other)| {
            let condition = self.source_of_tokens(self.token_index + 1..then);
            let is_sign = |index: usize| matches!(self.text_of_token(index), "->" | "goto");
            let (first, second) =
                (then + 1 + usize::from(is_sign(then + 1)), other + 1 + usize::from(is_sign(other + 1)));
            let loopback = |node: usize| {
                let name = self.text_of_token(node);
                let is_earlier = (self.cx.tokens.start..=start).any(|index| {
                    self.text_of_token(index) == "node" && self.text_of_token(index + 1) == name
                });
                if is_earlier { " loopback" } else { "" }
            };
            let node =
                format!("{head} -> {}, {} by NAME", self.text_of_token(first), self.text_of_token(second));
            let router = format!(
                "router NAME(output) {{ when {condition} -> next[0]{}  otherwise -> next[1]{} }}",
                loopback(first),
                loopback(second)
            );
            let is_valid = first + 1 == other
                && second + 1 == end
                && remedy::is_valid_short_statement(&router)
                && remedy::is_valid_short_statement(&format!("workflow w {{ {node} }}"));
            is_valid.then_some((node, router))
        });
        let help = match routed {
            Some((node, router)) => message!("write `{node}`, and `{router}` as a statement of its own"),
            None => message!(
                "end the node with `-> NODE, NODE by NAME`, and write `router NAME(output) {{ when CONDITION -> \
                next[0]  otherwise -> next[1] }}` as a statement of its own"
            ),
        };
        Some(unexpected_token(self.span, message, help))
    }

    /// Returns the diagnostic for nodes as data in YAML or JSON, as in `nodes: - name: draft`.
    /// `None` without such data.
    fn nodes_as_yaml_or_json_error(&self) -> Option<Diagnostic> {
        let open = self.token_index.checked_sub(1)?;
        let is_head = self.text_of_token(open) == "{" && open <= self.cx.tokens.start + 2;
        let key = self.found_text.trim_matches('"');
        let is_key =
            matches!(key, "nodes" | "steps" | "states" | "tasks" | "stages" | "name" | "节点" | "步骤");
        let begins_data = matches!(self.found_text, "-" | "[" | "{")
            || is_key && self.text_of_token(self.token_index + 1) == ":";
        if !is_head || !begins_data {
            return None;
        }
        let close = self.cx.end_of_brackets(open).min(self.cx.tokens.end);
        let message = message!("a workflow is not written as YAML or JSON: each node begins with `node`");
        let nodes = self.declare_nodes_of_data(open + 1, close).filter(|nodes| {
            nodes.len() <= MAX_NODES_BYTES && remedy::is_valid_statement(&format!("workflow w {{ {nodes} }}"))
        });
        let Some(nodes) = nodes else {
            let help = message!("write `node ID KIND -> ID` for each node");
            return Some(unexpected_token(self.span, message, help));
        };
        let help = message!("write `{nodes}`", nodes = nodes.clone());
        let span = self.span_of_tokens(open + 1..close);
        Some(unexpected_token(self.span, message, help).likely_fix(span, format!("{nodes} ")))
    }

    /// Returns the declarations of the nodes in data with the keys `name`, `type` and `next`.
    /// `None` if a node has no name.
    fn declare_nodes_of_data(&self, first: usize, end: usize) -> Option<String> {
        let mut nodes: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        let mut key = "";
        for index in first..end {
            if !matches!(self.kind_of_token(index), Some(TokenKind::Word | TokenKind::String)) {
                continue;
            }
            let text = self.text_of_token(index).trim_matches('"');
            if self.text_of_token(index + 1) == ":" {
                key = text;
                continue;
            }
            match key.to_lowercase().as_str() {
                "name" | "id" | "node" => nodes.push((text, "echo", Vec::new())),
                "type" | "kind" | "uses" => nodes.last_mut()?.1 = text,
                "next" | "then" | "to" | "edges" | "after" => nodes.last_mut()?.2.push(text),
                _ => return None,
            }
        }
        let written = |(name, kind, next): &(&str, &str, Vec<&str>)| match next.is_empty() {
            true => format!("node {name} {kind}"),
            false => format!("node {name} {kind} -> {}", next.join(", ")),
        };
        (!nodes.is_empty()).then(|| nodes.iter().map(written).collect::<Vec<_>>().join("  "))
    }
}
