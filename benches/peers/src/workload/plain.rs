//! Plain rules: nearly every route has a rare word or tag of its own, and tests a few fields. The
//! literals have 6 to 20 bytes, and texts often contain nearly one of them.
//!
//! The routes have these conditions:
//!
//! - 30 in a hundred: one literal, and one or two fields;
//! - 15: one of two literals, and a field;
//! - 8: a literal or a tag, or one of three literals;
//! - 5: a literal, or a literal at the text's beginning;
//! - 7: one literal, and not a common word;
//! - 10: a regex and a field;
//! - 8: a literal at the text's beginning, and a field;
//! - 5: the whole text;
//! - 12: a tag and one or two fields.
//!
//! Of the literals, 40 in a hundred are a verb and an invented word, 15 are Chinese, and the others
//! are an invented word. Thirty verbs are shared by all routes and texts. A message has seven
//! fields next to its text: role, channel, three numbers, a flag, and up to five tags.

use super::generate::Workload;
use super::message::Message;
use super::random::Random;
use super::route::{CHANNEL, Comparison, Number, PRESENT, ROLE, Term, Words};
use super::verbs;
use super::vocabulary::{CHANNELS, Density, Language, ROLES, Vocabulary, distinct};

/// Number of verbs that all routes and texts share.
const SHARED_VERBS: usize = 30;
/// Lengths of literals in bytes.
const LITERAL_BYTES: std::ops::RangeInclusive<usize> = 6..=20;
const ONSETS: &[&str] = &[
    "b", "br", "c", "cr", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "pr", "r", "s",
    "st", "t", "v", "x",
];
const NUCLEI: &[&str] = &["a", "e", "i", "o", "u", "ai", "ea", "ou"];
const COMMON: &[&str] = &[
    "about",
    "account",
    "after",
    "again",
    "all",
    "also",
    "and",
    "another",
    "any",
    "back",
    "because",
    "been",
    "before",
    "between",
    "both",
    "call",
    "can",
    "change",
    "close",
    "could",
    "customer",
    "day",
    "detail",
    "does",
    "done",
    "each",
    "email",
    "every",
    "file",
    "first",
    "for",
    "from",
    "get",
    "give",
    "good",
    "group",
    "have",
    "help",
    "here",
    "how",
    "into",
    "invoice",
    "issue",
    "just",
    "know",
    "last",
    "later",
    "line",
    "list",
    "look",
    "made",
    "make",
    "many",
    "message",
    "more",
    "morning",
    "most",
    "much",
    "must",
    "name",
    "need",
    "never",
    "new",
    "next",
    "now",
    "number",
    "office",
    "old",
    "only",
    "order",
    "other",
    "our",
    "over",
    "page",
    "part",
    "people",
    "place",
    "please",
    "point",
    "problem",
    "question",
    "really",
    "report",
    "right",
    "same",
    "send",
    "service",
    "should",
    "some",
    "still",
    "such",
    "system",
    "take",
    "team",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "this",
    "through",
    "time",
    "today",
    "tomorrow",
    "under",
    "until",
    "use",
    "user",
    "very",
    "want",
    "was",
    "week",
    "well",
    "were",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "without",
    "work",
    "would",
    "year",
    "yesterday",
    "you",
    "your",
];
/// Maximum number of tags of a message.
const MOST_TAGS: usize = 5;
/// Mean number of tags of a message.
const MEAN_TAGS: f64 = MOST_TAGS as f64 / 2.0;
/// The numbers that messages of these rules have.
const NUMBERS: [Number; 3] = [Number::MessageCount, Number::AgeDays, Number::Total];

/// Generates a vocabulary with as many invented words as routes, and a tag for four routes.
pub fn vocabulary(routes: usize, random: &mut Random) -> Vocabulary {
    let common = Language::common();
    let mut vocabulary = Vocabulary::new(routes, Density::Rare, random);
    let taken: Vec<String> = COMMON.iter().map(|word| (*word).to_owned()).collect();
    vocabulary.words = distinct(60 + routes, random, &taken, |random, _| invented(random));
    vocabulary.chinese = distinct(30 + routes / 4, random, &[], |random, _| {
        let length = 2 + random.below(3);
        common.chinese(random, length)
    });
    vocabulary.tags = (0..20 + routes / 4).map(|at| format!("{}-{at}", COMMON[at % COMMON.len()])).collect();
    vocabulary
}

