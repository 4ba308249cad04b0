//! Generates routes of two to four terms from a seed. Six routes in ten start with a text literal
//! and one in ten with a regex; the others test the context. A given percentage of the routes has
//! no index key.
//!
//! The generator aims at about one matching route per message, for every size. So even a million
//! routes have early matches, late matches and none. Words, products and thresholds therefore
//! become more selective as the rule set grows. [`Density`] sets how many rule words a text
//! contains by chance, and how many routes share a word.

use super::random::Random;
use super::route::{
    CHANNEL, COUNTRY, Comparison, ERROR, INPUT, Number, PRESENT, PRODUCT, ROLE, Route, Term, Words,
};
use super::vocabulary::{CHANNELS, COUNTRIES, Density, ERRORS, ROLES, Vocabulary};
use super::{plain, verbs};
use std::fmt::Write;

/// The kinds of predicates that the conditions of the routes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Conditions with all kinds of predicates.
    Mixed,
    /// Conditions with all kinds of predicates, but not over lists and floats.
    Subset,
    /// Conditions over the context only: string equality, integers and booleans.
    Context,
    /// Routes that test for requests: a verb that many routes share, with a word specific to the
    /// route; see the module `verbs`.
    Verbs,
    /// Routes with a rare word or tag and a few fields; see the module `plain`.
    Plain,
}

impl Variant {
    pub const ALL: [Variant; 5] =
        [Variant::Mixed, Variant::Subset, Variant::Context, Variant::Verbs, Variant::Plain];

    pub fn name(self) -> &'static str {
        ["mixed", "subset", "context", "verbs", "plain"][self as usize]
    }

    /// Returns the word densities that lead to different rules for this variant.
    pub fn densities(self) -> &'static [Density] {
        if matches!(self, Variant::Verbs | Variant::Plain) { &[Density::Rare] } else { &Density::ALL }
    }

    /// True if routes of this variant also test lists and floats.
    fn is_whole(self) -> bool {
        matches!(self, Variant::Mixed | Variant::Verbs | Variant::Plain)
    }
}

/// The parameters from which a workload is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub routes: usize,
    pub variant: Variant,
    pub density: Density,
    /// Percentage of routes that have only ranges and negations, so that an index has no key for
    /// them. `plain` ignores it.
    pub no_key: usize,
    pub seed: u64,
}

impl Shape {
    /// Returns how many rule sets of this size to generate, with consecutive seeds. Times for only
    /// a few routes depend strongly on the seed.
    pub fn draws(routes: usize) -> u64 {
        if routes <= 10 { 4 } else { 1 }
    }

    /// Returns the name for workloads with these parameters, whatever their number of routes.
    pub fn name(&self) -> String {
        match self.variant {
            Variant::Verbs | Variant::Plain => self.variant.name().to_owned(),
            variant => format!("{}, {}", variant.name(), self.density.name()),
        }
    }
}

/// Generated routes, and the vocabulary that they use.
pub struct Workload {
    pub shape: Shape,
    pub vocabulary: Vocabulary,
    /// The routes in evaluation order.
    pub routes: Vec<Route>,
}

/// Average number of routes that match a message.
const HOLDING: f64 = 1.2;
/// Average number of rule words that are inserted into a text on purpose. Four texts in ten are
/// generated for a route, and seven in ten of these routes test for a word or two.
const PLANTED_WORDS: f64 = 0.42;

impl Workload {
    pub fn new(shape: Shape) -> Workload {
        let mut random = Random::new(shape.seed ^ (shape.routes as u64) << 8 ^ shape.variant as u64);
        let vocabulary = match shape.variant {
            Variant::Verbs => verbs::vocabulary(shape.routes, &mut random),
            Variant::Plain => plain::vocabulary(shape.routes, &mut random),
            _ => Vocabulary::new(shape.routes, shape.density, &mut random),
        };
        let mut maker = Maker { shape, vocabulary: &vocabulary, random };
        let routes = (0..shape.routes).map(|rank| maker.route(rank)).collect();
        Workload { shape, vocabulary, routes }
    }

    /// Returns the rule set as source text.
    pub fn source(&self) -> String {
        let mut out = String::with_capacity(self.routes.len() * 200 + INPUT.len());
        out.push_str(INPUT);
        if self.routes.len() > MOST_REGEXES {
            out.push_str("settings { regex_memory: 4096MiB }\n");
        }
        for route in &self.routes {
            let _ = writeln!(out, "{route}");
        }
        out.push_str("default -> nobody\n");
        out
    }
}

/// Number of routes above which the rules must raise the `regex_memory` limit, because one route in
/// ten has a regex.
const MOST_REGEXES: usize = 200_000;

