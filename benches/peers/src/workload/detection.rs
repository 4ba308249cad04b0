//! Rules over many fields, like rules that detect attacks in logs. Each rule is about one category
//! of events. It compares some fields with lists of suffixes and substrings, mostly
//! case-insensitively, and excludes harmless events with `unless`.
//!
//! There are [`FIELDS`] fields; an event has twenty of them. A third of all rules and events are of
//! the first category, and each further category is rarer. So a test of the category is least
//! selective for the category with the most rules. One rule in ten tests texts only for equality.

use super::random::Random;
use super::vocabulary::{Language, distinct};
use serde_json::{Map, Value as Json};
use std::fmt::{self, Display, Formatter, Write};

/// Number of event categories.
const CATEGORIES: usize = 24;
/// Number of fields that events of every category may have.
const COMMON_FIELDS: usize = 24;
/// Number of fields that only one category's events may have, for each category.
const FIELDS_PER_CATEGORY: usize = 14;
/// Number of all fields, not counting the category.
pub const FIELDS: usize = COMMON_FIELDS + CATEGORIES * FIELDS_PER_CATEGORY;
/// Number of fields of an event, including the category.
const FIELDS_PER_EVENT: usize = 20;

/// How a field is compared with words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Contains,
    StartsWith,
    EndsWith,
    Is,
}

/// A comparison of a field with words. The test is true if one word matches or, if `all` is set,
/// every word.
#[derive(Clone, Debug)]
pub struct Test {
    pub field: usize,
    pub comparison: Comparison,
    pub words: Vec<String>,
    pub all: bool,
    pub fold: bool,
}

/// A rule. It matches an event of its category if each group has a test that is true, and no filter
/// is true.
#[derive(Clone, Debug)]
pub struct Rule {
    pub number: usize,
    pub category: usize,
    pub groups: Vec<Vec<Test>>,
    pub filters: Vec<Test>,
}

/// An event: its category, and its field values in the order of the field numbers.
#[derive(Clone, Debug)]
pub struct Event {
    pub category: usize,
    pub fields: Vec<(usize, String)>,
}

/// Generated rules, with the words from which rules and events are generated.
pub struct Detection {
    pub rules: Vec<Rule>,
    /// Words that rules test for; `ordinary` has the other words of events.
    words: Vec<String>,
    ordinary: Vec<String>,
}

/// Substrings that both rules and events use, such as parts of paths and command-line switches.
const USUAL: &[&str] = &[".exe", "\\system32\\", "==.", "http", "\\temp\\", ".dll", "admin", " /c ", "%20"];
const PLACES: &[&str] =
    &["C:\\Windows\\System32\\", "C:\\Program Files\\", "C:\\Users\\Public\\", "/usr/bin/", "D:\\Data\\"];
const LEVELS: &[&str] = &["High", "Medium", "Low", "System"];

impl Detection {
    pub fn new(rules: usize, seed: u64) -> Detection {
        let mut random = Random::new(seed ^ (rules as u64) << 8);
        let common = Language::common();
        let words = distinct(60 + rules * 2, &mut random, &[], |random, at| {
            common.english(random, 2 + usize::from(at > 200))
        });
        let ordinary = distinct(2_000, &mut random, &words, |random, _| common.english(random, 2));
        let mut made = Detection { rules: Vec::with_capacity(rules), words, ordinary };
        for number in 0..rules {
            let rule = made.rule(number, &mut random);
            made.rules.push(rule);
        }
        made
    }

    /// Returns the rule set as source text.
    pub fn source(&self) -> String {
        let mut out = String::from("input {\n  ctx: {\n    category: string\n");
        for field in 0..FIELDS {
            let _ = writeln!(out, "    {}?: string", name(field));
        }
        out.push_str("  }\n}\n");
        for rule in &self.rules {
            let _ = writeln!(out, "{rule}");
        }
        out.push_str("default -> nobody\n");
        out
    }

