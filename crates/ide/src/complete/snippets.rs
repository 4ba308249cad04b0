//! Texts with placeholders that an editor inserts and then lets the author fill in: the skeletons
//! of statements, and calls with their parameters.

use super::items::{new_item, to_record_key};
use super::{CompletionContext, CompletionItem, CompletionKind, keyword_item};
use crate::{DeclarationKind, Symbol};
use rulec_lang::builtins::FunctionInfo;
use rulec_lang::ty::KindSet;
use rulec_syntax::parse::{self, WordRole};
use rulec_syntax::write::quote_name;
use std::collections::HashMap;

/// A text that an editor inserts, with placeholders that the author fills in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    pub parts: Vec<SnippetPart>,
}

/// A part of a [`Snippet`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnippetPart {
    Text(String),
    /// A place that the author fills in, with the text that it has until then. The text may be
    /// empty.
    Placeholder(String),
}

impl Snippet {
    /// Reads a template, in which `«` and `»` enclose the placeholders.
    fn from_template(template: &str) -> Snippet {
        let part = |(index, text): (usize, &str)| match index % 2 {
            0 => SnippetPart::Text(text.to_owned()),
            _ => SnippetPart::Placeholder(text.to_owned()),
        };
        let parts = template.split(['«', '»']).enumerate().map(part);
        Snippet { parts: parts.filter(|part| *part != SnippetPart::Text(String::new())).collect() }
    }

    /// Returns the text with each placeholder replaced by its own text.
    pub fn default_text(&self) -> String {
        let text = |part: &SnippetPart| match part {
            SnippetPart::Text(text) | SnippetPart::Placeholder(text) => text.clone(),
        };
        self.parts.iter().map(text).collect()
    }
}

/// The skeletons of statements, by the word that begins the statement. A test parses and checks
/// each of them.
pub(crate) const STATEMENT_SKELETONS: &[(&str, &str)] = &[
    ("choice", "choice «name» {\n  default branch «usual»\n  branch «other» { «condition» }\n}"),
    ("def", "def «name»(«value»: «string») = «value == \"text\"»"),
    ("default", "default -> «target»"),
    ("entity", "entity «name» matches r\"«pattern»\""),
    ("flow", "flow «name» \"«description»\" keyword contains [\"«words»\"] -> \"«flow_id»\""),
    ("group", "group «name» {\n  «field»: «string»\n}"),
    ("handler", "handler «name»(«argument»: «string»)"),
    ("history", "history by «session» keep «24h» at most «100»"),
    ("import", "import \"«file.rules»\""),
    ("input", "input {\n  «text»: «string»\n}"),
    ("intent", "intent «name» {\n  keywords [\"«word»\"]\n  examples [\"«example»\"]\n}"),
    ("let", "let «name» = «condition»"),
    ("lexicon", "lexicon «name» { \"«word»\": «0.5» }"),
    ("list", "list «name» = [\"«first»\", \"«second»\"]"),
    (
        "payload",
        "payload «name» rank «1» {\n  «field»: «string»\n  require \"«name.rule»\": «len(field) > 0»\n}",
    ),
    ("route", "route «name» when «condition» -> «target»"),
    ("router", "router «name»(«output») {\n  when «output.ok» -> «next[0]»\n  otherwise -> «next[1]»\n}"),
    ("table", "table «name» {\n  route «first» when «condition» -> «target»\n}"),
    ("test", "test \"«title»\" {\n  given «text» = \"«text»\"\n  expect «default»\n}"),
    ("type", "type «name» = { «field»: «string» }"),
    ("workflow", "workflow «name» {\n  node «first» «echo» -> «second»\n  node «second» «echo»\n}"),
];

/// Returns the skeleton of the statement that begins with a word; `None` if there is none.
pub(crate) fn statement_skeleton(word: &str) -> Option<Snippet> {
    let (_, template) = STATEMENT_SKELETONS.iter().find(|(begins, _)| *begins == word)?;
    Some(Snippet::from_template(template))
}

/// Returns the call of a function with placeholders for the required parameters. The placeholder of
/// a text parameter is in quotes unless it is the first, because later texts are usually constants.
pub(super) fn call_of_function(info: &FunctionInfo) -> Snippet {
    let required = &info.params[..info.params.len() - info.optional_count];
    let argument = |(index, (name, kinds)): (usize, &(&str, KindSet))| match *kinds {
        KindSet::STRING if index > 0 => format!("\"«{name}»\""),
        _ => format!("«{}»", quote_name(name)),
    };
    let arguments: Vec<String> = required.iter().enumerate().map(argument).collect();
    call_snippet(info.name, &arguments)
}

