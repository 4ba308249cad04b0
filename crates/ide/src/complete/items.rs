//! Creates completion items for the words of the language and for the names that the rules declare,
//! such as fields, parameters and handlers.

use super::{CompletionContext, CompletionItem, CompletionKind};
use crate::facts::{ELEMENT_SEGMENT, field_names_and_types};
use crate::hover::{documentation_with_example, word_explanation};
use crate::{DeclarationKind, Symbol};
use rulec_base::diag::Message;
use rulec_lang::operators::OpInfo;
use rulec_lang::ty::Ty;
use rulec_lang::{builtins, limits};
use rulec_sema::check::SETTINGS;
use rulec_syntax::parse;
use rulec_syntax::write::{quote_name, quote_string};

/// Words that are values, or that begin a condition or an expression.
const VALUE_WORDS: [&str; 9] = ["not", "any", "all", "none", "count", "if", "true", "false", "null"];

impl<'a> CompletionContext<'a> {
    /// Returns the fields that can follow the dot directly before the cursor.
    pub(super) fn member_items(&self) -> Vec<CompletionItem> {
        let dot = self.tokens_before.len() - 1;
        let (path, start) = self.path_before(dot);
        if self.scope.head_word == "test" && self.token_text_before(start) == "expect" {
            return self.expected_member_items(&path);
        }
        if let Some(items) = self.fields_of_bound_name(&path, start) {
            return items;
        }
        let fields = |names: &[&str]| -> Vec<CompletionItem> {
            names.iter().map(|name| new_item(CompletionKind::Field, name, String::new())).collect()
        };
        let to_item = |(name, ty): (String, String)| new_item(CompletionKind::Field, &name, ty);
        let expanded = self.expand_path(&path, start);
        match expanded.as_slice() {
            [] => Vec::new(),
            ["request"] => {
                let mut items = fields(&["intent", "intent_score", "entities", "keywords", "context_score"]);
                let lexicons = self.analysis.index.symbols_of_kinds(&[DeclarationKind::Lexicon]);
                items.extend(
                    lexicons.map(|symbol| new_item(CompletionKind::Field, &symbol.name, String::new())),
                );
                items
            }
            ["request", "entities"] => self.symbol_items(&[DeclarationKind::Entity]),
            ["payload"] => self.payload_fields(),
            ["previous"] | ["history", ELEMENT_SEGMENT] => {
                let mut items = fields(&["at", "decision"]);
                items.extend(self.analysis.facts.fields_of_record(&[]).into_iter().map(to_item));
                items
            }
            ["previous", "decision"] | ["history", ELEMENT_SEGMENT, "decision"] => {
                fields(&["chosen", "target"])
            }
            path => match self.type_from_let(path) {
                Some(ty) => {
                    ty.fields().map_or(Vec::new(), field_names_and_types).into_iter().map(to_item).collect()
                }
                None => self.fields_of_message(path),
            },
        }
    }

    /// Returns completion items for the fields of the message value at a path.
    pub(super) fn fields_of_message(&self, path: &[&str]) -> Vec<CompletionItem> {
        let known = self.analysis.facts.fields_of_record(path);
        if !known.is_empty() {
            let to_item = |(name, ty): (String, String)| new_item(CompletionKind::Field, &name, ty);
            return known.into_iter().map(to_item).collect();
        }
        // A list's elements without a declaration have only the fields that rules use.
        let owner = (DeclarationKind::Field, path.iter().map(|name| (*name).to_owned()).collect());
        let used = self.analysis.index.fields_declared_in(&owner);
        used.map(|symbol| new_item(CompletionKind::Field, &symbol.name, String::new())).collect()
    }

    /// Returns the fields that can follow a path whose first name is a parameter or a local name.
    /// `None` for any other path. `start` is the index of the path's first token.
    fn fields_of_bound_name(&self, path: &[&str], start: usize) -> Option<Vec<CompletionItem>> {
        let first = self.tokens_before.get(start).filter(|_| !path.is_empty())?;
        let index = &self.analysis.index;
        let occurrence = index.occurrence_at(self.file, first.start);
        let symbol = occurrence.map(|occurrence| &index.symbols[occurrence.symbol]).or_else(|| {
            // A statement with errors has no occurrences in the index, so the name is looked up
            // among all `let`s.
            index.symbols_of_kinds(&[DeclarationKind::Let]).find(|symbol| symbol.name == path[0])
        });
        let bound = symbol.and_then(|symbol| symbol.fields_owner.clone());
        let (kind, mut inner) = bound.or_else(|| self.type_of_parameter(path[0], start))?;
        inner.extend(path.iter().skip(1).map(|name| (*name).to_owned()));
        let items: Vec<_> =
            index.fields_declared_in(&(kind, inner)).map(|symbol| self.symbol_item(symbol)).collect();
        (!items.is_empty()).then_some(items)
    }

