//! Finds limits on sums over the history that do not hold if the sum is missing. An example is
//! `sum(…) > 1_000 -> deny`: after one very large value, the sum exceeds 64 bits and is missing.
//! The comparison is then unknown, so no later message is denied.
//!
//! Three states of the history are compared: the sum is within the limit, exceeds the limit, or is
//! missing. A limit is reported if the rules may decide alike within the limit and without a sum,
//! but differently above the limit. So a route that permits sums within the limit is not reported.

use super::conditions::{CondReplacements, build_with_replacements};
use super::goal::SolverGoal;
use super::missing::is_optional_field;
use super::past_bounds::SumBounds;
use super::past_fields::{HistoryReader, element_paths};
use super::report::{AnalysisReport, MISSING_SOURCE};
use super::solver::MessageSolver;
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::value::compare;
use rulec_sema::hir::{
    Cond, CondKind, Const, Expr, ExprKind, Operand, Outcome, Part, Predicate, Program, Rule, RuleId, SlotId,
    TableId, TableKind, Term,
};
use rulec_sema::normal::CondId;
use std::rc::Rc;

/// Maximum number of other rules of a table that one query considers. The query ignores the other
/// rules, so a limit may then be reported although another rule makes it safe.
const MAX_OTHER_RULES: usize = 40;
/// Maximum number of nodes of a condition in which `let`s and `def`s are replaced by their bodies.
/// A larger condition is not analysed.
const MAX_EXPANDED_NODES: usize = 4_000;

/// Reports limits on sums over the history that do not hold if the sum is missing.
pub(super) fn report_limits_without_sum<'p>(solver: &mut MessageSolver<'p>, report: &mut AnalysisReport<'p>) {
    let program = report.program;
    let Some(reader) = HistoryReader::new(program) else { return };
    let mut checker = LimitChecker {
        program,
        reader,
        solver,
        true_conds: HashMap::new(),
        expanded_conditions: Vec::new(),
        reported_spans: HashSet::new(),
    };
    for (index, table) in program.tables.iter().enumerate() {
        if table.kind == TableKind::Flows {
            continue;
        }
        let order = match table.kind {
            // A table of requirements has no order: all violations are reported.
            TableKind::Requirements => {
                let ids = (0..program.rules.len()).map(|index| RuleId(index as u32));
                ids.filter(|id| program.rules[id.index()].table.index() == index).collect()
            }
            _ => table.evaluation_order.clone(),
        };
        for position in 0..order.len() {
            checker.report_limits_of_rule(report, TableId(index as u32), &order, position);
        }
    }
}

/// A comparison of a sum over the history with a limit.
struct LimitOnSum<'c> {
    cond: &'c Cond,
    test: &'c Predicate,
    /// The operand of the comparison that contains the sum, such as `sum(…) + amount`.
    side: &'c Expr,
    /// The other operand; `None` for a range.
    limit: Option<&'c Expr>,
    /// The truth value of the comparison for a sum that exceeds the limit.
    truth_if_exceeded: bool,
}

/// What decides if the sum is missing.
enum DecidesInstead<'p> {
    /// The rule with the limit itself, as in `A unless sum > 1_000`.
    ThisRule,
    OtherRule(&'p Rule),
    Default,
    /// No rule is chosen, or no violation is reported.
    Nothing,
}

struct LimitChecker<'c, 'p> {
    program: &'p Program,
    reader: HistoryReader<'p>,
    solver: &'c mut MessageSolver<'p>,
    true_conds: HashMap<RuleId, CondId>,
    /// The conditions whose nodes the solver has read. They are kept, because the solver identifies
    /// nodes by their addresses.
    expanded_conditions: Vec<Rc<Cond>>,
    reported_spans: HashSet<Span>,
}

