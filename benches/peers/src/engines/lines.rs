//! Measures the time from a line of JSON to the decision. Compares rulec, which has a JSON reader
//! of its own, with a textbook index (`keyed`), for which `serde_json` reads the line into structs.

use super::keyed::{Buffers, Keyed, LiteralScan};
use super::rulec::Decider;
use super::{Engine, Ready, Sample};
use crate::workload::route::{CHANNEL, COUNTRY, ERROR, PRODUCT, ROLE};
use crate::workload::{Message, Number};
use ::rulec::Session;
use rulec_eval::decision::Chosen;
use serde::Deserialize;

/// The struct into which a Rust program would deserialize the JSON of a message.
#[derive(Deserialize)]
struct Line {
    text: String,
    ctx: Context,
}

#[derive(Deserialize)]
struct Context {
    message_count: i64,
    channel: String,
    score: Option<f64>,
    is_new: Option<bool>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    user: User,
    #[serde(default)]
    order: Order,
    last_error: Option<LastError>,
}

#[derive(Default, Deserialize)]
struct User {
    #[serde(default)]
    role: String,
    age_days: Option<i64>,
    #[serde(default)]
    country: String,
}

#[derive(Default, Deserialize)]
struct Order {
    total: Option<i64>,
    items: Option<i64>,
    #[serde(default)]
    product: String,
}

#[derive(Deserialize)]
struct LastError {
    r#type: String,
}

impl From<Line> for Message {
    fn from(Line { text, ctx }: Line) -> Message {
        let mut message = Message::of_text(text);
        message.strings[ROLE] = ctx.user.role;
        message.strings[CHANNEL] = ctx.channel;
        message.strings[COUNTRY] = ctx.user.country;
        message.strings[PRODUCT] = ctx.order.product;
        message.strings[ERROR] = ctx.last_error.map(|error| error.r#type).unwrap_or_default();
        let integer = |value: Option<i64>| value.map_or(f64::NAN, |value| value as f64);
        message.numbers[Number::MessageCount as usize] = ctx.message_count as f64;
        message.numbers[Number::AgeDays as usize] = integer(ctx.user.age_days);
        message.numbers[Number::Total as usize] = integer(ctx.order.total);
        message.numbers[Number::Items as usize] = integer(ctx.order.items);
        message.numbers[Number::Score as usize] = ctx.score.unwrap_or(f64::NAN);
        message.tags = ctx.tags;
        message.is_new = ctx.is_new;
        message
    }
}

/// Reads a message from its JSON text. `None` if it has another form.
pub fn parse(line: &[u8]) -> Option<Message> {
    Some(serde_json::from_slice::<Line>(line).ok()?.into())
}

/// Returns the messages as lines of JSON.
fn lines(samples: &[Sample]) -> Vec<String> {
    samples.iter().map(|sample| sample.json.to_string()).collect()
}

/// The index prototype for lines of JSON, which `serde_json` reads.
#[cfg_attr(not(feature = "hyperscan"), allow(dead_code, reason = "only Hyperscan searches the texts"))]
pub struct KeyedLines<'w, S>(pub Keyed<'w, S>);

impl<S: LiteralScan> Engine for KeyedLines<'_, S> {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        Box::new(ParsedLines { index: &self.0, lines: lines(samples), buffers: Buffers::default() })
    }
}

#[cfg_attr(not(feature = "hyperscan"), allow(dead_code, reason = "only Hyperscan searches the texts"))]
struct ParsedLines<'e, 'w, S> {
    index: &'e Keyed<'w, S>,
    lines: Vec<String>,
    buffers: Buffers,
}

impl<S: LiteralScan> Ready for ParsedLines<'_, '_, S> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        self.index.first(&parse(self.lines[at].as_bytes())?, &self.buffers)
    }
}

/// rulec with its default settings, from lines of JSON.
pub struct RulecLines(pub Decider);

impl Engine for RulecLines {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        Box::new(DecidedLines { session: self.0.session(), lines: lines(samples) })
    }
}

struct DecidedLines {
    session: Session,
    lines: Vec<String>,
}

impl Ready for DecidedLines {
    fn decide(&mut self, at: usize) -> Option<u32> {
        match self.session.decide_line(self.lines[at].as_bytes()).ok()?.statement()? {
            Chosen::Rule(rule) => Some(rule.index() as u32),
            Chosen::Default(_) => None,
        }
    }

    fn warm(&mut self, messages: usize) {
        super::rulec::warm(|from, count| self.batch(from % messages, count, messages));
    }
}
