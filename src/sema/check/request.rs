//! Request analysis: what `intent`, `entity` and `lexicon` declare, and what `request.…` gives. Each
//! use becomes a call of a function that the engine offers, with the message's text as argument, so
//! that it costs, is remembered and is explained as any host function is.

use super::fields::Reason;
use super::path::Path;
use super::pattern::regex_too_large;
use super::read::read;
use super::{Checked, Checker, Reported};
use crate::diag::{Code, Diagnostic, nearest};
use crate::ops::Case;
use crate::sema::hir::{self, Const, Expr, ExprKind, ExternId, Term};
use crate::sema::request::{
    BEST, Entity, FIELDS, Feature, INTENT, Intent, Lexicon, MATCH, SCORE, URGENCY, URGENCY_WORDS,
};
use crate::sema::resolve::{Definition, duplicate};
use crate::span::{Span, Spanned};
use crate::syntax::ast::{self, Ident, Literal};
use crate::text;
use crate::ty::{Field, KindSet, Record, Ty};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The word that stands for the analysis.
pub(super) const REQUEST: &str = "request";
/// The field of the message that is analysed.
const TEXT: &str = "text";
/// The `let` behind `request.context_score`.
const CONTEXT_SCORE: &str = "context_score";

/// The settings of the analysis.
const SETTINGS: [&str; 3] = ["intent_threshold", "intent_margin", "stop_words"];

/// What one pass of the checker finds out.
#[derive(Default)]
pub(super) struct Analysed<'a> {
    /// Where each setting is given.
    settings: HashMap<&'a str, Span>,
    /// The list of further stop words.
    stop_words: Option<&'a ast::Expr>,
    /// The functions that are used.
    externs: HashMap<Feature, ExternId>,
    /// It has been said that there is no text.
    no_text: bool,
}

impl<'a> Checker<'a> {
    /// Declares what expressions may ask for. Runs before definitions are checked.
    pub(super) fn declare_analysis(&mut self) {
        self.request_is_free();
        for symbol in self.symbols.intents.iter() {
            let intent = Intent {
                name: symbol.name.node.as_str().into(),
                description: symbol.node.description.as_ref().map_or("", |text| &text.node).into(),
                keywords: Vec::new(),
                examples: Vec::new(),
                span: symbol.name.span,
            };
            self.program.analysis.intents.push(intent);
        }
        for symbol in self.symbols.entities.iter() {
            // One with a fault keeps its place and finds nothing.
            let entity = self.entity(symbol.node);
            self.program.analysis.entities.push(entity);
        }
        for symbol in self.symbols.lexicons.iter() {
            let lexicon = self.lexicon(symbol.node);
            self.program.analysis.lexicons.push(lexicon);
        }
        if self.symbols.lexicons.get(URGENCY).is_none() {
            /// Shared by all programs: routes that come later are checked one by one.
            static BUILT_IN: LazyLock<Lexicon> = LazyLock::new(|| {
                let entries = URGENCY_WORDS.map(|word| (word.into(), 1.0)).to_vec();
                Lexicon { name: URGENCY.into(), entries }
            });
            self.program.analysis.lexicons.push(BUILT_IN.clone());
        }
    }

    /// Puts in the words of intents, which may stand in lists. Runs after definitions are checked.
    pub(super) fn fill_analysis(&mut self) {
        for (at, symbol) in self.symbols.intents.iter().enumerate() {
            let intent = symbol.node;
            let keywords = self.all_words(&intent.name, "keywords", &intent.keywords);
            let examples = self.all_words(&intent.name, "examples", &intent.examples);
            let (Ok(keywords), Ok(examples)) = (keywords, examples) else { continue };
            if keywords.is_empty() && examples.is_empty() {
                let message = format!("the intent `{}` has neither keywords nor examples", intent.name.node);
                self.diagnostics.push(
                    Diagnostic::new(Code::NothingToFind, intent.name.span, message)
                        .help("say how messages with it look: `examples [\"I want my money back\"]`"),
                );
            }
            let filled = &mut self.program.analysis.intents[at];
            (filled.keywords, filled.examples) = (keywords, examples);
        }
        if let Some(list) = self.analysed.stop_words
            && let Ok(words) = self.words("settings", "stop_words", list)
        {
            self.program.analysis.stop_words = words;
        }
    }

