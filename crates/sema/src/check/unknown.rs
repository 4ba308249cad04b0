//! Reports a name that cannot be used as a value, and warns about a field that is spelled almost
//! like a name that can. Finds what the author meant: another spelling, a name that another rule
//! defines, or a table.

use super::meant::suggest_path_root;
use super::names::is_message_text;
use super::path::ConstantPath;
use super::{AlreadyReported, Checked, Checker, join_names, nested};
use crate::hir::STEPS_FIELD;
use crate::resolve::collect_names;
use hashbrown::HashMap;
use rulec_base::diag::{Code, Diagnostic, Label, Message, has_one_near_candidate, is_typing_error, nearest};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::reserved_words;
use rulec_lang::ty::{KindSet, RecordType};
use rulec_syntax::ast::{self, Ident, Locals, StatementKind};
use rulec_syntax::write::{quote_raw_string, quote_string};

/// Maximum number of earlier diagnostics that are compared with a new one.
const MAX_COMPARED_DIAGNOSTICS: usize = 200;

/// A name that the files declare, but that cannot be used as a value in the checked expression.
#[derive(Clone, Copy)]
pub(super) enum NameWithoutValue<'a> {
    /// A name that a rule defines after `where`.
    Local(LocalOfOtherRule<'a>),
    /// The name of a statement, such as a table, with the keyword of the statement.
    Statement(&'static str, &'a Ident),
}

/// A name that a rule defines after `where`, with the name of the rule and the value.
#[derive(Clone, Copy)]
pub(super) struct LocalOfOtherRule<'a> {
    rule: &'a Ident,
    name: &'a Ident,
    value: &'a ast::Expr,
}

impl<'a> Checker<'a> {
    /// Reports a path whose first name is unknown. `record` has the fields of the message. A name
    /// is reported only once in a file.
    pub(super) fn report_unknown_path_root<T>(
        &mut self,
        path: &ConstantPath<'a>,
        record: &RecordType,
    ) -> Checked<T> {
        let (name, name_span) = (path.names[0], path.segment_spans[0].0);
        let text = self.text_in_backquotes_error(name, name_span);
        let diagnostic = text.unwrap_or_else(|| self.unknown_path_root_error(path, record));
        self.report_once_in_file(diagnostic)
    }

    /// Returns the diagnostic for a text in backquotes, as other languages write a raw text. `None`
    /// for a name that a field can have.
    fn text_in_backquotes_error(&self, name: &str, span: Span) -> Option<Diagnostic> {
        let is_quoted = self.loaded.sources.slice(span).starts_with('`');
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.');
        if !is_quoted || name.chars().all(is_name) {
            return None;
        }
        let before = &self.loaded.sources.get(span.file)?.text[..span.start as usize];
        let is_pattern = before.trim_end().ends_with("matches") || name.contains('\\');
        let written = if is_pattern { quote_raw_string(name) } else { quote_string(name) };
        let message = message!("backquotes enclose a name, not a text");
        let diagnostic = Diagnostic::new(Code::UnknownName, span, message);
        Some(diagnostic.help(message!("write `{written}`", written = written.clone())).fix(span, written))
    }

