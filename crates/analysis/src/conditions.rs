//! Finds conditions that are never or always true, and redundant parts of conditions. A part is
//! redundant if the rule matches the same messages without it.

use super::anchors::misplaced_anchor;
use super::goal::SolverAnswer;
use super::report::{AnalysisReport, MISSING_SOURCE};
use super::solver::MessageSolver;
use hashbrown::HashMap;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::{broken_invariant, message};
use rulec_eval::evaluator::flatten_operands;
use rulec_lang::builtins::{Function, canonical_clock_text};
use rulec_lang::operators::Op;
use rulec_lang::value::Value;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Operand, Predicate, Rule, Term};
use rulec_sema::normal::{CondId, NormalCond};
use serde_json::Value as Json;

/// Results of the analysis of one rule's condition.
#[derive(Clone, Debug, Default)]
pub(super) struct ConditionFacts {
    /// Condition of the normal form (the simplified program) that is true exactly if the rule's
    /// condition is true.
    pub true_cond: CondId,
    /// A message for which the condition is true, if one was found.
    pub witness: Option<Json>,
    pub is_never_true: bool,
    pub is_always_true: bool,
}

/// Parts of a condition, each with the constant that replaces the part. The analysis compares a
/// condition with and without replacements to find redundant parts.
#[derive(Default)]
pub(super) struct CondReplacements {
    /// The replaced parts, identified by their addresses.
    constants: HashMap<*const Cond, bool>,
    /// The normal forms of the parts that contain no `and`, `or` or `not`, by address and wanted
    /// truth value. Each is built once, although the whole condition is built for every part.
    built_parts: HashMap<(*const Cond, bool), CondId>,
}

impl CondReplacements {
    /// Replaces one part of a condition by a constant.
    pub fn of_part(part: &Cond, constant: bool) -> CondReplacements {
        CondReplacements {
            constants: HashMap::from_iter([(std::ptr::from_ref(part), constant)]),
            ..CondReplacements::default()
        }
    }
}

/// Reports a condition that is never or always true, or that has redundant parts.
/// `is_reported_constant` is true if the compiler already warned that the condition is constant.
/// Returns the results of the analysis.
pub(super) fn analyse_condition(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    rule: &Rule,
    is_reported_constant: bool,
) -> ConditionFacts {
    let cond: &Cond = &rule.condition;
    let true_cond = solver.builder.build_cond(cond, true);
    let mut facts = ConditionFacts { true_cond, ..ConditionFacts::default() };
    if let NormalCond::Const(value) = solver.builder.normal_so_far().cond(true_cond) {
        (facts.is_never_true, facts.is_always_true) = (!value, *value);
        if !is_reported_constant && !*value && !matches!(cond.kind, CondKind::Const(_)) {
            report_never_true(solver, report, cond, Some(&rule.name));
        }
        return facts;
    }
    match solver.solve(&[(true_cond, true)]) {
        SolverAnswer::Never(_) => {
            facts.is_never_true = true;
            report_never_true(solver, report, cond, Some(&rule.name));
            return facts;
        }
        SolverAnswer::Yes(message) => facts.witness = Some(message),
        SolverAnswer::Unknown => {}
    }
    if solver.solve(&[(true_cond, false)]).is_unsatisfiable() {
        facts.is_always_true = true;
        let message = message!("the condition of `{}` always holds", rule.name);
        let help =
            message!("write `default -> …` for the remaining messages, or add a condition that can be false");
        report.add_finding(Diagnostic::new(Code::AlwaysMatches, cond.span, message).help(help), None);
        return facts;
    }
    let mut replacements = CondReplacements::default();
    RedundancySearch { solver, report, rule_condition: cond, true_cond }.report_redundant_parts(
        cond,
        true,
        &mut replacements,
    );
    facts
}

/// Returns the operands of an `and`, also of an `and` inside it. For any other condition, returns
/// the condition itself.
pub(super) fn conjuncts_of(cond: &Cond) -> Vec<&Cond> {
    match &cond.kind {
        CondKind::And(_) => flatten_operands(cond).to_vec(),
        _ => vec![cond],
    }
}

