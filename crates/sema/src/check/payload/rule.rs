//! Lowers the rules of a payload: `require`, `forbid` and `compiles`, with the correction that a
//! rule suggests for a violation.

use super::{ItemSite, ViolationReport, is_present_condition, negate};
use crate::check::{AlreadyReported, Checked, Checker};
use crate::hir::{self, Expr, ExprKind, ObjectPath};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::ast::{self, RuleTest, ViolationNotice};
use std::collections::HashMap;

impl<'a> Checker<'a> {
    /// Reports a rule with the same name and path as an earlier rule. `rules` maps names and paths
    /// of the earlier rules to spans; the rule is added.
    pub(super) fn report_duplicate_rule(
        &mut self,
        rule: &'a ast::RuleItem,
        rules: &mut HashMap<(&'a str, &'a str), Span>,
    ) {
        let sources = &self.loaded.sources;
        let path_text = rule.violation_path.as_ref().map_or("", |place| sources.slice(place.path.span));
        let no_path_span = Span { end: rule.id.span.start, ..rule.id.span };
        let path_span = rule.violation_path.as_ref().map_or(no_path_span, |place| place.path.span);
        if let Some(first) = rules.insert((&rule.id.node, path_text), path_span) {
            let message = message!("the rule `{}` appears twice for the same path", rule.id.node);
            let mut diagnostic = Diagnostic::new(Code::DuplicateRule, rule.id.span, message);
            if first.start != first.end {
                diagnostic = diagnostic.label(first, message!("the first rule reports here"));
            }
            self.diagnostics.push(
                diagnostic.help(message!("join both conditions with `and`, or rename one of the rules")),
            );
        }
    }

    /// Lowers a rule such as `require "id" at PATH when COND: COND`, or a rule with `forbid` or
    /// `compiles`.
    pub(super) fn lower_rule(&mut self, rule: &'a ast::RuleItem, site: &ItemSite) -> Checked<()> {
        self.pending_type_tests.clear();
        let guard = rule.guard.as_ref().map(|guard| self.check_cond(guard)).transpose();
        let checked_expr = match &rule.test {
            RuleTest::Require(condition) | RuleTest::Forbid(condition) => Some(condition),
            RuleTest::Compiles => rule.violation_path.as_ref().map(|place| &place.path),
        };
        let span = checked_expr.map_or(rule.id.span, |checked_expr| checked_expr.span);
        let condition = match (&rule.test, checked_expr) {
            (RuleTest::Require(condition), _) => {
                let checked = self.check_cond(condition);
                checked.inspect(|condition| self.warn_declared_values(rule, condition)).map(negate)
            }
            (RuleTest::Forbid(condition), _) => {
                self.is_in_forbid = true;
                let checked = self.check_cond(condition);
                self.is_in_forbid = false;
                checked.inspect(|condition| self.warn_declared_values(rule, condition))
            }
            // The text is compiled when the payload is validated, so the rule only tests for a
            // text.
            (RuleTest::Compiles, Some(path)) => self.check_value(path).map(|text| {
                let kind = ExprKind::Read(Box::new(text), KindSet::STRING);
                is_present_condition(&Expr { kind, ty: Ty::STRING, may_be_missing: true, span }, span)
            }),
            (RuleTest::Compiles, None) => Err(AlreadyReported),
        };
        let mut parts = std::mem::take(&mut self.pending_type_tests);
        let place = rule
            .violation_path
            .as_ref()
            .map_or_else(|| Ok(site.place.clone()), |place| self.lower_object_path(place));
        let correction = self.lower_correction(&rule.notice);
        let (guard, condition, place, correction) = (guard?, condition?, place?, correction?);
        self.report_correction_of_whole(rule, &place, site);
        parts.extend(guard);
        parts.push(condition);
        let violation = ViolationReport {
            place,
            span,
            message: match rule.test {
                RuleTest::Require(_) => message!("this must hold: {}", self.source_on_one_line(span)),
                RuleTest::Forbid(_) => message!("this must not hold: {}", self.source_on_one_line(span)),
                RuleTest::Compiles => message!("this must be a condition"),
            },
            repair: Message::default(),
            shows_value: false,
            correction,
            notice: &rule.notice,
            is_only_corrected: false,
            is_from_field: false,
        };
        self.add_requirement(&rule.id.node, parts, violation, site)?;
        if let (RuleTest::Compiles, Some(last)) = (&rule.test, self.program.requirements.last_mut()) {
            last.must_compile = true;
        }
        Ok(())
    }

