//! Generates random well-typed programs and random messages for the differential tests. The
//! comparison with the oracle is in another module. Strings, numbers and keywords come from small
//! pools, so that conditions hold often enough.

mod conditions;
mod decide;
mod decimals;
mod history;
mod limits;
mod lists;
mod message;
pub mod payload;
mod values;

pub use message::message;

use super::random::Random;
use serde_json::Value as Json;
use std::fmt::Write;

const WORDS: &[&str] = &[
    "a",
    "ab",
    "show",
    "Show",
    "SHOW",
    "files",
    "文件",
    "件",
    "café",
    "CAFE\u{301}",
    "straße",
    "9:30",
    "22:00:00",
    "2026-01-05",
    "ſhow",
    "\u{212a}",
    "ς",
    "Σ",
    "C++",
    "foo bar",
    "ｆｏｏ",
    "カー",
    "x_y",
    "7",
    "İ",
    "ǅ",
    "-",
];
const GAPS: &[&str] = &["", " ", " ", " ", "-", "_", "，", "\n", "\u{ad}", "\u{200b}", "ไ"];
const REGEXES: &[&str] =
    &[r"(?i)sho?w", r"\bab\b", "文.", "^a", "o+$", r"[a-c]{2}", r"\d+", r"(show|files)\s", r"\w+\+", "", "É"];
const GLOBS: &[&str] =
    &["*a*", "a?", "show*", "*", "?", "*文*", r"\*a", "*件", "??*", "S*w", "", "*ſ*", "ｆ*"];
const INTS: &[i128] = &[
    0,
    1,
    2,
    3,
    5,
    7,
    -1,
    -7,
    10,
    99,
    i64::MAX as i128,
    i64::MIN as i128 + 1,
    9_007_199_254_740_993,
    1 << 63,
    u64::MAX as i128 - 1,
    u64::MAX as i128,
];
const FLOATS: &[&str] =
    &["0.0", "0.5", "1.0", "2.5", "-1.5", "3.0", "1e300", "9007199254740992.0", "0.1", "-0.0"];
const DECIMALS: &[&str] =
    &["0.1", "0.3", "19.99", "1.50", "-2.5", "1e-3", "100.0", "0.1234567890123456789", "1e-28", "0.2"];
const TIMES: &[&str] = &[
    "2026-01-05T09:30:00+08:00",
    "2026-01-05T01:30:00Z",
    "2026-06-30T23:59:59.5Z",
    "1999-12-31T00:00:00-11:00",
];

/// A generated program, and the names of its entries.
pub struct Generated {
    pub source: String,
    pub entries: Vec<String>,
}

/// Generator of random programs.
pub struct Generator<'r> {
    random: &'r mut Random,
    out: String,
    /// Names of the quantifier variables in scope, with the kinds of their elements.
    scope: Vec<(String, Kind)>,
    vars: usize,
    lets: Vec<(String, Kind)>,
    defs: Vec<(String, Vec<Kind>)>,
    lists: Vec<(String, Kind)>,
    hosts: bool,
    /// Whether the program has an `input` block.
    declared: bool,
    analysis: bool,
    /// Whether the program has a `history` statement.
    history: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Bool,
    Int,
    Float,
    Decimal,
    Text,
    Time,
    Item,
    Cond,
    /// An earlier message.
    Event,
}

/// The fields that a message may have, each with its path and kind.
const FIELDS: &[(&str, Kind)] = &[
    ("text", Kind::Text),
    ("ctx.s", Kind::Text),
    ("ctx.user.role", Kind::Text),
    ("ctx.n", Kind::Int),
    ("ctx.count", Kind::Int),
    ("ctx.f", Kind::Float),
    ("ctx.b", Kind::Bool),
    ("ctx.user.vip", Kind::Bool),
    ("ctx.at", Kind::Time),
    ("now", Kind::Time),
];
const LISTS: &[(&str, Kind)] =
    &[("ctx.tags", Kind::Text), ("ctx.nums", Kind::Int), ("items", Kind::Item), ("ctx.mixed", Kind::Text)];

/// The values of the enumerations of [`INPUT`]. `ctx.tiers` and `ctx.by` have the first two.
const TIERS: &[&str] = &["a", "show", "文件", "ς"];

