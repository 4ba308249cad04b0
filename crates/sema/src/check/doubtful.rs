//! Warns about comparisons that are valid but probably not intended. Examples:
//! `words contains text`, which looks up a whole text in a list of words; a constant text that is
//! searched for the value of a field; `host ends_with "bank.com"` without a dot before the domain;
//! and `<` between enumeration values.

use super::names::is_message_text;
use super::regex_help::without_slashes;
use super::units::last_word;
use super::wildcard::element_span;
use super::{Checker, join_names};
use crate::hir::{ANSWERS_FIELD, Const, Expr, ExprKind};
use crate::resolve::Definition;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text::to_one_line;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_syntax::ast::{self, StatementKind};
use rulec_syntax::write::{quote_raw_string, quote_string};

/// If the name of a field ends with one of these words, as in `file_ext`, its value is a short
/// text. The author probably wants to search a constant for this value, so the checker does not
/// warn that the operands are swapped.
const SHORT_TEXT_WORDS: &[&str] =
    &["ext", "lang", "locale", "language", "mime", "code", "command", "topic", "abbr", "letter"];

/// If the name of a field contains one of these words, as in `allowed_prefix`, its value is a part
/// of other texts. The author probably wants to search a constant for this value, so the checker
/// does not warn that the operands are swapped.
const TEXT_PART_WORDS: &[&str] =
    &["prefix", "suffix", "domain", "part", "word", "query", "search", "needle", "pattern", "filter", "term"];

/// Names under which messages usually have a record or a dict, and no list.
const RECORD_NAMES: &[&str] =
    &["ctx", "context", "request", "req", "headers", "event", "params", "session", "cookies", "metadata"];

impl<'a> Checker<'a> {
    /// Warns about a valid comparison that its author probably did not intend.
    pub(super) fn warn_doubtful_comparison(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        match binary.op.node {
            Op::Contains => self.warn_reversed_search(binary, left, right),
            Op::EndsWith => self.warn_domain_without_dot(binary, left, right),
            Op::Lt | Op::Le | Op::Gt | Op::Ge => self.warn_order_of_enumeration(binary, left, right),
            Op::Matches => {
                self.warn_slashes_in_regex(binary, left, right);
                self.warn_doubled_backslashes(right);
            }
            _ => {}
        }
        self.warn_searched_constant(binary, left, right);
        self.warn_key_in_record(binary, left, right);
        self.warn_elements_of_other_type(binary, left, right);
        self.warn_unknown_answer(binary.op.node, left, right);
        self.warn_unknown_answer(binary.op.node, right, left);
    }

    /// Warns about `words contains text`, which is true only if the whole text equals one of the
    /// words.
    fn warn_reversed_search(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let is_text = |slot: &ExprKind| match slot {
            ExprKind::Slot(id) => is_message_text(&self.fields.slot(*id).path),
            _ => false,
        };
        let words = left.as_const().and_then(|words| words.value().elements());
        let has_only_words = words
            .is_some_and(|mut words| words.next().is_some() && words.all(|word| word.as_str().is_some()));
        if !has_only_words || !is_text(&right.kind) || binary.modifiers.quantity.is_some() {
            return;
        }
        let (list, text) = (self.loaded.sources.slice(left.span), self.loaded.sources.slice(right.span));
        let written = format!("{text} contains any {list}");
        let message = message!("this holds only if the whole text is an element of the list");
        let diagnostic = Diagnostic::new(Code::ReversedSearch, left.span.to(right.span), message);
        let help = message!("to search the text for the elements, write `{written}`");
        self.diagnostics.push(diagnostic.help(help).likely_fix(left.span.to(right.span), written));
    }

    /// Warns about `"role" in ctx` without an `input` block. The rules then read `ctx` as a list,
    /// but messages usually have a record under this name.
    fn warn_key_in_record(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let key = left.as_const().and_then(|constant| constant.value().as_str());
        let (Some(key), ExprKind::Slot(id)) = (key, &right.kind) else { return };
        let is_record = |name: &str| RECORD_NAMES.contains(&name.to_lowercase().as_str());
        let last_name = self.fields.slot(*id).path.last();
        if binary.op.node != Op::In
            || !self.fields.infers_types()
            || !last_name.is_some_and(|name| is_record(name))
        {
            return;
        }
        let slice = |span| self.loaded.sources.slice(span);
        let (constant, record) = (slice(left.span), slice(right.span));
        let (test, not) = if binary.negated { ("is missing", "not ") } else { ("is present", "") };
        let message = message!("`in` looks for an element of a list, but `{record}` is probably a record");
        let diagnostic = Diagnostic::new(Code::ReversedSearch, right.span, message);
        let is_name =
            key.starts_with(char::is_alphabetic) && key.chars().all(|c| c.is_alphanumeric() || c == '_');
        let help = match is_name {
            true => message!(
                "for a field, write `{record}.{key} {test}`; for a key of a dict, `{record} {not}has_key {constant}`; \
                if it is a list, declare it in an `input` block"
            ),
            false => message!(
                "for a key of a dict, write `{record} {not}has_key {constant}`; if it is a list, declare it in an \
                `input` block"
            ),
        };
        self.diagnostics.push(diagnostic.help(help));
    }

