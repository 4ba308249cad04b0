//! Tests of flows, choices and HTTP handlers against a real server on loopback: executed flows, how
//! they were found, and failures of the model or the endpoint.

use crate::server::{Reply, SeenRequest, Server, unused_host};
use rulec::Rules;
use rulec::classifier::Options;
use rulec::flow::FlowMatcher;
use rulec_http::{
    AllowedHosts, AskedChoice, Body, CallError, ChatModel, ChoiceAnswer, FlowEnding, FlowExecutor,
    FlowOutcome, FlowRunner, FoundBy, HttpClient, HttpFailure, Limits, ModelError, Role, Template, Turn,
};
use rulec_runtime::route::{HandlerOutcome, Router};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A time limit long enough for every expected response, even on a busy machine.
const LONG_LIMIT: Duration = Duration::from_secs(60);
/// A time limit for tests where no response is expected.
const SHORT_LIMIT: Duration = Duration::from_millis(150);

const DESK_RULES: &str = r#"
flow hello "says hello" keyword exact ["hello", "你好"] -> "greeting"
flow order keyword regex [r"DD\d{4}"] -> "order_v2"
flow refund "gives money back" intent ["I want my money back", "我要退款"] -> "refund_v2"
flow complain "takes complaints" intent ["your service is bad", "我要投诉"] -> "complain"
"#;

fn long_limits() -> Limits {
    let pause = Duration::from_millis(1);
    Limits {
        attempt: LONG_LIMIT,
        overall: LONG_LIMIT,
        retries: 1,
        pauses: (pause, pause),
        ..Limits::default()
    }
}

fn test_client(hosts: &[String], limits: Limits) -> HttpClient {
    HttpClient::new(AllowedHosts::new(hosts).unwrap(), limits).unwrap()
}

fn run<T>(work: impl Future<Output = T> + Send) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn to_object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// Returns a model's response that calls the tool with these arguments.
fn tool_call_reply(tool: &str, arguments: Value) -> Reply {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    Reply::json(200, json!({"choices": [{"message": {"tool_calls": [{"function": function}]}}]}))
}

fn pick_reply(id: &str) -> Reply {
    tool_call_reply("flow_executor", json!({"flow_id": id}))
}

fn text_reply(text: &str) -> Reply {
    Reply::json(200, json!({"choices": [{"message": {"content": text}}]}))
}

/// The settings of a [`FlowRunner`] with [`DESK_RULES`]: its classifier, and the replies of the
/// model and of the endpoint.
#[derive(Clone)]
struct RunnerSetup {
    classifier: Option<Options>,
    model: Option<Reply>,
    endpoint: Reply,
    limits: Limits,
}

impl RunnerSetup {
    /// Returns settings with keyword patterns only, and a working endpoint.
    fn without_classifier() -> RunnerSetup {
        let endpoint = Reply::json(200, json!({"run": 9}));
        RunnerSetup { classifier: None, model: None, endpoint, limits: long_limits() }
    }

    fn with_classifier() -> RunnerSetup {
        RunnerSetup { classifier: Some(Options::default()), ..RunnerSetup::without_classifier() }
    }

    fn with_model_reply(self, reply: Reply) -> RunnerSetup {
        RunnerSetup { model: Some(reply), ..self }
    }

    fn with_endpoint_reply(self, reply: Reply) -> RunnerSetup {
        RunnerSetup { endpoint: reply, ..self }
    }
}

/// The outcome of a message, and the requests that the endpoint and the model received.
struct RunResult {
    outcome: FlowOutcome,
    executed: Vec<SeenRequest>,
    asked: Vec<SeenRequest>,
}

impl RunResult {
    fn outcome_summary(&self) -> (Option<&str>, Option<&'static str>, &'static str) {
        let by = self.outcome.found_by.as_ref().map(FoundBy::kind);
        (self.outcome.flow.as_deref(), by, self.outcome.result.kind())
    }
}

