//! Diagnostics for words of other languages at the token where parsing fails. Examples: a
//! quantifier in another order, the mark of a private field, rules of a schema, and edges of a
//! graph.

use super::super::super::context::unexpected_token;
use super::super::super::{foreign, shapes};
use super::super::{ParseFailure, Rule, is_item};
use crate::lex::TokenKind;
use rulec_base::diag::{Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a word of another language. `None` without such a mistake.
    pub(super) fn word_slip(&self) -> Option<Diagnostic> {
        self.quantifier_in_other_order()
            .or_else(|| self.quantifier_without_condition())
            .or_else(|| self.mark_of_field())
            .or_else(|| self.named_item())
            .or_else(|| self.choice_in_other_order())
            .or_else(|| self.comma_between_parts())
            .or_else(|| self.missing_comma())
            .or_else(|| self.edge_words())
            .or_else(|| self.fields_with_dashes())
            .or_else(|| self.line_without_keyword())
    }

    fn begins_line(&self, index: usize) -> bool {
        self.cx.sigs.get(index).is_some_and(|sig| sig.indent().is_some())
    }

    /// Returns the start of the path `a.b.c` that ends before the token `end`. `None` if no path
    /// ends there.
    fn path_start(&self, end: usize) -> Option<usize> {
        let mut start = end.checked_sub(1).filter(|last| self.kind_of(*last) == Some(TokenKind::Word))?;
        while start >= self.cx.tokens.start + 2 && self.text_of(start - 1) == "." {
            start -= 2;
        }
        Some(start)
    }

    /// Returns the end of the path `a.b.c` that begins at the token `start`.
    fn path_end(&self, start: usize) -> usize {
        let mut end = start + 1;
        while self.text_of(end) == "." {
            end += 2;
        }
        end
    }

    /// Returns the diagnostic for a quantifier with its parts in another order, or with another
    /// word for `in`: `attachments any a: …`, `any a of attachments: …`. The unexpected token is
    /// the colon, or the word. `None` without such a mistake.
    fn quantifier_in_other_order(&self) -> Option<Diagnostic> {
        let word = |text: &str| match text {
            "any" | "some" | "exists" | "exist" | "for" | "each" | "foreach" | "with" | "where" => {
                Some("any")
            }
            "all" | "every" | "forall" => Some("all"),
            "count" => Some("count"),
            _ => None,
        };
        let message = |written: &str| message!("`{written}` is not a quantifier");
        let proposed = |span: Span, written: &str, replacement: String| {
            let help = message!("write `{replacement}`");
            Some(unexpected_token(span, message(written), help).likely_fix(span, replacement))
        };
        // `attachments any a: …`
        if self.found_text == ":"
            && let Some(name) = self.token_index.checked_sub(1)
            && self.kind_of(name) == Some(TokenKind::Word)
            && let Some(quantifier) = name.checked_sub(1).and_then(|index| word(self.text_of(index)))
            && let Some(start) = self.path_start(name - 1)
            && start > self.cx.tokens.start
            && !rulec_lang::operators::is_reserved_word(self.text_of(start))
        {
            let (list, element) = (self.source(start..name - 1), self.text_of(name));
            let span = self.span_of_tokens(start..self.token_index + 1);
            return proposed(
                span,
                self.source(start..self.token_index),
                format!("{quantifier} {element} in {list}:"),
            );
        }
        // `any a of attachments: …`
        let joint = (self.cx.tokens.start + 2..=self.token_index).rev().find(|index| {
            matches!(self.text_of(*index), "of" | "from" | "on" | "inside" | "within" | "among" | "->")
                && word(self.text_of(index - 2)).is_some()
                && self.kind_of(index - 1) == Some(TokenKind::Word)
                && self.kind_of(index + 1) == Some(TokenKind::Word)
        })?;
        let end = self.path_end(joint + 1);
        if self.text_of(end) != ":" {
            return None;
        }
        let quantifier = word(self.text_of(joint - 2))?;
        let written = format!("{quantifier} {} in {}:", self.text_of(joint - 1), self.source(joint + 1..end));
        proposed(self.span_of_tokens(joint - 2..end + 1), self.source(joint - 2..end), written)
    }

    /// Returns the diagnostic for a quantifier whose `:` is missing before its condition, as in
    /// `any t in tags matches r"a" -> h`. `None` without such a mistake.
    fn quantifier_without_condition(&self) -> Option<Diagnostic> {
        if !self.expects_rule(Rule::colon) {
            return None;
        }
        let start = (self.cx.tokens.start..self.token_index).rev().find(|index| {
            matches!(self.text_of(*index), "any" | "all" | "count" | "first" | "last")
                && self.kind_of(index + 1) == Some(TokenKind::Word)
                && self.text_of(index + 2) == "in"
                && self.kind_of(index + 3) == Some(TokenKind::Word)
        })?;
        let name = self.text_of(start + 1);
        let list_end = self.path_end(start + 3);
        let message = message!("the quantifier `{}` has no condition", self.source(start..list_end));
        let span = self.span_of_tokens(start..list_end);
        let first = self.text_of(list_end);
        let is_operator = rulec_lang::operators::Op::from_spelling(first).is_some()
            || matches!(first, "is" | "not" | "=" | "=~");
        if list_end >= self.token_index || !is_operator {
            let help = message!("write it after `:`, as in `{}: {name} == …`", self.source(start..list_end));
            return Some(unexpected_token(span, message, help));
        }
        let condition = self.source(list_end..self.token_index);
        let written = format!("{}: {name} {condition}", self.source(start..list_end));
        let help = message!("write `{written}`");
        let replaced = self.span_of_tokens(start..self.token_index);
        Some(unexpected_token(span, message, help).likely_fix(replaced, written))
    }

    /// Returns the diagnostic for a word after the type of a field by which other languages mark
    /// the field: `phone: string private`. The parser takes the word for the name of the next
    /// field, and fails one token later. `None` without such a mistake.
    fn mark_of_field(&self) -> Option<Diagnostic> {
        if !self.is_in_fields() {
            return None;
        }
        let is_mark = |index: &usize| {
            let follows_type = index.checked_sub(1).is_some_and(|before| {
                matches!(self.kind_of(before), Some(TokenKind::Word | TokenKind::String))
                    || matches!(self.text_of(before), ">" | "}")
            });
            *index > self.cx.tokens.start + 1 && follows_type && !self.begins_line(*index)
        };
        let is_word = |index: &usize| self.kind_of(*index) == Some(TokenKind::Word);
        let index = [self.token_index, self.token_index - 1].into_iter().find(|index| {
            is_mark(index) && is_word(index) && (*index == self.token_index || self.expects_rule(Rule::colon))
        })?;
        let word = self.text_of(index);
        let span = self.span_of_tokens(index..index + 1);
        match word.to_lowercase().as_str() {
            "private" | "secret" | "sensitive" | "hidden" | "confidential" | "pii" | "redacted"
            | "masked" => {
                let message = message!("the mark of a private field is `@private`, not `{word}`");
                Some(foreign::foreign_syntax_error(span, message, "@private"))
            }
            "required" | "mandatory" | "notnull" => {
                let removed = Span { start: self.cx.sigs[index - 1].token.end, ..span };
                let message = message!("a field is required unless `?` follows its name");
                Some(unexpected_token(span, message, message!("remove `{word}`")).fix(removed, ""))
            }
            "optional" | "nullable" => {
                let message = message!("an optional field has `?` after its name, not `{word}`");
                let colon = (self.cx.tokens.start..index).rev().find(|colon| self.text_of(*colon) == ":")?;
                let (name, ty) = (self.source(colon - 1..colon), self.source(colon + 1..index));
                let written = format!("{name}?: {ty}");
                let whole = self.span_of_tokens(colon - 1..index + 1);
                Some(unexpected_token(span, message, message!("write `{written}`")).fix(whole, written))
            }
            _ => None,
        }
    }

    /// Returns the diagnostic for a line of a payload or group that other languages write for a
    /// rule: `required: [a, b]`, `rank: 9`, `rule "a" { … }`. `None` without such a mistake.
    fn named_item(&self) -> Option<Diagnostic> {
        if !is_item(self.rule) {
            return None;
        }
        let first = self.cx.tokens.start;
        // `name: string, minLength: 1`
        if self.found_text == "," && self.text_of(self.token_index + 2) == ":" {
            let word = self.text_of(self.token_index + 1);
            let help = foreign::schema_help(word)?;
            let message = message!("`{word}` is not part of a field declaration");
            return Some(unexpected_token(
                self.span_of_tokens(self.token_index..self.token_index + 2),
                message,
                help,
            ));
        }
        if self.rule == Rule::field_item && self.text_of(first + 1) == ":" && self.token_index == first + 2 {
            let word = self.text_of(first);
            let message = message!("`{word}: {}` declares no field", self.cx.shortened_source(self.span));
            let help = item_help(word, self.found_text)?;
            return Some(unexpected_token(self.span_of_tokens(first..first + 1), message, help));
        }
        // The word begins a line after a complete item.
        let is_line = self.begins_line(self.token_index) && self.expects_rule(Rule::EOI);
        let index = if is_line { self.token_index } else { first };
        let is_first = self.token_index <= first + 1 && self.kind_of(first) == Some(TokenKind::Word);
        if !is_line && !is_first {
            return None;
        }
        let word = self.text_of(index);
        if self.text_of(index + 1) == ":" {
            return None;
        }
        let help = rule_help(word)?;
        let message = message!("no rule of a payload begins with `{word}`");
        Some(unexpected_token(self.span_of_tokens(index..index + 1), message, help))
    }

    /// Returns the diagnostic for a choice whose keyword comes before its name: `choice ask mood
    /// "…"`. `None` without such a mistake.
    fn choice_in_other_order(&self) -> Option<Diagnostic> {
        let word = self.cx.tokens.start + 1;
        let is_keyword = matches!(self.text_of(word), "ask" | "to_user" | "model" | "question");
        let is_choice = self.rule == Rule::choice_statement && self.token_index == word + 1;
        if !is_choice || !is_keyword || self.kind_of(self.token_index) != Some(TokenKind::Word) {
            return None;
        }
        let (keyword, name) = (self.text_of(word), self.found_text);
        let keyword = if keyword == "to_user" { "to_user" } else { "ask" };
        let written = format!("choice {name} {keyword}");
        let message = message!("the name of a choice comes before `{keyword}`");
        let span = self.span_of_tokens(word..self.token_index + 1);
        let whole = self.span_of_tokens(word - 1..self.token_index + 1);
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(whole, written))
    }

    /// Returns the diagnostic for a comma or semicolon after a part in braces: between the branches
    /// of a choice, the nodes of a workflow or the parts of an intent. `None` without such a
    /// mistake.
    fn comma_between_parts(&self) -> Option<Diagnostic> {
        let parts = match self.rule {
            Rule::choice_statement => message!("the branches of a choice"),
            Rule::workflow_statement => message!("the nodes of a workflow"),
            Rule::intent_statement => message!("the parts of an intent"),
            Rule::flow_statement if !self.is_flow_tool() => message!("the parts of a flow"),
            _ => return None,
        };
        if !matches!(self.found_text, "," | ";") || self.expects_rule(Rule::comma) {
            return None;
        }
        let written = self.found_text;
        let message = message!("{parts} are not separated by `{written}`");
        let removed = message!("remove the `{written}`");
        Some(unexpected_token(self.span, message, removed).fix(self.span, ""))
    }

    /// Returns the diagnostic for a missing comma between the entries of a record or of metadata,
    /// which are on several lines. The unexpected token is the `:` of the second entry. `None`
    /// without such a mistake.
    fn missing_comma(&self) -> Option<Diagnostic> {
        let key = self.token_index.checked_sub(1)?;
        let is_key = matches!(self.kind_of(key), Some(TokenKind::Word | TokenKind::String));
        if self.found_text != ":" || !self.expects_rule(Rule::comma) || !is_key || !self.begins_line(key) {
            return None;
        }
        let value = key.checked_sub(1).filter(|value| *value > self.cx.tokens.start)?;
        let span = self.span_of_tokens(value..value + 1);
        let message = message!("`,` is missing after `{}`", self.cx.shortened_source(span));
        let end = Span { start: span.end, ..span };
        let help = message!("write `{},`", self.cx.shortened_source(span));
        Some(unexpected_token(span, message, help).fix(end, ","))
    }

    /// Returns the diagnostic for the edges of a workflow in other words: `-> a and b`, `depends_on
    /// draft`. `None` without such a mistake.
    fn edge_words(&self) -> Option<Diagnostic> {
        if self.rule != Rule::workflow_statement {
            return None;
        }
        let (found, next) = (self.found_text, self.text_of(self.token_index + 1));
        let is_name = self.kind_of(self.token_index + 1) == Some(TokenKind::Word);
        match found {
            "and" | "or" | "&" | "|" | "+" | "&&" if is_name => {
                let message = message!("next nodes are separated by `,`, not by `{found}`");
                let before = Span { start: self.token_before()?.end, ..self.span };
                Some(unexpected_token(self.span, message, message!("write `, {next}`")).fix(before, ","))
            }
            "depends_on" | "needs" | "requires" | "after" | "depends" | "dependsOn" | "from" | "inputs" => {
                let node = (self.cx.tokens.start..self.token_index)
                    .rev()
                    .find(|index| self.text_of(*index) == "node")
                    .map_or("NODE", |index| self.text_of(index + 1));
                let names = self.token_index + 1..self.cx.tokens.end;
                let is_word = |index: &usize| {
                    self.kind_of(*index) == Some(TokenKind::Word) && self.text_of(*index) != "on"
                };
                let source = names.into_iter().find(is_word).map_or("NODE", |index| self.text_of(index));
                let message = message!("an edge is written at the node where it begins");
                let help =
                    message!("remove `{found} …`, and write `-> {node}` at the end of `node {source}`");
                Some(unexpected_token(self.span, message, help))
            }
            _ => None,
        }
    }

    /// Returns the diagnostic for a list of fields with dashes, as in YAML:
    /// `items: - name: string`. `None` without such a mistake.
    fn fields_with_dashes(&self) -> Option<Diagnostic> {
        if self.found_text != "-"
            || !self.is_preceded_by(":")
            || !self.expects_rule(Rule::type_expr) && !self.is_in_fields()
        {
            return None;
        }
        let name = self.text_of(self.token_index.checked_sub(2)?);
        // The fields of the first element, as `name: type`.
        let (mut fields, mut index) = (Vec::new(), self.token_index + 1);
        while self.text_of(index + 1) == ":" && self.kind_of(index + 2) == Some(TokenKind::Word) {
            fields.push(format!("{}: {}", self.text_of(index), self.text_of(index + 2)));
            index += 3 + usize::from(self.text_of(index + 3) == ",");
        }
        let element = match fields.is_empty() {
            true => "string".to_owned(),
            false => format!("{{ {} }}", fields.join(", ")),
        };
        let message = message!("a list is declared by the type of its elements, without `-`");
        Some(unexpected_token(self.span, message, message!("write `{name}: list<{element}>`")))
    }

    /// Returns the diagnostic for arguments without names, as in `answer("files", 10)`, with the
    /// names that the file declares for the handler. `None` if it declares no such handler.
    pub(in super::super) fn positional_arguments(&self) -> Option<Diagnostic> {
        let open = self.token_index.checked_sub(1)?;
        let handler = self.text_of(open.checked_sub(1)?);
        let text = |index: usize| self.cx.sigs.get(index).map_or("", |sig| self.token_text(sig.token));
        let declared = (0..self.cx.sigs.len()).find(|index| {
            text(*index) == "handler" && text(index + 1) == handler && text(index + 2) == "("
        })?;
        let depth_change = |index: usize| match text(index) {
            "(" | "{" | "[" | "<" => 1_i32,
            ")" | "}" | "]" | ">" => -1,
            _ => 0,
        };
        let (mut names, mut depth) = (Vec::new(), 0);
        for index in declared + 2..self.cx.sigs.len() {
            let begins = depth == 1 && matches!(text(index - 1), "(" | ",");
            if begins && matches!(text(index + 1), ":" | "?") {
                names.push(text(index));
            }
            depth += depth_change(index);
            if depth == 0 {
                break;
            }
        }
        let close = self.closing_bracket_or_end(open);
        let (mut arguments, mut start, mut depth) = (Vec::new(), self.token_index, 0);
        for index in self.token_index..close {
            if depth == 0 && text(index) == "," {
                arguments.push(start..index);
                start = index + 1;
            }
            depth += depth_change(index);
        }
        if start < close {
            arguments.push(start..close);
        }
        let is_named = |argument: &std::ops::Range<usize>| matches!(text(argument.start + 1), ":" | "=");
        if arguments.is_empty() || arguments.len() > names.len() || arguments.iter().any(is_named) {
            return None;
        }
        let pairs = names.iter().zip(&arguments);
        let named: Vec<String> =
            pairs.map(|(name, argument)| format!("{name}: {}", self.source(argument.clone()))).collect();
        let written = named.join(", ");
        let span = self.span_of_tokens(self.token_index..close);
        let help = message!("write `{handler}({written})`");
        Some(unexpected_token(span, message!("arguments must be named"), help).likely_fix(span, written))
    }

    /// Returns the diagnostic for a line that begins no statement, but that the splitter gave to
    /// the statement before it, as for `if (a > b) {`. `None` without such a mistake.
    fn line_without_keyword(&self) -> Option<Diagnostic> {
        let sig = self.cx.sigs.get(self.token_index)?;
        let margin = self.cx.sigs[self.cx.tokens.start].indent();
        let is_line = sig.indent().is_some() && sig.indent() <= margin;
        if !is_line || !self.expects_rule(Rule::EOI) || is_item(self.rule) || self.is_at_end() {
            return None;
        }
        if !matches!(self.token.kind, TokenKind::Word | TokenKind::String | TokenKind::Number) {
            return None;
        }
        shapes::line_without_keyword(self.cx, self.token_index)
    }
}

