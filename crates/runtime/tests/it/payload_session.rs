//! Tests of sessions: the order in which decisions are executed, runs of plans, and recovery from
//! failed nodes.

use rulec::Rules;
use rulec_runtime::payload::{
    Coordinator, CoordinatorBuilder, DecisionEvent, Judges, NodeFailure, Proposal, RetryRequest, RunReport,
    RunStatus, Turn,
};
use rulec_runtime::workflow::{Node, from_fn};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn decision_rules() -> Rules {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/decisions.rules");
    Rules::from_path(path).unwrap_or_else(|error| panic!("{error}"))
}

/// The prompts of `LLM` nodes, in order of execution.
type PromptLog = Arc<Mutex<Vec<String>>>;

/// Returns the builder of a coordinator whose `LLM` nodes log their prompt and return it, and the
/// log. The prompt `fail` always fails, `fail twice` fails two times, `panic` panics, and `sleep`
/// takes a minute.
fn coordinator_builder() -> (CoordinatorBuilder, PromptLog) {
    let log: PromptLog = Arc::default();
    let noted = log.clone();
    let factory = move |node: &Node| {
        let prompt = node.config["prompt"].as_str().unwrap_or_default().to_owned();
        let mut log = noted.lock().unwrap();
        let before = log.iter().filter(|known| **known == prompt).count();
        log.push(prompt.clone());
        Ok(from_fn(move |input: Json| {
            let prompt = prompt.clone();
            async move {
                match &*prompt {
                    "fail" => return Err("it does not work".into()),
                    "fail twice" if before < 2 => return Err("not yet".into()),
                    "panic" => panic!("at the disco"),
                    "sleep" => tokio::time::sleep(Duration::from_secs(60)).await,
                    _ => {}
                }
                Ok(json!({"text": prompt, "input": input}))
            }
        }))
    };
    (Coordinator::builder(Judges::new(&decision_rules())).node_kind("LLM", factory), log)
}

fn llm_node(id: &str, prompt: &str) -> Json {
    json!({"node_id": id, "type": "LLM", "name": id, "config": {"prompt": prompt}})
}

fn plan_proposal(nodes: Json, edges: &[(&str, &str, Option<&str>)]) -> Proposal {
    let edge = |(from, to, condition): &(&str, &str, Option<&str>)| json!({"source": from, "target": to, "condition": condition});
    let edges: Vec<Json> = edges.iter().map(edge).collect();
    let payload = json!({"name": "p", "description": "d", "nodes": nodes, "edges": edges});
    Proposal::new("create_workflow_plan", payload)
}

fn respond_proposal(text: &str) -> Proposal {
    Proposal::new("respond", json!({"response": text, "intent": "greeting", "confidence": 1})).id(text)
}

/// Builds a coordinator that answers every node failure with this recovery plan.
fn with_recovery_plan(builder: CoordinatorBuilder, plan: Json) -> Coordinator {
    let strategy = move |failure: NodeFailure| {
        let answer = json!({
            "workflow_id": failure.workflow_id, "failed_node_id": failure.node_id, "failure_reason": failure.reason,
            "recovery_plan": plan, "execution_context": failure.execution_context
        });
        async move { Ok::<Json, String>(answer) }
    };
    builder.recovery("error_recovery", strategy).build()
}

#[track_caller]
fn only_report(turn: &Turn) -> &RunReport {
    let [done] = &turn.done[..] else { panic!("{turn:#?}") };
    done.report.as_ref().unwrap_or_else(|| panic!("{turn:#?}"))
}

fn done_ids(turn: &Turn) -> Vec<&str> {
    turn.done.iter().map(|done| &*done.decision.decision.id).collect()
}

