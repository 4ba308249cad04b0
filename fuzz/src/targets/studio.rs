//! Fuzzes the HTTP API of the studio with requests that have the studio's token. Each request gets
//! a response without a server error (status 5xx).

use crate::studio::{DESK, Open};
use serde_json::Value as Json;
use std::sync::OnceLock;

const PATHS: &[&str] = &[
    "rules", "decide", "explain", "check", "complete", "hover", "format", "tests", "map", "table", "replays",
    "save", "files", "diff", "cases",
];

/// Runs the target on one input.
pub fn run(input: (u8, &str, &str)) {
    static STUDIO: OnceLock<Open> = OnceLock::new();
    let studio = STUDIO.get_or_init(|| Open::new(&[("desk.rules", DESK)]));
    let (path, rest, body) = input;
    let path = match PATHS.get(usize::from(path)) {
        Some(path) => format!("/api/{path}"),
        None => format!("/{}", rest.replace(|c: char| c.is_control() || c == ' ', "")),
    };
    let body = serde_json::from_str(body).unwrap_or_else(|_| Json::from(body));
    let answer = studio.ask("POST", &path, Some(&body));
    assert!((200..500).contains(&answer.status), "{path} {body}: {answer:?}");
}
