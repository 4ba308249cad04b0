//! Tests of artifacts. A loaded rule set decides, explains and validates payloads like the compiled
//! rule set, on every engine. A corrupted file is refused. If a forged file has a correct hash, the
//! loader refuses the file or all engines agree on its decisions.

use crate::forge;
use crate::support::engines::COLUMNS;
use crate::support::generate::payload::Payloads;
use crate::support::generate::{Generator, message};
use crate::support::random::Random;
use crate::support::trials::{is_long, run_trials, seeds};
use forge::{READING, assert_agree, hash_offset, rehash};
use rulec::artifact;
use rulec::payload;
use rulec::{Backend, Code, CompileError, Compiler, Rules};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

fn compiler() -> Compiler {
    Compiler::new()
        .function(
            "is_long",
            |text: String| if text.contains('文') { Err("no opinion") } else { Ok(text.len() > 6) },
        )
        .function("score", |text: String, n: i64| (text.len() as f64) / 3.0 + (n % 100) as f64)
}

fn reload(compiler: &Compiler, rules: &Rules) -> Rules {
    compiler.load_artifact(&rules.to_artifact(false)).expect("an artifact loads")
}

/// Returns everything about a decision that a caller can observe.
fn decide_to_json(rules: &Rules, entry: &str, message: &Json) -> Json {
    let entry = rules.entry(entry).expect("the entry is there");
    let mut decision = serde_json::to_value(entry.decide(message)).expect("a decision is JSON");
    decision.as_object_mut().expect("an object").remove("failures");
    json!({
        "decision": decision,
        "matched": entry.matched(message),
        "possible": entry.possible(message),
        "skipped": format!("{:?}", entry.skipped(message)),
        "explained": entry.explain(message, true),
        "masked": rules.masked_message(message),
    })
}

#[track_caller]
fn assert_alike(compiled: &Rules, loaded: &Rules, messages: &[Json]) {
    assert_eq!(format!("{:?}", compiled.warnings()), format!("{:?}", loaded.warnings()));
    assert_eq!(format!("{:?}", compiled.plan()), format!("{:?}", loaded.plan()));
    assert_eq!(compiled.targets(), loaded.targets());
    let outcomes = |rules: &Rules| format!("{:?}", rulec::run_tests(rules));
    assert_eq!(outcomes(compiled), outcomes(loaded));
    let both = |column: &crate::support::engines::Column| (column.compile(compiled), column.compile(loaded));
    let columns = COLUMNS.iter().map(both).chain([(compiled.clone(), loaded.clone())]);
    for (compiled, loaded) in columns {
        for entry in compiled.entries() {
            let engine = |rules: &Rules| rules.entry(entry).map(|entry| entry.backend(false));
            assert_eq!(engine(&loaded), engine(&compiled));
            for message in messages {
                let (expected, found) =
                    (decide_to_json(&compiled, entry, message), decide_to_json(&loaded, entry, message));
                assert_eq!(found, expected, "{:?} {entry} {message}", engine(&compiled));
            }
        }
    }
}

fn rule_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rule_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rules") {
            found.push(path);
        }
    }
}

#[test]
fn the_rules_of_this_repository_come_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["examples", "rules", "tests"] {
        rule_files(&root.join(folder), &mut files);
    }
    let mut random = Random::new(7);
    let mut messages: Vec<Json> = (0..6).map(|_| message(&mut random)).collect();
    messages.push(json!({"text": "please refund my last order, it is urgent", "user": {"tier": "gold"}}));
    messages.push(json!({}));
    let compiler = Compiler::new().allow_missing_functions();
    let mut tried = 0;
    for file in &files {
        let Ok(rules) = compiler.compile_path(file) else { continue };
        tried += 1;
        let loaded = reload(&compiler, &rules);
        println!("{}", file.display());
        assert_alike(&rules, &loaded, &messages);
        let again = compiler.compile_path(file).expect("it compiled before").to_artifact(false);
        assert!(again == rules.to_artifact(false), "{} gives other bytes each time", file.display());
        assert!(again == loaded.to_artifact(false), "{} changes by being loaded", file.display());
    }
    assert!(tried > 20, "only {tried} of {} compile", files.len());
}

