//! Facts about a checked program that editors show: the types of fields and definitions, and the
//! order of routes. If the program has errors, some facts are missing.

use rulec_base::span::Span;
use rulec_lang::ty::{KindSet, RecordType, Ty};
use rulec_sema::hir::{Outcome, Program, TableKind, Term};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The path segment that means the elements of a list or the values of a dict.
pub const ELEMENT_SEGMENT: &str = "[]";

/// Returns the type of the field `name` of a value of the type `ty`. For [`ELEMENT_SEGMENT`], and
/// for every name in a dict, returns the type of the elements. `None` if the type has no such
/// field.
pub fn type_inside(ty: &Ty, name: &str) -> Option<Ty> {
    match ty.fields() {
        Some(record) => record.get(name).map(|field| field.ty.clone()),
        None if name == ELEMENT_SEGMENT || ty.kinds == KindSet::DICT => Some(ty.element()),
        None => None,
    }
}

/// Returns the name and the type of each field of a record.
pub fn field_names_and_types(record: &RecordType) -> Vec<(String, String)> {
    record.fields.iter().map(|field| (field.name.to_string(), field.ty.to_string())).collect()
}

/// A field of the input message, with its type.
pub struct InputField {
    pub ty: String,
    pub is_optional: bool,
    /// Whether the `input` statement declares the field. Otherwise its type is inferred from its
    /// uses.
    pub is_declared: bool,
}

impl InputField {
    /// Returns `?` for an optional field, otherwise an empty text. Editors show this mark after the
    /// field name.
    pub fn optional_mark(&self) -> &'static str {
        if self.is_optional { "?" } else { "" }
    }
}

#[derive(Default)]
pub struct TypeFacts {
    /// The record type that the `input` statement declares; `None` without such a statement.
    declared_input: Option<RecordType>,
    /// The kinds of type (such as number or list) that each used field of the message may have, by
    /// path.
    kinds_by_path: HashMap<Vec<Arc<str>>, KindSet>,
    /// The type of each parameter of a handler or host function. The key has the word `handler` for
    /// a handler, then the names of the handler or function and of the parameter.
    types_by_parameter: HashMap<Vec<Arc<str>>, Ty>,
    /// The type of the result of each host function, by its name.
    types_by_function: HashMap<Arc<str>, Ty>,
    /// The type of the value of each `let`, by the span of the name.
    types_by_let_name: HashMap<Span, Ty>,
    /// Only for tables whose evaluation order differs from the source order: the span of each
    /// route, and its position in the evaluation order, from 1.
    pub route_positions: Vec<(Span, usize)>,
    /// The keys of the metadata of all targets, in alphabetical order.
    pub metadata_keys: BTreeSet<String>,
}

impl TypeFacts {
    pub fn new(program: &Program) -> TypeFacts {
        let mut fields: HashMap<Vec<Arc<str>>, KindSet> = HashMap::new();
        for slot in program.slots.iter().filter(|slot| slot.root.is_none()) {
            let kinds = fields.entry(slot.path.clone()).or_default();
            *kinds = kinds.union(slot.kinds);
        }
        let lets = program.lets.iter().map(|definition| {
            let ty = match &definition.body {
                Term::Expr(value) => value.ty.clone(),
                Term::Cond(_) => Ty::BOOL,
            };
            (definition.span, ty)
        });
        let mut order = Vec::new();
        for table in program.tables.iter().filter(|table| table.kind == TableKind::Routes) {
            if !table.evaluation_order.is_sorted() {
                let numbered_rules = table.evaluation_order.iter().zip(1..);
                order.extend(numbered_rules.map(|(id, number)| (program.rules[id.index()].span, number)));
            }
        }
        let metadata = program.rules.iter().filter_map(|rule| match &rule.outcome {
            Outcome::Handler { metadata, .. } => Some(metadata.keys().cloned()),
            _ => None,
        });
        let metadata_keys = metadata.flatten().collect();
        let handler: &Arc<str> = &"handler".into();
        let of_handlers = program.handlers.iter().flatten().flat_map(|called| {
            let key = move |name: &Arc<str>| vec![handler.clone(), called.name.clone(), name.clone()];
            called.params.fields.iter().map(move |param| (key(&param.name), param.ty.clone()))
        });
        let of_functions = program.externs.iter().flat_map(|called| {
            called.params.iter().map(|(name, ty)| (vec![called.name.clone(), name.clone()], ty.clone()))
        });
        let results = program.externs.iter().map(|called| (called.name.clone(), called.result.clone()));
        TypeFacts {
            declared_input: program.input.clone(),
            kinds_by_path: fields,
            types_by_parameter: of_handlers.chain(of_functions).collect(),
            types_by_function: results.collect(),
            types_by_let_name: lets.collect(),
            route_positions: order,
            metadata_keys,
        }
    }

