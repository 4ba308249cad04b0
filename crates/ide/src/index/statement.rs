//! Resolves the names in statements, and builds the outline of the file.

use super::home::{DEEP, Home};
use super::{Entry, Kind, SymbolId, Work, entry, group_owner};
use rulec_base::span::Span;
use rulec_sema::hir::ROUTES;
use rulec_syntax::ast::{
    Branch, Choice, Expectation, Expr, ExprKind, Field, Ident, ListSource, Literal, Locals, Route, Router,
    Statement, StatementKind, Target, Test, Trigger, Workflow,
};

impl<'a> Work<'a> {
    /// Adds the names that a statement declares to the index.
    pub(super) fn declare(&mut self, statement: &'a Statement) {
        let Statement { kind, span, docs, .. } = statement;
        let mut named = |kind, name: &'a Ident| {
            self.declares(kind, &[&name.node], name.span, *span, docs);
        };
        match kind {
            StatementKind::Let { name, value } => {
                named(Kind::Let, name);
                self.lets.entry(&name.node).or_insert(value);
            }
            StatementKind::List { name, .. } => named(Kind::List, name),
            StatementKind::Def { name, params, .. } => {
                named(Kind::Def, name);
                self.declare_fields(Kind::Parameter, &[&name.node], params);
            }
            StatementKind::Extern { name, params, .. } => {
                named(Kind::Extern, name);
                self.declare_fields(Kind::Parameter, &[&name.node], params);
            }
            StatementKind::Handler { name, params, .. } => {
                named(Kind::Handler, name);
                // A handler may have the same name as a function, so the parameter paths of
                // handlers have a prefix.
                self.declare_fields(Kind::Parameter, &["handler", &name.node], params);
            }
            StatementKind::Type { name, ty } => {
                named(Kind::Type, name);
                self.types.entry(&name.node).or_insert(ty);
                self.declare_inside(Kind::TypeField, &[&name.node], ty);
            }
            StatementKind::Input { fields } => {
                self.input.get_or_insert(fields);
                self.declare_fields(Kind::Field, &[], fields);
            }
            StatementKind::Route(route) => self.declare_route(ROUTES, route, statement),
            StatementKind::Table { name, statements } => {
                named(Kind::Table, name);
                for inner in statements {
                    if let StatementKind::Route(route) = &inner.kind {
                        self.declare_route(&name.node, route, inner);
                    }
                }
            }
            StatementKind::Choice(choice) => {
                named(Kind::Choice, &choice.name);
                for branch in &choice.branches {
                    let path = [&*choice.name.node, &branch.id.node];
                    self.declares(Kind::Branch, &path, branch.id.span, branch.span, "");
                }
            }
            StatementKind::Workflow(workflow) => {
                named(Kind::Workflow, &workflow.name);
                for node in &workflow.nodes {
                    let path = [&*workflow.name.node, &node.id.node];
                    self.declares(Kind::Node, &path, node.id.span, node.span, "");
                    if let Some(router) = &node.router {
                        self.asking.entry(&router.node).or_default().push(&workflow.name.node);
                    }
                }
            }
            StatementKind::Flow(flow) => named(Kind::Flow, &flow.name),
            StatementKind::FlowTool(tool) => named(Kind::FlowTool, &tool.name),
            StatementKind::Router(router) => named(Kind::Router, &router.name),
            StatementKind::Intent(intent) => named(Kind::Intent, &intent.name),
            StatementKind::Entity(entity) => named(Kind::Entity, &entity.name),
            StatementKind::Lexicon(lexicon) => named(Kind::Lexicon, &lexicon.name),
            StatementKind::Payload(payload) => {
                named(Kind::Payload, &payload.name);
                self.declare_items(&payload.name.node, &payload.body);
            }
            StatementKind::Group(group) => {
                named(Kind::Group, &group.name);
                self.groups.entry(&group.name.node).or_insert(group);
                self.declare_fields(Kind::Parameter, &group_owner(&group.name.node), &group.params);
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
        self.declares(Kind::Route, &path, route.name.span, statement.span, &statement.docs);
    }

    /// Resolves the names in a statement, and returns its outline entry with nested entries.
    pub(super) fn statement(&mut self, statement: &'a Statement) -> Entry {
        let mut inner = Vec::new();
        let (kind, name) = self.declaration(&statement.kind, &mut inner);
        let (word, called) = statement.kind.head();
        let first = Span { end: statement.span.start + word.len() as u32, ..statement.span };
        let name_span = name.map_or(first, |name| name.span);
        let name = if called.is_empty() { word } else { called };
        Entry { kind, name: name.to_owned(), name_span, span: statement.span, inner }
    }

    /// Resolves the names in a statement. Returns its kind and its name for the outline, and adds
    /// nested outline entries to `inner`. Statements that make decisions are passed on to
    /// `deciding`.
    fn declaration(&mut self, kind: &'a StatementKind, inner: &mut Vec<Entry>) -> (Kind, Option<&'a Ident>) {
        match kind {
            StatementKind::Let { name, value } => {
                self.expr(value);
                (Kind::Let, Some(name))
            }
            StatementKind::List { name, source } => {
                if let ListSource::Elements(elements) = source {
                    self.expr(elements);
                }
                (Kind::List, Some(name))
            }
            StatementKind::Def { name, params, body } => {
                self.in_scope_of(&[&name.node], params, |this| this.expr(body));
                (Kind::Def, Some(name))
            }
            StatementKind::Extern { name, params, result } => {
                self.fields_of(params);
                self.ty(result);
                (Kind::Extern, Some(name))
            }
            StatementKind::Handler { name, params, .. } => {
                self.fields_of(params);
                (Kind::Handler, Some(name))
            }
            StatementKind::Type { name, ty } => {
                self.ty(ty);
                (Kind::Type, Some(name))
            }
            StatementKind::Input { fields } => {
                self.fields_of(fields);
                let line = |field: &Field| entry(Kind::Field, &field.name, field.name.span.to(field.ty.span));
                inner.extend(fields.iter().map(line));
                (Kind::Input, None)
            }
            StatementKind::Settings { entries } => {
                for (_, value) in entries {
                    // A word such as `insensitive` is not a name. However, the name of a list of
                    // stop words is.
                    if let ExprKind::Name(name) = &value.kind
                        && let Some(id) = self.known(Kind::Let, &[name])
                    {
                        self.uses(id, value.span);
                    }
                }
                (Kind::Settings, None)
            }
            StatementKind::Intent(intent) => {
                self.exprs(intent.keywords.iter().chain(&intent.examples));
                (Kind::Intent, Some(&intent.name))
            }
            StatementKind::Entity(entity) => {
                self.exprs(&entity.patterns);
                (Kind::Entity, Some(&entity.name))
            }
            StatementKind::Lexicon(lexicon) => (Kind::Lexicon, Some(&lexicon.name)),
            StatementKind::Import { path } => (Kind::Import, Some(path)),
            deciding => self.deciding(deciding, inner),
        }
    }

    /// Resolves the names in a statement that takes part in decisions. Returns its kind and its
    /// name.
    fn deciding(&mut self, kind: &'a StatementKind, inner: &mut Vec<Entry>) -> (Kind, Option<&'a Ident>) {
        match kind {
            StatementKind::Route(route) => {
                self.in_locals(&route.locals, |this| {
                    this.expr(&route.condition);
                    this.target(&route.target);
                });
                (Kind::Route, Some(&route.name))
            }
            StatementKind::Default { target } => {
                self.target(target);
                (Kind::Route, None)
            }
            StatementKind::Table { name, statements } => {
                inner.extend(statements.iter().map(|inner| self.statement(inner)));
                (Kind::Table, Some(name))
            }
            StatementKind::Test(test) => {
                self.test(test);
                (Kind::Test, Some(&test.name))
            }
            StatementKind::Choice(choice) => {
                *inner = self.choice(choice);
                (Kind::Choice, Some(&choice.name))
            }
            StatementKind::Flow(flow) => {
                match &flow.trigger {
                    Trigger::Keyword { patterns, .. } => self.expr(patterns),
                    Trigger::Intent { examples, keywords } => self.exprs(examples.iter().chain(keywords)),
                }
                (Kind::Flow, Some(&flow.name))
            }
            StatementKind::FlowTool(tool) => {
                self.entries(&tool.entries);
                (Kind::FlowTool, Some(&tool.name))
            }
            StatementKind::Router(router) => {
                self.router(router);
                (Kind::Router, Some(&router.name))
            }
            StatementKind::Workflow(workflow) => {
                *inner = self.workflow(workflow);
                (Kind::Workflow, Some(&workflow.name))
            }
            StatementKind::Payload(payload) => {
                if let Some(fallback) = &payload.fallback {
                    self.uses_named(Kind::Payload, fallback);
                }
                *inner = self.body(&payload.name, &[], &payload.body);
                (Kind::Payload, Some(&payload.name))
            }
            StatementKind::Group(group) => {
                *inner = self.body(&group.name, &group.params, &group.body);
                (Kind::Group, Some(&group.name))
            }
            // Other kinds of statements do not reach this function.
            _ => (Kind::Let, None),
        }
    }

    /// Calls `walk` with the parameters of a declaration in scope.
    pub(super) fn in_scope_of(
        &mut self,
        owner: &[&'a str],
        params: &'a [Field],
        walk: impl FnOnce(&mut Self),
    ) {
        self.fields_of(params);
        let outer = self.scope.len();
        for param in params {
            let path = [owner, &[param.name.node.as_str()]].concat();
            let id = self.symbol(Kind::Parameter, &path);
            let home = Home::Typed(Kind::Parameter, path, &param.ty);
            self.index.symbols[id].fields = self.fields_behind(home.clone());
            self.scope.push((&param.name.node, Some(id), home));
        }
        walk(self);
        self.scope.truncate(outer);
    }

    /// Calls `walk` with the names that `where` binds in scope. The values of these names can refer
    /// to each other.
    fn in_locals(&mut self, locals: &'a Locals, walk: impl FnOnce(&mut Self)) {
        let outer = self.scope.len();
        for (name, value) in locals {
            let home = self.home(value, DEEP);
            self.bind(Kind::Local, name, name.span.to(value.span), home);
        }
        self.exprs(locals.iter().map(|(_, value)| value));
        walk(self);
        self.scope.truncate(outer);
    }

    fn target(&mut self, target: &'a Target) {
        match target {
            Target::Goto { table, .. } => self.uses_named(Kind::Table, table),
            Target::Handler { name, args, metadata, .. } => {
                self.uses_named(Kind::Handler, name);
                for (param, _) in args {
                    let id = self.symbol(Kind::Parameter, &["handler", &name.node, &param.node]);
                    self.uses(id, param.span);
                }
                self.entries(args);
                self.entries(metadata);
            }
        }
    }

    fn test(&mut self, test: &'a Test) {
        self.local(Kind::Test, &test.name, test.name.span);
        let mut kinds = test.expects.iter().filter_map(|expect| expect.path.first());
        let judged = kinds.find(|kind| self.known(Kind::Payload, &[&kind.node]).is_some());
        let judged = judged.map(|kind| kind.node.as_str());
        for path in test.given.iter().map(|(path, _)| path).chain(&test.columns) {
            self.given(path, judged);
        }
        self.exprs(test.given.iter().map(|(_, value)| value));
        for expect in &test.expects {
            self.exprs(&expect.values);
            self.expected(expect);
        }
    }

    /// Resolves a field to which a test gives a value. It is a field of the input message, or of
    /// the payload that the test validates.
    fn given(&mut self, path: &'a [Ident], judged: Option<&str>) {
        let names: Vec<&str> = path.iter().map(|part| part.node.as_str()).collect();
        if let (Some(kind), ["payload", field, ..]) = (judged, names.as_slice()) {
            if let Some(id) = self.known(Kind::PayloadField, &[kind, field]) {
                self.uses(id, path[1].span);
            }
            return;
        }
        self.given_field(path);
    }

    /// Resolves the expected result of a test: `ROUTE`, `TABLE.ROUTE`, `CHOICE.BRANCH`, a flow, or
    /// a payload with its verdict. Then resolves the expected target.
    fn expected(&mut self, expect: &'a Expectation) {
        let path: Vec<&str> = expect.path.iter().map(|part| part.node.as_str()).collect();
        let known = match path.as_slice() {
            [owner, name] => {
                let payload = self.known(Kind::Payload, &[owner]);
                let inner = self.known(Kind::Route, &path).or_else(|| self.known(Kind::Branch, &path));
                let inner = inner.or_else(|| self.known(Kind::Flow, &[name])).filter(|_| payload.is_none());
                vec![payload.or_else(|| self.known(Kind::Table, &[owner])), inner]
            }
            ["default" | "none"] => Vec::new(),
            [name] => {
                let entry = |this: &Self| this.known(Kind::Table, &[name]);
                vec![self.route_named(name).or_else(|| entry(self))]
            }
            _ => Vec::new(),
        };
        for (known, part) in known.into_iter().zip(&expect.path) {
            if let Some(id) = known {
                self.uses(id, part.span);
            }
        }
        let Some(then) = &expect.then else { return };
        for name in &then.names {
            let handler = self.known(Kind::Handler, &[&name.node]);
            if let Some(id) = handler.or_else(|| self.asked_node(path.first().copied(), &name.node)) {
                self.uses(id, name.span);
            }
        }
        if let [handler] = then.names.as_slice() {
            for (param, _) in &then.args {
                if let Some(id) = self.known(Kind::Parameter, &["handler", &handler.node, &param.node]) {
                    self.uses(id, param.span);
                }
            }
        }
        self.entries(&then.args);
        self.entries(&then.metadata);
    }

    /// Returns the node called `name` in a workflow that uses the router.
    fn asked_node(&self, router: Option<&str>, name: &str) -> Option<SymbolId> {
        let mut workflows = self.asking.get(router?)?.iter();
        workflows.find_map(|workflow| self.known(Kind::Node, &[workflow, name]))
    }

    /// Returns the route, flow or branch with this name. A route outside any table is preferred to
    /// routes in tables.
    fn route_named(&self, name: &str) -> Option<SymbolId> {
        let main = self.known(Kind::Route, &[ROUTES, name]);
        main.or_else(|| self.known(Kind::Flow, &[name])).or_else(|| {
            let mut rules = self.index.symbols.iter().enumerate();
            let rule = |kind| matches!(kind, Kind::Route | Kind::Branch);
            rules.find(|(_, symbol)| rule(symbol.kind) && symbol.name == name).map(|(id, _)| id)
        })
    }

    fn choice(&mut self, choice: &'a Choice) -> Vec<Entry> {
        let line = |branch: &'a Branch, this: &mut Self| {
            this.in_locals(&branch.locals, |this| this.exprs(branch.conditions.iter().flatten()));
            entry(Kind::Branch, &branch.id, branch.span)
        };
        choice.branches.iter().map(|branch| line(branch, self)).collect()
    }

    fn router(&mut self, router: &'a Router) {
        let outer = self.scope.len();
        self.bind(Kind::Parameter, &router.param, router.param.span, Home::Unknown);
        for case in &router.cases {
            self.in_locals(&case.locals, |this| {
                this.exprs(&case.condition);
                for destination in &case.destinations {
                    this.destination(destination, router);
                }
            });
        }
        self.scope.truncate(outer);
    }

    /// Resolves a router destination. If the destination begins with the parameter of the router,
    /// it is a value. Any other destination names a node of a workflow that uses the router.
    fn destination(&mut self, destination: &'a Expr, router: &'a Router) {
        let mut at = destination;
        while let ExprKind::Field(base, _) | ExprKind::Index(base, _) = &at.kind {
            at = base;
        }
        match &at.kind {
            ExprKind::Name(name) if *name == router.param.node => self.expr(destination),
            ExprKind::Name(name) | ExprKind::Literal(Literal::String(name)) => {
                if let Some(node) = self.asked_node(Some(&router.name.node), name) {
                    self.uses(node, at.span);
                }
            }
            _ => {}
        }
    }

    fn workflow(&mut self, workflow: &'a Workflow) -> Vec<Entry> {
        let mut lines = Vec::new();
        for node in &workflow.nodes {
            for next in &node.next {
                let id = self.symbol(Kind::Node, &[&workflow.name.node, &next.node]);
                self.uses(id, next.span);
            }
            if let Some(router) = &node.router {
                self.uses_named(Kind::Router, router);
            }
            self.entries(&node.config);
            lines.push(entry(Kind::Node, &node.id, node.span));
        }
        lines
    }
}
