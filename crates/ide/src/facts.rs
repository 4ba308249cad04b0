//! The facts of a checked program that editors show: the types of fields and definitions, and the order of routes. A program
//! with errors has those that could be found out.

use rulec_base::span::Span;
use rulec_lang::ty::{KindSet, Record, Ty};
use rulec_sema::hir::{Program, TableKind, Term};
use std::collections::HashMap;
use std::sync::Arc;

/// A field of the message.
pub struct Field {
    pub ty: String,
    pub optional: bool,
    /// True when `input` says its type; else that follows from its uses.
    pub declared: bool,
}

impl Field {
    /// The mark behind the name of one that may be missing.
    pub fn mark(&self) -> &'static str {
        if self.optional { "?" } else { "" }
    }
}

#[derive(Default)]
pub struct Facts {
    /// The declared input.
    input: Option<Record>,
    /// The kinds that each field is read at, where they follow from its uses.
    fields: HashMap<Vec<Arc<str>>, KindSet>,
    /// The type of each `let`, by the place of its name.
    lets: HashMap<Span, Ty>,
    /// The routes of tables that are not tried as they are written: the place of each, and its number from 1.
    pub order: Vec<(Span, usize)>,
}

impl Facts {
    pub fn of(program: &Program) -> Facts {
        let mut fields: HashMap<Vec<Arc<str>>, KindSet> = HashMap::new();
        for slot in program.slots.iter().filter(|slot| slot.root.is_none()) {
            let known = fields.entry(slot.path.clone()).or_default();
            *known = known.union(slot.kinds);
        }
        let lets = program.lets.iter().map(|one| {
            let ty = match &one.body {
                Term::Expr(value) => value.ty.clone(),
                Term::Cond(_) => Ty::BOOL,
            };
            (one.span, ty)
        });
        let mut order = Vec::new();
        for table in program.tables.iter().filter(|table| table.kind == TableKind::Routes) {
            if !table.order.is_sorted() {
                let numbered = table.order.iter().zip(1..);
                order.extend(numbered.map(|(id, number)| (program.rules[id.index()].span, number)));
            }
        }
        Facts { input: program.input.clone(), fields, lets: lets.collect(), order }
    }

    /// The field of the message at a path, as declared or as its uses have it.
    pub fn field(&self, path: &[&str]) -> Option<Field> {
        if let Some(input) = &self.input {
            let mut record = Some(input);
            let mut found = None;
            for name in path {
                let field = record?.get(name)?;
                record = field.ty.fields();
                found = Some(field);
            }
            let field = found?;
            return Some(Field { ty: field.ty.to_string(), optional: field.optional, declared: true });
        }
        let path: Vec<Arc<str>> = path.iter().map(|name| Arc::from(*name)).collect();
        let kinds = self.fields.get(&path)?;
        Some(Field { ty: kinds.to_string(), optional: false, declared: false })
    }

    /// The kinds of a field of the message.
    pub fn kinds(&self, path: &[&str]) -> Option<KindSet> {
        if let Some(input) = &self.input {
            let (first, rest) = path.split_first()?;
            let mut ty = &input.get(first)?.ty;
            for name in rest {
                ty = &ty.fields()?.get(name)?.ty;
            }
            return Some(ty.kinds);
        }
        let path: Vec<Arc<str>> = path.iter().map(|name| Arc::from(*name)).collect();
        self.fields.get(&path).copied()
    }

    /// The names of the fields behind a path, with their types; the fields of the message behind none.
    pub fn fields_of(&self, path: &[&str]) -> Vec<(String, String)> {
        if let Some(input) = &self.input {
            let mut record = input;
            for name in path {
                match record.get(name).and_then(|field| field.ty.fields()) {
                    Some(inner) => record = inner,
                    None => return Vec::new(),
                }
            }
            return record
                .fields
                .iter()
                .map(|field| (field.name.to_string(), field.ty.to_string()))
                .collect();
        }
        let mut found: Vec<(String, String)> = Vec::new();
        for (known, kinds) in &self.fields {
            let inside = known.len() > path.len() && known.iter().zip(path).all(|(a, b)| **a == **b);
            if let (true, Some(name)) = (inside, known.get(path.len())) {
                let ty = if known.len() == path.len() + 1 { kinds.to_string() } else { "dict".to_owned() };
                found.push((name.to_string(), ty));
            }
        }
        found.sort();
        found.dedup_by(|a, b| a.0 == b.0);
        found
    }

    /// The type of the `let` whose name stands there.
    pub fn of_let(&self, name: Span) -> Option<&Ty> {
        self.lets.get(&name)
    }

    /// The type of each `let`, with the place of its name.
    pub fn lets(&self) -> impl Iterator<Item = (Span, &Ty)> {
        self.lets.iter().map(|(span, ty)| (*span, ty))
    }
}
