//! Edits statements of every kind while two threads decide. Each decision must equal the decision
//! of the reference evaluator on the texts of the same generation. A rejected edit must not
//! compile.

use crate::support::engines::REFERENCE;
use crate::support::random::Random;
use crate::support::statements::{MAIN, SHARED, SLOTS, Slot};
use crate::support::trials::seeds;
use rulec::{Compiler, Edit, EditError, LiveRules, MemoryLoader, Rules};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of edits in a round.
const EDITS: usize = 1_000;
const ENTRIES: [&str; 6] = ["routes", "t", "s", "pick", "flows", "after"];

fn messages() -> Vec<Json> {
    vec![
        json!({"text": "ALPHA", "n": 1}),
        json!({"text": "a beta order 15", "n": 7, "ok": true}),
        json!({"text": "gamma, I want a refund", "n": 8, "ok": false, "output": {"ok": true}}),
        json!({"text": "it is hot", "n": 2.5, "output": {"ok": false}}),
        json!({"text": "Beta", "n": 5}),
        json!({"text": "no", "n": "x"}),
        json!({"n": 9, "ok": 1}),
    ]
}

fn compiler() -> Compiler {
    Compiler::new().function("score", |text: String| text.len() as i64)
}

/// The rule texts as an author would keep them. Each file is a list of statements, and each
/// statement is a list of lines.
#[derive(Clone)]
struct Texts(BTreeMap<&'static str, Vec<Vec<String>>>);

/// True if the line begins the statement `head`.
fn begins_with_head(line: &str, head: &str) -> bool {
    let rest = line.trim_start().strip_prefix(head);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

impl Texts {
    fn new() -> Texts {
        let mut texts = Texts(BTreeMap::from([(MAIN, Vec::new()), (SHARED, Vec::new())]));
        for slot in SLOTS.iter().filter(|slot| slot.table.is_none()) {
            assert!(texts.insert(slot, slot.versions[0]), "{}", slot.head);
        }
        texts
    }

    /// Returns the location of the statement that a slot describes: the index of the statement in
    /// its file, and the index of its line. For a route of a table, the statement is the table, so
    /// the line need not be the first one.
    ///
    /// Returns `None` if the slot's table is missing or its file is not imported. Returns
    /// `Some(None)` if only the slot's statement is missing.
    fn at(&self, slot: &Slot) -> Option<Option<(usize, usize)>> {
        if slot.file == SHARED
            && !self.0[MAIN].iter().any(|lines| begins_with_head(&lines[0], "import \"shared.rules\""))
        {
            return None;
        }
        let statements = &self.0[slot.file];
        let Some(table) = slot.table else {
            let at = statements.iter().position(|lines| begins_with_head(&lines[0], slot.head));
            return Some(at.map(|at| (at, 0)));
        };
        let of_table =
            statements.iter().position(|lines| begins_with_head(&lines[0], &format!("table {table}")))?;
        let line = statements[of_table].iter().position(|line| begins_with_head(line, slot.head));
        Some(line.map(|line| (of_table, line)))
    }

    fn insert(&mut self, slot: &Slot, text: &str) -> bool {
        if self.at(slot) != Some(None) {
            return false;
        }
        let statements = self.0.get_mut(slot.file).expect("the file is there");
        match slot.table {
            None => statements.push(text.lines().map(str::to_owned).collect()),
            Some(table) => {
                let head = format!("table {table}");
                let lines = statements
                    .iter_mut()
                    .find(|lines| begins_with_head(&lines[0], &head))
                    .expect("it is there");
                lines.insert(lines.len() - 1, format!("  {text}"));
            }
        }
        true
    }

    fn replace(&mut self, slot: &Slot, text: &str) -> bool {
        let Some(Some((at, line))) = self.at(slot) else { return false };
        let statements = self.0.get_mut(slot.file).expect("the file is there");
        match slot.table {
            None => statements[at] = text.lines().map(str::to_owned).collect(),
            Some(_) => statements[at][line] = format!("  {text}"),
        }
        true
    }

    fn remove(&mut self, slot: &Slot) -> bool {
        let Some(Some((at, line))) = self.at(slot) else { return false };
        let statements = self.0.get_mut(slot.file).expect("the file is there");
        match slot.table {
            None => drop(statements.remove(at)),
            Some(_) => drop(statements[at].remove(line)),
        }
        true
    }

    fn is_declared(&self) -> bool {
        self.0[MAIN].iter().any(|lines| begins_with_head(&lines[0], "input"))
    }

    /// Compiles the texts. Unless `tested` is true, older `test` statements are left out, because
    /// they may no longer match the rules.
    fn compile(&self, tested: bool) -> Result<Rules, String> {
        let mut loader = MemoryLoader::new().with("spare.rules", "let spare_word = 1");
        for (file, statements) in &self.0 {
            // A placeholder replaces each test, as in the texts of live rules.
            let text = statements.iter().map(|lines| match tested || !begins_with_head(&lines[0], "test") {
                true => lines.join("\n"),
                false => "type spacer = int".to_owned(),
            });
            let text: Vec<String> = text.collect();
            loader = loader.with(*file, text.join("\n"));
        }
        let rules = compiler().compile_with(&loader, MAIN).map_err(|error| error.to_string())?;
        Ok(REFERENCE.compile(&rules))
    }
}

/// Returns everything that a caller can observe about a decision. Failed host functions and
/// exceeded limits are left out, because they depend on the engine.
///
/// If `declared` is false, violations of the input are left out too, because live rules report them
/// by the inferred types of the base.
fn decision_json(decision: &impl serde::Serialize, declared: bool) -> Json {
    let mut json = serde_json::to_value(decision).expect("a decision is JSON");
    let object = json.as_object_mut().expect("an object");
    object.remove("failures");
    object.remove("exceeded");
    if !declared {
        object.remove("breaches");
    }
    json
}

/// The expected answers for one generation, by entry and message. An answer is `None` if the entry
/// does not exist.
struct ReferenceAnswers {
    declared: bool,
    by_case: HashMap<(usize, usize), Option<Json>>,
}

impl ReferenceAnswers {
    fn new(texts: &Texts, messages: &[Json]) -> ReferenceAnswers {
        let rules = texts
            .compile(false)
            .unwrap_or_else(|error| panic!("what was accepted does not compile: {error}\n{:?}", texts.0));
        let declared = texts.is_declared();
        let mut by_case = HashMap::new();
        for (entry, name) in ENTRIES.iter().enumerate() {
            for (at, message) in messages.iter().enumerate() {
                let decision =
                    rules.entry(name).ok().map(|entry| decision_json(&entry.decide(message), declared));
                by_case.insert((entry, at), decision);
            }
        }
        ReferenceAnswers { declared, by_case }
    }
}

impl ReferenceAnswers {
    /// Asserts that the live rules give the expected answers to the messages.
    fn assert(&self, live: &LiveRules, messages: &[Json], context: &str) {
        for ((entry, at), expected) in &self.by_case {
            let decision = live.decide_in(ENTRIES[*entry], &messages[*at]).ok();
            let given = decision.map(|decision| decision_json(&decision, self.declared));
            assert_eq!(given, *expected, "{context}, {} of {}", ENTRIES[*entry], messages[*at]);
        }
    }
}

/// What one thread observed: its decisions, and its requests for entries that did not exist.
#[derive(Default)]
struct Sightings {
    /// The decisions, by generation, entry and message.
    decisions: HashMap<(u64, usize, usize), Json>,
    /// The requests for missing entries, each with the generations before and after the request.
    missing: BTreeSet<(u64, u64, usize)>,
}

fn decide_until(done: &AtomicBool, live: &LiveRules, messages: &[Json]) -> Sightings {
    let mut seen_here = Sightings::default();
    while !done.load(Ordering::Relaxed) {
        let generation = live.generation();
        for (entry, name) in ENTRIES.iter().enumerate() {
            for (at, message) in messages.iter().enumerate() {
                let before = live.generation();
                let Ok(decision) = live.decide_in(name, message) else {
                    seen_here.missing.insert((before, live.generation(), entry));
                    continue;
                };
                let (key, json) = ((decision.generation(), entry, at), decision_json(&decision, false));
                let known = seen_here.decisions.entry(key).or_insert_with(|| json.clone());
                assert_eq!(*known, json, "one generation, two answers");
            }
        }
        // Sleeps if the generation has not changed, so that other threads can use the core.
        if live.generation() == generation {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    seen_here
}

/// Numbers of edits and decisions in a run.
#[derive(Debug, Default)]
struct Tally {
    accepted: BTreeMap<(&'static str, &'static str), usize>,
    refused: BTreeMap<&'static str, usize>,
    batches: usize,
    /// Number of distinct decisions of the two threads per generation, and of requests for missing
    /// entries.
    decided: usize,
    lacking: usize,
}

/// Returns a random edit of a slot, its kind, and whether the same edit could be made in `texts`.
fn edit(random: &mut Random, texts: &mut Texts, slot: &Slot) -> (Edit, &'static str, bool) {
    let is_there = matches!(texts.at(slot), Some(Some(_)));
    // Some edits are impossible on purpose, and must be refused.
    let there = is_there != random.chance(6);
    let text = slot.versions[random.below(slot.versions.len())];
    let (edit, kind, made) = match (there, random.below(10)) {
        (false, _) => (Edit::insert(text), "insert", texts.insert(slot, text)),
        (true, 0..=2) => (Edit::remove(slot.head), "remove", texts.remove(slot)),
        (true, _) => (Edit::replace(text), "replace", texts.replace(slot, text)),
    };
    let edit = match slot.table {
        Some(table) => edit.in_table(table),
        None => edit,
    };
    // An edit needs a file name only if several files could contain the statement.
    let named = slot.head == "settings" || slot.file == SHARED && slot.table.is_none() && kind == "insert";
    let edit = if named || random.chance(10) { edit.in_file(slot.file) } else { edit };
    (edit, kind, made)
}

fn refusal_kind(error: &EditError) -> &'static str {
    match error {
        EditError::Compile(_) => "compile",
        EditError::UnknownTable(_) => "no table",
        EditError::UnknownStatement(_) => "unknown",
        EditError::Duplicate(_) => "duplicate",
        EditError::UnknownFile(..) => "no file",
        other => panic!("{other}"),
    }
}

/// Live rules under test, with the texts that they should match.
struct Run<'r> {
    random: Random,
    live: &'r LiveRules,
    texts: Texts,
    messages: &'r [Json],
    answers: BTreeMap<u64, ReferenceAnswers>,
    tally: Tally,
}

impl Run<'_> {
    /// Makes a single edit, or a batch of two or three edits.
    fn step(&mut self, at: usize) {
        let (before, generation) = (self.texts.clone(), self.live.generation());
        let count = if self.random.chance(10) { 2 + self.random.below(2) } else { 1 };
        let mut slots: Vec<usize> = (0..count).map(|_| self.random.below(SLOTS.len())).collect();
        slots.dedup();
        let (mut edits, mut kinds, mut made) = (Vec::new(), Vec::new(), true);
        for slot in slots.iter().map(|at| &SLOTS[*at]) {
            let (edit, kind, could) = edit(&mut self.random, &mut self.texts, slot);
            made &= could;
            edits.push(edit);
            kinds.push((slot.head, kind));
        }
        let context = || format!("edit {at}: {edits:?}");
        match self.live.edit(&edits) {
            Ok(()) => {
                assert!(made, "{}", context());
                assert!(self.live.generation() > generation);
                self.answers
                    .insert(self.live.generation(), ReferenceAnswers::new(&self.texts, self.messages));
                self.tally.batches += usize::from(edits.len() > 1);
                kinds.into_iter().for_each(|kind| *self.tally.accepted.entry(kind).or_default() += 1);
            }
            // An earlier edit of the batch changed the same statement or imports the file.
            Err(EditError::Twice(_) | EditError::NotYet(..)) if edits.len() > 1 => self.texts = before,
            Err(error) => {
                let reason = refusal_kind(&error);
                let tested = kinds.iter().any(|(head, _)| head.starts_with("test"));
                // With an inferred schema, a route may be rejected although the whole text
                // compiles.
                if reason == "compile" && before.is_declared() {
                    assert!(self.texts.compile(tested).is_err(), "{}: {error}", context());
                } else if reason != "compile" {
                    assert!(!made, "{}: {error}", context());
                }
                assert_eq!(self.live.generation(), generation, "{}", context());
                *self.tally.refused.entry(reason).or_default() += 1;
                self.texts = before;
            }
        }
        let now = &self.answers[&self.live.generation()];
        now.assert(self.live, self.messages, &context());
    }

    /// Makes edits while two threads decide, and compares every decision with the rules of its
    /// generation.
    fn run_beside_two_threads(&mut self, edits: usize) {
        let (live, messages, done) = (self.live, self.messages, AtomicBool::new(false));
        let sightings = std::thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(|| decide_until(&done, live, messages)));
            // The deciding threads must also stop if an assertion here fails.
            let made = catch_unwind(AssertUnwindSafe(|| (0..edits).for_each(|at| self.step(at))));
            done.store(true, Ordering::Relaxed);
            let sightings = threads.map(|thread| thread.join().expect("it does not panic"));
            made.unwrap_or_else(|panic| resume_unwind(panic));
            sightings
        });
        for Sightings { decisions, missing } in sightings {
            for ((generation, entry, at), given) in decisions {
                let ReferenceAnswers { by_case, .. } =
                    self.answers.get(&generation).expect("a generation that was");
                let mut expected = by_case[&(entry, at)].clone().expect("the entry was there");
                expected.as_object_mut().expect("an object").remove("breaches");
                assert_eq!(given, expected, "generation {generation}");
                self.tally.decided += 1;
            }
            // A missing entry is allowed only if a generation during the request lacked it.
            for (before, after, entry) in missing {
                let mut meanwhile = self.answers.range(before..=after);
                let lacks = |(_, answers): (_, &ReferenceAnswers)| answers.by_case[&(entry, 0)].is_none();
                assert!(meanwhile.any(lacks), "{} is lost, {before}..={after}", ENTRIES[entry]);
                self.tally.lacking += 1;
            }
        }
        let now = self.live.generation();
        self.answers.retain(|generation, _| *generation == now);
    }
}

