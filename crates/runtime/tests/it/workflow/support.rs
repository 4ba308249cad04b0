//! Helpers of the workflow tests: the routers that the conformance cases name, and workflows
//! written in one line.
#![allow(dead_code, reason = "each test uses a part")]

use rulec::{Message, Rules};
use rulec_runtime::workflow::{ConditionalRouter, Node, RulesRouter, Workflow, WorkflowBuilder, from_fn};
use serde_json::Value;
use std::sync::{Arc, LazyLock};

/// Returns the router named `rule` from the rules file that the project ships.
pub fn router(rule: &str, _text: &str) -> Result<Arc<dyn ConditionalRouter>, Message> {
    static RULES: LazyLock<Rules> = LazyLock::new(|| {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/workflow.rules");
        Rules::from_path(file).unwrap_or_else(|error| panic!("{error}"))
    });
    let router = RulesRouter::new(&RULES, rule).map_err(|error| Message::verbatim(error.to_string()))?;
    Ok(Arc::new(router))
}

/// Builds a workflow from one line, such as `start > a b; a vote > c d; p parallel > x y`. Each
/// part names a node and, after `>`, its next nodes; the first node is the start. A word before `>`
/// names the node's router, or says that the node is parallel. Nodes have the kind `work`, which
/// passes inputs on unchanged. A next node that is not a part of its own is created too, unless its
/// id starts with `ghost`.
pub fn workflow(text: &str) -> WorkflowBuilder {
    adapted(text, |node| node)
}

/// Like [`workflow`], but applies `adapt` to each node.
pub fn adapted(text: &str, adapt: impl Fn(Node) -> Node) -> WorkflowBuilder {
    let mut nodes: Vec<Node> = Vec::new();
    let mut routed = Vec::new();
    for line in text.split(';') {
        let (head, next) = line.split_once('>').unwrap_or((line, ""));
        let mut words = head.split_whitespace();
        let id = words.next().unwrap();
        let rule = words.next();
        let next = next.split_whitespace();
        nodes.push(match rule {
            Some("parallel") => Node::parallel(id, next),
            _ => Node::new(id, "work").next(next),
        });
        routed.extend(rule.filter(|rule| *rule != "parallel").map(|rule| (id.to_owned(), rule.to_owned())));
    }
    let mentioned: Vec<_> = nodes.iter().flat_map(|node| node.next.clone()).collect();
    for id in mentioned {
        if !id.starts_with("ghost") && nodes.iter().all(|node| node.id != id) {
            nodes.push(Node::new(id, "work"));
        }
    }
    let builder = Workflow::builder(nodes[0].id.clone())
        .nodes(nodes.into_iter().map(adapt))
        .kind("work", |_| Ok(from_fn(|input: Value| async move { Ok(input) })));
    routed.into_iter().fold(builder, |builder, (id, rule)| {
        builder.shared_router(id.clone(), router(&rule, "").unwrap_or_else(|error| panic!("{error}")))
    })
}
