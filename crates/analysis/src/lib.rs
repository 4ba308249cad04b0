//! Static analysis of rules: conditions that are always or never true, redundant parts of
//! conditions, hidden routes, and messages that no route matches. The analysis compares meanings,
//! not spellings. It returns its findings as data, which the command line and other front ends
//! print.
//!
//! A claim about *every* message is proven by the solver. A claim about *one* message is
//! checked by the reference evaluator on that message. Without a proof or a check, nothing is
//! reported. All claims are about messages within the limits of a decision.

#![forbid(unsafe_code)]

mod anchors;
mod answers;
mod arguments;
mod atoms;
mod budget;
mod completeness;
mod conditions;
pub mod cost;
mod count_conflicts;
mod decisions;
pub mod diff;
mod element_conflicts;
mod elements;
mod forced;
mod goal;
mod joint_program;
mod lift;
mod list_candidates;
mod minimal_change;
mod missing;
mod misspelt;
mod orders;
pub mod overlaps;
mod pairing;
mod past;
mod past_bounds;
mod past_decisions;
mod past_expand;
mod past_fields;
mod past_limits;
mod past_terms;
mod past_times;
mod past_windows;
mod place;
mod prepared;
mod promise;
mod quantifier_shape;
mod refuting;
mod report;
mod requirements;
mod routes;
mod sat;
mod sequence;
mod shape;
mod solver;
mod string_theory;
mod theory;
mod ties;
mod unused;
mod values;
pub mod why_not;

use hashbrown::{HashMap, HashSet};
use report::AnalysisReport;
use rulec_base::broken_invariant;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::source::SourceMap;
use rulec_base::span::FileId;
use rulec_eval::decision::Choice;
use rulec_sema::hir::{Program, RuleId, TableId, TableKind};
use serde_json::Value as Json;
use solver::MessageSolver;

/// A finding about the rules, with a message that demonstrates it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The diagnostic, with its span and remedy.
    pub diagnostic: Diagnostic,
    /// A message that demonstrates the finding, checked by the reference evaluator. `None` if the
    /// finding is about every message, or if no message is involved.
    pub witness: Option<Json>,
}

impl From<Diagnostic> for Finding {
    /// Converts a diagnostic to a finding without an example message.
    fn from(diagnostic: Diagnostic) -> Finding {
        Finding { diagnostic, witness: None }
    }
}

/// Options of the analysis.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnalysisOptions {
    strict_ties: bool,
}

impl AnalysisOptions {
    /// Sets whether to report every overlap of equal-priority routes with different targets, even
    /// if no route sets a priority. By default, an overlap is only reported if the table uses
    /// priorities and one of the two conditions implies the other condition.
    #[must_use]
    pub fn strict_ties(self, strict_ties: bool) -> AnalysisOptions {
        AnalysisOptions { strict_ties }
    }
}

/// The rules to analyse, with functions that decide messages by these rules.
pub struct AnalysisSubject<'p> {
    /// The typed program.
    pub program: &'p Program,
    /// The source files of the program.
    pub sources: &'p SourceMap,
    /// The warnings of compilation, suppressed ones included; the analysis does not repeat them.
    pub warnings: &'p [Diagnostic],
    /// Function that returns the decision of a table for a message.
    pub decide: &'p dyn Fn(TableId, &Json) -> Choice,
    /// Function that returns the routes of a table that match a message, in evaluation order.
    pub matching_routes: &'p dyn Fn(TableId, &Json) -> Vec<RuleId>,
    /// Function that returns the estimated cost of a decision by a table, in nanoseconds.
    pub decision_cost: &'p dyn Fn(TableId) -> f64,
    /// Options such as whether to report all ties between routes.
    pub options: AnalysisOptions,
}

/// The result of an analysis: the findings, and the work that the analysis took.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Analysis {
    /// The findings, in source order.
    pub findings: Vec<Finding>,
    /// The number of steps that the analysis took, which depends on the rules only.
    pub steps: u64,
}