/// Reports a condition that can never be true. The diagnostic shows a minimal set of operands that
/// cannot be true together. `rule_name` is the rule's name if `cond` is the whole condition of the
/// rule, and `None` if `cond` is only a part.
pub(super) fn report_never_true(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    cond: &Cond,
    rule_name: Option<&str>,
) {
    let parts = contradicting_parts(solver, cond);
    match parts.as_slice() {
        [one] if matches!(one.kind, CondKind::And(_)) && !std::ptr::eq(*one, cond) => {
            report_never_true(solver, report, one, rule_name)
        }
        [Cond { kind: CondKind::Let(id), span: use_span }] if matches!(report.program.let_body(*id), Term::Cond(body) if has_source(report, body)) =>
        {
            let Term::Cond(body) = report.program.let_body(*id) else {
                return broken_invariant!("the guard of this arm found a condition");
            };
            let count_before = report.findings.len();
            report_never_true(solver, report, body, None);
            report.join_finding_of_definition(count_before, *use_span);
        }
        [one] => report.add_finding(never_true_diagnostic(report, one, rule_name), None),
        [_, _, ..] => report.add_finding(contradiction_diagnostic(report, &parts), None),
        [] => {}
    }
}

/// True if the source text of a condition is available, so that a finding can underline it.
fn has_source(report: &AnalysisReport<'_>, cond: &Cond) -> bool {
    report.source_text(cond.span) != MISSING_SOURCE
}

/// Returns a minimal set of the operands of an `and` that are never true together. Precondition:
/// the condition is never true.
pub(super) fn contradicting_parts<'c>(solver: &mut MessageSolver<'_>, cond: &'c Cond) -> Vec<&'c Cond> {
    let mut parts = conjuncts_of(cond);
    let mut is_contradictory = |parts: &[&Cond]| {
        let goals: Vec<_> = parts.iter().map(|part| (solver.builder.build_cond(part, true), true)).collect();
        solver.solve(&goals).is_unsatisfiable()
    };
    let mut index = 0;
    while parts.len() > 1 && index < parts.len() {
        let removed_part = parts.remove(index);
        if !is_contradictory(&parts) {
            parts.insert(index, removed_part);
            index += 1;
        }
    }
    parts
}

/// Builds the diagnostic for at least two parts of a condition that never hold together.
pub(super) fn contradiction_diagnostic(report: &AnalysisReport<'_>, parts: &[&Cond]) -> Diagnostic {
    let quoted: Vec<String> = parts.iter().map(|part| report.quote_part(part)).collect();
    let message = match quoted.split_last() {
        Some((last, others)) if quoted.len() <= 4 => {
            message!("`{}` and `{last}` never hold together", others.join("`, `"))
        }
        _ => message!("these {} parts never hold together", quoted.len()),
    };
    let mut diagnostic =
        Diagnostic::new(Code::Contradiction, parts[0].span, message).here(message!("this part"));
    for (index, part) in parts.iter().enumerate().skip(1) {
        let label = if index == 1 { message!("contradicts this part") } else { message!("and this part") };
        diagnostic = diagnostic.label(part.span, label);
    }
    if let Some(written) = equality_with_any(report, parts) {
        return diagnostic.help(message!(
            "no message can satisfy all of them: for one of several values, write `{written}`"
        ));
    }
    let help = message!("no message can satisfy all of them: correct one of them, or join them with `or`");
    diagnostic.help(help)
}

/// Returns the test with `in` that the author of several equalities of one value probably means:
/// `text in ["a", "b"]` for `text == "a" and text == "b"`. `None` for other conditions.
fn equality_with_any(report: &AnalysisReport<'_>, parts: &[&Cond]) -> Option<String> {
    let mut values = Vec::new();
    let mut subject: Option<String> = None;
    for part in parts {
        let CondKind::Predicate(test) = &part.kind else { return None };
        let Operand::Value(right) = &test.right else { return None };
        let is_equality = test.op == Some(Op::Eq) && !test.is_negated && right.as_const().is_some();
        let left = report.quote_source(test.left.span);
        // A modifier after the value, such as `ignoring case`, would be lost.
        if !is_equality || part.span.end != right.span.end || *subject.get_or_insert(left.clone()) != left {
            return None;
        }
        values.push(report.quote_source(right.span));
    }
    Some(format!("{} in [{}]", subject?, values.join(", ")))
}