    /// `request` must not mean two things.
    fn request_is_free(&mut self) {
        let symbols = self.symbols;
        let intents = symbols.intents.iter().map(|symbol| symbol.name.span);
        let entities = symbols.entities.iter().map(|symbol| symbol.name.span);
        let lexicons = symbols.lexicons.iter().map(|symbol| symbol.name.span);
        let Some(first) = intents.chain(entities).chain(lexicons).next() else { return };
        let input = if self.analyses() { None } else { self.fields.declared_at(&[REQUEST]) };
        let definition = symbols.definitions.get(REQUEST).map(|symbol| symbol.name.span);
        if let Some(place) = input.or(definition) {
            self.diagnostics.push(
                Diagnostic::new(Code::RequestTaken, place, "`request` is the analysis of the message's text")
                    .here("declared as something else")
                    .label(first, "the analysis is declared from here on")
                    .help("give the field or definition another name"),
            );
        }
    }

    fn entity(&mut self, written: &'a ast::Entity) -> Entity {
        let file = written.name.span.file;
        let ignore_case = written.ignoring_case.is_some() || self.settings_of(file).case == Case::Ignore;
        let mut entity = Entity {
            name: written.name.node.as_str().into(),
            patterns: Vec::new(),
            fields: Vec::new(),
            ignore_case,
            span: written.name.span,
        };
        if written.patterns.is_empty() {
            let message = format!("the entity `{}` has no expression", entity.name);
            self.diagnostics.push(
                Diagnostic::new(Code::NothingToFind, entity.span, message)
                    .help("write what finds it: `matches r\"order (?<id>[0-9]+)\"`"),
            );
        }
        for pattern in &written.patterns {
            let _ = self.entity_pattern(pattern, &mut entity);
        }
        entity
    }

    fn entity_pattern(&mut self, written: &'a ast::Expr, entity: &mut Entity) -> Checked<()> {
        let span = written.span;
        let ast::ExprKind::Literal(Literal::String(pattern)) = &written.kind else {
            return self.report(
                Diagnostic::new(Code::ConstantWanted, span, "a regular expression in quotes is wanted here")
                    .help("an entity's fields are known from its expressions, so each is written in place"),
            );
        };
        self.pattern_fits(pattern, entity.ignore_case, span)?;
        let Ok(regex) = text::regex(pattern, entity.ignore_case) else {
            return self.report(regex_too_large(span));
        };
        let shortest = regex_syntax::parse(pattern).ok().and_then(|hir| hir.properties().minimum_len());
        if shortest == Some(0) {
            let message = format!("this expression is found in every text, so `{}` always is", entity.name);
            self.diagnostics.push(
                Diagnostic::new(Code::EntityAlwaysFound, span, message)
                    .here("matches the empty text")
                    .help("let it need at least one character, as with `+` in place of `*`"),
            );
        }
        let groups: Vec<&str> = regex.capture_names().flatten().collect();
        let names = if groups.is_empty() { vec![MATCH] } else { groups };
        for name in names {
            if !entity.fields.iter().any(|field| **field == *name) {
                entity.fields.push(name.into());
            }
        }
        entity.patterns.push(pattern.as_str().into());
        Ok(())
    }

    fn lexicon(&mut self, written: &'a ast::Lexicon) -> Lexicon {
        let name = &written.name;
        if name.node != URGENCY && FIELDS.contains(&name.node.as_str()) {
            let message = format!("a lexicon cannot be named `{}`", name.node);
            self.diagnostics.push(
                Diagnostic::new(Code::LexiconName, name.span, message)
                    .help(format!("`request.{}` is something else; choose another name", name.node)),
            );
        }
        if written.entries.is_empty() {
            let message = format!("the lexicon `{}` has no words", name.node);
            self.diagnostics.push(
                Diagnostic::new(Code::NothingToFind, name.span, message)
                    .help(format!("give each word a weight: `lexicon {} {{ \"now\": 0.5 }}`", name.node)),
            );
        }
        let mut seen: HashMap<String, Span> = HashMap::new();
        let mut entries = Vec::new();
        for ast::Weight { word, weight } in &written.entries {
            if word.node.trim().is_empty() {
                self.diagnostics.push(empty_keyword(word.span));
            } else if let Some(first) = seen.insert(text::fold(&word.node), word.span) {
                self.diagnostics.push(duplicate("word", &word.node, first, word.span));
            } else if !(weight.node > 0.0 && weight.node <= 1.0) {
                let message = format!("the weight of `{}` must be above 0 and at most 1", word.node);
                self.diagnostics.push(
                    Diagnostic::new(Code::WeightRange, weight.span, message)
                        .help("weights are summed up to 1; a word with the weight 1 settles it alone"),
                );
            } else {
                entries.push((word.node.as_str().into(), weight.node));
            }
        }
        Lexicon { name: name.node.as_str().into(), entries }
    }

