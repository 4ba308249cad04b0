//! One pass over a payload: evaluates the rules for the payload itself, then the rules of each
//! `each` block for each element of its list.

use super::Judge;
use super::engine::PayloadEngine;
use super::judgement::{Unchecked, Violation};
use super::path::{self, OwnedPayloadPath, PathStep, PayloadPath};
use super::secrets::PrivateValues;
use super::unchecked::MissingInputs;
use crate::condition::{Condition, ConditionError};
use crate::engine::ThreadWorkspace;
use crate::history::Past;
use rulec_base::diag::Message;
use rulec_base::source::SourceMap;
use rulec_base::text::truncate_chars;
use rulec_base::{broken_invariant, message};
use rulec_eval::trace::{ConditionCoverage, TraceNode, Tracer};
use rulec_lang::arena::Arena;
use rulec_lang::limits::{Exceeded, Limit};
use rulec_lang::privacy::MASK;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{
    self, BindingId, Correction, EachBlock, Effect, ObjectPath, Program, Requirement, RequirementBlock,
    RuleId, TableId, ValueId,
};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::collections::HashMap;

/// A violation of a rule, and the change that corrects it, if the rule defines a correction.
#[derive(Debug)]
pub(super) struct FoundViolation {
    pub violation: Violation,
    pub path_steps: OwnedPayloadPath,
    pub auto_repair: Option<ViolationRepair>,
    /// Whether the correction of this violation writes a private value into the payload.
    pub writes_private_value: bool,
    /// The trace of the rule's condition: the values and the results of its parts. `None` if the
    /// caller requested no trace, or if no condition was evaluated.
    pub trace: Option<TraceNode>,
    /// The violated rule. `None` if the payload is not an object, and for an unchecked rule or an
    /// exceeded limit that counts as a violation.
    pub rule_id: Option<RuleId>,
    pub effect: Effect,
}

/// The findings of one pass, which evaluates all rules for a payload once. Violations are in the
/// order of the rules.
#[derive(Debug, Default)]
pub(super) struct PassFindings {
    pub violations: Vec<FoundViolation>,
    /// The violations of rules that only warn. [`run_checks`] puts them into `violations`, and its
    /// caller then moves them here.
    pub warnings: Vec<FoundViolation>,
    /// The missing optional fields that get their default. [`run_checks`] puts them into
    /// `violations`, and its caller then moves them here.
    pub fields_to_default: Vec<FoundViolation>,
    pub unchecked: Vec<Unchecked>,
    /// The limits that were exceeded during this pass, without duplicates.
    pub exceeded: Vec<Exceeded>,
}

impl PassFindings {
    /// Returns the violations and the missing optional fields together, in the order in which they
    /// are corrected.
    pub fn findings_to_correct(&self) -> impl Iterator<Item = &FoundViolation> {
        self.violations.iter().chain(&self.fields_to_default)
    }

    /// Turns each rule that could not be evaluated into a violation, so that the rule is no longer
    /// listed as unchecked. Adds a violation for each exceeded limit. These violations have no
    /// correction: a correction cannot set a missing input or make a payload smaller.
    pub fn reject_unchecked_rules(&mut self, kind: &hir::Payload) {
        let unchecked = std::mem::take(&mut self.unchecked).into_iter().map(|unchecked| {
            let Unchecked { rule, path, message, effect } = unchecked;
            let repair = message!("the program that judges must give this; the payload need not change");
            (Violation { rule, path, message, repair }, effect)
        });
        let exceeded = self.exceeded.iter().map(|exceeded| {
            let violation = Violation {
                rule: format!("{}.limit", kind.name).into(),
                path: "$".to_owned(),
                message: exceeded.to_message(),
                repair: message!("make the payload smaller"),
            };
            (violation, Effect::Violation)
        });
        let violations = unchecked.chain(exceeded).map(|(violation, effect)| FoundViolation {
            violation,
            path_steps: Vec::new(),
            auto_repair: None,
            writes_private_value: false,
            trace: None,
            rule_id: None,
            effect,
        });
        self.violations.extend(violations);
    }
}

