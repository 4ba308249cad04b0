//! Explains why a message does not select a route. The explanation names the route that the message
//! selects now. The explanation also shows the smallest change with which the message would select
//! the requested route. The reference evaluator checks the change before it is reported.

use super::answers::AnswerIds;
use super::budget::StepBudget;
use super::minimal_change::{NearestMessage, NearestResult, find_nearest_message};
use super::past_terms::{AssumedPast, PastTerms};
use super::report::AnalysisReport;
use super::sequence::{Sequence, SequenceBuilder, SequenceLeaf};
use super::solver::Solver;
use hashbrown::HashSet;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_eval::decision::Choice;
use rulec_lang::history::PastView;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::privacy::Privacy;
use rulec_lang::value::Tri;
use rulec_sema::hir::{
    Cond, CondKind, Expr, ExprKind, Operand, Predicate, Program, RuleId, SlotId, TableId, Term,
};
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
    /// Whether the message of the remedy contains private values, in changed or unchanged fields.
    #[serde(skip)]
    private_message: bool,
}

impl WhyNot {
    /// Returns the explanation with masked values of `@private` fields, fit for logs. The message
    /// that the remedy proposes becomes null if it has private values, or if a private value must
    /// change. Of a record with private fields, only these fields are masked.
    #[must_use]
    pub fn masked(mut self) -> WhyNot {
        let Remedy::Change { fields, message, .. } = &mut self.remedy else { return self };
        if self.private_message {
            *message = Json::Null;
        }
        for field in fields {
            let Some(Masked { is, would_be }) = field.masked.take() else { continue };
            (field.is, field.would_be) = (is, would_be);
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
    /// The message must change so that it selects the statement.
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
    /// Whether the field or a field inside it is `@private`, so that values must be masked.
    pub private: bool,
    /// The masked values; `None` if neither `is` nor `would_be` has a private value.
    #[serde(skip)]
    masked: Option<Masked>,
}

/// The values of a [`FieldChange`] with masks in place of the private values.
#[derive(Clone, Debug, PartialEq)]
struct Masked {
    is: Json,
    would_be: Json,
}

impl Masked {
    /// Masks the values of a field with this privacy. Returns `None` if there is nothing to mask.
    fn new(privacy: Privacy<'_>, is: &Json, would_be: &Json) -> Option<Masked> {
        let masked = Masked { is: privacy.mask(is.clone()), would_be: privacy.mask(would_be.clone()) };
        // The requirements of a private field are private, even if both of its values are missing.
        let is_private = matches!(privacy, Privacy::Private(_));
        (is_private || (&masked.is, &masked.would_be) != (is, would_be)).then_some(masked)
    }
}

/// The input of [`explain_why_not`]: a message, and the statement that the message should select.
#[doc(hidden)]
pub struct WhyNotQuery<'p> {
    /// The typed program.
    pub program: &'p Program,
    /// The source files of the program.
    pub sources: &'p SourceMap,
    /// The table with which the decision starts.
    pub entry: TableId,
    /// The name of the statement, optionally with the names of the `goto`s that lead to it.
    pub route: &'p str,
    /// The message that does not select the statement, and that a remedy changes.
    pub message: &'p Json,
    /// Function that returns the statement that the reference evaluator chooses for a message.
    pub decide: &'p dyn Fn(&Json) -> Choice,
    /// Function that returns the earlier messages that the decision about a message can read.
    pub past: &'p dyn Fn(&Json) -> PastView<'p>,
}

/// Explains why a message does not select a statement.
///
/// # Errors
/// If there is no statement with this name, returns the names that exist.
#[doc(hidden)]
pub fn explain_why_not(query: &WhyNotQuery<'_>) -> Result<WhyNot, Vec<String>> {
    match query.program.history_slot() {
        Some(history) => explain_over_past(query, history),
        None => explain_assuming(query, None, (query.message, &[])).map(|(found, _)| found),
    }
}

/// Explains why a message does not select a statement, for rules that read the history in the slot
/// `history`. Searches from several messages, each with other values of the parts of conditions
/// that read the history.
fn explain_over_past(query: &WhyNotQuery<'_>, history: SlotId) -> Result<WhyNot, Vec<String>> {
    let terms = PastTerms::new(query.program, history);
    let has_key = query.program.history.as_ref().is_some_and(|history| history.key.is_some());
    let mut tried = Vec::new();
    let mut best: Option<(usize, WhyNot)> = None;
    let mut steps = 0;
    for (index, start) in terms.starts(query.message, (query.past)(query.message)).into_iter().enumerate() {
        let values = terms.values(&start, (query.past)(&start.message));
        // With equal values, this start finds no smaller change than the earlier start.
        if tried.contains(&values) {
            continue;
        }
        let assumed = terms.assume(&values);
        tried.push(values);
        let (mut found, taken) = explain_assuming(query, Some(&assumed), (&start.message, &start.replaced))?;
        if let Remedy::Change { fields, smallest, .. } = &mut found.remedy {
            let count = fields.len();
            *smallest = count <= 1 || (*smallest && index == 0 && terms.are_fixed() && !has_key);
            if best.as_ref().is_none_or(|(fewest, _)| count < *fewest) {
                best = Some((count, found));
            }
        } else if found.remedy == Remedy::Chosen {
            return Ok(found);
        }
        steps += taken;
        if steps >= StepBudget::default().total() || best.as_ref().is_some_and(|(fewest, _)| *fewest <= 1) {
            break;
        }
    }
    if let Some((_, best)) = best {
        return Ok(best);
    }
    // Without assumptions, a proof that no message selects the statement holds for every history.
    let (mut found, _) = explain_assuming(query, None, (query.message, &[]))?;
    if found.remedy != Remedy::Never {
        found.remedy = Remedy::Unknown;
    }
    Ok(found)
}

/// Explains why a message does not select a statement; the search uses the rules `assumed` instead
/// of the rules of the query. The search starts from the message `start`, in which the fields
/// `replaced` have other values than in the message of the query. Also returns the number of steps
/// that the search took.
fn explain_assuming(
    query: &WhyNotQuery<'_>,
    assumed: Option<&AssumedPast>,
    (start, replaced): (&Json, &[Vec<Arc<str>>]),
) -> Result<(WhyNot, u64), Vec<String>> {
    let mut solver = Solver::new(assumed.map_or(query.program, |assumed| &assumed.program));
    let mut answers = AnswerIds::default();
    let (program, values) = (query.program, &*query.program.values);
    let conditions = assumed.map(|assumed| &*assumed.conditions);
    let mut sequence_builder =
        SequenceBuilder { program, conditions, values, solver: &mut solver, answers: &mut answers };
    let Some(sequence) = sequence_builder.build_sequence(Some(query.entry)) else {
        let (route, remedy) = (query.route.to_owned(), Remedy::Unknown);
        return Ok((WhyNot { route, taken_by: None, remedy, private_message: false }, 0));
    };
    let statements = sequence.leaves.split_last().map_or(&[][..], |(_, statements)| statements);
    // The name may include the table, as in tests: `TABLE.ROUTE`.
    let qualified = |id: &RuleId| {
        let rule = &program.rules[id.index()];
        query
            .route
            .strip_prefix(&*program.tables[rule.table.index()].name)
            .and_then(|rest| rest.strip_prefix('.'))
            == Some(&*rule.name)
    };
    let is_requested = |index: &usize| {
        is_named(&statements[*index], query.route) || sequence.rules_to_leaf(*index).iter().any(qualified)
    };
    let requested: Vec<usize> = (0..statements.len()).filter(is_requested).collect();
    if requested.is_empty() {
        let mut listed = HashSet::new();
        let names = statements.iter().flat_map(|leaf| leaf.name.split(" → "));
        return Err(names.filter(|name| listed.insert(*name)).map(str::to_owned).collect());
    }
    let decide = |message: &Json| sequence.leaf_index(&(query.decide)(message));
    let selected = decide(query.message);
    let name = |statement: usize| statements.get(statement).map(|leaf| leaf.name.clone());
    let mut explanation = WhyNot {
        route: requested.first().copied().and_then(name).unwrap_or_default(),
        taken_by: selected.and_then(name),
        remedy: Remedy::Never,
        private_message: false,
    };
    if selected.is_some_and(|selected| requested.contains(&selected)) {
        explanation.remedy = Remedy::Chosen;
        return Ok((explanation, 0));
    }
    let mut best: Option<(usize, NearestMessage)> = None;
    let mut is_undecided = false;
    for statement in requested {
        match find_nearest_message(&mut solver, &sequence, statement, start, &decide) {
            NearestResult::Never => {}
            NearestResult::Unknown => is_undecided = true,
            NearestResult::Message(nearest) => {
                if best.as_ref().is_none_or(|(_, best)| nearest.changed.len() < best.changed.len()) {
                    best = Some((statement, nearest));
                }
            }
        }
    }
    match best {
        None if is_undecided => explanation.remedy = Remedy::Unknown,
        None => {}
        Some((statement, nearest)) => {
            explanation.route = name(statement).unwrap_or_default();
            let privacy = program.message_privacy();
            explanation.private_message = privacy.mask(nearest.message.clone()) != nearest.message;
            explanation.remedy =
                describe_change((query, replaced), &solver, &sequence, (statement, nearest), is_undecided);
        }
    }
    Ok((explanation, solver.budget().taken()))
}

/// True if the statement, or a `goto` that leads to the statement, is named `name`.
fn is_named(leaf: &SequenceLeaf, name: &str) -> bool {
    leaf.name == name || leaf.name.split(" → ").any(|part| part == name)
}

/// Describes the change that makes a message select the statement with the index `statement` in
/// `sequence`. `nearest` is the changed message. `is_undecided` is true if another statement with
/// the requested name might need a smaller change. `replaced` are the fields that already had
/// another value when the search started.
fn describe_change(
    (query, replaced): (&WhyNotQuery<'_>, &[Vec<Arc<str>>]),
    solver: &Solver<'_>,
    sequence: &Sequence,
    (statement, nearest): (usize, NearestMessage),
    is_undecided: bool,
) -> Remedy {
    // A separate step budget, because the search may have exhausted its own. The description needs
    // few steps.
    let report = AnalysisReport::new(query.program, query.sources, StepBudget::default());
    let mut words = RequirementWords {
        report: &report,
        old_message: query.message,
        new_message: &nearest.message,
        past: query.past,
        requirements: Vec::new(),
    };
    for rule in sequence.rules_to_leaf(statement) {
        words.collect_newly_satisfied(&query.program.rules[rule.index()].condition, true);
    }
    for excluded_earlier in &nearest.excluded_earlier {
        // At least one condition of this earlier statement is no longer true.
        for rule in sequence.rules_to_leaf(*excluded_earlier) {
            words.collect_changed_tests(
                &query.program.rules[rule.index()].condition,
                &query.program.rules[rule.index()].name,
            );
        }
    }
    let value_at = |message: &Json, keys: &[Arc<str>]| -> Json {
        keys.iter().try_fold(message, |json, key| json.get(&**key)).cloned().unwrap_or_default()
    };
    let mut changed: Vec<&Vec<Arc<str>>> =
        nearest.changed.iter().map(|path| &solver.theory.values.atoms.paths[*path].keys).collect();
    for keys in replaced {
        let is_within = |path: &Vec<Arc<str>>| keys.starts_with(path) || path.starts_with(keys);
        if !changed.iter().any(|path| is_within(path)) {
            changed.push(keys);
        }
    }
    if !replaced.is_empty() {
        changed.retain(|keys| value_at(query.message, keys) != value_at(&nearest.message, keys));
    }
    let fields = changed.into_iter().map(|keys| {
        let privacy = keys.iter().fold(query.program.message_privacy(), |privacy, key| privacy.at_key(key).0);
        let (is, would_be) = (value_at(query.message, keys), value_at(&nearest.message, keys));
        FieldChange {
            field: keys.join("."),
            masked: Masked::new(privacy, &is, &would_be),
            is,
            would_be,
            needs: words.requirements_about(keys),
            private: !privacy.is_public(),
        }
    });
    Remedy::Change {
        fields: fields.collect(),
        smallest: nearest.smallest && !is_undecided,
        message: nearest.message.clone(),
    }
}

/// A predicate or quantifier, with the truth value that it should have.
#[derive(Clone, Copy)]
struct WantedTest<'c> {
    cond: &'c Cond,
    /// The truth value; inside a negation the opposite of the value of the whole condition.
    want: bool,
    /// The outermost call of a `def` whose body has the predicate, and the truth value that the
    /// call should have. `None` if no `def` has the predicate.
    call: Option<(&'c Cond, bool)>,
}

impl<'c> WantedTest<'c> {
    /// Returns the condition that a message quotes, and the truth value that it should have. The
    /// body of a `def` has parameters that its reader does not know, so the call is quoted.
    fn quoted(self) -> (&'c Cond, bool) {
        self.call.unwrap_or((self.cond, self.want))
    }

    /// True if the predicate has the wanted truth value for a message. False if the predicate is
    /// unknown.
    fn is_satisfied(self, words: &RequirementWords<'_, '_>, message: &Json) -> bool {
        let past = (words.past)(message);
        words.report.evaluate_over(self.cond, message, past) == Tri::from(self.want)
    }
}

/// Collects in words what the tests in conditions require of message fields. An explanation shows
/// these requirements next to each field that must change.
struct RequirementWords<'w, 'p> {
    report: &'w AnalysisReport<'w>,
    old_message: &'w Json,
    new_message: &'w Json,
    /// Function that returns the earlier messages that the decision about a message can read.
    past: &'w dyn Fn(&Json) -> PastView<'p>,
    /// Each requirement in words, with the message fields that its predicate reads.
    requirements: Vec<(Vec<Vec<Arc<str>>>, Message)>,
}

impl RequirementWords<'_, '_> {
    /// Returns the requirements of predicates that read the field `keys`, a field inside it or a
    /// record around it.
    fn requirements_about(&self, keys: &[Arc<str>]) -> Vec<Message> {
        let mut needs: Vec<Message> = Vec::new();
        for (fields, need) in &self.requirements {
            let overlaps = |other: &Vec<Arc<str>>| other.starts_with(keys) || keys.starts_with(other);
            if fields.iter().any(overlaps) && !needs.contains(need) {
                needs.push(need.clone());
            }
        }
        needs
    }

    /// Collects requirements from a condition that should have the truth value `want`. Only
    /// predicates that get their required value by the change of the message are collected.
    fn collect_newly_satisfied(&mut self, cond: &Cond, want: bool) {
        self.for_each_test(cond, want, None, &mut |words, test| {
            if test.is_satisfied(words, words.old_message) || !test.is_satisfied(words, words.new_message) {
                return;
            }
            let need = words.describe_requirement(test);
            words.requirements.push((words.fields_read(test.cond), need));
        });
    }

    /// Collects requirements from the condition of an earlier statement: its predicates that have
    /// different values for the original and the changed message.
    fn collect_changed_tests(&mut self, cond: &Cond, name: &str) {
        self.for_each_test(cond, true, None, &mut |words, test| {
            if test.is_satisfied(words, words.old_message) != test.is_satisfied(words, words.new_message) {
                let quoted = words.report.quote(test.quoted().0.span);
                let need = message!("another value, because `{name}` is tried earlier: `{quoted}`");
                words.requirements.push((words.fields_read(test.cond), need));
            }
        });
    }

    /// Calls `visit` for each predicate and quantifier in a condition. `want` is the truth value
    /// that `cond` should have. `call` is the outermost call of a `def` whose body `cond` is in,
    /// with the truth value that the call should have.
    fn for_each_test(
        &mut self,
        cond: &Cond,
        want: bool,
        call: Option<(&Cond, bool)>,
        visit: &mut dyn FnMut(&mut Self, WantedTest<'_>),
    ) {
        match &cond.kind {
            CondKind::Const(_) => {}
            CondKind::Not(inner) | CondKind::NotTrue(inner) => {
                self.for_each_test(inner, !want, call, visit);
            }
            CondKind::Call(_, _, inner) => {
                self.for_each_test(inner, want, call.or(Some((cond, want))), visit);
            }
            CondKind::And(parts) | CondKind::Or(parts) => {
                parts.iter().for_each(|part| self.for_each_test(part, want, call, visit));
            }
            CondKind::Branch { conditions, .. } => {
                conditions.iter().for_each(|part| self.for_each_test(&part.cond, want, call, visit));
            }
            CondKind::Let(id) => match self.report.program.let_body(*id) {
                // The body of a `let` has no parameters, so its own text is quoted.
                Term::Cond(body) => self.for_each_test(body, want, None, visit),
                Term::Expr(_) => visit(self, WantedTest { cond, want, call }),
            },
            CondKind::Predicate(_) | CondKind::Quantifier { .. } => {
                visit(self, WantedTest { cond, want, call })
            }
        }
    }

    fn fields_read(&self, cond: &Cond) -> Vec<Vec<Arc<str>>> {
        let program = self.report.program;
        let slots = super::missing::fields_read(program, cond);
        slots.into_iter().map(|slot| program.slots[slot.index()].path.clone()).collect()
    }

    /// Describes the requirement that a predicate has a truth value: in words for a simple
    /// comparison, otherwise by the source text of the predicate or of the call that it is in.
    fn describe_requirement(&self, test: WantedTest<'_>) -> Message {
        let comparison = match &test.cond.kind {
            CondKind::Predicate(predicate) => self.describe_comparison(predicate, test.want),
            _ => None,
        };
        comparison.unwrap_or_else(|| {
            let (cond, want) = test.quoted();
            let quoted = self.report.quote(cond.span);
            match want {
                true => message!("`{quoted}`"),
                false => message!("`{quoted}` not to hold"),
            }
        })
    }

    fn describe_comparison(&self, test: &Predicate, want: bool) -> Option<Message> {
        let is_field = matches!(test.left, Expr { kind: ExprKind::Slot(_), .. });
        if !is_field || test.mode != TestMode::default() {
            return None;
        }
        let must_be_true = want != test.negated;
        let right = match &test.right {
            Operand::Value(right) => self.report.quote(right.span),
            Operand::Nothing => String::new(),
            Operand::Range { .. } => return None,
        };
        Some(match (test.op, must_be_true) {
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
