//! Tests of the event bus: middleware, the policies of full queues, and a middleware that validates
//! decisions.

use rulec_runtime::events::{Bus, Flow, MiddlewareError, Policy, RecvError, StopReason, Subscription};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn plain_bus() -> Bus<u64> {
    Bus::builder().build()
}

/// Receives all queued events. The last item of the result is the error after the last event:
/// `Empty`, or `Closed`.
fn drain(inbox: &mut Subscription<u64>) -> Vec<Result<u64, RecvError>> {
    let mut received = Vec::new();
    loop {
        match inbox.try_recv() {
            Err(end @ (RecvError::Empty | RecvError::Closed)) => {
                received.push(Err(end));
                return received;
            }
            other => received.push(other),
        }
    }
}

#[tokio::test]
async fn every_subscriber_gets_every_event_from_when_it_came() {
    let bus = plain_bus();
    assert_eq!(bus.publish(0).await.delivered, 0);
    let mut first = bus.subscribe(8, Policy::Wait);
    assert_eq!(bus.publish(1).await.delivered, 1);
    let mut second = bus.subscribe(8, Policy::DropOldest);
    let published = bus.clone().publish(2).await;
    assert_eq!((published.delivered, published.dropped, published.stopped_by), (2, 0, None));
    assert_eq!(bus.subscribers(), 2);
    assert_eq!(drain(&mut first), [Ok(1), Ok(2), Err(RecvError::Empty)]);
    assert_eq!(drain(&mut second), [Ok(2), Err(RecvError::Empty)]);

    // Dropping a subscription unsubscribes.
    drop(second);
    assert_eq!((bus.subscribers(), bus.publish(3).await.delivered), (1, 1));
    // After the bus is dropped, queued events can still be received.
    drop(bus);
    assert_eq!(first.recv().await, Ok(3));
    assert_eq!(first.recv().await, Err(RecvError::Closed));
    assert_eq!(first.recv().await, Err(RecvError::Closed));
}

#[tokio::test]
async fn a_full_queue_drops_by_its_policy_and_says_where() {
    use RecvError::{Empty, Lagged};
    // Rounds: the number of published events, then the expected results of `drain`.
    type Rounds = &'static [(u64, &'static [Result<u64, RecvError>])];
    let check = async |capacity, policy, rounds: Rounds, dropped| {
        let bus = plain_bus();
        let mut inbox = bus.subscribe(capacity, policy);
        let mut next = 0;
        let mut told = 0;
        for (count, expected) in rounds {
            for _ in 0..*count {
                next += 1;
                told += bus.publish(next).await.dropped as u64;
            }
            assert_eq!(drain(&mut inbox), *expected, "{policy:?}");
        }
        assert_eq!((told, inbox.dropped()), (dropped, dropped), "{policy:?}");
    };
    check(
        3,
        Policy::DropOldest,
        &[
            (3, &[Ok(1), Ok(2), Ok(3), Err(Empty)]),
            (5, &[Err(Lagged(2)), Ok(6), Ok(7), Ok(8), Err(Empty)]),
            (1, &[Ok(9), Err(Empty)]),
        ],
        2,
    )
    .await;
    check(
        3,
        Policy::DropNewest,
        &[
            (3, &[Ok(1), Ok(2), Ok(3), Err(Empty)]),
            (5, &[Ok(4), Ok(5), Ok(6), Err(Lagged(2)), Err(Empty)]),
            (1, &[Ok(9), Err(Empty)]),
        ],
        2,
    )
    .await;
    // A capacity of 0 counts as 1.
    check(0, Policy::DropOldest, &[(3, &[Err(Lagged(2)), Ok(3), Err(Empty)])], 2).await;
    check(0, Policy::DropNewest, &[(3, &[Ok(1), Err(Lagged(2)), Err(Empty)])], 2).await;
}

