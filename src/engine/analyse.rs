//! Static analyses of compiled rules, as methods of [`Rules`]. The crate `rulec-analysis` does the
//! work. This file provides the engine with which that crate decides example messages.

use super::{Entry, Rules, Session, Tier, UnknownEntry};
use hashbrown::HashMap;
use rulec_analysis::cost::{TableCost, table_costs};
use rulec_analysis::diff::{self, Diff, RulesVersion};
use rulec_analysis::overlaps::{Overlaps, find_overlaps};
use rulec_analysis::why_not::{WhyNot, WhyNotQuery, explain_why_not};
use rulec_analysis::{self, Analysis, AnalysisOptions, AnalysisSubject, Finding};
use rulec_eval::decision::Choice;
use rulec_lang::history::PastView;
use rulec_sema::hir::{RuleId, TableId};
use rulec_vm::bytecode::growing_history_loops;
use rulec_vm::index::TablePlan;
use serde_json::Value as Json;
use std::cell::{OnceCell, RefCell};

/// Minimum number of rules in a table for an estimate of its decision cost. The cost of a smaller
/// table counts as 0, because it is small in any case.
const MIN_PLANNED_RULES: usize = 200;

/// A session that an analysis reuses for all tables. A session per table would waste memory,
/// because the working memory of a session grows with the number of rules.
struct TableSession<'r> {
    rules: &'r Rules,
    /// The session, and the table by which it decides. `None` before the first decision.
    session: RefCell<Option<(TableId, Session)>>,
}

impl TableSession<'_> {
    fn new(rules: &Rules) -> TableSession<'_> {
        TableSession { rules, session: RefCell::new(None) }
    }

    /// Calls `work` with the session, after setting the session to decide by `table`.
    fn with_session_of_table<T>(&self, table: TableId, work: impl FnOnce(&mut Session) -> T) -> T {
        let mut open = self.session.borrow_mut();
        let (current, session) = open.get_or_insert_with(|| (table, self.rules.table(table).session()));
        if *current != table {
            self.rules.table(table).reuse_session(session);
            *current = table;
        }
        work(session)
    }
}

impl Rules {
    /// Analyses the rules. The findings are in source order. They are conditions that always or
    /// never hold, redundant operands of conditions, routes that are never chosen, and messages
    /// that no route matches. Warnings of the compiler ([`Rules::warnings`]) are not repeated.
    /// Findings that a comment `# rulec: allow` names are left out.
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("route odd when ctx.n > 5 and ctx.n < 3 -> h\ndefault -> h")?;
    /// let found = rules.analyse();
    /// assert_eq!(found[0].diagnostic.message, "`ctx.n > 5` and `ctx.n < 3` never hold together");
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    pub fn analyse(&self) -> Vec<Finding> {
        self.analyse_with(AnalysisOptions::default())
    }

    /// Analyses the rules like [`Rules::analyse`], with options.
    pub fn analyse_with(&self, options: AnalysisOptions) -> Vec<Finding> {
        self.analyse_counted(options).findings
    }

    /// Analyses the rules like [`Rules::analyse_with`]. Also returns the number of steps that the
    /// analysis took. A step is, for example, the check of one value. Unit tests compare this
    /// number with the limit of the analysis.
    #[doc(hidden)]
    pub fn analyse_counted(&self, options: AnalysisOptions) -> Analysis {
        let set = self.rule_set();
        let Analysis { mut findings, steps } = self.with_analysis_subject(options, rulec_analysis::analyse);
        let mut suppressions = set.suppressions.clone();
        findings.retain(|finding| !suppressions.suppresses(&finding.diagnostic));
        findings.extend(suppressions.unused_suppressions(true).map(Finding::from));
        Analysis { findings, steps }
    }

    /// Finds pairs of statements in a table, choice or router that can both hold for one message,
    /// so that their order decides.
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("route big when n > 5 -> big\nroute even when n % 2 == 0 -> even")?;
    /// let found = rules.overlaps("routes")?;
    /// assert_eq!((&*found.pairs[0].first, &*found.pairs[0].second), ("big", "even"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If no entry has this name.
    pub fn overlaps(&self, table: &str) -> Result<Overlaps, UnknownEntry> {
        let table = self.entry(table)?.id();
        Ok(self.with_analysis_subject(AnalysisOptions::default(), |subject| find_overlaps(subject, table)))
    }