    /// Finds the fields of the type of the parameter `name`: returns the kind `TypeField` and the
    /// name of the type, `Order` for the parameter `o: Order`. The parameter belongs to the `def`
    /// or `group` at the cursor, and its declaration precedes the token `before`. `None` if there
    /// is no such parameter.
    fn type_of_parameter(&self, name: &str, before: usize) -> Option<(DeclarationKind, Vec<String>)> {
        if !matches!(self.scope.head_word, "def" | "group") {
            return None;
        }
        let is_parameter = |index: &usize| {
            self.token_text(*index) == name
                && self.token_text(index + 1) == ":"
                && matches!(self.token_text_before(*index), "(" | ",")
        };
        let index = (self.scope.first_token..before).find(is_parameter)?;
        Some((DeclarationKind::TypeField, vec![self.token_text(index + 2).to_owned()]))
    }

    /// Returns completion items after `expect TABLE.`: the results that a test can expect of a
    /// table, choice or payload. `path` contains its name; empty if it has another length.
    fn expected_member_items(&self, path: &[&str]) -> Vec<CompletionItem> {
        let [owner] = path else { return Vec::new() };
        let kinds = [DeclarationKind::Route, DeclarationKind::Branch];
        let members = self.analysis.index.symbols_of_kinds(&kinds);
        let members = members.filter(|symbol| matches!(&*symbol.path, [first, _] if first == owner));
        let mut items: Vec<CompletionItem> = members.map(|symbol| self.symbol_item(symbol)).collect();
        items.push(keyword_item("default"));
        items
    }

    pub(super) fn symbol_items(&self, kinds: &[DeclarationKind]) -> Vec<CompletionItem> {
        self.analysis.index.symbols_of_kinds(kinds).map(|symbol| self.symbol_item(symbol)).collect()
    }

    /// Returns completion items for the declared names of the kind `kind` that belong to `owner`,
    /// such as the parameters of a handler.
    pub(super) fn inner_symbol_items(&self, kind: DeclarationKind, owner: &[&str]) -> Vec<CompletionItem> {
        self.inner_symbols(kind, owner).into_iter().map(|symbol| self.symbol_item(symbol)).collect()
    }

