//! Measures the time to validate a payload, for each kind of payload of the bundled rules.

use criterion::{Criterion, criterion_group, criterion_main};
use rulec::Rules;
use serde_json::{Value as Json, json};
use std::hint::black_box;

/// Returns one payload of each kind. All of them are accepted without corrections.
fn payloads() -> Vec<(&'static str, Json)> {
    let node = |id: &str, kind: &str, config: Json| json!({"node_id": id, "type": kind, "name": id, "config": config});
    vec![
        (
            "respond",
            json!({"action_type": "respond", "response": "hello", "intent": "greeting", "confidence": 0.9}),
        ),
        (
            "create_node",
            json!({
                "action_type": "create_node", "node_type": "HTTP", "node_name": "weather",
                "config": {"url": "https://api.example.com/v1/current", "method": "GET", "timeout": 10},
                "description": "fetches the weather", "retry_config": {"max_retries": 3}
            }),
        ),
        (
            "create_workflow_plan",
            json!({
                "action_type": "create_workflow_plan", "name": "report", "description": "makes a report",
                "nodes": [
                    node("a", "DATABASE", json!({"query": "select 1"})),
                    node("b", "PYTHON", json!({"code": "return 1"})),
                    node("c", "HTTP", json!({"url": "https://example.com", "method": "POST"})),
                ],
                "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]
            }),
        ),
        (
            "execute_workflow",
            json!({"action_type": "execute_workflow", "workflow_id": "w", "input_params": {"q": "x"}}),
        ),
        (
            "request_clarification",
            json!({"action_type": "request_clarification", "question": "which?", "options": ["a", "b"]}),
        ),
        ("continue", json!({"action_type": "continue", "thought": "first the range", "progress": 0.3})),
        (
            "modify_node",
            json!({"action_type": "modify_node", "node_id": "n", "updates": {"config.timeout": 20}}),
        ),
        (
            "error_recovery",
            json!({
                "action_type": "error_recovery", "workflow_id": "w", "failed_node_id": "n", "failure_reason": "timeout",
                "recovery_plan": {"action": "RETRY", "max_attempts": 3}, "execution_context": {"executed_nodes": ["n"]}
            }),
        ),
        (
            "replan_workflow",
            json!({
                "action_type": "replan_workflow", "workflow_id": "w", "reason": "timeouts",
                "execution_context": {"failed_attempts": 3}, "preserve_nodes": ["n"]
            }),
        ),
        (
            "spawn_subagent",
            json!({"action_type": "spawn_subagent", "subagent_type": "researcher", "task_payload": {"query": "x"}, "priority": 3}),
        ),
    ]
}

fn judging(criterion: &mut Criterion) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/decisions.rules");
    let rules = Rules::from_path(path).expect("the shipped rules compile");
    let context = json!({
        "workflows": {"w": {
            "status": "READY", "inputs": {"q": {"type": "str", "required": true}},
            "nodes": {"n": {"type": "HTTP", "config": {"url": "https://example.com", "method": "GET"}}}
        }},
        "subagents": {"researcher": {"query": {"type": "str", "required": true}}},
        "requests_last_minute": 0, "api_calls": 0
    });
    let mut group = criterion.benchmark_group("payload");
    for (kind, payload) in payloads() {
        let judge =
            rules.judge(kind).and_then(|judge| judge.context(context.clone())).expect("the kind exists");
        let judgement = judge.judge(&payload);
        assert!(judgement.is_valid(), "{kind}: {}", judgement.feedback());
        group.bench_function(kind, |bencher| bencher.iter(|| judge.judge(black_box(&payload))));
    }
    group.finish();
}

criterion_group!(benches, judging);
criterion_main!(benches);