/// Sets up a runner and runs `work` with it.
fn with_runner<F>(setting: RunnerSetup, work: impl FnOnce(FlowRunner) -> F) -> RunResult
where
    F: Future<Output = FlowOutcome> + Send,
{
    let endpoint = Server::replying_in_turn([setting.endpoint]);
    let asked = Server::replying_in_turn([setting.model.clone().unwrap_or(Reply::Drop)]);
    let client = test_client(&[endpoint.host(), asked.host()], setting.limits);
    let mut matcher = FlowMatcher::new(&Rules::from_text(DESK_RULES).unwrap()).unwrap();
    if let Some(options) = setting.classifier {
        matcher = matcher.with_classifier(options).unwrap();
    }
    let template = Template::parse(&json!({
        "url": endpoint.url("/run"),
        "body": {"flow": "{flow_id}", "n": "{n}", "conversation": "#conversation#"},
    }));
    let executor = FlowExecutor::new(client.clone(), template.unwrap()).unwrap();
    let mut runner = FlowRunner::new(matcher, executor);
    if setting.model.is_some() {
        runner = runner.with_model(ChatModel::new(client, &asked.url("/v1"), "small").unwrap());
    }
    let outcome = run(work(runner));
    RunResult { outcome, executed: endpoint.requests(), asked: asked.requests() }
}

fn handle_text(setting: RunnerSetup, text: &str) -> RunResult {
    let history = [Turn { role: Role::User, text: "good day" }];
    let (arguments, context) = (to_object(json!({"n": 3})), to_object(json!({"conversation": "c-1"})));
    with_runner(setting, |runner| async move { runner.handle(text, &history, &arguments, &context).await })
}

#[test]
fn a_keyword_flow_is_executed_without_asking_anybody() {
    let ran =
        handle_text(RunnerSetup::with_classifier().with_model_reply(pick_reply("refund_v2")), " 你好　");
    assert_eq!(ran.outcome_summary(), (Some("greeting"), Some("keyword"), "executed"));
    assert_eq!(ran.outcome.name.as_deref(), Some("hello"));
    assert_eq!(ran.outcome.found_by, Some(FoundBy::Keyword { pattern: "你好".to_owned() }));
    assert_eq!(ran.outcome.response().unwrap().body, Body::Json(json!({"run": 9})));
    let [seen] = &ran.executed[..] else { panic!("{:?}", ran.executed) };
    assert_eq!((&seen.method[..], &seen.target[..]), ("POST", "/run"));
    assert_eq!(seen.json(), json!({"flow": "greeting", "n": 3, "conversation": "c-1"}));
    assert!(ran.asked.is_empty());
    let shown = "flow `greeting`, found by the pattern `你好`: executed, answered 200";
    assert_eq!(ran.outcome.to_string(), shown);
}

#[test]
fn an_intent_flow_is_found_by_the_classifier_before_any_model() {
    let ran = handle_text(
        RunnerSetup::with_classifier().with_model_reply(pick_reply("complain")),
        "please give me my money back",
    );
    assert_eq!(ran.outcome_summary(), (Some("refund_v2"), Some("classifier"), "executed"));
    let Some(FoundBy::Classifier { score }) = ran.outcome.found_by else { panic!("{}", ran.outcome) };
    assert!(score >= Options::default().threshold, "{score}");
    assert_eq!(ran.executed[0].json()["flow"], "refund_v2");
    assert!(ran.asked.is_empty());
}

