//! Verifies programs that were read from a file. The verifier checks every guarantee of the checker
//! that engines rely on. Engines agree on the decisions of a verified program.

use super::*;
use rulec_base::codec::DecodeError;
use rulec_base::parallel::{self, ThreadLimit};
use rulec_lang::operators::modifiers::TestMode;
use rulec_lang::operators::{Fixity, Implementation, Op, OpInfo};
use std::collections::HashSet;

type Verified = Result<(), DecodeError>;

fn check_guarantee(is_valid: bool, problem: &'static str) -> Verified {
    if is_valid { Ok(()) } else { Err(DecodeError(problem)) }
}

impl Program {
    /// Checks every guarantee of the type checker that engines rely on. Also decodes the conditions
    /// of all rules to trees.
    pub fn verify(&self) -> Result<(), DecodeError> {
        let verifier = ProgramVerifier::new(self)?;
        let chunk_size =
            self.rules.len().div_ceil(ThreadLimit::All.count_for_statements(self.rules.len())).max(1);
        let verify_rules = |rules: &[Rule]| rules.iter().try_for_each(|rule| verifier.verify_rule(rule));
        parallel::map_in_parallel(self.rules.chunks(chunk_size), verify_rules)
            .into_iter()
            .collect::<Verified>()?;
        check_guarantee(self.are_each_depths_valid(), "an `each` says that less nests in it than does")
    }
}

/// Verifies a whole program. A payload rule may read named values (bindings), whose ids start at 0
/// for each payload. `table_binding_limits` and `value_binding_limits` store a limit for each table
/// and each value: only bindings with lower ids may be read. A limit of 0 allows only reads of the
/// message.
struct ProgramVerifier<'p> {
    program: &'p Program,
    let_measures: Vec<ExprSize>,
    table_binding_limits: Vec<u32>,
    value_binding_limits: Vec<u32>,
}

