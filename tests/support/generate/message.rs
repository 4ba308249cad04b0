//! Generates random messages for the generated programs.

use super::super::random::Random;
use super::decide::ANSWERS;
use super::{DECIMALS, FLOATS, GAPS, INTS, TIERS, TIMES, WORDS};
use serde_json::{Map, Value as Json, json};

/// Generates a random message, whose fields are present, missing, null or of a wrong type.
pub fn message(random: &mut Random) -> Json {
    let mut ctx = Map::new();
    let mut user = Map::new();
    put(random, &mut user, "role", |random| random.pick(WORDS).into());
    put(random, &mut user, "vip", |random| random.chance(60).into());
    put(random, &mut ctx, "user", |_| Json::Object(user.clone()));
    put(random, &mut ctx, "s", text);
    put(random, &mut ctx, "n", int);
    put(random, &mut ctx, "count", int);
    put(random, &mut ctx, "f", float);
    put(random, &mut ctx, "b", |random| random.chance(60).into());
    put(random, &mut ctx, "at", |random| random.pick(TIMES).into());
    put(random, &mut ctx, "tier", tier);
    put(random, &mut ctx, "tiers", |random| list(random, tier));
    put(random, &mut ctx, "by", |random| json!({"a": tier(random)}));
    put(random, &mut ctx, "tags", |random| list(random, |random| random.pick(WORDS).into()));
    put(random, &mut ctx, "nums", |random| list(random, int));
    put(random, &mut ctx, "mixed", |random| list(random, anything));
    put(random, &mut ctx, "scores", |random| json!({"a": float(random), "b": anything(random)}));
    put(random, &mut ctx, "extra", anything);
    put(random, &mut ctx, "d", decimal);
    put(random, &mut ctx, "total", decimal);
    put(random, &mut ctx, "money", |random| list(random, decimal));
    put(random, &mut ctx, "fees", |random| json!({"a": decimal(random), "b": decimal(random)}));
    let mut message = Map::new();
    put(random, &mut message, "text", text);
    put(random, &mut message, "now", |random| random.pick(TIMES).into());
    put(random, &mut message, "ctx", |_| Json::Object(ctx.clone()));
    put(random, &mut message, "answers", |random| {
        let mut answers = Map::new();
        put(random, &mut answers, "c1", |random| random.pick(ANSWERS).into());
        Json::Object(answers)
    });
    put(random, &mut message, "next", |_| json!(["first", "second"]));
    put(random, &mut message, "output", |random| {
        let mut output = Map::new();
        put(random, &mut output, "done", |random| random.chance(50).into());
        put(random, &mut output, "score", int);
        put(
            random,
            &mut output,
            "to",
            |random| if random.chance(50) { text(random) } else { list(random, text) },
        );
        Json::Object(output)
    });
    put(random, &mut message, "items", |random| {
        list(random, |random| {
            let mut item = Map::new();
            put(random, &mut item, "price", float);
            put(random, &mut item, "name", text);
            put(random, &mut item, "tags", |random| list(random, |random| random.pick(WORDS).into()));
            if random.chance(5) { anything(random) } else { Json::Object(item) }
        })
    });
    Json::Object(message)
}

fn put(random: &mut Random, map: &mut Map<String, Json>, key: &str, make: impl Fn(&mut Random) -> Json) {
    match random.below(100) {
        0..=5 => {}
        6..=8 => {
            map.insert(key.to_owned(), Json::Null);
        }
        9..=13 => {
            let wrong = anything(random);
            map.insert(key.to_owned(), wrong);
        }
        _ => {
            let value = make(random);
            map.insert(key.to_owned(), value);
        }
    }
}

/// Generates a value of the enumerations, or another text.
fn tier(random: &mut Random) -> Json {
    if random.chance(85) { random.pick(TIERS).into() } else { random.pick(WORDS).into() }
}

fn text(random: &mut Random) -> Json {
    let mut text = String::new();
    for _ in 0..random.below(5) {
        text.push_str(random.pick(WORDS));
        text.push_str(random.pick(GAPS));
    }
    text.into()
}

fn int(random: &mut Random) -> Json {
    let at = if random.chance(85) { random.below(9) } else { random.below(INTS.len()) };
    if random.chance(3) {
        return serde_json::from_str(random.pick(FLOATS)).unwrap_or(Json::Null);
    }
    serde_json::from_str(&INTS[at].to_string()).unwrap_or(Json::Null)
}

fn float(random: &mut Random) -> Json {
    if random.chance(30) {
        return int(random);
    }
    let text = random.pick(FLOATS);
    serde_json::from_str(text).unwrap_or(Json::Null)
}

/// Generates a decimal, as a number or as a text of digits.
fn decimal(random: &mut Random) -> Json {
    let digits = random.pick(DECIMALS);
    match random.below(10) {
        0..=3 => digits.into(),
        4..=6 => serde_json::from_str(digits).unwrap_or(Json::Null),
        7 => float(random),
        8 => random.pick(&["9999999999999999999999999999", " 19.990 ", "x", "1e30", "0.1e-30"]).into(),
        _ => int(random),
    }
}

fn list(random: &mut Random, make: impl Fn(&mut Random) -> Json) -> Json {
    let count = random.below(5);
    (0..count).map(|_| if random.chance(8) { anything(random) } else { make(random) }).collect()
}

fn anything(random: &mut Random) -> Json {
    match random.below(9) {
        0 => Json::Null,
        1 => true.into(),
        2 => int(random),
        3 => float(random),
        4 => text(random),
        5 => json!([]),
        6 => json!({"role": "admin"}),
        7 => json!(["a", 1, null]),
        _ => random.pick(TIMES).into(),
    }
}
