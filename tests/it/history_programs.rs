//! Random programs over a history, on every engine, with stores that remember results, parse their
//! messages again, or were filled by other rules.

use super::history_store::TextStore;
use crate::support::engines::{COLUMNS, REFERENCE};
use crate::support::random::Random;
use crate::support::trials;
use rulec::history::{MemoryStore, Store};
use rulec::{Compiler, Rules, Session};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// Numbers next to which sums leave 64 bits.
const BIG: &[&str] =
    &["9_223_372_036_854_775_807", "9_223_372_036_854_775_806", "-9_223_372_036_854_775_807", "0"];
/// Limits of sums of decimals.
const PRICES: &[&str] = &["0.3", "0.1", "19.9", "0", "20.1"];

/// Generates programs over a history and messages for them.
struct HistoryPrograms {
    random: Random,
    vars: usize,
}

impl HistoryPrograms {
    fn pick(&mut self, options: &[&'static str]) -> &'static str {
        options[self.random.below(options.len())]
    }

    /// Generates a part of the history. `outer` has the names of the elements in scope.
    fn list(&mut self, outer: &[String]) -> String {
        let mut list = "history".to_owned();
        if self.random.chance(50) {
            let _ = write!(list, " within {}", self.pick(&["2s", "10s", "30s", "1m", "n * 1s", "0s"]));
        }
        for bound in ["after", "before"] {
            if !outer.is_empty() && self.random.chance(30) {
                let _ = write!(list, " {bound} {}", outer[self.random.below(outer.len())]);
            }
        }
        list
    }

    fn test(&mut self, element: &str) -> String {
        match self.random.below(23) {
            20 => format!("{element}.price == price"),
            21 => format!("{element}.tags == tags"),
            22 => format!("({element}.f == f and {element}.at == now)"),
            14 => format!("{element}.at {} now", self.pick(&["==", "<", ">="])),
            15 => format!("{element}.big {} {}", self.pick(&["==", "<", ">"]), self.pick(BIG)),
            16 => format!("{element}.price {} {}", self.pick(&["==", "<", ">="]), self.pick(PRICES)),
            17 => format!("{element}.place.name {}", self.pick(&["== tool", "is missing", "== place.name"])),
            18 => format!("{element}.decision.chosen == {}", self.pick(&["\"r0\"", "\"r1\"", "\"default\""])),
            19 => format!("{element}.at == previous.at"),
            12 => format!("({element}.tool == tool and {element}.n == n)"),
            13 => format!("({element}.code == code and n == {element}.n and {element}.tool == tool)"),
            10 => format!("{element}.code {} code", self.pick(&["==", "!="])),
            11 => format!("{element}.code == {}", self.pick(&["\"a\"", "tool", "code ?? \"b\""])),
            0 => format!("{element}.tool == tool"),
            1 => format!("{element}.tool == {}", self.pick(&["\"a\"", "\"b\"", "\"c\""])),
            2 => format!("{element}.n {} {}", self.pick(&["<", ">=", "=="]), self.random.below(6)),
            3 => format!("{element}.n {} n", self.pick(&["<", ">=", "=="])),
            4 => format!("{element}.flag"),
            5 => format!("{element}.decision.target == {}", self.pick(&["\"h0\"", "\"h1\""])),
            6 => format!("{element}.tags contains {}", self.pick(&["\"x\"", "\"y\"", "tool"])),
            7 => format!("any t in {element}.tags: t == \"x\""),
            8 => format!("{element}.at > now - {}", self.pick(&["5s", "20s"])),
            _ => format!("{element}.n is missing"),
        }
    }

    fn condition(&mut self, outer: &mut Vec<String>, depth: usize) -> String {
        let kind = self.random.below(if depth == 0 { 2 } else { 18 });
        if kind < 2 && !outer.is_empty() {
            let element = outer[self.random.below(outer.len())].clone();
            return format!("({})", self.test(&element));
        }
        let list = self.list(outer);
        let element = format!("p{}", self.vars);
        self.vars += 1;
        outer.push(element.clone());
        let inner = depth.saturating_sub(1);
        let mut body = self.condition(outer, inner);
        if self.random.chance(40) {
            let joined = self.pick(&["and", "or", "unless"]);
            body = format!("({body} {joined} {})", self.condition(outer, inner));
        }
        let result = match kind {
            0 | 2 => format!("(any {element} in {list}: {body})"),
            1 | 3 => format!("not (all {element} in {list}: {body})"),
            4 => format!("(count {element} in {list}: {body}) >= {}", 1 + self.random.below(3)),
            5 => format!("(sum {element}.n for {element} in {list}: {body}) > {}", self.random.below(20)),
            6 => format!("(sum {element}.f * 2 for {element} in {list}: {body}) > {}", self.random.below(9)),
            7 => format!("(first {element} in {list}: {body}).n == {}", self.random.below(6)),
            8 => format!("(last {element} in {list}: {body}).tool == tool"),
            9 => format!(
                "(sum {element}.big for {element} in {list}: {body}) {} {}",
                self.pick(&["<", ">"]),
                self.pick(BIG)
            ),
            10 => format!("(sum {element}.big for {element} in {list}: {body}) + big >= {}", self.pick(BIG)),
            11 => format!(
                "(sum {element}.price for {element} in {list}: {body}) + price > {}",
                self.pick(PRICES)
            ),
            12 => format!(
                "(sum {element}.price ?? 0.1 for {element} in {list}: {body}) == {}",
                self.pick(PRICES)
            ),
            13 => format!("(first {element} in {list}: {body}).at {} now", self.pick(&["==", "<"])),
            14 => format!("(last {element} in {list}: {body}) is {}", self.pick(&["missing", "present"])),
            15 => {
                format!("(sum {element}.n - n for {element} in {list}: {body}) >= {}", self.random.below(4))
            }
            16 => format!("(count {element} in {list}: {body}) == (count {element} in history: true)"),
            _ => format!("(last {element} in {list}: {body}).price == price"),
        };
        outer.pop();
        result
    }

    /// Generates the `history` statement, for this program and others that read the same store.
    fn history(&mut self) -> String {
        let keep =
            self.pick(&["", " keep 5m", " keep 1m at most 20", " at most 5", " keep 1m", " at most 1"]);
        format!("history{}{keep}", self.pick(&["", " by key"]))
    }

    fn program(&mut self, history: &str) -> String {
        let mut source = format!(
            "input {{ tool: string, key: string, n?: int, f?: number, flag?: bool, tags?: list<string>, code?: string @private,
                big?: int, price?: decimal, place?: {{ name?: string }}, now: datetime }}
             {history}\n"
        );
        let mut conditions: Vec<String> = Vec::new();
        for route in 0..1 + self.random.below(6) {
            let mut condition = self.condition(&mut Vec::new(), 2);
            if self.random.chance(40) {
                condition = format!("tool == {} and {condition}", self.pick(&["\"a\"", "\"b\""]));
            }
            if self.random.chance(15) {
                condition = self
                    .pick(&[
                        "previous.tool == tool",
                        "previous.place.name == place.name",
                        "previous.at == now",
                        "previous is missing",
                        "previous.decision.chosen == \"r0\"",
                        "previous.big + big > 0",
                        "previous.price * 3 == price",
                        "len(history within 30s) >= 3",
                        "history[0].n == n",
                    ])
                    .to_owned();
            }
            if self.random.chance(5) {
                // A search in the private field `code` needs its text. So the history keeps the
                // text, not a hash.
                condition = format!("{condition} and (count p in history: p.code starts_with \"a\") >= 1");
            }
            if self.random.chance(20)
                && let Some(earlier) = conditions.last()
            {
                // The analysis finds that the earlier route hides this one.
                condition = format!("tool != \"b\" and ({earlier})");
            }
            conditions.push(condition.clone());
            let _ = writeln!(source, "route r{route} when {condition} -> h{}", self.random.below(3));
        }
        source.push_str("default -> other\n");
        source
    }

