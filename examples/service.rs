//! A small service: a registry of handlers, one rule set shared by several threads, and messages of
//! a type of the program's own.
//!
//! `cargo run --example service`

use rulec::{Decision, Rules};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// The message, which the rules read as `text` and `ctx`; any type that serializes to an object will do.
#[derive(Serialize)]
struct Message {
    text: &'static str,
    ctx: Context,
}

#[derive(Serialize)]
struct Context {
    message_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<User>,
}

#[derive(Serialize)]
struct User {
    role: &'static str,
    permissions: Vec<&'static str>,
}

type Handler = fn(&Message, &Decision) -> String;

fn handlers() -> HashMap<&'static str, Handler> {
    let mut handlers: HashMap<&'static str, Handler> = HashMap::new();
    handlers.insert("file_handler", |_, decision| {
        format!("listing files, {}", serde_json::Value::from(decision.args().clone()))
    });
    handlers.insert("code_handler", |message, _| format!("running what {:?} asks for", message.text));
    handlers.insert("refund_handler", |_, decision| {
        format!("refunding, by way of {}", decision.path().join(" → "))
    });
    handlers.insert("smalltalk_handler", |_, _| "hello to you".to_owned());
    for name in [
        "beta_handler",
        "billing_handler",
        "error_recovery_handler",
        "invoice_handler",
        "on_call_handler",
        "upload_handler",
    ] {
        handlers.insert(name, |message, _| format!("passing {:?} on", message.text));
    }
    handlers.insert("default_handler", |message, _| format!("chatting about {:?}", message.text));
    handlers
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/helpdesk.rules");
    let rules = Rules::from_path(path)?;
    // A target without a handler is found at start-up, not when the first message goes there.
    for target in rules.targets() {
        assert!(handlers().contains_key(target), "the rules lead to {target}, which has no handler");
    }
    let (replies, inbox) = mpsc::channel();

    thread::scope(|scope| {
        let admin = || User { role: "admin", permissions: vec!["execute"] };
        for (worker, (text, user)) in [
            ("please show my files", None),
            ("run the script", Some(admin())),
            ("refund invoice 17", None),
            ("hello", None),
        ]
        .into_iter()
        .enumerate()
        {
            // A session shares the compiled rules and has working memory of its own; deciding needs no lock.
            let (mut session, replies) = (rules.session(), replies.clone());
            scope.spawn(move || {
                let message = Message { text, ctx: Context { message_count: 4, user } };
                let reply = match session.decide_value(&message) {
                    Ok(decision) => {
                        match decision.target().and_then(|target| handlers().get(target).copied()) {
                            Some(handler) => handler(&message, &decision),
                            None => format!("no handler for {:?}", decision.target()),
                        }
                    }
                    Err(error) => format!("the message is no JSON object: {error}"),
                };
                // The receiver outlives every worker.
                let _ = replies.send((worker, reply));
            });
        }
    });
    drop(replies);

    let mut answers: Vec<(usize, String)> = inbox.into_iter().collect();
    answers.sort();
    for (worker, reply) in answers {
        println!("worker {worker}: {reply}");
    }
    Ok(())
}
