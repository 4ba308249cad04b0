//! Refactorings: edits that an editor offers at a position. An edit is offered only if it cannot
//! change the meaning of the rules. If the rules have errors, only statements without errors are
//! changed, and only if the names and routes in the other statements cannot be concerned.

use super::actions::CodeAction;
use super::hover::significant_tokens;
use super::index::ListLiteral;
use super::{Analysis, DeclarationKind, Edit, OutlineEntry};
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::operators::is_reserved_word;
use rulec_syntax::ast::Literal;
use rulec_syntax::lex::{self, TokenKind};
use rulec_syntax::parse;

/// The name of an extracted `let`. The author is expected to rename it.
const EXTRACTED_LET_NAME: &str = "extracted";
/// Names that the rule language itself defines in some rules, such as `history`.
const BUILT_IN_NAMES: [&str; 7] =
    ["text", "request", "history", "previous", "payload", "decision", "answers"];

impl Analysis {
    /// Returns the refactorings for a selection. A cursor is an empty selection.
    pub fn refactorings(&self, selection: Span) -> Vec<CodeAction> {
        let errors = self.diagnostics().iter().filter(|diagnostic| diagnostic.is_error());
        // An error without a place may concern any statement.
        let Some(errors) = errors.map(Diagnostic::span).collect::<Option<Vec<Span>>>() else {
            return Vec::new();
        };
        let of_names = [
            self.extract_let(selection, &errors),
            self.inline_let(selection, &errors),
            self.extract_list(selection, &errors),
        ];
        of_names.into_iter().chain([self.sort_routes(selection, &errors)]).flatten().collect()
    }

    /// Returns the statement outside all others that contains `part`. `None` if it has an error.
    fn sound_statement(&self, part: Span, errors: &[Span]) -> Option<&OutlineEntry> {
        let mut entries = self.index.outline(part.file).iter();
        let statement = entries.find(|entry| is_within(part, entry.span))?;
        (!errors.iter().any(|error| touches(*error, statement.span))).then_some(statement)
    }

    /// True if the name is written where the index has no symbol, as in a statement that does not
    /// parse.
    fn is_written_elsewhere(&self, name: &str) -> bool {
        self.sources.iter().any(|(file, source)| {
            significant_tokens(&source.text).iter().any(|token| {
                token.text(&source.text).trim_matches('`') == name
                    && self.index.occurrence_at(file, token.start).is_none()
            })
        })
    }

    /// Returns the action that moves the selected expression to a new `let` before the statement.
    /// `None` if no expression is selected, or if it uses a local name of its statement.
    fn extract_let(&self, selection: Span, errors: &[Span]) -> Option<CodeAction> {
        let text = self.text(selection.file);
        let expression = self.selected_expression(selection)?;
        let statement = self.sound_statement(expression, errors)?;
        let allows_names = matches!(
            statement.kind,
            DeclarationKind::Route
                | DeclarationKind::Table
                | DeclarationKind::Choice
                | DeclarationKind::Let
                | DeclarationKind::Def
        );
        let uses = self.index.occurrences_in(selection.file).iter();
        let mut uses = uses.filter(|occurrence| is_within(occurrence.span, expression));
        let is_local = |kind| matches!(kind, DeclarationKind::Local | DeclarationKind::Parameter);
        if !allows_names || uses.any(|occurrence| is_local(self.index.symbols[occurrence.symbol].kind)) {
            return None;
        }
        let name = self.unused_name(EXTRACTED_LET_NAME, errors)?;
        let start = start_including_comments(text, statement.span.start);
        let declaration = format!("let {name} = {}\n", self.sources.slice(expression));
        let insertion = Span { file: selection.file, start, end: start };
        let edits = vec![
            Edit { span: insertion, replacement: declaration },
            Edit { span: expression, replacement: name },
        ];
        Some(CodeAction { title: message!("give the expression a name (`let`)"), edits, is_safe: false })
    }

