//! Diagnostics for blocks with entries in the wrong form: a router whose last case is not
//! `otherwise`, a workflow with edges between undeclared nodes, and a lexicon without weights.

use super::super::super::context::unexpected_token;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

/// Maximum length in bytes of the source text of nodes that a help text suggests.
const MAX_NODES_BYTES: usize = 160;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a case of a router after `otherwise`. `None` without such a case.
    pub(super) fn case_after_otherwise_error(&self) -> Option<Diagnostic> {
        let (case, end) = (self.token_index, self.cx.tokens.end);
        if self.rule != Rule::router_statement || !matches!(self.found_text, "when" | "otherwise") {
            return None;
        }
        let is_case = |index: &usize| {
            let next = self.text_of_token(index + 1);
            self.text_of_token(*index) == "otherwise" && matches!(next, "->" | "=>")
        };
        let otherwise = (self.cx.tokens.start..case).rfind(is_case)?;
        if self.found_text == "otherwise" {
            let span = self.span_of_tokens(otherwise..otherwise + 1);
            let message = message!("a router has only one `otherwise`");
            let help = message!("remove one of the two, or write `when CONDITION` in place of the first");
            return Some(unexpected_token(self.span, message, help).label(span, message!("the first one")));
        }
        let written = self.source_of_tokens(otherwise..case);
        let message = message!("`otherwise` is the last case of a router, and no `when` follows it");
        let help = message!("move `{written}` to the end of the router");
        let close = end.checked_sub(1).filter(|close| self.text_of_token(*close) == "}" && *close > case)?;
        let rest = self.source_of_tokens(case..close);
        let fixed = format!("{rest}  {written}");
        let span = self.span_of_tokens(otherwise..otherwise + 1);
        let has_other = (case..close).any(|index| is_case(&index));
        let diagnostic = unexpected_token(span, message, help);
        Some(match has_other || fixed.contains('#') {
            true => diagnostic,
            false => diagnostic.fix(self.span_of_tokens(otherwise..close), fixed),
        })
    }

    /// Returns the diagnostic for a word of a lexicon with no number as its weight: `"furious":
    /// "high"`. `None` for another mistake.
    pub(super) fn wrong_weight_error(&self) -> Option<Diagnostic> {
        let before = self.token_index.checked_sub(1)?;
        let is_word = |index: usize| self.kind_of_token(index) == Some(TokenKind::String);
        if self.expects_rule(Rule::number)
            && self.text_of_token(before) == ":"
            && is_word(before.checked_sub(1)?)
        {
            let message = message!("the weight of a word is a number, not `{}`", self.found_text);
            let help = message!("for example: `{}: 0.8`", self.text_of_token(before - 1));
            return self.unexpected_token(message, help);
        }
        let is_number = self.kind_of_token(self.token_index) == Some(TokenKind::Number);
        if self.expects_rule(Rule::colon) && is_word(before) && !is_number {
            let message = message!("a word of a lexicon has a weight");
            return self
                .unexpected_token(message, message!("for example: `{}: 0.8`", self.text_of_token(before)));
        }
        None
    }

    /// Returns the diagnostic for an edge that is written as a statement of its own, without the
    /// declaration of a node: `draft -> vote -> done`. If the workflow has only edges, the help
    /// suggests declarations of all nodes.
    pub(super) fn edges_without_nodes_error(&self) -> Option<Diagnostic> {
        let message = message!("a node begins with `node`, and its kind follows its id");
        let open =
            (self.cx.tokens.start..self.token_index).find(|index| self.text_of_token(*index) == "{")?;
        let close = self.closing_bracket_or_end(open).min(self.cx.tokens.end);
        if let Some(nodes) =
            self.write_node_declarations(open + 1, close).filter(|nodes| nodes.len() <= MAX_NODES_BYTES)
        {
            let help = message!("each node has a statement of its own: write `{nodes}`");
            let span = self.span_of_tokens(open + 1..close);
            return Some(unexpected_token(self.span, message, help).likely_fix(span, nodes));
        }
        let (node, next) = (self.found_text, self.text_of_token(self.token_index + 2));
        let is_declared = (open..self.token_index)
            .any(|index| self.text_of_token(index) == "node" && self.text_of_token(index + 1) == node);
        if is_declared {
            let written = self.source_of_tokens(self.token_index..(self.token_index + 3).min(close));
            let message = message!("an edge is written at the node where it begins");
            let help = message!("remove `{written}`, and write `-> {next}` at the end of `node {node}`");
            return self.unexpected_token(message, help);
        }
        let help =
            message!("write `node {} echo -> {}`", self.found_text, self.text_of_token(self.token_index + 2));
        self.unexpected_token(message, help)
    }

    /// Returns declarations, as source text, of all nodes that occur in edges such as `a -> b`. The
    /// edges are the tokens from `first` up to `end`, exclusive. `None` if these tokens contain
    /// anything else.
    fn write_node_declarations(&self, first: usize, end: usize) -> Option<String> {
        let mut nodes: Vec<(&str, Vec<&str>)> = Vec::new();
        let position = |nodes: &mut Vec<(_, Vec<_>)>, name| {
            nodes.iter().position(|(node, _)| *node == name).unwrap_or_else(|| {
                nodes.push((name, Vec::new()));
                nodes.len() - 1
            })
        };
        let mut sources: Vec<usize> = Vec::new();
        let (mut targets, mut follows_arrow) = (Vec::new(), false);
        let mut index = first;
        while index < end {
            let is_name = matches!(self.kind_of_token(index), Some(TokenKind::Word | TokenKind::String));
            if !is_name || crate::parse::is_reserved(self.text_of_token(index)) {
                return None;
            }
            let name = self.text_of_token(index);
            let node = position(&mut nodes, name);
            if follows_arrow {
                for source in &sources {
                    if !nodes[*source].1.contains(&name) {
                        nodes[*source].1.push(name);
                    }
                }
            }
            targets.push(node);
            index += 1;
            match self.text_of_token(index) {
                "->" | "=>" => {
                    (sources, targets, follows_arrow) = (targets, Vec::new(), true);
                    index += 1;
                }
                "," if !self.begins_line(index + 1) => index += 1,
                _ if index < end
                    && !self.begins_line(index)
                    && !matches!(self.text_of_token(index), ";" | ",") =>
                {
                    return None;
                }
                _ => {
                    index += usize::from(matches!(self.text_of_token(index), ";" | ","));
                    (sources, targets, follows_arrow) = (Vec::new(), Vec::new(), false);
                }
            }
        }
        let written = |(name, next): &(&str, Vec<&str>)| match next.is_empty() {
            true => format!("node {name} echo"),
            false => format!("node {name} echo -> {}", next.join(", ")),
        };
        (nodes.len() > 1).then(|| nodes.iter().map(written).collect::<Vec<_>>().join("  "))
    }
}