/// Returns the help for a line `word: …` of a payload by which other languages write a rule.
/// `found` is the token in the place of the type. `None` for other words.
fn item_help(word: &str, found: &str) -> Option<Message> {
    Some(match word.to_lowercase().replace(['_', '-'], "").as_str() {
        "rank" | "priority" | "order" | "weight" => {
            message!("write the rank before the brace: `payload NAME rank {found} {{`")
        }
        "required" | "mandatory" => {
            message!("a field is required unless `?` follows its name: remove this line")
        }
        "additionalproperties" | "closed" | "strict" | "unknownfields" | "allowextra" | "extra" => {
            message!("write `closed` to refuse fields that are not declared, and remove this line")
        }
        "properties" | "fields" | "schema" | "items" if found == "{" => {
            message!("write the fields directly in the braces of the payload: `name: type`")
        }
        "description" | "title" | "comment" | "doc" | "docs" if found.starts_with('"') => {
            message!("write it as documentation before the payload: `## …`")
        }
        _ if matches!(found, "true" | "false") || found.starts_with(|c: char| c.is_ascii_digit()) => {
            foreign::schema_help(word).unwrap_or_else(|| {
                message!("write a type after `:`; for one allowed value `{word}: const {found}`")
            })
        }
        _ if found.starts_with('"') => {
            message!("for one allowed value write `{word}: string const {found}`")
        }
        "enum" | "pattern" | "format" | "minlength" | "maxlength" => foreign::schema_help(word)?,
        _ if found == "[" => message!("write the type of the elements: `{word}: list<string>`"),
        _ => return None,
    })
}

