//! The test suites of the language, in one program, so that the library is linked only once. Suites
//! that need their own allocator or process are in files next to this folder.

#![allow(clippy::duplicate_mod, reason = "two workloads include the same random numbers")]

#[path = "../../benches/support/mod.rs"]
mod bench_rules;
#[path = "../support/chinese.rs"]
mod chinese;
#[path = "../support/decisions.rs"]
mod decisions;
#[path = "../support/findings.rs"]
mod findings;
#[path = "../support/forge.rs"]
mod forge;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/textmate.rs"]
mod textmate;
#[path = "../../benches/peers/src/workload/mod.rs"]
mod workload;
#[path = "../support/worst.rs"]
mod worst_cases;

mod analysis;
mod analysis_arguments;
mod analysis_elements;
mod analysis_programs;
mod analysis_steps;
mod artifact;
mod classifier_clinc150;
mod clinc150;
mod codes;
mod conformance;
mod copies;
mod dependencies;
mod diff;
mod differential;
mod docs;
mod dogwood;
mod enumerations;
mod format;
mod golden;
mod helps;
mod history;
mod history_findings;
mod history_limits;
mod history_programs;
mod history_store;
mod house;
mod index;
mod language;
mod library;
mod limits;
mod live;
mod live_statements;
mod messages;
mod payload;
mod payload_corrections;
mod payload_differential;
mod payload_schema;
mod presence;
mod public;
mod regressions;
mod regressions_of_systems;
mod reports;
mod request;
mod signatures;
mod streams;
mod tables;
mod test_blocks;
mod ui;
mod why_not;
mod worst;