    /// Returns the diagnostic for a path whose first name is unknown.
    fn unknown_path_root_error(&self, path: &ConstantPath<'a>, record: &RecordType) -> Diagnostic {
        let names = path.names.as_slice();
        let (name, names_of_path, name_span) = (names[0], names.len(), path.segment_spans[0].0);
        let diagnostic = Diagnostic::new(Code::UnknownName, name_span, message!("`{name}` is not declared"));
        if let Some((help, fix)) = self.foreign_day_or_month_remedy(path) {
            let diagnostic = diagnostic.help(help);
            return fix.into_iter().fold(diagnostic, |all, (span, text)| all.likely_fix(span, text));
        }
        let diagnostic = match self.with_help_from_source(diagnostic, name, name_span) {
            Ok(helped) => return helped,
            Err(diagnostic) => diagnostic,
        };
        let diagnostic = match self.suggest_meant_value(diagnostic, name, name_span, record) {
            Ok(suggested) => return suggested,
            Err(diagnostic) => diagnostic,
        };
        let diagnostic = match self.with_non_value_help(name, diagnostic) {
            Ok(found) => return found,
            Err(diagnostic) => diagnostic,
        };
        let diagnostic = match self.with_prefix_removed(diagnostic, path, record) {
            Ok(helped) => return helped,
            Err(diagnostic) => diagnostic,
        };
        let near = self.meant_path_root(record, names);
        if let Some(list) = self.enclosing_list_name(name_span) {
            let help = message!(
                "a list is written here, `list {list} = [\"a\", \"b\"]`, or read from a file with one element on \
                each line, `list {list} = from \"{list}.txt\"`"
            );
            diagnostic.help(help)
        } else if let Some(written) = self.write_capture_call_for_group(name, name_span) {
            let help = message!("it is a group of the regular expression: write `{written}`");
            diagnostic.help(help).likely_fix(name_span, written)
        } else if let Some(near) = near {
            suggest_path_root(diagnostic, name_span, Some(&near), record)
        } else if self.payload.field_names.iter().any(|field| **field == *name) {
            let written = format!("payload.{name}");
            let help = message!("it is a field of an included group: write `{written}`");
            diagnostic.help(help).likely_fix(name_span, written)
        } else if let Some(element) = self.scope.binding_with_field(name) {
            let written = format!("{element}.{name}");
            diagnostic.did_you_mean(name_span, Some(&written))
        } else if let Some((help, meant)) =
            nested::meant_field_help(record, names, |name| self.is_near_record(name, record))
        {
            let diagnostic = diagnostic.help(help);
            if let (true, Some((next, true))) = (names_of_path > 1, path.segment_spans.get(1)) {
                return diagnostic.likely_fix(Span { end: next.start, ..name_span }, "");
            }
            match meant {
                Some(path) => diagnostic.likely_fix(name_span, path),
                None => diagnostic,
            }
        } else if let Some((help, word)) = foreign_constant_help(name).filter(|_| names_of_path == 1) {
            let diagnostic = diagnostic.help(help).did_you_mean(name_span, word);
            diagnostic.mark_fixes_certain_if(is_capital_bool(name))
        } else {
            let symbols = self.symbols;
            let definitions = symbols.definitions.iter();
            let visible = definitions.filter(|symbol| symbols.is_visible(name_span.file, symbol.name.span));
            let definitions = visible.map(|symbol| symbol.name.node.as_str());
            let bound_names = self.scope.bindings().iter().map(|binding| &*binding.name);
            let names: Vec<&str> = record.names().chain(definitions).chain(bound_names).collect();
            let hyphen_help = self.hyphen_help(name_span).map(|(help, ..)| help);
            let help = hyphen_help.unwrap_or(if names_of_path > 1 { message!(
                "add it to `input {{ … }}`, or declare it with `let {name} = …`; the message has the fields {}",
                join_names(record.names())
            ) } else if !record.fields.is_empty() { message!(
                "the fields of the message are {}; add it to `input {{ … }}`, or declare it with \
                `let {name} = …`; write a text in quotes: \"{name}\"",
                join_names(record.names())
            ) } else { message!(
                "add it to `input {{ … }}`, or declare it with `let {name} = …`; write a text in quotes: \
                \"{name}\""
            ) });
            let is_certain = has_one_near_candidate(name, names.iter().copied());
            let near = self.nearest(name, names);
            suggest_path_root(diagnostic.help(help), name_span, near, record)
                .mark_fixes_certain_if(is_certain)
        }
    }

    /// Returns the first name that the author of a path probably meant. This is a name in scope, or
    /// the only field that contains the path's second name. `None` for another path.
    fn meant_path_root(&self, record: &RecordType, names: &[&str]) -> Option<String> {
        let root = path_root_with_field(record, names).map(str::to_owned);
        root.or_else(|| self.bound_name_near_foreign_constant(names.first()?))
    }

    /// Returns the name in scope that is spelled almost like `name`, a constant of another
    /// language: `one` for `on`. `None` for other names.
    fn bound_name_near_foreign_constant(&self, name: &str) -> Option<String> {
        foreign_constant_help(name)?;
        let bound = self.scope.bindings().iter().map(|binding| &*binding.name);
        self.nearest(name, bound).map(str::to_owned)
    }

    /// True for a name that is spelled almost like a value with fields: a record of the message, a
    /// definition, or a name in scope.
    fn is_near_record(&self, name: &str, record: &RecordType) -> bool {
        let records = record.fields.iter().filter(|field| field.ty.kinds.overlaps(KindSet::DICT));
        let records = records.map(|field| &*field.name);
        let definitions = self.symbols.definitions.names();
        let bound = self.scope.bindings().iter().map(|binding| &*binding.name);
        self.nearest(name, records.chain(definitions).chain(bound)).is_some()
    }