/// Invents a word of two to four syllables, sometimes followed by a consonant, and sometimes by up
/// to three digits.
fn invented(random: &mut Random) -> String {
    loop {
        let syllables = 2 + random.below(3);
        let mut word = String::new();
        for _ in 0..syllables {
            word.push_str(random.pick(ONSETS));
            word.push_str(random.pick(NUCLEI));
        }
        if random.chance(40) {
            word.push_str(random.pick(ONSETS));
        }
        if random.chance(30) {
            let digits = 1 + random.below(3) as u32;
            word.push_str(&random.below(10_usize.pow(digits)).to_string());
        }
        if LITERAL_BYTES.contains(&word.len()) {
            return word;
        }
    }
}

/// Returns the terms of a route, and the estimated fraction of messages that the route matches by
/// chance. No text contains a literal by chance.
pub fn terms(vocabulary: &Vocabulary, random: &mut Random) -> (Vec<Term>, f64) {
    let fields = |random: &mut Random, count: usize, first: Term, often: f64| {
        let (mut terms, mut often) = (vec![first], often);
        while terms.len() <= count {
            let (term, passes) = field(random);
            if terms.iter().all(|other| std::mem::discriminant(other) != std::mem::discriminant(&term)) {
                terms.push(term);
                often *= passes;
            }
        }
        // Authors write the text test first or last.
        if random.chance(50) {
            terms.rotate_left(1);
        }
        (terms, often)
    };
    let either = |left, right| Term::Either(Box::new(left), Box::new(right));
    let literal = |random: &mut Random| contains(vec![literal(vocabulary, random)]);
    let starts =
        |random: &mut Random| Term::StartsWith { word: self::literal(vocabulary, random), fold: false };
    match random.below(100) {
        0..30 => {
            let (first, count) = (literal(random), 1 + random.below(2));
            fields(random, count, first, 0.0)
        }
        30..45 => {
            let first = either(literal(random), literal(random));
            fields(random, 1, first, 0.0)
        }
        45..49 => {
            let (tag, often) = tag(vocabulary, random);
            (vec![either(literal(random), tag)], often)
        }
        49..53 => {
            let words = (0..3).map(|_| self::literal(vocabulary, random)).collect();
            (vec![contains(words)], 0.0)
        }
        53..58 => (vec![either(literal(random), starts(random))], 0.0),
        58..65 => (vec![literal(random), Term::Lacks(random.pick(COMMON).to_owned())], 0.0),
        65..75 => {
            let first = regex(vocabulary, random);
            fields(random, 1, first, 0.0)
        }
        75..83 => {
            let first = starts(random);
            fields(random, 1, first, 0.0)
        }
        83..88 => (vec![Term::TextIs(self::literal(vocabulary, random))], 0.0),
        _ => {
            let ((first, often), count) = (tag(vocabulary, random), 1 + random.below(2));
            fields(random, count, first, often)
        }
    }
}

fn contains(words: Vec<String>) -> Term {
    Term::Contains { words, joined: Words::Any, fold: false }
}

fn tag(vocabulary: &Vocabulary, random: &mut Random) -> (Term, f64) {
    let tags = &vocabulary.tags;
    (Term::Tagged(tags[random.below(tags.len())].clone()), MEAN_TAGS / tags.len() as f64)
}

fn literal(vocabulary: &Vocabulary, random: &mut Random) -> String {
    let word = |random: &mut Random| vocabulary.words[random.below(vocabulary.words.len())].clone();
    match random.below(100) {
        0..40 => loop {
            let literal = format!("{} {}", random.pick(&verbs::VERBS[..SHARED_VERBS]), word(random));
            if LITERAL_BYTES.contains(&literal.len()) {
                return literal;
            }
        },
        40..55 => {
            let name = &vocabulary.chinese[random.below(vocabulary.chinese.len())];
            if random.chance(50) {
                name.clone()
            } else {
                format!("{}{name}", random.pick(verbs::CHINESE_VERBS))
            }
        }
        _ => word(random),
    }
}