    /// Reports a correction whose path is the payload itself, which no run can replace or remove.
    fn report_correction_of_whole(&mut self, rule: &'a ast::RuleItem, place: &ObjectPath, site: &ItemSite) {
        let Some(correction) = &rule.notice.correction else { return };
        let payload = self.scope.get("payload").and_then(|binding| binding.place.as_ref());
        let is_root = payload.is_some_and(|payload| payload.root == place.root && payload.steps.is_empty());
        let is_whole = is_root && place.steps.is_empty() && !site.may_be_non_object;
        // Under the id after `include … as`, and as a warning, a rule corrects nothing.
        let is_used = site.reported_id.is_none() && !rule.notice.is_warning;
        // A group that several payloads include is lowered several times.
        if !is_whole || !is_used || self.is_reported_at(Code::CorrectsWhole, correction.span) {
            return;
        }
        let word = match &correction.node {
            ast::Correction::Default(_) => "default",
            ast::Correction::Clamp(_) => "clamp",
            ast::Correction::Remove => "remove",
        };
        let message = message!("`{word}` has no field to correct: without `at`, a rule is about the payload");
        let diagnostic = Diagnostic::new(Code::CorrectsWhole, correction.span, message);
        let tested = match &rule.test {
            RuleTest::Require(condition) | RuleTest::Forbid(condition) => self.first_path_in(condition),
            RuleTest::Compiles => None,
        };
        let id = rule.id.span;
        self.diagnostics.push(match tested.filter(|_| rule.violation_path.is_none()) {
            Some(path) => {
                let written = format!("{} at {path}", self.loaded.sources.slice(id));
                let after_id = Span { start: id.end, ..id };
                diagnostic.help(message!("write `{written}`")).likely_fix(after_id, format!(" at {path}"))
            }
            None => diagnostic.help(message!("write the path of a field after `at`, as in `at items`")),
        });
    }

    /// Returns the source of the first field of the judged object that an expression reads. `None`
    /// if it reads none, except in a quantifier or a block.
    fn first_path_in(&mut self, expr: &'a ast::Expr) -> Option<&'a str> {
        use ast::ExprKind::{As, Binary, Call, Field, If, Index, Logic, Name, Presence, Unary};
        let path = matches!(&expr.kind, Name(_) | Field(..) | Index(..)).then(|| self.object_path_of(expr));
        if path.flatten().is_some_and(|path| !path.steps.is_empty()) {
            return Some(self.loaded.sources.slice(expr.span));
        }
        match &expr.kind {
            As(inner, _) | Unary(_, inner) | Presence { operand: inner, .. } => self.first_path_in(inner),
            Binary(binary) => self.first_path_in(&binary.left).or_else(|| self.first_path_in(&binary.right)),
            Logic(_, operands) => operands.iter().find_map(|operand| self.first_path_in(operand)),
            If(parts) => parts.iter().find_map(|part| self.first_path_in(part)),
            Call(_, args) => args.iter().find_map(|arg| self.first_path_in(&arg.value)),
            _ => None,
        }
    }

    pub(super) fn lower_correction(
        &mut self,
        notice: &'a ViolationNotice,
    ) -> Checked<Option<hir::Correction>> {
        let mut lower_value = |value_expr| self.check_value(value_expr).map(|value| self.add_value(value));
        let Some(correction) = &notice.correction else { return Ok(None) };
        Ok(Some(match &correction.node {
            ast::Correction::Default(value_expr) => hir::Correction::Default(lower_value(value_expr)?),
            ast::Correction::Clamp(value_expr) => hir::Correction::Clamp(lower_value(value_expr)?),
            ast::Correction::Remove => hir::Correction::Remove,
        }))
    }
}
