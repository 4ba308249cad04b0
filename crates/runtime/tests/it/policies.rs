//! Tests of handler policies: retries with pauses, circuit breakers, fallbacks, and their
//! statistics.

use rulec::Rules;
use rulec_runtime::route::{CircuitState, HandlerOutcome, Outcome, Policy, Request, Router};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

const PAUSE: Duration = Duration::from_millis(100);

/// What a handler does in one call.
#[derive(Clone, Copy)]
enum HandlerAct {
    Reply,
    Fail,
    Panic,
    Hang,
}

/// A handler that follows a script, then replies to all further calls. It records the attempt
/// number and time of each call.
#[derive(Clone, Default)]
struct HandlerScript {
    acts: Arc<Mutex<VecDeque<HandlerAct>>>,
    calls: Arc<Mutex<Vec<(u32, Instant)>>>,
}

impl HandlerScript {
    fn new(acts: &[HandlerAct]) -> HandlerScript {
        HandlerScript {
            acts: Arc::new(Mutex::new(acts.iter().copied().collect())),
            ..HandlerScript::default()
        }
    }

    async fn call(self, request: Request) -> Result<Json, String> {
        self.calls.lock().unwrap().push((request.attempt, Instant::now()));
        let act = self.acts.lock().unwrap().pop_front().unwrap_or(HandlerAct::Reply);
        match act {
            HandlerAct::Reply => Ok(json!(request.handler)),
            HandlerAct::Fail => Err(format!("{} failed", request.handler)),
            HandlerAct::Panic => panic!("{} panicked", request.handler),
            HandlerAct::Hang => std::future::pending().await,
        }
    }

    fn attempts(&self) -> Vec<u32> {
        self.calls.lock().unwrap().iter().map(|(attempt, _)| *attempt).collect()
    }
}

/// Builds a router whose only route leads to the handler `main`. The handlers `second` and `third`
/// can be fallbacks; `third` is already a fallback of `second`.
fn build_router(
    policy: Policy,
    main: &HandlerScript,
    second: &HandlerScript,
    third: &HandlerScript,
) -> Router {
    let (main, second, third) = (main.clone(), second.clone(), third.clone());
    Router::builder(Rules::from_text("default -> main").unwrap())
        .handler("main", move |request| main.clone().call(request))
        .handler("second", move |request| second.clone().call(request))
        .handler("third", move |request| third.clone().call(request))
        .policy("main", policy)
        .policy("second", Policy::new().fallback("third"))
        .build()
        .unwrap()
}