fn call_snippet(name: &str, arguments: &[String]) -> Snippet {
    match arguments {
        [] => Snippet::from_template(&format!("{name}(«»)")),
        arguments => Snippet::from_template(&format!("{name}({})", arguments.join(", "))),
    }
}

impl CompletionContext<'_> {
    /// Returns completion items for the words that begin statements, with their skeletons. If
    /// `in_table`, returns only the words that are allowed in a table.
    pub(super) fn statement_items(&self, in_table: bool) -> Vec<CompletionItem> {
        let words = parse::keywords().filter(|(_, role)| *role == WordRole::Statement).map(|(word, _)| word);
        let words = words.filter(|word| !in_table || matches!(*word, "route" | "default"));
        // A skeleton before other text of the line would split that text from its statement.
        let is_free = self.rest_of_line().trim().is_empty();
        let item = |word| CompletionItem {
            snippet: statement_skeleton(word).filter(|_| is_free),
            ..keyword_item(word)
        };
        words.map(item).collect()
    }

    /// Returns the text after the replaced text, up to the end of the line.
    fn rest_of_line(&self) -> &str {
        let rest = self.text.get(self.replaced_end as usize..).unwrap_or_default();
        rest.lines().next().unwrap_or_default()
    }

    /// Adds a call with placeholders to the item of a function. Adds none if parentheses follow
    /// already.
    pub(super) fn with_call(&self, item: CompletionItem, call: Snippet) -> CompletionItem {
        let is_called = self.rest_of_line().starts_with('(');
        CompletionItem { snippet: (!is_called).then_some(call), ..item }
    }

    /// Returns the completion items for the declared names of these kinds. The item of a `def`,
    /// host function or handler inserts a call with a placeholder for each required parameter. In
    /// the call of a handler, each argument follows the name of its parameter. A handler without
    /// parameters is inserted as a name only.
    pub(super) fn callable_items(&self, kinds: &[DeclarationKind]) -> Vec<CompletionItem> {
        let index = &self.analysis.index;
        let mut parameters: HashMap<&[String], Vec<&Symbol>> = HashMap::new();
        for parameter in index.symbols_of_kinds(&[DeclarationKind::Parameter]) {
            if let Some((_, owner)) = parameter.path.split_last().filter(|_| parameter.declaration.is_some())
            {
                parameters.entry(owner).or_default().push(parameter);
            }
        }
        let item = |symbol: &Symbol| {
            let owner: Vec<String> = match symbol.kind {
                DeclarationKind::Def | DeclarationKind::Extern => vec![symbol.name.clone()],
                DeclarationKind::Handler => vec!["handler".to_owned(), symbol.name.clone()],
                _ => return self.symbol_item(symbol),
            };
            let declared = parameters.get(owner.as_slice()).map_or(&[][..], Vec::as_slice);
            self.callable_item(symbol, declared)
        };
        index.symbols_of_kinds(kinds).map(item).collect()
    }

    fn callable_item(&self, symbol: &Symbol, parameters: &[&Symbol]) -> CompletionItem {
        let item = self.symbol_item(symbol);
        let is_handler = symbol.kind == DeclarationKind::Handler;
        if is_handler && parameters.is_empty() {
            return item;
        }
        let argument = |parameter: &&Symbol| match is_handler {
            true => format!("{}: «{}»", to_record_key(&parameter.name), quote_name(&parameter.name)),
            false => format!("«{}»", quote_name(&parameter.name)),
        };
        let required = parameters.iter().filter(|parameter| self.is_required(parameter));
        let arguments: Vec<String> = required.map(argument).collect();
        let call = call_snippet(&item.label, &arguments);
        self.with_call(item, call)
    }

    /// True if a parameter is declared without a `?` after its name.
    fn is_required(&self, parameter: &Symbol) -> bool {
        parameter.declaration.as_ref().is_some_and(|declaration| {
            let declared = self.analysis.sources.slice(declaration.whole_span);
            let after_name = declared.get(declaration.name_span.len()..).unwrap_or_default();
            !after_name.trim_start().starts_with('?')
        })
    }

    /// Returns the item of a built-in function, with its call.
    pub(super) fn function_item(&self, info: &'static FunctionInfo) -> CompletionItem {
        let hover = crate::hover::function_hover(
            info,
            rulec_base::span::Span { file: self.file, start: self.replaced_start, end: self.replaced_end },
        );
        let item = new_item(CompletionKind::Function, info.name, hover.source_code);
        self.with_call(CompletionItem { docs: hover.text, ..item }, call_of_function(info))
    }
}