#[test]
fn where_the_classifier_abstains_the_model_is_asked() {
    let ran = handle_text(
        RunnerSetup::with_classifier().with_model_reply(pick_reply("complain")),
        "my parrot is unhappy with you",
    );
    assert_eq!(ran.outcome_summary(), (Some("complain"), Some("model"), "executed"));
    assert_eq!(ran.outcome.name.as_deref(), Some("complain"));
    assert_eq!(ran.executed[0].json(), json!({"flow": "complain", "n": 3, "conversation": "c-1"}));
    let [asked] = &ran.asked[..] else { panic!("{:?}", ran.asked) };
    let asked = asked.json();
    let system = "### Intent Flows\n\
        When user intent matches one of the following, call `flow_executor` tool with the corresponding flow_id:\n\
        - `refund_v2`: gives money back\n- `complain`: takes complaints\n";
    let expected = json!([
        {"role": "system", "content": system},
        {"role": "user", "content": "good day"},
        {"role": "user", "content": "my parrot is unhappy with you"},
    ]);
    assert_eq!(asked["messages"], expected);
    let ids = &asked["tools"][0]["function"]["parameters"]["properties"]["flow_id"]["enum"];
    assert_eq!(ids, &json!(["refund_v2", "complain"]));
    assert!(!asked.to_string().contains("c-1"), "no model sees the context: {asked}");
    // Without a classifier, the model is asked for every message that no pattern matches.
    let ran = handle_text(
        RunnerSetup::without_classifier().with_model_reply(pick_reply("refund_v2")),
        "I want my money back",
    );
    assert_eq!(ran.outcome_summary(), (Some("refund_v2"), Some("model"), "executed"));
}

#[test]
fn what_nobody_finds_is_told_with_what_came_nearest() {
    let ran = handle_text(RunnerSetup::with_classifier(), "who wrote hamlet");
    assert_eq!(ran.outcome_summary(), (None, None, "no_flow"));
    assert_eq!(ran.outcome.result, FlowEnding::NoFlow { reply: None });
    assert_eq!(ran.outcome.to_string(), "no flow is what the message wants");
    assert!(ran.executed.is_empty());
    let strict = Options { threshold: 1.0, ..Options::default() };
    let ran = handle_text(
        RunnerSetup { classifier: Some(strict), ..RunnerSetup::without_classifier() },
        "my money",
    );
    assert_eq!(ran.outcome_summary(), (None, None, "no_flow"));
    assert_eq!(ran.outcome.nearest[0].id, "refund_v2");
    assert_eq!(ran.outcome.exceeded, []);
}

/// Regression test: a text too long for the patterns was reported like a text that no pattern
/// matches.
#[test]
fn an_outcome_tells_the_limits_that_were_exceeded() {
    let ran = handle_text(RunnerSetup::with_classifier(), &"my money back ".repeat(100_000));
    assert_eq!(ran.outcome_summary(), (None, None, "no_flow"));
    let limits: Vec<_> = ran.outcome.exceeded.iter().map(|exceeded| exceeded.limit()).collect();
    assert_eq!(limits, ["regex_bytes", "request_bytes"]);
}

#[test]
fn a_model_that_finds_nothing_or_fails_executes_nothing() {
    let text = |text: &str| text.to_owned();
    let other = tool_call_reply("delete_everything", json!({}));
    let no_answer = |ending: &FlowEnding, failure: fn(&HttpFailure) -> bool| match ending {
        FlowEnding::ModelFailed(ModelError::Http(error)) => failure(error.failure()),
        _ => false,
    };
    for (reply, expected) in [
        (text_reply("which order?"), FlowEnding::NoFlow { reply: Some(text("which order?")) }),
        (pick_reply("drop_tables"), FlowEnding::Refused { id: text("drop_tables") }),
        // The list of ids that the model may pick contains no keyword flow.
        (pick_reply("greeting"), FlowEnding::Refused { id: text("greeting") }),
        (other, FlowEnding::ModelFailed(ModelError::WrongTool { name: text("delete_everything") })),
    ] {
        let ran = handle_text(RunnerSetup::without_classifier().with_model_reply(reply), "hm");
        assert_eq!((&ran.outcome.result, ran.outcome.flow.as_deref()), (&expected, None));
        assert!(ran.executed.is_empty(), "{expected:?}");
    }
    let quick = RunnerSetup {
        limits: Limits { attempt: SHORT_LIMIT, ..long_limits() },
        ..RunnerSetup::without_classifier()
    };
    for (setting, reply, failure) in [
        (
            RunnerSetup::without_classifier(),
            Reply::text(500, "oh"),
            (|f| matches!(f, HttpFailure::Status { status: 500, .. })) as fn(&_) -> _,
        ),
        (RunnerSetup::without_classifier(), Reply::Drop, |f| matches!(f, HttpFailure::Connection { .. })),
        (RunnerSetup::without_classifier(), Reply::text(200, "<html>"), |f| {
            matches!(f, HttpFailure::NotJson { .. })
        }),
        (quick, Reply::Silence, |f| matches!(f, HttpFailure::Timeout { .. })),
    ] {
        let ran = handle_text(setting.with_model_reply(reply), "hm");
        assert!(no_answer(&ran.outcome.result, failure), "{}", ran.outcome);
        assert_eq!(ran.outcome_summary(), (None, None, "model_failed"));
        assert!(ran.executed.is_empty());
    }
}

