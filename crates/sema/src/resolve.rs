//! Name resolution: collects the names that each file declares, computes which names each file
//! sees, orders definitions so that dependencies come first, and reports duplicate declarations.

mod joined;

use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span, Spanned};
use rulec_syntax::ast::{self, Expr, ExprKind, Ident, Statement, StatementKind};
use rulec_syntax::loader::LoadedFiles;

/// A statement that defines a name which expressions can use.
#[derive(Clone, Copy, Debug)]
pub enum Definition<'a> {
    Let { value: &'a Expr },
    Def { params: &'a [ast::Field], body: &'a Expr },
    List { source: &'a ast::ListSource },
    Extern { params: &'a [ast::Field], result: &'a ast::TypeExpr },
}

impl Definition<'_> {
    /// True for a definition that is used without arguments, such as a `let`. A message can then
    /// suggest it in place of a misspelt field.
    pub fn is_value(&self) -> bool {
        matches!(self, Definition::Let { .. } | Definition::List { .. })
    }

    pub fn keyword(&self) -> &'static str {
        match self {
            Definition::Let { .. } => "let",
            Definition::Def { .. } => "def",
            Definition::List { .. } => "list",
            Definition::Extern { .. } => "extern fn",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a, T> {
    pub declaration: T,
    pub name: &'a Ident,
}

/// The declared names of one kind, such as all types, in declaration order.
#[derive(Debug)]
pub struct DeclaredNames<'a, T> {
    symbols: Vec<Symbol<'a, T>>,
    by_name: HashMap<&'a str, usize>,
}

impl<T> Default for DeclaredNames<'_, T> {
    fn default() -> Self {
        DeclaredNames { symbols: Vec::new(), by_name: HashMap::new() }
    }
}

impl<'a, T> DeclaredNames<'a, T> {
    fn declare_name(&mut self, kind: Message, name: &'a Ident, node: T, diagnostics: &mut Vec<Diagnostic>) {
        if let Some(first) = self.get(&name.node) {
            diagnostics.push(duplicate_error(kind, &name.node, first.name.span, name.span));
            return;
        }
        self.by_name.insert(&name.node, self.symbols.len());
        self.symbols.push(Symbol { declaration: node, name });
    }

    /// Returns the symbol (declared name) with this name, from any file; `None` if there is none.
    pub fn get(&self, name: &str) -> Option<&Symbol<'a, T>> {
        self.by_name.get(name).map(|index| &self.symbols[*index])
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Symbol<'a, T>> {
        self.symbols.iter()
    }

    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.symbols.iter().map(|symbol| symbol.name.node.as_str())
    }

    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

pub fn duplicate_error(what: Message, name: &str, first: Span, second: Span) -> Diagnostic {
    Diagnostic::new(Code::Duplicate, second, message!("the {what} `{name}` is declared twice"))
        .here(message!("declared again"))
        .label(first, message!("first declared here"))
        .help(message!("rename one of them or remove it"))
}

/// Builds the diagnostic for names whose definitions form a cycle.
pub fn cycle_error(members: &[&Ident]) -> Diagnostic {
    if let [name] = members {
        let name = name.node.as_str();
        let message = message!("`{name}` is defined in terms of itself");
        let help = message!(
            "give the definition another name, as in `let my_{name} = …`; a field of the message can then be \
            read as `{name}` in it"
        );
        return Diagnostic::new(Code::DefinitionCycle, members[0].span, message).help(help);
    }
    let chain: Vec<&str> = members.iter().chain(members.first()).map(|name| name.node.as_str()).collect();
    let message = message!("`{}` is defined in terms of itself", members[0].node);
    Diagnostic::new(Code::DefinitionCycle, members[0].span, message)
        .here(message!("part of the cycle"))
        .help(message!("the cycle is {}; remove one of these references", chain.join(" → ")))
}

/// Builds the diagnostic for a declaration of a built-in name. `what` is the kind of the built-in
/// item in words, such as `function`.
fn built_in_name_error(name: &Ident, what: Message) -> Diagnostic {
    Diagnostic::new(Code::Duplicate, name.span, message!("`{}` is a built-in {what}", name.node))
        .here(message!("declared again"))
        .help(message!("choose another name"))
}

