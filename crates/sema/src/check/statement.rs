//! Checks routes, tables and their targets, and lowers them to tables of rules.

use super::enumeration::find_value_ignoring_case;
use super::{AlreadyReported, Checked, Checker, join_names};
use crate::hir::{self, Argument, Cond, CondKind, MAX_JUMPS, Outcome, ROUTES_TABLE, TableId, TableKind};
use crate::resolve::{duplicate_error, topological_sort};
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::{broken_invariant, message};
use rulec_lang::ty::RecordType;
use rulec_syntax::ast::{self, Ident, Statement, StatementKind, Target};
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Checks every table. The first table contains the routes of the main file that are outside
    /// any `table` statement.
    pub(super) fn check_tables(&mut self) {
        let symbols = self.symbols;
        self.push_table(TableKind::Routes, ROUTES_TABLE, None, "");
        for symbol in symbols.tables.iter() {
            let name = symbol.name;
            if matches!(name.node.as_str(), ROUTES_TABLE | "none" | "default") {
                let message = message!("a table cannot be named `{}`", name.node);
                let help = match name.node == ROUTES_TABLE {
                    true => message!(
                        "`routes` is the name of the entry with the routes outside any table; choose another name"
                    ),
                    false => {
                        message!("this word has its own meaning in decisions and tests; choose another name")
                    }
                };
                self.emit(Code::ReservedTableName, name.span, message, help);
            }
            self.push_table(TableKind::Routes, &name.node, Some(name.span), symbol.declaration.docs);
        }
        self.check_table(TableId(0), self.main_statements());
        for (index, symbol) in symbols.tables.iter().enumerate() {
            let table = TableId(index as u32 + 1);
            self.with_recorded_table_settings(table, |this| {
                this.check_table(table, symbol.declaration.statements)
            });
        }
        self.warn_jumps_to_other_settings();
        self.check_gotos_terminate();
    }

    fn check_table(&mut self, table: TableId, statements: &'a [Statement]) {
        let mut names: HashMap<&str, Span, foldhash::fast::RandomState> = HashMap::default();
        names.reserve(statements.len());
        self.program.rules.reserve(statements.len());
        let mut default: Option<Span> = None;
        for statement in statements {
            match &statement.kind {
                StatementKind::Route(route) => {
                    let Ident { node: name, span } = &route.name;
                    let first_span = *names.entry(name).or_insert(*span);
                    if first_span != *span {
                        self.diagnostics.push(duplicate_error(message!("route"), name, first_span, *span));
                    }
                    if name == "default" || name == "none" {
                        let message = message!("a route cannot be named `{name}`");
                        let help = message!(
                            "this word has its own meaning in decisions and tests; choose another name"
                        );
                        self.emit(Code::ReservedTableName, *span, message, help);
                    }
                    match self.check_route_statement(route, statement, table) {
                        Ok(route) => self.program.rules.push(route),
                        Err(AlreadyReported) => {
                            self.failed_routes.insert(&route.name.node);
                        }
                    }
                }
                StatementKind::Default { target } => {
                    if let Some(first_span) = default {
                        let default_span = statement.span;
                        self.diagnostics.push(
                            Diagnostic::new(
                                Code::SecondDefault,
                                default_span,
                                message!("there is already a default"),
                            )
                            .here(message!("a second default"))
                            .label(first_span, message!("the first one"))
                            .help(message!(
                                "keep one; it answers when no route of its table does, wherever it is written"
                            )),
                        );
                    }
                    default.get_or_insert(statement.span);
                    if let Ok(outcome) = self.lower_target(target, table, None) {
                        self.program.tables[table.index()].default.get_or_insert(outcome);
                    }
                }
                _ => {}
            }
        }
    }

    fn check_route_statement(
        &mut self,
        route: &'a ast::Route,
        statement: &Statement,
        table: TableId,
    ) -> Checked<hir::Rule> {
        self.fields.begin_route();
        let condition_and_outcome = self.with_locals(&route.locals, |this| {
            let condition = this.check_rule_cond(&route.condition);
            // After an error in the condition, a condition that is always false replaces it. So no
            // argument is reported as possibly missing.
            let never = Cond { kind: CondKind::Const(false), span: statement.span };
            let outcome = this.lower_target(&route.target, table, Some(condition.as_ref().unwrap_or(&never)));
            Ok((condition?, outcome?))
        });
        self.fields.end_route(statement.span);
        let (condition, outcome) = condition_and_outcome?;
        Ok(hir::Rule {
            name: route.name.node.as_str().into(),
            table,
            priority: route.priority.as_ref().map_or(0, |priority| priority.node),
            is_disabled: route.disabled_span.is_some(),
            condition: condition.into(),
            outcome,
            span: statement.span,
            docs: to_shared_text(&statement.docs),
        })
    }

    /// Lowers the target of a route or a `default` in the table `source_table`. `condition` is the
    /// condition of the route, which may prove that arguments are present; `None` for a `default`.
    fn lower_target(
        &mut self,
        target: &'a Target,
        source_table: TableId,
        condition: Option<&Cond>,
    ) -> Checked<Outcome> {
        match target {
            Target::Goto { table, span } => {
                let target_table =
                    self.entry_tables.get(table.node.as_str()).copied().filter(|id| *id != TableId(0));
                self.goto_edges.extend(target_table.map(|to| (source_table.index(), to.index(), *span)));
                let visible_table = target_table.filter(|id| {
                    let table_span = self.program.tables[id.index()].span;
                    table_span.is_some_and(|table_span| self.symbols.is_visible(table.span.file, table_span))
                });
                match visible_table {
                    Some(id) => Ok(Outcome::Goto(id)),
                    None => {
                        let names = self.symbols.tables.names();
                        let message = message!("there is no table `{}`", table.node);
                        if let Some(diagnostic) = self.goto_target_error(table, *span) {
                            return self.report(diagnostic);
                        }
                        let help = match self.keyword_of_other_entry(&table.node) {
                            Some(word) => message!(
                                "`{}` is a {word}, which is an entry of its own; `goto` can only lead to a \
                                `table`",
                                table.node
                            ),
                            None => message!("declare it: `table {} {{ … }}`", table.node),
                        };
                        self.report_unknown_or_nearest(Code::UnknownTable, table, message, names, help)
                    }
                }
            }
            Target::Handler { name, args, metadata, .. } => {
                let params = self.find_handler_params(name)?;
                if let Some(failed) = self.report_braces_for_arguments(name, args, metadata, params.as_ref())
                {
                    return failed;
                }
                let args = self.check_handler_args(name, args, params.as_ref(), condition);
                let metadata = match metadata.as_slice() {
                    [] => Ok(self.empty_metadata.clone()),
                    entries => {
                        for (key, value) in entries {
                            self.warn_blanks_in_identifier(Some(&key.node), value);
                        }
                        self.warn_templates_of_metadata(entries, condition);
                        self.warn_permissions_in_metadata(name, entries);
                        self.evaluate_constant_entries(entries).map(Arc::new)
                    }
                };
                let name =
                    self.handler_names.get_or_insert_with(name.node.as_str(), |name| name.into()).clone();
                Ok(Outcome::Handler { name, args: args?, metadata: metadata? })
            }
        }
    }

    /// Reports arguments of a handler in braces, as in `h{kind: "list"}`. Braces contain metadata,
    /// so a required argument is missing. Returns `None` if this is not the mistake.
    fn report_braces_for_arguments<T>(
        &mut self,
        handler: &Ident,
        args: &[(Ident, ast::Expr)],
        metadata: &[(Ident, ast::Expr)],
        params: Option<&(Arc<RecordType>, Span)>,
    ) -> Option<Checked<T>> {
        let (params, declared) = params?;
        let (first, last) = (metadata.first()?, metadata.last()?);
        let is_param = |(name, _): &(Ident, ast::Expr)| params.get(&name.node).is_some();
        let needs_one = params.fields.iter().any(|param| !param.is_optional);
        if !args.is_empty() || !needs_one || !metadata.iter().all(is_param) {
            return None;
        }
        let written = self.loaded.sources.slice(first.0.span.to(last.1.span));
        let message = message!("the arguments of a handler are written in parentheses, not in braces");
        let diagnostic = Diagnostic::new(Code::MissingArgument, first.0.span.to(last.1.span), message);
        let help = message!("write `{}({written})`; metadata are written in braces", handler.node);
        Some(self.report(diagnostic.label(*declared, message!("declared here")).help(help)))
    }

    /// Returns the diagnostic for `goto` to a route or a handler. `span` is the span of the target.
    /// `None` for another name.
    fn goto_target_error(&self, name: &Ident, span: Span) -> Option<Diagnostic> {
        let top_level = || self.statements();
        let in_tables = top_level().flat_map(|statement| match &statement.kind {
            StatementKind::Table { statements, .. } => statements.as_slice(),
            _ => &[],
        });
        let mut routes = top_level().chain(in_tables).filter_map(|statement| match &statement.kind {
            StatementKind::Route(route) => Some(route),
            _ => None,
        });
        let is_handler = self.symbols.handlers.get(&name.node).is_some();
        let (what, target) = match routes.find(|route| route.name.node == name.node) {
            Some(route) => {
                let target = match &route.target {
                    Target::Goto { table, .. } => format!("goto {}", table.node),
                    Target::Handler { name, .. } => name.node.clone(),
                };
                (message!("route"), target)
            }
            None if is_handler => (message!("handler"), name.node.clone()),
            None => return None,
        };
        let message = message!("`{}` is a {what}, and `goto` enters a table", name.node);
        let help = message!("write `-> {replacement}`", replacement = target);
        Some(Diagnostic::new(Code::UnknownTable, name.span, message).help(help).likely_fix(span, target))
    }

    /// Returns the keyword of the choice, router, workflow, flow or payload with this name, to
    /// explain why `goto` cannot lead to it. `None` for a table or an unknown name.
    fn keyword_of_other_entry(&self, name: &str) -> Option<Message> {
        self.statements().find_map(|statement| match &statement.kind {
            StatementKind::Choice(choice) if choice.name.node == name => Some(message!("choice")),
            StatementKind::Router(router) if router.name.node == name => Some(message!("router")),
            StatementKind::Workflow(workflow) if workflow.name.node == name => Some(message!("workflow")),
            StatementKind::Flow(flow) if flow.name.node == name => Some(message!("flow")),
            StatementKind::Payload(payload) if payload.name.node == name => Some(message!("payload")),
            _ => None,
        })
    }

    /// Returns the parameters of a handler and the span of its declaration. `None` if the program
    /// declares no handlers; an unknown name is an error.
    fn find_handler_params(&mut self, name: &Ident) -> Checked<Option<(Arc<RecordType>, Span)>> {
        let Some(handlers) = &self.program.handlers else { return Ok(None) };
        let symbols = self.symbols;
        // The program lists the handlers in the order of their declarations.
        let declared_handler = symbols.handlers.position(&name.node).and_then(|index| handlers.get(index));
        if let Some(handler) =
            declared_handler.filter(|handler| symbols.is_visible(name.span.file, handler.span))
        {
            return Ok(Some((handler.params.clone(), handler.span)));
        }
        let message = message!("the handler `{}` is not declared", name.node);
        let help = message!(
            "if a file declares any handler, all handlers must be declared: `handler {}()`",
            name.node
        );
        self.report_unknown_or_nearest(Code::UnknownHandler, name, message, symbols.handlers.names(), help)
    }

    fn check_handler_args(
        &mut self,
        handler: &Ident,
        written_args: &'a [(Ident, ast::Expr)],
        params: Option<&(Arc<RecordType>, Span)>,
        condition: Option<&Cond>,
    ) -> Checked<Vec<Argument>> {
        let mut args: Vec<Argument> = Vec::new();
        let unique = self.without_duplicates(message!("argument"), written_args, |(name, _)| name);
        let mut result = if unique.len() == written_args.len() { Ok(()) } else { Err(AlreadyReported) };
        let first_diagnostic = self.diagnostics.len();
        for (name, value) in &unique {
            match self.check_handler_arg(handler, (name, value), params, condition) {
                Ok(arg) => args.push(arg),
                Err(AlreadyReported) => result = Err(AlreadyReported),
            }
        }
        if self.diagnostics.len() == first_diagnostic + 2
            && let Some((params, declared)) = params
        {
            self.merge_exchanged_errors(handler, &unique, (params, *declared), first_diagnostic);
        }
        // After an error in an argument, missing arguments are not reported: the wrong argument may
        // be a misspelt one.
        if let (Some((params, declared)), Ok(())) = (params, &result) {
            let given_names: HashSet<&str> =
                written_args.iter().map(|(name, _)| name.node.as_str()).collect();
            for param in params.fields.iter().filter(|param| !param.is_optional) {
                if !given_names.contains(&*param.name) {
                    let (name, ty) = (&param.name, &param.ty);
                    let message = message!("`{}` needs the argument `{name}`", handler.node);
                    self.diagnostics.push(
                        Diagnostic::new(Code::MissingArgument, handler.span, message)
                            .label(*declared, message!("declared here"))
                            .help(message!("add `{name}: …`, or declare it optional: `{name}?: {ty}`")),
                    );
                    result = Err(AlreadyReported);
                }
            }
        }
        result.map(|()| args)
    }

    /// If two arguments are only swapped, replaces their two errors by one. `first_diagnostic` is
    /// the index of the first of the two errors.
    fn merge_exchanged_errors(
        &mut self,
        handler: &Ident,
        written_args: &[&'a (Ident, ast::Expr)],
        (params, declared): (&RecordType, Span),
        first_diagnostic: usize,
    ) {
        let reported = self.diagnostics.len();
        let values: Vec<_> = written_args
            .iter()
            .filter_map(|(name, value)| Some((self.check_value(value).ok()?, params.get(&name.node)?)))
            .collect();
        self.diagnostics.truncate(reported);
        let typed: Vec<_> =
            values.iter().map(|(value, param)| (value, &*param.name, param.ty.kinds)).collect();
        if let Some(exchanged) = self.swapped_arguments_error(&handler.node, &typed, Some(declared)) {
            self.diagnostics.truncate(first_diagnostic);
            self.diagnostics.push(exchanged);
        }
    }

    /// Reports a value of an enumeration without quotes, such as `topic: HELP`. Returns `None` if
    /// the type of the parameter is no enumeration with this value, or if the name is declared.
    fn report_bare_enumeration<T>(
        &mut self,
        param: &Ident,
        value: &ast::Expr,
        params: Option<&(Arc<RecordType>, Span)>,
    ) -> Option<Checked<T>> {
        let ast::ExprKind::Name(word) = &value.kind else { return None };
        let values = params?.0.get(&param.node)?.ty.values()?;
        let is_known = self.scope.get(word).is_some()
            || self.symbols.definition(value.span.file, word).is_some()
            || self.fields.declared_root_fields().is_none_or(|roots| roots.get(word).is_some());
        let texts = || values.values().iter().map(|text| &**text);
        let meant = match values.contains(word) {
            true => Some(word.as_str()),
            false => find_value_ignoring_case(values, word).or_else(|| self.nearest(word, texts())),
        };
        let meant = meant.filter(|_| !is_known)?.to_owned();
        let text = rulec_syntax::write::quote_string(&meant);
        let message = message!("`{word}` is not declared");
        let diagnostic = Diagnostic::new(Code::UnknownName, value.span, message);
        let help = message!("a text is written in quotes: write `{text}`");
        Some(self.report(diagnostic.help(help).likely_fix(value.span, text)))
    }

    fn check_handler_arg(
        &mut self,
        handler: &Ident,
        (name, value): (&Ident, &'a ast::Expr),
        params: Option<&(Arc<RecordType>, Span)>,
        condition: Option<&Cond>,
    ) -> Checked<Argument> {
        if let Some(failed) = self.report_bare_enumeration(name, value, params) {
            return failed;
        }
        if let (ast::ExprKind::Literal(ast::Literal::String(text)), Some(condition)) =
            (&value.kind, condition)
        {
            self.warn_group_reference(text, value.span, condition);
        }
        self.warn_blanks_in_identifier(Some(&name.node), value);
        let value = self.check_value(value)?;
        let Some((params, declared)) = params else {
            let value = self.add_value(value);
            let (name, is_optional, allowed_texts) = (name.node.as_str().into(), false, None);
            return Ok(Argument { name, value, is_optional, allowed_texts });
        };
        let Some(param) = params.get(&name.node) else {
            let message = message!("`{}` has no argument `{}`", handler.node, name.node);
            let diagnostic = Diagnostic::new(Code::UnknownArgument, name.span, message)
                .label(*declared, message!("declared here"));
            let help = match params.fields.is_empty() {
                true => message!("it takes no arguments"),
                false => message!("its arguments are {}", join_names(params.names())),
            };
            let similar = self.nearest(&name.node, params.names());
            return self.report(diagnostic.suggest_or_help(name.span, similar, help));
        };
        let other_case = self.find_case_of_other_type(&value, param.ty.kinds).cloned();
        let value = self.check_argument(&handler.node, &name.node, value, &param.ty, Some(*declared))?;
        if !param.is_optional && !self.fields.infers_types() && self.may_be_missing(&value, condition) {
            if let Some(case) = other_case {
                let names = (handler.node.as_str(), name.node.as_str());
                return self.report(self.case_type_error(names, &case, &param.ty, *declared));
            }
            let (name, ty) = (&param.name, &param.ty);
            let message = message!("`{}` needs `{name}`, but this value may be missing", handler.node);
            let help = message!(
                "test in the condition that it `is present`, give a fallback value with `??`, or declare the \
                argument optional: `{name}?: {ty}`"
            );
            let diagnostic = Diagnostic::new(Code::MaybeMissing, value.span, message)
                .here(message!("may be missing"))
                .label(*declared, message!("declared here as required"))
                .help(help);
            return self.report_with_type_origin(diagnostic, &value);
        }
        let value = self.add_value(value);
        let (name, allowed_texts) = (name.node.as_str().into(), param.ty.values().cloned());
        Ok(Argument { name, value, is_optional: param.is_optional, allowed_texts })
    }

    /// Checks that `goto`s form no cycle and that no chain of `goto`s is too long.
    fn check_gotos_terminate(&mut self) {
        if self.goto_edges.is_empty() {
            return;
        }
        let mut jumps: Vec<Vec<usize>> = vec![Vec::new(); self.program.tables.len()];
        let mut jump_spans: HashMap<(usize, usize), Span> = HashMap::new();
        for (from, to, span) in self.goto_edges.drain(..) {
            jumps[from].push(to);
            jump_spans.entry((from, to)).or_insert(span);
        }
        let (order, cycles) = topological_sort(&jumps);
        for cycle in &cycles {
            let closed_cycle: Vec<usize> = cycle.iter().chain(cycle.first()).copied().collect();
            let names: Vec<&str> =
                closed_cycle.iter().map(|table| &*self.program.tables[*table].name).collect();
            let help = message!("the cycle is {}; remove one of the jumps", names.join(" → "));
            let mut steps: Vec<Span> = closed_cycle
                .windows(2)
                .filter_map(|pair| jump_spans.get(&(pair[0], pair[1])).copied())
                .collect();
            let Some(last) = steps.pop() else {
                broken_invariant!("every jump of a cycle has a span");
                continue;
            };
            let cycle = Diagnostic::new(Code::JumpCycle, last, message!("these jumps form a cycle"))
                .here(message!("closes the cycle"))
                .help(help);
            let label_jump = |cycle: Diagnostic, step| cycle.label(step, message!("a jump of the cycle"));
            self.diagnostics.push(steps.into_iter().fold(cycle, label_jump));
        }
        if !cycles.is_empty() {
            return;
        }
        let mut depth = vec![0_usize; jumps.len()];
        for table_index in order {
            depth[table_index] = jumps[table_index].iter().map(|to| depth[*to] + 1).max().unwrap_or(0);
            if depth[table_index] == MAX_JUMPS + 1 {
                let to = jumps[table_index].iter().find(|to| depth[**to] == MAX_JUMPS).copied().unwrap_or(0);
                if let Some(jump_span) = jump_spans.get(&(table_index, to)) {
                    let message = message!("jumps lead through more than {MAX_JUMPS} tables");
                    self.emit(
                        Code::JumpsTooDeep,
                        *jump_span,
                        message,
                        message!("jump directly to the last table"),
                    );
                }
            }
        }
    }
}

/// Converts a text to a reference-counted text. An empty text needs no allocation.
fn to_shared_text(text: &str) -> Arc<str> {
    if text.is_empty() { Arc::default() } else { text.into() }
}
