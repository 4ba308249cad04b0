//! The procedural macro that `message!` expands to. It builds a localizable message from a template
//! and arguments, as `format!` builds a string. A string would be in one language only. A message
//! keeps its template, so that a catalogue can provide the translated template.
//!
//! Existing libraries do not fit this purpose. Fluent moves the English text out of the source code
//! into separate files. The bindings of gettext and `rust-i18n` choose the language when a message
//! is created. A diagnostic is data, so its language must be chosen when it is shown.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Builds a `Message` from a template literal. In the template, `{name}` is a variable in scope or
/// an argument `name = …`, and `{}` is the next positional argument. `{{` and `}}` are literal
/// braces. Placeholders take no format options, because a translation may reorder and reword them.
///
/// The first token is the path of the crate that defines `Message`.
#[proc_macro]
pub fn message_at(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|(message, span)| {
        let quoted = TokenTree::Literal(Literal::string(message));
        let call: TokenStream = "::core::compile_error!".parse().unwrap_or_default();
        let args = TokenTree::Group(Group::new(Delimiter::Parenthesis, quoted.into()));
        call.into_iter().chain([args]).map(|token| at(token, span)).collect()
    })
}

type Mistake = (&'static str, Span);

fn expand(input: TokenStream) -> Result<TokenStream, Mistake> {
    let mut input = input.into_iter();
    let library: TokenStream = input.next().into_iter().collect();
    let inside = |item: &str| library.clone().into_iter().chain(path(item)).collect::<TokenStream>();
    let mut arguments = split(input.collect()).into_iter();
    let first = arguments.next().unwrap_or_default();
    let literal =
        literal(first).ok_or(("a message begins with its template, a literal", Span::call_site()))?;
    let span = literal.span();
    let (placeholders, braces) = placeholders(&literal.to_string()).map_err(|message| (message, span))?;
    let (mut named, mut in_turn) = (Vec::new(), Vec::new());
    for argument in arguments {
        match name_of(&argument) {
            Some((name, value)) => named.push((name, value, false)),
            None => in_turn.push(argument),
        }
    }
    let (mut next, mut taken) = (0.., vec![false; in_turn.len()]);
    let mut values = TokenStream::new();
    for placeholder in &placeholders {
        let number = if placeholder.is_empty() { next.next() } else { placeholder.parse().ok() };
        let value = if let Some(number) = number {
            let value = in_turn.get(number).ok_or(("a placeholder has no argument", span))?;
            taken[number] = true;
            value.clone()
        } else if let Some((_, value, used)) = named.iter_mut().find(|(name, ..)| name == placeholder) {
            *used = true;
            value.clone()
        } else {
            TokenTree::Ident(Ident::new(placeholder, span)).into()
        };
        values.extend(inside("::diag::Argument::to_arg"));
        let value = TokenTree::Group(Group::new(Delimiter::Parenthesis, value));
        let reference = [TokenTree::Punct(Punct::new('&', Spacing::Alone)), value].into_iter().collect();
        values.extend([
            TokenTree::Group(Group::new(Delimiter::Parenthesis, reference)),
            TokenTree::Punct(Punct::new(',', Spacing::Alone)),
        ]);
    }
    if taken.contains(&false) || named.iter().any(|(.., used)| !used) {
        return Err(("an argument has no placeholder", span));
    }
    let mut arguments: TokenStream = TokenTree::Literal(literal).into();
    if placeholders.is_empty() && !braces {
        return Ok(call(inside("::diag::Message::fixed"), arguments));
    }
    let list = TokenTree::Group(Group::new(Delimiter::Bracket, values));
    arguments.extend([TokenTree::Punct(Punct::new(',', Spacing::Alone))]);
    arguments.extend(path("::std::vec!"));
    arguments.extend([list]);
    Ok(call(inside("::diag::Message::new"), arguments))
}

fn path(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}

fn call(mut call: TokenStream, arguments: TokenStream) -> TokenStream {
    call.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, arguments))]);
    call
}

fn at(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(span);
    token
}

/// Splits the arguments of the macro at commas.
fn split(input: TokenStream) -> Vec<TokenStream> {
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

/// Returns the literal that the tokens consist of. If another macro passed the literal on, the
/// literal is inside an invisible group.
fn literal(tokens: TokenStream) -> Option<Literal> {
    let mut tokens = tokens.into_iter();
    match (tokens.next()?, tokens.next()) {
        (TokenTree::Literal(literal), None) => Some(literal),
        (TokenTree::Group(group), None) if group.delimiter() == Delimiter::None => literal(group.stream()),
        _ => None,
    }
}

/// Splits a named argument `name = value` into its name and value. `None` for a positional
/// argument.
fn name_of(argument: &TokenStream) -> Option<(String, TokenStream)> {
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
/// `written` is the source text of the template literal.
fn placeholders(written: &str) -> Result<(Vec<String>, bool), &'static str> {
    let raw = written.starts_with('r');
    let (mut placeholders, mut braces) = (Vec::new(), false);
    let mut chars = written.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if !raw => {
                let escaped = chars.next();
                if escaped == Some('u') {
                    chars.by_ref().find(|c| *c == '}');
                }
            }
            '{' | '}' if chars.peek() == Some(&c) => {
                chars.next();
                braces = true;
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
    Ok((placeholders, braces))
}
