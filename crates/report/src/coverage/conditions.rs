//! The conditions of a rule set with their coverage counts, for the coverage report. Conditions
//! inside values and inside payload rules are included.

use super::{times_text, to_shown_line};
use rulec::{Message, SourceMap, Span, TableKind};
use rulec_base::message;
use rulec_eval::trace::{ConditionCoverage, ResultCounts};
use rulec_sema::hir::{
    Cond, CondKind, Destination, LetId, Outcome, Part, Program, RequirementBlock, RuleId, TableId, Term,
    ValueId,
};
use rulec_syntax::ast::{PayloadItem, PayloadItemKind, RuleTest, Statement, StatementKind};
use std::collections::{BTreeMap, BTreeSet};

/// The element of a program that uses a condition, directly or through a `let`: a rule, the outcome
/// of a rule, a table's default, or a `payload` statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionOwner {
    /// The owner is this rule: the rule's condition is the counted condition or contains it.
    Rule(RuleId),
    /// The owner is the outcome of this rule, such as its arguments. The condition is evaluated if
    /// the rule is chosen.
    OutcomeOf(RuleId),
    /// The owner is the outcome of this table's default.
    Default(TableId),
    /// The owner is the `payload` statement with this index, whose rules contain the condition.
    Payload(usize),
}

/// All conditions of a program by source span, each with its owners: the elements of the program
/// that use the condition. A condition in a `let` or `def` can have several owners.
#[derive(Default)]
pub struct ConditionIndex {
    owners_by_span: BTreeMap<Span, BTreeSet<ConditionOwner>>,
    pub coverage: ConditionCoverage,
}

/// A traversal that starts at one owner (such as a rule) and collects all conditions that the owner
/// uses, also through `let`.
struct OwnerTraversal<'c, 'p> {
    conditions: &'c mut ConditionIndex,
    program: &'p Program,
    owner: ConditionOwner,
    /// Spans to which the traversal is restricted; conditions outside these spans are not
    /// collected. Empty if all conditions should be collected.
    included_spans: &'c [Span],
    visited_lets: BTreeSet<LetId>,
}

impl ConditionIndex {
    /// Collects all conditions of a program. `statements` are the parsed statements of the
    /// program's files.
    pub fn new(program: &Program, statements: &[Statement]) -> ConditionIndex {
        let mut conditions = ConditionIndex::default();
        for (index, rule) in program.rules.iter().enumerate().filter(|(_, rule)| !rule.is_disabled) {
            let (id, kind) = (RuleId(index as u32), program.tables[rule.table.index()].kind);
            // Patterns of flows are counted separately, and payload conditions are collected below.
            if !matches!(kind, TableKind::Flows | TableKind::Requirements) {
                conditions
                    .walk_owner(program, ConditionOwner::Rule(id))
                    .visit_part(Part::Cond(&rule.condition));
                conditions.walk_owner(program, ConditionOwner::OutcomeOf(id)).visit_outcome(&rule.outcome);
            }
        }
        for (index, table) in program.tables.iter().enumerate() {
            let mut walk = conditions.walk_owner(program, ConditionOwner::Default(TableId(index as u32)));
            table.default.iter().for_each(|outcome| walk.visit_outcome(outcome));
        }
        // Conditions derived from field types are not collected, because the rule of the field
        // already reports them.
        let included_spans = written_condition_spans(statements);
        for (index, payload) in program.payloads.iter().enumerate() {
            let mut walk = conditions.walk_owner(program, ConditionOwner::Payload(index));
            walk.included_spans = &included_spans;
            walk.visit_block(&payload.block);
        }
        conditions
    }

    fn walk_owner<'c, 'p>(
        &'c mut self,
        program: &'p Program,
        owner: ConditionOwner,
    ) -> OwnerTraversal<'c, 'p> {
        OwnerTraversal {
            conditions: self,
            program,
            owner,
            included_spans: &[],
            visited_lets: BTreeSet::new(),
        }
    }

    /// Returns the conditions in source order. Each item has the condition's span, its text, its
    /// counts, and the reason why the condition is not fully covered. An owner is a rule or other
    /// element that uses the condition. `reach_of_owner` returns how often an owner was reached,
    /// and the reason to report if this is zero.
    pub fn covered_conditions<'s>(
        &'s self,
        sources: &'s SourceMap,
        reach_of_owner: impl Fn(ConditionOwner) -> (usize, Message) + 's,
    ) -> impl Iterator<Item = (Span, String, ResultCounts, Option<Message>)> + 's {
        self.owners_by_span.iter().map(move |(span, owners)| {
            let counts = self.coverage.counts_at(*span);
            (*span, to_shown_line(sources.slice(*span)), counts, gap_reason(counts, owners, &reach_of_owner))
        })
    }
}

