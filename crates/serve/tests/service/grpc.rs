//! Tests of the gRPC services, with clients that are generated from the same `.proto` files.

use super::{RULES, Response, Running, start, start_with};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pb::rulec::v1::decide_stream_response::Result as Answer;
use pb::rulec::v1::rules_client::RulesClient;
use pb::rulec::v1::*;
use rulec_serve::{Address, LogMode, ServerSignal};
use serde_json::{Value as Json, json};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

/// Clients that the build script generates for the tests.
#[allow(clippy::all, clippy::pedantic, dead_code, reason = "generated")]
pub(super) mod pb {
    include!(concat!(env!("OUT_DIR"), "/client/all.rs"));
}

pub(super) type Transport = Client<HttpConnector, tonic::body::Body>;

/// Returns an HTTP/2 client, and the address of the service.
pub(super) fn transport(service: &Running) -> (Transport, hyper::Uri) {
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    (client, service.url.parse().expect("an address"))
}

pub(super) fn client(service: &Running) -> RulesClient<Transport> {
    let (transport, address) = transport(service);
    RulesClient::with_origin(transport, address)
}

fn message(text: &str) -> DecideRequest {
    DecideRequest { message: text.to_owned().into(), ..DecideRequest::default() }
}

/// Returns the error in the metadata of a gRPC status: the same JSON as over HTTP.
#[track_caller]
fn problem(status: &Status) -> Json {
    let sent = status.metadata().get_bin("rulec-problem-bin").expect("an error of the service");
    serde_json::from_slice(&sent.to_bytes().expect("bytes")).expect("JSON")
}

/// Compares the answer over gRPC with the answer to the same request over HTTP: the bytes are the
/// same, and an error has the same JSON. Returns true if the answer is an error.
pub(super) async fn compare_with_http(
    client: &mut RulesClient<Transport>,
    request: DecideRequest,
    over_http: &Response,
    what: &str,
) -> bool {
    let mut request = Request::new(request);
    request.metadata_mut().insert("authorization", "Bearer secret".parse().expect("ASCII"));
    match client.decide(request).await {
        Ok(answer) => {
            let DecideResponse { decision, generation } = answer.into_inner();
            assert_eq!(String::from_utf8_lossy(&decision), over_http.text(), "{what}");
            assert_eq!(generation.to_string(), over_http.header("rulec-generation"), "{what}");
            false
        }
        Err(status) => {
            assert_eq!(problem(&status), over_http.json(), "{what}");
            assert_eq!(json!(status.message()), over_http.json()["detail"], "{what}");
            true
        }
    }
}