    /// Returns the message field at a path, as declared or as inferred from its uses. `None` if the
    /// path is unknown.
    pub fn input_field(&self, path: &[&str]) -> Option<InputField> {
        if let Some(input) = &self.declared_input {
            let mut record = Some(input);
            let mut innermost = None;
            for name in path {
                let field = record?.get(name)?;
                record = field.ty.fields();
                innermost = Some(field);
            }
            let field = innermost?;
            return Some(InputField {
                ty: field.ty.to_string(),
                is_optional: field.is_optional,
                is_declared: true,
            });
        }
        let path: Vec<Arc<str>> = path.iter().map(|name| Arc::from(*name)).collect();
        let kinds = self.kinds_by_path.get(&path)?;
        Some(InputField { ty: kinds.to_string(), is_optional: false, is_declared: false })
    }

    /// Returns the kinds of type that the message field at a path may have. `None` if the field is
    /// unknown.
    pub fn kinds_at_path(&self, path: &[&str]) -> Option<KindSet> {
        if self.declared_input.is_some() {
            return self.declared_type(path).map(|ty| ty.kinds);
        }
        let path: Vec<Arc<str>> = path.iter().map(|name| Arc::from(*name)).collect();
        self.kinds_by_path.get(&path).copied()
    }

    /// Returns the declared type of the message field at a path; `None` without a declaration.
    pub fn declared_type(&self, path: &[&str]) -> Option<Ty> {
        let (first, rest) = path.split_first()?;
        let first = self.declared_input.as_ref()?.get(first)?.ty.clone();
        rest.iter().try_fold(first, |ty, name| type_inside(&ty, name))
    }

    /// Returns the name and the type of each field of the record at a path. The empty path means
    /// the input message.
    pub fn fields_of_record(&self, path: &[&str]) -> Vec<(String, String)> {
        if let Some(input) = &self.declared_input {
            return match path {
                [] => field_names_and_types(input),
                path => self
                    .declared_type(path)
                    .as_ref()
                    .and_then(Ty::fields)
                    .map_or(Vec::new(), field_names_and_types),
            };
        }
        let mut fields: Vec<(String, String)> = Vec::new();
        for (field_path, kinds) in &self.kinds_by_path {
            let is_in_record =
                field_path.len() > path.len() && field_path.iter().zip(path).all(|(a, b)| **a == **b);
            if let (true, Some(name)) = (is_in_record, field_path.get(path.len())) {
                let ty =
                    if field_path.len() == path.len() + 1 { kinds.to_string() } else { "dict".to_owned() };
                fields.push((name.to_string(), ty));
            }
        }
        fields.sort();
        fields.dedup_by(|a, b| a.0 == b.0);
        fields
    }

    /// Returns the type of a parameter. `path` has the word `handler` for a handler, then the names
    /// of the handler or host function and of the parameter. `None` if the type is not known.
    pub fn type_of_parameter(&self, path: &[&str]) -> Option<Ty> {
        let path: Vec<Arc<str>> = path.iter().map(|name| Arc::from(*name)).collect();
        self.types_by_parameter.get(&path).cloned()
    }

    /// Returns the type of the result of a host function; `None` for any other name.
    pub fn result_of_function(&self, name: &str) -> Option<&Ty> {
        self.types_by_function.get(name)
    }

    /// Returns the type of the `let` whose name has this span; `None` if the type is not known.
    pub fn type_of_let(&self, name: Span) -> Option<&Ty> {
        self.types_by_let_name.get(&name)
    }

    /// Returns the span of the name and the type of each `let`.
    pub fn let_types(&self) -> impl Iterator<Item = (Span, &Ty)> {
        self.types_by_let_name.iter().map(|(span, ty)| (*span, ty))
    }
}
