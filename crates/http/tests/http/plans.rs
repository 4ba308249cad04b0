//! Tests of plans (workflows that a language model writes), from payload to finished workflow, with
//! a real server: validation, running, failure, recovery and resuming.

use super::server::{Reply, SeenRequest, Server};
use rulec::Rules;
use rulec_http::{AllowedHosts, ChatModel, HttpClient, Limits, Secret, llm_node, node};
use rulec_runtime::payload::{
    Coordinator, CoordinatorBuilder, Judges, NodeFailure, Proposal, RunStatus, Turn,
};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn coordinator_builder(server: &Server) -> CoordinatorBuilder {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/decisions.rules");
    let rules = Rules::from_path(path).unwrap_or_else(|error| panic!("{error}"));
    let limits = Limits { retries: 0, attempt: Duration::from_secs(5), ..Limits::default() };
    let client = HttpClient::new(AllowedHosts::new([server.host()]).unwrap(), limits).unwrap();
    Coordinator::builder(Judges::new(&rules)).node_kind("HTTP", node(client))
}

fn request_path(seen: &SeenRequest) -> String {
    format!("{} {}", seen.method, seen.target)
}

fn request_paths(server: &Server) -> Vec<String> {
    server.requests().iter().map(request_path).collect()
}

/// A plan that fetches rows, and reports them if there are enough; otherwise it raises an alarm.
fn two_node_plan(server: &Server) -> Json {
    json!({
        "action_type": "create_workflow_plan", "name": "report", "description": "fetches and reports",
        "nodes": [
            {"node_id": "begin", "type": "START", "name": "begin", "config": {}},
            {"node_id": "fetch", "type": "HTTP", "name": "fetch", "config": {
                "url": server.url("/rows"), "method": "GET", "params": {"city": "${city}"}, "timeout": 2}},
            {"node_id": "report", "type": "HTTP", "name": "report", "config": {
                "url": server.url("/report/${fetch.output.data.id}"), "method": "POST",
                "body": {"rows": "${fetch.output.data.rows}", "text": "of ${city}"}}},
            {"node_id": "alarm", "type": "HTTP", "name": "alarm",
             "config": {"url": server.url("/alarm"), "method": "POST"}},
            {"node_id": "end", "type": "END", "name": "end", "config": {}}
        ],
        "edges": [
            {"source": "begin", "target": "fetch"},
            {"source": "fetch", "target": "report", "condition": "status == 200 and len(data.rows as list<any>) > 1"},
            {"source": "fetch", "target": "alarm", "condition": "len('${fetch.output.data.rows}' as list<any>) <= 1"},
            {"source": "report", "target": "end"},
            {"source": "alarm", "target": "end"}
        ],
        "global_config": {"env": {"city": "Paris"}}
    })
}

fn rows_reply() -> Reply {
    Reply::json(200, json!({"rows": [1, 2, 3], "id": "a/b"}))
}

/// Sets a recovery strategy (a function that is called for each failed node) that returns these
/// decisions, one after another. Also returns the list to which the strategy adds each failure.
fn with_recoveries(
    builder: CoordinatorBuilder,
    answers: impl IntoIterator<Item = Json>,
) -> (CoordinatorBuilder, Arc<Mutex<Vec<NodeFailure>>>) {
    let failures: Arc<Mutex<Vec<NodeFailure>>> = Arc::default();
    let answers = Mutex::new(answers.into_iter().collect::<Vec<_>>().into_iter());
    let seen = failures.clone();
    let strategy = move |failure: NodeFailure| {
        seen.lock().unwrap().push(failure.clone());
        let answer = answers.lock().unwrap().next().ok_or("nobody knows");
        async move {
            let mut answer = answer?;
            answer["workflow_id"] = json!(failure.workflow_id);
            if answer["recovery_plan"].is_object() {
                answer["failed_node_id"] = json!(failure.node_id);
                answer["failure_reason"] = json!(failure.reason);
            }
            answer["execution_context"] = Json::Object(failure.execution_context);
            Ok::<Json, &str>(answer)
        }
    };
    (builder.recovery("error_recovery", strategy), failures)
}

fn recovery_payload(plan: Json) -> Json {
    json!({"action_type": "error_recovery", "recovery_plan": plan})
}

#[track_caller]
fn run_status(turn: &Turn) -> RunStatus {
    let [done] = &turn.done[..] else { panic!("{turn:#?}") };
    done.report.as_ref().unwrap_or_else(|| panic!("{turn:#?}")).status
}