impl<'p> ProgramVerifier<'p> {
    /// Verifies everything in the program except the rules. Returns a verifier with which the
    /// caller can verify the rules.
    fn new(program: &'p Program) -> Result<ProgramVerifier<'p>, DecodeError> {
        let Program { tables, values, externs, tests, analysis, .. } = program;
        let binding_limit = |table: &Table| if table.kind == TableKind::Requirements { u32::MAX } else { 0 };
        let mut verifier = ProgramVerifier {
            program,
            let_measures: Vec::with_capacity(program.lets.len()),
            table_binding_limits: tables.iter().map(binding_limit).collect(),
            value_binding_limits: vec![u32::MAX; values.len()],
        };
        check_guarantee(
            tables.first().is_some_and(|table| table.kind == TableKind::Routes),
            "there are no routes",
        )?;
        let has_name = |slot: &Slot| slot.root.is_some() || !slot.path.is_empty();
        check_guarantee(program.slots.iter().all(has_name), "a field has no name")?;
        let is_declared = |function: &Extern| match function.feature {
            Some(AnalysisFeature::Entity(number)) => number < analysis.entities.len(),
            Some(AnalysisFeature::Lexicon(number)) => number < analysis.lexicons.len(),
            Some(AnalysisFeature::Intent | AnalysisFeature::Keywords) | None => true,
        };
        check_guarantee(
            externs.iter().all(is_declared),
            "a function analyses an entity or lexicon that is not there",
        )?;
        program.input.iter().try_for_each(verify_distinct_fields)?;
        verifier.verify_payloads()?;
        for body in program.lets.iter().map(|body| body.body.as_part()) {
            let measure = verifier.verify_expression(body, 0, MAX_CONDITION_NODES)?;
            verifier.let_measures.push(measure);
        }
        for (table, bindings) in tables.iter().zip(&verifier.table_binding_limits) {
            if let Some(default) = &table.default {
                verify_outcome(program, table, default)?;
                for_each_value(default, |value| {
                    limit_bindings(&mut verifier.value_binding_limits, value, *bindings)
                });
            }
        }
        for rule in &program.rules {
            let bindings = verifier.table_binding_limits[rule.table.index()];
            for_each_value(&rule.outcome, |value| {
                limit_bindings(&mut verifier.value_binding_limits, value, bindings)
            });
        }
        for (value, bindings) in values.iter().zip(&verifier.value_binding_limits) {
            // The checker limits the size of conditions and definitions, not of the values that use
            // them.
            verifier.verify_expression(Part::Expr(value), *bindings, u64::MAX)?;
        }
        let is_decision = |test: &Test| tables[test.entry_table.index()].kind != TableKind::Requirements;
        check_guarantee(tests.iter().all(is_decision), "a test decides by requirements")?;
        let mut routers =
            program.workflows.iter().flat_map(|workflow| &workflow.nodes).filter_map(|node| node.router);
        let is_router = |id: TableId| tables[id.index()].kind == TableKind::Router;
        check_guarantee(routers.all(is_router), "a workflow asks a table that is no router")?;
        Ok(verifier)
    }

    /// Verifies the payloads, and computes the number of bindings (named values) that each of their
    /// tables and values may read.
    fn verify_payloads(&mut self) -> Verified {
        let requirements = &self.program.requirements;
        check_guarantee(requirements.is_sorted_by_key(|one| one.rule), "requirements are out of order")?;
        let tables = &self.program.tables;
        let has_requirement = |(rule, index): (&Rule, u32)| {
            let is_required = tables[rule.table.index()].kind == TableKind::Requirements;
            is_required == requirements.binary_search_by_key(&RuleId(index), |one| one.rule).is_ok()
        };
        let is_complete = self.program.rules.iter().zip(0..).all(has_requirement);
        check_guarantee(is_complete, "a rule of a payload has no requirement, or another rule has one")?;
        for payload in &self.program.payloads {
            let binding_count = self.verify_block(&payload.block, payload.binding_count)?;
            check_guarantee(
                payload.binding_count <= binding_count.saturating_add(1),
                "a payload binds too much",
            )?;
        }
        for requirement in requirements {
            let bindings =
                self.table_binding_limits[self.program.rules[requirement.rule.index()].table.index()];
            self.verify_path(&requirement.place, bindings);
            match &requirement.correction {
                Some(Correction::Default(value) | Correction::Clamp(value)) => {
                    limit_bindings(&mut self.value_binding_limits, *value, bindings);
                }
                Some(Correction::Remove) | None => {}
            }
        }
        Ok(())
    }

    /// Verifies a block (payload requirements for one value). Its values may read bindings (named
    /// values) with ids below `bindings`. Returns an upper bound for the number of bindings that
    /// the block and the blocks inside it define.
    fn verify_block(&mut self, block: &RequirementBlock, bindings: u32) -> Result<u32, DecodeError> {
        let kind = self.program.tables[block.table.index()].kind;
        check_guarantee(kind == TableKind::Requirements, "a payload is judged by no requirements")?;
        let binding_limit = &mut self.table_binding_limits[block.table.index()];
        *binding_limit = bindings.min(*binding_limit);
        let mut binding_count = block.lets.len() as u32;
        for (_, value) in &block.lets {
            limit_bindings(&mut self.value_binding_limits, *value, bindings);
        }
        for each in &block.each_blocks {
            limit_bindings(&mut self.value_binding_limits, each.list, bindings);
            each.condition
                .iter()
                .for_each(|when| limit_bindings(&mut self.value_binding_limits, *when, bindings));
            each.place.iter().for_each(|place| self.verify_path(place, bindings));
            binding_count =
                binding_count.saturating_add(2).saturating_add(self.verify_block(&each.block, bindings)?);
        }
        Ok(binding_count)
    }

    fn verify_path(&mut self, path: &ObjectPath, bindings: u32) {
        let dotted = path.dotted.iter().flat_map(|dotted| &dotted.steps);
        for step in path.steps.iter().chain(dotted) {
            if let ObjectStep::At(value) = step {
                limit_bindings(&mut self.value_binding_limits, *value, bindings);
            }
        }
    }

    fn verify_rule(&self, rule: &Rule) -> Verified {
        let table = &self.program.tables[rule.table.index()];
        verify_outcome(self.program, table, &rule.outcome)?;
        let condition = rule.condition.unpack()?;
        let bindings = self.table_binding_limits[rule.table.index()];
        match &condition.kind {
            CondKind::Branch { conditions, .. } => {
                for GuardedCondition { presence_condition: usable, cond } in conditions {
                    check_guarantee(
                        is_presence_conjunction(usable),
                        "a branch tests for more than presence",
                    )?;
                    self.verify_expression(Part::Cond(usable), bindings, MAX_CONDITION_NODES)?;
                    self.verify_expression(Part::Cond(cond), bindings, MAX_CONDITION_NODES)?;
                }
                Ok(())
            }
            _ => self.verify_expression(Part::Cond(condition), bindings, MAX_CONDITION_NODES).map(drop),
        }
    }

    /// Verifies a whole condition or value, and returns its size. Fails if it has more than
    /// `max_nodes` nodes, is nested too deep, or has an invalid node. A node is invalid, for
    /// example, if it reads a binding (named value) whose id is not below `bindings`.
    fn verify_expression(
        &self,
        part: Part<'_>,
        bindings: u32,
        max_nodes: u64,
    ) -> Result<ExprSize, DecodeError> {
        let measure = ExprSize::new(part, &self.let_measures);
        // A value may be twice as deep as a condition: it may have the maximum depth, and at its
        // deepest node use a definition of the maximum depth.
        check_guarantee(
            measure.node_count <= max_nodes && measure.depth <= 2 * MAX_CONDITION_DEPTH,
            "a condition is too large",
        )?;
        NodeVerifier { program: self.program, binding_limit: bindings, scope: Vec::new() }
            .verify_node(part)?;
        Ok(measure)
    }
}

/// A traversal that verifies each node of a condition or value.
struct NodeVerifier<'p> {
    program: &'p Program,
    binding_limit: u32,
    /// The variables of the enclosing quantifiers, which the node may read.
    scope: Vec<VarId>,
}