    /// Returns the next time of a clock, which mostly advances. Sometimes the clock shows the same
    /// time again, or is set back a little. Rarely it jumps, also far into the future and back.
    fn next_second(&mut self, second: usize) -> usize {
        let next = second + self.random.below(8);
        match self.random.below(40) {
            0 => next + 120,
            1 => next + 2 * 86_400,
            2 => next.saturating_sub(120),
            3 => next % 3_600,
            _ => next.saturating_sub(self.random.below(4)),
        }
        .min(25 * 86_400)
    }

    fn message(&mut self, second: usize) -> Json {
        let (day, hour) = (1 + second / 86_400, second / 3_600 % 24);
        let time = format!("{:02}:{:02}", second / 60 % 60, second % 60);
        let now = match self.random.below(4) {
            // The same instant, written in another way, is the same time.
            0 if hour < 22 => format!("2026-01-{day:02}T{:02}:{time}.000+02:00", hour + 2),
            _ => format!("2026-01-{day:02}T{hour:02}:{time}Z"),
        };
        let mut message =
            json!({ "tool": self.pick(&["a", "b", "c"]), "key": self.pick(&["k1", "k2"]), "now": now });
        if self.random.chance(80) {
            let bigs = [i64::MAX, i64::MAX - 1, i64::MIN, 1 << 62, -(1 << 62), 1, -1, 0];
            message["big"] = json!(bigs[self.random.below(bigs.len())]);
        }
        if self.random.chance(80) {
            message["price"] =
                json!(self.pick(&["0.1", "0.10", "19.90", "-0.3", "9999999999999999999999999999", "1e-28"]));
        }
        if self.random.chance(70) {
            message["place"] =
                [json!({}), json!({"name": "a"}), json!({"name": "b"})][self.random.below(3)].clone();
        }
        if self.random.chance(80) {
            message["n"] = json!(self.random.below(6));
        }
        if self.random.chance(80) {
            message["f"] =
                json!([0.1, 0.2, 1.5, 3.0, 1e9, 1e308, -1e308, 2e-5, -1e-30][self.random.below(9)]);
        }
        if self.random.chance(80) {
            message["code"] = json!(self.pick(&["a", "b"]));
        }
        if self.random.chance(60) {
            message["flag"] = json!(self.random.chance(50));
        }
        if self.random.chance(60) {
            message["tags"] = [json!([]), json!(["x"]), json!(["y", "x"])][self.random.below(3)].clone();
        }
        message
    }
}

