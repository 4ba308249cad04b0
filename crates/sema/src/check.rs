//! Type checker: lowers syntax trees to the typed program. Without a declared `input` the checker
//! runs two passes. In the first pass every use of a message field narrows the field's type; the
//! second pass builds the program with the narrowed types.

mod address;
mod always;
mod blanks;
mod branch;
mod call;
mod call_help;
mod capture;
mod clock;
mod constant;
mod decide;
mod decimal;
mod definition;
mod doubtful;
mod enumeration;
mod epoch;
mod exchanged;
mod expr;
mod fields;
mod file_settings;
mod flow;
mod foreign_day;
mod foreign_regex;
mod fraction;
mod habits;
mod history;
mod known;
mod locals;
mod meant;
mod meant_call;
mod meant_condition;
mod meant_constant;
mod meant_count;
mod meant_place;
mod meant_prefix;
mod mismatch;
mod names;
mod narrowing;
mod nested;
mod network;
mod node_settings;
mod operands;
mod operator;
mod path;
mod pattern;
mod payload;
mod permission;
mod presence;
mod quantifier;
mod quoted;
mod read;
mod reason;
mod regex_help;
mod request;
mod scheme;
mod scope;
mod settings;
mod statement;
mod substitute;
mod suppressions;
mod test;
mod types;
mod units;
mod unknown;
mod unused;
mod uses;
mod vain;
mod wildcard;
mod workflow;

pub use node_settings::{BUILT_IN_NODE_KINDS, node_setting_names};
pub use pattern::regex_too_large;
pub use settings::{SETTINGS, Setting};
pub use suppressions::Suppressions;
pub use uses::{CountedFields, CountedUses, KnownFields, RouteUses, UsesByRoute};

use crate::hir::{self, ExprSize, MAX_CONDITION_DEPTH, MAX_CONDITION_NODES, Program, Term};
use crate::resolve::{Definition, Symbols, duplicate_error};
use fields::MessageFields;
use file_settings::{FileSettings, SettingUses};
use hashbrown::{HashMap, HashSet};
use names::join_names;
use rulec_base::diag::{Code, Diagnostic, Label, Message, nearest};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_lang::ty::Ty;
use rulec_syntax::ast::{self, Statement, StatementKind};
use rulec_syntax::loader::LoadedFiles;
use scope::{Binding, Scope};
use serde_json::{Map, Value as Json};
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

/// The error of a check that has already reported a diagnostic about its cause. Callers report
/// nothing more; they only stop or continue with the next item.
pub struct AlreadyReported;

pub type Checked<T> = Result<T, AlreadyReported>;

/// Checks all loaded files and lowers them to a typed program. The program is complete only if no
/// diagnostic is an error.
pub fn check(loaded: &LoadedFiles) -> (Program, Vec<Diagnostic>) {
    let (program, diagnostics, _) = check_program_or_route(loaded, true, |_| {});
    (program, diagnostics)
}

/// Checks like [`check`]. Also returns the message fields with counts of their uses, and the fields
/// that each route uses. With this data, routes can later be added and removed.
pub fn check_and_count_fields(
    loaded: &LoadedFiles,
) -> (Program, Vec<Diagnostic>, (CountedFields, UsesByRoute)) {
    let (program, diagnostics, fields) =
        check_program_or_route(loaded, true, |fields| fields.counted_uses = Some(CountedUses::default()));
    (program, diagnostics, fields.into_known_fields())
}

/// Checks one route that will be added to an existing program. The route must not change the types
/// in `known`, the message fields of that program. Also returns the undeclared fields that the
/// route uses, with the kinds of value that the route accepts.
pub fn check_route(loaded: &LoadedFiles, known: KnownFields) -> (Program, Vec<Diagnostic>, RouteUses) {
    // Unused declarations are not reported: other routes of the program may use them.
    let (program, diagnostics, fields) = check_program_or_route(loaded, false, |fields| match known {
        KnownFields::Input(input) => fields.input = Some(input),
        KnownFields::Uses(uses) => fields.existing_uses = Some(uses),
    });
    (program, diagnostics, fields.last_route_uses)
}

