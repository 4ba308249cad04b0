//! The differential test: random programs, random messages, every engine held against the
//! reference evaluator. A difference found is a bug even when rare.

mod support;

use rulec::vm::Scratch;
use rulec::{Compiler, Indexing, Rules, Tier};
use serde_json::Value as Json;
use support::generate::{Generator, message};
use support::random::Random;

const PROGRAMS: u64 = 2_200;
const MESSAGES: usize = 50;

fn compiler() -> Compiler {
    Compiler::new()
        .function(
            "is_long",
            |text: String| if text.contains('文') { Err("no opinion") } else { Ok(text.len() > 6) },
        )
        .function("score", |text: String, n: i64| (text.len() as f64) / 3.0 + (n % 100) as f64)
}

fn compile(source: &str) -> Result<Rules, rulec::CompileError> {
    compiler().compile_text(source)
}

fn reload(rules: &Rules) -> Rules {
    compiler().load_artifact(&rules.to_artifact(false)).expect("an artifact loads")
}

/// Everything a caller can see of a decision but the time it took.
fn seen(rules: &Rules, entry: &str, message: &Json) -> (String, Vec<String>) {
    let entry = rules.entry(entry).expect("the generator names the entries");
    let decision = entry.decide(message);
    let mut json = serde_json::to_value(&decision).expect("a decision is JSON");
    // Which host functions are asked depends on the order of operands, which engines may choose.
    json.as_object_mut().expect("an object").remove("failures");
    let matched = entry.matched(message).into_iter().map(str::to_owned).collect();
    (json.to_string(), matched)
}

#[test]
fn every_engine_answers_like_the_reference() {
    let (mut pairs, mut hits, mut rejected) = (0_usize, 0_usize, 0_usize);
    let mut scratch = Scratch::new();
    for seed in 0..PROGRAMS {
        let mut random = Random::new(seed);
        let program = Generator::program(&mut random);
        let rules = match compile(&program.source) {
            Ok(rules) => rules,
            Err(error) => {
                rejected += 1;
                assert!(
                    rejected < 5,
                    "the generator makes programs that do not compile: {error}\n{}",
                    program.source
                );
                continue;
            }
        };
        let reference = rules.with_tier(Tier::Reference);
        // The rules as they come back from a file, for a share of the programs.
        let loaded = (seed % 4 == 0).then(|| reload(&rules));
        let mut engines = vec![
            ("vm", rules.with_tier(Tier::Vm).with_index(Indexing::Never)),
            ("jit", rules.with_tier(Tier::Jit).with_index(Indexing::Never)),
            ("index", rules.with_tier(Tier::Vm).with_index(Indexing::Always)),
        ];
        engines.extend(loaded.map(|rules| ("artifact", rules.with_index(Indexing::Always))));
        for at in 0..MESSAGES {
            let message = message(&mut random);
            let entry = &program.entries[at % program.entries.len()];
            let expected = seen(&reference, entry, &message);
            let context = || format!("seed {seed}, entry {entry}, message {message}\n{}", program.source);
            let handle = rules.entry(entry).expect("the generator names the entries");
            let decided = handle.decide(&message);
            for (name, rules) in &engines {
                assert_eq!(seen(rules, entry, &message), expected, "{name}: {}", context());
                let handle = rules.entry(entry).expect("the generator names the entries");
                let record = rules.prepare(&message);
                let prepared = handle.decide_record(&record);
                assert_eq!(prepared.chosen(), decided.chosen(), "{name}, prepared: {}", context());
                assert_eq!(prepared.args(), decided.args(), "{name}, prepared: {}", context());
                let bare = handle.choose_record(&record, &mut scratch);
                let chosen = bare.chosen.map(|chosen| chosen.name(rules.program()));
                assert_eq!(chosen, decided.chosen(), "{name}, bare: {}", context());
            }
            if at % 10 == 0 {
                let explained =
                    serde_json::to_value(handle.explain(&message, true)).expect("an explanation is JSON");
                assert_eq!(explained["chosen"].as_str(), decided.chosen(), "explanation: {}", context());
            }
            pairs += 1;
            hits += usize::from(!expected.1.is_empty());
        }
    }
    println!("{pairs} pairs, {hits} with a route that holds, {rejected} programs rejected");
    assert!(pairs >= 100_000, "only {pairs} pairs");
    assert!(hits * 10 >= pairs * 3, "only {hits} of {pairs} pairs hold");
}