    fn all_words(&mut self, owner: &Ident, what: &str, lists: &'a [ast::Expr]) -> Checked<Vec<Arc<str>>> {
        let lists: Vec<Checked<_>> = lists.iter().map(|list| self.words(&owner.node, what, list)).collect();
        Ok(lists.into_iter().collect::<Checked<Vec<_>>>()?.concat())
    }

    /// A list of texts, known when the rules are loaded.
    fn words(&mut self, owner: &str, what: &str, list: &'a ast::Expr) -> Checked<Vec<Arc<str>>> {
        let value = self.value(list)?;
        // An empty list has no element type to hold against the wanted one.
        let value = match value.as_const().and_then(|constant| constant.value().list_len()) {
            Some(0) => {
                self.diagnostics.push(
                    Diagnostic::new(Code::EmptyList, list.span, "nothing is in an empty list")
                        .help(format!("add an element, or remove `{what}`")),
                );
                return Ok(Vec::new());
            }
            _ => self.argument(owner, what, value, &Ty::list(Ty::STRING), None)?,
        };
        let Some(Const::Json(json)) = value.as_const() else {
            return self.report(
                Diagnostic::new(Code::ConstantWanted, list.span, "these words must be constants").help(
                    "write them in place or in a `list`; they are read once, when the rules are loaded",
                ),
            );
        };
        let elements = Value::from_json(json).elements().into_iter().flatten();
        let words: Vec<Arc<str>> = elements.filter_map(Value::as_str).map(Arc::from).collect();
        if words.iter().any(|word| word.trim().is_empty()) {
            return self.report(empty_keyword(list.span));
        }
        Ok(words)
    }

    /// Reads a setting of the analysis; `false` when it is none. The analysis looks at all files
    /// together, so each is given once.
    pub(super) fn analysis_setting(&mut self, name: &'a Ident, value: &'a ast::Expr) -> bool {
        let Some(setting) = SETTINGS.into_iter().find(|setting| *setting == name.node) else { return false };
        if let Some(first) = self.analysed.settings.get(setting) {
            let diagnostic = duplicate("setting", setting, *first, name.span);
            self.diagnostics
                .push(diagnostic.help("the analysis is one for all files; say it in one of them"));
            return true;
        }
        self.analysed.settings.insert(setting, name.span);
        let number = match value.kind {
            ast::ExprKind::Literal(Literal::Int(value)) => Some(value as f64),
            ast::ExprKind::Literal(Literal::Float(value)) => Some(value),
            _ => None,
        };
        let number = number.filter(|number| (0.0..=1.0).contains(number));
        match (setting, number, &value.kind) {
            ("stop_words", _, ast::ExprKind::Name(_)) => self.analysed.stop_words = Some(value),
            ("stop_words", ..) => self.wrong_setting(value.span, setting, "the name of a list"),
            ("intent_threshold", Some(number), _) => self.program.analysis.threshold = number,
            ("intent_margin", Some(number), _) => self.program.analysis.margin = number,
            _ => self.wrong_setting(value.span, setting, "a number from 0 to 1"),
        }
        true
    }

    /// Whether `request` is the analysis: unless `input` declares a field of that name.
    fn analyses(&self) -> bool {
        self.fields.roots().is_none_or(|roots| roots.get(REQUEST).is_none())
    }