#[test]
fn generated_programs_come_back() {
    let compiler = compiler();
    let mut tried = 0;
    for seed in seeds(50) {
        let mut random = Random::new(seed);
        let program = Generator::program(&mut random);
        let Ok(rules) = compiler.compile_text(&program.source) else { continue };
        tried += 1;
        let messages: Vec<Json> = (0..4).map(|_| message(&mut random)).collect();
        assert_alike(&rules, &reload(&compiler, &rules), &messages);
    }
    assert!(tried > 45, "only {tried}");
}

#[test]
fn payloads_are_judged_alike() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let payloads = Payloads::rules(&mut random);
        let rules = Rules::from_text(&payloads.source).expect("the generator makes rules that compile");
        let loaded = Rules::from_artifact(&rules.to_artifact(false)).expect("an artifact loads");
        let kinds: Vec<&str> = payload::kinds(&rules).collect();
        assert!(!kinds.is_empty());
        for kind in kinds {
            let (one, other) = (rules.judge(kind).expect("a kind"), loaded.judge(kind).expect("a kind"));
            assert_eq!(one.schema(), other.schema());
            for _ in 0..6 {
                let payload = payloads.payload(&mut random);
                let judged =
                    |judge: &payload::Judge| format!("{:?} {:?}", judge.judge(&payload), judge.why(&payload));
                assert_eq!(judged(&one), judged(&other), "seed {seed} {payload}\n{}", payloads.source);
            }
        }
    }
}

/// Returns a text with enough rules for an index, with index keys of each kind.
fn many_routes() -> String {
    let mut source =
        String::from("input {\n  text: string\n  ctx: { n: int, role?: string, tags?: list<string> }\n}\n");
    for n in 0..300 {
        let condition = match n % 6 {
            0 => format!("text contains \"word{n}\""),
            1 => format!("text matches r\"(?i)nr{n}\\b\" and ctx.n > {}", n % 7),
            2 => format!("ctx.n == {n} or ctx.n == -{n}"),
            3 => format!("ctx.role == \"a rather long role of number {n}\" or ctx.role == \"r{n}\""),
            4 => format!("\"tag{n}\" in ctx.tags"),
            _ => format!("text starts_with \"Start{n}\" ignoring case and not (ctx.n in [1, 2.5, {n}])"),
        };
        source.push_str(&format!(
            "route r{n} when {condition} -> handler{}(n: ctx.n, k: {n}) {{ of: \"{n}\" }}\n",
            n % 9
        ));
    }
    source + "default -> nobody\n"
}

fn many_messages() -> Vec<Json> {
    (0..60)
        .map(|n| {
            let n = n * 5;
            json!({
                "text": format!("start{n} word{} NR{}", n + 6, n + 1),
                "ctx": {"n": if n % 2 == 0 { n } else { 3 }, "role": format!("r{n}"), "tags": [format!("tag{}", n + 4)]},
            })
        })
        .collect()
}

#[test]
fn the_index_is_loaded_with_the_rules() {
    let rules = Rules::from_text(&many_routes()).expect("it compiles");
    let bytes = rules.to_artifact(false);
    let loaded = Rules::from_artifact(&bytes).expect("it loads");
    // `auto` uses the index here only if the artifact was loaded with the index, because none is
    // built later.
    assert_eq!(loaded.main().backend(false), Backend::Index);
    assert_alike(&rules, &loaded, &many_messages()[..12]);
    let without = Rules::from_artifact(&rules.to_artifact(true)).expect("it loads without sources");
    assert_eq!(without.main().backend(false), Backend::Index);
    for message in many_messages() {
        assert_eq!(
            serde_json::to_value(without.decide(&message)).expect("JSON"),
            serde_json::to_value(rules.decide(&message)).expect("JSON")
        );
    }
}

#[test]
fn without_the_text_explanations_say_where() {
    let rules =
        Rules::from_text("# first\nroute a\n  when text == \"x\" -> h\ndefault -> d").expect("it compiles");
    let bytes = rules.to_artifact(true);
    assert!(!bytes.windows(5).any(|bytes| bytes == b"first"), "the text is left out");
    let loaded = Rules::from_artifact(&bytes).expect("it loads");
    let why = loaded.explain(&json!({"text": "y"})).to_string();
    assert!(why.contains("<text>:3:8"), "{why}");
}

