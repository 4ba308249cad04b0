//! Finds conditions that are never or always true, and redundant parts of conditions.

use super::report::Report;
use super::solver::{Answer, Solver};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_eval::evaluator::operands;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Operand, Predicate, Rule};
use rulec_sema::normal::{CondId, NCond};
use serde_json::Value as Json;

/// Results of the analysis of one rule's condition.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The normal form of "the condition is true".
    pub holds: CondId,
    /// A message for which the condition is true, if one was found.
    pub witness: Option<Json>,
    pub never: bool,
    pub always: bool,
}

/// Parts of a condition, each with the constant that replaces it.
type Replaced = Vec<(*const Cond, bool)>;

/// Reports a condition that is never or always true, or that has redundant parts. `told` is true if
/// compilation already reported that the condition is constant.
pub(super) fn condition(solver: &mut Solver<'_>, report: &mut Report<'_>, rule: &Rule, told: bool) -> Facts {
    let cond: &Cond = &rule.condition;
    let holds = solver.builder.cond(cond, true);
    let mut facts = Facts { holds, ..Facts::default() };
    if let NCond::Const(value) = solver.builder.normal().cond(holds) {
        (facts.never, facts.always) = (!value, *value);
        if !told && !*value && !matches!(cond.kind, CondKind::Const(_)) {
            never(solver, report, cond, Some(&rule.name));
        }
        return facts;
    }
    match solver.ask(&[(holds, true)]) {
        Answer::Never(_) => {
            facts.never = true;
            never(solver, report, cond, Some(&rule.name));
            return facts;
        }
        Answer::Yes(message) => facts.witness = Some(message),
        Answer::Unknown => {}
    }
    if solver.ask(&[(holds, false)]).is_never() {
        facts.always = true;
        let message = message!("the condition of `{}` always holds", rule.name);
        let help =
            message!("write `default -> …` for the remaining messages, or add a condition that can be false");
        report.say(Diagnostic::new(Code::AlwaysMatches, cond.span, message).help(help), None);
        return facts;
    }
    let mut replaced = Vec::new();
    Parts { solver, report, root: cond, holds }.collect(cond, &mut replaced);
    facts
}

/// Reports a condition that can never be true. The diagnostic shows a minimal set of operands that
/// exclude each other.
fn never(solver: &mut Solver<'_>, report: &mut Report<'_>, cond: &Cond, name: Option<&str>) {
    let mut parts: Vec<&Cond> = match &cond.kind {
        CondKind::And(_) => operands(cond).to_vec(),
        _ => vec![cond],
    };
    let mut excludes = |parts: &[&Cond]| {
        let goals: Vec<_> = parts.iter().map(|part| (solver.builder.cond(part, true), true)).collect();
        solver.ask(&goals).is_never()
    };
    let mut at = 0;
    while parts.len() > 1 && at < parts.len() {
        let left_out = parts.remove(at);
        if !excludes(&parts) {
            parts.insert(at, left_out);
            at += 1;
        }
    }
    match parts.as_slice() {
        [one] if matches!(one.kind, CondKind::And(_)) && !std::ptr::eq(*one, cond) => {
            never(solver, report, one, name)
        }
        [one] => report.say(alone(report, one, name), None),
        [first, second, ..] => {
            let quoted: Vec<String> = parts.iter().map(|part| report.part(part)).collect();
            let message = match quoted.split_last() {
                Some((last, others)) if quoted.len() <= 4 => {
                    message!("`{}` and `{last}` never hold together", others.join("`, `"))
                }
                _ => message!("these {} parts never hold together", quoted.len()),
            };
            let mut found =
                Diagnostic::new(Code::Contradiction, first.span, message).here(message!("this part"));
            for part in parts.iter().skip(1) {
                found = found.label(
                    part.span,
                    if std::ptr::eq(*part, *second) {
                        message!("contradicts this part")
                    } else {
                        message!("and this part")
                    },
                );
            }
            let help =
                message!("no message can satisfy all of them: correct one of them, or join them with `or`");
            report.say(found.help(help), None);
        }
        [] => {}
    }
}