fn gap_reason(
    counts: ResultCounts,
    owners: &BTreeSet<ConditionOwner>,
    reach_of_owner: impl Fn(ConditionOwner) -> (usize, Message),
) -> Option<Message> {
    let unknown = match counts.unknown_count {
        0 => Message::default(),
        count => message!("; unknown {}, because a value was missing", times_text(count)),
    };
    Some(match (counts.true_count, counts.false_count) {
        (1.., 1..) => return None,
        (1.., 0) => message!("never false{unknown}"),
        (0, 1..) => message!("never true{unknown}"),
        (0, 0) if counts.unknown_count > 0 => {
            message!("always unknown because a value was missing: {}", times_text(counts.unknown_count))
        }
        (0, 0) if counts.left_out_count > 0 => {
            message!(
                "never reached: skipped {} because a value was missing",
                times_text(counts.left_out_count)
            )
        }
        (0, 0) => {
            let owner_reach: Vec<(usize, Message)> =
                owners.iter().map(|owner| reach_of_owner(*owner)).collect();
            match owner_reach.iter().map(|(times, _)| times).sum() {
                0 => message!("never reached: {}", owner_reach.into_iter().next().unwrap_or_default().1),
                tried => {
                    message!("never reached: short-circuited {} by an earlier condition", times_text(tried))
                }
            }
        }
    })
}

impl OwnerTraversal<'_, '_> {
    fn visit_part(&mut self, part: Part<'_>) {
        match part {
            Part::Cond(Cond { kind: CondKind::Branch { conditions, .. }, .. }) => {
                conditions.iter().for_each(|guarded| self.visit_part(Part::Cond(&guarded.cond)));
                return;
            }
            Part::Cond(cond) if self.is_counted_condition(cond) => self.add_condition(cond.span),
            Part::Let(id) if self.visited_lets.insert(id) => {
                self.visit_part(self.program.let_body(id).as_part())
            }
            _ => {}
        }
        part.parts().into_iter().for_each(|inner| self.visit_part(inner));
    }

    /// True for a condition that is counted: a predicate, a quantifier, or the name of a `let` that
    /// is defined as a value. Other conditions, such as `and`, combine counted conditions and have
    /// no counts of their own.
    fn is_counted_condition(&self, cond: &Cond) -> bool {
        match cond.kind {
            CondKind::Predicate(_) | CondKind::Quantifier { .. } => true,
            CondKind::Let(id) => matches!(self.program.let_body(id), Term::Expr(_)),
            _ => false,
        }
    }

    fn add_condition(&mut self, span: Span) {
        let encloses_condition = |outer_span: &Span| {
            outer_span.file == span.file && outer_span.start <= span.start && span.end <= outer_span.end
        };
        if self.included_spans.is_empty() || self.included_spans.iter().any(encloses_condition) {
            self.conditions.owners_by_span.entry(span).or_default().insert(self.owner);
        }
    }

    fn visit_value(&mut self, id: ValueId) {
        self.visit_part(Part::Expr(self.program.value(id)));
    }

    fn visit_outcome(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Handler { args, .. } => {
                args.iter().for_each(|argument| self.visit_value(argument.value))
            }
            Outcome::Next { destinations, .. } => {
                for destination in destinations {
                    if let Destination::Named(value) = destination {
                        self.visit_value(*value);
                    }
                }
            }
            _ => {}
        }
    }

    fn visit_block(&mut self, block: &RequirementBlock) {
        block.lets.iter().for_each(|(_, value)| self.visit_value(*value));
        let program = self.program;
        for rule in &program.tables[block.table.index()].evaluation_order {
            self.visit_part(Part::Cond(&program.rules[rule.index()].condition));
        }
        for each_block in &block.each_blocks {
            self.visit_value(each_block.list);
            each_block.condition.into_iter().for_each(|when| self.visit_value(when));
            self.visit_block(&each_block.block);
        }
    }
}

/// Returns the spans of the conditions that authors wrote in `payload` statements, and in `group`
/// statements, which payloads include. Other conditions of payloads are derived from field types.
fn written_condition_spans(statements: &[Statement]) -> Vec<Span> {
    let mut spans = Vec::new();
    for statement in statements {
        match &statement.kind {
            StatementKind::Payload(payload) => collect_condition_spans(&payload.body, &mut spans),
            StatementKind::Group(group) => collect_condition_spans(&group.body, &mut spans),
            _ => {}
        }
    }
    spans
}

fn collect_condition_spans(items: &[PayloadItem], spans: &mut Vec<Span>) {
    for item in items {
        match &item.kind {
            PayloadItemKind::Rule(rule) => {
                spans.extend(rule.guard.as_ref().map(|guard| guard.span));
                if let RuleTest::Require(test) | RuleTest::Forbid(test) = &rule.test {
                    spans.push(test.span);
                }
            }
            PayloadItemKind::Let { value, .. } => spans.push(value.span),
            PayloadItemKind::Include(include) => spans.extend(include.guard.as_ref().map(|guard| guard.span)),
            PayloadItemKind::Each(each_item) => {
                spans.extend(each_item.guard.as_ref().map(|guard| guard.span));
                collect_condition_spans(&each_item.body, spans);
            }
            PayloadItemKind::Field(_) | PayloadItemKind::Closed { .. } => {}
        }
    }
}