#[test]
fn an_execution_that_fails_names_flow_and_cause() {
    let quick = RunnerSetup {
        limits: Limits { attempt: SHORT_LIMIT, ..long_limits() },
        ..RunnerSetup::without_classifier()
    };
    for (setting, reply, says) in [
        (RunnerSetup::without_classifier(), Reply::text(500, "no such flow"), "answered 500: `no such flow`"),
        (RunnerSetup::without_classifier(), Reply::text(404, ""), "answered 404"),
        (RunnerSetup::without_classifier(), Reply::Drop, "the connection failed"),
        (quick, Reply::Silence, "no complete answer within 150ms"),
    ] {
        let ran = handle_text(setting.with_endpoint_reply(reply), "where is DD1234?");
        assert_eq!(ran.outcome_summary(), (Some("order_v2"), Some("keyword"), "failed"));
        let FlowEnding::Failed(error) = &ran.outcome.result else { panic!("{}", ran.outcome) };
        assert_eq!(error.flow(), "order_v2");
        assert!(ran.outcome.to_string().contains(says), "{}", ran.outcome);
    }
    let nothing = Map::new();
    let ran = with_runner(RunnerSetup::without_classifier(), |runner| async move {
        runner.handle("hello", &[], &nothing, &nothing).await
    });
    let FlowEnding::Failed(error) = &ran.outcome.result else { panic!("{}", ran.outcome) };
    assert!(matches!(error.failure(), CallError::Fill(fill) if fill.place().starts_with("body.")), "{error}");
    assert!(ran.executed.is_empty());
}

#[test]
fn the_programs_own_agent_executes_by_the_same_path() {
    let execute = |id: &'static str| {
        let (arguments, context) = (to_object(json!({"n": 3})), to_object(json!({"conversation": "c-1"})));
        with_runner(RunnerSetup::without_classifier(), |runner| async move {
            runner.execute(id, &arguments, &context).await
        })
    };
    let ran = execute("complain");
    assert_eq!(ran.outcome_summary(), (Some("complain"), Some("model"), "executed"));
    assert_eq!(ran.executed[0].json(), json!({"flow": "complain", "n": 3, "conversation": "c-1"}));
    for id in ["greeting", "refund", "refund_v2 ", ""] {
        let ran = execute(id);
        assert_eq!(ran.outcome.result, FlowEnding::Refused { id: id.to_owned() });
        assert!(ran.executed.is_empty(), "{id}");
    }
}

const MOOD_RULES: &str = r#"
input { text: string, ctx?: { orders?: int, phone?: string @private } }
choice mood ask "how does the customer feel?" {
  branch angry "furious, threatens to leave"
  branch worried
  default branch calm "anything else"
}
choice plain { default branch a }
"#;

fn decide_choice(reply: Reply, limits: Limits, message: Value) -> (ChoiceAnswer, Vec<SeenRequest>) {
    let server = Server::replying_in_turn([reply]);
    let model = ChatModel::new(test_client(&[server.host()], limits), &server.url("/v1"), "small").unwrap();
    let choice = AskedChoice::new(&Rules::from_text(MOOD_RULES).unwrap(), "mood", model).unwrap();
    assert_eq!(choice.question().branches().collect::<Vec<_>>(), ["angry", "worried", "calm"]);
    assert_eq!(choice.question().default_branch(), "calm");
    (run(choice.decide(&message)), server.requests())
}

