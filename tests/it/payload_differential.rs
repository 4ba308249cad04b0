//! Differential test of payloads: validates random payloads by random rules, and compares the VM
//! with the reference evaluator.

use crate::support::engines::{COLUMNS, Column, REFERENCE, VM};
use crate::support::generate::Generator;
use crate::support::generate::payload::Payloads;
use crate::support::random::Random;
use crate::support::trials::seeds;
use rulec::Rules;
use rulec::payload::{Judgement, Outcome};
use serde_json::{Value as Json, json};

const PROGRAMS: u64 = 150;
const PAYLOADS: usize = 40;

/// Returns the judgement without the exceeded limits, which depend on the order of operands.
fn judgement_json(judgement: &Judgement) -> Json {
    let mut json = serde_json::to_value(judgement).expect("a judgement is JSON");
    json.as_object_mut().expect("an object").remove("exceeded");
    json
}

#[test]
fn every_engine_judges_like_the_reference() {
    let (mut accepted, mut corrected, mut rejected, mut violations, mut refused) = (0, 0, 0, 0, 0);
    for seed in seeds(PROGRAMS) {
        let mut random = Random::new(seed);
        let mut generated = Payloads::rules(&mut random);
        // Engines must also agree under limits so small that payloads exceed them.
        if seed % 4 == 1 {
            generated.source.insert_str(0, &Generator::small_limits(&mut random));
        }
        let source = &generated.source;
        let rules = match Rules::from_text(source) {
            Ok(rules) => rules,
            Err(error) => {
                refused += 1;
                assert!(
                    refused < 5 + seed % (1 << 32) / 200,
                    "the generator writes rules that do not compile: {error}\n{source}"
                );
                continue;
            }
        };
        let options = json!({"limit": random.below(6), "words": ["a", "文件"]});
        let judge = |column: Column| {
            let judge = column.judging(&rules).judge("p").expect("the kind is there");
            if seed % 3 == 0 { judge } else { judge.options(options.clone()).expect("the options fit") }
        };
        let (machine, reference) = (judge(VM), judge(REFERENCE));
        let others: Vec<_> = COLUMNS.iter().map(|column| (column, judge(*column))).collect();
        for at in 0..PAYLOADS {
            let payload = generated.payload(&mut random);
            let expected = reference.judge(&payload);
            let judgement = machine.judge(&payload);
            let context = || format!("seed {seed}, payload {payload}\n{source}");
            let expected_json = judgement_json(&expected);
            for (column, judge) in &others {
                assert_eq!(
                    judgement_json(&judge.judge(&payload)),
                    expected_json,
                    "{column:?}: {}",
                    context()
                );
            }
            assert_eq!(judgement.feedback(), expected.feedback(), "{}", context());
            if let Some(mended) = judgement.corrected() {
                assert!(machine.judge(mended).is_valid(), "{}", context());
            }
            if at % 8 == 0 {
                let why = machine.why(&payload).into_iter().filter(|why| !why.warning);
                let why: Vec<_> = why.map(|why| why.violation).collect();
                assert_eq!(why, judgement.violations(), "{}", context());
            }
            violations += judgement.violations().len();
            match judgement.outcome() {
                Outcome::Accept => accepted += 1,
                Outcome::AcceptCorrected => corrected += 1,
                Outcome::Reject => rejected += 1,
            }
        }
    }
    let all = accepted + corrected + rejected;
    println!(
        "{all}: {accepted} accepted, {corrected} corrected, {rejected} rejected; {violations} violations"
    );
    assert!(all > 5_000, "only {all} judgements");
    assert!(
        accepted * 50 > all && corrected * 50 > all && rejected * 10 > all,
        "{accepted}, {corrected}, {rejected}"
    );
    assert!(violations > 2 * rejected, "only {violations} violations");
}
