//! Tests of merges and compactions that overlap with edits. The tests run each step themselves,
//! without background threads, so that the order is fixed.

use super::{MISSING_FIELD_ROUTE, assert_order, live_rules};
use crate::engine::live::base::{self, BaseRules};
use crate::engine::live::source_edits::RouteChanges;
use crate::engine::live::writer::{BackgroundWorkOutcome, LiveWriter};
use crate::engine::{CompileError, Edit, LiveRules};
use crate::history::MemoryStore;
use rulec_base::parallel::ThreadLimit;
use rulec_sema::check::CountedFields;
use rulec_sema::hir::TableId;
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Compiles `base` with `changes` in full, as a merge of live rules does.
fn compiled(
    rules: &LiveRules,
    base: &BaseRules,
    changes: &RouteChanges,
) -> Result<(BaseRules, CountedFields), CompileError> {
    let files = base.files.with_texts(changes.apply_to_texts(&base.rules, &base.edit_points));
    base::compile_base(&rules.shared.compiler, &files, &files, |_| false, ThreadLimit::One)
}

fn insert(rules: &LiveRules, names: &[&str]) {
    for name in names {
        rules.insert(&format!("route {name} {MISSING_FIELD_ROUTE}")).expect("it fits");
    }
}

#[test]
fn an_aborted_merge_keeps_its_segments() {
    let rules = live_rules(&format!("route a {MISSING_FIELD_ROUTE}"));
    insert(&rules, &["b", "c"]);
    let input = rules.shared.lock_writer().begin_merge().expect("edits are pending");
    insert(&rules, &["d"]);
    rules.remove("b").expect("it is there");
    assert!(!rules.shared.lock_writer().is_idle());
    let result = catch_unwind(AssertUnwindSafe(|| {
        rules.shared.run_or_abort(LiveWriter::abort_merge, || panic!("a merge panics"));
    }));
    assert!(result.is_err() && rules.shared.lock_writer().is_idle());
    drop(input);
    assert_eq!(rules.pending(), 4);
    assert_order(&rules, &["a", "c", "d"]);
}

#[test]
fn a_recompilation_supersedes_a_merge() {
    let rules = live_rules(&format!("list words = [\"x\"]\nroute a {MISSING_FIELD_ROUTE}"));
    insert(&rules, &["b"]);
    let input = rules.shared.lock_writer().begin_merge().expect("edits are pending");
    let merged = compiled(&rules, &input.base, &input.changes);
    rules.replace("list words = [\"y\"]").expect("it is there");
    insert(&rules, &["c"]);
    assert!(!rules.shared.lock_writer().schedule_merge(1), "the superseded merge still runs");
    let completion = rules.shared.lock_writer().finish_merge(&input, merged);
    assert!(matches!(completion, Ok(BackgroundWorkOutcome::Superseded)), "{completion:?}");
    assert!(rules.shared.lock_writer().is_idle());
    assert_eq!(rules.pending(), 1, "the recompilation includes the earlier edit");
    assert_order(&rules, &["a", "b", "c"]);
    assert!(rules.texts()[0].1.contains("\"y\""));
}

#[test]
fn a_merge_is_scheduled_once() {
    let rules = live_rules("");
    let mut writer = rules.shared.lock_writer();
    assert!(!writer.schedule_merge(1), "there is no edit");
    drop(writer);
    insert(&rules, &["a"]);
    writer = rules.shared.lock_writer();
    assert!(!writer.schedule_merge(2));
    assert!(writer.schedule_merge(1) && !writer.schedule_merge(1));
    assert!(!writer.is_idle());
    writer.abort_merge();
    assert!(writer.is_idle() && writer.schedule_merge(1));
    writer.abort_merge();
}

/// Applies an edit without starting background threads.
fn edit_alone(rules: &LiveRules, edit: &Edit) {
    let shared = &rules.shared;
    let mut writer = shared.lock_writer();
    let parsed = edit.parse_edit(writer.base().rules.sources()).expect("it parses");
    writer.apply_edit(&shared.compiler, TableId(0), parsed.action).expect("it fits");
    shared.publish(&writer);
}

