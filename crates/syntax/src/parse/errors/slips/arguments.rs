//! Diagnostics for handler arguments without the names of their parameters, and for entries of
//! metadata without values. The declarations of the file show which parameter an argument belongs
//! to.

use super::super::super::context::unexpected_token;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use std::ops::Range;

/// Maximum number of parameters that arguments without names are assigned to. With more, the help
/// text does not propose names.
const MAX_MATCHED_PARAMETERS: usize = 6;

/// A parameter of a declared handler.
struct Parameter<'a> {
    name: &'a str,
    is_optional: bool,
    /// The first word of the parameter's type, such as `list` for `list<string>`.
    ty: &'a str,
}

impl Parameter<'_> {
    /// True if a value of the type `ty` can be the argument for this parameter. Also true if `ty`
    /// is `None`, which means that the type is not known.
    fn accepts_type(&self, ty: Option<&str>) -> bool {
        let is_text = |ty: &str| ty == "string" || ty.starts_with('"');
        match (self.ty, ty) {
            (_, None) => true,
            ("int" | "number" | "float" | "decimal", Some("int")) => true,
            ("number" | "float" | "decimal", Some("number" | "float")) => true,
            (wanted, Some(ty)) if is_text(wanted) => is_text(ty),
            ("int" | "number" | "float" | "decimal" | "bool" | "list" | "dict", Some(ty)) => self.ty == ty,
            _ => true,
        }
    }
}

impl ParseFailure<'_, '_> {
    /// Returns the text of the token with this index in the file. Empty if there is no such token.
    fn file_token_text(&self, index: usize) -> &str {
        self.cx.significant.get(index).map_or("", |item| self.token_text(item.token))
    }

    /// Returns the fields that are declared between the bracket at the token `open` and its closing
    /// bracket, without fields in nested brackets. Each field is a pair of token indices: its name,
    /// and the first token of its type.
    fn find_declared_fields(&self, open: usize) -> Vec<(usize, usize)> {
        let (mut fields, mut depth) = (Vec::new(), 0_i32);
        for index in open..self.cx.significant.len() {
            let colon = index + 1 + usize::from(self.file_token_text(index + 1) == "?");
            let is_name =
                matches!(self.cx.significant[index].token.kind, TokenKind::Word | TokenKind::Quoted);
            if depth == 1 && is_name && matches!(self.file_token_text(colon), ":" | "?:") {
                fields.push((index, colon + 1));
            }
            depth += match self.file_token_text(index) {
                "(" | "{" | "[" | "<" => 1,
                ")" | "}" | "]" | ">" => -1,
                _ => 0,
            };
            if depth == 0 {
                break;
            }
        }
        fields
    }