/// Builds the diagnostic for a condition that is never true and that has no contradicting operands
/// to show. `name` is the rule's name; `None` if `cond` is only a part of the rule's condition.
fn never_true_diagnostic(report: &AnalysisReport<'_>, cond: &Cond, name: Option<&str>) -> Diagnostic {
    if let CondKind::Predicate(test) = &cond.kind {
        if let Some(diagnostic) = empty_range_error(report, test, cond.span) {
            return diagnostic;
        }
        if let Some(values) = describe_function_results(test) {
            let message = message!("`{}` can never hold: {values}", report.quote_part(cond));
            let diagnostic = Diagnostic::new(Code::OutOfRange, cond.span, message);
            return match intended_text(test) {
                Some(text) => diagnostic.help(message!("write {}", Json::from(text))),
                None => diagnostic.help(message!("compare with a value that the function can return")),
            };
        }
    }
    let anchors = match &cond.kind {
        CondKind::Predicate(test) => misplaced_anchor(test),
        _ => None,
    };
    let message = match name {
        Some(name) if matches!(cond.kind, CondKind::And(_) | CondKind::Or(_)) => {
            message!("the condition of `{name}` can never hold")
        }
        _ => message!("`{}` can never hold", report.quote_part(cond)),
    };
    let diagnostic = Diagnostic::new(Code::NeverMatches, cond.span, message);
    diagnostic
        .help(anchors.unwrap_or(message!("correct this condition, or remove the parts that depend on it")))
}

fn empty_range_error(report: &AnalysisReport<'_>, test: &Predicate, test_span: Span) -> Option<Diagnostic> {
    let Operand::Range { start, end, includes_end: inclusive, wraps_midnight: wraps } = &test.right else {
        return None;
    };
    let end_span = end.span;
    let (low, high) = (start.as_const()?.value(), end.as_const()?.value());
    let order = rulec_lang::value::compare(low, high)?;
    if order.is_lt() || (order.is_eq() && *inclusive) || (order.is_gt() && *wraps) {
        return None;
    }
    let range = report.quote_source(start.span.to(end.span));
    let help = match order.is_eq() {
        true => {
            message!("`..` excludes its end: write `{0}..={0}`, or `== {0}`", report.quote_source(start.span))
        }
        // `hour(now) in 22..6`: the hours of a night.
        false if is_cyclic(report, &test.left) => {
            let left = report.quote_source(test.left.span);
            let end = if *inclusive { "<=" } else { "<" };
            let (start, until) = (report.quote_source(start.span), report.quote_source(end_span));
            message!(
                "for a range over the end of the cycle, write `({left} >= {start} or {left} {end} {until})`"
            )
        }
        false if [low, high].into_iter().all(is_time_of_day) => {
            message!("for times of day, write `time({})` on the left", report.quote_source(test.left.span))
        }
        false => {
            let left = report.quote_source(test.left.span);
            let sign = if *inclusive { "<=" } else { "<" };
            let (start, until) = (report.quote_source(start.span), report.quote_source(end_span));
            message!(
                "write the smaller end first; for all values from {start} on and up to {until}, write \
                `({left} >= {start} or {left} {sign} {until})`"
            )
        }
    };
    Some(Diagnostic::new(Code::EmptyRange, test_span, message!("the range `{range}` is empty")).help(help))
}

fn is_time_of_day(value: Value<'_>) -> bool {
    value.as_str().is_some_and(|text| canonical_clock_text(Function::Time, text).is_some())
}

/// True for a value that begins again after its greatest value, such as the hour. If a range of
/// such a value is empty, such as `22..6`, the help text explains how to write the hours of a
/// night.
fn is_cyclic(report: &AnalysisReport<'_>, value: &Expr) -> bool {
    let name = match &value.kind {
        ExprKind::Slot(id) => report.program.slots[id.index()].path.last().map(|name| name.to_lowercase()),
        _ => None,
    };
    let words = ["hour", "minute", "weekday", "month", "day", "second"];
    if name.is_some_and(|name| words.iter().any(|word| name.ends_with(word))) {
        return true;
    }
    matches!(
        value.kind,
        ExprKind::Call(
            Function::Hour | Function::Minute | Function::Weekday | Function::Day | Function::Month,
            _
        )
    )
}

