//! Artifacts: what is loaded decides, explains and judges like what was compiled, on every engine;
//! and a file that is not what was written gives an error or, where its hash is not compared, does no harm.

mod support;

use rulec::internals::artifact;
use rulec::payload;
use rulec::{Backend, Code, CompileError, Compiler, Indexing, Rules, Tier};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use support::engines::COLUMNS;
use support::generate::payload::Payloads;
use support::generate::{Generator, message};
use support::random::Random;

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

/// Everything that can be seen of a decision.
fn seen(rules: &Rules, entry: &str, message: &Json) -> Json {
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
fn alike(compiled: &Rules, loaded: &Rules, messages: &[Json]) {
    assert_eq!(format!("{:?}", compiled.warnings()), format!("{:?}", loaded.warnings()));
    assert_eq!(format!("{:?}", compiled.plan()), format!("{:?}", loaded.plan()));
    assert_eq!(compiled.targets(), loaded.targets());
    let outcomes = |rules: &Rules| format!("{:?} {:?}", rules.run_tests(), payload::run_tests(rules));
    assert_eq!(outcomes(compiled), outcomes(loaded));
    let both = |column: &support::engines::Column| (column.of(compiled), column.of(loaded));
    let columns = COLUMNS.iter().map(both).chain([(compiled.clone(), loaded.clone())]);
    for (compiled, loaded) in columns {
        for entry in compiled.entries() {
            let engine = |rules: &Rules| rules.entry(entry).map(|entry| entry.backend(false));
            assert_eq!(engine(&loaded), engine(&compiled));
            for message in messages {
                let (expected, found) = (seen(&compiled, entry, message), seen(&loaded, entry, message));
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
        alike(&rules, &loaded, &messages);
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
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let program = Generator::program(&mut random);
        let Ok(rules) = compiler.compile_text(&program.source) else { continue };
        tried += 1;
        let messages: Vec<Json> = (0..4).map(|_| message(&mut random)).collect();
        alike(&rules, &reload(&compiler, &rules), &messages);
    }
    assert!(tried > 140, "only {tried}");
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

/// Enough rules for an index, with keys of each kind.
fn many() -> String {
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
    let rules = Rules::from_text(&many()).expect("it compiles");
    let bytes = rules.to_artifact(false);
    let loaded = Rules::from_artifact(&bytes).expect("it loads");
    // Only an index that was loaded serves by itself; nothing builds one later.
    assert_eq!(loaded.main().backend(false), Backend::Index);
    alike(&rules, &loaded, &many_messages()[..12]);
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

fn code(result: Result<Rules, CompileError>) -> Option<Code> {
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
        assert_eq!(code(Rules::from_artifact(&bytes)), Some(expected), "{} bytes", bytes.len());
    }
}

/// Decides, explains and plans as far as the rules let themselves be loaded.
fn use_all(rules: &Rules, messages: &[Json]) {
    for (tier, indexing) in
        [(Tier::Auto, Indexing::Auto), (Tier::Vm, Indexing::Never), (Tier::Jit, Indexing::Never)]
    {
        let rules = rules.with_tier(tier).with_index(indexing);
        for message in messages {
            let _ = rules.decide(message);
        }
    }
    for message in messages.iter().take(1) {
        let _ = rules.with_tier(Tier::Reference).decide(message);
        let _ = rules.explain(message).to_string();
    }
}

#[test]
fn damage_is_found_and_does_no_harm() {
    let mut sources = vec![many()];
    sources.extend((0..6).map(|seed| Generator::program(&mut Random::new(seed)).source));
    let compiler = compiler();
    for (number, source) in sources.iter().enumerate() {
        let rules = compiler.compile_text(source).expect("it compiles");
        let bytes = rules.to_artifact(false);
        let mut random = Random::new(number as u64);
        let messages =
            if number == 0 { many_messages()[..3].to_vec() } else { vec![message(&mut random), json!({})] };
        let (mut refused, mut loaded, mut refused_by_hash) = (0, 0, 0);
        for _ in 0..120 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(damaged.len());
                damaged[at] ^= 1 << random.below(8);
            }
            if random.below(4) == 0 {
                damaged.truncate(random.below(damaged.len()));
            }
            if damaged != bytes {
                match compiler.load_artifact(&damaged) {
                    Err(_) => refused_by_hash += 1,
                    // Only what says which rulec wrote it may differ unnoticed.
                    Ok(rules) => assert!(rules.to_artifact(false) == bytes),
                }
            }
            match compiler.load_artifact_unhashed(&damaged) {
                Err(error) => {
                    assert!(!error.diagnostics().is_empty());
                    refused += 1;
                }
                Ok(rules) => {
                    let jit = rules.with_tier(Tier::Jit).with_index(Indexing::Never);
                    assert!(jit.ready().is_err(), "unchecked rules get machine code");
                    assert_eq!(jit.main().backend(false), Backend::Vm);
                    use_all(&rules, &messages);
                    loaded += 1;
                }
            }
        }
        println!("{number}: {} bytes, {refused} refused, {loaded} loaded", bytes.len());
        assert!(refused > 20 && loaded > 5, "{refused} refused, {loaded} loaded");
        assert!(refused_by_hash > 100, "only {refused_by_hash} by their hash");
    }
}