/// Checks a whole program or one new route. `prepare_fields` sets up the message fields before the
/// check, for example with the fields of the program to which the route will be added.
fn check_program_or_route(
    loaded: &LoadedFiles,
    is_whole_program: bool,
    prepare_fields: impl FnOnce(&mut MessageFields),
) -> (Program, Vec<Diagnostic>, MessageFields) {
    let mut diagnostics = Vec::new();
    let symbols = Symbols::collect_symbols(loaded, &mut diagnostics);
    let order = symbols.definition_order(&mut diagnostics);
    let mut checker = Checker::new(loaded, &symbols, diagnostics);
    prepare_fields(&mut checker.fields);
    checker.declare_types();
    checker.declare_input();
    checker.declare_history();
    checker.declare_handlers();
    let declaration_diagnostics = std::mem::take(&mut checker.diagnostics);
    if checker.fields.infers_types() {
        let program_before_pass = checker.program.clone();
        checker.run_pass(&order);
        let patterns = std::mem::take(&mut checker.program.regex_facts);
        checker.program = Program { regex_facts: patterns, ..program_before_pass };
        checker.reset_for_next_pass();
    }
    checker.run_pass(&order);
    // If uses of one field conflict, other diagnostics at these uses would only distract.
    let conflicts = std::mem::take(&mut checker.fields.conflicts);
    let conflicting_spans = conflicts.iter().flat_map(|conflict| &conflict.labels).map(|label| label.span);
    let conflicting_spans: HashSet<Span> = conflicting_spans.collect();
    let follows_from_conflict = |label: &Label| conflicting_spans.contains(&label.span);
    checker.diagnostics.retain(|diagnostic| !diagnostic.labels.iter().any(follows_from_conflict));
    if conflicts.is_empty() {
        checker.warn_narrowed_uses();
    }
    checker.diagnostics.extend(conflicts);
    checker.diagnostics.splice(0..0, declaration_diagnostics);
    checker.check_regex_memory();
    checker.warn_unused_definitions(is_whole_program);
    checker.program.slots = std::mem::take(&mut checker.fields.slots);
    if is_whole_program {
        checker.collect_unused();
    }
    checker.check_graphs();
    checker.program.compute_each_depths();
    if let Some(input) = checker.fields.declared_root_fields() {
        checker.program.hash_private_history(input);
    }
    rulec_syntax::parse::remove_broken_fixes(&loaded.sources, &mut checker.diagnostics);
    (checker.program, checker.diagnostics, checker.fields)
}

/// A checked definition of a name that expressions can use: a `let`, `def`, `list` or `extern fn`.
#[derive(Clone)]
enum CheckedDefinition {
    Let(hir::LetId),
    Def(Arc<DefBody>),
    List(hir::Expr),
    Extern(hir::ExternId),
}

/// The checked body of a `def`. Each call copies the body and substitutes the arguments.
struct DefBody {
    params: Vec<(Arc<str>, Ty)>,
    body: Term,
}

/// Maximum number of name comparisons in one pass. The checker compares an unknown name with known
/// ones to suggest a similar name; after the limit, it suggests none.
const MAX_NAME_COMPARISONS: usize = 1 << 16;