fn regex(vocabulary: &Vocabulary, random: &mut Random) -> Term {
    let word = vocabulary.words[random.below(vocabulary.words.len())].clone();
    let (verb, other) = (random.pick(&verbs::VERBS[..SHARED_VERBS]), random.pick(COMMON));
    let (pattern, example) = match random.below(3) {
        0 => (format!("{verb} [a-z]+ {word}"), format!("{verb} {other} {word}")),
        1 => (format!("({verb}|{other}) +{word}s?"), format!("{other}  {word}")),
        _ => (format!("{word}[- ]?[0-9]{{2,4}}"), format!("{word}-204")),
    };
    Term::Matches { pattern, literals: vec![word], examples: vec![example], fold: false }
}

/// Returns a test of a field, and the fraction of messages for which it is true.
fn field(random: &mut Random) -> (Term, f64) {
    let present = PRESENT as f64 / 100.0;
    match random.below(10) {
        0 => (Term::Is(ROLE, random.pick(ROLES).to_owned()), present / ROLES.len() as f64),
        1 | 2 => {
            let first = random.below(ROLES.len());
            let roles = (0..3).map(|at| ROLES[(first + at * 5) % ROLES.len()].to_owned()).collect();
            (Term::OneOf(ROLE, roles), 3.0 * present / ROLES.len() as f64)
        }
        3 => {
            let channel = random.pick(CHANNELS).to_owned();
            (Term::IsNot(CHANNEL, channel), 1.0 - 1.0 / CHANNELS.len() as f64)
        }
        4 => (Term::IsNew, present / 2.0),
        _ => {
            let number = NUMBERS[random.below(NUMBERS.len())];
            let part = 0.2 + 0.6 * random.below(1_000) as f64 / 1_000.0;
            let present = if number == Number::MessageCount { 1.0 } else { present };
            let (comparison, passes) =
                if random.chance(50) { (Comparison::AtLeast, 1.0 - part) } else { (Comparison::Below, part) };
            (Term::Compare(number, comparison, number.round(part * number.limit())), passes * present)
        }
    }
}

/// Generates a message of the workload. No route's condition is made true on purpose, but a text in
/// three contains nearly a literal.
pub fn message(workload: &Workload, random: &mut Random) -> Message {
    let chinese = random.chance(15);
    let mut message = Message::of_text(text(workload, random, chinese));
    message.strings[CHANNEL] = random.pick(CHANNELS).to_owned();
    if random.chance(PRESENT) {
        message.strings[ROLE] = random.pick(ROLES).to_owned();
    }
    for number in NUMBERS {
        if number == Number::MessageCount || random.chance(PRESENT) {
            let unit = random.below(1_000_000) as f64 / 1_000_000.0;
            message.numbers[number as usize] = number.round(unit * number.limit());
        }
    }
    message.is_new = random.chance(PRESENT).then(|| random.chance(50));
    let tags = &workload.vocabulary.tags;
    message.tags = (0..random.below(MOST_TAGS + 1)).map(|_| tags[random.below(tags.len())].clone()).collect();
    message
}

/// Generates a text of 4 to 28 common words, with up to two pairs of a verb and a common word.
fn text(workload: &Workload, random: &mut Random, chinese: bool) -> String {
    let count = 4 + random.below(25);
    let mut parts: Vec<String> = (0..count)
        .map(|_| if chinese { Vocabulary::filler(random, true) } else { random.pick(COMMON) }.to_owned())
        .collect();
    for _ in 0..random.below(3) {
        let pair = if chinese {
            format!("{}{}", random.pick(verbs::CHINESE_VERBS), random.pick(verbs::CHINESE_NOUNS))
        } else {
            format!("{} {}", random.pick(&verbs::VERBS[..SHARED_VERBS]), random.pick(COMMON))
        };
        parts.insert(random.below(parts.len()), pair);
    }
    if random.below(3) == 0 {
        let route = &workload.routes[random.below(workload.routes.len())];
        if let Some(literal) = route.terms.iter().find_map(first_literal) {
            parts.insert(random.below(parts.len()), spoiled(literal, random));
        }
    }
    parts.join(if chinese { "" } else { " " })
}

