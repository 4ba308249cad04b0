//! One version of the rules, deciding message after message by whatever entry each is for.

use crate::keys::{self, Keys, NONE};
use crate::known::Known;
use rulec::diff::answer;
use rulec::flow::{FlowMatcher, Found};
use rulec::payload::Judge;
use rulec::{Rules, Session, TableKind};
use serde_json::{Value as Json, json};
use std::collections::HashMap;

pub(crate) struct Decider<'k> {
    rules: &'k Rules,
    keys: &'k Keys,
    matcher: Option<&'k FlowMatcher>,
    /// The ways to decide, by the names of their entries; `None` for a name that the rules do not have.
    by_entry: HashMap<String, Option<Way>>,
}

enum Way {
    Session(Box<Session>, TableKind),
    Judge(Box<Judge>),
}

/// The outcome of a message.
pub(crate) struct Came {
    /// The key of the statement.
    pub key: String,
    /// The parts that a service acts on; null where it is not asked for.
    pub answer: Json,
}

impl<'k> Decider<'k> {
    pub fn new(known: &'k Known, rules: &'k Rules) -> Decider<'k> {
        Decider { rules, keys: known.keys(rules), matcher: known.matcher(rules), by_entry: HashMap::new() }
    }

    /// True when the rules have an entry of that name.
    pub fn has(&mut self, entry: &str) -> bool {
        self.way(entry).is_some()
    }

    fn way(&mut self, entry: &str) -> Option<&mut Way> {
        if !self.by_entry.contains_key(entry) {
            let judge = || Judge::new(self.rules, entry).ok().map(|judge| Way::Judge(Box::new(judge)));
            let way = match self.rules.entry(entry) {
                Ok(found) => Some(Way::Session(Box::new(found.session()), found.kind())),
                Err(_) => judge(),
            };
            self.by_entry.insert(entry.to_owned(), way);
        }
        self.by_entry.get_mut(entry).and_then(Option::as_mut)
    }

    /// Decides a message; `None` where there is no such entry. `whole` asks for the answer beside the key.
    pub fn decide(&mut self, entry: &str, message: &Json, whole: bool) -> Option<Came> {
        let (program, all, matcher) = (self.rules.program(), self.keys, self.matcher);
        match self.way(entry)? {
            Way::Judge(judge) => {
                let judgement = judge.judge(message);
                let fate = judgement.outcome().name();
                let answer = if whole { json!([fate, judgement.corrected()]) } else { Json::Null };
                Some(Came { key: keys::key(entry, fate), answer })
            }
            Way::Session(session, kind) => {
                let decision = session.decide(message);
                if decision.chosen().is_none()
                    && let Some(name) = matcher
                        .filter(|_| *kind == TableKind::Flows)
                        .and_then(|matcher| meant(matcher, message))
                {
                    let answer = if whole { Json::from(name.as_str()) } else { Json::Null };
                    return Some(Came { key: keys::key(entry, &name), answer });
                }
                let key = all.chosen(program, entry, decision.statement());
                let answer = match whole {
                    true => answer(&serde_json::to_value(&decision).unwrap_or_default()),
                    false => Json::Null,
                };
                Some(Came { key, answer })
            }
        }
    }

    /// The key of what a log says was chosen.
    pub fn logged(&self, table: &str, route: Option<&str>) -> String {
        keys::key(table, route.unwrap_or(NONE))
    }
}

/// The intent flow that a message without a pattern wants.
fn meant(matcher: &FlowMatcher, message: &Json) -> Option<String> {
    let text = message.get("text").and_then(Json::as_str).unwrap_or_default();
    match matcher.search_intent(text).0 {
        Found::Intent(hit) => Some(hit.name),
        _ => None,
    }
}
