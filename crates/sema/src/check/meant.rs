//! Guesses what the author of a wrong name, path or value intended. Handles paths of fields, values
//! of enumerations, negative indexes such as `next[-1]`, and JSON Schema in place of a type.

use super::enumeration::find_value_ignoring_case;
use super::{Checked, Checker};
use rulec_base::diag::{Code, Diagnostic, has_one_near_candidate};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::{Field, RecordType, Ty};
use rulec_syntax::ast::{self, StatementKind, TypeExpr, TypeKind};
use std::sync::Arc;

/// Maximum number of declared fields that are compared with one unknown name.
pub(super) const MAX_COMPARED_FIELDS: usize = 2000;
/// Maximum number of names in a declared path that is suggested for an unknown name;
/// `ctx.user.role` has three names. Longer paths are not compared with the unknown name.
const MAX_PATH_NAMES: usize = 5;

/// Suggests `candidate`, a field of `record` or another name, in place of an unknown name. A field
/// whose name is a reserved word is written in backquotes. Without a candidate, changes nothing.
pub(super) fn suggest_path_root(
    diagnostic: Diagnostic,
    span: Span,
    candidate: Option<&str>,
    record: &RecordType,
) -> Diagnostic {
    let Some(candidate) = candidate else { return diagnostic };
    let is_field = record.get(candidate).is_some();
    let written = if is_field { rulec_syntax::write::quote_name(candidate) } else { candidate.to_owned() };
    diagnostic.help(message!("did you mean `{candidate}`?")).likely_fix(span, written)
}

impl<'a> Checker<'a> {
    /// Adds a suggestion to a diagnostic about an unknown name: `user.role` for `user_role`, or
    /// `"gold"` for `gold`. Returns `Err` with the unchanged diagnostic if there is no suggestion.
    pub(super) fn suggest_meant_value(
        &self,
        diagnostic: Diagnostic,
        name: &str,
        span: Span,
        record: &RecordType,
    ) -> Result<Diagnostic, Diagnostic> {
        if let Some(value) = find_enumeration_value(record, name, &mut MAX_COMPARED_FIELDS.clone()) {
            let text = rulec_syntax::write::quote_string(&value);
            let help = message!("a text is written in quotes: write `{text}`");
            return Ok(diagnostic.help(help).likely_fix(span, text));
        }
        match find_similar_path(
            record,
            &normalized_name(name),
            &mut Vec::new(),
            &mut MAX_COMPARED_FIELDS.clone(),
        ) {
            Some(path) => Ok(diagnostic.did_you_mean(span, Some(&path))),
            None => Err(diagnostic),
        }
    }