/// Builds the diagnostic for a part that can never be true on its own.
fn alone(report: &Report<'_>, cond: &Cond, name: Option<&str>) -> Diagnostic {
    if let CondKind::Test(test) = &cond.kind {
        if let Some(found) = empty_range(report, test, cond.span) {
            return found;
        }
        if let Some(values) = values(test) {
            let message = message!("`{}` can never hold: {values}", report.part(cond));
            return Diagnostic::new(Code::OutOfRange, cond.span, message)
                .help(message!("compare with a value that the function can return"));
        }
    }
    let message = match name {
        Some(name) if matches!(cond.kind, CondKind::And(_) | CondKind::Or(_)) => {
            message!("the condition of `{name}` can never hold")
        }
        _ => message!("`{}` can never hold", report.part(cond)),
    };
    Diagnostic::new(Code::NeverMatches, cond.span, message)
        .help(message!("correct this condition, or remove the parts that depend on it"))
}

fn empty_range(report: &Report<'_>, test: &Predicate, place: Span) -> Option<Diagnostic> {
    let Operand::Range { start, end, inclusive } = &test.right else { return None };
    let (low, high) = (start.as_const()?.value(), end.as_const()?.value());
    let order = rulec_lang::value::compare(low, high)?;
    if order.is_lt() || (order.is_eq() && *inclusive) {
        return None;
    }
    let range = report.quote(start.span.to(end.span));
    let help = match order.is_eq() {
        true => message!("`..` excludes its end: write `{0}..={0}`, or `== {0}`", report.quote(start.span)),
        false => message!("write the smaller end first"),
    };
    Some(Diagnostic::new(Code::EmptyRange, place, message!("the range `{range}` is empty")).help(help))
}

/// Describes the results that a function in a comparison can have, such as "`hour` gives 0 to 23".
fn values(test: &Predicate) -> Option<Message> {
    let of = |expr: &Expr| match &expr.kind {
        ExprKind::Call(function, args) => Some((*function, args.len())),
        _ => None,
    };
    let right = match &test.right {
        Operand::Value(right) => Some(right),
        _ => None,
    };
    let (function, args) = of(&test.left).or_else(|| of(right?))?;
    Some(match function {
        Function::Hour => message!("`hour` gives 0 to 23"),
        Function::Minute => message!("`minute` gives 0 to 59"),
        Function::Weekday => message!("`weekday` gives 1 for Monday to 7 for Sunday"),
        Function::Day => message!("`day` gives 1 to 31"),
        Function::Month => message!("`month` gives 1 to 12"),
        Function::Similarity => message!("`similarity` gives 0 to 1"),
        Function::Bucket if args <= 2 => message!("`bucket` gives 0 to 99"),
        Function::Len => message!("`len` is never below 0"),
        Function::Abs => message!("`abs` is never below 0"),
        Function::Lower => message!("`lower` returns no upper-case letters"),
        Function::Upper => message!("`upper` returns no lower-case letters"),
        Function::Trim => message!("`trim` returns no white space at the start or end"),
        _ => return None,
    })
}

/// True for a presence test. A redundant presence test is not reported, because the test documents
/// what its author relies on.
fn is_presence(cond: &Cond) -> bool {
    match &cond.kind {
        CondKind::Not(inner) | CondKind::NotTrue(inner) => is_presence(inner),
        CondKind::Test(test) => matches!(test.op, Some(Op::IsMissing | Op::IsPresent)),
        _ => false,
    }
}

/// Search for redundant parts of one rule's condition.
struct Parts<'a, 's, 'p, 'r> {
    solver: &'s mut Solver<'p>,
    report: &'s mut Report<'r>,
    root: &'a Cond,
    holds: CondId,
}