/// The change that corrects a violation.
#[derive(Clone, Debug)]
pub(super) enum ViolationRepair {
    /// Writes this default value.
    SetDefault(Json),
    /// Replaces the wrong value by this value, which is within the allowed range.
    ClampTo(Json),
    /// Removes the value that violates the rule.
    RemoveValue,
}

/// Maximum number of different texts in one payload that are compiled as conditions. Rules may
/// require that a text is a condition. Further texts are reported as unchecked.
const MAX_COMPILED_CONDITIONS: usize = 256;

/// Finds all violations and unchecked rules (rules that cannot be evaluated) of a payload. If
/// `is_traced` is true, each violation has a trace of the rule's condition. `private_paths` are the
/// paths at which earlier corrections wrote private values, which messages must not show. If
/// `coverage` is given, adds the results of all evaluated conditions to it.
pub(super) fn run_checks<'a>(
    judge: &'a Judge,
    payload: &'a Json,
    is_traced: bool,
    private_paths: &'a [OwnedPayloadPath],
    coverage: Option<&'a mut ConditionCoverage>,
) -> PassFindings {
    let Judge { rules, input, past, .. } = judge;
    let kind = judge.payload();
    if !payload.is_object() {
        let violations = vec![FoundViolation {
            violation: Violation {
                rule: format!("{}.type", kind.name).into(),
                path: "$".to_owned(),
                message: message!("the payload must be an object"),
                repair: message!("write it as an object"),
            },
            path_steps: Vec::new(),
            auto_repair: None,
            writes_private_value: false,
            trace: None,
            rule_id: None,
            effect: Effect::Violation,
        }];
        return PassFindings { violations, ..PassFindings::default() };
    }
    ThreadWorkspace::with_current(|ThreadWorkspace { scratch, .. }| {
        // Dropping the guard removes the history from the memory of this thread, before its next
        // decision.
        let mut with_past;
        let scratch = match past {
            Some(past) => {
                with_past = scratch.with_history(past.clone());
                &mut *with_past
            }
            None => scratch,
        };
        let (program, count) = (rules.program(), kind.binding_count as usize);
        let arena = Arena::new(&program.limits);
        let history = past.as_ref().map(Past::view).unwrap_or_default();
        let mut run = PayloadRun {
            program,
            payload,
            engine: PayloadEngine::new(rules, input, &arena, count, (history, scratch)),
            sources: is_traced.then(|| rules.sources()),
            binding_paths: SmallVec::from_elem(None, count),
            violations: Vec::new(),
            unchecked: Vec::new(),
            missing_inputs: judge.missing_inputs(),
            condition_errors: HashMap::new(),
            secrets: PrivateValues::new(program, kind, private_paths),
            coverage,
        };
        run.bind_variable(BindingId(0), Value::from_json(payload), Some(PayloadPath::new()));
        run.run_requirement_block(&kind.block);
        let exceeded = run.engine.exceeded_limits();
        let PayloadRun { violations, unchecked, .. } = run;
        PassFindings { violations, unchecked, exceeded, ..PassFindings::default() }
    })
}

struct PayloadRun<'a> {
    program: &'a Program,
    payload: &'a Json,
    engine: PayloadEngine<'a>,
    sources: Option<&'a SourceMap>,
    binding_paths: SmallVec<[Option<PayloadPath<'a>>; 2]>,
    violations: Vec<FoundViolation>,
    unchecked: Vec<Unchecked>,
    missing_inputs: &'a MissingInputs,
    /// Cache of texts in the payload that must be conditions, each with its compile error. The
    /// error is `None` for a valid condition.
    condition_errors: HashMap<&'a str, Option<ConditionError>>,
    secrets: PrivateValues<'a>,
    coverage: Option<&'a mut ConditionCoverage>,
}

