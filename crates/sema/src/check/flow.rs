//! Lowers flows. A `flow` is a task of an assistant, which is selected by keyword patterns or by
//! the intent of the message. Each keyword pattern becomes a rule of one table that all flows
//! share, in source order.

use super::constant::constant_expr;
use super::{AlreadyReported, Checked, Checker};
use crate::check::path::ConstantPath;
use crate::hir::{
    Cond, Expr, ExprKind, FLOWS_TABLE, Flow, FlowId, FlowTool, MATCH_MODES, Operand, Outcome, Predicate,
    TableId, TableKind, Term, Trigger,
};
use crate::resolve::duplicate_error;
use aho_corasick::MatchKind;
use rulec_base::diag::{Code, Diagnostic, Message, nearest};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text::automaton::LiteralAutomaton;
use rulec_base::text::{LazyRegex, NormalizationForm, TextMode};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::Ty;
use rulec_syntax::ast::{self, Ident, StatementKind};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// A keyword pattern of a flow, stored for warnings about patterns that are never reached.
struct KeywordPattern {
    /// The operator of the pattern's match mode, one of [`MATCH_MODES`].
    operator: Op,
    /// The text to find, trimmed and case-folded; a regular expression is unchanged.
    text: String,
    source_text: Arc<str>,
    flow: FlowId,
    span: Span,
}

/// Maximum number of regular-expression searches in the check for patterns that match examples of
/// other flows.
const MAX_REGEX_SEARCHES: usize = 100_000;

/// Finds the first keyword pattern that matches an example. The examples belong to intent flows,
/// which are selected by meaning; such a pattern would select the wrong flow.
struct PatternMatcher<'p> {
    exact: HashMap<&'p str, usize>,
    contained: Option<LiteralAutomaton>,
    /// For each text of the automaton `contained`, in the same order, the index of the pattern that
    /// contains the text.
    contained_patterns: Vec<usize>,
    regexes: Vec<(usize, LazyRegex)>,
}

impl<'p> PatternMatcher<'p> {
    fn new(patterns: &'p [KeywordPattern]) -> PatternMatcher<'p> {
        let mut matcher = PatternMatcher {
            exact: HashMap::new(),
            contained: None,
            contained_patterns: Vec::new(),
            regexes: Vec::new(),
        };
        for (index, pattern) in patterns.iter().enumerate() {
            match pattern.operator {
                Op::Eq => {
                    matcher.exact.entry(&pattern.text).or_insert(index);
                }
                Op::Matches => {
                    matcher
                        .regexes
                        .push((index, LazyRegex::from_checked(&pattern.text.as_str().into(), true)));
                }
                _ => matcher.contained_patterns.push(index),
            }
        }
        let texts = matcher.contained_patterns.iter().map(|index| &patterns[*index].text);
        matcher.contained = LiteralAutomaton::new(MatchKind::Standard, texts).ok();
        matcher
    }

    /// Tries the patterns, and returns the index of the first pattern that matches; `None` if no
    /// pattern matches. Each tried regular expression reduces `remaining_searches` by one; at 0, no
    /// more are tried.
    fn first_match(&self, folded: &str, example: &str, remaining_searches: &mut usize) -> Option<usize> {
        let exact = self.exact.get(folded).copied();
        let contained = self.contained.iter().flat_map(|search| search.overlapping_matches(folded));
        let contained = contained.map(|(match_index, _)| self.contained_patterns[match_index]).min();
        let literal = exact.into_iter().chain(contained).min();
        let earlier = self.regexes.iter().take_while(|(index, _)| literal.is_none_or(|first| *index < first));
        let searched = earlier.take_while(|_| {
            let searches_before = *remaining_searches;
            *remaining_searches = searches_before.saturating_sub(1);
            searches_before > 0
        });
        let matching_regex = searched.into_iter().find(|(_, regex)| regex.is_match(example));
        matching_regex.map(|(index, _)| *index).or(literal)
    }
}

impl<'a> Checker<'a> {
    /// Lowers every flow of the main file and its imports.
    pub(super) fn lower_flows(&mut self) {
        let mut first_spans: HashMap<&str, Span> = HashMap::new();
        let mut patterns = Vec::new();
        let mut table = None;
        for statement in self.statements() {
            let StatementKind::Flow(flow) = &statement.kind else { continue };
            let name = &flow.name;
            let first_span = *first_spans.entry(&name.node).or_insert(name.span);
            if first_span != name.span {
                self.diagnostics.push(duplicate_error(message!("flow"), &name.node, first_span, name.span));
            }
            let table =
                *table.get_or_insert_with(|| self.new_table(TableKind::Flows, FLOWS_TABLE, name.span, ""));
            let trigger = match &flow.trigger {
                ast::Trigger::Keyword { matching, patterns: list } => self
                    .lower_keyword_flow(table, flow, (matching, list), &mut patterns)
                    .map(|()| Trigger::Keyword),
                ast::Trigger::Intent { examples, keywords } => {
                    let mut texts = |list: &'a Option<_>| {
                        list.as_ref().map_or(Ok(Vec::new()), |list| self.check_flow_texts(list))
                    };
                    let (examples, keywords) = (texts(examples), texts(keywords));
                    examples.and_then(|examples| Ok(Trigger::Intent { examples, keywords: keywords? }))
                }
            };
            match trigger {
                Ok(trigger) => self.program.flows.push(Flow {
                    name: name.node.as_str().into(),
                    id: flow.id.node.as_str().into(),
                    description: flow.description.as_ref().map_or("", |text| text.node.as_str()).into(),
                    trigger,
                    span: name.span,
                    docs: statement.docs.as_str().into(),
                }),
                Err(AlreadyReported) => {
                    self.failed_routes.insert(&name.node);
                }
            }
        }
        self.warn_hidden_patterns(&patterns);
        self.warn_matched_examples(&patterns);
    }