#[test]
fn host_functions_are_checked_when_loading() {
    let source = "extern fn score(text: string) -> int\nroute long when score(text) > 10 -> h";
    let offering = Compiler::new().function("score", |text: String| text.len() as i64);
    let bytes = offering.compile_text(source).expect("it compiles").to_artifact(false);
    let loaded = offering.load_artifact(&bytes).expect("it loads");
    assert_eq!(loaded.decide(&json!({"text": "a rather long text"})).chosen(), Some("long"));
    let wrong = Compiler::new().function("score", |text: String| text);
    for compiler in [Compiler::new(), wrong] {
        let error =
            compiler.load_artifact(&bytes).expect_err("the function is missing or another").to_string();
        let code = Code::HostFunction.as_str();
        assert!(error.starts_with("<text>:1:11: ") && error.contains(code), "{error}");
    }
    assert!(Compiler::new().allow_missing_functions().load_artifact(&bytes).is_ok());
}

fn error_code(result: Result<Rules, CompileError>) -> Option<Code> {
    result.err().map(|error| error.diagnostics()[0].code)
}

#[test]
fn what_is_no_artifact_of_this_version_is_refused() {
    let bytes = Rules::from_text("route a when text == \"x\" -> h").expect("it compiles").to_artifact(false);
    assert!(artifact::is_artifact(&bytes) && artifact::content_hash(&bytes).is_some());
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes
    };
    for (bytes, expected) in [
        (Vec::new(), Code::NoArtifact),
        (b"route a when text == \"x\" -> h".to_vec(), Code::NoArtifact),
        (bytes[..7].to_vec(), Code::NoArtifact),
        (changed(0), Code::NoArtifact),
        (changed(8), Code::ArtifactVersion),
        (changed(12), Code::ArtifactVersion),
        (bytes[..8].to_vec(), Code::ArtifactDamaged),
        (bytes[..30].to_vec(), Code::ArtifactDamaged),
        (changed(bytes.len() - 1), Code::ArtifactDamaged),
        ([&bytes[..], b"x"].concat(), Code::ArtifactDamaged),
    ] {
        assert_eq!(error_code(Rules::from_artifact(&bytes)), Some(expected), "{} bytes", bytes.len());
    }
}

/// Loads a forged file. Returns false if the file is refused; otherwise checks that all engines
/// agree.
fn is_forgery_accepted(compiler: &Compiler, bytes: &[u8], messages: &[Json], thorough: bool) -> bool {
    match compiler.load_artifact(bytes) {
        Err(error) => {
            assert!(!error.diagnostics().is_empty());
            let _ = error.render();
            false
        }
        Ok(rules) => {
            assert_agree(&rules, messages, thorough);
            true
        }
    }
}

/// Loads the artifact that `mutate` returns for each number of the range, after its hash is
/// corrected. Returns the numbers of refused and of loaded artifacts.
///
/// For one in every `thorough` numbers it also checks the explanations and the JIT code, which
/// takes longer.
fn check_forgeries(
    compiler: &Compiler,
    messages: &[Json],
    numbers: std::ops::Range<u64>,
    thorough: u64,
    mutate: &(dyn Fn(u64) -> Vec<u8> + Sync),
) -> (usize, usize) {
    let one = |number: u64, counts: &mut (usize, usize)| {
        let bytes = rehash(mutate(number));
        let load = || is_forgery_accepted(compiler, &bytes, messages, (number / 2).is_multiple_of(thorough));
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(load)) {
            Ok(false) => counts.0 += 1,
            Ok(true) => counts.1 += 1,
            Err(_) => panic!("mutation {number}"),
        }
    };
    run_trials(numbers, one, |counts, (refused, loaded)| *counts = (counts.0 + refused, counts.1 + loaded))
}

