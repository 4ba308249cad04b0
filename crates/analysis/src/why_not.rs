//! Explains why a message does not select a route. The explanation names the route that the message
//! selects now. It also shows the smallest change with which the message would select the requested
//! route. The reference evaluator checks the change before it is reported.

use super::minimal_change::{NearestMessage, NearestResult, find_nearest_message};
use super::report::AnalysisReport;
use super::sequence::{AnswerIds, Sequence, SequenceBuilder, SequenceLeaf};
use super::solver::Solver;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_eval::decision::Choice;
use rulec_eval::trace::MASK;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::value::Tri;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Operand, Predicate, Program, RuleId, TableId, Term};
use serde::Serialize;
use serde_json::Value as Json;
use std::sync::Arc;

/// The reason why a message does not select a statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WhyNot {
    /// The requested statement, preceded by the names of the `goto`s that lead to it.
    pub route: String,
    /// The statement that the message selects now; `None` if the message selects none.
    pub taken_by: Option<String>,
    /// The change with which the message would select the requested statement.
    pub remedy: Remedy,
    /// Whether the changed message contains private values.
    #[serde(skip)]
    private_message: bool,
}

impl WhyNot {
    /// Masks the values of `@private` fields for logs. If the changed message contains private
    /// values, it is removed.
    #[must_use]
    pub fn masked(mut self) -> WhyNot {
        let Remedy::Change { fields, message, .. } = &mut self.remedy else { return self };
        if self.private_message {
            *message = Json::Null;
        }
        for field in fields.iter_mut().filter(|field| field.private) {
            for value in [&mut field.is, &mut field.would_be] {
                if !value.is_null() {
                    *value = MASK.into();
                }
            }
            field.needs.clear();
            *message = Json::Null;
        }
        self
    }
}

/// The change by which a message would select a statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Remedy {
    /// No change is needed: the message already selects the statement.
    Chosen,
    /// The message must change.
    Change {
        /// The fields of the message that must change.
        fields: Vec<FieldChange>,
        /// The changed message, which selects the statement.
        message: Json,
        /// Whether it is proven that no change of fewer fields is enough.
        smallest: bool,
    },
    /// The rules must change: no message selects the statement.
    Never,
    /// No change was found, but there is no proof that none exists.
    Unknown,
}

/// A field that must change so that the message selects the requested statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FieldChange {
    /// The path of the field, as authors write it.
    pub field: String,
    /// The current value of the field; null if the field is missing.
    pub is: Json,
    /// A value of the field that would be accepted; null if the field must be missing.
    pub would_be: Json,
    /// What the rules require of the field, in words, such as "more than 3".
    pub needs: Vec<Message>,
    /// Whether the field is `@private`, so that its values must be masked.
    pub private: bool,
}

/// A query: by which change would a message select a statement?
#[doc(hidden)]
pub struct WhyNotQuery<'p> {
    /// The typed program.
    pub program: &'p Program,
    /// The source files of the program.
    pub sources: &'p SourceMap,
    /// The entry table of the decision.
    pub entry: TableId,
    /// The name of the statement, optionally with the names of the `goto`s that lead to it.
    pub route: &'p str,
    /// The message to start from.
    pub message: &'p Json,
    /// Function that returns the statement that the reference evaluator chooses for a message.
    pub decide: &'p dyn Fn(&Json) -> Choice,
}