fn first_literal(term: &Term) -> Option<&str> {
    match term {
        Term::Contains { words, .. } => words.first().map(String::as_str),
        Term::StartsWith { word, .. } | Term::TextIs(word) => Some(word),
        Term::Matches { literals, .. } => literals.first().map(String::as_str),
        Term::Either(left, _) => first_literal(left),
        _ => None,
    }
}

/// Returns a copy of the literal in which one character of the second half is replaced.
fn spoiled(literal: &str, random: &mut Random) -> String {
    let mut characters: Vec<char> = literal.chars().collect();
    let at = characters.len() - 1 - random.below(characters.len() / 2);
    // No literal contains these characters.
    characters[at] = if literal.is_ascii() { 'w' } else { '误' };
    characters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Route, Shape, Variant};

    /// Generates rules, and returns them with the sum of the routes' estimated frequencies.
    fn workload(routes: usize) -> (Workload, f64) {
        let shape = Shape { routes, variant: Variant::Plain, density: Density::Rare, no_key: 5, seed: 7 };
        let mut random = Random::new(1);
        let vocabulary = vocabulary(routes, &mut random);
        let mut aimed = 0.0;
        let route = |rank: usize| {
            let (terms, often) = terms(&vocabulary, &mut random);
            aimed += often;
            Route { rank: rank as u32, priority: 0, terms }
        };
        let routes = (0..routes).map(route).collect();
        (Workload { shape, vocabulary, routes }, aimed)
    }

    fn holds(term: &Term, message: &Message) -> bool {
        match term {
            Term::Contains { words, .. } => words.iter().any(|word| message.text.contains(word.as_str())),
            Term::Lacks(word) => !message.text.contains(word.as_str()),
            Term::StartsWith { word, .. } => message.text.starts_with(word.as_str()),
            Term::TextIs(text) => message.text == *text,
            Term::Matches { literals, .. } => {
                literals.iter().any(|word| message.text.contains(word.as_str()))
            }
            Term::Is(field, value) => message.strings[*field] == *value,
            Term::IsNot(field, value) => message.strings[*field] != *value,
            Term::OneOf(field, values) => values.contains(&message.strings[*field]),
            Term::Compare(field, Comparison::AtLeast, value) => message.numbers[*field as usize] >= *value,
            Term::Compare(field, Comparison::Below, value) => message.numbers[*field as usize] < *value,
            Term::Tagged(tag) => message.tags.contains(tag),
            Term::IsNew => message.is_new == Some(true),
            Term::Either(left, right) => holds(left, message) || holds(right, message),
        }
    }

    /// Checks the estimated frequencies with random messages. The estimates must add up to the
    /// measured number of matches per message, within a third.
    #[test]
    fn frequencies_of_plain_routes() {
        const MESSAGES: usize = 2_000;
        for routes in [100, 3_000] {
            let (workload, aimed) = workload(routes);
            let mut random = Random::new(2);
            let holding = (0..MESSAGES).map(|_| {
                let message = Message::random(&workload, &mut random);
                let all = |route: &&Route| route.terms.iter().all(|term| holds(term, &message));
                workload.routes.iter().filter(all).count()
            });
            let measured = holding.sum::<usize>() as f64 / MESSAGES as f64;
            let ratio = measured / aimed;
            assert!((0.75..1.33).contains(&ratio), "{routes}: aimed at {aimed:.2}, measured {measured:.2}");
        }
    }

    #[test]
    fn literals_have_the_described_lengths_and_kinds() {
        let mut random = Random::new(3);
        let vocabulary = vocabulary(3_000, &mut random);
        let literals: Vec<String> = (0..3_000).map(|_| literal(&vocabulary, &mut random)).collect();
        assert!(literals.iter().all(|literal| LITERAL_BYTES.contains(&literal.len())), "{literals:?}");
        let share =
            |is: fn(&String) -> bool| literals.iter().filter(|word| is(word)).count() as f64 / 3_000.0;
        let (verbs, chinese) = (share(|word| word.contains(' ')), share(|word| !word.is_ascii()));
        assert!((0.36..0.44).contains(&verbs) && (0.13..0.17).contains(&chinese), "{verbs} {chinese}");
    }
}
