//! Types as written: named types, the `input` blocks taken together, handler manifests, settings.

use super::{Checked, Checker, DeclaredInput, MAX_NODES, Reported};
use crate::diag::{Code, Diagnostic, nearest};
use crate::ops::Case;
use crate::sema::hir;
use crate::sema::resolve::{duplicate, sorted};
use crate::span::Span;
use crate::syntax::ast::{self, ExprKind, StatementKind, TypeExpr, TypeKind};
use crate::text::Form;
use crate::ty::{Field, Inner, Record, Ty};
use hashbrown::HashMap;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Reads every `type`, each behind those it uses.
    pub(super) fn declare_types(&mut self) {
        let symbols: Vec<_> = self.symbols.types.iter().collect();
        let uses: Vec<Vec<usize>> = symbols
            .iter()
            .map(|symbol| {
                let mut names = Vec::new();
                type_names(symbol.node, &mut names);
                names.into_iter().filter_map(|name| self.symbols.types.position(name)).collect()
            })
            .collect();
        let (order, circles) = sorted(&uses);
        for circle in circles {
            let names: Vec<&str> =
                circle.iter().chain(circle.first()).map(|at| symbols[*at].name.node.as_str()).collect();
            let first = symbols[circle[0]].name;
            self.diagnostics.push(
                Diagnostic::new(
                    Code::DefinitionCycle,
                    first.span,
                    format!("the type `{}` contains itself", first.node),
                )
                .here("part of a circle")
                .help(format!("the chain is {}; use `any` somewhere in it", names.join(" → "))),
            );
            for member in circle {
                self.types.insert(&symbols[member].name.node, None);
            }
        }
        let mut sizes: HashMap<&str, u64> = HashMap::new();
        for index in order {
            let symbol = symbols[index];
            let size = type_size(symbol.node, &sizes);
            let ty = match size {
                0..=MAX_NODES => self.ty(symbol.node).ok(),
                _ => self.too_large(symbol.name.span, true).ok(),
            };
            sizes.insert(&symbol.name.node, size);
            self.types.insert(&symbol.name.node, ty);
        }
    }

    /// A type as written.
    pub(super) fn ty(&mut self, written: &TypeExpr) -> Checked<Ty> {
        match &written.kind {
            TypeKind::Name(name) => {
                if let Some(ty) = Ty::builtin(name) {
                    return Ok(ty);
                }
                let visible = self
                    .symbols
                    .types
                    .get(name)
                    .is_some_and(|symbol| self.symbols.sees(written.span.file, symbol.name.span));
                if visible && let Some(ty) = self.types.get(name.as_str()) {
                    return ty.clone().ok_or(Reported);
                }
                let names = self.symbols.types.iter().map(|symbol| symbol.name.node.as_str());
                let near = nearest(name, names.chain(Ty::BUILTIN_NAMES)).map(str::to_owned);
                let mut diagnostic =
                    Diagnostic::new(Code::UnknownType, written.span, format!("there is no type `{name}`"));
                diagnostic = match name.to_lowercase().as_str() {
                    "str" | "text" => diagnostic.did_you_mean(written.span, Some("string")),
                    "integer" | "i64" | "long" => diagnostic.did_you_mean(written.span, Some("int")),
                    "double" | "f64" | "decimal" => diagnostic.did_you_mean(written.span, Some("float")),
                    "boolean" => diagnostic.did_you_mean(written.span, Some("bool")),
                    "array" => diagnostic.did_you_mean(written.span, Some("list<any>")),
                    "map" | "object" => diagnostic.did_you_mean(written.span, Some("dict<any>")),
                    _ if near.is_some() => diagnostic.did_you_mean(written.span, near.as_deref()),
                    _ => diagnostic.help(format!(
                        "the built-in types are {}; `type {name} = …` declares another",
                        Ty::BUILTIN_NAMES.join(", ")
                    )),
                };
                self.report_unknown(name, diagnostic)
            }
            TypeKind::List(element) => Ok(Ty::list(self.inner_ty(element.as_deref())?)),
            TypeKind::Dict(element) => Ok(Ty::dict(self.inner_ty(element.as_deref())?)),
            TypeKind::Record(fields) => Ok(Ty::record(self.record(fields))),
        }
    }

    fn inner_ty(&mut self, element: Option<&TypeExpr>) -> Checked<Ty> {
        element.map_or(Ok(Ty::ANY), |element| self.ty(element))
    }

    /// The fields of a record type, an `input` block or a parameter list. A field with a fault is
    /// reported and read as `any`, so that one slip is one finding.
    pub(super) fn record(&mut self, fields: &[ast::Field]) -> Record {
        let mut record = Record::default();
        for (at, field) in fields.iter().enumerate() {
            if let Some(first) = fields[..at].iter().find(|other| other.name.node == field.name.node) {
                let (first, second) = (first.name.span, field.name.span);
                self.diagnostics.push(duplicate("field", &field.name.node, first, second));
                continue;
            }
            record.fields.push(Field {
                name: field.name.node.as_str().into(),
                ty: self.ty(&field.ty).unwrap_or(Ty::ANY),
                optional: field.optional,
                private: field.private,
            });
        }
        record
    }

    /// Takes the `input` blocks of all files together.
    pub(super) fn declare_input(&mut self) {
        // A route that is checked alone is given the input it joins.
        if !self.fields.inferred() {
            return;
        }
        let mut input = DeclaredInput::default();
        let mut any = false;
        for statement in self.statements() {
            let StatementKind::Input { fields } = &statement.kind else { continue };
            any = true;
            let record = self.record(fields);
            let mut places = HashMap::new();
            field_places(fields, &mut Vec::new(), &mut places);
            let merged = std::mem::take(&mut input.record);
            input.record = self.merged(merged, &record, &mut Vec::new(), &input.places, &places);
            for (path, place) in places {
                input.places.entry(path).or_insert(place);
            }
        }
        if any {
            self.program.input = Some(input.record.clone());
            self.fields.declare(input);
        }
    }

    fn merged(
        &mut self,
        mut first: Record,
        second: &Record,
        path: &mut Vec<Arc<str>>,
        first_places: &HashMap<Vec<Arc<str>>, Span>,
        second_places: &HashMap<Vec<Arc<str>>, Span>,
    ) -> Record {
        for field in &second.fields {
            path.push(field.name.clone());
            match first.fields.iter_mut().find(|other| other.name == field.name) {
                None => first.fields.push(field.clone()),
                Some(known) => match (&known.ty.inner, &field.ty.inner) {
                    (Inner::Fields(a), Inner::Fields(b)) if known.optional == field.optional => {
                        let merged = self.merged((**a).clone(), b, path, first_places, second_places);
                        known.ty = Ty::record(merged);
                        known.private |= field.private;
                    }
                    _ if known.ty == field.ty && known.optional == field.optional => {
                        known.private |= field.private;
                    }
                    _ => {
                        let mark = |optional| if optional { "optional " } else { "" };
                        let message = format!(
                            "the input `{}` is declared as {}{} and as {}{}",
                            path.join("."),
                            mark(known.optional),
                            known.ty,
                            mark(field.optional),
                            field.ty
                        );
                        if let (Some(a), Some(b)) = (first_places.get(path), second_places.get(path)) {
                            self.diagnostics.push(
                                Diagnostic::new(Code::InputConflict, *b, message)
                                    .here("declared differently")
                                    .label(*a, "first declared here")
                                    .help("`input` blocks are taken together, so both must say the same"),
                            );
                        }
                    }
                },
            }
            path.pop();
        }
        first
    }

    /// Reads the manifest.
    pub(super) fn declare_handlers(&mut self) {
        if self.symbols.handlers.is_empty() {
            return;
        }
        let mut handlers = Vec::new();
        for symbol in self.symbols.handlers.iter() {
            let (params, docs) = symbol.node;
            let (name, params) = (symbol.name.node.as_str().into(), self.record(params));
            handlers.push(hir::Handler { name, params, span: symbol.name.span, docs: docs.into() });
        }
        self.program.handlers = Some(handlers);
    }

    /// Reads each file's `settings`.
    pub(super) fn read_settings(&mut self) {
        for statement in self.statements() {
            let StatementKind::Settings { entries } = &statement.kind else { continue };
            let mut settings = self.settings_of(statement.span.file);
            for (name, value) in entries {
                if self.analysis_setting(name, value) {
                    continue;
                }
                let word = match &value.kind {
                    ExprKind::Name(word) => word.as_str(),
                    ExprKind::Literal(ast::Literal::String(word)) => word.as_str(),
                    ExprKind::Literal(ast::Literal::Null) => "none",
                    _ => "",
                };
                match (name.node.as_str(), word) {
                    ("case", "insensitive") => settings.case = Case::Ignore,
                    ("case", "sensitive") => settings.case = Case::Match,
                    ("normalize", "nfkc") => settings.form = Form::Nfkc,
                    ("normalize", "nfc") => settings.form = Form::Nfc,
                    ("normalize", "none") => settings.form = Form::None,
                    ("case", _) => self.wrong_setting(value.span, "case", "`insensitive` or `sensitive`"),
                    ("normalize", _) => {
                        self.wrong_setting(value.span, "normalize", "`nfkc`, `nfc` or `none`")
                    }
                    (other, _) => {
                        let message = format!("there is no setting `{other}`");
                        let help = format!("the settings are {}", SETTINGS.join(", "));
                        self.diagnostics.push(
                            Diagnostic::new(Code::UnknownSetting, name.span, message)
                                .nearest_or(name.span, other, SETTINGS, help),
                        );
                    }
                }
            }
            self.settings.insert(statement.span.file, settings);
        }
    }

    pub(super) fn wrong_setting(&mut self, span: Span, name: &str, values: &str) {
        let message = format!("the setting `{name}` has no such value");
        self.diagnostics
            .push(Diagnostic::new(Code::UnknownSetting, span, message).help(format!("`{name}` is {values}")));
    }
}