/// Explains why a message does not select a statement.
///
/// # Errors
/// If there is no statement with this name, returns the names that exist.
#[doc(hidden)]
pub fn explain_why_not(asked: &WhyNotQuery<'_>) -> Result<WhyNot, Vec<String>> {
    let mut solver = Solver::new(asked.program);
    let mut answers = AnswerIds::default();
    let (program, values) = (asked.program, &*asked.program.values);
    let mut reader =
        SequenceBuilder { program, conditions: None, values, solver: &mut solver, answers: &mut answers };
    let Some(sequence) = reader.build_sequence(Some(asked.entry)) else {
        let (route, remedy) = (asked.route.to_owned(), Remedy::Unknown);
        return Ok(WhyNot { route, taken_by: None, remedy, private_message: false });
    };
    let statements = sequence.leaves.split_last().map_or(&[][..], |(_, statements)| statements);
    // The name may include the table, as in tests: `TABLE.ROUTE`.
    let qualified = |id: &RuleId| {
        let rule = &program.rules[id.index()];
        asked
            .route
            .strip_prefix(&*program.tables[rule.table.index()].name)
            .and_then(|rest| rest.strip_prefix('.'))
            == Some(&*rule.name)
    };
    let is_asked = |at: &usize| {
        is_named(&statements[*at], asked.route) || sequence.rules_to_leaf(*at).iter().any(qualified)
    };
    let places: Vec<usize> = (0..statements.len()).filter(is_asked).collect();
    if places.is_empty() {
        let mut names = Vec::new();
        for name in statements.iter().flat_map(|leaf| leaf.name.split(" → ")) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        return Err(names);
    }
    let decide = |message: &Json| sequence.leaf_index(&(asked.decide)(message));
    let taken = decide(asked.message);
    let name = |place: usize| statements.get(place).map(|leaf| leaf.name.clone());
    let mut found = WhyNot {
        route: places.first().copied().and_then(name).unwrap_or_default(),
        taken_by: taken.and_then(name),
        remedy: Remedy::Never,
        private_message: false,
    };
    if taken.is_some_and(|taken| places.contains(&taken)) {
        found.remedy = Remedy::Chosen;
        return Ok(found);
    }
    let mut best: Option<(usize, NearestMessage)> = None;
    let mut open = false;
    for place in places {
        match find_nearest_message(&mut solver, &sequence, place, asked.message, &decide) {
            NearestResult::Never => {}
            NearestResult::Unknown => open = true,
            NearestResult::TextSolution(near) => {
                if best.as_ref().is_none_or(|(_, best)| near.changed.len() < best.changed.len()) {
                    best = Some((place, near));
                }
            }
        }
    }
    match best {
        None if open => found.remedy = Remedy::Unknown,
        None => {}
        Some((place, near)) => {
            found.route = name(place).unwrap_or_default();
            found.remedy = describe_change(asked, &solver, &sequence, (place, near), open);
        }
    }
    Ok(found)
}

/// True if the statement, or a `goto` that leads to it, has this name.
fn is_named(leaf: &SequenceLeaf, name: &str) -> bool {
    leaf.name == name || leaf.name.split(" → ").any(|part| part == name)
}

/// Describes the change that selects a statement.
fn describe_change(
    asked: &WhyNotQuery<'_>,
    solver: &Solver<'_>,
    sequence: &Sequence,
    (place, near): (usize, NearestMessage),
    open: bool,
) -> Remedy {
    let report = AnalysisReport::new(asked.program, asked.sources);
    let mut words =
        RequirementWords { report: &report, before: asked.message, after: &near.message, found: Vec::new() };
    for rule in sequence.rules_to_leaf(place) {
        words.collect_wanted(&asked.program.rules[rule.index()].condition, true);
    }
    for beaten in &near.beaten {
        // At least one condition of this earlier statement is no longer true.
        for rule in sequence.rules_to_leaf(*beaten) {
            words.collect_excluding(
                &asked.program.rules[rule.index()].condition,
                &asked.program.rules[rule.index()].name,
            );
        }
    }
    let at = |message: &Json, keys: &[Arc<str>]| -> Json {
        keys.iter().try_fold(message, |json, key| json.get(&**key)).cloned().unwrap_or_default()
    };
    let fields = near.changed.iter().map(|path| {
        let keys = &solver.theory.values.atoms.paths[*path].keys;
        let privacy = keys.iter().fold(asked.program.message_privacy(), |privacy, key| privacy.at_key(key).0);
        FieldChange {
            field: keys.join("."),
            is: at(asked.message, keys),
            would_be: at(&near.message, keys),
            needs: words.requirements_about(keys),
            private: !privacy.is_public(),
        }
    });
    Remedy::Change {
        fields: fields.collect(),
        smallest: near.smallest && !open,
        message: near.message.clone(),
    }
}

/// Describes in words what the tests in conditions require of fields.
struct RequirementWords<'w> {
    report: &'w AnalysisReport<'w>,
    before: &'w Json,
    after: &'w Json,
    /// Each requirement in words, with the fields that its test reads.
    found: Vec<(Vec<Vec<Arc<str>>>, Message)>,
}

