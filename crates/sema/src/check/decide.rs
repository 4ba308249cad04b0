//! Lowers choices and routers to tables of rules. A `choice` selects one of its branches; a
//! `router` selects the next nodes of a workflow. Some functions here are also used to lower flows.

use super::constant::build_constant;
use super::{AlreadyReported, Checked, Checker};
use crate::hir::{
    ANSWERS_FIELD, Cond, CondKind, Destination, Expr, ExprKind, GuardedCondition, NEXT_FIELD, OUTPUT_FIELD,
    Operand, Outcome, Part, Predicate, Question, Rule, RuleId, STEPS_FIELD, Table, TableId, TableKind,
};
use crate::resolve::duplicate_error;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::ast::{self, Branch, Choice, Ident, Literal, Router, Statement, StatementKind};
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Checks every choice and router of the main file and its imports, and adds their tables to
    /// the program.
    pub(super) fn lower_choices_and_routers(&mut self) {
        for statement in self.statements() {
            match &statement.kind {
                StatementKind::Choice(choice) => self.lower_choice(choice, statement),
                StatementKind::Router(router) => self.lower_router(router, statement),
                _ => {}
            }
        }
    }

    /// Adds an empty table of rules for a statement such as a `choice`, and returns its id. `docs`
    /// is the statement's doc comment. If the name is already used or reserved, reports an error
    /// but still adds the table.
    pub(super) fn new_table(&mut self, kind: TableKind, name: &str, span: Span, docs: &str) -> TableId {
        let existing_span = self.entry_tables.get(name).and_then(|id| self.program.tables[id.index()].span);
        if let Some(first) = existing_span {
            self.diagnostics.push(duplicate_error(message!("entry"), name, first, span));
        } else if matches!(name, crate::hir::ROUTES_TABLE | "none" | "default") {
            let message = message!("a table, choice or router cannot be named `{name}`");
            let help = message!("this word has its own meaning in decisions and tests; choose another name");
            self.emit(Code::ReservedTableName, span, message, help);
        }
        self.push_table(kind, name, Some(span), docs)
    }

    pub(super) fn push_table(
        &mut self,
        kind: TableKind,
        name: &str,
        span: Option<Span>,
        docs: &str,
    ) -> TableId {
        self.fields.begin_statement();
        let id = TableId(self.program.tables.len() as u32);
        let (name, docs): (Arc<str>, _) = (name.into(), docs.into());
        // A table of requirements is not an entry point: no decision starts with it.
        if kind != TableKind::Requirements {
            self.entry_tables.entry(name.clone()).or_insert(id);
        }
        self.program.tables.push(Table {
            name,
            kind,
            evaluation_order: Vec::new(),
            default: None,
            is_shown_to_user: false,
            span,
            docs,
        });
        id
    }

    pub(super) fn add_rule(
        &mut self,
        table: TableId,
        name: impl Into<Arc<str>>,
        condition: Cond,
        outcome: Outcome,
        span: Span,
    ) -> RuleId {
        let id = RuleId(self.program.rules.len() as u32);
        self.program.rules.push(Rule {
            name: name.into(),
            table,
            priority: 0,
            is_disabled: false,
            condition: condition.into(),
            outcome,
            span,
            docs: Arc::default(),
        });
        id
    }

    fn lower_choice(&mut self, choice: &'a Choice, statement: &'a Statement) {
        let first_duplicate = self.diagnostics.len();
        self.without_duplicates(message!("branch"), &choice.branches, |branch| &branch.id);
        for duplicate in &mut self.diagnostics[first_duplicate..] {
            let id = duplicate.span().map_or("ID", |span| self.loaded.sources.slice(span));
            let help = message!(
                "a branch with several conditions, of which one is enough, is written `branch {id} any {{ …; … }}`; \
                otherwise rename one of the two",
                id = id.to_owned()
            );
            *duplicate = duplicate.clone().help(help);
        }
        let name = &choice.name;
        let table = self.new_table(TableKind::Choice, &name.node, name.span, &statement.docs);
        self.program.tables[table.index()].is_shown_to_user = choice.is_shown_to_user;
        if let Some(question) = &choice.question {
            return self.lower_question(choice, question, table);
        }
        self.warn_branches_hidden_by_default(choice);
        self.is_in_choice = true;
        self.fields.implicit_field = Some(STEPS_FIELD);
        let has_default = choice.branches.iter().any(|branch| branch.default_span.is_some());
        for branch in choice.branches.iter().rev() {
            match self.lower_branch(branch, has_default) {
                Ok(Some((condition, default))) => {
                    let outcome = Outcome::Branch { default };
                    self.add_rule(table, branch.id.node.as_str(), condition, outcome, branch.span);
                }
                Ok(None) => {}
                Err(AlreadyReported) => {
                    self.failed_routes.insert(&branch.id.node);
                }
            }
        }
        self.is_in_choice = false;
        self.fields.implicit_field = None;
    }

    /// Returns the condition of a branch, and true if the branch is the default, whose condition is
    /// always true. `None` if the branch can never be chosen, so that the table needs no rule for
    /// it. `has_default` is true if some branch of the choice is the default.
    fn lower_branch(&mut self, branch: &'a Branch, has_default: bool) -> Checked<Option<(Cond, bool)>> {
        if let Some(meaning) = &branch.meaning {
            let message = message!("this branch has a meaning instead of conditions");
            let help = message!(
                "only a choice that asks a model has meanings: `choice NAME ask \"question\" {{ … }}`; \
                otherwise write conditions in braces"
            );
            return self.fail(Code::BranchForm, meaning.span, message, help);
        }
        let conditions = branch.conditions.as_deref().unwrap_or(&[]);
        if branch.default_span.is_some() {
            if let [first, .., last] | [first @ last] = conditions {
                let help = message!(
                    "a default branch answers at its own position, whatever its conditions are; remove the \
                    conditions, or the word `default`"
                );
                let conditions_span = first.span.to(last.span);
                return self.fail(
                    Code::BranchForm,
                    conditions_span,
                    message!("a default branch cannot have conditions"),
                    help,
                );
            }
            return Ok(Some((build_always_true_condition(branch.span), true)));
        }
        if conditions.is_empty() {
            let message = message!("the branch `{}` has no condition and is never chosen", branch.id.node);
            let help = match has_default {
                true => message!("give the branch a condition in braces, or remove the branch"),
                false => {
                    message!("give it a condition in braces, or make it the default: `default branch …`")
                }
            };
            self.emit(Code::BranchNeverChosen, branch.span, message, help);
            return Ok(None);
        }
        let conditions = self.with_locals(&branch.locals, |this| this.check_conds(conditions))?;
        self.warn_branch_conditions(&conditions, branch.span.file);
        let conditions = conditions
            .into_iter()
            .map(|cond| GuardedCondition { presence_condition: build_values_present_condition(&cond), cond })
            .collect();
        let kind = CondKind::Branch { requires_all: !branch.requires_any, conditions };
        let condition = Cond { kind, span: branch.span };
        self.measure_within_limits(Part::Cond(&condition), branch.span)?;
        Ok(Some((condition, false)))
    }

    /// Reports branches that are never reached because of a default branch. Branches are tried from
    /// the last to the first, so a default hides every branch written before it.
    fn warn_branches_hidden_by_default(&mut self, choice: &Choice) {
        let Some(last) = choice.branches.iter().rposition(|branch| branch.default_span.is_some()) else {
            return;
        };
        let (hidden, default) = (&choice.branches[..last], &choice.branches[last]);
        let (Some(first), Some(default_word)) = (hidden.first(), default.default_span) else { return };
        let names: Vec<String> = hidden.iter().map(|branch| format!("`{}`", branch.id.node)).collect();
        let message = message!("the default hides {}", names.join(", "));
        let hidden_and_default = first.span.to(default.span);
        let mut diagnostic = Diagnostic::new(Code::DefaultHides, default_word.to(default.id.span), message)
            .label(first.span, message!("never reached"))
            .help(message!(
                "branches are tried from the last to the first, and a default branch answers at \
                its own position: write it first"
            ));
        if hidden.iter().all(|branch| branch.default_span.is_none()) {
            let hidden_text =
                self.loaded.sources.slice(Span { end: default.span.start, ..hidden_and_default });
            let reordered =
                format!("{}\n  {}", self.loaded.sources.slice(default.span), hidden_text.trim_end());
            diagnostic = diagnostic.likely_fix(hidden_and_default, reordered);
        }
        self.diagnostics.push(diagnostic);
    }

    /// Lowers a choice that a language model makes (`ask`). Each rule of its table compares the
    /// model's answer with the id of a branch. If no id is equal, the default is chosen, whatever
    /// its position.
    fn lower_question(&mut self, choice: &Choice, question: &Spanned<String>, table: TableId) {
        let mut branches = Vec::new();
        let mut default: Option<&Branch> = None;
        for branch in &choice.branches {
            if let Some(conditions) = &branch.conditions {
                let first_span = conditions.first().map_or(branch.span, |first| first.span);
                let message = message!("a choice made by a model cannot have conditions");
                let help = message!(
                    "write the meaning of the branch instead: `branch refund \"the customer wants money \
                    back\"`"
                );
                self.emit(Code::BranchForm, first_span, message, help);
            }
            if let Some(word) = branch.default_span {
                if let Some(first) = default {
                    self.diagnostics.push(
                        Diagnostic::new(
                            Code::BranchForm,
                            word,
                            message!("there is already a default branch"),
                        )
                        .label(first.span, message!("the first one"))
                        .help(message!(
                            "keep one: the default branch is chosen when the model gives no usable answer"
                        )),
                    );
                }
                default = Some(branch);
            }
            let branch_meaning =
                branch.meaning.as_ref().map_or("", |branch_meaning| branch_meaning.node.as_str());
            branches.push((branch.id.node.as_str().into(), branch_meaning.into()));
        }
        let name = &choice.name;
        let Some(default) = default else {
            let message = message!("a choice made by a model needs a default branch");
            let help =
                message!("add `default branch ID`: it is chosen when the model gives no usable answer");
            return self.emit(Code::BranchForm, name.span, message, help);
        };
        let slot =
            self.fields.intern_slot(None, &[ANSWERS_FIELD, name.node.as_str()], KindSet::STRING, false);
        for branch in choice.branches.iter().filter(|branch| branch.default_span.is_none()) {
            let span = branch.id.span;
            let answer = Expr { kind: ExprKind::Slot(slot), ty: Ty::STRING, may_be_missing: true, span };
            let id = build_constant(branch.id.node.as_str().into(), span);
            let condition = Predicate::without_modifiers(Op::Eq, answer, Operand::Value(id)).into_cond(span);
            let outcome = Outcome::Branch { default: false };
            self.add_rule(table, branch.id.node.as_str(), condition, outcome, branch.span);
        }
        let outcome = Outcome::Branch { default: true };
        self.add_rule(
            table,
            default.id.node.as_str(),
            build_always_true_condition(default.span),
            outcome,
            default.span,
        );
        self.program.questions.push(Question {
            name: name.node.as_str().into(),
            text: question.node.as_str().into(),
            branch_descriptions: branches,
            default: default.id.node.as_str().into(),
            span: name.span,
        });
    }

    fn lower_router(&mut self, router: &'a Router, statement: &'a Statement) {
        let name = &router.name;
        let table = self.new_table(TableKind::Router, &name.node, name.span, &statement.docs);
        self.output_alias = Some((router.output_param.node.as_str(), OUTPUT_FIELD));
        self.fields.implicit_field = Some(OUTPUT_FIELD);
        let slot = self.fields.intern_slot(None, &[NEXT_FIELD], KindSet::LIST, false);
        let (kind, ty) = (ExprKind::Slot(slot), Ty::list(Ty::STRING));
        let next = self.add_value(Expr { kind, ty, may_be_missing: true, span: name.span });
        for (index, case) in router.cases.iter().enumerate() {
            let checked = self.with_locals(&case.locals, |this| {
                let condition = match &case.condition {
                    Some(condition) => this.check_rule_cond(condition),
                    None => Ok(build_always_true_condition(case.span)),
                };
                let destinations: Checked<Vec<Destination>> = case
                    .destinations
                    .iter()
                    .map(|destination| this.lower_destination(destination, &router.output_param))
                    .collect();
                Ok((condition?, destinations?))
            });
            if let Ok((condition, destinations)) = checked {
                let rule = match case.condition {
                    Some(_) => format!("when {}", index + 1),
                    None => "otherwise".to_owned(),
                };
                let outcome = Outcome::Next { destinations, next, leads_back: case.loopback_span.is_some() };
                self.add_rule(table, rule, condition, outcome, case.span);
            }
        }
        if router.cases.iter().all(|case| case.condition.is_some()) {
            let outcome = Outcome::Next { destinations: vec![Destination::All], next, leads_back: false };
            self.add_rule(table, "otherwise", build_always_true_condition(name.span), outcome, name.span);
        }
        self.output_alias = None;
        let other_outputs = std::mem::take(&mut self.other_output_warnings);
        if !std::mem::take(&mut self.reads_output) {
            self.diagnostics.extend(other_outputs);
        }
        self.fields.implicit_field = None;
    }

    fn lower_destination(&mut self, expr: &'a ast::Expr, param: &Ident) -> Checked<Destination> {
        let report_destination = |this: &mut Self, message: Message| {
            let help = message!(
                "write `next` for every next node, `next[0]` for the first, a node's id, or `{}.FIELD` if a \
                field of the output names the nodes",
                param.node
            );
            this.fail(Code::BadDestination, expr.span, message, help)
        };
        match &expr.kind {
            ast::ExprKind::Name(name) if name == NEXT_FIELD => Ok(Destination::All),
            ast::ExprKind::Name(name) if *name != param.node => Ok(Destination::Node(name.as_str().into())),
            ast::ExprKind::Literal(Literal::String(id)) if !id.trim().is_empty() => {
                Ok(Destination::Node(id.as_str().into()))
            }
            ast::ExprKind::Index(base, index) if matches!(&base.kind, ast::ExprKind::Name(name) if name == NEXT_FIELD) =>
            {
                let index = match &index.kind {
                    ast::ExprKind::Literal(Literal::Int(index)) => *index,
                    _ => i64::MIN,
                };
                match u32::try_from(index).ok() {
                    Some(index) => Ok(Destination::At(index)),
                    None if (-9..0).contains(&index) => self.report_index_from_end(index, expr.span),
                    None => report_destination(
                        self,
                        message!("the index of a next node is a whole number, from 0"),
                    ),
                }
            }
            ast::ExprKind::Call(name, args) if name.node == NEXT_FIELD && args.len() == 1 => {
                let written = format!("next[{}]", self.loaded.sources.slice(args[0].value.span));
                let message = message!("a next node is written in brackets");
                let diagnostic = Diagnostic::new(Code::BadDestination, expr.span, message);
                self.report(diagnostic.help(message!("write `{written}`")).likely_fix(expr.span, written))
            }
            ast::ExprKind::Field(..) | ast::ExprKind::Index(..) => {
                let value = self.check_value(expr)?;
                if !value.ty.kinds.overlaps(KindSet::STRING.union(KindSet::LIST)) {
                    return report_destination(
                        self,
                        message!("{} cannot name a node", value.ty.with_article()),
                    );
                }
                Ok(Destination::Named(self.add_value(value)))
            }
            _ => match self.next_nodes_with_commas(expr) {
                Some(written) => {
                    let message = message!("several next nodes are separated by `,`, without brackets");
                    let diagnostic = Diagnostic::new(Code::BadDestination, expr.span, message);
                    let help = message!("write `-> {written}`", written = written.clone());
                    self.report(diagnostic.help(help).likely_fix(expr.span, written))
                }
                None => report_destination(self, message!("this is not a next node")),
            },
        }
    }
}