/// One way to decide: an engine or an artifact, with a store of its own.
struct Way {
    name: String,
    rules: Rules,
    store: Arc<dyn Store>,
    session: Session,
}

impl Way {
    fn new(name: &str, rules: Rules, store: Arc<dyn Store>) -> Way {
        let session = rules.session().with_history(store.clone());
        Way { name: name.to_owned(), rules, store, session }
    }
}

/// Compiles a generated program. `None` if its time window is longer than the history keeps
/// messages.
fn compile(source: &str) -> Option<Rules> {
    match Rules::from_text(source) {
        Ok(rules) => Some(rules),
        Err(error) if error.to_string().contains("E0318") => None,
        Err(error) => panic!("{source}\n{error}"),
    }
}

/// Returns the ways to decide by these rules. `stores` has the stores of earlier rules by the name
/// of the way, or is empty.
fn ways(rules: &Rules, stores: &BTreeMap<String, Arc<dyn Store>>) -> Vec<Way> {
    let store = |name: &str, new: Arc<dyn Store>| stores.get(name).cloned().unwrap_or(new);
    let mut ways: Vec<Way> = COLUMNS
        .iter()
        .map(|column| {
            let name = format!("{column:?}");
            Way::new(&name, column.compile(rules), store(&name, Arc::new(MemoryStore::default())))
        })
        .collect();
    let artifact = Compiler::new().load_artifact(&rules.to_artifact(true)).expect("it loads");
    // This store parses its messages for each decision, so it remembers no results.
    ways.push(Way::new("artifact", artifact, store("artifact", Arc::new(TextStore::default()))));
    let parsed = store("parsed", Arc::new(TextStore::default()));
    ways.push(Way::new("parsed", REFERENCE.compile(rules), parsed));
    ways
}