#[tokio::test]
async fn a_gap_has_its_place_among_the_events() {
    let bus = plain_bus();
    let mut inbox = bus.subscribe(2, Policy::DropNewest);
    for n in 1..=3 {
        bus.publish(n).await;
    }
    assert_eq!(inbox.recv().await, Ok(1));
    bus.publish(4).await;
    assert_eq!(drain(&mut inbox), [Ok(2), Err(RecvError::Lagged(1)), Ok(4), Err(RecvError::Empty)]);
    assert_eq!(RecvError::Lagged(1).to_string(), "1 events were dropped, since the queue was full");

    let mut inbox = bus.subscribe(2, Policy::DropOldest);
    for n in 1..=5 {
        bus.publish(n).await;
        if n == 3 {
            assert_eq!(inbox.recv().await, Err(RecvError::Lagged(1)));
        }
    }
    assert_eq!(drain(&mut inbox), [Err(RecvError::Lagged(2)), Ok(4), Ok(5), Err(RecvError::Empty)]);
}

#[tokio::test]
async fn a_publisher_waits_for_room() {
    let bus = plain_bus();
    let mut quick = bus.subscribe(8, Policy::Wait);
    let mut slow = bus.subscribe(1, Policy::Wait);
    bus.publish(1).await;
    let waiting = tokio::spawn({
        let bus = bus.clone();
        async move { bus.publish(2).await }
    });
    // A subscriber with room does not wait for one without room.
    assert_eq!((quick.recv().await, quick.recv().await), (Ok(1), Ok(2)));
    assert!(!waiting.is_finished() && slow.len() == 1);
    assert_eq!((slow.recv().await, slow.recv().await), (Ok(1), Ok(2)));
    let published = waiting.await.unwrap();
    assert_eq!((published.delivered, published.dropped, slow.dropped()), (2, 0, 0));

    // Dropping a subscription releases a waiting publisher.
    bus.publish(3).await;
    let waiting = tokio::spawn({
        let bus = bus.clone();
        async move { bus.publish(4).await }
    });
    assert_eq!((quick.recv().await, quick.recv().await), (Ok(3), Ok(4)));
    drop(slow);
    assert_eq!(waiting.await.unwrap().delivered, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_publishers_lose_nothing() {
    const PUBLISHERS: u64 = 8;
    const EVENTS: u64 = 500;
    let bus = plain_bus();
    let mut waited_for = bus.subscribe(4, Policy::Wait);
    let mut lossy = [bus.subscribe(4, Policy::DropOldest), bus.subscribe(4, Policy::DropNewest)];
    let publishers: Vec<_> = (0..PUBLISHERS)
        .map(|publisher| {
            let bus = bus.clone();
            tokio::spawn(async move {
                for n in 0..EVENTS {
                    bus.publish(publisher * EVENTS + n).await;
                }
            })
        })
        .collect();
    drop(bus);
    let all = tokio::spawn(async move {
        let mut received = Vec::new();
        while let Ok(n) = waited_for.recv().await {
            received.push(n);
        }
        received
    });
    for inbox in &mut lossy {
        let (mut received, mut lagged) = (0, 0);
        loop {
            match inbox.recv().await {
                Ok(_) => received += 1,
                Err(RecvError::Lagged(n)) => lagged += n,
                Err(_) => break,
            }
        }
        assert_eq!(received + lagged, PUBLISHERS * EVENTS);
        assert_eq!(lagged, inbox.dropped());
    }
    let received = all.await.unwrap();
    for publisher in 0..PUBLISHERS {
        let own: Vec<u64> = received.iter().copied().filter(|n| n / EVENTS == publisher).collect();
        let sent: Vec<u64> = (0..EVENTS).map(|n| publisher * EVENTS + n).collect();
        assert_eq!(own, sent, "in the order they were published");
    }
    for publisher in publishers {
        publisher.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn middleware_passes_changes_and_stops_in_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let last = seen.clone();
    let bus = Bus::builder()
        .time_limit(Duration::from_secs(5))
        .middleware("double", |n: u64| async move { Flow::Pass(n * 2) })
        .middleware("check", |n: u64| async move {
            match n {
                2 => Ok(Flow::Stop("too small".to_owned())),
                4 => Err(MiddlewareError::from("no answer")),
                6 => panic!("three is not for me"),
                8 => std::future::pending().await,
                n => Ok(Flow::Pass(n + 1)),
            }
        })
        .middleware("last", move |n| {
            last.lock().unwrap().push(n);
            async move { Flow::Pass(n) }
        })
        .build();
    assert!(format!("{bus:?}").contains("\"double\", \"check\", \"last\""));
    let mut inbox = bus.subscribe(8, Policy::Wait);
    let cases = [
        (1, StopReason::Stopped("too small".to_owned()), "`check` stopped the event: too small"),
        (2, StopReason::Failed("no answer".to_owned()), "`check` failed: no answer"),
        (3, StopReason::Panicked("three is not for me".to_owned()), "`check` panicked: three is not for me"),
        (4, StopReason::TimedOut(Duration::from_secs(5)), "`check` was stopped after 5s"),
    ];
    for (n, reason, said) in cases {
        let published = bus.publish(n).await;
        let stopped = published.stopped_by.unwrap();
        assert_eq!((published.delivered, &*stopped.middleware, &stopped.reason), (0, "check", &reason));
        assert_eq!(stopped.to_string(), said);
        // Only that event was affected.
        assert_eq!(bus.publish(50).await.delivered, 1);
        assert_eq!(drain(&mut inbox), [Ok(101), Err(RecvError::Empty)]);
    }
    assert_eq!(*seen.lock().unwrap(), [101; 4], "what was stopped goes no further");
}

#[tokio::test]
async fn middleware_is_stopped_when_nobody_waits_for_it() {
    struct SetOnDrop(Arc<AtomicBool>);
    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let guard = stopped.clone();
    let bus = Bus::builder()
        .middleware("endless", move |_: u64| {
            let guard = SetOnDrop(guard.clone());
            async move {
                let _guard = guard;
                std::future::pending::<Flow<u64>>().await
            }
        })
        .build();
    let publishing = tokio::spawn(async move { bus.publish(1).await });
    tokio::task::yield_now().await;
    publishing.abort();
    assert!(publishing.await.is_err_and(|error| error.is_cancelled()));
    while !stopped.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
}

/// Events about an agent's decisions, as a user of the bus might define them.
#[derive(Clone, Debug, PartialEq)]
enum DecisionEvent {
    Proposal { payload: Json },
    Validated { payload: Json },
    Rejected { payload: Json, violations: Vec<String> },
    NodeExecutionFailed { node: String, error: String },
}

#[tokio::test]
async fn a_middleware_can_judge_decisions() {
    use DecisionEvent::*;
    // The rules validate the decisions; the bus does not interpret events.
    let rules = rulec::Rules::from_text(
        r#"
        route empty when not (len(response) > 0) -> violation { message: "response must not be empty" }
        route unsure when not (confidence in 0.0..=1.0) -> violation { message: "confidence must be in 0..1" }
        "#,
    )
    .unwrap();
    let judged = rules.clone();
    let bus = Bus::builder()
        .middleware("recover", |event: DecisionEvent| async move {
            Flow::Pass(match event {
                // A failure becomes a decision, which is validated like any other.
                NodeExecutionFailed { node, error } => {
                    let response = format!("retry {node} after {error}");
                    Proposal { payload: json!({"response": response, "confidence": 0.5}) }
                }
                other => other,
            })
        })
        .middleware("judge", move |event: DecisionEvent| {
            let rules = judged.clone();
            async move {
                let Proposal { payload } = event else { return Flow::Pass(event) };
                let entry = rules.main();
                let violations: Vec<String> =
                    entry.matched(&payload).into_iter().map(str::to_owned).collect();
                Flow::Pass(match violations.is_empty() {
                    true => Validated { payload },
                    false => Rejected { payload, violations },
                })
            }
        })
        .build();
    let mut inbox = bus.subscribe(8, Policy::Wait);
    let good = json!({"response": "hello", "confidence": 0.9});
    let bad = json!({"response": "", "confidence": 7});
    for payload in [&good, &bad] {
        bus.publish(Proposal { payload: payload.clone() }).await;
    }
    bus.publish(NodeExecutionFailed { node: "n1".to_owned(), error: "a timeout".to_owned() }).await;
    assert_eq!(inbox.recv().await, Ok(Validated { payload: good }));
    let violations = vec!["empty".to_owned(), "unsure".to_owned()];
    assert_eq!(inbox.recv().await, Ok(Rejected { payload: bad, violations }));
    let payload = json!({"response": "retry n1 after a timeout", "confidence": 0.5});
    assert_eq!(inbox.recv().await, Ok(Validated { payload }));
}
