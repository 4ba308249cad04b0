//! Reads the earlier messages of a test: `given history = [ { tool: "login", ago: 5m } ]`.

use super::value::value_mismatch_message;
use crate::check::history::{AGO_FIELD, HISTORY_NAME};
use crate::check::{Checked, Checker};
use rulec_base::diag::Code;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::history::{AT_FIELD, POSITION_FIELD};
use rulec_lang::ty::{Field, Ty};
use rulec_lang::value::{format_datetime, parse_datetime};
use rulec_syntax::ast::{self, Ident};
use serde_json::{Map, Value as Json};
use time::{Duration, OffsetDateTime};

/// The earlier messages that a test gives, with the span of their list.
pub(super) struct GivenHistory {
    messages: Vec<Map<String, Json>>,
    span: Span,
}

impl<'a> Checker<'a> {
    /// True if `path`, to which a test gives a value, is the list of earlier messages and not a
    /// field of the message.
    pub(super) fn is_given_history(&self, path: &[Ident]) -> bool {
        matches!(path, [name] if name.node == HISTORY_NAME && self.is_history_name(HISTORY_NAME))
    }

    /// Reads a list of earlier messages. Each may have some of the fields of the input, a
    /// `decision`, and its time as `at` or its age as `ago`.
    pub(super) fn read_given_history(&mut self, value: &'a ast::Expr) -> Checked<GivenHistory> {
        let (json, span) = (self.evaluate_constant(value)?, value.span);
        let element = self.history_element_type.clone().unwrap_or(Ty::ANY);
        let mut record = element.fields().cloned().unwrap_or_default();
        record.push(Field { name: AGO_FIELD.into(), ty: Ty::NUMBER, is_optional: true, is_private: false });
        let help = message!(
            "write earlier messages, oldest first: `given history = [ {{ tool: \"login\", ago: 5m }} ]`"
        );
        let list = Ty::list(Ty::record(record.clone()));
        if let Some(found) = self.report_unknown_key(value, &list, HISTORY_NAME) {
            return found;
        }
        if let Some(message) = value_mismatch_message(&json, &Ty::list(Ty::record(record)), HISTORY_NAME) {
            return self.fail(Code::TestInput, span, message, help);
        }
        let Json::Array(elements) = json else {
            return self.fail(Code::TestInput, span, message!("the history is a list"), help);
        };
        let elements = elements.into_iter().map(|element| match element {
            Json::Object(element) => element,
            _ => Map::new(),
        });
        Ok(GivenHistory { messages: elements.collect(), span })
    }

    /// Returns the earlier messages sorted by time, each with its time and its index added as
    /// fields. `message` is the message of the test, whose field `now` is the current time.
    pub(super) fn sorted_messages(
        &mut self,
        past: &GivenHistory,
        message: &Map<String, Json>,
    ) -> Checked<Vec<Json>> {
        let parse = |json: Option<&Json>| json.and_then(Json::as_str).and_then(parse_datetime);
        let now = parse(message.get("now"));
        let mut elements: Vec<(OffsetDateTime, Map<String, Json>)> = Vec::with_capacity(past.messages.len());
        for element in &past.messages {
            let mut element = element.clone();
            let ago = element.remove(AGO_FIELD).and_then(|ago| ago.as_f64());
            let at = match (parse(element.get(AT_FIELD)), now) {
                (Some(at), _) => Some(at),
                (None, now) => now.and_then(|now| {
                    now.checked_sub(Duration::seconds_f64(ago.unwrap_or(0.0).clamp(0.0, 1e10)))
                }),
            };
            let Some(at) = at else {
                let message = message!("an earlier message has no time");
                let help = message!(
                    "give the test the current time, `given now = \"2026-01-31T12:00:00Z\"`, or each message its time `at`"
                );
                return self.fail(Code::TestInput, past.span, message, help);
            };
            elements.push((at, element));
        }
        elements.sort_by_key(|(at, _)| *at);
        let place = |(position, (at, mut element)): (usize, (OffsetDateTime, Map<String, Json>))| {
            element.insert(AT_FIELD.to_owned(), format_datetime(at).into());
            element.insert(POSITION_FIELD.to_owned(), position.into());
            Json::Object(element)
        };
        Ok(elements.into_iter().enumerate().map(place).collect())
    }
}
