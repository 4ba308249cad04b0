//! Tests of decisions on the event bus: validation, correction, rejection, recovery and fallback.

use rulec::Rules;
use rulec_runtime::events::{Bus, Flow, Policy, RecvError, StopReason, Subscription};
use rulec_runtime::payload::{
    Coordinator, CoordinatorBuilder, DecisionEvent, Handled, Judges, NodeFailure, Proposal,
};
use serde_json::{Value as Json, json};
use std::time::Duration;

fn decision_rules() -> Rules {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/decisions.rules");
    Rules::from_path(path).unwrap_or_else(|error| panic!("{error}"))
}

fn workflow_context() -> Json {
    json!({"workflows": {"w": {"status": "READY", "inputs": {}, "nodes": {"n": {"type": "HTTP"}}}}})
}

fn coordinator_builder() -> CoordinatorBuilder {
    Coordinator::builder(Judges::new(&decision_rules()).context(&workflow_context()).unwrap())
}

/// Receives all queued events, as `event kind`.
fn drain_event_names(inbox: &mut Subscription<DecisionEvent>) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        match inbox.try_recv() {
            Ok(event) => all.push(name(&event)),
            Err(RecvError::Empty) => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

fn name(event: &DecisionEvent) -> String {
    let json = serde_json::to_value(event).unwrap();
    let event_name = json["event"].as_str().unwrap().trim_end_matches("Event");
    let kind = event.decision().map_or(String::new(), |decision| format!(" {}", decision.kind));
    format!("{event_name}{kind}")
}

fn handled_names(handled: &[Handled]) -> Vec<String> {
    handled.iter().map(|one| one.event.as_ref().map_or("stopped".to_owned(), name)).collect()
}

/// Publishes a node failure to a coordinator that calls `recovery` for failed nodes. Returns the
/// received events and the results.
async fn publish_failure<F, Fut>(recovery: F) -> (Vec<String>, Vec<Handled>)
where
    F: Fn(NodeFailure) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Json, String>> + Send + 'static,
{
    let limit = Duration::from_millis(20);
    let coordinator =
        coordinator_builder().recovery("error_recovery", recovery).recovery_limit(limit).build();
    let mut inbox = coordinator.bus().subscribe(16, Policy::Wait);
    let handled = coordinator.publish(NodeFailure::new("w", "n", "it timed out")).await;
    (drain_event_names(&mut inbox), handled)
}

#[tokio::test]
async fn decisions_are_judged_before_anybody_hears_of_them() {
    let coordinator = coordinator_builder().build();
    let mut inbox = coordinator.bus().subscribe(16, Policy::Wait);

    let fine = json!({"action_type": "respond", "response": "hello", "intent": "greeting", "confidence": 1});
    let handled = coordinator.publish(Proposal::new("respond", fine.clone()).id("d1").confidence(0.8)).await;
    let [Handled { event: Some(DecisionEvent::Validated(one)), .. }] = &*handled else {
        panic!("{handled:?}")
    };
    assert_eq!((one.payload(), &*one.decision.id, one.decision.confidence), (&fine, "d1", Some(0.8)));

    let handled =
        coordinator.publish(Proposal::new("respond", json!({"response": "hello", "confidence": 3}))).await;
    let [Handled { event: Some(DecisionEvent::Validated(one)), .. }] = &*handled else {
        panic!("{handled:?}")
    };
    let corrected =
        json!({"action_type": "respond", "response": "hello", "intent": "simple_query", "confidence": 1});
    assert_eq!(one.payload(), &corrected);
    assert_eq!(one.decision.payload["confidence"], json!(3));

    let handled = coordinator.publish(Proposal::new("respond", json!({"response": 3})).id("d3")).await;
    let [Handled { event: Some(DecisionEvent::Rejected(one)), published: Some(published), .. }] = &*handled
    else {
        panic!("{handled:?}")
    };
    assert!(one.violations().iter().any(|found| &*found.rule == "respond.response.type"));
    assert!(one.feedback.contains("$.response") && one.fallback.is_none());
    assert_eq!((published.delivered, &*one.decision.id), (1, "d3"));

    assert_eq!(
        drain_event_names(&mut inbox),
        ["DecisionValidated respond", "DecisionValidated respond", "DecisionRejected respond"]
    );
}

#[tokio::test]
async fn a_kind_that_does_not_exist_is_rejected_with_a_reason() {
    let coordinator = coordinator_builder().build();
    let mut inbox = coordinator.bus().subscribe(16, Policy::Wait);
    for (kind, rule, message) in [
        ("create_nod", "general.action_type.match", "did you mean `create_node`?"),
        ("", "general.action_type.required", "`action_type` must name the kind"),
    ] {
        coordinator.publish(Proposal::new(kind, json!({}))).await;
        let Ok(DecisionEvent::Rejected(one)) = inbox.try_recv() else { panic!("it is rejected") };
        assert!(one.feedback.contains(message), "{}", one.feedback);
        let payload = if kind.is_empty() { "payload" } else { "create_nod payload" };
        assert!(one.feedback.starts_with(&format!("The {payload} was rejected")), "{}", one.feedback);
        let [violation] = one.violations() else { panic!("{:?}", one.violations()) };
        assert_eq!((&*violation.rule, &*violation.path), (rule, "$.action_type"));
    }
    // Rules without a field for the kind report it at the payload.
    let rules = Rules::from_text("payload respond { response: string }").unwrap();
    let DecisionEvent::Rejected(one) = Judges::new(&rules).judge(Proposal::new("ask", json!(7))) else {
        panic!("it is rejected")
    };
    let [violation] = one.violations() else { panic!("{:?}", one.violations()) };
    assert_eq!((&*violation.rule, &*violation.path), ("decision.match", "$"));
}

#[tokio::test]
async fn internal_kinds_are_judged_and_told_the_caller_alone() {
    let coordinator = coordinator_builder().build();
    let mut inbox = coordinator.bus().subscribe(16, Policy::Wait);
    for (payload, expected) in [
        (json!({"thought": "first the range"}), "DecisionValidated continue"),
        (json!({"thought": ""}), "DecisionRejected continue"),
    ] {
        let handled = coordinator.publish(Proposal::new("continue", payload)).await;
        assert_eq!(handled_names(&handled), [expected]);
        assert_eq!(handled[0].published, None);
    }
    assert_eq!(drain_event_names(&mut inbox), Vec::<String>::new());
}

#[tokio::test]
async fn a_failed_node_is_recovered_from() {
    let (published, _) = publish_failure(|failure| async move {
        Ok(json!({
            "workflow_id": failure.workflow_id, "failed_node_id": failure.node_id,
            "failure_reason": failure.reason, "recovery_plan": {"action": "RETRY"}
        }))
    })
    .await;
    assert_eq!(published, ["NodeExecutionFailed", "DecisionValidated error_recovery"]);
}

#[tokio::test]
async fn a_bad_recovery_falls_back_to_a_new_plan() {
    let (published, handled) = publish_failure(|failure| async move {
        Ok(json!({
            "workflow_id": failure.workflow_id, "failed_node_id": "another",
            "failure_reason": failure.reason, "recovery_plan": {"action": "PRAY"}
        }))
    })
    .await;
    assert_eq!(
        published,
        ["NodeExecutionFailed", "DecisionRejected error_recovery", "DecisionValidated replan_workflow"]
    );
    let Some(DecisionEvent::Rejected(rejected)) = &handled[1].event else { panic!("{handled:?}") };
    assert_eq!(rejected.fallback.as_deref(), Some("replan_workflow"));
    assert!(rejected.violations().len() >= 2, "{:?}", rejected.violations());
    let Some(DecisionEvent::Validated(plan)) = &handled[2].event else { panic!("{handled:?}") };
    assert_eq!(
        plan.payload(),
        &json!({
            "action_type": "replan_workflow", "workflow_id": "w", "reason": "it timed out",
            "execution_context": {"failed_node_id": "n", "error": "it timed out"}
        })
    );
    assert_eq!(plan.decision.instead_of, ["error_recovery"]);
}

#[tokio::test]
async fn a_recovery_that_fails_falls_back_too() {
    let check = |(published, handled): (Vec<String>, Vec<Handled>), why: &str| {
        assert_eq!(
            published,
            ["NodeExecutionFailed", "DecisionRejected error_recovery", "DecisionValidated replan_workflow"]
        );
        let Some(DecisionEvent::Rejected(rejected)) = &handled[1].event else { panic!("{handled:?}") };
        assert!(rejected.feedback.contains(why), "{}", rejected.feedback);
    };
    check(publish_failure(|_| async { Err("nobody knows".to_owned()) }).await, "failed: nobody knows");
    check(publish_failure(|_| async { panic!("at the disco") }).await, "it panicked: at the disco");
    check(publish_failure(|_| std::future::pending()).await, "took longer than 20ms");
}

#[tokio::test]
async fn without_a_strategy_a_failure_is_only_told() {
    let handled = coordinator_builder().build().publish(NodeFailure::new("w", "n", "why")).await;
    assert_eq!(handled_names(&handled), ["NodeExecutionFailed"]);
}

#[tokio::test]
async fn the_program_may_make_the_fallback_itself() {
    let bad = || Proposal::new("error_recovery", json!({"workflow_id": "w"}));
    let silent = coordinator_builder().fallback(|_| None).build();
    assert_eq!(handled_names(&silent.publish(bad()).await), ["DecisionRejected error_recovery"]);

    let own = coordinator_builder()
        .fallback(|rejected| {
            let context = json!({"error": rejected.feedback});
            Some(json!({"workflow_id": "w", "reason": "own", "execution_context": context}))
        })
        .build();
    let handled = own.publish(bad().id("d")).await;
    assert_eq!(
        handled_names(&handled),
        ["DecisionRejected error_recovery", "DecisionValidated replan_workflow"]
    );
    assert_eq!(handled[1].event.as_ref().unwrap().decision().unwrap().id, "d");

    // The rejected decision is empty, so its fallback lacks required fields. The fallback is
    // rejected too, and no further fallback follows.
    let handled = coordinator_builder().build().publish(Proposal::new("error_recovery", json!({}))).await;
    assert_eq!(
        handled_names(&handled),
        ["DecisionRejected error_recovery", "DecisionRejected replan_workflow"]
    );
}

#[tokio::test]
async fn kinds_that_fall_back_to_each_other_come_to_an_end() {
    let text = "payload a fallback b { x: int }\npayload b fallback a { x: int }";
    let rules = Rules::from_text(text).expect("it compiles");
    let coordinator = Coordinator::builder(Judges::new(&rules)).build();
    let handled = coordinator.publish(Proposal::new("a", json!({}))).await;
    assert_eq!(handled_names(&handled), ["DecisionRejected a", "DecisionRejected b"]);
}

#[tokio::test]
async fn middleware_sees_decisions_before_they_are_judged() {
    let bus = Bus::builder().middleware("enrich", |event: DecisionEvent| async move {
        match event {
            DecisionEvent::Proposal(made) if &*made.id == "secret" => Flow::Stop("not for others".to_owned()),
            DecisionEvent::Proposal(mut made) => {
                made.payload = json!({"response": "enriched"});
                Flow::Pass(DecisionEvent::Proposal(made))
            }
            other => Flow::Pass(other),
        }
    });
    let coordinator = coordinator_builder().over(bus).build();
    let handled = coordinator.publish(Proposal::new("respond", json!({}))).await;
    assert_eq!(handled_names(&handled), ["DecisionValidated respond"]);
    let handled = coordinator.publish(Proposal::new("respond", json!({})).id("secret")).await;
    let stopped = handled[0].published.as_ref().unwrap().stopped_by.as_ref().unwrap();
    assert_eq!(stopped.reason, StopReason::Stopped("not for others".to_owned()));
    assert_eq!(handled_names(&handled), ["stopped"]);
}

#[tokio::test]
async fn judges_are_a_middleware_of_any_bus() {
    let judges = Judges::new(&decision_rules());
    let bus: Bus<DecisionEvent> = Bus::builder()
        .middleware("judge", move |event| {
            let flow = judges.flow(event);
            async { flow }
        })
        .build();
    let mut inbox = bus.subscribe(16, Policy::Wait);
    bus.publish(Proposal::new("respond", json!({"response": "hello"})).into()).await;
    let published = bus.publish(Proposal::new("continue", json!({"thought": "hm"})).into()).await;
    bus.publish(NodeFailure::new("w", "n", "why").into()).await;
    assert_eq!(
        published.stopped_by.unwrap().to_string(),
        "`judge` stopped the event: `continue` is never published"
    );
    assert_eq!(drain_event_names(&mut inbox), ["DecisionValidated respond", "NodeExecutionFailed"]);
}

#[tokio::test]
async fn the_context_may_change() {
    let judges = Judges::new(&decision_rules()).context(&json!({"workflows": {}})).unwrap();
    let coordinator = Coordinator::builder(judges).build();
    let run = || Proposal::new("execute_workflow", json!({"workflow_id": "w"}));
    assert_eq!(handled_names(&coordinator.publish(run()).await), ["DecisionRejected execute_workflow"]);
    coordinator.replace(Judges::new(&decision_rules()).context(&workflow_context()).unwrap());
    assert_eq!(handled_names(&coordinator.publish(run()).await), ["DecisionValidated execute_workflow"]);
    assert!(Judges::new(&decision_rules()).context(&json!({"workflows": 3})).is_err());
    assert!(Judges::new(&decision_rules()).options(&json!({"sandbx": true})).is_err());
}
