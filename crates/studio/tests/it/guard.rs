//! Tests of access control: the server answers only the page whose URL the studio printed.

use crate::support::{DESK, Open};
use std::io::Write;
use std::net::TcpStream;

#[test]
fn a_wrong_token_host_or_origin_is_refused() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let (host, origin) = (format!("127.0.0.1:{}", open.port), format!("http://127.0.0.1:{}", open.port));
    let (named, elsewhere) =
        (format!("localhost:{}", open.port), format!("http://127.0.0.1:{}", open.port ^ 1));
    let token = open.token.clone();
    let almost = format!("{}0", &token[..token.len() - 1].replace(&token[..1], "f"));
    let check = |headers: &[(&str, &str)], expected: (u16, &str)| {
        let answer = open.send("GET", "/api/session", headers, "");
        assert_eq!(answer.status, expected.0, "{headers:?}: {answer:?}");
        if expected.0 != 200 {
            assert_eq!(answer.json()["kind"], expected.1, "{headers:?}");
        }
    };
    let good = ("x-rulec-token", token.as_str());
    check(&[("host", &host), good], (200, ""));
    check(&[("host", &named), good], (200, ""));
    check(&[("host", &host), ("origin", &origin), good], (200, ""));
    for wrong in ["", "0", &token[1..], &almost, "é"] {
        check(&[("host", &host), ("x-rulec-token", wrong)], (401, "token"));
    }
    check(&[("host", &host)], (401, "token"));
    check(&[("host", &host), good, good], (401, "token"));
    let port = format!("127.0.0.1:{}", open.port ^ 1);
    for wrong in ["evil.example", "127.0.0.1", &port, "127.0.0.1.evil.example:80", ""] {
        check(&[("host", wrong), good], (403, "host"));
    }
    check(&[good], (403, "host"));
    check(&[("host", &host), ("host", &host), good], (403, "host"));
    for wrong in ["null", "https://evil.example", &elsewhere, "http://127.0.0.1", "file://"] {
        check(&[("host", &host), ("origin", wrong), good], (403, "origin"));
    }
    check(&[("host", &host), ("sec-fetch-site", "cross-site"), good], (403, "origin"));
    check(&[("host", &host), ("sec-fetch-site", "same-site"), good], (403, "origin"));
}

#[test]
fn every_request_is_behind_the_gate() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let host = format!("127.0.0.1:{}", open.port);
    let paths = [
        ("GET", "/api/session"),
        ("GET", "/api/overview?rules=0"),
        ("POST", "/api/rules"),
        ("GET", "/api/messages?rules=0"),
        ("PUT", "/api/messages"),
        ("POST", "/api/decide"),
        ("POST", "/api/near"),
        ("POST", "/api/test"),
        ("POST", "/api/uploads?name=a"),
        ("POST", "/api/replays"),
        ("GET", "/api/replays/0"),
        ("DELETE", "/api/replays/0"),
        ("GET", "/api/replays/0/events"),
        ("POST", "/api/replays/0/rows"),
        ("GET", "/api/replays/0/rows/1"),
        ("GET", "/api/map?rules=0"),
        ("GET", "/api/table?rules=0&table=routes"),
        ("GET", "/api/file?rules=0&file=desk.rules"),
        ("POST", "/api/check"),
        ("POST", "/api/complete"),
        ("POST", "/api/hover"),
        ("POST", "/api/definition"),
        ("POST", "/api/format"),
        ("POST", "/api/save"),
        ("GET", "/api/codes/E0101"),
        ("POST", "/api/report"),
        ("POST", "/api/report.html"),
        ("GET", "/api/nothing"),
    ];
    for (method, path) in paths {
        let answer = open.send(method, path, &[("host", &host)], "{}");
        assert_eq!(answer.status, 401, "{method} {path}: {answer:?}");
    }
}

#[test]
fn a_browser_is_told_to_load_nothing_from_elsewhere() {
    let open = Open::new(&[("desk.rules", DESK)]);
    for path in ["/", "/api/session", "/nothing.js", "/report.html"] {
        let answer = open.ask("GET", path, None);
        let head = answer.head.to_ascii_lowercase();
        for line in [
            "content-security-policy: default-src 'none'; script-src 'self';",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(line), "{path} without {line}: {head}");
        }
        assert!(!head.contains("access-control-allow"), "{path}: {head}");
    }
    // The template of the report is not served as a page.
    assert_eq!(open.ask("GET", "/report.html", None).status, 404);
    assert_eq!(open.ask("GET", "/../Cargo.toml", None).status, 404);
}

#[test]
fn two_studios_have_two_tokens() {
    let (one, other) = (Open::new(&[("desk.rules", DESK)]), Open::new(&[("desk.rules", DESK)]));
    assert_eq!((one.token.len(), other.token.len()), (32, 32));
    assert_ne!(one.token, other.token);
}

#[test]
fn a_request_for_another_host_is_refused_even_with_the_right_header() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let host = format!("127.0.0.1:{}", open.port);
    let headers = [("host", host.as_str()), ("x-rulec-token", open.token.as_str())];
    let at_host = |target: &str| open.send("GET", &format!("http://{target}/api/session"), &headers, "");
    assert_eq!(at_host("evil.example").status, 403);
    assert_eq!(at_host("user@evil.example").status, 403);
    assert_eq!(at_host(&host).status, 200);
}

/// Former bug: incomplete requests stayed open for ever, and each used one file descriptor.
#[test]
fn connections_that_send_nothing_do_not_keep_the_page_out() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let half_requests: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", open.port)).expect("the studio listens");
            stream.write_all(b"GET /api/session HTTP/1.1\r\nhost: x\r\n").expect("it can be sent");
            stream
        })
        .collect();
    open.get("/api/session");
    drop(half_requests);
}
