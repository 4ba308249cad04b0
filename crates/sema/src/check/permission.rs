//! Warns of permissions in the metadata of a route, as in `-> refund { permissions: ["agent"] }`.
//! Nothing checks them: only a handler's `requires permission` refuses a message.

use super::Checker;
use rulec_base::diag::Code;
use rulec_base::message;
use rulec_syntax::ast::{self, ExprKind, Ident, Literal};

impl Checker<'_> {
    /// Warns of each key that names permissions, unless `handler` is declared with permissions.
    pub(super) fn warn_permissions_in_metadata(&mut self, handler: &Ident, entries: &[(Ident, ast::Expr)]) {
        let declared = self.symbols.handlers.get(&handler.node).map(|symbol| symbol.declaration);
        if declared.is_some_and(|handler| !handler.required_permissions.is_empty()) {
            return;
        }
        let is_declared = declared.is_some();
        for (key, value) in entries {
            if !matches!(key.node.as_str(), "permission" | "permissions" | "requires") {
                continue;
            }
            let source = |expr: &ast::Expr| match &expr.kind {
                ExprKind::Literal(Literal::String(_)) => self.loaded.sources.slice(expr.span).to_owned(),
                _ => "\"NAME\"".to_owned(),
            };
            let names = match &value.kind {
                ExprKind::List(values) => values.iter().map(source).collect::<Vec<_>>().join(", "),
                _ => source(value),
            };
            let message = message!("`{}` in braces is metadata, and no permission is checked", key.node);
            let help = match is_declared {
                true => message!(
                    "write `requires permission {names}` where `{handler}` is declared",
                    handler = handler.node
                ),
                false => message!(
                    "declare the handler: `handler {handler}() requires permission {names}`",
                    handler = handler.node
                ),
            };
            self.emit(Code::PermissionInMetadata, key.span.to(value.span), message, help);
        }
    }
}
