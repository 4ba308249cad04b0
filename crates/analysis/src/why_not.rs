//! Explains why a message does not select a route. The explanation names the route that the message
//! selects now. The explanation also shows the smallest change with which the message would select
//! the requested route. The reference evaluator checks the change before it is reported.

mod words;

use super::answers::AnswerIds;
use super::budget::StepBudget;
use super::minimal_change::{NearestMessage, NearestResult, find_nearest_message};
use super::past_terms::{PastTerms, RulesWithAssumedPast};
use super::report::AnalysisReport;
use super::sequence::{LeafSequence, SequenceBuilder, SequenceLeaf};
use super::solver::MessageSolver;
use hashbrown::HashSet;
use rulec_base::diag::{Language, Message};
use rulec_base::source::SourceMap;
use rulec_eval::decision::Choice;
use rulec_lang::history::PastView;
use rulec_lang::privacy::Privacy;
use rulec_sema::hir::{Program, RuleId, SlotId, TableId};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::sync::Arc;
use words::RequirementWords;

/// The reason why a message does not select a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WhyNot {
    /// The name of the requested statement, after the names of the `goto`s that lead to it. The
    /// names are joined by ` → `.
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
    /// Returns the explanation with its words in another language. Texts that are quoted from the
    /// rules are not translated.
    #[must_use]
    pub fn localized(mut self, language: Language) -> WhyNot {
        if let Remedy::Change { fields, .. } = &mut self.remedy {
            for need in fields.iter_mut().flat_map(|field| &mut field.needs) {
                *need = need.in_language(language);
            }
        }
        self
    }

    /// Returns the explanation with masked values of `@private` fields, fit for logs. The message
    /// in the remedy becomes null if it contains private values, or if a private value must change.
    /// In a record that contains private fields, only these fields are masked.
    #[must_use]
    pub fn masked(mut self) -> WhyNot {
        let Remedy::Change { fields, message, .. } = &mut self.remedy else { return self };
        if self.private_message {
            *message = Json::Null;
        }
        for field in fields {
            let Some(MaskedValues { is, would_be }) = field.masked.take() else { continue };
            (field.is, field.would_be) = (is, would_be);
            field.needs.clear();
            *message = Json::Null;
        }
        self
    }
}

/// The change by which a message would select a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
        #[serde(rename = "smallest")]
        is_smallest: bool,
    },
    /// The rules must change: no message selects the statement.
    Never,
    /// No change was found, but there is no proof that none exists.
    Unknown,
}

/// A field that must change so that the message selects the requested statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    masked: Option<MaskedValues>,
}

/// The values of a [`FieldChange`] with masks in place of the private values.
#[derive(Clone, Debug, PartialEq)]
struct MaskedValues {
    is: Json,
    would_be: Json,
}

impl MaskedValues {
    /// Masks the parts of a field's values that are private according to `privacy`. Returns `None`
    /// if there is nothing to mask.
    fn new(privacy: Privacy<'_>, is: &Json, would_be: &Json) -> Option<MaskedValues> {
        let masked = MaskedValues { is: privacy.mask(is.clone()), would_be: privacy.mask(would_be.clone()) };
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
    /// The name of the statement that the message should select, or `TABLE.ROUTE`. Also accepted:
    /// the name of a `goto` that leads to the statement, or all these names joined by ` → `.
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
        None => explain_with_assumed_past(query, None, (query.message, &[])).map(|(found, _)| found),
    }
}