    /// Returns the declared names of the kind `kind` that belong to `owner`, in source order.
    pub(super) fn inner_symbols(&self, kind: DeclarationKind, owner: &[&str]) -> Vec<&'a Symbol> {
        let owner = (kind, owner.iter().map(|name| (*name).to_owned()).collect());
        let inner = self.analysis.index.fields_declared_in(&owner);
        inner.filter(|symbol| symbol.declaration.is_some()).collect()
    }

    /// Returns completion items for the fields of the payload or group that contains the cursor.
    pub(super) fn payload_fields(&self) -> Vec<CompletionItem> {
        self.inner_symbol_items(DeclarationKind::PayloadField, &[unquote_name(self.scope.owner_name)])
    }

    /// Converts a symbol (a declared name) to a completion item.
    pub(super) fn symbol_item(&self, symbol: &Symbol) -> CompletionItem {
        CompletionItem {
            kind: match symbol.kind {
                DeclarationKind::Handler => CompletionKind::Handler,
                DeclarationKind::Type | DeclarationKind::Group => CompletionKind::Type,
                DeclarationKind::Field | DeclarationKind::PayloadField | DeclarationKind::TypeField => {
                    CompletionKind::Field
                }
                DeclarationKind::Def | DeclarationKind::Extern => CompletionKind::Function,
                DeclarationKind::Let
                | DeclarationKind::List
                | DeclarationKind::Local
                | DeclarationKind::Parameter => CompletionKind::Value,
                _ => CompletionKind::Statement,
            },
            label: quote_name(&symbol.name),
            detail: self.analysis.symbol_signature(symbol).lines().next().unwrap_or_default().to_owned(),
            docs: symbol
                .declaration
                .as_ref()
                .map(|declaration| Message::verbatim(&declaration.docs))
                .unwrap_or_default(),
            may_not_fit: false,
            snippet: None,
        }
    }

    /// Returns completion items for the top-level fields of the input message.
    pub(super) fn message_fields(&self) -> Vec<CompletionItem> {
        let fields = self.analysis.facts.fields_of_record(&[]).into_iter();
        fields.map(|(name, ty)| new_item(CompletionKind::Field, &quote_name(&name), ty)).collect()
    }

    /// Returns completion items for the names and words with which a condition or value can begin.
    pub(super) fn value_items(&self) -> Vec<CompletionItem> {
        let mut items = self.callable_items(&[
            DeclarationKind::Let,
            DeclarationKind::Def,
            DeclarationKind::List,
            DeclarationKind::Extern,
        ]);
        items.extend(self.message_fields());
        // A local name is offered only if its declaration contains the position.
        let local = |symbol: &&Symbol| {
            let declaration_span = symbol.declaration.as_ref().map(|declaration| declaration.whole_span);
            declaration_span.is_some_and(|span| {
                span.file == self.file
                    && span.start <= self.replaced_start
                    && self.replaced_start <= span.end + 1
            })
        };
        let locals = self.analysis.index.symbols_of_kinds(&[DeclarationKind::Local]).filter(local);
        items.extend(
            locals.map(|symbol| new_item(CompletionKind::Value, &quote_name(&symbol.name), String::new())),
        );
        items.extend(self.local_names().map(|name| new_item(CompletionKind::Value, name, String::new())));
        let is_payload = |head: &str| matches!(head, "payload" | "group");
        if is_payload(self.scope.head_word) || is_payload(self.scope.owner_head_word) {
            items.extend(self.payload_fields());
        }
        items.extend(builtins::TABLE.iter().map(|row| self.function_item(row)));
        items.extend(VALUE_WORDS.map(keyword_item));
        items
    }

    /// Returns the quantifier variables and parameters that are declared before the
    /// cursor. Finds them in the tokens, because the statement may have errors.
    fn local_names(&self) -> impl Iterator<Item = &'a str> {
        let is_variable = |index: usize| {
            self.token_text(index + 1) == "in"
                && matches!(self.token_text_before(index), "any" | "all" | "none" | "count" | "for")
        };
        let has_parameters = matches!(self.scope.head_word, "def" | "group" | "router");
        let is_parameter = move |index: usize| {
            has_parameters
                && matches!(self.token_text_before(index), "(" | ",")
                && matches!(self.token_text(index + 1), ":" | ")")
        };
        (self.scope.first_token..self.tokens_before.len())
            .filter(move |index| is_variable(*index) || is_parameter(*index))
            .map(|index| self.token_text(index))
    }

    pub(super) fn type_items(&self) -> Vec<CompletionItem> {
        let mut items = self.symbol_items(&[DeclarationKind::Type]);
        let builtin = |name: &&str| new_item(CompletionKind::Type, name, String::new());
        items.extend(Ty::BUILTIN_NAMES.iter().map(builtin));
        items
    }
}

/// Returns completion items for the names of all settings and limits.
pub(super) fn setting_items() -> Vec<CompletionItem> {
    let setting = |name: &str, docs: &'static str| CompletionItem {
        docs: Message::verbatim(docs),
        ..new_item(CompletionKind::Field, name, String::new())
    };
    let settings = SETTINGS.iter().map(|row| setting(row.name, row.doc));
    settings.chain(limits::TABLE.iter().map(|row| setting(row.name, row.doc))).collect()
}

/// Returns the words that are values of a setting; empty for a setting whose value is a number or a
/// text.
pub(super) fn setting_value_items(name: &str) -> Vec<CompletionItem> {
    let Some(row) = SETTINGS.iter().find(|row| row.name == name) else { return Vec::new() };
    let values = row.allowed_values.to_string();
    let words = values.split('`').skip(1).step_by(2);
    words
        .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        .map(|word| new_item(CompletionKind::Value, word, String::new()))
        .collect()
}

pub(super) fn operator_item(row: &OpInfo) -> CompletionItem {
    CompletionItem {
        docs: documentation_with_example(&row.doc, row.example),
        ..new_item(CompletionKind::Operator, row.spelling, String::new())
    }
}

pub(super) fn keyword_item(word: &str) -> CompletionItem {
    CompletionItem {
        docs: parse::word_doc(word).map(word_explanation).unwrap_or_default(),
        ..new_item(CompletionKind::Keyword, word, String::new())
    }
}

pub(super) fn new_item(kind: CompletionKind, label: &str, detail: String) -> CompletionItem {
    let docs = Message::default();
    CompletionItem { kind, label: label.to_owned(), detail, docs, may_not_fit: false, snippet: None }
}

/// Returns a name without the backquotes around it.
pub(super) fn unquote_name(name: &str) -> &str {
    name.trim_matches('`')
}

/// Returns a field's name as the key of a record. The key is in quotes only if the name contains
/// characters other than letters, digits and `_`.
pub(super) fn to_record_key(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_plain { name.to_owned() } else { quote_string(name) }
}