impl RequirementWords<'_> {
    /// Returns the requirements of tests that read the field `keys`.
    fn requirements_about(&self, keys: &[Arc<str>]) -> Vec<Message> {
        let mut needs: Vec<Message> = Vec::new();
        for (fields, need) in &self.found {
            let touches = |other: &Vec<Arc<str>>| other.starts_with(keys) || keys.starts_with(other);
            if fields.iter().any(touches) && !needs.contains(need) {
                needs.push(need.clone());
            }
        }
        needs
    }

    /// Collects the tests that get the wanted result only by the change of the message.
    fn collect_wanted(&mut self, cond: &Cond, want: bool) {
        self.for_each_test(cond, want, &mut |words, unit, want| {
            if !has_result(words, unit, words.before, want) && has_result(words, unit, words.after, want) {
                let need = words.describe_requirement(unit, want);
                words.found.push((words.fields_read(unit), need));
            }
        });
    }

    /// Collects the tests of an earlier statement whose result the change of the message affects.
    fn collect_excluding(&mut self, cond: &Cond, name: &str) {
        self.for_each_test(cond, true, &mut |words, unit, want| {
            if has_result(words, unit, words.before, want) != has_result(words, unit, words.after, want) {
                let quoted = words.report.quote(unit.span);
                let need = message!("another value, because `{name}` is tried earlier: `{quoted}`");
                words.found.push((words.fields_read(unit), need));
            }
        });
    }

    /// Calls `tell` for each test in a condition, with the result that the test should have.
    fn for_each_test(&mut self, cond: &Cond, want: bool, tell: &mut dyn FnMut(&mut Self, &Cond, bool)) {
        match &cond.kind {
            CondKind::Const(_) => {}
            CondKind::Not(inner) | CondKind::NotTrue(inner) => self.for_each_test(inner, !want, tell),
            CondKind::Call(_, inner) => self.for_each_test(inner, want, tell),
            CondKind::And(parts) | CondKind::Or(parts) => {
                parts.iter().for_each(|part| self.for_each_test(part, want, tell));
            }
            CondKind::Branch { conditions, .. } => {
                conditions.iter().for_each(|part| self.for_each_test(&part.cond, want, tell));
            }
            CondKind::Let(id) => match self.report.program.let_body(*id) {
                Term::Cond(body) => self.for_each_test(body, want, tell),
                Term::Expr(_) => tell(self, cond, want),
            },
            CondKind::Test(_) | CondKind::Quantifier { .. } => tell(self, cond, want),
        }
    }

    fn fields_read(&self, cond: &Cond) -> Vec<Vec<Arc<str>>> {
        let program = self.report.program;
        let slots = super::missing::fields_read(program, cond);
        slots.into_iter().map(|slot| program.slots[slot.index()].path.clone()).collect()
    }

    /// Describes what a test requires: in words for a simple comparison, otherwise by the test's
    /// source text.
    fn describe_requirement(&self, cond: &Cond, want: bool) -> Message {
        let comparison = match &cond.kind {
            CondKind::Test(test) => self.describe_comparison(test, want),
            _ => None,
        };
        let quoted = self.report.quote(cond.span);
        comparison.unwrap_or_else(|| match want {
            true => message!("`{quoted}`"),
            false => message!("`{quoted}` not to hold"),
        })
    }

    fn describe_comparison(&self, test: &Predicate, want: bool) -> Option<Message> {
        let is_field = matches!(test.left, Expr { kind: ExprKind::Slot(_), .. });
        if !is_field || test.mode != TestMode::default() {
            return None;
        }
        let holds = want != test.negated;
        let right = match &test.right {
            Operand::Value(right) => self.report.quote(right.span),
            Operand::Nothing => String::new(),
            Operand::Range { .. } => return None,
        };
        Some(match (test.op, holds) {
            (None, true) => message!("to be true"),
            (None, false) => message!("to be false"),
            (Some(Op::Lt), true) | (Some(Op::Ge), false) => message!("less than {right}"),
            (Some(Op::Le), true) | (Some(Op::Gt), false) => message!("at most {right}"),
            (Some(Op::Gt), true) | (Some(Op::Le), false) => message!("more than {right}"),
            (Some(Op::Ge), true) | (Some(Op::Lt), false) => message!("at least {right}"),
            (Some(Op::Eq), true) | (Some(Op::Ne), false) => message!("to be {right}"),
            (Some(Op::Ne), true) | (Some(Op::Eq), false) => message!("to be present and not {right}"),
            (Some(Op::IsMissing), true) | (Some(Op::IsPresent), false) => message!("to be missing"),
            (Some(Op::IsPresent), true) | (Some(Op::IsMissing), false) => message!("to be present"),
            _ => return None,
        })
    }
}

/// True if a test has the wanted result for a message. Unknown counts as neither true nor false.
fn has_result(words: &RequirementWords<'_>, unit: &Cond, message: &Json, want: bool) -> bool {
    words.report.evaluate(unit, message) == Tri::from(want)
}