#[derive(Clone, Copy, Debug)]
pub struct TableDecl<'a> {
    pub statements: &'a [Statement],
    pub docs: &'a str,
}

#[derive(Clone, Copy, Debug)]
pub struct HandlerDecl<'a> {
    pub params: &'a [ast::Field],
    pub required_permissions: &'a [Spanned<String>],
    pub docs: &'a str,
}

/// All names that the files of a rule set declare, by kind of declaration.
#[derive(Default)]
pub struct Symbols<'a> {
    /// Names that `let`, `def`, `list` or `extern fn` declares.
    pub definitions: DeclaredNames<'a, Definition<'a>>,
    pub types: DeclaredNames<'a, &'a ast::TypeExpr>,
    pub handlers: DeclaredNames<'a, HandlerDecl<'a>>,
    pub tables: DeclaredNames<'a, TableDecl<'a>>,
    pub intents: DeclaredNames<'a, &'a ast::Intent>,
    pub entities: DeclaredNames<'a, &'a ast::Entity>,
    pub lexicons: DeclaredNames<'a, &'a ast::Lexicon>,
    /// Names that `payload` declares, each with the statement and its doc comment.
    pub payloads: DeclaredNames<'a, (&'a ast::Payload, &'a str)>,
    pub groups: DeclaredNames<'a, &'a ast::Group>,
    visible_files: HashMap<FileId, HashSet<FileId>>,
    broken_names: HashSet<&'a str>,
    /// Whether a file or an import could not be read, so that any declaration may be missing.
    is_incomplete: bool,
}