/// Explains why a message does not select a statement, for rules that read the history in the slot
/// `history`. Searches from several start messages, for which the parts of conditions that read the
/// history have different values. The error contains the names of the statements that exist.
fn explain_over_past(query: &WhyNotQuery<'_>, history: SlotId) -> Result<WhyNot, Vec<String>> {
    let terms = PastTerms::new(query.program, history);
    let has_key = query.program.history.as_ref().is_some_and(|history| history.key.is_some());
    let mut tried = Vec::new();
    let mut best: Option<(usize, WhyNot)> = None;
    let mut steps = 0;
    for (index, start) in
        terms.search_starts(query.message, (query.past)(query.message)).into_iter().enumerate()
    {
        let values = terms.term_values(&start, (query.past)(&start.message));
        // If the parts that read the history have equal values, this start finds no smaller change
        // than an earlier start.
        if tried.contains(&values) {
            continue;
        }
        let assumed = terms.with_assumed_values(&values);
        tried.push(values);
        let (mut found, taken) =
            explain_with_assumed_past(query, Some(&assumed), (&start.message, &start.replaced_fields))?;
        if let Remedy::Change { fields, is_smallest, .. } = &mut found.remedy {
            let count = fields.len();
            *is_smallest =
                count <= 1 || (*is_smallest && index == 0 && terms.all_read_only_history() && !has_key);
            if best.as_ref().is_none_or(|(fewest, _)| count < *fewest) {
                best = Some((count, found));
            }
        } else if found.remedy == Remedy::Chosen {
            return Ok(found);
        }
        steps += taken;
        if steps >= StepBudget::default().total_steps()
            || best.as_ref().is_some_and(|(fewest, _)| *fewest <= 1)
        {
            break;
        }
    }
    if let Some((_, best)) = best {
        return Ok(best);
    }
    // Without assumptions, a proof that no message selects the statement holds for every history.
    let (mut found, _) = explain_with_assumed_past(query, None, (query.message, &[]))?;
    if found.remedy != Remedy::Never {
        found.remedy = Remedy::Unknown;
    }
    Ok(found)
}

/// Explains why a message does not select a statement. If `assumed` is given, the search uses these
/// rules instead of the rules of the query. The search starts from the message `start`, in which
/// the fields `replaced` have other values than in the message of the query. Also returns the
/// number of steps that the search took. The error contains the names of the statements that exist.
fn explain_with_assumed_past(
    query: &WhyNotQuery<'_>,
    assumed: Option<&RulesWithAssumedPast>,
    (start, replaced): (&Json, &[Vec<Arc<str>>]),
) -> Result<(WhyNot, u64), Vec<String>> {
    let mut solver = MessageSolver::new(assumed.map_or(query.program, |assumed| &assumed.program));
    let mut answers = AnswerIds::default();
    let (program, values) = (query.program, &*query.program.values);
    let conditions = assumed.map(|assumed| &*assumed.conditions);
    let mut sequence_builder = SequenceBuilder {
        program,
        renumbered_conditions: conditions,
        computed_values: values,
        solver: &mut solver,
        answer_ids: &mut answers,
    };
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
                if best
                    .as_ref()
                    .is_none_or(|(_, best)| nearest.changed_paths.len() < best.changed_paths.len())
                {
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
    Ok((explanation, solver.budget().taken_steps()))
}

/// True if the statement, or a `goto` that leads to the statement, is named `name`.
fn is_named(leaf: &SequenceLeaf, name: &str) -> bool {
    leaf.name == name || leaf.name.split(" → ").any(|part| part == name)
}

/// Describes the change that makes a message select the statement with the index `statement` in
/// `sequence`. `nearest` is the changed message. `is_undecided` is true if another statement with
/// the requested name might need a smaller change. `replaced` are the fields whose values were
/// already changed before the search started.
fn describe_change(
    (query, replaced): (&WhyNotQuery<'_>, &[Vec<Arc<str>>]),
    solver: &MessageSolver<'_>,
    sequence: &LeafSequence,
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
        requirements_with_fields: Vec::new(),
    };
    for rule in sequence.rules_to_leaf(statement) {
        words.collect_newly_satisfied(&query.program.rules[rule.index()].condition, true);
    }
    for excluded_earlier in &nearest.excluded_statements {
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
    let mut changed: Vec<&Vec<Arc<str>>> = nearest
        .changed_paths
        .iter()
        .map(|path| &solver.theory.value_search.atoms.paths[*path].keys)
        .collect();
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
            masked: MaskedValues::new(privacy, &is, &would_be),
            is,
            would_be,
            needs: words.requirements_about(keys),
            private: !privacy.is_public(),
        }
    });
    Remedy::Change {
        fields: fields.collect(),
        is_smallest: nearest.is_smallest && !is_undecided,
        message: nearest.message.clone(),
    }
}