impl<'p> LimitChecker<'_, 'p> {
    /// Reports the limits in the condition of the rule at `position` of `order`, the rules of
    /// `table`.
    fn report_limits_of_rule(
        &mut self,
        report: &mut AnalysisReport<'_>,
        table: TableId,
        order: &[RuleId],
        position: usize,
    ) {
        let rule = &self.program.rules[order[position].index()];
        let condition: &Cond = &rule.condition;
        if !self.reader.sums_history(Part::Cond(condition)) {
            return;
        }
        self.solver.budget().begin_share();
        let mut nodes_left = MAX_EXPANDED_NODES;
        let Some(expanded) = expand_cond(self.program, condition, &mut nodes_left) else { return };
        let expanded = Rc::new(expanded);
        self.expanded_conditions.push(expanded.clone());
        let mut comparisons = Vec::new();
        collect_comparisons(&expanded, &mut comparisons);
        for (cond, test) in comparisons {
            let Some(limit) = self.limit_on_sum(cond, test) else { continue };
            let is_reported = report.findings.iter().any(|finding| {
                finding.diagnostic.code == Code::BudgetWithoutMessage
                    && finding.diagnostic.span().is_some_and(|span| contains(cond.span, span))
            });
            if is_reported || self.reported_spans.contains(&cond.span) {
                continue;
            }
            let Some(instead) = self.decides_instead(table, order, position, (&expanded, &limit)) else {
                continue;
            };
            if !self.solver.budget().is_share_exhausted() {
                self.reported_spans.insert(cond.span);
                let diagnostic = self.diagnostic(report, rule, &limit, &instead);
                report.add_finding(diagnostic, None);
            }
        }
        report.record_if_exhausted(order[position]);
    }

    /// Converts a comparison to a limit on a sum over the history; `None` for other comparisons.
    fn limit_on_sum<'c>(&self, cond: &'c Cond, test: &'c Predicate) -> Option<LimitOnSum<'c>> {
        let (side, limit, truth) = match (test.op?, &test.right) {
            (op @ (Op::Gt | Op::Ge | Op::Lt | Op::Le), Operand::Value(right)) => {
                let grows_left = matches!(op, Op::Gt | Op::Ge);
                match (self.sum_sign(&test.left), self.sum_sign(right)) {
                    (Some(is_positive), _) => (&test.left, Some(right), grows_left == is_positive),
                    (None, Some(is_positive)) => (right, Some(&test.left), grows_left != is_positive),
                    (None, None) => return None,
                }
            }
            (Op::In, Operand::Range { .. }) => {
                self.sum_sign(&test.left)?;
                (&test.left, None, false)
            }
            _ => return None,
        };
        Some(LimitOnSum { cond, test, side, limit, truth_if_exceeded: truth != test.is_negated })
    }

    /// Returns true if an expression grows with a sum over the history, and false if it shrinks, as
    /// in `1_000 - sum(…)`. `None` if it contains no such sum.
    fn sum_sign(&self, expr: &Expr) -> Option<bool> {
        match &expr.kind {
            ExprKind::Fold { fold, list, .. } => {
                (fold.summed_expr().is_some() && self.reader.is_history(list)).then_some(true)
            }
            ExprKind::Read(inner, _) => self.sum_sign(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.sum_sign(body),
                Term::Cond(_) => None,
            },
            ExprKind::Op(Op::Sub, inner, None) => self.sum_sign(inner).map(|is_positive| !is_positive),
            ExprKind::Op(Op::Sub, left, Some(right)) => {
                self.sum_sign(left).or_else(|| self.sum_sign(right).map(|is_positive| !is_positive))
            }
            ExprKind::Op(_, left, right) => {
                self.sum_sign(left).or_else(|| right.as_ref().and_then(|right| self.sum_sign(right)))
            }
            ExprKind::Call(_, args) => args.iter().find_map(|arg| self.sum_sign(arg)),
            ExprKind::If { then_value, else_value, .. } => {
                self.sum_sign(then_value).or_else(|| self.sum_sign(else_value))
            }
            _ => None,
        }
    }

    /// Returns what decides in place of the limit if the sum is missing. `None` if the sum cannot
    /// be missing, or if the limit holds without a sum.
    fn decides_instead(
        &mut self,
        table: TableId,
        order: &[RuleId],
        position: usize,
        (expanded, limit): (&Cond, &LimitOnSum<'_>),
    ) -> Option<DecidesInstead<'p>> {
        let is_requirement = self.program.tables[table.index()].kind == TableKind::Requirements;
        let related = self.related_rules(order, expanded);
        let is_related = |id: &&RuleId| related.contains(*id);
        let earlier: Vec<RuleId> = order[..position].iter().filter(is_related).copied().collect();
        let later: Vec<RuleId> = order[position + 1..].iter().filter(is_related).copied().collect();
        let mut reached: Vec<SolverGoal> =
            earlier.iter().rev().take(MAX_OTHER_RULES).map(|id| (self.true_cond(*id), false)).collect();
        let mut replaced = CondReplacements::of_part(limit.cond, limit.truth_if_exceeded);
        let if_exceeded = build_with_replacements(self.solver, expanded, true, &mut replaced);
        let chosen = self.solver.builder.build_cond(expanded, true);
        let within = (self.solver.builder.build_cond(limit.cond, !limit.truth_if_exceeded), true);
        let missing = self.goals_if_missing(limit, within)?;
        // The rule is chosen without a sum, although it is not chosen above the limit.
        let mut unless = reached.clone();
        unless.extend([(if_exceeded, false), (chosen, true)]);
        unless.extend(&missing);
        let is_never_missing = |checker: &mut Self, goals: &[SolverGoal]| {
            SumBounds { program: checker.program, reader: checker.reader, solver: &mut *checker.solver }
                .is_always_present(limit.side, goals)
        };
        if !self.solver.solve(&unless).is_unsatisfiable() && !is_never_missing(self, &reached) {
            return Some(DecidesInstead::ThisRule);
        }
        reached.extend([(if_exceeded, true), (chosen, false)]);
        let with_state = |goals: &[SolverGoal], state: &[SolverGoal]| [goals, state].concat();
        if self.solver.solve(&with_state(&reached, &missing)).is_unsatisfiable()
            || is_never_missing(self, &reached)
        {
            return None;
        }
        let rule = &self.program.rules[order[position].index()];
        let all_false: Vec<SolverGoal> =
            later.iter().take(MAX_OTHER_RULES).map(|id| (self.true_cond(*id), false)).collect();
        let default = self.program.tables[table.index()].default.as_ref();
        let is_same = default.is_some_and(|default| is_same_answer(default, &rule.outcome));
        let goals = [&reached[..], &all_false].concat();
        if !is_same && self.may_both_hold(&goals, &missing, within) {
            let has_default = default.is_some() && !is_requirement;
            return Some(if has_default { DecidesInstead::Default } else { DecidesInstead::Nothing });
        }
        if is_requirement {
            return None;
        }
        let all_later = &order[position + 1..];
        for (index, id) in all_later.iter().enumerate().take(MAX_OTHER_RULES) {
            let other = &self.program.rules[id.index()];
            if is_same_answer(&other.outcome, &rule.outcome) {
                continue;
            }
            let mut goals = reached.clone();
            for between in all_later[..index].iter().filter(is_related) {
                goals.push((self.true_cond(*between), false));
            }
            goals.push((self.true_cond(*id), true));
            if self.may_both_hold(&goals, &missing, within) {
                return Some(DecidesInstead::OtherRule(other));
            }
        }
        None
    }

    /// True unless it is proven that no message satisfies `goals` in one of two states: the sum is
    /// missing, or the sum is within the limit.
    fn may_both_hold(&mut self, goals: &[SolverGoal], missing: &[SolverGoal], within: SolverGoal) -> bool {
        [missing, &[within]]
            .iter()
            .all(|state| !self.solver.solve(&[goals, state].concat()).is_unsatisfiable())
    }

    /// Returns the goals that are true if the sum is missing. With `sum(…) ?? 0`, the comparison is
    /// then also `within` the limit. `None` if the value after `??` exceeds the limit, so that the
    /// limit holds without a sum.
    fn goals_if_missing(&mut self, limit: &LimitOnSum<'_>, within: SolverGoal) -> Option<Vec<SolverGoal>> {
        let (value, replacement) = match coalesced_sum(self.reader, limit.side) {
            Some((sum, replacement)) => (sum, Some(replacement)),
            None => (limit.side, None),
        };
        let test = Predicate::without_modifiers(Op::IsMissing, value.clone(), Operand::Nothing);
        let test = Rc::new(test.into_cond(value.span));
        self.expanded_conditions.push(test.clone());
        let missing = (self.solver.builder.build_cond(&test, true), true);
        let Some(replacement) = replacement else { return Some(vec![missing]) };
        let bound = limit.limit.and_then(Expr::as_const).map(Const::value);
        let is_above =
            bound.and_then(|bound| compare(replacement.value(), bound)).is_some_and(|order| order.is_gt());
        let is_other_than_zero = replacement.value().to_json().as_f64() != Some(0.0);
        let holds = if bound.is_some() { is_above } else { is_other_than_zero };
        (!holds).then(|| vec![missing, within])
    }

    /// Returns the rules of `order` that read a field which `condition` reads too, or the history.
    fn related_rules(&self, order: &[RuleId], condition: &Cond) -> HashSet<RuleId> {
        let slots_of = |cond: &Cond| -> HashSet<SlotId> {
            self.program.field_reads(Part::Cond(cond)).into_iter().map(|(slot, _)| slot).collect()
        };
        let paths_of = |cond: &Cond| -> HashSet<String> {
            slots_of(cond).into_iter().map(|slot| self.program.slots[slot.index()].name()).collect()
        };
        let read = paths_of(condition);
        let is_related =
            |id: &&RuleId| !paths_of(&self.program.rules[id.index()].condition).is_disjoint(&read);
        order.iter().filter(is_related).copied().collect()
    }

    fn true_cond(&mut self, id: RuleId) -> CondId {
        if let Some(cond) = self.true_conds.get(&id) {
            return *cond;
        }
        let cond = self.solver.builder.build_cond(&self.program.rules[id.index()].condition, true);
        self.true_conds.insert(id, cond);
        cond
    }

    fn diagnostic(
        &self,
        report: &AnalysisReport<'_>,
        rule: &Rule,
        limit: &LimitOnSum<'_>,
        instead: &DecidesInstead<'_>,
    ) -> Diagnostic {
        let (name, sum) = (&rule.name, report.quote_source(limit.side.span));
        let kind = self.program.tables[rule.table.index()].kind;
        let message = match instead {
            DecidesInstead::ThisRule => message!("`{name}` is chosen without a limit if `{sum}` is missing"),
            DecidesInstead::OtherRule(other) => {
                message!("if `{sum}` is missing, `{name}` is skipped and `{}` is chosen", other.name)
            }
            DecidesInstead::Default => {
                message!("if `{sum}` is missing, `{name}` is skipped and the default is chosen")
            }
            DecidesInstead::Nothing if kind == TableKind::Requirements => {
                message!("if `{sum}` is missing, `{name}` is not violated")
            }
            DecidesInstead::Nothing => message!("if `{sum}` is missing, `{name}` is skipped"),
        };
        let diagnostic = Diagnostic::new(Code::LimitWithoutSum, limit.cond.span, message)
            .here(message!("unknown after one very large value, or if a message lacks the value"));
        let is_ordered = matches!(kind, TableKind::Routes | TableKind::Router);
        let fixed = fixed_limit(report, rule, limit)
            .filter(|_| is_ordered && !matches!(instead, DecidesInstead::ThisRule));
        match fixed {
            Some((span, fixed)) => {
                let diagnostic = diagnostic.help(message!(
                    "write `{}`, which also holds without a sum; or choose a route for sums within the limit, and deny by default",
                    fixed.trim_start()
                ));
                diagnostic.likely_fix(span, fixed).mark_fixes_certain_if(self.reads_required_fields(limit.side))
            }
            None if kind == TableKind::Requirements => diagnostic
                .help(message!("add a requirement that `({sum}) is present`")),
            None => diagnostic.help(message!(
                "choose a route only for sums within the limit, and deny by default; or add a condition on `({sum}) is missing`"
            )),
        }
    }

    /// True if the input declares all fields as required from which an operand is computed. Then
    /// the operand is missing only for messages that break the contract, and after an overflow.
    fn reads_required_fields(&self, side: &Expr) -> bool {
        let Some(record) = &self.program.input else { return false };
        let is_required = |slot: SlotId| {
            let slot = &self.program.slots[slot.index()];
            slot.root.is_some() || !is_optional_field(record, &slot.path)
        };
        self.program.field_reads(Part::Expr(side)).into_iter().all(|(slot, _)| is_required(slot))
            && self.reader.sums(Part::Expr(side)).into_iter().all(|sum| match &sum.kind {
                ExprKind::Fold { fold, var, .. } => {
                    let paths = fold.summed_expr().map(|value| element_paths(value, var.id, false));
                    paths.into_iter().flatten().all(|path| !is_optional_field(record, &path))
                }
                _ => true,
            })
    }
}

