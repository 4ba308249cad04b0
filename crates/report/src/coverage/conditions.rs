//! The conditions of a rule set with their coverage counts. Conditions inside values and inside
//! payload rules are included.

use super::{one_line, times_text};
use rulec::{Message, SourceMap, Span, TableKind};
use rulec_base::message;
use rulec_eval::trace::{ConditionCoverage, ResultCounts};
use rulec_sema::hir::{
    Block, Cond, CondKind, Destination, LetId, Outcome, Part, Program, RuleId, TableId, Term, ValueId,
};
use rulec_syntax::ast::{Item, ItemKind, RuleTest, Statement, StatementKind};
use std::collections::{BTreeMap, BTreeSet};

/// The element of a program that uses a condition, directly or through a `let`. This is a rule, the
/// outcome of a rule, a table's default, or a payload kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionOwner {
    /// The condition is the condition of this rule, or a part of it.
    Rule(RuleId),
    /// The condition is in the outcome of a rule, such as an argument, and is evaluated if the rule
    /// is chosen.
    Chosen(RuleId),
    /// The condition is in the outcome of a table's default.
    Default(TableId),
    /// The condition is in the rules of the payload kind with this index.
    Payload(usize),
}

/// All conditions of a program by source span, each with its owners: the elements of the program
/// that use the condition. A condition in a `let` or `def` can have several owners.
#[derive(Default)]
pub struct ConditionIndex {
    owners: BTreeMap<Span, BTreeSet<ConditionOwner>>,
    pub truths: ConditionCoverage,
}

/// Traversal that collects the conditions that one owner (such as a rule) uses.
struct OwnerWalk<'c, 'p> {
    conditions: &'c mut ConditionIndex,
    program: &'p Program,
    owner: ConditionOwner,
    /// Spans to which the traversal is restricted; conditions outside these spans are not
    /// collected. Empty if all conditions should be collected.
    written: &'c [Span],
    lets: BTreeSet<LetId>,
}

impl ConditionIndex {
    /// Collects the conditions of a program. `statements` are the parsed statements of all its
    /// files.
    pub fn new(program: &Program, statements: &[Statement]) -> ConditionIndex {
        let mut conditions = ConditionIndex::default();
        for (at, rule) in program.rules.iter().enumerate().filter(|(_, rule)| !rule.disabled) {
            let (id, kind) = (RuleId(at as u32), program.tables[rule.table.index()].kind);
            // The patterns of flows have counts of their own, and payload conditions are collected
            // below.
            if !matches!(kind, TableKind::Flows | TableKind::Requirements) {
                conditions
                    .walk_owner(program, ConditionOwner::Rule(id))
                    .visit_part(Part::Cond(&rule.condition));
                conditions.walk_owner(program, ConditionOwner::Chosen(id)).visit_outcome(&rule.outcome);
            }
        }
        for (at, table) in program.tables.iter().enumerate() {
            let mut walk = conditions.walk_owner(program, ConditionOwner::Default(TableId(at as u32)));
            table.default.iter().for_each(|outcome| walk.visit_outcome(outcome));
        }
        // Conditions derived from field types are not collected, because the rule of the field
        // already reports them.
        let written = written_condition_spans(statements);
        for (at, payload) in program.payloads.iter().enumerate() {
            let mut walk = conditions.walk_owner(program, ConditionOwner::Payload(at));
            walk.written = &written;
            walk.visit_block(&payload.block);
        }
        conditions
    }

    fn walk_owner<'c, 'p>(&'c mut self, program: &'p Program, owner: ConditionOwner) -> OwnerWalk<'c, 'p> {
        OwnerWalk { conditions: self, program, owner, written: &[], lets: BTreeSet::new() }
    }

    /// Returns the conditions in source order. Each item is the condition's span, its text, its
    /// counts, and the reason why it is not fully covered. `reached` returns how often an owner was
    /// reached, and the reason to report if it never was.
    pub fn covered_conditions<'s>(
        &'s self,
        sources: &'s SourceMap,
        reached: impl Fn(ConditionOwner) -> (usize, Message) + 's,
    ) -> impl Iterator<Item = (Span, String, ResultCounts, Option<Message>)> + 's {
        self.owners.iter().map(move |(span, owners)| {
            let seen = self.truths.counts_at(*span);
            (*span, one_line(sources.slice(*span)), seen, gap_reason(seen, owners, &reached))
        })
    }
}