/// Describes the results that a function in a comparison can have, such as "`hour` gives 0 to 23".
/// `None` if there is nothing to describe.
fn describe_function_results(test: &Predicate) -> Option<Message> {
    let as_call = |expr: &Expr| match &expr.kind {
        ExprKind::Call(function, args) => Some((*function, args.len())),
        _ => None,
    };
    let right = match &test.right {
        Operand::Value(right) => Some(right),
        _ => None,
    };
    let (function, args) = as_call(&test.left).or_else(|| as_call(right?))?;
    Some(match function {
        Function::Hour => message!("`hour` gives 0 to 23"),
        Function::Minute => message!("`minute` gives 0 to 59"),
        Function::Weekday => message!("`weekday` gives 1 for Monday to 7 for Sunday"),
        Function::Day => message!("`day` gives 1 to 31"),
        Function::Month => message!("`month` gives 1 to 12"),
        Function::Time => message!("`time` gives \"00:00:00\" to \"23:59:59\""),
        Function::Similarity => message!("`similarity` gives 0 to 1"),
        Function::Bucket if args <= 2 => message!("`bucket` gives 0 to 99"),
        Function::Len => message!("`len` is never below 0"),
        Function::Abs => message!("`abs` is never below 0"),
        Function::Lower => message!("`lower` returns no upper-case letters"),
        Function::Upper => message!("`upper` returns no lower-case letters"),
        Function::UrlHost => message!("`url_host` returns no upper-case letters, `/` or `@`"),
        Function::UrlScheme => message!("`url_scheme` returns lower-case letters without `:` and `/`"),
        Function::UrlPath => message!("`url_path` begins with `/`"),
        Function::Trim => message!("`trim` returns no white space at the start or end"),
        _ => return None,
    })
}

/// Returns the text that a function can return and that the author of an equality probably means:
/// for `lower(x) == "STOP"` the text `stop`. `None` if there is no such text.
fn intended_text(test: &Predicate) -> Option<String> {
    let Operand::Value(right) = &test.right else { return None };
    let (function, constant) = match (&test.left.kind, &right.kind) {
        (ExprKind::Call(function, _), _) => (*function, right),
        (_, ExprKind::Call(function, _)) => (*function, &test.left),
        _ => return None,
    };
    let text = constant.as_const()?.value().as_str().filter(|_| test.op == Some(Op::Eq))?;
    let result = match function {
        Function::Lower | Function::UrlHost => text.to_lowercase(),
        Function::Upper => text.to_uppercase(),
        Function::Trim => text.trim().to_owned(),
        Function::UrlScheme => text.split(':').next()?.to_lowercase(),
        Function::UrlPath => format!("/{text}"),
        _ => return None,
    };
    (result != text && !result.is_empty() && !result.contains("//")).then_some(result)
}

/// True for a test with `is present` or `is missing`, also if the test is negated. Such a test is
/// never reported as redundant, because it documents whether the author of the rules expects the
/// value.
fn is_presence_test(cond: &Cond) -> bool {
    match &cond.kind {
        CondKind::Not(inner) | CondKind::NotTrue(inner) => is_presence_test(inner),
        CondKind::Predicate(test) => matches!(test.op, Some(Op::IsMissing | Op::IsPresent)),
        _ => false,
    }
}

/// The search for redundant parts of one rule's condition.
struct RedundancySearch<'a, 's, 'p, 'r> {
    solver: &'s mut MessageSolver<'p>,
    report: &'s mut AnalysisReport<'r>,
    rule_condition: &'a Cond,
    true_cond: CondId,
}