    /// Returns the parameters of the handler that the file declares under this name. `None` without
    /// such a handler.
    fn parameters(&self, handler: &str) -> Option<Vec<Parameter<'_>>> {
        let text = |index: usize| self.file_token_text(index);
        let open = self.cx.declared().parameter_bracket_of(handler)?;
        let parameter = |(name, ty): (usize, usize)| Parameter {
            name: text(name),
            is_optional: text(name + 1).starts_with('?'),
            ty: text(ty),
        };
        Some(self.find_declared_fields(open).into_iter().map(parameter).collect())
    }

    /// Returns the built-in type of a required field of the message, such as `user.role`. `None` if
    /// the file declares no such field, or declares it as optional.
    fn type_of_field(&self, path: &str) -> Option<&str> {
        let mut open = self.cx.declared().input_brace()?;
        let mut ty = "";
        for name in path.split('.') {
            let fields = self.find_declared_fields(open);
            let (field, first) =
                fields.into_iter().find(|(field, _)| self.file_token_text(*field) == name)?;
            if self.file_token_text(field + 1).starts_with('?') {
                return None;
            }
            (open, ty) = (first, self.file_token_text(first));
        }
        let is_known = matches!(ty, "string" | "int" | "number" | "float" | "bool" | "list" | "dict");
        Some(ty).filter(|ty| is_known || ty.starts_with('"'))
    }

    /// Returns the type of an argument that is a constant or a field of the message. `None` if its
    /// tokens do not show the type.
    fn type_of_argument(&self, argument: &Range<usize>) -> Option<&str> {
        let last = argument.end - 1;
        let is_single =
            argument.len() == 1 || argument.len() == 2 && self.text_of_token(argument.start) == "-";
        match (self.kind_of_token(last)?, self.text_of_token(last)) {
            (TokenKind::String | TokenKind::RawString, _) if argument.len() == 1 => Some("string"),
            (TokenKind::Number, text) if is_single => {
                Some(if text.contains(['.', 'e']) { "number" } else { "int" })
            }
            (_, "true" | "false") if argument.len() == 1 => Some("bool"),
            (TokenKind::CloseBracket, _) if self.text_of_token(argument.start) == "[" => Some("list"),
            _ if self.text_of_token(argument.start) == "not" => Some("bool"),
            _ => self.type_of_field(self.source_of_tokens(argument.clone())),
        }
    }

    /// Splits the tokens between brackets at the commas that are not in nested brackets. `first` is
    /// the token after the opening bracket. Also returns the index of the closing bracket.
    fn split_at_commas(&self, first: usize) -> (Vec<Range<usize>>, usize) {
        let (mut parts, mut start, mut depth, mut end) = (Vec::new(), first, 0_u32, first);
        // In a condition, `<` and `>` are no brackets.
        while let Some(kind) = self.kind_of_token(end) {
            match depth {
                0 if kind.closes_bracket() => break,
                0 if kind == TokenKind::Comma => {
                    parts.push(start..end);
                    start = end + 1;
                }
                _ if kind.opens_bracket() => depth += 1,
                _ if kind.closes_bracket() => depth -= 1,
                _ => {}
            }
            end += 1;
        }
        parts.push(start..end);
        parts.retain(|part| !part.is_empty());
        (parts, end)
    }

    /// Returns the index of the innermost bracket that is open before the unexpected token. `None`
    /// if no bracket is open.
    fn innermost_open_bracket(&self) -> Option<usize> {
        let mut depth = 0_usize;
        (self.cx.tokens.start..self.token_index).rev().find(|index| {
            let kind = self.cx.significant[*index].token.kind;
            let is_open = kind.opens_bracket() && depth == 0;
            depth += usize::from(kind.closes_bracket());
            depth = depth.saturating_sub(usize::from(kind.opens_bracket()));
            is_open
        })
    }

    /// Returns the diagnostic for arguments without names, as in `answer("files", 10)`. The help
    /// names each argument if the types of the values show which name belongs to it. `None` without
    /// such a mistake, or if the file declares no such handler.
    pub(super) fn unnamed_arguments_error(&self) -> Option<Diagnostic> {
        let is_target =
            matches!(self.rule, Rule::route_statement | Rule::default_statement | Rule::test_statement);
        let open =
            self.innermost_open_bracket().filter(|open| is_target && self.text_of_token(*open) == "(")?;
        let name = open.checked_sub(2).filter(|arrow| self.text_of_token(*arrow) == "->")? + 1;
        let handler = self.text_of_token(name);
        let (arguments, close) = self.split_at_commas(open + 1);
        let is_named =
            |argument: &Range<usize>| matches!(self.text_of_token(argument.start + 1), ":" | "=" | ":=");
        let holds_token =
            |argument: &&Range<usize>| argument.start <= self.token_index && self.token_index <= argument.end;
        arguments.iter().find(|argument| holds_token(argument) && !is_named(argument))?;
        let message = message!("arguments must be named");
        let parameters = self.parameters(handler)?;
        let span = self.span_of_tokens(open + 1..close);
        // `h({ id: id })`
        if let [record] = arguments.as_slice()
            && self.text_of_token(record.start) == "{"
            && matches!(self.text_of_token(record.start + 2), ":")
        {
            let written = self.source_of_tokens(record.start + 1..record.end - 1).trim().to_owned();
            let help = message!("write `{handler}({written})`");
            return Some(unexpected_token(span, message, help).likely_fix(span, written));
        }
        let is_rest = |argument: &Range<usize>| {
            matches!(self.text_of_token(argument.start), "*" | "**" | "..." | ".." | "_" | "&" | "@")
        };
        let has_rest = arguments.iter().any(is_rest);
        let (named, others): (Vec<_>, Vec<_>) =
            arguments.into_iter().filter(|argument| !is_rest(argument)).partition(is_named);
        let mut written: Vec<(&str, String)> = Vec::new();
        for argument in &named {
            let name = self.text_of_token(argument.start);
            written
                .push((name, format!("{name}: {}", self.source_of_tokens(argument.start + 2..argument.end))));
        }
        let is_free =
            |written: &[(&str, String)], name: &str| written.iter().all(|(other, _)| *other != name);
        let free: Vec<&Parameter<'_>> =
            parameters.iter().filter(|parameter| is_free(&written, parameter.name)).collect();
        for (argument, parameter) in self.assign_arguments(&others, &free) {
            written.push((parameter, format!("{parameter}: {}", self.source_of_tokens(argument))));
        }
        for parameter in &parameters {
            let name = parameter.name;
            let is_wanted = !parameter.is_optional || has_rest;
            if is_wanted && is_free(&written, name) {
                let field =
                    self.type_of_field(name).filter(|ty| has_rest && parameter.accepts_type(Some(ty)));
                written.push((name, format!("{name}: {}", field.map_or("…", |_| name))));
            }
        }
        let order = |name: &str| parameters.iter().position(|parameter| parameter.name == name);
        written.sort_by_key(|(name, _)| order(name).unwrap_or(parameters.len()));
        let written: Vec<String> = written.into_iter().map(|(_, text)| text).collect();
        let written = written.join(", ");
        let help = message!("write `{handler}({written})`");
        let diagnostic = unexpected_token(span, message, help);
        Some(if written.contains('…') { diagnostic } else { diagnostic.likely_fix(span, written) })
    }

    /// Pairs arguments with the names of parameters that have no argument yet: by name, then in
    /// source order if the types allow this order, otherwise by type. If the types allow several
    /// assignments or none, only the pairs found by name are returned.
    fn assign_arguments<'p>(
        &self,
        arguments: &[Range<usize>],
        parameters: &[&Parameter<'p>],
    ) -> Vec<(Range<usize>, &'p str)> {
        if arguments.len() > parameters.len() || parameters.len() > MAX_MATCHED_PARAMETERS {
            return Vec::new();
        }
        let types: Vec<Option<&str>> =
            arguments.iter().map(|argument| self.type_of_argument(argument)).collect();
        // An argument with the name of a parameter belongs to it.
        let last_name = |argument: &Range<usize>| {
            Some(argument.end - 1)
                .filter(|last| self.path_start(last + 1) == Some(argument.start))
                .map(|last| self.text_of_token(last))
        };
        let named = arguments.iter().zip(&types).enumerate().find_map(|(index, (argument, ty))| {
            let name = last_name(argument)?;
            let is_unique = arguments.iter().filter(|other| last_name(other) == Some(name)).count() == 1;
            let is_meant = |parameter: &&Parameter<'p>| parameter.name == name && parameter.accepts_type(*ty);
            let place = parameters.iter().position(is_meant)?;
            is_unique.then_some((index, place))
        });
        if let Some((index, place)) = named {
            let (mut arguments, mut parameters) = (arguments.to_vec(), parameters.to_vec());
            let assignment = (arguments.remove(index), parameters.remove(place).name);
            let mut others = self.assign_arguments(&arguments, &parameters);
            others.push(assignment);
            return others;
        }
        let fits = |order: &[usize]| {
            order.iter().zip(&types).all(|(parameter, ty)| parameters[*parameter].accepts_type(*ty))
        };
        let in_order: Vec<usize> = (0..arguments.len()).collect();
        let mut orders = Vec::new();
        if fits(&in_order) {
            orders.push(in_order);
        } else {
            // All assignments, one argument after the other.
            orders.push(Vec::new());
            for _ in arguments {
                let extended = |order: &Vec<usize>| {
                    let free = (0..parameters.len()).filter(|parameter| !order.contains(parameter));
                    free.map(|parameter| [order.as_slice(), &[parameter]].concat()).collect::<Vec<_>>()
                };
                orders = orders.iter().flat_map(extended).filter(|order| fits(order)).collect();
            }
        }
        let [order] = orders.as_slice() else { return Vec::new() };
        let named = order.iter().map(|parameter| parameters[*parameter].name);
        arguments.iter().cloned().zip(named).collect()
    }

    /// Returns the diagnostic for an entry of metadata or settings without `:` or without a value:
    /// `{ not cached }`, `{ cached }`, `{ cached true }`. `None` without such a mistake.
    pub(super) fn entry_without_value_error(&self) -> Option<Diagnostic> {
        let open = self.innermost_open_bracket().filter(|open| self.text_of_token(*open) == "{")?;
        let is_negated = self.found_text == "!" && (self.is_preceded_by("{") || self.is_preceded_by(","));
        let has_entries = !self.statement_declares_fields()
            && !matches!(self.rule, Rule::choice_statement | Rule::router_statement);
        if !self.expects_rule(Rule::colon) && !is_negated || !has_entries {
            return None;
        }
        let (entries, _) = self.split_at_commas(open + 1);
        let holds_token =
            |entry: &Range<usize>| entry.start <= self.token_index && self.token_index <= entry.end;
        let entry = entries.into_iter().find(holds_token)?;
        let (first, second) = (self.text_of_token(entry.start), self.text_of_token(entry.start + 1));
        let is_name =
            |index: usize| matches!(self.kind_of_token(index), Some(TokenKind::Word | TokenKind::String));
        if !is_name(entry.end - 1) && self.kind_of_token(entry.end - 1) != Some(TokenKind::Number) {
            return None;
        }
        let is_setting = self.rule == Rule::settings_statement;
        let written = match (entry.len(), first) {
            (2, "not" | "!" | "no" | "without") if is_name(entry.start + 1) => format!("{second}: false"),
            (1, _) if is_setting || self.rule == Rule::lexicon_statement => return None,
            (1, _) if self.kind_of_token(entry.start) == Some(TokenKind::String) => format!("NAME: {first}"),
            (1, _) => format!("{first}: true"),
            (2, _) if matches!(second, "true" | "false" | "null") || is_setting => {
                format!("{first}: {second}")
            }
            (2, _) if self.kind_of_token(entry.start + 1) == Some(TokenKind::Word) => {
                format!("{first}: \"{second}\"")
            }
            (2, _) => format!("{first}: {second}"),
            _ => return None,
        };
        let span = self.span_of_tokens(entry);
        let message = message!("an entry is a name and its value with `:` between them");
        let diagnostic = unexpected_token(span, message, message!("write `{written}`"));
        Some(if written.starts_with("NAME") { diagnostic } else { diagnostic.likely_fix(span, written) })
    }
}