async fn run_acts(acts: &[HandlerAct], policy: Policy) -> (Outcome, Vec<u32>) {
    let main = HandlerScript::new(acts);
    let router = build_router(policy, &main, &HandlerScript::default(), &HandlerScript::default());
    let outcome = router.route(json!({})).await;
    (outcome, main.attempts())
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_tried_again() {
    let policy = || Policy::new().time_limit(PAUSE).retries(2, PAUSE);
    let start = Instant::now();
    let (outcome, attempts) = run_acts(&[HandlerAct::Fail, HandlerAct::Hang], policy()).await;
    assert_eq!((outcome.reply(), outcome.attempts, attempts), (Some(&json!("main")), 3, vec![1, 2, 3]));
    // The total is a pause of one to two units, the time limit of one unit, and a pause of two to
    // four units.
    assert!((PAUSE * 4..=PAUSE * 7).contains(&start.elapsed()), "{:?}", start.elapsed());

    let (outcome, attempts) = run_acts(&[HandlerAct::Fail; 9], policy()).await;
    assert_eq!((outcome.result.error(), attempts.len()), (Some("main failed"), 3));
    let (outcome, attempts) = run_acts(&[HandlerAct::Hang; 9], policy()).await;
    assert!(matches!(&outcome.result, HandlerOutcome::TimedOut { after, .. } if *after == PAUSE));
    assert_eq!(attempts.len(), 3);
    // A panic is a bug of the handler, so a retry would panic too.
    let (outcome, attempts) = run_acts(&[HandlerAct::Panic], policy()).await;
    assert_eq!((outcome.result.kind(), attempts.len()), ("panicked", 1));
    // Without a policy there is one call.
    let (outcome, attempts) = run_acts(&[HandlerAct::Fail], Policy::new().retries(0, PAUSE)).await;
    assert_eq!((outcome.result.kind(), attempts.len()), ("failed", 1));
}

#[tokio::test(start_paused = true)]
async fn another_handler_takes_over() {
    let policy = || Policy::new().time_limit(PAUSE).fallback("second").fallback("third");
    let check = |acts: [&'static [HandlerAct]; 3], expected: Json| async move {
        let [main, second, third] = acts.map(HandlerScript::new);
        let outcome = build_router(policy(), &main, &second, &third).route(json!({})).await;
        let tried: Vec<_> =
            outcome.tried.iter().map(|one| json!([one.handler, one.result, one.error])).collect();
        let end = outcome.reply().cloned().unwrap_or_else(|| json!(outcome.result.kind()));
        assert_eq!(outcome.handler.as_deref(), Some("main"));
        assert_eq!(json!([end, outcome.fallback, tried]), expected);
    };
    check([&[], &[], &[]], json!(["main", null, []])).await;
    check([&[HandlerAct::Fail], &[], &[]], json!(["second", "second", [["main", "failed", "main failed"]]]))
        .await;
    check(
        [&[HandlerAct::Hang], &[HandlerAct::Panic], &[]],
        json!(["third", "third", [["main", "timed_out", null], ["second", "panicked", "second panicked"]]]),
    )
    .await;
    // Only the fallbacks of the first handler count; the policy of `second` would call `third`
    // again.
    check(
        [&[HandlerAct::Fail], &[HandlerAct::Fail], &[HandlerAct::Fail]],
        json!([
            "failed",
            "third",
            [["main", "failed", "main failed"], ["second", "failed", "second failed"]]
        ]),
    )
    .await;
}

/// Regression test: a handler and its fallbacks had no common time limit.
#[tokio::test(start_paused = true)]
async fn a_chain_ends_at_its_limit() {
    let limit = PAUSE * 5 / 2;
    let check = |policy: Policy, acts: [&'static [HandlerAct]; 3], took: Duration, expected: Json| async move {
        let [main, second, third] = acts.map(HandlerScript::new);
        let policy = policy.chain_limit(limit).fallback("second").fallback("third");
        let (router, start) = (build_router(policy, &main, &second, &third), Instant::now());
        let outcome = router.route(json!({})).await;
        assert_eq!(start.elapsed().as_millis(), took.as_millis(), "{expected}");
        let tried: Vec<_> = outcome.tried.iter().map(|one| json!([one.handler, one.result])).collect();
        let calls = [main, second, third].map(|script| script.attempts().len());
        let found = json!([outcome.result.kind(), outcome.fallback, tried, calls]);
        assert_eq!(found, expected);
        outcome
    };
    // A handler without its own limit may use all the time; then no fallback is called.
    let outcome = check(
        Policy::new(),
        [&[HandlerAct::Hang], &[], &[]],
        limit,
        json!(["timed_out", null, [], [1, 0, 0]]),
    )
    .await;
    assert!(matches!(&outcome.result, HandlerOutcome::TimedOut { after, .. } if *after == limit));
    // The running call is aborted, here the call of `second`.
    let policy = || Policy::new().time_limit(PAUSE);
    check(
        policy(),
        [&[HandlerAct::Hang], &[HandlerAct::Hang], &[]],
        limit,
        json!(["timed_out", "second", [["main", "timed_out"]], [1, 1, 0]]),
    )
    .await;
    // A pause that would exceed the limit is not started; the fallback gets the remaining time.
    check(
        policy().retries(5, PAUSE * 2),
        [&[HandlerAct::Hang], &[HandlerAct::Fail], &[]],
        PAUSE,
        json!(["handled", "third", [["main", "timed_out"], ["second", "failed"]], [1, 1, 1]]),
    )
    .await;
    // The limit does not affect a handler that replies in time.
    check(policy(), [&[], &[], &[]], Duration::ZERO, json!(["handled", null, [], [1, 0, 0]])).await;
}

/// How long the circuit stays open. The circuit uses the real clock, not tokio's paused clock.
const OPEN_FOR: Duration = Duration::from_millis(150);

#[tokio::test]
async fn a_circuit_opens_and_closes() {
    let main = HandlerScript::new(&[
        HandlerAct::Fail,
        HandlerAct::Reply,
        HandlerAct::Fail,
        HandlerAct::Fail,
        HandlerAct::Fail,
        HandlerAct::Reply,
    ]);
    let router = build_router(
        Policy::new().circuit(2, OPEN_FOR),
        &main,
        &HandlerScript::default(),
        &HandlerScript::default(),
    );
    let route = async || router.route(json!({})).await.result.kind();
    let state = || router.stats().handlers.iter().find(|one| one.handler == "main").unwrap().circuit;
    // A success resets the count of consecutive failures.
    for expected in ["failed", "handled", "failed"] {
        assert_eq!((route().await, state()), (expected, Some(CircuitState::Closed)));
    }
    assert_eq!((route().await, state()), ("failed", Some(CircuitState::Open)));
    assert_eq!((route().await, main.attempts().len()), ("circuit_open", 4));
    tokio::time::sleep(OPEN_FOR * 2).await;
    // A failed trial opens the circuit again; a successful one closes it.
    assert_eq!((route().await, state()), ("failed", Some(CircuitState::Open)));
    assert_eq!(route().await, "circuit_open");
    tokio::time::sleep(OPEN_FOR * 2).await;
    assert_eq!((route().await, state()), ("handled", Some(CircuitState::Closed)));
    assert_eq!(route().await, "handled");
    let stats = router.stats();
    let main = stats.handlers.iter().find(|one| one.handler == "main").unwrap();
    assert_eq!((main.counts.failed, main.counts.handled, main.counts.circuit_open), (4, 3, 2));
    let [default] = &stats.routes[..] else { panic!("{:?}", stats.routes) };
    assert_eq!((default.table.as_str(), default.route.as_deref()), ("routes", Some("default")));
    assert_eq!(default.counts, stats.messages);
    assert_eq!(default.counts.total(), 9);
    assert!(serde_json::to_value(&stats).unwrap()["handlers"][0]["circuit"] == "closed");
}

/// Regression test: when an open circuit's time was over, all waiting messages were let through at
/// once.
#[tokio::test]
async fn one_message_tries_whether_a_handler_has_recovered() {
    let main = HandlerScript::new(&[HandlerAct::Fail, HandlerAct::Hang, HandlerAct::Reply]);
    let router = build_router(
        Policy::new().circuit(1, OPEN_FOR),
        &main,
        &HandlerScript::default(),
        &HandlerScript::default(),
    );
    assert_eq!(router.route(json!({})).await.result.kind(), "failed");
    tokio::time::sleep(OPEN_FOR * 2).await;
    let trial = tokio::spawn({
        let router = router.clone();
        async move { router.route(json!({})).await }
    });
    while main.attempts().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(router.route(json!({})).await.result.kind(), "circuit_open");
    // The caller of the trial stopped waiting, so the next message is the trial.
    trial.abort();
    assert!(trial.await.unwrap_err().is_cancelled());
    assert_eq!(router.route(json!({})).await.result.kind(), "handled");
    assert_eq!(router.stats().messages.cancelled, 1);
}

#[test]
fn policies_are_held_against_the_handlers() {
    let build = |name: &str, policy| {
        let rules = Rules::from_text("default -> main").unwrap();
        let builder = Router::builder(rules).handler("main", |_| async { json!(1) });
        builder.handler("other", |_| async { json!(1) }).policy(name, policy).build()
    };
    let check =
        |name, policy, expected: &str| assert_eq!(build(name, policy).unwrap_err().to_string(), expected);
    check(
        "mian",
        Policy::new(),
        "a policy or time limit is set for `mian`, which has no handler; did you mean `main`, which is registered?",
    );
    check(
        "main",
        Policy::new().fallback("othr"),
        "`main` falls back to `othr`, which has no handler; did you mean `other`, which is registered?",
    );
    check(
        "main",
        Policy::new().fallback("main"),
        "`main` falls back to itself; name another handler, or set retries",
    );
    assert_eq!(build("other", Policy::new()).unwrap().warnings().len(), 1);
    // A handler that is a fallback is not unused.
    assert_eq!(build("main", Policy::new().fallback("other")).unwrap().warnings(), []);
}
