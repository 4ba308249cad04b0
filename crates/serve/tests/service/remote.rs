//! Tests of rules at an HTTP address, whose server misbehaves in many ways.

use super::{Running, start_with};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use rulec::{Compiler, SigningKey};
use rulec_http::Secret;
use rulec_import::{DocumentOptions, System};
use rulec_serve::{Options, RemoteSource, RuleSource, RulesLocation, Server};
use serde_json::Value as Json;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const KEY: &str = include_str!("../../../../tests/keys/only-for-tests.pem");

/// The answer of the server of the rules.
#[derive(Clone)]
enum Reply {
    /// Rules with a tag; the status 304 to a request with this tag.
    Rules(Vec<u8>, &'static str),
    /// Rules without a tag.
    Untagged(&'static str),
    Status(StatusCode),
    /// The status 302 with this address.
    Redirect(String),
    /// The head of a response, and no byte of its body.
    Slow,
    /// A part of a body, after which the connection breaks.
    Short,
}

/// A server of rules on a loopback port.
#[derive(Clone)]
struct Origin {
    reply: Arc<Mutex<Reply>>,
    asked: Arc<Mutex<Vec<HeaderMap>>>,
    url: String,
}

impl Origin {
    async fn start(reply: Reply) -> Origin {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/shop.rules", listener.local_addr().expect("an address"));
        let origin = Origin { reply: Arc::new(Mutex::new(reply)), asked: Arc::default(), url };
        let router = Router::new().fallback(answer).with_state(origin.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        origin
    }

    fn set(&self, reply: Reply) {
        *self.reply.lock().expect("no test panics here") = reply;
    }

    fn count(&self) -> usize {
        self.asked.lock().expect("no test panics here").len()
    }

    /// Waits for two more requests. When the second one arrives, the first one was answered.
    async fn wait_for_two(&self) {
        let count = self.count();
        while self.count() < count + 2 {
            tokio::task::yield_now().await;
        }
    }
}

async fn answer(State(origin): State<Origin>, request: Request) -> Response {
    let headers = request.headers().clone();
    let known = headers.get(header::IF_NONE_MATCH).cloned();
    origin.asked.lock().expect("no test panics here").push(headers);
    let reply = origin.reply.lock().expect("no test panics here").clone();
    let builder = Response::builder();
    let response = match reply {
        Reply::Rules(_, tag) if known.is_some_and(|known| known == tag) => {
            builder.status(StatusCode::NOT_MODIFIED).body(Body::empty())
        }
        Reply::Rules(bytes, tag) => builder.header(header::ETAG, tag).body(Body::from(bytes)),
        Reply::Untagged(text) => builder.body(Body::from(text)),
        Reply::Status(status) => builder.status(status).body(Body::from("no")),
        Reply::Redirect(to) => {
            builder.status(StatusCode::FOUND).header(header::LOCATION, to).body(Body::empty())
        }
        Reply::Slow => builder
            .body(Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>())),
        Reply::Short => {
            let part = futures_util::stream::iter([
                Ok(b"default -> ".to_vec()),
                Err(std::io::Error::other("the connection breaks")),
            ]);
            builder.body(Body::from_stream(part))
        }
    };
    response.expect("a response")
}

fn text(rules: &str, tag: &'static str) -> Reply {
    Reply::Rules(rules.as_bytes().to_vec(), tag)
}

fn remote(origin: &Origin) -> RemoteSource {
    let interval = Duration::from_millis(5);
    RemoteSource {
        request_interval: interval,
        request_time_limit: Duration::from_millis(500),
        max_bytes: 100_000,
        ..RemoteSource::new(&*origin.url)
    }
}

fn use_remote(options: &mut Options, remote: RemoteSource) {
    let (rule_set_name, document) = ("shop".to_owned(), DocumentOptions::default());
    options.rules = vec![RuleSource { rule_set_name, location: RulesLocation::Address(remote), document }];
}

async fn start(origin: &Origin, change: impl FnOnce(&mut Options, &Path)) -> Running {
    start_with("", |options, folder| {
        use_remote(options, remote(origin));
        change(options, folder);
    })
    .await
}

/// Returns the error of a service that cannot start.
async fn start_error(remote: RemoteSource) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut options = super::options("".into(), Arc::new(|_| {}));
    use_remote(&mut options, remote);
    Server::bind(options).await.err().expect("it cannot start").to_string()
}

async fn target(service: &Running) -> String {
    let decided = service.post("/v1/decide", r#"{"message": {}}"#).await.json();
    decided["target"].as_str().unwrap_or_default().to_owned()
}

fn error_of(overview: &Json) -> &str {
    overview["rules"][0]["source"]["error"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_new_version_comes_into_force() {
    let origin = Origin::start(text("default -> one", "\"1\"")).await;
    let service = start(&origin, |_, _| {}).await;
    assert_eq!(target(&service).await, "one");
    origin.wait_for_two().await;
    let asked = origin.asked.lock().expect("no test panics here").clone();
    assert!(!asked[0].contains_key(header::IF_NONE_MATCH));
    assert!(asked[1..].iter().all(|headers| headers[header::IF_NONE_MATCH] == "\"1\""));
    origin.set(text("default -> two", "\"2\""));
    let overview = service.wait_for("/v1/rules", |rules| rules["rules"][0]["source"]["loaded"] == 2).await;
    assert_eq!((target(&service).await.as_str(), error_of(&overview)), ("two", ""));
    let metrics = service.get("/metrics").await.text();
    for result in ["changed", "unchanged"] {
        assert!(metrics.contains(&format!("rulec_fetches_total{{rules=\"shop\",result=\"{result}\"}}")));
    }
}

/// A server without tags sends the same rules again and again. They are one version.
#[tokio::test]
async fn rules_without_a_tag_are_compared() {
    let origin = Origin::start(Reply::Untagged("default -> one")).await;
    let service = start(&origin, |_, _| {}).await;
    origin.wait_for_two().await;
    origin.wait_for_two().await;
    let overview = service.get("/v1/rules").await.json();
    assert_eq!(overview["rules"][0]["source"]["loaded"], 1);
    origin.set(Reply::Untagged("default -> two"));
    service.wait_for("/v1/rules", |rules| rules["rules"][0]["source"]["loaded"] == 2).await;
    assert_eq!(target(&service).await, "two");
}

#[tokio::test]
async fn a_server_that_fails_changes_nothing() {
    let origin = Origin::start(text("default -> one", "\"1\"")).await;
    let elsewhere = Origin::start(text("default -> evil", "\"1\"")).await;
    let service = start(&origin, |_, _| {}).await;
    let long = format!("default -> one # {}", "x".repeat(200_000));
    for (reply, words) in [
        (Reply::Status(StatusCode::INTERNAL_SERVER_ERROR), "500"),
        (Reply::Status(StatusCode::NOT_FOUND), "404"),
        (Reply::Redirect(elsewhere.url.clone()), "302"),
        (Reply::Slow, "no complete answer"),
        (Reply::Short, "the connection failed"),
        (Reply::Rules(long.into_bytes(), "\"3\""), "100000"),
    ] {
        origin.set(reply);
        let failed = |rules: &Json| error_of(rules).contains(words);
        let overview = service.wait_for("/v1/rules", failed).await;
        assert_eq!(overview["rules"][0]["source"]["refused"], 0, "nothing was refused");
        assert_eq!(target(&service).await, "one");
        // The server sends the same rules again, so the status holds no error any more.
        origin.set(text("default -> one", "\"1\""));
        let reload =
            || async { service.stop.send(rulec_serve::ServerSignal::Reload).await.expect("it runs") };
        while !error_of(&service.get("/v1/rules").await.json()).is_empty() {
            reload().await;
        }
    }
    assert_eq!(elsewhere.count(), 0, "no redirect is followed");
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("rulec_fetches_total{rules=\"shop\",result=\"failed\"}"), "{metrics}");
    let events = service.events.lock().expect("no test panics here").clone();
    assert!(events.iter().any(|event| event["event"] == "fetch_failed" && event["rules"] == "shop"));
}

#[tokio::test]
async fn broken_rules_are_refused() {
    let origin = Origin::start(text("default -> one", "\"1\"")).await;
    let service = start(&origin, |_, _| {}).await;
    for (count, reply, words) in [
        (1, text("route x when -> y", "\"2\""), "shop.rules"),
        (2, text("import \"other.rules\"\ndefault -> y", "\"3\""), "other.rules"),
        (3, text("  \n", "\"4\""), "holds no statement"),
        (4, Reply::Rules(vec![0xff, 0xfe], "\"5\""), "shop.rules"),
    ] {
        origin.set(reply);
        let overview =
            service.wait_for("/v1/rules", |rules| rules["rules"][0]["source"]["refused"] == count).await;
        assert!(error_of(&overview).contains(words), "{overview}");
        // The status stays while the server says that nothing has changed.
        origin.wait_for_two().await;
        let overview = service.get("/v1/rules").await.json();
        assert!(error_of(&overview).contains(words), "{overview}");
        assert_eq!(overview["rules"][0]["source"]["refused"], count);
        assert_eq!(target(&service).await, "one");
    }
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("rulec_refused_versions_total{rules=\"shop\"} 4"), "{metrics}");
    origin.set(text("default -> two", "\"6\""));
    service.wait_for("/v1/rules", |rules| error_of(rules).is_empty()).await;
    assert_eq!(target(&service).await, "two");
}

fn artifact(rules: &str, key: Option<&SigningKey>) -> Vec<u8> {
    let rules = Compiler::new().compile_text(rules).expect("rules");
    match key {
        Some(key) => rules.to_signed_artifact(true, key),
        None => rules.to_artifact(true),
    }
}

#[tokio::test]
async fn only_trusted_signatures_are_loaded() {
    let key = SigningKey::from_pem(KEY).expect("a key");
    let origin = Origin::start(Reply::Rules(artifact("default -> one", Some(&key)), "\"1\"")).await;
    let service = start(&origin, |options, _| options.trusted_keys = vec![key.verifying_key()]).await;
    assert_eq!(target(&service).await, "one");
    let mut broken = artifact("default -> evil", Some(&key));
    let middle = broken.len() / 2;
    broken[middle] ^= 1;
    for (count, reply) in [
        (1, Reply::Rules(broken, "\"2\"")),
        (2, Reply::Rules(artifact("default -> evil", None), "\"3\"")),
        (3, text("default -> evil", "\"4\"")),
    ] {
        origin.set(reply);
        let overview =
            service.wait_for("/v1/rules", |rules| rules["rules"][0]["source"]["refused"] == count).await;
        assert!(!error_of(&overview).is_empty());
        assert_eq!(target(&service).await, "one");
    }
    origin.set(Reply::Rules(artifact("default -> two", Some(&key)), "\"5\""));
    service.wait_for("/v1/rules", |rules| rules["rules"][0]["source"]["loaded"] == 2).await;
    assert_eq!(target(&service).await, "two");
}

#[tokio::test]
async fn a_token_is_sent_and_never_shown() {
    let origin = Origin::start(text("default -> one", "\"1\"")).await;
    let service = start(&origin, |options, _| {
        let token = Some(Secret::new("the-secret-of-the-server"));
        use_remote(options, RemoteSource { token, ..remote(&origin) });
    })
    .await;
    let asked = origin.asked.lock().expect("no test panics here")[0].clone();
    assert_eq!(asked[header::AUTHORIZATION], "Bearer the-secret-of-the-server");
    origin.set(Reply::Status(StatusCode::UNAUTHORIZED));
    let overview = service.wait_for("/v1/rules", |rules| error_of(rules).contains("401")).await;
    assert!(!overview.to_string().contains("the-secret"), "{overview}");
}

#[tokio::test]
async fn a_service_does_not_start_without_its_rules() {
    let origin = Origin::start(Reply::Status(StatusCode::INTERNAL_SERVER_ERROR)).await;
    let error = start_error(remote(&origin)).await;
    assert!(error.contains("cannot be fetched") && error.contains("500"), "{error}");
    origin.set(text("route x when -> y", "\"1\""));
    let error = start_error(remote(&origin)).await;
    assert!(error.contains("shop.rules"), "{error}");
    let error = start_error(RemoteSource::new("http://rules.example/shop.rules")).await;
    assert!(error.contains("use `https`"), "{error}");
}

/// A reload asks at once, whatever the interval is.
#[tokio::test]
async fn a_reload_asks_at_once() {
    let origin = Origin::start(text("default -> one", "\"1\"")).await;
    let service = start(&origin, |options, _| {
        use_remote(options, RemoteSource { request_interval: Duration::from_secs(3600), ..remote(&origin) });
    })
    .await;
    origin.set(text("default -> two", "\"2\""));
    service.stop.send(rulec_serve::ServerSignal::Reload).await.expect("it runs");
    service.wait_for("/v1/rules", |rules| rules["rules"][0]["source"]["loaded"] == 2).await;
    assert_eq!(target(&service).await, "two");
}

/// A document at an address whose path has no extension needs the name of its system. Its bad item
/// is skipped, and a broken document changes nothing.
#[tokio::test]
async fn a_document_is_fetched() {
    let flows = |pattern: &str| {
        format!(
            r#"[{{"flow_id": "odd", "type": "keyword", "trigger_patterns": ["(?!x)"], "match_type": "regex"}},
                {{"flow_id": "greeting", "type": "keyword", "trigger_patterns": ["{pattern}"]}}]"#
        )
    };
    let origin = Origin::start(text(&flows("hi"), "\"1\"")).await;
    let service = start(&origin, |options, _| {
        options.rules[0].document.system = Some(System::Flows);
    })
    .await;
    let flow = async |text: &str| {
        let body = serde_json::json!({"message": {"text": text}}).to_string();
        service.post("/v1/decide", &body).await.json()["flow"].clone()
    };
    assert_eq!(flow("hi").await, "greeting");
    let overview = service.get("/v1/rules").await.json();
    assert_eq!(overview["rules"][0]["document"]["skipped"][0]["name"], "odd");
    origin.set(text("[{", "\"2\""));
    let refused = |rules: &Json| rules["rules"][0]["source"]["refused"] == 1;
    let overview = service.wait_for("/v1/rules", refused).await;
    assert!(error_of(&overview).contains("line 1"), "{overview}");
    assert_eq!(flow("hi").await, "greeting");
    origin.set(text(&flows("hello"), "\"3\""));
    service.wait_for("/v1/rules", |rules| rules["rules"][0]["source"]["loaded"] == 2).await;
    assert_eq!((flow("hi").await, flow("hello").await), (Json::Null, "greeting".into()));
}