#[test]
fn a_thousand_edits_of_every_kind_beside_two_threads_that_decide() {
    let (texts, messages) = (Texts::new(), messages());
    let file = |name: &str| texts.0[name].iter().map(|lines| lines.join("\n")).collect::<Vec<_>>().join("\n");
    let loader = MemoryLoader::new().with("spare.rules", "let spare_word = 1");
    let loader = loader.with(MAIN, file(MAIN)).with(SHARED, file(SHARED));
    let live =
        LiveRules::new(compiler(), &loader, MAIN).unwrap_or_else(|error| panic!("{error}")).merge_after(20);
    let answers = BTreeMap::from([(live.generation(), ReferenceAnswers::new(&texts, &messages))]);
    let (random, tally) = (Random::new(13), Tally::default());
    let mut run = Run { random, live: &live, texts, messages: &messages, answers, tally };
    // Later rounds use the same rules, so that the recorded decisions of a round can be dropped.
    for round in seeds(1) {
        run.random = Random::new(13 + round);
        run.run_beside_two_threads(EDITS);
    }
    println!("{:?}", run.tally);
    assert!(live.merge_error().is_none(), "{:?}", live.merge_error());
    // The texts that live rules keep must give the same answers. They may not compile, because they
    // may contain tests of removed rules.
    let kept =
        live.texts().into_iter().fold(MemoryLoader::new(), |loader, (name, text)| loader.with(name, text));
    if let Ok(again) = LiveRules::new(compiler(), &kept, MAIN) {
        run.answers[&live.generation()].assert(&again, &messages, "by the kept texts");
    }
    assert_covers_every_kind(&run.tally);
}

fn assert_covers_every_kind(tally: &Tally) {
    let word = |head: &str| head.split(' ').next().unwrap_or_default().to_owned();
    let of = |kind: &str| -> BTreeSet<String> {
        let accepted = tally.accepted.keys().filter(|(_, other)| *other == kind);
        accepted.map(|(head, _)| word(head)).collect()
    };
    let all: BTreeSet<String> = SLOTS.iter().map(|slot| word(slot.head)).collect();
    assert_eq!([of("insert"), of("replace"), of("remove")], [all.clone(), all.clone(), all]);
    assert!(tally.accepted.values().sum::<usize>() > 400 && tally.batches > 20, "{tally:?}");
    assert!(tally.decided > 1_000 && tally.lacking > 10, "{tally:?}");
    assert!(["compile", "unknown", "duplicate", "no table"].iter().all(|reason| tally.refused[reason] > 3));
}