impl<'a> Symbols<'a> {
    pub fn collect_symbols(loaded: &'a LoadedFiles, diagnostics: &mut Vec<Diagnostic>) -> Symbols<'a> {
        let mut symbols = Symbols::default();
        // Imported files come before the files that import them. So `symbols.visible_files` already
        // contains the files that each import sees.
        for unit in &loaded.files {
            let mut visible = HashSet::from([unit.file]);
            for import in &unit.imports {
                visible.insert(*import);
                visible.extend(symbols.visible_files.get(import).into_iter().flatten());
            }
            symbols.visible_files.insert(unit.file, visible);
            symbols.is_incomplete |= unit.is_incomplete;
            symbols.broken_names.extend(unit.broken_names.iter().map(|name| name.node.as_str()));
            for statement in &unit.statements {
                symbols.declare_statement(statement, &loaded.sources, diagnostics);
            }
        }
        symbols
    }

    fn declare_statement(
        &mut self,
        statement: &'a Statement,
        sources: &SourceMap,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let mut define = |name: &'a Ident, definition: Definition<'a>| {
            if rulec_lang::builtins::Function::from_name(&name.node).is_some() {
                return diagnostics.push(built_in_name_error(name, message!("function")));
            }
            let kind = match self.definitions.get(&name.node) {
                Some(first) if first.declaration.keyword() != definition.keyword() => message!("name"),
                _ => Message::verbatim(definition.keyword()),
            };
            let first = self.definitions.get(&name.node).copied();
            self.definitions.declare_name(kind, name, definition, diagnostics);
            let joined = first.and_then(|first| {
                joined::joined_definition_help(sources, (first.name, first.declaration), definition)
            });
            if let (Some(help), Some(duplicate)) = (joined, diagnostics.last_mut()) {
                duplicate.help = Some(help);
            }
        };
        use StatementKind as Kind;
        match &statement.kind {
            Kind::Let { name, value } => define(name, Definition::Let { value }),
            Kind::Def { name, params, body } => define(name, Definition::Def { params, body }),
            Kind::List { name, source } => define(name, Definition::List { source }),
            Kind::Extern { name, params, result } => {
                define(name, Definition::Extern { params, result });
            }
            Kind::Type { name, ty } => {
                if rulec_lang::ty::Ty::BUILTIN_NAMES.contains(&name.node.as_str()) {
                    return diagnostics.push(built_in_name_error(name, message!("type")));
                }
                self.types.declare_name(message!("type"), name, ty, diagnostics);
            }
            Kind::Handler { name, params, requires } => {
                let handler = HandlerDecl { params, required_permissions: requires, docs: &statement.docs };
                self.handlers.declare_name(message!("handler"), name, handler, diagnostics);
            }
            Kind::Table { name, statements } => {
                let table = TableDecl { statements, docs: &statement.docs };
                self.tables.declare_name(message!("table"), name, table, diagnostics);
            }
            Kind::Intent(intent) => {
                self.intents.declare_name(message!("intent"), &intent.name, intent, diagnostics)
            }
            Kind::Entity(entity) => {
                self.entities.declare_name(message!("entity"), &entity.name, entity, diagnostics)
            }
            Kind::Lexicon(lexicon) => {
                self.lexicons.declare_name(message!("lexicon"), &lexicon.name, lexicon, diagnostics)
            }
            Kind::Payload(payload) => self.payloads.declare_name(
                message!("payload"),
                &payload.name,
                (payload, &statement.docs),
                diagnostics,
            ),
            Kind::Group(group) => {
                self.groups.declare_name(message!("group"), &group.name, group, diagnostics)
            }
            _ => {}
        }
    }

    /// True if `file` can use a declaration at `span`. The declaration must be in the file itself
    /// or in one of its direct and indirect imports.
    pub fn is_visible(&self, file: FileId, span: Span) -> bool {
        self.visible_files.get(&file).is_none_or(|visible| visible.contains(&span.file))
    }

    /// Returns the files whose declarations a file can use: the file itself and its direct and
    /// indirect imports.
    pub fn visible_files(&self, file: FileId) -> HashSet<FileId> {
        self.visible_files.get(&file).cloned().unwrap_or_default()
    }

    /// True if a statement that would declare a name has a syntax error, or if a file could not be
    /// read.
    pub fn has_broken_names(&self) -> bool {
        self.is_incomplete || !self.broken_names.is_empty()
    }

    /// True if a statement that has a syntax error would have declared this name, or if a file
    /// could not be read. The checker then does not report the name as unknown.
    pub fn is_name_broken(&self, name: &str) -> bool {
        self.is_incomplete || self.broken_names.contains(name)
    }

    /// True if an `input` statement has a syntax error, so that types may be missing.
    pub fn is_input_broken(&self) -> bool {
        self.is_name_broken("input")
    }

    pub fn definition(&self, file: FileId, name: &str) -> Option<&Symbol<'a, Definition<'a>>> {
        self.definitions.get(name).filter(|symbol| self.is_visible(file, symbol.name.span))
    }

    /// Sorts the definitions so that each comes after the definitions that it uses. Reports cycles
    /// in `diagnostics`, and leaves their members out.
    pub fn definition_order(&self, diagnostics: &mut Vec<Diagnostic>) -> Vec<&Symbol<'a, Definition<'a>>> {
        let uses = |symbol: &Symbol<'a, Definition<'a>>| -> Vec<usize> {
            let (expr, params): (_, &[ast::Field]) = match symbol.declaration {
                Definition::Let { value } => (value, &[]),
                Definition::Def { params, body } => (body, params),
                Definition::List { source: ast::ListSource::Elements(elements) } => (elements, &[]),
                Definition::List { .. } | Definition::Extern { .. } => return Vec::new(),
            };
            let mut names = Vec::new();
            collect_names(expr, &mut names);
            names.retain(|name| !params.iter().any(|param| param.name.node == *name));
            names.into_iter().filter_map(|name| self.definitions.position(name)).collect()
        };
        let (order, circles) = topological_sort(&self.definitions.iter().map(uses).collect::<Vec<_>>());
        for members in circles {
            let names: Vec<&Ident> =
                members.into_iter().map(|index| self.definitions.symbols[index].name).collect();
            diagnostics.push(cycle_error(&names));
        }
        order.into_iter().map(|index| &self.definitions.symbols[index]).collect()
    }
}

/// Collects the names that an expression mentions. The recursion is as deep as the expression, at
/// most 128.
pub fn collect_names<'e>(expr: &'e Expr, names: &mut Vec<&'e str>) {
    match &expr.kind {
        ExprKind::Literal(_) => {}
        ExprKind::Name(name) => names.push(name),
        // `request.context_score` refers to the definition `context_score`.
        ExprKind::Field(base, name) if name.node == "context_score" => {
            names.push(&name.node);
            collect_names(base, names);
        }
        ExprKind::Field(inner, _)
        | ExprKind::As(inner, _)
        | ExprKind::Unary(_, inner)
        | ExprKind::Presence { operand: inner, .. } => collect_names(inner, names),
        ExprKind::List(items) | ExprKind::Logic(_, items) | ExprKind::Block(_, items) => {
            items.iter().for_each(|item| collect_names(item, names));
        }
        ExprKind::If(parts) => parts.iter().for_each(|part| collect_names(part, names)),
        ExprKind::Record(entries) => entries.iter().for_each(|(_, value)| collect_names(value, names)),
        ExprKind::Call(name, args) => {
            names.push(&name.node);
            args.iter().for_each(|arg| collect_names(&arg.value, names));
        }
        ExprKind::Binary(binary) => {
            collect_names(&binary.left, names);
            collect_names(&binary.right, names);
        }
        ExprKind::Index(first, second) | ExprKind::Range { start: first, end: second, .. } => {
            collect_names(first, names);
            collect_names(second, names);
        }
        ExprKind::Quantifier { kind, list, body, .. } => {
            let summed = match kind {
                ast::QuantifierKind::Sum(value) => Some(&**value),
                _ => None,
            };
            [&**list, &**body].into_iter().chain(summed).for_each(|part| collect_names(part, names));
        }
        ExprKind::HistoryPart(part) => {
            let bounds = [&part.max_age, &part.after_message, &part.before_message].into_iter().flatten();
            bounds.for_each(|bound| collect_names(bound, names));
        }
    }
}

