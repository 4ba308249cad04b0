//! Index of every name in the files, with its declaration and its uses. Go-to-definition,
//! references, renaming, outlines and token colours use this index. The index is built from the
//! syntax tree alone, so it is available while other statements have errors. Names are resolved as
//! the type checker resolves them.

mod expr;
mod fields_source;
mod payload;
mod statement;

use fields_source::FieldsSource;
use hashbrown::{Equivalent, HashMap, HashSet};
use rulec_base::span::{FileId, Span};
use rulec_syntax::ast::{Expr, Field, Group, Ident, Literal, TypeExpr};
use rulec_syntax::loader::LoadedFiles;
use std::hash::{Hash, Hasher};

/// The kind of a symbol. A symbol is a declaration that names in rules refer to, such as a route,
/// or an undeclared field of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeclarationKind {
    Let,
    Def,
    List,
    Extern,
    Type,
    Handler,
    Table,
    Route,
    Test,
    Choice,
    Branch,
    Flow,
    FlowTool,
    Router,
    Workflow,
    Node,
    Intent,
    Entity,
    Lexicon,
    Payload,
    Group,
    /// A parameter of a `def`, function, handler, group or router.
    Parameter,
    /// A name bound by a quantifier, `where`, `each` or the `let` of a payload.
    Local,
    /// A field of the input message.
    Field,
    /// A field that a `payload` or `group` statement declares.
    PayloadField,
    /// A field of a record type that a `type` statement declares.
    TypeField,
    /// An `import` statement in an outline. The kinds `Import`, `Input` and `Settings` declare no
    /// name.
    Import,
    Input,
    Settings,
    History,
}

impl DeclarationKind {
    /// Returns the word by which messages name a symbol of this kind.
    pub fn to_word(self) -> &'static str {
        match self {
            DeclarationKind::Let => "let",
            DeclarationKind::Def => "def",
            DeclarationKind::List => "list",
            DeclarationKind::Extern => "extern fn",
            DeclarationKind::Type => "type",
            DeclarationKind::Handler => "handler",
            DeclarationKind::Table => "table",
            DeclarationKind::Route => "route",
            DeclarationKind::Test => "test",
            DeclarationKind::Choice => "choice",
            DeclarationKind::Branch => "branch",
            DeclarationKind::Flow => "flow",
            DeclarationKind::FlowTool => "flow tool",
            DeclarationKind::Router => "router",
            DeclarationKind::Workflow => "workflow",
            DeclarationKind::Node => "node",
            DeclarationKind::Intent => "intent",
            DeclarationKind::Entity => "entity",
            DeclarationKind::Lexicon => "lexicon",
            DeclarationKind::Payload => "payload",
            DeclarationKind::Group => "group",
            DeclarationKind::Parameter => "parameter",
            DeclarationKind::Local => "name",
            DeclarationKind::Field | DeclarationKind::PayloadField | DeclarationKind::TypeField => "field",
            DeclarationKind::Import => "import",
            DeclarationKind::Input => "input",
            DeclarationKind::Settings => "settings",
            DeclarationKind::History => "history",
        }
    }

    /// Returns the kind that represents the namespace of this kind. Kinds with the same
    /// representative share a namespace, in which symbols must have different names.
    fn namespace_kind(self) -> DeclarationKind {
        match self {
            DeclarationKind::Def | DeclarationKind::List | DeclarationKind::Extern => DeclarationKind::Let,
            DeclarationKind::Choice | DeclarationKind::Router => DeclarationKind::Table,
            kind => kind,
        }
    }
}

/// The id of a symbol: its index in the list of symbols of a [`SymbolIndex`].
pub type SymbolId = usize;

