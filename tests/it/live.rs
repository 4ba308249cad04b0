//! Tests of live rules. After any sequence of inserts, replacements, removals and merges, live
//! rules must decide as the reference evaluator decides with the edited text. While some threads
//! decide and others edit, every answer must belong to a state that existed.

use crate::support::engines::{COLUMNS, Column, REFERENCE};
use crate::support::generate::{Generator, message};
use crate::support::random::Random;
use crate::support::trials::seeds;
use rulec::{CompileError, Compiler, EditError, LiveRules, Rules};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

fn compiler() -> Compiler {
    Compiler::new()
        .function(
            "is_long",
            |text: String| if text.contains('文') { Err("no opinion") } else { Ok(text.len() > 6) },
        )
        .function("score", |text: String, n: i64| (text.len() as f64) / 3.0 + (n % 100) as f64)
}

/// The edited text as an author would keep it: one route per line.
#[derive(Clone)]
struct ModelText {
    lines: Vec<String>,
    /// Indentation of the lines of routes inside tables.
    indent: &'static str,
}

/// Returns the name of the route on the line.
fn name(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("route ")?.split_whitespace().next()
}

impl ModelText {
    fn new(source: &str, indent: &'static str) -> ModelText {
        let mut inside = false;
        let lines = source.lines().map(|line| {
            inside = (inside || line.starts_with("table ")) && line != "}";
            let indent = if inside && !line.starts_with("table ") { indent } else { "" };
            format!("{indent}{line}")
        });
        ModelText { lines: lines.collect(), indent }
    }

    fn source(&self) -> String {
        self.lines.join("\n")
    }

    /// Returns the line range of a table. For the entry `routes`, the range is the whole text.
    fn range(&self, entry: &str) -> std::ops::Range<usize> {
        if entry == "routes" {
            return 0..self.lines.len();
        }
        let head = format!("table {entry} {{");
        let start = self.lines.iter().position(|line| *line == head).expect("the table is there");
        let length = self.lines[start..].iter().position(|line| line == "}").expect("it ends");
        start..start + length
    }

    /// Returns the routes of an entry as line numbers and names.
    fn routes(&self, entry: &str) -> Vec<(usize, String)> {
        let mut inside = false;
        let range = self.range(entry);
        let mut routes = Vec::new();
        for at in range {
            let line = &self.lines[at];
            inside = (inside || line.starts_with("table ") && entry == "routes") && line != "}";
            if let Some(name) = name(line).filter(|_| !inside) {
                routes.push((at, name.to_owned()));
            }
        }
        routes
    }

    fn insert(&mut self, entry: &str, line: &str) {
        let end = self.range(entry).end;
        let indent = if entry == "routes" { "" } else { self.indent };
        self.lines.insert(end, format!("{indent}{line}"));
    }

    fn compile(&self) -> Result<Rules, CompileError> {
        if self.lines.iter().all(|line| line.trim().is_empty()) {
            // The compiler rejects an empty text, but a text with an unused `let` also has no
            // routes.
            return compiler().compile_text("let nothing = 1");
        }
        compiler().compile_text(&self.source())
    }
}

/// Returns everything that a caller can observe about a decision. Failed host functions are left
/// out, because each engine may choose which functions it calls.
///
/// If `declared` is false, field types are inferred from uses, and violations of them are left out.
/// Live rules report violations by the inferred types of the base, which the next merge can change.
fn decision_json(decision: &impl serde::Serialize, declared: bool) -> Json {
    let mut json = serde_json::to_value(decision).expect("a decision is JSON");
    let object = json.as_object_mut().expect("an object");
    object.remove("failures");
    if !declared {
        object.remove("breaches");
    }
    json
}

/// Counts of events in a run, which show that the run covers enough cases.
#[derive(Debug, Default)]
struct Tally {
    decided: usize,
    chosen: usize,
    edits: usize,
    refused: usize,
    merges: usize,
    /// Number of decisions without pending edits, by the engine of the base.
    by_base: BTreeMap<String, usize>,
    /// Number of decisions with unmerged edits. `later` counts the decisions that chose a route
    /// which is not in the base.
    edited: usize,
    later: usize,
    /// Number of decisions made while a merge ran.
    beside_merges: usize,
}