/// Returns the span of a comparison and the source text that replaces it: a condition that holds
/// unless the sum is within the limit. `None` without source text, and for other comparisons than
/// `<`, `<=`, `>` and `>=`.
fn fixed_limit(report: &AnalysisReport<'_>, rule: &Rule, limit: &LimitOnSum<'_>) -> Option<(Span, String)> {
    let Operand::Value(right) = &limit.test.right else { return None };
    let inverse = match limit.test.op? {
        Op::Gt => "<=",
        Op::Ge => "<",
        Op::Lt => ">=",
        Op::Le => ">",
        _ => return None,
    };
    let source = |span: Span| Some(report.source_text(span)).filter(|text| *text != MISSING_SOURCE);
    let (span, left, right) = (limit.cond.span, limit.test.left.span, right.span);
    let (is_inside, is_plain) = (contains(span, left) && contains(span, right), !limit.test.is_negated);
    // The spans of operands exclude the parentheses around them.
    let operator = source(Span { start: left.end, end: right.start, ..span })
        .filter(|text| is_inside && is_plain && !text.contains('#'))?;
    let start = operator.find(['<', '>'])?;
    let end = start + 1 + usize::from(operator[start + 1..].starts_with('='));
    let before = source(Span { end: left.end, ..span })?;
    let after = source(Span { start: right.start, ..span })?;
    let within = format!("{before}{}{inverse}{}{after}", &operator[..start], &operator[end..]);
    if let CondKind::And(parts) = &rule.condition.kind
        && let [.., previous, last] = &parts[..]
        && last.span == span
        && source(Span { start: previous.span.end, end: span.start, ..span })?.trim() == "and"
    {
        let whole = Span { start: previous.span.end, ..span };
        return Some((whole, format!(" unless {within}")));
    }
    let is_whole = rule.condition.span == span;
    Some((span, if is_whole { format!("true unless {within}") } else { format!("(true unless {within})") }))
}

