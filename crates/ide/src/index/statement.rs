//! Resolves the names in statements for the index, and builds the outline of a file.

use super::fields_source::{FieldsSource, MAX_DEFINITION_DEPTH};
use super::{
    DeclarationKind, OutlineEntry, SymbolId, SymbolIndexBuilder, group_params_path_prefix, outline_entry,
};
use rulec_base::span::Span;
use rulec_sema::hir::ROUTES_TABLE;
use rulec_syntax::ast::{
    Branch, Choice, Expectation, Expr, ExprKind, Field, Ident, ListSource, Literal, Locals, Route, Router,
    Statement, StatementKind, Target, Test, Trigger, Workflow,
};

impl<'a> SymbolIndexBuilder<'a> {
    /// Adds the names that a statement declares to the index.
    pub(super) fn declare_statement(&mut self, statement: &'a Statement) {
        let Statement { kind, span, docs, .. } = statement;
        let mut declare = |kind, name: &'a Ident| {
            self.declare_symbol(kind, &[&name.node], name.span, *span, docs);
        };
        match kind {
            StatementKind::Let { name, value } => {
                declare(DeclarationKind::Let, name);
                self.let_values.entry(&name.node).or_insert(value);
            }
            StatementKind::List { name, .. } => declare(DeclarationKind::List, name),
            StatementKind::Def { name, params, .. } => {
                declare(DeclarationKind::Def, name);
                self.declare_fields(DeclarationKind::Parameter, &[&name.node], params);
            }
            StatementKind::Extern { name, params, .. } => {
                declare(DeclarationKind::Extern, name);
                self.declare_fields(DeclarationKind::Parameter, &[&name.node], params);
            }
            StatementKind::Handler { name, params, .. } => {
                declare(DeclarationKind::Handler, name);
                // A handler may have the same name as a function, so the parameter paths of
                // handlers have a prefix.
                self.declare_fields(DeclarationKind::Parameter, &["handler", &name.node], params);
            }
            StatementKind::Type { name, ty } => {
                declare(DeclarationKind::Type, name);
                self.types.entry(&name.node).or_insert(ty);
                self.declare_type_fields(DeclarationKind::TypeField, &[&name.node], ty);
            }
            StatementKind::Input { fields } => {
                self.input_fields.get_or_insert(fields);
                self.declare_fields(DeclarationKind::Field, &[], fields);
            }
            StatementKind::Route(route) => self.declare_route(ROUTES_TABLE, route, statement),
            StatementKind::Table { name, statements } => {
                declare(DeclarationKind::Table, name);
                for inner in statements {
                    if let StatementKind::Route(route) = &inner.kind {
                        self.declare_route(&name.node, route, inner);
                    }
                }
            }
            StatementKind::Choice(choice) => {
                declare(DeclarationKind::Choice, &choice.name);
                for branch in &choice.branches {
                    let path = [&*choice.name.node, &branch.id.node];
                    self.declare_symbol(DeclarationKind::Branch, &path, branch.id.span, branch.span, "");
                }
            }
            StatementKind::Workflow(workflow) => {
                declare(DeclarationKind::Workflow, &workflow.name);
                for node in &workflow.nodes {
                    let path = [&*workflow.name.node, &node.id.node];
                    self.declare_symbol(DeclarationKind::Node, &path, node.id.span, node.span, "");
                    if let Some(router) = &node.router {
                        self.workflows_by_router.entry(&router.node).or_default().push(&workflow.name.node);
                    }
                }
            }
            StatementKind::Flow(flow) => declare(DeclarationKind::Flow, &flow.name),
            StatementKind::FlowTool(tool) => declare(DeclarationKind::FlowTool, &tool.name),
            StatementKind::Router(router) => declare(DeclarationKind::Router, &router.name),
            StatementKind::History(_) => self.has_history = true,
            StatementKind::Intent(intent) => declare(DeclarationKind::Intent, &intent.name),
            StatementKind::Entity(entity) => declare(DeclarationKind::Entity, &entity.name),
            StatementKind::Lexicon(lexicon) => declare(DeclarationKind::Lexicon, &lexicon.name),
            StatementKind::Payload(payload) => {
                declare(DeclarationKind::Payload, &payload.name);
                self.declare_items(&payload.name.node, &payload.body);
            }
            StatementKind::Group(group) => {
                declare(DeclarationKind::Group, &group.name);
                self.groups.entry(&group.name.node).or_insert(group);
                let prefix = group_params_path_prefix(&group.name.node);
                self.declare_fields(DeclarationKind::Parameter, &prefix, &group.params);
                self.declare_items(&group.name.node, &group.body);
            }
            StatementKind::Import { .. }
            | StatementKind::Settings { .. }
            | StatementKind::Default { .. }
            | StatementKind::Test(_) => {}
        }
    }

    fn declare_route(&mut self, table: &str, route: &'a Route, statement: &Statement) {
        let path = [table, &route.name.node];
        self.declare_symbol(DeclarationKind::Route, &path, route.name.span, statement.span, &statement.docs);
    }

    /// Resolves the names in a statement, and returns its outline entry with nested entries.
    pub(super) fn resolve_statement(&mut self, statement: &'a Statement) -> OutlineEntry {
        let mut inner = Vec::new();
        let (kind, name) = self.resolve_declaration(&statement.kind, &mut inner);
        let (word, declared_name) = statement.kind.keyword_and_name();
        let keyword_span = Span { end: statement.span.start + word.len() as u32, ..statement.span };
        let name_span = name.map_or(keyword_span, |name| name.span);
        let name = if declared_name.is_empty() { word } else { declared_name };
        OutlineEntry { kind, name: name.to_owned(), name_span, span: statement.span, inner }
    }

    /// Resolves the names in a statement, and adds nested outline entries to `inner`. Returns the
    /// statement's kind, and its name if it has one, for the outline. Calls
    /// [`Self::resolve_deciding_statement`] for statements that choose or check results, such as
    /// `route`, `workflow` or `test`.
    fn resolve_declaration(
        &mut self,
        kind: &'a StatementKind,
        inner: &mut Vec<OutlineEntry>,
    ) -> (DeclarationKind, Option<&'a Ident>) {
        match kind {
            StatementKind::Let { name, value } => {
                match value.kind {
                    // The `let` is already a name of its list.
                    ExprKind::List(_) => self.resolve_expr(value),
                    _ => self.resolve_condition(value),
                }
                let fields_source = self.fields_of_expr(value, MAX_DEFINITION_DEPTH);
                if let Some(id) = self.find_symbol(DeclarationKind::Let, &[&name.node]) {
                    self.index.symbols[id].fields_owner = self.declaration_of_fields(fields_source);
                }
                (DeclarationKind::Let, Some(name))
            }
            StatementKind::List { name, source } => {
                if let ListSource::Elements(elements) = source {
                    self.resolve_expr(elements);
                }
                (DeclarationKind::List, Some(name))
            }
            StatementKind::Def { name, params, body } => {
                self.with_params_in_scope(&[&name.node], params, |builder| builder.resolve_condition(body));
                (DeclarationKind::Def, Some(name))
            }
            StatementKind::Extern { name, params, result } => {
                self.resolve_field_types(params);
                self.resolve_type_names(result);
                (DeclarationKind::Extern, Some(name))
            }
            StatementKind::Handler { name, params, .. } => {
                self.resolve_field_types(params);
                (DeclarationKind::Handler, Some(name))
            }
            StatementKind::Type { name, ty } => {
                self.resolve_type_names(ty);
                (DeclarationKind::Type, Some(name))
            }
            StatementKind::Input { fields } => {
                self.resolve_field_types(fields);
                let to_entry = |field: &Field| {
                    outline_entry(DeclarationKind::Field, &field.name, field.name.span.to(field.ty.span))
                };
                inner.extend(fields.iter().map(to_entry));
                (DeclarationKind::Input, None)
            }
            StatementKind::History(history) => {
                if let Some((first, rest)) = history.key_path.split_first() {
                    let mut fields_source = self.resolve_message_field(&first.node, first.span);
                    for name in rest {
                        fields_source = self.resolve_member(fields_source, &name.node, Some(name.span));
                    }
                }
                (DeclarationKind::History, None)
            }
            StatementKind::Settings { entries } => {
                for (_, value) in entries {
                    // Most values of settings are words such as `insensitive`, not names. Only the
                    // value of `stop_words` can be the name of a list.
                    if let ExprKind::Name(name) = &value.kind
                        && let Some(id) = self.find_symbol(DeclarationKind::Let, &[name])
                    {
                        self.add_use(id, value.span);
                    }
                }
                (DeclarationKind::Settings, None)
            }
            StatementKind::Intent(intent) => {
                self.resolve_exprs(intent.keywords.iter().chain(&intent.examples));
                (DeclarationKind::Intent, Some(&intent.name))
            }
            StatementKind::Entity(entity) => {
                self.resolve_exprs(&entity.patterns);
                (DeclarationKind::Entity, Some(&entity.name))
            }
            StatementKind::Lexicon(lexicon) => (DeclarationKind::Lexicon, Some(&lexicon.name)),
            StatementKind::Import { path } => (DeclarationKind::Import, Some(path)),
            other => self.resolve_deciding_statement(other, inner),
        }
    }

    /// Resolves the names in a statement that chooses or checks results, such as `route`,
    /// `workflow` or `test`. Adds nested outline entries to `inner`. Returns the statement's kind,
    /// and its name if it has one.
    fn resolve_deciding_statement(
        &mut self,
        kind: &'a StatementKind,
        inner: &mut Vec<OutlineEntry>,
    ) -> (DeclarationKind, Option<&'a Ident>) {
        match kind {
            StatementKind::Route(route) => {
                self.with_locals_in_scope(&route.locals, |builder| {
                    builder.resolve_condition(&route.condition);
                    builder.resolve_target(&route.target);
                });
                (DeclarationKind::Route, Some(&route.name))
            }
            StatementKind::Default { target } => {
                self.resolve_target(target);
                (DeclarationKind::Route, None)
            }
            StatementKind::Table { name, statements } => {
                inner.extend(statements.iter().map(|inner| self.resolve_statement(inner)));
                (DeclarationKind::Table, Some(name))
            }
            StatementKind::Test(test) => {
                self.resolve_test(test);
                (DeclarationKind::Test, Some(&test.name))
            }
            StatementKind::Choice(choice) => {
                *inner = self.resolve_choice(choice);
                (DeclarationKind::Choice, Some(&choice.name))
            }
            StatementKind::Flow(flow) => {
                match &flow.trigger {
                    Trigger::Keyword { patterns, .. } => self.resolve_expr(patterns),
                    Trigger::Intent { examples, keywords } => {
                        self.resolve_exprs(examples.iter().chain(keywords))
                    }
                }
                (DeclarationKind::Flow, Some(&flow.name))
            }
            StatementKind::FlowTool(tool) => {
                self.resolve_entries(&tool.entries);
                (DeclarationKind::FlowTool, Some(&tool.name))
            }
            StatementKind::Router(router) => {
                self.resolve_router(router);
                (DeclarationKind::Router, Some(&router.name))
            }
            StatementKind::Workflow(workflow) => {
                *inner = self.resolve_workflow(workflow);
                (DeclarationKind::Workflow, Some(&workflow.name))
            }
            StatementKind::Payload(payload) => {
                if let Some(fallback) = &payload.fallback_kind {
                    self.add_use_of_name(DeclarationKind::Payload, fallback);
                }
                *inner = self.resolve_body(&payload.name, &[], &payload.body);
                (DeclarationKind::Payload, Some(&payload.name))
            }
            StatementKind::Group(group) => {
                *inner = self.resolve_body(&group.name, &group.params, &group.body);
                (DeclarationKind::Group, Some(&group.name))
            }
            // Other kinds of statements do not reach this function.
            _ => (DeclarationKind::Let, None),
        }
    }

    /// Calls `resolve_inner` with the parameters of a declaration in scope. `owner` is the path of
    /// the declaration, with which the path of each parameter begins.
    pub(super) fn with_params_in_scope(
        &mut self,
        owner: &[&'a str],
        params: &'a [Field],
        resolve_inner: impl FnOnce(&mut Self),
    ) {
        self.resolve_field_types(params);
        let outer_scope_len = self.scope.len();
        for param in params {
            let path = [owner, &[param.name.node.as_str()]].concat();
            let id = self.find_or_add_symbol(DeclarationKind::Parameter, &path);
            let fields_source = FieldsSource::Typed(DeclarationKind::Parameter, path, &param.ty);
            self.index.symbols[id].fields_owner = self.declaration_of_fields(fields_source.clone());
            self.scope.push((&param.name.node, Some(id), fields_source));
        }
        resolve_inner(self);
        self.scope.truncate(outer_scope_len);
    }

    /// Calls `resolve_inner` while the names that `where` binds are in scope. The values of these
    /// names can refer to each other.
    fn with_locals_in_scope(&mut self, locals: &'a Locals, resolve_inner: impl FnOnce(&mut Self)) {
        let outer_scope_len = self.scope.len();
        for (name, value) in locals {
            let fields_source = self.fields_of_expr(value, MAX_DEFINITION_DEPTH);
            self.declare_and_bind(DeclarationKind::Local, name, name.span.to(value.span), fields_source);
        }
        locals.iter().for_each(|(_, value)| self.resolve_condition(value));
        resolve_inner(self);
        self.scope.truncate(outer_scope_len);
    }

    fn resolve_target(&mut self, target: &'a Target) {
        match target {
            Target::Goto { table, .. } => self.add_use_of_name(DeclarationKind::Table, table),
            Target::Handler { name, args, metadata, .. } => {
                self.add_use_of_name(DeclarationKind::Handler, name);
                for (param, _) in args {
                    let id = self.find_or_add_symbol(
                        DeclarationKind::Parameter,
                        &["handler", &name.node, &param.node],
                    );
                    self.add_use(id, param.span);
                }
                self.resolve_entries(args);
                self.resolve_entries(metadata);
            }
        }
    }

    fn resolve_test(&mut self, test: &'a Test) {
        self.declare_local(DeclarationKind::Test, &test.name, test.name.span);
        let mut kinds = test.expectations.iter().filter_map(|expect| expect.outcome_path.first());
        let validated_payload =
            kinds.find(|kind| self.find_symbol(DeclarationKind::Payload, &[&kind.node]).is_some());
        let validated_payload = validated_payload.map(|kind| kind.node.as_str());
        for path in test.given_values.iter().map(|(path, _)| path).chain(&test.case_field_paths) {
            self.resolve_given(path, validated_payload);
        }
        self.resolve_exprs(test.given_values.iter().map(|(_, value)| value));
        for expect in &test.expectations {
            self.resolve_exprs(&expect.case_values);
            self.resolve_expectation(expect);
        }
    }

    /// Resolves a field to which a test gives a value. The field belongs to the input message, or
    /// to the payload that the test validates. `validated_payload` is the kind of this payload;
    /// `None` if the test decides a message.
    fn resolve_given(&mut self, path: &'a [Ident], validated_payload: Option<&str>) {
        let names: Vec<&str> = path.iter().map(|part| part.node.as_str()).collect();
        if let (Some(kind), ["payload", field, ..]) = (validated_payload, names.as_slice()) {
            if let Some(id) = self.find_symbol(DeclarationKind::PayloadField, &[kind, field]) {
                self.add_use(id, path[1].span);
            }
            return;
        }
        self.resolve_given_path(path);
    }

    /// Resolves the expected result of a test: `ROUTE`, `TABLE.ROUTE`, `CHOICE.BRANCH`, a flow, or
    /// a payload with its verdict. Also resolves the expected target.
    fn resolve_expectation(&mut self, expect: &'a Expectation) {
        let path: Vec<&str> = expect.outcome_path.iter().map(|part| part.node.as_str()).collect();
        let symbols = match path.as_slice() {
            [owner, name] => {
                let payload = self.find_symbol(DeclarationKind::Payload, &[owner]);
                let inner = self
                    .find_symbol(DeclarationKind::Route, &path)
                    .or_else(|| self.find_symbol(DeclarationKind::Branch, &path));
                let inner = inner
                    .or_else(|| self.find_symbol(DeclarationKind::Flow, &[name]))
                    .filter(|_| payload.is_none());
                vec![payload.or_else(|| self.find_symbol(DeclarationKind::Table, &[owner])), inner]
            }
            ["default" | "none"] => Vec::new(),
            [name] => {
                let find_table = |builder: &Self| builder.find_symbol(DeclarationKind::Table, &[name]);
                vec![self.find_route(name).or_else(|| find_table(self))]
            }
            _ => Vec::new(),
        };
        for (symbol, part) in symbols.into_iter().zip(&expect.outcome_path) {
            if let Some(id) = symbol {
                self.add_use(id, part.span);
            }
        }
        let Some(then) = &expect.target else { return };
        for name in &then.target_names {
            let handler = self.find_symbol(DeclarationKind::Handler, &[&name.node]);
            if let Some(id) = handler.or_else(|| self.find_node(path.first().copied(), &name.node)) {
                self.add_use(id, name.span);
            }
        }
        if let [handler] = then.target_names.as_slice() {
            for (param, _) in &then.args {
                if let Some(id) =
                    self.find_symbol(DeclarationKind::Parameter, &["handler", &handler.node, &param.node])
                {
                    self.add_use(id, param.span);
                }
            }
        }
        self.resolve_entries(&then.args);
        self.resolve_entries(&then.metadata);
    }

    /// Returns the node called `name` in a workflow that uses the router called `router`. `None` if
    /// there is no such node, or if no router is given.
    fn find_node(&self, router: Option<&str>, name: &str) -> Option<SymbolId> {
        let mut workflows = self.workflows_by_router.get(router?)?.iter();
        workflows.find_map(|workflow| self.find_symbol(DeclarationKind::Node, &[workflow, name]))
    }

    /// Returns the route, flow or branch with this name; `None` if there is none. A route outside
    /// any table is preferred to routes in tables.
    fn find_route(&self, name: &str) -> Option<SymbolId> {
        let main_route = self.find_symbol(DeclarationKind::Route, &[ROUTES_TABLE, name]);
        main_route.or_else(|| self.find_symbol(DeclarationKind::Flow, &[name])).or_else(|| {
            let mut rules = self.index.symbols.iter().enumerate();
            let is_rule = |kind| matches!(kind, DeclarationKind::Route | DeclarationKind::Branch);
            rules.find(|(_, symbol)| is_rule(symbol.kind) && symbol.name == name).map(|(id, _)| id)
        })
    }

    fn resolve_choice(&mut self, choice: &'a Choice) -> Vec<OutlineEntry> {
        let resolve_branch = |branch: &'a Branch, builder: &mut Self| {
            builder.with_locals_in_scope(&branch.locals, |builder| {
                branch.conditions.iter().flatten().for_each(|condition| builder.resolve_condition(condition));
            });
            outline_entry(DeclarationKind::Branch, &branch.id, branch.span)
        };
        choice.branches.iter().map(|branch| resolve_branch(branch, self)).collect()
    }

    fn resolve_router(&mut self, router: &'a Router) {
        let outer_scope_len = self.scope.len();
        self.declare_and_bind(
            DeclarationKind::Parameter,
            &router.output_param,
            router.output_param.span,
            FieldsSource::Unknown,
        );
        for case in &router.cases {
            self.with_locals_in_scope(&case.locals, |builder| {
                case.condition.iter().for_each(|condition| builder.resolve_condition(condition));
                for destination in &case.destinations {
                    builder.resolve_destination(destination, router);
                }
            });
        }
        self.scope.truncate(outer_scope_len);
    }

    /// Resolves a router destination. A destination that begins with the parameter of the router is
    /// an expression, which computes the ids of nodes. Any other destination names a node of a
    /// workflow that uses the router.
    fn resolve_destination(&mut self, destination: &'a Expr, router: &'a Router) {
        let mut root = destination;
        while let ExprKind::Field(base, _) | ExprKind::Index(base, _) = &root.kind {
            root = base;
        }
        match &root.kind {
            ExprKind::Name(name) if *name == router.output_param.node => self.resolve_expr(destination),
            ExprKind::Name(name) | ExprKind::Literal(Literal::String(name)) => {
                if let Some(node) = self.find_node(Some(&router.name.node), name) {
                    self.add_use(node, root.span);
                }
            }
            _ => {}
        }
    }

    fn resolve_workflow(&mut self, workflow: &'a Workflow) -> Vec<OutlineEntry> {
        let mut entries = Vec::new();
        for node in &workflow.nodes {
            for next in &node.next_nodes {
                let id = self.find_or_add_symbol(DeclarationKind::Node, &[&workflow.name.node, &next.node]);
                self.add_use(id, next.span);
            }
            if let Some(router) = &node.router {
                self.add_use_of_name(DeclarationKind::Router, router);
            }
            self.resolve_entries(&node.config);
            entries.push(outline_entry(DeclarationKind::Node, &node.id, node.span));
        }
        entries
    }
}