    /// Checks the declaration of the flow tool, a function that a language model calls to run a
    /// flow.
    pub(super) fn check_flow_tool(&mut self) {
        for statement in self.statements() {
            let StatementKind::FlowTool(tool) = &statement.kind else { continue };
            let name = &tool.name;
            if let Some(first) = &self.program.flow_tool {
                let diagnostic = duplicate_error(message!("flow tool"), &name.node, first.span, name.span);
                self.diagnostics
                    .push(diagnostic.help(message!("the same tool executes all flows: keep only one")));
                continue;
            }
            let mut entries = self.constant_map(&tool.entries).unwrap_or_default();
            let parameter =
                self.take_tool_entry(tool, &mut entries, "parameter", message!("a text"), Json::is_string);
            let endpoint =
                self.take_tool_entry(tool, &mut entries, "endpoint", message!("a record"), Json::is_object);
            self.report_unknown_keys(message!("flow tool"), &tool.entries, &["endpoint", "parameter"]);
            if let Some(record) = tool.entries.iter().find(|(key, _)| key.node == "endpoint")
                && let ast::ExprKind::Record(entries_syntax) = &record.1.kind
            {
                self.report_unknown_keys(
                    message!("endpoint"),
                    entries_syntax,
                    &["url", "method", "headers", "body"],
                );
            }
            if endpoint.is_object() && !endpoint["url"].is_string() {
                let help =
                    message!("write the address: `endpoint: {{ url: \"https://flows.example.com/run\" }}`");
                self.emit(Code::FlowTool, name.span, message!("the endpoint has no `url`"), help);
            }
            self.program.flow_tool = Some(FlowTool {
                name: name.node.as_str().into(),
                description: tool.description.as_ref().map_or("", |text| text.node.as_str()).into(),
                parameter: parameter.as_str().unwrap_or_default().into(),
                endpoint,
                span: name.span,
            });
        }
    }

    /// Removes the entry `key` from the declaration of the flow tool and returns its value. Returns
    /// null if the entry is absent. If the value has a wrong type, reports an error and returns
    /// null.
    fn take_tool_entry(
        &mut self,
        tool: &ast::FlowTool,
        entries: &mut Map<String, Json>,
        key: &str,
        wanted: Message,
        is_valid: fn(&Json) -> bool,
    ) -> Json {
        let Some(value) = entries.remove(key) else { return Json::Null };
        if is_valid(&value) {
            return value;
        }
        let entry_span = tool.entries.iter().find(|(name, _)| name.node == key);
        let entry_span = entry_span.map_or(tool.name.span, |(_, value)| value.span);
        let help = message!("for example `{{ endpoint: {{ url: \"https://flows.example.com/run\" }} }}`");
        self.emit(Code::FlowTool, entry_span, message!("`{key}` of a flow tool must be {wanted}"), help);
        Json::Null
    }