impl<'a> PayloadRun<'a> {
    fn bind_variable(&mut self, binding: BindingId, value: Value<'a>, path: Option<PayloadPath<'a>>) {
        self.engine.bind_variable(binding, value);
        if let Some(cell) = self.binding_paths.get_mut(binding.index()) {
            *cell = path;
        }
    }

    fn run_requirement_block(&mut self, block: &'a RequirementBlock) {
        for (binding, value) in &block.lets {
            self.count_conditions_in_value(*value);
            let value = self.engine.eval_value(*value);
            self.bind_variable(*binding, value, None);
        }
        if let Some(coverage) = &mut self.coverage {
            for rule in &self.program.tables[block.table.index()].evaluation_order {
                coverage.count_rule(self.engine.new_explainer(), *rule);
            }
        }
        if !self.program.tables[block.table.index()].evaluation_order.is_empty() {
            let matched = self.engine.matching_rules(block.table);
            if !self.missing_inputs.inputs_by_rule.is_empty() {
                self.record_unevaluated_rules(block.table, &matched);
            }
            for rule in matched {
                self.record_violation(rule);
            }
        }
        for each in &block.each_blocks {
            self.run_each_block(each);
        }
    }

    /// Adds the results of the conditions inside a value, such as a computed default, to the
    /// coverage. Does nothing unless the caller collects coverage.
    fn count_conditions_in_value(&mut self, value: ValueId) {
        if let Some(coverage) = &mut self.coverage {
            coverage.count_value(self.engine.new_explainer(), value);
        }
    }

    /// Records those rules of a table that cannot be evaluated: their condition is unknown, because
    /// an input was not given. Rules in `matched` are left out, because their condition is true.
    #[cold]
    fn record_unevaluated_rules(&mut self, table: TableId, matched: &[RuleId]) {
        let (program, missing_inputs) = (self.program, self.missing_inputs);
        let order = &program.tables[table.index()].evaluation_order;
        for rule in order.iter().filter(|rule| !matched.contains(rule)) {
            let Some(input) = missing_inputs.inputs_by_rule.get(rule) else { continue };
            let condition = &program.rules[rule.index()].condition;
            if self.engine.new_explainer().eval_cond(condition) == Tri::Unknown {
                self.record_unchecked_rule(
                    *rule,
                    message!("this could not be checked because `{input}` was not given"),
                );
            }
        }
    }

    /// Records a rule that could not be evaluated.
    fn record_unchecked_rule(&mut self, rule: RuleId, message: Message) {
        let Some(requirement) = self.requirement_of_rule(rule) else {
            return broken_invariant!("every rule of a payload has a requirement");
        };
        let path = self
            .locate_value(&requirement.place)
            .map_or_else(|| "$".to_owned(), |(path, _)| self.secrets.format_path(&path));
        let rule = self.program.rules[rule.index()].name.clone();
        self.unchecked.push(Unchecked { rule, path, message, effect: requirement.effect });
    }