#[tokio::test]
async fn a_plan_is_judged_built_run_recovered_and_completed() {
    let mut fails = 2;
    let server = Server::answering_with(move |seen| match &*seen.target {
        "/rows?city=Paris" if fails > 0 => {
            fails -= 1;
            Reply::text(500, "busy")
        }
        "/rows?city=Paris" => rows_reply(),
        _ => Reply::json(201, json!({"ok": true})),
    });
    let retry =
        json!({"action": "RETRY", "delay": 0.01, "max_attempts": 2, "modifications": {"config.timeout": 60}});
    let (builder, failures) = with_recoveries(coordinator_builder(&server), [recovery_payload(retry)]);
    // The agent forgets a URL at first, and adds it after the feedback.
    let (mut forgetful, good) = (two_node_plan(&server), two_node_plan(&server));
    forgetful["nodes"][3]["config"].as_object_mut().unwrap().remove("url");
    let coordinator = builder
        .agent(move |again| {
            assert!(again.rejected.feedback.contains("$.nodes[3].config.url"), "{}", again.rejected.feedback);
            let good = good.clone();
            async move { Ok::<_, String>(vec![Proposal::new("create_workflow_plan", good)]) }
        })
        .build();
    let turn = coordinator.session().offer([Proposal::new("create_workflow_plan", forgetful)]).await;

    assert_eq!(run_status(&turn), RunStatus::Completed, "{turn:#?}");
    assert_eq!(turn.rejected.len(), 1);
    let failures = failures.lock().unwrap();
    let [failure] = &failures[..] else { panic!("{failures:?}") };
    assert!(failure.node_id == "fetch" && failure.reason.contains("answered 500: `busy`"), "{failure:?}");
    assert_eq!(failure.execution_context["failed_attempts"], 1);
    let get = "GET /rows?city=Paris";
    assert_eq!(request_paths(&server), [get, get, get, "POST /report/a%2Fb"]);
    assert_eq!(server.requests()[3].json(), json!({"rows": [1, 2, 3], "text": "of Paris"}));
    let report = turn.done[0].report.as_ref().unwrap();
    assert_eq!(report.unreached, ["alarm"]);
    assert_eq!(report.outputs["report"], json!({"status": 201, "data": {"ok": true}}));
    assert_eq!(report.failures["fetch"], 2);
}

#[tokio::test]
async fn a_plan_is_made_anew_and_goes_on_with_what_it_has() {
    let server = Server::answering_with(|seen| match &*seen.target {
        "/rows?city=Paris" => rows_reply(),
        "/mirror" => Reply::json(200, json!({})),
        _ => Reply::status(500),
    });
    let replan = json!({
        "action_type": "replan_workflow", "reason": "the report is gone",
        "suggested_changes": {
            "remove_nodes": ["report"],
            "add_nodes": [{"type": "HTTP", "name": "mirror", "config": {"url": server.url("/mirror"), "method": "POST"}}],
            "update_edges": [{"source": "fetch", "target": "mirror"}, {"source": "mirror", "target": "end"}]
        }
    });
    // The first changed plan has a cycle with an edge that stays, which counts as another failure.
    let mut circle = replan.clone();
    circle["suggested_changes"]["update_edges"] = json!([
        {"source": "fetch", "target": "mirror"}, {"source": "mirror", "target": "begin"}
    ]);
    let (builder, failures) = with_recoveries(coordinator_builder(&server), [circle, replan]);
    let turn = builder
        .build()
        .session()
        .offer([Proposal::new("create_workflow_plan", two_node_plan(&server))])
        .await;
    assert_eq!(run_status(&turn), RunStatus::Completed, "{turn:#?}");
    assert_eq!(request_paths(&server), ["GET /rows?city=Paris", "POST /report/a%2Fb", "POST /mirror"]);
    let failures = failures.lock().unwrap();
    assert!(failures[1].reason.contains("circle"), "{failures:?}");
}

#[tokio::test]
async fn a_run_is_saved_after_each_node_and_resumed_elsewhere() {
    let server = Server::replying_in_turn([rows_reply(), Reply::status(500), Reply::json(200, json!({}))]);
    let saved: Arc<Mutex<Vec<Json>>> = Arc::default();
    let keep = saved.clone();
    let first =
        coordinator_builder(&server).saving(move |run| keep.lock().unwrap().push(run.clone())).build();
    let turn = first.session().offer([Proposal::new("create_workflow_plan", two_node_plan(&server))]).await;
    // There is no recovery strategy for the failure.
    assert_eq!(run_status(&turn), RunStatus::Failed);
    assert!(turn.done[0].result.as_ref().unwrap_err().contains("`report` failed"), "{turn:#?}");

    let last = saved.lock().unwrap().last().cloned().unwrap();
    let text = last.to_string();
    let second = coordinator_builder(&server).build();
    let id = second.restore(&serde_json::from_str(&text).unwrap()).unwrap();
    let report = second.resume(&id).await.unwrap();
    assert_eq!(report.status, RunStatus::Completed, "{report:#?}");
    let twice = "POST /report/a%2Fb";
    assert_eq!(request_paths(&server), ["GET /rows?city=Paris", twice, twice]);
    assert!(second.restore(&json!({"workflow_id": "x", "plan": {"nodes": []}, "progress": {}})).is_err());
    assert!(second.resume("x").await.is_err());
}