struct Checker<'a> {
    loaded: &'a LoadedFiles,
    symbols: &'a Symbols<'a>,
    diagnostics: Vec<Diagnostic>,
    program: Program,
    fields: MessageFields,
    types: HashMap<&'a str, Option<Ty>>,
    settings: HashMap<FileId, FileSettings>,
    setting_uses: SettingUses<'a>,
    /// The version of each file's payload rules, from the setting `version`.
    payload_versions: HashMap<FileId, Arc<str>>,
    definitions: HashMap<&'a str, Option<CheckedDefinition>>,
    used_names: HashSet<&'a str>,
    /// The local names in scope, such as quantifier variables; the innermost name is last.
    scope: Scope,
    var_count: u32,
    /// Names of routes with errors. A test that expects such a route gets no second error.
    failed_routes: HashSet<&'a str>,
    /// The entry points by name: the tables with which a decision can start, such as choices.
    entry_tables: HashMap<Arc<str>, hir::TableId>,
    /// The number of name comparisons that are left in this pass for suggesting similar names.
    remaining_comparisons: Cell<usize>,
    /// The declared names that are no values: names of statements such as tables, and names that
    /// other rules define after `where`. Collected when the first unknown name is reported.
    names_without_value: OnceCell<HashMap<&'a str, unknown::NameWithoutValue<'a>>>,
    /// All `goto`s, each as the indexes of its own table and its target table, and its span.
    goto_edges: Vec<(usize, usize, Span)>,
    let_measures: Vec<ExprSize>,
    /// Whether a choice is being checked. There, incomparable operands are only a warning.
    is_in_choice: bool,
    /// Whether the condition of a `forbid` rule is being checked; it describes what must not occur.
    is_in_forbid: bool,
    /// Set while a router is checked: the name of its parameter, which is the output of a workflow
    /// node, and the message field that contains this output. `None` elsewhere.
    output_alias: Option<(&'a str, &'static str)>,
    /// Whether the router being checked reads its parameter, the output of a node.
    reads_output: bool,
    /// Warnings about names such as `result` in a router, which probably mean the router's
    /// parameter. The warnings are dropped if the router reads its parameter too.
    other_output_warnings: Vec<Diagnostic>,
    analysis_state: request::AnalysisState<'a>,
    /// The type of a recorded message; `None` if the rules have no `history` statement.
    history_element_type: Option<Ty>,
    /// Conditions that test the types of the named values which the current payload rule reads.
    /// Each is true if a value has its declared type. They become part of the rule's condition.
    pending_type_tests: Vec<hir::Cond>,
    payload: payload::PayloadState,
    /// For each message path that was read: the id of its slot, the type of the value, and whether
    /// the value is optional. A slot is a field with the kinds to which its value is converted.
    cached_reads: HashMap<path::PathNames<'a>, (hir::SlotId, Ty, bool), foldhash::fast::FixedState>,
    /// The handler names so far, so that rules with the same handler share one copy of its name.
    handler_names: HashSet<Arc<str>, foldhash::fast::FixedState>,
    /// The empty metadata that all handler calls without metadata share, to save memory.
    empty_metadata: Arc<Map<String, Json>>,
}

impl<'a> Checker<'a> {
    fn new(loaded: &'a LoadedFiles, symbols: &'a Symbols<'a>, diagnostics: Vec<Diagnostic>) -> Self {
        Checker {
            loaded,
            symbols,
            diagnostics,
            program: Program::default(),
            fields: MessageFields::default(),
            types: HashMap::new(),
            settings: HashMap::new(),
            setting_uses: SettingUses::default(),
            payload_versions: HashMap::new(),
            definitions: HashMap::new(),
            used_names: HashSet::new(),
            scope: Scope::default(),
            var_count: 0,
            failed_routes: HashSet::new(),
            entry_tables: HashMap::new(),
            remaining_comparisons: Cell::new(MAX_NAME_COMPARISONS),
            names_without_value: OnceCell::new(),
            goto_edges: Vec::new(),
            let_measures: Vec::new(),
            is_in_choice: false,
            is_in_forbid: false,
            output_alias: None,
            reads_output: false,
            other_output_warnings: Vec::new(),
            analysis_state: request::AnalysisState::default(),
            history_element_type: None,
            pending_type_tests: Vec::new(),
            payload: payload::PayloadState::default(),
            cached_reads: HashMap::default(),
            handler_names: HashSet::default(),
            empty_metadata: Arc::default(),
        }
    }

    /// Adds a diagnostic with a help text. Returns no error, unlike [`Self::fail`], so that the
    /// caller continues.
    fn emit(&mut self, code: Code, span: Span, message: impl Into<Message>, help: impl Into<Message>) {
        self.diagnostics.push(Diagnostic::new(code, span, message).help(help));
    }