impl NodeVerifier<'_> {
    fn verify_node(&mut self, part: Part<'_>) -> Verified {
        let var = match part {
            Part::Cond(cond) => self.verify_cond(cond)?,
            Part::Expr(expr) => self.verify_expr(expr)?,
            Part::Let(_) => None,
        };
        let mut parts = part.parts().into_iter();
        if let Some(var) = var {
            // The list is outside the scope of the variable.
            parts.next().map_or(Ok(()), |list| self.verify_node(list))?;
            self.scope.push(var.id);
        }
        parts.try_for_each(|part| self.verify_node(part))?;
        if var.is_some() {
            self.scope.pop();
        }
        Ok(())
    }

    /// Verifies one condition node; the caller verifies its children. Returns the quantifier
    /// variable that the node introduces, if any.
    fn verify_cond<'c>(&self, cond: &'c Cond) -> Result<Option<&'c Var>, DecodeError> {
        match &cond.kind {
            CondKind::Predicate(test) => {
                check_guarantee(is_valid_test(test), "a test does not fit its operator")?
            }
            CondKind::Branch { .. } => return Err(DecodeError("a branch is within a condition")),
            CondKind::Quantifier { var, .. } => return Ok(Some(var)),
            _ => {}
        }
        Ok(None)
    }

    /// Verifies one value node; the caller verifies its children. Returns the quantifier variable
    /// that the node introduces, if any.
    fn verify_expr<'c>(&self, expr: &'c Expr) -> Result<Option<&'c Var>, DecodeError> {
        let is_valid = match &expr.kind {
            ExprKind::Slot(id) => {
                let root = &self.program.slots[id.index()].root;
                root.as_ref().is_none_or(|root| {
                    root.id.0 < self.binding_limit || (root.is_history() && self.program.history.is_some())
                })
            }
            ExprKind::Var(id) => self.scope.contains(id),
            ExprKind::Param(_) => false,
            ExprKind::Op(op, _, right) => {
                let OpInfo { implementation, fixity, .. } = op.info();
                matches!(implementation, Implementation::Value(_))
                    && right.is_some() == (*fixity == Fixity::Infix)
            }
            ExprKind::Call(function, args) => function.info().accepts_argument_count(args.len()),
            ExprKind::Extern(id, args) => args.len() == self.program.externs[id.index()].params.len(),
            ExprKind::Fold { var, .. } => return Ok(Some(var)),
            _ => true,
        };
        check_guarantee(is_valid, "a value is computed of what does not fit").map(|()| None)
    }
}