impl<'a> RedundancySearch<'a, '_, '_, '_> {
    /// Reports the redundant parts of `cond`, a part of the rule's condition. Adds each reported
    /// part to `replacements`, so that the following parts are tested without the reported part.
    /// `positive` is false if `cond` occurs inside an odd number of negations.
    fn report_redundant_parts(
        &mut self,
        cond: &'a Cond,
        positive: bool,
        replacements: &mut CondReplacements,
    ) {
        let (parts, neutral) = match &cond.kind {
            CondKind::Not(inner) | CondKind::NotTrue(inner) => {
                return self.report_redundant_parts(inner, !positive, replacements);
            }
            CondKind::And(parts) => (parts, true),
            CondKind::Or(parts) => (parts, false),
            _ => return,
        };
        // In reverse order, so that the later of two equivalent parts is reported.
        for part in parts.iter().rev() {
            if matches!(part.kind, CondKind::Const(_)) || is_presence_test(part) {
                continue;
            }
            if self.solver.budget().is_share_exhausted() {
                return;
            }
            replacements.constants.insert(part, neutral);
            if self.is_equivalent_with(replacements, neutral == positive) {
                self.report_redundant(cond, part, neutral);
            } else {
                replacements.constants.remove(&std::ptr::from_ref(part));
                self.report_redundant_parts(part, positive, replacements);
            }
        }
    }

    /// True if the rule's condition is true for the same messages with the replacements as without
    /// them. Precondition: this is already known for all replacements except the last added one. If
    /// `adds` is true, the last replacement can only make the condition true for more messages. If
    /// `adds` is false, it can only make the condition true for fewer messages.
    fn is_equivalent_with(&mut self, replacements: &mut CondReplacements, adds: bool) -> bool {
        let replaced_cond = build_with_replacements(self.solver, self.rule_condition, true, replacements);
        replaced_cond == self.true_cond
            || self.solver.solve(&[(self.true_cond, !adds), (replaced_cond, adds)]).is_unsatisfiable()
    }

    fn report_redundant(&mut self, parent: &'a Cond, part: &'a Cond, neutral: bool) {
        let part_cond = self.solver.builder.build_cond(part, true);
        if self.solver.solve(&[(part_cond, true)]).is_unsatisfiable() {
            return report_never_true(self.solver, self.report, part, None);
        }
        let quoted = self.report.quote_part(part);
        // The sibling operands that make this part redundant.
        let siblings: Vec<&Cond> =
            flatten_operands(parent).into_iter().filter(|other| !std::ptr::eq(*other, part)).collect();
        let mut goals = vec![(part_cond, !neutral)];
        goals.extend(siblings.iter().map(|other| (self.solver.builder.build_cond(other, true), neutral)));
        let redundant_with = match self.solver.solve(&goals) {
            SolverAnswer::Never(core) => core
                .iter()
                .filter_map(|goal_index| siblings.get(goal_index.checked_sub(1)?).copied())
                .collect(),
            _ => Vec::new(),
        };
        let message = match (redundant_with.as_slice(), neutral) {
            ([], _) if self.solver.solve(&[(part_cond, false)]).is_unsatisfiable() => {
                message!("`{quoted}` always holds, so it has no effect")
            }
            ([one], true) => {
                message!(
                    "`{quoted}` has no effect: it holds whenever `{}` holds",
                    self.report.quote_part(one)
                )
            }
            ([one], false) => {
                message!(
                    "`{quoted}` has no effect: whenever it holds, `{}` holds too",
                    self.report.quote_part(one)
                )
            }
            _ => message!("`{quoted}` has no effect"),
        };
        let mut diagnostic = Diagnostic::new(Code::PartDecidesNothing, part.span, message);
        for other in redundant_with {
            diagnostic = diagnostic.label(other.span, message!("this part decides"));
        }
        self.report.add_finding(
            diagnostic.help(message!("remove this part, or correct it if it should test something else")),
            None,
        );
    }
}

/// Builds a simplified condition with two truth values: it is true exactly if `cond` has the truth
/// value `wanted_truth`. If `cond` is unknown, the result is false. First replaces the parts of
/// `cond` that occur in `replacements` by their constants.
pub(super) fn build_with_replacements(
    solver: &mut MessageSolver<'_>,
    cond: &Cond,
    wanted_truth: bool,
    replacements: &mut CondReplacements,
) -> CondId {
    solver.budget().charge(1);
    if let Some(value) = replacements.constants.get(&std::ptr::from_ref(cond)) {
        return solver.builder.constant_cond(*value == wanted_truth);
    }
    match &cond.kind {
        CondKind::Not(inner) => build_with_replacements(solver, inner, !wanted_truth, replacements),
        CondKind::NotTrue(inner) => {
            let inner_true = build_with_replacements(solver, inner, true, replacements);
            if wanted_truth { solver.builder.build_complement(inner_true) } else { inner_true }
        }
        CondKind::And(parts) | CondKind::Or(parts) => {
            let is_conjunction = matches!(cond.kind, CondKind::And(_)) == wanted_truth;
            let parts: Vec<CondId> = parts
                .iter()
                .map(|part| build_with_replacements(solver, part, wanted_truth, replacements))
                .collect();
            solver.builder.join_conds(parts, is_conjunction)
        }
        _ => {
            let part = (std::ptr::from_ref(cond), wanted_truth);
            let built = replacements.built_parts.entry(part);
            *built.or_insert_with(|| solver.builder.build_cond(cond, wanted_truth))
        }
    }
}