    /// Whether the path leads into the analysis rather than into the message.
    pub(super) fn is_request(&self, path: &Path<'_>) -> bool {
        path.root() == REQUEST && self.analyses()
    }

    /// `request.intent`, `request.entities.order.id`
    pub(super) fn request_path(&mut self, path: &Path<'_>, span: Span) -> Checked<Expr> {
        let Some((name, place)) = path.part(1) else {
            let help = format!("its fields are {}", self.request_fields(span).join(", "));
            return self.report(
                Diagnostic::new(Code::UnknownField, span, "`request` is no value of its own").help(help),
            );
        };
        let upto = |at: usize| path.part(at).map_or(span, |(_, place)| path.start().to(place));
        let (value, read_parts) = match name {
            "intent" => (self.intent_field(INTENT, upto(1))?, 2),
            "intent_score" => (self.intent_field(SCORE, upto(1))?, 2),
            "entities" => (self.entity_value(path, upto(2))?, 3),
            "keywords" => (self.feature(Feature::Keywords, REQUEST, name, Ty::list(Ty::STRING), upto(1))?, 2),
            CONTEXT_SCORE => (self.context_score(upto(1))?, 2),
            _ => (self.lexicon_score(name, place, upto(1))?, 2),
        };
        let mut value = value;
        for at in read_parts.. {
            let Some((name, place)) = path.part(at) else { break };
            value = self.field(value, &Spanned::new(name.to_owned(), place), upto(at))?;
        }
        Ok(value)
    }

