//! The analysis of what rules do to each other: conditions that hold always or never, parts of them that decide nothing, routes that
//! others hide, inputs that fall through. It is found out over the typed program, by meaning and not by spelling, and
//! given as data: the shells print it.
//!
//! Two rules keep it honest. What is claimed of *every* message rests on a proof ([`solver`]); what is claimed of *one*
//! message is tried on it by the reference evaluator. Where neither can be had, nothing is said. The claims are about
//! messages within the limits of a decision.

#![forbid(unsafe_code)]

mod atoms;
mod both;
mod conditions;
pub mod cost;
pub mod diff;
mod missing;
mod near;
pub mod overlaps;
mod place;
mod raise;
mod report;
mod routes;
mod sequence;
mod shape;
mod solver;
mod texts;
mod theory;
mod twins;
mod unused;
mod values;
pub mod why_not;

use hashbrown::{HashMap, HashSet};
use report::Report;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::source::SourceMap;
use rulec_eval::decision::Choice;
use rulec_sema::hir::{Program, RuleId, TableId, TableKind};
use serde_json::Value as Json;
use solver::Solver;

/// A finding about rules, with the input that proves it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The finding, its place, and the remedy.
    pub diagnostic: Diagnostic,
    /// A message that shows it, as the reference evaluator decides; `None` where the finding is about every message,
    /// or about none.
    pub witness: Option<Json>,
}

impl From<Diagnostic> for Finding {
    /// A finding that no single message shows.
    fn from(diagnostic: Diagnostic) -> Finding {
        Finding { diagnostic, witness: None }
    }
}

/// The way rules are analysed.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnalysisOptions {
    strict_ties: bool,
}

impl AnalysisOptions {
    /// True where two routes of equal priority and different targets are told when any input satisfies both, else only when
    /// one of them takes all that the other does. The priority that nobody writes counts then too.
    #[must_use]
    pub fn strict_ties(self, strict_ties: bool) -> AnalysisOptions {
        AnalysisOptions { strict_ties }
    }
}

/// The rules that are analysed, with the engine that decides by them.
pub struct Subject<'p> {
    /// The typed program.
    pub program: &'p Program,
    /// The files that the program was compiled from.
    pub sources: &'p SourceMap,
    /// The warnings of compiling them, also those that are allowed: they are not said again.
    pub warnings: &'p [Diagnostic],
    /// The decision of a table for a message.
    pub decide: &'p dyn Fn(TableId, &Json) -> Choice,
    /// The routes of a table that hold for a message, in the order they are tried.
    pub matched: &'p dyn Fn(TableId, &Json) -> Vec<RuleId>,
    /// What is reported.
    pub options: AnalysisOptions,
}

/// All that is found about rules, in the order of the text.
pub fn analyse(subject: &Subject<'_>) -> Vec<Finding> {
    let program = subject.program;
    let mut report = Report::new(program, subject.sources);
    let mut solver = Solver::new(program);
    let told: HashSet<_> =
        subject.warnings.iter().filter_map(|warning| Some((warning.code, warning.span()?))).collect();
    let kinds = [TableKind::Routes, TableKind::Choice, TableKind::Router];
    for (at, table) in program.tables.iter().enumerate().filter(|(_, table)| kinds.contains(&table.kind)) {
        let mut facts = HashMap::new();
        for id in &table.order {
            let rule = &program.rules[id.index()];
            let known = |code| told.contains(&(code, rule.condition.span));
            let constant = known(Code::NeverMatches) || known(Code::AlwaysMissing);
            let found = conditions::condition(&mut solver, &mut report, rule, constant);
            missing::negations(&mut solver, &mut report, rule, &found);
            missing::left_out(&mut solver, &mut report, rule, &found);
            facts.insert(*id, found);
        }
        routes::table(&mut solver, &mut report, subject, TableId(at as u32), &facts);
    }
    unused::declarations(&mut report);
    let mut findings = report.findings;
    findings.retain(|finding| !is_told(&finding.diagnostic, subject.warnings));
    findings.sort_by_key(|finding| finding.diagnostic.span().map(|span| (span.file, span.start)));
    findings
}

/// True for what compiling the rules has said: the same, or the cause of it inside the same place.
fn is_told(found: &Diagnostic, warnings: &[Diagnostic]) -> bool {
    let causes = [Code::EmptyList, Code::EmptyText, Code::AlwaysMissing, Code::NullInList, Code::OtherFamily];
    let vain = [Code::NeverMatches, Code::AlwaysMatches, Code::PartDecidesNothing];
    let Some(place) = found.span() else { return false };
    warnings.iter().any(|warning| {
        warning.span().is_some_and(|span| {
            let inside = span.file == place.file && place.start <= span.start && span.end <= place.end;
            (warning.code == found.code && span == place)
                || (inside && vain.contains(&found.code) && causes.contains(&warning.code))
        })
    })
}