    /// Returns a name that nothing in the rules has: `wanted`, followed by a number if it is taken.
    fn unused_name(&self, wanted: &str, errors: &[Span]) -> Option<String> {
        let is_taken = |name: &str| {
            is_reserved_word(name)
                || Function::from_name(name).is_some()
                || parse::keywords().any(|(word, _)| word == name)
                || BUILT_IN_NAMES.contains(&name)
                || self.index.symbols.iter().any(|symbol| symbol.name == name)
                || !errors.is_empty() && self.is_written_elsewhere(name)
        };
        let names = (2..).map(|number| format!("{wanted}_{number}"));
        std::iter::once(wanted.to_owned()).chain(names).find(|name| !is_taken(name))
    }

    /// Returns the action that names the list of constants at the selection. The action adds a
    /// `list` statement, and replaces each equal list of the file by the name. `None` if no
    /// condition has a list of constants there.
    fn extract_list(&self, selection: Span, errors: &[Span]) -> Option<CodeAction> {
        let text = self.text(selection.file);
        let around = self.index.lists.iter().filter(|list| is_within(selection, list.span));
        let selected = around.min_by_key(|list| list.span.len())?;
        let is_equal = |list: &&ListLiteral| {
            list.span.file == selection.file
                && list.elements == selected.elements
                && self.sound_statement(list.span, errors).is_some()
        };
        let equal: Vec<Span> = self.index.lists.iter().filter(is_equal).map(|list| list.span).collect();
        let name = self.unused_name(&name_for_list(selected), errors)?;
        let statement = self.sound_statement(selected.span, errors)?;
        let start = start_including_comments(text, statement.span.start);
        let declaration = format!("list {name} = {}\n", to_one_line(self.sources.slice(selected.span)));
        let insertion = Span { file: selection.file, start, end: start };
        let mut edits = vec![Edit { span: insertion, replacement: declaration }];
        edits.extend(equal.into_iter().map(|span| Edit { span, replacement: name.clone() }));
        Some(CodeAction { title: message!("name this list (`list {name}`)"), edits, is_safe: false })
    }

    /// Returns the span of the selected expression without white space and parentheses around it.
    /// `None` if the selection is not exactly one expression.
    fn selected_expression(&self, selection: Span) -> Option<Span> {
        let text = self.text(selection.file);
        let mut selected = text.get(selection.range())?.trim();
        loop {
            let start = selection.start
                + (selected.as_ptr() as usize - text[selection.range()].as_ptr() as usize) as u32;
            let span = Span { file: selection.file, start, end: start + selected.len() as u32 };
            // The index stores the span of an expression in parentheses including the parentheses.
            let is_in_parentheses =
                text[..start as usize].ends_with('(') && text[span.end as usize..].starts_with(')');
            let widened = Span { start: start.saturating_sub(1), end: span.end + 1, ..span };
            let is_expression = self.index.expression_spans.contains(&span)
                || is_in_parentheses && self.index.expression_spans.contains(&widened);
            if !span.is_empty() && is_expression {
                return Some(span);
            }
            selected = selected.strip_prefix('(')?.strip_suffix(')')?.trim();
        }
    }

    /// Returns the action that replaces every use of the `let` at the position by its value, and
    /// removes the `let`. `None` at any other name, or if a use could then have another meaning.
    fn inline_let(&self, selection: Span, errors: &[Span]) -> Option<CodeAction> {
        let target = self.index.occurrence_at(selection.file, selection.start)?;
        let symbol = &self.index.symbols[target.symbol];
        let declaration = symbol.declaration.as_ref().filter(|_| symbol.kind == DeclarationKind::Let)?;
        let file = declaration.name_span.file;
        let text = self.text(file);
        let equals =
            text[declaration.name_span.end as usize..].find('=')? as u32 + declaration.name_span.end + 1;
        let value = text.get(equals as usize..declaration.whole_span.end as usize)?.trim();
        let has_comment = lex::tokenize(value, 0).any(|token| {
            matches!(token.kind, TokenKind::Comment | TokenKind::DocComment | TokenKind::SlashComment)
        });
        let uses: Vec<Span> = self
            .index
            .occurrences_of(target.symbol)
            .filter(|occurrence| !occurrence.is_declaration)
            .map(|occurrence| occurrence.span)
            .collect();
        // Another file may have other settings, which could give the value another meaning there.
        let is_elsewhere = uses.iter().any(|used| used.file != file);
        let is_damaged = !errors.is_empty()
            && (self.is_written_elsewhere(&symbol.name)
                || uses
                    .iter()
                    .chain([&declaration.whole_span])
                    .any(|part| self.sound_statement(*part, errors).is_none()));
        if has_comment
            || is_damaged
            || uses.is_empty()
            || is_elsewhere
            || self.is_captured_when_inlined(declaration.whole_span)
        {
            return None;
        }
        let is_operand = is_single_operand(value);
        let is_base = |used: &Span| text[used.end as usize..].starts_with(['.', '[']);
        if !is_operand && uses.iter().any(is_base) {
            return None;
        }
        let replacement = if is_operand { value.to_owned() } else { format!("({value})") };
        let mut edits: Vec<Edit> =
            uses.into_iter().map(|span| Edit { span, replacement: replacement.clone() }).collect();
        edits.push(Edit {
            span: span_of_whole_lines(text, declaration.whole_span),
            replacement: String::new(),
        });
        let title = message!("replace `{}` by its value", symbol.name);
        Some(CodeAction { title, edits, is_safe: false })
    }