/// Runs a script of overlapping background work. `c` begins a compaction and `C` finishes it; `m`
/// begins a merge and `M` finishes it. Before each step, the test inserts, replaces and removes
/// routes.
fn overlap(script: &str) {
    let rules = live_rules("");
    let (mut expected, mut compaction, mut merge) = (Vec::<String>::new(), None, None);
    let shared = &rules.shared;
    for (round, step) in script.chars().enumerate() {
        for at in 0..6 {
            let name = format!("r{round}_{at}");
            edit_alone(&rules, &Edit::insert(format!("route {name} {MISSING_FIELD_ROUTE}")));
            expected.push(name);
        }
        for at in [round, expected.len() - 3] {
            edit_alone(&rules, &Edit::replace(format!("route {} {MISSING_FIELD_ROUTE}", expected[at])));
        }
        for at in [expected.len() - 1, round] {
            edit_alone(&rules, &Edit::remove(expected.remove(at)));
        }
        let completion = match step {
            'c' => {
                assert!(shared.lock_writer().schedule_compaction(), "{script}");
                compaction = shared.lock_writer().next_compaction();
                None
            }
            'm' => {
                merge = shared.lock_writer().begin_merge();
                None
            }
            'C' => {
                let mut input = compaction.take().expect("the compaction began");
                let compiled = shared.compile_segment(&mut input);
                let completion = shared.lock_writer().finish_compaction(&input, compiled);
                shared.lock_writer().abort_compaction();
                let superseded = script.contains("cM") || script.contains("cmM");
                assert_eq!(
                    matches!(completion, Ok(BackgroundWorkOutcome::Superseded)),
                    superseded,
                    "{script}"
                );
                completion.ok()
            }
            _ => {
                let input = merge.take().expect("the merge began");
                let merged = compiled(&rules, &input.base, &input.changes);
                shared.lock_writer().finish_merge(&input, merged).ok()
            }
        };
        if completion == Some(BackgroundWorkOutcome::Installed) {
            shared.publish(&shared.lock_writer());
        }
        assert_eq!(rules.matched(&json!({})), expected, "{script} after {step}");
    }
    assert!(shared.lock_writer().is_idle(), "{script}");
    assert_order(&rules, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_compaction_may_overlap_a_merge() {
    for script in ["cCmM", "cmCM", "cmMC", "mcCM", "mcMC", "mMcC"] {
        overlap(script);
    }
}

#[test]
fn a_merge_keeps_what_a_route_inserted_meanwhile_reads_of_the_history() {
    let again = "when previous.tool == tool -> again";
    let rules = live_rules(&format!(
        "input {{ tool: string, now: datetime }}\nhistory\nroute old {again}\ndefault -> run"
    ));
    edit_alone(&rules, &Edit::remove("old"));
    let input = rules.shared.lock_writer().begin_merge().expect("an edit is pending");
    // The merged rules keep no field `tool` in the history, but the base rules do. So the new route
    // can be added to the base.
    edit_alone(&rules, &Edit::insert(format!("route new {again}")));
    let merged = compiled(&rules, &input.base, &input.changes);
    let completion = rules.shared.lock_writer().finish_merge(&input, merged);
    assert!(matches!(completion, Ok(BackgroundWorkOutcome::Superseded)), "{completion:?}");
    assert!(rules.shared.lock_writer().is_idle());
    rules.shared.publish(&rules.shared.lock_writer());
    let store = MemoryStore::default();
    let chosen = || {
        let message = json!({"tool": "x", "now": "2026-01-31T12:00:00Z"});
        let decision = rules.decide_and_record(&store, &message).expect("it is recorded");
        decision.chosen().map(str::to_owned)
    };
    assert_eq!(chosen().as_deref(), Some("default"));
    assert_eq!(chosen().as_deref(), Some("new"));
    rules.merge().expect("it compiles");
    assert_eq!((rules.pending(), chosen().as_deref()), (0, Some("new")));
}
