//! Generates English and Chinese messages of 20 to 200 bytes. Sometimes a field of the message's
//! context is missing.

use super::random::Random;
use super::words::{
    CHANNELS, CHINESE, CHINESE_FILLERS, COUNTRIES, ERRORS, FILLERS, NOUNS, ROLES, TAGS, VERBS,
};
use serde_json::{Map, Value as Json, json};

/// Generates `count` messages: three in ten are Chinese, and half contain one of the phrases. Equal
/// seeds give equal messages.
pub fn messages(count: usize, phrases: &[String], seed: u64) -> Vec<Json> {
    let mut random = Random::new(seed);
    (0..count).map(|_| message(&mut random, phrases)).collect()
}

fn message(random: &mut Random, phrases: &[String]) -> Json {
    let mut text = text(random);
    if !phrases.is_empty() && random.chance(50) {
        let phrase = &phrases[random.below(phrases.len())];
        let at = if random.chance(30) { 0 } else { text.find(' ').map_or(0, |at| at + 1) };
        let after = text.split_off(at);
        text = format!("{text}{phrase} {after}");
        while text.len() > 200 {
            text.pop();
        }
    }
    json!({ "text": text, "ctx": context(random) })
}

/// Generates a text of 20 to 200 bytes.
fn text(random: &mut Random) -> String {
    let length = 20 + random.below(180);
    let chinese = random.chance(30);
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        let word = match (chinese, random.below(6)) {
            (true, 0) => random.pick(CHINESE),
            (true, _) => random.pick(CHINESE_FILLERS),
            (false, 0) => random.pick(NOUNS),
            (false, 1) => random.pick(VERBS),
            (false, _) => random.pick(FILLERS),
        };
        if !chinese && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    while text.len() > 200 {
        text.pop();
    }
    text
}

fn context(random: &mut Random) -> Json {
    let mut ctx = Map::new();
    ctx.insert("message_count".into(), random.below(30).into());
    ctx.insert("channel".into(), random.pick(CHANNELS).into());
    let mut optional =
        |ctx: &mut Map<String, Json>, name: &str, make: &mut dyn FnMut(&mut Random) -> Json| {
            if random.chance(80) {
                let value = make(random);
                ctx.insert(name.into(), value);
            }
        };
    optional(&mut ctx, "country", &mut |random| random.pick(COUNTRIES).into());
    optional(&mut ctx, "score", &mut |random| (random.below(1000) as f64 / 1000.0).into());
    optional(&mut ctx, "is_new", &mut |random| random.chance(50).into());
    optional(&mut ctx, "tags", &mut |random| json!([random.pick(TAGS), random.pick(TAGS)]));
    optional(
        &mut ctx,
        "user",
        &mut |random| json!({ "role": random.pick(ROLES), "age_days": random.below(400) }),
    );
    optional(
        &mut ctx,
        "order",
        &mut |random| json!({ "total": random.below(1000), "items": random.below(9) }),
    );
    optional(
        &mut ctx,
        "last_error",
        &mut |random| json!({ "type": random.pick(ERRORS), "count": random.below(6) }),
    );
    Json::Object(ctx)
}