/// Returns the names of the routes of which the analysis claims that they are never chosen.
fn routes_claimed_hidden(rules: &Rules) -> BTreeSet<String> {
    let found = rules.analyse().into_iter().map(|finding| finding.diagnostic.message.to_string());
    let claim = found.filter_map(|message| {
        let (name, claim) = message.strip_prefix('`')?.split_once('`')?;
        claim.starts_with(" can never be chosen").then(|| name.to_owned())
    });
    claim.collect()
}

/// Decides and records a message in each way. Returns the chosen statement. If `explains` is true,
/// also compares the decisions with their explanations.
fn decide(ways: &mut [Way], message: &Json, explains: bool, context: &str) -> Option<String> {
    let mut expected = None;
    for way in ways {
        let explained = explains.then(|| {
            let past = way.rules.past(&*way.store, message).expect("a store");
            way.rules.main().with_history(&past).explain(message, false).chosen
        });
        let decision = way.session.decide_and_record(message).expect("it is recorded");
        let chosen = decision.chosen().map(str::to_owned);
        if let Some(explained) = explained {
            assert_eq!(explained, chosen, "explained: {} {context}\n{message}", way.name);
        }
        let found = (chosen, decision.history_gap());
        let expected = expected.get_or_insert_with(|| found.clone());
        assert_eq!(*expected, found, "{} {context}\n{message}", way.name);
    }
    expected.and_then(|(chosen, _)| chosen)
}

#[test]
fn engines_agree_on_random_programs_with_histories() {
    let (mut decided, mut claims) = (BTreeMap::<String, usize>::new(), 0);
    for seed in trials::seeds(50) {
        let mut programs = HistoryPrograms { random: Random::new(seed), vars: 0 };
        let history = programs.history();
        let mut stores = BTreeMap::new();
        // The second program reads what the first one has recorded.
        for generation in 0..2 {
            let source = programs.program(&history);
            let Some(rules) = compile(&source) else { continue };
            let mut ways = ways(&rules, &stores);
            if generation == 0 {
                // Without `@private`, the history keeps texts, not hashes. Comparisons must give
                // the same results.
                let plain = compile(&source.replace(" @private", "")).expect("it compiles too");
                ways.push(Way::new("plain", plain, Arc::new(MemoryStore::default())));
            }
            let hidden = routes_claimed_hidden(&rules);
            claims += hidden.len();
            let mut second = 300;
            for _ in 0..40 {
                second = programs.next_second(second);
                let message = programs.message(second);
                if programs.random.chance(20) {
                    ways.iter().for_each(|way| way.session.observe(&message).expect("it is recorded"));
                    continue;
                }
                let context = format!("seed {seed}, generation {generation}\n{source}");
                let explains = programs.random.chance(4);
                if let Some(name) = decide(&mut ways, &message, explains, &context) {
                    assert!(!hidden.contains(&name), "{name} is never chosen: {context}\n{message}");
                    *decided.entry(name).or_default() += 1;
                }
            }
            stores = ways.into_iter().map(|way| (way.name, way.store)).collect();
        }
    }
    assert!(claims > 0, "the analysis finds no route that is never chosen");
    assert!(decided.len() >= 5, "too few different routes were chosen: {decided:?}");
    assert!(decided.values().all(|count| *count >= 5), "{decided:?}");
}
