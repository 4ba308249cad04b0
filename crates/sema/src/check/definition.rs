//! Checks the definitions of names for expressions: `let`, `def`, `list` and `extern fn`.

use super::{AlreadyReported, Checked, CheckedDefinition, Checker};
use crate::hir::{self, Term};
use crate::resolve::Definition;
use rulec_base::diag::Code;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::Ty;
use rulec_syntax::ast;
use std::sync::Arc;

impl<'a> Checker<'a> {
    pub(super) fn check_definition(
        &mut self,
        name: &'a ast::Ident,
        definition: &Definition<'a>,
    ) -> Checked<CheckedDefinition> {
        self.fields.begin_statement();
        match *definition {
            Definition::Let { value } => {
                let body = self.check_term(value)?;
                self.add_let(name, body, value.span).map(CheckedDefinition::Let)
            }
            Definition::Def { params, body } => self.check_def(params, body),
            Definition::List { source } => {
                self.check_list_definition(name, source).map(CheckedDefinition::List)
            }
            Definition::Extern { params, result } => self.declare_extern_fn(name, params, result),
        }
    }

    /// Adds a `let` with the checked body `body` to the program, and returns its id. Reports an
    /// error if the body is too large after expansion.
    pub(super) fn add_let(&mut self, name: &ast::Ident, body: Term, let_span: Span) -> Checked<hir::LetId> {
        let measure = self.measure_within_limits(body.as_part(), let_span)?;
        let id = hir::LetId(self.program.lets.len() as u32);
        self.let_measures.push(measure);
        self.program.lets.push(hir::Let { name: name.node.as_str().into(), body, span: name.span });
        Ok(id)
    }

    fn check_list_definition(
        &mut self,
        name: &'a ast::Ident,
        source: &'a ast::ListSource,
    ) -> Checked<hir::Expr> {
        match source {
            ast::ListSource::Elements(elements) => {
                let expr = self.check_value(elements)?;
                if expr.as_const().is_none() {
                    let message = message!("the elements of the list `{}` must be constants", name.node);
                    let help = message!(
                        "write a list of values of the message where the list is used: `x in [ctx.a, ctx.b]`"
                    );
                    return self.fail(Code::ConstantWanted, elements.span, message, help);
                }
                Ok(hir::Expr { span: name.span, ..expr })
            }
            ast::ListSource::File(path) => {
                let unit = self.loaded.files.iter().find(|unit| unit.file == path.span.file);
                let Some(list_elements) = unit.and_then(|unit| unit.elements_by_list.get(&name.node)) else {
                    return Err(AlreadyReported);
                };
                Ok(hir::Expr {
                    kind: hir::ExprKind::Const(hir::Const::Json(Arc::new(list_elements.as_slice().into()))),
                    ty: Ty::list(Ty::STRING),
                    may_be_missing: false,
                    span: name.span,
                })
            }
        }
    }
}