fn gap_reason(
    seen: ResultCounts,
    owners: &BTreeSet<ConditionOwner>,
    reached: impl Fn(ConditionOwner) -> (usize, Message),
) -> Option<Message> {
    let unknown = match seen.unknown {
        0 => Message::default(),
        count => message!("; unknown {}, because a value was missing", times_text(count)),
    };
    Some(match (seen.yes, seen.no) {
        (1.., 1..) => return None,
        (1.., 0) => message!("never false{unknown}"),
        (0, 1..) => message!("never true{unknown}"),
        (0, 0) if seen.unknown > 0 => {
            message!("always unknown because a value was missing: {}", times_text(seen.unknown))
        }
        (0, 0) if seen.left_out > 0 => {
            message!("never reached: skipped {} because a value was missing", times_text(seen.left_out))
        }
        (0, 0) => {
            let asked: Vec<(usize, Message)> = owners.iter().map(|owner| reached(*owner)).collect();
            match asked.iter().map(|(times, _)| times).sum() {
                0 => message!("never reached: {}", asked.into_iter().next().unwrap_or_default().1),
                tried => {
                    message!("never reached: short-circuited {} by an earlier condition", times_text(tried))
                }
            }
        }
    })
}

impl OwnerWalk<'_, '_> {
    fn visit_part(&mut self, part: Part<'_>) {
        match part {
            Part::Cond(Cond { kind: CondKind::Branch { conditions, .. }, .. }) => {
                conditions.iter().for_each(|guarded| self.visit_part(Part::Cond(&guarded.cond)));
                return;
            }
            Part::Cond(cond) if self.is_leaf(cond) => self.add_condition(cond.span),
            Part::Let(id) if self.lets.insert(id) => self.visit_part(self.program.let_body(id).part()),
            _ => {}
        }
        part.parts().into_iter().for_each(|inner| self.visit_part(inner));
    }

    /// True for a condition that is counted itself: a predicate, a quantifier, or a `let` that
    /// names a value. Other conditions, such as `and`, are combinations of these.
    fn is_leaf(&self, cond: &Cond) -> bool {
        match cond.kind {
            CondKind::Test(_) | CondKind::Quantifier { .. } => true,
            CondKind::Let(id) => matches!(self.program.let_body(id), Term::Expr(_)),
            _ => false,
        }
    }

    fn add_condition(&mut self, span: Span) {
        let inside =
            |whole: &Span| whole.file == span.file && whole.start <= span.start && span.end <= whole.end;
        if self.written.is_empty() || self.written.iter().any(inside) {
            self.conditions.owners.entry(span).or_default().insert(self.owner);
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

    fn visit_block(&mut self, block: &Block) {
        block.lets.iter().for_each(|(_, value)| self.visit_value(*value));
        let program = self.program;
        for rule in &program.tables[block.table.index()].order {
            self.visit_part(Part::Cond(&program.rules[rule.index()].condition));
        }
        for each in &block.each {
            self.visit_value(each.list);
            each.when.into_iter().for_each(|when| self.visit_value(when));
            self.visit_block(&each.block);
        }
    }
}

/// Returns the spans of the conditions that authors wrote in payload and group statements.
fn written_condition_spans(statements: &[Statement]) -> Vec<Span> {
    let mut places = Vec::new();
    for statement in statements {
        match &statement.kind {
            StatementKind::Payload(payload) => collect_asked(&payload.body, &mut places),
            StatementKind::Group(group) => collect_asked(&group.body, &mut places),
            _ => {}
        }
    }
    places
}

fn collect_asked(items: &[Item], places: &mut Vec<Span>) {
    for item in items {
        match &item.kind {
            ItemKind::Rule(rule) => {
                places.extend(rule.guard.as_ref().map(|guard| guard.span));
                if let RuleTest::Require(test) | RuleTest::Forbid(test) = &rule.test {
                    places.push(test.span);
                }
            }
            ItemKind::Let { value, .. } => places.push(value.span),
            ItemKind::Include(include) => places.extend(include.guard.as_ref().map(|guard| guard.span)),
            ItemKind::Each(each) => {
                places.extend(each.guard.as_ref().map(|guard| guard.span));
                collect_asked(&each.body, places);
            }
            ItemKind::Field(_) | ItemKind::Closed { .. } => {}
        }
    }
}