    /// Reports an unknown name. If its file already has the same error, extends that error instead.
    pub(super) fn report_once_in_file<T>(&mut self, diagnostic: Diagnostic) -> Checked<T> {
        let file = diagnostic.span().map(|span| span.file);
        let removes_prefix =
            |found: &Diagnostic| matches!(&*found.fixes, [fix] if fix.replacement.is_empty());
        let mut latest = self.diagnostics.iter_mut().rev().take(MAX_COMPARED_DIAGNOSTICS);
        let same = latest.find(|found| {
            found.code == diagnostic.code
                && found.message == diagnostic.message
                && found.span().map(|span| span.file) == file
                && (found.help == diagnostic.help
                    || found.fixes.iter().all(|fix| fix.replacement.is_empty())
                        && !found.fixes.is_empty()
                        && removes_prefix(&diagnostic))
        });
        let Some(same) = same else { return self.report(diagnostic) };
        // One definition may be checked at several uses.
        let is_new = |span: Span| !same.labels.iter().any(|label| label.span == span);
        if let Some(span) = diagnostic.span().filter(|span| is_new(*span)) {
            same.labels.push(Label { span, text: message!("used here, too") });
            same.fixes.extend(diagnostic.fixes);
        }
        Err(AlreadyReported)
    }

    /// True for a constant of another language, such as `None`.
    pub(super) fn is_foreign_constant(&self, name: &str) -> bool {
        foreign_constant_help(name).is_some()
    }

