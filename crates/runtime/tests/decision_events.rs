//! Tests the events that the router sends to `tracing`. This is a separate test binary with a
//! single test, because callsites are registered once per process.

use rulec::Rules;
use rulec_runtime::route::{DecisionLog, HandlerError, Request, Router};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};

/// The fields of an event, as text.
#[derive(Debug, Default)]
struct EventFields(BTreeMap<String, String>);

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

/// A subscriber that collects the events of this crate.
#[derive(Clone, Default)]
struct RecordedEvents(Arc<Mutex<Vec<(String, EventFields)>>>);

impl tracing::Subscriber for RecordedEvents {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("rulec::")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let target = event.metadata().target().to_owned();
        self.0.lock().unwrap().push((target, fields));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// A writer that always fails.
struct FullDisk;

impl Write for FullDisk {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn decisions_are_traced_without_what_is_private() {
    let events = RecordedEvents::default();
    tracing::subscriber::set_global_default(events.clone()).unwrap();
    let rules = Rules::from_text(
        "input { text: string, phone: string @private }
         route ring when text == \"ring\" -> ring(phone: phone)
         route call when text == \"call\" and phone starts_with \"+\" -> call",
    )
    .unwrap();
    let log = DecisionLog::builder().to_writer(FullDisk).unwrap();
    let router = Router::builder(rules)
        .handler("ring", |request: Request| async move { request.args["phone"].clone() })
        .handler("call", |request: Request| async move {
            Err::<Json, HandlerError>(format!("cannot call {}", request.message["phone"]).into())
        })
        .log(log.clone())
        .build()
        .unwrap();
    let route = async |text: &str| router.route(json!({"text": text, "phone": "+44 20 7946 0000"})).await;
    for text in ["ring", "call"] {
        route(text).await;
    }
    log.close().await;
    for _ in 0..2 {
        route("none of them").await;
    }

    let events = events.0.lock().unwrap();
    assert!(!format!("{events:?}").contains("7946 0000"), "{events:?}");
    let of = |target: &str| -> Vec<&BTreeMap<String, String>> {
        events.iter().filter(|(of, _)| of == target).map(|(_, fields)| &fields.0).collect()
    };
    let decisions = of("rulec::decision");
    assert_eq!(decisions.len(), 4);
    assert_eq!((&*decisions[0]["route"], &*decisions[0]["handler"]), ("\"ring\"", "\"ring\""));
    assert_eq!(decisions[0]["generation"], router.rules().generation().to_string());
    assert!(decisions[0]["elapsed_us"].parse::<u64>().is_ok());
    let results: Vec<&str> = decisions.iter().map(|fields| &*fields["result"]).collect();
    assert_eq!(results, ["\"handled\"", "\"failed\"", "\"no_route\"", "\"no_route\""]);
    // Two lines failed and two were dropped, with one warning each.
    let warnings: Vec<&str> = of("rulec::log").iter().map(|fields| &*fields["message"]).collect();
    assert_eq!(
        warnings,
        ["the decision log cannot be written", "the decision log drops lines: it is closed"]
    );
}