/// Returns small rule sets for each kind of statement, with messages that they decide.
fn small_rule_sets() -> Vec<(&'static str, Vec<Json>)> {
    vec![
        (
            r##"
            input { n: int, s?: string, l: list<string>, m?: float }
            let big = n > 5 and l contains "x"
            route deny when big or not (s starts_with "ab" ignoring case) -> h(n: n + 1, s: s ?? "none")
            route allow priority 3 when any e in l: len(e) > 2 -> goto inner
            table inner { route in1 when n in 1..=4 or m is missing -> one  default -> two }
            route last when s matches r"^a.c$" or n in [1, 2.5, 7] -> three { k: [1] }
            default -> nobody"##,
            vec![
                json!({"n": 7, "s": "abc", "l": ["x"]}),
                json!({"n": 2, "s": "xyz", "l": ["abc", "x"], "m": 1.5}),
                json!({"s": "Abx", "l": 4}),
            ],
        ),
        (
            r##"
            extern fn score(text: string, n: int) -> float
            extern fn is_long(text: string) -> bool
            route a when is_long(x.t) and score(x.t, 3) > 2 -> h
            route b when (count e in x.l: e == 3) >= 1 and all f in x.l: f as int > 1 -> g(a: x.l[0], b: [x.t, "k"])
            route c disabled when x.t contains word any ["aa", "bb"] -> i
            route d when x.t contains word any ["bb", "cc"] and x.t in ["bb", x.l[1]] -> i(k: x.l[1] == 5)"##,
            vec![
                json!({"x": {"t": "aaaa bbbb cccc", "l": [3, 3]}}),
                json!({"x": {"t": "bb", "l": [1, 5, "a"]}}),
            ],
        ),
        (
            r##"
            choice size { default branch small  branch large { steps.a.n as number > 3; steps.a.p has_key "k" } }
            flow refund "pays back" keyword contains ["refund", "money back"] -> "refund"
            router after(output) { when output.ok -> next[1]  otherwise -> next[0] loopback }"##,
            vec![
                json!({"steps": {"a": {"n": 4, "p": {"k": 1}}}, "text": "money back", "output": {"ok": true}, "next": ["x"]}),
                json!({"steps": {"a": {"n": 4}}, "text": "no", "output": {"to": ["y", "z"]}}),
            ],
        ),
        (
            r##"
            payload plan rank 6 {
              name: string not blank
              count?: int in 0..=4 clamp
              nodes: list<string>
              closed remove
            }
            payload other { id: string in ["a", "b"] default "a" }"##,
            vec![
                json!({"name": " ", "count": 9, "nodes": [{"id": "x"}, "i"], "z": 1}),
                json!({"name": "n", "nodes": [], "id": "b"}),
            ],
        ),
    ]
}

/// Flips one bit in `step` of the artifact of each rule set, and loads the result. A `step` that is
/// odd reaches each bit of a byte, though not each bit of the same byte.
#[track_caller]
fn flip_bits(sources: &[(&str, Vec<Json>)], step: u64, thorough: u64) {
    for (number, (source, messages)) in sources.iter().enumerate() {
        let rules = compiler().compile_text(source).expect("it compiles");
        assert_agree(&rules, messages, true);
        let bytes = rules.to_artifact(true);
        let start = hash_offset(&bytes) + 32;
        let flip = |at: u64| {
            let (mut bytes, at) = (bytes.clone(), at as usize);
            bytes[start + at / 8] ^= 1 << (at % 8);
            bytes
        };
        let count = (bytes.len() - start) as u64 * 8 / step;
        let flip_in_step = |number: u64| flip(number * step);
        let (refused, loaded) = check_forgeries(&compiler(), messages, 0..count, thorough, &flip_in_step);
        println!("{number}: {} bytes, {refused} refused, {loaded} loaded", bytes.len());
        assert!(refused > 20 && loaded > 20, "{refused} refused, {loaded} loaded");
    }
}

/// Former bug: after one flipped bit, `run` answered `allow` where `why` and the reference
/// evaluator answered `deny`. Another flipped bit made JIT code differ from the VM. The bits were
/// in the bytecode and the index, which were stored in artifacts then.
#[test]
fn a_forged_bit_parts_neither_run_from_why_nor_compiled_code_from_the_vm() {
    let source = "route deny when n > 5 and not s contains \"ok\" -> h\nroute allow when n is present -> g";
    let messages = vec![json!({"n": 7, "s": "no"}), json!({"n": 7, "s": "ok"}), json!({"n": 5.5})];
    flip_bits(&[(source, messages)], 1, 1);
}