    /// Warns about an undeclared field that is probably meant as something else: a field of the
    /// payload, a constant of another language such as `True`, a name that another rule defines, or
    /// a misspelt keyword or definition.
    pub(super) fn warn_near_name(&mut self, name: &str, span: Span) {
        // Each name is checked only once. A search through all definitions at every use would be
        // quadratic.
        if !self.fields.is_first_check_of_name(name) {
            return;
        }
        if self.payload.field_names.iter().any(|field| **field == *name) {
            let message =
                message!("`{name}` is read as a field of the message, but the payload has a field `{name}`");
            let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message)
                .help(message!("write `payload.{name}` for a field of an included group"));
            return self.diagnostics.push(diagnostic.likely_fix(span, format!("payload.{name}")));
        }
        let element = (name == "_").then(|| self.any_element_index_remedy(name, span)).flatten();
        if let Some((help, fix)) = element {
            let message = message!("`{name}` is read as a field of the message");
            let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message).help(help);
            let diagnostic = fix.into_iter().fold(diagnostic, |all, (span, text)| all.likely_fix(span, text));
            return self.diagnostics.push(diagnostic);
        }
        if self.warn_near_implicit_name(name, span) {
            return;
        }
        if let Some((help, word)) = foreign_constant_help(name) {
            let message = message!("`{name}` is read as a field of the message");
            let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message).help(help);
            let diagnostic = diagnostic.did_you_mean(span, word).mark_fixes_certain_if(is_capital_bool(name));
            return self.diagnostics.push(diagnostic);
        }
        if let Some(local) = self.local_of_other_rule(name) {
            let rule = &local.rule.node;
            let message =
                message!("`{name}` is read as a field of the message, but `{rule}` defines a name `{name}`");
            let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message)
                .label(local.name.span, message!("defined for this rule only"))
                .help(message!(
                    "{}; if messages have this field, rename the other",
                    self.help_for_local_of_other_rule(name, local)
                ));
            return self.diagnostics.push(diagnostic);
        }
        if self.warn_near_local(name, span) {
            return;
        }
        let value_definitions =
            self.symbols.definitions.iter().filter(|symbol| symbol.declaration.is_value());
        let word = reserved_words().find(|word| **word != *name && word.eq_ignore_ascii_case(name));
        let (near, what) = match word {
            Some(word) => (Some(word), message!("a word of the language")),
            None => (
                self.nearest(name, value_definitions.map(|symbol| symbol.name.node.as_str())),
                message!("a definition"),
            ),
        };
        // `URGENT` may be a constant that is computed from the field `urgent`.
        let is_constant = |near: &&str| near.eq_ignore_ascii_case(name) && *near == near.to_uppercase();
        if let Some(near) = near.filter(|near| !is_constant(near)) {
            let message = message!("`{name}` is read as a field of the message, but `{near}` is {what}");
            let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message);
            self.diagnostics.push(diagnostic.did_you_mean(span, Some(near)));
        }
    }

    /// Warns about an undeclared field that probably means another name: `steps` in a choice, or
    /// the name `one` in scope for the constant `on`. Returns true if it warns.
    pub(super) fn warn_near_implicit_name(&mut self, name: &str, span: Span) -> bool {
        let is_steps = self.is_in_choice && name != STEPS_FIELD && nearest(name, [STEPS_FIELD]).is_some();
        let (near, message) = if is_steps {
            let message = message!(
                "`{name}` is read as a field of the message; the outputs of the steps are in `steps`"
            );
            (STEPS_FIELD.to_owned(), message)
        } else if let Some(near) = self.bound_name_near_foreign_constant(name) {
            let message = message!("`{name}` is read as a field of the message, but `{near}` is a name here");
            (near, message)
        } else {
            return false;
        };
        let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message);
        self.diagnostics.push(diagnostic.did_you_mean(span, Some(&near)));
        true
    }

    /// Warns about an undeclared field whose name is spelled almost like a name in scope: a field
    /// of the payload, a parameter, or the element of a quantifier. Returns true if it warns.
    pub(super) fn warn_near_local(&mut self, name: &str, span: Span) -> bool {
        let is_misspelt = |near: &&str| !is_message_text(&[name]) && is_typing_error(name, near);
        let bindings = self.scope.bindings().iter().map(|binding| &*binding.name);
        let bound = self.nearest(name, bindings.filter(is_misspelt)).map(str::to_owned);
        let (near, replacement, message) = match bound {
            Some(near) => {
                let is_field = self.payload.field_names.iter().any(|field| **field == *near);
                let message = match is_field {
                    true => message!(
                        "`{name}` is read as a field of the message, but the payload has a field `{near}`"
                    ),
                    false => {
                        message!("`{name}` is read as a field of the message, but `{near}` is a name here")
                    }
                };
                (near.clone(), near, message)
            }
            None => {
                let fields = self.payload.field_names.clone();
                let fields = fields.iter().map(|field| &**field).filter(is_misspelt);
                let Some(near) = self.nearest(name, fields) else { return false };
                let message = message!(
                    "`{name}` is read as a field of the message, but the payload has a field `{near}`"
                );
                (near.to_owned(), format!("payload.{near}"), message)
            }
        };
        let declared = self.scope.get(&near).map(|binding| binding.expr.span);
        let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message);
        let diagnostic = match declared.filter(|declared| !declared.is_empty()) {
            Some(declared) => diagnostic.label(declared, message!("declared here")),
            None => diagnostic,
        };
        self.diagnostics.push(diagnostic.did_you_mean(span, Some(&replacement)));
        true
    }

    /// Completes the diagnostic for a name that is declared, but that has no value here: the name
    /// of a table or handler, or a name of another rule. Returns `Err` with the unchanged
    /// diagnostic for other names.
    fn with_non_value_help(&self, name: &str, diagnostic: Diagnostic) -> Result<Diagnostic, Diagnostic> {
        let (message, declared, help) = match self.declaration_without_value(name) {
            Some(NameWithoutValue::Local(local)) => {
                let message = message!("`{name}` is a name of `{}` only", local.rule.node);
                (message, local.name.span, self.help_for_local_of_other_rule(name, local))
            }
            Some(NameWithoutValue::Statement(keyword, declared)) => {
                let Some((message, help)) = explain_statement(keyword, name) else {
                    return Err(diagnostic);
                };
                (message, declared.span, help)
            }
            None => return self.with_history_help(name, diagnostic),
        };
        Ok(Diagnostic { message, ..diagnostic }.label(declared, message!("declared here")).help(help))
    }

    fn help_for_local_of_other_rule(&self, name: &str, local: LocalOfOtherRule<'a>) -> Message {
        let mut names = Vec::new();
        collect_names(local.value, &mut names);
        // The value may use other names of its rule, which a `let` cannot read.
        if names.into_iter().any(|name| self.local_of_other_rule(name).is_some()) {
            return message!(
                "a name after `where` belongs to its rule: define `{name}` with `let` for all rules"
            );
        }
        let value = self.source_on_one_line(local.value.span);
        message!("for all rules write `let {name} = {value}`, and remove the name from `{}`", local.rule.node)
    }

    fn local_of_other_rule(&self, name: &str) -> Option<LocalOfOtherRule<'a>> {
        match self.declaration_without_value(name)? {
            NameWithoutValue::Local(local) => Some(local),
            NameWithoutValue::Statement(..) => None,
        }
    }

    /// Returns the declaration of a name that has no value here. `None` for an unknown name.
    fn declaration_without_value(&self, name: &str) -> Option<NameWithoutValue<'a>> {
        self.names_without_value.get_or_init(|| self.collect_names_without_value()).get(name).copied()
    }

    fn collect_names_without_value(&self) -> HashMap<&'a str, NameWithoutValue<'a>> {
        let mut names = HashMap::new();
        let mut add_locals = |rule: &'a Ident, locals: &'a Locals| {
            for (name, value) in locals {
                let local = LocalOfOtherRule { rule, name, value };
                names.entry(name.node.as_str()).or_insert(NameWithoutValue::Local(local));
            }
        };
        for statement in self.statements() {
            match &statement.kind {
                StatementKind::Route(route) => add_locals(&route.name, &route.locals),
                StatementKind::Table { statements, .. } => {
                    for statement in statements {
                        if let StatementKind::Route(route) = &statement.kind {
                            add_locals(&route.name, &route.locals);
                        }
                    }
                }
                StatementKind::Choice(choice) => {
                    choice.branches.iter().for_each(|branch| add_locals(&branch.id, &branch.locals));
                }
                StatementKind::Router(router) => {
                    router.cases.iter().for_each(|case| add_locals(&router.name, &case.locals));
                }
                _ => {}
            }
        }
        for statement in self.statements() {
            let declared = match &statement.kind {
                StatementKind::Table { name, .. }
                | StatementKind::Handler { name, .. }
                | StatementKind::Type { name, .. } => name,
                StatementKind::Route(route) => &route.name,
                StatementKind::Choice(choice) if choice.question.is_some() => &choice.name,
                StatementKind::Intent(intent) => &intent.name,
                _ => continue,
            };
            let (keyword, name) = statement.kind.keyword_and_name();
            names.entry(name).or_insert(NameWithoutValue::Statement(keyword, declared));
        }
        names
    }
}