#[tokio::test]
async fn decisions_run_by_rank_and_equal_ones_in_order_of_arrival() {
    let (builder, _) = coordinator_builder();
    let said: PromptLog = Arc::default();
    let log = said.clone();
    let coordinator = builder
        .on("respond", move |decision| {
            let text = decision.payload()["response"].as_str().unwrap_or_default().to_owned();
            log.lock().unwrap().push(text.clone());
            async move { if text == "bad" { Err("no voice") } else { Ok(json!(text)) } }
        })
        .build();
    let first = plan_proposal(json!([llm_node("a", "x")]), &[]).id("plan");
    let turn = coordinator
        .session()
        .offer([respond_proposal("1"), respond_proposal("bad"), first, respond_proposal("2")])
        .await;
    assert_eq!(done_ids(&turn), ["plan", "1", "bad", "2"]);
    assert_eq!(*said.lock().unwrap(), ["1", "bad", "2"]);
    assert_eq!(turn.done[1].result, Ok(json!("1")));
    assert_eq!(turn.done[2].result, Err("no voice".to_owned()));
}

#[tokio::test]
async fn a_clarification_suspends_until_the_answer_comes() {
    let coordinator = coordinator_builder().0.build();
    let mut session = coordinator.session();
    let ask = || Proposal::new("request_clarification", json!({"question": "which?"})).id("ask");
    assert!(session.answer(json!("nothing")).await.is_err());
    let turn = session.offer([respond_proposal("1"), ask()]).await;
    assert_eq!((done_ids(&turn), turn.waiting), (vec![], 1));
    assert_eq!(turn.question.as_ref().unwrap().payload()["question"], "which?");
    // Decisions that arrive before the answer wait too.
    let turn = session.offer([respond_proposal("2")]).await;
    assert_eq!((turn.done.len(), turn.waiting), (0, 2));
    let turn = session.answer(json!("sales")).await.unwrap();
    assert_eq!(done_ids(&turn), ["ask", "1", "2"]);
    assert_eq!(turn.done[0].result, Ok(json!({"answer": "sales"})));
    assert!(turn.question.is_none() && turn.waiting == 0);
}

#[tokio::test]
async fn an_error_recovery_drops_what_waits_and_the_open_question() {
    let coordinator = with_recovery_plan(coordinator_builder().0, json!({"action": "ABORT"}));
    let mut session = coordinator.session();
    session.offer([plan_proposal(json!([llm_node("a", "fail")]), &[])]).await;
    session
        .offer([respond_proposal("1"), Proposal::new("request_clarification", json!({"question": "which?"}))])
        .await;
    let recovery = json!({
        "workflow_id": "workflow_1", "failed_node_id": "a", "failure_reason": "r",
        "recovery_plan": {"action": "SKIP"}, "execution_context": {}
    });
    let turn = session.offer([Proposal::new("error_recovery", recovery)]).await;
    let kinds: Vec<&str> = turn.interrupted.iter().map(|made| &*made.kind).collect();
    assert_eq!(kinds, ["request_clarification", "respond"]);
    assert_eq!(
        (only_report(&turn).status, &only_report(&turn).skipped[..]),
        (RunStatus::Completed, &["a".to_owned()][..])
    );
    assert!(session.answer(json!(1)).await.is_err());
}

#[tokio::test]
async fn the_agent_is_asked_again_so_often_and_no_more() {
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let coordinator = coordinator_builder()
        .0
        .agent(move |again: RetryRequest| {
            *count.lock().unwrap() = again.attempt;
            assert!(again.rejected.feedback.contains("$.response"));
            let next = if again.attempt == 4 { respond_proposal("hello") } else { again.rejected.decision };
            async move { Ok::<_, String>(vec![next]) }
        })
        .tries(3)
        .build();
    let bad = || Proposal::new("respond", json!({"response": 3, "intent": "greeting", "confidence": 1}));
    let turn = coordinator.session().offer([bad()]).await;
    assert_eq!((*asked.lock().unwrap(), turn.rejected.len(), turn.done.len()), (3, 4, 0));
    // Without an agent, or if the agent fails, a rejected decision is not replaced.
    let silent = coordinator_builder().0.agent(|_| async { Err::<Vec<Proposal>, _>("gone") }).build();
    assert_eq!(silent.session().offer([bad()]).await.rejected.len(), 1);
}