    /// Warns about `"@example.com" ends_with user.email`, whose two sides the author probably
    /// exchanged.
    fn warn_searched_constant(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let constant = left.as_const().and_then(|constant| constant.value().as_str());
        let ExprKind::Slot(id) = &right.kind else { return };
        let path = &self.fields.slot(*id).path;
        // A field such as `allowed_prefix` contains the part to search for.
        let is_part =
            path.last().is_some_and(|name| {
                let name = name.to_lowercase();
                TEXT_PART_WORDS.iter().any(|word| name.contains(word))
            }) || path.last().is_some_and(|name| SHORT_TEXT_WORDS.contains(&last_word(name).as_str()));
        let is_doubtful = |constant: &str| {
            is_part_of_address(constant)
                || is_message_text(path) && constant.contains(|c: char| c.is_alphanumeric())
        };
        if !constant.is_some_and(is_doubtful) || binary.modifiers.quantity.is_some() || is_part {
            return;
        }
        let slice = |span| self.loaded.sources.slice(span);
        let (searched, value) = (slice(left.span), slice(right.span));
        let message = match binary.op.node {
            Op::StartsWith => message!("this holds only if {searched} begins with the whole of `{value}`"),
            Op::EndsWith => message!("this holds only if {searched} ends with the whole of `{value}`"),
            // A constant may list the allowed values of another field.
            Op::Contains if is_message_text(path) => {
                message!("this holds only if {searched} contains the whole of `{value}`")
            }
            _ => return,
        };
        let span = left.span.to(right.span);
        let between = Span { start: left.span.end, end: right.span.start, ..span };
        let written = format!("{value}{}{searched}", slice(between));
        let diagnostic = Diagnostic::new(Code::ReversedSearch, span, message);
        let help = message!(
            "the text that is searched comes first: write `{written}`; if this is meant, write \
            `# rulec: allow W0109 reason` above"
        );
        self.diagnostics.push(diagnostic.help(help).likely_fix(span, written));
    }

    /// Warns about a host or e-mail address whose end is compared with a domain that has no
    /// separator before it: `host ends_with "bank.com"` is also true for `otherbank.com`.
    fn warn_domain_without_dot(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let name = match &left.kind {
            ExprKind::Call(Function::UrlHost, _) => "host",
            ExprKind::Slot(id) => match self.fields.slot(*id).path.last() {
                Some(name) => name,
                None => return,
            },
            _ => return,
        };
        let separator = match name.to_lowercase().as_str() {
            "host" | "hostname" | "host_name" | "domain" => '.',
            "email" | "e_mail" | "mail" | "email_address" => '@',
            _ => return,
        };
        let Some(constant) = right.as_const().map(|constant| constant.value()) else { return };
        let elements = constant.elements().into_iter().flatten();
        let Some(domain) = elements.chain([constant]).filter_map(Value::as_str).find(|text| is_domain(text))
        else {
            return;
        };
        let message = message!("`{}` also ends with this domain", format!("not{}", to_one_line(domain)));
        let diagnostic = Diagnostic::new(Code::DomainWithoutDot, right.span, message);
        let written = self.loaded.sources.slice(left.span);
        let quoted = quote_string(domain);
        let separated = quote_string(&format!("{separator}{domain}"));
        let is_single = constant.as_str().is_some() && !binary.negated;
        let help = match separator {
            '.' if is_single => {
                message!("write `({written} == {quoted} or {written} ends_with {separated})`")
            }
            '.' => message!(
                "write {separated} for everything below the domain, and compare with {quoted} for the domain itself"
            ),
            _ => message!("write {separated}"),
        };
        self.diagnostics.push(diagnostic.help(help));
    }