/// Applies one random edit to the live rules and to the text. If live rules refuse an edit, the
/// edited text must not compile either, unless field types are inferred.
fn edit(
    random: &mut Random,
    live: &LiveRules,
    text: &mut ModelText,
    entries: &[String],
    spares: &[(String, String)],
    tally: &mut Tally,
) {
    let (entry, line) = &spares[random.below(spares.len())];
    let mut edited = text.clone();
    let of = &entries[random.below(entries.len())];
    let routes = text.routes(of);
    let result = match random.below(10) {
        0..=4 => {
            if text.routes(entry).iter().any(|(_, other)| Some(&**other) == name(line)) {
                let result = live.insert_into(entry, line);
                assert!(matches!(result, Err(EditError::Duplicate(_))), "{result:?}");
                return;
            }
            // Sometimes the route moves to another table, where its `goto` may form a cycle.
            let entry = if random.chance(10) { of } else { entry };
            if text.routes(entry).iter().any(|(_, other)| Some(&**other) == name(line)) {
                return;
            }
            edited.insert(entry, line);
            live.insert_into(entry, line)
        }
        5 | 6 if !routes.is_empty() => {
            let (at, old) = &routes[random.below(routes.len())];
            let spare = name(line).expect("a spare is a route");
            let line = line.replacen(spare, old, 1);
            edited.lines[*at] = format!("{}{line}", if of == "routes" { "" } else { text.indent });
            live.replace_in(of, &line)
        }
        _ if !routes.is_empty() => {
            let (at, old) = &routes[random.below(routes.len())];
            edited.lines.remove(*at);
            live.remove_from(of, old)
        }
        _ => {
            let result = live.remove_from(of, "nobody");
            assert!(matches!(result, Err(EditError::UnknownStatement(_))), "{result:?}");
            return;
        }
    };
    tally.edits += 1;
    match result {
        Ok(()) => *text = edited,
        Err(error) => {
            tally.refused += 1;
            let declared = text.lines.iter().any(|line| line.starts_with("input "));
            assert!(matches!(error, EditError::Compile(_)), "{error}");
            if declared {
                assert!(edited.compile().is_err(), "{error}\n{}", edited.source());
            }
        }
    }
}

fn compare(
    (live, column): (&LiveRules, Column),
    text: &ModelText,
    entries: &[String],
    messages: &[Json],
    context: &str,
    tally: &mut Tally,
) {
    let fresh = match text.compile() {
        Ok(rules) => REFERENCE.compile(&rules),
        Err(error) => panic!("{context}: what was accepted does not compile: {error}\n{}", text.source()),
    };
    let (base, pending) = (live.rules(), live.pending() > 0);
    assert_eq!(base.main().backend(false), column.engine, "{context}");
    let of_base: BTreeSet<&str> = base.program().rules.iter().map(|rule| &*rule.name).collect();
    for message in messages {
        for entry in entries {
            let context = || format!("{context}, entry {entry}, message {message}\n{}", text.source());
            let Ok(expected) = fresh.entry(entry) else { continue };
            let decision = expected.decide(message);
            let given = live.decide_in(entry, message).expect("the entry is there");
            let declared = base.program().input.is_some();
            assert_eq!(decision_json(&given, declared), decision_json(&decision, declared), "{}", context());
            assert_eq!(given.chosen(), decision.chosen());
            let matched = live.matched_in(entry, message).expect("the entry is there");
            assert_eq!(matched, expected.matched(message), "matched: {}", context());
            tally.decided += 1;
            tally.chosen += usize::from(decision.chosen().is_some());
            if pending {
                tally.edited += 1;
                let chosen = decision.chosen().filter(|_| !decision.is_default());
                tally.later += usize::from(chosen.is_some_and(|name| !of_base.contains(name)));
            } else {
                *tally.by_base.entry(format!("{:?}", column.engine)).or_default() += 1;
            }
        }
    }
}

/// Runs a merge while this thread decides the messages repeatedly. A merge must not change any
/// answer.
fn merge_in_parallel(
    live: &LiveRules,
    text: &ModelText,
    entries: &[String],
    messages: &[Json],
    context: &str,
    tally: &mut Tally,
) {
    let fresh = REFERENCE.compile(&text.compile().expect("what was accepted compiles"));
    let declared = live.rules().program().input.is_some();
    let mut cases = Vec::new();
    for entry in entries {
        let Ok(handle) = fresh.entry(entry) else { continue };
        cases.extend(
            messages.iter().map(|message| (entry, message, decision_json(&handle.decide(message), declared))),
        );
    }
    let begun = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let merging = scope.spawn(|| {
            begun.store(true, Ordering::SeqCst);
            live.merge()
        });
        while !merging.is_finished() {
            for (entry, message, expected) in &cases {
                // This thread makes no edits, so the merge is still running while edits are
                // pending.
                let begun = begun.load(Ordering::SeqCst);
                let given = live.decide_in(entry, message).expect("the entry is there");
                tally.beside_merges += usize::from(begun && live.pending() > 0);
                assert_eq!(
                    decision_json(&given, declared),
                    *expected,
                    "{context}, entry {entry}, message {message}"
                );
            }
        }
        let merged = merging.join().expect("it does not panic");
        merged.unwrap_or_else(|error| panic!("{context}: {error}\n{}", text.source()));
    });
    tally.merges += 1;
}