#[tokio::test]
async fn a_recovery_from_outside_interrupts_what_runs() {
    let mut first = true;
    let server = Server::answering_with(move |seen| match &*seen.target {
        "/rows?city=Paris" if std::mem::take(&mut first) => rows_reply().delayed_by(Duration::from_secs(30)),
        "/rows?city=Paris" => rows_reply(),
        _ => Reply::json(200, json!({})),
    });
    let coordinator = coordinator_builder(&server).build();
    let mut session = coordinator.session();
    let inbox = session.inbox();
    let mut slow = two_node_plan(&server);
    slow["nodes"][1]["config"]["timeout"] = json!(60);
    let respond = json!({"response": "hello", "intent": "greeting", "confidence": 1});
    let offered =
        session.offer([Proposal::new("create_workflow_plan", slow), Proposal::new("respond", respond)]);
    let interrupting = async {
        while server.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let recovery = json!({
            "workflow_id": "workflow_1", "failed_node_id": "fetch", "failure_reason": "it takes too long",
            "recovery_plan": {"action": "RETRY", "max_attempts": 1}, "execution_context": {}
        });
        assert!(inbox.send(Proposal::new("error_recovery", recovery)));
    };
    let (turn, ()) = tokio::join!(offered, interrupting);
    let interrupted: Vec<&str> = turn.interrupted.iter().map(|made| &*made.kind).collect();
    assert_eq!(interrupted, ["create_workflow_plan", "respond"]);
    assert_eq!(run_status(&turn), RunStatus::Completed, "{turn:#?}");
    assert_eq!(request_paths(&server).len(), 3);
}

/// A plan may only call hosts that the client allows, whatever is filled into its URLs.
#[tokio::test]
async fn hosts_that_are_not_listed_are_not_called() {
    let server = Server::replying_in_turn([Reply::status(200)]);
    let coordinator = coordinator_builder(&server).value("host", "evil.test/x").build();
    for url in ["http://evil.test/".to_owned(), "http://${host}/".to_owned(), server.url("@${host}")] {
        let made = Proposal::new(
            "create_node",
            json!({
                "node_type": "HTTP", "node_name": "call", "config": {"url": url, "method": "GET"}
            }),
        );
        let turn = coordinator.session().offer([made]).await;
        assert_eq!(run_status(&turn), RunStatus::Failed, "{turn:#?}");
    }
    assert_eq!(request_paths(&server), [""; 0]);
}

/// Runs an `LLM` node with this config. Returns the output, or the reason of the failure.
async fn run_llm_node(server: &Server, config: Json) -> Result<Json, String> {
    let rules =
        Rules::from_text("payload create_node { node_type: string; node_name: string; config: dict }")
            .unwrap();
    let hosts = AllowedHosts::of_url(&server.url("/v1")).unwrap();
    let client = HttpClient::new(hosts, Limits { retries: 0, ..Limits::default() }).unwrap();
    let model = ChatModel::new(client, &server.url("/v1"), "small").unwrap().key(Secret::new("k-1")).unwrap();
    let coordinator = Coordinator::builder(Judges::new(&rules)).node_kind("LLM", llm_node(model)).build();
    let payload = json!({"node_type": "LLM", "node_name": "a", "config": config});
    let turn = coordinator.session().offer([Proposal::new("create_node", payload)]).await;
    let report = turn.done[0].report.clone().unwrap();
    report.outputs.get("a").cloned().ok_or_else(|| report.reason.unwrap_or_default())
}

#[tokio::test]
async fn llm_nodes_send_their_messages_to_the_chosen_model() {
    let answer = json!({
        "model": "small-1", "usage": {"total_tokens": 7},
        "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]
    });
    let server = Server::replying_in_turn([Reply::json(200, answer)]);
    let config = json!({
        "model": "large", "system_prompt": "be brief", "messages": [{"role": "user", "content": "a"}],
        "prompt": "b", "temperature": 0.5, "max_tokens": 9, "stop": null, "timeout": 30
    });
    let output =
        json!({"text": "hi", "model": "small-1", "finish_reason": "stop", "usage": {"total_tokens": 7}});
    assert_eq!(run_llm_node(&server, config).await, Ok(output));
    let request = server.only_request();
    assert_eq!(
        (&*request.target, request.header("authorization")),
        ("/v1/chat/completions", Some("Bearer k-1"))
    );
    let sent = json!({
        "model": "small", "temperature": 0.5, "max_tokens": 9,
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "a"},
            {"role": "user", "content": "b"}
        ]
    });
    assert_eq!(request.json(), sent);
}

#[tokio::test]
async fn llm_nodes_that_cannot_be_asked_fail_with_the_reason() {
    let server =
        Server::replying_in_turn([Reply::json(200, json!({"choices": [{"message": {"content": null}}]}))]);
    let error = run_llm_node(&server, json!({"prompt": "a"})).await.unwrap_err();
    assert!(error.contains("choices[0].message.content"), "{error}");
    for (config, reason) in [
        (json!({"prompt": " "}), "neither a `prompt` nor `messages`"),
        (json!({"prompt": 1}), "`config.prompt` must be a text"),
        (json!({"messages": ["a"]}), "`config.messages` must be a list of objects"),
        (json!({"prompt": "a", "tools": []}), "`config.tools` is nothing"),
    ] {
        let error = run_llm_node(&server, config).await.unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    assert!(AllowedHosts::of_url("ftp://h/").is_err());
}
