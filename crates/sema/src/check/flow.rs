//! Lowers flows. Each keyword pattern becomes a rule of one table that all flows share, in source
//! order.

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
    matching: Op,
    /// The text to find, trimmed and case-folded; a regular expression is unchanged.
    text: String,
    shown: Arc<str>,
    flow: FlowId,
    span: Span,
}

/// Maximum number of searches with regular expressions for the warning about patterns that match an
/// example of another flow.
const MAX_REGEX_SEARCHES: usize = 100_000;

/// Finds the first keyword pattern that matches an example of an intent flow.
struct PatternMatcher<'p> {
    exact: HashMap<&'p str, usize>,
    contained: Option<LiteralAutomaton>,
    /// For each text that the automaton `contained` searches for, the index of its pattern.
    holds: Vec<usize>,
    regexes: Vec<(usize, LazyRegex)>,
}

impl<'p> PatternMatcher<'p> {
    fn new(patterns: &'p [KeywordPattern]) -> PatternMatcher<'p> {
        let mut found =
            PatternMatcher { exact: HashMap::new(), contained: None, holds: Vec::new(), regexes: Vec::new() };
        for (at, pattern) in patterns.iter().enumerate() {
            match pattern.matching {
                Op::Eq => {
                    found.exact.entry(&pattern.text).or_insert(at);
                }
                Op::Matches => {
                    found.regexes.push((at, LazyRegex::from_checked(&pattern.text.as_str().into(), true)));
                }
                _ => found.holds.push(at),
            }
        }
        let texts = found.holds.iter().map(|at| &patterns[*at].text);
        found.contained = LiteralAutomaton::new(MatchKind::Standard, texts).ok();
        found
    }

    /// Returns the index of the first pattern that matches. Tries at most `left` regular
    /// expressions, and subtracts the number of tried ones from `left`.
    fn first_match(&self, folded: &str, example: &str, left: &mut usize) -> Option<usize> {
        let exact = self.exact.get(folded).copied();
        let contained = self.contained.iter().flat_map(|search| search.overlapping_matches(folded));
        let contained = contained.map(|(found, _)| self.holds[found]).min();
        let literal = exact.into_iter().chain(contained).min();
        let earlier = self.regexes.iter().take_while(|(at, _)| literal.is_none_or(|first| *at < first));
        let tried = earlier.take_while(|_| {
            let before = *left;
            *left = before.saturating_sub(1);
            before > 0
        });
        let matching = tried.into_iter().find(|(_, regex)| regex.is_match(example));
        matching.map(|(at, _)| *at).or(literal)
    }
}

impl<'a> Checker<'a> {
    /// Lowers every flow of the main file and its imports.
    pub(super) fn lower_flows(&mut self) {
        let mut first: HashMap<&str, Span> = HashMap::new();
        let mut patterns = Vec::new();
        let mut table = None;
        for statement in self.statements() {
            let StatementKind::Flow(flow) = &statement.kind else { continue };
            let name = &flow.name;
            let first = *first.entry(&name.node).or_insert(name.span);
            if first != name.span {
                self.diagnostics.push(duplicate_error(message!("flow"), &name.node, first, name.span));
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
        self.warn_caught_examples(&patterns);
    }

    /// Checks the declaration of the flow tool, the function through which a language model runs
    /// flows.
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
                && let ast::ExprKind::Record(written) = &record.1.kind
            {
                self.report_unknown_keys(
                    message!("endpoint"),
                    written,
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

    /// Removes the entry `key` of a flow tool and returns its value. Returns null if the entry is
    /// absent, or after an error if the value has the wrong type.
    fn take_tool_entry(
        &mut self,
        tool: &ast::FlowTool,
        entries: &mut Map<String, Json>,
        key: &str,
        wanted: Message,
        fits: fn(&Json) -> bool,
    ) -> Json {
        let Some(value) = entries.remove(key) else { return Json::Null };
        if fits(&value) {
            return value;
        }
        let place = tool.entries.iter().find(|(name, _)| name.node == key);
        let place = place.map_or(tool.name.span, |(_, value)| value.span);
        let help = message!("for example `{{ endpoint: {{ url: \"https://flows.example.com/run\" }} }}`");
        self.emit(Code::FlowTool, place, message!("`{key}` of a flow tool must be {wanted}"), help);
        Json::Null
    }

    /// Reports the keys that are not in `known`.
    fn report_unknown_keys(&mut self, what: Message, written: &[(Ident, ast::Expr)], known: &[&str]) {
        for (key, _) in written.iter().filter(|(key, _)| !known.contains(&key.node.as_str())) {
            let message = message!("unknown key `{}` in {what}", key.node);
            let help = message!("the known names are {}", known.join(", "));
            let near = nearest(&key.node, known.iter().copied());
            self.diagnostics.push(
                Diagnostic::new(Code::FlowTool, key.span, message).suggest_or_help(key.span, near, help),
            );
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
        seen: &mut Vec<KeywordPattern>,
    ) -> Checked<()> {
        let id = FlowId(self.program.flows.len() as u32);
        let Some((_, way)) = MATCH_MODES.iter().find(|(word, _)| *word == matching.node) else {
            let words = MATCH_MODES.iter().map(|(word, _)| *word);
            let message = message!("`{}` is not a mode of matching a pattern", matching.node);
            let help = message!("write `exact`, `contains` or `regex`");
            let diagnostic = Diagnostic::new(Code::UnknownMatching, matching.span, message);
            return self.report(diagnostic.suggest_or_help(
                matching.span,
                nearest(&matching.node, words),
                help,
            ));
        };
        let text = self.check_message_path(&ConstantPath::new("text", flow.name.span), flow.name.span)?;
        let text = super::read::typed_read(text, &Ty::STRING);
        let patterns = self.check_flow_texts(list)?;
        // The span of each pattern, if the list is written inline.
        let place = |at: usize| match &list.kind {
            ast::ExprKind::List(items) => items.get(at).map_or(list.span, |item| item.span),
            _ => list.span,
        };
        if patterns.is_empty() {
            let help =
                message!("give the flow a pattern, or remove the flow: without a pattern it is never found");
            self.emit(Code::EmptyList, list.span, message!("an empty list contains nothing"), help);
        }
        let mut result = Ok(());
        for (at, pattern) in patterns.iter().enumerate() {
            let span = place(at);
            match self.pattern_condition(*way, pattern, &text, span) {
                Ok(condition) => {
                    let shown = if *way == Op::Matches { &**pattern } else { pattern.trim() };
                    let folded = match way {
                        Op::Matches => shown.to_owned(),
                        _ => rulec_base::text::fold::fold(shown),
                    };
                    let shown = pattern.clone();
                    seen.push(KeywordPattern { matching: *way, text: folded, shown, flow: id, span });
                    let outcome = Outcome::Flow { flow: id, pattern: pattern.clone() };
                    self.add_rule(table, flow.name.node.as_str(), condition, outcome, span);
                }
                Err(AlreadyReported) => result = Err(AlreadyReported),
            }
        }
        result
    }

    /// Builds the condition that a pattern matches the text of the message.
    fn pattern_condition(&mut self, way: Op, pattern: &str, text: &Expr, span: Span) -> Checked<Cond> {
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
        let mode =
            TestMode { text: TextMode { fold: true, form: NormalizationForm::None }, ..TestMode::default() };
        let left = match way {
            Op::Eq => {
                let kind = ExprKind::Call(Function::Trim, vec![text.clone()]);
                Expr { kind, ty: Ty::STRING, ..text.clone() }
            }
            _ => text.clone(),
        };
        let right = constant_expr(Json::from(if way == Op::Matches { pattern } else { trimmed }), span);
        self.check_text_operand(way, mode, &right)?;
        Ok(Predicate { mode, ..Predicate::without_modifiers(way, left, Operand::Value(right)) }
            .into_cond(span))
    }

    /// Warns about patterns that are never reached because an earlier pattern always matches.
    fn warn_hidden_patterns(&mut self, patterns: &[KeywordPattern]) {
        let mut same: HashMap<(bool, &str), usize> = HashMap::new();
        for (at, pattern) in patterns.iter().enumerate() {
            let literal = pattern.matching != Op::Matches;
            // An exact pattern hides only exact ones; `contains` patterns are checked below.
            let first = *same.entry((literal, pattern.text.as_str())).or_insert(at);
            if first != at && patterns[first].matching == pattern.matching {
                self.warn_hidden_pattern(&patterns[first], pattern);
            }
        }
        let holds: Vec<usize> =
            (0..patterns.len()).filter(|at| patterns[*at].matching == Op::Contains).collect();
        if holds.is_empty() {
            return;
        }
        let texts = holds.iter().map(|at| &patterns[*at].text);
        let Ok(search) = LiteralAutomaton::new(MatchKind::Standard, texts) else { return };
        for (at, pattern) in patterns.iter().enumerate().filter(|(_, p)| p.matching != Op::Matches) {
            let found = search.overlapping_matches(&pattern.text).map(|(found, _)| holds[found]);
            let hiding = found.filter(|first| *first < at).min();
            let equal =
                |first: &KeywordPattern| first.matching == pattern.matching && first.text == pattern.text;
            if let Some(first) = hiding.map(|first| &patterns[first]).filter(|first| !equal(first)) {
                self.warn_hidden_pattern(first, pattern);
            }
        }
    }

    fn warn_hidden_pattern(&mut self, first: &KeywordPattern, pattern: &KeywordPattern) {
        let message = message!("the pattern `{}` is never reached", pattern.shown);
        let flow = self.program.flows.get(first.flow.index()).map_or("", |flow| &*flow.name);
        let label = message!("`{}` of the flow `{flow}` matches first", first.shown);
        self.diagnostics.push(
            Diagnostic::new(Code::PatternHidden, pattern.span, message).label(first.span, label).help(
                message!(
                    "patterns are tried in the order of the file: put the longer one first, or remove it"
                ),
            ),
        );
    }

    /// Warns about keyword patterns that match an example of an intent flow.
    fn warn_caught_examples(&mut self, patterns: &[KeywordPattern]) {
        // Building the automaton costs more than checking one route, so it is built only if needed.
        if patterns.is_empty() {
            return;
        }
        let flows = self.program.flows.clone();
        let catchers = PatternMatcher::new(patterns);
        let mut left = MAX_REGEX_SEARCHES;
        for flow in &flows {
            let Trigger::Intent { examples, .. } = &flow.trigger else { continue };
            for example in examples {
                let folded = rulec_base::text::fold::fold(example.trim());
                if let Some(pattern) =
                    catchers.first_match(&folded, example, &mut left).map(|at| &patterns[at])
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