/// Applies random edits to random programs, and compares the answers of live rules and of the
/// edited text.
fn run_seeds(seeds: std::ops::Range<u64>, size: usize, steps: usize, tally: &mut Tally) {
    // Compiling the text takes longest, so small rule sets are compared more often.
    let asked = if size < 100 { 12 } else { 6 };
    for seed in seeds {
        let mut random = Random::new(seed);
        let (program, spares) = Generator::with_spares(&mut random, size + 12);
        let mut text = ModelText::new(&program.source, if random.chance(50) { "  " } else { "" });
        for (entry, line) in &spares[..size] {
            let mut grown = text.clone();
            grown.insert(entry, line);
            text = grown;
        }
        let column = COLUMNS[seed as usize % COLUMNS.len()];
        let compiler = compiler().tier(column.tier).index(column.indexing);
        let Ok(live) = LiveRules::from_text(compiler, &text.source()) else { continue };
        let live = live.merge_after(if random.chance(50) { 3 + random.below(8) } else { usize::MAX });
        let entries: Vec<String> = program
            .entries
            .iter()
            .filter(|entry| *entry == "routes" || entry.starts_with('t'))
            .cloned()
            .collect();
        for step in 0..steps {
            for _ in 0..1 + random.below(3) {
                edit(&mut random, &live, &mut text, &entries, &spares, tally);
            }
            let merges = random.chance(15);
            let messages: Vec<Json> = (0..asked).map(|_| message(&mut random)).collect();
            let at = format!("seed {seed}, step {step}");
            if merges {
                merge_in_parallel(&live, &text, &program.entries, &messages, &at, tally);
            }
            compare((&live, column), &text, &program.entries, &messages, &at, tally);
        }
        live.wait_for_merge();
        assert!(live.merge_error().is_none(), "seed {seed}: {:?}", live.merge_error());
        let messages: Vec<Json> = (0..4).map(|_| message(&mut random)).collect();
        let at = format!("seed {seed}, at the end");
        compare((&live, column), &text, &program.entries, &messages, &at, tally);
        if seed % 4 == 0 {
            let why = live.explain(&messages[0]).expect("the edits compile");
            assert_eq!(why.chosen.as_deref(), live.decide(&messages[0]).chosen(), "seed {seed}");
            // The texts that live rules keep must give the same answers.
            let [(_, kept)] = live.texts().try_into().expect("there is one file");
            let (text, at) = (ModelText::new(&kept, ""), format!("seed {seed}, kept"));
            compare((&live, column), &text, &program.entries, &messages, &at, tally);
        }
    }
}

#[test]
fn after_any_edits_live_rules_answer_like_the_edited_text() {
    let mut tally = Tally::default();
    run_seeds(seeds(22), 0, 12, &mut tally);
    run_seeds(seeds(6), 20, 8, &mut tally);
    run_seeds(seeds(1), 300, 6, &mut tally);
    run_seeds(seeds(1), 2000, 3, &mut tally);
    println!("{tally:?}");
    assert!(tally.decided > 11_000 && tally.chosen * 4 > tally.decided, "{tally:?}");
    // Both decision paths are covered: the base alone on each engine, and the base with edits.
    assert!(
        tally.by_base.len() == COLUMNS.len() && tally.by_base.values().all(|count| *count > 250),
        "{tally:?}"
    );
    assert!(tally.edited > 5_000 && tally.later > 250, "{tally:?}");
    assert!(tally.edits > 375 && tally.refused * 3 < tally.edits && tally.merges > 25, "{tally:?}");
    assert!(tally.beside_merges > 250, "{tally:?}");
}

/// A writer moves the rules through states that each have one answer per message, while other
/// threads decide. Every answer must be right for some state between the start and the end of the
/// decision.
#[test]
fn threads_see_states_that_existed() {
    const STATES: usize = 400;
    let live = LiveRules::from_text(
        compiler(),
        "route at priority 5 when n >= 0 -> s0(at: n)\ndefault -> none_left",
    )
    .expect("it compiles")
    .merge_after(37);
    // At any time, exactly one target is right. Replacing a route is atomic, so there is always a
    // target.
    let (done, start) = (AtomicBool::new(false), Barrier::new(3));
    let state = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                let mut answers = 0_usize;
                while !done.load(Ordering::Relaxed) || answers == 0 {
                    let from = state.load(Ordering::SeqCst);
                    let decision = live.decide(&json!({"n": 1}));
                    let to = state.load(Ordering::SeqCst);
                    let target = decision.target().expect("a route is there").to_owned();
                    let number: usize = target[1..].parse().expect("its number");
                    // The writer may have made one more step, which it has not counted yet.
                    assert!((from..=to + 1).contains(&number), "{target}, between {from} and {to}");
                    answers += 1;
                }
            });
        }
        start.wait();
        for at in 1..=STATES {
            live.replace(&format!("route at priority 5 when n >= 0 -> s{at}(at: n)")).expect("it compiles");
            state.store(at, Ordering::SeqCst);
            if at % 7 == 0 {
                live.insert(&format!("route extra{at} when n > 9 -> x")).expect("it compiles");
            }
            if at % 50 == 0 {
                live.merge().expect("it compiles");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    live.wait_for_merge();
    assert!(live.merge_error().is_none());
    assert_eq!(live.decide(&json!({"n": 1})).target(), Some(&*format!("s{STATES}")));
    assert_eq!(live.matched(&json!({"n": 10})).len(), 1 + STATES / 7);
}
