//! Decides many messages with one call, on one thread or on several.

use super::{Decision, Entry};
use serde_json::Value as Json;
use std::num::NonZero;
use std::thread;

impl Entry<'_> {
    /// Returns an iterator over the decisions for `messages`. Each decision is made when the
    /// iterator reaches it and is not stored by the iterator, so any number of messages takes
    /// little memory.
    pub fn decide_all<'m>(self, messages: &'m [Json]) -> impl ExactSizeIterator<Item = Decision> + use<'m> {
        let mut session = self.session();
        messages.iter().map(move |message| session.decide(message))
    }

    /// Decides for all messages in parallel, on `jobs` threads; 0 means one thread per processor.
    /// The decisions are in the order of the messages.
    pub fn decide_all_on(self, jobs: usize, messages: &[Json]) -> Vec<Decision> {
        let jobs = match jobs {
            0 => thread::available_parallelism().map_or(1, NonZero::get),
            jobs => jobs,
        };
        let mut chunks = messages.chunks(messages.len().div_ceil(jobs).max(1));
        let Some(first) = chunks.next() else { return Vec::new() };
        thread::scope(|scope| {
            let decide = move |part| -> Vec<Decision> { self.decide_all(part).collect() };
            let other_parts: Vec<_> = chunks
                .map(|part| (part, thread::Builder::new().spawn_scoped(scope, move || decide(part))))
                .collect();
            let mut decisions = Vec::with_capacity(messages.len());
            decisions.extend(self.decide_all(first));
            for (part, thread) in other_parts {
                match thread.map(thread::ScopedJoinHandle::join) {
                    Ok(Ok(decided)) => decisions.extend(decided),
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    // The thread could not be started, so the current thread decides for the
                    // messages of that thread.
                    Err(_) => decisions.extend(self.decide_all(part)),
                }
            }
            decisions
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Rules;
    use serde_json::json;

    #[test]
    fn each_message_is_decided_in_order() {
        let text = "route small when n < 50 -> low(n: n)\nroute odd when n % 2 == 1 -> odd\ndefault -> other";
        let rules = Rules::from_text(text).expect("the rules compile");
        for count in [0, 1, 2, 5, 101] {
            let messages: Vec<_> = (0..count).map(|n| json!({"n": n})).collect();
            let described =
                |decision: &crate::Decision| (decision.chosen().map(str::to_owned), decision.args().clone());
            let expected: Vec<_> = messages.iter().map(|message| described(&rules.decide(message))).collect();
            assert_eq!(rules.main().decide_all(&messages).len(), count);
            let all: Vec<_> =
                rules.main().decide_all(&messages).map(|decision| described(&decision)).collect();
            assert_eq!(all, expected);
            for jobs in [0, 1, 2, 3, 200] {
                let all = rules.main().decide_all_on(jobs, &messages);
                assert_eq!(all.iter().map(described).collect::<Vec<_>>(), expected, "{count} on {jobs}");
            }
        }
    }
}