    fn request_fields(&self, place: Span) -> Vec<&'a str> {
        let lexicons = self.symbols.lexicons.iter();
        let seen = lexicons.filter(|symbol| self.symbols.sees(place.file, symbol.name.span));
        let names = seen.map(|symbol| symbol.name.node.as_str()).filter(|name| *name != URGENCY);
        FIELDS.into_iter().chain(names).collect()
    }

    /// A call of one of the engine's functions.
    fn feature(&mut self, feature: Feature, of: &str, name: &str, ty: Ty, span: Span) -> Checked<Expr> {
        let text = self.analysed_text(span)?;
        let externs = &mut self.program.externs;
        let id = *self.analysed.externs.entry(feature).or_insert_with(|| {
            let params = vec![(TEXT.into(), Ty::STRING)];
            let name = format!("{of}.{name}").into();
            externs.push(hir::Extern { name, params, result: ty.clone(), feature: Some(feature), span });
            ExternId(externs.len() as u32 - 1)
        });
        // Words and scores are there for every text.
        let optional = text.optional || matches!(feature, Feature::Intent | Feature::Entity(_));
        Ok(Expr { kind: ExprKind::Extern(id, vec![text]), ty, optional, span })
    }

    /// The message's text.
    fn analysed_text(&mut self, span: Span) -> Checked<Expr> {
        let path = [Arc::from(TEXT)];
        let found = self.fields.find(&path, span).ok();
        self.fields.read(&path);
        if let Some(found) = found.as_ref().filter(|found| found.ty.kinds.overlaps(KindSet::STRING)) {
            self.fields.narrow(
                &path,
                KindSet::STRING,
                span,
                &Reason::Fixed("the text that `request` is about"),
            );
            let slot = self.fields.slot(&path, KindSet::STRING, found.private);
            let optional = found.optional || !found.ty.kinds.is_subset(KindSet::STRING);
            return Ok(Expr { kind: ExprKind::Slot(slot), ty: Ty::STRING, optional, span });
        }
        if std::mem::replace(&mut self.analysed.no_text, true) {
            return Err(Reported);
        }
        let diagnostic = match (found, self.fields.declared_at(&path)) {
            (Some(found), Some(declared)) => {
                let message = format!("`request` is about `text`, which is {}", found.ty.with_article());
                Diagnostic::new(Code::NoText, span, message).label(declared, "declared here")
            }
            _ => Diagnostic::new(Code::NoText, span, "`request` is about `text`, which is no input"),
        };
        self.report(diagnostic.help("declare it: `input { text: string }`"))
    }

    fn intent_field(&mut self, field: &str, span: Span) -> Checked<Expr> {
        if self.symbols.intents.is_empty() {
            return self.not_analysed(
                span,
                "no intent is declared",
                "declare those that messages may have: `intent refund { examples [\"I want my money back\"] }`",
            );
        }
        let record = record([(INTENT, Ty::STRING), (BEST, Ty::STRING), (SCORE, Ty::FLOAT)]);
        let base = self.feature(Feature::Intent, REQUEST, INTENT, record, span)?;
        self.field(base, &Spanned::new(field.to_owned(), span), span)
    }

    fn entity_value(&mut self, path: &Path<'_>, span: Span) -> Checked<Expr> {
        let names: Vec<&'a str> =
            self.symbols.entities.iter().map(|symbol| symbol.name.node.as_str()).collect();
        if names.is_empty() {
            return self.not_analysed(
                span,
                "no entity is declared",
                "declare those to look for: `entity order matches r\"order (?<id>[0-9]+)\"`",
            );
        }
        let Some((name, place)) = path.part(2) else {
            let message = "`request.entities` is no value of its own";
            return self.report(
                Diagnostic::new(Code::UnknownField, span, message)
                    .help(format!("ask for one of them: {}", names.join(", "))),
            );
        };
        let symbol = self.symbols.entities.get(name);
        match symbol.filter(|symbol| self.symbols.sees(span.file, symbol.name.span)) {
            Some(symbol) => {
                let at = self.symbols.entities.position(&symbol.name.node).unwrap_or_default();
                let fields = &self.program.analysis.entities[at].fields;
                let ty = record(fields.iter().map(|field| (&**field, Ty::STRING)));
                self.feature(Feature::Entity(at), "request.entities", name, ty, span)
            }
            None => self.unknown_part(name, place, "there is no entity", &names, symbol.map(|s| s.name.span)),
        }
    }

    fn lexicon_score(&mut self, name: &str, place: Span, span: Span) -> Checked<Expr> {
        let lexicons = &self.program.analysis.lexicons;
        let at = lexicons.iter().position(|lexicon| *lexicon.name == *name);
        let declared = self.symbols.lexicons.get(name).map(|symbol| symbol.name.span);
        match at.filter(|_| declared.is_none_or(|place| self.symbols.sees(span.file, place))) {
            Some(at) => self.feature(Feature::Lexicon(at), REQUEST, name, Ty::FLOAT, span),
            None => {
                let names = self.request_fields(span);
                self.unknown_part(name, place, "`request` has no field", &names, declared)
            }
        }
    }

    fn unknown_part<T>(
        &mut self,
        name: &str,
        place: Span,
        what: &str,
        names: &[&str],
        hidden: Option<Span>,
    ) -> Checked<T> {
        let diagnostic = Diagnostic::new(Code::UnknownField, place, format!("{what} `{name}`"));
        let diagnostic = match (hidden, nearest(name, names.iter().copied())) {
            (Some(hidden), _) => diagnostic
                .label(hidden, "declared in a file that is not imported here")
                .help("import that file, or move the statement into one that both import"),
            (None, Some(near)) => diagnostic.did_you_mean(place, Some(near)),
            (None, None) if what.starts_with("there") => {
                diagnostic.help(format!("the entities are {}", names.join(", ")))
            }
            (None, None) => diagnostic.help(format!(
                "`request` is the analysis of the message's text, with the fields {}; to read a field `request` of the message, declare it in `input`",
                names.join(", ")
            )),
        };
        self.report_unknown(name, diagnostic)
    }

    /// `request.context_score`: the author's own expression.
    fn context_score(&mut self, span: Span) -> Checked<Expr> {
        let symbol = self.symbols.definition(span.file, CONTEXT_SCORE);
        let Some(symbol) = symbol.filter(|symbol| matches!(symbol.node, Definition::Let { .. })) else {
            return self.not_analysed(
                span,
                "no `let context_score` says what the score is made of",
                "define it: `let context_score = min(ctx.message_count / 10, 1)`",
            );
        };
        let declared = symbol.name.span;
        match self.name(CONTEXT_SCORE, span)? {
            Term::Expr(value) if value.ty.kinds.overlaps(KindSet::NUMBER) => {
                self.constrain(&value, KindSet::NUMBER, &Reason::Fixed("a number, the context score"));
                Ok(read(value, &Ty::NUMBER))
            }
            other => {
                let what = match other {
                    Term::Cond(_) => "a condition".to_owned(),
                    Term::Expr(value) => value.ty.with_article(),
                };
                let message = format!("the context score is a number, and this is {what}");
                self.report(
                    Diagnostic::new(Code::ContextScore, declared, message)
                        .label(span, "asked for here")
                        .help("let it come to one, as in `min(ctx.message_count / 10, 1)`"),
                )
            }
        }
    }

    fn not_analysed<T>(&mut self, span: Span, message: &str, help: &str) -> Checked<T> {
        self.report(Diagnostic::new(Code::NotAnalysed, span, message).here("asked for here").help(help))
    }

    /// Warns when an intent is compared with a name that no intent has.
    pub(super) fn intents_exist(&mut self, left: &Expr, right: &Expr) {
        for (asked, constant) in [(left, right), (right, left)] {
            if !self.gives_intent(asked) {
                continue;
            }
            let Some(value) = constant.as_const().map(Const::value) else { continue };
            let listed = value.elements().into_iter().flatten().filter_map(Value::as_str);
            for name in value.as_str().into_iter().chain(listed) {
                let intents = &self.program.analysis.intents;
                if intents.iter().any(|intent| *intent.name == *name) {
                    continue;
                }
                let message = format!("there is no intent `{name}`, so this never holds for it");
                let near = nearest(name, intents.iter().map(|intent| &*intent.name));
                let names: Vec<&str> = intents.iter().map(|intent| &*intent.name).collect();
                let help = match near {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("the intents are {}", names.join(", ")),
                };
                self.diagnostics
                    .push(Diagnostic::new(Code::UnknownIntent, constant.span, message).help(help));
            }
        }
    }

    fn gives_intent(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Read(inner, _) => self.gives_intent(inner),
            ExprKind::Field(base, name) => match base.kind {
                ExprKind::Extern(id, _) => {
                    let feature = self.program.externs[id.index()].feature;
                    **name == *INTENT && feature == Some(Feature::Intent)
                }
                _ => false,
            },
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.gives_intent(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }

    /// Warns of what is declared in the main file and never asked for.
    pub(super) fn unused_analysis(&self, diagnostics: &mut Vec<Diagnostic>) {
        let symbols = self.symbols;
        let mut unused: Vec<(&str, &Ident, String)> = Vec::new();
        // One finding is enough for all intents: they are asked for together.
        if let Some(symbol) = symbols.intents.iter().next() {
            unused.extend(self.unasked(Feature::Intent, "intent", symbol.name, "request.intent"));
        }
        for (at, symbol) in symbols.entities.iter().enumerate() {
            let name = format!("request.entities.{}", symbol.name.node);
            unused.extend(self.unasked(Feature::Entity(at), "entity", symbol.name, &name));
        }
        for (at, symbol) in symbols.lexicons.iter().enumerate() {
            let name = format!("request.{}", symbol.name.node);
            unused.extend(self.unasked(Feature::Lexicon(at), "lexicon", symbol.name, &name));
        }
        for (what, name, asked) in unused {
            let message = format!("the {what} `{}` is not used", name.node);
            diagnostics.push(
                Diagnostic::new(Code::Unused, name.span, message)
                    .help(format!("ask for `{asked}`, or remove it")),
            );
        }
    }

    fn unasked(
        &self,
        feature: Feature,
        what: &'static str,
        name: &'a Ident,
        asked: &str,
    ) -> Option<(&'static str, &'a Ident, String)> {
        let here = Some(name.span.file) == self.main_file();
        (here && !self.analysed.externs.contains_key(&feature)).then(|| (what, name, asked.to_owned()))
    }
}

/// A record whose fields may be missing.
fn record<'f>(fields: impl IntoIterator<Item = (&'f str, Ty)>) -> Ty {
    let field = |(name, ty): (&str, Ty)| Field { name: name.into(), ty, optional: true, private: false };
    Ty::record(Record { fields: fields.into_iter().map(field).collect() })
}

fn empty_keyword(span: Span) -> Diagnostic {
    Diagnostic::new(Code::KeywordNeverMatches, span, "an empty text is no word and never found")
        .help("write the word to look for, or remove it")
}