#[tokio::test]
async fn edges_with_conditions_lead_where_they_hold() {
    let (builder, log) = coordinator_builder();
    let nodes = json!([
        llm_node("a", "go"),
        llm_node("b", "b ${a.output.text}"),
        llm_node("c", "c"),
        llm_node("d", "d"),
        llm_node("e", "e")
    ]);
    let edges = [
        ("a", "b", Some("text == \"go\"")),
        ("a", "c", Some("text != \"go\"")),
        ("c", "d", None),
        // A join runs if at least one edge is taken, and only after all its predecessors are done.
        ("b", "e", Some("'${a.output.text}' == \"go\" and output.text contains \"b\"")),
        ("d", "e", None),
    ];
    let turn = builder.build().session().offer([plan_proposal(nodes, &edges)]).await;
    let ran = only_report(&turn);
    assert_eq!(ran.status, RunStatus::Completed, "{ran:#?}");
    assert_eq!(*log.lock().unwrap(), ["go", "b go", "e"]);
    assert_eq!(ran.unreached, ["c", "d"]);
    assert_eq!(ran.outputs["e"]["input"]["text"], "b go");
}

#[tokio::test]
async fn inputs_and_outputs_are_mapped() {
    let (builder, log) = coordinator_builder();
    let mut first = llm_node("a", "hello ${NAME}");
    first["output_mapping"] = json!({"said": "${output.text}"});
    let mut second = llm_node("b", "${greeting}!");
    second["input_mapping"] = json!({"greeting": "${a.output.said}"});
    let coordinator = builder.value("NAME", "Ann").build();
    let turn =
        coordinator.session().offer([plan_proposal(json!([first, second]), &[("a", "b", None)])]).await;
    assert_eq!(*log.lock().unwrap(), ["hello Ann", "hello Ann!"]);
    assert_eq!(only_report(&turn).outputs["b"]["input"], json!({"greeting": "hello Ann"}));
}

#[tokio::test]
async fn each_recovery_does_what_it_says() {
    let nodes =
        |prompt: &str| json!([llm_node("a", prompt), llm_node("b", "then"), llm_node("c", "instead")]);
    let edges = [("a", "b", None), ("c", "b", None)];
    for (prompt, recovery, status, log) in [
        (
            "fail twice",
            json!({"action": "RETRY", "max_attempts": 2, "delay": 0.001}),
            RunStatus::Completed,
            &["fail twice", "instead", "fail twice", "fail twice", "then"][..],
        ),
        (
            "fail",
            json!({"action": "MODIFY", "modifications": {"config.prompt": "fixed"}}),
            RunStatus::Completed,
            &["fail", "instead", "fixed", "then"],
        ),
        ("fail", json!({"action": "SKIP"}), RunStatus::Completed, &["fail", "instead", "then"]),
        (
            "panic",
            json!({"action": "SKIP", "alternative_node": "c"}),
            RunStatus::Completed,
            &["panic", "instead", "instead", "then"],
        ),
        ("fail", json!({"action": "ABORT"}), RunStatus::Aborted, &["fail", "instead"]),
    ] {
        let (builder, noted) = coordinator_builder();
        let turn = with_recovery_plan(builder, recovery.clone())
            .session()
            .offer([plan_proposal(nodes(prompt), &edges)])
            .await;
        assert_eq!(only_report(&turn).status, status, "{recovery}: {turn:#?}");
        assert_eq!(*noted.lock().unwrap(), log, "{recovery}");
    }
}

#[tokio::test]
async fn recoveries_come_to_an_end() {
    let (builder, log) = coordinator_builder();
    let coordinator =
        with_recovery_plan(builder.recoveries(2), json!({"action": "RETRY", "max_attempts": 1}));
    let turn = coordinator.session().offer([plan_proposal(json!([llm_node("a", "fail")]), &[])]).await;
    assert_eq!(log.lock().unwrap().len(), 3);
    let why = only_report(&turn).reason.clone().unwrap();
    assert_eq!(why, "`a` failed and 2 recoveries were not enough: it does not work");
    assert_eq!(turn.done[0].result, Err(why));
}