/// Sorts the nodes of a graph topologically: each node comes after the nodes to which it has edges.
/// Also returns the cycles, whose nodes are not in the sorted list. Iterative, because chains may
/// be long.
pub fn topological_sort(edges: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    #[derive(Clone, Copy, PartialEq)]
    enum VisitState {
        Unvisited,
        OnStack,
        Done,
        InCycle,
    }
    let mut states = vec![VisitState::Unvisited; edges.len()];
    let (mut order, mut cycles) = (Vec::new(), Vec::new());
    for root in 0..edges.len() {
        if states[root] != VisitState::Unvisited {
            continue;
        }
        let mut stack = vec![(root, 0)];
        states[root] = VisitState::OnStack;
        while let Some((node, next)) = stack.last_mut() {
            let node = *node;
            match edges[node].get(*next) {
                Some(&target) => {
                    *next += 1;
                    match states[target] {
                        VisitState::Unvisited => {
                            states[target] = VisitState::OnStack;
                            stack.push((target, 0));
                        }
                        VisitState::OnStack => {
                            let start = stack.iter().position(|(stacked, _)| *stacked == target).unwrap_or(0);
                            let cycle: Vec<usize> =
                                stack[start..].iter().map(|(stacked, _)| *stacked).collect();
                            cycle.iter().for_each(|member| states[*member] = VisitState::InCycle);
                            cycles.push(cycle);
                        }
                        VisitState::InCycle | VisitState::Done => {}
                    }
                }
                None => {
                    stack.pop();
                    if states[node] == VisitState::OnStack {
                        states[node] = VisitState::Done;
                        order.push(node);
                    }
                }
            }
        }
    }
    (order, cycles)
}

#[cfg(test)]
mod tests {
    use super::topological_sort;

    #[test]
    fn dependencies_come_first_and_cycles_are_returned() {
        let check = |edges: &[&[usize]], order: &[usize], circles: &[&[usize]]| {
            let edges: Vec<Vec<usize>> = edges.iter().map(|targets| targets.to_vec()).collect();
            let (found, rings) = topological_sort(&edges);
            assert_eq!(found, order);
            assert_eq!(rings, circles);
        };
        check(&[&[1], &[2], &[]], &[2, 1, 0], &[]);
        check(&[&[1], &[0]], &[], &[&[0, 1]]);
        check(&[&[0], &[]], &[1], &[&[0]]);
        check(&[&[1], &[2, 0], &[]], &[2], &[&[0, 1]]);
    }
}