    /// Reports the keys that are not in `known_keys`.
    fn report_unknown_keys(&mut self, what: Message, entries: &[(Ident, ast::Expr)], known_keys: &[&str]) {
        for (key, _) in entries.iter().filter(|(key, _)| !known_keys.contains(&key.node.as_str())) {
            let message = message!("unknown key `{}` in {what}", key.node);
            let help = message!("the known names are {}", known_keys.join(", "));
            let nearest_key = nearest(&key.node, known_keys.iter().copied());
            self.diagnostics.push(Diagnostic::new(Code::FlowTool, key.span, message).suggest_or_help(
                key.span,
                nearest_key,
                help,
            ));
        }
    }

    fn check_flow_texts(&mut self, list: &'a ast::Expr) -> Checked<Vec<Arc<str>>> {
        let term = self.check_term(list)?;
        let texts = match &term {
            Term::Expr(expr) => expr.as_const().and_then(|list| list.value().elements()),
            Term::Cond(_) => None,
        };
        match texts.and_then(|texts| texts.map(|text| text.as_str().map(Arc::from)).collect()) {
            Some(texts) => Ok(texts),
            None => {
                let help = message!("write the texts here, as in `[\"a\", \"b\"]`, or name a `list`");
                self.fail(Code::ConstantWanted, list.span, message!("expected a list of texts"), help)
            }
        }
    }

    fn lower_keyword_flow(
        &mut self,
        table: TableId,
        flow: &'a ast::Flow,
        (matching, list): (&Ident, &'a ast::Expr),
        keyword_patterns: &mut Vec<KeywordPattern>,
    ) -> Checked<()> {
        let id = FlowId(self.program.flows.len() as u32);
        let Some((_, operator)) = MATCH_MODES.iter().find(|(word, _)| *word == matching.node) else {
            let mode_names = MATCH_MODES.iter().map(|(word, _)| *word);
            let message = message!("`{}` is not a mode of matching a pattern", matching.node);
            let help = message!("write `exact`, `contains` or `regex`");
            let diagnostic = Diagnostic::new(Code::UnknownMatching, matching.span, message);
            return self.report(diagnostic.suggest_or_help(
                matching.span,
                nearest(&matching.node, mode_names),
                help,
            ));
        };
        let text = self.check_message_path(&ConstantPath::new("text", flow.name.span), flow.name.span)?;
        let text = super::read::typed_read(text, &Ty::STRING);
        let patterns = self.check_flow_texts(list)?;
        // Returns the span of a pattern if the list is written inline, otherwise the span of the
        // list.
        let pattern_span = |index: usize| match &list.kind {
            ast::ExprKind::List(items) => items.get(index).map_or(list.span, |item| item.span),
            _ => list.span,
        };
        if patterns.is_empty() {
            let help =
                message!("give the flow a pattern, or remove the flow: without a pattern it is never found");
            self.emit(Code::EmptyList, list.span, message!("an empty list contains nothing"), help);
        }
        let mut result = Ok(());
        for (index, pattern) in patterns.iter().enumerate() {
            let span = pattern_span(index);
            match self.pattern_condition(*operator, pattern, &text, span) {
                Ok(condition) => {
                    let trimmed_pattern = if *operator == Op::Matches { &**pattern } else { pattern.trim() };
                    let searched_text = match operator {
                        Op::Matches => trimmed_pattern.to_owned(),
                        _ => rulec_base::text::fold::fold(trimmed_pattern),
                    };
                    keyword_patterns.push(KeywordPattern {
                        operator: *operator,
                        text: searched_text,
                        source_text: pattern.clone(),
                        flow: id,
                        span,
                    });
                    let outcome = Outcome::Flow { flow: id, pattern: pattern.clone() };
                    self.add_rule(table, flow.name.node.as_str(), condition, outcome, span);
                }
                Err(AlreadyReported) => result = Err(AlreadyReported),
            }
        }
        result
    }

    /// Builds the condition that is true if a pattern matches the text of the message.
    fn pattern_condition(&mut self, operator: Op, pattern: &str, text: &Expr, span: Span) -> Checked<Cond> {
        let trimmed = pattern.trim();
        if trimmed.is_empty() {
            let message = if pattern.is_empty() {
                message!("this pattern is empty")
            } else {
                message!("this pattern is blank")
            };
            let help = message!(
                "white space around a pattern is ignored, so nothing remains to search for; remove the \
                pattern"
            );
            return self.fail(Code::BlankPattern, span, message, help);
        }
        let mode = TestMode {
            text: TextMode { fold: true, full: false, form: NormalizationForm::None },
            ..TestMode::default()
        };
        let left = match operator {
            Op::Eq => {
                let kind = ExprKind::Call(Function::Trim, vec![text.clone()]);
                Expr { kind, ty: Ty::STRING, ..text.clone() }
            }
            _ => text.clone(),
        };
        let right = constant_expr(Json::from(if operator == Op::Matches { pattern } else { trimmed }), span);
        self.check_text_operand(operator, mode, &right)?;
        Ok(Predicate { mode, ..Predicate::without_modifiers(operator, left, Operand::Value(right)) }
            .into_cond(span))
    }

    /// Warns about patterns that are never reached because an earlier pattern always matches.
    fn warn_hidden_patterns(&mut self, patterns: &[KeywordPattern]) {
        let mut first_with_text: HashMap<(bool, &str), usize> = HashMap::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let is_literal = pattern.operator != Op::Matches;
            // An exact pattern hides only exact patterns. Patterns with `contains` are checked
            // below.
            let first = *first_with_text.entry((is_literal, pattern.text.as_str())).or_insert(index);
            if first != index && patterns[first].operator == pattern.operator {
                self.warn_hidden_pattern(&patterns[first], pattern);
            }
        }
        let contains_patterns: Vec<usize> =
            (0..patterns.len()).filter(|index| patterns[*index].operator == Op::Contains).collect();
        if contains_patterns.is_empty() {
            return;
        }
        let texts = contains_patterns.iter().map(|index| &patterns[*index].text);
        let Ok(search) = LiteralAutomaton::new(MatchKind::Standard, texts) else { return };
        for (index, pattern) in patterns.iter().enumerate().filter(|(_, p)| p.operator != Op::Matches) {
            let containing = search
                .overlapping_matches(&pattern.text)
                .map(|(text_index, _)| contains_patterns[text_index]);
            let hiding_index = containing.filter(|first| *first < index).min();
            let is_equal =
                |first: &KeywordPattern| first.operator == pattern.operator && first.text == pattern.text;
            if let Some(first) = hiding_index.map(|first| &patterns[first]).filter(|first| !is_equal(first)) {
                self.warn_hidden_pattern(first, pattern);
            }
        }
    }