struct Maker<'v> {
    shape: Shape,
    vocabulary: &'v Vocabulary,
    random: Random,
}

impl Maker<'_> {
    fn route(&mut self, rank: usize) -> Route {
        // Steps of the golden ratio keep the percentages of the classes accurate even for a few
        // routes.
        let class = (0.3 + rank as f64 * 0.618_033_988_749_895).fract() * 100.0;
        let priority = (10 - rank * 11 / self.shape.routes.max(1)) as i64 * 10;
        if self.shape.variant == Variant::Plain {
            let (terms, _) = plain::terms(self.vocabulary, &mut self.random);
            return Route { rank: rank as u32, priority, terms };
        }
        let count = 2 + self.random.below(if self.shape.variant == Variant::Verbs { 2 } else { 3 });
        let mut wanted = (HOLDING / self.shape.routes as f64).min(0.3);
        let mut terms = Vec::with_capacity(count);
        let no_key = class >= (100 - self.shape.no_key) as f64;
        if !no_key {
            let (term, frequency) = match class {
                _ if self.shape.variant == Variant::Context => self.identity(),
                _ if self.shape.variant == Variant::Verbs => {
                    match verbs::request(self.vocabulary, &mut self.random) {
                        Some(term) => (term, 0.4 / self.shape.routes as f64),
                        None => self.tag(),
                    }
                }
                ..60.0 => self.text(),
                ..70.0 => self.regex(),
                _ => self.identity(),
            };
            wanted = (wanted / frequency).min(1.0);
            terms.push(term);
        }
        while terms.len() < count {
            let left = count - terms.len();
            let each = wanted.powf(1.0 / left as f64).clamp(0.0001, 0.6);
            let (term, frequency) = if no_key { self.range(each) } else { self.context(each) };
            if same_subject(&terms, &term) {
                continue;
            }
            wanted = (wanted / frequency).min(1.0);
            terms.push(term);
        }
        // Authors write the text test first or last.
        if self.random.chance(50) {
            terms.rotate_left(1);
        }
        Route { rank: rank as u32, priority, terms }
    }

    /// Returns a word, and the fraction of texts that contain it.
    fn word(&mut self, chinese: bool) -> (String, f64) {
        let words = if chinese { &self.vocabulary.chinese } else { &self.vocabulary.words };
        let at = self.random.below(words.len());
        let share = if chinese { 0.3 } else { 0.7 };
        let by_chance = self.shape.density.words_in_text() * Vocabulary::frequency(at, words.len());
        let planted = PLANTED_WORDS / words.len() as f64;
        (words[at].clone(), (share * (by_chance + planted)).min(0.9))
    }

    fn text(&mut self) -> (Term, f64) {
        let chinese = self.random.chance(30);
        let fold = !chinese && self.random.chance(40);
        let ((first, a), (second, b)) = (self.word(chinese), self.word(chinese));
        let (glue, planted) = (if chinese { "" } else { " " }, 0.4 / self.shape.routes as f64);
        let contains = |words: Vec<String>, joined| Term::Contains { words, joined, fold };
        match self.random.below(8) {
            0 | 1 => (contains(vec![first], Words::Any), a),
            2 | 3 => (contains(vec![format!("{first}{glue}{second}")], Words::Any), planted),
            4 => (contains(vec![format!("{first}{glue}{second}"), self.phrase(glue)], Words::Any), planted),
            5 => (contains(vec![first, second], Words::Any), (a + b).min(0.9)),
            6 => (contains(vec![first, second], Words::All), (a * b).max(planted)),
            _ => {
                // The first word of a text is a rule word with the same probability as any other
                // word.
                let asked = self.shape.density.rule_word_percentage() as f64 / 100.0;
                let begins = a * asked / self.shape.density.words_in_text().max(1.0);
                (Term::StartsWith { word: format!("{first}{glue}"), fold }, begins.max(planted))
            }
        }
    }

    fn phrase(&mut self, glue: &str) -> String {
        let chinese = glue.is_empty();
        format!("{}{glue}{}", self.word(chinese).0, self.word(chinese).0)
    }

    fn regex(&mut self) -> (Term, f64) {
        let ((first, a), (second, b)) = (self.word(false), self.word(false));
        let planted = 0.4 / self.shape.routes as f64;
        let form = self.random.below(3);
        let (pattern, literals, examples, frequency) = match form {
            0 => {
                let pattern = format!(r"(?i)\b({first}|{second})s?\b");
                let literals = vec![first, second];
                (pattern, literals.clone(), literals, (a + b).min(0.9))
            }
            1 => {
                let pattern = format!("{first} (my|the|this) {second}");
                (pattern, vec![format!("{first} ")], vec![format!("{first} the {second}")], planted)
            }
            _ => {
                let pattern = format!("{first} [A-Z]{{2}}-[0-9]{{4,8}}");
                (pattern, vec![format!("{first} ")], vec![format!("{first} AB-123456")], planted)
            }
        };
        (Term::Matches { pattern, literals, examples, fold: form == 0 }, frequency)
    }

    /// Returns a test of a tag, and the fraction of messages for which it is true.
    fn tag(&mut self) -> (Term, f64) {
        let tags = &self.vocabulary.tags;
        (Term::Tagged(tags[self.random.below(tags.len())].clone()), 1.8 / tags.len() as f64)
    }

    /// Returns the main test of a route without a text test, and the fraction of messages for which
    /// it is true. The test is mostly for one of many products, sometimes for a tag, rarely for one
    /// of a few countries.
    fn identity(&mut self) -> (Term, f64) {
        let (products, tags) = (&self.vocabulary.products, &self.vocabulary.tags);
        let random = &mut self.random;
        match random.below(100) {
            0..3 => (Term::Is(COUNTRY, random.pick(COUNTRIES).to_owned()), 0.9 / COUNTRIES.len() as f64),
            3..20 if self.shape.variant == Variant::Mixed => {
                (Term::Tagged(tags[random.below(tags.len())].clone()), 1.8 / tags.len() as f64)
            }
            _ => {
                let product = products[random.below(products.len())].clone();
                (Term::Is(PRODUCT, product), 0.9 / products.len() as f64)
            }
        }
    }

    /// Returns a range test of a number that is true for about the fraction `wanted` of messages,
    /// and the estimated fraction. Sometimes the test is two ranges joined by `or`, or a negation,
    /// which is true for more messages.
    fn range(&mut self, wanted: f64) -> (Term, f64) {
        match self.random.below(10) {
            0 | 1 if wanted > 0.5 => (Term::IsNot(CHANNEL, self.random.pick(CHANNELS).to_owned()), 0.9),
            2 if wanted > 0.5 => (Term::IsNot(ROLE, self.random.pick(ROLES).to_owned()), 0.85),
            3 if wanted > 0.5 && self.shape.variant != Variant::Context => {
                let (word, often) = self.word(false);
                (Term::Lacks(word), 1.0 - often)
            }
            4 => {
                let ((left, a), (right, b)) = (self.compare(wanted / 2.0), self.compare(wanted / 2.0));
                if same_subject(std::slice::from_ref(&left), &right) {
                    return (left, a);
                }
                (Term::Either(Box::new(left), Box::new(right)), (a + b).min(0.9))
            }
            _ => self.compare(wanted),
        }
    }

    fn compare(&mut self, wanted: f64) -> (Term, f64) {
        let present = PRESENT as f64 / 100.0;
        loop {
            let field = Number::ALL[self.random.below(Number::ALL.len())];
            let absent = field == Number::Score && !self.shape.variant.is_whole();
            if absent || (wanted * field.limit() < field.step() && field != Number::Total) {
                continue;
            }
            let part = (wanted / present).min(0.95) * field.limit();
            let (comparison, threshold) = if self.random.chance(60) {
                (Comparison::AtLeast, field.limit() - part)
            } else {
                (Comparison::Below, part)
            };
            let threshold = field.round(threshold).max(field.step());
            return (Term::Compare(field, comparison, threshold), wanted.min(0.95 * present));
        }
    }

    /// Returns a test of the context that is true for about the fraction `wanted` of messages, and
    /// the estimated fraction.
    fn context(&mut self, wanted: f64) -> (Term, f64) {
        let products = &self.vocabulary.products;
        loop {
            let random = &mut self.random;
            let lists = self.shape.variant.is_whole();
            let (term, frequency) = match random.below(15) {
                0 => (Term::Is(ROLE, random.pick(ROLES).to_owned()), 0.9 / ROLES.len() as f64),
                1 => (Term::OneOf(ROLE, pick_distinct(random, ROLES, 2)), 1.8 / ROLES.len() as f64),
                2 => (Term::Is(CHANNEL, random.pick(CHANNELS).to_owned()), 1.0 / CHANNELS.len() as f64),
                3 => (Term::IsNot(CHANNEL, random.pick(CHANNELS).to_owned()), 0.88),
                4 => (Term::Is(COUNTRY, random.pick(COUNTRIES).to_owned()), 0.9 / COUNTRIES.len() as f64),
                5 => {
                    (Term::OneOf(COUNTRY, pick_distinct(random, COUNTRIES, 4)), 3.6 / COUNTRIES.len() as f64)
                }
                6 => (Term::Is(ERROR, random.pick(ERRORS).to_owned()), 0.9 / ERRORS.len() as f64),
                7 if lists => {
                    let tags = &self.vocabulary.tags;
                    (Term::Tagged(tags[random.below(tags.len())].clone()), 1.8 / tags.len() as f64)
                }
                8 => (Term::IsNew, 0.45),
                9 | 10 => {
                    let product = products[random.below(products.len())].clone();
                    (Term::Is(PRODUCT, product), 0.9 / products.len() as f64)
                }
                11 => {
                    let left = Term::Is(CHANNEL, random.pick(CHANNELS).to_owned());
                    let right = Term::Is(ROLE, random.pick(ROLES).to_owned());
                    (Term::Either(Box::new(left), Box::new(right)), 0.19)
                }
                _ if wanted > 0.002 => self.compare(wanted),
                _ => continue,
            };
            let often = frequency / wanted;
            if (0.2..5.0).contains(&often) || (wanted < 0.002 && frequency < 0.03) {
                return (term, frequency);
            }
        }
    }
}

