//! Request analysis: the declarations `intent`, `entity` and `lexicon`, and the values of
//! `request.…`. Each use of such a value becomes a call of a built-in function with the message
//! text as its argument. The engines then treat it like a call of a function of the embedding
//! program, with the same rules for cost, caching and explanation.

mod fields;

use super::constant::json_of_constant;
use super::file_settings::CASE_SETTING;
use super::path::ConstantPath;
use super::{AlreadyReported, Checked, Checker, join_names};
use crate::hir::{Const, Expr, ExprKind, ExternId, Term};
use crate::request::{
    AnalysisFeature, DEFAULT_URGENCY_WORDS, Entity, INTENT_FIELD, Intent, Lexicon, REQUEST_FIELDS,
    REQUEST_ROOT, URGENCY_LEXICON, WHOLE_MATCH_FIELD,
};
use crate::resolve::duplicate_error;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::text;
use rulec_base::{broken_invariant, message};
use rulec_lang::operators::Case;
use rulec_lang::ty::Ty;
use rulec_lang::value::Value;
use rulec_syntax::ast::{self, Ident, Literal};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

/// The name of the message field whose text is analysed.
const TEXT_FIELD: &str = "text";
/// The name of a score that authors define by `let context_score = …`. Rules read the score as
/// `request.context_score`.
const CONTEXT_SCORE: &str = "context_score";

/// The state of the checker for the message-text analysis (`request.…`) in one pass over the rules.
pub(super) struct AnalysisState<'a> {
    /// The span of each setting that applies to all files, by the name of the setting. Contains the
    /// settings that were read so far, so that duplicates are reported.
    pub(super) setting_spans: HashMap<&'static str, Span>,
    /// The list of additional stop words; `None` if the settings give none.
    pub(super) stop_words: Option<&'a ast::Expr>,
    /// For each built-in analysis function in use, its id in the program's list of external
    /// functions.
    externs: HashMap<AnalysisFeature, ExternId>,
    /// Whether the checker has already reported that the field `text` is missing or no string.
    has_reported_missing_text: bool,
    /// The entities with an error, whose fields are not known.
    pub(super) broken_entities: HashSet<Arc<str>>,
    /// The memory limit for all regular expressions together, in bytes.
    pub(super) regex_memory_limit: usize,
}

impl Default for AnalysisState<'_> {
    fn default() -> Self {
        AnalysisState {
            setting_spans: HashMap::new(),
            stop_words: None,
            externs: HashMap::new(),
            has_reported_missing_text: false,
            broken_entities: HashSet::new(),
            regex_memory_limit: text::DEFAULT_REGEX_MEMORY_BYTES,
        }
    }
}

impl<'a> Checker<'a> {
    /// Declares the entities and lexicons. Runs before definitions are checked, because they may
    /// read entities and lexicons.
    pub(super) fn declare_entities_and_lexicons(&mut self) {
        self.check_request_is_free();
        for symbol in self.symbols.entities.iter() {
            // An invalid entity is kept, so that the indexes of later entities stay right; at run
            // time it finds nothing.
            let entity = self.lower_entity(symbol.declaration);
            self.program.analysis.entities.push(entity);
        }
        for symbol in self.symbols.lexicons.iter() {
            let lexicon = self.lower_lexicon(symbol.declaration);
            self.program.analysis.lexicons.push(lexicon);
        }
        if self.symbols.lexicons.get(URGENCY_LEXICON).is_none() {
            /// The built-in lexicon of urgent words. The lexicon is built only once, because the
            /// checker also runs for every single route that is added to a rule set.
            static BUILT_IN_URGENCY: LazyLock<Lexicon> = LazyLock::new(|| {
                let entries = DEFAULT_URGENCY_WORDS.map(|word| (word.into(), 1.0)).to_vec();
                Lexicon { name: URGENCY_LEXICON.into(), weighted_words: entries }
            });
            self.program.analysis.lexicons.push(BUILT_IN_URGENCY.clone());
        }
    }

