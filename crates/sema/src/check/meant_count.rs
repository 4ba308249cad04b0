//! Suggests a count or a sum of elements in place of a spreadsheet's call with a condition, such as
//! `COUNTIF(items, price > 10)`.

use super::Checker;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::{InnerType, RecordType};
use rulec_syntax::ast::Ident;

impl Checker<'_> {
    /// Returns the diagnostic for a call such as `COUNTIF(items, price > 10)`, with the expression
    /// that the call means. `args` are the source texts of the arguments. `None` for other
    /// functions, and for lists whose elements are no records.
    pub(super) fn count_call_diagnostic(
        &self,
        name: &Ident,
        args: &[&str],
        span: Span,
    ) -> Option<Diagnostic> {
        let lower = name.node.to_lowercase().replace('_', "");
        let (summed, pairs): (Option<&str>, Vec<(&str, &str)>) = match (lower.as_str(), args) {
            ("countif" | "countifs", _) => (None, split_into_range_criterion_pairs(args)?),
            ("sumif", [list, criterion]) => (Some(list), vec![(list, criterion)]),
            ("sumif", [list, criterion, summed]) => (Some(summed), vec![(list, criterion)]),
            ("sumifs", [summed, rest @ ..]) => (Some(summed), split_into_range_criterion_pairs(rest)?),
            _ => return None,
        };
        let Some((list, record)) = self.list_of_records(pairs.first()?.0) else {
            // The elements are not known, but a condition names their fields.
            let list = pairs.first().filter(|(_, criterion)| is_condition(criterion))?.0;
            let message = message!("there is no function `{}`", name.node);
            let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message);
            // The author may have named the element: `p` in `COUNTIF(history, p.tool == tool)`.
            let criterion = pairs.first().map_or("", |(_, criterion)| criterion);
            let element = self.element_name_in_condition(criterion);
            let condition = element.map_or("CONDITION", |_| criterion);
            let element = element.unwrap_or("x");
            let written = match summed {
                Some(_) => format!("(sum VALUE for {element} in {list}: {condition})"),
                None => format!("(count {element} in {list}: {condition})"),
            };
            let help = message!("write `{written}`", written = written.clone());
            let is_complete = summed.is_none() && condition == criterion && pairs.len() == 1;
            let diagnostic = diagnostic.help(help);
            return Some(if is_complete { diagnostic.likely_fix(span, written) } else { diagnostic });
        };
        let mut conditions = Vec::new();
        for (range, criterion) in pairs {
            let (other, _) = self.list_of_records(range)?;
            if other != list {
                return None;
            }
            let field = range.strip_prefix(list)?.strip_prefix('.');
            conditions.push(match field {
                Some(field) => Some(format!("x.{field} {}", super::meant_call::convert_criterion(criterion))),
                None => write_condition_on_element(criterion.trim_matches('"'), record),
            });
        }
        let is_complete = conditions.iter().all(Option::is_some);
        let condition = match is_complete {
            true => conditions.into_iter().flatten().collect::<Vec<_>>().join(" and "),
            false => "CONDITION".to_owned(),
        };
        let written = match summed.map(|summed| summed.strip_prefix(list)?.strip_prefix('.')) {
            None => format!("(count x in {list}: {condition})"),
            Some(Some(field)) => format!("(sum x.{field} for x in {list}: {condition})"),
            Some(None) => return None,
        };
        let message = message!("there is no function `{}`", name.node);
        let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message);
        let diagnostic = diagnostic.help(message!("write `{written}`", written = written.clone()));
        Some(if is_complete { diagnostic.likely_fix(span, written) } else { diagnostic })
    }

    /// Returns the author's name for an element in a condition, such as `i` in `i.price > 10`. It
    /// is the first name before a dot that is no field of the message. `None` without such a name.
    fn element_name_in_condition<'t>(&self, condition: &'t str) -> Option<&'t str> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let is_field =
            |name: &str| self.fields.declared_root_fields().is_some_and(|fields| fields.get(name).is_some());
        let roots = condition.match_indices('.').map(|(dot, _)| {
            let start = condition[..dot].rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
            &condition[start..dot]
        });
        roots.into_iter().find(|root| root.starts_with(char::is_alphabetic) && !is_field(root))
    }

    /// Returns the part of a path that leads to a list of records, and the type of its elements:
    /// `items` for `items.price` and for `items`. `None` if the path leads to no such list, or to a
    /// field that is not declared.
    fn list_of_records<'t>(&self, path: &'t str) -> Option<(&'t str, &RecordType)> {
        let mut record = self.fields.declared_root_fields()?;
        let mut length = 0;
        for name in path.split('.') {
            let ty = &record.get(name)?.ty;
            length += name.len();
            if let InnerType::Element(element) = &ty.inner {
                let element = element.fields()?;
                let rest = path[length..].strip_prefix('.');
                let is_field = rest.is_none_or(|field| element.get(field).is_some());
                return is_field.then_some((&path[..length], element));
            }
            record = ty.fields()?;
            length += 1;
        }
        None
    }
}

/// Splits arguments into pairs of a range and its criterion. `None` if the number of arguments is
/// odd or zero.
fn split_into_range_criterion_pairs<'a>(args: &[&'a str]) -> Option<Vec<(&'a str, &'a str)>> {
    let is_even = args.len().is_multiple_of(2) && !args.is_empty();
    is_even.then(|| args.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// Returns a condition on the fields of an element: `x.price > 10` for `price > 10`. `None` for a
/// text that is no condition, or that names no field of the element.
fn write_condition_on_element(text: &str, record: &RecordType) -> Option<String> {
    let (mut written, mut rest, mut is_quoted, mut found) = (String::new(), text, false, false);
    while let Some(c) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if is_quoted || !is_name(c) {
            is_quoted ^= c == '"';
            written.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let word = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        let is_field = record.get(word).is_some() && !written.ends_with('.');
        found |= is_field;
        written.push_str(if is_field { "x." } else { "" });
        written.push_str(word);
        rest = &rest[word.len()..];
    }
    (is_condition(text) && found && !has_foreign_operator(text)).then_some(written)
}

/// True for the source text of a condition with an operator, but not for a text in quotes.
fn is_condition(text: &str) -> bool {
    let has_sign = text.contains(['<', '>', '=']);
    let has_word = || text.split_whitespace().any(|word| Op::from_spelling(word).is_some());
    !text.starts_with('"') && (has_sign || has_word())
}

/// True for a condition with an operator of spreadsheets: `=` for equality, or `<>`.
fn has_foreign_operator(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_single = |at: usize| {
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        bytes[at] == b'=' && !matches!(before, b'=' | b'<' | b'>' | b'!') && bytes.get(at + 1) != Some(&b'=')
    };
    text.contains("<>") || (0..bytes.len()).any(is_single)
}
