//! The procedural macro that `message!` expands to. It builds a localizable message from a template
//! and arguments, as `format!` builds a string. A string would be in one language only. A message
//! keeps its English template, which is the key of the translated template in a catalogue.
//!
//! Existing libraries do not fit this purpose. Fluent moves the English text out of the source code
//! into separate files. The bindings of gettext and `rust-i18n` choose the language when a message
//! is created. A diagnostic is data, so its language must be chosen when it is shown.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Builds a `Message` from a template literal. In the template, `{name}` is a variable in scope or
/// an argument `name = …`. `{}` is the next positional argument, and `{0}` the first. `{{` and `}}`
/// are literal braces. Placeholders take no format options, because a translation may reorder and
/// reword them.
///
/// The first token of the input is the path of the crate that defines `Message`.
#[proc_macro]
pub fn message_at(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|(message, span)| {
        let message_literal = TokenTree::Literal(Literal::string(message));
        let call: TokenStream = "::core::compile_error!".parse().unwrap_or_default();
        let args = TokenTree::Group(Group::new(Delimiter::Parenthesis, message_literal.into()));
        call.into_iter().chain([args]).map(|token| with_span(token, span)).collect()
    })
}

type TemplateError = (&'static str, Span);

fn expand(input: TokenStream) -> Result<TokenStream, TemplateError> {
    let mut input = input.into_iter();
    let library: TokenStream = input.next().into_iter().collect();
    let library_path =
        |item: &str| library.clone().into_iter().chain(parse_path(item)).collect::<TokenStream>();
    let mut arguments = split_at_commas(input.collect()).into_iter();
    let first = arguments.next().unwrap_or_default();
    let literal =
        single_literal(first).ok_or(("a message begins with its template, a literal", Span::call_site()))?;
    let span = literal.span();
    let (placeholders, has_escaped_braces) =
        parse_placeholders(&literal.to_string()).map_err(|message| (message, span))?;
    let (mut named_args, mut positional_args) = (Vec::new(), Vec::new());
    for argument in arguments {
        match split_named_argument(&argument) {
            Some((name, value)) => named_args.push((name, value, false)),
            None => positional_args.push(argument),
        }
    }
    let (mut next_number, mut used_positional_args) = (0.., vec![false; positional_args.len()]);
    let mut values = TokenStream::new();
    for placeholder in &placeholders {
        let index = if placeholder.is_empty() { next_number.next() } else { placeholder.parse().ok() };
        let value = if let Some(index) = index {
            let value = positional_args.get(index).ok_or(("a placeholder has no argument", span))?;
            used_positional_args[index] = true;
            value.clone()
        } else if let Some((_, value, is_used)) = named_args.iter_mut().find(|(name, ..)| name == placeholder)
        {
            *is_used = true;
            value.clone()
        } else {
            TokenTree::Ident(Ident::new(placeholder, span)).into()
        };
        values.extend(library_path("::diag::Argument::to_arg"));
        let value = TokenTree::Group(Group::new(Delimiter::Parenthesis, value));
        let reference = [TokenTree::Punct(Punct::new('&', Spacing::Alone)), value].into_iter().collect();
        values.extend([
            TokenTree::Group(Group::new(Delimiter::Parenthesis, reference)),
            TokenTree::Punct(Punct::new(',', Spacing::Alone)),
        ]);
    }
    if used_positional_args.contains(&false) || named_args.iter().any(|(.., is_used)| !is_used) {
        return Err(("an argument has no placeholder", span));
    }
    let mut arguments: TokenStream = TokenTree::Literal(literal).into();
    if placeholders.is_empty() && !has_escaped_braces {
        return Ok(build_call(library_path("::diag::Message::fixed"), arguments));
    }
    let list = TokenTree::Group(Group::new(Delimiter::Bracket, values));
    arguments.extend([TokenTree::Punct(Punct::new(',', Spacing::Alone))]);
    arguments.extend(parse_path("::std::vec!"));
    arguments.extend([list]);
    Ok(build_call(library_path("::diag::Message::new"), arguments))
}

fn parse_path(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}

fn build_call(mut call: TokenStream, arguments: TokenStream) -> TokenStream {
    call.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, arguments))]);
    call
}

fn with_span(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(span);
    token
}

/// Splits the arguments of the macro call at the commas between them.
fn split_at_commas(input: TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for token in input {
        match &token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => parts.push(TokenStream::new()),
            _ => {
                if let Some(last) = parts.last_mut() {
                    last.extend([token]);
                }
            }
        }
    }
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// Returns the literal if the tokens are a single literal, otherwise `None`. A literal that another
/// macro passed on is inside an invisible group; this function unwraps the group.
fn single_literal(tokens: TokenStream) -> Option<Literal> {
    let mut tokens = tokens.into_iter();
    match (tokens.next()?, tokens.next()) {
        (TokenTree::Literal(literal), None) => Some(literal),
        (TokenTree::Group(group), None) if group.delimiter() == Delimiter::None => {
            single_literal(group.stream())
        }
        _ => None,
    }
}

/// Splits a named argument `name = value` into its name and value. `None` for a positional
/// argument.
fn split_named_argument(argument: &TokenStream) -> Option<(String, TokenStream)> {
    let mut tokens = argument.clone().into_iter();
    match (tokens.next()?, tokens.next()?) {
        (TokenTree::Ident(name), TokenTree::Punct(sign))
            if sign.as_char() == '=' && sign.spacing() == Spacing::Alone =>
        {
            Some((name.to_string(), tokens.collect()))
        }
        _ => None,
    }
}

/// Returns the names of a template's placeholders, and whether the template has escaped braces.
/// `source` is the source text of the template literal. The error is the compiler's message about
/// an invalid placeholder or brace.
fn parse_placeholders(source: &str) -> Result<(Vec<String>, bool), &'static str> {
    let is_raw = source.starts_with('r');
    let (mut placeholders, mut has_escaped_braces) = (Vec::new(), false);
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if !is_raw => {
                let escaped = chars.next();
                if escaped == Some('u') {
                    chars.by_ref().find(|c| *c == '}');
                }
            }
            '{' | '}' if chars.peek() == Some(&c) => {
                chars.next();
                has_escaped_braces = true;
            }
            '{' => {
                let name: String = chars.by_ref().take_while(|c| *c != '}').collect();
                if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
                    return Err("a placeholder is `{name}` or `{}`; a brace itself is `{{` or `}}`");
                }
                placeholders.push(name);
            }
            '}' => return Err("a brace itself is `}}`"),
            _ => {}
        }
    }
    Ok((placeholders, has_escaped_braces))
}