    /// Adds the intents and the stop words to the program. Runs after definitions are checked,
    /// because the words may be in a `list`.
    pub(super) fn add_intents_and_stop_words(&mut self) {
        for symbol in self.symbols.intents.iter() {
            let intent = symbol.declaration;
            let keywords = self.evaluate_word_lists(&intent.name, "keywords", &intent.keywords);
            let examples = self.evaluate_word_lists(&intent.name, "examples", &intent.examples);
            let (Ok(keywords), Ok(examples)) = (keywords, examples) else { continue };
            if keywords.is_empty() && examples.is_empty() {
                let message = message!("the intent `{}` has neither keywords nor examples", intent.name.node);
                let help =
                    message!("give example messages of the intent: `examples [\"I want my money back\"]`");
                self.emit(Code::NothingToFind, intent.name.span, message, help);
            }
            let description = intent.description.as_ref().map_or("", |text| &text.node).into();
            let (name, span) = (intent.name.node.as_str().into(), intent.name.span);
            self.program.analysis.intents.push(Intent { name, description, keywords, examples, span });
        }
        if let Some(list) = self.analysis_state.stop_words
            && let Ok(words) = self.evaluate_word_list("settings", "stop_words", list)
        {
            self.program.analysis.stop_words = words;
        }
    }