    /// Warns about a comparison such as `plan >= "pro"` on an enumeration. Texts are ordered
    /// alphabetically, not in the order of the declaration.
    fn warn_order_of_enumeration(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        for (enumeration, other) in [(left, right), (right, left)] {
            let Some(values) = enumeration.ty.values() else { continue };
            let Some(bound) = other.as_const().and_then(|bound| bound.value().as_str()) else { continue };
            let op = match std::ptr::eq(enumeration, left) {
                true => Some(binary.op.node),
                false => binary.op.node.mirrored(),
            };
            let texts: Vec<&str> = values.values().iter().map(|value| &**value).collect();
            let Some(place) = texts.iter().position(|text| *text == bound) else { return };
            let meant: Vec<&str> = match op {
                Some(Op::Lt) => texts[..place].to_vec(),
                Some(Op::Le) => texts[..=place].to_vec(),
                Some(Op::Gt) => texts[place + 1..].to_vec(),
                _ => texts[place..].to_vec(),
            };
            let list: Vec<String> = meant.into_iter().map(quote_string).collect();
            let written = format!("{} in [{}]", self.loaded.sources.slice(enumeration.span), list.join(", "));
            let span = left.span.to(right.span);
            let message =
                message!("an enumeration has no order, so its values are compared letter by letter");
            let diagnostic = Diagnostic::new(Code::OrderOfEnumeration, span, message);
            self.diagnostics.push(diagnostic.help(message!("write `{written}`")));
            return;
        }
    }

    /// Warns about a regular expression between slashes, as in `matches r"/refund/i"`.
    fn warn_slashes_in_regex(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let Some(constant) = right.as_const().map(Const::value) else { return };
        let elements = constant.elements().into_iter().flatten();
        let patterns = constant.as_str().into_iter().chain(elements.filter_map(Value::as_str));
        let is_path = self.may_be_path(left);
        let meant = patterns
            .enumerate()
            .find_map(|(index, pattern)| Some((index, without_slashes(pattern, is_path)?)));
        let Some((index, meant)) = meant else { return };
        let span = element_span(&binary.right, index).unwrap_or(right.span);
        let message = message!(
            "the slashes around a regular expression, and letters after them, belong to the expression"
        );
        let diagnostic = Diagnostic::new(Code::SlashesInRegex, span, message);
        let written = quote_raw_string(&meant);
        let is_written_here = constant.as_str().is_some() || span != right.span;
        let diagnostic = diagnostic.help(message!("write `{written}`"));
        self.diagnostics.push(match is_written_here {
            true => diagnostic.likely_fix(span, written),
            false => diagnostic,
        });
    }

    /// Warns about doubled backslashes in a raw text, as in `matches r"\\\\d"`. Other quotes of
    /// other languages need them, but here two of them mean one backslash of the text.
    fn warn_doubled_backslashes(&mut self, right: &Expr) {
        let Some(pattern) = right.as_const().and_then(|constant| constant.value().as_str()) else { return };
        let Some(file) = self.loaded.sources.get(right.span.file) else { return };
        let is_raw = file.text.get(right.span.range()).is_some_and(|literal| literal.starts_with('r'));
        let Some(meant) = with_single_backslashes(pattern).filter(|_| is_raw) else { return };
        let written = quote_raw_string(&meant);
        let message = message!("`\\\\` in a raw text means a backslash that the value must contain");
        let diagnostic = Diagnostic::new(Code::SlashesInRegex, right.span, message);
        let help =
            message!("a raw text needs no second backslash: write `{written}`", written = written.clone());
        self.diagnostics.push(diagnostic.help(help).likely_fix(right.span, written));
    }

    /// True if a value is probably a path or an address, in which slashes are meant literally.
    fn may_be_path(&self, value: &Expr) -> bool {
        let ExprKind::Slot(id) = &value.kind else {
            return matches!(&value.kind, ExprKind::Call(Function::UrlPath | Function::Lower, _));
        };
        let path = &self.fields.slot(*id).path;
        let words = ["path", "url", "uri", "route", "endpoint", "href", "link", "dir", "file", "folder"];
        path.last().is_some_and(|name| words.iter().any(|word| name.to_lowercase().contains(word)))
    }