fn branch_reply(id: &str) -> Reply {
    tool_call_reply("choose_branch", json!({"branch": id}))
}

#[test]
fn a_model_makes_a_choice() {
    let message = json!({"text": "Never again!", "ctx": {"orders": 2, "phone": "555-0100"}});
    let (answer, seen) = decide_choice(branch_reply("angry"), long_limits(), message);
    assert_eq!((&answer.branch[..], &answer.failure, &answer.ignored[..]), ("angry", &None, &[][..]));
    let [seen] = &seen[..] else { panic!("{seen:?}") };
    let asked = seen.json();
    let messages = asked["messages"].as_array().unwrap();
    assert!(messages[0]["content"].as_str().unwrap().contains("how does the customer feel?"), "{asked}");
    assert_eq!(messages[1]["role"], "user");
    assert!(messages[1]["content"].as_str().unwrap().contains("\"orders\":2"), "{asked}");
    assert_eq!(messages[2], json!({"role": "user", "content": "Never again!"}));
    assert!(!asked.to_string().contains("555-0100"), "private values are masked: {asked}");
    let parameter = &asked["tools"][0]["function"]["parameters"]["properties"]["branch"];
    assert_eq!(parameter["enum"], json!(["angry", "worried", "calm"]));
    assert_eq!(asked["tool_choice"]["function"]["name"], "choose_branch");
    // The model may pick the default branch, which is not a failure.
    let (answer, seen) = decide_choice(branch_reply("calm"), long_limits(), json!({"text": "hello"}));
    assert_eq!((&answer.branch[..], answer.failure), ("calm", None));
    assert_eq!(seen[0].json()["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn a_choice_without_an_answer_of_use_takes_the_default_and_says_why() {
    let text = |text: &str| text.to_owned();
    for (reply, limits, expected) in [
        (branch_reply("Angry"), long_limits(), Some(ModelError::UnknownId { id: text("Angry") })),
        (branch_reply(""), long_limits(), Some(ModelError::UnknownId { id: text("") })),
        (text_reply("angry"), long_limits(), Some(ModelError::NoCall { text: text("angry") })),
        (Reply::text(500, "oh"), long_limits(), None),
        (Reply::Drop, long_limits(), None),
        (Reply::Silence, Limits { attempt: SHORT_LIMIT, ..long_limits() }, None),
    ] {
        let (answer, _) = decide_choice(reply.clone(), limits, json!({"text": "hm"}));
        assert_eq!(answer.branch, "calm", "{reply:?}");
        match expected {
            Some(expected) => assert_eq!(answer.failure, Some(expected)),
            None => assert!(matches!(answer.failure, Some(ModelError::Http(_))), "{:?}", answer.failure),
        }
    }
}

#[test]
fn only_a_choice_that_a_model_makes_is_asked() {
    let host = unused_host();
    let model = ChatModel::new(
        test_client(std::slice::from_ref(&host), long_limits()),
        &format!("http://{host}/"),
        "m",
    )
    .unwrap();
    let refused = |rules: &str, name| {
        AskedChoice::new(&Rules::from_text(rules).unwrap(), name, model.clone()).unwrap_err().to_string()
    };
    for (rules, name, says) in [
        (MOOD_RULES, "moood", "no choice `moood` that a model makes; did you mean `mood`?"),
        (MOOD_RULES, "plain", "`plain` is decided by its conditions"),
        (MOOD_RULES, "weather", "the known names are `mood`"),
        ("default -> chat", "weather", "no choice is declared"),
    ] {
        let message = refused(rules, name);
        assert!(message.contains(says), "{message}");
    }
}

/// Routes a message to an HTTP handler whose server sends this reply.
fn route_message(reply: Reply, limits: Limits, message: Value) -> (HandlerOutcome, Vec<SeenRequest>) {
    let server = Server::replying_in_turn([reply]);
    let rules = Rules::from_text("default -> ticket(text: text, size: ctx.size)").unwrap();
    let endpoint = Template::parse(&json!({
        "url": server.url("/tickets/#customer#"),
        "body": {"text": "{text}", "size": "{size}"},
    }));
    let handler = rulec_http::handler(test_client(&[server.host()], limits), endpoint.unwrap()).unwrap();
    let router = Router::builder(rules).handler("ticket", handler).build().unwrap();
    let result = run(router.route(message)).result;
    (result, server.requests())
}

#[test]
fn a_route_leads_to_a_service() {
    let message = json!({"text": "it's broken", "ctx": {"size": 2, "customer": "a/b"}});
    let (ending, seen) = route_message(Reply::json(200, json!({"id": 7})), long_limits(), message.clone());
    assert_eq!(ending, HandlerOutcome::Handled(json!({"id": 7})));
    let [seen] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((&seen.method[..], &seen.target[..]), ("POST", "/tickets/a%2Fb"));
    assert_eq!(seen.json(), json!({"text": "it's broken", "size": 2}));
    for (reply, expected) in [(Reply::text(200, "done"), json!("done")), (Reply::status(204), Value::Null)] {
        assert_eq!(route_message(reply, long_limits(), message.clone()).0, HandlerOutcome::Handled(expected));
    }
}

#[test]
fn a_service_that_fails_is_a_result_that_names_the_route() {
    let message = json!({"text": "x", "ctx": {"customer": 1}});
    let failed = |reply, limits, message| {
        let (ending, seen) = route_message(reply, limits, message);
        assert!(matches!(&ending, HandlerOutcome::Failed { route, .. } if route == "default"), "{ending}");
        (ending.error().unwrap_or_default().to_owned(), seen.len())
    };
    let (error, requests) = failed(Reply::text(404, "gone"), long_limits(), message.clone());
    assert!(error.contains("answered 404: `gone`"), "{error}");
    assert_eq!(requests, 1);
    let (error, _) = failed(Reply::Drop, long_limits(), message.clone());
    assert!(error.contains("the connection failed"), "{error}");
    let (error, _) = failed(Reply::Silence, Limits { attempt: SHORT_LIMIT, ..long_limits() }, message);
    assert!(error.contains("no complete answer within 150ms"), "{error}");
    // The URL needs a value that the context lacks, so no request is sent.
    let (error, requests) = failed(Reply::status(200), long_limits(), json!({"text": "x"}));
    assert!(error.contains("`#customer#`"), "{error}");
    assert_eq!(requests, 0);
}

#[test]
fn a_service_that_may_not_be_called_is_refused_when_the_handler_is_made() {
    let (listed, other) = (unused_host(), unused_host());
    let endpoint = Template::parse(&json!({"url": format!("http://{other}/x")})).unwrap();
    let refused =
        rulec_http::handler(test_client(&[listed], long_limits()), endpoint).map(|_| ()).unwrap_err();
    assert_eq!(refused.failure(), &HttpFailure::HostNotAllowed { host: other });
}

#[test]
fn a_slow_service_is_stopped_by_the_routers_own_limit_too() {
    let server = Server::replying_in_turn([Reply::Silence]);
    let endpoint = Template::parse(&json!({"url": server.url("/")})).unwrap();
    let handler = rulec_http::handler(test_client(&[server.host()], long_limits()), endpoint).unwrap();
    let rules = Rules::from_text("default -> slow").unwrap();
    let router = Router::builder(rules).handler("slow", handler).time_limit(SHORT_LIMIT).build().unwrap();
    let ending = run(router.route(json!({"text": "x"}))).result;
    assert_eq!(ending, HandlerOutcome::TimedOut { route: "default".to_owned(), after: SHORT_LIMIT });
}