impl Checker<'_> {
    /// Returns the next nodes of a list, or of a condition such as `adopt and minutes`, with commas
    /// between them. `None` for other expressions.
    fn next_nodes_with_commas(&self, expr: &ast::Expr) -> Option<String> {
        let parts: Vec<&ast::Expr> = match &expr.kind {
            ast::ExprKind::List(items) => items.iter().collect(),
            ast::ExprKind::Logic(_, parts) => parts.iter().collect(),
            _ => return None,
        };
        let is_node = |part: &&&ast::Expr| match &part.kind {
            ast::ExprKind::Index(base, _) => {
                matches!(&base.kind, ast::ExprKind::Name(name) if name == NEXT_FIELD)
            }
            ast::ExprKind::Name(_) | ast::ExprKind::Literal(Literal::String(_)) => true,
            _ => false,
        };
        let is_whole = !parts.is_empty() && parts.iter().filter(is_node).count() == parts.len();
        let written = parts.iter().map(|part| self.loaded.sources.slice(part.span));
        is_whole.then(|| written.collect::<Vec<_>>().join(", "))
    }
}

/// Builds a condition that is always true, for default branches; `span` is its source.
pub(super) fn build_always_true_condition(span: Span) -> Cond {
    Cond { kind: CondKind::Const(true), span }
}