    /// True if some local name equals a name that the `let` at `definition` mentions. Inlining the
    /// `let` could then make that mention refer to the local name.
    fn is_captured_when_inlined(&self, definition: Span) -> bool {
        let is_local = |kind| matches!(kind, DeclarationKind::Local | DeclarationKind::Parameter);
        let used = self.index.occurrences_in(definition.file).iter();
        let mut used =
            used.filter(|occurrence| is_within(occurrence.span, definition) && !occurrence.is_declaration);
        used.any(|occurrence| {
            let name = &self.index.symbols[occurrence.symbol].name;
            let declared_in = |span: Span| is_within(span, definition);
            self.index.symbols.iter().any(|symbol| {
                let declared = symbol.declaration.as_ref();
                is_local(symbol.kind)
                    && symbol.name == *name
                    && declared.is_none_or(|declared| !declared_in(declared.name_span))
            })
        })
    }

    /// Returns the action that sorts the routes of a file or table by the order in which they are
    /// tried. `None` if they are sorted already, or if two routes share a line.
    fn sort_routes(&self, selection: Span, errors: &[Span]) -> Option<CodeAction> {
        let (file, text) = (selection.file, self.text(selection.file));
        let routes = routes_around(self.index.outline(file), selection)?;
        // A statement that does not parse may be a route that is tried between two others.
        let entries = self.index.outline(file);
        let is_around = |entry: &&OutlineEntry| {
            entry.kind == DeclarationKind::Table
                && routes.iter().all(|route| is_within(route.span, entry.span))
        };
        let table = entries.iter().find(is_around);
        let is_apart = |error: &Span| match table {
            Some(table) => !touches(*error, table.span),
            None => entries
                .iter()
                .any(|entry| entry.kind != DeclarationKind::Route && is_within(*error, entry.span)),
        };
        if !errors.iter().filter(|error| error.file == file).all(is_apart) {
            return None;
        }
        let order = |span: Span| {
            self.facts.route_positions.iter().find(|(route, _)| *route == span).map(|(_, number)| *number)
        };
        let slot = |route: &&OutlineEntry| Some((order(route.span)?, span_of_whole_lines(text, route.span)));
        let slots: Vec<(usize, Span)> = routes.iter().filter_map(slot).collect();
        // Whole lines are moved, so the lines of a route must not contain another statement.
        let has_own_lines = |span: Span| {
            let before = &text[start_of_line(text, span.start)..span.start as usize];
            before.trim().is_empty() && text[..span.end as usize].ends_with('\n')
        };
        if slots.is_sorted()
            || !routes.iter().all(|route| {
                has_own_lines(Span { end: span_of_whole_lines(text, route.span).end, ..route.span })
            })
        {
            return None;
        }
        let mut sorted = slots.clone();
        sorted.sort_by_key(|(number, _)| *number);
        let edits = slots.iter().zip(&sorted).filter(|(old, new)| old != new);
        let edit = |(old, new): (&(usize, Span), &(usize, Span))| Edit {
            span: old.1,
            replacement: self.sources.slice(new.1).to_owned(),
        };
        let title = message!("sort the routes by priority");
        Some(CodeAction { title, edits: edits.map(edit).collect(), is_safe: false })
    }
}

