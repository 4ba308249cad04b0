//! Decides messages with one version of the rules. The caller names the entry (such as a table)
//! that decides each message.

use crate::api::EarlierDecision;
use crate::keys::{self, NO_STATEMENT, StatementKeys};
use crate::snapshot::ProjectSnapshot;
use rulec::diff::answer;
use rulec::flow::{FlowMatcher, FlowSelection};
use rulec::payload::{Judge, JudgeError, Judgement};
use rulec::{Decision, Rules, Session, TableKind};
use rulec_lang::value::parse_datetime;
use rulec_report::log;
use rulec_report::replay::{ReplayHistory, decide_and_record};
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;

pub(crate) struct ReplayDecider<'k> {
    rules: &'k Rules,
    keys: &'k StatementKeys,
    matcher: Option<&'k FlowMatcher>,
    /// A decider for each entry (such as a table) that was used, by name; `None` if the rules have
    /// no entry of that name.
    decider_by_entry: HashMap<String, Option<EntryDecider>>,
    /// The messages that were decided or observed so far.
    history: ReplayHistory<'k>,
}

enum EntryDecider {
    Session(Box<Session>, TableKind),
    Judge(Box<Judge>),
}

/// The result of deciding one message again in a replay.
pub(crate) struct MessageResult {
    /// Key of the chosen statement, such as `routes/refunds`.
    pub statement_key: String,
    /// The parts of the decision that a program acts on, such as the target. Null if the caller did
    /// not request these parts.
    pub answer: Json,
    /// Whether the message was passed to the history. The history records it only if it has a time
    /// and a key.
    pub is_passed_to_history: bool,
    /// The names of the chosen statement and handler, as the history records them. `None` for a
    /// payload, whose message is recorded without a decision, and for rules without a history.
    pub decision: Option<EarlierDecision>,
}