    /// Calls `analyse` with the data that a static analysis needs: the program, its warnings, and
    /// functions with which the analysis decides its example messages.
    fn with_analysis_subject<T>(
        &self,
        options: AnalysisOptions,
        analyse: impl FnOnce(&AnalysisSubject<'_>) -> T,
    ) -> T {
        let set = self.rule_set();
        let rules = &set.program.rules;
        let ids = rules.iter().zip(0..).map(|(rule, id)| ((rule.table, &*rule.name), RuleId(id)));
        let ids: HashMap<(TableId, &str), RuleId> = ids.collect();
        let session = TableSession::new(self);
        let decide = |table: TableId, message: &Json| {
            session.with_session_of_table(table, |session| session.choose(&self.prepare(message)))
        };
        let matched = |table: TableId, message: &Json| -> Vec<RuleId> {
            let names = self.table(table).matched(message);
            names.into_iter().filter_map(|name| ids.get(&(table, name)).copied()).collect()
        };
        let plans = OnceCell::new();
        let decision_cost = |table: TableId| -> f64 {
            if set.program.tables[table.index()].evaluation_order.len() < MIN_PLANNED_RULES {
                return 0.0;
            }
            let plans: &Vec<TablePlan> = plans.get_or_init(|| self.plan());
            plans.iter().find(|plan| plan.table == table.0).map_or(0.0, |plan| match plan.indexed {
                true => plan.index_cost,
                // Without the index, each rule costs a function call, which the cost model does not
                // count. The factor 4 accounts for it.
                false => 4.0 * plan.linear_cost,
            })
        };
        let warnings = [&*set.warnings, set.suppressions.suppressed()].concat();
        let subject = AnalysisSubject {
            program: &set.program,
            sources: &set.sources,
            warnings: &warnings,
            decide: &decide,
            matching_routes: &matched,
            decision_cost: &decision_cost,
            options,
        };
        analyse(&subject)
    }

    /// Compares the rules with a newer version by meaning, not by text. The result lists added,
    /// removed and changed routes, each with an example message that the two versions decide
    /// differently.
    ///
    /// ```
    /// use rulec::{Rules, diff::Verdict};
    ///
    /// let old = Rules::from_text("route big when n > 5 -> big\ndefault -> small")?;
    /// let same = Rules::from_text("let least = 5\nroute big when not (n <= least) -> big\ndefault -> small")?;
    /// assert_eq!(old.diff(&same).verdict(), Verdict::Same);
    ///
    /// let new = Rules::from_text("route big when n >= 5 -> big\ndefault -> small")?;
    /// let found = old.diff(&new);
    /// assert_eq!(found.entries[0].changes[0].examples[0].message, serde_json::json!({"n": 5}));
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    pub fn diff(&self, new: &Rules) -> Diff {
        let (old, new) = (self.with_reference_tier(), new.with_reference_tier());
        let decide = |rules: &Rules, session: &TableSession<'_>, table, message: &Json| {
            session.with_session_of_table(table, |session| {
                let choice: Choice = session.choose(&rules.prepare(message));
                (choice, serde_json::to_value(session.decide(message)).unwrap_or_default())
            })
        };
        let sessions = [TableSession::new(&old), TableSession::new(&new)];
        let decide_old = |table, message: &Json| decide(&old, &sessions[0], table, message);
        let decide_new = |table, message: &Json| decide(&new, &sessions[1], table, message);
        diff::diff(
            &RulesVersion { program: &old.rule_set().program, decide: &decide_old },
            &RulesVersion { program: &new.rule_set().program, decide: &decide_new },
        )
    }

    /// Returns the worst-case work of a decision for each table, in steps. A step is one
    /// comparison, or one byte or element that is read. The limits of the language bound this cost;
    /// real messages usually cost far less.
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("route a when n > 1 and text contains \"x\" -> h\nroute b when n > 2 -> h")?;
    /// let cost = &rules.cost()[0];
    /// assert_eq!((&*cost.statements[0].name, &*cost.statements[1].name), ("a", "b"));
    /// assert_eq!(cost.statements[1].steps, 1);
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    pub fn cost(&self) -> Vec<TableCost> {
        let set = self.rule_set();
        let growing = growing_history_loops(&set.program, set.normal()).unwrap_or_default();
        table_costs(&set.program, set.normal(), &|part| growing.contains(&part))
    }

    /// Returns the same rules, but with the reference evaluator ([`Tier::Reference`]) as engine.
    fn with_reference_tier(&self) -> Rules {
        self.with_tier(Tier::Reference)
    }
}

impl Entry<'_> {
    /// Explains why a message does not select the route, branch or case `route`. The result has the
    /// smallest change after which the message would select it. The result also has the statement
    /// that the message selects now. `route` may also be `default`. If `route` is the name of a
    /// jump (`goto`), the explanation is about any route that the jump can reach.
    ///
    /// With a history ([`Entry::with_history`]), the message and its changed versions read the
    /// history. But a changed message with another history key reads an empty history.
    ///
    /// ```
    /// use rulec::{Rules, why_not::Remedy};
    /// use serde_json::json;
    ///
    /// let rules = Rules::from_text("route many when ctx.count > 3 and text contains \"a\" -> h\ndefault -> d")?;
    /// let why = rules.main().why_not("many", &json!({"text": "a", "ctx": {"count": 2}}))?;
    /// assert_eq!(why.taken_by.as_deref(), Some("default"));
    /// let Remedy::Change { fields, is_smallest: true, .. } = why.remedy else { panic!("a change does") };
    /// assert_eq!((&*fields[0].field, &*fields[0].needs[0]), ("ctx.count", "more than 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If no statement of that name can be reached from the entry.
    pub fn why_not(&self, route: &str, message: &Json) -> Result<WhyNot, UnknownEntry> {
        let set = &self.rules.rule_set;
        let session = RefCell::new(Entry { tier: Tier::Reference, ..*self }.session());
        let key_of = |message: &Json| set.history_plan().and_then(|plan| plan.history_key(message));
        let key = key_of(message);
        let decide = |changed: &Json| {
            let prepared = set.prepare(changed);
            match self.history.filter(|_| key_of(changed) == key) {
                Some(past) => session.borrow_mut().choose_with_past(past.clone(), &prepared),
                None => session.borrow_mut().choose(&prepared),
            }
        };
        let past = |changed: &Json| match self.history.filter(|_| key_of(changed) == key) {
            Some(past) => past.view(),
            None => PastView::default(),
        };
        let (program, sources, entry) = (&set.program, &set.sources, self.table);
        let query = WhyNotQuery { program, sources, entry, route, message, decide: &decide, past: &past };
        explain_why_not(&query).map_err(|known| {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            UnknownEntry::unknown_statement(route, &known)
        })
    }
}