#[test]
fn a_forged_bit_is_refused_or_all_engines_agree() {
    // A run before a release flips each bit.
    flip_bits(&small_rule_sets(), if is_long() { 1 } else { 5 }, 16);
}

/// Former bug: a file with a forged count of tables had a rule in a table that did not exist, and
/// the process panicked. The loader had put rules into their tables before it compared the counts
/// with the data.
#[test]
fn numbers_within_forged_counts_are_refused() {
    let compiler = compiler();
    let (mut tried, mut loaded) = (0, 0);
    for (source, _) in small_rule_sets() {
        let bytes = compiler.compile_text(source).expect("it compiles").to_artifact(true);
        let start = hash_offset(&bytes) + 32;
        // The counts come first, and each takes one byte in these files.
        for count in start..start + 8 {
            for at in start + 8..bytes.len() {
                let mut bytes = bytes.clone();
                bytes[count] += 40;
                bytes[at] = bytes[at].wrapping_add(32);
                tried += 1;
                loaded += usize::from(compiler.load_artifact(&rehash(bytes)).is_ok());
            }
        }
    }
    assert!(tried > 10_000 && loaded < tried / 100, "{loaded} of {tried} loaded");
}

#[test]
fn random_forgeries_are_refused_or_all_engines_agree() {
    let compiler = compiler();
    let mut sources: Vec<(String, Vec<Json>)> = vec![(many_routes(), many_messages()[..2].to_vec())];
    sources.push((READING.to_owned(), vec![json!({"n": 7}), json!({"text": "show", "more": {"x": 1}})]));
    sources.extend((0..12).map(|seed| {
        let mut random = Random::new(seed);
        (Generator::program(&mut random).source, vec![message(&mut random), json!({})])
    }));
    sources.extend((0..4).map(|seed| {
        let mut random = Random::new(seed);
        let payloads = Payloads::rules(&mut random);
        let messages = vec![payloads.payload(&mut random), payloads.payload(&mut random)];
        (payloads.source, messages)
    }));
    sources.extend(small_rule_sets().into_iter().map(|(source, messages)| (source.to_owned(), messages)));
    for (number, (source, messages)) in sources.iter().enumerate() {
        let rules = compiler.compile_text(source).expect("it compiles");
        assert_agree(&rules, messages, true);
        let bytes = rules.to_artifact(number % 2 == 0);
        let start = hash_offset(&bytes) + 32;
        let mutate = |seed: u64| {
            let (mut random, mut bytes) = (Random::new(seed), bytes.clone());
            for _ in 0..1 + random.below(3) {
                let at = start + random.below(bytes.len() - start);
                match random.below(5) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => bytes[at] = random.below(12) as u8,
                    2 => bytes[at] = bytes[start + random.below(bytes.len() - start)],
                    _ => bytes[at] ^= 1 << random.below(8),
                }
            }
            bytes
        };
        let numbers = seeds(if number == 0 { 8 } else { 80 });
        let count = (numbers.end - numbers.start) as usize;
        let thorough = if is_long() { 1 } else { 16 };
        let (refused, loaded) = check_forgeries(&compiler, messages, numbers, thorough, &mutate);
        println!("{number}: {} bytes, {refused} refused, {loaded} loaded", bytes.len());
        assert!(refused > count / 20 && loaded > count / 20, "{refused} refused, {loaded} loaded");
    }
}

/// Former bug: the verifier accepted a rule of a payload that no requirement reports.
#[test]
fn a_payload_rule_without_its_requirement_is_refused() {
    let rules = Rules::from_text("payload p { a: int\n require \"b\" at a: a > 1 }").expect("it compiles");
    let mut program = rules.program().clone();
    assert_eq!(program.verify().map_err(|error| error.to_string()), Ok(()));
    program.requirements.pop();
    assert!(program.verify().is_err());
}