    /// Reports a field or definition named `request` if the program declares an intent, entity or
    /// lexicon. The name `request` is then reserved for their results.
    fn check_request_is_free(&mut self) {
        let symbols = self.symbols;
        let intent = symbols.intents.iter().next().map(|symbol| symbol.name.span);
        let entity = symbols.entities.iter().next().map(|symbol| symbol.name.span);
        let lexicon = symbols.lexicons.iter().next().map(|symbol| symbol.name.span);
        let Some(first) = intent.or(entity).or(lexicon) else { return };
        let input = self.fields.declaration_span(&[REQUEST_ROOT]);
        let definition = symbols.definitions.get(REQUEST_ROOT).map(|symbol| symbol.name.span);
        if let Some(conflict_span) = input.or(definition) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::RequestTaken,
                    conflict_span,
                    message!("`request` already names the analysis of the message's text"),
                )
                .here(message!("declared here with another meaning"))
                .label(first, message!("the analysis is declared from here on"))
                .help(message!("give the field or definition another name")),
            );
        }
    }

    fn lower_entity(&mut self, entity_syntax: &'a ast::Entity) -> Entity {
        let file = entity_syntax.name.span.file;
        self.setting_uses
            .record_used_settings(file, if entity_syntax.case.is_none() { CASE_SETTING } else { 0 });
        let ignore_case = entity_syntax.case.or(self.settings_of(file).case) == Some(Case::Ignore);
        let mut entity = Entity {
            name: entity_syntax.name.node.as_str().into(),
            patterns: Vec::new(),
            fields: Vec::new(),
            ignores_case: ignore_case,
            span: entity_syntax.name.span,
        };
        if entity_syntax.patterns.is_empty() {
            let message = message!("the entity `{}` has no regular expression", entity.name);
            let help =
                message!("write a regular expression that finds it: `matches r\"order (?<id>[0-9]+)\"`");
            self.emit(Code::NothingToFind, entity.span, message, help);
        }
        for pattern in &entity_syntax.patterns {
            if self.add_entity_pattern(pattern, &mut entity).is_err() {
                self.analysis_state.broken_entities.insert(entity.name.clone());
            }
        }
        entity
    }

    fn add_entity_pattern(&mut self, pattern_expr: &'a ast::Expr, entity: &mut Entity) -> Checked<()> {
        let span = pattern_expr.span;
        let ast::ExprKind::Literal(Literal::String(pattern)) = &pattern_expr.kind else {
            let message = message!("expected a regular expression in quotes");
            let help = message!(
                "an entity's fields come from its regular expressions, so write each expression here"
            );
            return self.fail(Code::ConstantWanted, span, message, help);
        };
        self.check_regex(pattern, entity.ignores_case, span)?;
        let Ok(hir) = text::parse_cached(pattern, entity.ignores_case) else {
            broken_invariant!("an accepted pattern parses");
            return Err(AlreadyReported);
        };
        if hir.properties().minimum_len() == Some(0) {
            let message =
                message!("this regular expression matches every text, so `{}` is always found", entity.name);
            self.diagnostics.push(
                Diagnostic::new(Code::EntityAlwaysFound, span, message)
                    .here(message!("matches the empty text"))
                    .help(message!("require at least one character, for example with `+` in place of `*`")),
            );
        }
        let groups = text::capture_groups(&hir);
        let mut names: Vec<&str> = groups.iter().filter_map(|group| group.name).collect();
        if names.is_empty() {
            names.push(WHOLE_MATCH_FIELD);
        }
        let existing_fields: HashSet<Arc<str>> = entity.fields.iter().cloned().collect();
        entity
            .fields
            .extend(names.into_iter().filter(|name| !existing_fields.contains(*name)).map(Arc::from));
        entity.patterns.push(pattern.as_str().into());
        Ok(())
    }

    fn lower_lexicon(&mut self, lexicon_syntax: &'a ast::Lexicon) -> Lexicon {
        let name = &lexicon_syntax.name;
        if name.node != URGENCY_LEXICON && REQUEST_FIELDS.contains(&name.node.as_str()) {
            let message = message!("a lexicon cannot be named `{}`", name.node);
            let help = message!("`request.{}` already has another meaning; choose another name", name.node);
            self.emit(Code::LexiconName, name.span, message, help);
        }
        if lexicon_syntax.entries.is_empty() {
            let message = message!("the lexicon `{}` has no words", name.node);
            let help = message!("add words with weights: `lexicon {} {{ \"now\": 0.5 }}`", name.node);
            self.emit(Code::NothingToFind, name.span, message, help);
        }
        let mut first_spans: HashMap<String, Span> = HashMap::new();
        let mut entries = Vec::new();
        for ast::WeightedWord { word, weight } in &lexicon_syntax.entries {
            if word.node.trim().is_empty() {
                self.diagnostics.push(empty_keyword_error(word.span));
            } else if let Some(first) = first_spans.insert(text::fold_text(&word.node), word.span) {
                self.diagnostics.push(duplicate_error(message!("word"), &word.node, first, word.span));
            } else if !(weight.node > 0.0 && weight.node <= 1.0) {
                let message = message!("the weight of `{}` must be above 0 and at most 1", word.node);
                let help =
                    message!("weights are added, up to at most 1; a single word with the weight 1 is enough");
                self.emit(Code::WeightRange, weight.span, message, help);
            } else {
                entries.push((word.node.as_str().into(), weight.node));
            }
        }
        Lexicon { name: name.node.as_str().into(), weighted_words: entries }
    }

    fn evaluate_word_lists(
        &mut self,
        owner: &Ident,
        what: &str,
        lists: &'a [ast::Expr],
    ) -> Checked<Vec<Arc<str>>> {
        let lists: Vec<Checked<_>> =
            lists.iter().map(|list| self.evaluate_word_list(&owner.node, what, list)).collect();
        Ok(lists.into_iter().collect::<Checked<Vec<_>>>()?.concat())
    }

    /// Evaluates a list of texts, which must be constant. `what` is the word before the list, such
    /// as `keywords`, and `owner` is the name of the declaration or `settings`. Messages show both.
    fn evaluate_word_list(&mut self, owner: &str, what: &str, list: &'a ast::Expr) -> Checked<Vec<Arc<str>>> {
        let value = self.check_value(list)?;
        // An empty list has no element type to check.
        if value.as_const().is_some_and(|constant| constant.value().list_len() == Some(0)) {
            let help = message!("add an element, or remove `{what}`");
            self.emit(Code::EmptyList, list.span, message!("an empty list contains nothing"), help);
            return Ok(Vec::new());
        }
        let value = self.check_argument(owner, what, value, &Ty::list(Ty::STRING), None)?;
        let Some(json) = json_of_constant(&value) else {
            let help = message!(
                "write the words here or in a `list`; they are read once, when the rules are loaded"
            );
            return self.fail(
                Code::ConstantWanted,
                list.span,
                message!("these words must be constants"),
                help,
            );
        };
        let elements = Value::from_json(json).elements().into_iter().flatten();
        let words: Vec<Arc<str>> = elements.filter_map(Value::as_str).map(Arc::from).collect();
        if words.iter().any(|word| word.trim().is_empty()) {
            return self.report(empty_keyword_error(list.span));
        }
        Ok(words)
    }

    /// True if a path starts with `request`, the name of the request analysis. False if `input`
    /// declares a field `request`.
    pub(super) fn is_request_path(&self, path: &ConstantPath<'_>) -> bool {
        path.names[0] == REQUEST_ROOT && self.fields.declaration_span(&[REQUEST_ROOT]).is_none()
    }

    /// Warns if an intent is compared with a name that no intent has.
    pub(super) fn warn_unknown_intents(&mut self, left: &Expr, right: &Expr) {
        for (intent_read, constant) in [(left, right), (right, left)] {
            if !self.is_intent_read(intent_read) {
                continue;
            }
            let Some(value) = constant.as_const().map(Const::value) else { continue };
            let elements = value.elements().into_iter().flatten().filter_map(Value::as_str);
            for name in value.as_str().into_iter().chain(elements) {
                let intents = &self.symbols.intents;
                if intents.get(name).is_some() || self.symbols.is_name_broken(name) {
                    continue;
                }
                let message = message!("there is no intent `{name}`, so this value never matches");
                let help = match self.nearest(name, intents.names()) {
                    Some(near) => message!("did you mean \"{near}\"?"),
                    None => message!("the intents are {}", join_names(intents.names())),
                };
                self.emit(Code::UnknownIntent, constant.span, message, help);
            }
        }
    }

    fn is_intent_read(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Read(inner, _) => self.is_intent_read(inner),
            ExprKind::Field(base, name) => match base.kind {
                ExprKind::Extern(id, _) => {
                    let feature = self.program.externs[id.index()].feature;
                    **name == *INTENT_FIELD && feature == Some(AnalysisFeature::Intent)
                }
                _ => false,
            },
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_intent_read(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }

    /// Warns about intents, entities and lexicons of the main file that no rule reads.
    pub(super) fn warn_unused_analysis(&mut self) {
        let symbols = self.symbols;
        // One warning is enough for all intents, because they are used together.
        if let Some(symbol) = symbols.intents.iter().next() {
            self.warn_if_unused(AnalysisFeature::Intent, message!("intent"), symbol.name, "intent");
        }
        for (index, symbol) in symbols.entities.iter().enumerate() {
            let usage = format!("entities.{}", symbol.name.node);
            self.warn_if_unused(AnalysisFeature::Entity(index), message!("entity"), symbol.name, &usage);
        }
        for (index, symbol) in symbols.lexicons.iter().enumerate() {
            self.warn_if_unused(
                AnalysisFeature::Lexicon(index),
                message!("lexicon"),
                symbol.name,
                &symbol.name.node,
            );
        }
    }

    fn warn_if_unused(&mut self, feature: AnalysisFeature, what: Message, name: &Ident, asked: &str) {
        if Some(name.span.file) == self.main_file() && !self.analysis_state.externs.contains_key(&feature) {
            let message = message!("the {what} `{}` is not used", name.node);
            self.emit(
                Code::Unused,
                name.span,
                message,
                message!("use `request.{asked}`, or remove this declaration"),
            );
        }
    }
}

fn empty_keyword_error(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::KeywordNeverMatches,
        span,
        message!("an empty text is not a word and is never found"),
    )
    .help(message!("write the word to look for, or remove it"))
}