/// Analyses the rules: each condition alone, then the routes of each table together. Also finds
/// unused definitions and misspelt fields.
pub fn analyse(subject: &AnalysisSubject<'_>) -> Analysis {
    let program = subject.program;
    let mut solver = MessageSolver::new(program);
    let mut report = AnalysisReport::new(program, subject.sources, solver.budget().clone());
    let reported: HashSet<_> =
        subject.warnings.iter().filter_map(|warning| Some((warning.code, warning.span()?))).collect();
    let kinds = [TableKind::Routes, TableKind::Choice, TableKind::Router];
    let tables = || program.tables.iter().enumerate().filter(|(_, table)| kinds.contains(&table.kind));
    // Each rule gets two shares of the steps: one for its condition, and one for the comparison
    // with the other rules.
    solver.budget().expect_shares(2 * tables().map(|(_, table)| table.evaluation_order.len()).sum::<usize>());
    for (table_index, table) in tables() {
        let mut facts = HashMap::new();
        for id in &table.evaluation_order {
            let rule = &program.rules[id.index()];
            solver.budget().begin_share();
            let was_reported = |code| reported.contains(&(code, rule.condition.span));
            let is_constant = was_reported(Code::NeverMatches) || was_reported(Code::AlwaysMissing);
            let condition_facts = conditions::analyse_condition(&mut solver, &mut report, rule, is_constant);
            missing::report_missing_in_negations(&mut solver, &mut report, rule, &condition_facts);
            missing::report_skipped_conditions(&mut solver, &mut report, rule, &condition_facts);
            arguments::report_conditions_of_arguments(&mut solver, &mut report, rule, &condition_facts);
            report.record_if_exhausted(*id);
            facts.insert(*id, condition_facts);
        }
        routes::analyse_table(&mut solver, &mut report, subject, TableId(table_index as u32), &facts);
    }
    requirements::report_contradictions(&mut solver, &mut report);
    past::report_conditions_on_the_past(&mut report);
    past_limits::report_limits_without_sum(&mut solver, &mut report);
    report.report_unanalysed();
    unused::report_unused_definitions(&mut report);
    solver.budget().begin_share();
    misspelt::report_misspelt_fields(&mut report, solver.budget());
    let mut findings = report.findings;
    // A finding about two windows of the history names the reason why a part has no effect.
    let is_about_windows = |finding: &Finding| finding.diagnostic.code == Code::WindowInWindow;
    let about_windows: Vec<Diagnostic> = findings
        .iter()
        .filter(|finding| is_about_windows(finding))
        .map(|found| found.diagnostic.clone())
        .collect();
    let warnings = subject.warnings.iter().chain(&about_windows);
    let mut warnings: Vec<&Diagnostic> = warnings.filter(|warning| warning.span().is_some()).collect();
    warnings.sort_by_key(|warning| start_of(warning));
    findings
        .retain(|finding| is_about_windows(finding) || !is_already_reported(&finding.diagnostic, &warnings));
    findings.sort_by_key(|finding| start_of(&finding.diagnostic));
    Analysis { findings, steps: solver.budget().taken_steps() }
}

/// Returns the file and the offset at which the primary span of a diagnostic starts; `None` if it
/// has no span.
fn start_of(diagnostic: &Diagnostic) -> Option<(FileId, u32)> {
    diagnostic.span().map(|span| (span.file, span.start))
}

/// True if the compiler already reported the finding, or reported its cause within the same span.
/// `warnings` are the compiler's warnings, sorted by their start.
fn is_already_reported(diagnostic: &Diagnostic, warnings: &[&Diagnostic]) -> bool {
    let cause_codes = [
        Code::EmptyList,
        Code::EmptyText,
        Code::AlwaysMissing,
        Code::NullInList,
        Code::OtherFamily,
        Code::BlankAround,
        Code::ConstantKey,
        Code::NotInAddress,
        Code::WindowInWindow,
    ];
    let no_effect_codes = [Code::NeverMatches, Code::AlwaysMatches, Code::PartDecidesNothing];
    // A text with a blank can only be the reason why a comparison never holds.
    let is_cause = |code: Code| {
        cause_codes.contains(&code) && (code != Code::BlankAround || diagnostic.code == Code::NeverMatches)
    };
    let Some(finding_span) = diagnostic.span() else {
        broken_invariant!("a finding has a span");
        return false;
    };
    // Only warnings that start within the finding's span can report the same problem or its cause.
    let (start, end) = ((finding_span.file, finding_span.start), (finding_span.file, finding_span.end));
    let first = warnings.partition_point(|warning| start_of(warning) < Some(start));
    let mut within = warnings[first..].iter().take_while(|warning| start_of(warning) <= Some(end));
    within.any(|warning| {
        warning.span().is_some_and(|span| {
            let is_inside = span.file == finding_span.file
                && finding_span.start <= span.start
                && span.end <= finding_span.end;
            (warning.code == diagnostic.code && span == finding_span)
                || (is_inside && no_effect_codes.contains(&diagnostic.code) && is_cause(warning.code))
                || (is_inside && diagnostic.code == Code::OutOfRange && warning.code == Code::ConstantKey)
        })
    })
}