/// Returns a name for a list: the plural of the field that is compared with the list. `words` if
/// the list is compared with the text of the message, or with no field.
fn name_for_list(list: &ListLiteral) -> String {
    let field = list.compared_field.as_deref().filter(|field| *field != "text");
    let Some(field) = field.filter(|field| !field.is_empty()) else {
        let is_text = |element: &Literal| matches!(element, Literal::String(_));
        return if list.elements.iter().all(is_text) { "words" } else { "values" }.to_owned();
    };
    match field.strip_suffix('y') {
        _ if !field.is_ascii() => format!("{field}_list"),
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if field.ends_with('s') => format!("{field}_list"),
        _ if field.ends_with(['x', 'z']) || field.ends_with("ch") || field.ends_with("sh") => {
            format!("{field}es")
        }
        _ => format!("{field}s"),
    }
}

/// Returns the text of a list in one line. A list that has a comment stays as it is.
fn to_one_line(list: &str) -> String {
    let is_comment =
        |kind: TokenKind| kind.is_trivia() && !matches!(kind, TokenKind::White | TokenKind::Newline);
    if !list.contains('\n') || lex::tokenize(list, 0).any(|token| is_comment(token.kind)) {
        return list.to_owned();
    }
    let tokens = significant_tokens(list);
    let mut line = String::new();
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1).map(|next| next.kind);
        if token.kind == TokenKind::Comma {
            line += if next == Some(TokenKind::CloseBracket) { "" } else { ", " };
        } else {
            line += token.text(list);
        }
    }
    line
}

fn is_within(inner: Span, outer: Span) -> bool {
    inner.file == outer.file && outer.start <= inner.start && inner.end <= outer.end
}

/// True if two spans of a file overlap or meet.
fn touches(first: Span, second: Span) -> bool {
    first.file == second.file && first.start <= second.end && second.start <= first.end
}

/// Returns the routes of the file or table that contains the route at the selection. `None` if no
/// route contains the selection.
fn routes_around(entries: &[OutlineEntry], selection: Span) -> Option<Vec<&OutlineEntry>> {
    let entry = entries
        .iter()
        .find(|entry| entry.span.start <= selection.start && selection.start <= entry.span.end)?;
    match entry.kind {
        DeclarationKind::Table => routes_around(&entry.inner, selection),
        DeclarationKind::Route => {
            Some(entries.iter().filter(|entry| entry.kind == DeclarationKind::Route).collect())
        }
        _ => None,
    }
}

/// Returns the start of the line that contains `offset`.
pub(super) fn start_of_line(text: &str, offset: u32) -> usize {
    text[..offset as usize].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the start of the line that contains `offset`, or of the comment lines directly before
/// that line.
fn start_including_comments(text: &str, offset: u32) -> u32 {
    let mut start = start_of_line(text, offset);
    while start > 0 {
        let previous = start_of_line(text, start as u32 - 1);
        if !text[previous..start].trim_start().starts_with('#') {
            break;
        }
        start = previous;
    }
    start as u32
}

/// Returns the span of a statement in whole lines, with the comments before it and a comment in its
/// last line. The span ends at the start of the next line.
fn span_of_whole_lines(text: &str, statement: Span) -> Span {
    let start = start_including_comments(text, statement.start);
    let rest = &text[statement.end as usize..];
    let line = rest.split_inclusive('\n').next().unwrap_or("");
    let is_free = line.trim().is_empty() || line.trim_start().starts_with('#');
    let end = statement.end + if is_free { line.len() as u32 } else { 0 };
    Span { file: statement.file, start, end }
}

/// True if a value needs no parentheses as an operand: a path, a literal, or a call without spaces.
fn is_single_operand(value: &str) -> bool {
    let tokens = significant_tokens(value);
    let is_part = |kind: TokenKind| {
        matches!(
            kind,
            TokenKind::Word
                | TokenKind::Quoted
                | TokenKind::Dot
                | TokenKind::OpenBracket
                | TokenKind::CloseBracket
                | TokenKind::Number
        )
    };
    let is_operator = tokens.iter().any(|token| is_reserved_word(token.text(value)));
    match tokens.as_slice() {
        [literal] => literal.kind.ends_operand(),
        [first, ..] => {
            first.kind == TokenKind::Word && !is_operator && tokens.iter().all(|token| is_part(token.kind))
        }
        [] => false,
    }
}