/// Returns the help for a word with which other languages begin a rule of a schema. `None` for
/// other words.
fn rule_help(word: &str) -> Option<Message> {
    Some(match word.to_lowercase().as_str() {
        "rule" | "check" | "assert" | "ensure" | "must" | "validate" | "constraint" | "invariant"
        | "expect" | "verify" | "should" => {
            message!("write `require \"NAME\": CONDITION else \"MESSAGE\"`")
        }
        "deny" | "reject" | "disallow" | "prohibit" | "block" | "fail" | "error" | "raise" => {
            message!("write `forbid \"NAME\" when CONDITION else \"MESSAGE\"`")
        }
        "if" | "when" | "unless" | "where" => {
            message!("write `require \"NAME\" when CONDITION: CONDITION else \"MESSAGE\"`")
        }
        "extends" | "use" | "import" | "mixin" | "inherits" | "using" => message!("write `include GROUP`"),
        "for" | "foreach" | "forall" | "every" => message!("write `each x in LIST {{ … }}`"),
        "set" | "var" | "const" | "define" => message!("write `let NAME = VALUE`"),
        "default" | "fallback" | "otherwise" => {
            message!("a default belongs to a field: `name: type default VALUE`; remove this line")
        }
        "field" | "property" | "required" | "optional" | "string" | "int" | "number" | "bool" => {
            message!("a field is written `name: type`, an optional one `name?: type`")
        }
        _ => return None,
    })
}