    fn requirement_of_rule(&self, rule: RuleId) -> Option<&'a Requirement> {
        let requirements = &self.program.requirements;
        requirements
            .binary_search_by_key(&rule, |requirement| requirement.rule)
            .ok()
            .map(|at| &requirements[at])
    }

    /// Compiles `text`, a text of the payload that the rule `rule` requires to be a condition, and
    /// returns the compile error. `None` if the text is valid. Also `None` if
    /// [`MAX_COMPILED_CONDITIONS`] other texts were compiled; the rule is then recorded as
    /// unchecked.
    fn condition_error(&mut self, rule: RuleId, text: &'a str) -> Option<ConditionError> {
        if let Some(known) = self.condition_errors.get(text) {
            return known.clone();
        }
        if self.condition_errors.len() >= MAX_COMPILED_CONDITIONS {
            let message = message!(
                "more than {MAX_COMPILED_CONDITIONS} different conditions; this one was not checked"
            );
            self.record_unchecked_rule(rule, message);
            return None;
        }
        let error = Condition::compile(text).err();
        self.condition_errors.insert(text, error.clone());
        error
    }

    fn run_each_block(&mut self, each: &'a EachBlock) {
        self.count_conditions_in_value(each.list);
        let list = self.engine.eval_value(each.list);
        if let (true, Some(input)) = (list.is_missing(), self.missing_inputs.inputs_by_list.get(&each.list)) {
            let message = message!("this could not be checked because `{input}` was not given");
            for table in each.block.tables() {
                for rule in &self.program.tables[table.index()].evaluation_order {
                    self.record_unchecked_rule(*rule, message.clone());
                }
            }
        }
        let list_path = each.place.as_ref().and_then(|place| self.locate_value(place)).map(|(path, _)| path);
        let entry_path = |step: PathStep<&'a str>| {
            let mut path = list_path.clone()?;
            path.push(step);
            Some(path)
        };
        let Some(length) = list.list_len().or(list.dict_len()) else { return };
        let Some(outer) = self.engine.enter_each(each.nesting_depth, length) else { return };
        if let Some(entries) = list.entries() {
            for (key, value) in entries {
                self.run_element(each, Value::Str(key), value, entry_path(PathStep::Key(key)));
            }
        } else if let Some(elements) = list.elements() {
            for (index, value) in elements.enumerate() {
                self.run_element(each, Value::Int(index as i64), value, entry_path(PathStep::Index(index)));
            }
        }
        self.engine.set_enclosing_blocks(outer);
        // Discard cached values that were computed under the tighter limits inside the `each`
        // block.
        self.bind_variable(each.element, Value::Missing, None);
    }

    fn run_element(
        &mut self,
        each: &'a EachBlock,
        key: Value<'a>,
        value: Value<'a>,
        path: Option<PayloadPath<'a>>,
    ) {
        if let Some(binding) = each.key {
            self.bind_variable(binding, key, None);
        }
        self.bind_variable(each.element, value, path);
        each.condition.into_iter().for_each(|when| self.count_conditions_in_value(when));
        // Test the condition of the block before its `let` values, which may be expensive.
        if each.condition.is_none_or(|when| !matches!(self.engine.eval_value(when), Value::Bool(false))) {
            self.run_requirement_block(&each.block);
        }
    }

    #[cold]
    fn record_violation(&mut self, rule: RuleId) {
        // The first violation is always recorded, whatever the limit is: it is enough to reject the
        // payload.
        let count = self.violations.len();
        if count > 0 && !self.engine.allows_amount(Limit::Violations, count + 1) {
            return;
        }
        let Some(requirement) = self.requirement_of_rule(rule) else {
            return broken_invariant!("every rule of a payload has a requirement");
        };
        let Some((path, exact)) = self.locate_value(&requirement.place) else { return };
        let auto_repair = match &requirement.correction {
            Some(correction) if exact => self.compute_repair(correction),
            _ => None,
        };
        let writes_private_value = match &requirement.correction {
            Some(Correction::Default(id) | Correction::Clamp(id)) => self.secrets.is_private_value(*id),
            Some(Correction::Remove) | None => false,
        };
        let private = self.secrets.is_private_path(&path);
        let trace = self.sources.map(|sources| {
            let tracer = Tracer::new(self.engine.new_explainer(), sources, false);
            let mut tracer =
                if self.secrets.has_private_corrections() { tracer.hiding_bindings() } else { tracer };
            tracer.trace_rule(rule)
        });
        let mut message = requirement.message.clone();
        let mut advice = requirement.repair.clone();
        if requirement.must_compile {
            let text = path::value_at(self.payload, &path).and_then(Json::as_str);
            let Some(error) = text.and_then(|text| self.condition_error(rule, text)) else { return };
            // The error quotes the text, so hide the error if the text is private.
            if !private {
                message = message!("{message}: {}", error.message);
                advice = error.help.unwrap_or(advice);
            }
        }
        if requirement.shows_value
            && !private
            && let Some(value) = path::value_at(self.payload, &path)
        {
            message = message!("{message}, and is {}", format_value(value));
        }
        let repair = match &auto_repair {
            _ if !advice.is_empty() => advice,
            Some(ViolationRepair::SetDefault(_) | ViolationRepair::ClampTo(_)) if writes_private_value => {
                message!("write {}", MASK)
            }
            Some(ViolationRepair::SetDefault(value) | ViolationRepair::ClampTo(value)) => {
                message!("write {}", truncate_chars(&value.to_string(), MAX_SHOWN_CHARS))
            }
            _ => requirement.message.clone(),
        };
        self.violations.push(FoundViolation {
            violation: Violation {
                rule: self.program.rules[rule.index()].name.clone(),
                path: self.secrets.format_path(&path),
                message,
                repair,
            },
            path_steps: path::to_owned_path(&path),
            auto_repair,
            writes_private_value,
            trace,
            rule_id: Some(rule),
            effect: requirement.effect,
        });
    }

    fn compute_repair(&mut self, correction: &'a Correction) -> Option<ViolationRepair> {
        let mut eval_to_json = |id: &hir::ValueId| {
            let value = self.engine.eval_value(*id);
            (!value.is_missing()).then(|| value.to_json())
        };
        match correction {
            Correction::Default(id) => eval_to_json(id).map(ViolationRepair::SetDefault),
            Correction::Clamp(id) => eval_to_json(id).map(ViolationRepair::ClampTo),
            Correction::Remove => Some(ViolationRepair::RemoveValue),
        }
    }

    /// Returns the path from the root of the payload to the value that a rule checks; `place` is
    /// the location of this value as the rule defines it. The bool is false if the value is missing
    /// and the path ends at the object that should contain it. `None` if the location cannot be
    /// found in this payload.
    fn locate_value(&mut self, place: &'a ObjectPath) -> Option<(PayloadPath<'a>, bool)> {
        let mut path = self.binding_paths.get(place.root.index())?.clone()?;
        for step in &place.steps {
            path.push(self.resolve_path_step(step)?);
        }
        let Some(dotted) = &place.dotted else { return Some((path, true)) };
        let mut dotted_steps = PayloadPath::new();
        for step in &dotted.steps {
            dotted_steps.push(self.resolve_path_step(step)?);
        }
        let Some(Json::Object(keys)) = path::value_at(self.payload, &path) else {
            return Some((path, false));
        };
        // The keys `a`, `a.b` and `a.b.c` of one object can all contain the value. The longest key
        // was written last, so it applies.
        for length in (0..=dotted_steps.len()).rev() {
            let mut key = dotted.prefix.to_string();
            for step in &dotted_steps[..length] {
                key.push('.');
                match step {
                    PathStep::Key(name) => key.push_str(name),
                    PathStep::Index(index) => key.push_str(&index.to_string()),
                }
            }
            if let Some((key, _)) = keys.get_key_value(&key) {
                path.push(PathStep::Key(key));
                path.extend_from_slice(&dotted_steps[length..]);
                return Some((path, true));
            }
        }
        Some((path, false))
    }

    fn resolve_path_step(&mut self, step: &'a hir::ObjectStep) -> Option<PathStep<&'a str>> {
        match step {
            hir::ObjectStep::Key(key) => Some(PathStep::Key(key)),
            hir::ObjectStep::At(id) => match self.engine.eval_value(*id) {
                Value::Str(key) => {
                    self.secrets.add_key(key, *id);
                    Some(PathStep::Key(key))
                }
                Value::Int(index) => usize::try_from(index).ok().map(PathStep::Index),
                _ => None,
            },
        }
    }
}

/// Maximum number of characters of a value that is shown in a message.
const MAX_SHOWN_CHARS: usize = 60;

fn format_value(value: &Json) -> Message {
    let text = match value {
        Json::Object(_) => return message!("an object"),
        Json::Array(_) => return message!("a list"),
        Json::String(text) if text.len() > 4 * MAX_SHOWN_CHARS => {
            Json::from(text.chars().take(MAX_SHOWN_CHARS).collect::<String>()).to_string()
        }
        other => other.to_string(),
    };
    Message::verbatim(truncate_chars(&text, MAX_SHOWN_CHARS))
}