#[derive(Clone, Debug)]
pub struct Symbol {
    pub kind: DeclarationKind,
    pub name: String,
    /// The path from the top level to the symbol; its last element is the symbol's own name. For
    /// the field `ctx.n`, the path is `ctx`, `n`. Only fields and nested names have more than one
    /// element.
    pub path: Vec<String>,
    pub declaration: Option<Declaration>,
    /// Where the fields of this symbol's value are declared: the kind and path of another symbol,
    /// such as the message field `ctx.user`. For a recorded message, the kind is `History`, and the
    /// path is empty. `None` unless the value is a record with known fields.
    pub fields_owner: Option<(DeclarationKind, Vec<String>)>,
}

/// Where a symbol is declared, and the doc comment of the declaration.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub name_span: Span,
    /// The span of the whole declaration; the span of the name is separate.
    pub whole_span: Span,
    /// The doc comment of the declaration; may be empty.
    pub docs: String,
}

/// An occurrence of a symbol's name in the source: its declaration or a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    pub span: Span,
    pub symbol: SymbolId,
    pub is_declaration: bool,
}

/// An entry of a file's outline: a statement or a nested declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineEntry {
    pub kind: DeclarationKind,
    pub name: String,
    /// The span of the declared name, or of the statement's first word if there is no name.
    pub name_span: Span,
    pub span: Span,
    pub inner: Vec<OutlineEntry>,
}

#[derive(Default)]
pub struct SymbolIndex {
    pub symbols: Vec<Symbol>,
    /// The places where the names of all symbols (declared names) occur, in source order.
    occurrences: Vec<Occurrence>,
    /// The outline of each file, in the order in which the files were read.
    outlines: Vec<(FileId, Vec<OutlineEntry>)>,
    /// The spans of all expressions that have an operator or a call. Editors can select such an
    /// expression, and a refactoring extracts it.
    pub(super) expression_spans: HashSet<Span>,
    /// The lists of constants that are written within conditions, in source order.
    pub(super) lists: Vec<ListLiteral>,
    /// The spans of the names `at`, `decision`, `chosen` and `target` that are read from a recorded
    /// message. The history adds these fields, so they have no declaration.
    pub(super) recorded_fields: HashSet<Span>,
}

/// A list of constants that is written within a condition.
pub(super) struct ListLiteral {
    pub span: Span,
    pub elements: Vec<Literal>,
    /// The name of the field that is compared with the list; `None` if the list is no operand of a
    /// comparison with a field.
    pub compared_field: Option<String>,
}

impl SymbolIndex {
    pub(super) fn new(loaded: &LoadedFiles) -> SymbolIndex {
        let mut builder = SymbolIndexBuilder::default();
        // A name may be declared after its use or in another file, so all declarations are
        // collected first.
        for unit in &loaded.files {
            unit.statements.iter().for_each(|statement| builder.declare_statement(statement));
        }
        for unit in &loaded.files {
            let outline =
                unit.statements.iter().map(|statement| builder.resolve_statement(statement)).collect();
            builder.index.outlines.push((unit.file, outline));
        }
        let mut index = builder.index;
        index.lists.sort_by_key(|list| list.span);
        index.occurrences.sort_by_key(|occurrence| (occurrence.span, !occurrence.is_declaration));
        index.occurrences.dedup_by_key(|occurrence| occurrence.span);
        index
    }

    /// Returns the occurrence of a name at an offset. The offset just after a name also counts.
    /// `None` if the offset is not in a name.
    pub fn occurrence_at(&self, file: FileId, offset: u32) -> Option<Occurrence> {
        let end = self
            .occurrences
            .partition_point(|occurrence| (occurrence.span.file, occurrence.span.start) <= (file, offset));
        let candidate = self.occurrences[..end].last()?;
        (candidate.span.file == file && offset <= candidate.span.end).then_some(*candidate)
    }

    /// Returns the places in all files where the name of a symbol is declared or used.
    pub fn occurrences_of(&self, symbol: SymbolId) -> impl Iterator<Item = Occurrence> {
        self.occurrences.iter().copied().filter(move |occurrence| occurrence.symbol == symbol)
    }