    fn rule(&self, number: usize, random: &mut Random) -> Rule {
        let category = category(random);
        let field = |random: &mut Random| field(category, random);
        if random.chance(10) {
            let is = |field, word: &str| vec![self.is(field, word)];
            let own = COMMON_FIELDS + category * FIELDS_PER_CATEGORY;
            let mut groups = vec![is(1, random.pick(LEVELS)), is(own + 1, random.pick(LEVELS))];
            groups.push(is(if random.chance(50) { 2 } else { own + 2 }, self.word(random)));
            groups.rotate_left(random.below(2));
            return Rule { number, category, groups, filters: Vec::new() };
        }
        let groups = match random.below(100) {
            // Several tests of the same words, each in another field.
            0..8 => {
                let first = self.test(field(random), random);
                let others = (0..2 + random.below(2)).map(|_| Test { field: field(random), ..first.clone() });
                vec![std::iter::once(first.clone()).chain(others).collect()]
            }
            8..45 => vec![vec![self.test(field(random), random)]],
            _ => (0..2 + random.below(2)).map(|_| vec![self.test(field(random), random)]).collect(),
        };
        let mut filters: Vec<Test> = Vec::new();
        for _ in 0..random.below(3) {
            let harmless = |place: &&str| (*place).to_owned();
            filters.push(match random.below(3) {
                0 => Test {
                    field: 4 * random.below(2),
                    comparison: Comparison::StartsWith,
                    words: PLACES.iter().skip(random.below(4)).take(2).map(harmless).collect(),
                    all: false,
                    fold: true,
                },
                _ => self.test(field(random), random),
            });
        }
        Rule { number, category, groups, filters }
    }

    fn word(&self, random: &mut Random) -> &str {
        &self.words[random.below(self.words.len())]
    }

    fn is(&self, field: usize, word: &str) -> Test {
        Test { field, comparison: Comparison::Is, words: vec![word.to_owned()], all: false, fold: false }
    }

    fn test(&self, field: usize, random: &mut Random) -> Test {
        let count = match random.below(100) {
            0..45 => 1,
            45..95 => 2 + random.below(5),
            _ => 20 + random.below(40),
        };
        let (comparison, all) = match random.below(100) {
            0..40 => (Comparison::EndsWith, false),
            40..85 => (Comparison::Contains, false),
            85..93 => (Comparison::Contains, count <= 6),
            93..97 => (Comparison::StartsWith, false),
            _ => (Comparison::Is, false),
        };
        let words = (0..count).map(|_| match (comparison, random.below(100)) {
            (Comparison::Contains, 0..4) => random.pick(USUAL).to_owned(),
            (Comparison::Contains, 4..40) => format!(" -{}", self.word(random)),
            (Comparison::EndsWith, _) => format!("\\{}.exe", self.word(random)),
            (Comparison::StartsWith, 0..50) => format!("{}{}", random.pick(PLACES), self.word(random)),
            _ => self.word(random).to_owned(),
        });
        Test { field, comparison, words: words.collect(), all, fold: random.chance(95) }
    }

    /// Generates an event. Three events in ten are generated for a rule of their category.
    pub fn event(&self, random: &mut Random) -> Event {
        let made_for = random.chance(30).then(|| &self.rules[random.below(self.rules.len())]);
        let category = made_for.map_or_else(|| category(random), |rule| rule.category);
        let mut fields: Vec<(usize, String)> = Vec::with_capacity(FIELDS_PER_EVENT);
        while fields.len() < FIELDS_PER_EVENT - 1 {
            let field = field(category, random);
            if fields.iter().all(|(known, _)| *known != field) {
                fields.push((field, self.value(field, random)));
            }
        }
        for group in made_for.map_or(&[][..], |rule| &rule.groups) {
            let test = &group[random.below(group.len())];
            let old = fields.iter().position(|(field, _)| *field == test.field);
            let mut value = old.map_or_else(|| self.value(test.field, random), |at| fields.swap_remove(at).1);
            test.plant(&mut value, random);
            fields.push((test.field, value));
        }
        fields.sort();
        Event { category, fields }
    }

    fn value(&self, field: usize, random: &mut Random) -> String {
        // A few values contain a word that some rule tests for.
        let word = |random: &mut Random| match random.below(100) {
            0..3 => self.word(random).to_owned(),
            _ => self.ordinary[random.below(self.ordinary.len())].clone(),
        };
        match field % 4 {
            1 => random.pick(LEVELS).to_owned(),
            2 => word(random),
            0 => format!("{}{}\\{}.exe", random.pick(PLACES), word(random), word(random)),
            _ => {
                let mut value = format!("{}{}.exe", random.pick(PLACES), word(random));
                for _ in 0..random.below(8) {
                    let _ = match random.below(100) {
                        0..30 => write!(value, " -{}", word(random)),
                        30..40 => write!(value, "{}", random.pick(USUAL)),
                        _ => write!(value, " {}", word(random)),
                    };
                }
                value
            }
        }
    }
}