#[tokio::test]
async fn decisions_are_those_over_http() {
    let service = start(RULES).await;
    let mut client = client(&service);
    let requests = [
        json!({"message": {"text": "a refund", "n": 9_007_199_254_740_993_u64}}),
        json!({"message": {"text": "a refund", "n": u64::MAX}}),
        json!({"message": {"text": "退款 é"}, "explain": true, "matched": true, "analysis": true}),
        json!({"message": {"text": "x"}, "why_not": "refund"}),
        json!({"message": {"n": 500}, "entry": "people", "rules": "support"}),
        json!({"message": {"text": "!"}, "entry": "mood"}),
        json!({"message": {}, "entry": "nothing"}),
        json!({"message": {}, "rules": "nothing"}),
        json!({"message": {}, "record": true}),
        json!({"message": 5}),
    ];
    let mut failed = 0;
    for request in requests {
        let over_http = service.post("/v1/decide", &request.to_string()).await;
        let text = |key: &str| request[key].as_str().unwrap_or_default().to_owned();
        let flag = |key: &str| request[key].as_bool().unwrap_or_default();
        let over_grpc = DecideRequest {
            rules: text("rules"),
            entry: text("entry"),
            message: request["message"].to_string().into(),
            explain: flag("explain"),
            matched: flag("matched"),
            analysis: flag("analysis"),
            why_not: text("why_not"),
            record: flag("record"),
        };
        let what = request.to_string();
        failed += usize::from(compare_with_http(&mut client, over_grpc, &over_http, &what).await);
    }
    assert_eq!(failed, 4);
    let exact = client.decide(message(r#"{"text": "refund", "n": 9007199254740993}"#)).await;
    let exact = exact.expect("a decision").into_inner().decision;
    assert!(String::from_utf8_lossy(&exact).contains("9007199254740993"));
}

#[tokio::test]
async fn errors_have_codes() {
    let service = start_with(RULES, |options, _| options.limits.max_body_bytes = 1000).await;
    let mut client = client(&service);
    let mut code = async |request: DecideRequest| match client.decide(request).await {
        Ok(_) => panic!("it is an error"),
        Err(status) => (status.code(), problem(&status)["type"].as_str().unwrap_or_default().to_owned()),
    };
    let error = |code, kind: &str| (code, format!("urn:rulec:{kind}"));
    let entry = DecideRequest { entry: "x".to_owned(), ..message("{}") };
    assert_eq!(code(entry).await, error(Code::NotFound, "unknown-entry"));
    assert_eq!(code(message("{")).await, error(Code::InvalidArgument, "invalid-request"));
    assert_eq!(code(message("")).await, error(Code::InvalidArgument, "invalid-request"));
    let not_text = DecideRequest { message: vec![b'"', 0xff, b'"'].into(), ..DecideRequest::default() };
    assert_eq!(code(not_text).await, error(Code::InvalidArgument, "invalid-request"));
    let long = json!({ "text": "x".repeat(2000) }).to_string();
    assert_eq!(code(message(&long)).await, error(Code::ResourceExhausted, "too-large"));
    let repeated = client.decide(message(r#"{"text": "a", "text": "b"}"#)).await.expect_err("a repeated key");
    assert_eq!(problem(&repeated)["code"], "E0604");
    let metrics = service.get("/metrics").await.text();
    for line in [
        "rulec_limits_hit_total{limit=\"body\"} 1",
        "rulec_requests_total{path=\"/rulec.v1.Rules/Decide\",status=\"404\"} 1",
        "rulec_requests_total{path=\"/rulec.v1.Rules/Decide\",status=\"413\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    // A method that is not there, and another protocol at the address of a method.
    let (transport, address) = transport(&service);
    let unknown = raw_request(&address.to_string(), "rulec.v1.Rules/None", b"");
    let unknown = transport.request(unknown).await.expect("an answer");
    assert_eq!((unknown.status().as_u16(), unknown.headers()["grpc-status"].as_bytes()), (200, &b"12"[..]));
    assert_eq!(service.post("/rulec.v1.Rules/Decide", "{}").await.status, 415);
}

/// Returns a gRPC request to `method` with one Protobuf message, whose encoded bytes are `message`.
fn raw_request(address: &str, method: &str, message: &[u8]) -> hyper::Request<tonic::body::Body> {
    let mut frame = vec![0];
    frame.extend_from_slice(&u32::try_from(message.len()).expect("a short message").to_be_bytes());
    frame.extend_from_slice(message);
    let body = http_body_util::Full::new(bytes::Bytes::from(frame));
    let request = hyper::Request::post(format!("{}/{method}", address.trim_end_matches('/')));
    let request = request.header("content-type", "application/grpc").header("te", "trailers");
    request.body(tonic::body::Body::new(body)).expect("a request")
}

#[tokio::test]
async fn tokens_and_limits_hold() {
    let service = start_with(RULES, |options, folder| {
        super::admin::with_tokens(options, folder);
        options.limits.max_open_requests = 1;
    })
    .await;
    let mut client = client(&service);
    let with_token = |token: &str, request: DecideRequest| {
        let mut request = Request::new(request);
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().expect("ASCII"));
        request
    };
    let code = client.decide(message("{}")).await.map(drop).map_err(|status| status.code());
    assert_eq!(code, Err(Code::Unauthenticated));
    let code = client.decide(with_token("wrong", message("{}"))).await.map(drop);
    assert_eq!(code.map_err(|status| status.code()), Err(Code::Unauthenticated));
    client.decide(with_token("secret", message("{}"))).await.expect("a decision");
    // An open stream takes the only slot for streams, and no permit while it waits for its client.
    let open = || {
        let (send, receive) = mpsc::channel(1);
        let mut requests = Request::new(tokio_stream::wrappers::ReceiverStream::new(receive));
        requests.metadata_mut().insert("authorization", "Bearer secret".parse().expect("ASCII"));
        (send, requests)
    };
    let (send, requests) = open();
    let stream = client.decide_stream(requests).await.expect("a stream");
    client.decide(with_token("secret", message("{}"))).await.expect("a decision");
    let shed = client.decide_stream(open().1).await.expect_err("one too many");
    assert_eq!(shed.code(), Code::Unavailable);
    drop((send, stream));
    while client.decide_stream(open().1).await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_scope_is_needed() {
    let service = start_with(RULES, |options, folder| {
        let hash = "61704f674c7b4ade5327ddcf63706766f2e0a5513c531f039021589bbba0a3f4";
        std::fs::write(folder.join("tokens"), format!("decider decide {hash}\n")).expect("it can be written");
        options.token_file = Some(folder.join("tokens"));
    })
    .await;
    let mut client = client(&service);
    for (explain, code) in [(false, Code::Ok), (true, Code::PermissionDenied)] {
        let mut request = Request::new(DecideRequest { explain, ..message("{}") });
        request.metadata_mut().insert("authorization", "Bearer decider".parse().expect("ASCII"));
        let answer = client.decide(request).await;
        assert_eq!(answer.err().map_or(Code::Ok, |status| status.code()), code);
    }
}

fn response(answer: DecideStreamResponse) -> Result<Json, (Code, Json)> {
    match answer.result.expect("an answer or an error") {
        Answer::Response(response) => Ok(serde_json::from_slice(&response.decision).expect("JSON")),
        Answer::Problem(problem) => {
            Err((problem.code.into(), serde_json::from_slice(&problem.problem).expect("JSON")))
        }
    }
}

fn request(request: DecideRequest) -> DecideStreamRequest {
    DecideStreamRequest { request: Some(request) }
}

/// A message is answered before the next one is sent, and an error concerns its message only.
#[tokio::test]
async fn a_stream_is_answered_in_order() {
    let service = start(RULES).await;
    let mut client = client(&service);
    let (send, receive) = mpsc::channel(1);
    let requests = tokio_stream::wrappers::ReceiverStream::new(receive);
    let mut answers = client.decide_stream(requests).await.expect("a stream").into_inner();
    for (text, chosen) in [("a refund", "refund"), ("hello", "default")] {
        send.send(request(message(&json!({ "text": text }).to_string()))).await.expect("it is read");
        let answer = answers.message().await.expect("an answer").expect("an answer");
        assert_eq!(response(answer).expect("a decision")["chosen"], chosen);
    }
    send.send(request(message("{"))).await.expect("it is read");
    let (code, problem) =
        response(answers.message().await.expect("an answer").expect("one")).expect_err("it is not JSON");
    assert_eq!((code, &problem["status"]), (Code::InvalidArgument, &json!(400)));
    // Slow and fast answers, and more of them than are decided at the same time.
    let sender = tokio::spawn(async move {
        for n in 0..1000_i64 {
            let text = json!({ "text": "refund", "n": n }).to_string();
            let one = DecideRequest { explain: n % 100 == 0, ..message(&text) };
            send.send(request(one)).await.expect("it is read");
        }
    });
    for n in 0..1000_i64 {
        let answer = response(answers.message().await.expect("an answer").expect("one"));
        let answer = answer.expect("a decision");
        assert_eq!((&answer["args"]["amount"], answer["explanation"].is_object()), (&json!(n), n % 100 == 0));
    }
    sender.await.expect("all are sent");
    assert!(answers.message().await.expect("an end").is_none());
}

#[tokio::test]
async fn a_recorded_message_is_seen_by_those_after_it() {
    let rules = "input { now: datetime, session: string }\nhistory by session keep 1h\nroute again when any p in history within 10m: p.session == session -> deny\ndefault -> allow\n";
    let service = start(rules).await;
    let mut client = client(&service);
    let requests = (0..50).map(|second| {
        let text = json!({ "now": format!("2026-01-01T00:00:{second:02}Z"), "session": "a" }).to_string();
        request(DecideRequest { record: second % 10 == 0, ..message(&text) })
    });
    let requests: Vec<_> = requests.collect();
    let mut answers =
        client.decide_stream(tokio_stream::iter(requests)).await.expect("a stream").into_inner();
    let mut chosen = Vec::new();
    while let Some(answer) = answers.message().await.expect("an answer") {
        chosen.push(response(answer).expect("a decision")["chosen"].as_str().expect("a route").to_owned());
    }
    assert_eq!(chosen.len(), 50);
    assert_eq!(chosen[0], "default");
    assert!(chosen[1..].iter().all(|chosen| chosen == "again"), "{chosen:?}");
}

#[tokio::test]
async fn a_stream_has_limits() {
    let service = start_with(RULES, |options, _| {
        options.limits.max_body_bytes = 1000;
        options.limits.request_time_limit = Duration::from_millis(300);
    })
    .await;
    let mut client = client(&service);
    let (send, receive) = mpsc::channel::<DecideStreamRequest>(1);
    let requests = tokio_stream::wrappers::ReceiverStream::new(receive);
    let mut answers = client.decide_stream(requests).await.expect("a stream").into_inner();
    let late = answers.message().await.expect_err("no message came");
    assert_eq!(late.code(), Code::DeadlineExceeded);
    drop(send);
    let long = json!({ "text": "x".repeat(2000) }).to_string();
    let requests = tokio_stream::iter([request(message("{}")), request(message(&long))]);
    let mut answers = client.decide_stream(requests).await.expect("a stream").into_inner();
    assert!(response(answers.message().await.expect("an answer").expect("one")).is_ok());
    assert_eq!(answers.message().await.expect_err("it is too long").code(), Code::ResourceExhausted);
    let metrics = service.get("/metrics").await.text();
    for limit in ["body", "deadline"] {
        let line = format!("rulec_limits_hit_total{{limit=\"{limit}\"}} 1");
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn the_other_questions_are_answered_as_over_http() {
    let service = start(RULES).await;
    let mut client = client(&service);
    let judged = JudgeRequest {
        kind: "order".to_owned(),
        payload: r#"{"item": "", "count": 12}"#.into(),
        strict: true,
        ..JudgeRequest::default()
    };
    let unrecorded = JudgeRequest { message: "{}".into(), record: true, ..judged.clone() };
    let refused = client.judge(unrecorded).await.expect_err("the rules keep no history");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let judgement = client.judge(judged).await.expect("a judgement").into_inner().judgement;
    let body = r#"{"payload": {"item": "", "count": 12}, "strict": true}"#;
    assert_eq!(service.post("/v1/judge/order", body).await.body, judgement);
    let unknown = client.judge(JudgeRequest { payload: "{}".into(), ..JudgeRequest::default() }).await;
    assert_eq!(unknown.expect_err("there is no such kind").code(), Code::NotFound);

    let text = r#"{"text": "call me at 10:30"}"#;
    let analyzed = AnalyzeRequest { message: text.into(), ..AnalyzeRequest::default() };
    let analysis = client.analyze(analyzed).await.expect("an analysis").into_inner().analysis;
    assert_eq!(service.post("/v1/analyze", &format!("{{\"message\": {text}}}")).await.body, analysis);

    let run = |step_limit, resume: Json| RunWorkflowRequest {
        name: "twice".to_owned(),
        input: "{\"a\": 1}".into(),
        resume: if resume.is_null() { Vec::new() } else { resume.to_string().into_bytes() }.into(),
        step_limit,
        ..RunWorkflowRequest::default()
    };
    let first = client.run_workflow(run(1, Json::Null)).await.expect("a report").into_inner().report;
    let first: Json = serde_json::from_slice(&first).expect("JSON");
    assert_eq!(first["complete"], false);
    let rest = client.run_workflow(run(0, first["saved"].clone())).await.expect("a report").into_inner();
    let rest: Json = serde_json::from_slice(&rest.report).expect("JSON");
    assert_eq!(rest["complete"], true, "{rest}");

    let results = client.run_tests(RunTestsRequest::default()).await.expect("results").into_inner().results;
    assert_eq!(service.post("/v1/test", "{}").await.body, results);
    let listed = client.list_rules(ListRulesRequest {}).await.expect("rules").into_inner().description;
    assert_eq!(service.get("/v1/rules").await.body, listed);
    let rules = client.get_rules(GetRulesRequest::default()).await.expect("rules").into_inner();
    let over_http = service.get("/v1/rules/support").await;
    assert_eq!((&over_http.body[..], over_http.header("etag")), (&rules.description[..], &*rules.tag));
    let known = GetRulesRequest { known_tag: rules.tag.clone(), ..GetRulesRequest::default() };
    let known = client.get_rules(known).await.expect("a tag").into_inner();
    assert_eq!((known.tag, known.description.len()), (rules.tag, 0));
    let observed = client.observe(ObserveRequest { message: "{}".into(), ..ObserveRequest::default() }).await;
    assert_eq!(observed.expect_err("there is no history").code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn health_follows_the_service() {
    // A health check needs no token.
    let service = start_with(RULES, super::admin::with_tokens).await;
    let (transport, address) = transport(&service);
    let mut client = HealthClient::with_origin(transport, address);
    let check = |service: &str| HealthCheckRequest { service: service.to_owned() };
    for name in ["", "rulec.v1.Rules", "envoy.service.auth.v3.Authorization"] {
        let health = client.check(check(name)).await.expect("a state").into_inner();
        assert_eq!(health.status(), ServingStatus::Serving, "{name}");
    }
    assert_eq!(client.check(check("x")).await.expect_err("not a service").code(), Code::NotFound);
    let mut watched = client.watch(check("")).await.expect("a stream").into_inner();
    let first = watched.message().await.expect("a state").expect("a state");
    assert_eq!(first.status(), ServingStatus::Serving);
    service.stop.send(ServerSignal::Drain).await.expect("it runs");
    let last = watched.message().await.expect("a state").expect("a state");
    assert_eq!(last.status(), ServingStatus::NotServing);
    assert!(watched.message().await.expect("an end").is_none());
    assert!(service.ended.await.expect("it ends"), "a watch delays no end");
}

#[tokio::test]
async fn the_services_describe_themselves() {
    let service = start(RULES).await;
    let (transport, address) = transport(&service);
    let mut client = ServerReflectionClient::with_origin(transport, address);
    let ask = |request| ServerReflectionRequest { host: String::new(), message_request: Some(request) };
    let requests = [
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol("rulec.v1.Rules".to_owned())),
        ask(MessageRequest::FileContainingSymbol("envoy.service.auth.v3.CheckRequest".to_owned())),
    ];
    let answers = client.server_reflection_info(tokio_stream::iter(requests)).await;
    let mut answers = answers.expect("a stream").into_inner();
    let services = answers.message().await.expect("an answer").expect("an answer").message_response;
    let Some(MessageResponse::ListServicesResponse(services)) = services else { panic!("{services:?}") };
    let names: Vec<_> = services.service.into_iter().map(|service| service.name).collect();
    for name in [
        "rulec.v1.Rules",
        "envoy.service.auth.v3.Authorization",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    while let Some(answer) = answers.message().await.expect("an answer") {
        let answer = answer.message_response;
        let Some(MessageResponse::FileDescriptorResponse(files)) = answer else { panic!("{answer:?}") };
        assert!(!files.file_descriptor_proto.is_empty());
    }
}

/// Many clients of reflection know the older version only.
#[tokio::test]
async fn the_older_reflection_lists_the_services() {
    use tonic_reflection::pb::v1alpha;
    let service = start(RULES).await;
    let (transport, address) = transport(&service);
    let mut client =
        v1alpha::server_reflection_client::ServerReflectionClient::with_origin(transport, address);
    let request = v1alpha::ServerReflectionRequest {
        message_request: Some(
            v1alpha::server_reflection_request::MessageRequest::ListServices(String::new()),
        ),
        ..Default::default()
    };
    let answers = client.server_reflection_info(tokio_stream::iter([request])).await;
    let answer = answers.expect("a stream").into_inner().message().await.expect("an answer");
    let text = format!("{answer:?}");
    assert!(text.contains("rulec.v1.Rules"), "{text}");
}

/// A stream of reflection has a permit, so it must end.
#[tokio::test]
async fn a_stream_of_reflection_ends_at_the_deadline() {
    let limit = Duration::from_millis(300);
    let service = start_with(RULES, |options, _| options.limits.request_time_limit = limit).await;
    let (transport, address) = transport(&service);
    let mut client = ServerReflectionClient::with_origin(transport, address);
    let answers = client.server_reflection_info(tokio_stream::pending()).await;
    let ended = answers.expect("a stream").into_inner().message().await;
    assert!(!matches!(ended, Ok(Some(_))), "{ended:?}");
}

#[tokio::test]
async fn a_decision_is_logged_with_its_trace() {
    let service = start_with(RULES, |options, folder| {
        options.log = Some(super::log::log_options(folder.join("log.jsonl"), LogMode::Sync));
    })
    .await;
    let mut decide = Request::new(message(r#"{"text": "refund", "phone": "555-0100"}"#));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    decide.metadata_mut().insert("traceparent", parent.parse().expect("ASCII"));
    client(&service).decide(decide).await.expect("a decision");
    let log = std::fs::read_to_string(service.folder.path().join("log.jsonl")).expect("a file");
    let lines = log.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Json> = lines.filter(|line: &Json| line["entry"].is_string()).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert_eq!((&lines[0]["route"], &lines[0]["trace_id"]), (&json!("refund"), &json!(trace)));
    assert!(!log.contains("555-0100"), "private values are masked");
}

/// Sends a request over a connection, such as a Unix socket, and returns the gRPC status.
async fn ask_over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> String {
    use http_body_util::BodyExt;
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.expect("a connection");
    tokio::spawn(connection);
    // In the Protobuf request, the message to decide is the field 3. Here, it is `{}`.
    let request = raw_request("http://localhost", "rulec.v1.Rules/Decide", b"\x1a\x02{}");
    let response = sender.send_request(request).await.expect("an answer");
    let body = response.into_body().collect().await.expect("a body");
    let status = body.trailers().and_then(|trailers| trailers.get("grpc-status")).expect("a status");
    status.to_str().expect("ASCII").to_owned()
}

#[tokio::test]
async fn a_unix_socket_and_tls_carry_it() {
    let service =
        start_with(RULES, |options, folder| options.address = Address::Unix(folder.join("socket"))).await;
    let path = service.folder.path().join("socket");
    assert_eq!(ask_over(tokio::net::UnixStream::connect(&path).await.expect("a connection")).await, "0");
    let mut certificate = None;
    let service = start_with(RULES, |options, folder| {
        certificate = Some(super::tls::write_certificate(folder));
        options.certificate_and_key_files = Some((folder.join("chain.pem"), folder.join("key.pem")));
    })
    .await;
    let stream = super::tls::connect(&service, &certificate.expect("it was made"), &[b"h2"]).await;
    assert_eq!(ask_over(stream.expect("it is trusted")).await, "0");
}