const INPUT: &str = r#"input {
  text: string
  now?: datetime
  ctx: {
    s?: string  n?: int  count: int  f?: float  b?: bool  at?: datetime
    user?: { role: string, vip?: bool, phone?: string @private }
    tier?: "a" | "show" | "文件" | "ς"  tiers?: list<"a" | "show">  by?: dict<"a" | "show">
    tags?: list<string>  nums?: list<int>  mixed?: list<any>  scores?: dict<number>  extra?: any
    d?: decimal  total?: decimal  money?: list<decimal>  fees?: dict<decimal>
  }
  items?: list<{ price: number, name?: string, tags?: list<string> }>
}
"#;

const ANALYSIS: &str = r#"intent show { keywords ["show", "文件"] examples ["show my files"] }
intent ab "letters" { examples ["ab a", "C++"] }
entity number matches r"(?<digits>\d+)(?<unit>[a-z])?"
entity named matches any [r"文\w*", r"\bs\w+"] ignoring case
lexicon heat { "a": 0.2, "show": 0.5, "件": 0.6 }
"#;

impl<'r> Generator<'r> {
    fn new(random: &'r mut Random) -> Generator<'r> {
        Generator {
            random,
            out: String::new(),
            scope: Vec::new(),
            vars: 0,
            lets: Vec::new(),
            defs: Vec::new(),
            lists: Vec::new(),
            hosts: false,
            declared: false,
            analysis: false,
            history: false,
        }
    }

    /// Generates a random program.
    pub fn program(random: &'r mut Random) -> Generated {
        let mut this = Generator::new(random);
        this.write()
    }

    /// Generates a random program, and `spares` extra routes that tests can add to its tables. Each
    /// extra route is returned with the name of its table.
    pub fn with_spares(random: &'r mut Random, spares: usize) -> (Generated, Vec<(String, String)>) {
        let mut this = Generator::new(random);
        let program = this.write();
        let tables = program.entries.iter().filter(|entry| entry.starts_with('t')).count();
        let spares = (0..spares).map(|at| {
            let table = this.random.below(tables + 1);
            let entry = if table == 0 { "routes".to_owned() } else { format!("t{table}") };
            let (first, depth) = (table + 1, 1 + this.random.below(3));
            let mut route = this.route(tables, first, &format!("s{at}"), at, depth);
            if this.random.chance(30) {
                // A deep condition rarely holds and rarely gives the index a key.
                let word = this.random.pick(WORDS);
                route = format!("route s{at} when text contains {} -> h{at}", Json::from(word));
            }
            (entry, route)
        });
        let spares = spares.collect();
        (program, spares)
    }

    fn write(&mut self) -> Generated {
        if self.random.chance(60) {
            self.declared = true;
            self.out.push_str(INPUT);
            if self.random.chance(25) {
                self.declare_history();
            }
        }
        if self.random.chance(25) {
            let case = self.random.pick(&["sensitive", "insensitive", "full"]);
            let form = self.random.pick(&["none", "nfc", "nfkc", "visible", "strict_nfkc"]);
            let _ = writeln!(self.out, "settings {{ case: {case}, normalize: {form} }}");
        }
        if self.random.chance(10) {
            self.out.push_str("settings { zone: \"Asia/Shanghai\" }\n");
        }
        if self.random.chance(20) {
            self.hosts = true;
            self.out.push_str(
                "extern fn is_long(t: string) -> bool\nextern fn score(t: string, n: int) -> float\n",
            );
        }
        if self.random.chance(15) {
            self.analysis = true;
            self.out.push_str(ANALYSIS);
        }
        for at in 0..self.random.below(3) {
            let kind = if self.random.chance(60) { Kind::Text } else { Kind::Int };
            let list = self.constant_list(kind);
            let _ = writeln!(self.out, "list l{at} = {list}");
            self.lists.push((format!("l{at}"), kind));
        }
        for at in 0..self.random.below(4) {
            let kind = [Kind::Cond, Kind::Cond, Kind::Int, Kind::Text, Kind::Float][self.random.below(5)];
            let body = if kind == Kind::Cond { self.cond(2) } else { self.value(kind, 2) };
            let _ = writeln!(self.out, "let v{at} = {body}");
            self.lets.push((format!("v{at}"), kind));
        }
        for at in 0..self.random.below(3) {
            self.def(at);
        }
        let tables = self.random.below(3);
        let main = self.random.chance(95);
        if main {
            self.routes(tables, 0, 1);
        }
        for table in 1..=tables {
            let _ = writeln!(self.out, "table t{table} {{");
            self.routes(tables, table, table + 1);
            self.out.push_str("}\n");
        }
        let mut entries: Vec<String> =
            std::iter::once("routes".to_owned()).chain((1..=tables).map(|at| format!("t{at}"))).collect();
        self.statements(&mut entries);
        Generated { source: std::mem::take(&mut self.out), entries }
    }

    /// Writes the routes of the table with the number `table`; 0 is the top level. `tables` is the
    /// number of tables. A `goto` jumps only to the tables from `first_target` on, so that jumps
    /// form no cycle.
    fn routes(&mut self, tables: usize, table: usize, first_target: usize) {
        for at in 0..1 + self.random.below(5) {
            let route = self.route(tables, first_target, &format!("r{table}_{at}"), at, 4);
            let _ = writeln!(self.out, "{route}");
        }
        if self.random.chance(50) {
            self.out.push_str("default -> fallback\n");
        }
    }

    /// Generates one route on a single line. `tables` is the number of tables; a `goto` jumps to
    /// one of the tables from `first_target` on. `at` is the number in the name of the handler, and
    /// `depth` is the maximum depth of the condition.
    fn route(&mut self, tables: usize, first_target: usize, name: &str, at: usize, depth: usize) -> String {
        let priority = if self.random.chance(40) {
            format!(" priority {}", self.random.below(5) as i64 - 2)
        } else {
            String::new()
        };
        let disabled = if self.random.chance(5) { " disabled" } else { "" };
        let (names, (cond, target)) = self.with_locals(depth, |this| {
            let cond = this.cond(depth);
            if first_target <= tables && this.random.chance(25) {
                let table = first_target + this.random.below(tables + 1 - first_target);
                return (cond, format!("goto t{table}"));
            }
            (cond, this.target(at))
        });
        format!("route {name}{priority}{disabled} when {cond}{names} -> {target}")
    }

    /// Generates definitions for a `where` clause, and calls `write` while their names are in
    /// scope. Returns the clause (empty without definitions) and the text that `write` returned.
    fn with_locals<T>(&mut self, depth: usize, write: impl FnOnce(&mut Self) -> T) -> (String, T) {
        let locals = self.locals(depth);
        let written = write(self);
        self.lets.truncate(self.lets.len() - locals.len());
        let names = if locals.is_empty() { String::new() } else { format!(" where {}", locals.join(", ")) };
        (names, written)
    }

    /// Generates definitions for a `where` clause, and adds their names to the scope. `depth`
    /// limits the depth of conditions in them.
    fn locals(&mut self, depth: usize) -> Vec<String> {
        let count = if self.random.chance(20) { 1 + self.random.below(3) } else { 0 };
        let mut locals = Vec::new();
        for at in 0..count {
            let kind = [Kind::Cond, Kind::Cond, Kind::Int, Kind::Text][self.random.below(4)];
            let body = if kind == Kind::Cond { self.cond(depth.min(2)) } else { self.value(kind, 2) };
            locals.push(format!("w{at} = {body}"));
            self.lets.push((format!("w{at}"), kind));
        }
        locals
    }

    fn target(&mut self, at: usize) -> String {
        match self.random.below(7) {
            6 => {
                let decimal = self.decimal(1);
                format!("h{at}(d: {decimal})")
            }
            0 => {
                let (number, text) = (self.value(Kind::Int, 2), self.value(Kind::Text, 1));
                format!("h{at}(n: {number}, t: {text}) {{ kind: \"x\", level: {at} }}")
            }
            1 => {
                let cond = self.cond(2);
                format!("h{at}(flag: {cond})")
            }
            _ => format!("h{at}"),
        }
    }

    fn def(&mut self, at: usize) {
        let kinds: Vec<Kind> = (0..1 + self.random.below(2))
            .map(|_| [Kind::Text, Kind::Int, Kind::Bool, Kind::Decimal][self.random.below(4)])
            .collect();
        let params: Vec<String> =
            kinds.iter().enumerate().map(|(at, kind)| format!("p{at}: {}", type_name(*kind))).collect();
        for (at, kind) in kinds.iter().enumerate() {
            self.scope.push((format!("p{at}"), *kind));
        }
        let body = self.cond(2);
        self.scope.clear();
        let _ = writeln!(self.out, "def d{at}({}) = {body}", params.join(", "));
        self.defs.push((format!("d{at}"), kinds));
    }

    fn any_field(&mut self) -> String {
        if self.random.chance(20) {
            return self
                .random
                .pick(&["ctx.user", "ctx.tags", "items", "ctx.extra", "ctx.scores[\"a\"]", "items[1]"])
                .to_owned();
        }
        FIELDS[self.random.below(FIELDS.len())].0.to_owned()
    }

    /// Generates an expression for a value of the kind, with at most the given depth of nesting.
    fn value(&mut self, kind: Kind, depth: usize) -> String {
        if kind == Kind::Decimal {
            return self.decimal_or_number(depth);
        }
        if self.random.chance(25)
            && let Some(name) = self.use_of(kind)
        {
            return name;
        }
        if self.analysis
            && self.random.chance(15)
            && let Some(analysed) = self.analysed(kind)
        {
            return analysed.to_owned();
        }
        if depth > 0
            && self.history
            && self.random.chance(10)
            && let Some(value) = self.history_value(kind, depth - 1)
        {
            return value;
        }
        if depth > 0 && self.random.chance(35) {
            if self.random.chance(15) {
                let (cond, then, other) =
                    (self.cond(1), self.value(kind, depth - 1), self.value(kind, depth - 1));
                return format!("(if {cond} then {then} else {other})");
            }
            return self.computed(kind, depth - 1);
        }
        if self.random.chance(if kind == Kind::Bool { 5 } else { 30 }) {
            return self.constant(kind);
        }
        let fields: Vec<&str> =
            FIELDS.iter().filter(|(_, other)| *other == kind).map(|(path, _)| *path).collect();
        match fields.as_slice() {
            [] => self.constant(kind),
            fields => self.random.pick(fields).to_owned(),
        }
    }

    /// Returns an expression that reads a value of this kind from `request`, the text analysis of
    /// the message. `None` if the analysis has no value of this kind.
    fn analysed(&mut self, kind: Kind) -> Option<&'static str> {
        Some(match kind {
            Kind::Text => self.random.pick(&[
                "request.intent",
                "request.entities.number.digits",
                "request.entities[\"named\"].match",
                "request.keywords[0]",
            ]),
            Kind::Float => self.random.pick(&["request.intent_score", "request.urgency", "request.heat"]),
            Kind::Int => "len(request.keywords)",
            _ => return None,
        })
    }