    /// Returns the name of the `list` statement around a span; `None` outside such statements.
    pub(super) fn enclosing_list_name(&self, span: Span) -> Option<&'a str> {
        self.statements().find_map(|statement| {
            let place = statement.span;
            let is_around = place.file == span.file && (place.start..place.end).contains(&span.start);
            match &statement.kind {
                StatementKind::List { name, .. } if is_around => Some(name.node.as_str()),
                _ => None,
            }
        })
    }

    /// If an unknown name is a named group of a regular expression in the same statement, returns
    /// the call that reads this group: `capture(text, r"#(?<id>\d+)", "id")` for `id`. `None` for
    /// other names.
    pub(super) fn write_capture_call_for_group(&self, name: &str, span: Span) -> Option<String> {
        let statement = self.statements().find(|statement| {
            let place = statement.span;
            place.file == span.file && (place.start..place.end).contains(&span.start)
        })?;
        let source = self.loaded.sources.slice(statement.span);
        let group = [format!("(?<{name}>"), format!("(?P<{name}>")];
        let at = group.iter().find_map(|group| source.find(group.as_str()))?;
        let start = source[..at].rfind('"')?;
        let end = at + source[at..].find('"')? + 1;
        let is_raw = source[..start].ends_with('r');
        let start = start - usize::from(is_raw);
        let before = source[..start].trim_end().strip_suffix("matches")?.trim_end();
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let left = &before[before.trim_end_matches(is_path).len()..];
        (!left.is_empty()).then(|| format!("capture({left}, {}, \"{name}\")", &source[start..end]))
    }

    /// Reports a key of a record that the declared type of the record lacks. `path` is the name of
    /// the record in messages. Returns `None` if all keys are declared.
    pub(super) fn report_unknown_key<T>(
        &mut self,
        value: &ast::Expr,
        ty: &Ty,
        path: &str,
    ) -> Option<Checked<T>> {
        match &value.kind {
            ast::ExprKind::Record(entries) => {
                let record = ty.fields()?;
                for (key, inner) in entries {
                    let Some(field) = record.get(&key.node) else {
                        let message = message!("`{path}` has no field `{}`", key.node);
                        let diagnostic = Diagnostic::new(Code::TestInput, key.span, message);
                        let help = message!("its fields are {}", super::join_names(record.names()));
                        let near = self.nearest(&key.node, record.names());
                        let is_certain = has_one_near_candidate(&key.node, record.names());
                        let diagnostic = diagnostic.suggest_or_help(key.span, near, help);
                        return Some(self.report(diagnostic.mark_fixes_certain_if(is_certain)));
                    };
                    let found = self.report_unknown_key(inner, &field.ty, &format!("{path}.{}", key.node));
                    if found.is_some() {
                        return found;
                    }
                }
                None
            }
            ast::ExprKind::List(items) => {
                let element = ty.element();
                let mut items = items.iter().enumerate();
                items.find_map(|(index, item)| {
                    self.report_unknown_key(item, &element, &format!("{path}[{index}]"))
                })
            }
            _ => None,
        }
    }

    /// Returns the length of the list `next` (the nodes that may run next) in the first `test` that
    /// gives this list. An error message about an index such as `next[-1]` needs this number.
    pub(super) fn next_node_count_of_first_test(&self) -> Option<usize> {
        self.statements().find_map(|statement| {
            let StatementKind::Test(test) = &statement.kind else { return None };
            test.given_values.iter().find_map(|(path, value)| match (path.as_slice(), &value.kind) {
                ([name], ast::ExprKind::List(nodes)) if name.node == "next" => Some(nodes.len()),
                _ => None,
            })
        })
    }

    /// Reports a negative index such as `next[-1]`. Other languages count it from the end of the
    /// list.
    pub(super) fn report_index_from_end<T>(&mut self, index: i64, span: Span) -> Checked<T> {
        let count =
            self.next_node_count_of_first_test().map(|count| count as i64).filter(|count| -index <= *count);
        let message = message!("a next node is not counted from the end");
        let diagnostic = Diagnostic::new(Code::BadDestination, span, message);
        let written = format!("next[{}]", count.unwrap_or(2) + index);
        self.report(match count {
            Some(count) => {
                let help = message!("the tests give {count} next nodes: write `{written}`");
                diagnostic.help(help).likely_fix(span, written)
            }
            None => diagnostic.help(message!("count from 0: for the last of two next nodes write `next[1]`")),
        })
    }

    /// Reports a JSON Schema that is written in place of a type. Returns the type that the schema
    /// describes, so that checking can continue. `None` if the record `fields` is not a JSON
    /// Schema.
    pub(super) fn report_json_schema(&mut self, fields: &[ast::Field], span: Span) -> Option<Ty> {
        // `{ type: string }` alone is an ordinary record with a field named `type`.
        let is_record = |field: &ast::Field| {
            field.name.node == "type"
                && matches!(&field.ty.kind, TypeKind::Name(name) if Ty::from_builtin_name(name).is_some())
        };
        if fields.iter().any(is_record) {
            return None;
        }
        let (written, ty) = self.type_of_json_schema(fields)?;
        let message = message!("this is JSON Schema, not a type");
        let diagnostic = Diagnostic::new(Code::UnknownType, span, message);
        let help = message!("write `{written}`; `rulec schema --from` converts a file");
        self.diagnostics.push(diagnostic.help(help).likely_fix(span, written));
        Some(ty)
    }

    /// Returns the type that a JSON Schema describes, as source text of the rules and as a type.
    /// `None` if the fields do not form a JSON Schema.
    fn type_of_json_schema(&mut self, fields: &[ast::Field]) -> Option<(String, Ty)> {
        let field = |name: &str| fields.iter().find(|field| field.name.node == name).map(|field| &field.ty);
        let kind = match &field("type")?.kind {
            TypeKind::Name(kind) => kind.as_str(),
            TypeKind::Values(values) if values.len() == 1 => values[0].node.as_str(),
            _ => return None,
        };
        match (kind, field("properties").map(|properties| &properties.kind)) {
            ("object", Some(TypeKind::Record(properties))) => {
                let (mut written, mut record) = (Vec::new(), RecordType::default());
                for property in properties {
                    let (text, ty) = self.type_of_json_schema_or_type(&property.ty)?;
                    let (name, mark) = (&property.name.node, if property.optional { "?" } else { "" });
                    written.push(format!("{name}{mark}: {text}"));
                    let (name, optional) = (Arc::from(name.as_str()), property.optional);
                    record.push(Field { name, ty, is_optional: optional, is_private: property.private });
                }
                Some((format!("{{ {} }}", written.join(", ")), Ty::record(record)))
            }
            ("array", _) => {
                let (element, ty) = self.type_of_json_schema_or_type(field("items")?)?;
                Some((format!("list<{element}>"), Ty::list(ty)))
            }
            // The record must be a JSON Schema, because these types do not exist in the language.
            ("integer" | "boolean", _) => {
                let name = Ty::builtin_for_foreign_name(kind)?;
                Some((name.to_owned(), Ty::from_builtin_name(name)?))
            }
            ("string" | "number", _) if fields.len() == 1 => {
                Some((kind.to_owned(), Ty::from_builtin_name(kind)?))
            }
            _ => None,
        }
    }

    fn type_of_json_schema_or_type(&mut self, ty: &TypeExpr) -> Option<(String, Ty)> {
        if let TypeKind::Record(fields) = &ty.kind
            && let Some(found) = self.type_of_json_schema(fields)
        {
            return Some(found);
        }
        if let TypeKind::Name(name) = &ty.kind
            && let Some(name) = Ty::builtin_for_foreign_name(name)
            && let Some(builtin) = Ty::from_builtin_name(name)
        {
            return Some((name.to_owned(), builtin));
        }
        let written = self.loaded.sources.slice(ty.span).to_owned();
        Some((written, self.resolve_type(ty).ok()?))
    }
}

