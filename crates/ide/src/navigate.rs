//! Services for a position in the text: links to other files, growing selections, the declaration
//! of a type, and the signature of a call.

use super::facts::ELEMENT_SEGMENT;
use super::hover::{documentation_with_example, open_brackets, significant_tokens};
use super::{Analysis, DeclarationKind, OutlineEntry, Symbol};
use rulec_base::broken_invariant;
use rulec_base::diag::Message;
use rulec_base::span::{FileId, Span};
use rulec_lang::builtins::Function;
use rulec_syntax::lex::{Token, TokenKind};

/// A quoted path of another file in the text, as in `import "words.rules"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLink {
    /// The span of the quoted path in the source text, with its quotes.
    pub span: Span,
    /// The path of the other file, relative to the root folder.
    pub path: String,
}

/// The signature of the function, `def` or handler whose arguments contain a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name with its parameters, such as `over(n: int)`.
    pub label: String,
    /// The text of each parameter, as it appears in `label`.
    pub parameters: Vec<String>,
    /// The index of the parameter whose argument is at the position, from 0. `None` if the argument
    /// has a name that no parameter has, or if there are no parameters.
    pub active_parameter: Option<usize>,
    pub docs: Message,
}

impl Analysis {
    /// Returns the links to other files in a file: the paths after `import` and after the `from` of
    /// a list.
    pub fn file_links(&self, file: FileId) -> Vec<FileLink> {
        let text = self.text(file);
        let own_name = self.sources.get(file).map_or("", |file| &file.name);
        let folder = own_name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let tokens = significant_tokens(text);
        let link = |pair: &[Token]| {
            let [word, path] = pair else { return None };
            let names_file = matches!(word.text(text), "import" | "from") && path.kind == TokenKind::String;
            let written = path.text(text).trim_matches('"');
            names_file.then(|| FileLink { span: path.span(file), path: join_path(folder, written) })
        };
        tokens.windows(2).filter_map(link).collect()
    }

    /// Returns the ranges that contain an offset, from the token to the whole file. Each range
    /// contains the previous range.
    pub fn selection_ranges(&self, file: FileId, offset: u32) -> Vec<Span> {
        let text = self.text(file);
        let contains = |span: &Span| span.file == file && span.start <= offset && offset <= span.end;
        let mut ranges = vec![Span { file, start: 0, end: text.len() as u32 }];
        let mut open_brackets: Vec<Token> = Vec::new();
        for token in significant_tokens(text) {
            let span = token.span(file);
            if contains(&span) && (offset < span.end || token.kind == TokenKind::Word) {
                ranges.push(span);
            }
            if token.kind.opens_bracket() {
                open_brackets.push(token);
            } else if token.kind.closes_bracket()
                && let Some(open) = open_brackets.pop()
            {
                ranges.push(Span { file, start: open.start, end: token.end });
                ranges.push(Span { file, start: open.end, end: token.start });
            }
        }
        add_entry_ranges(self.index.outline(file), &mut ranges);
        ranges.extend(self.index.expression_spans.iter().filter(|span| contains(span)));
        ranges.retain(contains);
        ranges.sort_by_key(|span| (span.end - span.start, span.start));
        ranges.dedup();
        // Ranges of a statement with errors may overlap. Only ranges that contain the previous
        // range are kept.
        let mut nested: Vec<Span> = Vec::new();
        for range in ranges {
            if nested.last().is_none_or(|inner| range.start <= inner.start && inner.end <= range.end) {
                nested.push(range);
            }
        }
        nested
    }

    /// Returns the span at which the name at an offset is declared. The words `history` and
    /// `previous` lead to the `history` statement. `None` for other words, and for names without a
    /// declaration.
    pub fn definition(&self, file: FileId, offset: u32) -> Option<Span> {
        if let Some(occurrence) = self.index.occurrence_at(file, offset) {
            let declaration = self.index.symbols[occurrence.symbol].declaration.as_ref()?;
            return Some(declaration.name_span);
        }
        let text = self.text(file);
        let tokens = significant_tokens(text);
        let index = tokens.iter().position(|token| token.start <= offset && offset < token.end)?;
        let is_member = index.checked_sub(1).is_some_and(|before| tokens[before].kind == TokenKind::Dot);
        if is_member || !matches!(tokens[index].text(text), "history" | "previous") {
            return None;
        }
        let mut outlines = self.sources.iter().flat_map(|(file, _)| self.index.outline(file));
        outlines.find(|entry| entry.kind == DeclarationKind::History).map(|entry| entry.name_span)
    }

    /// Returns the span of a type's name in the `type` statement that declares it. The type is the
    /// type of the name at an offset. `None` if this type has no name.
    pub fn type_definition(&self, file: FileId, offset: u32) -> Option<Span> {
        let occurrence = self.index.occurrence_at(file, offset)?;
        let symbol = &self.index.symbols[occurrence.symbol];
        let declared = self.declared_type(symbol).or_else(|| {
            let (kind, path) = symbol.fields_owner.as_ref()?;
            let named = *kind == DeclarationKind::TypeField;
            self.type_named(path.first().filter(|_| named)?)
        });
        declared?.declaration.as_ref().map(|declaration| declaration.name_span)
    }

