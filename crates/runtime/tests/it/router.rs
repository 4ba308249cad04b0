//! Tests of the router: every ending of a handler, errors at build time, and swaps under load.

use rulec::{Compiler, Rules};
use rulec_runtime::route::{HandlerError, HandlerOutcome, Outcome, Problem, Request, Router, Warning};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// A duration that is longer than any run of these tests. With a paused clock, waiting for it takes
/// no real time.
const LONG_TIME: Duration = Duration::from_secs(3600);

fn compile_rules(text: &str) -> Rules {
    Rules::from_text(text).unwrap()
}

/// Returns rules with one route for each name. A message takes the route whose name is its text.
fn routes_by_name(names: &[&str]) -> Rules {
    compile_rules(
        &names
            .iter()
            .map(|name| format!("route {name} when text == \"{name}\" -> {name}\n"))
            .collect::<String>(),
    )
}

async fn echo_request(request: Request) -> Json {
    json!({
        "text": request.text(), "ctx": request.context(), "args": *request.args,
        "metadata": *request.metadata, "route": request.route, "handler": request.handler,
    })
}

#[derive(Debug, thiserror::Error)]
#[error("cannot list")]
struct CannotList(#[source] std::io::Error);

#[tokio::test]
async fn a_handler_gets_the_message_and_what_the_route_says() {
    let router = Router::builder(compile_rules(
        r#"
        input { text: string, ctx: { n: int, kind?: string } }
        route to_files when text contains "file" -> goto files
        default -> echo(n: 0)
        table files {
          route listing when ctx.n > 3 -> echo(n: ctx.n, kind: ctx.kind) { type: "file_operation" }
        }
        "#,
    ))
    .handler("echo", echo_request)
    .build()
    .unwrap();
    assert_eq!(router.warnings(), []);

    let message = json!({"text": "a file", "ctx": {"n": 7}});
    let outcome = router.route(message.clone()).await;
    assert_eq!(
        outcome.reply(),
        Some(&json!({
            "text": "a file", "ctx": {"n": 7}, "args": {"n": 7, "kind": null},
            "metadata": {"type": "file_operation"}, "route": "listing", "handler": "echo",
        }))
    );
    assert_eq!((outcome.entry.as_str(), outcome.route.as_deref()), ("routes", Some("listing")));
    assert_eq!(outcome.path, ["routes", "files"]);
    assert_eq!(outcome.missing_args, ["kind"]);
    assert_eq!(outcome.generation, router.rules().generation());
    assert!(outcome.breaches.is_empty());

    // A message that violates the input contract is still routed, and the violation is reported.
    // The caller can keep a reference to the message.
    let broken = Arc::new(json!({"text": "hello", "ctx": {"n": "7"}}));
    let outcome = router.route(broken.clone()).await;
    assert_eq!(outcome.route.as_deref(), Some("default"));
    assert_eq!(outcome.breaches[0].path, "ctx.n");
    assert_eq!(broken["text"], "hello");
}

/// Builds a router with one handler per kind of ending, each named after its route. `stopped` is
/// set when the endless handler is dropped.
fn router_with_every_ending(stopped: Arc<AtomicBool>) -> Router {
    Router::builder(routes_by_name(&[
        "fine",
        "says_no",
        "typed",
        "panics",
        "panics_at_once",
        "slow",
        "endless",
        "patient",
    ]))
    .time_limit(Duration::from_secs(5))
    .handler_time_limit("patient", LONG_TIME)
    .handler("fine", |_| async { Ok::<_, HandlerError>(json!(1)) })
    .handler("says_no", |_| async { Err::<Json, _>("not today") })
    .handler("typed", |_| async {
        let cause = std::io::Error::new(std::io::ErrorKind::NotFound, "no such folder");
        Err::<Json, _>(CannotList(cause))
    })
    .handler("panics", |request: Request| async move {
        assert!(request.text().is_empty(), "not prepared for {:?}", request.text());
        json!(null)
    })
    .handler("panics_at_once", |request: Request| {
        assert!(request.text().is_empty(), "before the first await");
        async { json!(null) }
    })
    .handler("slow", |_| async {
        tokio::time::sleep(Duration::from_secs(6)).await;
        json!("too late")
    })
    .handler("endless", move |_| {
        struct SetOnDrop(Arc<AtomicBool>);
        impl Drop for SetOnDrop {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let guard = SetOnDrop(stopped.clone());
        async move {
            let _guard = guard;
            std::future::pending::<Json>().await
        }
    })
    .handler("patient", |_| async {
        tokio::time::sleep(Duration::from_secs(6)).await;
        json!("in time")
    })
    .build()
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn whatever_becomes_of_a_handler_the_outcome_names_the_route() {
    let stopped = Arc::new(AtomicBool::new(false));
    let router = router_with_every_ending(stopped.clone());

    let after = Duration::from_secs(5);
    let route = |name: &str| name.to_owned();
    let failed = |name, error: &str| HandlerOutcome::Failed { route: route(name), error: error.to_owned() };
    let panicked =
        |name, message: &str| HandlerOutcome::Panicked { route: route(name), message: message.to_owned() };
    let cases = [
        ("fine", HandlerOutcome::Handled(json!(1)), "1"),
        ("says_no", failed("says_no", "not today"), "the handler of `says_no` failed: not today"),
        (
            "typed",
            failed("typed", "cannot list: no such folder"),
            "the handler of `typed` failed: cannot list: no such folder",
        ),
        (
            "panics",
            panicked("panics", "not prepared for \"panics\""),
            "the handler of `panics` panicked: not prepared for \"panics\"",
        ),
        (
            "panics_at_once",
            panicked("panics_at_once", "before the first await"),
            "the handler of `panics_at_once` panicked: before the first await",
        ),
        (
            "slow",
            HandlerOutcome::TimedOut { route: route("slow"), after },
            "the handler of `slow` was stopped after 5s",
        ),
        (
            "endless",
            HandlerOutcome::TimedOut { route: route("endless"), after },
            "the handler of `endless` was stopped after 5s",
        ),
        ("patient", HandlerOutcome::Handled(json!("in time")), "\"in time\""),
        ("nothing like it", HandlerOutcome::NoRoute, "no route holds and there is no default"),
    ];
    for (text, expected, said) in cases {
        let outcome = router.route(json!({ "text": text })).await;
        assert_eq!(outcome.result, expected, "{text}");
        assert_eq!(outcome.result.to_string(), said);
        let named = (text != "nothing like it").then_some(text);
        assert_eq!((outcome.route.as_deref(), outcome.handler.as_deref()), (named, named));
    }
    // The aborted task still has to be scheduled to be dropped.
    while !stopped.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_is_left_behind() {
    let release = Arc::new(AtomicBool::new(false));
    let blocked = release.clone();
    let router = Router::builder(routes_by_name(&["block"]))
        .handler("block", move |_| {
            let blocked = blocked.clone();
            async move {
                while !blocked.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                json!(null)
            }
        })
        .time_limit(Duration::from_millis(50))
        .build()
        .unwrap();
    // Runs on a separate worker thread, so that the runtime has a thread for its timer.
    let outcome = tokio::spawn(async move { router.route(json!({"text": "block"})).await }).await.unwrap();
    release.store(true, Ordering::SeqCst);
    assert!(matches!(outcome.result, HandlerOutcome::TimedOut { .. }), "{:?}", outcome.result);
}

#[test]
fn outside_a_runtime_the_message_is_not_lost() {
    let router = Router::builder(routes_by_name(&["a"])).handler("a", echo_request).build().unwrap();
    let mut future = std::pin::pin!(router.route(json!({"text": "a"})));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(outcome) => {
            assert_eq!(outcome.result.error(), Some("there is no tokio runtime to run it"));
        }
        std::task::Poll::Pending => panic!("it waits for a runtime that there is not"),
    }
}

#[test]
fn building_tells_everything_that_is_wrong() {
    let check = |builder: rulec_runtime::route::RouterBuilder, expected: &str| {
        assert_eq!(builder.build().unwrap_err().to_string(), expected);
    };
    let handlers = compile_rules(
        "route a when true -> file_handler
         route b when true -> goto inner
         default -> chat
         table inner { default -> refund_handler }
         table aside { default -> never_asked }",
    );
    check(
        Router::builder(handlers.clone()).handler("file_handlr", echo_request),
        "the rules lead to `chat`, which has no handler; register one of this name\n\
         the rules lead to `file_handler`, which has no handler; did you mean `file_handlr`, which is registered?\n\
         the rules lead to `refund_handler`, which has no handler; register one of this name",
    );
    check(
        Router::builder(handlers.clone()).entry("innr").handler("x", echo_request),
        "there is no entry `innr`; did you mean `inner`?",
    );
    check(
        Router::builder(routes_by_name(&["a"]))
            .handler("a", echo_request)
            .handler("a", echo_request)
            .handler_time_limit("b", LONG_TIME),
        "the handler `a` is registered twice; remove one, or give it a name of its own\n\
         a policy or time limit is set for `b`, which has no handler; register one of this name",
    );

    // Only targets reachable from the entry table need a handler; an unused handler is a warning.
    let router = Router::builder(handlers)
        .entry("inner")
        .handler("refund_handler", echo_request)
        .handler("unused", echo_request)
        .build()
        .unwrap();
    assert_eq!(router.warnings(), [Warning::UnusedHandler { handler: "unused".to_owned() }]);
    assert_eq!(router.warnings()[0].to_string(), "no route leads to the handler `unused`");

    // Two warnings: a policy for a target that no route has, and rules that read a history.
    let text = "input { now: datetime }\nhistory keep 1h\ndefault -> refund";
    let router = Router::builder(compile_rules(text))
        .otherwise(echo_request)
        .handler_time_limit("refnd", LONG_TIME)
        .handler_time_limit("refund", LONG_TIME)
        .build()
        .unwrap();
    let near = Some("refund".to_owned());
    let policy = Warning::UnusedPolicy { handler: "refnd".to_owned(), near };
    assert_eq!(router.warnings(), [policy, Warning::NoHistory]);
    assert_eq!(
        router.warnings()[0].to_string(),
        "a policy or time limit is set for `refnd`, to which no route leads; did you mean `refund`?"
    );

    let empty = Router::builder(compile_rules("table t { default -> x }")).build().unwrap();
    assert_eq!(empty.warnings(), [Warning::EmptyEntry { table: "routes".to_owned() }]);
}

#[tokio::test]
async fn an_entry_can_be_chosen() {
    let rules = compile_rules("default -> outer\ntable inner { default -> echo }");
    let router = Router::builder(rules).entry("inner").handler("echo", echo_request).build().unwrap();
    let outcome = router.route(json!({})).await;
    assert_eq!((outcome.entry.as_str(), outcome.handler.as_deref()), ("inner", Some("echo")));
}

#[tokio::test]
async fn a_swap_that_does_not_fit_leaves_the_old_rules_in_force() {
    let router = Router::builder(compile_rules("default -> a"))
        .handler("a", echo_request)
        .handler("b", echo_request)
        .build()
        .unwrap();
    let first = router.rules().generation();
    let error = router.swap(compile_rules("default -> bb")).unwrap_err();
    assert_eq!(error.problems().len(), 1);
    assert!(matches!(&error.problems()[0], Problem::NoHandler { target, .. } if target == "bb"));
    assert_eq!(router.rules().generation(), first);

    let swapped = router.swap(compile_rules("default -> b")).unwrap();
    assert_eq!(swapped.previous.generation(), first);
    assert_eq!(swapped.warnings, [Warning::UnusedHandler { handler: "a".to_owned() }]);
    assert_eq!(router.warnings(), swapped.warnings);
    let outcome = router.route(json!({})).await;
    assert_eq!((outcome.handler.as_deref(), outcome.generation), (Some("b"), swapped.generation));

    // The rules that were swapped out can be swapped in again.
    router.swap(swapped.previous).unwrap();
    assert_eq!(router.route(json!({})).await.generation, first);

    let with_entry =
        Router::builder(compile_rules("table t { default -> a }")).entry("t").handler("a", echo_request);
    let router = with_entry.build().unwrap();
    let error = router.swap(compile_rules("table u { default -> a }")).unwrap_err();
    assert_eq!(error.to_string(), "there is no entry `t`; the entries are routes, u");
}

#[tokio::test]
async fn what_is_under_way_ends_with_the_rules_it_began_with() {
    let (entered, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (in_handler, released) = (entered.clone(), go.clone());
    let router = Router::builder(compile_rules("default -> wait(version: 1)"))
        .handler("wait", move |request: Request| {
            let (in_handler, released) = (in_handler.clone(), released.clone());
            async move {
                if request.args["version"] == 1 {
                    in_handler.notify_one();
                    released.notified().await;
                }
                request.args["version"].clone()
            }
        })
        .build()
        .unwrap();
    let first = router.rules().generation();
    let begun = tokio::spawn({
        let router = router.clone();
        async move { router.route(json!({})).await }
    });
    entered.notified().await;
    let second = router.swap(compile_rules("default -> wait(version: 2)")).unwrap().generation;
    let later = router.route(json!({})).await;
    assert_eq!((later.generation, later.reply()), (second, Some(&json!(2))));
    go.notify_one();
    let begun = begun.await.unwrap();
    assert_eq!((begun.generation, begun.reply()), (first, Some(&json!(1))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn swaps_under_load_lose_and_mix_nothing() {
    const TASKS: usize = 16;
    const MESSAGES: usize = 200;
    const SWAPS: i64 = 50;
    let version = |n: i64| compile_rules(&format!("route r{n} when text == \"x\" -> tell(version: {n})"));
    let handled = Arc::new(AtomicUsize::new(0));
    let counter = handled.clone();
    let first = version(0);
    // Maps the generation of each rule set to the `n` of its `version(n)`.
    let versions = Arc::new(Mutex::new(HashMap::from([(first.generation(), 0)])));
    let router = Router::builder(first)
        .handler("tell", move |request: Request| {
            counter.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::task::yield_now().await;
                json!({"version": request.args["version"], "generation": request.generation})
            }
        })
        .build()
        .unwrap();

    let workers: Vec<_> = (0..TASKS)
        .map(|_| {
            let router = router.clone();
            tokio::spawn(async move {
                let mut outcomes: Vec<Outcome> = Vec::new();
                for _ in 0..MESSAGES {
                    outcomes.push(router.route(json!({"text": "x"})).await);
                }
                outcomes
            })
        })
        .collect();
    for n in 1..=SWAPS {
        let next = version(n);
        versions.lock().unwrap().insert(next.generation(), n);
        router.swap(next).unwrap();
        tokio::task::yield_now().await;
    }

    let versions = versions.lock().unwrap().clone();
    let mut total = 0;
    for worker in workers {
        let mut last = 0;
        for outcome in worker.await.unwrap() {
            let n = versions[&outcome.generation];
            assert_eq!(outcome.route, Some(format!("r{n}")));
            assert_eq!(outcome.reply(), Some(&json!({"version": n, "generation": outcome.generation})));
            // Within one task the generation never decreases.
            assert!(n >= last, "{n} after {last}");
            last = n;
            total += 1;
        }
    }
    assert_eq!((total, handled.load(Ordering::SeqCst)), (TASKS * MESSAGES, TASKS * MESSAGES));
    assert_eq!(versions[&router.route(json!({"text": "x"})).await.generation], SWAPS);
}

#[tokio::test]
async fn an_outcome_is_plain_json() {
    let router = Router::builder(routes_by_name(&["fine", "fails"]))
        .handler("fine", |_| async { json!([1, 2]) })
        .handler("fails", |_| async { Err::<Json, _>("no") })
        .build()
        .unwrap();
    let json = |text: &'static str| {
        let router = router.clone();
        async move { serde_json::to_value(router.route(json!({ "text": text })).await).unwrap() }
    };
    let fine = json("fine").await;
    assert_eq!(fine["result"], json!({"handled": [1, 2]}));
    assert_eq!(
        (&fine["route"], &fine["entry"], &fine["path"]),
        (&json!("fine"), &json!("routes"), &json!(["routes"]))
    );
    assert!(fine["elapsed_us"].is_u64() && fine["generation"].is_u64());
    assert_eq!(json("fails").await["result"], json!({"failed": {"route": "fails", "error": "no"}}));
    assert_eq!(json("other").await["result"], json!("no_route"));
    let late = HandlerOutcome::TimedOut { route: "r".to_owned(), after: Duration::from_millis(3) };
    assert_eq!(serde_json::to_value(late).unwrap(), json!({"timed_out": {"route": "r", "after_us": 3000}}));
}

#[tokio::test]
async fn arguments_come_as_a_type_of_ones_own() {
    #[derive(serde::Deserialize)]
    struct Args {
        limit: u32,
    }
    let router = Router::builder(compile_rules("default -> lister(limit: ctx.limit ?? 20)"))
        .handler("lister", |request: Request| async move {
            let args: Args = request.args_as()?;
            Ok::<_, HandlerError>(json!(args.limit))
        })
        .build()
        .unwrap();
    assert_eq!(router.route(json!({})).await.reply(), Some(&json!(20)));
    let outcome = router.route(json!({"ctx": {"limit": -1}})).await;
    assert!(outcome.result.error().is_some_and(|error| error.contains("-1")), "{:?}", outcome.result);
}

#[tokio::test]
async fn a_host_function_that_fails_costs_no_message() {
    let rules = Compiler::new()
        .function("score", |_: String| -> i64 { panic!("no score today") })
        .compile_text(
            "extern fn score(text: string) -> int
             route high when score(text) > 3 -> a
             default -> b",
        )
        .unwrap();
    let router =
        Router::builder(rules).handler("a", echo_request).handler("b", echo_request).build().unwrap();
    assert_eq!(router.route(json!({"text": "x"})).await.handler.as_deref(), Some("b"));
}