/// Returns a name in lower case without word separators such as `_`, so that spellings of one name
/// compare equal.
fn normalized_name(name: &str) -> String {
    let name = name.chars().filter(|c| !matches!(c, '_' | '.' | '的' | '之'));
    name.flat_map(char::to_lowercase).collect()
}

/// Searches for a declared path of at least two names that, joined without separators, equal
/// `wanted` (a name from [`normalized_name`]). `path` contains the names of the enclosing records,
/// and `left` the number of fields that may still be compared.
fn find_similar_path<'t>(
    record: &'t RecordType,
    wanted: &str,
    path: &mut Vec<&'t str>,
    left: &mut usize,
) -> Option<String> {
    for field in &record.fields {
        *left = left.checked_sub(1)?;
        let Some(rest) = wanted.strip_prefix(normalized_name(&field.name).as_str()) else { continue };
        path.push(&field.name);
        if rest.is_empty() && path.len() > 1 {
            return Some(path.join("."));
        }
        let inner = field.ty.fields().filter(|_| path.len() < MAX_PATH_NAMES && !rest.is_empty());
        let found = inner.and_then(|inner| find_similar_path(inner, rest, path, left));
        if found.is_some() {
            return found;
        }
        path.pop();
    }
    None
}

/// Returns the value of a declared enumeration that equals this text, with case ignored. `left` is
/// the number of fields that may still be compared.
pub(super) fn find_enumeration_value(record: &RecordType, text: &str, left: &mut usize) -> Option<String> {
    record.fields.iter().find_map(|field| {
        *left = left.checked_sub(1)?;
        let values = field.ty.values_or_element_values();
        let found = values.and_then(|values| match values.contains(text) {
            true => Some(text.to_owned()),
            false => find_value_ignoring_case(values, text).map(str::to_owned),
        });
        found.or_else(|| find_enumeration_value(field.ty.fields()?, text, left))
    })
}