/// Returns a sum over the history and the constant that replaces it if it is missing, as in `sum(…)
/// ?? 0`. `None` if the expression contains no such sum.
fn coalesced_sum<'e>(reader: HistoryReader<'e>, expr: &'e Expr) -> Option<(&'e Expr, &'e Const)> {
    match &expr.kind {
        ExprKind::Op(Op::Coalesce, value, Some(replacement)) => {
            let replacement = replacement.as_const()?;
            reader.sums_history(Part::Expr(value)).then_some((value, replacement))
        }
        ExprKind::Let(id) => match reader.program.let_body(*id) {
            Term::Expr(body) => coalesced_sum(reader, body),
            Term::Cond(_) => None,
        },
        // The value of a sum belongs to the summed messages.
        ExprKind::Fold { .. } => None,
        _ => expr.parts().into_iter().find_map(|part| match part {
            Part::Expr(inner) => coalesced_sum(reader, inner),
            _ => None,
        }),
    }
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
}

/// True if two outcomes call the same handler, or continue with the same table.
fn is_same_answer(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        (Outcome::Handler { name: one, .. }, Outcome::Handler { name: other, .. }) => one == other,
        (Outcome::Goto(one), Outcome::Goto(other)) => one == other,
        _ => false,
    }
}

/// Adds the comparisons in a condition to `found`, without those inside quantifiers and values.
fn collect_comparisons<'c>(cond: &'c Cond, found: &mut Vec<(&'c Cond, &'c Predicate)>) {
    match &cond.kind {
        CondKind::Predicate(test) => found.push((cond, test)),
        CondKind::Not(inner) | CondKind::NotTrue(inner) => collect_comparisons(inner, found),
        CondKind::And(parts) | CondKind::Or(parts) => {
            parts.iter().for_each(|part| collect_comparisons(part, found));
        }
        _ => {}
    }
}

