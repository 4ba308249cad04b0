//! Finds a permission that a route requires, as in `-> refund requires "agent"`. Only the
//! declaration of a handler requires permissions, so that they hold for every route to it.

use super::context::{StatementContext, unexpected_token};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

/// Returns the diagnostic for a permission that begins at the token `index` of a `route` or
/// `default`. `None` without such a permission.
pub(super) fn permission_of_route_error(cx: &StatementContext<'_>, index: usize) -> Option<Diagnostic> {
    let token = |index: usize| cx.significant.get(index).filter(|_| cx.tokens.contains(&index));
    let text = |index: usize| token(index).map_or("", |item| item.token.text(cx.text));
    let kind = |index: usize| token(index).map(|item| item.token.kind);
    let is_verb = matches!(text(index), "requires" | "require" | "required" | "requiring" | "needs");
    let is_noun =
        |index: usize| matches!(text(index), "permission" | "permissions" | "role" | "roles" | "scope");
    let arrow = cx.tokens.clone().find(|at| kind(*at) == Some(TokenKind::Arrow));
    // Before the arrow, the word may belong to a condition such as `user.role == "admin"`.
    let begins = is_verb || is_noun(index) && arrow.is_some_and(|arrow| arrow < index);
    if !matches!(text(cx.tokens.start), "route" | "default") || !begins {
        return None;
    }
    let is_between = |index: usize| is_noun(index) || matches!(text(index), ":" | "=" | "(" | "[");
    let mut end = (index + 1..).find(|next| !is_between(*next))?;
    let mut names = Vec::new();
    while kind(end) == Some(TokenKind::String) {
        names.push(text(end));
        end += 1 + usize::from(text(end + 1) == "," && kind(end + 2) == Some(TokenKind::String));
    }
    let names = (!names.is_empty()).then(|| names.join(", "))?;
    end = (end..).find(|next| !matches!(text(*next), ")" | "]"))?;
    let span = |index: usize| cx.significant[index].token.span(cx.file);
    let handler = arrow.map_or("", |arrow| text(arrow + 1));
    let message = message!("a handler requires permissions, and a route does not");
    let help = match (handler, cx.declared().declares("handler", handler)) {
        ("" | "goto", _) => {
            message!("write `requires permission {names}` where the handler is declared")
        }
        (handler, true) => message!("write `requires permission {names}` where `{handler}` is declared"),
        (handler, false) => {
            message!("declare the handler: `handler {handler}() requires permission {names}`")
        }
    };
    Some(unexpected_token(span(index).to(span(end - 1)), message, help))
}
