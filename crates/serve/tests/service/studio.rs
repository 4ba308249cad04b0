//! Tests of the studio's page at a service: who sees it, how a browser logs in, and that it shows
//! the rules in force.

use super::admin::with_tokens;
use super::{Response, Running, start_with};
use reqwest::redirect::Policy;
use serde_json::{Value as Json, json};

const RULES: &str = "route a when text == \"a\" -> one\ndefault -> chat\n";

struct Browser {
    service: Running,
    client: reqwest::Client,
}

async fn start() -> Browser {
    let service = start_with(RULES, |options, folder| {
        with_tokens(options, folder);
        options.serves_studio = true;
    })
    .await;
    let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
    Browser { service, client }
}

impl Browser {
    fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("a method");
        self.client.request(method, format!("{}{path}", self.service.url))
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Response {
        self.service.send(request).await
    }

    async fn log_in(&self, token: &str) -> Response {
        let form = format!("token={token}");
        let request = self.request("POST", "/studio/login").header("origin", &self.service.url);
        let request = request.header("sec-fetch-site", "same-origin");
        self.send(request.header("content-type", "application/x-www-form-urlencoded").body(form)).await
    }

    /// Logs in, and returns the cookie as the browser sends it.
    async fn cookie(&self) -> String {
        let response = self.log_in("secret").await;
        assert_eq!((response.status, response.header("location")), (303, "/studio/"));
        let set = response.header("set-cookie");
        for part in ["Path=/studio", "HttpOnly", "SameSite=Strict"] {
            assert!(set.contains(part), "{set}");
        }
        assert!(!set.contains("secret"), "the cookie is not the token");
        set.split(';').next().expect("a cookie").to_owned()
    }

    async fn get(&self, path: &str, cookie: &str) -> Response {
        self.send(self.request("GET", path).header("cookie", cookie)).await
    }
}

#[tokio::test]
async fn a_browser_logs_in_and_sees_the_rules_in_force() {
    let browser = start().await;
    let unknown = browser.send(browser.request("GET", "/studio/")).await;
    assert_eq!(unknown.status, 401);
    assert!(unknown.text().contains("action=\"/studio/login\""), "{}", unknown.text());
    let wrong = browser.log_in("wrong").await;
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, ""));
    let cookie = browser.cookie().await;
    let bare = browser.get("/studio", &cookie).await;
    assert_eq!((bare.status, bare.header("location")), (303, "/studio/"));
    let page = browser.get("/studio/", &cookie).await;
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    let session = browser.get("/studio/api/session", &cookie).await.json();
    assert_eq!((&session["live"], &session["rules"][0]["name"]), (&json!(true), &json!("support")));
    assert_eq!(session["rules"][0]["compiles"], true);
    let decide = || async {
        let body = json!({ "version": { "rules": 0, "draft": false }, "entry": "routes", "message": "{\"text\": \"b\"}" });
        let request = browser.request("POST", "/studio/api/decide").header("cookie", &cookie);
        let request =
            request.header("origin", &browser.service.url).header("content-type", "application/json");
        let decided = browser.send(request.body(body.to_string())).await;
        assert_eq!(decided.status, 200, "{}", decided.text());
        decided.text()
    };
    assert!(decide().await.contains("chat"));
    let edits = json!({ "edits": [{ "insert": "route b when text == \"b\" -> two" }] });
    assert_eq!(browser.service.change("POST", "/edits", None, &edits).await.status, 200);
    assert!(decide().await.contains("two"), "the edited rules are in force");
    let traffic = browser.get("/studio/api/traffic", &cookie).await.json();
    assert_eq!(traffic["rules"][0]["name"], "support");
    let out = browser.request("POST", "/studio/logout").header("cookie", &cookie);
    assert!(browser.send(out).await.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(browser.get("/studio/api/session", &cookie).await.status, 401);
}

#[tokio::test]
async fn other_pages_and_other_tokens_are_refused() {
    let browser = start().await;
    let cookie = browser.cookie().await;
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "null"),
    ] {
        for path in ["/studio/api/session", "/studio/api/traffic"] {
            let request = browser.request("GET", path).header("cookie", &cookie).header(name, value);
            assert_eq!(browser.send(request).await.status, 403, "{path} {name}: {value}");
        }
        let login = browser.request("POST", "/studio/login").header(name, value).body("token=secret");
        assert_eq!(browser.send(login).await.status, 403, "{name}: {value}");
    }
    assert_eq!(browser.get("/studio/api/session", "rulec-login=0").await.status, 401);
    let bearer = browser.request("GET", "/studio/api/session").bearer_auth("secret");
    assert_eq!(browser.send(bearer).await.status, 200);
    // The login ends when its token is removed.
    std::fs::write(browser.service.folder.path().join("tokens"), "").expect("it can be written");
    let reload = browser.request("POST", "/v1/reload").bearer_auth("secret");
    assert_eq!(browser.send(reload).await.status, 202);
    while browser.get("/studio/api/session", &cookie).await.status != 401 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_studio_of_a_service_writes_and_takes_no_files() {
    let browser = start().await;
    let cookie = browser.cookie().await;
    let post = |path: &str, method: &str, body: Json| {
        let request = browser.request(method, path).header("cookie", &cookie);
        let request = request.header("content-type", "application/json").body(body.to_string());
        browser.send(request)
    };
    let file = browser.get("/studio/api/file?rules=0&file=support.rules", &cookie).await.json();
    assert_eq!((&file["saved"], &file["writable"]), (&json!(RULES), &json!(false)));
    let save =
        json!({ "rules": 0, "file": "support.rules", "text": "default -> x\n", "stamp": file["stamp"] });
    let saved = post("/studio/api/save", "POST", save).await;
    assert_eq!(saved.status, 422, "{}", saved.text());
    assert!(saved.text().contains("/v1/rules/support/edits"), "{}", saved.text());
    let uploaded = post("/studio/api/uploads?name=a", "POST", json!({})).await;
    assert_eq!(uploaded.status, 422, "{}", uploaded.text());
    let rules = post("/studio/api/rules", "POST", json!({ "name": "b.rules", "text": "default -> b" })).await;
    assert_eq!(rules.status, 422, "{}", rules.text());
}

#[tokio::test]
async fn a_studio_without_tokens_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = super::options(super::write_rules(folder.path(), RULES), std::sync::Arc::new(|_| {}));
    options.serves_studio = true;
    let error = rulec_serve::Server::bind(options).await.err().expect("it is refused");
    assert!(error.to_string().contains("--tokens"), "{error}");
    let plain = super::start(RULES).await;
    assert_eq!(plain.get("/studio/").await.status, 404);
}
