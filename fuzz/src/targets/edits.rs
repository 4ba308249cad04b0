//! Fuzzes sequences of edits of live rules, with merges in between. The live rules must give the
//! same decisions as rules compiled from the edited texts.

use crate::support::random::Random;
use crate::support::statements::SLOTS;
use crate::{fuzz_compiler, sample_messages};
use rulec::{Edit, LiveRules};

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let mut random = Random::from_bytes(bytes);
    let live = LiveRules::from_text(fuzz_compiler(), "default -> b").expect("it compiles").merge_after(3);
    for _ in 0..1 + random.below(24) {
        let slot = &SLOTS[random.below(SLOTS.len())];
        let text = slot.versions[random.below(slot.versions.len())];
        let edit = match random.below(4) {
            0 => Edit::remove(slot.head),
            1 => Edit::replace(text),
            _ => Edit::insert(text),
        };
        let edit = match slot.table {
            Some(table) => edit.in_table(table),
            None => edit,
        };
        let before = live.generation();
        // A rejected edit changes nothing.
        if live.edit(&[edit]).is_err() {
            assert_eq!(live.generation(), before);
        }
        if random.chance(10) {
            live.merge().expect("what was accepted compiles");
        }
    }
    live.wait_for_merge();
    assert!(live.merge_error().is_none(), "{:?}", live.merge_error());
    let [(_, text)] = live.texts().try_into().expect("there is one file");
    // The compiler refuses a file without statements. Live rules that lost their last statement
    // remain valid and choose nothing.
    if text.trim().is_empty() {
        sample_messages().iter().for_each(|message| assert_eq!(live.decide(message).chosen(), None));
        return;
    }
    match fuzz_compiler().compile_text(&text) {
        Ok(fresh) => sample_messages().iter().for_each(|message| {
            let (given, expected) = (live.decide(message), fresh.decide(message));
            assert_eq!(
                (given.chosen(), given.target(), given.args()),
                (expected.chosen(), expected.target(), expected.args()),
                "{text}"
            );
        }),
        // Only tests in the texts may make the compilation fail, because they may refer to removed
        // rules.
        Err(error) => {
            assert!(text.contains("test \""), "what was accepted does not compile: {error}\n{text}")
        }
    }
}
