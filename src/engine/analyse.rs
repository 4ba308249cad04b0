//! The analysis of compiled rules, with an engine to decide by them.

use super::{Entry, How, Rules, Session, Tier, UnknownEntry};
use hashbrown::HashMap;
use rulec_analysis::cost::{TableCost, costs};
use rulec_analysis::diff::{self, Diff, Version};
use rulec_analysis::overlaps::{Overlaps, overlaps};
use rulec_analysis::why_not::{Asked, WhyNot, why_not};
use rulec_analysis::{self, AnalysisOptions, Finding, Subject};
use rulec_eval::decision::Choice;
use rulec_sema::hir::{RuleId, TableId};
use serde_json::Value as Json;
use std::cell::RefCell;

impl Rules {
    /// Analyses the rules: finds conditions that hold always or never, parts that decide nothing, routes that are
    /// never chosen, inputs that fall through; in the order of the text. What compiling them said already
    /// ([`Rules::warnings`]) is not said again, and what a `# rulec: allow` comment names is left out.
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

    /// Analyses the rules as [`Rules::analyse`] does, in another way.
    pub fn analyse_with(&self, options: AnalysisOptions) -> Vec<Finding> {
        let set = self.set();
        let mut findings = self.subject(options, rulec_analysis::analyse);
        let mut allows = set.allows.clone();
        findings.retain(|finding| !allows.silences(&finding.diagnostic));
        findings.extend(allows.unused(true).map(Finding::from));
        findings
    }

    /// Finds the statements of a table, choice or router that may hold for the same message, so that their order decides.
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("route big when n > 5 -> big\nroute even when n % 2 == 0 -> even")?;
    /// let found = rules.overlaps("routes")?;
    /// assert_eq!((&*found.pairs[0].first, &*found.pairs[0].second), ("big", "even"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is nothing of that name that decides.
    pub fn overlaps(&self, table: &str) -> Result<Overlaps, UnknownEntry> {
        let table = self.entry(table)?.id();
        Ok(self.subject(AnalysisOptions::default(), |subject| overlaps(subject, table)))
    }

    /// Asks an analysis about the rules, with an engine to decide by them.
    fn subject<T>(&self, options: AnalysisOptions, ask: impl FnOnce(&Subject<'_>) -> T) -> T {
        let set = self.set();
        let rules = &set.program.rules;
        let ids = rules.iter().zip(0..).map(|(rule, id)| ((rule.table, &*rule.name), RuleId(id)));
        let ids: HashMap<(TableId, &str), RuleId> = ids.collect();
        let sessions: RefCell<HashMap<TableId, Session>> = RefCell::default();
        let decide = |table: TableId, message: &Json| {
            let mut sessions = sessions.borrow_mut();
            let session = sessions.entry(table).or_insert_with(|| self.table(table).session());
            session.choose(&self.prepare(message))
        };
        let matched = |table: TableId, message: &Json| -> Vec<RuleId> {
            let names = self.table(table).matched(message);
            names.into_iter().filter_map(|name| ids.get(&(table, name)).copied()).collect()
        };
        let warnings = [&*set.warnings, set.allows.silenced()].concat();
        let subject = Subject {
            program: &set.program,
            sources: &set.sources,
            warnings: &warnings,
            decide: &decide,
            matched: &matched,
            options,
        };
        ask(&subject)
    }

    /// Compares the rules with a newer version of them, by meaning and not by spelling: which routes came, went or changed, each with a
    /// message that is answered otherwise.
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
        let (old, new) = (self.by_reference(), new.by_reference());
        let decide = |rules: &Rules, sessions: &RefCell<HashMap<TableId, Session>>, table, message: &Json| {
            let mut sessions = sessions.borrow_mut();
            let session = sessions.entry(table).or_insert_with(|| rules.table(table).session());
            let choice: Choice = session.choose(&rules.prepare(message));
            (choice, serde_json::to_value(session.decide(message)).unwrap_or_default())
        };
        let sessions: [RefCell<HashMap<TableId, Session>>; 2] = Default::default();
        let before = |table, message: &Json| decide(&old, &sessions[0], table, message);
        let after = |table, message: &Json| decide(&new, &sessions[1], table, message);
        diff::diff(
            &Version { program: &old.set().program, decide: &before },
            &Version { program: &new.set().program, decide: &after },
        )
    }

    /// The worst-case work of a decision by each table, in steps. It is what the limits of a decision let a message cost, not what
    /// messages do cost.
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("route a when n > 1 and text contains \"x\" -> h\nroute b when n > 2 -> h")?;
    /// let cost = &rules.cost()[0];
    /// assert_eq!((&*cost.statements[0].name, &*cost.statements[1].name), ("a", "b"));
    /// assert_eq!(cost.statements[1].steps, 1);
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    pub fn cost(&self) -> Vec<TableCost> {
        let set = self.set();
        costs(&set.program, set.normal())
    }

    /// The same rules, decided by the reference evaluator.
    fn by_reference(&self) -> Rules {
        Rules { shared: self.shared.clone(), how: How { tier: Tier::Reference, ..self.how } }
    }
}

impl Entry<'_> {
    /// Says why a message does not lead to a route, branch or case: the smallest change of the message that would, and what takes the
    /// message as it is. The name may also be that of a jump, for all that it leads to, or `default`.
    ///
    /// ```
    /// use rulec::{Rules, why_not::Remedy};
    /// use serde_json::json;
    ///
    /// let rules = Rules::from_text("route many when ctx.count > 3 and text contains \"a\" -> h\ndefault -> d")?;
    /// let why = rules.main().why_not("many", &json!({"text": "a", "ctx": {"count": 2}}))?;
    /// assert_eq!(why.taken_by.as_deref(), Some("default"));
    /// let Remedy::Change { fields, smallest: true, .. } = why.remedy else { panic!("a change does") };
    /// assert_eq!((&*fields[0].field, &*fields[0].needs[0]), ("ctx.count", "more than 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the entry leads to no statement of that name.
    pub fn why_not(&self, route: &str, message: &Json) -> Result<WhyNot, UnknownEntry> {
        let set = &self.rules.set;
        let how = How { tier: Tier::Reference, ..self.how };
        let session = RefCell::new(Entry { how, ..*self }.session());
        let decide = |message: &Json| session.borrow_mut().choose(&set.prepare(message));
        let (program, sources, entry) = (&set.program, &set.sources, self.table);
        why_not(&Asked { program, sources, entry, route, message, decide: &decide }).map_err(|known| {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            UnknownEntry::statement(route, &known)
        })
    }
}