    /// Returns the type or group that the declaration of a symbol names, as in `order: Order`.
    /// `None` if the declaration names no declared type.
    fn declared_type(&self, symbol: &Symbol) -> Option<&Symbol> {
        let declaration = symbol.declaration.as_ref()?;
        let has_type = matches!(
            symbol.kind,
            DeclarationKind::Field
                | DeclarationKind::PayloadField
                | DeclarationKind::TypeField
                | DeclarationKind::Parameter
        );
        let text = self.text(declaration.whole_span.file);
        let ty = text.get(declaration.name_span.end as usize..declaration.whole_span.end as usize)?;
        // An unnamed record has no type name of its own. So only the text before its brace is
        // searched.
        let name_part = ty.split('{').next()?;
        let words = significant_tokens(name_part);
        let mut words = words.iter().rev().filter(|token| token.kind == TokenKind::Word);
        words.find_map(|word| self.type_named(word.text(name_part))).filter(|_| has_type)
    }

    fn type_named(&self, name: &str) -> Option<&Symbol> {
        let kinds = [DeclarationKind::Type, DeclarationKind::Group];
        self.index.symbols_of_kinds(&kinds).find(|symbol| symbol.name == name && name != ELEMENT_SEGMENT)
    }

    /// Returns the signature of the call whose parentheses contain an offset. `None` outside a
    /// call, or if no function, `def` or handler has the called name.
    pub fn signature_at(&self, file: FileId, offset: u32) -> Option<Signature> {
        let text = self.text(file);
        let tokens = significant_tokens(text);
        let tokens = &tokens[..tokens.partition_point(|token| token.end <= offset)];
        let is_call = |open: &&usize| {
            tokens[**open].kind == TokenKind::OpenParen
                && **open > 0
                && matches!(tokens[**open - 1].kind, TokenKind::Word | TokenKind::Quoted)
        };
        let open = *open_brackets(tokens).iter().rev().find(is_call)?;
        let name = tokens[open - 1].text(text).trim_matches('`');
        let is_target = open > 1 && tokens[open - 2].kind == TokenKind::Arrow;
        let mut signature = self.signature_of(name, is_target)?;
        let (mut depth, mut position, mut argument_start) = (0usize, 0usize, open + 1);
        for (index, token) in tokens.iter().enumerate().skip(open + 1) {
            depth += usize::from(token.kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(token.kind.closes_bracket()));
            if depth == 0 && token.kind == TokenKind::Comma {
                position += 1;
                argument_start = index + 1;
            }
        }
        let has_name = tokens.get(argument_start + 1).is_some_and(|token| token.kind == TokenKind::Colon);
        let last = signature.parameters.len().checked_sub(1);
        signature.active_parameter = match tokens.get(argument_start).filter(|_| has_name) {
            Some(key) => signature.parameters.iter().position(|parameter| {
                parameter.split([':', '?']).next().map(str::trim) == Some(key.text(text))
            }),
            None => last.map(|last| position.min(last)),
        };
        Some(signature)
    }

    fn signature_of(&self, name: &str, is_target: bool) -> Option<Signature> {
        if let Some(function) = Function::from_name(name).filter(|_| !is_target) {
            let info = function.info();
            let label = info.signature();
            let parameters = parameters_in(&label);
            let docs = documentation_with_example(&info.doc, info.example);
            return Some(Signature { label, parameters, active_parameter: None, docs });
        }
        let kinds: &[DeclarationKind] = match is_target {
            true => &[DeclarationKind::Handler],
            false => &[DeclarationKind::Def, DeclarationKind::Extern],
        };
        let symbol = self.index.symbols_of_kinds(kinds).find(|symbol| symbol.name == name)?;
        let declaration = symbol.declaration.as_ref()?;
        let text = self.text(declaration.whole_span.file);
        let declared = text.get(declaration.name_span.start as usize..declaration.whole_span.end as usize)?;
        let label = declared[..end_of_parentheses(declared)?].to_owned();
        let parameters = parameters_in(&label);
        let docs = Message::verbatim(&declaration.docs);
        Some(Signature { label, parameters, active_parameter: None, docs })
    }
}

/// Adds the spans of outline entries, and of the entries nested in them, to `ranges`.
fn add_entry_ranges(entries: &[OutlineEntry], ranges: &mut Vec<Span>) {
    for entry in entries {
        ranges.push(entry.span);
        add_entry_ranges(&entry.inner, ranges);
    }
}

/// Returns the offset after the parenthesis that closes the first parenthesis of a text. `None` if
/// it is not closed.
fn end_of_parentheses(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for token in significant_tokens(text) {
        depth += usize::from(token.kind.opens_bracket());
        if token.kind.closes_bracket() {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(token.end as usize);
            }
        }
    }
    None
}

/// Returns the text of each parameter in a signature such as `over(n: int, m: int)`.
fn parameters_in(label: &str) -> Vec<String> {
    let (Some(open), Some(end)) = (label.find('('), end_of_parentheses(label)) else {
        broken_invariant!("a signature has parentheses");
        return Vec::new();
    };
    let inner = &label[open + 1..end - 1];
    let (mut parameters, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for token in significant_tokens(inner) {
        let is_angle = token.kind == TokenKind::Operator;
        depth += usize::from(token.kind.opens_bracket() || is_angle && token.text(inner) == "<");
        let closes = token.kind.closes_bracket() || is_angle && token.text(inner) == ">";
        depth = depth.saturating_sub(usize::from(closes));
        if depth == 0 && token.kind == TokenKind::Comma {
            parameters.push(inner[start..token.start as usize].trim().to_owned());
            start = token.end as usize;
        }
    }
    parameters.push(inner[start..].trim().to_owned());
    parameters.retain(|parameter| !parameter.is_empty());
    parameters
}

/// Joins a folder and a path, both relative to the root folder and with `/` between names. The
/// segments `.` and `..` of the path are resolved.
fn join_path(folder: &str, path: &str) -> String {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}