/// Returns a random category; in a third of all cases the first category.
fn category(random: &mut Random) -> usize {
    if random.chance(34) { 0 } else { 1 + random.below(CATEGORIES - 1).min(random.below(CATEGORIES - 1)) }
}

/// Returns a random field that events of a category have.
fn field(category: usize, random: &mut Random) -> usize {
    let of = random.below(COMMON_FIELDS / 3 + FIELDS_PER_CATEGORY);
    if of < COMMON_FIELDS / 3 {
        of
    } else {
        COMMON_FIELDS + category * FIELDS_PER_CATEGORY + of - COMMON_FIELDS / 3
    }
}

/// Returns the name of a field.
fn name(field: usize) -> String {
    match field.checked_sub(COMMON_FIELDS) {
        None => format!("common_{field}"),
        Some(own) => format!("field_{}_{}", own / FIELDS_PER_CATEGORY, own % FIELDS_PER_CATEGORY),
    }
}

impl Test {
    pub fn holds(&self, event: &Event) -> bool {
        let Ok(at) = event.fields.binary_search_by_key(&self.field, |(field, _)| *field) else {
            return false;
        };
        let lower;
        let value = if self.fold {
            lower = event.fields[at].1.to_ascii_lowercase();
            &lower
        } else {
            &event.fields[at].1
        };
        let stands = |word: &String| {
            let word = if self.fold { word.to_ascii_lowercase() } else { word.clone() };
            match self.comparison {
                Comparison::Contains => value.contains(&word),
                Comparison::StartsWith => value.starts_with(&word),
                Comparison::EndsWith => value.ends_with(&word),
                Comparison::Is => *value == word,
            }
        };
        if self.all { self.words.iter().all(stands) } else { self.words.iter().any(stands) }
    }

    /// Changes a field's value so that this test is true.
    fn plant(&self, value: &mut String, random: &mut Random) {
        let word = &self.words[random.below(self.words.len())];
        match self.comparison {
            Comparison::Contains if self.all => self.words.iter().for_each(|word| value.push_str(word)),
            Comparison::Contains | Comparison::EndsWith => value.push_str(word),
            Comparison::StartsWith => value.insert_str(0, word),
            Comparison::Is => value.clone_from(word),
        }
    }
}

impl Rule {
    /// Evaluates the rule on an event by its plain definition, which is the oracle for every
    /// engine.
    pub fn holds(&self, event: &Event) -> bool {
        event.category == self.category
            && self.groups.iter().all(|group| group.iter().any(|test| test.holds(event)))
            && !self.filters.iter().any(|test| test.holds(event))
    }
}

impl Event {
    /// Returns the event as JSON.
    pub fn json(&self) -> Json {
        let mut ctx = Map::new();
        ctx.insert("category".into(), category_name(self.category).into());
        for (field, value) in &self.fields {
            ctx.insert(name(*field), value.as_str().into());
        }
        serde_json::json!({ "ctx": ctx })
    }
}

fn category_name(category: usize) -> String {
    format!("category_{category}")
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let joined = |tests: &[Test]| tests.iter().map(Test::to_string).collect::<Vec<_>>().join(" or ");
        write!(f, "route d{}\n  when ctx.category == {:?}", self.number, category_name(self.category))?;
        for group in &self.groups {
            write!(f, " and ({})", joined(group))?;
        }
        // With `unless`, a missing field excludes nothing.
        if !self.filters.is_empty() {
            write!(f, "\n  unless {}", joined(&self.filters))?;
        }
        write!(f, "\n  -> handler_{}", self.number % 50)
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let operator = match self.comparison {
            Comparison::Contains => "contains",
            Comparison::StartsWith => "starts_with",
            Comparison::EndsWith => "ends_with",
            Comparison::Is if self.words.len() > 1 => "in",
            Comparison::Is => "==",
        };
        write!(f, "ctx.{} {operator} ", name(self.field))?;
        match &self.words[..] {
            [word] => write!(f, "{word:?}")?,
            words if self.comparison == Comparison::Is => write!(f, "{words:?}")?,
            words if self.all => write!(f, "all {words:?}")?,
            words => write!(f, "any {words:?}")?,
        }
        f.write_str(if self.fold { " ignoring case" } else { "" })
    }
}
