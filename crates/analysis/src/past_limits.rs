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
use super::past_expand::{collect_comparisons, expand_condition};
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
        checker.reader = reader.for_table(TableId(index as u32));
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

/// The operand of a limit that may be missing.
#[derive(Clone, Copy)]
enum MissingOperand<'c> {
    /// The operand with the sum.
    Sum(&'c Expr),
    /// The other operand, if it reads a field that a message may lack.
    Limit(&'c Expr),
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
        let Some(expanded) = expand_condition(self.program, condition) else { return };
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
            let found = self.operands_that_may_be_missing(&limit).into_iter().find_map(|operand| {
                let instead = self.decides_instead(table, order, position, (&expanded, &limit, operand));
                instead.map(|instead| (operand, instead))
            });
            let Some((operand, instead)) = found else { continue };
            if !self.solver.budget().is_share_exhausted() {
                self.reported_spans.insert(cond.span);
                let diagnostic = self.diagnostic(report, rule, (&limit, operand), &instead);
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

    /// Returns the operand with the sum. Then the other operand, if the input does not require all
    /// fields that it reads.
    fn operands_that_may_be_missing<'c>(&self, limit: &LimitOnSum<'c>) -> Vec<MissingOperand<'c>> {
        let other = limit.limit.filter(|limit| !self.reads_required_fields(limit));
        let other = other.filter(|_| coalesced_sum(self.reader, limit.side).is_none());
        let sum = MissingOperand::Sum(limit.side);
        [Some(sum), other.map(MissingOperand::Limit)].into_iter().flatten().collect()
    }

    /// Returns true if an expression grows with a sum over the history, and false if it shrinks, as
    /// in `1_000 - sum(…)`. `None` if it contains no such sum.
    fn sum_sign(&self, expr: &Expr) -> Option<bool> {
        match &expr.kind {
            ExprKind::Fold { fold, list, .. } => {
                (fold.summed_expr().is_some() && self.reader.is_history(list)).then_some(true)
            }
            ExprKind::Read(inner, _) => self.sum_sign(inner),
            ExprKind::Slot(slot) => self.reader.payload_let(*slot).and_then(|body| self.sum_sign(body)),
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

    /// Returns what decides in place of the limit if `operand` is missing. `None` if the operand
    /// cannot be missing, or if the limit holds without it.
    fn decides_instead(
        &mut self,
        table: TableId,
        order: &[RuleId],
        position: usize,
        (expanded, limit, operand): (&Cond, &LimitOnSum<'_>, MissingOperand<'_>),
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
        let missing = self.goals_if_missing(limit, operand, within)?;
        // The rule is chosen without a sum, although it is not chosen above the limit.
        let mut unless = reached.clone();
        unless.extend([(if_exceeded, false), (chosen, true)]);
        unless.extend(&missing);
        let is_never_missing = |checker: &mut Self, goals: &[SolverGoal]| {
            let (program, reader, solver) = (checker.program, checker.reader, &mut *checker.solver);
            let mut bounds = SumBounds { program, reader, solver };
            match operand {
                MissingOperand::Sum(side) => bounds.is_always_present(side, goals),
                MissingOperand::Limit(limit) => bounds.is_limit_present(limit, goals),
            }
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

    /// Returns the goals that are true if `operand` is missing. With `sum(…) ?? 0`, the comparison
    /// is then also `within` the limit. `None` if the value after `??` exceeds the limit, so that
    /// the limit holds without a sum.
    fn goals_if_missing(
        &mut self,
        limit: &LimitOnSum<'_>,
        operand: MissingOperand<'_>,
        within: SolverGoal,
    ) -> Option<Vec<SolverGoal>> {
        let (value, replacement) = match operand {
            MissingOperand::Limit(operand) => (operand, None),
            MissingOperand::Sum(side) => match coalesced_sum(self.reader, side) {
                Some((sum, replacement)) => (sum, Some(replacement)),
                None => (side, None),
            },
        };
        let test = Predicate::without_modifiers(Op::IsMissing, value.clone(), Operand::Nothing);
        let test = Rc::new(test.into_cond(value.span));
        self.expanded_conditions.push(test.clone());
        let missing = (self.solver.builder.build_cond(&test, true), true);
        let Some(replacement) = replacement else {
            // The comparison is unknown: neither it nor its negation is true.
            let truth = |value: bool| (self.solver.builder.build_cond(limit.cond, value), false);
            return Some([missing].into_iter().chain([true, false].map(truth)).collect());
        };
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
        (limit, operand): (&LimitOnSum<'_>, MissingOperand<'_>),
        instead: &DecidesInstead<'_>,
    ) -> Diagnostic {
        let (missing, reason) = match operand {
            MissingOperand::Sum(side) => {
                (side, message!("unknown after one very large value, or if a message lacks the value"))
            }
            MissingOperand::Limit(limit) => (limit, message!("unknown if the message lacks the value")),
        };
        let (name, sum) = (&rule.name, report.quote_source(missing.span));
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
        let diagnostic = Diagnostic::new(Code::LimitWithoutSum, limit.cond.span, message).here(reason);
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
    /// Fields of a payload count as required.
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
        ExprKind::Slot(slot) => reader.payload_let(*slot).and_then(|body| coalesced_sum(reader, body)),
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