    /// Returns the occurrences of names in a file, in source order.
    pub fn occurrences_in(&self, file: FileId) -> &[Occurrence] {
        let start = self.occurrences.partition_point(|occurrence| occurrence.span.file < file);
        let end = self.occurrences.partition_point(|occurrence| occurrence.span.file <= file);
        &self.occurrences[start..end]
    }

    /// Returns the fields that the declaration with this kind and path contains, without nested
    /// fields.
    pub fn fields_declared_in(
        &self,
        (kind, path): &(DeclarationKind, Vec<String>),
    ) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |symbol| {
            symbol.kind == *kind
                && symbol.path.len() == path.len() + 1
                && symbol.path.starts_with(path)
                && symbol.name != fields_source::ELEMENT_SEGMENT
        })
    }

    /// Returns the outline of a file: its statements with their nested declarations.
    pub fn outline(&self, file: FileId) -> &[OutlineEntry] {
        self.outlines
            .iter()
            .find(|(outline_file, _)| *outline_file == file)
            .map_or(&[], |(_, outline)| outline)
    }

    /// Returns the symbols that have one of these kinds.
    pub fn symbols_of_kinds(&self, kinds: &[DeclarationKind]) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |symbol| kinds.contains(&symbol.kind))
    }
}

/// The namespace and the path of a symbol (a declared name), by which it is found.
struct SymbolKey(DeclarationKind, Vec<String>);

/// A [`SymbolKey`] that owns no text, so that a lookup allocates nothing.
#[derive(Clone, Copy)]
struct SymbolKeyView<'k>(DeclarationKind, &'k [&'k str]);

/// Hashes a namespace and a path; equal for a [`SymbolKey`] and its view.
fn hash_key<'k>(kind: DeclarationKind, path: impl Iterator<Item = &'k str>, state: &mut impl Hasher) {
    kind.hash(state);
    path.for_each(|name| name.hash(state));
}

impl Hash for SymbolKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_key(self.0, self.1.iter().map(String::as_str), state);
    }
}

impl Hash for SymbolKeyView<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_key(self.0, self.1.iter().copied(), state);
    }
}

impl Equivalent<SymbolKey> for SymbolKeyView<'_> {
    fn equivalent(&self, key: &SymbolKey) -> bool {
        self.0 == key.0 && self.1 == key.1.as_slice()
    }
}

impl PartialEq for SymbolKey {
    fn eq(&self, other: &SymbolKey) -> bool {
        self.0 == other.0 && self.1 == other.1
    }
}

impl Eq for SymbolKey {}

/// An index under construction, with the state of name resolution.
#[derive(Default)]
struct SymbolIndexBuilder<'a> {
    index: SymbolIndex,
    ids_by_path: HashMap<SymbolKey, SymbolId>,
    /// The fields that the `input` statement declares; `None` without such a statement.
    input_fields: Option<&'a [Field]>,
    /// Whether the rules have a `history` statement, so that `history` and `previous` are names.
    has_history: bool,
    types: HashMap<&'a str, &'a TypeExpr>,
    groups: HashMap<&'a str, &'a Group>,
    /// For each router, the names of the workflows that use it.
    workflows_by_router: HashMap<&'a str, Vec<&'a str>>,
    /// The local names in scope at the current expression, innermost last. Each has its symbol
    /// (`None` for a name of the language itself), and where the fields of its value are declared.
    scope: Vec<(&'a str, Option<SymbolId>, FieldsSource<'a>)>,
    /// The value of each `let` statement by the name that it defines.
    let_values: HashMap<&'a str, &'a Expr>,
    /// The name of the payload or group whose body is being resolved; `None` outside such a body.
    /// Inside it, the name `payload` refers to the fields of this payload or group.
    current_payload: Option<&'a str>,
    /// Whether the current expression belongs to a condition, or to the value of a `let` or `def`.
    is_in_condition: bool,
}