    fn warn_hidden_pattern(&mut self, first: &KeywordPattern, pattern: &KeywordPattern) {
        let message = message!("the pattern `{}` is never reached", pattern.source_text);
        let flow = self.program.flows.get(first.flow.index()).map_or("", |flow| &*flow.name);
        let label = message!("`{}` of the flow `{flow}` matches first", first.source_text);
        self.diagnostics.push(
            Diagnostic::new(Code::PatternHidden, pattern.span, message).label(first.span, label).help(
                message!(
                    "patterns are tried in the order of the file: put the longer one first, or remove it"
                ),
            ),
        );
    }

    /// Warns about keyword patterns that match an example of an intent flow (a flow that is
    /// selected by meaning). Such a message would select the pattern's flow instead.
    fn warn_matched_examples(&mut self, patterns: &[KeywordPattern]) {
        // Building the automaton costs more than checking one route, so it is built only if needed.
        if patterns.is_empty() {
            return;
        }
        let flows = self.program.flows.clone();
        let pattern_matcher = PatternMatcher::new(patterns);
        let mut remaining_searches = MAX_REGEX_SEARCHES;
        for flow in &flows {
            let Trigger::Intent { examples, .. } = &flow.trigger else { continue };
            for example in examples {
                let folded = rulec_base::text::fold::fold(example.trim());
                if let Some(pattern) = pattern_matcher
                    .first_match(&folded, example, &mut remaining_searches)
                    .map(|index| &patterns[index])
                {
                    let by = flows.get(pattern.flow.index()).map_or("", |flow| &*flow.name);
                    let message = message!("the keyword flow `{by}` matches an example of `{}`", flow.name);
                    self.diagnostics.push(
                        Diagnostic::new(Code::CatchesExample, pattern.span, message)
                            .here(message!("matches {example}", example = format!("{:?}", &**example)))
                            .label(flow.span, message!("the intent flow"))
                            .help(message!(
                                "keyword flows are tried first; make the pattern narrower, or \
                                change the example"
                            )),
                    );
                }
            }
        }
    }
}