#[tokio::test]
async fn times_are_kept() {
    let limited = |timeout: Json| {
        let mut slow = llm_node("a", "sleep");
        slow["config"]["timeout"] = timeout;
        slow
    };
    let turn = coordinator_builder()
        .0
        .build()
        .session()
        .offer([plan_proposal(json!([limited(json!(0.01))]), &[])])
        .await;
    assert_eq!(only_report(&turn).reason.as_deref(), Some("`a` failed: it took longer than 10ms"));
    let mut whole = plan_proposal(json!([limited(json!(100))]), &[]);
    whole.payload["global_config"] = json!({"timeout": 0.02});
    let turn = coordinator_builder().0.build().session().offer([whole]).await;
    assert!(only_report(&turn).reason.as_deref().unwrap().contains("it took longer than"), "{turn:#?}");
}

#[tokio::test]
async fn what_cannot_be_run_is_told() {
    let coordinator = coordinator_builder().0.build();
    let database = json!({"node_id": "a", "type": "DATABASE", "name": "a", "config": {"query": "q"}});
    for (made, why) in [
        (
            plan_proposal(json!([database]), &[]),
            "no processor is registered for nodes of type `DATABASE`, the type of `a`; there are END, LLM, START",
        ),
        (
            plan_proposal(json!([llm_node("a", "x"), llm_node("b", "y")]), &[("a", "b", Some("x >"))]),
            "the condition `x >` of edge 0 is none",
        ),
        (
            plan_proposal(json!([llm_node("a", "${gone.output.x}")]), &[]),
            "`${gone.output.x}` in `config.prompt` has no value",
        ),
    ] {
        let turn = coordinator.session().offer([made]).await;
        // Plans that cannot run are rejected, so that the agent receives the reason. The last case
        // is detected only during the run.
        let rejected = turn.rejected.first().map(|rejected| rejected.feedback.clone());
        let told = rejected.unwrap_or_else(|| turn.done[0].result.clone().unwrap_err());
        assert!(told.contains(why), "{told}");
    }
    // Strict judges also reject violations of warning rules.
    let strict = Coordinator::builder(Judges::new(&decision_rules()).strict()).build();
    let turn = strict
        .session()
        .offer([plan_proposal(
            json!([llm_node("a", "${b.output}"), llm_node("b", "y")]),
            &[("a", "b", Some("x >"))],
        )])
        .await;
    let found: Vec<&str> = turn.rejected[0].violations().iter().map(|found| &*found.rule).collect();
    assert_eq!(found[1..], ["plan_edge.condition.compiles", "plan_node.placeholder.earlier"], "{turn:#?}");
}

#[tokio::test]
async fn nodes_are_made_changed_and_workflows_run_again() {
    let (builder, log) = coordinator_builder();
    let coordinator = builder.build();
    let mut session = coordinator.session();
    let single = json!({
        "node_type": "LLM", "node_name": "solo", "config": {"prompt": "fail twice"},
        "retry_config": {"max_retries": 2, "retry_delay": 0.001}
    });
    let turn = session.offer([Proposal::new("create_node", single)]).await;
    assert_eq!(only_report(&turn).status, RunStatus::Completed);
    let change = json!({"node_id": "solo", "updates": {"config.prompt": "new ${who}"}});
    let turn = session.offer([Proposal::new("modify_node", change)]).await;
    assert_eq!(turn.done[0].result, Ok(Json::Null), "{turn:#?}");
    let run = Proposal::new("execute_workflow", json!({"workflow_id": "workflow_1", "input_params": {}}));
    let turn = session.offer([run]).await;
    assert!(
        only_report(&turn).reason.as_deref().unwrap().contains("`${who}` in `config.prompt`"),
        "{turn:#?}"
    );
    assert_eq!(log.lock().unwrap().len(), 3);
    // The workflow can run again after its plan is corrected, with the values that its placeholders
    // name.
    session
        .offer([Proposal::new("modify_node", json!({"node_id": "solo", "updates": {"config.timeout": 9}}))])
        .await;
    let run = Proposal::new(
        "execute_workflow",
        json!({"workflow_id": "workflow_1", "input_params": {"who": "Ann"}}),
    );
    let turn = session.offer([run]).await;
    assert_eq!(only_report(&turn).outputs["solo"]["text"], "new Ann", "{turn:#?}");
    // A workflow that the coordinator did not create is not run.
    let known = json!({"workflows": {"w": {"status": "READY", "inputs": {}, "nodes": {}}}});
    let other = Coordinator::builder(Judges::new(&decision_rules()).context(&known).unwrap()).build();
    let turn = other.session().offer([Proposal::new("execute_workflow", json!({"workflow_id": "w"}))]).await;
    assert!(turn.done[0].result.as_ref().unwrap_err().contains("was not made here"), "{turn:#?}");
}

