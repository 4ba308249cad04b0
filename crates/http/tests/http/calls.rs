//! Tests of HTTP calls against a real server on loopback: sent requests, refused requests, and
//! every kind of server failure.

use crate::server::{Reply, SeenRequest, Server, unused_host};
use rulec::prompt::{PickTool, intent_prompt};
use rulec_http::{
    AllowedHosts, Body, CallError, ChatModel, FlowError, FlowExecutor, HttpClient, HttpError, HttpFailure,
    Limits, ModelError, Pick, Prompt, Request, Response, Role, Secret, Template, Turn,
};
use serde_json::{Map, Value, json};
use std::process::Command;
use std::time::Duration;

/// A time limit long enough for every expected response, even on a busy machine.
const LONG_LIMIT: Duration = Duration::from_secs(60);
/// A time limit for tests where no response is expected.
const SHORT_LIMIT: Duration = Duration::from_millis(150);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Returns limits with long times, so that no test exceeds them, and with short pauses.
fn long_limits() -> Limits {
    Limits {
        attempt: LONG_LIMIT,
        overall: LONG_LIMIT,
        retries: 2,
        pauses: (ms(1), ms(4)),
        ..Limits::default()
    }
}

fn test_client(hosts: &[String], limits: Limits) -> HttpClient {
    HttpClient::new(AllowedHosts::new(hosts).unwrap(), limits).unwrap()
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Checks at compile time that a future can be sent between threads.
fn assert_send<T: Send>(work: T) -> T {
    work
}

/// Makes one GET under these limits. Returns the result and the number of requests received.
fn get_with_replies(
    replies: impl IntoIterator<Item = Reply>,
    limits: Limits,
) -> (Result<Response, HttpError>, usize) {
    let server = Server::replying_in_turn(replies);
    let result = run(test_client(&[server.host()], limits).send(&Request::get(server.url("/x"))));
    (result, server.requests().len())
}

fn to_object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn execute_flow(
    server: &Server,
    endpoint: Value,
    arguments: Value,
    context: Value,
) -> Result<Response, FlowError> {
    let endpoint = Template::parse(&endpoint).unwrap();
    let executor = FlowExecutor::new(test_client(&[server.host()], long_limits()), endpoint).unwrap();
    run(assert_send(executor.execute("refund", &to_object(arguments), &to_object(context))))
}

#[test]
fn a_flow_arrives_as_the_template_says() {
    let server = Server::replying_in_turn([Reply::json(200, json!({"run": 9}))]);
    let endpoint = json!({
        "url": server.url("/trigger/{flow_id}?who=#name#"),
        "method": "PUT",
        "headers": {"X-Tenant": "t-#tenant#", "Content-Type": "application/json"},
        "body": {
            "flow": "{flow_id}", "count": "{count}", "tenant": "#tenant#", "tags": ["#tags#", "all: #tags#"],
            "note": "{count} of #name#", "nothing": "#nothing#", "fixed": [1, 2.5, true, null], "{count}": "{{count}}"
        }
    });
    let context = json!({"tenant": 12, "name": "Zoë & co/../", "tags": ["a"], "nothing": null});
    let response = execute_flow(&server, endpoint, json!({"count": 3, "flow_id": "other"}), context).unwrap();
    assert_eq!((response.status, response.attempts), (200, 1));
    assert_eq!(response.body, Body::Json(json!({"run": 9})));

    let seen = server.only_request();
    assert_eq!(seen.method, "PUT");
    assert_eq!(seen.target, "/trigger/refund?who=Zo%C3%AB%20%26%20co%2F..%2F");
    assert_eq!(seen.header("x-tenant"), Some("t-12"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("host"), Some(&server.host()[..]));
    let expected = json!({
        "flow": "refund", "count": 3, "tenant": 12, "tags": [["a"], "all: [\"a\"]"],
        "note": "3 of Zoë & co/../", "nothing": null, "fixed": [1, 2.5, true, null], "{count}": "{count}"
    });
    assert_eq!(seen.json(), expected);
}

#[test]
fn a_flow_that_cannot_be_filled_is_not_sent() {
    let server = Server::replying_in_turn([Reply::status(200)]);
    let endpoint = json!({"url": server.url("/"), "body": {"phone": "#phone#"}});
    let error = execute_flow(&server, endpoint, json!({}), json!({})).unwrap_err();
    assert_eq!(error.flow(), "refund");
    assert!(matches!(error.failure(), CallError::Fill(fill) if fill.place() == "body.phone"), "{error}");
    assert!(
        error.to_string().starts_with("flow `refund`: `#phone#` at `body.phone` of the endpoint: "),
        "{error}"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn a_flow_that_fails_says_status_and_text() {
    let server = Server::replying_in_turn([Reply::text(500, "no such flow")]);
    let error =
        execute_flow(&server, json!({"url": server.url("/x?key=1")}), json!({}), json!({})).unwrap_err();
    let expected = format!("flow `refund`: GET `{}`: answered 500: `no such flow`", server.url("/x"));
    assert_eq!(error.to_string(), expected);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_host_that_is_not_listed_is_never_called() {
    let (listed, other) =
        (Server::replying_in_turn([Reply::status(200)]), Server::replying_in_turn([Reply::status(200)]));
    let client = test_client(&[listed.host()], long_limits());
    let error = run(client.send(&Request::get(other.url("/")))).unwrap_err();
    assert_eq!(error.failure(), &HttpFailure::HostNotAllowed { host: other.host() });
    assert_eq!(error.attempts(), 0);
    let template = Template::parse(&json!({"url": other.url("/{flow_id}")})).unwrap();
    let refused = FlowExecutor::new(client.clone(), template).unwrap_err();
    assert_eq!(refused.failure(), &HttpFailure::HostNotAllowed { host: other.host() });
    assert!(ChatModel::new(client.clone(), &other.url("/v1"), "m").is_err());
    for url in [listed.url("/").replace("http", "ftp"), format!("http://user@{}/", listed.host())] {
        let error = run(client.send(&Request::get(url))).unwrap_err();
        assert!(matches!(error.failure(), HttpFailure::BadUrl { .. }), "{error}");
    }
    assert_eq!((listed.requests().len(), other.requests().len()), (0, 0));
}

#[test]
fn redirects_are_not_followed() {
    let elsewhere = Server::replying_in_turn([Reply::status(200)]);
    for status in [301, 302, 303, 307, 308] {
        let (result, requests) =
            get_with_replies([Reply::status(status).header("location", &elsewhere.url("/"))], long_limits());
        let error = result.unwrap_err();
        assert_eq!(error.failure(), &HttpFailure::Status { status, text: String::new() });
        assert!(error.to_string().contains("redirects are not followed"), "{error}");
        assert_eq!(requests, 1);
    }
    assert!(elsewhere.requests().is_empty());
}

/// The environment is shared by the whole process. So a child process with other variables runs one
/// of this file's tests.
#[test]
fn proxies_of_the_environment_are_ignored() {
    let mut other = Command::new(std::env::current_exe().unwrap());
    other
        .args(["--exact", "calls::a_flow_that_fails_says_status_and_text"])
        .env_remove("NO_PROXY")
        .env_remove("no_proxy");
    let proxy = format!("http://{}", unused_host());
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        other.env(name, &proxy);
    }
    let output = other.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn what_may_pass_is_tried_again() {
    let ok = || Reply::text(200, "done");
    let cut = || Reply::Cut { status: 200, promised: 100, body: b"par".to_vec() };
    for failures in [
        vec![Reply::status(503), Reply::status(503)],
        vec![Reply::status(502), Reply::status(504)],
        vec![Reply::Drop, Reply::Drop],
        vec![Reply::Drop, Reply::status(503)],
        vec![cut()],
        vec![Reply::Raw(b"HTTP/1.1 20".to_vec())],
        vec![Reply::Raw(b"who are you?\r\n\r\n".to_vec())],
        vec![],
    ] {
        let attempts = failures.len() + 1;
        let (result, requests) = get_with_replies(failures.into_iter().chain([ok()]), long_limits());
        let response = result.unwrap();
        assert_eq!((response.attempts as usize, requests), (attempts, attempts));
        assert_eq!(response.body, Body::Text("done".to_owned()));
    }
}

#[test]
fn a_call_that_may_have_been_processed_is_sent_once_if_it_is_no_read() {
    let cut = || Reply::Cut { status: 200, promised: 100, body: b"par".to_vec() };
    for (reply, expected) in [
        (Reply::Drop, 1),
        (cut(), 1),
        (Reply::status(502), 1),
        (Reply::status(504), 1),
        (Reply::status(503), 3),
    ] {
        let attempts = |request: fn(String) -> Request| {
            let server = Server::replying_in_turn([reply.clone()]);
            let request = request(server.url("/x"));
            let error = run(test_client(&[server.host()], long_limits()).send(&request)).unwrap_err();
            (error.attempts(), server.requests().len())
        };
        assert_eq!(attempts(|url| Request::post(url, &json!(1))), (expected, expected as usize), "{reply:?}");
        assert_eq!(attempts(|url| Request::post(url, &json!(1)).repeatable()), (3, 3), "{reply:?}");
    }
}

#[test]
fn retries_come_to_an_end() {
    for (reply, retries) in
        [(Reply::status(503), 0), (Reply::status(503), 2), (Reply::Drop, 0), (Reply::Drop, 3)]
    {
        let (result, requests) = get_with_replies([reply], Limits { retries, ..long_limits() });
        let error = result.unwrap_err();
        assert_eq!((error.attempts(), requests), (retries + 1, retries as usize + 1), "{error}");
    }
    // The overall limit ends the retries before their maximum number.
    let endless =
        Limits { retries: u32::MAX, pauses: (ms(5), ms(20)), overall: SHORT_LIMIT, ..long_limits() };
    let (result, _) = get_with_replies([Reply::status(503)], endless);
    assert!(result.unwrap_err().attempts() < 100);
}

#[test]
fn nothing_else_is_tried_again() {
    for status in [400, 401, 404, 408, 429, 500, 501, 505] {
        let (result, requests) = get_with_replies([Reply::text(status, "why\nnot")], long_limits());
        let error = result.unwrap_err();
        assert_eq!(error.failure(), &HttpFailure::Status { status, text: "why\nnot".to_owned() });
        assert_eq!((error.attempts(), requests), (1, 1));
    }
}

#[test]
fn nothing_listens() {
    let host = unused_host();
    let request = Request::post(format!("http://{host}/x"), &json!(1));
    let error = run(test_client(&[host], long_limits()).send(&request)).unwrap_err();
    assert!(matches!(error.failure(), HttpFailure::Connection { .. }), "{error}");
    assert_eq!(error.attempts(), 3);
    assert!(error.to_string().ends_with("(after 3 attempts)"), "{error}");
}

#[test]
fn encryption_is_wanted_where_the_address_says_so() {
    let server = Server::replying_in_turn([Reply::status(200)]);
    let request = Request::get(server.url("/").replace("http:", "https:"));
    let error = run(test_client(&[server.host()], Limits { retries: 0, ..long_limits() }).send(&request))
        .unwrap_err();
    assert!(matches!(error.failure(), HttpFailure::Connection { .. }), "{error}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_late_answer_is_a_timeout() {
    let (attempt, overall) =
        (Limits { attempt: SHORT_LIMIT, ..long_limits() }, Limits { overall: SHORT_LIMIT, ..long_limits() });
    for reply in [Reply::Silence, Reply::Drip(200), Reply::status(200).delayed_by(SHORT_LIMIT * 10)] {
        for (limits, overall) in [(attempt.clone(), false), (overall.clone(), true)] {
            let (result, requests) = get_with_replies([reply.clone()], limits);
            let error = result.unwrap_err();
            assert_eq!(error.failure(), &HttpFailure::Timeout { limit: SHORT_LIMIT, overall }, "{reply:?}");
            // On a busy machine the time may be over before the server has read the request.
            assert!(error.attempts() == 1 && requests <= 1, "{requests}");
        }
    }
    // A response within the limit is not a timeout.
    assert!(get_with_replies([Reply::status(200).delayed_by(ms(30))], long_limits()).0.is_ok());
}

#[test]
fn a_failure_that_is_slow_to_explain_itself_keeps_its_status() {
    let cut = Reply::Cut { status: 500, promised: 100, body: b"par".to_vec() };
    let error = get_with_replies([cut], long_limits()).0.unwrap_err();
    assert_eq!(error.failure(), &HttpFailure::Status { status: 500, text: "par".to_owned() });
    let (result, _) = get_with_replies([Reply::Drip(500)], Limits { attempt: ms(1_500), ..long_limits() });
    assert!(matches!(result.unwrap_err().failure(), HttpFailure::Status { status: 500, .. }));
    let (result, _) = get_with_replies([Reply::text(500, &"文".repeat(100_000))], long_limits());
    let error = result.unwrap_err();
    let HttpFailure::Status { text, .. } = error.failure() else { panic!("{error}") };
    assert_eq!(text.chars().count(), 2_001);
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    for (reply, limit) in
        [(Reply::Endless, 1 << 20), (Reply::text(200, "12345"), 4), (Reply::text(200, "1"), 0)]
    {
        let (result, requests) = get_with_replies([reply], Limits { body: limit, ..long_limits() });
        assert_eq!(result.unwrap_err().failure(), &HttpFailure::BodyTooLarge { limit });
        assert_eq!(requests, 1);
    }
    assert!(get_with_replies([Reply::text(200, "1234")], Limits { body: 4, ..long_limits() }).0.is_ok());
    assert!(get_with_replies([Reply::status(204)], Limits { body: 0, ..long_limits() }).0.is_ok());
}

#[test]
fn json_is_read_or_refused() {
    for (reply, expected) in [
        (Reply::json(200, json!([1])), Some(json!([1]))),
        (Reply::text(201, "[1]"), Some(json!([1]))),
        (Reply::text(200, "<html>"), None),
        (Reply::status(204), None),
    ] {
        let json = get_with_replies([reply], long_limits()).0.unwrap().into_json();
        assert_eq!(json.as_ref().ok(), expected.as_ref());
        if let Err(error) = json {
            assert!(matches!(error.failure(), HttpFailure::NotJson { .. }), "{error}");
        }
    }
}

#[test]
fn an_encoded_body_and_broken_json_are_refused() {
    let encoded = Reply::text(200, "\u{1f}\u{8b}").header("content-encoding", "gzip");
    let error = get_with_replies([encoded], long_limits()).0.unwrap_err();
    let encoding = "gzip".to_owned();
    assert_eq!(error.failure(), &HttpFailure::UnknownEncoding { encoding }, "{error}");
    let plain = Reply::text(200, "plain").header("content-encoding", "identity");
    assert!(get_with_replies([plain], long_limits()).0.is_ok());
    for body in ["{\"a\": NaN}", "[1e400]", "{"] {
        let broken = Reply::status(200).header("content-type", "application/json").body(body);
        let error = get_with_replies([broken], long_limits()).0.unwrap_err();
        assert_eq!(error.failure(), &HttpFailure::NotJson { text: body.to_owned() }, "{error}");
    }
}

const API_KEY: &str = "key-of-the-test";

/// Asks a model to select a flow; the server sends `reply` as the model's response. Returns the
/// model's selection, and the requests that the server received.
fn ask_model(reply: Reply, tool: &PickTool) -> (Result<Pick, ModelError>, Vec<SeenRequest>) {
    let server = Server::replying_in_turn([reply]);
    let model =
        ChatModel::new(test_client(&[server.host()], long_limits()), &server.url("/v1/"), "small").unwrap();
    let model = model.temperature(0.0).key(Secret::new(API_KEY)).unwrap();
    assert!(!format!("{model:?}").contains(API_KEY));
    let history = [Turn { role: Role::User, text: "hi" }, Turn { role: Role::Assistant, text: "hello" }];
    let system = intent_prompt(&[("refund", "money back"), ("complain", "not content")]);
    let prompt = Prompt { system: &system, history: &history, user: "I want my money" };
    (run(assert_send(model.choose(&prompt, tool))), server.requests())
}

fn flow_tool() -> PickTool {
    PickTool::flow_executor(["refund", "complain"])
}

/// Returns a model's response that calls the tool once with each of these arguments.
fn tool_call_reply(arguments: &[&str]) -> Reply {
    let call = |text: &&str| json!({"id": "c", "type": "function", "function": {"name": "flow_executor", "arguments": text}});
    let calls: Vec<_> = arguments.iter().map(call).collect();
    Reply::json(
        200,
        json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls}}]}),
    )
}

#[test]
fn a_model_picks_a_flow() {
    let (result, seen) = ask_model(tool_call_reply(&["{\"flow_id\":\"refund\"}"]), &flow_tool());
    let pick = result.unwrap();
    assert_eq!((&*pick.id, &*pick.ignored, pick.attempts), ("refund", &[][..], 1));
    let [seen] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((&seen.method[..], &seen.target[..]), ("POST", "/v1/chat/completions"));
    assert_eq!(seen.header("authorization"), Some("Bearer key-of-the-test"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    let expected = json!({
        "model": "small",
        "temperature": 0.0,
        "messages": [
            {"role": "system", "content": intent_prompt(&[("refund", "money back"), ("complain", "not content")])},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "I want my money"},
        ],
        "tools": [flow_tool().to_json()],
        "tool_choice": "auto",
    });
    assert_eq!(seen.json(), expected);
}

#[test]
fn a_choice_must_be_made() {
    let tool = PickTool::new("choose", "which?", "branch", [("yes", "agrees"), ("no", "")]);
    let call = json!({"function": {"name": "choose", "arguments": "{\"branch\":\"no\"}"}});
    let (result, seen) =
        ask_model(Reply::json(200, json!({"choices": [{"message": {"tool_calls": [call]}}]})), &tool);
    assert_eq!(result.unwrap().id, "no");
    assert_eq!(seen[0].json()["tool_choice"], json!({"type": "function", "function": {"name": "choose"}}));
}

#[test]
fn of_several_calls_the_first_counts() {
    let pick =
        ask_model(tool_call_reply(&["{\"flow_id\":\"complain\"}", "{\"flow_id\":\"refund\"}"]), &flow_tool())
            .0
            .unwrap();
    assert_eq!(pick.id, "complain");
    assert_eq!(pick.ignored, ["flow_executor({\"flow_id\":\"refund\"})"]);
}

#[test]
fn a_model_that_picks_nothing_is_reported() {
    let words = |content: &str| Reply::json(200, json!({"choices": [{"message": {"content": content}}]}));
    let text = |text: &str| text.to_owned();
    for (reply, expected) in [
        (tool_call_reply(&["{\"flow_id\":\"delete\"}"]), ModelError::UnknownId { id: text("delete") }),
        (tool_call_reply(&["{"]), ModelError::Arguments { parameter: text("flow_id"), arguments: text("{") }),
        (words("which one?"), ModelError::NoCall { text: text("which one?") }),
        (words(API_KEY), ModelError::NoCall { text: text("***") }),
        (
            Reply::json(200, json!({"a": 1})),
            ModelError::Malformed { missing: "choices[0].message", text: text("{\"a\":1}") },
        ),
    ] {
        assert_eq!(ask_model(reply, &flow_tool()).0.unwrap_err(), expected);
    }
}

#[test]
fn a_model_that_cannot_be_reached_is_reported_without_its_key() {
    let repeated = format!("{}incorrect key {API_KEY}", "x".repeat(1_980));
    for (reply, requests) in [
        (Reply::json(401, json!({"error": {"message": format!("incorrect key {API_KEY}")}})), 1),
        (Reply::text(401, &repeated), 1),
        (Reply::text(200, &format!("<p>{API_KEY}</p>")), 1),
        (Reply::text(503, API_KEY), 3),
        (Reply::Drop, 3),
    ] {
        let (result, seen) = ask_model(reply.clone(), &flow_tool());
        let error = result.unwrap_err();
        assert!(matches!(error, ModelError::Http(_)), "{error}");
        assert!(!format!("{error} {error:?}").contains("key-of"), "{error:?}");
        assert_eq!(seen.len(), requests, "{reply:?}");
    }
}

#[test]
fn a_key_that_is_no_header_is_refused() {
    let server = Server::replying_in_turn([Reply::status(200)]);
    let model =
        ChatModel::new(test_client(&[server.host()], long_limits()), &server.url("/v1"), "m").unwrap();
    let error = model.key(Secret::new("a\nb")).unwrap_err();
    assert_eq!(error.name(), "authorization");
}
