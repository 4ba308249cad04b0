//! Tests of programs that use a router with values and types of their own. The tests also cover a
//! handler for all other targets, async host functions, and watched rules without handlers.

use rulec::{Compiler, Rules};
use rulec_runtime::route::{HandlerOutcome, Permissions, Policy, Reply, Request, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::time::Duration;

fn compile_rules(text: &str) -> Rules {
    Rules::from_text(text).unwrap()
}

async fn echo_handler(request: Request) -> Json {
    json!(request.handler)
}

#[derive(Serialize)]
struct Order {
    text: String,
    total: f64,
}

#[derive(Debug, Deserialize)]
struct Listing {
    limit: u8,
}

async fn list_files(args: Listing, request: Request) -> Result<Order, String> {
    if args.limit == 0 { Err("nothing to list".to_owned()) } else { Ok(order(&request.route)) }
}

fn order(text: &str) -> Order {
    Order { text: text.to_owned(), total: 2.5 }
}

#[tokio::test]
async fn values_are_routed_and_replied() {
    let rules = compile_rules(
        "handler big() requires permission \"sell\"
         handler small()
         handler listing()
         route big when total > 10 -> big
         route small when total is present -> small
         default -> listing",
    );
    let router = Router::builder(rules)
        .handler("big", async |_: Request| Reply(order("big")))
        .handler("small", async |_: Request| Ok::<_, String>(Some(order("small"))))
        .handler("listing", async |_: Request| Reply(["a", "b"]))
        .build()
        .unwrap();
    let outcome = router.route_value(&order("x")).await;
    assert_eq!(outcome.reply(), Some(&json!({"text": "small", "total": 2.5})));
    let outcome = router.route_value(&json!({})).await;
    assert_eq!(outcome.reply(), Some(&json!(["a", "b"])));
    let big = Order { total: 11.0, ..order("x") };
    assert_eq!(router.route_value(&big).await.result.kind(), "refused");
    let outcome = router.route_value_as(&big, &Permissions::all()).await;
    assert_eq!(outcome.reply(), Some(&json!({"text": "big", "total": 2.5})));

    // A message that is not an object reaches no handler, not even the default's. It is counted as
    // invalid.
    for outcome in [
        router.route_value("text").await,
        router.route(json!(["text"])).await,
        router.route_value(&HashMap::from([((1, 2), 3)])).await,
    ] {
        assert!(matches!(outcome.result, HandlerOutcome::Invalid { .. }), "{outcome:?}");
        assert_eq!((outcome.route, outcome.entry.as_str()), (None, "routes"));
    }
    let counts = router.stats().messages;
    assert_eq!((counts.invalid, counts.handled, counts.refused, counts.total()), (3, 3, 1, 7));
}

#[tokio::test]
async fn one_handler_takes_all_other_targets() {
    let rules = compile_rules(
        "route a when n == 1 -> first\nroute b when n == 2 -> second\nroute c when n == 3 -> slow\n\
         default -> third",
    );
    let router = Router::builder(rules)
        .handler("first", async |_: Request| json!("own"))
        .otherwise(async |request: Request| {
            if request.handler == "slow" {
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }
            json!(request.handler)
        })
        .policy("slow", Policy::new().time_limit(Duration::from_millis(20)))
        .build()
        .unwrap();
    for (n, expected) in [(1, "own"), (2, "second"), (4, "third")] {
        assert_eq!(router.route(json!({"n": n})).await.reply(), Some(&json!(expected)));
    }
    assert_eq!(router.route(json!({"n": 3})).await.result.kind(), "timed_out");
    assert_eq!(router.warnings(), []);
    // Edits and swaps may lead to any target.
    router.swap(compile_rules("default -> another")).unwrap();
    assert_eq!(router.route(json!({})).await.reply(), Some(&json!("another")));

    let twice =
        Router::builder(compile_rules("default -> a")).otherwise(echo_handler).otherwise(echo_handler);
    assert_eq!(twice.build().unwrap_err().to_string(), "`otherwise` is called twice; remove one");
    let fallback = Router::builder(compile_rules("default -> a"))
        .otherwise(echo_handler)
        .policy("a", Policy::new().fallback("b"))
        .build();
    assert!(fallback.unwrap_err().to_string().contains("`b`, which has no handler"));
}

#[tokio::test]
async fn arguments_are_checked_when_rules_become_active() {
    let typed =
        |text: &str| Router::builder(compile_rules(text)).typed_handler("listing", list_files).build();
    let router = typed("route empty when n == 0 -> listing(limit: 0)\ndefault -> listing(limit: n)").unwrap();
    let outcome = router.route(json!({"n": 3})).await;
    assert_eq!(outcome.reply(), Some(&json!({"text": "default", "total": 2.5})));
    assert_eq!(router.route(json!({"n": 0})).await.result.error(), Some("nothing to list"));
    // A value that does not fit is an error of the call.
    let outcome = router.route(json!({"n": 300})).await;
    assert!(outcome.result.error().unwrap().contains("expected u8"), "{outcome:?}");

    let expected = "the rules give `listing` the argument `limit` of type string, but the program takes u8";
    let wrong = "default -> listing(limit: \"all\")";
    assert_eq!(typed(wrong).unwrap_err().to_string(), expected);
    assert_eq!(router.swap(compile_rules(wrong)).unwrap_err().to_string(), expected);
    assert!(router.shadow(compile_rules("default -> listing(limt: 3)")).is_err());
}

#[tokio::test]
async fn a_router_awaits_host_functions() {
    let compiler = Compiler::new().async_function("score", async |text: String| {
        tokio::time::sleep(Duration::from_millis(1)).await;
        text.len() as u32
    });
    let text =
        "extern fn score(text: string) -> int\nroute long when score(text) > 5 -> long\ndefault -> short";
    let rules = compiler.compile_text(text).unwrap();
    let router = Router::builder(rules.clone()).otherwise(echo_handler).build().unwrap();
    router.shadow(rules).unwrap();
    for (text, expected) in [("a", "short"), ("a long text", "long")] {
        assert_eq!(router.route(json!({"text": text})).await.reply(), Some(&json!(expected)));
    }
    let stats = router.shadow_stats().unwrap();
    assert_eq!((stats.messages, stats.different), (2, 0));
}

#[cfg(feature = "watch")]
mod watched {
    use super::*;
    use rulec_runtime::route::{DecisionLog, WatchError, WatchedRules};
    use std::fs;
    use std::path::Path;

    /// Writes a file as deployments do: a new file replaces the old one.
    fn replace_file(path: &Path, content: impl AsRef<[u8]>) {
        let new = path.with_extension("new");
        fs::write(&new, content).unwrap();
        fs::rename(new, path).unwrap();
    }

    async fn wait<T>(change: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(20), change).await.expect("the change is seen")
    }

    #[tokio::test]
    async fn artifacts_are_watched_like_texts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.rulec");
        let artifact = |text: &str| compile_rules(text).to_artifact(true);
        fs::write(&path, artifact("default -> a")).unwrap();
        let router = Router::builder(compile_rules("default -> a"))
            .handler("a", echo_handler)
            .handler("b", echo_handler)
            .build()
            .unwrap();
        let target = async || router.route(json!({})).await.handler.unwrap();
        let mut watch = router.watch(Compiler::new(), &path).await.unwrap();
        replace_file(&path, artifact("default -> b"));
        assert_eq!((wait(watch.changed()).await.error, target().await), (None, "b".to_owned()));
        // A truncated artifact is refused, and so is one that targets an unregistered handler.
        let whole = artifact("default -> a");
        for content in [whole[..whole.len() - 3].to_vec(), artifact("default -> c"), Vec::new()] {
            replace_file(&path, content);
            assert!(wait(watch.changed()).await.error.is_some());
            assert_eq!(target().await, "b");
        }
        // The same file may become a text, and an artifact again.
        replace_file(&path, "default -> a");
        assert_eq!((wait(watch.changed()).await.error, target().await), (None, "a".to_owned()));
        replace_file(&path, artifact("default -> b"));
        assert_eq!((wait(watch.changed()).await.error, target().await), (None, "b".to_owned()));
    }

    #[tokio::test]
    async fn watched_rules_decide_count_and_log_without_handlers() {
        let folder = tempfile::tempdir().unwrap();
        let (path, log_path) = (folder.path().join("main.rules"), folder.path().join("log.jsonl"));
        fs::write(&path, "input { n?: int, key?: string @private }\nroute small when n < 3 -> few").unwrap();
        let log = DecisionLog::to_file(&log_path).unwrap();
        let mut rules = WatchedRules::builder(Compiler::new(), &path).log(log).open().await.unwrap();
        assert_eq!(rules.decide(&json!({"n": 1, "key": "secret"})).target(), Some("few"));
        assert_eq!(rules.decide(&json!({"n": 5, "key": null})).target(), None);
        assert_eq!(rules.decide(&json!([1])).target(), None);
        assert!(rules.decide_in("small", &json!({})).is_err());

        replace_file(&path, "route small when n < 9 -> few\ntable other { default -> many }");
        let status = wait(rules.changed()).await;
        assert_eq!((status.loaded, status.error), (2, None));
        let clone = rules.clone();
        assert_eq!(clone.decide(&json!({"n": 5})).target(), Some("few"));
        assert_eq!(clone.decide_in("other", &json!({})).unwrap().target(), Some("many"));
        assert_eq!(clone.decide_async(&json!({"n": 5})).await.target(), Some("few"));
        drop(rules);

        // A version that does not compile leaves the rules as they are.
        replace_file(&path, "route small when");
        let mut rules = clone;
        assert!(wait(rules.changed()).await.error.is_some());
        assert_eq!((rules.status().refused, rules.rules().generation()), (1, status.generation));

        let stats = rules.stats();
        let counts = &stats.messages;
        assert_eq!((counts.decided, counts.no_route, counts.invalid, counts.total()), (4, 1, 1, 6));
        assert!(stats.handlers.is_empty());
        rules.log().unwrap().close().await;
        let lines: Vec<Json> = fs::read_to_string(&log_path)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let results: Vec<_> = lines.iter().map(|line| line["result"].as_str().unwrap()).collect();
        assert_eq!(results, ["decided", "no_route", "invalid", "decided", "decided", "decided"]);
        assert_eq!(lines[0]["message"], json!({"n": 1, "key": "•••"}));
        assert_eq!(lines[1]["message"], json!({"n": 5, "key": null}));

        let missing = WatchedRules::open(Compiler::new(), folder.path().join("none.rules")).await;
        assert!(matches!(missing, Err(WatchError::Compile(_))));
    }
}