    /// Adds a diagnostic with a help text and returns [`AlreadyReported`].
    fn fail<T>(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Checked<T> {
        self.emit(code, span, message, help);
        Err(AlreadyReported)
    }

    fn report<T>(&mut self, diagnostic: Diagnostic) -> Checked<T> {
        self.diagnostics.push(diagnostic);
        Err(AlreadyReported)
    }

    /// Reports a diagnostic with a label on the declaration that determines the type of `value`.
    fn report_with_type_origin<T>(&mut self, diagnostic: Diagnostic, value: &hir::Expr) -> Checked<T> {
        let diagnostic = self.with_type_origin(diagnostic, value);
        self.report(diagnostic)
    }

    /// Reports an unknown name, unless a statement with a syntax error declares the name.
    fn report_unknown<T>(&mut self, name: &str, diagnostic: Diagnostic) -> Checked<T> {
        if self.symbols.is_name_broken(name) { Err(AlreadyReported) } else { self.report(diagnostic) }
    }

    /// Reports that `name` is unknown, and suggests the candidate with the most similar spelling.
    /// Reports nothing if a statement with a syntax error declares the name.
    fn report_unknown_or_nearest<'n, T>(
        &mut self,
        code: Code,
        name: &ast::Ident,
        message: Message,
        candidates: impl Iterator<Item = &'n str>,
        help: Message,
    ) -> Checked<T> {
        let similar = self.nearest(&name.node, candidates);
        let diagnostic = Diagnostic::new(code, name.span, message).suggest_or_help(name.span, similar, help);
        self.report_unknown(&name.node, diagnostic)
    }

