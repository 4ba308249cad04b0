//! The fields of `request`: each use of a field becomes a call of a built-in analysis function.

use super::super::fields::NarrowingReason;
use super::super::path::ConstantPath;
use super::super::read::wrap_in_typed_read;
use super::super::{AlreadyReported, Checked, Checker, join_names};
use super::{CONTEXT_SCORE, TEXT_FIELD};
use crate::check::read::UNDECLARED_KINDS;
use crate::hir::{self, Expr, ExprKind, ExternId, Term};
use crate::request::{
    AnalysisFeature, BEST_INTENT_FIELD, INTENT_FIELD, INTENT_SCORE_FIELD, REQUEST_FIELDS, REQUEST_ROOT,
    URGENCY_LEXICON,
};
use crate::resolve::Definition;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::ty::{Field, KindSet, Ty};
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Checks a path such as `request.intent` or `request.entities.order.id`, and lowers it to a
    /// call of an analysis function.
    pub fn check_request_path(&mut self, path: &ConstantPath<'_>, span: Span) -> Checked<Expr> {
        let Some((name, name_span)) = path.segment(1) else {
            let help = message!("its fields are {}", self.request_field_names(span).join(", "));
            return self.fail(Code::UnknownField, span, message!("`request` is not a value"), help);
        };
        let span_up_to = |index: usize| {
            path.segment(index).map_or(span, |(_, name_span)| path.segment_spans[0].0.to(name_span))
        };
        let (mut value, read_parts) = match name {
            "intent" => (self.check_intent_field(INTENT_FIELD, span_up_to(1))?, 2),
            "intent_score" => (self.check_intent_field(INTENT_SCORE_FIELD, span_up_to(1))?, 2),
            "entities" => (self.check_entity_value(path, span_up_to(2))?, 3),
            "keywords" => (
                self.build_analysis_call(
                    AnalysisFeature::Keywords,
                    REQUEST_ROOT,
                    name,
                    Ty::list(Ty::STRING),
                    span_up_to(1),
                )?,
                2,
            ),
            CONTEXT_SCORE => (self.check_context_score(span_up_to(1))?, 2),
            _ => (self.check_lexicon_score(name, name_span, span_up_to(1))?, 2),
        };
        for index in read_parts.. {
            let Some((name, name_span)) = path.segment(index) else { break };
            value = self.check_field(value, &Spanned::new(name.to_owned(), name_span), span_up_to(index))?;
        }
        Ok(value)
    }

    fn request_field_names(&self, use_span: Span) -> Vec<&'a str> {
        let lexicons = self.symbols.lexicons.iter();
        let visible_lexicons =
            lexicons.filter(|symbol| self.symbols.is_visible(use_span.file, symbol.name.span));
        let names =
            visible_lexicons.map(|symbol| symbol.name.node.as_str()).filter(|name| *name != URGENCY_LEXICON);
        REQUEST_FIELDS.into_iter().chain(names).collect()
    }

    /// Builds a call of the built-in function for `feature`, such as finding the intent. The
    /// function receives the text of the message. In explanations, the name of the function is
    /// `owner` and `name` with a dot between them, such as `request.intent`.
    fn build_analysis_call(
        &mut self,
        feature: AnalysisFeature,
        owner: &str,
        name: &str,
        ty: Ty,
        span: Span,
    ) -> Checked<Expr> {
        let text = self.check_analysed_text(span)?;
        let externs = &mut self.program.externs;
        let id = *self.analysis_state.externs.entry(feature).or_insert_with(|| {
            let params = vec![(TEXT_FIELD.into(), Ty::STRING)];
            let name = format!("{owner}.{name}").into();
            externs.push(hir::Extern { name, params, result: ty.clone(), feature: Some(feature), span });
            ExternId(externs.len() as u32 - 1)
        });
        let optional = text.may_be_missing || feature.may_find_nothing();
        Ok(Expr { kind: ExprKind::Extern(id, vec![text]), ty, may_be_missing: optional, span })
    }

    fn check_analysed_text(&mut self, span: Span) -> Checked<Expr> {
        let path = [Arc::from(TEXT_FIELD)];
        let text_field = self.fields.resolve_path(&path, span).ok();
        self.fields.record_use(&path, UNDECLARED_KINDS);
        if let Some(text_field) =
            text_field.as_ref().filter(|text_field| text_field.ty.kinds.overlaps(KindSet::STRING))
        {
            let reason = NarrowingReason::Fixed(message!("the text that `request` analyses"));
            self.fields.narrow_kinds(&path, KindSet::STRING, span, &reason);
            let slot = self.fields.intern_slot(None, &path, KindSet::STRING, text_field.is_private);
            let optional = text_field.is_optional || !text_field.ty.kinds.is_subset_of(KindSet::STRING);
            return Ok(Expr { kind: ExprKind::Slot(slot), ty: Ty::STRING, may_be_missing: optional, span });
        }
        if std::mem::replace(&mut self.analysis_state.has_reported_missing_text, true) {
            return Err(AlreadyReported);
        }
        let (diagnostic, help) = match (text_field, self.fields.declaration_span(&path)) {
            (Some(text_field), Some(declared)) => {
                let message = message!(
                    "`request` analyses `text`, which must be a string but is {}",
                    text_field.ty.with_article()
                );
                let label = message!("declared here");
                (
                    Diagnostic::new(Code::NoText, span, message).label(declared, label),
                    message!("change the type of `text` to `string`"),
                )
            }
            _ => {
                let message = message!("`request` analyses `text`, which is not an input");
                (
                    Diagnostic::new(Code::NoText, span, message),
                    message!("declare it: `input {{ text: string }}`"),
                )
            }
        };
        self.report(diagnostic.help(help))
    }

    fn check_intent_field(&mut self, field: &str, span: Span) -> Checked<Expr> {
        if self.symbols.intents.is_empty() {
            return self.report_not_analysed(
                span,
                message!("no intent is declared"),
                message!(
                    "declare the intents that messages may have: `intent refund {{ examples [\"I want \
                    my money back\"] }}`"
                ),
            );
        }
        let record = build_optional_record_type([
            (INTENT_FIELD, Ty::STRING),
            (BEST_INTENT_FIELD, Ty::STRING),
            (INTENT_SCORE_FIELD, Ty::FLOAT),
        ]);
        let base =
            self.build_analysis_call(AnalysisFeature::Intent, REQUEST_ROOT, INTENT_FIELD, record, span)?;
        self.check_field(base, &Spanned::new(field.to_owned(), span), span)
    }

    fn check_entity_value(&mut self, path: &ConstantPath<'_>, span: Span) -> Checked<Expr> {
        let entities = &self.symbols.entities;
        if entities.is_empty() {
            return self.report_not_analysed(
                span,
                message!("no entity is declared"),
                message!("declare the entities to look for: `entity order matches r\"order (?<id>[0-9]+)\"`"),
            );
        }
        let Some((name, name_span)) = path.segment(2) else {
            let help = message!("use one of these: {}", join_names(entities.names()));
            return self.fail(Code::UnknownField, span, message!("`request.entities` is not a value"), help);
        };
        let symbol = self.symbols.entities.get(name);
        match symbol.filter(|symbol| self.symbols.is_visible(span.file, symbol.name.span)) {
            Some(symbol) if self.analysis_state.broken_entities.contains(symbol.name.node.as_str()) => {
                Err(AlreadyReported)
            }
            Some(symbol) => {
                let index = self.symbols.entities.position(&symbol.name.node).unwrap_or_default();
                let fields = &self.program.analysis.entities[index].fields;
                let ty = build_optional_record_type(fields.iter().map(|field| (&**field, Ty::STRING)));
                self.build_analysis_call(AnalysisFeature::Entity(index), "request.entities", name, ty, span)
            }
            None => {
                let names: Vec<&'a str> = entities.names().collect();
                self.report_unknown_part(
                    name,
                    name_span,
                    UnknownPartOwner::Entities,
                    &names,
                    symbol.map(|s| s.name.span),
                )
            }
        }
    }

    fn check_lexicon_score(&mut self, name: &str, name_span: Span, span: Span) -> Checked<Expr> {
        // Lexicons are in the order of their symbols; the built-in one is the last.
        let lexicons = &self.program.analysis.lexicons;
        let built_in = || lexicons.last().filter(|last| *last.name == *name).map(|_| lexicons.len() - 1);
        let index = self.symbols.lexicons.position(name).or_else(built_in);
        let declared = self.symbols.lexicons.get(name).map(|symbol| symbol.name.span);
        match index.filter(|_| {
            declared.is_none_or(|declared_span| self.symbols.is_visible(span.file, declared_span))
        }) {
            Some(index) => {
                self.build_analysis_call(AnalysisFeature::Lexicon(index), REQUEST_ROOT, name, Ty::FLOAT, span)
            }
            None => {
                let names = self.request_field_names(span);
                self.report_unknown_part(name, name_span, UnknownPartOwner::Request, &names, declared)
            }
        }
    }

    fn report_unknown_part<T>(
        &mut self,
        name: &str,
        name_span: Span,
        owner: UnknownPartOwner,
        names: &[&str],
        hidden: Option<Span>,
    ) -> Checked<T> {
        let what = match owner {
            UnknownPartOwner::Request => message!("`request` has no field"),
            UnknownPartOwner::Entities => message!("there is no entity"),
        };
        let diagnostic = Diagnostic::new(Code::UnknownField, name_span, message!("{what} `{name}`"));
        let diagnostic = match (hidden, self.nearest(name, names.iter().copied()), owner) {
            (Some(hidden), ..) => diagnostic
                .label(hidden, message!("declared in a file that is not imported here"))
                .help(message!("import that file, or move the statement into a file that both import")),
            (None, Some(near), _) => diagnostic.did_you_mean(name_span, Some(near)),
            (None, None, UnknownPartOwner::Entities) => {
                diagnostic.help(message!("the entities are {}", join_names(names.iter().copied())))
            }
            (None, None, UnknownPartOwner::Request) => diagnostic.help(message!(
                "`request` is the analysis of the message's text and has the fields {}; to read a field \
                `request` of the message, declare it in `input`",
                join_names(names.iter().copied())
            )),
        };
        self.report_unknown(name, diagnostic)
    }

    /// Checks `request.context_score`, which the author defines with `let context_score`.
    fn check_context_score(&mut self, span: Span) -> Checked<Expr> {
        let symbol = self.symbols.definition(span.file, CONTEXT_SCORE);
        let Some(symbol) = symbol.filter(|symbol| matches!(symbol.declaration, Definition::Let { .. }))
        else {
            return self.report_not_analysed(
                span,
                message!("no `let context_score` defines the score"),
                message!("define it: `let context_score = min(ctx.message_count / 10, 1)`"),
            );
        };
        let declared = symbol.name.span;
        match self.resolve_name(CONTEXT_SCORE, span)? {
            Term::Expr(value) if value.ty.kinds.overlaps(KindSet::NUMBER) => {
                self.narrow_field(
                    &value,
                    KindSet::NUMBER,
                    &NarrowingReason::Fixed(message!("a number, the context score")),
                );
                Ok(wrap_in_typed_read(value, &Ty::NUMBER))
            }
            other => {
                let what = match other {
                    Term::Cond(_) => message!("a condition"),
                    Term::Expr(value) => value.ty.with_article(),
                };
                let message = message!("the context score must be a number, but this is {what}");
                self.report(
                    Diagnostic::new(Code::ContextScore, declared, message)
                        .label(span, message!("used here"))
                        .help(message!("define it as a number, as in `min(ctx.message_count / 10, 1)`")),
                )
            }
        }
    }

    fn report_not_analysed<T>(&mut self, span: Span, message: Message, help: Message) -> Checked<T> {
        // The declaration may be one of the statements with errors.
        if self.symbols.has_broken_names() {
            return Err(AlreadyReported);
        }
        self.report(Diagnostic::new(Code::NotAnalysed, span, message).here(message!("used here")).help(help))
    }
}

/// The record that lacks the unknown name in a path: `request` or `request.entities`.
#[derive(Clone, Copy)]
enum UnknownPartOwner {
    Request,
    Entities,
}

/// Returns a record type with these fields, all of them optional.
fn build_optional_record_type<'f>(fields: impl IntoIterator<Item = (&'f str, Ty)>) -> Ty {
    let field =
        |(name, ty): (&str, Ty)| Field { name: name.into(), ty, is_optional: true, is_private: false };
    Ty::record(fields.into_iter().map(field).collect())
}