/// Copies a condition. The bodies of `let`s and `def`s replace their uses, and `and` and `or`
/// replace the branch of a choice. `None` if the copy has too many nodes.
fn expand_cond(program: &Program, cond: &Cond, nodes_left: &mut usize) -> Option<Cond> {
    *nodes_left = nodes_left.checked_sub(1)?;
    let span = cond.span;
    let mut expand = |cond: &Cond| expand_cond(program, cond, nodes_left);
    let kind = match &cond.kind {
        CondKind::Not(inner) => CondKind::Not(Box::new(expand(inner)?)),
        CondKind::NotTrue(inner) => CondKind::NotTrue(Box::new(expand(inner)?)),
        CondKind::And(parts) => CondKind::And(parts.iter().map(expand).collect::<Option<_>>()?),
        CondKind::Or(parts) => CondKind::Or(parts.iter().map(expand).collect::<Option<_>>()?),
        CondKind::Call(_, _, body) => return expand(body),
        CondKind::Let(id) => match program.let_body(*id) {
            Term::Cond(body) => return expand(body),
            Term::Expr(_) => cond.kind.clone(),
        },
        CondKind::Branch { requires_all, conditions } => {
            let mut parts = Vec::new();
            let mut usable = Vec::new();
            for part in conditions {
                let (present, cond) = (part.presence_condition.clone(), expand(&part.cond)?);
                usable.push(present.clone());
                let negated = Cond { kind: CondKind::NotTrue(Box::new(present.clone())), span };
                let kind = match requires_all {
                    true => CondKind::Or(vec![negated, cond]),
                    false => CondKind::And(vec![present, cond]),
                };
                parts.push(Cond { kind, span });
            }
            match requires_all {
                true => {
                    parts.push(Cond { kind: CondKind::Or(usable), span });
                    CondKind::And(parts)
                }
                false => CondKind::Or(parts),
            }
        }
        _ => cond.kind.clone(),
    };
    Some(Cond { kind, span })
}
