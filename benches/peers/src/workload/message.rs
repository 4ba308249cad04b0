//! Generates messages of 20 to 200 bytes, three in ten Chinese. Sometimes a field of the context is
//! missing.

use super::generate::{Variant, Workload};
use super::random::Random;
use super::route::{CHANNEL, COUNTRY, Comparison, ERROR, Number, PRESENT, PRODUCT, ROLE, Route, Term, Words};
use super::vocabulary::{CHANNELS, COUNTRIES, ERRORS, ROLES, Vocabulary};
use serde_json::{Map, Value as Json};

/// A message as a Rust program would store it; the hand-written baselines read it.
#[derive(Clone, Debug)]
pub struct Message {
    pub text: String,
    /// Values of the string fields by field number; empty if missing, because no value is empty.
    pub strings: [String; 5],
    /// Values of the number fields by field number; NaN if missing, because no comparison with NaN
    /// is true.
    pub numbers: [f64; 5],
    pub tags: Vec<String>,
    pub is_new: Option<bool>,
}

/// Percentage of messages into which all words of one route's text test are inserted.
const PLANTED: usize = 40;

impl Message {
    /// Creates a message that has only a text.
    pub fn of_text(text: String) -> Message {
        Message { text, strings: Default::default(), numbers: [f64::NAN; 5], tags: Vec::new(), is_new: None }
    }

    /// Generates a message of the workload.
    pub fn random(workload: &Workload, random: &mut Random) -> Message {
        if workload.shape.variant == Variant::Plain {
            return super::plain::message(workload, random);
        }
        let chinese = random.chance(30);
        let text = match workload.shape.variant {
            Variant::Verbs => super::verbs::text(random, chinese),
            _ => text(workload, random, chinese),
        };
        let mut message = Message {
            text,
            strings: context_strings(workload, random),
            numbers: [f64::NAN; 5],
            tags: Vec::new(),
            is_new: random.chance(PRESENT).then(|| random.chance(50)),
        };
        for field in Number::ALL {
            if field == Number::MessageCount || random.chance(PRESENT) {
                let unit = random.below(1_000_000) as f64 / 1_000_000.0;
                message.numbers[field as usize] = field.round(unit * field.limit());
            }
        }
        if random.chance(PRESENT) {
            let tags = &workload.vocabulary.tags;
            message.tags = (0..2).map(|_| tags[random.below(tags.len())].clone()).collect();
        }
        if random.chance(PLANTED) {
            let route = &workload.routes[random.below(workload.routes.len())];
            for term in &route.terms {
                message.plant(term, random);
            }
        }
        message
    }

    /// Generates a message that the route matches, unless its terms contradict each other.
    pub fn satisfying(workload: &Workload, route: &Route, random: &mut Random) -> Message {
        let mut message = Message::random(workload, random);
        for term in &route.terms {
            message.plant(term, random);
        }
        for term in &route.terms {
            message.satisfy(term, random);
        }
        message
    }

    /// Inserts words into the text so that a test of the text is true.
    fn plant(&mut self, term: &Term, random: &mut Random) {
        match term {
            Term::Contains { words, joined: Words::All, .. } => {
                words.iter().for_each(|word| self.insert(word, random));
            }
            Term::Contains { words, .. } => self.insert(&words[random.below(words.len())], random),
            Term::StartsWith { word, .. } => {
                self.text.insert_str(0, word);
                self.cut();
            }
            Term::Matches { pattern, examples, .. } => {
                let example = &examples[random.below(examples.len())];
                if pattern.starts_with('^') {
                    self.text.insert_str(0, &format!("{example} "));
                    self.cut();
                } else {
                    self.insert(example, random);
                }
            }
            Term::TextIs(wanted) => self.text.clone_from(wanted),
            Term::Either(left, right) if left.is_search() || right.is_search() => {
                self.plant(if random.chance(50) { left } else { right }, random);
            }
            _ => {}
        }
    }