/// True if the operands and modifiers of a predicate are valid for its operator.
fn is_valid_test(test: &Predicate) -> bool {
    let Some(op) = test.op else { return matches!(test.right, Operand::Nothing) };
    let OpInfo { implementation, fixity, accepted_modifiers: accepts, search, .. } = op.info();
    let TestMode { whole_word: word, quantity, text } = test.mode;
    matches!(implementation, Implementation::Predicate(_))
        && match &test.right {
            Operand::Nothing => *fixity == Fixity::Postfix,
            Operand::Value(_) => *fixity == Fixity::Infix,
            Operand::Range { .. } => op == Op::In,
        }
        && (!word || accepts.accepts_word)
        && (quantity.is_none() || accepts.accepts_quantity)
        && (text.is_plain() || accepts.accepts_case)
        && (text.folds_case || !text.folds_fully)
        && (text.maps_single_chars() || search.is_none_or(|search| search.prepares_texts()))
}

/// True for an `and` of `is present` predicates, which is never unknown. Each condition of a branch
/// has such an `and`, which decides whether the condition is used or skipped.
fn is_presence_conjunction(cond: &Cond) -> bool {
    let is_presence_test =
        |part: &Cond| matches!(&part.kind, CondKind::Predicate(test) if test.op == Some(Op::IsPresent));
    matches!(&cond.kind, CondKind::And(parts) if parts.iter().all(is_presence_test))
}

/// Verifies that a rule of this table may have this outcome.
fn verify_outcome(program: &Program, table: &Table, outcome: &Outcome) -> Verified {
    let is_allowed = match (outcome, table.kind) {
        (Outcome::Goto(to), TableKind::Routes) => program.tables[to.index()].kind == TableKind::Routes,
        (Outcome::Handler { .. }, TableKind::Routes | TableKind::Requirements) => true,
        (Outcome::Branch { .. }, TableKind::Choice) => true,
        (Outcome::Flow { .. }, TableKind::Flows) => true,
        (Outcome::Next { .. }, TableKind::Router) => true,
        _ => false,
    };
    check_guarantee(is_allowed, "a rule leads where its table does not")
}

/// Calls `visit` with each value of an outcome.
fn for_each_value(outcome: &Outcome, mut visit: impl FnMut(ValueId)) {
    match outcome {
        Outcome::Handler { args, .. } => args.iter().for_each(|argument| visit(argument.value)),
        Outcome::Next { destinations, next, .. } => {
            visit(*next);
            for destination in destinations {
                if let Destination::Named(value) = destination {
                    visit(*value);
                }
            }
        }
        Outcome::Goto(_) | Outcome::Branch { .. } | Outcome::Flow { .. } => {}
    }
}

/// Reduces the limit of a value: it may then read only bindings (named values) with ids below
/// `bindings`. `values` are the limits of all values. A limit that is already lower stays, so a
/// value that is used in several places gets the lowest limit.
fn limit_bindings(values: &mut [u32], value: ValueId, bindings: u32) {
    let binding_limit = &mut values[value.index()];
    *binding_limit = bindings.min(*binding_limit);
}

/// Verifies that no field is declared twice. The message reader finds missing fields by counting
/// the required fields, which needs distinct names.
fn verify_distinct_fields(record: &RecordType) -> Verified {
    let mut names = HashSet::new();
    check_guarantee(
        record.fields.iter().all(|field| names.insert(&field.name)),
        "a field is declared twice",
    )?;
    record.fields.iter().filter_map(|field| field.ty.fields()).try_for_each(verify_distinct_fields)
}
