//! Finds what the author of a wrong constant meant: a template in metadata, a word for a bool in
//! another language, or a size in quotes in a list.

use super::Checker;
use crate::hir::{self, Cond};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_syntax::ast::{self, Ident, Literal, StatementKind};
use rulec_syntax::parse::{meant_number, template_to_join_call};

impl Checker<'_> {
    /// Returns the diagnostic for a text of another language where only a constant is allowed:
    /// `{ note: `asked by ${user.role}` }`. `None` for other names.
    pub(super) fn template_as_constant_error(&self, name: &str, span: Span) -> Option<Diagnostic> {
        let has_blank = name.contains(char::is_whitespace);
        let is_template = name.contains("${") || name.contains('{') && name.contains('}');
        if !is_template && !has_blank || !self.loaded.sources.slice(span).starts_with('`') {
            return None;
        }
        if !is_template {
            let message = message!("backquotes enclose a name, not a text");
            let written = rulec_syntax::write::quote_string(name);
            let diagnostic = Diagnostic::new(Code::UnknownName, span, message);
            return Some(
                diagnostic.help(message!("write `{written}`", written = written.clone())).fix(span, written),
            );
        }
        let message = message!("no value is put into a text, and backquotes enclose a name");
        Some(Diagnostic::new(Code::UnknownName, span, message).help(self.computed_text_help(name, span)))
    }

    /// Returns the help for metadata whose text should contain values of the message.
    fn computed_text_help(&self, template: &str, span: Span) -> Message {
        let file = self.loaded.sources.get(span.file);
        let before = file.and_then(|file| file.text.get(..span.start as usize)).unwrap_or_default();
        let key = before.trim_end().trim_end_matches(':').trim_end();
        let key = key.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|key| !key.is_empty());
        let (key, value) = (key.unwrap_or("NAME"), template_to_join_call(template));
        match value {
            Some(value) => message!(
                "metadata are constants: pass the text as an argument, `-> HANDLER({key}: {value})`",
                key = key.to_owned()
            ),
            None => message!(
                "metadata are constants: pass the value as an argument, `-> HANDLER({key}: VALUE)`",
                key = key.to_owned()
            ),
        }
    }

    /// Warns about metadata whose text has a placeholder of another language, such as `${user.id}`,
    /// `{{id}}` or `%s`. Nothing replaces the placeholder. `condition` belongs to the route.
    pub(super) fn warn_templates_of_metadata(
        &mut self,
        entries: &[(Ident, ast::Expr)],
        condition: Option<&Cond>,
    ) {
        for (key, value) in entries {
            let ast::ExprKind::Literal(Literal::String(text)) = &value.kind else { continue };
            let captured =
                condition.and_then(|condition| self.group_reference_and_call(text, condition.span));
            if let Some((group, call)) = captured {
                let message =
                    message!("`{group}` is not replaced by a part of the text: it is used literally");
                let help = message!(
                    "metadata are constants: pass the part that matched as an argument, `-> HANDLER({key}: {call})`",
                    key = key.node.to_owned()
                );
                self.emit(Code::TemplateText, value.span, message, help);
                continue;
            }
            let Some(opening) = self.foreign_placeholder_form(text, value.span) else { continue };
            let message = message!("`{opening}` is not replaced by a value: the text is used literally");
            let help = message!(
                "{}; for a literal text write a raw string, as in r\"…\"",
                self.computed_text_help(text, value.span)
            );
            self.emit(Code::TemplateText, value.span, message, help);
        }
    }

    /// Returns the reference to a group of a regular expression in a text, such as `$1`, and the
    /// call that reads this group. `condition` is the condition of the route. `None` if the
    /// condition has no regular expression with this group.
    fn group_reference_and_call(&self, text: &str, condition: Span) -> Option<(String, String)> {
        let mut marks = text.match_indices(['$', '\\']);
        let (group, digits) = marks.find_map(|(at, mark)| {
            let rest = text[at + mark.len()..].trim_start_matches('{');
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            // An amount such as `$100` is no group.
            (digits == 1 && !rest[1..].starts_with(['.', ',']))
                .then(|| (format!("{mark}{}", &rest[..1]), &rest[..1]))
        })?;
        let number: usize = digits.parse().ok().filter(|number| *number > 0)?;
        let source = self.loaded.sources.slice(condition);
        let (before, after) = source.split_once(" matches ")?;
        let value = before.rsplit(|c: char| c.is_whitespace() || c == '(').next()?;
        let after = after.trim_start();
        let open = after.find('"').filter(|open| *open <= 1)?;
        let literal = &after[..open + 2 + after[open + 1..].find('"')?];
        let hir = rulec_base::text::parse_cached(literal[open..].trim_matches('"'), false).ok()?;
        let has_group =
            rulec_base::text::capture_groups(&hir).iter().any(|group| group.number as usize == number);
        let argument = if number == 1 { String::new() } else { format!(", {number}") };
        let is_path =
            value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) && !value.is_empty();
        (has_group && is_path).then(|| (group, format!("capture({value}, {literal}{argument})")))
    }

    /// Finds in a text the first placeholder of another language, and returns its form, such as
    /// `${…}`. `None` for a text without one, and for a raw string, which is meant literally.
    fn foreign_placeholder_form(&self, text: &str, span: Span) -> Option<&'static str> {
        let literal = self.loaded.sources.get(span.file)?.text.get(span.range())?;
        let has_path = |open: &str, close: &str| {
            text.split(open).skip(1).any(|rest| {
                let path = rest.split_once(close).map_or("", |(path, _)| path.trim());
                path.starts_with(|c: char| c.is_alphabetic() || c == '_')
                    && path.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
            })
        };
        if literal.starts_with('r') {
            return None;
        }
        let has_format = || {
            let rest = text.split_once("%s").map(|(_, rest)| rest);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        };
        match () {
            () if has_path("${", "}") => Some("${…}"),
            () if has_path("{{", "}}") => Some("{{…}}"),
            () if has_path("#{", "}") => Some("#{…}"),
            () if has_format() => Some("%s"),
            () => None,
        }
    }

    /// Returns the help for a number that is compared with a text of a list, if the texts of the
    /// list are numbers with units: `list limits = ["10MB", "5GB"]`. `source` is the text of the
    /// operand, such as `limits[0]`.
    pub(super) fn numbers_in_list_help(&self, source: &str) -> Option<Message> {
        let name = source.split('[').next()?.trim();
        let elements = self.statements().find_map(|statement| match &statement.kind {
            StatementKind::List {
                name: declared,
                source: ast::ListSource::Elements(ast::Expr { kind: ast::ExprKind::List(items), .. }),
            } if declared.node == name => Some(items),
            _ => None,
        })?;
        let numbers: Option<Vec<String>> = elements
            .iter()
            .map(|item| match &item.kind {
                ast::ExprKind::Literal(Literal::String(text)) => {
                    meant_number(text).or_else(|| text.parse::<f64>().is_ok().then(|| text.to_owned()))
                }
                _ => None,
            })
            .collect();
        let numbers = numbers.filter(|numbers| !numbers.is_empty() && numbers.len() <= 8)?;
        let written = format!("list {name} = [{}]", numbers.join(", "));
        Some(message!("numbers are written without quotes: write `{written}`"))
    }

    /// Returns the help for a list of lists of texts on the right side of a text operator, as in
    /// `text contains all [["a"], ["b", "c"]]`. `None` for other operands.
    pub(super) fn nested_lists_help(&self, binary: &ast::Binary) -> Option<Message> {
        let ast::ExprKind::List(items) = &binary.right.kind else { return None };
        let quantity = binary.modifiers.quantity?;
        let is_list = |item: &&ast::Expr| matches!(item.kind, ast::ExprKind::List(_));
        if binary.negated || items.is_empty() || !items.iter().all(|item| is_list(&item)) {
            return None;
        }
        let slice = |span| self.loaded.sources.slice(span);
        let (left, op) = (slice(binary.left.span), binary.op.node.info().spelling);
        // `all` of the groups, of which any text is enough, and the reverse.
        let (joint, of) = match quantity.spelling() {
            "all" => (" and ", "any"),
            "any" => (" or ", "all"),
            _ => return None,
        };
        let parts: Vec<String> =
            items.iter().map(|item| format!("{left} {op} {of} {}", slice(item.span))).collect();
        let written = parts.join(joint);
        Some(message!("a list contains no lists here: write `({written})`"))
    }

    /// Returns the help for lists with names inside a list, as in `contains any [verbs, nouns]`.
    /// `None` for other operands.
    pub(super) fn named_lists_help(&self, binary: &ast::Binary, right: &crate::hir::Expr) -> Option<Message> {
        let ast::ExprKind::List(items) = &binary.right.kind else { return None };
        let quantity = binary.modifiers.quantity?.spelling();
        let is_list = right.ty.element().kinds == rulec_lang::ty::KindSet::LIST;
        let slice = |span| self.loaded.sources.slice(span);
        let names: Vec<&str> = items.iter().map(|item| slice(item.span)).collect();
        if !is_list || names.is_empty() || binary.negated {
            return None;
        }
        let operator = slice(binary.op.span);
        let is_word = self.loaded.sources.slice(binary.left.span.to(binary.right.span)).contains(" word ");
        let operator = if is_word && !operator.contains("word") {
            format!("{operator} word")
        } else {
            operator.to_owned()
        };
        let operator = match operator.ends_with(quantity) {
            true => operator,
            false => format!("{operator} {quantity}"),
        };
        let left = slice(binary.left.span);
        let parts: Vec<String> = names.iter().map(|name| format!("{left} {operator} {name}")).collect();
        let written = parts.join(if quantity == "any" { " or " } else { " and " });
        Some(message!("lists do not nest: write `{written}`, or one list with all texts"))
    }

    /// Returns the help text for a text after `??` where a time is needed, as in `due ?? "today"`.
    /// `None` for other operands.
    pub(super) fn time_in_words_help(&self, value: &hir::Expr, other: &hir::Expr) -> Option<Message> {
        let constant = other.as_const()?;
        let text = constant.value().as_str()?.to_lowercase();
        let source = self.loaded.sources.slice(value.span);
        if value.ty.kinds != rulec_lang::ty::KindSet::DATETIME {
            return None;
        }
        let is_now = matches!(
            text.as_str(),
            "today"
                | "now"
                | "now()"
                | "current"
                | "current_timestamp"
                | "sysdate"
                | "getdate()"
                | "今天"
                | "现在"
        );
        let has_now = self.fields.declared_root_fields().is_none_or(|roots| roots.get("now").is_some());
        Some(match is_now {
            true if !has_now => message!(
                "a time to use for a missing one is a datetime: declare `now: datetime` in `input`, and write \
                `{source} ?? now`"
            ),
            true => message!("a time to use for a missing one is a datetime: write `{source} ?? now`"),
            false => message!(
                "a time to use for a missing one is a datetime, such as `now` or another field: a text is no time"
            ),
        })
    }

    /// Returns the help for the difference of a time and a number, as in `now - created > 2h`.
    /// Another system probably counts the number from 1970. `None` for another expression.
    pub(super) fn epoch_difference_help(&self, difference: &crate::hir::Expr) -> Option<Message> {
        use crate::hir::ExprKind;
        use rulec_lang::operators::Op;
        use rulec_lang::ty::KindSet;
        let ExprKind::Op(Op::Sub, time, Some(number)) = &difference.kind else { return None };
        let is_number = number.ty.kinds.is_subset_of(KindSet::NUMBER) && number.as_const().is_none();
        if time.ty.kinds != KindSet::DATETIME || !is_number {
            return None;
        }
        let slice = |span| self.loaded.sources.slice(span);
        let (time, number) = (slice(time.span), slice(number.span));
        Some(message!(
            "`{number}` is a number, so the difference is a time: if it counts seconds since 1970, write \
            `{time} - from_epoch_seconds({number})`, and for milliseconds `from_epoch_millis({number})`"
        ))
    }
}