    /// Sets a field to a value that the context test accepts.
    fn satisfy(&mut self, term: &Term, random: &mut Random) {
        match term {
            Term::Is(field, value) => self.strings[*field] = value.clone(),
            Term::OneOf(field, values) => self.strings[*field] = values[random.below(values.len())].clone(),
            Term::IsNot(field, value)
                if self.strings[*field] == *value || self.strings[*field].is_empty() =>
            {
                self.strings[*field] = "other".to_owned();
            }
            Term::Compare(field, comparison, threshold) => {
                let room = match comparison {
                    Comparison::AtLeast => field.limit() - threshold,
                    Comparison::Below => *threshold,
                };
                let part = field.round(room * random.below(1000) as f64 / 1000.0);
                self.numbers[*field as usize] = match comparison {
                    Comparison::AtLeast => threshold + part,
                    Comparison::Below => part,
                };
            }
            Term::Tagged(tag) if !self.tags.contains(tag) => self.tags.push(tag.clone()),
            Term::IsNew => self.is_new = Some(true),
            Term::Either(left, right) => self.satisfy(if random.chance(50) { left } else { right }, random),
            Term::Lacks(word) => self.text = self.text.replace(word, "-"),
            _ => {}
        }
    }

    /// Inserts a word into the text, between other words if the text has spaces.
    fn insert(&mut self, word: &str, random: &mut Random) {
        let mut at = random.below(self.text.len().max(1));
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        if let Some(space) = self.text[..at].rfind(' ') {
            at = space + 1;
        }
        let spaced = if word.is_ascii() { format!("{word} ") } else { word.to_owned() };
        // The text is cut at its end to make room, so that words inserted before stay whole.
        self.text.insert_str(at, &spaced);
        self.cut();
    }

    fn cut(&mut self) {
        while self.text.len() > 200 {
            self.text.pop();
        }
    }

    /// Returns the message as JSON.
    pub fn json(&self) -> Json {
        let mut root = Map::new();
        root.insert("text".into(), self.text.as_str().into());
        let mut put = |path: &str, value: Json| {
            let mut object = &mut root;
            let mut names = path.split('.').peekable();
            while let Some(name) = names.next() {
                if names.peek().is_none() {
                    object.insert(name.to_owned(), value);
                    return;
                }
                let inner = object.entry(name.to_owned()).or_insert_with(|| Json::Object(Map::new()));
                let Json::Object(inner) = inner else { return };
                object = inner;
            }
        };
        for (path, value) in super::route::STRINGS.iter().zip(&self.strings) {
            if !value.is_empty() {
                put(path, value.as_str().into());
            }
        }
        for field in Number::ALL {
            let value = self.numbers[field as usize];
            match field {
                _ if value.is_nan() => {}
                Number::Score => put(field.path(), value.into()),
                _ => put(field.path(), (value as i64).into()),
            }
        }
        if !self.tags.is_empty() {
            put("ctx.tags", self.tags.clone().into());
        }
        if let Some(is_new) = self.is_new {
            put("ctx.is_new", is_new.into());
        }
        Json::Object(root)
    }
}

fn context_strings(workload: &Workload, random: &mut Random) -> [String; 5] {
    let mut strings: [String; 5] = Default::default();
    strings[CHANNEL] = random.pick(CHANNELS).to_owned();
    for (field, values) in [(ROLE, ROLES), (COUNTRY, COUNTRIES), (ERROR, ERRORS)] {
        if random.chance(PRESENT) {
            strings[field] = random.pick(values).to_owned();
        }
    }
    if random.chance(PRESENT) {
        let products = &workload.vocabulary.products;
        strings[PRODUCT] = products[random.below(products.len())].clone();
    }
    strings
}

/// Generates a text of 20 to 160 bytes, which leaves room for planted words.
fn text(workload: &Workload, random: &mut Random, chinese: bool) -> String {
    let length = 20 + random.below(140);
    let (vocabulary, density) = (&workload.vocabulary, workload.shape.density);
    let (asked, ordinary) = match chinese {
        true => (&vocabulary.chinese, &vocabulary.ordinary_chinese),
        false => (&vocabulary.words, &vocabulary.ordinary),
    };
    let fillers = 100 - density.rule_word_percentage() - density.ordinary();
    let mut text = String::with_capacity(256);
    while text.len() < length {
        if !chinese && !text.is_empty() {
            text.push(' ');
        }
        let kind = random.below(100);
        if kind < fillers {
            text.push_str(Vocabulary::filler(random, chinese));
            continue;
        }
        let words = if kind < fillers + density.rule_word_percentage() { asked } else { ordinary };
        let word = &words[Vocabulary::skewed(random, words.len())];
        match word.as_bytes()[0] {
            first @ b'a'..=b'z' if random.chance(10) => {
                text.push(first.to_ascii_uppercase().into());
                text.push_str(&word[1..]);
            }
            _ => text.push_str(word),
        }
    }
    text
}