impl<'a> SymbolIndexBuilder<'a> {
    /// Returns the id of the symbol with this kind and path. Adds the symbol if it does not exist.
    fn find_or_add_symbol(&mut self, kind: DeclarationKind, path: &[&str]) -> SymbolId {
        if let Some(existing_id) = self.ids_by_path.get(&SymbolKeyView(kind.namespace_kind(), path)) {
            return *existing_id;
        }
        let owned_path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        let name = owned_path.last().cloned().unwrap_or_default();
        self.index.symbols.push(Symbol {
            kind,
            name,
            path: owned_path.clone(),
            declaration: None,
            fields_owner: None,
        });
        let id = self.index.symbols.len() - 1;
        self.ids_by_path.insert(SymbolKey(kind.namespace_kind(), owned_path), id);
        id
    }

    fn find_symbol(&self, kind: DeclarationKind, path: &[&str]) -> Option<SymbolId> {
        self.ids_by_path.get(&SymbolKeyView(kind.namespace_kind(), path)).copied()
    }

    /// Adds the declaration of a symbol, and returns the symbol's id. If the name is declared
    /// several times, the first declaration is kept.
    fn declare_symbol(
        &mut self,
        kind: DeclarationKind,
        path: &[&str],
        name_span: Span,
        declaration_span: Span,
        docs: &str,
    ) -> SymbolId {
        let id = self.find_or_add_symbol(kind, path);
        let symbol = &mut self.index.symbols[id];
        if symbol.declaration.is_none() {
            symbol.kind = kind;
            symbol.declaration =
                Some(Declaration { name_span, whole_span: declaration_span, docs: docs.to_owned() });
        }
        self.index.occurrences.push(Occurrence { span: name_span, symbol: id, is_declaration: true });
        id
    }

    /// Adds the declaration of a name that is visible only in a part of a statement. Other
    /// statements may declare the same name again, so each declaration is a symbol of its own.
    /// `declaration_span` is the span of the whole declaration.
    fn declare_local(&mut self, kind: DeclarationKind, name: &'a Ident, declaration_span: Span) -> SymbolId {
        let declared =
            Some(Declaration { name_span: name.span, whole_span: declaration_span, docs: String::new() });
        let path = vec![name.node.clone()];
        let owned_name = name.node.clone();
        self.index.symbols.push(Symbol {
            kind,
            name: owned_name,
            path,
            declaration: declared,
            fields_owner: None,
        });
        let id = self.index.symbols.len() - 1;
        self.index.occurrences.push(Occurrence { span: name.span, symbol: id, is_declaration: true });
        id
    }

    /// Declares a local name and adds it to the scope. `fields_source` is where the fields of the
    /// name's value are declared.
    fn declare_and_bind(
        &mut self,
        kind: DeclarationKind,
        name: &'a Ident,
        declaration_span: Span,
        fields_source: FieldsSource<'a>,
    ) {
        let id = self.declare_local(kind, name, declaration_span);
        self.index.symbols[id].fields_owner = self.declaration_of_fields(fields_source.clone());
        self.scope.push((&name.node, Some(id), fields_source));
    }

    fn add_use(&mut self, symbol: SymbolId, span: Span) {
        self.index.occurrences.push(Occurrence { span, symbol, is_declaration: false });
    }

    fn add_use_of_name(&mut self, kind: DeclarationKind, name: &Ident) {
        let symbol = self.find_or_add_symbol(kind, &[&name.node]);
        self.add_use(symbol, name.span);
    }
}

/// Creates an entry of a file's outline, without nested entries.
fn outline_entry(kind: DeclarationKind, name: &Ident, span: Span) -> OutlineEntry {
    OutlineEntry { kind, name: name.node.clone(), name_span: name.span, span, inner: Vec::new() }
}

/// Returns the first two names of the path of a parameter of the group `name`; the third is the
/// name of the parameter. The first name has backquotes, which no declared name contains. So the
/// path differs from the path of every function parameter.
fn group_params_path_prefix(name: &str) -> [&str; 2] {
    ["`group`", name]
}