/// Picks `count` different values.
fn pick_distinct(random: &mut Random, values: &[&str], count: usize) -> Vec<String> {
    let first = random.below(values.len());
    (0..count).map(|at| values[(first + at * 7) % values.len()].to_owned()).collect()
}

/// True if one of `terms` tests the same field of the context as `next`; a route has at most one
/// test per field.
fn same_subject(terms: &[Term], next: &Term) -> bool {
    let subject = |term: &Term| match term {
        Term::Is(field, _) | Term::IsNot(field, _) | Term::OneOf(field, _) => Some(*field),
        Term::Compare(field, ..) => Some(10 + *field as usize),
        Term::Tagged(_) => Some(20),
        Term::IsNew => Some(21),
        Term::Either(..) => Some(22),
        _ => None,
    };
    subject(next).is_some() && terms.iter().any(|term| subject(term) == subject(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Message;

    /// Checks the estimated frequencies with routes that only test the text. The estimates must add
    /// up to the measured number of matches per message, within a third.
    ///
    /// The estimate for a word ignores messages that are generated for the route itself. The error
    /// is small, except where texts never contain the word by chance. There the error is up to one
    /// half.
    #[test]
    fn frequencies_of_tests_of_the_text() {
        const MESSAGES: usize = 600;
        for density in Density::ALL {
            for routes in [100, 3_000] {
                let shape = Shape { routes, variant: Variant::Mixed, density, no_key: 5, seed: 7 };
                let mut random = Random::new(1);
                let vocabulary = Vocabulary::new(routes, density, &mut random);
                let mut maker = Maker { shape, vocabulary: &vocabulary, random };
                // Seven in ten routes test the text, as in a workload; the constant for planted
                // words assumes that.
                let terms = (0..routes * 7 / 10).map(|_| maker.text());
                let (terms, aimed): (Vec<Term>, Vec<f64>) = terms.unzip();
                let aimed: f64 = aimed.iter().sum();
                let routes =
                    terms.iter().cloned().chain(std::iter::repeat(Term::IsNew)).take(routes).enumerate();
                let routes =
                    routes.map(|(rank, term)| Route { rank: rank as u32, priority: 0, terms: vec![term] });
                let workload = Workload { shape, routes: routes.collect(), vocabulary: vocabulary.clone() };
                let mut random = Random::new(2);
                let messages = (0..MESSAGES).map(|_| Message::random(&workload, &mut random));
                let holding =
                    messages.map(|message| terms.iter().filter(|term| holds(term, &message)).count());
                let measured = holding.sum::<usize>() as f64 / MESSAGES as f64;
                let ratio = measured / aimed;
                let named = (density.name(), workload.routes.len());
                let expected = if density == Density::Rare { 1.0..1.8 } else { 0.75..1.33 };
                assert!(expected.contains(&ratio), "{named:?}: aimed at {aimed:.2}, measured {measured:.2}");
            }
        }
    }

    fn holds(term: &Term, message: &Message) -> bool {
        let text = |fold: bool| match fold {
            true => message.text.to_ascii_lowercase(),
            false => message.text.clone(),
        };
        match term {
            Term::Contains { words, joined, fold } => {
                let text = text(*fold);
                let mut found = words.iter().map(|word| text.contains(word.as_str()));
                if *joined == Words::Any { found.any(|found| found) } else { found.all(|found| found) }
            }
            Term::StartsWith { word, fold } => text(*fold).starts_with(word.as_str()),
            _ => unreachable!("no other test of the text is made"),
        }
    }
}