impl<'a> Parts<'a, '_, '_, '_> {
    fn collect(&mut self, cond: &'a Cond, replaced: &mut Replaced) {
        let (parts, neutral) = match &cond.kind {
            CondKind::Not(inner) | CondKind::NotTrue(inner) => return self.collect(inner, replaced),
            CondKind::And(parts) => (parts, true),
            CondKind::Or(parts) => (parts, false),
            _ => return,
        };
        // In reverse order, so that the later of two equivalent parts is reported.
        for part in parts.iter().rev() {
            if matches!(part.kind, CondKind::Const(_)) || is_presence(part) {
                continue;
            }
            replaced.push((part, neutral));
            if self.is_same(replaced) {
                self.tell(cond, part, neutral);
            } else {
                replaced.pop();
                self.collect(part, replaced);
            }
        }
    }

    /// True if the rule's condition is true for the same messages before and after the
    /// replacements.
    fn is_same(&mut self, replaced: &Replaced) -> bool {
        let other = with(self.solver, self.root, true, replaced);
        other == self.holds
            || (self.solver.ask(&[(self.holds, true), (other, false)]).is_never()
                && self.solver.ask(&[(self.holds, false), (other, true)]).is_never())
    }

    fn tell(&mut self, around: &'a Cond, part: &'a Cond, neutral: bool) {
        let own = self.solver.builder.cond(part, true);
        if self.solver.ask(&[(own, true)]).is_never() {
            return never(self.solver, self.report, part, None);
        }
        let quoted = self.report.part(part);
        // The sibling operands that make this part redundant.
        let beside: Vec<&Cond> =
            operands(around).into_iter().filter(|other| !std::ptr::eq(*other, part)).collect();
        let mut goals = vec![(own, !neutral)];
        goals.extend(beside.iter().map(|other| (self.solver.builder.cond(other, true), neutral)));
        let told = match self.solver.ask(&goals) {
            Answer::Never(core) => {
                core.iter().filter_map(|at| beside.get(at.checked_sub(1)?).copied()).collect()
            }
            _ => Vec::new(),
        };
        let message = match (told.as_slice(), neutral) {
            ([], _) if self.solver.ask(&[(own, false)]).is_never() => {
                message!("`{quoted}` always holds, so it has no effect")
            }
            ([one], true) => {
                message!("`{quoted}` has no effect: it holds whenever `{}` holds", self.report.part(one))
            }
            ([one], false) => {
                message!("`{quoted}` has no effect: whenever it holds, `{}` holds too", self.report.part(one))
            }
            _ => message!("`{quoted}` has no effect"),
        };
        let mut found = Diagnostic::new(Code::PartDecidesNothing, part.span, message);
        for other in told {
            found = found.label(other.span, message!("this part decides"));
        }
        self.report.say(
            found.help(message!("remove this part, or correct it if it should test something else")),
            None,
        );
    }
}

/// Builds the normal form of "`cond` is definitely `want`", with some parts replaced by constants.
/// An unknown condition is neither definitely true nor definitely false.
pub(super) fn with(
    solver: &mut Solver<'_>,
    cond: &Cond,
    want: bool,
    replaced: &[(*const Cond, bool)],
) -> CondId {
    if let Some((_, value)) = replaced.iter().find(|(part, _)| std::ptr::eq(*part, cond)) {
        return solver.builder.constant_cond(*value == want);
    }
    match &cond.kind {
        CondKind::Not(inner) => with(solver, inner, !want, replaced),
        CondKind::NotTrue(inner) => {
            let holds = with(solver, inner, true, replaced);
            if want { solver.builder.complement(holds) } else { holds }
        }
        CondKind::And(parts) | CondKind::Or(parts) => {
            let all = matches!(cond.kind, CondKind::And(_)) == want;
            let parts: Vec<CondId> = parts.iter().map(|part| with(solver, part, want, replaced)).collect();
            solver.builder.join(parts, all)
        }
        _ => solver.builder.cond(cond, want),
    }
}