    /// Warns about elements of a list that cannot equal the value, because they are of another
    /// type: `port in [80, "443"]`.
    fn warn_elements_of_other_type(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let kinds = match (binary.op.node, binary.modifiers.quantity) {
            (Op::In, None) => left.ty.kinds,
            (Op::Contains, Some(_)) if left.ty.kinds == KindSet::LIST => left.ty.element().kinds,
            _ => return,
        };
        let numbers = KindSet::NUMBER.union(KindSet::DECIMAL);
        let is_simple = kinds == KindSet::STRING || kinds == KindSet::BOOL || kinds.is_subset_of(numbers);
        let Some(elements) = right.as_const().and_then(|list| list.value().elements()) else { return };
        if !is_simple || kinds.is_empty() {
            return;
        }
        for (index, element) in elements.enumerate() {
            let comparable = if kinds.is_subset_of(numbers) { numbers } else { kinds };
            let scalars = numbers.union(KindSet::STRING).union(KindSet::BOOL);
            let is_other = element
                .kind()
                .map(KindSet::single)
                .is_some_and(|kind| kind.is_subset_of(scalars) && !kind.overlaps(comparable));
            if !is_other {
                continue;
            }
            let span = element_span(self.resolve_list_name(&binary.right), index).unwrap_or(right.span);
            let shown = element.to_json().to_string();
            let value = self.loaded.sources.slice(left.span);
            let message = match binary.op.node {
                Op::In => message!("`{shown}` never equals `{value}`, which is {}", left.ty.with_article()),
                _ => message!("`{shown}` is never in `{value}`, which is {}", left.ty.with_article()),
            };
            let diagnostic = Diagnostic::new(Code::ElementOfOtherType, span, message);
            let meant = match element {
                Value::Str(text) if kinds.is_subset_of(numbers) => {
                    Some(text.trim().to_owned()).filter(|text| text.parse::<f64>().is_ok_and(f64::is_finite))
                }
                Value::Str(text) if kinds == KindSet::BOOL => {
                    Some(text.to_lowercase()).filter(|text| text == "true" || text == "false")
                }
                Value::Str(_) => None,
                _ if kinds == KindSet::STRING => Some(quote_string(&shown)),
                _ => None,
            };
            self.diagnostics.push(match meant {
                Some(meant) => {
                    let diagnostic = diagnostic.help(message!("write `{replacement}`", replacement = meant));
                    if span == right.span { diagnostic } else { diagnostic.likely_fix(span, meant) }
                }
                None => diagnostic.help(message!("remove it, or compare another value")),
            });
        }
    }

    /// Returns the list literal that `list` refers to. For the name of a `list` or `let` statement,
    /// this is the value in the statement. Any other expression is returned unchanged.
    pub(super) fn resolve_list_name<'e>(&'e self, list: &'e ast::Expr) -> &'e ast::Expr {
        let ast::ExprKind::Name(name) = &list.kind else { return list };
        match self.symbols.definition(list.span.file, name).map(|symbol| &symbol.declaration) {
            Some(Definition::List { source: ast::ListSource::Elements(elements) }) => elements,
            Some(Definition::Let { value }) => value,
            _ => list,
        }
    }

    /// Warns if an answer of a language model is compared with a text that is not the id of a
    /// branch of the choice: `answers.mood == "furious"`.
    fn warn_unknown_answer(&mut self, op: Op, answer: &Expr, constant: &Expr) {
        let Some(value) = constant.as_const().map(Const::value) else { return };
        if !matches!(op, Op::Eq | Op::Ne | Op::In) {
            return;
        }
        let Some(choice) = self.answered_choice(answer) else { return };
        let elements = value.elements().into_iter().flatten().filter_map(Value::as_str);
        for text in value.as_str().into_iter().chain(elements) {
            let ids = || choice.branches.iter().map(|branch| branch.id.node.as_str());
            if ids().any(|id| id == text) {
                continue;
            }
            let (name, shown) = (&choice.name.node, to_one_line(text));
            let message = message!("`{name}` has no branch `{shown}`, so this value never matches");
            let diagnostic = Diagnostic::new(Code::UnknownAnswer, constant.span, message);
            let is_meaning = |branch: &&ast::Branch| {
                branch.meaning.as_ref().is_some_and(|meaning| meaning.node.trim() == text.trim())
            };
            let described = choice.branches.iter().find(is_meaning).map(|branch| branch.id.node.as_str());
            let near = described.or_else(|| self.nearest(text, ids()));
            self.diagnostics.push(match near {
                Some(near) if value.as_str().is_some() => {
                    let near = quote_string(near);
                    diagnostic.help(message!("did you mean {near}?")).likely_fix(constant.span, near)
                }
                Some(near) => diagnostic.help(message!("did you mean {}?", quote_string(near))),
                None => diagnostic.help(message!("its branches are {}", join_names(ids()))),
            });
        }
    }