    /// Returns the candidate that is most similar to `name`. `None` if none is similar, or if the
    /// limit of comparisons is reached.
    fn nearest<'n>(&self, name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
        let budget = &self.remaining_comparisons;
        let affordable = candidates.into_iter().take_while(|_| {
            let remaining = budget.get();
            budget.set(remaining.saturating_sub(1));
            remaining > 0
        });
        if budget.get() == 0 { None } else { nearest(name, affordable) }
    }

    /// Returns the first item with each name. Reports every later item with the same name as a
    /// duplicate; `what` is the kind of the items in words, such as `node`.
    fn without_duplicates<'n, T>(
        &mut self,
        what: Message,
        items: &'n [T],
        name: impl Fn(&'n T) -> &'n ast::Ident,
    ) -> Vec<&'n T> {
        // For few items, comparing all pairs is faster than hashing.
        let is_short = items.len() <= 8;
        let mut first_spans: HashMap<&str, Span> = HashMap::new();
        let mut unique: Vec<&'n T> = Vec::with_capacity(items.len());
        for item in items {
            let ident = name(item);
            let first = match is_short {
                true => unique.iter().map(|first| name(first)).find(|first| first.node == ident.node),
                false => None,
            };
            let first = first
                .map(|first| first.span)
                .or_else(|| (!is_short).then(|| first_spans.insert(&ident.node, ident.span)).flatten());
            match first {
                None => unique.push(item),
                Some(first) => {
                    self.diagnostics.push(duplicate_error(what.clone(), &ident.node, first, ident.span))
                }
            }
        }
        unique
    }

    /// Adds an expression that is not part of a condition, such as an argument, to the program.
    /// Returns its id.
    fn add_value(&mut self, value: hir::Expr) -> hir::ValueId {
        let id = hir::ValueId(self.program.values.len() as u32);
        self.program.values.push(value);
        id
    }

    fn reset_for_next_pass(&mut self) {
        self.definitions.clear();
        self.setting_uses = SettingUses::default();
        self.entry_tables.clear();
        self.payload = payload::PayloadState::default();
        self.remaining_comparisons.set(MAX_NAME_COMPARISONS);
        self.scope.clear();
        self.pending_type_tests.clear();
        self.let_measures.clear();
        self.analysis_state = request::AnalysisState::default();
        self.cached_reads.clear();
        self.diagnostics.clear();
        self.fields.end_inference();
    }

    /// Runs one pass over all statements. `order` lists the definitions, dependencies first.
    fn run_pass(&mut self, order: &[&'a crate::resolve::Symbol<'a, Definition<'a>>]) {
        self.read_settings();
        self.declare_entities_and_lexicons();
        for symbol in order {
            let name = symbol.name.node.as_str();
            let check = |checker: &mut Self| checker.check_definition(symbol.name, &symbol.declaration).ok();
            let checked = self.with_recorded_settings(name, check);
            self.definitions.insert(name, checked);
        }
        self.add_intents_and_stop_words();
        self.check_tables();
        self.lower_choices_and_routers();
        self.check_workflows();
        self.lower_flows();
        self.check_flow_tool();
        self.lower_payloads();
        self.program.sort_rules();
        self.check_tests();
    }

    fn main_file(&self) -> Option<FileId> {
        self.loaded.files.last().map(|unit| unit.file)
    }

    fn main_statements(&self) -> &'a [Statement] {
        self.loaded.files.last().map_or(&[], |unit| &unit.statements)
    }

    fn statements(&self) -> impl Iterator<Item = &'a Statement> + use<'a> {
        self.loaded.files.iter().flat_map(|unit| &unit.statements)
    }

    /// Warns about unused definitions of the main file. If `is_whole_program`, also warns about
    /// settings and histories without effect. Reports nothing after an error. If the main file
    /// makes no decisions, it is meant to be imported. Then only its own settings are reported.
    fn warn_unused_definitions(&mut self, is_whole_program: bool) {
        use StatementKind as Kind;
        let makes_decisions = |statement: &Statement| {
            matches!(statement.kind, Kind::Route(_) | Kind::Default { .. } | Kind::Table { .. })
                || matches!(statement.kind, Kind::Choice(_) | Kind::Flow(_) | Kind::Router(_))
                || matches!(statement.kind, Kind::Workflow(_) | Kind::Payload(_))
        };
        if self.loaded.diagnostics.iter().chain(&self.diagnostics).any(Diagnostic::is_error) {
            return;
        }
        let main_decides = self.main_statements().iter().any(makes_decisions);
        if is_whole_program {
            self.warn_history_without_time();
            self.warn_settings_without_effect(main_decides);
        }
        if !main_decides {
            return;
        }
        for symbol in self.symbols.definitions.iter() {
            let name = symbol.name;
            if Some(name.span.file) == self.main_file() && !self.used_names.contains(name.node.as_str()) {
                let message = message!("the {} `{}` is not used", symbol.declaration.keyword(), name.node);
                self.emit(Code::Unused, name.span, message, message!("remove it, or use it"));
            }
        }
        self.warn_unused_analysis();
    }

    /// Returns the size of an expression with `let`s expanded, or reports that it is too large.
    fn measure_within_limits(&mut self, term: hir::Part<'_>, span: Span) -> Checked<ExprSize> {
        let measure = ExprSize::new(term, &self.let_measures);
        if measure.node_count > MAX_CONDITION_NODES || measure.depth > MAX_CONDITION_DEPTH {
            return self.report_too_large(span, measure.node_count > MAX_CONDITION_NODES);
        }
        Ok(measure)
    }

    fn report_too_large<T>(&mut self, span: Span, has_too_many_nodes: bool) -> Checked<T> {
        let message = if has_too_many_nodes {
            message!("with its definitions expanded, this has more than {MAX_CONDITION_NODES} parts")
        } else {
            message!("with its definitions expanded, this is nested more than {MAX_CONDITION_DEPTH} deep")
        };
        let help = message!(
            "definitions that use each other several times grow quickly; split the condition over several routes"
        );
        self.fail(Code::ExpansionTooLarge, span, message, help)
    }
}

/// The type of the declared input, and the span of each declared field.
pub struct DeclaredInput {
    ty: Ty,
    field_spans: types::FieldSpans,
}
