//! Generates rules like those that people write. The condition of a route has two to four terms.
//! Six in ten routes have a term with a text literal, and one in ten has a regex; the other terms
//! test the context.
//!
//! A route is plain data here. It can be printed in the rules language, and the tree walker is
//! built from the same data.

use super::random::Random;
use super::words::{CHANNELS, CHINESE, COUNTRIES, ERRORS, NOUNS, ROLES, TAGS, VERBS};
use std::fmt::{self, Display, Formatter, Write};

/// What the conditions of generated routes test.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// The conditions test only fields of the context.
    Fields,
    /// The conditions test texts by literals and regexes, and fields, in the proportions that the
    /// comment at the top of this file states.
    Mixed,
}

/// A generated route: its terms, and how they are joined.
pub struct Route {
    pub name: String,
    pub docs: Option<String>,
    pub priority: Option<i64>,
    /// Terms of the condition. `and` joins them, except possibly the last term.
    pub terms: Vec<Term>,
    /// Whether `or`, not `and`, joins the last term to the others.
    pub or_last: bool,
    pub handler: String,
    pub metadata: Option<(String, usize)>,
}

/// A term of a route's condition.
pub enum Term {
    /// The term `text contains …`, with its modifiers.
    Contains { words: Vec<String>, all: bool, word: bool, ignore_case: bool },
    /// The term `text starts_with "…" ignoring case`.
    StartsWith(String),
    /// The term `text matches r"…"`.
    Matches(String),
    /// The term `path == "…"`.
    Equal(&'static str, String),
    /// The term `path != "…"`.
    NotEqual(&'static str, String),
    /// The term `path in ["…"]`.
    OneOf(&'static str, Vec<String>),
    /// The term `path OP number`: the path, the operator and the number.
    Compare(&'static str, &'static str, f64),
    /// The term `path contains "…"`, where the field is a list.
    Has(&'static str, String),
    /// A boolean field, used as a term.
    IsTrue(&'static str),
}

/// The `input` block of generated files.
pub const INPUT: &str = "\
input {
  text: string
  ctx: {
    message_count: int
    channel: string
    country?: string
    score?: float
    is_new?: bool
    tags?: list<string>
    user?: { role: string, age_days?: int }
    order?: { total: number, items?: int }
    last_error?: { type: string, count: int }
  }
}
";

/// Generates `count` routes.
pub fn routes(count: usize, kind: Kind, seed: u64) -> Vec<Route> {
    let mut random = Random::new(seed);
    (0..count).map(|number| route(&mut random, number, kind)).collect()
}

/// Returns the routes as a rules file. With `declared` the file starts with an `input` block;
/// otherwise the field types are inferred.
pub fn file(routes: &[Route], declared: bool) -> String {
    let mut out = String::with_capacity(routes.len() * 200 + INPUT.len());
    if declared {
        out.push_str(INPUT);
    }
    for route in routes {
        let _ = writeln!(out, "{route}");
    }
    out.push_str("default -> default_handler\n");
    out
}

/// Returns texts that generated messages should contain, so that routes match.
pub fn phrases(routes: &[Route]) -> Vec<String> {
    let words = |term: &Term| match term {
        Term::Contains { words, all: true, .. } => vec![words.join(" ")],
        Term::Contains { words, .. } => words.clone(),
        Term::StartsWith(word) => vec![word.clone()],
        _ => Vec::new(),
    };
    routes.iter().flat_map(|route| route.terms.iter().flat_map(words)).collect()
}

fn route(random: &mut Random, number: usize, kind: Kind) -> Route {
    let (verb, noun) = (random.pick(VERBS), random.pick(NOUNS));
    let count = 2 + random.below(3);
    let first = random.below(100);
    let term = |random: &mut Random, at: usize| match (kind, at) {
        (Kind::Mixed, 0) if first < 60 => text_term(random, verb, noun),
        (Kind::Mixed, 0) if first < 70 => regex_term(random, verb, noun),
        (Kind::Mixed, 1) if random.chance(25) => text_term(random, verb, noun),
        _ => field_term(random),
    };
    Route {
        name: format!("{verb}_{noun}_{number}"),
        docs: random.chance(10).then(|| format!("Messages that ask to {verb} the {noun}.")),
        priority: random.chance(70).then(|| random.below(20) as i64 * 10),
        terms: (0..count).map(|at| term(random, at)).collect(),
        or_last: random.chance(15),
        handler: format!("{noun}_handler"),
        metadata: random.chance(40).then(|| (random.pick(TAGS).to_owned(), random.below(5))),
    }
}

fn text_term(random: &mut Random, verb: &str, noun: &str) -> Term {
    let contains = |words: &[String]| Term::Contains {
        words: words.to_vec(),
        all: false,
        word: false,
        ignore_case: false,
    };
    match random.below(8) {
        0 => Term::Contains {
            words: vec![format!("{verb} {noun}")],
            all: false,
            word: false,
            ignore_case: true,
        },
        1 => contains(&[format!("{verb} my {noun}")]),
        2 => Term::Contains { words: vec![noun.to_owned()], all: false, word: true, ignore_case: true },
        3 => contains(&[format!("{verb} {noun}"), format!("{} the {noun}", random.pick(VERBS))]),
        4 => contains(&[random.pick(CHINESE).to_owned(), random.pick(CHINESE).to_owned()]),
        5 => contains(&[format!("{}{}", random.pick(CHINESE), random.pick(CHINESE))]),
        6 => Term::StartsWith(format!("{verb} ")),
        _ => Term::Contains {
            words: vec![verb.to_owned(), noun.to_owned()],
            all: true,
            word: false,
            ignore_case: false,
        },
    }
}

fn regex_term(random: &mut Random, verb: &str, noun: &str) -> Term {
    let other = random.pick(NOUNS);
    Term::Matches(match random.below(3) {
        0 => format!("(?i)\\b({noun}|{other})s?\\b"),
        1 => format!("{verb} (my|the|this) {noun}"),
        _ => format!("{noun} [A-Z]{{2}}-[0-9]{{4,8}}"),
    })
}

fn field_term(random: &mut Random) -> Term {
    let form = random.below(14);
    let mut word = |words: &[&'static str]| random.pick(words).to_owned();
    match form {
        0 => Term::Equal("ctx.user.role", word(ROLES)),
        1 => Term::OneOf("ctx.user.role", vec![word(ROLES), word(ROLES)]),
        2 => Term::Compare("ctx.message_count", ">", random.below(30) as f64),
        3 => Term::Compare("ctx.message_count", "<=", random.below(30) as f64),
        4 => Term::Equal("ctx.channel", word(CHANNELS)),
        5 => Term::NotEqual("ctx.channel", word(CHANNELS)),
        6 => Term::Equal("ctx.country", word(COUNTRIES)),
        7 => Term::Compare("ctx.score", ">=", random.below(100) as f64 / 100.0),
        8 => Term::IsTrue("ctx.is_new"),
        9 => Term::Has("ctx.tags", word(TAGS)),
        10 => Term::Compare("ctx.order.total", ">", random.below(100) as f64 * 10.0),
        11 => Term::Equal("ctx.last_error.type", word(ERRORS)),
        12 => Term::Compare("ctx.last_error.count", ">", random.below(5) as f64),
        _ => Term::Compare("ctx.user.age_days", "<", random.below(400) as f64),
    }
}

impl Display for Route {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(docs) = &self.docs {
            writeln!(f, "## {docs}")?;
        }
        write!(f, "route {}", self.name)?;
        if let Some(priority) = self.priority {
            write!(f, " priority {priority}")?;
        }
        write!(f, "\n  when ")?;
        for (at, term) in self.terms.iter().enumerate() {
            let or = self.or_last && at + 1 == self.terms.len();
            let joint = match (at, or) {
                (0, _) => "",
                (_, true) => " or ",
                (_, false) => " and ",
            };
            write!(f, "{joint}{term}")?;
        }
        write!(f, "\n  -> {}", self.handler)?;
        match &self.metadata {
            Some((team, level)) => write!(f, " {{ team: \"{team}\", level: {level} }}"),
            None => Ok(()),
        }
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Term::Contains { words, all, word, ignore_case } => {
                write!(f, "text contains ")?;
                if *word {
                    write!(f, "word ")?;
                }
                match words.as_slice() {
                    [word] => write!(f, "{word:?}")?,
                    words => write!(f, "{} {words:?}", if *all { "all" } else { "any" })?,
                }
                if *ignore_case { write!(f, " ignoring case") } else { Ok(()) }
            }
            Term::StartsWith(word) => write!(f, "text starts_with {word:?} ignoring case"),
            Term::Matches(pattern) => write!(f, "text matches r\"{pattern}\""),
            Term::Equal(path, word) => write!(f, "{path} == {word:?}"),
            Term::NotEqual(path, word) => write!(f, "{path} != {word:?}"),
            Term::OneOf(path, words) => write!(f, "{path} in {words:?}"),
            Term::Compare(path, op, number) => write!(f, "{path} {op} {number}"),
            Term::Has(path, word) => write!(f, "{path} contains {word:?}"),
            Term::IsTrue(path) => write!(f, "{path}"),
        }
    }
}
