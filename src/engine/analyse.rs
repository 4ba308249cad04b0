//! The analysis of compiled rules, with an engine to decide by them.

use super::{Rules, Session};
use crate::analysis::{self, Finding, Subject};
use crate::sema::hir::{RuleId, TableId};
use hashbrown::HashMap;
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
        };
        let mut findings = analysis::analyse(&subject);
        let mut allows = set.allows.clone();
        findings.retain(|finding| !allows.silences(&finding.diagnostic));
        findings.extend(allows.unused(true).map(|diagnostic| Finding { diagnostic, witness: None }));
        findings
    }
}
