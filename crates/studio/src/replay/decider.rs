//! Decides messages with one version of the rules. Each message is decided by the entry (such as a
//! table) given for it.

use crate::keys::{self, NO_STATEMENT, StatementKeys};
use crate::snapshot::ProjectSnapshot;
use rulec::diff::answer;
use rulec::flow::{FlowMatcher, FlowSelection};
use rulec::payload::Judge;
use rulec::{Rules, Session, TableKind};
use serde_json::{Value as Json, json};
use std::collections::HashMap;

pub(crate) struct ReplayDecider<'k> {
    rules: &'k Rules,
    keys: &'k StatementKeys,
    matcher: Option<&'k FlowMatcher>,
    /// Decider for each entry that was used, by entry name; `None` if the rules have no entry of
    /// that name.
    by_entry: HashMap<String, Option<EntryDecider>>,
}

enum EntryDecider {
    Session(Box<Session>, TableKind),
    Judge(Box<Judge>),
}

/// Result of deciding one message.
pub(crate) struct MessageResult {
    /// Key of the chosen statement, such as `routes/refunds`.
    pub key: String,
    /// The parts of the decision that a service acts on, such as the target. Null if the caller did
    /// not request these parts.
    pub answer: Json,
}

impl<'k> ReplayDecider<'k> {
    pub fn new(known: &'k ProjectSnapshot, rules: &'k Rules) -> ReplayDecider<'k> {
        ReplayDecider {
            rules,
            keys: known.keys(rules),
            matcher: known.intent_matcher(rules),
            by_entry: HashMap::new(),
        }
    }

    /// Reports whether the rules have an entry of this name.
    pub fn has_entry(&mut self, entry: &str) -> bool {
        self.entry_decider(entry).is_some()
    }

    fn entry_decider(&mut self, entry: &str) -> Option<&mut EntryDecider> {
        if !self.by_entry.contains_key(entry) {
            let judge =
                || Judge::new(self.rules, entry).ok().map(|judge| EntryDecider::Judge(Box::new(judge)));
            let way = match self.rules.entry(entry) {
                Ok(found) => Some(EntryDecider::Session(Box::new(found.session()), found.kind())),
                Err(_) => judge(),
            };
            self.by_entry.insert(entry.to_owned(), way);
        }
        self.by_entry.get_mut(entry).and_then(Option::as_mut)
    }

    /// Decides a message by the named entry; `None` if there is no such entry. With `whole`, the
    /// result includes the parts of the decision that a service acts on.
    pub fn decide(&mut self, entry: &str, message: &Json, whole: bool) -> Option<MessageResult> {
        let (program, all, matcher) = (self.rules.program(), self.keys, self.matcher);
        match self.entry_decider(entry)? {
            EntryDecider::Judge(judge) => {
                let judgement = judge.judge(message);
                let fate = judgement.outcome().name();
                let answer = if whole { json!([fate, judgement.corrected()]) } else { Json::Null };
                Some(MessageResult { key: keys::key(entry, fate), answer })
            }
            EntryDecider::Session(session, kind) => {
                let decision = session.decide(message);
                if decision.chosen().is_none()
                    && let Some(name) = matcher
                        .filter(|_| *kind == TableKind::Flows)
                        .and_then(|matcher| matched_intent(matcher, message))
                {
                    let answer = if whole { Json::from(name.as_str()) } else { Json::Null };
                    return Some(MessageResult { key: keys::key(entry, &name), answer });
                }
                let key = all.chosen_key(program, entry, decision.statement());
                let answer = match whole {
                    true => answer(&serde_json::to_value(&decision).unwrap_or_default()),
                    false => Json::Null,
                };
                Some(MessageResult { key, answer })
            }
        }
    }

    /// Returns the key of the statement that a decision log names as chosen.
    pub fn logged_key(&self, table: &str, route: Option<&str>) -> String {
        keys::key(table, route.unwrap_or(NO_STATEMENT))
    }
}

/// Returns the name of the intent flow that the classifier finds for a message.
fn matched_intent(matcher: &FlowMatcher, message: &Json) -> Option<String> {
    let text = message.get("text").and_then(Json::as_str).unwrap_or_default();
    match matcher.search_intent(text).0 {
        FlowSelection::Intent(hit) => Some(hit.name),
        _ => None,
    }
}