/// Returns the message and the help text for the name of a statement in place of a value. `None`
/// for a statement whose name authors do not confuse with a value.
fn explain_statement(keyword: &str, name: &str) -> Option<(Message, Message)> {
    Some(match keyword {
        "table" => (
            message!("`{name}` is a table, not a value"),
            message!(
                "a table holds routes, and `-> goto {name}` enters it; for a list of values write \
                `list {name} = [\"…\"]`"
            ),
        ),
        "handler" => (
            message!("`{name}` is a handler, not a value"),
            message!("a route calls a handler: `route NAME when CONDITION -> {name}`"),
        ),
        "type" => (
            message!("`{name}` is a type, not a value"),
            message!("write the name of a field of this type, as in `input {{ NAME: {name} }}`"),
        ),
        "route" => (
            message!("`{name}` is a route, not a value"),
            message!("for a condition of several routes, write `let NAME = CONDITION` before them"),
        ),
        "choice" => (
            message!("`{name}` is a choice, not a value"),
            message!(
                "its answer is a field of the message: write `answers.{name}`, and declare \
                `answers: {{ {name}?: string }}` in `input`"
            ),
        ),
        "intent" => (
            message!("`{name}` is an intent, not a value"),
            message!("for a message of this intent write `request.intent == \"{name}\"`"),
        ),
        _ => return None,
    })
}

/// For a path whose root is unknown, returns the only declared field that contains a field with the
/// second name of the path. `None` if no field or several fields do.
fn path_root_with_field<'r>(record: &'r RecordType, names: &[&str]) -> Option<&'r str> {
    let second = names.get(1)?;
    let has_field =
        |field: &&rulec_lang::ty::Field| field.ty.fields().is_some_and(|inner| inner.get(second).is_some());
    let mut roots = record.fields.iter().filter(has_field);
    let root = roots.next()?;
    roots.next().is_none().then_some(&*root.name)
}

/// True for `True` and `False` as other languages write them, which certainly mean `true` and
/// `false`. Such a word can be corrected without asking the author.
fn is_capital_bool(name: &str) -> bool {
    matches!(name, "True" | "TRUE" | "False" | "FALSE")
}

/// Returns a help text for a constant of another language, and the equivalent word of this language
/// if there is one.
fn foreign_constant_help(name: &str) -> Option<(Message, Option<&'static str>)> {
    Some(match name {
        "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "真" | "是" | "对" => {
            (Message::default(), Some("true"))
        }
        "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "假" | "否" | "错" => {
            (Message::default(), Some("false"))
        }
        "None" | "NULL" | "Null" | "undefined" | "Nothing" | "NaN" | "空" | "无" | "缺失" | "未定义" => {
            (message!("to test for a missing field, write `x is missing` or `x is present`"), None)
        }
        "Monday" | "Mon" | "Tuesday" | "Tue" | "Wednesday" | "Wed" | "Thursday" | "Thu" | "Friday"
        | "Fri" | "Saturday" | "Sat" | "Sunday" | "Sun" => {
            (message!("write the number of the day: `weekday` gives 1 for Monday to 7 for Sunday"), None)
        }
        "always" | "otherwise" | "_" => {
            (message!("for messages that no route matches, write `default -> HANDLER`"), None)
        }
        _ => return None,
    })
}