    /// Returns the choice that a language model answers, if the expression reads this answer.
    fn answered_choice(&self, value: &Expr) -> Option<&'a ast::Choice> {
        let path = match &value.kind {
            ExprKind::Read(inner, _) => return self.answered_choice(inner),
            ExprKind::Slot(id) => self.fields.slot(*id),
            _ => return None,
        };
        let [field, name] = path.path.as_slice() else { return None };
        if path.root.is_some() || **field != *ANSWERS_FIELD {
            return None;
        }
        self.statements().find_map(|statement| match &statement.kind {
            StatementKind::Choice(choice) if choice.name.node == **name && choice.question.is_some() => {
                Some(choice)
            }
            _ => None,
        })
    }

    /// Warns about a constant argument where a value of the message is expected: the key of
    /// `bucket`, or the text of `split` and `replace`.
    pub(super) fn warn_constant_subject(&mut self, function: Function, args: &[Expr], span: Span) {
        let Some(first) = args.first().and_then(|arg| arg.as_const()?.value().as_str()) else { return };
        let source = |arg: &Expr| self.loaded.sources.slice(arg.span).to_owned();
        let is_constant = |index: usize| args.get(index).is_none_or(|arg| arg.as_const().is_some());
        let (message, written) = match (function, args) {
            (Function::Bucket, [key, seed, ..]) if !is_constant(1) => (
                message!("the key of the bucket is constant, so all messages are in one bucket"),
                format!("bucket({}, seed: {})", source(seed), source(key)),
            ),
            (Function::Bucket, [key, ..]) => {
                let message =
                    message!("the key of the bucket is constant, so all messages are in one bucket");
                let help = message!(
                    "write a field that differs between users, as in `bucket(user.id, seed: {})`",
                    source(key)
                );
                let diagnostic = Diagnostic::new(Code::ConstantKey, key.span, message);
                return self.diagnostics.push(diagnostic.help(help));
            }
            (Function::Split, [separator, text]) if !is_constant(1) => (
                message!("the first argument of `{}` is the text of the message", "split"),
                format!("split({}, {})", source(text), source(separator)),
            ),
            (Function::Replace, [old, text, new]) if !is_constant(1) && is_constant(2) => (
                message!("the first argument of `{}` is the text of the message", "replace"),
                format!("replace({}, {}, {})", source(text), source(old), source(new)),
            ),
            (Function::Replace, [old, new, text]) if is_constant(1) && !is_constant(2) => {
                let wanted = new.as_const().and_then(|wanted| wanted.value().as_str()).unwrap_or_default();
                // `replace("Dear NAME", "NAME", user.name)` fills a template.
                if !wanted.is_empty() && first.contains(wanted) {
                    return;
                }
                (
                    message!("the first argument of `{}` is the text of the message", "replace"),
                    format!("replace({}, {}, {})", source(text), source(old), source(new)),
                )
            }
            _ => return,
        };
        let diagnostic = Diagnostic::new(Code::ConstantKey, args[0].span, message);
        let diagnostic = diagnostic.help(message!("write `{written}`")).likely_fix(span, written);
        self.diagnostics.push(diagnostic);
    }
}

/// True for a text that looks like the end of an e-mail address or file name, or like the start of
/// a URL or path.
fn is_part_of_address(text: &str) -> bool {
    text.starts_with(['@', '.']) || text.ends_with(['/', ':']) || text.contains("://")
}

/// True for a text such as `bank.com`: labels of letters, digits and hyphens, separated by dots.
pub(super) fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    text.contains('.')
        && text.split('.').all(is_label)
        && text.rsplit('.').next().is_some_and(|last| last.starts_with(char::is_alphabetic))
}

/// Returns a regular expression with each doubled backslash replaced by one. `None` if it has none,
/// or if a doubled backslash is probably meant, as in `C:\\\\docs`.
fn with_single_backslashes(pattern: &str) -> Option<String> {
    let is_class = |rest: &str| {
        let mut chars = rest.chars();
        let first = chars.next();
        let follows_class = !chars.next().is_some_and(|next| next.is_alphanumeric() || next == '_');
        match first {
            Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 'b' | 'B') => follows_class,
            Some('.' | '+' | '*' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '$' | '^' | '|') => true,
            _ => false,
        }
    };
    let parts: Vec<&str> = pattern.split("\\\\").collect();
    let is_doubled = parts.len() > 1
        && parts[1..].iter().all(|part| is_class(part))
        && parts.iter().all(|part| !part.contains('\\'));
    let meant = parts.join("\\");
    (is_doubled && regex_syntax::parse(&meant).is_ok()).then_some(meant)
}
