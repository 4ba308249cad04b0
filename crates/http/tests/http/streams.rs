//! Tests of choices with a streamed reason, and of flows whose endpoint is in the rules, against a
//! server on loopback.

use crate::server::{Reply, SeenRequest, Server, unused_host};
use rulec::Rules;
use rulec::flow::FlowMatcher;
use rulec_http::{
    AllowedHosts, AskedChoice, ChatModel, ChoiceAnswer, ExecutorError, FlowEnding, FlowRunner, HttpClient,
    Limits, ModelError,
};
use serde_json::{Map, Value, json};
use std::time::Duration;

const MOOD_RULES: &str = r#"
choice mood ask "how does the customer feel?" to_user {
  branch angry "furious"
  default branch calm
}
"#;

fn test_client(host: &str) -> HttpClient {
    let pause = Duration::from_millis(1);
    let limits = Limits { retries: 1, pauses: (pause, pause), ..Limits::default() };
    HttpClient::new(AllowedHosts::new([host]).unwrap(), limits).unwrap()
}

fn run<T>(work: impl Future<Output = T> + Send) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Lets a model that sends these replies pick a branch. Returns the answer, the streamed pieces of
/// the reason, and the requests.
fn decide_choice(replies: Vec<Reply>) -> (ChoiceAnswer, Vec<String>, Vec<SeenRequest>) {
    let server = Server::replying_in_turn(replies);
    let model = ChatModel::new(test_client(&server.host()), &server.url("/v1"), "small").unwrap();
    let choice = AskedChoice::new(&Rules::from_text(MOOD_RULES).unwrap(), "mood", model).unwrap();
    let mut told = Vec::new();
    let answer = run(
        choice.decide_telling(&json!({"text": "Never!"}), &mut |piece: &str| told.push(piece.to_owned()))
    );
    (answer, told, server.requests())
}

/// Returns a streamed response in which the model calls the tool with these arguments. Each event
/// has one character of the arguments.
fn stream_reply(arguments: &str) -> Reply {
    let delta = |delta: Value| format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}));
    let call = |function: Value| delta(json!({"tool_calls": [{"index": 0, "function": function}]}));
    let mut body = call(json!({"name": "choose_branch", "arguments": ""}));
    for c in arguments.chars() {
        body += &call(json!({"arguments": c.to_string()}));
    }
    body += "data: [DONE]\n\n";
    Reply::status(200).header("content-type", "text/event-stream").body(&body)
}

#[test]
fn the_reason_is_told_while_the_model_speaks() {
    let (answer, told, asked) =
        decide_choice(vec![stream_reply(r#"{"because": "they swear", "branch": "angry"}"#)]);
    assert_eq!((&answer.branch[..], answer.to_user, &answer.failure), ("angry", true, &None));
    assert_eq!(answer.reason.as_deref(), Some("they swear"));
    assert_eq!(told.concat(), "they swear");
    let [asked] = &asked[..] else { panic!("{asked:?}") };
    let asked = asked.json();
    assert_eq!(asked["stream"], true);
    let parameters = &asked["tools"][0]["function"]["parameters"];
    assert_eq!(parameters["required"], json!(["because", "branch"]));
}

#[test]
fn an_endpoint_that_does_not_stream_tells_its_reason_at_once() {
    let arguments = json!({"because": "they swear", "branch": "angry"}).to_string();
    let function = json!({"name": "choose_branch", "arguments": arguments});
    let reply = Reply::json(200, json!({"choices": [{"message": {"tool_calls": [{"function": function}]}}]}));
    let (answer, told, _) = decide_choice(vec![reply]);
    assert_eq!((&answer.branch[..], answer.reason.as_deref()), ("angry", Some("they swear")));
    assert_eq!(told, ["they swear"]);
}

#[test]
fn what_fails_on_the_way_takes_the_default_and_is_not_told_twice() {
    let (answer, told, _) = decide_choice(vec![stream_reply(r#"{"because": "x", "branch": "glad"}"#)]);
    assert_eq!((&answer.branch[..], &told.concat()[..]), ("calm", "x"));
    assert_eq!(answer.failure, Some(ModelError::UnknownId { id: "glad".to_owned() }));
    let (answer, _, _) = decide_choice(vec![stream_reply("{\"because\": \"x")]);
    assert!(matches!(answer.failure, Some(ModelError::Arguments { .. })), "{:?}", answer.failure);
    let overloaded = Reply::status(200).header("content-type", "text/event-stream");
    let (answer, _, _) =
        decide_choice(vec![overloaded.body("data: {\"error\": {\"message\": \"overloaded\"}}\n\n")]);
    assert!(
        matches!(&answer.failure, Some(ModelError::Malformed { text, .. }) if text.contains("overloaded"))
    );
    // The connection breaks after a piece was passed on; a retry would pass it on again.
    let body = "data: {\"choices\": [{\"delta\": {}}]}\n\n".as_bytes().to_vec();
    let (answer, _, asked) = decide_choice(vec![Reply::Cut { status: 200, promised: 9_999, body }]);
    assert!(matches!(answer.failure, Some(ModelError::Http(_))), "{:?}", answer.failure);
    assert_eq!((&answer.branch[..], asked.len()), ("calm", 1));
    let (_, _, asked) = decide_choice(vec![Reply::Drop]);
    assert_eq!(asked.len(), 2, "nothing was told, so it is tried again");
}

/// Regression test: the endpoint and the tool in the rules were ignored, and had to be set by the
/// program.
#[test]
fn flows_are_executed_by_what_the_rules_say() {
    let server = Server::replying_in_turn([Reply::json(200, json!({"ok": true}))]);
    let rules = |url: &str| {
        let endpoint =
            format!("{{ url: \"{url}\", body: {{ run: \"{{flow_id}}\", of: \"#conversation#\" }} }}");
        let tool = format!("flow tool start \"Starts a flow.\" {{ endpoint: {endpoint} }}");
        Rules::from_text(&format!(
            "flow hi keyword exact [\"hi\"] -> \"greeting\"\nflow odd intent [\"odd\"] -> \"odd\"\n{tool}"
        ))
        .unwrap()
    };
    let matcher = |rules: &Rules| FlowMatcher::new(rules).unwrap();
    let flows = matcher(&rules(&server.url("/run")));
    assert_eq!((flows.tool().name(), flows.prompt().contains("`start`")), ("start", true));
    let runner = FlowRunner::of_rules(flows, test_client(&server.host())).unwrap();
    let context = Map::from_iter([("conversation".to_owned(), json!(7))]);
    let outcome = run(async { runner.handle("hi", &[], &Map::new(), &context).await });
    assert!(matches!(outcome.result, FlowEnding::Executed(_)), "{outcome}");
    let [seen] = &server.requests()[..] else { panic!() };
    assert_eq!((&seen.method[..], seen.json()), ("POST", json!({"run": "greeting", "of": 7})));

    let refused = |rules: &Rules| {
        FlowRunner::of_rules(matcher(rules), test_client(&unused_host())).map(|_| ()).unwrap_err()
    };
    assert!(matches!(refused(&rules("http://elsewhere.example/")), ExecutorError::Http(_)));
    assert!(matches!(refused(&rules("no address")), ExecutorError::Template(_)));
    let none = refused(&Rules::from_text("flow hi keyword exact [\"hi\"] -> \"greeting\"").unwrap());
    assert_eq!(none, ExecutorError::NoEndpoint);
    assert!(
        none.to_string().contains("add `flow tool flow_executor { endpoint: { url: \"https://…\" } }`"),
        "{none}"
    );
}