/// Every setting.
const SETTINGS: [&str; 5] = ["case", "normalize", "intent_threshold", "intent_margin", "stop_words"];

/// The number of parts of a type with the named ones put in.
fn type_size(written: &TypeExpr, sizes: &HashMap<&str, u64>) -> u64 {
    let inner = match &written.kind {
        TypeKind::Name(name) => sizes.get(name.as_str()).copied().unwrap_or(0),
        TypeKind::List(inner) | TypeKind::Dict(inner) => {
            inner.as_ref().map_or(0, |inner| type_size(inner, sizes))
        }
        TypeKind::Record(fields) => {
            fields.iter().fold(0, |sum: u64, field| sum.saturating_add(type_size(&field.ty, sizes)))
        }
    };
    inner.saturating_add(1)
}

fn type_names<'t>(written: &'t TypeExpr, names: &mut Vec<&'t str>) {
    match &written.kind {
        TypeKind::Name(name) => names.push(name),
        TypeKind::List(inner) | TypeKind::Dict(inner) => {
            if let Some(inner) = inner {
                type_names(inner, names);
            }
        }
        TypeKind::Record(fields) => fields.iter().for_each(|field| type_names(&field.ty, names)),
    }
}

fn field_places(fields: &[ast::Field], path: &mut Vec<Arc<str>>, places: &mut HashMap<Vec<Arc<str>>, Span>) {
    for field in fields {
        path.push(field.name.node.as_str().into());
        places.insert(path.clone(), field.name.span.to(field.ty.span));
        if let TypeKind::Record(inner) = &field.ty.kind {
            field_places(inner, path, places);
        }
        path.pop();
    }
}