impl<'k> ReplayDecider<'k> {
    pub fn new(snapshot: &'k ProjectSnapshot, rules: &'k Rules) -> ReplayDecider<'k> {
        ReplayDecider {
            rules,
            keys: snapshot.keys(rules),
            matcher: snapshot.intent_matcher(rules),
            decider_by_entry: HashMap::new(),
            history: ReplayHistory::new(rules),
        }
    }

    /// Records a message that is not decided. Does nothing if the rules keep no history, or if the
    /// message has no time or no key.
    pub fn observe(&self, message: &Json) {
        self.history.observe(message);
    }

    /// Returns the history key (such as a user id) under which a message is recorded. `None` if the
    /// message is not recorded.
    pub fn history_key(&self, message: &Json) -> Option<String> {
        self.rules.history_key(message).filter(|_| has_time(message))
    }

    /// True if the rules keep a history.
    pub fn has_history(&self) -> bool {
        self.history.store().is_some()
    }

    /// True if the rules have an entry (such as a table or a payload kind) of this name.
    pub fn has_entry(&mut self, entry: &str) -> bool {
        self.entry_decider(entry).is_some()
    }

    fn entry_decider(&mut self, entry: &str) -> Option<&mut EntryDecider> {
        if !self.decider_by_entry.contains_key(entry) {
            let judge =
                || Judge::new(self.rules, entry).ok().map(|judge| EntryDecider::Judge(Box::new(judge)));
            let decider = match self.rules.entry(entry) {
                Ok(named_entry) => {
                    let session = match self.history.store() {
                        Some(store) => named_entry.session().with_history(store.clone()),
                        None => named_entry.session(),
                    };
                    Some(EntryDecider::Session(Box::new(session), named_entry.kind()))
                }
                Err(_) => judge(),
            };
            self.decider_by_entry.insert(entry.to_owned(), decider);
        }
        self.decider_by_entry.get_mut(entry).and_then(Option::as_mut)
    }

    /// Decides a message by the named entry; `None` if there is no such entry. With `with_answer`,
    /// the result includes the parts of the decision that a program acts on, such as the target.
    /// Returns an error, and records nothing, if an input of a payload has a wrong type.
    pub fn decide(
        &mut self,
        entry_name: &str,
        message: &Json,
        with_answer: bool,
    ) -> Result<Option<MessageResult>, JudgeError> {
        let (program, statement_keys, matcher) = (self.rules.program(), self.keys, self.matcher);
        let has_history = self.has_history();
        if self.entry_decider(entry_name).is_none() {
            return Ok(None);
        }
        let (history, deciders) = (&self.history, &mut self.decider_by_entry);
        let Some(decider) = deciders.get_mut(entry_name).and_then(Option::as_mut) else { return Ok(None) };
        Ok(Some(match decider {
            EntryDecider::Judge(judge) => {
                let line = log::split_payload(message).filter(|_| has_history);
                let recorded = line.is_some();
                let judgement = match line {
                    Some((payload, inputs)) => judge_and_record(judge, history, &payload, inputs)?,
                    None => judge.judge(message),
                };
                let outcome = judgement.outcome().name();
                let answer = if with_answer { json!([outcome, judgement.corrected()]) } else { Json::Null };
                MessageResult {
                    statement_key: keys::statement_key(entry_name, outcome),
                    answer,
                    is_passed_to_history: recorded,
                    decision: None,
                }
            }
            EntryDecider::Session(session, kind) => {
                let decision = match has_history {
                    true => decide_and_record(session, message),
                    false => session.decide(message),
                };
                let names = has_history.then(|| to_earlier_decision(&decision));
                if decision.chosen().is_none()
                    && let Some(name) = matcher
                        .filter(|_| *kind == TableKind::Flows)
                        .and_then(|matcher| matched_intent(matcher, message))
                {
                    let answer = if with_answer { Json::from(name.as_str()) } else { Json::Null };
                    let key = keys::statement_key(entry_name, &name);
                    let (recorded, decision) = (has_history, names);
                    return Ok(Some(MessageResult {
                        statement_key: key,
                        answer,
                        is_passed_to_history: recorded,
                        decision,
                    }));
                }
                let key = statement_keys.chosen_key(program, entry_name, decision.statement());
                let answer = match with_answer {
                    true => answer(&serde_json::to_value(&decision).unwrap_or_default()),
                    false => Json::Null,
                };
                MessageResult {
                    statement_key: key,
                    answer,
                    is_passed_to_history: has_history,
                    decision: names,
                }
            }
        }))
    }

    /// Returns the key of the statement that a logged decision chose. `table` and `route` are the
    /// names in the log. `None` for `route` means that no statement was chosen.
    pub fn logged_key(&self, table: &str, route: Option<&str>) -> String {
        keys::statement_key(table, route.unwrap_or(NO_STATEMENT))
    }
}

/// Returns the part of a decision that the history records: the names of the chosen statement and
/// of its handler.
pub(crate) fn to_earlier_decision(decision: &Decision) -> EarlierDecision {
    let owned = |name: Option<&str>| name.map(str::to_owned);
    EarlierDecision { chosen: owned(decision.chosen()), target: owned(decision.target()) }
}

/// Judges a payload with the history of its message, and records the message. `inputs` contains the
/// fields of that message. If a field is not of the declared type, records nothing and returns an
/// error.
fn judge_and_record(
    judge: &Judge,
    history: &ReplayHistory<'_>,
    payload: &Json,
    inputs: Map<String, Json>,
) -> Result<Judgement, JudgeError> {
    let judge = judge.clone().message(&inputs)?;
    let past = history.observe_and_return_past(&Json::Object(inputs));
    Ok(judge.with_history(past).judge(payload))
}

/// True if the field `now` of a message is a valid time. Without such a time, the message is not
/// recorded.
fn has_time(message: &Json) -> bool {
    message.get("now").and_then(Json::as_str).is_some_and(|now| parse_datetime(now).is_some())
}

/// Returns the name of the flow that the intent classifier selects for the field `text` of a
/// message. `None` if no flow's example sentences are similar enough to the text.
fn matched_intent(matcher: &FlowMatcher, message: &Json) -> Option<String> {
    let text = message.get("text").and_then(Json::as_str).unwrap_or_default();
    match matcher.search_intent(text).0 {
        FlowSelection::Intent(hit) => Some(hit.name),
        _ => None,
    }
}