/// Builds the condition that `cond` is usable: all values that `cond` reads are present. The
/// operands of `is present`, `is missing` and `unless` may be missing. For `a ?? b` and `if`, only
/// the result must be present. A condition of a `let` must not be unknown.
fn build_values_present_condition(cond: &Cond) -> Cond {
    let mut reads = Vec::new();
    collect_values_read(Part::Cond(cond), &mut reads);
    let tests = reads.into_iter().map(|value| {
        let span = value.span;
        Predicate::without_modifiers(Op::IsPresent, value, Operand::Nothing).into_cond(span)
    });
    Cond { kind: CondKind::And(tests.collect()), span: cond.span }
}

fn collect_values_read(part: Part<'_>, reads: &mut Vec<Expr>) {
    match part {
        Part::Cond(Cond { kind, span }) => match kind {
            CondKind::Predicate(test) if matches!(test.op, Some(Op::IsMissing | Op::IsPresent)) => return,
            // An `unless` exception may read missing values, because a missing value only makes it
            // inapplicable.
            CondKind::NotTrue(_) => return,
            CondKind::Quantifier { list, .. } => return collect_values_read(Part::Expr(list), reads),
            // A `let` condition must be true or false as a whole, not unknown.
            CondKind::Let(id) => {
                let kind = ExprKind::Let(*id);
                return reads.push(Expr { kind, ty: Ty::BOOL, may_be_missing: true, span: *span });
            }
            _ => {}
        },
        Part::Expr(expr) => match &expr.kind {
            ExprKind::Op(Op::Coalesce, ..) | ExprKind::If { .. } => return reads.push(expr.clone()),
            ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Param(_) | ExprKind::Op(..) => {}
            ExprKind::List(_) | ExprKind::Call(..) | ExprKind::Extern(..) | ExprKind::Cond(_) => {}
            ExprKind::Fold { list, .. } => return collect_values_read(Part::Expr(list), reads),
            _ => return reads.push(expr.clone()),
        },
        Part::Let(_) => {}
    }
    part.parts().into_iter().for_each(|part| collect_values_read(part, reads));
}