/// A coordinator counts from 0, so its strict rules reject no plan for a missing counter. Without a
/// coordinator, the same rules do.
#[tokio::test]
async fn a_coordinator_gives_the_counters_that_strict_rules_need() {
    let options = json!({"max_requests_per_minute": 1, "max_api_calls": 1, "max_cost": 1});
    let judges = Judges::new(&decision_rules()).options(&options).unwrap();
    let payload = json!({"action_type": "create_node", "node_type": "HTTP", "node_name": "n",
                         "config": {"url": "https://example.com/", "method": "GET"}});
    let proposal = || Proposal::new("create_node", payload.clone());
    let DecisionEvent::Rejected(rejected) = judges.judge(proposal()) else { panic!("it is accepted") };
    let found: Vec<&str> = rejected.violations().iter().map(|found| &*found.rule).collect();
    assert_eq!(found, ["option.api_calls", "option.cost", "option.request_rate"]);
    for counter in ["requests_last_minute", "api_calls", "cost"] {
        let message = format!("this could not be checked because `context.{counter}` was not given");
        assert!(rejected.feedback.contains(&message), "{}", rejected.feedback);
    }
    let factory = |_: &Node| Ok(from_fn(|_: Json| async { Ok(json!({})) }));
    let coordinator = Coordinator::builder(judges).node_kind("HTTP", factory).build();
    let turn = coordinator.session().offer([proposal()]).await;
    assert_eq!(only_report(&turn).status, RunStatus::Completed, "{turn:#?}");
}

/// The rules about rates and budgets apply even if the program gives no counts, or outdated counts.
#[tokio::test(start_paused = true)]
async fn the_coordinator_counts_requests_and_cost() {
    let options = json!({"max_requests_per_minute": 3, "max_api_calls": 5, "max_cost": 2.5});
    let judges = Judges::new(&decision_rules()).options(&options).unwrap();
    let judges = judges.context(&json!({"workflows": {}, "requests_last_minute": 1})).unwrap();
    let factory = |_: &Node| Ok(from_fn(|_: Json| async { Ok(json!({"cost": 0.5})) }));
    let coordinator = Coordinator::builder(judges).node_kind("HTTP", factory).build();
    let config = json!({"url": "https://example.com/", "method": "GET"});
    let payload = json!({"node_type": "HTTP", "node_name": "n", "config": config});
    let offer = || async {
        let turn = coordinator.session().offer([Proposal::new("create_node", payload.clone())]).await;
        let violations = |rejected: &rulec_runtime::payload::Rejected| {
            rejected.violations().iter().map(|violation| violation.rule.to_string()).collect::<Vec<_>>()
        };
        (turn.done.len(), turn.rejected.first().map(violations).unwrap_or_default())
    };
    let rejected = |rules: &[&str]| {
        let rules = ["general.action_type.required"].iter().chain(rules).map(|rule| (*rule).to_owned());
        (0, rules.collect::<Vec<_>>())
    };
    for _ in 0..3 {
        assert_eq!(offer().await, (1, Vec::new()));
    }
    // The coordinator counted three requests in this minute, and the program only one. The larger
    // number applies.
    assert_eq!(offer().await, rejected(&["option.request_rate"]));
    tokio::time::advance(Duration::from_secs(60)).await;
    for _ in 0..2 {
        assert_eq!(offer().await, (1, Vec::new()));
    }
    // The minute has passed, but calls and cost count for the whole life of the coordinator.
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(offer().await, rejected(&["option.api_calls", "option.cost"]));
}