    /// Picks a variable, parameter or `let` that is in scope and has this kind.
    fn use_of(&mut self, kind: Kind) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, other) in self.scope.iter().chain(&self.lets) {
            match (other, kind) {
                (a, b) if *a == b => names.push(name.clone()),
                (Kind::Item, Kind::Text) => names.push(format!("{name}.name")),
                (Kind::Item, Kind::Float) => names.push(format!("{name}.price")),
                (Kind::Event, _) => names.extend(history::fields(name, kind)),
                _ => {}
            }
        }
        (!names.is_empty()).then(|| names[self.random.below(names.len())].clone())
    }

    fn constant(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Int => self.int(),
            Kind::Float => self.random.pick(FLOATS).to_owned(),
            Kind::Decimal => self.random.pick(DECIMALS).to_owned(),
            Kind::Text => quoted(self.random.pick(WORDS)),
            Kind::Time => "now".to_owned(),
            Kind::Bool | Kind::Cond | Kind::Item | Kind::Event => {
                self.random.pick(&["true", "false"]).to_owned()
            }
        }
    }

    fn int(&mut self) -> String {
        let at = if self.random.chance(85) { self.random.below(9) } else { self.random.below(INTS.len()) };
        INTS[at].to_string()
    }

    fn list(&mut self) -> (String, Kind) {
        let (path, kind) = LISTS[self.random.below(3)];
        if self.random.chance(20) {
            let tags = self.scope.iter().rev().find(|(_, kind)| *kind == Kind::Item);
            if let Some((name, _)) = tags {
                return (format!("{name}.tags"), Kind::Text);
            }
        }
        (path.to_owned(), kind)
    }
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool | Kind::Cond => "bool",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Decimal => "decimal",
        Kind::Text => "string",
        Kind::Time => "datetime",
        Kind::Item | Kind::Event => "any",
    }
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}
